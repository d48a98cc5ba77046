//! The program of a warp, as a tree of statements over terms.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::interpret::Access;
use crate::ir::Location;
use crate::ir::Synchronization;
use crate::recover::noted::Noted;
use crate::recover::noted::Spares;
use crate::recover::read_only_memory::ReadOnlyMemory;
use crate::recover::ring_words::RingWords;
use crate::recover::role_ir::Passes;
use crate::recover::shared_words::SharedWords;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::walk::Ordered;

/// Why a kernel is not recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    pub reason: String,
    pub location: Location,
    /// It is undefined what the kernel does, at some launch at least. Of that nothing can be said, however it is recovered.
    pub undefined: bool,
    /// What depends on a value that has no form. Other forms may be tried for it.
    pub undecided: Option<Undecided>,
}

/// What a value that has no form decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    /// How often a loop runs.
    TripCount,
    /// Which side of a branch is taken.
    Branch,
}

impl Obstacle {
    pub fn new(reason: impl Into<String>, location: Location) -> Obstacle {
        Obstacle {
            reason: reason.into(),
            location,
            undefined: false,
            undecided: None,
        }
    }

    /// The same of something that is undefined.
    pub fn undefined(reason: impl Into<String>, location: Location) -> Obstacle {
        Obstacle {
            undefined: true,
            ..Obstacle::new(reason, location)
        }
    }
}

/// Words for values that are read from memory.
pub const FROM_MEMORY: &str = "a value that is read from memory";

/// Words for a value in a term of which nothing is known, with the place where it is read from memory.
pub fn not_known(term: TermId, terms: &Terms, loaded: &BTreeMap<u32, Location>) -> String {
    let atoms = terms.atoms(term);
    let mut places = atoms.iter().filter_map(|atom| match atom {
        Atom::Opaque(number) => loaded.get(number)?.shown(),
        _ => None,
    });
    match places.next() {
        Some(place) => format!("{FROM_MEMORY} ({place})"),
        None => format!("{FROM_MEMORY} or not followed"),
    }
}

pub fn refuse<T>(reason: impl Into<String>, location: &Location) -> Result<T, Obstacle> {
    Err(Obstacle::new(reason, location.clone()))
}

/// Refuses what depends on a value that has no form.
pub fn refuse_undecided<T>(
    undecided: Undecided,
    value: &str,
    location: &Location,
) -> Result<T, Obstacle> {
    let what = match undecided {
        Undecided::TripCount => "how often a loop runs",
        Undecided::Branch => "whether this is done",
    };
    Err(Obstacle {
        undecided: Some(undecided),
        ..Obstacle::new(format!("{what} depends on {value}"), location.clone())
    })
}

/// Refuses what is undefined.
pub fn misused<T>(reason: impl Into<String>, location: &Location) -> Result<T, Obstacle> {
    Err(Obstacle::undefined(reason, location.clone()))
}

/// Refuses to go on when the time is over.
pub fn in_time(over: fn() -> bool) -> Result<(), Obstacle> {
    if over() {
        return Err(Obstacle::new(
            "the time was up while the kernel was recovered",
            Location::default(),
        ));
    }
    Ok(())
}

pub type LoopId = u32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    Event(Event),
    If {
        condition: TermId,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
        location: Location,
    },
    /// Goes on until a `Break`.
    Loop {
        id: LoopId,
        body: Vec<Statement>,
        location: Location,
    },
    Break,
    /// All lanes end here.
    Return,
}

/// An event of some lanes of the warp, all with the same operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// How many lanes execute it.
    pub lanes: u32,
    pub location: Location,
}

