//! Why a member that waits in a stuck state waits in vain.
//!
//! Nothing here knows a shape of protocol. What could end a wait are the operations on its cell
//! that other members still have before them; whether there are any, and whose they are, is read
//! off the programs and the program counters.

use rustc_hash::FxHashMap;

use crate::protocol::Comparison;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Member;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::CellState;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

/// How many members an obstacle lists at most.
pub(super) const LISTED: usize = 64;

/// Why a member does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It waits for an operation on a cell.
    Wait(Op, Vain),
    /// It has not started, and these hold every place; empty where none is missing.
    Place(Vec<usize>),
    /// It has not started, and this one has to start first.
    Turn(usize),
}

/// Why a wait is in vain. At most [`LISTED`] members are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vain {
    /// An exact value that has been passed: who added how much.
    Passed(Vec<(usize, i64)>),
    /// No other member ever does anything that helps.
    Nobody,
    /// All others have done what they do there.
    Done(Vec<usize>),
    /// These would still help, but are stuck themselves.
    Others(Vec<usize>),
}

/// A stuck state and who could still change which cell.
pub struct Obstacles<'i> {
    instance: &'i Instance,
    state: &'i State,
    /// Per cell: the members with a helping operation ahead of them, and those with one at all.
    helpers: FxHashMap<CellId, Helpers>,
}

#[derive(Default)]
struct Helpers {
    ahead: Vec<usize>,
    ever: Vec<usize>,
}

