//! Kernels of our own, as the CUDA compiler writes them: `tests/ptx/kernels`, compiled by
//! `tests/ptx/regenerate.sh`. Each correct one beside variants that hang.

use crate::support::program::Folder;

fn check(name: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    let mut arguments = vec!["check", "-q", name];
    arguments.extend(options);
    folder.run(&arguments)
}

#[test]
fn a_ring() {
    insta::assert_snapshot!(check("ring.ptx", &[]), @"
    exit 1
    --- stdout
    ring.ptx:ring_of_4: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    ring.ptx:ring_of_3: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    ring.ptx:ring_producer_one_round_short: deadlock: REFUTED at param_2 = 1: nobody arrives at full_bar[0], for which warps1_3[0] waits (ring.cu:37, line 808): warp0 never arrives, because `for i in 0..param_2 - 1` (ring.cu:56, line 972) makes no trip
    ring.ptx:ring_producer_starts_at_phase_0: deadlock: REFUTED at param_2 = 1: warp0 and warps1_3[0] wait for each other: warp0 (ring.cu:25, line 1423) for warps1_3[0] to arrive at empty_bar[0], warps1_3[0] (ring.cu:37, line 1250) for warp0 to arrive at full_bar[0]: no barrier here has ever completed, so one of these first waits has to be for parity 1
    --- stderr
    ");
}

#[test]
fn a_persistent_ring_of_bulk_copies() {
    insta::assert_snapshot!(check("bulk_ring.ptx", &["--recovery", "graph"]), @"
    exit 1
    --- stdout
    bulk_ring.ptx:bulk_ring: deadlock: PROVED for every tiles in 0..=1073741823, param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    bulk_ring.ptx:bulk_ring_expects_more_bytes: deadlock: REFUTED at tiles = 1, param_3 = 1: memory_16384[0] expects 4112 bytes (bulk_ring.cu:34, line 568) and gets 4096 (bulk_ring.cu:35, line 584): nobody delivers the other 16; warps1_4[0] waits for it (bulk_ring.cu:48, line 443)
    bulk_ring.ptx:bulk_ring_restarts_with_each_tile: deadlock: REFUTED at tiles = 2, param_3 = 1: warps1_4[0] is lapped: it still waits for phase 0 of memory_16384[0] (bulk_ring.cu:48, line 742), but warp0 completed phases 0 and 1 (bulk_ring.cu:34, line 867) without waiting for warps1_4[0]
    --- stderr
    ");
}

#[test]
fn a_ring_of_asynchronous_copies() {
    insta::assert_snapshot!(check("async_ring.ptx", &[]), @"
    exit 1
    --- stdout
    async_ring.ptx:async_ring: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    async_ring.ptx:async_ring_counts_everybody: deadlock: REFUTED at param_2 = 3: empty_bar[0] takes 8 arrivals, 4 came (warps4_7[0..4]), and warp0 waits for the rest (async_ring.cu:22, line 567): whoever arrives there has arrived in this phase already
    async_ring.ptx:async_ring_same_phase: deadlock: REFUTED at param_2 = 3: warp0 is lapped: it still waits for phase 0 of empty_bar[0] (async_ring.cu:22, line 1014), but warps4_7[0..4] completed phases 0 and 1 (async_ring.cu:33, line 1232) without waiting for warp0
    --- stderr
    ");
}

#[test]
fn a_matrix_vector_product() {
    insta::assert_snapshot!(check("matvec.ptx", &[]), @"
    exit 1
    --- stdout
    matvec.ptx:matvec: deadlock: PROVED for every param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    matvec.ptx:matvec_counts_everybody: deadlock: REFUTED at param_3 = 0: cta_bar[1] takes 384 threads, 256 came (warps4_11[0..8]), and nobody else comes (matvec.cu:34, line 469): warp0 never comes, only at cta_bar[0]; warps1_3[0..3] never come, only at cta_bar[0]
    matvec.ptx:matvec_one_column_less: deadlock: REFUTED at param_3 = 1: nobody arrives at full_bar[0], for which warps4_11[0] waits (matvec.cu:30, line 664): warp0 never arrives, because `for i in 0..param_3 - 1` (sync.cuh:6, line 586) makes no trip; warps1_3[0..3] never arrive, because `for i in 0..param_3 - 1` (sync.cuh:6, line 586) makes no trip
    --- stderr
    ");
}

#[test]
fn a_stencil_with_named_barriers() {
    insta::assert_snapshot!(check("stencil.ptx", &[]), @r"
    exit 1
    --- stdout
    stencil.ptx:stencil: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    stencil.ptx:stencil_without_first_arrival: deadlock: REFUTED at param_2 = 1: warp0 and warps1_3[0] wait for each other: warp0 (stencil.cu:17, line 419) for warps1_3[0] to come to cta_bar[1], warps1_3[0] (stencil.cu:31, line 343) for warp0 to come to cta_bar[3]
    stencil.ptx:stencil_counts_consumers_only: deadlock: REFUTED at param_2 = 1: cta_bar[3] takes 96 threads, 32 came (warps1_3[2]), and nobody else comes (stencil.cu:31, line 619): 4 warps come in all, 3 for each completion, and warp0, warps1_3[0] and warps1_3[1] completed one before
    --- stderr
    ");
}

#[test]
fn two_ctas_of_a_cluster() {
    // Several warps are overtaken alike; which one is found first is a matter of time.
    let shown = check("jacobi.ptx", &[]);
    let line = shown
        .lines()
        .find(|line| line.contains("jacobi_fixed_phase"));
    let (_, who) = line.unwrap().split_once(" at param_1 = 2: ").unwrap();
    assert!(
        who.contains("twice in a row (jacobi.cu:21, line 246)"),
        "{who}"
    );
    insta::assert_snapshot!(shown.replace(who, "[who]"), @"
    exit 1
    --- stdout
    jacobi.ptx:jacobi: deadlock: PROVED for every param_1 in 0..=1073741823 and schedule: all obligations of [rule] hold
    jacobi.ptx:jacobi_fixed_phase: deadlock: REFUTED at param_1 = 2: [who]
    jacobi.ptx:jacobi_one_way: deadlock: REFUTED at param_1 = 1: bar_cta0 takes 8 arrivals, 4 came (cta0_warp0 and cta0_warps1_3[0..3]), and cta0_warp0 waits for the rest (jacobi.cu:21, line 377): no more than 4 arrivals come in a phase
    --- stderr
    ");
}

/// Attention backward in a fixed order: CTAs have rings of their own and take turns with each other.
#[test]
fn ctas_with_rings_that_take_turns() {
    let decided =
        |entry, property| check("backward.ptx", &["--entry", entry, "--property", property]);
    insta::assert_snapshot!(decided("backward_dense", "deadlock"), @"
    exit 0
    --- stdout
    backward.ptx: deadlock: PROVED for every param_4 in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1 and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(decided("backward_off_by_one", "deadlock"), @"
    exit 1
    --- stdout
    backward.ptx: deadlock: REFUTED at param_4 = 1, nctaid_x = 1, R = 1: warp0[0] waits for at_param_2[0] == 1 (backward.cu:62, line 524), but at_param_2[0] stays 0 and nobody adds to it: only warp0[0] itself would, after that wait
    --- stderr
    ");
    insta::assert_snapshot!(decided("backward_no_release", "deadlock"), @"
    exit 1
    --- stdout
    backward.ptx: deadlock: REFUTED at param_4 = 3, nctaid_x = 1, R = 1: empty_bar[0][0] takes 4 arrivals, 3 came (warp0[0], warps2_3[0][0] and warps2_3[0][1]), and warp4[0] waits for the rest (backward.cu:38, line 684): whoever arrives there has arrived in this phase already
    --- stderr
    ");
    insta::assert_snapshot!(decided("backward_dense", "race"), @"
    exit 0
    --- stdout
    backward.ptx: race: PROVED for every param_4 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(decided("backward_reads_late", "race"), @"
    exit 1
    --- stdout
    backward.ptx: race: REFUTED at param_4 = 3: smem_tile[0]: the read by warp0 at backward.cu:56 (line 1072) and the asynchronous write that warp4 starts at backward.cu:40 (line 996) are not ordered: an arrival of warp0 after backward.cu:56 that warp4 waits for before backward.cu:40 would order them
    --- stderr
    ");
}

/// An iteration of the unrolled loop goes through all stages and leaves the stage where it was.
#[test]
fn rings_that_an_unrolled_iteration_goes_round() {
    insta::assert_snapshot!(check("whole_periods.ptx", &["--recovery", "graph"]), @"
    exit 1
    --- stdout
    whole_periods.ptx:two_stages: deadlock: PROVED for every tiles in 0..=1073741823, param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    whole_periods.ptx:four_stages: deadlock: PROVED for every tiles in 0..=1073741823, param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    whole_periods.ptx:two_stages_one_step_less: deadlock: REFUTED at tiles = 3, param_2 = 1: nobody arrives at empty_bar[0], for which warp0 waits (whole_periods.cu:38, line 1712): warp1 never arrives, because `if param_2 >= 2` (whole_periods.cu:51, line 1409) does not hold for it
    whole_periods.ptx:four_stages_one_step_less: deadlock: REFUTED at tiles = 5, param_2 = 1: nobody arrives at empty_bar[0], for which warp0 waits (whole_periods.cu:38, line 2375): warp1 never arrives, because `if param_2 >= 2` (whole_periods.cu:51, line 2072) does not hold for it
    --- stderr
    ");
}

/// Loops of rounds that the compiler wrote out, in rings that go on from where the tile before has left them.
#[test]
fn rings_that_the_compiler_wrote_out() {
    insta::assert_snapshot!(check("bulk_ring_unrolled.ptx", &[]), @"
    exit 1
    --- stdout
    bulk_ring_unrolled.ptx:bulk_ring: deadlock: PROVED for every tiles in 0..=1073741823, param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    bulk_ring_unrolled.ptx:bulk_ring_expects_more_bytes: deadlock: REFUTED at tiles = 1, param_3 = 1: memory_16384[0] expects 4112 bytes (bulk_ring.cu:34, line 1377) and gets 4096 (bulk_ring.cu:35, line 1395): nobody delivers the other 16; warps1_4[0] waits for it (bulk_ring.cu:48, line 987)
    bulk_ring_unrolled.ptx:bulk_ring_restarts_with_each_tile: deadlock: REFUTED at tiles = 2, param_3 = 1: warps1_4[0] is lapped: it still waits for phase 0 of memory_16384[0] (bulk_ring.cu:48, line 1827), but warp0 completed phases 0 and 1 (bulk_ring.cu:34, line 2338) without waiting for warps1_4[0]
    --- stderr
    ");
    insta::assert_snapshot!(check("lookahead_unrolled.ptx", &[]), @"
    exit 4
    --- stdout
    lookahead_unrolled.ptx:lookahead: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    lookahead_unrolled.ptx:lookahead_at_this_stage: deadlock: UNKNOWN line 1271 (lookahead.cu:71), `@%p11 bra $L__BB1_26`: a branch depends on a single test of an mbarrier
    --- stderr
    ");
}

/// Sixteen or eight copies of a round, with a tree of branches for the rest, are one loop.
#[test]
fn loops_that_the_compiler_wrote_out() {
    insta::assert_snapshot!(check("unrolled.ptx", &[]), @"
    exit 1
    --- stdout
    unrolled.ptx:unrolled_meet: deadlock: PROVED for every param_1 in 0..=1073741823 and schedule: all obligations of [rule] hold
    unrolled.ptx:unrolled_meet_fixed_phase: deadlock: REFUTED at param_1 = 2: cta0_warp0 waits for bar_bar[0] with parity 0 twice in a row (unrolled.cu:22, line 2592), and bar_bar[0] has completed 2 times by then, so this wait needs another completion: cta0_warp1 arrives 2 times and not again; cta1_warp0 arrives 2 times and not again; cta1_warp1 arrives 2 times and not again
    unrolled.ptx:unrolled_ring: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    unrolled.ptx:unrolled_ring_fixed_phase: deadlock: REFUTED at param_2 = 3: warp1 waits for full_bar[0] with parity 0 twice in a row (unrolled.cu:50, line 3241), and full_bar[0] has completed 2 times by then, so this wait needs another completion: warp0 arrives 2 times and has ended
    unrolled.ptx:late: deadlock: PROVED for every param_3 in 0..=1073741823, param_2_per_cta in 0..=1073741823 and schedule: all obligations of [rule] hold
    unrolled.ptx:late_keeps_the_last: deadlock: REFUTED at tiles = 2, param_3 = 3: nobody arrives at empty_bar[2], for which warp0 waits (unrolled.cu:77, line 5074): warp1 never arrives, only at others such as empty_bar[0]
    unrolled.ptx:late_gives_twice: deadlock: REFUTED at tiles = 1, param_3 = 5: warp0 is lapped: it still waits for phase 0 of empty_bar[1] (unrolled.cu:77, line 5263), but warp1 completed phases 0 and 1 (unrolled.cu:84, line 5467) without waiting for warp0
    --- stderr
    ");
    let race = ["--property", "race", "--entry", "unrolled_ring"];
    insta::assert_snapshot!(check("unrolled.ptx", &race), @"
    exit 0
    --- stdout
    unrolled.ptx: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn a_grid_barrier_needs_all_ctas() {
    insta::assert_snapshot!(check("grid_barrier.ptx", &[]), @"
    exit 1
    --- stdout
    grid_barrier.ptx:grid_barrier: deadlock: REFUTED at param_2 = 1, nctaid_x = 2, R = 1: cta[0] waits for at_param_0 >= 2 (grid_barrier.cu:23, line 74), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    grid_barrier.ptx:grid_barrier_exact: deadlock: REFUTED at param_2 = 1, nctaid_x = 2, R = 1: cta[0] waits for at_param_0 == 2 (grid_barrier.cu:26, line 154), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    grid_barrier.ptx:grid_barrier_reset: deadlock: REFUTED at param_2 = 1, nctaid_x = 2, R = 1: cta[0] waits for at_param_0 == 2 (grid_barrier.cu:26, line 232), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    --- stderr
    ");
}

#[test]
fn a_grid_barrier_with_all_ctas() {
    insta::assert_snapshot!(check("grid_barrier.ptx", &["--assume", "R >= nctaid_x"]), @"
    exit 1
    --- stdout
    grid_barrier.ptx:grid_barrier: deadlock: PROVED for every param_2 in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming param_2 * nctaid_x < 4294967296, R >= nctaid_x: all obligations of [rule] hold
    grid_barrier.ptx:grid_barrier_exact: deadlock: REFUTED at param_2 = 2, nctaid_x = 2, R = 2: cta[1] waits for at_param_0 == 2 (grid_barrier.cu:26, line 154), but cta[0] has already added 2 (grid_barrier.cu:43, line 143) and cta[1] itself has already added 1 (grid_barrier.cu:43, line 143), and at_param_0 never goes down
    grid_barrier.ptx:grid_barrier_reset: deadlock: REFUTED at param_2 = 1, nctaid_x = 2, R = 2: cta[1] waits for at_param_0 == 2 (grid_barrier.cu:26, line 232), but cta[0] set at_param_0 to 0 (grid_barrier.cu:44, line 245), and nobody changes it any more: cta[0] adds 1 to it and has ended
    --- stderr
    ");
}

#[test]
fn a_hopper_gemm() {
    // Which of the two recoveries is decided first depends on how fast the machine is.
    let shown = check(
        "hopper_gemm.ptx",
        &["--entry", "hopper_gemm", "--timeout", "300"],
    );
    assert!(
        shown.contains("hopper_gemm.ptx: deadlock: PROVED for every "),
        "{shown}"
    );
}

#[test]
fn hopper_gemms_that_hang() {
    for (entry, expected) in [
        ("multiplies_half_the_steps", "empty_bar["),
        ("counts_threads", "takes 256 arrivals, 8 came"),
        ("takes_more_registers", "waits for 72 of registers"),
        ("releases_only_the_last", "nobody arrives at empty_bar["),
    ] {
        let name = format!("hopper_gemm_{entry}");
        let found = check("hopper_gemm.ptx", &["--entry", &name]);
        assert!(found.starts_with("exit 1\n"), "{name}: {found}");
        assert!(found.contains("deadlock: REFUTED at "), "{name}: {found}");
        assert!(found.contains(expected), "{name}: {found}");
    }
}

#[test]
fn a_blackwell_gemm_on_two_ctas() {
    let shown = check(
        "blackwell_gemm.ptx",
        &["--entry", "blackwell_gemm", "--timeout", "300"],
    );
    assert!(
        shown.contains("blackwell_gemm.ptx: deadlock: PROVED for every "),
        "{shown}"
    );
}

#[test]
fn blackwell_gemms_that_hang() {
    for (entry, expected) in [
        ("frees_the_leader_only", "cta1_warp0 waits"),
        // Nobody arrives at its second element, and waits for its first are lapped: either run may be shown.
        ("one_accumulator_barrier", "done_bar"),
        ("drained_at_home", "drained_bar"),
    ] {
        let name = format!("blackwell_gemm_{entry}");
        let found = check("blackwell_gemm.ptx", &["--entry", &name]);
        assert!(found.starts_with("exit 1\n"), "{name}: {found}");
        assert!(found.contains("deadlock: REFUTED at "), "{name}: {found}");
        assert!(found.contains(expected), "{name}: {found}");
    }
}

/// A mask and the rows of a sparse matrix are inputs; ranks that come from memory are not followed.
#[test]
fn a_block_sparse_reduction() {
    insta::assert_snapshot!(check("block_sparse.ptx", &["--assume", "R >= nctaid_x"]), @"
    exit 1
    --- stdout
    block_sparse.ptx:every_block_takes_its_turn: deadlock: PROVED for every param_3 in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    block_sparse.ptx:blocks_skip_what_they_do_not_visit: deadlock: REFUTED at param_3 = 1, nctaid_x = 2, R = 2, at_param_0 = {(1, 0)}: cta[1] waits for at_param_1[0] == 1 (block_sparse.cu:30, line 182), but at_param_1[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `if at_param_0[ctaid_x, i]` (block_sparse.cu:72, line 167) does not hold for it
    block_sparse.ptx:blocks_add_twice: deadlock: REFUTED at param_3 = 2, nctaid_x = 2, R = 2: cta[1] waits for at_param_1[1] == 1 (block_sparse.cu:30, line 281), but cta[0] has already added 2 (block_sparse.cu:36, line 319), and at_param_1[1] never goes down
    block_sparse.ptx:rows_take_turns_by_block: deadlock: REFUTED at nctaid_x = 2, columns_param_1 = 1, R = 2, rows_param_0_param_1 = {(1, 0)}: cta[1] waits for at_param_3[0] == 1 (block_sparse.cu:50, line 391), but at_param_3[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for i in row(rows_param_0_param_1, ctaid_x)` (block_sparse.cu:74, line 375) makes no trip
    block_sparse.ptx:rows_take_turns_by_rank: deadlock: UNKNOWN line 498 (block_sparse.cu:50), `ld.acquire.gpu.global.s32 %r9, [%rd14]`: it depends on memory that is read
    --- stderr
    ");
}

#[test]
fn a_reduction_in_the_order_of_launch() {
    let entry = ["--entry", "every_block_takes_its_turn"];
    insta::assert_snapshot!(
        check("block_sparse.ptx", &[&entry[..], &["--launch", "ascending"]].concat()), @"
    exit 0
    --- stdout
    block_sparse.ptx: deadlock: PROVED for every param_3 in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(
        check("block_sparse.ptx", &[&entry[..], &["--launch", "descending"]].concat()), @"
    exit 1
    --- stdout
    block_sparse.ptx: deadlock: REFUTED at param_3 = 1, nctaid_x = 2, R = 1: cta[1] waits for at_param_1[0] == 1 (block_sparse.cu:30, line 69), which needs cta[0]; that cannot start, because cta[1] holds the only resident slot
    --- stderr
    ");
}

#[test]
fn the_protocol_of_a_sparse_matrix() {
    let folder = Folder::new();
    folder.kernel("block_sparse.ptx");
    let entry = "rows_take_turns_by_block";
    insta::assert_snapshot!(folder.run(&["lift", "block_sparse.ptx", "--entry", entry]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `rows_take_turns_by_block` of a PTX 9.5 text for sm_90a.
    //! 128 x 1 x 1 threads per CTA.
    //! Assumed: the launch has 128 threads per CTA, as many as .maxntid allows
    //! Assumed: words that are read from memory lie between 0 and 2147483647
    //! Assumed: counters in memory stay below 2^31
    //! Assumed: counters in memory are 0 at launch
    //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
    //! Assumed: nctaid_y == 1, an axis of the grid that the kernel never looks at
    //! Assumed: nctaid_z == 1, an axis of the grid that the kernel never looks at
    protocol rows_take_turns_by_block

    param nctaid_x in 1..=1073741823

    param columns_param_1 in 0..=1073741823
    // what each row lists, every column at most once
    pattern rows_param_0_param_1[nctaid_x, columns_param_1]
    semaphore at_param_3[columns_param_1] = 0  // taken to be cleared before the launch

    // Axes of the grid that the kernel never looks at have one CTA.
    grid cta[ctaid_x in 0..nctaid_x] launch any resident 1.. {
        for i in row(rows_param_0_param_1, ctaid_x) {  // block_sparse.cu:74
            wait at_param_3[i] == ctaid_x  // block_sparse.cu:50
            at_param_3[i] += 1             // block_sparse.cu:56
        }
    }
    --- stderr
    ");
}

/// The whole report: the place is one of the source and of the PTX, other lines are those of the protocol.
#[test]
fn the_report_of_a_stencil() {
    let folder = Folder::new();
    folder.kernel("stencil.ptx");
    let entry = "stencil_without_first_arrival";
    insta::assert_snapshot!(folder.run(&["check", "stencil.ptx", "--entry", entry]), @"
    exit 1
    --- stdout
    stencil.ptx: deadlock: REFUTED at param_2 = 1: warp0 and warps1_3[0] wait for each other: warp0 (stencil.cu:17, line 419) for warps1_3[0] to come to cta_bar[1], warps1_3[0] (stencil.cu:31, line 343) for warp0 to come to cta_bar[3]
      names: param_2 is parameter 3 of the kernel; warps1_3[0] is warp 1
         --> stencil.cu:17, stencil.ptx:419
      419 | bar.sync %r43, %r44;
      element     start  now                                                waited for                          changed by                          completes
      cta_bar[1]  -      32 threads: warp0                                  warp0 128 threads (never)           warps1_3[0..3] 128 threads (never)  no
      cta_bar[3]  -      96 threads: warps1_3[0], warps1_3[1], warps1_3[2]  warps1_3[0..3] 128 threads (never)  warp0 128 threads (never)           no
      blocked:
        warp0 at stencil.cu:17: cta_bar[1] 128 threads, found 32 threads: warp0: warps1_3[0], which would come to cta_bar[1], is stuck itself
        warps1_3[0..3] at stencil.cu:31: cta_bar[3] 128 threads, found 96 threads: warps1_3[0], warps1_3[1], warps1_3[2]: warp0, which would come to cta_bar[3], is stuck itself
      trace:
          1  warp0           comes to cta_bar[1]: 32 threads: warp0  (stencil.cu:17)
        2-4  warps1_3[0..3]  comes to cta_bar[3]: 96 threads: warps1_3[0], warps1_3[1], warps1_3[2]  (stencil.cu:31)
      minimal: smallest by (param_2) among param_2 in 0..=4; the only smaller one was explored exhaustively
      assumptions: 0 <= param_2 <= 1073741823; lanes of a warp that diverge reconverge where their paths meet; the launch has 128 threads per CTA, as many as .maxntid allows; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by adversarial schedules in [time]
    --- stderr
    ");
}

#[test]
fn the_protocol_of_a_ring() {
    let folder = Folder::new();
    folder.kernel("ring.ptx");
    insta::assert_snapshot!(folder.run(&["lift", "ring.ptx", "--entry", "ring_of_4"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `ring_of_4`.
    //! 128 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 612 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! Assumed: the launch has 128 threads per CTA, as many as .maxntid allows
    protocol ring_of_4

    param param_2 in 0..=1073741823

    mbarrier full_bar[4] { arrivals: 1 }
    mbarrier empty_bar[4] { arrivals: 3 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 128    // ring.cu:54
        for i in 0..param_2 {  // ring.cu:25
            wait empty_bar[i % 4] (i / 4 + 1) % 2  // ring.cu:25
            arrive full_bar[i % 4]                 // ring.cu:27
        }
    }

    role warps1_3[w in 0..3] warp {
        sync cta_bar[0] 128    // ring.cu:54
        for i in 0..param_2 {  // ring.cu:37
            wait full_bar[i % 4] i / 4 % 2  // ring.cu:37
            arrive empty_bar[i % 4]         // ring.cu:39
        }
    }
    --- stderr
    ");
}

#[test]
fn the_protocol_of_a_persistent_kernel() {
    let folder = Folder::new();
    folder.kernel("bulk_ring.ptx");
    insta::assert_snapshot!(folder.run(&["lift", "bulk_ring.ptx", "--entry", "bulk_ring"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `bulk_ring`.
    //! 160 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 11 launches, 7150 events.
    //! Assumed: a loop in steps of the grid does not wrap around
    //! Assumed: ctaid_x lies in 0..=1073741823
    //! Assumed: stores and copies to computed places in shared memory do not reach an mbarrier
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! Assumed: the launch has 160 threads per CTA, as many as .maxntid allows
    protocol bulk_ring

    param tiles in 0..=1073741823  // iterations of a loop in steps of the grid
    param param_3 in 0..=1073741823

    mbarrier memory_16384[4] { arrivals: 1 }
    mbarrier memory_16416[4] { arrivals: 4 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 160  // bulk_ring.cu:67
        var rounds0 = 0
        for i in 0..tiles {  // bulk_ring.cu:32
            for j in 0..param_3 {  // bulk_ring.cu:67
                wait memory_16416[rounds0 % 4] (rounds0 / 4 + 1) % 2      // bulk_ring.cu:33
                arrive_expect_tx memory_16384[rounds0 % 4] 4096           // bulk_ring.cu:34
                async copy tile completes memory_16384[rounds0 % 4] 4096  // bulk_ring.cu:35
                rounds0 = rounds0 + 1
            }
        }
    }

    role warps1_4[w in 0..4] warp {
        sync cta_bar[0] 160  // bulk_ring.cu:67
        var rounds0 = 0
        for i in 0..tiles {  // bulk_ring.cu:67
            for j in 0..param_3 {  // sync.cuh:6
                wait memory_16384[rounds0 % 4] rounds0 / 4 % 2  // bulk_ring.cu:48
                arrive memory_16416[rounds0 % 4]                // bulk_ring.cu:51
                rounds0 = rounds0 + 1
            }
        }
    }
    --- stderr
    ");
}

#[test]
fn the_protocol_of_a_grid() {
    let folder = Folder::new();
    folder.kernel("grid_barrier.ptx");
    insta::assert_snapshot!(
        folder.run(&["lift", "grid_barrier.ptx", "--entry", "grid_barrier_reset"]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `grid_barrier_reset` of a PTX 9.5 text for sm_90a.
    //! 256 x 1 x 1 threads per CTA.
    //! Assumed: the launch has 256 threads per CTA, as many as .maxntid allows
    //! Assumed: counters in memory stay below 2^31
    //! Assumed: counters in memory are 0 at launch
    //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
    //! Assumed: nctaid_y == 1, an axis of the grid that the kernel never looks at
    //! Assumed: nctaid_z == 1, an axis of the grid that the kernel never looks at
    protocol grid_barrier_reset

    param param_2 in 0..=1073741823
    param nctaid_x in 1..=1073741823

    semaphore at_param_0 = 0  // taken to be cleared before the launch

    // Axes of the grid that the kernel never looks at have one CTA.
    grid cta[ctaid_x in 0..nctaid_x] launch any resident 1.. {
        for i in 0..param_2 {  // grid_barrier.cu:44
            at_param_0 += 1              // grid_barrier.cu:44
            wait at_param_0 == nctaid_x  // grid_barrier.cu:26
            if ctaid_x == 0 {            // grid_barrier.cu:44
                at_param_0 = 0  // grid_barrier.cu:44
            }
        }
    }
    --- stderr
    ");
}

/// Without the numbers of lines: a kernel's are those of its own text.
pub fn without_lines(shown: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut after_line = false;
    for word in shown.split(' ') {
        let bare = word.trim_matches(['(', ')', ',', ':', ';', '\n']);
        let number = after_line && bare.bytes().all(|b| b.is_ascii_digit());
        after_line = bare == "line";
        if !(after_line || number || bare.contains(".cu:")) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// What `lift` prints is what `check` decides.
#[test]
fn the_lifted_text_gets_the_same_verdict() {
    for (file, entry) in [
        ("ring.ptx", "ring_of_3"),
        ("ring.ptx", "ring_producer_starts_at_phase_0"),
        ("stencil.ptx", "stencil_counts_consumers_only"),
        ("jacobi.ptx", "jacobi"),
        ("grid_barrier.ptx", "grid_barrier_exact"),
    ] {
        let folder = Folder::new();
        folder.kernel(file);
        let first = folder.run(&["check", "-q", file, "--entry", entry]);
        folder.run(&["lift", file, "--entry", entry, "-o", "lifted.wlk"]);
        let second = folder.run(&["check", "-q", "lifted.wlk"]);
        let first = first.replace(file, "lifted.wlk");
        assert_eq!(without_lines(&first), without_lines(&second), "{entry}");
    }
}

/// Reports for programs cite the file and the line of the PTX.
#[test]
fn places_in_reports_for_programs() {
    let folder = Folder::new();
    folder.kernel("stencil.ptx");
    let entry = ["--entry", "stencil_without_first_arrival"];
    let report = |format: &str| {
        folder.run(&[&["check", "stencil.ptx", "--format", format][..], &entry].concat())
    };
    let json = report("json");
    assert!(json.contains("\"line\": 419,"), "{json}");
    assert!(
        json.contains("\"source_line\": \"stencil.cu:17\""),
        "{json}"
    );
    // Each blocked member and each step has both lines, beside that of the protocol.
    let json: String = json.split_whitespace().collect();
    let both = "\"kernel\":{\"source\":\"stencil.cu:31\",\"line\":343}";
    assert_eq!(json.matches(both).count(), 6, "{json}");
    let sarif = report("sarif");
    assert!(sarif.contains("\"uri\": \"stencil.cu\""), "{sarif}");
    assert!(sarif.contains("\"startLine\": 17"), "{sarif}");
}
