//! The bytes of shared memory that an operation reads or writes.
//!
//! Every operation is of one of three kinds. It certainly accesses no shared memory. Or it accesses exactly the bytes
//! that are listed here. Or it is [`Touch::Unfollowed`]. An operation that is not listed is of the third kind. So no
//! access is missed.

use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::GroupKind;
use crate::ir::Matrices;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;

/// The access of an operation to memory that may be shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// Each lane reads or writes this many bytes, from the address on, before it goes on.
    Bytes {
        space: Space,
        address: Operand,
        bytes: u64,
        writes: bool,
        /// Whether the access is strong: two such accesses to the same bytes at the same time are no race.
        strong: bool,
    },
    /// All lanes of the warp together read or write rows of 16 bytes. The addresses come from this many of the lowest
    /// lanes.
    Rows {
        space: Space,
        address: Operand,
        count: u32,
        writes: bool,
    },
    /// A copy writes this many bytes, from the address on. It is done when it has signalled an mbarrier.
    Arriving {
        space: Space,
        address: Operand,
        bytes: Operand,
    },
    /// Lanes start to read or write this many bytes, from the address on. The work becomes a part of the lane's next
    /// group.
    Grouped {
        space: Space,
        address: Operand,
        bytes: Operand,
        writes: bool,
        kind: GroupKind,
    },
    /// A tensor copy writes or reads bytes, from the address on. Only the tensor map determines how many. The copy is
    /// done when it has signalled an mbarrier, or it is a part of the lane's next group.
    Mapped {
        space: Space,
        address: Operand,
        group: Option<GroupKind>,
    },
    /// A multiplication reads matrices.
    Matrices {
        matrices: Box<Matrices>,
        /// The event that ends the reading, if the reading goes on after the instruction.
        lasts: Option<Lasts>,
    },
    /// No access. An mbarrier will be signalled when the work of tensor cores is done.
    TensorCommit,
    /// No access. The work that was started before becomes a group.
    Commit(GroupKind),
    /// No access. All groups except for the last ones are waited for.
    Wait {
        kind: GroupKind,
        pending: Operand,
        read_only: bool,
    },
    /// It is not known which bytes are accessed, or until when, for this reason.
    Unfollowed(&'static str),
}

/// The event that ends the reading of a multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// A wait for its group.
    Group,
    /// The arrival of a later `tcgen05.commit`.
    Commit,
}

/// The bytes of a row of a matrix.
pub const ROW: u64 = 16;

/// Ranges of bytes in order. Ranges that overlap or are adjacent are joined.
pub fn joined(mut ranges: Vec<(i128, i128)>) -> Vec<(i128, i128)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let meets = next.0 <= last.1;
        if meets {
            last.1 = last.1.max(next.1);
        }
        meets
    });
    ranges
}

/// The mask of this many of the lowest lanes.
pub fn lowest(lanes: u32) -> u32 {
    match lanes {
        0 => 0,
        lanes => u32::MAX >> (32 - lanes.min(32)),
    }
}

impl Touch {
    /// The operands on which the accessed bytes depend.
    pub fn operands(&self) -> Vec<Operand> {
        match self {
            Self::Bytes { address, .. }
            | Self::Rows { address, .. }
            | Self::Mapped { address, .. } => vec![*address],
            Self::Arriving { address, bytes, .. } | Self::Grouped { address, bytes, .. } => {
                vec![*address, *bytes]
            }
            Self::Wait { pending, .. } => vec![*pending],
            Self::Matrices { matrices, .. } => matrices.operands(),
            Self::Commit(_) | Self::TensorCommit | Self::Unfollowed(_) => Vec::new(),
        }
    }
}

/// Opaque operations that read no memory, or no memory that may be shared. The names of matrix operations end with
/// `.`.
const ELSEWHERE: &[&str] = &[
    "tex.",
    "tld4.",
    "txq.",
    "suld.",
    "suq.",
    "movmatrix.",
    "mma.",
    "wmma.mma.",
    "wgmma.mma_async.",
    "multimem.ld_reduce.",
    "tcgen05.ld.",
    "tcgen05.st.",
    "sust.",
    "sured.",
    "prefetch.",
    "prefetchu.",
    "applypriority.",
    "cp.async.bulk.prefetch.",
    "pmevent",
    "brkpt",
    "stacksave",
    "stackrestore",
    "alloca",
    // The accesses of these are operations of their own.
    "atom.",
];

