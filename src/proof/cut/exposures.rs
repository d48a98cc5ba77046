//! Guesses the cuts for accesses: how far all members get while an access lasts.

use std::collections::BTreeSet;

use super::Search;
use super::holds::HELD_PER_SITE;
use super::holds::Kept;
use super::holds::Observation;
use super::samples::MAX_OPS;
use super::samples::Sample;
use super::trace;
use super::trace::Mark;
use crate::certificate::cut::artefact::Exposure;
use crate::certificate::cut::artefact::Moment;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::deferred;
use crate::certificate::cut::flow::Step;
use crate::certificate::cut::races;
use crate::certificate::cut::visible;

/// A member that is kept from going on: its clocks there, and what it is kept from.
type Occurrence = (Vec<i64>, Kept);

/// The steps on data of a class, per sample.
pub(super) type Marks = Vec<Vec<Mark>>;

impl Search<'_> {
    /// A cut for every end of an access that may meet another one. If there is none, the checker
    /// may not need it: accesses may be to different elements, or the cut of the other access may
    /// be enough.
    pub(super) fn exposures(&self) -> Vec<Exposure> {
        let mut written = BTreeSet::new();
        for point in self.classes.iter().flat_map(|c| &c.flow.points) {
            if let Step::Touch { buffer, write, .. } = &point.step
                && *write
            {
                written.insert(buffer.0);
            }
        }
        let mut ends = BTreeSet::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (at, point) in this.flow.points.iter().enumerate() {
                if let Step::Touch { buffer, .. } = &point.step
                    && written.contains(&buffer.0)
                {
                    for wait in deferred::waits(&this.flow, at) {
                        ends.insert((class, Moment::Point(wait)));
                        let fence = visible::fence_behind(&this.flow, wait);
                        let fence = fence.filter(|_| self.shows == Shows::Visibility);
                        ends.extend(fence.map(|fence| (class, Moment::Point(fence))));
                    }
                }
                if let Step::Touch { buffer, .. } = &point.step
                    && written.contains(&buffer.0)
                    && let Some(end) = races::end(&this.flow, at)
                {
                    ends.insert((class, end));
                    let fence = visible::fence_after(&this.flow, at);
                    let fence = fence.filter(|_| self.shows == Shows::Visibility);
                    ends.extend(fence.map(|fence| (class, Moment::Point(fence))));
                }
            }
        }
        self.cuts(ends)
    }

    /// A cut for each of these moments of classes, if there is one.
    pub(super) fn cuts(&self, moments: BTreeSet<(usize, Moment)>) -> Vec<Exposure> {
        let marks: Vec<Marks> = (0..self.classes.len())
            .map(|class| self.marks(class))
            .collect();
        let moments = moments.into_iter();
        moments
            .filter_map(|(class, at)| self.exposure(class, at, &marks[class]))
            .collect()
    }

    pub(super) fn marks(&self, class: usize) -> Marks {
        let samples = self.samples.iter();
        let marks = samples.map(|s| trace::marks(&self.classes[class], &s.params, MAX_OPS));
        marks.map(Option::unwrap_or_default).collect()
    }

    fn exposure(&self, class: usize, at: Moment, marks: &Marks) -> Option<Exposure> {
        let place = match at {
            Moment::Point(point) => Place::Point(point),
            Moment::Landing(site) => Place::Site(site),
        };
        let all: Vec<(usize, Vec<Occurrence>)> = self
            .samples
            .iter()
            .enumerate()
            .filter(|(_, sample)| sample.sizes[class] > 0)
            .map(|(nth, sample)| (nth, occurrences(sample, class, at, &marks[nth])))
            .collect();
        let mut seen: Vec<Vec<Observation<'_>>> = vec![Vec::new(); self.classes.len()];
        let mut seen_elsewhere = seen.clone();
        let mut own = Vec::new();
        for (nth, occurrences) in &all {
            let stride = occurrences.len().div_ceil(HELD_PER_SITE).max(1);
            for (clocks, kept) in occurrences.iter().step_by(stride) {
                let (reached, stops) = self.closure(&self.samples[*nth], class, *kept);
                let observed = |copy, at| Observation {
                    sample: *nth,
                    copy,
                    clocks,
                    at,
                };
                for (position, stop) in stops.here.into_iter().enumerate() {
                    seen[position].extend(stop.map(|at| observed(0, at)));
                }
                for (position, copy, at) in stops.elsewhere {
                    seen_elsewhere[position].push(observed(copy, at));
                }
                own.push(observed(0, reached));
            }
        }
        let (mut stops, mut elsewhere) = (Vec::new(), Vec::new());
        for (position, seen) in seen.iter().enumerate() {
            stops.push(self.stop(class, place, position, seen).ok()?);
        }
        if self.classes.iter().any(|c| c.copies.is_some()) {
            for (position, seen) in seen_elsewhere.iter().enumerate() {
                elsewhere.push(self.stop(class, place, position, seen).ok()?);
            }
        }
        let own = match at {
            Moment::Point(_) => Vec::new(),
            Moment::Landing(_) => self.stop(class, place, class, &own).ok()?,
        };
        Some(Exposure {
            class,
            at,
            stops,
            elsewhere,
            own,
        })
    }
}

fn occurrences(sample: &Sample, class: usize, at: Moment, marks: &[Mark]) -> Vec<Occurrence> {
    match at {
        Moment::Point(point) => marks
            .iter()
            .filter(|mark| mark.point == point)
            .map(|mark| (mark.clocks.clone(), Kept::Before(mark.at)))
            .collect(),
        Moment::Landing(site) => {
            let steps = sample.steps[class].iter().enumerate();
            steps
                .filter(|(_, step)| step.op.site == site)
                .map(|(at, step)| (step.op.clocks.clone(), Kept::Landing(at)))
                .collect()
        }
    }
}
