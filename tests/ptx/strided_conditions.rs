//! What is asked of the counter of a loop in steps of the grid: whether this is the first iteration, and whether there is another one,
//! with or without a sign. Places that are flipped by an exclusive or.

use crate::support::program::Folder;

fn verdict(arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.kernel("persistent.ptx");
    let shown = folder.run(arguments);
    let line = shown.lines().find(|line| line.contains("deadlock"));
    let line = line.unwrap_or(&shown).to_owned();
    match line.find(" and schedule") {
        Some(at) => line[..at].to_owned(),
        None => line,
    }
}

fn kernel(entry: &str) -> String {
    verdict(&[
        "check",
        "-q",
        "persistent.ptx",
        "--recovery",
        "graph",
        "--entry",
        entry,
    ])
}

#[test]
fn tiles_and_rows_of_the_grid() {
    insta::assert_snapshot!(kernel("tiles_ahead"), @"persistent.ptx: deadlock: PROVED for every tiles in 0..=1073741823");
    insta::assert_snapshot!(kernel("tiles_ahead_no_first"), @"persistent.ptx: deadlock: REFUTED at tiles = 1: nobody arrives at full_bar[0], for which warp0 waits (persistent.cu:29, line 398): no statement arrives there");
    insta::assert_snapshot!(kernel("tiles_ahead_late_phase"), @"persistent.ptx: deadlock: REFUTED at tiles = 2: warp0 first waits for full_bar[1] with parity 1 (persistent.cu:29, line 645). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (persistent.cu:21, line 609). A first wait for a completion uses parity 0");
    insta::assert_snapshot!(kernel("rows_handed_on"), @"persistent.ptx: deadlock: PROVED for every tiles in 0..=1073741823");
    insta::assert_snapshot!(kernel("rows_handed_on_one_more"), @"persistent.ptx: deadlock: REFUTED at tiles = 0: cta_bar[6] takes 160 threads, 128 came (warps0_3[0..4]), and nobody else comes (persistent.cu:49, line 1137): warp4 never comes, because `for i in 0..tiles` (persistent.cu:125, line 1162) makes no trip");
}

/// Two warps go through rows from `first` on. The first one comes to a barrier where `one` holds of a row, the other one where
/// `other` does. The row is in `%r4`, the next one in `%r6`.
fn rows(first: &str, one: &str, other: &str) -> String {
    let rows = |name: &str, condition: &str| {
        format!(
            "{first}\nsetp.ge.s32 %p3, %r4, %r60;\n@%p3 bra END;\n\
             {name}:\nadd.s32 %r6, %r4, %r3;\n{condition}\n@!%p4 bra {name}_NOT;\nbar.sync 1, 64;\n\
             {name}_NOT:\nmov.u32 %r4, %r6;\nsetp.lt.s32 %p3, %r4, %r60;\n@%p3 bra {name};\nbra END;\n"
        )
    };
    hand_written(&format!(
        "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 bra OTHER;\n\
         {}OTHER:\n{}END:\n",
        rows("FIRST", one),
        rows("SECOND", other)
    ))
}

fn hand_written(code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.shared .align 8 .b8 bar[64];\n\
             ld.param.u32 %r60, [n];\nmov.u32 %r1, %tid.x;\n{code}\nret;\n}}\n"
        ),
    );
    let shown = folder.run(&["check", "-q", "kernel.ptx", "--recovery", "graph"]);
    let line = shown.lines().find(|line| line.contains("deadlock"));
    line.map_or(shown.clone(), |line| {
        line.split(" and schedule")
            .next()
            .unwrap_or(line)
            .to_owned()
    })
}

