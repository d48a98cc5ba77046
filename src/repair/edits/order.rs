//! Edits of order: moves, adds or removes a statement, or changes the launch order.

use crate::protocol::Span;
use crate::text::ast::LaunchOrder;
use crate::text::ast::Operation;
use crate::text::ast::Resident;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::tight;
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

/// Removes a statement that does not wait: an arrival, an addition, or expected bytes.
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

/// The whole line of a statement that stands alone on its line, or else only the statement.
pub(super) fn whole_line(source: &str, span: Span) -> Span {
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

/// Changes the order in which CTAs start, or makes all of them resident at once.
fn launched(found: &mut Found<'_>) {
    for (item, role) in roles(found.file) {
        let Some(launch) = &role.launch else {
            continue;
        };
        let header = found.slice(item.span).to_owned();
        let word = |key: &str| {
            let at = header.find(key)? + key.len();
            let word = header[at..].split_whitespace().next()?;
            Some(Span {
                start: item.span.start + at,
                end: item.span.start + at + word.len(),
            })
        };
        let others: &[&str] = match launch.order {
            Some(LaunchOrder::Ascending) => &["descending"],
            Some(LaunchOrder::Descending) => &["ascending"],
            Some(LaunchOrder::Any) | None => &["ascending", "descending"],
            Some(LaunchOrder::Keys(_)) => &[],
        };
        let written = word(" launch ");
        let before_bound = header.find(" resident ").map(|at| item.span.start + at);
        for other in others {
            let what = format!("CTAs start {other}");
            match (&launch.order, written, before_bound) {
                (Some(_), Some(span), _) => {
                    found.replace(Kind::Launch, what, span, (*other).to_owned());
                }
                (None, _, Some(start)) => {
                    let here = Span { start, end: start };
                    found.replace(Kind::Launch, what, here, format!(" launch {other}"));
                }
                _ => {}
            }
        }
    }
    for (here, assumed) in residency(found) {
        let what = "all CTAs are resident at once, as in a cooperative launch".to_owned();
        found.replace(Kind::Residency, what, here, assumed);
    }
}

/// The edits that make all CTAs of a grid resident at once, for grids whose CTAs are not.
pub(super) fn residency(found: &Found<'_>) -> Vec<(Span, String)> {
    let mut all = Vec::new();
    for (item, role) in roles(found.file) {
        let Some(launch) = &role.launch else {
            continue;
        };
        // An open bound is a parameter that other parts of the text may use, so its name is kept.
        let bound = match &launch.resident {
            Some(Resident::Open(_)) | None => "R".to_owned(),
            Some(Resident::AtMost(e)) => found.slice(e.span).to_owned(),
            Some(Resident::All) => continue,
        };
        let extents = role.indices.iter().map(|(_, e)| tight(found.slice(e.span)));
        let extents = extents.collect::<Vec<_>>().join(" * ");
        let start = item.span.start;
        let here = Span { start, end: start };
        all.push((here, format!("assume {bound} >= {extents}\n\n")));
    }
    all
}

/// The edits that fix the order in which CTAs start, for grids without such an order.
pub(super) fn undetermined(found: &Found<'_>) -> Vec<(Span, String)> {
    let mut all = Vec::new();
    for (item, role) in roles(found.file) {
        let any = role
            .launch
            .as_ref()
            .is_some_and(|launch| matches!(launch.order, Some(LaunchOrder::Any)));
        let header = found.slice(item.span);
        if let Some(at) = header.find(" launch any").filter(|_| any) {
            let start = item.span.start + at + " launch ".len();
            let span = Span {
                start,
                end: start + "any".len(),
            };
            all.push((span, "ascending".to_owned()));
        }
    }
    all
}

/// Inserts a copy of a statement of the text at another place. Places in the statement's own role come first.
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

/// Inserts a copy of a statement into a role that does nothing yet.
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
