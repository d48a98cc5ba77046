//! Edits of stages and parities that do not follow the round.
//!
//! A wait in a loop visits the stages in turn, and its parity flips with each turn of the ring. Typical mistakes: the
//! parity is a constant; an outer loop resets the state; the state advances by more than one, or belongs to another
//! barrier.

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::protocol::Span;
use crate::text::ast::Cell;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::Iteration;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::order::whole_line;
use super::tight;
use super::walk::Place;
use super::walk::blocks;
use super::walk::cell;

pub(super) fn add(found: &mut Found<'_>) {
    parities(found);
    numbers(found);
    states(found);
    stages(found);
}

/// Makes parities depend on the round.
fn parities(found: &mut Found<'_>) {
    let waits: Vec<(Place<'_>, &Cell, &Expr)> = found
        .places
        .iter()
        .filter_map(|place| match &place.stmt.kind {
            StmtKind::Wait {
                cell,
                comparison: None,
                value: Some(parity),
            } => Some((*place, cell, parity)),
            _ => None,
        })
        .collect();
    for (place, awaited, parity) in &waits {
        for by in followed(found, place, awaited) {
            if plain(&by) == plain(found.slice(parity.span)) {
                continue;
            }
            let element = found.slice(awaited.span);
            let what = format!("the parity of `{element}` follows the round: {by}");
            found.replace(Kind::Phase, what, parity.span, by.clone());
            // A constant may stand at several waits of an unrolled loop.
            let alike: Vec<&(Place<'_>, &Cell, &Expr)> = waits
                .iter()
                .filter(|(other, cell, value)| {
                    other.role == place.role
                        && cell.name.text == awaited.name.text
                        && found.slice(value.span) == found.slice(parity.span)
                })
                .collect();
            if alike.len() > 1 {
                let name = &awaited.name.text;
                let what = format!("the parities of `{name}` follow the round");
                let all = alike.iter().filter_map(|(other, cell, value)| {
                    let texts = followed(found, other, cell);
                    let same = texts.iter().find(|text| **text == by);
                    Some((value.span, same.or(texts.first())?.clone()))
                });
                let all: Vec<(Span, String)> = all.collect();
                found.add(Kind::Phase, what, all);
            }
        }
    }
}

/// Possible parities of a new wait for an element at a place: that of the round, and the opposite one.
pub(super) fn of_element(found: &Found<'_>, place: &Place<'_>, element: &str) -> Vec<String> {
    let around = found.around(place);
    let counters = around.iter().rev().filter_map(|stmt| counter(found, stmt));
    let Some((number, _)) = counters.into_iter().next() else {
        return vec!["0".to_owned()];
    };
    // Within brackets, the operand after `%` is the number of stages.
    let index = element
        .split_once('[')
        .map(|(_, index)| index.trim_end_matches(']'));
    let stages = index.and_then(|index| index.rsplit_once(" % "));
    let number = match stages {
        Some((number, stages)) => format!("{} / {stages}", tight(number)),
        None => number,
    };
    vec![format!("{number} % 2"), format!("({number} + 1) % 2")]
}

/// Possible parities of a wait in a loop: that of the round, and the opposite one.
fn followed(found: &Found<'_>, place: &Place<'_>, awaited: &Cell) -> Vec<String> {
    let around = found.around(place);
    let counted = around.iter().rev().filter_map(|stmt| counter(found, stmt));
    let counters: Vec<(String, String)> = counted.collect();
    let both = |number: &str| vec![format!("{number} % 2"), format!("({number} + 1) % 2")];
    // If a variable other than the loop's counts the rounds, the stage is computed from it.
    match awaited.index.last().map(|index| &index.kind) {
        Some(ExprKind::Binary(BinaryOp::Mod, number, stages)) => {
            let number = tight(found.slice(number.span));
            both(&format!("{number} / {}", tight(found.slice(stages.span))))
        }
        Some(ExprKind::Field(state, _)) => vec![format!("{}.phase", state.text)],
        _ => {
            let Some((inner, trips)) = counters.first() else {
                return Vec::new();
            };
            let mut all = both(inner);
            if let Some((outer, _)) = counters.get(1) {
                let number = format!("({outer} * {} + {inner})", tight(trips));
                all.extend(both(&number));
                all.extend(both(outer));
            }
            all
        }
    }
}

/// The variable of a loop that counts from 0, and how often it runs.
fn counter(found: &Found<'_>, stmt: &Stmt) -> Option<(String, String)> {
    match &stmt.kind {
        StmtKind::For {
            name,
            over:
                Iteration::Range {
                    lo,
                    hi,
                    descending: false,
                },
            ..
        } if matches!(lo.kind, ExprKind::Int(0)) => {
            Some((name.text.clone(), found.slice(hi.span).to_owned()))
        }
        _ => None,
    }
}

fn plain(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !c.is_whitespace() && !"()".contains(*c));
    kept.collect()
}

/// Edits the number of the round in stages and parities: it continues from one run of an inner loop to the next, or
/// it is just the variable of the loop.
fn numbers(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let Some((inner, trips)) = counter(found, place.stmt) else {
            continue;
        };
        let around = found.around(&place);
        let outer = around.iter().rev().find_map(|stmt| counter(found, stmt));
        let within: Vec<Place<'_>> = found
            .places
            .iter()
            .filter(|other| {
                blocks(place.stmt)
                    .iter()
                    .any(|block| inside(block, other.stmt))
            })
            .copied()
            .collect();
        if let Some((outer, _)) = &outer {
            let by = format!("({outer} * {} + {inner})", tight(&trips));
            let is = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if *name == inner);
            let what = format!(
                "stages and parities go on from one {outer} to the next: {by} instead of {inner}"
            );
            let replaced = everywhere(&within, &is, &by);
            found.add(Kind::State, what, replaced);
        }
        // Expressions, other than plain variables, that are taken modulo the number of stages.
        let mut others: Vec<String> = Vec::new();
        for other in &within {
            if let Some(ExprKind::Binary(BinaryOp::Mod, number, _)) = cell(other.stmt)
                .and_then(|cell| cell.index.last())
                .map(|index| &index.kind)
                && !matches!(number.kind, ExprKind::Name(_))
            {
                others.push(found.slice(number.span).to_owned());
            }
        }
        for text in others.into_iter().unique() {
            let what = format!("stages and parities go by `{inner}`, not by `{text}`");
            let is = |e: &Expr| found.slice(e.span) == text;
            let replaced = everywhere(&within, &is, &inner);
            found.add(Kind::State, what, replaced);
        }
    }
}

