//! Proofs of what a text claims of runs and of states: which certificates are accepted for it.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(20);

const HANDOVER: &str = "protocol handover

param T in 1..

mbarrier met { arrivals: T }

eventually done

role thread[t in 0..T] {
    arrive met
    wait met 0
}
";

fn argument(source: &str, layer: Layer) -> Argument {
    let protocol = text::load(source.as_bytes()).unwrap();
    match proof::search(&protocol, layer, LIMIT, None, &|_| {}) {
        Guess::Found(argument) | Guess::Fitting(argument) => argument,
        Guess::Nothing { reason, .. } => panic!("{reason}"),
    }
}

/// Whether an argument is accepted as a proof of the assertions of a text.
fn accepted(source: &str, argument: Argument) -> Result<usize, String> {
    let property = Property::Assertion.name();
    let issued = manifest::issue(source, &Narrowing::default(), property, argument);
    let (certificate, _) = issued.map_err(|e| e.to_string())?;
    let checked = manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {});
    checked.map(|c| c.obligations).map_err(|e| e.to_string())
}

/// The layers that have an argument: these protocols have no small values that are a case of their own.
fn layers(source: &str) -> impl Iterator<Item = Layer> {
    let layers = proof::layers(&text::load(source.as_bytes()).unwrap());
    let has_one = |layer: &Layer| !matches!(layer, Layer::CaseSplit(_));
    layers.into_iter().filter(has_one)
}

#[test]
fn freedom_from_deadlock_shows_that_everybody_finishes() {
    for layer in layers(HANDOVER) {
        assert!(accepted(HANDOVER, argument(HANDOVER, layer)).unwrap() > 0);
    }
}

#[test]
fn freedom_from_deadlock_shows_nothing_of_states() {
    let with = |claim: &str| HANDOVER.replace("eventually done", claim);
    let assertion = HANDOVER.replace("wait met 0", "wait met 0\n    assert met == 2");
    for source in [with("eventually done\ninvariant met <= 0"), assertion] {
        for layer in layers(&source) {
            let refused = accepted(&source, argument(&source, layer)).unwrap_err();
            assert!(refused.contains("does not prove `assertion`"), "{refused}");
        }
    }
}
