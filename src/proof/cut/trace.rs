//! Concrete runs of classes: the operations of a member in order, and how far all members get in
//! the unwrapped protocol.

use std::collections::HashMap;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;

use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Node;
use crate::certificate::cut::lengths;
use crate::deadline;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// An element: its object and its index values.
pub type Element = (usize, Vec<i64>);

/// How many lengths are tried for loops whose length the input decides.
const LENGTHS: u64 = 4;

/// How many iterations are traced of a loop that only works on data, besides the last one.
const MARKED: i64 = 3;

/// An operation of a member at concrete parameters.
#[derive(Debug, Clone)]
pub struct Op {
    /// Its position in the class.
    pub site: usize,
    /// Per enclosing loop, from the outermost, its iteration counted over the whole run.
    pub clocks: Vec<i64>,
    /// The element it works on.
    pub element: Element,
    /// The number of earlier rounds at this element, by the closed form.
    pub rounds: i64,
    /// The operand: a weight, a count, a parity or an awaited value.
    pub operand: i64,
}

impl Op {
    /// The iteration of the innermost loop.
    pub fn clock(&self) -> i64 {
        self.clocks.last().copied().unwrap_or(0)
    }
}

/// The value of an integer expression; `None` where it has none.
pub fn value(expr: &Expr, params: &[i64], vars: &HashMap<VarId, i64>) -> Option<i64> {
    let go = |e: &Expr| value(e, params, vars);
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Param(id) => params.get(id.0).copied(),
        Expr::Var(id) => vars.get(id).copied(),
        Expr::Neg(e) => go(e)?.checked_neg(),
        Expr::If(c, a, b) => {
            if truth(c, params, vars)? {
                go(a)
            } else {
                go(b)
            }
        }
        Expr::Count { var, lo, hi, body } => {
            let mut inside = vars.clone();
            let mut total: i64 = 0;
            for x in go(lo)?..go(hi)? {
                if *var == lengths::ITERATION {
                    // No proof depends on a length, so any value will do for a guess.
                    total += length(body, params, x);
                    continue;
                }
                inside.insert(*var, x);
                total += i64::from(truth(body, params, &inside)?);
            }
            Some(total)
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (go(a)?, go(b)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div if b > 0 => Some(a.div_euclid(b)),
                BinaryOp::Mod if b > 0 => Some(a.rem_euclid(b)),
                BinaryOp::Min => Some(a.min(b)),
                BinaryOp::Max => Some(a.max(b)),
                BinaryOp::Xor => Some(a ^ b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What a length may be in an iteration.
fn length(of: &Expr, params: &[i64], x: i64) -> i64 {
    match lengths::least(of) {
        Some((most, of)) => length(of, params, x).min(most),
        None => i64::try_from(any((of, params, x)) % LENGTHS).unwrap_or(0),
    }
}

/// Some number that is the same for equal arguments.
pub fn any(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Whether a condition holds; `None` where it has no value.
pub fn truth(expr: &Expr, params: &[i64], vars: &HashMap<VarId, i64>) -> Option<bool> {
    let number = |e: &Expr| value(e, params, vars);
    let go = |e: &Expr| truth(e, params, vars);
    match expr {
        Expr::Bool(value) => Some(*value),
        Expr::Not(e) => Some(!go(e)?),
        Expr::Visits(pattern, at) => {
            // Any pattern will do for a guess, as long as it is the same for the same parameters.
            let at = at.iter().map(number).collect::<Option<Vec<i64>>>()?;
            Some(any((pattern.0, params, at)) % 2 == 0)
        }
        Expr::Binary(BinaryOp::And, a, b) => Some(go(a)? && go(b)?),
        Expr::Binary(BinaryOp::Or, a, b) => Some(go(a)? || go(b)?),
        Expr::Binary(op, a, b) => {
            let (a, b) = (number(a)?, number(b)?);
            match op {
                BinaryOp::Eq => Some(a == b),
                BinaryOp::Ne => Some(a != b),
                BinaryOp::Lt => Some(a < b),
                BinaryOp::Le => Some(a <= b),
                BinaryOp::Gt => Some(a > b),
                BinaryOp::Ge => Some(a >= b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A step on data of a member at concrete parameters.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Its position in the class.
    pub point: usize,
    /// How many operations the member has done before.
    pub at: usize,
    /// Per enclosing loop, from the outermost, its iteration counted over the whole run.
    pub clocks: Vec<i64>,
}

/// What a member of a class does, if it is no more than `limit` operations and there is time for it.
pub fn trace(class: &Class, params: &[i64], limit: usize) -> Option<Vec<Op>> {
    Some(walk(class, params, limit)?.ops)
}

/// Its steps on data, under the same conditions.
pub fn marks(class: &Class, params: &[i64], limit: usize) -> Option<Vec<Mark>> {
    Some(walk(class, params, limit)?.marks)
}

fn walk<'a>(class: &'a Class, params: &'a [i64], limit: usize) -> Option<Walker<'a>> {
    let mut walker = Walker {
        class,
        params,
        limit,
        vars: HashMap::new(),
        iterations: vec![0; class.flow.loops.len()],
        steps: 0,
        ops: Vec::new(),
        marks: Vec::new(),
    };
    walker.block(&class.flow.nodes)?;
    Some(walker)
}

/// Whether a piece of a program has neither operations nor loops.
fn only_data(node: &Node) -> bool {
    match node {
        Node::Site(_) | Node::Loop(_) => false,
        Node::Point(_) => true,
        Node::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).all(only_data),
    }
}

struct Walker<'a> {
    class: &'a Class,
    params: &'a [i64],
    limit: usize,
    vars: HashMap<VarId, i64>,
    iterations: Vec<i64>,
    steps: usize,
    ops: Vec<Op>,
    marks: Vec<Mark>,
}

impl Walker<'_> {
    fn block(&mut self, nodes: &[Node]) -> Option<()> {
        for node in nodes {
            self.steps += 1;
            let most = self.steps > 4 * self.limit || self.ops.len() > self.limit;
            if most || deadline::over() {
                return None;
            }
            match node {
                Node::Site(at) => self.site(*at)?,
                Node::Point(at) => self.point(*at),
                Node::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    let taken = if truth(condition, self.params, &self.vars)? {
                        then
                    } else {
                        otherwise
                    };
                    self.block(taken)?;
                }
                Node::Loop(at) => {
                    let this = &self.class.flow.loops[*at];
                    let trips = value(&this.trips, self.params, &self.vars)?.max(0);
                    let begun = self.iterations[*at];
                    // A few iterations of a loop that only works on data tell enough. For example,
                    // it may go over the elements of all threads.
                    let skipped = if !this.body.iter().all(only_data) {
                        trips..trips
                    } else {
                        MARKED.min(trips)..(trips - 1).max(MARKED).min(trips)
                    };
                    for nth in (0..skipped.start).chain(skipped.end..trips) {
                        self.iterations[*at] = begun + nth;
                        self.vars.insert(this.var, nth);
                        self.block(&this.body)?;
                    }
                    self.iterations[*at] = begun + trips;
                    self.vars.remove(&this.var);
                }
            }
        }
        Some(())
    }

    fn point(&mut self, at: usize) {
        let loops = self.class.flow.points[at].path.loops.iter();
        self.marks.push(Mark {
            point: at,
            at: self.ops.len(),
            clocks: loops.map(|l| self.iterations[*l]).collect(),
        });
    }

    fn site(&mut self, at: usize) -> Option<()> {
        let site = &self.class.flow.sites[at];
        let number = |e: &Expr| value(e, self.params, &self.vars);
        let index = site.index.iter().map(number).collect::<Option<_>>()?;
        let operand = match &site.kind {
            Kind::Arrive { weight, .. } => number(weight)?,
            Kind::Register { count } => number(count)?,
            Kind::WaitParity { parity } => number(parity)?,
            Kind::WaitValue { value, .. } => number(value)?,
            Kind::Expect { bytes } | Kind::Deliver { bytes } => number(bytes)?,
            Kind::Acquire { amount } | Kind::Release { amount } => number(amount)?,
            Kind::Await | Kind::Init | Kind::Own => 0,
        };
        let rounds = match self.class.flow.rounds(at) {
            Some(rounds) => number(&rounds)?,
            None => 0,
        };
        let clocks = site.path.loops.iter().map(|l| self.iterations[*l]);
        self.ops.push(Op {
            site: at,
            clocks: clocks.collect(),
            element: (site.object.0, index),
            rounds,
            operand,
        });
        Some(())
    }
}

/// Some members that go through the same operations together.
pub struct Crew<'a> {
    /// How many.
    pub size: i64,
    /// What they do.
    pub ops: &'a [Step],
    /// The operation that they stand before.
    pub at: usize,
    /// The operation that they may not go beyond.
    pub held: usize,
    /// What does not land: this operation, and every commit behind it.
    pub withheld: Option<usize>,
    /// Whether they do everything, whatever they would wait for.
    pub finishes: bool,
    /// Whether they belong to the copy of the held member. It has elements of its own.
    pub marked: bool,
    /// How many copies there are of them.
    pub copies: i64,
}

/// An operation with what it means for the unwrapped protocol.
#[derive(Debug, Clone)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// The generation that it belongs to or waits for, or 0 if there is none.
    pub generation: i64,
    /// What it adds to its element.
    pub adds: Amounts,
    /// How much its element must have for it to pass; `None` if it does not block.
    pub needs: Option<Amounts>,
    /// Whether it lands after what was started before.
    pub commit: bool,
    /// Whether every copy has such an element for itself.
    pub private: bool,
}

/// What an element counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Arrivals, or the value of a semaphore.
    pub arrivals: i64,
    /// Bytes that have landed.
    pub bytes: i64,
}

/// Runs everybody as far as possible.
pub fn run(crews: &mut [Crew<'_>]) {
    let mut arrived: HashMap<(Element, bool), Amounts> = HashMap::new();
    loop {
        let mut moved = false;
        for crew in crews.iter_mut().filter(|c| c.size > 0 && c.copies > 0) {
            while crew.at < crew.ops.len().min(crew.held) {
                let step = &crew.ops[crew.at];
                let element = (step.op.element.clone(), step.private && crew.marked);
                let there = arrived.get(&element).copied().unwrap_or_default();
                let short =
                    |needs: Amounts| there.arrivals < needs.arrivals || there.bytes < needs.bytes;
                if !crew.finishes && step.needs.is_some_and(short) {
                    break;
                }
                let at = crew.at;
                let lands = |from: usize| at < from || at > from && !step.commit;
                if step.adds != Amounts::default() && crew.withheld.is_none_or(lands) {
                    let total = arrived.entry(element).or_default();
                    let copies = if step.private { 1 } else { crew.copies };
                    total.arrivals += step.adds.arrivals * crew.size * copies;
                    total.bytes += step.adds.bytes * crew.size * copies;
                }
                crew.at += 1;
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}
