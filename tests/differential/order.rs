//! Random protocols of threads, rings, counters and transactions: whatever the order rule proves is
//! searched exhaustively at small parameter values, where nothing may hang, be undefined, or violate
//! any of the properties that come with it.
//!
//! The protocols are those of `support/edited.rs`. Seeds count from 4,000,000. For longer runs see
//! `support/campaign.rs`.

use crate::support::apart_templates;
use crate::support::cut_templates;
use crate::support::order_edge_templates;
use crate::support::order_end_templates;
use crate::support::order_rings;
use crate::support::order_templates;
use crate::support::registration_templates;
use crate::support::registrations;
use crate::support::seat_templates;
use crate::support::team_templates;
use crate::support::weight_templates;
use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::order;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::semantics::hazards;
use warplock::text;

use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::cut_rule::MAX_STATES;
use crate::support::cut_rule::bounds;
use crate::support::cut_rule::grid;
use crate::support::cut_rule::proved_by;
use crate::support::edited::generate;
use crate::support::violations::violated;

/// Cases of one run.
const CASES: u64 = 90;

/// What the rule and the kernel prove beside that nobody hangs.
pub const OTHERS: [Property; 5] = [
    Property::EarlyCompletion,
    Property::EarlyPass,
    Property::LappedWait,
    Property::OverArrival,
    Property::TxMismatch,
];

/// What goes wrong at small parameter values, and at how many values a search came to its end.
pub fn wrong(protocol: &Protocol, others: &[Property]) -> (Option<String>, usize) {
    let options = Options {
        max_states: MAX_STATES,
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        match explore_all(protocol, &params, &bounds(), &options) {
            Ok(found) if found.stuck.is_some() => {
                return (Some(format!("it hangs at {params:?}")), complete);
            }
            Ok(found) => {
                if let Some((_, _, violation)) = found.violation {
                    let what = format!("it is undefined at {params:?}: {:?}", violation.kind);
                    return (Some(what), complete);
                }
                complete += usize::from(found.end == SearchEnd::Exhausted);
            }
            Err(error) => {
                let text = error.to_string();
                if !text.contains("are needed") && !text.contains("work") {
                    return (
                        Some(format!("it cannot run at {params:?}: {text}")),
                        complete,
                    );
                }
            }
        }
    }
    for property in others {
        if let (Some(what), _) = violated(protocol, *property) {
            return (Some(what), complete);
        }
    }
    (None, complete)
}

/// Which of the others the argument proves, too: not all, where it leaves out waits that end programs.
fn also_proved(protocol: &Protocol) -> Vec<Property> {
    let found = proof::search(
        protocol,
        Layer::Order,
        Duration::from_secs(9),
        None,
        &|_| {},
    );
    let Guess::Fitting(Argument::Order(order)) = found else {
        return OTHERS.to_vec();
    };
    let proved = |property: &Property| order::proves_by(protocol, &order, *property);
    OTHERS.into_iter().filter(proved).collect()
}

#[test]
fn what_the_order_rule_proves_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&cut_templates::KERNELS, seed),
        4_000_000,
        CASES,
    );
}

#[test]
fn what_it_proves_of_chains_of_rings_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&order_templates::KERNELS, seed),
        5_000_000,
        CASES,
    );
}

#[test]
fn what_it_proves_at_its_edges_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&order_edge_templates::KERNELS, seed),
        6_000_000,
        CASES,
    );
}

#[test]
fn what_it_proves_of_ends_and_multicasts_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&order_end_templates::KERNELS, seed),
        8_000_000,
        CASES,
    );
}

#[test]
fn what_it_proves_of_deliveries_apart_from_arrivals_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&apart_templates::KERNELS, seed),
        9_000_000,
        CASES,
    );
}

/// Protocols in which warps count several times in one generation.
fn again(seed: u64) -> Option<String> {
    match seed % 2 {
        0 => generate(&registration_templates::KERNELS, seed),
        _ => Some(registrations::protocol(seed)),
    }
}

#[test]
fn what_it_proves_of_warps_that_register_again_never_goes_wrong() {
    never_wrong(Layer::Order, &again, 10_000_000, CASES);
}

#[test]
fn what_it_proves_of_barriers_that_change_hands_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&seat_templates::KERNELS, seed),
        11_000_000,
        CASES,
    );
}

#[test]
fn what_it_proves_of_members_that_take_turns_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&team_templates::KERNELS, seed),
        13_000_000,
        CASES,
    );
}

#[test]
fn what_it_proves_of_arrivals_that_count_several_times_never_goes_wrong() {
    never_wrong(
        Layer::Order,
        &|seed| generate(&weight_templates::KERNELS, seed),
        12_000_000,
        CASES,
    );
}

