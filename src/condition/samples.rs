//! Chooses the parameter values that are tried, and stores the results.

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::deadline;
use crate::hunt::grid;
use crate::hunt::grid::Region;
use crate::protocol::Param;
use crate::verdict::deadlock::Internal;
use crate::verdict::decision::Verdict;

use super::Search;
use super::formula::Formula;
use super::label;
use super::probe;
use super::space::Space;

/// How many points that hang are used as centres, near which other points are tried.
const CENTRES: usize = 3;

/// The number of points beyond the box at which a formula is tested.
const BEYOND: usize = 60;

/// The part of the remaining time for points that could not be explored, as a divisor, and the time for one such
/// point.
const OPEN_SHARE: u32 = 3;
const OPEN_TIME: Duration = Duration::from_secs(3);

/// The most values of the domain for which all values are tried.
const MOST_VALUES: i64 = 4_000;

/// The part of the time for points near one that hangs, as a divisor.
const NEAR_SHARE: u32 = 12;

impl Search<'_> {
    /// Labels a point of the box and stores the result.
    pub(super) fn sample(&mut self, params: Vec<i64>, end: Instant) {
        let found = label::label((self.tight, self.whole), &params, self.settings.cancel, end);
        match found {
            Some(hangs) => self.samples.push((params, hangs)),
            None => self.open.push(params),
        }
    }

    /// The same for a point beyond the box. If this point cannot be decided, it is not counted as open.
    fn sample_beyond(&mut self, params: Vec<i64>, end: Instant) -> Option<bool> {
        if Instant::now() >= end || self.beyond.contains(&params) {
            return None;
        }
        self.beyond.push(params.clone());
        if self.samples.iter().any(|(known, _)| *known == params) || self.open.contains(&params) {
            return None;
        }
        let found = label::label((self.tight, self.whole), &params, self.settings.cancel, end);
        self.samples.extend(found.map(|hangs| (params, hangs)));
        found
    }

    /// Tries points near two that hang: the first one, and the one that was found last.
    pub(super) fn explore(&mut self) {
        let hang = self.samples.iter().filter(|(_, hangs)| *hangs);
        let hang: Vec<Vec<i64>> = hang.map(|(at, _)| at.clone()).collect();
        let ends = hang.first().into_iter().chain(hang.last());
        for centre in ends.cloned().collect::<Vec<_>>() {
            if self.near.contains(&centre) || self.near.len() >= CENTRES {
                continue;
            }
            let end = deadline::after(self.settings.timeout / NEAR_SHARE);
            for params in probe::near(self.tight, &centre) {
                self.sample_beyond(params, end.min(self.end));
            }
            self.near.push(centre);
        }
    }

    /// Whether the formula holds at some point beyond the box and the protocol does not hang there. The results are
    /// stored.
    pub(super) fn disagrees(&mut self, space: &Space, formula: &Formula) -> bool {
        let (tight, radius) = (self.tight, self.radius);
        let beyond = (radius + 1..=radius + 3).flat_map(|r| grid::points(tight, r));
        let beyond = beyond.take_while(|_| !deadline::over());
        let beyond: Vec<Vec<i64>> = beyond.filter(|at| formula.holds(&space.at(at))).collect();
        let step = (beyond.len() / BEYOND).max(1);
        let end = deadline::after(self.left() / 4);
        for params in beyond.into_iter().step_by(step) {
            if self.sample_beyond(params, end) == Some(false) {
                return true;
            }
        }
        false
    }

    /// If the parameters have finitely many values: whether something hangs at all values at which the formula holds.
    /// `None` if this cannot be decided. This is the only proof about the inside of a formula.
    pub(super) fn all_inside(&mut self, space: &Space, formula: &Formula) -> Option<bool> {
        let tight = self.tight;
        let last = |param: &Param| {
            let ends = |at: &i64| param.domain.value(at + 1).is_none();
            (0..MOST_VALUES).find(ends)
        };
        let ends: Vec<i64> = tight.params.iter().map(last).collect::<Option<_>>()?;
        let listed = ends
            .iter()
            .fold(1_i64, |all, end| all.saturating_mul(end + 1));
        if listed > MOST_VALUES {
            return None;
        }
        let order: Vec<usize> = (0..ends.len()).collect();
        let radius = ends.into_iter().max().unwrap_or(0);
        let all: Vec<Vec<i64>> = Region::of_radius(tight, radius)
            .points(tight, &order)
            .collect();
        let end = deadline::after(self.left() / 2);
        for params in all {
            let known = self.samples.iter().any(|(at, _)| *at == params);
            if known || !formula.holds(&space.at(&params)) {
                continue;
            }
            match label::label((tight, self.whole), &params, self.settings.cancel, end) {
                Some(hangs) => {
                    self.open.retain(|at| *at != params);
                    self.samples.push((params, hangs));
                    if !hangs {
                        return Some(false);
                    }
                }
                None => return None,
            }
        }
        Some(true)
    }

    /// Whether the formula holds at some point that was too large to be explored, and the protocol turns out not to
    /// hang there. The results are stored.
    pub(super) fn cleared(&mut self, space: &Space, formula: &Formula) -> Result<bool, Internal> {
        let end = deadline::after(self.left() / OPEN_SHARE);
        let open = std::mem::take(&mut self.open).into_iter();
        let (inside, rest): (Vec<_>, Vec<_>) = open.partition(|at| formula.holds(&space.at(at)));
        self.open = rest;
        let mut cleared = false;
        for params in inside {
            let left = end.saturating_duration_since(Instant::now());
            if cleared || left.is_zero() || self.settings.cancel.load(Ordering::Relaxed) {
                self.open.push(params);
                continue;
            }
            match self.decided(&params, left.min(OPEN_TIME))? {
                Some(hangs) => {
                    cleared = !hangs;
                    self.samples.push((params, hangs));
                }
                None => self.open.push(params),
            }
        }
        Ok(cleared)
    }

    /// Whether the protocol hangs at these values, by the engines that decide for all values.
    fn decided(&self, params: &[i64], time: Duration) -> Result<Option<bool>, Internal> {
        let names = self.protocol.params.iter().map(|param| &param.name);
        let at = names.zip(params);
        let at: Vec<String> = at
            .map(|(name, value)| format!("{name} == {value}"))
            .collect();
        let found = self.assuming(&at, time)?;
        Ok(match found.map(|decision| decision.verdict) {
            Some(Verdict::Proved(_)) => Some(false),
            Some(Verdict::Refuted(_)) => Some(true),
            Some(Verdict::Bounded { .. } | Verdict::Unknown { .. }) | None => None,
        })
    }
}
