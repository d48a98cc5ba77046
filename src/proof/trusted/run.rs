//! Runs one member at concrete values, and records its counters at each place.

use std::collections::BTreeMap;
use std::collections::HashMap;

use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Weight;
use crate::trusted::system::Act;
use crate::trusted::system::Doing;
use crate::trusted::system::Node;
use crate::trusted::system::Ring;
use crate::trusted::system::System;

/// Runs with more steps are given up.
const MAX_STEPS: usize = 4_000;

/// The counters of a member at some place.
pub type Counters = BTreeMap<Counter, i64>;

/// The observations of a member.
#[derive(Debug, Default)]
pub struct Run {
    /// For each loop, whenever its head is reached: the variables and the counters.
    pub heads: Vec<(usize, HashMap<VarId, i64>, Counters)>,
    /// Before each arrival: the ring.
    pub arrivals: Vec<(usize, Counters)>,
    /// Before each wait: its number in the class, the ring, and the parity if it is for one.
    pub waits: Vec<(usize, usize, Option<i64>, Counters)>,
    /// Before each wait for a value: the ring, the value, and how many rounds of waits have been passed at the ring.
    pub values: Vec<(usize, i64, i64)>,
    /// After each acquisition from a pool: the ring, and the amount that is held.
    pub held: Vec<(usize, i64)>,
    /// At the end.
    pub end: Counters,
    /// Whether some operation was not on the next element.
    pub astray: bool,
}

/// Runs one member through its program. `None` if something is undefined or the run takes too long. The steps of the
/// run are subtracted from the remaining ones.
pub fn run(
    system: &System<'_>,
    (number, weights): (usize, &[Weight]),
    params: &[i64],
    indices: &[i64],
    left: &mut usize,
) -> Option<Run> {
    let class = &system.classes[number];
    let mut vars = HashMap::new();
    for (range, value) in class.ranges.iter().zip(indices) {
        vars.insert(range.var, *value);
    }
    let weights = weights.iter().filter(|weight| weight.class == number);
    let mut member = Member {
        system,
        params,
        units: weights.map(|w| (w.ring, w.amounts.len() as i64)).collect(),
        vars,
        counters: Counters::new(),
        run: Run::default(),
        steps: 0,
    };
    let done = member.block(&class.body);
    *left = left.saturating_sub(member.steps);
    done?;
    let mut run = member.run;
    run.end = member.counters;
    Some(run)
}

/// The value of a counter.
pub fn at(counters: &Counters, counter: Counter) -> i64 {
    counters.get(&counter).copied().unwrap_or(0)
}

/// How many elements a ring has.
pub fn size(system: &System<'_>, ring: &Ring, params: &[i64]) -> Option<i64> {
    match ring.moving() {
        None => Some(1),
        Some(moving) => {
            let extent = &system.protocol.objects[ring.object].extents[moving];
            value(extent, params, &HashMap::new()).filter(|size| *size > 0)
        }
    }
}

struct Member<'a, 'p> {
    system: &'a System<'p>,
    params: &'a [i64],
    /// For each ring at which several arrivals make up one number: how many.
    units: HashMap<usize, i64>,
    vars: HashMap<VarId, i64>,
    counters: Counters,
    run: Run,
    steps: usize,
}

