//! Periodic sums: `i % 4` has the same value again when `i` grows by 4, and `i / 4 % 2` when it grows by 8. This
//! module finds such periods of sums of quotients by constants.
//!
//! The numbers in a sum, such as `i`, are atoms. Each may be any integer, independently of the others. This is an
//! overapproximation, so no value is missed.

use super::facts::Facts;
use super::term::Atom;
use super::term::Sum;

/// The longest period that is looked at.
const MOST_PLACES: i128 = 64;

/// Numbers up to this are looked at one by one where they do not come around.
const MOST_SMALL: i128 = 31;

/// So many remainders of all numbers together are looked at.
const MOST_CASES: i128 = 512;

/// The numbers that sums are made of, and after how many they come around.
pub(in crate::ptx) struct Residues {
    /// Those that do not come around are below what stands beside them.
    numbers: Vec<(Atom, i128, bool)>,
}

impl Residues {
    /// Of sums that come around with all of their numbers.
    pub fn of(sums: &[&Sum]) -> Option<Residues> {
        Residues::within(sums, None)
    }

    /// Of sums that come around with their numbers, or of which the numbers are small where something is known.
    pub(super) fn within(sums: &[&Sum], facts: Option<&Facts>) -> Option<Residues> {
        let mut found = Vec::new();
        for sum in sums {
            leaves(sum, &mut Vec::new(), &mut found)?;
        }
        let mut numbers: Vec<(Atom, i128, bool)> = Vec::new();
        for (leaf, _) in &found {
            let mut paths = found
                .iter()
                .filter(|(l, _)| l == leaf)
                .map(|(_, path)| path);
            let mut common = paths.next()?.clone();
            for path in paths {
                let (a, b) = (common.iter().rev(), path.iter().rev());
                let alike = a.zip(b).take_while(|(a, b)| a == b).count();
                common = common.split_off(common.len() - alike);
            }
            let number = common.first().copied().unwrap_or(leaf);
            if !numbers.iter().any(|(other, ..)| other == number) {
                numbers.push((number.clone(), 1, true));
            }
        }
        let own: Vec<Atom> = numbers.iter().map(|(number, ..)| number.clone()).collect();
        let mut cases = 1;
        for (number, period, around) in &mut numbers {
            for sum in sums {
                *period = lcm(*period, whole(sum, number, &own)?)?;
            }
            let mut moves = false;
            for sum in sums {
                moves |= further(sum, number, *period, &own)? != 0;
            }
            if moves {
                let (low, high) = facts?.range(&Sum::atom(number.clone()));
                if low < 0 || high > MOST_SMALL {
                    return None;
                }
                *period = high + 1;
                *around = false;
            }
            cases *= *period;
            if cases > MOST_CASES {
                return None;
            }
        }
        Some(Residues { numbers })
    }

