//! Words of global memory that CTAs store to and wait for, recovered from the control-flow graph:
//! the verdicts.

use crate::support::program::Folder;

/// The output of `check` for a kernel in which one thread of each CTA executes `code`. `%r2` is the
/// index of its CTA along x, `%r3` that along y, `%r4` the number of CTAs along x, `%r1` a
/// parameter, `%rd2` the address of the flag of its CTA, and `%rd1` that of the first.
fn check(code: &str) -> String {
    check_with(code, &["-q"])
}

fn check_with(code: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n\
             .visible .entry kernel(.param .u64 words, .param .u64 others, .param .u32 n)\n.reqntid 32, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<12>;\n\
             ld.param.u64 %rd1, [words];\nld.param.u64 %rd3, [others];\nld.param.u32 %r1, [n];\n\
             mov.u32 %r0, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %nctaid.x;\n\
             mad.wide.u32 %rd2, %r2, 4, %rd1;\n\
             setp.ne.u32 %p0, %r0, 0;\n@%p0 bra END;\n\
             {code}\n\
             END:\nret;\n}}\n"
        ),
    );
    let mut arguments = vec!["check", "kernel.ptx", "--recovery", "graph"];
    arguments.extend(options);
    folder.run(&arguments)
}

/// Each CTA waits for the one before it until `test` makes `%p2` false, and executes `then`.
fn chain(look: &str, test: &str, then: &str) -> String {
    check(&format!(
        "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra THEN;\n\
         LOOK:\n{look} %r5, [%rd2+-4];\n{test}\n@%p2 bra LOOK;\n\
         THEN:\n{then}"
    ))
}

const ACQUIRE: &str = "ld.acquire.gpu.global.s32";
const IS_0: &str = "setp.eq.s32 %p2, %r5, 0;";

fn is_proved(shown: &str) -> bool {
    shown.contains("deadlock: PROVED")
}

#[test]
fn flags_of_the_cta_before() {
    for (look, test, then) in [
        (ACQUIRE, IS_0, "st.release.gpu.global.s32 [%rd2], 1;"),
        (ACQUIRE, IS_0, "st.release.gpu.global.s32 [%rd2], -1;"),
        (
            "ld.volatile.global.s32",
            IS_0,
            "st.volatile.global.s32 [%rd2], 1;",
        ),
        // A status with two values other than 0.
        (
            ACQUIRE,
            IS_0,
            "st.relaxed.gpu.global.s32 [%rd2], 1;\nst.relaxed.gpu.global.s32 [%rd2], 2;",
        ),
        // A number of the launch.
        (
            ACQUIRE,
            "setp.ne.s32 %p2, %r5, %r1;",
            "st.release.gpu.global.s32 [%rd2], %r1;",
        ),
        (
            ACQUIRE,
            "setp.lt.u32 %p2, %r5, %r1;",
            "st.release.gpu.global.s32 [%rd2], %r1;",
        ),
    ] {
        let shown = chain(look, test, then);
        assert!(is_proved(&shown), "{look} {test} {then}: {shown}");
    }
}

/// Kernels that hang, or may.
#[test]
fn flags_that_are_not_seen() {
    for (test, then) in [
        // The awaited value is never stored, or may be overwritten before the look.
        (IS_0, "st.release.gpu.global.s32 [%rd2], 0;"),
        (
            IS_0,
            "st.release.gpu.global.s32 [%rd2], 1;\nst.release.gpu.global.s32 [%rd2], 0;",
        ),
        (
            "setp.lt.s32 %p2, %r5, 2;",
            "st.release.gpu.global.s32 [%rd2], 2;\nst.release.gpu.global.s32 [%rd2], 1;",
        ),
        (
            "setp.ne.s32 %p2, %r5, 1;",
            "st.release.gpu.global.s32 [%rd2], 1;\nst.release.gpu.global.s32 [%rd2], 2;",
        ),
        (
            "setp.ne.s32 %p2, %r5, 2;",
            "st.release.gpu.global.s32 [%rd2], 1;",
        ),
        (
            "setp.lt.s32 %p2, %r5, 1;",
            "st.release.gpu.global.s32 [%rd2], -1;",
        ),
        (
            "setp.ne.s32 %p2, %r5, 1;",
            "st.release.gpu.global.s32 [%rd2], %r1;",
        ),
        (IS_0, "st.release.gpu.global.s32 [%rd2], %r2;"),
        // Others need not see it.
        (IS_0, "st.global.s32 [%rd2], 1;"),
        (IS_0, "st.release.cta.global.s32 [%rd2], 1;"),
        (IS_0, "st.release.gpu.global.u16 [%rd2+2], 1;"),
        (IS_0, "st.release.gpu.global.s32 [%rd2+2], 1;"),
        // Words of other CTAs.
        (IS_0, "st.release.gpu.global.s32 [%rd2+4], 1;"),
        (IS_0, "st.release.gpu.global.s32 [%rd1], 1;"),
        // An addition takes a flag back.
        (
            IS_0,
            "st.release.gpu.global.s32 [%rd2], -1;\nred.release.gpu.global.add.s32 [%rd2], 1;",
        ),
    ] {
        let shown = chain(ACQUIRE, test, then);
        assert!(!is_proved(&shown), "{test} {then}: {shown}");
    }
}

