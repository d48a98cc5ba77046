//! Removes waits for multiplications that a barrier has already shown to be complete.
//!
//! ```text
//! each of 4 warps: arrive bar; sync 1; ..; wait bar
//! ```
//!
//! The phases of a warpgroup's multiplications ([`crate::recover::warpgroups`]) complete when its
//! four warps have arrived. A warp waits only for phases at which it has arrived itself, and only
//! for the last one of an mbarrier. Suppose that the four warps do the same, and a barrier of all
//! four stands between a warp's last arrival and its wait. Then all four have arrived before the
//! barrier, and the wait never blocks.
//!
//! Such a wait is removed, unless a later wait of the warp for the same mbarrier is kept. If nobody
//! waits for an mbarrier any more, the arrivals at it are removed, too.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::VariableId;
use crate::recover::alike::every;
use crate::recover::alike::only;
use crate::recover::alike::same;
use crate::recover::mbarrier_lifetimes::merge;
use crate::recover::rewrite::without;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;
use crate::recover::warpgroups::WARPS;

/// Removes the waits for phases of a ring that a barrier has completed.
pub fn without_completed(roles: &mut Vec<Role>, ring: VariableId) {
    let ranks: BTreeSet<u32> = roles.iter().map(|role| role.rank).collect();
    let last = roles.iter().flat_map(|role| &role.warps).max();
    let groups = last.map_or(0, |last| last / WARPS + 1);
    for rank in ranks {
        let meetings = meetings(roles, rank);
        for group in 0..groups {
            let warps: BTreeSet<u32> = (group * WARPS..(group + 1) * WARPS).collect();
            let together = meetings.iter().filter(|(_, met)| warps.is_subset(met));
            let together: BTreeSet<i128> = together.map(|(barrier, _)| *barrier).collect();
            group_without_completed(roles, rank, &warps, ring, &together);
        }
    }
    let waited: Vec<Object> = roles
        .iter()
        .flat_map(|role| waits(&role.lines, ring))
        .collect();
    for role in roles.iter_mut() {
        without(&mut role.lines, &|action| match action {
            Action::Arrive { object, .. } => {
                object.variable == ring && !waited.iter().any(|other| may_be_one(other, object))
            }
            _ => false,
        });
    }
    merge(roles);
}

/// The barriers of a CTA at which the same warps wait each time, with these warps.
///
/// Such a barrier has a fixed number. Only warps that wait there use it, and it counts all of their
/// threads. So each generation of it has each of these warps once, and the n-th time of one warp is
/// the n-th time of every other.
fn meetings(roles: &[Role], rank: u32) -> BTreeMap<i128, BTreeSet<u32>> {
    let mut met: BTreeMap<i128, (BTreeSet<u32>, BTreeSet<Option<i128>>)> = BTreeMap::new();
    let mut unknown = false;
    for role in roles.iter().filter(|role| role.rank == rank) {
        every_line(&role.lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return;
            };
            let (barrier, threads) = match action {
                Action::Sync { barrier, threads } => (barrier, threads.as_constant()),
                Action::BarrierArrive { barrier, .. } => (barrier, None),
                _ => return,
            };
            match barrier.as_constant() {
                Some(barrier) => {
                    let (warps, counts) = met.entry(barrier).or_default();
                    warps.extend(&role.warps);
                    counts.insert(threads);
                }
                None => unknown = true,
            }
        });
    }
    if unknown {
        return BTreeMap::new();
    }
    let whole = met.into_iter().filter_map(|(barrier, (warps, counts))| {
        let threads = i128::try_from(warps.len()).ok()?.checked_mul(32)?;
        (counts == BTreeSet::from([Some(threads)])).then_some((barrier, warps))
    });
    whole.collect()
}

fn group_without_completed(
    roles: &mut [Role],
    rank: u32,
    warps: &BTreeSet<u32>,
    ring: VariableId,
    together: &BTreeSet<i128>,
) {
    let of_group: Vec<usize> = (0..roles.len())
        .filter(|at| {
            let role = &roles[*at];
            role.rank == rank && role.warps.iter().any(|warp| warps.contains(warp))
        })
        .collect();
    let alone = |at: &usize| roles[*at].warps.iter().all(|warp| warps.contains(warp));
    if !of_group.iter().all(alone) {
        return;
    }
    let seen: Vec<Vec<Line>> = of_group
        .iter()
        .map(|at| {
            only(&roles[*at].lines, &|line| match line {
                Line::Action { action, .. } => {
                    meets(action, together) || object_of(action, ring).is_some()
                }
                line => matches!(line, Line::Return),
            })
        })
        .collect();
    let Some(first) = seen.first() else { return };
    // Values of variables are not compared, so the numbers must not have any.
    let mut launched = true;
    every(&mut first.clone(), &mut |number| {
        launched &= !number.has_variables();
    });
    if !launched || !seen.iter().all(|other| same(first, other)) {
        return;
    }
    let objects = waits(first, ring);
    let mut open = vec![false; objects.len()];
    follow(first, &mut Vec::new(), (ring, together), &mut 0, &mut open);
    keep_before(&objects, &mut open);
    for at in of_group {
        let mut number = 0;
        take_out(&mut roles[at].lines, ring, &mut number, &open);
    }
}

