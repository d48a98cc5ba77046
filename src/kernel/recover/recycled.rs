//! Mbarriers that begin and end anew in each round of a loop.
//!
//! ```text
//! for i { warp 0: init bar, 1; all: sync; warp 1: arrive bar; warp 0: wait bar 0; all: sync; warp 0: invalidate bar }
//! ```
//!
//! These lives are one mbarrier, whose phase `i` is the one phase of life `i`, if every warp is in the same round between two
//! meetings of all of them, behind the beginning and before the end of the life, and uses the mbarrier only there; if the arrivals
//! and bytes of a round are certain and complete one phase, so that nothing is left over; and if somebody waits for that phase
//! before the end. Then `i` phases are complete where life `i` begins, and a wait for parity `p` of a life is one for `(i + p) % 2`.
//! A loop in another one is refused, as its lives go on counting from round to round of that one.

use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::alike::same;
use crate::recover::family::object_mut;
use crate::recover::family::object_of;
use crate::recover::lives::Place;
use crate::recover::lives::TWICE;
use crate::recover::lives::bare;
use crate::recover::lives::ends;
use crate::recover::lives::full;
use crate::recover::lives::is_launched;
use crate::recover::lives::lives;
use crate::recover::lives::returns;
use crate::recover::lower::Inputs;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::without;
use crate::recover::shape::Shape;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::sketch::Role;
use crate::recover::sketch::every_line;
use crate::recover::tree::Obstacle;

/// The way to a loop: the lines and the blocks in them.
type Way = Vec<(usize, usize)>;

/// The places of mbarriers that begin and end in the body of a loop.
pub fn recycled(roles: &[Role]) -> BTreeSet<Place> {
    roles
        .iter()
        .flat_map(|role| anew(&role.lines))
        .map(|(_, place)| place)
        .collect()
}

/// Puts one mbarrier in the place of lives that begin and end in each round.
pub fn recycle(roles: &mut [Role], inputs: &Inputs, shape: Shape) -> Result<(), Obstacle> {
    while let Some((owner, way, place)) = (0..).zip(roles.iter()).find_map(|(number, role)| {
        let (way, place) = anew(&role.lines).into_iter().next()?;
        Some((number, way, place))
    }) {
        if !are_one(roles, owner, &way, place, inputs, shape) {
            let lines = block(&roles[owner].lines, &way).unwrap_or_default();
            return Err(Obstacle {
                reason: TWICE.to_owned(),
                location: location_of(lines, place),
            });
        }
        join(roles, owner, place);
    }
    Ok(())
}

/// The mbarriers that begin and end in a loop, each with the way to its body.
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

/// How many loops stand on a way.
fn loops(lines: &[Line], way: &[(usize, usize)]) -> Option<usize> {
    let Some(((at, number), rest)) = way.split_first() else {
        return Some(0);
    };
    let line = lines.get(*at)?;
    let own = usize::from(matches!(line, Line::For { .. }));
    Some(own + loops(line.blocks().nth(*number)?, rest)?)
}

fn location_of(body: &[Line], place: Place) -> Location {
    let mut lines = body.iter().filter(|line| begun(line) == Some(place));
    match lines.next() {
        Some(Line::Action { location, .. }) => location.clone(),
        _ => Location::default(),
    }
}

/// The lines of a block with barriers of all threads in them, and returns: each with its number.
fn meetings(lines: &[Line], threads: i128) -> Vec<(usize, Line)> {
    let lines = lines.iter().enumerate();
    lines
        .filter_map(|(number, line)| {
            let bare = match returns(line) {
                true => Some(line.clone()),
                false => bare(line, &|action| full(action, threads).is_some()),
            };
            Some((number, bare?))
        })
        .collect()
}

/// The body of the loop of another role in which its warps are when those of this one are in theirs.
fn twin<'l>(
    mine: &[Line],
    theirs: &'l [Line],
    way: &[(usize, usize)],
    threads: i128,
) -> Option<&'l [Line]> {
    let Some(((at, number), rest)) = way.split_first() else {
        return Some(theirs);
    };
    let own = meetings(mine, threads);
    let others = meetings(theirs, threads);
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
    let mine = mine.get(*at)?.blocks().nth(*number)?;
    let theirs = theirs.get(others.get(met)?.0)?.blocks().nth(*number)?;
    twin(mine, theirs, rest, threads)
}

