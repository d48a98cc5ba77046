//! Waits for the phase in which an own arrival counted, as waits for a parity.
//!
//! Let a thread's arrivals at an mbarrier be numbered from 0. If arrival `k` counts in phase `k`, a wait for its state is a
//! wait for the parity of `k`. So it has to be shown that nobody gets out of step: that no phase `k` is complete before the
//! thread has made arrival `k`.
//!
//! A thread that waits after each of its arrivals makes at most one of them in each phase. If all who arrive wait so, and
//! together they make no more arrivals in a round than a phase takes, phase `k` needs everybody's arrival `k`.
//!
//! Otherwise some arrive only, as the producer of a ring does. Suppose that arrival `k` of a thread that waits counts in a
//! later phase. Then so does each arrival behind it, up to the last one, `n - 1`. To come to its end, the thread needs `n + 1`
//! complete phases. But it makes `n` arrivals and nobody makes more than one more, so there are too few: the thread hangs.
//! In the text, it waits right before arrival `k` for phase `k - 1`, which lets it pass at once if it is in step. If it is not, it
//! makes no arrival in the phase of the one before, and hangs for the same reason. What comes before this wait is the
//! same for everybody else as what comes before the arrival. So the kernel has a run that hangs exactly if the text has one.
//!
//! How often others arrive is seen by comparing loops. Which mbarrier of a ring an arrival is at has to follow from its number.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::sketch::Role;
use crate::recover::sketch::every_line;
use crate::recover::sketch::every_line_mut;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;
use crate::recover::write::counts;

const UNORDERED: &str = "a wait for the state of an arrival is followed where it comes behind each arrival of its warp at the mbarrier, in the same block";
const ELSEWHERE: &str =
    "which mbarrier of a ring an arrival is at does not follow from how many came before";
const TOO_MANY: &str = "more may arrive in a round than a phase takes: which phase a state names depends on the schedule";
const UNEQUAL: &str = "others may arrive more than once more often than a warp that waits for the states of its arrivals";
const INITIALISED: &str =
    "how many arrivals a phase takes, for whose states warps wait, is not known";

/// Mbarriers at which warps wait for states of their arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    rank: u32,
    variable: VariableId,
    places: BTreeSet<i128>,
    steps: Steps,
    /// How many warps arrive in a round, where each of those that do not wait makes equally many arrivals at once, and all
    /// together as many as a phase takes.
    warps: Option<i128>,
}

/// Who stays in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// All who arrive wait for the states of their arrivals.
    Certain,
    /// Others arrive only.
    Guarded,
}

/// A role, and where each of its objects may lie.
struct Member<'a> {
    role: &'a Role,
    inputs: &'a Inputs,
    counts: BTreeMap<u32, Number>,
}

impl<'a> Member<'a> {
    fn new(role: &'a Role, inputs: &'a Inputs) -> Self {
        Self {
            role,
            inputs,
            counts: counts(&role.lines),
        }
    }

    fn places(&self, object: &Object) -> Option<BTreeSet<i128>> {
        places(&object.offset, &|atomic| {
            self.inputs.range_of(atomic, &self.counts)
        })
    }

    /// Whether an object may be one of a ring. What is not known may be any of its variable.
    fn hits(&self, object: &Object, ring: &Ring) -> bool {
        let same = object.rank == ring.rank && object.variable == ring.variable;
        same && self
            .places(object)
            .is_none_or(|places| !places.is_disjoint(&ring.places))
    }

