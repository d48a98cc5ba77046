//! Hangs that were seen: `warplock hang KERNEL --from FILE`.

use crate::support::program::Folder;

/// A persistent GEMM on pairs of CTAs. Its producer waits only from the Q-th k-tile of each tile on, though
/// stages and parities go on from tile to tile.
const GEMM: &str = "\
protocol gemm_2cta

param T in 1..      // output tiles of a pair
param K in 1..      // k-tiles of a tile
param Q in 1..=8    // stages

mbarrier full[Q] { arrivals: 2 }
mbarrier empty[2, Q] { arrivals: 1 }
mbarrier done[2, 2] { arrivals: 1 }
mbarrier drained[2] { arrivals: 2 }

role load[cta in 0..2] {
    for tile in 0..T {
        for k in 0..K {
            var it = tile * K + k
            if GUARD >= Q {
                wait empty[cta, it % Q] max(it - Q, 0) / Q % 2  // gemm.cu:430
            }
            arrive full[it % Q]
        }
    }
}

role mma {
    for tile in 0..T {
        wait drained[tile % 2] (tile / 2 + 1) % 2  // gemm.cu:466
        for k in 0..K {
            var it = tile * K + k
            wait full[it % Q] it / Q % 2  // gemm.cu:483
            arrive empty[0, it % Q]
            arrive empty[1, it % Q]
        }
        arrive done[0, tile % 2]
        arrive done[1, tile % 2]
    }
}

role epilogue[cta in 0..2] {
    for tile in 0..T {
        wait done[cta, tile % 2] tile / 2 % 2  // gemm.cu:538
        arrive drained[tile % 2]
    }
}
";

/// What cuda-gdb shows of it, after the one that hangs: threads of the epilogue, of mma and of load.
const SHOWN: &str = "\
Thread 1 \"python\" received signal SIGINT, Interrupt.
[Switching focus to CUDA kernel 0, grid 4, cluster (0,0,0), cluster dim (2,1,1), block (0,0,0), thread (0,0,0), device 0, sm 142, warp 1, lane 0]
0x00007ffe439bac10 in mbarrier_try_wait_parity (mbar_addr=197728, parity=0)
    at /home/me/gemm/gemm.cu:134
134             : \"r\"(mbar_addr), \"r\"(parity) // inputs
(cuda-gdb) up
#1  mbarrier_wait_parity<<<(148,1,1),(192,1,1)>>> (mbar_addr=197728, parity=0)
    at /home/me/gemm/gemm.cu:141
(cuda-gdb) up
#2  gemm_2cta<6, 128><<<(148,1,1),(192,1,1)>>> (a_map=<error reading variable>, K=4096)
    at /home/me/gemm/gemm.cu:538
(cuda-gdb) cuda thread (160,0,0)
[Switching focus to CUDA kernel 0, grid 4, cluster (0,0,0), cluster dim (2,1,1), block (0,0,0), thread (160,0,0), device 0, sm 142, warp 6, lane 0]
0x00007ffe439b70e0      134             : \"r\"(mbar_addr), \"r\"(parity) // inputs
#1  mbarrier_wait_parity<<<(148,1,1),(192,1,1)>>> (mbar_addr=197672, parity=1)
    at /home/me/gemm/gemm.cu:141
#2  gemm_2cta<6, 128><<<(148,1,1),(192,1,1)>>> (a_map=<error reading variable>, K=4096)
    at /home/me/gemm/gemm.cu:483
(cuda-gdb) cuda thread (128,0,0)
[Switching focus to CUDA kernel 0, grid 4, cluster (0,0,0), cluster dim (2,1,1), block (0,0,0), thread (128,0,0), device 0, sm 142, warp 5, lane 0]
0x00007ffe439b4a30      137       return static_cast<bool>(wait_complete);
#1  mbarrier_wait_parity<<<(148,1,1),(192,1,1)>>> (mbar_addr=197720, parity=1)
    at /home/me/gemm/gemm.cu:141
#2  gemm_2cta<6, 128><<<(148,1,1),(192,1,1)>>> (a_map=<error reading variable>, K=4096)
    at /home/me/gemm/gemm.cu:430
";

fn hang(guard: &str, shown: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("gemm.wlk", GEMM.replace("GUARD", guard));
    folder.file("seen.txt", shown);
    folder.run(&[&["hang", "gemm.wlk", "--from", "seen.txt"], options].concat())
}

