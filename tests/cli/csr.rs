//! `warplock csr` from the outside: what it prints, writes and returns.

use std::path::Path;
use std::process::Command;
use std::process::Output;

use warplock::tensors::ReadOptions;
use warplock::tensors::read;

use crate::support::program::Folder;

const PUBLISHED: &str = "encodings/block_sparse/data/published_varlen.json";
const LENGTHS: &str = "366,25,80,364,149,21,12,3,3,1";

fn csr(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warplock"))
        .arg("csr")
        .args(args)
        .output()
        .expect("it starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn the_first_line_says_what_hangs_and_why() {
    let output = csr(&[PUBLISHED, "--lock", "n"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert_eq!(
        text.lines().next(),
        Some(
            "encodings/block_sparse/data/published_varlen.json: lock = n: REFUTED: 5 of 8 row \
             tiles never complete, with any number of resident CTAs: cta 2 waits for sem[3] == 2, \
             but it is 0 and nobody who visits m = 3 has lock 0"
        )
    );
    assert!(text.contains("CUDA does not promise it"));
    let output = csr(&[PUBLISHED, "--lock", "rank"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("PROVED: all 8 row tiles complete"));
}

#[test]
fn json_has_a_row_per_tile() {
    for (form, lock, code) in [
        ("json", "n", 1),
        ("npz", "n", 1),
        ("safetensors", "rank", 0),
    ] {
        let path = format!("encodings/block_sparse/data/published_varlen.{form}");
        let output = csr(&[&path, "--lock", lock, "--format", "json"]);
        assert_eq!(output.status.code(), Some(code));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let result = &value["results"][0];
        assert_eq!(value["schema"], 1);
        assert_eq!(result["property"], "deadlock");
        let rows = result["csr"]["row_tiles"].as_array().expect("rows");
        let completes: Vec<bool> = rows.iter().map(|r| r["completes"] == true).collect();
        let first: Vec<i64> = rows
            .iter()
            .filter_map(|r| r["first_visitor"].as_i64())
            .collect();
        assert_eq!(first, [0, 0, 0, 2, 3, 3, 3, 6]);
        if lock == "n" {
            let expected = [true, true, true, false, false, false, false, false];
            assert_eq!(completes, expected);
            let blocked = &rows[3]["first_blocked"];
            assert_eq!(blocked["cta"], 2);
            assert_eq!(
                (&blocked["waits_for"], &blocked["value"]),
                (&2.into(), &0.into())
            );
        } else {
            assert_eq!(completes, [true; 8]);
        }
    }
}

#[test]
fn segments_rebuild_the_published_arrays() {
    let folder = tempfile::tempdir().expect("a folder");
    let published = read(Path::new(PUBLISHED), &ReadOptions::default()).expect("published");
    let lengths = "@encodings/block_sparse/data/published_varlen_lengths.txt";
    for (segments, name) in [
        (LENGTHS, "a.json"),
        (lengths, "b.npz"),
        (LENGTHS, "c.safetensors"),
    ] {
        let path = folder.path().join(name);
        let shown = path.to_str().expect("a name");
        let output = csr(&["--segments", segments, "--tile", "128", "-o", shown]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let built = read(&path, &ReadOptions::default()).expect("readable");
        assert!(built.entries().eq(published.entries()));
        assert_eq!(built.m_blocks(), published.m_blocks());
        assert_eq!(csr(&[shown, "--lock", "n"]).status.code(), Some(1));
    }
    let output = csr(&["--segments", LENGTHS, "--emit", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["mask_block_cnt"].to_string(), "[1,1,4,5,2,2,5,2]");
    let output = csr(&[
        "--segments",
        LENGTHS,
        "--causal",
        "--tile-m",
        "64",
        "--lock",
        "rank",
    ]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_script_shows_the_same_hang() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hang.py");
    let shown = path.to_str().expect("a name");
    for (lock, code) in [("n", 1), ("rank", 0)] {
        let output = csr(&[PUBLISHED, "--lock", lock, "-o", shown]);
        assert_eq!(output.status.code(), Some(code));
        let Ok(run) = Command::new("python3").arg(&path).output() else {
            return;
        };
        assert_eq!(run.status.code(), Some(code), "{}", stderr(&run));
        let said = stdout(&run);
        assert_eq!(
            said.contains("CTA 2 waits for sem[3] == 2; it is 0"),
            code == 1
        );
    }
}

#[test]
fn a_script_visits_rows_in_the_order_of_the_run_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.py");
    let shown = path.to_str().expect("a name");
    let square = folder.path().join("square.json");
    std::fs::write(&square, "[[1, 1], [1, 1]]").expect("written");
    let square = square.to_str().expect("a name");
    // Turns at the two row tiles in opposite orders: only some row orders hang.
    let twisted = "if m == 0 then n else 1 - n";
    for (tensors, lock, order, code, first) in [
        (PUBLISHED, "n", "descending", 1, "(2, 0), (1, 0), (0, 0)"),
        (PUBLISHED, "rank", "ascending", 0, "(0, 0), (1, 0), (2, 0)"),
        (square, twisted, "given", 1, "(0, 0), (1, 1)"),
        (square, twisted, "any", 1, "(1, 1), (0, 0)"),
    ] {
        let mut args = vec![tensors, "--lock", lock, "--order", order, "-o", shown];
        args.extend(["--format", "json"]);
        let output = csr(&args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let script = std::fs::read_to_string(&path).expect("written");
        let first = format!("VISITS = [\n    [{first}],\n");
        assert!(script.contains(&first), "{args:?}: {script}");
        let Ok(run) = Command::new("python3").arg(&path).output() else {
            continue;
        };
        assert_eq!(run.status.code(), Some(code), "{args:?}");
        let said = stdout(&run);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let tiles = value["results"][0]["csr"]["row_tiles"].as_array();
        for tile in tiles.expect("row tiles") {
            let visitors = tile["visitors"].as_array().map_or(0, Vec::len);
            let line = format!("m = {}: {} of {visitors} ", tile["m"], tile["executed"]);
            assert!(said.contains(&line), "{args:?}: {line}: {said}");
        }
    }
}

#[test]
fn the_protocol_is_written_and_loads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scheme.wlk");
    let shown = path.to_str().expect("a name");
    let lock = "if n > 2 then rank(n, m) else n";
    csr(&[PUBLISHED, "--lock", lock, "--emit-protocol", shown]);
    let text = std::fs::read(&path).expect("written");
    assert!(warplock::text::load(&text).is_ok());
    assert!(String::from_utf8_lossy(&text).contains(lock));
}

#[test]
fn mistakes_go_to_stderr_with_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, r#"{"mask_block_cnt": [2], "mask_block_idx": [0]}"#).expect("written");
    let bad = bad.to_str().expect("a name");
    let cases: &[(&[&str], &str)] = &[
        (&["missing.json"], "missing.json cannot be read"),
        (
            &[bad],
            "mask_block_idx has 1 entries but mask_block_cnt sums to 2",
        ),
        (&[PUBLISHED, "--m-blocks", "9"], "8"),
        (
            &[PUBLISHED, "--lock", "n + rnak(n, m)"],
            "did you mean `rank`?",
        ),
        (&[PUBLISHED, "--lock", "n +"], "--lock:1:4"),
        (&[PUBLISHED, "--lock", "visits[n, m]"], "expected"),
        (&[PUBLISHED, "--lock", "n / m"], "division by 0"),
        (&[PUBLISHED, "--lock", ""], "--lock:1:1"),
        (&[PUBLISHED, "--resident", "0"], "--resident"),
        (&[PUBLISHED, "--launch", "sideways"], "sideways"),
        (&["--segments", "12,x"], "is not a length"),
        (&["--segments", "12", "--tile", "0"], "tile size"),
        (&["--segments", "@missing"], "cannot read missing"),
        (&[PUBLISHED, "--segments", "12"], "cannot be used with"),
        (
            &[PUBLISHED, "--emit", "yaml"],
            "json, npz, safetensors, torch",
        ),
        (&[PUBLISHED, "-o", "arrays.xyz"], "does not say its form"),
        (
            &[PUBLISHED, "-o", "/nowhere/arrays.npz"],
            "cannot write /nowhere/arrays.npz",
        ),
        (&[], "--segments"),
    ];
    for (args, expected) in cases {
        let output = csr(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(
            stderr(&output).contains(expected),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn named_locks_are_listed() {
    let output = csr(&["--lock", "list"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for name in ["n", "rank", "reversed-rank"] {
        assert!(
            text.lines()
                .any(|line| line.split(' ').next() == Some(name))
        );
    }
}

/// Who gives a mask to another command is told which one it is for.
#[test]
fn a_file_of_tensors_is_not_read_as_a_protocol() {
    let folder = Folder::new();
    folder.output(&["csr", "--segments", "300,200", "-o", "mask.npz"], b"");
    std::fs::rename(
        folder.path().join("mask.npz"),
        folder.path().join("mask.pt"),
    )
    .unwrap();
    insta::assert_snapshot!(folder.run(&["check", "mask.pt"]), @"
    exit 2
    --- stdout
    --- stderr
    error: mask.pt is a file of tensors: `warplock csr mask.pt --lock n` decides it
    ");
}
