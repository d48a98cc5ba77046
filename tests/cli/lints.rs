//! `warplock lint` of protocols, and lints beside verdicts.

use std::fs;
use std::path::PathBuf;

use warplock::lint::lint;
use warplock::text;

use crate::support::program::Folder;

/// Rules that name a place worth looking at, and claim nothing about runs.
const PLACES: [&str; 3] = ["never-waited", "parity-repeats", "bytes"];

/// A protocol whose own text says that it is proved free of deadlock, for all its values.
fn proved(text: &str) -> bool {
    let expected = |line: &str| line.trim() == "expect deadlock: proved";
    text.lines().any(expected)
}

fn encoding(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join("encodings").join(name)).unwrap()
}

/// What adds up to a hang is found in nothing that is proved.
#[test]
fn no_lint_contradicts_a_proof() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("encodings");
    let mut count = 0;
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "wlk") {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            if !proved(&source) {
                continue;
            }
            count += 1;
            let protocol = text::load(source.as_bytes()).unwrap();
            let lints = lint(&protocol);
            let claims: Vec<_> = lints
                .iter()
                .filter(|lint| !PLACES.contains(&lint.rule))
                .collect();
            assert!(claims.is_empty(), "{}: {claims:?}", path.display());
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn a_protocol_is_looked_through() {
    let folder = Folder::new();
    folder.file("fault.wlk", encoding("checklist/k_minus_one_numbered.wlk"));
    insta::assert_snapshot!(folder.run(&["lint", "fault.wlk"]), @r"
    exit 1
    --- stdout
    fault.wlk:16: nobody-arrives: at S = 1, TILES = 2, K = 1: load waits here for `empty[0]`, and nobody arrives there
      hint: give both roles the same condition and the same number of rounds
      PTX ISA: mbarrier.arrive; for named barriers: bar, barrier (warplock explain nobody-arrives)
    fault.wlk:16: trip-counts: at S = 1, TILES = 2, K = 2: load waits here until `empty[0]` has completed 3 phases, but all members together make 2 arrivals, enough for 2
      hint: let both roles compute their trip counts from the same bounds, and start at the right parity
      PTX ISA: Phase of the mbarrier object (warplock explain trip-counts)
    fault.wlk:26: parity-repeats: at S = 1, TILES = 2, K = 2: mma waits here twice in a row for parity 0 of `full[0]`: the second wait does not wait for a phase of its own
      hint: flip the parity each time the index of the stage wraps around
      PTX ISA: Phase of the mbarrier object (warplock explain parity-repeats)
    --- stderr
    ");
    folder.file("right.wlk", encoding("pipeline/ring.wlk"));
    insta::assert_snapshot!(folder.run(&["lint", "right.wlk"]), @r"
    exit 0
    --- stdout
    right.wlk: nothing found
    --- stderr
    ");
}

/// Of a kernel that is recovered from its graph, the rules of protocols look through its protocol.
#[test]
fn a_kernel_of_mlir_is_looked_through() {
    let ring = fs::read_to_string("tests/mlir/ring.mlir").unwrap();
    let folder = Folder::new();
    folder.file("right.mlir", &ring);
    insta::assert_snapshot!(folder.run(&["lint", "right.mlir"]), @r"
    exit 0
    --- stdout
    right.mlir:ring: nothing found
    --- stderr
    ");
    folder.file("fault.mlir", faulty(&ring));
    insta::assert_snapshot!(folder.run(&["lint", "fault.mlir"]), @r"
    exit 1
    --- stdout
    fault.mlir:ring: arrival-count: line 80: at tiles = 1, rounds = 1: warp1 arrives 32 times here at `smem_0_24[0]`, which takes 1 arrival to complete a phase
      hint: initialise it with the number of arrivals that come in each phase
      PTX ISA: mbarrier.init; for named barriers: bar, barrier (warplock explain arrival-count)
    --- stderr
    ");
}

/// Each mbarrier for free stages expects one arrival, and all lanes of the consumer arrive.
fn faulty(ring: &str) -> String {
    let fault = ring
        .replace("%pempty0, %c32 :", "%pempty0, %c1 :")
        .replace("%pempty1, %c32 :", "%pempty1, %c1 :")
        .replace("%pempty2, %c32 :", "%pempty2, %c1 :");
    assert_ne!(fault, ring);
    fault
}

/// The bug is said first.
#[test]
fn an_arrival_too_many_in_a_kernel_is_refuted_by_its_name() {
    let ring = fs::read_to_string("tests/mlir/ring.mlir").unwrap();
    let folder = Folder::new();
    folder.file("fault.mlir", faulty(&ring));
    insta::assert_snapshot!(folder.run(&["check", "-q", "fault.mlir"]), @r"
    exit 1
    --- stdout
    fault.mlir: over_arrival: REFUTED at tiles = 1, rounds = 1: warp1 arrives 32 times at smem_0_24[0] in line 80, but the phase needs only 1 more arrival
    fault.mlir: deadlock: UNKNOWN a run does something undefined at tiles = 1, rounds = 1: warp1: 32 arrivals where 1 is pending
    --- stderr
    ");
}

/// So it is from MLIR, where a copy to shared memory reads what the preceding grid may not have written yet.
#[test]
fn a_read_before_the_preceding_grid_has_ended_in_mlir() {
    let kernel = |body: &str| {
        format!(
            "gpu.module @kernels {{
  cuda.kernel @k(%to: i32, %from: i64) attributes {{nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    {body}
    nvvm.barrier
    return
  }}
}}
"
        )
    };
    let copy = "llvm.inline_asm has_side_effects asm_dialect = att \"cp.async.ca.shared.global [$0], [$1], 16;\", \"r,l\" \
                %to, %from : (i32, i64) -> ()";
    let wait = "nvvm.griddepcontrol wait";
    let folder = Folder::new();
    folder.file("early.mlir", kernel(&format!("{copy}\n    {wait}")));
    insta::assert_snapshot!(folder.run(&["lint", "early.mlir"]), @r"
    exit 1
    --- stdout
    early.mlir:k: early-read: line 3: global memory may be read here before `griddepcontrol.wait`: what the preceding grid writes there may not have been written yet
      hint: move the read after `griddepcontrol.wait`, unless no preceding grid writes this memory
      PTX ISA: griddepcontrol (warplock explain early-read)
    --- stderr
    ");
    folder.file("late.mlir", kernel(&format!("{wait}\n    {copy}")));
    insta::assert_snapshot!(folder.run(&["lint", "late.mlir"]), @r"
    exit 0
    --- stdout
    late.mlir:k: nothing found
    --- stderr
    ");
}

/// What the first line says already is not said again; the second fault is.
#[test]
fn lints_stand_beside_a_verdict() {
    let text = "protocol p\nmbarrier a { arrivals: 2 }\nmbarrier b { arrivals: 1 }\nrole t {\n    arrive a\n    wait a 0\n    wait b 0\n}\n";
    let folder = Folder::new();
    folder.file("p.wlk", text);
    insta::assert_snapshot!(folder.run(&["check", "p.wlk"]), @r"
        exit 1
        --- stdout
        p.wlk: deadlock: REFUTED a takes 2 arrivals, 1 came (t), and t waits for the rest (line 6): no more than 1 arrival comes in a phase
           --> p.wlk:6
          6 |     wait a 0
          element  start  now                 waited for          changed by  completes
          a        -      phase 0, 1 pending  t parity 0 (never)  t arrive 1  no
          trace: 1  t  arrives at a: phase 0, 1 pending  (line 5)
          minimal: the protocol has no parameters that could be smaller
          notes: lint at line 7: somebody waits at `b` here, but no statement of the protocol arrives there (`warplock explain nobody-arrives`)
          assumptions: a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
          decided by adversarial schedules in [time]
        --- stderr
        ");
}

#[test]
fn the_rules_of_protocols_are_explained() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.run(&["explain", "own-arrival"]), @r"
    exit 0
    --- stdout
    own-arrival: a lint of protocols.
    A member waits for a phase that cannot complete without an arrival that the same member makes only
    behind this wait. Move the arrival in front of the wait, or do not count it.
    PTX ISA: Phase of the mbarrier object.
    --- stderr
    ");
}

/// A launch that is known narrows what is looked for.
#[test]
fn values_may_be_given() {
    let folder = Folder::new();
    folder.file("p.wlk", encoding("known_bugs/trip_counts_disagree.wlk"));
    insta::assert_snapshot!(folder.run(&["lint", "-q", "p.wlk", "--set", "S=2", "--assume", "NP > NC"]), @r"
        exit 1
        --- stdout
        p.wlk:14: nobody-arrives: at S = 2, NP = 3, NC = 0: producer waits here for `empty[0]`, and nobody arrives there
        --- stderr
        ");
    insta::assert_snapshot!(folder.run(&["lint", "p.wlk", "--assume", "NP == NC"]), @r"
        exit 0
        --- stdout
        p.wlk: nothing found
        --- stderr
        ");
    folder.kernel("ring.ptx");
    insta::assert_snapshot!(folder.run(&["lint", "ring.ptx", "--set", "param_2=4"]), @r"
        exit 2
        --- stdout
        --- stderr
        error: --set and --assume are for protocols: lints of kernels look at no values
        ");
}
