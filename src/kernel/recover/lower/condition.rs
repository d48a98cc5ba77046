//! Terms of 1 bit as conditions over integers, and tests of mbarriers that are made ahead of a
//! wait.

use std::collections::BTreeSet;

use super::Lowerer;
use super::Origin;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::launch::is_launch;
use crate::recover::noted::note;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::EventKind;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use crate::recover::tree::Statement;

impl Lowerer<'_> {
    /// A term of 1 bit as a condition.
    pub(super) fn condition(&mut self, term: TermId) -> Option<Condition> {
        let condition = self.condition_of(term);
        condition.or_else(|| self.asked(term))
    }

    fn condition_of(&mut self, term: TermId) -> Option<Condition> {
        if let Some(truth) = self.arena.terms.truth(term) {
            return Some(Condition::Constant(truth));
        }
        if let Some(condition) = self.by_trips(term, None) {
            return Some(condition);
        }
        // What is asked of one word is one test, however many comparisons it has.
        if let Node::Binary(..) | Node::Select(..) = self.arena.terms.node(term)
            && let Some(condition) = self.entry_that_passes(term)
        {
            return Some(condition);
        }
        match self.arena.terms.node(term).clone() {
            Node::Not(inner) => self.condition(inner)?.negated(),
            Node::Binary(Binary::And, a, b) => {
                Some(Condition::and(self.condition(a)?, self.condition(b)?))
            }
            Node::Binary(Binary::Or, a, b) => {
                Some(Condition::or(self.condition(a)?, self.condition(b)?))
            }
            Node::Binary(Binary::Xor, a, b) => {
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                let one = Condition::and(a.clone(), b.clone().negated()?);
                Some(Condition::or(one, Condition::and(a.negated()?, b)))
            }
            Node::Select(condition, a, b) => {
                let condition = self.condition(condition)?;
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                let yes = Condition::and(condition.clone(), a);
                Some(Condition::or(yes, Condition::and(condition.negated()?, b)))
            }
            Node::Relation(relation, a, b) => self
                .entry_is_zero(relation, a, b)
                .or_else(|| self.entry_that_passes(term))
                .or_else(|| self.related(relation, a, b))
                .or_else(|| self.in_iteration(relation, a, b))
                .or_else(|| self.tabled_condition(term))
                .or_else(|| self.chosen_by_launch(term))
                .or_else(|| self.condition_by_choice(term)),
            Node::Atom(Atom::Phi(phi)) => match self.tabled_condition(term) {
                Some(condition) => Some(condition),
                None => {
                    let term = self.derived(phi)?;
                    self.condition(term)
                }
            },
            _ => self
                .entry_that_passes(term)
                .or_else(|| self.tabled_condition(term))
                .or_else(|| self.chosen_by_launch(term)),
        }
    }

    fn related(&mut self, relation: Relation, a: TermId, b: TermId) -> Option<Condition> {
        if self.arena.terms.width_of(a) == 1 {
            return None;
        }
        // If only the launch decides a condition and it has no form, it becomes one choice, and not
        // two inputs. A bound of a loop is an input already.
        let plain = |lowerer: &mut Self, term: TermId| {
            let inputs = &lowerer.inputs;
            let bound = inputs.bounds.contains(&term) || inputs.ordered.contains(&term);
            lowerer.number_or_state(term).filter(|number| {
                bound || !lowerer.is_computed(number) || !is_launch(term, &lowerer.arena.terms)
            })
        };
        let launch = is_launch(a, &self.arena.terms) && is_launch(b, &self.arena.terms);
        let fixed = [a, b].map(|term| self.arena.terms.value(term).is_some());
        // The two sides may differ by a number only, as the ends of one block of a sequence do.
        // Then all that can matter is whether one of them wraps around. That is no choice of the
        // launch: they are assumed not to.
        let [one, other] = [a, b].map(|term| self.arena.terms.linear(term).1);
        self.narrows = !launch || fixed.contains(&true) || one == other;
        let numbers = if launch {
            (plain(self, a), plain(self, b))
        } else {
            (self.number_or_state(a), self.number_or_state(b))
        };
        self.narrows = false;
        let (a, b) = match numbers {
            (Some(a), Some(b)) => (a, b),
            (None, Some(other)) => return self.clipped_below(relation, a, &other, true),
            (Some(other), None) => return self.clipped_below(relation, b, &other, false),
            (None, None) => return None,
        };
        match relation {
            Relation::Equal => Some(Condition::zero(a.minus(&b)?)),
            Relation::LessSigned => Some(Condition::at_least_zero(
                b.minus(&a)?.minus(&Number::constant(1))?,
            )),
            Relation::LessUnsigned => {
                let natural = self.is_natural(&a) && self.is_natural(&b);
                natural.then_some(())?;
                Some(Condition::at_least_zero(
                    b.minus(&a)?.minus(&Number::constant(1))?,
                ))
            }
        }
    }

    /// Whether a number has inputs that stand for a computation of the launch.
    pub(super) fn is_computed(&self, number: &Number) -> bool {
        number.mentions(&|atomic| match atomic {
            Atomic::Input(input) => self.inputs.all[*input as usize]
                .name
                .starts_with("computed"),
            _ => false,
        })
    }

    /// A choice of the launch, as an input that is 0 or 1.
    fn chosen_by_launch(&mut self, term: TermId) -> Option<Condition> {
        if !is_launch(term, &self.arena.terms) {
            return None;
        }
        let number = match self.inputs.of_term.get(&term) {
            Some(number) => *number,
            None => {
                let words: BTreeSet<Atom> = self.arena.terms.atoms(term).iter().copied().collect();
                let number = self.inputs.add(
                    "chosen".to_owned(),
                    "decided by the launch".to_owned(),
                    words,
                    (0, 1),
                    Origin::Term(term),
                );
                self.inputs.of_term.insert(term, number);
                number
            }
        };
        Some(Condition::zero(
            Number::of(Atomic::Input(number)).minus(&Number::constant(1))?,
        ))
    }

    /// A condition over the states of one machine.
    fn tabled_condition(&mut self, term: TermId) -> Option<Condition> {
        let (values, steps, tail) = self.table(term)?;
        let truths: Vec<bool> = values.iter().map(|bits| bits & 1 == 1).collect();
        if truths.windows(2).all(|pair| pair[0] == pair[1]) {
            return truths.first().map(|truth| Condition::Constant(*truth));
        }
        if tail > 0 {
            // One value first, and then the other for good.
            let rest = *truths.last()?;
            let turn = truths.iter().position(|truth| *truth == rest)?;
            if turn > tail || truths[turn..].contains(&!rest) {
                return None;
            }
            let first = Condition::at_least_zero(
                Number::constant(i128::try_from(turn).ok()? - 1).minus(&steps)?,
            );
            return if rest { first.negated() } else { Some(first) };
        }
        let period = truths.len();
        for wanted in [true, false] {
            let places: Vec<usize> = (0..period).filter(|at| truths[*at] == wanted).collect();
            // Equally spaced places are one place of a shorter period.
            let short = (1..=period).find(|short| {
                period.is_multiple_of(*short)
                    && (0..period).all(|at| truths[at] == truths[at % short])
            })?;
            if places.iter().filter(|at| **at < short).count() == 1 {
                let place = i128::try_from(places[0] % short).ok()?;
                let rest = steps.remainder(i128::try_from(short).ok()?)?;
                let condition = Condition::zero(rest.minus(&Number::constant(place))?);
                return if wanted {
                    Some(condition)
                } else {
                    condition.negated()
                };
            }
        }
        let bits: Vec<i128> = truths.iter().map(|truth| i128::from(*truth)).collect();
        let bit = super::table::periodic(&bits, &steps)?;
        Some(Condition::zero(bit.minus(&Number::constant(1))?))
    }

    /// For a phi that moves by a fixed step: the phi, its first value, and what each iteration
    /// adds.
    pub(super) fn linear_phi(&mut self, phi: u32) -> Option<(TermId, TermId, TermId)> {
        let Phi { first, next, .. } = self.arena.phis.get(phi as usize)?.clone();
        let width = self.arena.terms.width_of(next);
        let atom = self.arena.terms.atom(Atom::Phi(phi), width);
        let step = self.arena.terms.difference(next, atom);
        is_launch(step, &self.arena.terms).then_some((atom, first, step))
    }

    /// A phi that is a function `F` of phis that count. `F` of their first values is its first
    /// value, and `F` of their next values is its next value. By induction it is `F` of them in
    /// every iteration.
    pub(super) fn derived(&mut self, phi: u32) -> Option<TermId> {
        let Phi {
            in_loop,
            first,
            next,
        } = self.arena.phis.get(phi as usize)?.clone();
        let mut before = Vec::new();
        let mut start = Vec::new();
        for atom in self.arena.terms.atoms(next).iter() {
            let Atom::Phi(other) = atom else { continue };
            if *other == phi {
                return None;
            }
            if self.arena.phis[*other as usize].in_loop != in_loop {
                return None;
            }
            let (term, first, step) = self.linear_phi(*other)?;
            let previous = self.arena.terms.difference(term, step);
            before.push((*atom, previous));
            start.push((*atom, first));
        }
        if before.is_empty() {
            return None;
        }
        let of = |list: &[(Atom, TermId)], atom: Atom| {
            list.iter()
                .find(|(other, _)| *other == atom)
                .map(|(_, term)| *term)
        };
        let function = self.arena.terms.substitute(next, &|atom| of(&before, atom));
        let at_first = self
            .arena
            .terms
            .substitute(function, &|atom| of(&start, atom));
        (at_first == first).then_some(function)
    }

    /// The condition `x + k * step < bound`, where `x` moves in steps that the launch fixes:
    /// whether iteration `i + k` is one of the loop's. With `own`, the term is the condition of
    /// that loop itself. Then it has to say only up to which iteration it holds.
    pub(super) fn by_trips(&mut self, term: TermId, own: Option<LoopId>) -> Option<Condition> {
        let (positive, inner) = match self.arena.terms.node(term) {
            Node::Not(inner) => (false, *inner),
            _ => (true, term),
        };
        if let Some(condition) = self.by_trips_of(inner, positive, own) {
            return Some(condition);
        }
        let twin = self.with_other_sign(inner)?;
        self.by_trips_of(twin, positive, own)
    }

    fn by_trips_of(
        &mut self,
        inner: TermId,
        positive: bool,
        own: Option<LoopId>,
    ) -> Option<Condition> {
        let not = self.arena.terms.not(&inner);
        if is_launch(inner, &self.arena.terms) {
            for (key, holds) in [(inner, positive), (not, !positive)] {
                // Each loop that begins under this condition has an iteration if it holds, and none
                // otherwise.
                let mut all = self.inputs.trips.iter();
                if let Some(known) = all.find(|known| known.key == key) {
                    let trips = Number::of(Atomic::Input(known.input));
                    let condition = Condition::at_least_zero(trips.minus(&Number::constant(1))?);
                    return if holds {
                        Some(condition)
                    } else {
                        condition.negated()
                    };
                }
            }
            return None;
        }
        for (continued, holds) in [(inner, positive), (not, !positive)] {
            let Some((phi, ahead, _)) = self.trip_key(continued) else {
                continue;
            };
            let Some((shape, _)) = self.trip_shape(continued, phi, ahead) else {
                continue;
            };
            let in_loop = self.arena.phis[phi as usize].in_loop;
            let mut all = self.inputs.trips.iter();
            let Some(known) = all.find(|known| known.shape == shape) else {
                continue;
            };
            let input = known.input;
            let trips = Number::of(Atomic::Input(input));
            // A loop whose condition looks one iteration ahead is left in the first iteration for
            // whose successor it fails. That is known of the counted iterations if there is a first
            // one.
            let first = |it: &Self| {
                let more = trips.minus(&Number::constant(1));
                more.is_some_and(|more| it.is_natural(&more))
            };
            let leaves = own == Some(in_loop) && holds && (ahead == 0 || ahead == 1 && first(self));
            if !known.ends_once && !leaves {
                continue;
            }
            let at = Number::of(Atomic::Index(in_loop)).plus(&Number::constant(ahead))?;
            let condition =
                Condition::at_least_zero(trips.minus(&at)?.minus(&Number::constant(1))?);
            return if holds {
                Some(condition)
            } else {
                condition.negated()
            };
        }
        None
    }

    /// An `if` that only spares a wait for a phase that a test has found complete. It becomes what
    /// both sides do, with the wait.
    pub(super) fn look_ahead(
        &mut self,
        term: TermId,
        then: &[Statement],
        otherwise: &[Statement],
        location: &Location,
    ) -> Option<Vec<Statement>> {
        for (skips, waits, holds) in [(then, otherwise, true), (otherwise, then, false)] {
            let [Statement::Event(event), rest @ ..] = waits else {
                continue;
            };
            let EventKind::Wait { object, parity } = event.kind else {
                continue;
            };
            if rest != skips {
                continue;
            }
            let condition = if holds {
                term
            } else {
                self.arena.terms.not(&term)
            };
            if let Some(tests) = self.has_passed_here(condition, object, parity) {
                let spared = (location.clone(), event.location.clone());
                let inside: Vec<LoopId> = self.inside.iter().map(|(id, _)| *id).collect();
                let between = tests.between(location, &inside, &self.arena.noted);
                note(&mut self.arena.spared, spared, between);
                return Some(waits.to_vec());
            }
        }
        None
    }
}
