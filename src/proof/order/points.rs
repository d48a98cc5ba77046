//! Integer points at which hypotheses hold. If a goal is below 0 at one of them, the goal does not follow, so no
//! search for multipliers is needed. Ranks have to increase at each of these points.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::simplex::gcd;
use crate::certificate::order::polynomial::Polynomial;
use crate::certificate::order::polynomial::Unknown;
use crate::certificate::order::positivity::Proof;

/// How many values are tried for each unknown, and in how many steps.
const TRIED: usize = 6;
const MAX_STEPS: usize = 500;

/// The offset from the least value that [`Near::Some`] stands for.
const MORE: i128 = 5;

/// How far a value may be from the least one. Larger numbers soon make others that do not fit.
const FAR: i128 = 12;

/// No value is larger than this.
const MAX_VALUE: i128 = 1 << 40;

/// Integers, by unknown.
pub type Point = BTreeMap<Unknown, i128>;

/// Which values are tried first: how near to the least one, for parameters and for iteration numbers.
const STYLES: [[Near; 2]; 5] = [
    [Near::Least, Near::Least],
    [Near::Some, Near::Greatest],
    [Near::Some, Near::Some],
    [Near::Greatest, Near::Least],
    [Near::Greatest, Near::Greatest],
];

#[derive(Debug, Clone, Copy)]
enum Near {
    Least,
    Some,
    Greatest,
}

/// What is known about hypotheses.
#[derive(Debug)]
pub enum Holds {
    /// They contradict each other, by these multipliers.
    Never(Proof),
    /// They hold at these points, if any were found.
    At(Vec<Point>),
}

impl Holds {
    /// Whether a goal is below 0 at one of the points.
    pub fn without(&self, goal: &Polynomial) -> bool {
        let Holds::At(points) = self else {
            return false;
        };
        let mut points = points.iter();
        // An unknown that the hypotheses do not contain may have any value.
        points.any(|point| {
            let value = |unknown: &Unknown| point.get(unknown).copied().or(Some(0));
            value_at(goal, &value).is_some_and(|value| value < 0)
        })
    }
}

/// Whether two facts together say that a sum is 0, although its constant is not a multiple of the greatest common
/// divisor of all other coefficients.
pub fn leaves_remainder(facts: &[Polynomial]) -> bool {
    facts.iter().any(|fact| {
        let mut divisor = 0;
        let mut number = 0;
        for (monomial, times) in fact.terms() {
            match monomial[..] {
                [] => number = times,
                _ => divisor = gcd(divisor, times.saturating_abs()),
            }
        }
        let leaves = divisor > 1 && number % divisor != 0;
        let other = Polynomial::default().plus(-1, fact);
        leaves && other.is_ok_and(|other| facts.contains(&other))
    })
}

/// A few points at which hypotheses hold, if some are found.
pub fn points(hypotheses: &[Polynomial]) -> Vec<Point> {
    let all = hypotheses.iter().flat_map(Polynomial::unknowns);
    let unknowns: BTreeSet<Unknown> = all.collect();
    let unknowns: Vec<Unknown> = unknowns.into_iter().collect();
    // A fact is used as soon as all of its unknowns but one have a value.
    let mut facts: Vec<Vec<&Polynomial>> = vec![Vec::new(); unknowns.len()];
    for fact in hypotheses {
        let own = fact.unknowns();
        match unknowns.iter().rposition(|u| own.contains(u)) {
            Some(last) => facts[last].push(fact),
            None if fact.value().is_some_and(|value| value < 0) => return Vec::new(),
            None => {}
        }
    }
    let mut found: Vec<Point> = Vec::new();
    for near in STYLES {
        let mut search = Search {
            unknowns: &unknowns,
            facts: &facts,
            near,
            steps: MAX_STEPS,
            all: true,
        };
        let mut point = Point::new();
        match search.rest(&mut point) {
            true if !found.contains(&point) => found.push(point),
            true => {}
            false if search.all && search.steps > 0 => return found,
            false => {}
        }
    }
    found
}

struct Search<'s> {
    unknowns: &'s [Unknown],
    facts: &'s [Vec<&'s Polynomial>],
    near: [Near; 2],
    steps: usize,
    /// Whether no value has been left out.
    all: bool,
}

