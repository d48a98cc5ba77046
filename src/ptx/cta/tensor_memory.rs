//! Tensor memory of a CTA: one allocation, all of which is given back.
//!
//! CTAs on one multiprocessor share its tensor memory. One allocation each always finds its turn. More may not, and how
//! many CTAs there are is not known, so they are refused.
//!
//! PTX asks for all that is allocated to be given back before the kernel ends. Where neither stands under a condition or in a
//! loop, it is looked up here; elsewhere the pool that is written asks for it.
//!
//! Source: PTX ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit".

use std::collections::BTreeSet;

use super::program::Followed;
use super::program::each;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// What the warps of a CTA take or give back: how much, where, and whether every one of them certainly does it once.
struct Use<'p> {
    size: &'p Sum,
    at: usize,
    once: bool,
}

/// Refuses kernels that use tensor memory in another way. Returns whether it is left to the pool that all is given back.
pub(in crate::ptx) fn settle_columns(followed: &Followed) -> Result<bool, Obstacle> {
    let ranks = followed.programs.iter().map(|program| program.rank);
    let mut left = false;
    for rank in ranks.collect::<BTreeSet<_>>() {
        let taken = uses(followed, rank, &|action| match action {
            Action::Acquire(Pool::Columns, size) => Some(size),
            _ => None,
        });
        let given = uses(followed, rank, &|action| match action {
            Action::Release(Pool::Columns, size) => Some(size),
            _ => None,
        });
        let [allocation] = taken.as_slice() else {
            match taken.last() {
                Some(last) => {
                    let reason = "more than one allocation of tensor memory: whether CTAs on one SM hold what others \
                                  wait for is not modelled";
                    return Err(Obstacle::new(last.at, reason));
                }
                // What is given back without an allocation is undefined, and found by every search.
                None => continue,
            }
        };
        let back: Vec<_> = given.iter().map(|use_| use_.size).collect();
        if back.iter().any(|size| *size != allocation.size) || back.is_empty() {
            let reason = "the tensor memory that is allocated here is not given back, or not in the same number of columns: this is undefined";
            return Err(Obstacle::new(allocation.at, reason).misused());
        }
        left |= !allocation.once || given.iter().any(|use_| !use_.once);
    }
    Ok(left)
}

fn uses<'p>(
    followed: &'p Followed,
    rank: u32,
    which: &dyn Fn(&'p Action) -> Option<&'p Sum>,
) -> Vec<Use<'p>> {
    let mut found = Vec::new();
    for program in followed.programs.iter().filter(|p| p.rank == rank) {
        let mut note = |statement: &'p Statement, once: bool, looped: bool| {
            if let Some(size) = which(&statement.action) {
                let use_ = || Use {
                    size,
                    at: statement.at,
                    once,
                };
                // What stands in a loop may be done again.
                let times = if looped { 2 } else { program.warps.len() };
                found.extend((0..times).map(|_| use_()));
            }
        };
        for statement in &program.statements {
            match &statement.action {
                Action::For(_, _, body) => each(body, &mut |s| note(s, false, true)),
                Action::If(_, yes, no) => {
                    each(yes, &mut |s| note(s, false, false));
                    each(no, &mut |s| note(s, false, false));
                }
                _ => note(statement, true, false),
            }
        }
    }
    found
}
