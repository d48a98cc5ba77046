//! The dual simplex method in exact integers: finds the least solution of linear inequalities that are added one by
//! one.
//!
//! All unknowns are at least 0, and their total cost is minimal. They begin at 0. If a new inequality does not hold,
//! the solution moves just far enough to satisfy it. So the earlier inequalities need not be solved again.

use super::simplex::gcd;
use super::work::Work;

/// After this many steps without progress, unknowns are chosen such that no state is repeated (no cycling).
const MAX_IDLE: usize = 50;

/// Why there is no solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The inequalities contradict each other.
    Solution,
    /// A number does not fit, or there is too much to do.
    Answer,
}

/// Unknowns, by position: first those of the program, and then one slack for each inequality. The slack is the left
/// side minus the right side.
#[derive(Debug)]
pub struct Least {
    unknowns: usize,
    /// The nonbasic unknowns, which are 0, by column.
    zero: Vec<usize>,
    /// The basic unknowns, one for each row.
    rows: Vec<Row>,
    /// The row or column of each unknown.
    places: Vec<Place>,
    /// The costs, as a row of an additional unknown.
    costs: Row,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Column(usize),
    Row(usize),
}

/// `times * unknown + entries . zero = sum`.
#[derive(Debug, Clone)]
struct Row {
    unknown: usize,
    times: i128,
    entries: Vec<i128>,
    sum: i128,
}

impl Least {
    /// Unknowns with these costs. No cost is negative.
    pub fn new(costs: &[i128]) -> Option<Least> {
        let entries = costs.iter().map(|cost| cost.checked_neg());
        Some(Least {
            unknowns: costs.len(),
            zero: (0..costs.len()).collect(),
            rows: Vec::new(),
            places: (0..costs.len()).map(Place::Column).collect(),
            costs: Row {
                unknown: usize::MAX,
                times: 1,
                entries: entries.collect::<Option<_>>()?,
                sum: 0,
            },
        })
    }

    /// The values, as fractions.
    pub fn values(&self) -> Vec<(i128, i128)> {
        let value = |place: &Place| match place {
            Place::Column(_) => (0, 1),
            Place::Row(at) => (self.rows[*at].sum, self.rows[*at].times),
        };
        self.places.iter().take(self.unknowns).map(value).collect()
    }

    /// Requires that a sum is at least a number.
    pub fn require(
        &mut self,
        terms: &[(usize, i128)],
        least: i128,
        work: &Work,
    ) -> Result<(), Without> {
        self.add(terms, least).ok_or(Without::Answer)?;
        self.repair(work)
    }

    fn add(&mut self, terms: &[(usize, i128)], least: i128) -> Option<()> {
        let unknown = self.places.len();
        let mut row = Row {
            unknown,
            times: 1,
            entries: vec![0; self.zero.len()],
            sum: least.checked_neg()?,
        };
        for (at, times) in terms {
            match self.places.get(*at)? {
                Place::Column(column) => {
                    let entry = &mut row.entries[*column];
                    *entry = entry.checked_sub(times.checked_mul(row.times)?)?;
                }
                Place::Row(other) => {
                    let other = &self.rows[*other];
                    let times = times.checked_mul(row.times)?;
                    let common = gcd(times.checked_abs()?, other.times);
                    row.combine(other.times / common, times / common, other)?;
                }
            }
        }
        self.places.push(Place::Row(self.rows.len()));
        self.rows.push(row);
        Some(())
    }

    /// Moves to the least solution.
    fn repair(&mut self, work: &Work) -> Result<(), Without> {
        let mut idle = 0;
        while let Some(row) = self.leaving(idle >= MAX_IDLE) {
            let column = self.entering(row, idle >= MAX_IDLE);
            let column = column.ok_or(Without::Answer)?.ok_or(Without::Solution)?;
            idle = match self.costs.entries[column] {
                0 => idle + 1,
                _ => 0,
            };
            work.add(self.pivot(row, column).ok_or(Without::Answer)?);
            if work.is_over() {
                return Err(Without::Answer);
            }
        }
        Ok(())
    }

