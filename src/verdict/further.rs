//! Further counterexamples besides the one that decided.

use std::time::Duration;

use crate::encoding::search;
use crate::hunt::Hang;
use crate::hunt::Hunter;
use crate::hunt::distinct;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::data::Data;
use crate::semantics::hazards::Hazard;
use crate::semantics::hazards::search::Runs;
use crate::semantics::instance::Instance;
use crate::witness;
use crate::witness::Witness;

use super::ahead;
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
    let replayed = |error: witness::ReplayError| Internal::Replay(error.to_string());
    let mut witnesses = Vec::new();
    let note = if property == Property::Deadlock {
        let known = Hang::of(known, refutation.schedule.clone());
        let of_kernel = |hang: &Hang| ahead::hangs(protocol, &hang.input, &hang.schedule);
        let found = hunter.further(&known, wanted, &of_kernel, &watch);
        for hang in found.hangs {
            let witness = witness::record(protocol, &hang.input, &hang.schedule);
            witnesses.push(witness.map_err(replayed)?);
        }
        let what = "no other choice of statements was found at which roles wait in vain";
        found.limits.map(|limits| format!("{what} ({limits})"))
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
            witnesses.push(witness.map_err(replayed)?);
        }
        let what = "no other was found that differs in more than its values";
        (witnesses.len() < wanted).then(|| what.to_owned())
    };
    for witness in &witnesses {
        witness::replay(protocol, witness).map_err(replayed)?;
    }
    let note = note.map(|note| format!("{}: {note}", asked_for(wanted, witnesses.len())));
    Ok(Others { witnesses, note })
}

/// How many there are of how many, the first one included.
fn asked_for(wanted: usize, found: usize) -> String {
    let asked = wanted.saturating_add(1);
    match found {
        0 => format!("1 counterexample of the {asked} asked for"),
        more => format!("{} counterexamples of the {asked} asked for", more + 1),
    }
}
