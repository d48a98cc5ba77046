//! Claims (assertions and invariants) at concrete values. Only the values of elements remain unknown in them.

use crate::protocol::BinaryOp;
use crate::protocol::Claim;
use crate::protocol::Expr;
use crate::protocol::Span;
use crate::protocol::StmtId;
use crate::protocol::VarId;

use super::error::Fault;
use super::eval;
use super::eval::Env;
use super::instance::CellId;
use super::instance::ObjectLayout;
use super::instance::flat_cell;
use super::step::CellState;
use super::step::State;

/// A claim of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedClaim {
    /// For an assertion: its member, how many operations this member has done before it, and its statement.
    pub at: Option<(usize, u32, StmtId)>,
    /// The place of the declaration. An assertion has the place of its statement.
    pub span: Span,
    /// The claim as written in the text.
    pub text: String,
    /// The values of an invariant's indices.
    pub index: Vec<(String, i64)>,
    /// The elements whose values occur in the claim.
    pub cells: Vec<CellId>,
    term: Term,
}

/// A condition in which everything is evaluated except for the values of elements.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Value(i64),
    /// The value of one of the claim's elements.
    Cell(usize),
    Neg(Box<Term>),
    Not(Box<Term>),
    Binary(BinaryOp, Box<Term>, Box<Term>),
    If(Box<Term>, Box<Term>, Box<Term>),
}

/// The value of an element in a state that keeps history: the count of a semaphore, the number of completions of a
/// barrier, or the available amount of a pool.
pub fn value_of(state: &State, cell: CellId) -> i64 {
    let flat = cell.0 as usize;
    match state.cells[flat] {
        CellState::Semaphore(value) => value,
        CellState::Pool { available } => available,
        _ => state.history.get(flat).copied().map_or(0, i64::from),
    }
}

impl PlacedClaim {
    /// Evaluates a claim at a place where its names have values.
    pub(super) fn new(
        claim: &Claim,
        span: Span,
        env: &mut Env<'_>,
        objects: &[ObjectLayout],
    ) -> Result<PlacedClaim, Fault> {
        let names: Vec<VarId> = claim.values.iter().map(|(var, _)| *var).collect();
        let mut cells = Vec::with_capacity(names.len());
        for (_, cell) in &claim.values {
            let index = env.values(&cell.index)?;
            let flat = flat_cell(objects, cell.object.0, &index)?;
            cells.push(
                u32::try_from(flat)
                    .map(CellId)
                    .map_err(|_| Fault::Overflow)?,
            );
        }
        Ok(PlacedClaim {
            at: None,
            span,
            text: claim.text.clone(),
            index: Vec::new(),
            cells,
            term: term(&claim.condition, &names, env)?,
        })
    }

    /// Whether the claim holds in a state. A condition without a value does not hold.
    pub fn holds(&self, state: &State) -> bool {
        let value = |cell: usize| value_of(state, self.cells[cell]);
        evaluate(&self.term, &value).is_ok_and(|value| value != 0)
    }
}

fn term(e: &Expr, names: &[VarId], env: &mut Env<'_>) -> Result<Term, Fault> {
    if !mentions(e, names) {
        return env.value(e).map(Term::Value);
    }
    let mut go = |e: &Expr| term(e, names, env).map(Box::new);
    Ok(match e {
        Expr::Var(var) => {
            let cell = names.iter().position(|name| name == var);
            Term::Cell(cell.ok_or(Fault::Overflow)?)
        }
        Expr::Neg(a) => Term::Neg(go(a)?),
        Expr::Not(a) => Term::Not(go(a)?),
        Expr::Binary(op, a, b) => {
            let a = go(a)?;
            match (op, &*a) {
                // The right side is not evaluated, so it need not have a value.
                (BinaryOp::And, Term::Value(0)) => Term::Value(0),
                (BinaryOp::Or, Term::Value(1)) => Term::Value(1),
                _ => Term::Binary(*op, a, go(b)?),
            }
        }
        Expr::If(c, a, b) => match *go(c)? {
            Term::Value(0) => *go(b)?,
            Term::Value(_) => *go(a)?,
            c => Term::If(Box::new(c), go(a)?, go(b)?),
        },
        // The caller has evaluated expressions without names already.
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => return env.value(e).map(Term::Value),
        Expr::Visits(..) | Expr::Count { .. } => {
            return Err(Fault::Unset("an element in a count".to_owned()));
        }
    })
}

fn mentions(e: &Expr, names: &[VarId]) -> bool {
    match e {
        Expr::Var(var) => names.contains(var),
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => false,
        Expr::Neg(a) | Expr::Not(a) => mentions(a, names),
        Expr::Binary(_, a, b) => mentions(a, names) || mentions(b, names),
        Expr::If(a, b, c) => [a, b, c].into_iter().any(|e| mentions(e, names)),
        Expr::Visits(_, at) => at.iter().any(|e| mentions(e, names)),
        Expr::Count { lo, hi, body, .. } => [lo, hi, body].into_iter().any(|e| mentions(e, names)),
    }
}

fn evaluate(term: &Term, value: &impl Fn(usize) -> i64) -> Result<i64, Fault> {
    Ok(match term {
        Term::Value(number) => *number,
        Term::Cell(cell) => value(*cell),
        Term::Neg(a) => evaluate(a, value)?.checked_neg().ok_or(Fault::Overflow)?,
        Term::Not(a) => i64::from(evaluate(a, value)? == 0),
        Term::Binary(BinaryOp::And, a, b) => {
            i64::from(evaluate(a, value)? != 0 && evaluate(b, value)? != 0)
        }
        Term::Binary(BinaryOp::Or, a, b) => {
            i64::from(evaluate(a, value)? != 0 || evaluate(b, value)? != 0)
        }
        Term::Binary(op, a, b) => eval::binary(*op, evaluate(a, value)?, evaluate(b, value)?)?,
        Term::If(c, a, b) => match evaluate(c, value)? {
            0 => evaluate(b, value)?,
            _ => evaluate(a, value)?,
        },
    })
}
