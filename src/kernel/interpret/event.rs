//! Events: actions of a warp that other warps can observe, or that make it wait.

use std::fmt;

use super::taint::Origins;
use super::value::Lanes;
use crate::ir::AtomicOperation;
use crate::ir::BlockId;
use crate::ir::GroupKind;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::MemoryOrder;
use crate::ir::OperationKind;

/// A place in a kernel: an operation of a block. The index after the last operation stands for the terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub block: BlockId,
    pub index: u32,
}

impl Place {
    pub fn location(self, kernel: &Kernel) -> Option<&Location> {
        let block = kernel.blocks.get(self.block.0 as usize)?;
        let operation = block.operations.get(self.index as usize);
        Some(operation.map_or(&block.location, |operation| &operation.location))
    }

    /// The operation; `None` for a terminator.
    pub fn operation(self, kernel: &Kernel) -> Option<&OperationKind> {
        let block = kernel.blocks.get(self.block.0 as usize)?;
        let operation = block.operations.get(self.index as usize)?;
        Some(&operation.kind)
    }
}

/// The object of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// A place in the shared memory of a CTA of the cluster.
    Shared {
        /// The rank of the CTA in the cluster.
        cta: u32,
        /// The offset from the beginning of its shared window.
        address: u32,
    },
    Global {
        address: u64,
    },
    /// An address of no CTA of the cluster.
    Invalid {
        address: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A wait for an mbarrier that has been passed. The wait is by parity, or by a phase state if the parity is
    /// `None`. `look` says that it was a test outside of a spin loop.
    Wait {
        parity: Option<bool>,
        look: bool,
    },
    Init {
        count: u32,
    },
    Invalidate,
    Arrive {
        count: u32,
        /// Bytes that are expected before the arrival.
        expect: Option<u32>,
        drop: bool,
        no_complete: bool,
    },
    Expect {
        bytes: u32,
    },
    Complete {
        bytes: u32,
    },
    /// `cp.async.mbarrier.arrive`.
    CopyArrive {
        no_increment: bool,
    },
    /// A bulk copy. If it completes bytes at an mbarrier, the object is this mbarrier.
    Copy {
        /// `None` if a tensor map determines the number.
        bytes: Option<u32>,
        multicast: Option<u16>,
        pair: bool,
        /// Whether it joins the thread's bulk group instead.
        group: bool,
    },
    /// `st.async`, `red.async`: bytes that are completed at the object.
    StoreAsync {
        bytes: u32,
    },
    CommitGroup(GroupKind),
    WaitGroup {
        kind: GroupKind,
        pending: u32,
        read_only: bool,
    },
    TensorCommit {
        multicast: Option<u16>,
        pair: bool,
    },
    TensorAllocate {
        columns: u32,
        pair: bool,
    },
    TensorDeallocate {
        columns: u32,
        pair: bool,
    },
    TensorRelinquish {
        pair: bool,
    },
    BarrierSync {
        barrier: u32,
        /// `None`: all threads of the CTA.
        threads: Option<u32>,
        aligned: bool,
    },
    BarrierArrive {
        barrier: u32,
        threads: u32,
        aligned: bool,
    },
    ClusterArrive,
    ClusterWait,
    ClusterLaunchTryCancel {
        multicast: bool,
    },
    GridDependencyWait,
    GridDependencyLaunch,
    SetMaxRegisters {
        count: u32,
        increase: bool,
    },
    /// A load that is not weak. In a spin loop, only the last one is an event.
    Load {
        order: MemoryOrder,
    },
    /// A store that is not weak, and the lowest 64 bits of the first value.
    Store {
        order: MemoryOrder,
        value: u64,
    },
    /// An atomic operation on integers, and the lowest 64 bits of its last operand.
    Atomic {
        operation: AtomicOperation,
        order: MemoryOrder,
        value: u64,
    },
    /// A wait until a word of memory has a value, or at least this value. The value is signed.
    CounterWait {
        value: i64,
        at_least: bool,
    },
    /// An addition to a word for which such a wait may exist.
    CounterAdd {
        value: i64,
    },
    /// A store to such a word. The value is signed.
    CounterSet {
        value: i64,
    },
    /// Lanes read or write bytes of shared memory. Such events exist only if the launch asks for them. For an
    /// asynchronous write, the event stands directly before the event that starts the write.
    Access {
        access: Access,
        /// The number of the bytes among the regions of the warp.
        region: u32,
    },
    /// An operation that may synchronize and is not understood.
    Unsupported,
    /// The header of a loop is entered. Such events exist only if the launch asks for them.
    LoopHeader(BlockId),
}

/// The kind of an access to bytes of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
    /// A copy writes the bytes at some later time, and then signals an mbarrier.
    Arrive,
    /// Asynchronous work reads (or writes) the bytes at some later time, as a part of a group.
    ReadLater,
    WriteLater,
    /// A tensor copy writes or reads bytes from here on. Its tensor map determines how many.
    Mapped,
    /// An access to unknown bytes that is not followed.
    Unfollowed,
}

impl Access {
    /// An access that is done when the instruction is.
    pub fn now(writes: bool) -> Self {
        match writes {
            true => Self::Write,
            false => Self::Read,
        }
    }

    /// An access that continues after the instruction, until a group is waited for.
    pub fn later(writes: bool) -> Self {
        match writes {
            true => Self::WriteLater,
            false => Self::ReadLater,
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Arrive | Self::WriteLater => "write later",
            Self::ReadLater => "read later",
            Self::Mapped => "copy from or to a tensor, from here on:",
            Self::Unfollowed => "touch shared memory in a way that is not followed",
        })
    }
}

/// Bytes of shared memory, sorted and joined.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Region {
    /// The rank of the CTA in its cluster, the first byte in its window, and the one after the last.
    pub ranges: Vec<(u32, u64, u64)>,
}

impl Region {
    /// The region that consists of these ranges, which may be in any order.
    pub fn new(mut ranges: Vec<(u32, u64, u64)>) -> Self {
        ranges.retain(|(_, from, to)| from < to);
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u64, u64)> = Vec::new();
        for (cta, from, to) in ranges {
            match joined.last_mut() {
                Some((at, _, end)) if *at == cta && from <= *end => *end = to.max(*end),
                _ => joined.push((cta, from, to)),
            }
        }
        Self { ranges: joined }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|(_, from, to)| to - from).sum()
    }
}

/// Lanes that do the same to one object. An operation produces one event for every such group of lanes. The event
/// with the lowest lane comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    pub kind: EventKind,
    pub object: Option<Object>,
    pub lanes: Lanes,
    pub place: Place,
    /// The unknown values that the event or its operands depend on; empty if everything is known.
    pub reasons: Origins,
    /// Whether this is an operation that all lanes of the warp have to execute together, and some did not.
    pub partial: bool,
}
