//! Guesses the common form of the copies of an unrolled loop body: every place in it as a function of the iteration
//! number. The user of a guess compares every iteration with it.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::reroll::parities;
use super::reroll::part;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// A loop that may be written out.
pub(super) struct Loop<'s> {
    pub number: Unknown,
    pub body: &'s [Statement],
    pub copies: i128,
}

/// Statements with each one that stands under a condition alone under it: nothing that is done changes a condition.
pub(super) fn singly(statements: &[Statement]) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        match &statement.action {
            Action::If(condition, yes, no) if no.is_empty() && yes.iter().all(bare) => {
                let one =
                    |s: &Statement| Action::If(condition.clone(), vec![s.clone()], Vec::new());
                all.extend(yes.iter().map(|s| statement.with(one(s))));
            }
            _ => all.push(statement.with_blocks(&mut singly)),
        }
    }
    all
}

/// The same with what stands under one condition in a row together again.
pub(super) fn together(statements: Vec<Statement>) -> Vec<Statement> {
    let mut all: Vec<Statement> = Vec::new();
    for statement in statements {
        if let Action::If(condition, more, none) = &statement.action
            && let Some(last) = all.last_mut()
            && let Action::If(before, body, no) = &mut last.action
            && condition == before
            && none.is_empty()
            && no.is_empty()
        {
            body.extend(more.iter().cloned());
            continue;
        }
        all.push(statement);
    }
    all
}

pub(super) fn bare(statement: &Statement) -> bool {
    !matches!(statement.action, Action::For(..) | Action::If(..))
}

/// What is done in a statement, perhaps under a condition, if that is one thing.
pub(super) fn leaf(statement: &Statement) -> Option<(Option<&Condition>, &Statement)> {
    match &statement.action {
        Action::For(..) => None,
        Action::If(condition, yes, no) => match yes.as_slice() {
            [one] if no.is_empty() && bare(one) => Some((Some(condition), one)),
            _ => None,
        },
        _ => Some((None, statement)),
    }
}

/// What the copies in a loop have in common, as a function of the round's number.
pub(super) fn general(of: &Loop<'_>, index: Unknown, facts: &Facts) -> Option<Vec<Statement>> {
    let body = parities(of.body, facts);
    let length = body.len() / usize::try_from(of.copies).ok()?;
    let leaves: Vec<_> = body.iter().map(leaf).collect::<Option<_>>()?;
    let plain: Vec<Statement> = leaves.iter().map(|(_, one)| (*one).clone()).collect();
    let plain = parities(&plain, facts);
    let places: Vec<Vec<Sum>> = plain.chunks(length).map(sums).collect();
    let count = places.first()?.len();
    if places.iter().any(|all| all.len() != count) {
        return None;
    }
    let mut found = VecDeque::new();
    for place in 0..count {
        let values: Vec<&Sum> = places.iter().map(|all| &all[place]).collect();
        found.push_back(function(&values, of, index, facts)?);
    }
    let found = RefCell::new(found);
    let put = |sum: &Sum| {
        found
            .borrow_mut()
            .pop_front()
            .unwrap_or_else(|| sum.clone())
    };
    let mut all = mapped(&plain[..length], &put, &Condition::clone);
    // A condition that is decided in some copies is told by the others.
    for (place, statement) in all.iter_mut().enumerate() {
        let copies = leaves.iter().skip(place).step_by(length);
        let mut told = (0..)
            .zip(copies)
            .filter_map(|(copy, (condition, _))| Some((copy, (*condition)?)));
        if let Some((copy, condition)) = told.next() {
            let round = Sum::unknown(index).plus_constant(-copy);
            let condition = in_round(condition, of, &round)?;
            let action = Action::If(condition, vec![statement.clone()], Vec::new());
            *statement = statement.with(action);
        }
    }
    Some(all)
}

