//! Changes all numbers, conditions and names in lines.

use std::collections::BTreeMap;

use crate::recover::family::object_mut;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::every_line_mut;

/// Removes returns at the end, which change nothing.
pub fn trim(lines: &mut Vec<Line>) {
    while let Some(Line::Return) = lines.last() {
        lines.pop();
    }
    if let Some(Line::If {
        then, otherwise, ..
    }) = lines.last_mut()
    {
        trim(then);
        trim(otherwise);
        if then.is_empty() && otherwise.is_empty() {
            lines.pop();
        }
    }
}

/// Removes actions, and loops and branches that become empty.
pub fn without(lines: &mut Vec<Line>, which: &dyn Fn(&Action) -> bool) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        without(block, which);
    }
    lines.retain(|line| match line {
        Line::Action { action, .. } => !which(action),
        Line::For { body, .. } => !body.is_empty(),
        Line::If {
            then, otherwise, ..
        } => !(then.is_empty() && otherwise.is_empty()),
        _ => true,
    });
}

/// Numbers loops and variables in the order in which they come, so that equal roles are equal.
pub fn renumber(lines: &mut [Line]) {
    let mut indices = BTreeMap::new();
    let mut variables = BTreeMap::new();
    number(lines, &mut indices, &mut variables);
    let with = |atomic: &Atomic| match atomic {
        Atomic::Index(index) => indices
            .get(index)
            .map(|index| Number::of(Atomic::Index(*index))),
        Atomic::Variable(variable) => variables
            .get(variable)
            .map(|number| Number::of(Atomic::Variable(*number))),
        _ => None,
    };
    replace(lines, &with);
    rename(lines, &indices, &variables);
}

fn number(lines: &[Line], indices: &mut BTreeMap<u32, u32>, variables: &mut BTreeMap<u32, u32>) {
    every_line(lines, &mut |line| {
        let (names, name) = match line {
            Line::For { index, .. } => (&mut *indices, index),
            Line::Let { variable, .. } | Line::Assign { variable, .. } => {
                (&mut *variables, variable)
            }
            _ => return,
        };
        let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
        names.entry(*name).or_insert(next);
    });
}

fn rename(lines: &mut [Line], indices: &BTreeMap<u32, u32>, variables: &BTreeMap<u32, u32>) {
    every_line_mut(lines, &mut |line| match line {
        Line::For { index, .. } => {
            *index = indices.get(index).copied().unwrap_or(*index);
        }
        Line::Let { variable, .. } | Line::Assign { variable, .. } => {
            *variable = variables.get(variable).copied().unwrap_or(*variable);
        }
        _ => {}
    });
}

/// Replaces atomics in all numbers.
pub fn replace(lines: &mut [Line], by: &dyn Fn(&Atomic) -> Option<Number>) {
    numbers(lines, &mut |number| {
        if let Some(replaced) = number.replaced(by) {
            *number = replaced;
        }
    });
    conditions(lines, &mut |condition| {
        if let Some(replaced) = condition.replaced(by) {
            *condition = replaced;
        }
    });
}

/// Calls `with` for every number outside of conditions.
pub fn numbers(lines: &mut [Line], with: &mut dyn FnMut(&mut Number)) {
    every_line_mut(lines, &mut |line| match line {
        Line::Action { action, .. } => {
            if let Some(object) = object_mut(action) {
                with(&mut object.offset);
            }
            match action {
                Action::Wait { parity: number, .. }
                | Action::WaitOwn { number, .. }
                | Action::Numbered { number, .. }
                | Action::Arrive { count: number, .. }
                | Action::ArriveExpect { bytes: number, .. }
                | Action::Expect { bytes: number, .. }
                | Action::Complete { bytes: number, .. } => with(number),
                Action::Copy { bytes: number, .. } | Action::Round { before: number, .. } => {
                    number.iter_mut().for_each(&mut *with);
                }
                Action::Access { place, .. } => with(&mut place.offset),
                Action::Touch { elements, .. } => {
                    elements.iter_mut().for_each(|one| with(&mut one.index));
                }
                Action::CounterWait { word, value, .. }
                | Action::CounterAdd { word, value, .. }
                | Action::CounterSet { word, value, .. } => {
                    with(&mut word.index);
                    with(value);
                }
                Action::Sync { barrier, threads } | Action::BarrierArrive { barrier, threads } => {
                    with(barrier);
                    with(threads);
                }
                Action::Init { .. }
                | Action::Invalidate { .. }
                | Action::Commit { .. }
                | Action::Tried { .. }
                | Action::ClusterArrive
                | Action::ClusterWait
                | Action::CommitGroup
                | Action::WaitGroup { .. }
                | Action::Asked
                | Action::RingWordLoad { .. }
                | Action::RingWordStore { .. }
                | Action::Late { .. }
                | Action::Ahead
                | Action::Allocate { .. }
                | Action::Deallocate { .. }
                | Action::Relinquish
                | Action::SetMaxRegisters { .. }
                | Action::Take { .. }
                | Action::GiveBack { .. }
                | Action::Launched => {}
            }
        }
        Line::For { count, .. } => with(count),
        Line::Let { value, .. } | Line::Assign { value, .. } => with(value),
        Line::If { .. } | Line::Return => {}
    });
}

/// Calls `with` for every condition.
pub fn conditions(lines: &mut [Line], with: &mut dyn FnMut(&mut Condition)) {
    every_line_mut(lines, &mut |line| {
        if let Line::If { condition, .. } = line {
            with(condition);
        }
    });
}
