//! Members that a test of an mbarrier might have spared the wait before which they stand in the end.
//!
//! The protocol of a kernel that looks ahead has a wait also where a test may spare it (`tested.rs` in the recovery). Everything else of a run is
//! one of the kernel: a member that passes such a wait late is one that was slow. But who stands there for ever might have been
//! spared the wait. The test was made after the member's wait before at that mbarrier. So it has failed if no phase has been
//! completed since.

use std::collections::BTreeMap;

use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::instance::CellId;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::unfold;

/// Whether somebody who waits by parity at the end of a run may have seen the phase complete before. `None` where the run cannot be
/// made.
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
