//! The protocol: the meaning of a `.wlk` file once every name is resolved and every type is checked.
//!
//! The interpreter, the encoders, the proof search, the certificate checker and the reports all read this one
//! structure. It contains source spans, so that each of them can refer to the text. It contains nothing about how a
//! property is decided.

// What a protocol means is exact: no number wraps or saturates.
#![deny(clippy::arithmetic_side_effects)]
#![deny(clippy::disallowed_methods)]

mod atomic;
mod domain;
mod expr;
mod memory;
mod property;
mod statement;
mod tightened;

pub use atomic::ATOMIC;
pub use atomic::AtomicUpdate;
pub use atomic::COMPARE_AND_SWAP;
pub use atomic::EXCHANGE;
pub use atomic::FETCH_ADD;
pub use atomic::first;
pub use atomic::has_result;
pub use expr::BinaryOp;
pub use expr::Expr;
pub use expr::ParamId;
pub use expr::VarId;
pub use memory::Fence;
pub use memory::MemoryOrder;
pub use memory::Place;
pub use memory::Qualifiers;
pub use memory::Scope;
pub use property::Property;

/// A half-open byte range of the protocol's source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset one past the last byte.
    pub end: usize,
}

/// A pattern, by its position in [`Protocol::patterns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub usize);

/// A synchronization object, by its position in [`Protocol::objects`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub usize);

/// A buffer, by its position in [`Protocol::buffers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub usize);

/// A statement, numbered in text order over all roles, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StmtId(pub usize);

/// A complete protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Protocol {
    /// The name after `protocol`.
    pub name: String,
    /// The source text, for spans and for the digest in certificates.
    pub source: String,
    /// Parameters in declaration order.
    pub params: Vec<Param>,
    /// Assumptions of the file, then those given on the command line.
    pub assumptions: Vec<Assumption>,
    /// Every bound name of the protocol.
    pub vars: Vec<Var>,
    /// Block-sparse patterns.
    pub patterns: Vec<Pattern>,
    /// Semaphores, barriers and pools.
    pub objects: Vec<Object>,
    /// Declared data.
    pub buffers: Vec<Buffer>,
    /// Claims about every state.
    pub invariants: Vec<Invariant>,
    /// Claims about every run, and their places.
    pub progress: Vec<(Progress, Span)>,
    /// The concurrent programs.
    pub roles: Vec<Role>,
    /// The verdicts that the file expects.
    pub expectations: Vec<Expectation>,
    /// How many [`StmtId`]s are in use.
    pub stmt_count: usize,
}

/// How a comment line begins that states an assumption of the text in words.
pub const ASSUMED: &str = "//! Assumed:";

impl Protocol {
    /// The assumptions that the comments at the head of the text state, in words.
    pub fn assumed(&self) -> impl Iterator<Item = &str> {
        let head = self.source.lines().map(str::trim);
        let head = head.take_while(|line| line.is_empty() || line.starts_with("//"));
        head.filter_map(|line| Some(line.strip_prefix(ASSUMED)?.trim()))
            .filter(|words| !words.is_empty())
    }

    /// Whether some memory is not cleared. Then a search that tries a few initial values has not tried all of them.
    pub fn has_open_starts(&self) -> bool {
        let open = ObjectKind::Semaphore(Initial::Any);
        self.objects.iter().any(|object| object.kind == open)
    }
}

/// A parameter and the values it ranges over.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name; unique in the protocol.
    pub name: String,
    /// The values.
    pub domain: Domain,
    /// Where it is declared.
    pub span: Span,
}

/// The declared values of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// `lo..`: every integer from `lo` on.
    AtLeast(i64),
    /// `lo..=hi`, both included.
    Range(i64, i64),
    /// `{a, b, c}`, ascending and without repeats.
    Set(Vec<i64>),
}

/// A condition that narrows the domain.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumption {
    /// A truth value over parameters only.
    pub condition: Expr,
    /// As the user wrote it; printed with every verdict.
    pub text: String,
    /// Where; `None` for one given on the command line.
    pub span: Option<Span>,
}

/// A bound name.
#[derive(Debug, Clone, PartialEq)]
pub struct Var {
    /// As written; not unique.
    pub name: String,
    /// Where it is bound.
    pub span: Span,
}

