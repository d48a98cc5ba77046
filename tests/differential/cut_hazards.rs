//! Random protocols of threads, rings, counters and transactions: whatever a cut proves beside that
//! nobody hangs is searched exhaustively at small parameter values, where nothing may violate it.
//!
//! The protocols are those of `support/edited.rs`. Seeds count from 1,000,000. For longer runs see
//! `support/campaign.rs`.

use crate::support::case_templates;
use crate::support::init_templates;
use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;
use warplock::verdict::hazard::inapplicable;

use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::cut_rule::proved_by;
use crate::support::cut_templates::KERNELS;
use crate::support::edited::Kernels;
use crate::support::edited::generate;
use crate::support::violations::violated;

/// Cases of one run.
const CASES: u64 = 110;

/// Seeds of their own, so that the tests see different protocols.
const HAZARD_SEEDS: u64 = 1_000_000;

#[test]
fn what_a_consistent_cut_proves_is_never_violated() {
    never_violated(&KERNELS, HAZARD_SEEDS, CASES);
}

#[test]
fn what_is_proved_with_explicit_initialisation_is_never_violated() {
    never_violated(&init_templates::KERNELS, 2_000_000, CASES / 3);
}

#[test]
fn what_is_proved_case_by_case_is_never_violated() {
    never_violated(&case_templates::KERNELS, 3_000_000, CASES / 3);
}

/// No protocol of these seeds is proved wrongly.
fn never_violated(kernels: &Kernels, seeds: u64, count: u64) {
    let first = seeds + number("WARPLOCK_SEED", 0);
    let count = count * number("WARPLOCK_CASES", 1);
    let (mut proofs, mut searched, mut violations) = (0_u64, 0, 0_u64);
    let mut failures = Vec::new();
    let layers = [
        (
            Layer::Cuts(Shows::Nothing),
            &[
                Property::EarlyPass,
                Property::LappedWait,
                Property::OverArrival,
                Property::Uninitialized,
            ][..],
        ),
        (
            Layer::Cuts(Shows::Generations),
            &[Property::EarlyCompletion, Property::TxMismatch][..],
        ),
    ];
    for seed in first..first + count {
        let Some(source) = generate(kernels, seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        for (layer, properties) in layers {
            let applies = |p: &&Property| inapplicable(&protocol, **p).is_none();
            let properties: Vec<Property> = properties.iter().filter(applies).copied().collect();
            let results: Vec<_> = properties.iter().map(|p| violated(&protocol, *p)).collect();
            let bad: Vec<&String> = results.iter().filter_map(|(bad, _)| bad.as_ref()).collect();
            violations += bad.len() as u64;
            let Some(property) = properties.first() else {
                continue;
            };
            if !proved_by(layer, *property, &source, &protocol) {
                continue;
            }
            proofs += 1;
            searched += results.iter().map(|(_, complete)| complete).sum::<usize>();
            if !bad.is_empty() {
                let failure = format!("seed {seed} is proved, but {bad:?}\n{source}");
                log(&failure);
                failures.push(failure);
            }
        }
    }
    log(&format!(
        "hazards, seeds {first}..{}: {proofs} proofs, {violations} violations of properties, \
         {searched} complete searches of what is proved; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(
        proofs * 8 >= count && violations * 8 >= count,
        "{proofs} {violations} {count}"
    );
}
