//! Substitution of the registers of an operation.

use crate::ir::BarrierReduction;
use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Product;
use crate::ir::RegisterId;
use crate::ir::Synchronization;
use crate::ir::Token;

impl Operation {
    /// Applies `change` to every register of the operation: its guard, its operands and its results.
    pub fn rename(&mut self, change: &mut dyn FnMut(&mut RegisterId)) {
        if let Some(guard) = &mut self.guard {
            change(&mut guard.predicate);
        }
        kind(&mut self.kind, change);
    }
}

type Change<'c> = &'c mut dyn FnMut(&mut RegisterId);

fn operand(operand: &mut Operand, change: Change<'_>) {
    if let Operand::Register(register) = operand {
        change(register);
    }
}

fn operands<'o>(list: impl IntoIterator<Item = &'o mut Operand>, change: Change<'_>) {
    for one in list {
        operand(one, change);
    }
}

fn registers<'o>(list: impl IntoIterator<Item = &'o mut RegisterId>, change: Change<'_>) {
    for register in list {
        change(register);
    }
}

fn kind(kind: &mut OperationKind, change: Change<'_>) {
    match kind {
        OperationKind::Compute {
            result,
            operands: list,
            ..
        } => {
            change(result);
            operands(list, change);
        }
        OperationKind::Special { result, .. } | OperationKind::AddressOf { result, .. } => {
            change(result);
        }
        OperationKind::ConvertAddress {
            result, address, ..
        }
        | OperationKind::CtaRank {
            result, address, ..
        } => {
            change(result);
            operand(address, change);
        }
        OperationKind::MapAddress {
            result,
            address,
            rank,
            ..
        } => {
            change(result);
            operands([address, rank], change);
        }
        OperationKind::Load {
            results, address, ..
        } => {
            registers(results.iter_mut().flatten(), change);
            operand(address, change);
        }
        OperationKind::Store {
            address, values, ..
        } => {
            operand(address, change);
            operands(values, change);
        }
        OperationKind::Atomic {
            result,
            address,
            operands: list,
            ..
        } => {
            registers(result, change);
            operand(address, change);
            operands(list, change);
        }
        OperationKind::Synchronization(event) => synchronization(event, change),
        OperationKind::Opaque {
            results,
            operands: list,
            write,
            rows,
            ..
        } => {
            registers(results, change);
            operands(list, change);
            if let Some(rows) = rows {
                operand(&mut rows.address, change);
            }
            if let Some(write) = write {
                operand(&mut write.address, change);
            }
        }
        OperationKind::Unsupported { results, .. } => registers(results, change),
    }
}

fn token(token: &mut Token, change: Change<'_>) {
    match token {
        Token::Parity(value) | Token::State(value) => operand(value, change),
    }
}

fn expected(bytes: &mut Expected, change: Change<'_>) {
    match bytes {
        Expected::Bytes(bytes) => operand(bytes, change),
        Expected::TensorMap => {}
    }
}

fn completion(completion: &mut Completion, change: Change<'_>) {
    match completion {
        Completion::Mbarrier {
            address, multicast, ..
        } => {
            operand(address, change);
            operands(multicast, change);
        }
        Completion::Group(_) | Completion::None => {}
    }
}

