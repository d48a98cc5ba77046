//! Random small concrete inputs of a protocol. The search guesses from them what might hold for all inputs.
//!
//! Nothing here is sound, and nothing has to be: a guess that the samples support still has to be proved. A fixed
//! seed makes results reproducible.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;
use crate::semantics::pattern::PatternData;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;

/// How many instances of one scale may be too large before the scale is dropped.
const FAILURES_PER_SCALE: u32 = 3;

/// Draws up to `wanted` inputs in the domain, with their instances.
pub fn instances(protocol: &Protocol, wanted: usize, seed: u64) -> Vec<(Input, Instance)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let limits = Limits {
        ops: 4_000,
        members: 64,
        cells: 4_000,
        work: 200_000,
    };
    let mut found = Vec::new();
    // Small values come first and often. Larger ones reach several tiles of a sequence. A scale is dropped if its
    // instances are too large.
    let mut scales: Vec<(i64, u32)> = [1, 2, 3, 4, 6, 12, 150, 600, 1500]
        .map(|scale| (scale, 0))
        .to_vec();
    // Assumptions may reject most draws. So there are many more attempts than wanted samples.
    for attempt in 0..wanted * 40 {
        if found.len() == wanted || scales.is_empty() {
            break;
        }
        let nth = attempt % scales.len();
        let params: Vec<i64> = protocol
            .params
            .iter()
            .map(|param| draw(&param.domain, scales[nth].0, &mut rng))
            .collect();
        if unfold::check_params(protocol, &params).is_err() {
            continue;
        }
        match instance(protocol, params, &limits, &mut rng) {
            Some(sample) => found.push(sample),
            None => {
                scales[nth].1 += 1;
                if scales[nth].1 > FAILURES_PER_SCALE {
                    scales.remove(nth);
                }
            }
        }
    }
    found
}

/// A random input at these parameters, if the instance is small enough to be examined.
fn instance(
    protocol: &Protocol,
    params: Vec<i64>,
    limits: &Limits,
    rng: &mut ChaCha8Rng,
) -> Option<(Input, Instance)> {
    let patterns = vec![BTreeSet::new(); protocol.patterns.len()];
    let mut input = Input {
        params,
        patterns,
        ..Input::default()
    };
    fill_patterns(protocol, &mut input, limits, rng)?;
    let (instance, _) = unfold::instantiate_with(protocol, &input, limits).ok()?;
    Some((input, instance))
}

fn draw(domain: &Domain, scale: i64, rng: &mut ChaCha8Rng) -> i64 {
    match domain {
        Domain::AtLeast(lo) => lo.saturating_add(rng.random_range(0..=scale)),
        Domain::Range(lo, hi) => {
            rng.random_range(*lo..=(*hi).min(lo.saturating_add(scale)).max(*lo))
        }
        Domain::Set(values) if values.is_empty() => 0,
        Domain::Set(values) => values[rng.random_range(0..values.len())],
    }
}

fn fill_patterns(
    protocol: &Protocol,
    input: &mut Input,
    limits: &Limits,
    rng: &mut ChaCha8Rng,
) -> Option<()> {
    if protocol
        .patterns
        .iter()
        .all(|pattern| pattern.definition.is_some())
    {
        return Some(());
    }
    // The extents, from the pattern data of the still empty input.
    let extents: Vec<Vec<i64>> = unfold::pattern_data(protocol, input, limits)
        .ok()?
        .iter()
        .map(PatternData::extents)
        .map(<[i64]>::to_vec)
        .collect();
    for (at, pattern) in protocol.patterns.iter().enumerate() {
        if pattern.definition.is_some() {
            continue;
        }
        let tiles: i64 = extents[at].iter().product();
        if tiles > 2_000 {
            return None;
        }
        let density = [0.2, 0.5, 0.8, 1.0][rng.random_range(0..4)];
        for tile in 0..tiles {
            if rng.random_bool(density) {
                let mut rest = tile;
                let mut entry: Vec<i64> = Vec::new();
                for extent in extents[at].iter().rev() {
                    entry.push(rest % extent);
                    rest /= extent;
                }
                entry.reverse();
                input.patterns[at].insert(entry);
            }
        }
    }
    Some(())
}
