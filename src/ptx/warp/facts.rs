//! The facts that hold at a place of the kernel: bounds of unknowns, and sums that are not negative. `normal.rs` says how
//! sums are built and compared under these facts.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::lesser::range_of_choice;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;

/// Beyond every value that is met.
pub(super) const FAR: i128 = 1 << 100;

/// How deep bounds are computed.
pub(super) const DEPTH: usize = 6;

/// Sums of up to so many terms bound the unknowns in them.
const MOST_BOUNDED: usize = 4;

/// Up to how many facts are used two at a time.
const MOST_PAIRED: usize = 40;

/// Numbers up to this have products that are computed without overflow.
const NARROW: u128 = 1 << 40;

/// What is known.
#[derive(Debug, Clone, Default)]
pub(in crate::ptx) struct Facts {
    pub(super) bounds: BTreeMap<Unknown, (i128, i128)>,
    /// Sums that are 0 or more.
    pub(super) positive: Vec<Rc<Sum>>,
    /// Unknowns that are words of memory.
    words: BTreeSet<Unknown>,
    /// Whether words of memory may be anything that their bits can mean.
    wide: bool,
}

impl Facts {
    pub fn bound(&mut self, unknown: Unknown, low: i128, high: i128) {
        let entry = self.bounds.entry(unknown).or_insert((-FAR, FAR));
        *entry = (entry.0.max(low), entry.1.min(high));
    }

    /// Adds that an unknown is a word of memory, which is taken to be an `int` that is not negative.
    pub fn word(&mut self, unknown: Unknown) {
        self.bound(unknown, 0, i128::from(i32::MAX));
        self.words.insert(unknown);
    }

    /// What is known where words of memory may be anything that their bits can mean.
    fn widened(&self) -> Facts {
        let mut facts = self.clone();
        for word in &self.words {
            if let Some((low, high)) = facts.bounds.get_mut(word) {
                (*low, *high) = widened(*low, *high);
            }
        }
        facts.wide = true;
        facts
    }

    /// Adds the bounds that others know of some unknowns.
    pub fn learn(&mut self, others: &Facts, of: &dyn Fn(Unknown) -> bool) {
        for (unknown, (low, high)) in &others.bounds {
            if of(*unknown) {
                self.bound(*unknown, *low, *high);
            }
        }
    }

    /// Adds what a condition says.
    pub fn assume(&mut self, condition: &Condition) {
        match condition {
            Condition::Negative(sum) => self.learn_positive(&sum.scaled(-1).plus_constant(-1)),
            Condition::Zero(sum) => {
                self.assume_positive(sum);
                self.assume_positive(&sum.scaled(-1));
            }
            Condition::Not(inner) => {
                if let Condition::Zero(sum) = &**inner {
                    if self.is_positive(sum) {
                        self.learn_positive(&sum.plus_constant(-1));
                    } else if self.is_positive(&sum.scaled(-1)) {
                        self.learn_positive(&sum.scaled(-1).plus_constant(-1));
                    }
                }
            }
            Condition::And(a, b) => {
                self.assume(a);
                self.assume(b);
            }
            Condition::Constant(_) | Condition::Or(..) | Condition::Passed(_) => {}
        }
    }

    /// Adds that a sum is 0 or more, also as it is written with what is known.
    fn learn_positive(&mut self, sum: &Sum) {
        let written = self.rewritten(sum);
        if written != *sum {
            self.assume_positive(&written);
        }
        self.assume_positive(sum);
    }

