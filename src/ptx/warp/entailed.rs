//! Consequences of the fact that a sum is not negative: facts about a dividend from its quotient, and about a condition
//! that selects a constant in the sum. For example, `n / 64 > (n >= 64 ? 1 : 0)` implies that `n` is at least 128.

use super::facts::Facts;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;

impl Facts {
    /// Learns what follows from a sum that is 0 or more.
    pub(super) fn learn_entailed(&mut self, sum: &Sum) {
        if let Some((Atom::Quotient(dividend, divisor), factor)) = alone(sum)
            && let Some(k) = divisor.as_constant().filter(|k| *k > 0)
        {
            // x / k >= c exactly where x >= c * k, and x / k <= c where x <= c * k + k - 1.
            match factor {
                1 => self.assume_positive(&dividend.plus_constant(sum.constant * k)),
                -1 => {
                    let most = sum.constant * k + k - 1;
                    self.assume_positive(&dividend.scaled(-1).plus_constant(most));
                }
                _ => {}
            }
        }
        let Some(sides) = sides(sum) else {
            return;
        };
        for (number, (here, arm)) in sides.iter().enumerate() {
            let mut facts = self.clone();
            facts.assume(here);
            if facts.range(arm).1 < 0 {
                let (there, other) = &sides[1 - number];
                self.assume(there);
                self.assume_positive(other);
                return;
            }
        }
    }

    /// A comparison without a condition that decides about a constant in it, where it can hold on one side only and says
    /// by itself that this is where it is.
    pub(super) fn without_sides(&self, condition: Condition) -> Condition {
        let Condition::Negative(sum) = &condition else {
            return condition;
        };
        let Some(sides) = sides(sum) else {
            return condition;
        };
        for (number, (here, arm)) in sides.iter().enumerate() {
            let mut facts = self.clone();
            facts.assume(here);
            let (_, other) = &sides[1 - number];
            let never = facts.range(arm).0 >= 0;
            // On this side, what the other says does not hold either.
            if never && facts.range(other).0 >= 0 {
                return Condition::Negative(other.clone());
            }
        }
        condition
    }

    /// A sum with what is decided here of choices in it.
    pub(super) fn settled(&self, sum: &Sum) -> Sum {
        let open = |atom: &Atom| matches!(atom, Atom::Choice(..));
        if sum.terms.keys().any(open) {
            self.rewritten(sum)
        } else {
            sum.clone()
        }
    }
}

/// The two sides of the only condition in a sum, where it decides about a constant: where each is, and what the sum is there.
fn sides(sum: &Sum) -> Option<[(Condition, Sum); 2]> {
    let mut choices = sum.terms.iter().filter_map(|(atom, factor)| match atom {
        Atom::Choice(condition, yes, no) => Some((atom, condition, yes, no, *factor)),
        _ => None,
    });
    let (atom, condition, yes, no, factor) = choices.next()?;
    if choices.next().is_some() || yes.as_constant().is_none() || no.as_constant().is_none() {
        return None;
    }
    let rest = sum.plus_times(&Sum::atom(atom.clone()), -factor);
    Some([
        ((**condition).clone(), rest.plus_times(yes, factor)),
        (condition.negated(), rest.plus_times(no, factor)),
    ])
}

/// The only atom of a sum.
fn alone(sum: &Sum) -> Option<(&Atom, i128)> {
    let mut terms = sum.terms.iter();
    let (atom, factor) = terms.next()?;
    terms.next().is_none().then_some((atom, *factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::term::Unknown;

    #[test]
    fn what_is_divided_is_known_by_the_quotient() {
        let unknown = Unknown(0);
        let n = Sum::unknown(unknown);
        let mut facts = Facts::default();
        facts.bound(unknown, 0, 1000);
        let quotient = facts.quotient(&n, &Sum::of(64)).unwrap();
        let less = Condition::Negative(n.plus_constant(-64));
        let some = facts.choice(&less, &Sum::of(0), &Sum::of(1));
        let more = Condition::Negative(some.minus(&quotient));
        let two = Sum::of(1).minus(&quotient);
        assert_eq!(facts.without_sides(more.clone()), Condition::Negative(two));
        facts.assume(&more);
        assert_eq!(facts.range(&n), (128, 1000));
        facts.assume(&Condition::Negative(quotient.plus_constant(-3)));
        assert_eq!(facts.range(&n), (128, 191));
    }
}
