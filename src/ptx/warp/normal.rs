//! A normal form of sums. Remainders, and the conditional with which a ring index wraps around, are written with
//! quotients by constants where the known facts allow it. So equal values have equal forms.

use std::rc::Rc;

use super::facts::DEPTH;
use super::facts::FAR;
use super::facts::Facts;
use super::facts::gcd;
use super::retimed::alike;
use super::retimed::either_test;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Test;
use super::term::Unknown;

/// Rings of up to so many places are told by the bounds of what stands for a place.
const MOST_PLACES: i128 = 64;

impl Facts {
    /// The quotient, rounded down; `None` unless the divisor is certainly positive.
    pub fn quotient(&self, dividend: &Sum, divisor: &Sum) -> Option<Sum> {
        if self.range(divisor).0 < 1 {
            return None;
        }
        let Some(k) = divisor.as_constant() else {
            if let Some(0) = dividend.as_constant() {
                return Some(Sum::of(0));
            }
            let atom = Atom::Quotient(Rc::new(dividend.clone()), Rc::new(divisor.clone()));
            return Some(Sum::atom(atom));
        };
        // Multiples of the divisor leave the quotient.
        let (mut whole, mut rest) = (Sum::of(dividend.constant.div_euclid(k)), Sum::of(0));
        rest.constant = dividend.constant.rem_euclid(k);
        for (atom, coefficient) in &dividend.terms {
            let one = Sum::atom(atom.clone());
            whole = whole.plus_times(&one, coefficient.div_euclid(k));
            rest = rest.plus_times(&one, coefficient.rem_euclid(k));
        }
        // A common factor leaves dividend and divisor; of the constant, what is below it does not count.
        let factor = rest.terms.values().fold(k, |g, c| gcd(g, *c));
        if factor > 1 && !rest.terms.is_empty() {
            rest.constant = rest.constant.div_euclid(factor);
            for coefficient in rest.terms.values_mut() {
                *coefficient /= factor;
            }
            let quotient = self.quotient(&rest, &Sum::of(k / factor))?;
            return Some(whole.plus(&quotient));
        }
        let (low, high) = self.narrowest(&rest);
        if low.div_euclid(k) == high.div_euclid(k) && low > -FAR && high < FAR {
            return Some(whole.plus_constant(low.div_euclid(k)));
        }
        if let Some(zero) = self.beginning(&[&rest]) {
            let [begun, going] = self.apart(&zero);
            let yes = begun.quotient(&begun.decided(&rest, &zero, true), divisor)?;
            let no = going.quotient(&going.decided(&rest, &zero, false), divisor)?;
            let condition = Condition::Zero((*zero).clone());
            return Some(whole.plus(&self.choice(&condition, &yes, &no)));
        }
        // What multiples hide may be seen of the whole.
        let (low, high) = self.narrowed(dividend, DEPTH);
        if low.div_euclid(k) == high.div_euclid(k) && low > -FAR && high < FAR {
            return Some(Sum::of(low.div_euclid(k)));
        }
        if let Some(quotient) = self.by_larger(&rest, k) {
            return Some(whole.plus(&quotient));
        }
        let atom = Atom::Quotient(Rc::new(rest), Rc::new(divisor.clone()));
        Some(whole.plus(&Sum::atom(atom)))
    }

    /// A quotient by way of one by a multiple of the divisor, of which the remainder is known closely: where
    /// `n % 8` is 1 to 3, `n / 4` is `2 * (n / 8)`.
    fn by_larger(&self, dividend: &Sum, divisor: i128) -> Option<Sum> {
        let known = self.positive.iter().flat_map(|fact| fact.terms.keys());
        let larger = known.filter_map(|atom| match atom {
            Atom::Quotient(other, by) if **other == *dividend => Some((atom, by.as_constant()?)),
            _ => None,
        });
        larger
            .filter(|(_, by)| *by > divisor && by % divisor == 0)
            .find_map(|(atom, by)| {
                let rest = dividend.plus_times(&Sum::atom(atom.clone()), -by);
                let (low, high) = self.narrowed(&rest, DEPTH);
                let part = low.div_euclid(divisor);
                let one = part == high.div_euclid(divisor);
                // It may be known by way of a larger one in turn.
                let quotient = one.then(|| self.quotient(dividend, &Sum::of(by)))??;
                Some(quotient.scaled(by / divisor).plus_constant(part))
            })
    }