    /// How many arrivals an action makes at a ring.
    fn arrives<'l>(&self, line: &'l Line, ring: &Ring) -> Option<(&'l Object, Option<i128>)> {
        let Line::Action { action, .. } = line else {
            return None;
        };
        let (object, count) = match action {
            Action::Arrive { object, count } => (object, count.as_constant()),
            Action::ArriveExpect { object, .. } | Action::Commit { object } => (object, Some(1)),
            _ => return None,
        };
        self.hits(object, ring).then_some((object, count))
    }

    /// Whether the role waits for states of its arrivals at a ring.
    fn awaits(&self, ring: &Ring) -> bool {
        let mut found = false;
        every_line(&self.role.lines, &mut |line| {
            found |= self.waits(line, ring).is_some()
        });
        found
    }

    /// Whether lines have to do with the phases of a ring.
    fn touches(&self, lines: &[Line], ring: &Ring) -> bool {
        let mut found = false;
        every_line(lines, &mut |line| {
            found |= self.arrives(line, ring).is_some() || self.waits(line, ring).is_some();
        });
        found
    }

    fn waits<'l>(&self, line: &'l Line, ring: &Ring) -> Option<(&'l Object, &'l Number)> {
        match line {
            Line::Action {
                action: Action::WaitOwn { object, number, .. },
                ..
            } => self.hits(object, ring).then_some((object, number)),
            _ => None,
        }
    }
}

/// Makes waits for states waits for parities, and marks of arrivals marks of rounds.
pub fn settle(roles: &mut [Role], inputs: &Inputs) -> Result<Vec<Ring>, Obstacle> {
    let mut rings = rings(roles, inputs);
    for ring in &mut rings {
        (ring.steps, ring.warps) = checked(roles, inputs, ring)?;
    }
    for role in roles {
        let member = Member::new(role, inputs);
        let of = |object: &Object| rings.iter().find(|ring| member.hits(object, ring));
        let parity = |number: &Number, ring: &Ring, more: i128| {
            let stages = i128::try_from(ring.places.len()).ok()?;
            let turn = number.divided(stages)?;
            turn.plus(&Number::constant(more))?.remainder(2)
        };
        let mut failed = false;
        let mut lines = role.lines.clone();
        retain(&mut lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return true;
            };
            match action {
                Action::WaitOwn { object, number, .. } => {
                    let parity = of(object).and_then(|ring| parity(number, ring, 0));
                    failed |= parity.is_none();
                    *action = Action::Wait {
                        object: object.clone(),
                        parity: parity.unwrap_or_default(),
                    };
                    true
                }
                Action::Numbered { object, number, .. } => {
                    let Some(ring) = of(object).filter(|ring| member.awaits(ring)) else {
                        return false;
                    };
                    let before = parity(number, ring, 1);
                    failed |= before.is_none();
                    *action = Action::Round {
                        object: object.clone(),
                        before: before.filter(|_| ring.steps == Steps::Guarded),
                    };
                    true
                }
                _ => true,
            }
        });
        if failed {
            return refuse("a number is too large", &Location::default());
        }
        role.lines = lines;
    }
    Ok(rings)
}

/// Takes the marks of rounds out. Arrivals of several lanes in one round become one, at the last of them: the phase is not complete
/// before. Warps that might get out of step wait for the phase before.
pub fn in_step(lines: &mut Vec<Line>) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        in_step(block);
    }
    let mut at = 0;
    while at < lines.len() {
        if !join(lines, at) {
            at += 1;
        }
    }
    retain(lines, &mut |line| {
        let Line::Action { action, .. } = line else {
            return true;
        };
        if let Action::Round { object, before } = action {
            let Some(parity) = before.take() else {
                return false;
            };
            *action = Action::Wait {
                object: object.clone(),
                parity,
            };
        }
        true
    });
}

/// Makes the arrival behind the mark at a place part of the next one of its round.
fn join(lines: &mut Vec<Line>, at: usize) -> bool {
    let Some(Line::Action {
        action: mark @ Action::Round { .. },
        ..
    }) = lines.get(at).cloned()
    else {
        return false;
    };
    let between = lines.iter().skip(at + 1).position(
        |line| !matches!(line, Line::Action { action, .. } if passes(action) && *action != mark),
    );
    let Some(behind) = between.map(|length| at + 1 + length) else {
        return false;
    };
    if !matches!(&lines[behind], Line::Action { action, .. } if *action == mark) {
        return false;
    }
    let (Some((first, expects)), Some((second, mut joined))) =
        (arrival(lines, at + 1), arrival(lines, behind + 1))
    else {
        return false;
    };
    let (Some(count), Line::Action { location, .. }) = (first.plus(&second), &lines[behind + 1])
    else {
        return false;
    };
    let Action::Round { object, .. } = &mark else {
        return false;
    };
    let action = Action::Arrive {
        object: object.clone(),
        count,
    };
    let location = location.clone();
    joined.push(lines[behind].clone());
    joined.push(Line::Action { action, location });
    lines.splice(behind..=behind + 1, joined);
    lines.splice(at..=at + 1, expects);
    true
}

