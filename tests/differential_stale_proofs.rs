//! Random protocols that say what is read and written, how memory is ordered and who runs where: where
//! the cut rule proves that no read is stale, none may be found at small parameter values.
//!
//! The protocols are those of `support/edited.rs` with data and places. Seeds count from 0. For longer runs see
//! `support/cut_rule.rs`.

#[path = "support/cut_rule.rs"]
mod cut_rule;
#[path = "support/edited.rs"]
mod edited;
#[path = "support/stale_templates.rs"]
mod stale_templates;
#[path = "support/violations.rs"]
mod violations;

use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::text;
use warplock::verdict::Property;
use warplock::verdict::hazard::inapplicable;

use cut_rule::log;
use cut_rule::number;
use cut_rule::proved_by;
use edited::generate;
use stale_templates::KERNELS;
use violations::violated;

/// Cases of one run.
const CASES: u64 = 70;

#[test]
fn what_is_proved_is_never_stale() {
    let first = number("WARPLOCK_SEED", 0);
    let count = CASES * number("WARPLOCK_CASES", 1);
    let layer = Layer::Cuts(Shows::Visibility);
    let (mut texts, mut good, mut stale, mut proofs, mut searched) = (0, 0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(&KERNELS, seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        if inapplicable(&protocol, Property::StaleRead).is_some() {
            continue;
        }
        texts += 1;
        let (found, complete) = violated(&protocol, Property::StaleRead);
        let proved = proved_by(layer, Property::StaleRead, &source, &protocol);
        proofs += usize::from(proved);
        match found {
            Some(what) => {
                stale += 1;
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
        "stale reads, seeds {first}..{}: {texts} protocols, {stale} are stale at small values; of {good} that do \
         not, {proofs} are proved, {searched} complete searches of these; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing was proved, or nothing was stale.
    assert!(
        proofs * 4 >= good && stale * 20 >= texts,
        "{proofs} {good} {stale} {texts}"
    );
}
