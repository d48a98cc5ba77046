//! Searches for the multipliers that prove a sequent, by linear programming.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use std::time::Instant;

use z3::SatResult;
use z3::ast::Real;

use super::points;
use super::points::Holds;
use super::simplex;
use super::simplex::Answer;
use super::work::Work;
use crate::certificate::order::polynomial::Monomial;
use crate::certificate::order::polynomial::Polynomial;
use crate::certificate::order::polynomial::TooLarge;
use crate::certificate::order::polynomial::Unknown;
use crate::certificate::order::positivity;
use crate::certificate::order::positivity::Lemma;
use crate::certificate::order::positivity::Multiple;
use crate::certificate::order::positivity::Proof;
use crate::certificate::order::positivity::Sequent;
use crate::certificate::order::positivity::Step;
use crate::deadline;

/// With more facts than this, not all pairs are multiplied.
const MAX_PAIRED: usize = 24;

/// The most iteration numbers among which lemmas are looked for.
const MAX_ITERATIONS: usize = 8;

/// The work that one term of a linear program costs, in units of changed entries.
const TERM: usize = 20;

/// Hypotheses with the lemmas that follow from them, and the steps that prove these lemmas.
type Extended = (Vec<Polynomial>, Vec<Step>);

/// Looks for proofs, and stores what is known about hypotheses. Many goals have the same hypotheses, and the search
/// for their lemmas takes many times as long as the search for a proof of one goal.
#[derive(Debug, Default)]
pub struct Prover {
    lemmas: RefCell<HashMap<Vec<Polynomial>, Option<Rc<Extended>>>>,
    holds: RefCell<HashMap<Vec<Polynomial>, Rc<Holds>>>,
    shown: RefCell<HashMap<Sequent, Option<Proof>>>,
    work: Work,
}

impl Prover {
    /// A prover that gives up after so much work.
    pub fn new(most: u64) -> Prover {
        Prover {
            work: Work::new(most),
            ..Prover::default()
        }
    }

    /// The work that has been done.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// The hypotheses and the lemmas that follow from them.
    pub fn lemmas(&self, hypotheses: &[Polynomial]) -> Option<Rc<Extended>> {
        if let Some(known) = self.lemmas.borrow().get(hypotheses) {
            return known.clone();
        }
        let found = self.with_lemmas(hypotheses).map(Rc::new);
        let mut all = self.lemmas.borrow_mut();
        all.insert(hypotheses.to_vec(), found.clone());
        found
    }

    /// The points at which hypotheses hold.
    pub fn holds(&self, hypotheses: &[Polynomial]) -> Rc<Holds> {
        if let Some(known) = self.holds.borrow().get(hypotheses) {
            return known.clone();
        }
        let found = Rc::new(self.decided(hypotheses));
        let mut all = self.holds.borrow_mut();
        all.insert(hypotheses.to_vec(), found.clone());
        found
    }

    fn decided(&self, hypotheses: &[Polynomial]) -> Holds {
        let never = |mut steps: Vec<Step>, sum| {
            steps.push(Step { lemma: None, sum });
            Holds::Never(Proof(steps))
        };
        if let Some(sum) = self.contradiction(hypotheses) {
            return never(Vec::new(), sum);
        }
        // If a remainder shows that there are no points, searching for them would be a waste of time.
        let found = match points::leaves_remainder(hypotheses) {
            true => Vec::new(),
            false => points::points(hypotheses),
        };
        if found.is_empty()
            && let Some(extended) = self.lemmas(hypotheses)
            && let (facts, steps) = &*extended
            && !steps.is_empty()
            && let Some(sum) = self.contradiction(facts)
        {
            return never(steps.clone(), sum);
        }
        Holds::At(found)
    }

    /// A proof of a sequent, if one is found.
    pub fn prove(&self, sequent: &Sequent) -> Option<Proof> {
        if let Some(known) = self.shown.borrow().get(sequent) {
            return known.clone();
        }
        let proof = self.looked_for(sequent);
        let mut shown = self.shown.borrow_mut();
        shown.insert(sequent.clone(), proof.clone());
        proof
    }

