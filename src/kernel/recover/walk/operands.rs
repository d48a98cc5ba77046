//! Refuses operands that PTX does not allow: addresses in another CTA, and sizes that are no
//! multiple of 16 bytes.

use super::Path;
use super::Result;
use super::Walker;
use super::lane_of;
use super::misused;
use crate::ir::Location;
use crate::ir::Operand;
use crate::recover::term::Atom;

impl Walker<'_> {
    /// Refuses addresses of another CTA where the instruction means the window of its own.
    pub(super) fn own(
        &mut self,
        address: Operand,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<()> {
        let address = self.operand(address, 32, &path.state);
        let rank = self.place.rank;
        let elsewhere = (0..32).filter(|lane| mask >> lane & 1 == 1).any(|lane| {
            let atoms = self.terms.atoms(lane_of(&address, lane));
            let other = |atom: &Atom| matches!(atom, Atom::Shared { rank: at, .. } if *at != rank);
            atoms.iter().any(other)
        });
        if elsewhere {
            return misused(
                "this instruction takes an mbarrier of its own CTA only, but the address is in another CTA: this is undefined",
                location,
            );
        }
        Ok(())
    }

    /// Refuses bulk copies whose size is certainly no multiple of 16 bytes.
    pub(super) fn whole_chunks(
        &mut self,
        bytes: Option<Operand>,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<()> {
        let Some(bytes) = bytes else { return Ok(()) };
        let bytes = self.operand(bytes, 32, &path.state);
        let parted = (0..32).any(|lane| {
            let bytes = self.terms.value(lane_of(&bytes, lane));
            mask >> lane & 1 == 1 && bytes.is_some_and(|bytes| bytes % 16 != 0)
        });
        if parted {
            return misused("bulk copies have a multiple of 16 bytes", location);
        }
        Ok(())
    }
}
