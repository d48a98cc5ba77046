//! The operands of waits and tests of mbarriers: the mbarrier, and the parity or the state.

use std::collections::BTreeMap;

use super::Path;
use super::Purpose;
use super::Result;
use super::Value;
use super::Walker;
use super::lane_of;
use super::refuse;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::RegisterId;
use crate::ir::Token;
use crate::meaning::Domain;
use crate::recover::phase_tokens::CLASS;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::Awaited;
use crate::recover::tree::Test;

impl Walker<'_> {
    /// What a wait looks at, and by how many lanes it is executed.
    pub(super) fn looked_at(
        &mut self,
        address: Operand,
        token: Token,
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<BTreeMap<Awaited, u32>> {
        let object = self.operand(address, 32, &path.state);
        let phase = match token {
            Token::Parity(parity) => self.parity_of(parity, mask, path, location),
            Token::State(state) => self.operand(state, 64, &path.state),
        };
        let mut groups = BTreeMap::new();
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let (object, phase) = (lane_of(&object, lane), lane_of(&phase, lane));
            let awaited = match token {
                Token::Parity(_) => Awaited {
                    object,
                    phase,
                    class: None,
                },
                Token::State(_) => self.own_arrival(object, phase, location)?,
            };
            *groups.entry(awaited).or_default() += 1;
        }
        Ok(groups)
    }

    /// The lowest bit of what a wait takes for a parity.
    fn parity_of(&mut self, parity: Operand, mask: u32, path: &Path, location: &Location) -> Value {
        let parity = self.operand(parity, 32, &path.state);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let term = lane_of(&parity, lane);
            let above = self.terms.extract(&term, 1, 31);
            let known = self.parities.iter().any(|(other, _)| *other == term);
            if self.terms.value(above) != Some(0) && !known {
                self.parities.push((term, location.clone()));
            }
        }
        self.each(&parity, |walker, term| {
            let bit = walker.terms.extract(&term, 0, 1);
            walker.terms.extend(&bit, 32, false)
        })
    }

    /// The arrival whose state is waited for.
    fn own_arrival(
        &mut self,
        object: TermId,
        state: TermId,
        location: &Location,
    ) -> Result<Awaited> {
        let above = self.terms.extract(&state, CLASS, CLASS);
        let class = self
            .terms
            .value(above)
            .and_then(|class| class.checked_sub(1));
        let class = class.and_then(|class| u32::try_from(class).ok());
        if class.is_none() && self.purpose == Purpose::Events {
            return refuse(
                "which arrival this state is of depends on the way here",
                location,
            );
        }
        Ok(Awaited {
            object,
            phase: self.terms.extract(&state, 0, CLASS),
            class: class.or(Some(0)),
        })
    }

    pub(super) fn test(
        &mut self,
        result: RegisterId,
        address: Operand,
        token: Token,
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) -> Result<()> {
        let groups = self.looked_at(address, token, mask, path, location)?;
        if let Some((passes, waits)) = &mut self.spinning {
            let passes = *passes;
            self.tested |= mask;
            waits.extend(groups.into_keys().map(|look| (look, location.clone())));
            let term = self.terms.constant(u128::from(passes), 1);
            self.set(result, Value::Uniform(term), mask, path);
            return Ok(());
        }
        let Some((awaited, _)) = groups.first_key_value().filter(|_| groups.len() == 1) else {
            return refuse("lanes of a warp test different mbarriers", location);
        };
        // Which lanes a wait that the test spares would be of is not followed.
        if self.follows_data() {
            return refuse(
                "races are not decided of accesses after a test of an mbarrier outside a loop",
                location,
            );
        }
        let number = u32::try_from(self.tests.len()).unwrap_or(u32::MAX);
        self.tests.push(Test {
            awaited: *awaited,
            location: location.clone(),
            events: *self.events,
        });
        let term = self.terms.atom(Atom::Test(number), 1);
        self.set(result, Value::Uniform(term), mask, path);
        Ok(())
    }
}
