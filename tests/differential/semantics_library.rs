//! Every expectation of the protocol library holds under exhaustive search at small values.
//!
//! This does not go through any prover or encoder: a `proved` that is wrong at a small input,
//! or a `refuted` whose least values do not hang, is found here.

use crate::support::library::protocols;

use warplock::protocol::Domain;
use warplock::protocol::Expectation;
use warplock::protocol::Param;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::inputs::Inputs;
use warplock::semantics::unfold::check_params;
use warplock::text;
use warplock::witness;

/// Inputs at one choice of parameters beyond which that choice is skipped.
const MOST_INPUTS: f64 = 600.0;

/// States at one choice of parameters beyond which that choice is skipped.
const MOST_STATES: u64 = 20_000;

/// Choices of parameters tried for one expectation.
const MOST_CHOICES: usize = 700;

/// A few values of a parameter. Sequence lengths are counted in rows, of which a tile has 64
/// to 256; everything else is counted in tiles.
fn values(param: &Param) -> Vec<i64> {
    match &param.domain {
        Domain::Set(values) => values.clone(),
        Domain::Range(lo, hi) => (*lo..=(*hi).min(lo + 2)).collect(),
        Domain::AtLeast(lo) => match param.name.as_str() {
            "sq" | "sk" => vec![*lo, 128, 129, 130, 256, 257, 512],
            "Tm" | "Tn" => vec![64, 128, 256],
            "wl" | "wr" => vec![*lo, 100],
            _ => (*lo..=lo + 2).collect(),
        },
    }
}

fn choices(protocol: &Protocol, expectation: &Expectation) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for (position, param) in protocol.params.iter().enumerate() {
        let fixed = expectation.at.iter().find(|(id, _)| id.0 == position);
        let values = fixed.map_or_else(|| values(param), |(_, value)| vec![*value]);
        let longer = all.iter().flat_map(|choice| {
            values.iter().map(move |value| {
                let mut choice: Vec<i64> = choice.clone();
                choice.push(*value);
                choice
            })
        });
        all = longer.collect();
    }
    all.retain(|params| check_params(protocol, params).is_ok());
    // The ends of the list and an even spread between them.
    let step = all.len().div_ceil(MOST_CHOICES).max(1);
    all.into_iter().step_by(step).collect()
}

#[test]
fn every_expectation_holds_at_small_values() {
    let mut decided = 0;
    for (shown, source) in protocols() {
        let protocol = text::load(source.as_bytes()).unwrap();
        for expectation in protocol
            .expectations
            .iter()
            .filter(|e| e.property == "deadlock")
        {
            let mut narrowed = protocol.clone();
            narrowed
                .assumptions
                .extend(expectation.assuming.iter().cloned());
            let bounds = Bounds {
                max_initial: 1,
                ..Bounds::default()
            };
            let mut hanging = None;
            let mut searched = 0;
            for params in choices(&narrowed, expectation) {
                let inputs = Inputs::new(&narrowed, &params, &bounds).unwrap();
                if inputs.estimate() > MOST_INPUTS {
                    continue;
                }
                let options = Options {
                    max_states: MOST_STATES,
                    ..Options::default()
                };
                let found = explore_all(&narrowed, &params, &bounds, &options);
                let found = found.unwrap_or_else(|e| panic!("{shown} at {params:?}: {e}"));
                if found.end == SearchEnd::StateLimit {
                    continue;
                }
                searched += 1;
                if let Some((input, trace)) = found.stuck {
                    let written = witness::record(&narrowed, &input, &trace).unwrap();
                    witness::replay(&narrowed, &written).unwrap();
                    hanging = Some(params);
                    break;
                }
                assert_eq!(found.end, SearchEnd::Exhausted, "{shown} at {params:?}");
            }
            assert!(searched > 0, "{shown}: nothing was small enough to search");
            match expectation.verdict.as_str() {
                "proved" => assert_eq!(hanging, None, "{shown}: hangs though proved"),
                "refuted" => assert!(hanging.is_some(), "{shown}: no hang found"),
                _ => continue,
            }
            decided += 1;
        }
    }
    assert!(decided >= 20, "only {decided} expectations decided");
}
