//! Loop peeling. A pipeline may release a stage one round late: `for i in 0..n { a(i); if i > 0 { b(i - 1) } }`. The
//! first iteration is written before the loop. Then all iterations of the loop do the same, which proofs need.

use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::rewrite::replaced;
use crate::ptx::warp::rewrite::simplified;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// The statements with such first rounds in front of their loops.
pub(in crate::ptx) fn peeled(statements: &[Statement], unknowns: &mut Unknowns) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        match &statement.action {
            Action::For(unknown, times, body) => {
                let body = peeled(body, unknowns);
                if first_differs(*unknown, &body, unknowns) {
                    let (first, rest) = apart(*unknown, times, &body, unknowns);
                    let mut whole = first;
                    whole.push(statement.with(rest));
                    let runs = Condition::Negative(times.scaled(-1));
                    if unknowns.1.decide(&runs) == Some(true) {
                        all.extend(whole);
                    } else {
                        all.push(statement.with(Action::If(runs, whole, Vec::new())));
                    }
                } else {
                    all.push(statement.with(Action::For(*unknown, times.clone(), body)));
                }
            }
            _ => all.push(statement.with_blocks(&mut |body| peeled(body, unknowns))),
        }
    }
    all
}

/// Whether a branch in a loop goes one way in the first round and the other way in all others.
fn first_differs(unknown: Unknown, body: &[Statement], unknowns: &Unknowns) -> bool {
    let index = Sum::unknown(unknown);
    let mut first = unknowns.1.clone();
    first.assume(&Condition::Zero(index.clone()));
    let mut later = unknowns.1.clone();
    later.assume_positive(&index.plus_constant(-1));
    let zero = |u: Unknown| (u == unknown).then(|| Sum::of(0));
    body.iter().any(|statement| match &statement.action {
        Action::If(condition, ..) => {
            let begun = first.decide(&first.replaced_in(condition, &zero));
            begun.is_some() && later.decide(condition) == begun.map(|holds| !holds)
        }
        _ => false,
    })
}

/// The first round, and the loop of the others.
pub(super) fn apart(
    unknown: Unknown,
    times: &Sum,
    body: &[Statement],
    unknowns: &mut Unknowns,
) -> (Vec<Statement>, Action) {
    let others = unknowns.fresh(Meaning::Iteration(0));
    let most = unknowns.1.range(&Sum::unknown(unknown)).1;
    unknowns.1.bound(others, 0, (most - 1).max(0));
    let next = Sum::unknown(others).plus_constant(1);
    let facts = &unknowns.1;
    let zero = |u: Unknown| (u == unknown).then(|| Sum::of(0));
    let first = simplified(&replaced(body, facts, &zero), facts);
    let shifted = |u: Unknown| (u == unknown).then(|| next.clone());
    let rest = simplified(&replaced(body, facts, &shifted), facts);
    (first, Action::For(others, times.plus_constant(-1), rest))
}
