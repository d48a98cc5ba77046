//! The state of every element of every synchronization object.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step::State;
use crate::witness;

use super::culprit::position;

/// One element in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Its name.
    pub element: String,
    /// Its initial value; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// Its value in this state.
    pub value: String,
    /// The operations that wait for it.
    pub waits: Vec<Use>,
    /// The operations that change it.
    pub changes: Vec<Use>,
    /// Whether all operations on it have happened.
    pub completes: bool,
}

/// An operation on an element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Use {
    /// The member.
    pub member: String,
    /// The operation: `== 1`, `+ 1`, `= 0`, `arrive 2`.
    pub what: String,
    /// Whether it has happened.
    pub done: bool,
}

/// The elements that the instance uses, in order. Empty if the programs have branches.
pub fn elements(instance: &Instance, state: &State) -> Vec<Element> {
    let mut all: BTreeMap<CellId, (Vec<Use>, Vec<Use>)> = BTreeMap::new();
    // In a program with branches, the operations before the current place are not those that were executed.
    if instance.branches() {
        return Vec::new();
    }
    for (number, member) in instance.members.iter().enumerate() {
        let next = position(state, number);
        for (place, op) in member.ops.iter().enumerate() {
            let (waits, changes) = all.entry(op.cell).or_default();
            let (list, what) = match op.kind {
                OpKind::Wait(..)
                | OpKind::WaitParity(_)
                | OpKind::Sync(_)
                | OpKind::BarrierWait
                | OpKind::Acquire(_) => (waits, witness::wanted(op.kind)),
                OpKind::WaitSwap { new, .. } => {
                    // This operation waits and changes in one step.
                    changes.push(Use {
                        member: instance.member_name(number),
                        what: format!("= {new}"),
                        done: place < next,
                    });
                    (waits, witness::wanted(op.kind))
                }
                // Only programs with branches have one.
                OpKind::Fetch(_) | OpKind::NotDefined | OpKind::Touch(_) => continue,
                OpKind::Add(amount) => (changes, format!("+ {amount}")),
                OpKind::Set(value) => (changes, format!("= {value}")),
                OpKind::Arrive(count) => (changes, format!("arrive {count}")),
                OpKind::BarArrive(count) => (changes, format!("{count} threads")),
                OpKind::ExpectTx(bytes) => (changes, format!("expect {bytes} bytes")),
                OpKind::CompleteTx(bytes) => (changes, format!("deliver {bytes} bytes")),
                OpKind::Copy(bytes) => (changes, format!("copy {bytes} bytes")),
                OpKind::Commit => (changes, "commit".to_owned()),
                OpKind::Init => (changes, "init".to_owned()),
                OpKind::BarrierArrive => (changes, "arrive".to_owned()),
                OpKind::Release(amount) => (changes, format!("release {amount}")),
            };
            list.push(Use {
                member: instance.member_name(number),
                what,
                done: place < next,
            });
        }
    }
    let used = all.into_iter();
    used.map(|(cell, (waits, changes))| Element {
        element: instance.cell_name(cell),
        start: match instance.cells.get(cell.0 as usize) {
            Some(CellStart::Semaphore(value)) => Some(*value),
            _ => None,
        },
        value: witness::shown(instance, &state.cells[cell.0 as usize]),
        completes: waits.iter().chain(&changes).all(|used| used.done),
        waits,
        changes,
    })
    .collect()
}
