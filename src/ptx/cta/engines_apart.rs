//! Refuses programs in which the work of several asynchronous engines is not told apart. In PTX a commit, or a wait
//! for groups, is about the work of one engine, such as the tensor cores. In the language it is about everything that
//! the member has started. So a warp that starts both copies and multiplications before a commit is refused. So is
//! another write to the place where a tensor-memory allocation stores its address.

use std::collections::BTreeSet;

use super::program::Program;
use super::program::each;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::How;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// Refuses where it is not certain what a commit or a wait for groups is about: both are about everything that
/// a member has started, but in the kernel about the work of one engine.
pub(in crate::ptx) fn told_apart(programs: &[Program]) -> Result<(), Obstacle> {
    for program in programs {
        let (mut copies, mut multiplies, mut commit) = (None, false, false);
        each(&program.statements, &mut |s| match &s.action {
            Action::Touch(How::Fill | How::Drain, _) | Action::Copy(_, _, Some(_)) => {
                copies = copies.or(Some(s.at));
            }
            Action::Touch(How::Take | How::Accumulate, _) => multiplies = true,
            Action::Commit(..) => commit = true,
            _ => {}
        });
        if let Some(at) = copies.filter(|_| multiplies && commit) {
            let reason = "the warp starts copies and multiplications, and which of them a commit waits for \
                          is not told apart";
            return Err(Obstacle::new(at, reason));
        }
        grouped(&program.statements, &mut [None, None])?;
    }
    Ok(())
}

/// Follows which engines may have groups under way: copies and multiplications.
fn grouped(statements: &[Statement], open: &mut [Option<usize>; 2]) -> Result<(), Obstacle> {
    for statement in statements {
        match &statement.action {
            Action::For(_, _, body) => {
                // Twice, since what it leaves open is open when it begins again.
                for _ in 0..2 {
                    let before = *open;
                    grouped(body, open)?;
                    for (now, earlier) in open.iter_mut().zip(before) {
                        *now = now.or(earlier);
                    }
                }
            }
            Action::If(_, yes, no) => {
                let mut other = *open;
                grouped(yes, open)?;
                grouped(no, &mut other)?;
                for (now, else_open) in open.iter_mut().zip(other) {
                    *now = now.or(else_open);
                }
            }
            Action::CommitGroup(multiplies) => {
                let (own, other) = if *multiplies { (1, 0) } else { (0, 1) };
                if open[other].is_some() {
                    let reason = "the warp has groups of copies and of multiplications under way, which are \
                                  not told apart";
                    return Err(Obstacle::new(statement.at, reason));
                }
                open[own] = Some(statement.at);
            }
            Action::WaitGroup(0, _, multiplies) => open[usize::from(*multiplies)] = None,
            _ => {}
        }
    }
    Ok(())
}

/// Refuses where what is written in the place where an allocation says where the tensor memory lies may be
/// something else.
pub(in crate::ptx) fn only_told(
    programs: &[Program],
    tensors: &BTreeSet<Sum>,
    unknowns: &Unknowns,
) -> Result<(), Obstacle> {
    let shared = |u: Unknown| {
        matches!(
            unknowns.meaning(u),
            Some(Meaning::Shared(_) | Meaning::Peer(_))
        )
    };
    for program in programs {
        let mut allocated = Vec::new();
        each(&program.statements, &mut |s| {
            if matches!(s.action, Action::Acquire(..)) {
                allocated.push(s.at);
            }
        });
        let mut other = None;
        each(&program.statements, &mut |s| {
            let area = match &s.action {
                Action::Touch(How::Write | How::Fill, area) => area,
                Action::Copy(_, _, Some(area)) => area,
                _ => return,
            };
            let meets = |place: &Sum| {
                let apart = area.address.minus(place);
                match apart.as_constant() {
                    Some(by) => area.bytes.iter().any(|b| b.0 + by < 4 && b.1 + by > 0),
                    // In another variable it does not.
                    None => !apart.mentions(&shared),
                }
            };
            if !allocated.contains(&s.at) && tensors.iter().any(meets) {
                other = other.or(Some(s.at));
            }
        });
        if let Some(at) = other {
            let reason = "this writes where an allocation says where the tensor memory lies";
            return Err(Obstacle::new(at, reason));
        }
    }
    Ok(())
}
