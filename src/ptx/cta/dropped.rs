//! `arrive_drop`: a warp that leaves an mbarrier. In the protocol it arrives in this phase, and then continues to arrive:
//! once in each phase, as soon as the phase before is complete, as often as the other warps do. This is equivalent. No
//! warp ever has to wait for these arrivals. All other warps wait by token after each arrival, so no phase completes
//! without an arrival of each of them. Up to the drop, no phase completes without this warp either. `arrive_drop` has to
//! be the last operation of the warp.

use super::program::Program;
use super::tokens::Group;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

/// How often one thread arrives.
fn count(statements: &[Statement], facts: &Facts) -> Option<Sum> {
    let mut total = Sum::of(0);
    for statement in statements {
        match &statement.action {
            Action::For(number, times, body) => {
                let each = count(body, facts)?;
                if each.mentions(&|u| u == *number) {
                    return None;
                }
                let none = Condition::Negative(times.clone());
                let times = facts.choice(&none, &Sum::of(0), times);
                total = total.plus(&times.times(&each));
            }
            _ => total = total.plus_constant(1),
        }
    }
    (!total.excessive()).then_some(total)
}

impl Group<'_> {
    /// How often those arrive who wait by token, where they do so equally often, nobody arrives only, and there is one mbarrier.
    pub(super) fn all_alike(
        &self,
        programs: &[Program],
        waiting: &[usize],
        alone: bool,
        unknowns: &Unknowns,
    ) -> Option<Sum> {
        let first = self.rounds(programs.get(*waiting.first()?)?, unknowns)?;
        for number in waiting {
            if self.rounds(programs.get(*number)?, unknowns)? != first {
                return None;
            }
        }
        if !alone || self.family.elements.len() > 1 {
            return None;
        }
        count(&first, &unknowns.1)
    }

    /// What stands for a warp that does not count any more: it goes on arriving in each phase to come.
    pub(super) fn goes_on(
        &self,
        arrival: &Statement,
        count: &Sum,
        rounds: &Sum,
        unknowns: &mut Unknowns,
    ) -> Option<Statement> {
        let Action::Arrive(address, n) = &arrival.action else {
            return None;
        };
        let missing = rounds.minus(count);
        let number = unknowns.fresh(Meaning::Iteration(0));
        let most = unknowns.1.range(&missing).1;
        unknowns.1.bound(number, 0, most.max(1) - 1);
        let before = count.plus(&Sum::unknown(number)).plus_constant(-1);
        let parity = unknowns.1.modulo(&before, &Sum::of(2))?;
        let with = |action, memory| Statement {
            action,
            memory,
            ..arrival.clone()
        };
        let relaxed = if self.data { ".relaxed.cta" } else { "" };
        let body = vec![
            with(Action::Wait(address.clone(), parity), relaxed),
            with(Action::Arrive(address.clone(), *n), relaxed),
        ];
        Some(with(Action::For(number, missing, body), ""))
    }
}
