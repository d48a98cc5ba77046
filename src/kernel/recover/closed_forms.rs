//! Replaces a variable that a loop moves by a fixed step (an induction variable) by its closed
//! form.
//!
//! For example, `var r = 0  for i in 0..n { wait b[r % 3] ..  r = r + 1 }` becomes
//! `for i in 0..n { wait b[i % 3] .. }`, and behind the loop `r` is `n`. By induction, in iteration
//! `i` the variable is its value before the loop plus `i` times the step. A loop up to a number
//! below 0 has no iteration, and moves nothing.
//!
//! The variable may also move only in iterations in which `b - k * i >= 0`, for fixed `b` and `k >= 1`. These are the
//! first ones:
//!
//! ```text
//! var r = 0  for i in 0..n { ..  if n > i + 7 { wait b[r % 3] ..  r = r + 1 } }
//! for i in 0..n { ..  if n > i + 7 { wait b[i % 3] .. } }
//! ```

use crate::recover::branches::Ranges;
use crate::recover::branches::narrowed;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::assigned;
use crate::recover::role_ir::returns;

/// Replaces such variables by their values. `ranges` has the ranges of inputs and of the indices of the loops around.
pub fn substitute_closed_forms(lines: &mut Vec<Line>, ranges: &Ranges) {
    for line in lines.iter_mut() {
        let mut inner = ranges.clone();
        if let Line::For { index, count, .. } = line {
            let range = count.range(&|atomic| ranges.get(atomic).copied());
            let most = range.map(|(_, most)| (0, (most - 1).max(0)));
            inner.extend(most.map(|range| (Atomic::Index(*index), range)));
        }
        for block in line.blocks_mut() {
            substitute_closed_forms(block, &inner);
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

/// Removes the variable that line `at` declares from the lines, up to the first line that moves it.
/// Behind that line it is declared again, with the value that it has there.
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
        // No line moves it.
        let rest = put(behind, *variable, value)?;
        return Some(lines[..at].iter().cloned().chain(rest).collect());
    };
    let mut all = lines[..at].to_vec();
    all.append(&mut put(&behind[..place], *variable, value)?);
    let (mut changed, left) = passed(&behind[place], *variable, value, ranges)?;
    all.append(&mut changed);
    all.push(Line::Let {
        variable: *variable,
        value: left,
    });
    all.extend_from_slice(&behind[place + 1..]);
    Some(all)
}

/// Removes the variable from a line that moves it. Returns the new lines, and the value of the
/// variable behind them. `value` is its value before.
///
/// Behind a branch, the variable has the value at the end of one side, if the value at the end of
/// the other side is the same wherever that other side is taken. For example, `min(n, 7)` is 0
/// where `n >= 1` fails.
fn passed(
    line: &Line,
    variable: u32,
    value: &Number,
    ranges: &Ranges,
) -> Option<(Vec<Line>, Number)> {
    match line {
        Line::Assign { value: next, .. } => {
            let own = Atomic::Variable(variable);
            let next = next.replaced(&|atomic| (*atomic == own).then(|| value.clone()))?;
            Some((Vec::new(), next))
        }
        Line::If {
            condition,
            then,
            otherwise,
            location,
        } => {
            let condition = put_into(condition, variable, value)?;
            if returns(then) || returns(otherwise) {
                return None;
            }
            let inside = narrowed(ranges, &condition);
            let outside = narrowed(ranges, &condition.clone().negated()?);
            let (then, one) = through(then, variable, value, &inside)?;
            let (otherwise, other) = through(otherwise, variable, value, &outside)?;
            // The value at the end of one side may also be right for the other side.
            let left = match same(&one, &other, &outside) {
                true => one,
                false => same(&one, &other, &inside).then_some(other)?,
            };
            let line = Line::If {
                condition,
                then,
                otherwise,
                location: location.clone(),
            };
            Some((vec![line], left))
        }
        Line::For {
            index,
            count,
            body,
            location,
        } => {
            let (body, left) = gone_through((*index, count, body), variable, value, ranges)?;
            let line = Line::For {
                index: *index,
                count: count.clone(),
                body,
                location: location.clone(),
            };
            Some((vec![line], left))
        }
        Line::Action { .. } | Line::Let { .. } | Line::Return => None,
    }
}

/// The same as [`passed`], for several lines.
fn through(
    lines: &[Line],
    variable: u32,
    value: &Number,
    ranges: &Ranges,
) -> Option<(Vec<Line>, Number)> {
    let mut all = Vec::new();
    let mut value = value.clone();
    for line in lines {
        // Other variables may change between these lines.
        if value.has_variables() {
            return None;
        }
        if moves(line, variable) {
            let (mut changed, left) = passed(line, variable, &value, ranges)?;
            all.append(&mut changed);
            value = left;
        } else {
            all.append(&mut put(std::slice::from_ref(line), variable, &value)?);
        }
    }
    Some((all, value))
}

/// Whether two numbers are equal, given these ranges.
fn same(one: &Number, other: &Number, ranges: &Ranges) -> bool {
    let fixed = |number: &Number| {
        number.replaced(&|atomic| match ranges.get(atomic) {
            Some((low, high)) if low == high => Some(Number::constant(*low)),
            _ => None,
        })
    };
    one == other || fixed(one).is_some_and(|one| fixed(other) == Some(one))
}

/// Removes a variable from the body of a loop that moves it. Returns the body, and the value behind
/// the loop.
///
/// If the variable moves only where `b - k * i >= 0`, it moves in the first `m = max(0, b / k + 1)`
/// iterations, rounded down. So in iteration `i` it has moved `min(i, m)` times. Where the
/// condition holds it has moved `i` times, because the condition held in all iterations before.
fn gone_through(
    (index, count, body): (u32, &Number, &[Line]),
    variable: u32,
    value: &Number,
    ranges: &Ranges,
) -> Option<(Vec<Line>, Number)> {
    let varies = |atomic: &Atomic| matches!(atomic, Atomic::Variable(_));
    if count.mentions(&varies) || returns(body) {
        return None;
    }
    let mut guards = Vec::new();
    let step = moved(body, variable, &mut guards)?;
    let natural = |number: Number| match number.is_natural(&|atomic| ranges.get(atomic).copied()) {
        true => number,
        false => Number::maximum(Number::constant(0), number),
    };
    let mut limit: Option<Number> = None;
    for guard in &guards {
        let first = natural(holds_first(guard, index)?);
        limit = Some(match limit {
            Some(limit) => Number::minimum(limit, first),
            None => first,
        });
    }
    let rounds = natural(count.clone());
    let times = |rounds: Number| match &limit {
        Some(limit) => Number::minimum(rounds, limit.clone()),
        None => rounds,
    };
    let behind_rounds = |rounds: Number| value.plus(&rounds.times(step)?);
    let now = Number::of(Atomic::Index(index));
    let then = now.plus(&Number::constant(1))?;
    let round = Round {
        variable,
        guards: &guards,
        held: [behind_rounds(now.clone())?, behind_rounds(then.clone())?],
        anyhow: [behind_rounds(times(now))?, behind_rounds(times(then))?],
    };
    let left = behind_rounds(times(rounds))?;
    let mut has_moved = false;
    let inner = round.written(body, &[], &mut has_moved)?;
    Some((inner, left))
}

/// By how much lines move a variable, if one place does so. Adds the conditions around that place
/// to `guards`.
fn moved(lines: &[Line], variable: u32, guards: &mut Vec<Condition>) -> Option<i128> {
    let mut own = lines.iter().filter(|line| moves(line, variable));
    let (Some(line), None) = (own.next(), own.next()) else {
        return None;
    };
    match line {
        Line::Assign { value, .. } => {
            let step = value.minus(&Number::of(Atomic::Variable(variable)))?;
            step.as_constant()
        }
        Line::If {
            condition,
            then,
            otherwise,
            ..
        } => {
            let sides = [then, otherwise].map(|side| assigned(side).contains(&variable));
            let (side, holds) = match sides {
                [true, false] => (then, condition.clone()),
                [false, true] => (otherwise, condition.clone().negated()?),
                _ => return None,
            };
            conjuncts(&holds, guards);
            moved(side, variable, guards)
        }
        _ => None,
    }
}

/// Splits a condition into parts that all have to hold.
fn conjuncts(condition: &Condition, found: &mut Vec<Condition>) {
    match condition {
        Condition::And(a, b) => {
            conjuncts(a, found);
            conjuncts(b, found);
        }
        other if !found.contains(other) => found.push(other.clone()),
        _ => {}
    }
}

/// In how many iterations of a loop a condition holds, if it holds in the first ones and in no
/// other. The number is below 1 if there are none.
fn holds_first(condition: &Condition, index: u32) -> Option<Number> {
    let Condition::AtLeastZero(number) = condition else {
        return None;
    };
    let own = Atomic::Index(index);
    let slope = *number.parts.get(&own)?;
    let rest = number.minus(&Number::of(own.clone()).times(slope)?)?;
    let varies = |atomic: &Atomic| *atomic == own || matches!(atomic, Atomic::Variable(_));
    if slope >= 0 || rest.mentions(&varies) {
        return None;
    }
    let last = rest.divided(slope.checked_neg()?)?;
    last.plus(&Number::constant(1))
}

/// The values of a variable in an iteration: before it moves, and afterwards.
struct Round<'c> {
    variable: u32,
    /// The conditions under which it moves.
    guards: &'c [Condition],
    /// Its values where all of them hold. `anyhow` has its values in general.
    held: [Number; 2],
    anyhow: [Number; 2],
}

