//! Looks for a single edit of a text that turns a refuted protocol into a proved one.
//!
//! `edits` lists edits as an author would describe them, the smallest changes first. Each candidate is run at small
//! values. Values at which the original or another candidate failed come first. Most candidates fail there. A
//! candidate that does not fail also has to do the work of the original. Finally, every property that was asked for
//! has to be proved, each with a certificate that has been checked against the edited text. This code does not have
//! to be trusted: a repair is as good as a verdict of [`crate::verdict`] on the edited text.

pub mod diff;
mod edits;
mod trial;
mod work;

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use crate::deadline;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::step;
use crate::semantics::unfold;
use crate::text;
use crate::text::Narrowing;
use crate::verdict;
use crate::verdict::Shared;
use crate::verdict::deadlock::Internal;
use crate::verdict::deadlock::Settings;
use crate::verdict::decision::Decision;
use crate::verdict::decision::Verdict;

pub use edits::Edit;
pub use edits::Kind;

use edits::Stuck;

use trial::Trial;
use work::Behaviour;
use work::Work;

/// The time for the verdict on the original, as a divisor of the whole.
const ORIGINAL_SHARE: u32 = 3;

/// The share of the time that is reserved for the refuted property alone, as a divisor.
const REST: u32 = 4;

/// The most time for one property of one candidate, as a divisor of the whole.
const EACH: u32 = 4;

/// The radius of the small values at which the work of protocols is compared.
const WORK_RADIUS: i64 = 2;

/// The most points at which it is compared.
const WORK_POINTS: usize = 81;

/// What is asked for.
pub struct Wanted<'a> {
    /// The narrowing that has been applied to the protocol.
    pub narrowing: &'a Narrowing,
    /// The properties that have to hold; if empty, every property that applies.
    pub properties: &'a [Property],
    /// How many repairs are enough.
    pub most: usize,
}

/// The result of a search.
#[derive(Debug)]
pub struct Outcome {
    /// The verdicts on the original, up to the first that is REFUTED.
    pub original: Vec<Decision>,
    /// The properties that were asked for.
    pub properties: Vec<Property>,
    /// Edits after which the properties are proved. Complete ones come first, then those that change least beyond the
    /// failure, then the smallest changes.
    pub repairs: Vec<Repair>,
    /// How many edits had which result.
    pub tally: Tally,
    /// Whether only the first refuted property was considered, because no edit makes all properties hold.
    pub partial: bool,
}

/// An edit after which everything that was asked for is proved.
#[derive(Debug)]
pub struct Repair {
    /// The edit.
    pub edit: Edit,
    /// The edited text.
    pub source: String,
    /// A verdict for each property that still applies. Each is PROVED, except for properties that nobody asked for by
    /// name. These may be neither proved nor refuted.
    pub decisions: Vec<Decision>,
}

impl Repair {
    /// Whether every verdict is PROVED.
    pub fn is_complete(&self) -> bool {
        let mut decisions = self.decisions.iter();
        decisions.all(|decision| decision.verdict.is_proved())
    }
}

/// How many edits had which result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All edits that were tried, because they have a meaning.
    pub tried: usize,
    /// Repairs, including those that are not among the best.
    pub repairs: usize,
    /// Edits after which a property is refuted.
    pub refuted: usize,
    /// Edits after which the properties hold only because members do less.
    pub idle: usize,
    /// Edits that behave like a repair that was found before.
    pub same: usize,
    /// Edits after which the properties are neither refuted nor proved in the time.
    pub open: usize,
    /// Edits that were not tried, because time was up or enough repairs were found.
    pub left: usize,
}

