//! When a search checks its limits and reports its progress.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::explore::Options;
use super::instance::Instance;
use crate::deadline;

/// How much work lies between two checks, counted in members of the states that are made. A state of many members
/// takes longer to make, and it has as many successors.
const INTERVAL: usize = 1 << 12;

/// Counts the states that a search makes.
pub(super) struct Pace<'o> {
    options: &'o Options<'o>,
    /// How much one state counts.
    each: usize,
    made: usize,
}

impl<'o> Pace<'o> {
    /// For a search of an instance. The first call of [`Pace::is_over`] checks the limits at once.
    pub(super) fn new(options: &'o Options<'o>, instance: &Instance) -> Pace<'o> {
        Pace {
            options,
            each: instance.members.len() + 1,
            made: INTERVAL,
        }
    }

    /// Counts a state that is about to be made. From time to time, reports the number of states. The result says
    /// whether the search is cancelled or its time is up.
    pub(super) fn is_over(&mut self, states: usize) -> bool {
        self.made += self.each;
        if self.made < INTERVAL {
            return false;
        }
        self.made = 0;
        if let Some(progress) = self.options.progress {
            progress(states as u64);
        }
        let cancelled = self
            .options
            .cancel
            .is_some_and(|c| c.load(Ordering::Relaxed));
        cancelled || self.options.deadline.is_some_and(|d| Instant::now() >= d) || deadline::over()
    }
}
