//! Edits of loops: their trip counts and their ranges.

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::protocol::Span;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::Iteration;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::counts::near;
use super::walk::bounds;
use super::walk::synchronizes;

pub(super) fn add(found: &mut Found<'_>) {
    trips(found);
    rows(found);
}

/// Changes the row of a pattern that a loop goes along, or makes the loop go over all columns.
fn rows(found: &mut Found<'_>) {
    let mut along = Vec::new();
    let mut ranges = Vec::new();
    for place in found.places.iter().filter(|p| synchronizes(p.stmt)) {
        let StmtKind::For { over, body, .. } = &place.stmt.kind else {
            continue;
        };
        match over {
            Iteration::Row { row, span, .. } => along.push((row, *span, body.open.start)),
            Iteration::Range { lo, hi, .. } => {
                let range = format!("{}..{}", found.slice(lo.span), found.slice(hi.span));
                ranges.push(range);
            }
        }
    }
    ranges.sort();
    ranges.dedup();
    for (row, span, open) in &along {
        for (coordinate, index) in row.iter().enumerate() {
            let before = found.slice(index.span).to_owned();
            let others = along.iter().filter_map(|(row, _, _)| row.get(coordinate));
            let mut all: Vec<String> = others.map(|e| found.slice(e.span).to_owned()).collect();
            all.extend(near(found, index, 1));
            for by in all.into_iter().unique().filter(|by| *by != before) {
                let what = format!("the loop is over row {by}, not {before}");
                found.replace(Kind::Value, what, index.span, by);
            }
        }
        let before = found.slice(*span).to_owned();
        for range in &ranges {
            let what = format!("the loop runs over {range}, not over {before}");
            let whole = Span {
                start: span.start,
                end: *open,
            };
            found.replace(Kind::Trips, what, whole, format!("{range} "));
        }
    }
}

/// Changes the bounds of a loop.
fn trips(found: &mut Found<'_>) {
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
