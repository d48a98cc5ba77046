//! Natural loops and their nesting.

use super::dominators::Dominators;
use super::graph::Graph;
use super::graph::block;
use super::graph::index;
use crate::ir::BlockId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// A natural loop: the blocks from which a back edge to the header can be reached without passing through the header.
/// Several back edges to one header form one loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    pub header: BlockId,
    /// Its blocks including the header, sorted.
    pub blocks: Vec<BlockId>,
    /// The sources of the back edges, sorted.
    pub latches: Vec<BlockId>,
    /// The edges that leave the loop, each from inside to outside, sorted.
    pub exits: Vec<(BlockId, BlockId)>,
    /// The innermost loop around this one.
    pub parent: Option<LoopId>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

impl Loop {
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// The loops of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loops {
    loops: Vec<Loop>,
    innermost: Vec<Option<LoopId>>,
    /// Edges that go back in the order of the blocks although their target does not dominate their source. They
    /// belong to loops with several entries.
    irreducible: Vec<(BlockId, BlockId)>,
}

impl Loops {
    pub fn of(graph: &Graph, dominators: &Dominators) -> Self {
        let mut latches: Vec<Vec<BlockId>> = vec![Vec::new(); graph.len()];
        let mut irreducible = Vec::new();
        for at in graph.order() {
            for to in graph.successors(*at) {
                if dominators.dominates(*to, *at) {
                    latches[index(*to)].push(*at);
                } else if graph.position(*to) <= graph.position(*at) {
                    irreducible.push((*at, *to));
                }
            }
        }
        irreducible.sort_unstable();
        // In reverse postorder, the header of an outer loop comes before those of inner loops.
        let mut loops: Vec<Loop> = Vec::new();
        let mut innermost: Vec<Option<LoopId>> = vec![None; graph.len()];
        for header in graph.order() {
            let mut latches = std::mem::take(&mut latches[index(*header)]);
            if latches.is_empty() {
                continue;
            }
            latches.sort_unstable();
            let blocks = body(graph, *header, &latches);
            let parent = innermost[index(*header)];
            let depth = parent.map_or(0, |parent| loops[parent.0 as usize].depth);
            let id = LoopId(u32::try_from(loops.len()).unwrap_or(u32::MAX));
            let mut exits = Vec::new();
            for at in &blocks {
                innermost[index(*at)] = Some(id);
                for to in graph.successors(*at) {
                    if blocks.binary_search(to).is_err() {
                        exits.push((*at, *to));
                    }
                }
            }
            exits.sort_unstable();
            loops.push(Loop {
                header: *header,
                blocks,
                latches,
                exits,
                parent,
                depth: depth.saturating_add(1),
            });
        }
        Self {
            loops,
            innermost,
            irreducible,
        }
    }

    /// All loops. An outer loop comes before the loops inside of it.
    pub fn iter(&self) -> impl Iterator<Item = (LoopId, &Loop)> {
        let id = |at| LoopId(u32::try_from(at).unwrap_or(u32::MAX));
        self.loops
            .iter()
            .enumerate()
            .map(move |(at, each)| (id(at), each))
    }

    pub fn len(&self) -> usize {
        self.loops.len()
    }

    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    pub fn get(&self, id: LoopId) -> Option<&Loop> {
        self.loops.get(id.0 as usize)
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost.get(index(block)).copied().flatten()
    }

    /// The loop with this header.
    pub fn headed_by(&self, header: BlockId) -> Option<LoopId> {
        let id = self.innermost(header)?;
        (self.get(id)?.header == header).then_some(id)
    }

    /// The loops around a block, the innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> {
        std::iter::successors(self.innermost(block), |id| self.get(*id)?.parent)
    }

    /// Edges of loops with several entries, which are not among the loops.
    pub fn irreducible(&self) -> &[(BlockId, BlockId)] {
        &self.irreducible
    }
}

fn body(graph: &Graph, header: BlockId, latches: &[BlockId]) -> Vec<BlockId> {
    let mut inside = vec![false; graph.len()];
    inside[index(header)] = true;
    let mut work = latches.to_vec();
    while let Some(at) = work.pop() {
        if inside[index(at)] || graph.position(at).is_none() {
            continue;
        }
        inside[index(at)] = true;
        work.extend_from_slice(graph.predecessors(at));
    }
    (0..inside.len())
        .filter(|at| inside[*at])
        .map(block)
        .collect()
}
