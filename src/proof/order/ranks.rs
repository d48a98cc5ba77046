//! Ranks as the solution of a linear program, whose unknowns are the weights and the multipliers of everything that has to
//! rise.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Search;
use super::multipliers;
use super::multipliers::Lemmas;
use super::multipliers::Row;
use super::uncovered;
use crate::certificate::order::artefact::Lag;
use crate::certificate::order::artefact::Product;
use crate::certificate::order::artefact::Rank;
use crate::certificate::order::artefact::Weight;
use crate::certificate::order::cases;
use crate::certificate::order::cases::Env;
use crate::certificate::order::polynomial::Monomial;
use crate::certificate::order::polynomial::Polynomial;
use crate::certificate::order::polynomial::Unknown;
use crate::certificate::order::positivity::Sequent;
use crate::certificate::order::ranks::Part;
use crate::certificate::order::rule::Claim;
use crate::protocol::Domain;

/// Values that are tried for each unknown, from the least on, and how many in all.
const TRIED: i128 = 5;
const MAX_STEPS: usize = 5_000;

const TOO_LARGE: &str = "a number in the search for ranks is too large";

impl Search<'_> {
    /// Ranks that rise where they have to.
    pub(super) fn ranks(&self, lags: &[Lag]) -> Result<Vec<Rank>, String> {
        (self.tell)("looking for ranks");
        for more in [false, true] {
            let monomials = self.monomials(more)?;
            if let Some(ranks) = self.ranks_over(&monomials, lags)? {
                return Ok(ranks);
            }
        }
        Err("there is no order of this form in which nobody waits for who comes later".to_owned())
    }

    /// What weights may be sums of: 1, how often inner loops go around, and the sizes of lanes.
    fn monomials(&self, sizes: bool) -> Result<Vec<Monomial>, String> {
        let mut all = BTreeSet::from([Monomial::new()]);
        let mut add = |of: &Polynomial| {
            let over_parameters = |m: &&Monomial| {
                let mut unknowns = m.iter();
                unknowns.all(|unknown| matches!(unknown, Unknown::Param(_)))
            };
            let terms = of.terms().map(|(monomial, _)| monomial);
            all.extend(terms.filter(over_parameters).cloned());
        };
        for class in &self.rule.classes {
            for (at, this) in class.flow.loops.iter().enumerate() {
                // How often it goes around in one iteration of each loop around it.
                let mut product = Polynomial::number(1);
                let around = this.outer.iter().skip(1).rev();
                for at in [at].iter().chain(around).take(this.outer.len()) {
                    let trips = cases::value(&class.flow.loops[*at].trips, &Env::new());
                    let Some((_, trips)) = trips.ok().and_then(|mut cases| cases.pop()) else {
                        break;
                    };
                    product = cases::fits(product.times(&trips)).map_err(uncovered)?;
                    add(&product);
                }
            }
        }
        if sizes {
            for lane in &self.rule.lanes {
                for (_, size) in cases::value(&lane.size, &Env::new()).map_err(uncovered)? {
                    add(&size);
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Coefficients with which all claims hold. Those that say something of few iterations make the linear program, and of
    /// the others those that do not follow.
    fn values(&self, claims: &[Claim], coefficients: usize) -> Result<Option<Vec<i64>>, String> {
        let (mut needed, mut others): (Vec<&Claim>, Vec<&Claim>) =
            claims.iter().partition(|claim| self.says(&claim.sequent));
        loop {
            let mut program = Program::default();
            for claim in &needed {
                self.stop()?;
                program.add(&claim.sequent, &self.lemmas).ok_or(TOO_LARGE)?;
            }
            let Some(values) = program.solve(coefficients) else {
                return Ok(None);
            };
            let mut missed = Vec::new();
            let mut left = Vec::new();
            for claim in others {
                let known = Sequent {
                    hypotheses: claim.sequent.hypotheses.clone(),
                    goal: with_values(&claim.sequent.goal, &values).ok_or(TOO_LARGE)?,
                };
                match self.shown(&known)? {
                    Some(_) => left.push(claim),
                    None => missed.push(claim),
                }
            }
            if missed.is_empty() {
                return Ok(Some(values));
            }
            needed.extend(missed);
            others = left;
        }
    }

    /// Whether the hypotheses are seen to hold somewhere among small values.
    fn says(&self, sequent: &Sequent) -> bool {
        let all = sequent.hypotheses.iter().flat_map(Polynomial::unknowns);
        let unknowns: BTreeSet<Unknown> = all.collect();
        let least = |unknown: &Unknown| match unknown {
            Unknown::Param(at) => match self.protocol.params.get(*at).map(|param| &param.domain) {
                Some(Domain::AtLeast(least) | Domain::Range(least, _)) => i128::from(*least),
                Some(Domain::Set(values)) => i128::from(values.first().copied().unwrap_or(0)),
                None => 0,
            },
            _ => 0,
        };
        let unknowns: Vec<(Unknown, i128)> = unknowns.iter().map(|u| (*u, least(u))).collect();
        // A fact is looked at as soon as all that it is about has a value.
        let mut facts: Vec<Vec<&Polynomial>> = vec![Vec::new(); unknowns.len()];
        for fact in &sequent.hypotheses {
            let own = fact.unknowns();
            let last = unknowns.iter().rposition(|(u, _)| own.contains(u));
            match last {
                Some(last) => facts[last].push(fact),
                None if fact.value().is_some_and(|value| value < 0) => return false,
                None => {}
            }
        }
        let mut steps = MAX_STEPS;
        some_values(&unknowns, &facts, &mut BTreeMap::new(), &mut steps)
    }

    fn ranks_over(
        &self,
        monomials: &[Monomial],
        lags: &[Lag],
    ) -> Result<Option<Vec<Rank>>, String> {
        let numbers = RefCell::new(BTreeMap::new());
        let weights = |class: usize, part: Part| {
            let mut numbers = numbers.borrow_mut();
            let next = numbers.len();
            let first = *numbers.entry((class, part)).or_insert(next) * monomials.len();
            let mut sum = Polynomial::default();
            for (nth, monomial) in monomials.iter().enumerate() {
                let mut term = Polynomial::unknown(Unknown::Coefficient(first + nth));
                for unknown in monomial {
                    term = cases::fits(term.times(&Polynomial::unknown(*unknown)))?;
                }
                sum = cases::fits(sum.plus(1, &term))?;
            }
            Ok(sum)
        };
        let claims = self.rule.ranks(&weights, lags).map_err(uncovered)?;
        let coefficients = numbers.borrow().len() * monomials.len();
        let Some(values) = self.values(&claims, coefficients)? else {
            return Ok(None);
        };
        let numbers = numbers.borrow();
        let weight = |class: usize, part: Part| {
            let Some(nth) = numbers.get(&(class, part)) else {
                return Weight::default();
            };
            let all = monomials.iter().enumerate();
            let product = |(at, monomial): (usize, &Monomial)| Product {
                times: values[nth * monomials.len() + at],
                of: monomial
                    .iter()
                    .filter_map(|unknown| match unknown {
                        Unknown::Param(at) => Some(*at),
                        _ => None,
                    })
                    .collect(),
            };
            Weight(all.map(product).filter(|p| p.times != 0).collect())
        };
        let classes = self.rule.classes.iter().enumerate();
        let rank = |(class, this): (usize, &crate::certificate::cut::class::Class)| {
            let loops = 0..this.flow.loops.len();
            let sites = 0..this.flow.sites.len();
            Rank {
                loops: loops.map(|at| weight(class, Part::Loop(at))).collect(),
                sites: sites.map(|at| weight(class, Part::Site(at))).collect(),
            }
        };
        Ok(Some(classes.map(rank).collect()))
    }
}

/// A linear program: multipliers for each of several sequents, and the coefficients that their
/// goals share.
#[derive(Default)]
struct Program {
    /// One per sequent and product of unknowns.
    rows: Vec<Equation>,
    multipliers: usize,
}

/// Numbers times multipliers and coefficients add up to a value.
#[derive(Default)]
struct Equation {
    multipliers: Vec<(usize, i128)>,
    coefficients: Vec<(usize, i128)>,
    sum: i128,
}

impl Program {
    /// Adds what has to hold of a sequent; `None` if a number does not fit.
    fn add(&mut self, sequent: &Sequent, lemmas: &Lemmas) -> Option<()> {
        let extended = lemmas.of(&sequent.hypotheses)?;
        let (facts, _) = &*extended;
        let single = (0..facts.len()).map(|at| vec![at]);
        let mut of: Vec<Vec<usize>> = vec![Vec::new()];
        of.extend(single);
        of.extend(multipliers::with_parameters(facts));
        let mut rows: BTreeMap<Monomial, Equation> = BTreeMap::new();
        for of in of {
            for (monomial, times) in multipliers::product(facts, &of).ok()?.terms() {
                let row = rows.entry(monomial.clone()).or_default();
                row.multipliers.push((self.multipliers, times));
            }
            self.multipliers += 1;
        }
        // The goal is the sum: what is left of it once the coefficients are taken out.
        for (monomial, times) in sequent.goal.terms() {
            let (coefficients, rest): (Vec<Unknown>, Vec<Unknown>) = monomial
                .iter()
                .partition(|unknown| matches!(unknown, Unknown::Coefficient(_)));
            let row = rows.entry(rest).or_default();
            match coefficients[..] {
                [] => row.sum = row.sum.checked_add(times)?,
                [Unknown::Coefficient(at)] => row.coefficients.push((at, times.checked_neg()?)),
                _ => return None,
            }
        }
        self.rows.extend(rows.into_values());
        Some(())
    }

    /// Integers that will do as coefficients.
    fn solve(&self, coefficients: usize) -> Option<Vec<i64>> {
        let row = |equation: &Equation| {
            let mut terms = equation.multipliers.clone();
            let own = equation.coefficients.iter();
            terms.extend(own.map(|(at, times)| (self.multipliers + at, *times)));
            Row {
                terms,
                sum: equation.sum,
            }
        };
        let rows: Vec<Row> = self.rows.iter().map(row).collect();
        // The multipliers may be fractions of large numbers, and are not needed.
        let wanted = self.multipliers..self.multipliers.checked_add(coefficients)?;
        let values = multipliers::solve(&rows, (self.multipliers, coefficients), wanted)?;
        // Ranks may be multiplied by a positive number: what rises by 1 rises by as much or more.
        multipliers::integers(&values)
    }
}

/// Whether values for the unknowns from this one on make all facts hold, as far as it is seen in so many steps.
fn some_values(
    unknowns: &[(Unknown, i128)],
    facts: &[Vec<&Polynomial>],
    values: &mut BTreeMap<Unknown, i128>,
    steps: &mut usize,
) -> bool {
    let Some((unknown, least)) = unknowns.get(values.len()).copied() else {
        return true;
    };
    let own = &facts[values.len()];
    for value in least..=least + TRIED {
        let Some(left) = steps.checked_sub(1) else {
            return false;
        };
        *steps = left;
        values.insert(unknown, value);
        let mut own = own.iter();
        let hold = own.all(|fact| value_at(fact, values).is_none_or(|value| value >= 0));
        if hold && some_values(unknowns, facts, values, steps) {
            return true;
        }
        values.remove(&unknown);
    }
    false
}

/// The value of a polynomial; `None` if it does not fit.
fn value_at(of: &Polynomial, at: &BTreeMap<Unknown, i128>) -> Option<i128> {
    let mut sum: i128 = 0;
    for (monomial, times) in of.terms() {
        let mut product = times;
        for unknown in monomial {
            product = product.checked_mul(*at.get(unknown)?)?;
        }
        sum = sum.checked_add(product)?;
    }
    Some(sum)
}

/// A polynomial with numbers for its coefficients.
fn with_values(of: &Polynomial, values: &[i64]) -> Option<Polynomial> {
    let mut sum = Polynomial::default();
    for (monomial, times) in of.terms() {
        let mut term = Polynomial::number(times);
        for unknown in monomial {
            let factor = match unknown {
                Unknown::Coefficient(at) => Polynomial::number(i128::from(*values.get(*at)?)),
                unknown => Polynomial::unknown(*unknown),
            };
            term = term.times(&factor).ok()?;
        }
        sum = sum.plus(1, &term).ok()?;
    }
    Some(sum)
}
