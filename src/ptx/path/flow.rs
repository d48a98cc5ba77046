//! The control flow of a function: blocks, postdominators and natural loops.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;

use petgraph::algo::dominators;
use petgraph::graph::DiGraph;
use petgraph::graph::NodeIndex;
use petgraph::visit::Reversed;

use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::statement::Obstacle;

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ptx) enum End {
    /// Goes on there.
    Goto(usize),
    /// Goes to the first where the guard of the last instruction holds, else to the second.
    Branch(usize, usize),
}

/// A piece of code that is entered at its beginning only.
#[derive(Debug)]
pub(in crate::ptx) struct Block {
    pub code: Range<usize>,
    pub end: End,
}

/// The control flow of a function. The block after the last one stands for having left.
#[derive(Debug)]
pub(in crate::ptx) struct Flow {
    pub blocks: Vec<Block>,
    /// The first block that is on every path from a block to the end: its immediate postdominator.
    joins: Vec<Option<usize>>,
    /// The blocks of each natural loop, by its header.
    pub loops: BTreeMap<usize, BTreeSet<usize>>,
}

impl Flow {
    /// The number that stands for having left.
    pub fn exit(&self) -> usize {
        self.blocks.len()
    }

    pub fn join(&self, block: usize) -> Option<usize> {
        self.joins.get(block).copied().flatten()
    }

    pub fn next(&self, block: usize) -> Vec<usize> {
        match self.blocks.get(block).map(|b| b.end) {
            Some(End::Goto(to)) => vec![to],
            Some(End::Branch(a, b)) if a == b => vec![a],
            Some(End::Branch(a, b)) => vec![a, b],
            None => Vec::new(),
        }
    }

