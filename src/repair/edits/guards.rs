//! Edits of conditions: drops, changes or adds one.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::protocol::Span;
use crate::text::ast::Block;
use crate::text::ast::Domain;
use crate::text::ast::Else;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::ItemKind;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::tight;
use super::twins::origin;
use super::walk::Place;
use super::walk::blocks;
use super::walk::bounds;
use super::walk::cell;
use super::walk::extent;
use super::walk::roles;

/// Spaces per level.
const LEVEL: &str = "    ";

/// The most new conditions that are tried, over all statements. A text that has a branch for each number of lanes may
/// have hundreds of conditions and hundreds of statements.
const MOST_GUARDED: usize = 20_000;

pub(super) fn add(found: &mut Found<'_>) {
    for place in found.places.clone() {
        match &place.stmt.kind {
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let text = found.slice(condition.span);
                let what = format!("without the condition `{text}`");
                unwrapped(found, what, place.stmt, then);
                if let Some(Else::Block(other)) = otherwise {
                    let what = format!("as if `{text}` never held");
                    unwrapped(found, what, place.stmt, other);
                }
                changed(found, condition);
                first_of_all(found, &place, condition);
                compared(found, &place, condition);
            }
            StmtKind::Elect { body } => {
                unwrapped(found, "without `elect`".to_owned(), place.stmt, body);
            }
            _ => {}
        }
    }
    returns(found);
    let mut conditions = conditions(found);
    let places = found.places.clone().into_iter();
    let places: Vec<Place<'_>> = places.filter(|p| cell(p.stmt).is_some()).collect();
    conditions.truncate(MOST_GUARDED / places.len().max(1));
    for place in places {
        let span = place.stmt.span;
        let pad = indentation(found.source, span.start);
        for condition in &conditions {
            let text = found.slice(span);
            let by = format!("if {condition} {{\n{pad}{LEVEL}{text}\n{pad}}}");
            let what = format!("only if {condition}");
            found.replace(Kind::NewGuard, what, span, by);
        }
    }
}

/// The indentation of the line that contains this place.
pub(super) fn indentation(source: &str, at: usize) -> String {
    let before = source.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let width = line.len() - line.trim_start().len();
    line[..width].to_owned()
}

/// Drops a condition at one line of a kernel, in every role. If a warp computes the condition from its own number
/// (for example, whether its threads have anything to do), then recovery writes another text for each warp, and a
/// branch for each number of threads. The edit keeps the branch in which all threads arrive.
fn returns(found: &mut Found<'_>) {
    let mut lines: BTreeMap<&str, Vec<(usize, Span, String)>> = BTreeMap::new();
    for place in &found.places {
        let Some(line) = branching(found, place.stmt) else {
            continue;
        };
        let around = found.around(place);
        let inner = around
            .iter()
            .any(|stmt| branching(found, stmt) == Some(line));
        let decides = match &place.stmt.kind {
            StmtKind::If { otherwise, .. } => otherwise.is_none(),
            _ => false,
        };
        if inner || !decides {
            continue;
        }
        let fullest = blocks(place.stmt)
            .into_iter()
            .flat_map(|block| leaves(found, block, line))
            .max_by_key(|block| arrivals(found, block));
        let dropped = fullest.and_then(|block| without(found, place.stmt, block));
        let known = lines.entry(line).or_default();
        known.extend(dropped.map(|(span, by)| (place.role, span, by)));
    }
    for (origin, all) in lines {
        if all.iter().map(|(role, _, _)| role).unique().count() > 1 {
            let what = format!("without the condition at {origin}, in every role");
            let replaced = all.into_iter().map(|(_, span, by)| (span, by));
            found.add(Kind::Guard, what, replaced.collect());
        }
    }
}

/// The kernel line of a branch.
fn branching<'s>(found: &Found<'s>, stmt: &Stmt) -> Option<&'s str> {
    match &stmt.kind {
        StmtKind::If { then, .. } => origin(found.source, then.open),
        _ => None,
    }
}