impl Round<'_> {
    /// Lines without the variable, in a place where the conditions `hold` are known to hold.
    fn written(
        &self,
        lines: &[Line],
        hold: &[Condition],
        has_moved: &mut bool,
    ) -> Option<Vec<Line>> {
        let mut all = Vec::new();
        for line in lines {
            let values = match self.guards.iter().all(|guard| hold.contains(guard)) {
                true => &self.held,
                false => &self.anyhow,
            };
            let value = &values[usize::from(*has_moved)];
            match line {
                Line::Assign { variable, .. } if *variable == self.variable => *has_moved = true,
                Line::If {
                    condition,
                    then,
                    otherwise,
                    location,
                } => {
                    let side = |side: &[Line], holds: Option<Condition>, has_moved: &mut bool| {
                        let mut hold = hold.to_vec();
                        if let Some(condition) = &holds {
                            conjuncts(condition, &mut hold);
                        }
                        self.written(side, &hold, has_moved)
                    };
                    let mut behind = [*has_moved; 2];
                    let then = side(then, Some(condition.clone()), &mut behind[0])?;
                    let otherwise = side(otherwise, condition.clone().negated(), &mut behind[1])?;
                    *has_moved = behind.contains(&true);
                    let condition = put_into(condition, self.variable, value)?;
                    if then.is_empty() && otherwise.is_empty() {
                        continue;
                    }
                    all.push(Line::If {
                        condition,
                        then,
                        otherwise,
                        location: location.clone(),
                    });
                }
                line => all.append(&mut put(std::slice::from_ref(line), self.variable, value)?),
            }
        }
        Some(all)
    }
}

