//! Arrivals at mbarriers that count more than one: what the order rule and the cut rule prove of them, and what they must not prove.

use std::time::Duration;

use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;

use crate::support::cut_rule::proved_within;

/// There is time for this, however busy the machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether a property is proved by each of the two rules.
fn proved(property: Property, source: &str) -> [bool; 2] {
    let source = format!("protocol p {source}");
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    [Layer::Order, Layer::Cuts(Shows::Generations)]
        .map(|layer| proved_within(LIMIT, layer, property, (&source, &protocol)))
}

/// Warps empty a ring of two stages, and this is what they do with a stage.
fn emptied(arrivals: &str, arrive: &str) -> String {
    format!(
        "param W in 1.. param T in 0.. mbarrier full[2] {{ arrivals: 1 }} mbarrier empty[2] {{ arrivals: {arrivals} }}
         role mma {{ for t in 0..T {{ wait empty[t % 2] (t / 2 + 1) % 2 arrive full[t % 2] }} }}
         role warps[w in 0..W] {{ for t in 0..T {{ wait full[t % 2] t / 2 % 2 {arrive} }} }}"
    )
}

#[test]
fn a_warp_may_arrive_for_all_its_lanes() {
    let lanes = emptied("32 * W", "arrive empty[t % 2] 32");
    for property in [
        Property::Deadlock,
        Property::OverArrival,
        Property::EarlyCompletion,
        Property::LappedWait,
    ] {
        assert_eq!(proved(property, &lanes), [true; 2], "{property:?}");
    }
}

#[test]
fn what_does_not_add_up_is_not_proved() {
    for source in [
        emptied("32 * W", "arrive empty[t % 2] 31"),
        emptied("32 * W", "arrive empty[t % 2] 33"),
        emptied("32 * W + 1", "arrive empty[t % 2] 32"),
        emptied("32", "arrive empty[t % 2] 32"),
        // Two arrivals of one member in one phase.
        emptied("64 * W", "arrive empty[t % 2] 32 arrive empty[t % 2] 32"),
        emptied("32 * W", "arrive empty[t % 2] 32 arrive empty[t % 2] 32"),
        // Not the same each time.
        emptied("32 * W", "arrive empty[t % 2] (32 - t % 2)"),
        emptied(
            "32 * W",
            "if t == 0 { arrive empty[t % 2] 31 } else { arrive empty[t % 2] 32 }",
        ),
        // At the wrong stage.
        emptied("32 * W", "arrive empty[(t + 1) % 2] 32"),
    ] {
        for property in [Property::Deadlock, Property::OverArrival] {
            assert_eq!(proved(property, &source), [false; 2], "{source}");
        }
    }
}

#[test]
fn who_does_not_wait_may_arrive_twice_in_a_phase() {
    let scaled = |wait: &str| {
        format!(
            "param W in 1.. param N in 0.. mbarrier full {{ arrivals: 32 * W + 1 }} mbarrier empty {{ arrivals: W }}
             role tma {{ for i in 0..N {{ wait empty (i + 1) % 2 arrive_expect_tx full 8 async copy x completes full 8 }} }}
             role scale[w in 0..W] {{ for i in 0..N {{ {wait} arrive full 32 }} }}
             role math[w in 0..W] {{ for i in 0..N {{ wait full i % 2 arrive empty }} }}"
        )
    };
    let property = Property::OverArrival;
    assert_eq!(
        proved(property, &scaled("wait empty (i + 1) % 2")),
        [true; 2]
    );
    assert_eq!(proved(property, &scaled("")), [false; 2]);
}

/// A class that never comes to its arrival does not make room for others.
#[test]
fn an_arrival_that_nobody_makes_counts_for_nothing() {
    let two = |one: &str, other: &str| {
        format!(
            "param N in 0.. mbarrier full {{ arrivals: 1 }}
             role one {{ arrive full {one} }}
             role other {{ if N * N + N < N {{ arrive full {other} }} }}"
        )
    };
    assert_eq!(
        proved(Property::OverArrival, &two("6", "(0 - 5)")),
        [false; 2]
    );
}