/// The innermost blocks of nested branches of one kernel line.
fn leaves<'b>(found: &Found<'_>, block: &'b Block, line: &str) -> Vec<&'b Block> {
    match block.stmts.as_slice() {
        [only] if branching(found, only) == Some(line) => blocks(only)
            .into_iter()
            .flat_map(|inner| leaves(found, inner, line))
            .collect(),
        _ => vec![block],
    }
}

/// How many arrivals the statements of a block make, as far as their counts are numbers.
fn arrivals(found: &Found<'_>, block: &Block) -> i64 {
    let counts = block.stmts.iter().map(|stmt| match &stmt.kind {
        StmtKind::Arrive { .. } => {
            let text = found.slice(stmt.span);
            let last = text.rsplit(' ').next().and_then(|last| last.parse().ok());
            last.unwrap_or(1)
        }
        _ => 0,
    });
    counts.fold(0, i64::saturating_add)
}

/// Replaces a statement by the statements of one of its blocks.
fn unwrapped(found: &mut Found<'_>, what: String, stmt: &Stmt, block: &Block) {
    if let Some((span, by)) = without(found, stmt, block) {
        found.replace(Kind::Guard, what, span, by);
    }
}

/// The range of a statement, and the text of the statements of one of its blocks.
fn without(found: &Found<'_>, stmt: &Stmt, block: &Block) -> Option<(Span, String)> {
    let (first, last) = (block.stmts.first()?, block.stmts.last()?);
    let inner = Span {
        start: first.span.start,
        end: extent(last).end,
    };
    let kept = found.slice(inner);
    let from = indentation(found.source, first.span.start);
    let to = indentation(found.source, stmt.span.start);
    let by = kept
        .lines()
        .map(|line| match line.strip_prefix(&from) {
            Some(rest) => format!("{to}{rest}"),
            None => line.to_owned(),
        })
        .join("\n");
    Some((extent(stmt), by))
}

/// Replaces a condition by a similar one.
fn changed(found: &mut Found<'_>, condition: &Expr) {
    let text = found.slice(condition.span);
    let mut all = Vec::new();
    near(found, condition, &mut all);
    all.push(format!("!({text})"));
    for other in all {
        let what = format!("`{other}` instead of `{text}`");
        found.replace(Kind::Guard, what, condition.span, other);
    }
}

/// Replaces the variable on the left of a comparison.
fn compared(found: &mut Found<'_>, place: &Place<'_>, condition: &Expr) {
    let ExprKind::Binary(_, left, _) = &condition.kind else {
        return;
    };
    let ExprKind::Name(before) = &left.kind else {
        return;
    };
    let outer = found
        .around(place)
        .into_iter()
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::For { name, .. } => Some(name.text.clone()),
            _ => None,
        });
    let mut names: Vec<String> = outer.collect();
    for other in &found.places {
        let start = other.stmt.span.start;
        if let StmtKind::Var { name, .. } | StmtKind::Let { name, .. } = &other.stmt.kind
            && other.role == place.role
            && start < place.stmt.span.start
        {
            names.push(name.text.clone());
        }
    }
    for name in names.into_iter().unique().filter(|name| name != before) {
        let what = format!("the condition is about `{name}`, not about `{before}`");
        found.replace(Kind::Guard, what, left.span, name);
    }
}

