//! Ranks of waits: solutions of linear programs over pairs of waits at small values.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::Over;
use super::Search;
use super::samples::Execution;
use crate::certificate::credit::Affine;
use crate::certificate::credit::Supply;
use crate::proof::order::multipliers;
use crate::proof::order::multipliers::Row;

/// Components of a rank.
const MAX_COMPONENTS: usize = 4;

/// A role, and the indices of one of its members.
type Member<'a> = (usize, &'a [i64]);

/// Two waits, of which the first has to have the lesser rank: by position, and what the difference of their ranks is of.
type Pair = ((usize, usize), Vec<(usize, i64)>);

impl Search<'_> {
    /// Ranks for all waits, if there are some under which whatever holds an addition up is below the wait that it is for.
    pub(super) fn ranks(
        &self,
        alternatives: &[Vec<Vec<Supply>>],
        over: Over,
    ) -> Result<Vec<Vec<Affine>>, String> {
        let sizes: Vec<usize> = self
            .waits
            .iter()
            .map(|(role, event)| {
                let wait = &self.programs[*role].events[*event];
                self.protocol.roles[*role].indices.len() + wait.bounds.len()
            })
            .collect();
        let params = self.protocol.params.len();
        let first =
            |nth: usize| -> usize { sizes[..nth].iter().map(|size| size + 1 + params).sum() };
        let mut pairs: BTreeSet<Pair> = BTreeSet::new();
        for sample in &self.samples {
            self.stop()?;
            let mut members: HashMap<Member<'_>, Vec<(usize, &Execution)>> = HashMap::new();
            for this in &sample.all {
                if let Some(nth) = self.nth(this) {
                    let member = (this.role, self.member(this));
                    members.entry(member).or_default().push((nth, this));
                }
            }
            for wait in &sample.all {
                let Some(nth) = self.nth(wait).filter(|_| wait.amount > 0) else {
                    continue;
                };
                for supply in alternatives[nth].iter().flatten() {
                    let all = self.executions(supply, sample, wait).unwrap_or_default();
                    for at in all.into_iter().flatten() {
                        let add = &sample.all[at];
                        if add.element != wait.element {
                            continue;
                        }
                        let own = members.get(&(add.role, self.member(add)));
                        for (other, before) in own.into_iter().flatten() {
                            if before.key > add.key {
                                continue;
                            }
                            let mut row: BTreeMap<usize, i64> = BTreeMap::new();
                            for (nth, of, sign) in [(nth, wait, 1), (*other, *before, -1)] {
                                let values = of.values.iter().chain(&sample.params);
                                let values = values.copied().chain([1]);
                                let loops = self.protocol.roles[of.role].indices.len();
                                let loops = loops..of.values.len();
                                for (at, value) in values.enumerate() {
                                    let index = at < loops.start;
                                    let param = (loops.end..loops.end + params).contains(&at);
                                    if index && !over.indices || param && !over.params {
                                        continue;
                                    }
                                    let sum = row.entry(first(nth) + at).or_default();
                                    *sum = value.saturating_mul(sign).saturating_add(*sum);
                                }
                            }
                            row.retain(|_, times| *times != 0);
                            pairs.insert(((*other, nth), row.into_iter().collect()));
                        }
                    }
                }
            }
        }
        let unknowns = first(self.waits.len());
        let mut components = Vec::new();
        while components.is_empty() || !pairs.is_empty() {
            if components.len() == MAX_COMPONENTS {
                return Err("no ranks of this form fit".to_owned());
            }
            let numbers = (0..self.waits.len()).map(|nth| first(nth) + sizes[nth] + params);
            let component = self.component(&pairs, numbers, unknowns)?;
            pairs.retain(|(_, row)| {
                let terms = row.iter();
                let terms =
                    terms.map(|(at, times)| i128::from(*times) * i128::from(component[*at]));
                terms.sum::<i128>() < 1
            });
            components.push(component);
        }
        let rank = |nth: usize| -> Vec<Affine> {
            let factors = |from: usize, to: usize, component: &[i64]| -> Vec<(usize, i64)> {
                let all = component[from..to].iter().copied().enumerate();
                all.filter(|(_, times)| *times != 0).collect()
            };
            let (start, size) = (first(nth), sizes[nth]);
            let one = |component: &Vec<i64>| Affine {
                number: component[start + size + params],
                names: factors(start, start + size, component),
                params: factors(start + size, start + size + params, component),
            };
            components.iter().map(one).collect()
        };
        Ok((0..self.waits.len()).map(rank).collect())
    }

    /// A sum under which no pair falls, and as many as possible rise.
    fn component(
        &self,
        pairs: &BTreeSet<Pair>,
        numbers: impl Iterator<Item = usize>,
        unknowns: usize,
    ) -> Result<Vec<i64>, String> {
        let groups: BTreeSet<(usize, usize)> = pairs.iter().map(|(group, _)| *group).collect();
        let count = pairs.len();
        // Numbers no larger than there are waits: a larger one only makes up for a parameter that has to be there.
        let numbers: Vec<usize> = numbers.collect();
        let most = i128::try_from(numbers.len()).unwrap_or(0);
        let free = count + 2 * numbers.len();
        let mut bounds: Vec<Row> = Vec::new();
        for (nth, at) in numbers.iter().enumerate() {
            for (left, sign) in [(count + 2 * nth, 1), (count + 2 * nth + 1, -1)] {
                bounds.push(Row {
                    terms: vec![(left, 1), (free + at, sign)],
                    sum: most,
                });
            }
        }
        let solved = |strict: &BTreeSet<(usize, usize)>| -> Option<Vec<i64>> {
            let rises = |(nth, (group, row)): (usize, &Pair)| {
                let terms = row.iter();
                let mut terms: Vec<(usize, i128)> = terms
                    .map(|(at, times)| (free + at, i128::from(*times)))
                    .collect();
                terms.push((nth, -1));
                Row {
                    terms,
                    sum: i128::from(strict.contains(group)),
                }
            };
            let mut rows: Vec<Row> = pairs.iter().enumerate().map(rises).collect();
            rows.extend(bounds.iter().cloned());
            let values = multipliers::solve(&rows, (free, unknowns), free..free + unknowns)?;
            multipliers::integers(&values)
        };
        if let Some(all) = solved(&groups) {
            return Ok(all);
        }
        let mut strict = BTreeSet::new();
        let mut best = None;
        for group in groups {
            self.stop()?;
            strict.insert(group);
            match solved(&strict) {
                Some(found) => best = Some(found),
                None => {
                    strict.remove(&group);
                }
            }
        }
        best.ok_or_else(|| "somebody waits for who comes later in the same order".to_owned())
    }
}
