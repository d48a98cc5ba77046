//! What a loop runs up to, by what other loops run up to.
//!
//! One warp runs `x` rounds. Another one does the same in two loops, as those with a mask and those without: `x - y` rounds and then
//! the lesser of `x` and `y`. If each of the three were an input of its own, that the two add up to the first would be lost. With
//! `X` for the greater of `x` and 0, and `y` at least 0, whatever integer `x` is:
//!
//! - the greater of `x - y` and 0 is that of `X - y` and 0: where `x` is below 0, both are 0;
//! - the greater of the lesser of `x` and `z`, and 0, is the lesser of `X` and `Z`; and the same of the greater of `x` and `z`.
//!
//! A difference of terms is one of integers only where neither wraps around, which has to follow from the ranges of its parts.

use super::Lowerer;
use super::number::SIZES;
use super::spread::is_exact;
use super::spread::least;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::launch::is_launch;
use crate::recover::number::Number;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// How many choices and differences one in the other are looked into.
const DEPTH: u32 = 6;

/// What the launch computes, of two other terms.
enum Of {
    Lesser(TermId, TermId),
    Greater(TermId, TermId),
    /// The second one is at least 0, and the first one less the second one does not wrap around.
    Difference(TermId, TermId),
}

impl Lowerer<'_> {
    /// The greater of a term and 0 as a number over what other loops run up to, if the term is made of such.
    pub(super) fn shared(&mut self, term: TermId) -> Option<Number> {
        self.shared_within(term, DEPTH)
    }

    fn shared_within(&mut self, term: TermId, depth: u32) -> Option<Number> {
        let depth = depth.checked_sub(1)?;
        match self.made_of(term)? {
            Of::Lesser(a, b) => {
                let (a, b) = self.both(a, b, depth)?;
                Some(Number::minimum(a, b))
            }
            Of::Greater(a, b) => {
                let (a, b) = self.both(a, b, depth)?;
                Some(Number::maximum(a, b))
            }
            Of::Difference(a, b) => {
                let a = self.bound(a, depth)?;
                let b = self.natural(b)?;
                // The ranges of products are those of sizes.
                self.inputs.assumptions.insert(SIZES.to_owned());
                Some(Number::maximum(Number::constant(0), a.minus(&b)?))
            }
        }
    }

    /// The greater of either and 0, if one of the two is what another loop runs up to.
    fn both(&mut self, a: TermId, b: TermId, depth: u32) -> Option<(Number, Number)> {
        for (one, other, turned) in [(a, b, false), (b, a, true)] {
            if let Some(bound) = self.bound(one, depth) {
                let other = match self.natural(other) {
                    Some(number) => number,
                    None => self.bound(other, depth)?,
                };
                return Some(match turned {
                    true => (other, bound),
                    false => (bound, other),
                });
            }
        }
        None
    }

    /// The greater of a term and 0, if another loop runs up to the term, or up to what it is made of.
    fn bound(&mut self, term: TermId, depth: u32) -> Option<Number> {
        if let Some(number) = self.shared_within(term, depth) {
            return Some(number);
        }
        if !self.inputs.bounds.contains(&term) {
            return None;
        }
        let (base, less) = self.base(term)?;
        if base == term {
            return Some(self.above_0(term));
        }
        // Near it another one is compared.
        let exact = is_exact(&self.arena.terms, term) && is_exact(&self.arena.terms, base);
        let base = exact.then(|| self.above_0(base))?;
        // The ranges of products are those of sizes.
        self.inputs.assumptions.insert(SIZES.to_owned());
        let number = base.minus(&Number::constant(less))?;
        Some(Number::maximum(Number::constant(0), number))
    }

    /// What a term that the launch computes is made of.
    fn made_of(&mut self, term: TermId) -> Option<Of> {
        if !is_launch(term, &self.arena.terms) {
            return None;
        }
        let width = self.arena.terms.width_of(term);
        match self.arena.terms.node(term).clone() {
            Node::Select(condition, a, b) => {
                let (holds, inner) = match *self.arena.terms.node(condition) {
                    Node::Not(inner) => (false, inner),
                    _ => (true, condition),
                };
                let Node::Relation(Relation::LessSigned, x, y) = *self.arena.terms.node(inner)
                else {
                    return None;
                };
                // `x < y ? less : not`.
                let (less, not) = if holds { (a, b) } else { (b, a) };
                match (less, not) {
                    sides if sides == (x, y) => Some(Of::Lesser(x, y)),
                    sides if sides == (y, x) => Some(Of::Greater(x, y)),
                    _ => None,
                }
            }
            Node::Sum { parts, .. } => {
                let minus = |bits: u128| Word::new(bits, width).signed() == -1;
                let (other, _) = *parts.iter().find(|(part, factor)| {
                    minus(*factor) && least(&self.arena.terms, *part) >= 0
                })?;
                let zero = self.arena.terms.constant(0, width);
                let negated = self.arena.terms.difference(zero, other);
                let rest = self.arena.terms.difference(term, negated);
                let exact = is_exact(&self.arena.terms, term) && is_exact(&self.arena.terms, rest);
                exact.then_some(Of::Difference(rest, other))
            }
            _ => None,
        }
    }
}
