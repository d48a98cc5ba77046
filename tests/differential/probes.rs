//! Protocols as a kernel author might write them, correct and not: each gets the verdict it
//! expects, and exhaustive search agrees at small values.

use crate::support::reference;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::reference::Outcome;
use warplock::protocol::Property;
use warplock::semantics::unfold;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Verdict;

#[test]
fn probes_get_the_verdicts_they_expect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/probes");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 22);
    for file in files {
        let name = file.display();
        let source = fs::read_to_string(&file).unwrap();
        assert_eq!(
            text::format(&source).as_deref(),
            Ok(source.as_str()),
            "{name}: its layout"
        );
        let protocol = reference::load(&source);
        let settings = Settings {
            timeout: Duration::from_secs(60),
            objectives: None,
            cancel: &AtomicBool::new(false),
            tell: &|_| {},
            kernel: false,
        };
        let decision = verdict::decide(
            &protocol,
            &Narrowing::default(),
            Property::Deadlock,
            &settings,
        )
        .unwrap();
        let expected = &protocol.expectations[0].verdict;
        assert_eq!(&decision.verdict.word().to_lowercase(), expected, "{name}");
        if let Verdict::Refuted(refutation) = &decision.verdict {
            let hangs = reference::hangs(&protocol, &refutation.input, 200_000);
            assert_eq!(hangs, Ok(Some(true)), "{name}");
        }
        // Every parameter at its least value, then every one by one more.
        for more in 0..2 {
            let least = protocol.params.iter().map(|param| match param.domain {
                warplock::protocol::Domain::AtLeast(lo) => lo + more,
                _ => 1,
            });
            let params: Vec<i64> = least.collect();
            if unfold::check_params(&protocol, &params).is_err() {
                continue;
            }
            let found = reference::at(&protocol, &params, 200_000);
            let agrees = match found {
                Outcome::Clear | Outcome::TooLarge => true,
                Outcome::Stuck(_) => expected == "refuted",
                Outcome::Fault(_) => false,
            };
            assert!(agrees, "{name} at {params:?}: {found:?}");
        }
    }
}
