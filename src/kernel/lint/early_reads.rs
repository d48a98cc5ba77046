//! Reads of global memory that may come before `griddepcontrol.wait`.
//!
//! A programmatic dependent launch may begin before the preceding grid has ended. What that grid writes is certainly there behind
//! `griddepcontrol.wait`, for the thread that executes it and for those that meet it at a barrier afterwards. A read before may see
//! old values. It is right if the preceding grid does not write that memory. So this is a lint, and no property.
//!
//! A thread has waited if every path that leads here has a wait. If only some paths or lanes have one, all threads have waited
//! behind the next barrier of the CTA or the cluster.
//!
//! Source: PTX ISA, "griddepcontrol".

use std::collections::BTreeMap;

use crate::cfg::Graph;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::lint::Lint;

/// Which threads have waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    All,
    Some,
    None,
}

/// The reads that may come before a wait. Nothing in a kernel without a wait: nobody says that its launch is a dependent one.
pub(super) fn early_reads(kernel: &Kernel) -> Vec<Lint> {
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    if !operations.any(is_wait) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (block, mut waited) in at_beginnings(kernel) {
        for operation in operations_of(kernel, block) {
            if waited != Waited::All && reads_global(operation) {
                found.push(Lint {
                    rule: "early-read",
                    location: operation.location.clone(),
                    message: "global memory may be read here before `griddepcontrol.wait`: what the preceding grid writes there may \
                              not have been written yet",
                    hint: "move the read after `griddepcontrol.wait`, unless no preceding grid writes this memory",
                });
            }
            waited = behind(waited, operation);
        }
    }
    found
}

/// Who has waited where a block begins, for every block that a thread can reach.
fn at_beginnings(kernel: &Kernel) -> BTreeMap<BlockId, Waited> {
    let graph = Graph::new(kernel);
    let mut before = BTreeMap::from([(BlockId(0), Waited::None)]);
    let mut work = vec![BlockId(0)];
    while let Some(block) = work.pop() {
        let Some(found) = before.get(&block) else {
            continue;
        };
        let operations = operations_of(kernel, block);
        let behind = operations.iter().fold(*found, behind);
        for next in graph.successors(block) {
            let joined = match before.get(next) {
                None => behind,
                Some(other) if *other == behind => behind,
                // It stays so: a join that could go back might never end.
                Some(_) => Waited::Some,
            };
            if before.insert(*next, joined) != Some(joined) {
                work.push(*next);
            }
        }
    }
    before
}

fn operations_of(kernel: &Kernel, block: BlockId) -> &[Operation] {
    let block = usize::try_from(block.0)
        .ok()
        .and_then(|at| kernel.blocks.get(at));
    block.map_or(&[], |block| &block.operations)
}

fn behind(waited: Waited, operation: &Operation) -> Waited {
    match waited {
        _ if is_wait(operation) && operation.guard.is_none() => Waited::All,
        Waited::None if is_wait(operation) => Waited::Some,
        Waited::Some if meets(operation) => Waited::All,
        waited => waited,
    }
}

fn is_wait(operation: &Operation) -> bool {
    matches!(
        operation.kind,
        OperationKind::Synchronization(Synchronization::GridDependencyWait)
    )
}

/// Whether threads of a CTA meet here.
fn meets(operation: &Operation) -> bool {
    let OperationKind::Synchronization(kind) = &operation.kind else {
        return false;
    };
    matches!(
        kind,
        Synchronization::BarrierSync { .. }
            | Synchronization::WarpSync { .. }
            | Synchronization::ClusterWait { .. }
            | Synchronization::MbarrierTest { .. }
            | Synchronization::MbarrierWait { .. }
    )
}

/// Whether an operation certainly reads global memory: a load, a copy, or an atomic operation.
fn reads_global(operation: &Operation) -> bool {
    match &operation.kind {
        OperationKind::Load { space, .. } | OperationKind::Atomic { space, .. } => {
            *space == Space::Global
        }
        OperationKind::Synchronization(Synchronization::Copy { .. }) => true,
        OperationKind::Synchronization(Synchronization::BulkCopy { source_space, .. }) => {
            *source_space == Space::Global
        }
        _ => false,
    }
}