/// Each CTA sets the flag of the next one, and the last one that of the first.
#[test]
fn flags_in_a_ring() {
    let ring = |next: &str| {
        check(&format!(
            "{next}\nmad.wide.u32 %rd4, %r6, 4, %rd1;\nst.release.gpu.global.u32 [%rd4], %r1;\n\
             LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd2];\nsetp.lt.u32 %p2, %r5, %r1;\n@%p2 bra LOOK;"
        ))
    };
    let next = "add.u32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, %r4;\nselp.b32 %r6, 0, %r5, %p1;";
    let shown = ring(next);
    assert!(is_proved(&shown), "{shown}");
    let shown = ring("add.u32 %r5, %r2, 1;\nrem.u32 %r6, %r5, %r4;");
    assert!(is_proved(&shown), "{shown}");
    let shown = ring("add.u32 %r6, %r2, 1;");
    assert!(!is_proved(&shown), "{shown}");
    // Two CTAs set the same flag.
    let shown = ring(&next.replace("selp.b32 %r6, 0, %r5", "selp.b32 %r6, 1, %r5"));
    assert!(!is_proved(&shown), "{shown}");
}

/// All CTAs meet in each round.
fn barrier(before: &str, awaited: &str) -> String {
    check(&format!(
        "mov.u32 %r6, 0;\nsetp.lt.s32 %p1, %r1, 1;\n@%p1 bra END;\n{before}\n\
         ROUND:\nred.release.gpu.global.add.u32 [%rd1], 1;\nadd.u32 %r6, %r6, 1;\n{awaited}\n\
         LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p2, %r5, %r7;\n@%p2 bra LOOK;\n\
         setp.lt.s32 %p3, %r6, %r1;\n@%p3 bra ROUND;"
    ))
}

#[test]
fn barriers_of_all_ctas() {
    let all = "mul.lo.u32 %r7, %r6, %r4;";
    let shown = barrier("", all);
    assert!(is_proved(&shown), "{shown}");
    assert!(shown.contains("<= 2147483647"), "{shown}");
    for (before, awaited) in [
        // One more than there are CTAs.
        ("", "mad.lo.u32 %r7, %r6, %r4, 1;"),
        // The next round is awaited.
        ("", "add.u32 %r8, %r6, 1;\nmul.lo.u32 %r7, %r8, %r4;"),
        // Some CTAs take no part.
        ("setp.eq.u32 %p4, %r2, 1;\n@%p4 bra END;", all),
        ("setp.ge.u32 %p4, %r2, %r1;\n@%p4 bra END;", all),
        (
            "setp.eq.u32 %p4, %r3, 1;\n@%p4 bra END;\nsetp.eq.u32 %p5, %r2, 1;\n@%p5 bra END;",
            all,
        ),
    ] {
        let shown = barrier(before, awaited);
        assert!(!is_proved(&shown), "{before} {awaited}: {shown}");
    }
}

/// CTA 0 and CTA 1 hand each other numbers that grow.
#[test]
fn rounds_of_two_ctas() {
    let rounds = |first: &str, second: &str| {
        check(&format!(
            "mov.u32 %r6, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra FIRST;\n\
             setp.ne.u32 %p1, %r2, 1;\n@%p1 bra END;\n\
             SECOND:\nadd.u32 %r7, %r6, 1;\n\
             GO:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p2, %r5, %r7;\n@%p2 bra GO;\n\
             {second}\nmov.u32 %r6, %r7;\nsetp.lt.u32 %p3, %r6, %r1;\n@%p3 bra SECOND;\nbra END;\n\
             FIRST:\nadd.u32 %r7, %r6, 1;\nst.release.gpu.global.u32 [%rd1], %r7;\n\
             BACK:\nld.acquire.gpu.global.u32 %r5, [%rd3];\n{first}\n@%p2 bra BACK;\n\
             mov.u32 %r6, %r7;\nsetp.lt.u32 %p3, %r6, %r1;\n@%p3 bra FIRST;"
        ))
    };
    let back = "setp.lt.u32 %p2, %r5, %r7;";
    let tells = "st.release.gpu.global.u32 [%rd3], %r7;";
    let shown = rounds(back, tells);
    // The grid may have one CTA, which waits for ever.
    assert!(!is_proved(&shown), "{shown}");
    for (first, second) in [
        ("add.u32 %r8, %r7, 1;\nsetp.lt.u32 %p2, %r5, %r8;", tells),
        (back, "st.release.gpu.global.u32 [%rd3], %r6;"),
        // Four rounds ahead at most, and none at all.
        (
            "add.u32 %r5, %r5, 4;\nsetp.lt.u32 %p2, %r5, %r7;",
            "st.release.gpu.global.u32 [%rd1], 0;",
        ),
    ] {
        let shown = rounds(first, second);
        assert!(!is_proved(&shown), "{first} {second}: {shown}");
    }
}

