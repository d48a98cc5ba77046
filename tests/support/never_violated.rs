//! What the cut rule proves of random protocols is searched exhaustively at small parameter values,
//! where nothing may violate it.

use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;
use warplock::verdict::hazard::inapplicable;

use super::campaign::log;
use super::campaign::number;
use super::cut_rule::proved_by;
use super::edited::Kernels;
use super::edited::generate;
use super::violations::violated;

/// Of so many cases of one run none is proved wrongly, and at least one in `bad` violates the property.
pub fn never_violated(
    kernels: &Kernels,
    (property, shows): (Property, Shows),
    cases: u64,
    bad: usize,
) {
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
