//! Ranks: the solution of one linear program over all observations.
//!
//! The rank of a wait is a sum over the loops of its class, plus a number of the wait. Each loop contributes a weight
//! times its completed iterations. The weights are the unknowns. A wait is for the arrival of some member. Its rank
//! has to be greater than that of the last wait that this member has before this arrival. Ranks do not decrease along
//! a run.
//!
//! If a weight has to grow with a parameter, a large constant fits all observations as well. So small weights are
//! tried first. For each parameter, one of the points has a value that is larger than these weights.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use itertools::Itertools;
use z3::SatResult;
use z3::ast::Int;

use super::loops;
use super::loops::Sample;
use super::run::Counters;
use super::run::at;
use super::splits;
use super::weights;
use crate::deadline;
use crate::fresh;
use crate::proof::order::multipliers;
use crate::proof::order::multipliers::Row;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Lag;
use crate::trusted::certificate::Name;
use crate::trusted::certificate::Sum;
use crate::trusted::system::Node;
use crate::trusted::system::System;

/// How many inequalities are used first, and how many are added at a time at most.
const FIRST: usize = 60;

/// Weights are small up to this number for each wait, plus one. Points with parameters that are larger than this
/// exclude constants in place of parameters.
const SMALL: i64 = 3;

/// The bound on weights that is tried first.
const SMALLEST: i64 = 4;

/// The most terms of all inequalities together.
const MAX_TERMS: usize = 200_000;

/// Factors of unknowns, and the least value of the sum.
type Rise = (Vec<(usize, i128)>, i128);

/// The limit on the work of Z3 for small weights, per attempt.
const WORK: u32 = 3_000_000;

/// The owner of a weight: a class, and one of its loops, waits or indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Loop(usize, usize),
    Wait(usize, usize),
    Index(usize, usize),
}

/// The terms that weights may be sums of, besides 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terms {
    /// Nothing.
    One,
    /// For a loop, the trip counts of more deeply nested loops.
    Nested,
    /// For a wait, also the trip counts of the outermost loops, because it may be for all rounds of other members.
    Outer,
    /// For all parts, the trip counts of inner loops and the sizes of rings.
    All,
}

/// The rank of each wait of each class. `far` has further samples, at larger values of parameters.
pub fn ranks(
    system: &System<'_>,
    samples: [&[Vec<Sample>]; 2],
    lags: &[Lag],
) -> Option<Vec<Vec<Sum>>> {
    let tried = [
        (Terms::One, Some(SMALLEST)),
        (Terms::Nested, Some(SMALLEST)),
        (Terms::Outer, Some(SMALLEST)),
        (Terms::One, Some(small(system))),
        (Terms::Nested, Some(small(system))),
        (Terms::Outer, Some(small(system))),
        (Terms::One, None),
        (Terms::All, None),
    ];
    tried.into_iter().find_map(|(terms, most)| {
        let samples = match most {
            Some(_) => &samples[..],
            None => &samples[..1],
        };
        fresh::context(|| over(system, samples, lags, (terms, most)))
    })
}

/// The largest weight that is small.
pub fn small(system: &System<'_>) -> i64 {
    let waits: usize = system.classes.iter().map(|class| class.waits).sum();
    SMALL * (waits as i64 + 1)
}

/// All parts that have a weight, with the terms that the weight may be a sum of.
fn parts(system: &System<'_>, terms: Terms) -> Vec<(Part, Vec<Sum>)> {
    let nested = |depth: usize| {
        let mut all = vec![Sum::number(1)];
        for class in &system.classes {
            trips(&class.body, depth, &Sum::number(1), &mut all);
        }
        all
    };
    let monomials = |depth: usize| match terms {
        Terms::One => vec![Sum::number(1)],
        Terms::Nested | Terms::Outer => nested(depth),
        Terms::All => {
            let mut all = nested(1);
            for ring in &system.rings {
                let extents = &system.protocol.objects[ring.object].extents;
                let size = ring.moving().and_then(|at| loops::polynomial(&extents[at]));
                size.into_iter().for_each(|size| add(&mut all, size));
            }
            all
        }
    };
    let mut all = Vec::new();
    for (class, this) in system.classes.iter().enumerate() {
        let mut depths = vec![0; this.loops];
        depth(&this.body, 1, &mut depths);
        let loops = depths.into_iter().enumerate();
        all.extend(loops.map(|(nth, depth)| (Part::Loop(class, nth), monomials(depth))));
        let mut offsets = monomials(1);
        if terms == Terms::Outer {
            nested(0).into_iter().for_each(|sum| add(&mut offsets, sum));
        }
        let waits = 0..this.waits;
        all.extend(waits.map(|nth| (Part::Wait(class, nth), offsets.clone())));
        // If no member uses the group of another member, all members are alike.
        if splits::neighbours(system) {
            let ranges = this.ranges.iter().enumerate();
            let ranges = ranges.filter(|(_, range)| range.only().is_none());
            all.extend(ranges.map(|(nth, _)| (Part::Index(class, nth), monomials(1))));
        }
    }
    all
}