fn inside(block: &crate::text::ast::Block, stmt: &Stmt) -> bool {
    (block.open.start..block.close.end).contains(&stmt.span.start)
}

/// Every place at which these statements use an expression for an element or a parity.
fn everywhere(places: &[Place<'_>], is: &dyn Fn(&Expr) -> bool, by: &str) -> Vec<(Span, String)> {
    let mut all = Vec::new();
    for place in places {
        let mut open: Vec<&Expr> = Vec::new();
        if let Some(cell) = cell(place.stmt) {
            open.extend(&cell.index);
        }
        if let StmtKind::Wait {
            value: Some(value), ..
        } = &place.stmt.kind
        {
            open.push(value);
        }
        while let Some(e) = open.pop() {
            if is(e) {
                all.push((e.span, by.to_owned()));
            } else {
                open.extend(e.kind.children());
            }
        }
    }
    all
}

/// Moves the declaration of a state before an outer loop, so that the loop no longer resets it.
fn states(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let StmtKind::Var { name, .. } = &place.stmt.kind else {
            continue;
        };
        let around = found.around(&place);
        let Some(stmt) = around.last() else {
            continue;
        };
        if !matches!(stmt.kind, StmtKind::For { .. } | StmtKind::Repeat { .. }) {
            continue;
        }
        let text = found.slice(place.stmt.span).to_owned();
        let pad = indentation(found.source, stmt.span.start);
        let start = stmt.span.start;
        let what = format!(
            "`{}` starts once, before line {}",
            name.text,
            found.line(stmt.span)
        );
        let before = (Span { start, end: start }, format!("{text}\n{pad}"));
        let line = (whole_line(found.source, place.stmt.span), String::new());
        found.add(Kind::State, what, vec![before, line]);
    }
}

/// Uses the stage of another barrier of the same block.
fn stages(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let Some(used) = cell(place.stmt) else {
            continue;
        };
        let Some(index) = used.index.last() else {
            continue;
        };
        let others: Vec<&Expr> = place
            .block
            .stmts
            .iter()
            .filter_map(cell)
            .filter(|other| other.index.len() == used.index.len())
            .filter_map(|other| other.index.last())
            .collect();
        let before = found.slice(index.span).to_owned();
        let texts = others.iter().map(|e| found.slice(e.span).to_owned());
        let texts: Vec<String> = texts.unique().filter(|text| *text != before).collect();
        for text in texts {
            let name = &used.name.text;
            let what = format!("stage {text} of `{name}`, not {before}");
            found.replace(Kind::Index, what, index.span, text);
        }
        if let ExprKind::Binary(BinaryOp::Mod, number, stages) = &index.kind {
            let (number, stages) = (found.slice(number.span), found.slice(stages.span));
            for step in ["+ 1", "- 1"] {
                let text = format!("({number} {step}) % {stages}");
                let what = format!("stage {text} of `{}`, not {before}", used.name.text);
                found.replace(Kind::Index, what, index.span, text);
            }
        }
    }
}
