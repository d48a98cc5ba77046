//! Inputs that matter only through a quotient: the quotient becomes the input.
//!
//! For example, a loop has `(k + 63) / 64` iterations, and there is a test `k >= 65`. Let `q = (k + 63) / 64`, which
//! takes every value from 0 on. Over `q`, the loop has `q` iterations, and the test is `q >= 2`. Proofs then need no
//! division.
//!
//! For a divisor `d` and a summand `r` from 0 to `d - 1`, with `q = (k + r) / d` and any `s`:
//!
//! - `(k + d*s + c) / (d*e) = (q + s + (c - r)/d) / e`, where `d` divides `c - r`;
//! - `k + d*s + c >= 0` if and only if `q + s + (c - r)/d >= 0`, where `d` divides `c - r`;
//! - `-k + d*s + c >= 0` if and only if `-q + s + (c + r + 1)/d - 1 >= 0`, where `d` divides `c + r + 1`.
//!
//! The first two are `(k + c) / d = q + (c - r)/d`. The third is the negation of the second. An equation between
//! quotients may be written with `k % d`. An input that occurs in any other way stays what it is.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::recover::lower::Inputs;
use crate::recover::lower::Origin;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::number::greatest_divisor;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::role_ir::Role;

/// Replaces inputs by quotients.
pub fn quotients(roles: &mut [Role], inputs: &mut Inputs) {
    // A quotient of a quotient is found when its input is examined.
    let mut input = 0;
    while input < inputs.all.len() {
        if let Some(change) = Change::of(roles, inputs, input)
            && let Some(changed) = change.applied(roles)
        {
            change.declare(inputs, input);
            roles.clone_from_slice(&changed);
        }
        input += 1;
    }
}

/// Puts `(input + summand) / divisor` in the place of an input.
struct Change {
    input: Atomic,
    summand: i128,
    divisor: i128,
    new: Number,
}

impl Change {
    /// The quotient from which all other uses of an input follow, if there is one.
    fn of(roles: &[Role], inputs: &Inputs, input: usize) -> Option<Self> {
        let input = Atomic::Input(u32::try_from(input).ok()?);
        let mut found: BTreeSet<(i128, i128)> = BTreeSet::new();
        let mut look = |number: &Number| {
            number.each(&mut |atomic| {
                if let Atomic::Quotient(inner, divisor) = atomic
                    && inner.parts.contains_key(&input)
                {
                    let others = inner.parts.iter().filter(|(part, _)| **part != input);
                    let divisor = others.fold(*divisor, |divisor, (_, coefficient)| {
                        greatest_divisor(divisor, *coefficient)
                    });
                    found.insert((divisor, inner.constant));
                }
            });
        };
        for role in roles {
            let mut lines = role.lines.clone();
            numbers(&mut lines, &mut |number| look(number));
            conditions(&mut lines, &mut |condition| condition.each(&mut look));
        }
        let divisor = found
            .iter()
            .map(|(divisor, _)| *divisor)
            .reduce(greatest_divisor)?;
        let (_, constant) = found.first()?;
        let new = u32::try_from(inputs.all.len()).ok()?;
        (divisor > 1).then(|| Self {
            input,
            summand: constant.rem_euclid(divisor),
            divisor,
            new: Number::of(Atomic::Input(new)),
        })
    }

    fn declare(&self, inputs: &mut Inputs, input: usize) {
        let old = inputs.all[input].clone();
        let (above, suffix) = match self.summand {
            0 => (old.meaning.clone(), ""),
            summand if summand == self.divisor - 1 => {
                (format!("({} + {summand})", old.meaning), "_up")
            }
            summand => (format!("({} + {summand})", old.meaning), ""),
        };
        let divisor = self.divisor;
        let mut inner = Number::of(self.input.clone());
        inner.constant = self.summand;
        let (low, high) = old.range;
        inputs.add(
            format!("{}_over_{divisor}{suffix}", old.name),
            format!("{above} / {divisor}"),
            inputs.words[input].clone(),
            (
                (low + self.summand).div_euclid(divisor),
                (high + self.summand).div_euclid(divisor),
            ),
            Origin::Number(Number::of(Atomic::Quotient(Box::new(inner), divisor))),
        );
    }

    /// The roles over the quotient. `None` if the input also occurs in another way.
    fn applied(&self, roles: &[Role]) -> Option<Vec<Role>> {
        let failed = Cell::new(false);
        let mut changed = roles.to_vec();
        for role in &mut changed {
            numbers(&mut role.lines, &mut |number| match self.number(number) {
                Some(new) => *number = new,
                None => failed.set(true),
            });
            conditions(
                &mut role.lines,
                &mut |condition| match self.condition(condition) {
                    Some(new) => *condition = new,
                    None => failed.set(true),
                },
            );
        }
        (!failed.get()).then_some(changed)
    }

    fn number(&self, number: &Number) -> Option<Number> {
        let failed = Cell::new(false);
        let replaced = number.replaced(&|atomic| match atomic {
            Atomic::Quotient(inner, divisor) if inner.parts.contains_key(&self.input) => {
                let new = self.quotient(inner, *divisor);
                failed.set(failed.get() || new.is_none());
                new
            }
            atomic => {
                failed.set(failed.get() || *atomic == self.input);
                None
            }
        })?;
        (!failed.get()).then_some(replaced)
    }

