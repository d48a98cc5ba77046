//! Proof by exhaustive search: every combination of parameter values, every input, every schedule, by the reference
//! semantics.
//!
//! At concrete values the program of a member is an acyclic graph, so a protocol has finitely many states. If there are
//! finitely many inputs as well, a search of all states of all inputs decides a property. So this rule has no
//! obligations and needs no solver. Its artefact has the numbers of parameter points, inputs and states. The checker
//! searches again and compares them.
//!
//! The rule accepts a search only if it is **complete**. That means:
//!
//! 1. Every parameter has a least and a greatest value, by its domain and simple assumptions. There are at most
//!    [`MOST_POINTS`] combinations of values. Each combination is searched, unless an assumption excludes it. If an
//!    assumption is undefined at a combination, the rule refuses. At least one combination is searched.
//! 2. Every semaphore has a fixed start value. The entries of open patterns, the orders of rows and the launch orders are
//!    enumerated ([`crate::semantics::inputs`]).
//! 3. No search reached a limit on states, memory, size or time.
//! 4. No run does anything undefined, even if this is the subject of another property. The search stops there, so it
//!    would miss what follows.
//! 5. No state, no run and no pair of runs violates the property. The states represent every access that the
//!    property is about.
//!
//! The search is up to symmetry: states that differ by a permutation of interchangeable members count as one
//! ([`crate::semantics::symmetry`] says why this is sound).

use serde::Deserialize;
use serde::Serialize;

use crate::protocol::Domain;
use crate::protocol::Initial;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::error::Fault;
use crate::semantics::error::RunError;
use crate::semantics::explore;
use crate::semantics::explore::Options;
use crate::semantics::explore::SearchEnd;
use crate::semantics::hazards;
use crate::semantics::hazards::search::search_all;
use crate::semantics::inputs::Bounds;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;

use super::program::Unsupported;

/// The most combinations of parameter values.
pub const MOST_POINTS: u64 = 1 << 16;

/// The most states at one combination of parameter values, and the most bytes that they may take.
const MOST_STATES: u64 = 2_000_000;
const MOST_BYTES: usize = 1 << 30;

/// The most expressions and statements that are evaluated to unfold one input. Unfolding cannot be interrupted.
const MOST_WORK: u64 = 100_000_000;

/// The extent of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exhaustive {
    /// Combinations of parameter values that satisfy the domain and the assumptions.
    pub points: u64,
    /// Inputs at these points. An input also fixes the entries of patterns and the orders of rows and launches.
    pub inputs: u64,
    /// States, up to permutations of interchangeable members.
    pub states: u64,
}

impl Exhaustive {
    /// This extent plus one more point with so many inputs and states. `None` if a count overflows.
    pub fn and(self, inputs: u64, states: u64) -> Option<Exhaustive> {
        Some(Exhaustive {
            points: self.points.checked_add(1)?,
            inputs: self.inputs.checked_add(inputs)?,
            states: self.states.checked_add(states)?,
        })
    }

    /// The extent in words.
    pub fn extent(&self) -> String {
        let counted = |count: u64, what: &str| match count {
            1 => format!("1 {what}"),
            many => format!("{many} {what}s"),
        };
        let (points, inputs) = (counted(self.points, "point"), counted(self.inputs, "input"));
        format!("{} of {inputs} at {points}", counted(self.states, "state"))
    }
}

/// The limits on the search at one point.
pub fn limits() -> Options<'static> {
    Options {
        max_states: MOST_STATES,
        max_bytes: MOST_BYTES,
        ..Options::default()
    }
}

/// The limits on the inputs of a point. A run has a state for each operation, so a larger input would not be searched in
/// time anyway.
fn bounds() -> Bounds {
    Bounds {
        limits: Limits {
            ops: MOST_STATES,
            members: MOST_STATES,
            cells: MOST_STATES,
            work: MOST_WORK,
        },
        ..Bounds::default()
    }
}

/// Searches everything for a violation of the property, within [`limits`] or less.
///
/// # Errors
///
/// A violation, or why the search is not complete.
pub fn explored(
    protocol: &Protocol,
    property: Property,
    options: &Options<'_>,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Exhaustive, Unsupported> {
    let refused = hazards::unfollowed(protocol, property);
    if let Some(reason) = refused.or_else(|| hazards::left_out(protocol, property)) {
        return Err(Unsupported::whole(reason));
    }
    let points = points(protocol)?;
    let mut all = Exhaustive::default();
    for (done, point) in points.iter().enumerate() {
        Unsupported::unless_in_time()?;
        tell(&format!(
            "exploring everything: {done} of {} points",
            points.len()
        ));
        let (inputs, states) = clear(protocol, property, point, options)?;
        all = all.and(inputs, states).ok_or_else(too_many)?;
    }
    Ok(all)
}

