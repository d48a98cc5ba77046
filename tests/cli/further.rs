//! Several counterexamples of one property beside deadlock.

use crate::support::program::Folder;

const TWO_RACES: &str = "protocol two

param T in 1..

buffer a
buffer b[2]

role left[t in 0..T] {
    write a
    write b[t % 2]
}

role right {
    read b[0]
    write a
}
";

#[test]
fn races_differ_in_what_they_are_about() {
    let folder = Folder::new();
    folder.file("two.wlk", TWO_RACES);
    let check = ["check", "two.wlk", "--property", "race"];
    let many = [&check[..], &["--counterexamples", "3", "--witness", "w"]].concat();
    insta::assert_snapshot!(folder.run(&many), @"
    exit 1
    --- stdout
    two.wlk: race: REFUTED at T = 1: b[0]: the write by left[0] at line 10 and the read by right at line 14 are not ordered: an arrival of left[0] after line 10 that right waits for before line 14 would order them
        --> two.wlk:14
      14 |     read b[0]
      minimal: smallest by (T) among T in 1..=5; there are no smaller ones
      further counterexamples:
        at T = 1: a: the write by left[0] at line 9 and the write by right at line 15 are not ordered: an arrival of left[0] after line 9 that right waits for before line 15 would order them; witness w/two-race-[digest].json
        at T = 2: a: the write by left[0] at line 9 and the write by left[1] at line 9 are not ordered: an arrival of left[0] after line 9 that left[1] waits for before line 9 would order them; witness w/two-race-[digest].json
      assumptions: T >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      witness: w/two-race-[digest].json (replay it with: warplock replay w/two-race-[digest].json)
      decided by runs with somebody held in [time]
    --- stderr
    ");
    for witness in std::fs::read_dir(folder.path().join("w")).unwrap() {
        let path = witness.unwrap().path();
        let shown = folder.run(&["replay", "-q", path.to_str().unwrap()]);
        assert!(shown.starts_with("exit 0\n"), "{shown}");
    }
}

#[test]
fn fewer_than_were_asked_for_are_said_to_be() {
    let folder = Folder::new();
    folder.file("two.wlk", TWO_RACES);
    let check = ["check", "two.wlk", "--property", "race"];
    let many = [&check[..], &["--counterexamples", "99"]].concat();
    let shown = folder.run(&many);
    let notes: Vec<&str> = shown.lines().filter(|l| l.contains("asked for")).collect();
    insta::assert_snapshot!(notes.join("\n"), @"  notes: 4 counterexamples of the 99 asked for: no other was found that differs in more than its values");
}

const EARLY: &str = "protocol early

param N in 1..

mbarrier a { arrivals: 2 }
mbarrier b { arrivals: 2 }

role worker[n in 0..N] {
    arrive a
    wait a 0
    arrive b
    wait b 0
}
";

#[test]
fn arrivals_differ_in_their_barriers() {
    let folder = Folder::new();
    folder.file("early.wlk", EARLY);
    let check = ["check", "early.wlk", "--property", "early_completion"];
    let many = [&check[..], &["--counterexamples", "2"]].concat();
    let shown = folder.run(&many);
    let told = shown.lines().skip_while(|l| !l.contains("counterexamples"));
    let told: Vec<&str> = told.take(2).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    further counterexamples: at N = 3: generation 1 of b can complete without the arrival of worker[2] at line 11: it counts in generation 1 in one run and in generation 2 in another
    assumptions: N >= 1; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
    ");
}
