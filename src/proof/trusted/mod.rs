//! Looks for certificates that the kernel ([`crate::trusted`]) accepts.
//!
//! Members are run one by one at small parameter values. Facts about loops follow from the shape of the programs
//! (`loops.rs`); lags, reasons and ranks are those that fit all that was seen. Nothing here reasons for all values:
//! that is the kernel's task.

mod loops;
mod ranks;
mod run;
mod splits;
mod supplies;
mod turns;
mod weights;

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::time::Instant;

use super::Guess;
use super::sample;
use super::uncovered;
use crate::certificate::argument::Argument;
use crate::patience;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::trusted::certificate::Behind;
use crate::trusted::certificate::Certificate;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::InTurn;
use crate::trusted::certificate::Lag;
use crate::trusted::certificate::Link;
use crate::trusted::certificate::Local;
use crate::trusted::certificate::NotLapped;
use crate::trusted::certificate::Sum;
use crate::trusted::certificate::Weight;
use crate::trusted::system::Range;
use crate::trusted::system::System;
use loops::Sample;
use run::Counters;
use run::at;

/// Inputs that are drawn: their values are small.
const DRAWN_INSTANCES: usize = 15;

/// Scattered points that are tried, and how far apart their values are.
const DRAWN: i64 = 40;
const SPREAD: i64 = 7;

/// How many are looked at.
const SAMPLES: usize = 20;

/// The longest chain that is tried, and how many are tried at most.
const MAX_LINKS: usize = 4;
const MAX_CHAINS: usize = 2_000;

/// Waits times classes, at most: about so many pairs of members are looked at in a proof.
const MAX_PAIRS: usize = 2_000;

/// How many steps of members are looked at in all. The more are needed, the larger the protocol is.
const MAX_STEPS: usize = 200_000;

/// Looks for a certificate that fits all samples.
pub fn guess(protocol: &Protocol, deadline: Instant, tell: &dyn Fn(&str)) -> Guess {
    tell("looking for invariants");
    let reason = match search(protocol, deadline) {
        Ok(certificate) => return Guess::Fitting(Argument::Kernel(certificate)),
        Err(reason) => reason,
    };
    if protocol.atomic().is_some() || over(deadline) {
        return Guess::nothing(reason);
    }
    tell("looking for turns");
    let events = turns::guess(protocol).or_else(|_| supplies::guess(protocol, deadline, tell));
    match events {
        Ok(events) => Guess::Fitting(Argument::Waits(events)),
        Err(_) => Guess::nothing(reason),
    }
}

/// Why there is no certificate where there was no time.
const TIME: &str = "the time was up";

/// Whether the time is over: that of this search, or of what it is a part of.
fn over(deadline: Instant) -> bool {
    patience::over() || Instant::now() >= deadline
}

fn search(protocol: &Protocol, deadline: Instant) -> Result<Certificate, String> {
    let mut certificate = Certificate {
        splits: splits::splits(protocol),
        ..Certificate::default()
    };
    let system = System::new(protocol, &certificate).map_err(uncovered)?;
    let waits: usize = system.classes.iter().map(|class| class.waits).sum();
    if waits.saturating_mul(system.classes.len()) > MAX_PAIRS {
        return Err("there are too many waits and roles".to_owned());
    }
    let points = points(protocol);
    certificate.weights = weights::weights(&system, &points)?;
    let search = Search {
        samples: samples(&system, &certificate.weights, points, deadline),
        weights: certificate.weights.clone(),
        system,
        deadline,
    };
    let classes = &search.system.classes;
    if search.samples.iter().all(Vec::is_empty) {
        return Err("no member could be run".to_owned());
    }
    if search
        .samples
        .iter()
        .flatten()
        .any(|sample| sample.run.astray)
    {
        return Err("elements are not gone through in turn".to_owned());
    }
    let own = |class: usize| &search.samples[class];
    for (number, class) in classes.iter().enumerate() {
        let units = |lane| weights::units(&certificate.weights, number, lane);
        certificate.classes.push(Local {
            loops: loops::facts(class, &units, own(number)),
            ..Local::default()
        });
    }
    weights::holds(&search.system, &search.samples, &mut certificate);
    certificate.lags = search.lags()?;
    for class in 0..classes.len() {
        for lane in 0..search.system.lanes.len() {
            if over(deadline) {
                return Err(TIME.to_owned());
            }
            if search.system.in_turn(lane) {
                search.in_turn(&mut certificate, class, lane)?;
            }
            search.not_lapped(&mut certificate, class, lane)?;
        }
    }
    if over(deadline) {
        return Err(TIME.to_owned());
    }
    let ranks = ranks::ranks(&search.system, &search.samples, &certificate.lags)
        .ok_or("there are no ranks of this form")?;
    for (local, ranks) in certificate.classes.iter_mut().zip(ranks) {
        local.ranks = ranks;
    }
    Ok(certificate)
}

