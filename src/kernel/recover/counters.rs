//! Words of global memory that warps wait for.
//!
//! For example, `while (acquire(&lock[m]) != n);` waits until others have executed
//! `red.release.add [lock + 4 * m], 1` often enough. Here such a load becomes a *look* at a word,
//! and such a `red` an addition to a word. So recovery and interpreter read the same operations.
//! The walk later finds which values are awaited and added, and in which word.
//!
//! The pointers in an address say to which memory it belongs. They are parameters of 8 bytes that
//! are terms of its sum. Different parameters are assumed to point to different memory. Any other
//! write to memory that is waited for is refused: a store, another atomic operation, a copy, or a
//! write with a scope below the whole GPU. A store or copy may have an address that cannot be
//! followed back to a parameter. It is assumed to go elsewhere, and that is printed. An atomic
//! operation on integers at such an address is refused.

use std::collections::BTreeSet;

use crate::cfg::Loop;
use crate::ir::AtomicOperation;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::recover::graph::Graph;
use crate::recover::pointers::APART;
use crate::recover::pointers::Bases;
use crate::recover::pointers::Pointers;
use crate::recover::pointers::are_followed;
use crate::recover::pointers::is_parameter;
use crate::recover::pointers::written;
use crate::recover::slice::is_event;
use crate::recover::slice::memory_decides;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Assumed of words that are waited for.
pub const ASSUMPTIONS: [&str; 3] = [
    "counters in memory are 0 at launch",
    "counters in memory do not wrap around",
    APART,
];

const ELSEWHERE: &str = "stores and copies to addresses in global memory that are not followed do not reach words that are waited for";

const OTHERWISE: &str =
    "it may write to memory that the kernel waits for, other than by an addition";
const NEAR: &str = "other CTAs wait for this memory, and need not see what is done in this scope";

type Result<T> = std::result::Result<T, Obstacle>;

/// The kernel with looks at words and additions to them, or `None` if nothing waits for global
/// memory.
pub fn with_counters(kernel: &Kernel) -> Result<Option<Kernel>> {
    let graph = Graph::new(kernel);
    let pointers = Pointers::new(kernel);
    let mut looks: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut awaited = Bases::new();
    for (_, natural) in graph.loops() {
        for (place, bases) in looks_of(&pointers, natural, &graph)? {
            looks.insert(place);
            awaited.extend(bases);
        }
    }
    if looks.is_empty() {
        return Ok(None);
    }
    let mut changed = kernel.clone();
    let mut unknown = false;
    for (at, block) in kernel.blocks.iter().enumerate() {
        for (index, operation) in block.operations.iter().enumerate() {
            let slot = &mut changed.blocks[at].operations[index].kind;
            if looks.contains(&(at, index)) {
                let OperationKind::Load {
                    results,
                    address,
                    width,
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
            } else if let Some(address) = written(operation) {
                let bases = pointers.bases(address);
                let followed = are_followed(&bases);
                let adds = matches!(
                    operation.kind,
                    OperationKind::Atomic { operation, .. } if operation != AtomicOperation::Other
                );
                if !bases.is_disjoint(&awaited) || !followed && adds {
                    *slot = OperationKind::Synchronization(addition(operation)?);
                } else if !followed {
                    unknown = true;
                }
            }
        }
    }
    if unknown {
        changed.assumptions.push(ELSEWHERE.to_owned());
    }
    Ok(Some(changed))
}

/// The addition that an operation makes, if it may write to a word that is waited for. Fails if the
/// operation is none.
fn addition(operation: &Operation) -> Result<Synchronization> {
    let OperationKind::Atomic {
        operation: AtomicOperation::Add,
        result: None,
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
        found.push((place, bases));
    }
    Ok(found)
}
