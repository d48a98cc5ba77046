//! The simplex method for small linear programs, in exact integers.
//!
//! The search solves thousands of programs, and most have a few dozen rows. Solving one here is faster than passing
//! it to a solver. Rows are integers, each divided by its greatest common divisor.

use super::multipliers::Row;
use super::work::Work;

/// Larger programs are left to a solver.
const MAX_ENTRIES: usize = 60_000;

/// After this many steps without progress, columns are chosen such that no state is repeated (no cycling).
const MAX_IDLE: usize = 12;

/// Steps before the program is left to a solver.
const MAX_STEPS: usize = 2_000;

/// What is known of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Values that contradict none of the rows.
    Values(Vec<(i64, i64)>),
    /// There are none.
    Infeasible,
    /// It is too large, or a number in it is.
    Unknown,
}

/// Values from 0 on of `unknowns` unknowns, for which all rows hold.
pub fn solve(rows: &[Row], unknowns: usize, work: &Work) -> Answer {
    let mut used: Vec<usize> = rows.iter().flat_map(|r| &r.terms).map(|t| t.0).collect();
    used.sort_unstable();
    used.dedup();
    if rows.len().saturating_mul(used.len()) > MAX_ENTRIES {
        return Answer::Unknown;
    }
    let Some(mut table) = Table::new(rows, &used) else {
        return Answer::Unknown;
    };
    match table.run(work) {
        Some(true) => {}
        Some(false) => return Answer::Infeasible,
        None => return Answer::Unknown,
    }
    let mut values = vec![(0, 1); unknowns];
    for (row, basic) in table.rows.iter().zip(&table.basis) {
        let Some(column) = *basic else { continue };
        let Some(value) = fraction(row[used.len()], row[column]) else {
            return Answer::Unknown;
        };
        match values.get_mut(used[column]) {
            Some(place) => *place = value,
            None => return Answer::Unknown,
        }
    }
    Answer::Values(values)
}

/// The rows as equations, whose last entry is the sum. Each row has a basic unknown. This is an unknown of the
/// program with a positive factor, or an artificial one that has to become 0.
struct Table {
    rows: Vec<Vec<i128>>,
    basis: Vec<Option<usize>>,
    /// The sum of the artificial unknowns, minus what an increase of each unknown takes from it.
    left: Vec<i128>,
}

impl Table {
    fn new(rows: &[Row], used: &[usize]) -> Option<Table> {
        let mut all = Vec::new();
        let mut left = vec![0_i128; used.len() + 1];
        for row in rows {
            let mut dense = vec![0_i128; used.len() + 1];
            for (at, times) in &row.terms {
                let column = used.binary_search(at).ok()?;
                dense[column] = dense[column].checked_add(*times)?;
            }
            dense[used.len()] = row.sum;
            if row.sum < 0 {
                for entry in &mut dense {
                    *entry = entry.checked_neg()?;
                }
            }
            for (sum, entry) in left.iter_mut().zip(&dense) {
                *sum = sum.checked_add(*entry)?;
            }
            all.push(dense);
        }
        Some(Table {
            basis: vec![None; all.len()],
            rows: all,
            left,
        })
    }

    /// Whether there are values; `None` if it is not known.
    fn run(&mut self, work: &Work) -> Option<bool> {
        let last = self.left.len() - 1;
        let mut idle = 0;
        for _ in 0..MAX_STEPS {
            if self.left[last] == 0 {
                return Some(true);
            }
            let mut columns = (0..last).filter(|at| self.left[*at] > 0);
            let column = match idle < MAX_IDLE {
                true => columns.max_by_key(|at| self.left[*at]),
                false => columns.next(),
            };
            let Some(column) = column else {
                return Some(false);
            };
            let row = self.leaving(column)?;
            idle = match self.rows[row][last] {
                0 => idle + 1,
                _ => 0,
            };
            work.add(self.pivot(row, column)?);
            if work.is_over() {
                return None;
            }
        }
        None
    }

    /// The row that limits an unknown most.
    fn leaving(&self, column: usize) -> Option<usize> {
        let last = self.left.len() - 1;
        let mut best: Option<usize> = None;
        for (at, row) in self.rows.iter().enumerate() {
            if row[column] <= 0 {
                continue;
            }
            let Some(other) = best else {
                best = Some(at);
                continue;
            };
            let this = row[last].checked_mul(self.rows[other][column])?;
            let least = self.rows[other][last].checked_mul(row[column])?;
            // Artificial unknowns leave first, then those with the lowest positions.
            if this < least || this == least && self.basis[at] < self.basis[other] {
                best = Some(at);
            }
        }
        best
    }

