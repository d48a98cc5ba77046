//! A concrete pattern: a set of tiles, with membership and counting in logarithmic time.
//!
//! The coordinates of an entry are written as one number in mixed radix, so a pattern is a sorted list of numbers.
//! For every coordinate `c` there is one such list with `c` as the least significant digit. In this list, entries
//! that differ in `c` only are adjacent. So two binary searches count them in a range. The list for the last
//! coordinate always exists. Each other list is made when it is first used.

use std::sync::OnceLock;

use super::admit::IndexValues;
use super::error::Fault;

/// The questions that an expression asks of a pattern.
pub trait Visited {
    /// Whether these coordinates are visited; false outside the extents.
    fn contains(&self, at: &[i64]) -> bool;

    /// How many entries have coordinate `free` in `lo..hi` and the others as in `at`, whose
    /// value at `free` is ignored.
    fn count(&self, free: usize, at: &[i64], lo: i64, hi: i64) -> i64;
}

impl Visited for PatternData {
    fn contains(&self, at: &[i64]) -> bool {
        PatternData::contains(self, at)
    }

    fn count(&self, free: usize, at: &[i64], lo: i64, hi: i64) -> i64 {
        PatternData::count(self, free, at, lo, hi)
    }
}

/// The entries of one pattern at one input.
#[derive(Debug, Clone)]
pub struct PatternData {
    /// How many values each coordinate takes, none below 0.
    extents: Vec<i64>,
    /// Per coordinate: the entries as numbers with that coordinate last, ascending.
    keys: Vec<OnceLock<Vec<i64>>>,
}

