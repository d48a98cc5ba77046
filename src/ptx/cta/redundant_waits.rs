//! Waits that certainly end, and are left out so that proofs stay small: registers that others have
//! given back before, and CTAs of a pair that allocate tensor memory together.
//!
//! Leaving such a wait out changes no verdict: in a state in which nobody can go on, nobody stands
//! before it, and a run without it is a run with it in which the others went first.

use super::program::Followed;
use super::program::Full;
use super::program::Program;
use super::program::each;
use crate::ptx::warp::machine::Launch;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Pool;
use crate::ptx::warp::statement::Statement;

/// Leaves out what certainly ends. Returns whether registers were moved, and need no words.
pub(in crate::ptx) fn settle_waits(followed: &mut Followed, launch: &Launch) -> bool {
    let moved = |a: &Action| {
        matches!(
            a,
            Action::Acquire(Pool::Registers, _) | Action::Release(Pool::Registers, _)
        )
    };
    let some = followed.programs.iter().any(|p| has(p, &moved));
    let covered = some && (0..launch.ranks()).all(|rank| registers(followed, launch, rank));
    if covered {
        drop(followed, &moved);
    }
    let pairs = |a: &Action| matches!(a, Action::Pair);
    if followed.programs.iter().any(|p| has(p, &pairs)) && paired(followed) {
        drop(followed, &pairs);
    }
    covered
}

fn has(program: &Program, which: &dyn Fn(&Action) -> bool) -> bool {
    let mut found = false;
    each(&program.statements, &mut |s| found |= which(&s.action));
    found
}

fn drop(followed: &mut Followed, which: &dyn Fn(&Action) -> bool) {
    for program in &mut followed.programs {
        program.statements.retain(|s| !which(&s.action));
    }
}

/// Whether the registers that warps of a CTA take are covered by what has been given back: until
/// the last of it, everybody only meets everybody else, nothing is given back after more meetings
/// than anything is taken after, and it is enough.
///
/// Who takes has passed as many meetings as any that something is given back after, so everybody has
/// come to those meetings, and all of them have completed. Whoever gives back then has nothing before it
/// but what does not block: it has not taken anything itself, and of the meetings that it still has to
/// pass for it none is open. So everything is given back without anybody's help, and suffices for all.
fn registers(followed: &Followed, launch: &Launch, rank: u32) -> bool {
    let full = Full::new(followed, launch);
    let mut balance = 0;
    // How many meetings come before the last that is given back, and before the first taken.
    let (mut given, mut taken) = (0, usize::MAX);
    let mut kinds: Vec<bool> = Vec::new();
    for program in followed.programs.iter().filter(|p| p.rank == rank) {
        let warps = i128::try_from(program.warps.len()).unwrap_or(i128::MAX);
        let (mut meetings, mut took) = (0, false);
        // The registers of the launch are there.
        let mut open = count(program);
        for statement in program.statements.iter().skip(1) {
            if open == 1 {
                break;
            }
            match &statement.action {
                Action::Init(..) | Action::ClusterArrive | Action::Touch(..) | Action::Fence(_) => {
                }
                meeting @ (Action::ClusterWait | Action::Sync(..))
                    if *meeting == Action::ClusterWait || full.is_met(meeting) =>
                {
                    let kind = *meeting == Action::ClusterWait;
                    // Everybody meets in the same order.
                    match kinds.get(meetings) {
                        Some(other) if *other != kind => return false,
                        Some(_) => {}
                        None => kinds.push(kind),
                    }
                    meetings += 1;
                }
                Action::Release(Pool::Registers, n) if !took => {
                    open -= 1;
                    balance += n.as_constant().unwrap_or(0).saturating_mul(warps);
                    given = given.max(meetings);
                }
                Action::Acquire(Pool::Registers, n) => {
                    open -= 1;
                    let size = n.as_constant().unwrap_or(i128::MAX / 2);
                    balance -= size.saturating_mul(warps);
                    (took, taken) = (true, taken.min(meetings));
                }
                _ => return false,
            }
        }
        if open != 1 {
            return false;
        }
    }
    balance >= 0 && given <= taken
}

/// How often a program moves registers, wherever that is.
fn count(program: &Program) -> usize {
    let mut number = 0;
    each(&program.statements, &mut |s| {
        let pool = match &s.action {
            Action::Acquire(pool, _) | Action::Release(pool, _) => Some(pool),
            _ => None,
        };
        number += usize::from(pool == Some(&Pool::Registers));
    });
    number
}

/// Whether two warps that allocate together have done nothing else before than meet the whole
/// cluster, equally often.
fn paired(followed: &Followed) -> bool {
    let mut met: Vec<Vec<Statement>> = Vec::new();
    for program in &followed.programs {
        let is = |s: &Statement| s.action == Action::Pair;
        let top = program.statements.iter().filter(|s| is(s)).count();
        let mut all = 0;
        each(&program.statements, &mut |s| all += usize::from(is(s)));
        if all == 0 {
            continue;
        }
        if top != all || program.warps.len() != 1 {
            return false;
        }
        let last = program.statements.iter().rposition(is).unwrap_or(0);
        let mut mine = Vec::new();
        for statement in program.statements.iter().take(last + 1) {
            match statement.action {
                Action::Pair | Action::ClusterArrive | Action::ClusterWait => {
                    mine.push(statement.clone());
                }
                Action::Acquire(Pool::Columns, _)
                | Action::Release(Pool::Columns, _)
                | Action::Init(..) => {}
                _ => return false,
            }
        }
        met.push(mine);
    }
    let ranks: Vec<u32> = followed
        .programs
        .iter()
        .filter(|p| p.statements.iter().any(|s| s.action == Action::Pair))
        .map(|p| p.rank)
        .collect();
    let distinct = ranks.windows(2).all(|w| w[0] < w[1]);
    // Everybody has a partner that does the same.
    distinct
        && ranks
            .chunks(2)
            .all(|pair| pair.len() == 2 && pair[0] % 2 == 0 && pair[1] == pair[0] + 1)
        && met.windows(2).all(|w| w[0] == w[1])
}
