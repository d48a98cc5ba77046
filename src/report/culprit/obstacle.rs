//! Finds out why a member of a stuck state waits in vain.
//!
//! Only operations on the cell of a wait can end the wait. So this code collects the operations on this cell that
//! other members have still to execute, from the programs and the program counters. It does not depend on known
//! patterns of protocols.

use rustc_hash::FxHashMap;

use crate::protocol::Comparison;
use crate::protocol::StmtId;
use crate::semantics::instance::CellId;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Fetch;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Member;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::CellState;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;

use super::history::History;

/// How many members an obstacle lists at most.
pub const LISTED: usize = 64;

/// Why a member does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It waits for an operation on a cell.
    Wait(Op, Vain),
    /// It has not started. These members hold every place; empty if a place is free.
    Place(Vec<usize>),
    /// It has not started, and this member has to start first.
    Turn(usize),
}

/// Why a wait is in vain. At most [`LISTED`] members are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vain {
    /// The exact value has been passed. These members added these amounts.
    Passed(Vec<(usize, i64)>),
    /// The barrier has completed the phase that is waited for, and the next one, too.
    Lapped(Lapped),
    /// Every arrival came, and this many bytes are missing that nobody delivers.
    Bytes(i64),
    /// Every arrival came, and this many bytes more than expected.
    Surplus(i64),
    /// All remaining operations of the others are not enough.
    Short,
    /// These members could still help, but are stuck themselves.
    Others(Vec<usize>),
}

/// A wait for a phase that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lapped {
    /// The phase that is waited for, from 0; -1 is the one before the first.
    pub awaited: i64,
    /// How many phases have completed.
    pub completed: i64,
}

/// A stuck state, how the run led to it, and who could still change which cell.
pub struct Obstacles<'i> {
    instance: &'i Instance,
    state: &'i State,
    history: History,
    /// Per cell: the operations of members that can end a wait there.
    helpers: FxHashMap<CellId, Vec<Helper>>,
}

/// The operations of a member on a cell that can end a wait of another member there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Helper {
    /// The member.
    pub member: usize,
    /// The number of arrivals in its whole program, or how much the program adds or gives back.
    pub planned: i64,
    /// The part of `planned` that is still to come.
    pub ahead: i64,
    /// How many bytes are still to come.
    pub bytes: i64,
    /// Whether an initialisation is still to come.
    pub initialises: bool,
    /// The values that it still sets, each once.
    pub sets: Vec<i64>,
}

