//! Which claims of the text do not hold of a state.
//!
//! An assertion is made at any time between the operations before and after it, and so of every
//! state in which its member has done the one and not the other; after the last operation of a
//! member, of every state from then on, but for a CTA of a grid of bounded residency only as long as
//! nobody can have needed its place. An invariant is claimed of every state.
//!
//! Programs are straight lines at concrete values, so every run ends, and a fair one ends where
//! nobody can go on. So members finish eventually in all runs iff they have in each last state, and
//! whoever waits goes on eventually in all of them iff nobody waits in a last state.

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
    /// What is claimed of an instance with this data.
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

    /// A claim of runs that a run does not meet which ends in a state.
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
