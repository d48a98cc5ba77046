//! Which bytes of shared memory an operation reads or writes.
//!
//! Every operation is of one of three sorts: it certainly touches no shared memory, it touches bytes that are said here
//! exactly, or it is [`Touch::Unfollowed`]. What is not listed is of the last sort, so that nothing is left out.

use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::GroupKind;
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

impl Touch {
    /// What says which bytes are touched.
    pub fn operands(&self) -> Vec<Operand> {
        match self {
            Self::Bytes { address, .. } => vec![*address],
            Self::Arriving { address, bytes, .. } | Self::Grouped { address, bytes, .. } => {
                vec![*address, *bytes]
            }
            Self::Wait { pending, .. } => vec![*pending],
            Self::Commit(_) | Self::Unfollowed(_) => Vec::new(),
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

const MAPPED: &str =
    "how many bytes this copy reads or writes is not known: only the tensor map says it";

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

/// A load or store of several values that lie behind each other.
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
    if order != MemoryOrder::Weak {
        return Some(Touch::Unfollowed(
            "races are not decided of volatile, relaxed, acquire and release accesses to shared memory",
        ));
    }
    let count = u64::try_from(count).ok();
    match count.and_then(|count| count.checked_mul(u64::from(width.div_ceil(8)))) {
        Some(bytes) if width.is_multiple_of(8) => Some(Touch::Bytes {
            space,
            address,
            bytes,
            writes,
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
                        _ => unfollowed(MAPPED),
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
                    Expected::Bytes(_) => {
                        unfollowed("races are not decided of copies to several CTAs of a cluster")
                    }
                    Expected::TensorMap => unfollowed(MAPPED),
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
            // Groups of multiplications are those of work that is not followed.
            Self::CommitGroup(kind) => {
                (*kind != GroupKind::Multiply).then_some(Touch::Commit(*kind))
            }
            Self::WaitGroup {
                kind,
                pending,
                read_only,
            } => (*kind != GroupKind::Multiply).then_some(Touch::Wait {
                kind: *kind,
                pending: *pending,
                read_only: *read_only,
            }),
            Self::StoreAsync { .. } => {
                unfollowed("races are not decided of `st.async` and `red.async`")
            }
            Self::Multiply => unfollowed("races are not decided of the operands of `wgmma`"),
            Self::TensorWork { .. } => {
                unfollowed("races are not decided of the operands of `tcgen05`")
            }
            Self::TensorAllocate { .. } => {
                unfollowed("races are not decided of the address that `tcgen05.alloc` writes")
            }
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
            | Self::MbarrierPending { .. }
            | Self::CopyArrive { .. }
            | Self::MultiplyFence
            | Self::TensorCommit { .. }
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