    fn looked_for(&self, sequent: &Sequent) -> Option<Proof> {
        let facts = &sequent.hypotheses;
        let goal = |facts: &[Polynomial]| {
            let contrary = positivity::contrary(&sequent.goal).ok()?;
            self.refute(facts, &contrary)
        };
        let last = |sum| Step { lemma: None, sum };
        let holds = self.holds(facts);
        if let Holds::Never(proof) = &*holds {
            return Some(proof.clone());
        }
        if holds.without(&sequent.goal) {
            return None;
        }
        if let Some(sum) = goal(facts) {
            return Some(Proof(vec![last(sum)]));
        }
        let extended = self.lemmas(facts)?;
        let (facts, steps) = &*extended;
        let mut steps = steps.clone();
        steps.push(last(goal(facts)?));
        Some(Proof(steps))
    }

    /// Multipliers that turn the hypotheses alone into a negative number. Then everything follows from them.
    fn contradiction(&self, hypotheses: &[Polynomial]) -> Option<Vec<Multiple>> {
        let mut facts = hypotheses.iter();
        let never = facts.position(|fact| fact.value().is_some_and(|value| value < 0));
        if let Some(at) = never {
            let once = Multiple {
                times: 1,
                of: vec![at],
            };
            return Some(vec![once]);
        }
        let single = (0..hypotheses.len()).map(|at| vec![at]).collect();
        self.combination(hypotheses, single).ok()?
    }

    /// The hypotheses, and lemmas that follow from them: comparisons of iteration numbers.
    fn with_lemmas(&self, hypotheses: &[Polynomial]) -> Option<Extended> {
        let mut facts = hypotheses.to_vec();
        let all = facts.iter().flat_map(Polynomial::unknowns);
        let mut iterations: Vec<usize> = all
            .filter_map(|unknown| match unknown {
                Unknown::Iteration(at) => Some(at),
                _ => None,
            })
            .collect();
        iterations.sort_unstable();
        iterations.dedup();
        let mut steps = Vec::new();
        if iterations.len() > MAX_ITERATIONS {
            return Some((facts, steps));
        }
        let equal = equal(hypotheses);
        let holds = self.holds.borrow().get(hypotheses).cloned();
        let other = |greater: usize| iterations.iter().filter(move |less| **less != greater);
        let pairs = iterations.iter();
        let mut pairs: Vec<(usize, usize)> = pairs
            .flat_map(|greater| other(*greater).map(|less| (*greater, *less)))
            .collect();
        // If no points are known, the facts may contradict each other. Usually these pairs are needed to show the
        // contradiction.
        let may_contradict = holds.is_none();
        let opposed = opposed(hypotheses, &equal);
        pairs.sort_by_key(|pair| may_contradict && !opposed.contains(pair));
        for (greater, less) in pairs {
            for plus in [0, 1] {
                let lemma = Lemma {
                    greater,
                    less,
                    plus,
                };
                let claim = lemma.claim().ok()?;
                if holds.as_ref().is_some_and(|holds| holds.without(&claim)) {
                    continue;
                }
                let contrary = positivity::contrary(&claim).ok()?;
                let sum = self.among(&facts, &equal, &contrary);
                if let Some(sum) = sum.or_else(|| self.refute(&facts, &contrary)) {
                    facts.push(claim);
                    steps.push(Step {
                        lemma: Some(lemma),
                        sum,
                    });
                    if may_contradict && self.contradiction(&facts).is_some() {
                        return Some((facts, steps));
                    }
                    break;
                }
            }
        }
        Some((facts, steps))
    }

    /// Multipliers that turn the facts and the negation of a claim, which comes last, into a negative number.
    fn refute(&self, facts: &[Polynomial], contrary: &Polynomial) -> Option<Vec<Multiple>> {
        let mut all = facts.to_vec();
        all.push(contrary.clone());
        let single: Vec<Vec<usize>> = (0..all.len()).map(|at| vec![at]).collect();
        let some = [single.clone(), with_parameters(&all)].concat();
        let mut ways = vec![single.clone(), some];
        if all.len() <= MAX_PAIRED {
            let pairs = (0..all.len()).flat_map(|a| (a..all.len()).map(move |b| vec![a, b]));
            ways.push([single, pairs.collect()].concat());
        }
        ways.into_iter()
            .find_map(|of| self.combination(&all, of).ok()?)
    }

