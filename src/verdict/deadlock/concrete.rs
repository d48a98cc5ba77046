//! What the symbolic search does not know yet, decided at concrete values where there is no proof.
//!
//! 1. Adversarial schedules run at small values for a few seconds, where members are many only some.
//! 2. The proof rules are tried. Where one names values at which it suspects a hang, these are
//!    tried next.
//! 3. The schedules run in larger boxes and at far values.
//! 4. Growing boxes are explored exhaustively; the last complete one is a bound, and a proof where there is nothing
//!    beyond it.
//!
//! A hang found anywhere is made small, replayed, and decides.

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::certificate::exhaustive::Exhaustive;
use crate::certificate::exhaustive::limits;
use crate::encoding::search::Objective;
use crate::hunt;
use crate::hunt::Hang;
use crate::hunt::Hunter;
use crate::hunt::IllDefined;
use crate::hunt::LARGEST_START;
use crate::hunt::Undefined;
use crate::hunt::grid;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::explore;
use crate::semantics::inputs::Bounds;
use crate::semantics::unfold;

use super::super::decision::Decision;
use super::super::decision::UNDEFINED;
use super::super::decision::Verdict;
use super::super::decision::not_run;
use super::super::engine::ACCELERATED;
use super::super::engine::EXHAUSTIVE;
use super::super::engine::SCHEDULES;
use super::super::engine::SUSPICION;
use super::super::exhaustive;
use super::super::shared::Shared;
use super::Internal;
use super::QUICK_SHARE;
use super::QUICK_TIME;
use super::Strategy;

/// The largest box of the quick search.
const QUICK_RADIUS: i64 = 3;

/// Time for small points at which a protocol has no meaning.
const MEANING_TIME: Duration = Duration::from_secs(1);

/// The largest box of the thorough search.
const LARGE_RADIUS: i64 = 12;

/// Time for far values, and then for larger boxes, and which part of what is left they may take,
/// as a divisor.
const FAR_TIME: Duration = Duration::from_secs(5);
const FAR_SHARE: u32 = 5;

/// Time for one suspected counterexample.
const SUSPECT_TIME: Duration = Duration::from_secs(5);

/// How many suspected counterexamples are tried.
const SUSPECTS: usize = 8;

/// Time for making a counterexample small and for showing that nothing smaller fails.
const LEAST_TIME: Duration = Duration::from_secs(6);

/// Time for a proof for one smaller point.
const POINT_TIME: Duration = Duration::from_secs(1);

/// Time for exhaustive exploration, and for what is left of it once the verdict can at best be
/// REFUTED.
const EXPLORE_TIME: Duration = Duration::from_secs(20);
const HOPELESS_TIME: Duration = Duration::from_secs(3);

/// The largest box that is explored.
const EXPLORE_RADIUS: i64 = 64;

