//! Loops that look at memory until something has happened, in the forms that compilers give them.

use crate::support::program::Folder;

fn check(arguments: &[&str], code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u64 sem)\n.reqntid 32, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.shared .align 4 .b8 flag[4];\n\
             mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n\
             mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\nld.param.u64 %rd1, [sem];\n\
             cvta.to.global.u64 %rd2, %rd1;\n{code}\nDONE:\nret;\n}}\n"
        ),
    );
    folder.run(&[&["check", "-q"], arguments, &["kernel.ptx"]].concat())
}

/// A CTA waits for its number by `look`, with a pause in the loop, and so with a first look before it.
fn turns(look: &str, until: &str, pause: &str, release: &str) -> String {
    check(
        &["--launch", "ascending"],
        &format!(
            "{look}\nsetp.{until}.s32 %p2, %r4, %r2;\n@%p2 bra GO;\nAGAIN:\n{pause}\n{look}\n\
             setp.{until}.s32 %p3, %r4, %r2;\n@!%p3 bra AGAIN;\nGO:\n{release}"
        ),
    )
}

const ADD: &str = "atom.global.add.u32 %r9, [%rd2], 1;";

#[test]
fn a_pause_between_looks() {
    insta::assert_snapshot!(turns("atom.global.add.u32 %r4, [%rd2], 0;", "eq", "nanosleep.u32 64;", ADD), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(turns("ld.volatile.global.s32 %r4, [%rd2];", "ge", "membar.gl;", ADD), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(turns("ld.acquire.gpu.global.s32 %r4, [%rd2];", "eq", "nanosleep.u32 64;", ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `ld.acquire.gpu.global.s32 %r4, [%rd2]`: the kernel waits for memory that it never writes itself
    --- stderr
    ");
    insta::assert_snapshot!(
        turns("ld.acquire.gpu.global.s32 %r4, [%rd2];", "eq", "nanosleep.u32 64;", &ADD.replace(", 1", ", 2")),
        @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[1] waits for at_p_sem == 1 (line 23), but cta[0] has already added 2 (line 27), and at_p_sem never goes down
    --- stderr
    "
    );
}

/// What is compared and what is written are the same, so nothing changes.
#[test]
fn a_look_by_compare_and_swap() {
    insta::assert_snapshot!(turns("atom.global.cas.b32 %r4, [%rd2], %r2, %r2;", "eq", "", ADD), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(turns("atom.global.cas.b32 %r4, [%rd2], %r2, %r3;", "eq", "", ADD), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 20, `@%p2 bra GO`: a branch decides about synchronization, but %p2 is not known here: what an atomic operation found is not followed (line 18, `atom.global.cas.b32 %r4, [%rd2], %r2, %r3`)
    --- stderr
    ");
}

/// The first look is of another word than the loop waits for, or for something else, or stands before an arrival.
#[test]
fn a_first_look_that_is_not_the_wait() {
    let code = |first: &str, until: &str, between: &str| {
        check(
            &["--launch", "ascending"],
            &format!(
                "ld.relaxed.gpu.global.s32 %r4, [%rd2{first}];\n{between}\nsetp.{until} %p2, %r4, %r2;\n@%p2 bra GO;\n\
                 AGAIN:\nnanosleep.u32 64;\nld.relaxed.gpu.global.s32 %r4, [%rd2];\n\
                 setp.eq.s32 %p3, %r4, %r2;\n@!%p3 bra AGAIN;\nGO:\n{ADD}"
            ),
        )
    };
    insta::assert_snapshot!(code("", "eq.s32", ""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code("+4", "eq.s32", ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 21, `@%p2 bra GO`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    insta::assert_snapshot!(code("", "ge.s32", ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 21, `@%p2 bra GO`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
    insta::assert_snapshot!(code("", "eq.s32", ADD), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 21, `@%p2 bra GO`: a branch decides about synchronization, but depends on memory that is read
    --- stderr
    ");
}

/// A flag that is exchanged is set: each CTA tells the next.
#[test]
fn a_flag_set_by_an_exchange() {
    let code = |value: u32, again: &str| {
        check(
            &["--launch", "ascending"],
            &format!(
                "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd2, %rd3;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra GO;\n\
                 AGAIN:\nld.acquire.gpu.global.s32 %r4, [%rd4];\nsetp.ne.s32 %p3, %r4, 2;\n@%p3 bra AGAIN;\nGO:\n\
                 atom.global.exch.b32 %r9, [%rd4+4], {value};\n{again}"
            ),
        )
    };
    insta::assert_snapshot!(code(2, ""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code(3, ""), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[1] waits for at_p_sem[1] == 2 (line 23), but cta[0] set it to 3 (line 27), and nobody sets it again
    --- stderr
    ");
    insta::assert_snapshot!(code(2, "st.release.gpu.global.s32 [%rd4+4], 0;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[1] waits for at_p_sem[1] == 2 (line 23), but cta[0] set at_p_sem[1] to 0 (line 28), and nobody sets it again: cta[0] sets it no more
    --- stderr
    ");
}

/// Nothing else decides when this is left, and nobody writes there.
#[test]
fn a_weak_load_of_one_place() {
    let code = |body: &str| {
        check(
            &[],
            &format!(
                "mov.u32 %r5, 0;\nmov.u32 %r6, flag;\nAGAIN:\n{body}\n@%p2 bra AGAIN;\nbar.warp.sync 1;"
            ),
        )
    };
    insta::assert_snapshot!(code("ld.shared.s32 %r4, [flag];\nsetp.eq.s32 %p2, %r4, 0;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `@%p2 bra AGAIN`: how often this loop runs is not known: it is read from memory (line 21, `ld.shared.s32 %r4, [flag]`)
    --- stderr
    ");
    // A search ends, and so does a loop that counts.
    insta::assert_snapshot!(
        code("ld.shared.s32 %r4, [%r6];\nadd.u32 %r6, %r6, 4;\nsetp.eq.s32 %p2, %r4, 0;"),
        @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    "
    );
    insta::assert_snapshot!(
        code("ld.shared.s32 %r4, [flag];\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p2, %r5, %r4;"),
        @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    "
    );
}

/// The first look is in the register that the loop compares, which nothing changes: it may never end. The same goes for
/// what is made of it anew in each round.
#[test]
fn a_loop_that_nothing_ends() {
    let code = |body: &str| {
        check(
            &[],
            &format!(
                "ld.acquire.gpu.global.s32 %r4, [%rd2];\nsetp.ne.s32 %p2, %r4, 0;\nAGAIN:\n{body}\n@%p2 bra AGAIN;\n{ADD}"
            ),
        )
    };
    insta::assert_snapshot!(code(""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `@%p2 bra AGAIN`: no round of this loop changes the condition that ends it: it may never end
    --- stderr
    ");
    insta::assert_snapshot!(code("add.s32 %r5, %r4, 1;\nsetp.ne.s32 %p2, %r5, 1;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 21, `add.s32 %r5, %r4, 1`: no round of this loop changes the condition that ends it: it may never end
    --- stderr
    ");
}

/// Words of 4 and 8 bytes share bytes; numbers of 2^31 and more would be negative for who compares.
#[test]
fn words_that_are_not_followed() {
    let code = |write: &str| {
        check(
            &["--launch", "ascending"],
            &format!(
                "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra FIRST;\nAGAIN:\nld.acquire.gpu.global.s32 %r4, [%rd2];\n\
                 setp.eq.s32 %p3, %r4, 0;\n@%p3 bra AGAIN;\nFIRST:\nmov.u64 %rd5, 1;\n{write}"
            ),
        )
    };
    insta::assert_snapshot!(code("st.release.gpu.global.u64 [%rd2], %rd5;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `st.release.gpu.global.u64 [%rd2], %rd5`: memory that the kernel waits for is used in words of several sizes, or of other than 4 or 8 bytes
    --- stderr
    ");
    insta::assert_snapshot!(code("st.release.gpu.global.u8 [%rd2], 1;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `st.release.gpu.global.u8 [%rd2], 1`: memory that the kernel waits for is used in words of several sizes, or of other than 4 or 8 bytes
    --- stderr
    ");
    insta::assert_snapshot!(code("st.release.gpu.global.u32 [%rd2], 2147483648;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(
        code("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r6], 16;"),
        @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r6], 16`: `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32`: it may write to memory that the kernel waits for
    --- stderr
    "
    );
}

/// A word that is read is compared with a number as its type says: 2^32 - 2^30 and more.
#[test]
fn a_word_compared_without_sign() {
    insta::assert_snapshot!(
        check(
            &[],
            "ld.global.u32 %r4, [%rd2];\nadd.u32 %r5, %r2, -1073741824;\nsetp.lt.u32 %p2, %r4, %r5;\n@!%p2 bra DONE;\n\
             bar.sync 1, 64;"
        ),
        @r"
        exit 1
        --- stdout
        kernel.ptx: deadlock: REFUTED at chosen = 1: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 22)
        --- stderr
        "
    );
}
