//! How long each layer takes, so that a regression shows: `cargo bench`.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use divan::Bencher;
use divan::black_box;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::encoding::search;
use warplock::encoding::search::Limits;
use warplock::proof;
use warplock::proof::Guess;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore;
use warplock::semantics::inputs::Bounds;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;

fn main() {
    divan::main();
}

const SCHEMES: [&str; 6] = [
    "lock_n_block",
    "lock_rank",
    "causal_reversed",
    "local_extra_increments",
    "grouped_heads",
    "shifted_schedule",
];

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings/block_sparse");
    fs::read_to_string(folder.join(format!("{name}.wlk"))).expect("the library has it")
}

fn load(name: &str) -> Protocol {
    text::load(source(name).as_bytes()).expect("the library loads")
}

/// Text to resolved protocol.
#[divan::bench(args = SCHEMES)]
fn text(bencher: Bencher<'_, '_>, name: &str) {
    let source = source(name);
    bencher.bench(|| text::load(black_box(source.as_bytes())));
}

/// The whole decision, as `warplock check` takes it.
#[divan::bench(args = SCHEMES, sample_count = 10)]
fn decide(bencher: Bencher<'_, '_>, name: &str) {
    let protocol = load(name);
    let cancel = AtomicBool::new(false);
    let settings = Settings {
        timeout: Duration::from_secs(60),
        objectives: None,
        cancel: &cancel,
        tell: &|_| {},
        kernel: false,
    };
    let narrowing = Narrowing::default();
    bencher.bench(|| verdict::decide(&protocol, &narrowing, Property::Deadlock, &settings));
}

/// Re-checking a certificate.
#[divan::bench(args = ["lock_rank", "causal_reversed"], sample_count = 10)]
fn certify(bencher: Bencher<'_, '_>, name: &str) {
    let source = source(name);
    let protocol = load(name);
    let Guess::Found(argument) = proof::guess(&protocol, Duration::from_secs(60), &|_| {}) else {
        return;
    };
    let (certificate, _) =
        manifest::issue(&source, &Narrowing::default(), "deadlock", argument).expect("it fits");
    let each = Duration::from_secs(60);
    bencher.bench(|| manifest::check(&certificate, &Solver::BuiltIn, each, &|_| {}));
}

/// The bounded search alone, by the size of the box: every pattern and row order at once.
#[divan::bench(args = [2, 4, 6, 8], sample_count = 3)]
fn bounded_search_lock_n(bencher: Bencher<'_, '_>, size: i64) {
    bounded_search(bencher, "lock_n_block", size);
}

/// The same where there is nothing to find.
#[divan::bench(args = [2, 3, 4, 5], sample_count = 3)]
fn bounded_search_rank(bencher: Bencher<'_, '_>, size: i64) {
    bounded_search(bencher, "lock_rank", size);
}

fn bounded_search(bencher: Bencher<'_, '_>, name: &str, size: i64) {
    let protocol = load(name);
    let cancel = AtomicBool::new(false);
    let objectives = search::default_objectives(&protocol);
    bencher.bench(|| {
        let limits = Limits {
            thorough: true,
            deadline: Instant::now() + Duration::from_secs(60),
            cancel: &cancel,
        };
        search::smallest(&protocol, size, &objectives, &limits)
    });
}

/// Explicit search through every pattern and schedule at N = M = R = `size`.
#[divan::bench(args = [2, 3], sample_count = 3)]
fn explore_rank(bencher: Bencher<'_, '_>, size: i64) {
    let protocol = load("lock_rank");
    bencher.bench(|| {
        let options = explore::Options::default();
        explore::explore_all(&protocol, &[size, size, size], &Bounds::default(), &options)
    });
}
