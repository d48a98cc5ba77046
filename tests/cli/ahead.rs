//! Protocols of kernels that test an mbarrier ahead: the assumption in their head is discharged, or no command gives a verdict.

use crate::support::program::Folder;

const UNSEEN: &str =
    "a phase that a test has found complete is not overtaken before the wait that the test spares";
const TURN: &str = "if waits at an mbarrier may be for phases that are not consecutive, a test that lets a warp skip a wait has found the phase of that wait complete";

/// Two roles that never hang. Both waits of the second one are in turn.
const IN_TURN: &str = "protocol p\nmbarrier full { arrivals: 1 }\nmbarrier free { arrivals: 1 }\n\
     role fills {\n    arrive full\n    wait free 0\n    arrive full\n}\n\
     role takes {\n    wait full 0\n    arrive free\n    wait full 1\n}\n";

/// The second role waits for phases 0 and 3, never for those between.
const OUT_OF_TURN: &str = "protocol p\nmbarrier full { arrivals: 1 }\nmbarrier free { arrivals: 1 }\nmbarrier done { arrivals: 1 }\n\
     role fills {\n    arrive full\n    wait free 0\n    arrive full\n    arrive full\n    arrive done\n    arrive full\n}\n\
     role takes {\n    wait full 0\n    arrive free\n    wait done 0\n    wait full 1\n}\n";

/// The second role is lapped: a test before the second arrival spares it the wait.
const LAPPED: &str = "protocol p\nmbarrier full { arrivals: 1 }\nmbarrier go { arrivals: 1 }\n\
     role fills {\n    arrive full\n    arrive full\n    arrive go\n}\n\
     role takes {\n    wait go 0\n    wait full 0\n}\n";

/// The second role waits for what nobody does. Nobody could be spared that wait.
const NEVER: &str = "protocol p\nmbarrier full { arrivals: 1 }\nmbarrier free { arrivals: 1 }\n\
     role fills {\n    arrive full\n}\nrole takes {\n    wait full 0\n    wait free 0\n}\n";

/// What each command says first, of a text with this assumption in its head.
fn said(text: &str, assumed: &str) -> String {
    let folder = Folder::new();
    folder.file("p.wlk", format!("//! Assumed: {assumed}\n{text}"));
    folder.file("before.wlk", text);
    let waits = text
        .lines()
        .position(|line| line.contains("    wait "))
        .unwrap();
    folder.file(
        "seen.txt",
        format!("mbarrier_wait () at p.wlk:{}\n", waits + 2),
    );
    let mut all = String::new();
    for command in [
        "check -q p.wlk",
        "check -q p.wlk --property all",
        "check -q p.wlk --counterexamples 4",
        "check -q p.wlk --condition",
        "condition -q p.wlk",
        "diff -q before.wlk p.wlk",
        "repair -q p.wlk",
        "hang -q p.wlk --from seen.txt",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let shown = folder.run(&words);
        let out = shown.split("--- stdout\n").nth(1).unwrap_or_default();
        let out = out.split("--- stderr").next().unwrap_or_default();
        all.push_str(&format!("$ {command}\n{out}"));
    }
    all
}

