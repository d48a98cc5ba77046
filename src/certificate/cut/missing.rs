//! Explains why two accesses are not shown to be ordered: names the access, and the wait that the protocol would need. It
//! is for users, and is no part of a proof.

use super::deferred;
use super::flow::Lasting;
use super::pairs::Related;
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
                "how far the others come while {what} lasts is no linear formula in loop counters and parameters"
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

    /// What would keep two accesses apart, where there are cuts for them that do not: `related` is `None`
    /// for those of one member.
    pub(super) fn lacks_edge(&self, a: &Access, b: &Access, related: Option<Related>) -> String {
        let text = |x: &Access| self.quote(self.classes[x.class].flow.points[x.point].span);
        let Some(related) = related else {
            return format!(
                "nothing was found that ends `{}` before the same member comes to `{}`: it has to wait for \
                 that in between, whenever it uses an element again",
                text(a),
                text(b)
            );
        };
        let one = self.classes[a.class].name.clone();
        let other = related.whose(&self.classes[b.class].name);
        let mut ways = vec![arrival((&text(a), a), &one, &other)];
        if (a.class, a.point) != (b.class, b.point) {
            ways.push(arrival((&text(b), b), &other, &one));
        }
        format!(
            "nothing was found that keeps one of them back until the other is over: {} would",
            ways.join(", or ")
        )
    }

    /// How a read would hear of a write.
    pub(super) fn lacks_news(
        &self,
        write: &Access,
        read: &Access,
        related: Option<Related>,
    ) -> String {
        let text = |x: &Access| self.quote(self.classes[x.class].flow.points[x.point].span);
        let (what, by) = (text(write), text(read));
        let fenced = match !write.bulk && read.bulk {
            true => ", with a `fence.proxy.async` after the write, before that",
            false => "",
        };
        match related {
            Some(related) => format!(
                "nothing was found by which {} hears of the write: {} before `{by}` would tell it{fenced}",
                related.whose(&self.classes[read.class].name),
                arrival(
                    (&what, write),
                    &self.classes[write.class].name,
                    &related.whose(&self.classes[read.class].name)
                )
            ),
            None => format!(
                "nothing was found that makes `{what}` known to its own member before `{by}`: it has to \
                 wait for that in between{fenced}"
            ),
        }
    }

    /// Remembers what the obligation stated last lacks, for any of these accesses, or `otherwise`. `before`:
    /// how many there were before it; what is plainly true is none.
    pub(super) fn note_missing(
        &mut self,
        before: usize,
        accesses: &[&Access],
        otherwise: Option<String>,
    ) {
        let missing = accesses.iter().filter_map(|access| self.lacks_cut(access));
        let mut missing: Vec<String> = missing.collect();
        missing.dedup();
        if missing.is_empty() {
            missing.extend(otherwise);
        }
        if let Some(obligation) = self.all.get(before)
            && !missing.is_empty()
        {
            let name = obligation.name.clone();
            self.missing.push((name, missing.join("; ")));
        }
    }
}

/// An arrival that tells somebody that an access is over.
fn arrival((text, access): (&str, &Access), whose: &str, to: &str) -> String {
    let over = match access.lasting {
        Lasting::Now => format!("after `{text}`"),
        Lasting::Copy => format!("that the landing of `{text}` makes"),
        Lasting::Started { .. } => format!("after a wait for `{text}`, or a commit of it,"),
    };
    format!("an arrival of {whose} {over} that {to} waits for")
}
