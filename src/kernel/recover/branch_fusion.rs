//! Moves assignments in a second branch on a word of memory into an earlier branch on the same
//! word.
//!
//! ```text
//! if mask[i] { wait b[v % 2] .. }  count += 1  if mask[i] { v = v + 1 }
//! become  if mask[i] { wait b[v % 2] ..  v = v + 1 }  count += 1
//! ```
//!
//! Compilers update registers at the end of an iteration, which is a second branch in the text.
//! Proof rules look for a variable that is updated in the branch in which it is used.
//!
//! This changes nothing. The condition has no variables, so it has the same value in both places.
//! The second branch has only assignments. The lines between the two branches neither use nor
//! change the variables in it, and do not return.

use std::collections::BTreeSet;

use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::assigned;
use crate::recover::role_ir::returns;

/// Moves such assignments in lines and in all blocks inside of them.
pub fn fuse_branches(lines: &mut Vec<Line>) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        fuse_branches(block);
    }
    let mut at = 0;
    while at < lines.len() {
        match earlier(lines, at) {
            Some(to) => {
                let moved = lines.remove(at);
                if let (
                    Line::If {
                        then, otherwise, ..
                    },
                    Line::If {
                        then: moved,
                        otherwise: others,
                        ..
                    },
                ) = (&mut lines[to], moved)
                {
                    then.extend(moved);
                    otherwise.extend(others);
                }
            }
            None => at += 1,
        }
    }
}

/// The earlier branch that the one at this place can become a part of.
fn earlier(lines: &[Line], at: usize) -> Option<usize> {
    let Line::If {
        condition,
        then,
        otherwise,
        ..
    } = &lines[at]
    else {
        return None;
    };
    let (mut of_memory, mut varies) = (false, false);
    condition.each(&mut |number| {
        of_memory |= number.mentions(&|atomic| matches!(atomic, Atomic::Entry(_)));
        varies |= number.has_variables();
    });
    let only_assigns = |lines: &[Line]| {
        let mut lines = lines.iter();
        lines.all(|line| matches!(line, Line::Assign { .. }))
    };
    if !of_memory || varies || !only_assigns(then) || !only_assigns(otherwise) {
        return None;
    }
    let own = variables(&lines[at]);
    for to in (0..at).rev() {
        let same = |other: &Condition| other == condition;
        match &lines[to] {
            Line::If { condition, .. } if same(condition) => {
                return (!returns(&lines[to..=to])).then_some(to);
            }
            other if !variables(other).is_disjoint(&own) || returns(&lines[to..=to]) => {
                return None;
            }
            _ => {}
        }
    }
    None
}

/// The variables that a line uses or changes.
fn variables(line: &Line) -> BTreeSet<u32> {
    let mut line = [line.clone()];
    let mut found = assigned(&line);
    let mut look = |atomic: &Atomic| {
        if let Atomic::Variable(variable) = atomic {
            found.insert(*variable);
        }
    };
    numbers(&mut line, &mut |number| number.each(&mut look));
    conditions(&mut line, &mut |condition| {
        condition.each(&mut |number| number.each(&mut look));
    });
    found
}
