//! The control-flow graph as the recovery walks it.
//!
//! A trap does not count as an exit: nothing hangs in an aborted kernel.

use std::collections::BTreeSet;

use crate::cfg;
use crate::cfg::Dominators;
use crate::cfg::Loop;
use crate::cfg::LoopId;
use crate::cfg::Loops;
use crate::ir::BlockId;
use crate::ir::Kernel;

#[derive(Debug)]
pub struct Graph {
    edges: cfg::Graph,
    postdominators: Dominators,
    loops: Loops,
    /// For each block: the blocks whose branches decide whether it is executed.
    deciders: Vec<BTreeSet<BlockId>>,
}

impl Graph {
    pub fn new(kernel: &Kernel) -> Self {
        let edges = cfg::Graph::new(kernel);
        let loops = Loops::of(&edges, &Dominators::of(&edges));
        let postdominators = Dominators::of_exits(&edges);
        let deciders = control_dependence(kernel, &edges, &postdominators);
        let mut graph = Self {
            edges,
            postdominators,
            loops,
            deciders,
        };
        graph.depend_within_iterations();
        graph
    }

    /// Adds to the deciders the branches that decide whether a block is executed *in this iteration*.
    ///
    /// Control dependence asks whether a block is executed at all. In
    /// `for (;;) { if (c) continue; b; if (d) break; }` every way out passes `b`, so no branch
    /// decides about it. But `c` decides in which iterations it is executed.
    fn depend_within_iterations(&mut self) {
        let mut added = Vec::new();
        for (_, natural) in self.loops.iter() {
            for at in &natural.blocks {
                let join = self.join(*at);
                if self.successors(*at).len() > 1 && self.comes_round(natural, *at, join) {
                    let (behind, _) = self.behind_in(natural, *at, None);
                    added.extend(behind.into_iter().map(|block| (block, *at)));
                }
            }
        }
        for (block, at) in added {
            self.deciders[block.0 as usize].insert(at);
        }
    }

    /// Whether the sides of a branch meet at `join` only in a later iteration: the next iteration
    /// can begin before.
    pub fn comes_round(&self, natural: &Loop, at: BlockId, join: Option<BlockId>) -> bool {
        match join.filter(|join| natural.contains(*join) && *join != natural.header) {
            Some(join) => self.behind_in(natural, at, Some(join)).1,
            None => false,
        }
    }

    /// The blocks of a loop behind `from` in the same iteration, up to `until`. Also whether the
    /// next iteration can begin.
    fn behind_in(
        &self,
        natural: &Loop,
        from: BlockId,
        until: Option<BlockId>,
    ) -> (BTreeSet<BlockId>, bool) {
        let mut seen = BTreeSet::new();
        let mut round = false;
        let mut work = self.successors(from).to_vec();
        while let Some(at) = work.pop() {
            if at == natural.header {
                round = true;
            } else if natural.contains(at) && Some(at) != until && seen.insert(at) {
                work.extend(self.successors(at));
            }
        }
        (seen, round)
    }

    pub fn predecessors(&self, of: BlockId) -> &[BlockId] {
        self.edges.predecessors(of)
    }

    pub fn successors(&self, of: BlockId) -> &[BlockId] {
        self.edges.successors(of)
    }

    /// The blocks that can be reached from behind `from` without passing `join`.
    pub fn between(&self, from: BlockId, join: Option<BlockId>) -> Vec<BlockId> {
        self.edges.region(from, join)
    }

    /// Whether a thread can get from this block to its end without a trap.
    pub fn leads_to_end(&self, from: BlockId) -> bool {
        let behind = self.edges.region(from, None);
        let mut from_here = behind.into_iter().chain([from]);
        from_here.any(|at| self.successors(at).is_empty() && !self.edges.traps(at))
    }

    /// Where the sides of a branch meet; `None` is the end of the thread.
    pub fn join(&self, of: BlockId) -> Option<BlockId> {
        self.postdominators.immediate(of)
    }

    /// The blocks whose branches decide whether a block is executed.
    pub fn deciders(&self, of: BlockId) -> &BTreeSet<BlockId> {
        &self.deciders[of.0 as usize]
    }

    pub fn loops(&self) -> impl Iterator<Item = (LoopId, &Loop)> {
        self.loops.iter()
    }

    /// The loop with this header.
    pub fn headed_by(&self, header: BlockId) -> Option<(LoopId, &Loop)> {
        let id = self.loops.headed_by(header)?;
        Some((id, self.loops.get(id)?))
    }

    /// Where all ways out of a loop come together: the first postdominator of its header outside of it. `None` where that is
    /// the end of the thread.
    pub fn follow(&self, natural: &Loop) -> Option<BlockId> {
        let mut at = self.join(natural.header);
        while let Some(inside) = at.filter(|at| natural.contains(*at)) {
            at = self.join(inside);
        }
        at
    }

    /// Whether every cycle goes through the header of a loop.
    pub fn is_reducible(&self) -> bool {
        self.loops.irreducible().is_empty()
    }
}

/// A block depends on a branch if one side certainly leads to it and the other may avoid it.
///
/// Source: Ferrante, Ottenstein, Warren, "The Program Dependence Graph and Its Use in Optimization".
fn control_dependence(
    kernel: &Kernel,
    edges: &cfg::Graph,
    postdominators: &Dominators,
) -> Vec<BTreeSet<BlockId>> {
    let mut deciders = vec![BTreeSet::new(); kernel.blocks.len()];
    for at in edges.order() {
        let sides = edges.successors(*at);
        if sides.len() < 2 {
            continue;
        }
        for side in sides {
            let mut here = Some(*side);
            while let Some(inside) =
                here.filter(|inside| postdominators.immediate(*at) != Some(*inside))
            {
                deciders[inside.0 as usize].insert(*at);
                here = postdominators.immediate(inside);
            }
        }
    }
    deciders
}
