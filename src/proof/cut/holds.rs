//! Guesses the stops of a cut. They are the places that all other members reach in the samples
//! while one member is held, as forms over the place of that member.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use super::Failure;
use super::Search;
use super::fit;
use super::fit::Observed;
use super::fit::Point;
use super::trace::Op;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Hold;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::protocol::Comparison;

/// Held operations looked at per sample and site.
pub(super) const HELD_PER_SITE: usize = 12;

/// Where an operation is executed, by iteration.
pub(super) type Places = Rc<HashMap<i64, usize>>;

/// Where a class was seen while a member was held.
#[derive(Clone)]
pub(super) struct Observation<'a> {
    /// The sample.
    pub(super) sample: usize,
    /// In which copy: 0 for the sample's own.
    pub(super) copy: usize,
    /// The iterations of the member that is held.
    pub(super) clocks: &'a [i64],
    /// Where the class stopped.
    pub(super) at: Seen,
}

/// The operation before which a class was seen to stop, by its position in what the class does.
pub(super) type Seen = usize;

/// How one member is kept from something that it does.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// It does neither this nor what follows.
    Before(usize),
    /// This does not land.
    Landing(usize),
}

impl Search<'_> {
    /// Whether the rule asks for a cut here.
    pub(super) fn guarded(&self, class: usize, site: usize) -> bool {
        match &self.classes[class].flow.sites[site].kind {
            Kind::WaitParity { .. } | Kind::Register { .. } | Kind::Init => true,
            Kind::Arrive { .. } => self.has_bytes(class, site),
            Kind::WaitValue { comparison, .. } => *comparison == Comparison::Equal,
            _ => false,
        }
    }

    pub(super) fn has_bytes(&self, class: usize, site: usize) -> bool {
        let at = &self.classes[class].flow.sites[site];
        let bytes = |kind: &Kind| matches!(kind, Kind::Expect { .. } | Kind::Deliver { .. });
        self.classes
            .iter()
            .flat_map(|c| &c.flow.sites)
            .any(|s| s.may_meet(at) && bytes(&s.kind))
    }

    pub(super) fn hold(&mut self, class: usize, site: usize) -> Result<(), Failure> {
        if self
            .holds
            .iter()
            .any(|h| h.class == class && h.site == site)
        {
            return Ok(());
        }
        if Instant::now() >= self.deadline {
            return Err(Failure::new(super::LATE));
        }
        // Of two operations that are the same but for names, the checker asks for one.
        let renamed = self.renamings.iter().find_map(|classes| {
            let mut holds = self.holds.iter();
            let known = holds.find(|h| h.site == site && classes[h.class] == class)?;
            cut::symmetric::renamed(known, classes)
        });
        if let Some(hold) = renamed {
            self.holds.push(hold);
            return Ok(());
        }
        let mut seen: Vec<Vec<Observation<'_>>> = vec![Vec::new(); self.classes.len()];
        let mut seen_elsewhere = seen.clone();
        for (nth, sample) in self.samples.iter().enumerate() {
            if sample.sizes[class] < 1 {
                continue;
            }
            let places: Vec<usize> = (0..sample.steps[class].len())
                .filter(|at| sample.steps[class][*at].op.site == site)
                .collect();
            let stride = places.len().div_ceil(HELD_PER_SITE).max(1);
            for &place in places.iter().step_by(stride) {
                let held = &sample.steps[class][place].op.clocks[..];
                let (_, stops) = self.closure(sample, class, Kept::Before(place));
                let observed = |copy, at| Observation {
                    sample: nth,
                    copy,
                    clocks: held,
                    at,
                };
                for (position, stop) in stops.here.into_iter().enumerate() {
                    seen[position].extend(stop.map(|at| observed(0, at)));
                }
                for (position, copy, at) in stops.elsewhere {
                    seen_elsewhere[position].push(observed(copy, at));
                }
            }
        }
        let place = Place::Site(site);
        let (mut stops, mut elsewhere) = (Vec::new(), Vec::new());
        for (position, seen) in seen.iter().enumerate() {
            stops.push(self.stop(class, place, position, seen)?);
        }
        if self.ordered.is_some() || self.classes.iter().any(|c| c.copies.is_some()) {
            for (position, seen) in seen_elsewhere.iter().enumerate() {
                elsewhere.push(self.stop(class, place, position, seen)?);
            }
        }
        self.holds.push(Hold {
            class,
            site,
            stops,
            elsewhere,
        });
        Ok(())
    }

    pub(super) fn stop(
        &self,
        class: usize,
        place: Place,
        position: usize,
        seen: &[Observation<'_>],
    ) -> Result<Vec<Stop>, Failure> {
        let stopped = |seen: &Observation<'_>| -> Option<&Op> {
            let steps = self.samples[seen.sample].steps_in(seen.copy, position);
            steps.get(seen.at).map(|step| &step.op)
        };
        let sites: BTreeSet<usize> = seen
            .iter()
            .filter_map(|seen| stopped(seen).map(|op| op.site))
            .collect();
        let (held, other) = (&self.classes[class], &self.classes[position]);
        let text = |span: crate::protocol::Span| &self.protocol.source[span.start..span.end];
        let mut stops = Vec::new();
        for stop_site in sites {
            let basis = self.basis(class, place, position, stop_site);
            let points: Vec<Point> = seen
                .iter()
                .map(|seen| {
                    let sample = &self.samples[seen.sample];
                    let observed = match stopped(seen) {
                        Some(stop) if stop.site == stop_site => Observed::Exactly(stop.clock()),
                        // It stopped before this operation could stop it, or not at all.
                        _ => {
                            let places = (seen.sample, seen.copy);
                            Observed::NotBefore(self.places(position, stop_site, places), seen.at)
                        }
                    };
                    self.point(&basis, seen.clocks, sample, observed)
                })
                .collect();
            let clock = fit::fit(&basis, &points).ok_or_else(|| {
                Failure::new(format!(
                    "how far {} comes while a member of {} waits at `{}` is no linear formula in loop counters and parameters",
                    other.name,
                    held.name,
                    text(held.flow.span(place))
                ))
            })?;
            stops.push(Stop {
                site: stop_site,
                clock,
            });
        }
        Ok(stops)
    }

    /// At which place of what it does a class executes an operation, by iteration.
    fn places(&self, class: usize, site: usize, (sample, copy): (usize, usize)) -> Places {
        let key = (class, site, sample, copy);
        let mut known = self.places.borrow_mut();
        let found = known.entry(key).or_insert_with(|| {
            let steps = self.samples[sample]
                .steps_in(copy, class)
                .iter()
                .enumerate();
            let at = steps.filter(|(_, s)| s.op.site == site);
            Rc::new(at.map(|(place, s)| (s.op.clock(), place)).collect())
        });
        Rc::clone(found)
    }
}
