//! Waiting by phase tokens as waiting by parity: the token of a warp's arrival number `k` at an mbarrier, counted from 0,
//! stands for phase `k`, whose parity is that of `k`.
//!
//! That has side conditions. They are checked for each array of mbarriers in a CTA. A warp that waits by
//! token waits after each of its arrivals, before the next one and at the end, and where its arrivals stand says how
//! many came before. All who arrive there together arrive no more often than is expected, each of them once.
//!
//! If all of them wait so, phase `k` needs everybody's arrival `k`, and nobody makes the next one before phase `k` is
//! complete. So arrival `k` is in phase `k`, whatever the schedule.
//!
//! Otherwise some arrive only, as a producer at `filled` does, and that they do not run ahead is what is to
//! be shown. A warp that waits by token then waits before its arrival `k`, too, until phase `k - 1` is complete. It has waited
//! for that before, so this lets it pass at once as long as everybody is in step, and then the kernel and
//! the text do the same. Suppose that somebody is not in step: phase `k` is complete when a warp `w` is before its arrival `k`, or
//! phase `k + 1` when it is before the wait for phase `k`. From there, each later arrival of `w` is in a later phase than its own, in the
//! kernel as in the text, and to come to its end `w` has to see more phases complete than it arrives in. But others arrive at most
//! once more than `w`, so all arrivals together complete no more phases than `w` arrives in. Hence `w` hangs in
//! both: the kernel hangs exactly if the text does. That others arrive at most once more is seen by
//! comparing their loops with those of `w`.
//!
//! A copy that is started right before such an arrival is written after it, and what is expected before both. A phase in
//! which the warp has yet to arrive is not complete, so nobody can tell whether the bytes landed before the arrival.

use std::collections::BTreeMap;

use super::family::Family;
use super::family::barrier;
use super::family::place;
use super::program::Followed;
use super::program::Program;
use super::program::each;
use super::program::numbered;
use super::program::skeleton;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// Writes waits by token as waits by parity where that is the same.
pub(in crate::ptx) fn count_phases(followed: &mut Followed, families: &[Family], data: bool) {
    for family in families.iter().filter(|f| f.ready) {
        let mut ranks: Vec<u32> = Vec::new();
        for program in &followed.programs {
            each(&program.statements, &mut |s| {
                if let Action::WaitOwn(address) | Action::Drop(address) = &s.action
                    && let Ok(at) = place(address, program.rank, &followed.unknowns, s.at)
                    && family.lies_at(&at)
                    && !ranks.contains(&at.rank)
                {
                    ranks.push(at.rank);
                }
            });
        }
        // Those that are one split-phase barrier stay so.
        let mut programs = followed.programs.iter();
        if ranks.is_empty()
            || programs.all(|p| family.alternates(&p.statements, p.rank, &followed.unknowns))
        {
            continue;
        }
        let mut all = Vec::new();
        for rank in ranks {
            let done = Group { family, rank, data }.counted(followed, &all);
            let Some(done) = done else {
                all.clear();
                break;
            };
            all = done;
        }
        if !all.is_empty() {
            followed.programs = all;
        }
    }
}

/// The mbarriers of an array in one CTA.
pub(super) struct Group<'f> {
    pub(super) family: &'f Family,
    rank: u32,
    /// Whether it is written how memory is ordered.
    pub(super) data: bool,
}

/// What is known of a warp's place among its arrivals.
#[derive(Clone)]
struct Place {
    /// How often it has arrived at each mbarrier, by the offset; none where that is not known.
    counts: Option<BTreeMap<i128, Sum>>,
    /// Where it has arrived and not waited yet, and the parity of that phase.
    open: Option<(Sum, Sum)>,
    /// The last arrival of a warp that does not count any more, and how often it has arrived.
    dropped: Option<(Statement, Sum)>,
}

