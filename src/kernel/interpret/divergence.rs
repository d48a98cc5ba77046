//! Which lanes of a warp are where.
//!
//! Lanes that go on together are a leaf of a tree. Where lanes part, their leaf becomes a node that
//! waits at the immediate postdominator of the branch, and each group a child of it; the node is a leaf
//! again once all children have come there or have ended. An operation that ties lanes of a warp
//! together (`.sync`) waits until the lanes it names are there, and makes one leaf of them. Nothing in
//! PTX makes lanes wait at a postdominator, so where nobody can go on otherwise, those who wait there
//! are released.

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
    /// Where the lanes meet others again.
    pub join: Option<Place>,
    parent: usize,
    children: u32,
    /// Branches on unknown values, with the places at which their sides join.
    pub controls: Vec<(Option<Place>, Origins)>,
    /// Those of the nodes above.
    pub inherited: Origins,
    pub blocked: Option<Blocked>,
    /// Lanes that should have taken part in the operation that comes next and have ended instead.
    pub missed: Lanes,
    /// What spin loops saw in their last round.
    pub spins: Vec<Round>,
}

/// What a spin loop saw.
#[derive(Debug, Clone)]
pub struct Round {
    pub spin: usize,
    pub version: u64,
    pub registers: Vec<Value>,
    /// How many events the warp had.
    pub events: usize,
}

/// Why lanes do not go on.
#[derive(Debug, Clone)]
pub enum Blocked {
    /// For other lanes of the warp, of this mask.
    Lanes {
        mask: Lanes,
        /// Those that were not there and had not ended when the lanes came.
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

/// The tree of a warp. The node 0 is above all and never a leaf.
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

    /// Leaves, those that began last first.
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

    /// The lanes of a leaf go to different places, to meet again at `join`.
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
        // The first group is to run first, so it comes last.
        for (to, lanes) in staying.into_iter().rev() {
            let mut child = LaneGroup::new(to, lanes, join, leaf);
            child.inherited = inherited;
            self.nodes.push(Some(child));
        }
    }

    /// A leaf's lanes have come to where they meet others, or have ended.
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

    /// Makes one leaf of leaves that are at the same place; gives it.
    pub fn merge(&mut self, leaves: &[usize], exited: Lanes, sets: &mut Sets) -> Option<usize> {
        let chains: Vec<Vec<usize>> = leaves.iter().map(|leaf| self.chain(*leaf)).collect();
        let shared = |node: &usize| chains.iter().all(|chain| chain.contains(node));
        // Chains begin at the leaf, so the first node in all of them is the lowest.
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

    /// Whether the children of a node come to its place.
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

    /// Adds a branch that depends on what is not known.
    pub fn control(&mut self, join: Option<Place>, origins: Origins, sets: &mut Sets) {
        match self.controls.iter_mut().find(|(known, _)| *known == join) {
            Some((_, known)) => *known = sets.union(*known, origins),
            None => self.controls.push((join, origins)),
        }
    }
}
