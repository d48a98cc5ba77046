//! The number of steps that a machine ([`crate::recover::recurrence`]) has made: the variable of
//! the role that counts them, and the steps at which terms over the machine's phis are.

use std::collections::BTreeSet;
use std::collections::VecDeque;

use super::Lowerer;
use super::Result;
use super::phi_values::PhiValue;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Domain;
use crate::recover::launch::is_launch;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::recurrence::Steps;
use crate::recover::rewrite::numbers;
use crate::recover::role_ir::Line;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// How many nested choices of a term are examined.
const MAX_CHOICES: u32 = 4;

impl Lowerer<'_> {
    /// Moves the step counter of a machine. All of its variables have to agree by how much.
    pub(super) fn advance_all(
        &mut self,
        terms: &[TermId],
        machine: usize,
        variable: u32,
        steps: &Steps,
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let mut all: Option<Vec<Line>> = None;
        for term in terms {
            let mut own = Vec::new();
            self.advance(*term, machine, variable, steps, &mut own)?;
            if all.as_ref().is_some_and(|other| *other != own) {
                return refuse(
                    "the registers of a ring move on from different rounds",
                    &Location::default(),
                );
            }
            all = Some(own);
        }
        lines.append(&mut all.unwrap_or_default());
        Ok(())
    }

    /// Moves the step counter by a period, behind a body that goes through a whole period and so leaves the machine in
    /// the state in which it began. From any state of the cycle, a period more leads to that state. With it, such a body
    /// looks like every other unrolled one.
    pub(super) fn whole_periods(
        &self,
        machine: usize,
        variable: u32,
        steps: &Steps,
        body: &[Line],
    ) -> Option<Line> {
        let machine = &self.recurrences.machines[machine];
        let comes_around = *steps == Steps::By(0) && machine.tail == 0;
        if !comes_around || !uses_several_rounds(body, variable) {
            return None;
        }
        let period = Number::constant(i128::try_from(machine.period()).ok()?);
        let value = Number::of(Atomic::Variable(variable)).plus(&period)?;
        Some(Line::Assign { variable, value })
    }

    /// Moves the step counter of a machine, beginning with the step at which the phis of a term
    /// are.
    pub(super) fn advance(
        &mut self,
        term: TermId,
        machine: usize,
        variable: u32,
        steps: &Steps,
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let place = Location::default();
        // At the exit of a loop, the variable already has the step of the next iteration.
        let behind = self.with_left(term);
        if behind != term && matches!(self.arena.terms.node(behind), Node::Atom(_)) {
            return self.advance(behind, machine, variable, &Steps::By(0), lines);
        }
        match steps {
            Steps::By(steps) => {
                let own = Number::of(Atomic::Variable(variable));
                let Some(from) = self.steps_on_ways(term, machine, MAX_CHOICES) else {
                    // The paths to it may have come to different rounds.
                    return match self.launched_choice(term) {
                        Some(choice) => {
                            let by = Steps::By(*steps);
                            self.advance_on_sides(
                                term,
                                machine,
                                variable,
                                choice,
                                [&by, &by],
                                lines,
                            )
                        }
                        None => refuse("a loop carries what a ring was before it moved on", &place),
                    };
                };
                let from = from.unwrap_or_else(|| own.clone());
                let machine = &self.recurrences.machines[machine];
                let period = i128::try_from(machine.period()).unwrap_or(1);
                let tail = machine.tail;
                // From the tail on, a period more leads to the same state.
                let comes_around = *steps >= tail;
                let steps = Number::constant(i128::try_from(*steps).unwrap_or(0));
                let Some(to) = from.plus(&steps) else {
                    return refuse("a number is too large", &place);
                };
                // The variable may already be there; modulo the period, if every state repeats.
                let distance = to.minus(&own).and_then(|distance| distance.as_constant());
                let there = |distance: i128| match tail {
                    0 => distance.rem_euclid(period) == 0,
                    _ => distance == 0,
                };
                if !distance.is_some_and(there) {
                    // The variable moves forward, even if the registers are those of an earlier
                    // round.
                    let ahead = distance.filter(|distance| comes_around && *distance < 0);
                    let ahead = ahead.map(|distance| distance.rem_euclid(period));
                    let value = ahead.and_then(|ahead| own.plus(&Number::constant(ahead)));
                    lines.push(Line::Assign {
                        variable,
                        value: value.unwrap_or(to),
                    });
                }
                Ok(())
            }
            Steps::To(state) => {
                let value = Number::constant(i128::try_from(*state).unwrap_or(0));
                lines.push(Line::Assign { variable, value });
                Ok(())
            }
            Steps::If(choice, yes, no) => {
                self.advance_on_sides(term, machine, variable, *choice, [yes, no], lines)
            }
        }
    }

    /// The same as [`Self::advance`], with different steps for the two outcomes of a choice.
    fn advance_on_sides(
        &mut self,
        term: TermId,
        machine: usize,
        variable: u32,
        choice: TermId,
        steps: [&Steps; 2],
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let place = Location::default();
        let Some(condition) = self.condition(choice) else {
            let what = self.unknown_in(choice);
            return refuse(format!("whether a ring moves on depends on {what}"), &place);
        };
        let known = self.known(&condition);
        let negated = condition.clone().negated();
        let mut sides = [Vec::new(), Vec::new()];
        for (side, (truth, steps)) in sides.iter_mut().zip([true, false].into_iter().zip(steps)) {
            if known == Some(!truth) {
                continue;
            }
            let holds = if truth {
                Some(&condition)
            } else {
                negated.as_ref()
            };
            self.on_side(term, choice, truth, holds, |lowerer, term| {
                lowerer.advance(term, machine, variable, steps, side)
            })?;
        }
        let [mut then, mut otherwise] = sides;
        match known {
            Some(true) => lines.append(&mut then),
            Some(false) => lines.append(&mut otherwise),
            None if then == otherwise => lines.append(&mut then),
            None => {
                let (condition, then, otherwise) = match negated {
                    Some(negated) if then.is_empty() => (negated, otherwise, then),
                    _ => (condition, then, otherwise),
                };
                lines.push(Line::If {
                    condition,
                    then,
                    otherwise,
                    location: place,
                });
            }
        }
        Ok(())
    }

    /// A relation over a choice of the launch, taken on each side.
    pub(super) fn condition_by_choice(&mut self, term: TermId) -> Option<Condition> {
        let choice = self.launched_choice(term)?;
        let condition = self.condition(choice)?;
        let known = self.known(&condition);
        let mut either = Condition::Constant(false);
        for (truth, holds) in [
            (true, Some(condition.clone())),
            (false, condition.negated()),
        ] {
            if known == Some(!truth) {
                continue;
            }
            let side = self.on_side(term, choice, truth, holds.as_ref(), |lowerer, term| {
                lowerer.condition(term)
            })?;
            either = Condition::or(either, Condition::and(holds?, side));
        }
        Some(either)
    }

    /// A choice of the launch in a term that has few of them.
    fn launched_choice(&self, term: TermId) -> Option<TermId> {
        let terms = &self.arena.terms;
        let parts = terms.parts(term).into_iter();
        let choices = parts.filter_map(|part| match terms.node(part) {
            Node::Select(condition, ..) if is_launch(*condition, terms) => Some(*condition),
            _ => None,
        });
        let launched: BTreeSet<TermId> = choices.collect();
        let first = launched.first().copied();
        first.filter(|_| launched.len() <= MAX_CHOICES as usize)
    }

    /// Calls `with` for one side of a choice in a term. `holds` is the condition of that side,
    /// lowered.
    fn on_side<T>(
        &mut self,
        term: TermId,
        choice: TermId,
        truth: bool,
        holds: Option<&Condition>,
        with: impl FnOnce(&mut Self, TermId) -> T,
    ) -> T {
        let constant = self.arena.terms.constant(u128::from(truth), 1);
        let term = self.arena.terms.replaced(term, choice, constant);
        let held = if truth {
            choice
        } else {
            self.arena.terms.not(&choice)
        };
        self.under(held, holds, |lowerer| with(lowerer, term))
    }

    /// The same as [`Self::steps_of`], if it is equal on both sides of the choices in the term. For
    /// example, a loop that may be skipped may move nothing.
    fn steps_on_ways(
        &mut self,
        term: TermId,
        machine: usize,
        choices: u32,
    ) -> Option<Option<Number>> {
        if let Some(steps) = self.steps_of(term, machine) {
            return Some(steps);
        }
        let behind = self.with_left(term);
        if let Some(steps) = self.steps_of(behind, machine) {
            return Some(steps);
        }
        let choice = self.first_choice(term)?;
        let left = choices.checked_sub(1)?;
        let condition = self.condition(choice)?;
        let known = self.known(&condition);
        let negated = condition.clone().negated();
        let mut found: Option<Option<Number>> = None;
        for truth in [true, false] {
            if known == Some(!truth) {
                continue;
            }
            let holds = if truth {
                Some(&condition)
            } else {
                negated.as_ref()
            };
            let steps = self.on_side(term, choice, truth, holds, |lowerer, term| {
                lowerer.steps_on_ways(term, machine, left)
            })?;
            if found.as_ref().is_some_and(|other| *other != steps) {
                return None;
            }
            found = Some(steps);
        }
        found
    }

    /// The condition of a choice in a term, the outermost first.
    fn first_choice(&self, term: TermId) -> Option<TermId> {
        let mut work = VecDeque::from([term]);
        while let Some(term) = work.pop_front() {
            if let Node::Select(condition, ..) = self.arena.terms.node(term) {
                return Some(*condition);
            }
            work.extend(self.arena.terms.children(term));
        }
        None
    }

    /// At which step of a machine the phis of a term are. `None` if they differ, or if one of them
    /// is no longer known. `Some(None)` if none of them is the machine's.
    pub(super) fn steps_of(&self, term: TermId, machine: usize) -> Option<Option<Number>> {
        let mut found: Option<Number> = None;
        for atom in self.arena.terms.atoms(term).iter() {
            let Atom::Phi(phi) = atom else { continue };
            let of_phi = self.recurrences.of_phi.get(phi);
            let own = of_phi.and_then(|variable| self.recurrences.machine_of.get(variable));
            if own != Some(&machine) {
                continue;
            }
            let Some(PhiValue::State { steps, .. }) = self.phi_value(*phi) else {
                return None;
            };
            if found.as_ref().is_some_and(|other| other != steps) {
                return None;
            }
            found = Some(steps.clone());
        }
        Some(found)
    }
}

/// Whether lines use the states of several rounds, counted from where a variable is.
fn uses_several_rounds(lines: &[Line], variable: u32) -> bool {
    let own = |atomic: &Atomic| *atomic == Atomic::Variable(variable);
    let mut rounds = BTreeSet::new();
    numbers(&mut lines.to_vec(), &mut |number| {
        number.each(&mut |atomic| {
            if let Atomic::Remainder(inner, _) = atomic
                && inner.parts.keys().any(own)
            {
                rounds.insert(inner.constant);
            }
        });
    });
    rounds.len() > 1
}
