//! What a proof of an order lacks, for its author: which access, and what would have to be waited for.
//!
//! Nothing here is part of a proof.

use super::deferred;
use super::flow::Lasting;
use super::races::Access;
use super::races::end;
use super::rule::Rule;

impl Rule<'_> {
    /// Why nothing shows that something else comes only once an access is over, if that is for want of
    /// a cut for it.
    pub(super) fn lacks_cut(&self, access: &Access) -> Option<String> {
        if self.exposed(access).is_some() {
            return None;
        }
        let class = &self.classes[access.class];
        let text = self.quote(class.flow.points[access.point].span);
        let what = format!("`{text}` of {}", class.name);
        Some(match (end(&class.flow, access.point), access.lasting) {
            (Some(_), _) => format!(
                "where the others get to while {what} lasts has no form that this rule knows"
            ),
            (None, Lasting::Started { .. }) => {
                let flow = &class.flow;
                let waits = deferred::waits(flow, access.point).into_iter();
                let waits = waits.map(|at| format!("`{}`", self.quote(flow.points[at].span)));
                let waits: Vec<String> = waits.collect();
                match waits.is_empty() {
                    true => format!(
                        "nothing ends {what} as far as this rule sees: it looks for a `commit` after it, \
                         under the same conditions and in the same iterations, or a `wait_group` that \
                         leaves as many groups in every iteration"
                    ),
                    false => format!(
                        "what ends {what} is not known to come in time: {}",
                        waits.join(" or ")
                    ),
                }
            }
            (None, _) => format!("nothing ends {what} as far as this rule sees"),
        })
    }

    /// Remembers what the obligation stated last lacks, for any of these accesses. `before`: how many
    /// there were before it; what is plainly true is none.
    pub(super) fn note_missing(&mut self, before: usize, accesses: &[&Access]) {
        let missing = accesses.iter().filter_map(|access| self.lacks_cut(access));
        let mut missing: Vec<String> = missing.collect();
        missing.dedup();
        if let Some(obligation) = self.all.get(before)
            && !missing.is_empty()
        {
            let name = obligation.name.clone();
            self.missing.push((name, missing.join("; ")));
        }
    }
}
