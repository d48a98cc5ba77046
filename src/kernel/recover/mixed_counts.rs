//! Mbarriers at which some lanes arrive one by one, and others with a count.
//!
//! ```text
//! init bar 32
//! warp 1, each lane: arrive bar        31 arrivals are pending after the first lane
//! warp 0, lane 0:    arrive bar 32     more than are pending: undefined
//! ```
//!
//! The recovered role writes the arrivals of several lanes as one arrival. In the kernel, other arrivals may come
//! between those of the first lane and of the last lane.
//!
//! If all arrivals at the mbarrier have the same count, that makes no difference: until the phase is complete, the
//! number of pending arrivals is always a multiple of that count. If counts differ, an arrival between two lanes may
//! count more than is pending. Before the first lane or behind the last one, the same arrival may be defined. So the
//! text would not show it, and such mbarriers are refused.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::family::Families;
use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Role;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const APART: &str = "this arrives at an mbarrier with a count, and lanes of a warp arrive there one by one, with another count: when \
                     only some of them have arrived, it may be more than the phase lacks, which is undefined";

/// For each instruction that arrives: how many arrivals a lane makes at once, and whether several
/// lanes arrive one by one.
#[derive(Debug, Clone, Default)]
pub struct ArrivalCounts(BTreeMap<Location, (BTreeSet<Number>, bool)>);

impl ArrivalCounts {
    /// Notes an instruction with which `lanes` lanes arrive, each with the count `each`.
    pub fn note(&mut self, location: &Location, each: Number, lanes: u32) {
        let (counts, parts) = self.0.entry(location.clone()).or_default();
        counts.insert(each);
        *parts |= lanes > 1;
    }

    /// Whether several lanes arrive somewhere, each for itself.
    pub fn has_lanes(&self) -> bool {
        self.0.values().any(|(_, several)| *several)
    }

    /// The counts of an instruction's arrivals, and whether they are made one by one. An instruction that is not
    /// known makes all at once.
    fn of(&self, location: &Location, all: &Number) -> (BTreeSet<Number>, bool) {
        let found = self.0.get(location).cloned();
        let (counts, parts) = found.unwrap_or_else(|| (BTreeSet::from([all.clone()]), false));
        let whole = counts.len() == 1 && counts.contains(all);
        (counts, parts || !whole)
    }
}

/// Refuses mbarriers at which lanes arrive one by one, where not all arrivals have the same count.
pub fn refuse_mixed_counts(
    families: &Families,
    roles: &[Role],
    arrival_counts: &ArrivalCounts,
    range_in: &dyn Fn(usize, &Atomic) -> Option<Range>,
) -> Result<(), Obstacle> {
    // For each array: the counts with the places that use them, and whether lanes arrive one by
    // one.
    let mut found: BTreeMap<usize, (BTreeMap<Number, &Location>, bool)> = BTreeMap::new();
    for (number, role) in roles.iter().enumerate() {
        each(&role.lines, &mut |action, location| {
            let all = match action {
                Action::Arrive { count, .. } => count.clone(),
                Action::Commit { count, .. } => Number::constant(*count),
                Action::ArriveExpect { .. } => Number::constant(1),
                _ => return,
            };
            let Some(family) = object_of(action)
                .and_then(|object| families.of(object, &|atomic| range_in(number, atomic)))
            else {
                return;
            };
            let (each, parts) = arrival_counts.of(location, &all);
            let (counts, apart) = found.entry(family).or_default();
            *apart |= parts;
            for count in each {
                counts.entry(count).or_insert(location);
            }
        });
    }
    for (counts, apart) in found.values() {
        let mut others = counts
            .iter()
            .filter(|(count, _)| **count != Number::constant(1));
        if *apart
            && counts.len() > 1
            && let Some((_, location)) = others.next_back()
        {
            return refuse(APART, location);
        }
    }
    Ok(())
}