#[test]
fn conditions_on_rows_of_the_grid() {
    let from = "mov.u32 %r4, %r2;";
    let more = "setp.lt.u32 %p4, %r6, %r60;";
    insta::assert_snapshot!(rows(from, more, "setp.lt.s32 %p4, %r6, %r60;"), @"kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823");
    let later = "setp.ne.s32 %p4, %r4, %r2;";
    insta::assert_snapshot!(rows(from, later, more), @"kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823");
    // One warp leaves out the first row, the other one the second.
    insta::assert_snapshot!(rows(from, later, "add.s32 %r7, %r2, %r3;\nsetp.ne.s32 %p4, %r4, %r7;"), @"kernel.ptx: deadlock: REFUTED at tiles = 1: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 38): warp0 never comes, because `if i != 0` (line 22) does not hold for it");
    // A row below 0 is a large number without a sign: the last two conditions differ.
    let below = "add.s32 %r4, %r2, -3;";
    insta::assert_snapshot!(rows(below, more, "setp.lt.s32 %p4, %r6, %r60;"), @"kernel.ptx: deadlock: UNKNOWN line 22: whether this is done depends on what a loop carries, for which no form was found");
    // Rows of 8 have no row in common with one that comes 4 later.
    insta::assert_snapshot!(rows(from, later, "add.s32 %r7, %r2, 4;\nsetp.ne.s32 %p4, %r4, %r7;"), @"kernel.ptx: deadlock: UNKNOWN the recovered protocol has a counterexample, but possibly no launch has it: parameters may depend on each other, patterns may be ones that no memory contents give, a warp may wait for warps that have ended, or the kernel may abort first");
}

/// A warp arrives at one of four mbarriers by turns, and waits there.
fn flipped(arrives: &str, waits: &str) -> String {
    let more: String = (4..8)
        .map(|at| format!("mbarrier.init.shared.b64 [%r2+{}], 1;\n", 8 * at))
        .collect();
    hand_written(&format!(
        "mov.u32 %r2, bar;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\nsetp.lt.s32 %p2, %r60, 1;\n\
         mbarrier.init.shared.b64 [%r2], 1;\nmbarrier.init.shared.b64 [%r2+8], 1;\n\
         mbarrier.init.shared.b64 [%r2+16], 1;\nmbarrier.init.shared.b64 [%r2+24], 1;\n{more}@%p2 bra END;\n\
         mov.u32 %r5, 0;\nLOOP:\nand.b32 %r6, %r5, 3;\nshl.b32 %r6, %r6, 3;\nshr.u32 %r7, %r5, 2;\nand.b32 %r7, %r7, 1;\n\
         {arrives}\nadd.u32 %r8, %r2, %r8;\nmbarrier.arrive.shared.b64 _, [%r8];\n\
         {waits}\nadd.u32 %r8, %r2, %r8;\n\
         W: mbarrier.try_wait.parity.shared.b64 %p3, [%r8], %r7;\n@!%p3 bra W;\n\
         add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r60;\n@%p4 bra LOOP;\nEND:\n"
    ))
}

#[test]
fn bits_that_are_all_flipped() {
    let all = "xor.b32 %r8, %r6, 24;";
    insta::assert_snapshot!(flipped(all, "sub.u32 %r8, 24, %r6;"), @"kernel.ptx: deadlock: BOUNDED no violation for n in 0..=64; no proof rule covers the way the element of this operation moves: `wait bar[0 - i % 4 + 3] i / 4 % 2` (line 36)");
    insta::assert_snapshot!(flipped(all, "mov.u32 %r8, %r6;"), @"kernel.ptx: deadlock: REFUTED at n = 1: nobody arrives at bar[0], for which warp0 waits (line 36): whoever arrives there has made all of its arrivals");
    // Some of the bits are flipped.
    insta::assert_snapshot!(flipped(all, "xor.b32 %r8, %r6, 8;"), @"kernel.ptx: deadlock: UNKNOWN line 36: which mbarrier this is depends on a computation that cannot be written in the protocol language");
    // None of them can be set: this adds.
    insta::assert_snapshot!(flipped("xor.b32 %r8, %r6, 32;", "add.u32 %r8, %r6, 32;"), @"kernel.ptx: deadlock: PROVED for every n in 0..=1073741823");
}
