//! What the walks over warps note of the order of things, and what may lie between a test and the branch that it decides:
//! see `tested`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::term::TermId;

/// A branch that spares a wait, and the wait.
pub type Spared = (Location, Location);

/// What is known of the tests that decide a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Between {
    /// The sites that may lie between.
    pub sites: BTreeSet<Location>,
    /// How many events there were before each test.
    pub tests: BTreeSet<u64>,
}

impl Between {
    fn extend(&mut self, other: Self) {
        self.sites.extend(other.sites);
        self.tests.extend(other.tests);
    }
}

/// What is known of branches that spare waits, if anything is.
pub type Spares = BTreeMap<Spared, Option<Between>>;

/// Notes a branch that spares a wait, with the sites that may lie between.
pub fn note(all: &mut Spares, spared: Spared, between: Option<Between>) {
    match all.get_mut(&spared) {
        None => {
            all.insert(spared, between);
        }
        Some(known) => match (known, between) {
            (Some(known), Some(between)) => known.extend(between),
            (known, _) => *known = None,
        },
    }
}

/// A loop, by its number.
type LoopId = u32;

/// From the beginning to the end of something, as how many events there were before.
type Span = (u64, u64);

/// What the walks over warps have noted of the order of things. Places are given by how many events there were before.
#[derive(Debug, Default)]
pub struct Noted {
    /// The numbers of sites, ascending.
    sites: Vec<(u64, Location)>,
    branches: Vec<(u64, Location)>,
    /// Where threads meet.
    meetings: Vec<(u64, Meeting)>,
    loops: BTreeMap<LoopId, Looped>,
    /// Loops with all attempts to walk them.
    repeated: Vec<Span>,
    /// Branches that all lanes take alike: the condition, and each side.
    choices: Vec<(TermId, [Span; 2])>,
    /// Branches that lanes take differently: each side.
    apart: Vec<[Span; 2]>,
    warps: Vec<Span>,
    /// Branches that tests themselves decide: where the tests and the branches are.
    direct: Vec<(Spared, u64, u64)>,
    /// Of the branches on whose second side the walk is: the first one.
    open: Vec<Span>,
}

/// What a warp does where threads meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// It comes to a barrier of the CTA, if its number is known, and perhaps waits there for all threads.
    Barrier { id: Option<u128>, waits: bool },
    /// It comes to that of the cluster.
    Arrive,
    /// It waits there.
    Wait,
}

/// A loop.
#[derive(Debug, Clone)]
struct Looped {
    span: Span,
    /// What may be done of the round in which it is left.
    last: Vec<Span>,
}

/// Where a loop is left, and what is not done on the way there.
pub type Left = (u64, Vec<Span>);

impl Noted {
    /// A wait, an initialisation or the end of a life that has this number.
    pub fn site(&mut self, number: u64, location: &Location) {
        self.sites.push((number, location.clone()));
    }

    /// An event of this number at which threads meet.
    pub fn meeting(&mut self, number: u64, meeting: Meeting) {
        self.meetings.push((number, meeting));
    }

    /// Whether an event of this number comes before a place in another warp, or the same, whatever the schedule: behind it the warp comes to a
    /// full barrier at which the other one certainly has waited. A warp has met others at a barrier as often as it has come there.
    fn is_before(&self, event: u64, place: u64) -> bool {
        let mut warps = self.warps.iter();
        let of_event = warps.find(|(first, last)| *first < event && event <= *last);
        let mut warps = self.warps.iter();
        let of_place = warps.find(|warp| has(**warp, place));
        let (Some(of_event), Some(of_place)) = (of_event, of_place) else {
            return false;
        };
        let all = |(first, last): Span| {
            let inside = self.meetings.iter();
            inside.filter(move |(number, _)| first < *number && *number <= last)
        };
        let repeats = |number: u64| is_in(&self.repeated, number);
        let perhaps = |number: u64| {
            let choices = self.choices.iter().map(|(_, sides)| sides);
            let mut sides = choices.chain(&self.apart);
            sides.any(|sides| is_in(sides, number))
        };
        let unknown = |(number, met): &(u64, Meeting)| {
            repeats(*number) || matches!(met, Meeting::Barrier { id: None, .. })
        };
        // A loop around the event may meet others between two of its rounds.
        let around = self.repeated.iter().filter(|span| is_in(&[**span], event));
        let mut between = around.flat_map(|span| all(*span));
        if between.next().is_some() || all((of_event.0, event)).any(unknown) {
            return false;
        }
        let had: Vec<Meeting> = all((of_place.0, place))
            .filter(|(number, _)| !repeats(*number) && !perhaps(*number))
            .map(|(_, met)| *met)
            .collect();
        had.iter().any(|met| {
            let comes = |other: &Meeting| match (met, other) {
                (Meeting::Barrier { id, waits: true }, Meeting::Barrier { id: other, .. }) => {
                    id.is_some() && id == other
                }
                (Meeting::Wait, Meeting::Arrive) => true,
                _ => false,
            };
            let waited = had.iter().filter(|other| *other == met).count();
            waited
                > all((of_event.0, event))
                    .filter(|(_, other)| comes(other))
                    .count()
                && matches!(
                    met,
                    Meeting::Barrier {
                        id: Some(_),
                        waits: true
                    } | Meeting::Wait
                )
        })
    }

