//! Names for what a member waits for.

use crate::protocol::Comparison;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

/// `a`, `a and b`, `a, b and c`.
pub fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// What an operation waits for: `dq[0] == 1`, `bar[0] to leave phase 0`, `64 threads at b[1]`.
pub fn awaited(instance: &Instance, op: &Op) -> String {
    let cell = instance.cell_name(op.cell);
    match op.kind {
        OpKind::Wait(Comparison::Equal, value) => format!("{cell} == {value}"),
        OpKind::Wait(Comparison::AtLeast, value) => format!("{cell} >= {value}"),
        OpKind::WaitParity(parity) => format!("{cell} to leave phase {}", u8::from(parity)),
        OpKind::Sync(count) => format!("{count} threads at {cell}"),
        OpKind::BarrierWait => format!("the others at {cell}"),
        OpKind::Acquire(amount) => format!("{amount} of {cell}"),
        OpKind::WaitSwap { expected, .. } => format!("{cell} == {expected}"),
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
        | OpKind::Release(_) => format!("nothing at {cell}"),
    }
}