/// If a wait for an mbarrier is kept, all waits for it before are kept, too. So the phases that the
/// warp still waits for are the first ones, and none of these is left out.
fn keep_before(objects: &[Object], open: &mut [bool]) {
    for at in (0..objects.len()).rev() {
        let (before, rest) = open.split_at_mut(at);
        if rest.first() == Some(&true) {
            for (other, open) in objects.iter().zip(before) {
                *open |= may_be_one(other, &objects[at]);
            }
        }
    }
}

fn meets(action: &Action, together: &BTreeSet<i128>) -> bool {
    match action {
        Action::Sync { barrier, .. } => barrier
            .as_constant()
            .is_some_and(|barrier| together.contains(&barrier)),
        _ => false,
    }
}

/// The mbarrier of the ring that an action uses.
fn object_of(action: &Action, ring: VariableId) -> Option<&Object> {
    match action {
        Action::Arrive { object, .. } | Action::Wait { object, .. } => {
            (object.variable == ring).then_some(object)
        }
        _ => None,
    }
}

/// Whether two objects may be one mbarrier.
fn may_be_one(one: &Object, other: &Object) -> bool {
    let offsets = [one, other].map(|object| object.offset.as_constant());
    one.rank == other.rank
        && match offsets {
            [Some(one), Some(other)] => one == other,
            _ => true,
        }
}

fn waits(lines: &[Line], ring: VariableId) -> Vec<Object> {
    let mut found = Vec::new();
    every_line(lines, &mut |line| {
        if let Line::Action { action, .. } = line
            && matches!(action, Action::Wait { .. })
        {
            found.extend(object_of(action, ring).cloned());
        }
    });
    found
}

/// Follows the lines. `arrived` has the mbarriers at which the warp has arrived since the last
/// barrier. A wait that may be for one of them is marked in `open`.
fn follow(
    lines: &[Line],
    arrived: &mut Vec<Object>,
    (ring, together): (VariableId, &BTreeSet<i128>),
    number: &mut usize,
    open: &mut [bool],
) {
    let context = (ring, together);
    for line in lines {
        match line {
            Line::Action { action, .. } => {
                if meets(action, together) {
                    arrived.clear();
                }
                let Some(object) = object_of(action, ring) else {
                    continue;
                };
                if matches!(action, Action::Arrive { .. }) {
                    arrived.push(object.clone());
                } else {
                    open[*number] |= arrived.iter().any(|other| may_be_one(other, object));
                    *number += 1;
                }
            }
            Line::For { body, .. } => {
                let before = (*number, arrived.clone());
                // Once as the first iteration, and once as an iteration behind another one.
                follow(body, arrived, context, number, open);
                *number = before.0;
                arrived.extend(before.1.iter().cloned());
                follow(body, arrived, context, number, open);
                arrived.extend(before.1);
            }
            Line::If {
                then, otherwise, ..
            } => {
                let mut other = arrived.clone();
                follow(then, arrived, context, number, open);
                follow(otherwise, &mut other, context, number, open);
                arrived.append(&mut other);
            }
            Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
        }
    }
}

/// Removes the waits that are not open.
fn take_out(lines: &mut Vec<Line>, ring: VariableId, number: &mut usize, open: &[bool]) {
    lines.retain_mut(|line| {
        if let Line::Action { action, .. } = line {
            let waits = matches!(action, Action::Wait { .. }) && object_of(action, ring).is_some();
            *number += usize::from(waits);
            return !waits || open.get(*number - 1).copied().unwrap_or(true);
        }
        let mut left = false;
        let mut had = false;
        for block in line.blocks_mut() {
            had |= !block.is_empty();
            take_out(block, ring, number, open);
            left |= !block.is_empty();
        }
        left || !had
    });
}
