//! Facts about expressions over parameters that follow from the domain and the assumptions, without a solver: bounds, by
//! interval arithmetic, and the outcomes of comparisons, maxima and minima that bounds decide.

use super::algebra;
use super::polynomial::Polynomial;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// The most cases, and the most values of one parameter that are treated one at a time.
pub const MAX_CASES: usize = 256;

/// Whether a range has no more values than are treated one at a time.
pub(super) fn few(lo: i64, hi: i64) -> bool {
    let apart = hi.checked_sub(lo);
    apart.is_some_and(|apart| apart < MAX_CASES as i64)
}

/// Whether an expression over parameters cannot be negative, by its shape and the domain.
pub fn never_negative(protocol: &Protocol, expr: &Expr) -> bool {
    least(protocol, expr).is_some_and(|least| least >= 0)
}

/// A number that an expression over parameters never falls below, by its shape and the domain.
fn least(protocol: &Protocol, expr: &Expr) -> Option<i64> {
    let go = |e: &Expr| least(protocol, e);
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Param(id) => {
            let declared = match &protocol.params[id.0].domain {
                Domain::AtLeast(lo) | Domain::Range(lo, _) => Some(*lo),
                Domain::Set(values) => values.first().copied(),
            };
            let assumed = protocol.assumptions.iter();
            let assumed = assumed.filter_map(|a| assumed_least(&a.condition, *id));
            declared.into_iter().chain(assumed).max()
        }
        Expr::Binary(BinaryOp::Sub, a, b) => match **b {
            Expr::Int(k) => go(a)?.checked_sub(k),
            _ => None,
        },
        Expr::Binary(BinaryOp::Add, a, b) => go(a)?.checked_add(go(b)?),
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let (a, b) = (go(a)?, go(b)?);
            if a >= 0 && b >= 0 {
                a.checked_mul(b)
            } else {
                None
            }
        }
        Expr::Count { .. } => Some(0),
        Expr::Binary(BinaryOp::Min, a, b) => Some(go(a)?.min(go(b)?)),
        Expr::Binary(BinaryOp::Max, a, b) => match (go(a), go(b)) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        },
        _ => None,
    }
}

/// A lower bound that an assumption states of a parameter.
fn assumed_least(condition: &Expr, id: ParamId) -> Option<i64> {
    match condition {
        Expr::Binary(BinaryOp::And, a, b) => {
            let both = [assumed_least(a, id), assumed_least(b, id)];
            both.into_iter().flatten().max()
        }
        Expr::Binary(op, a, b) => match (op, &**a, &**b) {
            (BinaryOp::Ge | BinaryOp::Eq, Expr::Param(p), Expr::Int(k)) if *p == id => Some(*k),
            (BinaryOp::Gt, Expr::Param(p), Expr::Int(k)) if *p == id => k.checked_add(1),
            _ => None,
        },
        _ => None,
    }
}

/// Whether one expression over parameters is never less than another.
fn never_less(protocol: &Protocol, a: &Expr, b: &Expr) -> bool {
    let difference = Polynomial::of(a).minus(&Polynomial::of(b)).to_expr();
    difference.is_some_and(|d| never_negative(protocol, &d))
}

/// An expression over parameters with maxima and comparisons decided where the domain does.
pub fn in_domain(protocol: &Protocol, expr: &Expr) -> Expr {
    let go = |e: &Expr| in_domain(protocol, e);
    match expr {
        Expr::Binary(BinaryOp::Max, a, b) => match (go(a), go(b)) {
            (Expr::Int(k), e) | (e, Expr::Int(k))
                if least(protocol, &e).is_some_and(|lo| lo >= k) =>
            {
                e
            }
            (a, b) if never_less(protocol, &a, &b) => a,
            (a, b) if never_less(protocol, &b, &a) => b,
            (a, b) => algebra::max(a, b),
        },
        Expr::Binary(BinaryOp::Min, a, b) => match (go(a), go(b)) {
            (a, b) if never_less(protocol, &a, &b) => b,
            (a, b) if never_less(protocol, &b, &a) => a,
            (a, b) => algebra::min(a, b),
        },
        Expr::Binary(op, a, b) => {
            let (a, b) = (go(a), go(b));
            // `a < b` holds whenever the least `b - a` is above 0.
            let above = |x: &Expr, y: &Expr, gap: i64| {
                let difference = algebra::sub(y.clone(), x.clone());
                least(protocol, &difference).is_some_and(|lo| lo >= gap)
            };
            let holds = match op {
                BinaryOp::Lt => above(&a, &b, 1),
                BinaryOp::Le => above(&a, &b, 0),
                BinaryOp::Gt => above(&b, &a, 1),
                BinaryOp::Ge => above(&b, &a, 0),
                _ => false,
            };
            let apart =
                matches!(op, BinaryOp::Eq | BinaryOp::Ne) && (above(&a, &b, 1) || above(&b, &a, 1));
            if holds || apart {
                Expr::Bool(*op != BinaryOp::Eq)
            } else {
                algebra::binary(*op, a, b)
            }
        }
        Expr::Not(e) => algebra::not(go(e)),
        Expr::If(c, a, b) => algebra::choose(go(c), go(a), go(b)),
        other => other.clone(),
    }
}
