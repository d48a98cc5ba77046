//! The registers that an operation reads and writes, and the memory that it writes.

use crate::ir::BarrierReduction;
use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::Token;

/// A write to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    pub space: Space,
    pub address: Operand,
    /// How many bytes, at least; tensor maps do not show how many exactly.
    pub bytes: u64,
    /// Whether it also writes bytes that are not contiguous with these. For example, these may be further rows of a
    /// matrix.
    pub further: bool,
}

/// Asynchronous copies move multiples of 16 bytes.
const CHUNK: u64 = 16;

impl OperationKind {
    /// The registers that are written.
    pub fn results(&self) -> Vec<RegisterId> {
        match self {
            Self::Compute { result, .. }
            | Self::Special { result, .. }
            | Self::AddressOf { result, .. }
            | Self::ConvertAddress { result, .. }
            | Self::MapAddress { result, .. }
            | Self::CtaRank { result, .. } => vec![*result],
            Self::Load { results, .. } => results.iter().copied().flatten().collect(),
            Self::Store { .. } => Vec::new(),
            Self::Atomic { result, .. } => result.iter().copied().collect(),
            Self::Opaque { results, .. } | Self::Unsupported { results, .. } => results.clone(),
            Self::Synchronization(operation) => operation.results(),
        }
    }

    /// Whether the operation only gives registers values that are computed from registers, parameters, and numbers
    /// that the launch fixes.
    pub fn only_computes(&self) -> bool {
        matches!(
            self,
            Self::Compute { .. }
                | Self::Special { .. }
                | Self::AddressOf { .. }
                | Self::ConvertAddress { .. }
                | Self::Load {
                    space: Space::Parameter,
                    ..
                }
        )
    }

    /// The name of an operation that all lanes of a warp have to execute together and that does not synchronize. Such
    /// operations are for data only, so nothing else about them is followed.
    pub fn of_whole_warp(&self) -> Option<&str> {
        match self {
            Self::Opaque { mnemonic, .. } if mnemonic.contains(".aligned") => Some(mnemonic),
            _ => None,
        }
    }

