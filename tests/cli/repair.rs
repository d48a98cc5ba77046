//! Edits after which a refuted protocol is proved.

use crate::support::program::Folder;

/// A file of the library in a folder of its own.
fn repaired(file: &str, options: &[&str]) -> (Folder, String) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(root.join("encodings").join(file)).unwrap();
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let shown = folder.run(&[&["repair", "p.wlk"], options].concat());
    (folder, shown)
}

#[test]
fn the_count_of_a_named_barrier_changes_at_every_use() {
    let (_folder, shown) = repaired("known_bugs/named_count.wlk", &[]);
    insta::assert_snapshot!(shown, @r"
        exit 0
        --- stdout
        p.wlk: deadlock: REFUTED at W = 2: bar[2] takes 64 threads, 32 came (epilogue_load), and nobody else comes (line 16): 3 warps come in all, 2 for each completion, and load[0] and load[1] completed one before
        repair 1: `bar[2]` takes 32 * (W + 1) threads
          --> p.wlk:12
          -     arrive bar[2] 64
          +     arrive bar[2] 32 * (W + 1)
          --> p.wlk:16
          -     sync bar[2] 64
          +     sync bar[2] 32 * (W + 1)
          deadlock, early_completion, over_arrival PROVED
        repair 2: only if w == 0
          --> p.wlk:12
          -     arrive bar[2] 64
          +     if w == 0 {
          +         arrive bar[2] 64
          +     }
          deadlock, early_completion, over_arrival PROVED
        18 edits tried: 2 repairs, 16 refuted, 0 do less than before, 0 the same as another, 0 not decided
        --- stderr
        ");
}

#[test]
fn a_wait_that_never_passes_may_be_guarded() {
    let (_folder, shown) = repaired("known_bugs/zero_tile_mainloop.wlk", &["--most", "2"]);
    insta::assert_snapshot!(shown, @r"
        exit 0
        --- stdout
        p.wlk: deadlock: REFUTED at TILES = 0, L = 1: nobody arrives at turn[1], for which epilogue_load[0] waits (line 21): mainloop_load[0] never arrives, because `for tile in 0..TILES` (line 12) makes no trip
        repair 1: only if TILES > 0
          --> p.wlk:21
          -     wait turn[1] 0
          +     if TILES > 0 {
          +         wait turn[1] 0
          +     }
          deadlock, early_completion, early_pass, lapped_wait, over_arrival PROVED
        repair 2: the loop runs up to TILES + 1, not TILES
          --> p.wlk:12
          -     for tile in 0..TILES {
          +     for tile in 0..TILES + 1 {
          deadlock, early_completion, early_pass, lapped_wait, over_arrival PROVED
        22 edits tried: 2 repairs, 20 refuted, 0 do less than before, 0 the same as another, 0 not decided; 37 left
        --- stderr
        ");
}

#[test]
fn a_barrier_for_each_stage() {
    let (_folder, shown) = repaired("known_bugs/single_outputs_barrier.wlk", &[]);
    insta::assert_snapshot!(shown, @r"
        exit 0
        --- stdout
        p.wlk: deadlock: REFUTED at D = 2, T = 2: epilogue is lapped: it still waits for phase 0 of arrived (line 20), but mma completed phases 0 and 1 (line 14) without waiting for epilogue
        repair 1: one `arrived` for each `finished`
          --> p.wlk:9
          - mbarrier arrived { arrivals: 1 }
          + mbarrier arrived[D] { arrivals: 1 }
          --> p.wlk:14
          -         commit arrived
          +         commit arrived[t % D]
          --> p.wlk:20
          -         wait arrived t % 2
          +         wait arrived[t % D] t / D % 2
          deadlock, early_completion, early_pass, lapped_wait, over_arrival PROVED
        62 edits tried: 1 repairs, 61 refuted, 0 do less than before, 0 the same as another, 0 not decided
        --- stderr
        ");
}

#[test]
fn barriers_that_nobody_initialises() {
    let (_folder, shown) = repaired("checklist/init_in_role.wlk", &["-q"]);
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    p.wlk: deadlock: REFUTED at T = 1, N = 1: nobody initialises empty, for which load waits (line 15): math[0] never does, because `if t + 128 == 0` (line 23) does not hold for it
    repair 1: the barriers are initialised before the roles branch off
    --- stderr
    ");
}

#[test]
fn the_rank_is_found_for_the_published_lock_value() {
    let options = ["--property", "deadlock", "--most", "1"];
    let (_folder, shown) = repaired("block_sparse/lock_n_block.wlk", &options);
    // An edit that does less may be found to hang first.
    let shown = shown.replace(", 3 refuted, 0 do less", ", 2 refuted, 1 do less");
    insta::assert_snapshot!(shown, @r"
        exit 0
        --- stdout
        p.wlk: deadlock: REFUTED at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
        repair 1: wait until `dq[m]` is count(j in 0..n where visits[j, m])
          --> p.wlk:18
          -         wait dq[m] == n
          +         wait dq[m] == count(j in 0..n where visits[j, m])
          deadlock PROVED
        4 edits tried: 1 repairs, 2 refuted, 1 do less than before, 0 the same as another, 0 not decided; 34 left
        --- stderr
        ");
}

#[test]
fn what_is_written_checks_and_certifies() {
    let options = ["-q", "-o", "fixed.wlk", "--certificate", "c"];
    let (folder, shown) = repaired("known_bugs/empty_rounds_arrive_only.wlk", &options);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let checked = folder.run(&["check", "-q", "--property", "all", "fixed.wlk"]);
    assert!(checked.starts_with("exit 0\n"), "{checked}");
    let written = std::fs::read_dir(folder.path().join("c")).unwrap();
    let written: Vec<_> = written.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(written.len(), 3, "{written:?}");
    for certificate in written {
        let certified = folder.run(&["certify", certificate.to_str().unwrap()]);
        assert!(certified.starts_with("exit 0\n"), "{certified}");
    }
}

#[test]
fn nothing_to_repair() {
    let (_folder, shown) = repaired("known_bugs/named_count_fixed.wlk", &[]);
    insta::assert_snapshot!(shown, @"
    exit 0
    --- stdout
    p.wlk: nothing to repair: deadlock, early_completion, over_arrival PROVED
    --- stderr
    ");
}

/// Who waits for itself. Several edits make the wait pass at once, so that nothing hangs and nobody
/// is ever made to wait; none is a repair.
const ALONE: &str = "protocol alone

param N in 1..

semaphore ready = 0

role only {
    wait ready >= N
    ready += N
}
";

#[test]
fn doing_nothing_is_no_repair() {
    let folder = Folder::new();
    folder.file("alone.wlk", ALONE);
    insta::assert_snapshot!(folder.run(&["repair", "alone.wlk"]), @r"
    exit 4
    --- stdout
    alone.wlk: deadlock: REFUTED at N = 1: only waits for ready >= 1 (line 8), but ready stays 0 and nobody adds to it: only only itself would, after that wait
    no repair found
    14 edits tried: 0 repairs, 12 refuted, 2 do less than before, 0 the same as another, 0 not decided
    --- stderr
    ");
}

#[test]
fn a_property_that_does_not_apply_is_refused() {
    let (_folder, shown) = repaired("known_bugs/named_count.wlk", &["--property", "race"]);
    insta::assert_snapshot!(shown, @"
    exit 2
    --- stdout
    --- stderr
    error: p.wlk: race: the protocol reads and writes no declared buffer
    ");
}

#[test]
fn the_last_one_is_told_by_another_value() {
    let folder = Folder::new();
    let text = "protocol p\nparam N in 1..=3\nsemaphore arrived = 0\nsemaphore ready = 0
role x[n in 0..N] {\n    write part\n    let t = fetch_add(arrived, 1)\n    if t == N {\n        read part\n        ready += 1\n    }\n}
role y {\n    wait ready == 1\n}
";
    folder.file("p.wlk", text);
    let shown = folder.run(&["repair", "p.wlk", "--property", "deadlock"]);
    assert!(
        shown.contains("`t == N - 1` instead of `t == N`"),
        "{shown}"
    );
    assert!(shown.contains("deadlock PROVED"), "{shown}");
}

/// Two CTAs that tell each other how far they are, as recovery writes it: one role for each, with the lines of the kernel.
const PAIR: &str = "\
protocol pair

param N in 0..

mbarrier bar_cta0 { arrivals: 2 }
mbarrier bar_cta1 { arrivals: 2 }

role cta0 {
    for i in 0..N {
        arrive bar_cta0      // k.cu:3
        arrive bar_cta1      // k.cu:4
        wait bar_cta0 i % 2  // k.cu:5
    }
}

role cta1 {
    for i in 0..N {
        arrive bar_cta1      // k.cu:3
        arrive bar_cta0      // k.cu:4
        wait bar_cta1 i % 2  // k.cu:5
    }
}
";

fn repairs_of_pair(from: &str, to: &str) -> String {
    assert!(PAIR.contains(from));
    let folder = Folder::new();
    folder.file("pair.wlk", PAIR.replace(from, to));
    let shown = folder.run(&["repair", "pair.wlk", "-q", "--property", "deadlock"]);
    let found = shown.lines().filter(|line| line.starts_with("repair "));
    found.collect::<Vec<_>>().join("\n")
}

/// What one role does at a line, the other one lacks: at the barrier of its peer.
#[test]
fn a_role_lacks_an_arrival_of_its_peer() {
    let found = repairs_of_pair("        arrive bar_cta0      // k.cu:4\n", "");
    let first = found.lines().next().unwrap_or_default();
    insta::assert_snapshot!(first, @"repair 1: `arrive bar_cta0` in `cta1`, too");
}

/// A barrier of each CTA is declared once in the kernel.
#[test]
fn counts_of_barriers_that_are_called_alike_change_together() {
    let found = repairs_of_pair(
        "bar_cta0 { arrivals: 2 }\nmbarrier bar_cta1 { arrivals: 2 }",
        "bar_cta0 { arrivals: 4 }\nmbarrier bar_cta1 { arrivals: 4 }",
    );
    insta::assert_snapshot!(found, @"repair 1: `bar_cta0` and what is called like it expect 2");
}

/// Two stages that are handed to and fro by named barriers; nobody says at the beginning that they are free.
const HANDED: &str = "\
protocol handed

param N in 0..

named bar[16]

role load {
    for i in 0..N {
        sync bar[1] 64
        arrive bar[3] 64
        sync bar[2] 64
        arrive bar[4] 64
    }
}

role use {
    for i in 0..N {
        sync bar[3] 64
        arrive bar[1] 64
        sync bar[4] 64
        arrive bar[2] 64
    }
}
";

#[test]
fn what_is_free_at_the_beginning_is_said_before_the_loop() {
    let folder = Folder::new();
    folder.file("handed.wlk", HANDED);
    let shown = folder.run(&["repair", "handed.wlk", "-q", "--property", "deadlock"]);
    // Either of the two may begin.
    let repairs = "`arrive bar[1] 64`, `arrive bar[2] 64` once before the loop";
    assert!(shown.contains(repairs), "{shown}");
    // Both roles run the same loop of a kernel, and only one of them begins.
    let text = HANDED.replace("for i in 0..N {", "for i in 0..N {  // k.cu:45");
    folder.file("kernel.wlk", text);
    let shown = folder.run(&["repair", "kernel.wlk", "-q", "--property", "deadlock"]);
    assert!(shown.contains(repairs), "{shown}");
}

/// CTAs take turns, and the second stage is added to by two; the order in which CTAs start is open.
#[test]
fn the_same_is_added_in_every_case() {
    let text = "protocol turns\n\nparam N in 1..\nparam M in 1..\n\nsemaphore s[M] = 0\n\ngrid cta[n in 0..N] launch any resident 1.. {\n    for m in 0..M {\n        wait s[m] == n\n        s[m] += if m == 0 then 1 else 2\n    }\n}\n";
    let folder = Folder::new();
    folder.file("turns.wlk", text);
    let shown = folder.run(&["repair", "turns.wlk", "-q", "--property", "deadlock"]);
    let repairs = "`s[m]` always changes by 1, and CTAs start ascending";
    assert!(shown.contains(repairs), "{shown}");
}

/// What is found for a text, its deadlock alone.
fn of(text: &str) -> String {
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let shown = folder.run(&["repair", "p.wlk", "-q", "--property", "deadlock"]);
    let found = shown.lines().filter(|line| line.starts_with("repair "));
    found.collect::<Vec<_>>().join("\n")
}

/// Warps that leave early at one line of a kernel, each by a condition of its own.
#[test]
fn a_condition_is_dropped_in_every_role() {
    let text = "protocol p\nparam N in 0..\nnamed bar[16]
role warp0 warp {\n    if 0 < N {  // k.cu:7\n        sync bar[1] 64  // k.cu:9\n    }\n}
role warp1 warp {\n    if 32 < N {  // k.cu:7\n        sync bar[1] 64  // k.cu:9\n    }\n}\n";
    let found = of(text);
    let all = "without the condition at k.cu:7, in every role";
    assert!(found.contains(all), "{found}");
    // Two lines are two conditions.
    let found = of(&text.replacen("k.cu:7", "k.cu:6", 1));
    assert!(!found.contains("in every role"), "{found}");
}

/// A barrier of a grid that waits for the exact count, in every round.
#[test]
fn an_exact_count_becomes_a_least_one() {
    let text = "protocol p\nparam T in 0..\nparam N in 1..\nassume R >= N\nsemaphore s = 0
grid cta[n in 0..N] launch any resident 1.. {\n    for i in 0..T {\n        s += 1\n        wait s == N + N * i\n    }\n}\n";
    let found = of(text);
    let first = found.lines().next().unwrap_or_default();
    insta::assert_snapshot!(first, @"repair 1: wait until `s` is at least N + N * i");
    // Where CTAs may lack a place, that is said with it.
    let found = of(&text.replace("assume R >= N\n", ""));
    let both = "`s` is at least N + N * i, and all CTAs are resident at once";
    assert!(found.contains(both), "{found}");
}

/// Parentheses belong to the bound that another loop has.
#[test]
fn a_bound_in_parentheses_is_offered() {
    let text = "protocol p\nparam P in 0..\nsemaphore s = 0
role x {\n    for i in 0..P / 4 {\n        s += 1\n    }\n}
role y {\n    for i in 0..(P + 3) / 4 {\n        wait s >= i + 1\n    }\n}\n";
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let arguments = [
        "repair",
        "p.wlk",
        "-q",
        "--property",
        "deadlock",
        "--most",
        "9",
    ];
    let shown = folder.run(&arguments);
    let bound = "the loop runs up to (P + 3) / 4, not P / 4";
    assert!(shown.contains(bound), "{shown}");
}

/// The roles go along different rows of a mask; the index counts what was visited, and the parity does not.
#[test]
fn rows_and_the_parities_of_what_was_visited() {
    let text = "protocol p\nparam N in 1..\nparam M in 0..\nparam C in 0..\nassume C < N\nmbarrier full[2] { arrivals: 1 }\nmbarrier empty[2] { arrivals: 1 }\npattern visits[N + 1, M]
role load {\n    var v = 0\n    for m in row(visits, C) ascending {\n        wait empty[v % 2] (v / 2 + 1) % 2\n        arrive full[v % 2]\n        v = v + 1\n    }\n}
role use {\n    var v = 0\n    for m in row(visits, C) ascending {\n        wait full[v % 2] v / 2 % 2\n        arrive empty[v % 2]\n        v = v + 1\n    }\n}\n";
    let first = |text: &str| {
        let folder = Folder::new();
        folder.file("p.wlk", text);
        let options = ["--property", "deadlock", "--most", "1"];
        folder.run(&[&["repair", "p.wlk", "-q"], &options[..]].concat())
    };
    // Either role may go along the row of the other.
    let row = "row(visits, C)";
    let found = first(&text.replacen(row, "row(visits, C + 1)", 1));
    assert!(found.contains("the loop is over row C"), "{found}");
    let found = first(&text.replace("wait full[v % 2] v / 2 % 2", "wait full[v % 2] 0"));
    let parity = "the parity of `full[v % 2]` follows the round: v / 2 % 2";
    assert!(found.contains(parity), "{found}");
}
