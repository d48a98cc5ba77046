//! Trip counts of loops: for how many iterations, from the first one on, the condition holds under which the loop
//! goes on.

use super::Lowerer;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;

impl Lowerer<'_> {
    /// How often a loop goes on.
    ///
    /// Before the trip count is known, the index of the loop has no upper bound. So a counter with a step above 1 may
    /// seem to wrap around. Then the trip count is guessed as if it did not. With the guess as a bound of the index,
    /// the trip count is derived once more, exactly this time: the condition has to hold in each iteration before the
    /// last one and not in the last one. If the result is not the guess, it is assumed that the counter does not wrap
    /// around.
    pub(super) fn trip_count(&mut self, goes_on: TermId, id: LoopId) -> Option<Number> {
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
    pub(super) fn trips(&mut self, goes_on: TermId, id: LoopId) -> Option<Number> {
        let goes_on = self.as_less(goes_on, Some(id));
        if let Some(truth) = self.arena.terms.truth(goes_on) {
            return (!truth).then(Number::default);
        }
        if let Some(trips) = self.by_responses(goes_on, id) {
            return Some(trips);
        }
        if let Some(trips) = self.ring_word_trips(goes_on, id) {
            return Some(trips);
        }
        if let Some(Condition::AtLeastZero(left)) = self.by_trips(goes_on, Some(id)) {
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
                    match (self.number_or_state(a), self.number_or_state(b)) {
                        (Some(a), Some(b)) => self.until_equal(&a.minus(&b)?, id),
                        _ => {
                            let condition = self.condition(goes_on)?;
                            self.holds_for(&condition, id)
                        }
                    }
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

    /// The trip count of a loop that goes on while cluster launch control grants a cluster: by the response of this
    /// iteration, or by that of the one before.
    fn by_responses(&mut self, goes_on: TermId, id: LoopId) -> Option<Number> {
        let is_answer = |lowerer: &Self, term: TermId| {
            matches!(
                lowerer.arena.terms.node(term),
                Node::Atom(Atom::Response(_))
            )
        };
        let more = if is_answer(self, goes_on) {
            0
        } else {
            let atoms = self.arena.terms.atoms(goes_on);
            let [Atom::Phi(phi)] = *atoms else {
                return None;
            };
            let record = self.arena.phis[phi as usize].clone();
            if record.in_loop != id {
                return None;
            }
            let terms = &mut self.arena.terms;
            let [first, next] = [record.first, record.next].map(|value| {
                terms.substitute(goes_on, &|atom| (atom == Atom::Phi(phi)).then_some(value))
            });
            if self.arena.terms.truth(first) != Some(true) || !is_answer(self, next) {
                return None;
            }
            1
        };
        let granted = Number::of(Atomic::Input(self.inputs.granted()));
        granted.plus(&Number::constant(more))
    }

    pub(super) fn clipped(&self, number: Number) -> Number {
        if self.is_natural(&number) {
            number
        } else {
            Number::maximum(Number::constant(0), number)
        }
    }

    /// For how many iterations a condition holds, if it holds up to one of them and never again.
    pub(super) fn holds_for(&self, condition: &Condition, id: LoopId) -> Option<Number> {
        match condition {
            Condition::Constant(false) => Some(Number::default()),
            Condition::AtLeastZero(number) => {
                let slope = *number.parts.get(&Atomic::Index(id))?;
                let rest = number.minus(&Number::of(Atomic::Index(id)).times(slope)?)?;
                let same = |atomic: &Atomic| *atomic == Atomic::Index(id);
                if slope >= 0 || rest.mentions(&same) || self.moves(id, &rest) {
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
    pub(super) fn until_equal(&self, number: &Number, id: LoopId) -> Option<Number> {
        let slope = *number.parts.get(&Atomic::Index(id))?;
        let rest = number.minus(&Number::of(Atomic::Index(id)).times(slope)?)?;
        if rest.mentions(&|atomic| *atomic == Atomic::Index(id)) || self.moves(id, &rest) {
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
