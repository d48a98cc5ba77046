//! Tests pure operations against formulas that are written here independently.

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::interpret::compute::compute;
use crate::interpret::compute::one;
use crate::interpret::compute::slow;
use crate::interpret::value::LANES;
use crate::interpret::value::Value;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::meaning::operand_count;
use crate::meaning::result_width;

fn every() -> Vec<Compute> {
    let mut all = vec![
        Compute::Copy,
        Compute::Add,
        Compute::Subtract,
        Compute::Multiply,
        Compute::And,
        Compute::Or,
        Compute::Xor,
        Compute::Not,
        Compute::Negate,
        Compute::Absolute,
        Compute::ShiftLeft,
        Compute::Compare(Compare::Equal),
        Compute::Compare(Compare::NotEqual),
        Compute::Select,
        Compute::InsertField,
        Compute::Permute,
        Compute::Logic3 { table: 0xe8 },
        Compute::Logic3 { table: 0x96 },
        Compute::Logic3 { table: 0x1b },
        Compute::PopulationCount,
        Compute::LeadingZeros,
        Compute::Reverse,
        Compute::Concatenate,
        Compute::Extract { low: 3, to: 5 },
        Compute::Extract { low: 0, to: 8 },
    ];
    for signed in [false, true] {
        all.extend([
            Compute::MultiplyHigh { signed },
            Compute::MultiplyWide { signed },
            Compute::Divide { signed },
            Compute::Remainder { signed },
            Compute::Minimum { signed },
            Compute::Maximum { signed },
            Compute::ShiftRight { signed },
            Compute::Compare(Compare::Less { signed }),
            Compute::Compare(Compare::LessEqual { signed }),
            Compute::Compare(Compare::Greater { signed }),
            Compute::Compare(Compare::GreaterEqual { signed }),
            Compute::Convert { to: 8, signed },
            Compute::Convert { to: 32, signed },
            Compute::Convert { to: 64, signed },
            Compute::ExtractField { signed },
            Compute::FindHighest { signed },
        ]);
        for wrap in [false, true] {
            all.push(Compute::FunnelShift { left: signed, wrap });
        }
    }
    all
}

fn mask(width: u16) -> u128 {
    (1_u128 << width) - 1
}

fn signed(value: u128, width: u16) -> i128 {
    let value = value & mask(width);
    if value >> (width - 1) == 1 {
        value as i128 - (1_i128 << width)
    } else {
        value as i128
    }
}

fn bit(value: u128, at: u128) -> u128 {
    if at < 128 { value >> at & 1 } else { 0 }
}

