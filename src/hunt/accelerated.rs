//! Bounded search with accelerated steps, for instances with many interchangeable members.
//!
//! Members of a role with equal programs are interchangeable. So a state is described by *how many* members of each group stand
//! before each operation. This is the counter system. One step of it moves several members that stand at one place. So a run
//! takes as many steps with 1,024 threads as with two. Not every number of members is tried. The search tries: all of them, all
//! but one, one, as many as complete the current phase or generation, one fewer than that, and none.
//!
//! A *default run* always moves all members of one place, until nothing can happen. Any other choice leaves some members
//! behind. These are *held* until no other member can go on. Most hangs need only a few late members. So the search tries runs
//! in the order of the number of times that they leave members behind: never, once, and so on. A state is not continued again
//! if it was met before with the same members held. This is limited discrepancy search (Harvey and Ginsberg, IJCAI 1995).
//!
//! [`step`] carries out each step of the counter system one action at a time. So a stuck state that is found is one of the
//! reference semantics. If none is found, nothing follows, because not all numbers are tried.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::hash::Hasher;

use rustc_hash::FxHashSet;
use rustc_hash::FxHasher;

use crate::protocol::StmtId;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::Delivery;
use crate::semantics::step::State;
use crate::semantics::step::StepError;
use crate::semantics::symmetry::Symmetry;

use super::schedules::Met;
use super::schedules::Watch;

/// How often one run leaves members behind, at most.
const DISCREPANCIES: usize = 5;

/// How many runs may be waiting to be tried, for each number of times that they leave members behind.
const MOST_OPEN: usize = 1 << 17;

/// The number of steps of the counter system between two looks at the clock.
const CLOCK_INTERVAL: u64 = 1 << 4;

/// The interchangeable members that stand at one place and can do the same thing next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    /// The first of these interchangeable members.
    class: usize,
    what: What,
}

/// What they can do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum What {
    Launch,
    /// The operation at this position.
    Step(u32),
    /// The landing of this delivery on this cell, which this statement put in flight.
    Land(CellId, Delivery, StmtId),
}

/// Which place moves by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Policy {
    /// The members that moved last, then those that have done most.
    Fastest,
    /// The members that moved last, then the first of the others. Operations in flight land last.
    Ascending,
    /// The members that moved last, then the last of the others.
    Descending,
    /// The members that have done least. Operations in flight land last.
    Slowest,
}

const POLICIES: [Policy; 4] = [
    Policy::Fastest,
    Policy::Descending,
    Policy::Ascending,
    Policy::Slowest,
];

/// A step of the counter system: this many members of a place moved.
#[derive(Debug, Clone, Copy)]
struct Moved {
    before: usize,
    place: Place,
    size: usize,
}

/// A run to be tried. It starts at a node with a move that leaves members behind.
#[derive(Debug, Clone)]
struct Open {
    node: usize,
    policy: Policy,
    /// The move. If its size is 0, no member moves.
    place: Place,
    size: usize,
    /// The places that are held after the move. The one held last is at the end of the list.
    held: Vec<Place>,
}

struct Search<'a> {
    instance: &'a Instance,
    symmetry: Symmetry,
    classes: Vec<usize>,
    watch: &'a Watch<'a>,
    work: u64,
    steps: u64,
    /// Every state that was met, as the move that led to it. The first state has none.
    nodes: Vec<Option<Moved>>,
    /// Hashes of the states that were met. If two states have the same hash, the second one is wrongly skipped.
    seen: FxHashSet<u64>,
    /// Runs to be tried, by how often they leave members behind.
    open: Vec<Vec<Open>>,
    met: Met,
}

/// Searches until a run gets stuck. `work` bounds how many members are looked at. So the result does not depend on
/// the machine, unless `watch` ends the search.
pub fn run(instance: &Instance, work: u64, watch: &Watch<'_>) -> Met {
    let symmetry = Symmetry::of(instance);
    let mut search = Search {
        instance,
        classes: symmetry.group_of(instance.members.len()),
        symmetry,
        watch,
        work,
        steps: 0,
        nodes: vec![None],
        seen: FxHashSet::default(),
        open: vec![Vec::new(); DISCREPANCIES + 1],
        met: Met::default(),
    };
    search.all();
    search.met
}