/// How many loops there are around and with each loop.
fn depth(body: &[Node], here: usize, depths: &mut [usize]) {
    for node in body {
        match node {
            Node::Branch(_, then, otherwise, _) => {
                depth(then, here, depths);
                depth(otherwise, here, depths);
            }
            Node::Loop(this) => {
                depths[this.number] = here;
                depth(&this.body, here + 1, depths);
            }
            Node::Assign(..) | Node::Act(_) => {}
        }
    }
}

/// The trip counts of loops inside of `depth` others, times `around`. For loops inside of those,
/// the products of all trip counts from there on.
fn trips(body: &[Node], depth: usize, around: &Sum, all: &mut Vec<Sum>) {
    for node in body {
        match node {
            Node::Branch(_, then, otherwise, _) => {
                trips(then, depth, around, all);
                trips(otherwise, depth, around, all);
            }
            Node::Loop(this) if depth > 0 => trips(&this.body, depth - 1, around, all),
            Node::Loop(this) => {
                let all_trips = loops::trips(this).and_then(|trips| loops::times(around, &trips));
                if let Some(product) = all_trips {
                    add(all, product.clone());
                    trips(&this.body, 0, &product, all);
                }
            }
            Node::Assign(..) | Node::Act(_) => {}
        }
    }
}

/// Adds the products of a sum, without plain numbers.
fn add(all: &mut Vec<Sum>, sum: Sum) {
    for product in sum.0.into_iter().filter(|product| !product.of.is_empty()) {
        let sum = Sum(vec![loops::product(1, product.of)]);
        if !all.contains(&sum) {
            all.push(sum);
        }
    }
}

