//! Values that loops carry, at the entry, the end and the exit of a loop: counters, rings, and
//! registers that follow from the index.

use super::Carrier;
use super::Lowerer;
use super::Result;
use super::growing::Growth;
use super::parallel_copy::sequentialized;
use super::phi_values::PhiValue;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Domain;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::recurrence::Site;
use crate::recover::recurrence::Steps;
use crate::recover::role_ir::Line;
use crate::recover::sides::sides;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// How many nested choices the next value of a counter may have.
pub(super) const MAX_CHOICES: u32 = 8;

/// The next value of a register, in a loop that has been left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// The next value, as a term over the phis of the last iteration.
    pub next: TermId,
    /// The phi that stands for it behind the loop, or a bit of that phi.
    pub named: TermId,
    pub name: u32,
}

impl Lowerer<'_> {
    /// At the entry of a loop: gives its phis their values.
    pub(super) fn begin(&mut self, own: &[u32], lines: &mut Vec<Line>) -> Result<()> {
        let mut assigned: BTreeMap<usize, ()> = BTreeMap::new();
        // Machines that begin with an unknown state.
        let mut unknown: BTreeSet<usize> = BTreeSet::new();
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            let info = self.recurrences.variables[variable].clone();
            let record = self.arena.phis[*phi as usize].clone();
            if let Some(machine) = self.recurrences.machine_of.get(&variable).copied() {
                let data = self.recurrences.machines[machine].clone();
                if let Some(index) = data.index {
                    self.phi_values.insert(
                        *phi,
                        PhiValue::State {
                            machine,
                            steps: Number::of(Atomic::Index(index)),
                        },
                    );
                    continue;
                }
                let is_root = info.root == Some(*phi);
                if info
                    .root
                    .is_some_and(|root| root != *phi && self.kept.contains(&root))
                {
                    self.phi_values.remove(*phi);
                    continue;
                }
                if unknown.contains(&machine) {
                    self.phi_values.remove(*phi);
                    continue;
                }
                let number = self.variable(Carrier::Machine(machine));
                if assigned.insert(machine, ()).is_none() {
                    // If the loop that would begin it is never entered, its state here is the one
                    // that that loop would have begun with.
                    if self.declared.insert(machine) || is_root {
                        let Some(value) = self.initial_steps(&data.begins_with) else {
                            // Then no other variable of the machine is known either.
                            unknown.insert(machine);
                            self.phi_values.remove(*phi);
                            continue;
                        };
                        lines.push(Line::Let {
                            variable: number,
                            value,
                        });
                    }
                    let site = Site::Entry(record.in_loop);
                    if !is_root || data.steps.contains_key(&site) {
                        let steps = data.steps.get(&site).cloned().unwrap_or(Steps::By(0));
                        let firsts = self.of_machine(own, machine, |phi| phi.first);
                        self.advance_all(&firsts, machine, number, &steps, lines)?;
                    }
                }
                self.phi_values.forget_machine(machine);
                for other in own {
                    if self
                        .recurrences
                        .machine_of
                        .get(&self.recurrences.of_phi[other])
                        == Some(&machine)
                    {
                        self.phi_values.insert(
                            *other,
                            PhiValue::State {
                                machine,
                                steps: Number::of(Atomic::Variable(number)),
                            },
                        );
                    }
                }
                // Variables of the machine that this loop does not change keep their values.
                let here: Vec<usize> = own.iter().map(|phi| self.recurrences.of_phi[phi]).collect();
                for other in data.variables.iter().filter(|other| !here.contains(other)) {
                    for phi in self.recurrences.variables[*other].phis.clone() {
                        if self.recurrences.variables[*other].phis.len() == 1 {
                            self.phi_values.insert(
                                phi,
                                PhiValue::State {
                                    machine,
                                    steps: Number::of(Atomic::Variable(number)),
                                },
                            );
                        }
                    }
                }
                continue;
            }
            if !self.recurrences.counters.contains(&variable) {
                self.phi_values.remove(*phi);
                continue;
            }
            if self.is_sequential(variable) {
                // Its own loop counts it.
                let meaning = self.counted(*phi);
                match meaning {
                    Some(number) => {
                        self.phi_values.insert(*phi, PhiValue::Number(number));
                    }
                    None => {
                        self.phi_values.remove(*phi);
                    }
                }
                continue;
            }
            // A counter that several loops move. It is assumed below that it does not wrap around.
            let value = self.number_or_state(record.first);
            let begun = info.root != Some(*phi);
            let value = value.or_else(|| self.congruent(record.first).filter(|_| begun));
            let Some(value) = value else {
                self.phi_values.remove(*phi);
                continue;
            };
            // A counter that may fall below 0 is not followed.
            let growth = self
                .growth(variable)
                .filter(|_| info.root != Some(*phi) || self.is_natural(&value));
            let Some(growth) = growth else {
                self.recurrences.counters.remove(&variable);
                self.phi_values.remove(*phi);
                continue;
            };
            let begins = info.root != Some(*phi) || value.as_constant().is_some();
            if growth == Growth::More || !begins {
                self.inputs
                    .assumptions
                    .insert("a counter that several loops move stays below 2^31".to_owned());
            }
            let number = self.variable(Carrier::Counter(variable));
            if info.root == Some(*phi) {
                lines.push(Line::Let {
                    variable: number,
                    value,
                });
            } else if value != Number::of(Atomic::Variable(number)) {
                lines.push(Line::Assign {
                    variable: number,
                    value,
                });
            }
            for other in &info.phis {
                self.phi_values.remove(*other);
            }
            self.phi_values
                .insert(*phi, PhiValue::Number(Number::of(Atomic::Variable(number))));
            self.inputs
                .assumptions
                .insert("a CTA has fewer than 2^31 rounds of each ring".to_owned());
        }
        Ok(())
    }

    /// Finds the values of registers of a loop that are neither counters nor machines.
    pub(super) fn index_alone(&mut self, own: &[u32]) {
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            if let Some(machine) = self.recurrences.machine_of.get(&variable).copied() {
                let moves = self.recurrences.machines[machine].steps.values();
                if self.keeps
                    && moves
                        .into_iter()
                        .any(|steps| matches!(steps, Steps::If(..)))
                    && let Some(number) = self.kept_parity(*phi)
                {
                    self.kept.insert(*phi);
                    self.indexed.insert(*phi, number.clone());
                    self.phi_values.insert(*phi, PhiValue::Number(number));
                }
                continue;
            }
            if self.recurrences.counters.contains(&variable) {
                continue;
            }
            let number = self.by_index(*phi);
            let number = number.or_else(|| self.restarting(*phi));
            let number = number.or_else(|| self.turning(*phi));
            let in_loop = self.arena.phis[*phi as usize].in_loop;
            if let Some(number) = number.filter(|number| !self.moves(in_loop, number)) {
                self.indexed.insert(*phi, number.clone());
                self.phi_values.insert(*phi, PhiValue::Number(number));
            }
        }
        // A register may take over the value of another one, which takes over that of a third.
        let mut open: Vec<u32> = own
            .iter()
            .copied()
            .filter(|phi| {
                let variable = self.recurrences.of_phi[phi];
                !self.indexed.contains_key(phi)
                    && !self.recurrences.machine_of.contains_key(&variable)
                    && !self.recurrences.counters.contains(&variable)
            })
            .collect();
        while let Some((at, number)) = (0..open.len()).find_map(|at| {
            let in_loop = self.arena.phis[open[at] as usize].in_loop;
            let number = self.delayed(open[at])?;
            (!self.moves(in_loop, &number)).then_some((at, number))
        }) {
            let phi = open.swap_remove(at);
            self.indexed.insert(phi, number.clone());
            self.phi_values.insert(phi, PhiValue::Number(number));
        }
    }

    pub(super) fn is_sequential(&self, variable: usize) -> bool {
        self.recurrences
            .is_sequential(variable, &self.arena.phis, &self.arena.terms)
    }

    /// `first + step * index`.
    pub(super) fn counted(&mut self, phi: u32) -> Option<Number> {
        let in_loop = self.arena.phis[phi as usize].in_loop;
        let (_, first, step) = self.linear_phi(phi)?;
        let first = self.number_or_state(first)?;
        if self.moves(in_loop, &first) {
            return None;
        }
        let width = self.arena.terms.width_of(step);
        let step = crate::meaning::Word::new(self.arena.terms.value(step)?, width).signed();
        first.plus(&Number::of(Atomic::Index(in_loop)).times(step)?)
    }

    /// Whether a loop moves a variable that a number mentions, so that the number changes between
    /// iterations.
    pub(super) fn moves(&self, id: LoopId, number: &Number) -> bool {
        let moved = |carrier: &Carrier| {
            let phis = |variable: &usize| self.recurrences.variables[*variable].phis.iter();
            let own = |phi: &u32| self.arena.phis[*phi as usize].in_loop == id;
            match carrier {
                Carrier::Counter(variable) => phis(variable).any(own),
                Carrier::Machine(machine) => {
                    let variables = &self.recurrences.machines[*machine].variables;
                    variables.iter().any(|variable| phis(variable).any(own))
                }
                Carrier::Saved(_, of) => *of == id,
            }
        };
        number.mentions(&|atomic| {
            let Atomic::Variable(variable) = atomic else {
                return false;
            };
            let mut carriers = self.variables.iter();
            carriers.any(|(carrier, named)| named == variable && moved(carrier))
        })
    }

    /// For each phi of a loop that belongs to a machine: a term of the phi.
    pub(super) fn of_machine(
        &self,
        own: &[u32],
        machine: usize,
        term: impl Fn(&Phi) -> TermId,
    ) -> Vec<TermId> {
        own.iter()
            .filter(|phi| {
                let variable = self.recurrences.of_phi[phi];
                self.recurrences.machine_of.get(&variable) == Some(&machine)
            })
            .map(|phi| term(&self.arena.phis[*phi as usize]))
            .collect()
    }

    /// At the end of an iteration: moves the carried values on.
    pub(super) fn end(
        &mut self,
        own: &[u32],
        id: LoopId,
        lines: &mut Vec<Line>,
        location: &Location,
    ) -> Result<()> {
        let mut done: BTreeMap<Carrier, ()> = BTreeMap::new();
        // All of them move at once, so each is computed from the old values of the others.
        let mut updates: Vec<(u32, Vec<Line>)> = Vec::new();
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            let next = self.arena.phis[*phi as usize].next;
            if self.kept.contains(phi) {
                continue;
            }
            if let Some(machine) = self.recurrences.machine_of.get(&variable).copied() {
                let data = self.recurrences.machines[machine].clone();
                if data.index.is_some() || done.insert(Carrier::Machine(machine), ()).is_some() {
                    continue;
                }
                let number = self.variable(Carrier::Machine(machine));
                let steps = data
                    .steps
                    .get(&Site::Latch(id))
                    .cloned()
                    .unwrap_or(Steps::By(0));
                let all = self.of_machine(own, machine, |phi| phi.next);
                let mut moved = Vec::new();
                self.advance_all(&all, machine, number, &steps, &mut moved)?;
                moved.extend(self.whole_periods(machine, number, &steps, lines));
                updates.push((number, moved));
                continue;
            }
            if !self.recurrences.counters.contains(&variable) || self.is_sequential(variable) {
                continue;
            }
            if done.insert(Carrier::Counter(variable), ()).is_some() {
                continue;
            }
            let number = self.variable(Carrier::Counter(variable));
            let Some(moved) = self.moved(next, number, location, MAX_CHOICES) else {
                return refuse(
                    "a loop moves a counter by what cannot be written in the protocol language",
                    location,
                );
            };
            updates.push((number, moved));
        }
        let Some(mut updates) = sequentialized(updates) else {
            return refuse(
                "counters of a loop move on, each by what the other was",
                location,
            );
        };
        lines.append(&mut updates);
        Ok(())
    }

    /// Gives a counter its next value, which branches may choose.
    fn moved(
        &mut self,
        next: TermId,
        number: u32,
        location: &Location,
        choices: u32,
    ) -> Option<Vec<Line>> {
        // Where the counter begins, it is assumed that it does not wrap around.
        let value = self.number_or_state(next);
        if let Some(value) = value.or_else(|| self.congruent(next)) {
            let stays = value == Number::of(Atomic::Variable(number));
            let assign = Line::Assign {
                variable: number,
                value,
            };
            return Some((!stays).then_some(assign).into_iter().collect());
        }
        let choices = choices.checked_sub(1)?;
        let (choice, [a, b]) = sides(next, &mut self.arena.terms)?;
        let condition = self.condition(choice)?;
        let negated = condition.clone().negated();
        let not = self.arena.terms.not(&choice);
        let then = self.under(choice, Some(&condition), |it| {
            it.moved(a, number, location, choices)
        })?;
        let otherwise = self.under(not, negated.as_ref(), |it| {
            it.moved(b, number, location, choices)
        })?;
        if then == otherwise {
            return Some(then);
        }
        let (condition, then, otherwise) = match then.is_empty() {
            true => (negated?, otherwise, then),
            false => (condition, then, otherwise),
        };
        Some(vec![Line::If {
            condition,
            then,
            otherwise,
            location: location.clone(),
        }])
    }

    /// Notes what the phis of a loop are behind it. `last`: the index of the iteration that leaves
    /// it. `bottom`: whether it is left at its end.
    pub(super) fn leave(&mut self, own: &[u32], id: LoopId, last: Option<&Number>, bottom: bool) {
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            let machine = self.recurrences.machine_of.get(&variable).copied();
            if let Some(machine) = machine.filter(|_| !self.kept.contains(phi)) {
                let data = self.recurrences.machines[machine].clone();
                if bottom
                    && data.index.is_none()
                    && matches!(data.steps.get(&Site::Latch(id)), Some(Steps::If(..)))
                {
                    self.leave_behind(*phi, own, machine);
                }
                let steps = if data.index == Some(id) {
                    last.cloned()
                } else if data.index.is_some() {
                    None
                } else {
                    let number = self.variable(Carrier::Machine(machine));
                    let back = match data.steps.get(&Site::Latch(id)) {
                        _ if !bottom => Some(0),
                        Some(Steps::By(steps)) => i128::try_from(*steps).ok(),
                        Some(Steps::If(..) | Steps::To(_)) => None,
                        None => Some(0),
                    };
                    back.and_then(|back| {
                        Number::of(Atomic::Variable(number)).minus(&Number::constant(back))
                    })
                };
                match steps {
                    Some(steps) => {
                        self.phi_values
                            .insert(*phi, PhiValue::State { machine, steps });
                    }
                    None => {
                        self.phi_values.remove(*phi);
                    }
                }
                continue;
            }
            let meaning = if !self.recurrences.counters.contains(&variable) {
                match (self.indexed.get(phi), last) {
                    (Some(number), Some(last)) => number
                        .replaced(&|atomic| (*atomic == Atomic::Index(id)).then(|| last.clone()))
                        .filter(|number| self.has_divisors(number)),
                    _ => None,
                }
            } else if self.is_sequential(variable) {
                let number = self.counted(*phi);
                match (number, last) {
                    (Some(number), Some(last)) => number
                        .replaced(&|atomic| (*atomic == Atomic::Index(id)).then(|| last.clone())),
                    _ => None,
                }
            } else {
                let number = self.variable(Carrier::Counter(variable));
                let own = Number::of(Atomic::Variable(number));
                if bottom {
                    self.taken_back(*phi, own)
                } else {
                    Some(own)
                }
            };
            match meaning {
                Some(number) => {
                    self.phi_values.insert(*phi, PhiValue::Number(number));
                }
                None => {
                    self.phi_values.remove(*phi);
                }
            }
        }
    }

    /// If a loop is left at its end, the next value of a register of a machine gets a name of its
    /// own. It is the state that the role's variable has by then. The phis are still those of the
    /// last iteration.
    fn leave_behind(&mut self, phi: u32, own: &[u32], machine: usize) {
        let next = self.arena.phis[phi as usize].next;
        let of_loop = |atom: &Atom| matches!(atom, Atom::Phi(phi) if own.contains(phi));
        if !self.arena.terms.atoms(next).iter().any(of_loop) {
            return;
        }
        let known = self.left.iter().find(|left| left.next == next);
        let name = match known {
            Some(left) => left.name,
            None => {
                let name = u32::try_from(self.arena.phis.len()).unwrap_or(u32::MAX);
                let width = self.arena.terms.width_of(next);
                let named = self.arena.terms.atom(Atom::Phi(name), width);
                self.arena.phis.push(Phi {
                    in_loop: self.arena.phis[phi as usize].in_loop,
                    first: named,
                    next: named,
                });
                let variable = self.recurrences.of_phi[&phi];
                self.recurrences.of_phi.insert(name, variable);
                self.left.push(Left { next, named, name });
                // Parities are the lowest bits of registers.
                let [next, named] = [next, named].map(|term| self.arena.terms.extract(&term, 0, 1));
                if width > 1 && self.arena.terms.truth(next).is_none() {
                    self.left.push(Left { next, named, name });
                }
                name
            }
        };
        let steps = Number::of(Atomic::Variable(self.variable(Carrier::Machine(machine))));
        self.phi_values
            .insert(name, PhiValue::State { machine, steps });
    }

    /// A term in which next values of loops that were left are replaced by their names, if these
    /// have a meaning.
    pub(super) fn with_left(&mut self, term: TermId) -> TermId {
        let mut result = term;
        for Left { next, named, name } in self.left.clone() {
            if self.phi_value(name).is_some() {
                result = self.arena.terms.replaced(result, next, named);
            }
        }
        result
    }

    /// The value of a counter before the last iteration moved it.
    pub(super) fn taken_back(&mut self, phi: u32, now: Number) -> Option<Number> {
        let next = self.arena.phis[phi as usize].next;
        let width = self.arena.terms.width_of(next);
        let atom = self.arena.terms.atom(Atom::Phi(phi), width);
        let difference = self.arena.terms.difference(next, atom);
        let difference = self.number(difference)?;
        now.minus(&difference)
    }
}
