//! An upper bound of a sum over block indices and iteration numbers, as a sum over parameters and the size of the
//! grid. If the bound fits into the register, nothing wraps around. That it fits becomes an assumption.
//!
//! Each part of the sum is replaced by something that is never less. An iteration number is at most the trip
//! count, and a block index is below the number of blocks. If a loop counts in steps of `d`, its trip count is a
//! quotient by `d`, which `first + d * i` multiplies by `d` again; `d * (x / d)` is at most `x`. Any other
//! quotient is at most that of the bound of its dividend, and a remainder is below its divisor. Subtracted parts
//! are left out.

use super::facts::Facts;
use super::machine::Machine;
use super::machine::Meaning;
use super::machine::State;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;
use super::value::Integer;

/// Unknowns that are done away with one after the other.
const MOST_UNKNOWNS: usize = 8;

impl Machine<'_, '_> {
    /// The most that a sum can be, over parameters, from what is known of blocks and iterations.
    pub(super) fn most(&self, sum: &Sum, state: &State) -> Option<Sum> {
        let moves = |u: Unknown| {
            !matches!(
                self.unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Blocks(_))
            )
        };
        self.most_over(sum, state, &moves)
    }

    /// A number that runs on from tile to tile, as `it++` does, before its sign is asked for or it is divided: that it
    /// never comes to the sign becomes an assumption on how many rounds the CTA has. What wraps around there would be
    /// negative, and no place of a ring.
    pub(super) fn runs_on(&mut self, integer: &Integer, bits: u32, state: &mut State, at: usize) {
        let sum = &integer.sum;
        let high = (1i128 << (bits - 1)) - 1;
        let moves = |u: Unknown| {
            !matches!(
                self.unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Blocks(_) | Meaning::Block(_))
            )
        };
        if !self.generous
            || self.guessing
            || self.sure
            || integer.lanes.is_some()
            || sum.reads_memory()
            || !sum.mentions(&moves)
            || !state.facts.is_positive(sum)
            || state.facts.is_positive(&Sum::of(high).minus(sum))
            || self.most(sum, state).is_some()
        {
            return;
        }
        // What counts in rounds of several is taken to the end of the round, so that all in it say the same.
        let whole = match sum.terms.iter().collect::<Vec<_>>().as_slice() {
            [(_, factor)] if (0..**factor).contains(&sum.constant) => {
                sum.plus_constant(*factor - 1 - sum.constant)
            }
            _ => sum.clone(),
        };
        let Some(most) = self.most_over(&whole, state, &moves) else {
            return;
        };
        let above = Sum::of(high).minus(&most);
        if state.facts.is_positive(&above.scaled(-1)) || state.facts.range(&above).1 <= 0 {
            return;
        }
        if !state.facts.is_positive(&above) {
            if !self.may_assume(at) {
                return;
            }
            state.facts.assume_positive(&above);
            self.assume(above, at);
        }
        state.facts.assume_positive(&Sum::of(high).minus(&whole));
    }

    fn most_over(&self, sum: &Sum, state: &State, moves: &dyn Fn(Unknown) -> bool) -> Option<Sum> {
        let mut most = sum.clone();
        for _ in 0..MOST_UNKNOWNS {
            most = without_quotients(&most, moves);
            most = rounded(&most, moves, &state.facts, &|x| {
                self.most_over(x, state, moves)
            })?;
            let moving = std::cell::Cell::new(None);
            most.mentions(&|u| {
                // The innermost loop first: it has the largest number.
                if moves(u) && moving.get().is_none_or(|m: Unknown| m < u) {
                    moving.set(Some(u));
                }
                false
            });
            let Some(unknown) = moving.get() else {
                return Some(most);
            };
            let (slope, rest) = most.split(unknown)?;
            let (least, greatest) = state.facts.range(&slope);
            most = match (least >= 0, greatest <= 0) {
                (true, _) => rest.plus(&slope.times(&state.facts.most(unknown)?)),
                // What is taken away is at least nothing.
                (_, true) if state.facts.is_positive(&Sum::unknown(unknown)) => rest,
                _ => return None,
            };
        }
        None
    }
}

