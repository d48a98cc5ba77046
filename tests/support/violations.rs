//! Exhaustive search for violations of properties beside deadlock, at small parameter values.

use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::hazards::search::search_all;

use super::cut_rule::MAX_STATES;
use super::cut_rule::bounds;
use super::cut_rule::grid;

/// Which of the other properties some small parameter values violate, and at how many values a
/// search came to its end.
pub fn violated(protocol: &Protocol, property: Property) -> (Option<String>, usize) {
    let options = Options {
        // What is known makes states of these searches large.
        max_states: match property {
            Property::StaleRead => MAX_STATES / 10,
            _ => MAX_STATES,
        },
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        // Too large to run.
        let Ok(found) = search_all(protocol, &params, property, &bounds(), &options) else {
            continue;
        };
        if found.found.is_some() {
            return (Some(format!("{property:?} at {params:?}")), complete);
        }
        complete += usize::from(found.end == SearchEnd::Exhausted);
    }
    (None, complete)
}
