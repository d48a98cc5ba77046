//! Searches for races: holds two accesses at the same time.

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use crate::semantics::data::Access;
use crate::semantics::hazards::Races;
use crate::semantics::step;
use crate::semantics::step::State;

use super::Tries;
use super::drive::Order;
use super::drive::Plan;
use super::drive::Stop;

impl Tries<'_> {
    /// Holds every contested access. For every pair of accesses to one slot such that neither prevents the other,
    /// holds both. Slots are done one after the other.
    pub(super) fn races(&mut self) {
        let Some(data) = self.data else {
            return;
        };
        let mut slots: FxHashMap<u32, Vec<(usize, Access)>> = FxHashMap::default();
        for (member, accesses) in data.accesses.iter().enumerate() {
            for access in accesses {
                let contested = |races: &Races<'_>| races.is_contested(access.slot);
                if self.state_monitor.races().is_some_and(contested) {
                    slots
                        .entry(access.slot)
                        .or_default()
                        .push((member, *access));
                }
            }
        }
        let mut slots: Vec<(u32, Vec<(usize, Access)>)> = slots.into_iter().collect();
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        let mut reached: FxHashMap<Stop, Option<State>> = FxHashMap::default();
        let mut done: FxHashSet<[Stop; 2]> = FxHashSet::default();
        // Slots are mostly alike, so the first ones show most of the races.
        for (_, accesses) in &slots {
            for (member, access) in accesses {
                for stop in stops(*member, access) {
                    if self.over() {
                        return;
                    }
                    reached.entry(stop).or_insert_with(|| {
                        self.one(Plan {
                            stages: &[&[stop]],
                            order: Order::Ascending,
                            lands_early: true,
                            eager: true,
                        })
                    });
                }
            }
            for (place, (one, first)) in accesses.iter().enumerate() {
                for (other, second) in &accesses[place + 1..] {
                    if !first.write && !second.write || one == other && first.work.is_none() {
                        continue;
                    }
                    for pair in pairs((*one, first), (*other, second)) {
                        let meets = |held: usize, free: usize| {
                            let state = reached.get(&pair[held]).and_then(Option::as_ref);
                            state.is_some_and(|state| comes_to(state, pair[free]))
                        };
                        if meets(0, 1) && meets(1, 0) && done.insert(pair) {
                            self.one(Plan {
                                stages: &[&pair],
                                order: Order::Ascending,
                                lands_early: true,
                                eager: true,
                            });
                        }
                        if self.over() {
                            return;
                        }
                    }
                }
            }
        }
    }
}

/// The events that can be prevented to keep an access next or under way: the operation after it, or its completion.
fn stops(member: usize, access: &Access) -> Vec<Stop> {
    let before = Stop::Before(member, access.at);
    let ends = access.work.and_then(|work| {
        let landing = work.landing.map(|op| Stop::Landing(member, op));
        landing.or_else(|| work.waited.map(|(at, _)| Stop::Before(member, at)))
    });
    [before].into_iter().chain(ends).collect()
}

fn pairs(one: (usize, &Access), other: (usize, &Access)) -> Vec<[Stop; 2]> {
    let mut pairs = Vec::new();
    for first in stops(one.0, one.1) {
        for second in stops(other.0, other.1) {
            if first != second {
                pairs.push([first, second]);
            }
        }
    }
    pairs
}

/// Whether a member has come to a stopped event in a state: to the operation that is stopped, or past the operation
/// whose landing is.
fn comes_to(state: &State, stop: Stop) -> bool {
    let (member, done) = match stop {
        Stop::Before(member, op) => (member, op),
        Stop::Landing(member, op) => (member, op.saturating_add(1)),
    };
    let counter = state.counters[member];
    counter != step::NOT_STARTED && counter >= done
}
