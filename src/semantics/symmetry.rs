//! Symmetry reduction: states that differ only in the names of interchangeable members are searched once.
//!
//! Members of one role with equal programs are interchangeable, unless a fixed launch order distinguishes them.
//! Renaming them maps runs to runs and stuck states to stuck states. Of the states that renaming makes equal, one is
//! the representative: inside each group of interchangeable members, the members are sorted by what they have done
//! and by where they are registered.

use rustc_hash::FxHashMap;

use crate::protocol::StmtId;

use super::data::Access;
use super::data::Data;
use super::data::Lifetime;
use super::data::MemberPlace;
use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Instance;
use super::instance::Next;
use super::instance::Op;
use super::instance::OpKind;
use super::step::CellState;
use super::step::Delivery;
use super::step::State;

/// The groups of interchangeable members of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symmetry {
    /// Each group ascending, of at least two members.
    groups: Vec<Vec<usize>>,
    /// Whether some cell, or the list of operations in flight, can name members.
    registers: bool,
}

impl Symmetry {
    /// The groups of interchangeable members of an instance.
    pub fn of(instance: &Instance) -> Symmetry {
        Symmetry::with_data(instance, None)
    }

    /// The groups of an instance. Members are told apart by their accesses and by where they run, too, if `data` is
    /// given.
    pub fn with_data(instance: &Instance, data: Option<&Data>) -> Symmetry {
        type Program<'a> = (
            usize,
            &'a [Op],
            &'a [Next],
            &'a [Access],
            &'a [Lifetime],
            Option<MemberPlace>,
        );
        let mut groups: FxHashMap<Program<'_>, Vec<usize>> = FxHashMap::default();
        for (position, member) in instance.members.iter().enumerate() {
            let launch = instance.roles[member.role].launch.as_ref();
            let accesses = data.and_then(|data| data.accesses.get(position));
            let accesses = accesses.map_or(&[][..], Vec::as_slice);
            let lifetimes = data.and_then(|data| data.lifetimes.get(position));
            let lifetimes = lifetimes.map_or(&[][..], Vec::as_slice);
            let place = data.and_then(|data| data.places.get(position).copied());
            if launch.is_none_or(|plan| plan.order.is_none()) {
                groups
                    .entry((
                        member.role,
                        &member.ops,
                        &member.next,
                        accesses,
                        lifetimes,
                        place,
                    ))
                    .or_default()
                    .push(position);
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|g| g.len() > 1).collect();
        groups.sort_unstable();
        let names_members =
            |start: &CellStart| matches!(start, CellStart::Named | CellStart::Barrier(_));
        let mut ops = groups.iter().flat_map(|g| &instance.members[g[0]].ops);
        let registers = instance.cells.iter().any(names_members)
            || ops.any(|op| matches!(op.kind, OpKind::Copy(_) | OpKind::Commit));
        Symmetry { groups, registers }
    }

    /// No groups at all: every state represents itself.
    pub fn none() -> Symmetry {
        Symmetry {
            groups: Vec::new(),
            registers: false,
        }
    }

    /// For each of the `members` members: the first member that it is interchangeable with.
    pub fn group_of(&self, members: usize) -> Vec<usize> {
        let mut first: Vec<usize> = (0..members).collect();
        for group in &self.groups {
            for member in group {
                first[*member] = group[0];
            }
        }
        first
    }

    /// Replaces a state by its representative.
    pub fn represent(&self, state: &mut State) {
        if self.groups.is_empty() {
            return;
        }
        if self.registers {
            self.represent_registered(state);
            return;
        }
        let mut counters = Vec::new();
        for group in &self.groups {
            counters.clear();
            counters.extend(group.iter().map(|m| state.counters[*m]));
            counters.sort_unstable();
            for (member, counter) in group.iter().zip(&counters) {
                state.counters[*member] = *counter;
            }
        }
    }

    fn represent_registered(&self, state: &mut State) {
        let mut places: Vec<Vec<Place>> = vec![Vec::new(); state.counters.len()];
        for (position, cell) in state.cells.iter().enumerate() {
            match cell {
                CellState::Named { registered, .. } => {
                    for r in registered {
                        places[r.member as usize].push(Place::In(position, r.blocked));
                    }
                }
                CellState::Barrier {
                    arrived, released, ..
                } => {
                    for (list, waits) in [(arrived, true), (released, false)] {
                        for member in list {
                            places[*member as usize].push(Place::In(position, waits));
                        }
                    }
                }
                _ => {}
            }
        }
        for flight in &state.in_flight {
            let place = Place::InFlight(flight.cell, flight.delivery, flight.stmt, flight.op);
            places[flight.member as usize].push(place);
        }
        let mut renamed: Vec<usize> = (0..state.counters.len()).collect();
        let old = state.counters.clone();
        for group in &self.groups {
            let mut sorted = group.clone();
            sorted.sort_by(|a, b| (old[*a], &places[*a]).cmp(&(old[*b], &places[*b])));
            for (to, from) in group.iter().zip(&sorted) {
                renamed[*from] = *to;
                state.counters[*to] = old[*from];
            }
        }
        for cell in &mut state.cells {
            match cell {
                CellState::Named { registered, .. } => {
                    for r in registered.iter_mut() {
                        r.member = renamed[r.member as usize] as u32;
                    }
                    registered.sort_unstable();
                }
                CellState::Barrier {
                    arrived, released, ..
                } => {
                    for list in [arrived, released] {
                        for member in list.iter_mut() {
                            *member = renamed[*member as usize] as u32;
                        }
                        list.sort_unstable();
                    }
                }
                _ => {}
            }
        }
        for flight in &mut state.in_flight {
            flight.member = renamed[flight.member as usize] as u32;
        }
        // The sort is stable, so the operations that one member has in flight keep their order.
        state.in_flight.sort_by_key(|flight| flight.member);
    }
}

/// Where a state names a member, apart from its program counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// In this cell. For a named barrier, the flag says whether the member is blocked. For a split-phase barrier, it
    /// says whether the member has arrived (true) or has been released (false).
    In(usize, bool),
    /// In flight, in order.
    InFlight(CellId, Delivery, StmtId, u32),
}
