//! Compares how often two roles arrive at the mbarriers of a ring, by the loops and branches around
//! their arrivals.

use std::collections::BTreeSet;

use super::member::Member;
use super::member::Ring;
use super::rounds::turn;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;

/// When a warp arrives at a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// At an mbarrier, given by its offset. `None` is the mbarrier whose turn it is.
    Arrive(Option<Number>),
    Loop(Number, Vec<Turn>),
    If(Condition, Vec<Turn>, Vec<Turn>),
}

/// The most arrivals that a role makes one after the other at one mbarrier. `each` gets how many
/// its statements make.
pub(super) fn heaviest(member: &Member, ring: &Ring, each: &mut BTreeSet<i128>) -> Option<i128> {
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

/// Calls a function with the arrivals of every statement, and with those of it and the ones right
/// before it.
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

/// The arrivals of lines at a ring, with the loops and branches around them. Arrivals one after the
/// other at one mbarrier count once. Loops are numbered by their depth. `None` if a variable of the
/// role decides which mbarrier it is.
pub(super) fn shapes(
    member: &Member,
    ring: &Ring,
    lines: &[Line],
    by_turn: bool,
    around: &mut Vec<u32>,
) -> Option<Vec<Turn>> {
    let mut all: Vec<Turn> = Vec::new();
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
                all.push(Turn::Arrive((!by_turn).then_some(key)));
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
                all.push(Turn::Loop(count, body?));
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
                all.push(Turn::If(condition, then, otherwise));
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
    if number.has_variables() {
        return None;
    }
    number.replaced(&|atomic| depth(atomic, around))
}

/// Whether a role arrives at each mbarrier of a ring at most once more often than another role.
pub(super) fn at_most_once_more(theirs: &[Turn], mine: &[Turn], ring: &Ring) -> bool {
    let length = theirs.len();
    (0..=length).any(|from| {
        (from..=length).any(|to| {
            let more = theirs[..from].iter().chain(&theirs[to..]);
            at_most(&theirs[from..to], mine) && once(more, ring)
        })
    })
}

/// Whether some arrivals are a subset of others.
fn at_most(theirs: &[Turn], mine: &[Turn]) -> bool {
    let Some((first, rest)) = theirs.split_first() else {
        return true;
    };
    let Some((other, behind)) = mine.split_first() else {
        return false;
    };
    let fits = match (first, other) {
        (Turn::Loop(a, body), Turn::Loop(b, other)) => a == b && at_most(body, other),
        (Turn::If(a, yes, no), Turn::If(b, then, otherwise)) if a == b => {
            at_most(yes, then) && at_most(no, otherwise)
        }
        (Turn::If(_, yes, no), other) => {
            let other = std::slice::from_ref(other);
            at_most(yes, other) && at_most(no, other)
        }
        _ => first == other,
    };
    fits && at_most(rest, behind) || at_most(theirs, behind)
}

/// Whether arrivals are at different mbarriers.
fn once<'a>(shapes: impl Iterator<Item = &'a Turn>, ring: &Ring) -> bool {
    let mut offsets = BTreeSet::new();
    let mut turns = 0_i128;
    for shape in shapes {
        let (arrival, rounds) = match shape {
            Turn::Loop(count, body) => match (count.as_constant(), body.as_slice()) {
                (Some(count), [one]) => (one, count),
                _ => return false,
            },
            other => (other, 1),
        };
        match arrival {
            Turn::Arrive(None) => turns = turns.saturating_add(rounds),
            Turn::Arrive(Some(offset)) => {
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
