//! The bytes of shared memory that an operation reads or writes.
//!
//! Every operation is of one of three kinds. It certainly accesses no shared memory; or it accesses exactly the bytes
//! that are listed here; or it is [`Touch::Unfollowed`]. An operation that is not listed is of the third kind. So no
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

/// What an operation does to what may be shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// Each lane reads or writes so many bytes, from the address on, before it goes on.
    Bytes {
        space: Space,
        address: Operand,
        bytes: u64,
        writes: bool,
        /// Whether others may access the same bytes at once in the same way, so that two such accesses are no race.
        strong: bool,
    },
    /// All lanes of the warp together read or write rows of 16 bytes, at the addresses of so many of the lowest lanes.
    Rows {
        space: Space,
        address: Operand,
        count: u32,
        writes: bool,
    },
    /// A copy writes so many bytes, from the address on. It is done when it has told an mbarrier so.
    Arriving {
        space: Space,
        address: Operand,
        bytes: Operand,
    },
    /// Lanes start to read or write so many bytes, from the address on, as a part of the lane's next group.
    Grouped {
        space: Space,
        address: Operand,
        bytes: Operand,
        writes: bool,
        kind: GroupKind,
    },
    /// A tensor copy writes or reads bytes, from the address on. Only the tensor map says how many. It is done when it has told an
    /// mbarrier so, or is a part of the lane's next group.
    Mapped {
        space: Space,
        address: Operand,
        group: Option<GroupKind>,
    },
    /// A multiplication reads matrices.
    Matrices {
        matrices: Box<Matrices>,
        /// What ends the reading, if it goes on after the instruction.
        lasts: Option<Lasts>,
    },
    /// Nothing is touched, but an mbarrier is told when what tensor cores do is done.
    TensorCommit,
    /// Nothing is touched, but what was started before becomes a group.
    Commit(GroupKind),
    /// Nothing is touched, but groups are waited for, all but the last ones.
    Wait {
        kind: GroupKind,
        pending: Operand,
        read_only: bool,
    },
    /// Which bytes are touched, or until when, is not followed, for this reason.
    Unfollowed(&'static str),
}

/// What ends what a multiplication reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// A wait for its group.
    Group,
    /// The arrival of a later `tcgen05.commit`.
    Commit,
}

/// The bytes of a row of a matrix.
pub const ROW: u64 = 16;

/// Ranges of bytes in order, those that touch or overlap as one.
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

/// The mask of so many of the lowest lanes.
pub fn lowest(lanes: u32) -> u32 {
    match lanes {
        0 => 0,
        lanes => u32::MAX >> (32 - lanes.min(32)),
    }
}

impl Touch {
    /// What says which bytes are touched.
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

/// Opaque operations that read no memory, or none that may be shared. The names of matrix operations are followed by `.`.
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
    // Their accesses are operations of their own.
    "atom.",
];

/// Opaque operations that write, and read no memory, or only what they write. A copy, as `tensormap.cp_fenceproxy`, reads elsewhere.
const WRITES_ONLY: &[&str] = &[
    "stmatrix.",
    "wmma.store.",
    "st.bulk.",
    "discard.",
    "tensormap.replace.",
];

const SEVERAL: &str = "races are not decided of copies to several CTAs of a cluster";

/// The address of tensor memory, which an allocation writes.
const ALLOCATED: u64 = 4;

impl OperationKind {
    /// What the operation does to shared memory, other than to mbarriers; `None` if that is nothing.
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

/// A load or store of several values that lie one after the other.
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
            // With fewer bytes to read, the rest is filled with zeros.
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
