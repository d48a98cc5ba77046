//! Groups of asynchronous work: which lanes start it, and which wait for it.
//!
//! Each lane has groups of its own. A role has one list of groups. The two are the same
//!
//! - for bulk copies, where one lane starts all of the warp and takes part in each commit and each wait. The others have no
//!   groups, so they wait for nothing;
//! - for `cp.async`, where all lanes take part in each commit and each wait. Each lane then knows of its own copies only.
//!
//! Everything else is refused. So is a warp with several sorts of work, as a statement of the language covers all of them.
//! Source: PTX ISA, "cp.async.commit_group", "cp.async.wait_group", "cp.async.bulk.commit_group", "cp.async.mbarrier.arrive".

use super::Path;
use super::Result;
use super::Walker;
use super::refuse;
use crate::ir::GroupKind;
use crate::ir::Location;

const STARTED: &str = "one lane has to start, commit and wait for all bulk copies of the warp";

const SORTS: &str = "races are not decided of a warp that uses two of these: `cp.async` groups, bulk copy groups, copies that complete at an mbarrier";

/// What sort of asynchronous work a warp starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Copies that tell an mbarrier.
    Arriving,
    Groups(GroupKind),
}

/// Of the groups of asynchronous work of a warp.
#[derive(Debug)]
pub(super) struct Groups {
    pub sort: Option<Sort>,
    /// The lane that starts bulk copies.
    pub starts: Option<u32>,
    /// The lanes that take part in each commit and each wait that was met.
    pub each: u32,
    /// Whether several lanes have waited before it was known which one starts copies.
    pub waited_early: bool,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            sort: None,
            starts: None,
            each: u32::MAX,
            waited_early: false,
        }
    }
}

impl Walker<'_> {
    /// Lanes start work of their next groups.
    pub(super) fn start(
        &mut self,
        kind: GroupKind,
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) -> Result<()> {
        self.one_sort(Sort::Groups(kind), location)?;
        match kind {
            GroupKind::Copy => path.order.copied |= mask,
            _ => {
                let starts = *self.groups.starts.get_or_insert(mask);
                if starts != mask || self.groups.each & mask == 0 || self.groups.waited_early {
                    return refuse(STARTED, location);
                }
            }
        }
        Ok(())
    }

    /// Lanes commit a group, or wait for some.
    pub(super) fn group(
        &mut self,
        kind: GroupKind,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<()> {
        self.one_sort(Sort::Groups(kind), location)?;
        match kind {
            GroupKind::Copy if mask | path.exited != self.full => refuse(
                "all lanes of the warp have to commit `cp.async` groups and wait for them together",
                location,
            ),
            // The text has one list of groups for the warp, theirs among them.
            GroupKind::Copy if self.gone_copied != 0 => refuse(
                "lanes of the warp have started `cp.async` copies and exited, and the other lanes wait for their own copies only",
                location,
            ),
            GroupKind::Copy => Ok(()),
            _ => {
                self.groups.each &= mask;
                match self.groups.starts {
                    Some(starts) if mask & starts == 0 => refuse(STARTED, location),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Lanes go on when their own groups are done.
    pub(super) fn await_groups(
        &mut self,
        kind: GroupKind,
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) -> Result<()> {
        self.ordered(mask, false, path, location)?;
        let alive = self.full & !path.exited;
        match kind {
            GroupKind::Copy => {
                // Each knows of its own copies, and has them to tell of.
                path.order.own_copies = true;
                path.order.touched |= path.order.copied;
            }
            _ => {
                let waits = self.groups.starts.unwrap_or(mask);
                // Who starts copies is not known yet, in an earlier round of a loop.
                self.groups.waited_early |= self.groups.starts.is_none() && mask.count_ones() > 1;
                path.order.wait(waits, alive);
            }
        }
        Ok(())
    }

    /// A role has one list of what is under way. In it, groups and arrivals behind copies would cover copies that tell an mbarrier
    /// themselves, too.
    pub(super) fn one_sort(&mut self, sort: Sort, location: &Location) -> Result<()> {
        match *self.groups.sort.get_or_insert(sort) == sort {
            true => Ok(()),
            false => refuse(SORTS, location),
        }
    }

    /// Refuses arrivals behind copies where accesses are followed. Each lane's comes when its own copies have landed. In a role they
    /// are arrivals of one member, behind all of its copies, also where a phase takes fewer of them than there are lanes.
    pub(super) fn copies_arrive(&self, location: &Location) -> Result<()> {
        match self.follows_data() {
            true => refuse(
                "races are not decided of `cp.async.mbarrier.arrive`",
                location,
            ),
            false => Ok(()),
        }
    }
}
