//! Decides whether a protocol can reach a hang that was observed.

use std::time::Duration;
use std::time::Instant;

use super::Internal;
use super::Shared;
use super::ahead;
use super::deadlock::Settings;
use super::decision::Decision;
use super::decision::Refutation;
use super::decision::Verdict;
use super::engine;
use crate::certificate;
use crate::deadline;
use crate::hunt::Hang;
use crate::hunt::Watch;
use crate::hunt::observed;
use crate::hunt::observed::Search;
use crate::hunt::observed::Wanted;
use crate::observation::bind::Bound;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;
use crate::witness;

/// What is known of an observed hang.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A run leads there; the decision refutes freedom from deadlock by it.
    Reached(Box<Decision>),
    /// No run gets stuck at all: a proof.
    NeverStuck(Box<Decision>),
    /// Every run of every input was explored, and none leads there.
    Explored {
        /// Another hang of the protocol.
        other: Option<Box<Decision>>,
    },
    /// None was found.
    NotFound {
        /// Among which runs, as words that fit after "none was found".
        within: String,
        /// Another hang of the protocol.
        other: Option<Box<Decision>>,
        /// Why freedom from deadlock is not proved either, where no hang is known.
        reason: Option<String>,
    },
    /// Whether the runs of the protocol are runs of the kernel is not known.
    Open {
        /// Why.
        reason: &'static str,
    },
}

/// As a divisor of the time: what the first search gets, and what the proof gets.
const SHARE: u32 = 3;

/// Looks for a run to the state that was seen at small values, then for a proof that no run gets stuck, then
/// at larger values.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn decide(
    protocol: &Protocol,
    narrowing: &Narrowing,
    bound: &Bound<'_>,
    settings: &Settings<'_>,
) -> Result<Answer, Internal> {
    let started = Instant::now();
    let accepts = |instance: &_, state: &_| bound.is_seen_in(instance, state);
    let wanted = Wanted {
        accepts: &accepts,
        tells_apart: bound.tells_apart(),
    };
    let watch = |time: Duration| Watch {
        deadline: deadline::after(time),
        cancel: settings.cancel,
    };
    let mut found = Search::default();
    let time = settings.timeout / SHARE;
    let near = 0..=observed::NEAR;
    observed::search(
        protocol,
        wanted,
        near,
        &watch(time),
        settings.tell,
        &mut found,
    );
    let of_kernel = |hang: &Hang| ahead::hangs(protocol, &hang.input, &hang.schedule);
    found.other = found.other.filter(of_kernel);
    let mut reason = None;
    if found.reached.is_none() && found.other.is_none() && !found.complete {
        let settings = Settings {
            timeout: time,
            objectives: None,
            ..*settings
        };
        let decision = super::decide(protocol, narrowing, Property::Deadlock, &settings)?;
        match &decision.verdict {
            Verdict::Proved(_) => return Ok(Answer::NeverStuck(Box::new(decision))),
            Verdict::Refuted(refutation) => {
                let (input, schedule) = (refutation.input.clone(), refutation.schedule.clone());
                found.other = Some(Hang::of(input, schedule));
            }
            Verdict::Bounded { reason: why, .. } | Verdict::Unknown { reason: why, .. } => {
                reason = Some(why.clone());
            }
        }
    }
    if found.reached.is_none() && !found.over {
        let left = settings.timeout.saturating_sub(started.elapsed());
        let far = observed::NEAR + 1..=observed::FAR;
        observed::search(
            protocol,
            wanted,
            far,
            &watch(left),
            settings.tell,
            &mut found,
        );
    }
    found.other = found.other.filter(of_kernel);
    if let Some(hang) = &found.reached {
        if !of_kernel(hang) {
            let reason = ahead::SPARED;
            return Ok(Answer::Open { reason });
        }
        let first = match found.radius {
            Some(_) => format!(
                "parameters are tried from their least values on; none was found {}",
                observed::describe(protocol, &found)
            ),
            None => "found at the least values of the parameters".to_owned(),
        };
        let decision = shown(protocol, hang, first, started.elapsed())?;
        confirm(protocol, bound, &decision)?;
        return Ok(Answer::Reached(Box::new(decision)));
    }
    let other = match &found.other {
        None => None,
        Some(hang) => {
            let words = "found on the way".to_owned();
            Some(Box::new(shown(protocol, hang, words, started.elapsed())?))
        }
    };
    if found.complete {
        let settings = Settings {
            timeout: settings.timeout.saturating_sub(started.elapsed()),
            ..settings.clone()
        };
        if let Some(reason) = ahead::open(protocol, narrowing, &settings, &Shared::default()) {
            return Ok(Answer::Open { reason });
        }
        return Ok(Answer::Explored { other });
    }
    Ok(Answer::NotFound {
        within: observed::describe(protocol, &found),
        other,
        reason,
    })
}

/// The reference interpreter has the last word: the run ends in what was seen.
fn confirm(protocol: &Protocol, bound: &Bound<'_>, decision: &Decision) -> Result<(), Internal> {
    let Verdict::Refuted(refutation) = &decision.verdict else {
        return Ok(());
    };
    let replayed = witness::replay(protocol, &refutation.witness)?;
    match bound.is_seen_in(&replayed.instance, &replayed.state) {
        true => Ok(()),
        false => Err(Internal::Replay(
            "another state than the one that was seen".to_owned(),
        )),
    }
}

/// A hang as a decision, recorded and replayed.
fn shown(
    protocol: &Protocol,
    hang: &Hang,
    smallest: String,
    elapsed: Duration,
) -> Result<Decision, Internal> {
    let witness = witness::record(protocol, &hang.input, &hang.schedule)?;
    witness::replay(protocol, &witness)?;
    let refutation = Refutation {
        input: hang.input.clone(),
        schedule: hang.schedule.clone(),
        witness,
        smallest,
    };
    Ok(Decision {
        property: Property::Deadlock,
        verdict: Verdict::Refuted(Box::new(refutation)),
        undefined: false,
        unfollowed: false,
        engine: engine::OBSERVED,
        elapsed,
        assumptions: certificate::environment(protocol, Property::Deadlock),
        notes: Vec::new(),
    })
}
