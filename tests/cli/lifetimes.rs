//! Data without room, pools that are kept and CTAs that have exited, on the command line.

use crate::support::program::Folder;

/// What `check -q` and `explore -q` say of a property.
fn shown(text: &str, property: &str, set: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let check = ["check", "-q", "p.wlk", "--property", property];
    let mut explore = vec!["explore", "-q", "p.wlk", "--property", property];
    for value in set {
        explore.extend(["--set", value]);
    }
    let check: Vec<&str> = check.into_iter().chain(["--witness", "w"]).collect();
    format!("{}\n{}", folder.run(&check), folder.run(&explore))
}

const ACCUMULATOR: &str = "protocol p

param T in 1..

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
barrier cta { arrivals: T + 1 }

role alloc {
    acquire columns 512 backing acc
    sync cta
    sync cta
    release columns 512 backing acc
}

role use[t in 0..T] {
    sync cta
    read acc
    sync cta
}
";

#[test]
fn data_is_used_between_the_two() {
    insta::assert_snapshot!(shown(ACCUMULATOR, "resources", &["T=2"]), @"
    exit 0
    --- stdout
    p.wlk: resources: PROVED for every T >= 1 and schedule: all 18 obligations of the cut rule hold
    --- stderr

    exit 0
    --- stdout
    p.wlk: no violation of resources, 1 input and 34 states searched completely
    --- stderr
    ");
}

#[test]
fn data_is_used_when_its_room_may_be_gone() {
    let text = ACCUMULATOR.replace("read acc\n    sync cta", "sync cta\n    read acc");
    insta::assert_snapshot!(shown(&text, "resources", &["T=1"]), @"
    exit 1
    --- stdout
    p.wlk: resources: REFUTED at T = 1: the read by use[0] at line 19 of acc is out of place: alloc may have given it up at line 13 by then: nothing makes it wait for this access to end
    --- stderr

    exit 1
    --- stdout
    p.wlk: an input violates resources, 1 input and 18 states searched up to the first violation
      at T = 1: the read by use[0] at line 19 of acc is out of place: alloc may have given it up at line 13 by then: nothing makes it wait for this access to end
    --- stderr
    ");
}

#[test]
fn data_is_used_before_there_is_room() {
    let text = ACCUMULATOR.replace("sync cta\n    read acc", "read acc\n    sync cta");
    insta::assert_snapshot!(shown(&text, "resources", &["T=1"]), @"
    exit 1
    --- stdout
    p.wlk: resources: REFUTED at T = 1: the read by use[0] at line 17 of acc is out of place: nothing makes this wait until alloc has made room for it at line 10
    --- stderr

    exit 1
    --- stdout
    p.wlk: an input violates resources, 1 input and 1 state searched up to the first violation
      at T = 1: the read by use[0] at line 17 of acc is out of place: nothing makes this wait until alloc has made room for it at line 10
    --- stderr
    ");
}

#[test]
fn room_is_made_twice() {
    let twice = "acquire columns 256 backing acc\n    acquire columns 256 backing acc";
    let text = ACCUMULATOR.replace("acquire columns 512 backing acc", twice);
    insta::assert_snapshot!(shown(&text, "resources", &["T=1"]), @"
    exit 1
    --- stdout
    p.wlk: resources: REFUTED at T = 1: acc gets room while it has some: alloc at line 11
    --- stderr

    exit 1
    --- stdout
    p.wlk: an input violates resources, 1 input and 3 states searched up to the first violation
      at T = 1: acc gets room while it has some: alloc at line 11
    --- stderr
    ");
}

#[test]
fn a_pool_is_not_whole_in_the_end() {
    let text = ACCUMULATOR.replace("release columns 512", "release columns 256");
    insta::assert_snapshot!(shown(&text, "resources", &["T=1"]), @"
    exit 1
    --- stdout
    p.wlk: resources: REFUTED at T = 1: 256 of columns are not given back when everybody has finished: alloc takes 256 more than it gives back, the last ones at line 10
    --- stderr

    exit 1
    --- stdout
    p.wlk: an input violates resources, 1 input and 18 states searched up to the first violation
      at T = 1: 256 of columns are not given back when everybody has finished: alloc takes 256 more than it gives back, the last ones at line 10
    --- stderr
    ");
}

const HANDED_BACK: &str = "protocol p

param T in 1..

mbarrier go[c in 0..2] { arrivals: 1 } cta c
mbarrier back[c in 0..2] { arrivals: T } cta c

role leader cta 0 {
    arrive go[1]
    wait back[0] 0
}

role worker[t in 0..T] cta 1 {
    wait go[1] 0
    arrive back[0]
}
";

#[test]
fn a_wait_keeps_the_cta() {
    insta::assert_snapshot!(shown(HANDED_BACK, "uninitialized", &["T=2"]), @"
    exit 0
    --- stdout
    p.wlk: uninitialized: PROVED for every T >= 1 and schedule: all 14 obligations of the cut rule hold
    --- stderr

    exit 0
    --- stdout
    p.wlk: no violation of uninitialized, 1 input and 8 states searched completely
    --- stderr
    ");
}

#[test]
fn a_remote_arrival_comes_too_late() {
    let text = HANDED_BACK.replace("    wait back[0] 0\n", "");
    insta::assert_snapshot!(shown(&text, "uninitialized", &["T=1"]), @"
    exit 1
    --- stdout
    p.wlk: uninitialized: REFUTED at T = 1: worker[0] uses back[0] at line 14, whose CTA may have exited by then: a cluster barrier before the end, or a wait for this there, would keep it
    --- stderr

    exit 1
    --- stdout
    p.wlk: an input violates uninitialized, 1 input and 2 states searched up to the first violation
      at T = 1: worker[0] uses back[0] at line 14, whose CTA may have exited by then: a cluster barrier before the end, or a wait for this there, would keep it
    --- stderr
    ");
}

#[test]
fn what_backs_nothing_is_refused() {
    let folder = Folder::new();
    let text = ACCUMULATOR.replace(
        "acquire columns 512 backing acc",
        "acquire columns 512 backing x, acc[0]",
    );
    folder.file(
        "p.wlk",
        text.replace("release: mandatory", "release: sometimes"),
    );
    insta::assert_snapshot!(folder.run(&["check", "p.wlk"]), @"
    exit 2
    --- stdout
    --- stderr
    Error: expected `mandatory`, found `sometimes`
       ╭─[ p.wlk:5:31 ]
       │
     5 │ pool columns = 512 { release: sometimes }
       │                               ────┬────  
       │                                   ╰────── expected `mandatory`
    ───╯
    ");
    folder.file("p.wlk", text);
    insta::assert_snapshot!(folder.run(&["check", "p.wlk"]), @"
    exit 2
    --- stdout
    --- stderr
    Error: `x` is not declared data
        ╭─[ p.wlk:10:33 ]
        │
     10 │     acquire columns 512 backing x, acc[0]
        │                                 ┬  
        │                                 ╰── expected a buffer
        │ 
        │ Help: declare it with `buffer x`
    ────╯
    Error: `acc` has 0 indices, not 1
        ╭─[ p.wlk:10:36 ]
        │
      6 │ buffer acc { memory: tensor }
        │ ──────────────┬──────────────  
        │               ╰──────────────── declared here
        │ 
     10 │     acquire columns 512 backing x, acc[0]
        │                                    ───┬──  
        │                                       ╰──── expected at most 0 indices
    ────╯
    ");
    folder.file("p.wlk", HANDED_BACK.replace("} cta c", "} cta d"));
    insta::assert_snapshot!(folder.run(&["check", "p.wlk"]), @"
    exit 2
    --- stdout
    --- stderr
    Error: unknown name `d`
       ╭─[ p.wlk:5:44 ]
       │
     5 │ mbarrier go[c in 0..2] { arrivals: 1 } cta d
       │                                            ┬  
       │                                            ╰── not declared
       │ 
       │ Help: a value that may vary is declared with `param d in 1..`
    ───╯
    Error: unknown name `d`
       ╭─[ p.wlk:6:46 ]
       │
     6 │ mbarrier back[c in 0..2] { arrivals: T } cta d
       │                                              ┬  
       │                                              ╰── not declared
       │ 
       │ Help: a value that may vary is declared with `param d in 1..`
    ───╯
    ");
}

#[test]
fn what_is_given_back_may_differ_between_iterations() {
    // 10 are gone after the first iteration, whatever the amount of the last one.
    let text = "protocol p

param N in 0..

pool p = 10

role worker {
    acquire p 10
    for i in 0..N {
        release p (if i == 0 then 10 else 0)
        if i == 1234 {
            release p 10
        }
    }
}
";
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let check = ["check", "-q", "p.wlk", "--property", "resources"];
    insta::assert_snapshot!(folder.run(&check), @"
    exit 1
    --- stdout
    p.wlk: resources: REFUTED at N = 1235: worker at p in line 12: 10 given back where 0 are taken
    --- stderr
    ");
}

const PER_TILE: &str = "protocol p

param N in 0..

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
mbarrier full { arrivals: 1 }
mbarrier done { arrivals: 1 }

role mma {
    for i in 0..N {
        acquire columns 512 backing acc
        async mma writes acc
        commit full
        wait done i % 2
        release columns 512 backing acc
    }
}

role store {
    for i in 0..N {
        wait full i % 2
        read acc
        arrive done
    }
}
";

#[test]
fn room_is_made_for_every_tile() {
    insta::assert_snapshot!(shown(PER_TILE, "resources", &["N=3"]), @"
    exit 0
    --- stdout
    p.wlk: resources: PROVED for every N >= 0 and schedule: all 25 obligations of the cut rule hold
    --- stderr

    exit 0
    --- stdout
    p.wlk: no violation of resources, 1 input and 22 states searched completely
    --- stderr
    ");
}

#[test]
fn room_that_is_made_again_is_gone_in_between() {
    let text = PER_TILE.replace(
        "        read acc\n        arrive done\n",
        "        arrive done\n        read acc\n",
    );
    insta::assert_snapshot!(shown(&text, "resources", &["N=1"]), @"
    exit 1
    --- stdout
    p.wlk: resources: REFUTED at N = 1: the read by store at line 24 of acc is out of place: mma may have given it up at line 16 by then: nothing makes it wait for this access to end
    --- stderr

    exit 1
    --- stdout
    p.wlk: an input violates resources, 1 input and 7 states searched up to the first violation
      at N = 1: the read by store at line 24 of acc is out of place: mma may have given it up at line 16 by then: nothing makes it wait for this access to end
    --- stderr
    ");
}
