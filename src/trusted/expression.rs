//! Expressions of the protocol as terms over mathematical integers, and when they are defined.
//!
//! `div` and `mod` of SMT-LIB are floor division for positive divisors only, so [`Names::defined`] asks for a
//! positive divisor wherever one is evaluated, and for operands of `^` that are 0 or 1. The operators `&&` and
//! `||` and the branches of `if` evaluate what the interpreter evaluates.
//!
//! *Theorem (division).* For `b > 0` there is one pair of integers `q` and `r` with `a = b * q + r` and
//! `0 <= r < b`. So where a counter is kept as such a pair, its quotient and remainder are known.

use std::collections::BTreeSet;
use std::collections::HashMap;

use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Param;
use crate::protocol::VarId;

/// More bytes than this no choice of the lesser or greater of two may have.
const LONGEST: usize = 1 << 20;

/// What names stand for.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Parameters.
    pub params: Vec<Term>,
    /// Bound names.
    pub vars: HashMap<VarId, Term>,
    /// Dividends and divisors that are not numbers, as far as they have occurred.
    pub quotients: BTreeSet<(Term, Term)>,
}

/// The constant that stands for a parameter.
pub fn parameter(param: &Param) -> Term {
    term::name(&format!("param_{}", param.name))
}

impl Names {
    /// The value of an expression.
    ///
    /// # Errors
    ///
    /// A name without a value, a pattern or a count.
    pub fn term(&mut self, expr: &Expr) -> Result<Term, Unsupported> {
        Ok(match expr {
            Expr::Int(value) => term::int(*value),
            Expr::Bool(value) => term::boolean(*value),
            Expr::Param(id) => self.params.get(id.0).cloned().ok_or_else(unknown)?,
            Expr::Var(var) => self.vars.get(var).cloned().ok_or_else(unknown)?,
            Expr::Neg(e) => term::sub(&term::int(0), &self.term(e)?),
            Expr::Not(e) => term::not(self.term(e)?),
            Expr::If(c, a, b) => term::ite(&self.term(c)?, &self.term(a)?, &self.term(b)?),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.term(a)?, self.term(b)?);
                match op {
                    BinaryOp::Add => term::sum([a, b]),
                    BinaryOp::Sub => term::sub(&a, &b),
                    BinaryOp::Mul => term::apply("*", &[a, b]),
                    BinaryOp::Div => self.divided("div", a, b),
                    BinaryOp::Mod => self.divided("mod", a, b),
                    BinaryOp::Min => chosen(&a, &b, [&a, &b])?,
                    BinaryOp::Max => chosen(&a, &b, [&b, &a])?,
                    BinaryOp::Xor => term::ite(&term::eq(&a, &b), &term::int(0), &term::int(1)),
                    BinaryOp::Eq => term::eq(&a, &b),
                    BinaryOp::Ne => term::not(term::eq(&a, &b)),
                    BinaryOp::Lt => term::lt(&a, &b),
                    BinaryOp::Le => term::le(&a, &b),
                    BinaryOp::Gt => term::lt(&b, &a),
                    BinaryOp::Ge => term::le(&b, &a),
                    BinaryOp::And => term::and([a, b]),
                    BinaryOp::Or => term::or([a, b]),
                }
            }
            Expr::Visits(..) | Expr::Count { .. } => {
                return Err(Unsupported::whole("a pattern or a count"));
            }
        })
    }

    fn divided(&mut self, function: &str, a: Term, b: Term) -> Term {
        if !b.is_literal() {
            self.quotients.insert((a.clone(), b.clone()));
        }
        term::apply(function, &[a, b])
    }

    /// That the interpreter computes a value.
    ///
    /// # Errors
    ///
    /// As for [`Names::term`].
    pub fn defined(&mut self, expr: &Expr) -> Result<Term, Unsupported> {
        Ok(match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => term::boolean(true),
            Expr::Neg(e) | Expr::Not(e) => self.defined(e)?,
            Expr::If(c, a, b) => {
                let (holds, condition) = (self.term(c)?, self.defined(c)?);
                let (a, b) = (self.defined(a)?, self.defined(b)?);
                let a = term::or([term::not(holds.clone()), a]);
                term::and([condition, a, term::or([holds, b])])
            }
            Expr::Binary(op, a, b) => {
                let (left, right) = (self.defined(a)?, self.defined(b)?);
                let (a, b) = (self.term(a)?, self.term(b)?);
                let bit = |side: &Term| term::within(&term::int(0), side, &term::int(2));
                match op {
                    BinaryOp::And => term::and([left, term::or([term::not(a), right])]),
                    BinaryOp::Or => term::and([left, term::or([a, right])]),
                    BinaryOp::Div | BinaryOp::Mod => {
                        term::and([left, right, term::lt(&term::int(0), &b)])
                    }
                    BinaryOp::Xor => term::and([left, right, bit(&a), bit(&b)]),
                    BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::Min
                    | BinaryOp::Max
                    | BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge => term::and([left, right]),
                }
            }
            Expr::Visits(..) | Expr::Count { .. } => {
                return Err(Unsupported::whole("a pattern or a count"));
            }
        })
    }

    /// What is known of quotients by numbers that are not written out: see the theorem. `pairs` are counters with
    /// their size, quotient and remainder.
    pub fn division(&self, pairs: &[[Term; 4]]) -> Vec<Term> {
        let zero = term::int(0);
        let mut facts = Vec::new();
        for (a, b) in &self.quotients {
            let div = term::apply("div", &[a.clone(), b.clone()]);
            let rest = term::apply("mod", &[a.clone(), b.clone()]);
            let product = term::apply("*", &[div.clone(), b.clone()]);
            let whole = term::eq(a, &term::sum([product, rest.clone()]));
            let pair = term::and([whole, term::within(&zero, &rest, b)]);
            facts.push(term::or([term::le(b, &zero), pair]));
            for [counter, size, turn, at] in pairs {
                let product = term::product([turn.clone(), size.clone()]);
                let same = term::and([
                    term::eq(a, counter),
                    term::eq(b, size),
                    term::eq(counter, &term::sum([product, at.clone()])),
                    term::within(&zero, at, size),
                ]);
                let known = term::and([term::eq(&div, turn), term::eq(&rest, at)]);
                facts.push(term::or([term::not(same), known]));
            }
        }
        facts
    }
}

/// The first of two where `a <= b`, and the second otherwise. Each occurs twice, so terms double with every level.
///
/// # Errors
///
/// A term that is too large.
pub fn chosen(a: &Term, b: &Term, [first, second]: [&Term; 2]) -> Result<Term, Unsupported> {
    let chosen = term::ite(&term::le(a, b), first, second);
    match chosen.length() > LONGEST {
        true => Err(Unsupported::whole("an expression that is too large")),
        false => Ok(chosen),
    }
}

fn unknown() -> Unsupported {
    Unsupported::whole("a name without a value")
}