/// The text of the PTX ISA as plain Rust; `None` if an operation does not exist.
fn expected(compute: Compute, w: u16, o: &[u128]) -> Option<u128> {
    let cut = |index: usize| o[index] & mask(w);
    let (a, b) = (cut(0), if o.len() > 1 { cut(1) } else { 0 });
    let (sa, sb) = (signed(a, w), signed(b, w));
    let as_bits = |number: i128| number as u128;
    let amount = |index: usize| o[index] & 0xffff_ffff;
    let truth = |holds: bool| u128::from(holds);
    let result = match compute {
        Compute::Copy => a,
        Compute::Add => as_bits(sa + sb),
        Compute::Subtract => as_bits(sa - sb),
        Compute::Multiply => a.wrapping_mul(b),
        Compute::MultiplyHigh { signed: false } => a.checked_mul(b)? >> w,
        Compute::MultiplyHigh { signed: true } => as_bits(sa.checked_mul(sb)? >> w),
        Compute::MultiplyWide { signed: false } => a.checked_mul(b)?,
        Compute::MultiplyWide { signed: true } => as_bits(sa.checked_mul(sb)?),
        Compute::Divide { signed: false } => a.checked_div(b).unwrap_or(u128::MAX),
        Compute::Divide { signed: true } if b == 0 => {
            if sa < 0 {
                1
            } else {
                u128::MAX
            }
        }
        Compute::Divide { signed: true } => as_bits(sa / sb),
        Compute::Remainder { .. } if b == 0 => a,
        Compute::Remainder { signed: false } => a % b,
        Compute::Remainder { signed: true } => as_bits(sa % sb),
        Compute::And => a & b,
        Compute::Or => a | b,
        Compute::Xor => a ^ b,
        Compute::Not => !a,
        Compute::Negate => as_bits(-sa),
        Compute::Absolute => as_bits(sa.abs()),
        Compute::Minimum { signed: false } => a.min(b),
        Compute::Maximum { signed: false } => a.max(b),
        Compute::Minimum { signed: true } => as_bits(sa.min(sb)),
        Compute::Maximum { signed: true } => as_bits(sa.max(sb)),
        Compute::ShiftLeft => a.checked_shl(amount(1).min(200) as u32).unwrap_or(0),
        Compute::ShiftRight { signed: false } => {
            a.checked_shr(amount(1).min(200) as u32).unwrap_or(0)
        }
        Compute::ShiftRight { signed: true } => as_bits(sa >> amount(1).min(127)),
        Compute::Compare(compare) => truth(match compare {
            Compare::Equal => a == b,
            Compare::NotEqual => a != b,
            Compare::Less { signed } => {
                if signed {
                    sa < sb
                } else {
                    a < b
                }
            }
            Compare::LessEqual { signed } => {
                if signed {
                    sa <= sb
                } else {
                    a <= b
                }
            }
            Compare::Greater { signed } => {
                if signed {
                    sa > sb
                } else {
                    a > b
                }
            }
            Compare::GreaterEqual { signed } => {
                if signed {
                    sa >= sb
                } else {
                    a >= b
                }
            }
        }),
        Compute::Select => {
            if o[0] & 1 == 1 {
                cut(1)
            } else {
                cut(2)
            }
        }
        Compute::Convert { to, signed } => (if signed { as_bits(sa) } else { a }) & mask(to),
        Compute::ExtractField { signed } => {
            // bfe: pos = b & 0xff, len = c & 0xff; msb is 31 or 63.
            let (pos, len, msb) = (o[1] & 0xff, o[2] & 0xff, u128::from(w) - 1);
            let sbit = if !signed || len == 0 {
                0
            } else {
                bit(a, (pos + len - 1).min(msb))
            };
            let mut d = 0;
            for i in 0..=msb {
                let value = if i < len && pos + i <= msb {
                    bit(a, pos + i)
                } else {
                    sbit
                };
                d |= value << i;
            }
            d
        }
        Compute::InsertField => {
            let (pos, len, msb) = (o[2] & 0xff, o[3] & 0xff, u128::from(w) - 1);
            let mut f = cut(1);
            for i in 0..len {
                if pos + i > msb {
                    break;
                }
                f = f & !(1 << (pos + i)) | bit(a, i) << (pos + i);
            }
            f
        }
        Compute::Permute => {
            let (x, y, selector) = (amount(0), amount(1), amount(2));
            let bytes = y << 32 | x;
            let mut d = 0;
            for i in 0..4 {
                let control = selector >> (4 * i) & 15;
                let byte = bytes >> (8 * (control & 7)) & 0xff;
                let byte = if control & 8 == 0 {
                    byte
                } else if byte >> 7 == 1 {
                    0xff
                } else {
                    0
                };
                d |= byte << (8 * i);
            }
            return Some(d);
        }
        Compute::Logic3 { table } => {
            // immLut is F(0xF0, 0xCC, 0xAA).
            let mut d = 0;
            for i in 0..u128::from(w) {
                let index = bit(a, i) << 2 | bit(b, i) << 1 | bit(cut(2), i);
                d |= u128::from(table >> index & 1) << i;
            }
            d
        }
        Compute::FunnelShift { left, wrap } => {
            let (low, high, by) = (amount(0), amount(1), amount(2));
            let by = if wrap { by & 31 } else { by.min(32) };
            return Some(if left {
                if by == 32 {
                    low
                } else {
                    (high << by | low >> (32 - by)) & 0xffff_ffff
                }
            } else if by == 32 {
                high
            } else {
                (high << (32 - by) | low >> by) & 0xffff_ffff
            });
        }
        Compute::PopulationCount => return Some(a.count_ones().into()),
        Compute::LeadingZeros => {
            return Some(u128::from(a.leading_zeros()) - (128 - u128::from(w)));
        }
        Compute::FindHighest { signed } => {
            let value = if signed && sa < 0 { !a & mask(w) } else { a };
            return Some(value.checked_ilog2().map_or(0xffff_ffff, u128::from));
        }
        Compute::Reverse => a.reverse_bits() >> (128 - w),
        Compute::Concatenate => a | b << w,
        Compute::Extract { low, to } => a >> low & mask(to),
    };
    let wide = result_width(compute, w, o.len())?;
    Some(if wide >= 128 {
        result
    } else {
        result & mask(wide)
    })
}

