//! Synchronization operations, and warp-level operations.
//!
//! An address of an mbarrier is in the shared window of the own CTA, or of the cluster if a field `cluster` says so.
//! Counts, bytes and masks are 32-bit operands unless stated otherwise.

use crate::ir::Matrices;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Space;

/// What a wait looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
    /// The phase of this parity (bit 0) has completed.
    Parity(Operand),
    /// The phase of the arrival that gave this state has completed.
    State(Operand),
}

/// How the bytes of a bulk copy are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    Bytes(Operand),
    /// By the tensor map, which the code does not show.
    TensorMap,
}

/// What is told when asynchronous work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completion {
    /// Bytes at an mbarrier. With a `multicast` mask, at the mbarrier of the same offset in every
    /// CTA of the mask. With `pair`, the address may be of either CTA of the pair of CTAs.
    Mbarrier {
        address: Operand,
        multicast: Option<Operand>,
        pair: bool,
    },
    /// A group of the thread.
    Group(GroupKind),
    None,
}

/// Groups of asynchronous work; each kind is separate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// `cp.async`.
    Copy,
    /// `cp.async.bulk`.
    Bulk,
    /// `wgmma`.
    Multiply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierReduction {
    And { result: RegisterId, source: Operand },
    Or { result: RegisterId, source: Operand },
    Count { result: RegisterId, source: Operand },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShuffleMode {
    Index,
    Up,
    Down,
    Butterfly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synchronization {
    // Named barriers of a CTA. Without `threads`, all threads of the CTA.
    BarrierSync {
        barrier: Operand,
        threads: Option<Operand>,
        aligned: bool,
        reduction: Option<BarrierReduction>,
    },
    BarrierArrive {
        barrier: Operand,
        threads: Operand,
        aligned: bool,
    },
    /// `bar.warp.sync`.
    WarpSync {
        mask: Operand,
    },
    ClusterArrive {
        order: MemoryOrder,
        aligned: bool,
    },
    ClusterWait {
        aligned: bool,
    },

    // Mbarriers.
    MbarrierInit {
        address: Operand,
        count: Operand,
    },
    MbarrierInvalidate {
        address: Operand,
    },
    MbarrierExpect {
        address: Operand,
        bytes: Operand,
        cluster: bool,
    },
    MbarrierComplete {
        address: Operand,
        bytes: Operand,
        cluster: bool,
    },
    /// `mbarrier.arrive`, with `.expect_tx` where `expect` is given, `.noComplete`, and
    /// `arrive_drop`.
    MbarrierArrive {
        address: Operand,
        count: Operand,
        expect: Option<Operand>,
        drop: bool,
        no_complete: bool,
        /// The phase state, 64 bits.
        token: Option<RegisterId>,
        cluster: bool,
        order: MemoryOrder,
        scope: Scope,
    },
    /// `test_wait`, or `try_wait` where `blocking`: a predicate.
    MbarrierTest {
        result: RegisterId,
        address: Operand,
        token: Token,
        blocking: bool,
        order: MemoryOrder,
        scope: Scope,
    },
    /// Blocks until the phase has completed: what a reader of structured IR knows to be a wait.
    MbarrierWait {
        address: Operand,
        token: Token,
        order: MemoryOrder,
        scope: Scope,
    },
    /// A mark that recovery puts before an arrival: how many arrivals of this class the thread has made so far. States of
    /// these arrivals are such numbers.
    MbarrierNumber {
        address: Operand,
        number: Operand,
        class: u32,
    },
    /// A look at a word of global memory in a loop that goes on until the word has some value. Recovery puts it in the place of
    /// the load.
    CounterLook {
        result: RegisterId,
        /// 64 bits.
        address: Operand,
        /// Of the word, in bits.
        width: u16,
    },
    /// An addition to a word of global memory that may be one that such loops look at, in place of `red` or `atom`.
    CounterAdd {
        /// 64 bits.
        address: Operand,
        /// As wide as the word.
        value: Operand,
        width: u16,
    },
    /// A store to a word of global memory that such loops look at, in place of `st` or `atom.exch`.
    CounterSet {
        /// 64 bits.
        address: Operand,
        /// As wide as the word.
        value: Operand,
        width: u16,
        /// Whether all operations on words that are waited for are seen in program order: additions
        /// and stores are releases, and looks are acquires, or fences stand beside them.
        ordered: bool,
    },
    /// `mbarrier.pending_count` of a state.
    MbarrierPending {
        result: RegisterId,
        token: Operand,
    },

    // Asynchronous copies and matrix operations.
    /// `cp.async` of `ca` or `cg`: joins the thread's next copy group.
    Copy {
        destination: Operand,
        bytes: u32,
    },
    /// `cp.async.mbarrier.arrive`: arrives once the thread's earlier `cp.async` are done.
    CopyArrive {
        address: Operand,
        no_increment: bool,
    },
    /// Where one side is a tensor, its operand is the address of the tensor map.
    BulkCopy {
        destination: Operand,
        destination_space: Space,
        source: Operand,
        source_space: Space,
        bytes: Expected,
        completion: Completion,
    },
    /// `st.async` and `red.async`: writes to shared memory of the cluster and completes bytes.
    StoreAsync {
        destination: Operand,
        bytes: u32,
        address: Operand,
    },
    CommitGroup(GroupKind),
    WaitGroup {
        kind: GroupKind,
        /// How many of the last groups may still be under way.
        pending: Operand,
        read_only: bool,
    },
    /// `wgmma.fence`.
    MultiplyFence,
    /// `wgmma.mma_async`, with what it reads in shared memory, if that is known.
    Multiply {
        matrices: Option<Box<Matrices>>,
        /// Whether the reading is over before the warp does anything that others could tell: see `recover::inflight`.
        at_once: bool,
    },

    // Tensor memory.
    /// `tcgen05.mma`, `cp` and `shift`: asynchronous work that `TensorCommit` covers.
    TensorWork {
        pair: bool,
        /// What it reads in shared memory, if that is known.
        matrices: Option<Box<Matrices>>,
    },
    TensorCommit {
        address: Operand,
        pair: bool,
        multicast: Option<Operand>,
        /// Whether the address is of the cluster window.
        cluster: bool,
    },
    TensorAllocate {
        /// Where in shared memory the address of the columns is written.
        destination: Operand,
        columns: Operand,
        pair: bool,
    },
    TensorDeallocate {
        address: Operand,
        columns: Operand,
        pair: bool,
    },
    /// `tcgen05.relinquish_alloc_permit`.
    TensorRelinquish {
        pair: bool,
    },
    /// `tcgen05.wait::ld` or `::st`.
    TensorWait {
        store: bool,
    },
    TensorFence {
        after: bool,
    },

    // Launches.
    /// `clusterlaunchcontrol.try_cancel`: 16 bytes to shared memory, completed at an mbarrier.
    ClusterLaunchTryCancel {
        destination: Operand,
        address: Operand,
        multicast: bool,
    },
    /// `griddepcontrol.wait`.
    GridDependencyWait,
    /// `griddepcontrol.launch_dependents`.
    GridDependencyLaunch,

    // The machine.
    /// `clusterlaunchcontrol.query_cancel.is_canceled`: whether a response says that a cluster was taken over.
    ClusterLaunchQuery {
        result: RegisterId,
        response: Operand,
    },
    SetMaxRegisters {
        count: Operand,
        increase: bool,
    },
    Fence {
        order: MemoryOrder,
        scope: Scope,
        proxy: bool,
    },
    /// `fence.mbarrier_init`.
    FenceMbarrierInit,
    Sleep,

    // Lanes of a warp.
    /// `elect.sync`: a predicate that holds in one lane of the mask, and that lane's number.
    Elect {
        leader: Option<RegisterId>,
        elected: Option<RegisterId>,
        mask: Operand,
    },
    Shuffle {
        mode: ShuffleMode,
        result: RegisterId,
        /// Whether the lane read from was in range.
        valid: Option<RegisterId>,
        value: Operand,
        lane: Operand,
        clamp: Operand,
        mask: Operand,
    },
    Vote {
        mode: VoteMode,
        result: RegisterId,
        predicate: Operand,
        mask: Operand,
    },
    /// `match.any` or `match.all`.
    Match {
        all: bool,
        result: RegisterId,
        predicate: Option<RegisterId>,
        value: Operand,
        mask: Operand,
    },
    /// `redux.sync`; `operation` with its type as in PTX, as `min.s32`.
    Reduce {
        operation: &'static str,
        result: RegisterId,
        value: Operand,
        mask: Operand,
    },
    ActiveMask {
        result: RegisterId,
    },
}

impl Synchronization {
    /// Whether no other warp can tell that this was done: it ties lanes of one warp together, orders memory, or is
    /// work of which something else tells when it is done.
    pub fn is_unseen(&self) -> bool {
        matches!(
            self,
            Self::WarpSync { .. }
                | Self::Copy { .. }
                | Self::MbarrierPending { .. }
                | Self::MultiplyFence
                | Self::Multiply { .. }
                | Self::TensorWork { .. }
                | Self::TensorWait { .. }
                | Self::TensorFence { .. }
                | Self::Fence { .. }
                | Self::FenceMbarrierInit
                | Self::Sleep
                | Self::Elect { .. }
                | Self::Shuffle { .. }
                | Self::Vote { .. }
                | Self::Match { .. }
                | Self::Reduce { .. }
                | Self::ActiveMask { .. }
        )
    }

    /// Whether it is `.aligned`, so that all lanes of a warp carry it out together, and no barrier.
    pub fn is_for_all_lanes(&self) -> bool {
        matches!(
            self,
            Self::TensorAllocate { .. }
                | Self::TensorDeallocate { .. }
                | Self::TensorRelinquish { .. }
                | Self::TensorWait { .. }
        ) || self.is_multiplication()
    }

    /// Whether it is one of the instructions of `wgmma`, which the four warps of a warpgroup carry out together.
    pub fn is_multiplication(&self) -> bool {
        matches!(
            self,
            Self::MultiplyFence
                | Self::Multiply { .. }
                | Self::CommitGroup(GroupKind::Multiply)
                | Self::WaitGroup {
                    kind: GroupKind::Multiply,
                    ..
                }
        )
    }
}
