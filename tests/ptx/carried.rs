//! Counters that are carried from tile to tile, past a loop that is written out twice and the round that is left over.

use crate::support::program::Folder;

/// One warp fills a buffer in `tiles * rounds` rounds, the other one empties it. It does two rounds in one, and `rest` where one
/// is left over, behind which it has done `left` rounds more.
fn check(rest: &str, left: u32) -> String {
    let emptied = format!(
        "setp.eq.u32 %p9, %r9, 1;\n@%p9 bra R;\nand.b32 %r6, %r9, -2;\n\
         CL:\n{}{}add.u32 %r21, %r21, 2;\nsub.u32 %r6, %r6, 2;\nsetp.ne.u32 %p10, %r6, 0;\n@%p10 bra CL;\n\
         R:\nmov.u32 %r20, %r21;\nand.b32 %r11, %r9, 1;\nsetp.eq.u32 %p11, %r11, 0;\n@%p11 bra CE;\n\
         {rest}add.u32 %r20, %r21, {left};\n",
        round("X", 0),
        round("Y", 1),
    );
    checked(&emptied)
}

/// The same with four rounds in one, and a tree of branches for those that are left over, behind the last of which it has done
/// `left` rounds more.
fn check_tree(left: u32) -> String {
    let emptied = format!(
        "setp.lt.u32 %p9, %r9, 4;\n@%p9 bra R;\nand.b32 %r6, %r9, -4;\n\
         CL:\n{}{}{}{}add.u32 %r21, %r21, 4;\nsub.u32 %r6, %r6, 4;\nsetp.ne.u32 %p10, %r6, 0;\n@%p10 bra CL;\n\
         R:\nmov.u32 %r20, %r21;\nand.b32 %r11, %r9, 3;\nsetp.eq.u32 %p11, %r11, 0;\n@%p11 bra CE;\n\
         {}add.u32 %r20, %r21, 1;\nsetp.eq.u32 %p11, %r11, 1;\n@%p11 bra CE;\n\
         {}add.u32 %r20, %r21, 2;\nsetp.eq.u32 %p11, %r11, 2;\n@%p11 bra CE;\n\
         {}add.u32 %r20, %r21, {left};\n",
        round("X0", 0),
        round("X1", 1),
        round("X2", 2),
        round("X3", 3),
        round("Y0", 0),
        round("Y1", 1),
        round("Y2", 2),
    );
    checked(&emptied)
}

/// The verdict where one warp empties the buffer so.
fn checked(emptied: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 tiles, .param .u32 rounds)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.shared .align 8 .b8 bar[16];\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, bar;\n\
             ld.param.u32 %r8, [tiles];\nld.param.u32 %r9, [rounds];\n\
             setp.ne.u32 %p1, %r1, 0;\n@%p1 bra A;\n\
             mbarrier.init.shared.b64 [%r2], 1;\nmbarrier.init.shared.b64 [%r2+8], 1;\nA: bar.sync 0;\n\
             setp.lt.s32 %p2, %r8, 1;\n@%p2 bra END;\nmov.u32 %r5, 0;\nmov.u32 %r20, 0;\n\
             setp.lt.s32 %p5, %r9, 1;\nsetp.eq.u32 %p3, %r1, 32;\n@%p3 bra C;\n@%p1 bra END;\n\
             P:\nmov.u32 %r6, 0;\n@%p5 bra PE;\n\
             PL:\nand.b32 %r10, %r20, 1;\nxor.b32 %r10, %r10, 1;\n\
             W1: mbarrier.try_wait.parity.shared.b64 %p6, [%r2+8], %r10;\n@!%p6 bra W1;\n\
             mbarrier.arrive.shared.b64 _, [%r2];\n\
             add.u32 %r20, %r20, 1;\nadd.u32 %r6, %r6, 1;\nsetp.lt.s32 %p7, %r6, %r9;\n@%p7 bra PL;\n\
             PE:\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p8, %r5, %r8;\n@%p8 bra P;\nbra END;\n\
             C:\n@%p5 bra CE;\nmov.u32 %r21, %r20;\n{emptied}\
             CE:\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p8, %r5, %r8;\n@%p8 bra C;\n\
             END:\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx", "--recovery", "graph"])
}

/// A round of the warp that empties, so many behind `%r21`.
fn round(label: &str, behind: u32) -> String {
    format!(
        "add.u32 %r12, %r21, {behind};\nand.b32 %r12, %r12, 1;\n\
         {label}: mbarrier.try_wait.parity.shared.b64 %p12, [%r2], %r12;\n@!%p12 bra {label};\n\
         mbarrier.arrive.shared.b64 _, [%r2+8];\n"
    )
}

#[test]
fn a_counter_behind_a_remainder() {
    insta::assert_snapshot!(check(&round("Z", 0), 1), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823, rounds in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // What is left over is not counted.
    insta::assert_snapshot!(check(&round("Z", 0), 0), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 2, rounds = 1: warp1 waits for bar_0 with parity 0 twice in a row (line 73), and bar_0 has completed 2 times by then, so this wait needs another completion: warp0 arrives 2 times and has ended
    --- stderr
    ");
    // It is counted twice.
    insta::assert_snapshot!(check(&round("Z", 0), 2), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 2, rounds = 1: warp1 waits for bar_0 with parity 0 twice in a row (line 73), and bar_0 has completed 2 times by then, so this wait needs another completion: warp0 arrives 2 times and has ended
    --- stderr
    ");
    // It is counted, but not done.
    insta::assert_snapshot!(check("", 1), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 2, rounds = 1: nobody arrives at bar_8, for which warp0 waits (line 33): warp1 never arrives, because `for j in 0..2 * (rounds / 2)` (line 53) makes no trip
    --- stderr
    ");
}

#[test]
fn a_tree_of_remainders() {
    insta::assert_snapshot!(check_tree(3), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823, rounds in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // One of those that are left over is not counted.
    insta::assert_snapshot!(check_tree(2), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 2, rounds = 3: warp0 and warp1 wait for each other: warp0 (line 33) for warp1 to arrive at bar_8, warp1 (line 83) for warp0 to arrive at bar_0
    --- stderr
    ");
}
