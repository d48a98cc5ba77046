//! Guesses supports: members that wait for the generation before the one that an operation belongs
//! to.

use std::collections::HashMap;

use super::Failure;
use super::Search;
use super::fit;
use super::fit::Observed;
use super::fit::Point;
use super::trace;
use super::trace::Step;
use crate::certificate::cut;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::cut::artefact::Support;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::flow;
use crate::certificate::cut::flow::Kind;
use crate::protocol::ObjectKind;

impl Search<'_> {
    /// Whether the rule asks who orders this operation behind the generation before its own.
    fn needs_support(&self, class: usize, site: usize) -> bool {
        let flow = &self.classes[class].flow;
        let this = &flow.sites[site];
        let before = site.checked_sub(1).map(|at| &flow.sites[at].kind);
        match &this.kind {
            Kind::Register { .. } => !flow.always_awaits(site) || self.skips(class, site),
            Kind::Expect { .. } => !self.waits_itself(class, site),
            Kind::Arrive { .. } => {
                let mbarrier = matches!(
                    self.protocol.objects[this.object.0].kind,
                    ObjectKind::Mbarrier { .. }
                );
                let several = cut::several(self.classes, this);
                let asked = self.has_bytes(class, site)
                    || mbarrier && (self.shows == Shows::Generations || several);
                asked
                    && !matches!(before, Some(Kind::Expect { .. }))
                    && !self.waits_itself(class, site)
            }
            Kind::Deliver { .. } => {
                let arrives =
                    |s: &flow::Site| s.may_meet(this) && matches!(s.kind, Kind::Arrive { .. });
                !flow.sites.iter().any(arrives) && !self.waits_itself(class, site)
            }
            _ => false,
        }
    }

    /// Whether an operation does not register for the next generation each time.
    fn skips(&self, class: usize, site: usize) -> bool {
        self.registrations
            .iter()
            .any(|r| r.class == class && r.site == site)
    }

    /// Whether a member itself always waits for the generation before that of an operation.
    fn waits_itself(&self, class: usize, site: usize) -> bool {
        let flow = &self.classes[class].flow;
        self.samples.iter().all(|sample| {
            let mut waited: HashMap<&trace::Element, i64> = HashMap::new();
            sample.steps[class].iter().all(|step| {
                let latest = waited.entry(&step.op.element).or_default();
                if matches!(flow.sites[step.op.site].kind, Kind::WaitParity { .. }) {
                    *latest = step.generation;
                }
                step.op.site != site || step.generation <= 1 + *latest
            })
        })
    }

    /// In which iteration a class waits, by one of its operations, for the generation before that
    /// of a step.
    fn awaited(&self, by: usize, wait: usize, (nth, step): (usize, &Step)) -> Option<i64> {
        let sample = &self.samples[nth];
        let same = sample.steps[by].iter().find(|other| {
            other.op.element == step.op.element
                && other.op.site == wait
                && other.generation == step.generation - 1
        });
        same.filter(|_| sample.sizes[by] > 0).map(|s| s.op.clock())
    }

    /// Who waits for the generation before the one that an operation belongs to, if the rule asks.
    pub(super) fn supports(&mut self, class: usize, site: usize) -> Result<Vec<Support>, Failure> {
        let mut found = Vec::new();
        if !self.needs_support(class, site) {
            return Ok(found);
        }
        let this = &self.classes[class].flow.sites[site];
        // What has to be ordered: the sample and the step. Without a second generation, there is
        // nothing.
        let mut open: Vec<(usize, &Step)> = Vec::new();
        for (nth, sample) in self.samples.iter().enumerate() {
            if sample.sizes[class] > 0 {
                let steps = sample.steps[class].iter();
                let later = steps.filter(|s| s.op.site == site && s.generation > 1);
                open.extend(later.map(|step| (nth, step)));
            }
        }
        while !open.is_empty() {
            // The one that is there most often comes first; best is one that always is. Of several
            // waits for one generation the earliest comes first, because the least has to be done
            // before it is passed.
            let mut candidates = Vec::new();
            for by in (0..self.classes.len()).filter(|by| *by != class) {
                for wait in 0..self.classes[by].flow.sites.len() {
                    let covered: Vec<i64> = open
                        .iter()
                        .filter_map(|place| self.awaited(by, wait, *place))
                        .collect();
                    let always = self.samples.iter().all(|sample| sample.sizes[by] > 0);
                    let late = covered.iter().copied().map(i128::from).sum::<i128>();
                    let rank = (covered.len(), always, std::cmp::Reverse(late));
                    candidates.push((rank, by, wait));
                }
            }
            candidates.retain(|(rank, by, wait)| {
                let other = &self.classes[*by].flow.sites[*wait];
                rank.0 > 0 && other.may_meet(this) && other.kind.blocks()
            });
            candidates.sort_by_key(|(rank, ..)| std::cmp::Reverse(*rank));
            let fitting = candidates.into_iter().find_map(|(_, by, wait)| {
                let basis = self.basis(class, Place::Site(site), by, wait);
                let points: Vec<Point> = open
                    .iter()
                    .filter_map(|place| {
                        let observed = Observed::Exactly(self.awaited(by, wait, *place)?);
                        let sample = &self.samples[place.0];
                        Some(self.point(&basis, &place.1.op.clocks, sample, observed))
                    })
                    .collect();
                Some((by, wait, fit::fit(&basis, &points)?))
            });
            let Some((by, wait, clock)) = fitting else {
                break;
            };
            open.retain(|place| self.awaited(by, wait, *place).is_none());
            found.push(Support {
                class,
                site,
                by,
                wait,
                clock,
            });
        }
        if !open.is_empty() {
            let text = &self.protocol.source[this.span.start..this.span.end];
            return Err(Failure::new(format!(
                "nothing orders `{text}` after the generation before it"
            )));
        }
        for support in &found {
            self.hold(support.by, support.wait)?;
        }
        Ok(found)
    }
}
