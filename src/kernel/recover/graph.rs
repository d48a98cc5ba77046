//! The control-flow graph as the recovery walks it: immediate postdominators and natural loops.
//!
//! Aborting the kernel ([`Terminator::Trap`]) is no way out: nothing hangs in an aborted kernel.

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Terminator;

/// A natural loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NaturalLoop {
    pub header: BlockId,
    pub blocks: BTreeSet<BlockId>,
    /// Where all ways out come together: the first postdominator of the header outside of the loop.
    /// `None` where that is the end of the thread.
    pub follow: Option<BlockId>,
}

#[derive(Debug)]
pub struct Graph {
    pub successors: Vec<Vec<BlockId>>,
    pub predecessors: Vec<Vec<BlockId>>,
    /// `None` is the end of the thread.
    pub postdominator: Vec<Option<BlockId>>,
    pub loops: Vec<NaturalLoop>,
    /// Blocks on which the graph branches that decide whether a block is executed.
    pub control: Vec<BTreeSet<BlockId>>,
    /// Whether every cycle goes through the header of a natural loop that dominates it.
    pub reducible: bool,
}

pub fn successors(end: &Terminator) -> Vec<BlockId> {
    let mut all = match end {
        Terminator::Jump(to) => vec![*to],
        Terminator::Branch {
            then, otherwise, ..
        } => vec![*then, *otherwise],
        Terminator::Switch { targets, .. } => targets.clone(),
        Terminator::Exit | Terminator::Trap => Vec::new(),
    };
    all.dedup();
    all
}

impl Graph {
    pub fn new(kernel: &Kernel) -> Self {
        let count = kernel.blocks.len();
        let mut successors: Vec<Vec<BlockId>> = kernel
            .blocks
            .iter()
            .map(|block| successors(&block.end))
            .collect();
        for list in &mut successors {
            list.retain(|to| (to.0 as usize) < count);
        }
        let mut predecessors = vec![Vec::new(); count];
        for (from, list) in successors.iter().enumerate() {
            for to in list {
                predecessors[to.0 as usize].push(block(from));
            }
        }
        let exits: Vec<bool> = kernel
            .blocks
            .iter()
            .map(|block| matches!(block.end, Terminator::Exit))
            .collect();
        let dominators = dominators(count, 0, &predecessors, &successors);
        let postdominator = postdominators(&successors, &predecessors, &exits);
        let (loops, reducible) =
            natural_loops(&successors, &predecessors, &dominators, &postdominator);
        let control = control_dependence(&successors, &postdominator);
        Self {
            successors,
            predecessors,
            postdominator,
            loops,
            control,
            reducible,
        }
    }

    pub fn loop_of_header(&self, header: BlockId) -> Option<usize> {
        self.loops
            .iter()
            .position(|natural| natural.header == header)
    }
}

fn block(index: usize) -> BlockId {
    BlockId(u32::try_from(index).unwrap_or(u32::MAX))
}

/// Immediate dominators by the algorithm of Cooper, Harvey and Kennedy; `None` where a block cannot
/// be reached. The entry is its own.
fn dominators(
    count: usize,
    entry: usize,
    predecessors: &[Vec<BlockId>],
    successors: &[Vec<BlockId>],
) -> Vec<Option<usize>> {
    let mut order = Vec::new();
    let mut state = vec![0_u8; count];
    let mut stack = vec![(entry, 0)];
    if count == 0 {
        return Vec::new();
    }
    state[entry] = 1;
    while let Some((at, next)) = stack.pop() {
        if let Some(to) = successors[at].get(next) {
            stack.push((at, next + 1));
            let to = to.0 as usize;
            if state[to] == 0 {
                state[to] = 1;
                stack.push((to, 0));
            }
        } else {
            order.push(at);
        }
    }
    let mut number = vec![usize::MAX; count];
    for (index, at) in order.iter().enumerate() {
        number[*at] = index;
    }
    let mut immediate: Vec<Option<usize>> = vec![None; count];
    immediate[entry] = Some(entry);
    let mut changed = true;
    while changed {
        changed = false;
        for &at in order.iter().rev() {
            if at == entry {
                continue;
            }
            let mut new: Option<usize> = None;
            for from in &predecessors[at] {
                let from = from.0 as usize;
                if immediate[from].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => from,
                    Some(mut a) => {
                        let mut b = from;
                        while a != b {
                            while number[a] < number[b] {
                                a = immediate[a].unwrap_or(entry);
                            }
                            while number[b] < number[a] {
                                b = immediate[b].unwrap_or(entry);
                            }
                        }
                        a
                    }
                });
            }
            if new.is_some() && immediate[at] != new {
                immediate[at] = new;
                changed = true;
            }
        }
    }
    immediate
}

