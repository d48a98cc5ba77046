//! Counterexamples beside the one that decided.

use std::time::Duration;

use crate::encoding::search;
use crate::hunt::Hang;
use crate::hunt::Hunter;
use crate::protocol::Protocol;
use crate::semantics::hazards::search::Runs;
use crate::witness;
use crate::witness::Witness;

use super::Property;
use super::deadlock::Internal;
use super::deadlock::Settings;
use super::deadlock::order;
use super::decision::Refutation;

/// Time for them all.
const TIME: Duration = Duration::from_secs(10);

/// Up to `wanted` further counterexamples, each replayed: for a deadlock such in each of which other
/// statements of other roles wait in vain, otherwise such that are about other statements, roles or
/// objects. `left` is what is left of the time.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn further(
    protocol: &Protocol,
    property: Property,
    refutation: &Refutation,
    wanted: usize,
    settings: &Settings<'_>,
    left: Duration,
) -> Result<Vec<Witness>, Internal> {
    let tell = |what: &str| (settings.tell)(what);
    let objectives = settings.objectives.clone();
    let objectives = objectives.unwrap_or_else(|| search::default_objectives(protocol));
    let order = order(protocol, &objectives);
    let hunter = Hunter::new(protocol, order, settings.cancel, &tell);
    let mut hunter = hunter.looking_for(property);
    let watch = hunter.watch(left.min(TIME));
    let known = refutation.input.clone();
    let found = if property == Property::Deadlock {
        let known = Hang::of(known, refutation.schedule.clone());
        hunter.further(&known, wanted, &watch)
    } else {
        let replayed = witness::replay(protocol, &refutation.witness);
        let replayed = replayed.map_err(|error| Internal::Replay(error.to_string()))?;
        let runs = Runs {
            first: replayed.schedule,
            second: replayed.second,
        };
        hunter.distinct(&Hang::by(known, runs), wanted, &watch)
    };
    let found = found.into_iter();
    found
        .map(|hang| {
            let witness = match property {
                Property::Deadlock => witness::record(protocol, &hang.input, &hang.schedule),
                _ => witness::record_hazard(protocol, &hang.input, property, &hang.runs()),
            };
            let witness = witness.map_err(|error| Internal::Replay(error.to_string()))?;
            witness::replay(protocol, &witness)
                .map_err(|error| Internal::Replay(error.to_string()))?;
            Ok(witness)
        })
        .collect()
}
