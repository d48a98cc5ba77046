//! Every protocol of the library gets the verdict its own `expect` lines claim, with the least
//! counterexample they name, a certificate that checks and a witness that replays.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::protocol::Expectation;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::Property;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;
use warplock::verdict::decision::Verdict;
use warplock::witness;

fn library() -> Vec<PathBuf> {
    fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_some_and(|ending| ending == "wlk") {
                into.push(path);
            }
        }
    }
    let mut files = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings"),
        &mut files,
    );
    files.sort();
    files
}

fn decide(
    source: &str,
    narrowing: &Narrowing,
    property: Property,
    expected: &str,
) -> (Protocol, Decision) {
    let mut protocol = text::load(source.as_bytes()).unwrap();
    text::narrow(&mut protocol, narrowing).unwrap();
    let settings = Settings {
        // A bound of a property without a proof is found as far as the time allows.
        timeout: Duration::from_secs(match property {
            Property::Deadlock => 300,
            _ if expected == "proved" => 300,
            _ => 20,
        }),
        objectives: None,
        cancel: &AtomicBool::new(false),
        tell: &|_| {},
    };
    let decision = verdict::decide(&protocol, narrowing, property, &settings).unwrap();
    (protocol, decision)
}

fn check(file: &str, source: &str, expectation: &Expectation) {
    let narrowing = Narrowing {
        assume: expectation
            .assuming
            .iter()
            .map(|a| a.text.clone())
            .collect(),
        ..Narrowing::default()
    };
    let property = Property::from_name(&expectation.property).unwrap();
    let (protocol, decision) = decide(source, &narrowing, property, &expectation.verdict);
    let found = decision.verdict.word().to_lowercase();
    assert_eq!(
        found, expectation.verdict,
        "{file}, assuming {:?}: {:?}",
        narrowing.assume, decision.notes
    );
    match &decision.verdict {
        Verdict::Proved(proof) => {
            let checked = manifest::check(
                &proof.certificate,
                &Solver::BuiltIn,
                Duration::from_secs(300),
                &|_| {},
            );
            assert_eq!(
                checked.unwrap().obligations,
                proof.obligations.len(),
                "{file}"
            );
            assert!(
                !proof.obligations.is_empty(),
                "{file}: a proof without obligations"
            );
        }
        Verdict::Refuted(refutation) => {
            witness::replay(&protocol, &refutation.witness).unwrap();
            for (param, value) in &expectation.at {
                let found = refutation.input.params[param.0];
                let name = &protocol.params[param.0].name;
                assert_eq!(found, *value, "{file}: {name} of the least counterexample");
            }
        }
        Verdict::Bounded { .. } | Verdict::Unknown { .. } => {}
    }
}

/// How many expectations the files have whose folder this holds of, each of them met.
fn met(wanted: impl Fn(&str) -> bool) -> usize {
    let mut expectations = 0;
    for path in library() {
        let folder = path.parent().and_then(|folder| folder.file_name());
        if !wanted(folder.unwrap().to_str().unwrap()) {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let protocol = text::load(source.as_bytes()).unwrap();
        assert!(
            !protocol.expectations.is_empty(),
            "{} claims nothing",
            path.display()
        );
        for expectation in &protocol.expectations {
            check(&path.display().to_string(), &source, expectation);
            expectations += 1;
        }
    }
    expectations
}

// In several tests, which run side by side.

#[test]
fn every_expectation_about_hazards_is_met() {
    let expectations = met(|folder| folder == "hazards");
    assert!(expectations >= 40, "only {expectations} were found");
}

#[test]
fn every_expectation_about_grids_is_met() {
    let expectations = met(grids);
    assert!(expectations >= 30, "only {expectations} were found");
}

#[test]
fn every_other_expectation_of_the_library_is_met() {
    let expectations = met(|folder| folder != "hazards" && !grids(folder));
    assert!(expectations >= 50, "only {expectations} were found");
}

fn grids(folder: &str) -> bool {
    matches!(folder, "block_sparse" | "grid")
}

/// The condition of the published report: with a clamp in CTA tiles, just some lengths hang.
#[test]
fn the_wrong_clamp_hangs_for_the_lengths_reported_and_not_for_others() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings/block_sparse/n_bound_per_cta.wlk");
    let source = fs::read_to_string(path).unwrap();
    for (sq, sk, hangs) in [
        (129, 256, true),
        (257, 256, true),
        (128, 256, false),
        (512, 512, false),
    ] {
        let narrowing = Narrowing {
            set: [("sq".to_owned(), sq), ("sk".to_owned(), sk)].into(),
            ..Narrowing::default()
        };
        let (_, decision) = decide(&source, &narrowing, Property::Deadlock, "");
        let expected = if hangs { "REFUTED" } else { "PROVED" };
        assert_eq!(decision.verdict.word(), expected, "sq = {sq}, sk = {sk}");
    }
}

/// Residency decides: too few resident CTAs hang for some pattern at every shortfall.
#[test]
fn a_descending_launch_hangs_exactly_below_full_residency() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("encodings/block_sparse/lock_rank_descending_launch.wlk");
    let source = fs::read_to_string(path).unwrap();
    for n in 2..=5 {
        for r in 1..=n + 1 {
            let narrowing = Narrowing {
                set: [
                    ("N".to_owned(), n),
                    ("M".to_owned(), 1),
                    ("R".to_owned(), r),
                ]
                .into(),
                ..Narrowing::default()
            };
            let (_, decision) = decide(&source, &narrowing, Property::Deadlock, "");
            let expected = if r < n { "REFUTED" } else { "PROVED" };
            assert_eq!(decision.verdict.word(), expected, "N = {n}, R = {r}");
        }
    }
}

/// With ascending launch the reversed causal lock hangs at every shortfall of residency, whatever
/// the lengths, as soon as there are two key tiles.
#[test]
fn an_ascending_launch_of_the_reversed_lock_hangs_exactly_below_full_residency() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("encodings/block_sparse/causal_reversed_ascending_launch.wlk");
    let source = fs::read_to_string(path).unwrap();
    for (sq, sk) in [(1, 65), (64, 128), (130, 129), (200, 250), (300, 190)] {
        let tiles = (sk + 63) / 64;
        for r in 1..=tiles + 1 {
            let set = [
                ("Tm", 64),
                ("Tn", 64),
                ("sq", sq),
                ("sk", sk),
                ("wr", 0),
                ("R", r),
            ];
            let narrowing = Narrowing {
                set: set.map(|(name, value)| (name.to_owned(), value)).into(),
                ..Narrowing::default()
            };
            let (_, decision) = decide(&source, &narrowing, Property::Deadlock, "");
            let expected = if r < tiles { "REFUTED" } else { "PROVED" };
            assert_eq!(
                decision.verdict.word(),
                expected,
                "sq = {sq}, sk = {sk}, R = {r}"
            );
        }
    }
}
