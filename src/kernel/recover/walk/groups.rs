//! Groups of asynchronous work: which lanes start it, and which wait for it.
//!
//! For example, `cp.async.wait_group 1` waits for all groups of the executing lane but the last one. Each lane has
//! its own groups, but a role has one list of groups. That makes no difference in two cases:
//!
//! - for bulk copies, if one lane starts all of them and takes part in each commit and each wait. The other lanes
//!   have no groups, so they wait for nothing;
//! - for `cp.async`, if all lanes take part in each commit and each wait. Each lane then knows only of its own
//!   copies.
//!
//! Everything else is refused. Two kinds of groups under way at once are also refused, because a statement of the
//! language covers all of them. Behind a wait for all groups of one kind, another may begin. Copies that signal an
//! mbarrier themselves are in no group.
//!
//! Source: PTX ISA, "cp.async.commit_group", "cp.async.wait_group", "cp.async.bulk.commit_group",
//! "cp.async.mbarrier.arrive".

use super::Path;
use super::Result;
use super::Walker;
use super::refuse;
use crate::ir::GroupKind;
use crate::ir::Location;

const STARTED: &str = "one lane has to start, commit and wait for all bulk copies of the warp";

/// What `wgmma` is, for [`Walker::whole`].
pub(super) const MULTIPLICATION: &str = "a multiplication of a warpgroup";

const ONE_LANE: &str = "one lane has to start and commit all `tcgen05` work of the warp";

const SORTS: &str = "races are not decided of a warp in which two of these may be under way at once: `cp.async` groups, bulk copy groups, `wgmma` groups";

/// What is known of the groups of asynchronous work of a warp.
#[derive(Debug)]
pub(super) struct Groups {
    /// Whether it has work in groups.
    pub grouped: bool,
    /// The lane that starts bulk copies.
    pub starts: Option<u32>,
    /// The lanes that have taken part in each commit and each wait so far.
    pub each: u32,
    /// Whether it starts copies that signal an mbarrier.
    pub arriving: bool,
    /// The lane that starts tensor work, and the one that commits it.
    pub tensor: Option<u32>,
    pub commits: Option<u32>,
    /// Whether several lanes have waited before it was known which one starts copies.
    pub waited_early: bool,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            grouped: false,
            starts: None,
            each: u32::MAX,
            arriving: false,
            tensor: None,
            commits: None,
            waited_early: false,
        }
    }
}

impl Walker<'_> {
    /// Notes that lanes start work of their next groups.
    pub(super) fn start(
        &mut self,
        kind: GroupKind,
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) -> Result<()> {
        self.alone(kind, path, location)?;
        path.order.open |= sort(kind);
        path.order.ungrouped |= sort(kind);
        self.groups.grouped = true;
        self.beside_commits(location)?;
        match kind {
            GroupKind::Multiply => {}
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

    /// Notes that lanes commit a group, or wait for some.
    pub(super) fn group(
        &mut self,
        kind: GroupKind,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<()> {
        self.alone(kind, path, location)?;
        match kind {
            GroupKind::Multiply => self.whole(mask, path, MULTIPLICATION, location),
            GroupKind::Copy if mask | path.exited != self.full => refuse(
                "all lanes of the warp have to commit `cp.async` groups and wait for them together",
                location,
            ),
            // The text has one list of groups for the warp, which includes theirs.
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
            // A wait for multiplications is one operation of the warp.
            GroupKind::Multiply => {}
            GroupKind::Copy => {
                // Each lane knows only of its own copies, and has to tell others of them.
                path.order.own_copies = true;
                path.order.touched |= path.order.copied;
            }
            _ => {
                let waits = self.groups.starts.unwrap_or(mask);
                // In an earlier iteration of a loop, it is not known yet who starts copies.
                self.groups.waited_early |= self.groups.starts.is_none() && mask.count_ones() > 1;
                path.order.wait(waits, alive);
            }
        }
        Ok(())
    }

    /// Refuses work of one kind while work of another kind may be under way: a statement of the
    /// language covers both.
    fn alone(&self, kind: GroupKind, path: &Path, location: &Location) -> Result<()> {
        match path.order.open & !sort(kind) {
            0 => Ok(()),
            _ => refuse(SORTS, location),
        }
    }

    /// Notes that a copy is started that signals an mbarrier.
    pub(super) fn start_arriving(&mut self, location: &Location) -> Result<()> {
        self.groups.arriving = true;
        self.beside_commits(location)
    }

    /// Notes that a lane starts tensor work.
    pub(super) fn start_tensor(&mut self, mask: u32, location: &Location) -> Result<()> {
        let first = *self.groups.tensor.get_or_insert(mask);
        let committed = self.groups.commits.is_none_or(|lane| lane == mask);
        match mask.count_ones() == 1 && first == mask && committed {
            true => Ok(()),
            false => refuse(ONE_LANE, location),
        }
    }

    /// Notes that a lane commits the tensor work that it has started.
    pub(super) fn commit_tensor(&mut self, mask: u32, location: &Location) -> Result<()> {
        let first = *self.groups.commits.get_or_insert(mask);
        let started = self.groups.tensor.is_none_or(|lane| lane == mask);
        if mask.count_ones() != 1 || first != mask || !started {
            return refuse(ONE_LANE, location);
        }
        self.beside_commits(location)
    }

    /// In the text a commit covers all that its role has started. In the kernel it covers tensor work only.
    fn beside_commits(&self, location: &Location) -> Result<()> {
        let others = self.groups.arriving || self.groups.grouped;
        match self.groups.commits.is_some() && others {
            true => refuse(
                "races are not decided of a warp that commits `tcgen05` work and starts copies",
                location,
            ),
            false => Ok(()),
        }
    }

    /// Refuses arrivals behind copies if accesses are followed. The arrival of a lane comes when
    /// its own copies have landed. In a role, these are arrivals of one member behind all of its
    /// copies, even if a phase takes fewer of them than there are lanes.
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

/// A sort of groups as a bit.
pub(super) fn sort(kind: GroupKind) -> u8 {
    match kind {
        GroupKind::Copy => 1,
        GroupKind::Bulk => 2,
        GroupKind::Multiply => 4,
    }
}
