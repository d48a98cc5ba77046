//! Every protocol of the library gets the verdict its own `expect` lines claim, with the least
//! counterexample they name, a certificate that checks and a witness that replays.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::Output;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warplock::protocol::Property;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;

fn warplock(arguments: &[&str]) -> Output {
    let program = insta_cmd::get_cargo_bin("warplock");
    let folder = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn paths(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    found
}

/// What the README tells users to run of the whole library; then every proof and every
/// counterexample that it wrote, by the commands that do not know the search.
#[test]
fn the_library_meets_its_expectations_and_what_it_writes_is_accepted() {
    let written = tempfile::tempdir().unwrap();
    let (proofs, witnesses) = (
        written.path().join("proofs"),
        written.path().join("witnesses"),
    );
    let checked = warplock(&[
        "check",
        "-q",
        "--expect",
        "--timeout",
        "300",
        "--certificate",
        proofs.to_str().unwrap(),
        "--witness",
        witnesses.to_str().unwrap(),
        "encodings",
    ]);
    let lines = String::from_utf8(checked.stdout).unwrap();
    let differs = lines.lines().filter(|line| !line.contains(": ok: "));
    assert_eq!(differs.collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(checked.status.code(), Some(0));
    let met = |verdict: &str| lines.matches(&format!(": {verdict}")).count();
    assert!(met("proved") >= 140, "only {} proofs", met("proved"));
    assert!(
        met("refuted") >= 100,
        "only {} counterexamples",
        met("refuted")
    );

    let certificates = paths(&proofs);
    let mut arguments = vec!["certify", "-q", "--timeout", "900"];
    arguments.extend(certificates.iter().map(String::as_str));
    let certified = warplock(&arguments);
    let lines = String::from_utf8(certified.stdout).unwrap();
    assert_eq!(certified.status.code(), Some(0), "{lines}");
    assert_eq!(lines.matches(": CERTIFIED ").count(), certificates.len());
    assert!(!lines.contains(": 0 obligations"), "{lines}");

    for witness in paths(&witnesses) {
        let replayed = warplock(&["replay", "-q", &witness]);
        let lines = String::from_utf8(replayed.stdout).unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{witness}: {lines}");
        assert!(lines.contains(": REFUTED "), "{witness}: {lines}");
    }
}

fn decide(source: &str, narrowing: &Narrowing) -> Decision {
    let mut protocol = text::load(source.as_bytes()).unwrap();
    text::narrow(&mut protocol, narrowing).unwrap();
    let settings = Settings {
        timeout: Duration::from_secs(300),
        objectives: None,
        cancel: &AtomicBool::new(false),
        tell: &|_| {},
        kernel: false,
    };
    verdict::decide(&protocol, narrowing, Property::Deadlock, &settings).unwrap()
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
        let decision = decide(&source, &narrowing);
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
            let decision = decide(&source, &narrowing);
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
            let decision = decide(&source, &narrowing);
            let expected = if r < tiles { "REFUTED" } else { "PROVED" };
            assert_eq!(
                decision.verdict.word(),
                expected,
                "sq = {sq}, sk = {sk}, R = {r}"
            );
        }
    }
}