impl Strategy<'_> {
    /// Decides at concrete values.
    pub(super) fn concrete(&self, notes: Vec<String>) -> Result<Decision, Internal> {
        let tell = |what: &str| (self.settings.tell)(what);
        let order = order(self.protocol, &self.objectives);
        // Small values are those that plain assumptions allow.
        let tight = self.protocol.tightened();
        let proves = |params: &[i64]| self.is_proved_at(params);
        let hunter = Hunter::new(&tight, order, self.settings.cancel, &tell);
        let mut hunter = hunter.asking(&proves);
        if let Some(decision) = self.small(&mut hunter, QUICK_TIME, &notes)? {
            return Ok(decision);
        }
        // What is left of the time goes to everything below.
        let failure = match self.layers(self.remaining() * 2 / 3, &notes)? {
            Ok(decision) => return Ok(decision),
            Err(failure) => failure,
        };
        let mut notes = notes;
        notes.extend(failure.note());
        let (reason, suspects) = (failure.reason(), failure.suspects);
        if let Some(hang) = self.suspected(&hunter, &suspects) {
            return self.refute_at(&mut hunter, hang, SUSPICION, notes);
        }
        // What was too large to be tried in a hurry.
        if let Some(decision) = self.again(&mut hunter, &notes)? {
            return Ok(decision);
        }
        let far = self.far(&mut hunter);
        if let Some(decision) = self.decided(&mut hunter, far, &notes)? {
            return Ok(decision);
        }
        self.exhaust(&tight, &mut hunter, reason, notes)
    }

    /// What schedules at small values decide, if anything.
    pub(super) fn hunted(
        &self,
        time: Duration,
        notes: &[String],
    ) -> Result<Option<Decision>, Internal> {
        let tell = |what: &str| (self.settings.tell)(what);
        let tight = self.protocol.tightened();
        let proves = |params: &[i64]| self.is_proved_at(params);
        let order = order(self.protocol, &self.objectives);
        let hunter = Hunter::new(&tight, order, self.settings.cancel, &tell);
        self.small(&mut hunter.asking(&proves), time, notes)
    }

    fn small(
        &self,
        hunter: &mut Hunter<'_>,
        time: Duration,
        notes: &[String],
    ) -> Result<Option<Decision>, Internal> {
        let quick = hunter.watch((self.remaining() / QUICK_SHARE).min(time));
        hunter.hurried(true);
        let small = hunter.boxes(0..=QUICK_RADIUS, &quick);
        hunter.hurried(false);
        self.decided(hunter, small, notes)
    }

    /// What the same schedules decide with as much work as they are worth.
    fn again(
        &self,
        hunter: &mut Hunter<'_>,
        notes: &[String],
    ) -> Result<Option<Decision>, Internal> {
        let watch = hunter.watch((self.remaining() / QUICK_SHARE).min(QUICK_TIME));
        let small = hunter.boxes(0..=QUICK_RADIUS, &watch);
        self.decided(hunter, small, notes)
    }

    fn decided(
        &self,
        hunter: &mut Hunter<'_>,
        found: Result<Option<Hang>, IllDefined>,
        notes: &[String],
    ) -> Result<Option<Decision>, Internal> {
        match found {
            Ok(Some(hang)) => {
                let decision = self.refute_at(hunter, hang, SCHEDULES, notes.to_vec());
                decision.map(Some)
            }
            Ok(None) => Ok(None),
            Err(at) => Ok(Some(self.ill_defined(&at, notes.to_vec()))),
        }
    }

    fn suspected(&self, hunter: &Hunter<'_>, suspects: &[Vec<i64>]) -> Option<Hang> {
        suspects.iter().take(SUSPECTS).find_map(|params| {
            (self.settings.tell)("trying a suspected counterexample");
            let watch = hunter.watch(self.remaining().min(SUSPECT_TIME));
            hunt::at(self.protocol, params, &watch)
        })
    }

    fn far(&self, hunter: &mut Hunter<'_>) -> Result<Option<Hang>, IllDefined> {
        let watch = hunter.watch((self.remaining() / FAR_SHARE).min(FAR_TIME));
        if let Some(hang) = hunter.large_values(&watch)? {
            return Ok(Some(hang));
        }
        let watch = hunter.watch((self.remaining() / FAR_SHARE).min(FAR_TIME));
        if let Some(hang) = hunter.text_constants(&watch)? {
            return Ok(Some(hang));
        }
        let watch = hunter.watch((self.remaining() / FAR_SHARE).min(FAR_TIME));
        hunter.boxes(QUICK_RADIUS + 1..=LARGE_RADIUS, &watch)
    }

    /// Explores boxes that grow, as far as time allows.
    fn exhaust(
        &self,
        tight: &Protocol,
        hunter: &mut Hunter<'_>,
        reason: String,
        mut notes: Vec<String>,
    ) -> Result<Decision, Internal> {
        (self.settings.tell)("exploring small values exhaustively");
        let started = Instant::now();
        let finite = exhaustive::is_finite(self.protocol);
        // What is complete is searched once more.
        let time = if finite {
            self.remaining() / 2
        } else {
            self.remaining()
        };
        let time = time.min(EXPLORE_TIME);
        let mut undefined = hunter.undefined.clone();
        let mut done: Option<String> = None;
        let mut met = Exhaustive::default();
        let mut complete = false;
        let last = if finite { i64::MAX } else { EXPLORE_RADIUS };
        'growing: for radius in 0..=last {
            for params in grid::points(tight, radius) {
                let time = match &undefined {
                    Some(_) => time.min(HOPELESS_TIME),
                    None => time,
                };
                if started.elapsed() >= time || self.settings.cancel.load(Ordering::Relaxed) {
                    break 'growing;
                }
                let options = explore::Options {
                    cancel: Some(self.settings.cancel),
                    deadline: Some(started + time),
                    ..limits()
                };
                let bounds = Bounds {
                    max_initial: LARGEST_START,
                    ..Bounds::default()
                };
                match explore::explore_all(tight, &params, &bounds, &options) {
                    Ok(found) => {
                        let Some(sum) = met.and(found.inputs, found.states) else {
                            break 'growing;
                        };
                        met = sum;
                        if let Some((input, schedule)) = found.stuck {
                            let hang = Hang::of(input, schedule);
                            return self.refute_at(hunter, hang, EXHAUSTIVE, notes);
                        }
                        if let (None, Some((input, _, violation))) = (&undefined, &found.violation)
                            && let Ok(instance) = unfold::instantiate(self.protocol, input)
                        {
                            undefined = Some(Undefined::new(&params, &instance, violation));
                        }
                        if found.end != explore::SearchEnd::Exhausted {
                            break 'growing;
                        }
                    }
                    Err(error) if error.fault.is_limit() => {
                        notes.push(format!("not explored{}: {error}", self.at(&params)));
                        break 'growing;
                    }
                    Err(error) => return Ok(self.ill_defined(&IllDefined { params, error }, notes)),
                }
            }
            let starts = if self.protocol.has_open_starts() {
                format!(", open initial values up to {LARGEST_START}")
            } else {
                String::new()
            };
            if met.inputs > 0 {
                done = Some(format!("{}{starts}", grid::describe(tight, radius)));
            }
            if grid::covers_domain(tight, radius) {
                complete = finite && undefined.is_none();
                break;
            }
        }
        if complete && let Some(decision) = self.complete(met, &mut notes) {
            return Ok(decision);
        }
        notes.push(format!("{} states explored", met.states));
        let misused = undefined.is_some();
        let verdict = match (undefined, done) {
            (Some(undefined), _) => Verdict::Unknown {
                reason: format!(
                    "{UNDEFINED}{}: {}",
                    self.at(&undefined.params),
                    undefined.what
                ),
                span: undefined.span,
            },
            (None, Some(within)) => Verdict::Bounded { within, reason },
            (None, None) => Verdict::Unknown { reason, span: None },
        };
        let mut decision = self.decision(verdict, EXHAUSTIVE, notes);
        decision.undefined = misused;
        Ok(decision)
    }

    fn refute_at(
        &self,
        hunter: &mut Hunter<'_>,
        hang: Hang,
        engine: &'static str,
        mut notes: Vec<String>,
    ) -> Result<Decision, Internal> {
        let watch = hunter.watch(self.remaining().min(LEAST_TIME));
        let least = hunter.least(hang, &watch);
        let engine = match hunter.moved_together() {
            true if engine == SCHEDULES => ACCELERATED,
            _ => engine,
        };
        self.hint_residency(&mut notes);
        let Hang {
            input, schedule, ..
        } = least.hang;
        self.refuted(input, schedule, least.smallest, engine, notes)
    }

    /// Whether some layer proves that nothing hangs at one point.
    fn is_proved_at(&self, params: &[i64]) -> bool {
        let mut protocol = self.protocol.clone();
        let mut narrowing = self.narrowing.clone();
        for (param, value) in protocol.params.iter_mut().zip(params) {
            param.domain = Domain::Set(vec![*value]);
            narrowing.set.insert(param.name.clone(), *value);
        }
        let point = Strategy {
            protocol: &protocol,
            narrowing: &narrowing,
            settings: self.settings,
            shared: &Shared::default(),
            started: Instant::now(),
            objectives: Vec::new(),
        };
        let found = point.layers(self.remaining().min(POINT_TIME), &[]);
        found.is_ok_and(|found| found.is_ok())
    }

    /// A small point at which the protocol has no meaning, where nothing else is open there: formulas do not look for such points.
    pub(super) fn without_meaning(&self, notes: &[String]) -> Option<Decision> {
        let mut patterns = self.protocol.patterns.iter();
        if patterns.any(|pattern| pattern.definition.is_none()) || self.protocol.has_open_starts() {
            return None;
        }
        let tight = self.protocol.tightened();
        let started = Instant::now();
        let options = explore::Options {
            max_states: 1,
            ..limits()
        };
        for radius in 0..=QUICK_RADIUS {
            for params in grid::points(&tight, radius) {
                if started.elapsed() >= MEANING_TIME {
                    return None;
                }
                match explore::explore_all(&tight, &params, &Bounds::default(), &options) {
                    Err(error) if !error.fault.is_limit() => {
                        let found = IllDefined { params, error };
                        return Some(self.ill_defined(&found, notes.to_vec()));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// A point at which the protocol has no meaning: no verdict.
    fn ill_defined(&self, found: &IllDefined, notes: Vec<String>) -> Decision {
        let at = self.at(&found.params);
        let (verdict, unfollowed) = not_run(&at, &found.error);
        let mut decision = self.decision(verdict, EXHAUSTIVE, notes);
        decision.unfollowed = unfollowed;
        decision
    }
}

/// The parameters, the one to make small first.
pub(in crate::verdict) fn order(protocol: &Protocol, objectives: &[Objective]) -> Vec<usize> {
    let params = objectives.iter().filter_map(|objective| match objective {
        Objective::Param(id) => Some(id.0),
        Objective::Entries | Objective::Initial => None,
    });
    let named: Vec<usize> = params.collect();
    let rest = hunt::declared(protocol).into_iter();
    let rest = rest.filter(|param| !named.contains(param));
    named.iter().copied().chain(rest).collect()
}
