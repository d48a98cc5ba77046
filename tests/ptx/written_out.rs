//! Loops that are left in several places, loops whose rounds are all known, and rings of which a register keeps the stage before.

use crate::support::program::Folder;

fn shown(folder: &Folder, arguments: &[&str]) -> String {
    let shown = folder.run(arguments);
    let line = shown.lines().find(|line| line.contains("deadlock"));
    let line = line.unwrap_or(&shown).to_owned();
    match line.find(" and schedule").or(line.find(": all ")) {
        Some(at) => line[..at].to_owned(),
        None => line,
    }
}

fn kernel(name: &str, entry: &str) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    let arguments = [
        "check",
        "-q",
        "--property",
        "deadlock",
        name,
        "--recovery",
        "graph",
        "--entry",
        entry,
    ];
    shown(&folder, &arguments)
}

fn hand_written(code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u32 m, .param .u64 p)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<8>;\n.shared .align 8 .b8 bar[64];\n\
             ld.param.u32 %r60, [n];\nld.param.u32 %r61, [m];\nld.param.u64 %rd1, [p];\n\
             mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 31;\n{code}\nret;\n}}\n"
        ),
    );
    shown(
        &folder,
        &["check", "-q", "kernel.ptx", "--recovery", "graph"],
    )
}

#[test]
fn loops_with_two_exits() {
    insta::assert_snapshot!(kernel("exits.ptx", "returns_"), @"exits.ptx: deadlock: PROVED for every param_2 in 0..=1073741823, param_3 in 0..=1073741823");
    insta::assert_snapshot!(kernel("exits.ptx", "returns_later"), @"exits.ptx: deadlock: REFUTED at param_2 = 1, param_3 = 0: nobody arrives at full_bar[0], for which warps1_2[0] waits (exits.cu:27, line 1073): warp0 never arrives, because `if param_2 >= 1 && param_3 != 0` (exits.cu:138, line 958) does not hold for it");
}

/// One warp comes to a barrier `n` times, or `m` times if that is less. The other one leaves its loop in two places, the second one by
/// `second`, behind a barrier.
fn two_exits(second: &str) -> String {
    hand_written(&format!(
        "min.s32 %r2, %r60, %r61;\nmov.u32 %r3, 0;\n@%p1 bra OTHER;\n\
         setp.lt.s32 %p2, %r2, 1;\n@%p2 bra END;\n\
         ONE: bar.sync 1, 64;\nadd.s32 %r3, %r3, 1;\nsetp.lt.s32 %p2, %r3, %r2;\n@%p2 bra ONE;\nbra END;\n\
         OTHER: setp.ge.s32 %p3, %r3, %r60;\n@%p3 bra END;\n\
         {second}\n@%p3 bra END;\nbar.sync 1, 64;\nadd.s32 %r3, %r3, 1;\nbra OTHER;\nEND:\n"
    ))
}

#[test]
fn what_is_done_before_each_exit() {
    insta::assert_snapshot!(two_exits("setp.ge.s32 %p3, %r3, %r61;"), @"kernel.ptx: deadlock: PROVED for every n in 0..=1073741823, m in 0..=1073741823");
    insta::assert_snapshot!(two_exits("setp.gt.s32 %p3, %r3, %r61;"), @"kernel.ptx: deadlock: REFUTED at n = 1, m = 0: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 30): warp0 never comes, because `for i in 0..min(n, m)` (line 24) makes no trip");
    insta::assert_snapshot!(two_exits("bar.sync 1, 64; setp.ge.s32 %p3, %r3, %r61;"), @"kernel.ptx: deadlock: REFUTED at n = 1, m = 0: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 28): warp0 never comes, because `for i in 0..min(n, m)` (line 24) makes no trip");
    // Memory decides.
    insta::assert_snapshot!(two_exits("ld.volatile.global.u32 %r5, [%rd1]; setp.ge.s32 %p3, %r3, %r5;"), @"kernel.ptx: deadlock: UNKNOWN line 29: whether this is done depends on a value that is read from memory (line 28)");
}

/// One warp comes to a barrier in each round of a loop, the other one so often.
fn halved(begin: &str, times: u32) -> String {
    let often = "bar.sync 1, 64;\n".repeat(times as usize);
    hand_written(&format!(
        "{begin}\n@%p1 bra OTHER;\nAGAIN: setp.eq.s32 %p2, %r3, 0;\n@%p2 bra END;\nbar.sync 1, 64;\nshr.u32 %r3, %r3, 1;\nbra AGAIN;\n\
         OTHER:\n{often}END:\n"
    ))
}

/// As a sorting network has it: distances that halve, in a loop over sizes that double, up to 8.
fn network(times: u32) -> String {
    let often = "bar.sync 1, 64;\n".repeat(times as usize);
    hand_written(&format!(
        "@%p1 bra OTHER;\nmov.u32 %r3, 2;\nSIZE: shr.u32 %r4, %r3, 1;\n\
         AGAIN: bar.sync 1, 64;\nshr.u32 %r4, %r4, 1;\nsetp.ne.s32 %p2, %r4, 0;\n@%p2 bra AGAIN;\n\
         shl.b32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 9;\n@%p3 bra SIZE;\nbra END;\n\
         OTHER:\n{often}END:\n"
    ))
}

