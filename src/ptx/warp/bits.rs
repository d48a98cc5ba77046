//! Single operations on integers: constant-folded if the operands are known, and by rules otherwise.

use super::facts::Facts;
use super::facts::gcd;
use super::machine::State;
use super::machine::wrap;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::value::Integer;

pub(in crate::ptx) fn multiplied(a: &Integer, b: &Integer) -> Option<Integer> {
    for (factor, other) in [(a, b), (b, a)] {
        if factor.lanes.is_none()
            && let Some(constant) = factor.sum.as_constant()
        {
            return Some(other.scaled(constant));
        }
    }
    if a.lanes.is_some() || b.lanes.is_some() {
        return None;
    }
    Some(Integer::same(a.sum.times(&b.sum)))
}

/// A value without what is a multiple of two to its width: that is none of its bits.
pub(in crate::ptx) fn kept(value: &Integer, bits: u32) -> Integer {
    let mut kept = value.clone();
    kept.sum
        .terms
        .retain(|_, factor| *factor % (1 << bits) != 0);
    kept
}

/// The low bits of a value, with factors as near to 0 as they may be taken then.
pub(in crate::ptx) fn narrowed(value: &Integer, bits: u32) -> Integer {
    let mut narrowed = kept(value, bits);
    for factor in narrowed.sum.terms.values_mut() {
        *factor = wrap(*factor, true, bits);
    }
    narrowed
}

/// The bits of a value that a mask of neighbouring ones selects.
pub(in crate::ptx) fn masked(
    value: &Integer,
    mask: i128,
    bits: u32,
    state: &State,
) -> Option<Integer> {
    if mask == 0 {
        return Some(Integer::same(Sum::of(0)));
    }
    let low = mask.trailing_zeros();
    let above = mask >> low;
    if above & (above + 1) != 0 {
        return None;
    }
    let high = low + (above + 1).trailing_zeros();
    // Where the sum moves in steps of 2^high, the lanes can be reduced on their own.
    if value.lanes.is_some() {
        let step = 1i128 << high;
        let rest = value.sum.plus_constant(-value.sum.constant);
        rest.exactly_over(step)?;
        let lanes = value.lanes.as_ref()?;
        let constant = value.sum.constant;
        return Some(Integer::lanes(lanes.map(|x| (x + constant) & mask)));
    }
    // What is known here may decide what was open where it was computed.
    let sum = state.facts.settled(&value.sum);
    let below = state.facts.modulo(&sum, &Sum::of(1 << low))?;
    let upper = if high >= bits {
        sum
    } else {
        state.facts.modulo(&sum, &Sum::of(1 << high))?
    };
    Some(Integer::same(upper.minus(&below)))
}

/// The quotient by a constant, rounded down in each lane, where what is the same in all lanes is a multiple of it.
pub(in crate::ptx) fn divided(value: &Integer, by: &Sum) -> Option<Integer> {
    let by = by.as_constant().filter(|by| *by > 0)?;
    let lanes = value.lanes.as_ref()?;
    let constant = value.sum.constant;
    let whole = value.sum.plus_constant(-constant).exactly_over(by)?;
    let offsets = Integer::lanes(lanes.map(|x| (x + constant).div_euclid(by)));
    Some(Integer::same(whole).plus_times(&offsets, 1))
}

/// A value with bits set that are certainly not set in it, from what its terms are multiples of.
pub(in crate::ptx) fn beside(
    value: &Integer,
    bits: i128,
    multiples: Vec<i128>,
    state: &State,
) -> Option<Integer> {
    let multiple = multiples
        .iter()
        .chain(std::iter::once(&value.sum.constant))
        .chain(value.lanes.iter().flat_map(|lanes| lanes.iter()))
        .filter(|x| **x != 0)
        .map(|x| x.trailing_zeros())
        .min()
        .unwrap_or(0);
    let below = (1i128 << multiple.min(100)) - 1;
    let (low, high) = value.range(&state.facts);
    let fits = bits & !below == 0
        || low >= 0 && high < 1 << 64 && {
            let most = (1i128 << (128 - high.leading_zeros())) - 1;
            bits & most & !below == 0
        };
    fits.then(|| value.plus_times(&Integer::same(Sum::of(bits)), 1))
}