/// What is at least this sum, without remainders and quotients of what moves: in their place the most that they can be, or,
/// where they are taken away, the least.
pub(in crate::ptx) fn rounded(
    sum: &Sum,
    moves: &dyn Fn(Unknown) -> bool,
    facts: &Facts,
    most: &dyn Fn(&Sum) -> Option<Sum>,
) -> Option<Sum> {
    let mut whole = sum.clone();
    while let Some((dividend, size, factor, rest)) = whole.remainder()
        && dividend.mentions(moves)
    {
        whole = rest.plus_constant(factor.max(0) * (size - 1));
    }
    let mut all = Sum::of(whole.constant);
    for (atom, factor) in &whole.terms {
        let own = Sum::atom(atom.clone());
        let parts = match atom {
            Atom::Product(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let moving = |part: &Atom| matches!(part, Atom::Quotient(x, _) if x.mentions(moves));
        if let Atom::Choice(_, yes, no) = atom
            && atom.mentions(moves)
        {
            let (yes, no) = (most(&yes.scaled(*factor))?, most(&no.scaled(*factor))?);
            let less = Condition::Negative(yes.minus(&no));
            all = all.plus(&facts.choice(&less, &no, &yes));
            continue;
        }
        if !parts.iter().any(moving) {
            all = all.plus_times(&own, *factor);
            continue;
        }
        let positive = |part: &Atom| facts.range(&Sum::atom(part.clone())).0 >= 0;
        if !parts.iter().all(positive) {
            return None;
        }
        if *factor < 0 {
            continue;
        }
        let mut product = Sum::of(1);
        for part in parts {
            let part = match part {
                Atom::Quotient(x, by) if moving(part) => {
                    if by.mentions(moves) || facts.range(by).0 < 1 {
                        return None;
                    }
                    facts.quotient(&most(x)?, by)?
                }
                other => Sum::atom(other.clone()),
            };
            product = product.times(&part);
        }
        all = all.plus_times(&product, *factor);
    }
    Some(all)
}

/// The sum with `x` in the place of `d * (x / d)`, where `x` moves.
fn without_quotients(sum: &Sum, moves: &dyn Fn(Unknown) -> bool) -> Sum {
    let mut most = sum.clone();
    for atom in sum.terms.keys() {
        let factors = match atom {
            Atom::Product(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        for quotient in factors {
            let Atom::Quotient(dividend, divisor) = quotient else {
                continue;
            };
            let (factor, rest) = factored(&most, quotient);
            if let Some(times) = multiple(&factor, divisor)
                && times > 0
                && dividend.mentions(moves)
            {
                most = rest.plus_times(dividend, times);
            }
        }
    }
    most
}

/// What an atom is multiplied with in a sum, and what is left without it. Where it occurs twice in a product, it is left.
fn factored(sum: &Sum, of: &Atom) -> (Sum, Sum) {
    let (mut factor, mut rest) = (Sum::of(0), Sum::of(sum.constant));
    for (atom, coefficient) in &sum.terms {
        let others = match atom {
            Atom::Product(parts) => {
                let others = parts.iter().filter(|part| *part != of);
                let others: Vec<Atom> = others.cloned().collect();
                (others.len() + 1 == parts.len()).then_some(others)
            }
            one => (one == of).then(Vec::new),
        };
        match others {
            Some(others) => {
                let product = others
                    .into_iter()
                    .fold(Sum::of(1), |product, part| product.times(&Sum::atom(part)));
                factor = factor.plus_times(&product, *coefficient);
            }
            None => rest = rest.plus_times(&Sum::atom(atom.clone()), *coefficient),
        }
    }
    (factor, rest)
}

/// How many times another sum this is.
fn multiple(sum: &Sum, of: &Sum) -> Option<i128> {
    let times = match of.terms.iter().next() {
        Some((atom, one)) => sum.terms.get(atom)?.checked_div(*one)?,
        None => sum.constant.checked_div(of.constant)?,
    };
    (*sum == of.scaled(times)).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `3 * d * (x / d) + d + 1`, for divisors of several shapes, is at most `3 * x + d + 1`; with other factors it stays.
    #[test]
    fn quotients_that_meet_their_divisors() {
        let [moving, blocks, more] = [0, 1, 2].map(|u| Sum::unknown(Unknown(u)));
        let dividend = moving.plus_times(&blocks, -2).plus_constant(-1);
        let divisors = [
            Sum::of(4),
            blocks.clone(),
            blocks.scaled(2),
            blocks.times(&more),
            blocks.scaled(2).plus_constant(3),
            blocks.plus(&more.scaled(5)),
        ];
        let moves = |u: Unknown| u == Unknown(0);
        for divisor in divisors {
            let quotient = Atom::Quotient(dividend.clone().into(), divisor.clone().into());
            let quotient = Sum::atom(quotient);
            let rest = divisor.plus_constant(1);
            let sum = quotient.times(&divisor).scaled(3).plus(&rest);
            let expected = dividend.scaled(3).plus(&rest);
            assert_eq!(without_quotients(&sum, &moves), expected);
            for sum in [
                quotient.times(&divisor).scaled(-1).plus(&rest),
                quotient.times(&divisor).plus(&quotient),
                quotient.times(&divisor).times(&quotient),
            ] {
                assert_eq!(without_quotients(&sum, &moves), sum);
            }
        }
    }
}
