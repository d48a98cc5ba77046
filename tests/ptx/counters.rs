//! Arrays of counters in memory: which of them a CTA means, in which order CTAs take turns, and whom a mask says to come.

use crate::support::program::Folder;

/// One thread of each CTA waits until the counter `%r20` has the value `%r21`, and adds 1. `%r2` and `%r3` are its place
/// along x and y, `%r4` and `%r5` the CTAs along them, `%r6` is a parameter and `%rd4` points to a mask.
fn check(code: &str, more: &[&str]) -> String {
    waiting("setp.ne.s32 %p2, %r22, %r21;", code, more)
}

/// The same where the thread goes on waiting by another test of what it has seen, `%r22`.
fn waiting(test: &str, code: &str, more: &[&str]) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u64 words, .param .u64 mask, .param .u32 n)\n.reqntid 32, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n\
             ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd2, %rd1;\n\
             ld.param.u64 %rd3, [mask];\ncvta.to.global.u64 %rd4, %rd3;\n\
             ld.param.u32 %r6, [n];\nmov.u32 %r1, %tid.x;\n\
             {code}\n\
             mul.wide.s32 %rd5, %r20, 4;\nadd.s64 %rd6, %rd2, %rd5;\n\
             setp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n\
             WAIT:\nld.acquire.gpu.global.s32 %r22, [%rd6];\n{test}\n@%p2 bra WAIT;\n\
             red.release.gpu.global.add.s32 [%rd6], 1;\nDONE:\nret;\n}}\n"
        ),
    );
    folder.run(
        &[
            &["check", "-q", "--launch", "ascending"],
            more,
            &["kernel.ptx"],
        ]
        .concat(),
    )
}

const X: &str = "mov.u32 %r2, %ctaid.x;\n";
const BOTH: &str = "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %nctaid.x;\nmov.u32 %r5, %nctaid.y;\n";

/// No word is more than -1 without sign; every word is with one. What is taken to fit for the sake of a guess is looked at.
#[test]
fn waits_for_more_than_what_may_be_below_0() {
    let code = format!("{X}mov.u32 %r20, 0;\nsub.u32 %r21, %r2, 1;");
    let along = |test: &str| waiting(test, &code, &["--recovery", "path"]);
    let without_sign = along("setp.ls.u32 %p2, %r22, %r21;");
    assert!(
        without_sign.contains("UNKNOWN") && without_sign.contains("may be below 0"),
        "{without_sign}"
    );
    let with_sign = along("setp.le.s32 %p2, %r22, %r21;");
    assert!(with_sign.contains("PROVED"), "{with_sign}");
    // At least what is not below 0 is as followed as before.
    let least = waiting(
        "setp.lt.u32 %p2, %r22, %r2;",
        &code,
        &["--recovery", "path"],
    );
    assert!(least.contains("PROVED"), "{least}");
}

