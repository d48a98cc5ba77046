//! What changed between two builds, and which of many kernels have one defect.

use crate::support::program::Folder;

fn encoding(name: &str) -> Vec<u8> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read(root.join("encodings").join(name)).unwrap()
}

/// A folder with encodings under other names.
fn with(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, from) in files {
        folder.file(name, encoding(from));
    }
    folder
}

#[test]
fn a_fix_is_its_lines_and_the_verdict_that_it_changes() {
    let folder = with(&[
        ("a.wlk", "known_bugs/leader_releases_early.wlk"),
        ("b.wlk", "known_bugs/leader_releases_early_fixed.wlk"),
    ]);
    insta::assert_snapshot!(folder.run(&["diff", "a.wlk", "b.wlk"]), @r"
    exit 0
    --- stdout
    a.wlk -> b.wlk
    leader_releases_early_fixed: the protocol changed; deadlock: REFUTED -> PROVED
      role consumer:
        +         sync warps
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["diff", "b.wlk", "a.wlk", "-q"]), @r"
    exit 1
    --- stdout
    b.wlk -> a.wlk
    leader_releases_early: the protocol changed; deadlock: PROVED -> REFUTED
    --- stderr
    ");
}

#[test]
fn entries_are_compared_by_name() {
    let folder = Folder::new();
    folder.kernel("ring.ptx");
    let text = crate::support::program::kernel("ring.ptx");
    let renamed = text.replace("ring_of_3", "ring_of_three");
    folder.file("other.ptx", renamed);
    insta::assert_snapshot!(folder.run(&["diff", "ring.ptx", "other.ptx"]), @r"
    exit 1
    --- stdout
    ring.ptx -> other.ptx
    ring_of_4: the same protocol; deadlock: PROVED
    ring_of_3: is gone
    ring_producer_one_round_short: the same protocol; deadlock: REFUTED
      after: deadlock: REFUTED at param_2 = 1: nobody arrives at full_bar[0], for which warps1_3[0] waits (ring.cu:37, line 808): warp0 never arrives, because `for i in 0..param_2 - 1` (ring.cu:56, line 972) makes no trip
    ring_producer_starts_at_phase_0: the same protocol; deadlock: REFUTED
      after: deadlock: REFUTED at param_2 = 1: warp0 and warps1_3[0] wait for each other: warp0 (ring.cu:25, line 1423) for warps1_3[0] to arrive at empty_bar[0], warps1_3[0] (ring.cu:37, line 1250) for warp0 to arrive at full_bar[0]: no barrier here has ever completed, so one of these first waits has to be for parity 1
    ring_of_three: is new; deadlock: PROVED
    --- stderr
    ");
}

#[test]
fn kernels_of_different_names_are_compared_if_they_are_the_only_ones() {
    let folder = Folder::new();
    folder.kernel("ring.ptx");
    folder.file("fixed.wlk", "protocol p role a { }");
    let shown = folder.run(&["diff", "ring.ptx", "ring.ptx", "--entry", "ring_of_3"]);
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    ring.ptx -> ring.ptx
    ring_of_3: the same protocol; deadlock: PROVED
    --- stderr
    ");
    let shown = folder.run(&["diff", "fixed.wlk", "missing.wlk"]);
    assert!(shown.starts_with("exit 2\n"), "{shown}");
}

#[test]
fn a_sweep_says_where_else_a_defect_is() {
    let folder = with(&[
        ("one.wlk", "known_bugs/trip_counts_disagree.wlk"),
        ("copied.wlk", "known_bugs/trip_counts_disagree.wlk"),
        ("fixed.wlk", "known_bugs/trip_counts_disagree_fixed.wlk"),
    ]);
    insta::assert_snapshot!(folder.run(&["sweep", "."]), @r"
    exit 1
    --- stdout
    REFUTED  deadlock  trip_counts_disagree        ./copied.wlk
             nobody arrives at full[0], for which consumer waits (line 23): producer never arrives, because `for i in 0..NP` (line 13) makes no trip
    REFUTED  deadlock  trip_counts_disagree        ./one.wlk
             nobody arrives at full[0], for which consumer waits (line 23): producer never arrives, because `for i in 0..NP` (line 13) makes no trip
    PROVED   deadlock  trip_counts_disagree_fixed  ./fixed.wlk

    the same defect, 2 results:
      nobody arrives at full[0], for which consumer waits (line 23): producer never arrives, because `for i in 0..NP` (line 13) makes no trip
      - trip_counts_disagree ./copied.wlk
      - trip_counts_disagree ./one.wlk

    3 kernels: 2 REFUTED, 1 PROVED
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["sweep", "fixed.wlk", "-q"]), @r"
    exit 0
    --- stdout
    1 kernel: 1 PROVED
    --- stderr
    ");
}

/// What a build takes for granted is part of what changed, though the synchronization is the same.
#[test]
fn other_assumptions_are_a_change() {
    let folder = Folder::new();
    let text = crate::support::program::kernel("ring.ptx");
    folder.file("before.ptx", text.replace(".maxntid", ".reqntid"));
    folder.file("after.ptx", text);
    let arguments = ["diff", "before.ptx", "after.ptx", "--entry", "ring_of_3"];
    insta::assert_snapshot!(folder.run(&arguments), @r"
        exit 0
        --- stdout
        before.ptx -> after.ptx
        ring_of_3: the same protocol under other assumptions; deadlock: PROVED
          taken for granted:
            + the launch has 128 threads per CTA, as many as .maxntid allows
        --- stderr
        ");
    let assuming = |condition: &str| {
        format!(
            "protocol p\nparam N in 0..\nassume {condition}\nsemaphore s = 0\nrole x {{ s += 1 }}\nrole y {{ if N > 3 {{ wait s >= 2 }} }}\n"
        )
    };
    folder.file("a.wlk", assuming("N <= 3"));
    folder.file("b.wlk", assuming("N <= 4"));
    insta::assert_snapshot!(folder.run(&["diff", "a.wlk", "b.wlk"]), @r"
        exit 1
        --- stdout
        a.wlk -> b.wlk
        p: the protocol changed; deadlock: PROVED -> REFUTED
          declarations:
            - assume N <= 3
            + assume N <= 4
          after: deadlock: REFUTED at N = 4: y waits for s >= 2 (line 6), but s stays 1 and no more is added to it: x adds 1 to it and has ended
        --- stderr
        ");
}
