//! Tests of CTAs that wait for each other through words of global memory.

use super::tests::compared;

/// Each CTA takes its turn at every word: it waits for `lock[m] == ctaid.x`, and after a barrier it adds 1.
const TURNS: &str = "\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry turns(.param .u64 lock, .param .u64 data, .param .u32 n)
.reqntid 64, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [lock];
cvta.to.global.u64 %rd2, %rd1;
ld.param.u64 %rd3, [data];
cvta.to.global.u64 %rd4, %rd3;
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, 0;
setp.eq.u32 %p1, %r1, 0;
@%p1 bra END;
ROUND:
mul.wide.u32 %rd5, %r4, 4;
add.u64 %rd6, %rd2, %rd5;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra MEET;
LOOK:
ld.acquire.gpu.global.u32 %r5, [%rd6];
setp.ne.u32 %p3, %r5, %r3;
@%p3 bra LOOK;
MEET:
bar.sync 0;
st.global.u32 [%rd4], %r2;
bar.sync 0;
@%p2 bra NEXT;
red.release.gpu.global.add.u32 [%rd6], 1;
NEXT:
add.u32 %r4, %r4, 1;
setp.lt.u32 %p4, %r4, %r1;
@%p4 bra ROUND;
END:
ret;
}
";

/// A tile scheduler gives each CTA one tile of a row. The loop that waits for a word takes 0 for the value seen so
/// far, and only then looks at the word.
const TILES: &str = include_str!("../../../tests/mlir/turns.mlir");

fn lines(source: &str, with: &str) -> String {
    let text = compared(source);
    let found: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(with) || line.starts_with("line "))
        .map(str::trim)
        .collect();
    found.join("\n")
}

