//! Concrete parameter values to guess from.

use std::collections::HashMap;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::trace;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::semantics::unfold;

/// How many concrete parameter values a guess has to fit, per case.
const SAMPLES: usize = 64;

/// How small the least value of a parameter is made: more than the stages of most rings.
pub(super) const LOW: i64 = 14;

/// Parameter values in the domain: all small ones first, then random larger ones.
pub(in crate::proof) fn draw(protocol: &Protocol, fixed: &[(ParamId, i64)]) -> Vec<Vec<i64>> {
    let protocol = &protocol.tightened();
    let found = drawn(protocol, fixed, &|params| params);
    match found.is_empty() {
        true => drawn(protocol, fixed, &|params| raised(protocol, params)),
        false => found,
    }
}

/// The same for values that are moved to where assumptions may hold.
fn drawn(
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    moved: &dyn Fn(Vec<i64>) -> Vec<i64>,
) -> Vec<Vec<i64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut found: Vec<Vec<i64>> = Vec::new();
    let scales = [1, 2, 3, 4, 6, 9, 14, 40];
    for attempt in 0..SAMPLES * 60 {
        if found.len() >= SAMPLES {
            break;
        }
        // Every other point is near a corner, where it matters which of two things comes first.
        let scale = if attempt % 2 == 0 {
            scales[attempt / 2 % 3]
        } else {
            scales[attempt / 2 % scales.len()]
        };
        let params: Vec<i64> = protocol
            .params
            .iter()
            .enumerate()
            .map(|(at, param)| {
                if let Some((_, value)) = fixed.iter().find(|(id, _)| id.0 == at) {
                    return *value;
                }
                match &param.domain {
                    Domain::AtLeast(lo) => lo.saturating_add(rng.random_range(0..=scale)),
                    Domain::Range(lo, hi) => {
                        rng.random_range(*lo..=(*hi).min(lo.saturating_add(scale)))
                    }
                    Domain::Set(values) if values.is_empty() => 0,
                    Domain::Set(values) => values[rng.random_range(0..values.len())],
                }
            })
            .collect();
        let mut params = moved(equated(protocol, params));
        for (id, value) in fixed {
            params[id.0] = *value;
        }
        if !found.contains(&params) && unfold::check_params(protocol, &params).is_ok() {
            found.push(params);
        }
    }
    found
}

/// Makes parameters equal to what assumptions equate them with. Random values are hardly ever
/// equal.
fn equated(protocol: &Protocol, mut params: Vec<i64>) -> Vec<i64> {
    let mut open: Vec<&Expr> = protocol.assumptions.iter().map(|a| &a.condition).collect();
    while let Some(condition) = open.pop() {
        match condition {
            Expr::Binary(BinaryOp::And, a, b) => open.extend([&**a, &**b]),
            Expr::Binary(BinaryOp::Eq, a, b) => {
                for (side, other) in [(a, b), (b, a)] {
                    if let Expr::Param(id) = **side
                        && let Some(value) = trace::value(other, &params, &HashMap::new())
                    {
                        params[id.0] = value;
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    params
}

/// Makes parameters at least as large as assumptions require. If the other parameters begin far
/// from 0, random values hardly ever are.
fn raised(protocol: &Protocol, mut params: Vec<i64>) -> Vec<i64> {
    for assumption in &protocol.assumptions {
        let (greater, other) = match &assumption.condition {
            Expr::Binary(BinaryOp::Ge, a, b) | Expr::Binary(BinaryOp::Le, b, a) => (a, b),
            _ => continue,
        };
        if let Expr::Param(id) = **greater
            && let Some(value) = trace::value(other, &params, &HashMap::new())
        {
            params[id.0] = params[id.0].max(value);
        }
    }
    params
}

/// A protocol whose parameters begin at low values, whatever its domain and its plain bounds say.
///
/// What is found there is only a guess. The proof is about the domain.
pub(super) fn lowered(protocol: &Protocol) -> Protocol {
    let mut low = protocol.tightened();
    for param in &mut low.params {
        param.domain = match &param.domain {
            Domain::AtLeast(lo) => Domain::AtLeast((*lo).min(LOW)),
            Domain::Range(lo, hi) => Domain::Range((*lo).min(LOW), *hi),
            Domain::Set(values) => Domain::Set(values.clone()),
        };
    }
    low.assumptions.retain(|a| !is_bound(&a.condition));
    low
}

/// Whether a condition compares parameters with numbers.
fn is_bound(condition: &Expr) -> bool {
    match condition {
        Expr::Binary(BinaryOp::And, a, b) => is_bound(a) && is_bound(b),
        Expr::Binary(BinaryOp::Ge | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Lt, a, b) => {
            matches!(
                (&**a, &**b),
                (Expr::Param(_), Expr::Int(_)) | (Expr::Int(_), Expr::Param(_))
            )
        }
        _ => false,
    }
}
