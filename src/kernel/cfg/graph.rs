//! Edges between blocks, and a reverse postorder of the blocks.

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Terminator;

/// The edges of a kernel's blocks. Targets that do not exist are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    successors: Vec<Vec<BlockId>>,
    predecessors: Vec<Vec<BlockId>>,
    /// Blocks that can be reached from the first one, in reverse postorder.
    order: Vec<BlockId>,
    /// The position of each block in `order`.
    position: Vec<Option<usize>>,
    /// Blocks from which every path that ends, ends in a trap, and at least one path does.
    doomed: Vec<bool>,
}

impl Graph {
    pub fn new(kernel: &Kernel) -> Self {
        let count = kernel.blocks.len();
        let successors: Vec<Vec<BlockId>> = kernel
            .blocks
            .iter()
            .map(|block| targets(&block.end, count))
            .collect();
        let mut predecessors = vec![Vec::new(); count];
        for (from, targets) in successors.iter().enumerate() {
            for to in targets {
                predecessors[index(*to)].push(block(from));
            }
        }
        let order = reverse_postorder(&successors);
        let mut position = vec![None; count];
        for (place, at) in order.iter().enumerate() {
            position[index(*at)] = Some(place);
        }
        let doomed = doomed(kernel, &predecessors);
        Self {
            successors,
            predecessors,
            order,
            position,
            doomed,
        }
    }

    /// How many blocks the kernel has.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// The successors of a block, each once, in the order of its terminator.
    pub fn successors(&self, of: BlockId) -> &[BlockId] {
        self.successors.get(index(of)).map_or(&[], Vec::as_slice)
    }

    pub fn predecessors(&self, of: BlockId) -> &[BlockId] {
        self.predecessors.get(index(of)).map_or(&[], Vec::as_slice)
    }

    /// The blocks that can be reached. Each comes after its predecessors, except along back edges.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The position in [`Self::order`]; `None` for a block that cannot be reached.
    pub fn position(&self, of: BlockId) -> Option<usize> {
        self.position.get(index(of)).copied().flatten()
    }

    /// Whether every path from this block that ends, ends in a trap, and at least one path does.
    pub fn traps(&self, block: BlockId) -> bool {
        self.doomed.get(index(block)).copied().unwrap_or(false)
    }

    /// The blocks on paths from the successors of `from` to `until`. `until` itself is left out. Without `until`,
    /// these are all blocks that can be reached.
    pub fn region(&self, from: BlockId, until: Option<BlockId>) -> Vec<BlockId> {
        let mut seen = vec![false; self.len()];
        let mut work: Vec<BlockId> = self.successors(from).to_vec();
        let mut region = Vec::new();
        while let Some(at) = work.pop() {
            if Some(at) == until || seen[index(at)] {
                continue;
            }
            seen[index(at)] = true;
            region.push(at);
            work.extend_from_slice(self.successors(at));
        }
        region.sort_unstable();
        region
    }
}

pub(super) fn index(block: BlockId) -> usize {
    block.0 as usize
}

pub(super) fn block(index: usize) -> BlockId {
    BlockId(u32::try_from(index).unwrap_or(u32::MAX))
}

fn targets(end: &Terminator, count: usize) -> Vec<BlockId> {
    let all: Vec<BlockId> = match end {
        Terminator::Jump(to) => vec![*to],
        Terminator::Branch {
            then, otherwise, ..
        } => vec![*then, *otherwise],
        Terminator::Switch { targets, .. } => targets.clone(),
        Terminator::Exit | Terminator::Trap => Vec::new(),
    };
    let mut kept: Vec<BlockId> = Vec::new();
    for to in all {
        if index(to) < count && !kept.contains(&to) {
            kept.push(to);
        }
    }
    kept
}

fn reverse_postorder(successors: &[Vec<BlockId>]) -> Vec<BlockId> {
    let mut order = Vec::new();
    if successors.is_empty() {
        return order;
    }
    let mut seen = vec![false; successors.len()];
    // A block, and how many of its successors have been visited.
    let mut stack = vec![(0_usize, 0_usize)];
    seen[0] = true;
    while let Some((at, next)) = stack.last_mut() {
        if let Some(to) = successors[*at].get(*next) {
            *next += 1;
            let to = index(*to);
            if !seen[to] {
                seen[to] = true;
                stack.push((to, 0));
            }
        } else {
            order.push(block(*at));
            stack.pop();
        }
    }
    order.reverse();
    order
}

/// The blocks that reach a trap and no exit. A block in an endless loop reaches neither, so it is not among them.
fn doomed(kernel: &Kernel, predecessors: &[Vec<BlockId>]) -> Vec<bool> {
    let reaching = |end: &Terminator| {
        let mut reaches: Vec<bool> = kernel
            .blocks
            .iter()
            .map(|block| &block.end == end)
            .collect();
        let mut work: Vec<usize> = (0..reaches.len()).filter(|at| reaches[*at]).collect();
        while let Some(at) = work.pop() {
            for from in &predecessors[at] {
                if !reaches[index(*from)] {
                    reaches[index(*from)] = true;
                    work.push(index(*from));
                }
            }
        }
        reaches
    };
    let (exits, traps) = (reaching(&Terminator::Exit), reaching(&Terminator::Trap));
    exits
        .iter()
        .zip(traps)
        .map(|(exits, traps)| traps && !exits)
        .collect()
}