#[test]
fn the_published_hunt_from_its_printed_lines() {
    insta::assert_snapshot!(hang("k", SHOWN, &[]), @r"
    exit 1
    --- stdout
    gemm.wlk: hang: REACHED at T = 2, K = 3, Q = 1: load[1] is lapped: it still waits for phase 1 of empty[1][0] (line 17), but mma completed phases 1 and 2 (line 31) without waiting for load[1]
        --> gemm.wlk:17
      17 |                 wait empty[cta, it % Q] max(it - Q, 0) / Q % 2  // gemm.cu:430
      seen:
        thread (0,0,0) of block (0,0,0) at gemm.cu:538, barrier 0x30460, parity 0: epilogue[0] waits for done[0][1] parity 0, found phase 0, 1 pending; epilogue[1] waits for done[1][1] parity 0, found phase 0, 1 pending
        thread (160,0,0) of block (0,0,0) at gemm.cu:483, barrier 0x30428, parity 1: mma waits for full[0] parity 1, found phase 1, 2 pending
        thread (128,0,0) of block (0,0,0) at gemm.cu:430, barrier 0x30458, parity 1: load[0] waits for empty[0][0] parity 1, found phase 1, 1 pending; load[1] waits for empty[1][0] parity 1, found phase 1, 1 pending
      who waits for whom:
        load[0] (line 17) for mma to arrive at empty[0][0]
        mma (line 29) for load[1] to arrive at full[0]
        load[1] (line 17) for empty[1][0] to leave phase 1
      trace:
        ... 15 earlier steps (-v shows them)
        16  mma          arrives at empty[1][0]: phase 0, 1 pending  (line 31)
        17  mma          passes full[0], which has left phase 0  (line 29)
        18  mma          arrives at empty[0][0]: phase 1, 1 pending  (line 30)
        19  mma          arrives at empty[1][0]: phase 1, 1 pending  (line 31)
        20  mma          arrives at done[0][0]: phase 1, 1 pending  (line 33)
        21  mma          arrives at done[1][0]: phase 1, 1 pending  (line 34)
        22  mma          passes drained[1], which has left phase 1  (line 26)
        23  epilogue[0]  passes done[0][0], which has left phase 0  (line 40)
        24  epilogue[0]  arrives at drained[0]: phase 0, 1 pending  (line 41)
        25  epilogue[1]  passes done[1][0], which has left phase 0  (line 40)
        26  epilogue[1]  arrives at drained[0]: phase 1, 2 pending  (line 41)
      search: parameters are tried from their least values on; none was found for T in 1..=2, K in 1..=2, Q in 1..=2
    --- stderr
    ");
}

#[test]
fn lines_without_threads_will_do() {
    let lines = "\
mbarrier_wait (mbar_addr=197720, parity=1) at gemm.cu:430
mbarrier_wait (mbar_addr=197672, parity=1) at gemm.cu:483
";
    let shown = hang("k", lines, &["-q"]);
    insta::assert_snapshot!(shown, @r"
    exit 1
    --- stdout
    gemm.wlk: hang: REACHED at T = 2, K = 3, Q = 1: load[1] is lapped: it still waits for phase 1 of empty[1][0] (line 17), but mma completed phases 1 and 2 (line 31) without waiting for load[1]
    --- stderr
    ");
}

/// What is pasted is cut off anywhere, quoted, coloured, or has a log's prefix before each line.
#[test]
fn odd_copies_of_the_lines_will_do() {
    let each = |edit: &dyn Fn(&str) -> String| {
        let lines: Vec<String> = SHOWN.lines().map(edit).collect();
        lines.join("\n")
    };
    let half = SHOWN.len() / 2;
    for shown in [
        SHOWN[..half / 2].to_owned(),
        SHOWN[..half + half / 2].to_owned(),
        each(&|line| format!("> {line}\r")),
        each(&|line| format!("\x1b[35m{line}\x1b[m")),
        each(&|line| format!("2026-11-27T02:00:00 [rank0] {line}")),
    ] {
        let found = hang("k", &shown, &["-q"]);
        let reached = "exit 1\n--- stdout\ngemm.wlk: hang: REACHED at T = 2, ";
        assert!(found.starts_with(reached), "{shown}\n{found}");
    }
    // Not even the first line is whole.
    let found = hang("k", &SHOWN[..80], &["-q"]);
    assert!(found.starts_with("exit 2\n"), "{found}");
}

#[test]
fn every_run_was_explored() {
    // All producers wait for one parity of one barrier, and mma has passed all its waits: no run does that.
    let nobody = "drained[0] = 0xffff7800001ffffc\nepilogue at gemm.cu:538\n";
    let fixed = ["--set", "T=1", "--set", "K=2", "--set", "Q=1", "-q"];
    insta::assert_snapshot!(hang("k", nobody, &fixed), @r"
    exit 0
    --- stdout
    gemm.wlk: hang: EXCLUDED no run leads there: every schedule of every input was explored
    --- stderr
    ");
}

#[test]
fn a_word_of_an_unknown_barrier_is_not_passed_over_in_silence() {
    let words =
        "drianed[0] = 0x7ffff800001ffffe\nfull[0] = 0x7ffff800001ffffe\nepilogue at gemm.cu:538\n";
    let fixed = ["--set", "T=1", "--set", "K=2", "--set", "Q=1"];
    let shown = hang("k", words, &fixed);
    let note = "the word of drianed[0] is not used: the protocol has no mbarrier of that name, and nobody who was seen waits there; its mbarriers are full, empty, done, drained";
    assert!(shown.contains(note), "{shown}");
}

#[test]
fn what_is_not_found_is_not_excluded() {
    // Parity 1 there is that of the third tile, and there are two.
    let other = "warp,parity,line\n0,1,538\n1,0,430\n";
    let fixed = ["--set", "T=2", "--set", "Q=1", "--assume", "K <= 3"];
    insta::assert_snapshot!(hang("k", other, &fixed), @r"
    exit 3
    --- stdout
    gemm.wlk: hang: NOT FOUND no run that leads there was found for T = 2, K in 1..=13, Q = 1
      seen:
        warp 0 at line 538, parity 1: waits there
        warp 1 at line 430, parity 0: waits there
      notes:
        this is no proof: larger values were not tried, and not every schedule; --set P=V searches at the values of the launch, --timeout searches further
        the kernel hangs in another state: at T = 2, K = 1, Q = 1: mma is lapped: it still waits for phase 0 of full[0] (line 29), but load[0] and load[1] completed phases 0 and 1 (line 19) without waiting for mma
    --- stderr
    ");
}

#[test]
fn lines_of_another_kernel() {
    insta::assert_snapshot!(hang("k", "warp line\n0 99\n", &[]), @r"
    exit 4
    --- stdout
    gemm.wlk: hang: UNKNOWN what was seen is at no line at which this kernel waits
      seen:
        warp 0 at line 99: no line of this kernel
      notes:
        this kernel waits at gemm.cu:430, gemm.cu:466, gemm.cu:483 and gemm.cu:538
    --- stderr
    ");
}

/// A parity beside the line makes no wait of it: line 7 declares the barrier, and line 12 waits.
#[test]
fn lines_at_which_nobody_waits_for_a_parity() {
    let ring = "protocol ring\n\nparam S in 1..=4\nparam N in 0..\n\n\
        mbarrier full[S] { arrivals: 1 }\nmbarrier empty[S] { arrivals: 1 }\n\n\
        role load {\n    var p = producer(S)\n    for k in 0..N {\n        wait empty[p.index] p.phase\n        \
        arrive full[p.index]\n        advance p\n    }\n}\n\n\
        role math {\n    var c = consumer(S)\n    for k in 0..N {\n        wait full[c.index] c.phase\n        \
        arrive empty[c.index]\n        advance c\n    }\n}\n";
    let said = |line: u32| {
        let folder = Folder::new();
        folder.file("ring.wlk", ring);
        folder.file("seen.txt", format!("warp line parity\n0 {line} 0\n"));
        folder.run(&["hang", "ring.wlk", "--from", "seen.txt"])
    };
    let declared = said(7);
    assert!(declared.starts_with("exit 4\n"), "{declared}");
    assert!(
        declared.contains("line 7, parity 0: no line of this kernel"),
        "{declared}"
    );
    let waits = said(12);
    assert!(waits.contains("line 12, parity 0: waits there"), "{waits}");
}

#[test]
fn nothing_that_is_understood() {
    insta::assert_snapshot!(hang("k", "the kernel hangs, please help\n", &[]), @r"
    exit 2
    --- stdout
    --- stderr
    error: seen.txt says nothing that is understood
    hint: expected what cuda-gdb prints (the line of the focus and `bt`, `info cuda threads`, `info cuda warps`, `x/gx`), or a table whose header names block, warp and line
    ");
}

/// What is seen of a ring of `tests/ptx/kernels`, cut off in the middle of a line.
const RING: &str = include_str!("../data/hang/ring.txt");

fn ring(kernel: &str, edit: (&str, &str)) -> String {
    let folder = Folder::new();
    folder.kernel("ring.ptx");
    folder.file(
        "seen.txt",
        RING.replace("ring_producer_starts_at_phase_0", kernel)
            .replacen(edit.0, edit.1, 1),
    );
    folder.run(&["hang", "ring.ptx", "--from", "seen.txt"])
}

#[test]
fn the_entry_and_the_threads_come_from_the_backtrace() {
    let shown = ring("ring_producer_starts_at_phase_0", ("#0", "#0"));
    insta::assert_snapshot!(shown, @r"
    exit 1
    --- stdout
    ring.ptx: hang: REACHED at param_2 = 1: warp0 and warps1_3[0] wait for each other: warp0 (ring.cu:25, line 1423) for warps1_3[0] to arrive at empty_bar[0], warps1_3[0] (ring.cu:37, line 1250) for warp0 to arrive at full_bar[0]: no barrier here has ever completed, so one of these first waits has to be for parity 1
          --> ring.cu:25, ring.ptx:1423
      1423 | mbarrier.try_wait.parity.shared.b64 done, [%r93], %r131;
      seen:
        thread (0,0,0) of block (0,0,0) at ring.cu:25, parity 0: warp0 waits for empty_bar[0] parity 0, found phase 0, 3 pending
        thread (0,0,0) of block (0,0,0) and 31 more at ring.cu:25: warp0 waits for empty_bar[0] parity 0, found phase 0, 3 pending
        thread (32,0,0) of block (0,0,0) and 95 more at ring.cu:37: warps1_3[0] waits for full_bar[0] parity 0, found phase 0, 1 pending
      notes:
        lines of the trace are those of the protocol that `warplock lift` prints
      who waits for whom:
        warp0 (ring.cu:25, line 1423) for warps1_3[0] to arrive at empty_bar[0]
        warps1_3[0] (ring.cu:37, line 1250) for warp0 to arrive at full_bar[0]
      trace:
          1  warp0           comes to cta_bar[0]: 32 threads: warp0  (ring.cu:57)
        2-4  warps1_3[0..3]  comes to cta_bar[0] as the last of 128 threads  (ring.cu:57)
      search: parameters are tried from their least values on; none was found for param_2 = 0
    --- stderr
    ");
}

#[test]
fn a_kernel_that_never_hangs_is_acquitted() {
    insta::assert_snapshot!(ring("ring_of_4", ("#0", "#0")), @"
    exit 0
    --- stdout
    ring.ptx: hang: EXCLUDED no run of this kernel gets stuck: freedom from deadlock is proved for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
      seen:
        thread (0,0,0) of block (0,0,0) at ring.cu:25, parity 0: waits there
        thread (0,0,0) of block (0,0,0) and 31 more at ring.cu:25: waits there
        thread (32,0,0) of block (0,0,0) and 95 more at ring.cu:37: waits there
      notes:
        the cause lies elsewhere: a launch that does not meet the assumptions, a memory fault, another kernel or the host that this one waits for, or a build of another source
      assumptions:
        0 <= param_2 <= 1073741823
        lanes of a warp that diverge reconverge where their paths meet
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
    --- stderr
    ");
}

#[test]
fn a_warp_is_only_where_its_role_is() {
    // The producer's thread at a line of the consumers.
    let shown = ring(
        "ring_producer_starts_at_phase_0",
        ("(32,0,0)     (0,0,0)", "(0,0,0)     (0,0,0)"),
    );
    assert!(shown.starts_with("exit 3\n"), "{shown}");
    assert!(shown.contains("NOT FOUND"), "{shown}");
}

#[test]
fn json_has_the_schedule() {
    let folder = Folder::new();
    folder.file("gemm.wlk", GEMM.replace("GUARD", "k"));
    folder.file("seen.txt", SHOWN);
    let arguments = ["hang", "gemm.wlk", "--from", "seen.txt", "--format", "json"];
    let output = folder.output(&arguments, b"");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &document["results"][0];
    assert_eq!(result["outcome"], "reached");
    assert_eq!(result["seen"].as_array().unwrap().len(), 3);
    let trace = &result["finding"]["counterexample"]["trace"];
    assert_eq!(trace.as_array().unwrap().len(), 26);
}

/// What seems to be about a barrier and is not understood is named, with its line in its own file.
#[test]
fn lines_about_barriers_that_are_not_understood_are_named() {
    let folder = Folder::new();
    folder.file("gemm.wlk", GEMM.replace("GUARD", "k"));
    folder.file("shown.txt", SHOWN);
    folder.file(
        "words.txt",
        "x = 5\nfull[0] = 0x0000000000000000\nempty: 7\n",
    );
    let arguments = [
        "hang",
        "gemm.wlk",
        "--from",
        "shown.txt",
        "--from",
        "words.txt",
        "-q",
    ];
    let output = folder.output(&arguments, b"");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let output = folder.output(&arguments[..6], b"");
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r"
    note: words.txt:2: not used: `full[0] = 0x0000000000000000`: no mbarrier that was initialised has this value
    note: words.txt:3: not used: `empty: 7`: a barrier is read as 64 bits: 0x and 13 to 16 digits
    ");
}
