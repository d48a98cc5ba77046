//! States of an instance, and the results of a step.

use thiserror::Error;

use crate::protocol::StmtId;

use super::instance::CellId;
use super::instance::Op;

/// The program counter of a member that has not started.
pub const NOT_STARTED: u32 = u32::MAX;

/// A state of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Per member: the place of its next operation in its program, or [`NOT_STARTED`]. In a program without branches,
    /// this is the number of operations that the member has done.
    pub counters: Vec<u32>,
    /// Per cell: its value.
    pub cells: Vec<CellState>,
    /// Per role: how many members have started.
    pub started: Vec<usize>,
    /// Per role: how many members have finished.
    pub finished: Vec<usize>,
    /// The copies and commits that were started and have not landed, ascending by member. Those of one member stand
    /// in the order in which they were started, with one exception: the order of copies between two commits means
    /// nothing, so these are sorted.
    pub in_flight: Vec<InFlight>,
    /// Per cell: how many phases or generations have completed. Empty if history is not kept. What may happen next
    /// does not depend on the history.
    pub history: Vec<u32>,
}

/// An asynchronous operation that was started and has not landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InFlight {
    /// The member that started it.
    pub member: u32,
    /// The mbarrier it lands on.
    pub cell: CellId,
    /// What lands.
    pub delivery: Delivery,
    /// The statement that started it.
    pub stmt: StmtId,
    /// The operation of its member that started it; 0 where history is not kept.
    pub op: u32,
}

/// What an asynchronous operation brings to its mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Delivery {
    /// So many bytes (a copy).
    Bytes(i64),
    /// One arrival, after everything its member started before (a commit).
    Arrival,
}

/// The value of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CellState {
    /// A semaphore's value.
    Semaphore(i64),
    /// An mbarrier.
    Mbarrier {
        /// Arrivals missing in this phase; 0 only while `tx` is not 0.
        pending: i64,
        /// The phase bit.
        phase: bool,
        /// Bytes expected and not delivered in this phase; negative where more were delivered.
        tx: i64,
    },
    /// A named barrier.
    Named {
        /// Threads that complete the open generation; 0 when none is open.
        count: i64,
        /// The members that registered in the open generation, ascending. A member occurs as often as it registered.
        registered: Vec<Registration>,
    },
    /// An mbarrier that is not initialised yet.
    Uninitialized,
    /// A split-phase barrier.
    Barrier {
        /// Arrivals missing in the open generation, at least 1.
        pending: i64,
        /// The members that arrived in the open generation, ascending.
        arrived: Vec<u32>,
        /// The members whose generation has completed and that have not waited since, ascending.
        released: Vec<u32>,
    },
    /// A pool.
    Pool {
        /// How much of it is available.
        available: i64,
    },
}

/// A part of the state of a cell. Two of them show whether one action has completed a phase or generation, see
/// [`Progress::completed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    phase: bool,
    came: usize,
}

impl CellState {
    /// The part of this state that shows completions.
    pub fn progress(&self) -> Progress {
        let (phase, came) = match self {
            CellState::Mbarrier { phase, .. } => (*phase, 0),
            CellState::Named { registered, .. } => (false, registered.len()),
            CellState::Barrier { arrived, .. } => (false, arrived.len()),
            CellState::Uninitialized | CellState::Semaphore(_) | CellState::Pool { .. } => {
                (false, 0)
            }
        };
        Progress { phase, came }
    }
}

impl Progress {
    /// Whether one action that led from `self` to `now` completed a phase or generation. A generation of a single
    /// registration or arrival is not noticed.
    pub fn completed(self, now: Progress) -> bool {
        self.phase != now.phase || now.came < self.came
    }
}

/// A registration of a part of a warp in the open generation of a named barrier. If several parts of one warp are
/// registered, only the last one blocks.
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
    /// The asynchronous operation at this position among those of this member lands; see [`State::in_flight`].
    Land(usize, usize),
}

impl Action {
    /// Who acts.
    pub fn member(self) -> usize {
        match self {
            Action::Launch(member) | Action::Step(member) | Action::Land(member, _) => member,
        }
    }
}

/// Why an action did not lead to a state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StepError {
    /// The action cannot happen in this state.
    #[error("not enabled: {0:?}")]
    NotEnabled(Action),
    /// The effect of the action is undefined.
    #[error("{0}")]
    Violation(Violation),
}

/// An operation whose effect is undefined.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct Violation {
    /// What is undefined about it.
    pub kind: ViolationKind,
    /// The member that does the operation.
    pub member: usize,
    /// The statement.
    pub stmt: StmtId,
    /// The cell.
    pub cell: CellId,
}

/// The ways in which the effect of an operation can be undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum ViolationKind {
    /// More arrivals than the phase had pending.
    #[error("{count} arrival{} where {pending} {} pending", if *count == 1 { "" } else { "s" }, if *pending == 1 { "is" } else { "are" })]
    OverArrival {
        /// How many arrive.
        count: i64,
        /// How many are missing.
        pending: i64,
    },
    /// A thread count that differs from the open generation's.
    #[error("{count} threads named where the open generation has {open}")]
    CountMismatch {
        /// The thread count that the operation names.
        count: i64,
        /// The thread count of the open generation.
        open: i64,
    },
    /// A member arrives at a split-phase barrier and has not waited since its last arrival.
    #[error("a second arrival without a wait in between")]
    ArrivedTwice,
    /// A member waits at a split-phase barrier and has not arrived since its last wait.
    #[error("a wait without an arrival before it")]
    WaitWithoutArrival,
    /// An mbarrier is initialised that is initialised already.
    #[error("a second initialisation")]
    Reinitialized,
    /// More is given back to a pool than was taken.
    #[error("{amount} given back where {taken} are taken")]
    OverRelease {
        /// How much is given back.
        amount: i64,
        /// How much is taken.
        taken: i64,
    },
    /// The byte count of an mbarrier leaves 64 bits.
    #[error("the byte count overflows")]
    TxOverflow,
    /// The code after an atomic operation is undefined at the value that the operation returned.
    #[error("what it does next is not defined at the value that an atomic operation returned")]
    NotDefined,
    /// An atomic operation returned a value that was not foreseen: a mistake in this program.
    #[error("the value {0} of a semaphore was not foreseen")]
    Unforeseen(i64),
    /// The value of a semaphore leaves 64 bits.
    #[error("the semaphore overflows")]
    SemaphoreOverflow,
}

/// What a member waits for that has started and not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The member.
    pub member: usize,
    /// Its next operation.
    pub op: Op,
    /// The value of the operation's cell.
    pub cell: CellState,
}
