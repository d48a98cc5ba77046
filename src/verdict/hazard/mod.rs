//! The strategy for every property but deadlock.
//!
//! 1. Runs in which somebody is held are tried at small values. What they show is made small,
//!    replayed, and decides.
//! 2. A proof is tried, where a rule covers the property.
//! 3. The same runs are tried at far values and in larger boxes.
//! 4. Growing boxes are searched exhaustively; the last complete one is a bound, and a proof where there is nothing
//!    beyond it.

mod applies;
mod prove;

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::certificate;
use crate::certificate::exhaustive::Exhaustive;
use crate::certificate::exhaustive::limits;
use crate::deadline;
use crate::encoding::search;
use crate::encoding::search::Objective;
use crate::hunt::Hang;
use crate::hunt::Hunter;
use crate::hunt::IllDefined;
use crate::hunt::LARGEST_START;
use crate::hunt::grid;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::semantics::explore;
use crate::semantics::explore::SearchEnd;
use crate::semantics::hazards;
use crate::semantics::hazards::search::AllSearched;
use crate::semantics::hazards::search::search_all;
use crate::semantics::inputs::Bounds;
use crate::text::Narrowing;
use crate::witness;

pub use applies::OF_UNDEFINED;
pub use applies::applicable;
pub use applies::inapplicable;

use super::checked::Checked;
use super::deadlock::Internal;
use super::deadlock::Settings;
use super::deadlock::order;
use super::decision::Decision;
use super::decision::Proof;
use super::decision::Refutation;
use super::decision::UNDEFINED;
use super::decision::Verdict;
use super::decision::not_run;
use super::engine::EXHAUSTIVE;
use super::engine::HELD;
use super::exhaustive;
use super::shared::Shared;

/// The largest box of the quick search, and which part of the whole time it may take, as a
/// divisor.
const QUICK_RADIUS: i64 = 3;
const QUICK_SHARE: u32 = 20;

/// The same for far values, and again for larger boxes. Most properties hold, and several are
/// asked for at once, so that none takes all of its time without a proof to wait for.
const FAR_SHARE: u32 = 40;

/// The largest box of the thorough search.
const LARGE_RADIUS: i64 = 12;

/// Time for making a counterexample small and for showing that nothing smaller fails.
const LEAST_TIME: Duration = Duration::from_secs(5);

/// The part for exhaustive search, and states at one point.
const EXPLORE_SHARE: u32 = 10;
const EXPLORE_STATES: u64 = 1_000_000;

/// The largest box that is searched exhaustively.
const EXPLORE_RADIUS: i64 = 64;

/// Decides a property other than deadlock. `narrowing` is what has already been applied to
/// `protocol`, `shared` what is known from its other properties.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn decide(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Result<Decision, Internal> {
    let strategy = Strategy {
        protocol,
        narrowing,
        property,
        settings,
        shared,
        started: Instant::now(),
        objectives: settings
            .objectives
            .clone()
            .unwrap_or_else(|| search::default_objectives(protocol)),
    };
    strategy.run()
}

/// A proof of a property, if one is found in the time there is. Nothing is tried that might violate it.
pub(super) fn proof(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Option<Box<Proof>> {
    let time = settings.timeout;
    match prove::prove(protocol, narrowing, property, time, settings, shared) {
        prove::Attempt::Proved { proof, .. } => Some(proof),
        prove::Attempt::Nothing { .. } => None,
    }
}

struct Strategy<'a> {
    protocol: &'a Protocol,
    narrowing: &'a Narrowing,
    property: Property,
    settings: &'a Settings<'a>,
    shared: &'a Shared,
    started: Instant,
    objectives: Vec<Objective>,
}

