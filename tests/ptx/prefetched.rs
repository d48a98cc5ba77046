//! Rings of which the first rounds come before a loop, and the others in it, up to the last ones.

use crate::graph_misuse::verdict;
use crate::graph_misuse::verdict_by;

/// The second warp waits `n` times for `full` and gives back `empty`. The first one has the other sides, of which it does up to two
/// rounds before its loop. In the loop it does one if `%p6` says so, which `goes_on` computes of its rounds so far, `%r5`, and of
/// the index `%r8`.
fn ring(prologue: &str, goes_on: &str) -> String {
    let round = "mad.lo.u32 %r9, %r6, 8, %r20;\n";
    let produce = |label: &str| {
        format!(
            "{round}{label}:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9+16], %r7;\n@!%p9 bra {label};\n\
             @!%p1 mbarrier.arrive.shared.b64 _, [%r9];\nadd.u32 %r10, %r6, 1;\nsetp.eq.u32 %p7, %r10, 2;\n\
             selp.b32 %r6, 0, %r10, %p7;\nselp.b32 %r11, 1, 0, %p7;\nxor.b32 %r7, %r7, %r11;\nadd.u32 %r5, %r5, 1;\n"
        )
    };
    let (early, late) = (produce("EARLY"), produce("LATE"));
    let prologue = prologue.replace("PRODUCE", &early);
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r1, 32;\nmov.u32 %r20, bar;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+8], 1;\n\
             @!%p1 mbarrier.init.shared.b64 [bar+16], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+24], 1;\nbar.sync 0;\n\
             mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r8, 0;\n@%p2 bra CONSUMER;\nmov.u32 %r7, 1;\n\
             {prologue}\nAGAIN:\nsetp.ge.s32 %p5, %r8, %r2;\n@%p5 bra END;\n{goes_on}\n@!%p6 bra NEXT;\n{late}\
             NEXT:\nadd.u32 %r8, %r8, 1;\nbra AGAIN;\n\
             CONSUMER:\nmov.u32 %r7, 0;\n\
             TAKE:\nsetp.ge.s32 %p5, %r8, %r2;\n@%p5 bra END;\n{round}\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r7;\n@!%p9 bra W;\n\
             @%p3 mbarrier.arrive.shared.b64 _, [%r9+16];\nadd.u32 %r10, %r6, 1;\nsetp.eq.u32 %p7, %r10, 2;\n\
             selp.b32 %r6, 0, %r10, %p7;\nselp.b32 %r11, 1, 0, %p7;\nxor.b32 %r7, %r7, %r11;\n\
             add.u32 %r8, %r8, 1;\nbra TAKE;\nEND:\n"
        ),
    )
}

/// Up to two rounds, in a loop that is tested at its beginning.
const PROLOGUE: &str = "min.s32 %r3, %r2, 2;\nFIRST:\nsetp.ge.s32 %p4, %r5, %r3;\n@%p4 bra MAIN;\nPRODUCE\nbra FIRST;\nMAIN:";

/// The same behind a branch, tested at its end: registers behind the branch are those of the loop, or what they were at first.
const BEHIND_A_BRANCH: &str = "setp.lt.s32 %p4, %r2, 1;\n@%p4 bra MAIN;\nmin.u32 %r3, %r2, 2;\nneg.s32 %r12, %r3;\n\
     FIRST:\nPRODUCE\nadd.s32 %r12, %r12, 1;\nsetp.ne.b32 %p4, %r12, 0;\n@%p4 bra FIRST;\nMAIN:";

#[test]
fn rounds_before_a_loop_and_in_its_first_iterations() {
    let goes_on = "setp.lt.s32 %p6, %r5, %r2;";
    insta::assert_snapshot!(ring(PROLOGUE, goes_on), @"PROVED for every n in 0..=1073741823 and schedule");
    insta::assert_snapshot!(ring(BEHIND_A_BRANCH, goes_on), @"PROVED for every n in 0..=1073741823 and schedule");
}

