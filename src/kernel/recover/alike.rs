//! Compares lines of roles. Places in the source and the numbers of loops do not count.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::every_line_mut;

/// The lines without any numbers and places in the source. Copies of lines have the same shape.
pub fn shape(lines: &[Line]) -> Vec<Line> {
    let mut bare = lines.to_vec();
    misplace(&mut bare);
    every(&mut bare, &mut |number| *number = Number::default());
    index(&mut bare, 0..);
    bare
}

/// Whether lines are the same up to places in the source and the numbers of loops.
pub fn same(a: &[Line], b: &[Line]) -> bool {
    shape(a) == shape(b) && listed(a) == listed(&named_as(b, a))
}

/// The lines for which `which` holds, with the loops and branches around them.
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

/// All numbers in the lines. Those in conditions come last.
pub fn listed(lines: &[Line]) -> Vec<Number> {
    let mut all = Vec::new();
    every(&mut lines.to_vec(), &mut |number| all.push(number.clone()));
    all
}

/// Calls `with` for every number in the lines, also for those in conditions.
pub fn every(lines: &mut [Line], with: &mut dyn FnMut(&mut Number)) {
    numbers(lines, with);
    conditions(lines, &mut |condition| condition.each_mut(with));
}

/// The lines, with their loops numbered as in `others`, which have the same shape.
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
