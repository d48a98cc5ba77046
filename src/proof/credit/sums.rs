//! Affine sums over the names of a wait and the parameters: their values at sample points, and
//! arithmetic with them.

use std::collections::BTreeMap;

use crate::certificate::credit::Affine;
use crate::certificate::credit::Place;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// The index values that a place covers: the first one, and the one after the last.
pub(super) fn range(place: &Place, values: &[i64], params: &[i64]) -> (i64, i64) {
    match place {
        Place::At(one) => {
            let one = evaluated(one, values, params);
            (one, one.saturating_add(1))
        }
        Place::From(from, to) => (
            evaluated(from, values, params),
            evaluated(to, values, params),
        ),
    }
}

pub(super) fn evaluated(of: &Affine, values: &[i64], params: &[i64]) -> i64 {
    let names = of.names.iter().map(|(at, times)| (times, values[*at]));
    let params = of.params.iter().map(|(at, times)| (times, params[*at]));
    let all = names.chain(params);
    all.fold(of.number, |sum, (times, value)| {
        sum.saturating_add(times.saturating_mul(value))
    })
}

/// `one + times * other`.
pub(super) fn sum(one: &Affine, other: &Affine, times: i64) -> Affine {
    let both = |one: &[(usize, i64)], other: &[(usize, i64)]| {
        let mut all: BTreeMap<usize, i64> = one.iter().copied().collect();
        for (at, factor) in other {
            let sum = all.entry(*at).or_default();
            *sum = factor.saturating_mul(times).saturating_add(*sum);
        }
        all.retain(|_, factor| *factor != 0);
        all.into_iter().collect()
    };
    Affine {
        number: times
            .saturating_mul(other.number)
            .saturating_add(one.number),
        names: both(&one.names, &other.names),
        params: both(&one.params, &other.params),
    }
}

/// An expression over these names and parameters as an affine sum, if it is one.
pub(super) fn affine(expr: &Expr, names: &[VarId]) -> Option<Affine> {
    let go = |e: &Expr| affine(e, names);
    match expr {
        Expr::Int(number) => Some(Affine {
            number: *number,
            ..Affine::default()
        }),
        Expr::Param(id) => Some(Affine {
            params: vec![(id.0, 1)],
            ..Affine::default()
        }),
        Expr::Var(var) => Some(Affine {
            names: vec![(names.iter().position(|name| name == var)?, 1)],
            ..Affine::default()
        }),
        Expr::Binary(BinaryOp::Add, a, b) => Some(sum(&go(a)?, &go(b)?, 1)),
        Expr::Binary(BinaryOp::Sub, a, b) => Some(sum(&go(a)?, &go(b)?, -1)),
        Expr::Binary(BinaryOp::Mul, a, b) => match (&**a, &**b) {
            (Expr::Int(times), e) | (e, Expr::Int(times)) => {
                Some(sum(&Affine::default(), &go(e)?, *times))
            }
            _ => None,
        },
        _ => None,
    }
}