    /// The blocks that can be reached from one without coming by another.
    pub fn between(&self, from: usize, to: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            if block != to && block != self.exit() && seen.insert(block) {
                open.extend(self.next(block));
            }
        }
        seen
    }

    /// Cuts a function into blocks.
    pub fn of(function: &Function<'_>) -> Result<Flow, Obstacle> {
        let code = &function.code;
        let mut leaders: BTreeSet<usize> = BTreeSet::from([0]);
        leaders.extend(function.targets.iter().copied());
        for (index, instruction) in code.iter().enumerate() {
            if leaves(instruction) || branches(instruction) || traps(instruction) {
                leaders.insert(index + 1);
            }
        }
        leaders.retain(|l| *l < code.len());
        let starts: Vec<usize> = leaders.iter().copied().collect();
        let exit = starts.len();
        let number = |at: usize| starts.binary_search(&at).unwrap_or(exit);
        let mut blocks = Vec::with_capacity(exit);
        let mut dead = BTreeSet::new();
        for (index, start) in starts.iter().enumerate() {
            let stop = starts.get(index + 1).copied().unwrap_or(code.len());
            let mut range = *start..stop;
            let last = code.get(stop.wrapping_sub(1)).filter(|_| stop > *start);
            let after = number(stop);
            let end = match last {
                Some(i) if traps(i) => {
                    dead.insert(index);
                    End::Goto(exit)
                }
                Some(i) if leaves(i) || branches(i) => {
                    range.end = stop - 1;
                    let to = if leaves(i) {
                        exit
                    } else {
                        match i.operands.last() {
                            Some(Operand::Target(target)) => function
                                .targets
                                .get(*target as usize)
                                .map_or(exit, |t| number(*t)),
                            _ => {
                                let reason = "the target of this branch is not known";
                                return Err(Obstacle::new(i.at, reason));
                            }
                        }
                    };
                    match i.guard {
                        None => End::Goto(to),
                        Some(_) => End::Branch(to, after),
                    }
                }
                _ => End::Goto(after),
            };
            blocks.push(Block { code: range, end });
        }
        // A failed assertion ends the whole launch, so edges to it are removed.
        for block in &mut blocks {
            if let End::Branch(a, b) = block.end {
                match (dead.contains(&a), dead.contains(&b)) {
                    (true, false) => block.end = End::Goto(b),
                    (false, true) => block.end = End::Goto(a),
                    _ => {}
                }
            }
        }
        let mut flow = Flow {
            blocks,
            joins: Vec::new(),
            loops: BTreeMap::new(),
        };
        flow.part_spins(function);
        flow.analyse(function)?;
        Ok(flow)
    }

    /// The same graph with other edges. An edge for which there is no replacement is removed.
    pub fn with(
        &self,
        function: &Function<'_>,
        way: &dyn Fn(usize, usize) -> Option<usize>,
    ) -> Result<Flow, Obstacle> {
        let exit = self.exit();
        let blocks = self.blocks.iter().enumerate().map(|(number, block)| {
            let end = match block.end {
                End::Goto(to) => End::Goto(way(number, to).unwrap_or(exit)),
                End::Branch(a, b) => match (way(number, a), way(number, b)) {
                    (Some(a), Some(b)) => End::Branch(a, b),
                    (one, other) => End::Goto(one.or(other).unwrap_or(exit)),
                },
            };
            Block {
                code: block.code.clone(),
                end,
            }
        });
        let mut flow = Flow {
            blocks: blocks.collect(),
            joins: Vec::new(),
            loops: BTreeMap::new(),
        };
        flow.analyse(function)?;
        Ok(flow)
    }

    /// A block that is repeated, by itself or after a pause, and is where another loop begins gets an empty block before
    /// it, so that the two loops have headers of their own.
    fn part_spins(&mut self, function: &Function<'_>) {
        let mut before = vec![BTreeSet::new(); self.exit() + 1];
        for block in 0..self.exit() {
            for to in self.next(block) {
                before[to].insert(block);
            }
        }
        let pauses = |block: usize| {
            let code = self.blocks.get(block).map(|b| b.code.clone());
            let code = code.and_then(|range| function.code.get(range));
            code.is_some_and(|all| all.iter().all(|i| i.parts().next() == Some("nanosleep")))
        };
        let own = |spin: usize| -> BTreeSet<usize> {
            let all = self.next(spin).into_iter();
            let again = all.filter(|next| {
                let behind = || before[*next].len() == 1 && self.next(*next) == [spin];
                *next == spin || behind() && pauses(*next)
            });
            again.collect()
        };
        let spins = (1..self.exit()).map(|spin| (spin, own(spin)));
        let spins = spins.filter(|(b, own)| !own.is_empty() && before[*b].len() > own.len() + 1);
        for (spin, own) in spins.collect::<Vec<_>>() {
            let exit = self.exit();
            let start = self.blocks[spin].code.start;
            for (number, block) in self.blocks.iter_mut().enumerate() {
                let moved = |to: usize| match to {
                    to if to == exit => exit + 1,
                    to if to == spin && !own.contains(&number) => exit,
                    to => to,
                };
                block.end = match block.end {
                    End::Goto(to) => End::Goto(moved(to)),
                    End::Branch(a, b) => End::Branch(moved(a), moved(b)),
                };
            }
            self.blocks.push(Block {
                code: start..start,
                end: End::Goto(spin),
            });
        }
    }

    fn analyse(&mut self, function: &Function<'_>) -> Result<(), Obstacle> {
        let mut graph: DiGraph<(), ()> = DiGraph::new();
        let nodes: Vec<NodeIndex> = (0..=self.exit()).map(|_| graph.add_node(())).collect();
        let mut before = vec![Vec::new(); self.exit() + 1];
        for block in 0..self.exit() {
            for to in self.next(block) {
                graph.add_edge(nodes[block], nodes[to], ());
                before[to].push(block);
            }
        }
        let dominators = dominators::simple_fast(&graph, nodes[0]);
        let joins = dominators::simple_fast(Reversed(&graph), nodes[self.exit()]);
        self.joins = (0..self.exit())
            .map(|b| joins.immediate_dominator(nodes[b]).map(NodeIndex::index))
            .collect();
        for block in self.retreating() {
            let (from, to) = block;
            let contains = |all: Option<_>| {
                let mut all: Option<dominators::DominatorsIter<'_, NodeIndex>> = all;
                all.as_mut().is_some_and(|a| a.any(|d| d == nodes[to]))
            };
            if !contains(dominators.dominators(nodes[from])) {
                let at = self.blocks[to].code.start;
                let at = function.code.get(at).map_or(0, |i| i.at);
                return Err(Obstacle::new(at, "this loop is entered in the middle"));
            }
            let body = self.loops.entry(to).or_default();
            body.insert(to);
            let mut open = vec![from];
            while let Some(block) = open.pop() {
                if body.insert(block) {
                    open.extend(before[block].iter().copied());
                }
            }
        }
        Ok(())
    }

    /// Edges back to a block that is still being visited in a depth-first search.
    fn retreating(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut state = vec![0u8; self.exit() + 1];
        let mut open = vec![(0usize, 0usize)];
        while let Some((block, index)) = open.pop() {
            state[block] = 1;
            match self.next(block).get(index) {
                None => state[block] = 2,
                Some(to) => {
                    open.push((block, index + 1));
                    match state[*to] {
                        0 => open.push((*to, 0)),
                        1 => found.push((block, *to)),
                        _ => {}
                    }
                }
            }
        }
        found
    }
}

fn branches(instruction: &Instruction<'_>) -> bool {
    instruction.parts().next() == Some("bra")
}

fn leaves(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.parts().next(), Some("ret" | "exit"))
}

fn traps(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == "trap" && instruction.guard.is_none()
}
