//! Statements that stand in the wrong place, are missing, or are one too many, and the order in which CTAs start.

use crate::protocol::Span;
use crate::text::ast::Launch;
use crate::text::ast::LaunchOrder;
use crate::text::ast::Operation;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::walk::Place;
use super::walk::cell;
use super::walk::extent;
use super::walk::roles;
use super::walk::synchronizes;

pub(super) fn add(found: &mut Found<'_>) {
    swapped(found);
    dropped(found);
    launched(found);
    inserted(found);
}

fn swapped(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let Some(next) = place.block.stmts.get(place.at + 1) else {
            continue;
        };
        if !synchronizes(place.stmt) && !synchronizes(next) {
            continue;
        }
        let (first, second) = (extent(place.stmt), extent(next));
        let what = format!("`{}` first", shown(found.slice(next.span)));
        let (before, after) = (
            found.slice(first).to_owned(),
            found.slice(second).to_owned(),
        );
        found.add(Kind::Order, what, vec![(first, after), (second, before)]);
    }
}

/// What does not wait: an arrival, an addition, expected bytes.
fn dropped(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let drops = match &place.stmt.kind {
            StmtKind::Arrive { .. } | StmtKind::Update { .. } => cell(place.stmt).is_some(),
            StmtKind::Operation { operation, .. } => !matches!(
                operation,
                Operation::Acquire | Operation::Init | Operation::CompleteTx
            ),
            _ => false,
        };
        if drops {
            let what = format!("without `{}`", shown(found.slice(place.stmt.span)));
            let line = whole_line(found.source, place.stmt.span);
            found.replace(Kind::Arrival, what, line, String::new());
        }
    }
}

/// A statement with its line, if it stands there alone.
fn whole_line(source: &str, span: Span) -> Span {
    let start = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source[span.end..]
        .find('\n')
        .map_or(source.len(), |at| span.end + at + 1);
    let before = source[start..span.start].trim();
    let after = source[span.end..end].trim();
    if before.is_empty() && (after.is_empty() || after.starts_with("//")) {
        Span { start, end }
    } else {
        span
    }
}

/// CTAs start in the other order.
fn launched(found: &mut Found<'_>) {
    for (item, role) in roles(found.file) {
        let Some(Launch {
            order: Some(order), ..
        }) = &role.launch
        else {
            continue;
        };
        let others: &[&str] = match order {
            LaunchOrder::Ascending => &["descending"],
            LaunchOrder::Descending => &["ascending"],
            LaunchOrder::Any => &["ascending", "descending"],
            LaunchOrder::Keys(_) => &[],
        };
        let header = found.slice(item.span);
        let Some(at) = header.find(" launch ").map(|at| at + " launch ".len()) else {
            continue;
        };
        let word = header[at..].split_whitespace().next().unwrap_or_default();
        let span = Span {
            start: item.span.start + at,
            end: item.span.start + at + word.len(),
        };
        for other in others {
            let what = format!("CTAs start {other}");
            found.replace(Kind::Launch, what, span, (*other).to_owned());
        }
    }
}

/// A statement of the text once more, somewhere else; in its own role first.
fn inserted(found: &mut Found<'_>) {
    let places = found.places.clone();
    let simple: Vec<Place<'_>> = places
        .iter()
        .filter(|place| cell(place.stmt).is_some())
        .copied()
        .collect();
    for own in [true, false] {
        for place in &places {
            for copied in &simple {
                if (copied.role == place.role) != own {
                    continue;
                }
                let text = found.slice(copied.stmt.span).to_owned();
                let pad = indentation(found.source, place.stmt.span.start);
                let what = format!("`{}` once more", shown(&text));
                let start = place.stmt.span.start;
                let here = Span { start, end: start };
                found.replace(Kind::Insert, what, here, format!("{text}\n{pad}"));
                if place.at + 1 == place.block.stmts.len() {
                    let what = format!("`{}` once more", shown(&text));
                    let end = extent(place.stmt).end;
                    let here = Span { start: end, end };
                    found.replace(Kind::Insert, what, here, format!("\n{pad}{text}"));
                }
            }
        }
    }
    into_empty(found, &simple);
}

/// The same into a role that does nothing yet.
fn into_empty(found: &mut Found<'_>, simple: &[Place<'_>]) {
    for (_, role) in roles(found.file) {
        if !role.body.stmts.is_empty() {
            continue;
        }
        let span = Span {
            start: role.body.open.start,
            end: role.body.close.end,
        };
        for copied in simple {
            let text = found.slice(copied.stmt.span).to_owned();
            let what = format!("`{}` in `{}`, too", shown(&text), role.name.text);
            found.replace(Kind::Insert, what, span, format!("{{\n    {text}\n}}"));
        }
    }
}

/// A statement on one line.
fn shown(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
