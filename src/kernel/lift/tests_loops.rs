//! Tests of loops in which some iterations skip what the others do.

use super::tests::entry;

/// Some iterations skip the rest of the body. The lift must not assume that every iteration executes the whole body,
/// however late the first iteration is that does not.
///
/// All exits of the loop pass the barrier, but the iteration with `i == 40000` does not.
#[test]
fn an_iteration_that_goes_on_early_is_not_a_whole_one() {
    let code = |skipped: &str| {
        format!(
            "mov.u32 %r4, 0;\nhead:\nsetp.eq.u32 %p2, %r4, 40000;\n{skipped}\nbarrier.sync 1, 64;\n\
             setp.ge.u32 %p3, %r4, %r3;\n@%p3 bra out;\nnext:\nadd.u32 %r4, %r4, 1;\nbra head;\nout:"
        )
    };
    let whole = entry(1, &code("")).unwrap();
    assert!(whole.text.contains("for i in 0..n + 1 {"), "{}", whole.text);
    let found = entry(1, &code("@%p2 bra next;")).map(|lift| lift.text);
    assert_eq!(
        found,
        Err("a loop is left in several places, or in none".to_owned())
    );
}

/// A branch that decides only which iterations come to another branch is followed, too.
#[test]
fn an_iteration_that_leaves_a_switch_out_is_told_apart() {
    let code = "mov.u32 %r4, 0;\nhead:\nsetp.eq.u32 %p2, %r4, 3;\n@%p2 bra next;\nbarrier.sync 1, 64;\nnext:\n\
         add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 8;\n@%p3 bra head;";
    let text = entry(1, code).unwrap().text;
    assert!(text.contains("!= 3"), "{text}");
}

/// A causal mask skips tiles up to the greater of 0 and a difference of sizes.
#[test]
fn a_loop_may_begin_at_the_greater_of_0_and_a_difference() {
    let code = "mov.u32 %r5, %ctaid.x;\nshl.b32 %r5, %r5, 7;\nsub.s32 %r6, %r5, %r3;\nshr.s32 %r6, %r6, 6;\nmax.s32 %r4, %r6, 0;\n\
         setp.ge.s32 %p2, %r4, %r3;\n@%p2 bra out;\nhead:\nbarrier.sync 1, 64;\n\
         add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p3, %r4, %r3;\n@%p3 bra head;\nout:";
    let text = entry(1, code).unwrap().text;
    insta::assert_snapshot!(text, @r"
    //! Recovered from the kernel `k`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 10 launches, 124 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol k

    param n in 0..=1073741823
    param ctaid_x in 0..=16777215

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        for i in 0..n - max(0, 2 * ctaid_x + ((0 - n) / 64)) {  // line 27
            sync cta_bar[1] 64  // line 24
        }
    }
    ");
}

