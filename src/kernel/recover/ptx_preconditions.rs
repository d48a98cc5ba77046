//! Preconditions of PTX instructions on mbarriers of other CTAs, on committed tensor work, and on arrivals behind
//! `cp.async` copies.
//!
//! For example, PTX has no wait at an mbarrier of another CTA. A kernel that certainly violates a precondition is
//! refused. Where a violation is merely possible, it is assumed, and printed, that there is none.
//!
//! Source: PTX ISA, "mbarrier.test_wait, mbarrier.try_wait", "tcgen05.commit", "Shared memory of a cluster".

use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Work;
use crate::recover::tree::Obstacle;
use crate::recover::tree::misused;
use crate::recover::tree::refuse;

const STAYS: &str = "a CTA of a cluster does not end while others still use its shared memory";
const COMMITTED: &str =
    "tensor work that a warp commits ends after the copies that the warp has issued before";

/// The assumption about `mbarrier.complete_tx`. A copy delivers its bytes in pieces, and one of these brings the
/// pending count to exactly 0. This instruction delivers all bytes at once, so the count may jump below 0.
const AT_ONCE: &str =
    "no single `mbarrier.complete_tx` delivers more bytes than the phase still expects";

const IN_TURN: &str =
    "arrivals behind `cp.async` copies come in the order in which a warp asks for them";
const MIXED: &str = "a warp starts bulk copies, or commits tensor work, and makes this arrival come when its `cp.async` copies have \
                     landed: which comes first is not told apart";

/// Refuses arrivals behind `cp.async` copies of a warp that also starts other asynchronous work. In the language,
/// such an arrival would wait for that work as well.
pub fn refuse_mixed_completion(lines: &[Line]) -> Result<(), Obstacle> {
    let (mut others, mut behind) = (false, None);
    each(lines, &mut |action, location| match action {
        Action::Copy { .. }
        | Action::Commit {
            work: Work::Tensor, ..
        } => others = true,
        Action::Commit {
            work: Work::Copies, ..
        } => behind = behind.or(Some(location)),
        _ => {}
    });
    match behind.filter(|_| others) {
        None => Ok(()),
        Some(location) => refuse(MIXED, location),
    }
}

/// Refuses waits at mbarriers of other CTAs, which PTX does not have.
pub fn refuse_remote_waits(lines: &[Line], rank: u32) -> Result<(), Obstacle> {
    let mut elsewhere = None;
    each(lines, &mut |action, location| {
        if matches!(action, Action::Wait { object, .. } | Action::WaitOwn { object, .. } if object.rank != rank)
        {
            elsewhere.get_or_insert(location);
        }
    });
    match elsewhere {
        None => Ok(()),
        Some(location) => misused(
            "a warp waits at an mbarrier of another CTA: this is undefined",
            location,
        ),
    }
}

/// The assumptions about roles.
pub fn assumptions(roles: &[Role]) -> impl Iterator<Item = &'static str> {
    let mut reaches = false;
    let mut commits_copies = false;
    let mut in_turn = false;
    let mut at_once = false;
    for role in roles {
        let mut first: Option<&Object> = None;
        let (mut copies, mut commits) = (false, false);
        each(&role.lines, &mut |action, _| {
            reaches |= object_of(action).is_some_and(|object| object.rank != role.rank);
            copies |= matches!(action, Action::Copy { .. });
            commits |= matches!(action, Action::Commit { .. });
            at_once |= matches!(action, Action::Complete { .. });
            if let Action::Commit {
                object,
                work: Work::Copies,
                ..
            } = action
            {
                let alone = object.offset.as_constant().is_some();
                in_turn |= !alone || *first.get_or_insert(object) != object;
            }
        });
        commits_copies |= copies && commits;
    }
    let stays = reaches.then_some(STAYS);
    let committed = commits_copies.then_some(COMMITTED);
    stays
        .into_iter()
        .chain(committed)
        .chain(in_turn.then_some(IN_TURN))
        .chain(at_once.then_some(AT_ONCE))
}
