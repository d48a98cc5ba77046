//! The recovered protocol before it is written: roles over integers.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::interpret::Access;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::buffer::Element;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::number::Range;

/// An mbarrier: a place in the shared memory of a CTA of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Object {
    pub rank: u32,
    pub variable: VariableId,
    /// In bytes.
    pub offset: Number,
}

/// A word of global memory, at the address `base + stride * index`. The base is the part that does
/// not change between iterations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word {
    /// Where in the parameter space the pointer is that the address begins with.
    pub pointer: u32,
    /// Two inputs: the part of the address that loops do not change, and what the launch multiplies
    /// the other part by.
    pub base: u32,
    pub factor: Option<u32>,
    /// In bytes, to be multiplied by the factor.
    pub stride: i128,
    pub index: Number,
    /// In bits.
    pub width: u16,
}

/// The values of a word at which a wait for it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    At,
    /// At the value and above, compared with or without sign.
    From,
    /// Also at negative ones. The value of the wait is 1.
    OtherThanZero,
}

/// What an arrival that lands later waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// `tcgen05` operations.
    Tensor,
    /// The `cp.async` copies of its thread.
    Copies,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Init {
        object: Object,
        count: i128,
    },
    /// A mark: the lifetime of the mbarrier ends. It is taken out when all roles are known.
    Invalidate {
        object: Object,
    },
    Wait {
        object: Object,
        parity: Number,
    },
    /// A wait for the phase of the warp's own arrival with this number in its class. It becomes a
    /// wait for a parity when all roles are known.
    WaitOwn {
        object: Object,
        number: Number,
        class: u32,
    },
    /// A mark: the arrival that follows has this number in its class. It is removed when all roles
    /// are known.
    Numbered {
        object: Object,
        number: Number,
        class: u32,
    },
    Arrive {
        object: Object,
        count: Number,
    },
    /// One arrival that expects bytes.
    ArriveExpect {
        object: Object,
        bytes: Number,
    },
    Expect {
        object: Object,
        bytes: Number,
    },
    Complete {
        object: Object,
        bytes: Number,
    },
    /// A mark: the arrival that follows is by a warp that waits for the phase in which it counts.
    /// If the warp might get out of step, the mark has the parity of the phase before. It is
    /// removed once the roles have been compared with the kernel.
    Round {
        object: Object,
        before: Option<Number>,
    },
    /// Bytes are `None` where only the tensor map knows them.
    Copy {
        object: Object,
        bytes: Option<Number>,
    },
    /// So many arrivals, one of each lane, that land when the work is done that the warp has
    /// started before.
    Commit {
        object: Object,
        count: i128,
        work: Work,
    },
    /// Waits for a word of global memory.
    CounterWait {
        word: Word,
        value: Number,
        passes: Passes,
    },
    CounterAdd {
        word: Word,
        value: Number,
        /// The lane that does it, if it is one.
        lane: Option<u32>,
    },
    /// The value may be below 0.
    CounterSet {
        word: Word,
        value: Number,
        lane: Option<u32>,
        /// See [`crate::ir::Synchronization::CounterSet`].
        ordered: bool,
    },
    Sync {
        barrier: Number,
        threads: Number,
    },
    BarrierArrive {
        barrier: Number,
        threads: Number,
    },
    ClusterArrive,
    ClusterWait,
    /// A mark: cluster launch control is told to answer through this mbarrier. It is removed when
    /// all roles are known.
    Tried {
        object: Object,
    },
    /// A mark: an answer is read.
    Asked,
    /// Marks: words in shared memory that warps may hand over to each other are read and written,
    /// at a place or at an unknown one. They are removed when all roles are known.
    RingWordLoad {
        place: Option<Object>,
        number: u32,
        bytes: u32,
    },
    RingWordStore {
        place: Option<Object>,
        bytes: u32,
    },
    /// An access to bytes of shared memory: these ranges, counted from a place. If a copy writes
    /// them later, this stands directly before the copy.
    Access {
        place: Object,
        bytes: Rc<[(i128, i128)]>,
        access: Access,
    },
    /// The same access, as elements: each is a buffer and an index in it.
    Touch {
        elements: Vec<Element>,
        access: Access,
    },
    /// A mark: some lanes of the warp may read these bytes later. It is removed when all roles are
    /// known.
    Late {
        place: Object,
        bytes: Rc<[(i128, i128)]>,
    },
    /// The work started so far becomes a group, and all groups but the last ones are waited for.
    CommitGroup,
    WaitGroup {
        pending: i128,
        read_only: bool,
    },
    /// A mark: the arrival that follows may come before loads and stores of other lanes of its warp.
    Ahead,
    /// Marks: tensor memory is allocated and given back, and the permit to allocate is given up.
    /// They are removed like the others.
    Allocate {
        columns: i128,
    },
    Deallocate {
        columns: i128,
    },
    Relinquish,
    SetMaxRegisters {
        count: i128,
        increase: bool,
    },
    /// Waits for so many registers for each of the warp's threads.
    Take {
        count: i128,
    },
    GiveBack {
        count: i128,
    },
    /// Waits until every warp of the CTA has its registers.
    Launched,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Action {
        action: Action,
        location: Location,
    },
    For {
        index: u32,
        count: Number,
        body: Vec<Line>,
        location: Location,
    },
    If {
        condition: Condition,
        then: Vec<Line>,
        otherwise: Vec<Line>,
        location: Location,
    },
    /// Declares a variable with its value.
    Let {
        variable: u32,
        value: Number,
    },
    Assign {
        variable: u32,
        value: Number,
    },
    Return,
}

