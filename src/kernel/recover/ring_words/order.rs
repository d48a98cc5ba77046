//! Checks that two rings of mbarriers order the stores and the loads of a ring word, so that each
//! load reads the word of its round.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::lower::Inputs;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::ring_words::RingWordLoop;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::counts;
use crate::recover::tree::FROM_MEMORY;
use crate::recover::tree::LoopId;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Places of equal size at equal distances, which successive rounds use in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ring {
    rank: u32,
    variable: VariableId,
    first: i128,
    distance: i128,
    stages: i128,
}

impl Ring {
    /// The ring whose place of round `index` is this object.
    fn of(object: &Object, index: LoopId) -> Option<Self> {
        let mut parts = object.offset.parts.iter();
        let (distance, stages) = match (parts.next(), parts.next()) {
            (None, _) => (0, 1),
            (Some((Atomic::Remainder(inner, stages), distance)), None)
                if **inner == Number::of(Atomic::Index(index)) && *distance > 0 =>
            {
                (*distance, *stages)
            }
            _ => return None,
        };
        Some(Self {
            rank: object.rank,
            variable: object.variable,
            first: object.offset.constant,
            distance,
            stages,
        })
    }

    /// Its first and its last byte, if each place has `each` bytes.
    fn bytes(&self, each: i128) -> Option<Range> {
        let last = self.distance.checked_mul(self.stages.checked_sub(1)?)?;
        let end = self.first.checked_add(last)?.checked_add(each)?;
        Some((self.first, end.checked_sub(1)?))
    }

    /// The parity of the phase of round `index`, or of `more` phases later.
    fn parity(&self, index: LoopId, more: i128) -> Option<Number> {
        let round = Number::of(Atomic::Index(index)).divided(self.stages)?;
        round.plus(&Number::constant(more))?.remainder(2)
    }
}

/// What a warp does: the rank of its CTA, its number, and its lines.
type Program = (u32, u32, Vec<Line>);

/// Bytes of an mbarrier.
const MBARRIER: i128 = 8;

/// The body of a loop that is itself in no loop.
struct Body<'l> {
    index: LoopId,
    /// The lines of the body, in their order.
    lines: &'l [Line],
}

/// Where a role does a wanted action.
enum Found<'l> {
    Nowhere,
    /// In each iteration of one loop.
    Once(Body<'l>),
    Elsewhere(Location),
}

struct Checker<'p> {
    programs: &'p [Program],
    /// For each program, the counts of its loops.
    counts: Vec<BTreeMap<u32, Number>>,
    inputs: &'p Inputs,
}

/// Shows that loops which ring words control read the words of their rounds. Refuses them
/// otherwise.
///
/// The argument is about the lowered lines. For round `i`, let `i = S * q + s`. Suppose that up to
/// some moment every read gave the word of its round. Then all warps did what the lines say.
///
/// - A warp that reads in round i has waited for the phases 0 to q of `full[s]`, in turn. So at
///   least q + 1 of its phases are complete: a wait for a parity passes only then. Only the writer
///   arrives at `full`, in each round as often as a phase takes, and behind its stores. So it has
///   stored in round i.
/// - Before the writer stores in round i + S, it has waited for the phases 0 to q of `empty[s]`, in
///   turn. So q + 1 of its phases are complete. All who arrive at `empty` do so behind a wait for
///   the phase of their round of `full`. The writer has not yet arrived in round i + S, so none of
///   them has arrived at `empty[s]` in more than q + 1 rounds. Together they arrive in a round no
///   more often than a phase takes. So each has arrived as often as in q + 1 rounds, and a reader
///   arrives behind its read.
/// - Nobody else stores to these bytes.
///
/// So there is no first load that reads something else. Stores are visible to the loads, since
/// arrivals release and waits acquire. If some lanes of a warp read or write and others arrive, all
/// lanes reconverge in between.
pub fn check(programs: &[Program], inputs: &Inputs) -> Result<bool, Obstacle> {
    if inputs.ring_word_loops.is_empty() {
        return Ok(false);
    }
    let checker = Checker {
        programs,
        counts: programs.iter().map(|(_, _, lines)| counts(lines)).collect(),
        inputs,
    };
    let numbers: BTreeSet<u32> = inputs.ring_word_loops.iter().map(|by| by.input).collect();
    for number in numbers {
        checker.sequence(number)?;
    }
    Ok(true)
}

