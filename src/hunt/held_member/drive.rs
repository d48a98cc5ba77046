//! Makes one run in which some members are held. Decides which member moves next, and whether an action violates the
//! property.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::protocol::Property;
use crate::semantics::hazards::participation;
use crate::semantics::hazards::visibility::Knowledge;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;

use super::Tries;

/// The number of looks at members between two looks at the clock.
const CLOCK_INTERVAL: u64 = 1 << 8;

/// An event that is prevented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stop {
    /// This member does not do this operation.
    Before(usize, u32),
    /// The copy or commit that this operation of this member puts in flight does not land.
    Landing(usize, u32),
}

impl Stop {
    fn member(self) -> usize {
        match self {
            Stop::Before(member, _) | Stop::Landing(member, _) => member,
        }
    }
}

/// Which of the members that can act moves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The first member runs until it blocks, then the next.
    Ascending,
    /// The last member runs until it blocks, then the one before it.
    Descending,
    /// All members in turn, one action each.
    Turns,
    /// A random member, by this seed.
    Random(u64),
}

/// How to make a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'a> {
    /// The stops of each stage. A stage lasts until nothing else can happen. Then the next stage begins.
    pub(super) stages: &'a [&'a [Stop]],
    pub(super) order: Order,
    /// Whether operations in flight land as soon as they can, or only when nothing else can happen.
    pub(super) lands_early: bool,
    /// Whether a member that has a stop moves whenever it can, until it reaches the stop.
    pub(super) eager: bool,
}

/// The state of a run while it is made.
pub(super) struct Run<'a> {
    pub(super) state: State,
    pub(super) trace: Vec<Action>,
    /// What the members know about writes, if the property needs it.
    known: Option<Knowledge>,
    stops: &'a [Stop],
    /// The actions that are undefined in this state.
    refused: Vec<Action>,
    /// Whether the run contains the first participation of some operation.
    pub(super) new: bool,
}

impl Run<'_> {
    /// What a member may do next unless it is stopped: a step, or else a landing.
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

impl Tries<'_> {
    /// Makes one run. Returns the state in which nothing can happen except for stopped events, or `None` if the run
    /// ended before. A run ends at a violation, unless several violations are wanted.
    pub(super) fn one(&mut self, plan: Plan<'_>) -> Option<State> {
        if self.over() {
            return None;
        }
        let state = step::initial_with_history(self.instance);
        let followed = self.visibility.as_ref().map(|v| v.start(&state, false));
        let (known, stale) = followed.map_or((None, None), |(known, s)| (Some(known), s));
        let mut run = Run {
            state,
            known,
            trace: Vec::new(),
            stops: &[],
            refused: Vec::new(),
            new: false,
        };
        if stale.is_some() || self.shows(&run.state) {
            self.found(&run);
            if !self.goes_on() {
                return None;
            }
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

    /// Runs until nothing can happen except for stopped events. Returns false if the run ended before.
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
                // A random pass may have skipped some members.
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

    /// Performs an action. If the plan is eager, the members with stops then go on as far as they can. Returns false
    /// if the run ends.
    fn go(&mut self, run: &mut Run<'_>, plan: &Plan<'_>, action: Action) -> bool {
        self.act(run, action) && self.hurry(run, plan)
    }

    /// If the plan is eager, lets the members with stops go on as far as they can. Returns false if the run ends.
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

    /// Performs an action and checks what it shows. Returns false if the run ends.
    fn act(&mut self, run: &mut Run<'_>, action: Action) -> bool {
        if self.work < self.cost {
            return false;
        }
        self.work -= self.cost;
        let part = participation(self.instance, &run.state, action, self.property);
        let before = self.monitor.before(&run.state, action);
        let earlier = run.known.as_ref().map(|_| run.state.clone());
        let member = action.member();
        let op = step::next_op(self.instance, &run.state, member);
        let kind = op
            .filter(|_| action == Action::Step(member))
            .map(|op| op.kind);
        match step::apply(self.instance, &mut run.state, action) {
            Ok(()) => {}
            Err(StepError::Violation(violation)) => {
                if self.monitor.undefined(&violation).is_some() {
                    run.trace.push(action);
                    self.found(run);
                    run.trace.pop();
                    if !self.goes_on() {
                        return false;
                    }
                }
                // Other members may go on as if this action had not come up.
                run.refused.push(action);
                return true;
            }
            // Only enabled actions are chosen.
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
        if let (Some(visibility), Some(known), Some(earlier)) =
            (&self.visibility, &mut run.known, &earlier)
            && visibility
                .follow(known, earlier, action, &run.state)
                .is_some()
        {
            self.found(run);
            if !self.goes_on() {
                return false;
            }
        }
        let shown = self.state_monitor.after(&run.state, member, kind).is_some()
            || self.monitor.state(&run.state).is_some();
        if self.monitor.after(before, &run.state).is_some() || shown {
            self.found(run);
            return self.goes_on();
        }
        true
    }
}