    pub fn branch(&mut self, at: u64, location: &Location) {
        self.branches.push((at, location.clone()));
    }

    pub fn looped(&mut self, id: LoopId, span: Span, left: &[Left]) {
        let mut last = Vec::new();
        for (end, sides) in left {
            let mut begin = span.0;
            for (first, second) in sides.iter().filter(|side| side.0 >= span.0) {
                last.push((begin, *first));
                begin = *second;
            }
            last.push((begin, *end));
        }
        self.loops.insert(id, Looped { span, last });
    }

    /// Forgets a walk over a loop that is walked again, from a place at its beginning.
    pub fn forget(&mut self, begin: u64) {
        let before = |place: u64| place < begin;
        self.sites.retain(|(number, _)| before(*number));
        self.branches.retain(|(at, _)| before(*at));
        self.meetings.retain(|(number, _)| before(*number));
        self.loops.retain(|_, looped| before(looped.span.0));
        self.repeated.retain(|(first, _)| before(*first));
        self.choices.retain(|(_, [(first, _), _])| before(*first));
        self.apart.retain(|[(first, _), _]| before(*first));
        self.direct.retain(|(_, _, branch)| before(*branch));
    }

    pub fn repeats(&mut self, span: Span) {
        self.repeated.push(span);
    }

    /// Where the walk is, and what is not done on the way there.
    pub fn here(&self, at: u64) -> Left {
        (at, self.open.clone())
    }

    /// What the walk does on the second side of a branch.
    pub fn side(&mut self, first: Span) -> usize {
        self.open.push(first);
        self.open.len() - 1
    }

    /// The end of that.
    pub fn joined(&mut self, side: usize) {
        self.open.truncate(side);
    }

    /// A branch that all lanes take alike: its condition, where the side begins that is taken if that holds, where it ends and the other one
    /// begins, and the end of that.
    pub fn choice(&mut self, term: TermId, first: u64, second: u64, end: u64) {
        self.choices.push((term, [(first, second), (second, end)]));
    }

    /// A branch that lanes take differently: where its first side begins, where that ends and the other one begins, and its end.
    pub fn apart(&mut self, first: u64, second: u64, end: u64) {
        self.apart.push([(first, second), (second, end)]);
    }

    pub fn warp(&mut self, span: Span) {
        self.warps.push(span);
    }

    /// A test itself decides a branch.
    pub fn decides(&mut self, spared: Spared, test: u64, branch: u64) {
        self.direct.push((spared, test, branch));
    }

    /// What is known of branches that tests themselves decide, besides all others.
    pub fn with_direct(&self, all: &Spares) -> Spares {
        let mut all = all.clone();
        for (spared, test, branch) in &self.direct {
            if !all.contains_key(spared) {
                continue;
            }
            // Loops that carry nothing of it may have had more rounds.
            let loops = self.loops.values().map(|looped| looped.span);
            let around = loops.filter(|span| has(*span, *branch) && !has(*span, *test));
            let mut spans: Vec<Span> = around.collect();
            spans.push((*test, *branch));
            let between = Between {
                sites: self.among(&spans, &[], &[*test, *branch]),
                tests: BTreeSet::from([*test]),
            };
            note(&mut all, spared.clone(), Some(between));
        }
        all
    }

    /// The sites in spans but not in others, and those beside places.
    fn among(&self, spans: &[Span], without: &[Span], places: &[u64]) -> BTreeSet<Location> {
        let inside = spans.iter().flat_map(|span| self.within(*span));
        let inside = inside.filter(|(number, _)| !is_in(without, *number));
        let beside = places.iter().flat_map(|place| self.beside(*place));
        inside.chain(beside).map(|(_, site)| site.clone()).collect()
    }

    /// What is not done where these conditions hold.
    fn left_out(&self, facts: &Facts) -> Vec<Span> {
        let mut all = Vec::new();
        for (term, [holds, fails]) in &self.choices {
            all.extend(facts.contains(&(*term, false)).then_some(*holds));
            all.extend(facts.contains(&(*term, true)).then_some(*fails));
        }
        all
    }

    fn within(&self, (first, last): Span) -> impl Iterator<Item = &(u64, Location)> {
        let begin = self.sites.partition_point(|(number, _)| *number <= first);
        let sites = self.sites[begin..].iter();
        sites.take_while(move |(number, _)| *number <= last)
    }

    /// The sites that lanes beside those at a place may carry out at the same time.
    fn beside(&self, place: u64) -> impl Iterator<Item = &(u64, Location)> {
        let others = self.apart.iter().flat_map(move |[one, other]| {
            let sides = [(one, other), (other, one)].into_iter();
            sides.filter(move |(side, _)| has(**side, place))
        });
        others.flat_map(|(_, other)| self.within(*other))
    }