    fn quotient(&self, inner: &Number, divisor: i128) -> Option<Number> {
        if divisor % self.divisor != 0 || inner.parts.get(&self.input) != Some(&1) {
            return None;
        }
        let sum = self.shifted(inner, -self.summand)?;
        self.new.plus(&sum)?.divided(divisor / self.divisor)
    }

    /// The terms beside the input plus a number, divided without a remainder.
    fn shifted(&self, sum: &Number, by: i128) -> Option<Number> {
        let mut rest = sum.clone();
        rest.parts.remove(&self.input);
        let rest = self.number(&rest)?;
        let whole = rest.plus(&Number::constant(by))?;
        let multiple = |n: &i128| n % self.divisor == 0;
        (multiple(&whole.constant) && whole.parts.values().all(multiple))
            .then(|| whole.divided(self.divisor))
            .flatten()
    }

    /// `number == 0`; `k % d` may stand for `k - d * (k / d)`.
    fn zero(&self, number: &Number) -> Option<Condition> {
        let plain = self.number(number);
        let number = plain.or_else(|| self.number(&number.without_remainders()?))?;
        let factors = number.parts.values().copied();
        Some(match factors.fold(0, greatest_divisor) {
            0 => Condition::zero(number),
            factor if number.constant % factor != 0 => Condition::Constant(false),
            factor => Condition::zero(number.divided(factor)?),
        })
    }

    fn condition(&self, condition: &Condition) -> Option<Condition> {
        Some(match condition {
            Condition::Constant(truth) => Condition::Constant(*truth),
            Condition::AtLeastZero(number) => match number.parts.get(&self.input) {
                None => Condition::at_least_zero(self.number(number)?),
                Some(1) => {
                    let rest = self.shifted(number, -self.summand)?;
                    Condition::at_least_zero(rest.plus(&self.new)?)
                }
                Some(-1) => {
                    let rest = self.shifted(number, self.summand + 1)?;
                    Condition::at_least_zero(rest.minus(&self.new)?.minus(&Number::constant(1))?)
                }
                Some(_) => return None,
            },
            Condition::Zero(number) => self.zero(number)?,
            Condition::NotZero(number) => self.zero(number)?.negated()?,
            Condition::And(a, b) => Condition::and(self.condition(a)?, self.condition(b)?),
            Condition::Or(a, b) => Condition::or(self.condition(a)?, self.condition(b)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIVISORS: [(i128, i128); 3] = [(4, 0), (4, 3), (3, 1)];

    fn change(divisor: i128, summand: i128) -> Change {
        Change {
            input: Atomic::Input(0),
            summand,
            divisor,
            new: Number::of(Atomic::Input(1)),
        }
    }

    /// `factor * k + beside * i + constant` for small numbers.
    fn sums(divisor: i128) -> Vec<Number> {
        let mut sums = Vec::new();
        for factor in [-1, 1] {
            for beside in [-2 * divisor, 0, 3, divisor] {
                for constant in -9..9 {
                    let mut sum = Number::of(Atomic::Input(0)).times(factor).unwrap();
                    let index = Number::of(Atomic::Index(0)).times(beside).unwrap();
                    sum = sum.plus(&index).unwrap();
                    sum.constant = constant;
                    sums.push(sum);
                }
            }
        }
        sums
    }

    /// The values of the input, of the quotient and of an index.
    fn values(change: &Change) -> Vec<impl Fn(&Atomic) -> Option<i128> + '_> {
        let mut all = Vec::new();
        for k in 0..40 {
            for index in 0..3 {
                all.push(move |atomic: &Atomic| {
                    Some(match atomic {
                        Atomic::Input(0) => k,
                        Atomic::Input(_) => (k + change.summand).div_euclid(change.divisor),
                        _ => index,
                    })
                });
            }
        }
        all
    }

    #[test]
    fn quotients_keep_their_value() {
        let mut rewritten = 0;
        for (divisor, summand) in DIVISORS {
            let change = change(divisor, summand);
            for (sum, times) in sums(divisor)
                .into_iter()
                .flat_map(|s| [(s.clone(), 1), (s, 2)])
            {
                let old = Number::of(Atomic::Quotient(Box::new(sum), divisor * times));
                let Some(new) = change.number(&old) else {
                    continue;
                };
                rewritten += 1;
                for of in values(&change) {
                    assert_eq!(new.value(&of), old.value(&of), "{old:?}");
                }
            }
        }
        assert_eq!(rewritten, 108);
    }

    #[test]
    fn conditions_hold_as_before() {
        let mut rewritten = 0;
        for (divisor, summand) in DIVISORS {
            let change = change(divisor, summand);
            for sum in sums(divisor) {
                let old = Condition::AtLeastZero(sum);
                let Some(new) = change.condition(&old) else {
                    continue;
                };
                rewritten += 1;
                for of in values(&change) {
                    assert_eq!(new.holds(&of), old.holds(&of), "{old:?}");
                }
            }
        }
        assert_eq!(rewritten, 108);
    }
}
