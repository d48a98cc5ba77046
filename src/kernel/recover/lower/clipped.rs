//! Bounds of loops that the launch computes and that may be negative: `max(0, bound)` becomes an
//! input. A loop up to a negative bound has no iteration, like one up to 0.
//!
//! Bounds that differ by a small constant are expressed by one input. For example, a kernel
//! compares `x` with 0, and has a loop up to `x - 1`. Then the input is `max(0, x)`, and the loop
//! is one up to this input less 1. The input is that of the greatest of these values that is
//! compared. It is assumed, and printed, that the lesser ones do not wrap around.

use super::Lowerer;
use super::MOST;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::launch::is_launch;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::TermId;

/// How far apart values of the launch may be that are expressed by one input.
const NEAR: i128 = 8;

const WRAPS: &str =
    "what the launch computes and a loop runs up to, less a few, does not wrap around";

impl Lowerer<'_> {
    /// A relation between a bound of a loop, which may be negative, and a number that is not. It
    /// becomes a relation of `max(0, bound)`, which is an input, or which the rounds of loops around
    /// decide.
    pub(super) fn clipped_below(
        &mut self,
        relation: Relation,
        bound: TermId,
        other: &Number,
        first: bool,
    ) -> Option<Condition> {
        let of_launch = self.base(bound);
        let (base, less) = of_launch.unwrap_or((bound, 0));
        let other = &other.plus(&Number::constant(less))?;
        let less = other.minus(&Number::constant(1))?;
        // If the bound is negative, the input is 0.
        let holds = match (relation, first) {
            (Relation::LessSigned, false) => self.is_natural(other),
            (Relation::Equal, _) | (Relation::LessSigned, true) => self.is_natural(&less),
            (Relation::LessUnsigned, _) => false,
        };
        if !holds {
            return None;
        }
        let input = match of_launch {
            Some(_) => self.above_0(base),
            None => self.above_0_by_rounds(bound)?,
        };
        if base != bound {
            self.inputs.assumptions.insert(WRAPS.to_owned());
        }
        Some(match (relation, first) {
            (Relation::Equal, _) => Condition::zero(input.minus(other)?),
            (_, true) => Condition::at_least_zero(less.minus(&input)?),
            (_, false) => {
                Condition::at_least_zero(input.minus(other)?.minus(&Number::constant(1))?)
            }
        })
    }

    /// `max(0, term)` for a term of the launch: in terms of the bounds of other loops, or as an
    /// input of its own.
    pub(super) fn above_0(&mut self, term: TermId) -> Number {
        if let Some(known) = self.inputs.clipped.get(&term) {
            return known.clone();
        }
        // The result is kept for other places, where conditions of this one may not hold.
        let here = (
            std::mem::take(&mut self.facts),
            std::mem::take(&mut self.held),
            std::mem::take(&mut self.began),
        );
        let number = match self.shared(term) {
            Some(shared) => shared,
            None => self.greater_input(term),
        };
        (self.facts, self.held, self.began) = here;
        self.inputs.clipped.insert(term, number.clone());
        number
    }

    fn greater_input(&mut self, term: TermId) -> Number {
        let width = self.arena.terms.width_of(term);
        let zero = self.arena.terms.constant(0, width);
        let below = self
            .arena
            .terms
            .relation(Relation::LessSigned, &term, &zero);
        let clipped = self.arena.terms.select(&below, &zero, &term);
        self.input_within(clipped, (0, MOST))
    }

    /// Writes a term of the launch as `base - less`, if a loop runs up to one of the values near
    /// it. The base is the greatest of these that is compared, so that one input expresses all of
    /// them.
    pub(super) fn base(&mut self, term: TermId) -> Option<(TermId, i128)> {
        if !is_launch(term, &self.arena.terms) {
            return None;
        }
        let width = self.arena.terms.width_of(term);
        let near: Vec<TermId> = self
            .inputs
            .bounds
            .union(&self.inputs.compared)
            .copied()
            .collect();
        let mut best: Option<(i128, TermId)> = None;
        let mut is_bound = false;
        for other in near {
            if self.arena.terms.width_of(other) != width || !is_launch(other, &self.arena.terms) {
                continue;
            }
            let more = self.arena.terms.difference(other, term);
            let Some(more) = self.arena.terms.value(more) else {
                continue;
            };
            let more = Word::new(more, width).signed();
            if more.abs() > NEAR {
                continue;
            }
            is_bound |= self.inputs.bounds.contains(&other);
            best = best.max(Some((more, other)));
        }
        let (less, base) = best.filter(|(less, _)| is_bound && *less >= 0)?;
        Some((base, less))
    }
}
