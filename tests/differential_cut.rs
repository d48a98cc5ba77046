//! Random protocols of threads, rings, counters and transactions: whatever the cut rule proves is
//! searched exhaustively at small parameter values, where nothing may hang, be undefined or fault.
//!
//! The protocols are those of `support/edited.rs`. Seeds count from 0.
//!
//! `WARPLOCK_CASES` multiplies the number of cases (20 takes a few minutes in a release build),
//! `WARPLOCK_SEED` moves on to other ones, and `WARPLOCK_CASES_LOG` names a file that gets a line
//! of figures and the text of every protocol that was proved although it should not be.

use std::io::Write as _;
use std::time::Duration;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Argument;
use warplock::certificate::manifest::Rejection;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Domain;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::semantics::hazards::search::search_all;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::Property;
use warplock::verdict::hazard::inapplicable;

/// Cases of one run.
const CASES: u64 = 330;

/// States per choice of parameter values.
const MAX_STATES: u64 = 15_000;

/// Values of an unbounded parameter: this many from the lowest on.
const VALUES: i64 = 4;

/// Time for the search of a proof, and for each obligation.
const LIMIT: Duration = Duration::from_secs(3);

#[path = "support/edited.rs"]
mod edited;

#[path = "support/case_templates.rs"]
mod case_templates;
#[path = "support/init_templates.rs"]
mod init_templates;

use edited::generate;
use edited::generate_from;

/// The small parameter values.
fn grid(protocol: &Protocol) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for param in &protocol.params {
        let values: Vec<i64> = match &param.domain {
            Domain::AtLeast(lo) => (*lo..*lo + VALUES).collect(),
            Domain::Range(lo, hi) => (*lo..=(*hi).min(lo + VALUES)).collect(),
            Domain::Set(values) => values.clone(),
        };
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<i64>| {
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.push(*value);
                    chosen
                })
            })
            .filter(|chosen| chosen.iter().sum::<i64>() <= 9)
            .collect();
    }
    all.retain(|params| unfold::check_params(protocol, params).is_ok());
    all.sort_by_key(|params| params.iter().sum::<i64>());
    all
}

fn bounds() -> Bounds {
    Bounds {
        max_initial: 2,
        limits: Limits {
            ops: 2_000,
            members: 24,
            cells: 200,
            work: 500_000,
        },
    }
}

/// What is wrong at some small parameter values, and how many values were searched to the end.
fn wrong(protocol: &Protocol) -> (Option<String>, usize) {
    let bounds = bounds();
    let options = Options {
        max_states: MAX_STATES,
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        match explore_all(protocol, &params, &bounds, &options) {
            Ok(found) => {
                if found.stuck.is_some() {
                    return (Some(format!("stuck at {params:?}")), complete);
                }
                if let Some((_, _, violation)) = found.violation {
                    let what = format!("undefined at {params:?}: {:?}", violation.kind);
                    return (Some(what), complete);
                }
                complete += usize::from(found.end == SearchEnd::Exhausted);
            }
            Err(error) => {
                let text = error.to_string();
                if !text.contains("are needed") && !text.contains("work") {
                    return (Some(format!("cannot run at {params:?}: {text}")), complete);
                }
            }
        }
    }
    (None, complete)
}

/// Which of the other properties some small parameter values violate, and at how many values a
/// search came to its end.
fn violated(protocol: &Protocol, property: Property) -> (Option<String>, usize) {
    let options = Options {
        max_states: MAX_STATES,
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        // Too large to run.
        let Ok(found) = search_all(protocol, &params, property, &bounds(), &options) else {
            continue;
        };
        if found.found.is_some() {
            return (Some(format!("{property:?} at {params:?}")), complete);
        }
        complete += usize::from(found.end == SearchEnd::Exhausted);
    }
    (None, complete)
}

/// Whether the rule proves that it has no deadlock.
fn proved(source: &str, protocol: &Protocol) -> bool {
    proved_by(Layer::Cuts, Property::Deadlock, source, protocol)
}

