//! Finds the accesses that are next or under way in a state, and the races between them.
//!
//! An access that a member does itself can take place in every state in which the member has done the operations
//! before the access and none after it. In these states the access is *next*. There is one exception: a member that
//! is registered in a named barrier and blocked there has left its earlier accesses behind.

use rustc_hash::FxHashMap;

use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::InFlight;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

use super::Hazard;

/// The most races of one state that are reported.
const MOST_RACES: usize = 256;

/// Looks for races in states of one instance, which have to keep history.
#[derive(Debug, Clone)]
pub struct Races<'i> {
    instance: &'i Instance,
    data: &'i Data,
    /// Per slot, ordered by member: the accesses to the slot, if there can be a race on it. That takes two accesses,
    /// and one of them is a write.
    on: Vec<Vec<(usize, usize)>>,
}

impl<'i> Races<'i> {
    /// Collects the accesses of an instance with this data that can race.
    pub fn new(instance: &'i Instance, data: &'i Data) -> Races<'i> {
        let slots = data.buffers.last().map_or(0, |b| b.cells.end);
        let mut on = vec![Vec::new(); slots];
        for (member, accesses) in data.accesses.iter().enumerate() {
            for (place, access) in accesses.iter().enumerate() {
                on[access.slot as usize].push((member, place));
            }
        }
        for all in &mut on {
            let written = all
                .iter()
                .any(|(member, place)| data.accesses[*member][*place].write);
            if all.len() < 2 || !written {
                all.clear();
            }
        }
        Races { instance, data, on }
    }

    /// The instance.
    pub fn instance(&self) -> &'i Instance {
        self.instance
    }

    /// The accesses.
    pub fn data(&self) -> &'i Data {
        self.data
    }

    /// Whether a slot has two accesses of which one writes.
    pub fn is_contested(&self, slot: u32) -> bool {
        self.on
            .get(slot as usize)
            .is_some_and(|all| !all.is_empty())
    }

    /// The first race in a state, by member.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        self.first(state, 1).pop()
    }

    /// A race in the state after an action of this member. The state before had no race. `kind` is the operation, if
    /// the action was one.
    pub fn after(&self, state: &State, member: usize, kind: Option<OpKind>) -> Option<Hazard> {
        if matches!(kind, Some(OpKind::Sync(_) | OpKind::BarArrive(_))) {
            // Other members may have gone on with this action.
            return self.state(state);
        }
        let accesses = self.data.accesses[member].iter().enumerate();
        let own = accesses.filter(|(_, access)| self.is_active(state, member, access));
        own.filter_map(|(at, _)| self.with((member, at), state))
            .next()
    }

    /// A race of this access, which is next or under way, with another.
    fn with(&self, (member, at): (usize, usize), state: &State) -> Option<Hazard> {
        let access = &self.data.accesses[member][at];
        let others = self.on.get(access.slot as usize)?.iter();
        let mut others = others.filter(|other| **other != (member, at));
        let (other, place) = others.find(|(other, place)| {
            let second = &self.data.accesses[*other][*place];
            let races = (access.write || second.write)
                && (*other != member
                    || if *place < at {
                        unordered(second, access)
                    } else {
                        unordered(access, second)
                    });
            races && self.is_active(state, *other, second)
        })?;
        let both = [(member, at), (*other, *place)];
        Some(Hazard::Race {
            first: both[0].min(both[1]),
            second: both[0].max(both[1]),
            slot: access.slot,
        })
    }

    /// The first races in a state, up to a fixed number.
    pub fn all(&self, state: &State) -> Vec<Hazard> {
        self.first(state, MOST_RACES)
    }

    fn first(&self, state: &State, most: usize) -> Vec<Hazard> {
        let mut found = Vec::new();
        let mut active: FxHashMap<u32, Vec<(usize, usize)>> = FxHashMap::default();
        for (member, accesses) in self.data.accesses.iter().enumerate() {
            for (place, access) in accesses.iter().enumerate() {
                if !self.is_contested(access.slot) || !self.is_active(state, member, access) {
                    continue;
                }
                let others = active.entry(access.slot).or_default();
                for (other, at) in others.iter() {
                    let before = &self.data.accesses[*other][*at];
                    let races = (before.write || access.write)
                        && (*other != member || unordered(before, access));
                    if races {
                        found.push(Hazard::Race {
                            first: (*other, *at),
                            second: (member, place),
                            slot: access.slot,
                        });
                        if found.len() >= most {
                            return found;
                        }
                    }
                }
                others.push((member, place));
            }
        }
        found
    }

    /// Whether an access is next or under way.
    pub(super) fn is_active(&self, state: &State, member: usize, access: &Access) -> bool {
        let counter = state.counters[member];
        if counter == NOT_STARTED || counter < access.at || self.is_hidden(member, access) {
            return false;
        }
        if counter == access.at && !is_registered(self.instance, state, member) {
            return true;
        }
        let Some(work) = access.work else {
            return false;
        };
        let landed = work.landing.is_some_and(|op| {
            let is_it = |f: &InFlight| f.member as usize == member && f.op == op;
            counter > op && !state.in_flight.iter().any(is_it)
        });
        let waited = work.waited.is_some_and(|(at, _)| {
            counter > at || counter == at && is_registered(self.instance, state, member)
        });
        !landed && !waited
    }

    /// Whether an access comes after the last operation of a CTA whose place another CTA may be waiting for. A member
    /// with no operation left counts as finished. So a state does not tell whether the access is still to come.
    pub(super) fn is_hidden(&self, member: usize, access: &Access) -> bool {
        let layout = &self.instance.members[member];
        let launch = self.instance.roles[layout.role].launch.as_ref();
        access.at as usize == layout.ops.len() && launch.is_some_and(|plan| plan.resident.is_some())
    }

    /// An access that [`Races::state`] cannot see, if there is one.
    pub fn hidden(&self) -> Option<&'i Access> {
        let members = self.data.accesses.iter().enumerate();
        let mut all = members
            .flat_map(|(member, accesses)| accesses.iter().map(move |access| (member, access)));
        let hidden = all.find(|(member, access)| {
            self.is_contested(access.slot) && self.is_hidden(*member, access)
        });
        hidden.map(|(_, access)| access)
    }
}

/// Whether two accesses of one member, given in program order, race when both are next or under way.
fn unordered(before: &Access, after: &Access) -> bool {
    let Some(work) = before.work else {
        return false;
    };
    let same = before.order == after.order;
    let waited = work.waited.is_some_and(|(_, order)| order < after.order);
    let in_line = work.in_order && after.work.is_some_and(|work| work.in_order);
    !same && !waited && !in_line
}

/// Whether a member is blocked in the open generation of a named barrier.
pub(super) fn is_registered(instance: &Instance, state: &State, member: usize) -> bool {
    let Some(op) = step::next_op(instance, state, member) else {
        return false;
    };
    match &state.cells[op.cell.0 as usize] {
        step::CellState::Named { registered, .. } => registered
            .iter()
            .any(|r| r.blocked && r.member as usize == member),
        _ => false,
    }
}
