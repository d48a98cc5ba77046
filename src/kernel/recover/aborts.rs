//! Whether a kernel may abort instead of hanging.
//!
//! For example, a kernel begins with `if (n % 2) __trap();`. The recovered text leaves traps out: its runs are those
//! in which no trap is reached. That is right for proofs, because nothing hangs in an aborted kernel. But if the text
//! hangs at an odd `n`, no launch does so. So a counterexample counts only if no trap can come before it.
//!
//! Two kinds of traps do not count here:
//!
//! - A trap inside of a loop that waits is a time limit. It is reached because of the hang.
//! - A trap that a clock or an environment register decides does not depend on parameters. For example, `grid.sync()`
//!   traps if the launch is not cooperative.

use crate::cfg;
use crate::cfg::Loop;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::recover::addresses::Addresses;
use crate::recover::graph::Graph;
use crate::recover::slice::memory_decides;

/// Whether a run may reach a trap other than these. A kernel in which every path ends in a trap has been refused
/// before, by `recover::outside`.
pub fn may_abort(kernel: &Kernel) -> bool {
    let edges = cfg::Graph::new(kernel);
    let graph = Graph::new(kernel);
    let loops: Vec<&Loop> = graph.loops().map(|(_, natural)| natural).collect();
    let definitions = Addresses::new(kernel);
    let mut going_on = edges.order().iter().filter(|at| !edges.traps(**at));
    going_on.any(|at| {
        let aborts = edges.successors(*at).iter().any(|to| edges.traps(*to));
        let around = loops.iter().filter(|natural| natural.contains(*at));
        let innermost = around.min_by_key(|natural| natural.blocks.len());
        aborts
            && !innermost.is_some_and(|natural| waits(kernel, &graph, natural))
            && !matches!(
                &kernel.blocks[at.0 as usize].end,
                Terminator::Branch { condition, .. } if definitions.is_made_of(*condition, &free)
            )
    })
}

/// Accepts values of clocks and environment registers, and what is computed from them.
fn free(kind: &OperationKind) -> Option<Vec<Operand>> {
    match kind {
        OperationKind::Special {
            special: Special::Clock | Special::Other,
            ..
        } => Some(Vec::new()),
        OperationKind::Compute { operands, .. } => Some(operands.clone()),
        _ => None,
    }
}

/// Whether a loop goes on until a test of an mbarrier passes, or until other threads have written to memory.
fn waits(kernel: &Kernel, graph: &Graph, natural: &Loop) -> bool {
    let looks = natural.blocks.iter().any(|at| {
        let operations = &kernel.blocks[at.0 as usize].operations;
        operations.iter().any(|operation| match &operation.kind {
            OperationKind::Synchronization(Synchronization::MbarrierTest { .. }) => true,
            OperationKind::Load { order, .. } => *order != MemoryOrder::Weak,
            _ => false,
        })
    });
    looks && memory_decides(kernel, graph, natural).is_some()
}