/// Whether an action lets its warp pass.
fn passes(action: &Action) -> bool {
    matches!(
        action,
        Action::Arrive { .. }
            | Action::ArriveExpect { .. }
            | Action::Expect { .. }
            | Action::Complete { .. }
            | Action::Copy { .. }
            | Action::Commit { .. }
            | Action::Round { .. }
    )
}

/// How many arrivals a line makes, and what it expects before.
fn arrival(lines: &[Line], at: usize) -> Option<(Number, Vec<Line>)> {
    let Line::Action { action, location } = lines.get(at)? else {
        return None;
    };
    match action {
        Action::Arrive { count, .. } => Some((count.clone(), Vec::new())),
        Action::ArriveExpect { object, bytes } => {
            let action = Action::Expect {
                object: object.clone(),
                bytes: bytes.clone(),
            };
            let location = location.clone();
            Some((Number::constant(1), vec![Line::Action { action, location }]))
        }
        _ => None,
    }
}

/// The roles with warps that arrive once in each round in place of lanes; none where nothing changes.
///
/// Let nobody have got out of step, and `n` warps arrive only, `w` times each. A phase is complete when all who wait
/// have arrived and those who arrive only have made `n * w` arrivals for each phase so far: as many in both texts, counted in
/// warps. It is complete before that where they have made more. Then it takes one arrival of a warp more to complete a phase of
/// these roles without the last one that waits, who is out of step from then on, and hangs. So where these roles do not hang, no
/// phase of the kernel is complete before, and the two do the same. Where they hang, the kernel need not.
pub fn by_warp(roles: &[Role], rings: &[Ring], inputs: &Inputs) -> Option<Vec<Role>> {
    let mut changed = roles.to_vec();
    let rings = rings
        .iter()
        .filter_map(|ring| Some((ring, ring.warps?)))
        .collect::<Vec<_>>();
    for (role, new) in roles.iter().zip(&mut changed) {
        let member = Member::new(role, inputs);
        let inside = |object: &Object, ring: &Ring| {
            let places = member.places(object);
            places.is_some_and(|places| places.is_subset(&ring.places))
        };
        let mut fits = true;
        every_line_mut(&mut new.lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return;
            };
            let of = |object: &Object| rings.iter().find(|(ring, _)| member.hits(object, ring));
            match action {
                Action::Init { object, count } => {
                    if let Some((ring, warps)) = of(object) {
                        fits &= inside(object, ring);
                        *count = *warps;
                    }
                }
                Action::Arrive { object, count } if of(object).is_some() => {
                    *count = Number::constant(1);
                }
                _ => {}
            }
        });
        if !fits {
            return None;
        }
    }
    (changed != roles).then_some(changed)
}

fn retain(lines: &mut Vec<Line>, keep: &mut dyn FnMut(&mut Line) -> bool) {
    lines.retain_mut(|line| keep(line));
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        retain(block, keep);
    }
}

