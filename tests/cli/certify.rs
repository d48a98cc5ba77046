//! `warplock certify`: a certificate is accepted as written and not otherwise.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::support::program::Folder;

/// A certificate for `dense`, by its folder's name below the test's.
fn certificate(folder: &Folder) -> String {
    folder.library("dense.wlk");
    let output = folder.output(&["check", "dense.wlk", "--certificate", "c"], b"");
    assert_eq!(output.status.code(), Some(0));
    folder.only("c")
}

/// Certifies after a change to a file, and undoes the change.
fn tampered(
    folder: &Folder,
    certificate: &str,
    file: &Path,
    change: &dyn Fn(&str) -> String,
) -> String {
    let before = fs::read_to_string(file).unwrap();
    let after = change(&before);
    assert_ne!(before, after, "nothing was changed in {}", file.display());
    fs::write(file, after).unwrap();
    let shown = folder.run(&["certify", certificate]);
    fs::write(file, before).unwrap();
    assert!(shown.starts_with("exit 101\n"), "{shown}");
    shown
        .lines()
        .nth(2)
        .unwrap()
        .replace(certificate, "[certificate]")
}

/// There is nothing to derive: the checker explores everything again.
#[test]
fn an_exhaustive_search_is_done_again() {
    let folder = Folder::new();
    folder.file(
        "count.wlk",
        "protocol count param N in 1..=2 semaphore s = 0 \
         role r[i in 0..N] { for k in 0..2 { if k % 2 == 1 { break } s += 1 } }",
    );
    let output = folder.output(&["check", "count.wlk", "--certificate", "c"], b"");
    assert_eq!(output.status.code(), Some(0));
    let certificate = folder.only("c");
    insta::assert_snapshot!(folder.run(&["certify", "-q", &certificate]), @"
    exit 0
    --- stdout
    c/count-deadlock-[digest]: CERTIFIED deadlock of `count` by exhaustive search of 5 states of 2 inputs at 2 points
    --- stderr
    ");
    let manifest = folder.path().join(&certificate).join("manifest.json");
    let more = |text: &str| text.replace("\"states\": 5", "\"states\": 6");
    insta::assert_snapshot!(tampered(&folder, &certificate, &manifest, &more), @"c/count-deadlock-[digest]: REJECTED the search came to 5 states of 2 inputs at 2 points, and not to 6 states of 2 inputs at 2 points");
    let open = |text: &str| text.replace("1..=2", "1..");
    insta::assert_snapshot!(tampered(&folder, &certificate, &manifest, &open), @"c/count-deadlock-[digest]: REJECTED the embedded protocol does not match its digest");
}

#[test]
fn a_certificate_is_accepted_with_and_without_its_protocol() {
    let folder = Folder::new();
    let certificate = certificate(&folder);
    insta::assert_snapshot!(folder.run(&["certify", &certificate]), @r#"
    exit 0
    --- stdout
    c/dense-deadlock-[digest]: CERTIFIED deadlock of `dense` by the kernel: 9 obligations hold
      assumptions:
        N >= 1
        M >= 1
        R >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
        CTAs start in the declared launch order, which CUDA does not promise
    --- stderr
    "#);
    let manifest = format!("{certificate}/manifest.json");
    let shown = folder.run(&["certify", "-q", &manifest, "--protocol", "dense.wlk"]);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
}

#[test]
fn a_certificate_for_another_protocol_is_refused() {
    let folder = Folder::new();
    let certificate = certificate(&folder);
    folder.library("lock_rank.wlk");
    let shown = folder.run(&["certify", &certificate, "--protocol", "lock_rank.wlk"]);
    assert!(shown.starts_with("exit 101\n"), "{shown}");
    assert!(
        shown.contains("REJECTED the certificate is about another text"),
        "{shown}"
    );
}

#[test]
fn every_change_is_noticed() {
    let folder = Folder::new();
    let certificate = certificate(&folder);
    let path: PathBuf = folder.path().join(&certificate);
    let manifest = path.join("manifest.json");
    let script = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "smt2"))
        .unwrap();
    let replace =
        |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    let digit = tampered(&folder, &certificate, &script, &|text| {
        let at = text.rfind('0').unwrap();
        format!("{}1{}", &text[..at], &text[at + 1..])
    });
    assert!(
        digit.contains("differs from the one the manifest records"),
        "{digit}"
    );
    for (from, to) in [
        ("wait dq[m] == n", "wait dq[m] >= n"),
        ("param N in 1..", "param N in 0.."),
        ("\"descending\": false", "\"descending\": true"),
        ("\"N >= 1\"", "\"N >= 2\""),
        ("\"assume\": []", "\"assume\": [\"N > 1\"]"),
        ("\"property\": \"deadlock\"", "\"property\": \"race\""),
        ("\"schema\": 1", "\"schema\": 2"),
    ] {
        tampered(&folder, &certificate, &manifest, &replace(from, to));
    }
    tampered(&folder, &certificate, &manifest, &|text| {
        text[..text.len() / 2].to_owned()
    });
    tampered(&folder, &certificate, &script, &|text| {
        text[..text.len() / 2].to_owned()
    });
    let shown = folder.run(&["certify", "-q", &certificate]);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
}

