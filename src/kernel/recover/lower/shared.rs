//! Bounds of loops in terms of the bounds of other loops.
//!
//! For example, one warp runs `x` iterations. Another warp runs as many in two loops, one without a
//! mask and one with it: `x - y` iterations, and then `min(x, y)`. If each of the three trip counts
//! were an input of its own, the text would not show that the latter two add up to the first. Let
//! `X = max(0, x)` and `Z = max(0, z)`, and let `y` be at least 0. For any integer `x`:
//!
//! - `max(0, x - y)` is `max(0, X - y)`: if `x` is negative, both are 0;
//! - `max(0, min(x, z))` is `min(X, Z)`, and the same holds for `max(x, z)`.
//!
//! A difference of terms is one of integers only if neither wraps around. That has to follow from
//! the ranges of its parts.

use super::Lowerer;
use super::launch_intervals::is_exact;
use super::launch_intervals::least;
use super::number::SIZES;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::launch::is_launch;
use crate::recover::number::Number;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// How many nested choices and differences are examined.
const DEPTH: u32 = 6;

/// How the launch computes a value from two others.
enum Of {
    Lesser(TermId, TermId),
    Greater(TermId, TermId),
    /// The second one is at least 0, and the first one minus the second one does not wrap around.
    Difference(TermId, TermId),
}

impl Lowerer<'_> {
    /// `max(0, term)` as a number over the bounds of other loops, if the term is made of these.
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
                // Products are assumed to be sizes, which gives their ranges.
                self.inputs.assumptions.insert(SIZES.to_owned());
                Some(Number::maximum(Number::constant(0), a.minus(&b)?))
            }
        }
    }

    /// `max(0, a)` and `max(0, b)`, if one of the two is the bound of another loop.
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

    /// `max(0, term)`, if the term is the bound of another loop, or is made of such.
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
        // A value near it is compared.
        let exact = is_exact(&self.arena.terms, term) && is_exact(&self.arena.terms, base);
        let base = exact.then(|| self.above_0(base))?;
        // Products are assumed to be sizes, which gives their ranges.
        self.inputs.assumptions.insert(SIZES.to_owned());
        let number = base.minus(&Number::constant(less))?;
        Some(Number::maximum(Number::constant(0), number))
    }

    /// How a term of the launch is made of others.
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
