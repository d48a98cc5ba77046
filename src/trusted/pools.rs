//! Pools: what a member takes and gives back, and why nobody waits for a place for good.
//!
//! A member counts what it holds: what it has taken less what it has given back. It gives back no more than it holds. So
//! what has been taken of a pool is the sum of what its members hold, and less is never given back than has been taken.
//! A pool is one of two.
//!
//! *Ample.* The certificate says for each class that takes of it what a member holds at most. These bounds of all members
//! together are no more than the pool has (`world.rs`). So whoever takes finds enough: what it holds afterwards and what the others hold is no
//! more than the pool has.
//!
//! *Held briefly.* At each wait, before whatever it takes of any pool that is not ample, and at its end a member holds nothing of
//! the pool. And nobody takes more than the pool has. Where nothing can happen everybody is at such a place: so
//! the pool is whole, and whoever takes finds enough.

use super::certificate::Counter;
use super::member::Member;
use super::system::Act;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;

impl Member<'_, '_> {
    /// That nothing is held of any pool that is held briefly.
    pub(super) fn empty_handed(&self) -> Vec<Term> {
        let all = self.counters.iter();
        let held = all.filter_map(|(counter, held)| match counter {
            Counter::Held(ring) if !self.world.is_ample(*ring) => Some(held),
            _ => None,
        });
        held.map(|held| term::eq(held, &term::int(0))).collect()
    }

    pub(super) fn take(&mut self, act: &Act, amount: &Expr) -> Result<(), Unsupported> {
        let amount = self.pool(act, amount)?;
        let object = self.system().rings[act.ring].object;
        let object = &self.system().protocol.objects[object];
        let ObjectKind::Pool { capacity, .. } = &object.kind else {
            return Err(super::member::unfit());
        };
        let held = self.counter(Counter::Held(act.ring))?;
        let holds = term::sum([held, amount.clone()]);
        let mut goals = vec![term::le(&term::int(0), &amount)];
        match self.world.most(self.class, act.ring)? {
            Some(most) => goals.push(term::le(&holds, &most)),
            None if self.world.is_ample(act.ring) => return Err(super::member::unfit()),
            None => {
                goals.extend(self.empty_handed());
                goals.push(term::le(&amount, &self.names.term(capacity)?));
            }
        }
        let meaning = format!("{} finds enough in the end", self.quote(act.span));
        self.conclude("take", meaning, goals);
        self.count(Counter::Held(act.ring), holds);
        Ok(())
    }

    pub(super) fn give(&mut self, act: &Act, amount: &Expr) -> Result<(), Unsupported> {
        let amount = self.pool(act, amount)?;
        let held = self.counter(Counter::Held(act.ring))?;
        let meaning = format!("{} gives back what is held", self.quote(act.span));
        let goals = vec![term::le(&term::int(0), &amount), term::le(&amount, &held)];
        self.conclude("give", meaning, goals);
        self.count(Counter::Held(act.ring), term::sub(&held, &amount));
        Ok(())
    }

    /// The amount that is taken or given back, of a pool that exists.
    fn pool(&mut self, act: &Act, amount: &Expr) -> Result<Term, Unsupported> {
        if self.system().rings[act.ring].moving().is_some() {
            return Err(Unsupported::at(act.span, "pools that are gone through"));
        }
        self.element(act, &term::int(0))?;
        self.evaluated(amount, act.span)
    }
}