impl<'i> Obstacles<'i> {
    /// Collects from the programs which members could still change which cell.
    pub fn new(instance: &'i Instance, state: &'i State, schedule: &[Action]) -> Obstacles<'i> {
        let mut helpers: FxHashMap<CellId, Vec<Helper>> = FxHashMap::default();
        for (number, member) in instance.members.iter().enumerate() {
            let next = position(state, number);
            for (place, op) in member.ops.iter().enumerate() {
                let Some(help) = help(op.kind) else {
                    continue;
                };
                let all = helpers.entry(op.cell).or_default();
                if all.last().is_none_or(|last| last.member != number) {
                    all.push(Helper {
                        member: number,
                        ..Helper::default()
                    });
                }
                let Some(own) = all.last_mut() else { continue };
                own.planned = own.planned.saturating_add(help.amount);
                // A warp that is blocked at a barrier has already arrived there.
                let is_ahead = place > next || (place == next && !registered(state, number, op));
                if is_ahead {
                    own.ahead = own.ahead.saturating_add(help.amount);
                    own.bytes = own.bytes.saturating_add(help.bytes);
                    own.initialises |= help.initialises;
                    own.sets
                        .extend(help.sets.filter(|value| !own.sets.contains(value)));
                }
            }
        }
        Obstacles {
            instance,
            state,
            history: History::of(instance, schedule),
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
        let cell = &self.state.cells[op.cell.0 as usize];
        let others = || self.helpers(op.cell).iter().filter(|h| h.member != member);
        let sum = |amount: fn(&Helper) -> i64| {
            others().fold(0, |sum: i64, helper| sum.saturating_add(amount(helper)))
        };
        let uninitialized = *cell == CellState::Uninitialized;
        let added = sum(|h| h.ahead);
        // A value that is set ends a wait by itself, or together with additions of other members.
        let sets = |helper: &Helper| {
            helper.sets.iter().any(|value| match op.kind {
                OpKind::Wait(Comparison::AtLeast, wanted) => value.saturating_add(added) >= wanted,
                OpKind::Wait(Comparison::Equal, wanted)
                | OpKind::WaitSwap {
                    expected: wanted, ..
                } => *value == wanted || (*value < wanted && value.saturating_add(added) >= wanted),
                _ => true,
            })
        };
        let useful = |helper: &Helper| match cell {
            CellState::Uninitialized => helper.initialises,
            CellState::Mbarrier { pending: 0, .. } => helper.bytes != 0,
            _ => helper.ahead != 0 || sets(helper),
        };
        let is_set = others().any(sets);
        let enough = match (op.kind, cell) {
            (
                OpKind::Wait(Comparison::Equal, wanted)
                | OpKind::WaitSwap {
                    expected: wanted, ..
                },
                CellState::Semaphore(now),
            ) if *now > wanted && !is_set => {
                return Vain::Passed(self.additions(op.cell));
            }
            (
                OpKind::Wait(_, wanted)
                | OpKind::WaitSwap {
                    expected: wanted, ..
                },
                CellState::Semaphore(now),
            ) => is_set || (*now <= wanted && now.saturating_add(added) >= wanted),
            (OpKind::WaitParity(_), CellState::Mbarrier { pending, tx, .. }) => {
                if let Some(lapped) = self.lapped(member, op) {
                    return Vain::Lapped(lapped);
                }
                if *pending == 0 && *tx < 0 {
                    return Vain::Surplus(tx.saturating_neg());
                }
                if *pending == 0 && sum(|h| h.bytes) < *tx {
                    return Vain::Bytes(*tx);
                }
                sum(|h| h.ahead) >= *pending
            }
            (OpKind::Sync(_), CellState::Named { count, registered }) => {
                sum(|h| h.ahead) >= count / 32 - registered.len() as i64
            }
            (OpKind::BarrierWait, CellState::Barrier { pending, .. }) => {
                sum(|h| h.ahead) >= *pending
            }
            (OpKind::Acquire(amount), CellState::Pool { available }) => {
                available.saturating_add(sum(|h| h.ahead)) >= amount
            }
            _ => uninitialized && others().any(|helper| helper.initialises),
        };
        if !enough {
            return Vain::Short;
        }
        // A member that was counted in this phase is not the missing one, unless there is no other.
        let counted = self.history.open(op.cell);
        let counted = |helper: &&Helper| counted.is_some_and(|c| c.arrivals(helper.member) > 0);
        let left: Vec<&Helper> = others().filter(|helper| useful(helper)).collect();
        let missing: Vec<usize> = left
            .iter()
            .filter(|helper| !counted(helper))
            .map(|helper| helper.member)
            .take(LISTED)
            .collect();
        if !missing.is_empty() {
            return Vain::Others(missing);
        }
        let all: Vec<usize> = left.iter().map(|h| h.member).take(LISTED).collect();
        match all.is_empty() {
            true => Vain::Short,
            false => Vain::Others(all),
        }
    }

    /// Whether the phase that a member waits for is over, if the parities of its waits determine this phase. They do
    /// if each parity differs from the one before it.
    fn lapped(&self, member: usize, op: &Op) -> Option<Lapped> {
        let ops = &self.instance.members[member].ops;
        let waits = ops.iter().take(position(self.state, member) + 1);
        let parities = waits.filter_map(|o| match o.kind {
            OpKind::WaitParity(parity) if o.cell == op.cell => Some(parity),
            _ => None,
        });
        let mut awaited: Option<(i64, bool)> = None;
        for parity in parities {
            awaited = Some(match awaited {
                None => (if parity { -1 } else { 0 }, parity),
                Some((phase, last)) if last != parity => (phase + 1, parity),
                Some(_) => return None,
            });
        }
        let (awaited, _) = awaited?;
        let completed = self.history.completed(op.cell) as i64;
        (completed >= awaited + 2).then_some(Lapped { awaited, completed })
    }

