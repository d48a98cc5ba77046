//! Terms with sums that may wrap around. They have a form if only their lowest bits are used, or if inputs are
//! assumed to be so small that nothing wraps around.

use super::Lowerer;
use super::MOST;
use super::phi_values::PhiValue;
use crate::meaning::Binary;
use crate::meaning::Word;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// Inputs that are assumed to be small may still be at least this large.
const LEAST_RANGE: i128 = 1 << 15;

impl Lowerer<'_> {
    /// Assumes that inputs are so small that a sum of multiples of them fits into a width. Their
    /// ranges are printed.
    pub(super) fn narrow(&mut self, number: &Number, width: u16) -> bool {
        let half = 1_i128 << (width - 1).min(100);
        let mut most = Vec::new();
        // For each sign: how large the inputs may be so that the multiples of this sign fit. The
        // other ones do not count against them.
        for sign in [1, -1] {
            let weights = number.parts.values().map(|factor| (factor * sign).max(0));
            let weight: i128 = weights.sum();
            let room = half - 1 - (number.constant * sign).max(0);
            most.push(room.checked_div(weight).unwrap_or(MOST));
        }
        let inputs = number.parts.iter().map(|(atomic, factor)| match atomic {
            Atomic::Input(input) => Some((*input as usize, most[usize::from(*factor < 0)])),
            _ => None,
        });
        let Some(inputs) = inputs.collect::<Option<Vec<_>>>() else {
            return false;
        };
        let natural = |(input, most): &(usize, i128)| {
            self.inputs.all[*input].range.0 >= 0 && *most >= LEAST_RANGE
        };
        if !inputs.iter().all(natural) {
            return false;
        }
        for (input, most) in inputs {
            let (_, high) = &mut self.inputs.all[input].range;
            *high = most.min(*high);
        }
        self.fits(number, width)
    }

    /// An integer that is equal to a term modulo 2^w. Unlike a number it may lie anywhere, so that sums may wrap
    /// around.
    pub(super) fn congruent(&mut self, term: TermId) -> Option<Number> {
        self.number(term).or_else(|| self.around(term))
    }

    /// The same for a term that is no number.
    pub(super) fn around(&mut self, term: TermId) -> Option<Number> {
        match *self.arena.terms.node(term) {
            Node::Atom(Atom::Phi(phi)) => match self.phi_value(phi)? {
                PhiValue::Number(number) => Some(number.clone()),
                PhiValue::State { .. } => None,
            },
            Node::Extract {
                term: inner,
                low: 0,
            } => self.congruent(inner),
            Node::Sum { .. } => {
                let width = self.arena.terms.width_of(term);
                let (constant, parts) = self.arena.terms.linear(term);
                let mut sum = Number::constant(Word::new(constant, width).signed());
                for (part, factor) in parts {
                    let number = self.congruent(part)?;
                    sum = sum.plus(&number.times(Word::new(factor, width).signed())?)?;
                }
                Some(sum)
            }
            _ => None,
        }
    }

    /// The lowest bits of a term that is no number, or of such a term shifted to the right,
    /// whatever the other bits are.
    pub(super) fn lowest_bits(&mut self, term: TermId, mask: i128) -> Option<Number> {
        let around = mask
            .checked_add(1)
            .filter(|around| around.count_ones() == 1)?;
        let (inner, by) = match *self.arena.terms.node(term) {
            Node::Binary(Binary::ShiftRightLogical | Binary::ShiftRightArithmetic, inner, by) => {
                (inner, u32::try_from(self.arena.terms.value(by)?).ok()?)
            }
            _ => (term, 0),
        };
        let bits = by.checked_add(around.trailing_zeros())?;
        if bits > u32::from(self.arena.terms.width_of(inner)) {
            return None;
        }
        let number = match by {
            0 => self.around(inner)?,
            _ => self.congruent(inner)?,
        };
        self.shifted(&number, by)?.remainder(around)
    }

    /// A number without its lowest bits.
    pub(super) fn shifted(&self, number: &Number, by: u32) -> Option<Number> {
        let divisor = 1_i128.checked_shl(by)?;
        match self.is_natural(number) {
            true => self.reciprocal(number, divisor),
            false => number.divided(divisor),
        }
    }
}
