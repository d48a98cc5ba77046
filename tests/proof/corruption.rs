//! Damaged certificates and witnesses: every leaf changed, every part dropped or doubled, bytes
//! flipped, the file cut off, and one protocol's argument under another's text. All are refused,
//! except a changed name or version of the program, which says nothing about the proof or the run,
//! an argument that leads to the same obligations to the letter, and other parameter values at which the run of a witness hangs just as it says.

use crate::support::agreement;
use crate::support::damage::at;
use crate::support::damage::changes;
use crate::support::damage::paths;
use crate::support::damage::worded;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Certificate;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::decision::Verdict;
use warplock::witness;
use warplock::witness::Witness;

const LIMIT: Duration = Duration::from_secs(20);

fn source(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings");
    fs::read_to_string(path.join(file)).unwrap()
}

fn verdict(source: &str) -> Verdict {
    let protocol = text::load(source.as_bytes()).unwrap();
    agreement::decide(&protocol, &Narrowing::default(), LIMIT)
        .unwrap()
        .verdict
}

fn certificate(file: &str) -> Certificate {
    match verdict(&source(file)) {
        Verdict::Proved(proof) => proof.certificate,
        other => panic!("{file} is {}", other.word()),
    }
}

fn certified(certificate: &Certificate) -> bool {
    manifest::check(certificate, &Solver::BuiltIn, LIMIT, &|_| {}).is_ok()
}

/// Which parts may change without being noticed, and how many changes were tried.
fn unnoticed(
    whole: &Value,
    stride: usize,
    accepted: &dyn Fn(&Value) -> bool,
) -> (BTreeSet<String>, usize) {
    let mut all = Vec::new();
    paths(whole, &mut Vec::new(), &mut all);
    let (mut unnoticed, mut tried) = (BTreeSet::new(), 0);
    let changed = all.iter().flat_map(|path| {
        let part = at(&mut whole.clone(), path).clone();
        changes(&part).into_iter().map(move |new| (path, new))
    });
    for (path, new) in changed.step_by(stride) {
        let mut damaged = whole.clone();
        let part = at(&mut damaged, path);
        if *part == new {
            continue;
        }
        *part = new;
        tried += 1;
        if accepted(&damaged) {
            unnoticed.insert(worded(path));
        }
    }
    (unnoticed, tried)
}

/// Files proved by each of the rules, with the stride through their changes.
const PROVED: [(&str, usize); 4] = [
    ("block_sparse/dense.wlk", 1),
    ("block_sparse/lock_rank.wlk", 1),
    ("known_bugs/zero_tile_mainloop_fixed.wlk", 1),
    ("mbarrier/jacobi.wlk", 1),
];

#[test]
fn a_changed_manifest_is_refused() {
    for (file, stride) in PROVED {
        let certificate = certificate(file);
        let whole = serde_json::to_value(&certificate).unwrap();
        let accepted = |damaged: &Value| {
            serde_json::from_str::<Certificate>(&damaged.to_string())
                .is_ok_and(|read| read != certificate && certified(&read))
        };
        let (unnoticed, tried) = unnoticed(&whole, stride, &accepted);
        let read: Certificate = serde_json::from_str(&whole.to_string()).unwrap();
        assert!(read == certificate && certified(&certificate));
        // An argument that leads to the same obligations, to the letter, is as good.
        let found = unnoticed.iter().map(String::as_str);
        let found: Vec<&str> = found.filter(|p| !p.starts_with("argument.")).collect();
        assert_eq!(found, ["tool", "version"], "{file}");
        assert!(tried >= 40, "{file}: {tried}");
    }
}

/// The text of a value with its keys in ascending or descending order.
fn sorted(value: &Value, descending: bool) -> String {
    let text =
        |key: &str, part: &Value| format!("{}:{}", Value::from(key), sorted(part, descending));
    match value {
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(|part| sorted(part, descending)).collect();
            format!("[{}]", all.join(","))
        }
        Value::Object(all) => {
            let mut keys: Vec<&String> = all.keys().collect();
            keys.sort();
            if descending {
                keys.reverse();
            }
            let all: Vec<String> = keys.iter().map(|key| text(key, &all[*key])).collect();
            format!("{{{}}}", all.join(","))
        }
        _ => value.to_string(),
    }
}

#[test]
fn the_order_of_keys_says_nothing() {
    for file in ["block_sparse/lock_rank.wlk", "mbarrier/jacobi.wlk"] {
        let certificate = certificate(file);
        let value = serde_json::to_value(&certificate).unwrap();
        for descending in [false, true] {
            let read: Certificate = serde_json::from_str(&sorted(&value, descending)).unwrap();
            assert_eq!(read, certificate, "{file}");
        }
    }
    let mut value =
        serde_json::to_value(certificate("block_sparse/delayed_release_previous.wlk")).unwrap();
    value["argument"]["artefact"]["counted"] = serde_json::json!({"0": [0], "00": [0]});
    let error = serde_json::from_value::<Certificate>(value).unwrap_err();
    assert_eq!(error.to_string(), "`00` is not a number");
}

