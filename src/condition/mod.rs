//! At which parameter values a protocol hangs: the smallest formula, with a proof for all values
//! outside it.
//!
//! 1. Every point of a small box is labelled: it hangs, by a run of the reference semantics, or it
//!    does not, by exhaustive search.
//! 2. The smallest formulas that hold at exactly the points that hang are listed.
//! 3. Each is tried at values beyond the box, and at values in it that were too large to be explored. A point that disagrees is another sample, and the
//!    search begins anew.
//! 4. Outside the formula freedom from deadlock is decided as ever, under its negation as an
//!    assumption: PROVED, with a certificate, or REFUTED at a point that is another sample.
//!
//! Outside is proved; inside is checked at the points that are named, and no more is claimed.

mod atoms;
mod formula;

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::hunt;
use crate::hunt::Hunter;
use crate::hunt::LARGEST_START;
use crate::hunt::grid;
use crate::hunt::grid::Region;
use crate::patience;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::explore;
use crate::semantics::explore::SearchEnd;
use crate::semantics::inputs::Bounds;
use crate::text;
use crate::text::Narrowing;
use crate::verdict;
use crate::verdict::deadlock::Internal;
use crate::verdict::deadlock::Settings;
use crate::verdict::decision::Decision;
use crate::verdict::decision::Verdict;

pub use formula::Formula;

/// The most points of the first box, and how far it reaches.
const POINTS: usize = 260;
const RADIUS: i64 = 6;

/// Which part of the time the first box may take, as a divisor.
const BOX_SHARE: u32 = 3;

/// States explored at one point, and time for it.
const STATES: u64 = 150_000;
const POINT_TIME: Duration = Duration::from_secs(2);

/// Points beyond the box at which a formula is tried.
const BEYOND: usize = 60;

/// Which part of what is left of the time points that could not be explored may take, as a divisor, and time for one.
const OPEN_SHARE: u32 = 3;
const OPEN_TIME: Duration = Duration::from_secs(3);

/// How often a point that disagrees may change the formula.
const ROUNDS: usize = 24;

/// Which part of what is left of the time one proof may take, as a divisor.
const PROOF_SHARE: u32 = 2;

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The formula whose outside is proved; if there is none, the first that fits all samples.
    pub formula: Option<Formula>,
    /// The verdict outside the formula; `None` where nothing is outside.
    pub outside: Option<Decision>,
    /// What the negation of the formula was written as.
    pub assumed: Vec<String>,
    /// Parameter values at which it is known whether the protocol hangs.
    pub samples: Vec<(Vec<i64>, bool)>,
    /// The box all points of which were tried, in words.
    pub region: String,
    /// The points of it that could not be decided.
    pub open: Vec<Vec<i64>>,
}

impl Outcome {
    /// How many points could not be decided although the formula holds there.
    pub fn open_inside(&self) -> usize {
        let holds = |at: &&Vec<i64>| self.formula.as_ref().is_some_and(|f| f.holds(at));
        self.open.iter().filter(holds).count()
    }

    /// Whether the condition is exact as far as is claimed: outside it nothing hangs.
    pub fn is_proved(&self) -> bool {
        let proved = |decision: &Decision| decision.verdict.is_proved();
        match &self.formula {
            None => false,
            Some(formula) => formula.always() || self.outside.as_ref().is_some_and(proved),
        }
    }
}

/// Looks for the condition under which a protocol hangs. `narrowing` is what has already been
/// applied to it.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn condition(
    protocol: &Protocol,
    narrowing: &Narrowing,
    settings: &Settings<'_>,
) -> Result<Outcome, Internal> {
    let tight = protocol.tightened();
    let search = Search {
        protocol,
        narrowing,
        settings,
        tight: &tight,
        end: patience::deadline(settings.timeout),
    };
    search.run()
}

struct Search<'a> {
    protocol: &'a Protocol,
    narrowing: &'a Narrowing,
    settings: &'a Settings<'a>,
    tight: &'a Protocol,
    end: Instant,
}

