//! Registers that keep what the registers of a ring were in the iteration before.
//!
//! ```text
//! before = stage; for k { wait full[stage]; if k > 0 { arrive empty[before] } before = stage; stage = .. }
//! ```
//!
//! Such a register begins anew where the loop is entered, and is no state of the ring then. From the
//! second iteration on, it is what the iteration before has computed from the ring's registers.
//! These were in the state that lies as many steps back as an iteration moves the ring. So the
//! register has a value where it is known that this is not the first iteration.
//!
//! This needs that nothing else moves the ring between the beginnings of two iterations: what its
//! registers become is computed from those of this loop alone. And each state has to come back, so
//! that the state some steps back is the same wherever the steps are counted from.

use super::Lowerer;
use super::carried::Left;
use super::phi_values::PhiValue;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::recurrence::Site;
use crate::recover::recurrence::Steps;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use std::collections::BTreeMap;

impl Lowerer<'_> {
    /// In an iteration of a loop: gives registers without a value that of the iteration before,
    /// where there is one.
    pub(super) fn delay_states(&mut self, own: &[u32], id: LoopId) {
        for phi in own {
            if self.phi_values.is_known(*phi) {
                continue;
            }
            let next = self.arena.phis[*phi as usize].next;
            let Some((machine, steps)) = self.ring_of(next, own, id) else {
                continue;
            };
            let Some(earlier) = self
                .each_moves_by(machine, own, id)
                .and_then(|by| steps.minus(&Number::constant(by)))
            else {
                continue;
            };
            self.name_earlier(*phi, next, (machine, &earlier), id);
        }
    }

    /// The ring whose state in this iteration a term is computed from, and its steps.
    fn ring_of(&self, term: TermId, own: &[u32], id: LoopId) -> Option<(usize, Number)> {
        let mut found: Option<(usize, Number)> = None;
        for atom in self.arena.terms.atoms(term).iter() {
            let Atom::Phi(phi) = atom else { return None };
            let Some(PhiValue::State { machine, steps }) = self.phi_value(*phi) else {
                return None;
            };
            if !own.contains(phi) || self.arena.phis[*phi as usize].in_loop != id {
                return None;
            }
            match &found {
                None => found = Some((*machine, steps.clone())),
                Some((other, at)) if other == machine && at == steps => {}
                Some(_) => return None,
            }
        }
        found
    }

    /// By how many steps each iteration of a loop moves a ring, if nothing else in it does.
    fn each_moves_by(&self, machine: usize, own: &[u32], id: LoopId) -> Option<i128> {
        let data = &self.recurrences.machines[machine];
        if data.tail > 0 {
            return None;
        }
        let of_machine = own.iter().filter(|phi| {
            let variable = self.recurrences.of_phi.get(phi);
            variable.is_some_and(|variable| data.variables.contains(variable))
        });
        for phi in of_machine {
            if self.kept.contains(phi) {
                return None;
            }
            let next = self.arena.phis[*phi as usize].next;
            let atoms = self.arena.terms.atoms(next);
            let here = |atom: &Atom| match atom {
                Atom::Phi(other) => own.contains(other),
                _ => true,
            };
            if !atoms.iter().all(here) {
                return None;
            }
        }
        match data.index {
            Some(index) => (index == id).then_some(1),
            None => match data.steps.get(&Site::Latch(id))? {
                Steps::By(steps) => i128::try_from(*steps).ok(),
                Steps::If(..) | Steps::To(_) => None,
            },
        }
    }

    /// Gives a register a name for its value, which is known from the second iteration on.
    fn name_earlier(
        &mut self,
        phi: u32,
        next: TermId,
        (machine, earlier): (usize, &Number),
        id: LoopId,
    ) {
        let Some(later) = Number::of(Atomic::Index(id)).minus(&Number::constant(1)) else {
            return;
        };
        let later = Condition::at_least_zero(later);
        let mut names = BTreeMap::new();
        let mut name = 0;
        let atoms = self.arena.terms.atoms(next);
        for atom in atoms.iter() {
            let Atom::Phi(of) = atom else { return };
            let (number, named) = self.fresh_name(*of, id);
            let variable = self.recurrences.of_phi[of];
            self.recurrences.of_phi.insert(number, variable);
            let state = PhiValue::State {
                machine,
                steps: earlier.clone(),
            };
            // No branch decides this name, so only the condition counts.
            let (_, undecided) = self.fresh_name_of_width(1, id);
            self.phi_values
                .insert_under(number, state, (undecided, later.clone()));
            names.insert(*atom, named);
            name = number;
        }
        let named = self
            .arena
            .terms
            .substitute(next, &|atom| names.get(&atom).copied());
        let width = self.arena.terms.width_of(next);
        let own = self.arena.terms.atom(Atom::Phi(phi), width);
        self.left.push(Left {
            next: own,
            named,
            name,
        });
    }

    fn fresh_name(&mut self, of: u32, id: LoopId) -> (u32, TermId) {
        let width = self.arena.terms.width_of_phi(of);
        self.fresh_name_of_width(width, id)
    }

    fn fresh_name_of_width(&mut self, width: u16, id: LoopId) -> (u32, TermId) {
        let number = u32::try_from(self.arena.phis.len()).unwrap_or(u32::MAX);
        let named = self.arena.terms.atom(Atom::Phi(number), width);
        self.arena.phis.push(Phi {
            in_loop: id,
            first: named,
            next: named,
        });
        (number, named)
    }
}
