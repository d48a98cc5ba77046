//! Interval analysis of terms that the launch fixes.
//!
//! The words of a launch are assumed to lie in `0..=MOST`, which is printed for each. A term that
//! is computed from them and has no form as a number becomes an input of its own. Its range has to
//! contain every result of the computation. Otherwise a verdict would leave out launches without
//! saying so. For example, `-x` is negative for a size `x`.
//!
//! There is an exception, which is printed. Products of 32 bits of numbers that are not negative
//! are assumed to be at most `MOST`, like sizes. So are other numbers of 32 bits that are not
//! negative, such as `max(0, x - y)` of sizes. Multiples by a large constant are not: `x << 30`
//! exceeds `MOST` from `x = 1` on, so such an assumption would leave out ordinary launches.

use std::collections::BTreeMap;

use super::MOST;
use crate::meaning::Binary;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::number::Range;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// The least width in bits of a word that may be a size.
const SIZE_BITS: u16 = 32;

/// The greatest constant factor by which a multiple of a size is still a size.
const MOST_TIMES: i128 = 1 << 14;

/// How far below and above 0 an input may lie.
const MOST_BELOW: i128 = 1 << 8;
const MOST_ABOVE: i128 = (1 << 32) - 1;

/// The range of a term, if the term may be an input. Searches step through the values of inputs
/// from the least one on. So a term that may be far below 0 is no input.
pub fn stepped_through(terms: &Terms, term: TermId) -> Option<Range> {
    let (least, most) = spread(terms, term);
    (least >= -MOST_BELOW && most <= MOST_ABOVE).then_some((least, most))
}

/// The range of a term of 32 bits that is not negative and has no other bound: it is assumed to be
/// at most `MOST`.
pub fn taken_for_a_size(terms: &Terms, term: TermId) -> Option<Range> {
    let (least, most) = spread(terms, term);
    let is_size = terms.width_of(term) == SIZE_BITS && least >= 0 && most > MOST;
    is_size.then_some((least, MOST))
}

/// The least and the greatest value of a term that the launch and rounds of loops fix, as a signed number.
pub fn spread(terms: &Terms, term: TermId) -> Range {
    within(terms, term, &mut BTreeMap::new())
}

/// The least value of a term that the launch fixes, as a signed number.
pub fn least(terms: &Terms, term: TermId) -> i128 {
    spread(terms, term).0
}

/// Whether a sum that the launch fixes does not wrap around: it is the sum of the signed numbers of
/// its parts. A term that is no sum does not either.
pub fn is_exact(terms: &Terms, term: TermId) -> bool {
    let Node::Sum { constant, parts } = terms.node(term) else {
        return true;
    };
    let width = terms.width_of(term);
    let signed = |bits: u128| Word::new(bits, width).signed();
    let mut sum = (signed(*constant), signed(*constant));
    for (part, factor) in parts {
        let factor = signed(*factor);
        let (low, high) = spread(terms, *part);
        let (Some(a), Some(b)) = (low.checked_mul(factor), high.checked_mul(factor)) else {
            return false;
        };
        let (Some(low), Some(high)) = (sum.0.checked_add(a.min(b)), sum.1.checked_add(a.max(b)))
        else {
            return false;
        };
        sum = (low, high);
    }
    let (low, high) = all(width);
    sum.0 >= low && sum.1 <= high
}

/// All signed numbers of a width.
fn all(width: u16) -> Range {
    let half = 1_i128 << (width.clamp(1, 127) - 1);
    (-half, half - 1)
}

fn within(terms: &Terms, term: TermId, known: &mut BTreeMap<TermId, Range>) -> Range {
    if let Some(range) = known.get(&term) {
        return *range;
    }
    let (least, greatest) = all(terms.width_of(term));
    let found = computed(terms, term, known);
    let range = found
        .filter(|(low, high)| *low >= least && *high <= greatest)
        .unwrap_or((least, greatest));
    known.insert(term, range);
    range
}

