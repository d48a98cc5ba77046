//! One step: what every operation does to the state. The meaning of all verdicts rests on this file.
//!
//! **Members.** A member of a role without a launch runs from the beginning. In a grid, the next member in launch
//! order may start while fewer than `resident` members of its role have started and not finished. If the launch order
//! is open, the next member may be any unstarted one. A member with no operation left has finished, and its place is
//! free at once.
//!
//! **Semaphore.** A wait passes iff its comparison holds now. `add` and `set` never block. A `fetch` never blocks
//! either: in one step it reads the value, and adds to it, sets it, or sets it if the value is as expected. The
//! successor of a `fetch` depends on the value that was read. A `wait swap` passes iff the value is as expected, and
//! sets another value in the same step.
//!
//! **Mbarrier.** It starts with phase bit 0 and `pending` equal to the expected count. An arrival subtracts from
//! `pending`. If `pending` becomes 0, the same step flips the phase bit and resets `pending` to the expected count.
//! An arrival that would make `pending` negative is undefined. A wait for parity `p` passes iff the phase bit is not
//! `p`, and changes nothing.
//!
//! **Named barrier.** It counts threads, and each registration brings a warp of 32. The first registration opens a
//! generation and fixes its count; a registration with another count in an open generation is undefined. Every
//! registration counts, whichever warp makes it. For example, a warp that arrives and then syncs in the same
//! generation brings 64 threads. A warp that is blocked in a generation does nothing. So of one member's
//! registrations in a generation only the last one can block. When the count is reached, the generation closes within
//! the same step: all members that blocked in it go on, and the barrier can be used again. A count is a multiple of
//! 32, so a generation never takes more threads than its count.
//!
//! **Transactions.** An mbarrier also counts bytes in `tx`, which is 0 at first. `expect_tx` adds to `tx`, and
//! delivered bytes are subtracted. A phase completes exactly when `pending` and `tx` are both 0, which is checked
//! after each arrival, delivery and `expect_tx`. While arrivals are pending, `tx` may be negative. Bytes land in
//! pieces: if nothing is pending and a delivery has more bytes than `tx`, then the first `tx` bytes complete the
//! phase, and the rest counts in the next phase. An arrival while nothing is pending is undefined, whatever `tx` is.
//!
//! **Asynchronous operations.** A copy or a commit puts something in flight and does not block. Landing is an action
//! of its own, at any later time. A copy lands as a delivery of bytes, and a commit lands as one arrival. Copies land
//! in any order. A commit lands after everything that its member put in flight before it. A member with no operation
//! left has finished, even if something of its is still in flight.
//!
//! **Initialisation.** An mbarrier with explicit initialisation lets no wait pass before it is initialised.
//! Operations on it until then are lost. On the machine they are undefined; here a lost operation shows as a hang if
//! a wait needs it. A second initialisation is undefined.
//!
//! **Split-phase barrier.** It counts members. The expected number of arrivals completes a generation and opens the
//! next one. A wait passes iff the generation of the member's last arrival has completed. A second arrival without a
//! wait in between is undefined, and so is a wait without an arrival.
//!
//! **Pool.** `acquire` passes iff the requested amount is available, and takes it. `release` gives an amount back and
//! never blocks. Giving back more than is taken is undefined.
//!
//! An undefined operation is a [`Violation`]: no state follows it.

use crate::protocol::Comparison;
use crate::protocol::StmtId;

use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Fetch;
use super::instance::Instance;
use super::instance::Op;
use super::instance::OpKind;

pub use super::state::Action;
pub use super::state::Blocked;
pub use super::state::CellState;
pub use super::state::Delivery;
pub use super::state::InFlight;
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
            tx: 0,
        },
        CellStart::Named => CellState::Named {
            count: 0,
            registered: Vec::new(),
        },
        CellStart::Uninitialized(_) => CellState::Uninitialized,
        CellStart::Barrier(expected) => CellState::Barrier {
            pending: *expected,
            arrived: Vec::new(),
            released: Vec::new(),
        },
        CellStart::Pool(capacity) => CellState::Pool {
            available: *capacity,
        },
    });
    let mut state = State {
        counters: vec![NOT_STARTED; instance.members.len()],
        cells: cells.collect(),
        started: vec![0; instance.roles.len()],
        finished: vec![0; instance.roles.len()],
        in_flight: Vec::new(),
        history: Vec::new(),
    };
    for role in instance.roles.iter().filter(|r| r.launch.is_none()) {
        for member in role.members.clone() {
            start(instance, &mut state, member);
        }
    }
    state
}

