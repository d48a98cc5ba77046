//! Verdicts: what was decided about a property, and what the decision rests on.

mod checked;
pub mod deadlock;
pub mod decision;
mod further;
pub mod hazard;
mod inputs;
mod shared;

use std::time::Duration;
use std::time::Instant;

use serde::Serialize;

use crate::certificate;
use crate::patience;
use crate::protocol::Protocol;
use crate::text::Narrowing;

use deadlock::Internal;
use deadlock::Settings;
use decision::Decision;
use decision::Verdict;
use inputs::Inputs;

pub use further::further;
pub use shared::Shared;

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
    let end = patience::deadline(settings.timeout.saturating_add(grace));
    patience::until(end, || {
        let inputs = Inputs::of(protocol, INPUTS);
        let unknown = |reason: &str| Verdict::Unknown {
            reason: reason.to_owned(),
            span: None,
        };
        if inputs == Inputs::None {
            return Ok(Decision {
                property,
                verdict: unknown(inputs.reason().unwrap_or_default()),
                engine: "none",
                elapsed: started.elapsed(),
                assumptions: certificate::environment(protocol, property),
                notes: Vec::new(),
            });
        }
        let mut decision = match property {
            Property::Deadlock => deadlock::decide_sharing(protocol, narrowing, settings, shared),
            _ => hazard::decide(protocol, narrowing, property, settings, shared),
        }?;
        // What is refuted or searched has shown an input.
        if let (Verdict::Proved(_), Some(reason)) = (&decision.verdict, inputs.reason()) {
            decision.verdict = unknown(reason);
        }
        Ok(decision)
    })
}

/// How much longer than it may take a decision goes on where a proof is being checked: a part of the time,
/// as a divisor, and this. Nothing new is begun then.
const GRACE_SHARE: u32 = 20;
const GRACE: Duration = Duration::from_millis(300);

/// Time to find out whether there is any input.
const INPUTS: Duration = Duration::from_secs(2);

/// A property a protocol can be checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// No reachable state in which nobody can step and not everybody has finished.
    Deadlock,
    /// No phase completes with an arrival missing that belonged to it.
    EarlyCompletion,
    /// No parity wait returns on a phase that is not the one it is meant for.
    EarlyPass,
    /// No parity wait whose barrier moved on by two phases; no `==` wait that was overshot.
    LappedWait,
    /// No generation takes more arrivals than it expects.
    OverArrival,
    /// Expected and delivered transaction bytes agree.
    TxMismatch,
    /// Nothing is used before its initialization is visible.
    Uninitialized,
    /// No two unordered accesses to one slot, one of them a write.
    Race,
    /// Every read sees the write it is meant to see.
    StaleRead,
    /// Pools of registers and tensor memory suffice.
    Resources,
    /// What the text claims of states.
    Assertion,
}

impl Property {
    /// Every property, in the order of the command contract.
    pub const ALL: [Property; 11] = [
        Property::Deadlock,
        Property::EarlyCompletion,
        Property::EarlyPass,
        Property::LappedWait,
        Property::OverArrival,
        Property::TxMismatch,
        Property::Uninitialized,
        Property::Race,
        Property::StaleRead,
        Property::Resources,
        Property::Assertion,
    ];

    /// The name used in files, options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Property::Deadlock => "deadlock",
            Property::EarlyCompletion => "early_completion",
            Property::EarlyPass => "early_pass",
            Property::LappedWait => "lapped_wait",
            Property::OverArrival => "over_arrival",
            Property::TxMismatch => "tx_mismatch",
            Property::Uninitialized => "uninitialized",
            Property::Race => "race",
            Property::StaleRead => "stale_read",
            Property::Resources => "resources",
            Property::Assertion => "assertion",
        }
    }

    /// What it says, as a sentence.
    pub fn description(self) -> &'static str {
        match self {
            Property::Deadlock => "No reachable state in which nobody can go on.",
            Property::EarlyCompletion => {
                "No phase completes without an arrival that belongs to it."
            }
            Property::EarlyPass => "No wait by parity passes on a stale phase.",
            Property::LappedWait => "No wait whose barrier or counter has moved on past it.",
            Property::OverArrival => "No generation takes more arrivals than it expects.",
            Property::TxMismatch => "Expected and delivered transaction bytes agree.",
            Property::Uninitialized => "Nothing is used before its initialization is visible.",
            Property::Race => "No two unordered accesses to one slot, one of them a write.",
            Property::StaleRead => "Every read sees the write it is meant to see.",
            Property::Resources => "Pools of registers and tensor memory suffice.",
            Property::Assertion => {
                "Every assertion holds at its point, and every invariant always."
            }
        }
    }

    /// The property of that name.
    pub fn from_name(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|p| p.name() == name)
    }
}
