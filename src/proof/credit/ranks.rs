//! Ranks of waits: solutions of linear programs over pairs of waits at small values.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::MAX_PAIRS;
use super::Over;
use super::Search;
use super::samples::Execution;
use crate::certificate::credit;
use crate::certificate::credit::Affine;
use crate::certificate::credit::Supply;
use crate::proof::order::multipliers;
use crate::proof::order::multipliers::Row;
use crate::protocol::VarId;

/// Components of a rank.
const MAX_COMPONENTS: usize = 4;

/// A role, and the indices of one of its members.
type Member<'a> = (usize, &'a [i64]);

/// Two waits, of which the first has to have the lesser rank: their positions, and the difference
/// of their ranks.
type Pair = ((usize, usize), Vec<(usize, i64)>);

impl Search<'_> {
    /// The names that the rank of a wait may be a sum of.
    pub(super) fn names(&self, (role, event): (usize, usize)) -> Vec<VarId> {
        let indices = self.protocol.roles[role].indices.iter();
        let indices: Vec<VarId> = indices.map(|index| index.var).collect();
        credit::names(&indices, &self.programs[role].events[event]).unwrap_or_default()
    }

    /// Ranks for all waits, if there are any. Every wait that holds up an addition must have a lesser rank than the
    /// wait that the addition is for.
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
        // The position of the factor of a name of a wait.
        let names: Vec<Vec<VarId>> = self.waits.iter().map(|wait| self.names(*wait)).collect();
        let factor = |nth: usize, at: usize| -> usize {
            let here = first(nth) + at;
            let Some(name) = names[nth].get(at).filter(|_| over.alike) else {
                return here;
            };
            let same_role = (0..=nth).filter(|other| self.waits[*other].0 == self.waits[nth].0);
            let found = same_role.filter_map(|other| {
                let at = names[other].iter().position(|other| other == name)?;
                Some(first(other) + at)
            });
            found.min().unwrap_or(here)
        };
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
                                    let sum = row.entry(factor(nth, at)).or_default();
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
        if self.brief && pairs.len() > MAX_PAIRS {
            return Err("there are too many pairs of waits".to_owned());
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
                let all = (from..to).map(|at| (at - from, component[factor(nth, at)]));
                all.filter(|(_, times)| *times != 0).collect()
            };
            let size = sizes[nth];
            let one = |component: &Vec<i64>| Affine {
                number: component[factor(nth, size + params)],
                names: factors(0, size, component),
                params: factors(size, size + params, component),
            };
            components.iter().map(one).collect()
        };
        Ok((0..self.waits.len()).map(rank).collect())
    }

    /// A sum that falls for no pair and rises for as many as possible.
    fn component(
        &self,
        pairs: &BTreeSet<Pair>,
        numbers: impl Iterator<Item = usize>,
        unknowns: usize,
    ) -> Result<Vec<i64>, String> {
        let groups: BTreeSet<(usize, usize)> = pairs.iter().map(|(group, _)| *group).collect();
        let count = pairs.len();
        // A useful number is not larger than the number of waits. A larger one only compensates for a missing
        // parameter.
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
        best.ok_or_else(|| {
            "no order of the form that is looked for puts each wait behind what it waits for"
                .to_owned()
        })
    }
}