impl PatternData {
    /// The pattern with these extents and entries. Repeated entries count once, and a negative extent counts as 0.
    /// `name` is used in the error for an entry outside the extents.
    pub fn new<'e>(
        name: &str,
        extents: &[i64],
        entries: impl IntoIterator<Item = &'e [i64]>,
    ) -> Result<PatternData, Fault> {
        let data = PatternData::empty(name, extents)?;
        let last = data.extents.len() - 1;
        let mut keys = Vec::new();
        for entry in entries {
            if !data.inside(entry) {
                return Err(Fault::EntryOutOfRange {
                    pattern: name.to_owned(),
                    entry: entry.to_vec(),
                });
            }
            keys.push(data.key(entry, last));
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(data.with(keys))
    }

    /// The pattern with these extents that holds at the coordinates for which `visits` is true.
    pub fn defined(
        name: &str,
        extents: &[i64],
        mut visits: impl FnMut(&[i64]) -> Result<bool, Fault>,
    ) -> Result<PatternData, Fault> {
        let data = PatternData::empty(name, extents)?;
        let last = data.extents.len() - 1;
        let mut keys = Vec::new();
        for at in IndexValues::new(&data.extents) {
            if visits(&at)? {
                keys.push(data.key(&at, last));
            }
        }
        Ok(data.with(keys))
    }

    /// A pattern whose entries are still to be given with [`PatternData::with`].
    fn empty(name: &str, extents: &[i64]) -> Result<PatternData, Fault> {
        let extents: Vec<i64> = extents.iter().map(|e| (*e).max(0)).collect();
        // Every key stays below this product, so no later arithmetic on keys overflows.
        extents
            .iter()
            .try_fold(1i64, |product, e| product.checked_mul((*e).max(1)))
            .ok_or(Fault::Overflow)?;
        if extents.is_empty() {
            return Err(Fault::Arity {
                name: name.to_owned(),
                expected: 2,
                found: 0,
            });
        }
        Ok(PatternData {
            keys: vec![OnceLock::new(); extents.len()],
            extents,
        })
    }

    /// The pattern with these entries, as ascending numbers whose last digit is the last coordinate.
    fn with(mut self, keys: Vec<i64>) -> PatternData {
        if let Some(index) = self.keys.last_mut() {
            *index = OnceLock::from(keys);
        }
        self
    }

    /// How many values each coordinate takes.
    pub fn extents(&self) -> &[i64] {
        &self.extents
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.sorted(self.extents.len() - 1).len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether these coordinates are visited; false outside the extents.
    pub fn contains(&self, at: &[i64]) -> bool {
        let last = self.extents.len() - 1;
        self.inside(at) && self.sorted(last).binary_search(&self.key(at, last)).is_ok()
    }

    /// How many entries have coordinate `free` in `lo..hi` and the others as in `at`, whose
    /// value at `free` is ignored.
    pub fn count(&self, free: usize, at: &[i64], lo: i64, hi: i64) -> i64 {
        let mut probe = at.to_vec();
        let (Some(slot), Some(extent)) = (probe.get_mut(free), self.extents.get(free)) else {
            return 0;
        };
        *slot = 0;
        let (lo, hi) = (lo.max(0), hi.min(*extent));
        if lo >= hi || !self.inside(&probe) {
            return 0;
        }
        let base = self.key(&probe, free);
        let keys = self.sorted(free);
        let below = |bound: i64| keys.partition_point(|key| *key < base + bound);
        (below(hi) - below(lo)) as i64
    }

    /// The values of the last coordinate at which the pattern holds, ascending; `row` gives the other coordinates.
    /// There are none outside the extents.
    pub fn row(&self, row: &[i64]) -> Vec<i64> {
        let last = self.extents.len() - 1;
        let mut probe = row.to_vec();
        probe.push(0);
        if !self.inside(&probe) {
            return Vec::new();
        }
        let base = self.key(&probe, last);
        let keys = self.sorted(last);
        let start = keys.partition_point(|key| *key < base);
        keys[start..]
            .iter()
            .map(|key| key - base)
            .take_while(|value| *value < self.extents[last])
            .collect()
    }

    /// The entries, ascending.
    pub fn entries(&self) -> impl Iterator<Item = Vec<i64>> {
        let last = self.extents.len() - 1;
        self.sorted(last).iter().map(|key| self.coordinates(*key))
    }

    fn inside(&self, at: &[i64]) -> bool {
        at.len() == self.extents.len()
            && at
                .iter()
                .zip(&self.extents)
                .all(|(x, e)| (0..*e).contains(x))
    }

    /// The number of an entry inside the extents. Coordinate `least` is the last digit.
    fn key(&self, at: &[i64], least: usize) -> i64 {
        let mut key = 0;
        for (position, value) in at.iter().enumerate() {
            if position != least {
                key = key * self.extents[position] + value;
            }
        }
        key * self.extents[least] + at[least]
    }

    /// The entry that has this number if the last coordinate is the last digit.
    fn coordinates(&self, mut key: i64) -> Vec<i64> {
        let mut at = vec![0; self.extents.len()];
        for (value, extent) in at.iter_mut().zip(&self.extents).rev() {
            *value = key % extent;
            key /= extent;
        }
        at
    }

    fn sorted(&self, least: usize) -> &[i64] {
        self.keys[least].get_or_init(|| {
            let mut keys: Vec<i64> = self.entries().map(|at| self.key(&at, least)).collect();
            keys.sort_unstable();
            keys
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> PatternData {
        let entries: [&[i64]; 5] = [&[2, 1], &[0, 0], &[0, 2], &[1, 2], &[0, 0]];
        PatternData::new("visits", &[3, 4], entries).expect("in range")
    }

    #[test]
    fn counts_rows_and_columns() {
        let data = sample();
        assert_eq!(data.len(), 4);
        assert_eq!(data.row(&[0]), [0, 2]);
        assert_eq!(data.row(&[3]), [0i64; 0]);
        assert_eq!(data.count(0, &[99, 2], 0, 3), 2);
        assert_eq!(data.count(0, &[0, 2], 1, i64::MAX), 1);
        assert_eq!(data.count(1, &[0, 0], i64::MIN, 2), 1);
        assert!(data.contains(&[2, 1]));
        assert!(!data.contains(&[2, 4]));
        assert!(!data.contains(&[2]));
    }

    #[test]
    fn refuses_entries_outside() {
        let outside = PatternData::new("p", &[3, 4], [&[3, 0][..]]);
        assert!(matches!(outside, Err(Fault::EntryOutOfRange { .. })));
        let huge = PatternData::new("p", &[i64::MAX, 3], []);
        assert!(matches!(huge, Err(Fault::Overflow)));
        let empty = PatternData::new("p", &[-1, 3], []).expect("a negative extent is empty");
        assert!(empty.is_empty() && empty.row(&[0]).is_empty());
    }
}
