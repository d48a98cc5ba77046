//! Finds deliveries of more bytes than the phase of an mbarrier still expects.
//!
//! The language splits such a delivery: its first bytes complete the phase, and the rest counts in the next phase.
//! PTX does not promise this. It subtracts the bytes that a copy delivers from the bytes that are expected, and does
//! not say in how many parts. If the machine subtracts all bytes at once, then the difference skips 0, the phase
//! never completes, and its waiters hang. So such a delivery is a fault of a kernel.
//!
//! Source: PTX ISA, "Tracking asynchronous operations by the mbarrier object", "complete-tx operation".
//!
//! The search makes one run at each of some small parameter values, or it looks at a given run. If it finds nothing,
//! nothing follows for other runs.

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

use super::HURRIED_LARGEST;
use super::declared;
use super::grid::Region;

/// The distance from the least parameter values up to which values are tried, and the most points.
const RADIUS: i64 = 3;
const POINTS: usize = 100;

/// How many operations all runs may have together.
const WORK: usize = 2_000_000;

/// A statement that delivers too much in some run.
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
        let Ok((instance, _)) = unfold::instantiate_with(protocol, &input, &HURRIED_LARGEST) else {
            continue;
        };
        let mut trace = Vec::new();
        run_greedy(&instance, Some(&mut trace));
        work += trace.len();
        if let Some(span) = in_steps(&instance, &trace) {
            return Some(span);
        }
        if work > WORK {
            break;
        }
    }
    None
}

/// The first statement that delivers too much in a run at an input, or that may do so directly after it.
pub fn in_run(protocol: &Protocol, input: &Input, run: &[Action]) -> Option<Span> {
    let instance = unfold::instantiate(protocol, input).ok()?;
    in_steps(&instance, run)
}

fn in_steps(instance: &Instance, run: &[Action]) -> Option<Span> {
    let mut state = step::initial(instance);
    for action in run {
        if let Some(span) = too_much(instance, &state, *action) {
            return Some(span);
        }
        step::apply(instance, &mut state, *action).ok()?;
    }
    let next = step::enabled(instance, &state).into_iter();
    next.filter_map(|action| too_much(instance, &state, action))
        .next()
}

/// The statement of an action, if the action delivers too much.
fn too_much(instance: &Instance, state: &State, action: Action) -> Option<Span> {
    let (stmt, cell) = step::works_on(instance, state, action)?;
    let bytes = delivered(instance, state, action)?;
    match state.cells.get(cell.0 as usize)? {
        CellState::Mbarrier { pending: 0, tx, .. } if *tx < bytes => {
            instance.spans.get(stmt.0).copied()
        }
        _ => None,
    }
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
