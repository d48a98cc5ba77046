//! Ranks: one linear program over all that was seen.
//!
//! The rank of a wait is a sum over the loops of its class of a weight times the iterations completed, plus a number of
//! the wait. Unknown are the weights. A wait has a greater rank than the last wait that who it waits for has before
//! the arrival in question, and ranks do not fall along a run.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::loops;
use super::loops::Sample;
use super::run::Counters;
use super::run::at;
use super::weights;
use crate::fresh;
use crate::patience;
use crate::proof::order::multipliers;
use crate::proof::order::multipliers::Row;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Lag;
use crate::trusted::certificate::Name;
use crate::trusted::certificate::Product;
use crate::trusted::certificate::Sum;
use crate::trusted::system::Node;
use crate::trusted::system::System;

/// Inequalities that are looked at first, and at most how many more at a time.
const FIRST: usize = 60;

/// Terms of all inequalities together, at most.
const MAX_TERMS: usize = 200_000;

/// Numbers times unknowns, which have to add up to at least so much.
type Rise = (Vec<(usize, i128)>, i128);

/// What has a weight: a class and one of its loops or waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Loop(usize, usize),
    Wait(usize, usize),
}

/// Per class and wait, a rank.
pub fn ranks(system: &System<'_>, samples: &[Vec<Sample>], lags: &[Lag]) -> Option<Vec<Vec<Sum>>> {
    let one = vec![Sum::number(1)];
    let more = [one.clone(), monomials(system)].concat();
    [one, more]
        .iter()
        .find_map(|monomials| fresh::context(|| over(system, samples, lags, monomials)))
}

/// What weights may be sums of, beside 1: how often inner loops go around, and the sizes of lanes.
fn monomials(system: &System<'_>) -> Vec<Sum> {
    let mut all: Vec<Sum> = Vec::new();
    let mut add = |sum: Sum| {
        for product in sum.0.iter().filter(|product| !product.of.is_empty()) {
            let product = Product {
                times: 1,
                of: product.of.clone(),
            };
            let sum = Sum(vec![product]);
            if !all.contains(&sum) {
                all.push(sum);
            }
        }
    };
    for class in &system.classes {
        inner(&class.body, None, &mut add);
    }
    for lane in &system.lanes {
        let extents = &system.protocol.objects[lane.object].extents;
        if let Some(size) = lane.moving().and_then(|at| loops::polynomial(&extents[at])) {
            add(size);
        }
    }
    all
}

fn inner(body: &[Node], around: Option<&Sum>, add: &mut dyn FnMut(Sum)) {
    for node in body {
        match node {
            Node::Branch(_, then, otherwise, _) => {
                inner(then, around, add);
                inner(otherwise, around, add);
            }
            Node::Loop(this) => {
                let trips = loops::trips(this).unwrap_or_else(|| Sum::number(1));
                let product = match around {
                    // What the outermost loop does is counted by its own weight.
                    None => Sum::number(1),
                    Some(around) => loops::times(around, &trips).unwrap_or_else(|| Sum::number(1)),
                };
                add(product.clone());
                inner(&this.body, Some(&product), add);
            }
            Node::Assign(..) | Node::Act(_) => {}
        }
    }
}