/// Whether a chain will do, with what its classes may be behind by.
type Fits<'f> = &'f mut dyn FnMut(&Certificate, &[Link], &[Behind]) -> bool;

/// A chain, and what it needs of classes.
type Found = (Vec<Link>, Vec<(usize, Behind)>);

struct Search<'p> {
    system: System<'p>,
    /// Per class.
    samples: Vec<Vec<Sample>>,
    weights: Vec<Weight>,
    /// When it has to end.
    deadline: Instant,
}

impl Search<'_> {
    fn rounds(lags: &[Lag], class: usize, lane: usize) -> i64 {
        let mut lags = lags.iter();
        let lag = lags.find(|lag| lag.class == class && lag.lane == lane);
        lag.map_or(0, |lag| lag.rounds)
    }

    fn size(&self, lane: usize, params: &[i64]) -> i64 {
        run::size(&self.system, &self.system.lanes[lane], params).unwrap_or(1)
    }

    /// Waits by parity are for what is being filled, or for what is free in the first round.
    fn lags(&self) -> Result<Vec<Lag>, String> {
        let mut all = Vec::new();
        for (class, samples) in self.samples.iter().enumerate() {
            for lane in 0..self.system.lanes.len() {
                let waits = samples.iter().flat_map(|sample| &sample.run.waits);
                let parities: Vec<(i64, i64)> = waits
                    .filter(|wait| wait.1 == lane)
                    .filter_map(|wait| Some((wait.2?, at(&wait.3, Counter::AwaitedBit(lane)))))
                    .collect();
                if parities.iter().all(|(parity, bit)| parity == bit) {
                    continue;
                }
                if parities.iter().any(|(parity, bit)| *parity != 1 - bit) {
                    return Err("it is not clear what a wait is for".to_owned());
                }
                let rounds = 1;
                all.push(Lag {
                    class,
                    lane,
                    rounds,
                });
            }
        }
        Ok(all)
    }

    /// Why a class arrives in turn at a lane.
    fn in_turn(
        &self,
        certificate: &mut Certificate,
        class: usize,
        lane: usize,
    ) -> Result<(), String> {
        let arrivals = || self.arrivals(class, lane);
        let fits = |bound: &dyn Fn(&Sample, &Counters) -> Option<i64>| {
            arrivals().all(|(sample, counters)| {
                let (arrived, size) = (
                    at(counters, Counter::Arrived(lane)),
                    self.size(lane, &sample.params),
                );
                arrived < size || bound(sample, counters).is_some_and(|done| arrived - size < done)
            })
        };
        if fits(&|_, _| None) {
            return Ok(());
        }
        let ends = |chain: &[Link]| chain.last().is_some_and(|last| last.lane == lane);
        let found = self.chains(certificate, class, &mut |certificate, chain, behind| {
            ends(chain)
                && fits(&|sample, counters| {
                    self.bound(certificate, class, (chain, behind), sample, counters)
                })
        });
        let (chain, behind) = found.ok_or("an arrival may come too early")?;
        self.note(certificate, behind);
        certificate.in_turn.push(InTurn { class, lane, chain });
        Ok(())
    }

    /// Why a class that waits by parity at a lane is not lapped.
    fn not_lapped(
        &self,
        certificate: &mut Certificate,
        class: usize,
        lane: usize,
    ) -> Result<(), String> {
        let waits = self.samples[class]
            .iter()
            .flat_map(|sample| &sample.run.waits);
        if !waits
            .into_iter()
            .any(|wait| wait.1 == lane && wait.2.is_some())
        {
            return Ok(());
        }
        let rounds = Self::rounds(&certificate.lags, class, lane);
        for by in self.system.lanes[lane].arriving.clone() {
            let fits = |passed: &dyn Fn(&Sample, &Counters) -> Option<i64>| {
                self.arrivals(by, lane).all(|(sample, counters)| {
                    let size = self.size(lane, &sample.params);
                    let wait = at(counters, Counter::Arrived(lane)) - size + rounds * size;
                    passed(sample, counters).is_some_and(|passed| wait < passed)
                })
            };
            if by == class && fits(&|_, counters| Some(at(counters, Counter::Awaited(lane)))) {
                let chain = Vec::new();
                certificate.not_lapped.push(NotLapped {
                    class,
                    lane,
                    by,
                    chain,
                });
                return Ok(());
            }
            if fits(&|_, _| Some(0)) {
                let chain = Vec::new();
                certificate.not_lapped.push(NotLapped {
                    class,
                    lane,
                    by,
                    chain,
                });
                return Ok(());
            }
            let mut last_less = None;
            let found = self.chains(certificate, by, &mut |certificate, chain, all| {
                let Some(last) = chain.last().filter(|last| last.class == class) else {
                    return false;
                };
                let Some(behind) = self.behind(class, lane, last.lane) else {
                    return false;
                };
                let all = [all, std::slice::from_ref(&behind)].concat();
                let fits = fits(&|sample, counters| {
                    self.bound(certificate, by, (chain, &all), sample, counters)
                });
                last_less = fits.then_some((class, behind));
                fits
            });
            if let Some((chain, behind)) = found {
                self.note(certificate, behind);
                self.note(certificate, last_less.into_iter().collect());
                certificate.not_lapped.push(NotLapped {
                    class,
                    lane,
                    by,
                    chain,
                });
                return Ok(());
            }
        }
        Err("a wait may be lapped".to_owned())
    }

    fn note(&self, certificate: &mut Certificate, behind: Vec<(usize, Behind)>) {
        for (class, behind) in behind {
            let all = &mut certificate.classes[class].behind;
            if !all.contains(&behind) {
                all.push(behind);
            }
        }
    }

    fn arrivals(&self, class: usize, lane: usize) -> impl Iterator<Item = (&Sample, &Counters)> {
        let samples = self.samples[class].iter();
        samples.flat_map(move |sample| {
            let arrivals = sample.run.arrivals.iter();
            let arrivals = arrivals.filter(move |arrival| arrival.0 == lane);
            arrivals.map(move |arrival| (sample, &arrival.1))
        })
    }

    /// The shortest chain that fits, and what it needs of the classes on its way.
    fn chains(&self, certificate: &Certificate, class: usize, fits: Fits<'_>) -> Option<Found> {
        type Tried = (Vec<Link>, Vec<(usize, Behind)>);
        let mut tried: Vec<Tried> = vec![Default::default()];
        let mut count = 0;
        for _ in 0..MAX_LINKS {
            let mut longer = Vec::new();
            for (chain, behind) in tried {
                let end = chain.last().map_or(class, |link: &Link| link.class);
                for lane in self.waited(end) {
                    if over(self.deadline) {
                        return None;
                    }
                    let mut behind = behind.clone();
                    if let Some(last) = chain.last() {
                        let Some(found) = self.behind(end, lane, last.lane) else {
                            continue;
                        };
                        behind.push((end, found));
                    }
                    let all: Vec<Behind> = behind.iter().map(|(_, all)| all.clone()).collect();
                    for class in &self.system.lanes[lane].arriving {
                        let link = Link {
                            lane,
                            class: *class,
                        };
                        if chain.contains(&link) {
                            continue;
                        }
                        let chain = [chain.clone(), vec![link]].concat();
                        count += 1;
                        if count > MAX_CHAINS {
                            return None;
                        }
                        if fits(certificate, &chain, &all) {
                            return Some((chain, behind));
                        }
                        longer.push((chain, behind.clone()));
                    }
                }
            }
            tried = longer;
        }
        None
    }

    /// Where a class waits.
    fn waited(&self, class: usize) -> BTreeSet<usize> {
        let counted = crate::trusted::system::counted(&self.system.classes[class].body);
        let lane = |counter: Counter| match counter {
            Counter::Awaited(lane) => Some(lane),
            _ => None,
        };
        counted.into_iter().filter_map(lane).collect()
    }

    /// How many numbers are done at the end of a chain at least, as far as a member knows; or how many waits have been
    /// passed, if there is one more that is behind than there are links after the first.
    fn bound(
        &self,
        certificate: &Certificate,
        class: usize,
        (chain, behind): (&[Link], &[Behind]),
        sample: &Sample,
        counters: &Counters,
    ) -> Option<i64> {
        let lag = |class: usize, lane: usize| {
            Self::rounds(&certificate.lags, class, lane) * self.size(lane, &sample.params)
        };
        let (first, rest) = chain.split_first()?;
        let mut bound = at(counters, Counter::Awaited(first.lane)) - lag(class, first.lane);
        let mut scale = 1;
        let mut rest = rest.iter();
        let mut last = first;
        for behind in behind {
            let none = (HashMap::new(), Counters::new());
            let less = loops::value(&behind.less, &sample.params, &none.0, &none.1)?;
            bound = bound * behind.per_arrival - scale * less;
            scale *= behind.per_wait;
            if let Some(link) = rest.next() {
                bound -= scale * lag(last.class, link.lane);
                last = link;
            }
        }
        // As many as the least number with `scale * number >= bound`.
        Some(bound.div_euclid(scale) + i64::from(bound.rem_euclid(scale) > 0))
    }

    /// By how much less often a class has waited at one lane than it has arrived at another.
    fn behind(&self, class: usize, waits: usize, arrives: usize) -> Option<Behind> {
        let samples = &self.samples[class];
        let lanes = (waits, arrives);
        let paces = weights::paces(&self.system, &self.weights, class, lanes);
        let (per_wait, per_arrival) = paces;
        let most = |sample: &Sample| {
            let run = &sample.run;
            let seen = run.arrivals.iter().map(|arrival| &arrival.1);
            let seen = seen
                .chain(run.waits.iter().map(|wait| &wait.3))
                .chain([&run.end]);
            let behind = |c: &Counters| {
                let arrived = at(c, Counter::Arrived(arrives));
                per_arrival * arrived - per_wait * at(c, Counter::Awaited(waits))
            };
            seen.map(behind).max().unwrap_or(0).max(0)
        };
        let most: Vec<(&Sample, i64)> = samples
            .iter()
            .map(|sample| (sample, most(sample)))
            .collect();
        let mut candidates: Vec<Sum> = (0..=2).map(Sum::number).collect();
        for lane in [waits, arrives] {
            let of = &self.system.lanes[lane];
            if let Some(moving) = of.moving() {
                let size =
                    loops::polynomial(&self.system.protocol.objects[of.object].extents[moving])?;
                for plus in [-1, 0, 1] {
                    let mut sum = size.clone();
                    sum.0.extend(Sum::number(plus).0);
                    candidates.push(sum);
                }
            }
        }
        let fits = |sum: &Sum| {
            most.iter().all(|(sample, most)| {
                let less = loops::value(sum, &sample.params, &HashMap::new(), &Counters::new());
                less.is_some_and(|less| *most <= less)
            })
        };
        let less = candidates.into_iter().find(fits)?;
        Some(Behind {
            waits,
            arrives,
            per_wait,
            per_arrival,
            less,
        })
    }
}