impl Group<'_> {
    fn counted(&self, followed: &mut Followed, before: &[Program]) -> Option<Vec<Program>> {
        let programs = match before {
            [] => followed.programs.clone(),
            done => done.to_vec(),
        };
        let unknowns = &mut followed.unknowns;
        let mut total = 0;
        let (mut waiting, mut others, mut dropping) = (Vec::new(), Vec::new(), Vec::new());
        for (number, program) in programs.iter().enumerate() {
            let (mut most, mut waits, mut drops) = (0, false, false);
            each(&program.statements, &mut |s| {
                if self.offset(&s.action, program.rank, unknowns).is_some() {
                    waits |= matches!(s.action, Action::WaitOwn(_));
                    drops |= matches!(s.action, Action::Drop(_));
                    most = most.max(arrivals(&s.action));
                }
            });
            total += most * i128::try_from(program.warps.len()).ok()?;
            if drops {
                dropping.push(number);
            } else if waits {
                waiting.push(number);
            } else if most > 0 {
                others.push(number);
            }
        }
        if total > self.family.arrivals * self.family.group {
            return None;
        }
        let alone = others.is_empty();
        if !alone {
            for one in &waiting {
                let mine = self.rounds(programs.get(*one)?, unknowns)?;
                for other in waiting.iter().chain(&others) {
                    let theirs = self.rounds(programs.get(*other)?, unknowns)?;
                    if !self.at_most_once_more(&theirs, &mine) {
                        return None;
                    }
                }
            }
        }
        let rounds = if dropping.is_empty() {
            None
        } else {
            Some(self.all_alike(&programs, &waiting, alone, unknowns)?)
        };
        let mut all = programs;
        for number in waiting.into_iter().chain(dropping) {
            let program = all.get_mut(number)?;
            let mut at = Place {
                counts: Some(
                    self.family
                        .elements
                        .iter()
                        .map(|e| (*e, Sum::of(0)))
                        .collect(),
                ),
                open: None,
                dropped: None,
            };
            let mut statements =
                self.follow(&program.statements, program.rank, &mut at, !alone, unknowns)?;
            if at.open.is_some() {
                return None;
            }
            if let (Some((arrival, count)), Some(rounds)) = (at.dropped, &rounds) {
                let last = statements.pop()?;
                if !matches!(last.action, Action::Drop(_)) {
                    return None;
                }
                statements.push(self.goes_on(&arrival, &count, rounds, unknowns)?);
            }
            *program = Program::of(program.rank, program.warps.clone(), statements);
        }
        Some(all)
    }

    /// Where an action that is about one of these mbarriers finds it.
    fn offset(&self, action: &Action, rank: u32, unknowns: &Unknowns) -> Option<Sum> {
        let found = place(barrier(action)?, rank, unknowns, 0).ok()?;
        let mine = found.rank == self.rank && self.family.holds(barrier(action)?, rank, unknowns);
        mine.then_some(found.offset)
    }

    /// Whether statements are about these mbarriers other than by initialising them.
    fn used(&self, statements: &[Statement], rank: u32, unknowns: &Unknowns) -> bool {
        let mut used = false;
        each(statements, &mut |s| {
            let about = matches!(s.action, Action::WaitOwn(_) | Action::Drop(_));
            used |= (arrivals(&s.action) > 0 || about)
                && self.offset(&s.action, rank, unknowns).is_some();
        });
        used
    }

    /// The statements with the waits by parity.
    fn follow(
        &self,
        statements: &[Statement],
        rank: u32,
        at: &mut Place,
        before: bool,
        unknowns: &mut Unknowns,
    ) -> Option<Vec<Statement>> {
        let mut all = Vec::new();
        for statement in statements {
            if !self.used(std::slice::from_ref(statement), rank, unknowns) {
                all.push(statement.clone());
                continue;
            }
            match &statement.action {
                Action::For(number, times, body) => {
                    let body = self.round(*number, times, body, rank, at, before, unknowns)?;
                    all.push(statement.with(Action::For(*number, times.clone(), body)));
                }
                Action::If(condition, yes, no) => {
                    let mut other = at.clone();
                    let yes = self.follow(yes, rank, at, before, unknowns)?;
                    let no = self.follow(no, rank, &mut other, before, unknowns)?;
                    let dropped = at.dropped.is_some() || other.dropped.is_some();
                    if at.open.is_some() || other.open.is_some() || dropped {
                        return None;
                    }
                    if at.counts != other.counts {
                        at.counts = None;
                    }
                    all.push(statement.with(Action::If(condition.clone(), yes, no)));
                }
                Action::Drop(_) => {
                    let (own, _) = at.open.take()?;
                    let element = self.offset(&statement.action, rank, unknowns)?;
                    let count = at.counts.take()?.remove(&element.as_constant()?)?;
                    let arrival = all.last()?;
                    if at.dropped.is_some() || barrier(&arrival.action) != Some(&own) {
                        return None;
                    }
                    at.dropped = Some((arrival.clone(), count));
                    all.push(statement.clone());
                }
                Action::WaitOwn(address) => {
                    let (own, parity) = at.open.take()?;
                    if own != *address {
                        return None;
                    }
                    all.push(statement.with(Action::Wait(own, parity)));
                }
                // One that lands with earlier copies has the token of where it stands: its phase is not complete before.
                Action::Arrive(address, _)
                | Action::ArriveExpectTx(address, _)
                | Action::Commit(address, _) => {
                    if at.open.is_some() {
                        return None;
                    }
                    let offset = self.offset(&statement.action, rank, unknowns)?;
                    let count = at.counts.as_mut()?.get_mut(&offset.as_constant()?)?;
                    let parity = unknowns.1.modulo(count, &Sum::of(2))?;
                    *count = count.plus_constant(1);
                    let other = unknowns.1.modulo(count, &Sum::of(2))?;
                    self.arrive(statement, address, before.then_some(&other), &mut all);
                    at.open = Some((address.clone(), parity));
                }
                _ => return None,
            }
        }
        Some(all)
    }

    /// The body of a loop.
    #[expect(clippy::too_many_arguments)]
    fn round(
        &self,
        number: Unknown,
        times: &Sum,
        body: &[Statement],
        rank: u32,
        at: &mut Place,
        before: bool,
        unknowns: &mut Unknowns,
    ) -> Option<Vec<Statement>> {
        if at.open.is_some() {
            return None;
        }
        let known = at.counts.clone()?;
        if let Some(ring) = self.ring(number, body, rank, unknowns) {
            // One arrival in each round: those before at this mbarrier are those of earlier turns.
            let mut counts = known.values();
            let first = counts.next()?;
            if counts.any(|count| count != first) {
                return None;
            }
            let size = i128::try_from(self.family.elements.len()).ok()?;
            let turns = unknowns.1.quotient(&Sum::unknown(number), &Sum::of(size))?;
            let parity = unknowns.1.modulo(&first.plus(&turns), &Sum::of(2))?;
            at.counts = None;
            let next = first.plus(&turns).plus_constant(1);
            let other = unknowns.1.modulo(&next, &Sum::of(2))?;
            let parities = (&parity, before.then_some(&other));
            return Some(self.turn(body, rank, &ring, parities, unknowns));
        }
        let mut once = Place {
            counts: Some(known.keys().map(|e| (*e, Sum::of(0))).collect()),
            open: None,
            dropped: None,
        };
        self.follow(body, rank, &mut once, before, unknowns)?;
        if once.dropped.is_some() {
            return None;
        }
        let each = once.counts?;
        let inner = |u: Unknown| matches!(unknowns.meaning(u), Some(Meaning::Iteration(_)));
        if once.open.is_some() || each.values().any(|count| count.mentions(&inner)) {
            return None;
        }
        let after = |rounds: &Sum| -> BTreeMap<i128, Sum> {
            let counts = known.iter().zip(each.values());
            counts
                .map(|((e, begun), more)| (*e, begun.plus(&rounds.times(more))))
                .collect()
        };
        let mut inside = Place {
            counts: Some(after(&Sum::unknown(number))),
            open: None,
            dropped: None,
        };
        let body = self.follow(body, rank, &mut inside, before, unknowns)?;
        let none = Condition::Negative(times.clone());
        at.counts = Some(after(&unknowns.1.choice(&none, &Sum::of(0), times)));
        Some(body)
    }

    /// The address of one arrival and one wait in each round, where it goes through all mbarriers in turn.
    fn ring(
        &self,
        number: Unknown,
        body: &[Statement],
        rank: u32,
        unknowns: &mut Unknowns,
    ) -> Option<Sum> {
        let mut used = body
            .iter()
            .filter(|s| self.used(std::slice::from_ref(s), rank, unknowns));
        let (Some(arrival), Some(wait), None) = (used.next(), used.next(), used.next()) else {
            return None;
        };
        let (Action::Arrive(address, _)
        | Action::ArriveExpectTx(address, _)
        | Action::Commit(address, _)) = &arrival.action
        else {
            return None;
        };
        if wait.action != Action::WaitOwn(address.clone()) {
            return None;
        }
        let offset = self.offset(&arrival.action, rank, unknowns)?;
        let turn = unknowns.fresh(Meaning::Iteration(0));
        let most = unknowns.1.range(&Sum::unknown(number)).1;
        let size = i128::try_from(self.family.elements.len()).ok()?;
        let facts: &mut Facts = &mut unknowns.1;
        facts.bound(turn, 0, most / size);
        let mut met = Vec::new();
        for place in 0..size {
            let round = Sum::unknown(turn).scaled(size).plus_constant(place);
            let with = |u: Unknown| (u == number).then(|| round.clone());
            met.push(facts.replaced(&offset, &with).as_constant()?);
        }
        met.sort_unstable();
        (met == self.family.elements && size > 1).then(|| address.clone())
    }

    /// One round of a loop through a ring.
    fn turn(
        &self,
        body: &[Statement],
        rank: u32,
        ring: &Sum,
        (parity, other): (&Sum, Option<&Sum>),
        unknowns: &Unknowns,
    ) -> Vec<Statement> {
        let mut all = Vec::new();
        for statement in body {
            if !self.used(std::slice::from_ref(statement), rank, unknowns) {
                all.push(statement.clone());
            } else if matches!(statement.action, Action::WaitOwn(_)) {
                all.push(statement.with(Action::Wait(ring.clone(), parity.clone())));
            } else {
                self.arrive(statement, ring, other, &mut all);
            }
        }
        all
    }

    /// An arrival, after what is expected in its phase and before copies that are started for it. Where others may
    /// run ahead, the phase before is waited for first: it has the other parity.
    fn arrive(
        &self,
        statement: &Statement,
        address: &Sum,
        other: Option<&Sum>,
        all: &mut Vec<Statement>,
    ) {
        let goes = |s: &Statement| match &s.action {
            Action::Copy(at, ..) | Action::ExpectTx(at, _) => at == address,
            _ => false,
        };
        let first = all
            .iter()
            .rposition(|s| !goes(s))
            .map_or(0, |last| last + 1);
        let (copies, expected): (Vec<_>, Vec<_>) = all
            .drain(first..)
            .partition(|s| matches!(s.action, Action::Copy(..)));
        if let Some(other) = other {
            all.push(Statement {
                action: Action::Wait(address.clone(), other.clone()),
                // It orders nothing that the wait before it does not.
                memory: if self.data { ".relaxed.cta" } else { "" },
                ..statement.clone()
            });
        }
        all.extend(expected);
        all.push(statement.clone());
        all.extend(copies);
    }

    /// The arrivals of a program, in their loops, however many threads make them. None where a condition decides.
    pub(super) fn rounds(&self, program: &Program, unknowns: &Unknowns) -> Option<Vec<Statement>> {
        let keep = |a: &Action| arrivals(a) > 0 && self.offset(a, program.rank, unknowns).is_some();
        let kept = skeleton(&program.statements, &keep);
        let mut conditions = false;
        each(&kept, &mut |s| {
            conditions |= matches!(s.action, Action::If(..))
        });
        if conditions {
            return None;
        }
        self.plain(&kept, program.rank, unknowns)
            .map(|all| all.into_iter().flat_map(|s| numbered(&[s])).collect())
    }

    /// Arrivals of one thread, in the CTA of the mbarriers.
    fn plain(
        &self,
        statements: &[Statement],
        rank: u32,
        unknowns: &Unknowns,
    ) -> Option<Vec<Statement>> {
        let mut all = Vec::new();
        for statement in statements {
            let action = match &statement.action {
                Action::For(number, times, body) => {
                    Action::For(*number, times.clone(), self.plain(body, rank, unknowns)?)
                }
                action => Action::Arrive(self.offset(action, rank, unknowns)?, 1),
            };
            all.push(Statement {
                action,
                at: 0,
                location: None,
                memory: "",
            });
        }
        Some(all)
    }

    /// Whether one program arrives at each mbarrier at most once more than another: both have the same loops, and what
    /// is left are single arrivals.
    fn at_most_once_more(&self, one: &[Statement], other: &[Statement]) -> bool {
        let mut rest = other.to_vec();
        let mut more: BTreeMap<i128, i128> = BTreeMap::new();
        for statement in one {
            if let Some(same) = rest.iter().position(|s| s == statement) {
                rest.remove(same);
                continue;
            }
            let Action::Arrive(offset, _) = &statement.action else {
                return false;
            };
            let Some(element) = offset.as_constant() else {
                return false;
            };
            *more.entry(element).or_default() += 1;
        }
        more.values().all(|count| *count <= 1)
    }
}

/// How many arrivals an action makes at an mbarrier.
fn arrivals(action: &Action) -> i128 {
    match action {
        Action::Arrive(_, n) | Action::Commit(_, n) => *n,
        Action::ArriveExpectTx(..) => 1,
        _ => 0,
    }
}
