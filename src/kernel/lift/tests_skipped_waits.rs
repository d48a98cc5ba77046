//! Tests of waits that are skipped because a test in the previous round has passed, where several loops share the
//! rounds.

use super::tests::entry;

/// FIRST gives the number of rounds of the first loop, and the second loop continues from there up to `n`. Before the
/// first loop and after each of its rounds, the kernel tests the mbarrier if MORE says that there is another round.
/// The second warp arrives once in each round.
const ROUNDS: &str = ".shared .align 8 .b64 free;\nmov.u32 %r8, free;\n@%p1 mbarrier.init.shared.b64 [%r2], 1;\n@%p1 mbarrier.init.shared.b64 [%r8], 1;\nbar.sync 0;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\n\
     setp.ge.u32 %p2, %r1, 32;\n@%p2 bra other;\nFIRST\nsetp.lt.s32 %p3, 0, %r3;\nsetp.eq.u32 %p4, %r3, %r3;\n@!%p3 bra first;\n\
     mbarrier.try_wait.parity.shared.b64 %p4, [%r2], %r5;\nfirst:\nsetp.lt.s32 %p5, %r4, %r6;\n@!%p5 bra behind;\n\
     @%p4 bra passed;\nspin:\nmbarrier.try_wait.parity.shared.b64 %p6, [%r2], %r5;\n@!%p6 bra spin;\npassed:\n\
     @%p1 mbarrier.arrive.shared.b64 _, [%r8];\nadd.u32 %r4, %r4, 1;\nxor.b32 %r5, %r5, 1;\nsetp.eq.u32 %p4, %r3, %r3;\nMORE\n@!%p3 bra first;\n\
     mbarrier.try_wait.parity.shared.b64 %p4, [%r2], %r5;\nbra first;\nbehind:\nmov.u32 %r4, BEGIN;\n\
     second:\nsetp.lt.s32 %p5, %r4, %r3;\n@!%p5 bra done;\n@%p4 bra passed2;\n\
     spin2:\nmbarrier.try_wait.parity.shared.b64 %p6, [%r2], %r5;\n@!%p6 bra spin2;\npassed2:\n\
     @%p1 mbarrier.arrive.shared.b64 _, [%r8];\nadd.u32 %r4, %r4, 1;\nxor.b32 %r5, %r5, 1;\nsetp.eq.u32 %p4, %r3, %r3;\nsetp.lt.s32 %p3, %r4, %r3;\n@!%p3 bra second;\n\
     mbarrier.try_wait.parity.shared.b64 %p4, [%r2], %r5;\nbra second;\n\
     other:\nsetp.lt.s32 %p5, %r4, %r3;\n@!%p5 bra done;\nsetp.eq.u32 %p7, %r1, 32;\n@%p7 mbarrier.arrive.shared.b64 _, [%r2];\n\
     add.u32 %r4, %r4, 1;\nbra other;\ndone:";

const ONE: &str = "min.s32 %r6, %r3, 1;";
const MORE: &str = "setp.lt.s32 %p3, %r4, %r3;";

fn rounds(first: &str, more: &str, begin: &str) -> Result<String, String> {
    let code = ROUNDS
        .replace("FIRST", first)
        .replace("MORE", more)
        .replace("BEGIN", begin);
    entry(1, &code).map(|lift| lift.text)
}

/// The first loop has `min(n, 1)` rounds. It has a round only if `n` is above 0, and then the test before the loop
/// was made. The second loop continues from there. If it has a round, the test after the only round of the first loop
/// was made.
#[test]
fn a_wait_is_spared_across_a_loop_of_one_round() {
    let text = rounds(ONE, MORE, "%r6").unwrap();
    let waits = text.matches("wait memory_bar").count();
    assert_eq!(waits, 2, "{text}");
    assert!(text.contains("if waits at an mbarrier may be for phases that are not consecutive"));
}

/// If a round comes without a test before it, a wait is missing.
#[test]
fn a_wait_that_no_test_spares_is_lacking() {
    let cases = [
        (
            "a round where there is none",
            "max.s32 %r6, %r3, 1;",
            MORE,
            "%r6",
        ),
        ("a greater one", "sub.s32 %r6, 1, %r3;", MORE, "%r6"),
        (
            "no test behind the round",
            ONE,
            "setp.lt.s32 %p3, %r4, %r6;",
            "%r6",
        ),
        (
            "a test of one round less",
            ONE,
            "sub.s32 %r7, %r3, 1;\nsetp.lt.s32 %p3, %r4, %r7;",
            "%r6",
        ),
        (
            "two rounds",
            "min.s32 %r6, %r3, 2;",
            "setp.lt.s32 %p3, 1, %r3;",
            "%r6",
        ),
        ("the second loop begins at 0", ONE, MORE, "0"),
    ];
    for (what, first, more, begin) in cases {
        let found = rounds(first, more, begin);
        let reason = found.expect_err(what);
        assert!(reason.contains("whether"), "{what}: {reason}");
    }
}
