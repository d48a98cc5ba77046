//! Named barriers whose number is computed, as in `bar.sync 3 + i % 2`: written case by case, since barriers are
//! objects of their own and proofs follow each of them by itself.
//!
//! `sync b(x)` is the same as `if x == 3 { sync b(3) } if x == 4 { sync b(4) }` where `x` is 3 or 4: just one of the
//! conditions holds, and a barrier changes nothing that `x` is computed from.

use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

/// How many barriers are told apart at one place.
const MOST_CHOICES: i128 = 8;

/// The statements with a barrier of its own in each case.
pub(in crate::ptx) fn told_apart(statements: &[Statement], facts: &Facts) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        match &statement.action {
            Action::Sync(id, threads, given) => all.extend(each_of(id, facts, &|id| {
                statement.with(Action::Sync(id, threads.clone(), *given))
            })),
            Action::ArriveNamed(id, threads) => all.extend(each_of(id, facts, &|id| {
                statement.with(Action::ArriveNamed(id, threads.clone()))
            })),
            _ => all.push(statement.with_blocks(&mut |body| told_apart(body, facts))),
        }
    }
    all
}

fn each_of(id: &Sum, facts: &Facts, one: &dyn Fn(Sum) -> Statement) -> Vec<Statement> {
    let (low, high) = facts.range(id);
    if low == high || low < 0 || high - low >= MOST_CHOICES {
        return vec![one(id.clone())];
    }
    let numbers = low..=high;
    let chosen = numbers.map(|number| {
        let this = one(Sum::of(number));
        let here = Condition::Zero(id.plus_constant(-number));
        this.with(Action::If(here, vec![this.clone()], Vec::new()))
    });
    chosen.collect()
}