#[test]
fn of_a_test_that_may_come_before_another_wait_nothing_is_known() {
    insta::assert_snapshot!(said(IN_TURN, UNSEEN), @r"
        $ check -q p.wlk
        p.wlk: deadlock: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        $ check -q p.wlk --property all
        p.wlk: deadlock: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        p.wlk: early_completion: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        p.wlk: early_pass: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        p.wlk: lapped_wait: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        p.wlk: over_arrival: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        $ check -q p.wlk --counterexamples 4
        p.wlk: deadlock: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        $ check -q p.wlk --condition
        p.wlk: no condition found
        $ condition -q p.wlk
        p.wlk: no condition found
        $ diff -q before.wlk p.wlk
        before.wlk -> p.wlk
        p: the same protocol under other assumptions; deadlock: PROVED -> UNKNOWN
        $ repair -q p.wlk
        p.wlk: no property was refuted, so there is nothing to repair; deadlock is UNKNOWN: a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        $ hang -q p.wlk --from seen.txt
        p.wlk: hang: UNKNOWN a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised
        ");
}

#[test]
fn waits_in_turn_are_no_assumption() {
    insta::assert_snapshot!(said(IN_TURN, TURN), @r"
        $ check -q p.wlk
        p.wlk: deadlock: PROVED for every schedule: all 4 obligations of the order rule hold
        $ check -q p.wlk --property all
        p.wlk: deadlock: PROVED for every schedule: all 4 obligations of the order rule hold
        p.wlk: early_completion: PROVED for every schedule: all 4 obligations of the order rule hold
        p.wlk: early_pass: PROVED for every schedule: all 4 obligations of the order rule hold
        p.wlk: lapped_wait: PROVED for every schedule: all 4 obligations of the order rule hold
        p.wlk: over_arrival: PROVED for every schedule: all 4 obligations of the order rule hold
        $ check -q p.wlk --counterexamples 4
        p.wlk: deadlock: PROVED for every schedule: all 4 obligations of the order rule hold
        $ check -q p.wlk --condition
        p.wlk: never hangs
        $ condition -q p.wlk
        p.wlk: never hangs
        $ diff -q before.wlk p.wlk
        before.wlk -> p.wlk
        p: the same protocol under other assumptions; deadlock: PROVED
        $ repair -q p.wlk
        p.wlk: nothing to repair: deadlock, early_completion, early_pass, lapped_wait, over_arrival PROVED
        $ hang -q p.wlk --from seen.txt
        p.wlk: hang: EXCLUDED no run leads there: every schedule of every input was explored
        ");
}

#[test]
fn of_waits_out_of_turn_nothing_is_known() {
    insta::assert_snapshot!(said(OUT_OF_TURN, TURN), @r"
        $ check -q p.wlk
        p.wlk: deadlock: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        $ check -q p.wlk --property all
        p.wlk: deadlock: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: early_completion: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: early_pass: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: lapped_wait: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: over_arrival: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        $ check -q p.wlk --counterexamples 4
        p.wlk: deadlock: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        $ check -q p.wlk --condition
        p.wlk: no condition found
        $ condition -q p.wlk
        p.wlk: no condition found
        $ diff -q before.wlk p.wlk
        before.wlk -> p.wlk
        p: the same protocol under other assumptions; deadlock: PROVED -> UNKNOWN
        $ repair -q p.wlk
        p.wlk: no property was refuted, so there is nothing to repair; deadlock is UNKNOWN: a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        $ hang -q p.wlk --from seen.txt
        p.wlk: hang: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        ");
}

#[test]
fn who_is_lapped_may_have_been_spared_the_wait() {
    insta::assert_snapshot!(said(LAPPED, TURN), @r"
        $ check -q p.wlk
        p.wlk: deadlock: UNKNOWN the recovered protocol has a counterexample, but the kernel may not have it: somebody stands at a wait that the kernel might have skipped because of an earlier test
        $ check -q p.wlk --property all
        p.wlk: deadlock: UNKNOWN the recovered protocol has a counterexample, but the kernel may not have it: somebody stands at a wait that the kernel might have skipped because of an earlier test
        p.wlk: early_completion: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: early_pass: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: lapped_wait: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: over_arrival: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        $ check -q p.wlk --counterexamples 4
        p.wlk: deadlock: UNKNOWN the recovered protocol has a counterexample, but the kernel may not have it: somebody stands at a wait that the kernel might have skipped because of an earlier test
        $ check -q p.wlk --condition
        p.wlk: no condition found
        $ condition -q p.wlk
        p.wlk: no condition found
        $ diff -q before.wlk p.wlk
        before.wlk -> p.wlk
        p: the same protocol under other assumptions; deadlock: REFUTED -> UNKNOWN
        $ repair -q p.wlk
        p.wlk: no property was refuted, so there is nothing to repair; deadlock is UNKNOWN: the recovered protocol has a counterexample, but the kernel may not have it: somebody stands at a wait that the kernel might have skipped because of an earlier test
        $ hang -q p.wlk --from seen.txt
        p.wlk: hang: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        ");
}

#[test]
fn who_waits_for_what_nobody_does_is_spared_nothing() {
    insta::assert_snapshot!(said(NEVER, TURN), @r"
        $ check -q p.wlk
        p.wlk: deadlock: REFUTED nobody arrives at free, for which takes waits (line 10): no statement arrives there
        $ check -q p.wlk --property all
        p.wlk: deadlock: REFUTED nobody arrives at free, for which takes waits (line 10): no statement arrives there
        p.wlk: early_completion: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: early_pass: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: lapped_wait: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        p.wlk: over_arrival: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        $ check -q p.wlk --counterexamples 4
        p.wlk: deadlock: REFUTED nobody arrives at free, for which takes waits (line 10): no statement arrives there
        $ check -q p.wlk --condition
        p.wlk: hangs at every value
        $ condition -q p.wlk
        p.wlk: hangs at every value
        $ diff -q before.wlk p.wlk
        before.wlk -> p.wlk
        p: the same protocol under other assumptions; deadlock: REFUTED
        $ repair -q p.wlk
        p.wlk: deadlock: REFUTED nobody arrives at free, for which takes waits (line 10): no statement arrives there
        repair 1: `arrive free` after `arrive full`
        $ hang -q p.wlk --from seen.txt
        p.wlk: hang: UNKNOWN a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases
        ");
}

/// Two consumers of one ring take turns. The wait of one of them for phase 1 of a stage may be its first one there, and a test passes
/// while nothing is complete.
const TEAM: &str = "protocol p\nparam S in 3..\nparam N in 0..\nmbarrier full[S] { arrivals: 1 }\nmbarrier empty[S] { arrivals: 1 }\n\
     role fills {\n    for k in 0..N {\n        wait empty[k % S] (k / S + 1) % 2\n        arrive full[k % S]\n    }\n}\n\
     role takes[w in 0..2] {\n    for k in 0..N {\n        if k % 2 == w {\n            wait full[k % S] k / S % 2\n            arrive empty[k % S]\n        }\n    }\n}\n";

#[test]
fn who_takes_turns_does_not_wait_for_each_phase() {
    let folder = Folder::new();
    folder.file("before.wlk", TEAM);
    folder.file("p.wlk", format!("//! Assumed: {TURN}\n{TEAM}"));
    let shown = folder.run(&["check", "-q", "before.wlk"]);
    assert!(shown.contains("PROVED"), "{shown}");
    let shown = folder.run(&["check", "-q", "p.wlk"]);
    assert!(
        shown.contains("UNKNOWN") && !shown.contains("PROVED"),
        "{shown}"
    );
}
