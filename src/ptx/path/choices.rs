//! Selects between the first iteration of a loop and later ones: `if c == 0 then a else b` for a `c` that is never
//! negative. Arithmetic is pushed into both branches, where it becomes simpler.

use std::rc::Rc;

use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;

impl Facts {
    /// The sum `c` of a choice in one of these by whether `c` is 0, where it cannot be negative.
    pub fn beginning(&self, sums: &[&Sum]) -> Option<Rc<Sum>> {
        let atoms = sums.iter().flat_map(|s| s.terms.keys());
        atoms.into_iter().find_map(|atom| {
            let Atom::Choice(condition, ..) = atom else {
                return None;
            };
            match &**condition {
                Condition::Zero(sum) if self.range(sum).0 >= 0 => Some(Rc::new(sum.clone())),
                _ => None,
            }
        })
    }

    /// What is known besides where a sum that is not negative is 0, and where it is not.
    pub fn apart(&self, sum: &Sum) -> [Facts; 2] {
        let (mut first, mut later) = (self.clone(), self.clone());
        first.assume_positive(&sum.scaled(-1));
        later.assume_positive(&sum.plus_constant(-1));
        [first, later]
    }

    /// A sum where `zero` is 0, or where it is not.
    pub fn decided(&self, sum: &Sum, zero: &Sum, first: bool) -> Sum {
        let mut all = Sum::of(sum.constant);
        for (atom, factor) in &sum.terms {
            let arm = match atom {
                Atom::Choice(condition, yes, no)
                    if **condition == Condition::Zero(zero.clone()) =>
                {
                    let arm = if first { yes } else { no };
                    self.decided(arm, zero, first)
                }
                other => Sum::atom(other.clone()),
            };
            all = all.plus_times(&arm, *factor);
        }
        all
    }

    /// A sum where `zero` is 0, with multiples of it left out.
    pub fn without(&self, sum: &Sum, zero: &Sum) -> Sum {
        let mut all = Sum::of(sum.constant);
        for (atom, factor) in &sum.terms {
            let one = match atom {
                Atom::Quotient(dividend, divisor) => {
                    let dividend = self.without(dividend, zero);
                    self.quotient(&dividend, divisor)
                        .unwrap_or_else(|| Sum::atom(atom.clone()))
                }
                other => Sum::atom(other.clone()),
            };
            all = all.plus_times(&one, *factor);
        }
        let Some((atom, factor)) = zero.terms.iter().next() else {
            return all;
        };
        match all.terms.get(atom) {
            Some(mine) if mine % factor == 0 => all.plus_times(zero, -(mine / factor)),
            _ => all,
        }
    }
}