#[test]
fn the_ctas_of_a_grid_take_turns_at_words_of_memory() {
    insta::assert_snapshot!(compared(TURNS), @r"
        //! Recovered from the kernel `turns`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 9 launches, 378 events.
        //! Assumed: counters in memory are 0 at launch
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: no two CTAs with the same ctaid_x use the same words of memory
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol turns

        param n in 0..=1073741823
        param nctaid_x in 1..=1073741823
        param R in 1..
        assume R >= nctaid_x  // all CTAs are resident at once

        named cta_bar[nctaid_x, 16]
        semaphore at_lock[n] = 0  // taken to be cleared before the launch

        role warp0[ctaid_x in 0..nctaid_x] warp {
            for i in 0..n {  // line 24
                wait at_lock[i] == ctaid_x  // line 26
                sync cta_bar[ctaid_x, 0] 64  // line 30
                sync cta_bar[ctaid_x, 0] 64  // line 32
                at_lock[i] += 1  // line 34
            }
        }

        role warp1[ctaid_x in 0..nctaid_x] warp {
            for i in 0..n {  // line 24
                sync cta_bar[ctaid_x, 0] 64  // line 30
                sync cta_bar[ctaid_x, 0] 64  // line 32
            }
        }
        ");
}

/// A change in the kernel changes what the protocol awaits and adds.
#[test]
fn what_is_awaited_is_what_ends_the_loop() {
    let changed = |from: &str, to: &str| lines(&TURNS.replace(from, to), "lock");
    insta::assert_snapshot!(changed("setp.ne.u32 %p3, %r5, %r3", "setp.lt.u32 %p3, %r5, %r3"), @r"
    semaphore at_lock[n] = 0  // taken to be cleared before the launch
    wait at_lock[i] >= ctaid_x  // line 26
    at_lock[i] += 1  // line 34
    ");
    insta::assert_snapshot!(changed("setp.ne.u32 %p3, %r5, %r3", "setp.le.s32 %p3, %r5, %r3"), @r"
    semaphore at_lock[n] = 0  // taken to be cleared before the launch
    wait at_lock[i] >= (ctaid_x + 1)  // line 26
    at_lock[i] += 1  // line 34
    ");
    insta::assert_snapshot!(changed("setp.ne.u32 %p3, %r5, %r3", "setp.eq.u32 %p3, %r5, 0"), @r"
    semaphore at_lock[n] = 0  // taken to be cleared before the launch
    wait at_lock[i] >= 1  // line 26
    at_lock[i] += 1  // line 34
    ");
    insta::assert_snapshot!(changed("add.u32 [%rd6], 1", "add.u32 [%rd6], 2"), @r"
    semaphore at_lock[n] = 0  // taken to be cleared before the launch
    wait at_lock[i] == ctaid_x  // line 26
    at_lock[i] += 2  // line 34
    ");
    insta::assert_snapshot!(changed("[%rd6], 1", "[%rd6+4], 1"), @r"
    semaphore at_lock[n + 1] = 0  // taken to be cleared before the launch
    wait at_lock[i] == ctaid_x  // line 26
    at_lock[i + 1] += 1  // line 34
    ");
    // A loop that ends as soon as a word differs from a value is no wait for a value.
    insta::assert_snapshot!(changed("setp.ne.u32 %p3, %r5, %r3", "setp.eq.u32 %p3, %r5, %r3"), @"line 26: a loop waits for more than one word of memory, or for other than that it is some value or at least that");
    insta::assert_snapshot!(changed("setp.ne.u32 %p3, %r5, %r3", "setp.gt.u32 %p3, %r5, %r3"), @"line 26: a loop waits for more than one word of memory, or for other than that it is some value or at least that");
}

#[test]
fn what_else_reaches_the_words_is_refused() {
    let changed = |from: &str, to: &str| lines(&TURNS.replace(from, to), "line ");
    // In this scope, other CTAs need not see the operation.
    insta::assert_snapshot!(changed("red.release.gpu", "red.release.cta"), @"line 34: other CTAs wait for this memory, and need not see what is done in this scope");
    insta::assert_snapshot!(changed("ld.acquire.gpu", "ld.acquire.cta"), @"line 26: other CTAs wait for this memory, and need not see what is done in this scope");
    // A plain load need not read the word again in each iteration.
    insta::assert_snapshot!(changed("ld.acquire.gpu.global", "ld.global"), @"line 26: a loop goes on until memory changes, which is not followed, or for ever");
    insta::assert_snapshot!(changed("red.release.gpu.global.add", "red.release.gpu.global.max"), @"line 34: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    insta::assert_snapshot!(changed("red.release.gpu.global.add", "red.relaxed.gpu.global.xor"), @"line 34: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    insta::assert_snapshot!(changed("st.global.u32 [%rd4], %r2", "st.global.u32 [%rd6], %r2"), @"line 31: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    insta::assert_snapshot!(changed("st.global.u32 [%rd4], %r2", "st.global.u32 [%rd2+64], %r2"), @"line 31: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    // Through a pointer that is read from memory.
    insta::assert_snapshot!(
        changed("st.global.u32 [%rd4], %r2", "ld.global.u64 %rd7, [%rd4];\nred.global.add.u32 [%rd7], 1"), @"line 32: which word of memory this is cannot be written as a formula"
    );
    // A store through a pointer whose target no parameter gives is assumed to go to other memory.
    let elsewhere = "ld.global.u64 %rd7, [%rd4];\nst.global.u32 [%rd7], %r2";
    let taken = TURNS.replace("st.global.u32 [%rd4], %r2", elsewhere);
    insta::assert_snapshot!(lines(&taken, "addresses in global memory"), @"//! Assumed: stores and copies to addresses in global memory that are not followed do not reach words that are waited for");
    let fragment = "{%r2, %r2, %r2, %r2, %r2, %r2, %r2, %r2}";
    for write in [
        &format!("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd6], {fragment}"),
        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd2+128], 0, 5",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r2], 128",
        "discard.global.L2 [%rd2], 128",
        "st.bulk [%rd2], 64, 0",
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(changed("st.global.u32 [%rd4], %r2", write), @"line 31: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
        }
    }
    // An addition of a number below 0.
    insta::assert_snapshot!(changed("add.u32 [%rd6], 1", "add.s32 [%rd6], -1"), @"line 34: what is added to the counter may be negative, or more than 2^31 - 1");
    // Without the addition, another program would have to change the word.
    insta::assert_snapshot!(changed("red.release.gpu.global.add.u32 [%rd6], 1;", ""), @"line 26: the kernel waits for a word of memory that it never changes: something outside the kernel would have to");
    // A barrier of a cluster is not a barrier of each CTA.
    insta::assert_snapshot!(
        changed("bar.sync 0;\nst", "barrier.cluster.arrive;\nbarrier.cluster.wait;\nst"), @"line 26: CTAs of clusters wait for words of global memory: that is not followed"
    );
    // Lanes wait for different words.
    insta::assert_snapshot!(
        changed("setp.ne.u32 %p2, %r2, 0", "mad.wide.u32 %rd6, %r2, 4, %rd6;\nsetp.gt.u32 %p2, %r2, 1"), @"line 27: lanes of a warp wait for different words of memory"
    );
    // The words of each CTA begin at a different place.
    insta::assert_snapshot!(
        changed("mul.wide.u32 %rd5, %r4, 4", "add.u32 %r6, %r4, %r3;\nmul.wide.u32 %rd5, %r6, 4"), @r"
        for i in 0..n {  // line 25
        wait at_lock[ctaid_x + i] == ctaid_x  // line 27
        sync cta_bar[ctaid_x, 0] 64  // line 31
        sync cta_bar[ctaid_x, 0] 64  // line 33
        at_lock[ctaid_x + i] += 1  // line 35
        for i in 0..n {  // line 25
        sync cta_bar[ctaid_x, 0] 64  // line 31
        sync cta_bar[ctaid_x, 0] 64  // line 33
        "
    );
}

#[test]
fn a_number_that_the_launch_computes_may_be_that_of_a_cta() {
    insta::assert_snapshot!(compared(TILES), @r"
        //! Recovered from the kernel `turns`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 11 launches, 607 events.
        //! Assumed: a comparison of ctaid_x and all has the same result in all CTAs that use the same words of memory
        //! Assumed: all lies in 0..=1073741823
        //! Assumed: counters in memory are 0 at launch
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: ctaid_x lies in 0..=1073741823
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: in the CTAs that use the same words of memory, computed from tiles is 0, 1, 2, and so on, each once
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: the stride between words of memory is not 0: words.3
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol turns

        param rounds in 0..=1073741823
        param takes_part in 0..=1  // a comparison of ctaid_x and all
        param ctas in 1..=1073741823
        param R in 1..
        assume R >= ctas  // all CTAs are resident at once

        named cta_bar[ctas, 16]
        semaphore at_words_0[rounds] = 0  // taken to be cleared before the launch

        role warp0[cta in 0..ctas] warp {
            if takes_part != 0 {  // line 13
                for i in 0..rounds {  // line 16
                    if 0 != cta {  // line 23
                        wait at_words_0[i] == cta  // line 26
                    }
                    sync cta_bar[cta, 0] 64  // line 30
                    at_words_0[i] += 1  // line 33
                }
            }
        }

        role warp1[cta in 0..ctas] warp {
            if takes_part != 0 {  // line 13
                for i in 0..rounds {  // line 16
                    sync cta_bar[cta, 0] 64  // line 30
                }
            }
        }
        ");
}

/// CTAs that differ in anything else are refused, because the text has one program for all of them.
#[test]
fn ctas_that_take_turns_differ_in_one_number() {
    let changed = |from: &str, to: &str| lines(&TILES.replace(from, to), "line ");
    insta::assert_snapshot!(changed("to %rounds step", "to %row step"), @"line 26: CTAs that wait for each other differ here in more than one number: also in computed from tiles");
    insta::assert_snapshot!(changed("%seen, %tile : i32", "%seen, %ctaid : i32"), @"line 26: the words of memory that are waited for begin at several places, so that it is not known which of them are the same");
}

/// As unsigned numbers, no word is ever as much as a number below 0. As signed numbers, every word is.
#[test]
fn a_wait_for_at_least_a_number_below_0_is_not_followed() {
    let wait = |test: &str| {
        let kernel = TURNS.replace("setp.ne.u32 %p3, %r5, %r3;", test);
        compared(&kernel)
    };
    for test in [
        "setp.lt.u32 %p3, %r5, -1;",
        "setp.le.u32 %p3, %r5, -2;",
        "sub.u32 %r6, %r1, 5;\nsetp.lt.u32 %p3, %r5, %r6;",
        "setp.lt.s32 %p3, %r5, -1;",
        // Only for signed numbers, more than -1 means at least 0.
        "sub.u32 %r6, %r3, 1;\nsetp.ls.u32 %p3, %r5, %r6;",
        "sub.u32 %r6, %r1, 2;\nsetp.le.u32 %p3, %r5, %r6;",
    ] {
        let refused = wait(test);
        assert!(refused.contains("may be below 0"), "{test}: {refused}");
    }
    assert!(wait("setp.lt.u32 %p3, %r5, %r3;").contains("wait at_lock[i] >= ctaid_x"));
    assert!(wait("setp.le.u32 %p3, %r5, %r3;").contains("wait at_lock[i] >= (ctaid_x + 1)"));
    let with_sign = "sub.u32 %r6, %r3, 1;\nsetp.le.s32 %p3, %r5, %r6;";
    assert!(wait(with_sign).contains("wait at_lock[i] >= ctaid_x"));
}

/// Each part of a vector of parameters is a separate pointer.
#[test]
fn each_result_of_a_load_of_parameters_is_a_pointer_of_its_own() {
    let parameters = ".param .u64 lock, .param .u64 data, .param .u32 n";
    let loads =
        "ld.param.u64 %rd1, [lock];\ncvta.to.global.u64 %rd2, %rd1;\nld.param.u64 %rd3, [data];";
    let vector = |loaded: &str, other: &str| {
        let kernel = TURNS.replace(parameters, ".param .align 16 .b8 q[16], .param .u32 n");
        let loads_instead = format!(
            "ld.param.v2.u64 {loaded}, [q];\ncvta.to.global.u64 %rd2, %rd1;\nld.param.u64 %rd3, [{other}];"
        );
        lines(&kernel.replace(loads, &loads_instead), "wait at_")
    };
    assert_ne!(TURNS.replace(loads, ""), TURNS);
    // The store goes to a word of the lock itself.
    for (loaded, other) in [("{%rd7, %rd1}", "q+8"), ("{%rd1, %rd7}", "q")] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(vector(loaded, other), @"line 31: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
        }
    }
    insta::assert_snapshot!(vector("{%rd7, %rd1}", "q"), @"wait at_q[i] == ctaid_x  // line 26");
}

/// An address is one of two pointers: one leads to other memory, and one is unknown. Then the address is unknown, and
/// an addition to it is not ignored.
#[test]
fn an_addition_through_one_of_two_pointers_is_not_passed_over() {
    let through = |other: &str| {
        let code = format!(
            "{other}\nsetp.eq.u32 %p5, %r1, 9;\nselp.b64 %rd8, %rd4, %rd7, %p5;\nred.relaxed.gpu.global.add.u32 [%rd8], 1;"
        );
        let kernel = TURNS.replace("%rd<8>", "%rd<9>");
        lines(
            &kernel.replace("st.global.u32 [%rd4], %r2;", &code),
            "line ",
        )
    };
    for other in [
        "ld.global.u64 %rd7, [%rd4];",
        // A pointer that is made of two halves, and an integer.
        "ld.global.v2.u32 {%r8, %r9}, [%rd4];\nmov.b64 %rd7, {%r8, %r9};",
        "mul.wide.u32 %rd7, %r2, 8;",
    ] {
        let refused = through(other);
        assert!(refused.starts_with("line 3"), "{other}: {refused}");
        assert!(!refused.contains("wait"), "{other}: {refused}");
    }
    let data = through("add.u64 %rd7, %rd4, 64;");
    assert!(data.contains("wait at_lock[i]"), "{data}");
}

/// Words that differ by multiples of a stride are the same word if the stride is 0.
#[test]
fn a_stride_between_words_is_not_0() {
    let strided = |stride: &str| {
        let with = format!("{stride}\nmul.wide.u32 %rd5, %r4, %r6;\nshl.b64 %rd5, %rd5, 2;");
        lines(&TURNS.replace("mul.wide.u32 %rd5, %r4, 4;", &with), "not 0")
    };
    insta::assert_snapshot!(strided("ld.param.u32 %r6, [data];"), @"//! Assumed: the stride between words of memory is not 0: computed from data");
    insta::assert_snapshot!(strided("mov.u32 %r6, %nctaid.x;"), @"//! Assumed: the stride between words of memory is not 0: computed from the grid");
    insta::assert_snapshot!(strided("mov.u32 %r6, %ctaid.x;"), @"line 28: the words of memory that are waited for are told apart by a product with a number that differs between CTAs or is always 0");
    insta::assert_snapshot!(strided("mov.u32 %r6, %ctaid.y;"), @"line 28: the words of memory that are waited for are told apart by a product with a number that differs between CTAs or is always 0");
}

/// The numbers of CTAs must be those of some launch. A protocol with other numbers proves nothing about any launch.
#[test]
fn ctas_have_numbers_at_some_launch() {
    let numbered = |number: &str| {
        let kernel = TURNS.replace("mov.u32 %r3, %ctaid.x;", number);
        lines(&kernel, "and so on")
    };
    for number in [
        "mov.u32 %r3, %ctaid.x;\nshr.u32 %r3, %r3, 1;",
        "mov.u32 %r3, %ctaid.x;\ndiv.u32 %r3, %r3, 3;",
        "mov.u32 %r3, %ctaid.x;\nshr.u32 %r6, %r3, 2;\nmul.wide.u32 %rd5, %r6, 4096;\nadd.u64 %rd2, %rd2, %rd5;\nshr.u32 %r3, %r3, 1;",
    ] {
        let refused = numbered(number);
        assert!(
            refused.contains("no launch was found"),
            "{number}: {refused}"
        );
    }
    for number in [
        "mov.u32 %r3, %ctaid.x;\nrem.u32 %r3, %r3, %r1;",
        "mov.u32 %r3, %ctaid.x;\nand.b32 %r6, %r3, 1;\nmul.wide.u32 %rd5, %r6, 4096;\nadd.u64 %rd2, %rd2, %rd5;\nshr.u32 %r3, %r3, 1;",
    ] {
        let met = numbered(number);
        assert!(
            met.starts_with("//! Assumed: in the CTAs"),
            "{number}: {met}"
        );
    }
}
