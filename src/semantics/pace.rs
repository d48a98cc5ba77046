//! When a search checks its limits and reports its progress.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::explore::Options;
use super::instance::Instance;
use crate::deadline;

/// How often that is, in members of the states that are made: those of many take longer, and one
/// state has as many successors.
const INTERVAL: usize = 1 << 12;

/// Counts what a search makes.
pub(super) struct Pace<'o> {
    options: &'o Options<'o>,
    /// What one state counts.
    each: usize,
    made: usize,
}

impl<'o> Pace<'o> {
    /// For a search of an instance, which looks up at once.
    pub(super) fn new(options: &'o Options<'o>, instance: &Instance) -> Pace<'o> {
        Pace {
            options,
            each: instance.members.len() + 1,
            made: INTERVAL,
        }
    }

    /// Counts a state that is about to be made, tells now and then how many there are, and says
    /// whether the search is cancelled or its time up.
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