/// The greatest constant that may be added to the value of a word before an unsigned comparison.
pub const MOST_MORE: i128 = 1 << 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    Init {
        object: TermId,
        count: TermId,
    },
    Invalidate {
        object: TermId,
    },
    Arrive {
        object: TermId,
        count: TermId,
        expect: Option<TermId>,
    },
    Expect {
        object: TermId,
        bytes: TermId,
    },
    Complete {
        object: TermId,
        bytes: TermId,
    },
    Wait {
        object: TermId,
        parity: TermId,
    },
    /// A wait for the phase of the warp's own arrival with this number in its class.
    WaitOwn {
        object: TermId,
        number: TermId,
        class: u32,
    },
    /// A mark: the arrival that follows has this number in its class.
    Numbered {
        object: TermId,
        number: TermId,
        class: u32,
    },
    /// Waits for a word of global memory.
    CounterWait {
        address: TermId,
        value: TermId,
        passes: Passes,
        /// The number that is compared with the word, if it is not the value. Either the word has
        /// to be greater than it, compared without sign, or the word plus a constant has to be at
        /// least it or greater.
        compared: Option<TermId>,
    },
    CounterAdd {
        address: TermId,
        value: TermId,
        /// The lane that does it, if it is one.
        lane: Option<u32>,
    },
    CounterSet {
        address: TermId,
        value: TermId,
        lane: Option<u32>,
        /// See [`crate::ir::Synchronization::CounterSet`].
        ordered: bool,
    },
    /// Bytes are `None` where only the tensor map knows them.
    Copy {
        object: TermId,
        bytes: Option<TermId>,
        multicast: Option<TermId>,
        /// Whether each CTA of a multicast signals the CTA of its pair that has the parity of the
        /// object's CTA.
        pair: bool,
    },
    /// An arrival that comes when the earlier copies of each lane are done.
    CopyArrive {
        object: TermId,
        no_increment: bool,
    },
    /// An arrival that comes when the earlier tensor work is done.
    Commit {
        object: TermId,
        multicast: Option<TermId>,
    },
    BarrierSync {
        barrier: TermId,
        threads: Option<TermId>,
    },
    BarrierArrive {
        barrier: TermId,
        threads: TermId,
    },
    ClusterArrive,
    ClusterWait,
    /// Asks cluster launch control for a cluster that has not begun, for this CTA or all of its cluster.
    TryCancel {
        object: TermId,
        multicast: bool,
    },
    /// Looks whether the answer was yes.
    Query,
    /// Marks: a load from and a store to words in shared memory that warps may hand over to each
    /// other. The address is missing if some lane might not be in order with what it waited for.
    RingWordLoad {
        address: Option<TermId>,
        number: u32,
        bytes: u32,
    },
    RingWordStore {
        address: Option<TermId>,
        bytes: u32,
    },
    /// An access to bytes of shared memory: these ranges, counted from an address. If a copy writes
    /// them later, this stands directly before the event that starts it.
    Access {
        base: TermId,
        bytes: Rc<[(i128, i128)]>,
        access: Access,
    },
    /// A mark: some lanes may read these bytes after others have signalled something here.
    Late {
        base: TermId,
        bytes: Rc<[(i128, i128)]>,
    },
    /// The work started so far becomes a group, and all groups but the last ones are waited for.
    /// Only if accesses are followed.
    CommitGroup,
    WaitGroup {
        pending: TermId,
        read_only: bool,
    },
    /// A mark: the arrival that follows may come before loads and stores of other lanes.
    Ahead,
    SetMaxRegisters {
        count: TermId,
        increase: bool,
    },
    TensorAllocate {
        columns: TermId,
    },
    TensorDeallocate {
        columns: TermId,
    },
    /// The CTA allocates no tensor memory any more.
    TensorRelinquish,
    /// An instruction of `wgmma`, as the walk over what is done together notes it.
    Multiply(Synchronization),
}

impl EventKind {
    /// The terms of an event.
    pub fn terms(&self) -> Vec<TermId> {
        self.clone()
            .terms_mut()
            .into_iter()
            .map(|term| *term)
            .collect()
    }

    /// The terms of an event, to be replaced.
    pub fn terms_mut(&mut self) -> Vec<&mut TermId> {
        match self {
            Self::Init { object, count } => vec![object, count],
            Self::Access { base, .. } | Self::Late { base, .. } => vec![base],
            Self::WaitGroup { pending, .. } => vec![pending],
            Self::Invalidate { object }
            | Self::CopyArrive { object, .. }
            | Self::TryCancel { object, .. } => vec![object],
            Self::RingWordLoad { address, .. } | Self::RingWordStore { address, .. } => {
                address.iter_mut().collect()
            }
            Self::Arrive {
                object,
                count,
                expect,
            } => [object, count].into_iter().chain(expect).collect(),
            Self::Expect { object, bytes } | Self::Complete { object, bytes } => {
                vec![object, bytes]
            }
            Self::Wait { object, parity } => vec![object, parity],
            Self::WaitOwn { object, number, .. } | Self::Numbered { object, number, .. } => {
                vec![object, number]
            }
            Self::CounterWait {
                address,
                value,
                compared,
                ..
            } => [address, value].into_iter().chain(compared).collect(),
            Self::CounterAdd { address, value, .. } | Self::CounterSet { address, value, .. } => {
                vec![address, value]
            }
            Self::Copy {
                object,
                bytes,
                multicast,
                ..
            } => std::iter::once(object)
                .chain(bytes)
                .chain(multicast)
                .collect(),
            Self::Commit { object, multicast } => {
                std::iter::once(object).chain(multicast).collect()
            }
            Self::BarrierSync { barrier, threads } => {
                std::iter::once(barrier).chain(threads).collect()
            }
            Self::BarrierArrive { barrier, threads } => vec![barrier, threads],
            Self::SetMaxRegisters { count, .. } => vec![count],
            Self::TensorAllocate { columns } | Self::TensorDeallocate { columns } => vec![columns],
            Self::ClusterArrive
            | Self::ClusterWait
            | Self::CommitGroup
            | Self::Query
            | Self::Ahead
            | Self::TensorRelinquish
            | Self::Multiply(_) => Vec::new(),
        }
    }
}