pub(in crate::ptx) fn exclusive(
    a: &Integer,
    b: &Integer,
    bits: u32,
    state: &State,
) -> Option<Integer> {
    if a.lanes.is_some() || b.lanes.is_some() {
        return None;
    }
    let facts = &state.facts;
    let two = Sum::of(2);
    let bit = |sum: &Sum| {
        let (low, high) = facts.range(sum);
        low >= 0 && high <= 1
    };
    if bit(&a.sum) && bit(&b.sum) {
        return Some(Integer::same(facts.modulo(&a.sum.plus(&b.sum), &two)?));
    }
    let (value, mask) = match (a.sum.as_constant(), b.sum.as_constant()) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), _) => (b, mask),
        _ => return None,
    };
    let mask = wrap(mask, false, bits);
    if mask == (1i128 << bits) - 1 {
        return Some(Integer::same(value.sum.scaled(-1).plus_constant(-1)));
    }
    if mask.count_ones() != 1 {
        return None;
    }
    // Flips one bit: adds it where it is 0, takes it away where it is 1.
    let upper = facts.quotient(&value.sum, &Sum::of(mask))?;
    let set = facts.modulo(&upper, &two)?;
    Some(Integer::same(
        value.sum.plus_constant(mask).plus_times(&set, -2 * mask),
    ))
}

/// The result for known operands, bit for bit.
pub(in crate::ptx) fn concrete(
    name: &str,
    parts: &[&str],
    operands: &[i128],
    signed: bool,
    bits: u32,
) -> Option<i128> {
    let read: Vec<i128> = operands.iter().map(|x| wrap(*x, signed, bits)).collect();
    let plain: Vec<i128> = operands.iter().map(|x| wrap(*x, false, bits)).collect();
    let value = match (name, read.as_slice(), plain.as_slice()) {
        ("add", [a, b], _) => a + b,
        ("sub", [a, b], _) => a - b,
        ("mul" | "mad", [a, b, rest @ ..], _) => {
            let product = a * b;
            let product = if parts.contains(&"hi") {
                product >> bits
            } else {
                product
            };
            // The addend of a wide product is not cut to the width of the factors.
            let addend = if rest.is_empty() {
                0
            } else {
                *operands.get(2)?
            };
            let value = product + addend;
            if parts.contains(&"wide") {
                return Some(wrap(value, signed, bits * 2));
            }
            value
        }
        ("neg", [a], _) => -a,
        ("abs", [a], _) => a.abs(),
        ("not", _, [a]) => !a,
        ("and", _, [a, b]) => a & b,
        ("or", _, [a, b]) => a | b,
        ("xor", _, [a, b]) => a ^ b,
        ("min", [a, b], _) => *a.min(b),
        ("max", [a, b], _) => *a.max(b),
        ("div", [a, b], _) if *b != 0 => a / b,
        ("rem", [a, b], _) if *b != 0 => a % b,
        ("shl", [a, _], _) => {
            let by = wrap(*operands.get(1)?, false, 32);
            if by >= i128::from(bits) { 0 } else { a << by }
        }
        ("shr", [a, _], _) => {
            let by = wrap(*operands.get(1)?, false, 32).min(i128::from(bits));
            a >> by
        }
        ("bfe", _, [a, from, length]) if !signed && *from < 64 && *length < 64 => {
            (a >> from) & ((1i128 << length) - 1)
        }
        ("bfe", _, [a, from, length]) if (1..=i128::from(bits) - from).contains(length) => {
            extended((a >> from) & ((1i128 << length) - 1), *length)
        }
        _ => return None,
    };
    Some(wrap(value, signed, bits))
}

/// A field of so many bits with its highest one as the sign.
fn extended(field: i128, length: i128) -> i128 {
    field - ((field >> (length - 1)) << length)
}

/// When all bits of a quotient are set, of one that is nothing else than -1 or 0: how compilers tell negative numbers, to
/// round what is divided by a power of two toward 0.
pub(in crate::ptx) fn signs(facts: &Facts, sum: &Sum) -> Option<Condition> {
    // Multiples of the divisor stand beside the quotient.
    let (x, by) = sum.terms.iter().find_map(|(atom, factor)| match atom {
        Atom::Quotient(x, by) if *factor == 1 => {
            let beside = sum.minus(&Sum::atom(atom.clone()));
            Some((x.plus(&beside.scaled(by.as_constant()?)), by))
        }
        _ => None,
    })?;
    let positive = |sum: &Sum| facts.is_positive(sum);
    let near = positive(by) && positive(&x.plus(by)) && positive(&by.minus(&x).plus_constant(-1));
    near.then_some(Condition::Negative(x))
}

/// The quotient of `factor * x` by a power of two. Compilers divide by a constant `d` in this way, with
/// `factor * d = power + e`: then it is `x / d`, rounded down, as long as `e * x < power`, since what is
/// added to `x / d` is below `1 / d`.
pub(in crate::ptx) fn scaled_down(facts: &Facts, product: &Sum, power: i128) -> Option<Sum> {
    by_factor(facts, product, power).or_else(|| facts.quotient(product, &Sum::of(power)))
}