/// One round too few, and the registers of a ring that has not been set back where the loop is not gone through.
#[test]
fn rounds_that_are_missing() {
    let less = "sub.s32 %r13, %r2, 1;\nsetp.lt.s32 %p6, %r5, %r13;";
    insta::assert_snapshot!(ring(PROLOGUE, less), @"REFUTED at n = 3: bar_0[0] completes once, and warp1 waits for one more (line 76): warp0 arrives once and has ended");
    insta::assert_snapshot!(ring(BEHIND_A_BRANCH, less), @"REFUTED at n = 3: bar_0[0] completes once, and warp1 waits for one more (line 79): warp0 arrives once and has ended");
}

/// Fewer rounds than three are all done in the loop, from the first place of the ring on, or by mistake from the second.
#[test]
fn rounds_before_a_loop_if_there_are_many() {
    let goes_on = "sub.s32 %r13, %r2, 2;\nsetp.lt.s32 %p6, %r8, %r13;\nsetp.lt.s32 %p10, %r2, 3;\nor.pred %p6, %p6, %p10;";
    let many = BEHIND_A_BRANCH.replace("%r2, 1;", "%r2, 3;");
    insta::assert_snapshot!(ring(&many, goes_on), @"PROVED for every n in 0..=1073741823 and schedule");
    let second = many.replace(
        "@%p4 bra MAIN;\nmin",
        "selp.b32 %r6, 1, 0, %p4;\n@%p4 bra MAIN;\nmin",
    );
    insta::assert_snapshot!(ring(&second, goes_on), @"REFUTED at n = 1: nobody arrives at bar_0[0], for which warp1 waits (line 82): warp0 never arrives, only at bar_0[1]");
}

/// The condition holds in other iterations than the first ones.
#[test]
fn rounds_in_other_iterations() {
    insta::assert_snapshot!(ring(PROLOGUE, "setp.gt.s32 %p6, %r8, 1;"), @"PROVED for every n in 0..=1073741823 and schedule");
    insta::assert_snapshot!(ring(PROLOGUE, "setp.gt.s32 %p6, %r8, 2;"), @"REFUTED at n = 3: bar_0[0] completes once, and warp1 waits for one more (line 75): warp0 arrives once and has ended");
    insta::assert_snapshot!(ring(PROLOGUE, "setp.ne.s32 %p6, %r8, 1;"), @"PROVED for every n in 0..=1073741823 and schedule");
}

/// Two rings of two mbarriers, full and free, of which one thread of the first warp fills each slot in turn. The second warp goes on
/// at `CONSUMER`.
const PRODUCER: &str = "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r1, 32;\nmov.u32 %r20, bar;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+8], 1;\n\
             @!%p1 mbarrier.init.shared.b64 [bar+16], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+24], 1;\nbar.sync 0;\n\
             setp.lt.s32 %p4, %r2, 1;\n@%p4 bra END;\nmov.u32 %r6, 0;\nmov.u32 %r8, 0;\n@%p2 bra CONSUMER;\nmov.u32 %r7, 1;\n\
             AGAIN:\nmad.lo.u32 %r9, %r6, 8, %r20;\n\
             V:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9+16], %r7;\n@!%p9 bra V;\n\
             @!%p1 mbarrier.arrive.shared.b64 _, [%r9];\nadd.u32 %r10, %r6, 1;\nsetp.eq.u32 %p7, %r10, 2;\n\
             selp.b32 %r6, 0, %r10, %p7;\nselp.b32 %r11, 1, 0, %p7;\nxor.b32 %r7, %r7, %r11;\n\
             add.u32 %r8, %r8, 1;\nsetp.lt.s32 %p5, %r8, %r2;\n@%p5 bra AGAIN;\nbra END;\n";