/// A condition in a copy, of which this is the number of the first round.
fn in_round(condition: &Condition, of: &Loop<'_>, round: &Sum) -> Option<Condition> {
    // What is below 0, or is 0, is so several times over.
    let moved = |sum: &Sum| {
        part(sum, of.number, round, of.copies)
            .or_else(|| part(&sum.scaled(of.copies), of.number, round, of.copies))
    };
    Some(match condition {
        Condition::Constant(_) | Condition::Passed(_) => return None,
        Condition::Negative(sum) => Condition::Negative(moved(sum)?),
        Condition::Zero(sum) => Condition::Zero(moved(sum)?),
        Condition::Not(inner) => in_round(inner, of, round)?.negated(),
        Condition::And(a, b) => in_round(a, of, round)?.and(in_round(b, of, round)?),
        Condition::Or(a, b) => in_round(a, of, round)?.or(in_round(b, of, round)?),
    })
}

/// The sums of statements, in order.
fn sums(statements: &[Statement]) -> Vec<Sum> {
    let all = RefCell::new(Vec::new());
    mapped(
        statements,
        &|sum| {
            all.borrow_mut().push(sum.clone());
            sum.clone()
        },
        &Condition::clone,
    );
    all.into_inner()
}

/// A function of the round's number that has these values in the copies.
fn function(values: &[&Sum], of: &Loop<'_>, index: Unknown, facts: &Facts) -> Option<Sum> {
    let (number, copies) = (Sum::unknown(of.number), of.copies);
    let all = Sum::unknown(index);
    let is = |guess: &Sum| {
        (0..).zip(values).all(|(copy, value)| {
            let at = number.scaled(copies).plus_constant(copy);
            let with = |u: Unknown| (u == index).then(|| at.clone());
            facts.same(&facts.replaced(guess, &with), value)
        })
    };
    let first = values.first()?;
    let divided = part(first, of.number, &all, copies);
    let moving = || {
        let step = values.get(1)?.minus(first).as_constant()?;
        let round = facts.quotient(&all, &Sum::of(copies))?;
        let copy = facts.modulo(&all, &Sum::of(copies))?;
        let with = |u: Unknown| (u == of.number).then(|| round.clone());
        Some(facts.replaced(first, &with).plus_times(&copy, step))
    };
    divided
        .filter(|guess| is(guess))
        .or_else(|| moving().filter(|guess| is(guess)))
        .or_else(|| ring(values, &all, copies, facts).filter(|guess| is(guess)))
        .or_else(|| onward(values, of.number, &all, facts).filter(|guess| is(guess)))
        .or_else(|| carried(values, of, &all, facts).filter(|guess| is(guess)))
}

/// Values that go on by one step in each round of the loop, from some copy on, as the phase bit of a ring that comes
/// around in it; or the remainder of such.
fn carried(values: &[&Sum], of: &Loop<'_>, index: &Sum, facts: &Facts) -> Option<Sum> {
    let steps = |values: &[&Sum]| {
        let first = values.first()?;
        let (slope, rest) = first.split(of.number)?;
        let step = slope.as_constant().filter(|step| *step != 0)?;
        let apart = |value: &&Sum| value.minus(first).as_constant();
        let apart: Vec<i128> = values.iter().map(apart).collect::<Option<_>>()?;
        let late = apart.iter().filter(|apart| **apart != 0).count();
        let late = i128::try_from(late).ok()?;
        let turn = facts.quotient(&index.plus_constant(late), &Sum::of(of.copies))?;
        Some(rest.plus_times(&turn, step))
    };
    let remainder = || {
        let (_, size, 1, left) = values.first()?.remainder()? else {
            return None;
        };
        let dividend = |value: &&Sum| match value.remainder()? {
            (dividend, other, 1, rest) if other == size && rest == left => {
                Some((*dividend).clone())
            }
            _ => None,
        };
        let dividends: Vec<Sum> = values.iter().map(dividend).collect::<Option<_>>()?;
        let one = steps(&dividends.iter().collect::<Vec<_>>())?;
        Some(left.plus(&facts.modulo(&one, &Sum::of(size))?))
    };
    steps(values).or_else(remainder)
}

