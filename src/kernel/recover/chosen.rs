//! What one thread does for all: which thread that is follows from the numbers of threads alone.
//!
//! ```text
//! setp.eq p, tid, 0;  @p mbarrier.inval [bar]    some thread does so
//! setp.gt q, n, 5;    @q mbarrier.inval [bar]    perhaps nobody does
//! ```
//!
//! That a thread with such a number exists is seen in what the warps do
//! ([`crate::recover::overwritten::refuse_idle_ends`]).

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::recover::graph::Graph;
use crate::recover::operands::registers;

/// Which registers hold what follows from the number of a thread.
pub struct Chosen<'k> {
    kernel: &'k Kernel,
    definitions: &'k [Vec<(usize, usize)>],
}

impl<'k> Chosen<'k> {
    /// Given where registers are assigned.
    pub fn new(kernel: &'k Kernel, definitions: &'k [Vec<(usize, usize)>]) -> Self {
        Self {
            kernel,
            definitions,
        }
    }

    /// Whether some thread carries out an operation whenever threads come to a block behind it.
    pub fn is_certain(
        &self,
        graph: &Graph,
        (block, index): (BlockId, usize),
        behind: BlockId,
    ) -> bool {
        let operation = &self.kernel.blocks[block.0 as usize].operations[index];
        let guard = operation.guard.map(|guard| guard.predicate);
        let branches = graph.deciders(block).difference(graph.deciders(behind));
        let conditions = branches.map(|by| self.kernel.blocks[by.0 as usize].end.decides());
        let mut conditions = conditions.chain(std::iter::once(guard)).flatten();
        conditions.all(|condition| self.is_of_thread(condition))
    }

    /// Whether the threads that carry out an operation of a block are those that carry out another one further down in it.
    pub fn is_same_thread(&self, (block, index): (BlockId, usize), further: usize) -> bool {
        let operations = &self.kernel.blocks[block.0 as usize].operations;
        let (one, other) = (&operations[index], &operations[further]);
        let Some(guard) = one.guard else {
            return other.guard.is_none();
        };
        let mut between = operations[index..further].iter();
        other.guard == Some(guard)
            && !between.any(|operation| operation.kind.results().contains(&guard.predicate))
    }

    fn is_of_thread(&self, register: RegisterId) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![register];
        while let Some(register) = work.pop() {
            if !seen.insert(register) {
                continue;
            }
            // Where there are several, what the launch says may decide which one counts.
            let Some([(block, index)]) =
                self.definitions.get(register.0 as usize).map(Vec::as_slice)
            else {
                return false;
            };
            let operation = &self.kernel.blocks[*block].operations[*index];
            let follows = match &operation.kind {
                OperationKind::Special { special, .. } => matches!(
                    special,
                    Special::ThreadIndex(_)
                        | Special::CtaThreads(_)
                        | Special::Lane
                        | Special::Warp
                ),
                OperationKind::Compute { .. } => true,
                OperationKind::Synchronization(
                    Synchronization::Elect { .. } | Synchronization::Shuffle { .. },
                ) => true,
                _ => false,
            };
            if !follows || operation.guard.is_some() {
                return false;
            }
            work.extend(registers(operation, operation.kind.operands()));
        }
        true
    }
}
