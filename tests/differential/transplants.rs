//! Certificates under the texts of other protocols, without a search for counterexamples in front.
//!
//! An argument of a correct protocol is issued anew for each mutant of the protocol, whole and with
//! one part changed, and goes straight to the checker. What it accepts is searched exhaustively at
//! small values, where nothing may violate the property. A manifest that is changed in one place is
//! refused, or what it claims then is searched, too.
//!
//! The tests take a few arguments. All of the library and of the templates:
//!
//! ```sh
//! WARPLOCK_CASES_LOG=FILE cargo test --test differential transplants:: -- --ignored
//! ```
//!
//! `WARPLOCK_CASES` multiplies the number of mutants per argument, `WARPLOCK_SEED` chooses others,
//! and `WARPLOCK_FILE` takes only the arguments with that in their name.

use crate::support::library::protocols;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use itertools::Itertools;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Certificate;
use warplock::deadline;
use warplock::proof;
use warplock::proof::Guess;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::hazards::search::search_all;
use warplock::text;
use warplock::text::Narrowing;

use crate::support;
use crate::support::agreement;
use crate::support::agreement::Effort;
use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::cut_rule::bounds;
use crate::support::cut_rule::grid;
use crate::support::damage;
use crate::support::mutants;
use crate::support::mutants::Mutant;

/// Time for the search of a proof.
const SEARCH: Duration = Duration::from_secs(4);

/// Time for an obligation, and for everything about one certificate.
const EACH: Duration = Duration::from_secs(1);
const WHOLE: Duration = Duration::from_secs(3);

/// How far what is accepted is searched.
const EFFORT: Effort = Effort {
    radius: 3,
    states: 5_000,
    time: Duration::from_millis(500),
};

/// A text, what is claimed of it and why that is so.
struct Proved {
    name: String,
    source: String,
    narrowing: Narrowing,
    property: Property,
    argument: Argument,
}

/// A claim that may have an argument.
struct Claim {
    name: String,
    source: String,
    narrowing: Narrowing,
    property: Property,
}

/// What the library expects to be proved.
fn library() -> Vec<Claim> {
    let mut all = Vec::new();
    for (name, source) in protocols() {
        for expectation in &text::load(source.as_bytes()).unwrap().expectations {
            let property = Property::from_name(expectation.property.as_str()).unwrap();
            if expectation.verdict == "proved" {
                let assume = expectation.assuming.iter().map(|a| a.text.clone());
                all.push(Claim {
                    name: format!("{name} {}", property.name()),
                    source: source.clone(),
                    narrowing: Narrowing {
                        assume: assume.collect(),
                        ..Narrowing::default()
                    },
                    property,
                });
            }
        }
    }
    all
}

/// The kernels that the random tests edit, each with every property.
fn templates() -> Vec<Claim> {
    let kernels = [
        ("cut", &support::cut_templates::KERNELS),
        ("order", &support::order_templates::KERNELS),
        ("cases", &support::case_templates::KERNELS),
        ("clusters", &support::cluster_templates::KERNELS),
        ("ordered", &support::ordered_templates::KERNELS),
        ("separation", &support::separation_templates::KERNELS),
        ("sharing", &support::sharing_templates::KERNELS),
        ("lengths", &support::length_templates::KERNELS),
        ("resets", &support::reset_templates::KERNELS),
        ("init", &support::init_templates::KERNELS),
        ("exits", &support::exit_templates::KERNELS),
        ("lifetimes", &support::lifetime_templates::KERNELS),
        ("races", &support::race_templates::KERNELS),
        ("stale", &support::stale_templates::KERNELS),
        ("claims", &support::claim_templates::KERNELS),
    ];
    let mut all = Vec::new();
    for (family, kernels) in kernels {
        for (at, template) in kernels.templates.iter().enumerate() {
            let source = format!("protocol template\n{template}");
            let Ok(protocol) = text::load(source.as_bytes()) else {
                continue;
            };
            for property in Property::ALL {
                if warplock::verdict::hazard::inapplicable(&protocol, property).is_none() {
                    all.push(Claim {
                        name: format!("template {family} {at} {}", property.name()),
                        source: source.clone(),
                        narrowing: Narrowing::default(),
                        property,
                    });
                }
            }
        }
    }
    all
}

/// The first argument that the checker accepts.
fn prove(claim: Claim) -> Option<Proved> {
    let mut protocol = text::load(claim.source.as_bytes()).unwrap();
    text::narrow(&mut protocol, &claim.narrowing).ok()?;
    let layers = match claim.property {
        Property::Deadlock => proof::layers(&protocol),
        property => proof::layers_for(&protocol, property),
    };
    layers.into_iter().find_map(|layer| {
        let argument = match proof::search(&protocol, layer, SEARCH, None, &|_| {}) {
            Guess::Found(argument) | Guess::Fitting(argument) => argument,
            Guess::Nothing { .. } => return None,
        };
        let certificate = issue(&claim.source, &claim.narrowing, claim.property, &argument)?;
        certified(&certificate).then(|| Proved {
            name: claim.name.clone(),
            source: claim.source.clone(),
            narrowing: claim.narrowing.clone(),
            property: claim.property,
            argument,
        })
    })
}

