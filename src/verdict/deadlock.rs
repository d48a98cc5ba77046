//! The strategy for deadlock: which layers run, in which order, and what each result means.
//!
//! 1. Small boxes are searched for a stuck state; most bugs show with two or three of
//!    everything. A hit is minimised, shortened, replayed, and decides.
//! 2. The proof rules are tried. What the search proposes is written down as a certificate and
//!    checked from the protocol's text by the checker; only that decides.
//! 3. Larger boxes are searched until the time is up. A hit decides; otherwise the largest box
//!    that was searched completely is a bound.
//!    Before, where there is an end to the values, everything is searched; that is a proof.
//! 4. What the symbolic search does not know, barriers above all, is hunted for and explored at
//!    concrete values around the same proof attempt: `concrete`.

mod concrete;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::certificate;
use crate::certificate::argument::Argument;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::exhaustive::Exhaustive;
use crate::deadline;
use crate::encoding::search;
use crate::encoding::search::Candidate;
use crate::encoding::search::Found;
use crate::encoding::search::Limits;
use crate::encoding::search::Objective;
use crate::proof;
use crate::proof::Guess;
use crate::proof::Layer;
use crate::protocol::ATOMIC;
use crate::protocol::LaunchOrder;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::error::Fault;
use crate::semantics::explore;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;
use crate::semantics::step::Action;
use crate::semantics::unfold;
use crate::text::Narrowing;
use crate::witness;
use crate::witness::ReplayError;

pub(super) use concrete::order;

use super::checked;
use super::checked::Checked;
use super::decision::Decision;
use super::decision::Proof;
use super::decision::Refutation;
use super::decision::Verdict;
use super::decision::not_run;
use super::engine;
use super::exhaustive;
use super::kernel;
use super::shared::Shared;

/// Boxes searched before a proof is tried.
const QUICK_BOXES: [i64; 3] = [1, 2, 3];

/// Which part of the time the quick boxes may take, as a divisor: hard arithmetic in a small box
/// must not keep the proof from being tried.
const QUICK_SHARE: u32 = 6;

/// And no more than this.
const QUICK_TIME: Duration = Duration::from_secs(4);

/// Boxes searched when there is no proof. Sizes jump, since a domain may start far from 0.
const LARGE_BOXES: [i64; 8] = [4, 5, 6, 8, 12, 16, 24, 32];

/// Time for schedules where the least values are larger than any box, before a proof and without one.
const BEFORE_PROOF: Duration = Duration::from_secs(1);
const AFTER_PROOF: Duration = Duration::from_secs(8);

/// Time for searching everything before larger boxes are, where everything has an end, and which part of what is
/// left it may take, as a divisor: it is searched twice.
const EVERYTHING: Duration = Duration::from_secs(20);
const EVERYTHING_SHARE: u32 = 4;

/// States explored to shorten the run of a counterexample.
const SHORTENING_STATES: u64 = 200_000;

/// Time for looking for statements that no run reaches.
const VACUITY_TIME: Duration = Duration::from_secs(3);

/// Why there is no proof where the time was up before the first rule was asked.
pub(super) const NOT_LOOKED_FOR: &str = "the time was up before a proof was looked for";

/// What a decision may use.
#[derive(Clone)]
pub struct Settings<'a> {
    /// How long it may take.
    pub timeout: Duration,
    /// What a counterexample is minimised for; `None`: [`search::default_objectives`].
    pub objectives: Option<Vec<Objective>>,
    /// Ends the work soon after it becomes true.
    pub cancel: &'a AtomicBool,
    /// Is told what is being done.
    pub tell: &'a (dyn Fn(&str) + Sync),
    /// Whether the kernel may take some seconds before the rules are asked, and not just a little work.
    pub kernel: bool,
}

/// An error of ours: two parts of the program disagree. No verdict follows.
#[derive(Debug, thiserror::Error)]
pub enum Internal {
    /// A counterexample that the reference interpreter does not accept.
    #[error("a counterexample of the search did not replay: {0}")]
    Replay(String),
    /// A counterexample for whose replay there is no time left: nothing is known then.
    #[error("{LATE}")]
    Late,
}

