//! States of an instance and what can be said about a step between them.

use thiserror::Error;

use crate::protocol::StmtId;

use super::instance::CellId;
use super::instance::Op;

/// The program counter of a member that has not started.
pub const NOT_STARTED: u32 = u32::MAX;

/// A state of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Per member: how many operations it has done, or [`NOT_STARTED`].
    pub counters: Vec<u32>,
    /// Per cell: its value.
    pub cells: Vec<CellState>,
    /// Per role: how many members have started.
    pub started: Vec<usize>,
    /// Per role: how many members have finished.
    pub finished: Vec<usize>,
}

/// The value of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CellState {
    /// A semaphore's value.
    Semaphore(i64),
    /// An mbarrier.
    Mbarrier {
        /// Arrivals missing in this phase, at least 1.
        pending: i64,
        /// The phase bit.
        phase: bool,
    },
    /// A named barrier.
    Named {
        /// Threads that complete the open generation; 0 when none is open.
        count: i64,
        /// Who registered in it, ascending by member.
        registered: Vec<Registration>,
    },
}

/// A warp's part in the open generation of a named barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Registration {
    /// The member.
    pub member: u32,
    /// Whether it blocks until the generation completes.
    pub blocked: bool,
}

/// Something that can happen next, by member position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// This member starts.
    Launch(usize),
    /// This member does its next operation.
    Step(usize),
}

impl Action {
    /// Who acts.
    pub fn member(self) -> usize {
        match self {
            Action::Launch(member) | Action::Step(member) => member,
        }
    }
}

/// Why an action did not lead to a state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StepError {
    /// The action cannot happen in this state.
    #[error("not enabled: {0:?}")]
    NotEnabled(Action),
    /// What it does is undefined.
    #[error("{0}")]
    Violation(Violation),
}

/// An operation whose effect is undefined.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct Violation {
    /// What is undefined about it.
    pub kind: ViolationKind,
    /// Whose operation.
    pub member: usize,
    /// The statement.
    pub stmt: StmtId,
    /// The cell.
    pub cell: CellId,
}

/// The ways for an operation to be undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum ViolationKind {
    /// More arrivals than the phase had pending.
    #[error("{count} arrivals where {pending} are pending")]
    OverArrival {
        /// How many arrive.
        count: i64,
        /// How many are missing.
        pending: i64,
    },
    /// A thread count that differs from the open generation's.
    #[error("{count} threads named where the open generation has {open}")]
    CountMismatch {
        /// The count named.
        count: i64,
        /// The generation's.
        open: i64,
    },
    /// A warp registers twice in one generation.
    #[error("a second registration of one warp in one generation")]
    RegisteredTwice,
    /// A semaphore leaves 64 bits.
    #[error("the semaphore overflows")]
    SemaphoreOverflow,
}

/// What an unfinished, started member waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The member.
    pub member: usize,
    /// Its next operation.
    pub op: Op,
    /// The value of the operation's cell.
    pub cell: CellState,
}