impl<'i> Obstacles<'i> {
    /// Reads off the programs who could still change which cell.
    pub fn new(instance: &'i Instance, state: &'i State) -> Obstacles<'i> {
        let mut helpers: FxHashMap<CellId, Helpers> = FxHashMap::default();
        for (number, member) in instance.members.iter().enumerate() {
            let next = position(state, number);
            for (place, op) in member.ops.iter().enumerate() {
                if !helps(op.kind) {
                    continue;
                }
                let entry = helpers.entry(op.cell).or_default();
                if entry.ever.last() != Some(&number) {
                    entry.ever.push(number);
                }
                // A warp that is registered at a barrier has already arrived there.
                let ahead = place > next || (place == next && !registered(state, number, op));
                if ahead && entry.ahead.last() != Some(&number) {
                    entry.ahead.push(number);
                }
            }
        }
        Obstacles {
            instance,
            state,
            helpers,
        }
    }

    /// Why this member does not go on; `None` when it has finished or can go on.
    pub fn of(&self, member: usize) -> Option<Obstacle> {
        if self.state.counters.get(member) == Some(&NOT_STARTED) {
            return self.unstarted(member);
        }
        if step::can_step(self.instance, self.state, member) {
            return None;
        }
        let op = *step::next_op(self.instance, self.state, member)?;
        Some(Obstacle::Wait(op, self.vain(member, &op)))
    }

    fn unstarted(&self, member: usize) -> Option<Obstacle> {
        if step::can_launch(self.instance, self.state, member) {
            return None;
        }
        let role = self.instance.members[member].role;
        let plan = self.instance.roles[role].launch.as_ref()?;
        let turn = plan.order.as_ref().and_then(|order| {
            let next = *order.get(self.state.started[role])?;
            (next != member).then_some(next)
        });
        if let Some(next) = turn {
            return Some(Obstacle::Turn(next));
        }
        let running = |m: &usize| {
            self.state.counters[*m] != NOT_STARTED
                && position(self.state, *m) < self.instance.members[*m].ops.len()
        };
        let members = self.instance.roles[role].members.clone();
        Some(Obstacle::Place(
            members.filter(running).take(LISTED).collect(),
        ))
    }

    fn vain(&self, member: usize, op: &Op) -> Vain {
        let none = Helpers::default();
        let helpers = self.helpers.get(&op.cell).unwrap_or(&none);
        let others = |list: &[usize]| -> Vec<usize> {
            let others = list.iter().copied().filter(|m| *m != member);
            others.take(LISTED).collect()
        };
        let ahead = others(&helpers.ahead);
        if let (OpKind::Wait(Comparison::Equal, wanted), CellState::Semaphore(now)) =
            (op.kind, &self.state.cells[op.cell.0 as usize])
            && *now > wanted
            && !ahead.iter().any(|m| self.resets(*m, op.cell))
        {
            return Vain::Passed(self.additions(op.cell));
        }
        let ever = others(&helpers.ever);
        match (ahead.is_empty(), ever.is_empty()) {
            (false, _) => Vain::Others(ahead),
            (true, false) => Vain::Done(ever),
            (true, true) => Vain::Nobody,
        }
    }

    /// Whether a member still sets a cell to a value.
    fn resets(&self, member: usize, cell: CellId) -> bool {
        let ops = self.instance.members[member].ops.iter();
        ops.skip(position(self.state, member))
            .any(|op| op.cell == cell && matches!(op.kind, OpKind::Set(_)))
    }

    /// Who has added how much to a cell.
    fn additions(&self, cell: CellId) -> Vec<(usize, i64)> {
        let mut all = Vec::new();
        for (number, member) in self.instance.members.iter().enumerate() {
            let done = member.ops.iter().take(position(self.state, number));
            let sum: i64 = done
                .filter(|op| op.cell == cell)
                .map(|op| match op.kind {
                    OpKind::Add(amount) => amount,
                    _ => 0,
                })
                .fold(0, i64::saturating_add);
            if sum != 0 {
                all.push((number, sum));
            }
        }
        all
    }

    /// Who has set a cell, and to what the last time.
    pub fn setters(&self, cell: CellId) -> Vec<(usize, i64)> {
        let members = self.instance.members.iter().enumerate();
        let last = |(number, member): (usize, &Member)| {
            let done = member.ops.iter().take(position(self.state, number));
            let set = done.filter(|op| op.cell == cell);
            let mut values = set.filter_map(|op| match op.kind {
                OpKind::Set(value) => Some(value),
                _ => None,
            });
            Some((number, values.next_back()?))
        };
        members.filter_map(last).collect()
    }

    /// The value of a semaphore before anything ran.
    pub fn start(&self, cell: CellId) -> Option<i64> {
        match self.instance.cells.get(cell.0 as usize) {
            Some(CellStart::Semaphore(value)) => Some(*value),
            _ => None,
        }
    }

    /// The instance.
    pub fn instance(&self) -> &'i Instance {
        self.instance
    }

    /// The stuck state.
    pub fn state(&self) -> &'i State {
        self.state
    }
}

/// How many operations a member has done.
pub fn position(state: &State, member: usize) -> usize {
    match state.counters.get(member) {
        Some(&NOT_STARTED) | None => 0,
        Some(&done) => done as usize,
    }
}

/// Whether an operation can end somebody else's wait on its cell.
fn helps(kind: OpKind) -> bool {
    match kind {
        OpKind::Add(amount) => amount != 0,
        OpKind::Release(amount) => amount != 0,
        OpKind::CompleteTx(bytes) | OpKind::Copy(bytes) => bytes != 0,
        OpKind::Set(_)
        | OpKind::Arrive(_)
        | OpKind::Sync(_)
        | OpKind::BarArrive(_)
        | OpKind::Commit
        | OpKind::Init
        | OpKind::BarrierArrive => true,
        OpKind::Wait(..)
        | OpKind::WaitParity(_)
        | OpKind::ExpectTx(_)
        | OpKind::BarrierWait
        | OpKind::Acquire(_) => false,
    }
}

fn registered(state: &State, member: usize, op: &Op) -> bool {
    match (op.kind, &state.cells[op.cell.0 as usize]) {
        (OpKind::Sync(_), CellState::Named { registered, .. }) => {
            registered.iter().any(|r| r.member as usize == member)
        }
        _ => false,
    }
}
