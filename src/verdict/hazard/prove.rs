//! Where proofs of properties other than deadlock are tried.

use std::time::Duration;

use crate::protocol::Protocol;
use crate::text::Narrowing;
use crate::verdict::Property;
use crate::verdict::deadlock::Internal;
use crate::verdict::deadlock::Settings;
use crate::verdict::decision::Proof;

/// What an attempt came to.
pub(super) enum Attempt {
    /// A certificate that has been checked.
    #[expect(dead_code)]
    Proved {
        /// The proof.
        proof: Box<Proof>,
        /// Which rule.
        engine: &'static str,
        /// What it rests on.
        assumptions: Vec<String>,
    },
    /// Why there is none, as a lowercase fragment.
    Nothing(String),
}

/// Tries to prove the property for the whole domain in so much time.
///
/// # Errors
///
/// A proof that the checker does not accept.
pub(super) fn prove(
    _protocol: &Protocol,
    _narrowing: &Narrowing,
    property: Property,
    _time: Duration,
    _settings: &Settings<'_>,
) -> Result<Attempt, Internal> {
    Ok(Attempt::Nothing(format!(
        "no proof rule covers `{}`",
        property.name()
    )))
}
