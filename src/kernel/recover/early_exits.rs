//! Warps that exit before others meet once more at a barrier of all threads.
//!
//! Such a barrier waits only for threads that have not exited. Source: PTX ISA, "barrier.cluster"
//! ("all the non-exited threads"), and the CUDA programming guide on `__syncthreads()`. A barrier
//! of the protocol language waits for a number of arrivals. So the role of a warp that exits early
//! also comes to the remaining full barriers, and does nothing else there. For the other warps, nothing
//! changes (see [`complete_full_barriers`]).
//!
//! A barrier that names a number of threads waits for that many, exited or not. If one may name as
//! many as the CTA has, no role is changed.
//!
//! A warp that arrives at a barrier without waiting may count there in the place of another warp,
//! and exit before that one comes. If others wait there for all threads, without a number, the
//! kernel is refused.

use std::collections::BTreeMap;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::recover::alike::only;
use crate::recover::barrier_alignment::full_barriers;
use crate::recover::barrier_alignment::is_full_barrier;
use crate::recover::barrier_alignment::uncounted;
use crate::recover::exits_of_sides::complete_sides;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;
use crate::recover::shape::Shape;
use crate::recover::tree::Obstacle;
use crate::recover::unwaited_cluster_arrivals::refuse_unwaited_effects;
use crate::recover::unwaited_cluster_arrivals::refuse_unwaited_exit;

const ARRIVES: &str = "a warp arrives here and goes on, and others wait there for all threads: what that means once warps have ended is \
     not followed";

/// Assumed if warps exit early.
pub const ASSUMPTION: &str = "a barrier of all threads does not wait for warps that have ended";

/// Lets warps that exit early come to the remaining full barriers. Returns whether there are any.
///
/// This is the same for the other warps. The barrier counts the added arrival as soon as its phase
/// before is complete. It counts an exited warp then, too: before that, the phase could not
/// complete anyway. And the added lines wait for nothing that the other warps do not wait for.
///
/// # Errors
///
/// Some warp arrives without waiting where others wait for all threads. Or some warp arrives at the
/// cluster's barrier and exits without a wait, so that hardware may hold it before it has done the
/// rest.
pub fn complete_full_barriers(
    kernel: &Kernel,
    shape: Shape,
    roles: &mut Vec<Role>,
) -> Result<bool, Obstacle> {
    refuse_unwaited_effects(roles)?;
    if let Some(location) = arrives_for_all(kernel, roles) {
        return Err(Obstacle::new(ARRIVES, location));
    }
    if counts_all(kernel, shape) {
        return Ok(false);
    }
    let which = is_full_barrier(shape.warps());
    if !come_alike(roles, &which) {
        let mut completed = roles.clone();
        if complete_sides(&mut completed, &which) {
            complete_ends(&mut completed, &which)?;
            if come_alike(&completed, &which) {
                *roles = completed;
                return Ok(true);
            }
        }
    }
    complete_ends(roles, &which)
}

/// Whether all warps of each CTA come alike to these barriers.
fn come_alike(roles: &[Role], which: &dyn Fn(&Action) -> bool) -> bool {
    let mut met: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    roles.iter().all(|role| {
        let mine = full_barriers(&role.lines, which);
        *met.entry(role.rank).or_insert_with(|| mine.clone()) == mine
    })
}

/// Adds to roles what they lack of the barriers of the one that comes to most.
fn complete_ends(roles: &mut [Role], which: &dyn Fn(&Action) -> bool) -> Result<bool, Obstacle> {
    let met: Vec<Vec<Line>> = roles
        .iter()
        .map(|role| full_barriers(&role.lines, which))
        .collect();
    let of_cta = |line: &Line| {
        let action = match line {
            Line::Action { action, .. } => Some(action),
            _ => None,
        };
        matches!(action, Some(Action::Sync { .. }))
    };
    let mut found = false;
    for at in 0..roles.len() {
        let of_rank = (0..roles.len()).filter(|other| roles[*other].rank == roles[at].rank);
        let Some(longest) = of_rank.max_by_key(|other| met[*other].len()) else {
            continue;
        };
        let done = met[at].len();
        if !met[longest].starts_with(&met[at]) || done == met[longest].len() {
            continue;
        }
        let left = only(
            &roles[longest].lines,
            &|line| matches!(line, Line::Action { action, .. } if which(action)),
        );
        // If a loop or a branch decides about a full barrier, it would have to decide here as well.
        let left = left.get(done..).unwrap_or_default().to_vec();
        let is_action = |line: &Line| matches!(line, Line::Action { .. });
        if met[at].iter().chain(&met[longest]).all(is_action) && left.iter().all(is_action) {
            if left.iter().any(of_cta) {
                refuse_unwaited_exit(&roles[at])?;
            }
            roles[at].lines.extend(left);
            found = true;
        }
    }
    Ok(found)
}

/// Where a warp arrives, without waiting, at a barrier at which others may wait for all threads. A
/// barrier whose number is not known may be any.
fn arrives_for_all(kernel: &Kernel, roles: &[Role]) -> Option<Location> {
    let waits = uncounted(kernel);
    let waits_at = |barrier: &Number| match (&waits, barrier.range(&|_| None)) {
        (Some(waits), Some((low, high))) => waits.range(low..=high).next().is_some(),
        (Some(waits), None) => !waits.is_empty(),
        (None, _) => true,
    };
    let mut found = None;
    for role in roles {
        every_line(&role.lines, &mut |line| {
            if let Line::Action {
                action: Action::BarrierArrive { barrier, .. },
                location,
            } = line
                && waits_at(barrier)
            {
                found.get_or_insert_with(|| location.clone());
            }
        });
    }
    found
}

/// Whether a barrier may name as many threads as the CTA has. Then it also waits for those that
/// have exited.
fn counts_all(kernel: &Kernel, shape: Shape) -> bool {
    let all = u128::from(shape.warps()) * 32;
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    operations.any(|operation| match &operation.kind {
        OperationKind::Synchronization(Synchronization::BarrierSync { threads, .. }) => {
            match threads {
                Some(Operand::Constant(threads)) => *threads == all,
                Some(Operand::Register(_)) => true,
                None => false,
            }
        }
        _ => false,
    })
}
