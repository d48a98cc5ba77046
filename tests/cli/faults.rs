//! What goes wrong around the program: files that cannot be written, solvers that die, hang or
//! give up, too little time or memory, Ctrl-C at any moment, two runs in one folder. The verdict is
//! never wrong, and what was written before stays.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;
use std::time::Duration;

use crate::support::program::Folder;

/// The program under a limit of the shell, in a folder. One that hangs exits with 124.
fn limited(folder: &Folder, limit: &str, arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_warplock");
    Command::new("sh")
        .args([
            "-c",
            &format!("{limit}; exec timeout 60 {program} {arguments}"),
        ])
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn words(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The entries of a folder below the test's, without those that were left unfinished.
fn finished(folder: &Folder, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.path().join(name)) else {
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    all.sort();
    all
}

/// Has the program check certificates.
fn certify(folder: &Folder, certificates: &[PathBuf]) {
    for certificate in certificates {
        let output = folder.output(&["certify", "-q", certificate.to_str().unwrap()], b"");
        assert_eq!(output.status.code(), Some(0), "{:?}", words(&output));
    }
}

#[test]
fn a_full_disk_loses_the_new_certificate_and_no_other() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.library("lock_rank.wlk");
    let before = folder.output(&["check", "-q", "dense.wlk", "--certificate", "c"], b"");
    assert_eq!(before.status.code(), Some(0));
    let written = finished(&folder, "c");
    assert_eq!(written.len(), 1);
    // No file may become longer than 512 bytes, and the signal for that is ignored.
    let limit = "trap '' XFSZ; ulimit -f 1";
    let output = limited(&folder, limit, "check -q lock_rank.wlk --certificate c");
    let (out, err) = words(&output);
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(
        out.starts_with("lock_rank.wlk: deadlock: PROVED"),
        "{out}{err}"
    );
    assert!(err.contains("File too large"), "{err}");
    assert_eq!(finished(&folder, "c"), written);
    certify(&folder, &written);
}

#[test]
fn a_full_disk_loses_the_new_witness_and_no_other() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    let limit = "trap '' XFSZ; ulimit -f 1";
    let output = limited(&folder, limit, "check -q lock_n_block.wlk --witness w");
    let (out, err) = words(&output);
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(
        out.starts_with("lock_n_block.wlk: deadlock: REFUTED"),
        "{out}{err}"
    );
    assert_eq!(finished(&folder, "w"), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_beside_the_verdict() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.file("taken", "not a folder");
    let output = folder.output(
        &["check", "-q", "dense.wlk", "--certificate", "taken/c"],
        b"",
    );
    let (out, err) = words(&output);
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(err.contains("taken"), "{err}");
    let sealed = folder.path().join("sealed");
    fs::create_dir(&sealed).unwrap();
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(sealed.join("probe"), "").is_ok() {
        // Whoever may write everywhere cannot test this.
        return;
    }
    let output = folder.output(
        &["check", "-q", "dense.wlk", "--certificate", "sealed"],
        b"",
    );
    let (out, err) = words(&output);
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(out.starts_with("dense.wlk: deadlock: PROVED"), "{out}{err}");
}

#[test]
fn a_solver_that_dies_hangs_or_gives_up_certifies_nothing() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    let output = folder.output(&["check", "-q", "dense.wlk", "--certificate", "c"], b"");
    assert_eq!(output.status.code(), Some(0));
    let certificate = folder.only("c");
    for (name, script, reason) in [
        ("killed", "echo unsat\nkill -9 $$", "killed by a signal"),
        ("hangs", "exec sleep 60", "time limit"),
        ("gives_up", "echo unknown", "the solver gave up"),
        ("fails", "echo sat", "this step of the proof fails"),
        ("cut_off", "echo uns", "neither sat nor unsat"),
        ("silent", "exit 0", "neither sat nor unsat"),
    ] {
        let solver = folder.file(name, format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&solver, fs::Permissions::from_mode(0o755)).unwrap();
        let solver = solver.to_str().unwrap();
        let output = folder.output(
            &[
                "certify",
                "-q",
                &certificate,
                "--solver",
                solver,
                "--timeout",
                "1",
            ],
            b"",
        );
        let (out, err) = words(&output);
        assert_eq!(output.status.code(), Some(101), "{name}: {out}{err}");
        assert!(
            out.contains("REJECTED") && out.contains(reason),
            "{name}: {out}{err}"
        );
    }
}

