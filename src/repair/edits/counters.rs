//! Edits of waits for counters. A wait for an exact value can miss this value if other members add to the counter
//! meanwhile, or if one resets it.

use std::collections::BTreeMap;

use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Span;
use crate::text::ast::ExprKind;
use crate::text::ast::Iteration;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::order;
use super::tight;
use super::walk::Place;
use super::walk::extent;

pub(super) fn add(found: &mut Found<'_>) {
    exact(found);
    sums(found);
}

/// Drops the number that is added in every wait at a counter. The reason: an author who counts one too many does so
/// in all waits.
fn sums(found: &mut Found<'_>) {
    let mut waits: BTreeMap<&str, Vec<(Span, String)>> = BTreeMap::new();
    for place in &found.places {
        let StmtKind::Wait {
            cell,
            comparison: Some(_),
            value: Some(value),
        } = &place.stmt.kind
        else {
            continue;
        };
        if let ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, sum, number) = &value.kind
            && matches!(number.kind, ExprKind::Int(_))
        {
            let known = waits.entry(&cell.name.text).or_default();
            known.push((value.span, found.slice(sum.span).to_owned()));
        }
    }
    for (name, replaced) in waits {
        let (_, first) = &replaced[0];
        let what = format!("wait for `{name}` until it is {first}, and so on, without the number");
        found.add(Kind::Value, what, replaced.clone());
    }
}

/// Edits a wait for an exact value.
fn exact(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let StmtKind::Wait {
            cell,
            comparison: Some(Comparison::Equal),
            value: Some(value),
        } = &place.stmt.kind
        else {
            continue;
        };
        let element = found.slice(cell.span).to_owned();
        let text = found.slice(value.span).to_owned();
        let sign = Span {
            start: cell.span.end,
            end: value.span.start,
        };
        let least = (sign, " >= ".to_owned());
        let what = format!("wait until `{element}` is at least {text}");
        found.add(Kind::Value, what, vec![least.clone()]);
        let Some(reset) = resets(found, &cell.name.text) else {
            continue;
        };
        for round in rounds(found, &place) {
            let all = format!("{} * ({round} + 1)", tight(&text));
            let what = format!("`{element}` is never set back: wait until it is at least {all}");
            let mut edits = reset.clone();
            edits.push(least.clone());
            edits.push((value.span, all));
            found.add(Kind::Value, what, edits);
        }
    }
}

/// The edits that remove every statement that sets a semaphore, together with a condition around such a statement
/// alone; `None` if there is no such statement.
fn resets(found: &Found<'_>, name: &str) -> Option<Vec<(Span, String)>> {
    let mut all = Vec::new();
    for place in &found.places {
        let StmtKind::Update {
            cell, add: false, ..
        } = &place.stmt.kind
        else {
            continue;
        };
        if cell.name.text != name {
            continue;
        }
        let alone = |stmt: &&Stmt| match &stmt.kind {
            StmtKind::If {
                then,
                otherwise: None,
                ..
            } => then.stmts.len() == 1 && then.stmts[0].span == place.stmt.span,
            _ => false,
        };
        let around = found.around(place);
        let outer = around.iter().copied().find(alone).unwrap_or(place.stmt);
        let lines = order::whole_line(found.source, extent(outer));
        all.push((lines, String::new()));
    }
    (!all.is_empty()).then_some(all)
}

/// The variables of the loops around a place that count from 0.
fn rounds(found: &Found<'_>, place: &Place<'_>) -> Vec<String> {
    let around = found.around(place).into_iter().rev();
    let named = around.filter_map(|stmt| match &stmt.kind {
        StmtKind::For {
            name,
            over: Iteration::Range { lo, .. },
            ..
        } if found.slice(lo.span) == "0" => Some(name.text.clone()),
        _ => None,
    });
    named.collect()
}
