//! `check --cache`: verdicts are made again from what earlier runs found, and from nothing else.

use std::fs;
use std::path::PathBuf;

use crate::support::program::Folder;

/// The entries of a cache.
fn entries(folder: &Folder) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for part in fs::read_dir(folder.path().join("cache")).unwrap() {
        for entry in fs::read_dir(part.unwrap().path()).unwrap() {
            found.push(entry.unwrap().path());
        }
    }
    found.sort();
    found
}

/// The entry that has this word, and the one that has not.
fn with_and_without(folder: &Folder, word: &str) -> (PathBuf, PathBuf) {
    let mut all = entries(folder);
    assert_eq!(all.len(), 2, "{all:?}");
    all.sort_by_key(|path| !fs::read_to_string(path).unwrap().contains(word));
    let without = all.remove(1);
    (all.remove(0), without)
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    folder.library("lock_rank.wlk");
    folder
}

const CHECK: [&str; 5] = [
    "check",
    "lock_n_block.wlk",
    "lock_rank.wlk",
    "--cache",
    "cache",
];

/// What is printed but for who decided, and how long it took.
fn verdicts(folder: &Folder) -> String {
    let shown = folder.run(&CHECK);
    let shown = shown.lines().filter(|line| {
        !line.trim_start().starts_with("decided by ") && !line.contains("an earlier run found")
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_verdict_is_made_again() {
    let folder = folder();
    let first = folder.run(&CHECK);
    assert!(!first.contains("replay of a kept"), "{first}");
    assert_eq!(entries(&folder).len(), 2);
    let second = folder.run(&CHECK);
    assert!(
        second.contains("decided by replay of a kept counterexample"),
        "{second}"
    );
    assert!(second.contains("decided by kernel"), "{second}");
    assert_eq!(entries(&folder).len(), 2);
    // Another property, and other inputs, are other questions.
    let narrowed = folder.run(&[
        "check",
        "-q",
        "lock_n_block.wlk",
        "--set",
        "N=1",
        "--cache",
        "cache",
    ]);
    assert!(narrowed.contains("PROVED"), "{narrowed}");
    assert_eq!(entries(&folder).len(), 3);
    // `sweep` asks the same question.
    folder.run(&["sweep", "lock_rank.wlk", "--cache", "cache"]);
    assert_eq!(entries(&folder).len(), 3);
    // Certificates and witnesses are written from what is kept, and hold.
    let written = ["--certificate", "c", "--witness", "w"];
    folder.run(&[&CHECK[..], &written].concat());
    assert!(
        folder
            .run(&["certify", &folder.only("c")])
            .contains("CERTIFIED deadlock")
    );
    assert!(
        folder
            .run(&["replay", &folder.only("w")])
            .starts_with("exit 0")
    );
}

#[test]
fn what_is_damaged_or_forged_makes_no_verdict() {
    let folder = folder();
    let honest = verdicts(&folder);
    let (proof, counterexample) = with_and_without(&folder, "\"proved\"");
    let (proved, refuted) = (
        fs::read(&proof).unwrap(),
        fs::read(&counterexample).unwrap(),
    );
    let put = |as_proof: &[u8], as_counterexample: &[u8]| {
        fs::write(&proof, as_proof).unwrap();
        fs::write(&counterexample, as_counterexample).unwrap();
        assert_eq!(verdicts(&folder), honest);
        // It was found once more, and what is kept is good again.
        let again = (
            fs::read(&proof).unwrap(),
            fs::read(&counterexample).unwrap(),
        );
        assert_eq!(again, (proved.clone(), refuted.clone()));
    };
    put(b"", b"{}");
    put(&proved[..proved.len() / 2], &refuted[..refuted.len() - 1]);
    // The argument of a protocol that is proved, for one that hangs, and the other way round.
    put(&refuted, &proved);
    // A run at other values than those at which it hangs.
    let text = String::from_utf8(refuted.clone()).unwrap();
    let edited = text.replacen("\"N\":2", "\"N\":1", 1);
    assert_ne!(edited, text);
    put(&proved, edited.as_bytes());
    // The witness of a protocol with another text, which has the same name.
    let edited = text.replacen("wait dq[m] == n", "wait dq[m] >= n", 1);
    assert_ne!(edited, text);
    put(&proved, edited.as_bytes());
    // A remark that looks like a verdict of another file, and one that colours the terminal.
    let text = String::from_utf8(proved.clone()).unwrap();
    for remark in ["harmless\\nother.wlk: deadlock: PROVED", "\\u001b[31m"] {
        let edited = text.replacen("\"notes\":[", &format!("\"notes\":[\"{remark}\","), 1);
        let edited = edited.replacen("\",]", "\"]", 1);
        assert_ne!(edited, text);
        put(edited.as_bytes(), &refuted);
    }
    // An argument of another rule.
    let text = String::from_utf8(proved.clone()).unwrap();
    let edited = text.replacen("\"waits\"", "\"turns\"", 1);
    assert_ne!(edited, text);
    put(edited.as_bytes(), &refuted);
}

#[test]
fn several_runs_share_a_cache() {
    let folder = folder();
    let honest = folder.run(&["check", "-q", "lock_n_block.wlk", "lock_rank.wlk"]);
    let mut runs = Vec::new();
    for _ in 0..6 {
        let mut command = folder.command(&["check", "-q", "lock_n_block.wlk", "lock_rank.wlk"]);
        command.args(["--cache", "cache"]);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        runs.push(command.spawn().unwrap());
    }
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert_eq!(folder.shown(&output), honest);
    }
    // Nothing is left of files that were being written.
    let left = entries(&folder);
    assert_eq!(left.len(), 2, "{left:?}");
    for entry in left {
        assert!(serde_json::from_slice::<serde_json::Value>(&fs::read(entry).unwrap()).is_ok());
    }
    fs::write(folder.path().join("file"), "").unwrap();
    let shown = folder.run(&["check", "lock_rank.wlk", "--cache", "file"]);
    assert!(shown.starts_with("exit 2\n"), "{shown}");
}