#[test]
fn too_little_time_gives_a_weaker_verdict_and_no_wrong_one() {
    let folder = Folder::new();
    let files = [
        ("dense.wlk", "REFUTED"),
        ("lock_rank.wlk", "REFUTED"),
        ("lock_n_block.wlk", "PROVED"),
        ("zigzag.wlk", "PROVED"),
    ];
    for (file, _) in files {
        folder.library(file);
    }
    for time in ["0.000001", "0.001", "0.02", "0.1", "0.5"] {
        for (file, never) in files {
            let output = folder.output(&["check", "-q", file, "--timeout", time], b"");
            let (out, err) = words(&output);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 1 | 3 | 4)),
                "{file} {time}: {out}{err}"
            );
            assert!(!out.contains(never), "{file} {time}: {out}");
        }
    }
}

#[test]
fn too_little_memory_gives_no_wrong_verdict() {
    let folder = Folder::new();
    folder.library("lock_rank.wlk");
    folder.library("lock_n_block.wlk");
    for kilobytes in [60_000, 120_000, 140_000, 180_000, 250_000] {
        let limit = format!("ulimit -v {kilobytes}");
        for (file, never) in [("lock_rank.wlk", "REFUTED"), ("lock_n_block.wlk", "PROVED")] {
            let arguments = format!("check -q {file} --timeout 10 --jobs 1");
            let output = limited(&folder, &limit, &arguments);
            let (out, err) = words(&output);
            assert_ne!(output.status.code(), Some(124), "{file} {kilobytes}: {err}");
            assert!(!out.contains(never), "{file} {kilobytes}: {out}{err}");
        }
    }
}

#[test]
fn ctrl_c_at_any_moment_leaves_whole_certificates() {
    let folder = Folder::new();
    for file in [
        "dense.wlk",
        "lock_rank.wlk",
        "early_exit.wlk",
        "clusters.wlk",
    ] {
        folder.library(file);
    }
    let mut interrupted = 0;
    for milliseconds in [5, 60, 150, 300, 500, 800, 1200, 2000] {
        let mut child = folder
            .command(&["check", "-q", ".", "--certificate", "c", "--jobs", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        // It may have ended by itself.
        let _ = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        let code = child.wait().unwrap().code();
        // Before the handler is there the signal itself ends it.
        assert!(matches!(code, Some(0 | 130) | None), "{code:?}");
        interrupted += usize::from(code != Some(0));
        for certificate in finished(&folder, "c") {
            assert!(certificate.join("manifest.json").exists());
        }
    }
    assert!(interrupted >= 1);
    certify(&folder, &finished(&folder, "c"));
}

#[test]
fn two_runs_in_one_folder_do_not_disturb_each_other() {
    let folder = Folder::new();
    for file in ["dense.wlk", "lock_rank.wlk", "lock_n_block.wlk"] {
        folder.library(file);
    }
    let start = || {
        folder
            .command(&["check", "-q", ".", "--certificate", "c", "--witness", "w"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let runs = [start(), start(), start()];
    let outputs: Vec<Output> = runs
        .into_iter()
        .map(|run| run.wait_with_output().unwrap())
        .collect();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(1), "{:?}", words(output));
        assert_eq!(output.stdout, outputs[0].stdout);
    }
    let certificates = finished(&folder, "c");
    assert_eq!(certificates.len(), 2);
    certify(&folder, &certificates);
    let witnesses = finished(&folder, "w");
    assert_eq!(witnesses.len(), 1);
    let output = folder.output(&["replay", "-q", witnesses[0].to_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(0), "{:?}", words(&output));
}
