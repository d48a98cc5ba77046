//! Guesses chains that agree with all samples. They are reasons that arrivals come in turn, that
//! waits are not lapped, and that mbarriers have been initialised.

use super::Search;
use super::loops::Sample;
use super::rounds;
use super::run::Counters;
use super::run::at;
use super::weights;
use crate::proof::uncovered;
use crate::protocol::Comparison;
use crate::protocol::ObjectKind;
use crate::trusted::certificate::Certificate;
use crate::trusted::certificate::Counter;
use crate::trusted::certificate::InTurn;
use crate::trusted::certificate::Link;
use crate::trusted::certificate::NotLapped;
use crate::trusted::certificate::Ready;
use crate::trusted::system::Doing;
use crate::trusted::system::Node;

impl Search<'_> {
    /// Why a class arrives in turn at a lane.
    pub(super) fn in_turn(
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
        if self.alone(class, lane) {
            let chain = Vec::new();
            certificate.in_turn.push(InTurn { class, lane, chain });
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

    /// Whether only one member arrives in a group, and its arrivals land at once.
    fn alone(&self, class: usize, lane: usize) -> bool {
        let arriving = self.system.lanes[lane].arriving.iter();
        let each: Vec<(usize, i64)> = arriving.map(|class| (*class, 1)).collect();
        let total = |sample: &Sample| weights::total(&self.system, lane, &each, &sample.params);
        let mut samples = self.samples[class].iter();
        let semaphore = matches!(self.system.kind(lane), ObjectKind::Semaphore(_));
        semaphore && samples.all(|sample| total(sample) == Some(1))
    }

    /// Why a class that waits by parity at a lane is not lapped. If it waits for one value: why
    /// whoever arrives does not lap it.
    pub(super) fn not_lapped(
        &self,
        certificate: &mut Certificate,
        class: usize,
        lane: usize,
    ) -> Result<(), String> {
        let waits = self.samples[class]
            .iter()
            .flat_map(|sample| &sample.run.waits);
        let parity = waits.clone().any(|wait| wait.1 == lane && wait.2.is_some());
        let exact = is_exact(&self.system.classes[class].body, lane);
        if !parity && !exact {
            return Ok(());
        }
        let mut found = false;
        for by in self.system.lanes[lane].arriving.clone() {
            found = self.not_lapped_by(certificate, (class, lane, by), exact);
            if found != exact {
                break;
            }
        }
        match found || exact && self.system.lanes[lane].arriving.is_empty() {
            true => Ok(()),
            false => Err("a wait may be lapped".to_owned()),
        }
    }

    fn not_lapped_by(
        &self,
        certificate: &mut Certificate,
        (class, lane, by): (usize, usize, usize),
        exact: bool,
    ) -> bool {
        let rounds = rounds(&certificate.lags, class, lane);
        let fits = |passed: &dyn Fn(&Sample, &Counters) -> Option<i64>| {
            self.arrivals(by, lane).all(|(sample, counters)| {
                let size = self.size(lane, &sample.params);
                let wait = at(counters, Counter::Arrived(lane)) - size + rounds * size;
                passed(sample, counters).is_some_and(|passed| wait < passed)
            })
        };
        let own = |_: &Sample, counters: &Counters| Some(at(counters, Counter::Awaited(lane)));
        let mut last_less = None;
        let found = match by == class && !exact && fits(&own) || fits(&|_, _| Some(0)) {
            true => Some(Default::default()),
            false => self.chains(certificate, by, &mut |certificate, chain, all| {
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
            }),
        };
        let Some((chain, behind)) = found else {
            return false;
        };
        self.note(certificate, behind);
        self.note(certificate, last_less.into_iter().collect());
        certificate.not_lapped.push(NotLapped {
            class,
            lane,
            by,
            chain,
        });
        true
    }

    /// Why a class that uses mbarriers knows that they have been initialised.
    pub(super) fn ready(
        &self,
        certificate: &mut Certificate,
        class: usize,
        lane: usize,
    ) -> Result<(), String> {
        let inits = self.system.inits(lane).map_err(uncovered)?;
        let (Some(inits), true) = (
            inits,
            self.system.lanes[lane].own.contains_key(&(class, false)),
        ) else {
            return Ok(());
        };
        let all_made = |sample: &Sample, counters: &Counters| {
            at(counters, Counter::Arrived(inits)) == self.size(inits, &sample.params)
        };
        let makes = &self.system.lanes[inits].arriving;
        let found = match makes.contains(&class) {
            true => Some(Default::default()),
            false => self.chains(certificate, class, &mut |certificate, chain, behind| {
                let last = chain.last().filter(|last| makes.contains(&last.class));
                let first = last.is_some_and(|last| {
                    let mut arrivals = self.arrivals(last.class, last.lane);
                    arrivals.all(|(sample, counters)| all_made(sample, counters))
                });
                let mut uses = self.uses(class, lane);
                first
                    && uses.all(|(sample, counters)| {
                        self.bound(certificate, class, (chain, behind), sample, counters)
                            .is_some_and(|done| done > 0)
                    })
            }),
        };
        let (chain, behind) = found.ok_or("an mbarrier may be used before its initialisation")?;
        self.note(certificate, behind);
        certificate.ready.push(Ready { class, lane, chain });
        Ok(())
    }

    /// The states before all arrivals and waits at a lane.
    fn uses(&self, class: usize, lane: usize) -> impl Iterator<Item = (&Sample, &Counters)> {
        let waits = self.samples[class].iter().flat_map(move |sample| {
            let waits = sample.run.waits.iter();
            let waits = waits.filter(move |wait| wait.1 == lane);
            waits.map(move |wait| (sample, &wait.3))
        });
        waits.chain(self.arrivals(class, lane))
    }
}

/// Whether a block waits for one value at a lane.
fn is_exact(body: &[Node], lane: usize) -> bool {
    body.iter().any(|node| match node {
        Node::Act(act) => {
            act.lane == lane && matches!(act.doing, Doing::Value(_, Comparison::Equal, _))
        }
        Node::Branch(_, then, otherwise, _) => is_exact(then, lane) || is_exact(otherwise, lane),
        Node::Loop(this) => is_exact(&this.body, lane),
        Node::Assign(..) => false,
    })
}
