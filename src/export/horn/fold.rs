//! Constant folding: simplifies an expression in which some names have known values.
//!
//! Folding computes what the interpreter computes and nothing more. An operation is replaced by its result only if
//! both operands are literals and the interpreter would accept them. A branch is dropped only if the interpreter
//! would not evaluate it. So an expression that is ill defined stays ill defined, and the proof of well-definedness
//! will notice it.

use std::collections::HashMap;

use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::VarId;

/// The known values of names.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Parameters with a value.
    pub params: HashMap<ParamId, i64>,
    /// Bound names with a meaning.
    pub vars: HashMap<VarId, Expr>,
}

/// Replaces known names, and computes what can be computed.
pub fn fold(expr: &Expr, known: &Known) -> Expr {
    let go = |e: &Expr| fold(e, known);
    match expr {
        Expr::Int(_) | Expr::Bool(_) => expr.clone(),
        Expr::Param(id) => match known.params.get(id) {
            Some(value) => Expr::Int(*value),
            None => expr.clone(),
        },
        Expr::Var(var) => known.vars.get(var).cloned().unwrap_or_else(|| expr.clone()),
        Expr::Neg(e) => match go(e) {
            Expr::Int(value) => match value.checked_neg() {
                Some(minus) => Expr::Int(minus),
                None => Expr::Neg(Box::new(Expr::Int(value))),
            },
            e => Expr::Neg(Box::new(e)),
        },
        Expr::Not(e) => match go(e) {
            Expr::Bool(value) => Expr::Bool(!value),
            e => Expr::Not(Box::new(e)),
        },
        Expr::Binary(op, a, b) => binary(*op, go(a), go(b)),
        Expr::If(c, a, b) => match go(c) {
            Expr::Bool(true) => go(a),
            Expr::Bool(false) => go(b),
            c => Expr::If(Box::new(c), Box::new(go(a)), Box::new(go(b))),
        },
        Expr::Visits(pattern, at) => Expr::Visits(*pattern, at.iter().map(go).collect()),
        Expr::Count { var, lo, hi, body } => Expr::Count {
            var: *var,
            lo: Box::new(go(lo)),
            hi: Box::new(go(hi)),
            body: Box::new(go(body)),
        },
    }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let result = match (op, &a, &b) {
        (BinaryOp::And, Expr::Bool(true), _) => return b,
        (BinaryOp::And, Expr::Bool(false), _) => return Expr::Bool(false),
        (BinaryOp::Or, Expr::Bool(false), _) => return b,
        (BinaryOp::Or, Expr::Bool(true), _) => return Expr::Bool(true),
        (_, Expr::Int(x), Expr::Int(y)) => integers(op, *x, *y),
        // Adding or subtracting 0 changes neither the value nor the evaluation.
        (BinaryOp::Add, Expr::Int(0), _) => return b,
        (BinaryOp::Add | BinaryOp::Sub, _, Expr::Int(0)) => return a,
        _ => None,
    };
    result.unwrap_or_else(|| Expr::binary(op, a, b))
}

fn integers(op: BinaryOp, x: i64, y: i64) -> Option<Expr> {
    let bit = |v: i64| (0..=1).contains(&v);
    Some(match op {
        BinaryOp::Add => Expr::Int(x.checked_add(y)?),
        BinaryOp::Sub => Expr::Int(x.checked_sub(y)?),
        BinaryOp::Mul => Expr::Int(x.checked_mul(y)?),
        BinaryOp::Div if y > 0 => Expr::Int(x.div_euclid(y)),
        BinaryOp::Mod if y > 0 => Expr::Int(x.rem_euclid(y)),
        BinaryOp::Min => Expr::Int(x.min(y)),
        BinaryOp::Max => Expr::Int(x.max(y)),
        BinaryOp::Xor if bit(x) && bit(y) => Expr::Int(x ^ y),
        BinaryOp::Eq => Expr::Bool(x == y),
        BinaryOp::Ne => Expr::Bool(x != y),
        BinaryOp::Lt => Expr::Bool(x < y),
        BinaryOp::Le => Expr::Bool(x <= y),
        BinaryOp::Gt => Expr::Bool(x > y),
        BinaryOp::Ge => Expr::Bool(x >= y),
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::Xor | BinaryOp::And | BinaryOp::Or => {
            return None;
        }
    })
}

/// Whether a bound name occurs.
pub fn mentions(expr: &Expr, wanted: &dyn Fn(VarId) -> bool) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => false,
        Expr::Var(var) => wanted(*var),
        Expr::Neg(e) | Expr::Not(e) => mentions(e, wanted),
        Expr::Binary(_, a, b) => mentions(a, wanted) || mentions(b, wanted),
        Expr::If(c, a, b) => mentions(c, wanted) || mentions(a, wanted) || mentions(b, wanted),
        Expr::Visits(_, at) => at.iter().any(|e| mentions(e, wanted)),
        Expr::Count { lo, hi, body, .. } => {
            mentions(lo, wanted) || mentions(hi, wanted) || mentions(body, wanted)
        }
    }
}

/// Whether a pattern or a count occurs.
pub fn counts(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => false,
        Expr::Neg(e) | Expr::Not(e) => counts(e),
        Expr::Binary(_, a, b) => counts(a) || counts(b),
        Expr::If(c, a, b) => counts(c) || counts(a) || counts(b),
        Expr::Visits(..) | Expr::Count { .. } => true,
    }
}
