//! Proofs of properties other than deadlock, by the rules that show more than that.

use std::time::Duration;
use std::time::Instant;

use crate::deadline;
use crate::proof;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;
use crate::verdict::checked;
use crate::verdict::checked::Checked;
use crate::verdict::deadlock::Settings;
use crate::verdict::decision::Proof;
use crate::verdict::kernel;
use crate::verdict::shared::Shared;

/// What an attempt came to.
pub(super) enum Attempt {
    /// A certificate that has been checked.
    Proved {
        /// The proof.
        proof: Box<Proof>,
        /// Which rule.
        engine: &'static str,
    },
    /// There is none.
    Nothing {
        /// Why, as a lowercase fragment.
        reason: String,
        /// Parameter values at which a violation is suspected.
        suspects: Vec<Vec<i64>>,
    },
}

/// Tries to prove the property for the whole domain in so much time.
pub(super) fn prove(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    time: Duration,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Attempt {
    let deadline = deadline::after(time);
    let mut suspects = Vec::new();
    let mut reason = format!("no proof rule covers `{}`", property.name());
    if let Some((proof, engine)) =
        kernel::prove(protocol, narrowing, property, time, settings, shared)
    {
        return Attempt::Proved { proof, engine };
    }
    for layer in proof::layers_for(protocol, property) {
        (settings.tell)(&format!("looking for a proof by the {} rule", layer.name()));
        let left = deadline.saturating_duration_since(Instant::now());
        let found = shared.search(protocol, layer, left, settings.cancel, settings.tell);
        let each = match &found {
            // It has been discharged once, so it only takes as long again.
            proof::Guess::Found(_) => settings.timeout.max(Duration::from_secs(10)),
            _ => deadline.saturating_duration_since(Instant::now()),
        };
        match found {
            proof::Guess::Found(argument) | proof::Guess::Fitting(argument) => {
                let known = (each, &shared.known);
                let tell = settings.tell;
                match checked::check(protocol, narrowing, property, argument, known, tell) {
                    Checked::Proved { proof, engine } => {
                        return Attempt::Proved { proof, engine };
                    }
                    Checked::Open {
                        reason: why,
                        suspects: at,
                    } => {
                        if layer.is_of_the_whole() {
                            reason = why;
                            suspects = at;
                        }
                    }
                }
            }
            proof::Guess::Nothing { reason: why, .. } if layer.is_of_the_whole() => reason = why,
            proof::Guess::Nothing { .. } => {}
        }
    }
    Attempt::Nothing { reason, suspects }
}
