//! What PTX asks for of mbarriers of other CTAs and of committed work: refused where it certainly is not so, else taken for
//! granted.
//!
//! Source: PTX ISA, "mbarrier.test_wait, mbarrier.try_wait", "tcgen05.commit", "Shared memory of a cluster".

use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Role;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const STAYS: &str = "a CTA of a cluster does not end while others still use its shared memory";
const COMMITTED: &str =
    "tensor work that a warp commits ends after the copies that the warp has issued before";

/// Refuses waits at mbarriers of other CTAs, which PTX has none of.
pub fn waits_at_home(lines: &[Line], rank: u32) -> Result<(), Obstacle> {
    let mut elsewhere = None;
    each(lines, &mut |action, location| {
        if matches!(action, Action::Wait { object, .. } | Action::WaitOwn { object, .. } if object.rank != rank)
        {
            elsewhere.get_or_insert(location);
        }
    });
    match elsewhere {
        None => Ok(()),
        Some(location) => refuse(
            "a warp waits at an mbarrier of another CTA: this is undefined",
            location,
        ),
    }
}

/// What is taken for granted of roles.
pub fn assumptions(roles: &[Role]) -> impl Iterator<Item = &'static str> {
    let mut reaches = false;
    let mut commits_copies = false;
    for role in roles {
        let (mut copies, mut commits) = (false, false);
        each(&role.lines, &mut |action, _| {
            reaches |= object_of(action).is_some_and(|object| object.rank != role.rank);
            copies |= matches!(action, Action::Copy { .. });
            commits |= matches!(action, Action::Commit { .. });
        });
        commits_copies |= copies && commits;
    }
    let stays = reaches.then_some(STAYS);
    stays.into_iter().chain(commits_copies.then_some(COMMITTED))
}
