//! Changes of all numbers, conditions and names in lines.

use std::collections::BTreeMap;

use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;

/// A `return` at the end says nothing.
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
    for line in lines {
        match line {
            Line::For { index, body, .. } => {
                let next = u32::try_from(indices.len()).unwrap_or(u32::MAX);
                indices.entry(*index).or_insert(next);
                number(body, indices, variables);
            }
            Line::If {
                then, otherwise, ..
            } => {
                number(then, indices, variables);
                number(otherwise, indices, variables);
            }
            Line::Let { variable, .. } | Line::Assign { variable, .. } => {
                let next = u32::try_from(variables.len()).unwrap_or(u32::MAX);
                variables.entry(*variable).or_insert(next);
            }
            _ => {}
        }
    }
}

fn rename(lines: &mut [Line], indices: &BTreeMap<u32, u32>, variables: &BTreeMap<u32, u32>) {
    for line in lines {
        match line {
            Line::For { index, body, .. } => {
                *index = indices.get(index).copied().unwrap_or(*index);
                rename(body, indices, variables);
            }
            Line::If {
                then, otherwise, ..
            } => {
                rename(then, indices, variables);
                rename(otherwise, indices, variables);
            }
            Line::Let { variable, .. } | Line::Assign { variable, .. } => {
                *variable = variables.get(variable).copied().unwrap_or(*variable);
            }
            _ => {}
        }
    }
}

/// Replaces parts of all numbers.
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

/// Does something with every number outside of conditions.
pub fn numbers(lines: &mut [Line], with: &mut dyn FnMut(&mut Number)) {
    for line in lines {
        match line {
            Line::Action { action, .. } => match action {
                Action::Init { object, .. }
                | Action::Commit { object }
                | Action::Tried { object } => {
                    with(&mut object.offset);
                }
                Action::Wait {
                    object,
                    parity: number,
                }
                | Action::Arrive {
                    object,
                    count: number,
                }
                | Action::ArriveExpect {
                    object,
                    bytes: number,
                }
                | Action::Expect {
                    object,
                    bytes: number,
                }
                | Action::Complete {
                    object,
                    bytes: number,
                } => {
                    with(&mut object.offset);
                    with(number);
                }
                Action::Copy { object, bytes } => {
                    with(&mut object.offset);
                    bytes.iter_mut().for_each(&mut *with);
                }
                Action::Sync { barrier, threads } | Action::BarrierArrive { barrier, threads } => {
                    with(barrier);
                    with(threads);
                }
                Action::ClusterArrive
                | Action::ClusterWait
                | Action::Asked
                | Action::SetMaxRegisters { .. }
                | Action::Take { .. }
                | Action::GiveBack { .. }
                | Action::Launched => {}
            },
            Line::For { count, body, .. } => {
                with(count);
                numbers(body, with);
            }
            Line::If {
                then, otherwise, ..
            } => {
                numbers(then, with);
                numbers(otherwise, with);
            }
            Line::Let { value, .. } | Line::Assign { value, .. } => with(value),
            Line::Return => {}
        }
    }
}

/// Does something with every condition.
pub fn conditions(lines: &mut [Line], with: &mut dyn FnMut(&mut Condition)) {
    for line in lines {
        match line {
            Line::For { body, .. } => conditions(body, with),
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                with(condition);
                conditions(then, with);
                conditions(otherwise, with);
            }
            _ => {}
        }
    }
}
