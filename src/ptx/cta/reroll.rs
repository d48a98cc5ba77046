//! Rerolls loops that the compiler has unrolled. The body does the iterations `4k`, `4k + 1`, `4k + 2` and `4k + 3`, and
//! a second loop does the remaining ones. Both become one loop of `n` iterations. Nothing is guessed: every statement of
//! the new loop is compared with the one that it stands for.

use super::copies::bare;
use super::drain::drained;
use super::program::each;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::rewrite::replaced;
use crate::ptx::warp::rewrite::simplified;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How often compilers write a body out.
pub(super) const MOST_COPIES: usize = 16;

/// The statements with loops rolled up.
pub(in crate::ptx) fn rolled(
    statements: Vec<Statement>,
    unknowns: &mut Unknowns,
) -> Vec<Statement> {
    let mut all: Vec<Statement> = Vec::new();
    for statement in statements {
        let action = match statement.action {
            Action::For(unknown, times, body) => {
                Action::For(unknown, times, rolled(body, unknowns))
            }
            Action::If(condition, yes, no) => {
                let yes = rolled_where(&condition, yes, unknowns);
                let no = rolled_where(&condition.negated(), no, unknowns);
                Action::If(condition, yes, no)
            }
            other => other,
        };
        let statement = Statement {
            action,
            ..statement
        };
        // Loops that run no time where a condition fails need no condition.
        if let Action::If(condition, yes, no) = &statement.action
            && no.is_empty()
            && yes.iter().all(|s| matches!(s.action, Action::For(..)))
        {
            let mut facts = unknowns.1.clone();
            facts.assume(&condition.negated());
            if simplified(yes, &facts).is_empty() {
                all.extend(yes.iter().cloned());
                continue;
            }
        }
        if let Some(last) = all.last()
            && let rest = once(&statement, unknowns)
            && let Some(whole) = one_loop(last, rest.as_ref().unwrap_or(&statement), unknowns)
        {
            all.pop();
            all.push(whole);
            continue;
        }
        all.push(statement);
    }
    drained(all, unknowns)
}

/// The same with what is known where a condition holds.
fn rolled_where(
    condition: &Condition,
    statements: Vec<Statement>,
    unknowns: &mut Unknowns,
) -> Vec<Statement> {
    let (first, before) = (unknowns.next(), unknowns.1.clone());
    unknowns.1.assume(condition);
    let all = rolled(statements, unknowns);
    let inside = std::mem::replace(&mut unknowns.1, before);
    unknowns.1.learn(&inside, &|made| made >= first);
    all
}

/// What is done if something is 1 and not 0, as a loop.
fn once(statement: &Statement, unknowns: &mut Unknowns) -> Option<Statement> {
    let Action::If(Condition::Not(condition), body, other) = &statement.action else {
        return None;
    };
    let (Condition::Zero(times), true) = (&**condition, other.is_empty()) else {
        return None;
    };
    if unknowns.1.range(times) != (0, 1) {
        return None;
    }
    let number = unknowns.fresh(Meaning::Iteration(0));
    unknowns.1.bound(number, 0, 0);
    Some(Statement {
        action: Action::For(number, times.clone(), body.clone()),
        ..statement.clone()
    })
}

/// Two loops as one, if the first is the second written out several times over.
fn one_loop(first: &Statement, second: &Statement, unknowns: &mut Unknowns) -> Option<Statement> {
    let (Action::For(k, times, body), Action::For(number, left, single)) =
        (&first.action, &second.action)
    else {
        return None;
    };
    // Loops inside have numbers of their own, which differ from copy to copy.
    let mut inner = false;
    for block in [body, single] {
        each(block, &mut |s| inner |= matches!(s.action, Action::For(..)));
    }
    let facts = unknowns.1.clone();
    // A loop that would run less often than not at all does not shorten the other.
    if inner || single.is_empty() || !facts.is_positive(times) || !facts.is_positive(left) {
        return None;
    }
    let (by, general) = (2..=MOST_COPIES).rev().find_map(|copies| {
        let general = copied(body, single, copies, (*k, *number), times, &facts)?;
        Some((i128::try_from(copies).ok()?, general))
    })?;
    let written = times.scaled(by);
    let total = facts.rewritten(&written.plus(left));
    let most = facts.range(&total).1;
    let fresh = unknowns.fresh(Meaning::Iteration(0));
    unknowns.1.bound(fresh, 0, most.max(1) - 1);
    let with = |u: Unknown| (u == *number).then(|| Sum::unknown(fresh));
    let body = parities(&replaced(&general, &unknowns.1, &with), &unknowns.1);
    Some(Statement {
        action: Action::For(fresh, total, body),
        ..first.clone()
    })
}