impl Line {
    /// The blocks inside: the body of a loop, the sides of a branch.
    pub fn blocks(&self) -> impl Iterator<Item = &Vec<Line>> {
        let blocks = match self {
            Self::For { body, .. } => [Some(body), None],
            Self::If {
                then, otherwise, ..
            } => [Some(then), Some(otherwise)],
            _ => [None, None],
        };
        blocks.into_iter().flatten()
    }

    /// The same as [`Self::blocks`].
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Vec<Line>> {
        let blocks = match self {
            Self::For { body, .. } => [Some(body), None],
            Self::If {
                then, otherwise, ..
            } => [Some(then), Some(otherwise)],
            _ => [None, None],
        };
        blocks.into_iter().flatten()
    }
}

/// Bytes between the places of one lifetime of an mbarrier and those of the next one: more than shared memory has.
pub const LIFE: i128 = 1 << 24;

/// Calls `with` for every line, the outer ones first.
pub fn every_line<'l>(lines: &'l [Line], with: &mut dyn FnMut(&'l Line)) {
    for line in lines {
        with(line);
        for block in line.blocks() {
            every_line(block, with);
        }
    }
}

/// Whether a role may end in one of these lines.
pub fn returns(lines: &[Line]) -> bool {
    let mut found = false;
    every_line(lines, &mut |line| found |= matches!(line, Line::Return));
    found
}

/// The counts of the loops of a role, by index.
pub fn counts(lines: &[Line]) -> BTreeMap<u32, Number> {
    let mut found = BTreeMap::new();
    every_line(lines, &mut |line| {
        if let Line::For { index, count, .. } = line {
            found.insert(*index, count.clone());
        }
    });
    found
}

/// The variables that lines declare or assign.
pub fn assigned(lines: &[Line]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    every_line(lines, &mut |line| {
        if let Line::Let { variable, .. } | Line::Assign { variable, .. } = line {
            found.insert(*variable);
        }
    });
    found
}

/// The same as [`every_line`].
pub fn every_line_mut(lines: &mut [Line], with: &mut dyn FnMut(&mut Line)) {
    for line in lines {
        with(line);
        for block in line.blocks_mut() {
            every_line_mut(block, with);
        }
    }
}

/// The elements that a line touches, if it is such a statement.
pub fn elements_mut(line: &mut Line) -> Option<&mut Vec<Element>> {
    match line {
        Line::Action {
            action: Action::Touch { elements, .. },
            ..
        } => Some(elements),
        _ => None,
    }
}

/// A number that the launch fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub name: String,
    pub range: Range,
    /// What it is.
    pub meaning: String,
}

/// The program of some warps of each CTA of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub rank: u32,
    pub warps: Vec<u32>,
    pub lines: Vec<Line>,
}