    /// A negative unknown: the one that is furthest below 0 in proportion, or the first one.
    fn leaving(&self, first: bool) -> Option<usize> {
        let rows = self.rows.iter().enumerate();
        let below = rows.filter(|(_, row)| row.sum < 0);
        let found = match first {
            true => below.min_by_key(|(_, row)| row.unknown),
            false => below.min_by_key(|(_, row)| (row.sum, row.unknown)),
        };
        found.map(|(at, _)| at)
    }

    /// The unknown that replaces it at the least cost. `None` if a number does not fit.
    #[expect(clippy::option_option)]
    fn entering(&self, row: usize, first: bool) -> Option<Option<usize>> {
        let row = &self.rows[row];
        let mut best: Option<usize> = None;
        for (at, entry) in row.entries.iter().enumerate() {
            if *entry >= 0 {
                continue;
            }
            let Some(other) = best else {
                best = Some(at);
                continue;
            };
            // Costs and entries are negative, so quotients compare as products do.
            let this = self.costs.entries[at].checked_mul(row.entries[other])?;
            let least = self.costs.entries[other].checked_mul(*entry)?;
            let better = match this.cmp(&least) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Greater => false,
                // Large entries keep numbers small. The unknown with the lowest position prevents cycling.
                std::cmp::Ordering::Equal if first => self.zero[at] < self.zero[other],
                std::cmp::Ordering::Equal => *entry < row.entries[other],
            };
            if better {
                best = Some(at);
            }
        }
        Some(best)
    }

    /// Exchanges a nonbasic unknown for a basic one. Returns how many entries have changed.
    fn pivot(&mut self, at: usize, column: usize) -> Option<usize> {
        let mut work = 0_usize;
        let mut row = self.rows[at].clone();
        let (enters, leaves) = (self.zero[column], row.unknown);
        // The same equation with the other sign, solved for the other unknown.
        let own = row.entries[column];
        row.entries[column] = row.times;
        for entry in &mut row.entries {
            *entry = entry.checked_neg()?;
        }
        row.times = own.checked_neg()?;
        row.sum = row.sum.checked_neg()?;
        row.unknown = enters;
        let others = self.rows.iter_mut().enumerate();
        let others = others.filter(|(other, _)| *other != at);
        for other in others.map(|(_, row)| row).chain([&mut self.costs]) {
            let times = other.entries[column];
            if times == 0 {
                continue;
            }
            let common = gcd(times.checked_abs()?, row.times);
            // The new column comes from the row alone.
            other.entries[column] = 0;
            let less = (times / common).checked_neg()?;
            other.combine(row.times / common, less, &row)?;
            work = work.saturating_add(row.entries.len());
        }
        self.rows[at] = row;
        self.zero[column] = leaves;
        self.places[enters] = Place::Row(at);
        self.places[leaves] = Place::Column(column);
        Some(work)
    }
}

