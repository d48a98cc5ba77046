//! Periodic values. If an instruction has only periodic operands, its result is periodic, too. So the instruction is
//! executed bit for bit once for each remainder, and the results are written as a sum of periodic terms. Kernels keep
//! stages and phases in different ways: they count, flip or shift bits. This works for all of them.

use super::facts::Facts;
use super::residues::Residues;
use super::residues::gcd;
use super::term::Condition;
use super::term::Sum;

/// Values of which so many bits change are told bit by bit.
const MOST_BITS: u32 = 12;

/// How many places a loop goes on by in one iteration.
const MOST_FACTOR: i128 = 8;

/// Periods up to here are written step by step, where nothing shorter is found.
const MOST_STEPS: usize = 12;

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
    pub fn by_values(&self, sum: &Sum) -> Option<Sum> {
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
        for wide in (1..period)
            .rev()
            .filter(|wide| period.is_multiple_of(*wide))
        {
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
        table.len().is_multiple_of(*length)
            && (*length..table.len()).all(|i| table[i] == table[i - length])
    };
    let length = (1..=table.len()).find(whole).unwrap_or(0);
    &table[..length]
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
