//! A state of the system that the clauses describe, as terms, and its layout.
//!
//! Equal threads form a group. A state counts, for each group, how many threads stand at each location, and how many rounds
//! they are behind. The layout says how many locations a group has, and how many elements a family of objects has.

use crate::certificate::exact;
use crate::certificate::term::Term;

/// A state, as terms.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The base: the round of the slowest member.
    pub base: Term,
    /// Per group, location and lag: the number of members.
    pub counts: Vec<Vec<Vec<Term>>>,
    /// Per family and distance: the completed phases, see `system`.
    pub ahead: Vec<Vec<Term>>,
    /// Per family and distance: the arrivals in the open phase.
    pub pending: Vec<Vec<Term>>,
}

impl State {
    /// All components in a fixed order.
    pub fn all(&self) -> impl Iterator<Item = &Term> {
        let counts = self.counts.iter().flatten().flatten();
        std::iter::once(&self.base)
            .chain(counts)
            .chain(self.ahead.iter().flatten())
            .chain(self.pending.iter().flatten())
    }
}

/// The numbers of locations and elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The largest lag.
    pub window: usize,
    /// Per group: operations before, in and after the loop.
    pub groups: Vec<[usize; 3]>,
    /// Per family: its size.
    pub families: Vec<usize>,
}

impl Layout {
    /// How many locations a group has.
    pub fn locations(&self, group: usize) -> usize {
        let [before, round, after] = self.groups[group];
        exact::together(exact::together(before, round.max(1)), after)
    }

    /// The location at which a round begins.
    pub fn head(&self, group: usize) -> usize {
        self.groups[group][0]
    }

    /// The largest lag at a location. Before the loop, all members are in round 0.
    pub fn lags(&self, group: usize, location: usize) -> usize {
        if location < self.head(group) {
            0
        } else {
            self.window
        }
    }
}