    /// The remainder that matches.
    pub fn modulo(&self, dividend: &Sum, divisor: &Sum) -> Option<Sum> {
        if let Some(zero) = self.beginning(&[dividend]) {
            let [begun, going] = self.apart(&zero);
            let yes = begun.modulo(&begun.decided(dividend, &zero, true), divisor)?;
            let no = going.modulo(&going.decided(dividend, &zero, false), divisor)?;
            return Some(self.choice(&Condition::Zero((*zero).clone()), &yes, &no));
        }
        let quotient = self.quotient(dividend, divisor)?;
        Some(dividend.minus(&quotient.times(divisor)))
    }

    /// One of two sums. Where the condition says that a ring wraps around, the result is written
    /// with quotients.
    pub fn choice(&self, condition: &Condition, yes: &Sum, no: &Sum) -> Sum {
        match self.decide(condition) {
            Some(true) => return yes.clone(),
            Some(false) => return no.clone(),
            None => {}
        }
        if yes == no {
            return yes.clone();
        }
        if let Condition::Not(inner) = condition {
            return self.choice(inner, no, yes);
        }
        if let Condition::Zero(sum) | Condition::Negative(sum) = condition
            && let Some(zero) = self.beginning(&[sum])
        {
            let arms = self.apart(&zero);
            let [first, later] = [true, false].map(|first| {
                let facts = &arms[usize::from(!first)];
                let sum = facts.decided(sum, &zero, first);
                let exact = matches!(condition, Condition::Zero(_));
                let yes = facts.decided(yes, &zero, first);
                let no = facts.decided(no, &zero, first);
                facts.choice(&Condition::about(sum, exact), &yes, &no)
            });
            return self.choice(&Condition::Zero((*zero).clone()), &first, &later);
        }
        if let Condition::Zero(sum) = condition
            && let Some(written) = self.wrapped(sum, yes, no, false)
        {
            return written;
        }
        // A comparison with the last place of a ring, or the first, asks whether it is there.
        if let Condition::Negative(sum) = condition {
            let (least, most) = self.range(sum);
            let written = match (least, most) {
                (-1, _) => self.wrapped(&sum.plus_constant(1), yes, no, false),
                (_, 0) => self.wrapped(sum, no, yes, false),
                _ => None,
            };
            if let Some(written) = written {
                return written;
            }
        }
        // What agrees under the condition needs no choice.
        let mut under = self.clone();
        under.assume(condition);
        if under.same(yes, no) {
            return no.clone();
        }
        if under.chosen_alike(yes, no) {
            return either_test(condition, yes, no);
        }
        if let Condition::Zero(zero) = condition
            && under.same(&under.without(yes, zero), &under.without(no, zero))
        {
            return no.clone();
        }
        let mut other = self.clone();
        other.assume(&condition.negated());
        if other.same(yes, no) {
            return yes.clone();
        }
        if let Some(met) = self.met(condition, yes, no) {
            return met;
        }
        if let Condition::Zero(sum) = condition
            && let Some(written) = self.wrapped(sum, yes, no, true)
        {
            return written;
        }
        if let Some(written) = self.chosen_around(condition, yes, no) {
            return written;
        }
        // What both have in common is there in any case.
        let mut common = Sum::of(0);
        for (atom, factor) in &yes.terms {
            if no.terms.get(atom) == Some(factor) {
                common.terms.insert(atom.clone(), *factor);
            }
        }
        let (yes, no) = (yes.minus(&common), no.minus(&common));
        let chosen = Atom::Choice(Rc::new(condition.clone()), Rc::new(yes), Rc::new(no));
        common.plus(&Sum::atom(chosen))
    }

