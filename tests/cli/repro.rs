//! `warplock repro` from the outside: what it prints, writes and returns.

use std::path::Path;
use std::process::Command;
use std::process::Output;

use warplock::tensors::ReadOptions;
use warplock::tensors::read;

fn warplock(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warplock"))
        .args(args)
        .output()
        .expect("it starts")
}

fn library(name: &str) -> String {
    format!("encodings/block_sparse/{name}.wlk")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn the_smallest_packing_is_said_first_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = library("lock_n_block");
    for name in ["a.json", "a.npz", "a.safetensors"] {
        let path = folder.path().join(name);
        let shown = path.to_str().expect("a name");
        let args = [
            "repro", &file, "--family", "packed", "--tile", "128", "-o", shown,
        ];
        let output = warplock(&args);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let text = stdout(&output);
        let first = text.lines().next().expect("a line");
        assert!(
            first
                .contains("packed sequences, tile 128: hangs at 129 tokens in 2 segments (128, 1)")
        );
        let built = read(Path::new(shown), &ReadOptions::default()).expect("readable");
        assert_eq!((built.n_blocks(), built.m_blocks(), built.len()), (2, 2, 2));
        assert_eq!(
            warplock(&["csr", shown, "--lock", "n"]).status.code(),
            Some(1)
        );
        assert_eq!(
            warplock(&["csr", shown, "--lock", "rank"]).status.code(),
            Some(0)
        );
    }
}

#[test]
fn scripts_show_the_hang_without_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hang.py");
    let shown = path.to_str().expect("a name");
    let cases = [
        ("lock_n_block", vec!["--family", "packed"]),
        ("lock_n_block", vec![]),
        ("delayed_release_csr", vec![]),
        ("n_bound_per_cta", vec![]),
        ("unzeroed", vec![]),
        ("grouped_heads_reversed", vec![]),
        ("reversed_rank_ascending_launch", vec![]),
    ];
    for (name, more) in cases {
        let file = library(name);
        let mut args = vec!["repro", &file, "--emit", "torch", "-o", shown];
        args.extend(more);
        let output = warplock(&args);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stderr(&output));
        let Ok(run) = Command::new("python3").arg(&path).output() else {
            return;
        };
        assert_eq!(run.status.code(), Some(1), "{name}: {}", stderr(&run));
        assert!(stdout(&run).contains("HANG"), "{name}");
    }
}

#[test]
fn scripts_know_every_construct() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("hang.py");
    let shown = script.to_str().expect("a name");
    let cases = [
        "protocol everything
        param S in 1..=2
        mbarrier full[S] { arrivals: 1 }
        mbarrier late { arrivals: 1, init: explicit }
        barrier cta { arrivals: 2 }
        pool regs = 40
        role load {
            var p = producer(S)
            acquire regs 24
            arrive cta
            repeat 3 {
                arrive_expect_tx full[p.index] 64
                async copy smem[p.index] completes full[p.index] 32
                complete_tx full[p.index] 32
                wait full[p.index] p.phase ^ 1
                advance p
            }
            wait cta
            release regs 24
            init late
            sync cta
        }
        role other {
            sync cta
            commit late
            acquire regs 24
            sync cta
            wait late 0
        }",
        "protocol lost_bytes
        mbarrier full { arrivals: 1 }
        role a { async copy t completes full 8 arrive_expect_tx full 12 wait full 0 }",
        "protocol spilled_bytes
        mbarrier full { arrivals: 1 }
        role a {
            arrive_expect_tx full 8
            repeat 3 { async copy t completes full 4 }
            commit full
            wait full 0
            wait full 1
        }",
        "protocol used_up
        barrier cta { arrivals: 2 }
        pool regs = 40
        role a { acquire regs 24 sync cta acquire regs 16 release regs 40 }
        role b { acquire regs 16 sync cta acquire regs 16 release regs 32 }",
        "protocol too_few
        param N in 2..
        barrier g { arrivals: N }
        role a[i in 0..N] { if i > 0 { sync g } }",
        "protocol never_initialised
        mbarrier late { arrivals: 1, init: explicit }
        role a { arrive late wait late 0 }",
    ];
    for source in cases {
        let file = folder.path().join("p.wlk");
        std::fs::write(&file, source).expect("written");
        let file = file.to_str().expect("a name");
        let output = warplock(&["repro", file, "--emit", "torch", "-o", shown]);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{source}: {}",
            stderr(&output)
        );
        let Ok(run) = Command::new("python3").arg(&script).output() else {
            return;
        };
        assert_eq!(run.status.code(), Some(1), "{source}: {}", stderr(&run));
        assert!(stdout(&run).contains("HANG"), "{source}");
    }
}