/// Opaque operations that write memory and read none except what they write. A copy such as `tensormap.cp_fenceproxy`
/// reads elsewhere, so it is not among them.
const WRITES_ONLY: &[&str] = &[
    "stmatrix.",
    "wmma.store.",
    "st.bulk.",
    "discard.",
    "tensormap.replace.",
];

const SEVERAL: &str = "races are not decided of copies to several CTAs of a cluster";

/// The size of the address of tensor memory, which an allocation writes.
const ALLOCATED: u64 = 4;

impl OperationKind {
    /// The access of the operation to shared memory, other than to mbarriers; `None` if there is none.
    pub fn touch(&self) -> Option<Touch> {
        match self {
            Self::Compute { .. }
            | Self::Special { .. }
            | Self::AddressOf { .. }
            | Self::ConvertAddress { .. }
            | Self::MapAddress { .. }
            | Self::CtaRank { .. } => None,
            Self::Load {
                results,
                space,
                address,
                width,
                order,
                ..
            } => simple(*space, *address, (results.len(), *width), *order, false),
            Self::Store {
                space,
                address,
                values,
                width,
                order,
                ..
            } => simple(*space, *address, (values.len(), *width), *order, true),
            Self::Atomic { space, .. } => space.may_be_shared().then_some(Touch::Unfollowed(
                "races are not decided of atomic operations on shared memory",
            )),
            Self::Opaque {
                rows: Some(rows), ..
            } => rows.space.may_be_shared().then_some(Touch::Rows {
                space: rows.space,
                address: rows.address,
                count: rows.count,
                writes: rows.writes,
            }),
            Self::Opaque {
                mnemonic,
                pure,
                write,
                ..
            } => {
                let elsewhere = match write {
                    Some(write) => {
                        !write.space.may_be_shared()
                            && WRITES_ONLY.iter().any(|word| mnemonic.starts_with(word))
                    }
                    None => *pure || ELSEWHERE.iter().any(|word| mnemonic.starts_with(word)),
                };
                (!elsewhere).then_some(Touch::Unfollowed(
                    "which bytes of shared memory this instruction reads or writes is not known",
                ))
            }
            Self::Unsupported { .. } => {
                Some(Touch::Unfollowed("an instruction that is not understood"))
            }
            Self::Synchronization(synchronization) => synchronization.touch(),
        }
    }
}

/// A load or store of several adjacent values.
fn simple(
    space: Space,
    address: Operand,
    (count, width): (usize, u16),
    order: MemoryOrder,
    writes: bool,
) -> Option<Touch> {
    if !space.may_be_shared() {
        return None;
    }
    let count = u64::try_from(count).ok();
    match count.and_then(|count| count.checked_mul(u64::from(width.div_ceil(8)))) {
        Some(bytes) if width.is_multiple_of(8) => Some(Touch::Bytes {
            space,
            address,
            bytes,
            writes,
            strong: order != MemoryOrder::Weak,
        }),
        _ => Some(Touch::Unfollowed(
            "races are not decided of accesses that are not whole bytes",
        )),
    }
}

