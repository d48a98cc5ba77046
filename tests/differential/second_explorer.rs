//! The reference semantics beside an explorer that was written a second time, in Python, from
//! `docs/language.md` alone: `tests/explorer`.
//!
//! Random protocols over the whole language, and all of the library, are searched exhaustively by
//! both at small values. They have to agree on what hangs, what is undefined and which properties
//! are violated. `WARPLOCK_CASES` multiplies the number of protocols, `WARPLOCK_SEED` moves on to
//! other ones, `WARPLOCK_CASES_LOG` names a file that gets the figures and every difference, and
//! `WARPLOCK_REQUESTS` one that gets what the other explorer is asked.

use crate::support::library::protocols;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use serde_json::json;
use warplock::hunt::grid;
use warplock::protocol::Domain;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::semantics::hazards::search::search_all;
use warplock::semantics::hazards::unfollowed;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;
use warplock::verdict::hazard::inapplicable;

use crate::support;
use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::edited;

/// States of one protocol.
const STATES: u64 = 4_000;

/// Start values of memory that was not cleared.
const MAX_INITIAL: i64 = 1;

/// What the other explorer answers beside hangs.
const PROPERTIES: [Property; 7] = [
    Property::EarlyCompletion,
    Property::EarlyPass,
    Property::LappedWait,
    Property::OverArrival,
    Property::TxMismatch,
    Property::Uninitialized,
    Property::Race,
];

/// The protocol of a seed, from all generators in turn.
pub fn random(seed: u64) -> Option<String> {
    let kernels = [
        &support::cut_templates::KERNELS,
        &support::init_templates::KERNELS,
        &support::race_templates::KERNELS,
        &support::reset_templates::KERNELS,
        &support::cluster_templates::KERNELS,
        &support::order_templates::KERNELS,
        &support::sharing_templates::KERNELS,
        &support::registration_templates::KERNELS,
    ];
    let at = usize::try_from(seed / 6).unwrap();
    match seed % 6 {
        0 | 1 => Some(support::language::protocol(seed)?.source),
        2 => Some(support::interactions::protocol(seed)),
        3 => Some(support::generator::protocol(seed)),
        _ => edited::generate(kernels[at % kernels.len()], seed),
    }
}

/// Values near the least of every parameter.
pub fn values(protocol: &Protocol, seed: u64) -> Vec<i64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let each = protocol.params.iter().map(|param| match &param.domain {
        Domain::AtLeast(lo) => lo + rng.random_range(0..3),
        Domain::Range(lo, hi) => (lo + rng.random_range(0..3)).min(*hi),
        Domain::Set(all) => all[0],
    });
    each.collect()
}

/// What the reference semantics says of a text at these values, as a request to compare with;
/// `None` where it cannot tell.
fn request(name: &str, source: &str, protocol: &Protocol, params: &[i64]) -> Option<Value> {
    unfold::check_params(protocol, params).ok()?;
    let bounds = Bounds {
        max_initial: MAX_INITIAL,
        limits: Limits {
            ops: 600,
            members: 12,
            cells: 100,
            work: 50_000,
        },
    };
    let options = Options {
        max_states: STATES,
        stop_at_stuck: false,
        symmetry: false,
        ..Options::default()
    };
    let named = protocol.params.iter().zip(params);
    let named: serde_json::Map<String, Value> = named
        .map(|(param, value)| (param.name.clone(), (*value).into()))
        .collect();
    let mut request = json!({
        "name": name,
        "source": source,
        "params": named,
        "max_initial": MAX_INITIAL,
    });
    let found = match explore_all(protocol, params, &bounds, &options) {
        Ok(found) if found.end == SearchEnd::Exhausted => found,
        Ok(_) => return None,
        Err(error) => {
            let text = error.to_string();
            let large = text.contains("are needed") || text.contains("work");
            request["runs"] = false.into();
            return (!large).then_some(request);
        }
    };
    let mut properties = serde_json::Map::new();
    for property in PROPERTIES {
        let unfollowed = unfollowed(protocol, property).is_some();
        if inapplicable(protocol, property).is_some() || unfollowed {
            continue;
        }
        if let Ok(found) = search_all(protocol, params, property, &bounds, &options) {
            let violated = found.found.is_some();
            if violated || found.end == SearchEnd::Exhausted && found.hidden.is_none() {
                properties.insert(property.name().to_owned(), violated.into());
            }
        }
    }
    request["runs"] = true.into();
    request["stuck"] = found.stuck.is_some().into();
    request["undefined"] = found.violation.is_some().into();
    request["properties"] = properties.into();
    Some(request)
}