fn postdominators(
    successors: &[Vec<BlockId>],
    predecessors: &[Vec<BlockId>],
    exits: &[bool],
) -> Vec<Option<BlockId>> {
    // The reversed graph, with one end behind all exits.
    let count = successors.len();
    let end = count;
    let mut forward: Vec<Vec<BlockId>> = predecessors.to_vec();
    forward.push(
        exits
            .iter()
            .enumerate()
            .filter(|(_, exit)| **exit)
            .map(|(at, _)| block(at))
            .collect(),
    );
    let mut backward: Vec<Vec<BlockId>> = successors.to_vec();
    for (at, exit) in exits.iter().enumerate() {
        if *exit {
            backward[at].push(block(end));
        }
    }
    backward.push(Vec::new());
    let immediate = dominators(count + 1, end, &backward, &forward);
    (0..count)
        .map(|at| {
            immediate[at]
                .filter(|to| *to != end && *to != at)
                .map(block)
        })
        .collect()
}

fn dominates(immediate: &[Option<usize>], a: usize, mut b: usize) -> bool {
    loop {
        if a == b {
            return true;
        }
        match immediate[b] {
            Some(up) if up != b => b = up,
            _ => return false,
        }
    }
}

fn natural_loops(
    successors: &[Vec<BlockId>],
    predecessors: &[Vec<BlockId>],
    immediate: &[Option<usize>],
    postdominator: &[Option<BlockId>],
) -> (Vec<NaturalLoop>, bool) {
    let mut loops: Vec<NaturalLoop> = Vec::new();
    for from in 0..successors.len() {
        if immediate[from].is_none() {
            continue;
        }
        for to in &successors[from] {
            if !dominates(immediate, to.0 as usize, from) {
                continue;
            }
            let at = match loops.iter().position(|natural| natural.header == *to) {
                Some(at) => at,
                None => {
                    loops.push(NaturalLoop {
                        header: *to,
                        blocks: BTreeSet::from([*to]),
                        follow: None,
                    });
                    loops.len() - 1
                }
            };
            let mut work = vec![block(from)];
            while let Some(at_block) = work.pop() {
                if immediate[at_block.0 as usize].is_some() && loops[at].blocks.insert(at_block) {
                    work.extend(predecessors[at_block.0 as usize].iter().copied());
                }
            }
        }
    }
    for natural in &mut loops {
        let mut at = postdominator[natural.header.0 as usize];
        while let Some(inside) = at.filter(|at| natural.blocks.contains(at)) {
            at = postdominator[inside.0 as usize];
        }
        natural.follow = at;
    }
    (loops, reducible(successors, immediate))
}

/// Without the edges back to dominators, no cycle is left.
fn reducible(successors: &[Vec<BlockId>], immediate: &[Option<usize>]) -> bool {
    let count = successors.len();
    let mut state = vec![0_u8; count];
    for start in 0..count {
        if state[start] != 0 || immediate[start].is_none() {
            continue;
        }
        state[start] = 1;
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            let Some(to) = successors[at].get(next) else {
                state[at] = 2;
                continue;
            };
            stack.push((at, next + 1));
            let to = to.0 as usize;
            if dominates(immediate, to, at) {
                continue;
            }
            match state[to] {
                0 => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                1 => return false,
                _ => {}
            }
        }
    }
    true
}

/// Ferrante, Ottenstein and Warren: a block depends on a branch if one side leads to it for certain
/// and another may pass it by.
fn control_dependence(
    successors: &[Vec<BlockId>],
    postdominator: &[Option<BlockId>],
) -> Vec<BTreeSet<BlockId>> {
    let mut control = vec![BTreeSet::new(); successors.len()];
    for (at, list) in successors.iter().enumerate() {
        if list.len() < 2 {
            continue;
        }
        for to in list {
            let mut here = Some(*to);
            let mut steps = 0;
            while let Some(inside) = here {
                if postdominator[at] == Some(inside) || steps > successors.len() {
                    break;
                }
                control[inside.0 as usize].insert(block(at));
                here = postdominator[inside.0 as usize];
                steps += 1;
            }
        }
    }
    control
}
