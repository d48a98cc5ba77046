//! The condition under which a loop continues, if it is a conjunction: one condition for each of its exits.

use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// The conditions that have to hold together.
fn parts(condition: &Condition) -> Vec<&Condition> {
    match condition {
        Condition::Constant(true) => Vec::new(),
        Condition::And(a, b) => [parts(a), parts(b)].concat(),
        one => vec![one],
    }
}

/// The same without what follows from another part: `i < n` from `i + 2 < n`.
pub(in crate::ptx) fn strongest(condition: &Condition) -> Condition {
    let all = parts(condition);
    let follows = |(number, part): (usize, &Condition)| {
        let Condition::Negative(sum) = part else {
            return false;
        };
        all.iter().enumerate().any(|(other, stronger)| {
            let Condition::Negative(more) = stronger else {
                return false;
            };
            let further = more.minus(sum).as_constant();
            further.is_some_and(|d| d > 0 || d == 0 && other < number)
        })
    };
    let kept = all.iter().enumerate().filter(|(n, c)| !follows((*n, c)));
    kept.fold(Condition::Constant(true), |all, (_, c)| {
        all.and((*c).clone())
    })
}

/// Whether one condition asks for nothing that another does not ask for.
pub(in crate::ptx) fn asks_no_more(condition: &Condition, than: &Condition) -> bool {
    let known = parts(than);
    parts(condition).iter().all(|part| known.contains(part))
}

/// Whether a condition holds where another one does, part by part, or by what is known.
pub(in crate::ptx) fn follows(condition: &Condition, from: &Condition, facts: &Facts) -> bool {
    let known = parts(from);
    let mut all = parts(condition).into_iter();
    all.all(|part| known.contains(&part) || facts.decide(part) == Some(true))
}

/// How often a loop goes on where one of the conditions holds in the first round only: once, if the others hold there.
pub(in crate::ptx) fn in_first_round(
    condition: &Condition,
    number: Unknown,
    facts: &Facts,
) -> Option<Sum> {
    let all = parts(condition);
    let once = |part: &&Condition| match part {
        Condition::Zero(sum) => sum.split(number).is_some_and(|(slope, rest)| {
            slope.as_constant().is_some_and(|slope| slope != 0) && rest == Sum::of(0)
        }),
        _ => false,
    };
    let only = all.iter().position(once)?;
    let first = |u: Unknown| (u == number).then(|| Sum::of(0));
    let mut others = Condition::Constant(true);
    for (_, part) in all.iter().enumerate().filter(|(n, _)| *n != only) {
        others = others.and(facts.replaced_in(part, &first));
    }
    Some(facts.choice(&others, &Sum::of(1), &Sum::of(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_another_part_is_left_out() {
        let [i, n] = [0, 1].map(|u| Sum::unknown(Unknown(u)));
        let below = |added: i128| Condition::Negative(i.minus(&n).plus_constant(added));
        let other = Condition::Zero(i.plus_constant(-3)).negated();
        let all = below(1).and(other.clone()).and(below(3)).and(below(2));
        assert_eq!(strongest(&all), other.clone().and(below(3)));
        assert_eq!(strongest(&below(1).and(below(1))), below(1));
        assert!(asks_no_more(&other.clone().and(below(1)), &all));
        assert!(asks_no_more(&Condition::Constant(true), &all));
        assert!(!asks_no_more(&other.and(below(4)), &all));
    }
}