    pub fn assume_positive(&mut self, sum: &Sum) {
        // Whole numbers: what all coefficients have in common leaves, rounding the constant down.
        let common = sum.terms.values().fold(0, |g, c| gcd(g, *c));
        if common > 1 {
            let mut reduced = sum.clone();
            reduced.constant = sum.constant.div_euclid(common);
            for coefficient in reduced.terms.values_mut() {
                *coefficient /= common;
            }
            self.assume_positive(&reduced);
        }
        // c * u + d >= 0 with the most that d can be bounds u.
        if sum.terms.len() <= MOST_BOUNDED {
            let bounds: Vec<(Unknown, i128, i128)> = sum
                .terms
                .iter()
                .filter_map(|(atom, c)| match atom {
                    Atom::Unknown(u) => {
                        let rest = sum.plus_times(&Sum::unknown(*u), -c);
                        Some((*u, *c, self.range(&rest).1))
                    }
                    _ => None,
                })
                .collect();
            for (unknown, c, d) in bounds.into_iter().filter(|(_, _, d)| *d < FAR) {
                if c > 0 {
                    self.bound(unknown, -d.div_euclid(c), FAR);
                } else {
                    self.bound(unknown, -FAR, d.div_euclid(-c));
                }
            }
        }
        if !self.positive.iter().any(|p| **p == *sum) {
            self.positive.push(Rc::new(sum.clone()));
            self.learn_entailed(sum);
        }
    }

    /// Whether an unknown of a sum could have no more than two values if the sum were 0 or more, and can have more.
    pub fn leaves_two(&self, sum: &Sum) -> bool {
        sum.terms.iter().any(|(atom, coefficient)| {
            let (Atom::Unknown(unknown), ..0) = (atom, *coefficient) else {
                return false;
            };
            let (low, high) = *self.bounds.get(unknown).unwrap_or(&(-FAR, FAR));
            let rest = sum.plus_times(&Sum::unknown(*unknown), -coefficient);
            let most = self.range(&rest).1.div_euclid(-coefficient);
            high - low > 1 && most - low <= 1
        })
    }

    /// Between which bounds a sum lies.
    pub fn range(&self, sum: &Sum) -> (i128, i128) {
        self.range_within(sum, DEPTH)
    }

    fn range_within(&self, sum: &Sum, depth: usize) -> (i128, i128) {
        let (mut low, mut high) = (sum.constant, sum.constant);
        for (atom, coefficient) in &sum.terms {
            let (a, b) = self.range_of(atom, depth);
            let (a, b) = (
                a.saturating_mul(*coefficient),
                b.saturating_mul(*coefficient),
            );
            low = (low + a.min(b).max(-FAR)).max(-FAR);
            high = (high + a.max(b).min(FAR)).min(FAR);
        }
        if depth > 0
            && let Some((_, divisor, factor, left)) = sum.remainder()
        {
            let (a, b) = self.range_within(&left, depth - 1);
            let spread = (divisor - 1).saturating_mul(factor);
            low = low.max(a + spread.min(0));
            high = high.min(b + spread.max(0));
        }
        if depth > 0
            && let Some((left, factor, least, most)) = steps(sum)
        {
            let (a, b) = self.range_within(&left, depth - 1);
            low = low.max(a + factor * least);
            high = high.min(b + factor * most);
        }
        if depth > 0
            && let Some((product, power, beside)) = less_a_part(sum)
        {
            // product / power is between (product - power + 1) / power and that without the rest.
            let whole = beside.scaled(power).minus(&product);
            let (a, b) = self.range_within(&whole, depth - 1);
            if a > -FAR {
                low = low.max(a.div_euclid(power));
            }
            if b < FAR {
                high = high.min((b + power - 1).div_euclid(power));
            }
        }
        (low.max(-FAR), high.min(FAR))
    }

    /// Between which bounds a sum lies, also by what is known of it as a whole.
    pub(super) fn narrowed(&self, sum: &Sum, depth: usize) -> (i128, i128) {
        let (mut low, mut high) = self.range_within(sum, depth);
        for fact in &self.positive {
            if let Some(least) = sum.minus(fact).as_constant() {
                low = low.max(least);
            }
            if let Some(most) = sum.plus(fact).as_constant() {
                high = high.min(most);
            }
        }
        (low, high)
    }

    /// Between which bounds a sum lies, also by what is known of parts of it.
    pub(super) fn narrowest(&self, sum: &Sum) -> (i128, i128) {
        let (mut low, mut high) = self.narrowed(sum, DEPTH);
        for fact in &self.positive {
            // A fact helps only if it takes something away from the sum.
            let shared = fact.terms.iter().find_map(|(atom, f)| {
                let c = sum.terms.get(atom)?;
                Some((*f > 0) == (*c > 0))
            });
            match shared {
                Some(true) => low = low.max(self.range(&sum.minus(fact)).0),
                Some(false) => high = high.min(self.range(&sum.plus(fact)).1),
                None => {}
            }
        }
        (low, high)
    }