    /// The same with only some of the facts, which is quickly tried.
    fn among(
        &self,
        facts: &[Polynomial],
        some: &[usize],
        contrary: &Polynomial,
    ) -> Option<Vec<Multiple>> {
        let mut all = facts.to_vec();
        all.push(contrary.clone());
        let some = some.iter().copied().chain([facts.len()]);
        self.combination(&all, some.map(|at| vec![at]).collect())
            .ok()?
    }

    /// Multipliers for which these products add up to a negative number, if there are some.
    fn combination(
        &self,
        facts: &[Polynomial],
        of: Vec<Vec<usize>>,
    ) -> Result<Option<Vec<Multiple>>, TooLarge> {
        if self.work.is_over() {
            return Ok(None);
        }
        let mut rows: BTreeMap<Monomial, Row> = BTreeMap::new();
        rows.entry(Monomial::new()).or_default().sum = -1;
        for (nth, of) in of.iter().enumerate() {
            for (monomial, times) in product(facts, of)?.terms() {
                let row = rows.entry(monomial.clone()).or_default();
                row.terms.push((nth, times));
            }
        }
        let rows: Vec<Row> = rows.into_values().collect();
        let size = rows.iter().map(|row| row.terms.len());
        self.work.add(size.sum::<usize>().saturating_mul(TERM));
        let Some(values) = solved(&rows, (of.len(), 0), 0..of.len(), &self.work) else {
            return Ok(None);
        };
        let Some(values) = integers(&values) else {
            return Ok(None);
        };
        let sum = of.into_iter().zip(values);
        let sum = sum.filter(|(_, times)| *times != 0);
        Ok(Some(
            sum.map(|(of, times)| Multiple { times, of }).collect(),
        ))
    }
}

/// The facts that, together with another fact, say that a polynomial is 0.
fn equal(facts: &[Polynomial]) -> Vec<usize> {
    let contrary = |fact: &Polynomial| Polynomial::default().plus(-1, fact).ok();
    let all = (0..facts.len()).filter(|at| {
        let other = contrary(&facts[*at]);
        other.is_some_and(|other| facts.contains(&other))
    });
    all.collect()
}

/// Pairs of iteration numbers that an equality multiplies by the same factor with opposite signs.
/// For example, it may say that two members have done something equally often.
fn opposed(facts: &[Polynomial], equal: &[usize]) -> BTreeSet<(usize, usize)> {
    let mut all = BTreeSet::new();
    for at in equal {
        // Sorted by the other factors of the product.
        let mut signs: BTreeMap<Monomial, Vec<(usize, bool)>> = BTreeMap::new();
        for (monomial, times) in facts[*at].terms() {
            for (nth, unknown) in monomial.iter().enumerate() {
                if let Unknown::Iteration(number) = unknown {
                    let mut rest = monomial.clone();
                    rest.remove(nth);
                    signs.entry(rest).or_default().push((*number, times > 0));
                }
            }
        }
        for same in signs.values() {
            for (one, sign) in same {
                let others = same.iter().filter(|(_, other)| sign != other);
                all.extend(others.map(|(other, _)| (*one, *other)));
            }
        }
    }
    all
}

/// The products of two facts, one of which is about parameters only.
pub fn with_parameters(facts: &[Polynomial]) -> Vec<Vec<usize>> {
    let over_parameters = |at: &usize| {
        let all = facts[*at].unknowns();
        all.iter().all(|u| matches!(u, Unknown::Param(_)))
    };
    let parameters: Vec<usize> = (0..facts.len()).filter(over_parameters).collect();
    let mut all = Vec::new();
    for at in 0..facts.len() {
        for parameter in &parameters {
            if !parameters.contains(&at) || at >= *parameter {
                all.push(vec![*parameter, at]);
            }
        }
    }
    all
}

/// A product of facts.
pub fn product(facts: &[Polynomial], of: &[usize]) -> Result<Polynomial, TooLarge> {
    let mut product = Polynomial::number(1);
    for at in of {
        product = product.times(&facts[*at])?;
    }
    Ok(product)
}

