//! Chooses points near a hang, to find out which parameters it depends on.
//!
//! A small box says little if a hang needs large values, such as a length above the width of a tile. So, starting
//! from a point that hangs, one parameter at a time is changed: to its least value, to neighbouring values, to twice
//! its value, and to values near a number in the text.

use std::ops::RangeInclusive;

use itertools::Itertools;

use crate::protocol::Protocol;
use crate::semantics::unfold;
use crate::text::words::words;

/// Numbers of the text in this range may be sizes.
const SIZE: RangeInclusive<i64> = 8..=1024;

/// The values above the least one that are tried.
const STEPS: [i64; 7] = [0, 1, 2, 3, 5, 8, 13];

/// How many numbers of the text are used.
const SIZES: usize = 4;

/// The points near a hang. Those that differ from it in one parameter come first.
pub(super) fn near(protocol: &Protocol, hang: &[i64]) -> Vec<Vec<i64>> {
    let sizes = sizes(&protocol.source);
    let values: Vec<Vec<i64>> = protocol
        .params
        .iter()
        .zip(hang)
        .map(|(param, here)| {
            let least = STEPS.iter().filter_map(|at| param.domain.value(*at));
            let close = [-2, -1, 1, 2].map(|step| here.saturating_add(step));
            let about = sizes
                .iter()
                .flat_map(|size| [-1, 0, 1].map(|step| size.saturating_add(step)));
            let all = close.into_iter().chain(least).chain(about);
            all.chain([here.saturating_mul(2)])
                .filter(|v| v != here)
                .unique()
                .collect()
        })
        .collect();
    let with = |changes: &[(usize, i64)]| {
        let mut point = hang.to_vec();
        for (param, value) in changes {
            if let Some(slot) = point.get_mut(*param) {
                *slot = *value;
            }
        }
        point
    };
    let mut all = Vec::new();
    for (param, values) in values.iter().enumerate() {
        all.extend(values.iter().map(|value| with(&[(param, *value)])));
    }
    for [first, second] in (0..hang.len()).array_combinations() {
        let few = |param: usize| values[param].iter().take(4).copied();
        for (a, b) in few(first).cartesian_product(few(second)) {
            all.push(with(&[(first, a), (second, b)]));
        }
    }
    all.retain(|point| unfold::check_params(protocol, point).is_ok());
    all.into_iter().unique().collect()
}

/// Numbers of the text that may be sizes of tiles. Comments and `expect` lines are skipped.
fn sizes(source: &str) -> Vec<i64> {
    let lines = source.lines().filter(|line| !line.starts_with("expect"));
    let code = lines.map(|line| line.split("//").next().unwrap_or(line));
    let words = code.flat_map(words);
    let numbers = words.filter_map(|word| word.parse::<i64>().ok());
    numbers
        .filter(|number| SIZE.contains(number))
        .unique()
        .take(SIZES)
        .collect()
}