impl Synchronization {
    fn touch(&self) -> Option<Touch> {
        let unfollowed = |reason| Some(Touch::Unfollowed(reason));
        match self {
            Self::BulkCopy {
                destination,
                destination_space,
                source,
                source_space,
                bytes,
                completion,
            } => {
                if source_space.may_be_shared() {
                    let Completion::Group(kind) = completion else {
                        return unfollowed(
                            "races are not decided of copies from shared memory to shared memory",
                        );
                    };
                    return match bytes {
                        Expected::Bytes(bytes) if !destination_space.may_be_shared() => {
                            Some(Touch::Grouped {
                                space: *source_space,
                                address: *source,
                                bytes: *bytes,
                                writes: false,
                                kind: *kind,
                            })
                        }
                        Expected::TensorMap if !destination_space.may_be_shared() => {
                            Some(Touch::Mapped {
                                space: *source_space,
                                address: *source,
                                group: Some(*kind),
                            })
                        }
                        _ => unfollowed("races are not decided of copies within shared memory"),
                    };
                }
                if !destination_space.may_be_shared() {
                    return None;
                }
                let alone = matches!(
                    completion,
                    Completion::Mbarrier {
                        multicast: None,
                        pair: false,
                        ..
                    }
                );
                match bytes {
                    Expected::Bytes(bytes) if alone => Some(Touch::Arriving {
                        space: *destination_space,
                        address: *destination,
                        bytes: *bytes,
                    }),
                    Expected::Bytes(_) => unfollowed(SEVERAL),
                    Expected::TensorMap if alone => Some(Touch::Mapped {
                        space: *destination_space,
                        address: *destination,
                        group: None,
                    }),
                    Expected::TensorMap => unfollowed(SEVERAL),
                }
            }
            // If there are fewer bytes to read, the rest is filled with zeros.
            Self::Copy { destination, bytes } => Some(Touch::Grouped {
                space: Space::Shared,
                address: *destination,
                bytes: Operand::Constant(u128::from(*bytes)),
                writes: true,
                kind: GroupKind::Copy,
            }),
            Self::CommitGroup(kind) => Some(Touch::Commit(*kind)),
            Self::WaitGroup {
                kind,
                pending,
                read_only,
            } => Some(Touch::Wait {
                kind: *kind,
                pending: *pending,
                read_only: *read_only,
            }),
            Self::StoreAsync { .. } => {
                unfollowed("races are not decided of `st.async` and `red.async`")
            }
            Self::Multiply { matrices, at_once } => match matrices {
                Some(matrices) => Some(Touch::Matrices {
                    matrices: matrices.clone(),
                    lasts: (!at_once).then_some(Lasts::Group),
                }),
                None => unfollowed("races are not decided of these operands of `wgmma`"),
            },
            Self::TensorWork { matrices, pair } => match matrices {
                Some(matrices) if !pair => Some(Touch::Matrices {
                    matrices: matrices.clone(),
                    lasts: Some(Lasts::Commit),
                }),
                _ => unfollowed("races are not decided of these operands of `tcgen05`"),
            },
            Self::TensorCommit { .. } => Some(Touch::TensorCommit),
            Self::TensorAllocate { destination, .. } => Some(Touch::Bytes {
                space: Space::Shared,
                address: *destination,
                bytes: ALLOCATED,
                writes: true,
                strong: false,
            }),
            Self::ClusterLaunchTryCancel { .. } => {
                unfollowed("races are not decided of the response of cluster launch control")
            }
            Self::BarrierSync { .. }
            | Self::BarrierArrive { .. }
            | Self::WarpSync { .. }
            | Self::ClusterArrive { .. }
            | Self::ClusterWait { .. }
            | Self::MbarrierInit { .. }
            | Self::MbarrierInvalidate { .. }
            | Self::MbarrierExpect { .. }
            | Self::MbarrierComplete { .. }
            | Self::MbarrierArrive { .. }
            | Self::MbarrierTest { .. }
            | Self::MbarrierWait { .. }
            | Self::MbarrierNumber { .. }
            | Self::CounterLook { .. }
            | Self::CounterAdd { .. }
            | Self::CounterSet { .. }
            | Self::MbarrierPending { .. }
            | Self::CopyArrive { .. }
            | Self::MultiplyFence
            | Self::TensorDeallocate { .. }
            | Self::TensorRelinquish { .. }
            | Self::TensorWait { .. }
            | Self::TensorFence { .. }
            | Self::GridDependencyWait
            | Self::GridDependencyLaunch
            | Self::ClusterLaunchQuery { .. }
            | Self::SetMaxRegisters { .. }
            | Self::Fence { .. }
            | Self::FenceMbarrierInit
            | Self::Sleep
            | Self::Elect { .. }
            | Self::Shuffle { .. }
            | Self::Vote { .. }
            | Self::Match { .. }
            | Self::Reduce { .. }
            | Self::ActiveMask { .. } => None,
        }
    }
}
