//! The value of an expression at concrete values.
//!
//! Integers have 64 bits and are checked: an overflow is an error and never wraps. A truth value is 0 or 1; `text`
//! has rejected expressions that mix truth values with integers. Every evaluated node costs one unit of work. So an
//! evaluation over an enormous range ends in an error.

// Values are exact: an overflow is a fault.
#![deny(clippy::arithmetic_side_effects)]
#![deny(clippy::disallowed_methods)]

use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::Var;
use crate::protocol::VarId;

use super::error::Fault;
use super::pattern::PatternData;
use super::pattern::Visited;

/// What names and patterns mean at the place where an expression is evaluated.
#[derive(Debug, Clone)]
pub struct Env<'a, P = PatternData> {
    names: &'a [Var],
    params: &'a [i64],
    patterns: &'a [P],
    vars: Vec<Option<i64>>,
    work: u64,
    work_limit: u64,
}

impl<'a, P: Visited> Env<'a, P> {
    /// An environment with these parameter values and patterns and no bound name, in which
    /// evaluation may take `work_limit` units of work in total.
    pub fn new(
        protocol: &'a Protocol,
        params: &'a [i64],
        patterns: &'a [P],
        work_limit: u64,
    ) -> Env<'a, P> {
        Env {
            names: &protocol.vars,
            params,
            patterns,
            vars: vec![None; protocol.vars.len()],
            work: 0,
            work_limit,
        }
    }

    /// Gives a name a value.
    pub fn set(&mut self, var: VarId, value: i64) -> Result<(), Fault> {
        match self.vars.get_mut(var.0) {
            Some(slot) => {
                *slot = Some(value);
                Ok(())
            }
            None => Err(self.unset(var)),
        }
    }

    /// Forgets every bound name.
    pub fn clear(&mut self) {
        self.vars.fill(None);
    }

    /// The current value of every name; none for a name without a value.
    pub(super) fn bound(&self) -> Vec<Option<i64>> {
        self.vars.clone()
    }

    /// Gives every name the value that it had when [`Env::bound`] was called.
    pub(super) fn rebind(&mut self, bound: &[Option<i64>]) {
        self.vars.clear();
        self.vars.extend_from_slice(bound);
    }

    /// Counts one unit of work.
    pub fn tick(&mut self) -> Result<(), Fault> {
        self.work = self.work.checked_add(1).ok_or(Fault::Overflow)?;
        if self.work > self.work_limit {
            return Err(Fault::TooLarge {
                what: "evaluation steps",
                limit: self.work_limit,
            });
        }
        Fault::in_time(self.work)
    }

    /// Whether a truth value holds.
    pub fn truth(&mut self, expr: &Expr) -> Result<bool, Fault> {
        Ok(self.value(expr)? != 0)
    }

    /// The value of each expression.
    pub fn values(&mut self, exprs: &[Expr]) -> Result<Vec<i64>, Fault> {
        exprs.iter().map(|e| self.value(e)).collect()
    }

    /// The value of an expression; 0 or 1 for a truth value.
    pub fn value(&mut self, expr: &Expr) -> Result<i64, Fault> {
        self.tick()?;
        match expr {
            Expr::Int(value) => Ok(*value),
            Expr::Bool(value) => Ok(i64::from(*value)),
            Expr::Param(param) => {
                let value = self.params.get(param.0).copied();
                value.ok_or_else(|| Fault::Unset(format!("parameter {}", param.0)))
            }
            Expr::Var(var) => {
                let value = self.vars.get(var.0).copied().flatten();
                value.ok_or_else(|| self.unset(*var))
            }
            Expr::Neg(e) => self.value(e)?.checked_neg().ok_or(Fault::Overflow),
            Expr::Not(e) => Ok(i64::from(!self.truth(e)?)),
            Expr::Binary(BinaryOp::And, a, b) => Ok(i64::from(self.truth(a)? && self.truth(b)?)),
            Expr::Binary(BinaryOp::Or, a, b) => Ok(i64::from(self.truth(a)? || self.truth(b)?)),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                binary(*op, a, b)
            }
            Expr::If(c, a, b) => {
                let branch = if self.truth(c)? { a } else { b };
                self.value(branch)
            }
            Expr::Visits(pattern, at) => {
                let visited = |pattern: &P, at: &[i64]| i64::from(pattern.contains(at));
                self.ask(*pattern, at, visited)
            }
            Expr::Count { var, lo, hi, body } => {
                let (lo, hi) = (self.value(lo)?, self.value(hi)?);
                self.count(*var, lo, hi, body)
            }
        }
    }

    /// The pattern's entries.
    pub fn pattern(&self, pattern: PatternId) -> Result<&'a P, Fault> {
        self.patterns
            .get(pattern.0)
            .ok_or_else(|| Fault::Unset(format!("pattern {}", pattern.0)))
    }

    /// The answer of a pattern about coordinates. A small number of coordinates is kept off the heap, because one
    /// lock is evaluated at millions of tiles.
    fn ask(
        &mut self,
        pattern: PatternId,
        at: &[Expr],
        answer: impl FnOnce(&P, &[i64]) -> i64,
    ) -> Result<i64, Fault> {
        let mut few = [0; 4];
        let Some(slots) = few.get_mut(..at.len()) else {
            let at = self.values(at)?;
            return Ok(answer(self.pattern(pattern)?, &at));
        };
        for (slot, coordinate) in slots.iter_mut().zip(at) {
            *slot = self.value(coordinate)?;
        }
        Ok(answer(self.pattern(pattern)?, slots))
    }

    fn count(&mut self, var: VarId, lo: i64, hi: i64, body: &Expr) -> Result<i64, Fault> {
        if lo >= hi {
            return Ok(0);
        }
        if let Expr::Visits(pattern, at) = body
            && let Some(free) = only_place(var, at)
        {
            // The counted name is ignored at `free`; it only needs some value.
            self.set(var, lo)?;
            return self.ask(*pattern, at, |pattern, at| pattern.count(free, at, lo, hi));
        }
        let mut total = 0_i64;
        for value in lo..hi {
            self.set(var, value)?;
            let counts = i64::from(self.truth(body)?);
            total = total.checked_add(counts).ok_or(Fault::Overflow)?;
        }
        Ok(total)
    }

    fn unset(&self, var: VarId) -> Fault {
        let name = self.names.get(var.0).map(|v| v.name.clone());
        Fault::Unset(name.unwrap_or_else(|| format!("name {}", var.0)))
    }
}