    /// The operations of members on a cell that can end a wait of another member there, ascending by member.
    pub fn helpers(&self, cell: CellId) -> &[Helper] {
        self.helpers.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// The history of the run.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The members that have added to a cell, and how much.
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

    /// The members that have set a cell, the value, and the statement, for the last time each.
    pub fn setters(&self, cell: CellId) -> Vec<(usize, i64, StmtId)> {
        let members = self.instance.members.iter().enumerate();
        let last = |(number, member): (usize, &Member)| {
            let done = member.ops.iter().take(position(self.state, number));
            let set = done.filter(|op| op.cell == cell);
            let mut values = set.filter_map(|op| match op.kind {
                OpKind::Set(value)
                | OpKind::Fetch(Fetch::Exchange(value))
                | OpKind::WaitSwap { new: value, .. } => Some((value, op.stmt)),
                _ => None,
            });
            let (value, stmt) = values.next_back()?;
            Some((number, value, stmt))
        };
        members.filter_map(last).collect()
    }

    /// How the element of a wait changes: whether some member adds to it, and whether some member sets it.
    pub fn changes(&self, cell: CellId) -> (bool, bool) {
        let members = self.instance.members.iter();
        let kinds = members
            .flat_map(|member| &member.ops)
            .filter(|op| {
                self.instance.cell_place(op.cell).map(|(object, _)| object)
                    == self.instance.cell_place(cell).map(|(object, _)| object)
            })
            .filter_map(|op| help(op.kind));
        kinds.fold((false, false), |(adds, sets), help| {
            (adds || help.amount != 0, sets || help.sets.is_some())
        })
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

/// How many operations a member has done. Its program has no branches.
pub fn position(state: &State, member: usize) -> usize {
    match state.counters.get(member) {
        Some(&NOT_STARTED) | None => 0,
        Some(&done) => done as usize,
    }
}

/// How an operation can end a wait of another member on its cell.
#[derive(Default)]
struct Help {
    /// The number of arrivals, or the amount that it adds or gives back.
    amount: i64,
    bytes: i64,
    initialises: bool,
    /// The value that it sets.
    sets: Option<i64>,
}

impl Help {
    fn amount(amount: i64) -> Self {
        Help {
            amount,
            ..Help::default()
        }
    }

    fn sets(value: i64) -> Self {
        Help {
            sets: Some(value),
            ..Help::default()
        }
    }
}

fn help(kind: OpKind) -> Option<Help> {
    match kind {
        OpKind::Add(amount) | OpKind::Release(amount) | OpKind::Fetch(Fetch::Add(amount)) => {
            Some(Help::amount(amount))
        }
        OpKind::CompleteTx(bytes) | OpKind::Copy(bytes) => Some(Help {
            bytes,
            ..Help::default()
        }),
        OpKind::Set(value)
        | OpKind::Fetch(Fetch::Exchange(value) | Fetch::Swap { new: value, .. })
        | OpKind::WaitSwap { new: value, .. } => Some(Help::sets(value)),
        OpKind::Init => Some(Help {
            initialises: true,
            ..Help::default()
        }),
        OpKind::Arrive(count) => Some(Help::amount(count)),
        OpKind::Sync(_) | OpKind::BarArrive(_) | OpKind::Commit | OpKind::BarrierArrive => {
            Some(Help::amount(1))
        }
        OpKind::Wait(..)
        | OpKind::NotDefined
        | OpKind::Touch(_)
        | OpKind::WaitParity(_)
        | OpKind::ExpectTx(_)
        | OpKind::BarrierWait
        | OpKind::Acquire(_) => None,
    }
}

fn registered(state: &State, member: usize, op: &Op) -> bool {
    match (op.kind, &state.cells[op.cell.0 as usize]) {
        (OpKind::Sync(_), CellState::Named { registered, .. }) => {
            let mut own = registered.iter().filter(|r| r.member as usize == member);
            own.any(|r| r.blocked)
        }
        _ => false,
    }
}