/// Searches every run at one point. Returns the numbers of inputs and states if no run violates the property.
fn clear(
    protocol: &Protocol,
    property: Property,
    point: &[i64],
    options: &Options<'_>,
) -> Result<(u64, u64), Unsupported> {
    let violation = || Err(Unsupported::whole("a run that violates the property"));
    let undefined = || Unsupported::whole("a run that does something undefined");
    let bounds = bounds();
    let (end, inputs, states) = match property {
        Property::Deadlock => {
            let found = explore::explore_all(protocol, point, &bounds, options).map_err(fault)?;
            if found.stuck.is_some() || found.stuck_inputs > 0 {
                return violation();
            }
            if found.violation.is_some() {
                return Err(undefined());
            }
            (found.end, found.inputs, found.states)
        }
        _ => {
            let found = search_all(protocol, point, property, &bounds, options).map_err(fault)?;
            if found.found.is_some() {
                return violation();
            }
            if found.undefined.is_some() {
                return Err(undefined());
            }
            if found.hidden.is_some() {
                return Err(Unsupported::whole("an access that no state shows"));
            }
            (found.end, found.inputs, found.states)
        }
    };
    match end {
        SearchEnd::Exhausted => Ok((inputs, states)),
        SearchEnd::FoundStuck => violation(),
        SearchEnd::StateLimit => Err(too_many()),
        SearchEnd::Cancelled => {
            Unsupported::unless_in_time()?;
            Err(Unsupported::whole("a search that was cancelled"))
        }
    }
}

fn too_many() -> Unsupported {
    Unsupported::whole("more states than are searched")
}

fn fault(error: RunError) -> Unsupported {
    if error.fault.is_limit() {
        return Unsupported::whole("larger inputs than are searched");
    }
    Unsupported {
        reason: match error.fault {
            Fault::BehindResult(_) => error.to_string(),
            _ => format!("a protocol that is not well defined everywhere: {error}"),
        },
        span: error.span,
    }
}

/// Every combination of parameter values that satisfies the domain and the assumptions.
///
/// # Errors
///
/// There is no combination, there are too many, or another part of an input is unbounded.
pub fn points(protocol: &Protocol) -> Result<Vec<Vec<i64>>, Unsupported> {
    let open = ObjectKind::Semaphore(Initial::Any);
    if let Some(object) = protocol.objects.iter().find(|object| object.kind == open) {
        return Err(Unsupported::at(
            object.span,
            "a semaphore of any start value",
        ));
    }
    // Simple assumptions only make the domains finite here. All assumptions are evaluated below.
    let tight = protocol.tightened();
    let mut all = vec![Vec::new()];
    for param in &tight.params {
        let values = values(&param.domain)?;
        let count = (all.len() as u64).checked_mul(values.len() as u64);
        if count.is_none_or(|count| count > MOST_POINTS) {
            return Err(too_large());
        }
        let extended = all.iter().flat_map(|point: &Vec<i64>| {
            values.iter().map(|value| {
                let mut point = point.clone();
                point.push(*value);
                point
            })
        });
        all = extended.collect();
    }
    let mut kept = Vec::new();
    for point in all {
        match unfold::check_params(protocol, &point) {
            Ok(()) => kept.push(point),
            Err(RunError {
                fault: Fault::OutsideDomain { .. } | Fault::AssumptionViolated(_),
                ..
            }) => {}
            Err(error) => return Err(fault(error)),
        }
    }
    match kept.is_empty() {
        true => Err(Unsupported::whole("a domain without values")),
        false => Ok(kept),
    }
}

/// The values of a domain, each once.
fn values(domain: &Domain) -> Result<Vec<i64>, Unsupported> {
    match domain {
        Domain::AtLeast(_) => Err(Unsupported::whole("a parameter without a greatest value")),
        Domain::Range(lo, hi) => {
            let more = hi.checked_sub(*lo).ok_or_else(too_large)?;
            match u64::try_from(more) {
                Ok(more) if more < MOST_POINTS => Ok((*lo..=*hi).collect()),
                Ok(_) => Err(too_large()),
                Err(_) => Ok(Vec::new()),
            }
        }
        Domain::Set(values) => {
            let mut values = values.clone();
            values.sort_unstable();
            values.dedup();
            Ok(values)
        }
    }
}

fn too_large() -> Unsupported {
    Unsupported::whole("more parameter values than are searched one by one")
}

/// The assumptions about launches: CTAs start in the declared order, and are resident as declared.
pub(super) fn launch_assumptions(protocol: &Protocol) -> Vec<String> {
    let launches = || {
        protocol
            .roles
            .iter()
            .filter_map(|role| role.launch.as_ref())
    };
    let mut all = Vec::new();
    if launches().any(|launch| launch.order != LaunchOrder::Any) {
        all.push(super::LAUNCH_ORDER.to_owned());
    }
    if launches().any(|launch| launch.resident == Resident::All) {
        all.push("all CTAs of the grid are resident at once".to_owned());
    }
    all
}