fn over(
    system: &System<'_>,
    samples: &[Vec<Sample>],
    lags: &[Lag],
    monomials: &[Sum],
) -> Option<Vec<Vec<Sum>>> {
    let mut parts = BTreeMap::new();
    for (class, this) in system.classes.iter().enumerate() {
        let loops = (0..this.loops).map(|nth| Part::Loop(class, nth));
        let waits = (0..this.waits).map(|nth| Part::Wait(class, nth));
        for part in loops.chain(waits) {
            let next = parts.len();
            parts.insert(part, next * monomials.len());
        }
    }
    let unknowns = parts.len() * monomials.len();
    // The rank of a wait, as numbers times unknowns.
    let rank = |class: usize, params: &[i64], number: usize, counters: &Counters| {
        let mut row: BTreeMap<usize, i128> = BTreeMap::new();
        for (nth, monomial) in monomials.iter().enumerate() {
            let value = loops::value(monomial, params, &HashMap::new(), counters)?;
            *row.entry(parts[&Part::Wait(class, number)] + nth)
                .or_default() += i128::from(value);
            for this in 0..system.classes[class].loops {
                let done = at(counters, Counter::Iterations(this));
                let times = i128::from(value.checked_mul(done)?);
                *row.entry(parts[&Part::Loop(class, this)] + nth)
                    .or_default() += times;
            }
        }
        Some(row)
    };
    let rounds = |class: usize, lane: usize| {
        let mut lags = lags.iter();
        let lag = lags.find(|lag| lag.class == class && lag.lane == lane);
        lag.map_or(0, |lag| lag.rounds)
    };
    let mut rises: BTreeSet<Rise> = BTreeSet::new();
    let mut rise = |low: BTreeMap<usize, i128>, mut high: BTreeMap<usize, i128>, by: i128| {
        for (at, times) in low {
            *high.entry(at).or_default() -= times;
        }
        high.retain(|_, times| *times != 0);
        rises.insert((high.into_iter().collect(), by));
    };
    for (class, own) in samples.iter().enumerate() {
        for sample in own {
            let waits = &sample.run.waits;
            for pair in waits.windows(2) {
                let low = rank(class, &sample.params, pair[0].0, &pair[0].3)?;
                let high = rank(class, &sample.params, pair[1].0, &pair[1].3)?;
                rise(low, high, 0);
            }
            for (number, lane, _, counters) in waits {
                let size = super::run::size(system, &system.lanes[*lane], &sample.params)?;
                let awaited = at(counters, Counter::Awaited(*lane)) - rounds(class, *lane) * size;
                if awaited < 0 {
                    continue;
                }
                for other in &system.lanes[*lane].arriving {
                    let theirs = samples[*other]
                        .iter()
                        .filter(|theirs| theirs.params == sample.params);
                    let group = weights::group(system, *lane, class, &sample.indices);
                    let theirs = theirs.filter(|theirs| {
                        weights::group(system, *lane, *other, &theirs.indices) == group
                    });
                    for theirs in theirs {
                        let missing =
                            |counters: &Counters| at(counters, Counter::Arrived(*lane)) <= awaited;
                        // Counters only grow.
                        let waits = &theirs.run.waits;
                        let after = waits.partition_point(|wait| missing(&wait.3));
                        let Some(last) = after.checked_sub(1).map(|at| &waits[at]) else {
                            continue;
                        };
                        let low = rank(*other, &sample.params, last.0, &last.3)?;
                        let high = rank(class, &sample.params, *number, counters)?;
                        rise(low, high, 1);
                    }
                }
            }
        }
    }
    let rises: Vec<Rise> = rises.into_iter().collect();
    if rises.iter().map(|(terms, _)| terms.len()).sum::<usize>() > MAX_TERMS {
        return None;
    }
    let values = solved(&rises, unknowns)?;
    let sum = |part: Part, name: Option<Name>| {
        let mut all = Vec::new();
        for (nth, monomial) in monomials.iter().enumerate() {
            let times = values[parts[&part] + nth];
            for product in monomial.0.iter().filter(|_| times != 0) {
                let mut of = product.of.clone();
                of.extend(name);
                all.push(Product {
                    times: times * product.times,
                    of,
                });
            }
        }
        all
    };
    let classes = system.classes.iter().enumerate();
    let ranks = classes.map(|(class, this)| {
        let waits = 0..this.waits;
        let ranks = waits.map(|wait| {
            let mut all = sum(Part::Wait(class, wait), None);
            for nth in 0..this.loops {
                let iterations = Name::Counter(Counter::Iterations(nth));
                all.extend(sum(Part::Loop(class, nth), Some(iterations)));
            }
            Sum(all)
        });
        ranks.collect()
    });
    Some(ranks.collect())
}

/// Integers for which all of these rise, begun with a few of them and then those that do not.
fn solved(rises: &[Rise], unknowns: usize) -> Option<Vec<i64>> {
    let mut taken: BTreeSet<usize> = (0..rises.len()).step_by(rises.len() / FIRST + 1).collect();
    loop {
        let chosen: Vec<&Rise> = taken.iter().map(|at| &rises[*at]).collect();
        let slack = chosen.len();
        let rows: Vec<Row> = chosen
            .into_iter()
            .enumerate()
            .map(|(nth, (terms, by))| {
                let own = terms.iter().map(|(at, times)| (slack + at, *times));
                let terms = std::iter::once((nth, -1)).chain(own).collect();
                Row { terms, sum: *by }
            })
            .collect();
        let values = multipliers::solve(&rows, (slack, unknowns), slack..slack + unknowns)?;
        let values = multipliers::integers(&values)?;
        let short = |(terms, by): &Rise| {
            let rise: i128 = terms
                .iter()
                .map(|(at, times)| times * i128::from(values[*at]))
                .sum();
            rise < *by
        };
        let missing = (0..rises.len()).filter(|at| short(&rises[*at]));
        let missing: Vec<usize> = missing.take(FIRST).collect();
        if missing.is_empty() {
            return Some(values);
        }
        if patience::over() {
            return None;
        }
        taken.extend(missing);
    }
}