/// The same, where nothing has to be known of the product any more.
pub(in crate::ptx) fn shifted_down(facts: &Facts, product: &Sum, power: i128) -> Option<Sum> {
    by_factor(facts, product, power)
        .or_else(|| divided_closely(facts, product, power))
        .or_else(|| facts.quotient(product, &Sum::of(power)))
}

fn by_factor(facts: &Facts, product: &Sum, power: i128) -> Option<Sum> {
    let factor = product
        .terms
        .values()
        .fold(product.constant, |g, c| gcd(g, *c));
    // What the compiler multiplied may itself be a multiple of something.
    for part in 1..=MOST_COMMON {
        if factor <= part || factor % part != 0 {
            continue;
        }
        let factor = factor / part;
        let Some(x) = product.exactly_over(factor) else {
            continue;
        };
        let (low, high) = facts.range(&x);
        let divisor = power.div_euclid(factor) + i128::from(power % factor != 0);
        let excess = factor * divisor - power;
        let added = excess.checked_mul(high);
        if low >= 0 && high < 1 << 64 && added.is_some_and(|added| added < power) {
            return facts.quotient(&x, &Sum::of(divisor));
        }
    }
    None
}

/// The quotient of a multiple by a power of two, as one by a small number: of `factor * x`, where a loop is written out and
/// the factor has been reduced with the power, or something is added that is no multiple of it.
///
/// With `factor * d = p * power + e` it is `(p * x + (e * x + added * d) / power) / d`, all rounded down. What is added to
/// `p * x` there goes one way as `x` grows, so that it is the same for all if it is for the least and the greatest `x`. Less
/// than 1 may be added before the division: so anything below `d` to what `power` divides.
fn divided_closely(facts: &Facts, product: &Sum, power: i128) -> Option<Sum> {
    let narrow = |x: &i128| x.unsigned_abs() <= 1 << 60;
    let factor = product.terms.values().fold(0, |g, c| gcd(g, *c));
    let multiple = product.plus_constant(-product.constant);
    let x = multiple.exactly_over(factor)?;
    let (low, high) = facts.range(&x);
    if ![power, factor, product.constant, low, high]
        .iter()
        .all(narrow)
    {
        return None;
    }
    // The fractions that are closer to factor / power than any with a smaller denominator.
    let (mut over, mut under) = (factor, power);
    let (mut last, mut now) = ((0, 1), (1, 0));
    while under != 0 {
        let times = over.div_euclid(under);
        (over, under) = (under, over - times * under);
        (last, now) = (now, (times * now.0 + last.0, times * now.1 + last.1));
        let (p, d): (i128, i128) = now;
        if d > MOST_DIVISOR {
            return None;
        }
        let excess = factor * d - p * power;
        for below in [0, d - 1] {
            let added = |x: i128| (excess * x + product.constant * d + below).div_euclid(power);
            if added(low) == added(high) {
                return facts.quotient(&x.scaled(p).plus_constant(added(low)), &Sum::of(d));
            }
        }
    }
    None
}

/// The largest number that compilers are expected to divide by.
const MOST_DIVISOR: i128 = 1 << 16;

/// What is divided by what, where a number and a quotient of it are divided together. Compilers divide by constants like
/// 7 so, whose factor is one bit too wide: `(h + (n - h) / 2) / 4` with `h = n * m / 2^32` is `n * (2^32 + m) / 2^35`. A
/// quotient of a quotient is one by the product, and what is whole beside a quotient may be added to what is divided.
pub(in crate::ptx) fn within(sum: &Sum, by: i128) -> Option<(Sum, i128)> {
    let narrow = |x: &i128| x.unsigned_abs() <= 1 << 40;
    if !narrow(&by) || !sum.terms.values().chain([&sum.constant]).all(narrow) {
        return None;
    }
    if let Some((Atom::Quotient(dividend, divisor), 1)) = sum.single() {
        return within(dividend, by.checked_mul(divisor.as_constant()?)?);
    }
    sum.terms.iter().find_map(|(atom, factor)| {
        let Atom::Quotient(product, power) = atom else {
            return None;
        };
        let power = power
            .as_constant()
            .filter(|power| *factor == 1 && narrow(power))?;
        let beside = sum.plus_times(&Sum::atom(atom.clone()), -1);
        let all = beside.scaled(power).plus(product);
        if beside.terms.is_empty() {
            return None;
        }
        // What is divided is made of what stood beside the quotient, or it has a quotient of that in turn.
        if all.terms.len() < sum.terms.len() {
            return Some((all, power * by));
        }
        within(&all, power * by)
    })
}