fn over(
    system: &System<'_>,
    samples: &[&[Vec<Sample>]],
    lags: &[Lag],
    (terms, most): (Terms, Option<i64>),
) -> Option<Vec<Vec<Sum>>> {
    let mut parts_of = BTreeMap::new();
    let mut unknowns = 0;
    for (part, monomials) in parts(system, terms) {
        let next = unknowns + monomials.len();
        parts_of.insert(part, (unknowns, monomials));
        unknowns = next;
    }
    // The rank of a wait, as factors of unknowns.
    let rank = |class: usize, sample: &Sample, number: usize, counters: &Counters| {
        let mut row: BTreeMap<usize, i128> = BTreeMap::new();
        let mut add = |part: Part, times: i64| {
            let Some((begin, monomials)) = parts_of.get(&part) else {
                return Some(());
            };
            for (nth, monomial) in monomials.iter().enumerate() {
                let value = loops::value(monomial, &sample.params, &HashMap::new(), counters)?;
                *row.entry(begin + nth).or_default() += i128::from(value.checked_mul(times)?);
            }
            Some(())
        };
        add(Part::Wait(class, number), 1)?;
        for this in 0..system.classes[class].loops {
            add(
                Part::Loop(class, this),
                at(counters, Counter::Iterations(this)),
            )?;
        }
        for (nth, index) in sample.indices.iter().enumerate() {
            add(Part::Index(class, nth), *index)?;
        }
        Some(row)
    };
    let rounds = |class: usize, ring: usize| {
        let mut lags = lags.iter();
        let lag = lags.find(|lag| lag.class == class && lag.ring == ring);
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
    for (samples, class) in samples.iter().cartesian_product(0..system.classes.len()) {
        for sample in &samples[class] {
            let waits = &sample.run.waits;
            for pair in waits.windows(2) {
                let low = rank(class, sample, pair[0].0, &pair[0].3)?;
                let high = rank(class, sample, pair[1].0, &pair[1].3)?;
                rise(low, high, 0);
            }
            for (number, ring, _, counters) in waits {
                let size = super::run::size(system, &system.rings[*ring], &sample.params)?;
                let awaited = at(counters, Counter::Awaited(*ring)) - rounds(class, *ring) * size;
                if awaited < 0 {
                    continue;
                }
                for other in &system.rings[*ring].arriving {
                    let theirs = samples[*other]
                        .iter()
                        .filter(|theirs| theirs.params == sample.params);
                    let group = weights::group(system, (*ring, true), class, sample);
                    let theirs = theirs.filter(|theirs| {
                        weights::group(system, (*ring, false), *other, theirs) == group
                    });
                    for theirs in theirs {
                        let missing =
                            |counters: &Counters| at(counters, Counter::Arrived(*ring)) <= awaited;
                        // Counters only grow.
                        let waits = &theirs.run.waits;
                        let after = waits.partition_point(|wait| missing(&wait.3));
                        let Some(last) = after.checked_sub(1).map(|at| &waits[at]) else {
                            continue;
                        };
                        let low = rank(*other, theirs, last.0, &last.3)?;
                        let high = rank(class, sample, *number, counters)?;
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
    let values = solved(&rises, unknowns, most)?;
    let sum = |part: Part, name: Option<Name>| {
        let mut all = Vec::new();
        if let Some((begin, monomials)) = parts_of.get(&part) {
            for (nth, monomial) in monomials.iter().enumerate() {
                let times = values[begin + nth];
                for product in monomial.0.iter().filter(|_| times != 0) {
                    let of = product.of.iter().copied().chain(name).collect();
                    all.push(loops::product(times * product.times, of));
                }
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
            for (nth, range) in this.ranges.iter().enumerate() {
                all.extend(sum(Part::Index(class, nth), Some(Name::Var(range.var.0))));
            }
            Sum(all)
        });
        ranks.collect()
    });
    Some(ranks.collect())
}

/// Integers for which all of these increase. Some inequalities are used first, and then those that fail are added.
fn solved(rises: &[Rise], unknowns: usize, most: Option<i64>) -> Option<Vec<i64>> {
    let mut taken: BTreeSet<usize> = (0..rises.len()).step_by(rises.len() / FIRST + 1).collect();
    let mut new = taken.clone();
    let mut small = match most {
        Some(most) => Some(Small::new(unknowns, most)?),
        None => None,
    };
    loop {
        if deadline::over() {
            return None;
        }
        let values = match &mut small {
            Some(small) => small.solve(new.iter().map(|at| &rises[*at]))?,
            None => any(taken.iter().map(|at| &rises[*at]), unknowns)?,
        };
        let short = |(terms, by): &Rise| {
            let rise: i128 = terms
                .iter()
                .map(|(at, times)| times * i128::from(values[*at]))
                .sum();
            rise < *by
        };
        let missing = (0..rises.len()).filter(|at| short(&rises[*at]));
        new = missing.take(FIRST).collect();
        if new.is_empty() {
            return Some(values);
        }
        taken.extend(&new);
    }
}

/// Integers of any size for which these rise.
fn any<'r>(rises: impl Iterator<Item = &'r Rise>, unknowns: usize) -> Option<Vec<i64>> {
    let rises: Vec<&Rise> = rises.collect();
    let slack = rises.len();
    let rows: Vec<Row> = rises
        .into_iter()
        .enumerate()
        .map(|(nth, (terms, by))| {
            let own = terms.iter().map(|(at, times)| (slack + at, *times));
            let terms = std::iter::once((nth, -1)).chain(own).collect();
            Row { terms, sum: *by }
        })
        .collect();
    let values = multipliers::solve(&rows, (slack, unknowns), slack..slack + unknowns)?;
    multipliers::integers(&values)
}

/// Small integers, by Z3. A fraction of a small number would fit the large values in the samples, just as a large
/// number would.
struct Small {
    solver: z3::Solver,
    unknowns: Vec<Int>,
}

impl Small {
    fn new(unknowns: usize, most: i64) -> Option<Small> {
        let solver = z3::Solver::new_for_logic("QF_LIA")?;
        let mut params = z3::Params::new();
        params.set_u32("rlimit", WORK);
        params.set_bool("ctrl_c", false);
        solver.set_params(&params);
        let unknowns: Vec<Int> = (0..unknowns)
            .map(|at| Int::new_const(format!("x{at}")))
            .collect();
        for unknown in &unknowns {
            solver.assert(unknown.le(Int::from_i64(most)));
            solver.assert(unknown.ge(Int::from_i64(-most)));
        }
        Some(Small { solver, unknowns })
    }

    /// Values for which these rise, and all earlier ones.
    fn solve<'r>(&mut self, rises: impl Iterator<Item = &'r Rise>) -> Option<Vec<i64>> {
        for (terms, by) in rises {
            let mut sum = Int::from_i64(0);
            for (at, times) in terms {
                sum += &self.unknowns[*at] * &Int::from_i64(i64::try_from(*times).ok()?);
            }
            let by = i64::try_from(*by).ok()?;
            self.solver.assert(sum.ge(Int::from_i64(by)));
        }
        if self.solver.check() != SatResult::Sat {
            return None;
        }
        let model = self.solver.get_model()?;
        let value = |unknown: &Int| model.eval(unknown, true)?.as_i64();
        self.unknowns.iter().map(value).collect()
    }
}