impl Search<'_> {
    fn all(&mut self) {
        for policy in POLICIES {
            let start = step::initial(self.instance);
            self.follow(0, 0, start, policy, Vec::new(), None);
            if self.is_over() {
                return;
            }
        }
        for discrepancies in 1..=DISCREPANCIES {
            for open in std::mem::take(&mut self.open[discrepancies]) {
                let mut state = self.replayed(open.node).1;
                let mut node = open.node;
                let mut last = None;
                if open.size > 0 {
                    let moved = self.repeat(&mut state, open.place, open.size);
                    if moved.actions.len() < open.size {
                        continue;
                    }
                    node = self.node(node, open.place, open.size);
                    last = Some(open.place);
                }
                self.follow(discrepancies, node, state, open.policy, open.held, last);
                if self.is_over() {
                    return;
                }
            }
        }
    }

    fn is_over(&mut self) -> bool {
        let over = self.work == 0 || self.watch.over();
        self.met.cut_short |= over;
        over || self.met.stuck.is_some()
    }

    /// Continues a run by default from a state on, and notes the alternatives at each step.
    fn follow(
        &mut self,
        discrepancies: usize,
        mut node: usize,
        mut state: State,
        policy: Policy,
        mut held: Vec<Place>,
        mut last: Option<Place>,
    ) {
        loop {
            self.steps += 1;
            if self.work == 0 || self.steps.is_multiple_of(CLOCK_INTERVAL) && self.watch.over() {
                self.met.cut_short = true;
                return;
            }
            if !self.is_new(&state, &held, policy) {
                return;
            }
            let mut places = self.places(&state);
            let free = places.keys().filter(|place| !held.contains(place));
            let next = free.copied().min_by_key(|place| rank(policy, last, place));
            let place = match next {
                Some(place) => place,
                None => {
                    // The members that were held last are released first.
                    let at = held.iter().rposition(|place| places.contains_key(place));
                    let Some(at) = at else {
                        if !step::is_finished(self.instance, &state) {
                            self.met.stuck = Some(self.replayed(node).0);
                        }
                        return;
                    };
                    let released = held.remove(at);
                    for (other, place) in held.iter().enumerate() {
                        if places.contains_key(place) {
                            let mut left = held.clone();
                            left.remove(other);
                            left.push(released);
                            self.note(discrepancies, (node, policy), (*place, 0), left);
                        }
                    }
                    released
                }
            };
            let before = node;
            let actions = places.remove(&place).unwrap_or_default();
            let moved = self.advance(&mut state, actions, usize::MAX);
            for size in sizes(&moved) {
                let mut held = held.clone();
                held.push(place);
                self.note(discrepancies, (before, policy), (place, size), held);
            }
            if moved.actions.is_empty() {
                // Their next action is undefined, so the run does not continue.
                return;
            }
            node = self.node(node, place, moved.actions.len());
            last = Some(place);
        }
    }

    fn note(
        &mut self,
        discrepancies: usize,
        (node, policy): (usize, Policy),
        (place, size): (Place, usize),
        held: Vec<Place>,
    ) {
        if let Some(open) = self.open.get_mut(discrepancies + 1)
            && open.len() < MOST_OPEN
        {
            open.push(Open {
                node,
                policy,
                place,
                size,
                held,
            });
        }
    }

    fn is_new(&mut self, state: &State, held: &[Place], policy: Policy) -> bool {
        self.work = self.work.saturating_sub(state.counters.len() as u64);
        let mut representative = state.clone();
        self.symmetry.represent(&mut representative);
        let mut hasher = FxHasher::default();
        (representative, held, policy).hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }

    fn node(&mut self, before: usize, place: Place, size: usize) -> usize {
        self.nodes.push(Some(Moved {
            before,
            place,
            size,
        }));
        self.nodes.len() - 1
    }

    /// The places of all members that can act, and the actions of these members.
    fn places(&mut self, state: &State) -> BTreeMap<Place, Vec<Action>> {
        self.work = self.work.saturating_sub(self.classes.len() as u64);
        let mut places: BTreeMap<Place, Vec<Action>> = BTreeMap::new();
        for action in step::enabled(self.instance, state) {
            let member = action.member();
            let what = match action {
                Action::Launch(_) => What::Launch,
                Action::Step(_) => What::Step(state.counters[member]),
                Action::Land(_, position) => match step::in_flight(state, member, position) {
                    Some(flight) => What::Land(flight.cell, flight.delivery, flight.stmt),
                    None => continue,
                },
            };
            let class = self.classes[member];
            let place = Place { class, what };
            places.entry(place).or_default().push(action);
        }
        places
    }

    /// Moves this many members of a place. It is used to repeat a run.
    fn repeat(&mut self, state: &mut State, place: Place, size: usize) -> Advance {
        let actions = self.places(state).remove(&place).unwrap_or_default();
        self.advance(state, actions, size)
    }

    /// Performs as many of these actions as possible, at most `most`.
    fn advance(&mut self, state: &mut State, actions: Vec<Action>, most: usize) -> Advance {
        let mut advance = Advance {
            completes: None,
            actions: Vec::new(),
        };
        for action in actions.into_iter().take(most) {
            let cell = step::works_on(self.instance, state, action).map(|(_, cell)| cell);
            let progress = |state: &State| cell.map(|cell| state.cells[cell.0 as usize].progress());
            let before = progress(state);
            match step::apply(self.instance, state, action) {
                Ok(()) => {}
                Err(StepError::Violation(found)) => {
                    self.met.violation.get_or_insert(found);
                    break;
                }
                Err(StepError::NotEnabled(_)) => break,
            }
            advance.actions.push(action);
            let both = before.zip(progress(state));
            if both.is_some_and(|(before, now)| before.completed(now)) {
                advance.completes.get_or_insert(advance.actions.len());
            }
        }
        self.work = self.work.saturating_sub(advance.actions.len() as u64);
        advance
    }

    /// The moves that lead to a node.
    fn moves(&self, mut node: usize) -> Vec<Moved> {
        let mut moves = Vec::new();
        while let Some(moved) = self.nodes[node] {
            moves.push(moved);
            node = moved.before;
        }
        moves.reverse();
        moves
    }

    /// Repeats the run to a node. Returns its actions and its last state.
    fn replayed(&mut self, node: usize) -> (Vec<Action>, State) {
        let mut state = step::initial(self.instance);
        let mut run = Vec::new();
        for moved in self.moves(node) {
            run.extend(self.repeat(&mut state, moved.place, moved.size).actions);
        }
        (run, state)
    }
}

