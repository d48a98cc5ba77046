//! Random protocols that say what is read and written, and some of them how memory is ordered and who
//! runs where: whatever the cut rule proves free of races, or of stale reads, is searched exhaustively
//! at small parameter values, where none may be found.
//!
//! The protocols are those of `support/edited.rs` with data. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

#[path = "support/campaign.rs"]
mod campaign;
#[path = "support/cut_rule.rs"]
mod cut_rule;
#[path = "support/edited.rs"]
mod edited;
#[path = "support/race_templates.rs"]
mod race_templates;
#[path = "support/stale_templates.rs"]
mod stale_templates;
#[path = "support/violations.rs"]
mod violations;

use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::text;
use warplock::verdict::Property;
use warplock::verdict::hazard::inapplicable;

use campaign::log;
use campaign::number;
use cut_rule::proved_by;
use edited::Kernels;
use edited::generate;
use violations::violated;

#[test]
fn what_is_proved_never_races() {
    let property = (Property::Race, Shows::Ordering);
    never_violated(&race_templates::KERNELS, property, 100, 6);
}

#[test]
fn what_is_proved_is_never_stale() {
    let property = (Property::StaleRead, Shows::Visibility);
    never_violated(&stale_templates::KERNELS, property, 70, 20);
}

/// Of so many cases of one run none is proved wrongly, and at least one in `bad` violates the property.
fn never_violated(kernels: &Kernels, (property, shows): (Property, Shows), cases: u64, bad: usize) {
    let first = number("WARPLOCK_SEED", 0);
    let count = cases * number("WARPLOCK_CASES", 1);
    let (mut texts, mut good, mut violations, mut proofs, mut searched) = (0, 0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(kernels, seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        if inapplicable(&protocol, property).is_some() {
            continue;
        }
        texts += 1;
        let (found, complete) = violated(&protocol, property);
        let proved = proved_by(Layer::Cuts(shows), property, &source, &protocol);
        proofs += usize::from(proved);
        match found {
            Some(what) => {
                violations += 1;
                if proved {
                    let failure = format!("seed {seed} is proved, but {what}\n{source}");
                    log(&failure);
                    failures.push(failure);
                }
            }
            None => {
                good += usize::from(complete >= 4);
                searched += if proved { complete } else { 0 };
            }
        }
    }
    log(&format!(
        "{}, seeds {first}..{}: {texts} protocols, {violations} violate it at small values; of {good} \
         that do not, {proofs} are proved, {searched} complete searches of these; {} wrong proofs",
        property.name(),
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing was proved, or nothing violated it.
    assert!(
        proofs * 4 >= good && violations * bad >= texts,
        "{proofs} {good} {violations} {texts}"
    );
}
