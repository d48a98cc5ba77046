//! Undoes loop unrolling.
//!
//! ```text
//! for i in 0..n / 2 { wait b[0] i % 2; wait b[1] i % 2 } if n % 2 != 0 { wait b[0] n / 2 % 2 }
//! becomes  for i in 0..n { wait b[i % 2] i / 2 % 2 }
//! ```
//!
//! If a body consists of several copies of one body, the loop gets this body and as many times more
//! iterations. Remainder iterations behind the loop become part of it.
//!
//! Each number of the new body is a guess. With the index of each copy put in, it has to be the
//! number that stands in this copy. So both texts are the same program. A variable that counts
//! rounds then moves in each iteration of the new loop. A body may do the same several times, or
//! the same to several barriers. It is left as it is unless there are remainder iterations: the
//! author wrote it like that.

use crate::recover::alike::every;
use crate::recover::alike::listed;
use crate::recover::alike::named_as;
use crate::recover::alike::same;
use crate::recover::alike::shape;
use crate::recover::branches::Ranges;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::every_line;
use crate::recover::unroll_remainder;

/// The largest divisor of a remainder whose multiples are tried.
const MOST_MODULUS: i128 = 256;

/// Rolls up the loops in lines. `ranges` has the ranges of the inputs.
pub fn roll(lines: &mut Vec<Line>, ranges: &Ranges) {
    join(lines);
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        roll(block, ranges);
    }
    let mut at = 0;
    while at < lines.len() {
        let rolled = rolled(&lines[at]);
        let behind = lines.get(at + 1);
        let whole = rolled
            .iter()
            .map(|(_, line)| line)
            .chain([&lines[at]])
            .find_map(|line| with_rest(line, behind?, ranges));
        if let Some(whole) = whole {
            lines[at] = whole;
            lines.remove(at + 1);
        } else if let Some((_, line)) = rolled.into_iter().find(|(differ, _)| *differ) {
            lines[at] = line;
        }
        at += 1;
    }
}

/// Joins branches on one condition that follow each other.
fn join(lines: &mut Vec<Line>) {
    let mut all: Vec<Line> = Vec::new();
    for line in std::mem::take(lines) {
        match (all.last_mut(), line) {
            (
                Some(Line::If {
                    condition,
                    then,
                    otherwise,
                    ..
                }),
                Line::If {
                    condition: other,
                    then: more,
                    otherwise: less,
                    ..
                },
            ) if *condition == other && !moves(then, condition) && !moves(otherwise, condition) => {
                then.extend(more);
                otherwise.extend(less);
            }
            (_, line) => all.push(line),
        }
    }
    *lines = all;
}

/// Whether lines assign a variable of the condition, or return.
fn moves(lines: &[Line], condition: &Condition) -> bool {
    let mut found = false;
    every_line(lines, &mut |line| match line {
        Line::Let { variable, .. } | Line::Assign { variable, .. } => {
            let own = |atomic: &Atomic| *atomic == Atomic::Variable(*variable);
            condition.each(&mut |number| found |= number.mentions(&own));
        }
        Line::Return => found = true,
        _ => {}
    });
    found
}

/// The variables that the last lines of a body move by constants, with their steps.
fn counted(body: &[Line]) -> Vec<(u32, i128)> {
    let step = |line: &Line| match line {
        Line::Assign { variable, value } => {
            let own = Number::of(Atomic::Variable(*variable));
            Some((*variable, value.minus(&own)?.as_constant()?))
        }
        _ => None,
    };
    let mut all: Vec<(u32, i128)> = body.iter().rev().map_while(step).collect();
    all.reverse();
    all
}