/// Whether the lives of a place in the rounds of a loop are the phases of one mbarrier.
fn are_one(
    roles: &[Role],
    owner: usize,
    way: &[(usize, usize)],
    place: Place,
    inputs: &Inputs,
    shape: Shape,
) -> bool {
    let threads = i128::from(shape.warps()) * 32;
    let (role, rank) = (&roles[owner], roles[owner].rank);
    let Some(body) = block(&role.lines, way).filter(|_| role.warps.len() == 1 && rank == place.0)
    else {
        return false;
    };
    if loops(&role.lines, way) != Some(1) {
        return false;
    }
    let at = |which: &dyn Fn(&Line) -> Option<Place>| -> Option<usize> {
        let mut lines = (0..)
            .zip(body)
            .filter(|(_, line)| which(line) == Some(place));
        let first = lines.next()?.0;
        lines.next().is_none().then_some(first)
    };
    let (Some(begin), Some(end)) = (at(&begun), at(&ended)) else {
        return false;
    };
    let certain = |lines: &[Line]| -> Vec<(usize, bool)> {
        let met = meetings(lines, threads).into_iter();
        met.map(|(line, bare)| (line, matches!(bare, Line::Action { .. })))
            .collect()
    };
    let own = certain(body);
    // Meetings behind the beginning and before the end.
    let first = own
        .iter()
        .position(|(line, certain)| *certain && *line > begin);
    let last = own
        .iter()
        .rposition(|(line, certain)| *certain && *line < end);
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    let mut arrivals = 0_i128;
    let mut bytes = Number::default();
    let mut waited = false;
    let mut count = None;
    for (number, life) in lives(roles, inputs, shape).iter().enumerate() {
        let mut uses = life
            .uses
            .iter()
            .filter(|one| one.places.is_empty() || one.places.contains(&place));
        if life.role.rank != rank {
            if uses.next().is_some() {
                return false;
            }
            continue;
        }
        let lines = match twin(&role.lines, &life.role.lines, way, threads) {
            Some(lines) => lines,
            None if uses.next().is_none() => continue,
            None => return false,
        };
        let met = certain(lines);
        for one in uses {
            let line = lines.iter().position(
                |line| matches!(line, Line::Action { action, .. } if std::ptr::eq(action, one.action)),
            );
            let object = object_of(one.action);
            let is_fixed =
                ends(one.action) || object.is_some_and(|object| fixed(object) == Some(place));
            let Some(line) = line.filter(|_| is_fixed) else {
                return false;
            };
            let within = match number == owner {
                true => (begin..=end).contains(&line),
                false => met[first].0 < line && line < met[last].0,
            };
            if !within {
                return false;
            }
            let warps = i128::try_from(life.role.warps.len()).unwrap_or(0);
            let mut add = |sum: &Number, sign: i128| -> Option<()> {
                bytes = bytes.plus(&sum.times(warps.checked_mul(sign)?)?)?;
                Some(())
            };
            let added = match one.action {
                // Who else begins or ends it does so to one that lives.
                Action::Init { .. } | Action::Invalidate { .. } if number != owner => None,
                Action::Init { count: counted, .. } => {
                    count = Some(*counted);
                    Some(())
                }
                Action::Invalidate { .. } => Some(()),
                Action::Wait { parity, .. } => {
                    waited |= *parity == Number::default();
                    parity.as_constant().map(|_| ())
                }
                Action::Arrive { count, .. } => count.as_constant().and_then(|count| {
                    arrivals = arrivals.checked_add(count.checked_mul(warps)?)?;
                    Some(())
                }),
                Action::Commit { .. } => {
                    arrivals += warps;
                    Some(())
                }
                Action::ArriveExpect { bytes, .. } => {
                    arrivals += warps;
                    add(bytes, 1)
                }
                Action::Complete { bytes, .. } => add(bytes, -1),
                Action::Copy { bytes, .. } => bytes.as_ref().and_then(|bytes| add(bytes, -1)),
                _ => None,
            };
            if added.is_none() {
                return false;
            }
        }
    }
    waited && count == Some(arrivals) && bytes == Number::default()
}

/// Makes one mbarrier of the lives of a place.
fn join(roles: &mut [Role], owner: usize, place: Place) {
    let mut init = None;
    every_line(&roles[owner].lines, &mut |line| {
        if begun(line) == Some(place) {
            init = Some(line.clone());
        }
    });
    let marks = |action: &Action| match action {
        Action::Init { object, .. } | Action::Invalidate { object } => fixed(object) == Some(place),
        _ => false,
    };
    without(&mut roles[owner].lines, &marks);
    if let Some(init) = init {
        roles[owner].lines.insert(0, init);
    }
    for role in roles {
        continued(&mut role.lines, None, place);
    }
}

/// Counts the phases of a place on from round to round.
fn continued(lines: &mut [Line], round: Option<u32>, place: Place) {
    for line in lines {
        if let (Line::Action { action, .. }, Some(index)) = (&mut *line, round) {
            let here = object_mut(action).is_some_and(|object| fixed(object) == Some(place));
            if let Action::Wait { parity, .. } = action
                && here
            {
                let shifted = parity.plus(&Number::of(Atomic::Index(index)));
                if let Some(shifted) = shifted.and_then(|sum| sum.remainder(2)) {
                    *parity = shifted;
                }
            }
        }
        let inner = match line {
            Line::For { index, .. } => Some(*index),
            _ => round,
        };
        for block in line.blocks_mut() {
            continued(block, inner, place);
        }
    }
}