/// The result of moving the members of a place.
struct Advance {
    /// How many actions it took until a phase or generation completed.
    completes: Option<usize>,
    actions: Vec<Action>,
}

/// The other numbers of members that the search tries to move instead.
fn sizes(advance: &Advance) -> Vec<usize> {
    let all = advance.actions.len();
    let completing = advance.completes.unwrap_or(0);
    let candidates = [
        all.saturating_sub(1),
        0,
        completing,
        completing.saturating_sub(1),
        1,
    ];
    let mut sizes = Vec::new();
    for size in candidates {
        if size < all && !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    sizes
}

/// The place with the least rank moves next. A member that can start does so before anything else, except for
/// landings under the policies that let them land early.
fn rank(policy: Policy, last: Option<Place>, place: &Place) -> (u8, i64, usize) {
    let (done, lands) = match place.what {
        What::Launch => (i64::from(u32::MAX), false),
        What::Step(at) => (i64::from(at), false),
        What::Land(..) => (0, true),
    };
    let goes_on = last.is_some_and(|last| match (last.what, place.what) {
        (What::Step(before), What::Step(now)) => last.class == place.class && now == before + 1,
        _ => false,
    });
    let class = place.class;
    let lands_late = matches!(policy, Policy::Ascending | Policy::Slowest);
    let first = match (lands, lands_late) {
        (true, true) => 3,
        (true, false) => 0,
        (false, _) if place.what == What::Launch => 0,
        (false, _) if goes_on && policy != Policy::Slowest => 1,
        (false, _) => 2,
    };
    match policy {
        Policy::Fastest => (first, -done, class),
        Policy::Ascending => (first, 0, class),
        Policy::Descending => (first, 0, usize::MAX - class),
        Policy::Slowest => (first, done, class),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;
    use std::time::Instant;

    use crate::semantics::explore::explore;
    use crate::semantics::inputs::Bounds;
    use crate::semantics::inputs::Inputs;
    use crate::text;

    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn at(source: &str, params: &[i64]) -> Instance {
        let protocol = text::load(source.as_bytes()).expect("a valid protocol");
        let bounds = Bounds::default();
        let mut inputs = Inputs::new(&protocol, params, &bounds).expect("well defined");
        inputs.next().expect("one input").expect("well defined").1
    }

    fn stuck(instance: &Instance) -> Option<Vec<Action>> {
        let watch = Watch {
            deadline: Instant::now() + Duration::from_secs(60),
            cancel: &NEVER,
        };
        let run = run(instance, 2_000_000, &watch).stuck?;
        let mut state = step::initial(instance);
        for action in &run {
            step::apply(instance, &mut state, *action).expect("a run of the semantics");
        }
        assert!(step::is_stuck(instance, &state));
        Some(run)
    }

    /// How many steps of the counter system make up a run.
    fn steps(instance: &Instance, run: &[Action]) -> usize {
        let classes = Symmetry::of(instance).group_of(instance.members.len());
        let mut state = step::initial(instance);
        let mut last = None;
        let mut steps = 0;
        for action in run {
            let place = (classes[action.member()], state.counters[action.member()]);
            steps += usize::from(last != Some(place));
            last = Some(place);
            step::apply(instance, &mut state, *action).expect("a run of the semantics");
        }
        steps
    }

    /// Two CTAs of T threads, N tiles, and a parity that does not alternate.
    const HALO: &str = "protocol halo param T in 1.. param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
    for i in 0..N {
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] 0
    }
}";

    /// W warps, of which only the first releases a slot. A slow warp is overtaken.
    const LEADER: &str = "protocol leader param S in 1.. param W in 1.. param I in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role producer warp {
    for i in 0..I {
        wait empty[i % S] (i / S) % 2 ^ 1
        arrive full[i % S]
    }
}
role consumer[w in 0..W] warp {
    for i in 0..I {
        wait full[i % S] (i / S) % 2
        if w == 0 {
            arrive empty[i % S]
        }
    }
}";

    /// A grid barrier of which only so many CTAs are resident.
    const GRID: &str = "protocol grid param G in 1.. param R in 1..
