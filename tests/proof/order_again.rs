//! Members that register several times in one generation of a named barrier: what the order rule proves, that each part of an
//! argument that says so is needed, and that the other rules refuse.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::certificate::order::artefact::Order;
use warplock::certificate::order::artefact::RepeatedRegistration;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

fn search(source: &str, layer: Layer) -> Guess {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    proof::search(&protocol, layer, LIMIT, None, &|_| {})
}

fn proposal(source: &str) -> Option<Order> {
    match search(source, Layer::Order) {
        Guess::Fitting(Argument::Order(order)) => Some(order),
        _ => None,
    }
}

fn accepted(source: &str, property: &str, order: &Order) -> Result<usize, Rejection> {
    let argument = Argument::Order(order.clone());
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), property, argument)?;
    manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).map(|c| c.obligations)
}

/// One warp does this in each round, and another one that.
fn rounds(one: &str, other: &str) -> String {
    format!(
        "protocol again param N in 0.. named bar[2] mbarrier m {{ arrivals: 1 }} barrier b {{ arrivals: 2 }}
         role one warp {{ for i in 0..N {{ {one} }} }}
         role other warp {{ for i in 0..N {{ {other} }} }}"
    )
}

const TOGETHER: [&str; 2] = ["arrive bar[0] 96 sync bar[0] 96", "sync bar[0] 96"];

fn together() -> String {
    rounds(TOGETHER[0], TOGETHER[1])
}

#[test]
fn each_registration_is_one_of_somebody() {
    let good = proposal(&together()).unwrap();
    assert_eq!(good.again.len(), 1);
    for property in ["deadlock", "early_completion", "over_arrival"] {
        accepted(&together(), property, &good).unwrap();
    }
    for (one, other) in [
        ("arrive bar[0] 64 sync bar[0] 64", ""),
        (
            "arrive bar[0] 128 arrive bar[0] 128 sync bar[0] 128",
            "sync bar[0] 128",
        ),
        (
            "arrive bar[0] 128 sync bar[0] 128",
            "arrive bar[0] 128 sync bar[0] 128",
        ),
        (
            "arrive bar[0] 96 arrive bar[0] 96 sync bar[1] 64",
            "sync bar[0] 96 sync bar[1] 64",
        ),
    ] {
        let source = rounds(one, other);
        let order = proposal(&source).unwrap_or_else(|| panic!("{source}"));
        accepted(&source, "deadlock", &order).unwrap();
    }
    // Once is as before.
    let once = proposal(&rounds("sync bar[0] 64", "sync bar[0] 64")).unwrap();
    assert!(once.again.is_empty());
}

/// Protocols that hang, get out of step, or give another count.
#[test]
fn what_does_not_hold_is_not_proved() {
    for (one, other) in [
        ("arrive bar[0] 64 sync bar[0] 64", "sync bar[0] 64"),
        ("arrive bar[0] 128 sync bar[0] 128", "sync bar[0] 128"),
        ("arrive bar[0] 96 sync bar[0] 96", "sync bar[0] 64"),
        // The second arrival may come before the other warp has come at all.
        ("arrive bar[0] 96 arrive bar[0] 96", "sync bar[0] 96"),
        (
            "if i % 2 == 0 { arrive bar[0] 96 } sync bar[0] 96",
            "sync bar[0] 96",
        ),
    ] {
        let source = rounds(one, other);
        assert!(proposal(&source).is_none(), "{source}");
    }
}

#[test]
fn every_part_of_it_is_needed() {
    let source = together();
    let good = proposal(&source).unwrap();
    let again = good.again[0];
    let changed: [Vec<RepeatedRegistration>; 6] = [
        Vec::new(),
        vec![again, again],
        vec![RepeatedRegistration { shadow: 9, ..again }],
        vec![RepeatedRegistration { class: 7, ..again }],
        vec![RepeatedRegistration {
            class: 1,
            site: 0,
            shadow: 0,
        }],
        // No registration: the wait.
        vec![RepeatedRegistration {
            site: again.site + 1,
            ..again
        }],
    ];
    for list in changed {
        let order = Order {
            again: list.clone(),
            ..good.clone()
        };
        assert!(accepted(&source, "deadlock", &order).is_err(), "{list:?}");
    }
    // Only at a named barrier: elsewhere it counts arrivals, or who arrived.
    for (one, other) in [
        ("arrive m", "wait m i % 2"),
        ("arrive b wait b", "arrive b wait b"),
    ] {
        let source = rounds(one, other);
        let order = proposal(&source).unwrap_or_default();
        let again = vec![RepeatedRegistration {
            class: 0,
            site: 0,
            shadow: 0,
        }];
        let refused = accepted(&source, "deadlock", &Order { again, ..order }).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("a registration for a shadow that is none"),
            "{refused}"
        );
    }
}

/// The numbers of their registrations would have to be those of different generations.
#[test]
fn the_cut_rule_refuses() {
    let sources = [together(), rounds("arrive bar[0] 64 sync bar[0] 64", "")];
    for source in sources {
        for layer in [Layer::Cuts(Shows::Nothing), Layer::Cuts(Shows::Generations)] {
            let argument = match search(&source, layer) {
                Guess::Found(argument) | Guess::Fitting(argument) => argument,
                Guess::Nothing { .. } => continue,
            };
            let issued = manifest::issue(&source, &Narrowing::default(), "deadlock", argument);
            let Ok((certificate, _)) = issued else {
                continue;
            };
            let checked = manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {});
            assert!(checked.is_err(), "{layer:?}\n{source}");
        }
    }
}