/// The same as [`spread`], if the range can be computed without regard to the width.
fn computed(terms: &Terms, term: TermId, known: &mut BTreeMap<TermId, Range>) -> Option<Range> {
    let width = terms.width_of(term);
    let mut natural = |term: TermId| -> Option<i128> {
        let (low, high) = within(terms, term, known);
        (low >= 0).then_some(high)
    };
    match terms.node(term) {
        Node::Constant(bits) => {
            let value = Word::new(*bits, width).signed();
            Some((value, value))
        }
        Node::Atom(Atom::Parameter { .. } | Atom::Special(_)) | Node::Memory(_) => {
            (width >= SIZE_BITS).then_some((0, MOST))
        }
        Node::Atom(Atom::Coordinate(_)) => Some((0, MOST)),
        Node::Sum { constant, parts } => {
            let constant = Word::new(*constant, width).signed();
            let mut sum = (constant, constant);
            for (part, factor) in parts {
                let factor = Word::new(*factor, width).signed();
                let (low, high) = within(terms, *part, known);
                let ends = [low.checked_mul(factor)?, high.checked_mul(factor)?];
                sum.0 = sum.0.checked_add(ends[0].min(ends[1]))?;
                sum.1 = sum.1.checked_add(ends[0].max(ends[1]))?;
            }
            let few = |factor: &u128| Word::new(*factor, width).signed() <= MOST_TIMES;
            let scaled = width == SIZE_BITS
                && (0..=MOST_TIMES).contains(&constant)
                && parts.len() == 1
                && parts.iter().all(|(_, factor)| few(factor));
            let grows = sum.0 >= 0 && scaled && sum.1 > all(width).1;
            // A multiple of a size.
            Some(if grows { (0, MOST) } else { sum })
        }
        Node::Binary(operation, a, b) => match operation {
            Binary::Multiply => {
                let ((a0, a1), (b0, b1)) = (within(terms, *a, known), within(terms, *b, known));
                if a0 >= 0 && b0 >= 0 {
                    let high = a1.checked_mul(b1)?;
                    let few = a0.max(b0) <= MOST_TIMES;
                    let grows = width == SIZE_BITS && few && high > all(width).1;
                    return Some((0, if grows { MOST } else { high }));
                }
                let mut ends = Vec::new();
                for (a, b) in [(a0, b0), (a0, b1), (a1, b0), (a1, b1)] {
                    ends.push(a.checked_mul(b)?);
                }
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }
            Binary::And => match (natural(*a), natural(*b)) {
                (Some(a), Some(b)) => Some((0, a.min(b))),
                (Some(one), None) | (None, Some(one)) => Some((0, one)),
                (None, None) => None,
            },
            Binary::Or | Binary::Xor => {
                let most = natural(*a)?.max(natural(*b)?);
                let bits = 128 - most.leading_zeros();
                Some((0, 1_i128.checked_shl(bits)?.checked_sub(1)?))
            }
            Binary::ShiftRightLogical | Binary::ShiftRightArithmetic => {
                let (low, high) = within(terms, *a, known);
                let by = terms.value(*b).map(|by| u32::try_from(by).unwrap_or(127));
                let shifted = |number: i128| number >> by.unwrap_or(0).min(127);
                if low >= 0 {
                    return Some((0, shifted(high)));
                }
                if *operation == Binary::ShiftRightArithmetic {
                    // Whatever the shift, the value moves towards -1 or 0.
                    return Some((shifted(low), shifted(high).max(-1)));
                }
                // The bits that are left may have any value.
                let by = by.filter(|by| *by > 0)?;
                let left = u32::from(width).saturating_sub(by);
                Some((0, 1_i128.checked_shl(left)?.checked_sub(1)?))
            }
            Binary::ShiftLeft => {
                let high = natural(*a)?;
                let by = u32::try_from(terms.value(*b)?).ok()?;
                let times = 1_i128.checked_shl(by.min(100))?;
                let high = high.checked_mul(times)?;
                let grows = width == SIZE_BITS && times <= MOST_TIMES && high > all(width).1;
                Some((0, if grows { MOST } else { high }))
            }
            // The quotient is nearer to 0, because the divisor is positive.
            Binary::DivideSigned if terms.signed(*b).is_some_and(|by| by > 0) => {
                let (low, high) = within(terms, *a, known);
                let by = terms.signed(*b)?;
                Some((low.checked_div(by)?, high.checked_div(by)?))
            }
            // The remainder has the sign of the dividend.
            Binary::RemainderSigned if terms.signed(*b).is_some_and(|by| by > 0) => {
                let (low, high) = within(terms, *a, known);
                let most = terms.signed(*b)?.checked_sub(1)?;
                Some((low.min(0).max(-most), high.max(0).min(most)))
            }
            // What a division by 0 gives is unspecified.
            Binary::DivideUnsigned | Binary::DivideSigned => {
                natural(*b)?;
                Some((0, natural(*a)?))
            }
            Binary::RemainderUnsigned | Binary::RemainderSigned => {
                let most = natural(*b)?.checked_sub(1)?;
                Some((0, natural(*a)?.min(most.max(0))))
            }
            Binary::Add | Binary::Subtract => None,
        },
        Node::Select(condition, a, b) => {
            let (mut one, mut other) = (within(terms, *a, known), within(terms, *b, known));
            let (holds, inner) = match terms.node(*condition) {
                Node::Not(inner) => (false, *inner),
                _ => (true, *condition),
            };
            // A side is chosen only if the comparison comes out so. For example, the greater of two
            // numbers is at least either.
            if let Node::Relation(Relation::LessSigned, x, y) = *terms.node(inner) {
                let (low, high) = (within(terms, x, known), within(terms, y, known));
                let (less, not) = if holds {
                    ((*a, &mut one), (*b, &mut other))
                } else {
                    ((*b, &mut other), (*a, &mut one))
                };
                if less.0 == x {
                    less.1.1 = less.1.1.min(high.1 - 1);
                } else if less.0 == y {
                    less.1.0 = less.1.0.max(low.0 + 1);
                }
                if not.0 == x {
                    not.1.0 = not.1.0.max(high.0);
                } else if not.0 == y {
                    not.1.1 = not.1.1.min(low.1);
                }
            }
            // One side is never chosen.
            match [one, other].map(|(low, high)| low <= high) {
                [true, false] => Some(one),
                [false, true] => Some(other),
                _ => Some((one.0.min(other.0), one.1.max(other.1))),
            }
        }
        Node::Extend {
            term: inner,
            signed,
        } => {
            let bits = u32::from(terms.width_of(*inner));
            if bits == 1 {
                return Some(if *signed { (-1, 0) } else { (0, 1) });
            }
            let (low, high) = within(terms, *inner, known);
            if *signed || low >= 0 {
                Some((low, high))
            } else {
                Some((0, 1_i128.checked_shl(bits)?.checked_sub(1)?))
            }
        }
        Node::Extract { term: inner, low } => {
            let (least, greatest) = within(terms, *inner, known);
            let by = u32::from(*low).min(127);
            Some((least >> by, greatest >> by))
        }
        Node::Concatenate(high, low) => {
            let bits = u32::from(terms.width_of(*low));
            let (least, greatest) = within(terms, *high, known);
            let unit = 1_i128.checked_shl(bits)?;
            Some((
                least.checked_mul(unit)?,
                greatest.checked_mul(unit)?.checked_add(unit - 1)?,
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning::Domain;

    fn of(build: impl Fn(&mut Terms, TermId) -> TermId) -> Range {
        let mut terms = Terms::default();
        let n = terms.atom(Atom::Parameter { offset: 0 }, 32);
        let term = build(&mut terms, n);
        spread(&terms, term)
    }

    #[test]
    fn what_may_be_negative_is_no_size() {
        let half = 1 << 31;
        assert_eq!(of(|_, n| n), (0, MOST));
        assert_eq!(
            of(|t, n| t.sum(1, &[(n, (1 << 32) - 1)], 32)),
            (1 - MOST, 1)
        );
        let negated = |t: &mut Terms, n| {
            let mask = t.constant((1 << 32) - 2, 32);
            t.binary(Binary::Xor, &n, &mask)
        };
        assert_eq!(of(negated), (-half, half - 1));
        let byte = |t: &mut Terms, n| {
            let byte = t.extract(&n, 0, 8);
            t.extend(&byte, 32, true)
        };
        assert_eq!(of(byte), (-128, 127));
    }

    #[test]
    fn multiples_by_large_constants_are_no_sizes() {
        let half = 1 << 31;
        let times = |factor: u128| of(move |t, n| t.sum(0, &[(n, factor)], 32));
        assert_eq!(times(1 << 14), (0, MOST));
        assert_eq!(times((1 << 14) + 1), (-half, half - 1));
        let shifted = |by: u128| {
            of(move |t, n| {
                let by = t.constant(by, 32);
                t.binary(Binary::ShiftLeft, &n, &by)
            })
        };
        assert_eq!(shifted(14), (0, MOST));
        assert_eq!(shifted(30), (-half, half - 1));
    }

    #[test]
    fn the_greater_of_a_number_and_0_is_not_negative() {
        let greater = |swapped: bool| {
            move |t: &mut Terms, n| {
                let less = t.sum(0, &[(n, (1 << 32) - 1)], 32);
                let zero = t.constant(0, 32);
                let below = t.relation(Relation::LessSigned, &less, &zero);
                match swapped {
                    false => t.select(&below, &zero, &less),
                    true => {
                        let not = t.not(&below);
                        t.select(&not, &zero, &less)
                    }
                }
            }
        };
        assert_eq!(of(greater(false)), (0, 0));
        assert_eq!(of(greater(true)), (-MOST, 0));
        let above = |t: &mut Terms, n| {
            let (least, most) = (t.constant(5, 32), t.constant(9, 32));
            let below = t.relation(Relation::LessSigned, &n, &least);
            let n = t.select(&below, &least, &n);
            let over = t.relation(Relation::LessSigned, &most, &n);
            t.select(&over, &most, &n)
        };
        assert_eq!(of(above), (5, 9));
    }

    #[test]
    fn upper_halves_of_products_have_the_sign_of_the_factor() {
        let upper = |factor: u128| {
            of(move |t, n| {
                let wide = t.extend(&n, 64, true);
                let factor = t.constant(factor, 64);
                let product = t.binary(Binary::Multiply, &wide, &factor);
                t.extract(&product, 32, 32)
            })
        };
        assert_eq!(upper(3 << 30), (0, (3 * MOST) >> 2));
        let (low, high) = upper(u128::from(u64::MAX) - (3 << 30) + 1);
        assert_eq!((low, high), ((-3 * (1 << 30) * MOST) >> 32, 0));
    }

    #[test]
    fn quotients_of_what_may_be_negative_are_near_0() {
        let by = |operation: Binary, divisor: u128| {
            of(move |t, n| {
                let less = t.sum(0, &[(n, (1 << 32) - 1)], 32);
                let divisor = t.constant(divisor, 32);
                t.binary(operation, &less, &divisor)
            })
        };
        assert_eq!(by(Binary::DivideSigned, 128), (-(MOST / 128), 0));
        assert_eq!(by(Binary::RemainderSigned, 128), (-127, 0));
        // Read as signed numbers, these divisors are below 0, and 0.
        let all = (-(1 << 31), (1 << 31) - 1);
        for divisor in [(1 << 32) - 128, 0] {
            assert_eq!(by(Binary::DivideSigned, divisor), all);
        }
    }

    #[test]
    fn sums_are_exact_where_they_cannot_wrap_around() {
        let mut terms = Terms::default();
        let [n, m] = [0, 4].map(|offset| terms.atom(Atom::Parameter { offset }, 32));
        let minus = (1 << 32) - 1;
        let difference = terms.sum(0, &[(n, 1), (m, minus)], 32);
        assert!(is_exact(&terms, difference));
        // Up to 2^31 + 5.
        let far = terms.sum(7, &[(n, 1), (m, 1)], 32);
        assert!(!is_exact(&terms, far));
        let product = terms.binary(Binary::Multiply, &difference, &n);
        let less = terms.sum(0, &[(product, 1), (m, minus)], 32);
        assert!(!is_exact(&terms, less));
    }
}