    /// Whether a site comes before each of these places, wherever the walks have come to it.
    pub fn all_before(&self, site: &Location, places: &BTreeSet<u64>) -> bool {
        let numbers = self.sites.iter().filter(|(_, one)| one == site);
        let mut pairs =
            numbers.flat_map(|(number, _)| places.iter().map(move |place| (*number, *place)));
        pairs.all(|(number, place)| self.is_before(number, place))
    }

    /// Where a branch stands in a loop, or in the warp that does something at a place: once for each way there.
    fn places(&self, branch: &Location, within: Span) -> Vec<u64> {
        let places = self.branches.iter().filter(|(_, one)| one == branch);
        let places = places.map(|(at, _)| *at);
        places.filter(|at| has(within, *at)).collect()
    }
}

/// Whether an event of this number is in one of these spans.
fn is_in(spans: &[Span], number: u64) -> bool {
    let mut spans = spans.iter();
    spans.any(|(first, last)| *first < number && number <= *last)
}

fn has((first, last): Span, place: u64) -> bool {
    first <= place && place <= last
}

/// What leads from a value back to where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// To before a loop, from its first round.
    Before(LoopId),
    /// To the round before.
    Round(LoopId),
}

/// Conditions that the launch decides, and whether they hold.
pub type Facts = BTreeSet<(TermId, bool)>;

/// A test that was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Made {
    /// How many events there were before it.
    pub at: u64,
    /// How it is come to from what it decides.
    pub steps: Vec<Step>,
    /// What holds where it decides.
    pub facts: Facts,
}

/// The tests one of which has passed wherever a condition holds.
#[derive(Debug, Clone, Default)]
pub struct Tests {
    pub all: BTreeSet<Made>,
    /// Whether it may have been made any number of rounds ago.
    pub older: bool,
}

impl Tests {
    /// What may lie between these tests and a branch that is inside of loops, the outermost first.
    pub fn between(&self, branch: &Location, inside: &[LoopId], noted: &Noted) -> Option<Between> {
        if self.older {
            return None;
        }
        let mut all = Between::default();
        for test in &self.all {
            all.extend(test.between(branch, inside, noted)?);
        }
        Some(all)
    }
}

impl Made {
    fn between(&self, branch: &Location, inside: &[LoopId], noted: &Noted) -> Option<Between> {
        let around = match inside.last() {
            Some(innermost) => noted.loops.get(innermost)?.span,
            None => *noted.warps.iter().find(|warp| has(**warp, self.at))?,
        };
        let mut without = noted.left_out(&self.facts);
        let mut places = noted.places(branch, around);
        // Its first event is the wait that may be spared.
        places.retain(|place| !is_in(&without, place + 1));
        let place = places.iter().copied().max()?;
        // Loops that are over at the branch: all of them, and what is done of them.
        let (mut over, mut last) = (Vec::new(), Vec::new());
        let mut round = None;
        // Loops that carry nothing of it may have had more rounds.
        let rounds = |id: &LoopId| self.steps.contains(&Step::Round(*id));
        let mut deeper = false;
        for id in inside {
            let span = noted.loops.get(id)?.span;
            let same_round = !deeper && has(span, self.at);
            let carries = self.steps.contains(&Step::Before(*id)) || rounds(id);
            if !same_round && !carries {
                last.push(span);
            }
            deeper |= rounds(id);
        }
        // Also those that the branch is in, but not as one of their rounds: a part of such a loop may be executed once more behind it.
        for (id, Looped { span, .. }) in &noted.loops {
            let carries = self.steps.contains(&Step::Before(*id)) || rounds(id);
            let around = places.iter().any(|place| has(*span, *place));
            if around && !carries && !has(*span, self.at) {
                last.push(*span);
            }
        }
        for step in &self.steps {
            let (Step::Before(id) | Step::Round(id)) = step;
            let looped = noted.loops.get(id)?;
            if !inside.contains(id) {
                over.push(looped.span);
                last.extend(&looped.last);
            }
            match step {
                // What lies between is not known where there was another round of another loop.
                _ if round.is_some() => return None,
                Step::Round(_) => round = Some(looped.span),
                Step::Before(_) if self.at >= looped.span.0 => return None,
                Step::Before(_) => {}
            }
        }
        let spans = match round {
            None if self.at <= place => vec![(self.at, place)],
            None => return None,
            Some(round) if !has(round, self.at) => return None,
            Some(round) if over.contains(&round) => {
                if place < round.1 {
                    return None;
                }
                last.push((self.at, round.1));
                vec![(round.1, place)]
            }
            Some(round) if has(round, place) => {
                // A loop that is over now may have had more rounds then.
                last.push((self.at, round.1));
                vec![(round.0, place)]
            }
            Some(_) => return None,
        };
        places.push(self.at);
        let mut sites = noted.among(&last, &without, &places);
        without.append(&mut over);
        sites.extend(noted.among(&spans, &without, &places));
        Some(Between {
            sites,
            tests: BTreeSet::from([self.at]),
        })
    }
}
