//! Lives of mbarriers: under a condition of the launch, and anew in each round of a loop.

use crate::graph_misuse::shown;
use crate::graph_misuse::verdict;

/// Where the launch says so, an mbarrier begins, some threads arrive in each round and both warps wait, and it ends.
fn under_a_condition(count: u32, arrives: &str, before_its_end: &str, behind: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], {count};\nbar.sync 0;\nmov.b32 %r5, 0;\nand.b32 %r6, %r1, 31;\n\
             setp.eq.u32 %p3, {arrives}, 0;\n\
             LOOP:\nand.b32 %r7, %r5, 1;\n@%p3 mbarrier.arrive.shared.b64 _, [bar];\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar], %r7;\n@!%p4 bra W;\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p5, %r5, %r2;\n@%p5 bra LOOP;\n{before_its_end}\n\
             @!%p1 mbarrier.inval.shared.b64 [bar];\nEND:\n{behind}\n"
        ),
    )
}

#[test]
fn a_life_that_the_launch_decides_about() {
    insta::assert_snapshot!(
        under_a_condition(2, "%r6", "bar.sync 0;", "bar.sync 0;"),
        @"PROVED for every n in 0..=1073741823 and schedule"
    );
    let early = under_a_condition(1, "%r1", "", "");
    assert!(
        early.contains("the mbarrier may be used behind this"),
        "{early}"
    );
}

/// In each of `n` rounds an mbarrier begins, the second warp does something with it, the first one waits, and it ends.
fn anew(count: u32, second: &str, first: &str, end: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r1, 32;\nmov.b32 %r5, 0;\nbar.sync 0;\n\
             setp.lt.s32 %p4, %r2, 1;\n@%p4 bra END;\n\
             LOOP:\n@!%p1 mbarrier.init.shared.b64 [bar], {count};\nbar.sync 0;\n\
             @!%p2 bra FIRST;\n{second}\nbra.uni MET;\nFIRST:\n{first}\nMET:\n{end}\n\
             @!%p1 mbarrier.inval.shared.b64 [bar];\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p5, %r5, %r2;\n@%p5 bra LOOP;\nEND:\n"
        ),
    )
}

#[test]
fn a_life_in_each_round() {
    let arrive = "@%p3 mbarrier.arrive.shared.b64 _, [bar];";
    let wait = "W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], 0;\n@!%p9 bra W;";
    let other = wait.replace("W:", "V:").replace("bra W", "bra V");
    let meet = "bar.sync 0;";
    insta::assert_snapshot!(anew(1, arrive, wait, meet), @"PROVED for every n in 0..=1073741823 and schedule");
    // Both wait.
    insta::assert_snapshot!(anew(1, &format!("{arrive}\n{other}"), wait, meet), @"PROVED for every n in 0..=1073741823 and schedule");
    // The wait for what nobody does hangs.
    let late = wait.replace("[bar], 0", "[bar], 1");
    let both = format!(
        "{wait}\n{}",
        late.replace("W:", "L:").replace("bra W", "bra L")
    );
    insta::assert_snapshot!(anew(1, arrive, &both, meet), @"REFUTED at n = 1: bar completes once, and warp0 waits for one more (line 35): warp1 arrives once and not again");
    // An arrival too few or too many, none in some rounds, no wait, no meeting before the end.
    let some = "and.b32 %r6, %r5, 1;\nsetp.eq.u32 %p7, %r6, 0;\nand.pred %p7, %p7, %p3;\n@%p7 mbarrier.arrive.shared.b64 _, [bar];";
    for (count, second, first, end) in [
        (2, arrive, wait, meet),
        (1, &format!("{arrive}\n{arrive}") as &str, wait, meet),
        (1, some, wait, meet),
        (1, arrive, "", meet),
        (1, arrive, wait, ""),
    ] {
        let said = anew(count, second, first, end);
        assert!(
            said.contains("an mbarrier is initialised more than once"),
            "{said}"
        );
    }
}