    /// The write to memory, unless it goes through an mbarrier.
    pub fn write(&self) -> Option<Write> {
        let of = |space, address, bytes| {
            Some(Write {
                space,
                address,
                bytes,
                further: false,
            })
        };
        match self {
            Self::Store {
                space,
                address,
                values,
                width,
                ..
            } => {
                let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
                let each = u64::from(width.div_ceil(8));
                of(*space, *address, each.saturating_mul(count))
            }
            Self::Atomic {
                space,
                address,
                width,
                ..
            } => of(*space, *address, u64::from(width.div_ceil(8))),
            Self::Opaque { write, .. } => *write,
            Self::Synchronization(synchronization) => match synchronization {
                Synchronization::Copy { destination, bytes } => {
                    of(Space::Shared, *destination, u64::from(*bytes))
                }
                Synchronization::BulkCopy {
                    destination,
                    destination_space,
                    bytes,
                    ..
                } => {
                    let bytes = match bytes {
                        Expected::Bytes(Operand::Constant(bytes)) => u64::try_from(*bytes).ok(),
                        Expected::Bytes(Operand::Register(_)) | Expected::TensorMap => None,
                    };
                    of(*destination_space, *destination, bytes.unwrap_or(CHUNK))
                }
                Synchronization::StoreAsync {
                    destination, bytes, ..
                } => of(Space::Cluster, *destination, u64::from(*bytes)),
                Synchronization::TensorAllocate { destination, .. } => {
                    of(Space::Shared, *destination, 4)
                }
                Synchronization::ClusterLaunchTryCancel { destination, .. } => {
                    of(Space::Shared, *destination, CHUNK)
                }
                Synchronization::CounterAdd { address, width, .. }
                | Synchronization::CounterSet { address, width, .. } => {
                    of(Space::Global, *address, u64::from(width.div_ceil(8)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The operands that are read, without the guard.
    pub fn operands(&self) -> Vec<Operand> {
        match self {
            Self::Compute { operands, .. } => operands.clone(),
            Self::Opaque {
                operands,
                write,
                rows,
                ..
            } => {
                let written = write.map(|write| write.address);
                let named = rows.map(|rows| rows.address);
                let addresses = written.into_iter().chain(named);
                operands.iter().copied().chain(addresses).collect()
            }
            Self::Special { .. } | Self::AddressOf { .. } | Self::Unsupported { .. } => Vec::new(),
            Self::ConvertAddress { address, .. }
            | Self::CtaRank { address, .. }
            | Self::Load { address, .. } => vec![*address],
            Self::MapAddress { address, rank, .. } => vec![*address, *rank],
            Self::Store {
                address, values, ..
            }
            | Self::Atomic {
                address,
                operands: values,
                ..
            } => std::iter::once(*address)
                .chain(values.iter().copied())
                .collect(),
            Self::Synchronization(operation) => operation.operands(),
        }
    }
}

impl Synchronization {
    /// The address of the mbarrier that this operation works on, or at which it completes bytes.
    pub fn mbarrier(&self) -> Option<Operand> {
        match self {
            Self::MbarrierInit { address, .. }
            | Self::MbarrierInvalidate { address }
            | Self::MbarrierExpect { address, .. }
            | Self::MbarrierComplete { address, .. }
            | Self::MbarrierArrive { address, .. }
            | Self::MbarrierTest { address, .. }
            | Self::MbarrierWait { address, .. }
            | Self::MbarrierNumber { address, .. }
            | Self::CopyArrive { address, .. }
            | Self::StoreAsync { address, .. }
            | Self::TensorCommit { address, .. }
            | Self::ClusterLaunchTryCancel { address, .. }
            | Self::BulkCopy {
                completion: Completion::Mbarrier { address, .. },
                ..
            } => Some(*address),
            _ => None,
        }
    }

    /// The registers that are written.
    pub fn results(&self) -> Vec<RegisterId> {
        match self {
            Self::BarrierSync { reduction, .. } => reduction
                .iter()
                .map(|reduction| match reduction {
                    BarrierReduction::And { result, .. }
                    | BarrierReduction::Or { result, .. }
                    | BarrierReduction::Count { result, .. } => *result,
                })
                .collect(),
            Self::MbarrierArrive { token, .. } => token.iter().copied().collect(),
            Self::MbarrierTest { result, .. }
            | Self::CounterLook { result, .. }
            | Self::MbarrierPending { result, .. }
            | Self::Vote { result, .. }
            | Self::Reduce { result, .. }
            | Self::ClusterLaunchQuery { result, .. }
            | Self::ActiveMask { result } => vec![*result],
            Self::Elect {
                leader, elected, ..
            } => leader.iter().chain(elected).copied().collect(),
            Self::Shuffle {
                result,
                valid: second,
                ..
            }
            | Self::Match {
                result,
                predicate: second,
                ..
            } => std::iter::once(*result).chain(*second).collect(),
            _ => Vec::new(),
        }
    }

    /// The operands that are read, without the guard.
    pub fn operands(&self) -> Vec<Operand> {
        let token_of = |token: &Token| match token {
            Token::Parity(operand) | Token::State(operand) => *operand,
        };
        match self {
            Self::BarrierSync {
                barrier,
                threads,
                reduction,
                ..
            } => {
                let source = reduction.map(|reduction| match reduction {
                    BarrierReduction::And { source, .. }
                    | BarrierReduction::Or { source, .. }
                    | BarrierReduction::Count { source, .. } => source,
                });
                let first = std::iter::once(*barrier);
                first.chain(*threads).chain(source).collect()
            }
            Self::BarrierArrive {
                barrier, threads, ..
            } => vec![*barrier, *threads],
            Self::WarpSync { mask } | Self::Elect { mask, .. } => vec![*mask],
            Self::MbarrierInit { address, count } => vec![*address, *count],
            Self::MbarrierInvalidate { address } | Self::CopyArrive { address, .. } => {
                vec![*address]
            }
            Self::MbarrierExpect { address, bytes, .. }
            | Self::MbarrierComplete { address, bytes, .. } => vec![*address, *bytes],
            Self::MbarrierArrive {
                address,
                count,
                expect,
                ..
            } => [*address, *count].into_iter().chain(*expect).collect(),
            Self::MbarrierTest { address, token, .. }
            | Self::MbarrierWait { address, token, .. } => vec![*address, token_of(token)],
            Self::MbarrierNumber {
                address, number, ..
            } => vec![*address, *number],
            Self::CounterLook { address, .. } => vec![*address],
            Self::CounterAdd { address, value, .. } | Self::CounterSet { address, value, .. } => {
                vec![*address, *value]
            }
            Self::MbarrierPending { token, .. } => vec![*token],
            Self::Copy { destination, .. } => vec![*destination],
            Self::BulkCopy {
                destination,
                source,
                bytes,
                completion,
                ..
            } => {
                let mut read = vec![*destination, *source];
                if let Expected::Bytes(bytes) = bytes {
                    read.push(*bytes);
                }
                if let Completion::Mbarrier {
                    address, multicast, ..
                } = completion
                {
                    read.push(*address);
                    read.extend(*multicast);
                }
                read
            }
            Self::StoreAsync {
                destination,
                address,
                ..
            }
            | Self::ClusterLaunchTryCancel {
                destination,
                address,
                ..
            } => vec![*destination, *address],
            Self::WaitGroup { pending, .. } => vec![*pending],
            Self::ClusterLaunchQuery { response, .. } => vec![*response],
            Self::TensorCommit {
                address, multicast, ..
            } => std::iter::once(*address).chain(*multicast).collect(),
            Self::TensorAllocate {
                destination: address,
                columns,
                ..
            }
            | Self::TensorDeallocate {
                address, columns, ..
            } => vec![*address, *columns],
            Self::SetMaxRegisters { count, .. } => vec![*count],
            Self::Shuffle {
                value,
                lane,
                clamp,
                mask,
                ..
            } => vec![*value, *lane, *clamp, *mask],
            Self::Vote {
                predicate: value,
                mask,
                ..
            }
            | Self::Match { value, mask, .. }
            | Self::Reduce { value, mask, .. } => vec![*value, *mask],
            Self::Multiply { matrices, .. } | Self::TensorWork { matrices, .. } => {
                matrices.iter().flat_map(|one| one.operands()).collect()
            }
            Self::ClusterArrive { .. }
            | Self::ClusterWait { .. }
            | Self::CommitGroup(_)
            | Self::MultiplyFence
            | Self::TensorRelinquish { .. }
            | Self::TensorWait { .. }
            | Self::TensorFence { .. }
            | Self::GridDependencyWait
            | Self::GridDependencyLaunch
            | Self::Fence { .. }
            | Self::FenceMbarrierInit
            | Self::Sleep
            | Self::ActiveMask { .. } => Vec::new(),
        }
    }
}