    /// Returns how many entries have changed.
    fn pivot(&mut self, row: usize, column: usize) -> Option<usize> {
        let chosen = self.rows[row].clone();
        let mut rows = 1_usize;
        for (at, other) in self.rows.iter_mut().enumerate() {
            if at != row && other[column] != 0 {
                eliminate(other, &chosen, column)?;
                rows += 1;
            }
        }
        eliminate(&mut self.left, &chosen, column)?;
        self.basis[row] = Some(column);
        Some(rows.saturating_mul(chosen.len()))
    }
}

/// Subtracts a multiple of an equation so that a column becomes 0.
fn eliminate(row: &mut [i128], chosen: &[i128], column: usize) -> Option<()> {
    let times = row[column];
    if times == 0 {
        return Some(());
    }
    let common = gcd(times.checked_abs()?, chosen[column]);
    let (own, times) = (chosen[column] / common, times / common);
    let mut divisor = 0;
    for (entry, other) in row.iter_mut().zip(chosen) {
        let scaled = if own == 1 {
            *entry
        } else {
            entry.checked_mul(own)?
        };
        *entry = match other {
            0 => scaled,
            _ => scaled.checked_sub(other.checked_mul(times)?)?,
        };
        if divisor != 1 && *entry != 0 {
            divisor = gcd(divisor, entry.checked_abs()?);
        }
    }
    if divisor > 1 {
        for entry in row {
            *entry /= divisor;
        }
    }
    Some(())
}

/// A fraction in lowest terms.
fn fraction(over: i128, under: i128) -> Option<(i64, i64)> {
    let common = gcd(over.checked_abs()?, under.checked_abs()?).max(1);
    let over = i64::try_from(over / common).ok()?;
    Some((over, i64::try_from(under / common).ok()?))
}

pub fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn holds(rows: &[Row], values: &[(i64, i64)]) -> bool {
        let common: i128 = values.iter().map(|(_, under)| i128::from(*under)).product();
        values.iter().all(|(over, under)| *over >= 0 && *under > 0)
            && rows.iter().all(|row| {
                let terms = row.terms.iter().map(|(at, times)| {
                    let (over, under) = values[*at];
                    times * i128::from(over) * (common / i128::from(under))
                });
                terms.sum::<i128>() == row.sum * common
            })
    }

    #[test]
    fn values_are_found_wherever_there_are_some() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut feasible = 0;
        for _ in 0..2_000 {
            let (columns, count) = (rng.random_range(1..7), rng.random_range(1..6));
            let planted: Vec<i128> = (0..columns).map(|_| rng.random_range(0..3)).collect();
            let planting = rng.random_bool(0.5);
            let rows: Vec<Row> = (0..count)
                .map(|_| {
                    let terms: Vec<(usize, i128)> = (0..columns)
                        .map(|at| (at, rng.random_range(-3..4)))
                        .filter(|(_, times)| *times != 0)
                        .collect();
                    let sum = terms.iter().map(|(at, times)| times * planted[*at]).sum();
                    let sum = if planting {
                        sum
                    } else {
                        rng.random_range(-3..4)
                    };
                    Row { terms, sum }
                })
                .collect();
            let solver = crate::fresh::context(|| {
                super::super::multipliers::by_solver(&rows, (columns, 0), 0..columns)
            });
            match solve(&rows, columns, &Work::default()) {
                Answer::Values(values) => {
                    feasible += 1;
                    assert!(holds(&rows, &values), "{rows:?} {values:?}");
                }
                Answer::Infeasible => assert!(!planting && solver.is_none(), "{rows:?}"),
                Answer::Unknown => panic!("{rows:?}"),
            }
        }
        assert!((1_000..1_900).contains(&feasible), "{feasible}");
    }

    #[test]
    fn numbers_that_do_not_fit_are_left_to_others() {
        let large = i128::MAX - 1;
        let row = |terms: &[(usize, i128)]| Row {
            terms: terms.to_vec(),
            sum: large,
        };
        let rows = [row(&[(0, large), (1, 3)]), row(&[(0, 5), (1, large)])];
        assert_eq!(solve(&rows, 2, &Work::default()), Answer::Unknown);
    }
}