fn issue(
    source: &str,
    narrowing: &Narrowing,
    property: Property,
    argument: &Argument,
) -> Option<Certificate> {
    deadline::until(Instant::now() + WHOLE, || {
        let issued = manifest::issue(source, narrowing, property.name(), argument.clone());
        issued.ok().map(|(certificate, _)| certificate)
    })
}

fn certified(certificate: &Certificate) -> bool {
    deadline::until(Instant::now() + WHOLE, || {
        manifest::check(certificate, &Solver::BuiltIn, EACH, &|_| {}).is_ok()
    })
}

/// What small values say against the claim of a certificate that was accepted.
fn refuted(certificate: &Certificate) -> Option<String> {
    let mut protocol = text::load(certificate.source.as_bytes()).ok()?;
    text::narrow(&mut protocol, &certificate.narrowing).ok()?;
    match Property::from_name(&certificate.property)? {
        Property::Deadlock => {
            let small = agreement::small(&protocol, EFFORT);
            let undefined = small
                .undefined
                .map(|(at, what)| format!("{what} at {at:?}"));
            small
                .stuck
                .map(|at| format!("stuck at {at:?}"))
                .or(undefined)
        }
        property => violated(&protocol, property),
    }
}

/// The small values at which a property is violated, as far as there is time.
fn violated(protocol: &Protocol, property: Property) -> Option<String> {
    let options = Options {
        max_states: EFFORT.states,
        deadline: Some(Instant::now() + EFFORT.time),
        ..Options::default()
    };
    grid(protocol).into_iter().find_map(|params| {
        let found = search_all(protocol, &params, property, &bounds(), &options).ok()?;
        found.found.map(|_| format!("violated at {params:?}"))
    })
}

/// Every change of a text, in any order.
fn changed(source: &str, rng: &mut ChaCha8Rng) -> Vec<Mutant> {
    let lines = mutants::lines(source);
    let each = (0..lines.len()).flat_map(|at| mutants::of_line(&lines, at));
    let mut all: Vec<Mutant> = each.unique_by(|mutant| mutant.source.clone()).collect();
    all.shuffle(rng);
    all
}

/// So many mutants of a text, as evenly over the kinds of changes as there are any. Where there are
/// too few, mutants of these follow.
fn sample(source: &str, count: usize) -> Vec<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(number("WARPLOCK_SEED", 0));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for mutant in changed(source, &mut rng) {
        let rank = seen.entry(mutant.kind).or_default();
        *rank += 1;
        ranked.push((*rank, mutant.source));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut all: Vec<String> = ranked.into_iter().map(|(_, source)| source).collect();
    let once = all.len();
    for at in 0..once {
        if all.len() >= count {
            break;
        }
        let missing = (count - all.len()).div_ceil(once - at);
        let twice = changed(&all[at], &mut rng);
        all.extend(twice.into_iter().take(missing).map(|mutant| mutant.source));
    }
    all.truncate(count);
    all
}

