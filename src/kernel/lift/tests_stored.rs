//! Tests of words of global memory that CTAs store to and wait for.

use super::tests::compared;

/// Thread 0 of each CTA waits for the flag of the CTA before, and raises its own.
const FLAGS: &str = "\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry flags(.param .u64 flags, .param .u64 data, .param .u32 n)
.reqntid 32, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<12>;
ld.param.u64 %rd1, [flags];
ld.param.u64 %rd2, [data];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd4, %rd1, %rd3;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra END;
setp.eq.u32 %p2, %r3, 0;
@%p2 bra RAISE;
LOOK:
ld.acquire.gpu.global.s32 %r5, [%rd4+-4];
setp.eq.s32 %p3, %r5, 0;
@%p3 bra LOOK;
RAISE:
st.release.gpu.global.s32 [%rd4], 1;
END:
ret;
}
";

/// CTA 0 tells the others in each round that they may go on, and waits for CTA 1.
const ROUNDS: &str = "\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry rounds(.param .u64 go, .param .u64 back, .param .u32 n)
.reqntid 32, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<12>;
ld.param.u64 %rd1, [go];
ld.param.u64 %rd2, [back];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, 0;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra END;
setp.eq.u32 %p2, %r1, 0;
@%p2 bra END;
setp.ne.u32 %p3, %r3, 0;
@%p3 bra OTHER;
FIRST:
add.u32 %r6, %r4, 1;
st.release.gpu.global.u32 [%rd1], %r6;
BACK:
ld.acquire.gpu.global.u32 %r5, [%rd2];
setp.lt.u32 %p4, %r5, %r6;
@%p4 bra BACK;
mov.u32 %r4, %r6;
setp.lt.u32 %p5, %r4, %r1;
@%p5 bra FIRST;
bra END;
OTHER:
setp.ne.u32 %p3, %r3, 1;
@%p3 bra END;
SECOND:
add.u32 %r6, %r4, 1;
GO:
ld.acquire.gpu.global.u32 %r5, [%rd1];
setp.lt.u32 %p4, %r5, %r6;
@%p4 bra GO;
st.release.gpu.global.u32 [%rd2], %r6;
mov.u32 %r4, %r6;
setp.lt.u32 %p5, %r4, %r1;
@%p5 bra SECOND;
END:
ret;
}
";

fn lines(source: &str, with: &str) -> String {
    let text = compared(source);
    let found: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(with) || line.starts_with("line "))
        .map(str::trim)
        .collect();
    found.join("\n")
}

/// The lines about words of memory that are recovered from a kernel with one change, or why it is refused.
fn changed(source: &str, from: &str, to: &str) -> String {
    assert!(source.contains(from), "{from}");
    lines(&source.replace(from, to), "at_")
}

