//! The beginning of a first round that stands in front of a loop, as where multiplications of the next round are issued
//! before those of this one are waited for: `if (n > 0) a(0); for (i = 0; i < n - 1; i++) { a(i + 1); b(i); }` is one
//! loop of `n` rounds that does `a(i)`, and `b(i - 1)` in all but the first.
//!
//! What stands in front of the loop is compared with what the loop does first, one round before its first.

use super::program::numbered;
use super::reroll::parities;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::rewrite::replaced;
use crate::ptx::warp::rewrite::simplified;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// The statements with what stands in front of loops in them.
pub(in crate::ptx) fn taken_in(
    statements: Vec<Statement>,
    unknowns: &mut Unknowns,
) -> Vec<Statement> {
    let mut all: Vec<Statement> = Vec::new();
    for statement in statements.into_iter().rev() {
        let statement = statement.with_blocks(&mut |block| taken_in(block.to_vec(), unknowns));
        let one = all
            .last()
            .and_then(|next| one_loop(&statement, next, unknowns));
        if let Some(one) = one {
            all.pop();
            all.push(one);
        } else {
            all.push(statement);
        }
    }
    all.reverse();
    all
}

fn one_loop(front: &Statement, next: &Statement, unknowns: &mut Unknowns) -> Option<Statement> {
    let (Action::If(condition, first, none), Action::For(number, times, body)) =
        (&front.action, &next.action)
    else {
        return None;
    };
    if !none.is_empty() || first.is_empty() || first.len() > body.len() {
        return None;
    }
    // One round more than the loop has, exactly where the first one is there.
    let (mut there, mut missing) = (unknowns.1.clone(), unknowns.1.clone());
    there.assume(condition);
    missing.assume(&condition.negated());
    let total = times.plus_constant(1);
    if !there.is_positive(times) || !missing.is_positive(&total.scaled(-1)) {
        return None;
    }
    let (begin, rest) = body.split_at(first.len());
    let at = |place: Sum| move |u: Unknown| (u == *number).then(|| place.clone());
    let earlier = simplified(&replaced(begin, &there, &at(Sum::of(-1))), &there);
    let first = simplified(first, &there);
    if numbered(&parities(&earlier, &there)) != numbered(&parities(&first, &there)) {
        return None;
    }
    let fresh = unknowns.fresh(Meaning::Iteration(0));
    let most = unknowns.1.range(&total).1.max(1) - 1;
    unknowns.1.bound(fresh, 0, most);
    let before = Sum::unknown(fresh).plus_constant(-1);
    let mut later = unknowns.1.clone();
    later.assume_positive(&before);
    let mut all = replaced(begin, &unknowns.1, &at(before.clone()));
    if !rest.is_empty() {
        let rest = replaced(rest, &later, &at(before.clone()));
        let some = Condition::Negative(before).negated();
        all.push(next.with(Action::If(some, rest, Vec::new())));
    }
    Some(next.with(Action::For(fresh, total, all)))
}
