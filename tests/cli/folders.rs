//! Folders of compiled kernels: dumps and caches, what is said beside a kernel, copies.

use crate::support::binaries::HOST;
use crate::support::binaries::PTX;
use crate::support::binaries::Packing;
use crate::support::binaries::UNBOUNDED;
use crate::support::binaries::elf;
use crate::support::binaries::entry;
use crate::support::binaries::fatbin;
use crate::support::binaries::hanging;
use crate::support::binaries::meeting;
use crate::support::program::Folder;

/// A folder with these files in folders below it.
fn with(files: &[(&str, &[u8])]) -> Folder {
    let folder = Folder::new();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

const FOUR_WARPS: &str = r#"{"name": "meet", "num_warps": 4, "num_ctas": 1, "target": {"backend": "cuda", "arch": 90, "warp_size": 32}}"#;

#[test]
fn a_cache_is_checked_kernel_by_kernel() {
    let hang = hanging("hang", "sm_90a");
    let library = fatbin(&[entry(PTX, 90, Packing::Zstd, hang.as_bytes())]);
    let library = elf(HOST, ".nv_fatbin", &library);
    let eight = FOUR_WARPS.replace("4,", "8,");
    let folder = with(&[
        ("cache/A/meet.ptx", UNBOUNDED.as_bytes()),
        ("cache/A/meet.json", FOUR_WARPS.as_bytes()),
        // What the PTX is made of and into is the same kernel.
        ("cache/A/meet.ttgir", b"module {}"),
        ("cache/A/meet.cubin", b"\x7fELF"),
        ("cache/A/__grp__meet.json", b"{}"),
        // A copy, and the same text launched otherwise.
        ("cache/B/meet.ptx", UNBOUNDED.as_bytes()),
        ("cache/B/meet.json", FOUR_WARPS.as_bytes()),
        ("cache/C/meet.ptx", UNBOUNDED.as_bytes()),
        ("cache/C/meet.json", eight.as_bytes()),
        ("cache/D/hang.ptx", hang.as_bytes()),
        // The library holds what D holds.
        ("cache/E/launcher.so", &library),
        // CuTe DSL writes both for one kernel.
        ("cache/F/cute_dsl_k_1_clean.mlir", b"module {}"),
        ("cache/F/k_1.sm_90a.ptx", hang.as_bytes()),
        // What is being written.
        ("cache/tmp.pid_12_34/hang.ptx", b".version"),
        ("cache/notes.txt", b"hello"),
    ]);
    insta::assert_snapshot!(folder.run(&["check", "cache"]), @"
    exit 1
    --- stdout
    cache/A/meet.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
      notes: other lines are those of the protocol that `warplock lift` prints
      assumptions:
        lanes of a warp that diverge reconverge where their paths meet
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
        the launch has 128 x 1 x 1 threads per CTA, as meet.json says
        the launch has no clusters, as meet.json says
      checked by: kernel
      decided by kernel in [time]

    cache/C/meet.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
      notes: other lines are those of the protocol that `warplock lift` prints
      assumptions:
        lanes of a warp that diverge reconverge where their paths meet
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
        the launch has 256 x 1 x 1 threads per CTA, as meet.json says
        the launch has no clusters, as meet.json says
      checked by: kernel
      decided by kernel in [time]

    cache/D/hang.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
        --> cache/D/hang.ptx:12
      12 | bar.sync 1, 64;
      element     start  now                waited for                changed by  completes
      cta_bar[1]  -      32 threads: warp1  warp1 64 threads (never)  nobody      no
      trace: 1  warp1  comes to cta_bar[1]: 32 threads: warp1  (line 12)
      minimal: the protocol has no parameters that could be smaller
      notes: lint at line 12: barrier 1 counts 64 threads, but only 32 come to it (`warplock explain arrival-count`)
      assumptions: lanes of a warp that diverge reconverge where their paths meet; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by adversarial schedules in [time]

    REFUTED  deadlock  hang  cache/D/hang.ptx
    PROVED   deadlock  meet  cache/A/meet.ptx
    PROVED   deadlock  meet  cache/C/meet.ptx
    3 kernels, 3 copies left out: 1 REFUTED, 2 PROVED
    --- stderr
    ");
    // Only one of them has it.
    insta::assert_snapshot!(folder.run(&["check", "-q", "cache", "--entry", "hang"]), @r"
    exit 1
    --- stdout
    cache/D/hang.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
    1 kernel, 3 copies left out: 1 REFUTED
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["check", "-q", "cache", "--entry", "hung"]), @"
    exit 2
    --- stdout
    0 kernels, 3 copies left out: nothing decided
    --- stderr
    error: none of the kernels has the entry `hung`
    ");
    // A document has no table.
    let output = folder.output(&["check", "cache", "--format", "json"], b"");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["results"].as_array().map(Vec::len), Some(3));
}

/// Of two texts of a kernel the one with source lines is read, and otherwise the one that there is.
#[test]
fn a_clean_text_stands_for_its_kernel_where_there_is_no_other() {
    let ring = std::fs::read("tests/mlir/ring.mlir").unwrap();
    let folder = with(&[
        ("dump/cute_dsl_ring_1_clean.mlir", &ring),
        ("dump/cute_dsl_ring_2.mlir", &ring),
        ("dump/cute_dsl_ring_2_clean.mlir", b"module {"),
    ]);
    let shown = folder.run(&["check", "-q", "dump"]);
    assert!(
        shown.contains("dump/cute_dsl_ring_1_clean.mlir: deadlock: PROVED"),
        "{shown}"
    );
    // The second holds what the first does, and the text that is not read is cut off.
    assert!(
        shown.contains("1 kernel, 1 copy left out: 1 PROVED"),
        "{shown}"
    );
}

#[test]
fn the_user_and_the_kernel_outweigh_what_stands_beside_it() {
    let folder = with(&[
        ("a/meet.ptx", UNBOUNDED.as_bytes()),
        ("a/meet.json", FOUR_WARPS.as_bytes()),
        ("b/bounded.ptx", meeting("bounded", "sm_90").as_bytes()),
        ("b/bounded.json", FOUR_WARPS.as_bytes()),
    ]);
    let given = folder.run(&["check", "a", "--threads", "64"]);
    assert!(given.contains("PROVED"), "{given}");
    assert!(!given.contains("threads per CTA, as"), "{given}");
    let bounded = folder.run(&["check", "b"]);
    assert!(bounded.contains("PROVED"), "{bounded}");
    assert!(!bounded.contains("threads per CTA, as"), "{bounded}");
    assert!(
        bounded.contains("no clusters, as bounded.json"),
        "{bounded}"
    );
}

#[test]
fn what_a_description_says_of_a_launch() {
    use warplock_artifacts::launch::read;
    let facts = |text: &str| {
        let facts = read(text.as_bytes(), "k.json");
        (facts.threads, facts.cluster)
    };
    assert_eq!(facts(FOUR_WARPS), (Some([128, 1, 1]), Some([1, 1, 1])));
    let clusters = r#"{"num_warps": 8, "cluster_dims": [2, 1, 1]}"#;
    assert_eq!(facts(clusters), (Some([256, 1, 1]), Some([2, 1, 1])));
    assert_eq!(facts(r#"{"num_warps": 2}"#), (Some([64, 1, 1]), None));
    let other = FOUR_WARPS.replace("cuda", "hip");
    for nothing in [
        &other,
        "{}",
        "[]",
        "{\"num_warps\": 4000000000}",
        "{\"num_warps\": 0}",
        "\u{7f}",
    ] {
        assert_eq!(facts(nothing), (None, None), "{nothing}");
    }
}

#[test]
fn what_is_wrong_with_a_folder_is_said() {
    let folder = with(&[
        ("none/readme.txt", b""),
        ("damaged/a.fatbin", b"\x50\xed\x55\xba\x01\x00\x10\x00"),
        ("damaged/b.ptx", meeting("fine", "sm_90").as_bytes()),
    ]);
    insta::assert_snapshot!(folder.run(&["check", "none"]), @"
    exit 2
    --- stdout
    --- stderr
    error: no protocols (.wlk) and no compiled kernels (.ptx, .mlir, .cubin, .fatbin, .so, .o, .a) below none
    hint: a .cu or .py file is named by itself: warplock check kernel.cu; `warplock run -- COMMAND` takes what a program compiles
    ");
    insta::assert_snapshot!(folder.run(&["check", "damaged", "--arch", "sm_90"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: --arch has no effect on damaged, which is a folder
    hint: leave --arch out, or give the .cu file, the Python file or the binary
    ");
    insta::assert_snapshot!(folder.run(&["check", "-q", "damaged"]), @"
    exit 2
    --- stdout
    damaged/b.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    1 kernel: 1 PROVED
    --- stderr
    error: cannot read damaged/a.fatbin: it is damaged or cut off: it ends too early
    ");
}