#[test]
fn loops_by_powers_of_two() {
    insta::assert_snapshot!(kernel("handover.ptx", "sum_lacks_a_barrier"), @"handover.ptx: deadlock: PROVED for every schedule");
    insta::assert_snapshot!(halved("mov.u32 %r3, 64;", 7), @"kernel.ptx: deadlock: PROVED for every schedule");
    insta::assert_snapshot!(halved("mov.u32 %r3, 64;", 6), @"kernel.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 20): 13 warps come in all, 2 for each completion, and warp0 and warp1 completed 6 before");
    insta::assert_snapshot!(halved("mov.u32 %r3, %r60;", 6), @"kernel.ptx: deadlock: UNKNOWN line 19: how often a loop runs depends on what a loop carries, for which no form was found");
    insta::assert_snapshot!(network(6), @"kernel.ptx: deadlock: PROVED for every schedule");
    insta::assert_snapshot!(network(7), @"kernel.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 34): 13 warps come in all, 2 for each completion, and warp0 and warp1 completed 6 before");
}

#[test]
fn stages_are_given_back_a_round_later_in_each_tile() {
    insta::assert_snapshot!(kernel("hopper_gemm.ptx", "hopper_gemm_in_flight").split("no violation").next().unwrap_or_default(), @"hopper_gemm.ptx: deadlock: BOUNDED");
}

/// A ring of three stages goes on from tile to tile. In each of `n` tiles with `m` rounds, the second warp gives a stage back by
/// `gives` in each round, where `%r8` is the stage of the round before, and then keeps `%r9`. Behind the tile it gives `%r10` back.
fn late(gives: &str, keeps: &str) -> String {
    hand_written(&format!(
        "mov.u32 %r2, bar;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra READY;\n\
         mbarrier.init.shared.b64 [%r2], 1;\nmbarrier.init.shared.b64 [%r2+8], 1;\nmbarrier.init.shared.b64 [%r2+16], 1;\n\
         mbarrier.init.shared.b64 [%r2+24], 1;\nmbarrier.init.shared.b64 [%r2+32], 1;\nmbarrier.init.shared.b64 [%r2+40], 1;\n\
         READY: bar.sync 0;\nand.b32 %r3, %r1, 31;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra END;\n\
         setp.lt.s32 %p2, %r60, 1;\n@%p2 bra END;\nsetp.lt.s32 %p2, %r61, 1;\n@%p2 bra END;\n\
         mov.u32 %r4, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0;\n@%p1 bra OTHER;\n\
         TILE: mov.u32 %r5, 0;\nROUND: shl.b32 %r11, %r6, 3;\nadd.u32 %r11, %r2, %r11;\nxor.b32 %r12, %r7, 1;\n\
         W1: mbarrier.try_wait.parity.shared.b64 %p3, [%r11+24], %r12;\n@!%p3 bra W1;\nmbarrier.arrive.shared.b64 _, [%r11];\n\
         add.u32 %r6, %r6, 1;\nsetp.eq.u32 %p4, %r6, 3;\nselp.b32 %r6, 0, %r6, %p4;\nselp.b32 %r13, 1, 0, %p4;\nxor.b32 %r7, %r7, %r13;\n\
         add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p5, %r5, %r61;\n@%p5 bra ROUND;\n\
         add.u32 %r4, %r4, 1;\nsetp.lt.s32 %p5, %r4, %r60;\n@%p5 bra TILE;\nbra END;\n\
         OTHER: mov.u32 %r5, 0;\nmov.u32 %r8, %r6;\nTAKE: shl.b32 %r11, %r6, 3;\nadd.u32 %r11, %r2, %r11;\n\
         W2: mbarrier.try_wait.parity.shared.b64 %p3, [%r11], %r7;\n@!%p3 bra W2;\n\
         shl.b32 %r14, %r8, 3;\nadd.u32 %r14, %r2, %r14;\n{gives}\nNOT:\nmov.u32 %r10, %r6;\n\
         add.u32 %r6, %r6, 1;\nsetp.eq.u32 %p4, %r6, 3;\nselp.b32 %r6, 0, %r6, %p4;\nselp.b32 %r13, 1, 0, %p4;\nxor.b32 %r7, %r7, %r13;\n\
         {keeps}\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p5, %r5, %r61;\n@%p5 bra TAKE;\n\
         shl.b32 %r14, %r10, 3;\nadd.u32 %r14, %r2, %r14;\nmbarrier.arrive.shared.b64 _, [%r14+24];\n\
         add.u32 %r4, %r4, 1;\nsetp.lt.s32 %p5, %r4, %r60;\n@%p5 bra OTHER;\nEND:\n"
    ))
}

#[test]
fn the_stage_of_the_round_before() {
    let later = "setp.eq.u32 %p6, %r5, 0;\n@%p6 bra NOT;\nmbarrier.arrive.shared.b64 _, [%r14+24];";
    let before = "mov.u32 %r8, %r10;";
    insta::assert_snapshot!(late(later, before), @"kernel.ptx: deadlock: PROVED for every n in 0..=1073741823, m in 0..=1073741823");
    // The stage of the next round.
    insta::assert_snapshot!(late(later, "mov.u32 %r8, %r6;"), @"kernel.ptx: deadlock: REFUTED at n = 1, m = 4: warp0 and warp1 wait for each other: warp0 (line 41) for warp1 to arrive at bar_24[0], warp1 (line 60) for warp0 to arrive at bar_0[0]");
    // In the first round of a tile there is none before it.
    insta::assert_snapshot!(late("mbarrier.arrive.shared.b64 _, [%r14+24];", before), @"kernel.ptx: deadlock: UNKNOWN line 64: which mbarrier this is depends on what a loop carries, for which no form was found");
    // In the second round, that of two rounds before.
    insta::assert_snapshot!(late("setp.eq.u32 %p6, %r5, 1;\n@%p6 bra NOT;\nmbarrier.arrive.shared.b64 _, [%r14+24];", before), @"kernel.ptx: deadlock: UNKNOWN line 66: which mbarrier this is depends on what a loop carries, for which no form was found");
}
