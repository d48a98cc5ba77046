//! Words of global memory that warps wait for.
//!
//! Words of global memory that warps wait for.
//!
//! For example, `while (acquire(&lock[m]) != n);` waits until others have executed
//! `red.release.add [lock + 4 * m], 1` often enough, or have stored `n`. Here such a load becomes a
//! *look* at a word, such a `red` an addition to a word, and a store becomes one to a word. So
//! recovery and interpreter read the same operations. The walk later finds which values are
//! awaited, added and stored, and in which word. [`super::stored`] decides which stores are
//! accepted.
//!
//! The pointers in an address say to which memory it belongs. They are parameters of 8 bytes that
//! are terms of its sum. Different parameters are assumed to point to different memory. Any other
//! write to memory that is waited for is refused: a weak store, a store of several values, another
//! atomic operation, a copy, or a write with a scope below the whole GPU. A store or copy may have
//! an address that cannot be followed back to a parameter. It is assumed to go elsewhere, and that
//! is printed. An atomic operation on integers at such an address is refused.

use std::collections::BTreeSet;

use crate::cfg::Loop;
use crate::ir::AtomicOperation;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::recover::graph::Graph;
use crate::recover::operands::registers;
use crate::recover::pointers::APART;
use crate::recover::pointers::Bases;
use crate::recover::pointers::Pointers;
use crate::recover::pointers::are_followed;
use crate::recover::pointers::is_parameter;
use crate::recover::pointers::wide_sizes;
use crate::recover::pointers::written;
use crate::recover::slice::is_event;
use crate::recover::slice::memory_decides;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Assumed of words that are waited for.
pub const ASSUMPTIONS: [&str; 3] = [
    "counters in memory are 0 at launch",
    "counters in memory stay below 2^31",
    APART,
];

const ELSEWHERE: &str = "stores and copies to addresses in global memory that are not followed do not reach words that are waited for";

const OTHERWISE: &str = "this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see";
const RESULT: &str = "this atomic operation changes a word that the kernel waits for, and the kernel uses its result: that is not supported";
const NEAR: &str = "other CTAs wait for this memory, and need not see what is done in this scope";

type Result<T> = std::result::Result<T, Obstacle>;

/// The kernel with looks at words and additions to them, or `None` if nothing waits for global
/// memory.
pub fn with_counters(kernel: &Kernel) -> Result<Option<Kernel>> {
    let graph = Graph::new(kernel);
    let pointers = Pointers::new(kernel);
    let sizes = wide_sizes(kernel);
    let mut looks: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut fenced: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut awaited = Bases::new();
    for (_, natural) in graph.loops() {
        let found = looks_of(&pointers, natural, &graph, &sizes)?;
        let is_fenced = !found.is_empty() && fence_behind(kernel, natural, &graph);
        for (place, bases) in found {
            looks.insert(place);
            fenced.extend(is_fenced.then_some(place));
            awaited.extend(bases);
        }
    }
    if looks.is_empty() {
        return Ok(None);
    }
    let mut changed = kernel.clone();
    let used = used(kernel);
    let mut unknown = false;
    let mut ordered = true;
    for (at, block) in kernel.blocks.iter().enumerate() {
        for (index, operation) in block.operations.iter().enumerate() {
            let slot = &mut changed.blocks[at].operations[index].kind;
            if looks.contains(&(at, index)) {
                let OperationKind::Load {
                    results,
                    address,
                    width,
                    order,
                    ..
                } = &operation.kind
                else {
                    continue;
                };
                let [Some(result)] = results.as_slice() else {
                    continue;
                };
                *slot = OperationKind::Synchronization(Synchronization::CounterLook {
                    result: *result,
                    address: *address,
                    width: *width,
                });
                ordered &= *order == MemoryOrder::Acquire || fenced.contains(&(at, index));
            } else if let Some(address) = written(operation) {
                let bases = pointers.bases(address);
                let followed = are_followed(&bases);
                let adds = matches!(
                    operation.kind,
                    OperationKind::Atomic { operation, .. } if operation != AtomicOperation::Other
                );
                let begins = !bases.is_disjoint(&awaited);
                // By the distance between two arrays: which word that is, is not followed.
                if !begins && !pointers.mentioned(address).is_disjoint(&awaited) {
                    return refuse(OTHERWISE, &operation.location);
                }
                if begins || !followed && adds {
                    let fenced = fence_before(&block.operations, index);
                    *slot = OperationKind::Synchronization(change(operation, &used)?);
                    ordered &= fenced || releases(operation);
                } else if !followed {
                    unknown = true;
                }
            }
        }
    }
    for operation in changed
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.operations)
    {
        if let OperationKind::Synchronization(Synchronization::CounterSet {
            ordered: all, ..
        }) = &mut operation.kind
        {
            *all = ordered;
        }
    }
    if unknown {
        changed.assumptions.push(ELSEWHERE.to_owned());
    }
    Ok(Some(changed))
}

/// The registers that anything reads.
fn used(kernel: &Kernel) -> BTreeSet<RegisterId> {
    let mut used = BTreeSet::new();
    for block in &kernel.blocks {
        for operation in &block.operations {
            used.extend(registers(operation, operation.kind.operands()));
        }
        used.extend(block.end.decides());
    }
    used
}