fn proved_by(layer: Layer, property: Property, source: &str, protocol: &Protocol) -> bool {
    let Guess::Fitting(argument) = proof::search(protocol, layer, LIMIT, None, &|_| {}) else {
        return false;
    };
    assert!(matches!(argument, Argument::Cut(_)), "{argument:?}");
    let issued = manifest::issue(source, &Narrowing::default(), property.name(), argument);
    let Ok((certificate, _)) = issued else {
        return false;
    };
    match manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}) {
        Ok(_) => true,
        Err(Rejection::Open { .. }) => false,
        Err(other) => panic!("{other}\n{source}"),
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn log(line: &str) {
    if let Ok(path) = std::env::var("WARPLOCK_CASES_LOG") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        writeln!(file.unwrap(), "{line}").unwrap();
    }
}

#[test]
fn what_is_proved_never_hangs() {
    let count = CASES * number("WARPLOCK_CASES", 1);
    never_hangs(&generate, 0, count);
}

/// Seeds of the protocols with explicit initialisation.
const INIT_SEEDS: u64 = 2_000_000;

#[test]
fn what_is_proved_with_explicit_initialisation_is_right() {
    let count = CASES / 5 * number("WARPLOCK_CASES", 1);
    let generate = |seed| generate_from(init_templates::TEMPLATES, seed);
    never_hangs(&generate, INIT_SEEDS, count);
    never_violated(&generate, INIT_SEEDS, count);
}

/// Seeds of the protocols that need cases, single users or surplus bytes.
const CASE_SEEDS: u64 = 3_000_000;

#[test]
fn what_is_proved_case_by_case_is_right() {
    let count = CASES / 5 * number("WARPLOCK_CASES", 1);
    let generate = |seed| generate_from(case_templates::TEMPLATES, seed);
    never_hangs(&generate, CASE_SEEDS, count);
    never_violated(&generate, CASE_SEEDS, count);
}

/// No protocol of these seeds is proved wrongly free of deadlock.
fn never_hangs(generate: &dyn Fn(u64) -> Option<String>, base: u64, count: u64) {
    let first = base + number("WARPLOCK_SEED", 0);
    let (mut texts, mut good, mut bad, mut proofs) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(seed) else {
            continue;
        };
        texts += 1;
        let protocol = text::load(source.as_bytes()).unwrap();
        let (wrong, complete) = wrong(&protocol);
        match wrong {
            Some(what) => {
                bad += 1;
                if proved(&source, &protocol) {
                    let failure = format!("seed {seed} is proved, but {what}\n{source}");
                    log(&failure);
                    failures.push(failure);
                }
            }
            // Only so many of those that are fine need be tried.
            None if complete >= 4 => {
                good += 1;
                proofs += usize::from(proved(&source, &protocol));
            }
            None => {}
        }
    }
    log(&format!(
        "seeds {first}..{}: {texts} protocols, {bad} of them hang, are undefined or fault at small \
         values; of {good} that do not, {proofs} are proved; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing was proved, or everything that can be.
    assert!(
        proofs * 8 >= good && bad * 4 >= texts,
        "{proofs} {good} {bad} {texts}"
    );
}

/// Seeds of their own, so that the two tests see different protocols.
const HAZARD_SEEDS: u64 = 1_000_000;

#[test]
fn what_a_consistent_cut_proves_is_never_violated() {
    let count = CASES / 3 * number("WARPLOCK_CASES", 1);
    never_violated(&generate, HAZARD_SEEDS, count);
}

/// No protocol of these seeds is proved wrongly free of another hazard.
fn never_violated(generate: &dyn Fn(u64) -> Option<String>, base: u64, count: u64) {
    let first = base + number("WARPLOCK_SEED", 0);
    let (mut proofs, mut searched, mut violations) = (0_u64, 0, 0_u64);
    let mut failures = Vec::new();
    let layers = [
        (
            Layer::Cuts,
            &[
                Property::EarlyPass,
                Property::LappedWait,
                Property::OverArrival,
                Property::Uninitialized,
            ][..],
        ),
        (
            Layer::ConsistentCuts,
            &[Property::EarlyCompletion, Property::TxMismatch][..],
        ),
    ];
    for seed in first..first + count {
        let Some(source) = generate(seed) else {
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
