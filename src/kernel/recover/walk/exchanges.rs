//! Values that the lanes of a warp exchange.

use super::Path;
use super::Result;
use super::Value;
use super::Walker;
use super::lane_of;
use super::packed;
use super::refuse;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::ShuffleMode;
use crate::ir::Synchronization;
use crate::ir::VoteMode;
use crate::meaning::Domain;
use crate::meaning::shuffled;
use crate::recover::term::Atom;
use crate::recover::term::TermId;

impl Walker<'_> {
    /// Refuses exchanges between lanes in a loop that tests an mbarrier, if accesses are followed.
    /// The walk goes through the loop as if a test passed in all lanes or in none. But each lane
    /// may go on by what it has found itself. The walk shows such lanes as well, but only if no
    /// lane knows what the others have found.
    pub(super) fn told_in_spin(
        &self,
        synchronization: &Synchronization,
        location: &Location,
    ) -> Result<()> {
        let tells = matches!(
            synchronization,
            Synchronization::Shuffle { .. }
                | Synchronization::Vote { .. }
                | Synchronization::Match { .. }
                | Synchronization::Reduce { .. }
                | Synchronization::ActiveMask { .. }
        );
        match tells && self.spinning.is_some() && self.follows_data() {
            true => refuse(
                "lanes of the warp tell each other what their tests of an mbarrier have found, so that a lane may go on whose own test has failed",
                location,
            ),
            false => Ok(()),
        }
    }

    /// Source: PTX ISA, "shfl.sync".
    pub(super) fn shuffle(
        &mut self,
        mode: ShuffleMode,
        (result, valid): (RegisterId, Option<RegisterId>),
        [value, lane, clamp]: [Operand; 3],
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) {
        let value = self.operand(value, 32, &path.state);
        let offset = self.operand(lane, 32, &path.state);
        let clamp = self.operand(clamp, 32, &path.state);
        // If all lanes have the same value, it does not matter which one is read. Unknown values
        // may differ. What lanes had that have ended is not kept, so it must not be read.
        let known = valid.is_none()
            && path.exited == 0
            && matches!(value, Value::Uniform(term) if self.assume_alike(term, location));
        let mut results = [TermId::default(); 32];
        let mut valids = [TermId::default(); 32];
        for (at, slot) in results.iter_mut().enumerate() {
            let number = |term: TermId, walker: &Self| {
                walker
                    .terms
                    .value(term)
                    .and_then(|bits| u32::try_from(bits).ok())
            };
            let source = match (
                number(lane_of(&offset, at), self),
                number(lane_of(&clamp, at), self),
            ) {
                (Some(offset), Some(clamp)) => {
                    let own = u32::try_from(at).unwrap_or(0);
                    Some(shuffled(mode, own, offset, clamp))
                }
                _ => None,
            };
            (*slot, valids[at]) = match source {
                Some((from, fits))
                    if mask >> from & 1 == 1
                        && self.assume_alike(lane_of(&value, from as usize), location) =>
                {
                    (
                        lane_of(&value, from as usize),
                        self.terms.constant(u128::from(fits), 1),
                    )
                }
                _ if known => (lane_of(&value, at), self.terms.constant(1, 1)),
                _ => (self.unknown_of(32), self.unknown_of(1)),
            };
        }
        self.set(result, packed(results), mask, path);
        if let Some(valid) = valid {
            self.set(valid, packed(valids), mask, path);
        }
    }

    pub(super) fn vote(
        &mut self,
        mode: VoteMode,
        result: RegisterId,
        predicate: Operand,
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) {
        let value = self.operand(predicate, 1, &path.state);
        let active: Vec<usize> = (0..32).filter(|lane| mask >> lane & 1 == 1).collect();
        let terms: Vec<TermId> = active.iter().map(|lane| lane_of(&value, *lane)).collect();
        let truths: Option<Vec<bool>> = terms.iter().map(|term| self.terms.truth(*term)).collect();
        let same = terms.windows(2).all(|pair| pair[0] == pair[1])
            && (truths.is_some()
                || terms
                    .first()
                    .is_none_or(|term| self.assume_alike(*term, location)));
        let term = match (truths, mode) {
            (Some(truths), VoteMode::Ballot) => {
                let bits = active
                    .iter()
                    .zip(truths)
                    .filter(|(_, truth)| *truth)
                    .fold(0_u128, |bits, (lane, _)| bits | 1 << lane);
                self.terms.constant(bits, 32)
            }
            (Some(truths), VoteMode::All) => self
                .terms
                .constant(u128::from(truths.iter().all(|truth| *truth)), 1),
            (Some(truths), VoteMode::Any) => {
                self.terms.constant(u128::from(truths.contains(&true)), 1)
            }
            (Some(_), VoteMode::Uniform) => self.terms.constant(u128::from(same), 1),
            (None, VoteMode::All | VoteMode::Any) if same && !terms.is_empty() => terms[0],
            // One lane may test an mbarrier before it completes, and another lane behind that. Then
            // `.all` and `.any` are still what some lane found, but the lanes do not agree.
            (None, VoteMode::Uniform) if same && !self.is_tested(&terms) => {
                self.terms.constant(1, 1)
            }
            (None, VoteMode::Ballot) if same && !terms.is_empty() => {
                let all = self.terms.constant(u128::from(mask), 32);
                let none = self.terms.constant(0, 32);
                self.terms.select(&terms[0], &all, &none)
            }
            _ => self.unknown(result),
        };
        self.set(result, Value::Uniform(term), mask, path);
    }

    /// Whether terms depend on tests of mbarriers.
    fn is_tested(&self, terms: &[TermId]) -> bool {
        let tests = |atom: &Atom| matches!(atom, Atom::Test(_));
        terms
            .iter()
            .any(|term| self.terms.atoms(*term).iter().any(tests))
    }
}
