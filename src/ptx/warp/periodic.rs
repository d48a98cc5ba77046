//! Values that come around. A sum of quotients by constants has the same value again when a number in it is moved
//! on by a period: `i % 4` by 4, and `i / 4 % 2` by 8. What is computed of such values alone comes around as well, so
//! that it is known once it has been computed for each remainder of the numbers: the instruction itself is carried
//! out, bit for bit, and the results are written as a sum with the same values. It does not matter by which bits a
//! kernel keeps its stages and phases, whether they are counted, flipped or shifted.
//!
//! The numbers are atoms that are not looked into. Each is taken to be any whole number, whatever the others are, so
//! that nothing that it may be is left out.

use super::facts::Facts;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;

/// The longest period that is looked at.
const MOST_PLACES: i128 = 64;

/// Numbers up to this are looked at one by one where they do not come around.
const MOST_SMALL: i128 = 31;

/// So many remainders of all numbers together are looked at.
const MOST_CASES: i128 = 512;

/// Values of which so many bits change are told bit by bit.
const MOST_BITS: u32 = 12;

/// How many places a loop goes on by in one iteration.
const MOST_FACTOR: i128 = 8;

/// Periods up to here are written step by step, where nothing shorter is found.
const MOST_STEPS: usize = 12;

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
    fn within(sums: &[&Sum], facts: Option<&Facts>) -> Option<Residues> {
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
    fn bases(&self, sums: &[&Sum]) -> Vec<Sum> {
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
    fn periods(&self, base: &Sum) -> Vec<i128> {
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

impl Facts {
    /// What is computed of values that come around, written as a sum.
    pub fn pointwise(
        &self,
        sums: &[&Sum],
        computed: &dyn Fn(&[i128]) -> Option<i128>,
    ) -> Option<Sum> {
        self.computed(&Residues::of(sums)?, sums, computed)
    }

    /// The same of values that come around or are small here.
    pub fn pointwise_here(
        &self,
        sums: &[&Sum],
        computed: &dyn Fn(&[i128]) -> Option<i128>,
    ) -> Option<Sum> {
        self.computed(&Residues::within(sums, Some(self))?, sums, computed)
    }

    fn computed(
        &self,
        residues: &Residues,
        sums: &[&Sum],
        computed: &dyn Fn(&[i128]) -> Option<i128>,
    ) -> Option<Sum> {
        let mut results = Vec::new();
        for at in residues.all() {
            let values: Option<Vec<i128>> = sums.iter().map(|s| residues.value(s, &at)).collect();
            let result = computed(&values?)?;
            results.push((at, result));
        }
        let (_, first) = results.first().filter(|_| !residues.is_constant())?;
        if results.iter().all(|(_, result)| result == first) {
            return Some(Sum::of(*first));
        }
        residues.bases(sums).iter().find_map(|base| {
            let tables = residues.periods(base).into_iter();
            tables
                .filter_map(|period| table(residues, base, period, &results))
                .find_map(|table| self.around(base, &table))
        })
    }

    /// The sum that is written where only the values matter.
    pub fn settled(&self, sum: &Sum) -> Option<Sum> {
        self.pointwise(&[sum], &|values| values.first().copied())
    }

    /// The least and the most that a sum is, where all numbers in it come around or are small.
    pub fn spread(&self, sum: &Sum) -> Option<(i128, i128)> {
        let residues = Residues::within(&[sum], Some(self))?;
        let values: Option<Vec<i128>> = residues
            .all()
            .iter()
            .map(|at| residues.value(sum, at))
            .collect();
        let values = values?;
        Some((*values.iter().min()?, *values.iter().max()?))
    }

    /// Whether two sums are equal for each remainder of the numbers in them.
    pub fn same_all_around(&self, a: &Sum, b: &Sum) -> bool {
        let difference = a.minus(b);
        Residues::of(&[&difference]).is_some_and(|residues| {
            let mut all = residues.all().into_iter();
            all.all(|at| residues.value(&difference, &at) == Some(0))
        })
    }

    /// One of two sums that are apart by something that comes around, as the condition does.
    pub fn chosen_around(&self, condition: &Condition, yes: &Sum, no: &Sum) -> Option<Sum> {
        let (compared, zero) = match condition {
            Condition::Zero(sum) => (sum, true),
            Condition::Negative(sum) => (sum, false),
            _ => return None,
        };
        let apart = yes.minus(no);
        let more = self.pointwise(&[compared, &apart], &|values| {
            let holds = if zero { values[0] == 0 } else { values[0] < 0 };
            Some(if holds { values[1] } else { 0 })
        })?;
        Some(no.plus(&more))
    }

    /// The sum that has the value in this place of the table where `base` has that remainder.
    pub fn around(&self, base: &Sum, table: &[i128]) -> Option<Sum> {
        let table = shortest(table);
        match table {
            [] => None,
            [one] => Some(Sum::of(*one)),
            _ => self
                .even(base, table)
                .or_else(|| self.by_bits(base, table))
                .or_else(|| self.by_steps(base, table)),
        }
    }

    /// `low + step * ((base + first) / wide % count)`.
    fn even(&self, base: &Sum, table: &[i128]) -> Option<Sum> {
        let period = table.len();
        let low = *table.iter().min()?;
        let next = *table.iter().filter(|x| **x > low).min()?;
        for wide in (1..period).rev().filter(|wide| period % wide == 0) {
            let count = period / wide;
            for first in 0..period {
                let place = |index: usize| i128::try_from((index + first) / wide % count);
                let agrees = table
                    .iter()
                    .enumerate()
                    .all(|(index, x)| place(index).is_ok_and(|p| *x == low + (next - low) * p));
                if agrees {
                    let of = |x: usize| i128::try_from(x).ok();
                    let moved = base.plus_constant(of(first)?);
                    let places = self.quotient(&moved, &Sum::of(of(wide)?))?;
                    let place = self.modulo(&places, &Sum::of(of(count)?))?;
                    return Some(place.scaled(next - low).plus_constant(low));
                }
            }
        }
        self.uneven(base, table, low, next - low)
    }

    /// `low + step * ((factor * base + first) / wide % count)`, as where a loop goes on by more than one place.
    fn uneven(&self, base: &Sum, table: &[i128], low: i128, step: i128) -> Option<Sum> {
        let period = i128::try_from(table.len()).ok()?;
        let count = (*table.iter().max()? - low) / step + 1;
        if count > period {
            return None;
        }
        for factor in 2..=MOST_FACTOR {
            for wide in 1..=2 * period {
                let around = wide * count;
                if around != period * gcd(factor, around) {
                    continue;
                }
                let agrees = |first: &i128| {
                    (0..).zip(table).all(|(index, x)| {
                        let place = (factor * index + first) / wide % count;
                        *x == low + step * place
                    })
                };
                if let Some(first) = (0..around).find(agrees) {
                    let moved = base.scaled(factor).plus_constant(first);
                    let places = self.quotient(&moved, &Sum::of(wide))?;
                    let place = self.modulo(&places, &Sum::of(count))?;
                    return Some(place.scaled(step).plus_constant(low));
                }
            }
        }
        None
    }

    /// Bit by bit, where each bit that changes does so evenly.
    fn by_bits(&self, base: &Sum, table: &[i128]) -> Option<Sum> {
        let first = *table.first()?;
        let changing = table.iter().fold(0, |all, x| all | (x ^ first));
        if changing < 0 || changing.count_ones() > MOST_BITS || changing.count_ones() < 2 {
            return None;
        }
        let mut sum = Sum::of(first & !changing);
        for bit in (0..127).filter(|bit| changing >> bit & 1 == 1) {
            let bits: Vec<i128> = table.iter().map(|x| x >> bit & 1).collect();
            sum = sum.plus_times(&self.even(base, shortest(&bits))?, 1 << bit);
        }
        Some(sum)
    }

    /// `first + step * ((base + period - place) / period - base / period) + ..`.
    fn by_steps(&self, base: &Sum, table: &[i128]) -> Option<Sum> {
        if table.len() > MOST_STEPS {
            return None;
        }
        let period = i128::try_from(table.len()).ok()?;
        let around = Sum::of(period);
        let before = self.quotient(base, &around)?;
        let mut sum = Sum::of(*table.first()?);
        for (place, pair) in (1..).zip(table.windows(2)) {
            let behind = self.quotient(&base.plus_constant(period - place), &around)?;
            sum = sum.plus_times(&behind.minus(&before), pair[1] - pair[0]);
        }
        Some(sum)
    }
}

/// What was computed, by the remainder of a sum of the numbers; none if that does not tell it.
fn table(
    residues: &Residues,
    base: &Sum,
    period: i128,
    results: &[(Vec<i128>, i128)],
) -> Option<Vec<i128>> {
    let mut places = vec![None; usize::try_from(period).ok()?];
    for (at, result) in results {
        let place = residues.value(base, at)?.rem_euclid(period);
        let slot = places.get_mut(usize::try_from(place).ok()?)?;
        if *slot.get_or_insert(*result) != *result {
            return None;
        }
    }
    // Places that no number leads to may hold anything.
    let mut last = *places.iter().flatten().next()?;
    let filled = places.into_iter().map(|place| {
        last = place.unwrap_or(last);
        last
    });
    Some(filled.collect())
}

/// The beginning of a table after which it goes on from its beginning.
pub(in crate::ptx) fn shortest(table: &[i128]) -> &[i128] {
    let whole = |length: &usize| {
        table.len() % length == 0 && (*length..table.len()).all(|i| table[i] == table[i - length])
    };
    let length = (1..=table.len()).find(whole).unwrap_or(0);
    &table[..length]
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

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    let all = a / gcd(a, b) * b;
    (all <= MOST_PLACES).then_some(all)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::term::Unknown;
    use super::*;

    /// What is computed of random rings, whichever way it is written, has the values that it has step by step, also of
    /// numbers far beyond the periods.
    #[test]
    fn what_comes_around_keeps_its_value() {
        let (mut found, mut small) = (0, 0);
        for seed in 0..3000 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut facts = Facts::default();
            facts.bound(Unknown(0), 0, 1 << 20);
            facts.bound(Unknown(1), -100, 1 << 20);
            facts.bound(Unknown(2), 0, 3);
            let ring = |random: &mut ChaCha8Rng| {
                let mut all = Sum::of(random.random_range(-3..6));
                for number in 0..2 {
                    let one = Sum::unknown(Unknown(number));
                    all =
                        all.plus_times(&one, random.random_range(0..5) * random.random_range(0..2));
                }
                let by = Sum::of(random.random_range(1..5));
                let size = Sum::of(random.random_range(2..5));
                let turns = facts.quotient(&all, &by).unwrap();
                facts.modulo(&turns, &size).unwrap()
            };
            let (a, mut b) = (ring(&mut random), ring(&mut random));
            let here = random.random_range(0..4) == 0;
            if here {
                b = Sum::unknown(Unknown(2));
            }
            let computed = |values: &[i128]| Some((values[0] << 2) ^ values[1]);
            let sum = if here {
                facts.pointwise_here(&[&a, &b], &computed)
            } else {
                facts.pointwise(&[&a, &b], &computed)
            };
            let Some(sum) = sum else { continue };
            found += 1;
            small += usize::from(here);
            for _ in 0..20 {
                let at = [
                    random.random_range(0..1 << 20),
                    random.random_range(-100..1 << 20),
                    random.random_range(0..=3),
                ];
                let open = Facts::default();
                let with = |u: Unknown| Some(Sum::of(at[u.0 as usize]));
                let value = |sum: &Sum| open.replaced(sum, &with).as_constant();
                let parts = [value(&a).unwrap(), value(&b).unwrap()];
                assert_eq!(value(&sum), computed(&parts), "seed {seed}");
            }
        }
        assert!(
            found > 500 && small > 50,
            "{found} found, {small} of them small"
        );
    }

    /// Every table is written as a sum with its values.
    #[test]
    fn tables_are_written_as_they_are() {
        let facts = Facts::default();
        let mut written = 0;
        for seed in 0..2000 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let length = random.random_range(1..=12);
            let most = [1, 3, 20][random.random_range(0..3)];
            let table: Vec<i128> = (0..length).map(|_| random.random_range(0..=most)).collect();
            let base = Sum::unknown(Unknown(0));
            let sum = facts.around(&base, &table).unwrap();
            written += 1;
            for at in -40i128..40 {
                let with = |_: Unknown| Some(Sum::of(at));
                let place = usize::try_from(at.rem_euclid(length)).unwrap();
                assert_eq!(
                    facts.replaced(&sum, &with),
                    Sum::of(table[place]),
                    "seed {seed}"
                );
            }
        }
        assert_eq!(written, 2000);
    }
}