/// The mbarriers that are waited for so; those that one wait may mean belong together.
fn rings(roles: &[Role], inputs: &Inputs) -> Vec<Ring> {
    let mut rings: Vec<Ring> = Vec::new();
    for role in roles {
        let member = Member::new(role, inputs);
        every_line(&role.lines, &mut |line| {
            let Line::Action {
                action: Action::WaitOwn { object, .. },
                ..
            } = line
            else {
                return;
            };
            let mut ring = Ring {
                rank: object.rank,
                variable: object.variable,
                places: member.places(object).unwrap_or_default(),
                steps: Steps::Guarded,
                warps: None,
            };
            let (same, others) = rings.drain(..).partition(|other: &Ring| {
                (other.rank, other.variable) == (ring.rank, ring.variable)
                    && (other.places.is_empty() || !other.places.is_disjoint(&ring.places))
            });
            rings = others;
            let same: Vec<Ring> = same;
            ring.places
                .extend(same.into_iter().flat_map(|other| other.places));
            rings.push(ring);
        });
    }
    rings
}

/// Who stays in step at a ring, and how many warps arrive in a round; an obstacle where somebody may get out of step.
fn checked(
    roles: &[Role],
    inputs: &Inputs,
    ring: &Ring,
) -> Result<(Steps, Option<i128>), Obstacle> {
    let members: Vec<Member> = roles.iter().map(|role| Member::new(role, inputs)).collect();
    let place = first_wait(&members, ring);
    let most = arrivals(&members, ring)
        .ok_or(())
        .or_else(|()| refuse(INITIALISED, &place))?;
    let mut waiting = Vec::new();
    let mut others = Vec::new();
    let mut all = 0_i128;
    let mut rounds_of = 0_i128;
    let mut alike = true;
    let mut each = BTreeSet::new();
    for member in &members {
        if !member.touches(&member.role.lines, ring) {
            continue;
        }
        let mut rounds = Rounds {
            member,
            ring,
            class: None,
            most: 0,
            least: i128::MAX,
        };
        if member.awaits(ring) {
            rounds.block(&member.role.lines)?;
            rounds.numbered(&member.role.lines, &place)?;
            alike &= rounds.most == rounds.least;
            waiting.push(member);
        } else {
            others.push(member);
            rounds.most = heaviest(member, ring, &mut each)
                .ok_or(())
                .or_else(|()| refuse(TOO_MANY, &place))?;
            each.insert(rounds.most);
        }
        let warps = i128::try_from(member.role.warps.len()).unwrap_or(i128::MAX);
        all = all.saturating_add(rounds.most.saturating_mul(warps));
        rounds_of = rounds_of.saturating_add(warps);
    }
    if all > most {
        return refuse(TOO_MANY, &place);
    }
    let warps = (alike && each.len() <= 1 && all == most).then_some(rounds_of);
    if others.is_empty() {
        return Ok((Steps::Certain, warps));
    }
    for one in &waiting {
        for other in waiting.iter().chain(&others) {
            let fits = [false, true].into_iter().any(|by_turn| {
                let mine = shapes(one, ring, &one.role.lines, by_turn, &mut Vec::new());
                let theirs = shapes(other, ring, &other.role.lines, by_turn, &mut Vec::new());
                match (mine, theirs) {
                    (Some(mine), Some(theirs)) => at_most_once_more(&theirs, &mine, ring),
                    _ => false,
                }
            });
            if !fits {
                return refuse(UNEQUAL, &place);
            }
        }
    }
    Ok((Steps::Guarded, warps))
}

fn first_wait(members: &[Member], ring: &Ring) -> Location {
    let mut found = None;
    for member in members {
        every_line(&member.role.lines, &mut |line| {
            if let Line::Action { location, .. } = line
                && member.waits(line, ring).is_some()
            {
                found.get_or_insert_with(|| location.clone());
            }
        });
    }
    found.unwrap_or_default()
}

/// How many arrivals complete a phase of each mbarrier of a ring, each of which is initialised once.
fn arrivals(members: &[Member], ring: &Ring) -> Option<i128> {
    let mut found = BTreeMap::new();
    for member in members {
        let mut inside = Vec::new();
        initialised(member, ring, &member.role.lines, &mut inside, &mut found)?;
    }
    let counts: BTreeSet<i128> = found.values().copied().collect();
    let all = ring.places.iter().all(|place| found.contains_key(place));
    match counts.first() {
        Some(count) if counts.len() == 1 && all && !ring.places.is_empty() => Some(*count),
        _ => None,
    }
}

