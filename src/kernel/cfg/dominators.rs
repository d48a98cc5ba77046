//! Dominators and postdominators.
//!
//! Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".

use super::graph::Graph;
use super::graph::block;
use super::graph::index;
use crate::ir::BlockId;

/// The tree of immediate dominators, or of immediate postdominators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dominators {
    /// `None` for the root, for children of the virtual exit, and for blocks outside of the tree.
    immediate: Vec<Option<BlockId>>,
    /// The distance from the root; `None` outside of the tree.
    depth: Vec<Option<u32>>,
}

impl Dominators {
    /// The dominator tree. A block dominates another if every path from the first block of the kernel to the other
    /// goes through it.
    pub fn of(graph: &Graph) -> Self {
        let order: Vec<usize> = graph.order().iter().map(|at| index(*at)).collect();
        Self::solve(graph.len(), &order, |at| {
            let from = graph.predecessors(block(at)).iter();
            from.map(|from| index(*from)).collect()
        })
    }

    /// The postdominator tree. A block postdominates another if every path from the other to an exit goes through it.
    /// Paths that can only end in a trap do not count, because nothing comes after a trap. Blocks that reach no exit
    /// are outside of the tree.
    pub fn of_exits(graph: &Graph) -> Self {
        // The virtual exit is one more node. It is the successor of every block without successors.
        let exit = graph.len();
        let kept = |at: usize| !graph.traps(block(at));
        let successors = |at: usize| -> Vec<usize> {
            let to = graph.successors(block(at));
            let kept: Vec<usize> = to
                .iter()
                .map(|to| index(*to))
                .filter(|to| kept(*to))
                .collect();
            if to.is_empty() { vec![exit] } else { kept }
        };
        let mut backwards = vec![Vec::new(); exit + 1];
        for at in (0..exit).filter(|at| kept(*at)) {
            for to in successors(at) {
                backwards[to].push(at);
            }
        }
        let order = reverse_postorder(&backwards, exit);
        let mut all = Self::solve(exit + 1, &order, |at| {
            if at == exit {
                Vec::new()
            } else {
                successors(at)
            }
        });
        all.immediate.truncate(exit);
        all.depth.truncate(exit);
        for immediate in &mut all.immediate {
            if *immediate == Some(block(exit)) {
                *immediate = None;
            }
        }
        all
    }

    /// `order` begins with the root. `before` gives the neighbours of a node in the direction of the root.
    fn solve(count: usize, order: &[usize], before: impl Fn(usize) -> Vec<usize>) -> Self {
        let mut place = vec![usize::MAX; count];
        for (at, node) in order.iter().enumerate() {
            place[*node] = at;
        }
        // Immediate dominators, as positions in `order`.
        let mut immediate: Vec<Option<usize>> = vec![None; order.len()];
        if let Some(root) = immediate.first_mut() {
            *root = Some(0);
        }
        let before: Vec<Vec<usize>> = order
            .iter()
            .map(|node| {
                let from = before(*node).into_iter().map(|from| place[from]);
                from.filter(|from| *from != usize::MAX).collect()
            })
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..order.len() {
                let mut new = None;
                for from in &before[at] {
                    if immediate[*from].is_none() {
                        continue;
                    }
                    new = Some(match new {
                        None => *from,
                        Some(other) => common(&immediate, *from, other),
                    });
                }
                if new.is_some() && immediate[at] != new {
                    immediate[at] = new;
                    changed = true;
                }
            }
        }
        let mut result = Self {
            immediate: vec![None; count],
            depth: vec![None; count],
        };
        for (at, node) in order.iter().enumerate() {
            let Some(above) = immediate[at] else { continue };
            if at == 0 {
                result.depth[*node] = Some(0);
                continue;
            }
            result.immediate[*node] = Some(block(order[above]));
            result.depth[*node] = result.depth[order[above]].map(|depth| depth.saturating_add(1));
        }
        result
    }

    /// The closest other block that dominates (postdominates) `of`. `None` for the root, if the closest one is the
    /// virtual exit, and for a block outside of the tree.
    pub fn immediate(&self, of: BlockId) -> Option<BlockId> {
        self.immediate.get(index(of)).copied().flatten()
    }

    /// Whether the block is in the tree, that is, whether it can be reached (can reach an exit).
    pub fn contains(&self, block: BlockId) -> bool {
        self.depth.get(index(block)).is_some_and(Option::is_some)
    }

    /// Whether `above` dominates (postdominates) `below`. Every block of the tree does so to itself.
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let depth = |block: BlockId| self.depth.get(index(block)).copied().flatten();
        let (Some(target), Some(mut at)) = (depth(above), depth(below)) else {
            return false;
        };
        let mut below = below;
        while at > target {
            let Some(up) = self.immediate(below) else {
                return false;
            };
            below = up;
            at -= 1;
        }
        above == below
    }
}

fn common(immediate: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = immediate[a].unwrap_or(0);
        }
        while b > a {
            b = immediate[b].unwrap_or(0);
        }
    }
    a
}

fn reverse_postorder(edges: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0_usize)];
    seen[root] = true;
    while let Some((at, next)) = stack.last_mut() {
        if let Some(to) = edges[*at].get(*next) {
            *next += 1;
            if !seen[*to] {
                seen[*to] = true;
                stack.push((*to, 0));
            }
        } else {
            order.push(*at);
            stack.pop();
        }
    }
    order.reverse();
    order
}
