//! Proofs by exhaustive search, if the domain is finite and the time suffices.

use std::time::Instant;

use crate::certificate::argument::Argument;
use crate::certificate::exhaustive;
use crate::certificate::exhaustive::Exhaustive;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::explore::Options;
use crate::text::Narrowing;

use super::checked;
use super::checked::Checked;
use super::deadlock::Settings;
use super::shared::Shared;

/// Whether there is an end to what can be searched.
pub(super) fn is_finite(protocol: &Protocol) -> bool {
    exhaustive::points(protocol).is_ok()
}

/// Searches everything until then; nothing where that is not complete.
pub(super) fn searched(
    protocol: &Protocol,
    property: Property,
    deadline: Instant,
    settings: &Settings<'_>,
) -> Option<Exhaustive> {
    let options = Options {
        deadline: Some(deadline),
        cancel: Some(settings.cancel),
        ..exhaustive::limits()
    };
    exhaustive::explored(protocol, property, &options, settings.tell).ok()
}

/// Has the checker search again what a search found complete.
pub(super) fn check(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    found: Exhaustive,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Checked {
    let argument = Argument::Exhaustive(found);
    let known = (settings.timeout, &shared.known);
    checked::check(
        protocol,
        narrowing,
        property,
        argument,
        known,
        settings.tell,
    )
}

/// Why what was searched completely is not proved.
pub(super) fn unchecked(reason: &str) -> String {
    format!("everything was searched, but {reason}")
}
