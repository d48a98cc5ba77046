//! Mbarriers that are initialised and invalidated in each iteration of a loop.
//!
//! ```text
//! for i { warp 0: init bar, 1; all: sync; warp 1: arrive bar; warp 0: wait bar 0; all: sync; warp 0: invalidate bar }
//! ```
//!
//! All these lifetimes together become one mbarrier, or one ring, that is used in all iterations. Suppose that a
//! lifetime goes through `K` rounds of the ring. Then round `n` of lifetime `i` is round `i * K + n` of the ring. The
//! conditions are these.
//!
//! - The warp that initialises and invalidates the mbarriers uses them only in between. Other warps use them only
//!   between the first full barrier behind the beginning of the lifetime and the last one before its end. There every
//!   warp is in the same iteration.
//! - The arrivals and bytes of a lifetime are exactly those of `K` phases, so that nothing is left over for the next
//!   lifetime ([`super::ring_rounds`]).
//! - Some warp waits for all of these phases, one after the other, before the end. It cannot pass a wait too early,
//!   because the phase before was complete already.

use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::alike::same;
use crate::recover::barrier_alignment::FullBarriers;
use crate::recover::lower::Inputs;
use crate::recover::mbarrier_lifetimes::Place;
use crate::recover::mbarrier_lifetimes::RoleUses;
use crate::recover::mbarrier_lifetimes::TWICE;
use crate::recover::mbarrier_lifetimes::bare;
use crate::recover::mbarrier_lifetimes::is_launched;
use crate::recover::mbarrier_lifetimes::uses_by_role;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::without;
use crate::recover::ring::Ring;
use crate::recover::ring::RingUses;
use crate::recover::ring_rounds::Piece;
use crate::recover::ring_rounds::completes;
use crate::recover::ring_rounds::covers;
use crate::recover::ring_rounds::ends;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::assigned;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::every_line_mut;
use crate::recover::role_ir::returns;
use crate::recover::shape::Shape;
use crate::recover::tree::Obstacle;

/// The path to a loop: for each level, a line and one of its blocks.
type Way = Vec<(usize, usize)>;

/// The places of mbarriers that begin and end in the body of a loop.
pub fn mbarriers_of_loops(roles: &[Role]) -> BTreeSet<Place> {
    roles
        .iter()
        .flat_map(|role| anew(&role.lines))
        .map(|(_, place)| place)
        .collect()
}

/// Replaces lifetimes that begin and end in each iteration by one ring.
pub fn replace_loop_lifetimes(
    roles: &mut [Role],
    inputs: &Inputs,
    shape: Shape,
) -> Result<(), Obstacle> {
    while let Some((owner, way, place)) = (0..).zip(roles.iter()).find_map(|(number, role)| {
        let (way, place) = anew(&role.lines).into_iter().next()?;
        Some((number, way, place))
    }) {
        let joined = ring(roles, owner, &way, place, inputs, shape)
            .and_then(|ring| join(roles, owner, &ring));
        if joined.is_none() {
            let lines = block(&roles[owner].lines, &way).unwrap_or_default();
            return Err(Obstacle::new(TWICE, location_of(lines, place)));
        }
    }
    Ok(())
}

/// The mbarriers that begin and end in a loop, each with the path to the loop's body.
fn anew(lines: &[Line]) -> Vec<(Way, Place)> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for (number, inner) in line.blocks().enumerate() {
            if matches!(line, Line::For { .. }) {
                for place in inner.iter().filter_map(begun) {
                    if inner.iter().filter_map(ended).any(|end| end == place) {
                        found.push((vec![(at, number)], place));
                    }
                }
            }
            found.extend(anew(inner).into_iter().map(|(mut way, place)| {
                way.insert(0, (at, number));
                (way, place)
            }));
        }
    }
    found
}

fn begun(line: &Line) -> Option<Place> {
    match line {
        Line::Action {
            action: Action::Init { object, .. },
            ..
        } => fixed(object),
        _ => None,
    }
}

fn ended(line: &Line) -> Option<Place> {
    match line {
        Line::Action {
            action: Action::Invalidate { object },
            ..
        } => fixed(object),
        _ => None,
    }
}

fn fixed(object: &Object) -> Option<Place> {
    Some((object.rank, object.variable, object.offset.as_constant()?))
}

fn block<'l>(lines: &'l [Line], way: &[(usize, usize)]) -> Option<&'l [Line]> {
    match way.split_first() {
        None => Some(lines),
        Some(((at, number), rest)) => block(lines.get(*at)?.blocks().nth(*number)?, rest),
    }
}

fn location_of(body: &[Line], place: Place) -> Location {
    let mut lines = body.iter().filter(|line| begun(line) == Some(place));
    match lines.next() {
        Some(Line::Action { location, .. }) => location.clone(),
        _ => Location::default(),
    }
}

