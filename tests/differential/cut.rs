//! Random protocols of threads, rings, counters and transactions: whatever the cut rule proves is
//! searched exhaustively at small parameter values, where nothing may hang, be undefined or fault.
//!
//! The protocols are those of `support/edited.rs`. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

use crate::support::case_templates;
use crate::support::cluster_templates;
use crate::support::init_templates;
use crate::support::length_templates;
use crate::support::order_end_templates;
use crate::support::ordered_templates;
use crate::support::reset_templates;
use crate::support::separation_templates;
use crate::support::sharing_templates;
use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::text;

use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::cut_rule::MAX_STATES;
use crate::support::cut_rule::bounds;
use crate::support::cut_rule::grid;
use crate::support::cut_rule::proved_by;
use crate::support::cut_templates::KERNELS;
use crate::support::edited::Kernels;
use crate::support::edited::generate;

/// Cases of one run.
const CASES: u64 = 330;

/// What is wrong at some small parameter values, and how many values were searched to the end.
fn wrong(protocol: &Protocol) -> (Option<String>, usize) {
    let bounds = bounds();
    let options = Options {
        max_states: MAX_STATES,
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        match explore_all(protocol, &params, &bounds, &options) {
            Ok(found) => {
                if found.stuck.is_some() {
                    return (Some(format!("stuck at {params:?}")), complete);
                }
                if let Some((_, _, violation)) = found.violation {
                    let what = format!("undefined at {params:?}: {:?}", violation.kind);
                    return (Some(what), complete);
                }
                complete += usize::from(found.end == SearchEnd::Exhausted);
            }
            Err(error) => {
                let text = error.to_string();
                if !text.contains("are needed") && !text.contains("work") {
                    return (Some(format!("cannot run at {params:?}: {text}")), complete);
                }
            }
        }
    }
    (None, complete)
}

/// The rule that most of these are about.
const CUTS: Layer = Layer::Cuts(Shows::Nothing);

#[test]
fn every_template_is_a_protocol() {
    for kernels in [
        &KERNELS,
        &init_templates::KERNELS,
        &case_templates::KERNELS,
        &separation_templates::KERNELS,
    ] {
        for template in kernels.templates {
            let source = format!("protocol plain\n{template}");
            text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        }
    }
}

#[test]
fn what_is_proved_never_hangs() {
    never_hangs(CUTS, &KERNELS, 0, CASES);
}

#[test]
fn what_is_proved_with_explicit_initialisation_never_hangs() {
    never_hangs(CUTS, &init_templates::KERNELS, 2_000_000, CASES / 5);
}

#[test]
fn what_is_proved_case_by_case_never_hangs() {
    never_hangs(CUTS, &case_templates::KERNELS, 3_000_000, CASES / 5);
}

#[test]
fn what_is_proved_of_copies_that_share_never_hangs() {
    never_hangs(CUTS, &sharing_templates::KERNELS, 4_000_000, CASES / 5);
}

#[test]
fn what_is_proved_of_clusters_never_hangs() {
    never_hangs(CUTS, &cluster_templates::KERNELS, 8_000_000, CASES / 16);
}

#[test]
fn what_is_proved_of_copies_in_order_never_hangs() {
    never_hangs(CUTS, &ordered_templates::KERNELS, 5_000_000, CASES / 5);
}

#[test]
fn what_is_proved_of_lengths_that_differ_never_hangs() {
    never_hangs(CUTS, &length_templates::KERNELS, 6_000_000, CASES / 15);
}

#[test]
fn what_is_proved_of_counters_that_are_set_back_never_hangs() {
    never_hangs(CUTS, &reset_templates::KERNELS, 7_000_000, CASES / 4);
}

#[test]
fn what_is_proved_of_members_that_take_turns_never_hangs() {
    never_hangs(CUTS, &order_end_templates::TURNS, 10_000_000, CASES / 5);
}

#[test]
fn what_is_proved_by_separation_never_hangs() {
    let kernels = &separation_templates::KERNELS;
    never_hangs(Layer::Separation, kernels, 9_000_000, CASES / 5);
}

/// No protocol of these seeds is proved wrongly.
fn never_hangs(layer: Layer, kernels: &Kernels, seeds: u64, count: u64) {
    let first = seeds + number("WARPLOCK_SEED", 0);
    let count = count * number("WARPLOCK_CASES", 1);
    let (mut texts, mut good, mut bad, mut proofs) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(kernels, seed) else {
            continue;
        };
        texts += 1;
        let protocol = text::load(source.as_bytes()).unwrap();
        let (wrong, complete) = wrong(&protocol);
        match wrong {
            Some(what) => {
                bad += 1;
                if proved_by(layer, Property::Deadlock, &source, &protocol) {
                    let failure = format!("seed {seed} is proved, but {what}\n{source}");
                    log(&failure);
                    failures.push(failure);
                }
            }
            // Only so many of those that are fine need be tried.
            None if complete >= 4 => {
                good += 1;
                proofs += usize::from(proved_by(layer, Property::Deadlock, &source, &protocol));
            }
            None => {}
        }
    }
    log(&format!(
        "seeds {first}..{}: {texts} protocols, {bad} of them hang, are undefined or fault at small \
         values; of {good} that do not, {proofs} are proved; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing was proved, or everything that can be.
    assert!(
        proofs * 8 >= good && bad * 4 >= texts,
        "{proofs} {good} {bad} {texts}"
    );
}
