//! The transition system of groups that share barriers.
//!
//! **State.** `base`, a round that nobody is behind; for each group, location and
//! lag, how many members are there (a member at lag `l` is in round `base + l`); for each element
//! at distance `j` from the base its phases completed, `ahead`, counted from `(base + j) div size`,
//! and the arrivals of its open phase. Nothing in it grows with the number of rounds but `base`.
//!
//! **Locations.** The operations before the loop (at round 0, lag 0), those of a round, and after
//! the loop all operations but the first, and the end. The first location of a round doubles as the
//! first one after the loop: a member there whose round is the number of rounds has left the loop,
//! and has finished if nothing follows.
//!
//! **Steps.** A member does its operation, or passes one whose condition does not hold. A member
//! that has nothing to do in a round, having no loop, goes from lag 0 to lag 1. When nobody else is
//! at lag 0, the base moves up by one before anything else: members lose one lag, and the elements
//! rotate by one place, the first coming back as the last with one completed phase less to its
//! credit. (An element that is used only before and after the loop stays as it is, and its phases
//! are counted from 0.)
//!
//! **Semaphores** are single elements; `ahead` is the value less the initial one and less what all
//! members together add in each round below the base. An awaited value grows by that much per round.

use super::fold;
use super::fold::Known;
use super::shape::Family;
use super::shape::Group;
use super::shape::Op;
use super::shape::OpKind;
use super::shape::Periodic;
use super::walk;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;

/// How far the completed phases of an element may be from what the base suggests.
pub const SPAN: std::ops::RangeInclusive<i64> = -2..=3;

/// A state, as terms.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The base.
    pub base: Term,
    /// Per group, location and lag.
    pub counts: Vec<Vec<Vec<Term>>>,
    /// Per family and distance.
    pub ahead: Vec<Vec<Term>>,
    /// Per family and distance.
    pub pending: Vec<Vec<Term>>,
}

impl State {
    /// All components in a fixed order.
    pub fn all(&self) -> impl Iterator<Item = &Term> {
        let counts = self.counts.iter().flatten().flatten();
        std::iter::once(&self.base)
            .chain(counts)
            .chain(self.ahead.iter().flatten())
            .chain(self.pending.iter().flatten())
    }

    /// That two states are the same.
    pub fn equals(&self, other: &State) -> Term {
        term::and(self.all().zip(other.all()).map(|(a, b)| term::eq(a, b)))
    }
}

/// How many locations and elements there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The largest lag.
    pub window: usize,
    /// Per group: operations before, in and after the loop.
    pub groups: Vec<[usize; 3]>,
    /// Per family: its size.
    pub families: Vec<usize>,
}

impl Layout {
    /// How many locations a group has.
    pub fn locations(&self, group: usize) -> usize {
        let [before, round, after] = self.groups[group];
        before + round.max(1) + after
    }

    /// Where a round begins.
    pub fn head(&self, group: usize) -> usize {
        self.groups[group][0]
    }

    /// The largest lag at a location: before the loop everybody is at round 0.
    pub fn lags(&self, group: usize, location: usize) -> usize {
        if location < self.head(group) {
            0
        } else {
            self.window
        }
    }
}

/// Which rounds below the base are looked at for arrivals that were passed; of all others it is
/// taken that none was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// This many of the first rounds.
    pub early: usize,
    /// This many times each element was last due.
    pub recent: usize,
}

/// Where a step starts.
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
    /// When it can be done.
    pub guard: Term,
    /// What follows; `Err`: it must never be possible, and why.
    pub next: Result<State, &'static str>,
}

/// An operation that members at a location and lag may do.
struct Spot<'g> {
    op: &'g Op,
    /// The round, as far as conditions are concerned.
    round: Term,
    before: bool,
    guard: Term,
    location: usize,
    lag: usize,
}

/// Groups that share barriers, at fixed values of some parameters and with a window.
pub struct System<'p> {
    /// The protocol's expressions as terms.
    pub terms: Translator<'p>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The barriers; operations refer to them by position.
    pub families: Vec<Family>,
    /// The numbers of locations and elements.
    pub layout: Layout,
    /// What the parameters satisfy.
    pub facts: Vec<Term>,
    /// How many rounds there are.
    pub rounds: Term,
    sizes: Vec<Term>,
    resources: Vec<Resource>,
}

