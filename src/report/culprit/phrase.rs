//! Verbs and counts for sentences.

use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step::CellState;

/// How an element of a semaphore changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Set,
    Both,
}

/// The event that would end a wait at a cell.
pub(super) fn helps(op: &Op, state: &CellState, cell: &str, change: Change) -> String {
    match (op.kind, state) {
        (_, CellState::Uninitialized) => format!("initialise {cell}"),
        (_, CellState::Mbarrier { pending: 0, .. }) => format!("deliver bytes to {cell}"),
        (OpKind::Acquire(_), _) => format!("give back to {cell}"),
        (OpKind::Sync(_), _) => format!("come to {cell}"),
        (OpKind::Wait(..) | OpKind::WaitSwap { .. }, _) => match change {
            Change::Added => format!("add to {cell}"),
            Change::Set => format!("set {cell}"),
            Change::Both => format!("change {cell}"),
        },
        _ => format!("arrive at {cell}"),
    }
}

/// The same event with members as its subject: as a singular and as a plural verb.
pub(super) fn verb(op: &Op, state: &CellState, change: Change) -> (&'static str, &'static str) {
    match (op.kind, state) {
        (_, CellState::Uninitialized) => ("does", "do"),
        (OpKind::Acquire(_), _) => ("gives back", "give back"),
        (OpKind::Sync(_), _) => ("comes", "come"),
        (OpKind::Wait(..) | OpKind::WaitSwap { .. }, _) => match change {
            Change::Added => ("adds to it", "add to it"),
            Change::Set => ("sets it", "set it"),
            Change::Both => ("changes it", "change it"),
        },
        _ => ("arrives", "arrive"),
    }
}

/// Whether an operation may end a wait of another member.
pub(super) fn helping(kind: OpKind) -> bool {
    match kind {
        OpKind::Add(_)
        | OpKind::Set(_)
        | OpKind::Fetch(_)
        | OpKind::WaitSwap { .. }
        | OpKind::Arrive(_)
        | OpKind::Sync(_)
        | OpKind::BarArrive(_)
        | OpKind::Commit
        | OpKind::BarrierArrive
        | OpKind::Release(_) => true,
        OpKind::Wait(..)
        | OpKind::NotDefined
        | OpKind::Touch(_)
        | OpKind::WaitParity(_)
        | OpKind::ExpectTx(_)
        | OpKind::CompleteTx(_)
        | OpKind::Copy(_)
        | OpKind::Init
        | OpKind::BarrierWait
        | OpKind::Acquire(_) => false,
    }
}

/// `once`, `3 times`.
pub(super) fn times_word(times: i64) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    }
}

/// `phase 1`, `phases 0 and 1`, `phases 1 to 4`.
pub(super) fn phases_word(from: i64, to: i64) -> String {
    match to - from {
        0 => format!("phase {to}"),
        1 => format!("phases {from} and {to}"),
        _ => format!("phases {from} to {to}"),
    }
}

/// `1 byte`, `2 bytes`.
pub(super) fn bytes_word(bytes: i64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    }
}