#[test]
fn a_certificate_that_is_not_there_and_a_solver_that_does_not_answer() {
    let folder = Folder::new();
    let certificate = certificate(&folder);
    insta::assert_snapshot!(folder.run(&["certify", "missing"]), @r#"
    exit 2
    --- stdout
    --- stderr
    error: cannot read missing: No such file or directory (os error 2)
    "#);
    let shown = folder.run(&["certify", &certificate, "--solver", "true"]);
    assert!(shown.starts_with("exit 101\n"), "{shown}");
    assert!(
        shown.contains("true answered neither sat nor unsat"),
        "{shown}"
    );
}

/// The kernel is asked for a proof before the rules are, and accepts it again.
#[test]
fn the_kernel_is_asked_first() {
    let folder = Folder::new();
    folder.file(
        "ring.wlk",
        include_str!("../../encodings/pipeline/ring.wlk"),
    );
    insta::assert_snapshot!(folder.run(&["check", "-q", "ring.wlk"]), @"
    exit 0
    --- stdout
    ring.wlk: deadlock: PROVED for every S in 1..=16, C >= 1, N >= 0 and schedule: all 34 obligations of the kernel hold
    --- stderr
    ");
    folder.run(&["check", "-q", "ring.wlk", "--certificate", "c"]);
    let certificate = folder.only("c");
    let again = folder.run(&["certify", &certificate]);
    insta::assert_snapshot!(again.replace(&certificate, "[certificate]"), @"
    exit 0
    --- stdout
    c/ring-deadlock-[digest]: CERTIFIED deadlock of `ring` by the kernel: 34 obligations hold
      assumptions:
        1 <= S <= 16
        C >= 1
        N >= 0
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
    --- stderr
    ");
}

#[test]
fn a_folder_of_certificates_is_none_itself() {
    let folder = Folder::new();
    certificate(&folder);
    insta::assert_snapshot!(folder.run(&["certify", "c"]), @"
    exit 2
    --- stdout
    --- stderr
    error: cannot read c/manifest.json: No such file or directory (os error 2)
    hint: this folder is no certificate; `warplock check --certificate DIR` writes one folder below DIR for each proof, and `certify DIR/*` checks them all
    ");
    folder.library("dense.wlk");
    insta::assert_snapshot!(folder.run(&["lift", "dense.wlk"]), @"
    exit 2
    --- stdout
    --- stderr
    error: dense.wlk is a protocol already, so there is nothing to recover
    hint: `lift` takes a kernel (.ptx, .mlir, .cu, .py, a binary); `warplock fmt` prints a protocol
    ");
}

#[test]
fn an_empty_domain_is_to_be_changed() {
    let folder = Folder::new();
    let text = "protocol none\nparam N in 1..=3\nassume N >= 5\nmbarrier b { arrivals: 1 }\nrole a { arrive b }\n";
    fs::write(folder.path().join("none.wlk"), text).unwrap();
    let shown = folder.run(&["check", "none.wlk"]);
    let hint = shown.lines().find(|line| line.contains("hint:"));
    insta::assert_snapshot!(hint.unwrap(), @"  hint: change the domain (`param P in A..=B`) or the assumptions so that some parameter values are left");
}
