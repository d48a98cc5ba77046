//! Choices and branches that are decided by the branches and loops around them: what is written there is the side that is taken. A
//! comparison of a choice, of which one side says the same in any case, becomes a condition on what is chosen by, as
//! `(i == 0 ? -1 : stage) >= 0` becomes `i != 0`.
//!
//! Every step keeps the value under what is known where it stands, so nothing else is said than before.

use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

/// How many choices in a comparison are looked at one after the other.
const MOST_SIDES: usize = 4;

/// The statements with choices decided where they can be.
pub(in crate::ptx) fn decided(statements: &[Statement], facts: &Facts) -> Vec<Statement> {
    let mut all = Vec::new();
    for statement in statements {
        let action = match &statement.action {
            Action::For(unknown, times, body) => {
                let times = told(times, facts);
                let index = Sum::unknown(*unknown);
                let mut inside = facts.clone();
                inside.assume_positive(&index);
                inside.assume_positive(&times.minus(&index).plus_constant(-1));
                Action::For(*unknown, times, decided(body, &inside))
            }
            Action::If(condition, yes, no) => {
                let condition = plain(condition, facts);
                if let Some(holds) = facts.decide(&condition) {
                    all.extend(decided(if holds { yes } else { no }, facts));
                    continue;
                }
                let (mut holds, mut fails) = (facts.clone(), facts.clone());
                holds.assume(&condition);
                fails.assume(&condition.negated());
                Action::If(condition, decided(yes, &holds), decided(no, &fails))
            }
            _ => {
                let one = std::slice::from_ref(statement);
                all.extend(mapped(one, &|sum| told(sum, facts), &Condition::clone));
                continue;
            }
        };
        all.push(statement.with(action));
    }
    all
}

/// A sum with what is decided of the choices in it.
fn told(sum: &Sum, facts: &Facts) -> Sum {
    if sum.choices() == 0 {
        return sum.clone();
    }
    let mut all = Sum::of(sum.constant);
    for (atom, factor) in &sum.terms {
        let one = match atom {
            Atom::Choice(condition, yes, no) => {
                let condition = plain(condition, facts);
                let (mut holds, mut fails) = (facts.clone(), facts.clone());
                holds.assume(&condition);
                fails.assume(&condition.negated());
                facts.choice(&condition, &told(yes, &holds), &told(no, &fails))
            }
            Atom::Quotient(dividend, divisor) if dividend.choices() > 0 => {
                let quotient = facts.quotient(&told(dividend, facts), divisor);
                quotient.unwrap_or_else(|| Sum::atom(atom.clone()))
            }
            _ => Sum::atom(atom.clone()),
        };
        all = all.plus_times(&one, *factor);
    }
    all
}

/// A condition without the choices in it that it need not name.
fn plain(condition: &Condition, facts: &Facts) -> Condition {
    match condition {
        Condition::Negative(sum) | Condition::Zero(sum) if sum.choices() > 0 => {
            let exact = matches!(condition, Condition::Zero(_));
            compared(&told(sum, facts), exact, facts, MOST_SIDES)
        }
        Condition::Not(inner) => plain(inner, facts).negated(),
        Condition::And(a, b) => plain(a, facts).and(plain(b, facts)),
        Condition::Or(a, b) => plain(a, facts).or(plain(b, facts)),
        _ => condition.clone(),
    }
}

/// That a sum is 0, or below 0.
fn compared(sum: &Sum, exact: bool, facts: &Facts, left: usize) -> Condition {
    let whole = Condition::about(sum.clone(), exact);
    let choice = sum.terms.iter().find_map(|(atom, factor)| match atom {
        Atom::Choice(condition, yes, no) => Some((atom, condition, yes, no, *factor)),
        _ => None,
    });
    let (Some((atom, condition, yes, no, factor)), Some(left)) = (choice, left.checked_sub(1))
    else {
        return whole;
    };
    let rest = sum.plus_times(&Sum::atom(atom.clone()), -factor);
    let sides = [((**condition).clone(), yes), (condition.negated(), no)];
    let [first, second] = sides.map(|(here, arm)| {
        let mut inside = facts.clone();
        inside.assume(&here);
        let says = compared(&rest.plus_times(arm, factor), exact, &inside, left);
        let known = inside.decide(&says);
        (here, says, known)
    });
    match (&first, &second) {
        ((_, _, Some(a)), (_, _, Some(b))) if a == b => Condition::Constant(*a),
        ((here, _, Some(true)), (_, _, Some(false)))
        | ((_, _, Some(false)), (here, _, Some(true))) => here.clone(),
        ((_, _, Some(false)), (here, says, None)) | ((here, says, None), (_, _, Some(false))) => {
            // It may say by itself on which side that is.
            let mut holding = facts.clone();
            holding.assume(says);
            if holding.decide(here) == Some(true) {
                return says.clone();
            }
            here.clone().and(says.clone())
        }
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::term::Unknown;

    /// What a loop remembers of the iteration before is there in all but the first.
    #[test]
    fn a_comparison_of_a_choice_asks_what_is_chosen_by() {
        let (i, n) = (Unknown(0), Unknown(1));
        let mut facts = Facts::default();
        facts.bound(i, 0, 100);
        facts.bound(n, 0, 100);
        let (i, n) = (Sum::unknown(i), Sum::unknown(n));
        let first = Condition::Zero(i.clone());
        let place = facts.modulo(&i.plus(&n), &Sum::of(3)).unwrap();
        let before = facts.choice(&first, &Sum::of(-1), &place);
        let some = Condition::Negative(before.clone()).negated();
        let action = Action::If(
            some,
            vec![Statement::of(Action::Arrive(before, 1))],
            Vec::new(),
        );
        let found = decided(&[Statement::of(action)], &facts);
        let arrive = Statement::of(Action::Arrive(place, 1));
        let expected = Action::If(first.negated(), vec![arrive], Vec::new());
        assert_eq!(found, [Statement::of(expected)]);
        // min(n, 1) < n.
        let least = facts.choice(&Condition::Negative(n.plus_constant(-1)), &n, &Sum::of(1));
        let more = Condition::Negative(least.minus(&n));
        assert_eq!(
            plain(&more, &facts),
            Condition::Negative(Sum::of(1).minus(&n))
        );
    }
}
