//! Checks that all lanes that have to execute an operation together are there: the lanes of its mask, or all lanes of
//! the warp.

use std::collections::BTreeSet;

use super::Path;
use super::Result;
use super::Walker;
use super::both;
use super::lane_of;
use super::refuse;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::recover::slice::mask_of;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::Event;
use crate::recover::tree::EventKind;
use crate::recover::tree::Statement;

impl Walker<'_> {
    /// Whether a term is one number in all lanes. A value from memory need not be. Whether a loop
    /// carries such a value is checked when the walk is over ([`differs`]).
    pub(super) fn assume_alike(&mut self, term: TermId, location: &Location) -> bool {
        if self.is_opaque(term) {
            return false;
        }
        // A value that a word of memory decides is alike as long as nobody writes the word. That is
        // stated where a term was assumed to be alike.
        let carried = |atom: &Atom| matches!(atom, Atom::Phi(_));
        let atoms = self.terms.atoms(term);
        if atoms.iter().any(carried) || !self.terms.memory_in(term).is_empty() {
            self.alike.push((term, location.clone()));
        }
        true
    }

    /// Refuses an operation of the whole warp if a lane is missing that has not exited.
    pub(super) fn whole(
        &self,
        mask: u32,
        path: &Path,
        what: &str,
        location: &Location,
    ) -> Result<()> {
        match mask | path.exited == self.full {
            true => Ok(()),
            false => self.unparted(mask, what, location),
        }
    }

    /// Refuses what a warp computes as a whole if a lane is missing, also one that has ended: only barriers are said not to
    /// need it.
    pub(super) fn unparted(&self, mask: u32, what: &str, location: &Location) -> Result<()> {
        if mask == self.full {
            return Ok(());
        }
        refuse(
            format!("a part of a warp comes to {what}, while other lanes go on: this is undefined"),
            location,
        )
    }

    /// The lanes that have waited when these do, if others have not.
    pub(super) fn waited_by(&self, mask: u32, path: &Path) -> Option<u32> {
        if mask | path.exited == self.full {
            return path.waited;
        }
        both(path.waited, Some(mask))
    }

    /// Notes where all lanes of the warp come together: none is ahead any longer.
    pub(super) fn meet(&self, operation: &Operation, path: &mut Path) {
        let OperationKind::Synchronization(synchronization) = &operation.kind else {
            return;
        };
        // Those of `wgmma` and of tensor memory are `.sync.aligned`: each lane waits there until all of its warp have
        // come.
        let all = match mask_of(synchronization) {
            None if synchronization.is_for_all_lanes() => true,
            Some(Operand::Constant(lanes)) => {
                // A mask of 32 bits, as `-1` is written.
                let lanes = u32::try_from(lanes & 0xffff_ffff).unwrap_or(0);
                self.full & !(lanes | path.exited) == 0
            }
            _ => false,
        };
        if all && operation.guard.is_none() && path.mask | path.exited == self.full {
            path.waited = None;
        }
        // Others of these operations do not order what lanes read and write.
        if all
            && matches!(synchronization, Synchronization::WarpSync { .. })
            && operation.guard.is_none()
            && path.mask | path.exited == self.full
        {
            path.position.loose = 0;
            path.order.meet(path.exited);
        }
    }

    /// Refuses an operation of lanes that have not waited themselves, and so may be ahead of those that have.
    pub(super) fn in_order(&self, mask: u32, path: &Path, location: &Location) -> Result<()> {
        match path.waited {
            Some(waited) if mask & !waited != 0 => refuse(
                "some lanes of the warp have waited, and others may come here ahead of them: a `bar.warp.sync` is missing",
                location,
            ),
            _ => Ok(()),
        }
    }

    /// Refuses an operation of several lanes for which some are missing. Lanes that have ended are not waited for.
    ///
    /// Source: PTX ISA, "shfl.sync", "vote.sync", "bar.warp.sync", "wgmma.mma_async", "tcgen05.alloc".
    pub(super) fn come_together(
        &mut self,
        synchronization: &Synchronization,
        mask: u32,
        path: &Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        if let Some(named) = mask_of(synchronization) {
            let named = self.operand(named, 32, &path.state);
            let mut masks = [None; 32];
            for (lane, slot) in masks.iter_mut().enumerate() {
                if mask >> lane & 1 == 1 {
                    let bits = self.terms.value(lane_of(&named, lane));
                    let Some(bits) = bits.and_then(|bits| u32::try_from(bits).ok()) else {
                        if matches!(synchronization, Synchronization::WarpSync { .. }) {
                            return refuse("which lanes it waits for is not known", location);
                        }
                        *self.trusts_memory = true;
                        return Ok(());
                    };
                    *slot = Some(bits);
                }
            }
            if !complete(&masks, self.full & !path.exited) {
                return refuse(
                    "a lane is not in its own mask, or lanes of the mask are not here: this is undefined",
                    location,
                );
            }
            return Ok(());
        }
        if synchronization.is_for_all_lanes() {
            self.whole(mask, path, "what all its lanes do together", location)?;
        }
        if synchronization.is_multiplication() {
            if mask != u32::MAX {
                return refuse(
                    "all 128 threads of a warpgroup have to carry this out, and some of them do not: this is undefined",
                    location,
                );
            }
            out.push(Statement::Event(Event {
                kind: EventKind::Multiply(synchronization.clone()),
                lanes: mask.count_ones(),
                location: location.clone(),
            }));
        }
        Ok(())
    }
}

/// Where a term was assumed to be one number in all lanes, though a loop carries an unknown value
/// there.
pub fn differs(arena: &Arena) -> Option<Location> {
    let unlike = |term: TermId| {
        let mut seen = BTreeSet::new();
        let mut work = vec![term];
        while let Some(term) = work.pop() {
            for atom in arena.terms.atoms(term).iter() {
                match atom {
                    Atom::Opaque(_) | Atom::RingWord(_) => return true,
                    Atom::Phi(phi) if seen.insert(*phi) => {
                        let phi = &arena.phis[*phi as usize];
                        work.extend([phi.first, phi.next]);
                    }
                    _ => {}
                }
            }
        }
        false
    };
    let mut found = arena.alike.iter().filter(|(term, _)| unlike(*term));
    found.next().map(|(_, location)| location.clone())
}

/// Whether every lane that is here is in its own mask, and all lanes of a mask that have not ended are here with the
/// same one.
fn complete(masks: &[Option<u32>; 32], alive: u32) -> bool {
    let here = masks.iter().enumerate();
    here.filter_map(|(lane, mask)| Some((lane, (*mask)?)))
        .all(|(lane, mask)| {
            let all = (0..32).all(|other| {
                let wanted = mask & alive & 1 << other != 0;
                !wanted || masks[other] == Some(mask)
            });
            all && mask >> lane & 1 == 1
        })
}