fn synchronization(event: &mut Synchronization, change: Change<'_>) {
    match event {
        Synchronization::BarrierSync {
            barrier,
            threads,
            reduction,
            ..
        } => {
            operand(barrier, change);
            operands(threads, change);
            match reduction {
                Some(
                    BarrierReduction::And { result, source }
                    | BarrierReduction::Or { result, source }
                    | BarrierReduction::Count { result, source },
                ) => {
                    change(result);
                    operand(source, change);
                }
                None => {}
            }
        }
        Synchronization::BarrierArrive {
            barrier, threads, ..
        } => operands([barrier, threads], change),
        Synchronization::WarpSync { mask } => operand(mask, change),
        Synchronization::MbarrierInit { address, count } => operands([address, count], change),
        Synchronization::MbarrierInvalidate { address }
        | Synchronization::CopyArrive { address, .. } => operand(address, change),
        Synchronization::MbarrierExpect { address, bytes, .. }
        | Synchronization::MbarrierComplete { address, bytes, .. } => {
            operands([address, bytes], change);
        }
        Synchronization::MbarrierArrive {
            address,
            count,
            expect,
            token,
            ..
        } => {
            operands([address, count], change);
            operands(expect, change);
            registers(token, change);
        }
        Synchronization::MbarrierNumber {
            address, number, ..
        } => operands([address, number], change),
        Synchronization::MbarrierTest {
            result,
            address,
            token: state,
            ..
        } => {
            change(result);
            operand(address, change);
            token(state, change);
        }
        Synchronization::MbarrierWait {
            address,
            token: state,
            ..
        } => {
            operand(address, change);
            token(state, change);
        }
        Synchronization::CounterLook {
            result, address, ..
        } => {
            change(result);
            operand(address, change);
        }
        Synchronization::CounterAdd { address, value, .. }
        | Synchronization::CounterSet { address, value, .. } => operands([address, value], change),
        Synchronization::MbarrierPending { result, token } => {
            change(result);
            operand(token, change);
        }
        Synchronization::Copy { destination, .. } => operand(destination, change),
        Synchronization::BulkCopy {
            destination,
            source,
            bytes,
            completion: done,
            ..
        } => {
            operands([destination, source], change);
            expected(bytes, change);
            completion(done, change);
        }
        Synchronization::StoreAsync {
            destination,
            address,
            ..
        }
        | Synchronization::ClusterLaunchTryCancel {
            destination,
            address,
            ..
        } => operands([destination, address], change),
        Synchronization::WaitGroup { pending, .. } => operand(pending, change),
        Synchronization::TensorCommit {
            address, multicast, ..
        } => {
            operand(address, change);
            operands(multicast, change);
        }
        Synchronization::TensorAllocate {
            destination,
            columns,
            ..
        } => operands([destination, columns], change),
        Synchronization::TensorDeallocate {
            address, columns, ..
        } => operands([address, columns], change),
        Synchronization::SetMaxRegisters { count, .. } => operand(count, change),
        Synchronization::Elect {
            leader,
            elected,
            mask,
        } => {
            registers(leader, change);
            registers(elected, change);
            operand(mask, change);
        }
        Synchronization::Shuffle {
            result,
            valid,
            value,
            lane,
            clamp,
            mask,
            ..
        } => {
            change(result);
            registers(valid, change);
            operands([value, lane, clamp, mask], change);
        }
        Synchronization::Vote {
            result,
            predicate,
            mask,
            ..
        } => {
            change(result);
            operands([predicate, mask], change);
        }
        Synchronization::Match {
            result,
            predicate,
            value,
            mask,
            ..
        } => {
            change(result);
            registers(predicate, change);
            operands([value, mask], change);
        }
        Synchronization::Reduce {
            result,
            value,
            mask,
            ..
        } => {
            change(result);
            operands([value, mask], change);
        }
        Synchronization::ActiveMask { result } => change(result),
        Synchronization::ClusterLaunchQuery { result, response } => {
            change(result);
            operand(response, change);
        }
        Synchronization::Multiply { matrices, .. }
        | Synchronization::TensorWork { matrices, .. } => {
            if let Some(matrices) = matrices {
                matrices
                    .first
                    .iter_mut()
                    .for_each(|one| operand(one, change));
                operand(&mut matrices.second, change);
                if let Product::Tensor { word, .. } = &mut matrices.product {
                    operand(word, change);
                }
            }
        }
        Synchronization::ClusterArrive { .. }
        | Synchronization::ClusterWait { .. }
        | Synchronization::CommitGroup(_)
        | Synchronization::MultiplyFence
        | Synchronization::TensorRelinquish { .. }
        | Synchronization::TensorWait { .. }
        | Synchronization::TensorFence { .. }
        | Synchronization::GridDependencyWait
        | Synchronization::GridDependencyLaunch
        | Synchronization::Fence { .. }
        | Synchronization::FenceMbarrierInit
        | Synchronization::Sleep => {}
    }
}