/// A loop of `x / 2` iterations with two rounds each, and then `x % 2` more rounds, are a loop of `x` rounds only if
/// `x` is not below 0. Below 0, the loop has no iteration, and there may still be a remainder.
#[test]
fn rounds_left_over_of_what_may_be_below_0_stand_for_themselves() {
    let loops = |count: &str| {
        let code = format!(
            "{count}\nshr.s32 %r5, %r4, 1;\nand.b32 %r6, %r4, 1;\nmov.u32 %r7, 0;\nsetp.lt.s32 %p2, %r5, 1;\n@%p2 bra rest;\n\
             twice:\nbar.sync 1, 64;\nbar.sync 1, 64;\nadd.s32 %r7, %r7, 1;\nsetp.lt.s32 %p3, %r7, %r5;\n@%p3 bra twice;\n\
             rest:\nsetp.eq.s32 %p4, %r6, 0;\n@%p4 bra out;\nbar.sync 1, 64;\nout:"
        );
        let text = entry(1, &code).map_or_else(|reason| reason, |lift| lift.text);
        let lines = text.lines().map(str::trim);
        let wanted = |line: &&str| line.starts_with("for ") || line.starts_with("if ");
        lines.filter(wanted).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(loops("mov.u32 %r4, %r3;"), @"for i in 0..n {  // line 27");
    insta::assert_snapshot!(loops("add.s32 %r4, %r3, -6000;"), @r"
    for i in 0..(n / 2) - 3000 {  // line 27
    if 0 != (n % 2) {  // line 30
    ");
    let twice = "ld.param.u32 %r8, [p];\nshl.b32 %r8, %r8, 1;\nsub.s32 %r4, %r3, %r8;\nadd.s32 %r4, %r4, 6000;";
    insta::assert_snapshot!(loops(twice), @r"
    for i in 0..0 - p_at_0 + (n / 2) + 3000 {  // line 30
    if 0 != (n % 2) {  // line 33
    ");
    insta::assert_snapshot!(loops("shr.u32 %r8, %r3, 12;\nmul.lo.s32 %r8, %r8, 5000;\nsub.s32 %r4, %r3, %r8;"), @r"
    for i in 0..(n / 2) - 2500 * (n / 4096) {  // line 29
    if 0 != (n % 2) {  // line 32
    ");
}

/// The remainder of an unrolled loop may come before the loop. Here the first round is peeled off, and the parity of
/// the number of other rounds decides where the counter begins.
#[test]
fn what_is_left_over_may_come_before_the_loop() {
    let code = |second: &str| {
        format!(
            "setp.lt.s32 %p2, %r3, 1;\n@%p2 bra peeled;\nbar.sync 1, 64;\npeeled:\nsetp.lt.s32 %p3, %r3, 2;\n@%p3 bra out;\n\
             min.s32 %r4, %r3, 1;\nsub.s32 %r5, %r3, %r4;\nand.b32 %r6, %r5, 1;\nsetp.ne.b32 %p4, %r6, 0;\nnot.pred %p5, %p4;\n\
             mov.b32 %r7, %r4;\n@%p5 bra even;\nbar.sync 1, 64;\nmin.s32 %r8, %r3, 1;\nadd.s32 %r7, %r8, {second};\neven:\n\
             add.s32 %r9, %r4, 1;\nsetp.eq.b32 %p6, %r3, %r9;\n@%p6 bra out;\nneg.s32 %r10, %r3;\nadd.s32 %r11, %r10, %r7;\n\
             twice:\nbar.sync 1, 64;\nbar.sync 1, 64;\nadd.s32 %r11, %r11, 2;\nsetp.ne.s32 %p7, %r11, 0;\n@%p7 bra twice;\nout:"
        )
    };
    let text = entry(1, &code("1")).map_or_else(|reason| reason, |lift| lift.text);
    insta::assert_snapshot!(text, @r"
        //! Recovered from the kernel `k`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 10 launches, 278 events.
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol k

        param n in 0..=1073741823

        named cta_bar[16]

        role warps0_1[w in 0..2] warp {
            if n >= 1 {  // line 17
                sync cta_bar[1] 64  // line 18
            }
            if n >= 2 {  // line 21
                if 0 != ((n + 1) % 2) {  // line 28
                    sync cta_bar[1] 64  // line 29
                }
                for i in 0..((n + 1) / 2) - 1 {  // line 43
                    sync cta_bar[1] 64  // line 39
                    sync cta_bar[1] 64  // line 40
                }
            }
        }
        ");
    let text = entry(1, &code("2")).map_or_else(|reason| reason, |lift| lift.text);
    insta::assert_snapshot!(text, @"how often a loop runs depends on a computation that cannot be written in the protocol language");
}

/// A wait, which is a loop, may be the first thing in another loop. Then both loops begin at one block.
#[test]
fn a_wait_may_begin_where_the_loop_around_it_begins() {
    let recovered = |inner: &str| {
        let code = format!(
            "@!%p1 bra ready;\nmbarrier.init.shared.b64 [%r2], 64;\nready:\nbar.sync 0;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\n\
             mbarrier.arrive.shared.b64 %rd2, [%r2];\nhead:\n{inner}\nmbarrier.arrive.shared.b64 %rd2, [%r2];\n\
             xor.b32 %r5, %r5, 1;\nadd.u32 %r4, %r4, 1;\nsetp.le.u32 %p3, %r4, %r3;\n@%p3 bra head;"
        );
        entry(1, &code).map(|lift| lift.text)
    };
    let lines = |inner: &str| {
        let text = recovered(inner).unwrap_or_else(|reason| reason);
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default().trim());
        let kept = |line: &&str| {
            ["for ", "wait ", "arrive "]
                .iter()
                .any(|word| line.starts_with(word))
        };
        lines.filter(kept).collect::<Vec<_>>().join("\n")
    };
    let test = "mbarrier.try_wait.parity.shared.b64 %p2, [%r2], %r5;";
    let apart = lines(&format!(
        "add.u32 %r6, %r4, 1;\nagain:\n{test}\n@!%p2 bra again;"
    ));
    insta::assert_snapshot!(apart, @r"
    arrive memory_bar
    for i in 0..n + 1 {
    wait memory_bar (i % 2)
    arrive memory_bar
    arrive memory_bar
    for i in 0..n + 1 {
    wait memory_bar (i % 2)
    arrive memory_bar
    ");
    // One label for both loops; two labels; and a separate jump back to the test.
    let together = [
        format!("{test}\n@!%p2 bra head;"),
        format!("again:\n{test}\n@!%p2 bra again;"),
        format!("again:\n{test}\n@%p2 bra done;\nbra again;\ndone:"),
    ];
    for inner in together {
        assert_eq!(lines(&inner), apart, "{inner}");
    }
    // A loop that arrives between its tests is no wait.
    let arrives = format!("mbarrier.arrive.shared.b64 %rd2, [%r2];\n{test}\n@!%p2 bra head;");
    assert!(recovered(&arrives).is_err());
}

/// Each CTA has a share of the work, and begins where the shares of other CTAs end. No formula of the language gives
/// this trip count, so it becomes a parameter.
#[test]
fn a_loop_may_begin_at_any_value_of_the_launch() {
    let loops = |begin: &str, again: &str| {
        let code = format!(
            "mov.u32 %r5, %ctaid.y;\nadd.s32 %r6, %r3, %r5;\nadd.s32 %r6, %r6, -1;\ndiv.s32 %r6, %r6, %r5;\nmov.u32 %r7, %ctaid.x;\n\
             mul.lo.s32 %r4, %r6, %r7;\nadd.s32 %r8, %r4, %r6;\nmin.s32 %r8, %r8, %r3;\nshr.u32 %r9, %r1, 5;\n{begin}\n\
             head:\nbarrier.sync 1, 64;\nadd.s32 %r4, %r4, 1;\n{again}\n@%p3 bra head;\nout:"
        );
        entry(1, &code)
    };
    let (guard, less, different) = (
        "setp.ge.s32 %p2, %r4, %r8;\n@%p2 bra out;",
        "setp.lt.s32 %p3, %r4, %r8;",
        "setp.ne.s32 %p3, %r4, %r8;",
    );
    let lift = loops(guard, less).unwrap();
    insta::assert_snapshot!(lift.text, @r"
    //! Recovered from the kernel `k`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 100 events.
    //! Assumed: a loop in steps of the grid does not wrap around
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol k

    param tiles in 0..=1073741823  // iterations of a loop

    named cta_bar[16]

    role warps0_1[w in 0..2] warp {
        for i in 0..tiles {  // line 31
            sync cta_bar[1] 64  // line 28
        }
    }
    ");
    assert!(!lift.exact);
    assert_eq!(loops(guard, different).unwrap().text, lift.text);
    // Without the guard, or with a guard for another bound, a loop that ends only when two numbers are equal may wrap
    // around.
    for begin in ["", "setp.ge.s32 %p2, %r4, %r3;\n@%p2 bra out;"] {
        let reason = loops(begin, different).unwrap_err();
        assert!(reason.starts_with("how often a loop runs"), "{reason}");
    }
    // A warp that begins one later has another trip count.
    let apart = loops(&format!("add.s32 %r4, %r4, %r9;\n{guard}"), less).unwrap();
    insta::assert_snapshot!(apart.text, @r"
    //! Recovered from the kernel `k`.
    //! 64 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 10 launches, 123 events.
    //! Assumed: a loop in steps of the grid does not wrap around
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol k

    param tiles in 0..=1073741823  // iterations of a loop
    param tiles_2 in 0..=1073741823  // iterations of a loop

    named cta_bar[16]

    role warp0 warp {
        for i in 0..tiles {  // line 32
            sync cta_bar[1] 64  // line 29
        }
    }

    role warp1 warp {
        for i in 0..tiles_2 {  // line 32
            sync cta_bar[1] 64  // line 29
        }
    }
    ");
}
