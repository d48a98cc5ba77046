//! Looks for certificates that the kernel ([`crate::trusted`]) accepts.
//!
//! Members are run one by one at small parameter values. Facts about loops follow from the form of the programs
//! (`loops.rs`). Lags, reasons and ranks are chosen such that they fit all observations. Nothing here reasons about
//! all values: that is the task of the kernel.

mod loops;
mod ranks;
mod reasons;
mod run;
mod samples;
mod splits;
mod supplies;
mod turns;
mod weights;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::time::Instant;

use super::Guess;
use super::uncovered_in;
use crate::certificate::argument::Argument;
use crate::deadline;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::trusted::certificate::Behind;
use crate::trusted::certificate::Certificate;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::Lag;
use crate::trusted::certificate::Link;
use crate::trusted::certificate::Local;
use crate::trusted::certificate::Sum;
use crate::trusted::certificate::Weight;
use crate::trusted::system::System;
use loops::Sample;
use run::Counters;
use run::at;
use samples::far;
use samples::points;
use samples::samples;

/// The most links of a chain, and the most chains that are tried.
const MAX_LINKS: usize = 4;
const MAX_CHAINS: usize = 2_000;

/// The most waits times classes. A proof compares about this many pairs of members.
const MAX_PAIRS: usize = 2_000;

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

/// The reason if time is up.
const TIME: &str = "the time was up";

/// Whether time is up: that of this search, or that of the task it belongs to.
fn over(deadline: Instant) -> bool {
    deadline::over() || Instant::now() >= deadline
}

fn search(protocol: &Protocol, deadline: Instant) -> Result<Certificate, String> {
    let mut certificate = Certificate {
        splits: splits::splits(protocol),
        ..Certificate::default()
    };
    let system = System::new(protocol, &certificate).map_err(uncovered_in(protocol))?;
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
        met: RefCell::default(),
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
    for number in 0..classes.len() {
        let units = |ring| weights::units(&certificate.weights, number, ring);
        certificate.classes.push(Local {
            loops: loops::facts(&search.system, number, &units, own(number)),
            ..Local::default()
        });
    }
    weights::holds(&search.system, &search.samples, &mut certificate);
    certificate.lags = search.lags()?;
    for class in 0..classes.len() {
        for ring in 0..search.system.rings.len() {
            if over(deadline) {
                return Err(TIME.to_owned());
            }
            if search.system.in_turn(ring) {
                search.in_turn(&mut certificate, class, ring)?;
            }
            search.not_lapped(&mut certificate, class, ring)?;
            search.ready(&mut certificate, class, ring)?;
        }
    }
    if over(deadline) {
        return Err(TIME.to_owned());
    }
    let far = far(protocol, ranks::small(&search.system));
    let far = samples(&search.system, &certificate.weights, far, deadline);
    let seen = [&search.samples[..], &far];
    let ranks = ranks::ranks(&search.system, seen, &certificate.lags)
        .ok_or("no order of the form that is looked for puts each wait behind what it waits for")?;
    for (local, ranks) in certificate.classes.iter_mut().zip(ranks) {
        local.ranks = ranks;
    }
    Ok(certificate)
}

/// A test whether a chain is acceptable, given how far its classes may be behind.
type Fits<'f> = &'f mut dyn FnMut(&Certificate, &[Link], &[Behind]) -> bool;

/// A chain, and what it needs of its classes.
type Found = (Vec<Link>, Vec<(usize, Behind)>);

struct Search<'p> {
    system: System<'p>,
    /// Per class.
    samples: Vec<Vec<Sample>>,
    weights: Vec<Weight>,
    /// A cache: which classes use the same group of a ring.
    met: RefCell<HashMap<(usize, usize, usize), bool>>,
    /// When it has to end.
    deadline: Instant,
}

