//! Edits that strengthen memory ordering: a wider scope, a stronger memory order, one more fence, or a `wait_group` that
//! leaves fewer groups in flight.

use crate::protocol::Span;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::guards::indentation;

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// The fence between a thread's write and asynchronous work that reads the data.
const FENCE: &str = "fence.proxy.async";

pub(super) fn add(found: &mut Found<'_>) {
    for place in found.places.clone() {
        for word in &place.stmt.qualifiers {
            let wider = SCOPES.iter().position(|scope| *scope == word.text);
            if let Some(at) = wider {
                for scope in &SCOPES[at + 1..] {
                    let what = format!("with scope {scope}, not {}", word.text);
                    found.replace(Kind::Memory, what, word.span, (*scope).to_owned());
                }
            }
            if word.text == "relaxed" {
                for order in ["acquire", "release"] {
                    let what = format!("with order {order}");
                    found.replace(Kind::Memory, what, word.span, order.to_owned());
                }
            }
        }
        if let StmtKind::WaitGroup { count, read } = &place.stmt.kind {
            let text = found.slice(place.stmt.span);
            if *read && let Some(kept) = text.strip_suffix("read") {
                let what = "wait for the writes, too".to_owned();
                let by = kept.trim_end().to_owned();
                found.replace(Kind::Memory, what, place.stmt.span, by);
            }
            let before = found.slice(count.span);
            if before != "0" {
                let less = match before.parse::<i64>() {
                    Ok(number) => number.saturating_sub(1).to_string(),
                    Err(_) => format!("{before} - 1"),
                };
                let what = format!("leave {less} groups outstanding, not {before}");
                found.replace(Kind::Memory, what, count.span, less);
            }
        }
    }
    fences(found);
}

/// A fence before any statement, if the protocol has asynchronous work that reads data.
fn fences(found: &mut Found<'_>) {
    let reads =
        |kind: &StmtKind| matches!(kind, StmtKind::Async { reads, .. } if !reads.is_empty());
    if !found.places.iter().any(|place| reads(&place.stmt.kind)) {
        return;
    }
    for place in found.places.clone() {
        let start = place.stmt.span.start;
        let pad = indentation(found.source, start);
        let what = format!("a fence before line {}", found.line(place.stmt.span));
        let here = Span { start, end: start };
        found.replace(Kind::Memory, what, here, format!("{FENCE}\n{pad}"));
    }
}
