//! Proof by contradiction: splits assumptions into facts, and derives further facts until two contradict each other.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::Application;
use super::Attempt;
use super::Fact;
use crate::certificate::order::polynomial::Polynomial;
use crate::certificate::order::polynomial::TooLarge;
use crate::certificate::order::polynomial::Unknown;
use crate::deadline;

/// The most nested case splits, and the most sums in a row.
pub(super) const MAX_SPLITS: usize = 3;
const MAX_SUMS: usize = 4;

/// The most passes over the known facts for one assumption.
const MAX_ROUNDS: usize = 30;

/// Whether the known facts make a statement true or false, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Open,
}

/// A polynomial without its constant.
type Rest = Vec<(Vec<Unknown>, i128)>;

/// For each polynomial without its constant: the constant with which it is at least 0, and the
/// whole polynomial.
type Bounds = BTreeMap<Rest, (i128, Polynomial)>;

/// The assumed facts, after they have been split.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The solutions of unknowns, in the order in which they were found. Each is free of all
    /// unknowns before it.
    solved: Vec<(Unknown, Polynomial)>,
    bounds: Bounds,
    not_zero: Vec<Polynomial>,
    /// In each of these lists, at least one fact holds.
    any: Vec<Vec<Fact>>,
    /// The functions that occur.
    applications: Vec<Application>,
}

/// The remaining number of attempts, minus one; `None` if no attempt or no time is left.
fn one_less(tried: usize) -> Option<usize> {
    tried.checked_sub(1).filter(|_| !deadline::over())
}

impl Known {
    /// No facts are known yet, only the functions that occur.
    pub(super) fn of(applications: Vec<Application>) -> Known {
        Known {
            applications,
            ..Known::default()
        }
    }

    /// Assumes facts. Returns whether this leads to a contradiction.
    pub(super) fn assume(&mut self, facts: Vec<Fact>) -> Attempt<bool> {
        let mut facts = facts;
        let mut rounds = MAX_ROUNDS;
        loop {
            // Equations come first, because facts with fewer unknowns say more.
            let mut rest = Vec::new();
            while let Some(fact) = facts.pop() {
                match fact {
                    Fact::Unread => {}
                    Fact::All(all) => facts.extend(all),
                    Fact::Zero(value) => {
                        if self.solve(&value, &mut facts)? {
                            return Ok(true);
                        }
                    }
                    other => rest.push(other),
                }
            }
            for fact in rest {
                let contradiction = match fact {
                    Fact::AtLeastZero(value) => self.bound(&value, &mut facts)?,
                    Fact::NotZero(value) => {
                        let value = self.substituted(&value)?;
                        self.not_zero.push(value.clone());
                        value.value() == Some(0)
                    }
                    Fact::Any(any) => {
                        self.any.push(any);
                        false
                    }
                    Fact::Zero(_) | Fact::All(_) | Fact::Unread => {
                        facts.push(fact);
                        false
                    }
                };
                if contradiction {
                    return Ok(true);
                }
            }
            if !facts.is_empty() {
                continue;
            }
            let Some(rest) = rounds.checked_sub(1) else {
                return Ok(false);
            };
            rounds = rest;
            self.functions(&mut facts)?;
            if facts.is_empty() && self.propagated(&mut facts)? {
                return Ok(true);
            }
            if facts.is_empty() {
                return Ok(false);
            }
        }
    }

    /// If a function is applied to equal arguments, the values are equal. The resulting facts are added to `again`.
    fn functions(&self, again: &mut Vec<Fact>) -> Attempt<()> {
        let mut seen: HashMap<(&str, Vec<Polynomial>), Polynomial> = HashMap::new();
        for this in &self.applications {
            let of: Attempt<Vec<Polynomial>> =
                this.of.iter().map(|of| self.substituted(of)).collect();
            let mut of = of?;
            let mut value = self.substituted(&this.value)?;
            if let ("mod", [a, b]) = (this.function.as_str(), &mut of[..])
                && b.value() == Some(2)
            {
                let (even, odd) = remainder(a)?;
                *a = even;
                if odd {
                    value = Polynomial::number(1).plus(-1, &value)?;
                }
                if a.value() == Some(0) && value.value() != Some(0) {
                    again.push(Fact::Zero(value.clone()));
                }
            }
            match seen.get(&(this.function.as_str(), of.clone())) {
                Some(known) if *known == value => {}
                Some(known) => again.push(Fact::Zero(value.plus(-1, known)?)),
                None => {
                    seen.insert((&this.function, of), value);
                }
            }
        }
        Ok(())
    }