    fn range_of(&self, atom: &Atom, depth: usize) -> (i128, i128) {
        match atom {
            Atom::Unknown(unknown) => *self.bounds.get(unknown).unwrap_or(&(-FAR, FAR)),
            Atom::Cell(_, cell) if self.wide && cell.bytes >= 4 => {
                widened(i128::from(cell.low), i128::from(cell.high))
            }
            Atom::Cell(_, cell) => (i128::from(cell.low), i128::from(cell.high)),
            _ if depth == 0 => (-FAR, FAR),
            Atom::Quotient(dividend, divisor) => {
                let (low, high) = self.narrowed(dividend, depth - 1);
                let (least, most) = self.range_within(divisor, depth - 1);
                if least < 1 {
                    return (-FAR, FAR);
                }
                let over = |x: i128| (x.div_euclid(least), x.div_euclid(most));
                let (a, b) = (over(low), over(high));
                (a.0.min(a.1), b.0.max(b.1))
            }
            Atom::Product(parts) => {
                let mut range = (1i128, 1i128);
                for part in parts {
                    let (a, b) = self.range_of(part, depth - 1);
                    let ends = [
                        range.0.saturating_mul(a),
                        range.0.saturating_mul(b),
                        range.1.saturating_mul(a),
                        range.1.saturating_mul(b),
                    ];
                    let low = ends.iter().copied().fold(FAR, i128::min);
                    let high = ends.iter().copied().fold(-FAR, i128::max);
                    range = (low.max(-FAR), high.min(FAR));
                }
                range
            }
            Atom::Count(_, _, upto) => (0, self.range_within(upto, depth - 1).1.max(0)),
            Atom::Choice(condition, a, b) => {
                let ranges = (
                    self.range_within(a, depth - 1),
                    self.range_within(b, depth - 1),
                );
                range_of_choice(condition, (a, b), ranges)
            }
        }
    }

    /// An unknown in a sum that has few values, and these.
    pub fn few(&self, sum: &Sum, most: i128) -> Option<(Unknown, std::ops::RangeInclusive<i128>)> {
        let mut bounds = self
            .bounds
            .iter()
            .filter(|(u, _)| sum.mentions(&|o| o == **u));
        let (unknown, (low, high)) =
            bounds.find(|(_, (low, high))| (0..most).contains(&(high - low)))?;
        Some((*unknown, *low..=*high))
    }

    /// Whether a sum is certainly 0 or more.
    pub fn is_positive(&self, sum: &Sum) -> bool {
        if self.range(sum).0 >= 0 {
            return true;
        }
        // A fact helps only if it has something in common with what is looked at.
        let helps = |sum: &Sum, fact: &Sum| {
            let mut terms = sum.terms.iter();
            terms.any(|(atom, c)| fact.terms.get(atom).is_some_and(|f| (*f > 0) == (*c > 0)))
        };
        // Two facts together are tried only where that is not too much work.
        let pairs = if self.positive.len() > MOST_PAIRED {
            &[]
        } else {
            self.positive.as_slice()
        };
        self.positive.iter().filter(|p| helps(sum, p)).any(|p| {
            // Several times a fact is a fact, too.
            let shared = p.terms.iter().find_map(|(atom, f)| {
                let c = sum.terms.get(atom)?;
                (c % f == 0 && c / f > 1).then_some(c / f)
            });
            if shared.is_some_and(|times| self.range(&sum.plus_times(p, -times)).0 >= 0) {
                return true;
            }
            let rest = sum.minus(p);
            let mut pairs = pairs.iter().filter(|q| helps(&rest, q));
            self.range(&rest).0 >= 0 || pairs.any(|q| self.range(&rest.minus(q)).0 >= 0)
        })
    }

