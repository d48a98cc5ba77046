//! Hunting for one stuck state: the one that somebody has seen.
//!
//! Parameter values are tried in shells around their least ones, for what happened at a large size mostly
//! happens at a small one, where it can be read. At each input every schedule is explored while that is
//! cheap, so that the run is a shortest one; the adversarial schedules follow where it is not. Hits are
//! runs of [`crate::semantics::step`]; finding none means something only where all was explored.

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

/// The states that are explored at one input.
const STATES: u64 = 30_000;

/// How far from their least values parameters are tried before anything else.
pub const NEAR: i64 = 2;

/// And how far in the end.
pub const FAR: i64 = 12;

/// As a divisor of the work: the schedules of one input are worth so much less than where any hang counts.
const SHARE: u64 = 8;

/// Which stuck states count.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Says it of a state.
    pub accepts: Accepts<'a>,
    /// Whether it tells interchangeable members apart.
    pub tells_apart: bool,
}

/// What a search came to.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// A run to such a state.
    pub reached: Option<Hang>,
    /// The first run to another stuck state.
    pub other: Option<Hang>,
    /// Up to which distance from the least values everything was tried; none where not even that was.
    pub radius: Option<i64>,
    /// Whether every schedule of every input in the domain was explored.
    pub complete: bool,
    /// Whether all values have been tried.
    pub over: bool,
    /// Whether something was not explored through.
    partly: bool,
}

/// Looks for a run to a stuck state that counts, at values this far from the least ones.
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
            // Memory that is not cleared may hold more than what is tried.
            found.complete = !found.partly && !protocol.has_open_starts();
            found.over = true;
            return;
        }
    }
}

/// Tries one point; whether all of it was explored.
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
        // Also where all was explored, for another hang.
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