/// What an operation is that may write to a word that is waited for: an addition or a store. Fails
/// if it is neither.
fn change(operation: &Operation, used: &BTreeSet<RegisterId>) -> Result<Synchronization> {
    if let OperationKind::Atomic {
        result: Some(result),
        ..
    } = &operation.kind
        && used.contains(result)
    {
        return refuse(RESULT, &operation.location);
    }
    let (address, value, width, order, scope) = match &operation.kind {
        OperationKind::Store {
            address,
            values,
            width,
            order,
            scope,
            ..
        } => match values.as_slice() {
            [value] => (*address, *value, *width, *order, *scope),
            _ => return refuse(OTHERWISE, &operation.location),
        },
        OperationKind::Atomic {
            operation: AtomicOperation::Exchange,
            address,
            operands,
            width,
            order,
            scope,
            ..
        } => match operands.as_slice() {
            [value] => (*address, *value, *width, *order, *scope),
            _ => return refuse(OTHERWISE, &operation.location),
        },
        _ => return addition(operation),
    };
    // It is not guaranteed that anybody ever sees what a weak store does.
    if order == MemoryOrder::Weak || !matches!(width, 32 | 64) {
        return refuse(OTHERWISE, &operation.location);
    }
    if !matches!(scope, Scope::Gpu | Scope::System) && order != MemoryOrder::Volatile {
        return refuse(NEAR, &operation.location);
    }
    Ok(Synchronization::CounterSet {
        address,
        value,
        width,
        ordered: false,
    })
}

/// Whether an addition or a store has release semantics.
fn releases(operation: &Operation) -> bool {
    let (OperationKind::Store { order, .. } | OperationKind::Atomic { order, .. }) =
        &operation.kind
    else {
        return false;
    };
    matches!(
        order,
        MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
    )
}

/// Whether an operation is a fence of the whole GPU, which orders what the thread does before and
/// after it.
fn is_fence(operation: &Operation) -> bool {
    matches!(
        operation.kind,
        OperationKind::Synchronization(Synchronization::Fence {
            order: MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent,
            scope: Scope::Gpu | Scope::System,
            proxy: false,
        })
    ) && operation.guard.is_none()
}

/// Whether an operation accesses no memory that may change.
fn computes(operation: &Operation) -> bool {
    match &operation.kind {
        OperationKind::Synchronization(Synchronization::Sleep) => true,
        OperationKind::Load { space, .. } if *space == Space::Constant => true,
        OperationKind::Opaque { pure, .. } => *pure,
        kind => kind.only_computes(),
    }
}

/// Whether a fence stands before an operation, with nothing between them that accesses memory.
fn fence_before(operations: &[Operation], index: usize) -> bool {
    let before = operations.iter().take(index).rev();
    let mut before = before.skip_while(|operation| computes(operation));
    before.next().is_some_and(is_fence)
}

/// Whether a fence stands behind every way out of a loop, with nothing between them that accesses memory.
fn fence_behind(kernel: &Kernel, natural: &Loop, graph: &Graph) -> bool {
    let mut ways = natural
        .blocks
        .iter()
        .flat_map(|block| graph.successors(*block))
        .filter(|to| !natural.contains(**to));
    ways.all(|to| {
        let block = &kernel.blocks[to.0 as usize];
        let mut all = block.operations.iter();
        all.find(|operation| !computes(operation))
            .is_some_and(is_fence)
    })
}

/// The addition that an operation makes, if it may write to a word that is waited for. Fails if the
/// operation is none.
fn addition(operation: &Operation) -> Result<Synchronization> {
    let OperationKind::Atomic {
        operation: AtomicOperation::Add,
        address,
        operands,
        width: width @ (32 | 64),
        scope,
        ..
    } = &operation.kind
    else {
        return refuse(OTHERWISE, &operation.location);
    };
    let [value] = operands.as_slice() else {
        return refuse(OTHERWISE, &operation.location);
    };
    if !matches!(scope, Scope::Gpu | Scope::System) {
        return refuse(NEAR, &operation.location);
    }
    Ok(Synchronization::CounterAdd {
        address: *address,
        value: *value,
        width: *width,
    })
}

/// The loads for whose value a loop waits, each with the pointers in its address.
fn looks_of(
    pointers: &Pointers<'_>,
    natural: &Loop,
    graph: &Graph,
    sizes: &BTreeSet<u32>,
) -> Result<Vec<((usize, usize), Bases)>> {
    let none = Ok(Vec::new());
    let operations = || {
        natural.blocks.iter().flat_map(|block| {
            let at = block.0 as usize;
            let numbered = pointers.kernel.blocks[at].operations.iter().enumerate();
            numbered.map(move |(index, operation)| ((at, index), operation))
        })
    };
    let waits = memory_decides(pointers.kernel, graph, natural).is_some();
    if !waits || operations().any(|(_, operation)| is_event(operation)) {
        return none;
    }
    let mut found = Vec::new();
    for (place, operation) in operations() {
        if operation.kind.write().is_some() {
            return none;
        }
        let OperationKind::Load {
            results,
            space,
            address,
            width,
            order,
            scope,
            ..
        } = &operation.kind
        else {
            continue;
        };
        if !matches!(space, Space::Global | Space::Generic) {
            continue;
        }
        let bases = pointers.bases(*address);
        // Loads from memory that is not a parameter's, and weak loads, which need not see new
        // values, are not followed as waits.
        let known = !bases.is_empty() && bases.iter().all(is_parameter);
        let looks = *order != MemoryOrder::Weak && matches!(width, 32 | 64);
        let [Some(_)] = results.as_slice() else {
            return none;
        };
        if !known || !looks || operation.guard.is_some() {
            return none;
        }
        let near = !matches!(scope, Scope::Gpu | Scope::System) && *order != MemoryOrder::Volatile;
        if near {
            return refuse(NEAR, &operation.location);
        }
        // By the distance between two arrays, it may be a word of the other one.
        let mut mentioned = pointers.mentioned(*address);
        mentioned.retain(|base| base.is_some_and(|base| !sizes.contains(&base)));
        if !mentioned.is_subset(&bases) {
            return none;
        }
        found.push((place, bases));
    }
    Ok(found)
}
