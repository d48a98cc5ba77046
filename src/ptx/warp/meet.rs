//! Joins of two paths that have advanced a ring by different numbers of rounds. For example, `if (n % 4 >= 2) { two
//! rounds }` advances it by `2 * (n % 4 / 2)` rounds. A select of two remainders becomes the remainder of a select, and
//! so does one of two quotients. A select of two sums that differ by a constant becomes a sum. Each step is an identity
//! under the known facts, so nothing is guessed.

use std::rc::Rc;

use super::facts::Facts;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;

/// How many remainders and quotients are looked into, one inside another.
const DEPTH: usize = 3;

/// Conditions on sums that vary by no more than this are counted.
const MOST_COUNTED: i128 = 1 << 16;

/// What is known where a condition holds, or where it fails.
struct Side {
    facts: Facts,
    /// What is 0 there.
    nothing: Vec<Sum>,
}

impl Side {
    /// Whether a sum is certainly 0 there.
    fn is_zero(&self, sum: &Sum) -> bool {
        let zero =
            |sum: &Sum| self.facts.is_positive(sum) && self.facts.is_positive(&sum.scaled(-1));
        zero(sum) || self.reduced(sum).iter().any(zero)
    }

    /// Whether a sum is certainly a multiple there.
    fn is_multiple(&self, sum: &Sum, size: i128) -> bool {
        let size = Sum::of(size);
        let multiple = |sum: &Sum| {
            let left = self.facts.modulo(sum, &size);
            left.is_some_and(|left| self.is_zero(&left))
        };
        multiple(sum) || self.reduced(sum).iter().any(multiple)
    }

    /// A sum with the choices that are decided there.
    fn resolved(&self, sum: &Sum) -> Sum {
        let mut all = Sum::of(sum.constant);
        for (atom, factor) in &sum.terms {
            let one = match atom {
                Atom::Choice(condition, yes, no) => match self.decided(condition) {
                    Some(true) => self.resolved(yes),
                    Some(false) => self.resolved(no),
                    None => Sum::atom(atom.clone()),
                },
                other => Sum::atom(other.clone()),
            };
            all = all.plus_times(&one, *factor);
        }
        all
    }

    fn decided(&self, condition: &Condition) -> Option<bool> {
        self.facts.decide(condition).or_else(|| match condition {
            Condition::Zero(sum) => {
                let reduced = self.reduced(sum);
                let mut known = reduced.into_iter().map(Condition::Zero);
                known.find_map(|zero| self.facts.decide(&zero))
            }
            Condition::Not(inner) => self.decided(inner).map(|holds| !holds),
            _ => None,
        })
    }

    fn reduced(&self, sum: &Sum) -> Vec<Sum> {
        let without = |nothing| self.facts.without(sum, nothing);
        self.nothing.iter().map(without).collect()
    }
}

/// Two paths, and the facts at the block at which they join.
struct Join<'f> {
    known: &'f Facts,
    condition: &'f Condition,
    holds: Side,
    fails: Side,
}

impl Facts {
    /// One of two sums in which rings have gone on by different numbers of rounds, without a choice.
    pub(super) fn met(&self, condition: &Condition, yes: &Sum, no: &Sum) -> Option<Sum> {
        let chosen = |sum: &Sum| sum.terms.keys().any(|a| matches!(a, Atom::Choice(..)));
        let ring = |sum: &Sum| sum.remainder().is_some() || chosen(sum);
        // What memory decides is told apart by `path/visited.rs`.
        if condition.reads_memory() || !ring(yes) && !ring(no) {
            return None;
        }
        let side = |condition: &Condition, nothing: Vec<Sum>| {
            let mut facts = self.clone();
            facts.assume(condition);
            Side { facts, nothing }
        };
        let (zero, other) = nothing(condition, self);
        let meeting = Join {
            known: self,
            condition,
            holds: side(condition, zero),
            fails: side(&condition.negated(), other),
        };
        let (a, b) = (meeting.holds.resolved(yes), meeting.fails.resolved(no));
        meeting.remainder(&a, &b, DEPTH)
    }
}

/// What is 0 where a condition holds, and what is where it fails.
fn nothing(condition: &Condition, facts: &Facts) -> (Vec<Sum>, Vec<Sum>) {
    match condition {
        Condition::Zero(sum) => {
            let other = match facts.narrowest(sum) {
                (0, 1) => vec![sum.plus_constant(-1)],
                (-1, 0) => vec![sum.plus_constant(1)],
                _ => Vec::new(),
            };
            (vec![sum.clone()], other)
        }
        Condition::Negative(sum) => {
            let (low, high) = facts.narrowest(sum);
            let zero = (low == -1).then(|| sum.plus_constant(1));
            let other = (high == 0).then(|| sum.clone());
            (zero.into_iter().collect(), other.into_iter().collect())
        }
        _ => (Vec::new(), Vec::new()),
    }
}