/// The loops over one copy that a body of several copies may stand for. Also whether the copies
/// differ by the index of the loop. If they do not, for example if a body does the same to two
/// barriers, only iterations that are left over show that it was unrolled.
fn rolled(line: &Line) -> Vec<(bool, Line)> {
    let Line::For {
        index,
        count,
        body,
        location,
    } = line
    else {
        return Vec::new();
    };
    // The copies share the variables that count their rounds, behind the last copy.
    let counted = counted(body);
    let (copied, _) = body.split_at(body.len() - counted.len());
    let copies = (2..=copied.len())
        .rev()
        .filter(|copies| copied.len() % copies == 0);
    let one = |copies: usize| {
        let parts: Vec<&[Line]> = copied.chunks(copied.len() / copies).collect();
        let times = i128::try_from(copies).ok()?;
        if counted.iter().any(|(_, steps)| steps % times != 0) {
            return None;
        }
        let first = shape(parts[0]);
        if !parts.iter().all(|part| shape(part) == first) {
            return None;
        }
        let numbers: Vec<Vec<Number>> = parts
            .iter()
            .zip(0..)
            .map(|(part, copy)| {
                let mut part = named_as(part, parts[0]);
                replace(&mut part, &|atomic| {
                    let of = |(variable, _): &&(u32, i128)| *atomic == Atomic::Variable(*variable);
                    let (_, steps) = counted.iter().find(of)?;
                    Number::of(atomic.clone()).minus(&Number::constant(copy * (steps / times)))
                });
                listed(&part)
            })
            .collect();
        let fitted: Option<Vec<Number>> = (0..numbers[0].len())
            .map(|at| {
                let each: Vec<&Number> = numbers.iter().map(|part| &part[at]).collect();
                fit(&each, *index)
            })
            .collect();
        let mut fitted = fitted?.into_iter();
        let mut one = parts[0].to_vec();
        every(&mut one, &mut |number| {
            *number = fitted.next().unwrap_or_default();
        });
        for (variable, steps) in &counted {
            let own = Number::of(Atomic::Variable(*variable));
            one.push(Line::Assign {
                variable: *variable,
                value: own.plus(&Number::constant(steps / times))?,
            });
        }
        let line = Line::For {
            index: *index,
            count: count.times(times)?,
            body: one,
            location: location.clone(),
        };
        let moves = |(number, other): (&Number, &Number)| {
            let index = |atomic: &Atomic| *atomic == Atomic::Index(*index);
            number != other && number.mentions(&index)
        };
        let differ = !counted.is_empty()
            || numbers
                .iter()
                .any(|part| part.iter().zip(&numbers[0]).any(moves));
        Some((differ, line))
    };
    copies.filter_map(one).collect()
}

/// A number over the index of the rolled loop that gives each of these numbers in its copy.
fn fit(each: &[&Number], index: u32) -> Option<Number> {
    let copies = i128::try_from(each.len()).ok()?;
    let own = Number::of(Atomic::Index(index));
    let is = |fitted: &Number| {
        each.iter().zip(0..).all(|(wanted, copy)| {
            let at = own
                .times(copies)
                .and_then(|n| n.plus(&Number::constant(copy)));
            at.and_then(|at| {
                fitted.replaced(&|atomic| (*atomic == Atomic::Index(index)).then(|| at.clone()))
            })
            .is_some_and(|number| number == **wanted)
        })
    };
    let difference = |copy: usize| each[copy].minus(each[0])?.as_constant();
    let step = |copy: i128| difference(usize::try_from(copy).ok()?);
    let over = own.divided(copies)?;
    // The number of the first copy, over the index of the rolled loop.
    let first =
        each[0].replaced(&|atomic| (*atomic == Atomic::Index(index)).then(|| over.clone()))?;
    let mut guesses = vec![each[0].clone()];
    if let Some(step) = step(1) {
        let linear = each[0].parts.get(&Atomic::Index(index)).copied();
        let rest = each[0].minus(&own.times(linear.unwrap_or(0))?)?;
        guesses.push(rest.plus(&own.times(step)?)?);
    }
    guesses.push(first.clone());
    // Turns are guessed only for a number that does not go on with the index. One that does, and
    // differs beside that, is not one thing in turn: for example, two barriers, each of a ring of
    // its own.
    let still = first == *each[0];
    for slow in (1..copies).filter(|slow| still && copies % slow == 0) {
        for turns in (2..=copies).filter(|turns| copies % (turns * slow) == 0) {
            if let Some(step) = step(slow) {
                let round = own.divided(slow)?;
                guesses.push(first.plus(&round.remainder(turns)?.times(step)?)?);
                if turns == 2 {
                    let other = round.plus(&Number::constant(1))?.remainder(2)?;
                    let greater = first.plus(&Number::constant(step))?;
                    guesses.push(greater.plus(&other.times(-step)?)?);
                }
            }
        }
    }
    guesses.extend(slowed(each[0], index, copies, None));
    // A number that subtracts nothing is preferred.
    let subtracts = |number: &Number| number.parts.values().any(|factor| *factor < 0);
    guesses.sort_by_key(subtracts);
    guesses.into_iter().find(is).or_else(|| inside(each, index))
}

