//! Lines that are copies of each other but for numbers, places in the source and the numbers of their loops.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::sketch::Line;
use crate::recover::sketch::every_line;
use crate::recover::sketch::every_line_mut;

/// What is left of lines without numbers and places.
pub fn shape(lines: &[Line]) -> Vec<Line> {
    let mut bare = lines.to_vec();
    misplace(&mut bare);
    every(&mut bare, &mut |number| *number = Number::default());
    index(&mut bare, 0..);
    bare
}

/// Whether lines are the same, from wherever they come.
pub fn same(a: &[Line], b: &[Line]) -> bool {
    shape(a) == shape(b) && listed(a) == listed(&named_as(b, a))
}

/// Some of the lines, with the loops and branches around them.
pub fn only(lines: &[Line], which: &dyn Fn(&Line) -> bool) -> Vec<Line> {
    let mut kept = Vec::new();
    for line in lines {
        if !matches!(line, Line::For { .. } | Line::If { .. }) {
            kept.extend(which(line).then(|| line.clone()));
            continue;
        }
        let mut line = line.clone();
        let mut found = false;
        for block in line.blocks_mut() {
            *block = only(block, which);
            found |= !block.is_empty();
        }
        kept.extend(found.then_some(line));
    }
    kept
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
    conditions(lines, &mut |condition| condition.each_mut(with));
}

/// Lines of the same shape as others, with the names of their loops.
pub fn named_as(lines: &[Line], others: &[Line]) -> Vec<Line> {
    let mut named = lines.to_vec();
    let wanted = loops(others);
    let names: BTreeMap<u32, u32> = loops(lines)
        .into_iter()
        .zip(wanted.iter().copied())
        .collect();
    replace(&mut named, &|atomic| match atomic {
        Atomic::Index(index) => names
            .get(index)
            .map(|index| Number::of(Atomic::Index(*index))),
        _ => None,
    });
    index(&mut named, wanted.into_iter());
    named
}

/// The numbers of the loops in lines, the outer ones first.
fn loops(lines: &[Line]) -> Vec<u32> {
    let mut found = Vec::new();
    every_line(lines, &mut |line| {
        if let Line::For { index, .. } = line {
            found.push(*index);
        }
    });
    found
}

/// Numbers the loops in lines, the outer ones first.
fn index(lines: &mut [Line], mut names: impl Iterator<Item = u32>) {
    every_line_mut(lines, &mut |line| {
        if let Line::For { index, .. } = line {
            *index = names.next().unwrap_or(*index);
        }
    });
}

fn misplace(lines: &mut [Line]) {
    every_line_mut(lines, &mut |line| match line {
        Line::Action { location, .. } | Line::For { location, .. } | Line::If { location, .. } => {
            *location = Location::default();
        }
        Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
    });
}
