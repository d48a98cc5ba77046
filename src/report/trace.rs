//! A run, one line per action, saying only what changed.

use serde::Serialize;

use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::State;
use crate::witness;

/// One action of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Who acts.
    pub member: String,
    /// What it does and what that changed.
    pub what: String,
    /// The line of the statement, from 1; absent where a member starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// A run in words. It ends where an action cannot happen.
pub fn trace(source: &str, instance: &Instance, schedule: &[Action]) -> Vec<Event> {
    let mut state = step::initial(instance);
    let mut events = Vec::new();
    for action in schedule {
        let (event, happened) = event(source, instance, &mut state, *action);
        events.push(event);
        if !happened {
            break;
        }
    }
    events
}

/// Lets an action happen and words it; false, and the state as it was, if it cannot happen.
pub fn event(
    source: &str,
    instance: &Instance,
    state: &mut State,
    action: Action,
) -> (Event, bool) {
    let member = instance.member_name(action.member());
    let before = step::next_op(instance, state, action.member()).copied();
    let cell = before.map(|op| state.cells[op.cell.0 as usize].clone());
    let at = before.map(|op| line(source, instance, &op));
    let done = step::apply(instance, state, action);
    let (what, line) = match (&done, action, before) {
        (Err(error), _, _) => (format!("cannot go on: {error}"), at),
        (Ok(()), Action::Step(_), Some(op)) => (operation(instance, state, &op, cell.as_ref()), at),
        _ => (started(instance, state, action.member()), None),
    };
    (Event { member, what, line }, done.is_ok())
}

/// The line on which an operation's statement stands.
pub fn line(source: &str, instance: &Instance, op: &Op) -> usize {
    let span = instance.spans.get(op.stmt.0).copied().unwrap_or_default();
    witness::line(source, span)
}

fn started(instance: &Instance, state: &State, member: usize) -> String {
    match step::next_op(instance, state, member) {
        Some(_) => "starts".to_owned(),
        None => "starts and has nothing to do".to_owned(),
    }
}

fn operation(instance: &Instance, state: &State, op: &Op, before: Option<&CellState>) -> String {
    let name = instance.cell_name(op.cell);
    let now = &state.cells[op.cell.0 as usize];
    let was = before.map_or_else(String::new, |cell| witness::shown(instance, cell));
    let becomes = witness::shown(instance, now);
    match op.kind {
        OpKind::Wait(..) => format!("passes {name} {}", witness::wanted(op.kind)),
        OpKind::WaitParity(parity) => {
            format!("passes {name}, which has left phase {}", u8::from(parity))
        }
        OpKind::Add(amount) => format!("adds {amount}: {name} {was} -> {becomes}"),
        OpKind::Set(_) => format!("sets {name}: {was} -> {becomes}"),
        OpKind::Arrive(_) => format!("arrives at {name}: {becomes}"),
        OpKind::Sync(count) | OpKind::BarArrive(count) => match now {
            CellState::Named { registered, .. } if registered.is_empty() => {
                format!("comes to {name} as the last of {count} threads")
            }
            _ => format!("comes to {name}: {becomes}"),
        },
    }
}
