//! Mbarriers at which some lanes arrive one by one, and others with a count.
//!
//! ```text
//! init bar 32
//! warp 1, each lane: arrive bar        31 arrivals are pending after the first lane
//! warp 0, lane 0:    arrive bar 32     more than are pending: undefined
//! ```
//!
//! What lanes do one by one is written as one arrival of them all. Between the first of them and the last, others may arrive. That
//! cannot be told if all arrivals there have the same count, as what is pending is then a multiple of it until the phase is complete.
//! With different counts, an arrival may be too many that is none before or after the lanes: such mbarriers are refused.
//! If all arrivals of a run together are no more than a phase takes, none is too many.

use std::collections::BTreeMap;

use super::family::Family;
use super::family::barrier;
use super::program::Followed;
use super::program::Program;
use super::program::each;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

const APART: &str = "this arrives at an mbarrier with a count, and lanes of a warp arrive there one by one, with another count: when \
                     only some of them have arrived, it may be more than the phase lacks, which is undefined";

/// Refuses mbarriers at which lanes arrive one by one, where not all arrivals have the same count.
pub(in crate::ptx) fn refuse_mixed_counts(
    followed: &Followed,
    families: &[Family],
) -> Result<(), Obstacle> {
    for family in families {
        let mut counts: BTreeMap<i128, usize> = BTreeMap::new();
        let mut parts = false;
        for program in &followed.programs {
            each(&program.statements, &mut |s| {
                let all = match s.action {
                    Action::Arrive(_, n) | Action::ArrivePart(_, n, _) => n,
                    Action::Commit(..) | Action::ArriveExpectTx(..) => 1,
                    _ => return,
                };
                let held = |address| family.holds(address, program.rank, &followed.unknowns);
                if !barrier(&s.action).is_some_and(held) {
                    return;
                }
                let arrived = followed.arrival_counts.of(s.at, all);
                parts |= arrived.parts || matches!(s.action, Action::Commit(_, n) if n > 1);
                for each in arrived.each {
                    counts.entry(each).or_insert(s.at);
                }
            });
        }
        if are_few(family, followed) {
            continue;
        }
        if let (true, 2.., Some((_, at))) = (parts, counts.len(), counts.last_key_value()) {
            return Err(Obstacle::new(*at, APART));
        }
    }
    Ok(())
}

/// The most arrivals that a warp makes at a family, unless some are made in a loop.
fn arrivals(statements: &[Statement], held: &dyn Fn(&Sum) -> bool) -> Option<i128> {
    let mut all = 0_i128;
    for statement in statements {
        let more = match &statement.action {
            Action::For(_, _, body) => {
                let none = arrivals(body, held)? == 0;
                none.then_some(0)?
            }
            Action::If(_, yes, no) => arrivals(yes, held)?.checked_add(arrivals(no, held)?)?,
            Action::Arrive(address, n)
            | Action::ArrivePart(address, n, _)
            | Action::Commit(address, n) => i128::from(held(address)).checked_mul(*n)?,
            Action::ArriveExpectTx(address, _) => i128::from(held(address)),
            _ => 0,
        };
        all = all.checked_add(more)?;
    }
    Some(all)
}

/// Whether all arrivals of a run together are no more than a phase takes.
fn are_few(family: &Family, followed: &Followed) -> bool {
    let of = |program: &Program| {
        let held = |address: &Sum| family.holds(address, program.rank, &followed.unknowns);
        let warps = i128::try_from(program.warps.len()).ok()?;
        arrivals(&program.statements, &held)?.checked_mul(warps)
    };
    let all = followed
        .programs
        .iter()
        .try_fold(0_i128, |all, program| all.checked_add(of(program)?));
    let phase = family.arrivals.checked_mul(family.group);
    all.zip(phase).is_some_and(|(all, phase)| all <= phase)
}