/// The lines of a block that contain full barriers or returns, with their numbers.
fn meetings(lines: &[Line], full: &FullBarriers) -> Vec<(usize, Line)> {
    let lines = lines.iter().enumerate();
    lines
        .filter_map(|(number, line)| {
            let bare = match returns(std::slice::from_ref(line)) {
                true => Some(line.clone()),
                false => bare(line, &|action| full.is_met(action)),
            };
            Some((number, bare?))
        })
        .collect()
}

/// The path to a loop body of another role. Its warps are in it when those of this role are in the
/// body at `way`.
fn twin(
    mine: &[Line],
    theirs: &[Line],
    way: &[(usize, usize)],
    full: &FullBarriers,
) -> Option<Way> {
    let Some(((at, number), rest)) = way.split_first() else {
        return Some(Vec::new());
    };
    let own = meetings(mine, full);
    let others = meetings(theirs, full);
    let met = own.iter().position(|(line, _)| line == at)?;
    let bare = |all: &[(usize, Line)]| -> Option<Vec<Line>> {
        let all = all.get(..=met)?.iter();
        let lines: Vec<Line> = all.map(|(_, line)| line.clone()).collect();
        let fixed = lines.iter().all(is_launched);
        fixed.then_some(lines)
    };
    if !same(&bare(&own)?, &bare(&others)?) {
        return None;
    }
    let twin_at = others.get(met)?.0;
    let mine = mine.get(*at)?.blocks().nth(*number)?;
    let theirs = theirs.get(twin_at)?.blocks().nth(*number)?;
    let mut found = twin(mine, theirs, rest, full)?;
    found.insert(0, (twin_at, *number));
    Some(found)
}

/// Makes one ring of the lifetimes of a place in the iterations of a loop, and of the mbarriers that
/// are used with it.
fn ring(
    roles: &[Role],
    owner: usize,
    way: &[(usize, usize)],
    place: Place,
    inputs: &Inputs,
    shape: Shape,
) -> Option<Ring> {
    let full = &FullBarriers::new(roles, shape);
    let role = &roles[owner];
    if role.warps.len() != 1 || role.rank != place.0 {
        return None;
    }
    let body = block(&role.lines, way)?;
    let lives = uses_by_role(roles, inputs, shape);
    let mut ring = Ring::new(&used_with(&lives, place), roles.len())?;
    // In each iteration, each mbarrier is initialised once and invalidated once.
    let lines_of = |which: &dyn Fn(&Line) -> Option<Place>| -> Option<Vec<usize>> {
        let lines = (0..).zip(body);
        let mut found: Vec<(Place, usize)> = lines
            .filter_map(|(at, line)| Some((which(line).filter(|place| ring.has(*place))?, at)))
            .collect();
        found.sort_unstable();
        let places = found.iter().map(|(place, _)| *place);
        let once = places.eq(ring.places());
        once.then(|| found.into_iter().map(|(_, at)| at).collect())
    };
    let begin = lines_of(&begun)?.into_iter().max()?;
    let end = lines_of(&ended)?.into_iter().min()?;
    let certain = |lines: &[Line]| -> Vec<usize> {
        let met = meetings(lines, full).into_iter();
        met.filter_map(|(line, bare)| matches!(bare, Line::Action { .. }).then_some(line))
            .collect()
    };
    let own = certain(body);
    // The first full barrier behind the beginning, and the last one before the end.
    let first = own.iter().position(|line| *line > begin)?;
    let last = own.iter().rposition(|line| *line < end)?;
    let mut told = Vec::new();
    let mut awaited = Vec::new();
    for (number, life) in lives.iter().enumerate() {
        let uses = life.uses.iter();
        let uses = uses
            .filter(|one| one.places.is_empty() || one.places.iter().any(|place| ring.has(*place)));
        let uses: Vec<&Action> = uses.map(|one| one.action).collect();
        if uses.is_empty() {
            continue;
        }
        if life.role.rank != ring.rank {
            return None;
        }
        let found = twin(&role.lines, &life.role.lines, way, full)?;
        let lines = block(&life.role.lines, &found)?;
        let met = certain(lines);
        let mut done = RingUses::new(&ring, &uses, life.role.warps.len());
        for (at, line) in lines.iter().enumerate() {
            let within = match number == owner {
                true => begin < at && at < end,
                false => *met.get(first)? < at && at < *met.get(last)?,
            };
            // Only the owner may begin and end the lifetime. Another role would do so within it: that is not followed.
            if number == owner
                && [begun(line), ended(line)]
                    .iter()
                    .flatten()
                    .any(|place| ring.has(*place))
            {
                done.pass(line);
                continue;
            }
            if done.list(line)? && !within {
                return None;
            }
        }
        // It is used nowhere else.
        if done.found.len() + done.passed != uses.len() {
            return None;
        }
        told.append(&mut done.told);
        awaited.push(done.awaited);
        ring.uses[number] = Some((found, done.found));
    }
    let mut arrivals = BTreeSet::new();
    for line in body
        .iter()
        .filter(|line| begun(line).is_some_and(|place| ring.has(place)))
    {
        if let Line::Action {
            action: Action::Init { count, .. },
            ..
        } = line
        {
            arrivals.insert(*count);
        }
    }
    let (1, Some(count)) = (arrivals.len(), arrivals.first()) else {
        return None;
    };
    let mut rounds: BTreeSet<Number> = awaited.iter().flatten().flat_map(ends).collect();
    rounds.insert(Number::default());
    let rounds = rounds.into_iter().find(|rounds| {
        let all = |pieces: &Vec<Piece>| covers(pieces, rounds, false, &|_| true);
        awaited.iter().any(all) && completes(&told, rounds, ring.size, *count)
    })?;
    let loops = counts(&role.lines);
    let (low, _) = rounds.range(&|atomic| inputs.range_of(atomic, &loops))?;
    ring.rounds = match low {
        0.. => rounds,
        _ => Number::maximum(Number::default(), rounds),
    };
    Some(ring)
}

