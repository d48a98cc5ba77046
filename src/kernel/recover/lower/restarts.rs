//! Registers that count up to a value of the launch and begin again at 0:
//! `k = k == M - 1 ? 0 : k + 1`. With such a register, compilers make one loop of two nested ones.
//!
//! Let `X` be a value of the launch that is at least 0, here `M - 1`. Suppose that the register is
//! 0 in the first iteration, goes from `X` to 0, and from each value of `0..X` to the next one.
//! Then it is `i % (X + 1)` in iteration `i`. By induction it lies in `0..=X`, so nothing wraps
//! around.
//!
//! If the first value is the one after some steps from 0, the register is that many steps ahead. A
//! register whose value is that of such a register in the iteration before is one step behind it.

use super::Lowerer;
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
use crate::recover::tree::Phi;

/// How many steps a register may be ahead at first.
const MOST_AHEAD: i128 = 8;

/// How many conditions are split where two terms are compared.
const MOST_CONDITIONS: usize = 8;

impl Lowerer<'_> {
    /// The value of a register that begins again at 0, in each iteration of its loop.
    pub(super) fn restarting(&mut self, phi: u32) -> Option<Number> {
        let Phi {
            in_loop,
            first,
            next,
        } = self.arena.phis[phi as usize].clone();
        let width = self.arena.terms.width_of(first);
        let own = self.arena.terms.atom(Atom::Phi(phi), width);
        let Node::Select(condition, a, b) = *self.arena.terms.node(next) else {
            return None;
        };
        let zero = self.arena.terms.constant(0, width);
        let up = self.arena.terms.sum(1, &[(own, 1)], width);
        let (condition, restarts) = match *self.arena.terms.node(condition) {
            Node::Not(inner) => (inner, false),
            _ => (condition, true),
        };
        let restarts = match (a == zero && b == up, a == up && b == zero) {
            (true, _) => restarts,
            (_, true) => !restarts,
            _ => return None,
        };
        let last = self.last_before(condition, own, restarts)?;
        let ahead = self.steps_ahead(first, next, phi, zero)?;
        let modulus = last.plus(&Number::constant(1))?;
        Number::of(Atomic::Index(in_loop))
            .plus(&Number::constant(ahead))?
            .modulo(&modulus)
    }

    /// The number `X`, at least 0, such that a condition over the register holds at `X` and at no
    /// value of `0..X`, or fails only there.
    fn last_before(&mut self, condition: TermId, own: TermId, holds: bool) -> Option<Number> {
        let Node::Relation(relation, a, b) = *self.arena.terms.node(condition) else {
            return None;
        };
        let width = self.arena.terms.width_of(a);
        if width != self.arena.terms.width_of(own) {
            return None;
        }
        let last = match relation {
            Relation::Equal if holds => {
                // `own == own - a + b`, whatever wraps around there.
                let (a, b) = if self.mentions(a, own) {
                    (a, b)
                } else {
                    (b, a)
                };
                let ahead = self.arena.terms.difference(a, own);
                let last = self.arena.terms.difference(b, ahead);
                is_launch(last, &self.arena.terms).then_some(())?;
                self.number(last)?
            }
            Relation::Equal => return None,
            Relation::LessSigned | Relation::LessUnsigned => {
                let upper = self.mentions(a, own);
                let (counting, bound) = if upper { (a, b) } else { (b, a) };
                // `own + c < bound` fails at the last one, or `bound < own + c` holds there.
                if upper == holds || !is_launch(bound, &self.arena.terms) {
                    return None;
                }
                let ahead = self.arena.terms.difference(counting, own);
                let ahead = Word::new(self.arena.terms.value(ahead)?, width).signed();
                let bound = self.number(bound)?;
                // Below 2^30 nothing wraps around, and no sign is lost.
                if !(0..=MOST_AHEAD).contains(&ahead) || !self.is_natural(&bound) {
                    return None;
                }
                let last = bound.minus(&Number::constant(ahead))?;
                if upper {
                    last
                } else {
                    last.plus(&Number::constant(1))?
                }
            }
        };
        let next = last.plus(&Number::constant(MOST_AHEAD + 1))?;
        (self.is_natural(&last) && self.fits(&next, width)).then_some(last)
    }

    /// After how many steps from 0 a register has its first value.
    fn steps_ahead(&mut self, first: TermId, next: TermId, phi: u32, zero: TermId) -> Option<i128> {
        let mut value = zero;
        for ahead in 0..=MOST_AHEAD {
            if self.agree(first, value, &mut Vec::new()) {
                return Some(ahead);
            }
            let at = |atom: Atom| (atom == Atom::Phi(phi)).then_some(value);
            value = self.arena.terms.substitute(next, &at);
        }
        None
    }

    /// Whether two terms are equal, whatever the outcomes of the conditions in them.
    fn agree(&mut self, a: TermId, b: TermId, decided: &mut Vec<(TermId, bool)>) -> bool {
        let [a, b] = [a, b].map(|term| self.decided(term, decided));
        if a == b {
            return true;
        }
        let terms = &self.arena.terms;
        let conditions = terms.parts(a).into_iter().chain(terms.parts(b));
        let relations: Vec<TermId> = conditions
            .filter(|part| matches!(terms.node(*part), Node::Relation(..)))
            .collect();
        // The innermost first, because others may contain it.
        let inner = relations.iter().copied().find(|one| {
            let parts = terms.parts(*one);
            !parts
                .iter()
                .any(|part| part != one && relations.contains(part))
        });
        let Some(relation) = inner.filter(|_| decided.len() < MOST_CONDITIONS) else {
            return false;
        };
        let condition = self.condition(relation);
        let known = condition.as_ref().and_then(|holds| self.known(holds));
        [true, false].into_iter().all(|truth| {
            if known == Some(!truth) {
                return true;
            }
            let (term, holds) = if truth {
                (relation, condition.clone())
            } else {
                let not = self.arena.terms.not(&relation);
                (not, condition.clone().and_then(Condition::negated))
            };
            decided.push((relation, truth));
            let agree = self.under(term, holds.as_ref(), |it| it.agree(a, b, decided));
            decided.pop();
            agree
        })
    }

    /// A term in which the outcomes of conditions are put in.
    fn decided(&mut self, term: TermId, conditions: &[(TermId, bool)]) -> TermId {
        let mut result = term;
        loop {
            let before = result;
            for (condition, truth) in conditions {
                let truth = self.arena.terms.constant(u128::from(*truth), 1);
                result = self.arena.terms.replaced(result, *condition, truth);
            }
            if result == before {
                return result;
            }
        }
    }

    /// The value of a register that takes over the value of another one from an iteration before.
    /// That other one is known.
    pub(super) fn delayed(&mut self, phi: u32) -> Option<Number> {
        let Phi { in_loop, first, .. } = self.arena.phis[phi as usize].clone();
        let number = self.indexed.get(&self.taken_over(phi)?)?;
        let (Some((Atomic::Modulo(inner, modulus), 1)), 0) =
            (number.parts.first_key_value(), number.constant)
        else {
            return None;
        };
        let before = inner.minus(&Number::of(Atomic::Index(in_loop)))?;
        let (before, modulus) = (before.as_constant()? - 1, modulus.clone());
        // The register that restarts, at the end of the chain.
        let mut root = phi;
        for _ in 0..=MOST_AHEAD {
            root = self.taken_over(root).unwrap_or(root);
        }
        let width = self.arena.terms.width_of(first);
        let mut value = self.arena.terms.constant(0, width);
        let next = self.arena.phis[root as usize].next;
        for _ in 0..before {
            let at = |atom: Atom| (atom == Atom::Phi(root)).then_some(value);
            value = self.arena.terms.substitute(next, &at);
        }
        if before < 0 || !self.agree(first, value, &mut Vec::new()) {
            return None;
        }
        let now = Number::of(Atomic::Index(in_loop)).plus(&Number::constant(before))?;
        now.modulo(&modulus)
    }

    /// The other register of the same loop whose value this one gets at the end of an iteration.
    fn taken_over(&self, phi: u32) -> Option<u32> {
        let Phi { in_loop, next, .. } = &self.arena.phis[phi as usize];
        let Node::Atom(Atom::Phi(other)) = *self.arena.terms.node(*next) else {
            return None;
        };
        let same = self.arena.phis[other as usize].in_loop == *in_loop;
        (same && other != phi).then_some(other)
    }

    /// Whether all divisors of a number are known to be positive here.
    pub(super) fn has_divisors(&self, number: &Number) -> bool {
        !number.mentions(&|atomic| match atomic {
            Atomic::Modulo(_, divisor) => divisor
                .minus(&Number::constant(1))
                .is_none_or(|less| !self.is_natural(&less)),
            _ => false,
        })
    }

    fn mentions(&self, term: TermId, own: TermId) -> bool {
        let Node::Atom(own) = self.arena.terms.node(own) else {
            return false;
        };
        self.arena.terms.atoms(term).contains(own)
    }
}
