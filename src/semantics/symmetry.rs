//! Interchangeable members: states that differ only by who is who are searched once.
//!
//! Members of one role with equal programs are interchangeable unless a fixed launch order
//! tells them apart: renaming them maps runs to runs and stuck states to stuck states. The
//! representative of a state is the one in which, inside each such group, members are sorted
//! by what they have done and where they are registered.

use rustc_hash::FxHashMap;

use super::instance::CellStart;
use super::instance::Instance;
use super::instance::Op;
use super::step::CellState;
use super::step::State;

/// The groups of interchangeable members of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symmetry {
    /// Each group ascending, of at least two members.
    groups: Vec<Vec<usize>>,
    /// Whether some state names members inside a cell.
    registers: bool,
}

impl Symmetry {
    /// The groups of an instance.
    pub fn of(instance: &Instance) -> Symmetry {
        let mut groups: FxHashMap<(usize, &[Op]), Vec<usize>> = FxHashMap::default();
        for (position, member) in instance.members.iter().enumerate() {
            let launch = instance.roles[member.role].launch.as_ref();
            if launch.is_none_or(|plan| plan.order.is_none()) {
                groups
                    .entry((member.role, &member.ops))
                    .or_default()
                    .push(position);
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|g| g.len() > 1).collect();
        groups.sort_unstable();
        Symmetry {
            groups,
            registers: instance.cells.contains(&CellStart::Named),
        }
    }

    /// No groups at all: every state represents itself.
    pub fn none() -> Symmetry {
        Symmetry {
            groups: Vec::new(),
            registers: false,
        }
    }

    /// Replaces a state by the representative of the states it can be renamed to.
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
        let mut places: Vec<Vec<(usize, bool)>> = vec![Vec::new(); state.counters.len()];
        for (position, cell) in state.cells.iter().enumerate() {
            if let CellState::Named { registered, .. } = cell {
                for r in registered {
                    places[r.member as usize].push((position, r.blocked));
                }
            }
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
            if let CellState::Named { registered, .. } = cell {
                for r in registered.iter_mut() {
                    r.member = renamed[r.member as usize] as u32;
                }
                registered.sort_unstable();
            }
        }
    }
}
