//! The steps of the system.
//!
//! A member does its operation, or skips it if its condition does not hold. A member without a loop has nothing to do
//! in a round; it goes from lag 0 to lag 1. When no member is at lag 0 any more, the base goes up by one before
//! anything else happens. Then every member loses one lag, and the elements rotate by one place. The first element
//! becomes the last one, and its count of completed phases is reduced by one. (An element that is used only before
//! and after the loop stays where it is, and its phases are counted from 0.)

use super::shape::Family;
use super::shape::Group;
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
use crate::protocol::Comparison;

/// The cause of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The operations of a group at a location.
    Location(usize, usize),
    /// The base moves.
    Shift,
}

/// A step.
pub struct Transition {
    /// Where it starts.
    pub origin: Origin,
    /// The condition under which it can be done.
    pub guard: Term,
    /// The next state. `Err`: the step must never be possible, with the reason.
    pub next: Result<State, &'static str>,
}

/// An operation that members at a location and lag may do.
struct Spot<'g> {
    op: &'g Op,
    /// The round, for evaluating conditions.
    round: Term,
    before: bool,
    guard: Term,
    location: usize,
    lag: usize,
}

impl System<'_> {
    fn spots<'g>(
        &self,
        members: &'g Group,
        group: usize,
        location: usize,
        lag: usize,
        state: &State,
    ) -> Vec<Spot<'g>> {
        let [before, round, after] = self.layout.groups[group];
        let head = before;
        let past_loop = exact::together(before, round.max(1));
        let at = later(&state.base, lag);
        let mut spots = Vec::new();
        let mut spot = |op: &'g Op, guard: Term, location: usize, lag: usize| {
            spots.push(Spot {
                op,
                round: at.clone(),
                before: false,
                guard,
                location,
                lag,
            });
        };
        if location < before {
            spots.push(Spot {
                op: &members.before[location],
                round: term::int(0),
                before: true,
                guard: term::boolean(true),
                location: exact::next(location),
                lag,
            });
            return spots;
        }
        let inside = location.checked_sub(head);
        if let Some(op) = inside.and_then(|nth| members.round.get(nth)) {
            let next = exact::next(location);
            let target = if next == exact::together(head, round) {
                (head, exact::next(lag))
            } else {
                (next, lag)
            };
            let guard = term::lt(&at, &self.rounds);
            spot(op, guard, target.0, target.1);
        }
        if location == before && after > 0 {
            let guard = term::eq(&at, &self.rounds);
            spot(&members.after[0], guard, past_loop, lag);
        }
        let behind = location.checked_sub(past_loop).map(exact::next);
        if let Some(op) = behind.and_then(|nth| members.after.get(nth)) {
            spot(op, term::boolean(true), exact::next(location), lag);
        }
        spots
    }

    /// Everything that can happen in a state.
    ///
    /// # Errors
    ///
    /// A condition or number of arrivals that has no term.
    pub fn transitions(&mut self, state: &State) -> Result<Vec<Transition>, Unsupported> {
        let mut all = vec![self.shift(state)];
        let behind = term::sum(self.at_base(state));
        for group in 0..self.groups.len() {
            let members = self.groups[group].clone();
            for location in 0..self.layout.locations(group) {
                for lag in 0..=self.layout.lags(group, location) {
                    for spot in self.spots(&members, group, location, lag, state) {
                        let mut guard = vec![
                            term::le(&term::int(1), &state.counts[group][location][lag]),
                            spot.guard.clone(),
                        ];
                        if lag > 0 {
                            guard.push(term::le(&term::int(1), &behind));
                        }
                        let guard = term::and(guard);
                        self.operation(state, group, (location, lag), &spot, guard, &mut all)?;
                    }
                }
            }
        }
        for group in 0..self.groups.len() {
            all.extend(self.idle(state, group));
        }
        all.retain(|t| t.guard != term::boolean(false));
        Ok(all)
    }

    /// The numbers of members at lag 0, without those that have nothing to do in a round.
    fn at_base(&self, state: &State) -> Vec<Term> {
        let mut all = Vec::new();
        for (group, locations) in state.counts.iter().enumerate() {
            let [before, round, _] = self.layout.groups[group];
            for (location, lags) in locations.iter().enumerate() {
                if round > 0 || location < before || self.rounds == term::int(0) {
                    all.push(lags[0].clone());
                }
            }
        }
        all
    }

    /// Moves members that have nothing to do in a round along with the base.
    fn idle(&self, state: &State, group: usize) -> Option<Transition> {
        let [before, round, _] = self.layout.groups[group];
        if round > 0 || self.rounds == term::int(0) {
            return None;
        }
        let one = term::int(1);
        let mut next = state.clone();
        let lags = &mut next.counts[group][before];
        let guard = term::and([
            term::le(&one, &lags[0]),
            term::lt(&state.base, &self.rounds),
        ]);
        lags[0] = term::sub(&lags[0], &one);
        lags[1] = term::sum([lags[1].clone(), one]);
        Some(Transition {
            origin: Origin::Location(group, before),
            guard,
            next: Ok(next),
        })
    }

    fn operation(
        &mut self,
        state: &State,
        group: usize,
        (location, lag): (usize, usize),
        spot: &Spot<'_>,
        guard: Term,
        all: &mut Vec<Transition>,
    ) -> Result<(), Unsupported> {
        let origin = Origin::Location(group, location);
        let moved = || -> Result<State, &'static str> {
            if spot.lag > self.layout.window {
                return Err("a member leaves the window");
            }
            let mut next = state.clone();
            let counts = &mut next.counts[group];
            let one = term::int(1);
            counts[location][lag] = term::sub(&counts[location][lag], &one);
            counts[spot.location][spot.lag] =
                term::sum([counts[spot.location][spot.lag].clone(), one]);
            Ok(next)
        };
        let mut push = |extra: Term, next: Result<State, &'static str>| {
            all.push(Transition {
                origin,
                guard: term::and([guard.clone(), extra]),
                next,
            });
        };
        let moved = moved();
        let op = spot.op;
        let (family, distance) = self.element(op, lag)?;
        let holds = self.condition(group, op, &spot.round, spot.before)?;
        if holds != term::boolean(true) {
            push(term::not(holds.clone()), moved.clone());
        }
        match (&op.kind, &self.resources[family]) {
            (OpKind::Add(amount), Resource::Semaphore { .. }) => {
                let amount = self.terms.expr(amount, &Env::new())?;
                let next = moved.map(|mut next| {
                    let ahead = &mut next.ahead[family][distance];
                    *ahead = term::sum([ahead.clone(), amount]);
                    next
                });
                push(holds, next);
            }
            (OpKind::Compare(comparison, first), Resource::Semaphore { initial, growth }) => {
                let first = self.terms.expr(first, &Env::new())?;
                let grown = term::apply("*", &[term::int(lag as i64), growth.clone()]);
                let grown = if lag == 0 { term::int(0) } else { grown };
                let wanted = term::sum([term::sub(&first, initial), grown]);
                let ahead = &state.ahead[family][distance];
                let passes = match comparison {
                    Comparison::Equal => term::eq(ahead, &wanted),
                    Comparison::AtLeast => term::le(&wanted, ahead),
                };
                push(term::and([holds, passes]), moved);
            }
            (OpKind::Wait(table), Resource::Mbarrier { .. }) => {
                let passes = self.passes(state, op, table, lag, spot.before)?;
                push(term::and([holds, passes]), moved);
            }
            (OpKind::Arrive(amount), Resource::Mbarrier { expected }) => {
                let expected = expected.clone();
                let amount = self.terms.expr(amount, &Env::new())?;
                let pending = state.pending[family][distance].clone();
                let total = term::sum([pending, amount.clone()]);
                let one = term::int(1);
                if amount != one {
                    push(
                        term::and([holds.clone(), term::lt(&expected, &total)]),
                        Err("more arrive than are expected"),
                    );
                }
                let completed = moved.clone().map(|mut next| {
                    next.pending[family][distance] = term::int(0);
                    let ahead = &mut next.ahead[family][distance];
                    *ahead = term::sum([ahead.clone(), one.clone()]);
                    next
                });
                // An open phase of a single expected arrival has no arrival yet.
                if (&amount, &expected) == (&one, &one) {
                    push(holds, completed);
                    return Ok(());
                }
                push(
                    term::and([holds.clone(), term::eq(&total, &expected)]),
                    completed,
                );
                let open = moved.map(|mut next| {
                    next.pending[family][distance] = total.clone();
                    next
                });
                push(term::and([holds, term::lt(&total, &expected)]), open);
            }
            _ => {
                return Err(Unsupported::at(
                    op.span,
                    "an operation that its object does not have",
                ));
            }
        }
        Ok(())
    }

    /// The family of an operation's element, and the distance of the element from the base.
    fn element(&self, op: &Op, lag: usize) -> Result<(usize, usize), Unsupported> {
        let family = &self.families[op.family];
        let shifted = exact::sum(exact::number(lag)?, op.offset)?;
        let distance = exact::around(exact::difference(shifted, family.origin)?, family.size)?;
        Ok((op.family, distance))
    }

    /// The condition under which a wait passes: the number of completed phases and the awaited parity differ by an
    /// odd number.
    fn passes(
        &self,
        state: &State,
        op: &Op,
        table: &[i64],
        lag: usize,
        before: bool,
    ) -> Result<Term, Unsupported> {
        let (family, distance) = self.element(op, lag)?;
        let Family { size, turning, .. } = self.families[family];
        // The offset is added to the phases ahead. Only its parity counts, and the parity is a function of the base.
        let (lag, first) = (exact::number(lag)?, exact::number(distance)?);
        let length = exact::number(table.len())?;
        let offset = |base: i64| -> Result<usize, Unsupported> {
            let awaited = table[exact::around(exact::sum(base, lag)?, length)?];
            let phases = exact::sum(base, first)?.checked_div_euclid(size);
            let phases = phases.filter(|_| turning).unwrap_or(0);
            exact::around(exact::sum(phases, awaited)?, 2)
        };
        let period = if before {
            1
        } else {
            lcm(exact::product(2, size)?, length)?
        };
        let ahead = &state.ahead[family][distance];
        let mut odd = Vec::new();
        for base in 0..period {
            if offset(base)? == 1 {
                odd.push(base);
            }
        }
        let two = term::int(2);
        let rest = |value: &Term| term::apply("mod", &[value.clone(), two.clone()]);
        if odd.is_empty() {
            return Ok(term::eq(&rest(ahead), &term::int(1)));
        }
        if exact::number(odd.len())? == period {
            return Ok(term::eq(&rest(ahead), &term::int(0)));
        }
        let phase = term::apply("mod", &[state.base.clone(), term::int(period)]);
        let is_odd = term::or(odd.into_iter().map(|b| term::eq(&phase, &term::int(b))));
        let extra = term::ite(&is_odd, &term::int(1), &term::int(0));
        let sum = term::sum([ahead.clone(), extra]);
        Ok(term::eq(&rest(&sum), &term::int(1)))
    }

    fn shift(&self, state: &State) -> Transition {
        let lags = || state.counts.iter().flatten();
        let zero = term::int(0);
        let behind = lags().map(|lags| term::le(&lags[0], &zero));
        let others = term::sum(lags().flat_map(|lags| lags[1..].iter().cloned()));
        let guard = term::and(behind.chain([term::le(&term::int(1), &others)]));
        let mut next = state.clone();
        next.base = later(&state.base, 1);
        for lags in next.counts.iter_mut().flatten() {
            if lags.len() > 1 {
                lags.remove(0);
                lags.push(term::int(0));
            }
        }
        for (family, values) in next.ahead.iter_mut().enumerate() {
            values.rotate_left(1);
            let less = match &self.resources[family] {
                Resource::Mbarrier { .. } => term::int(self.families[family].turning.into()),
                Resource::Semaphore { growth, .. } => growth.clone(),
            };
            if let Some(last) = values.last_mut() {
                *last = term::sub(last, &less);
            }
        }
        for values in &mut next.pending {
            values.rotate_left(1);
        }
        Transition {
            origin: Origin::Shift,
            guard,
            next: Ok(next),
        }
    }

    /// The condition that some member has not finished.
    pub fn unfinished(&self, state: &State) -> Term {
        let mut some = Vec::new();
        for (group, locations) in state.counts.iter().enumerate() {
            let [_, _, after] = self.layout.groups[group];
            let head = self.layout.head(group);
            let past_end = self.layout.locations(group);
            for (location, lags) in locations.iter().enumerate() {
                for (lag, count) in lags.iter().enumerate() {
                    let present = term::le(&term::int(1), count);
                    if after > 0 && exact::next(location) == past_end {
                        continue;
                    }
                    if after == 0 && location == head {
                        let inside = term::lt(&later(&state.base, lag), &self.rounds);
                        some.push(term::and([present, inside]));
                    } else {
                        some.push(present);
                    }
                }
            }
        }
        term::or(some)
    }
}

/// The least common multiple of two positive numbers.
fn lcm(a: i64, b: i64) -> Result<i64, Unsupported> {
    let (mut x, mut y) = (a, b);
    while let Some(rest) = x.checked_rem_euclid(y) {
        (x, y) = (y, rest);
    }
    let reduced = a.checked_div(x).ok_or_else(exact::too_large)?;
    exact::product(reduced, b)
}