/// Removes the marks from lines.
pub fn take_out(lines: &mut Vec<Line>) {
    lines.retain(|line| {
        !matches!(
            line,
            Line::Action {
                action: Action::RingWordLoad { .. } | Action::RingWordStore { .. } | Action::Ahead,
                ..
            }
        )
    });
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        take_out(block);
    }
}

impl Checker<'_> {
    /// Checks that all loads that one input stands for read the words of one ring, each in its
    /// rounds.
    fn sequence(&self, input: u32) -> Result<(), Obstacle> {
        let loads: Vec<u32> = self
            .inputs
            .ring_word_loops
            .iter()
            .filter(|by| by.input == input)
            .map(|by| by.load)
            .collect();
        let is_read = |action: &Action| matches!(action, Action::RingWordLoad { number, .. } if loads.contains(number));
        // What is read.
        let mut words: Vec<(Ring, i128)> = Vec::new();
        let mut readers = Vec::new();
        for (at, (_, _, lines)) in self.programs.iter().enumerate() {
            let body = match found(lines, &is_read) {
                Found::Nowhere => continue,
                Found::Elsewhere(location) => {
                    return refuse(
                        "a word that is handed over in shared memory is read elsewhere than once in each round of a loop",
                        &location,
                    );
                }
                Found::Once(body) => body,
            };
            for (_, action, location) in actions(body.lines) {
                let Action::RingWordLoad {
                    place,
                    number,
                    bytes,
                } = action
                else {
                    continue;
                };
                if !loads.contains(number) {
                    continue;
                }
                let ring = place.as_ref().and_then(|place| Ring::of(place, body.index));
                let by = |by: &RingWordLoop| by.load == *number && by.in_loop != body.index;
                let Some(ring) = ring.filter(|_| !self.inputs.ring_word_loops.iter().any(by))
                else {
                    return refuse(
                        "where a word is read that is handed over in shared memory does not follow from the round",
                        location,
                    );
                };
                words.push((ring, i128::from(*bytes)));
            }
            readers.push(at);
        }
        let Some(word) = words
            .first()
            .filter(|word| words.iter().all(|other| other == *word))
        else {
            return refuse(
                "warps read different words that are handed over in shared memory",
                &Location::default(),
            );
        };
        self.handed_over(word, &readers, &is_read)
    }

    fn handed_over(
        &self,
        (ring, bytes): &(Ring, i128),
        readers: &[usize],
        is_read: &dyn Fn(&Action) -> bool,
    ) -> Result<(), Obstacle> {
        const UNWRITTEN: &str = "a word that is handed over in shared memory is not stored once in each round of one loop of one warp";
        let Some(range) = ring.bytes(*bytes) else {
            return refuse(UNWRITTEN, &Location::default());
        };
        if ring.stages > 1 && ring.distance < *bytes {
            return refuse(UNWRITTEN, &Location::default());
        }
        let mut writer = None;
        for (at, (_, _, lines)) in self.programs.iter().enumerate() {
            let reaches = |action: &Action| match action {
                Action::RingWordStore { place: None, .. } => true,
                Action::RingWordStore {
                    place: Some(place),
                    bytes,
                } => self.overlaps(at, place, i128::from(*bytes), ring, range),
                _ => false,
            };
            match found(lines, &reaches) {
                Found::Nowhere => {}
                Found::Elsewhere(location) => return refuse(UNWRITTEN, &location),
                Found::Once(_) if writer.is_some() => {
                    return refuse(UNWRITTEN, &Location::default());
                }
                Found::Once(body) => {
                    let stores: Vec<_> = actions(body.lines)
                        .filter(|(_, action, _)| reaches(action))
                        .collect();
                    let [
                        (
                            line,
                            Action::RingWordStore {
                                place: Some(place),
                                bytes: stored,
                            },
                            location,
                        ),
                    ] = stores[..]
                    else {
                        return refuse(UNWRITTEN, &Location::default());
                    };
                    // The bytes of the word are among those that are stored, in each stage.
                    let whole = Ring::of(place, body.index).is_some_and(|to| {
                        let end = ring.first.checked_add(*bytes);
                        let stored_end = to.first.checked_add(i128::from(*stored));
                        (to.rank, to.variable, to.distance, to.stages)
                            == (ring.rank, ring.variable, ring.distance, ring.stages)
                            && to.first <= ring.first
                            && end <= stored_end
                            && (to.stages == 1 || i128::from(*stored) <= to.distance)
                    });
                    if !whole {
                        return refuse(UNWRITTEN, location);
                    }
                    writer = Some((at, body, line, location));
                }
            }
        }
        let Some((writer, body, store, location)) = writer else {
            return refuse(
                format!("{FROM_MEMORY}, to which nobody hands it over"),
                &Location::default(),
            );
        };
        let empties: Vec<Ring> = actions(&body.lines[..store])
            .filter_map(|(_, action, _)| waited(action, body.index, ring.stages, 1))
            .collect();
        let fulls: Vec<Ring> = actions(&body.lines[store..])
            .filter_map(|(_, action, _)| match action {
                Action::Arrive { object, .. } => Ring::of(object, body.index),
                _ => None,
            })
            .filter(|full| full.stages == ring.stages)
            .collect();
        let mut fails = Obstacle::new(
            "a word that is handed over in shared memory is not stored behind a wait and in front of an arrival in its round",
            location.clone(),
        );
        for full in &fulls {
            for empty in &empties {
                let sides = Sides {
                    full,
                    empty,
                    writer,
                    readers,
                };
                match self.ordered(&sides, store, is_read) {
                    Ok(()) => return Ok(()),
                    Err(obstacle) => fails = obstacle,
                }
            }
        }
        Err(fails)
    }

    /// Whether two rings order what is stored and what is read.
    fn ordered(
        &self,
        sides: &Sides,
        store: usize,
        is_read: &dyn Fn(&Action) -> bool,
    ) -> Result<(), Obstacle> {
        let Sides {
            full,
            empty,
            writer,
            readers,
        } = sides;
        const OTHERS: &str = "others than the warp that hands a word over in shared memory may complete the phases that say so";
        const EARLY: &str = "a word that is handed over in shared memory may be read before it is stored, or stored before it is read";
        let at_full = self.arrivals_of_phase(full)?;
        let at_empty = self.arrivals_of_phase(empty)?;
        let mut released = 0_i128;
        for (at, (_, _, lines)) in self.programs.iter().enumerate() {
            let fills = |action: &Action| self.completes(at, action, full);
            let frees = |action: &Action| self.completes(at, action, empty);
            match found(lines, &fills) {
                Found::Nowhere => {}
                Found::Once(body) if at == *writer => {
                    let mut all = 0_i128;
                    let mut last = 0;
                    for (line, action, location) in actions(body.lines).filter(|one| fills(one.1)) {
                        all = counted(action, full, body.index)
                            .and_then(|count| all.checked_add(count))
                            .ok_or_else(|| obstacle(OTHERS, location))?;
                        last = line;
                    }
                    if all != at_full || last < store || ahead(body.lines, store, last) {
                        return refuse(EARLY, &place_of(body.lines, last));
                    }
                }
                Found::Once(body) => return refuse(OTHERS, &place_of(body.lines, 0)),
                Found::Elsewhere(location) => return refuse(OTHERS, &location),
            }
            match found(lines, &frees) {
                Found::Nowhere if readers.contains(&at) => {
                    return refuse(EARLY, &Location::default());
                }
                Found::Nowhere => {}
                Found::Elsewhere(location) => return refuse(EARLY, &location),
                Found::Once(body) => {
                    // A read in another loop does not stand behind a wait of this loop.
                    match found(lines, is_read) {
                        Found::Nowhere => {}
                        Found::Once(reads) if reads.index == body.index => {}
                        Found::Once(reads) => return refuse(EARLY, &place_of(reads.lines, 0)),
                        Found::Elsewhere(location) => return refuse(EARLY, &location),
                    }
                    let wait = actions(body.lines).find_map(|(line, action, _)| {
                        let ring = waited(action, body.index, full.stages, 0)?;
                        (ring == **full).then_some(line)
                    });
                    let Some(wait) = wait else {
                        return refuse(EARLY, &place_of(body.lines, 0));
                    };
                    let mut last = 0;
                    for (line, action, location) in actions(body.lines).filter(|one| frees(one.1)) {
                        released = counted(action, empty, body.index)
                            .filter(|_| line > wait)
                            .and_then(|count| released.checked_add(count))
                            .ok_or_else(|| obstacle(EARLY, location))?;
                        last = line;
                    }
                    for (line, _, location) in actions(body.lines).filter(|one| is_read(one.1)) {
                        if line < wait || line > last || ahead(body.lines, line, last) {
                            return refuse(EARLY, location);
                        }
                    }
                }
            }
        }
        match released > at_empty {
            true => refuse(EARLY, &Location::default()),
            false => Ok(()),
        }
    }

    /// How many arrivals a phase of the mbarriers of a ring takes. Each mbarrier has to begin once
    /// and must not end.
    fn arrivals_of_phase(&self, ring: &Ring) -> Result<i128, Obstacle> {
        const LIVES: &str = "mbarriers that hand a word over in shared memory do not begin once each, with one number of arrivals";
        let mut begun: BTreeMap<i128, i128> = BTreeMap::new();
        for (at, (_, _, lines)) in self.programs.iter().enumerate() {
            let mut fails = None;
            each(lines, &mut |action, location| match action {
                Action::Init { object, count } if self.is_in(at, object, ring) => {
                    let known = object.offset.as_constant();
                    let again = known.and_then(|offset| begun.insert(offset, *count));
                    if known.is_none() || again.is_some() {
                        fails.get_or_insert(location.clone());
                    }
                }
                Action::Invalidate { object } if self.is_in(at, object, ring) => {
                    fails.get_or_insert(location.clone());
                }
                _ => {}
            });
            if let Some(location) = fails {
                return refuse(LIVES, &location);
            }
        }
        let places = (0..ring.stages).map(|stage| {
            let offset = ring.distance.checked_mul(stage)?;
            begun.get(&ring.first.checked_add(offset)?).copied()
        });
        let found: Option<BTreeSet<i128>> = places.collect();
        match found
            .map(|found| found.into_iter().collect::<Vec<_>>())
            .as_deref()
        {
            Some([count]) if *count > 0 => Ok(*count),
            _ => refuse(LIVES, &Location::default()),
        }
    }

    /// Whether an action may help to complete a phase of a ring.
    fn completes(&self, at: usize, action: &Action, ring: &Ring) -> bool {
        let helps = !matches!(
            action,
            Action::Init { .. } | Action::Wait { .. } | Action::WaitOwn { .. }
        );
        helps && object_of(action).is_some_and(|object| self.is_in(at, object, ring))
    }

    fn is_in(&self, at: usize, object: &Object, ring: &Ring) -> bool {
        ring.bytes(MBARRIER)
            .is_none_or(|range| self.overlaps(at, object, MBARRIER, ring, range))
    }

    /// Whether `bytes` bytes at a place may be among those of a ring, which has the bytes in
    /// `range`.
    fn overlaps(&self, at: usize, object: &Object, bytes: i128, ring: &Ring, range: Range) -> bool {
        if (object.rank, object.variable) != (ring.rank, ring.variable) {
            return false;
        }
        let of = |atomic: &Atomic| self.inputs.range_of(atomic, &self.counts[at]);
        match object.offset.range(&of) {
            Some((low, high)) => low <= range.1 && range.0 < high.saturating_add(bytes),
            None => true,
        }
    }
}