/// The mbarrier begins only where the launch says so, and is used whatever it says.
#[test]
fn a_use_without_a_beginning() {
    insta::assert_snapshot!(
        verdict(
            64,
            "setp.ne.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra MET;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\nMET:\nbar.sync 0;\n\
             @!%p1 mbarrier.arrive.shared.b64 _, [bar];\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], 0;\n@!%p9 bra W;\n"
        ),
        @"REFUTED at n = 0: nobody initialises bar, for which warp0 waits (line 25)"
    );
}

/// In each of two rounds, `rounds` lives begin and end.
fn anew_in_two_loops(rounds: &str, begins_again: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.eq.u32 %p3, %r1, 32;\nmov.b32 %r6, 0;\nbar.sync 0;\n\
             OUTER:\nmov.b32 %r5, 0;\nLOOP:\n@!%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n{begins_again}\
             @%p3 mbarrier.arrive.shared.b64 _, [bar];\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], 0;\n@!%p9 bra W;\nbar.sync 0;\n\
             @!%p1 mbarrier.inval.shared.b64 [bar];\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p5, %r5, {rounds};\n@%p5 bra LOOP;\n\
             add.u32 %r6, %r6, 1;\nsetp.lt.s32 %p6, %r6, 2;\n@%p6 bra OUTER;\n"
        ),
    )
}

/// Three lives leave another parity behind than two do. What another warp begins lives already.
#[test]
fn a_life_in_each_round_of_two_loops() {
    let twice =
        "an mbarrier is initialised more than once, which is undefined while it is one already";
    let other = "@%p3 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n";
    for (rounds, begins_again) in [("3", ""), ("2", ""), ("%r2", ""), ("1", other)] {
        let said = anew_in_two_loops(rounds, begins_again);
        assert!(
            said.starts_with("UNKNOWN line ") && said.ends_with(twice),
            "{said}"
        );
    }
    let once = anew(
        1,
        "@%p3 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 1, 32;\n@%p3 mbarrier.arrive.shared.b64 _, [bar];",
        "W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], 0;\n@!%p9 bra W;",
        "bar.sync 0;",
    );
    assert!(
        once.starts_with("UNKNOWN line ") && once.ends_with(twice),
        "{once}"
    );
}

/// Whether a round has a second meeting, at which nobody is stuck, is decided by a number that occurs nowhere else: what is
/// taken for granted of it is said.
#[test]
fn what_decides_about_meetings_that_are_left_out() {
    let code = "setp.ne.u32 %p1, %r1, 0;\nld.param.u32 %r3, [data];\n@!%p1 mbarrier.init.shared.b64 [bar], 2;\nbar.sync 0;\n\
        setp.lt.s32 %p4, %r2, 1;\n@%p4 bra END;\nmax.s32 %r3, %r3, 1;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\n\
        sub.s32 %r7, %r3, 1;\nsetp.eq.u32 %p3, %r31, 0;\n\
        LOOP:\nbar.sync 0;\n@%p3 mbarrier.arrive.shared.b64 _, [bar];\nsetp.ne.u32 %p5, %r6, %r7;\n@%p5 bra ON;\nbar.sync 0;\n\
        ON:\nadd.u32 %r8, %r6, 1;\nsetp.eq.u32 %p6, %r6, %r7;\nselp.b32 %r6, 0, %r8, %p6;\nand.b32 %r9, %r5, 1;\n\
        W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], %r9;\n@!%p9 bra W;\n\
        add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p7, %r5, %r2;\n@%p7 bra LOOP;\nEND:";
    let shown = shown(64, code);
    assert!(
        shown.contains("PROVED for every n in 0..=1073741823 and schedule"),
        "{shown}"
    );
    assert!(
        shown.contains("data at byte 0 lies in 0..=1073741823"),
        "{shown}"
    );
}
