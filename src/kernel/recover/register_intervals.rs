//! Ranges of registers, derived from the operations that compute them.

use crate::ir::Compute;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Special;
use crate::meaning::Word;
use crate::recover::addresses::Addresses;

/// How many operations a number is followed back.
const MOST_STEPS: u32 = 24;

/// The largest value of a parameter of 32 bits, and of a number of the launch, if it is taken for a
/// size.
const SIZE: i128 = (1 << 30) - 1;

/// The same for a parameter of 64 bits, which may be an address or a number.
const WIDE: i128 = 1 << 62;

type Range = (i128, i128);

/// The range of an operand, read as signed, with both ends included. A register that is assigned in
/// several places may be any number of its width.
///
/// `sizes`: whether numbers that the launch gives are taken for sizes. Otherwise they may be any
/// numbers.
pub fn interval(addresses: &Addresses<'_>, operand: Operand, width: u16, sizes: bool) -> Range {
    Extents { addresses, sizes }.of(operand, width, MOST_STEPS)
}

struct Extents<'k> {
    addresses: &'k Addresses<'k>,
    sizes: bool,
}

/// All numbers of a width, with a sign.
fn all(width: u16) -> Range {
    let half = 1_i128 << width.clamp(1, 100).saturating_sub(1);
    (-half, half - 1)
}

fn positive(width: u16) -> Range {
    (0, (1_i128 << width.min(100)) - 1)
}

/// A range, if it fits a width. Otherwise all numbers of the width, because the result may wrap
/// around.
fn within(range: Option<Range>, width: u16) -> Range {
    let all = all(width);
    match range {
        Some((low, high)) if low >= all.0 && high <= all.1 => (low, high),
        _ => all,
    }
}

/// The range of an operation that is monotone in each of its operands.
fn corners(a: Range, b: Range, with: fn(i128, i128) -> Option<i128>) -> Option<Range> {
    let mut results = Vec::with_capacity(4);
    for x in [a.0, a.1] {
        for y in [b.0, b.1] {
            results.push(with(x, y)?);
        }
    }
    Some((*results.iter().min()?, *results.iter().max()?))
}

impl Extents<'_> {
    fn of(&self, operand: Operand, width: u16, steps: u32) -> Range {
        if let Operand::Constant(bits) = operand {
            let number = Word::new(bits, width).signed();
            return (number, number);
        }
        let (Some(kind), Some(steps)) = (self.addresses.definition(operand), steps.checked_sub(1))
        else {
            return all(width);
        };
        match kind {
            // Clocks and masks of lanes take every number of their width.
            OperationKind::Special {
                special:
                    Special::Clock
                    | Special::Other
                    | Special::LaneMaskEqual
                    | Special::LaneMaskLess
                    | Special::LaneMaskLessEqual
                    | Special::LaneMaskGreater
                    | Special::LaneMaskGreaterEqual,
                ..
            } => all(width),
            // A grid has less than 2^31 CTAs along an axis.
            OperationKind::Special { .. } if !self.sizes => within(Some((0, 2 * SIZE + 1)), width),
            OperationKind::Special { .. } => within(Some((0, SIZE)), width),
            OperationKind::Load {
                space,
                width: read,
                signed,
                ..
            } => {
                let range = match (space, read) {
                    (Space::Parameter, 32) if self.sizes => (0, SIZE),
                    (Space::Parameter, 64) if self.sizes => (0, WIDE),
                    (Space::Parameter, 32 | 64) => all(*read),
                    _ if *signed => all(*read),
                    _ => positive(*read),
                };
                within(Some(range), width)
            }
            OperationKind::Compute {
                compute,
                width: own,
                operands,
                ..
            } => within(self.computed(compute, *own, operands, steps), width),
            _ => all(width),
        }
    }

    /// The range of an operand, read as unsigned.
    fn natural(&self, operand: Operand, width: u16, steps: u32) -> Range {
        match self.of(operand, width, steps) {
            (low, high) if low >= 0 => (low, high),
            _ => positive(width),
        }
    }

    fn computed(
        &self,
        compute: &Compute,
        width: u16,
        operands: &[Operand],
        steps: u32,
    ) -> Option<Range> {
        let of = |operand: &Operand| self.of(*operand, width, steps);
        let read = |operand: &Operand, signed: bool| match signed {
            true => self.of(*operand, width, steps),
            false => self.natural(*operand, width, steps),
        };
        match (compute, operands) {
            (Compute::Copy, [a]) => Some(of(a)),
            (Compute::Convert { to, signed }, [a]) => Some(match to > &width {
                true => read(a, *signed),
                false => of(a),
            }),
            (Compute::Negate, [a]) => {
                let (low, high) = of(a);
                Some((high.checked_neg()?, low.checked_neg()?))
            }
            (Compute::Add, [a, b]) => corners(of(a), of(b), i128::checked_add),
            (Compute::Subtract, [a, b]) => corners(of(a), of(b), i128::checked_sub),
            (Compute::Multiply, [a, b]) => corners(of(a), of(b), i128::checked_mul),
            (Compute::MultiplyWide { signed }, [a, b]) => {
                corners(read(a, *signed), read(b, *signed), i128::checked_mul)
            }
            (Compute::MultiplyHigh { signed }, [a, b]) => {
                let (low, high) = corners(read(a, *signed), read(b, *signed), i128::checked_mul)?;
                Some((low >> width.min(100), high >> width.min(100)))
            }
            (Compute::Divide { signed }, [a, Operand::Constant(by)]) => {
                let by = Word::new(*by, width).signed();
                let (low, high) = read(a, *signed);
                (by > 0).then(|| (low / by, high / by))
            }
            (Compute::Remainder { signed }, [a, Operand::Constant(by)]) => {
                let by = Word::new(*by, width).signed();
                let low = if *signed && of(a).0 < 0 { 1 - by } else { 0 };
                (by > 0).then_some((low, by - 1))
            }
            (Compute::And, [a, b]) => {
                let highs = [of(a), of(b)].into_iter().filter(|range| range.0 >= 0);
                Some((0, highs.map(|range| range.1).min()?))
            }
            (Compute::Or | Compute::Xor, [a, b]) => {
                let (a, b) = (of(a), of(b));
                let bits = 128 - a.1.max(b.1).leading_zeros();
                (a.0 >= 0 && b.0 >= 0).then(|| (0, (1_i128 << bits.min(126)) - 1))
            }
            (Compute::ShiftRight { signed }, [a, Operand::Constant(by)]) => {
                let (low, high) = read(a, *signed);
                let by = (*by).min(u128::from(width.min(100)));
                Some((low >> by, high >> by))
            }
            (Compute::ShiftLeft, [a, Operand::Constant(by)]) => {
                let by = 1_i128
                    .checked_shl(u32::try_from(*by).ok()?)
                    .filter(|_| *by < 64)?;
                corners(of(a), (by, by), i128::checked_mul)
            }
            (Compute::Minimum { signed }, [a, b]) => {
                let (a, b) = (read(a, *signed), read(b, *signed));
                Some((a.0.min(b.0), a.1.min(b.1)))
            }
            (Compute::Maximum { signed }, [a, b]) => {
                let (a, b) = (read(a, *signed), read(b, *signed));
                Some((a.0.max(b.0), a.1.max(b.1)))
            }
            (Compute::Select, [_, a, b]) => {
                let (a, b) = (of(a), of(b));
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            _ => None,
        }
    }
}
