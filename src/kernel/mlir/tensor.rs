//! Tensor memory and clusters: allocation, commits, waits, and addresses of other CTAs.

use super::lower::Lower;
use super::special::ALL_LANES;
use super::synchronization::attribute_body;
use super::synchronization::keyed;
use super::syntax::Operation;
use super::value::Value;
use crate::ir::Compute;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Special;
use crate::ir::Stability;
use crate::ir::Synchronization;

/// Words and attributes by which an operation concerns a pair of CTAs.
pub fn is_pair(operation: &Operation<'_>) -> bool {
    attribute_body(operation, "cta_2") || operation.has_word("cta_2")
}

impl<'a> Lower<'_, 'a> {
    pub fn tensor(&mut self, operation: &Operation<'a>) -> Option<()> {
        let pair = is_pair(operation);
        let kind = match operation.name {
            "nvvm.tcgen05.commit" | "nvvm.tcgen05.commit.arrive" => {
                let barrier = self.operand_values(operation).into_iter().next()?;
                let (address, cluster) = self.mbarrier(&barrier)?;
                let multicast = match keyed(operation, "multicast_mask") {
                    Some(id) => {
                        let mask = *self.value(id).parts.first()?;
                        Some(self.build.convert(mask, 16, 32, false))
                    }
                    None => None,
                };
                Synchronization::TensorCommit {
                    address,
                    pair,
                    multicast,
                    cluster,
                }
            }
            "cute_nvgpu.arch.sm100.alloc_tmem" => Synchronization::TensorAllocate {
                destination: self.scalar(operation, 1)?,
                columns: self.scalar(operation, 0)?,
                pair,
            },
            "nvvm.tcgen05.alloc" => Synchronization::TensorAllocate {
                destination: self.scalar(operation, 0)?,
                columns: self.scalar(operation, 1)?,
                pair,
            },
            "cute_nvgpu.arch.sm100.dealloc_tmem" | "nvvm.tcgen05.dealloc" => {
                Synchronization::TensorDeallocate {
                    address: self.scalar(operation, 0)?,
                    columns: self.scalar(operation, 1)?,
                    pair,
                }
            }
            "cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit"
            | "nvvm.tcgen05.relinquish_alloc_permit" => Synchronization::TensorRelinquish { pair },
            "nvvm.tcgen05.wait" => Synchronization::TensorWait {
                store: operation.has_word("store") || attribute_body(operation, "store"),
            },
            "nvvm.tcgen05.fence" => Synchronization::TensorFence {
                after: operation.has_word("after") || attribute_body(operation, "after"),
            },
            "nvvm.tcgen05.shift" => Synchronization::TensorWork {
                pair,
                matrices: None,
            },
            "nvvm.tcgen05.cp" | "nvvm.tcgen05.mma" => Synchronization::TensorWork {
                pair,
                matrices: None,
            },
            "cute_nvgpu.arch.sm100.retrieve_tmem_ptr" => return self.allocated(operation),
            "nvvm.mapa" | "nvvm.mapa.shared.cluster" => return self.map_address(operation),
            _ => return None,
        };
        self.build.synchronize(kind);
        Some(())
    }

    /// Reads the address of tensor memory that an allocation has written to shared memory.
    fn allocated(&mut self, operation: &Operation<'a>) -> Option<()> {
        let address = self.scalar(operation, 0)?;
        let ty = self.result_type(operation, 0)?;
        let result = self.build.register(32);
        self.build.push(OperationKind::Load {
            results: vec![Some(result)],
            space: Space::Shared,
            address,
            width: 32,
            signed: false,
            order: MemoryOrder::Weak,
            scope: Scope::Cta,
            stability: Stability::Unsaid,
        });
        self.set(
            operation,
            0,
            Value::new(ty, vec![Operand::Register(result)]),
        )
    }

    fn map_address(&mut self, operation: &Operation<'a>) -> Option<()> {
        let (address, rank) = (self.scalar(operation, 0)?, self.scalar(operation, 1)?);
        let ty = self.result_type(operation, 0)?;
        let mapped = self.mapped(address, rank);
        self.set(operation, 0, Value::new(ty, vec![mapped]))
    }

    pub fn mapped(&mut self, address: Operand, rank: Operand) -> Operand {
        let result = self.build.register(32);
        self.build.push(OperationKind::MapAddress {
            result,
            address,
            rank,
            generic: false,
        });
        Operand::Register(result)
    }

    /// The same offset in the shared memory of the first CTA of the pair.
    pub fn leader_address(&mut self, address: Operand) -> Operand {
        let rank = self.build.special(Special::ClusterCtaRank, 32);
        let even = Operand::Constant(0xffff_fffe);
        let leader = self.build.compute(Compute::And, 32, &[rank, even]);
        self.mapped(address, leader)
    }

    /// Lets one lane of the warp start tensor work, as the compiler does for matrix operations.
    pub fn elected_tensor_work(&mut self, pair: bool) {
        let predicate = self.elect(ALL_LANES);
        self.guarded(predicate, |lower| {
            lower.build.synchronize(Synchronization::TensorWork {
                pair,
                matrices: None,
            });
        });
    }

    /// Emits operations that are executed only if a predicate holds.
    pub fn guarded(&mut self, predicate: crate::ir::RegisterId, emit: impl FnOnce(&mut Self)) {
        let before = self.build.guard.replace(crate::ir::Guard {
            predicate,
            negated: false,
        });
        emit(self);
        self.build.guard = before;
    }
}