impl Member<'_, '_> {
    fn block(&mut self, body: &[Node]) -> Option<()> {
        for node in body {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return None;
            }
            match node {
                Node::Assign(var, expr, _) => {
                    let value = self.value(expr)?;
                    self.vars.insert(*var, value);
                }
                Node::Branch(condition, then, otherwise, _) => {
                    let holds = self.value(condition)? != 0;
                    self.block(if holds { then } else { otherwise })?;
                }
                Node::Loop(looped) => {
                    let (lo, hi) = (self.value(&looped.lo)?, self.value(&looped.hi)?);
                    let values: Vec<i64> = match looped.descending {
                        false => (lo..hi).take(MAX_STEPS).collect(),
                        true => (lo..hi).rev().take(MAX_STEPS).collect(),
                    };
                    for value in values {
                        self.head(looped.number);
                        self.vars.insert(looped.var, value);
                        self.block(&looped.body)?;
                        self.add(Counter::Iterations(looped.number), 1);
                    }
                    self.head(looped.number);
                }
                Node::Act(act) => self.act(act)?,
            }
        }
        Some(())
    }

    fn head(&mut self, number: usize) {
        let (vars, counters) = (self.vars.clone(), self.counters.clone());
        self.run.heads.push((number, vars, counters));
    }

    fn add(&mut self, counter: Counter, more: i64) {
        let count = self.counters.entry(counter).or_insert(0);
        *count = count.saturating_add(more);
    }

    fn value(&self, expr: &Expr) -> Option<i64> {
        value(expr, self.params, &self.vars)
    }

    fn act(&mut self, act: &Act) -> Option<()> {
        let ring = act.ring;
        let size = size(self.system, &self.system.rings[ring], self.params)?;
        let around = |counters: &mut Counters, all: Counter, turn: Counter, next: Counter| {
            let count = at(counters, all);
            counters.insert(turn, count.div_euclid(size));
            counters.insert(next, count.rem_euclid(size));
        };
        let wait = |member: &mut Self, number: usize, parity: Option<i64>| {
            let counters = member.counters.clone();
            member.run.waits.push((number, ring, parity, counters));
            member.add(Counter::Awaited(ring), 1);
            let (all, turn, next) = (
                Counter::Awaited(ring),
                Counter::AwaitedTurn(ring),
                Counter::AwaitedAt(ring),
            );
            around(&mut member.counters, all, turn, next);
            let bit = at(&member.counters, turn) & 1;
            member.counters.insert(Counter::AwaitedBit(ring), bit);
        };
        let next = match &act.doing {
            Doing::Arrive(_) => Some(Counter::ArrivedAt(ring)),
            Doing::Parity(..) | Doing::Own(_) | Doing::Value(..) => Some(Counter::AwaitedAt(ring)),
            _ => None,
        };
        if let (Some(next), Some(moving)) = (next, self.system.rings[ring].moving()) {
            let index = self.value(&act.index[moving])?;
            self.run.astray |= index != at(&self.counters, next);
        }
        match &act.doing {
            Doing::Arrive(_) => {
                self.run.arrivals.push((ring, self.counters.clone()));
                self.add(Counter::Part(ring), 1);
                let units = self.units.get(&ring).copied().unwrap_or(1);
                if at(&self.counters, Counter::Part(ring)) < units {
                    return Some(());
                }
                self.counters.insert(Counter::Part(ring), 0);
                let owed = at(&self.counters, Counter::Expected(ring));
                self.counters.insert(Counter::Owed(ring), owed);
                self.counters.insert(Counter::Expected(ring), 0);
                self.add(Counter::Arrived(ring), 1);
                let (all, turn, next) = (
                    Counter::Arrived(ring),
                    Counter::ArrivedTurn(ring),
                    Counter::ArrivedAt(ring),
                );
                around(&mut self.counters, all, turn, next);
            }
            Doing::Expect(bytes) => {
                let bytes = self.value(bytes)?;
                self.add(Counter::Expected(ring), bytes);
            }
            Doing::Deliver(bytes) => {
                let bytes = self.value(bytes)?;
                let late = at(&self.counters, Counter::Owed(ring)) > 0;
                let from = if late {
                    Counter::Owed(ring)
                } else {
                    Counter::Expected(ring)
                };
                self.add(from, -bytes);
            }
            Doing::Parity(parity, number) => {
                let parity = self.value(parity)?;
                wait(self, *number, Some(parity));
            }
            Doing::Value(value, _, number) => {
                let (value, turn) = (self.value(value)?, Counter::AwaitedTurn(ring));
                let turn = at(&self.counters, turn);
                self.run.values.push((ring, value, turn));
                wait(self, *number, None);
            }
            Doing::Own(number) => wait(self, *number, None),
            Doing::Take(amount) => {
                let amount = self.value(amount)?;
                self.add(Counter::Held(ring), amount);
                let holds = at(&self.counters, Counter::Held(ring));
                self.run.held.push((ring, holds));
            }
            Doing::Give(amount) => {
                let amount = self.value(amount)?;
                self.add(Counter::Held(ring), -amount);
            }
        }
        Some(())
    }
}

/// The value of an expression, with truth values as 0 and 1; `None` if it has none.
pub fn value(expr: &Expr, params: &[i64], vars: &HashMap<VarId, i64>) -> Option<i64> {
    let go = |e: &Expr| value(e, params, vars);
    Some(match expr {
        Expr::Int(value) => *value,
        Expr::Bool(value) => i64::from(*value),
        Expr::Param(id) => *params.get(id.0)?,
        Expr::Var(var) => *vars.get(var)?,
        Expr::Neg(e) => go(e)?.checked_neg()?,
        Expr::Not(e) => 1 - go(e)?,
        Expr::If(c, a, b) => go(if go(c)? != 0 { a } else { b })?,
        Expr::Binary(BinaryOp::And, a, b) => match go(a)? {
            0 => 0,
            _ => go(b)?,
        },
        Expr::Binary(BinaryOp::Or, a, b) => match go(a)? {
            0 => go(b)?,
            _ => 1,
        },
        Expr::Binary(op, a, b) => {
            let (a, b) = (go(a)?, go(b)?);
            match op {
                BinaryOp::Add => a.checked_add(b)?,
                BinaryOp::Sub => a.checked_sub(b)?,
                BinaryOp::Mul => a.checked_mul(b)?,
                BinaryOp::Div => a.checked_div_euclid(b)?,
                BinaryOp::Mod => a.checked_rem_euclid(b)?,
                BinaryOp::Min => a.min(b),
                BinaryOp::Max => a.max(b),
                BinaryOp::Xor => a ^ b,
                BinaryOp::Eq => i64::from(a == b),
                BinaryOp::Ne => i64::from(a != b),
                BinaryOp::Lt => i64::from(a < b),
                BinaryOp::Le => i64::from(a <= b),
                BinaryOp::Gt => i64::from(a > b),
                BinaryOp::Ge => i64::from(a >= b),
                BinaryOp::And | BinaryOp::Or => return None,
            }
        }
        Expr::Visits(..) | Expr::Count { .. } => return None,
    })
}
