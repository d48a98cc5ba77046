//! Synchronization operations, and warp-level operations.
//!
//! The address of an mbarrier is in the shared window of the own CTA, or in that of the cluster if a field `cluster`
//! says so. Counts, bytes and masks are 32-bit operands unless stated otherwise.

use crate::ir::Matrices;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Space;

/// The phase that a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
    /// Waits until the phase with this parity (bit 0) has completed.
    Parity(Operand),
    /// Waits until the phase of the arrival that returned this state has completed.
    State(Operand),
}

/// How the number of bytes of a bulk copy is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    Bytes(Operand),
    /// From the tensor map, which the code does not show.
    TensorMap,
}

/// What is signalled when asynchronous work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Completion {
    /// Bytes are completed at an mbarrier. With a `multicast` mask, this happens at the mbarrier of the same offset
    /// in every CTA of the mask. With `pair`, the address may belong to either CTA of the pair.
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
    /// `mbarrier.arrive`. With `.expect_tx` if `expect` is given. Includes `.noComplete` and `arrive_drop`.
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
    /// `test_wait`, or `try_wait` if `blocking`. The result is a predicate.
    MbarrierTest {
        result: RegisterId,
        address: Operand,
        token: Token,
        blocking: bool,
        order: MemoryOrder,
        scope: Scope,
    },
    /// Blocks until the phase has completed. A reader of structured IR makes this operation if it recognises a wait.
    MbarrierWait {
        address: Operand,
        token: Token,
        order: MemoryOrder,
        scope: Scope,
    },
    /// A mark that recovery inserts before an arrival. It counts the arrivals of this class that the thread has made
    /// so far. The states of these arrivals are such numbers.
    MbarrierNumber {
        address: Operand,
        number: Operand,
        class: u32,
    },
    /// A load of a word of global memory in a loop that ends when the word has some value. Recovery puts this
    /// operation in place of the load.
    CounterLook {
        result: RegisterId,
        /// 64 bits.
        address: Operand,
        /// Of the word, in bits.
        width: u16,
    },
    /// An addition to a word of global memory that such loops may read. It replaces `red` or `atom`.
    CounterAdd {
        /// 64 bits.
        address: Operand,
        /// As wide as the word.
        value: Operand,
        width: u16,
    },
    /// A store to a word of global memory that such loops read. It replaces `st` or `atom.exch`.
    CounterSet {
        /// 64 bits.
        address: Operand,
        /// As wide as the word.
        value: Operand,
        width: u16,
        /// Whether all operations on awaited words are visible in program order. This holds if additions and stores
        /// are releases and looks are acquires, or if fences stand beside them.
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
    /// A bulk copy. If one side is a tensor, its operand is the address of the tensor map.
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
    /// `wgmma.mma_async`, with the matrices in shared memory that it reads, if these are known.
    Multiply {
        matrices: Option<Box<Matrices>>,
        /// Whether the reading is over before the warp does anything that other warps can observe; see
        /// `recover::inflight`.
        at_once: bool,
    },

    // Tensor memory.
    /// `tcgen05.mma`, `cp` and `shift`: asynchronous work that a `TensorCommit` covers.
    TensorWork {
        pair: bool,
        /// The matrices in shared memory that it reads, if these are known.
        matrices: Option<Box<Matrices>>,
    },
    TensorCommit {
        address: Operand,
        pair: bool,
        multicast: Option<Operand>,
        /// Whether the address is in the window of the cluster.
        cluster: bool,
    },
    TensorAllocate {
        /// The place in shared memory to which the address of the columns is written.
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
    /// `clusterlaunchcontrol.try_cancel`: writes 16 bytes to shared memory and completes them at an mbarrier.
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
    /// `redux.sync`. `operation` includes its type as in PTX, for example `min.s32`.
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
    /// Whether no other warp can observe this operation. Such an operation ties lanes of one warp together, orders
    /// memory, or is work whose completion another operation signals.
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

    /// Whether it is `.aligned`, so that all lanes of a warp have to execute it together, and is not a barrier.
    pub fn is_for_all_lanes(&self) -> bool {
        matches!(
            self,
            Self::TensorAllocate { .. }
                | Self::TensorDeallocate { .. }
                | Self::TensorRelinquish { .. }
                | Self::TensorWait { .. }
        ) || self.is_multiplication()
    }

    /// Whether it is one of the `wgmma` instructions. The four warps of a warpgroup execute these together.
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
