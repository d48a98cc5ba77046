//! Searches for a run to a stuck state that a user has observed, for example in a debugger.
//!
//! Parameter values are tried in order of their distance from the least values. A hang that was observed at a large size
//! mostly occurs at a small size, too, where the run is short enough to read. At each input the search explores every
//! schedule as long as that is cheap, so that it finds a shortest run. If it is not cheap, it tries adversarial schedules.
//! Runs are those of [`crate::semantics::step`]. If the search finds nothing, that means something only if it was
//! complete.

use std::ops::RangeInclusive;

use super::Hang;
use super::INPUTS;
use super::LARGEST;
use super::LARGEST_START;
use super::WORK;
use super::Watch;
use super::bounds;
use super::grid;
use super::schedules;
use crate::protocol::Protocol;
use crate::semantics::explore;
use crate::semantics::explore::Accepts;
use crate::semantics::explore::SearchEnd;
use crate::semantics::inputs::Inputs;

/// The most states that are explored at one input.
const STATES: u64 = 30_000;

/// The distance from the least parameter values up to which this search runs before any other.
pub const NEAR: i64 = 2;

/// The distance at which the search ends.
pub const FAR: i64 = 12;

/// Divides the work for adversarial schedules at one input. This search looks for one stuck state, so it spends less on an
/// input than a search for any deadlock.
const SHARE: u64 = 8;

/// Describes the stuck states that count.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Whether a stuck state counts.
    pub accepts: Accepts<'a>,
    /// Whether this depends on which of several interchangeable members are blocked. Then there is no symmetry reduction.
    pub tells_apart: bool,
}

/// The result of a search so far.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// A run to a stuck state that counts.
    pub reached: Option<Hang>,
    /// The first run to another stuck state.
    pub other: Option<Hang>,
    /// The largest distance from the least values up to which all values were tried. `None` if there is none.
    pub radius: Option<i64>,
    /// Whether every schedule of every input in the domain was explored.
    pub complete: bool,
    /// Whether all values of the domain have been tried.
    pub over: bool,
    /// Whether the schedules of some input were not explored completely.
    partly: bool,
}

/// Searches for a run to a stuck state that counts, at the values at these distances from the least ones.
pub fn search(
    protocol: &Protocol,
    wanted: Wanted<'_>,
    radii: RangeInclusive<i64>,
    watch: &Watch<'_>,
    tell: &dyn Fn(&str),
    found: &mut Search,
) {
    for radius in radii {
        tell(&format!(
            "looking for this state up to {radius} above the least values"
        ));
        for params in grid::points(protocol, radius) {
            found.partly |= !point(protocol, &params, wanted, watch, found);
            if found.reached.is_some() || watch.over() {
                found.partly = true;
                return;
            }
        }
        found.radius = Some(radius);
        if grid::covers_domain(protocol, radius) {
            // Memory that is not cleared may hold larger values than the ones that are tried.
            found.complete = !found.partly && !protocol.has_open_starts();
            found.over = true;
            return;
        }
    }
}

/// Tries one combination of parameter values. Returns whether all of its inputs and schedules were explored.
fn point(
    protocol: &Protocol,
    params: &[i64],
    wanted: Wanted<'_>,
    watch: &Watch<'_>,
    found: &mut Search,
) -> bool {
    let Ok(inputs) = Inputs::new(protocol, params, &bounds(LARGEST)) else {
        return false;
    };
    let mut all = true;
    for (number, item) in inputs.enumerate() {
        let Ok((input, instance)) = item else {
            return false;
        };
        if number == INPUTS || watch.over() {
            return false;
        }
        let options = explore::Options {
            max_states: STATES,
            cancel: Some(watch.cancel),
            deadline: Some(watch.deadline),
            accepts: Some(wanted.accepts),
            symmetry: !wanted.tells_apart,
            ..explore::Options::default()
        };
        let explored = explore::explore(&instance, &options);
        if let Some(run) = explored.stuck {
            found.reached = Some(Hang::of(input, run));
            return false;
        }
        let through = explored.end == SearchEnd::Exhausted && explored.violation.is_none();
        if through && found.other.is_some() {
            continue;
        }
        // If all schedules were explored, this only looks for another stuck state.
        let work = if through {
            WORK / SHARE / SHARE
        } else {
            WORK / SHARE
        };
        let met = schedules::reaching(&instance, work, wanted.accepts, watch);
        if let (None, Some(run)) = (&found.other, met.elsewhere) {
            found.other = Some(Hang::of(input.clone(), run));
        }
        if let Some(run) = met.stuck {
            found.reached = Some(Hang::of(input, run));
            return false;
        }
        all &= through;
    }
    all
}

/// What was tried, in words that fit after "none was found".
pub fn describe(protocol: &Protocol, search: &Search) -> String {
    match search.radius {
        None => "among the few that were tried".to_owned(),
        Some(radius) => {
            let start = match protocol.has_open_starts() {
                false => String::new(),
                true => format!(", start values up to {LARGEST_START}"),
            };
            format!("{}{start}", grid::describe(protocol, radius))
        }
    }
}
