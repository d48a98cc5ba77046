//! Verdicts: the decision about a property, and the evidence for it.

pub mod ahead;
pub mod cached_decision;
mod checked;
pub mod deadlock;
pub mod decision;
pub mod engine;
mod exhaustive;
mod further;
pub mod hang;
pub mod hazard;
mod inputs;
mod kernel;
mod points;
mod shared;

use std::time::Duration;
use std::time::Instant;

use crate::certificate;
use crate::deadline;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;

use deadlock::Internal;
use deadlock::Settings;
use decision::Decision;
use decision::Verdict;
use inputs::Inputs;
pub use inputs::NOTHING_TO_DECIDE;

pub use further::further;
pub use points::Failing;
pub use points::first_failing;
pub use shared::Shared;

/// Why a proof would say nothing: no parameter values are known that satisfy the domain and the assumptions.
pub fn nothing_to_decide(protocol: &Protocol) -> Option<&'static str> {
    Inputs::of(protocol, INPUTS).reason()
}

/// Decides a property of a protocol. `narrowing` is what has already been applied to it.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn decide(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    settings: &Settings<'_>,
) -> Result<Decision, Internal> {
    decide_sharing(protocol, narrowing, property, settings, &Shared::default())
}

/// The same; `shared` is what is known from other properties of the protocol, and is added to.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn decide_sharing(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Result<Decision, Internal> {
    let started = Instant::now();
    let grace = settings.timeout / GRACE_SHARE + GRACE;
    let end = deadline::after(settings.timeout.saturating_add(grace));
    deadline::until(end, || {
        let inputs = Inputs::of(protocol, INPUTS);
        let unknown = |reason: &str| Verdict::Unknown {
            reason: reason.to_owned(),
            span: None,
        };
        let undecided = |reason: &str| Decision {
            property,
            verdict: unknown(reason),
            undefined: false,
            unfollowed: false,
            engine: "none",
            elapsed: started.elapsed(),
            assumptions: certificate::environment(protocol, property),
            notes: Vec::new(),
        };
        if inputs == Inputs::None {
            return Ok(undecided(inputs.reason().unwrap_or_default()));
        }
        let decided = match property {
            Property::Deadlock => deadlock::decide_sharing(protocol, narrowing, settings, shared),
            _ => hazard::decide(protocol, narrowing, property, settings, shared),
        };
        let mut decision = match decided {
            Err(Internal::Late) => return Ok(undecided(deadlock::LATE)),
            decided => decided?,
        };
        // What is refuted or searched has shown an input.
        if let (Verdict::Proved(_), Some(reason)) = (&decision.verdict, inputs.reason()) {
            decision.verdict = unknown(reason);
        }
        ahead::doubt(protocol, narrowing, settings, shared, &mut decision);
        Ok(decision)
    })
}

/// How much longer than it may take a decision goes on where a proof is being checked: a part of the time,
/// as a divisor, and this. Nothing new is begun then.
const GRACE_SHARE: u32 = 20;
const GRACE: Duration = Duration::from_millis(300);

/// Time to find out whether there is any input.
const INPUTS: Duration = Duration::from_secs(2);