/// The largest common factor of what is divided by a constant.
const MOST_COMMON: i128 = 64;

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::term::Unknown;
    use super::*;

    /// A loop that is written out four times divides multiples of four.
    #[test]
    fn division_of_a_multiple() {
        let mut facts = Facts::default();
        facts.bound(Unknown(0), 0, (1 << 28) - 1);
        for (step, factor, shift, divisor) in
            [(4, 0xCCCC_CCCD_i128, 34, 5), (8, 0xAAAA_AAAB, 33, 3)]
        {
            let x = Sum::unknown(Unknown(0)).scaled(step);
            let found = scaled_down(&facts, &x.scaled(factor), 1 << shift).unwrap();
            assert_eq!(Some(found), facts.quotient(&x, &Sum::of(divisor)));
        }
    }

    /// The factors that compilers use, and what they divide by.
    #[test]
    fn division_by_a_constant() {
        let mut facts = Facts::default();
        facts.bound(Unknown(0), 0, (1 << 31) - 1);
        let x = Sum::unknown(Unknown(0));
        for (factor, shift, divisor) in [
            (0x5555_5556, 0, 3),
            (0x6666_6667, 1, 5),
            (0x2AAA_AAAB, 0, 6),
            (0x9249_2493_i128, 2, 7),
            (0x5105_1051, 4, 50),
        ] {
            let found = scaled_down(&facts, &x.scaled(factor), 1 << (32 + shift)).unwrap();
            let expected = facts.quotient(&x, &Sum::of(divisor)).unwrap();
            let exact = (0..4000)
                .chain((1 << 31) - 4000..1 << 31)
                .all(|v: i128| (v * factor) >> (32 + shift) == v / divisor);
            assert_eq!(found == expected, exact, "{divisor}");
        }
    }

    /// Multiples of four by 21, whose factor has been reduced with the power, and what is added to a multiple.
    #[test]
    fn division_as_close_as_it_gets() {
        let x = Sum::unknown(Unknown(0));
        let mut closely = 0;
        for most in [1 << 20, (1 << 28) - 1, (1 << 33) - 1] {
            let mut facts = Facts::default();
            facts.bound(Unknown(0), 0, most);
            for (factor, added, shift) in [
                (6_544_712_071_i128, 0, 35),
                (6_544_712_071, 6_544_712_071 / 2, 35),
                (0xCCCC_CCCD, 5, 34),
                (0xAAAA_AAAB, 0xAAAA_AAAB / 3, 33),
                (613_566_757, -613_566_757, 32),
            ] {
                let product = x.scaled(factor).plus_constant(added);
                let Some(found) = divided_closely(&facts, &product, 1 << shift) else {
                    continue;
                };
                closely += 1;
                let ends = (0..4000)
                    .chain(most - 4000..=most)
                    .chain((0..=most).step_by(999_983));
                for v in ends {
                    let with = |_: Unknown| Some(Sum::of(v));
                    let value = Facts::default().replaced(&found, &with).as_constant();
                    assert_eq!(
                        value,
                        Some((v * factor + added) >> shift),
                        "{factor} {added} {v}"
                    );
                }
            }
        }
        assert_eq!(closely, 11);
    }

    /// Factors that are one bit too wide.
    #[test]
    fn division_with_a_sum() {
        let mut facts = Facts::default();
        facts.bound(Unknown(0), 0, (1 << 32) - 1);
        let n = Sum::unknown(Unknown(0));
        let half = |sum: &Sum| facts.quotient(sum, &Sum::of(2)).unwrap();
        for (factor, shift, divisor) in [(613_566_757, 2, 7), (795_364_315_i128, 4, 27)] {
            let power = Rc::new(Sum::of(1 << 32));
            let high = Sum::atom(Atom::Quotient(Rc::new(n.scaled(factor)), power));
            let rest = n.minus(&high);
            assert!(facts.range(&rest).0 >= 0);
            let sum = half(&rest).plus(&high);
            let (product, power) = within(&sum, 1 << shift).unwrap();
            let found = scaled_down(&facts, &product, power).unwrap();
            assert_eq!(Some(found), facts.quotient(&n, &Sum::of(divisor)));
            for v in (0..4000).chain((1 << 32) - 4000..1 << 32) {
                let high = (v * factor) >> 32;
                assert_eq!((((v - high) >> 1) + high) >> shift, v / divisor);
            }
        }
    }
}
