//! Properties beside deadlock on the command line: what is said, and what replays.

use crate::support::program::Folder;

/// Copies an encoding into the folder.
fn copied(folder: &Folder, path: &str) {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("encodings")
        .join(path);
    let name = from.file_name().unwrap().to_str().unwrap();
    folder.file(name, std::fs::read(&from).unwrap());
}

/// A wait for all but -1 groups would wait for work that is in no group.
#[test]
fn a_wait_leaves_no_negative_number_of_groups() {
    let folder = Folder::new();
    for (file, most) in [("none.wlk", "0 - 1"), ("some.wlk", "N - 3")] {
        let text = format!(
            "protocol p\nparam N in 1..\nbuffer d\nrole a {{\n    async store writes d\n    wait_group {most}\n    write d\n}}\n"
        );
        folder.file(file, text);
    }
    let shown = folder.run(&["check", "-q", "--property", "race", "none.wlk", "some.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 4
    --- stdout
    none.wlk: race: UNKNOWN not well defined at N = 1: -1 groups: `wait_group` leaves 0 or more of them
    some.wlk: race: UNKNOWN not well defined at N = 1: -2 groups: `wait_group` leaves 0 or more of them
    --- stderr
    ");
}

/// The language has unbounded integers. That searches do not run what 64 bits do not hold is no fault of a protocol.
#[test]
fn numbers_beyond_64_bits_are_not_undefined() {
    let folder = Folder::new();
    folder.file(
        "large.wlk",
        "protocol large\nparam N in 0..\nsemaphore s = 0\n\
         role a { s += N * 9223372036854775807 }\nrole b { wait s == N * 9223372036854775807 }\n",
    );
    let shown = folder.run(&[
        "check",
        "-q",
        "--property",
        "deadlock,lapped_wait",
        "large.wlk",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 0
    --- stdout
    large.wlk: deadlock: PROVED for every N >= 0 and schedule: all 3 obligations of the cut rule hold
    large.wlk: lapped_wait: PROVED for every N >= 0 and schedule: all 3 obligations of the cut rule hold
    --- stderr
    ");
}

#[test]
fn two_runs_show_an_early_completion() {
    let folder = Folder::new();
    copied(&folder, "mbarrier/jacobi.wlk");
    let file = "jacobi.wlk";
    let shown = folder.run(&[
        "check",
        file,
        "--property",
        "early_completion",
        "--witness",
        "w",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    jacobi.wlk: early_completion: REFUTED at T = 2, N = 2: generation 1 of bar[1] can complete without the arrival of thread[0][0] at line 14: it counts in generation 1 in one run and in generation 2 in another
        --> jacobi.wlk:14
      14 |         arrive bar[1 - cta]
      trace:
         1  thread[0][0]  arrives at bar[0]: phase 0, 3 pending  (line 13)
         2  thread[0][1]  arrives at bar[0]: phase 0, 2 pending  (line 13)
         3  thread[0][0]  arrives at bar[1]: phase 0, 3 pending  (line 14)
         4  thread[1][0]  arrives at bar[1]: phase 0, 2 pending  (line 13)
         5  thread[1][1]  arrives at bar[1]: phase 0, 1 pending  (line 13)
         6  thread[1][0]  arrives at bar[0]: phase 0, 1 pending  (line 14)
         7  thread[1][1]  arrives at bar[0]: phase 1, 4 pending  (line 14)
         8  thread[0][0]  passes bar[0], which has left phase 0  (line 15)
         9  thread[0][0]  arrives at bar[0]: phase 1, 3 pending  (line 13)
        10  thread[0][0]  arrives at bar[1]: phase 1, 4 pending  (line 14)
      the other run:
        ... 8 earlier steps (-v shows them)
         9  thread[0][0]  passes bar[0], which has left phase 0  (line 15)
        10  thread[0][0]  arrives at bar[0]: phase 1, 3 pending  (line 13)
        11  thread[0][0]  arrives at bar[1]: phase 1, 3 pending  (line 14)
      minimal: smallest by (T, N) among T in 1..=5, N in 0..=4; every smaller one of these was explored exhaustively
      assumptions: T >= 1; N >= 0; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      witness: w/jacobi-early_completion-[digest].json (replay it with: warplock replay w/jacobi-early_completion-[digest].json)
      decided by runs with somebody held in [time]
    --- stderr
    ");
    let replayed = folder.run(&["replay", "-q", &folder.only("w")]);
    insta::assert_snapshot!(replayed, @"
    exit 0
    --- stdout
    w/jacobi-early_completion-[digest].json: early_completion: REFUTED at T = 2, N = 2: generation 1 of bar[1] can complete without the arrival of thread[0][0] at line 14: it counts in generation 1 in one run and in generation 2 in another
    --- stderr
    ");
}

#[test]
fn a_race_names_both_accesses_and_what_would_order_them() {
    let folder = Folder::new();
    copied(&folder, "hazards/store_not_drained.wlk");
    let file = "store_not_drained.wlk";
    let shown = folder.run(&["check", file, "--property", "race", "--witness", "w"]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    store_not_drained.wlk: race: REFUTED at T = 1, TILES = 2: staging[0]: the asynchronous read that thread[0] starts at line 18 and the write by thread[0] at line 13 are not ordered: nothing tells when the first is complete; a `commit`, or a `commit_group` with a `wait_group 0` before line 13 would order them
        --> store_not_drained.wlk:13
      13 |         write staging[t]
      trace:
        1  thread[0]  arrives at epilogue as the last  (line 15)
        2  thread[0]  passes epilogue  (line 15)
        3  thread[0]  arrives at epilogue as the last  (line 22)
        4  thread[0]  passes epilogue  (line 22)
      minimal: smallest by (T, TILES) among T in 1..=5, TILES in 0..=4; every smaller one of these was explored exhaustively
      assumptions: T >= 1; TILES >= 0; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      witness: w/store_not_drained-race-[digest].json (replay it with: warplock replay w/store_not_drained-race-[digest].json)
      decided by runs with somebody held in [time]
    --- stderr
    ");
    let witness = folder.only("w");
    let replayed = folder.run(&["replay", &witness]);
    insta::assert_snapshot!(replayed, @"
    exit 0
    --- stdout
    w/store_not_drained-race-[digest].json: race: REFUTED at T = 1, TILES = 2: staging[0]: the asynchronous read that thread[0] starts at line 18 and the write by thread[0] at line 13 are not ordered: nothing tells when the first is complete; a `commit`, or a `commit_group` with a `wait_group 0` before line 13 would order them
        --> the protocol in w/store_not_drained-race-[digest].json:13
      13 |         write staging[t]
      trace:
        1  thread[0]  arrives at epilogue as the last  (line 15)
        2  thread[0]  passes epilogue  (line 15)
        3  thread[0]  arrives at epilogue as the last  (line 22)
        4  thread[0]  passes epilogue  (line 22)
    --- stderr
    ");
    let path = folder.path().join(&witness);
    let text = std::fs::read_to_string(&path).unwrap();
    let lie = text.replacen("\"staging[0]\"", "\"staging[1]\"", 1);
    assert_ne!(lie, text);
    folder.file("lie.json", lie);
    insta::assert_snapshot!(folder.run(&["replay", "lie.json"]), @"
    exit 101
    --- stdout
    --- stderr
    error: failed to replay: the runs show something else than the witness says they show
    ");
}

#[test]
fn one_line_says_what_is_wrong() {
    let folder = Folder::new();
    let files = [
        ("hazards/both_write.wlk", "race"),
        ("hazards/bytes_expected_too_few.wlk", "tx_mismatch"),
        ("hazards/commit_by_every_lane.wlk", "race"),
        ("hazards/early_use.wlk", "uninitialized"),
        ("hazards/jacobi_halo.wlk", "race"),
        ("hazards/overshot_counter.wlk", "lapped_wait"),
        ("hazards/read_wait_before_publishing.wlk", "race"),
        ("hazards/release_before_read.wlk", "race"),
        ("hazards/stencil_transfer_early.wlk", "race"),
        ("named/third_participant.wlk", "early_completion"),
    ];
    let mut all = String::new();
    for (path, property) in files {
        copied(&folder, path);
        let file = path.rsplit('/').next().unwrap();
        let arguments = [
            "check",
            "-q",
            "--timeout",
            "5",
            file,
            "--property",
            property,
        ];
        all.push_str(&folder.run(&arguments));
    }
    insta::assert_snapshot!(all, @"
    exit 1
    --- stdout
    both_write.wlk: race: REFUTED shared: the write by warp_of[0] at line 9 and the write by warp_of[1] at line 9 are not ordered: an arrival of warp_of[0] after line 9 that warp_of[1] waits for before line 9 would order them
    --- stderr
    exit 1
    --- stdout
    bytes_expected_too_few.wlk: tx_mismatch: REFUTED at N = 1: over the whole run, 1024 more bytes are delivered to full than are expected: load delivers bytes there at line 18
    --- stderr
    exit 1
    --- stdout
    commit_by_every_lane.wlk: race: REFUTED at LANES = 2, S = 1, K = 2: smem[0]: the asynchronous read that mma[0] starts at line 30 and the asynchronous write that load starts at line 20 are not ordered: a wait of load before line 20 for a phase of empty[0] that completes only after the first access would order them
    --- stderr
    exit 1
    --- stdout
    early_use.wlk: uninitialized: REFUTED at T = 2: thread[1] uses done at line 12, and nothing makes it wait until that is initialised
    --- stderr
    exit 1
    --- stdout
    jacobi_halo.wlk: race: REFUTED at T = 2, N = 2: halo[0][0][1]: the write by thread[1][1] at line 17 and the read by thread[0][0] at line 20 are not ordered: an arrival of thread[1][1] after line 17 that thread[0][0] waits for before line 20 would order them
    --- stderr
    exit 1
    --- stdout
    overshot_counter.wlk: lapped_wait: REFUTED at W = 1, N = 2: rounds moves on from 1 while watcher stands before its wait for that very value at line 17
    --- stderr
    exit 1
    --- stdout
    read_wait_before_publishing.wlk: race: REFUTED at TILES = 1: out[0]: the asynchronous write that writer starts at line 16 and the read by reader at line 26 are not ordered: nothing tells when the first is complete; a `commit`, or a `commit_group` with a `wait_group 0` (without `read`), and an arrival after it that reader waits for, before line 26 would order them
    --- stderr
    exit 1
    --- stdout
    release_before_read.wlk: race: REFUTED at S = 1, C = 1, N = 2: smem[0]: the read by consumer[0] at line 27 and the write by producer at line 16 are not ordered: an arrival of consumer[0] after line 27 that producer waits for before line 16 would order them
    --- stderr
    exit 1
    --- stdout
    stencil_transfer_early.wlk: race: REFUTED at T = 2, STEPS = 3: field[0]: the read by thread[1] at line 26 and the asynchronous write that thread[0] starts at line 22 are not ordered: an arrival of thread[1] after line 26 that thread[0] waits for before line 22 would order them
    --- stderr
    exit 1
    --- stdout
    third_participant.wlk: early_completion: REFUTED generation 1 of bar[0] can complete without the registration of three at line 18: it counts in generation 1 in one run and in generation 2 in another
    --- stderr
    ");
}

#[test]
fn all_properties_are_those_that_apply() {
    let folder = Folder::new();
    copied(&folder, "named/reused_barrier_unordered.wlk");
    let file = "reused_barrier_unordered.wlk";
    let shown = folder.run(&["check", "-q", file, "--property", "all"]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    reused_barrier_unordered.wlk: deadlock: REFUTED three and four wait for each other: three (line 20) for four to come to bar[1], four (line 25) for three to come to bar[2]
    reused_barrier_unordered.wlk: early_completion: REFUTED generation 1 of bar[2] can complete without the registration of four at line 25: it counts in generation 1 in one run and in generation 2 in another
    reused_barrier_unordered.wlk: over_arrival: PROVED for every schedule: by exhaustive search of 71 states of 1 input at 1 point
    --- stderr
    ");
    let shown = folder.run(&["check", "-q", file, "--property", "stale_read,race"]);
    insta::assert_snapshot!(shown, @"
    exit 4
    --- stdout
    reused_barrier_unordered.wlk: stale_read: UNKNOWN the protocol reads and writes no declared buffer
    reused_barrier_unordered.wlk: race: UNKNOWN the protocol reads and writes no declared buffer
    --- stderr
    ");
}

#[test]
fn exploring_decides_a_property_at_one_point() {
    let folder = Folder::new();
    copied(&folder, "mbarrier/jacobi.wlk");
    let at = |n: &'static str, property: &'static str| {
        let values = ["--set", "T=2", "--set", n, "--property", property];
        let arguments = [&["explore", "jacobi.wlk", "-q"], values.as_slice()].concat();
        folder.run(&arguments)
    };
    insta::assert_snapshot!(at("N=1", "early_completion"), @"
    exit 0
    --- stdout
    jacobi.wlk: no violation of early_completion, 1 input and 46 states searched completely
    --- stderr
    ");
    insta::assert_snapshot!(at("N=2", "early_completion"), @"
    exit 1
    --- stdout
    jacobi.wlk: an input violates early_completion, 1 input and 51 states searched up to the first violation
      at T = 2, N = 2: generation 1 of bar[1] can complete without the arrival of thread[0][0] at line 14: it counts in generation 1 in one run and in generation 2 in another
    --- stderr
    ");
    insta::assert_snapshot!(at("N=2", "race"), @"
    exit 2
    --- stdout
    --- stderr
    error: jacobi.wlk: the protocol reads and writes no declared buffer
    ");
}

#[test]
fn expect_lines_work_for_every_property() {
    let folder = Folder::new();
    copied(&folder, "hazards/both_write.wlk");
    let text = std::fs::read_to_string(folder.path().join("both_write.wlk")).unwrap();
    folder.file("wrong.wlk", text.replace("race: refuted", "race: bounded"));
    let shown = folder.run(&["check", "--expect", "both_write.wlk", "wrong.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    both_write.wlk:12: ok: race: refuted
    both_write.wlk:13: ok: early_completion: proved
    wrong.wlk:12: differs: expected `race: bounded`, got refuted: shared: the write by warp_of[0] at line 9 and the write by warp_of[1] at line 9 are not ordered: an arrival of warp_of[0] after line 9 that warp_of[1] waits for before line 9 would order them
    wrong.wlk:13: ok: early_completion: proved
    --- stderr
    ");
}

#[test]
fn a_pool_takes_back_what_was_taken() {
    let folder = Folder::new();
    folder.file(
        "pool.wlk",
        "protocol pool_twice\nparam N in 1..\npool p = 8\nrole r[n in 0..N] {\n    acquire p 4\n    \
         release p 4\n    if n == 1 {\n        release p 4\n    }\n}\n",
    );
    folder.file(
        "much.wlk",
        "protocol much\nparam N in 1..\npool p = 8\nrole r {\n    acquire p 4 * N\n    release p 4 * N\n}\n",
    );
    let shown = folder.run(&[
        "check",
        "-q",
        "pool.wlk",
        "much.wlk",
        "--property",
        "resources",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    pool.wlk: resources: REFUTED at N = 2: r[1] at p in line 8: 4 given back where 0 are taken
    much.wlk: resources: REFUTED at N = 3: r asks for 12 of p at line 5, of which there are 8
    --- stderr
    ");
}

#[test]
fn an_access_outside_its_buffer_has_no_meaning() {
    let folder = Folder::new();
    folder.file(
        "outside.wlk",
        "protocol outside\nparam N in 1..\nbuffer x[N]\nrole r[n in 0..N] {\n    write x[n + 1]\n}\n",
    );
    let shown = folder.run(&["check", "outside.wlk", "--property", "race"]);
    insta::assert_snapshot!(shown, @"
    exit 4
    --- stdout
    outside.wlk: race: UNKNOWN not well defined at N = 1: index 1 of `x` is outside 0..1
       --> outside.wlk:5
      5 |     write x[n + 1]
      assumptions:
        N >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      hint: the statement itself is at fault: correct it, or exclude such inputs (`assume` in the text, or --assume EXPR)
      decided by explicit search in [time]
    --- stderr
    ");
}

#[test]
fn a_stale_read_names_the_edge_that_shows_nothing() {
    let folder = Folder::new();
    copied(&folder, "hazards/counter_release_cta.wlk");
    copied(&folder, "hazards/gemm_step7_no_proxy_fence.wlk");
    copied(&folder, "hazards/gemm_step7_read_wait.wlk");
    let shown = folder.run(&[
        "check",
        "counter_release_cta.wlk",
        "--property",
        "stale_read",
        "--witness",
        "w",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    counter_release_cta.wlk: stale_read: REFUTED at C = 2, N = 1: the read by consumer[0] at line 21 of out[0][0] comes after the write by producer[0] at line 13 and need not see it: line 14 releases ready[0] at `cta` scope, which does not contain consumer[0]; `gpu` scope would make it visible
        --> counter_release_cta.wlk:21
      21 |         read out[c, i]
      trace:
        1  producer[0]  adds 1: ready[0] 0 -> 1  (line 14)
        2  consumer[0]  passes ready[0] >= 1  (line 20)
      minimal: smallest by (C, N) among C in 2..=6, N in 1..=5; there are no smaller ones
      assumptions: C >= 2; N >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone; memory is causally ordered as in PTX, as far as docs/memory_model.md says
      witness: w/counter_release_cta-stale_read-[digest].json (replay it with: warplock replay w/counter_release_cta-stale_read-[digest].json)
      decided by runs with somebody held in [time]
    --- stderr
    ");
    let replayed = folder.run(&["replay", "-q", &folder.only("w")]);
    insta::assert_snapshot!(replayed, @"
    exit 0
    --- stdout
    w/counter_release_cta-stale_read-[digest].json: stale_read: REFUTED at C = 2, N = 1: the read by consumer[0] at line 21 of out[0][0] comes after the write by producer[0] at line 13 and need not see it: line 14 releases ready[0] at `cta` scope, which does not contain consumer[0]; `gpu` scope would make it visible
    --- stderr
    ");
    let shown = folder.run(&[
        "check",
        "-q",
        "gemm_step7_no_proxy_fence.wlk",
        "gemm_step7_read_wait.wlk",
        "--property",
        "stale_read",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    gemm_step7_no_proxy_fence.wlk: stale_read: REFUTED at S = 1, T = 1, TILES = 1, K = 1, BYTES = 1: the asynchronous read that write_back[0] starts at line 60 of staging[0] comes after the write by write_back[0] at line 56 and need not see it: the read goes through the async proxy, and no proxy fence stands on the way; a `fence.proxy.async` between line 56 and line 60 would make it visible
    gemm_step7_read_wait.wlk: stale_read: REFUTED at S = 1, T = 1, TILES = 1, K = 1, BYTES = 1: the read by next[0] at line 75 of out[0][0] comes after the asynchronous write that write_back[0] starts at line 60 and need not see it: the write may still be under way, since write_back[0] waits only until its source has been read; a `wait_group` without `read` would complete it
    --- stderr
    ");
    let shown = folder.run(&[
        "explore",
        "-q",
        "counter_release_cta.wlk",
        "--property",
        "stale_read",
        "--set",
        "C=2",
        "--set",
        "N=1",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    counter_release_cta.wlk: an input violates stale_read, 1 input and 4 states searched up to the first violation
      at C = 2, N = 1: the read by consumer[0] at line 21 of out[0][0] comes after the write by producer[0] at line 13 and need not see it: line 14 releases ready[0] at `cta` scope, which does not contain consumer[0]; `gpu` scope would make it visible
    --- stderr
    ");
}

#[test]
fn a_proof_of_races_says_what_it_lacks() {
    let folder = Folder::new();
    folder.file(
        "store.wlk",
        "protocol store

param N in 0..

mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
buffer smem
buffer out[N]

role load {
    var p = producer(1)
    repeat N {
        wait empty p.phase
        write smem
        arrive full
        advance p
    }
}

role store {
    var c = consumer(1)
    for i in 0..N {
        wait full c.phase
        async store reads smem writes out[i]
        commit_group
        wait_group min(i, 0) read
        arrive empty
        advance c
    }
}
",
    );
    let check = ["check", "-q", "store.wlk", "--property", "race"];
    let shown = folder.run(&[&check[..], &["--timeout", "5"]].concat());
    let (_, reason) = shown.split_once("no proof: ").unwrap();
    insta::assert_snapshot!(reason.lines().next().unwrap_or_default(), @"it could not be shown that `write smem` (line 14) of load and `async store reads smem writes out[i]` (line 24) of store are never under way at one element together (nothing ends `async store reads smem writes out[i]` (line 24) of store as far as this rule sees: it looks for a `commit` after it, under the same conditions and in the same iterations, or a `wait_group` that leaves as many groups in every iteration)");
}
