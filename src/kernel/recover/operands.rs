//! Which registers an operation reads and writes.

use crate::ir::BarrierReduction;
use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Synchronization;
use crate::ir::Token;

/// The registers that an operation writes.
pub fn written(kind: &OperationKind) -> Vec<RegisterId> {
    match kind {
        OperationKind::Compute { result, .. }
        | OperationKind::Special { result, .. }
        | OperationKind::AddressOf { result, .. }
        | OperationKind::ConvertAddress { result, .. }
        | OperationKind::MapAddress { result, .. }
        | OperationKind::CtaRank { result, .. } => vec![*result],
        OperationKind::Load { results, .. } => results.iter().flatten().copied().collect(),
        OperationKind::Store { .. } => Vec::new(),
        OperationKind::Atomic { result, .. } => result.iter().copied().collect(),
        OperationKind::Opaque { results, .. } | OperationKind::Unsupported { results, .. } => {
            results.clone()
        }
        OperationKind::Synchronization(synchronization) => written_by(synchronization),
    }
}

fn written_by(synchronization: &Synchronization) -> Vec<RegisterId> {
    match synchronization {
        Synchronization::BarrierSync { reduction, .. } => reduction
            .iter()
            .map(|reduction| match reduction {
                BarrierReduction::And { result, .. }
                | BarrierReduction::Or { result, .. }
                | BarrierReduction::Count { result, .. } => *result,
            })
            .collect(),
        Synchronization::MbarrierArrive { token, .. } => token.iter().copied().collect(),
        Synchronization::MbarrierTest { result, .. }
        | Synchronization::MbarrierPending { result, .. }
        | Synchronization::Vote { result, .. }
        | Synchronization::Reduce { result, .. }
        | Synchronization::ActiveMask { result } => vec![*result],
        Synchronization::Elect {
            leader, elected, ..
        } => leader.iter().chain(elected).copied().collect(),
        Synchronization::Shuffle { result, valid, .. } => {
            std::iter::once(result).chain(valid).copied().collect()
        }
        Synchronization::Match {
            result, predicate, ..
        } => std::iter::once(result).chain(predicate).copied().collect(),
        _ => Vec::new(),
    }
}

/// The registers that an operation reads, its guard among them.
pub fn read(operation: &Operation) -> Vec<RegisterId> {
    let mut all: Vec<RegisterId> = operation
        .guard
        .iter()
        .map(|guard| guard.predicate)
        .collect();
    let mut add = |operand: &Operand| {
        if let Operand::Register(register) = operand {
            all.push(*register);
        }
    };
    match &operation.kind {
        OperationKind::Compute { operands, .. } | OperationKind::Opaque { operands, .. } => {
            operands.iter().for_each(add);
        }
        OperationKind::Special { .. }
        | OperationKind::AddressOf { .. }
        | OperationKind::Unsupported { .. } => {}
        OperationKind::ConvertAddress { address, .. }
        | OperationKind::CtaRank { address, .. }
        | OperationKind::Load { address, .. } => add(address),
        OperationKind::MapAddress { address, rank, .. } => {
            add(address);
            add(rank);
        }
        OperationKind::Store {
            address, values, ..
        } => {
            add(address);
            values.iter().for_each(add);
        }
        OperationKind::Atomic {
            address, operands, ..
        } => {
            add(address);
            operands.iter().for_each(add);
        }
        OperationKind::Synchronization(synchronization) => read_by(synchronization, &mut add),
    }
    all
}

fn read_by(synchronization: &Synchronization, add: &mut dyn FnMut(&Operand)) {
    match synchronization {
        Synchronization::BarrierSync {
            barrier,
            threads,
            reduction,
            ..
        } => {
            add(barrier);
            threads.iter().for_each(&mut *add);
            if let Some(
                BarrierReduction::And { source, .. }
                | BarrierReduction::Or { source, .. }
                | BarrierReduction::Count { source, .. },
            ) = reduction
            {
                add(source);
            }
        }
        Synchronization::BarrierArrive {
            barrier, threads, ..
        } => {
            add(barrier);
            add(threads);
        }
        Synchronization::WarpSync { mask } | Synchronization::Elect { mask, .. } => add(mask),
        Synchronization::MbarrierInit { address, count } => {
            add(address);
            add(count);
        }
        Synchronization::MbarrierInvalidate { address }
        | Synchronization::CopyArrive { address, .. } => add(address),
        Synchronization::MbarrierExpect { address, bytes, .. }
        | Synchronization::MbarrierComplete { address, bytes, .. } => {
            add(address);
            add(bytes);
        }
        Synchronization::MbarrierArrive {
            address,
            count,
            expect,
            ..
        } => {
            add(address);
            add(count);
            expect.iter().for_each(add);
        }
        Synchronization::MbarrierTest { address, token, .. }
        | Synchronization::MbarrierWait { address, token, .. } => {
            add(address);
            match token {
                Token::Parity(operand) | Token::State(operand) => add(operand),
            }
        }
        Synchronization::MbarrierPending { token, .. } => add(token),
        Synchronization::BulkCopy {
            bytes, completion, ..
        } => {
            if let Expected::Bytes(bytes) = bytes {
                add(bytes);
            }
            if let Completion::Mbarrier {
                address, multicast, ..
            } = completion
            {
                add(address);
                multicast.iter().for_each(add);
            }
        }
        Synchronization::StoreAsync { address, .. } => add(address),
        Synchronization::WaitGroup { pending, .. } => add(pending),
        Synchronization::TensorCommit {
            address, multicast, ..
        } => {
            add(address);
            multicast.iter().for_each(add);
        }
        Synchronization::TensorAllocate { columns, .. }
        | Synchronization::TensorDeallocate { columns, .. } => {
            add(columns);
        }
        Synchronization::ClusterLaunchTryCancel { address, .. } => add(address),
        Synchronization::SetMaxRegisters { count, .. } => add(count),
        Synchronization::Shuffle {
            value,
            lane,
            clamp,
            mask,
            ..
        } => {
            for operand in [value, lane, clamp, mask] {
                add(operand);
            }
        }
        Synchronization::Vote {
            predicate, mask, ..
        } => {
            add(predicate);
            add(mask);
        }
        Synchronization::Match { value, mask, .. }
        | Synchronization::Reduce { value, mask, .. } => {
            add(value);
            add(mask);
        }
        Synchronization::ClusterArrive { .. }
        | Synchronization::ClusterWait { .. }
        | Synchronization::Copy { .. }
        | Synchronization::CommitGroup(_)
        | Synchronization::MultiplyFence
        | Synchronization::Multiply
        | Synchronization::TensorWork { .. }
        | Synchronization::TensorRelinquish { .. }
        | Synchronization::TensorWait { .. }
        | Synchronization::TensorFence { .. }
        | Synchronization::GridDependencyWait
        | Synchronization::GridDependencyLaunch
        | Synchronization::Fence { .. }
        | Synchronization::FenceMbarrierInit
        | Synchronization::Sleep
        | Synchronization::ActiveMask { .. } => {}
    }
}