fn initialised(
    member: &Member,
    ring: &Ring,
    lines: &[Line],
    inside: &mut Vec<u32>,
    found: &mut BTreeMap<i128, i128>,
) -> Option<()> {
    for line in lines {
        if let Line::Action {
            action: Action::Init { object, count },
            ..
        } = line
            && member.hits(object, ring)
        {
            let moves = |index: &u32| object.offset.parts.contains_key(&Atomic::Index(*index));
            if !inside.iter().all(moves) {
                return None;
            }
            for place in member.places(object)? {
                // A second one begins the phases anew.
                if found.insert(place, *count).is_some() {
                    return None;
                }
            }
        }
        if let Line::For { index, .. } = line {
            inside.push(*index);
        }
        for block in line.blocks() {
            initialised(member, ring, block, inside, found)?;
        }
        if let Line::For { .. } = line {
            inside.pop();
        }
    }
    Some(())
}

/// The rounds of a warp that waits: its arrivals at one mbarrier, and the wait behind them.
struct Rounds<'a> {
    member: &'a Member<'a>,
    ring: &'a Ring,
    class: Option<u32>,
    /// The most arrivals of a round, and the fewest.
    most: i128,
    least: i128,
}

impl Rounds<'_> {
    fn block(&mut self, lines: &[Line]) -> Result<(), Obstacle> {
        let mut marks: Vec<(&Object, &Number)> = Vec::new();
        let mut open: Option<(&Object, &Number, i128)> = None;
        let mut last = Location::default();
        for line in lines {
            if let Line::Action { location, .. } = line {
                last = location.clone();
            }
            if let Some((object, count)) = self.member.arrives(line, self.ring) {
                let mut own = marks.extract_if(.., |(other, _)| *other == object);
                let (Some((_, number)), None, Some(count)) = (own.next(), own.next(), count) else {
                    return refuse(UNORDERED, &last);
                };
                let before = match open {
                    None => 0,
                    Some((other, same, before)) if (other, same) == (object, number) => before,
                    Some(_) => return refuse(UNORDERED, &last),
                };
                let all = before.saturating_add(count);
                self.most = self.most.max(all);
                open = Some((object, number, all));
                continue;
            }
            if let Some((object, number)) = self.member.waits(line, self.ring) {
                match open.take() {
                    Some((other, same, all)) if (other, same) == (object, number) => {
                        self.least = self.least.min(all);
                        continue;
                    }
                    _ => return refuse(UNORDERED, &last),
                }
            }
            match line {
                Line::Action {
                    action:
                        Action::Numbered {
                            object,
                            number,
                            class,
                        },
                    ..
                } if self.member.hits(object, self.ring) => {
                    if *self.class.get_or_insert(*class) != *class {
                        return refuse(ELSEWHERE, &last);
                    }
                    marks.push((object, number));
                }
                Line::Action {
                    action: Action::Wait { object, .. },
                    ..
                } if self.member.hits(object, self.ring) => return refuse(UNORDERED, &last),
                Line::Return if open.is_some() => return refuse(UNORDERED, &last),
                _ => {}
            }
            for block in line.blocks() {
                if open.is_some() && (self.member.touches(block, self.ring) || returns(block)) {
                    return refuse(UNORDERED, &last);
                }
                self.block(block)?;
            }
        }
        if open.is_some() || !marks.is_empty() {
            return refuse(UNORDERED, &last);
        }
        Ok(())
    }

    /// Whether the arrivals of the class are all at the ring, each at the mbarrier whose turn it is.
    fn numbered(&self, lines: &[Line], place: &Location) -> Result<(), Obstacle> {
        let mut fits = true;
        every_line(lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return;
            };
            let (object, number) = match action {
                Action::Numbered {
                    object,
                    number,
                    class,
                }
                | Action::WaitOwn {
                    object,
                    number,
                    class,
                } => {
                    let mine = Some(*class) == self.class;
                    if mine != self.member.hits(object, self.ring) {
                        fits = false;
                    }
                    if !mine {
                        return;
                    }
                    (object, number)
                }
                _ => return,
            };
            fits &= turn(object, number, self.ring);
        });
        if !fits {
            return refuse(ELSEWHERE, place);
        }
        Ok(())
    }
}

