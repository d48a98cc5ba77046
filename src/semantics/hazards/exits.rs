//! Finds uses of mbarriers in the shared memory of a CTA that has exited.
//!
//! The declaration of an mbarrier may say in which CTA it lies. Its shared memory is gone once all members that run
//! in this CTA have finished. Then the CTA has exited. A state violates `uninitialized` if the CTA of an mbarrier has
//! exited and a member of another CTA is about to do an operation on the mbarrier, or has something in flight to it.
//! A CTA in which no member runs has not exited.

use crate::semantics::data::Data;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::State;

use super::Hazard;

/// Looks for uses of such mbarriers in states of one instance.
#[derive(Debug, Clone)]
pub struct Exits<'i> {
    instance: &'i Instance,
    data: &'i Data,
    /// Per cell: the members that run in its CTA. Empty if the text does not say where the cell lies.
    residents: Vec<Vec<usize>>,
}

impl<'i> Exits<'i> {
    /// Prepares the search in an instance with this data.
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
            // A copy or a commit uses its barrier only once it can land.
            let later = matches!(op.kind, OpKind::Copy(_) | OpKind::Commit);
            let uses = !later && op.kind.works_on_cell();
            (uses && self.is_gone(state, op.cell, member)).then_some(Hazard::Exited {
                member,
                stmt: op.stmt,
                cell: op.cell,
            })
        })
    }

    /// Whether a barrier belongs to another CTA than this member's, and that CTA has exited.
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
