//! One step: what every operation does to the state. The meaning of the whole tool is here.
//!
//! **Members.** A member of a role without a launch runs from the beginning. A grid's next
//! member in launch order (any unstarted one where the order is open) may start while fewer
//! than `resident` of its role have started and not finished. A member with no operation left
//! has finished and its place is free at once.
//!
//! **Semaphore.** A wait passes iff the comparison holds now; `add` and `set` never block.
//!
//! **Mbarrier.** It starts with phase bit 0 and `pending` = expected. An arrival subtracts from
//! `pending`; at 0 the phase bit flips and `pending` = expected again, atomically; below 0 is
//! undefined. A wait for parity `p` passes iff the phase bit is not `p`, and changes nothing.
//!
//! **Named barrier.** Counted in threads; each registration is a warp of 32. The first one
//! opens a generation and fixes its count; another count in an open generation is undefined,
//! and so is a second registration of one member. At the count the generation closes within
//! the same step: everybody who blocked in it goes on and the barrier can be used again.
//! A count is a multiple of 32, so a generation never takes more than it expects.
//!
//! What is undefined is a [`Violation`]: no state follows it.

use crate::protocol::Comparison;

use super::instance::CellStart;
use super::instance::Instance;
use super::instance::Op;
use super::instance::OpKind;

pub use super::state::Action;
pub use super::state::Blocked;
pub use super::state::CellState;
pub use super::state::NOT_STARTED;
pub use super::state::Registration;
pub use super::state::State;
pub use super::state::StepError;
pub use super::state::Violation;
pub use super::state::ViolationKind;

/// How many threads one registration at a named barrier stands for.
const WARP: i64 = 32;

/// The state before anything has happened.
pub fn initial(instance: &Instance) -> State {
    let cells = instance.cells.iter().map(|start| match start {
        CellStart::Semaphore(value) => CellState::Semaphore(*value),
        CellStart::Mbarrier(expected) => CellState::Mbarrier {
            pending: *expected,
            phase: false,
        },
        CellStart::Named => CellState::Named {
            count: 0,
            registered: Vec::new(),
        },
    });
    let mut state = State {
        counters: vec![NOT_STARTED; instance.members.len()],
        cells: cells.collect(),
        started: vec![0; instance.roles.len()],
        finished: vec![0; instance.roles.len()],
    };
    for role in instance.roles.iter().filter(|r| r.launch.is_none()) {
        for member in role.members.clone() {
            start(instance, &mut state, member);
        }
    }
    state
}

/// Everything that can happen next, launches first, ascending by member.
pub fn enabled(instance: &Instance, state: &State) -> Vec<Action> {
    let launches = (0..instance.roles.len()).flat_map(|role| launchable(instance, state, role));
    let steps = (0..instance.members.len()).filter(|m| can_step(instance, state, *m));
    launches
        .map(Action::Launch)
        .chain(steps.map(Action::Step))
        .collect()
}

/// The members of a role that may start now.
pub fn launchable(instance: &Instance, state: &State, role: usize) -> Vec<usize> {
    let layout = &instance.roles[role];
    match &layout.launch {
        None => Vec::new(),
        Some(_) if !has_place(instance, state, role) => Vec::new(),
        Some(plan) => match &plan.order {
            Some(order) => order
                .get(state.started[role])
                .copied()
                .into_iter()
                .collect(),
            None => layout
                .members
                .clone()
                .filter(|m| state.counters[*m] == NOT_STARTED)
                .collect(),
        },
    }
}

/// Whether a member may start now.
pub fn can_launch(instance: &Instance, state: &State, member: usize) -> bool {
    let Some(role) = instance.members.get(member).map(|m| m.role) else {
        return false;
    };
    let plan = instance.roles[role].launch.as_ref();
    let order = plan.and_then(|plan| plan.order.as_ref());
    let is_next = order.is_none_or(|order| order.get(state.started[role]) == Some(&member));
    state.counters[member] == NOT_STARTED && is_next && has_place(instance, state, role)
}

/// Whether fewer members of a role are running than may be resident.
fn has_place(instance: &Instance, state: &State, role: usize) -> bool {
    let plan = instance.roles[role].launch.as_ref();
    let running = state.started[role] - state.finished[role];
    plan.and_then(|plan| plan.resident)
        .is_none_or(|places| running < places)
}

/// The next operation of a member that has started and not finished.
pub fn next_op<'i>(instance: &'i Instance, state: &State, member: usize) -> Option<&'i Op> {
    // `NOT_STARTED` is past every program.
    instance
        .members
        .get(member)?
        .ops
        .get(state.counters[member] as usize)
}