/// What the elements of a family are.
enum Resource {
    Mbarrier {
        /// Arrivals that complete a phase.
        expected: Term,
    },
    Semaphore {
        /// The value at the start.
        initial: Term,
        /// What all members together add in a round; `ahead` is the value less the initial one and
        /// less this much for each round below the base.
        growth: Term,
    },
}

impl<'p> System<'p> {
    /// Builds the system of some groups.
    ///
    /// # Errors
    ///
    /// Refuses groups that do not go through the same rounds, and elements that are not mbarriers.
    pub fn new(
        protocol: &'p Protocol,
        fixed: &[(ParamId, i64)],
        groups: Vec<Group>,
        families: Vec<Family>,
        window: usize,
    ) -> Result<System<'p>, Unsupported> {
        let mut terms = Translator::new(protocol, fixed);
        let mut facts = terms.domain();
        for assumption in &protocol.assumptions {
            facts.push(terms.expr(&assumption.condition, &Env::new())?);
        }
        let mut sizes = Vec::new();
        for group in &groups {
            sizes.push(terms.expr(&group.part.size, &Env::new())?);
        }
        let mut resources = Vec::new();
        for (nth, family) in families.iter().enumerate() {
            resources.push(resource(protocol, &mut terms, &groups, nth, family)?);
        }
        let looping = groups.iter().find(|g| !g.round.is_empty());
        let rounds = match looping.and_then(|g| g.program.rounds.as_ref()) {
            Some(rounds) => terms.expr(&walk::length(rounds), &Env::new())?,
            None => term::int(0),
        };
        for group in &groups {
            if group.round.is_empty() && !group.after.is_empty() {
                return Err(Unsupported::at(
                    group.after[0].span,
                    "operations after a loop that has none",
                ));
            }
        }
        let layout = Layout {
            window,
            groups: groups
                .iter()
                .map(|g| [g.before.len(), g.round.len(), g.after.len()])
                .collect(),
            families: families.iter().map(|f| f.size as usize).collect(),
        };
        Ok(System {
            terms,
            groups,
            families,
            layout,
            facts,
            rounds,
            sizes,
            resources,
        })
    }

    /// That an element has gone on by at least this many phases, or by the additions of this many
    /// rounds, more than the base suggests.
    pub fn at_least(&self, family: usize, ahead: &Term, value: i64) -> Term {
        let value = term::int(value);
        match self.resources.get(family) {
            Some(Resource::Semaphore { growth, .. }) if *growth != term::int(0) => {
                term::le(&term::apply("*", &[value, growth.clone()]), ahead)
            }
            _ => term::le(&value, ahead),
        }
    }

    /// Whether a family's elements are semaphores.
    pub fn is_semaphore(&self, family: usize) -> bool {
        matches!(self.resources.get(family), Some(Resource::Semaphore { .. }))
    }

    /// The families at which a round has arrivals under a condition.
    pub fn conditional(&self) -> Vec<usize> {
        let ops = self.groups.iter().flat_map(|group| &group.round);
        let conditional = |op: &&Op| !op.given.is_empty() && matches!(op.kind, OpKind::Arrive(_));
        ops.filter(conditional).map(|op| op.family).collect()
    }

    /// The name of each component of a state.
    pub fn state(&mut self, suffix: &str) -> State {
        let layout = self.layout.clone();
        let mut constant = |name: String| self.terms.constant(&format!("{name}{suffix}"));
        let base = constant("base".to_owned());
        let mut counts = Vec::new();
        for group in 0..layout.groups.len() {
            let mut locations = Vec::new();
            for location in 0..layout.locations(group) {
                let lags = 0..=layout.lags(group, location);
                let lags = lags.map(|lag| constant(format!("at_{group}_{location}_{lag}")));
                locations.push(lags.collect());
            }
            counts.push(locations);
        }
        let mut per_element = |name: &str| -> Vec<Vec<Term>> {
            let families = layout.families.iter().enumerate();
            families
                .map(|(family, size)| {
                    (0..*size)
                        .map(|j| constant(format!("{name}_{family}_{j}")))
                        .collect()
                })
                .collect()
        };
        let ahead = per_element("ahead");
        let pending = per_element("pending");
        State {
            base,
            counts,
            ahead,
            pending,
        }
    }

    /// The first state.
    pub fn start(&self) -> State {
        let zero = || term::int(0);
        let layout = &self.layout;
        let mut counts: Vec<Vec<Vec<Term>>> = (0..layout.groups.len())
            .map(|group| {
                let lags = |location| vec![zero(); layout.lags(group, location) + 1];
                (0..layout.locations(group)).map(lags).collect()
            })
            .collect();
        for (locations, size) in counts.iter_mut().zip(&self.sizes) {
            locations[0][0] = size.clone();
        }
        let elements: Vec<Vec<Term>> = layout.families.iter().map(|n| vec![zero(); *n]).collect();
        State {
            base: zero(),
            counts,
            ahead: elements.clone(),
            pending: elements,
        }
    }

    /// What a state is at all: members are somewhere in their program, and a phase is not complete.
    pub fn well_formed(&self, state: &State) -> Vec<Term> {
        let zero = term::int(0);
        let mut facts = vec![
            term::le(&zero, &state.base),
            term::le(&state.base, &self.rounds),
        ];
        for (group, locations) in state.counts.iter().enumerate() {
            let head = self.layout.head(group);
            let [_, round, _] = self.layout.groups[group];
            for (location, lags) in locations.iter().enumerate() {
                for (lag, count) in lags.iter().enumerate() {
                    facts.push(term::le(&zero, count));
                    let at = later(&state.base, lag);
                    let place = if location < head {
                        term::eq(&state.base, &zero)
                    } else if location == head {
                        term::le(&at, &self.rounds)
                    } else if location < head + round.max(1) {
                        term::lt(&at, &self.rounds)
                    } else {
                        term::eq(&at, &self.rounds)
                    };
                    facts.push(term::or([term::le(count, &zero), place]));
                }
            }
            let total = term::sum(locations.iter().flatten().cloned());
            facts.push(term::eq(&total, &self.sizes[group]));
        }
        for (resource, pending) in self.resources.iter().zip(&state.pending) {
            for value in pending {
                facts.push(match resource {
                    Resource::Mbarrier { expected } => term::within(&zero, value, expected),
                    Resource::Semaphore { .. } => term::eq(value, &zero),
                });
            }
        }
        facts
    }

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
                let offset = op.offset - origin;
                let mut rounds = Vec::new();
                for early in 0..passed.early as i64 {
                    let round = term::int(early);
                    let reached = term::lt(&round, &state.base);
                    let place = term::sum([state.base.clone(), term::int(distance as i64)]);
                    let place = term::apply("mod", &[place, term::int(size)]);
                    let own = term::int((early + offset).rem_euclid(size));
                    rounds.push((term::and([reached, term::eq(&place, &own)]), round));
                }
                for nth in 1..=passed.recent as i64 {
                    let latest = (distance as i64 - offset).rem_euclid(size);
                    let back = term::int(latest - size * nth);
                    let round = term::sum([state.base.clone(), back]);
                    let below = term::le(&term::int(passed.early as i64), &round);
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
        let here = |op: &Op, lag: i64| {
            op.family == family && (lag + op.offset - origin).rem_euclid(size) == distance as i64
        };
        let mut all = Vec::new();
        let mut add = |system: &mut Self, op: &Op, lag: i64, at: &Term, is_before: bool| {
            let (OpKind::Arrive(amount) | OpKind::Add(amount)) = &op.kind else {
                return Ok(());
            };
            if here(op, lag) {
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
        if location < before {
            return Ok(all);
        }
        for (nth, op) in members.round.iter().enumerate() {
            for past in 0..lag {
                add(self, op, past as i64, &later(&state.base, past), false)?;
            }
            let body = location < before + round.max(1);
            if body && nth < location - before {
                add(self, op, lag as i64, &later(&state.base, lag), false)?;
            }
        }
        for (nth, op) in members.after.iter().enumerate() {
            if location >= before + round.max(1) && nth <= location - before - round.max(1) {
                add(self, op, lag as i64, &later(&state.base, lag), false)?;
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

    /// The environment of a round.
    pub fn environment(&self, group: usize, round: &Term) -> Env {
        let mut env = Env::new();
        let group = &self.groups[group];
        if let Some(rounds) = &group.program.rounds {
            let value = term::sum([term::int(rounds.lo), round.clone()]);
            env.insert(rounds.var, value);
            for (var, form) in &group.carried {
                env.insert(*var, periodic(form, round));
            }
        }
        env
    }

    /// When an operation is executed in a round.
    fn condition(
        &mut self,
        group: usize,
        op: &Op,
        round: &Term,
        before: bool,
    ) -> Result<Term, Unsupported> {
        let env = if before {
            Env::new()
        } else {
            self.environment(group, round)
        };
        let parts = op.given.iter().map(|part| self.terms.expr(part, &env));
        Ok(term::and(parts.collect::<Result<Vec<_>, _>>()?))
    }

    fn spots<'g>(
        &self,
        members: &'g Group,
        group: usize,
        location: usize,
        lag: usize,
        state: &State,
    ) -> Vec<Spot<'g>> {
        let [before, round, after] = self.layout.groups[group];
        let past_loop = before + round.max(1);
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
                location: location + 1,
                lag,
            });
            return spots;
        }
        if location < before + round {
            let last = location + 1 == before + round;
            let target = if last {
                (before, lag + 1)
            } else {
                (location + 1, lag)
            };
            let guard = term::lt(&at, &self.rounds);
            spot(&members.round[location - before], guard, target.0, target.1);
        }
        if location == before && after > 0 {
            let guard = term::eq(&at, &self.rounds);
            spot(&members.after[0], guard, past_loop, lag);
        }
        if location >= past_loop && location + 1 < past_loop + after {
            let op = &members.after[location - past_loop + 1];
            spot(op, term::boolean(true), location + 1, lag);
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

    /// How many members are at lag 0, but for those that have nothing to do in a round.
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

    /// Members that have nothing to do in a round go along with the base.
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
        let (family, distance) = self.element(op, lag);
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
                let passes = self.passes(state, op, table, lag, spot.before);
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
                // An open phase of one arrival has none yet.
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

    /// The family and distance from the base of what an operation works on.
    fn element(&self, op: &Op, lag: usize) -> (usize, usize) {
        let family = &self.families[op.family];
        let distance = (lag as i64 + op.offset - family.origin).rem_euclid(family.size);
        (op.family, distance as usize)
    }

    /// When a wait passes: the completed phases and the awaited parity differ by an odd number.
    fn passes(&self, state: &State, op: &Op, table: &[i64], lag: usize, before: bool) -> Term {
        let (family, distance) = self.element(op, lag);
        let Family { size, turning, .. } = self.families[family];
        // Added to the phases ahead, whether it is odd that counts; a function of the base.
        let offset = |base: i64| {
            let awaited = table[(base + lag as i64).rem_euclid(table.len() as i64) as usize];
            let phases = (base + distance as i64).div_euclid(size);
            (if turning { phases } else { 0 } + awaited).rem_euclid(2)
        };
        let period = if before {
            1
        } else {
            lcm(2 * size, table.len() as i64)
        };
        let ahead = &state.ahead[family][distance];
        let odd: Vec<i64> = (0..period).filter(|base| offset(*base) == 1).collect();
        let two = term::int(2);
        let rest = |value: &Term| term::apply("mod", &[value.clone(), two.clone()]);
        if odd.is_empty() {
            return term::eq(&rest(ahead), &term::int(1));
        }
        if odd.len() as i64 == period {
            return term::eq(&rest(ahead), &term::int(0));
        }
        let phase = term::apply("mod", &[state.base.clone(), term::int(period)]);
        let is_odd = term::or(odd.into_iter().map(|b| term::eq(&phase, &term::int(b))));
        let extra = term::ite(&is_odd, &term::int(1), &term::int(0));
        term::eq(&rest(&term::sum([ahead.clone(), extra])), &term::int(1))
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

    /// That some member has not finished.
    pub fn unfinished(&self, state: &State) -> Term {
        let mut some = Vec::new();
        for (group, locations) in state.counts.iter().enumerate() {
            let [_, _, after] = self.layout.groups[group];
            let head = self.layout.head(group);
            let end = self.layout.locations(group) - 1;
            for (location, lags) in locations.iter().enumerate() {
                for (lag, count) in lags.iter().enumerate() {
                    let present = term::le(&term::int(1), count);
                    if after > 0 && location == end {
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

/// What all members together add to a semaphore in a round.
///
/// # Errors
///
/// An amount that has no term.
pub fn growth(
    terms: &mut Translator<'_>,
    groups: &[Group],
    family: usize,
) -> Result<Term, Unsupported> {
    let mut added = Vec::new();
    for group in groups {
        for op in group.round.iter().filter(|op| op.family == family) {
            if let OpKind::Add(amount) = &op.kind {
                let amount = terms.expr(amount, &Env::new())?;
                let size = terms.expr(&group.part.size, &Env::new())?;
                added.push(if amount == term::int(1) {
                    size
                } else if size == term::int(1) {
                    amount
                } else {
                    term::apply("*", &[amount, size])
                });
            }
        }
    }
    Ok(term::sum(added))
}

fn resource(
    protocol: &Protocol,
    terms: &mut Translator<'_>,
    groups: &[Group],
    nth: usize,
    family: &Family,
) -> Result<Resource, Unsupported> {
    let object = &protocol.objects[family.object.0];
    let known = Known {
        params: groups
            .first()
            .map(|group| group.part.known.params.clone())
            .unwrap_or_default(),
        ..Known::default()
    };
    match &object.kind {
        ObjectKind::Mbarrier {
            explicit_init: true,
            ..
        } => Err(Unsupported::at(object.span, "an explicit initialisation")),
        ObjectKind::Mbarrier { arrivals, .. } => Ok(Resource::Mbarrier {
            expected: terms.expr(&fold::fold(arrivals, &known), &Env::new())?,
        }),
        ObjectKind::Semaphore(Initial::Value(value)) if family.size == 1 => {
            Ok(Resource::Semaphore {
                initial: terms.expr(&fold::fold(value, &known), &Env::new())?,
                growth: growth(terms, groups, nth)?,
            })
        }
        ObjectKind::Semaphore(Initial::Value(_)) => Err(Unsupported::at(
            object.span,
            "semaphores that are used as a ring",
        )),
        ObjectKind::Semaphore(Initial::Any) => Err(Unsupported::at(
            object.span,
            "a semaphore with an unknown initial value",
        )),
        ObjectKind::Named => Err(Unsupported::at(object.span, "a named barrier")),
        ObjectKind::Barrier { .. } => Err(Unsupported::at(object.span, "a split-phase barrier")),
        ObjectKind::Pool { .. } => Err(Unsupported::at(object.span, "a pool")),
    }
}

/// The value of a periodic function.
pub fn periodic(form: &Periodic, round: &Term) -> Term {
    let period = form.table.len() as i64;
    let position = term::apply("mod", &[round.clone(), term::int(period)]);
    let mut value = term::int(form.table[form.table.len() - 1]);
    for (at, entry) in form.table.iter().enumerate().rev().skip(1) {
        let here = term::eq(&position, &term::int(at as i64));
        value = term::ite(&here, &term::int(*entry), &value);
    }
    if form.growth == 0 {
        return value;
    }
    let periods = term::apply("div", &[round.clone(), term::int(period)]);
    let grown = term::apply("*", &[term::int(form.growth), periods]);
    term::sum([value, grown])
}

fn later(base: &Term, lag: usize) -> Term {
    term::sum([base.clone(), term::int(lag as i64)])
}

fn lcm(a: i64, b: i64) -> i64 {
    let mut x = a;
    let mut y = b;
    while y != 0 {
        (x, y) = (y, x.rem_euclid(y));
    }
    a / x * b
}