/// Values that move on evenly from copy to copy, also inside remainders and quotients: rings that begin where
/// others have left them. Of such a ring, nothing is seen from round to round where it comes around in a round.
fn onward(values: &[&Sum], number: Unknown, index: &Sum, facts: &Facts) -> Option<Sum> {
    let first = values.first()?;
    let next = values.get(1)?;
    let begin = |u: Unknown| (u == number).then(|| Sum::of(0));
    if let Some(step) = next.minus(first).as_constant() {
        return Some(facts.replaced(first, &begin).plus_times(index, step));
    }
    let remainder = || {
        let (_, size, factor, left) = first.remainder()?;
        let of = |sum: &&Sum| {
            if let Some((dividend, other, times, rest)) = sum.remainder() {
                let same = (other, times) == (size, factor) && rest == left;
                return same.then(|| (*dividend).clone());
            }
            sum.minus(&left).exactly_over(factor)
        };
        let dividends: Vec<Sum> = values.iter().map(of).collect::<Option<_>>()?;
        let one = onward(&dividends.iter().collect::<Vec<_>>(), number, index, facts)?;
        let place = facts.modulo(&one, &Sum::of(size))?;
        Some(facts.replaced(&left, &begin).plus_times(&place, factor))
    };
    let quotient = || {
        let quotients = |sum: &Sum| {
            let found = sum.terms.iter().filter_map(|(atom, factor)| match atom {
                Atom::Quotient(dividend, by) if *factor == 1 => {
                    Some((by.as_constant()?, (**dividend).clone(), atom.clone()))
                }
                _ => None,
            });
            found.collect::<Vec<_>>()
        };
        let (by, dividend, atom) = values
            .iter()
            .find_map(|v| quotients(v).into_iter().next())?;
        let whole = values.iter().find(|v| v.terms.contains_key(&atom))?;
        // What moves with the rounds belongs to what is divided.
        let left = facts.replaced(&whole.minus(&Sum::atom(atom)), &begin);
        let of = |sum: &&Sum| {
            let rest = sum.minus(&left);
            let own = quotients(&rest)
                .into_iter()
                .find(|(other, ..)| *other == by);
            Some(match own {
                Some((_, dividend, atom)) => {
                    let whole = rest.minus(&Sum::atom(atom));
                    dividend.plus_times(&whole, by)
                }
                // What is below the divisor leaves no trace in the quotient.
                None => dividend
                    .plus_constant(-dividend.constant)
                    .plus_times(&rest, by),
            })
        };
        let dividends: Vec<Sum> = values.iter().map(of).collect::<Option<_>>()?;
        let one = onward(&dividends.iter().collect::<Vec<_>>(), number, index, facts)?;
        Some(left.plus(&facts.quotient(&one, &Sum::of(by))?))
    };
    remainder().or_else(quotient)
}

/// Values that go around in the copies: `base + step * ((copy / each + start) % size)`.
fn ring(values: &[&Sum], index: &Sum, copies: i128, facts: &Facts) -> Option<Sum> {
    let first = values.first()?;
    let apart = |value: &&Sum| value.minus(first).as_constant();
    let numbers: Vec<i128> = values.iter().map(apart).collect::<Option<_>>()?;
    let divisors = |of: i128| (1..=of).filter(move |d| of % d == 0);
    for each in divisors(copies) {
        for size in divisors(copies / each).filter(|size| *size > 1) {
            for start in 0..size {
                let place = |copy: i128| (copy / each + start) % size;
                // The first one at another place says how far apart places are.
                let mut others = (0..)
                    .zip(&numbers)
                    .filter(|(copy, _)| place(*copy) != start);
                let Some((copy, number)) = others.next() else {
                    continue;
                };
                let by = place(copy) - start;
                if number % by != 0 || number / by < 1 {
                    continue;
                }
                let step = number / by;
                let fits = |(copy, number): (i128, &i128)| step * (place(copy) - start) == *number;
                if (0..).zip(&numbers).all(fits) {
                    let turn = facts.quotient(index, &Sum::of(each))?.plus_constant(start);
                    let place = facts.modulo(&turn, &Sum::of(size))?;
                    return Some(first.plus_times(&place, step).plus_constant(-step * start));
                }
            }
        }
    }
    None
}