/// The initial state, with history: from now on the state counts the completions of each barrier, and it names the
/// operation that started each asynchronous operation in flight.
pub fn initial_with_history(instance: &Instance) -> State {
    let mut state = initial(instance);
    state.history = vec![0; instance.cells.len()];
    state
}

/// Everything that can happen next: launches, steps and landings, each ascending by member. Of landings with the same
/// effect only the first is listed.
pub fn enabled(instance: &Instance, state: &State) -> Vec<Action> {
    let launches = (0..instance.roles.len()).flat_map(|role| launchable(instance, state, role));
    let steps = (0..instance.members.len()).filter(|m| can_step(instance, state, *m));
    launches
        .map(Action::Launch)
        .chain(steps.map(Action::Step))
        .chain(landings(state))
        .collect()
}

/// What may land next.
fn landings(state: &State) -> impl Iterator<Item = Action> {
    let all = &state.in_flight;
    let mut first = 0;
    (0..all.len()).filter_map(move |at| {
        if all[at].member != all[first].member {
            first = at;
        }
        let repeats = at > first && all[at] == all[at - 1];
        let waits = at > first && all[at].delivery == Delivery::Arrival;
        (!repeats && !waits).then_some(Action::Land(all[at].member as usize, at - first))
    })
}

/// The asynchronous operation at a position, from 0, among those that a member has in flight; see
/// [`State::in_flight`].
pub fn in_flight(state: &State, member: usize, position: usize) -> Option<InFlight> {
    let at = place_in_flight(state, member, position)?;
    Some(state.in_flight[at])
}

