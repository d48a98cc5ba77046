//! Assertions and invariants on the command line.

use crate::support::program::Folder;

const BROKEN: &str = "protocol p

param N in 1..

semaphore done[2] = 0

invariant [i in 0..2] done[i] <= 1

role worker[n in 0..N] {
    done[1] += 1
}
";

#[test]
fn a_broken_invariant_is_told_with_the_values_it_is_about() {
    let folder = Folder::new();
    folder.file("p.wlk", BROKEN);
    let shown = folder.run(&[
        "check",
        "p.wlk",
        "--property",
        "assertion",
        "--witness",
        "w",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    p.wlk: assertion: REFUTED at N = 2: the invariant `done[i] <= 1` of line 7 does not hold with i = 1, done[1] = 2
       --> p.wlk:7
      7 | invariant [i in 0..2] done[i] <= 1
      trace:
        1  worker[0]  adds 1: done[1] 0 -> 1  (line 10)
        2  worker[1]  adds 1: done[1] 1 -> 2  (line 10)
      minimal: smallest by (N) among N in 1..=5; the only smaller one was explored exhaustively
      assumptions: N >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      witness: w/p-assertion-[digest].json (replay it with: warplock replay w/p-assertion-[digest].json)
      decided by runs with somebody held in [time]
    --- stderr
    ");
    let shown = folder.run(&[
        "explore",
        "-q",
        "p.wlk",
        "--property",
        "assertion",
        "--set",
        "N=1",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 0
    --- stdout
    p.wlk: no violation of assertion, 1 input and 2 states searched completely
    --- stderr
    ");
    let shown = folder.run(&[
        "explore",
        "-q",
        "p.wlk",
        "--property",
        "assertion",
        "--set",
        "N=2",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    p.wlk: an input violates assertion, 1 input and 3 states searched up to the first violation
      at N = 2: the invariant `done[i] <= 1` of line 7 does not hold with i = 1, done[1] = 2
    --- stderr
    ");
}

#[test]
fn an_assertion_names_who_makes_it() {
    let folder = Folder::new();
    let text = BROKEN.replace("invariant [i in 0..2] done[i] <= 1\n\n", "");
    let text = text.replace("done[1] += 1\n", "done[1] += 1\n    assert done[1] == 1\n");
    folder.file("p.wlk", text);
    let shown = folder.run(&[
        "check",
        "-q",
        "p.wlk",
        "--property",
        "assertion",
        "--witness",
        "w",
    ]);
    insta::assert_snapshot!(shown, @"
    exit 1
    --- stdout
    p.wlk: assertion: REFUTED at N = 2: worker[0] asserts `done[1] == 1` at line 9, which does not hold with done[1] = 2
    --- stderr
    ");
}

#[test]
fn claims_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    let claims = [
        "invariant done <= 1",
        "invariant done[0] + 1",
        "invariant count(i in 0..2 where done[i] > 0) <= 1",
        "invariant done[done[0]] == 0",
    ];
    let claims = claims.join("\n");
    folder.file(
        "p.wlk",
        BROKEN.replace("invariant [i in 0..2] done[i] <= 1", &claims),
    );
    let shown = folder.run(&["check", "p.wlk"]);
    insta::assert_snapshot!(shown, @"
    exit 2
    --- stdout
    --- stderr
    Error: `done` has 1 index, not 0
       ╭─[ p.wlk:7:11 ]
       │
     5 │ semaphore done[2] = 0
       │ ──────────┬──────────  
       │           ╰──────────── declared here
       │ 
     7 │ invariant done <= 1
       │           ──┬─  
       │             ╰─── expected 1 index
    ───╯
    Error: this is an integer
       ╭─[ p.wlk:8:11 ]
       │
     8 │ invariant done[0] + 1
       │           ─────┬─────  
       │                ╰─────── expected a truth value
       │ 
       │ Help: compare it with something, as in `x != 0`
    ───╯
    Error: an index in a claim depends on a count or on an object
       ╭─[ p.wlk:9:11 ]
       │
     9 │ invariant count(i in 0..2 where done[i] > 0) <= 1
       │           ───────────────────┬───────────────────  
       │                              ╰───────────────────── expected parameters and names of the role or the invariant
       │ 
       │ Help: `invariant [i in 0..N] C` claims `C` for every `i`
    ───╯
    Error: an index in a claim depends on a count or on an object
        ╭─[ p.wlk:10:11 ]
        │
     10 │ invariant done[done[0]] == 0
        │           ─────────┬────────  
        │                    ╰────────── expected parameters and names of the role or the invariant
        │ 
        │ Help: `invariant [i in 0..N] C` claims `C` for every `i`
    ────╯
    ");
}
