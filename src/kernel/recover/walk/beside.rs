//! Where the other lanes of a warp may be while some of them are walked: whether something that lanes have to do together is
//! certainly done by these alone.

use std::collections::BTreeSet;

use super::Path;
use super::Purpose;
use super::Result;
use super::Walker;
use super::only_computes;
use crate::ir::BlockId;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Terminator;
use crate::recover::slice::is_event;
use crate::recover::slice::mask_of;
use crate::recover::slice::ties_lanes;
use crate::recover::term::TermId;
use crate::recover::tree::Statement;

impl Walker<'_> {
    /// As [`Self::region`], while other lanes of the warp come from `other` to where they meet.
    pub(super) fn region_beside(
        &mut self,
        other: BlockId,
        from: BlockId,
        until: Option<BlockId>,
        path: Path,
        out: &mut Vec<Statement>,
        (meeting, depth): (Option<BlockId>, u32),
    ) -> Result<Option<Path>> {
        self.beside.push(self.way(other, meeting));
        let end = self.region(from, until, path, out, depth);
        self.beside.pop();
        end
    }

    /// The blocks on one side of a branch.
    fn way(&self, from: BlockId, meeting: Option<BlockId>) -> BTreeSet<BlockId> {
        if Some(from) == meeting {
            return BTreeSet::new();
        }
        let behind = self.graph.between(from, meeting);
        behind.into_iter().chain([from]).collect()
    }

    /// Whether the lanes that have parted from those that are walked certainly do not come to a block at the same time.
    pub(super) fn is_alone(&self, at: BlockId) -> bool {
        !self.beside.iter().any(|others| others.contains(&at))
    }

    /// Whether something that all lanes of the warp do together is on one side of a branch only. What names lanes by a mask may be for
    /// those of that side.
    pub(super) fn one_side_acts(&self, at: BlockId) -> bool {
        let meeting = self.graph.join(at);
        let sides = self.graph.successors(at).iter();
        let ways: Vec<_> = sides.map(|side| self.way(*side, meeting)).collect();
        let blocks = ways.iter().flatten();
        let mut alone = blocks.filter(|block| ways.iter().any(|way| !way.contains(block)));
        alone.any(|block| {
            self.is_alone(*block) && (self.needs_all(*block) || self.names_all(*block))
        })
    }

    /// Whether an operation of a block names all lanes by a mask.
    fn names_all(&self, at: BlockId) -> bool {
        const ALL: u128 = 0xffff_ffff;
        let mut operations = self.kernel.blocks[at.0 as usize].operations.iter();
        operations.any(|operation| match &operation.kind {
            OperationKind::Synchronization(synchronization) => {
                matches!(mask_of(synchronization), Some(Operand::Constant(mask)) if mask & ALL == ALL)
            }
            _ => false,
        })
    }

    /// Where lanes go on that do not end. Nobody waits for those that do, whichever they are. But what the whole warp computes
    /// needs them as well: then either all go on or none. `open` are the conditions by which lanes part.
    pub(super) fn beside_the_ended(
        &mut self,
        then: BlockId,
        otherwise: BlockId,
        open: &BTreeSet<TermId>,
    ) -> Option<BlockId> {
        if self.purpose == Purpose::Events {
            return None;
        }
        let ended = [self.ends(then, None), self.ends(otherwise, None)];
        let on = match ended {
            [true, false] => otherwise,
            [false, true] => then,
            _ => return None,
        };
        let behind = self.graph.between(on, None);
        if behind.into_iter().chain([on]).any(|at| self.needs_all(at)) {
            if !open.iter().all(|term| self.is_opaque(*term)) {
                return None;
            }
            *self.trusts_memory = true;
        }
        Some(on)
    }

    /// Whether the whole warp computes something in a block.
    fn needs_all(&self, at: BlockId) -> bool {
        let operations = &self.kernel.blocks[at.0 as usize].operations;
        operations.iter().any(|operation| match &operation.kind {
            OperationKind::Synchronization(synchronization) => synchronization.is_for_all_lanes(),
            kind => kind.of_whole_warp().is_some(),
        })
    }

    /// Whether a block does nothing but end the thread: nothing that matters, and nothing before which it may wait. From where
    /// lanes meet others, they may wait for them before they do anything at all, such as a store.
    pub(super) fn ends(&self, mut at: BlockId, meeting: Option<BlockId>) -> bool {
        let mut met = false;
        for _ in 0..8 {
            let block = &self.kernel.blocks[at.0 as usize];
            met |= Some(at) == meeting;
            if met && !block.operations.iter().all(only_computes) {
                return false;
            }
            let waits = |operation: &Operation| {
                is_event(operation)
                    || ties_lanes(operation)
                    || operation.kind.of_whole_warp().is_some()
            };
            if self.slice.operations[at.0 as usize].contains(&true)
                || self.accesses(at)
                || self.purpose == Purpose::Together && block.operations.iter().any(waits)
            {
                return false;
            }
            match block.end {
                Terminator::Exit => return true,
                Terminator::Jump(to) => at = to,
                _ => return false,
            }
        }
        false
    }
}