/// Puts a number in for a variable. Fails if a use of the variable is left.
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

/// Puts a number in for a variable in a condition. Fails if a use of the variable is left.
fn put_into(condition: &Condition, variable: u32, value: &Number) -> Option<Condition> {
    let own = |atomic: &Atomic| *atomic == Atomic::Variable(variable);
    let condition = condition.replaced(&|atomic| own(atomic).then(|| value.clone()))?;
    let mut left = false;
    condition.each(&mut |number| left |= number.mentions(&own));
    (!left).then_some(condition)
}

/// Whether a line, or a line inside of it, assigns a variable.
fn moves(line: &Line, variable: u32) -> bool {
    assigned(std::slice::from_ref(line)).contains(&variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;
    use crate::recover::role_ir::every_line;

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
            substitute_closed_forms(&mut lines, &Ranges::from([(Atomic::Input(0), (3, 100))]));
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

    fn input(number: u32) -> Number {
        Number::of(Atomic::Input(number))
    }

    fn own() -> Number {
        Number::of(Atomic::Variable(0))
    }

    /// `var r = 5  for i in 0..count { if condition { mark(r)  r = r + 2 } }  mark(r)`, closed: what the marks say.
    fn moved_under(condition: Condition, count: Number) -> Vec<Number> {
        let mark = |value: Number| Line::Assign { variable: 9, value };
        let location = Location::default();
        let next = own().plus(&Number::constant(2)).unwrap();
        let moving = Line::Assign {
            variable: 0,
            value: next,
        };
        let mut lines = vec![
            Line::Let {
                variable: 0,
                value: Number::constant(5),
            },
            Line::For {
                index: 3,
                count,
                body: vec![Line::If {
                    condition,
                    then: vec![mark(own()), moving],
                    otherwise: vec![mark(own())],
                    location: location.clone(),
                }],
                location,
            },
            mark(own()),
        ];
        substitute_closed_forms(&mut lines, &Ranges::from([(Atomic::Input(0), (0, 100))]));
        let mut marks = Vec::new();
        every_line(&lines, &mut |line| {
            if let Line::Assign { variable: 9, value } = line {
                marks.push(value.clone());
            }
        });
        marks
    }

    /// What a variable is that moves in the first iterations, in every iteration of every loop that is small.
    #[test]
    fn what_moves_in_the_first_iterations() {
        let index = Number::of(Atomic::Index(3));
        for (less, slope) in [(0, 1), (2, 1), (5, 3), (-2, 2)] {
            let left = input(0).minus(&Number::constant(less)).unwrap();
            let left = left.minus(&index.times(slope).unwrap()).unwrap();
            let marks = moved_under(Condition::AtLeastZero(left.clone()), input(1));
            let [held, failed, behind] = &marks[..] else {
                panic!("{marks:?}");
            };
            for (n, count) in (0..9).flat_map(|n| (-1..9).map(move |count| (n, count))) {
                let mut moved = 5;
                for i in 0..count {
                    let value = |number: &Number| {
                        number.value(&|atomic| match atomic {
                            Atomic::Input(0) => Some(n),
                            Atomic::Input(_) => Some(count),
                            Atomic::Index(3) => Some(i),
                            _ => None,
                        })
                    };
                    let holds = value(&left).unwrap() >= 0;
                    assert_eq!(value(if holds { held } else { failed }), Some(moved));
                    moved += if holds { 2 } else { 0 };
                }
                let value = behind.value(&|atomic| match atomic {
                    Atomic::Input(0) => Some(n),
                    Atomic::Input(_) => Some(count),
                    _ => None,
                });
                assert_eq!(value, Some(moved), "{n} {count} {less} {slope}");
            }
        }
    }

    /// Conditions that hold again later, or that other variables decide, say nothing of how often a variable has moved.
    #[test]
    fn what_moves_in_other_iterations_stays() {
        let index = Number::of(Atomic::Index(3));
        let later = index.minus(&Number::constant(2)).unwrap();
        let other = Number::of(Atomic::Variable(1)).minus(&index).unwrap();
        let around = input(0).minus(&index.remainder(4).unwrap()).unwrap();
        for condition in [
            Condition::AtLeastZero(later.clone()),
            Condition::NotZero(later),
            Condition::AtLeastZero(other),
            Condition::AtLeastZero(around),
        ] {
            let marks = moved_under(condition, input(1));
            assert_eq!(marks, [own(), own(), own()]);
        }
    }
}
