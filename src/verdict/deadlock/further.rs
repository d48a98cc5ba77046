//! Counterexamples beside the one that decided.

use std::time::Duration;

use crate::encoding::search;
use crate::hunt::Hang;
use crate::hunt::Hunter;
use crate::protocol::Protocol;
use crate::witness;
use crate::witness::Witness;

use super::super::decision::Refutation;
use super::Internal;
use super::Settings;
use super::concrete::order;

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

/// Up to `wanted` further counterexamples, each replayed, in each of which other statements of
/// other roles wait in vain. `left` is what is left of the time.
///
/// # Errors
///
/// Only when two parts of the program disagree.
pub fn further(
    protocol: &Protocol,
    refutation: &Refutation,
    wanted: usize,
    settings: &Settings<'_>,
    left: Duration,
) -> Result<Others, Internal> {
    let tell = |what: &str| (settings.tell)(what);
    let objectives = settings.objectives.clone();
    let objectives = objectives.unwrap_or_else(|| search::default_objectives(protocol));
    let order = order(protocol, &objectives);
    let mut hunter = Hunter::new(protocol, order, settings.cancel, &tell);
    let known = Hang::of(refutation.input.clone(), refutation.schedule.clone());
    let watch = hunter.watch(left.min(TIME));
    let found = hunter.further(&known, wanted, &watch);
    let note = found.limits.map(|limits| {
        let (all, asked) = (found.hangs.len() + 1, wanted + 1);
        let number = match all {
            1 => "1 counterexample".to_owned(),
            more => format!("{more} counterexamples"),
        };
        format!(
            "{number} of the {asked} asked for: no other choice of statements was found at which \
             roles wait in vain ({limits})"
        )
    });
    let witnesses: Result<Vec<Witness>, Internal> = found
        .hangs
        .into_iter()
        .map(|hang| {
            let witness = witness::record(protocol, &hang.input, &hang.schedule);
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