/// The two rings through which a word is passed, and the programs that write and read it.
struct Sides<'s> {
    full: &'s Ring,
    empty: &'s Ring,
    writer: usize,
    readers: &'s [usize],
}

fn obstacle(reason: &str, location: &Location) -> Obstacle {
    Obstacle::new(reason, location.clone())
}

/// The ring whose phase of this round an action waits for, or the phase that is `more` phases
/// later.
fn waited(action: &Action, index: LoopId, stages: i128, more: i128) -> Option<Ring> {
    let Action::Wait { object, parity } = action else {
        return None;
    };
    let ring = Ring::of(object, index).filter(|ring| ring.stages == stages)?;
    (ring.parity(index, more).as_ref() == Some(parity)).then_some(ring)
}

/// How many arrivals an action makes at a ring in its round. `None` if it does anything else.
fn counted(action: &Action, ring: &Ring, index: LoopId) -> Option<i128> {
    let Action::Arrive { object, count } = action else {
        return None;
    };
    Ring::of(object, index).filter(|of| of == ring)?;
    count.as_constant().filter(|count| *count > 0)
}

/// Whether lanes may come to the arrival in line `last` before others have executed line `first`.
fn ahead(lines: &[Line], first: usize, last: usize) -> bool {
    let between = lines.get(first..last).unwrap_or(lines);
    actions(between).any(|(_, action, _)| *action == Action::Ahead)
}