/// A relation over tile coordinates: which tiles are visited.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// How many values each coordinate takes, over parameters only; at least two coordinates.
    pub extents: Vec<Expr>,
    /// `None`: any relation, an input. Otherwise the names of the coordinates and the
    /// condition that defines it.
    pub definition: Option<(Vec<VarId>, Expr)>,
    /// Where it is declared.
    pub span: Span,
}

/// A family of synchronization objects of one kind, indexed like an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Extent of each index, over parameters only; empty for a single object.
    pub extents: Vec<Expr>,
    /// What kind it is.
    pub kind: ObjectKind,
    /// Where its elements are, if that is said: mbarriers belong to a CTA.
    pub home: Option<Home>,
    /// Where it is declared.
    pub span: Span,
}

/// A family of data buffers, indexed like an array. It has no effect on synchronization.
#[derive(Debug, Clone, PartialEq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Extent of each index, over parameters only; empty for a single buffer.
    pub extents: Vec<Expr>,
    /// Whether it is tensor memory, which no proxy fence is about.
    pub tensor: bool,
    /// Whether the text omits what orders accesses to it in memory: fences, memory orders and scopes.
    pub unordered: bool,
    /// Whether it exists only while something taken from a pool makes room for it.
    pub backed: bool,
    /// Where it is declared.
    pub span: Span,
}

/// The kinds of synchronization objects.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectKind {
    /// A counter in global memory. The payload is its value at the start.
    Semaphore(Initial),
    /// An mbarrier that completes a phase after this many arrivals.
    Mbarrier {
        /// Expected arrivals per phase, over parameters only.
        arrivals: Expr,
        /// Whether it does not exist before a statement initialises it.
        explicit_init: bool,
    },
    /// One of a CTA's named barriers; the count is given at each use.
    Named,
    /// A barrier with separate arrival and wait that counts members: of a CTA, a cluster or a
    /// grid.
    Barrier {
        /// Arrivals that complete a generation, over parameters only.
        arrivals: Expr,
    },
    /// Something that runs out: registers, columns of tensor memory.
    Pool {
        /// How much there is of it, over parameters only.
        capacity: Expr,
        /// Whether all of it has to be given back before the end.
        returned: bool,
    },
}

/// The value of a semaphore before the grid starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Initial {
    /// This value, over parameters only.
    Value(Expr),
    /// Memory that was not cleared: each element may have any value from 0 on. The values are a part of the input.
    Any,
}

/// A family of identical programs, one per combination of index values.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// The indices, outermost first. An extent may use parameters only.
    pub indices: Vec<Index>,
    /// How its members start. `None`: all run from the beginning (threads or warps of a CTA).
    pub launch: Option<Launch>,
    /// Where its members run.
    pub place: Place,
    /// The program.
    pub body: Vec<Stmt>,
    /// Where it is declared (its header).
    pub span: Span,
}

/// An index of a role: `name in 0..extent`.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// The bound name.
    pub var: VarId,
    /// How many values it takes; none when this is 0 or less.
    pub extent: Expr,
}

/// How the CTAs of a grid get onto the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// In which order they start.
    pub order: LaunchOrder,
    /// How many may be resident at once: started and not finished.
    pub resident: Resident,
}

/// The order in which CTAs start.
#[derive(Debug, Clone, PartialEq)]
pub enum LaunchOrder {
    /// Lexicographic over these keys, the most significant first. Every index of the role
    /// appears once.
    Sorted(Vec<LaunchKey>),
    /// Any order at all: whichever CTA the machine picks next.
    Any,
}

/// One key of a launch order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchKey {
    /// Position in [`Role::indices`].
    pub index: usize,
    /// Whether larger values start first.
    pub descending: bool,
}

/// How many CTAs may be resident at once.
#[derive(Debug, Clone, PartialEq)]
pub enum Resident {
    /// At most this many (at least 1), over parameters only.
    AtMost(Expr),
    /// The machine holds the whole grid.
    All,
}

/// A statement and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Stmt {
    /// Its number.
    pub id: StmtId,
    /// Where it stands; for a compound statement, its header.
    pub span: Span,
    /// Its memory order and scope, if the text states them.
    pub memory: Qualifiers,
    /// What it does.
    pub kind: StmtKind,
}

/// One element of an object family.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The family.
    pub object: ObjectId,
    /// One expression per extent.
    pub index: Vec<Expr>,
}

/// How a semaphore wait compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Passes only at the very value: an overshoot never returns.
    Equal,
    /// Passes from the value on.
    AtLeast,
}

