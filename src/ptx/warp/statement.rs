//! The synchronizing statements of one warp, before they are written as text.

use std::rc::Rc;

use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;
use crate::ptx::syntax::ast::Location;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::place::source;

/// Why a kernel's synchronization could not be recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The byte of the text where the instruction begins.
    pub at: usize,
    /// Why, as a lowercase fragment.
    pub reason: String,
    /// The byte where the instruction begins that is at the bottom of it.
    pub from: Option<usize>,
    /// Whether the kernel does what is undefined, or may: however it is recovered, nothing can be said of it.
    pub misuse: bool,
    /// The rule that it breaks, where the hardware has no such thing.
    pub(in crate::ptx) rule: Option<Rule>,
}

/// Rules that an instruction can break by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) enum Rule {
    /// A named barrier has a number from 0 to 15.
    BarrierId,
    /// The thread count of a named barrier is a multiple of 32.
    BarrierCount,
    /// All lanes of a warp, or all warps of a warpgroup, carry it out together.
    Together,
}

impl Rule {
    pub fn name(self) -> &'static str {
        match self {
            Rule::BarrierId => "barrier-id",
            Rule::BarrierCount => "barrier-count",
            Rule::Together => "not-together",
        }
    }

    pub fn hint(self) -> &'static str {
        match self {
            Rule::BarrierId => "a CTA has 16 named barriers",
            Rule::BarrierCount => "warps come to a named barrier as a whole: count 32 for each",
            Rule::Together => {
                "where lanes or warps are missing that have to carry an instruction out with the others, what happens is undefined"
            }
        }
    }
}

impl Obstacle {
    pub(in crate::ptx) fn new(at: usize, reason: impl Into<String>) -> Obstacle {
        Obstacle {
            at,
            reason: reason.into(),
            from: None,
            misuse: false,
            rule: None,
        }
    }

    /// The same, where the kernel does what is undefined.
    pub(in crate::ptx) fn misused(mut self) -> Obstacle {
        self.misuse = true;
        self
    }

    /// That the time was up, which is due to no instruction.
    pub(in crate::ptx) fn late() -> Obstacle {
        Obstacle::new(0, "the time was up while the kernel was followed")
    }

    /// The instruction with its lines, the reason, and the instruction at the bottom of it, as a lowercase fragment. Of what is due
    /// to no instruction, the reason.
    pub fn words(&self, module: &Module<'_>) -> String {
        if self.at == 0 {
            return self.reason.clone();
        }
        let instruction = |at| format!("{}, `{}`", lines(module, at), instruction(module, at));
        let mut words = format!("{}: {}", instruction(self.at), self.reason);
        if let Some(from) = self.from.filter(|from| *from != self.at && *from > 0) {
            words.push_str(&format!(" ({})", instruction(from)));
        }
        words
    }
}

/// The line of an instruction in the PTX, and in the source where that is said.
fn lines(module: &Module<'_>, at: usize) -> String {
    let line = format!("line {}", module.line_of(at));
    let mut code = module.functions.iter().flat_map(|function| &function.code);
    let location = code.find(|i| i.at == at).and_then(|i| i.location);
    match location.filter(|location| location.line > 0) {
        Some(_) => format!("{line} ({})", source(module, at, location)),
        None => line,
    }
}

/// The text of an instruction on one line, shortened.
fn instruction(module: &Module<'_>, at: usize) -> String {
    let rest = module.source.get(at..).unwrap_or_default();
    let text = rest.split([';', '\n']).next().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// What runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) enum Pool {
    /// Columns of tensor memory.
    Columns,
    /// Registers, of each thread of a warp.
    Registers,
}

/// How a warp gets at shared memory, and how long that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) enum How {
    /// The warp itself reads.
    Read,
    /// The warp itself writes.
    Write,
    /// A copy that has been started writes.
    Fill,
    /// A copy that has been started reads.
    Drain,
    /// A multiplication that has been started reads.
    Take,
    /// A multiplication that has been started writes.
    Accumulate,
}

