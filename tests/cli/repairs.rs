//! How good repairs are: `docs/repairs.md` has the rank of the published fix, or of one as good, for every protocol of three
//! folders of the library that hangs.
//!
//! A part is measured with every run. All of it, and the page:
//!
//! ```sh
//! WARPLOCK_WRITE_DOCS=1 cargo test --test cli repairs:: -- --ignored
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A protocol that hangs.
struct Case {
    /// Its file below `encodings`.
    file: &'static str,
    /// What was done about it.
    published: &'static str,
    /// What a repair says that is the published one, or as good.
    good: &'static [&'static str],
    /// Whether it is measured with every run.
    quick: bool,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { file: "known_bugs/bytes_delivered", published: "equal bytes", good: &["bytes at `full[p.index]`"], quick: false },
    Case { file: "known_bugs/bytes_expected", published: "equal bytes", good: &["bytes at `full[p.index]`"], quick: false },
    Case { file: "known_bugs/empty_rounds_arrive_only", published: "arrive and wait", good: &["`sync` instead of `arrive`"], quick: true },
    Case { file: "known_bugs/expect_without_arrive", published: "`arrive_expect_tx`", good: &["`arrive_expect_tx` instead of `expect_tx`"], quick: false },
    Case { file: "known_bugs/leader_releases_early", published: "a warp barrier before the arrive", good: &["`sync warps` once more", "`wait full[c.index] c.phase` first"], quick: false },
    Case { file: "known_bugs/named_count", published: "the count from the number of warps", good: &["`bar[2]` takes 32 * (W + 1) threads"], quick: true },
    Case { file: "known_bugs/phantom_tile", published: "release on phantom tiles, too", good: &["without the condition `cta == 0 || t < REAL`"], quick: false },
    Case { file: "known_bugs/phantom_tile_in_tiles", published: "release on phantom tiles, too", good: &["the loop runs up to ROUNDS, not ROUNDS - cta"], quick: false },
    Case { file: "known_bugs/single_outputs_barrier", published: "a barrier for each output buffer", good: &["one `arrived` for each `finished`"], quick: false },
    Case { file: "known_bugs/trip_counts_disagree", published: "one shared bound", good: &["the loop runs up to NP, not NC", "the loop runs up to NC, not NP"], quick: false },
    Case { file: "known_bugs/trip_counts_with_tail", published: "one shared bound", good: &["the loop runs up to NP, not NC", "the loop runs up to NC, not NP"], quick: false },
    Case { file: "known_bugs/zero_tile_mainloop", published: "wait only if there is work", good: &["only if TILES > 0"], quick: true },
    Case { file: "checklist/arrival_count", published: "all threads arrive", good: &["without the condition `t == 0`"], quick: true },
    Case { file: "checklist/consumer_starts_at_1", published: "the consumer starts at 0", good: &["`c` starts as a consumer", "wait for the other phase of `full[c.index]`"], quick: false },
    Case { file: "checklist/cta_barrier_in_role", published: "a barrier of the role", good: &["`cta` expects A", "`sync cta` in `others`"], quick: true },
    Case { file: "checklist/init_in_role", published: "initialise at the top", good: &["initialised before the roles part"], quick: true },
    Case { file: "checklist/k_minus_one", published: "equal trips", good: &["the loop runs up to K, not K - 1"], quick: false },
    Case { file: "checklist/k_minus_one_numbered", published: "equal trips", good: &["the loop runs up to K, not K - 1"], quick: false },
    Case { file: "checklist/producer_starts_at_0", published: "the producer starts at 1", good: &["`p` starts as a producer", "wait for the other phase of `empty[p.index]`"], quick: false },
    Case { file: "checklist/scheduler_step_skipped", published: "all take every step", good: &["the loop runs up to W, not W - 1"], quick: false },
    Case { file: "block_sparse/backward_rings_block_number", published: "the rank", good: &["count(k in 0..n where mask[k, m])"], quick: false },
    Case { file: "block_sparse/causal_reversed_ascending_launch", published: "launch descending", good: &["CTAs start descending", "wait until `dq[m]` is n"], quick: false },
    Case { file: "block_sparse/delayed_release_csr", published: "release the tile visited before", good: &["`dq[last]`, not `dq[m - 1]`"], quick: true },
    Case { file: "block_sparse/delayed_release_unguarded", published: "a guard for empty ranges", good: &["only if end(n) > "], quick: false },
    Case { file: "block_sparse/grouped_heads_reversed", published: "turns by `h % G`", good: &["is h % G", "CTAs start descending"], quick: false },
    Case { file: "block_sparse/lock_n_block", published: "the rank", good: &["is count(j in 0..n where visits[j, m])"], quick: false },
    Case { file: "block_sparse/lock_rank_descending_launch", published: "launch ascending", good: &["CTAs start ascending", "count(j in n + 1..N where visits[j, m])"], quick: false },
    Case { file: "block_sparse/n_bound_per_cta", published: "the bound from the tile of the cluster", good: &["N instead of ceil_div(sk, Tn / 2)"], quick: false },
    Case { file: "block_sparse/reversed_rank_ascending_launch", published: "launch descending", good: &["CTAs start descending", "count(j in 0..n where visits[j, m])"], quick: false },
    Case { file: "block_sparse/rotated_turns", published: "the whole grid resident", good: &["all CTAs are resident at once"], quick: false },
    Case { file: "block_sparse/shifted_schedule", published: "the whole grid resident", good: &["all CTAs are resident at once"], quick: false },
    Case { file: "block_sparse/unzeroed", published: "clear the semaphores", good: &["`dq` is cleared"], quick: false },
    Case { file: "block_sparse/zigzag", published: "the whole grid resident", good: &["all CTAs are resident at once"], quick: true },
];