#[test]
fn a_manifest_of_other_bytes_is_refused() {
    let certificate = certificate("block_sparse/dense.wlk");
    let bytes = serde_json::to_vec(&certificate).unwrap();
    for end in (0..bytes.len()).step_by(7) {
        assert!(serde_json::from_slice::<Certificate>(&bytes[..end]).is_err());
    }
    let mut read = 0;
    for at in (0..bytes.len()).step_by(3) {
        for bit in [0, 4] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let Ok(other) = serde_json::from_slice::<Certificate>(&flipped) else {
                continue;
            };
            read += 1;
            let same = Certificate {
                tool: certificate.tool.clone(),
                version: certificate.version.clone(),
                ..other.clone()
            } == certificate;
            assert!(same || !certified(&other), "byte {at}, bit {bit}");
        }
    }
    assert!(read >= 100, "{read}");
}

/// An argument that is changed and issued anew records the obligations that it has: it is accepted
/// only if they hold. Under a text that hangs none may be.
#[test]
fn no_argument_certifies_a_protocol_that_hangs() {
    let pairs = [
        ("mbarrier/jacobi.wlk", "mbarrier/jacobi_fixed_phase.wlk"),
        (
            "known_bugs/named_count_fixed.wlk",
            "known_bugs/named_count.wlk",
        ),
        (
            "known_bugs/zero_tile_mainloop_fixed.wlk",
            "known_bugs/zero_tile_mainloop.wlk",
        ),
        (
            "block_sparse/lock_rank.wlk",
            "block_sparse/lock_n_block.wlk",
        ),
        ("block_sparse/dense.wlk", "block_sparse/zigzag.wlk"),
        ("block_sparse/dense.wlk", "block_sparse/unzeroed.wlk"),
    ];
    let mut tried = 0;
    for (good, bad) in pairs {
        let argument = certificate(good).argument;
        let bad_source = source(bad);
        let whole = serde_json::to_value(&argument).unwrap();
        let accepted = |damaged: &Value| {
            let Ok(argument) = serde_json::from_str::<Argument>(&damaged.to_string()) else {
                return false;
            };
            let none = Narrowing::default();
            let issued = manifest::issue(&bad_source, &none, "deadlock", argument);
            issued.is_ok_and(|(certificate, _)| certified(&certificate))
        };
        assert!(!accepted(&whole), "{good} certifies {bad}");
        let (found, count) = unnoticed(&whole, 3, &accepted);
        assert_eq!(found, BTreeSet::new(), "{good} certifies {bad}");
        tried += count;
    }
    assert!(tried >= 60, "{tried}");
}

fn replays(read: &Witness) -> bool {
    let Ok(mut protocol) = text::load(read.source.as_bytes()) else {
        return false;
    };
    let narrowing = Narrowing {
        assume: read.assumptions.clone(),
        ..Narrowing::default()
    };
    text::narrow(&mut protocol, &narrowing).is_ok() && witness::replay(&protocol, read).is_ok()
}

#[test]
fn a_changed_witness_is_refused() {
    let files = [
        "block_sparse/lock_n_block.wlk",
        "block_sparse/unzeroed.wlk",
        "mbarrier/jacobi_fixed_phase.wlk",
        "known_bugs/bytes_expected.wlk",
        "known_bugs/named_count.wlk",
    ];
    let mut all = BTreeSet::new();
    for file in files {
        let Verdict::Refuted(refutation) = verdict(&source(file)) else {
            panic!("{file}");
        };
        let witness = refutation.witness;
        let whole = serde_json::to_value(&witness).unwrap();
        let accepted = |damaged: &Value| {
            Witness::from_json(damaged.to_string().as_bytes())
                .is_ok_and(|read| read != witness && replays(&read))
        };
        let (unnoticed, tried) = unnoticed(&whole, 1, &accepted);
        assert!(tried >= 40, "{file}: {tried}");
        all.extend(unnoticed);
        let bytes = witness.to_json().unwrap().into_bytes();
        for end in (0..bytes.len() - 2).step_by(11) {
            assert!(Witness::from_json(&bytes[..end]).is_err(), "{file} {end}");
        }
    }
    // The run may hang just the same at other values of a parameter: then that is true as well.
    all.retain(|path| !path.starts_with("parameters."));
    assert_eq!(all, BTreeSet::from(["version".to_owned()]));
}
