//! Describes hazards of allocation: data that is used while it has no room in its pool, and pools that are not whole in
//! the end.

use crate::semantics::data::Data;
use crate::semantics::data::Lifetime;
use crate::semantics::hazards::Hazard;
use crate::semantics::instance::CellId;
use crate::semantics::instance::OpKind;
use crate::semantics::step::State;

use super::HazardText;
use super::HazardWriter;
use super::told;
use super::whole;

/// A hazard of this kind in words.
pub(super) fn tell(
    writer: &HazardWriter<'_>,
    data: Option<&Data>,
    state: &State,
    hazard: &Hazard,
) -> HazardText {
    let slot_name = |slot: u32| data.map_or_else(String::new, |data| data.slot_name(slot));
    match hazard {
        Hazard::Kept { cell, amount } => kept(writer, *cell, *amount),
        Hazard::Misplaced { slot, twice } => {
            let what = if *twice {
                "gets room while it has some"
            } else {
                "loses room that it does not have"
            };
            let sentence = format!("{} {what}", slot_name(*slot));
            match lifetime(data, state, *slot, *twice) {
                Some((member, lifetime)) => {
                    let line = writer.line(lifetime.stmt);
                    let name = writer.instance.member_name(member);
                    told(line, format!("{sentence}: {name} at {line}"))
                }
                None => whole(sentence),
            }
        }
        Hazard::Roomless {
            access: (member, place),
            slot,
            ended,
        } => {
            let accesses = data.and_then(|data| data.accesses.get(*member));
            let Some(access) = accesses.and_then(|all| all.get(*place)) else {
                return whole("data is used without room".to_owned());
            };
            let line = writer.line(access.stmt);
            let what = writer.access((*member, *access));
            let slot_text = slot_name(*slot);
            let other = lifetime(data, state, *slot, !ended);
            let other = other.map(|(other, lifetime)| {
                let at = writer.line(lifetime.stmt);
                (writer.instance.member_name(other), at)
            });
            let why = match (ended, other) {
                (true, Some((name, at))) => format!(
                    "{name} may have given it up at {at} by then: nothing makes it wait for \
                     this access to end"
                ),
                (false, Some((name, at))) => {
                    format!("nothing makes this wait until {name} has made room for it at {at}")
                }
                (true, None) => "its room may be given up by then".to_owned(),
                (false, None) => "nobody makes room for it".to_owned(),
            };
            told(
                line,
                format!("{what} of {slot_text} is out of place: {why}"),
            )
        }
        _ => whole("data is used without room".to_owned()),
    }
}

/// A pool that is not whole in the end. Names the first member that takes more than it gives back.
fn kept(writer: &HazardWriter<'_>, cell: CellId, amount: i64) -> HazardText {
    let name = writer.instance.cell_name(cell);
    let sentence = format!("{amount} of {name} are not given back when everybody has finished");
    for (number, member) in writer.instance.members.iter().enumerate() {
        let ops = || member.ops.iter().filter(|op| op.cell == cell);
        let kept = ops().fold(0_i64, |kept, op| match op.kind {
            OpKind::Acquire(amount) => kept.saturating_add(amount),
            OpKind::Release(amount) => kept.saturating_sub(amount),
            _ => kept,
        });
        let taken = ops().rfind(|op| matches!(op.kind, OpKind::Acquire(_)));
        if let Some(op) = taken.filter(|_| kept > 0) {
            let line = writer.line(op.stmt);
            let who = writer.instance.member_name(number);
            return told(
                line,
                format!(
                    "{sentence}: {who} takes {kept} more than it gives back, the last ones at {line}"
                ),
            );
        }
    }
    whole(sentence)
}

/// The member and the statement that begins (or ends) the room of a slot. Of several, it is the last one that has been
/// executed in this state, or the first one if none has been executed.
fn lifetime<'d>(
    data: Option<&'d Data>,
    state: &State,
    slot: u32,
    begins: bool,
) -> Option<(usize, &'d Lifetime)> {
    let members = data?.lifetimes.iter().enumerate();
    let all = members.flat_map(|(m, lifetimes)| lifetimes.iter().map(move |l| (m, l)));
    let fitting: Vec<(usize, &Lifetime)> = all
        .filter(|(_, l)| l.begins == begins && l.slots.contains(&slot))
        .collect();
    let done = |(member, l): &&(usize, &Lifetime)| state.counters[*member] >= l.at;
    let last = fitting.iter().rev().find(done);
    last.or(fitting.first()).copied()
}