impl Strategy<'_> {
    fn run(&self) -> Result<Decision, Internal> {
        if let Some(reason) = inapplicable(self.protocol, self.property) {
            return Ok(self.unknown(reason.to_owned(), None, "none"));
        }
        if let Some(reason) = hazards::unfollowed(self.protocol, self.property) {
            let span = self.protocol.result().map(|stmt| stmt.span);
            let mut decision = self.unknown(reason.to_owned(), span, "none");
            decision.unfollowed = true;
            return Ok(decision);
        }
        let tell = |what: &str| (self.settings.tell)(what);
        let order = order(self.protocol, &self.objectives);
        // Small values are those that plain assumptions allow.
        let tight = self.protocol.tightened();
        let hunter = Hunter::new(&tight, order, self.settings.cancel, &tell);
        let mut hunter = hunter.looking_for(self.property);
        let quick = hunter.watch(self.settings.timeout / QUICK_SHARE);
        match hunter.boxes(0..=QUICK_RADIUS, &quick) {
            Ok(Some(hang)) => return self.refuted(&mut hunter, hang, HELD),
            Ok(None) => {}
            Err(at) => return Ok(self.ill_defined(&at)),
        }
        let proved = prove::prove(
            self.protocol,
            self.narrowing,
            self.property,
            self.remaining() / 2,
            self.settings,
            self.shared,
        );
        let (reason, suspects) = match proved {
            prove::Attempt::Proved { proof, engine } => return Ok(self.proved(proof, engine)),
            prove::Attempt::Nothing { reason, suspects } => (reason, suspects),
        };
        let watch = hunter.watch(self.remaining() / FAR_SHARE);
        for params in suspects {
            match hunter.point(&params, &watch) {
                Ok(Some(hang)) => return self.refuted(&mut hunter, hang, HELD),
                Ok(None) => {}
                Err(at) => return Ok(self.ill_defined(&at)),
            }
        }
        match self.far(&mut hunter) {
            Ok(Some(hang)) => return self.refuted(&mut hunter, hang, HELD),
            Ok(None) => {}
            Err(at) => return Ok(self.ill_defined(&at)),
        }
        self.exhaust(&tight, &mut hunter, reason)
    }

    fn remaining(&self) -> Duration {
        self.settings.timeout.saturating_sub(self.started.elapsed())
    }

    fn far(&self, hunter: &mut Hunter<'_>) -> Result<Option<Hang>, IllDefined> {
        let share = self.settings.timeout / FAR_SHARE;
        let watch = hunter.watch(self.remaining().min(share));
        if let Some(hang) = hunter.large_values(&watch)? {
            return Ok(Some(hang));
        }
        let watch = hunter.watch(self.remaining().min(share));
        if let Some(hang) = hunter.text_constants(&watch)? {
            return Ok(Some(hang));
        }
        let watch = hunter.watch(self.remaining().min(share));
        hunter.boxes(QUICK_RADIUS + 1..=LARGE_RADIUS, &watch)
    }

    /// Searches boxes that grow, as far as time allows.
    fn exhaust(
        &self,
        tight: &Protocol,
        hunter: &mut Hunter<'_>,
        reason: String,
    ) -> Result<Decision, Internal> {
        (self.settings.tell)("searching small values exhaustively");
        let share = self.settings.timeout / EXPLORE_SHARE;
        let deadline = deadline::after(self.remaining().min(share));
        let finite = exhaustive::is_finite(self.protocol);
        let mut done: Option<String> = None;
        let mut met = Exhaustive::default();
        let mut complete = false;
        let mut notes = Vec::new();
        let last = if finite { i64::MAX } else { EXPLORE_RADIUS };
        'growing: for radius in 0..=last {
            for params in grid::points(tight, radius) {
                if Instant::now() >= deadline || self.settings.cancel.load(Ordering::Relaxed) {
                    break 'growing;
                }
                match self.searched(&params, deadline) {
                    Ok(found) => {
                        let Some(sum) = met.and(found.inputs, found.states) else {
                            break 'growing;
                        };
                        met = sum;
                        if let Some((input, runs)) = found.found {
                            let hang = Hang::by(input, runs);
                            return self.refuted(hunter, hang, EXHAUSTIVE);
                        }
                        if let Some(decision) = self.gap(&params, &found) {
                            return Ok(decision);
                        }
                        if found.end != SearchEnd::Exhausted {
                            break 'growing;
                        }
                    }
                    Err(at) if at.error.fault.is_limit() => {
                        let params = self.at(&at.params);
                        notes.push(format!("not searched{params}: {}", at.error));
                        break 'growing;
                    }
                    Err(at) => return Ok(self.ill_defined(&at)),
                }
            }
            if met.inputs > 0 {
                done = Some(grid::describe(tight, radius));
            }
            if grid::covers_domain(tight, radius) {
                complete = finite;
                break;
            }
        }
        notes.push(format!("{} states searched", met.states));
        if complete {
            let (protocol, narrowing, property) = (self.protocol, self.narrowing, self.property);
            let (settings, shared) = (self.settings, self.shared);
            match exhaustive::check(protocol, narrowing, property, met, settings, shared) {
                Checked::Proved { proof, engine } => return Ok(self.proved(proof, engine)),
                Checked::Open { reason, .. } => notes.push(exhaustive::unchecked(&reason)),
            }
        }
        let verdict = match done {
            Some(within) => Verdict::Bounded { within, reason },
            None => Verdict::Unknown { reason, span: None },
        };
        let mut decision = self.decision(verdict, EXHAUSTIVE);
        decision.notes = notes;
        Ok(decision)
    }

    fn searched(&self, params: &[i64], deadline: Instant) -> Result<AllSearched, IllDefined> {
        let options = explore::Options {
            max_states: EXPLORE_STATES,
            cancel: Some(self.settings.cancel),
            deadline: Some(deadline),
            ..limits()
        };
        let bounds = Bounds {
            max_initial: LARGEST_START,
            ..Bounds::default()
        };
        search_all(self.protocol, params, self.property, &bounds, &options).map_err(|error| {
            IllDefined {
                params: params.to_vec(),
                error,
            }
        })
    }

    /// Why a search that found nothing says nothing, if that is so.
    fn gap(&self, params: &[i64], found: &AllSearched) -> Option<Decision> {
        let at = self.at(params);
        if let Some((what, span)) = &found.undefined {
            let reason = format!("{UNDEFINED}{at}: {what}");
            let mut decision = self.unknown(reason, *span, EXHAUSTIVE);
            decision.undefined = true;
            return Some(decision);
        }
        found.hidden.map(|access| {
            let reason = format!(
                "an access after the last operation of a CTA that another one may be waiting to \
                 replace is not followed{at}: move it before that operation, or let the whole \
                 grid be resident"
            );
            let span = found.spans.get(access.stmt.0).copied();
            self.unknown(reason, span, EXHAUSTIVE)
        })
    }

    /// Makes a counterexample small, records and replays it; only then is it one.
    fn refuted(
        &self,
        hunter: &mut Hunter<'_>,
        hang: Hang,
        engine: &'static str,
    ) -> Result<Decision, Internal> {
        let watch = hunter.watch(self.remaining().min(LEAST_TIME));
        let least = hunter.least(hang, &watch);
        let runs = least.hang.runs();
        let witness =
            witness::record_hazard(self.protocol, &least.hang.input, self.property, &runs)?;
        witness::replay(self.protocol, &witness)?;
        let refutation = Refutation {
            input: least.hang.input,
            schedule: least.hang.schedule,
            witness,
            smallest: least.smallest,
        };
        Ok(self.decision(Verdict::Refuted(Box::new(refutation)), engine))
    }

    /// A point at which the protocol has no meaning: no verdict.
    fn ill_defined(&self, found: &IllDefined) -> Decision {
        let at = self.at(&found.params);
        let (verdict, unfollowed) = not_run(&at, &found.error);
        let mut decision = self.decision(verdict, EXHAUSTIVE);
        decision.unfollowed = unfollowed;
        decision
    }

    fn unknown(&self, reason: String, span: Option<Span>, engine: &'static str) -> Decision {
        self.decision(Verdict::Unknown { reason, span }, engine)
    }

    /// Parameter values as ` at N = 1, M = 2`; nothing where there are none.
    fn at(&self, params: &[i64]) -> String {
        let values = self.protocol.params.iter().zip(params);
        let values: Vec<String> = values.map(|(p, v)| format!("{} = {v}", p.name)).collect();
        match values.as_slice() {
            [] => String::new(),
            values => format!(" at {}", values.join(", ")),
        }
    }

    fn proved(&self, proof: Box<Proof>, engine: &'static str) -> Decision {
        let assumptions = proof.certificate.assumptions.clone();
        let mut decision = self.decision(Verdict::Proved(proof), engine);
        decision.assumptions = assumptions;
        decision
    }

    fn decision(&self, verdict: Verdict, engine: &'static str) -> Decision {
        Decision {
            property: self.property,
            verdict,
            undefined: false,
            unfollowed: false,
            engine,
            elapsed: self.started.elapsed(),
            assumptions: certificate::environment(self.protocol, self.property),
            notes: Vec::new(),
        }
    }
}
