//! `warplock run`: what a program compiles is checked, and nothing is left behind.

use crate::support::binaries::hanging;
use crate::support::binaries::meeting;
use crate::support::program::Folder;

/// A program that compiles as Triton does: into the cache folder that it is told.
const COMPILES: &str = r#"echo compiling
mkdir -p "$TRITON_CACHE_DIR/ABC" "$TRITON_CACHE_DIR/DEF"
cp "$1.ptx" "$TRITON_CACHE_DIR/ABC"
cp "$1.ptx" "$TRITON_CACHE_DIR/DEF"
echo "$TRITON_CACHE_DIR" > seen
exit "${2:-0}"
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("compiles.sh", COMPILES);
    folder.file("hang.ptx", hanging("hang", "sm_90a"));
    folder.file("meet.ptx", meeting("meet", "sm_90"));
    folder
}

#[test]
fn the_kernels_of_a_program_are_checked() {
    let folder = folder();
    insta::assert_snapshot!(folder.run(&["run", "-q", "--", "sh", "compiles.sh", "hang"]), @r"
    exit 1
    --- stdout
    compiling
    triton/ABC/hang.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 12): warp0 has no statement for this barrier
    1 kernel, 1 copy left out: 1 REFUTED
    --- stderr
    ");
    let cache = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    let private = std::path::Path::new(cache.trim()).parent().unwrap();
    assert!(!private.exists(), "{} is left", private.display());
    insta::assert_snapshot!(folder.run(&["run", "--", "sh", "compiles.sh", "meet"]), @"
    exit 0
    --- stdout
    compiling
    triton/ABC/meet.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
      notes: other lines are those of the protocol that `warplock lift` prints
      assumptions:
        lanes of a warp that diverge reconverge where their paths meet
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: kernel
      decided by kernel in [time]

    PROVED   deadlock  meet  triton/ABC/meet.ptx
    1 kernel, 1 copy left out: 1 PROVED
    --- stderr
    ");
}

#[test]
fn a_program_that_fails_is_a_failure() {
    let folder = folder();
    insta::assert_snapshot!(folder.run(&["run", "-q", "--", "sh", "compiles.sh", "meet", "7"]), @"
    exit 2
    --- stdout
    compiling
    triton/ABC/meet.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    1 kernel, 1 copy left out: 1 PROVED
    --- stderr
    error: the program ended with 7
    ");
    insta::assert_snapshot!(folder.run(&["run", "--", "true"]), @"
    exit 2
    --- stdout
    --- stderr
    error: the program compiled no kernel that was kept
    hint: kernels of Triton, CuTe DSL, TileLang and DeepGEMM are kept; give others as files: see warplock check --help
    ");
    insta::assert_snapshot!(folder.run(&["run", "--", "false"]), @"
    exit 2
    --- stdout
    --- stderr
    error: the program ended with 1
    error: the program compiled no kernel that was kept
    hint: its own message is above; where there is no GPU, `warplock check FILE.py` gives Triton a stand-in for it
    ");
    insta::assert_snapshot!(folder.run(&["run", "--", "./missing"]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot run ./missing: No such file or directory (os error 2)
    ");
}

#[test]
fn what_is_compiled_can_be_kept() {
    let folder = folder();
    let args = [
        "run",
        "-q",
        "--keep",
        "kept",
        "--",
        "sh",
        "compiles.sh",
        "meet",
    ];
    insta::assert_snapshot!(folder.run(&args), @"
    exit 0
    --- stdout
    compiling
    [folder]/kept/triton/ABC/meet.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    1 kernel, 1 copy left out: 1 PROVED
    --- stderr
    ");
    assert!(folder.path().join("kept/triton/ABC/meet.ptx").exists());
    insta::assert_snapshot!(folder.run(&args), @"
    exit 2
    --- stdout
    --- stderr
    error: kept is not empty, so what is compiled would mix with what is there
    hint: give a new folder to --keep
    ");
}

#[test]
fn a_document_is_not_mixed_with_what_the_program_says() {
    let args = ["run", "--format", "json", "--", "sh", "compiles.sh", "meet"];
    let output = folder().output(&args, b"");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["results"][0]["verdict"], "PROVED");
    assert_eq!(output.stderr, b"compiling\n");
}