/// Looks for repairs of a protocol. The protocol is its text, narrowed.
///
/// # Errors
///
/// Only if two parts of the program contradict each other.
pub fn repair(
    protocol: &Protocol,
    wanted: &Wanted<'_>,
    settings: &Settings<'_>,
) -> Result<Outcome, Internal> {
    let end = deadline::after(settings.timeout);
    let properties = match wanted.properties {
        [] => verdict::hazard::applicable(protocol),
        asked => asked.to_vec(),
    };
    // If there are several properties that nobody named, a part of the time is reserved for the refuted one alone.
    let several = wanted.properties.is_empty() && properties.len() > 1;
    let search = Search {
        protocol,
        wanted,
        settings,
        end: match several {
            true => end - settings.timeout / REST,
            false => end,
        },
        properties,
    };
    let outcome = search.run()?;
    let mut original = outcome.original.iter();
    let failing = original.find(|d| matches!(d.verdict, Verdict::Refuted(_)));
    let Some(failing) = failing.filter(|_| several && outcome.repairs.is_empty()) else {
        return Ok(outcome);
    };
    let alone = Search {
        end,
        properties: vec![failing.property],
        ..search
    };
    let found = alone.run()?;
    match found.repairs.is_empty() {
        true => Ok(outcome),
        false => Ok(Outcome {
            partial: true,
            ..found
        }),
    }
}

struct Search<'a> {
    protocol: &'a Protocol,
    wanted: &'a Wanted<'a>,
    settings: &'a Settings<'a>,
    end: Instant,
    properties: Vec<Property>,
}

/// The result for one candidate.
enum Fate {
    Refuted,
    Idle,
    Open,
    Same,
    Proved(Vec<Decision>, Behaviour),
}

