//! Which registrations might be those of a shadow: where the members that come to a named barrier are fewer than its count, the
//! second, third, ... one of a class between two of its waits there.

use super::Search;
use super::uncovered;
use crate::certificate::order::artefact::Again;
use crate::certificate::order::lanes::Lane;
use crate::certificate::order::rule::Rule;
use crate::protocol::ObjectKind;

/// Of so many classes each choice is tried.
const CLASSES: usize = 4;

impl Search<'_> {
    /// The registrations that are numbered by themselves, at those barriers where too few members come otherwise.
    pub(super) fn again(&self) -> Result<Vec<Again>, String> {
        let mut all = Vec::new();
        for (nth, lane) in self.rule.lanes.iter().enumerate() {
            let named = self.protocol.objects[lane.object].kind == ObjectKind::Named;
            let mut classes = lane.arriving();
            classes.retain(|class| lane.arrivals_of(*class).nth(1).is_some());
            if !named || classes.is_empty() || self.all_of(&self.rule.counted(nth)).is_ok() {
                continue;
            }
            classes.truncate(CLASSES);
            // All of them first.
            for choice in (1..1_usize << classes.len()).rev() {
                let chosen = classes.iter().enumerate();
                let chosen = chosen.filter(|(nth, _)| choice >> nth & 1 == 1);
                let of_lane: Vec<Again> =
                    chosen.flat_map(|(_, class)| later(lane, *class)).collect();
                let rule = Rule::new(self.protocol, &[], &[], &[], &of_lane).map_err(uncovered)?;
                if self.all_of(&rule.counted(nth)).is_ok() {
                    all.extend(of_lane);
                    break;
                }
                self.stop()?;
            }
        }
        Ok(all)
    }
}

/// The registrations of a class that are not the first since the last wait, in the order of the text.
fn later(lane: &Lane, class: usize) -> Vec<Again> {
    let mut all = Vec::new();
    let (mut before, mut last) = (0_usize, 0);
    for site in lane.arrivals_of(class) {
        if lane
            .waits_of(class)
            .any(|wait| (last..site).contains(&wait))
        {
            before = 0;
        }
        if let Some(shadow) = before.checked_sub(1) {
            all.push(Again {
                class,
                site,
                shadow,
            });
        }
        before += 1;
        last = site;
    }
    all
}
