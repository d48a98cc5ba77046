//! Runs in which somebody is held, at one instance, for properties beside deadlock.
//!
//! Where nothing is ever reset, more progress of one member only lets the others do more. So
//! what can happen before an operation can happen while its member is held before it and
//! everybody else runs as far as possible. Every member is held in turn before each of its
//! operations, and each of its landings is held back; then all are let go. Operations that take
//! part in other generations than in the runs before, waits that are lapped and undefined
//! operations show on the way. Two accesses race where neither is kept from happening by holding
//! the other, and then the run in which both are held leads to a state in which both are next.
//!
//! Where something is reset, and where generations differ already or waits are lapped, this is a
//! search like any other: finding nothing means nothing.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::hazards::Monitor;
use crate::semantics::hazards::Participation;
use crate::semantics::hazards::Races;
use crate::semantics::hazards::judge;
use crate::semantics::hazards::participation;
use crate::semantics::hazards::search::Runs;
use crate::semantics::hazards::search::swapped;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;
use crate::semantics::symmetry::Symmetry;
use crate::verdict::Property;

use super::schedules::Watch;
use super::schedules::spread;

/// How many random runs there are.
const RANDOM_RUNS: u64 = 8;

/// How often the clock is looked at, in actions.
const CLOCK_INTERVAL: u64 = 1 << 8;

/// Runs the schedules until one shows a violation of the property, `data` being wanted for
/// races. `work` bounds how much is looked at, so the result does not depend on the machine
/// unless `watch` ends it.
pub fn run(
    instance: &Instance,
    data: Option<&Data>,
    property: Property,
    work: u64,
    watch: &Watch<'_>,
) -> Option<Runs> {
    let data = data.filter(|_| property == Property::Race);
    let mut tries = Tries {
        instance,
        data,
        property,
        groups: Symmetry::with_data(instance, data).group_of(instance.members.len()),
        monitor: Monitor::new(instance, property),
        races: data.map(|data| Races::new(instance, data)),
        cost: instance.members.len() as u64
            + 1
            + data.map_or(0, |d| d.accesses.iter().map(Vec::len).sum::<usize>() as u64),
        work,
        watch,
        seen: FxHashMap::default(),
        runs: Vec::new(),
        found: None,
    };
    tries.all();
    tries.found
}

/// Something that is kept from happening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stop {
    /// This member does not do this operation.
    Before(usize, u32),
    /// What this operation of this member put in flight does not land.
    Landing(usize, u32),
}

impl Stop {
    fn member(self) -> usize {
        match self {
            Stop::Before(member, _) | Stop::Landing(member, _) => member,
        }
    }
}

/// Who goes next, of those who can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The first member runs until it blocks, then the next.
    Ascending,
    /// The last one first.
    Descending,
    /// Everybody one action in turn.
    Turns,
    /// Anybody, by this seed.
    Random(u64),
}

/// A way to run.
#[derive(Debug, Clone, Copy)]
struct Plan<'a> {
    /// What is stopped until nothing else can happen, one stage after the other.
    stages: &'a [&'a [Stop]],
    order: Order,
    /// Whether what is in flight lands as soon as it can, or only when nothing else can happen.
    lands_early: bool,
    /// Whether those held go whenever they can until they are.
    eager: bool,
}

/// How somebody was first seen to take part.
#[derive(Debug, Clone, Copy)]
struct Seen {
    count: u32,
    member: usize,
    /// In which run, after how many of its actions, by which action.
    run: usize,
    length: usize,
    action: Action,
}

struct Tries<'a> {
    instance: &'a Instance,
    data: Option<&'a Data>,
    property: Property,
    /// Per member the first one it is interchangeable with.
    groups: Vec<usize>,
    monitor: Monitor<'a>,
    races: Option<Races<'a>>,
    /// What it costs to look at one state.
    cost: u64,
    work: u64,
    watch: &'a Watch<'a>,
    /// Per group and operation the first participation, and the runs these are in.
    seen: FxHashMap<(usize, u32), Seen>,
    runs: Vec<Vec<Action>>,
    found: Option<Runs>,
}

