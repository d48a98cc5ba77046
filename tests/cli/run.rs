//! `replay`, `simulate`, `explore` and `fmt`.

use std::fs;

use crate::support::program::Folder;
use crate::support::program::library;

fn with_witness() -> (Folder, String) {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    folder.output(&["check", "lock_n_block.wlk", "--witness", "w"], b"");
    let witness = folder.only("w");
    (folder, witness)
}

#[test]
fn a_witness_replays() {
    let (folder, witness) = with_witness();
    insta::assert_snapshot!(folder.run(&["replay", &witness]), @"
    exit 0
    --- stdout
    w/lock_n_block-deadlock-[digest].json: deadlock: REFUTED at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
        --> the protocol in w/lock_n_block-deadlock-[digest].json:18
      18 |         wait dq[m] == n
      visits (rows: first index, # visited):
          0
        0 .
        1 #
      element  start  now  waited for           changed by          completes
      dq[0]    0      0    cta[1] == 1 (never)  cta[1] + 1 (never)  no
      trace:
        1  cta[0]  starts and has nothing to do
        2  cta[1]  starts
    --- stderr
    ");
}

#[test]
fn a_changed_witness_does_not_replay() {
    let (folder, witness) = with_witness();
    let good = fs::read_to_string(folder.path().join(&witness)).unwrap();
    let replay = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        folder.file("changed.json", changed);
        folder.run(&["replay", "changed.json"])
    };
    insta::assert_snapshot!(replay("\"N\": 2", "\"N\": 1"), @r#"
    exit 101
    --- stdout
    --- stderr
    error: failed to replay: pattern `visits` has no entry [1, 0]: outside its extents
    "#);
    insta::assert_snapshot!(replay("\"value\": \"0\"", "\"value\": \"7\""), @r#"
    exit 101
    --- stdout
    --- stderr
    error: failed to replay: the members do not wait for what the witness says they wait for
    "#);
    insta::assert_snapshot!(replay("wait dq[m] == n", "wait dq[m] >= n"), @r#"
    exit 101
    --- stdout
    --- stderr
    error: failed to replay: the digest 81041b3905d8ce87e24fbb4c97147ddf4547cc72ae7b7153997a295596f2528e is not that of the embedded text, which is 9f0963e6aad178e3eb0735227364d858f5cb6e7cd4bdc6db0094761863ef913f
    "#);
    let shown = replay("{", "[");
    assert!(shown.starts_with("exit 2\n"), "{shown}");
    let shown = folder.run(&["replay", "missing.json"]);
    assert!(shown.starts_with("exit 2\n"), "{shown}");
}

#[test]
fn a_simulation_hangs_or_finishes() {
    let (folder, witness) = with_witness();
    folder.library("dense.wlk");
    folder.file("pattern.json", "{\"visits\": [[0, 0], [1, 0]]}");
    let values = ["--set", "N=2", "--set", "M=1", "--set", "R=1"];
    let simulate = |more: &[&str]| {
        let mut arguments = vec!["simulate"];
        arguments.extend(more);
        arguments.extend(values);
        folder.run(&arguments)
    };
    let good = ["lock_n_block.wlk", "--pattern", "pattern.json"];
    insta::assert_snapshot!(simulate(&good), @r#"
    exit 0
    --- stdout
    lock_n_block.wlk at N = 2, M = 1, R = 1, visits = {(0, 0), (1, 0)}: finishes after 6 steps
      visits (rows: first index, # visited):
          0
        0 #
        1 #
      element  start  now  waited for                changed by              completes
      dq[0]    0      2    cta[0] == 0, cta[1] == 1  cta[0] + 1, cta[1] + 1  yes
      trace:
        1  cta[0]  starts
        2  cta[0]  passes dq[0] == 0  (line 18)
        3  cta[0]  adds 1: dq[0] 0 -> 1  (line 20)
        4  cta[1]  starts
        5  cta[1]  passes dq[0] == 1  (line 18)
        6  cta[1]  adds 1: dq[0] 1 -> 2  (line 20)
    --- stderr
    "#);
    let replayed = [
        "-q",
        "lock_n_block.wlk",
        "--pattern",
        &witness,
        "--schedule",
        &witness,
    ];
    insta::assert_snapshot!(simulate(&replayed), @"
    exit 1
    --- stdout
    lock_n_block.wlk at N = 2, M = 1, R = 1, visits = {(1, 0)}: hangs after 2 steps: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    --- stderr
    ");
    insta::assert_snapshot!(simulate(&["-q", "dense.wlk", "--steps", "3"]), @r#"
    exit 3
    --- stdout
    dense.wlk at N = 2, M = 1, R = 1: stopped after 3 steps, the most allowed
    --- stderr
    "#);
    insta::assert_snapshot!(simulate(&["lock_n_block.wlk"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: lock_n_block.wlk: no entries for visits
    hint: give --pattern FILE with JSON such as {"visits": [[0, 0]]}
    "#);
    insta::assert_snapshot!(folder.run(&["simulate", "dense.wlk", "--set", "M=1"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: dense.wlk: no value for N, R
    hint: add --set N=... --set R=...
    "#);
    let seeded = |seed| {
        folder.run(&[
            "simulate",
            "dense.wlk",
            "--set",
            "N=4",
            "--set",
            "M=3",
            "--set",
            "R=3",
            "--seed",
            seed,
        ])
    };
    assert_eq!(seeded("5"), seeded("5"));
    assert_ne!(seeded("5"), seeded("6"));
}

#[test]
fn a_simulation_can_be_led_by_hand() {
    let folder = Folder::new();
    folder.file(
        "barrier.wlk",
        "protocol barrier
param T in 1..
mbarrier full { arrivals: T }
role producer {
    arrive full
}
role consumer {
    wait full 0
}
",
    );
    let led = |threads: &str, more: &[&str], choices: &str| {
        let threads = format!("T={threads}");
        let mut arguments = vec!["simulate", "-i", "barrier.wlk", "--set", &threads];
        arguments.extend(more);
        folder.run_with(&arguments, choices.as_bytes())
    };
    insta::assert_snapshot!(led("1", &[], "b\n7\nnonsense\n\n0\n"), @r"
        exit 0
        --- stdout
          0  producer  arrives at full: phase 1, 1 pending  (line 5)
        consumer is blocked at line 8: full parity 0, found phase 0, 1 pending
        a number from 0 to 0, nothing for 0, b for who is blocked, or q to end
        a number from 0 to 0, nothing for 0, b for who is blocked, or q to end
        1: producer arrives at full: phase 1, 1 pending
          0  consumer  passes full, which has left phase 0  (line 8)
        2: consumer passes full, which has left phase 0
        barrier.wlk at T = 1: finishes after 2 steps
          element  start  now                 waited for         changed by         completes
          full     -      phase 1, 1 pending  consumer parity 0  producer arrive 1  yes
          trace:
            1  producer  arrives at full: phase 1, 1 pending  (line 5)
            2  consumer  passes full, which has left phase 0  (line 8)
        --- stderr
        ");
    insta::assert_snapshot!(led("2", &[], "\n"), @r"
        exit 1
        --- stdout
          0  producer  arrives at full: phase 0, 1 pending  (line 5)
        1: producer arrives at full: phase 0, 1 pending
        barrier.wlk at T = 2: hangs after 1 step: full takes 2 arrivals, 1 came (producer), and consumer waits for the rest (line 8): no more than 1 arrival comes in a phase
           --> barrier.wlk:8
          8 |     wait full 0
          element  start  now                 waited for                 changed by         completes
          full     -      phase 0, 1 pending  consumer parity 0 (never)  producer arrive 1  no
          trace: 1  producer  arrives at full: phase 0, 1 pending  (line 5)
        --- stderr
        ");
    // The end of the input and q end the run alike.
    insta::assert_snapshot!(led("1", &["-q"], ""), @"
    exit 3
    --- stdout
    barrier.wlk at T = 1: the schedule ends after 0 steps
    --- stderr
    ");
    assert_eq!(led("1", &["-q"], ""), led("1", &["-q"], "q\n0\n0\n"));
    insta::assert_snapshot!(led("1", &["--seed", "1"], ""), @"
    exit 2
    --- stdout
    --- stderr
    error: the argument '--interactive' cannot be used with '--seed <N>'

    Usage: warplock simulate --interactive --set <P=V> <FILE>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(folder.run_with(&["simulate", "-i", "-"], b"protocol p"), @"
    exit 2
    --- stdout
    --- stderr
    error: --interactive reads what happens next from standard input
    hint: name a protocol file
    ");
}

#[test]
fn a_member_can_be_held() {
    let folder = Folder::new();
    folder.file(
        "leader.wlk",
        "protocol leader
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role producer {
    for i in 0..2 {
        wait empty i % 2 ^ 1
        arrive full
    }
}
role consumer[w in 0..2] {
    for i in 0..2 {
        wait full i % 2
        if w == 0 {
            arrive empty
        }
    }
}
",
    );
    let hold = |what: &str| folder.run(&["simulate", "-q", "leader.wlk", "--hold", what]);
    insta::assert_snapshot!(hold("consumer[1]@0"), @"
    exit 1
    --- stdout
    leader.wlk: hangs after 8 steps: consumer[1] is lapped: it still waits for phase 0 of full (line 12), but producer completed phases 0 and 1 (line 7) without waiting for consumer[1]
    --- stderr
    ");
    insta::assert_snapshot!(hold("producer@2"), @"
    exit 0
    --- stdout
    leader.wlk: finishes after 10 steps
    --- stderr
    ");
    insta::assert_snapshot!(hold("consumer[1]@2"), @"
    exit 2
    --- stdout
    --- stderr
    error: --hold: consumer[1] has 2 operations
    hint: they are counted from 0
    ");
    insta::assert_snapshot!(hold("consumer[2]@0"), @"
    exit 2
    --- stdout
    --- stderr
    error: --hold: no member `consumer[2]` at these values
    ");
    insta::assert_snapshot!(hold("consumer"), @"
    exit 2
    --- stdout
    --- stderr
    error: --hold: `consumer` names no operation of a member
    hint: expected something like consumer[1]@3
    ");
}

#[test]
fn an_exploration_counts() {
    let folder = Folder::new();
    folder.library("lock_rank.wlk");
    folder.library("lock_n_block.wlk");
    let at = ["--set", "N=3", "--set", "M=2", "--set", "R=2"];
    let explore = |file: &str, more: &[&str]| {
        let mut arguments = vec!["explore", "-q", file];
        arguments.extend(more);
        arguments.extend(at);
        folder.run(&arguments)
    };
    insta::assert_snapshot!(explore("lock_rank.wlk", &[]), @r#"
    exit 0
    --- stdout
    lock_rank.wlk: nothing hangs, 125 inputs and 2484 states searched completely
    --- stderr
    "#);
    insta::assert_snapshot!(explore("lock_rank.wlk", &["--max-states", "100"]), @r#"
    exit 3
    --- stdout
    lock_rank.wlk: nothing hangs, 11 inputs and 102 states searched up to the limit on states
    --- stderr
    "#);
    insta::assert_snapshot!(explore("lock_n_block.wlk", &["--all"]), @"
    exit 1
    --- stdout
    lock_n_block.wlk: 88 inputs hang, 125 inputs and 1708 states searched completely
      at N = 3, M = 2, R = 2, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] and cta[2] never add to it, because `for m in row(visits, n)` (line 17) makes no trip
    --- stderr
    ");
    let shown = folder.run(&[
        "explore",
        "lock_n_block.wlk",
        "--set",
        "N=2",
        "--set",
        "M=1",
        "--set",
        "R=1",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    lock_n_block.wlk: an input hangs, 3 inputs and 11 states searched up to the first hang
      at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
        --> lock_n_block.wlk:18
      18 |         wait dq[m] == n
      visits (rows: first index, # visited):
          0
        0 .
        1 #
      element  start  now  waited for           changed by          completes
      dq[0]    0      0    cta[1] == 1 (never)  cta[1] + 1 (never)  no
      trace:
        1  cta[0]  starts and has nothing to do
        2  cta[1]  starts
    --- stderr
    ");
}

#[test]
fn files_are_laid_out() {
    let folder = Folder::new();
    let tidy = library("dense.wlk");
    let untidy = tidy.replace("    wait dq[m] == n", "wait  dq[ m ] == (n)");
    assert_ne!(tidy, untidy);
    folder.file("tidy.wlk", &tidy);
    folder.file("untidy.wlk", &untidy);
    insta::assert_snapshot!(folder.run(&["fmt", "--check", "."]), @r#"
    exit 1
    --- stdout
    ./untidy.wlk
    --- stderr
    "#);
    let output = folder.output(&["fmt", "-"], untidy.as_bytes());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), tidy);
    assert_eq!(
        folder.run(&["fmt", "."]),
        "exit 0\n--- stdout\n--- stderr\n"
    );
    let written = fs::read_to_string(folder.path().join("untidy.wlk")).unwrap();
    assert_eq!(written, tidy);
    assert_eq!(
        folder.run(&["fmt", "--check", "."]),
        "exit 0\n--- stdout\n--- stderr\n"
    );
    folder.file("broken.wlk", "protocol p grid");
    let shown = folder.run(&["fmt", "broken.wlk"]);
    assert!(
        shown.starts_with("exit 2\n--- stdout\n--- stderr\n"),
        "{shown}"
    );
}