impl From<ReplayError> for Internal {
    fn from(error: ReplayError) -> Internal {
        match &error {
            ReplayError::Run(run) if run.fault == Fault::OutOfTime => Internal::Late,
            _ => Internal::Replay(error.to_string()),
        }
    }
}

/// Why nothing is known where a counterexample cannot be replayed in time.
pub(super) const LATE: &str =
    "a counterexample was found, but the time was up before it was replayed";

/// Decides whether a protocol can reach a stuck state. `narrowing` is what has already been applied to `protocol`, `shared` is
/// what is known from other properties of the protocol.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub(super) fn decide_sharing(
    protocol: &Protocol,
    narrowing: &Narrowing,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Result<Decision, Internal> {
    let strategy = Strategy {
        protocol,
        narrowing,
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

struct Strategy<'a> {
    protocol: &'a Protocol,
    narrowing: &'a Narrowing,
    settings: &'a Settings<'a>,
    shared: &'a Shared,
    started: Instant,
    objectives: Vec<Objective>,
}

/// Why there is no proof.
#[derive(Debug, Default)]
struct NoProof {
    /// Parameter values at which a layer suspects a hang.
    suspects: Vec<Vec<i64>>,
    /// Which layers ran, in order, and why each passed on.
    tried: Vec<(Layer, String)>,
    /// Whether the time was up before the last layer was asked.
    late: bool,
}

impl NoProof {
    /// Why the first layer passed on that is not as narrow as the order rule.
    fn reason(&self) -> String {
        let mut tried = self.tried.iter();
        let main = tried.find(|(layer, _)| *layer != Layer::Order);
        match main.or(self.tried.first()) {
            Some((_, reason)) => reason.clone(),
            None if self.late => NOT_LOOKED_FOR.to_owned(),
            None => "no proof rule covers such a protocol".to_owned(),
        }
    }

    /// What the other layers said.
    fn note(&self) -> Option<String> {
        let main = self.reason();
        let mut is_main = true;
        let mut others = Vec::new();
        for (layer, reason) in &self.tried {
            let name = layer.name();
            if *reason != main {
                others.push(format!("the {name} rule: {reason}"));
            } else if *layer != Layer::Order && !std::mem::take(&mut is_main) {
                others.push(format!("the {name} rule, for the same reason"));
            }
        }
        (!others.is_empty()).then(|| format!("also tried: {}", others.join("; ")))
    }
}

/// What a series of box searches came to.
enum Boxes {
    Stuck(Box<Candidate>, i64),
    /// Completely searched up to this size; why it went no further.
    Clear(Option<i64>, Option<String>),
    /// The protocol has something that no formula is made of yet.
    Unsupported,
}

impl Strategy<'_> {
    fn run(&self) -> Result<Decision, Internal> {
        let mut notes = Vec::new();
        let mut sizes = QUICK_BOXES.to_vec();
        let quick = (self.remaining() / QUICK_SHARE).min(QUICK_TIME);
        match self.boxes(&sizes, quick, false) {
            Boxes::Stuck(candidate, size) => return self.refute(*candidate, size, notes),
            Boxes::Clear(Some(_), _) => {}
            // The least values are larger than any box that formulas are made of.
            Boxes::Clear(None, _) => {
                if let Some(decision) = self.hunted(BEFORE_PROOF, &notes)? {
                    return Ok(decision);
                }
            }
            Boxes::Unsupported => return self.concrete(notes),
        }
        let reason = match self.layers(self.remaining(), &notes)? {
            Ok(decision) => return Ok(decision),
            Err(failure) => {
                notes.extend(failure.note());
                failure.reason()
            }
        };
        if let Some(decision) = self.everything(&mut notes) {
            return Ok(decision);
        }
        if let Some(decision) = self.without_meaning(&notes) {
            return Ok(decision);
        }
        // Now every loop counts, wherever it starts: what is clear becomes a bound.
        sizes.extend(LARGE_BOXES);
        let verdict = match self.boxes(&sizes, self.remaining(), true) {
            Boxes::Stuck(candidate, size) => return self.refute(*candidate, size, notes),
            Boxes::Unsupported => return self.concrete(notes),
            Boxes::Clear(clear, stopped) => {
                if let Some(why) = stopped {
                    notes.push(format!("the search for a counterexample ended: {why}"));
                }
                if clear.is_none()
                    && let Some(decision) = self.hunted(AFTER_PROOF, &notes)?
                {
                    return Ok(decision);
                }
                match clear {
                    Some(size) => Verdict::Bounded {
                        within: format!(
                            "for inputs with at most {size} values per index, entries per row and \
                             iterations per loop, whatever the other parameters"
                        ),
                        reason,
                    },
                    None => Verdict::Unknown { reason, span: None },
                }
            }
        };
        Ok(self.decision(verdict, engine::BOUNDED, notes))
    }

    /// A proof by searching everything, where that has an end and is soon done.
    fn everything(&self, notes: &mut Vec<String>) -> Option<Decision> {
        if !exhaustive::is_finite(self.protocol) {
            return None;
        }
        let (protocol, settings) = (self.protocol, self.settings);
        let deadline = deadline::after((self.remaining() / EVERYTHING_SHARE).min(EVERYTHING));
        let found = exhaustive::searched(protocol, Property::Deadlock, deadline, settings)?;
        self.complete(found, notes)
    }

    /// What has been searched completely, as a proof.
    fn complete(&self, found: Exhaustive, notes: &mut Vec<String>) -> Option<Decision> {
        let (protocol, narrowing, property) = (self.protocol, self.narrowing, Property::Deadlock);
        let (settings, shared) = (self.settings, self.shared);
        match exhaustive::check(protocol, narrowing, property, found, settings, shared) {
            Checked::Proved { proof, engine } => Some(self.proved(proof, engine, notes.clone())),
            Checked::Open { reason, .. } => {
                notes.push(exhaustive::unchecked(&reason));
                None
            }
        }
    }

    fn remaining(&self) -> Duration {
        self.settings.timeout.saturating_sub(self.started.elapsed())
    }

    fn boxes(&self, sizes: &[i64], time: Duration, thorough: bool) -> Boxes {
        let limits = self.limits(time, thorough);
        let mut clear = None;
        for &size in sizes {
            (self.settings.tell)(&format!("searching for a stuck state up to size {size}"));
            match search::smallest(self.protocol, size, &self.objectives, &limits) {
                Found::Stuck(candidate) => return Boxes::Stuck(candidate, size),
                Found::Nothing => clear = Some(size),
                Found::Empty => {}
                Found::Unknown(why) => {
                    return Boxes::Clear(clear, Some(format!("{why} at size {size}")));
                }
                Found::Unsupported(_) => return Boxes::Unsupported,
            }
        }
        Boxes::Clear(clear, None)
    }

    fn limits(&self, time: Duration, thorough: bool) -> Limits<'_> {
        Limits {
            thorough,
            deadline: deadline::after(time),
            cancel: self.settings.cancel,
        }
    }

    fn refute(
        &self,
        mut candidate: Candidate,
        size: i64,
        mut notes: Vec<String>,
    ) -> Result<Decision, Internal> {
        // A smaller first objective may need a larger box than the one that showed a failure.
        let mut searched = size;
        let wider = size.max(2) + 2;
        (self.settings.tell)("making the counterexample smaller");
        let time = self.remaining().min(Duration::from_secs(4));
        let limits = self.limits(time, true);
        if let Found::Stuck(smaller) =
            search::smallest(self.protocol, wider, &self.objectives, &limits)
        {
            let rank = |c: &Candidate| search::rank(self.protocol, &self.objectives, &c.input);
            if smaller.minimal && rank(&smaller) <= rank(&candidate) {
                candidate = *smaller;
                searched = wider;
            }
        }
        let instance = match unfold::instantiate(self.protocol, &candidate.input) {
            Ok(instance) => instance,
            Err(error) => {
                let at = self.at(&candidate.input.params);
                let (verdict, unfollowed) = not_run(&at, &error);
                let mut decision = self.decision(verdict, engine::EVENTS, notes);
                decision.unfollowed = unfollowed;
                return Ok(decision);
            }
        };
        let schedule = self.shortened(&instance, actions(&instance, &candidate)?);
        let open_patterns = self
            .protocol
            .patterns
            .iter()
            .any(|p| p.definition.is_none());
        let names: Vec<String> = self
            .objectives
            .iter()
            .filter_map(|objective| match objective {
                Objective::Param(id) => Some(self.protocol.params[id.0].name.clone()),
                Objective::Entries => open_patterns.then(|| "entries".to_owned()),
                Objective::Initial => self
                    .protocol
                    .has_open_starts()
                    .then(|| "initial values".to_owned()),
            })
            .collect();
        let smallest = if candidate.minimal {
            format!(
                "smallest by ({}) among inputs with at most {searched} values per index, entries \
                 per row and iterations per loop",
                names.join(", ")
            )
        } else {
            "the search for a smaller one ran out of time".to_owned()
        };
        self.hint_residency(&mut notes);
        self.refuted(candidate.input, schedule, smallest, engine::EVENTS, notes)
    }

    /// Records and replays a counterexample; only then is it one.
    fn refuted(
        &self,
        input: Input,
        schedule: Vec<Action>,
        smallest: String,
        engine: &'static str,
        notes: Vec<String>,
    ) -> Result<Decision, Internal> {
        let witness = witness::record(self.protocol, &input, &schedule)?;
        witness::replay(self.protocol, &witness)?;
        let refutation = Refutation {
            input,
            schedule,
            witness,
            smallest,
        };
        Ok(self.decision(Verdict::Refuted(Box::new(refutation)), engine, notes))
    }

    /// A shortest run to a stuck state, if the instance is small enough to explore.
    fn shortened(&self, instance: &Instance, schedule: Vec<Action>) -> Vec<Action> {
        let options = explore::Options {
            max_states: SHORTENING_STATES,
            cancel: Some(self.settings.cancel),
            ..explore::Options::default()
        };
        explore::explore(instance, &options)
            .stuck
            .unwrap_or(schedule)
    }

    /// Says so if the same protocol is safe once the whole grid is resident.
    fn hint_residency(&self, notes: &mut Vec<String>) {
        let limited = |role: &crate::protocol::Role| {
            role.launch
                .as_ref()
                .is_some_and(|launch| launch.resident != Resident::All)
        };
        if !self.protocol.roles.iter().any(limited) {
            return;
        }
        let mut whole = self.protocol.clone();
        for role in &mut whole.roles {
            if let Some(launch) = &mut role.launch {
                launch.resident = Resident::All;
            }
        }
        (self.settings.tell)("trying the whole grid resident");
        let time = self.remaining().min(Duration::from_secs(10));
        if let Guess::Found(argument) = proof::guess(&whole, time, self.settings.tell) {
            notes.push(format!(
                "with the whole grid resident at once it cannot hang (by the {})",
                argument.checker()
            ));
        }
    }

    /// Tries the proof layers one after the other, from cheap to general.
    fn layers(
        &self,
        time: Duration,
        notes: &[String],
    ) -> Result<Result<Decision, NoProof>, Internal> {
        let deadline = deadline::after(time);
        let mut failure = NoProof::default();
        if let Some(stmt) = self.protocol.atomic()
            && proof::layers(self.protocol).is_empty()
        {
            let line = witness::line(&self.protocol.source, stmt.span);
            failure.tried.push((
                Layer::Cuts(Shows::Nothing),
                format!("no proof rule covers {ATOMIC} (line {line})"),
            ));
            return Ok(Err(failure));
        }
        let (narrowing, settings, shared) = (self.narrowing, self.settings, self.shared);
        if let Some((proof, engine)) = kernel::prove(
            self.protocol,
            narrowing,
            Property::Deadlock,
            time,
            settings,
            shared,
        ) {
            return Ok(Ok(self.proved(proof, engine, notes.to_vec())));
        }
        let layers = proof::layers(self.protocol);
        // The first search for an order has a part of the time; where it was cut short, it is done again.
        let again = layers.contains(&Layer::Order).then_some(Layer::Order);
        for layer in layers.into_iter().chain(again) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.settings.cancel.load(Ordering::Relaxed) {
                failure.late = true;
                break;
            }
            (self.settings.tell)(&format!("looking for a proof by the {} rule", layer.name()));
            let (cancel, tell) = (self.settings.cancel, self.settings.tell);
            let found = self.shared.search(self.protocol, layer, left, cancel, tell);
            let left = deadline.saturating_duration_since(Instant::now());
            let each = match &found {
                // It has been discharged once, so it only takes as long again.
                Guess::Found(_) => self.settings.timeout.max(Duration::from_secs(10)),
                _ => left,
            };
            let reason = match found {
                Guess::Found(argument) | Guess::Fitting(argument) => {
                    match self.check(argument, each) {
                        Checked::Proved { proof, engine } => {
                            return Ok(Ok(self.proved(proof, engine, notes.to_vec())));
                        }
                        Checked::Open { reason, suspects } => {
                            failure.suspects.extend(suspects);
                            reason
                        }
                    }
                }
                Guess::Nothing { reason, suspects } => {
                    failure.suspects.extend(suspects);
                    reason
                }
            };
            if layer.is_of_the_whole() {
                match failure.tried.iter_mut().find(|(known, _)| *known == layer) {
                    Some((_, earlier)) => *earlier = reason,
                    None => failure.tried.push((layer, reason)),
                }
            }
        }
        Ok(Err(failure))
    }

    fn check(&self, argument: Argument, each: Duration) -> Checked {
        let (narrowing, tell) = (self.narrowing, self.settings.tell);
        checked::check(
            self.protocol,
            narrowing,
            Property::Deadlock,
            argument,
            (each, &self.shared.known),
            tell,
        )
    }

    fn proved(&self, proof: Box<Proof>, engine: &'static str, mut notes: Vec<String>) -> Decision {
        let assumptions = proof.certificate.assumptions.clone();
        notes.extend(self.never_reached());
        let mut decision = self.decision(Verdict::Proved(proof), engine, notes);
        decision.assumptions = assumptions;
        decision
    }

    /// Statements that no run reaches: a proof says nothing about them.
    fn never_reached(&self) -> Vec<String> {
        if !self.protocol.patterns.is_empty() {
            return Vec::new();
        }
        (self.settings.tell)("looking for statements that no run reaches");
        let source = &self.protocol.source;
        proof::vacuity::never_reached(self.protocol, VACUITY_TIME)
            .into_iter()
            .map(|span| {
                let line = source[..span.start].matches('\n').count() + 1;
                let text = source[span.start..span.end].split_whitespace();
                let text = text.collect::<Vec<_>>().join(" ");
                format!(
                    "no run reaches `{text}` in line {line}, so the proof says nothing about it"
                )
            })
            .collect()
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

    fn decision(&self, verdict: Verdict, engine: &'static str, notes: Vec<String>) -> Decision {
        Decision {
            property: Property::Deadlock,
            verdict,
            undefined: false,
            unfollowed: false,
            engine,
            elapsed: self.started.elapsed(),
            assumptions: assumptions(self.protocol),
            notes,
        }
    }
}

/// What a verdict other than PROVED rests on; a proof says so itself.
pub(super) fn assumptions(protocol: &Protocol) -> Vec<String> {
    let mut all = certificate::environment(protocol, Property::Deadlock);
    let mut launches = protocol
        .roles
        .iter()
        .filter_map(|role| role.launch.as_ref());
    if launches.any(|launch| launch.order != LaunchOrder::Any) {
        all.push(certificate::LAUNCH_ORDER.to_owned());
    }
    all
}

/// A candidate's schedule in terms of the instance's members.
fn actions(instance: &Instance, candidate: &Candidate) -> Result<Vec<Action>, Internal> {
    candidate
        .schedule
        .iter()
        .map(|step| {
            let member = instance
                .members
                .iter()
                .position(|m| m.role == step.role && m.index == step.member)
                .ok_or_else(|| Internal::Replay("a member that does not exist".to_owned()))?;
            Ok(if step.starts {
                Action::Launch(member)
            } else {
                Action::Step(member)
            })
        })
        .collect()
}
