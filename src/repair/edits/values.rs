//! Edits of the awaited values of a semaphore, and of its start value.

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::ItemKind;
use crate::text::ast::Iteration;
use crate::text::ast::ObjectKind;
use crate::text::ast::Operation;
use crate::text::ast::PatternShape;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::counts::near;
use super::walk::cell;

/// Names for the variable of a `count`.
const FRESH: [&str; 4] = ["k", "j", "l", "before"];

pub(super) fn add(found: &mut Found<'_>) {
    waits(found);
    starts(found);
    definitions(found);
    elements(found);
}

/// Uses an element that a variable remembers in place of an element that is computed. If the variable may remember
/// none, a condition is added, too.
fn elements(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let StmtKind::Update {
            cell, add: true, ..
        } = &place.stmt.kind
        else {
            continue;
        };
        let [index] = cell.index.as_slice() else {
            continue;
        };
        let variables = found
            .places
            .iter()
            .filter_map(|other| match &other.stmt.kind {
                StmtKind::Var { name, .. }
                    if other.role == place.role
                        && other.stmt.span.start < place.stmt.span.start =>
                {
                    Some(name.text.clone())
                }
                _ => None,
            });
        let variables: Vec<String> = variables.unique().collect();
        let guard = found
            .around(&place)
            .into_iter()
            .rev()
            .find_map(|stmt| match &stmt.kind {
                StmtKind::If { condition, .. } => Some(condition),
                _ => None,
            });
        let before = found.slice(index.span).to_owned();
        for name in variables.into_iter().filter(|name| *name != before) {
            let what = format!(
                "`{}[{name}]`, not `{}[{before}]`",
                cell.name.text, cell.name.text
            );
            found.replace(Kind::Value, what.clone(), index.span, name.clone());
            // Other statements test whether the variable remembers an element; their condition is used here.
            let asked = found
                .places
                .iter()
                .filter_map(|other| match &other.stmt.kind {
                    StmtKind::If { condition, .. } => {
                        let text = found.slice(condition.span);
                        text.starts_with(&format!("{name} "))
                            .then(|| text.to_owned())
                    }
                    _ => None,
                });
            let asked: Vec<String> = asked.unique().collect();
            for (guard, asked) in guard
                .iter()
                .flat_map(|guard| asked.iter().map(move |a| (guard, a)))
            {
                let what = format!("{what}, and only if {asked}");
                let both = vec![(guard.span, asked.clone()), (index.span, name.clone())];
                found.add(Kind::Value, what, both);
            }
        }
    }
}

/// Edits `let`s: replaces the definition by a part of it, or by the definition of another one.
fn definitions(found: &mut Found<'_>) {
    let lets = found.file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Let(definition) => Some((item, definition)),
        _ => None,
    });
    for (place, (_, definition)) in lets.clone().enumerate() {
        let earlier = lets.clone().take(place);
        let constants = earlier.filter(|(_, other)| other.params.is_empty());
        let constants: Vec<&str> = constants
            .map(|(_, other)| other.name.text.as_str())
            .collect();
        let mut open: Vec<&Expr> = vec![&definition.body];
        while let Some(e) = open.pop() {
            open.extend(e.kind.children());
            let before = found.slice(e.span).to_owned();
            let mut texts = Vec::new();
            match &e.kind {
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Mul, a, _) => {
                    texts.push(found.slice(a.span).to_owned());
                }
                ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b)
                    if matches!(b.kind, ExprKind::Int(_)) =>
                {
                    texts.push(found.slice(a.span).to_owned());
                }
                ExprKind::Call(name, _) if name.text == "ceil_div" => {
                    texts.extend(constants.iter().map(|name| (*name).to_owned()));
                }
                _ => {}
            }
            for text in texts.into_iter().filter(|text| *text != before) {
                let name = &definition.name.text;
                let what = format!("{text} instead of {before} in `{name}`");
                found.replace(Kind::Value, what, e.span, text);
            }
        }
    }
}

