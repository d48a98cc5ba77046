//! Guesses the weights of arrivals at each number of a ring, and how much members hold of pools.

use std::collections::HashMap;
use std::collections::HashSet;

use super::loops;
use super::loops::Sample;
use super::loops::Site;
use super::run;
use super::run::Counters;
use super::samples::end;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::VarId;
use crate::trusted::certificate::Certificate;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Holds;
use crate::trusted::certificate::Sum;
use crate::trusted::certificate::Weight;
use crate::trusted::system::Amount;
use crate::trusted::system::Doing;
use crate::trusted::system::Node;
use crate::trusted::system::Range;
use crate::trusted::system::System;

/// How many threads a warp has.
const WARP: i64 = 32;

/// How many arrivals at a ring make up one number.
pub fn units(weights: &[Weight], class: usize, ring: usize) -> i64 {
    let mut all = weights.iter();
    let found = all.find(|weight| weight.class == class && weight.ring == ring);
    found.map_or(1, |weight| weight.amounts.len() as i64)
}

/// The weight of each arrival, such that all arrivals together are as many as expected. Either each arrival makes up
/// a number by itself, or all arrivals that a member makes in one iteration of a loop do.
pub fn weights(system: &System<'_>, points: &[Vec<i64>]) -> Result<Vec<Weight>, String> {
    let mut all = Vec::new();
    for ring in 0..system.rings.len() {
        let [one, together] = [false, true].map(|together| of_ring(system, ring, together));
        let fits = |weights: &Vec<Weight>| {
            let mut points = points.iter();
            points.all(|params| is_enough(system, weights, ring, params) != Some(false))
        };
        let mut tried = [one, together].into_iter().flatten();
        let found = tried.find(fits);
        let found = found.ok_or("it was not shown that as many arrive as are expected")?;
        all.extend(found.into_iter().filter(|w| w.amounts != [Sum::number(1)]));
    }
    Ok(all)
}

fn of_ring(system: &System<'_>, ring: usize, together: bool) -> Option<Vec<Weight>> {
    let mut all = Vec::new();
    for class in &system.rings[ring].arriving {
        let sites = loops::sites(&system.classes[*class]).into_iter();
        let sites = sites.filter(|site| site.counter == Counter::Arrived(ring));
        let sites: Vec<Site> = sites.collect();
        let Some(first) = sites.first() else {
            continue;
        };
        let mut amounts = Vec::new();
        for site in &sites {
            amounts.push(site.amount.clone()?);
        }
        let alike = sites.iter().all(|site| site.around == first.around);
        if !together || !alike {
            amounts.truncate(1);
        }
        all.push(Weight {
            class: *class,
            ring,
            amounts,
        });
    }
    Some(all)
}

/// The value of an expression over parameters.
fn value(expr: &Expr, params: &[i64]) -> Option<i64> {
    run::value(expr, params, &HashMap::new())
}

fn sum(sum: &Sum, params: &[i64]) -> Option<i64> {
    loops::value(sum, params, &HashMap::new(), &Counters::new())
}

/// Whether the arrivals in each group add up to the expected number. `None` if the expected number is unknown.
fn is_enough(system: &System<'_>, weights: &[Weight], ring: usize, params: &[i64]) -> Option<bool> {
    if system.rings[ring].init {
        return None;
    }
    let expected = match system.kind(ring) {
        ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
            value(arrivals, params)?
        }
        ObjectKind::Named => {
            let classes = system.classes.iter();
            let threads = classes
                .filter_map(|class| threads(&class.body, ring))
                .next()?;
            value(threads, params)? / WARP
        }
        ObjectKind::Semaphore(_) | ObjectKind::Pool { .. } => return None,
    };
    let each = |weight: &Weight| {
        let mut all = 0;
        for amount in &weight.amounts {
            all += sum(amount, params)?;
        }
        Some(all)
    };
    let each: Option<Vec<(usize, i64)>> =
        weights.iter().map(|w| Some((w.class, each(w)?))).collect();
    Some(total(system, ring, &each?, params)? == expected)
}

/// The sum over the members of these classes in one group, each with its amount.
pub fn total(
    system: &System<'_>,
    ring: usize,
    each: &[(usize, i64)],
    params: &[i64],
) -> Option<i64> {
    // The group of the first member of some class.
    let end = |range: &Range| end(range, &|e| value(e, params));
    let first = |class: &&(usize, i64)| {
        let mut ranges = system.classes[class.0].ranges.iter();
        ranges.all(|range| end(range).is_some_and(|end| range.lo < end))
    };
    let (some, _) = each.iter().find(first)?;
    let los = |class: usize| system.classes[class].ranges.iter().map(|r| (r.var, r.lo));
    let group = group_at(system, (ring, false), *some, params, &los(*some).collect())?;
    let mut all = 0;
    for (class, each) in each {
        let own = system.rings[ring].own.get(&(*class, false))?;
        let mut vars: HashMap<VarId, i64> = los(*class).collect();
        let mut told = HashSet::new();
        for (own, value) in own.iter().zip(&group) {
            if let Some((var, inverse)) = &own.inverse {
                vars.insert(*var, run::value(inverse, params, &[(*var, *value)].into())?);
                told.insert(*var);
            }
        }
        let there = group_at(system, (ring, false), *class, params, &vars)? == group;
        let values = |range: &Range| {
            let end = end(range)?;
            Some(match told.contains(&range.var) {
                true => i64::from((range.lo..end).contains(&vars[&range.var])),
                false => (end - range.lo).max(0),
            })
        };
        let ranges = system.classes[*class].ranges.iter();
        let members: Option<i64> = ranges.map(values).product();
        all += each * members? * i64::from(there);
    }
    Some(all)
}

