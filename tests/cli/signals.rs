//! Readers that go away, and Ctrl-C.

use std::io::Read;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use crate::support::program::Folder;

/// Two grids are in the reach of no proof rule, so ever larger inputs are searched.
const SLOW: &str = "protocol slow
param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
semaphore dk[N] = 0
let rank(n, m) = count(k in 0..n where visits[k, m])
grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) any order {
        wait dq[m] == rank(n, m)
        dq[m] += 1
    }
}
grid other[n in 0..N] launch ascending resident all {
    wait dk[n] == 0
    dk[n] += 1
}
";

#[test]
fn ctrl_c_ends_a_check_within_a_second_and_says_how_far_it_got() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    folder.file("slow.wlk", SLOW);
    let mut child = folder
        .command(&[
            "check",
            "-q",
            "lock_n_block.wlk",
            "slow.wlk",
            "--property",
            "race,deadlock",
            "--jobs",
            "2",
            "--timeout",
            "600",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first file is decided; of the second one the first property is, and the other is not
    // within any time a test has.
    std::thread::sleep(Duration::from_secs(5));
    let signalled = Instant::now();
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let status = child.wait().unwrap();
    assert!(
        signalled.elapsed() < Duration::from_secs(1),
        "{:?}",
        signalled.elapsed()
    );
    assert_eq!(status.code(), Some(130));
    let (mut out, mut err) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    let begun = [
        "lock_n_block.wlk: race: UNKNOWN",
        "lock_n_block.wlk: deadlock: REFUTED",
        "slow.wlk: race: UNKNOWN",
    ];
    let lines: Vec<&str> = out.lines().filter(|l| l.contains(".wlk: ")).collect();
    assert_eq!(lines.len(), begun.len(), "{out}");
    for (line, begin) in lines.iter().zip(begun) {
        assert!(line.starts_with(begin), "{out}");
    }
    assert!(err.contains("1 of 2 files decided"), "{err}");
    assert!(
        err.contains("slow.wlk: searching for a stuck state up to size"),
        "{err}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    folder.library("lock_n_block.wlk");
    let mut child = folder
        .command(&["check", "lock_n_block.wlk"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_full_disk_is_one() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let folder = Folder::new();
    folder.library("dense.wlk");
    let output = folder
        .command(&["check", "dense.wlk"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.starts_with("error: cannot write the results"),
        "{error}"
    );
}
