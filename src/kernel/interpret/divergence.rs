//! The divergence of a warp: which lanes are at which place.
//!
//! Lanes that go on together are a leaf of a tree. When the lanes of a leaf diverge, the leaf becomes an inner node,
//! and each group becomes a child of it. The node waits at the immediate postdominator of the branch. It is a leaf
//! again once all children have come there or have ended. An operation that ties lanes of a warp together (`.sync`)
//! waits until the lanes that it names are there, and makes one leaf of them. However, nothing in PTX makes lanes
//! wait at a postdominator. So if no lane can go on otherwise, the lanes that wait at a postdominator are released.

use super::event::Place;
use super::taint::Origins;
use super::taint::Sets;
use super::value::Lanes;
use super::value::Value;
use crate::ir::BarrierReduction;

/// Lanes that are at one place.
#[derive(Debug, Clone)]
pub struct LaneGroup {
    pub at: Place,
    pub lanes: Lanes,
    /// The place at which the lanes meet others again.
    pub join: Option<Place>,
    parent: usize,
    children: u32,
    /// Branches on unknown values, each with the place at which its sides join.
    pub controls: Vec<(Option<Place>, Origins)>,
    /// The same of the nodes above.
    pub inherited: Origins,
    pub blocked: Option<Blocked>,
    /// Lanes that should have taken part in the next operation and have ended instead.
    pub missed: Lanes,
    /// The state of spin loops in their last round.
    pub spins: Vec<Round>,
}

/// The state that a round of a spin loop saw.
#[derive(Debug, Clone)]
pub struct Round {
    pub spin: usize,
    pub version: u64,
    pub registers: Vec<Value>,
    /// The number of events of the warp so far.
    pub events: usize,
}

/// Why lanes do not go on.
#[derive(Debug, Clone)]
pub enum Blocked {
    /// They wait for other lanes of the warp, out of this mask.
    Lanes {
        mask: Lanes,
        /// The lanes that had neither come nor ended when these lanes came.
        missing: Lanes,
    },
    Barrier {
        place: Place,
        barrier: usize,
        generation: u64,
        reduction: Option<BarrierReduction>,
    },
    Cluster {
        place: Place,
        phase: u64,
    },
    Mbarrier {
        cta: u32,
        address: u32,
        parity: Result<bool, u64>,
    },
    Change {
        version: u64,
    },
}

/// The tree of a warp. Node 0 is the root and never a leaf.
#[derive(Debug, Clone)]
pub struct DivergenceTree {
    nodes: Vec<Option<LaneGroup>>,
}

const ROOT: usize = 0;

impl DivergenceTree {
    pub fn new(at: Place, lanes: Lanes) -> Self {
        let mut splits = Self { nodes: Vec::new() };
        let mut root = LaneGroup::new(at, lanes, None, ROOT);
        root.children = 1;
        splits.nodes.push(Some(root));
        splits
            .nodes
            .push(Some(LaneGroup::new(at, lanes, None, ROOT)));
        splits
    }

    /// The leaves. The one that began last comes first.
    pub fn leaves(&self) -> Vec<usize> {
        let leaf = |at: &usize| {
            let node = self.nodes.get(*at).and_then(Option::as_ref);
            node.is_some_and(|node| node.children == 0)
        };
        (1..self.nodes.len()).rev().filter(leaf).collect()
    }

    pub fn get(&self, node: usize) -> Option<&LaneGroup> {
        self.nodes.get(node).and_then(Option::as_ref)
    }

    pub fn get_mut(&mut self, node: usize) -> Option<&mut LaneGroup> {
        self.nodes.get_mut(node).and_then(Option::as_mut)
    }

    pub fn is_done(&self) -> bool {
        self.nodes.iter().skip(1).all(Option::is_none)
    }

    /// The lanes of a leaf diverge to different places. They will meet again at `join`.
    pub fn part(
        &mut self,
        leaf: usize,
        groups: &[(Place, Lanes)],
        join: Option<Place>,
        sets: &mut Sets,
    ) {
        let Some(node) = self.get_mut(leaf) else {
            return;
        };
        let mut staying: Vec<(Place, Lanes)> = groups.to_vec();
        staying.retain(|(to, lanes)| Some(*to) != join && *lanes != 0);
        if join.is_some() && join == node.join && staying.len() == 1 {
            (node.at, node.lanes) = staying[0];
            return;
        }
        let mut inherited = node.inherited;
        for (_, origins) in &node.controls {
            inherited = sets.union(inherited, *origins);
        }
        if let Some(join) = join {
            node.at = join;
        }
        node.children = u32::try_from(staying.len()).unwrap_or(u32::MAX);
        // The first group has to run first, so it is added last.
        for (to, lanes) in staying.into_iter().rev() {
            let mut child = LaneGroup::new(to, lanes, join, leaf);
            child.inherited = inherited;
            self.nodes.push(Some(child));
        }
    }