/// The one coordinate that is exactly `var`, when no other mentions it.
fn only_place(var: VarId, at: &[Expr]) -> Option<usize> {
    let free = at.iter().position(|e| *e == Expr::Var(var))?;
    let elsewhere = at
        .iter()
        .enumerate()
        .any(|(i, e)| i != free && mentions(e, var));
    (!elsewhere).then_some(free)
}

fn mentions(expr: &Expr, var: VarId) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => false,
        Expr::Var(v) => *v == var,
        Expr::Neg(e) | Expr::Not(e) => mentions(e, var),
        Expr::Binary(_, a, b) => mentions(a, var) || mentions(b, var),
        Expr::If(c, a, b) => mentions(c, var) || mentions(a, var) || mentions(b, var),
        Expr::Visits(_, at) => at.iter().any(|e| mentions(e, var)),
        Expr::Count { lo, hi, body, .. } => {
            mentions(lo, var) || mentions(hi, var) || mentions(body, var)
        }
    }
}

pub(super) fn binary(op: BinaryOp, a: i64, b: i64) -> Result<i64, Fault> {
    let checked = |value: Option<i64>| value.ok_or(Fault::Overflow);
    match op {
        BinaryOp::Add => checked(a.checked_add(b)),
        BinaryOp::Sub => checked(a.checked_sub(b)),
        BinaryOp::Mul => checked(a.checked_mul(b)),
        BinaryOp::Div | BinaryOp::Mod if b <= 0 => Err(Fault::Division(b)),
        // With a positive divisor the Euclidean quotient is the floor.
        BinaryOp::Div => checked(a.checked_div_euclid(b)),
        BinaryOp::Mod => checked(a.checked_rem_euclid(b)),
        BinaryOp::Min => Ok(a.min(b)),
        BinaryOp::Max => Ok(a.max(b)),
        BinaryOp::Xor => match [a, b].into_iter().find(|v| !(0..=1).contains(v)) {
            Some(value) => Err(Fault::NotAPhase(value)),
            None => Ok(a ^ b),
        },
        BinaryOp::Eq => Ok(i64::from(a == b)),
        BinaryOp::Ne => Ok(i64::from(a != b)),
        BinaryOp::Lt => Ok(i64::from(a < b)),
        BinaryOp::Le => Ok(i64::from(a <= b)),
        BinaryOp::Gt => Ok(i64::from(a > b)),
        BinaryOp::Ge => Ok(i64::from(a >= b)),
        BinaryOp::And => Ok(i64::from(a != 0 && b != 0)),
        BinaryOp::Or => Ok(i64::from(a != 0 || b != 0)),
    }
}
