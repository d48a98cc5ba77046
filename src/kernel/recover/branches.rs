//! Removes branches that the text does not need.
//!
//! - `if n % 2 == 0 { wait b[0] .. } else { wait b[1] .. }` becomes `wait b[n % 2] ..`.
//! - `if n == 1 { wait b[0] .. } else { for i in 0..n { wait b[i % 2] .. } }` becomes the side
//!   behind `else`, which does the same if `n` is 1.
//! - `if n >= 1 { arrive a  for i in 0..n { .. } }` becomes
//!   `if n >= 1 { arrive a }  for i in 0..n { .. }`. If the condition fails, the loop has no
//!   iteration.
//!
//! Compilers write such branches where they unroll a loop, or peel its first or last iteration.

use std::collections::BTreeMap;

use crate::recover::alike::every;
use crate::recover::alike::listed;
use crate::recover::alike::named_as;
use crate::recover::alike::same;
use crate::recover::alike::shape;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Line;
use crate::recover::unrolled::is_odd;

/// The ranges of inputs and loop indices at a point of a program.
pub type Ranges = BTreeMap<Atomic, Range>;

/// Removes branches that make no difference. `ranges` has the ranges of the inputs.
pub fn straighten(lines: &mut Vec<Line>, ranges: &Ranges) {
    let mut all = Vec::new();
    for mut line in std::mem::take(lines) {
        match &mut line {
            Line::For {
                index, count, body, ..
            } => {
                let mut inner = ranges.clone();
                match bounds(count, ranges) {
                    Some((_, most)) => inner.insert(Atomic::Index(*index), (0, (most - 1).max(0))),
                    None => inner.remove(&Atomic::Index(*index)),
                };
                straighten(body, &inner);
                all.push(line);
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let negated = condition.clone().negated();
                let inside = narrowed(ranges, condition);
                let outside = negated
                    .map(|negated| narrowed(ranges, &negated))
                    .unwrap_or_else(|| ranges.clone());
                straighten(then, &inside);
                straighten(otherwise, &outside);
                if same(&settled(otherwise, &inside), &settled(then, &inside)) {
                    all.append(otherwise);
                } else if same(&settled(then, &outside), &settled(otherwise, &outside)) {
                    all.append(then);
                } else if let Some(mut one) = by_parity(condition, then, otherwise) {
                    all.append(&mut one);
                } else {
                    all.extend(around_loops(line));
                }
            }
            _ => all.push(line),
        }
    }
    *lines = all;
}

/// Whether a loop with this trip count has no iteration if a condition fails.
pub fn spares(condition: &Condition, count: &Number) -> bool {
    match condition {
        Condition::AtLeastZero(number) => {
            count.minus(&Number::constant(1)).as_ref() == Some(number)
        }
        Condition::NotZero(number) => count == number || count.times(-1).as_ref() == Some(number),
        _ => false,
    }
}

/// Moves loops out of a branch if they have no iteration where its condition fails. Returns these
/// loops, and branches for the lines before and behind them.
fn around_loops(line: Line) -> Vec<Line> {
    let Line::If {
        condition,
        then,
        otherwise,
        location,
    } = &line
    else {
        return vec![line];
    };
    let mut varies = false;
    condition.each(&mut |number| {
        varies |= number.has_variables();
    });
    let spared = |line: &Line| matches!(line, Line::For { count, .. } if spares(condition, count));
    let declares = |line: &Line| matches!(line, Line::Let { .. });
    if varies || !otherwise.is_empty() || !then.iter().any(spared) || then.iter().any(declares) {
        return vec![line];
    }
    let mut all = Vec::new();
    for run in then.chunk_by(|one, other| !spared(one) && !spared(other)) {
        if run.iter().any(spared) {
            all.extend_from_slice(run);
            continue;
        }
        all.push(Line::If {
            condition: condition.clone(),
            then: run.to_vec(),
            otherwise: Vec::new(),
            location: location.clone(),
        });
    }
    all
}

fn bounds(number: &Number, ranges: &Ranges) -> Option<Range> {
    number.range(&|atomic| ranges.get(atomic).copied())
}

/// The ranges at a point where the condition holds, too.
pub(super) fn narrowed(ranges: &Ranges, condition: &Condition) -> Ranges {
    let mut narrowed = ranges.clone();
    match condition {
        Condition::AtLeastZero(number) => narrow(&mut narrowed, number),
        Condition::Zero(number) => {
            narrow(&mut narrowed, number);
            if let Some(opposite) = number.times(-1) {
                narrow(&mut narrowed, &opposite);
            }
        }
        Condition::NotZero(number) => {
            if let Some((0, _)) = bounds(number, ranges) {
                number
                    .minus(&Number::constant(1))
                    .iter()
                    .for_each(|positive| narrow(&mut narrowed, positive));
            }
        }
        Condition::And(a, b) => return narrowed_by_both(ranges, a, b),
        Condition::Or(..) | Condition::Constant(_) => {}
    }
    narrowed
}

