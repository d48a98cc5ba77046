//! Finds out whether a kernel may abort instead of hanging.
//!
//! A kernel begins with `if (n % 2) __trap();`. The recovered text has no trace of it: its runs are those in which no
//! trap is reached. For proofs this does no harm, because nothing hangs in an aborted kernel. But a hang at an odd `n` is
//! a hang of no launch. So a counterexample counts only if no trap can come before it.
//!
//! Two kinds of traps leave counterexamples as they are. A trap inside of a loop that waits is a time limit: it is reached
//! because of the hang. And what a clock or an environment register decides, parameters do not decide: `grid.sync()` traps if
//! the launch is not cooperative.

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

/// Whether a run may reach a trap other than these. A kernel whose every way ends in one is refused before, by
/// `recover::outside`.
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

/// Accepts what clocks and environment registers say, and what is computed from it.
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
