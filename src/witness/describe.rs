//! Words for what a member waits for and for the actual state of the cell.

use crate::protocol::Comparison;
use crate::protocol::Span;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step::CellState;

/// What an operation needs of its cell: `== 1`, `>= 4`, `parity 0`, `64 threads`, `a completed generation`, `40
/// available`. It is `nothing` for an operation that never blocks.
pub fn wanted(kind: OpKind) -> String {
    match kind {
        OpKind::Wait(Comparison::Equal, value) => format!("== {value}"),
        OpKind::Wait(Comparison::AtLeast, value) => format!(">= {value}"),
        OpKind::WaitParity(parity) => format!("parity {}", u8::from(parity)),
        OpKind::Sync(count) => format!("{count} threads"),
        OpKind::BarrierWait => "a completed generation".to_owned(),
        OpKind::Acquire(amount) => format!("{amount} available"),
        OpKind::WaitSwap { expected, .. } => format!("== {expected}"),
        OpKind::Add(_)
        | OpKind::Fetch(_)
        | OpKind::NotDefined
        | OpKind::Touch(_)
        | OpKind::Set(_)
        | OpKind::Arrive(_)
        | OpKind::BarArrive(_)
        | OpKind::ExpectTx(_)
        | OpKind::CompleteTx(_)
        | OpKind::Copy(_)
        | OpKind::Commit
        | OpKind::Init
        | OpKind::BarrierArrive
        | OpKind::Release(_) => "nothing".to_owned(),
    }
}

/// The value of a cell: `0`, `phase 0, 2 pending`, `phase 0, 0 pending, 64 bytes`, `32 threads:
/// w0`, `1 pending, arrived: cta[0]`, `24 available`.
pub fn shown(instance: &Instance, cell: &CellState) -> String {
    match cell {
        CellState::Semaphore(value) => value.to_string(),
        CellState::Mbarrier { pending, phase, tx } => {
            let bytes = match tx {
                0 => String::new(),
                _ => format!(", {tx} bytes"),
            };
            format!("phase {}, {pending} pending{bytes}", u8::from(*phase))
        }
        CellState::Uninitialized => "not initialised".to_owned(),
        CellState::Barrier {
            pending, arrived, ..
        } => {
            let names: Vec<String> = arrived
                .iter()
                .map(|member| instance.member_name(*member as usize))
                .collect();
            let names = match names.is_empty() {
                true => String::new(),
                false => format!(", arrived: {}", names.join(", ")),
            };
            format!("{pending} pending{names}")
        }
        CellState::Pool { available } => format!("{available} available"),
        CellState::Named { registered, .. } => {
            let names: Vec<String> = registered
                .iter()
                .map(|r| instance.member_name(r.member as usize))
                .collect();
            if names.is_empty() {
                return "0 threads".to_owned();
            }
            format!("{} threads: {}", 32 * names.len(), names.join(", "))
        }
    }
}

/// The line on which a span starts, from 1.
pub fn line(source: &str, span: Span) -> usize {
    let before = source.bytes().take(span.start);
    1 + before.filter(|byte| *byte == b'\n').count()
}
