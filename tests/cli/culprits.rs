//! The first line of a verdict names the true culprit, in every file of four folders of the
//! library: `docs/culprits.md` lists the sentences.
//!
//! `WARPLOCK_WRITE_DOCS=1 cargo test --test cli culprits::` writes the page anew.

use std::fs;
use std::path::Path;
use std::process::Command;

const HEAD: &str = "\
# Culprits

The first line of a `REFUTED` verdict says why the run hangs. For example, `lock_n_block.wlk` hangs because CTA 1 waits for CTA 0,
which never adds to the semaphore:

> cta[1] waits for dq[0] == 1 (line 18), but dq[0] stays 0 and nobody adds to it: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip.

This page lists that sentence for every protocol of `encodings/known_bugs`, `encodings/checklist`, `encodings/block_sparse` and
`encodings/atomic` that hangs. A test generates the page and fails if it differs.

Warplock does not know these protocols. It derives the sentence from the state in which nobody can go on. There, most
members wait for somebody who waits, too. Warplock follows this chain of waits until it comes to one that no waiting member
can end. The *cause* says why nobody can end it:

| Cause | What it means |
| --- | --- |
| `missing` | There are fewer arrivals, additions or releases than the wait needs. The sentence names the member that should have come and the `if`, loop or exit that prevents it. |
| `lapped` | The barrier has completed the awaited phase and the next one. So its parity is the old one again, and the wait blocks. |
| `bytes-missing` | All arrivals came, but nobody delivers some of the expected bytes. |
| `bytes-surplus` | More bytes were delivered than expected. So the byte count of a later phase never becomes zero. |
| `overtaken` | The semaphore is above the exact value that is waited for. |
| `uninitialized` | The barrier is never initialised. |
| `no-place` | The CTA that is waited for cannot start, because the waiting CTAs occupy every place (resident slot). |
| `circular` | Members wait for each other, and none of the other causes applies. |

In JSON the field `cause` has the cause. `warplock explain CAUSE` explains it.

";

/// The protocols of a folder that say of themselves that they hang.
fn hanging(root: &Path, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root.join("encodings").join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let hangs = paths.filter(|path| {
        path.extension().is_some_and(|e| e == "wlk")
            && fs::read_to_string(path)
                .unwrap()
                .contains("\nexpect deadlock: refuted")
    });
    let names = hangs.map(|path| {
        let path = path.strip_prefix(root).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn warplock(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warplock"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_sentences_of_the_page_are_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut page = HEAD.trim_end().to_owned() + "\n";
    for folder in ["known_bugs", "checklist", "block_sparse", "atomic"] {
        let files = hanging(root, folder);
        assert!(files.len() >= 8, "{folder}: {files:?}");
        let mut arguments = vec!["check"];
        arguments.extend(files.iter().map(String::as_str));
        let printed = warplock(&arguments);
        page.push_str(&format!("\n## {folder}\n"));
        let printed: Vec<&str> = printed.split("\n\n").collect();
        assert_eq!(printed.len(), files.len(), "{printed:?}");
        for (file, finding) in files.iter().zip(printed) {
            // A screen is enough to say it all.
            assert!(finding.lines().count() <= 25, "{finding}");
            let line = finding.lines().next().unwrap();
            let told = line.strip_prefix(&format!("{file}: deadlock: REFUTED at "));
            let (input, sentence) = told.unwrap().split_once(": ").unwrap();
            let name = file.rsplit_once('/').unwrap().1;
            page.push_str(&format!(
                "\n[`{name}`](../{file}) at {input}:\n> {sentence}.\n"
            ));
        }
    }
    let path = root.join("docs/culprits.md");
    if std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), page);
}

/// Whoever was counted on is named by how often it came, whatever the numbers are.
#[test]
fn whoever_comes_too_seldom_is_named() {
    let first = |file: &str, values: &[&str]| {
        let mut arguments = vec![
            "check".to_owned(),
            "-q".to_owned(),
            format!("encodings/{file}"),
        ];
        arguments.extend(values.iter().map(|value| format!("--set={value}")));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let line = warplock(&arguments);
        line.trim_end()
            .rsplit_once("REFUTED at ")
            .unwrap()
            .1
            .to_owned()
    };
    let trips = "known_bugs/trip_counts_disagree.wlk";
    insta::assert_snapshot!(first(trips, &["S=1", "NP=2", "NC=4"]), @"S = 1, NP = 2, NC = 4: full[0] completes 2 times, and consumer waits for one more (line 23): producer arrives 2 times and has ended");
    insta::assert_snapshot!(first(trips, &["S=2", "NP=6", "NC=3"]), @"S = 2, NP = 6, NC = 3: empty[1] completes once, and producer waits for one more (line 14): consumer arrives once and has ended");
    let arrivals = "checklist/arrival_count.wlk";
    insta::assert_snapshot!(first(arrivals, &["T=64", "N=2"]), @"T = 64, N = 2: done takes 64 arrivals, 1 came (worker[0]), and worker[0] waits for the rest (line 16): worker[1..64] never arrive, because `if t == 0` (line 13) does not hold for them");
    let steps = "checklist/scheduler_step_skipped.wlk";
    insta::assert_snapshot!(first(steps, &["T=2", "U=3", "W=3"]), @"T = 2, U = 3, W = 3: cta takes 5 arrivals, 2 came (worker[0] and worker[1]), and worker[0] waits for the rest (line 13): helper[0..3] arrive 2 times each and have ended");
    let tiles = "known_bugs/phantom_tile.wlk";
    insta::assert_snapshot!(first(tiles, &["S=2", "REAL=3", "T=8"]), @"S = 2, T = 8, REAL = 3: empty[1] takes 2 arrivals, 1 came (math[0]), and load waits for the rest (line 18): math[1] arrives once, because `if cta == 0 || t < REAL` (line 28) holds for it 3 of 8 times");
    let warps = "known_bugs/named_count.wlk";
    insta::assert_snapshot!(first(warps, &["W=4"]), @"W = 4: bar[2] takes 64 threads, 32 came (epilogue_load), and nobody else comes (line 16): 5 warps come in all, 2 for each completion, and load[0..4] completed 2 before");
}

/// A count of all threads where only some arrive: nobody is away, and nobody comes again before the wait is over.
#[test]
fn a_count_that_is_too_high_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counted.wlk");
    let protocol = |count: &str| {
        format!(
            "protocol counted
            param S in 1..=4
            param N in 0..
            mbarrier full[S] {{ arrivals: 1 }}
            mbarrier empty[S] {{ arrivals: {count} }}
            role load {{
                for i in 0..N {{ wait empty[i % S] (i / S + 1) % 2 arrive full[i % S] }}
            }}
            role math[t in 0..8] {{
                for i in 0..N {{ wait full[i % S] (i / S) % 2 arrive empty[i % S] }}
            }}
            "
        )
    };
    let check = |count| {
        fs::write(&path, protocol(count)).unwrap();
        let printed = warplock(&["check", path.to_str().unwrap()]);
        let line = printed.lines().next().unwrap();
        line.split_once("deadlock: ").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(check("12"), @"REFUTED at S = 1, N = 2: empty[0] takes 12 arrivals, 8 came (math[0..8]), and load waits for the rest (line 7): whoever arrives there has arrived in this phase already");
    assert!(check("8").starts_with("PROVED"));
}
