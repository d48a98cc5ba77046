//! What a layer proves, and what exhaustive search finds at small parameter values.

use std::time::Duration;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Domain;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text::Narrowing;

/// States per choice of parameter values.
pub const MAX_STATES: u64 = 15_000;

/// Values of an unbounded parameter: this many from the lowest on.
const VALUES: i64 = 4;

/// Time for the search of a proof, and for each obligation.
const LIMIT: Duration = Duration::from_secs(3);

/// The small parameter values.
pub fn grid(protocol: &Protocol) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for param in &protocol.params {
        let values: Vec<i64> = match &param.domain {
            Domain::AtLeast(lo) => (*lo..*lo + VALUES).collect(),
            Domain::Range(lo, hi) => (*lo..=(*hi).min(lo + VALUES)).collect(),
            Domain::Set(values) => values.clone(),
        };
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<i64>| {
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.push(*value);
                    chosen
                })
            })
            .filter(|chosen| chosen.iter().sum::<i64>() <= 9)
            .collect();
    }
    all.retain(|params| unfold::check_params(protocol, params).is_ok());
    all.sort_by_key(|params| params.iter().sum::<i64>());
    all
}

/// What is searched.
pub fn bounds() -> Bounds {
    Bounds {
        max_initial: 2,
        limits: Limits {
            ops: 2_000,
            members: 24,
            cells: 200,
            work: 500_000,
        },
    }
}

/// Whether a layer proves a property.
pub fn proved_by(layer: Layer, property: Property, source: &str, protocol: &Protocol) -> bool {
    proved_within(LIMIT, layer, property, (source, protocol))
}

/// The same with so much time.
pub fn proved_within(
    limit: Duration,
    layer: Layer,
    property: Property,
    (source, protocol): (&str, &Protocol),
) -> bool {
    let found = proof::search(protocol, layer, limit, None, &|_| {});
    let (Guess::Fitting(argument) | Guess::Found(argument)) = found else {
        return false;
    };
    let issued = manifest::issue(source, &Narrowing::default(), property.name(), argument);
    let Ok((certificate, _)) = issued else {
        return false;
    };
    match manifest::check(&certificate, &Solver::BuiltIn, limit, &|_| {}) {
        Ok(_) => true,
        Err(Rejection::Open { .. }) => false,
        Err(other) => panic!("{other}\n{source}"),
    }
}