fn waits(found: &mut Found<'_>) {
    for place in found.places.clone() {
        if let StmtKind::Wait {
            cell: awaited,
            comparison: Some(_),
            value: Some(value),
        } = &place.stmt.kind
        {
            let element = found.slice(awaited.span).to_owned();
            let start = place.stmt.span.start;
            let ranks = [ranks(found, start), ranks_of_branches(found, start)].concat();
            for text in ranks {
                let what = format!("wait until `{element}` is {text}");
                found.replace(Kind::Value, what, value.span, text.clone());
                // If members take turns in this order, CTAs have to start in an order that agrees with it.
                for (from, to) in super::order::undetermined(found) {
                    let what = format!(
                        "wait until `{element}` is {text}, and CTAs start {}",
                        to.trim()
                    );
                    found.add(
                        Kind::Value,
                        what,
                        vec![(value.span, text.clone()), (from, to)],
                    );
                }
            }
            for text in near(found, value, 1) {
                let what = format!("wait until `{element}` is {text}");
                found.replace(Kind::Value, what, value.span, text);
            }
        }
    }
}

/// How many members come before this one at an entry. The row is that of a loop around this place. The members that
/// are counted differ from this one in one coordinate of the row and visit the same entry. For each coordinate there
/// are two counts: of the members with a smaller value, and of those with a larger one.
fn ranks(found: &Found<'_>, at: usize) -> Vec<String> {
    let mut all = Vec::new();
    for place in &found.places {
        let StmtKind::For {
            name,
            over: Iteration::Row { pattern, row, .. },
            body,
        } = &place.stmt.kind
        else {
            continue;
        };
        if !(body.open.start..body.close.end).contains(&at) {
            continue;
        }
        let Some(var) = FRESH
            .iter()
            .find(|v| !found.source.contains(&format!("{v} in")))
        else {
            continue;
        };
        let extents = extents(found, &pattern.text);
        for (coordinate, e) in row.iter().enumerate() {
            let here = found.slice(e.span);
            let entry = |index: &str| {
                let others = row.iter().enumerate().map(|(other, e)| {
                    if other == coordinate {
                        index.to_owned()
                    } else {
                        found.slice(e.span).to_owned()
                    }
                });
                let entry = others.chain([name.text.clone()]).join(", ");
                format!("{}[{entry}]", pattern.text)
            };
            let visited = entry(var);
            all.push(format!("count({var} in 0..{here} where {visited})"));
            if let Some(extent) = extents.get(coordinate) {
                all.push(format!(
                    "count({var} in {here} + 1..{extent} where {visited})"
                ));
            }
        }
    }
    all
}

/// The same for a branch around this place that tests an entry.
fn ranks_of_branches(found: &Found<'_>, at: usize) -> Vec<String> {
    let mut all = Vec::new();
    let Some(var) = FRESH
        .iter()
        .find(|v| !found.source.contains(&format!("{v} in")))
    else {
        return all;
    };
    for place in &found.places {
        let StmtKind::If {
            condition, then, ..
        } = &place.stmt.kind
        else {
            continue;
        };
        let ExprKind::Visits(pattern, entry) = &condition.kind else {
            continue;
        };
        if !(then.open.start..then.close.end).contains(&at) {
            continue;
        }
        let extents = extents(found, &pattern.text);
        for (coordinate, e) in entry.iter().enumerate() {
            let here = found.slice(e.span);
            let places = entry.iter().enumerate();
            let visited = places.map(|(other, e)| match other == coordinate {
                true => (*var).to_owned(),
                false => found.slice(e.span).to_owned(),
            });
            let visited = format!("{}[{}]", pattern.text, visited.collect_vec().join(", "));
            all.push(format!("count({var} in 0..{here} where {visited})"));
            if let Some(extent) = extents.get(coordinate) {
                all.push(format!(
                    "count({var} in {here} + 1..{extent} where {visited})"
                ));
            }
        }
    }
    all
}