#[test]
fn a_flag_is_a_count_of_stores() {
    insta::assert_snapshot!(compared(FLAGS), @r"
        //! Recovered from the kernel `flags`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 6 launches, 8 events.
        //! Assumed: counters in memory are 0 at launch
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: no two CTAs with the same ctaid_x use the same words of memory
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol flags

        param nctaid_x in 1..=1073741823
        param R in 1..
        assume R >= nctaid_x  // all CTAs are resident at once

        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch

        role warp0[ctaid_x in 0..nctaid_x] warp {
            if 0 != ctaid_x {  // line 20
                wait at_flags[ctaid_x - 1] >= 1  // line 22
            }
            at_flags[ctaid_x] += 1  // line 26
        }

        role warp1[ctaid_x in 0..nctaid_x] warp {
        }
        ");
}

#[test]
fn a_flag_has_any_number_but_0() {
    // Also a store of a number below 0, which no count ever is.
    insta::assert_snapshot!(changed(FLAGS, "[%rd4], 1;", "[%rd4], -1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] += 1  // line 26
        ");
    let exactly = FLAGS.replace("setp.eq.s32 %p3, %r5, 0;", "setp.ne.s32 %p3, %r5, -1;");
    insta::assert_snapshot!(changed(&exactly, "[%rd4], 1;", "[%rd4], -1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] += 1  // line 26
        ");
    // The kernel does not use the result of the exchange.
    insta::assert_snapshot!(changed(FLAGS, "st.release.gpu.global.s32 [%rd4], 1;", "atom.release.gpu.global.exch.b32 %r7, [%rd4], 1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] += 1  // line 26
        ");
    // Two CTAs raise each flag, one after the other. A wait cannot tell how often a flag was raised.
    insta::assert_snapshot!(changed(FLAGS, "[%rd4], 1;", "[%rd4], 1;\nst.relaxed.gpu.global.s32 [%rd4+-4], 2;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] += 1  // line 26
        at_flags[ctaid_x - 1] += 1  // line 27
        ");
}

/// The protocol says which value a store sets, where a count of stores would mean something else.
#[test]
fn other_words_are_set() {
    // A look passes at none of the stored numbers, or at 0 as well.
    insta::assert_snapshot!(changed(FLAGS, "setp.eq.s32 %p3, %r5, 0;", "setp.ne.s32 %p3, %r5, 2;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] == 2  // line 22
        at_flags[ctaid_x] = 1  // line 26
        ");
    insta::assert_snapshot!(changed(FLAGS, "setp.eq.s32 %p3, %r5, 0;", "setp.lt.s32 %p3, %r5, 2;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 2  // line 22
        at_flags[ctaid_x] = 1  // line 26
        ");
    insta::assert_snapshot!(changed(FLAGS, "setp.eq.s32 %p3, %r5, 0;", "setp.ne.s32 %p3, %r5, 0;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] == 0  // line 22
        at_flags[ctaid_x] = 1  // line 26
        ");
    // The word is set back to 0, or to a lesser number.
    insta::assert_snapshot!(changed(FLAGS, "[%rd4], 1;", "[%rd4], 1;\nst.release.gpu.global.s32 [%rd4], 0;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] = 1  // line 26
        at_flags[ctaid_x] = 0  // line 27
        ");
    let less = FLAGS.replace("setp.eq.s32 %p3, %r5, 0;", "setp.lt.s32 %p3, %r5, 2;");
    insta::assert_snapshot!(changed(&less, "[%rd4], 1;", "[%rd4], 2;\nst.release.gpu.global.s32 [%rd4], 1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 2  // line 22
        at_flags[ctaid_x] = 2  // line 26
        at_flags[ctaid_x] = 1  // line 27
        ");
    // A wait is for exactly one of two stored numbers.
    let exactly = FLAGS.replace("setp.eq.s32 %p3, %r5, 0;", "setp.ne.s32 %p3, %r5, 1;");
    insta::assert_snapshot!(changed(&exactly, "[%rd4], 1;", "[%rd4], 1;\nst.release.gpu.global.s32 [%rd4], 2;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] == 1  // line 22
        at_flags[ctaid_x] = 1  // line 26
        at_flags[ctaid_x] = 2  // line 27
        ");
    // As an unsigned number, a number below 0 is more than 0. As a signed number, it is less.
    for test in [
        "setp.lt.s32 %p3, %r5, 1;",
        "setp.lt.u32 %p3, %r5, 1;",
        "setp.ne.s32 %p3, %r5, 1;",
    ] {
        let other = FLAGS.replace("setp.eq.s32 %p3, %r5, 0;", test);
        insta::allow_duplicates! {
            insta::assert_snapshot!(changed(&other, "[%rd4], 1;", "[%rd4], -1;"), @"line 26: CTAs wait for a word of memory that is set to a negative number. That is followed only if nothing else is stored there, and each wait is for exactly that number");
        }
    }
    // Numbers that depend on the CTA or the launch.
    insta::assert_snapshot!(changed(FLAGS, "[%rd4], 1;", "[%rd4], %r3;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] = ctaid_x  // line 26
        ");
    insta::assert_snapshot!(changed(FLAGS, "[%rd4], 1;", "[%rd4], %r1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] = n  // line 26
        ");
}

/// A number of the launch is both awaited and stored. So whether it is 0 is the same for both.
#[test]
fn a_flag_may_have_a_number_of_the_launch() {
    let exactly = FLAGS.replace("setp.eq.s32 %p3, %r5, 0;", "setp.ne.s32 %p3, %r5, %r1;");
    insta::assert_snapshot!(changed(&exactly, "[%rd4], 1;", "[%rd4], %r1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= n  // line 22
        at_flags[ctaid_x] = n  // line 26
        ");
    let other = FLAGS.replace(
        "setp.eq.s32 %p3, %r5, 0;",
        "add.s32 %r6, %r1, 1;\nsetp.ne.s32 %p3, %r5, %r6;",
    );
    insta::assert_snapshot!(changed(&other, "[%rd4], 1;", "[%rd4], %r1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] == (n + 1)  // line 22
        at_flags[ctaid_x] = n  // line 27
        ");
}

#[test]
fn stores_that_others_need_not_see_are_refused() {
    let stored = |to: &str| changed(FLAGS, "st.release.gpu.global.s32 [%rd4], 1;", to);
    insta::assert_snapshot!(stored("st.global.s32 [%rd4], 1;"), @"line 26: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    insta::assert_snapshot!(stored("st.release.cta.global.s32 [%rd4], 1;"), @"line 26: other CTAs wait for this memory, and need not see what is done in this scope");
    insta::assert_snapshot!(stored("st.release.cluster.global.s32 [%rd4], 1;"), @"line 26: other CTAs wait for this memory, and need not see what is done in this scope");
    // Other words than those that are waited for, or parts of two of them.
    insta::assert_snapshot!(stored("st.release.gpu.global.u16 [%rd4], 1;"), @"line 26: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    insta::assert_snapshot!(stored("st.release.gpu.global.u64 [%rd4], 1;"), @"line 26: which word of memory this is cannot be written as a formula");
    insta::assert_snapshot!(stored("st.release.gpu.global.s32 [%rd4+2], 1;"), @"line 26: the words of memory that are waited for begin at several places, so that it is not known which of them are the same");
    insta::assert_snapshot!(stored("st.relaxed.gpu.global.v2.u32 [%rd4], {1, 1};"), @"line 26: this may write to a word that the kernel waits for: only additions are supported, and stores that other CTAs are sure to see");
    // A number that is read from memory.
    insta::assert_snapshot!(stored("ld.global.u32 %r7, [%rd2];\nst.release.gpu.global.s32 [%rd4], %r7;"), @r"
        param at_data in 0..=1073741823  // a word behind data
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] = at_data  // line 27
        ");
    // A store and an addition; and an atomic operation whose result is used.
    insta::assert_snapshot!(stored("st.release.gpu.global.s32 [%rd4], 1;\nred.release.gpu.global.add.s32 [%rd4], 1;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 22
        at_flags[ctaid_x] = 1  // line 26
        at_flags[ctaid_x] += 1  // line 27
        ");
    insta::assert_snapshot!(stored("atom.release.gpu.global.exch.b32 %r7, [%rd4], 1;\nst.global.u32 [%rd2], %r7;"), @"line 26: this atomic operation changes a word that the kernel waits for, and the kernel uses its result: that is not supported");
    // Several threads of the warp store.
    let first = "setp.ne.u32 %p1, %r2, 0;";
    insta::assert_snapshot!(changed(FLAGS, first, "setp.gt.u32 %p1, %r2, 1;"), @"line 26: lanes of a warp store to one word of memory together");
}

/// The distance between two arrays, added to one of them, leads to the other.
#[test]
fn a_store_by_a_distance_is_not_passed_over() {
    let by_distance = "sub.s64 %rd6, %rd4, %rd2;\nshr.s64 %rd7, %rd6, 2;\nshl.b64 %rd8, %rd7, 2;\n\
                       add.s64 %rd9, %rd2, %rd8;\nst.volatile.global.u32 [%rd9], 5;\nst.release.gpu.global.s32 [%rd4], 1;";
    let refused = changed(FLAGS, "st.release.gpu.global.s32 [%rd4], 1;", by_distance);
    assert!(refused.starts_with("line "), "{refused}");
    assert!(!refused.contains("wait at_"), "{refused}");
}

/// Nothing orders the lanes of a warp.
#[test]
fn lanes_that_set_words_are_refused() {
    let lane = FLAGS.replace(
        "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra END;",
        "setp.gt.u32 %p1, %r2, 1;\n@%p1 bra END;\nsetp.eq.u32 %p4, %r2, 0;",
    );
    let two = |stores: &str| changed(&lane, "st.release.gpu.global.s32 [%rd4], 1;", stores);
    // The two stores may come in either order.
    insta::assert_snapshot!(two("@%p4 st.release.gpu.global.s32 [%rd4], 1;\n@!%p4 st.release.gpu.global.s32 [%rd4], 2;"), @r"
        semaphore at_flags[nctaid_x] = 0  // taken to be cleared before the launch
        wait at_flags[ctaid_x - 1] >= 1  // line 23
        at_flags[ctaid_x] += 1  // line 27
        at_flags[ctaid_x] += 1  // line 28
        ");
    insta::assert_snapshot!(two("@%p4 st.release.gpu.global.s32 [%rd4], 1;\n@!%p4 st.release.gpu.global.s32 [%rd4], 0;"), @"line 28: several lanes of a warp set words of memory that CTAs wait for: the lanes are in no order");
    insta::assert_snapshot!(two("mad.wide.u32 %rd5, %r2, 4, %rd4;\nst.release.gpu.global.s32 [%rd5], %r2;"), @"line 28: several lanes of a warp set words of memory that CTAs wait for: the lanes are in no order");
}

#[test]
fn words_that_grow_in_rounds() {
    insta::assert_snapshot!(compared(ROUNDS), @r"
        //! Recovered from the kernel `rounds`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 19 launches, 252 events.
        //! Assumed: counters in memory are 0 at launch
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: no two CTAs with the same ctaid_x use the same words of memory
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol rounds

        param n in 0..=1073741823
        param nctaid_x in 1..=1073741823
        param R in 1..
        assume R >= nctaid_x  // all CTAs are resident at once

        semaphore at_go[1] = 0  // taken to be cleared before the launch
        semaphore at_back[1] = 0  // taken to be cleared before the launch

        role warp0[ctaid_x in 0..nctaid_x] warp {
            if n != 0 {  // line 19
                if 0 != ctaid_x {  // line 21
                    if 1 == ctaid_x {  // line 35
                        for i in 0..n {  // line 37
                            wait at_go[0] >= (i + 1)  // line 39
                            at_back[0] = (i + 1)  // line 42
                        }
                    }
                } else {
                    for j in 0..n {  // line 24
                        at_go[0] = (j + 1)  // line 24
                        wait at_back[0] >= (j + 1)  // line 26
                    }
                }
            }
        }

        role warp1[ctaid_x in 0..nctaid_x] warp {
        }
        ");
    // Only one thread stores to each word, and the numbers increase, so no memory order is needed.
    let relaxed = ROUNDS
        .replace("st.release", "st.relaxed")
        .replace("ld.acquire", "ld.volatile");
    let relaxed = relaxed.replace("ld.volatile.gpu", "ld.volatile");
    insta::assert_snapshot!(lines(&relaxed, "at_"), @r"
        semaphore at_go[1] = 0  // taken to be cleared before the launch
        semaphore at_back[1] = 0  // taken to be cleared before the launch
        wait at_go[0] >= (i + 1)  // line 39
        at_back[0] = (i + 1)  // line 42
        at_go[0] = (j + 1)  // line 24
        wait at_back[0] >= (j + 1)  // line 26
        ");
}

/// If two threads store to a word, or if the numbers decrease, all observers must agree on which store is the last.
#[test]
fn words_that_fall_are_set_in_an_order_that_is_seen() {
    let falls = ROUNDS.replace(
        "st.release.gpu.global.u32 [%rd1], %r6;",
        "sub.u32 %r7, %r1, %r4;\nst.release.gpu.global.u32 [%rd1], %r7;",
    );
    insta::assert_snapshot!(lines(&falls, "at_"), @r"
        semaphore at_go[1] = 0  // taken to be cleared before the launch
        semaphore at_back[1] = 0  // taken to be cleared before the launch
        wait at_go[0] >= (i + 1)  // line 40
        at_back[0] = (i + 1)  // line 43
        at_go[0] = (n - j)  // line 25
        wait at_back[0] >= (j + 1)  // line 27
        ");
    insta::assert_snapshot!(lines(&falls.replace("st.release", "st.relaxed"), "at_"), @"line 25: a word of memory that CTAs wait for is set to several numbers, and some additions, stores or looks may be seen in any order: they are neither releases and acquires nor beside a fence");
    insta::assert_snapshot!(lines(&falls.replace("ld.acquire", "ld.relaxed"), "at_"), @"line 25: a word of memory that CTAs wait for is set to several numbers, and some additions, stores or looks may be seen in any order: they are neither releases and acquires nor beside a fence");
    // A fence next to each operation suffices.
    let fenced = falls
        .replace("st.release", "fence.acq_rel.gpu;\nst.relaxed")
        .replace("ld.acquire", "ld.relaxed")
        .replace("bra BACK;", "bra BACK;\nfence.acq_rel.gpu;")
        .replace("bra GO;", "bra GO;\nmembar.gl;");
    insta::assert_snapshot!(lines(&fenced, "at_"), @r"
        semaphore at_go[1] = 0  // taken to be cleared before the launch
        semaphore at_back[1] = 0  // taken to be cleared before the launch
        wait at_go[0] >= (i + 1)  // line 42
        at_back[0] = (i + 1)  // line 47
        at_go[0] = (n - j)  // line 26
        wait at_back[0] >= (j + 1)  // line 28
        ");
    let near = fenced.replace("membar.gl;", "membar.cta;");
    insta::assert_snapshot!(lines(&near, "at_"), @"line 26: a word of memory that CTAs wait for is set to several numbers, and some additions, stores or looks may be seen in any order: they are neither releases and acquires nor beside a fence");
    let late = fenced.replace(
        "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd2]",
        "fence.acq_rel.gpu;\nld.global.u32 %r8, [%rd1+64];\nst.relaxed.gpu.global.u32 [%rd2]",
    );
    insta::assert_snapshot!(lines(&late, "at_"), @"line 26: a word of memory that CTAs wait for is set to several numbers, and some additions, stores or looks may be seen in any order: they are neither releases and acquires nor beside a fence");
    // All CTAs store to one word.
    let both = ROUNDS.replace("setp.ne.u32 %p3, %r3, 1;\n@%p3 bra END;", "");
    insta::assert_snapshot!(lines(&both.replace("st.release", "st.relaxed"), "at_"), @"line 41: a word of memory that CTAs wait for is set to several numbers, and some additions, stores or looks may be seen in any order: they are neither releases and acquires nor beside a fence");
    insta::assert_snapshot!(lines(&both, "at_"), @r"
        semaphore at_go[1] = 0  // taken to be cleared before the launch
        semaphore at_back[1] = 0  // taken to be cleared before the launch
        wait at_go[0] >= (i + 1)  // line 38
        at_back[0] = (i + 1)  // line 41
        at_go[0] = (j + 1)  // line 24
        wait at_back[0] >= (j + 1)  // line 26
        ");
}

/// A barrier of all CTAs: each adds 1 and waits until all have added.
const BARRIER: &str = "\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry barrier(.param .u64 word, .param .u32 n)
.reqntid 32, 1, 1
{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<12>;
ld.param.u64 %rd1, [word];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %nctaid.x;
mov.u32 %r4, 0;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra END;
setp.lt.s32 %p2, %r1, 1;
@%p2 bra END;
ROUND:
red.release.gpu.global.add.u32 [%rd1], 1;
add.u32 %r4, %r4, 1;
mul.lo.u32 %r6, %r4, %r3;
LOOK:
ld.acquire.gpu.global.u32 %r5, [%rd1];
setp.lt.u32 %p4, %r5, %r6;
@%p4 bra LOOK;
setp.lt.s32 %p5, %r4, %r1;
@%p5 bra ROUND;
END:
ret;
}
";

#[test]
fn a_barrier_of_all_ctas_waits_for_a_product() {
    insta::assert_snapshot!(compared(BARRIER), @r"
        //! Recovered from the kernel `barrier`.
        //! 64 x 1 x 1 threads per CTA.
        //! Checked against the kernel at 9 launches, 126 events.
        //! Assumed: counters in memory are 0 at launch
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: no two CTAs with the same ctaid_x use the same words of memory
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        protocol barrier

        param n in 0..=1073741823
        param nctaid_x in 1..=1073741823
        param R in 1..
        assume R >= nctaid_x  // all CTAs are resident at once
        assume n * nctaid_x <= 2147483647  // awaited and stored numbers do not wrap around

        semaphore at_word[1] = 0  // taken to be cleared before the launch

        role warp0[ctaid_x in 0..nctaid_x] warp {
            for i in 0..n {  // line 22
                at_word[0] += 1  // line 20
                wait at_word[0] >= (nctaid_x + nctaid_x * i)  // line 24
            }
        }

        role warp1[ctaid_x in 0..nctaid_x] warp {
        }
        ");
    let wait = |from: &str, to: &str| {
        assert!(BARRIER.contains(from), "{from}");
        lines(&BARRIER.replace(from, to), "w")
    };
    insta::assert_snapshot!(wait("setp.lt.u32 %p4, %r5, %r6", "setp.ne.u32 %p4, %r5, %r6"), @r"
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: no two CTAs with the same ctaid_x use the same words of memory
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        assume n * nctaid_x <= 2147483647  // awaited and stored numbers do not wrap around
        semaphore at_word[1] = 0  // taken to be cleared before the launch
        role warp0[ctaid_x in 0..nctaid_x] warp {
        at_word[0] += 1  // line 20
        wait at_word[0] == (nctaid_x + nctaid_x * i)  // line 24
        role warp1[ctaid_x in 0..nctaid_x] warp {
        ");
    insta::assert_snapshot!(wait("mul.lo.u32 %r6, %r4, %r3;", "mad.lo.u32 %r6, %r4, %r3, 1;"), @r"
        //! Assumed: counters in memory stay below 2^31
        //! Assumed: if the words of memory of two CTAs begin at different addresses, they do not overlap
        //! Assumed: no two CTAs with the same ctaid_x use the same words of memory
        //! Assumed: pointers that are different parameters, and what tensor maps describe, do not overlap
        //! Assumed: lanes of a warp that diverge reconverge where their paths meet
        assume n * nctaid_x + 1 <= 2147483647  // awaited and stored numbers do not wrap around
        semaphore at_word[1] = 0  // taken to be cleared before the launch
        role warp0[ctaid_x in 0..nctaid_x] warp {
        at_word[0] += 1  // line 20
        wait at_word[0] >= (nctaid_x + nctaid_x * i + 1)  // line 24
        role warp1[ctaid_x in 0..nctaid_x] warp {
        ");
    // The awaited number may be below 0.
    insta::assert_snapshot!(wait("mul.lo.u32 %r6, %r4, %r3;", "mad.lo.u32 %r6, %r4, %r3, -1;"), @"line 24: an operand of this depends on a computation that cannot be written in the protocol language");
    // A number that depends on the CTA.
    insta::assert_snapshot!(wait("mov.u32 %r3, %nctaid.x;", "mov.u32 %r3, %ctaid.x;"), @"line 24: a value that a wait expects in a word of memory, or that is stored to the word, may wrap around");
}
