//! The meaning of integer and predicate operations, defined once for every domain of values.
//!
//! [`result_of`] expresses the result of a [`Compute`] by the primitives of a [`Domain`]. These are the primitives of
//! SMT-LIB's theory of bit-vectors, with the same corner cases: division by 0 gives all ones, the remainder by 0 is
//! the dividend, and a shift by the width or more shifts everything out. The interpreter uses it with [`Concrete`]
//! words, and recovery with terms. So both share one definition.
//!
//! Source: PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions", "Comparison and Selection
//! Instructions", "Data Movement and Conversion Instructions".

mod concrete;
mod shuffle;

pub use concrete::Concrete;
pub use concrete::Word;
pub use shuffle::shuffled;

use crate::ir::Compare;
use crate::ir::Compute;

/// Values of fixed width with the operations of SMT-LIB's bit-vectors. Truth is 1 bit.
pub trait Domain {
    type Value: Clone;

    /// A constant: `bits`, cut to `width`.
    fn constant(&mut self, bits: u128, width: u16) -> Self::Value;
    fn width(&self, value: &Self::Value) -> u16;
    /// Both operands have the same width, and the result has it, too.
    fn binary(&mut self, operation: Binary, a: &Self::Value, b: &Self::Value) -> Self::Value;
    fn not(&mut self, a: &Self::Value) -> Self::Value;
    /// The result has 1 bit. The operands have the same width.
    fn relation(&mut self, relation: Relation, a: &Self::Value, b: &Self::Value) -> Self::Value;
    /// `condition` has 1 bit. The other operands have the same width.
    fn select(
        &mut self,
        condition: &Self::Value,
        then: &Self::Value,
        otherwise: &Self::Value,
    ) -> Self::Value;
    /// Extends a value to at least as many bits.
    fn extend(&mut self, a: &Self::Value, width: u16, signed: bool) -> Self::Value;
    /// The `width` bits from bit `low` on.
    fn extract(&mut self, a: &Self::Value, low: u16, width: u16) -> Self::Value;
    /// The value with `high` above `low`.
    fn concatenate(&mut self, high: &Self::Value, low: &Self::Value) -> Self::Value;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRightLogical,
    ShiftRightArithmetic,
    DivideUnsigned,
    DivideSigned,
    RemainderUnsigned,
    RemainderSigned,
}

