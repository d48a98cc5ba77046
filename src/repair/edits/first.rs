//! Edits that add an operation of a loop once before the loop, for its first round: stages that are free at the
//! beginning, or a fetch one round ahead.

use crate::protocol::Span;
use crate::text::ast::Block;
use crate::text::ast::Expr;
use crate::text::ast::Iteration;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;
use crate::text::words;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::walk::blocks;
use super::walk::cell;
use super::walk::extent;
use super::walk::names;
use super::walk::synchronizes;

pub(super) fn add(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let StmtKind::For {
            name,
            over:
                Iteration::Range {
                    lo,
                    descending: false,
                    ..
                },
            body,
        } = &place.stmt.kind
        else {
            if let StmtKind::Repeat { body, .. } = &place.stmt.kind {
                free(found, place.stmt, body, None);
            }
            continue;
        };
        let loop_of = Some((name.text.as_str(), lo));
        free(found, place.stmt, body, loop_of);
        ahead(found, place.stmt, body, (name.text.as_str(), lo));
    }
}

/// Adds arrivals before a loop for the elements that the loop arrives at. They mark stages that are free at the
/// beginning.
fn free(found: &mut Found<'_>, stmt: &Stmt, body: &Block, counted: Option<(&str, &Expr)>) {
    let arrivals = body.stmts.iter();
    let arrivals = arrivals.filter(|stmt| matches!(stmt.kind, StmtKind::Arrive { .. }));
    let (moving, fixed): (Vec<&Stmt>, Vec<&Stmt>) =
        arrivals.partition(|stmt| counted.is_some_and(|(variable, _)| uses(stmt, variable)));
    let fixed: Vec<String> = fixed
        .iter()
        .map(|stmt| found.slice(stmt.span).to_owned())
        .collect();
    // If there is only one, another kind of edit already inserts it here.
    if fixed.len() > 1 {
        before(found, stmt, &fixed);
    }
    if let Some((variable, lo)) = counted {
        for arrival in moving {
            let first = found.slice(lo.span);
            let text = words::replaced(found.slice(arrival.span), variable, first);
            before(found, stmt, &[text]);
        }
    }
}

/// Adds before a loop what it does for its next round, so that the first round gets it, too.
fn ahead(found: &mut Found<'_>, stmt: &Stmt, body: &Block, (variable, lo): (&str, &Expr)) {
    let next = format!("{variable} + 1");
    let first = found.slice(lo.span);
    let texts = body.stmts.iter().filter(|stmt| synchronizes(stmt));
    let texts = texts.map(|stmt| found.slice(extent(stmt)));
    let texts = texts.filter(|text| text.contains(&next));
    let texts: Vec<String> = texts
        .map(|text| {
            // In the round before the first one, the next round is the first.
            let text = text.replace(&next, first);
            words::replaced(&text, variable, &format!("({first} - 1)"))
        })
        .collect();
    if !texts.is_empty() {
        let inner = indentation(found.source, body.stmts[0].span.start);
        let outer = indentation(found.source, stmt.span.start);
        let texts: Vec<String> = texts
            .iter()
            .map(|text| text.replace(&format!("\n{inner}"), &format!("\n{outer}")))
            .collect();
        before(found, stmt, &texts);
    }
}

/// Statements in front of another one.
fn before(found: &mut Found<'_>, stmt: &Stmt, texts: &[String]) {
    let start = stmt.span.start;
    let pad = indentation(found.source, start);
    let by = texts.iter().map(|text| format!("{text}\n{pad}")).collect();
    let shown: Vec<String> = texts
        .iter()
        .map(|text| {
            let first = text.lines().next().unwrap_or_default();
            let code = first.split("//").next().unwrap_or_default();
            code.trim_end_matches([' ', '{']).to_owned()
        })
        .collect();
    let what = format!("`{}` once before the loop", shown.join("`, `"));
    found.replace(Kind::Insert, what, Span { start, end: start }, by);
}

/// Whether the element of a statement depends on a variable.
fn uses(stmt: &Stmt, variable: &str) -> bool {
    let mut used = Vec::new();
    let indices = cell(stmt).into_iter().flat_map(|cell| &cell.index);
    indices.for_each(|e| names(e, &mut used));
    let inner = blocks(stmt).into_iter().flat_map(|block| &block.stmts);
    used.contains(&variable) || inner.into_iter().any(|stmt| uses(stmt, variable))
}