/// An equation: a sum of numbers times unknowns has a value.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The unknowns, by position, and the numbers.
    pub terms: Vec<(usize, i128)>,
    /// The value.
    pub sum: i128,
}

/// Rational values of unknowns. The first `bounded` are not negative, and the others are free.
/// Those in `wanted` are returned.
pub fn solve(
    rows: &[Row],
    (bounded, free): (usize, usize),
    wanted: Range<usize>,
) -> Option<Vec<(i64, i64)>> {
    solved(rows, (bounded, free), wanted, &Work::default())
}

fn solved(
    rows: &[Row],
    (bounded, free): (usize, usize),
    wanted: Range<usize>,
    work: &Work,
) -> Option<Vec<(i64, i64)>> {
    let left = reduced(rows, bounded)?;
    if free == 0 {
        match simplex::solve(&left, bounded, work) {
            Answer::Values(values) => return values.get(wanted).map(<[_]>::to_vec),
            Answer::Infeasible => return None,
            Answer::Unknown => {}
        }
    }
    by_solver(&left, (bounded, free), wanted)
}

/// The same, by Z3.
pub(super) fn by_solver(
    left: &[Row],
    (bounded, free): (usize, usize),
    wanted: Range<usize>,
) -> Option<Vec<(i64, i64)>> {
    let solver = z3::Solver::new_for_logic("QF_LRA")?;
    let mut params = z3::Params::new();
    params.set_u32("timeout", time());
    params.set_bool("ctrl_c", false);
    solver.set_params(&params);
    let zero = Real::from_rational(0, 1);
    let used: BTreeSet<usize> = left.iter().flat_map(|r| &r.terms).map(|t| t.0).collect();
    let unknowns: Vec<Real> = (0..bounded + free)
        .map(|at| match used.contains(&at) {
            true => Real::new_const(format!("x{at}")),
            false => zero.clone(),
        })
        .collect();
    for at in used.into_iter().filter(|at| *at < bounded) {
        solver.assert(unknowns[at].ge(&zero));
    }
    for row in left {
        let mut sum = zero.clone();
        for (at, times) in &row.terms {
            sum += &unknowns[*at] * &Real::from_rational(i64::try_from(*times).ok()?, 1);
        }
        solver.assert(sum.eq(Real::from_rational(i64::try_from(row.sum).ok()?, 1)));
    }
    if solver.check() != SatResult::Sat {
        return None;
    }
    let model = solver.get_model()?;
    let value = |unknown: &Real| model.eval(unknown, true)?.as_rational();
    unknowns.get(wanted)?.iter().map(value).collect()
}

/// The rows without unknowns that can only be 0; `None` if some row cannot hold.
fn reduced(rows: &[Row], bounded: usize) -> Option<Vec<Row>> {
    let mut left = rows.to_vec();
    loop {
        let mut zero = BTreeSet::new();
        for row in &left {
            let signs: BTreeSet<i128> = row.terms.iter().map(|(_, n)| n.signum()).collect();
            if row.terms.iter().any(|(at, _)| *at >= bounded) || signs.len() > 1 {
                continue;
            }
            let sign = signs.first().copied().unwrap_or(0);
            if row.sum != 0 && row.sum.signum() != sign {
                return None;
            }
            if row.sum == 0 {
                zero.extend(row.terms.iter().map(|(at, _)| *at));
            }
        }
        if zero.is_empty() {
            return Some(left);
        }
        for row in &mut left {
            row.terms.retain(|(at, _)| !zero.contains(at));
        }
        left.retain(|row| !row.terms.is_empty() || row.sum != 0);
    }
}

/// How long one linear program may take.
const TIME: Duration = Duration::from_secs(4);

/// This limit in milliseconds, or what is left of the time.
fn time() -> u32 {
    let left = deadline::after(TIME).saturating_duration_since(Instant::now());
    u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1)
}

/// The same numbers times their least common denominator.
pub fn integers(values: &[(i64, i64)]) -> Option<Vec<i64>> {
    let mut common: i64 = 1;
    for (_, denominator) in values {
        common = common.checked_mul(denominator / gcd(common, *denominator))?;
    }
    let scaled = |(over, under): &(i64, i64)| over.checked_mul(common / under);
    values.iter().map(scaled).collect()
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
