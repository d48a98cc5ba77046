//! Deliveries of more bytes than the phase of an mbarrier still expects.
//!
//! The language lets the first of them complete the phase and counts the rest in the next one. Of a kernel that is too much:
//! PTX subtracts what a copy has delivered from what is expected, and does not say in how many parts. If that is done at once,
//! the difference is never 0, and nobody who waits for the phase goes on.
//!
//! Source: PTX ISA, "Tracking asynchronous operations by the mbarrier object", "complete-tx operation".
//!
//! One run is made at each of some small parameter values. That nothing is found shows nothing of others.

use std::collections::BTreeSet;

use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::semantics::greedy::run_greedy;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::Delivery;
use crate::semantics::step::State;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;

use super::HURRIED_LARGEST;
use super::declared;
use super::grid::Region;

/// How many values of each parameter are tried, and how many points.
const RADIUS: i64 = 3;
const POINTS: usize = 100;

/// How many operations all runs may have together.
const WORK: usize = 2_000_000;

/// The statement that delivers too much in some run.
pub fn excess(protocol: &Protocol) -> Option<Span> {
    let region = Region::of_radius(protocol, RADIUS);
    let order = declared(protocol);
    let mut work = 0;
    for params in region.points(protocol, &order).take(POINTS) {
        let input = Input {
            params,
            patterns: vec![BTreeSet::new(); protocol.patterns.len()],
            ..Input::default()
        };
        let limits: &Limits = &HURRIED_LARGEST;
        let Ok((instance, _)) = unfold::instantiate_with(protocol, &input, limits) else {
            continue;
        };
        let mut trace = Vec::new();
        run_greedy(&instance, Some(&mut trace));
        work += trace.len();
        if let Some(span) = in_run(&instance, &trace) {
            return Some(span);
        }
        if work > WORK {
            break;
        }
    }
    None
}

/// The statement that delivers too much in a run.
fn in_run(instance: &Instance, trace: &[Action]) -> Option<Span> {
    let mut state = step::initial(instance);
    for action in trace {
        if let Some((stmt, cell)) = step::works_on(instance, &state, *action)
            && let Some(bytes) = delivered(instance, &state, *action)
            && let Some(CellState::Mbarrier { pending: 0, tx, .. }) =
                state.cells.get(cell.0 as usize)
            && *tx < bytes
        {
            return instance.spans.get(stmt.0).copied();
        }
        step::apply(instance, &mut state, *action).ok()?;
    }
    None
}

/// How many bytes an action delivers.
fn delivered(instance: &Instance, state: &State, action: Action) -> Option<i64> {
    match action {
        Action::Launch(_) => None,
        Action::Step(member) => match step::next_op(instance, state, member)?.kind {
            OpKind::CompleteTx(bytes) => Some(bytes),
            _ => None,
        },
        Action::Land(member, position) => {
            match step::in_flight(state, member, position)?.delivery {
                Delivery::Bytes(bytes) => Some(bytes),
                Delivery::Arrival => None,
            }
        }
    }
}
