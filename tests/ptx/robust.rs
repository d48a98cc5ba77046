//! Damaged PTX is read or refused, and what is read is lifted or refused: nothing panics, and what is
//! lifted can be read.

use std::time::Instant;

use crate::support::program::kernel;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::deadline;
use warplock::ptx;
use warplock::ptx::Options;

const KERNELS: [&str; 9] = [
    "ring.ptx",
    "handover.ptx",
    "pipeline.ptx",
    "calls.ptx",
    "bulk_ring.ptx",
    "async_ring.ptx",
    "stencil.ptx",
    "jacobi.ptx",
    "grid_barrier.ptx",
];

/// How many entries could be read and lifted, with what they read and write or without.
fn lifted(text: &str, data: bool) -> (usize, usize) {
    let Ok(module) = ptx::parse(text.as_bytes(), &|_| {}) else {
        return (0, 0);
    };
    let entries: Vec<_> = module.functions.iter().filter(|f| f.entry).collect();
    let mut options = Options::default();
    options.data = data;
    let good = entries
        .iter()
        .filter(|f| match ptx::lift(&module, f, &options) {
            Ok(lifted) => {
                warplock::text::load(lifted.text.as_bytes()).unwrap();
                assert_eq!(lifted.lines.len(), lifted.text.lines().count());
                true
            }
            Err(ptx::Failure::Obstacle(obstacle)) => {
                assert!(!obstacle.words(&module).is_empty());
                false
            }
            Err(ptx::Failure::Input(_)) => false,
        })
        .count();
    (entries.len(), good)
}

#[test]
fn lines_that_are_missing_or_twice() {
    let mut read = 0;
    let mut good = 0;
    for seed in 0..120 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let text = kernel(KERNELS[random.random_range(0..KERNELS.len())]);
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..lines.len());
            let to = random.random_range(0..lines.len());
            match random.random_range(0..3) {
                0 => {
                    lines.remove(at);
                }
                1 => lines.insert(at, lines[to]),
                _ => lines.swap(at, to),
            }
        }
        let (entries, some) = lifted(&lines.join("\n"), seed % 2 == 0);
        read += entries;
        good += some;
    }
    assert!(read > 100, "only {read} entries were read");
    assert!(
        good > 40 && good < read,
        "{good} of {read} entries were lifted"
    );
}

#[test]
fn every_beginning() {
    let text = kernel("jacobi.ptx");
    for end in (0..text.len()).step_by(61) {
        if text.is_char_boundary(end) {
            lifted(&text[..end], end % 2 == 0);
        }
    }
}

#[test]
fn bytes_that_are_changed() {
    let original = kernel("stencil.ptx").into_bytes();
    for seed in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = original.clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random_range(9..127);
        }
        lifted(&String::from_utf8_lossy(&bytes), seed % 2 == 0);
    }
}

/// What is not recovered in time is not recovered, also where a part of it was found.
#[test]
fn a_kernel_is_followed_in_time() {
    let text = kernel("pipeline.ptx");
    let module = ptx::parse(text.as_bytes(), &|_| {}).unwrap();
    let entry = module.functions.iter().find(|f| f.entry).unwrap();
    let lift = || ptx::lift(&module, entry, &Options::default());
    assert!(lift().is_ok());
    let Err(ptx::Failure::Obstacle(obstacle)) = deadline::until(Instant::now(), lift) else {
        panic!("recovered in no time");
    };
    assert_eq!(
        obstacle.words(&module),
        "the time was up while the kernel was followed"
    );
}