/// Whether a member can do its next operation.
pub fn can_step(instance: &Instance, state: &State, member: usize) -> bool {
    let Some(op) = next_op(instance, state, member) else {
        return false;
    };
    match (&op.kind, &state.cells[op.cell.0 as usize]) {
        (OpKind::Wait(Comparison::Equal, wanted), CellState::Semaphore(value)) => value == wanted,
        (OpKind::Wait(Comparison::AtLeast, wanted), CellState::Semaphore(value)) => value >= wanted,
        (OpKind::WaitParity(parity), CellState::Mbarrier { phase, .. }) => phase != parity,
        (OpKind::Sync(_), CellState::Named { registered, .. }) => !registered
            .iter()
            .any(|r| r.blocked && r.member as usize == member),
        _ => true,
    }
}

/// Lets an action happen. After an error the state is as it was.
pub fn apply(instance: &Instance, state: &mut State, action: Action) -> Result<(), StepError> {
    match action {
        Action::Launch(member) => {
            if !can_launch(instance, state, member) {
                return Err(StepError::NotEnabled(action));
            }
            start(instance, state, member);
            Ok(())
        }
        Action::Step(member) => match next_op(instance, state, member) {
            Some(op) if can_step(instance, state, member) => step(instance, state, member, op),
            _ => Err(StepError::NotEnabled(action)),
        },
    }
}

fn step(instance: &Instance, state: &mut State, member: usize, op: &Op) -> Result<(), StepError> {
    let violation = |kind| {
        Err(StepError::Violation(Violation {
            kind,
            member,
            stmt: op.stmt,
            cell: op.cell,
        }))
    };
    let cell = op.cell.0 as usize;
    match (op.kind, &mut state.cells[cell]) {
        (OpKind::Add(amount), CellState::Semaphore(value)) => match value.checked_add(amount) {
            Some(sum) => *value = sum,
            None => return violation(ViolationKind::SemaphoreOverflow),
        },
        (OpKind::Set(new), CellState::Semaphore(value)) => *value = new,
        (OpKind::Arrive(count), CellState::Mbarrier { pending, phase }) => {
            if count > *pending {
                let pending = *pending;
                return violation(ViolationKind::OverArrival { count, pending });
            }
            *pending -= count;
            if *pending == 0 {
                *phase = !*phase;
                if let CellStart::Mbarrier(expected) = instance.cells[cell] {
                    *pending = expected;
                }
            }
        }
        (
            OpKind::Sync(count) | OpKind::BarArrive(count),
            CellState::Named {
                count: open,
                registered,
            },
        ) => {
            if *open != 0 && *open != count {
                let open = *open;
                return violation(ViolationKind::CountMismatch { count, open });
            }
            let own = registered.binary_search_by_key(&(member as u32), |r| r.member);
            let Err(place) = own else {
                return violation(ViolationKind::RegisteredTwice);
            };
            let blocked = matches!(op.kind, OpKind::Sync(_));
            if (registered.len() as i64 + 1) * WARP < count {
                *open = count;
                let member = member as u32;
                registered.insert(place, Registration { member, blocked });
                if blocked {
                    return Ok(());
                }
            } else {
                *open = 0;
                for waiter in std::mem::take(registered) {
                    if waiter.blocked {
                        advance(instance, state, waiter.member as usize);
                    }
                }
            }
        }
        // Waits change nothing, and unfolding admits no operation on another kind of cell.
        _ => {}
    }
    advance(instance, state, member);
    Ok(())
}

fn start(instance: &Instance, state: &mut State, member: usize) {
    let layout = &instance.members[member];
    state.counters[member] = 0;
    state.started[layout.role] += 1;
    if layout.ops.is_empty() {
        state.finished[layout.role] += 1;
    }
}

fn advance(instance: &Instance, state: &mut State, member: usize) {
    let layout = &instance.members[member];
    state.counters[member] += 1;
    if state.counters[member] as usize == layout.ops.len() {
        state.finished[layout.role] += 1;
    }
}

/// Whether every member has finished.
pub fn is_finished(instance: &Instance, state: &State) -> bool {
    state.finished.iter().sum::<usize>() == instance.members.len()
}

/// Whether nothing can happen although not every member has finished.
pub fn is_stuck(instance: &Instance, state: &State) -> bool {
    !is_finished(instance, state) && enabled(instance, state).is_empty()
}

/// What each member that started, has not finished and cannot step waits for.
pub fn blocked(instance: &Instance, state: &State) -> Vec<Blocked> {
    (0..instance.members.len())
        .filter(|member| !can_step(instance, state, *member))
        .filter_map(|member| {
            let op = *next_op(instance, state, member)?;
            let cell = state.cells[op.cell.0 as usize].clone();
            Some(Blocked { member, op, cell })
        })
        .collect()
}

/// The members that have not started.
pub fn unstarted(state: &State) -> Vec<usize> {
    let counters = state.counters.iter().enumerate();
    counters
        .filter(|(_, c)| **c == NOT_STARTED)
        .map(|(m, _)| m)
        .collect()
}
