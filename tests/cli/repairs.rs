//! How good repairs are: `docs/repairs.md` has the rank of the published fix, or of one as good, for every protocol of three
//! folders of the library that hangs, and for the kernels of `tests/ptx/kernels` that do.
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

/// A protocol or a kernel that hangs.
struct Case {
    /// Its file below `encodings`, or its file below `tests/ptx/kernels` and its entry.
    file: &'static str,
    /// What was done about it.
    published: &'static str,
    /// What a repair says that is the published one, or as good.
    good: &'static [&'static str],
    /// Whether it is measured with every run.
    quick: bool,
}

#[rustfmt::skip]
const PROTOCOLS: &[Case] = &[
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
    Case { file: "checklist/init_in_role", published: "initialise at the top", good: &["initialised before the roles branch off"], quick: true },
    Case { file: "checklist/k_minus_one", published: "equal trips", good: &["the loop runs up to K, not K - 1"], quick: false },
    Case { file: "checklist/k_minus_one_numbered", published: "equal trips", good: &["the loop runs up to K, not K - 1"], quick: false },
    Case { file: "checklist/producer_starts_at_0", published: "the producer starts at 1", good: &["`p` starts as a producer", "wait for the other phase of `empty[p.index]`"], quick: false },
    Case { file: "checklist/scheduler_step_skipped", published: "all take every step", good: &["the loop runs up to W, not W - 1"], quick: false },
    Case { file: "block_sparse/backward_rings_block_number", published: "the rank", good: &["count(k in 0..n where mask[k, m])"], quick: false },
    Case { file: "block_sparse/causal_reversed_ascending_launch", published: "launch descending", good: &["CTAs start descending", "wait until `dq[m]` is n"], quick: false },
    Case { file: "block_sparse/delayed_release_csr", published: "release the tile visited before", good: &["`dq[last]`, not `dq[m - 1]`"], quick: false },
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

#[rustfmt::skip]
const KERNELS: &[Case] = &[
    Case { file: "async_ring.ptx:async_ring_counts_everybody", published: "the count of those who arrive", good: &["`empty_bar` expects 4"], quick: false },
    Case { file: "async_ring.ptx:async_ring_same_phase", published: "the parity of the round", good: &["follows the round: i / 2 % 2"], quick: true },
    Case { file: "attention.ptx:attention_multiplies_early", published: "the wait before the product", good: &["`wait weighed_bar (i + 1) % 2` before"], quick: false },
    Case { file: "backward.ptx:backward_no_release", published: "every warp releases", good: &["`arrive empty_bar[ctaid_x, i % 2]` in `warp1`, too"], quick: false },
    Case { file: "backward.ptx:backward_off_by_one", published: "turns from 0", good: &["is ctaid_x", "starts at 1"], quick: false },
    Case { file: "backward.ptx:backward_sparse", published: "the rank", good: &["count(k in 0..ctaid_x where at_param_0[k, i])"], quick: false },
    Case { file: "blackwell_gemm.ptx:blackwell_gemm_drained_at_home", published: "the leader is told", good: &["`arrive drained_bar_cta0"], quick: false },
    Case { file: "blackwell_gemm.ptx:blackwell_gemm_frees_the_leader_only", published: "both CTAs are told", good: &["`commit empty_bar_cta1[rounds0 % 4]` after", "`arrive empty_bar_cta1[rounds0 % 4]` after"], quick: false },
    Case { file: "blackwell_gemm.ptx:blackwell_gemm_one_accumulator_barrier", published: "a barrier for each accumulator", good: &["stage i % 2 of `done_bar_cta0`, not 0"], quick: false },
    Case { file: "block_sparse.ptx:blocks_add_twice", published: "each adds 1", good: &["always changes by 1, and CTAs start ascending"], quick: false },
    Case { file: "block_sparse.ptx:blocks_skip_what_they_do_not_visit", published: "the rank", good: &["count(k in 0..ctaid_x where at_param_0[k, i])"], quick: false },
    Case { file: "block_sparse.ptx:rows_take_turns_by_block", published: "the rank", good: &["count(k in 0..ctaid_x where rows_param_0_param_1[k, i])"], quick: false },
    Case { file: "bulk_ring.ptx:bulk_ring_expects_more_bytes", published: "equal bytes", good: &["bytes at `memory_16384[rounds0 % 4]`"], quick: true },
    Case { file: "bulk_ring.ptx:bulk_ring_restarts_with_each_tile", published: "stages go on with the next tile", good: &["stages and parities go on from one i to the next"], quick: false },
    Case { file: "bulk_ring_unrolled.ptx:bulk_ring_expects_more_bytes", published: "equal bytes", good: &["bytes at `memory_16384"], quick: false },
    Case { file: "bulk_ring_unrolled.ptx:bulk_ring_restarts_with_each_tile", published: "stages go on with the next tile", good: &["stages and parities go on from one i to the next"], quick: false },
    Case { file: "calls.ptx:calls_same_phase", published: "the parity of the round", good: &["follows the round: i / 3 % 2"], quick: false },
    Case { file: "early_return.ptx:early_return_counted", published: "all threads come", good: &["without the condition at early_return.cu:20"], quick: false },
    Case { file: "early_return.ptx:early_return_mbarrier", published: "all threads come", good: &["without the condition"], quick: false },
    Case { file: "exits.ptx:breaks_later", published: "the same last round", good: &["min(param_2 - 1, param_3) + 1, not min(param_2 - 1, param_3 + 1) + 1", "min(param_2 - 1, param_3 + 1) + 1, not min(param_2 - 1, param_3) + 1"], quick: false },
    Case { file: "exits.ptx:down_where_not", published: "the tiles of the mask", good: &["instead of `!at_param_0"], quick: false },
    Case { file: "exits.ptx:least_or_most", published: "the same bound", good: &["not max(param_2, param_3)"], quick: false },
    Case { file: "exits.ptx:returns_later", published: "the same last round", good: &["the loop runs up to"], quick: true },
    Case { file: "flags.ptx:look_ahead", published: "the last one waits for nobody", good: &["only if ctaid_x + 1 < nctaid_x"], quick: true },
    Case { file: "flags.ptx:look_back", published: "launch ascending", good: &["CTAs start ascending", "all CTAs are resident at once"], quick: false },
    Case { file: "grid_barrier.ptx:grid_barrier", published: "the whole grid resident", good: &["all CTAs are resident at once"], quick: true },
    Case { file: "grid_barrier.ptx:grid_barrier_exact", published: "at least, not exactly", good: &["is at least nctaid_x + nctaid_x * i, and all CTAs are resident at once"], quick: false },
    Case { file: "grid_barrier.ptx:grid_barrier_reset", published: "a counter that only grows", good: &["is never set back"], quick: false },
    Case { file: "grid_sync.ptx:grid_sync_skipped", published: "all CTAs come", good: &["without the condition `ctaid_x < param_1`"], quick: false },
    Case { file: "grid_sync.ptx:highest_bit", published: "the whole grid resident", good: &["all CTAs are resident at once"], quick: true },
    Case { file: "hopper_gemm.ptx:hopper_gemm_counts_threads", published: "the count of warps", good: &["`empty_bar` expects 8"], quick: false },
    Case { file: "hopper_gemm.ptx:hopper_gemm_multiplies_half_the_steps", published: "equal trips", good: &["the loop runs up to"], quick: false },
    Case { file: "hopper_gemm.ptx:hopper_gemm_releases_only_the_last", published: "a release in every round", good: &["`arrive empty_bar["], quick: false },
    Case { file: "hopper_gemm.ptx:hopper_gemm_takes_more_registers", published: "registers that are there", good: &["changes by", "has "], quick: false },
    Case { file: "jacobi.ptx:jacobi_fixed_phase", published: "the parity of the round", good: &["the parity of `bar_cta0` follows the round: i % 2"], quick: false },
    Case { file: "jacobi.ptx:jacobi_one_way", published: "both CTAs are told", good: &["`arrive bar_cta0` in `cta1_warp0`"], quick: false },
    Case { file: "lanes.ptx:lanes_initialise_too_few", published: "all barriers are initialised", good: &["the barriers are initialised before the roles branch off"], quick: false },
    Case { file: "lanes.ptx:lanes_tell_one_cta", published: "both CTAs are told", good: &["`arrive met_bar_cta1`"], quick: false },
    Case { file: "matvec.ptx:matvec_counts_everybody", published: "the count of those who come", good: &["`cta_bar[1]` takes 256 threads"], quick: false },
    Case { file: "matvec.ptx:matvec_one_column_less", published: "equal trips", good: &["the loop runs up to param_3, not param_3 - 1"], quick: true },
    Case { file: "persistent.ptx:lines_in_turn_no_first", published: "both buffers are free at first", good: &["once before the loop"], quick: false },
    Case { file: "persistent.ptx:lines_in_turn_one_more", published: "equal trips", good: &["the loop runs up to", "once more"], quick: false },
    Case { file: "persistent.ptx:rows_handed_on_one_more", published: "equal rounds", good: &["`sync cta_bar[6] 160` once more"], quick: false },
    Case { file: "persistent.ptx:stages_of_the_grid", published: "the whole grid resident", good: &["all CTAs are resident at once"], quick: false },
    Case { file: "persistent.ptx:stages_of_the_grid_count_less", published: "the count of all CTAs", good: &["is at least"], quick: false },
    Case { file: "persistent.ptx:stages_of_the_grid_one_more", published: "the number of CTAs, not one more", good: &["without the number"], quick: false },
    Case { file: "persistent.ptx:tiles_ahead_late_phase", published: "the parity of the round", good: &["follows the round: i / 2 % 2"], quick: false },
    Case { file: "persistent.ptx:tiles_ahead_no_first", published: "the first tile is loaded before the loop", good: &["before the loop"], quick: false },
    Case { file: "references.ptx:references_advances_twice", published: "one stage a round", good: &["stages and parities go by `i`, not by `2 * i`"], quick: false },
    Case { file: "references.ptx:references_keeps_the_phase", published: "the parity of the round", good: &["follows the round: i / 5 % 2"], quick: true },
    Case { file: "ring.ptx:ring_producer_one_round_short", published: "equal trips", good: &["the loop runs up to param_2, not param_2 - 1", "the loop runs up to param_2 - 1, not param_2"], quick: false },
    Case { file: "ring.ptx:ring_producer_starts_at_phase_0", published: "the producer starts at 1", good: &["wait for the other phase of `empty_bar[i % 4]`"], quick: false },
    Case { file: "stencil.ptx:stencil_counts_consumers_only", published: "the count of those who come", good: &["`cta_bar[3]` takes 128 threads"], quick: true },
    Case { file: "stencil.ptx:stencil_without_first_arrival", published: "both buffers are free at first", good: &["`arrive cta_bar[1] 128`, `arrive cta_bar[2] 128` once before the loop", "`arrive cta_bar[3] 128`, `arrive cta_bar[4] 128` once before the loop"], quick: false },
    Case { file: "takeover.ptx:steps_never_released", published: "release after use", good: &["`arrive empty_bar[i % 4]` after `wait full_bar[i % 4]"], quick: false },
    Case { file: "takeover.ptx:takeover_counts_one_more", published: "the count of those who arrive", good: &["`empty_bar` expects 128"], quick: false },
    Case { file: "tensor_gemm.ptx:tensor_gemm_counts_threads", published: "the count of warps", good: &["`empty_bar` expects 2"], quick: false },
    Case { file: "tensor_gemm.ptx:tensor_gemm_releases_early", published: "release after the product", good: &["before", "first"], quick: false },
    Case { file: "tensor_gemm.ptx:turns_without_a_first", published: "one group begins", good: &["only if i > 0", "once before the loop"], quick: false },
    Case { file: "unrolled.ptx:late_gives_twice", published: "one release a round", good: &["without `arrive empty_bar"], quick: false },
    Case { file: "unrolled.ptx:late_keeps_the_last", published: "the last one is released behind the loop", good: &["once behind the loop", "`j == 0 && i == 0` instead of `j == 0`"], quick: false },
    Case { file: "unrolled.ptx:unrolled_meet_fixed_phase", published: "the parity of the round", good: &["follows the round: i % 2"], quick: false },
    Case { file: "unrolled.ptx:unrolled_ring_fixed_phase", published: "the parity of the round", good: &["follows the round: j / 2 % 2"], quick: false },
    Case { file: "varlen.ptx:varlen_rounds_down", published: "the number of tiles rounded up", good: &["127) / 128"], quick: false },
    Case { file: "visited.ptx:in_turns_skips_a_turn", published: "everybody takes its turn", good: &["count(k in 0..ctaid_x where at_param_0[k, i])", "without the condition `at_param_0"], quick: false },
    Case { file: "visited.ptx:listed_arrives_at_another", published: "the stage that was filled", good: &["stages and parities go by `i`, not by `i + 1`"], quick: false },
    Case { file: "visited.ptx:visited_keeps_the_phase", published: "the parity of the round", good: &["follows the round: rounds0 / 2 % 2"], quick: false },
    Case { file: "visited.ptx:visited_other_row", published: "the row of this CTA", good: &["the loop is over row 0, not 1"], quick: false },
    Case { file: "visited.ptx:visited_waits_for_all", published: "tiles that are not visited are passed over", good: &["the loop runs over row(at_param_0) ascending"], quick: false },
    Case { file: "wide_sizes.ptx:packed_producer", published: "the number of tiles rounded up", good: &["+ 15) / 16"], quick: false },
    Case { file: "wide_sizes.ptx:uneven_producer", published: "the number of tiles rounded up", good: &["+ 15) / 16"], quick: false },
];

/// How many repairs count.
const FIRST: usize = 3;

/// The part of all protocols, and of all kernels, that has to have a good one among these, in percent.
const LEAST: usize = 80;
const LEAST_OF_KERNELS: usize = 80;

const HEAD: &str = "\
# Repairs

What `warplock repair` finds for the protocols of `encodings/known_bugs`, `encodings/checklist` and `encodings/block_sparse` that hang. The rank
is that of the published fix, or of one as good, among the first three repairs. A test measures some of the rows each time, fails
if a rank is worse, and fails if fewer than 80 % have one. An edit after which the protocol does less does not count.

| protocol | published fix | rank |
| --- | --- | --- |
";

const KERNELS_HEAD: &str = "
## Kernels

The same for the kernels of `tests/ptx/kernels` that hang. Each is compiled beside a correct one, which is the published fix. Repairs
are edits of the protocol that is recovered. The test fails if fewer than 80 % have one.

| kernel | fix | rank |
| --- | --- | --- |
";

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/repairs.md")
}

