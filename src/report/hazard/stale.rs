//! Describes a stale read: why the read does not see the write, and what would repair it.

use crate::protocol::Scope;
use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::hazards::Lost;
use crate::semantics::hazards::visibility;

use super::HazardText;
use super::HazardWriter;
use super::Line;
use super::told;

/// Two accesses, each given by member and number.
type Pair = ((usize, usize), (usize, usize));

/// Describes a write, and a later read that does not see it. `why` says whether only a proxy fence is missing, and
/// between which two operations the memory order was lost.
pub(super) fn tell(
    writer: &HazardWriter<'_>,
    data: &Data,
    (write, read): Pair,
    slot: u32,
    why: (bool, Option<Lost>),
) -> HazardText {
    let access = |(member, place): (usize, usize)| (member, data.accesses[member][place]);
    let (write, read) = (access(write), access(read));
    let line = writer.line(read.1.stmt);
    let reason = match why {
        (true, _) => proxy(writer, write, read),
        (false, Some(lost)) => edge(writer, data, lost),
        (false, None) => unfinished(writer, write),
    };
    told(
        line,
        format!(
            "{} of {} comes after {} and need not see it: {reason}",
            writer.access(read),
            data.slot_name(slot),
            writer.access(write),
        ),
    )
}

fn proxy(writer: &HazardWriter<'_>, write: (usize, Access), read: (usize, Access)) -> String {
    let (after, before) = (writer.line(write.1.stmt), writer.line(read.1.stmt));
    let place = match write.0 == read.0 {
        true => format!("between {after} and {before}"),
        false => {
            let name = writer.instance.member_name(write.0);
            format!("by {name} after {after}, before what orders {before} behind it,")
        }
    };
    format!(
        "the read goes through the async proxy, and no proxy fence stands on the way; a \
         `fence.proxy.async` {place} would make it visible"
    )
}

fn unfinished(writer: &HazardWriter<'_>, (member, access): (usize, Access)) -> String {
    let name = writer.instance.member_name(member);
    match access.work {
        Some(_) => format!(
            "the write may still be under way, since {name} waits only until its source has been \
             read; a `wait_group` without `read` would complete it"
        ),
        None => format!(
            "what orders them orders no memory; a release by {name} after the write and an \
             acquire before the read would make it visible"
        ),
    }
}

/// What is missing in two operations that order a write and do not make it visible.
fn edge(writer: &HazardWriter<'_>, data: &Data, lost: Lost) -> String {
    let place = |(member, op): (usize, u32)| {
        let (line, cell) = writer.place(member, op);
        (writer.instance.member_name(member), line, cell)
    };
    let (sender, from, cell) = place(lost.from);
    let (receiver, to, _) = place(lost.to);
    let there = visibility::effective(writer.instance, data, lost.from);
    let here = visibility::effective(writer.instance, data, lost.to);
    let places = |(member, _): (usize, u32)| &data.places[member];
    let needed = Scope::ALL.into_iter().find(|scope| {
        places(lost.from).reaches(*scope, places(lost.to))
            && places(lost.to).reaches(*scope, places(lost.from))
    });
    let needed = needed.unwrap_or(Scope::Sys);
    if !there.0.releases() {
        return format!(
            "{sender} releases nothing at {cell} in {from}; `release` at `{}` scope there, \
             or a fence that releases before it, would make it visible",
            needed.name()
        );
    }
    if !here.0.acquires() {
        return format!(
            "{receiver} acquires nothing at {cell} in {to}; `acquire` at `{}` scope there, \
             or a fence that acquires after it, would make it visible",
            needed.name()
        );
    }
    let narrow = |line: Line, verb: &str, scope: Scope, other: &str| {
        format!(
            "{line} {verb} {cell} at `{}` scope, which does not contain {other}; `{}` scope \
             would make it visible",
            scope.name(),
            needed.name()
        )
    };
    if there.1 < needed {
        return narrow(from, "releases", there.1, &receiver);
    }
    narrow(to, "acquires", here.1, &sender)
}