/// What a round does of which the first loop does so many in each of its own and the second the rest, if that is so.
fn copied(
    body: &[Statement],
    single: &[Statement],
    copies: usize,
    (k, number): (Unknown, Unknown),
    times: &Sum,
    facts: &Facts,
) -> Option<Vec<Statement>> {
    let by = i128::try_from(copies).ok()?;
    let index = Sum::unknown(number);
    let written = times.scaled(by);
    // What is done in a round, from what the rest does in those after the others, or from what the
    // first copy does in every fourth.
    let open = Facts::default();
    let before = |u: Unknown| (u == number).then(|| index.minus(&written));
    let mut candidates = vec![replaced(single, &open, &before)];
    if copies * single.len() == body.len() && body.iter().chain(single).all(bare) {
        candidates.extend(divided(body.get(..single.len())?, k, &index, by));
        candidates.extend(evenly(body, single.len(), k, &index, by, &open));
    }
    let round = Sum::unknown(k).scaled(by);
    // What is done once may still name its number, or not any more.
    let mut rests = vec![index.clone()];
    if facts.range(&index) == (0, 0) {
        rests.push(Sum::of(0));
    }
    // The compiler has decided some branches of a copy; a round is compared as it is there.
    let plain = |found: &[Statement]| parities(&simplified(found, facts), facts);
    let (all, last) = (plain(body), plain(single));
    candidates.into_iter().find(|general| {
        let at = |at: &Sum| {
            let with = |u: Unknown| (u == number).then(|| at.clone());
            plain(&replaced(general, facts, &with))
        };
        let chunks = (0..by).flat_map(|copy| at(&round.plus_constant(copy)));
        all.iter().cloned().eq(chunks) && rests.iter().any(|rest| at(&written.plus(rest)) == last)
    })
}

/// The statements with every parity as a remainder by 2: it is 0 or 1 in any case.
pub(super) fn parities(statements: &[Statement], facts: &Facts) -> Vec<Statement> {
    let mut all = statements.to_vec();
    for statement in &mut all {
        match &mut statement.action {
            Action::Wait(_, parity) => {
                if let Some(bit) = facts.modulo(parity, &Sum::of(2)) {
                    *parity = facts.by_values(&bit).unwrap_or(bit);
                }
            }
            Action::If(_, yes, no) => {
                *yes = parities(yes, facts);
                *no = parities(no, facts);
            }
            _ => {}
        }
    }
    all
}

/// Statements of the first copy that move evenly from copy to copy, and from round to round as they do.
fn evenly(
    body: &[Statement],
    length: usize,
    unknown: Unknown,
    index: &Sum,
    by: i128,
    facts: &Facts,
) -> Option<Vec<Statement>> {
    let round = facts.quotient(index, &Sum::of(by))?;
    let copy = facts.modulo(index, &Sum::of(by))?;
    let with = |u: Unknown| (u == unknown).then(|| round.clone());
    let second = RefCell::new(VecDeque::new());
    let same = |condition: &Condition| condition.clone();
    mapped(
        body.get(length..2 * length)?,
        &|sum| {
            second.borrow_mut().push_back(sum.clone());
            sum.clone()
        },
        &same,
    );
    let failed = Cell::new(false);
    let all = mapped(
        body.get(..length)?,
        &|sum| {
            let next = second.borrow_mut().pop_front();
            let step = next.and_then(|next| next.minus(sum).as_constant());
            failed.set(failed.get() || step.is_none());
            let moved = facts.replaced(sum, &with);
            moved.plus_times(&copy, step.unwrap_or(0))
        },
        &same,
    );
    (!failed.get()).then_some(all)
}

/// Statements with an unknown, of which only multiples occur, replaced by a part of another.
fn divided(
    statements: &[Statement],
    unknown: Unknown,
    index: &Sum,
    by: i128,
) -> Option<Vec<Statement>> {
    let failed = Cell::new(false);
    let sum = |sum: &Sum| {
        part(sum, unknown, index, by).unwrap_or_else(|| {
            failed.set(true);
            sum.clone()
        })
    };
    let condition = |condition: &Condition| {
        if condition.mentions(&|u| u == unknown) {
            failed.set(true);
        }
        condition.clone()
    };
    let all = mapped(statements, &sum, &condition);
    (!failed.get()).then_some(all)
}

