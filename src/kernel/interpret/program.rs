//! Static facts about a kernel, computed before it runs.

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use super::event::Place;
use crate::cfg::Dominators;
use crate::cfg::Graph;
use crate::cfg::Loops;
use crate::ir::AtomicOperation;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::Terminator;

pub struct Program<'k> {
    pub kernel: &'k Kernel,
    pub graph: Graph,
    post: Dominators,
    headers: Vec<bool>,
    spins: Vec<Spin>,
    spin_of_edge: FxHashMap<(BlockId, BlockId), usize>,
    in_spin: Vec<bool>,
    /// The number of the first operation of each block.
    first: Vec<usize>,
}

/// A spin loop: the blocks of one back edge, if they only compute and load. Such a loop waits for other threads.
pub struct Spin {
    pub header: BlockId,
    pub blocks: Vec<BlockId>,
    /// The registers that are written in it.
    pub assigned: Vec<RegisterId>,
    /// Loads and atomics that access the same address in every round.
    pub polled: FxHashSet<Place>,
}

impl Spin {
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// The effects that are possible between a branch and the block at which its sides join.
#[derive(Debug, Clone, Default)]
pub struct Region {
    pub registers: Vec<RegisterId>,
    /// Whether there are events or exits among them.
    pub decides: bool,
    pub stores: Vec<Space>,
}

impl<'k> Program<'k> {
    pub fn new(kernel: &'k Kernel) -> Self {
        let graph = Graph::new(kernel);
        let dominators = Dominators::of(&graph);
        let loops = Loops::of(&graph, &dominators);
        let mut headers = vec![false; graph.len()];
        let (mut spins, mut spin_of_edge) = (Vec::new(), FxHashMap::default());
        let mut in_spin = vec![false; graph.len()];
        for (_, each) in loops.iter() {
            let mut outer = false;
            for latch in &each.latches {
                let blocks = back_edge(&graph, each.header, *latch);
                let Some(spin) = spin(kernel, each.header, blocks) else {
                    outer = true;
                    continue;
                };
                for block in &spin.blocks {
                    in_spin[block.0 as usize] = true;
                }
                spin_of_edge.insert((*latch, each.header), spins.len());
                spins.push(spin);
            }
            headers[each.header.0 as usize] = outer;
        }
        let mut first = Vec::with_capacity(kernel.blocks.len());
        let mut count = 0_usize;
        for block in &kernel.blocks {
            first.push(count);
            count = count
                .saturating_add(block.operations.len())
                .saturating_add(1);
        }
        Self {
            kernel,
            post: Dominators::of_exits(&graph),
            graph,
            headers,
            spins,
            spin_of_edge,
            in_spin,
            first,
        }
    }

    /// The number of a place. Different places, including terminators, have different numbers.
    pub fn number(&self, place: Place) -> usize {
        let first = self.first.get(place.block.0 as usize).copied();
        first.unwrap_or(0).saturating_add(place.index as usize)
    }

    /// The block at which the sides of a branch at the end of a block join: its immediate postdominator.
    pub fn join(&self, block: BlockId) -> Option<BlockId> {
        self.post.immediate(block)
    }

    /// Whether a block is the header of a loop that does more than load and compute.
    pub fn is_header(&self, block: BlockId) -> bool {
        self.headers.get(block.0 as usize).copied().unwrap_or(false)
    }

    /// Whether a block is in a spin loop.
    pub fn spins(&self, block: BlockId) -> bool {
        self.in_spin.get(block.0 as usize).copied().unwrap_or(false)
    }

    /// The spin loop whose back edge this is.
    pub fn spin(&self, from: BlockId, to: BlockId) -> Option<(usize, &Spin)> {
        let index = *self.spin_of_edge.get(&(from, to))?;
        Some((index, self.spins.get(index)?))
    }

    /// The smallest spin loop with this block in it.
    pub fn spin_around(&self, block: BlockId) -> Option<&Spin> {
        let around = self.spins.iter().filter(|spin| spin.contains(block));
        around.min_by_key(|spin| spin.blocks.len())
    }

    /// Whether a block is in a spin loop with this header.
    pub fn in_same_spin(&self, header: BlockId, block: BlockId) -> bool {
        let mut of = self.spins.iter().filter(|spin| spin.header == header);
        of.any(|spin| spin.contains(block))
    }

    /// For a branch of which one target stays in a spin loop and the other leaves it: the target outside, if the
    /// branch depends on a value that the loop polls.
    pub fn way_out(&self, block: BlockId, to: [BlockId; 2], reasons: &[Place]) -> Option<BlockId> {
        let around = |spin: &&Spin| {
            spin.contains(block) && reasons.iter().any(|place| spin.polled.contains(place))
        };
        let spins = self.spins.iter().filter(around);
        let spin = spins.min_by_key(|spin| spin.blocks.len())?;
        match to.map(|to| spin.contains(to)) {
            [true, false] => Some(to[1]),
            [false, true] => Some(to[0]),
            _ => None,
        }
    }