fn extents(found: &Found<'_>, pattern: &str) -> Vec<String> {
    let text = |e: &Expr| found.slice(e.span).to_owned();
    let mut shapes = found.file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Pattern { name, shape } if name.text == pattern => Some(shape),
        _ => None,
    });
    match shapes.next() {
        Some(PatternShape::Free(extents)) => extents.iter().map(text).collect(),
        Some(PatternShape::Defined(indices, _)) => indices.iter().map(|(_, e)| text(e)).collect(),
        None => Vec::new(),
    }
}

/// Edits initial values.
fn starts(found: &mut Found<'_>) {
    for item in &found.file.items {
        let ItemKind::Object(object) = &item.kind else {
            continue;
        };
        let name = &object.name.text;
        match &object.kind {
            ObjectKind::Semaphore(Some(start)) => {
                let mut values = near(found, start, 1);
                values.push("0".to_owned());
                for value in values {
                    let what = format!("`{name}` starts at {value}");
                    found.replace(Kind::Value, what, start.span, value);
                }
            }
            ObjectKind::Semaphore(None) => {
                let text = found.slice(item.span);
                if let Some(kept) = text.trim_end().strip_suffix("any") {
                    let what = format!("`{name}` is cleared");
                    found.replace(Kind::Value, what, item.span, format!("{kept}0"));
                }
            }
            ObjectKind::Pool { capacity, .. } => {
                for value in near(found, capacity, 1) {
                    let what = format!("`{name}` has {value}");
                    found.replace(Kind::Value, what, capacity.span, value);
                }
            }
            _ => {}
        }
    }
    amounts(found);
}

/// Edits the amounts that are added to a semaphore, taken from a pool, or given back.
fn amounts(found: &mut Found<'_>) {
    let offered: Vec<(String, String)> = found
        .places
        .iter()
        .filter_map(|place| match &place.stmt.kind {
            StmtKind::Update {
                cell,
                add: true,
                value,
            } => Some((&cell.name.text, value)),
            StmtKind::Operation {
                cell,
                amount: Some(amount),
                ..
            } => Some((&cell.name.text, amount)),
            _ => None,
        })
        .map(|(name, e)| (name.clone(), found.slice(e.span).to_owned()))
        .unique()
        .collect();
    for place in found.places.clone() {
        let changed = match &place.stmt.kind {
            StmtKind::Update {
                add: true, value, ..
            } => value,
            StmtKind::Operation {
                operation: Operation::Acquire | Operation::Release,
                amount: Some(amount),
                ..
            } => amount,
            _ => continue,
        };
        let Some(element) = cell(place.stmt) else {
            continue;
        };
        let mut values: Vec<String> = offered
            .iter()
            .filter(|(name, _)| *name == element.name.text)
            .map(|(_, text)| text.clone())
            .collect();
        if !matches!(changed.kind, ExprKind::Int(0)) {
            values.extend(near(found, changed, 1));
        }
        let name = found.slice(element.span).to_owned();
        if let ExprKind::If(_, a, b) = &changed.kind {
            // Uses the same value in both cases. If members take turns in order, CTAs have to start in this order.
            for value in [a, b].map(|e| found.slice(e.span).to_owned()) {
                for (from, to) in super::order::undetermined(found) {
                    let what = format!("`{name}` always changes by {value}, and CTAs start {to}");
                    let both = vec![(changed.span, value.clone()), (from, to)];
                    found.add(Kind::Value, what, both);
                }
                let what = format!("`{name}` always changes by {value}");
                found.replace(Kind::Value, what, changed.span, value);
            }
        }
        for value in values {
            let what = format!("`{name}` changes by {value}");
            found.replace(Kind::Value, what, changed.span, value);
        }
    }
}
