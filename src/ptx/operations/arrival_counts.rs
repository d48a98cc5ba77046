//! How arrivals at mbarriers come: how many at once, and whether several lanes make them one by one.
//!
//! A statement says only how many arrivals an instruction makes in all. Two lanes that arrive once each may be in two phases;
//! one lane that arrives with a count of 2 is in one.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// How the arrivals of an instruction come.
#[derive(Debug, Default, Clone)]
pub(in crate::ptx) struct ArrivalCount {
    /// How many arrivals a lane makes at once.
    pub each: BTreeSet<i128>,
    /// Whether several lanes arrive, or one several times.
    pub parts: bool,
}

/// The arrivals of all instructions, by where they stand.
#[derive(Debug, Default, Clone)]
pub(in crate::ptx) struct ArrivalCounts {
    all: BTreeMap<usize, ArrivalCount>,
    /// How many have been met on one walk.
    pub met: u32,
}

impl ArrivalCounts {
    /// Notes that each of so many lanes arrives with this count.
    pub fn note(&mut self, at: usize, each: i128, lanes: i128) {
        let arrived = self.all.entry(at).or_default();
        arrived.each.insert(each);
        arrived.parts |= lanes > 1;
    }

    /// A number for the next arrival of a walk.
    pub fn number(&mut self) -> u32 {
        self.met += 1;
        self.met
    }

    pub fn add(&mut self, other: ArrivalCounts) {
        for (at, more) in other.all {
            let arrived = self.all.entry(at).or_default();
            arrived.each.extend(more.each);
            arrived.parts |= more.parts;
        }
    }

    /// How so many arrivals of an instruction come. Of one that is not known, all at once.
    pub fn of(&self, at: usize, all: i128) -> ArrivalCount {
        let mut arrived = self.all.get(&at).cloned().unwrap_or_default();
        if arrived.each.is_empty() {
            arrived.each.insert(all);
        }
        // Arrivals on several paths are merged.
        arrived.parts |= arrived.each.iter().any(|each| *each < all);
        arrived
    }
}
