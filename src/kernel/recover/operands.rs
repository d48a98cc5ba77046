//! The registers that decide what an operation does to synchronization. For example, those are the
//! address of an mbarrier and a count, but not the source of a copy.

use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Synchronization;

/// The registers that matter among those that an operation reads, including its guard. Registers
/// that only say where data goes do not matter.
pub fn read(operation: &Operation) -> Vec<RegisterId> {
    let operands = match &operation.kind {
        OperationKind::Synchronization(synchronization) => without_data(synchronization),
        kind => kind.operands(),
    };
    registers(operation, operands).collect()
}

/// The register of the guard, and the registers among operands.
pub fn registers(
    operation: &Operation,
    operands: Vec<Operand>,
) -> impl Iterator<Item = RegisterId> {
    let guard = operation.guard.into_iter().map(|guard| guard.predicate);
    let read = operands.into_iter().filter_map(|operand| match operand {
        Operand::Register(register) => Some(register),
        Operand::Constant(_) => None,
    });
    guard.chain(read)
}

/// Whether all threads of a CTA get the same result from an operation if they give it the same
/// operands. They do if it computes, or reads what the launch gives to all of them.
pub fn is_alike_in_cta(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Special { special, .. } => special.is_of_cta(),
        OperationKind::Compute { .. }
        | OperationKind::AddressOf { .. }
        | OperationKind::ConvertAddress { .. }
        | OperationKind::MapAddress { .. } => true,
        OperationKind::Load { space, .. } => matches!(space, Space::Parameter | Space::Constant),
        _ => false,
    }
}

fn without_data(synchronization: &Synchronization) -> Vec<Operand> {
    match synchronization {
        // The waits before show which response is read.
        Synchronization::Copy { .. }
        | Synchronization::Multiply { .. }
        | Synchronization::TensorWork { .. }
        | Synchronization::ClusterLaunchQuery { .. } => Vec::new(),
        Synchronization::BulkCopy {
            bytes, completion, ..
        } => {
            let bytes = match bytes {
                Expected::Bytes(bytes) => Some(*bytes),
                Expected::TensorMap => None,
            };
            let told = match completion {
                Completion::Mbarrier {
                    address, multicast, ..
                } => [Some(*address), *multicast],
                Completion::Group(_) | Completion::None => [None, None],
            };
            bytes
                .into_iter()
                .chain(told.into_iter().flatten())
                .collect()
        }
        Synchronization::StoreAsync { address, .. }
        | Synchronization::ClusterLaunchTryCancel { address, .. } => {
            vec![*address]
        }
        Synchronization::TensorAllocate { columns, .. }
        | Synchronization::TensorDeallocate { columns, .. } => {
            vec![*columns]
        }
        other => other.operands(),
    }
}