/// Whether an arrival of this number is at the mbarrier whose turn it is.
fn turn(object: &Object, number: &Number, ring: &Ring) -> bool {
    let places: Vec<i128> = ring.places.iter().copied().collect();
    let [base, rest @ ..] = places.as_slice() else {
        return false;
    };
    let stride = rest.first().map_or(0, |next| next - base);
    if places.windows(2).any(|pair| pair[1] - pair[0] != stride) {
        return false;
    }
    let wanted = i128::try_from(places.len())
        .ok()
        .and_then(|stages| number.remainder(stages))
        .and_then(|turn| turn.times(stride))
        .and_then(|offset| offset.plus(&Number::constant(*base)));
    object.rank == ring.rank
        && object.variable == ring.variable
        && wanted.as_ref() == Some(&object.offset)
}

fn returns(lines: &[Line]) -> bool {
    let mut found = false;
    every_line(lines, &mut |line| found |= *line == Line::Return);
    found
}

/// When a warp arrives at a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// Where: by its offset, or at the mbarrier whose turn it is.
    Arrive(Option<Number>),
    Loop(Number, Vec<Shape>),
    If(Condition, Vec<Shape>, Vec<Shape>),
}

/// The most arrivals that a role makes one behind the other at one mbarrier, and how many its statements make.
fn heaviest(member: &Member, ring: &Ring, each: &mut BTreeSet<i128>) -> Option<i128> {
    let mut most = 0;
    let mut known = true;
    weigh(member, ring, &member.role.lines, &mut |weight, all| {
        each.extend(weight);
        match all {
            Some(all) => most = most.max(all),
            None => known = false,
        }
    });
    known.then_some(most)
}

/// Does something with the arrivals of every statement, and with those of it and the ones right before it.
fn weigh(
    member: &Member,
    ring: &Ring,
    lines: &[Line],
    with: &mut dyn FnMut(Option<i128>, Option<i128>),
) {
    let mut before: Option<(&Object, i128)> = None;
    for line in lines {
        if let Some((object, count)) = member.arrives(line, ring) {
            let Some(count) = count else {
                with(None, None);
                continue;
            };
            let all = match before {
                Some((other, sum)) if other == object => sum.saturating_add(count),
                _ => count,
            };
            before = Some((object, all));
            with(Some(count), Some(all));
        }
        for block in line.blocks() {
            if member.touches(block, ring) {
                before = None;
            }
            weigh(member, ring, block, with);
        }
    }
}

/// The arrivals of lines at a ring, with the loops and branches around them; those one behind the other at one mbarrier are
/// one. Loops are numbered by their depth. None where which mbarrier it is depends on what the role keeps in a variable.
fn shapes(
    member: &Member,
    ring: &Ring,
    lines: &[Line],
    by_turn: bool,
    around: &mut Vec<u32>,
) -> Option<Vec<Shape>> {
    let mut all: Vec<Shape> = Vec::new();
    let mut before: Option<&Object> = None;
    let mut marks: Vec<(&Object, &Number)> = Vec::new();
    for line in lines {
        if let Line::Action {
            action: Action::Numbered { object, number, .. },
            ..
        } = line
        {
            marks.push((object, number));
        }
        if let Some((object, _)) = member.arrives(line, ring) {
            if by_turn {
                let mark = marks.iter().rev().find(|(other, _)| *other == object)?;
                if !turn(object, mark.1, ring) {
                    return None;
                }
            }
            if before != Some(object) {
                let key = named(&object.offset, around)?;
                all.push(Shape::Arrive((!by_turn).then_some(key)));
            }
            before = Some(object);
            continue;
        }
        let blocks: Vec<&Vec<Line>> = line.blocks().collect();
        if !blocks.iter().any(|block| member.touches(block, ring)) {
            continue;
        }
        before = None;
        match line {
            Line::For {
                index, count, body, ..
            } => {
                let count = named(count, around)?;
                around.push(*index);
                let body = shapes(member, ring, body, by_turn, around);
                around.pop();
                all.push(Shape::Loop(count, body?));
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let then = shapes(member, ring, then, by_turn, around)?;
                let otherwise = shapes(member, ring, otherwise, by_turn, around)?;
                let mut known = true;
                condition.each(&mut |number| known &= named(number, around).is_some());
                let condition = condition.replaced(&|atomic| depth(atomic, around))?;
                known.then_some(())?;
                all.push(Shape::If(condition, then, otherwise));
            }
            _ => {}
        }
    }
    Some(all)
}

