//! A run, one line per action, with only the changes.

use serde::Serialize;

use crate::protocol::StmtId;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Fetch;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::Delivery;
use crate::semantics::step::InFlight;
use crate::semantics::step::State;
use crate::witness;

use super::cited::Cited;

/// One action of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The member that acts.
    pub member: String,
    /// The action and its effect.
    pub what: String,
    /// The line of the statement, from 1; absent if a member starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The line of the kernel that it comes from, if the protocol was recovered from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Cited>,
    /// The action without its member, to compare actions.
    #[serde(skip)]
    pub deed: Deed,
    /// The element that it works on, and its value afterwards.
    #[serde(skip)]
    pub left: Option<Left>,
}

/// An element after an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its name.
    pub element: String,
    /// Its value, in the words of a trace.
    pub value: String,
}

/// The action of a step, without its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// A member starts, and it has operations.
    Starts,
    /// A member starts that has no operations, or an action is not possible.
    Other,
    /// An operation, or the landing of an asynchronous operation.
    Done {
        /// The statement.
        stmt: StmtId,
        /// The cell.
        cell: CellId,
        /// Whether it is a landing.
        lands: bool,
        /// Whether it completes a phase or generation.
        completes: bool,
    },
}

impl Deed {
    /// Whether another action directly after this one continues it, so that both can be described together.
    pub fn goes_on_with(self, next: Deed) -> bool {
        match (self, next) {
            (
                Deed::Done {
                    stmt,
                    cell,
                    lands,
                    completes: false,
                },
                Deed::Done {
                    stmt: s,
                    cell: c,
                    lands: l,
                    ..
                },
            ) => (stmt, cell, lands) == (s, c, l),
            (Deed::Starts, Deed::Starts) => true,
            _ => false,
        }
    }
}

/// A run in words. It ends at an action that is not possible.
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

/// Performs an action and describes it. If the action is not possible, the result is false and the state is
/// unchanged.
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
    let landing = match action {
        Action::Land(member, position) => step::in_flight(state, member, position),
        Action::Launch(_) | Action::Step(_) => None,
    };
    let place = step::works_on(instance, state, action);
    let progress = |state: &State, cell: CellId| state.cells[cell.0 as usize].progress();
    let open = place.map(|(_, cell)| progress(state, cell));
    let done = step::apply(instance, state, action);
    let deed = match (place, &done) {
        (Some((stmt, cell)), Ok(())) => Deed::Done {
            stmt,
            cell,
            lands: landing.is_some(),
            completes: open.is_some_and(|open| open.completed(progress(state, cell))),
        },
        (None, Ok(())) if step::next_op(instance, state, action.member()).is_some() => Deed::Starts,
        _ => Deed::Other,
    };
    let (what, line) = match (&done, landing, before) {
        (Err(error), _, _) => (format!("cannot go on: {error}"), at),
        (Ok(()), Some(landing), _) => (
            landed(instance, state, landing),
            Some(statement_line(source, instance, landing.stmt)),
        ),

        (Ok(()), None, Some(op)) if matches!(action, Action::Step(_)) => {
            (operation(instance, state, &op, cell.as_ref()), at)
        }
        _ => (started(instance, state, action.member()), None),
    };
    let left = place.filter(|_| done.is_ok()).map(|(_, cell)| Left {
        element: instance.cell_name(cell),
        value: witness::shown(instance, &state.cells[cell.0 as usize]),
    });
    let event = Event {
        member,
        what,
        line,
        kernel: None,
        deed,
        left,
    };
    (event, done.is_ok())
}

/// The line on which an operation's statement stands.
pub fn line(source: &str, instance: &Instance, op: &Op) -> usize {
    statement_line(source, instance, op.stmt)
}

fn statement_line(source: &str, instance: &Instance, stmt: StmtId) -> usize {
    let span = instance.spans.get(stmt.0).copied().unwrap_or_default();
    witness::line(source, span)
}

/// Describes what landed, and its effect.
fn landed(instance: &Instance, state: &State, landing: InFlight) -> String {
    let name = instance.cell_name(landing.cell);
    let becomes = witness::shown(instance, &state.cells[landing.cell.0 as usize]);
    match landing.delivery {
        Delivery::Bytes(bytes) => format!("its {bytes} bytes land at {name}: {becomes}"),
        Delivery::Arrival => format!("its commit arrives at {name}: {becomes}"),
    }
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
        OpKind::WaitSwap { .. } => {
            let wanted = witness::wanted(op.kind);
            format!("passes {name} {wanted} and sets it: {was} -> {becomes}")
        }
        OpKind::Fetch(fetch) => {
            let does = match fetch {
                Fetch::Add(amount) => format!("adds {amount} to {name} and"),
                Fetch::Exchange(new) => format!("puts {new} in the place of {name} and"),
                Fetch::Swap { expected, new } => {
                    format!("sets {name} to {new} if it is {expected}, and")
                }
            };
            format!("{does} gets {was}: {was} -> {becomes}")
        }
        OpKind::NotDefined => "does something undefined".to_owned(),
        OpKind::Touch(_) => "works on data".to_owned(),
        OpKind::Add(amount) => format!("adds {amount}: {name} {was} -> {becomes}"),
        OpKind::Set(_) => format!("sets {name}: {was} -> {becomes}"),
        OpKind::Arrive(_) => format!("arrives at {name}: {becomes}"),
        OpKind::Sync(count) | OpKind::BarArrive(count) => match now {
            CellState::Named { registered, .. } if registered.is_empty() => {
                format!("comes to {name} as the last of {count} threads")
            }
            _ => format!("comes to {name}: {becomes}"),
        },
        OpKind::ExpectTx(bytes) => format!("expects {bytes} bytes at {name}: {becomes}"),
        OpKind::CompleteTx(bytes) => format!("delivers {bytes} bytes to {name}: {becomes}"),
        OpKind::Copy(bytes) => format!("starts a copy of {bytes} bytes that completes {name}"),
        OpKind::Commit => format!("commits what is in flight to {name}"),
        OpKind::Init => format!("initialises {name}: {becomes}"),
        OpKind::BarrierArrive => match now {
            CellState::Barrier { arrived, .. } if arrived.is_empty() => {
                format!("arrives at {name} as the last")
            }
            _ => format!("arrives at {name}: {becomes}"),
        },
        OpKind::BarrierWait => format!("passes {name}"),
        OpKind::Acquire(amount) => format!("takes {amount} of {name}: {becomes}"),
        OpKind::Release(amount) => format!("gives {amount} back to {name}: {becomes}"),
    }
}