/// A guess for a number of the rolled loop, from the one in the first copy. Its index counts
/// `copies` times as fast as there. Inside of a remainder that is so up to multiples of the
/// divisor.
fn slowed(number: &Number, index: u32, copies: i128, modulus: Option<i128>) -> Option<Number> {
    let own = Atomic::Index(index);
    let mut result = Number::constant(number.constant);
    for (atomic, factor) in &number.parts {
        let slow = match atomic {
            Atomic::Quotient(inner, divisor) => {
                slowed(inner, index, copies, None)?.divided(*divisor)?
            }
            Atomic::Remainder(inner, divisor) => {
                slowed(inner, index, copies, Some(*divisor))?.remainder(*divisor)?
            }
            atomic if *atomic == own => {
                let modulus = modulus.unwrap_or(0).min(MOST_MODULUS);
                let slow = match factor % copies {
                    0 => factor / copies,
                    _ => (0..modulus).find(|slow| (slow * copies - factor) % modulus == 0)?,
                };
                result = result.plus(&Number::of(own.clone()).times(slow)?)?;
                continue;
            }
            atomic => Number::of(atomic.clone()),
        };
        result = result.plus(&slow.times(*factor)?)?;
    }
    Some(result)
}

/// The same for the dividends, if all numbers are a quotient or a remainder by one number.
fn inside(each: &[&Number], index: u32) -> Option<Number> {
    let parts: Option<Vec<_>> = each
        .iter()
        .map(|number| {
            let mut parts = number.parts.iter();
            parts.next().filter(|_| parts.next().is_none())
        })
        .collect();
    let parts = parts?;
    let (outer, factor) = parts[0];
    let constant = each[0].constant;
    let alike = |number: &&Number| number.constant == constant;
    if !each.iter().all(alike) || !parts.iter().all(|(_, other)| *other == factor) {
        return None;
    }
    let of = |atomic: &Atomic| match (atomic, outer) {
        (Atomic::Quotient(inner, divisor), Atomic::Quotient(_, wanted))
        | (Atomic::Remainder(inner, divisor), Atomic::Remainder(_, wanted))
            if divisor == wanted =>
        {
            Some((**inner).clone())
        }
        _ => None,
    };
    let inner: Option<Vec<Number>> = parts.iter().map(|(atomic, _)| of(atomic)).collect();
    let inner = inner?;
    let inner = fit(&inner.iter().collect::<Vec<_>>(), index)?;
    let number = match outer {
        Atomic::Quotient(_, divisor) => inner.divided(*divisor)?,
        Atomic::Remainder(_, divisor) => inner.remainder(*divisor)?,
        _ => return None,
    };
    number.times(*factor)?.plus(&Number::constant(constant))
}