    /// Whether there is nothing that could change.
    pub fn is_constant(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// All remainders of the numbers, 0 of all first.
    pub fn all(&self) -> Vec<Vec<i128>> {
        let mut all = vec![Vec::new()];
        for (_, period, _) in &self.numbers {
            all = all
                .iter()
                .flat_map(|before: &Vec<i128>| {
                    (0..*period).map(move |own| {
                        let mut values = before.clone();
                        values.push(own);
                        values
                    })
                })
                .collect();
        }
        all
    }

    /// What a sum is as one number goes on from 0 and the others stay there.
    pub fn along(&self, sum: &Sum, number: usize) -> Option<Vec<i128>> {
        let mut at = vec![0; self.numbers.len()];
        let most = self
            .numbers
            .iter()
            .try_fold(1, |all, (_, own, _)| lcm(all, *own))?;
        (0..most)
            .map(|place| {
                *at.get_mut(number)? = place;
                self.value(sum, &at)
            })
            .collect()
    }

    /// What a sum is where the numbers are these.
    pub fn value(&self, sum: &Sum, at: &[i128]) -> Option<i128> {
        let mut value = sum.constant;
        for (atom, factor) in &sum.terms {
            let own = self.numbers.iter().position(|(number, ..)| number == atom);
            let one = match (own, atom) {
                (Some(index), _) => *at.get(index)?,
                (None, Atom::Quotient(dividend, divisor)) => {
                    let divisor = divisor.as_constant().filter(|k| *k > 0)?;
                    self.value(dividend, at)?.div_euclid(divisor)
                }
                _ => return None,
            };
            value += one * factor;
        }
        Some(value)
    }

    /// The sum that is linear in the numbers and has these values, up to multiples of a period, for each of their
    /// remainders.
    pub fn linear(&self, period: i128, value: &dyn Fn(&[i128]) -> Option<i128>) -> Option<Sum> {
        let mut at = vec![0; self.numbers.len()];
        let first = value(&at)?;
        let mut sum = Sum::of(first);
        let mut slopes = Vec::new();
        for (index, (number, own, _)) in self.numbers.iter().enumerate() {
            let slope = if *own > 1 {
                at[index] = 1;
                let slope = (value(&at)? - first).rem_euclid(period);
                at[index] = 0;
                slope
            } else {
                0
            };
            if slope * own % period != 0 {
                return None;
            }
            sum = sum.plus_times(&Sum::atom(number.clone()), slope);
            slopes.push(slope);
        }
        let agrees = |at: &Vec<i128>| {
            let steps = at.iter().zip(&slopes).map(|(x, slope)| x * slope);
            let here = first + steps.sum::<i128>();
            value(at).is_some_and(|value| (value - here) % period == 0)
        };
        self.all().iter().all(agrees).then_some(sum)
    }

    /// The sums that results may be written with: one of the numbers, and what is divided in these sums.
    pub(super) fn bases(&self, sums: &[&Sum]) -> Vec<Sum> {
        let number = |(number, ..): &(Atom, i128, bool)| Sum::atom(number.clone());
        let mut bases: Vec<Sum> = self.numbers.iter().map(number).collect();
        bases.extend(self.side_by_side());
        for sum in sums {
            self.divided(sum, &mut bases);
        }
        bases
    }

    /// Small numbers, and one that comes around above them: all that they are together.
    fn side_by_side(&self) -> Option<Sum> {
        let (around, small): (Vec<_>, Vec<_>) =
            self.numbers.iter().partition(|(.., around)| *around);
        let [(number, ..)] = around.as_slice() else {
            return None;
        };
        let mut factor = 1;
        let mut all = Sum::of(0);
        for (small, size, _) in &small {
            all = all.plus_times(&Sum::atom(small.clone()), factor);
            factor *= power_of_two(*size);
        }
        let together = !small.is_empty() && factor <= MOST_PLACES;
        together.then(|| all.plus_times(&Sum::atom(number.clone()), factor))
    }

    /// After how many a sum of the numbers is in the same place of a table again whenever one of them comes around.
    pub(super) fn periods(&self, base: &Sum) -> Vec<i128> {
        let inside = |(number, own, around): &(Atom, i128, bool)| {
            let factor = *base.terms.get(number)?;
            Some((factor, *own, *around))
        };
        let numbers: Vec<(i128, i128, bool)> = self.numbers.iter().filter_map(inside).collect();
        let all = |of: &dyn Fn(i128, i128) -> i128| {
            numbers.iter().try_fold(1, |all, (factor, own, around)| {
                let own = if *around {
                    of(*factor, *own)
                } else {
                    power_of_two(*own)
                };
                lcm(all, own)
            })
        };
        let whole = |period: &i128| {
            let mut around = numbers.iter().filter(|(_, _, around)| *around);
            around.all(|(factor, own, _)| factor * own % period == 0)
        };
        let plain = all(&|_, own| own);
        let wide = all(&|factor, own| factor.abs() * own).filter(|wide| Some(*wide) != plain);
        plain.into_iter().chain(wide).filter(whole).collect()
    }

    fn divided(&self, sum: &Sum, bases: &mut Vec<Sum>) {
        let number = |atom: &Atom| self.numbers.iter().any(|(number, ..)| number == atom);
        for atom in sum.terms.keys().filter(|atom| !number(atom)) {
            if let Atom::Quotient(dividend, _) = atom {
                let base = dividend.plus_constant(-dividend.constant);
                if base.terms.keys().all(number) && !bases.contains(&base) {
                    bases.push(base);
                }
                self.divided(dividend, bases);
            }
        }
    }
}

/// The atoms in a sum that are no quotients by constants, each with the quotients around it.
fn leaves<'s>(
    sum: &'s Sum,
    path: &mut Vec<&'s Atom>,
    found: &mut Vec<(&'s Atom, Vec<&'s Atom>)>,
) -> Option<()> {
    for atom in sum.terms.keys() {
        match atom {
            Atom::Quotient(dividend, divisor) if divisor.as_constant().is_some_and(|k| k > 0) => {
                path.push(atom);
                leaves(dividend, path, found)?;
                path.pop();
            }
            Atom::Choice(..) | Atom::Count(..) => return None,
            _ => found.push((atom, path.clone())),
        }
    }
    Some(())
}

/// By how much a number has to be moved on so that no quotient leaves a remainder of that.
fn whole(sum: &Sum, number: &Atom, own: &[Atom]) -> Option<i128> {
    let mut all = 1;
    for atom in sum.terms.keys().filter(|atom| !own.contains(atom)) {
        if let Atom::Quotient(dividend, divisor) = atom
            && has(dividend, number, own)
        {
            let inside = whole(dividend, number, own)?;
            let period = inside.checked_mul(divisor.as_constant()?)?;
            all = lcm(all, period)?;
        }
    }
    (all <= MOST_PLACES).then_some(all)
}

fn has(sum: &Sum, number: &Atom, own: &[Atom]) -> bool {
    sum.terms.keys().any(|atom| match atom {
        atom if atom == number => true,
        atom if own.contains(atom) => false,
        Atom::Quotient(dividend, _) => has(dividend, number, own),
        _ => false,
    })
}

/// By how much a sum grows when a number grows by so much; none if that is not the same everywhere.
fn further(sum: &Sum, number: &Atom, step: i128, own: &[Atom]) -> Option<i128> {
    let mut all = 0i128;
    for (atom, factor) in &sum.terms {
        let one = match atom {
            atom if atom == number => step,
            atom if own.contains(atom) => 0,
            Atom::Quotient(dividend, divisor) => {
                let (inside, by) = (
                    further(dividend, number, step, own)?,
                    divisor.as_constant()?,
                );
                if inside % by != 0 {
                    return None;
                }
                inside / by
            }
            _ => 0,
        };
        all = all.checked_add(one.checked_mul(*factor)?)?;
    }
    Some(all)
}

fn power_of_two(least: i128) -> i128 {
    let mut power = 1;
    while power < least {
        power *= 2;
    }
    power
}

pub(super) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    let all = a / gcd(a, b) * b;
    (all <= MOST_PLACES).then_some(all)
}
