//! The next CTA of a grid, where the first follows the last: `i + 1 == n ? 0 : i + 1`.
//!
//! The index `i` of a CTA is less than the number `n` of CTAs along its axis. So this is
//! `(i + 1) % n`: either `i + 1` is less than `n`, or it is `n`. The previous CTA,
//! `i == 0 ? n - 1 : i - 1`, is `(i + n - 1) % n` for the same reason. `n` is at least 1.

use super::Lowerer;
use crate::ir::Special;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// The width in bits of what the grid says.
const WIDTH: u16 = 32;

impl Lowerer<'_> {
    /// A choice that is the next or previous CTA: its values if a condition holds and if it fails.
    pub(super) fn beside(
        &mut self,
        condition: &Condition,
        holds: &Number,
        fails: &Number,
        axis: u8,
    ) -> Option<Number> {
        let index = self.of_grid(Special::CtaIndex(axis))?;
        let count = self.of_grid(Special::GridCtas(axis))?;
        let (number, at, elsewhere) = match condition {
            Condition::Zero(number) => (number, holds, fails),
            Condition::NotZero(number) => (number, fails, holds),
            _ => return None,
        };
        let one = Number::constant(1);
        let is_zero_of = |other: &Number| {
            *number == *other || number.times(-1).is_some_and(|negated| negated == *other)
        };
        let next = index.plus(&one)?;
        let last = count.minus(&one)?;
        if is_zero_of(&next.minus(&count)?) && *at == Number::default() && *elsewhere == next {
            return next.modulo(&count);
        }
        if is_zero_of(&index) && *at == last && *elsewhere == index.minus(&one)? {
            return index.plus(&last)?.modulo(&count);
        }
        None
    }

    /// The remainder by the number of CTAs along an axis.
    pub(super) fn around_grid(&mut self, term: TermId, by: TermId) -> Option<Number> {
        match *self.arena.terms.node(by) {
            Node::Atom(Atom::Special(special @ Special::GridCtas(_))) => {
                let count = self.of_grid(special)?;
                self.natural(term)?.modulo(&count)
            }
            _ => None,
        }
    }

    fn of_grid(&mut self, special: Special) -> Option<Number> {
        let term = self.arena.terms.atom(Atom::Special(special), WIDTH);
        self.number(term)
    }

    /// The axis of the index of the CTA on which a condition depends, if it is one axis.
    pub(super) fn asks_along(&self, condition: TermId) -> Option<u8> {
        let atoms = self.arena.terms.atoms(condition);
        let mut axes = atoms.iter().filter_map(|atom| match atom {
            Atom::Special(Special::CtaIndex(axis)) => Some(*axis),
            _ => None,
        });
        let only = axes.next()?;
        axes.next().is_none().then_some(only)
    }
}
