//! The additions that a wait may be for.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use itertools::Itertools;

use super::Search;
use super::samples::Execution;
use super::samples::Sample;
use super::sums::affine;
use super::sums::range;
use super::sums::sum;
use crate::certificate::credit;
use crate::certificate::credit::Affine;
use crate::certificate::credit::Place;
use crate::certificate::credit::Supply;
use crate::certificate::program::Bound;
use crate::certificate::program::Event;
use crate::certificate::program::EventKind;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::VarId;

/// The most forms of the values of one index or loop variable that are combined with those of others.
const MAX_PLACES: usize = 24;

/// The largest number of additions that one wait may be for at small values.
const MAX_BOX: i64 = 256;

/// The most forms of one addition that are examined.
const MAX_FORMS: usize = 4_096;

/// The most forms of one addition that are combined with those of another one.
const MAX_PAIRED: usize = 48;

/// The most alternatives for one wait.
const MAX_ALTERNATIVES: usize = 4;

/// Additions that together are enough in some samples: the additions, the samples, and the ranks of this choice (how
/// many additions there are, and how far they exceed the wanted value).
type Way = (Vec<Supply>, Vec<bool>, (i64, i64));

/// Additions that a wait may be for, and how much they add for each of the executions that it is fitted to.
struct Candidate {
    supply: Supply,
    totals: Vec<Option<i64>>,
    /// How many additions there are altogether.
    size: i64,
}

/// Values that one index or loop variable of an addition may have.
struct Form {
    place: Place,
    /// For each execution that the wait is fitted to: the range of the values.
    seen: Vec<(i64, i64)>,
}

/// The additions that have the values chosen so far.
struct Fitting<'e> {
    all: Vec<&'e Execution>,
    /// How many combinations of values are named so far.
    number: i64,
}

impl<'e> Fitting<'e> {
    /// The additions whose next value is in a range, if there are some for each combination of
    /// values.
    fn narrowed(&self, nth: usize, (lo, hi): (i64, i64)) -> Option<Fitting<'e>> {
        let number = self.number.checked_mul(hi.saturating_sub(lo).max(0))?;
        let inside = |add: &&&Execution| (lo..hi).contains(&add.values[nth]);
        let all: Vec<&Execution> = self.all.iter().filter(inside).copied().collect();
        let combinations = all
            .iter()
            .dedup_by(|a, b| a.values[..=nth] == b.values[..=nth]);
        let there = i64::try_from(combinations.count()).ok()?;
        (number <= MAX_BOX && there == number).then_some(Fitting { all, number })
    }
}