fn place_in_flight(state: &State, member: usize, position: usize) -> Option<usize> {
    let all = &state.in_flight;
    let first = all.partition_point(|f| (f.member as usize) < member);
    let at = first.checked_add(position)?;
    all.get(at).filter(|f| f.member as usize == member)?;
    Some(at)
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

/// The statement and the cell that an action is about. None for a launch, and for an action that does not exist in
/// this state.
pub fn works_on(instance: &Instance, state: &State, action: Action) -> Option<(StmtId, CellId)> {
    match action {
        Action::Launch(_) => None,
        Action::Step(member) => next_op(instance, state, member).map(|op| (op.stmt, op.cell)),
        Action::Land(member, position) => {
            in_flight(state, member, position).map(|landing| (landing.stmt, landing.cell))
        }
    }
}

/// Whether a member can do its next operation.
pub fn can_step(instance: &Instance, state: &State, member: usize) -> bool {
    let Some(op) = next_op(instance, state, member) else {
        return false;
    };
    match (&op.kind, &state.cells[op.cell.0 as usize]) {
        (OpKind::Wait(Comparison::Equal, wanted), CellState::Semaphore(value)) => value == wanted,
        (OpKind::Wait(Comparison::AtLeast, wanted), CellState::Semaphore(value)) => value >= wanted,
        (OpKind::WaitSwap { expected, .. }, CellState::Semaphore(value)) => value == expected,
        (OpKind::WaitParity(parity), CellState::Mbarrier { phase, .. }) => phase != parity,
        (OpKind::Sync(_), CellState::Named { registered, .. }) => !registered
            .iter()
            .any(|r| r.blocked && r.member as usize == member),
        (OpKind::WaitParity(_), CellState::Uninitialized) => false,
        // A wait without an arrival is undefined, so it does not block.
        (OpKind::BarrierWait, CellState::Barrier { arrived, .. }) => {
            arrived.binary_search(&(member as u32)).is_err()
        }
        (OpKind::Acquire(amount), CellState::Pool { available }) => available >= amount,
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
        Action::Land(member, position) => {
            let not_enabled = Err(StepError::NotEnabled(action));
            let Some(at) = place_in_flight(state, member, position) else {
                return not_enabled;
            };
            let landing = state.in_flight[at];
            if position > 0 && landing.delivery == Delivery::Arrival {
                return not_enabled;
            }
            let cell = landing.cell.0 as usize;
            let start = instance.cells[cell];
            let landed = match landing.delivery {
                Delivery::Bytes(bytes) => deliver(start, &mut state.cells[cell], bytes),
                Delivery::Arrival => arrive(start, &mut state.cells[cell], 1),
            };
            let completes = landed.map_err(|kind| {
                StepError::Violation(Violation {
                    kind,
                    member,
                    stmt: landing.stmt,
                    cell: landing.cell,
                })
            })?;
            if completes {
                note_completion(&mut state.history, cell);
            }
            state.in_flight.remove(at);
            Ok(())
        }
    }
}

/// Arrives `count` times on an mbarrier. Returns whether this completes its phase; so do `expect` and `deliver`.
fn arrive(start: CellStart, cell: &mut CellState, count: i64) -> Result<bool, ViolationKind> {
    let CellState::Mbarrier { pending, .. } = cell else {
        return Ok(false);
    };
    if count > *pending {
        let pending = *pending;
        return Err(ViolationKind::OverArrival { count, pending });
    }
    *pending -= count;
    Ok(complete(start, cell))
}

/// Raises the bytes that an mbarrier's phase expects.
fn expect(start: CellStart, cell: &mut CellState, bytes: i64) -> Result<bool, ViolationKind> {
    let CellState::Mbarrier { tx, .. } = cell else {
        return Ok(false);
    };
    *tx = tx.checked_add(bytes).ok_or(ViolationKind::TxOverflow)?;
    Ok(complete(start, cell))
}

/// Delivers bytes to an mbarrier.
fn deliver(start: CellStart, cell: &mut CellState, bytes: i64) -> Result<bool, ViolationKind> {
    let CellState::Mbarrier { pending, tx, .. } = cell else {
        return Ok(false);
    };
    let mut rest = 0;
    if *pending == 0 && 0 < *tx && *tx < bytes {
        rest = bytes - *tx;
        *tx = 0;
    } else {
        *tx = tx.checked_sub(bytes).ok_or(ViolationKind::TxOverflow)?;
    }
    let completes = complete(start, cell);
    if let CellState::Mbarrier { tx, .. } = cell {
        *tx -= rest;
    }
    Ok(completes)
}

/// Completes an mbarrier's phase if nothing is missing. Returns whether it did.
fn complete(start: CellStart, cell: &mut CellState) -> bool {
    if let CellState::Mbarrier { pending, phase, tx } = cell
        && *pending == 0
        && *tx == 0
    {
        *phase = !*phase;
        *pending = expected(start);
        return true;
    }
    false
}

/// If history is kept, counts the completion of a phase or generation of a cell.
fn note_completion(history: &mut [u32], cell: usize) {
    if let Some(completed) = history.get_mut(cell) {
        *completed = completed.saturating_add(1);
    }
}

/// How many arrivals a phase or generation of a cell takes.
fn expected(start: CellStart) -> i64 {
    match start {
        CellStart::Mbarrier(expected)
        | CellStart::Uninitialized(expected)
        | CellStart::Barrier(expected) => expected,
        CellStart::Semaphore(_) | CellStart::Named | CellStart::Pool(_) => 0,
    }
}

/// Puts something in flight, keeping the order that [`State::in_flight`] promises.
fn put_in_flight(all: &mut Vec<InFlight>, new: InFlight) {
    let end = all.partition_point(|f| f.member <= new.member);
    let mut at = end;
    if let Delivery::Bytes(_) = new.delivery {
        let sooner =
            |f: &InFlight| f.member == new.member && f.delivery != Delivery::Arrival && *f > new;
        while at > 0 && sooner(&all[at - 1]) {
            at -= 1;
        }
    }
    all.insert(at, new);
}

fn step(instance: &Instance, state: &mut State, member: usize, op: &Op) -> Result<(), StepError> {
    let undefined = |kind| {
        StepError::Violation(Violation {
            kind,
            member,
            stmt: op.stmt,
            cell: op.cell,
        })
    };
    let violation = |kind| Err(undefined(kind));
    let cell = op.cell.0 as usize;
    let beginning = instance.cells[cell];
    let mut completes = false;
    let mut returned = None;
    match (op.kind, &mut state.cells[cell]) {
        (OpKind::Fetch(fetch), CellState::Semaphore(value)) => {
            let old = *value;
            let new = match fetch {
                Fetch::Add(amount) => old.checked_add(amount),
                Fetch::Exchange(new) => Some(new),
                Fetch::Swap { expected, new } => Some(if old == expected { new } else { old }),
            };
            let Some(new) = new else {
                return violation(ViolationKind::SemaphoreOverflow);
            };
            let place = state.counters[member];
            if instance.members[member].after(place, Some(old)).is_none() {
                return violation(ViolationKind::Unforeseen(old));
            }
            *value = new;
            returned = Some(old);
        }
        (OpKind::WaitSwap { new, .. }, CellState::Semaphore(value)) => *value = new,
        (OpKind::NotDefined, _) => return violation(ViolationKind::NotDefined),
        (OpKind::Add(amount), CellState::Semaphore(value)) => match value.checked_add(amount) {
            Some(sum) => *value = sum,
            None => return violation(ViolationKind::SemaphoreOverflow),
        },
        (OpKind::Set(new), CellState::Semaphore(value)) => *value = new,
        (OpKind::Arrive(count), cell) => {
            completes = arrive(beginning, cell, count).map_err(undefined)?;
        }
        (OpKind::ExpectTx(bytes), cell) => {
            completes = expect(beginning, cell, bytes).map_err(undefined)?;
        }
        (OpKind::CompleteTx(bytes), cell) => {
            completes = deliver(beginning, cell, bytes).map_err(undefined)?;
        }
        (OpKind::Copy(bytes), _) => {
            let new = launched(state, member, op, Delivery::Bytes(bytes));
            put_in_flight(&mut state.in_flight, new);
        }
        (OpKind::Commit, _) => {
            let new = launched(state, member, op, Delivery::Arrival);
            put_in_flight(&mut state.in_flight, new);
        }
        (OpKind::Init, cell @ CellState::Uninitialized) => {
            *cell = CellState::Mbarrier {
                pending: expected(beginning),
                phase: false,
                tx: 0,
            };
        }
        (OpKind::Init, _) => return violation(ViolationKind::Reinitialized),
        (
            OpKind::BarrierArrive,
            CellState::Barrier {
                pending,
                arrived,
                released,
            },
        ) => {
            let own = member as u32;
            let place = match arrived.binary_search(&own) {
                Err(place) if released.binary_search(&own).is_err() => place,
                _ => return violation(ViolationKind::ArrivedTwice),
            };
            arrived.insert(place, own);
            *pending -= 1;
            if *pending == 0 {
                *pending = expected(beginning);
                released.append(arrived);
                released.sort_unstable();
                completes = true;
            }
        }
        (OpKind::BarrierWait, CellState::Barrier { released, .. }) => {
            match released.binary_search(&(member as u32)) {
                Ok(place) => {
                    released.remove(place);
                }
                Err(_) => return violation(ViolationKind::WaitWithoutArrival),
            }
        }
        (OpKind::Acquire(amount), CellState::Pool { available }) => *available -= amount,
        (OpKind::Release(amount), CellState::Pool { available }) => {
            let CellStart::Pool(capacity) = beginning else {
                return Err(StepError::NotEnabled(Action::Step(member)));
            };
            let taken = capacity - *available;
            if amount > taken {
                return violation(ViolationKind::OverRelease { amount, taken });
            }
            *available += amount;
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
            let blocked = matches!(op.kind, OpKind::Sync(_));
            if (registered.len() as i64 + 1) * WARP < count {
                *open = count;
                let member = member as u32;
                let new = Registration { member, blocked };
                let place = registered.partition_point(|r| *r < new);
                registered.insert(place, new);
                if blocked {
                    return Ok(());
                }
            } else {
                *open = 0;
                completes = true;
                for waiter in std::mem::take(registered) {
                    if waiter.blocked {
                        advance(instance, state, waiter.member as usize, None);
                    }
                }
            }
        }
        // Waits change nothing. Unfolding has rejected operations on a cell of the wrong kind.
        _ => {}
    }
    if completes {
        note_completion(&mut state.history, cell);
    }
    advance(instance, state, member, returned);
    Ok(())
}

fn launched(state: &State, member: usize, op: &Op, delivery: Delivery) -> InFlight {
    InFlight {
        member: member as u32,
        cell: op.cell,
        delivery,
        stmt: op.stmt,
        op: match state.history.is_empty() {
            true => 0,
            false => state.counters[member],
        },
    }
}

fn start(instance: &Instance, state: &mut State, member: usize) {
    let layout = &instance.members[member];
    state.counters[member] = 0;
    state.started[layout.role] += 1;
    if layout.ops.is_empty() {
        state.finished[layout.role] += 1;
    }
}

/// Moves a member on after its operation, which returned this value.
fn advance(instance: &Instance, state: &mut State, member: usize, returned: Option<i64>) {
    let layout = &instance.members[member];
    let place = state.counters[member];
    // The caller has checked that there is a successor for this value before it changed anything.
    state.counters[member] = layout.after(place, returned).unwrap_or(place);
    if state.counters[member] as usize == layout.ops.len() {
        state.finished[layout.role] += 1;
    }
}

/// Whether every member has finished. Something may still be in flight.
pub fn is_finished(instance: &Instance, state: &State) -> bool {
    state.finished.iter().sum::<usize>() == instance.members.len()
}

/// Whether nothing can happen although not every member has finished.
pub fn is_stuck(instance: &Instance, state: &State) -> bool {
    !is_finished(instance, state) && enabled(instance, state).is_empty()
}

/// What each member waits for that has started, has not finished and cannot step.
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
