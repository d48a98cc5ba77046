//! Guesses what is known at an assertion: cuts, and operations that all members of a class have
//! then executed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Search;
use super::fit;
use super::fit::Observed;
use super::fit::Point;
use super::holds::HELD_PER_SITE;
use super::holds::Kept;
use super::trace::Mark;
use crate::certificate::cut::artefact::Exposure;
use crate::certificate::cut::artefact::Floor;
use crate::certificate::cut::artefact::Moment;
use crate::certificate::cut::asserted;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Step;
use crate::certificate::cut::races;
use crate::protocol::ObjectId;

impl Search<'_> {
    /// A cut for every access to data that needs room, and for every place where data gets room.
    pub(super) fn lifetimes(&self) -> Vec<Exposure> {
        let mut moments = BTreeSet::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (at, point) in this.flow.points.iter().enumerate() {
                match &point.step {
                    Step::Touch { buffer, .. } if self.protocol.buffers[buffer.0].backed => {
                        let end = races::end(&this.flow, at);
                        moments.extend(end.map(|end| (class, end)));
                    }
                    Step::Lifetime { begins: true, .. } => {
                        moments.insert((class, Moment::Point(at)));
                    }
                    _ => {}
                }
            }
        }
        self.cuts(moments)
    }

    /// A cut for everything that is done to the barriers of a CTA.
    pub(super) fn exits(&mut self) -> Vec<Exposure> {
        let mut moments = BTreeSet::new();
        for class in 0..self.classes.len() {
            for site in 0..self.classes[class].flow.sites.len() {
                let at = &self.classes[class].flow.sites[site];
                if self.protocol.objects[at.object.0].home.is_none() {
                    continue;
                }
                match &at.kind {
                    Kind::Deliver { .. } | Kind::Arrive { commit: true, .. } => {
                        moments.insert((class, Moment::Landing(site)));
                    }
                    // The checker may do without.
                    _ => _ = self.hold(class, site),
                }
            }
        }
        self.cuts(moments)
    }

    /// The assertions that are about elements, with the objects of these.
    fn assertions(&self) -> Vec<(usize, usize, BTreeSet<ObjectId>)> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            for (at, point) in this.flow.points.iter().enumerate() {
                if let Step::Assert { values, .. } = &point.step
                    && !values.is_empty()
                {
                    let objects = values.iter().map(|value| value.object);
                    all.push((class, at, objects.collect()));
                }
            }
        }
        all
    }

    /// A cut for every assertion about elements.
    pub(super) fn asserted(&self) -> Vec<Exposure> {
        let all = self.assertions().into_iter();
        self.cuts(
            all.map(|(class, at, _)| (class, Moment::Point(at)))
                .collect(),
        )
    }

    /// For every assertion, what has been done before at the elements that it is about.
    pub(super) fn floors(&mut self) -> Vec<Floor> {
        let mut all = Vec::new();
        for (class, point, objects) in self.assertions() {
            for by in 0..self.classes.len() {
                // The last operation counts most.
                for site in (0..self.classes[by].flow.sites.len()).rev() {
                    let at = &self.classes[by].flow.sites[site];
                    if at.kind.arrivals().is_some()
                        && objects.contains(&at.object)
                        && let Some(floor) = self.floor((class, point), (by, site))
                        && self.hold(by, site).is_ok()
                    {
                        all.push(floor);
                    }
                }
            }
        }
        all
    }

    /// The iteration of an operation that a class has to be past when a member comes to a point.
    fn floor(&self, (class, point): (usize, usize), (by, site): (usize, usize)) -> Option<Floor> {
        let basis = self.basis(class, Place::Point(point), by, site);
        let marks = self.marks(class);
        let mut points: Vec<Point> = Vec::new();
        for (nth, sample) in self.samples.iter().enumerate() {
            let all = sample.sizes[by] * sample.copies[by].unwrap_or(1);
            let others = all - i64::from(by == class);
            if sample.sizes[class] < 1 || others < 1 {
                continue;
            }
            let there: Vec<&Mark> = marks[nth].iter().filter(|m| m.point == point).collect();
            let steps = sample.steps[by].iter().enumerate();
            let held: Vec<(usize, i64)> = steps
                .filter(|(_, step)| step.op.site == site)
                .map(|(place, step)| (place, step.op.clock()))
                .collect();
            let private = sample.steps[by].iter().find(|step| step.op.site == site);
            let private = private.is_some_and(|step| step.private);
            let mut reached: BTreeMap<usize, usize> = BTreeMap::new();
            let stride = there.len().div_ceil(HELD_PER_SITE).max(1);
            for mark in there.into_iter().step_by(stride) {
                // The last iteration that has to be past.
                let needed = held.iter().rev().find(|(place, _)| {
                    let stop = *reached.entry(*place).or_insert_with(|| {
                        let (_, stops) = self.closure(sample, by, Kept::Before(*place));
                        // Only its own members change what a copy has for itself.
                        let away = stops.elsewhere.iter().filter(|stop| stop.0 == class);
                        let away = away.map(|(_, _, at)| *at).filter(|_| !private);
                        let all = stops.here[class].into_iter().chain(away);
                        all.max().unwrap_or(usize::MAX)
                    });
                    stop < mark.at
                });
                if let Some((_, clock)) = needed {
                    let observed = Observed::Exactly(*clock);
                    points.push(self.point(&basis, &mark.clocks, sample, observed));
                }
            }
        }
        if points.is_empty() {
            return None;
        }
        Some(Floor {
            class,
            point,
            by,
            site,
            clock: fit::fit(&basis, &points)?,
        })
    }

    /// Cuts for operations that may break an invariant, where there are any.
    pub(super) fn kept(&mut self) {
        let invariants = self.protocol.invariants.iter();
        let objects: BTreeSet<ObjectId> = invariants.flat_map(asserted::objects).collect();
        for class in 0..self.classes.len() {
            for site in 0..self.classes[class].flow.sites.len() {
                let at = &self.classes[class].flow.sites[site];
                if objects.iter().any(|object| asserted::changes(at, *object)) {
                    // The checker may do without.
                    let _ = self.hold(class, site);
                }
            }
        }
    }
}
