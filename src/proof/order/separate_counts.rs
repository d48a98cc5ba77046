//! Finds named barriers that have registrations with different counts, by different sets of members.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Search;
use crate::certificate::cut::flow::Kind;
use crate::certificate::order::artefact::Element;
use crate::protocol::Expr;

impl Search<'_> {
    /// The barriers at which each count belongs to one set of members that give it together.
    pub(super) fn apart(&self) -> Vec<Element> {
        let mut all = Vec::new();
        for (nth, ring) in self.rule.rings.iter().enumerate() {
            let Some(index) = self.counts_differ(nth) else {
                continue;
            };
            let element = Element {
                object: ring.object,
                index,
            };
            let parts = super::Parts {
                apart: vec![element.clone()],
                ..super::Parts::default()
            };
            let Ok(rule) = parts.rule(self.protocol, &[], &[]) else {
                continue;
            };
            let mut own = (0..rule.rings.len()).filter(|at| rule.rings[*at].count.is_some());
            if own.all(|at| self.all_of(&rule.counted(at)).is_ok()) {
                all.push(element);
            }
        }
        all
    }

    /// The indices of a ring with several counts, not all of which are shown to be the number of
    /// members that come to each generation.
    fn counts_differ(&self, nth: usize) -> Option<Vec<i64>> {
        let ring = &self.rule.rings[nth];
        let mut counts: BTreeMap<i64, BTreeSet<usize>> = BTreeMap::new();
        let mut index = None;
        for (class, site) in &ring.arrivals {
            let this = &self.rule.classes.get(*class)?.flow.sites[*site];
            let Kind::Register {
                count: Expr::Int(count),
            } = this.kind
            else {
                return None;
            };
            counts.entry(count).or_default().insert(*class);
            let number = |at: &Expr| match at {
                Expr::Int(at) => Some(*at),
                _ => None,
            };
            index = Some(
                this.index
                    .iter()
                    .map(number)
                    .collect::<Option<Vec<i64>>>()?,
            );
        }
        let several = counts.len() > 1;
        let fails = several && self.all_of(&self.rule.counted(nth)).is_err();
        index.filter(|_| fails)
    }
}