impl Tries<'_> {
    fn over(&self) -> bool {
        self.found.is_some() || self.work < self.cost || self.watch.over()
    }

    fn all(&mut self) {
        for order in [Order::Turns, Order::Ascending, Order::Descending] {
            for lands_early in [true, false] {
                self.plain(order, lands_early);
            }
        }
        for seed in 0..2 {
            self.plain(Order::Random(seed), false);
        }
        if self.races.is_some() {
            self.races();
        } else {
            for stop in spread(self.holds()) {
                let ways = [
                    (Order::Ascending, true, true),
                    (Order::Descending, false, false),
                    (Order::Descending, false, true),
                    (Order::Turns, true, false),
                ];
                for (order, lands_early, eager) in ways {
                    self.one(Plan {
                        stages: &[&[stop], &[]],
                        order,
                        lands_early,
                        eager,
                    });
                }
                if self.over() {
                    break;
                }
            }
            self.waits();
        }
        for seed in 2..RANDOM_RUNS {
            self.plain(Order::Random(seed), seed % 2 == 0);
        }
    }

    fn plain(&mut self, order: Order, lands_early: bool) {
        self.one(Plan {
            stages: &[&[]],
            order,
            lands_early,
            eager: false,
        });
    }

    /// Where somebody is held: one member of each group of interchangeable ones, before each
    /// operation, and what it puts in flight.
    fn holds(&self) -> Vec<Stop> {
        let members = self.instance.members.iter().enumerate();
        let first = members.filter(|(member, _)| self.groups[*member] == *member);
        let holds = first.flat_map(|(member, layout)| {
            layout.ops.iter().enumerate().flat_map(move |(at, op)| {
                let flies = matches!(op.kind, OpKind::Copy(_) | OpKind::Commit);
                let landing = flies.then_some(Stop::Landing(member, at as u32));
                [Stop::Before(member, at as u32)].into_iter().chain(landing)
            })
        });
        holds.collect()
    }

    /// Holds every wait by parity together with each arrival at its barrier: the wait is come to
    /// before the arrival, which then happens while the wait is held.
    fn waits(&mut self) {
        if !matches!(self.property, Property::EarlyPass | Property::LappedWait) {
            return;
        }
        let holds = self.holds();
        let op = |stop: &Stop| {
            let (Stop::Before(member, at) | Stop::Landing(member, at)) = *stop;
            self.instance.members[member].ops[at as usize]
        };
        let is_wait = |stop: &&Stop| matches!(op(stop).kind, OpKind::WaitParity(_));
        let (waits, others): (Vec<&Stop>, Vec<&Stop>) = holds.iter().partition(is_wait);
        let mut pairs = Vec::new();
        for wait in waits {
            let same = |other: &&&Stop| op(other).cell == op(wait).cell;
            pairs.extend(others.iter().filter(same).map(|other| [*wait, **other]));
        }
        for [wait, other] in spread(pairs) {
            if self.over() {
                return;
            }
            self.one(Plan {
                stages: &[&[wait, other], &[wait], &[]],
                order: Order::Ascending,
                lands_early: true,
                eager: true,
            });
        }
    }

    /// Holds every contested access, and every pair on one slot where neither keeps the other
    /// from happening.
    fn races(&mut self) {
        let Some(data) = self.data else {
            return;
        };
        let mut slots: FxHashMap<u32, Vec<(usize, Access)>> = FxHashMap::default();
        for (member, accesses) in data.accesses.iter().enumerate() {
            for access in accesses {
                let contested = |races: &Races<'_>| races.is_contested(access.slot);
                if self.races.as_ref().is_some_and(contested) {
                    slots
                        .entry(access.slot)
                        .or_default()
                        .push((member, *access));
                }
            }
        }
        let mut slots: Vec<(u32, Vec<(usize, Access)>)> = slots.into_iter().collect();
        slots.sort_unstable_by_key(|(slot, _)| *slot);
        let mut reached: FxHashMap<Stop, State> = FxHashMap::default();
        for (member, access) in slots.iter().flat_map(|(_, all)| all) {
            for stop in stops(*member, access) {
                if self.over() {
                    return;
                }
                if !reached.contains_key(&stop)
                    && let Some(state) = self.one(Plan {
                        stages: &[&[stop]],
                        order: Order::Ascending,
                        lands_early: true,
                        eager: true,
                    })
                {
                    reached.insert(stop, state);
                }
            }
        }
        let mut done: FxHashSet<[Stop; 2]> = FxHashSet::default();
        for (_, accesses) in &slots {
            for (place, (one, first)) in accesses.iter().enumerate() {
                for (other, second) in &accesses[place + 1..] {
                    if !first.write && !second.write || one == other && first.work.is_none() {
                        continue;
                    }
                    for pair in pairs((*one, first), (*other, second)) {
                        let meets = |held: usize, free: usize| {
                            let state = reached.get(&pair[held]);
                            state.is_some_and(|state| comes_to(state, pair[free]))
                        };
                        if meets(0, 1) && meets(1, 0) && done.insert(pair) {
                            self.one(Plan {
                                stages: &[&pair],
                                order: Order::Ascending,
                                lands_early: true,
                                eager: true,
                            });
                        }
                        if self.over() {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// One run; the state in which nothing else than what is stopped can happen, or the last
    /// one. Ends where a violation is found.
    fn one(&mut self, plan: Plan<'_>) -> Option<State> {
        if self.over() {
            return None;
        }
        let mut run = Run {
            state: step::initial_with_history(self.instance),
            trace: Vec::new(),
            stops: &[],
            refused: Vec::new(),
            new: false,
        };
        if self.shows(&run.state) {
            self.found(&run);
            return None;
        }
        let ended = plan.stages.iter().all(|stops| {
            run.stops = stops;
            self.drive(&mut run, &plan)
        });
        if run.new {
            self.runs.push(run.trace);
        }
        ended.then_some(run.state)
    }

    /// Runs until nothing that is not stopped can happen; false where it ended before.
    fn drive(&mut self, run: &mut Run<'_>, plan: &Plan<'_>) -> bool {
        let members = self.instance.members.len();
        let mut rng = ChaCha8Rng::seed_from_u64(match plan.order {
            Order::Random(seed) => seed,
            _ => 0,
        });
        let mut looked = 0;
        if !self.hurry(run, plan) {
            return false;
        }
        loop {
            let mut moved = false;
            for position in 0..members + self.instance.roles.len() {
                looked += 1;
                if looked % CLOCK_INTERVAL == 0 && self.watch.over() {
                    return false;
                }
                let position = match plan.order {
                    Order::Ascending | Order::Turns => position,
                    Order::Descending => members + self.instance.roles.len() - 1 - position,
                    Order::Random(_) => {
                        let count = (members + self.instance.roles.len()).max(1) as u64;
                        rng.random_range(0..count) as usize
                    }
                };
                let Some(member) = position.checked_sub(self.instance.roles.len()) else {
                    let starts = step::launchable(self.instance, &run.state, position);
                    for member in starts.into_iter().take(1) {
                        if !self.go(run, plan, Action::Launch(member)) {
                            return false;
                        }
                        moved = true;
                    }
                    continue;
                };
                while let Some(action) = run.next(self.instance, member, plan.lands_early) {
                    if !self.go(run, plan, action) {
                        return false;
                    }
                    moved = true;
                    if matches!(plan.order, Order::Turns | Order::Random(_)) {
                        break;
                    }
                }
            }
            if !moved {
                // A random pass may have looked at some members only.
                let all = 0..members;
                let step = all.clone().find_map(|m| run.next(self.instance, m, true));
                let launch = || {
                    let mut roles = 0..self.instance.roles.len();
                    roles.find_map(|role| {
                        let starts = step::launchable(self.instance, &run.state, role);
                        starts.first().copied().map(Action::Launch)
                    })
                };
                match step.or_else(launch) {
                    Some(action) if self.go(run, plan, action) => {}
                    Some(_) => return false,
                    None => return true,
                }
            }
        }
    }

    /// Lets an action happen, and whoever is held go on where it is eager; false where the run
    /// ends.
    fn go(&mut self, run: &mut Run<'_>, plan: &Plan<'_>, action: Action) -> bool {
        self.act(run, action) && self.hurry(run, plan)
    }

    /// Lets whoever is held go as far as it can where it is eager; false where the run ends.
    fn hurry(&mut self, run: &mut Run<'_>, plan: &Plan<'_>) -> bool {
        for stop in run.stops.iter().filter(|_| plan.eager) {
            let member = stop.member();
            while let Some(action) = run.next(self.instance, member, plan.lands_early) {
                if !self.act(run, action) {
                    return false;
                }
            }
        }
        true
    }

    /// Lets an action happen and looks at what it shows; false where the run ends.
    fn act(&mut self, run: &mut Run<'_>, action: Action) -> bool {
        if self.work < self.cost {
            return false;
        }
        self.work -= self.cost;
        let part = participation(self.instance, &run.state, action, self.property);
        let before = self.monitor.before(&run.state, action);
        match step::apply(self.instance, &mut run.state, action) {
            Ok(()) => {}
            Err(StepError::Violation(violation)) => {
                if self.monitor.undefined(&violation).is_some() {
                    run.trace.push(action);
                    self.found(run);
                    return false;
                }
                // Others may go on as if this had not come up yet.
                run.refused.push(action);
                return true;
            }
            // Only what is enabled is chosen.
            Err(StepError::NotEnabled(_)) => return false,
        }
        run.trace.push(action);
        run.refused.clear();
        if let Some(part) = part
            && !self.takes_part(run, run.trace.len() - 1, action, part)
        {
            return false;
        }
        if self.property == Property::EarlyPass && !self.could_pass(run) {
            return false;
        }
        if self.monitor.after(before, &run.state).is_some() || self.shows(&run.state) {
            self.found(run);
            return false;
        }
        true
    }

    /// Looks at the waits that could pass now: while somebody is held before one, the barrier
    /// goes by. False where one differs.
    fn could_pass(&mut self, run: &mut Run<'_>) -> bool {
        (0..self.instance.members.len()).all(|member| {
            let action = Action::Step(member);
            let part = participation(self.instance, &run.state, action, self.property);
            match part.filter(|_| step::can_step(self.instance, &run.state, member)) {
                Some(part) => self.takes_part(run, run.trace.len(), action, part),
                None => true,
            }
        })
    }

    /// Compares what an action does after so much of a run with how it, or one like it, took
    /// part before; false where they differ.
    fn takes_part(
        &mut self,
        run: &mut Run<'_>,
        length: usize,
        action: Action,
        part: Participation,
    ) -> bool {
        let key = (self.groups[part.member], part.op);
        let Some(seen) = self.seen.get(&key).copied() else {
            let new = Seen {
                count: part.count,
                member: part.member,
                run: self.runs.len(),
                length,
                action,
            };
            self.seen.insert(key, new);
            run.new = true;
            return true;
        };
        if seen.count == part.count {
            return true;
        }
        let earlier = self.runs.get(seen.run).unwrap_or(&run.trace);
        let earlier = earlier[..seen.length].iter().chain([&seen.action]);
        let first = earlier.map(|a| swapped(*a, seen.member, part.member));
        let second = run.trace[..length].iter().copied().chain([action]);
        self.keep(Runs {
            first: first.collect(),
            second: Some(second.collect()),
        });
        false
    }

    fn shows(&self, state: &State) -> bool {
        let race = self.races.as_ref().and_then(|races| races.state(state));
        race.is_some() || self.monitor.state(state).is_some()
    }

    /// Keeps the run as a violation.
    fn found(&mut self, run: &Run<'_>) {
        self.keep(Runs {
            first: run.trace.clone(),
            second: None,
        });
    }

    /// Keeps what was found if it is what it seems to be.
    fn keep(&mut self, runs: Runs) {
        let second = runs.second.as_deref();
        let judged = judge(self.instance, self.data, self.property, &runs.first, second);
        if let Ok(Some(_)) = judged {
            self.found = Some(runs);
        }
    }
}

/// A run on its way.
struct Run<'a> {
    state: State,
    trace: Vec<Action>,
    stops: &'a [Stop],
    /// What is undefined in this state.
    refused: Vec<Action>,
    /// Whether somebody was first seen in it to take part.
    new: bool,
}

impl Run<'_> {
    /// What a member may do next that is not stopped: a step, or else a landing.
    fn next(&self, instance: &Instance, member: usize, lands: bool) -> Option<Action> {
        let held = Stop::Before(member, self.state.counters[member]);
        let steps = !self.stops.contains(&held) && step::can_step(instance, &self.state, member);
        if steps && !self.refused.contains(&Action::Step(member)) {
            return Some(Action::Step(member));
        }
        if !lands {
            return None;
        }
        let mut position = 0;
        while let Some(landing) = step::in_flight(&self.state, member, position) {
            let held = Stop::Landing(member, landing.op);
            let follows = landing.delivery == step::Delivery::Arrival && position > 0;
            let land = Action::Land(member, position);
            if !follows && !self.stops.contains(&held) && !self.refused.contains(&land) {
                return Some(land);
            }
            position += 1;
        }
        None
    }
}

/// How an access can be kept next or under way: its member before it, or its completion.
fn stops(member: usize, access: &Access) -> Vec<Stop> {
    let before = Stop::Before(member, access.at);
    let ends = access.work.and_then(|work| {
        let landing = work.landing.map(|op| Stop::Landing(member, op));
        landing.or_else(|| work.waited.map(|(at, _)| Stop::Before(member, at)))
    });
    [before].into_iter().chain(ends).collect()
}

fn pairs(one: (usize, &Access), other: (usize, &Access)) -> Vec<[Stop; 2]> {
    let mut pairs = Vec::new();
    for first in stops(one.0, one.1) {
        for second in stops(other.0, other.1) {
            if first != second {
                pairs.push([first, second]);
            }
        }
    }
    pairs
}

/// Whether what is stopped has been come to in a state.
fn comes_to(state: &State, stop: Stop) -> bool {
    let (member, done) = match stop {
        Stop::Before(member, op) => (member, op),
        Stop::Landing(member, op) => (member, op.saturating_add(1)),
    };
    let counter = state.counters[member];
    counter != step::NOT_STARTED && counter >= done
}
