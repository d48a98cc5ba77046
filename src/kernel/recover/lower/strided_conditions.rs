//! Conditions on the counter of a loop whose step the launch gives, other than the relation of that
//! loop.
//!
//! ```text
//! for (r = ctaid; r < n; r += nctaid) { if (r != ctaid) wait(..); if (r + nctaid < unsigned(n)) arrive(..); }
//! ```
//!
//! **Other signedness.** C compares a signed number with an unsigned one as unsigned. Two relations
//! that differ in this only are the same where both sides are at least 0, read with a sign. The
//! side of the launch is, if its range says so. The side that counts is, if it begins at such a
//! number, moves up, and does not wrap around, which is assumed of these loops ([`super::strides`]).
//!
//! **Equality with a value of some iteration.** The counter has another value in each iteration,
//! since it moves up without wrapping around. So it equals the value of iteration `k` in iteration
//! `k` only.

use super::Lowerer;
use super::loop_direction::Direction;
use crate::ir::Special;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::launch::is_launch;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// The last iteration whose value is recognised.
const FAR: u128 = 4;

impl Lowerer<'_> {
    /// The same relation with the other signedness, if it is the same here.
    pub(super) fn with_other_sign(&mut self, relation: TermId) -> Option<TermId> {
        let (other, a, b) = match *self.arena.terms.node(relation) {
            Node::Relation(Relation::LessSigned, a, b) => (Relation::LessUnsigned, a, b),
            Node::Relation(Relation::LessUnsigned, a, b) => (Relation::LessSigned, a, b),
            _ => return None,
        };
        let twin = self.arena.terms.relation(other, &a, &b);
        // No input is made for a side before it is known that the other relation says something.
        if !self.says_how_often(twin) {
            return None;
        }
        (self.never_negative(a) && self.never_negative(b)).then_some(twin)
    }

    /// Whether a relation is that of a loop in steps of the grid, in some iteration.
    fn says_how_often(&mut self, relation: TermId) -> bool {
        let not = self.arena.terms.not(&relation);
        if is_launch(relation, &self.arena.terms) {
            let mut all = self.inputs.trips.iter();
            return all.any(|known| known.key == relation || known.key == not);
        }
        [relation, not].into_iter().any(|relation| {
            let Some((phi, ahead, _)) = self.trip_key(relation) else {
                return false;
            };
            let Some((shape, _)) = self.trip_shape(relation, phi, ahead) else {
                return false;
            };
            let mut all = self.inputs.trips.iter();
            all.any(|known| known.shape == shape && known.ends_once)
        })
    }

    /// Whether a side of the relation of a loop in steps of the grid is at least 0, read with a
    /// sign: in the iterations of the loop and in those that its relation looks ahead to.
    fn never_negative(&mut self, side: TermId) -> bool {
        if is_launch(side, &self.arena.terms) {
            return self.launch_is_natural(side);
        }
        let (constant, parts) = self.arena.terms.linear(side);
        let width = self.arena.terms.width_of(side);
        let positive = |bits: u128| Word::new(bits, width).signed() >= 0;
        positive(constant)
            && parts.into_iter().all(|(part, factor)| {
                positive(factor)
                    && match *self.arena.terms.node(part) {
                        Node::Atom(Atom::Phi(phi)) => self.rises_from_natural(phi),
                        _ => is_launch(part, &self.arena.terms) && self.launch_is_natural(part),
                    }
            })
    }

    fn launch_is_natural(&mut self, term: TermId) -> bool {
        // These are below 2^31. Other special registers, such as clocks and masks, need not be.
        let counts = match self.arena.terms.node(term) {
            Node::Atom(Atom::Special(Special::ThreadIndex(_))) => true,
            Node::Atom(Atom::Special(special)) => special.is_of_cta(),
            _ => false,
        };
        counts
            || self
                .number(term)
                .is_some_and(|number| self.is_natural(&number))
    }

    fn rises_from_natural(&mut self, phi: u32) -> bool {
        let Some((_, first, step)) = self.linear_phi(phi) else {
            return false;
        };
        self.steps(step, Direction::Up)
            && is_launch(first, &self.arena.terms)
            && self.launch_is_natural(first)
    }

    /// Whether the counter of a loop in steps of the grid has the value of some iteration.
    pub(super) fn in_iteration(
        &mut self,
        relation: Relation,
        a: TermId,
        b: TermId,
    ) -> Option<Condition> {
        if relation != Relation::Equal || self.inputs.trips.is_empty() {
            return None;
        }
        let width = self.arena.terms.width_of(a);
        let difference = self.arena.terms.difference(a, b);
        let (_, parts) = self.arena.terms.linear(difference);
        let mut counters =
            parts
                .iter()
                .filter_map(|(part, factor)| match *self.arena.terms.node(*part) {
                    Node::Atom(Atom::Phi(phi)) => Some((*part, phi, *factor)),
                    _ => None,
                });
        let (Some((counter, phi, factor)), None) = (counters.next(), counters.next()) else {
            return None;
        };
        let zero = self.arena.terms.constant(0, width);
        // `counter - value`.
        let difference = match Word::new(factor, width).signed() {
            1 => difference,
            -1 => self.arena.terms.difference(zero, difference),
            _ => return None,
        };
        let (_, first, step) = self.linear_phi(phi)?;
        let id = self.arena.phis[phi as usize].in_loop;
        let trips = self.trips_of(phi, first, step)?;
        // `difference = counter - first - k * step`, so it is 0 where the counter has the value of
        // iteration `k`.
        let ahead = self.arena.terms.difference(counter, difference);
        let ahead = self.arena.terms.difference(ahead, first);
        let terms = &mut self.arena.terms;
        let k = (0..=FAR).find(|k| terms.sum(0, &[(step, *k)], width) == ahead)?;
        let (index, k) = (
            Number::of(Atomic::Index(id)),
            Number::constant(i128::try_from(k).ok()?),
        );
        // Up to the iteration behind the last one, nothing has wrapped around.
        for reached in [&index, &k] {
            if !self.is_natural(&trips.minus(reached)?) {
                return None;
            }
        }
        Some(Condition::zero(index.minus(&k)?))
    }

    /// The input that says how often a loop in steps of the grid runs that has such a counter.
    fn trips_of(&mut self, phi: u32, first: TermId, step: TermId) -> Option<Number> {
        let id = self.arena.phis[phi as usize].in_loop;
        let count = self.counts.get(&id)?.clone();
        let known = self.inputs.trips.iter().filter(|known| {
            let [_, other_first, other_step] = known.shape;
            known.ends_once && other_first == first && other_step == step
        });
        let mut inputs = known.map(|known| Number::of(Atomic::Input(known.input)));
        inputs.find(|trips| *trips == count)
    }
}