impl Search<'_> {
    fn run(&self) -> Result<Outcome, Internal> {
        let radius = self.radius();
        let box_end = patience::deadline(self.settings.timeout / BOX_SHARE);
        let mut outcome = Outcome {
            formula: None,
            outside: None,
            assumed: Vec::new(),
            samples: Vec::new(),
            region: Region::of_radius(self.tight, radius).describe(self.tight),
            open: Vec::new(),
        };
        for params in (0..=radius).flat_map(|radius| grid::points(self.tight, radius)) {
            match self.label(&params, box_end) {
                Some(hangs) => outcome.samples.push((params, hangs)),
                None => outcome.open.push(params),
            }
        }
        for _ in 0..ROUNDS {
            if self.over() || self.round(&mut outcome, radius)? {
                break;
            }
        }
        Ok(outcome)
    }

    /// Tries the formulas that fit the samples. Whether that was all: no sample has been added.
    fn round(&self, outcome: &mut Outcome, radius: i64) -> Result<bool, Internal> {
        let params = self.protocol.params.iter();
        let names: Vec<&str> = params.map(|p| p.name.as_str()).collect();
        (outcome.formula, outcome.outside) = (None, None);
        for formula in self.formulas(&outcome.samples) {
            if self.over() {
                break;
            }
            (self.settings.tell)(&format!("trying `{}`", formula.text(&names)));
            if self.disagrees(&formula, radius, &mut outcome.samples)
                || self.cleared(&formula, outcome)?
            {
                return Ok(false);
            }
            let assumed = formula.negated(&names);
            let decision = match formula.always() {
                true => None,
                false => self.outside(&assumed)?,
            };
            if let Some(Verdict::Refuted(refutation)) = decision.as_ref().map(|d| &d.verdict) {
                let sample = (refutation.input.params.clone(), true);
                outcome.samples.push(sample);
                return Ok(false);
            }
            let proved = |decision: &Decision| decision.verdict.is_proved();
            let done = formula.always() || decision.as_ref().is_some_and(proved);
            // The first one is shown where none is proved.
            if done || outcome.formula.is_none() {
                outcome.formula = Some(formula);
                outcome.outside = decision;
                outcome.assumed = assumed;
            }
            if done {
                break;
            }
        }
        Ok(true)
    }

    fn over(&self) -> bool {
        self.settings.cancel.load(Ordering::Relaxed) || Instant::now() >= self.end
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// How far the box reaches.
    fn radius(&self) -> i64 {
        let few = |radius: &i64| {
            let inner = (0..=*radius).map(|radius| grid::points(self.tight, radius).len());
            inner.sum::<usize>() <= POINTS
        };
        (1..=RADIUS).take_while(few).last().unwrap_or(0)
    }

    /// Whether a run at these values hangs, if that can be found out.
    fn label(&self, params: &[i64], end: Instant) -> Option<bool> {
        let time = POINT_TIME.min(end.saturating_duration_since(Instant::now()));
        if time.is_zero() || self.settings.cancel.load(Ordering::Relaxed) {
            return None;
        }
        let quiet = |_: &str| {};
        let order = hunt::declared(self.tight);
        let mut hunter = Hunter::new(self.tight, order, self.settings.cancel, &quiet);
        hunter.hurried(true);
        let watch = hunter.watch(time);
        if hunter.point(params, &watch).ok()?.is_some() {
            return Some(true);
        }
        let options = explore::Options {
            max_states: STATES,
            cancel: Some(self.settings.cancel),
            deadline: Some(watch.deadline),
            ..explore::Options::default()
        };
        let bounds = Bounds {
            max_initial: LARGEST_START,
            ..Bounds::default()
        };
        let found = explore::explore_all(self.tight, params, &bounds, &options).ok()?;
        if found.stuck.is_some() {
            return Some(true);
        }
        let clear = found.end == SearchEnd::Exhausted && found.violation.is_none();
        clear.then_some(false)
    }

    fn formulas(&self, samples: &[(Vec<i64>, bool)]) -> Vec<Formula> {
        let points: Vec<Vec<i64>> = samples.iter().map(|(at, _)| at.clone()).collect();
        if points.is_empty() {
            return Vec::new();
        }
        let mut inside = atoms::bits(&points, |_| false);
        for (number, (_, hangs)) in samples.iter().enumerate() {
            inside[number / 64] |= u64::from(*hangs) << (number % 64);
        }
        let params = self.tight.params.iter();
        let least: Vec<i64> = params.map(|p| p.domain.value(0).unwrap_or(0)).collect();
        let atoms = atoms::atoms(&least, &points);
        formula::separating(&atoms, &points, &inside)
    }

    /// Whether the protocol does not hang at a point beyond the box at which the formula says that
    /// it does. What is found out is kept.
    fn disagrees(
        &self,
        formula: &Formula,
        radius: i64,
        samples: &mut Vec<(Vec<i64>, bool)>,
    ) -> bool {
        let beyond = (radius + 1..=radius + 3).flat_map(|r| grid::points(self.tight, r));
        let beyond: Vec<Vec<i64>> = beyond.filter(|at| formula.holds(at)).collect();
        let step = (beyond.len() / BEYOND).max(1);
        let end = patience::deadline(self.left() / 4);
        for params in beyond.into_iter().step_by(step) {
            if samples.iter().any(|(known, _)| *known == params) {
                continue;
            }
            if let Some(hangs) = self.label(&params, end) {
                samples.push((params, hangs));
                if !hangs {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a point that was too large to be explored, and at which the formula says that the protocol hangs, is decided
    /// now and does not hang. What is found out is kept.
    fn cleared(&self, formula: &Formula, outcome: &mut Outcome) -> Result<bool, Internal> {
        let end = patience::deadline(self.left() / OPEN_SHARE);
        let (inside, rest): (Vec<_>, Vec<_>) = outcome
            .open
            .drain(..)
            .partition(|params| formula.holds(params));
        outcome.open = rest;
        let mut cleared = false;
        for params in inside {
            let left = end.saturating_duration_since(Instant::now());
            if cleared || left.is_zero() || self.settings.cancel.load(Ordering::Relaxed) {
                outcome.open.push(params);
                continue;
            }
            match self.decided(&params, left.min(OPEN_TIME))? {
                Some(hangs) => {
                    cleared = !hangs;
                    outcome.samples.push((params, hangs));
                }
                None => outcome.open.push(params),
            }
        }
        Ok(cleared)
    }

    /// Whether a run at these values hangs, by the engines that decide for all values.
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

    /// The verdict where the formula does not hold.
    fn outside(&self, assumed: &[String]) -> Result<Option<Decision>, Internal> {
        self.assuming(assumed, self.left() / PROOF_SHARE)
    }

    /// The verdict under assumptions; none where they have no meaning.
    fn assuming(&self, assumed: &[String], time: Duration) -> Result<Option<Decision>, Internal> {
        let mut protocol = self.protocol.clone();
        let narrower = Narrowing {
            assume: assumed.to_vec(),
            ..Narrowing::default()
        };
        if text::narrow(&mut protocol, &narrower).is_err() {
            return Ok(None);
        }
        let mut narrowing = self.narrowing.clone();
        narrowing.assume.extend(narrower.assume);
        let settings = Settings {
            timeout: time,
            ..self.settings.clone()
        };
        verdict::decide(&protocol, &narrowing, Property::Deadlock, &settings).map(Some)
    }
}
