//! Accounting: the completed phases of an element and its pending arrivals are those that members
//! have executed, counted from what the base suggests.
//!
//! Arrivals under a condition are the exception: a round below the base need not have brought them.
//! Only the rounds that [`Passed`] names are looked at; that is a choice of facts, not a side
//! condition, since every fact has to be inductive.

use super::shape::Family;
use super::shape::Op;
use super::shape::OpKind;
use super::state::State;
use super::system::Resource;
use super::system::System;
use super::system::later;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

/// How far the completed phases of an element may be from what the base suggests.
pub const SPAN: std::ops::RangeInclusive<i64> = -2..=3;

/// Which rounds below the base are looked at for arrivals that were passed; of all others it is
/// taken that none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// This many of the first rounds.
    pub early: usize,
    /// This many times each element was last due.
    pub recent: usize,
}

impl System<'_> {
    /// `expected * phases + pending = arrivals executed`, counted from what the base suggests.
    ///
    /// # Errors
    ///
    /// A number of arrivals that has no term.
    pub fn accounting(
        &mut self,
        state: &State,
        family: usize,
        distance: usize,
        passed: Passed,
    ) -> Result<Term, Unsupported> {
        let mut arrivals = Vec::new();
        for group in 0..self.groups.len() {
            for location in 0..self.layout.locations(group) {
                for lag in 0..=self.layout.lags(group, location) {
                    let count = &state.counts[group][location][lag];
                    arrivals.extend(
                        self.executed(state, group, location, lag, family, distance, count)?,
                    );
                }
            }
        }
        let arrivals = term::sum(arrivals);
        let missing = self.missing(state, family, distance, passed)?;
        let arrivals = term::sub(&arrivals, &term::sum(missing));
        let ahead = &state.ahead[family][distance];
        let pending = &state.pending[family][distance];
        let expected = match &self.resources[family] {
            Resource::Mbarrier { expected } => expected.clone(),
            Resource::Semaphore { .. } => return Ok(term::eq(ahead, &arrivals)),
        };
        if expected.is_literal() {
            let completed = term::apply("*", &[expected, ahead.clone()]);
            return Ok(term::eq(
                &term::sum([completed, pending.clone()]),
                &arrivals,
            ));
        }
        // A product of two unknowns, written out over the few values one of them has.
        let mut completed = term::int(0);
        for value in SPAN {
            if value != 0 {
                let times = term::apply("*", &[term::int(value), expected.clone()]);
                completed = term::ite(&term::eq(ahead, &term::int(value)), &times, &completed);
            }
        }
        Ok(term::and([
            term::le(&term::int(*SPAN.start()), ahead),
            term::le(ahead, &term::int(*SPAN.end())),
            term::eq(&term::sum([completed, pending.clone()]), &arrivals),
        ]))
    }

    /// The arrivals at an element that rounds below the base would have brought, had the
    /// conditions on them held: of the first rounds and of the latest ones.
    fn missing(
        &mut self,
        state: &State,
        family: usize,
        distance: usize,
        passed: Passed,
    ) -> Result<Vec<Term>, Unsupported> {
        let Family { size, origin, .. } = self.families[family];
        let zero = term::int(0);
        let mut all = Vec::new();
        for group in 0..self.groups.len() {
            let members = self.groups[group].clone();
            let total = self.sizes[group].clone();
            for op in members.round.iter().filter(|op| op.family == family) {
                let (OpKind::Arrive(amount) | OpKind::Add(amount)) = &op.kind else {
                    continue;
                };
                if op.given.is_empty() {
                    continue;
                }
                let amount = self.terms.expr(amount, &Env::new())?;
                let brought = self.multiple(&amount, &total, group);
                let offset = exact::difference(op.offset, origin)?;
                let mut rounds = Vec::new();
                let distance = exact::number(distance)?;
                let early = exact::number(passed.early)?;
                for early in 0..early {
                    let round = term::int(early);
                    let reached = term::lt(&round, &state.base);
                    let place = term::sum([state.base.clone(), term::int(distance)]);
                    let place = term::apply("mod", &[place, term::int(size)]);
                    let own = exact::around(exact::sum(early, offset)?, size)?;
                    let own = term::int(exact::number(own)?);
                    rounds.push((term::and([reached, term::eq(&place, &own)]), round));
                }
                for nth in 1..=exact::number(passed.recent)? {
                    let latest = exact::around(exact::difference(distance, offset)?, size)?;
                    let back = exact::product(size, nth)?;
                    let back = exact::difference(exact::number(latest)?, back)?;
                    let back = term::int(back);
                    let round = term::sum([state.base.clone(), back]);
                    let below = term::le(&term::int(early), &round);
                    rounds.push((below, round));
                }
                for (counts, round) in rounds {
                    let holds = self.condition(group, op, &round, false)?;
                    let missing = term::and([counts, term::not(holds)]);
                    all.push(term::ite(&missing, &brought, &zero));
                }
            }
        }
        Ok(all)
    }

    /// The arrivals at an element by the members at a location and lag, since the base.
    #[expect(clippy::too_many_arguments)]
    fn executed(
        &mut self,
        state: &State,
        group: usize,
        location: usize,
        lag: usize,
        family: usize,
        distance: usize,
        count: &Term,
    ) -> Result<Vec<Term>, Unsupported> {
        let [before, round, _] = self.layout.groups[group];
        let size = self.families[family].size;
        let origin = self.families[family].origin;
        let members = self.groups[group].clone();
        let here = |op: &Op, lag: usize| -> Result<bool, Unsupported> {
            let shifted = exact::sum(exact::number(lag)?, op.offset)?;
            let at = exact::around(exact::difference(shifted, origin)?, size)?;
            Ok(op.family == family && at == distance)
        };
        let mut all = Vec::new();
        let mut add = |system: &mut Self, op: &Op, lag: usize, at: &Term, is_before: bool| {
            let (OpKind::Arrive(amount) | OpKind::Add(amount)) = &op.kind else {
                return Ok(());
            };
            if here(op, lag)? {
                let amount = system.terms.expr(amount, &Env::new())?;
                let arrived = system.multiple(&amount, count, group);
                let holds = system.condition(group, op, at, is_before)?;
                all.push(term::ite(&holds, &arrived, &term::int(0)));
            }
            Ok::<(), Unsupported>(())
        };
        for (nth, op) in members.before.iter().enumerate() {
            if nth < location {
                add(self, op, 0, &term::int(0), true)?;
            }
        }
        let Some(past_head) = location.checked_sub(before) else {
            return Ok(all);
        };
        for (nth, op) in members.round.iter().enumerate() {
            for past in 0..lag {
                add(self, op, past, &later(&state.base, past), false)?;
            }
            if past_head < round.max(1) && nth < past_head {
                add(self, op, lag, &later(&state.base, lag), false)?;
            }
        }
        for (nth, op) in members.after.iter().enumerate() {
            if past_head
                .checked_sub(round.max(1))
                .is_some_and(|at| nth <= at)
            {
                add(self, op, lag, &later(&state.base, lag), false)?;
            }
        }
        Ok(all)
    }

    fn multiple(&mut self, amount: &Term, count: &Term, group: usize) -> Term {
        if *amount == term::int(1) {
            return count.clone();
        }
        if amount.is_literal() {
            return term::apply("*", &[amount.clone(), count.clone()]);
        }
        if self.groups[group].part.size == Expr::Int(1) && !count.is_literal() {
            let present = term::le(&term::int(1), count);
            return term::ite(&present, amount, &term::int(0));
        }
        self.terms.product(amount, count)
    }
}
