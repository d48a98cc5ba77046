//! Judges whether a counterexample violates the property that it claims to violate.

use crate::protocol::Property;
use crate::semantics::data::Data;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;

use super::Hazard;
use super::Monitor;
use super::Participation;
use super::StateMonitor;
use super::Visibility;
use super::participation;
use super::takes_two_runs;

/// What a counterexample shows that has been confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The violation that it shows.
    pub hazard: Hazard,
    /// The other violations in its last state.
    pub others: Vec<Hazard>,
    /// The state that the first run leads to. If its last action is undefined, the state before this action.
    pub state: State,
}

/// What these runs show about the property, or `None` if they show no violation. `second` has to be given if the
/// property compares two runs, and `data` has to be given for races and stale reads.
///
/// # Errors
///
/// The position of an action that cannot happen, or of an undefined action, unless it is the last one of a single run
/// and shows the violation; and which of the two it is.
pub fn judge(
    instance: &Instance,
    data: Option<&Data>,
    property: Property,
    first: &[Action],
    second: Option<&[Action]>,
) -> Result<Option<Judged>, (usize, StepError)> {
    if takes_two_runs(property) != second.is_some() {
        return Ok(None);
    }
    if let Some(second) = second {
        let (one, state) = last(instance, property, first)?;
        let (other, _) = last(instance, property, second)?;
        let hazard = match (one, other) {
            (Some(one), Some(other)) => deviation(one, other),
            _ => None,
        };
        return Ok(hazard.map(|hazard| judged(hazard, state)));
    }
    if property == Property::StaleRead {
        return match data {
            Some(data) => stale(instance, data, first),
            None => Ok(None),
        };
    }
    let monitor = Monitor::new(instance, property);
    let state_monitor = StateMonitor::new(instance, data, property);
    let mut state = step::initial_with_history(instance);
    let mut shown = None;
    for (position, action) in first.iter().enumerate() {
        let before = monitor.before(&state, *action);
        match step::apply(instance, &mut state, *action) {
            Ok(()) => shown = monitor.after(before, &state),
            Err(error) => {
                let hazard = undefined(&monitor, &error);
                return match hazard.filter(|_| position + 1 == first.len()) {
                    Some(hazard) => Ok(Some(judged(hazard, state))),
                    None => Err((position, error)),
                };
            }
        }
    }
    let shown = shown.or_else(|| monitor.state(&state));
    let mut all = state_monitor.all(&state).into_iter();
    let shown = shown.or_else(|| all.next());
    let others = all.collect();
    Ok(shown.map(|hazard| Judged {
        hazard,
        others,
        state,
    }))
}

/// A violation that is shown alone.
fn judged(hazard: Hazard, state: State) -> Judged {
    Judged {
        hazard,
        others: Vec::new(),
        state,
    }
}

/// The stale read that the last action of a run leads to, if there is one.
fn stale(
    instance: &Instance,
    data: &Data,
    run: &[Action],
) -> Result<Option<Judged>, (usize, StepError)> {
    let visibility = Visibility::new(instance, data);
    let mut state = step::initial_with_history(instance);
    let (mut known, mut shown) = visibility.start(&state, true);
    for (position, action) in run.iter().enumerate() {
        let before = state.clone();
        step::apply(instance, &mut state, *action).map_err(|error| (position, error))?;
        shown = visibility.follow(&mut known, &before, *action, &state);
    }
    Ok(shown.map(|hazard| judged(hazard, state)))
}

fn undefined(monitor: &Monitor<'_>, error: &StepError) -> Option<Hazard> {
    match error {
        StepError::Violation(violation) => monitor.undefined(violation),
        StepError::NotEnabled(_) => None,
    }
}

/// How the last action of a run takes part in a generation, and the state that the action leads to.
fn last(
    instance: &Instance,
    property: Property,
    run: &[Action],
) -> Result<(Option<Participation>, State), (usize, StepError)> {
    let mut state = step::initial_with_history(instance);
    let mut found = None;
    for (position, action) in run.iter().enumerate() {
        found = participation(instance, &state, *action, property);
        step::apply(instance, &mut state, *action).map_err(|error| (position, error))?;
    }
    Ok((found, state))
}

/// The violation that two participations show together, if they show one.
pub(super) fn deviation(one: Participation, other: Participation) -> Option<Hazard> {
    let same = (one.member, one.op, one.cell) == (other.member, other.op, other.cell);
    (same && one.count != other.count).then_some(Hazard::Deviation {
        member: one.member,
        op: one.op,
        cell: one.cell,
        counts: (one.count, other.count),
    })
}