/// The depth of a loop in place of its number.
fn depth(atomic: &Atomic, around: &[u32]) -> Option<Number> {
    let Atomic::Index(index) = atomic else {
        return None;
    };
    let depth = around.iter().position(|other| other == index)?;
    Some(Number::of(Atomic::Index(u32::try_from(depth).ok()?)))
}

fn named(number: &Number, around: &[u32]) -> Option<Number> {
    if number.mentions(&|atomic| matches!(atomic, Atomic::Variable(_))) {
        return None;
    }
    number.replaced(&|atomic| depth(atomic, around))
}

/// Whether a role arrives at no mbarrier of a ring more than once more often than another.
fn at_most_once_more(theirs: &[Shape], mine: &[Shape], ring: &Ring) -> bool {
    let length = theirs.len();
    (0..=length).any(|from| {
        (from..=length).any(|to| {
            let more = theirs[..from].iter().chain(&theirs[to..]);
            at_most(&theirs[from..to], mine) && once(more, ring)
        })
    })
}

/// Whether arrivals are among others.
fn at_most(theirs: &[Shape], mine: &[Shape]) -> bool {
    let Some((first, rest)) = theirs.split_first() else {
        return true;
    };
    let Some((other, behind)) = mine.split_first() else {
        return false;
    };
    let fits = match (first, other) {
        (Shape::Loop(a, body), Shape::Loop(b, other)) => a == b && at_most(body, other),
        (Shape::If(a, yes, no), Shape::If(b, then, otherwise)) if a == b => {
            at_most(yes, then) && at_most(no, otherwise)
        }
        (Shape::If(_, yes, no), other) => {
            let other = std::slice::from_ref(other);
            at_most(yes, other) && at_most(no, other)
        }
        _ => first == other,
    };
    fits && at_most(rest, behind) || at_most(theirs, behind)
}

/// Whether arrivals are at different mbarriers.
fn once<'a>(shapes: impl Iterator<Item = &'a Shape>, ring: &Ring) -> bool {
    let mut offsets = BTreeSet::new();
    let mut turns = 0_i128;
    for shape in shapes {
        let (arrival, rounds) = match shape {
            Shape::Loop(count, body) => match (count.as_constant(), body.as_slice()) {
                (Some(count), [one]) => (one, count),
                _ => return false,
            },
            other => (other, 1),
        };
        match arrival {
            Shape::Arrive(None) => turns = turns.saturating_add(rounds),
            Shape::Arrive(Some(offset)) => {
                let stages = i128::try_from(ring.places.len()).unwrap_or(0);
                if rounds > stages {
                    return false;
                }
                for round in 0..rounds {
                    let at = offset.value(&|atomic| match atomic {
                        Atomic::Index(0) => Some(round),
                        _ => None,
                    });
                    if at.is_none_or(|at| !offsets.insert(at)) {
                        return false;
                    }
                }
            }
            _ => return false,
        }
    }
    turns <= i128::try_from(ring.places.len()).unwrap_or(0)
}