/// A loop joined with the iterations that it leaves over.
fn with_rest(line: &Line, behind: &Line, ranges: &Ranges) -> Option<Line> {
    let Line::For {
        index,
        count,
        body,
        location,
    } = line
    else {
        return None;
    };
    let round = |at: &Number| {
        let mut copy = body.clone();
        replace(&mut copy, &|atomic| {
            (*atomic == Atomic::Index(*index)).then(|| at.clone())
        });
        copy
    };
    // If `count` is `d * (x / d)` and more, `x % d` rounds come behind it.
    count.parts.iter().find_map(|(part, factor)| {
        let Atomic::Quotient(inner, divisor) = part else {
            return None;
        };
        if factor != divisor {
            return None;
        }
        let others = count.minus(&Number::of(part.clone()).times(*factor)?)?;
        let whole = others.plus(inner)?;
        // Below 0 there are no iterations, but there is a remainder.
        let is_natural = |number: &Number| {
            let range = number.range(&|atomic| ranges.get(atomic).copied());
            range.is_some_and(|(least, _)| least >= 0)
        };
        // The other parts of the count may be negative, as in `2 * (n / 2) - 6000`. If they are a
        // multiple of the divisor, the loop has as many iterations as go into the whole count.
        // These are not negative if the whole count is not.
        let of_divisor = |factor: &i128| factor % divisor == 0;
        let goes_in = of_divisor(&others.constant) && others.parts.values().all(of_divisor);
        let counts = is_natural(count) || goes_in && is_natural(&whole);
        if !is_natural(inner) || !counts {
            return None;
        }
        let left = inner.remainder(*divisor)?;
        let rest = match behind {
            Line::For {
                index: own,
                count: times,
                body: rest,
                ..
            } if *times == left => {
                let at = count.plus(&Number::of(Atomic::Index(*own)))?;
                same(&round(&at), rest)
                    || *divisor <= unroll_remainder::MOST
                        && each_round(&round, count, (*own, rest), *divisor)
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } if *divisor == 2 => {
                let negated = condition.clone().negated();
                let even = negated.is_some_and(|negated| is_odd(&negated, &left));
                let (rest, none) = match even {
                    true => (otherwise, then),
                    false => (then, otherwise),
                };
                (even || is_odd(condition, &left)) && none.is_empty() && same(&round(count), rest)
            }
            _ => false,
        };
        let rest = rest
            || unroll_remainder::are_rounds(behind, (inner, *divisor), &|number| {
                Some(round(&count.plus(&Number::constant(number))?))
            });
        rest.then(|| Line::For {
            index: *index,
            count: whole,
            body: body.clone(),
            location: location.clone(),
        })
    })
}

/// Whether each of fewer than `divisor` iterations of a loop does what comes behind `count`
/// iterations of another one. Each is compared with its number put in: for `j < 4`, `j / 2` is
/// `(4 * (n / 4) + j) / 2 % 2`.
fn each_round(
    round: &dyn Fn(&Number) -> Vec<Line>,
    count: &Number,
    (index, rest): (u32, &[Line]),
    divisor: i128,
) -> bool {
    (0..divisor - 1).all(|number| {
        let number = Number::constant(number);
        let mut own = rest.to_vec();
        replace(&mut own, &|atomic| {
            (*atomic == Atomic::Index(index)).then(|| number.clone())
        });
        let at = count.plus(&number);
        at.is_some_and(|at| same(&round(&at), &own))
    })
}

/// Whether a condition on a number that is 0 or 1 says that it is 1.
pub fn is_odd(condition: &Condition, bit: &Number) -> bool {
    let one_less = bit.minus(&Number::constant(1));
    match condition {
        Condition::NotZero(number) => number == bit || bit.times(-1).as_ref() == Some(number),
        Condition::AtLeastZero(number) => Some(number) == one_less.as_ref(),
        Condition::Zero(number) => {
            Some(number) == one_less.as_ref() || number.times(-1) == one_less
        }
        _ => false,
    }
}