impl Search<'_> {
    /// The additions that a wait may be for.
    pub(super) fn alternatives(
        &self,
        role: usize,
        event: usize,
    ) -> Result<Vec<Vec<Supply>>, String> {
        let fitted = self.fitted(role, event);
        if fitted.is_empty() {
            return Ok(Vec::new());
        }
        let wait = &self.programs[role].events[event];
        let (object, exact) = (wait.cell.object, credit::exact(wait));
        let mut candidates = Vec::new();
        for (from, program) in self.programs.iter().enumerate() {
            for (at, add) in program.events.iter().enumerate() {
                let waits = matches!(add.kind, EventKind::Wait { .. });
                if !waits && add.cell.object == object {
                    candidates.push(self.candidates((role, event), (from, at), &fitted)?);
                }
            }
        }
        let enough = |totals: &[i64]| -> Vec<bool> {
            let pairs = totals.iter().zip(&fitted);
            pairs
                .map(|(total, (_, wait))| match exact {
                    true => *total == wait.amount,
                    false => *total >= wait.amount,
                })
                .collect()
        };
        // One addition, or two.
        let mut ways: Vec<Way> = Vec::new();
        let sum = |totals: &[i64]| totals.iter().fold(0, |sum: i64, x| sum.saturating_add(*x));
        for candidate in candidates.iter().flatten() {
            let totals: Vec<i64> = candidate.totals.iter().map(|t| t.unwrap_or(-1)).collect();
            ways.push((
                vec![candidate.supply.clone()],
                enough(&totals),
                (candidate.size, sum(&totals)),
            ));
        }
        // If several additions add the same amounts everywhere, one of them is enough as a partner of another
        // addition.
        let some = |of: &'_ [Candidate]| -> Vec<usize> {
            let unique = of.iter().enumerate().unique_by(|(_, c)| c.totals.clone());
            unique.map(|(at, _)| at).take(MAX_PAIRED).collect()
        };
        for [a, b] in candidates.iter().array_combinations() {
            for (first, second) in some(a).into_iter().cartesian_product(some(b)) {
                let (a, b) = (&a[first], &b[second]);
                let both = a.totals.iter().zip(&b.totals);
                let totals: Vec<i64> = both
                    .map(|(a, b)| a.zip(*b).map_or(-1, |(a, b)| a.saturating_add(b)))
                    .collect();
                let supplies = vec![a.supply.clone(), b.supply.clone()];
                let size = a.size.saturating_add(b.size);
                ways.push((supplies, enough(&totals), (size, sum(&totals))));
            }
        }
        let mut open = vec![true; fitted.len()];
        let mut chosen = Vec::new();
        while open.contains(&true) && chosen.len() < MAX_ALTERNATIVES {
            let covers = |covered: &[bool]| {
                let both = covered.iter().zip(&open);
                both.filter(|(covered, open)| **covered && **open).count()
            };
            // The first of the best.
            let best = ways
                .iter()
                .rev()
                .max_by_key(|(_, covered, size)| (covers(covered), Reverse(*size)));
            let Some((supplies, covered, _)) = best.filter(|(_, covered, _)| covers(covered) > 0)
            else {
                break;
            };
            chosen.push(supplies.clone());
            for (open, covered) in open.iter_mut().zip(covered) {
                *open &= !covered;
            }
        }
        match open.contains(&true) {
            false => Ok(chosen),
            true => Err(format!(
                "no formula was found for which additions `{}` waits for",
                self.quote(role, event)
            )),
        }
    }

    /// The executions of an addition that fit at least one execution of a wait.
    fn candidates(
        &self,
        wait: (usize, usize),
        (role, at): (usize, usize),
        fitted: &[(&Sample, &Execution)],
    ) -> Result<Vec<Candidate>, String> {
        let add = &self.programs[role].events[at];
        let loose = fitted.iter().map(|(sample, wait)| {
            // The additions to the element of each execution of the wait, in the order of their values.
            let all = sample.all.iter();
            let own = all.filter(|e| (e.role, e.event) == (role, at) && e.element == wait.element);
            Some(Fitting {
                all: own.sorted_by_key(|e| &e.values).collect(),
                number: 1,
            })
        });
        let loose: Vec<Option<Fitting<'_>>> = loose.collect();
        let mut forms: Vec<Vec<Form>> = Vec::new();
        for (nth, extent) in self.extents(role, add).into_iter().enumerate() {
            self.stop()?;
            let values = |fitting: &Option<Fitting<'_>>| -> BTreeSet<i64> {
                let all = fitting.iter().flat_map(|fitting| &fitting.all);
                all.map(|add| add.values[nth]).collect()
            };
            let values: Vec<BTreeSet<i64>> = loose.iter().map(values).collect();
            let mut known = BTreeSet::new();
            let mut distinct = Vec::new();
            let read = self.read_off(wait, (role, at), nth);
            for place in read.into_iter().chain(self.places(wait, extent.as_ref())) {
                let seen: Vec<(i64, i64)> = fitted
                    .iter()
                    .map(|(sample, wait)| range(&place, &wait.values, &sample.params))
                    .collect();
                let fits = seen.iter().zip(&values).filter(|((lo, hi), values)| {
                    lo < hi
                        && hi.saturating_sub(*lo) <= MAX_BOX
                        && (*lo..*hi).all(|x| values.contains(&x))
                });
                let fits = fits.count();
                // Forms that are the same everywhere count as one.
                let fits = match (&add.kind, &place) {
                    (EventKind::Set { .. }, Place::From(..)) => 0,
                    _ => fits,
                };
                if fits > 0 && known.insert(seen.clone()) {
                    distinct.push((Reverse(fits), Form { place, seen }));
                }
            }
            // The sort is stable: forms that are read off, and the nearest ones, come first.
            distinct.sort_by_key(|(fits, _)| *fits);
            distinct.truncate(MAX_PLACES);
            forms.push(distinct.into_iter().map(|(_, form)| form).collect());
        }
        let mut found = Vec::new();
        let mut chosen = Vec::new();
        self.combined(
            ((role, at), fitted),
            &forms,
            &mut chosen,
            &loose,
            &mut found,
        )?;
        // Supplies that fit most come first, and of these the ones that add least.
        found.sort_by_key(|c| {
            let fits = c.totals.iter().flatten().count();
            (Reverse(fits), c.size)
        });
        Ok(found)
    }

    /// All combinations of forms for the remaining indices and loop variables of an addition. For each execution of
    /// the wait, `left` contains the additions that have the values chosen so far. It contains nothing if some named
    /// execution is not an addition.
    fn combined(
        &self,
        (add, fitted): ((usize, usize), &[(&Sample, &Execution)]),
        forms: &[Vec<Form>],
        chosen: &mut Vec<Place>,
        left: &[Option<Fitting<'_>>],
        found: &mut Vec<Candidate>,
    ) -> Result<(), String> {
        // Even as a partner of another addition, one that fits no execution is useless.
        if left.iter().flatten().all(|fitting| fitting.number == 0) || found.len() >= MAX_FORMS {
            return Ok(());
        }
        self.stop()?;
        let nth = chosen.len();
        let Some(of_this) = forms.get(nth) else {
            let mut size: i64 = 0;
            let total = |(left, (_, wait)): (&Option<Fitting<'_>>, &(&Sample, &Execution))| {
                let left = left.as_ref()?;
                size = size.saturating_add(left.number);
                self.total(left, wait)
            };
            let totals: Vec<Option<i64>> = left.iter().zip(fitted).map(total).collect();
            if totals.iter().flatten().any(|total| *total > 0) {
                found.push(Candidate {
                    supply: Supply {
                        role: add.0,
                        event: add.1,
                        at: chosen.clone(),
                    },
                    totals,
                    size,
                });
            }
            return Ok(());
        };
        for form in of_this {
            let narrowed = left.iter().zip(&form.seen);
            let narrowed = narrowed.map(|(left, range)| left.as_ref()?.narrowed(nth, *range));
            let narrowed: Vec<Option<Fitting<'_>>> = narrowed.collect();
            chosen.push(form.place.clone());
            self.combined((add, fitted), forms, chosen, &narrowed, found)?;
            chosen.pop();
        }
        Ok(())
    }

    /// How much additions contribute to a wait; `None` if one of them does not exist, or comes after the wait.
    fn total(&self, fitting: &Fitting<'_>, wait: &Execution) -> Option<i64> {
        let own = |add: &Execution| add.role == wait.role && self.member(add) == self.member(wait);
        let late = |add: &Execution| own(add) && add.key > wait.key;
        if i64::try_from(fitting.all.len()).ok()? != fitting.number {
            return None;
        }
        let sum = |sum: i64, add: &&Execution| (!late(add)).then(|| sum.saturating_add(add.amount));
        fitting.all.iter().try_fold(0, sum)
    }

    /// The executions that a supply names. `None` if there are too many.
    pub(super) fn executions(
        &self,
        supply: &Supply,
        sample: &Sample,
        wait: &Execution,
    ) -> Option<Vec<Option<usize>>> {
        let ranges = supply.at.iter();
        let ranges: Vec<(i64, i64)> = ranges
            .map(|place| range(place, &wait.values, &sample.params))
            .collect();
        let lengths = ranges.iter().map(|(lo, hi)| hi.saturating_sub(*lo).max(0));
        let number = lengths.fold(1_i64, i64::saturating_mul);
        if number > MAX_BOX {
            return None;
        }
        let points = ranges.into_iter().map(|(lo, hi)| lo..hi);
        let find = |values: Vec<i64>| sample.at.get(&(supply.role, supply.event, values)).copied();
        // The product of no ranges has one point.
        Some(points.multi_cartesian_product().map(find).collect())
    }

    /// How many values each index and loop variable of an addition has, if that is a sum of
    /// parameters.
    fn extents(&self, role: usize, add: &Event) -> Vec<Option<Affine>> {
        let indices = self.protocol.roles[role].indices.iter();
        let mut all: Vec<Option<Affine>> =
            indices.map(|index| affine(&index.extent, &[])).collect();
        for bound in &add.bounds {
            if let Bound::Loop(binder) = bound
                && let Iteration::Range { hi, .. } = &binder.over
            {
                all.push(affine(hi, &[]));
            }
        }
        all
    }

    /// What the element and the value of a wait determine of an index or loop variable of an
    /// addition.
    fn read_off(
        &self,
        (role, event): (usize, usize),
        (of, at_add): (usize, usize),
        nth: usize,
    ) -> Vec<Place> {
        let wait = &self.programs[role].events[event];
        let add = &self.programs[of].events[at_add];
        let (own, others) = (self.names((role, event)), self.names((of, at_add)));
        let mut all = Vec::new();
        for (wanted, reached) in wait.cell.index.iter().zip(&add.cell.index) {
            let (Some(wanted), Some(reached)) = (affine(wanted, &own), affine(reached, &others))
            else {
                continue;
            };
            let [(at, sign @ (1 | -1))] = reached.names[..] else {
                continue;
            };
            if at == nth {
                let rest = Affine {
                    names: Vec::new(),
                    ..reached
                };
                let left = sum(&wanted, &rest, -1);
                all.push(Place::At(sum(&Affine::default(), &left, sign)));
            }
        }
        // All values between the bounds of the addition itself.
        let (mut from, mut to) = (Vec::new(), Vec::new());
        bounds(&add.condition, &mut |op, var, bound| {
            if others.get(nth) == Some(&var)
                && let Some(mut bound) = affine(bound, &[])
            {
                let strict = matches!(op, BinaryOp::Gt | BinaryOp::Le);
                bound.number = bound.number.saturating_add(i64::from(strict));
                match op {
                    BinaryOp::Ge | BinaryOp::Gt => from.push(bound),
                    _ => to.push(bound),
                }
            }
        });
        from.push(Affine::default());
        to.extend(self.extents(of, add).swap_remove(nth));
        for (from, to) in from.into_iter().cartesian_product(&to) {
            all.push(Place::From(from, to.clone()));
        }
        if let EventKind::Wait { value, .. } = &wait.kind
            && let Some(value) = affine(value, &own)
        {
            let mut last = value.clone();
            last.number = last.number.saturating_sub(1);
            all.push(Place::At(last));
            all.push(Place::From(Affine::default(), value));
        }
        all
    }

    /// Values that an index or loop variable of an addition may have.
    fn places(&self, (role, event): (usize, usize), extent: Option<&Affine>) -> Vec<Place> {
        let wait = &self.programs[role].events[event];
        let number = self.protocol.roles[role].indices.len() + wait.bounds.len();
        let plain = |number: i64| Affine {
            number,
            ..Affine::default()
        };
        let name = |at: usize, plus: i64| Affine {
            names: vec![(at, 1)],
            ..plain(plus)
        };
        let mut ones = Vec::new();
        for at in 0..number {
            ones.extend([0, -1, 1, -2, 2].map(|plus| name(at, plus)));
        }
        ones.extend([0, 1, 2].map(plain));
        let mut wrapped = Vec::new();
        if let Some(extent) = extent {
            for at in 0..number {
                for plus in [-1, 1, 0, -2, 2] {
                    wrapped.extend([1, -1].map(|times| sum(&name(at, plus), extent, times)));
                }
                // The same in descending order.
                let mut mirrored = sum(&plain(-1), extent, 1);
                mirrored.names = vec![(at, -1)];
                wrapped.push(mirrored);
            }
            wrapped.push(sum(&plain(-1), extent, 1));
        }
        let mut all: Vec<Place> = ones
            .iter()
            .chain(&wrapped)
            .cloned()
            .map(Place::At)
            .collect();
        for at in 0..number {
            all.extend([1, 0, 2, -1].map(|plus| Place::From(plain(0), name(at, plus))));
        }
        if let Some(extent) = extent {
            all.extend([0, 1].map(|from| Place::From(plain(from), extent.clone())));
            for at in 0..number {
                all.push(Place::From(name(at, 1), extent.clone()));
            }
        }
        all
    }
}

/// The comparisons of names that a condition is made of.
fn bounds(condition: &Expr, found: &mut dyn FnMut(BinaryOp, VarId, &Expr)) {
    let Expr::Binary(op, a, b) = condition else {
        return;
    };
    let mirrored = match op {
        BinaryOp::And => {
            bounds(a, found);
            bounds(b, found);
            return;
        }
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        _ => return,
    };
    if let Expr::Var(var) = **a {
        found(*op, var, b);
    }
    if let Expr::Var(var) = **b {
        found(mirrored, var, a);
    }
}