fn narrowed_by_both(ranges: &Ranges, a: &Condition, b: &Condition) -> Ranges {
    narrowed(&narrowed(ranges, a), b)
}

/// Narrows a range so that a number is at least 0. The number has to be `x + c` or `c - x` for one
/// unknown `x`.
fn narrow(ranges: &mut Ranges, number: &Number) {
    let mut parts = number.parts.iter();
    let (Some((atomic, factor)), None) = (parts.next(), parts.next()) else {
        return;
    };
    let Some((low, high)) = ranges.get_mut(atomic) else {
        return;
    };
    match factor {
        1 => *low = (*low).max(-number.constant),
        -1 => *high = (*high).min(number.constant),
        _ => {}
    }
}

/// Simplifies lines by the ranges: puts in known values, decides conditions, and unrolls loops with
/// one iteration or none.
fn settled(lines: &[Line], ranges: &Ranges) -> Vec<Line> {
    let mut lines = lines.to_vec();
    replace(&mut lines, &|atomic| match ranges.get(atomic) {
        Some((low, high)) if low == high => Some(Number::constant(*low)),
        _ => None,
    });
    let mut all = Vec::new();
    for line in lines {
        match line {
            Line::For {
                index,
                count,
                body,
                location,
            } => match bounds(&count, ranges) {
                Some((_, most)) if most <= 0 => {}
                Some((1, 1)) => {
                    let mut once = body;
                    replace(&mut once, &|atomic| {
                        (*atomic == Atomic::Index(index)).then(Number::default)
                    });
                    all.extend(settled(&once, ranges));
                }
                _ => {
                    let mut inner = ranges.clone();
                    inner.remove(&Atomic::Index(index));
                    all.push(Line::For {
                        index,
                        count,
                        body: settled(&body, &inner),
                        location,
                    });
                }
            },
            Line::If {
                condition,
                then,
                otherwise,
                location,
            } => match decided(&condition, ranges) {
                Some(true) => all.extend(settled(&then, ranges)),
                Some(false) => all.extend(settled(&otherwise, ranges)),
                None => all.push(Line::If {
                    condition,
                    then: settled(&then, ranges),
                    otherwise: settled(&otherwise, ranges),
                    location,
                }),
            },
            line => all.push(line),
        }
    }
    all
}

/// Whether a condition holds for all values in the ranges, or for none.
pub(super) fn decided(condition: &Condition, ranges: &Ranges) -> Option<bool> {
    match condition {
        Condition::Constant(truth) => Some(*truth),
        Condition::AtLeastZero(number) => match bounds(number, ranges)? {
            (low, _) if low >= 0 => Some(true),
            (_, high) if high < 0 => Some(false),
            _ => None,
        },
        Condition::Zero(number) => match bounds(number, ranges)? {
            (0, 0) => Some(true),
            (low, high) if low > 0 || high < 0 => Some(false),
            _ => None,
        },
        Condition::NotZero(number) => {
            decided(&Condition::Zero(number.clone()), ranges).map(|zero| !zero)
        }
        Condition::And(a, b) => match (decided(a, ranges), decided(b, ranges)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Condition::Or(a, b) => match (decided(a, ranges), decided(b, ranges)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
    }
}

/// One block for both sides of a branch that depends on the last bit of a number.
fn by_parity(condition: &Condition, then: &[Line], otherwise: &[Line]) -> Option<Vec<Line>> {
    if then.is_empty() || shape(then) != shape(otherwise) {
        return None;
    }
    let mut bits = Vec::new();
    condition.each(&mut |number| {
        number.each(&mut |atomic| {
            if matches!(atomic, Atomic::Remainder(_, 2)) {
                bits.push(Number::of(atomic.clone()));
            }
        });
    });
    let negated = condition.clone().negated()?;
    let (bit, odd, even) = bits.into_iter().find_map(|bit| {
        if is_odd(condition, &bit) {
            Some((bit, then, otherwise))
        } else if is_odd(&negated, &bit) {
            Some((bit, otherwise, then))
        } else {
            None
        }
    })?;
    let mut one = even.to_vec();
    let (zero, other) = (listed(even), listed(&named_as(odd, even)));
    let mut put: Vec<Number> = Vec::new();
    for (zero, other) in zero.iter().zip(&other) {
        let difference = other.minus(zero)?.as_constant()?;
        put.push(zero.plus(&bit.times(difference)?)?);
    }
    let mut put = put.into_iter();
    every(&mut one, &mut |number| {
        *number = put.next().unwrap_or_default();
    });
    Some(one)
}