/// What was tried, what was accepted of it, and what was accepted wrongly.
#[derive(Debug, Default)]
struct Tally {
    arguments: usize,
    pairs: usize,
    accepted: usize,
    edited: usize,
    accepted_edited: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.arguments += other.arguments;
        self.pairs += other.pairs;
        self.accepted += other.accepted;
        self.edited += other.edited;
        self.accepted_edited += other.accepted_edited;
        self.wrong.extend(other.wrong);
    }

    fn judge(&mut self, name: &str, certificate: &Certificate) {
        if let Some(what) = refuted(certificate) {
            let argument = serde_json::to_string(&certificate.argument).unwrap();
            let wrong = format!(
                "{name}: accepted for {} under {:?}, but {what}\n{argument}\n{}",
                certificate.property, certificate.narrowing, certificate.source
            );
            log(&format!("WRONG {wrong}"));
            self.wrong.push(wrong);
        }
    }

    /// One argument under mutants of its text, and under none of its assumptions.
    fn transplant(&mut self, proved: &Proved, count: usize) {
        self.arguments += 1;
        let mutants = sample(&proved.source, count);
        let texts = mutants
            .iter()
            .map(|source| (source, proved.narrowing.clone()));
        let without = (0..proved.narrowing.assume.len()).map(|at| {
            let mut narrowing = proved.narrowing.clone();
            narrowing.assume.remove(at);
            (&proved.source, narrowing)
        });
        for (source, narrowing) in texts.chain(without) {
            self.pairs += 1;
            let issued = issue(source, &narrowing, proved.property, &proved.argument);
            if let Some(certificate) = issued.filter(certified) {
                self.accepted += 1;
                self.judge(&proved.name, &certificate);
            }
        }
    }

    /// The certificate with one part changed, as it is and issued anew, under its own text and
    /// under a mutant.
    fn edit(&mut self, proved: &Proved, count: usize) {
        let Some(whole) = issue(
            &proved.source,
            &proved.narrowing,
            proved.property,
            &proved.argument,
        ) else {
            return;
        };
        let value = serde_json::to_value(&whole).unwrap();
        let mut seed = ChaCha8Rng::seed_from_u64(number("WARPLOCK_SEED", 0));
        let mut all = edits(&value);
        all.shuffle(&mut seed);
        all.truncate(count);
        let mutants = sample(&proved.source, count);
        for (at, damaged) in all.iter().enumerate() {
            let Ok(read) = serde_json::from_str::<Certificate>(&damaged.to_string()) else {
                self.edited += 1;
                continue;
            };
            let mutant = mutants.get(at % mutants.len().max(1)).map(String::as_str);
            let texts = [Some(read.source.as_str()), mutant];
            let property = Property::from_name(&read.property).unwrap_or(proved.property);
            let anew = texts
                .into_iter()
                .flatten()
                .filter_map(|source| issue(source, &read.narrowing, property, &read.argument));
            let anew: Vec<Certificate> = anew.collect();
            self.edited += 3;
            for certificate in anew.into_iter().chain([read]) {
                if certified(&certificate) {
                    self.accepted_edited += 1;
                    self.judge(&proved.name, &certificate);
                }
            }
        }
    }

    fn line(&self) -> String {
        format!(
            "{} arguments: {} pairs, {} accepted; {} edited certificates, {} accepted; {} wrong",
            self.arguments,
            self.pairs,
            self.accepted,
            self.edited,
            self.accepted_edited,
            self.wrong.len()
        )
    }
}

/// A manifest with every part changed, dropped or doubled.
fn edits(whole: &Value) -> Vec<Value> {
    let mut paths = Vec::new();
    damage::paths(whole, &mut Vec::new(), &mut paths);
    let mut all = Vec::new();
    for path in paths {
        let part = damage::at(&mut whole.clone(), &path).clone();
        for new in damage::changes(&part)
            .into_iter()
            .filter(|new| *new != part)
        {
            let mut damaged = whole.clone();
            *damage::at(&mut damaged, &path) = new;
            all.push(damaged);
        }
    }
    all
}

#[test]
fn no_argument_is_accepted_where_it_proves_something_false() {
    let names = [
        "block_sparse/dense.wlk deadlock",
        "known_bugs/bytes_expected.wlk deadlock",
        "known_bugs/zero_tile_mainloop_fixed.wlk deadlock",
        "named/double_buffer.wlk early_completion",
    ];
    let mut tally = Tally::default();
    for claim in library() {
        if names.contains(&claim.name.as_str()) {
            let proved = prove(claim).expect("the library expects a proof");
            tally.transplant(&proved, 10);
            tally.edit(&proved, 4);
        }
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n\n"));
    // It would test nothing if everything were refused, or nothing.
    assert!(tally.arguments == names.len(), "{}", tally.line());
    assert!(
        tally.accepted >= 3 && tally.accepted * 2 < tally.pairs,
        "{}",
        tally.line()
    );
}

#[test]
#[ignore = "takes hours in a debug build"]
fn no_argument_of_the_library_or_the_templates_is() {
    let mut claims = library();
    claims.extend(templates());
    let only = std::env::var("WARPLOCK_FILE").ok();
    claims.retain(|claim| only.as_ref().is_none_or(|name| claim.name.contains(name)));
    // Whatever a run gets through is a sample of all.
    claims.shuffle(&mut ChaCha8Rng::seed_from_u64(number("WARPLOCK_SEED", 0)));
    let count = usize::try_from(number("WARPLOCK_CASES", 1)).unwrap();
    let open = Mutex::new(claims.into_iter());
    let total = Mutex::new(Tally::default());
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..number("WARPLOCK_JOBS", 2) {
            scope.spawn(|| {
                loop {
                    let Some(claim) = open.lock().unwrap().next() else {
                        return;
                    };
                    let name = claim.name.clone();
                    let mut tally = Tally::default();
                    if let Some(proved) = prove(claim) {
                        tally.transplant(&proved, 150 * count);
                        tally.edit(&proved, 5 * count);
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                    log(&format!("{name}: {}", tally.line()));
                    total.lock().unwrap().add(tally);
                }
            });
        }
    });
    let total = total.into_inner().unwrap();
    log(&format!(
        "{} claims, seed {}: {}",
        done.into_inner(),
        number("WARPLOCK_SEED", 0),
        total.line()
    ));
    assert!(total.wrong.is_empty(), "{}", total.wrong.join("\n\n"));
}
