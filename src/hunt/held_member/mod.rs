//! Searches for violations of properties other than deadlock, by runs in which one or two members are held, at one
//! instance.
//!
//! If nothing is ever reset, then more progress of one member only lets the other members do more. So whatever can
//! happen before an operation can also happen while its member is held before the operation and all others run as far
//! as possible. Therefore every member is held in turn before each of its operations, and each of its landings is
//! held back. Then all are released. These runs show operations that take part in another generation than in an
//! earlier run, waits that are lapped, and undefined operations. Two accesses race if holding either of them does not
//! prevent the other one. Then the run in which both are held leads to a state in which both are next.
//!
//! If something is reset, this is a search like any other: if it finds nothing, nothing follows. The same holds once
//! generations differ or waits are lapped.

mod drive;
mod races;

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use crate::protocol::Property;
use crate::semantics::data::Data;
use crate::semantics::hazards::Monitor;
use crate::semantics::hazards::Participation;
use crate::semantics::hazards::StateMonitor;
use crate::semantics::hazards::Visibility;
use crate::semantics::hazards::judge;
use crate::semantics::hazards::participation;
use crate::semantics::hazards::search::Runs;
use crate::semantics::hazards::search::swapped;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::symmetry::Symmetry;

use super::distinct;
use super::distinct::Place;
use super::schedules::Watch;
use super::schedules::spread;

use drive::Order;
use drive::Plan;
use drive::Run;
use drive::Stop;

/// How many random runs there are.
const RANDOM_RUNS: u64 = 8;

/// Makes the runs until one of them shows a violation of the property. `data` has to be given for races. `work`
/// bounds how much is looked at. So the result does not depend on the machine, unless `watch` ends the search.
pub fn run(
    instance: &Instance,
    data: Option<&Data>,
    property: Property,
    work: u64,
    watch: &Watch<'_>,
) -> Option<Runs> {
    let mut seen = FxHashSet::default();
    let found = all((instance, data), property, (work, watch), &mut seen, 1);
    found.into_iter().next().map(|(runs, _)| runs)
}

/// The same search for several violations, at most `most`, at places that were not seen before.
pub fn all(
    (instance, data): (&Instance, Option<&Data>),
    property: Property,
    (work, watch): (u64, &Watch<'_>),
    places: &mut FxHashSet<Place>,
    wanted: usize,
) -> Vec<(Runs, Place)> {
    let visibility = match (property, data) {
        (Property::StaleRead, Some(data)) => Some(Visibility::new(instance, data)),
        _ => None,
    };
    if visibility.as_ref().is_some_and(Visibility::is_trivial) {
        return Vec::new();
    }
    // Claims, and the knowledge about writes, distinguish members that do the same.
    let symmetry = match visibility {
        None if property == Property::Assertion => Symmetry::none(),
        None => Symmetry::with_data(instance, data),
        Some(_) => Symmetry::none(),
    };
    let mut tries = Tries {
        instance,
        data,
        property,
        groups: symmetry.group_of(instance.members.len()),
        monitor: Monitor::new(instance, property),
        state_monitor: StateMonitor::new(instance, data, property),
        cost: visibility.as_ref().map_or(0, Visibility::cost) + looked_at(instance, data, property),
        visibility,
        work,
        watch,
        seen: FxHashMap::default(),
        runs: Vec::new(),
        collects: wanted > 1 || !places.is_empty(),
        places,
        wanted,
        found: Vec::new(),
    };
    tries.all();
    tries.found
}

/// How many members and accesses are looked at for each action.
fn looked_at(instance: &Instance, data: Option<&Data>, property: Property) -> u64 {
    let accesses = data.map_or(&[][..], |data| &data.accesses);
    match property {
        // The acting member shows the violation, so no other member is looked at.
        Property::EarlyCompletion | Property::OverArrival => 1,
        Property::Race => 1 + accesses.iter().map(Vec::len).max().unwrap_or(0) as u64,
        _ => {
            let accesses = accesses.iter().map(Vec::len).sum::<usize>();
            (instance.members.len() + accesses) as u64 + 1
        }
    }
}

/// The first participation of an operation.
#[derive(Debug, Clone, Copy)]
struct Seen {
    count: u32,
    member: usize,
    /// Its run, how many actions of the run came before it, and its action.
    run: usize,
    length: usize,
    action: Action,
}

struct Tries<'a> {
    instance: &'a Instance,
    data: Option<&'a Data>,
    property: Property,
    /// Per member: the first member that it is interchangeable with.
    groups: Vec<usize>,
    monitor: Monitor<'a>,
    state_monitor: StateMonitor<'a>,
    visibility: Option<Visibility<'a>>,
    /// The cost of looking at one state, and the work that is left.
    cost: u64,
    work: u64,
    watch: &'a Watch<'a>,
    /// Per group and operation: the first participation. `runs` are the runs that contain these.
    seen: FxHashMap<(usize, u32), Seen>,
    runs: Vec<Vec<Action>>,
    /// The places of the violations that were found before.
    places: &'a mut FxHashSet<Place>,
    wanted: usize,
    /// Whether the search goes on after a violation, to find more.
    collects: bool,
    found: Vec<(Runs, Place)>,
}

impl Tries<'_> {
    fn over(&self) -> bool {
        self.found.len() >= self.wanted || self.work < self.cost || self.watch.over()
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
        if self.state_monitor.races().is_some() {
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

    /// All places at which a member can be held: for one member of each group of interchangeable members, before each
    /// operation, and before the landing of each copy or commit.
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

    /// Holds every wait by parity together with each arrival at its barrier. The member comes to the wait before the
    /// arrival happens. Then the arrival happens while the wait is still held.
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

    /// Checks the waits that could pass now. While a member is held before such a wait, its barrier may complete
    /// further phases. Returns false if some wait passes in another phase than before, unless the run goes on after
    /// violations.
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

    /// Compares how an action takes part after `length` actions of a run with the first participation of this
    /// operation in its group. Returns false if they differ and the run ends there.
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
        self.goes_on()
    }

    /// Whether a run goes on after a violation, because more violations are wanted.
    fn goes_on(&self) -> bool {
        self.collects && !self.over()
    }

    fn shows(&self, state: &State) -> bool {
        self.state_monitor.state(state).is_some() || self.monitor.state(state).is_some()
    }

    /// Keeps the run as a violation.
    fn found(&mut self, run: &Run<'_>) {
        self.keep(Runs {
            first: run.trace.clone(),
            second: None,
        });
    }

    /// Keeps runs if they really show a violation.
    fn keep(&mut self, runs: Runs) {
        let second = runs.second.as_deref();
        let judged = judge(self.instance, self.data, self.property, &runs.first, second);
        if let Ok(Some(judged)) = judged {
            for hazard in [judged.hazard].iter().chain(&judged.others) {
                let place = distinct::place(self.instance, self.data, hazard);
                let open = self.found.len() < self.wanted;
                if open && self.places.insert(place.clone()) {
                    self.found.push((runs.clone(), place));
                }
            }
        }
    }
}