    /// A sum that an unknown is at most, without that unknown.
    pub fn most(&self, unknown: Unknown) -> Option<Sum> {
        // The last that was learnt is the closest.
        self.positive.iter().rev().find_map(|p| {
            let (slope, rest) = p.split(unknown)?;
            (slope.as_constant() == Some(-1)).then_some(rest)
        })
    }

    /// Whether a condition is certain. That words of memory are taken not to be negative decides nothing: a kernel may
    /// ask just that.
    pub fn decide(&self, condition: &Condition) -> Option<bool> {
        let word = |u: Unknown| self.words.contains(&u);
        if !self.wide && (condition.reads_memory() || condition.mentions(&word)) {
            return self.widened().decide(condition);
        }
        match condition {
            Condition::Constant(value) => Some(*value),
            Condition::Negative(sum) => {
                if self.is_positive(sum) {
                    Some(false)
                } else if self.is_positive(&sum.scaled(-1).plus_constant(-1)) {
                    Some(true)
                } else {
                    None
                }
            }
            Condition::Zero(sum) => {
                if sum.as_constant() == Some(0) {
                    return Some(true);
                }
                let away = self.is_positive(&sum.plus_constant(-1))
                    || self.is_positive(&sum.scaled(-1).plus_constant(-1));
                // Multiples of a number are not 0 with something added that is none.
                let common = sum.terms.values().fold(0, |g, c| gcd(g, *c));
                if away || common > 1 && sum.constant % common != 0 {
                    return Some(false);
                }
                (self.is_positive(sum) && self.is_positive(&sum.scaled(-1))).then_some(true)
            }
            Condition::Not(inner) => self.decide(inner).map(|value| !value),
            Condition::And(a, b) => match (self.decide(a), self.decide(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Condition::Or(a, b) => match (self.decide(a), self.decide(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Condition::Passed(_) => None,
        }
    }
}

/// Finds `factor * ((x + d) / k - x / k)` in a sum: what is left, the factor, and the bounds of the
/// difference.
fn steps(sum: &Sum) -> Option<(Sum, i128, i128, i128)> {
    for (atom, factor) in &sum.terms {
        let Atom::Quotient(x, k) = atom else { continue };
        let Some(divisor) = k.as_constant().filter(|k| *factor > 0 && *k > 0) else {
            continue;
        };
        for (other, back) in &sum.terms {
            if let Atom::Quotient(y, by) = other
                && by == k
                && *back == -factor
                && let Some(d) = x.minus(y).as_constant()
            {
                let pair = Sum::atom(atom.clone()).minus(&Sum::atom(other.clone()));
                let left = sum.plus_times(&pair, -factor);
                let least = d.div_euclid(divisor);
                let most = least + i128::from(d.rem_euclid(divisor) > 0);
                return Some((left, *factor, least, most));
            }
        }
    }
    None
}

/// Finds `- product / power` beside something that is in the product, too.
fn less_a_part(sum: &Sum) -> Option<(Rc<Sum>, i128, Sum)> {
    let mut atoms = sum.terms.iter().filter(|_| sum.terms.len() > 1);
    atoms.find_map(|(atom, factor)| {
        let Atom::Quotient(product, power) = atom else {
            return None;
        };
        let power = power.as_constant().filter(|_| *factor == -1)?;
        let beside = sum.plus_times(&Sum::atom(atom.clone()), 1);
        let fits = |sum: &Sum| {
            let small = |x: &i128| x.unsigned_abs() <= NARROW;
            sum.terms.values().chain([&sum.constant]).all(small)
        };
        let shared = beside
            .terms
            .keys()
            .any(|atom| product.terms.contains_key(atom));
        let narrow = power.unsigned_abs() <= NARROW && fits(&beside) && fits(product);
        (shared && narrow).then(|| (Rc::clone(product), power, beside))
    })
}

/// The bounds of a word of memory without those that it is taken to have.
fn widened(low: i128, high: i128) -> (i128, i128) {
    let low = if low == 0 { -(1 << 63) } else { low };
    let high = if high == i128::from(i32::MAX) {
        1 << 64
    } else {
        high
    };
    (low, high)
}

pub(super) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