/// The number of threads in the first use of a named barrier.
fn threads(body: &[Node], ring: usize) -> Option<&Expr> {
    body.iter().find_map(|node| match node {
        Node::Act(act) if act.ring == ring => match &act.doing {
            Doing::Arrive(Amount::Threads(threads)) => Some(threads),
            _ => None,
        },
        Node::Branch(_, then, otherwise, _) => {
            threads(then, ring).or_else(|| threads(otherwise, ring))
        }
        Node::Loop(this) => threads(&this.body, ring),
        Node::Act(_) | Node::Assign(..) => None,
    })
}

/// For pools that have enough for everybody: the most that each class holds.
pub fn holds(system: &System<'_>, samples: &[Vec<Sample>], certificate: &mut Certificate) {
    for (ring, this) in system.rings.iter().enumerate() {
        let ObjectKind::Pool { capacity, .. } = system.kind(ring) else {
            continue;
        };
        let bound = |class: usize| {
            let sites = loops::sites(&system.classes[class]).into_iter();
            let taken = sites.filter(|site| site.counter == Counter::Held(ring));
            let taken: Option<Vec<Sum>> = taken.map(|site| site.amount).collect();
            let taken = taken?;
            let all = Sum(taken.iter().flat_map(|sum| sum.0.clone()).collect());
            let mut tried = taken.into_iter().chain([all]);
            tried.find(|most| {
                samples[class].iter().all(|sample| {
                    let mut held = sample.run.held.iter().filter(|held| held.0 == ring);
                    held.all(|held| sum(most, &sample.params).is_some_and(|most| held.1 <= most))
                })
            })
        };
        let classes = this.arriving.iter();
        let bounds: Option<Vec<(usize, Sum)>> = classes.map(|c| Some((*c, bound(*c)?))).collect();
        let Some(bounds) = bounds else { continue };
        let fits = |params: &[i64]| {
            let each = bounds
                .iter()
                .map(|(c, most)| Some((*c, sum(most, params)?)));
            let each: Option<Vec<(usize, i64)>> = each.collect();
            Some(total(system, ring, &each?, params)? <= value(capacity, params)?)
        };
        let mut all = samples.iter().flatten();
        if all.all(|sample| fits(&sample.params) == Some(true)) {
            for (class, most) in bounds {
                certificate.classes[class].holds.push(Holds { ring, most });
            }
        }
    }
}

/// The group of a ring in which a member of a class waits, or does something else.
pub fn group(
    system: &System<'_>,
    ring: (usize, bool),
    class: usize,
    member: &Sample,
) -> Option<Vec<i64>> {
    let ranges = system.classes[class].ranges.iter();
    let vars = ranges.zip(&member.indices);
    let vars = vars.map(|(range, value)| (range.var, *value)).collect();
    group_at(system, ring, class, &member.params, &vars)
}

fn group_at(
    system: &System<'_>,
    (ring, waits): (usize, bool),
    class: usize,
    params: &[i64],
    vars: &HashMap<VarId, i64>,
) -> Option<Vec<i64>> {
    let own = system.rings[ring].own.get(&(class, waits))?.iter();
    own.map(|own| run::value(&own.value, params, vars))
        .collect()
}

/// The amounts for a wait at one ring and for an arrival at another one, such that both advance equally in one loop.
pub fn paces(
    system: &System<'_>,
    weights: &[Weight],
    class: usize,
    (waits, arrives): (usize, usize),
) -> (i64, i64) {
    let sites = loops::sites(&system.classes[class]);
    let of = |counter: Counter| sites.iter().filter(move |site| site.counter == counter);
    let (waiting, arriving) = (Counter::Awaited(waits), Counter::Arrived(arrives));
    let first = of(waiting).next();
    let within = |site: &Site| first.is_some_and(|first| first.around == site.around);
    let numbers = |counter: Counter| i64::try_from(of(counter).count()).unwrap_or(1);
    let units = units(weights, class, arrives);
    let (waiting, arriving) = match of(waiting).chain(of(arriving)).all(within) {
        true => (numbers(waiting) * units, numbers(arriving)),
        false => (1, 1),
    };
    if waiting == 0 || arriving == 0 || waiting == arriving {
        return (1, 1);
    }
    let common = (1..=waiting.min(arriving)).rev();
    let mut common = common.filter(|by| waiting % by == 0 && arriving % by == 0);
    let by = common.next().unwrap_or(1);
    (arriving / by, waiting / by)
}
