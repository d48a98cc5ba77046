//! The verdict on concrete tensors as JSON; `docs/csr.md` documents the fields.

use serde_json::Value;
use serde_json::json;

use super::Subject;
use super::fate_word;
use crate::schemes::Outcome;
use crate::schemes::Residency;
use crate::schemes::Shape;
use crate::schemes::chain::Reason;
use crate::schemes::chain::Waiting;

/// One element of `results`.
pub fn json(subject: &Subject<'_>) -> Value {
    let judgement = subject.judgement;
    let refuted = judgement.outcome == Outcome::Hangs;
    let parameters = json!({
        "N": subject.tiles.n_blocks(),
        "M": subject.tiles.m_blocks(),
        "R": judgement.shown.resident,
    });
    json!({
        "file": subject.name,
        "protocol": "block_sparse_lock",
        "property": "deadlock",
        "verdict": subject.word(),
        "reason": subject.sentence(),
        "engine": "reference run",
        "seconds": subject.seconds,
        "parameters": if refuted { parameters } else { Value::Null },
        "assumptions": subject.assumptions(),
        "certificate": null,
        "witness": null,
        "csr": csr(subject),
    })
}

fn csr(subject: &Subject<'_>) -> Value {
    let judgement = subject.judgement;
    let (least, shown) = (residency(judgement.residency), &judgement.shown);
    let chain: Vec<Value> = judgement
        .first_blocked()
        .map(|first| judgement.chain(first))
        .unwrap_or_default()
        .iter()
        .map(|link| {
            let mut value = waiting(&link.waiting);
            let (why, owner) = match link.reason {
                Reason::NoOwner => ("no_owner", None),
                Reason::Passed => ("passed", None),
                Reason::Blocked(owner) => ("blocked", Some(owner)),
                Reason::NotStarted(owner) => ("not_started", Some(owner)),
                Reason::Cycle(owner) => ("cycle", Some(owner)),
            };
            value["why"] = why.into();
            value["owner"] = owner.into();
            value
        })
        .collect();
    let started = shown.state.started();
    json!({
        "lock": subject.scheme.lock.expression,
        "lock_name": subject.scheme.lock.name,
        "order": order(subject),
        "launch": subject.scheme.launch.word(),
        "n_blocks": subject.tiles.n_blocks(),
        "m_blocks": subject.tiles.m_blocks(),
        "entries": subject.tiles.len(),
        "completes_for": least,
        "least_resident": match judgement.residency {
            Residency::Every => Some(1),
            Residency::From(least) => Some(least),
            _ => None,
        },
        "shown": {
            "resident": shown.resident,
            "launch": shown.launch.iter().take(10_000).collect::<Vec<_>>(),
            "remark": shown.remark,
            "started": started,
        },
        "row_tiles": rows(subject),
        "blocked": judgement.blocked().map(|w| waiting(&w)).collect::<Vec<_>>(),
        "chain": chain,
    })
}

fn rows(subject: &Subject<'_>) -> Vec<Value> {
    let judgement = subject.judgement;
    let rows = judgement.tiles.iter().enumerate();
    rows.map(|(m, tile)| {
        let turns = judgement.turns.at(m);
        let first = turns
            .iter()
            .find_map(|turn| judgement.waiting(turn.n).filter(|w| w.m as usize == m));
        let left = turns
            .iter()
            .find(|turn| !judgement.shown.state.is_taken(turn));
        json!({
            "m": m,
            "visitors": turns.iter().map(|turn| turn.n).collect::<Vec<_>>(),
            "locks": turns.iter().map(|turn| turn.lock).collect::<Vec<_>>(),
            "completes": tile.taken == turns.len(),
            "fate": fate_word(tile.fate),
            "executed": tile.taken,
            "locks_are": match tile.shape {
                Shape::Turns => "turns",
                Shape::Gap { .. } => "gap",
                Shape::Repeated { .. } => "repeated",
            },
            "first_visitor": turns.first().map(|turn| turn.n),
            "first_blocked": first.map(|w| waiting(&w)),
            "first_missing": left.map(|turn| turn.n),
        })
    })
    .collect()
}

fn waiting(waiting: &Waiting) -> Value {
    json!({
        "cta": waiting.n,
        "m": waiting.m,
        "waits_for": waiting.wants,
        "value": waiting.now,
    })
}

fn residency(residency: Residency) -> &'static str {
    match residency {
        Residency::Every => "every_number",
        Residency::From(_) => "least_resident_or_more",
        Residency::AllResident => "all_resident",
        Residency::Never => "no_number",
        Residency::Fixed(_) => "not_asked",
    }
}

fn order(subject: &Subject<'_>) -> &'static str {
    use crate::protocol::RowOrder;
    match subject.scheme.order {
        RowOrder::Given => "given",
        RowOrder::Ascending => "ascending",
        RowOrder::Descending => "descending",
        RowOrder::Any => "any",
    }
}
