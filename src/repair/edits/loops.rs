//! How often a loop runs.

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;

use super::Found;
use super::Kind;
use super::walk::bounds;
use super::walk::synchronizes;

pub(super) fn add(found: &mut Found<'_>) {
    let offered: Vec<String> = found
        .places
        .iter()
        .filter_map(|place| Some(found.slice(bounds(place.stmt)?.1.span).to_owned()))
        .unique()
        .collect();
    for place in found.places.clone() {
        let Some((lo, hi)) = bounds(place.stmt).filter(|_| synchronizes(place.stmt)) else {
            continue;
        };
        let before = found.slice(hi.span);
        let mut all = parts(found, hi);
        all.extend(offered.iter().cloned());
        all.push(format!("{before} + 1"));
        all.push(format!("{before} - 1"));
        for bound in all {
            let what = format!("the loop runs up to {bound}, not {before}");
            found.replace(Kind::Trips, what, hi.span, bound);
        }
        if let Some(lo) = lo {
            let before = found.slice(lo.span);
            let mut all = parts(found, lo);
            match &lo.kind {
                ExprKind::Int(value) => {
                    all.push(value.saturating_add(1).to_string());
                    all.push(value.saturating_sub(1).to_string());
                }
                _ => {
                    all.push(format!("{before} + 1"));
                    all.push(format!("{before} - 1"));
                }
            }
            for bound in all {
                let what = format!("the loop runs from {bound}, not {before}");
                found.replace(Kind::Trips, what, lo.span, bound);
            }
        }
    }
}

/// One side of a sum or difference.
fn parts(found: &Found<'_>, e: &Expr) -> Vec<String> {
    match &e.kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            vec![
                found.slice(a.span).to_owned(),
                found.slice(b.span).to_owned(),
            ]
        }
        _ => Vec::new(),
    }
}
