//! Cheap adversarial schedules that look for a stuck run, at one instance.
//!
//! Most hangs of barrier protocols need a late member. For example, the barrier laps a wait by parity, a phase
//! completes without an arrival that was meant for it, or a slot is reused before every member has looked at it. So
//! after a few plain runs, every member is held in turn before each operation that may block. Meanwhile all others
//! run as far as possible. Then the member is released. Each such run takes polynomial time, and the number of runs
//! is polynomial, too.
//!
//! All runs are made by [`step`], so exactly what it allows can be met here.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashSet;

use crate::semantics::explore::Accepts;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;
use crate::semantics::step::Violation;

/// How many random runs there are.
const RANDOM_RUNS: u64 = 8;

/// The number of choices between two looks at the clock.
const CLOCK_INTERVAL: u64 = 1 << 8;

/// When to give up.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// At this time.
    pub deadline: Instant,
    /// Soon after this becomes true.
    pub cancel: &'a AtomicBool,
}

impl Watch<'_> {
    /// Whether it is time to give up.
    pub fn over(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// What the runs found.
#[derive(Debug, Clone, Default)]
pub struct Met {
    /// A run to a stuck state.
    pub stuck: Option<Vec<Action>>,
    /// A run to a stuck state that does not count as wanted.
    pub elsewhere: Option<Vec<Action>>,
    /// The first operation whose effect is undefined.
    pub violation: Option<Violation>,
    /// Whether work or time ran out before all schedules had been tried.
    pub cut_short: bool,
}

/// Makes the runs until one gets stuck. `work` bounds how many members are looked at. So the result does not depend
/// on the machine, unless `watch` ends the search.
pub fn run(instance: &Instance, work: u64, watch: &Watch<'_>) -> Met {
    let mut tries = Tries::new(instance, work, watch);
    tries.all(true);
    tries.met
}

/// Like [`run`], but only the stuck states that `accepts` admits count.
pub fn reaching(instance: &Instance, work: u64, accepts: Accepts<'_>, watch: &Watch<'_>) -> Met {
    let mut tries = Tries::new(instance, work, watch);
    tries.accepts = Some(accepts);
    tries.all(true);
    tries.met
}

/// Like [`run`], but goes on after a stuck run and keeps the shortest one.
pub fn shortest(instance: &Instance, work: u64, watch: &Watch<'_>) -> Met {
    let mut tries = Tries::new(instance, work, watch);
    tries.all(false);
    tries.met
}

/// Every stuck run that the schedules reach, at most `most`.
pub fn every(instance: &Instance, work: u64, most: usize, watch: &Watch<'_>) -> Vec<Vec<Action>> {
    let mut tries = Tries::new(instance, work, watch);
    tries.keep = most;
    tries.all(false);
    tries.kept
}

/// A run in which `member` is held before its operation `before`, counted from 0. Up to this operation the member
/// moves whenever it can. It is held until no other member can go on, and then released. If an operation is
/// undefined, it is the last action.
pub fn held(instance: &Instance, member: usize, before: u32, watch: &Watch<'_>) -> Vec<Action> {
    let special = Special::Held {
        member,
        before,
        then_late: false,
    };
    let mut tries = Tries::new(instance, u64::MAX, watch);
    tries.one(Order::Ascending, special).0
}

/// Which of the members that can act moves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The first member runs until it blocks, then the next.
    Ascending,
    /// The last member that can act.
    Descending,
    /// All members in turn, one action each.
    RoundRobin,
    /// The member that has done least.
    Slowest,
    /// The member that has done most.
    Fastest,
    /// The first step. Launches and landings wait until there is no step.
    StepsFirst,
    /// Launches and landings before any step.
    StepsLast,
    /// A random member, by this seed.
    Random(u64),
}

/// A member that is treated differently from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    /// No member.
    None,
    /// This member goes whenever it can.
    Eager(usize),
    /// This member moves only when no other member can.
    Late(usize),
    /// This member moves whenever it can up to this operation. It is held there until no other member can go on.
    /// After that it is eager or late.
    Held {
        member: usize,
        before: u32,
        then_late: bool,
    },
}

struct Tries<'a> {
    instance: &'a Instance,
    watch: &'a Watch<'a>,
    work: u64,
    met: Met,
    /// How many stuck runs to keep, and those that were kept.
    keep: usize,
    kept: Vec<Vec<Action>>,
    /// Which stuck states count; all of them if this is not given.
    accepts: Option<Accepts<'a>>,
}

enum End {
    Finished,
    Stuck,
    /// Stuck in a state that does not count.
    Elsewhere,
    Violation(Violation),
    /// Out of work or time.
    Over,
}