impl Join<'_> {
    /// `left + factor * (a % size)` or `left + factor * (b % size)`.
    fn remainder(&self, yes: &Sum, no: &Sum, depth: usize) -> Option<Sum> {
        [yes, no].into_iter().find_map(|form| {
            let (_, size, factor, left) = form.remainder()?;
            let a = self.dividend(yes, size, factor, &left)?;
            let b = self.dividend(no, size, factor, &left)?;
            let apart = a.minus(&b);
            let one = if self.holds.is_multiple(&apart, size) {
                b
            } else if self.fails.is_multiple(&apart, size) {
                a
            } else {
                self.one(&a, &b, depth)?
            };
            let rest = self.known.modulo(&one, &Sum::of(size))?;
            Some(left.plus_times(&rest, factor))
        })
    }

    /// Of what a sum is the remainder. A number below the size is its own.
    fn dividend(&self, sum: &Sum, size: i128, factor: i128, left: &Sum) -> Option<Sum> {
        if let Some((dividend, other, times, rest)) = sum.remainder()
            && (other, times) == (size, factor)
            && rest == *left
        {
            return Some((*dividend).clone());
        }
        let place = sum.minus(left).exactly_over(factor)?;
        let (low, high) = self.known.range(&place);
        (0 <= low && high < size).then_some(place)
    }

    /// One of two sums.
    fn one(&self, yes: &Sum, no: &Sum, depth: usize) -> Option<Sum> {
        let apart = no.minus(yes);
        if self.holds.is_zero(&apart) {
            return Some(no.clone());
        }
        if self.fails.is_zero(&apart) {
            return Some(yes.clone());
        }
        if let Some(step) = apart.as_constant() {
            return Some(yes.plus_times(&self.failing()?, step));
        }
        let depth = depth.checked_sub(1)?;
        self.quotient(yes, no, depth)
            .or_else(|| self.remainder(yes, no, depth))
    }

    /// `left + a / by` or `left + b / by`.
    fn quotient(&self, yes: &Sum, no: &Sum, depth: usize) -> Option<Sum> {
        [yes, no].into_iter().find_map(|form| {
            form.terms.iter().find_map(|(atom, factor)| {
                let Atom::Quotient(dividend, divisor) = atom else {
                    return None;
                };
                let by = divisor.as_constant().filter(|_| *factor == 1)?;
                let left = form.minus(&Sum::atom(atom.clone()));
                let of = |sum: &Sum| self.divided(&sum.minus(&left), dividend, by);
                let (all, others) = (of(yes), of(no));
                let pairs = all.iter().flat_map(|a| others.iter().map(move |b| (a, b)));
                let one = pairs.into_iter().find_map(|(a, b)| self.one(a, b, depth))?;
                Some(left.plus(&self.known.quotient(&one, divisor)?))
            })
        })
    }

    /// Of what a sum is the quotient; of several such numbers, one that resembles another dividend, too.
    fn divided(&self, sum: &Sum, like: &Rc<Sum>, by: i128) -> Vec<Sum> {
        let found = sum.terms.iter().find_map(|(atom, factor)| match atom {
            Atom::Quotient(dividend, divisor) => {
                let fits = *factor == 1 && divisor.as_constant() == Some(by);
                fits.then(|| (dividend, sum.minus(&Sum::atom(atom.clone()))))
            }
            _ => None,
        });
        if let Some((dividend, whole)) = found {
            return vec![dividend.plus_times(&whole, by)];
        }
        let mut all = vec![sum.scaled(by)];
        // What is below the divisor leaves no trace in the quotient.
        for (atom, factor) in &like.terms {
            let place = Sum::atom(atom.clone()).scaled(*factor);
            let (low, high) = self.known.range(&place);
            if 0 <= low && high < by {
                all.push(place.plus_times(sum, by));
            }
        }
        all
    }

    /// 1 where the condition fails, and 0 where it holds.
    fn failing(&self) -> Option<Sum> {
        let least = |sum: &Sum| {
            let (low, high) = self.known.narrowest(sum);
            // From `-most` to `most - 1`, what is not negative has this quotient.
            let most = high.saturating_add(1).max(low.saturating_neg()).max(1);
            let counted = sum.plus_constant(most);
            let few = most <= MOST_COUNTED;
            few.then(|| self.known.quotient(&counted, &Sum::of(most)))?
        };
        match self.condition {
            Condition::Negative(sum) => least(sum),
            Condition::Zero(sum) if self.known.is_positive(sum) => least(&sum.plus_constant(-1)),
            Condition::Zero(sum) if self.known.is_positive(&sum.scaled(-1)) => {
                least(&sum.scaled(-1).plus_constant(-1))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::term::Unknown;
    use super::*;

    /// A compiler unrolls a loop, and executes the remaining iterations after it. A ring then ends at the same stage as after
    /// the original loop, for every size of the ring and every first stage.
    #[test]
    fn ways_meet_where_the_loop_leads() {
        let (n, place, bit) = (Unknown(0), Unknown(1), Unknown(2));
        let mut sums = 0;
        for (size, copies) in [
            (2, 4),
            (3, 4),
            (4, 4),
            (5, 4),
            (3, 8),
            (4, 8),
            (6, 8),
            (7, 2),
        ] {
            let mut facts = Facts::default();
            facts.bound(n, 0, 1 << 20);
            facts.bound(place, 0, size - 1);
            facts.bound(bit, 0, 1);
            let rounds = Sum::unknown(n);
            let rest = |by: i128| facts.modulo(&rounds, &Sum::of(by)).unwrap();
            let at = |done: &Sum, facts: &Facts| {
                let all = Sum::unknown(place).plus(done);
                let turns = facts.quotient(&all, &Sum::of(size)).unwrap();
                let phase = Sum::unknown(bit).plus(&turns);
                [
                    facts.modulo(&all, &Sum::of(size)).unwrap(),
                    facts.modulo(&phase, &Sum::of(2)).unwrap(),
                ]
            };
            // `if (n % 8 >= 4) four; if (n % 4 >= 2) two; if (n % 2) one`
            let mut done = rounds.minus(&rest(copies));
            let mut found = at(&done, &facts);
            let mut half = copies / 2;
            while half > 0 {
                let few = Condition::Negative(rest(2 * half).plus_constant(-half));
                let more = at(&done.plus_constant(half), &facts);
                for (slot, more) in found.iter_mut().zip(&more) {
                    *slot = facts.choice(&few, slot, more);
                }
                done = rounds.minus(&rest(half));
                half /= 2;
            }
            sums += usize::from(found == at(&rounds, &facts));
            // `if (n % 4 != 0) { one; if (n % 4 != 1) { one; .. } }`
            let done = rounds.minus(&rest(copies));
            let mut inner = vec![facts.clone()];
            for count in 0..copies - 1 {
                let mut facts = inner.last().unwrap().clone();
                facts.assume(&Condition::Zero(rest(copies).plus_constant(-count)).negated());
                inner.push(facts);
            }
            let mut found = at(&done.plus_constant(copies - 1), inner.last().unwrap());
            for count in (0..copies - 1).rev() {
                let facts = &inner[usize::try_from(count).unwrap()];
                let ends = Condition::Zero(rest(copies).plus_constant(-count));
                let here = at(&done.plus_constant(count), facts);
                for (slot, here) in found.iter_mut().zip(&here) {
                    *slot = facts.choice(&ends, here, slot);
                }
            }
            sums += usize::from(found == at(&rounds, &facts));
        }
        assert_eq!(sums, 16);
    }

    /// A joined value is the value of the path that was taken.
    #[test]
    fn what_meets_keeps_its_value() {
        let mut met = 0;
        for seed in 0..3000 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut facts = Facts::default();
            let mut at = Vec::new();
            for number in 0..3 {
                let high = [3, 7, 40][random.random_range(0..3)];
                facts.bound(Unknown(number), 0, high);
                at.push(random.random_range(0..=high));
            }
            let linear = |random: &mut ChaCha8Rng| {
                let mut sum = Sum::of(random.random_range(-2..6));
                for number in 0..3 {
                    let one = Sum::unknown(Unknown(number));
                    sum = sum.plus_times(&one, random.random_range(0..4));
                }
                sum
            };
            let (size, by) = (random.random_range(2..6), random.random_range(2..6));
            let base = linear(&mut random);
            let ring = |random: &mut ChaCha8Rng| {
                let all = if random.random_bool(0.7) {
                    base.plus_constant(random.random_range(0..5))
                } else {
                    linear(random)
                };
                let turns = facts.quotient(&all, &Sum::of(by)).unwrap();
                let sum = [all, turns][random.random_range(0..2)].clone();
                facts.modulo(&sum, &Sum::of(size)).unwrap()
            };
            let (yes, no) = (ring(&mut random), ring(&mut random));
            let counted = linear(&mut random);
            let counted = facts.modulo(&counted, &Sum::of(4)).unwrap();
            let counted = counted.plus_constant(-random.random_range(0..4));
            let condition = match random.random_range(0..2) {
                0 => Condition::Zero(counted),
                _ => Condition::Negative(counted),
            };
            let with = |u: Unknown| Some(Sum::of(at[u.0 as usize]));
            let open = Facts::default();
            let value = |sum: &Sum| open.replaced(sum, &with).as_constant().unwrap();
            let holds = open.decide(&open.replaced_in(&condition, &with)).unwrap();
            if let Some(one) = facts.met(&condition, &yes, &no) {
                met += 1;
                let expected = if holds { value(&yes) } else { value(&no) };
                assert_eq!(value(&one), expected, "seed {seed}");
            }
        }
        assert!(met > 300, "only {met} met");
    }
}