#[test]
fn a_proved_protocol_has_nothing_to_show() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none.json");
    let shown = path.to_str().expect("a name");
    let file = library("lock_rank");
    for more in [
        vec![],
        vec!["--family", "packed"],
        vec!["--family", "causal", "--tile", "64"],
    ] {
        let mut args = vec!["repro", &file, "-o", shown];
        args.extend(more);
        let output = warplock(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("PROVED"));
        assert!(stdout(&output).contains("nothing was written"));
        assert!(!path.exists());
    }
}

#[test]
fn the_order_of_minimisation_decides() {
    let file = library("n_bound_per_cta");
    let output = warplock(&["repro", &file, "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["results"][0]["parameters"]["sk"], 130);
    let output = warplock(&["repro", &file, "--minimize", "sk,sq", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let sk = value["results"][0]["parameters"]["sk"]
        .as_i64()
        .expect("sk");
    assert!(sk <= 130);
    let output = warplock(&["repro", &file, "--set", "sk=256", "--assume", "sq >= 100"]);
    assert!(stdout(&output).contains("sk = 256"), "{}", stdout(&output));
}

#[test]
fn mistakes_go_to_stderr_with_status_2() {
    let lock = library("lock_n_block");
    let dense = library("causal_reversed");
    let cases: &[(&[&str], &str)] = &[
        (&["missing.wlk"], "missing.wlk"),
        (
            &[&lock, "--family", "packing"],
            "possible values: packed, packed-causal, causal, local",
        ),
        (&[&lock, "--family", "packed", "--tile", "0"], "tile size"),
        (&[&lock, "--tile", "64"], "--family"),
        (&[&lock, "--minimize", "Q"], "N, M, R, entries, initial"),
        (&[&lock, "--set", "N"], "NAME=VALUE"),
        (&[&lock, "--set", "Q=3"], "no parameter named `Q`"),
        (&[&lock, "--assume", "N >"], "--assume"),
        (&[&lock, "-o", "x"], "does not say its form"),
        (&[&dense, "--family", "causal"], "open pattern"),
    ];
    for (args, expected) in cases {
        let args: Vec<&str> = std::iter::once("repro")
            .chain(args.iter().copied())
            .collect();
        let output = warplock(&args);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?} {}",
            stdout(&output)
        );
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(
            stderr(&output).contains(expected),
            "{args:?}: {}",
            stderr(&output)
        );
    }
    let pure = library("n_bound_per_cta");
    let output = warplock(&["repro", &pure, "--emit", "npz", "-o", "/tmp/none.npz"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("holds arrays only"));
}

/// What a GPU makes of it is in docs/crosschecks.md.
#[test]
fn a_cuda_program_holds_the_run() {
    let file = "encodings/known_bugs/bytes_delivered.wlk";
    let output = warplock(&["repro", file, "--emit", "cuda"]);
    assert_eq!(output.status.code(), Some(1));
    let program = stdout(&output);
    let (tables, kernel) = program.split_once("\n// How a run is played.").unwrap();
    assert!(kernel.contains("__global__ void play"));
    assert!(tables.contains("\"line 30: wait full[c.index] c.phase\""));
    assert!(tables.contains("{WAIT_PARITY, 0, 1, 0, -1, 9}"));
    // Of the first three bytes, one completes the phase.
    let (_, tables) = tables.split_once("MEMBERS").unwrap();
    insta::assert_snapshot!(tables, @r#"
[] = {
    {"load", 0, 8, 8},
    {"math", 8, 4, 2},
};

static const Cell CELLS[] = {
    {MBARRIER, 0, 1},
    {MBARRIER, 1, 1},
};

static const Op LANDINGS[] = {
    {COPY_LANDS, 0, 3, 1, 4, 5},
    {COPY_LANDS, 0, 3, 0, 11, 5},
};

static const Run RUNS[] = {
    {"encodings/known_bugs/bytes_delivered.wlk: deadlock: REFUTED: hangs at DELIVERED = 3, EXPECTED = 1, N = 2, S = 1: math waits for full[0] parity 1 (now: phase 1, 0 pending, -4 bytes)", 0, 2, 0, 2, 0, 2, 12, false},
};
"#);
}

#[test]
fn a_cuda_program_needs_a_run_that_hardware_has_instructions_for() {
    let file = "encodings/known_bugs/leader_releases_early.wlk";
    let output = warplock(&["repro", file, "--emit", "cuda"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r#"
error: encodings/known_bugs/leader_releases_early.wlk: a CUDA program does not play this run: no instruction stands for a split-phase barrier
"#);
}
