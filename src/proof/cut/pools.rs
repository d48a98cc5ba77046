//! Guesses why a pool does not block members for good: its capacity is at least the sum of all acquisitions, or at least
//! what all members may hold at once, or members hold units of it only briefly.

use std::collections::HashMap;

use itertools::Itertools;

use super::Search;
use super::samples::Sample;
use super::trace;
use crate::certificate::cut::flow::Kind;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;

impl Search<'_> {
    /// The pools that have all that is ever taken from them in every sample.
    pub(super) fn plenty(&self) -> Vec<usize> {
        let objects = self.protocol.objects.iter().enumerate();
        let pools = objects.filter_map(|(at, object)| match &object.kind {
            ObjectKind::Pool { capacity, .. } => Some((at, capacity)),
            _ => None,
        });
        let lasts = |pool: usize, capacity: &Expr, sample: &Sample| {
            let capacity = trace::value(capacity, &sample.params, &HashMap::new());
            let mut taken: HashMap<&trace::Element, i64> = HashMap::new();
            for (class, steps) in sample.steps.iter().enumerate() {
                for step in steps.iter().filter(|step| step.op.element.0 == pool) {
                    let kind = &self.classes[class].flow.sites[step.op.site].kind;
                    if matches!(kind, Kind::Acquire { .. }) {
                        let all = step.op.operand.saturating_mul(sample.sizes[class]);
                        let taken = taken.entry(&step.op.element).or_default();
                        *taken = taken.saturating_add(all);
                    }
                }
            }
            taken
                .values()
                .all(|all| capacity.is_some_and(|c| *all <= c))
        };
        pools
            .filter(|(pool, capacity)| self.samples.iter().all(|s| lasts(*pool, capacity, s)))
            .map(|(pool, _)| pool)
            .collect()
    }

    /// Of the others, those of which in every sample nobody holds anything where it can be kept waiting.
    pub(super) fn brief(&self, plenty: &[usize]) -> Vec<usize> {
        let briefly = |pool: usize, sample: &Sample| {
            sample.steps.iter().enumerate().all(|(class, steps)| {
                let sites = &self.classes[class].flow.sites;
                let mut holds = 0;
                let free = steps.iter().all(|step| {
                    let site = &sites[step.op.site];
                    let acquires = matches!(site.kind, Kind::Acquire { .. });
                    let held_up =
                        site.kind.blocks() || acquires && !plenty.contains(&site.object.0);
                    let here = holds == 0 || !held_up;
                    match site.pooled(ObjectId(pool)) {
                        Some((_, true)) => holds += step.op.operand,
                        Some((_, false)) => holds -= step.op.operand,
                        None => {}
                    }
                    here
                });
                free && holds == 0
            })
        };
        let objects = self.protocol.objects.iter().enumerate();
        let pools = objects.filter(|(at, object)| {
            let pool = matches!(object.kind, ObjectKind::Pool { .. });
            pool && object.extents.is_empty() && !plenty.contains(at)
        });
        pools
            .filter(|(at, _)| self.samples.iter().all(|sample| briefly(*at, sample)))
            .map(|(at, _)| at)
            .collect()
    }

    /// Of the others, those that have in every sample what each acquisition of everybody takes once.
    pub(super) fn revolving(&self, others: &[usize]) -> Vec<usize> {
        let lasts = |pool: usize, capacity: &Expr, sample: &Sample| {
            let capacity = trace::value(capacity, &sample.params, &HashMap::new());
            let classes = sample.steps.iter().enumerate();
            let held = classes.map(|(class, steps)| {
                let taken = steps.iter().filter(|step| {
                    let kind = &self.classes[class].flow.sites[step.op.site].kind;
                    step.op.element.0 == pool && matches!(kind, Kind::Acquire { .. })
                });
                let once = taken.unique_by(|step| step.op.site);
                sample.sizes[class] * once.map(|step| step.op.operand).sum::<i64>()
            });
            capacity.is_some_and(|capacity| held.sum::<i64>() <= capacity)
        };
        let objects = self.protocol.objects.iter().enumerate();
        let pools = objects.filter_map(|(at, object)| match &object.kind {
            ObjectKind::Pool { capacity, .. } if !others.contains(&at) => Some((at, capacity)),
            _ => None,
        });
        pools
            .filter(|(pool, capacity)| self.samples.iter().all(|s| lasts(*pool, capacity, s)))
            .map(|(pool, _)| pool)
            .collect()
    }
}
