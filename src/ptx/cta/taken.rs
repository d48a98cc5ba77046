//! What PTX asks for and is taken for granted, or refused where it certainly is not so: mbarriers of other CTAs, sizes of
//! copies, and committed work.
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
use crate::ptx::warp::term::Sum;

const STAYS: &str = "a CTA of a cluster does not end while others still use its shared memory";
const SIZED: &str = "bulk copies are of multiples of 16 bytes, and of less than 2^20";
const COMMITTED: &str =
    "tensor work that a warp commits ends after the copies that the warp has issued before";

/// What is taken for granted of a kernel, in words.
pub(in crate::ptx) fn taken(
    function: &Function<'_>,
    followed: &Followed,
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
        each(&program.statements, &mut |s| {
            match &s.action {
                Action::Copy(_, bytes, _) => {
                    copies = true;
                    let fixed = |bytes: &Sum| bytes.as_constant().is_some();
                    if !bytes.as_ref().is_none_or(fixed) {
                        taken.insert(SIZED);
                    }
                }
                Action::Commit(..) => commits |= opcode(s.at).starts_with("tcgen05"),
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
    }
    match misused {
        Some(obstacle) => Err(obstacle),
        None => Ok(taken),
    }
}
