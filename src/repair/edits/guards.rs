//! Conditions: dropped, changed, and added.

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
use super::walk::bounds;
use super::walk::cell;
use super::walk::extent;
use super::walk::roles;

/// Spaces per level.
const LEVEL: &str = "    ";

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
                compared(found, &place, condition);
            }
            StmtKind::Elect { body } => {
                unwrapped(found, "without `elect`".to_owned(), place.stmt, body);
            }
            _ => {}
        }
    }
    returns(found);
    let conditions = conditions(found);
    for place in found.places.clone() {
        if cell(place.stmt).is_none() {
            continue;
        }
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

/// What a line begins with, up to this place.
pub(super) fn indentation(source: &str, at: usize) -> String {
    let before = source.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let width = line.len() - line.trim_start().len();
    line[..width].to_owned()
}

/// A condition at one line of a kernel, dropped in every role. Of what a warp computes of its own number, as whether its threads have
/// anything to do, recovery writes another text for each.
fn returns(found: &mut Found<'_>) {
    let mut lines: BTreeMap<&str, Vec<(usize, Span, String)>> = BTreeMap::new();
    for place in &found.places {
        let StmtKind::If {
            then,
            otherwise: None,
            ..
        } = &place.stmt.kind
        else {
            continue;
        };
        let Some(origin) = origin(found.source, then.open) else {
            continue;
        };
        let dropped = without(found, place.stmt, then);
        let known = lines.entry(origin).or_default();
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

/// The statements of a block in place of the statement that has it.
fn unwrapped(found: &mut Found<'_>, what: String, stmt: &Stmt, block: &Block) {
    if let Some((span, by)) = without(found, stmt, block) {
        found.replace(Kind::Guard, what, span, by);
    }
}

/// Where a statement stands, and the statements of one of its blocks.
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

/// Another condition that is near.
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

/// Another variable on the left of a comparison.
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

/// Conditions that an author would write: there is something to do, it is the first member, and
/// those that stand somewhere already.
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
            // The first, everybody but the first, and everybody but the last.
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