impl Search<'_> {
    fn size(&self, ring: usize, params: &[i64]) -> i64 {
        run::size(&self.system, &self.system.rings[ring], params).unwrap_or(1)
    }

    /// The lags. Waits by parity are for the round that is being filled, or for the round before, which is free at
    /// the beginning.
    fn lags(&self) -> Result<Vec<Lag>, String> {
        let mut all = Vec::new();
        for (class, samples) in self.samples.iter().enumerate() {
            for ring in 0..self.system.rings.len() {
                if self.starts_at_once(class, ring) {
                    let rounds = 1;
                    all.push(Lag {
                        class,
                        ring,
                        rounds,
                    });
                    continue;
                }
                let waits = samples.iter().flat_map(|sample| &sample.run.waits);
                let parities: Vec<(i64, i64)> = waits
                    .filter(|wait| wait.1 == ring)
                    .filter_map(|wait| Some((wait.2?, at(&wait.3, Counter::AwaitedBit(ring)))))
                    .collect();
                if parities.iter().all(|(parity, bit)| parity == bit) {
                    continue;
                }
                if parities.iter().any(|(parity, bit)| *parity != 1 - bit) {
                    return Err("it was not found which arrivals a wait waits for".to_owned());
                }
                let rounds = 1;
                all.push(Lag {
                    class,
                    ring,
                    rounds,
                });
            }
        }
        Ok(all)
    }

    /// Whether waits for a value are for the initial value in the first round, and in no other round.
    fn starts_at_once(&self, class: usize, ring: usize) -> bool {
        let ObjectKind::Semaphore(Initial::Value(initial)) = self.system.kind(ring) else {
            return false;
        };
        let mut first = 0;
        let mut samples = self.samples[class].iter();
        let fits = samples.all(|sample| {
            let initial = run::value(initial, &sample.params, &HashMap::new());
            let mut values = sample.run.values.iter().filter(|value| value.0 == ring);
            values.all(|(_, value, turn)| {
                first += i64::from(*turn == 0);
                (Some(*value) == initial) == (*turn == 0)
            })
        });
        fits && first > 0
    }

    fn note(&self, certificate: &mut Certificate, behind: Vec<(usize, Behind)>) {
        for (class, behind) in behind {
            let all = &mut certificate.classes[class].behind;
            if !all.contains(&behind) {
                all.push(behind);
            }
        }
    }

    fn arrivals(&self, class: usize, ring: usize) -> impl Iterator<Item = (&Sample, &Counters)> {
        let samples = self.samples[class].iter();
        samples.flat_map(move |sample| {
            let arrivals = sample.run.arrivals.iter();
            let arrivals = arrivals.filter(move |arrival| arrival.0 == ring);
            arrivals.map(move |arrival| (sample, &arrival.1))
        })
    }

    /// The shortest chain that fits, and how far the classes on it may be behind.
    fn chains(&self, certificate: &Certificate, class: usize, fits: Fits<'_>) -> Option<Found> {
        type Tried = (Vec<Link>, Vec<(usize, Behind)>);
        let mut tried: Vec<Tried> = vec![Default::default()];
        let mut count = 0;
        for _ in 0..MAX_LINKS {
            let mut longer = Vec::new();
            for (chain, behind) in tried {
                let end = chain.last().map_or(class, |link: &Link| link.class);
                for ring in self.waited(end) {
                    if over(self.deadline) {
                        return None;
                    }
                    let mut behind = behind.clone();
                    if let Some(last) = chain.last() {
                        let Some(found) = self.behind(end, ring, last.ring) else {
                            continue;
                        };
                        behind.push((end, found));
                    }
                    let all: Vec<Behind> = behind.iter().map(|(_, all)| all.clone()).collect();
                    for class in &self.system.rings[ring].arriving {
                        let link = Link {
                            ring,
                            class: *class,
                        };
                        if chain.contains(&link) {
                            continue;
                        }
                        if !self.meet(end, ring, *class) {
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

    /// Whether a member of one class waits in a group of a ring in which a member of another class arrives, according
    /// to the samples.
    fn meet(&self, waits: usize, ring: usize, arrives: usize) -> bool {
        if self.system.rings[ring].owns().next().is_none() {
            return true;
        }
        let group = |class: usize, side: bool, sample: &Sample| {
            let group = weights::group(&self.system, (ring, side), class, sample);
            (sample.params.clone(), group)
        };
        let known = || {
            let there = self.samples[arrives].iter();
            let there = there.map(|sample| group(arrives, false, sample));
            let there: BTreeSet<_> = there.collect();
            let mut own = self.samples[waits].iter();
            own.any(|sample| there.contains(&group(waits, true, sample)))
        };
        let mut all = self.met.borrow_mut();
        *all.entry((waits, ring, arrives)).or_insert_with(known)
    }

    /// The rings at which a class waits.
    fn waited(&self, class: usize) -> BTreeSet<usize> {
        let counted = crate::trusted::system::counted(&self.system.classes[class].body);
        let ring = |counter: Counter| match counter {
            Counter::Awaited(ring) => Some(ring),
            _ => None,
        };
        counted.into_iter().filter_map(ring).collect()
    }

    /// The least number of arrivals that a member knows to be done at the end of a chain. Or the number of waits that
    /// have been passed, if `behind` has one entry more than there are links after the first one.
    fn bound(
        &self,
        certificate: &Certificate,
        class: usize,
        (chain, behind): (&[Link], &[Behind]),
        sample: &Sample,
        counters: &Counters,
    ) -> Option<i64> {
        let lag = |class: usize, ring: usize| {
            rounds(&certificate.lags, class, ring) * self.size(ring, &sample.params)
        };
        let (first, rest) = chain.split_first()?;
        let mut bound = at(counters, Counter::Awaited(first.ring)) - lag(class, first.ring);
        let mut scale = 1;
        let mut rest = rest.iter();
        let mut last = first;
        for behind in behind {
            let none = (HashMap::new(), Counters::new());
            let less = loops::value(&behind.less, &sample.params, &none.0, &none.1)?;
            bound = bound * behind.per_arrival - scale * less;
            scale *= behind.per_wait;
            if let Some(link) = rest.next() {
                bound -= scale * lag(last.class, link.ring);
                last = link;
            }
        }
        // The least number with `scale * number >= bound`.
        Some(bound.div_euclid(scale) + i64::from(bound.rem_euclid(scale) > 0))
    }

    /// How much less often a class has waited at one ring than it has arrived at another one.
    fn behind(&self, class: usize, waits: usize, arrives: usize) -> Option<Behind> {
        let samples = &self.samples[class];
        let rings = (waits, arrives);
        let paces = weights::paces(&self.system, &self.weights, class, rings);
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
        for ring in [waits, arrives] {
            let of = &self.system.rings[ring];
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

/// The lag of a class at a ring, in rounds.
fn rounds(lags: &[Lag], class: usize, ring: usize) -> i64 {
    let mut lags = lags.iter();
    let lag = lags.find(|lag| lag.class == class && lag.ring == ring);
    lag.map_or(0, |lag| lag.rounds)
}
