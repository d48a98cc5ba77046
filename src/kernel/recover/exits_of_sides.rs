//! Warps that exit on one side of a branch, while others meet at barriers of all threads below it:
//! the barriers of the other side are added to the side that exits.
//!
//! ```text
//! if n > 32 * w { x  sync all  y }
//! if n > 32 * w { x  sync all  y } else { sync all }
//! ```
//!
//! The branch is the last line of its role, so nothing is done on a side behind its own last line:
//! the warp has exited there. Lines that are added may be too many or too few. If they are, the
//! warps do not come to the barrier equally often, and the text hangs: every phase of the barrier
//! takes all warps, each once, as none arrives without waiting. If it does not hang, all come
//! equally often, and the text is the same for the others as the kernel
//! ([`super::early_exits::complete_full_barriers`]). A text that hangs refutes nothing unless all
//! warps come to the barriers alike ([`super::barrier_alignment`]).

use crate::recover::alike::only;
use crate::recover::alike::same;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::renumber;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::assigned;
use crate::recover::role_ir::every_line;

/// Completes the sides of branches at the ends of roles. Roles that become equal are put together.
/// Returns whether a role has changed. `which` says what a barrier of all threads is.
///
/// Barriers of the cluster are left alone: hardware may hold a warp that has arrived there.
pub fn complete_sides(roles: &mut Vec<Role>, which: &dyn Fn(&Action) -> bool) -> bool {
    let mut of_cluster = false;
    for role in &*roles {
        every_line(&role.lines, &mut |line| {
            of_cluster |= matches!(
                line,
                Line::Action {
                    action: Action::ClusterArrive | Action::ClusterWait,
                    ..
                }
            );
        });
    }
    if of_cluster {
        return false;
    }
    let mut changed = false;
    for role in &mut *roles {
        if complete(&mut role.lines, which) {
            renumber(&mut role.lines);
            changed = true;
        }
    }
    if changed {
        let mut all: Vec<Role> = Vec::new();
        for role in roles.drain(..) {
            let equal = |other: &&mut Role| other.rank == role.rank && other.lines == role.lines;
            match all.iter_mut().find(equal) {
                Some(other) => other.warps.extend(role.warps),
                None => all.push(role),
            }
        }
        *roles = all;
    }
    changed
}

fn complete(lines: &mut Vec<Line>, which: &dyn Fn(&Action) -> bool) -> bool {
    let Some(Line::If {
        then, otherwise, ..
    }) = lines.last_mut()
    else {
        return false;
    };
    let mut changed = complete(then, which);
    changed |= complete(otherwise, which);
    changed |= complete_side(then, otherwise, which);
    changed |= complete_side(otherwise, then, which);
    if changed && same(then, otherwise) {
        let side = std::mem::take(then);
        lines.pop();
        lines.extend(side);
    }
    changed
}

/// Adds to a side of a branch what it lacks of the barriers of the other side.
fn complete_side(side: &mut Vec<Line>, other: &[Line], which: &dyn Fn(&Action) -> bool) -> bool {
    let barriers = |lines: &[Line]| {
        only(
            lines,
            &|line| matches!(line, Line::Action { action, .. } if which(action)),
        )
    };
    let (met, wanted) = (barriers(side), barriers(other));
    let Some((before, left)) = wanted.split_at_checked(met.len()) else {
        return false;
    };
    if left.is_empty() || !same(&met, before) || !is_of_launch(left) {
        return false;
    }
    side.extend_from_slice(left);
    true
}

/// Whether the launch alone decides how often these lines come to barriers.
fn is_of_launch(lines: &[Line]) -> bool {
    let mut lines = lines.to_vec();
    let mut loops = Vec::new();
    every_line(&lines, &mut |line| {
        if let Line::For { index, .. } = line {
            loops.push(*index);
        }
    });
    let mut is = assigned(&lines).is_empty();
    let mut look = |number: &Number| {
        is &= !number.mentions(&|atomic| match atomic {
            Atomic::Variable(_) | Atomic::Entry(_) | Atomic::Applied(_) => true,
            Atomic::Index(index) => !loops.contains(index),
            _ => false,
        });
    };
    numbers(&mut lines, &mut |number| look(number));
    conditions(&mut lines, &mut |condition| condition.each(&mut look));
    is
}
