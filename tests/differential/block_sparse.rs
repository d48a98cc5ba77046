//! Every small input of the block-sparse schemes: the bounded encoding against exhaustive search.
//!
//! An input is what is fixed before a comparison: parameters, pattern, and where it says so the
//! row order. Whatever it leaves open, the other row orders and initial values, both sides go
//! through by themselves.

use crate::support::reference;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use crate::support::reference::Outcome;
use warplock::encoding::search;
use warplock::encoding::search::Found;
use warplock::encoding::search::Limits;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::text::Narrowing;

/// The schemes whose pattern is an input.
const OPEN: [&str; 9] = [
    "delayed_release_csr",
    "delayed_release_previous",
    "lock_n_block",
    "lock_rank",
    "lock_rank_at_least",
    "lock_rank_descending_launch",
    "reversed_rank",
    "reversed_rank_ascending_launch",
    "unzeroed",
];

/// More than any extent, row or loop of the inputs here.
const SIZE: i64 = 6;

fn source(scheme: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings/block_sparse");
    fs::read_to_string(folder.join(format!("{scheme}.wlk"))).unwrap()
}

/// What was compared.
#[derive(Debug, Default, PartialEq)]
struct Compared {
    stuck: u32,
    clear: u32,
    mismatches: Vec<String>,
}

impl Compared {
    fn compare(&mut self, scheme: &str, declared: &Protocol, set: &[(&str, i64)]) {
        let narrowing = Narrowing {
            set: set
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            ..Narrowing::default()
        };
        let mut protocol = declared.clone();
        text::narrow(&mut protocol, &narrowing).unwrap();
        let params: Vec<i64> = protocol
            .params
            .iter()
            .map(|p| narrowing.set[&p.name])
            .collect();
        let cancel = AtomicBool::new(false);
        let limits = Limits {
            thorough: true,
            deadline: Instant::now() + Duration::from_secs(60),
            cancel: &cancel,
        };
        let explored = reference::at(&protocol, &params, 2_000_000);
        // Without objectives: whether something hangs, not which input is the least.
        let found = search::smallest(&protocol, SIZE, &[], &limits);
        match (&explored, &found) {
            (Outcome::Stuck(_), Found::Stuck(candidate))
                if reference::hangs(&protocol, &candidate.input, 2_000_000) == Ok(Some(true)) =>
            {
                self.stuck += 1;
            }
            (Outcome::Clear, Found::Nothing) => self.clear += 1,
            _ => self.mismatches.push(format!(
                "{scheme} at {set:?}: explored {explored:?}, encoded {found:?}\n{}",
                protocol.source
            )),
        }
    }
}

/// The text of a scheme with this pattern for its open one.
fn with_pattern(source: &str, tiles: &[(i64, i64)]) -> String {
    let condition = match tiles {
        [] => "false".to_owned(),
        _ => {
            let each: Vec<String> = tiles
                .iter()
                .map(|(n, m)| format!("n == {n} && m == {m}"))
                .collect();
            each.join(" || ")
        }
    };
    let open = "pattern visits[N, M]\n";
    assert!(source.contains(open));
    source.replace(
        open,
        &format!("pattern visits[n in 0..N, m in 0..M] = {condition}\n"),
    )
}

/// Every set of tiles of an N × M grid.
fn patterns(n: i64, m: i64) -> Vec<Vec<(i64, i64)>> {
    let tiles: Vec<(i64, i64)> = (0..n).flat_map(|n| (0..m).map(move |m| (n, m))).collect();
    (0..1_u32 << tiles.len())
        .map(|chosen| {
            let here = tiles
                .iter()
                .enumerate()
                .filter(|(at, _)| chosen >> at & 1 == 1);
            here.map(|(_, tile)| *tile).collect()
        })
        .collect()
}

fn open_schemes(schemes: &[&str]) -> Compared {
    let mut compared = Compared::default();
    for scheme in schemes {
        let source = source(scheme);
        for n in 1..=3 {
            for m in 1..=2 {
                for tiles in patterns(n, m) {
                    let protocol = reference::load(&with_pattern(&source, &tiles));
                    for r in 1..=3 {
                        compared.compare(scheme, &protocol, &[("N", n), ("M", m), ("R", r)]);
                    }
                }
            }
        }
    }
    compared
}

fn assert_compared(compared: &Compared, inputs: u32) {
    assert!(
        compared.mismatches.is_empty(),
        "{}",
        compared.mismatches.join("\n")
    );
    assert_eq!(compared.stuck + compared.clear, inputs);
    assert!(compared.stuck > 0 && compared.clear > 0, "{compared:?}");
}

/// N <= 3, M <= 2, R <= 3, every pattern: 98 patterns and 3 residencies per scheme, all row orders
/// at once.
#[test]
fn every_small_pattern_of_the_first_open_schemes() {
    assert_compared(&open_schemes(&OPEN[..5]), 5 * 98 * 3);
}

