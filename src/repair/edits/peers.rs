//! Edits that add an arrival to the roles that lack it.
//!
//! Recovery writes one role for each kind of warp. If a condition of the kernel excludes some warps from an arrival,
//! then their roles lack the line of the arrival, but they have the line before it. The edit inserts the arrival
//! after that line, in all such roles. It arrives at the same object or at a *peer* of it. A peer is an object whose
//! name differs only in numbers (`bar_cta0`, `bar_cta1`).

use crate::protocol::Span;
use crate::text::ast::ItemKind;

use super::Found;
use super::Kind;
use super::guards::indentation;
use super::twins::origin;
use super::walk::Place;
use super::walk::arrives;
use super::walk::blocks;
use super::walk::cell;
use super::walk::roles;

pub(super) fn add(found: &mut Found<'_>) {
    let names: Vec<String> = roles(found.file)
        .map(|(_, role)| role.name.text.clone())
        .collect();
    for place in found.places.clone() {
        let Some(used) = cell(place.stmt).filter(|_| arrives(place.stmt)) else {
            continue;
        };
        let (Some(line), Some(before)) =
            (origin(found.source, place.stmt.span), before(found, &place))
        else {
            continue;
        };
        let lacking = lacking(found, line, before, names.len());
        let Some(first) = lacking.first() else {
            continue;
        };
        let text = found.slice(place.stmt.span);
        let name = &used.name.text;
        let rest = text.strip_prefix("arrive ").unwrap_or_default();
        let mut texts = vec![text.to_owned()];
        if let Some(rest) = rest.strip_prefix(name.as_str()) {
            let peers = peers(found, name).into_iter();
            texts.extend(peers.map(|peer| format!("arrive {peer}{rest}")));
        }
        let who = names.get(first.role).map_or("", String::as_str);
        let more = match lacking.len() {
            1 => String::new(),
            2 => " and another role".to_owned(),
            count => format!(" and {} other roles", count - 1),
        };
        for text in texts {
            let what = format!("`{text}` in `{who}`{more}, too");
            let replaced = lacking.iter().map(|twin| {
                let end = line_end(found.source, twin.stmt.span.end);
                let pad = indentation(found.source, twin.stmt.span.start);
                (Span { start: end, end }, format!("\n{pad}{text}"))
            });
            let replaced = replaced.collect();
            found.add(Kind::Arrival, what, replaced);
        }
    }
}

/// The kernel line of the statement that precedes this one in its block.
fn before<'s>(found: &Found<'s>, place: &Place<'s>) -> Option<&'s str> {
    let stmt = place.block.stmts.get(place.at.checked_sub(1)?)?;
    origin(found.source, stmt.span)
}

/// For each role without a statement of `line`: its last statement of the line `before`, if that statement has no blocks.
fn lacking<'s>(found: &Found<'s>, line: &str, before: &str, roles: usize) -> Vec<Place<'s>> {
    let of = |role: usize, line: &str| {
        let places = found.places.iter().filter(|place| place.role == role);
        let mut there = places.filter(|place| origin(found.source, place.stmt.span) == Some(line));
        there.next_back().copied()
    };
    let twins = (0..roles).filter(|role| of(*role, line).is_none());
    let twins = twins.filter_map(|role| of(role, before));
    twins
        .filter(|place| blocks(place.stmt).is_empty())
        .collect()
}

/// Other objects whose names differ from this one only in digits.
pub(super) fn peers(found: &Found<'_>, name: &str) -> Vec<String> {
    let objects = found.file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Object(object) => Some(object.name.text.as_str()),
        _ => None,
    });
    objects
        .filter(|other| *other != name && letters(other) == letters(name))
        .map(str::to_owned)
        .collect()
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn line_end(source: &str, at: usize) -> usize {
    source[at..].find('\n').map_or(source.len(), |end| at + end)
}
