//! Brings roles with waits for own arrivals to the form of the text: one arrival of a warp in each
//! round, and waits that keep the warp in step. This comes after the comparison with the kernel.

use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;

/// Removes the marks of rounds. The arrivals of several lanes of a warp in one round become a single one, at the
/// place of the last of them: the phase is not complete before. Before its arrival, a warp that might get out of step
/// waits for the phase before.
pub fn in_step(lines: &mut Vec<Line>) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        in_step(block);
    }
    let mut at = 0;
    while at < lines.len() {
        if !join(lines, at) {
            at += 1;
        }
    }
    retain(lines, &mut |line| {
        let Line::Action { action, .. } = line else {
            return true;
        };
        if let Action::Round { object, before } = action {
            let Some(parity) = before.take() else {
                return false;
            };
            *action = Action::Wait {
                object: object.clone(),
                parity,
            };
        }
        true
    });
}

/// Merges the arrival behind the mark at a place into the next arrival of its round.
fn join(lines: &mut Vec<Line>, at: usize) -> bool {
    let Some(Line::Action {
        action: mark @ Action::Round { .. },
        ..
    }) = lines.get(at).cloned()
    else {
        return false;
    };
    let between = lines.iter().skip(at + 1).position(
        |line| !matches!(line, Line::Action { action, .. } if passes(action) && *action != mark),
    );
    let Some(behind) = between.map(|length| at + 1 + length) else {
        return false;
    };
    if !matches!(&lines[behind], Line::Action { action, .. } if *action == mark) {
        return false;
    }
    let (Some((first, expects)), Some((second, mut joined))) =
        (arrival(lines, at + 1), arrival(lines, behind + 1))
    else {
        return false;
    };
    let (Some(count), Line::Action { location, .. }) = (first.plus(&second), &lines[behind + 1])
    else {
        return false;
    };
    let Action::Round { object, .. } = &mark else {
        return false;
    };
    let action = Action::Arrive {
        object: object.clone(),
        count,
    };
    let location = location.clone();
    joined.push(lines[behind].clone());
    joined.push(Line::Action { action, location });
    lines.splice(behind..=behind + 1, joined);
    lines.splice(at..=at + 1, expects);
    true
}

/// Whether an action lets its warp pass.
fn passes(action: &Action) -> bool {
    matches!(
        action,
        Action::Arrive { .. }
            | Action::ArriveExpect { .. }
            | Action::Expect { .. }
            | Action::Complete { .. }
            | Action::Copy { .. }
            | Action::Commit { .. }
            | Action::Round { .. }
    )
}

/// How many arrivals a line makes, and what it expects before.
fn arrival(lines: &[Line], at: usize) -> Option<(Number, Vec<Line>)> {
    let Line::Action { action, location } = lines.get(at)? else {
        return None;
    };
    match action {
        Action::Arrive { count, .. } => Some((count.clone(), Vec::new())),
        Action::ArriveExpect { object, bytes } => {
            let action = Action::Expect {
                object: object.clone(),
                bytes: bytes.clone(),
            };
            let location = location.clone();
            Some((Number::constant(1), vec![Line::Action { action, location }]))
        }
        _ => None,
    }
}

pub(super) fn retain(lines: &mut Vec<Line>, keep: &mut dyn FnMut(&mut Line) -> bool) {
    lines.retain_mut(|line| keep(line));
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        retain(block, keep);
    }
}