    /// Notes that a polynomial is 0. Returns whether this is a contradiction. Facts that have to be examined again
    /// are added to `again`.
    fn solve(&mut self, value: &Polynomial, again: &mut Vec<Fact>) -> Attempt<bool> {
        let value = self.substituted(value)?;
        if let Some(number) = value.value() {
            return Ok(number != 0);
        }
        if value.is_never_0() {
            return Ok(true);
        }
        let once = |unknown: &Unknown| {
            let mut terms = value.terms().filter(|(of, _)| of.contains(unknown));
            let alone =
                |(of, times): (&Vec<Unknown>, i128)| of.len() == 1 && matches!(times, 1 | -1);
            terms.next().is_some_and(alone) && terms.next().is_none()
        };
        let Some(unknown) = value.unknowns().into_iter().rev().find(once) else {
            again.push(Fact::AtLeastZero(value.clone()));
            again.push(Fact::AtLeastZero(Polynomial::default().plus(-1, &value)?));
            return Ok(false);
        };
        let own = Polynomial::unknown(unknown);
        let positive = value
            .terms()
            .any(|(of, times)| of[..] == [unknown] && times == 1);
        // `unknown + rest = 0`, or `rest - unknown = 0`.
        let solution = match positive {
            true => own.plus(-1, &value)?,
            false => own.plus(1, &value)?,
        };
        self.solved.push((unknown, solution));
        let has = |value: &Polynomial| value.unknowns().contains(&unknown);
        let (touched, bounds) = std::mem::take(&mut self.bounds)
            .into_iter()
            .partition(|(_, (_, value))| has(value));
        self.bounds = bounds;
        let touched: Bounds = touched;
        again.extend(
            touched
                .into_values()
                .map(|(_, value)| Fact::AtLeastZero(value)),
        );
        let (touched, others) = std::mem::take(&mut self.not_zero)
            .into_iter()
            .partition(has);
        self.not_zero = others;
        let touched: Vec<Polynomial> = touched;
        again.extend(touched.into_iter().map(Fact::NotZero));
        Ok(false)
    }

    fn substituted(&self, value: &Polynomial) -> Attempt<Polynomial> {
        let mut value = value.clone();
        for (unknown, solution) in &self.solved {
            if !value.terms().any(|(of, _)| of.contains(unknown)) {
                continue;
            }
            let mut sum = Polynomial::default();
            for (of, times) in value.terms() {
                let mut product = Polynomial::number(1);
                for factor in of {
                    let factor = match factor == unknown {
                        true => solution.clone(),
                        false => Polynomial::unknown(*factor),
                    };
                    product = product.times(&factor)?;
                }
                sum = sum.plus(times, &product)?;
            }
            value = sum;
        }
        Ok(value)
    }

    /// Notes that a polynomial is at least 0. Returns whether this is a contradiction.
    fn bound(&mut self, value: &Polynomial, again: &mut Vec<Fact>) -> Attempt<bool> {
        let value = self.substituted(value)?;
        if let Some(number) = value.value() {
            return Ok(number < 0);
        }
        let (key, number) = parts(&value);
        if let Some((known, _)) = self.bounds.get(&key)
            && *known <= number
        {
            return Ok(false);
        }
        let opposite = Polynomial::default().plus(-1, &value)?;
        if let Some((other, _)) = self.bounds.get(&parts(&opposite).0) {
            // The sum of both polynomials is this number.
            let sum = number.checked_add(*other).ok_or(TooLarge)?;
            if sum < 0 {
                return Ok(true);
            }
            if sum == 0 {
                again.push(Fact::Zero(value.clone()));
            }
        }
        self.bounds.insert(key, (number, value));
        Ok(false)
    }

