//! Machines that begin with the state of another one.
//!
//! What gives slots of a ring back may come later than what uses them: it begins with the state of the ring at the beginning of a
//! tile, and moves on by itself. If its states come in the order of those of the ring, it is in state `n` of these after `n` steps, so
//! that it begins at as many steps as the ring had made when the state was copied.

use std::collections::BTreeSet;

use crate::meaning::Domain;
use crate::recover::recurrence::Recurrences;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Phi;

/// The machine with whose state another one begins, and the places of the variables in its states.
pub(super) struct Copied {
    from: usize,
    places: Vec<usize>,
}

impl Recurrences {
    /// Puts the first state of the other machine, if there is one, in the place of what variables begin with. Gives the phis that these are.
    pub(super) fn begin_with(
        &self,
        copied: Option<&Copied>,
        firsts: &mut [(usize, TermId)],
        terms: &mut Terms,
    ) -> Option<Vec<u32>> {
        let mut phis = Vec::new();
        let Some(copied) = copied else {
            return Some(phis);
        };
        let start = self.machines[copied.from].states.first()?;
        for ((_, first), place) in firsts.iter_mut().zip(&copied.places) {
            if let Node::Atom(Atom::Phi(phi)) = *terms.node(*first) {
                phis.push(phi);
            }
            let width = terms.width_of(*first);
            *first = terms.constant(*start.get(*place)?, width);
        }
        Some(phis)
    }

    /// Of which machine what variables begin with is the state: each with another phi of it, all of one loop.
    pub(super) fn copied(
        &self,
        firsts: &[(usize, TermId)],
        phis: &[Phi],
        terms: &Terms,
    ) -> Option<Copied> {
        let mut of = BTreeSet::new();
        let mut places = Vec::new();
        for (_, first) in firsts {
            let Node::Atom(Atom::Phi(phi)) = *terms.node(*first) else {
                return None;
            };
            let variable = self.of_phi.get(&phi)?;
            let machine = *self.machine_of.get(variable)?;
            of.insert((machine, phis[phi as usize].in_loop));
            let variables = &self.machines[machine].variables;
            places.push(variables.iter().position(|other| other == variable)?);
        }
        let (Some((from, _)), 1) = (of.first().copied(), of.len()) else {
            return None;
        };
        Some(Copied { from, places })
    }

    /// Whether states come as those of the machine with whose state they begin, so that at as many steps both are in the same one.
    /// What has fewer variables may come around sooner.
    pub(super) fn goes_as(&self, states: &[Vec<u128>], tail: usize, copied: &Copied) -> Option<()> {
        let other = &self.machines[copied.from];
        let comes_around = tail == 0 && other.tail == 0;
        (comes_around && other.states.len().is_multiple_of(states.len())).then_some(())?;
        let mut both = other.states.iter().zip(states.iter().cycle());
        let same = |own: &[u128], all: &[u128]| {
            let mut values = copied.places.iter().zip(own);
            values.all(|(place, value)| all.get(*place) == Some(value))
        };
        both.all(|(all, own)| same(own, all)).then_some(())
    }
}