/// A warp looks ahead for the next phase, if there is one, and spares the wait where that has come. Its loop is tested at the end.
fn looks_ahead(last: &str, place: &str) -> String {
    verdict(
        64,
        &format!(
            "{PRODUCER}\
             CONSUMER:\nmov.u32 %r7, 0;\nneg.s32 %r12, %r2;\n\
             mbarrier.try_wait.parity.shared.b64 %p8, [bar], 0;\n\
             TAKE:\nmad.lo.u32 %r9, %r6, 8, %r20;\nadd.u32 %r8, %r8, 1;\n@%p8 bra TAKEN;\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r7;\n@!%p9 bra W;\n\
             TAKEN:\n@%p3 mbarrier.arrive.shared.b64 _, [%r9+16];\nadd.u32 %r10, %r6, 1;\nsetp.eq.u32 %p7, %r10, 2;\n\
             selp.b32 %r6, 0, %r10, %p7;\nselp.b32 %r11, 1, 0, %p7;\nxor.b32 %r7, %r7, %r11;\n\
             {last}\nmov.pred %p8, -1;\n@%p5 bra UNSEEN;\n{place}\n\
             mbarrier.try_wait.parity.shared.b64 %p8, [%r13], %r7;\n\
             UNSEEN:\nadd.s32 %r12, %r12, 1;\nsetp.ne.s32 %p6, %r12, 0;\n@%p6 bra TAKE;\nEND:\n"
        ),
    )
}

#[test]
fn tests_ahead_in_all_iterations_but_the_last() {
    let next = "mad.lo.u32 %r13, %r6, 8, %r20;";
    let last = "setp.le.s32 %p5, %r2, %r8;";
    insta::assert_snapshot!(looks_ahead(last, next), @"PROVED for every n in 0..=1073741823 and schedule");
    // Not ahead of the last iteration.
    let sooner = "sub.s32 %r14, %r2, 1;\nsetp.le.s32 %p5, %r14, %r8;";
    insta::assert_snapshot!(looks_ahead(sooner, next), @"UNKNOWN line 54: whether this is done depends on what a loop carries: whether a test of an mbarrier passes");
    // Not in an iteration that no run comes to.
    let rare = "setp.le.s32 %p5, %r2, %r8;\nsetp.eq.s32 %p6, %r8, 40000;\nor.pred %p5, %p5, %p6;";
    insta::assert_snapshot!(looks_ahead(rare, next), @"UNKNOWN line 54: whether this is done depends on what a loop carries: whether a test of an mbarrier passes");
    // For the phase of another mbarrier.
    let other = "xor.b32 %r13, %r6, 1;\nmad.lo.u32 %r13, %r13, 8, %r20;";
    insta::assert_snapshot!(looks_ahead(last, other), @"UNKNOWN line 54: whether this is done depends on what a loop carries: whether a test of an mbarrier passes");
}

/// The same with two rounds in an iteration, and one more behind the loop where `n` is odd. The loop tests ahead of its next
/// iteration, or of the last round, unless its second round is `bound` or later.
fn looks_ahead_of_two(bound: &str) -> String {
    let slot = "mad.lo.u32 %r9, %r6, 8, %r20;\n";
    let wait = |label: &str| {
        format!(
            "{label}:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r7;\n@!%p9 bra {label};\n"
        )
    };
    let give = "@%p3 mbarrier.arrive.shared.b64 _, [%r9+16];\nadd.u32 %r10, %r6, 1;\nsetp.eq.u32 %p7, %r10, 2;\n\
                selp.b32 %r6, 0, %r10, %p7;\nselp.b32 %r11, 1, 0, %p7;\nxor.b32 %r7, %r7, %r11;\n";
    let (first, second, last) = (wait("W"), wait("X"), wait("Y"));
    verdict(
        64,
        &format!(
            "{PRODUCER}\
             CONSUMER:\nmov.u32 %r7, 0;\nand.b32 %r14, %r2, 1;\nand.b32 %r15, %r2, -2;\n{bound}\n\
             mbarrier.try_wait.parity.shared.b64 %p8, [bar], 0;\nsetp.eq.s32 %p5, %r2, 1;\n@%p5 bra LAST;\n\
             TAKE:\n{slot}@%p8 bra TAKEN;\n{first}TAKEN:\n{give}{slot}{second}{give}\
             add.u32 %r12, %r8, 1;\nsetp.ge.s32 %p5, %r12, %r16;\nmov.pred %p8, -1;\n@%p5 bra UNSEEN;\n{slot}\
             mbarrier.try_wait.parity.shared.b64 %p8, [%r9], %r7;\n\
             UNSEEN:\nadd.s32 %r8, %r8, 2;\nsetp.ne.s32 %p6, %r8, %r15;\n@%p6 bra TAKE;\n\
             setp.eq.s32 %p6, %r14, 0;\n@%p6 bra END;\n\
             LAST:\n{slot}@%p8 bra TOOK;\n{last}TOOK:\n{give}END:\n"
        ),
    )
}

