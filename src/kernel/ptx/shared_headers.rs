//! Separates a loop that only tests an mbarrier from the loop around it, if both begin at the same block.
//!
//! ```text
//! for (;;) { while (!try_wait(full)) {} ... }      head: try_wait p; @!p bra head; ...; bra head
//! ```
//!
//! Natural loops with the same header count as one loop. So the header gets an empty block in front of it, which
//! becomes the header of the outer loop. The back edge of the inner loop still leads to the old header, and all other
//! edges lead to the empty block.
//!
//! A block without operations that jumps to the header does not change what a thread does. So if the inner loop were
//! chosen wrongly, a kernel might be harder to recover, but the result would still be right. The choice is clear
//! nevertheless: the inner loop is the one that only tests mbarriers.

use crate::cfg::Dominators;
use crate::cfg::Graph;
use crate::cfg::Loop;
use crate::cfg::Loops;
use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::Terminator;

/// Gives each loop around a wait loop a header of its own, if the two loops share their header.
pub fn separate(kernel: &mut Kernel) {
    let graph = Graph::new(kernel);
    let loops = Loops::of(&graph, &Dominators::of(&graph));
    for (_, natural) in loops.iter() {
        let waiting = waiting(kernel, &graph, natural);
        // A thread begins at the first block, which has to stay the first.
        if natural.header == BlockId(0)
            || waiting.is_empty()
            || waiting.len() == natural.latches.len()
        {
            continue;
        }
        let Ok(number) = u32::try_from(kernel.blocks.len()) else {
            return;
        };
        let outer = BlockId(number);
        for from in graph.predecessors(natural.header) {
            if !waiting.contains(from) {
                redirect(
                    &mut kernel.blocks[from.0 as usize].end,
                    natural.header,
                    outer,
                );
            }
        }
        let header = &kernel.blocks[natural.header.0 as usize];
        kernel.blocks.push(Block {
            label: String::new(),
            operations: Vec::new(),
            end: Terminator::Jump(natural.header),
            location: header.location.clone(),
        });
    }
}

/// Those latches of a loop for which all paths from the header to the latch only test mbarriers.
fn waiting(kernel: &Kernel, graph: &Graph, natural: &Loop) -> Vec<BlockId> {
    if natural.latches.len() < 2 {
        return Vec::new();
    }
    let only_tests = |latch: &BlockId| {
        let mut seen = vec![natural.header];
        let mut work = vec![*latch];
        while let Some(at) = work.pop() {
            if !seen.contains(&at) {
                seen.push(at);
                work.extend_from_slice(graph.predecessors(at));
            }
        }
        let mut operations = seen
            .iter()
            .flat_map(|at| &kernel.blocks[at.0 as usize].operations);
        operations.clone().any(tests) && operations.all(|one| tests(one) || !acts(one))
    };
    let latches = natural.latches.iter().copied();
    latches.filter(only_tests).collect()
}

fn tests(operation: &Operation) -> bool {
    matches!(
        operation.kind,
        OperationKind::Synchronization(Synchronization::MbarrierTest { .. })
    )
}

/// Whether an operation may have an effect that other threads see, or may wait for other threads.
fn acts(operation: &Operation) -> bool {
    match &operation.kind {
        OperationKind::Synchronization(what) => !matches!(what, Synchronization::Sleep),
        OperationKind::Store { .. }
        | OperationKind::Atomic { .. }
        | OperationKind::Unsupported { .. } => true,
        OperationKind::Opaque { write, rows, .. } => write.is_some() || rows.is_some(),
        _ => false,
    }
}

fn redirect(end: &mut Terminator, old: BlockId, new: BlockId) {
    let targets: Vec<&mut BlockId> = match end {
        Terminator::Jump(to) => vec![to],
        Terminator::Branch {
            then, otherwise, ..
        } => vec![then, otherwise],
        Terminator::Switch { targets, .. } => targets.iter_mut().collect(),
        Terminator::Exit | Terminator::Trap => Vec::new(),
    };
    for to in targets.into_iter().filter(|to| **to == old) {
        *to = new;
    }
}
