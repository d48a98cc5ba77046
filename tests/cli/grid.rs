//! What the command line says about CTAs of unknown number that share objects and own others.

use crate::support::program::Folder;

/// CTAs with a barrier of their own that take turns.
const TURNS: &str = "protocol turns

param C in 1..
param T in 1..

barrier own[C] { arrivals: T }
semaphore turn = 0

role cta[c in 0..C][t in 0..T] {
    sync own[c]
    if t == 0 {
        wait turn == c
        turn += 1
    }
    sync own[c]
}
";

/// CTAs with an mbarrier of their own that meet; a branch is for a CTA that there is not.
const MEET: &str = "protocol meet

param C in 1..

mbarrier own[C] { arrivals: 1 }
semaphore met = 0

role cta[c in 0..C] {
    arrive own[c]
    wait own[c] 0
    if c == C {
        wait met >= 100
    }
    met += 1
    wait met >= C
}
";

#[test]
fn turns_are_explained() {
    let folder = Folder::new();
    folder.file("turns.wlk", TURNS);
    insta::assert_snapshot!(folder.run(&["check", "turns.wlk", "--explain-proof"]), @"
    exit 0
    --- stdout
    turns.wlk: deadlock: PROVED for every C >= 1, T >= 1 and schedule: all 19 obligations of the cut rule hold
      why it holds:
        No step of one thread can undo what lets another go on, so it is enough that no choice of one place per role leaves everybody blocked.
        While a thread stands before a wait, nobody gets far enough to complete a further phase of its barrier, so a parity bit is never mistaken for another.
        Of the copies, such as CTAs, the one with the least number that is not finished can go on, or a member of no copy.
          while cta[t != 0] stands before `sync own[c]` in iteration n:
            the others of cta[t != 0]: no further than `sync own[c]` in iteration 0
            cta[t = 0]: no further than `sync own[c]` in iteration 0
            cta[t != 0] of later copies: no further than `sync own[c]` in iteration 0
            cta[t = 0] of later copies: no further than `wait turn == c` in iteration 0
          while cta[t != 0] stands before `sync own[c]` in iteration n:
            the others of cta[t != 0]: no further than `sync own[c]` in iteration 0
            cta[t = 0]: no further than `sync own[c]` in iteration 0
            cta[t != 0] of later copies: may run to the end
            cta[t = 0] of later copies: may run to the end
          while cta[t = 0] stands before `sync own[c]` in iteration n:
            cta[t != 0]: no further than `sync own[c]` in iteration 0
            cta[t != 0] of later copies: no further than `sync own[c]` in iteration 0
            cta[t = 0] of later copies: no further than `wait turn == c` in iteration 0
          while cta[t = 0] stands before `wait turn == c` in iteration n:
            cta[t != 0]: no further than `sync own[c]` in iteration 0
            cta[t != 0] of later copies: no further than `sync own[c]` in iteration 0
            cta[t = 0] of later copies: no further than `wait turn == c` in iteration 0
          while cta[t = 0] stands before `sync own[c]` in iteration n:
            cta[t != 0]: no further than `sync own[c]` in iteration 0
            cta[t != 0] of later copies: may run to the end
            cta[t = 0] of later copies: may run to the end
      obligations:
        declares_own: `own` expects at least one arrival
        operands_c0_s0: in cta[t != 0], `sync own[c]` stays in range
        operands_c0_s1: in cta[t != 0], `sync own[c]` stays in range
        operands_c0_s2: in cta[t != 0], `sync own[c]` stays in range
        operands_c0_s3: in cta[t != 0], `sync own[c]` stays in range
        operands_c1_s0: in cta[t = 0], `sync own[c]` stays in range
        operands_c1_s1: in cta[t = 0], `sync own[c]` stays in range
        operands_c1_s3: in cta[t = 0], `turn += 1` stays in range
        operands_c1_s4: in cta[t = 0], `sync own[c]` stays in range
        operands_c1_s5: in cta[t = 0], `sync own[c]` stays in range
        cut_c0_s0: while a member of cta[t != 0] is held at `sync own[c]`, everybody else stops at the places that the proof names, and the element it looks at does not run ahead
        cut_c0_s2: while a member of cta[t != 0] is held at `sync own[c]`, everybody else stops at the places that the proof names, and the element it looks at does not run ahead
        alternates_c0_s3: in cta[t != 0], every arrival is waited for before the next, at `sync own[c]`
        cut_c1_s0: while a member of cta[t = 0] is held at `sync own[c]`, everybody else stops at the places that the proof names, and the element it looks at does not run ahead
        cut_c1_s2: while a member of cta[t = 0] is held at `wait turn == c`, everybody else stops at the places that the proof names, and the element it looks at does not run ahead
        cut_c1_s4: while a member of cta[t = 0] is held at `sync own[c]`, everybody else stops at the places that the proof names, and the element it looks at does not run ahead
        alternates_c1_s5: in cta[t = 0], every arrival is waited for before the next, at `sync own[c]`
        progress: no combination of places leaves a member blocked and no member able to go on
        progress_after_all_copies: no combination of places leaves a member blocked and no member able to go on
      assumptions:
        C >= 1
        T >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: rule cut
      decided by cut rule in [time]
    --- stderr
    ");
}

#[test]
fn a_branch_for_a_cta_that_there_is_not_is_named() {
    let folder = Folder::new();
    folder.file("meet.wlk", MEET);
    insta::assert_snapshot!(folder.run(&["check", "meet.wlk"]), @"
    exit 0
    --- stdout
    meet.wlk: deadlock: PROVED for every C >= 1 and schedule: all 22 obligations of the kernel hold
      notes: no run reaches `wait met >= 100` in line 12, so the proof says nothing about it
      assumptions:
        C >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: kernel
      decided by kernel in [time]
    --- stderr
    ");
}

#[test]
fn a_branch_that_no_cta_in_turn_takes_is_named() {
    let folder = Folder::new();
    let never = TURNS.replace(
        "if t == 0 {",
        "if c >= C {\n        wait turn == 100\n    }\n    if t == 0 {",
    );
    folder.file("never.wlk", never);
    insta::assert_snapshot!(folder.run(&["check", "never.wlk"]), @"
    exit 0
    --- stdout
    never.wlk: deadlock: PROVED for every C >= 1, T >= 1 and schedule: all 21 obligations of the cut rule hold
      notes: no run reaches `wait turn == 100` in line 12, so the proof says nothing about it
      assumptions:
        C >= 1
        T >= 1
        a resident CTA that can go on eventually does
        semaphore operations are atomic and seen in one order by everyone
      checked by: rule cut
      decided by cut rule in [time]
    --- stderr
    ");
}

#[test]
fn turns_in_the_wrong_order_hang() {
    let folder = Folder::new();
    folder.file(
        "wrong.wlk",
        TURNS.replace("wait turn == c", "wait turn == c + 1"),
    );
    insta::assert_snapshot!(folder.run(&["check", "wrong.wlk", "--counterexamples", "2"]), @"
    exit 1
    --- stdout
    wrong.wlk: deadlock: REFUTED at C = 1, T = 1: cta[0][0] waits for turn == 1 (line 12), but turn stays 0 and nobody adds to it: only cta[0][0] itself would, after that wait
        --> wrong.wlk:12
      12 |         wait turn == c + 1
      element  start  now  waited for              changed by             completes
      turn     0      0    cta[0][0] == 1 (never)  cta[0][0] + 1 (never)  no
      trace:
        1  cta[0][0]  arrives at own[0] as the last  (line 10)
        2  cta[0][0]  passes own[0]  (line 10)
      minimal: smallest by (C, T) among C in 1..=5, T in 1..=5; there are no smaller ones
      further counterexamples: at C = 1, T = 2: blocked are cta[0][0] at line 12 (turn == 1, found 0), cta[0][1] at line 15 (own[0] a completed generation, found 1 pending, arrived: cta[0][1])
      assumptions: C >= 1; T >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by adversarial schedules in [time]
    --- stderr
    ");
}
