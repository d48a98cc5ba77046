//! Guesses chains that agree with all samples. They are the reasons why arrivals come in turn, why waits are not
//! lapped, and why mbarriers have been initialised.

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
    /// Why a class arrives in turn at a ring.
    pub(super) fn in_turn(
        &self,
        certificate: &mut Certificate,
        class: usize,
        ring: usize,
    ) -> Result<(), String> {
        let arrivals = || self.arrivals(class, ring);
        let fits = |bound: &dyn Fn(&Sample, &Counters) -> Option<i64>| {
            arrivals().all(|(sample, counters)| {
                let (arrived, size) = (
                    at(counters, Counter::Arrived(ring)),
                    self.size(ring, &sample.params),
                );
                arrived < size || bound(sample, counters).is_some_and(|done| arrived - size < done)
            })
        };
        if fits(&|_, _| None) {
            return Ok(());
        }
        if self.alone(class, ring) {
            let chain = Vec::new();
            certificate.in_turn.push(InTurn { class, ring, chain });
            return Ok(());
        }
        let ends = |chain: &[Link]| chain.last().is_some_and(|last| last.ring == ring);
        let found = self.chains(certificate, class, &mut |certificate, chain, behind| {
            ends(chain)
                && fits(&|sample, counters| {
                    self.bound(certificate, class, (chain, behind), sample, counters)
                })
        });
        let (chain, behind) = found.ok_or("an arrival may come too early")?;
        self.note(certificate, behind);
        certificate.in_turn.push(InTurn { class, ring, chain });
        Ok(())
    }

    /// Whether only one member arrives in a group, and its arrivals land at once.
    fn alone(&self, class: usize, ring: usize) -> bool {
        let arriving = self.system.rings[ring].arriving.iter();
        let each: Vec<(usize, i64)> = arriving.map(|class| (*class, 1)).collect();
        let total = |sample: &Sample| weights::total(&self.system, ring, &each, &sample.params);
        let mut samples = self.samples[class].iter();
        let semaphore = matches!(self.system.kind(ring), ObjectKind::Semaphore(_));
        semaphore && samples.all(|sample| total(sample) == Some(1))
    }

    /// The reason why a class that waits by parity at a ring is not lapped. For a wait for one value: the reason why
    /// the arriving members do not lap it.
    pub(super) fn not_lapped(
        &self,
        certificate: &mut Certificate,
        class: usize,
        ring: usize,
    ) -> Result<(), String> {
        let waits = self.samples[class]
            .iter()
            .flat_map(|sample| &sample.run.waits);
        let parity = waits.clone().any(|wait| wait.1 == ring && wait.2.is_some());
        let exact = is_exact(&self.system.classes[class].body, ring);
        if !parity && !exact {
            return Ok(());
        }
        let mut found = false;
        for by in self.system.rings[ring].arriving.clone() {
            found = self.not_lapped_by(certificate, (class, ring, by), exact);
            if found != exact {
                break;
            }
        }
        match found || exact && self.system.rings[ring].arriving.is_empty() {
            true => Ok(()),
            false => Err("a wait may be lapped".to_owned()),
        }
    }

    fn not_lapped_by(
        &self,
        certificate: &mut Certificate,
        (class, ring, by): (usize, usize, usize),
        exact: bool,
    ) -> bool {
        let rounds = rounds(&certificate.lags, class, ring);
        let fits = |passed: &dyn Fn(&Sample, &Counters) -> Option<i64>| {
            self.arrivals(by, ring).all(|(sample, counters)| {
                let size = self.size(ring, &sample.params);
                let wait = at(counters, Counter::Arrived(ring)) - size + rounds * size;
                passed(sample, counters).is_some_and(|passed| wait < passed)
            })
        };
        let own = |_: &Sample, counters: &Counters| Some(at(counters, Counter::Awaited(ring)));
        let mut last_less = None;
        let found = match by == class && !exact && fits(&own) || fits(&|_, _| Some(0)) {
            true => Some(Default::default()),
            false => self.chains(certificate, by, &mut |certificate, chain, all| {
                let Some(last) = chain.last().filter(|last| last.class == class) else {
                    return false;
                };
                let Some(behind) = self.behind(class, ring, last.ring) else {
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
            ring,
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
        ring: usize,
    ) -> Result<(), String> {
        let inits = self.system.inits(ring).map_err(uncovered)?;
        let (Some(inits), true) = (
            inits,
            self.system.rings[ring].own.contains_key(&(class, false)),
        ) else {
            return Ok(());
        };
        let all_made = |sample: &Sample, counters: &Counters| {
            at(counters, Counter::Arrived(inits)) == self.size(inits, &sample.params)
        };
        let makes = &self.system.rings[inits].arriving;
        let found = match makes.contains(&class) {
            true => Some(Default::default()),
            false => self.chains(certificate, class, &mut |certificate, chain, behind| {
                let last = chain.last().filter(|last| makes.contains(&last.class));
                let first = last.is_some_and(|last| {
                    let mut arrivals = self.arrivals(last.class, last.ring);
                    arrivals.all(|(sample, counters)| all_made(sample, counters))
                });
                let mut uses = self.uses(class, ring);
                first
                    && uses.all(|(sample, counters)| {
                        self.bound(certificate, class, (chain, behind), sample, counters)
                            .is_some_and(|done| done > 0)
                    })
            }),
        };
        let (chain, behind) = found.ok_or("an mbarrier may be used before its initialisation")?;
        self.note(certificate, behind);
        certificate.ready.push(Ready { class, ring, chain });
        Ok(())
    }

    /// The states before all arrivals and waits at a ring.
    fn uses(&self, class: usize, ring: usize) -> impl Iterator<Item = (&Sample, &Counters)> {
        let waits = self.samples[class].iter().flat_map(move |sample| {
            let waits = sample.run.waits.iter();
            let waits = waits.filter(move |wait| wait.1 == ring);
            waits.map(move |wait| (sample, &wait.3))
        });
        waits.chain(self.arrivals(class, ring))
    }
}

/// Whether a block waits for one value at a ring.
fn is_exact(body: &[Node], ring: usize) -> bool {
    body.iter().any(|node| match node {
        Node::Act(act) => {
            act.ring == ring && matches!(act.doing, Doing::Value(_, Comparison::Equal, _))
        }
        Node::Branch(_, then, otherwise, _) => is_exact(then, ring) || is_exact(otherwise, ring),
        Node::Loop(this) => is_exact(&this.body, ring),
        Node::Assign(..) => false,
    })
}