/// One past the greatest value of an index.
fn end(range: &Range, value: &dyn Fn(&Expr) -> Option<i64>) -> Option<i64> {
    let extent = value(&range.extent)?;
    Some(range.hi.map_or(extent, |hi| hi.min(extent)))
}

/// Some point of the domain, scattered, with values that tell sizes and numbers of iterations apart.
fn point(protocol: &Protocol, nth: i64) -> Option<Vec<i64>> {
    let numbered = protocol.params.iter().zip(1_u64..);
    let values = numbered.map(|(param, at)| {
        let mixed = (nth as u64 * 64 + at).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let step = (mixed >> 40) as i64 % SPREAD;
        match &param.domain {
            Domain::AtLeast(lo) => lo.checked_add(step),
            Domain::Range(lo, hi) => Some(lo.checked_add(step)?.min(*hi)),
            Domain::Set(values) => values.get(step as usize % values.len()).copied(),
        }
    });
    let values: Vec<i64> = values.collect::<Option<_>>()?;
    let holds = |condition: &Expr| run::value(condition, &values, &HashMap::new()) == Some(1);
    let mut assumptions = protocol.assumptions.iter();
    assumptions
        .all(|assumption| holds(&assumption.condition))
        .then_some(values)
}

/// Values of the parameters that are looked at.
fn points(protocol: &Protocol) -> Vec<Vec<i64>> {
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
fn samples(
    system: &System<'_>,
    weights: &[Weight],
    points: Vec<Vec<i64>>,
    deadline: Instant,
) -> Vec<Vec<Sample>> {
    let mut all: Vec<Vec<Sample>> = system.classes.iter().map(|_| Vec::new()).collect();
    let mut left = MAX_STEPS;
    for params in points {
        // A point counts only where every class is seen there.
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
            for indices in BTreeSet::from([first, last]) {
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