/// The statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StmtKind {
    /// Blocks until the semaphore compares so with the value.
    Wait {
        /// The semaphore.
        cell: Cell,
        /// How it compares.
        comparison: Comparison,
        /// The value that it compares with.
        value: Expr,
    },
    /// Adds to a semaphore, atomically. The amount must not be negative.
    Add {
        /// The semaphore.
        cell: Cell,
        /// How much.
        amount: Expr,
    },
    /// Sets a semaphore (a reset), atomically.
    Set {
        /// The semaphore.
        cell: Cell,
        /// The new value.
        value: Expr,
    },
    /// Changes a semaphore and gives a variable its old value, in one step.
    Atomic {
        /// The semaphore.
        cell: Cell,
        /// How it changes.
        update: AtomicUpdate,
        /// The variable that gets the old value.
        result: VarId,
    },
    /// Blocks until the semaphore has a value, and sets another one in the same step.
    WaitSwap {
        /// The semaphore.
        cell: Cell,
        /// The value it waits for.
        expected: Expr,
        /// What it sets.
        new: Expr,
    },
    /// Arrives on an mbarrier without blocking.
    Arrive {
        /// The mbarrier.
        cell: Cell,
        /// How many arrivals, at least 1.
        count: Expr,
    },
    /// Blocks while the mbarrier's phase bit equals the parity (`try_wait.parity` in a loop).
    WaitParity {
        /// The mbarrier.
        cell: Cell,
        /// 0 or 1.
        parity: Expr,
    },
    /// Registers 32 threads at a named barrier and blocks until the generation completes.
    Sync {
        /// The named barrier.
        cell: Cell,
        /// Threads that complete a generation, a multiple of 32.
        count: Expr,
    },
    /// Registers 32 threads at a named barrier without blocking.
    BarArrive {
        /// The named barrier.
        cell: Cell,
        /// Threads that complete a generation, a multiple of 32.
        count: Expr,
    },
    /// Raises the number of bytes that the mbarrier's phase expects.
    ExpectTx {
        /// The mbarrier.
        cell: Cell,
        /// How many bytes, not negative.
        bytes: Expr,
    },
    /// Delivers bytes to an mbarrier at once.
    CompleteTx {
        /// The mbarrier.
        cell: Cell,
        /// How many bytes, not negative.
        bytes: Expr,
    },
    /// Starts a copy that delivers bytes to an mbarrier some time later.
    Copy {
        /// The mbarrier.
        cell: Cell,
        /// How many bytes, not negative.
        bytes: Expr,
        /// The target of the copy, as written in the text.
        target: String,
        /// The accesses to it, if the target is a declared buffer.
        touches: Vec<Touch>,
    },
    /// Arrives once on an mbarrier as soon as everything asynchronous that this member started
    /// before is done. Does not block.
    Commit {
        /// The mbarrier.
        cell: Cell,
    },
    /// Initialises an mbarrier that is declared with `init: explicit`.
    Init {
        /// The mbarrier.
        cell: Cell,
    },
    /// Arrives at a split-phase barrier without blocking.
    BarrierArrive {
        /// The barrier.
        cell: Cell,
    },
    /// Blocks until the generation of the member's last arrival has completed.
    BarrierWait {
        /// The barrier.
        cell: Cell,
    },
    /// Blocks until a pool has this much, and takes it.
    Acquire {
        /// The pool.
        cell: Cell,
        /// How much, not negative.
        amount: Expr,
    },
    /// Gives back to a pool.
    Release {
        /// The pool.
        cell: Cell,
        /// How much, not negative.
        amount: Expr,
    },
    /// Work on data (`accumulate dQ[m]`): no effect on synchronization, kept for reports.
    Access {
        /// `accumulate`, `read`, `write`; `async` and its verb; `commit_group`, `wait_group`.
        verb: String,
        /// The data, as written.
        target: String,
        /// The effect on declared buffers.
        work: Work,
    },
    /// Runs one of two blocks.
    If {
        /// The condition, a truth value.
        condition: Expr,
        /// Taken when it holds.
        then: Vec<Stmt>,
        /// Taken when it does not.
        otherwise: Vec<Stmt>,
    },
    /// Runs the block once per value.
    For {
        /// The loop variable.
        var: VarId,
        /// Which values, in which order.
        over: Iteration,
        /// The block.
        body: Vec<Stmt>,
    },
    /// Declares a local variable or assigns to it.
    Assign {
        /// The variable.
        var: VarId,
        /// Its new value.
        value: Expr,
    },
    /// Leaves the program (a CTA with nothing to do).
    Return,
    /// Leaves the innermost loop.
    Break,
}

