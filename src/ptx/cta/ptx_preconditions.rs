//! Preconditions of PTX instructions that recovery assumes: for mbarriers of other CTAs, sizes of copies, and committed work.
//! A kernel that certainly violates one is refused.
//!
//! Source: PTX ISA, "mbarrier.arrive", "mbarrier.test_wait, mbarrier.try_wait", "cp.async.bulk", "tcgen05.commit",
//! "Shared memory of a cluster".

use std::collections::BTreeSet;

use super::family::barrier;
use super::family::place;
use super::program::Followed;
use super::program::each;
use crate::ptx::syntax::ast::Function;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

const STAYS: &str = "a CTA of a cluster does not end while others still use its shared memory";
const SIZED: &str = "bulk copies are of multiples of 16 bytes, and of less than 2^20";
const COMMITTED: &str =
    "tensor work that a warp commits ends after the copies that the warp has issued before";
/// Bytes of a copy come in pieces, one of which completes the phase. These come at once, and the count goes below 0.
const AT_ONCE: &str =
    "no single `mbarrier.complete_tx` delivers more bytes than the phase still expects";
const IN_TURN: &str =
    "arrivals behind `cp.async` copies come in the order in which a warp asks for them";
const MIXED: &str = "a warp starts bulk copies, or commits tensor work, and makes this arrival come when its `cp.async` copies have \
                     landed: which comes first is not told apart";

/// An arrival of some lanes that is made twice in one phase lets the phase end before the copies of other lanes have landed.
const TWICE: &str = "lanes of the warp make this arrival come when their copies have landed, twice without a wait between: which copies \
                     have landed when a phase is complete is not told apart";
const LANDED: &str = "arrivals behind `cp.async` copies have come before the warp asks for the next ones at the same mbarrier";

/// How many arrivals after copies a warp asks for, up to 2.
fn behind_copies(statements: &[Statement], behind: &dyn Fn(usize) -> bool) -> usize {
    let of = |statement: &Statement| match &statement.action {
        Action::For(_, _, body) => behind_copies(body, behind) * 2,
        Action::If(_, yes, no) => behind_copies(yes, behind) + behind_copies(no, behind),
        Action::Commit(_, lanes) => usize::from(*lanes > 1 && behind(statement.at)),
        _ => 0,
    };
    statements.iter().map(of).sum::<usize>().min(2)
}

/// Where lanes arrive after copies at an mbarrier at which they have done so since their warp has last waited.
fn twice(
    statements: &[Statement],
    behind: &dyn Fn(usize) -> bool,
    open: &mut BTreeSet<Sum>,
) -> Option<usize> {
    for statement in statements {
        match &statement.action {
            // Twice, since what it leaves open is open when it begins again.
            Action::For(_, _, body) => {
                for _ in 0..2 {
                    if let Some(at) = twice(body, behind, open) {
                        return Some(at);
                    }
                }
            }
            Action::If(_, yes, no) => {
                let mut other = open.clone();
                let found = twice(yes, behind, open).or_else(|| twice(no, behind, &mut other));
                if found.is_some() {
                    return found;
                }
                open.extend(other);
            }
            Action::Commit(address, lanes)
                if *lanes > 1 && behind(statement.at) && !open.insert(address.clone()) =>
            {
                return Some(statement.at);
            }
            Action::Wait(..) | Action::WaitOwn(_) | Action::Sync(..) | Action::ClusterWait => {
                open.clear();
            }
            _ => {}
        }
    }
    None
}

/// The assumptions of a kernel, in words.
pub(in crate::ptx) fn preconditions(
    function: &Function<'_>,
    followed: &Followed,
    data: bool,
) -> Result<BTreeSet<&'static str>, Obstacle> {
    let opcode = |at: usize| {
        function
            .code
            .iter()
            .find(|i| i.at == at)
            .map_or("", |i| i.opcode)
    };
    let mut taken = BTreeSet::new();
    let mut misused: Option<Obstacle> = None;
    for program in &followed.programs {
        let (mut copies, mut commits) = (false, false);
        // Bulk copies and tensor work, and where an arrival comes after copies of threads.
        let (mut others, mut behind) = (false, None);
        each(&program.statements, &mut |s| {
            match &s.action {
                Action::Copy(_, bytes, _) => {
                    copies = true;
                    others |= !opcode(s.at).starts_with("cp.async.mbarrier");
                    let fixed = |bytes: &Sum| bytes.as_constant().is_some();
                    if !bytes.as_ref().is_none_or(fixed) {
                        taken.insert(SIZED);
                    }
                }
                Action::CompleteTx(..) => {
                    taken.insert(AT_ONCE);
                }
                Action::Commit(..) if opcode(s.at).starts_with("tcgen05") => {
                    commits = true;
                    others = true;
                }
                Action::Commit(..) => {
                    behind = behind.or(Some(s.at));
                    taken.insert(IN_TURN);
                }
                _ => {}
            }
            let Some(address) = barrier(&s.action) else {
                return;
            };
            let Ok(place) = place(address, program.rank, &followed.unknowns, s.at) else {
                return;
            };
            if place.rank == program.rank {
                return;
            }
            taken.insert(STAYS);
            let waits = matches!(s.action, Action::Wait(..) | Action::WaitOwn(_));
            let opcode = opcode(s.at);
            let own = opcode.starts_with("mbarrier.arrive")
                && opcode.contains(".shared")
                && !opcode.contains(".shared::cluster");
            if waits || own {
                let reason = "this instruction takes an mbarrier of its own CTA only, but the address is in another CTA: this is undefined";
                misused.get_or_insert_with(|| Obstacle::new(s.at, reason).misused());
            }
        });
        if copies && commits {
            taken.insert(COMMITTED);
        }
        if data {
            let behind = |at: usize| !opcode(at).starts_with("tcgen05");
            let mut open = BTreeSet::new();
            if let Some(at) = twice(&program.statements, &behind, &mut open) {
                return Err(Obstacle::new(at, TWICE));
            }
            if behind_copies(&program.statements, &behind) > 1 {
                taken.insert(LANDED);
            }
        }
        // In the language, a commit comes after all that its member has started before.
        if let Some(at) = behind.filter(|_| others) {
            return Err(Obstacle::new(at, MIXED));
        }
    }
    match misused {
        Some(obstacle) => Err(obstacle),
        None => Ok(taken),
    }
}