    /// The lanes of a leaf have come to the place where they meet others, or have ended.
    pub fn end(&mut self, leaf: usize, exited: Lanes) {
        let mut at = leaf;
        while let Some(node) = self.nodes.get_mut(at).and_then(Option::take) {
            let Some(parent) = self.get_mut(node.parent) else {
                break;
            };
            parent.children = parent.children.saturating_sub(1);
            if parent.children > 0 || node.parent == ROOT {
                break;
            }
            parent.lanes &= !exited;
            if parent.lanes != 0 {
                break;
            }
            at = node.parent;
        }
        while self.nodes.len() > 1 && self.nodes.last().is_some_and(Option::is_none) {
            self.nodes.pop();
        }
    }

    /// Joins leaves that are at the same place to one leaf, and returns it.
    pub fn merge(&mut self, leaves: &[usize], exited: Lanes, sets: &mut Sets) -> Option<usize> {
        let chains: Vec<Vec<usize>> = leaves.iter().map(|leaf| self.chain(*leaf)).collect();
        let shared = |node: &usize| chains.iter().all(|chain| chain.contains(node));
        // Each chain begins at a leaf. So the first node that is in all chains is the lowest common one.
        let above = chains.first()?.iter().copied().find(shared)?;
        let (mut lanes, mut inherited) = (0, Origins::NONE);
        let at = self.get(*leaves.first()?)?.at;
        for (leaf, chain) in leaves.iter().zip(&chains) {
            lanes |= self.get(*leaf)?.lanes;
            for node in chain.iter().take_while(|node| **node != above) {
                let node = self.get(*node)?;
                inherited = sets.union(inherited, node.inherited);
                for (_, origins) in &node.controls {
                    inherited = sets.union(inherited, *origins);
                }
            }
        }
        let join = if above == ROOT {
            None
        } else {
            Some(self.get(above)?.at)
        };
        let join = join.filter(|_| self.joins_children(above));
        self.get_mut(above)?.children += 1;
        for chain in &chains {
            for node in chain.iter().take_while(|node| **node != above) {
                if let Some(node) = self.get_mut(*node) {
                    node.lanes &= !lanes;
                }
            }
        }
        for leaf in leaves {
            self.end(*leaf, exited | lanes);
        }
        let mut merged = LaneGroup::new(at, lanes, join, above);
        merged.inherited = inherited;
        self.nodes.push(Some(merged));
        Some(self.nodes.len() - 1)
    }

    /// Whether the children of a node come to the place at which it waits.
    fn joins_children(&self, node: usize) -> bool {
        let mut children = self
            .nodes
            .iter()
            .flatten()
            .filter(|child| child.parent == node);
        children.any(|child| child.join.is_some())
    }

    /// Lets lanes continue that wait for others at a reconvergence point; `false` if there are none.
    pub fn release(&mut self, exited: Lanes) -> bool {
        for at in (1..self.nodes.len()).rev() {
            let Some(node) = self.get(at).filter(|node| node.children > 0) else {
                continue;
            };
            let children = self.nodes.iter().skip(1).flatten();
            let below = children.filter(|child| child.parent == at);
            let below = below.fold(0, |lanes, child| lanes | child.lanes);
            let waiting = node.lanes & !below & !exited;
            if waiting == 0 {
                continue;
            }
            let mut released = node.clone();
            released.children = 0;
            released.lanes = waiting;
            if let Some(node) = self.get_mut(at) {
                node.lanes &= !waiting;
            }
            if let Some(parent) = self.get_mut(released.parent) {
                parent.children += 1;
            }
            self.nodes.push(Some(released));
            return true;
        }
        false
    }

    fn chain(&self, leaf: usize) -> Vec<usize> {
        let mut chain = vec![leaf];
        let mut at = leaf;
        while at != ROOT {
            let Some(node) = self.get(at) else { break };
            at = node.parent;
            chain.push(at);
        }
        chain
    }
}

impl LaneGroup {
    fn new(at: Place, lanes: Lanes, join: Option<Place>, parent: usize) -> Self {
        Self {
            at,
            lanes,
            join,
            parent,
            children: 0,
            controls: Vec::new(),
            inherited: Origins::NONE,
            blocked: None,
            missed: 0,
            spins: Vec::new(),
        }
    }

    /// Adds a branch that depends on an unknown value.
    pub fn control(&mut self, join: Option<Place>, origins: Origins, sets: &mut Sets) {
        match self.controls.iter_mut().find(|(known, _)| *known == join) {
            Some((_, known)) => *known = sets.union(*known, origins),
            None => self.controls.push((join, origins)),
        }
    }
}