/// Replaces a condition on the first round of an inner loop by one on the first round of all loops. For example, a
/// step may be done one round late. Then the last one of a tile is due in the first round of the next tile.
fn first_of_all(found: &mut Found<'_>, place: &Place<'_>, condition: &Expr) {
    let is_zero = |e: &Expr| matches!(e.kind, ExprKind::Int(0));
    let inner = match &condition.kind {
        ExprKind::Not(inner) => inner,
        _ => condition,
    };
    let (name, first) = match &inner.kind {
        ExprKind::Binary(BinaryOp::Eq, a, b) if is_zero(b) => (a, true),
        ExprKind::Binary(BinaryOp::Gt | BinaryOp::Ne, a, b) if is_zero(b) => (a, false),
        ExprKind::Binary(BinaryOp::Lt, a, b) if is_zero(a) => (b, false),
        _ => return,
    };
    let ExprKind::Name(name) = &name.kind else {
        return;
    };
    let around = found.around(place).into_iter();
    let loops: Vec<&str> = around
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::For { name, .. } => Some(name.text.as_str()),
            _ => None,
        })
        .collect();
    let Some((_, outer)) = loops.split_last().filter(|(last, _)| *last == name) else {
        return;
    };
    let text = found.slice(inner.span).to_owned();
    for outer in outer {
        let by = match first {
            true => format!("{text} && {outer} == 0"),
            false => format!("({text} || {outer} > 0)"),
        };
        let what = format!("`{by}` instead of `{text}`");
        found.replace(Kind::Guard, what, inner.span, by);
    }
}

fn near(found: &Found<'_>, e: &Expr, into: &mut Vec<String>) {
    let ExprKind::Binary(op, a, b) = &e.kind else {
        return;
    };
    let (left, right) = (found.slice(a.span), found.slice(b.span));
    let symbols: &[&str] = match op {
        BinaryOp::And | BinaryOp::Or => {
            into.push(left.to_owned());
            into.push(right.to_owned());
            let other = if *op == BinaryOp::And { "||" } else { "&&" };
            into.push(format!("{left} {other} {right}"));
            let word = if *op == BinaryOp::And { "&&" } else { "||" };
            let mut inner = Vec::new();
            near(found, a, &mut inner);
            into.extend(inner.iter().map(|a| format!("{a} {word} {right}")));
            inner.clear();
            near(found, b, &mut inner);
            into.extend(inner.iter().map(|b| format!("{left} {word} {b}")));
            return;
        }
        BinaryOp::Eq => &["!=", ">=", "<="],
        BinaryOp::Ne => &["==", ">", "<"],
        BinaryOp::Lt => &["<=", "!="],
        BinaryOp::Le => &["<", "=="],
        BinaryOp::Gt => &[">=", "!="],
        BinaryOp::Ge => &[">", "=="],
        _ => return,
    };
    let word = found
        .source
        .get(a.span.end..b.span.start)
        .unwrap_or_default();
    for symbol in symbols {
        into.push(format!("{left} {symbol} {right}"));
    }
    for step in ["+ 1", "- 1"] {
        into.push(format!("{left}{word}{right} {step}"));
    }
    if let ExprKind::Int(value) = &b.kind {
        into.push(format!("{left}{word}{}", value.saturating_add(1)));
        into.push(format!("{left}{word}{}", value.saturating_sub(1)));
    }
}

/// Conditions that an author would write: there is something to do, it is the first member, and the conditions that
/// occur in the text already.
fn conditions(found: &Found<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for item in &found.file.items {
        if let ItemKind::Param { name, domain } = &item.kind {
            let least = match domain {
                Domain::AtLeast(lo) | Domain::Range(lo, _) => *lo,
                Domain::Set(_) => continue,
            };
            all.push(format!("{} > {least}", name.text));
        }
    }
    for place in &found.places {
        if let Some((lo, hi)) = bounds(place.stmt) {
            let lo = lo.map_or("0", |lo| found.slice(lo.span));
            all.push(format!("{} > {}", found.slice(hi.span), tight(lo)));
        }
        match &place.stmt.kind {
            StmtKind::If { condition, .. } => {
                let text = found.slice(condition.span);
                all.push(text.to_owned());
                all.push(format!("!({text})"));
            }
            StmtKind::For { name, .. } => all.push(format!("{} > 0", name.text)),
            _ => {}
        }
    }
    for (_, role) in roles(found.file) {
        for (name, extent) in &role.indices {
            // The first member, all but the first, and all but the last.
            all.push(format!("{} == 0", name.text));
            all.push(format!("{} > 0", name.text));
            all.push(format!(
                "{} + 1 < {}",
                name.text,
                tight(found.slice(extent.span))
            ));
        }
    }
    all.into_iter().unique().collect()
}
