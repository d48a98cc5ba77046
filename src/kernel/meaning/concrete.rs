//! Machine words, the concrete domain. The interpreter uses it.

use super::Binary;
use super::Domain;
use super::Relation;

/// A word of 1 to 128 bits; bits above the width are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word {
    pub bits: u128,
    pub width: u16,
}

impl Word {
    pub fn new(bits: u128, width: u16) -> Self {
        Self {
            bits: bits & mask(width),
            width,
        }
    }

    /// The value as a signed number.
    pub fn signed(self) -> i128 {
        if self.width == 0 || self.width >= 128 {
            return self.bits.cast_signed();
        }
        let shift = 128 - u32::from(self.width);
        (self.bits << shift).cast_signed() >> shift
    }
}

fn mask(width: u16) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

/// The domain of [`Word`]s. It has no state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Concrete;

impl Domain for Concrete {
    type Value = Word;

    fn constant(&mut self, bits: u128, width: u16) -> Word {
        Word::new(bits, width)
    }

    fn width(&self, value: &Word) -> u16 {
        value.width
    }

    fn binary(&mut self, operation: Binary, a: &Word, b: &Word) -> Word {
        let width = a.width;
        let amount = u32::try_from(b.bits)
            .ok()
            .filter(|amount| *amount < u32::from(width));
        let bits = match operation {
            Binary::Add => a.bits.wrapping_add(b.bits),
            Binary::Subtract => a.bits.wrapping_sub(b.bits),
            Binary::Multiply => a.bits.wrapping_mul(b.bits),
            Binary::And => a.bits & b.bits,
            Binary::Or => a.bits | b.bits,
            Binary::Xor => a.bits ^ b.bits,
            Binary::ShiftLeft => amount.map_or(0, |amount| a.bits << amount),
            Binary::ShiftRightLogical => amount.map_or(0, |amount| a.bits >> amount),
            Binary::ShiftRightArithmetic => {
                let amount = amount.unwrap_or(127);
                (a.signed() >> amount).cast_unsigned()
            }
            Binary::DivideUnsigned => a.bits.checked_div(b.bits).unwrap_or(u128::MAX),
            Binary::RemainderUnsigned => a.bits.checked_rem(b.bits).unwrap_or(a.bits),
            // SMT-LIB's bvsdiv: by 0 it is -1 for a dividend from 0 on, and 1 for a negative one.
            Binary::DivideSigned if b.bits == 0 => {
                if a.signed() < 0 {
                    1
                } else {
                    u128::MAX
                }
            }
            Binary::DivideSigned => a.signed().wrapping_div(b.signed()).cast_unsigned(),
            Binary::RemainderSigned if b.bits == 0 => a.bits,
            Binary::RemainderSigned => a.signed().wrapping_rem(b.signed()).cast_unsigned(),
        };
        Word::new(bits, width)
    }

    fn not(&mut self, a: &Word) -> Word {
        Word::new(!a.bits, a.width)
    }

    fn relation(&mut self, relation: Relation, a: &Word, b: &Word) -> Word {
        let holds = match relation {
            Relation::Equal => a.bits == b.bits,
            Relation::LessUnsigned => a.bits < b.bits,
            Relation::LessSigned => a.signed() < b.signed(),
        };
        Word::new(u128::from(holds), 1)
    }

    fn select(&mut self, condition: &Word, then: &Word, otherwise: &Word) -> Word {
        if condition.bits & 1 == 1 {
            *then
        } else {
            *otherwise
        }
    }

    fn extend(&mut self, a: &Word, width: u16, signed: bool) -> Word {
        let bits = if signed {
            a.signed().cast_unsigned()
        } else {
            a.bits
        };
        Word::new(bits, width)
    }

    fn extract(&mut self, a: &Word, low: u16, width: u16) -> Word {
        Word::new(a.bits.checked_shr(u32::from(low)).unwrap_or(0), width)
    }

    fn concatenate(&mut self, high: &Word, low: &Word) -> Word {
        let shifted = high.bits.checked_shl(u32::from(low.width)).unwrap_or(0);
        Word::new(shifted | low.bits, high.width + low.width)
    }
}
