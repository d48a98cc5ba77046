//! Variables that a loop moves by a fixed number in each iteration, in closed form.
//!
//! `var r = 0  for i in 0..n { wait b[r % 3] ..  r = r + 1 }` is `for i in 0..n { wait b[i % 3] .. }`, and behind the loop `r` is `n`.
//! In iteration `i` the variable is what it was before the loop and `i` times the step, by induction. A loop up to a number below
//! 0 has no iteration, and moves nothing.

use crate::recover::branches::Ranges;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::sketch::Line;
use crate::recover::sketch::assigned;
use crate::recover::sketch::every_line;

/// Replaces such variables by what they are; the ranges are those of inputs and of the loops around.
pub fn close(lines: &mut Vec<Line>, ranges: &Ranges) {
    for line in lines.iter_mut() {
        let mut inner = ranges.clone();
        if let Line::For { index, count, .. } = line {
            let range = count.range(&|atomic| ranges.get(atomic).copied());
            let most = range.map(|(_, most)| (0, (most - 1).max(0)));
            inner.extend(most.map(|range| (Atomic::Index(*index), range)));
        }
        for block in line.blocks_mut() {
            close(block, &inner);
        }
    }
    let mut at = 0;
    while at < lines.len() {
        match closed(lines, at, ranges) {
            // The declaration has moved behind the loop, or is gone.
            Some(changed) => *lines = changed,
            None => at += 1,
        }
    }
}

/// The lines without the variable that is declared at a place, up to the end of the loop that moves it.
fn closed(lines: &[Line], at: usize, ranges: &Ranges) -> Option<Vec<Line>> {
    let Line::Let { variable, value } = &lines[at] else {
        return None;
    };
    let varies = |atomic: &Atomic| matches!(atomic, Atomic::Variable(_));
    if value.mentions(&varies) {
        return None;
    }
    let behind = &lines[at + 1..];
    let first = behind.iter().position(|line| moves(line, *variable));
    let Some(place) = first else {
        // Nothing moves it any more.
        let rest = put(behind, *variable, value)?;
        return Some(lines[..at].iter().cloned().chain(rest).collect());
    };
    let between = put(&behind[..place], *variable, value)?;
    let mut all: Vec<Line> = lines[..at].iter().cloned().chain(between).collect();
    if let Line::Assign { value: next, .. } = &behind[place] {
        let own = Atomic::Variable(*variable);
        let next = next.replaced(&|atomic| (*atomic == own).then(|| value.clone()))?;
        all.push(Line::Let {
            variable: *variable,
            value: next,
        });
        all.extend_from_slice(&behind[place + 1..]);
        return Some(all);
    }
    let Line::For {
        index,
        count,
        body,
        location,
    } = &behind[place]
    else {
        return None;
    };
    if count.mentions(&varies) {
        return None;
    }
    let moved = body.iter().position(|line| moves(line, *variable))?;
    let Line::Assign { value: next, .. } = &body[moved] else {
        return None;
    };
    let (above, below) = (&body[..moved], &body[moved + 1..]);
    let step = next
        .minus(&Number::of(Atomic::Variable(*variable)))?
        .as_constant()?;
    if assigned(below).contains(variable) || ends(body) {
        return None;
    }
    let now = value.plus(&Number::of(Atomic::Index(*index)).times(step)?)?;
    let then = now.plus(&Number::constant(step))?;
    let least = count.range(&|atomic| ranges.get(atomic).copied());
    let rounds = match least {
        Some((0.., _)) => count.clone(),
        _ => Number::maximum(Number::constant(0), count.clone()),
    };
    let left = value.plus(&rounds.times(step)?)?;
    let mut inner = put(above, *variable, &now)?;
    inner.append(&mut put(below, *variable, &then)?);
    all.push(Line::For {
        index: *index,
        count: count.clone(),
        body: inner,
        location: location.clone(),
    });
    all.push(Line::Let {
        variable: *variable,
        value: left,
    });
    all.extend_from_slice(&behind[place + 1..]);
    Some(all)
}

/// Lines with a number in the place of a variable.
fn put(lines: &[Line], variable: u32, value: &Number) -> Option<Vec<Line>> {
    let own = |atomic: &Atomic| *atomic == Atomic::Variable(variable);
    let mut lines = lines.to_vec();
    replace(&mut lines, &|atomic| own(atomic).then(|| value.clone()));
    let mut left = false;
    numbers(&mut lines, &mut |number| left |= number.mentions(&own));
    conditions(&mut lines, &mut |condition| {
        condition.each(&mut |number| left |= number.mentions(&own));
    });
    (!left).then_some(lines)
}

/// Whether a line gives a variable a value, or one inside of it.
fn moves(line: &Line, variable: u32) -> bool {
    assigned(std::slice::from_ref(line)).contains(&variable)
}

/// Whether a body may end before its last line.
fn ends(body: &[Line]) -> bool {
    let mut found = false;
    every_line(body, &mut |line| found |= matches!(line, Line::Return));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;

    /// A loop up to what may be below 0 moves nothing then.
    #[test]
    fn what_a_loop_has_moved_is_not_less_than_it_was() {
        let n = Number::of(Atomic::Input(0));
        let own = Number::of(Atomic::Variable(0));
        let behind = |less: i128| {
            let count = n.minus(&Number::constant(less)).unwrap();
            let next = own.plus(&Number::constant(2)).unwrap();
            let mut lines = vec![
                Line::Let {
                    variable: 0,
                    value: Number::constant(5),
                },
                Line::For {
                    index: 0,
                    count,
                    body: vec![Line::Assign {
                        variable: 0,
                        value: next,
                    }],
                    location: Location::default(),
                },
                Line::Assign {
                    variable: 1,
                    value: own.clone(),
                },
            ];
            close(&mut lines, &Ranges::from([(Atomic::Input(0), (3, 100))]));
            match lines.last() {
                Some(Line::Assign { value, .. }) => value.clone(),
                other => panic!("{other:?}"),
            }
        };
        let five = Number::constant(5);
        let moved = |rounds: Number| rounds.times(2).unwrap().plus(&five).unwrap();
        assert_eq!(behind(3), moved(n.minus(&Number::constant(3)).unwrap()));
        let less = n.minus(&Number::constant(4)).unwrap();
        assert_eq!(behind(4), moved(Number::maximum(Number::constant(0), less)));
    }
}
