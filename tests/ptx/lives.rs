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
    // The life is followed. That the second warp is lapped is another matter.
    let met = under_a_condition(1, "%r1", "bar.sync 1, 64;", "");
    assert!(met.contains("warp1 is lapped"), "{met}");
    // A warp that arrives and then waits completes the barrier by itself.
    let alone = "bar.arrive 1, 64;\nbar.sync 1, 64;";
    let alone = under_a_condition(1, "%r1", alone, "");
    assert!(
        alone.contains("the mbarrier may be used behind this"),
        "{alone}"
    );
    let all = "bar.arrive 0, 64;\nbar.sync 0;";
    let all = under_a_condition(2, "%r6", all, "bar.sync 0;");
    assert!(
        all.contains("the mbarrier may be used behind this"),
        "{all}"
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
    for (rounds, said) in [
        ("3", "PROVED for every schedule"),
        ("2", "PROVED for every schedule"),
        ("%r2", "PROVED for every n in 0..=1073741823 and schedule"),
    ] {
        assert_eq!(anew_in_two_loops(rounds, ""), said);
    }
    let twice =
        "an mbarrier is initialised more than once, which is undefined while it is one already";
    let other = "@%p3 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n";
    let said = anew_in_two_loops("1", other);
    assert!(
        said.starts_with("UNKNOWN line ") && said.ends_with(twice),
        "{said}"
    );
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

/// In each of `n` tiles a ring of two mbarriers begins, is gone through in `rounds` rounds, and ends.
fn ring_in_each_tile(rounds: &str, second: &str, both: &str, behind: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.eq.u32 %p3, %r1, 32;\nld.param.u32 %r3, [data];\nmov.u32 %r20, bar;\nmov.u32 %r5, 0;\n\
             TILE:\nsetp.ge.s32 %p4, %r5, %r2;\n@%p4 bra END;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+8], 1;\nbar.sync 0;\n\
             mov.u32 %r6, 0;\nROUND:\nsetp.ge.s32 %p5, %r6, {rounds};\n@%p5 bra DONE;\n\
             and.b32 %r7, %r6, 1;\nshl.b32 %r8, %r7, 3;\nadd.u32 %r9, %r20, %r8;\nshr.u32 %r10, %r6, 1;\nand.b32 %r10, %r10, 1;\n\
             {second}\n{both}\nbar.sync 0;\nadd.u32 %r6, %r6, 1;\nbra.uni ROUND;\nDONE:\n{behind}\n\
             @!%p1 mbarrier.inval.shared.b64 [bar];\n@!%p1 mbarrier.inval.shared.b64 [bar+8];\n\
             add.u32 %r5, %r5, 1;\nbra.uni TILE;\nEND:\n"
        ),
    )
}

/// Where a life has gone through three rounds of a ring of two, the next one begins at another mbarrier and parity.
#[test]
fn a_ring_in_each_tile() {
    let arrive = "@%p3 mbarrier.arrive.shared.b64 _, [%r9];";
    let wait = "W:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r10;\n@!%p9 bra W;";
    let meet = "bar.sync 0;";
    insta::assert_snapshot!(ring_in_each_tile("%r3", arrive, wait, meet), @"PROVED for every n in 0..=1073741823, data_at_0 in 0..=1073741823 and schedule");
    insta::assert_snapshot!(ring_in_each_tile("3", arrive, wait, meet), @"PROVED for every n in 0..=1073741823 and schedule");
    // It hangs in the first tile.
    let early = "V:\nmbarrier.try_wait.parity.shared.b64 %p8, [%r9], %r10;\n@!%p8 bra V;\n";
    let hangs = ring_in_each_tile("%r3", "", &format!("{early}{arrive}"), meet);
    assert!(hangs.starts_with("REFUTED at n = 1"), "{hangs}");
    // No wait for the last phase; one arrival more in a round, in a tile, or in all but one round; a parity that goes on from
    // tile to tile; more rounds in later tiles; no meeting before the end.
    let last = "sub.s32 %r12, %r3, 1;\nsetp.ge.s32 %p7, %r6, %r12;\n@%p7 bra ON;\n";
    let skips = format!("{last}{wait}\nON:");
    let more = format!("{arrive}\n{arrive}");
    let fewer = "sub.s32 %r12, %r3, 1;\nsetp.lt.s32 %p7, %r6, %r12;\nand.pred %p7, %p7, %p3;\n@%p7 mbarrier.arrive.shared.b64 _, [%r9];";
    let behind = "@%p3 mbarrier.arrive.shared.b64 _, [bar];\nbar.sync 0;";
    let on = format!(
        "mad.lo.u32 %r13, %r5, %r3, %r6;\nshr.u32 %r10, %r13, 1;\nand.b32 %r10, %r10, 1;\n{wait}"
    );
    for (rounds, second, both, behind) in [
        ("%r3", arrive, skips.as_str(), meet),
        ("%r3", more.as_str(), wait, meet),
        ("%r3", arrive, wait, behind),
        ("%r3", fewer, wait, meet),
        ("%r3", arrive, on.as_str(), meet),
        ("%r5", arrive, wait, meet),
        ("%r3", arrive, wait, ""),
    ] {
        let said = ring_in_each_tile(rounds, second, both, behind);
        assert!(said.starts_with("UNKNOWN line "), "{said}");
    }
}

/// A life of a single mbarrier goes through some phases in each tile.
#[test]
fn phases_of_one_mbarrier_in_each_tile() {
    let parity = "and.b32 %r10, %r6, 1;\n";
    let arrive = "@%p3 mbarrier.arrive.shared.b64 _, [bar];";
    let wait =
        format!("{parity}W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], %r10;\n@!%p9 bra W;");
    insta::assert_snapshot!(ring_in_each_tile("%r3", arrive, &wait, "bar.sync 0;"), @"PROVED for every n in 0..=1073741823, data_at_0 in 0..=1073741823 and schedule");
    let ahead = wait.replace(
        "and.b32 %r10, %r6, 1;",
        "add.u32 %r10, %r6, 1;\nand.b32 %r10, %r10, 1;",
    );
    let said = ring_in_each_tile("%r3", arrive, &ahead, "bar.sync 0;");
    assert!(said.starts_with("UNKNOWN line "), "{said}");
}

/// One life is used in a loop, and a second one begins behind it.
fn again_behind_a_loop(in_loop: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.eq.u32 %p3, %r1, 32;\n@!%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n\
             mov.u32 %r5, 0;\nLOOP:\n@%p3 mbarrier.arrive.shared.b64 _, [bar];\nand.b32 %r6, %r5, 1;\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar], %r6;\n@!%p9 bra W;\nbar.sync 0;\n{in_loop}\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p5, %r5, %r2;\n@%p5 bra LOOP;\n\
             @!%p1 mbarrier.inval.shared.b64 [bar];\n@!%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n\
             @%p3 mbarrier.arrive.shared.b64 _, [bar];\n\
             V:\nmbarrier.try_wait.parity.shared.b64 %p8, [bar], 0;\n@!%p8 bra V;\n"
        ),
    )
}

/// Every use in a round comes before a meeting of that round, or it does not.
#[test]
fn a_life_that_ends_behind_a_loop() {
    insta::assert_snapshot!(again_behind_a_loop(""), @"PROVED for every n in 0..=1073741823 and schedule");
    let late = "U:\nmbarrier.try_wait.parity.shared.b64 %p7, [bar], %r6;\n@!%p7 bra U;";
    let said = again_behind_a_loop(late);
    assert!(said.starts_with("UNKNOWN line "), "{said}");
}