/// A sum with an unknown, of which only multiples occur, replaced by a part of another.
pub(super) fn part(sum: &Sum, unknown: Unknown, index: &Sum, by: i128) -> Option<Sum> {
    let mut result = Sum::of(sum.constant);
    for (atom, factor) in &sum.terms {
        match atom {
            Atom::Unknown(u) if *u == unknown => {
                if factor % by != 0 {
                    return None;
                }
                result = result.plus_times(index, factor / by);
            }
            Atom::Quotient(a, b) if atom.mentions(&|u| u == unknown) => {
                // What is no multiple may be one of the divisor's size.
                let (a, b) = match part(a, unknown, index, by) {
                    Some(a) => (a, part(b, unknown, index, by)?),
                    None => (
                        part(&a.scaled(by), unknown, index, by)?,
                        part(&b.scaled(by), unknown, index, by)?,
                    ),
                };
                let quotient = Atom::Quotient(Rc::new(a), Rc::new(b));
                result = result.plus_times(&Sum::atom(quotient), *factor);
            }
            other if other.mentions(&|u| u == unknown) => return None,
            other => result = result.plus_times(&Sum::atom(other.clone()), *factor),
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::gather::tests::done;
    use super::*;

    /// Loops written out and rolled up do the same, whether the copies agree or one of them differs.
    #[test]
    fn what_is_rolled_up_does_the_same() {
        let (mut whole, mut apart) = (0, 0);
        for seed in 0..600 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut unknowns = Unknowns::default();
            let rounds = unknowns.of(Meaning::Parameter(0, 0));
            unknowns.1.bound(rounds, 0, 1 << 20);
            let k = unknowns.fresh(Meaning::Iteration(0));
            unknowns.1.bound(k, 0, 1 << 18);
            let rest = unknowns.fresh(Meaning::Iteration(0));
            let copies: i128 = random.random_range(2..6);
            unknowns.1.bound(rest, 0, copies - 2);
            let facts = unknowns.1.clone();
            let shape: Vec<(bool, i128, i128)> = (0..random.random_range(1..4))
                .map(|_| {
                    let size = random.random_range(1..7);
                    (
                        random.random_range(0..2) == 0,
                        size,
                        random.random_range(0..2),
                    )
                })
                .collect();
            let round = |at: &Sum, off: i128| -> Vec<Statement> {
                let one = |(waits, size, start): &(bool, i128, i128)| {
                    let size = Sum::of(*size);
                    let place = facts.modulo(at, &size).unwrap().scaled(8);
                    let place = place.plus_constant(off);
                    let turn = facts.quotient(at, &size).unwrap().plus_constant(*start);
                    let parity = facts.modulo(&turn, &Sum::of(2)).unwrap();
                    Statement::of(if *waits {
                        Action::Wait(place, parity)
                    } else {
                        Action::Arrive(place, 1)
                    })
                };
                shape.iter().map(one).collect()
            };
            let n = Sum::unknown(rounds);
            let times = facts.quotient(&n, &Sum::of(copies)).unwrap();
            let strange = random.random_range(0..copies * 2);
            let body: Vec<Statement> = (0..copies)
                .flat_map(|copy| {
                    let at = Sum::unknown(k).scaled(copies).plus_constant(copy);
                    round(&at, if copy == strange { 8 } else { 0 })
                })
                .collect();
            let behind = times.scaled(copies).plus(&Sum::unknown(rest));
            let single = round(&behind, 0);
            let left = n.minus(&times.scaled(copies));
            let before = vec![
                Statement::of(Action::For(k, times, body)),
                Statement::of(Action::For(rest, left, single)),
            ];
            let after = rolled(before.clone(), &mut unknowns);
            if after.len() == 1 {
                whole += 1;
            } else {
                apart += 1;
            }
            for count in 0..3 * copies + 2 {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                done(&before, &[(rounds, count)], &mut a);
                done(&after, &[(rounds, count)], &mut b);
                assert_eq!(a, b, "seed {seed}, {count} rounds");
            }
        }
        assert!(whole > 200 && apart > 200, "{whole} rolled up, {apart} not");
    }
}