impl Search<'_> {
    fn run(&self) -> Result<Outcome, Internal> {
        let mut trial = Trial::new(&self.properties, self.settings.cancel);
        let original = self.original(&mut trial)?;
        let mut outcome = Outcome {
            original,
            properties: self.properties.clone(),
            repairs: Vec::new(),
            tally: Tally::default(),
            partial: false,
        };
        let refuted = |d: &Decision| matches!(d.verdict, Verdict::Refuted(_));
        let refuted = outcome.original.iter().find(|d| refuted(d));
        let Some(failing) = refuted.map(|d| d.property) else {
            return Ok(outcome);
        };
        let source = &self.protocol.source;
        let Some(file) = text::syntax(source) else {
            return Ok(outcome);
        };
        let points = trial::points(self.protocol, WORK_RADIUS, WORK_POINTS);
        let work = Work::of(self.protocol, &points);
        let stuck = outcome.original.iter().find_map(|d| self.stuck(d));
        let edits = edits::all(source, &file, &stuck.unwrap_or_default());
        let all = edits.len();
        let before = work.behaviour(self.protocol);
        let mut known = Vec::new();
        let mut reaches = Vec::new();
        for (number, edit) in edits.into_iter().enumerate() {
            let complete = outcome.repairs.iter().filter(|r| r.is_complete()).count();
            if complete >= self.wanted.most || self.over() {
                outcome.tally.left = all - number;
                break;
            }
            let changed = edit.apply(source);
            let Some(candidate) = self.candidate(&changed) else {
                continue;
            };
            (self.settings.tell)(&format!(
                "trying edit {} of {all}: {}",
                number + 1,
                edit.what
            ));
            outcome.tally.tried += 1;
            match self.fate(&candidate, &mut trial, &work, (&known, failing))? {
                Fate::Refuted => outcome.tally.refuted += 1,
                Fate::Idle => outcome.tally.idle += 1,
                Fate::Open => outcome.tally.open += 1,
                Fate::Same => outcome.tally.same += 1,
                Fate::Proved(decisions, does) => {
                    outcome.tally.repairs += 1;
                    reaches.push(work.reach(&before, &does));
                    // Fences and scopes are not operations, so behaviours do not show them.
                    if edit.kind != Kind::Memory {
                        known.push(does);
                    }
                    outcome.repairs.push(Repair {
                        edit,
                        source: changed,
                        decisions,
                    });
                }
            }
        }
        let mut ranked: Vec<_> = reaches.into_iter().zip(outcome.repairs).collect();
        ranked.sort_by_key(|(reach, repair)| {
            let doubts = match repair.edit.kind {
                // Such a repair is right only for some launches.
                Kind::Residency => 2,
                // A member whose statements are reordered may do something before it is known to be due.
                Kind::Order => 1,
                _ => 0,
            };
            (!repair.is_complete(), doubts, *reach)
        });
        ranked.truncate(self.wanted.most);
        outcome.repairs = ranked.into_iter().map(|(_, repair)| repair).collect();
        Ok(outcome)
    }

    fn over(&self) -> bool {
        let cancelled = self.settings.cancel.load(Ordering::Relaxed);
        cancelled || Instant::now() >= self.end
    }

    /// The verdicts on the original, up to the first one that is REFUTED. Properties that fail in a quick run come
    /// first.
    fn original(&self, trial: &mut Trial<'_>) -> Result<Vec<Decision>, Internal> {
        let failing = trial.fails(self.protocol);
        let mut order = self.properties.clone();
        order.sort_by_key(|property| Some(*property) != failing);
        let shared = Shared::default();
        let mut all = Vec::new();
        for property in order {
            let settings = Settings {
                timeout: self.left().min(self.settings.timeout / ORIGINAL_SHARE),
                ..self.settings.clone()
            };
            let decision = verdict::decide_sharing(
                self.protocol,
                self.wanted.narrowing,
                property,
                &settings,
                &shared,
            )?;
            if let Verdict::Refuted(refutation) = &decision.verdict {
                trial.remember(refutation.input.params.clone());
                all.push(decision);
                break;
            }
            all.push(decision);
        }
        Ok(all)
    }

    /// The members that wait at the end of a counterexample, and what they wait for.
    fn stuck(&self, decision: &Decision) -> Option<Stuck> {
        let Verdict::Refuted(refutation) = &decision.verdict else {
            return None;
        };
        let instance = unfold::instantiate(self.protocol, &refutation.input).ok()?;
        let mut state = step::initial(&instance);
        for action in &refutation.schedule {
            step::apply(&instance, &mut state, *action).ok()?;
        }
        let mut stuck = Stuck::default();
        for blocked in step::blocked(&instance, &state) {
            stuck.roles.insert(instance.members[blocked.member].role);
            if let Some((object, _)) = instance.cell_place(blocked.op.cell) {
                let object = self.protocol.objects.get(object.0);
                stuck
                    .objects
                    .extend(object.map(|object| object.name.clone()));
            }
        }
        Some(stuck)
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    fn candidate(&self, source: &str) -> Option<Protocol> {
        let mut protocol = text::load(source.as_bytes()).ok()?;
        text::narrow(&mut protocol, self.wanted.narrowing).ok()?;
        Some(protocol)
    }

    fn fate(
        &self,
        candidate: &Protocol,
        trial: &mut Trial<'_>,
        work: &Work,
        (known, failing): (&[Behaviour], Property),
    ) -> Result<Fate, Internal> {
        if trial.fails(candidate).is_some() {
            return Ok(Fate::Refuted);
        }
        if work.does_less(candidate) {
            return Ok(Fate::Idle);
        }
        let does = work.behaviour(candidate);
        if known.contains(&does) {
            return Ok(Fate::Same);
        }
        let shared = Shared::default();
        let mut decisions = Vec::new();
        for property in &self.properties {
            // The cause may be gone altogether. For example, the initialisations that came too late may have been
            // removed.
            if verdict::hazard::inapplicable(candidate, *property).is_some() {
                continue;
            }
            let settings = Settings {
                timeout: self.left().min(self.settings.timeout / EACH),
                ..self.settings.clone()
            };
            if settings.timeout.is_zero() {
                return Ok(Fate::Open);
            }
            let narrowing = self.wanted.narrowing;
            let decision =
                verdict::decide_sharing(candidate, narrowing, *property, &settings, &shared)?;
            match &decision.verdict {
                Verdict::Proved(_) => decisions.push(decision),
                Verdict::Refuted(refutation) => {
                    trial.remember(refutation.input.params.clone());
                    return Ok(Fate::Refuted);
                }
                Verdict::Bounded { .. } | Verdict::Unknown { .. } => {
                    let needed = [Property::Deadlock, failing].contains(property);
                    if needed || !self.wanted.properties.is_empty() {
                        return Ok(Fate::Open);
                    }
                    decisions.push(decision);
                }
            }
        }
        Ok(Fate::Proved(decisions, does))
    }
}