    pub fn region(&self, block: BlockId) -> Region {
        let join = self.join(block);
        let mut region = Region::default();
        let mut registers: FxHashSet<RegisterId> = FxHashSet::default();
        for at in self.graph.region(block, join) {
            let Some(block) = self.kernel.blocks.get(at.0 as usize) else {
                continue;
            };
            if self.graph.traps(at) {
                continue;
            }
            region.decides |= block.end == Terminator::Exit;
            for operation in &block.operations {
                registers.extend(operation.kind.results());
                region.decides |= is_event(&operation.kind);
                let space = match &operation.kind {
                    OperationKind::Store { space, .. } | OperationKind::Atomic { space, .. } => {
                        *space
                    }
                    _ => continue,
                };
                if !region.stores.contains(&space) {
                    region.stores.push(space);
                }
            }
        }
        region.registers = registers.into_iter().collect();
        region.registers.sort_unstable();
        region
    }
}

/// Whether an operation produces events.
pub fn is_event(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Synchronization(operation) => !operation.is_unseen(),
        OperationKind::Load { order, space, .. } | OperationKind::Store { order, space, .. } => {
            *order != MemoryOrder::Weak && is_common(*space)
        }
        OperationKind::Atomic { operation, .. } => *operation != AtomicOperation::Other,
        OperationKind::Unsupported { .. } => true,
        _ => false,
    }
}

/// Whether other threads can see memory of this space.
pub fn is_common(space: Space) -> bool {
    matches!(
        space,
        Space::Global | Space::Shared | Space::Cluster | Space::Generic
    )
}

fn back_edge(graph: &Graph, header: BlockId, latch: BlockId) -> Vec<BlockId> {
    let mut blocks = vec![header];
    let mut work = vec![latch];
    while let Some(at) = work.pop() {
        if blocks.contains(&at) || graph.position(at).is_none() {
            continue;
        }
        blocks.push(at);
        work.extend_from_slice(graph.predecessors(at));
        if blocks.len() > MAX_SPIN_BLOCKS {
            return Vec::new();
        }
    }
    blocks.sort_unstable();
    blocks
}

/// The most blocks of a spin loop.
const MAX_SPIN_BLOCKS: usize = 64;

fn spin(kernel: &Kernel, header: BlockId, blocks: Vec<BlockId>) -> Option<Spin> {
    let of = |block: &BlockId| kernel.blocks.get(block.0 as usize);
    let operations = || {
        blocks
            .iter()
            .filter_map(of)
            .flat_map(|block| &block.operations)
    };
    let looks = |operation: &Operation| match &operation.kind {
        OperationKind::Load { space, .. } => is_common(*space),
        OperationKind::Atomic { .. }
        | OperationKind::Synchronization(
            Synchronization::MbarrierTest { .. } | Synchronization::CounterLook { .. },
        ) => true,
        _ => false,
    };
    let harmless = |operation: &Operation| match &operation.kind {
        OperationKind::Store { .. } | OperationKind::Unsupported { .. } => false,
        OperationKind::Atomic { operation, .. } => *operation != AtomicOperation::Other,
        OperationKind::Synchronization(operation) => matches!(
            operation,
            Synchronization::MbarrierTest { .. }
                | Synchronization::CounterLook { .. }
                | Synchronization::Sleep
                | Synchronization::Fence { .. }
                | Synchronization::WarpSync { .. }
                | Synchronization::Elect { .. }
                | Synchronization::Shuffle { .. }
                | Synchronization::Vote { .. }
                | Synchronization::ActiveMask { .. }
        ),
        _ => true,
    };
    if blocks.is_empty() || !operations().any(looks) || !operations().all(harmless) {
        return None;
    }
    let invariant = invariant(operations().collect());
    let mut polled = FxHashSet::default();
    for id in &blocks {
        for (index, operation) in of(id)?.operations.iter().enumerate() {
            let (OperationKind::Load { address, .. }
            | OperationKind::Atomic { address, .. }
            | OperationKind::Synchronization(Synchronization::CounterLook { address, .. })) =
                &operation.kind
            else {
                continue;
            };
            if looks(operation) && invariant(*address) {
                polled.insert(Place {
                    block: *id,
                    index: u32::try_from(index).ok()?,
                });
            }
        }
    }
    let assigned: FxHashSet<RegisterId> = operations()
        .flat_map(|operation| operation.kind.results())
        .collect();
    let mut assigned: Vec<RegisterId> = assigned.into_iter().collect();
    assigned.sort_unstable();
    Some(Spin {
        header,
        blocks,
        assigned,
        polled,
    })
}

/// A test whether an operand has the same value in all rounds of these operations.
fn invariant(operations: Vec<&Operation>) -> impl Fn(Operand) -> bool {
    let results = operations
        .iter()
        .flat_map(|operation| operation.kind.results());
    let mut varying: FxHashSet<RegisterId> = results.collect();
    loop {
        let before = varying.len();
        let steady = |operand: &Operand| match operand {
            Operand::Register(register) => !varying.contains(register),
            Operand::Constant(_) => true,
        };
        let mut still: FxHashSet<RegisterId> = FxHashSet::default();
        for operation in &operations {
            let pure = matches!(
                operation.kind,
                OperationKind::Compute { .. }
                    | OperationKind::AddressOf { .. }
                    | OperationKind::ConvertAddress { .. }
                    | OperationKind::MapAddress { .. }
            );
            let read = operation.kind.operands();
            if !pure || operation.guard.is_some() || !read.iter().all(steady) {
                still.extend(operation.kind.results());
            }
        }
        varying = still;
        if varying.len() == before {
            break;
        }
    }
    move |operand| match operand {
        Operand::Register(register) => !varying.contains(&register),
        Operand::Constant(_) => true,
    }
}
