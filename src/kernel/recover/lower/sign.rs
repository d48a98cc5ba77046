//! Whether a number is at least 0 at a point of the role, by ranges and by what holds there.

use std::cell::Cell;

use super::Lowerer;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::TermId;

/// How often a number is replaced by one that is at most as large.
const DEPTH: u32 = 4;

/// How many numbers are examined in all. A number with many parts leads to more than there is time
/// for.
const MOST_NUMBERS: u32 = 4_000;

impl Lowerer<'_> {
    /// Whether a number is known to be at least 0.
    pub(super) fn is_natural(&self, number: &Number) -> bool {
        let left = Cell::new(MOST_NUMBERS);
        self.is_natural_within(number, DEPTH, &left)
            || number.tightened().is_some_and(|tight| {
                tight != *number && self.is_natural_within(&tight, DEPTH, &left)
            })
    }

    fn is_natural_within(&self, number: &Number, depth: u32, left: &Cell<u32>) -> bool {
        let Some(fewer) = left.get().checked_sub(1) else {
            return false;
        };
        left.set(fewer);
        let at_least = |number: &Number| self.range(number).is_some_and(|(low, _)| low >= 0);
        if at_least(number) {
            return true;
        }
        let by_fact = self.facts.iter().any(|fact| {
            number
                .minus(fact)
                .is_some_and(|difference| at_least(&difference))
        });
        by_fact
            || depth > 0 && self.is_natural_by_multiple(number, depth - 1, left)
            || depth > 0
                && number.parts.iter().any(|(atomic, coefficient)| {
                    self.is_natural_by(number, (atomic, *coefficient), depth - 1, left)
                        .unwrap_or(false)
                })
    }

    /// The same by a multiple of what is known to be at least 0: the one that takes the index of a loop out of the number. From
    /// `i < n / 2` follows `2 * i + 1 < n`.
    ///
    /// Sound: the number is `k * fact + rest`, where `k` is positive and both are at least 0.
    fn is_natural_by_multiple(&self, number: &Number, depth: u32, left: &Cell<u32>) -> bool {
        let indices = number.parts.iter();
        let indices = indices.filter(|(atomic, _)| matches!(atomic, Atomic::Index(_)));
        indices.into_iter().any(|(index, coefficient)| {
            self.facts.iter().any(|fact| {
                let Some(own) = fact.parts.get(index) else {
                    return false;
                };
                // Once is what is tried already.
                let times = coefficient / own;
                if times < 2 || coefficient % own != 0 {
                    return false;
                }
                let rest = fact.times(times).and_then(|fact| number.minus(&fact));
                rest.is_some_and(|rest| self.is_natural_within(&rest, depth, left))
            })
        })
    }

    /// The same by what one part is at least, or at most where its coefficient is negative.
    fn is_natural_by(
        &self,
        number: &Number,
        (atomic, coefficient): (&Atomic, i128),
        depth: u32,
        left: &Cell<u32>,
    ) -> Option<bool> {
        let rest = number.minus(&Number::of(atomic.clone()).times(coefficient)?)?;
        let natural = |number: &Number| self.is_natural_within(number, depth, left);
        let with = |part: &Number| {
            let sum = part.times(coefficient)?.plus(&rest)?;
            Some(natural(&sum))
        };
        Some(match atomic {
            Atomic::Maximum(a, b) if coefficient > 0 => with(a)? || with(b)?,
            Atomic::Minimum(a, b) if coefficient < 0 => with(a)? || with(b)?,
            Atomic::Maximum(a, b) | Atomic::Minimum(a, b) => with(a)? && with(b)?,
            Atomic::Quotient(inner, divisor) => match rest.as_constant() {
                // `c * (x / d) >= r` where `x / d >= m`, with `m` the least multiple: where `x >= m * d`.
                Some(rest) if coefficient > 0 => {
                    let least = rest.checked_neg()?.checked_add(coefficient - 1)?;
                    let least = least.div_euclid(coefficient).checked_mul(*divisor)?;
                    natural(&inner.minus(&Number::constant(least))?)
                }
                // `r - c * (x / d) >= 0` where `x / d <= m`, with `m = r / c`: where `x < (m + 1) * d`.
                Some(rest) => {
                    let most = rest.div_euclid(coefficient.checked_neg()?);
                    let most = most.checked_add(1)?.checked_mul(*divisor)?.checked_sub(1)?;
                    natural(&Number::constant(most).minus(inner)?)
                }
                // `x - d < d * (x / d) <= x`.
                _ => {
                    let bound = if coefficient > 0 {
                        inner.minus(&Number::constant(divisor - 1))?
                    } else {
                        (**inner).clone()
                    };
                    natural(&bound.times(coefficient)?.plus(&rest.times(*divisor)?)?)
                }
            },
            Atomic::Modulo(..) if coefficient > 0 => with(&Number::constant(0))?,
            Atomic::Modulo(_, divisor) => with(&divisor.minus(&Number::constant(1))?)?,
            // `x % d <= x` where `x >= 0`.
            Atomic::Remainder(inner, _) if coefficient < 0 => natural(inner) && with(inner)?,
            Atomic::Remainder(..)
            | Atomic::Product(..)
            | Atomic::Input(_)
            | Atomic::Index(_)
            | Atomic::Variable(_)
            | Atomic::Entry(_)
            | Atomic::Applied(_) => false,
        })
    }

    pub(super) fn known(&self, condition: &Condition) -> Option<bool> {
        match condition {
            Condition::Constant(truth) => Some(*truth),
            Condition::AtLeastZero(number) => {
                if self.is_natural(number) {
                    return Some(true);
                }
                let opposite = Number::constant(-1).minus(number)?;
                self.is_natural(&opposite).then_some(false)
            }
            Condition::Zero(number) => self.is_zero(number),
            Condition::NotZero(number) => self.is_zero(number).map(|zero| !zero),
            _ => None,
        }
    }

    /// The part of a condition that is not known at this point: `a && b` is `b` where `a` holds.
    pub(super) fn left_open(&self, condition: Condition) -> Condition {
        if let Some(truth) = self.known(&condition) {
            return Condition::Constant(truth);
        }
        match condition {
            Condition::And(a, b) => Condition::and(self.left_open(*a), self.left_open(*b)),
            Condition::Or(a, b) => Condition::or(self.left_open(*a), self.left_open(*b)),
            other => other,
        }
    }

    fn is_zero(&self, number: &Number) -> Option<bool> {
        let negative = number.times(-1)?;
        let one = Number::constant(1);
        match (self.is_natural(number), self.is_natural(&negative)) {
            (true, true) => Some(true),
            (true, false) => self.is_natural(&number.minus(&one)?).then_some(false),
            (false, true) => self.is_natural(&negative.minus(&one)?).then_some(false),
            (false, false) => None,
        }
    }

    /// Does something while a condition is known to hold. The condition is also given as a term.
    pub(super) fn under<T>(
        &mut self,
        term: TermId,
        condition: Option<&Condition>,
        with: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let facts = self.facts.len();
        if let Some(condition) = condition {
            self.assume(condition);
        }
        self.held.push(term);
        let result = with(self);
        self.held.pop();
        self.facts.truncate(facts);
        result
    }

    /// Adds a condition to what is known.
    fn assume(&mut self, condition: &Condition) {
        match condition {
            Condition::AtLeastZero(number) => self.learn(number),
            Condition::Zero(number) => {
                self.learn(number);
                if let Some(negative) = number.times(-1) {
                    self.learn(&negative);
                }
            }
            Condition::NotZero(number) => {
                let both = [Some(number.clone()), number.times(-1)];
                for number in both.into_iter().flatten() {
                    if self.is_natural(&number)
                        && let Some(less) = number.minus(&Number::constant(1))
                    {
                        self.learn(&less);
                    }
                }
            }
            Condition::And(a, b) => {
                self.assume(a);
                self.assume(b);
            }
            _ => {}
        }
    }

    /// Notes that a number is at least 0. Variables of the role change meanwhile, so nothing is
    /// noted of them.
    pub(super) fn learn(&mut self, number: &Number) {
        if number.has_variables() {
            return;
        }
        self.facts.push(number.clone());
        let tight = number.tightened().filter(|tight| tight != number);
        // That `n % 2` is not 0 says of `n` and `n / 2` what `n - 2 * (n / 2)` does.
        let expanded = number.without_remainders();
        let expanded = expanded.filter(|expanded| expanded != number);
        let expanded = expanded.filter(|expanded| tight.as_ref() != Some(expanded));
        self.facts.extend(tight.into_iter().chain(expanded));
    }
}
