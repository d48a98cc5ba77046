//! Finds members that hang at a wait by parity that the kernel might have skipped.
//!
//! A kernel that looks ahead tests an mbarrier first and waits only if the test fails. Recovery (`tested.rs`) writes
//! the wait into the protocol as if it were always executed. This changes only hangs: a member that passes such a
//! wait late is merely a slow member of the kernel. But a member that stays at the wait for ever may have skipped it
//! in the kernel. The test was made after the member's previous wait at that mbarrier. So the test has failed for
//! certain if no phase has been completed since then.

use std::collections::BTreeMap;

use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::instance::CellId;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::unfold;

/// Whether some member that waits by parity at the end of a run may have seen its phase complete before. `None` if
/// the actions are no run of the protocol.
pub fn in_run(protocol: &Protocol, input: &Input, run: &[Action]) -> Option<bool> {
    let instance = unfold::instantiate(protocol, input).ok()?;
    let mut state = step::initial_with_history(&instance);
    // How many phases were complete when a member last passed a wait at an mbarrier.
    let mut passed: BTreeMap<(usize, CellId), u32> = BTreeMap::new();
    for action in run {
        if let Action::Step(member) = action
            && let Some(op) = step::next_op(&instance, &state, *member)
            && let OpKind::WaitParity(_) = op.kind
        {
            let completed = state.history.get(op.cell.0 as usize)?;
            passed.insert((*member, op.cell), *completed);
        }
        step::apply(&instance, &mut state, *action).ok()?;
    }
    let mut members = 0..state.counters.len();
    Some(members.any(|member| {
        let Some(op) = step::next_op(&instance, &state, member) else {
            return false;
        };
        let OpKind::WaitParity(_) = op.kind else {
            return false;
        };
        let completed = state.history.get(op.cell.0 as usize).copied();
        let before = passed.get(&(member, op.cell)).copied().unwrap_or_default();
        completed != Some(before)
    }))
}