impl Binary {
    /// Whether the operands may be exchanged.
    pub fn commutes(self) -> bool {
        matches!(
            self,
            Self::Add | Self::Multiply | Self::And | Self::Or | Self::Xor
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    Equal,
    LessUnsigned,
    LessSigned,
}

/// The widest value that is computed with.
pub const MAX_WIDTH: u16 = 128;

/// The width of the result of `compute` for main operands of `width` bits; `None` if there is no such operation.
pub fn result_width(compute: Compute, width: u16, operands: usize) -> Option<u16> {
    let result = match compute {
        Compute::MultiplyWide { .. } => width.checked_mul(2)?,
        Compute::Compare(_) => 1,
        Compute::Convert { to, .. } | Compute::Extract { to, .. } => to,
        Compute::PopulationCount | Compute::LeadingZeros | Compute::FindHighest { .. } => 32,
        Compute::Concatenate => width.checked_mul(u16::try_from(operands).ok()?)?,
        _ => width,
    };
    (1..=MAX_WIDTH).contains(&result).then_some(result)
}

/// The width in bits of operand `index`.
pub fn operand_width(compute: Compute, width: u16, index: usize) -> u16 {
    match (compute, index) {
        (Compute::Select, 0) => 1,
        (Compute::ShiftLeft | Compute::ShiftRight { .. }, 1)
        | (Compute::ExtractField { .. }, 1 | 2)
        | (Compute::InsertField, 2 | 3)
        | (Compute::FunnelShift { .. } | Compute::Permute, _) => 32,
        _ => width,
    }
}

/// The number of operands of `compute`; `None` if it takes any number.
pub fn operand_count(compute: Compute) -> Option<usize> {
    Some(match compute {
        Compute::Copy
        | Compute::Not
        | Compute::Negate
        | Compute::Absolute
        | Compute::Convert { .. }
        | Compute::Extract { .. }
        | Compute::PopulationCount
        | Compute::LeadingZeros
        | Compute::FindHighest { .. }
        | Compute::Reverse => 1,
        Compute::Select
        | Compute::ExtractField { .. }
        | Compute::Permute
        | Compute::Logic3 { .. }
        | Compute::FunnelShift { .. } => 3,
        Compute::InsertField => 4,
        Compute::Concatenate => return None,
        _ => 2,
    })
}

/// The result of `compute`. `operands` have the widths that [`operand_width`] gives, and `width` is the width of the
/// main operands. `None` if the operation does not exist at this width.
pub fn result_of<D: Domain>(
    domain: &mut D,
    compute: Compute,
    width: u16,
    operands: &[D::Value],
) -> Option<D::Value> {
    result_width(compute, width, operands.len())?;
    if operand_count(compute).is_some_and(|count| count != operands.len()) || operands.is_empty() {
        return None;
    }
    let d = domain;
    let zero = d.constant(0, width);
    Some(match compute {
        Compute::Copy => operands[0].clone(),
        Compute::Add => d.binary(Binary::Add, &operands[0], &operands[1]),
        Compute::Subtract => d.binary(Binary::Subtract, &operands[0], &operands[1]),
        Compute::Multiply => d.binary(Binary::Multiply, &operands[0], &operands[1]),
        Compute::MultiplyHigh { signed } => {
            let product = wide_product(d, width, signed, operands)?;
            d.extract(&product, width, width)
        }
        Compute::MultiplyWide { signed } => wide_product(d, width, signed, operands)?,
        Compute::Divide { signed: false } => {
            d.binary(Binary::DivideUnsigned, &operands[0], &operands[1])
        }
        Compute::Divide { signed: true } => {
            d.binary(Binary::DivideSigned, &operands[0], &operands[1])
        }
        Compute::Remainder { signed: false } => {
            d.binary(Binary::RemainderUnsigned, &operands[0], &operands[1])
        }
        Compute::Remainder { signed: true } => {
            d.binary(Binary::RemainderSigned, &operands[0], &operands[1])
        }
        Compute::And => d.binary(Binary::And, &operands[0], &operands[1]),
        Compute::Or => d.binary(Binary::Or, &operands[0], &operands[1]),
        Compute::Xor => d.binary(Binary::Xor, &operands[0], &operands[1]),
        Compute::Not => d.not(&operands[0]),
        Compute::Negate => d.binary(Binary::Subtract, &zero, &operands[0]),
        Compute::Absolute => {
            let negative = d.relation(Relation::LessSigned, &operands[0], &zero);
            let negated = d.binary(Binary::Subtract, &zero, &operands[0]);
            d.select(&negative, &negated, &operands[0])
        }
        Compute::Minimum { signed } => {
            let less = d.relation(less(signed), &operands[0], &operands[1]);
            d.select(&less, &operands[0], &operands[1])
        }
        Compute::Maximum { signed } => {
            let less = d.relation(less(signed), &operands[0], &operands[1]);
            d.select(&less, &operands[1], &operands[0])
        }
        Compute::ShiftLeft => shift(d, Binary::ShiftLeft, width, &operands[0], &operands[1]),
        Compute::ShiftRight { signed: false } => shift(
            d,
            Binary::ShiftRightLogical,
            width,
            &operands[0],
            &operands[1],
        ),
        Compute::ShiftRight { signed: true } => shift(
            d,
            Binary::ShiftRightArithmetic,
            width,
            &operands[0],
            &operands[1],
        ),
        Compute::Compare(compare) => compared(d, compare, &operands[0], &operands[1]),
        Compute::Select => d.select(&operands[0], &operands[1], &operands[2]),
        Compute::Convert { to, signed } => {
            if to < width {
                d.extract(&operands[0], 0, to)
            } else {
                d.extend(&operands[0], to, signed)
            }
        }
        Compute::ExtractField { signed } => extracted(d, width, signed, operands),
        Compute::InsertField => inserted(d, width, operands),
        Compute::Permute => permuted(d, operands),
        Compute::Logic3 { table } => by_table(d, table, width, operands),
        Compute::FunnelShift { left, wrap } => funnel(d, left, wrap, operands),
        Compute::PopulationCount => {
            let mut sum = d.constant(0, 32);
            for bit in 0..width {
                let bit = d.extract(&operands[0], bit, 1);
                let bit = d.extend(&bit, 32, false);
                sum = d.binary(Binary::Add, &sum, &bit);
            }
            sum
        }
        Compute::LeadingZeros => {
            let mut count = d.constant(u128::from(width), 32);
            for bit in 0..width {
                let set = d.extract(&operands[0], bit, 1);
                let here = d.constant(u128::from(width - 1 - bit), 32);
                count = d.select(&set, &here, &count);
            }
            count
        }
        Compute::FindHighest { signed } => {
            let mut value = operands[0].clone();
            if signed {
                let negative = d.relation(Relation::LessSigned, &value, &zero);
                let inverted = d.not(&value);
                value = d.select(&negative, &inverted, &value);
            }
            let mut place = d.constant(u128::MAX, 32);
            for bit in 0..width {
                let set = d.extract(&value, bit, 1);
                let here = d.constant(u128::from(bit), 32);
                place = d.select(&set, &here, &place);
            }
            place
        }
        Compute::Reverse => {
            let mut result = d.extract(&operands[0], 0, 1);
            for bit in 1..width {
                let bit = d.extract(&operands[0], bit, 1);
                result = d.concatenate(&result, &bit);
            }
            result
        }
        Compute::Concatenate => {
            let mut result = operands[0].clone();
            for part in &operands[1..] {
                result = d.concatenate(part, &result);
            }
            result
        }
        Compute::Extract { low, to } => {
            if low.checked_add(to)? > width {
                return None;
            }
            d.extract(&operands[0], low, to)
        }
    })
}

fn less(signed: bool) -> Relation {
    if signed {
        Relation::LessSigned
    } else {
        Relation::LessUnsigned
    }
}

fn compared<D: Domain>(d: &mut D, compare: Compare, a: &D::Value, b: &D::Value) -> D::Value {
    match compare {
        Compare::Equal => d.relation(Relation::Equal, a, b),
        Compare::NotEqual => {
            let equal = d.relation(Relation::Equal, a, b);
            d.not(&equal)
        }
        Compare::Less { signed } => d.relation(less(signed), a, b),
        Compare::Greater { signed } => d.relation(less(signed), b, a),
        Compare::LessEqual { signed } => {
            let greater = d.relation(less(signed), b, a);
            d.not(&greater)
        }
        Compare::GreaterEqual { signed } => {
            let less = d.relation(less(signed), a, b);
            d.not(&less)
        }
    }
}

fn wide_product<D: Domain>(
    d: &mut D,
    width: u16,
    signed: bool,
    operands: &[D::Value],
) -> Option<D::Value> {
    let wide = width.checked_mul(2).filter(|wide| *wide <= MAX_WIDTH)?;
    let a = d.extend(&operands[0], wide, signed);
    let b = d.extend(&operands[1], wide, signed);
    Some(d.binary(Binary::Multiply, &a, &b))
}

/// A shift by a 32-bit amount. An amount above the width counts as the width, even if it does not fit into `width`
/// bits.
fn shift<D: Domain>(
    d: &mut D,
    operation: Binary,
    width: u16,
    value: &D::Value,
    amount: &D::Value,
) -> D::Value {
    if width >= 32 {
        let amount = d.extend(amount, width, false);
        return d.binary(operation, value, &amount);
    }
    let limit = d.constant(u128::from(width), 32);
    let within = d.relation(Relation::LessUnsigned, amount, &limit);
    let amount = d.select(&within, amount, &limit);
    let wide = d.extend(value, 32, operation == Binary::ShiftRightArithmetic);
    let shifted = d.binary(operation, &wide, &amount);
    d.extract(&shifted, 0, width)
}

fn low_byte<D: Domain>(d: &mut D, value: &D::Value) -> D::Value {
    let byte = d.extract(value, 0, 8);
    d.extend(&byte, 32, false)
}

fn extracted<D: Domain>(d: &mut D, width: u16, signed: bool, operands: &[D::Value]) -> D::Value {
    let position = low_byte(d, &operands[1]);
    let length = low_byte(d, &operands[2]);
    let shifted = shift(d, Binary::ShiftRightLogical, width, &operands[0], &position);
    let one = d.constant(1, width);
    let zero = d.constant(0, width);
    let power = shift(d, Binary::ShiftLeft, width, &one, &length);
    let mask = d.binary(Binary::Subtract, &power, &one);
    let field = d.binary(Binary::And, &shifted, &mask);
    if !signed {
        return field;
    }
    // The sign is the bit at min(position + length - 1, width - 1), and 0 for an empty field.
    let one_32 = d.constant(1, 32);
    let last = d.constant(u128::from(width - 1), 32);
    let end = d.binary(Binary::Add, &position, &length);
    let top = d.binary(Binary::Subtract, &end, &one_32);
    let beyond = d.relation(Relation::LessUnsigned, &last, &top);
    let top = d.select(&beyond, &last, &top);
    let sign = shift(d, Binary::ShiftRightLogical, width, &operands[0], &top);
    let sign = d.extract(&sign, 0, 1);
    let zero_32 = d.constant(0, 32);
    let empty = d.relation(Relation::Equal, &length, &zero_32);
    let false_ = d.constant(0, 1);
    let sign = d.select(&empty, &false_, &sign);
    // Bits of the field beyond the width, and bits above the field, are the sign.
    let available = {
        let width_32 = d.constant(u128::from(width), 32);
        let room = d.binary(Binary::Subtract, &width_32, &position);
        let outside = d.relation(Relation::LessUnsigned, &width_32, &position);
        let room = d.select(&outside, &zero_32, &room);
        let fits = d.relation(Relation::LessUnsigned, &length, &room);
        d.select(&fits, &length, &room)
    };
    let power = shift(d, Binary::ShiftLeft, width, &one, &available);
    let low = d.binary(Binary::Subtract, &power, &one);
    let high = d.not(&low);
    let high = d.select(&sign, &high, &zero);
    let field = d.binary(Binary::And, &shifted, &low);
    d.binary(Binary::Or, &field, &high)
}

fn inserted<D: Domain>(d: &mut D, width: u16, operands: &[D::Value]) -> D::Value {
    let position = low_byte(d, &operands[2]);
    let length = low_byte(d, &operands[3]);
    let one = d.constant(1, width);
    let power = shift(d, Binary::ShiftLeft, width, &one, &length);
    let mask = d.binary(Binary::Subtract, &power, &one);
    let mask = shift(d, Binary::ShiftLeft, width, &mask, &position);
    let field = shift(d, Binary::ShiftLeft, width, &operands[0], &position);
    let field = d.binary(Binary::And, &field, &mask);
    let others = d.not(&mask);
    let base = d.binary(Binary::And, &operands[1], &others);
    d.binary(Binary::Or, &field, &base)
}

fn permuted<D: Domain>(d: &mut D, operands: &[D::Value]) -> D::Value {
    let pair = d.concatenate(&operands[1], &operands[0]);
    let mut result: Option<D::Value> = None;
    for byte in 0..4 {
        let selector = d.extract(&operands[2], 4 * byte, 3);
        let selector = d.extend(&selector, 64, false);
        let eight = d.constant(8, 64);
        let amount = d.binary(Binary::Multiply, &selector, &eight);
        let shifted = d.binary(Binary::ShiftRightLogical, &pair, &amount);
        let value = d.extract(&shifted, 0, 8);
        let sign = d.extract(&value, 7, 1);
        let sign = d.extend(&sign, 8, true);
        let replicate = d.extract(&operands[2], 4 * byte + 3, 1);
        let value = d.select(&replicate, &sign, &value);
        result = Some(match result {
            None => value,
            Some(low) => d.concatenate(&value, &low),
        });
    }
    result.unwrap_or_else(|| d.constant(0, 32))
}

fn by_table<D: Domain>(d: &mut D, table: u8, width: u16, operands: &[D::Value]) -> D::Value {
    let mut result = d.constant(0, width);
    for row in 0..8_u8 {
        if table >> row & 1 == 0 {
            continue;
        }
        let mut all = d.constant(u128::MAX, width);
        for (operand, bit) in operands.iter().zip([4, 2, 1]) {
            let operand = if row & bit != 0 {
                operand.clone()
            } else {
                d.not(operand)
            };
            all = d.binary(Binary::And, &all, &operand);
        }
        result = d.binary(Binary::Or, &result, &all);
    }
    result
}

fn funnel<D: Domain>(d: &mut D, left: bool, wrap: bool, operands: &[D::Value]) -> D::Value {
    let pair = d.concatenate(&operands[1], &operands[0]);
    let amount = if wrap {
        let mask = d.constant(31, 32);
        d.binary(Binary::And, &operands[2], &mask)
    } else {
        let limit = d.constant(32, 32);
        let within = d.relation(Relation::LessUnsigned, &operands[2], &limit);
        d.select(&within, &operands[2], &limit)
    };
    let amount = d.extend(&amount, 64, false);
    if left {
        let shifted = d.binary(Binary::ShiftLeft, &pair, &amount);
        d.extract(&shifted, 32, 32)
    } else {
        let shifted = d.binary(Binary::ShiftRightLogical, &pair, &amount);
        d.extract(&shifted, 0, 32)
    }
}
