//! Splits roles into cases by conditions that the launch alone decides, if mbarriers are
//! initialised or invalidated under them.
//!
//! For example, two roles have a branch `if n > 0 { .. }`, and one of them initialises an mbarrier
//! in it. The condition has one value in all warps. So there are two cases: in the first one, each
//! such branch of any role is replaced by its first side, and in the other one by its second side.
//! Then the initialisation stands under no condition. A statement about mbarriers that is shown in
//! every case holds for the roles.

use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;

/// How many conditions are split, one after the other.
const MOST_CONDITIONS: u32 = 4;

/// The roles in each case.
pub fn cases(roles: &[Role]) -> Vec<Vec<Role>> {
    let mut all = vec![roles.to_vec()];
    for _ in 0..MOST_CONDITIONS {
        let mut told_apart = Vec::new();
        for case in all {
            match decisive(&case) {
                None => told_apart.push(case),
                Some(condition) => {
                    told_apart.push(decided(&case, &condition, true));
                    told_apart.push(decided(&case, &condition, false));
                }
            }
        }
        all = told_apart;
    }
    all
}

/// A condition of the launch under which mbarriers are initialised or invalidated.
fn decisive(roles: &[Role]) -> Option<Condition> {
    let lines = roles.iter().flat_map(|role| &role.lines);
    let mut conditions = lines.filter_map(|line| match line {
        Line::If { condition, .. } if is_of_launch(condition) && begins_or_ends(line) => {
            Some(condition.clone())
        }
        _ => None,
    });
    conditions.next()
}

fn is_of_launch(condition: &Condition) -> bool {
    let mut is = true;
    let changes = |atomic: &Atomic| matches!(atomic, Atomic::Index(_) | Atomic::Variable(_));
    condition.each(&mut |number: &Number| is &= !number.mentions(&changes));
    is
}

fn begins_or_ends(line: &Line) -> bool {
    let mut found = false;
    every_line(std::slice::from_ref(line), &mut |line| {
        found |= matches!(
            line,
            Line::Action {
                action: Action::Init { .. } | Action::Invalidate { .. },
                ..
            }
        );
    });
    found
}

/// The roles where a condition holds, or where it does not.
fn decided(roles: &[Role], wanted: &Condition, truth: bool) -> Vec<Role> {
    let opposite = wanted.clone().negated();
    let side = |line: &Line| match line {
        Line::If {
            condition,
            then,
            otherwise,
            ..
        } => {
            let holds = if condition == wanted {
                truth
            } else if Some(condition) == opposite.as_ref() {
                !truth
            } else {
                return vec![line.clone()];
            };
            if holds {
                then.clone()
            } else {
                otherwise.clone()
            }
        }
        line => vec![line.clone()],
    };
    let roles = roles.iter().map(|role| Role {
        lines: role.lines.iter().flat_map(side).collect(),
        ..role.clone()
    });
    roles.collect()
}
