//! What a condition on memory waits for, where a loop looks until it holds, and spins whose first look stands before
//! the loop: `v = read(c); if (v != n) { do { pause } while (read(c) != n) }`, as compilers write every spin with
//! something to do in between.
//!
//! The branch before the loop is `wait` as well, if what it decides by was read right before it: where the first
//! look finds what is waited for, the warp goes on as a wait would have done at that look, and where it does not, it
//! waits for the same. In between the warp must do nothing that takes part in synchronization, so that nothing can
//! happen between the look and the branch that a wait at the branch would not allow. Of tests of mbarriers
//! `peek.rs` says the same.

use crate::ptx::path::walk::Walker;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

use super::flips::found_before;

impl Walker<'_, '_, '_> {
    /// Waiting until this holds, with the words for its order and scope and how many bytes of memory are looked at. `None`
    /// where it is not what can be waited for.
    pub fn wait_until(&self, until: &Condition) -> Option<(Action, &'static str, u32)> {
        let unknowns = &self.machine.unknowns;
        let read = |u: Unknown| match unknowns.meaning(u) {
            Some(Meaning::Read(address, bytes)) => Some((address.clone(), *bytes)),
            _ => None,
        };
        if let Some(wait) = self.turned_over(until) {
            return Some((wait, "", 0));
        }
        match until {
            Condition::Passed(test) => Some((test.wait(), test.memory, 0)),
            Condition::Zero(sum) | Condition::Negative(sum) => {
                let mut reads = sum.terms.iter().filter_map(|(atom, factor)| match atom {
                    Atom::Unknown(u) => Some((*u, *factor, read(*u)?)),
                    _ => None,
                });
                let (unknown, factor, (address, bytes)) = reads.next()?;
                if reads.next().is_some() {
                    return None;
                }
                let rest = sum.plus_times(&Sum::unknown(unknown), -factor);
                let exact = matches!(until, Condition::Zero(_));
                // Either side of an equality, but "at least" only where the counter is subtracted.
                let value = match (exact, factor) {
                    (true, 1) => rest.scaled(-1),
                    (true, -1) => rest,
                    (false, -1) => rest.plus_constant(1),
                    _ => return None,
                };
                Some((Action::CounterWait(address, exact, value), "", bytes))
            }
            Condition::Not(inner) => {
                // What is never negative and not 0 is at least 1.
                let Condition::Zero(sum) = &**inner else {
                    return None;
                };
                let (Atom::Unknown(unknown), 1 | -1) = sum.single()? else {
                    return None;
                };
                let (address, bytes) = read(*unknown)?;
                Some((Action::CounterWait(address, false, Sum::of(1)), "", bytes))
            }
            _ => None,
        }
    }

    /// The wait that a branch is, of which one side waits for what the condition says and the other goes on.
    /// Unknowns from `looked` on were read right before the branch.
    pub fn peeked(
        &mut self,
        condition: &Condition,
        looked: Unknown,
        above: &[Statement],
        below: &[Statement],
    ) -> Option<Statement> {
        let (until, one) = match (above, below) {
            ([], [one]) => (condition.clone(), one),
            ([one], []) => (condition.negated(), one),
            _ => return None,
        };
        if let Some((action, bytes)) = self.changed(&until, looked) {
            if let Action::GridWait(address, _) = &action {
                let pointer = self.pointer(address)?;
                self.widths.note(pointer, bytes, one.at);
            }
            return (one.action == action).then(|| one.clone());
        }
        let stale = |u: Unknown| found_before(self.machine.unknowns, u, looked);
        if until.mentions(&stale) {
            return None;
        }
        let (action, memory, bytes) = self.wait_until(&until)?;
        if let Action::CounterWait(address, ..) = &action {
            let pointer = self.pointer(address)?;
            self.widths.note(pointer, bytes, one.at);
        }
        (one.action == action && one.memory == memory).then(|| one.clone())
    }
}