    /// Whether two choices are between the same by the same test.
    fn chosen_alike(&self, a: &Sum, b: &Sum) -> bool {
        match (a.single(), b.single()) {
            (Some((Atom::Choice(c, a, b), k)), Some((Atom::Choice(d, e, f), l))) => {
                k == l && self.same(a, e) && self.same(b, f) && alike(c, d, self)
            }
            _ => false,
        }
    }

    /// Whether two sums have the same value, rewriting their quotients under these facts.
    pub fn same(&self, a: &Sum, b: &Sum) -> bool {
        let difference = self.rewritten(&a.minus(b));
        if difference.as_constant() == Some(0) || self.range(&difference) == (0, 0) {
            return true;
        }
        let Some(zero) = self.beginning(&[&difference]) else {
            return false;
        };
        let arms = self.apart(&zero);
        [true, false].into_iter().zip(arms).all(|(first, facts)| {
            let left = facts.rewritten(&facts.decided(&difference, &zero, first));
            facts.is_positive(&left) && facts.is_positive(&left.scaled(-1))
        })
    }

    /// The sum with quotients that are constant under these facts replaced.
    pub fn rewritten(&self, sum: &Sum) -> Sum {
        self.replaced(sum, &|_| None)
    }

    /// The sum with unknowns replaced.
    pub fn replaced(&self, sum: &Sum, with: &dyn Fn(Unknown) -> Option<Sum>) -> Sum {
        let mut result = Sum::of(sum.constant);
        for (atom, coefficient) in &sum.terms {
            result = result.plus_times(&self.replaced_atom(atom, with), *coefficient);
        }
        result
    }

    fn replaced_atom(&self, atom: &Atom, with: &dyn Fn(Unknown) -> Option<Sum>) -> Sum {
        match atom {
            Atom::Unknown(unknown) => with(*unknown).unwrap_or_else(|| Sum::unknown(*unknown)),
            Atom::Cell(address, cell) => {
                Sum::atom(Atom::Cell(Rc::new(self.replaced(address, with)), *cell))
            }
            Atom::Quotient(a, b) => {
                let (a, b) = (self.replaced(a, with), self.replaced(b, with));
                self.quotient(&a, &b)
                    .unwrap_or_else(|| Sum::atom(Atom::Quotient(Rc::new(a), Rc::new(b))))
            }
            Atom::Product(parts) => {
                let mut product = Sum::of(1);
                for part in parts {
                    product = product.times(&self.replaced_atom(part, with));
                }
                product
            }
            Atom::Count(c, own, upto) => {
                let condition = self.replaced_in(c, &|u| if u == *own { None } else { with(u) });
                Atom::count(&condition, *own, &self.replaced(upto, with))
            }
            Atom::Choice(c, a, b) => self.choice(
                &self.replaced_in(c, with),
                &self.replaced(a, with),
                &self.replaced(b, with),
            ),
        }
    }

    /// The condition with unknowns replaced.
    pub fn replaced_in(
        &self,
        condition: &Condition,
        with: &dyn Fn(Unknown) -> Option<Sum>,
    ) -> Condition {
        match condition {
            Condition::Constant(_) => condition.clone(),
            Condition::Passed(test) => Condition::passed(Test {
                barrier: self.replaced(&test.barrier, with),
                parity: test.parity.as_ref().map(|p| self.replaced(p, with)),
                memory: test.memory,
                time: test.time,
            }),
            Condition::Negative(sum) => Condition::about(self.replaced(sum, with), false),
            Condition::Zero(sum) => Condition::about(self.replaced(sum, with), true),
            Condition::Not(inner) => self.replaced_in(inner, with).negated(),
            Condition::And(a, b) => self.replaced_in(a, with).and(self.replaced_in(b, with)),
            Condition::Or(a, b) => self.replaced_in(a, with).or(self.replaced_in(b, with)),
        }
    }