semaphore arrived = 0
grid cta[g in 0..G] launch any resident R {
    arrived += 1
    wait arrived >= G
}";

    #[test]
    fn a_run_takes_as_many_steps_with_many_members_as_with_few() {
        for (source, few, many) in [
            (HALO, vec![2, 2], vec![1_024, 2]),
            (LEADER, vec![2, 3, 4], vec![2, 900, 4]),
        ] {
            let (few, many) = (at(source, &few), at(source, &many));
            let runs = (stuck(&few).expect("a hang"), stuck(&many).expect("a hang"));
            assert!(runs.1.len() >= runs.0.len());
            assert_eq!(steps(&few, &runs.0), steps(&many, &runs.1));
        }
        let grid = at(GRID, &[2_000, 1_999]);
        assert_eq!(stuck(&grid).map(|run| run.len()), Some(3_998));
    }

    #[test]
    fn what_cannot_hang_is_not_said_to() {
        let fine = HALO.replace("bar[cta] 0", "bar[cta] i % 2");
        for params in [[2, 3], [100, 3]] {
            assert_eq!(stuck(&at(&fine, &params)), None);
        }
        assert_eq!(stuck(&at(GRID, &[300, 300])), None);
    }

    #[test]
    fn few_members_are_searched_as_thoroughly_as_by_every_schedule() {
        let mut hangs = 0;
        for w in 1..=3 {
            for s in 1..=3 {
                for i in 0..=2 * s + 2 {
                    let instance = at(LEADER, &[s, w, i]);
                    let all = explore(&instance, &Default::default()).stuck;
                    assert_eq!(stuck(&instance).is_some(), all.is_some(), "{w} {s} {i}");
                    hangs += usize::from(all.is_some());
                }
            }
        }
        assert!(hangs > 5, "{hangs}");
    }
}