#[test]
fn every_small_pattern_of_the_other_open_schemes() {
    assert_compared(&open_schemes(&OPEN[5..]), 4 * 98 * 3);
}

/// N = 2, M = 2, R <= 2, every pattern, in two row orders one at a time.
#[test]
fn single_row_orders_of_the_open_schemes() {
    let mut compared = Compared::default();
    for scheme in OPEN {
        for order in ["ascending", "descending"] {
            let source = source(scheme)
                .replace("row(visits, n) any order {", "row(visits, n) {")
                .replace("row(visits, n) {", &format!("row(visits, n) {order} {{"));
            for tiles in patterns(2, 2) {
                let protocol = reference::load(&with_pattern(&source, &tiles));
                for r in 1..=2 {
                    compared.compare(scheme, &protocol, &[("N", 2), ("M", 2), ("R", r)]);
                }
            }
        }
    }
    assert_compared(&compared, 9 * 2 * 16 * 2);
}

/// N <= 3, M <= 2, R <= 3; steps and widths up to 3; up to 6 CTAs of grouped heads.
#[test]
fn schemes_over_counts_of_tiles() {
    let mut compared = Compared::default();
    for scheme in ["dense", "delayed_release_dense"] {
        let protocol = reference::load(&source(scheme));
        for (n, m, r) in
            (1..=3).flat_map(|n| (1..=2).flat_map(move |m| (1..=3).map(move |r| (n, m, r))))
        {
            compared.compare(scheme, &protocol, &[("N", n), ("M", m), ("R", r)]);
        }
    }
    for scheme in ["delayed_release_ranges", "delayed_release_unguarded"] {
        let protocol = reference::load(&source(scheme));
        for (n, m, r) in
            (1..=3).flat_map(|n| (1..=2).flat_map(move |m| (1..=3).map(move |r| (n, m, r))))
        {
            for (s, w) in (1..=3).flat_map(|s| (1..=3).map(move |w| (s, w))) {
                let set = [("N", n), ("M", m), ("S", s), ("W", w), ("R", r)];
                compared.compare(scheme, &protocol, &set);
            }
        }
    }
    for scheme in ["grouped_heads", "grouped_heads_reversed"] {
        let protocol = reference::load(&source(scheme));
        for (n, heads, group) in
            (1..=3).flat_map(|n| (1..=2).flat_map(move |h| (1..=3).map(move |g| (n, h, g))))
        {
            for r in (1..=3).filter(|_| n * heads * group <= 6) {
                let set = [("N", n), ("HK", heads), ("G", group), ("R", r)];
                compared.compare(scheme, &protocol, &set);
            }
        }
    }
    assert_compared(&compared, 2 * 18 + 2 * 162 + 2 * 39);
}

/// Lengths at and beside the edges of tiles that give N <= 3 and M <= 2, R <= 3.
#[test]
fn schemes_over_lengths() {
    let mut compared = Compared::default();
    for scheme in [
        "causal_reversed",
        "causal_reversed_ascending_launch",
        "local_extra_increments",
    ] {
        let protocol = reference::load(&source(scheme));
        let windows: &[&[(&str, i64)]] = match scheme {
            "local_extra_increments" => &[
                &[("wl", 0), ("wr", 0)],
                &[("wl", 64), ("wr", 0)],
                &[("wl", 1), ("wr", 65)],
            ],
            _ => &[&[("wr", 0)], &[("wr", 1)], &[("wr", 70)]],
        };
        for (tm, tn) in [(64, 64), (128, 64)] {
            for sq in [1, tm, tm + 1, 2 * tm] {
                for sk in [1, tn, tn + 1, 2 * tn, 2 * tn + 1, 3 * tn] {
                    for (window, r) in windows.iter().flat_map(|w| (1..=3).map(move |r| (w, r))) {
                        let mut set =
                            vec![("Tm", tm), ("Tn", tn), ("sq", sq), ("sk", sk), ("R", r)];
                        set.extend(window.iter());
                        compared.compare(scheme, &protocol, &set);
                    }
                }
            }
        }
    }
    for scheme in ["n_bound_per_cluster", "n_bound_per_cta"] {
        let protocol = reference::load(&source(scheme));
        for sq in [1, 127, 128, 129, 256] {
            for sk in [1, 128, 129, 130, 255, 256, 257, 384, 385, 512, 513, 768] {
                for r in 1..=3 {
                    compared.compare(scheme, &protocol, &[("sq", sq), ("sk", sk), ("R", r)]);
                }
            }
        }
    }
    assert_compared(&compared, 3 * 2 * 24 * 9 + 2 * 5 * 12 * 3);
}