#[test]
fn heads_in_groups() {
    let heads = |value: &str| {
        check(
            &format!("{X}shr.u32 %r20, %r2, 2;\nand.b32 %r21, %r2, 3;\n{value}"),
            &[],
        )
    };
    insta::assert_snapshot!(heads(""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(heads("sub.u32 %r21, 3, %r21;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_p_words[0] == 3 (line 25), but at_p_words[0] stays 0 and nobody adds to it: only cta[0] itself would, after that wait
    --- stderr
    ");
    // With room in between.
    insta::assert_snapshot!(check(&format!("{X}and.b32 %r20, %r2, -4;\nand.b32 %r21, %r2, 3;"), &[]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // Heads along y, with a row of tiles for each group.
    let tiles = "shr.u32 %r7, %r3, 2;\nmad.lo.u32 %r20, %r7, %r4, %r2;\nand.b32 %r21, %r3, 3;";
    insta::assert_snapshot!(check(&format!("{BOTH}{tiles}"), &[]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, nctaid_y in 1..=65535, R >= 1 and schedule, assuming nctaid_x * ((nctaid_y + 3) / 4) < 2147483649: all obligations of [rule] hold
    --- stderr
    ");
    // The groups are as large as an argument says.
    let sized = "div.u32 %r20, %r2, %r6;\nrem.u32 %r21, %r2, %r6;";
    insta::assert_snapshot!(check(&format!("{X}{sized}"), &["--assume", "p_n <= 8"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1 and schedule, assuming 0 < p_n, p_n <= 8: all obligations of [rule] hold
    --- stderr
    ");
}

/// CTAs are numbered along x first.
#[test]
fn ascending_along_two_axes() {
    let turn = |value: &str| check(&format!("{BOTH}mov.u32 %r20, 0;\n{value}"), &[]);
    insta::assert_snapshot!(turn("mad.lo.u32 %r21, %r3, %r4, %r2;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, nctaid_y in 1..=65535, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(turn("mad.lo.u32 %r21, %r2, %r5, %r3;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, nctaid_y = 2, R = 1: cta[1][0] waits for at_p_words == 2 (line 27), which needs cta[0][1]; that cannot start, because cta[1][0] holds the only resident slot
    --- stderr
    ");
}

#[test]
fn a_counter_before_its_pointer() {
    let last = |value: &str| check(&format!("{X}sub.u32 %r20, %r6, 1;\n{value}"), &[]);
    insta::assert_snapshot!(last("mov.u32 %r21, %r2;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1 and schedule, assuming 0 < p_n: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(last("add.u32 %r21, %r2, 1;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 1, nctaid_x = 1, R = 1: cta[0] waits for at_p_words[0] == 1 (line 24), but at_p_words[0] stays 0 and nobody adds to it: only cta[0] itself would, after that wait
    --- stderr
    ");
    // Which one it is moves with the CTA.
    insta::assert_snapshot!(check(&format!("{X}sub.u32 %r20, %r2, 1;\nmov.u32 %r21, 0;"), &[]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `ld.acquire.gpu.global.s32 %r22, [%rd6]`: this counter may lie before where its pointer points to
    --- stderr
    ");
}

/// How many CTAs before this one the mask names.
fn ranks(from: &str, upto: &str) -> String {
    let code = format!(
        "{X}mul.wide.u32 %rd7, %r2, 4;
        add.s64 %rd8, %rd4, %rd7;
        ld.global.nc.u32 %r7, [%rd8];
        setp.eq.u32 %p3, %r7, 0;
        @%p3 bra DONE;
        mov.u32 %r20, 0;
        mov.u32 %r21, 0;
        {from}
        mov.u64 %rd9, %rd4;
        COUNT:
        ld.global.nc.u32 %r9, [%rd9];
        setp.ne.s32 %p5, %r9, 0;
        selp.u32 %r10, 1, 0, %p5;
        add.u32 %r21, %r21, %r10;
        add.s64 %rd9, %rd9, 4;
        add.u32 %r8, %r8, 1;
        setp.{upto}.s32 %p6, %r8, %r2;
        @%p6 bra COUNT;
        COUNTED:"
    );
    check(&code, &[])
}

#[test]
fn ranks_that_are_counted_in_a_mask() {
    let guarded = "setp.lt.s32 %p4, %r2, 1;\n@%p4 bra COUNTED;\nmov.u32 %r8, 0;";
    insta::assert_snapshot!(ranks(guarded, "lt"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1, pattern at_p_mask and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // It counts itself, too.
    insta::assert_snapshot!(ranks("mov.u32 %r8, 0;", "le"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1, at_p_mask = {(0, 0)}: cta[0] waits for at_p_words == 1 (line 41), but at_p_words stays 0 and nobody adds to it: only cta[0] itself would, after that wait
    --- stderr
    ");
    // The one before is not counted.
    let shorter = "setp.lt.s32 %p4, %r2, 2;\n@%p4 bra COUNTED;\nmov.u32 %r8, 1;";
    insta::assert_snapshot!(ranks(shorter, "lt"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1, at_p_mask = {(0, 0), (0, 1)}: cta[1] waits for at_p_words == 0 (line 43), but cta[0] has already added 1 (line 46), and at_p_words never goes down
    --- stderr
    ");
}

/// A division by four of what may be negative rounds toward 0: seven CTAs find 0.
#[test]
fn quotients_of_negative_numbers() {
    let near = |first: &str| {
        let code = format!(
            "{X}sub.s32 %r7, %r6, %r2;
            shr.s32 %r8, %r7, 31;
            shr.u32 %r8, %r8, 30;
            add.s32 %r8, %r7, %r8;
            shr.s32 %r8, %r8, 2;
            setp.ne.s32 %p3, %r8, 0;
            @%p3 bra DONE;
            sub.s32 %r9, %r6, {first};
            max.s32 %r9, %r9, 0;
            sub.s32 %r21, %r2, %r9;
            mov.u32 %r20, 0;"
        );
        check(&code, &[])
    };
    insta::assert_snapshot!(near("3"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(near("2"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 3, nctaid_x = 1, R = 1: cta[0] waits for at_p_words == -1 (line 33), but at_p_words starts at 0 and never goes down
    --- stderr
    ");
}
