//! Pure operations on the lanes of a warp.
//!
//! [`meaning::result_of`] defines their results. Common operations of at most 64 bits have a fast path, and tests
//! compare it with the definition.

use super::value::LANES;
use super::value::Lanes;
use super::value::Value;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::meaning;
use crate::meaning::Concrete;
use crate::meaning::Word;

/// The result of an operation in the lanes of `active`; other lanes have arbitrary values. `None` if the operation
/// does not exist at this width or with this number of operands.
pub fn compute(compute: Compute, width: u16, operands: &[&Value], active: Lanes) -> Option<Value> {
    let mut uniform = [0_u128; 4];
    if operands.len() <= uniform.len() {
        let mut all = true;
        for (number, operand) in uniform.iter_mut().zip(operands) {
            if let Some(value) = operand.uniform_in(active) {
                *number = value;
            } else {
                all = false;
                break;
            }
        }
        if all {
            return one(compute, width, &uniform[..operands.len()]).map(Value::Uniform);
        }
    }
    if let [a, b] = operands
        && let Some(function) = fast(compute, width)
        && let (Some(a), Some(b)) = (a.narrow(), b.narrow())
    {
        let mut result = [0_u64; LANES];
        for lane in 0..LANES {
            result[lane] = function(a[lane], b[lane], width);
        }
        return Some(Value::from_narrow(result));
    }
    let mut result = [0_u128; LANES];
    let mut numbers: Vec<u128> = Vec::with_capacity(operands.len());
    for (lane, result) in result.iter_mut().enumerate() {
        if active >> lane & 1 == 1 {
            numbers.clear();
            numbers.extend(operands.iter().map(|operand| operand.lane(lane)));
            *result = one(compute, width, &numbers)?;
        }
    }
    Some(Value::from_wide(result))
}

/// The result of an operation on numbers that may be wider than the operation asks for.
pub fn one(compute: Compute, width: u16, operands: &[u128]) -> Option<u128> {
    if let [a, b] = operands
        && let Some(function) = fast(compute, width)
    {
        let cut = |number: u128| u64::try_from(number & u128::from(u64::MAX)).unwrap_or(0);
        return Some(function(cut(*a), cut(*b), width).into());
    }
    if let ([value], Compute::Copy) = (operands, compute)
        && (1..=meaning::MAX_WIDTH).contains(&width)
    {
        return Some(Word::new(*value, width).bits);
    }
    slow(compute, width, operands)
}

/// [`meaning::result_of`] over words.
pub fn slow(compute: Compute, width: u16, operands: &[u128]) -> Option<u128> {
    let words: Vec<Word> = operands
        .iter()
        .enumerate()
        .map(|(index, bits)| Word::new(*bits, meaning::operand_width(compute, width, index)))
        .collect();
    meaning::result_of(&mut Concrete, compute, width, &words).map(|word| word.bits)
}

type Fast = fn(u64, u64, u16) -> u64;

fn cut(value: u64, width: u16) -> u64 {
    if width >= 64 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

fn signed(value: u64, width: u16) -> i64 {
    let shift = 64_u32.saturating_sub(width.into());
    (value << shift).cast_signed() >> shift
}

/// A function of two operands of 1 to 64 bits each. It cuts its operands and its result to their widths.
fn fast(compute: Compute, width: u16) -> Option<Fast> {
    if !(1..=64).contains(&width) {
        return None;
    }
    Some(match compute {
        Compute::Add => |a, b, w| cut(a.wrapping_add(b), w),
        Compute::Subtract => |a, b, w| cut(a.wrapping_sub(b), w),
        Compute::Multiply => |a, b, w| cut(a.wrapping_mul(b), w),
        Compute::MultiplyWide { signed: false } if width <= 32 => {
            |a, b, w| cut(a, w).wrapping_mul(cut(b, w))
        }
        Compute::MultiplyWide { signed: true } if width <= 32 => |a, b, w| {
            let product = signed(a, w).wrapping_mul(signed(b, w));
            cut(product.cast_unsigned(), 2 * w)
        },
        Compute::And => |a, b, w| cut(a & b, w),
        Compute::Or => |a, b, w| cut(a | b, w),
        Compute::Xor => |a, b, w| cut(a ^ b, w),
        Compute::ShiftLeft => |a, b, w| {
            let amount = b & u64::from(u32::MAX);
            if amount >= u64::from(w) {
                0
            } else {
                cut(a << amount, w)
            }
        },
        Compute::ShiftRight { signed: false } => |a, b, w| {
            let amount = b & u64::from(u32::MAX);
            if amount >= u64::from(w) {
                0
            } else {
                cut(a, w) >> amount
            }
        },
        Compute::ShiftRight { signed: true } => |a, b, w| {
            let amount = (b & u64::from(u32::MAX)).min(63);
            cut((signed(a, w) >> amount).cast_unsigned(), w)
        },
        Compute::Minimum { signed: false } => |a, b, w| cut(a, w).min(cut(b, w)),
        Compute::Maximum { signed: false } => |a, b, w| cut(a, w).max(cut(b, w)),
        Compute::Minimum { signed: true } => {
            |a, b, w| cut(signed(a, w).min(signed(b, w)).cast_unsigned(), w)
        }
        Compute::Maximum { signed: true } => {
            |a, b, w| cut(signed(a, w).max(signed(b, w)).cast_unsigned(), w)
        }
        Compute::Compare(compare) => match compare {
            Compare::Equal => |a, b, w| u64::from(cut(a, w) == cut(b, w)),
            Compare::NotEqual => |a, b, w| u64::from(cut(a, w) != cut(b, w)),
            Compare::Less { signed: false } => |a, b, w| u64::from(cut(a, w) < cut(b, w)),
            Compare::LessEqual { signed: false } => |a, b, w| u64::from(cut(a, w) <= cut(b, w)),
            Compare::Greater { signed: false } => |a, b, w| u64::from(cut(a, w) > cut(b, w)),
            Compare::GreaterEqual { signed: false } => |a, b, w| u64::from(cut(a, w) >= cut(b, w)),
            Compare::Less { signed: true } => |a, b, w| u64::from(signed(a, w) < signed(b, w)),
            Compare::LessEqual { signed: true } => {
                |a, b, w| u64::from(signed(a, w) <= signed(b, w))
            }
            Compare::Greater { signed: true } => |a, b, w| u64::from(signed(a, w) > signed(b, w)),
            Compare::GreaterEqual { signed: true } => {
                |a, b, w| u64::from(signed(a, w) >= signed(b, w))
            }
        },
        _ => return None,
    })
}
