//! Division by a constant as compilers write it: the upper part of a product with a rounded
//! reciprocal.
//!
//! Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994.

use super::Lowerer;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::greatest_divisor;
use crate::recover::term::TermId;

/// How many nested quotients are tried as one.
const MOST_NESTED: usize = 3;

/// The largest step of a counter that is divided by way of a reciprocal.
const MOST_UNIT: i128 = 64;

/// The binary digits of the largest factor that a normal form may have divided such a product by.
const MOST_SCALE: u32 = 6;

impl Lowerer<'_> {
    /// A term divided by a number, rounded down. A product with a reciprocal is read as a division,
    /// too.
    pub(super) fn quotient(&mut self, term: TermId, divisor: i128) -> Option<Number> {
        let number = self.natural(term)?;
        self.reciprocal(&number, divisor)
    }

    /// `number / divisor`. This may be written as a product with a reciprocal. If the factor of the
    /// product has one bit more than a word, the product is added in parts: `(a / d + b) / e` is
    /// `(a + d * b) / (d * e)`.
    pub(super) fn reciprocal(&self, number: &Number, divisor: i128) -> Option<Number> {
        let mut all = vec![(number.clone(), divisor)];
        for _ in 0..MOST_NESTED {
            let mut inside = Vec::new();
            for (number, divisor) in all {
                if let Some(quotient) = self.by_reciprocal(&number, divisor) {
                    return Some(quotient);
                }
                let nested = |atomic: &Atomic| matches!(atomic, Atomic::Quotient(..));
                if !number.parts.keys().any(nested) {
                    return number.divided(divisor);
                }
                for (atomic, factor) in &number.parts {
                    if let (Atomic::Quotient(inner, by), 1) = (atomic, factor)
                        && let Some(rest) = number.minus(&Number::of(atomic.clone()))
                        && let Some(sum) = rest.times(*by).and_then(|rest| inner.plus(&rest))
                        && let Some(product) = divisor.checked_mul(*by)
                    {
                        inside.push((sum, product));
                    }
                }
            }
            all = inside;
        }
        number.divided(divisor)
    }

    /// Let the number be `m * x`, where `m` is a rounded `divisor / d`. Then the quotient is
    /// `x / d`. For let `m * d = divisor + e` and `0 <= e * x < divisor`. Then
    /// `m * x / divisor = x / d + e * x / (d * divisor)`. What is added is less than `1 / d`: too
    /// little to come to the next integer.
    ///
    /// For `x = 4 * i + 1`, the normal form has divided `m * x / 2^34` by the 4: it is
    /// `(m * i + m / 4) / 2^32`. Multiplied by the 4 again, with any constant that is rounded to
    /// `m / 4`, it is the same number.
    fn by_reciprocal(&self, number: &Number, divisor: i128) -> Option<Number> {
        // What `x` counts in may be a factor as well.
        let factors = number.parts.values().copied();
        let common = match number.constant {
            0 => factors.reduce(greatest_divisor),
            constant => Some(factors.fold(constant.abs(), greatest_divisor)),
        };
        let factors = (1..=MOST_UNIT).filter_map(|unit| {
            common
                .filter(|common| common % unit == 0)
                .map(|all| all / unit)
        });
        for factor in factors {
            if let Some(x) = number.divided(factor)
                && let Some(quotient) = self.rounded(&x, factor, divisor)
            {
                return Some(quotient);
            }
        }
        let common = number.parts.values().copied().reduce(greatest_divisor)?;
        for times in (1..=MOST_SCALE).map(|bits| 1_i128 << bits) {
            let (common, divisor) = (common.checked_mul(times)?, divisor.checked_mul(times)?);
            for unit in (1..=MOST_UNIT).filter(|unit| common % unit == 0) {
                let factor = common / unit;
                if let Some(x) = scaled(number, times, factor)
                    && let Some(quotient) = self.rounded(&x, factor, divisor)
                {
                    return Some(quotient);
                }
            }
        }
        None
    }

    /// `factor * x / divisor`, where the factor is a rounded `divisor / d`.
    fn rounded(&self, x: &Number, factor: i128, divisor: i128) -> Option<Number> {
        if factor <= 1 || divisor % factor == 0 || !self.is_natural(x) {
            return None;
        }
        let (_, high) = self.range(x)?;
        let by = divisor.checked_add(factor - 1)? / factor;
        let error = factor.checked_mul(by)?.checked_sub(divisor)?;
        let little = error.checked_mul(high).is_some_and(|error| error < divisor);
        (error >= 0 && little).then(|| x.divided(by))?
    }
}

/// The `x` for which `factor * x`, divided by `times` and rounded down in its constant, is a number.
fn scaled(number: &Number, times: i128, factor: i128) -> Option<Number> {
    let constant = number.constant.checked_mul(times)?;
    let least = constant.checked_add(factor - 1)?.div_euclid(factor);
    let rounded = least.checked_mul(factor)?.div_euclid(times);
    if rounded != number.constant {
        return None;
    }
    let mut x = Number::constant(least);
    for (atomic, coefficient) in &number.parts {
        let coefficient = coefficient.checked_mul(times)? / factor;
        x = x.plus(&Number::of(atomic.clone()).times(coefficient)?)?;
    }
    Some(x)
}