fn place_of(lines: &[Line], at: usize) -> Location {
    match lines.get(at) {
        Some(Line::Action { location, .. }) => location.clone(),
        _ => Location::default(),
    }
}

/// The actions of a block, with the numbers of their lines. Actions inside of loops and branches
/// are left out.
fn actions(lines: &[Line]) -> impl Iterator<Item = (usize, &Action, &Location)> {
    lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| match line {
            Line::Action { action, location } => Some((at, action, location)),
            _ => None,
        })
}

/// Where a role does a wanted action: in each iteration of a loop that is in no other loop, or
/// elsewhere.
fn found<'l>(lines: &'l [Line], wanted: &dyn Fn(&Action) -> bool) -> Found<'l> {
    let mut place = None;
    each(lines, &mut |action, location| {
        if wanted(action) {
            place.get_or_insert(location);
        }
    });
    let Some(place) = place else {
        return Found::Nowhere;
    };
    let mut bodies = Vec::new();
    let mut outside = false;
    loops(lines, wanted, &mut bodies, &mut outside);
    match (bodies.pop(), bodies.is_empty(), outside) {
        (Some(body), true, false) => Found::Once(body),
        _ => Found::Elsewhere(place.clone()),
    }
}

/// The loops whose bodies do a wanted action, other than in loops and branches inside of them.
fn loops<'l>(
    lines: &'l [Line],
    wanted: &dyn Fn(&Action) -> bool,
    bodies: &mut Vec<Body<'l>>,
    outside: &mut bool,
) {
    for line in lines {
        match line {
            Line::Action { action, .. } => *outside |= wanted(action),
            Line::For { index, body, .. } => {
                let any = |lines: &[Line]| {
                    let mut any = false;
                    each(lines, &mut |action, _| any |= wanted(action));
                    any
                };
                *outside |= body.iter().flat_map(Line::blocks).any(|block| any(block));
                if any(body) {
                    bodies.push(Body {
                        index: *index,
                        lines: body,
                    });
                }
            }
            Line::If {
                then, otherwise, ..
            } => {
                for side in [then, otherwise] {
                    loops(side, wanted, bodies, outside);
                }
            }
            Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
        }
    }
}
