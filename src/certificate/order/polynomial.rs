//! Exact polynomials with integer coefficients.
//!
//! An overflow of 128 bits is an error, never a wrong number.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::certificate::term;
use crate::certificate::term::Term;
use crate::protocol::Protocol;

/// An unknown integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unknown {
    /// A parameter, by position.
    Param(usize),
    /// The number of an iteration, by the order in which it was introduced.
    Iteration(usize),
    /// A coefficient of a rank that the search has not determined yet.
    Coefficient(usize),
}

/// A product of unknowns, in order. The empty product is the number 1.
pub type Monomial = Vec<Unknown>;

/// A number that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// A sum of integers times products of unknowns. No coefficient is 0. Copies share their storage, because facts are
/// copied very often.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Polynomial(Arc<BTreeMap<Monomial, i128>>);

impl Polynomial {
    /// A number.
    pub fn number(value: i128) -> Polynomial {
        let mut sum = BTreeMap::new();
        if value != 0 {
            sum.insert(Vec::new(), value);
        }
        Polynomial(Arc::new(sum))
    }

    /// An unknown.
    pub fn unknown(unknown: Unknown) -> Polynomial {
        Polynomial(Arc::new(BTreeMap::from([(vec![unknown], 1)])))
    }

    /// The terms: products and their coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.0.iter().map(|(monomial, times)| (monomial, *times))
    }

    /// The value, if it is a number.
    pub fn value(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The part with unknowns, divided by the greatest common divisor of its coefficients; and the constant, divided
    /// by the same number and rounded down. Wherever this polynomial is at least 0, the sum of the two is, too,
    /// because the divided part is an integer.
    pub fn reduced(&self) -> Option<(Polynomial, i128)> {
        let (mut number, mut divisor) = (0, 0);
        for (monomial, times) in self.terms() {
            match monomial[..] {
                [] => number = times,
                _ => divisor = common(divisor, times)?,
            }
        }
        let divisor = divisor.checked_abs()?;
        if divisor == 0 {
            return Some((Polynomial::default(), number));
        }
        let mut part = BTreeMap::new();
        for (monomial, times) in self.terms().filter(|(monomial, _)| !monomial.is_empty()) {
            part.insert(monomial.clone(), times.checked_div(divisor)?);
        }
        let number = number.checked_div_euclid(divisor)?;
        Some((Polynomial(Arc::new(part)), number))
    }

    /// The summand without unknowns.
    pub fn number_in(&self) -> i128 {
        self.0.get(&Vec::new()).copied().unwrap_or(0)
    }

    /// Whether all coefficients are even, so that every value is.
    pub fn is_even(&self) -> bool {
        self.0.values().all(|times| times % 2 == 0)
    }

    /// Whether it is 0 nowhere, because its constant is not a multiple of the greatest common divisor of all other
    /// coefficients. The rest of it is such a multiple for all integer values of the unknowns.
    pub fn is_never_0(&self) -> bool {
        let (mut number, mut divisor) = (0, Some(0));
        for (monomial, times) in self.terms() {
            match monomial[..] {
                [] => number = times,
                _ => divisor = divisor.and_then(|divisor| common(divisor, times)),
            }
        }
        match divisor {
            Some(0) => number != 0,
            Some(divisor) => number.checked_rem(divisor).is_some_and(|rest| rest != 0),
            None => false,
        }
    }

    /// The unknowns in it.
    pub fn unknowns(&self) -> BTreeSet<Unknown> {
        self.0.keys().flatten().copied().collect()
    }

    /// The sum of this polynomial and a multiple of another one.
    ///
    /// # Errors
    ///
    /// A coefficient that does not fit.
    pub fn plus(&self, times: i128, other: &Polynomial) -> Result<Polynomial, TooLarge> {
        let mut sum = self.clone();
        for (monomial, factor) in other.0.iter() {
            let more = factor.checked_mul(times).ok_or(TooLarge)?;
            sum.add(monomial.clone(), more)?;
        }
        Ok(sum)
    }

    /// This polynomial minus a number. The result is at least 0 iff this polynomial is at least the number.
    ///
    /// # Errors
    ///
    /// A coefficient that does not fit.
    pub fn less(&self, number: i128) -> Result<Polynomial, TooLarge> {
        self.plus(-1, &Polynomial::number(number))
    }

    /// The product.
    ///
    /// # Errors
    ///
    /// A coefficient that does not fit.
    pub fn times(&self, other: &Polynomial) -> Result<Polynomial, TooLarge> {
        let mut product = Polynomial::default();
        for (left, a) in self.0.iter() {
            for (right, b) in other.0.iter() {
                let mut monomial = left.clone();
                monomial.extend(right);
                monomial.sort_unstable();
                product.add(monomial, a.checked_mul(*b).ok_or(TooLarge)?)?;
            }
        }
        Ok(product)
    }

    /// `q` and `r` such that this polynomial is `q * by + r`. Here `by` is one product with a positive coefficient.
    /// For every term that the product divides, `q` takes the largest possible part. So the coefficients of these
    /// terms in `r` are at least 0 and less than that of `by`.
    pub fn split(&self, by: &Polynomial) -> Option<(Polynomial, Polynomial)> {
        let mut only = by.terms();
        let (Some((divisor, number @ 1..)), None) = (only.next(), only.next()) else {
            return None;
        };
        let (mut quotient, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for (monomial, times) in self.terms() {
            let Some(reduced) = without(monomial, divisor) else {
                rest.insert(monomial.clone(), times);
                continue;
            };
            let (rounds, left) = (
                times.checked_div_euclid(number)?,
                times.checked_rem_euclid(number)?,
            );
            let parts = [
                (&mut quotient, reduced, rounds),
                (&mut rest, monomial.clone(), left),
            ];
            for (of, monomial, times) in parts {
                if times != 0 {
                    of.insert(monomial, times);
                }
            }
        }
        Some((Polynomial(Arc::new(quotient)), Polynomial(Arc::new(rest))))
    }

    fn add(&mut self, monomial: Monomial, more: i128) -> Result<(), TooLarge> {
        let terms = Arc::make_mut(&mut self.0);
        let times = terms.entry(monomial.clone()).or_insert(0);
        *times = times.checked_add(more).ok_or(TooLarge)?;
        if *times == 0 {
            terms.remove(&monomial);
        }
        Ok(())
    }

    /// As a term of SMT-LIB.
    pub fn term(&self, protocol: &Protocol) -> Term {
        let product = |(monomial, times): (&Monomial, i128)| {
            let names = monomial.iter().map(|unknown| unknown.term(protocol));
            let mut factors: Vec<Term> = names.collect();
            if times != 1 || factors.is_empty() {
                factors.insert(0, number(times));
            }
            match factors.len() {
                1 => factors.remove(0),
                _ => term::apply("*", &factors),
            }
        };
        match self.0.len() {
            0 => term::int(0),
            1 => self.terms().map(product).next().unwrap_or(term::int(0)),
            _ => term::apply("+", &self.terms().map(product).collect::<Vec<_>>()),
        }
    }
}

/// The greatest common divisor of both, up to its sign.
fn common(mut a: i128, mut b: i128) -> Option<i128> {
    while b != 0 {
        (a, b) = (b, a.checked_rem(b)?);
    }
    Some(a)
}

/// A product without the factors of another one, if it contains them all.
fn without(monomial: &Monomial, divisor: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for unknown in divisor {
        let at = left.iter().position(|other| other == unknown)?;
        left.remove(at);
    }
    Some(left)
}

fn number(value: i128) -> Term {
    match value {
        0.. => term::name(&value.to_string()),
        _ => term::apply("-", &[term::name(&value.unsigned_abs().to_string())]),
    }
}

impl Unknown {
    /// Its name in SMT-LIB.
    pub fn term(self, protocol: &Protocol) -> Term {
        match self {
            Unknown::Param(at) => term::name(&format!("param_{}", protocol.params[at].name)),
            Unknown::Iteration(at) => term::name(&format!("iteration_{at}")),
            Unknown::Coefficient(at) => term::name(&format!("coefficient_{at}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[(&[usize], i128)]) -> Polynomial {
        terms
            .iter()
            .fold(Polynomial::default(), |sum, (of, times)| {
                let unknowns = of
                    .iter()
                    .map(|at| Polynomial::unknown(Unknown::Iteration(*at)));
                let product = unknowns.fold(Polynomial::number(1), |a, b| a.times(&b).unwrap());
                sum.plus(*times, &product).unwrap()
            })
    }

    #[test]
    fn a_remainder_is_left_only_where_no_integers_make_it_0() {
        let never = [
            sum(&[(&[], 5)]),
            sum(&[(&[0], 4), (&[1], -4), (&[], 3)]),
            sum(&[(&[0], -4), (&[1], 6), (&[], -1)]),
            sum(&[(&[0, 1], 3), (&[1], 6), (&[], 1)]),
        ];
        assert!(never.iter().all(Polynomial::is_never_0));
        let somewhere = [
            Polynomial::default(),
            sum(&[(&[0], 4)]),
            sum(&[(&[0], 4), (&[1], -4), (&[], 8)]),
            sum(&[(&[0], 4), (&[1], 3), (&[], 1)]),
            sum(&[(&[0, 1], 3), (&[1], 5), (&[], 1)]),
            sum(&[(&[0], -1), (&[], i128::MIN)]),
        ];
        assert!(!somewhere.iter().any(Polynomial::is_never_0));
    }
}