#[test]
fn what_the_cut_rule_proves_of_these_never_goes_wrong() {
    never_wrong(
        Layer::Cuts(Shows::Generations),
        &|seed| generate(&weight_templates::KERNELS, seed),
        12_100_000,
        CASES,
    );
}

/// Little is left of these: the rule refuses whoever counts twice.
#[test]
fn what_the_cut_rule_proves_of_them_never_goes_wrong() {
    let layer = Layer::Cuts(Shows::Nothing);
    let (_, proofs, _) = no_wrong_proofs(layer, &again, 10_100_000, CASES);
    assert!(proofs > 0);
}

#[test]
fn what_it_proves_of_random_rings_never_goes_wrong() {
    never_wrong(Layer::Order, &order_rings::generate, 7_000_000, CASES);
}

/// A delivery of no bytes may land after the generation that it was started for: nothing waits for it.
const NOTHING_DELIVERED: &str = "protocol nothing_delivered

param N in 0..
param B in 0..

mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }

role load {
    for i in 0..N {
        wait empty (i + 1) % 2
        arrive_expect_tx full B + 1
        async copy a completes full B
        async copy b completes full 1
    }
}

role math {
    for i in 0..N {
        wait full i % 2
        arrive empty
    }
}
";

#[test]
fn a_delivery_of_nothing_may_take_part_in_another_generation() {
    let protocol = text::load(NOTHING_DELIVERED.as_bytes()).unwrap();
    let property = Property::EarlyCompletion;
    assert!(violated(&protocol, property).0.is_some());
    for layer in [Layer::Order, Layer::Cuts(Shows::Generations)] {
        assert!(
            !proved_by(layer, property, NOTHING_DELIVERED, &protocol),
            "{layer:?}"
        );
    }
}

/// What is edited works.
#[test]
fn the_order_rule_proves_all_its_templates() {
    let ends = order_end_templates::KERNELS.templates;
    let apart = apart_templates::KERNELS.templates;
    let again = registration_templates::KERNELS.templates;
    let seats = seat_templates::KERNELS.templates.iter();
    let weights = weight_templates::KERNELS.templates;
    let all = order_templates::KERNELS.templates.iter();
    let others = seats
        .chain(weights)
        .chain(team_templates::KERNELS.templates);
    for template in all.chain(ends).chain(apart).chain(again).chain(others) {
        let source = format!("protocol plain\n{template}");
        let protocol = text::load(source.as_bytes()).unwrap();
        // There is time for this, however busy the machine.
        let limit = Duration::from_secs(120);
        let found = proof::search(&protocol, Layer::Order, limit, None, &|_| {});
        assert!(matches!(found, Guess::Fitting(_)), "{found:?}\n{source}");
    }
}

/// No protocol of these seeds is proved wrongly.
pub fn never_wrong(layer: Layer, generate: &dyn Fn(u64) -> Option<String>, seeds: u64, count: u64) {
    let (texts, proofs, searched) = no_wrong_proofs(layer, generate, seeds, count);
    // It would test nothing if hardly anything was proved, or nearly everything. Of the credit rule's edits three in four are right.
    assert!(
        proofs * 16 >= texts && proofs * 5 < texts * 4 && searched as u64 >= proofs,
        "{proofs} {texts} {searched}"
    );
}

/// The same where little is proved: how many protocols there are, how many of them are proved, and how many searches of these
/// came to an end.
fn no_wrong_proofs(
    layer: Layer,
    generate: &dyn Fn(u64) -> Option<String>,
    seeds: u64,
    count: u64,
) -> (u64, u64, usize) {
    let first = seeds + number("WARPLOCK_SEED", 0);
    let count = count * number("WARPLOCK_CASES", 1);
    let (mut texts, mut proofs, mut searched) = (0_u64, 0_u64, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(seed) else {
            continue;
        };
        texts += 1;
        let protocol = text::load(source.as_bytes()).unwrap();
        if !proved_by(layer, Property::Deadlock, &source, &protocol) {
            continue;
        }
        proofs += 1;
        let others = match layer {
            Layer::Order => also_proved(&protocol),
            Layer::Cuts(Shows::Generations) => OTHERS.to_vec(),
            Layer::Kernel => {
                let more = [Property::Uninitialized, Property::Resources].into_iter();
                let more = more.filter(|more| !hazards::wants_data(&protocol, *more));
                OTHERS.into_iter().chain(more).collect()
            }
            _ => Vec::new(),
        };
        let (wrong, complete) = wrong(&protocol, &others);
        searched += complete;
        if let Some(what) = wrong {
            let failure = format!("seed {seed} is proved, but {what}\n{source}");
            log(&failure);
            failures.push(failure);
        }
    }
    log(&format!(
        "seeds {first}..{}: {texts} protocols, {proofs} of them proved by {}; {searched} choices \
         of values searched to the end; {} wrong proofs",
        first + count,
        layer.name(),
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    (texts, proofs, searched)
}
