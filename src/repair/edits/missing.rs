//! Edits for barriers at which a member waits and no member arrives, or the reverse.

use itertools::Itertools;

use crate::protocol::Span;
use crate::text::ast::ItemKind;
use crate::text::ast::ObjectKind;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::walk::arrives;
use super::walk::cell;

pub(super) fn add(found: &mut Found<'_>) {
    unawaited(found);
    let families = found.file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Object(object) if matches!(object.kind, ObjectKind::Mbarrier { .. }) => {
            Some((object.name.text.as_str(), object.extents.len()))
        }
        _ => None,
    });
    let families: Vec<(&str, usize)> = families.collect();
    for (name, extents) in families {
        if used(found, name, true) || !used(found, name, false) {
            continue;
        }
        for place in found.places.clone() {
            let Some(used) = cell(place.stmt) else {
                continue;
            };
            if used.index.len() != extents || used.name.text == name {
                continue;
            }
            let index = used.index.iter().map(|e| found.slice(e.span)).join(", ");
            let element = match extents {
                0 => name.to_owned(),
                _ => format!("{name}[{index}]"),
            };
            let word = match &place.stmt.kind {
                StmtKind::Operation { .. }
                    if found.slice(place.stmt.span).starts_with("commit") =>
                {
                    "commit"
                }
                StmtKind::Wait {
                    comparison: None, ..
                }
                | StmtKind::Arrive { .. } => "arrive",
                _ => continue,
            };
            let pad = indentation(found.source, place.stmt.span.start);
            let end = place.stmt.span.end;
            let text = found.slice(place.stmt.span);
            let what = format!("`{word} {element}` after `{text}`");
            let here = Span { start: end, end };
            found.replace(
                Kind::Arrival,
                what,
                here,
                format!("\n{pad}{word} {element}"),
            );
        }
    }
}

/// Whether some statement arrives at a barrier, or (if `arriving` is false) whether some statement does something
/// else there.
fn used(found: &Found<'_>, name: &str, arriving: bool) -> bool {
    let mut places = found.places.iter();
    places.any(|place| {
        let at = cell(place.stmt).is_some_and(|cell| cell.name.text == name);
        at && arrives(place.stmt) == arriving
    })
}

/// For barriers at which members arrive and nobody waits: adds a wait for the current round before each statement
/// that signals, or that waits for something else.
fn unawaited(found: &mut Found<'_>) {
    let items = &found.file.items;
    let families = items.iter().filter_map(|item| match &item.kind {
        ItemKind::Object(object) if matches!(object.kind, ObjectKind::Mbarrier { .. }) => {
            Some((object.name.text.clone(), object.extents.len()))
        }
        _ => None,
    });
    let families: Vec<(String, usize)> = families.collect();
    for (name, extents) in families {
        if !used(found, &name, true) || used(found, &name, false) {
            continue;
        }
        let arrivers: Vec<usize> = found
            .places
            .iter()
            .filter(|place| cell(place.stmt).is_some_and(|cell| cell.name.text == name))
            .map(|place| place.role)
            .collect();
        // The element is written in the same way as in some statement.
        let index = found.places.iter().find_map(|place| {
            let cell = cell(place.stmt).filter(|cell| cell.name.text == name)?;
            Some(cell.index.iter().map(|e| found.slice(e.span)).join(", "))
        });
        let element = match (extents, index) {
            (0, _) => name.clone(),
            (_, Some(index)) => format!("{name}[{index}]"),
            (_, None) => continue,
        };
        for place in found.places.clone() {
            if arrivers.contains(&place.role) || cell(place.stmt).is_none() {
                continue;
            }
            let parities = super::rounds::of_element(found, &place, &element);
            for parity in parities {
                let wait = format!("wait {element} {parity}");
                let text = found.slice(place.stmt.span);
                let what = format!("`{wait}` before `{text}`");
                let start = place.stmt.span.start;
                let pad = indentation(found.source, start);
                let here = Span { start, end: start };
                found.replace(Kind::Arrival, what, here, format!("{wait}\n{pad}"));
            }
        }
    }
}
