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

/// What a search for further counterexamples came to.
#[derive(Debug)]
pub struct Others {
    /// Those that were found.
    pub witnesses: Vec<Witness>,
    /// Where there are fewer than wanted: how many there are, and within which limits.
    pub note: Option<String>,
}

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
) -> Result<Others, Internal> {
    let tell = |what: &str| (settings.tell)(what);
    let objectives = settings.objectives.clone();
    let objectives = objectives.unwrap_or_else(|| search::default_objectives(protocol));
    let order = order(protocol, &objectives);
    let hunter = Hunter::new(protocol, order, settings.cancel, &tell);
    let mut hunter = hunter.looking_for(property);
    let watch = hunter.watch(left.min(TIME));
    let known = refutation.input.clone();
    let (found, note) = if property == Property::Deadlock {
        let known = Hang::of(known, refutation.schedule.clone());
        let found = hunter.further(&known, wanted, &watch);
        let number = found.hangs.len();
        let what = "no other choice of statements was found at which roles wait in vain";
        let note = |limits| format!("{}: {what} ({limits})", asked_for(wanted, number));
        (found.hangs, found.limits.map(note))
    } else {
        let replayed = witness::replay(protocol, &refutation.witness);
        let replayed = replayed.map_err(|error| Internal::Replay(error.to_string()))?;
        let runs = Runs {
            first: replayed.schedule,
            second: replayed.second,
        };
        let found = hunter.distinct(&Hang::by(known, runs), wanted, &watch);
        let what = "no other was found that differs in more than its values";
        let note = format!("{}: {what}", asked_for(wanted, found.len()));
        let fewer = found.len() < wanted;
        (found, fewer.then_some(note))
    };
    let witnesses: Result<Vec<Witness>, Internal> = found
        .into_iter()
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
        .collect();
    Ok(Others {
        witnesses: witnesses?,
        note,
    })
}

/// How many there are of how many, the first one included.
fn asked_for(wanted: usize, found: usize) -> String {
    let asked = wanted.saturating_add(1);
    match found {
        0 => format!("1 counterexample of the {asked} asked for"),
        more => format!("{} counterexamples of the {asked} asked for", more + 1),
    }
}
