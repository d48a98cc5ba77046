//! Edits that replace an operation by a similar one: `arrive` by `sync` or `commit`, `expect_tx` by `arrive_expect_tx`,
//! and the reverse; and `wait` by `sync`.

use crate::protocol::Span;
use crate::text::ast::Operation;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;

pub(super) fn add(found: &mut Found<'_>) {
    for place in found.places.clone() {
        let span = place.stmt.span;
        let others: &[(&str, &str)] = match &place.stmt.kind {
            StmtKind::Operation { operation, .. } => match operation {
                Operation::ExpectTx => &[("expect_tx", "arrive_expect_tx")],
                Operation::ArriveExpectTx => &[("arrive_expect_tx", "expect_tx")],
                Operation::Commit => &[("commit", "arrive")],
                _ => &[],
            },
            StmtKind::Arrive { .. } => &[("arrive", "sync"), ("arrive", "commit")],
            StmtKind::Sync { .. } => &[("sync", "arrive")],
            StmtKind::Wait { value: None, .. } => &[("wait", "sync")],
            _ => &[],
        };
        for (from, to) in others {
            if found.slice(span).starts_with(from) {
                let word = Span {
                    start: span.start,
                    end: span.start + from.len(),
                };
                let what = format!("`{to}` instead of `{from}`");
                found.replace(Kind::Arrival, what, word, (*to).to_owned());
            }
        }
    }
}