/// Bytes of shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Area {
    /// Where it lies; the bytes count from here.
    pub address: Sum,
    /// From where to where it goes, in order; none where as much as a copy delivers.
    pub bytes: Rc<[(i128, i128)]>,
    /// The elements of buffers that these are, once buffers have been laid out.
    pub cells: Vec<Cell>,
}

/// An element of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Cell {
    pub buffer: String,
    pub indices: Vec<Sum>,
    /// How many bytes of the area lie in it.
    pub bytes: i128,
}

/// What a statement does. Addresses are sums of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) enum Action {
    Init(Sum, i128),
    /// Ends the life of an mbarrier.
    Inval(Sum),
    /// Arrives this often.
    Arrive(Sum, i128),
    /// Arrives this often, which must not complete the phase: these lanes together.
    ArrivePart(Sum, i128, u32),
    /// Does not count any more at an mbarrier where it has just arrived.
    Drop(Sum),
    ExpectTx(Sum, Sum),
    ArriveExpectTx(Sum, Sum),
    CompleteTx(Sum, Sum),
    /// A copy that delivers bytes; none where the copy does not say how many. With what it writes,
    /// where accesses are followed.
    Copy(Sum, Option<Sum>, Option<Area>),
    /// Arrives this often once earlier work is done.
    Commit(Sum, i128),
    /// Waits for a phase.
    Wait(Sum, Sum),
    /// Waits for the phase of the warp's last arrival.
    WaitOwn(Sum),
    /// A barrier of the CTA: its id and thread count; whether the instruction gave the count.
    Sync(Sum, Sum, bool),
    ArriveNamed(Sum, Sum),
    ClusterArrive,
    ClusterWait,
    CounterAdd(Sum, Sum),
    CounterSet(Sum, Sum),
    /// Arrives at a barrier of the whole grid, and waits there: the word that it is, what was found, and how many arrivals
    /// it takes.
    GridArrive(Sum, Unknown, Sum),
    GridWait(Sum, Unknown),
    /// Waits for a counter: exactly this value, or at least this.
    CounterWait(Sum, bool, Sum),
    /// Takes from a pool, and gives back to it.
    Acquire(Pool, Sum),
    Release(Pool, Sum),
    /// An access to shared memory, where accesses are followed.
    Touch(How, Area),
    /// Makes a group of the copies since the last one, or of the multiplications of the warpgroup.
    CommitGroup(bool),
    /// Waits for all but so many groups; whether only for what they read, and whether they are of
    /// multiplications.
    WaitGroup(i128, bool, bool),
    /// A fence, as the language writes it.
    Fence(&'static str),
    /// Issues a multiplication of this warpgroup.
    Multiply(u32),
    /// Waits until this warpgroup has no multiplication left.
    Multiplied(u32),
    /// Makes a group of the multiplications that this warpgroup has issued.
    Grouped(u32),
    /// Waits until this warpgroup has but so many groups of multiplications left.
    InFlight(u32, i128),
    /// Has issued a group of multiplications: the warpgroup, the place in a ring, and its size.
    Issued(u32, Sum, i128),
    /// Waits until all warps of the warpgroup have issued a group: its place, and the parity.
    Landed(u32, Sum, Sum),
    /// Meets the warp of the other CTA of a pair that does the same.
    Pair,
    /// The loop body, so often.
    For(Unknown, Sum, Vec<Statement>),
    If(Condition, Vec<Statement>, Vec<Statement>),
}

/// A statement and where it comes from.
#[derive(Debug, Clone)]
pub(in crate::ptx) struct Statement {
    pub action: Action,
    pub at: usize,
    pub location: Option<Location>,
    /// How it orders memory, as the language writes it after the verb; empty for what is so
    /// without saying.
    pub memory: &'static str,
}

/// Two statements are the same if they do the same, wherever they come from.
impl PartialEq for Statement {
    fn eq(&self, other: &Statement) -> bool {
        self.action == other.action && self.memory == other.memory
    }
}

impl Eq for Statement {}

#[cfg(test)]
impl Statement {
    /// An action without a place in a text.
    pub fn of(action: Action) -> Statement {
        Statement {
            action,
            at: 0,
            location: None,
            memory: "",
        }
    }
}