impl Row {
    /// A multiple of this row plus a multiple of another one, divided by the greatest common divisor.
    fn combine(&mut self, own: i128, times: i128, other: &Row) -> Option<()> {
        self.times = self.times.checked_mul(own)?;
        let mut divisor = self.times;
        let entries = self.entries.iter_mut().chain([&mut self.sum]);
        let others = other.entries.iter().chain([&other.sum]);
        for (entry, other) in entries.zip(others) {
            if own != 1 {
                *entry = entry.checked_mul(own)?;
            }
            if *other != 0 {
                *entry = entry.checked_add(other.checked_mul(times)?)?;
            }
            if divisor != 1 && *entry != 0 {
                divisor = gcd(divisor, entry.checked_abs()?);
            }
        }
        if divisor > 1 {
            self.times /= divisor;
            for entry in self.entries.iter_mut().chain([&mut self.sum]) {
                *entry /= divisor;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::order::multipliers;
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    type Inequality = (Vec<(usize, i128)>, i128);

    /// The least cost of values from 0 on for which all inequalities hold, as a fraction. `None` if
    /// there are no such values.
    fn solved(costs: &[i128], all: &[Inequality]) -> Option<(i128, i128)> {
        let mut least = Least::new(costs).unwrap();
        for (terms, number) in all {
            match least.require(terms, *number, &Work::default()) {
                Ok(()) => {}
                Err(Without::Solution) => return None,
                Err(Without::Answer) => panic!("{all:?}"),
            }
        }
        let values = least.values();
        let common: i128 = values.iter().map(|(_, under)| *under).product();
        let at = |at: usize| values[at].0 * (common / values[at].1);
        assert!((0..costs.len()).all(|unknown| at(unknown) >= 0));
        for (terms, number) in all {
            let sum: i128 = terms
                .iter()
                .map(|(unknown, times)| times * at(*unknown))
                .sum();
            assert!(sum >= number * common, "{all:?} {values:?}");
        }
        let cost: i128 = (0..costs.len())
            .map(|unknown| costs[unknown] * at(unknown))
            .sum();
        Some((
            cost / gcd(cost, common).max(1),
            common / gcd(cost, common).max(1),
        ))
    }

    #[test]
    fn the_least_solution_is_the_same_in_every_order_and_found_wherever_there_is_one() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut feasible = 0;
        for _ in 0..1_000 {
            let (unknowns, count) = (rng.random_range(1..6), rng.random_range(1..8));
            let costs: Vec<i128> = (0..unknowns).map(|_| rng.random_range(1..4)).collect();
            let mut all: Vec<Inequality> = (0..count)
                .map(|_| {
                    let terms = (0..unknowns).map(|at| (at, rng.random_range(-3..4)));
                    let terms = terms.filter(|(_, times)| *times != 0);
                    (terms.collect(), rng.random_range(-2..4))
                })
                .collect();
            let first = solved(&costs, &all);
            all.reverse();
            assert_eq!(first, solved(&costs, &all), "{costs:?} {all:?}");
            // The other method does not find the least values. It only decides whether there are any.
            let slack = |(nth, (terms, sum)): (usize, &Inequality)| multipliers::Row {
                terms: [terms.clone(), vec![(unknowns + nth, -1)]].concat(),
                sum: *sum,
            };
            let rows: Vec<multipliers::Row> = all.iter().enumerate().map(slack).collect();
            let size = unknowns + all.len();
            let other = multipliers::solve(&rows, (size, 0), 0..size);
            assert_eq!(first.is_some(), other.is_some(), "{all:?}");
            feasible += usize::from(first.is_some());
        }
        assert!((300..950).contains(&feasible), "{feasible}");
    }

    #[test]
    fn the_cheaper_way_is_taken() {
        // x + y >= 3, where x costs more.
        let all = vec![(vec![(0, 1), (1, 1)], 3)];
        assert_eq!(solved(&[2, 1], &all), Some((3, 1)));
        // And no more than two of y.
        let all = [all, vec![(vec![(1, -1)], -2)]].concat();
        assert_eq!(solved(&[2, 1], &all), Some((4, 1)));
        // And 3 x >= 4.
        let all = [all, vec![(vec![(0, 3)], 4)]].concat();
        assert_eq!(solved(&[2, 1], &all), Some((13, 3)));
    }

    #[test]
    fn numbers_that_do_not_fit_and_too_much_work_are_no_answer() {
        let mut least = Least::new(&[1, 1]).unwrap();
        let large = i128::MAX - 1;
        assert_eq!(
            least.require(&[(0, large), (1, 3)], 1, &Work::default()),
            Ok(())
        );
        let second = least.require(&[(0, -5), (1, large)], large, &Work::default());
        assert_eq!(second, Err(Without::Answer));
        let mut least = Least::new(&[1, 1]).unwrap();
        assert_eq!(
            least.require(&[(0, 1)], 1, &Work::new(0)),
            Err(Without::Answer)
        );
    }
}