/// A word is 2^31 - 1 at most. With something added, it is negative if it is compared with a sign.
/// Then no CTA goes on.
#[test]
fn a_constant_is_added_before_the_comparison() {
    let word = |change: &str, test: &str| {
        check(&format!(
            "{change}\nLOOK:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nadd.s32 %r6, %r5, 4;\n{test}\n@%p2 bra LOOK;"
        ))
    };
    let greatest = "st.release.gpu.global.u32 [%rd1], 2147483647;";
    let added =
        "red.release.gpu.global.add.u32 [%rd1], %r1;\nred.release.gpu.global.add.u32 [%rd1], 1;";
    for (change, test) in [
        (greatest, "setp.lt.s32 %p2, %r6, 10;"),
        (greatest, "setp.le.s32 %p2, %r6, 8;"),
        (added, "setp.lt.s32 %p2, %r6, 5;"),
        (added, "setp.lt.s32 %p2, %r6, 4;"),
    ] {
        let shown = word(change, test);
        assert!(!is_proved(&shown), "{change} {test}: {shown}");
    }
    for (change, test) in [
        (greatest, "setp.lt.u32 %p2, %r6, 10;"),
        (added, "setp.lt.u32 %p2, %r6, 5;"),
    ] {
        let shown = word(change, test);
        assert!(is_proved(&shown), "{change} {test}: {shown}");
    }
    let shown = check(
        "mov.u64 %rd9, 9223372036854775807;\nst.release.gpu.global.u64 [%rd1], %rd9;\n\
         LOOK:\nld.acquire.gpu.global.u64 %rd10, [%rd1];\nadd.s64 %rd11, %rd10, 4;\n\
         setp.lt.s64 %p2, %rd11, 9;\n@%p2 bra LOOK;",
    );
    assert!(!is_proved(&shown), "{shown}");
}

/// `found > 2^31 - 1` without a sign is no `found >= -2^31`. No launch that is tried executes the
/// wait.
#[test]
fn a_word_is_never_more_than_the_greatest_number() {
    let word = |greatest: &str| {
        check(&format!(
            "red.release.gpu.global.add.u32 [%rd1], 1;\nsetp.ne.u32 %p3, %r1, 100000;\n@%p3 bra END;\n\
             LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.le.u32 %p2, %r5, {greatest};\n@%p2 bra LOOK;"
        ))
    };
    let shown = word("0x7fffffff");
    assert!(
        shown.contains("more than its greatest signed number"),
        "{shown}"
    );
    assert!(is_proved(&word("0")));
}

/// A flag counts as set by each store, if no stored value is 0. A product may wrap around to 0.
#[test]
fn a_product_that_is_stored_may_be_0() {
    let look =
        "LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra LOOK;";
    // (n + 1)^2 is 0 at n = 65535.
    let square = check(&format!(
        "add.u32 %r6, %r1, 1;\nmul.lo.u32 %r7, %r6, %r6;\nst.release.gpu.global.u32 [%rd1], %r7;\n{look}"
    ));
    assert!(!is_proved(&square), "{square}");
    // (n + 2) * (i + 1) is 0 at n = 131070 and i = 32767.
    let in_rounds = check(&format!(
        "mov.u32 %r6, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nROUND:\nadd.u32 %r7, %r6, 1;\nadd.u32 %r8, %r1, 2;\n\
         mul.lo.u32 %r9, %r7, %r8;\nst.release.gpu.global.u32 [%rd1], %r9;\n{look}\n\
         add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, %r1;\n@%p3 bra ROUND;"
    ));
    assert!(
        is_proved(&in_rounds) && in_rounds.contains(" <= 2147483647"),
        "{in_rounds}"
    );
}

