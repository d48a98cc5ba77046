//! Numbers that the launch and the numbers of rounds of loops fix, as values of functions ([`crate::recover::applied`]).
//!
//! In a round `i` of a loop, a register that each round moves by a step of the launch has the value
//! `first + i * step`, by induction over the rounds. Both are taken modulo `2^w`, as the kernel does. So a term over such
//! registers of the loops around it, and over words of the launch, is a function of the numbers of these rounds. The
//! function is the term with `first + coordinate * step` in place of each register.
//!
//! - Only loops around this point count. A register of another loop has the value of that loop's last round.
//! - Registers that move in any other way are refused, as is what is read from memory.
//! - A value has to lie in `0..=most`. The bounds follow from the term, if words of the launch are sizes; they are
//!   printed.
//! - What a division by 0 gives is unspecified, and may differ between two warps. It is assumed that there is none.

use super::Inputs;
use super::Lowerer;
use super::MOST;
use super::launch_intervals::spread;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::applied::Applied;
use crate::recover::applied::Function;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::COORDINATE_BITS;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;

const DIVIDED: &str = "no round of a loop divides by 0";

/// How many registers of loops a number may depend on, and how many loops.
const MOST_REGISTERS: usize = 32;
const MOST_COORDINATES: usize = 3;

impl Inputs {
    /// The number of the function that a term is.
    fn function(&mut self, term: TermId, most: i128, of: &str) -> u32 {
        let known = self.functions.iter().position(|one| one.term == term);
        let at = known.unwrap_or_else(|| {
            // Its bounds may have decided something even where it does not occur in the text.
            self.assumptions.insert(format!(
                "a number that rounds of loops compute from {of} lies in 0..={most}"
            ));
            let of = of.to_owned();
            self.functions.push(Function { term, most, of });
            self.functions.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

impl Lowerer<'_> {
    /// A term as the value of a function, if it is not negative here.
    pub(super) fn by_rounds(&mut self, term: TermId) -> Option<Number> {
        let (function, rounds) = self.function_of_rounds(term)?;
        if let Some(number) = self.applied(function, &rounds) {
            return Some(number);
        }
        // Where `max(0, x)` is above 0, `x` is equal to it.
        let clipped = self.above_0_by_rounds(term)?;
        let less = clipped.minus(&Number::constant(1))?;
        self.is_natural(&less).then_some(clipped)
    }

    /// `max(0, term)` over values of functions.
    ///
    /// The least of two numbers is cut off at 0 where both are, and so is the greatest. So all numbers that are computed
    /// from one bound are computed from one function.
    pub(super) fn above_0_by_rounds(&mut self, term: TermId) -> Option<Number> {
        if let Some((least, a, b)) = self.extreme(term) {
            let [a, b] = [a, b].map(|side| match self.natural(side) {
                Some(number) => Some(number),
                None => self.above_0_by_rounds(side),
            });
            return Some(match least {
                true => Number::minimum(a?, b?),
                false => Number::maximum(a?, b?),
            });
        }
        let (function, rounds) = self.function_of_rounds(term)?;
        let terms = &mut self.arena.terms;
        let zero = terms.constant(0, terms.width_of(function));
        let below = terms.relation(Relation::LessSigned, &function, &zero);
        let clipped = terms.select(&below, &zero, &function);
        self.applied(clipped, &rounds)
    }

    /// `min(a, b)`, or else `max(a, b)`, of signed numbers.
    fn extreme(&self, term: TermId) -> Option<(bool, TermId, TermId)> {
        let terms = &self.arena.terms;
        let Node::Select(condition, a, b) = *terms.node(term) else {
            return None;
        };
        let (then, otherwise, inner) = match *terms.node(condition) {
            Node::Not(inner) => (b, a, inner),
            _ => (a, b, condition),
        };
        // `x < y ? then : otherwise`
        let Node::Relation(Relation::LessSigned, x, y) = *terms.node(inner) else {
            return None;
        };
        match (x, y) {
            _ if (x, y) == (then, otherwise) => Some((true, a, b)),
            _ if (y, x) == (then, otherwise) => Some((false, a, b)),
            _ => None,
        }
    }

    fn applied(&mut self, term: TermId, rounds: &[LoopId]) -> Option<Number> {
        let (least, most) = spread(&self.arena.terms, term);
        if least < 0 {
            return None;
        }
        let most = most.min(MOST);
        let terms = &self.arena.terms;
        let mut divisors = terms.divisors(term).into_iter();
        let divides = divisors.any(|by| terms.value(by).is_none_or(|by| by == 0));
        if divides {
            self.inputs.assumptions.insert(DIVIDED.to_owned());
        }
        let of = self.computed_from(term);
        let function = self.inputs.function(term, most, &of);
        let coordinates = rounds.iter().map(|id| Number::of(Atomic::Index(*id)));
        Some(Number::of(Atomic::Applied(Box::new(Applied {
            function,
            coordinates: coordinates.collect(),
            most,
        }))))
    }

    /// A term over coordinates, and the loops whose rounds these are.
    fn function_of_rounds(&mut self, term: TermId) -> Option<(TermId, Vec<LoopId>)> {
        if !self.arena.rounds || self.arena.terms.width_of(term) == 1 {
            return None;
        }
        let mut rounds = Vec::new();
        let mut opened = term;
        // What a register begins with may be over registers of loops further out.
        for _ in 0..=MOST_REGISTERS {
            let atoms = self.arena.terms.atoms(opened);
            let phis = atoms.iter().filter_map(|atom| match atom {
                Atom::Phi(phi) => Some(*phi),
                _ => None,
            });
            // The innermost first: the order of coordinates does not depend on numbers of registers.
            let Some(phi) = phis.max_by_key(|phi| self.depth(*phi)) else {
                break;
            };
            let in_loop = self.arena.phis.get(phi as usize)?.in_loop;
            self.depth(phi)?;
            let (_, first, step) = self.linear_phi(phi)?;
            if self.arena.terms.value(step) != Some(0) && !rounds.contains(&in_loop) {
                rounds.push(in_loop);
            }
            let at = rounds.iter().position(|id| *id == in_loop).unwrap_or(0);
            let terms = &mut self.arena.terms;
            if terms.value(step) == Some(0) {
                opened =
                    terms.substitute(opened, &|atom| (atom == Atom::Phi(phi)).then_some(first));
                continue;
            }
            let atom = Atom::Coordinate(u32::try_from(at).ok()?);
            let coordinate = terms.atom(atom, COORDINATE_BITS);
            let width = terms.width_of(step);
            if width > COORDINATE_BITS {
                return None;
            }
            let coordinate = terms.extract(&coordinate, 0, width);
            let moved = terms.binary(Binary::Multiply, &coordinate, &step);
            let value = terms.sum(0, &[(first, 1), (moved, 1)], width);
            opened = terms.substitute(opened, &|atom| (atom == Atom::Phi(phi)).then_some(value));
        }
        let fixed = self.arena.terms.atoms(opened).iter().all(|atom| {
            matches!(
                atom,
                Atom::Parameter { .. } | Atom::Special(_) | Atom::Coordinate(_)
            )
        });
        let fixed = fixed && self.arena.terms.memory_in(opened).is_empty();
        let few = !rounds.is_empty() && rounds.len() <= MOST_COORDINATES;
        let bounded = rounds.iter().all(|id| {
            let range = self.range(&Number::of(Atomic::Index(*id)));
            range.is_some_and(|(_, most)| most <= MOST)
        });
        (fixed && few && bounded).then_some((opened, rounds))
    }

    /// How far inside the loop of a register is, if it is one of the loops around.
    fn depth(&self, phi: u32) -> Option<usize> {
        let in_loop = self.arena.phis.get(phi as usize)?.in_loop;
        self.inside.iter().position(|(id, _)| *id == in_loop)
    }
}
