//! Counterexamples beside the one that decided.

use std::time::Duration;

use crate::encoding::search;
use crate::hunt::Hang;
use crate::hunt::Hunter;
use crate::hunt::distinct;
use crate::protocol::Protocol;
use crate::semantics::data::Data;
use crate::semantics::hazards::Hazard;
use crate::semantics::hazards::search::Runs;
use crate::semantics::instance::Instance;
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
    let replayed = |error: witness::ReplayError| Internal::Replay(error.to_string());
    let mut found = Vec::new();
    if property == Property::Deadlock {
        let known = Hang::of(known, refutation.schedule.clone());
        for hang in hunter.further(&known, wanted, &watch) {
            let witness = witness::record(protocol, &hang.input, &hang.schedule);
            found.push(witness.map_err(replayed)?);
        }
    } else {
        let shown = witness::replay(protocol, &refutation.witness).map_err(replayed)?;
        let runs = Runs {
            first: shown.schedule,
            second: shown.second,
        };
        for (hang, place) in hunter.distinct(&Hang::by(known, runs), wanted, &watch) {
            let same = |instance: &Instance, data: Option<&Data>, hazard: &Hazard| {
                distinct::place(instance, data, hazard) == place
            };
            let (input, runs) = (&hang.input, hang.runs());
            let witness = witness::record_hazard_where(protocol, input, property, &runs, &same);
            found.push(witness.map_err(replayed)?);
        }
    }
    for witness in &found {
        witness::replay(protocol, witness).map_err(replayed)?;
    }
    Ok(found)
}
