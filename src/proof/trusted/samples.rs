//! Runs of members at small parameter values. The search fits invariants and ranks to them.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::time::Instant;

use itertools::Itertools;

use super::loops::Sample;
use super::over;
use super::run;
use super::splits;
use crate::proof::sample;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::trusted::certificate::Weight;
use crate::trusted::system::Range;
use crate::trusted::system::System;

/// The number of random inputs with small values.
const DRAWN_INSTANCES: usize = 15;

/// The number of scattered points that are tried, and the range of their distances from the least values.
const DRAWN: i64 = 40;
const SPREAD: i64 = 7;

/// The most points that are used.
const SAMPLES: usize = 20;

/// The most steps of members over all runs. A large protocol needs many.
const MAX_STEPS: usize = 200_000;

/// One past the greatest value of an index.
pub fn end(range: &Range, value: &dyn Fn(&Expr) -> Option<i64>) -> Option<i64> {
    let extent = value(&range.extent)?;
    Some(range.hi.map_or(extent, |hi| hi.min(extent)))
}

/// A pseudo-random point of the domain. Its values differ, so that sizes and trip counts are not equal by accident.
fn point(protocol: &Protocol, nth: i64) -> Option<Vec<i64>> {
    let step = |at: usize| {
        let mixed = (nth as u64 * 64 + at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 40) as i64 % SPREAD
    };
    steps(protocol, &step)
}

/// Points at which one parameter is larger than `than` or has its least value, and the others are small.
pub fn far(protocol: &Protocol, than: i64) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for (own, other) in [than + 1, 0].into_iter().cartesian_product([2, 3]) {
        for one in 0..protocol.params.len() {
            let step = |at: usize| if at == one { own } else { other };
            all.extend(steps(protocol, &step));
        }
    }
    all
}

/// The point of the domain whose values are `step` above the least ones.
fn steps(protocol: &Protocol, step: &dyn Fn(usize) -> i64) -> Option<Vec<i64>> {
    let numbered = protocol.params.iter().enumerate();
    let values = numbered.map(|(at, param)| match &param.domain {
        Domain::AtLeast(lo) => lo.checked_add(step(at)),
        Domain::Range(lo, hi) => Some(lo.checked_add(step(at))?.min(*hi)),
        Domain::Set(values) => values.get(step(at) as usize % values.len()).copied(),
    });
    let values: Vec<i64> = values.collect::<Option<_>>()?;
    let holds = |condition: &Expr| run::value(condition, &values, &HashMap::new()) == Some(1);
    let mut assumptions = protocol.assumptions.iter();
    assumptions
        .all(|assumption| holds(&assumption.condition))
        .then_some(values)
}

/// The parameter values at which members are run.
pub fn points(protocol: &Protocol) -> Vec<Vec<i64>> {
    let mut points: Vec<Vec<i64>> = Vec::new();
    let mut note = |point: Vec<i64>, most: usize| {
        if points.len() < most && !points.contains(&point) {
            points.push(point);
        }
    };
    for (input, _) in sample::instances(protocol, DRAWN_INSTANCES, 0) {
        note(input.params, SAMPLES / 2);
    }
    for nth in 0..DRAWN {
        if let Some(point) = point(protocol, nth) {
            note(point, SAMPLES);
        }
    }
    points
}

/// Runs of members of each class at different values of the parameters.
pub fn samples(
    system: &System<'_>,
    weights: &[Weight],
    points: Vec<Vec<i64>>,
    deadline: Instant,
) -> Vec<Vec<Sample>> {
    let mut all: Vec<Vec<Sample>> = system.classes.iter().map(|_| Vec::new()).collect();
    let mut left = MAX_STEPS;
    let neighbours = splits::neighbours(system);
    for params in points {
        // No new point once the work or the time is used up.
        if left == 0 || over(deadline) {
            break;
        }
        for (number, samples) in all.iter_mut().enumerate() {
            let class = &system.classes[number];
            let value = |expr: &Expr| run::value(expr, &params, &HashMap::new());
            let last: Option<Vec<i64>> = class
                .ranges
                .iter()
                .map(|range| {
                    let end = end(range, &value)?;
                    (range.lo < end).then(|| end - 1)
                })
                .collect();
            let Some(last) = last else { continue };
            let first: Vec<i64> = class.ranges.iter().map(|range| range.lo).collect();
            let both = first.iter().zip(&last);
            let second = both.clone().map(|(first, last)| (first + 1).min(*last));
            let before = both.map(|(first, last)| (last - 1).max(*first));
            let further = [second.collect(), before.collect()];
            let further = further.into_iter().take(if neighbours { 2 } else { 0 });
            for indices in further.chain([first, last]).collect::<BTreeSet<_>>() {
                let run = run::run(system, (number, weights), &params, &indices, &mut left);
                if let Some(run) = run {
                    samples.push(Sample {
                        params: params.clone(),
                        indices,
                        run,
                    });
                }
            }
        }
    }
    all
}