#[test]
fn tests_ahead_in_a_loop_that_does_two_rounds_at_once() {
    insta::assert_snapshot!(looks_ahead_of_two("sub.s32 %r16, %r2, 1;"), @"PROVED for every n in 0..=1073741823 and schedule");
    // Not ahead of the last round, where `n` is odd.
    insta::assert_snapshot!(looks_ahead_of_two("sub.s32 %r16, %r2, 2;"), @"UNKNOWN line 92: whether this is done depends on whether a test of an mbarrier passes");
    // Nor ahead of the last iteration.
    insta::assert_snapshot!(looks_ahead_of_two("sub.s32 %r16, %r2, 3;"), @"UNKNOWN line 57: whether this is done depends on what a loop carries: whether a test of an mbarrier passes");
}

/// The outcome of a test in front of a loop, or of one in each round, decides in each round whether the warp waits for the first
/// one of the two phases of the round.
fn tests_once(before: &str, inside: &str) -> String {
    let wait = |label: &str, at: u32, parity: u32| {
        format!(
            "{label}:\nmbarrier.try_wait.parity.shared.b64 %p9, [bar+{at}], {parity};\n@!%p9 bra {label};\n"
        )
    };
    let give = "@!%p1 mbarrier.arrive.shared.b64 _, [bar];\n";
    let back = "@%p3 mbarrier.arrive.shared.b64 _, [bar+16];\n";
    let round = "add.u32 %r8, %r8, 1;\nsetp.lt.s32 %p5, %r8, %r2;\n";
    let code = format!(
        "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r1, 32;\n\
         @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+16], 1;\nbar.sync 0;\n\
         setp.lt.s32 %p4, %r2, 1;\n@%p4 bra END;\nmov.u32 %r8, 0;\n@%p2 bra CONSUMER;\n\
         AGAIN:\nmov.u32 %r15, 0;\n{}{give}{}{give}{round}@%p5 bra AGAIN;\nbra END;\n\
         CONSUMER:\n{before}TAKE:\nmov.u32 %r15, 0;\n{inside}@%p8 bra TAKEN;\n{}TAKEN:\n{back}{}{back}{round}@%p5 bra TAKE;\nEND:\n",
        wait("A", 16, 1),
        wait("B", 16, 0),
        wait("C", 0, 0),
        wait("D", 0, 1),
    );
    verdict_by("auto", 64, &code)
}

#[test]
fn a_test_in_front_of_a_loop_is_out_of_date_in_its_rounds() {
    let test = "mbarrier.try_wait.parity.shared.b64 %p8, [bar], 0;\n";
    insta::assert_snapshot!(tests_once("", test), @"PROVED for every n in 0..=1073741823 and schedule");
    let said = tests_once(test, "");
    assert!(said.starts_with("UNKNOWN"), "{said}");
}