/// A random number; numbers at the limits of ranges are more likely.
fn number(random: &mut ChaCha8Rng, width: u16) -> u128 {
    let any = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    match random.next_u32() % 8 {
        0 => any % 70,
        1 => mask(width).wrapping_sub(any % 5) & mask(width),
        2 => (1 << (width - 1)) + any % 3 - 1,
        3 => 1 << (any % u128::from(width)),
        _ => any & mask(64),
    }
}

#[test]
fn operations_mean_what_the_isa_says() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut compared = 0;
    for compute in every() {
        for width in [8, 16, 32, 64] {
            let count = operand_count(compute).unwrap_or(2);
            if result_width(compute, width, count).is_none() {
                continue;
            }
            if matches!(compute, Compute::Permute | Compute::FunnelShift { .. }) && width != 32 {
                continue;
            }
            for _ in 0..1000 {
                let operands: Vec<u128> = (0..count).map(|_| number(&mut random, width)).collect();
                let Some(wanted) = expected(compute, width, &operands) else {
                    continue;
                };
                compared += 1;
                let case = || format!("{compute:?} at {width} of {operands:x?}");
                assert_eq!(slow(compute, width, &operands), Some(wanted), "{}", case());
                assert_eq!(one(compute, width, &operands), Some(wanted), "{}", case());
            }
        }
    }
    assert!(compared > 200_000, "{compared}");
}

#[test]
fn lanes_compute_what_single_numbers_do() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for compute_ in every() {
        for width in [1, 8, 16, 32, 64] {
            let count = operand_count(compute_).unwrap_or(2);
            for _ in 0..20 {
                let values: Vec<Value> = (0..count)
                    .map(|_| match random.next_u32() % 3 {
                        0 => Value::Uniform(number(&mut random, width)),
                        1 => Value::Split {
                            lanes: random.next_u32(),
                            inside: number(&mut random, width),
                            outside: number(&mut random, width),
                        },
                        _ => Value::collect(|_| number(&mut random, width)),
                    })
                    .collect();
                let active = random.next_u32() | 1;
                let all: Vec<&Value> = values.iter().collect();
                let result = compute(compute_, width, &all, active);
                for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
                    let numbers: Vec<u128> = values.iter().map(|value| value.lane(lane)).collect();
                    let wanted = slow(compute_, width, &numbers);
                    assert_eq!(result.as_ref().map(|value| value.lane(lane)), wanted);
                }
            }
        }
    }
}

#[test]
fn writing_some_lanes_keeps_the_others() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let any = |random: &mut ChaCha8Rng| match random.next_u32() % 4 {
        0 => Value::Uniform(random.next_u64().into()),
        1 => Value::Split {
            lanes: random.next_u32(),
            inside: random.next_u64().into(),
            outside: 7,
        },
        2 => Value::collect(|lane| lane as u128 * 3),
        _ => Value::collect(|lane| (lane as u128) << 70),
    };
    for _ in 0..5000 {
        let (old, new) = (any(&mut random), any(&mut random));
        let (written, live) = (random.next_u32(), random.next_u32() | random.next_u32());
        let mut value = old.clone();
        value.write(new.clone(), written, live);
        for lane in (0..LANES).filter(|lane| live >> lane & 1 == 1) {
            let wanted = if written >> lane & 1 == 1 { &new } else { &old };
            assert_eq!(value.lane(lane), wanted.lane(lane));
        }
    }
}