/// How many repairs count.
const FIRST: usize = 3;

/// The part of all that has to have a good one among these, in percent.
const LEAST: usize = 80;

const HEAD: &str = "\
# Repairs

What `warplock repair` finds for the protocols of `encodings/known_bugs`, `encodings/checklist` and `encodings/block_sparse` that hang. The rank
is that of the published fix, or of one as good, among the first three repairs. A test measures some of the rows each time, fails
if a rank is worse, and fails if fewer than 80 % have one. `tests/cli/repairs.rs` says which repairs count as good. An
edit after which the protocol does less does not count.

| protocol | published fix | rank |
| --- | --- | --- |
";

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/repairs.md")
}

/// The place of the first good repair, from 1.
fn measured(case: &Case) -> Option<usize> {
    let file = format!("encodings/{}.wlk", case.file);
    let output = Command::new(env!("CARGO_BIN_EXE_warplock"))
        .args(["repair", "-q", "--timeout", "60", &file])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let found = text.lines().filter(|line| line.starts_with("repair "));
    let mut found = found.take(FIRST);
    let place = found.position(|line| case.good.iter().any(|good| line.contains(good)))?;
    Some(place + 1)
}

/// The ranks of the page.
fn ranks() -> BTreeMap<String, Option<usize>> {
    let text = fs::read_to_string(page()).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, file, _, rank, _] = cells.as_slice() else {
            return None;
        };
        let file = file.strip_prefix("[`")?.split('`').next()?;
        Some((file.to_owned(), rank.parse().ok()))
    });
    rows.collect()
}

fn written(ranks: &BTreeMap<String, Option<usize>>) -> String {
    let mut text = HEAD.to_owned();
    for case in CASES {
        let rank = match ranks.get(case.file).copied().flatten() {
            Some(rank) => rank.to_string(),
            None => "none".to_owned(),
        };
        let (file, published) = (case.file, case.published);
        text.push_str(&format!(
            "| [`{file}`](../encodings/{file}.wlk) | {published} | {rank} |\n"
        ));
    }
    let good = CASES
        .iter()
        .filter(|case| ranks.get(case.file).copied().flatten().is_some());
    let (good, all) = (good.count(), CASES.len());
    text.push_str(&format!("\n{good} of {all}, {} %.\n", 100 * good / all));
    text
}

#[test]
fn the_page_has_every_protocol_that_hangs_and_enough_are_repaired() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("encodings");
    for folder in ["known_bugs", "checklist", "block_sparse"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            if path.extension().is_some_and(|e| e == "wlk")
                && text.contains("\nexpect deadlock: refuted")
            {
                let name = format!("{folder}/{}", path.file_stem().unwrap().to_str().unwrap());
                assert!(
                    CASES.iter().any(|case| case.file == name),
                    "{name} is missing"
                );
            }
        }
    }
    let ranks = ranks();
    assert_eq!(fs::read_to_string(page()).unwrap(), written(&ranks));
    let good = CASES
        .iter()
        .filter(|case| ranks.get(case.file).copied().flatten().is_some());
    assert!(100 * good.count() >= LEAST * CASES.len(), "{ranks:?}");
}

#[test]
fn quick_ones_are_repaired_as_the_page_says() {
    let ranks = ranks();
    for case in CASES.iter().filter(|case| case.quick) {
        let (found, listed) = (measured(case), ranks[case.file]);
        let worse = match (found, listed) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(found), Some(listed)) => found > listed,
        };
        assert!(
            !worse,
            "{}: {found:?}, and the page has {listed:?}",
            case.file
        );
    }
}

#[test]
#[ignore = "takes many minutes"]
fn all_are_measured() {
    let ranks: BTreeMap<String, Option<usize>> = CASES
        .iter()
        .map(|case| (case.file.to_owned(), measured(case)))
        .collect();
    if std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        fs::write(page(), written(&ranks)).unwrap();
    }
    assert_eq!(fs::read_to_string(page()).unwrap(), written(&ranks));
}
