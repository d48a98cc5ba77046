//! Tests of mbarriers whose outcome is looked at later, as pipelines do that look ahead at the next stage:
//! `ready = test(b, p); ..; if (!ready) wait(b, p)`.
//!
//! That is written as a wait where the branch is. It is the same only if a test that succeeded was one of
//! the phase that is then waited for, and not of one before it with the same parity. Between the two the
//! warp must therefore do nothing that may block, and not arrive at that mbarrier itself. The test then
//! comes behind the wait before at that mbarrier.
//!
//! If the warp does nothing at all in between, it is as if it waited where it tests. Otherwise it may
//! arrive elsewhere, and others go on because of that. Then the protocol has an assumption in its head that
//! a proof has to discharge: that the waits at each mbarrier are in turn (`warplock::certificate::in_turn`).

use std::collections::BTreeSet;

use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Machine;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Test;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Value;

impl Test {
    /// Waiting for what is tested.
    pub fn wait(&self) -> Action {
        match &self.parity {
            Some(parity) => Action::Wait(self.barrier.clone(), parity.clone()),
            None => Action::WaitOwn(self.barrier.clone()),
        }
    }
}

impl Walker<'_, '_, '_> {
    /// Forgets the outcome of tests that are not fresh any more after these statements.
    pub fn forget_tests(&self, state: &mut State, behind: &[Statement]) {
        for statement in behind {
            self.forget_behind(state, statement);
        }
    }

    /// Forgets, on the way into a loop, what tests before it said: in a later iteration that is not
    /// fresh. What the loop writes is told apart there. Returns what is known again after a loop
    /// without synchronization.
    pub fn without_tests(
        &self,
        blocks: &BTreeSet<usize>,
        state: &mut State,
    ) -> Vec<(usize, Value)> {
        let written = self.written(blocks);
        let before = state.registers.clone();
        let at = self.place(blocks.first().copied().unwrap_or(0)).0;
        forget(state, at, &|_, _| true);
        let mut kept = Vec::new();
        let slots = state.registers.iter_mut().zip(before);
        for (index, (slot, value)) in slots.enumerate() {
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            if written.contains(&Register(number)) {
                *slot = value;
            } else if *slot != value {
                kept.push((index, value));
            }
        }
        if self.touching(blocks) {
            kept.clear();
        }
        kept
    }

    fn forget_behind(&self, state: &mut State, statement: &Statement) {
        match &statement.action {
            Action::For(_, _, body) => self.forget_tests(state, body),
            Action::If(_, yes, no) => {
                self.forget_tests(state, yes);
                self.forget_tests(state, no);
            }
            Action::Wait(..)
            | Action::WaitOwn(_)
            | Action::Sync(..)
            | Action::ClusterWait
            | Action::CounterWait(..)
            | Action::GridWait(..)
            | Action::Acquire(..)
            | Action::WaitGroup(..)
            | Action::Multiplied(_)
            | Action::InFlight(..)
            | Action::Landed(..)
            | Action::Pair => forget(state, statement.at, &|_, _| true),
            Action::Init(barrier, _)
            | Action::Arrive(barrier, _)
            | Action::ArriveExpectTx(barrier, _)
            | Action::ExpectTx(barrier, _)
            | Action::CompleteTx(barrier, _)
            | Action::ArrivePart(barrier, ..)
            | Action::Drop(barrier)
            | Action::Inval(barrier) => {
                let machine = &self.machine;
                forget(state, statement.at, &|test, facts| {
                    may_meet(machine, &test.barrier, barrier, facts)
                });
            }
            Action::Copy(..)
            | Action::Commit(..)
            | Action::ArriveNamed(..)
            | Action::ClusterArrive
            | Action::Multiply(_)
            | Action::Grouped(_)
            | Action::Issued(..)
            | Action::CounterAdd(..)
            | Action::GridArrive(..)
            | Action::CounterSet(..)
            | Action::Release(..)
            | Action::Touch(..)
            | Action::CommitGroup(_)
            | Action::Fence(_) => {}
        }
    }
}

/// Forgets everything that depends on one of these tests.
pub(in crate::ptx) fn forget(state: &mut State, at: usize, which: &dyn Fn(&Test, &Facts) -> bool) {
    let State {
        registers, facts, ..
    } = state;
    for slot in registers {
        let stale = match slot {
            Value::Integer(integer) => integer.sum.tests(&|test| which(test, facts)),
            Value::Groups(_, groups) => {
                let mut sums = groups.iter().map(|(_, integer)| &integer.sum);
                sums.any(|sum| sum.tests(&|test| which(test, facts)))
            }
            Value::Same(condition) => condition.tests_some(&|test| which(test, facts)),
            Value::Parted(parts) => parts
                .iter()
                .any(|(_, c)| c.tests_some(&|test| which(test, facts))),
            Value::Mask(_) | Value::Token(_) | Value::Lost(_) => false,
        };
        if stale {
            *slot = Value::lost(
                at,
                "it says what an mbarrier was like before, which may have changed since",
            );
        }
    }
}

/// Whether two addresses may be one mbarrier.
pub(in crate::ptx) fn may_meet(machine: &Machine<'_, '_>, a: &Sum, b: &Sum, facts: &Facts) -> bool {
    let base = |sum: &Sum| -> Option<Unknown> {
        let mut found = sum.terms.iter().filter_map(|(atom, factor)| match atom {
            Atom::Unknown(u) => match machine.unknowns.meaning(*u) {
                Some(Meaning::Shared(_)) => (*factor == 1).then_some(*u),
                _ => None,
            },
            _ => None,
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    };
    // Variables whose size the launch decides begin at one place.
    let open = |u: Unknown| match machine.unknowns.meaning(u) {
        Some(Meaning::Shared(name)) => {
            let variable = machine.shared.iter().find(|v| v.name == *name);
            variable.is_none_or(|v| v.bytes == 0)
        }
        _ => true,
    };
    if let (Some(a), Some(b)) = (base(a), base(b))
        && a != b
        && !(open(a) && open(b))
    {
        return false;
    }
    let (low, high) = facts.range(&facts.rewritten(&a.minus(b)));
    low <= 0 && high >= 0
}
