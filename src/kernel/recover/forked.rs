//! State machines that begin with the state of another machine.
//!
//! For example, the loop that gives slots of a ring back may lag behind the one that uses them. It
//! begins with the state that the ring had at the beginning of a tile, and moves on by itself. If
//! the states of both come in the same order, `n` steps lead to state `n` in both. So the lagging
//! machine begins with as many steps as the ring had made when its state was copied.

use std::collections::BTreeSet;

use crate::meaning::Domain;
use crate::recover::recurrence::Recurrences;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::tree::Phi;

/// The machine that another one begins with, and where its states have the variables.
pub(super) struct Copied {
    from: usize,
    places: Vec<usize>,
}

impl Recurrences {
    /// If a machine begins with the state of another one, replaces the initial values by the first
    /// state of that one. Returns the phis that were the initial values.
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

    /// The machine whose state the initial values are. Each value is a phi of that machine, and all
    /// are of one loop.
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

    /// Whether states come in the same order as those of the machine that they begin with. Then
    /// both are in the same state after equally many steps. A machine with fewer variables may
    /// repeat its states sooner.
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
