//! `warplock check` where there are as many threads as in a real kernel: counterexamples are found,
//! and told, as if there were few.

use crate::support::program::Folder;

/// A folder with one protocol of the library.
fn with(name: &str, content: &str) -> Folder {
    let folder = Folder::new();
    folder.file(name, content);
    folder
}

#[test]
fn a_hang_of_many_threads_reads_like_one_of_two() {
    let protocol = include_str!("../../encodings/mbarrier/jacobi_fixed_phase.wlk");
    let folder = with("jacobi_fixed_phase.wlk", protocol);
    let args = ["check", "jacobi_fixed_phase.wlk", "--assume", "T >= 80"];
    // How many smaller ones were tried exhaustively is a matter of time.
    let shown = folder.run(&args);
    let minimal = shown
        .lines()
        .find(|line| line.contains("minimal: smallest"));
    let shown = shown.replace(minimal.unwrap(), "  minimal: [how]");
    insta::assert_snapshot!(shown, @r"
        exit 1
        --- stdout
        jacobi_fixed_phase.wlk: deadlock: REFUTED at T = 80, N = 2: thread[0][0] waits for bar[0] with parity 0 twice in a row (line 14), and bar[0] has completed 2 times by then, so this wait needs another completion: thread[0][1..80] and thread[1][0..80] arrive 2 times each and not again
            --> jacobi_fixed_phase.wlk:14
          14 |         wait bar[cta] 0
          element  start  now                   waited for                                                    changed by                                   completes
          bar[0]   -      phase 0, 160 pending  thread[0][0..80] parity 0 (never), thread[0][0..80] parity 0  thread[0][0..80], thread[1][0..80] arrive 1  no
          blocked: thread[0][0..80] at line 14: bar[0] parity 0, found phase 0, 160 pending: thread[0][1..80] and thread[1][0..80] arrive 2 times each and not again
          trace:
               1-80  thread[0][0..80]  arrives at bar[0]: phase 0, 80 pending  (line 12)
             81-160  thread[0][0..80]  arrives at bar[1]: phase 0, 80 pending  (line 13)
            161-240  thread[1][0..80]  arrives at bar[1]: phase 1, 160 pending  (line 12)
            241-320  thread[1][0..80]  arrives at bar[0]: phase 1, 160 pending  (line 13)
            321-400  thread[1][0..80]  passes bar[1], which has left phase 0  (line 14)
            401-480  thread[1][0..80]  arrives at bar[1]: phase 1, 80 pending  (line 12)
            481-560  thread[1][0..80]  arrives at bar[0]: phase 1, 80 pending  (line 13)
            561-640  thread[1][0..80]  passes bar[1], which has left phase 0  (line 14)
            641-720  thread[0][0..80]  passes bar[0], which has left phase 0  (line 14)
            721-800  thread[0][0..80]  arrives at bar[0]: phase 0, 160 pending  (line 12)
            801-880  thread[0][0..80]  arrives at bar[1]: phase 0, 160 pending  (line 13)
          minimal: [how]
          assumptions: T >= 1; N >= 0; T >= 80; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
          decided by accelerated search of the counter system in [time]
        --- stderr
        ");
}

#[test]
fn a_grid_of_many_ctas_that_does_not_fit() {
    let protocol = include_str!("../../encodings/counter/grid_barrier.wlk");
    let folder = with("grid_barrier.wlk", protocol);
    let args = [
        "check",
        "grid_barrier.wlk",
        "--assume",
        "G >= 500 && R >= 300",
    ];
    // How many smaller values are proved to have no hang, and not only tried, depends on the time there is.
    let shown = folder.run(&args);
    let lines = shown
        .lines()
        .map(|line| match line.split_once("minimal: ") {
            Some((indent, _)) => format!("{indent}minimal: [how]"),
            None => line.to_owned(),
        });
    let shown = lines.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    grid_barrier.wlk: deadlock: REFUTED at G = 500, I = 1, R = 300: cta[0] waits for arrived >= 500 (line 13), which needs cta[300]; that cannot start, because every resident slot is taken
        --> grid_barrier.wlk:13
      13 |         wait arrived >= G * (i + 1)
      element  start  now  waited for                  changed by                                  completes
      arrived  0      300  cta[0..500] >= 500 (never)  cta[300..500] + 1 (never), cta[0..300] + 1  no
      blocked: cta[0..300] at line 13: arrived >= 500, found 300: cta[300], which would add to arrived, is stuck itself
      never started: cta[300..500]
      trace:
          1-300  cta[0..300]  starts
        301-600  cta[0..300]  adds 1: arrived 299 -> 300  (line 12)
      minimal: [how]
      assumptions: G >= 1; I >= 0; R >= 1; G >= 500 && R >= 300; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by accelerated search of the counter system in [time]
    --- stderr
    ");
}

#[test]
fn a_race_among_many_threads() {
    let protocol = include_str!("../../encodings/hazards/jacobi_halo.wlk");
    let folder = with("jacobi_halo.wlk", protocol);
    let args = [
        "check",
        "jacobi_halo.wlk",
        "--property",
        "race",
        "-q",
        "--assume",
        "T >= 80",
    ];
    insta::assert_snapshot!(folder.run(&args), @"
    exit 1
    --- stdout
    jacobi_halo.wlk: race: REFUTED at T = 80, N = 2: halo[0][0][0]: the write by thread[1][0] at line 17 and the read by thread[0][79] at line 20 are not ordered: an arrival of thread[1][0] after line 17 that thread[0][79] waits for before line 20 would order them
    --- stderr
    ");
}

#[test]
fn one_tile_of_a_large_pattern() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    let args = [
        "repro",
        "-q",
        "lock_n_block.wlk",
        "--set",
        "N=24",
        "--set",
        "M=24",
    ];
    insta::assert_snapshot!(folder.run(&args), @"
    exit 1
    --- stdout
    lock_n_block.wlk: deadlock: REFUTED: hangs at M = 24, N = 24, R = 1, one tile visited: cta[1] waits for dq[0] == 1 (now: 0)
    --- stderr
    ");
}
