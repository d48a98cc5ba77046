//! Barriers of CTAs that have exited.
//!
//! An mbarrier whose declaration says where it is lies in the shared memory of that CTA, which is gone
//! once all members that run there have finished. A state violates `uninitialized` if a member of another
//! CTA stands before an operation on such a barrier, or something of its is in flight to it, and the
//! CTA has exited. A CTA in which nobody runs has not.

use crate::semantics::data::Data;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::State;

use super::Hazard;

/// Looks for uses of what is gone in states of one instance.
#[derive(Debug, Clone)]
pub struct Exits<'i> {
    instance: &'i Instance,
    data: &'i Data,
    /// Per cell the members of the CTA that it belongs to; none where nothing is said of it.
    residents: Vec<Vec<usize>>,
}

impl<'i> Exits<'i> {
    /// What there is to look at in an instance with this data.
    pub fn new(instance: &'i Instance, data: &'i Data) -> Exits<'i> {
        let homes = data.homes.iter();
        let residents = homes.map(|home| match home {
            Some(home) => {
                let places = data.places.iter().enumerate();
                places.filter(|(_, p)| *p == home).map(|(m, _)| m).collect()
            }
            None => Vec::new(),
        });
        Exits {
            instance,
            data,
            residents: residents.collect(),
        }
    }

    /// The first violation in a state.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        if self.residents.iter().all(Vec::is_empty) {
            return None;
        }
        let landing = state.in_flight.iter().find(|landing| {
            let member = landing.member as usize;
            self.is_gone(state, landing.cell, member)
        });
        if let Some(landing) = landing {
            return Some(Hazard::Exited {
                member: landing.member as usize,
                stmt: landing.stmt,
                cell: landing.cell,
            });
        }
        (0..self.instance.members.len()).find_map(|member| {
            let op = step::next_op(self.instance, state, member)?;
            // What is put in flight is a use once it can land.
            let later = matches!(op.kind, OpKind::Copy(_) | OpKind::Commit);
            let uses = !later && op.kind.works_on_cell();
            (uses && self.is_gone(state, op.cell, member)).then_some(Hazard::Exited {
                member,
                stmt: op.stmt,
                cell: op.cell,
            })
        })
    }

    /// Whether a barrier belongs to another CTA than a member's, which has exited.
    fn is_gone(&self, state: &State, cell: CellId, member: usize) -> bool {
        let flat = cell.0 as usize;
        let residents = self.residents.get(flat).map_or(&[][..], Vec::as_slice);
        let remote = self.data.homes.get(flat).copied().flatten() != Some(self.data.places[member]);
        let finished = |member: &usize| {
            let all = self.instance.members[*member].ops.len();
            state.counters[*member] as usize == all
        };
        remote && !residents.is_empty() && residents.iter().all(finished)
    }
}
