//! Peels loops in which single early iterations differ, as with a `continue`: `for i in 0..n { if i != 3 { a } }`. The
//! iterations up to the last such one are written before the loop, each under the condition that the loop has one more
//! iteration. Then all iterations of the loop do the same, which proofs need.

use super::peel::apart;
use super::program::each;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// So many rounds are written in front of a loop.
const MOST_ROUNDS: i128 = 8;

/// Statements in a round that are still written out.
const MOST_STATEMENTS: usize = 16;

/// The statements with the rounds up to such ones in front of their loops.
pub(in crate::ptx) fn peel_exceptions(
    statements: &[Statement],
    unknowns: &mut Unknowns,
) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        match &statement.action {
            Action::For(unknown, times, body) => {
                let body = peel_exceptions(body, unknowns);
                let one = statement.with(Action::For(*unknown, times.clone(), body.clone()));
                let mut length = 0;
                each(&body, &mut |_| length += 1);
                let last = last_single(*unknown, &body);
                match last.filter(|last| *last > 0 && length <= MOST_STATEMENTS) {
                    Some(last) => all.extend(in_front(one, last + 1, unknowns)),
                    None => all.push(one),
                }
            }
            _ => all.push(statement.with_blocks(&mut |body| peel_exceptions(body, unknowns))),
        }
    }
    all
}

/// The last round that a branch in a loop singles out.
fn last_single(unknown: Unknown, body: &[Statement]) -> Option<i128> {
    let singles = body.iter().flat_map(|statement| {
        let Action::If(condition, yes, no) = &statement.action else {
            return [None; 3];
        };
        let inside = [yes, no].map(|block| last_single(unknown, block));
        [single(unknown, condition), inside[0], inside[1]]
    });
    singles.flatten().max()
}

/// The round in which alone a condition holds, or does not.
fn single(unknown: Unknown, condition: &Condition) -> Option<i128> {
    match condition {
        Condition::Zero(sum) => {
            let factor = *sum.terms.get(&Atom::Unknown(unknown))?;
            let rest = sum.plus_times(&Sum::unknown(unknown), -factor);
            let round = -rest.as_constant()? * factor;
            (factor.abs() == 1 && (0..MOST_ROUNDS).contains(&round)).then_some(round)
        }
        Condition::Not(inner) => single(unknown, inner),
        Condition::And(a, b) | Condition::Or(a, b) => single(unknown, a).max(single(unknown, b)),
        Condition::Constant(_) | Condition::Negative(_) | Condition::Passed(_) => None,
    }
}

/// So many rounds of a loop, one inside the condition of the other, and the loop of the others inside of them.
fn in_front(one: Statement, rounds: i128, unknowns: &mut Unknowns) -> Vec<Statement> {
    let Action::For(unknown, times, body) = &one.action else {
        return vec![one];
    };
    if rounds == 0 {
        return vec![one];
    }
    let (mut whole, rest) = apart(*unknown, times, body, unknowns);
    whole.extend(in_front(one.with(rest), rounds - 1, unknowns));
    let runs = Condition::Negative(times.scaled(-1));
    if unknowns.1.decide(&runs) == Some(true) {
        whole
    } else {
        vec![one.with(Action::If(runs, whole, Vec::new()))]
    }
}
