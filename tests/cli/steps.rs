//! The last step of the GitHub action, and the commands of the hooks for pre-commit, as their runners start them. What
//! comes before, `pip install` of a checkout, is what python/packages.py does and checks.

use std::path::Path;
use std::process::Command;

use crate::support::program::Folder;

/// A file of this repository.
fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Runs a line of a shell where `warplock` is on `PATH`.
fn shown(folder: &Folder, line: &str, variables: &[(&str, &str)]) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_warplock")).parent().unwrap();
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", line])
        .current_dir(folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    folder.shown(&output)
}

#[test]
fn the_step_of_the_action_annotates_lines() {
    let action = file("action.yml");
    let mut lines = action
        .lines()
        .filter_map(|line| line.trim().strip_prefix("run: "));
    let step = lines.next_back().unwrap();
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.library("lock_n_block.wlk");
    let variables = [
        ("FILES", "*.wlk"),
        ("OPTIONS", "--property deadlock --timeout 50"),
    ];
    insta::assert_snapshot!(shown(&folder, step, &variables), @r"
    exit 1
    --- stdout
    ::notice file=dense.wlk,line=1,title=dense%3A deadlock PROVED::for every N >= 1, M >= 1, R >= 1 and schedule: all 9 obligations of the kernel hold
    ::error file=lock_n_block.wlk,line=18,title=lock_n_block%3A deadlock REFUTED::at N = 2, M = 1, R = 1, visits = {(1, 0)}: cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip
    --- stderr
    ");
    let variables = [("FILES", "dense.wlk"), ("OPTIONS", "")];
    assert!(shown(&folder, step, &variables).starts_with("exit 0\n"));
}

/// The command of a hook.
fn entry(hook: &str) -> String {
    let hooks = file(".pre-commit-hooks.yaml");
    let (_, rest) = hooks.split_once(&format!("- id: {hook}\n")).unwrap();
    let mut lines = rest.lines().map(str::trim);
    let entry = lines.find_map(|line| line.strip_prefix("entry: "));
    entry.unwrap().to_owned()
}

#[test]
fn hooks_pass_and_fail() {
    let folder = Folder::new();
    folder.library("dense.wlk");
    folder.library("lock_n_block.wlk");
    folder.file("untidy.wlk", "protocol   untidy\nrole nobody { }\n");
    let exit = |hook: &str, files: &str| {
        let shown = shown(&folder, &format!("{} {files}", entry(hook)), &[]);
        shown.lines().next().unwrap().to_owned()
    };
    assert_eq!(exit("warplock-check", "dense.wlk"), "exit 0");
    assert_eq!(
        exit("warplock-check", "dense.wlk lock_n_block.wlk"),
        "exit 1"
    );
    // Their verdicts are those that they expect.
    assert_eq!(
        exit("warplock-expect", "dense.wlk lock_n_block.wlk"),
        "exit 0"
    );
    assert_eq!(exit("warplock-fmt", "untidy.wlk"), "exit 0");
    // pre-commit fails a hook that changes a file.
    let tidy = std::fs::read_to_string(folder.path().join("untidy.wlk")).unwrap();
    assert_eq!(tidy, "protocol untidy\n\nrole nobody {}\n");
}
