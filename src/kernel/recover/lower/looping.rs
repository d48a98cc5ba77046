//! Loops: how often they run, and what they carry.

use std::collections::BTreeMap;

use super::Carrier;
use super::Lowerer;
use super::Result;
use super::meanings::Meaning;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::recurrence::Site;
use crate::recover::recurrence::Steps;
use crate::recover::sketch::Line;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use crate::recover::tree::Statement;

/// A loop's body: what comes before the way out, on it, and behind it.
struct Shape<'a> {
    before: &'a [Statement],
    /// Under this condition the loop goes on.
    goes_on: TermId,
    leaving: &'a [Statement],
    behind: &'a [Statement],
}

impl Lowerer<'_> {
    pub(super) fn looped(
        &mut self,
        id: LoopId,
        body: &[Statement],
        location: &Location,
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let Some(shape) = self.shape(body) else {
            return refuse("a loop is left in several places, or in none", location);
        };
        let top = shape.before.is_empty();
        let bottom = shape.behind.is_empty();
        let own: Vec<u32> = self
            .recurrences
            .of_phi
            .keys()
            .copied()
            .filter(|phi| self.arena.phis[*phi as usize].in_loop == id)
            .collect();
        self.begin(&own, lines)?;
        let saved_meanings = self.meanings.clone();
        let saved_facts = self.facts.len();
        self.counts.insert(id, Number::constant(super::MOST));
        let Some(trips) = self.trip_count(shape.goes_on, id) else {
            let what = self.unknown_in(shape.goes_on);
            return refuse(format!("how often a loop runs depends on {what}"), location);
        };
        // With the test at the end, the body runs once more than it goes on.
        let mut count = trips.clone();
        if bottom && !top {
            let Some(more) = trips.plus(&Number::constant(1)) else {
                return refuse("a number is too large", location);
            };
            count = self.once_more(&trips).unwrap_or(more);
        }
        self.counts.insert(id, count.clone());
        self.facts.push(Number::of(Atomic::Index(id)));
        if let Some(left) = count
            .minus(&Number::of(Atomic::Index(id)))
            .and_then(|left| left.minus(&Number::constant(1)))
        {
            self.facts.push(left);
        }
        self.index_alone(&own);
        if top {
            self.held.push(shape.goes_on);
        }
        let mut inner = self.block(shape.before)?;
        if !bottom {
            inner.append(&mut self.block(shape.behind)?);
        }
        self.end(&own, id, &mut inner, location)?;
        if top {
            self.held.pop();
        }
        self.facts.truncate(saved_facts);
        self.meanings = saved_meanings;
        lines.push(Line::For {
            index: id,
            count: count.clone(),
            body: inner,
            location: location.clone(),
        });
        // Behind it, what it carried is what it was when it was left.
        let last = if bottom && !top {
            count.minus(&Number::constant(1))
        } else {
            Some(count)
        };
        self.leave(&own, id, last.as_ref(), bottom && !top);
        if !top && !bottom {
            let mut rest = self.block(shape.before)?;
            lines.append(&mut rest);
        }
        let mut rest = self.block(shape.leaving)?;
        lines.append(&mut rest);
        Ok(())
    }

    fn shape<'a>(&mut self, body: &'a [Statement]) -> Option<Shape<'a>> {
        let (last, before) = body.split_last()?;
        if before.iter().any(leaves) {
            return None;
        }
        let Statement::If {
            condition,
            then,
            otherwise,
            ..
        } = last
        else {
            return None;
        };
        let not = self.arena.terms.not(condition);
        let (goes_on, way_out, behind) = match (then.last(), otherwise.last()) {
            (Some(Statement::Break), _) => (not, then, otherwise),
            (_, Some(Statement::Break)) => (*condition, otherwise, then),
            _ => return None,
        };
        let (_, leaving) = way_out.split_last()?;
        if behind.iter().any(leaves) || leaving.iter().any(leaves) {
            return None;
        }
        Some(Shape {
            before,
            goes_on,
            leaving,
            behind,
        })
    }

    /// Registers the loops that run on in steps of the grid.
    pub(super) fn register_loops(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Loop { body, .. } => {
                    if let Some(goes_on) = self.shape(body).map(|shape| shape.goes_on) {
                        self.register_condition(goes_on);
                    }
                    self.register_loops(body);
                }
                Statement::If {
                    then, otherwise, ..
                } => {
                    self.register_loops(then);
                    self.register_loops(otherwise);
                }
                _ => {}
            }
        }
    }

    fn register_condition(&mut self, goes_on: TermId) {
        match self.arena.terms.node(goes_on).clone() {
            Node::Binary(Binary::And, a, b) => {
                self.register_condition(a);
                self.register_condition(b);
            }
            Node::Atom(Atom::Phi(phi)) => {
                if let Some(term) = self.derived(phi) {
                    self.register_condition(term);
                }
            }
            Node::Not(inner) => match self.arena.terms.node(inner).clone() {
                Node::Atom(Atom::Phi(phi)) => {
                    if let Some(term) = self.derived(phi) {
                        let not = self.arena.terms.not(&term);
                        self.register_condition(not);
                    }
                }
                _ => self.register_trips(goes_on),
            },
            _ => self.register_trips(goes_on),
        }
    }

    /// `max(0, n - 1) + 1`, where `trips` is `max(0, n - 1)`: `n` if that is known to be at least 1, else `max(1, n)`.
    fn once_more(&self, trips: &Number) -> Option<Number> {
        if trips.constant != 0 || trips.parts.len() != 1 {
            return None;
        }
        let Some((Atomic::Maximum(a, b), 1)) = trips.parts.first_key_value() else {
            return None;
        };
        let zero = Number::constant(0);
        let other = if **a == zero {
            b
        } else if **b == zero {
            a
        } else {
            return None;
        };
        let n = other.plus(&Number::constant(1))?;
        let positive = n.minus(&Number::constant(1))?;
        if self.is_natural(&positive) {
            return Some(n);
        }
        Some(Number::maximum(Number::constant(1), n))
    }

    /// At the entry of a loop: what its phis mean.
    fn begin(&mut self, own: &[u32], lines: &mut Vec<Line>) -> Result<()> {
        let mut assigned: BTreeMap<usize, ()> = BTreeMap::new();
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            let info = self.recurrences.variables[variable].clone();
            let record = self.arena.phis[*phi as usize].clone();
            if let Some(machine) = self.recurrences.machine_of.get(&variable).copied() {
                let data = self.recurrences.machines[machine].clone();
                if let Some(index) = data.index {
                    self.meanings.insert(
                        *phi,
                        Meaning::State {
                            machine,
                            steps: Number::of(Atomic::Index(index)),
                        },
                    );
                    continue;
                }
                let is_root = info.root == Some(*phi);
                let number = self.variable(Carrier::Machine(machine));
                if assigned.insert(machine, ()).is_none() {
                    if is_root {
                        lines.push(Line::Let {
                            variable: number,
                            value: Number::constant(0),
                        });
                    } else {
                        let site = Site::Entry(record.in_loop);
                        let steps = data.steps.get(&site).cloned().unwrap_or(Steps::By(0));
                        let firsts = self.of_machine(own, machine, |phi| phi.first);
                        self.advance_all(&firsts, machine, number, &steps, lines)?;
                    }
                }
                self.meanings.forget_machine(machine);
                for other in own {
                    if self
                        .recurrences
                        .machine_of
                        .get(&self.recurrences.of_phi[other])
                        == Some(&machine)
                    {
                        self.meanings.insert(
                            *other,
                            Meaning::State {
                                machine,
                                steps: Number::of(Atomic::Variable(number)),
                            },
                        );
                    }
                }
                // Variables of the machine that this loop does not change keep what they are.
                let here: Vec<usize> = own.iter().map(|phi| self.recurrences.of_phi[phi]).collect();
                for other in data.variables.iter().filter(|other| !here.contains(other)) {
                    for phi in self.recurrences.variables[*other].phis.clone() {
                        if self.recurrences.variables[*other].phis.len() == 1 {
                            self.meanings.insert(
                                phi,
                                Meaning::State {
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
                self.meanings.remove(*phi);
                continue;
            }
            if self.is_sequential(variable) {
                // Its own loop counts it.
                let meaning = self.counted(*phi);
                match meaning {
                    Some(number) => {
                        self.meanings.insert(*phi, Meaning::Number(number));
                    }
                    None => {
                        self.meanings.remove(*phi);
                    }
                }
                continue;
            }
            // A counter that several loops move.
            let value = self.number_or_state(record.first);
            let number = self.variable(Carrier::Counter(variable));
            let Some(value) = value else {
                self.meanings.remove(*phi);
                continue;
            };
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
                self.meanings.remove(*other);
            }
            self.meanings
                .insert(*phi, Meaning::Number(Number::of(Atomic::Variable(number))));
            self.inputs
                .assumptions
                .insert("a CTA has fewer than 2^31 rounds of each ring".to_owned());
        }
        Ok(())
    }

    /// Finds what the registers of a loop are that are neither counters nor machines.
    fn index_alone(&mut self, own: &[u32]) {
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            if self.recurrences.counters.contains(&variable)
                || self.recurrences.machine_of.contains_key(&variable)
            {
                continue;
            }
            if let Some(number) = self.by_index(*phi) {
                self.indexed.insert(*phi, number.clone());
                self.meanings.insert(*phi, Meaning::Number(number));
            }
        }
    }

    fn is_sequential(&self, variable: usize) -> bool {
        self.recurrences
            .is_sequential(variable, &self.arena.phis, &self.arena.terms)
    }

    /// `first + step * index`.
    fn counted(&mut self, phi: u32) -> Option<Number> {
        let in_loop = self.arena.phis[phi as usize].in_loop;
        let (_, first, step) = self.linear_phi(phi)?;
        let first = self.number_or_state(first)?;
        let width = self.arena.terms.width_of(step);
        let step = crate::meaning::Word::new(self.arena.terms.value(step)?, width).signed();
        first.plus(&Number::of(Atomic::Index(in_loop)).times(step)?)
    }

    /// A term of each of a loop's phis that are of a machine.
    fn of_machine(
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

    /// Moves the counter of a machine's steps on: every variable of the machine says by how much.
    fn advance_all(
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

    /// Moves the counter of a machine's steps on, from where the phis of a term are.
    fn advance(
        &mut self,
        term: TermId,
        machine: usize,
        variable: u32,
        steps: &Steps,
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let place = Location::default();
        match steps {
            Steps::By(steps) => {
                let own = Number::of(Atomic::Variable(variable));
                let Some(from) = self.steps_of(term, machine) else {
                    return refuse("a loop carries what a ring was before it moved on", &place);
                };
                let from = from.unwrap_or_else(|| own.clone());
                let machine = &self.recurrences.machines[machine];
                let period = i128::try_from(machine.period()).unwrap_or(1);
                let tail = machine.tail;
                let steps = Number::constant(i128::try_from(*steps).unwrap_or(0));
                let Some(to) = from.plus(&steps) else {
                    return refuse("a number is too large", &place);
                };
                // It may already be there; modulo the period, if every state comes around.
                let distance = to.minus(&own).and_then(|distance| distance.as_constant());
                let there = |distance: i128| match tail {
                    0 => distance.rem_euclid(period) == 0,
                    _ => distance == 0,
                };
                if !distance.is_some_and(there) {
                    lines.push(Line::Assign {
                        variable,
                        value: to,
                    });
                }
                Ok(())
            }
            Steps::If(choice, yes, no) => {
                let Some(condition) = self.condition(*choice) else {
                    let what = self.unknown_in(*choice);
                    return refuse(format!("whether a ring moves on depends on {what}"), &place);
                };
                let known = self.known(&condition);
                let negated = condition.clone().negated();
                let mut sides = [Vec::new(), Vec::new()];
                for (side, (truth, steps)) in sides.iter_mut().zip([(true, yes), (false, no)]) {
                    if known == Some(!truth) {
                        continue;
                    }
                    let constant = self.arena.terms.constant(u128::from(truth), 1);
                    let term = self.arena.terms.replaced(term, *choice, constant);
                    let held = if truth {
                        *choice
                    } else {
                        self.arena.terms.not(choice)
                    };
                    let facts = self.facts.len();
                    match (truth, &negated) {
                        (true, _) => self.assume(&condition),
                        (false, Some(negated)) => self.assume(negated),
                        (false, None) => {}
                    }
                    self.held.push(held);
                    let result = self.advance(term, machine, variable, steps, side);
                    self.held.pop();
                    self.facts.truncate(facts);
                    result?;
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
        }
    }

    /// After how many steps of a machine the phis of a term are: `None` where they differ or one of them is no longer known,
    /// and nothing where none of them is the machine's.
    fn steps_of(&self, term: TermId, machine: usize) -> Option<Option<Number>> {
        let mut found: Option<Number> = None;
        for atom in self.arena.terms.atoms(term).iter() {
            let Atom::Phi(phi) = atom else { continue };
            let of_phi = self.recurrences.of_phi.get(phi);
            let own = of_phi.and_then(|variable| self.recurrences.machine_of.get(variable));
            if own != Some(&machine) {
                continue;
            }
            let Some(Meaning::State { steps, .. }) = self.meaning(*phi) else {
                return None;
            };
            if found.as_ref().is_some_and(|other| other != steps) {
                return None;
            }
            found = Some(steps.clone());
        }
        Some(found)
    }

    /// At the end of an iteration: what moves on.
    fn end(
        &mut self,
        own: &[u32],
        id: LoopId,
        lines: &mut Vec<Line>,
        location: &Location,
    ) -> Result<()> {
        let mut done: BTreeMap<Carrier, ()> = BTreeMap::new();
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            let next = self.arena.phis[*phi as usize].next;
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
                self.advance_all(&all, machine, number, &steps, lines)?;
                continue;
            }
            if !self.recurrences.counters.contains(&variable) || self.is_sequential(variable) {
                continue;
            }
            if done.insert(Carrier::Counter(variable), ()).is_some() {
                continue;
            }
            let number = self.variable(Carrier::Counter(variable));
            let Some(value) = self.number_or_state(next) else {
                return refuse(
                    "a loop moves a counter by what has no form in the protocol language",
                    location,
                );
            };
            if value != Number::of(Atomic::Variable(number)) {
                lines.push(Line::Assign {
                    variable: number,
                    value,
                });
            }
        }
        Ok(())
    }

    /// Behind a loop.
    fn leave(&mut self, own: &[u32], id: LoopId, last: Option<&Number>, bottom: bool) {
        for phi in own {
            let variable = self.recurrences.of_phi[phi];
            if let Some(machine) = self.recurrences.machine_of.get(&variable).copied() {
                let data = self.recurrences.machines[machine].clone();
                let steps = if data.index == Some(id) {
                    last.cloned()
                } else if data.index.is_some() {
                    None
                } else {
                    let number = self.variable(Carrier::Machine(machine));
                    let back = match data.steps.get(&Site::Latch(id)) {
                        _ if !bottom => Some(0),
                        Some(Steps::By(steps)) => i128::try_from(*steps).ok(),
                        Some(Steps::If(..)) => None,
                        None => Some(0),
                    };
                    back.and_then(|back| {
                        Number::of(Atomic::Variable(number)).minus(&Number::constant(back))
                    })
                };
                match steps {
                    Some(steps) => {
                        self.meanings
                            .insert(*phi, Meaning::State { machine, steps });
                    }
                    None => {
                        self.meanings.remove(*phi);
                    }
                }
                continue;
            }
            let meaning = if !self.recurrences.counters.contains(&variable) {
                match (self.indexed.get(phi), last) {
                    (Some(number), Some(last)) => number
                        .replaced(&|atomic| (*atomic == Atomic::Index(id)).then(|| last.clone())),
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
                    self.meanings.insert(*phi, Meaning::Number(number));
                }
                None => {
                    self.meanings.remove(*phi);
                }
            }
        }
    }

    /// What a counter was before the last iteration moved it on.
    fn taken_back(&mut self, phi: u32, now: Number) -> Option<Number> {
        let next = self.arena.phis[phi as usize].next;
        let width = self.arena.terms.width_of(next);
        let atom = self.arena.terms.atom(Atom::Phi(phi), width);
        let difference = self.arena.terms.difference(next, atom);
        let difference = self.number(difference)?;
        now.minus(&difference)
    }

    /// How often a loop goes on. Its own index has no bound before that is known, so that a counter with a step above 1 may
    /// seem to wrap around. Then the count is guessed as if it did not, and derived again for the iterations up to
    /// that count, in which the condition is read exactly: it holds in each before the last and not in the last.
    fn trip_count(&mut self, goes_on: TermId, id: LoopId) -> Option<Number> {
        if let Some(trips) = self.trips(goes_on, id) {
            return Some(trips);
        }
        self.unwrapped = Some(id);
        let guess = self.trips(goes_on, id);
        self.unwrapped = None;
        let guess = guess?;
        self.counts.insert(id, guess.plus(&Number::constant(1))?);
        if self.trips(goes_on, id).as_ref() != Some(&guess) {
            self.inputs.assumptions.insert(
                "the counter of a loop does not wrap around before the loop ends".to_owned(),
            );
        }
        Some(guess)
    }

    /// In how many iterations, from the first on, a condition holds.
    fn trips(&mut self, goes_on: TermId, id: LoopId) -> Option<Number> {
        if let Some(truth) = self.arena.terms.truth(goes_on) {
            return (!truth).then(Number::default);
        }
        if let Some(Condition::AtLeastZero(left)) = self.by_trips(goes_on) {
            // `trips - index - ahead - 1 >= 0`.
            let all = left
                .plus(&Number::of(Atomic::Index(id)))?
                .plus(&Number::constant(1))?;
            if !all.mentions(&|atomic| *atomic == Atomic::Index(id)) {
                return Some(self.clipped(all));
            }
        }
        match self.arena.terms.node(goes_on).clone() {
            Node::Binary(Binary::And, a, b) => {
                let (a, b) = (self.trips(a, id)?, self.trips(b, id)?);
                Some(Number::minimum(a, b))
            }
            Node::Atom(Atom::Phi(phi)) => {
                if let Some(condition) = self.condition(goes_on)
                    && let Some(trips) = self.holds_for(&condition, id)
                {
                    return Some(trips);
                }
                let term = self.derived(phi)?;
                self.trips(term, id)
            }
            Node::Not(inner) => match self.arena.terms.node(inner).clone() {
                Node::Relation(Relation::Equal, a, b) => {
                    let (a, b) = (self.number_or_state(a)?, self.number_or_state(b)?);
                    self.until_equal(&a.minus(&b)?, id)
                }
                Node::Binary(Binary::Or, a, b) => {
                    let (a, b) = (self.arena.terms.not(&a), self.arena.terms.not(&b));
                    let (a, b) = (self.trips(a, id)?, self.trips(b, id)?);
                    Some(Number::minimum(a, b))
                }
                Node::Atom(Atom::Phi(phi)) if self.derived(phi).is_some() => {
                    let term = self.derived(phi)?;
                    let not = self.arena.terms.not(&term);
                    self.trips(not, id)
                }
                _ => {
                    let condition = self.condition(goes_on)?;
                    self.holds_for(&condition, id)
                }
            },
            _ => {
                let condition = self.condition(goes_on)?;
                self.holds_for(&condition, id)
            }
        }
    }

    fn clipped(&self, number: Number) -> Number {
        if self.is_natural(&number) {
            number
        } else {
            Number::maximum(Number::constant(0), number)
        }
    }

    /// For how many iterations a condition holds, if it holds up to one of them and never again.
    fn holds_for(&self, condition: &Condition, id: LoopId) -> Option<Number> {
        match condition {
            Condition::Constant(false) => Some(Number::default()),
            Condition::AtLeastZero(number) => {
                let slope = *number.parts.get(&Atomic::Index(id))?;
                let rest = number.minus(&Number::of(Atomic::Index(id)).times(slope)?)?;
                if slope >= 0 || rest.mentions(&|atomic| *atomic == Atomic::Index(id)) {
                    return None;
                }
                // rest - |slope| * i >= 0, that is i <= rest / |slope|.
                let all = rest
                    .divided(slope.checked_neg()?)?
                    .plus(&Number::constant(1))?;
                Some(self.clipped(all))
            }
            Condition::NotZero(number) => self.until_equal(number, id),
            Condition::And(a, b) => {
                let (a, b) = (self.holds_for(a, id)?, self.holds_for(b, id)?);
                Some(Number::minimum(a, b))
            }
            _ => None,
        }
    }

    /// The first iteration in which a number is 0, if it comes there in equal steps.
    fn until_equal(&self, number: &Number, id: LoopId) -> Option<Number> {
        let slope = *number.parts.get(&Atomic::Index(id))?;
        let rest = number.minus(&Number::of(Atomic::Index(id)).times(slope)?)?;
        if rest.mentions(&|atomic| *atomic == Atomic::Index(id)) {
            return None;
        }
        // rest + slope * i == 0
        let towards = if slope > 0 { rest.times(-1)? } else { rest };
        let step = slope.checked_abs()?;
        let trips = [Some(towards.clone()), towards.without_remainders()]
            .into_iter()
            .flatten()
            .find(|towards| {
                towards.constant % step == 0
                    && towards
                        .parts
                        .values()
                        .all(|coefficient| coefficient % step == 0)
            })?
            .divided(step)?;
        (self.is_natural(&trips) || self.is_natural(&towards)).then_some(trips)
    }
}

/// Whether a statement leaves the innermost loop or the program.
fn leaves(statement: &Statement) -> bool {
    match statement {
        Statement::Break | Statement::Return => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(leaves),
        Statement::Loop { body, .. } => body.iter().any(returns),
        Statement::Event(_) => false,
    }
}

fn returns(statement: &Statement) -> bool {
    match statement {
        Statement::Return => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(returns),
        Statement::Loop { body, .. } => body.iter().any(returns),
        Statement::Event(_) | Statement::Break => false,
    }
}