    /// Examines the lists of facts of which at least one holds. The resulting facts are added to `again`. Returns
    /// whether no fact of some list can hold.
    fn propagated(&mut self, again: &mut Vec<Fact>) -> Attempt<bool> {
        let mut open = Vec::new();
        for any in std::mem::take(&mut self.any) {
            let mut left = Vec::new();
            let mut holds = false;
            for fact in any {
                match self.truth(&fact)? {
                    Truth::True => holds = true,
                    Truth::False => {}
                    Truth::Open => left.push(fact),
                }
            }
            match left.len() {
                _ if holds => {}
                0 => return Ok(true),
                1 => again.append(&mut left),
                _ => open.push(left),
            }
        }
        self.any = open;
        Ok(false)
    }

    fn truth(&self, fact: &Fact) -> Attempt<Truth> {
        Ok(match fact {
            // A statement that is not understood may hold.
            Fact::Unread => Truth::True,
            Fact::AtLeastZero(value) => {
                let value = self.substituted(value)?;
                let opposite = Polynomial::default().plus(-1, &value)?;
                let bound = |value: &Polynomial| {
                    let (key, number) = parts(value);
                    self.bounds.get(&key).map(|(known, _)| (*known, number))
                };
                match value.value() {
                    Some(number) if number >= 0 => Truth::True,
                    Some(_) => Truth::False,
                    None => match (bound(&value), bound(&opposite)) {
                        (Some((known, number)), _) if known <= number => Truth::True,
                        // Both are at least 0, but their sum is below 0.
                        (_, Some((known, number))) if known < number => Truth::False,
                        _ => Truth::Open,
                    },
                }
            }
            Fact::Zero(value) => {
                let value = self.substituted(value)?;
                let differs = || self.not_zero.contains(&value) || value.is_never_0();
                match value.value() {
                    Some(0) => Truth::True,
                    Some(_) => Truth::False,
                    None if differs() => Truth::False,
                    None => Truth::Open,
                }
            }
            Fact::NotZero(value) => match self.truth(&Fact::Zero(value.clone()))? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Open => Truth::Open,
            },
            Fact::All(facts) => {
                let mut all = Truth::True;
                for fact in facts {
                    match self.truth(fact)? {
                        Truth::False => return Ok(Truth::False),
                        Truth::Open => all = Truth::Open,
                        Truth::True => {}
                    }
                }
                all
            }
            Fact::Any(facts) => {
                let mut any = Truth::False;
                for fact in facts {
                    match self.truth(fact)? {
                        Truth::True => return Ok(Truth::True),
                        Truth::Open => any = Truth::Open,
                        Truth::False => {}
                    }
                }
                any
            }
        })
    }

    /// Whether each of these cases leads to a contradiction.
    pub(super) fn all_cases_fail(
        &self,
        cases: Vec<Fact>,
        splits: usize,
        tried: &mut usize,
    ) -> Attempt<bool> {
        for case in cases {
            if let Fact::Any(cases) = case {
                if !self.all_cases_fail(cases, splits, tried)? {
                    return Ok(false);
                }
                continue;
            }
            let Some(rest) = one_less(*tried) else {
                return Ok(false);
            };
            *tried = rest;
            let mut known = self.clone();
            if !known.assume(vec![case.clone()])? && !known.fails(&case, splits, tried)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the known facts contradict each other. Tries sums that begin with this fact, and case splits on its
    /// unknowns.
    pub(super) fn fails(&self, fact: &Fact, splits: usize, tried: &mut usize) -> Attempt<bool> {
        let mut begin = Vec::new();
        self.beginnings(fact, &mut begin)?;
        for value in &begin {
            if self.sums(value, MAX_SUMS, tried)? {
                return Ok(true);
            }
        }
        let Some(splits) = splits.checked_sub(1) else {
            return Ok(false);
        };
        let about: Vec<Unknown> = begin.iter().flat_map(Polynomial::unknowns).collect();
        for (at, any) in self.any.iter().enumerate() {
            if !self.is_about(any, &about)? {
                continue;
            }
            let mut known = self.clone();
            known.any.remove(at);
            let mut all = true;
            for case in any {
                let Some(rest) = one_less(*tried) else {
                    return Ok(false);
                };
                *tried = rest;
                let mut known = known.clone();
                let fails =
                    known.assume(vec![case.clone()])? || known.fails(fact, splits, tried)?;
                if !fails {
                    all = false;
                    break;
                }
            }
            if all {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The polynomials of a fact that are known to be at least 0.
    fn beginnings(&self, fact: &Fact, all: &mut Vec<Polynomial>) -> Attempt<()> {
        match fact {
            Fact::AtLeastZero(value) => all.push(self.substituted(value)?),
            Fact::All(facts) => {
                for fact in facts {
                    self.beginnings(fact, all)?;
                }
            }
            Fact::NotZero(value) => {
                // The value is not 0. So if it is at least 0, it is at least 1. The same holds for its negation.
                let value = self.substituted(value)?;
                for value in [value.clone(), Polynomial::default().plus(-1, &value)?] {
                    if self.truth(&Fact::AtLeastZero(value.clone()))? == Truth::True {
                        all.push(value.less(1)?);
                    }
                }
            }
            Fact::Zero(_) | Fact::Any(_) | Fact::Unread => {}
        }
        Ok(())
    }

    fn is_about(&self, any: &[Fact], about: &[Unknown]) -> Attempt<bool> {
        for fact in any {
            let found = match fact {
                Fact::AtLeastZero(value) | Fact::Zero(value) | Fact::NotZero(value) => {
                    let unknowns = self.substituted(value)?.unknowns();
                    unknowns.iter().any(|unknown| about.contains(unknown))
                }
                Fact::All(facts) | Fact::Any(facts) => self.is_about(facts, about)?,
                Fact::Unread => false,
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a polynomial that is at least 0, plus multiples of other such polynomials, is a number below 0. In
    /// each step of a sum, another polynomial has to cancel the greatest product.
    fn sums(&self, value: &Polynomial, left: usize, tried: &mut usize) -> Attempt<bool> {
        if let Some(number) = value.value() {
            return Ok(number < 0);
        }
        let Some((product, times)) = value.terms().last() else {
            return Ok(false);
        };
        let Some(left) = left.checked_sub(1) else {
            return Ok(false);
        };
        for (_, other) in self.bounds.values() {
            let found = other.terms().find(|(of, _)| *of == product);
            let Some((_, by)) = found.filter(|(_, by)| (*by > 0) != (times > 0)) else {
                continue;
            };
            let Some(rest) = one_less(*tried) else {
                return Ok(false);
            };
            *tried = rest;
            let (up, down) = (by.checked_abs(), times.checked_abs());
            let (up, down) = (up.ok_or(TooLarge)?, down.ok_or(TooLarge)?);
            let sum = Polynomial::default().plus(up, value)?.plus(down, other)?;
            if self.sums(&sum, left, tried)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The remainders modulo 2 of all coefficients except for the constant, and whether the constant is odd.
fn remainder(value: &Polynomial) -> Attempt<(Polynomial, bool)> {
    let mut rest = Polynomial::default();
    let mut odd = false;
    for (of, _) in value.terms().filter(|(_, times)| times % 2 != 0) {
        match of.is_empty() {
            true => odd = true,
            false => {
                let mut product = Polynomial::number(1);
                for factor in of {
                    product = product.times(&Polynomial::unknown(*factor))?;
                }
                rest = rest.plus(1, &product)?;
            }
        }
    }
    Ok((rest, odd))
}

/// A polynomial without its constant, and the constant.
fn parts(value: &Polynomial) -> (Rest, i128) {
    let mut number = 0;
    let mut rest = Vec::new();
    for (of, times) in value.terms() {
        match of.is_empty() {
            true => number = times,
            false => rest.push((of.clone(), times)),
        }
    }
    (rest, number)
}
