//! Turns a run of statements that differ by a step of one number into a loop.
//!
//! For example, `wait b[r % 4] ..; wait b[(r + 1) % 4] ..; wait b[(r + 2) % 4] ..` becomes the
//! first statement in a loop over `k`, with `r + k` in place of `r`. The result is compared with
//! the original, statement by statement. So it is the same program.

use std::collections::BTreeSet;

use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;

/// The fewest statements that become a loop.
const FEWEST: usize = 3;

/// Rolls up the runs in lines. `next` is the number of the next new loop.
pub fn reroll(lines: &mut Vec<Line>, next: &mut u32) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        reroll(block, next);
    }
    let mut done = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if let Some((rolled, length)) = run(&lines[at..], *next) {
            done.push(rolled);
            *next += 1;
            at += length;
        } else {
            done.push(lines[at].clone());
            at += 1;
        }
    }
    *lines = done;
}

/// The loop that replaces the first lines, and how many lines that are.
fn run(lines: &[Line], index: u32) -> Option<(Line, usize)> {
    let Line::Action { action, location } = lines.first()? else {
        return None;
    };
    if !matches!(action, Action::Wait { .. } | Action::Arrive { .. }) {
        return None;
    }
    let mut atomics: BTreeSet<Atomic> = BTreeSet::new();
    let mut first = [lines[0].clone()];
    numbers(&mut first, &mut |number| {
        number.each(&mut |atomic| {
            if matches!(atomic, Atomic::Input(_) | Atomic::Variable(_)) {
                atomics.insert(atomic.clone());
            }
        });
    });
    for atomic in atomics {
        let moved = |by: &Number| {
            let mut copy = [lines[0].clone()];
            let sum = Number::of(atomic.clone()).plus(by)?;
            replace(&mut copy, &|other| (*other == atomic).then(|| sum.clone()));
            let [line] = copy;
            Some(line)
        };
        let mut length = 1;
        while let Some(Line::Action { action, .. }) = lines.get(length) {
            let expected = moved(&Number::constant(i128::try_from(length).ok()?))?;
            if !matches!(&expected, Line::Action { action: other, .. } if other == action) {
                break;
            }
            length += 1;
        }
        if length >= FEWEST {
            let body = moved(&Number::of(Atomic::Index(index)))?;
            let rolled = Line::For {
                index,
                count: Number::constant(i128::try_from(length).ok()?),
                body: vec![body],
                location: location.clone(),
            };
            return Some((rolled, length));
        }
    }
    None
}