/// A register at the head of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phi {
    pub in_loop: LoopId,
    /// Before the first iteration.
    pub first: TermId,
    /// At the end of an iteration, over the values at its beginning.
    pub next: TermId,
}

/// What a wait is for: the phase with a parity, or the phase of an own arrival, by its number in
/// its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Awaited {
    pub object: TermId,
    /// The parity, or the number of the arrival.
    pub phase: TermId,
    /// The class of an own arrival.
    pub class: Option<u32>,
}

impl Awaited {
    pub fn event(self) -> EventKind {
        let Self {
            object,
            phase,
            class,
        } = self;
        match class {
            None => EventKind::Wait {
                object,
                parity: phase,
            },
            Some(class) => EventKind::WaitOwn {
                object,
                number: phase,
                class,
            },
        }
    }
}

/// A test of an mbarrier whose outcome is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub awaited: Awaited,
    pub location: Location,
    /// How many events there were before it, how many loops had begun, and how often lanes had met.
    pub events: u64,
}

/// What the trees of all warps of a kernel are made of.
#[derive(Debug, Default)]
pub struct Arena {
    pub terms: Terms,
    pub phis: Vec<Phi>,
    pub tests: Vec<Test>,
    /// Says whether the time is over.
    pub over: Option<fn() -> bool>,
    /// How many loops and unknowns have been numbered.
    pub loops: LoopId,
    pub opaque: u32,
    /// Where unknown values are read from memory, by their numbers.
    pub loaded: BTreeMap<u32, Location>,
    /// How many answers of cluster launch control have been numbered.
    pub responses: u32,
    /// How many events there were.
    pub events: u64,
    /// Branches at which a test spares a wait that comes behind other events.
    pub spared: Spares,
    /// In which order things are done.
    pub noted: Noted,
    /// Terms that waits use as a parity and that may be other than 0 and 1.
    pub parities: Vec<(TermId, Location)>,
    /// Terms that are assumed to be one number in all lanes of a warp, and where.
    pub alike: Vec<(TermId, Location)>,
    /// Whether lanes are assumed to take the same path where memory decides.
    pub trusts_memory: bool,
    /// Words that warps hand over to each other by mbarriers, if these are looked for.
    pub ring_words: Option<RingWords>,
    /// What warps hand over to each other in shared memory.
    pub shared_words: SharedWords,
    /// Loads from global memory of words that nobody writes.
    pub unwritten: ReadOnlyMemory,
    /// The places of the parameters of 8 bytes that are no pointers.
    pub wide_sizes: BTreeSet<u32>,
    /// The conditions of branches, and where they are.
    pub branches: Vec<(TermId, Location)>,
    /// The conditions that decide what is executed, also those of branches that are left out
    /// because both sides do the same.
    pub decided_by: BTreeSet<TermId>,
    /// The first values of loop counters that the launch decides and that have no form as numbers, if
    /// these are looked for.
    pub starts: Option<BTreeSet<TermId>>,
    /// Whether numbers that rounds of loops decide may be functions of them.
    pub rounds: bool,
    /// What the launch multiplies by in addresses of words of global memory that loops change.
    /// `None` stands for a constant.
    pub factors: BTreeSet<Option<TermId>>,
    /// The pointers to words of global memory at which a CTA uses words of other CTAs as well.
    pub neighbours: BTreeSet<u32>,
    /// Whether accesses to shared memory are followed.
    pub accesses: bool,
    /// Whether accesses are widened, so that what looks like a race may be none.
    pub wider: bool,
    /// Whether dynamic shared memory is assumed to begin at a multiple of 1024 bytes.
    pub levels: bool,
    /// Terms in whose order lanes were taken to part, and where.
    pub orders: BTreeMap<Ordered, Location>,
    /// A condition that is supposed to hold, or to fail.
    pub given: Option<(TermId, bool)>,
}
