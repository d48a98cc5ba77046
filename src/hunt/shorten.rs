//! Shortens runs for readers: few steps, and few switches from one member to another.

use crate::protocol::Protocol;
use crate::semantics::explore;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::unfold;

use super::Hang;
use super::MANY;
use super::WORK;
use super::Watch;
use super::schedules;
use super::schedules::switches;

/// The most states that are explored for a shortest run. The second constant bounds this number times the number of
/// members, because states of many members take longer.
const STATES: u64 = 50_000;
const MEMBERS: u64 = 1_000_000;

/// The longest run whose actions are reordered. Reordering takes quadratic time.
const REORDERED: usize = 4_000;

/// The same input with a run that is easier to follow.
pub(super) fn shortened(protocol: &Protocol, hang: Hang, watch: &Watch<'_>) -> Hang {
    let Ok(instance) = unfold::instantiate(protocol, &hang.input) else {
        return hang;
    };
    if instance.members.len() > MANY {
        // Interchangeable members moved together in this run, so it is readable already.
        return hang;
    }
    let options = explore::Options {
        max_states: STATES.min(MEMBERS / (instance.members.len() as u64).max(1)),
        cancel: Some(watch.cancel),
        deadline: Some(watch.deadline),
        ..explore::Options::default()
    };
    let schedule = explore::explore(&instance, &options)
        .stuck
        .unwrap_or_else(|| {
            let other = schedules::shortest(&instance, WORK, watch).stuck;
            let other = other.filter(|other| other.len() < hang.schedule.len());
            other.unwrap_or_else(|| hang.schedule.clone())
        });
    let schedule = grouped(&instance, &schedule).unwrap_or(schedule);
    Hang { schedule, ..hang }
}

/// The same input and final state with a run that changes less often between members.
pub(super) fn tidied(protocol: &Protocol, hang: Hang) -> Hang {
    let instance = unfold::instantiate(protocol, &hang.input).ok();
    match instance.and_then(|instance| grouped(&instance, &hang.schedule)) {
        Some(schedule) => Hang { schedule, ..hang },
        None => hang,
    }
}

/// The same actions with fewer switches from one member to another. The acting member goes on as long as its next
/// action does not depend on an action that would have come before. Launches and releases create further dependences,
/// which are not tracked. So the result is `None` if the reordered run leads elsewhere, or if it is no better.
fn grouped(instance: &Instance, schedule: &[Action]) -> Option<Vec<Action>> {
    if schedule.len() > REORDERED {
        return None;
    }
    let mut state = step::initial(instance);
    let mut left = Vec::with_capacity(schedule.len());
    for action in schedule {
        left.push((*action, cell(instance, &state, *action)));
        step::apply(instance, &mut state, *action).ok()?;
    }
    let mut state = step::initial(instance);
    let mut out: Vec<Action> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let last = out.last().map(|action| action.member());
        let own = last.and_then(|last| {
            let place = left.iter().position(|(a, _)| a.member() == last)?;
            let wanted = left[place].1?;
            let free = |before: &(Action, Option<CellId>)| before.1.is_some_and(|c| c != wanted);
            left[..place].iter().all(free).then_some(place)
        });
        let place = own.filter(|place| step::apply(instance, &mut state, left[*place].0).is_ok());
        match place {
            Some(place) => out.push(left.remove(place).0),
            None => {
                let (action, _) = left.remove(0);
                step::apply(instance, &mut state, action).ok()?;
                out.push(action);
            }
        }
    }
    let better = step::is_stuck(instance, &state) && switches(&out) < switches(schedule);
    better.then_some(out)
}

/// The cell that a step works on; `None` for anything else that can happen.
fn cell(instance: &Instance, state: &State, action: Action) -> Option<CellId> {
    match action {
        Action::Step(member) => step::next_op(instance, state, member).map(|op| op.cell),
        _ => None,
    }
}
