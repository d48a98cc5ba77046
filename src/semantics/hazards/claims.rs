//! Checks which claims of the text (assertions, invariants, and `eventually`) do not hold in a state.
//!
//! An assertion stands between two operations of its member, and it is claimed at any time between them. So it has to
//! hold in every state in which its member has done the operation before it and not the one after it. An assertion
//! after the last operation has to hold in every later state. There is one exception, for a CTA of a grid of bounded
//! residency: its last assertions are checked only while no other CTA can have needed its place. An invariant has to
//! hold in every state.
//!
//! At concrete values no program has a cycle, so every run ends, and a fair run ends in a state where nobody can go
//! on. Hence all members finish eventually in all runs iff they have finished in each last state. Likewise, every
//! waiting member goes on eventually in all runs iff no member waits in a last state.

use crate::protocol::Progress;
use crate::semantics::data::Data;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::State;

use super::Hazard;
use super::race::is_registered;

/// Checks the claims of one instance in states that keep history.
#[derive(Debug, Clone)]
pub struct Claims<'i> {
    instance: &'i Instance,
    data: &'i Data,
}

impl<'i> Claims<'i> {
    /// A checker of the claims of this data.
    pub fn new(instance: &'i Instance, data: &'i Data) -> Claims<'i> {
        Claims { instance, data }
    }

    /// The first claim that does not hold of a state.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        let mut claims = self.data.claims.iter();
        let fails = claims.position(|claim| {
            let is_made = claim.at.is_none_or(|(member, at, _)| {
                state.counters[member] == at
                    && !is_registered(self.instance, state, member)
                    && !self.may_be_gone(state, member)
            });
            is_made && !claim.holds(state)
        });
        fails
            .map(|claim| Hazard::Broken { claim })
            .or_else(|| self.stopped(state))
    }

    /// The first claim about runs (`eventually`) that fails for a run that ends in this state.
    fn stopped(&self, state: &State) -> Option<Hazard> {
        if self.data.progress.is_empty() || !step::is_stuck(self.instance, state) {
            return None;
        }
        let mut claims = self.data.progress.iter();
        let fails = claims.position(|(progress, _)| match progress {
            Progress::Done => true,
            Progress::Passes => !step::blocked(self.instance, state).is_empty(),
        });
        fails.map(|claim| Hazard::Stopped { claim })
    }

    /// Whether a member has no operation left and somebody may have started in its place.
    fn may_be_gone(&self, state: &State, member: usize) -> bool {
        let layout = &self.instance.members[member];
        let launch = self.instance.roles[layout.role].launch.as_ref();
        let places = launch.and_then(|plan| plan.resident);
        state.counters[member] as usize == layout.ops.len()
            && places.is_some_and(|places| state.started[layout.role] > places)
    }
}