    /// Of what `x % k - (k - 1)` is 0 in the last place of a ring: `x` and `k`. What is in another place, `x % k == c`, is
    /// in the last one `k - 1 - c` further on, if `anywhere` is asked for. What lies between 0 and `k - 1` is its own remainder.
    fn last_place(&self, zero: &Sum, anywhere: bool) -> Option<(Rc<Sum>, i128)> {
        if let Some((dividend, size, 1, left)) = zero.remainder() {
            let place = -left.as_constant()?;
            let further = size - 1 - place;
            let inside = further == 0 || anywhere && (0..size).contains(&place);
            return inside.then(|| (Rc::new(dividend.plus_constant(further)), size));
        }
        let place = zero.plus_constant(-zero.constant);
        let (Atom::Unknown(unknown), 1) = place.single()? else {
            return None;
        };
        let last = -zero.constant;
        let known = self.bounds.get(unknown) == Some(&(0, last));
        let ring = known && (1..MOST_PLACES).contains(&last);
        ring.then(|| (Rc::new(place), last + 1))
    }

    /// `x % k == k - 1` holds exactly where `(x + 1) / k` is one more than `x / k`.
    fn wrapped(&self, zero: &Sum, yes: &Sum, no: &Sum, anywhere: bool) -> Option<Sum> {
        for sign in [1, -1] {
            let zero = zero.scaled(sign);
            let Some((dividend, divisor)) = self.last_place(&zero, anywhere) else {
                continue;
            };
            // What stands for a place may also be a place after the last: then nothing comes around.
            let seen = zero.remainder().is_some();
            // Not a bit, but the other one.
            if (divisor, yes.as_constant(), no.as_constant()) == (2, Some(0), Some(1)) {
                return self.modulo(&dividend.plus_constant(1), &Sum::of(2));
            }
            let k = Sum::of(divisor);
            let step = self
                .quotient(&dividend.plus_constant(1), &k)?
                .minus(&self.quotient(&dividend, &k)?);
            let difference = yes.minus(no);
            for multiple in [0, 1, -1] {
                if let Some(d) = difference.plus_times(&zero, multiple).as_constant()
                    && (multiple == 0 || seen || d % divisor == 0)
                {
                    return Some(no.plus_times(&step, d));
                }
            }
            // Both are remainders by 2.
            let two = Sum::of(2);
            let parity = |sum: &Sum| match sum.remainder() {
                Some((dividend, 2, 1, left)) if left.as_constant() == Some(0) => Some(dividend),
                _ => {
                    let (low, high) = self.range(sum);
                    (0 <= low && high <= 1).then(|| Rc::new(sum.clone()))
                }
            };
            if let (Some(a), Some(b)) = (parity(yes), parity(no)) {
                let apart = self.modulo(&a.minus(&b), &two);
                if let Some(apart) = apart.and_then(|apart| apart.as_constant()) {
                    return self.modulo(&b.plus_times(&step, apart), &two);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// The value of a sum at values of the unknowns.
    fn value(sum: &Sum, at: &[i128]) -> i128 {
        let mut total = sum.constant;
        for (atom, factor) in &sum.terms {
            total += factor * of(atom, at);
        }
        total
    }

    fn of(atom: &Atom, at: &[i128]) -> i128 {
        match atom {
            Atom::Unknown(u) => at[u.0 as usize],
            Atom::Quotient(a, b) => value(a, at).div_euclid(value(b, at)),
            Atom::Product(parts) => parts.iter().map(|p| of(p, at)).product(),
            Atom::Cell(..) | Atom::Count(..) => unreachable!("no memory is read here"),
            Atom::Choice(c, a, b) => value(if holds(c, at) { a } else { b }, at),
        }
    }

    fn holds(condition: &Condition, at: &[i128]) -> bool {
        match condition {
            Condition::Constant(known) => *known,
            Condition::Negative(sum) => value(sum, at) < 0,
            Condition::Zero(sum) => value(sum, at) == 0,
            Condition::Not(inner) => !holds(inner, at),
            Condition::And(a, b) => holds(a, at) && holds(b, at),
            Condition::Or(a, b) => holds(a, at) || holds(b, at),
            Condition::Passed(_) => unreachable!("no test of an mbarrier is made here"),
        }
    }

    /// Random arithmetic, kept in normal form, has the value that it has step by step, and lies in
    /// its range; what is decided is so.
    #[test]
    fn normal_forms_keep_their_value() {
        let (mut decided, mut same) = (0, 0);
        for seed in 0..4000 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut facts = Facts::default();
            let mut at = Vec::new();
            let mut made: Vec<(Sum, i128)> = Vec::new();
            for number in 0..3 {
                let (low, high) = (random.random_range(-6..4), random.random_range(4..20));
                let unknown = Unknown(number);
                facts.bound(unknown, low, high);
                at.push(random.random_range(low..=high));
                made.push((Sum::unknown(unknown), at[number as usize]));
            }
            // A fact that is true here.
            let slack = Sum::unknown(Unknown(0)).minus(&Sum::unknown(Unknown(1)));
            let slack = slack.plus_constant(-value(&slack, &at) + random.random_range(0..3));
            facts.assume_positive(&slack);
            for _ in 0..10 {
                let mut pick = || {
                    let index = random.random_range(0..made.len());
                    made[index].clone()
                };
                let ((a, x), (b, y), (c, z)) = (pick(), pick(), pick());
                let k = random.random_range(1..7);
                let divisor = Sum::of(k);
                let (sum, expected) = match random.random_range(0..7) {
                    0 => (a.plus_times(&b, k - 3), x + y * (k - 3)),
                    1 => (a.plus_constant(k), x + k),
                    2 => (facts.quotient(&a, &divisor).unwrap(), x.div_euclid(k)),
                    3 => (facts.modulo(&a, &divisor).unwrap(), x.rem_euclid(k)),
                    4 => (a.times(&b), x * y),
                    5 => {
                        let condition = Condition::Negative(a.minus(&b));
                        let (yes, no) = (c.clone(), a.clone());
                        let expected = if x < y { z } else { x };
                        (facts.choice(&condition, &yes, &no), expected)
                    }
                    _ => {
                        // A ring's step, and the bit that turns with it.
                        let place = facts.modulo(&a, &divisor).unwrap();
                        let wraps = Condition::Zero(place.plus_constant(1 - k));
                        let next = facts.choice(&wraps, &Sum::of(0), &place.plus_constant(1));
                        let turn = facts.choice(&wraps, &b.plus_constant(1), &b);
                        let wrapped = x.rem_euclid(k) == k - 1;
                        let expected = (x + 1).rem_euclid(k) + 9 * (y + i128::from(wrapped));
                        (next.plus_times(&turn, 9), expected)
                    }
                };
                if sum.excessive() || expected.abs() > 1 << 60 {
                    continue;
                }
                // What is the same in all cases has the same value: here a quotient in two ways, of which
                // one may be off by 1.
                let whole = facts.quotient(&a.plus(&b), &divisor).unwrap();
                let place = facts.modulo(&a, &divisor).unwrap();
                let rest = facts.quotient(&place.plus(&b), &divisor).unwrap();
                let off = facts.choice(&Condition::Negative(c.minus(&b)), &Sum::of(1), &Sum::of(0));
                let parts = facts.quotient(&a, &divisor).unwrap().plus(&rest);
                let others = [parts.clone(), parts.plus(&off)];
                for other in others.iter().filter(|_| seed % 16 == 0) {
                    if !other.excessive() && facts.same_in_all_cases(&whole, other) {
                        same += 1;
                        assert_eq!(value(&whole, &at), value(other, &at), "seed {seed}");
                    }
                }
                assert_eq!(value(&sum, &at), expected, "seed {seed}: {sum:?}");
                let (low, high) = facts.range(&sum);
                assert!(low <= expected && expected <= high, "seed {seed}: {sum:?}");
                let condition = Condition::Negative(sum.clone());
                if let Some(known) = facts.decide(&condition) {
                    decided += 1;
                    assert_eq!(known, expected < 0, "seed {seed}: {sum:?}");
                }
                made.push((sum, expected));
            }
        }
        assert!(decided > 1000, "only {decided} conditions were decided");
        assert!(same > 100, "only {same} sums were the same");
    }
}
