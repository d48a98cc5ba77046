//! Full barriers of all warps of a CTA at which nobody is ever stuck.
//!
//! ```text
//! every warp: ..; sync all; arrive bar; if i % n == n - 1 { sync all }; ..
//! ```
//!
//! Suppose that every warp comes to the barriers of all warps in the same loops and under the same
//! conditions, over numbers of the launch and of the loops. So the n-th full barrier of one is the n-th
//! of all. Suppose also that no warp can block between a full barrier and the one before. A warp that
//! waits at this full barrier has passed the one before, so all others go on from there and come here.
//! So no warp waits here in a stuck state, and the full barrier may be removed: runs with it are runs
//! without it in which some orders do not occur. It is removed if its condition changes from
//! iteration to iteration, because the proof rules have no form for that. A counterexample may then
//! not be one of the kernel, unless nothing at all stands between the two full barriers.

use std::collections::BTreeSet;

use crate::recover::alike::only;
use crate::recover::alike::same;
use crate::recover::mbarrier_lifetimes::is_launched;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;

/// What a warp has done since it last came to the barrier, over all paths to this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Since {
    /// It may have blocked, or has not come to the barrier yet.
    Any,
    /// It has done only what cannot block.
    Going,
    Nothing,
}

/// Removes full barriers at which nobody is stuck. A CTA has `warps` warps. Returns whether
/// counterexamples remain exact.
pub fn without_redundant_barriers(roles: &mut [Role], warps: u32) -> bool {
    let threads = i128::from(warps) * 32;
    let ranks: BTreeSet<u32> = roles.iter().map(|role| role.rank).collect();
    let mut exact = true;
    for rank in ranks {
        let mut of_rank: Vec<&mut Role> =
            roles.iter_mut().filter(|role| role.rank == rank).collect();
        let barriers = barriers(&of_rank, threads);
        exact &= passed(&mut of_rank, &barriers);
    }
    exact
}

/// The barriers that warps use only as barriers of all threads.
fn barriers(roles: &[&mut Role], threads: i128) -> BTreeSet<i128> {
    let mut full = BTreeSet::new();
    let mut other = BTreeSet::new();
    let mut unknown = false;
    for role in roles {
        every_line(&role.lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return;
            };
            let (number, whole) = match action {
                Action::Sync {
                    barrier,
                    threads: counted,
                } => (barrier, counted.as_constant() == Some(threads)),
                Action::BarrierArrive { barrier, .. } => (barrier, false),
                _ => return,
            };
            match number.as_constant() {
                Some(number) if whole => full.insert(number),
                Some(number) => other.insert(number),
                None => std::mem::replace(&mut unknown, true),
            };
        });
    }
    if unknown {
        return BTreeSet::new();
    }
    full.difference(&other).copied().collect()
}

/// Removes full barriers at some barriers. Returns whether nothing at all stood between them.
fn passed(roles: &mut [&mut Role], barriers: &BTreeSet<i128>) -> bool {
    let comes = |action: &Action| match action {
        Action::Sync { barrier, .. } => barrier
            .as_constant()
            .is_some_and(|barrier| barriers.contains(&barrier)),
        _ => false,
    };
    let skeleton = |role: &Role| {
        only(&role.lines, &|line| match line {
            Line::Action { action, .. } => comes(action),
            line => matches!(line, Line::Return),
        })
    };
    let Some((first, others)) = roles.split_first() else {
        return true;
    };
    let first = skeleton(first);
    if !others.iter().all(|role| same(&first, &skeleton(role))) {
        return true;
    }
    // Variables of different roles cannot be compared.
    if !first.iter().all(is_launched) {
        return true;
    }
    let mut least: Option<Vec<Since>> = None;
    for role in roles.iter() {
        let mut own = Vec::new();
        before(&role.lines, Since::Any, false, &comes, &mut own);
        least = Some(match least {
            None => own,
            Some(least) => least.into_iter().zip(own).map(|(a, b)| a.min(b)).collect(),
        });
    }
    let least = least.unwrap_or_default();
    for role in roles.iter_mut() {
        let mut sites = least.iter().map(|since| *since > Since::Any);
        take(&mut role.lines, &comes, &mut sites);
    }
    !least.contains(&Since::Going)
}

/// Notes for each full barrier, in the order of the lines, what a warp has done since the one before.
/// Only full barriers count whose condition changes from iteration to iteration.
fn before(
    lines: &[Line],
    mut since: Since,
    changing: bool,
    comes: &dyn Fn(&Action) -> bool,
    found: &mut Vec<Since>,
) -> Since {
    for line in lines {
        since = match line {
            Line::Action { action, .. } if comes(action) => {
                found.push(if changing { since } else { Since::Any });
                Since::Nothing
            }
            Line::Action { action, .. } if may_block(action) => Since::Any,
            Line::Action { .. } => since.min(Since::Going),
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let changing = changing || changes(condition);
                let yes = before(then, since, changing, comes, found);
                yes.min(before(otherwise, since, changing, comes, found))
            }
            Line::For { body, .. } => since.min(before(body, Since::Any, changing, comes, found)),
            Line::Let { .. } | Line::Assign { .. } => since,
            Line::Return => Since::Any,
        };
    }
    since
}

/// Removes the full barriers that `sites` selects, and branches that become empty.
fn take(
    lines: &mut Vec<Line>,
    comes: &dyn Fn(&Action) -> bool,
    sites: &mut impl Iterator<Item = bool>,
) {
    let mut kept = Vec::with_capacity(lines.len());
    for mut line in std::mem::take(lines) {
        match &mut line {
            Line::Action { action, .. } => {
                if comes(action) && sites.next().unwrap_or(false) {
                    continue;
                }
            }
            Line::If {
                then, otherwise, ..
            } => {
                take(then, comes, sites);
                take(otherwise, comes, sites);
                if then.is_empty() && otherwise.is_empty() {
                    continue;
                }
            }
            Line::For { body, .. } => take(body, comes, sites),
            Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
        }
        kept.push(line);
    }
    *lines = kept;
}

fn changes(condition: &Condition) -> bool {
    let mut changes = false;
    condition.each(&mut |number| {
        changes |= number.mentions(&|atomic| matches!(atomic, Atomic::Index(_)));
    });
    changes
}

/// Whether a warp may have to wait for others there.
fn may_block(action: &Action) -> bool {
    match action {
        Action::Init { .. }
        | Action::Arrive { .. }
        | Action::ArriveExpect { .. }
        | Action::Expect { .. }
        | Action::Complete { .. }
        | Action::Copy { .. }
        | Action::Commit { .. }
        | Action::CounterAdd { .. }
        | Action::CounterSet { .. }
        | Action::BarrierArrive { .. }
        | Action::Access { .. }
        | Action::Touch { .. }
        | Action::CommitGroup
        | Action::WaitGroup { .. }
        | Action::GiveBack { .. } => false,
        Action::Invalidate { .. }
        | Action::Wait { .. }
        | Action::CounterWait { .. }
        | Action::WaitOwn { .. }
        | Action::Numbered { .. }
        | Action::Round { .. }
        | Action::Sync { .. }
        | Action::ClusterArrive
        | Action::ClusterWait
        | Action::Tried { .. }
        | Action::Asked
        | Action::RingWordLoad { .. }
        | Action::RingWordStore { .. }
        | Action::Late { .. }
        | Action::Ahead
        | Action::Allocate { .. }
        | Action::Deallocate { .. }
        | Action::Relinquish
        | Action::SetMaxRegisters { .. }
        | Action::Take { .. }
        | Action::Launched => true,
    }
}