impl Search<'_> {
    /// Whether the unknowns without a value can get values for which all facts hold. False if this is not found
    /// within the limit of steps.
    fn rest(&mut self, point: &mut Point) -> bool {
        let at = point.len();
        let Some(unknown) = self.unknowns.get(at).copied() else {
            return true;
        };
        for value in self.values(unknown, at, point) {
            let Some(left) = self.steps.checked_sub(1) else {
                return false;
            };
            self.steps = left;
            point.insert(unknown, value);
            let known = |unknown: &Unknown| point.get(unknown).copied();
            let mut own = self.facts[at].iter();
            let hold = own.all(|fact| value_at(fact, &known).is_some_and(|value| value >= 0));
            if hold && self.rest(point) {
                return true;
            }
            point.remove(&unknown);
        }
        false
    }

    /// The values to be tried for an unknown.
    fn values(&mut self, unknown: Unknown, at: usize, point: &Point) -> Vec<i128> {
        let (mut least, mut greatest) = (None::<i128>, None::<i128>);
        for fact in &self.facts[at] {
            let Some((times, rest)) = linear(fact, unknown, point) else {
                continue;
            };
            // times * value + rest >= 0
            match times {
                1.. => {
                    let bound = -rest.div_euclid(times);
                    least = Some(least.map_or(bound, |other| other.max(bound)));
                }
                0 if rest < 0 => return Vec::new(),
                0 => {}
                _ => {
                    let bound = rest.div_euclid(-times);
                    greatest = Some(greatest.map_or(bound, |other| other.min(bound)));
                }
            }
        }
        let low = least.unwrap_or_else(|| greatest.map_or(0, |greatest| greatest.min(0)));
        let high = greatest.unwrap_or(low + FAR).min(low + FAR);
        if low > high || low < -MAX_VALUE || high > MAX_VALUE {
            return Vec::new();
        }
        let near = match unknown {
            Unknown::Param(_) => self.near[0],
            _ => self.near[1],
        };
        let bounded = least.is_some() && greatest == Some(high);
        self.all &= bounded && high - low < TRIED as i128;
        let values = low..=high;
        match near {
            Near::Least => values.take(TRIED).collect(),
            Near::Greatest => values.rev().take(TRIED).collect(),
            // A few more than the least value, because loops have a few iterations.
            Near::Some => {
                let first = (low + MORE).min(high);
                let more = (first..=high).take(TRIED);
                more.chain((low..first).rev().take(TRIED)).collect()
            }
        }
    }
}

/// The factor of an unknown in a fact, and the rest, if all other unknowns have values. `None` if
/// the fact is not linear in it.
fn linear(fact: &Polynomial, unknown: Unknown, point: &Point) -> Option<(i128, i128)> {
    let (mut times, mut rest) = (0_i128, 0_i128);
    for (monomial, factor) in fact.terms() {
        let mut product = factor;
        let mut own = false;
        for other in monomial {
            match *other == unknown {
                true if own => return None,
                true => own = true,
                false => product = product.checked_mul(*point.get(other)?)?,
            }
        }
        let sum = if own { &mut times } else { &mut rest };
        *sum = sum.checked_add(product)?;
    }
    (times.abs() < MAX_VALUE && rest.abs() < MAX_VALUE).then_some((times, rest))
}

/// The value of a polynomial; `None` if it does not fit, or an unknown has none.
pub fn value_at(of: &Polynomial, at: &dyn Fn(&Unknown) -> Option<i128>) -> Option<i128> {
    let mut sum: i128 = 0;
    for (monomial, times) in of.terms() {
        sum = sum.checked_add(times.checked_mul(monomial_at(monomial, at)?)?)?;
    }
    Some(sum)
}

/// The value of a product.
pub fn monomial_at(of: &[Unknown], at: &dyn Fn(&Unknown) -> Option<i128>) -> Option<i128> {
    let mut product: i128 = 1;
    for unknown in of {
        product = product.checked_mul(at(unknown)?)?;
    }
    Some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x(at: usize) -> Polynomial {
        Polynomial::unknown(Unknown::Iteration(at))
    }

    fn param() -> Polynomial {
        Polynomial::unknown(Unknown::Param(0))
    }

    /// `a - b - less`.
    fn apart(a: &Polynomial, b: &Polynomial, less: i128) -> Polynomial {
        a.plus(-1, b).unwrap().less(less).unwrap()
    }

    /// `0 <= x0 < P`, `0 <= x1 < P` and `times * x1 = times * x0 + number`.
    fn rounds(times: i128, number: i128) -> Vec<Polynomial> {
        let none = Polynomial::default();
        let left = none.plus(times, &x(1)).unwrap();
        let right = none.plus(times, &x(0)).unwrap();
        vec![
            x(0),
            x(1),
            apart(&param(), &x(0), 1),
            apart(&param(), &x(1), 1),
            apart(&left, &right, number),
            apart(&right, &left, -number),
        ]
    }

    #[test]
    fn hypotheses_hold_at_the_points() {
        for facts in [rounds(3, 6), rounds(1, 0), rounds(2, -8)] {
            assert!(!leaves_remainder(&facts));
            let found = points(&facts);
            // One of few rounds, and one of many.
            assert!(found.len() > 1, "{facts:?}");
            for point in &found {
                let known = |unknown: &Unknown| point.get(unknown).copied();
                let mut all = facts.iter();
                assert!(
                    all.all(|fact| value_at(fact, &known).unwrap() >= 0),
                    "{point:?}"
                );
            }
        }
    }

    #[test]
    fn there_are_none_where_a_remainder_is_left() {
        assert!(points(&rounds(4, 1)).is_empty());
        assert!(leaves_remainder(&rounds(4, 1)));
        // One of the two facts alone says nothing of the kind.
        assert!(!leaves_remainder(&rounds(4, 1)[..5]));
    }

    #[test]
    fn a_goal_is_without_proof_where_it_is_below_0_at_a_point() {
        let holds = Holds::At(points(&rounds(1, 2)));
        assert!(!holds.without(&apart(&x(1), &x(0), 2)));
        assert!(holds.without(&apart(&x(1), &x(0), 3)));
        // Nothing is said of this one.
        assert!(holds.without(&x(7).less(1).unwrap()));
    }
}