/// A place, and all places that a statement may use instead of it, directly or through others.
fn used_with(lives: &[RoleUses<'_>], place: Place) -> BTreeSet<Place> {
    let mut places = BTreeSet::from([place]);
    loop {
        let uses = lives.iter().flat_map(|life| &life.uses);
        let more: BTreeSet<Place> = uses
            .filter(|one| !one.places.is_disjoint(&places))
            .flat_map(|one| one.places.iter().copied())
            .collect();
        if more.is_subset(&places) {
            return places;
        }
        places.extend(more);
    }
}

/// Replaces the lifetimes of the mbarriers of a ring by the ring.
fn join(roles: &mut [Role], owner: usize, ring: &Ring) -> Option<()> {
    for (role, uses) in roles.iter_mut().zip(&ring.uses) {
        let Some((way, uses)) = uses else { continue };
        let index = loops(&role.lines, way);
        let before = match (ring.rounds.as_constant(), &index[..]) {
            (Some(rounds), [index]) => Number::of(Atomic::Index(*index)).times(rounds),
            _ => None,
        };
        let counter = counter(&role.lines, way, &ring.rounds);
        let variable = counter.unwrap_or_else(|| unused(&role.lines));
        let declared = before.is_some() || counter.is_some();
        let before = before.unwrap_or_else(|| Number::of(Atomic::Variable(variable)));
        let body = block_mut(&mut role.lines, way)?;
        let mut number = 0;
        let mut shifted = Some(());
        every_line_mut(body, &mut |line| {
            if let Line::Action { action, .. } = line {
                if uses.contains(&number) {
                    shifted = shifted.and(ring.shift(action, &before));
                }
                number += 1;
            }
        });
        shifted?;
        if !declared {
            let value = before.plus(&ring.rounds)?;
            body.push(Line::Assign { variable, value });
            role.lines.insert(
                0,
                Line::Let {
                    variable,
                    value: Number::default(),
                },
            );
        }
    }
    let lines = &mut roles[owner].lines;
    let mut inits = Vec::new();
    every_line(lines, &mut |line| {
        if begun(line).is_some_and(|place| ring.has(place)) {
            inits.push(line.clone());
        }
    });
    without(lines, &|action| match action {
        Action::Init { object, .. } | Action::Invalidate { object } => {
            fixed(object).is_some_and(|place| ring.has(place))
        }
        _ => false,
    });
    lines.splice(0..0, inits);
    Some(())
}

/// The variable that counts the rounds of earlier lifetimes in a loop, if there is one.
fn counter(lines: &[Line], way: &[(usize, usize)], rounds: &Number) -> Option<u32> {
    let counts = |line: &&Line| match line {
        Line::Assign { variable, value } => {
            Number::of(Atomic::Variable(*variable))
                .plus(rounds)
                .as_ref()
                == Some(value)
        }
        _ => false,
    };
    let last = block(lines, way)?.last().filter(counts)?;
    let Line::Assign { variable, .. } = last else {
        return None;
    };
    let mut assigned = 0;
    every_line(lines, &mut |line| {
        assigned +=
            u32::from(matches!(line, Line::Assign { variable: other, .. } if other == variable));
    });
    let zero = Line::Let {
        variable: *variable,
        value: Number::default(),
    };
    (assigned == 1 && lines.contains(&zero)).then_some(*variable)
}

/// The number of a new variable.
fn unused(lines: &[Line]) -> u32 {
    let last = assigned(lines).last().copied();
    last.map_or(0, |last| last.saturating_add(1))
}

/// The loops on a path, the outer ones first.
fn loops(lines: &[Line], way: &[(usize, usize)]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut lines = lines;
    for (at, number) in way {
        let Some(line) = lines.get(*at) else { break };
        if let Line::For { index, .. } = line {
            found.push(*index);
        }
        let Some(inner) = line.blocks().nth(*number) else {
            break;
        };
        lines = inner;
    }
    found
}

fn block_mut<'l>(lines: &'l mut Vec<Line>, way: &[(usize, usize)]) -> Option<&'l mut Vec<Line>> {
    match way.split_first() {
        None => Some(lines),
        Some(((at, number), rest)) => {
            block_mut(lines.get_mut(*at)?.blocks_mut().nth(*number)?, rest)
        }
    }
}