/// Asks the other explorer; its report and whether it agrees, or nothing where there is no Python.
fn compare(requests: &[Value]) -> Option<(String, bool)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explorer/compare.py");
    let mut text = String::new();
    for request in requests {
        text.push_str(&request.to_string());
        text.push('\n');
    }
    if let Ok(path) = std::env::var("WARPLOCK_REQUESTS") {
        fs::write(path, &text).unwrap();
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let run = Command::new("python3")
        .arg("-B")
        .arg(&script)
        .arg(file.path())
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    let report = String::from_utf8_lossy(&run.stdout).into_owned();
    log(&report);
    Some((report, run.status.success()))
}

#[test]
fn both_explorers_agree_on_random_protocols() {
    let first = number("WARPLOCK_SEED", 0);
    let count = 100 * number("WARPLOCK_CASES", 1);
    let mut requests = Vec::new();
    for seed in first..first + count {
        let Some(source) = random(seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        let params = values(&protocol, seed);
        requests.extend(request(
            &format!("seed {seed}"),
            &source,
            &protocol,
            &params,
        ));
    }
    if let Some((report, agree)) = compare(&requests) {
        assert!(agree, "{report}");
        // It would test nothing if most were out of reach.
        assert!(
            requests.len() as u64 * 3 >= count,
            "{} of {count}",
            requests.len()
        );
    }
}

#[test]
fn both_explorers_agree_on_results_of_atomic_operations() {
    let first = number("WARPLOCK_SEED", 0);
    let count = 150 * number("WARPLOCK_CASES", 1);
    let mut requests = Vec::new();
    for seed in first..first + count {
        let source = support::atomics::protocol(seed);
        let protocol = text::load(source.as_bytes()).unwrap_or_else(|found| {
            panic!("{}", text::render(&found, "p.wlk", &source, false));
        });
        let params = [1 + i64::try_from(seed % 3).unwrap()];
        requests.extend(request(
            &format!("seed {seed}"),
            &source,
            &protocol,
            &params,
        ));
    }
    let of = |what: &str| requests.iter().filter(|r| r[what] == true).count() as u64;
    let (run, stuck, undefined) = (of("runs"), of("stuck"), of("undefined"));
    log(&format!(
        "{count}: {run} run, {stuck} hang, {undefined} do something undefined"
    ));
    if let Some((report, agree)) = compare(&requests) {
        assert!(agree, "{report}");
        // It would test nothing if all were alike.
        assert!(run * 2 >= count, "{run} of {count}");
        assert!(stuck * 8 >= run && stuck * 8 <= 7 * run, "{stuck} of {run}");
        assert!(undefined * 20 >= run, "{undefined} of {run}");
    }
}

#[test]
fn both_explorers_agree_on_warps_that_register_again() {
    let first = number("WARPLOCK_SEED", 0);
    let count = 150 * number("WARPLOCK_CASES", 1);
    let mut requests = Vec::new();
    for seed in first..first + count {
        let source = support::registrations::protocol(seed);
        let protocol = text::load(source.as_bytes()).unwrap_or_else(|found| {
            panic!("{}", text::render(&found, "p.wlk", &source, false));
        });
        let params = [i64::try_from(seed % 4).unwrap()];
        requests.extend(request(
            &format!("seed {seed}"),
            &source,
            &protocol,
            &params,
        ));
    }
    let again = |r: &&Value| support::registrations::again(r["source"].as_str().unwrap());
    let again = requests.iter().filter(again).count() as u64;
    let of = |what: &str| requests.iter().filter(|r| r[what] == true).count() as u64;
    let (run, stuck, undefined) = (of("runs"), of("stuck"), of("undefined"));
    log(&format!(
        "{count}: {run} run, {stuck} hang, {undefined} do something undefined; in {again} a warp comes again at once"
    ));
    if let Some((report, agree)) = compare(&requests) {
        assert!(agree, "{report}");
        // It would test nothing if all were alike, or nobody came again.
        assert!(run * 10 >= count * 9, "{run} of {count}");
        assert!(stuck * 5 >= run && stuck * 5 <= 4 * run, "{stuck} of {run}");
        assert!(again * 3 >= run, "{again} of {run}");
    }
}

#[test]
#[ignore = "takes minutes in a debug build"]
fn both_explorers_agree_on_the_library() {
    let mut requests = Vec::new();
    for (name, source) in protocols() {
        let protocol = text::load(source.as_bytes()).unwrap();
        for radius in 0..=1 {
            for params in grid::points(&protocol, radius) {
                let name = format!("{name} {params:?}");
                requests.extend(request(&name, &source, &protocol, &params));
            }
        }
    }
    let (report, agree) = compare(&requests).expect("this test needs Python");
    assert!(agree, "{report}");
}