/// What is repaired, as arguments.
fn arguments(case: &Case) -> Vec<String> {
    match case.file.split_once(':') {
        Some((file, entry)) => vec![
            format!("tests/ptx/kernels/{file}"),
            "--entry".to_owned(),
            entry.to_owned(),
        ],
        None => vec![format!("encodings/{}.wlk", case.file)],
    }
}

/// The place of the first good repair, from 1.
fn measured(case: &Case) -> Option<usize> {
    let output = Command::new(env!("CARGO_BIN_EXE_warplock"))
        .args(["repair", "-q", "--timeout", "60"])
        .args(arguments(case))
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

/// All of them.
fn cases() -> impl Iterator<Item = &'static Case> {
    PROTOCOLS.iter().chain(KERNELS)
}

/// How many of them have a good repair.
fn good(cases: &[Case], ranks: &BTreeMap<String, Option<usize>>) -> usize {
    let ranked = |case: &&Case| ranks.get(case.file).copied().flatten().is_some();
    cases.iter().filter(ranked).count()
}

fn written(ranks: &BTreeMap<String, Option<usize>>) -> String {
    let mut text = String::new();
    for (head, cases) in [(HEAD, PROTOCOLS), (KERNELS_HEAD, KERNELS)] {
        text.push_str(head);
        for case in cases {
            let rank = match ranks.get(case.file).copied().flatten() {
                Some(rank) => rank.to_string(),
                None => "none".to_owned(),
            };
            let (name, published) = (case.file, case.published);
            let file = match name.split_once(':') {
                Some((file, _)) => format!(
                    "tests/ptx/kernels/{}",
                    file.replace("_unrolled", "").replace(".ptx", ".cu")
                ),
                None => format!("encodings/{name}.wlk"),
            };
            text.push_str(&format!(
                "| [`{name}`](../{file}) | {published} | {rank} |\n"
            ));
        }
        let (good, all) = (good(cases, ranks), cases.len());
        text.push_str(&format!("\n{good} of {all}, {} %.\n", 100 * good / all));
    }
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
                    PROTOCOLS.iter().any(|case| case.file == name),
                    "{name} is missing"
                );
            }
        }
    }
    let ranks = ranks();
    assert_eq!(fs::read_to_string(page()).unwrap(), written(&ranks));
    for (cases, least) in [(PROTOCOLS, LEAST), (KERNELS, LEAST_OF_KERNELS)] {
        assert!(
            100 * good(cases, &ranks) >= least * cases.len(),
            "{ranks:?}"
        );
    }
}

#[test]
fn quick_ones_are_repaired_as_the_page_says() {
    let ranks = ranks();
    for case in cases().filter(|case| case.quick) {
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
    let ranks: BTreeMap<String, Option<usize>> = cases()
        .map(|case| (case.file.to_owned(), measured(case)))
        .collect();
    if std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        fs::write(page(), written(&ranks)).unwrap();
    }
    assert_eq!(fs::read_to_string(page()).unwrap(), written(&ranks));
}
