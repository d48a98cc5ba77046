//! Accesses to shared memory, and waits for groups of them.

use std::rc::Rc;

use super::Lowerer;
use super::Result;
use super::refuse;
use crate::interpret::Access;
use crate::ir::Location;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Object;
use crate::recover::term::TermId;
use crate::recover::tree::Obstacle;

impl Lowerer<'_> {
    pub(super) fn access(
        &mut self,
        base: TermId,
        bytes: &Rc<[(i128, i128)]>,
        access: Access,
        location: &Location,
    ) -> Result<Action> {
        Ok(Action::Access {
            place: self.touched(base, location)?,
            bytes: bytes.clone(),
            access,
        })
    }

    /// Where bytes begin.
    pub(super) fn touched(&mut self, base: TermId, location: &Location) -> Result<Object> {
        self.object(base, location).map_err(|obstacle| {
            let which = "which bytes of shared memory this is";
            let reason = obstacle.reason.replace("which mbarrier this is", which);
            Obstacle { reason, ..obstacle }
        })
    }

    pub(super) fn wait_group(
        &self,
        pending: TermId,
        read_only: bool,
        location: &Location,
    ) -> Result<Action> {
        match self.constant(pending) {
            Some(pending) => Ok(Action::WaitGroup { pending, read_only }),
            None => refuse("how many groups may be under way is not known", location),
        }
    }
}
