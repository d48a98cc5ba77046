//! Runs an instance along one schedule to its end, fast: for concrete tensors with millions of operations.
//!
//! A member runs until it blocks. Then it is put into a list that is keyed by the value that would let it pass. So
//! after an operation only those members are looked at that the operation may wake. Every action goes through
//! [`step::apply`]. So this is a run like any other, and only the choice of the next action differs from
//! [`super::simulate`]. If the outcome depends on the schedule, this run has one of the possible outcomes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::protocol::Comparison;

use super::instance::CellId;
use super::instance::Instance;
use super::instance::Op;
use super::instance::OpKind;
use super::simulate::RunEnd;
use super::step;
use super::step::Action;
use super::step::CellState;
use super::step::State;
use super::step::StepError;

/// A run that continued until nothing could happen any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GreedyRun {
    /// How it ended: finished, stuck, or at a violation.
    pub end: RunEnd,
    /// The state it led to.
    pub state: State,
    /// How many actions it took.
    pub steps: u64,
}

/// Runs an instance until nothing can happen; `trace`, where given, receives every action.
pub fn run_greedy(instance: &Instance, trace: Option<&mut Vec<Action>>) -> GreedyRun {
    let mut driver = Driver {
        instance,
        state: step::initial(instance),
        ready: Vec::new(),
        waiters: Waiters::default(),
        trace,
        steps: 0,
    };
    let end = match driver.drive() {
        Err(StepError::Violation(violation)) => RunEnd::Violation(violation),
        Err(StepError::NotEnabled(action)) => RunEnd::NotEnabled(action),
        Ok(()) if step::is_finished(instance, &driver.state) => RunEnd::Finished,
        Ok(()) => RunEnd::Stuck,
    };
    GreedyRun {
        end,
        state: driver.state,
        steps: driver.steps,
    }
}

struct Driver<'a> {
    instance: &'a Instance,
    state: State,
    /// Members that may be able to step.
    ready: Vec<usize>,
    waiters: Waiters,
    trace: Option<&'a mut Vec<Action>>,
    steps: u64,
}

impl Driver<'_> {
    fn drive(&mut self) -> Result<(), StepError> {
        for (position, role) in self.instance.roles.iter().enumerate() {
            match role.launch {
                None => self.ready.extend(role.members.clone().rev()),
                Some(_) => self.launch(position)?,
            }
        }
        while let Some(member) = self.ready.pop() {
            while step::can_step(self.instance, &self.state, member) {
                self.step(member)?;
            }
            match step::next_op(self.instance, &self.state, member) {
                Some(op) => self.waiters.add(member, op),
                None => self.launch(self.instance.members[member].role)?,
            }
        }
        Ok(())
    }

    fn step(&mut self, member: usize) -> Result<(), StepError> {
        let op = step::next_op(self.instance, &self.state, member).copied();
        self.apply(Action::Step(member))?;
        if let Some(op) = op {
            // A copy or commit lands at once.
            while step::in_flight(&self.state, member, 0).is_some() {
                self.apply(Action::Land(member, 0))?;
            }
            let cell = &self.state.cells[op.cell.0 as usize];
            self.waiters.wake(&op, cell, &mut self.ready);
        }
        Ok(())
    }

    /// Starts as many members of a role as may start.
    fn launch(&mut self, role: usize) -> Result<(), StepError> {
        let layout = &self.instance.roles[role];
        let order = layout.launch.as_ref().and_then(|plan| plan.order.as_ref());
        while self.state.started[role] < layout.members.len() {
            let next = self.state.started[role];
            let member = order.map_or(layout.members.start + next, |order| order[next]);
            if !step::can_launch(self.instance, &self.state, member) {
                break;
            }
            self.apply(Action::Launch(member))?;
            self.ready.push(member);
        }
        Ok(())
    }

    fn apply(&mut self, action: Action) -> Result<(), StepError> {
        step::apply(self.instance, &mut self.state, action)?;
        self.steps += 1;
        if let Some(trace) = &mut self.trace {
            trace.push(action);
        }
        Ok(())
    }
}

/// The blocked members, keyed by what would let them pass.
#[derive(Default)]
struct Waiters {
    /// Keyed by the semaphore value or phase bit at which the wait passes.
    exact: FxHashMap<(CellId, i64), Vec<usize>>,
    /// Keyed by the least semaphore value, or the least amount in a pool, at which the operation passes.
    least: FxHashMap<CellId, BTreeMap<i64, Vec<usize>>>,
    /// Blocked until the open generation of a named or split-phase barrier completes.
    generation: FxHashMap<CellId, Vec<usize>>,
}

impl Waiters {
    fn add(&mut self, member: usize, op: &Op) {
        let list = match op.kind {
            OpKind::Wait(Comparison::AtLeast, value) | OpKind::Acquire(value) => self
                .least
                .entry(op.cell)
                .or_default()
                .entry(value)
                .or_default(),
            OpKind::Wait(Comparison::Equal, value)
            | OpKind::WaitSwap {
                expected: value, ..
            } => self.exact.entry((op.cell, value)).or_default(),
            OpKind::WaitParity(parity) => {
                self.exact.entry((op.cell, i64::from(!parity))).or_default()
            }
            _ => self.generation.entry(op.cell).or_default(),
        };
        list.push(member);
    }

    /// Moves every member to `ready` that may pass now that `op` has changed its cell to this value.
    fn wake(&mut self, op: &Op, cell: &CellState, ready: &mut Vec<usize>) {
        match (op.kind, cell) {
            (
                OpKind::Add(_) | OpKind::Set(_) | OpKind::Fetch(_) | OpKind::WaitSwap { .. },
                CellState::Semaphore(value),
            ) => {
                ready.extend(self.exact.remove(&(op.cell, *value)).into_iter().flatten());
                self.wake_up_to(op.cell, *value, ready);
            }
            (OpKind::WaitParity(_), _) => {}
            (_, CellState::Mbarrier { phase, .. }) => {
                let key = (op.cell, i64::from(*phase));
                ready.extend(self.exact.remove(&key).into_iter().flatten());
            }
            (OpKind::Release(_), CellState::Pool { available }) => {
                self.wake_up_to(op.cell, *available, ready);
            }
            (OpKind::BarrierArrive, CellState::Barrier { arrived, .. }) if arrived.is_empty() => {
                ready.extend(self.generation.remove(&op.cell).into_iter().flatten());
            }
            (_, CellState::Named { registered, .. }) if registered.is_empty() => {
                ready.extend(self.generation.remove(&op.cell).into_iter().flatten());
            }
            _ => {}
        }
    }

    /// Moves every member to `ready` that needs at most this value of a cell.
    fn wake_up_to(&mut self, cell: CellId, value: i64, ready: &mut Vec<usize>) {
        if let Some(waiting) = self.least.get_mut(&cell) {
            while let Some(first) = waiting.first_entry().filter(|e| *e.key() <= value) {
                ready.extend(first.remove());
            }
        }
    }
}