/// What a statement does to one element of a declared buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    /// The buffer.
    pub buffer: BufferId,
    /// One expression per extent.
    pub index: Vec<Expr>,
    /// Whether it writes; otherwise it reads.
    pub write: bool,
}

/// The effect of work on data on declared buffers.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// The work reads and writes before the member goes on.
    Now(Vec<Touch>),
    /// The work is started here. It reads and writes until a completion that the kernel waits for.
    Async(Vec<Touch>),
    /// The asynchronous work since the last group becomes a group.
    CommitGroup,
    /// Waits until all groups except the last `most` are complete, or until their reads are.
    WaitGroup {
        /// How many may be outstanding.
        most: Expr,
        /// Whether only reads are waited for.
        reads_only: bool,
    },
    /// The work orders memory and does nothing else.
    Fence(Fence),
    /// A claim about every state in which its member is at this point.
    Assert(Claim),
    /// Data gets room, or loses it. It exists between the two.
    Lifetime {
        /// Which.
        data: Vec<Backed>,
        /// Whether it gets room.
        begins: bool,
    },
}

/// The elements of a declared buffer with these leading indices.
#[derive(Debug, Clone, PartialEq)]
pub struct Backed {
    /// The buffer.
    pub buffer: BufferId,
    /// As many of its indices as are given.
    pub index: Vec<Expr>,
}

/// Where the elements of an object are.
#[derive(Debug, Clone, PartialEq)]
pub struct Home {
    /// Names for the indices of the element.
    pub indices: Vec<VarId>,
    /// The CTA, over parameters and these names.
    pub place: Place,
}

/// A condition on parameters, names in scope and the values of objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The condition, a truth value, in which names stand for the values of objects.
    pub condition: Expr,
    /// These names, and the elements whose values they stand for: the count of a semaphore, the number of completed
    /// phases or generations of a barrier, or the available amount of a pool.
    pub values: Vec<(VarId, Cell)>,
    /// As written.
    pub text: String,
}

/// A claim about every fair run. A fair run ends only in a state where nobody can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Every member finishes.
    Done,
    /// Every waiting member goes on eventually.
    Passes,
}

impl Progress {
    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Progress::Done => "eventually done",
            Progress::Passes => "always (waiting -> eventually passes)",
        }
    }
}

/// A claim of every state.
#[derive(Debug, Clone, PartialEq)]
pub struct Invariant {
    /// For all values of these indices, over parameters only.
    pub indices: Vec<Index>,
    /// What is claimed.
    pub claim: Claim,
    /// Where it is declared.
    pub span: Span,
}

/// What a loop runs over.
#[derive(Debug, Clone, PartialEq)]
pub enum Iteration {
    /// The integers of `lo..hi`; none when `hi <= lo`.
    Range {
        /// The first value.
        lo: Expr,
        /// One past the last value.
        hi: Expr,
        /// Whether it runs from `hi - 1` down to `lo`.
        descending: bool,
    },
    /// The values of the pattern's last coordinate at which it holds, the others being fixed.
    Row {
        /// The pattern.
        pattern: PatternId,
        /// One expression for each coordinate but the last.
        row: Vec<Expr>,
        /// In which order.
        order: RowOrder,
    },
}

/// The order in which a row's entries are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowOrder {
    /// As the input lists them: any order, but one per row, the same in every loop over it.
    Given,
    /// From the smallest to the largest.
    Ascending,
    /// From the largest to the smallest.
    Descending,
    /// Any order, chosen anew each time a loop runs.
    Any,
}

/// An `expect` line: a verdict that the file claims for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The property's name, as in [`Property::name`].
    pub property: String,
    /// The expected verdict word, lower case: `proved`, `refuted`, `bounded` or `unknown`.
    pub verdict: String,
    /// `at N = 2, M = 1`: values the smallest counterexample must have.
    pub at: Vec<(ParamId, i64)>,
    /// `assuming E, ...`: further assumptions under which the expectation holds.
    pub assuming: Vec<Assumption>,
    /// Where it stands.
    pub span: Span,
}