impl<'a> Tries<'a> {
    fn new(instance: &'a Instance, work: u64, watch: &'a Watch<'a>) -> Tries<'a> {
        Tries {
            instance,
            watch,
            work,
            met: Met::default(),
            keep: 0,
            kept: Vec::new(),
            accepts: None,
        }
    }

    fn all(&mut self, first_only: bool) {
        use Order::*;
        let plain = [
            Ascending, Descending, RoundRobin, Slowest, Fastest, StepsFirst, StepsLast,
        ];
        let plain = plain.into_iter().map(|order| (order, Special::None));
        let members = representatives(self.instance);
        let apart = members.iter().flat_map(|member| {
            let kinds = [Special::Late(*member), Special::Eager(*member)];
            kinds.map(|special| (Ascending, special))
        });
        let holds = holds(self.instance, &members);
        let held = holds.iter().flat_map(|(member, before)| {
            [
                (Ascending, false),
                (Descending, true),
                (Descending, false),
                (Ascending, true),
            ]
            .map(|(order, then_late)| {
                let special = Special::Held {
                    member: *member,
                    before: *before,
                    then_late,
                };
                (order, special)
            })
        });
        // Two random runs come early, because the work may not suffice for them if there are many places to hold a
        // member.
        let random = |seed| (Random(seed), Special::None);
        let all: Vec<(Order, Special)> = plain
            .chain((0..2).map(random))
            .chain(apart)
            .chain(spread(held.collect()))
            .chain((2..RANDOM_RUNS).map(random))
            .collect();
        for (order, special) in all {
            let (trace, end) = self.one(order, special);
            match end {
                End::Finished => {}
                End::Stuck => self.stuck(trace),
                End::Elsewhere => {
                    self.met.elsewhere.get_or_insert(trace);
                }
                End::Violation(found) => {
                    self.met.violation.get_or_insert(found);
                }
                End::Over => {
                    self.met.cut_short = true;
                    return;
                }
            }
            if first_only && self.met.stuck.is_some() {
                return;
            }
        }
    }

    fn stuck(&mut self, trace: Vec<Action>) {
        if self.kept.len() < self.keep {
            self.kept.push(trace.clone());
        }
        let best = self.met.stuck.as_ref();
        let size = |trace: &[Action]| (trace.len(), switches(trace));
        if best.is_none_or(|best| size(&trace) < size(best)) {
            self.met.stuck = Some(trace);
        }
    }

    /// Makes a run. Returns its actions and how it ended. An undefined operation is its last action.
    fn one(&mut self, order: Order, special: Special) -> (Vec<Action>, End) {
        let mut chooser = Chooser::new(order, special);
        let mut state = step::initial(self.instance);
        let mut trace = Vec::new();
        let mut choices = 0;
        loop {
            let cost = self.instance.members.len() as u64 + 1;
            if self.work < cost || choices % CLOCK_INTERVAL == 0 && self.watch.over() {
                return (trace, End::Over);
            }
            self.work -= cost;
            choices += 1;
            let enabled = step::enabled(self.instance, &state);
            if enabled.is_empty() {
                let counts = |accepts: Accepts<'_>| accepts(self.instance, &state);
                let end = match step::is_finished(self.instance, &state) {
                    true => End::Finished,
                    false if self.accepts.is_none_or(counts) => End::Stuck,
                    false => End::Elsewhere,
                };
                return (trace, end);
            }
            let Some(mut action) = chooser.choose(&state, &enabled) else {
                return (trace, End::Over);
            };
            // A member that runs until it blocks goes on without a look at the other members.
            loop {
                match step::apply(self.instance, &mut state, action) {
                    Ok(()) => trace.push(action),
                    Err(StepError::Violation(found)) => {
                        trace.push(action);
                        return (trace, End::Violation(found));
                    }
                    // Only enabled actions are chosen.
                    Err(StepError::NotEnabled(_)) => return (trace, End::Over),
                }
                let member = action.member();
                action = Action::Step(member);
                let goes_on = chooser.stays_with(&state, member)
                    && step::can_step(self.instance, &state, member);
                if !goes_on || self.work == 0 {
                    break;
                }
                self.work -= 1;
            }
        }
    }
}

struct Chooser {
    order: Order,
    special: Special,
    /// Whether the held member has been let go.
    released: bool,
    /// Which member comes next in a round.
    next: usize,
    rng: ChaCha8Rng,
}

impl Chooser {
    fn new(order: Order, special: Special) -> Chooser {
        let seed = match order {
            Order::Random(seed) => seed,
            _ => 0,
        };
        Chooser {
            order,
            special,
            released: false,
            next: 0,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn choose(&mut self, state: &State, enabled: &[Action]) -> Option<Action> {
        let own = |member: usize| {
            let own = enabled.iter().find(|a| **a == Action::Step(member));
            own.copied()
        };
        let others = |member: usize| -> Vec<Action> {
            let others = enabled.iter().filter(|a| **a != Action::Step(member));
            others.copied().collect()
        };
        match self.special {
            Special::None => self.by_order(state, enabled),
            Special::Eager(member) => own(member).or_else(|| self.by_order(state, enabled)),
            Special::Late(member) => self
                .by_order(state, &others(member))
                .or_else(|| own(member)),
            Special::Held {
                member,
                before,
                then_late,
            } => {
                let there = !self.released && state.counters[member] == before;
                if there {
                    let other = self.by_order(state, &others(member));
                    if other.is_some() {
                        return other;
                    }
                    self.released = true;
                    return own(member);
                }
                if self.released && then_late {
                    self.by_order(state, &others(member))
                        .or_else(|| own(member))
                } else {
                    own(member).or_else(|| self.by_order(state, enabled))
                }
            }
        }
    }

    fn by_order(&mut self, state: &State, enabled: &[Action]) -> Option<Action> {
        let is_step = |action: &Action| matches!(action, Action::Step(_));
        // `NOT_STARTED` is the largest counter. Adding 1 makes it 0.
        let done = |action: &Action| state.counters[action.member()].wrapping_add(1);
        match self.order {
            Order::Ascending => enabled.first(),
            Order::Descending => enabled.last(),
            Order::RoundRobin => {
                let ahead = enabled.iter().filter(|a| a.member() >= self.next);
                let first = ahead.min_by_key(|a| a.member());
                first.or_else(|| enabled.iter().min_by_key(|a| a.member()))
            }
            Order::StepsFirst => enabled.iter().min_by_key(|a| !is_step(a)),
            Order::StepsLast => enabled.iter().min_by_key(|a| is_step(a)),
            Order::Slowest => enabled.iter().min_by_key(|a| done(a)),
            Order::Fastest => enabled.iter().max_by_key(|a| done(a)),
            Order::Random(_) => {
                // Drawn as 64 bits, so that a run does not depend on the size of `usize`.
                let place = self.rng.random_range(0..enabled.len().max(1) as u64);
                enabled.get(place as usize)
            }
        }
        .copied()
        .inspect(|action| self.next = action.member() + 1)
    }

    /// Whether a member that has just acted goes on as far as it can.
    fn stays_with(&self, state: &State, member: usize) -> bool {
        let runs = matches!(self.order, Order::Ascending | Order::Descending);
        match self.special {
            Special::None => runs,
            Special::Eager(eager) => member == eager,
            Special::Late(late) => runs && member != late,
            Special::Held {
                member: held,
                before,
                then_late,
            } if member == held => {
                if self.released {
                    !then_late
                } else {
                    state.counters[member] != before
                }
            }
            Special::Held { .. } => runs,
        }
    }
}

/// The members that are treated differently in turn: in every role, the first of those with equal programs, and the
/// last member.
fn representatives(instance: &Instance) -> Vec<usize> {
    let mut seen: FxHashSet<(usize, &[Op])> = FxHashSet::default();
    let members = instance.members.iter().enumerate();
    members
        .filter(|(position, member)| {
            let role = &instance.roles[member.role];
            let is_new = seen.insert((member.role, &member.ops));
            !member.ops.is_empty() && (is_new || *position + 1 == role.members.end)
        })
        .map(|(position, _)| position)
        .collect()
}

/// Which member to hold, and before which operation: before every operation that may block, and directly after it.
fn holds(instance: &Instance, members: &[usize]) -> Vec<(usize, u32)> {
    let mut holds = Vec::new();
    for member in members {
        let ops = &instance.members[*member].ops;
        for place in 0..ops.len() {
            let after = place
                .checked_sub(1)
                .is_none_or(|before| may_block(&ops[before]));
            if after || may_block(&ops[place]) {
                holds.push((*member, place as u32));
            }
        }
    }
    holds
}

/// Whether an operation may block. True unless its kind is known never to block.
fn may_block(op: &Op) -> bool {
    !matches!(
        op.kind,
        OpKind::Add(_) | OpKind::Set(_) | OpKind::Arrive(_) | OpKind::BarArrive(_)
    )
}

/// The same items, reordered so that each prefix is a sample: items that are far apart come first.
pub(super) fn spread<T>(items: Vec<T>) -> Vec<T> {
    let count = items.len();
    let mut slots: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(count);
    let mut stride = count.next_power_of_two();
    while stride > 0 {
        let taken = slots.iter_mut().step_by(stride).filter_map(Option::take);
        out.extend(taken);
        stride /= 2;
    }
    out
}

/// How often a run switches from one member to another.
pub(super) fn switches(trace: &[Action]) -> usize {
    let pairs = trace.windows(2);
    pairs
        .filter(|pair| pair[0].member() != pair[1].member())
        .count()
}
