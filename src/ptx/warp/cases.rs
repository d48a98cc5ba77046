//! Decides equality of two sums by case splits. The conditions of their selects are assumed to hold, and then assumed not
//! to hold. For example, a ring that advances by an unknown step has such selects: whether the step is shorter than the
//! ring, and whether it wraps.

use super::facts::Facts;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;

/// How many conditions are told apart to compare two sums.
const CASES: usize = 4;

impl Facts {
    /// Whether two sums have the same value whichever way the conditions of their choices turn out.
    pub fn same_in_all_cases(&self, a: &Sum, b: &Sum) -> bool {
        self.same(a, b)
            || self.same_all_around(a, b)
            || self.nothing(&self.rewritten(&a.minus(b)), CASES)
    }

    /// What a sum is in each case of the conditions of its choices, with what is known then. `None` where there are
    /// too many.
    pub fn in_cases(&self, sum: &Sum) -> Option<Vec<(Facts, Sum)>> {
        let mut open = vec![(self.clone(), self.rewritten(sum), CASES)];
        let mut told = Vec::new();
        while let Some((facts, sum, left)) = open.pop() {
            let Some(condition) = open_in(&sum, &facts) else {
                told.push((facts, sum));
                continue;
            };
            let left = left.checked_sub(1)?;
            for case in [condition.negated(), condition] {
                let mut facts = facts.clone();
                facts.assume(&case);
                let sum = facts.rewritten(&sum);
                open.push((facts, sum, left));
            }
        }
        Some(told)
    }

    /// Whether a sum is 0 in all cases of so many conditions.
    fn nothing(&self, sum: &Sum, left: usize) -> bool {
        let Some(open) = left.checked_sub(1).and(open_in(sum, self)) else {
            return false;
        };
        [open.clone(), open.negated()].iter().all(|case| {
            let mut facts = self.clone();
            facts.assume(case);
            let sum = facts.unfolded(&facts.rewritten(sum));
            let sum = facts.solved(&sum, case);
            facts.same(&sum, &Sum::of(0)) || facts.nothing(&sum, left - 1)
        })
    }

    /// `(x + d) / k` is `x / k + (x % k + d) / k`, of which the second part may be known where `d` is
    /// small.
    fn unfolded(&self, sum: &Sum) -> Sum {
        let mut quotients = Vec::new();
        quotients_in(sum, &mut quotients);
        let mut sum = sum.clone();
        for later in &quotients {
            for earlier in &quotients {
                let (Atom::Quotient(y, by), Atom::Quotient(x, k)) = (later, earlier) else {
                    continue;
                };
                let step = y.minus(x);
                if by != k || step.as_constant().is_some() {
                    continue;
                }
                let (Some(size), (low, high)) = (k.as_constant(), self.narrowest(&step)) else {
                    continue;
                };
                if low < 0 || high >= size {
                    continue;
                }
                let before = Sum::atom(earlier.clone());
                let place = x.plus_times(&before, -size).plus(&step);
                // Multiples leave a quotient, so that it has to be decided by its bounds here.
                let (low, high) = self.narrowest(&place);
                if low.div_euclid(size) == high.div_euclid(size) {
                    let around = before.plus_constant(low.div_euclid(size));
                    sum = self.put(&sum, later, &around);
                }
            }
        }
        sum
    }

    /// The sum with what a condition says is equal put in.
    fn solved(&self, sum: &Sum, condition: &Condition) -> Sum {
        let compared = match condition {
            Condition::Zero(compared) => compared,
            Condition::Not(inner) => match &**inner {
                Condition::Zero(compared) => compared,
                _ => return sum.clone(),
            },
            _ => return sum.clone(),
        };
        let (low, high) = self.narrowest(compared);
        let nothing = compared.plus_constant(-low);
        let single = |(atom, factor): &(&Atom, &i128)| {
            factor.abs() == 1 && matches!(atom, Atom::Quotient(..))
        };
        match compared.terms.iter().find(single) {
            Some((atom, factor)) if low == high => {
                let value = Sum::atom(atom.clone()).plus_times(&nothing, -factor);
                self.put(sum, atom, &value)
            }
            _ => sum.clone(),
        }
    }

    /// The sum with a value put in the place of an atom, also inside quotients. What the value is made of
    /// stays as it is.
    pub fn put(&self, sum: &Sum, what: &Atom, value: &Sum) -> Sum {
        let mut result = Sum::of(sum.constant);
        for (atom, factor) in &sum.terms {
            let new = match atom {
                atom if atom == what => Some(value.clone()),
                atom if value.terms.contains_key(atom) => None,
                Atom::Quotient(dividend, divisor) => {
                    self.quotient(&self.put(dividend, what, value), divisor)
                }
                _ => None,
            };
            let new = new.unwrap_or_else(|| Sum::atom(atom.clone()));
            result = result.plus_times(&new, *factor);
        }
        result
    }
}

/// The quotients in a sum, also those inside others.
fn quotients_in(sum: &Sum, found: &mut Vec<Atom>) {
    for atom in sum.terms.keys() {
        if let Atom::Quotient(dividend, _) = atom {
            if !found.contains(atom) {
                found.push(atom.clone());
            }
            quotients_in(dividend, found);
        }
    }
}

/// A comparison that decides a choice in a sum and is not certain.
fn open_in(sum: &Sum, facts: &Facts) -> Option<Condition> {
    sum.terms.keys().find_map(|atom| open_in_atom(atom, facts))
}

fn open_in_atom(atom: &Atom, facts: &Facts) -> Option<Condition> {
    match atom {
        Atom::Unknown(_) | Atom::Cell(..) | Atom::Count(..) => None,
        Atom::Quotient(a, b) => open_in(a, facts).or_else(|| open_in(b, facts)),
        Atom::Product(parts) => parts.iter().find_map(|part| open_in_atom(part, facts)),
        Atom::Choice(condition, a, b) => open_part(condition, facts)
            .or_else(|| open_in(a, facts))
            .or_else(|| open_in(b, facts)),
    }
}

fn open_part(condition: &Condition, facts: &Facts) -> Option<Condition> {
    match condition {
        // What is compared may be chosen itself: that comes first, so that what is learned here is said without it.
        Condition::Negative(sum) | Condition::Zero(sum) => match facts.decide(condition) {
            None => Some(open_in(sum, facts).unwrap_or_else(|| condition.clone())),
            Some(_) => None,
        },
        Condition::Not(inner) => open_part(inner, facts),
        Condition::And(a, b) | Condition::Or(a, b) => {
            open_part(a, facts).or_else(|| open_part(b, facts))
        }
        Condition::Constant(_) | Condition::Passed(_) => None,
    }
}
