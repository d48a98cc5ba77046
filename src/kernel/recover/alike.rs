//! Lines that are copies of each other but for numbers, places in the source and the numbers of their loops.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::sketch::Line;

/// What is left of lines without numbers and places.
pub fn shape(lines: &[Line]) -> Vec<Line> {
    let mut bare = lines.to_vec();
    misplace(&mut bare);
    every(&mut bare, &mut |number| *number = Number::default());
    index(&mut bare, &mut (0..));
    bare
}

/// Whether lines are the same, from wherever they come.
pub fn same(a: &[Line], b: &[Line]) -> bool {
    shape(a) == shape(b) && listed(a) == listed(&named_as(b, a))
}

/// The numbers of lines, those of conditions behind the others.
pub fn listed(lines: &[Line]) -> Vec<Number> {
    let mut all = Vec::new();
    every(&mut lines.to_vec(), &mut |number| all.push(number.clone()));
    all
}

/// Does something with every number, also of conditions.
pub fn every(lines: &mut [Line], with: &mut dyn FnMut(&mut Number)) {
    numbers(lines, with);
    conditions(lines, &mut |condition| each(condition, with));
}

fn each(condition: &mut Condition, with: &mut dyn FnMut(&mut Number)) {
    match condition {
        Condition::Constant(_) => {}
        Condition::AtLeastZero(number) | Condition::Zero(number) | Condition::NotZero(number) => {
            with(number);
        }
        Condition::And(a, b) | Condition::Or(a, b) => {
            each(a, with);
            each(b, with);
        }
    }
}

/// Lines of the same shape as others, with the names of their loops.
pub fn named_as(lines: &[Line], others: &[Line]) -> Vec<Line> {
    let (mut own, mut wanted) = (Vec::new(), Vec::new());
    let mut named = lines.to_vec();
    loops(&named, &mut own);
    loops(others, &mut wanted);
    let names: BTreeMap<u32, u32> = own.into_iter().zip(wanted.iter().copied()).collect();
    replace(&mut named, &|atomic| match atomic {
        Atomic::Index(index) => names
            .get(index)
            .map(|index| Number::of(Atomic::Index(*index))),
        _ => None,
    });
    index(&mut named, &mut wanted.into_iter());
    named
}

/// The numbers of the loops in lines, the outer ones first.
fn loops(lines: &[Line], found: &mut Vec<u32>) {
    for line in lines {
        match line {
            Line::For { index, body, .. } => {
                found.push(*index);
                loops(body, found);
            }
            Line::If {
                then, otherwise, ..
            } => {
                loops(then, found);
                loops(otherwise, found);
            }
            _ => {}
        }
    }
}

/// Numbers the loops in lines, the outer ones first.
fn index(lines: &mut [Line], names: &mut dyn Iterator<Item = u32>) {
    for line in lines {
        match line {
            Line::For {
                index: own, body, ..
            } => {
                *own = names.next().unwrap_or(*own);
                index(body, names);
            }
            Line::If {
                then, otherwise, ..
            } => {
                index(then, names);
                index(otherwise, names);
            }
            _ => {}
        }
    }
}

fn misplace(lines: &mut [Line]) {
    for line in lines {
        match line {
            Line::Action { location, .. } => *location = Location::default(),
            Line::For { location, body, .. } => {
                *location = Location::default();
                misplace(body);
            }
            Line::If {
                location,
                then,
                otherwise,
                ..
            } => {
                *location = Location::default();
                misplace(then);
                misplace(otherwise);
            }
            Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
        }
    }
}
