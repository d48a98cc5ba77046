//! Exclusive or of a number with a constant, where all bits that the number may have are flipped, or
//! none.
//!
//! ```text
//! full + ((i % 2) << 3 ^ 8)     // the other one of two mbarriers
//! ```
//!
//! Suppose that a number is at least 0, at most `high`, and a multiple of `2^s`. Then it has no bits
//! below `s`, and none from `t` on, where `2^t > high`. If the constant has all bits from `s` to
//! `t - 1`, each bit that the number has is one of the constant, so the subtraction of the number
//! from the constant borrows nothing, and clears these bits. If the constant has none of them, the
//! addition carries nothing.

use super::Lowerer;
use super::toggles::unreduced;
use crate::meaning::Binary;
use crate::meaning::Word;
use crate::recover::number::Number;
use crate::recover::term::Node;
use crate::recover::term::TermId;

impl Lowerer<'_> {
    pub(super) fn flipped(&mut self, term: TermId) -> Option<Number> {
        let Node::Binary(Binary::Xor, a, b) = *self.arena.terms.node(term) else {
            return None;
        };
        let terms = &self.arena.terms;
        let (other, mask) = match (terms.value(a), terms.value(b)) {
            (Some(mask), None) => (b, mask),
            (None, Some(mask)) => (a, mask),
            _ => return None,
        };
        // The sign is not flipped.
        let mask = Word::new(mask, terms.width_of(term)).signed();
        if mask < 0 {
            return None;
        }
        let number = self.number(other)?;
        let (0.., high) = self.range(&number)? else {
            return None;
        };
        let end = u128::try_from(high).ok()?.checked_add(1)?;
        let end = i128::try_from(end.checked_next_power_of_two()?).ok()?;
        let mut factors = number.parts.values().chain([&number.constant]);
        let low = factors.try_fold(end, |low, factor| match factor {
            0 => Some(low),
            _ => Some(low.min(1_i128.checked_shl(factor.trailing_zeros())?)),
        })?;
        let may_have = end - low;
        if mask & may_have == 0 {
            return number.plus(&Number::constant(mask));
        }
        if mask & may_have != may_have {
            return None;
        }
        if may_have == low {
            // A single bit, of which the parity is the better known form.
            let bit = unreduced(number.divided(low)?);
            let bit = bit.plus(&Number::constant(1))?.remainder(2)?;
            return bit.times(low)?.plus(&Number::constant(mask - low));
        }
        Number::constant(mask).minus(&number)
    }
}
