//! Random protocols that say what is read and written: whatever the cut rule proves free of races is
//! searched exhaustively at small parameter values, where none may be found.
//!
//! The protocols are those of `support/edited.rs` with data. Seeds count from 0. For longer runs see
//! `support/cut_rule.rs`.

#[path = "support/cut_rule.rs"]
mod cut_rule;
#[path = "support/edited.rs"]
mod edited;
#[path = "support/race_templates.rs"]
mod race_templates;
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
use race_templates::KERNELS;
use violations::violated;

/// Cases of one run.
const CASES: u64 = 100;

#[test]
fn what_is_proved_never_races() {
    let first = number("WARPLOCK_SEED", 0);
    let count = CASES * number("WARPLOCK_CASES", 1);
    let layer = Layer::Cuts(Shows::Ordering);
    let (mut texts, mut good, mut races, mut proofs, mut searched) = (0, 0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(&KERNELS, seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        if inapplicable(&protocol, Property::Race).is_some() {
            continue;
        }
        texts += 1;
        let (race, complete) = violated(&protocol, Property::Race);
        let proved = proved_by(layer, Property::Race, &source, &protocol);
        proofs += usize::from(proved);
        match race {
            Some(what) => {
                races += 1;
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
        "races, seeds {first}..{}: {texts} protocols, {races} race at small values; of {good} that do \
         not, {proofs} are proved, {searched} complete searches of these; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing was proved, or nothing raced.
    assert!(
        proofs * 4 >= good && races * 6 >= texts,
        "{proofs} {good} {races} {texts}"
    );
}