/// CTA `i` uses the words `i` and `i + 1`, and each word is used by two CTAs. The protocol is about
/// one CTA, and the verdict says that the others have other words.
#[test]
fn words_of_ctas_that_overlap() {
    let shown = check_with(
        "mov.u32 %r6, 0;\n\
         ROUND:\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd5, %rd4, %rd2;\nadd.u32 %r7, %r6, 1;\n\
         st.release.gpu.global.u32 [%rd5], %r7;\n\
         LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd5];\nsetp.lt.u32 %p2, %r5, %r7;\n@%p2 bra LOOK;\n\
         mov.u32 %r6, %r7;\nsetp.lt.u32 %p3, %r6, 2;\n@%p3 bra ROUND;",
        &["--set", "ctas=1"],
    );
    assert!(is_proved(&shown), "{shown}");
    let assumed =
        "if the words of memory of two CTAs begin at different addresses, they do not overlap";
    assert!(shown.contains(assumed), "{shown}");
}

/// PTX gives releases and acquires no single order. The verdict says that one is assumed.
#[test]
fn words_with_several_values_have_one_order() {
    let shown = check_with(
        "st.release.gpu.global.u32 [%rd1], 0;\nst.release.gpu.global.u32 [%rd1], 1;\n\
         LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p2, %r5, 1;\n@%p2 bra LOOK;",
        &["--set", "ctas=1"],
    );
    assert!(is_proved(&shown), "{shown}");
    let assumed = "semaphore operations are atomic and seen in one order by everyone";
    assert!(shown.contains(assumed), "{shown}");
}

/// A barrier of all CTAs three times, where a register has the number that is awaited. It changes in
/// the first loop, and only thread 0 executes that.
fn three_barriers(first: &str, before_second: &str) -> String {
    let meet = "red.release.gpu.global.add.u32 [%rd1], 1;";
    let look = "ld.acquire.gpu.global.s32 %r5, [%rd1];";
    check(&format!(
        "mov.u32 %r6, 0;\n{meet}\nA:\n{look}\nsetp.lt.s32 %p2, %r5, %r4;\nmov.u32 %r6, %r4;\n@%p2 bra A;\n\
         {before_second}\nadd.u32 %r6, %r6, %r4;\n{meet}\nB:\n{look}\nsetp.lt.s32 %p2, %r5, %r6;\n@%p2 bra B;\n\
         THIRD:\nadd.u32 %r6, %r6, {first};\n{meet}\nC:\n{look}\nsetp.lt.s32 %p2, %r5, %r6;\n@%p2 bra C;"
    ))
}

#[test]
fn barriers_one_after_the_other() {
    let shown = three_barriers("%r4", "");
    assert!(is_proved(&shown), "{shown}");
    assert!(
        shown.contains("assuming R >= nctaid_x, 3 * nctaid_x <= 2147483647"),
        "{shown}"
    );
    // CTA 0 leaves out the second barrier. It then waits for fewer CTAs than the others do.
    let shown = three_barriers("%r4", "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra THIRD;");
    assert!(
        shown.contains("deadlock: REFUTED at nctaid_x = 2"),
        "{shown}"
    );
    // One CTA more than there are is awaited.
    let shown = three_barriers("%r1", "");
    assert!(!is_proved(&shown), "{shown}");
}

/// A word gets one more at 0 than at other places.
#[test]
fn what_is_added_depends_on_the_iteration() {
    let turns = |more: &str, test: &str| {
        check(&format!(
            "mov.u32 %r6, 0;\nsetp.lt.s32 %p1, %r1, 1;\n@%p1 bra END;\n\
             ROUND:\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd5, %rd1, %rd4;\n\
             LOOK:\nld.acquire.gpu.global.u32 %r5, [%rd5];\nsetp.{test}.u32 %p2, %r5, %r2;\n@%p2 bra LOOK;\n\
             setp.eq.u32 %p3, %r6, 0;\nselp.b32 %r7, {more}, 1, %p3;\nred.release.gpu.global.add.u32 [%rd5], %r7;\n\
             add.u32 %r6, %r6, 1;\nsetp.lt.s32 %p4, %r6, %r1;\n@%p4 bra ROUND;"
        ))
    };
    let shown = turns("2", "lt");
    assert!(is_proved(&shown), "{shown}");
    // The number of the third CTA is left out.
    let shown = turns("2", "ne");
    assert!(shown.contains("deadlock: REFUTED"), "{shown}");
    // Less than one for each CTA.
    let shown = turns("0", "lt");
    assert!(shown.contains("deadlock: REFUTED"), "{shown}");
}
