//! Moves declarations of variables to where all of their uses are in scope.
//!
//! For example, a branch declares a variable for the trip count of a loop in it. Lines further
//! down, under the same condition, use the variable. So it is declared as 0 in front of the first
//! branch, and the declaration in the branch becomes an assignment. On other paths nothing reads
//! it.

use std::collections::BTreeSet;

use crate::ir::Location;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::numbers;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::every_line_mut;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// Declares variables where all of their uses see them. A variable that never gets a value is
/// refused.
pub fn declare(lines: &mut Vec<Line>) -> Result<(), Obstacle> {
    let mut free = BTreeSet::new();
    collect(lines, &mut BTreeSet::new(), &mut free);
    for variable in free {
        let Some(place) = lines.iter().position(|line| declares(line, variable)) else {
            return refuse(
                "internal: a number of the recovered protocol is used and never given a value",
                &Location::default(),
            );
        };
        assign(lines, variable);
        let value = Number::constant(0);
        lines.insert(place, Line::Let { variable, value });
    }
    Ok(())
}

/// The variables that are used outside of their scope.
fn collect(lines: &[Line], scope: &mut BTreeSet<u32>, free: &mut BTreeSet<u32>) {
    for line in lines {
        let mut used = BTreeSet::new();
        match line {
            Line::Action { .. } => {
                let mut copy = [line.clone()];
                numbers(&mut copy, &mut |number| uses(number, &mut used));
            }
            Line::For { count, body, .. } => {
                uses(count, &mut used);
                collect(body, &mut scope.clone(), free);
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                condition.each(&mut |number| uses(number, &mut used));
                collect(then, &mut scope.clone(), free);
                collect(otherwise, &mut scope.clone(), free);
            }
            Line::Let { variable, value } => {
                uses(value, &mut used);
                free.extend(used.difference(scope));
                scope.insert(*variable);
                continue;
            }
            Line::Assign { variable, value } => {
                uses(value, &mut used);
                used.insert(*variable);
            }
            Line::Return => {}
        }
        free.extend(used.difference(scope));
    }
}

fn uses(number: &Number, used: &mut BTreeSet<u32>) {
    number.each(&mut |atomic| {
        if let Atomic::Variable(variable) = atomic {
            used.insert(*variable);
        }
    });
}

/// Whether a variable is declared in a line or inside of it.
fn declares(line: &Line, wanted: u32) -> bool {
    let mut found = false;
    every_line(std::slice::from_ref(line), &mut |line| {
        found |= matches!(line, Line::Let { variable, .. } if *variable == wanted);
    });
    found
}

/// Turns declarations of a variable into assignments.
fn assign(lines: &mut [Line], wanted: u32) {
    every_line_mut(lines, &mut |line| {
        if let Line::Let { variable, value } = line
            && *variable == wanted
        {
            *line = Line::Assign {
                variable: wanted,
                value: value.clone(),
            };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover::number::Number;

    /// A variable that gets a value on some path is declared before. One that never gets a value is
    /// refused.
    #[test]
    fn variables_without_a_value_are_refused() {
        let value = || Number::constant(7);
        let changed = Line::Assign {
            variable: 3,
            value: value(),
        };
        let begun = Line::Let {
            variable: 3,
            value: value(),
        };
        let body = vec![begun];
        let below = Line::For {
            index: 0,
            count: value(),
            body,
            location: Location::default(),
        };
        let mut lines = vec![below, changed.clone()];
        declare(&mut lines).unwrap();
        assert!(matches!(lines[0], Line::Let { variable: 3, .. }));
        let refused = declare(&mut vec![changed]).unwrap_err();
        assert!(refused.reason.contains("never given a value"));
    }
}
