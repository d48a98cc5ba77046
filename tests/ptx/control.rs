//! Where threads of a CTA go different ways: they leave early, skip what others do, or wait for each other in
//! groups smaller than a warp.

use crate::support::program::Folder;

fn check(name: &str) -> String {
    check_with(name, &[])
}

fn check_with(name: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    let mut arguments = vec!["check", "-q", name];
    arguments.extend(options);
    folder.run(&arguments)
}

fn hand_written(threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u32 m)\n.reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n\
             .shared .align 8 .b8 bar[64];\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx"])
}

#[test]
fn threads_that_return_early() {
    insta::assert_snapshot!(check("early_return.ptx"), @r"
        exit 2
        --- stdout
        early_return.ptx:early_return: deadlock: PROVED for every schedule: all obligations of [rule] hold
        early_return.ptx:early_return_counted: deadlock: REFUTED at ctaid_x = 0, param_2 = 1: cta_bar[1] takes 256 threads, 32 came (warp0), and nobody else comes (early_return.cu:22, line 116): warp1 never comes, because `if param_2 > 256 * ctaid_x + 32` (early_return.cu:20, line 99) does not hold for it; warp2 never comes, because `if param_2 > 256 * ctaid_x + 64` (early_return.cu:20, line 99) does not hold for it; warp3 never comes, because `if param_2 > 256 * ctaid_x + 96` (early_return.cu:20, line 99) does not hold for it; and others
        early_return.ptx:early_return_mbarrier: deadlock: REFUTED at ctaid_x = 0, param_2 = 1: met_bar takes 256 arrivals, 1 came (warp0), and warp0 waits for the rest (early_return.cu:35, line 198): warp1 never arrives, because `if param_2 > 256 * ctaid_x + 32` (early_return.cu:32, line 172) does not hold for it; warp2 never arrives, because `if param_2 > 256 * ctaid_x + 64` (early_return.cu:32, line 172) does not hold for it; warp3 never arrives, because `if param_2 > 256 * ctaid_x + 96` (early_return.cu:32, line 172) does not hold for it; and others
        early_return.ptx:guarded_loop: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
        early_return.ptx:guarded_barrier: deadlock: UNKNOWN line 405 (early_return.cu:57), `bar.sync 0`: `bar.sync`: only some lanes of the warp come to this barrier, which is `.aligned`: that is undefined
        --- stderr
        Error: how the threads of `early_return_of_a_tile` lie is not known, and what they do depends on it: 256 x 1 x 1 differs from 128 x 2 x 1
             ╭─[ early_return.ptx:426:17 ]
             │
         426 │ .visible .entry early_return_of_a_tile(
             │ 
             │ Help: give --threads X,Y,Z as in the launch
        ─────╯
        ");
    let tile = ["--entry", "early_return_of_a_tile", "--threads", "16,16"];
    insta::assert_snapshot!(check_with("early_return.ptx", &tile), @r"
        exit 0
        --- stdout
        early_return.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
        --- stderr
        ");
}

/// The other half of the warp goes on to a barrier of the CTA, so it has not left.
#[test]
fn half_a_warp_waits_for_all_of_it() {
    let code = |mask: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 bra REST;\n\
             bar.warp.sync {mask};\nREST:\nbar.sync 0;"
        )
    };
    insta::assert_snapshot!(hand_written(32, &code("0xffffffff")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 14, `bar.warp.sync 0xffffffff`: `bar.warp.sync`: a lane is not in its own mask, or lanes of the mask are not here
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(32, &code("0xffff")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(32, &code("0x7fff")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 14, `bar.warp.sync 0x7fff`: `bar.warp.sync`: a lane is not in its own mask, or lanes of the mask are not here
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(32, &code("%r9")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 14, `bar.warp.sync %r9`: `bar.warp.sync`: %r9 is not known here: it is read before it is written
    --- stderr
    ");
}

/// nvcc counts up to the larger of two negative numbers; that the loop ends may not be assumed away.
#[test]
fn counting_up_from_a_negative_number() {
    let code = "
        ld.param.u32 %r1, [n];
        neg.s32 %r2, %r1;
        ld.param.u32 %r3, [m];
        neg.s32 %r4, %r3;
        setp.lt.s32 %p1, %r1, 1;
        setp.lt.s32 %p2, %r3, 1;
        or.pred %p1, %p1, %p2;
        @%p1 bra DONE;
        max.u32 %r5, %r2, %r4;
        ROUND:
        bar.sync 0;
        add.s32 %r5, %r5, 1;
        setp.ne.s32 %p2, %r5, 0;
        @%p2 bra ROUND;
        DONE:
        bar.sync 1, 64;";
    insta::assert_snapshot!(hand_written(64, code), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, p_m in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Numbers below 0 are large ones to a comparison without sign, and values at which something goes wrong may not be
/// assumed away.
#[test]
fn negative_numbers_without_sign() {
    let differs = "
        ld.param.u32 %r1, [n];
        ld.param.u32 %r2, [m];
        sub.u32 %r3, %r1, %r2;
        setp.le.u32 %p1, %r3, 1073741824;
        @%p1 bra DONE;
        bar.sync 1, 96;
        DONE:";
    insta::assert_snapshot!(hand_written(64, differs), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at chosen = 1: cta_bar[1] takes 96 threads, 64 came (warps0_1[0] and warps0_1[1]), and nobody else comes (line 17)
    --- stderr
    ");
    let larger = "
        ld.param.u32 %r1, [n];
        ld.param.u32 %r2, [m];
        setp.lt.s32 %p1, %r1, 1;
        setp.lt.s32 %p2, %r2, 1;
        or.pred %p1, %p1, %p2;
        @%p1 bra DONE;
        neg.s32 %r3, %r1;
        neg.s32 %r4, %r2;
        max.u32 %r5, %r3, %r4;
        add.s32 %r5, %r5, 1;
        setp.ne.s32 %p2, %r5, 0;
        @%p2 bra DONE;
        bar.sync 1, 96;
        DONE:";
    insta::assert_snapshot!(hand_written(64, larger), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1, m = 1, chosen_2 = 1: cta_bar[1] takes 96 threads, 64 came (warps0_1[0] and warps0_1[1]), and nobody else comes (line 24)
    --- stderr
    ");
}

#[test]
fn barriers_of_the_whole_grid() {
    insta::assert_snapshot!(check("grid_sync.ptx"), @"
    exit 1
    --- stdout
    grid_sync.ptx:grid_sync: deadlock: PROVED for every param_1 in 0..=1073741823, nctaid_x in 1..=1073741823, nctaid_y in 1..=65535, nctaid_z in 1..=65535, launch order and schedule: all obligations of [rule] hold
    grid_sync.ptx:grid_sync_skipped: deadlock: REFUTED at param_1 = 1, nctaid_x = 2, nctaid_y = 1, nctaid_z = 1: grid_bar takes 2 arrivals, 1 came (cta[0][0][0]), and cta[0][0][0] waits for the rest (helpers.h:377, line 244): cta[1][0][0] never arrives, because `if ctaid_x < param_1` (grid_sync.cu:19, line 182) does not hold for it
    grid_sync.ptx:highest_bit: deadlock: REFUTED at param_2 = 1, nctaid_x = 2, R = 1: cta[0] waits for the others at grid_bar (grid_sync.cu:47, line 320), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    grid_sync.ptx:highest_bit_counts_all: deadlock: UNKNOWN line 412 (grid_sync.cu:55), `@%p4 bra $L__BB3_4`: how often this loop runs is not known: what an atomic operation found is not followed (line 400 (grid_sync.cu:55), `atom.add.release.gpu.global.u32 %r14, [%rd2], %r2`)
    grid_sync.ptx:highest_bit_one_axis: deadlock: UNKNOWN line 480 (grid_sync.cu:63), `atom.add.release.gpu.global.u32 %r14, [%rd2], %r3`: more CTAs come here than the barrier of the grid counts, or not all of them along an axis of the grid
    --- stderr
    ");
}

#[test]
fn lanes_with_mbarriers_of_their_own() {
    insta::assert_snapshot!(check("lanes.ptx"), @"
    exit 1
    --- stdout
    lanes.ptx:lanes_initialise: deadlock: PROVED for every param_0 in 0..=1073741823 and schedule: all obligations of [rule] hold
    lanes.ptx:lanes_initialise_too_few: deadlock: REFUTED at param_0 = 4: nobody initialises full_bar[3], for which warp1 waits (lanes.cu:19, line 490)
    lanes.ptx:lanes_tell_ctas: deadlock: PROVED for every param_0 in 0..=1073741823 and schedule: all obligations of [rule] hold
    lanes.ptx:lanes_tell_one_cta: deadlock: REFUTED at param_0 = 1: nobody arrives at met_bar_cta1, for which cta1_warp0 waits (lanes.cu:43, line 1065): no statement arrives there
    --- stderr
    ");
    // The graph, too, initialises those of the array that the kernel initialises.
    let too_few = ["--entry", "lanes_initialise_too_few", "--recovery", "graph"];
    insta::assert_snapshot!(check_with("lanes.ptx", &too_few), @"
    exit 1
    --- stdout
    lanes.ptx: deadlock: REFUTED at param_0 = 4: nobody initialises full_bar[3], for which warp1 waits (lanes.cu:19, line 490)
    --- stderr
    ");
}

#[test]
fn flags_of_neighbours() {
    insta::assert_snapshot!(check("flags.ptx"), @"
    exit 1
    --- stdout
    flags.ptx:look_back: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[1] waits for at_param_1[0] >= 1 (flags.cu:22, line 52), which needs cta[0]; that cannot start, because cta[1] holds the only resident slot
    flags.ptx:look_ahead: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_param_1[1] >= 1 (flags.cu:22, line 121), but at_param_1[1] stays 0 and nobody adds to it
    flags.ptx:look_back_negative: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1 and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
}

/// Two warps that go around a ring of three stages in tiles of `m` rounds, two rounds at a time and the last one by
/// itself: the stage in `%r4`, the parity in `%r5`. `first` is what the second copy does, `last` what the rest does,
/// `wraps` what each copy does where the ring comes around.
fn two_at_a_time(first: &str, last: &str, wraps: [&str; 3]) -> String {
    let copy = |name: &str, code: &str, wrap: &str| {
        format!(
            "shl.b32 %r9, %r4, 3;\nadd.s32 %r13, %r9, %r14;\nadd.s32 %r9, %r9, %r7;\n{code}\nadd.s32 %r4, %r4, 1;\n\
             setp.ne.s32 %p4, %r4, 3;\n@%p4 bra {name};\nmov.u32 %r4, 0;\n{wrap}\n{name}:\n"
        )
    };
    let [one, two, three] = wraps;
    let round = "{ .reg .pred q;\nAGAIN: mbarrier.try_wait.parity.shared.b64 q, [%r9], %r5;\n\
                 @!q bra AGAIN; }\nmbarrier.arrive.shared.b64 _, [%r13];";
    let (a, b, c) = (
        copy("ONE", round, one),
        copy(
            "TWO",
            &round.replace("mbarrier.arrive.shared.b64 _, [%r13];", first),
            two,
        ),
        copy(
            "THREE",
            &round.replace("mbarrier.arrive.shared.b64 _, [%r13];", last),
            three,
        ),
    );
    format!(
        "ld.param.u32 %r2, [n];\nld.param.u32 %r3, [m];\nmov.u32 %r1, %tid.x;\nmov.u32 %r7, bar;\n\
         setp.ne.u32 %p1, %r1, 0;\n@%p1 bra BEGUN;\n\
         mbarrier.init.shared.b64 [bar], 32;\nmbarrier.init.shared.b64 [bar+8], 32;\n\
         mbarrier.init.shared.b64 [bar+16], 32;\nmbarrier.init.shared.b64 [bar+32], 32;\n\
         mbarrier.init.shared.b64 [bar+40], 32;\nmbarrier.init.shared.b64 [bar+48], 32;\n\
         BEGUN:\nbar.sync 0;\nmov.u32 %r4, 0;\nshr.u32 %r11, %r1, 5;\n\
         xor.b32 %r5, %r11, 1;\n\
         shl.b32 %r14, %r11, 5;\nsub.s32 %r7, %r7, %r14;\nadd.s32 %r14, %r14, bar;\nadd.s32 %r7, %r7, 32;\n\
         mov.u32 %r6, 0;\nsetp.lt.s32 %p5, %r2, 1;\n@%p5 bra OVER;\n\
         TILE:\nand.b32 %r10, %r3, -2;\nsetp.lt.s32 %p6, %r3, 2;\n@%p6 bra REST;\n\
         PAIR:\n{a}{b}sub.s32 %r10, %r10, 2;\nsetp.ne.s32 %p2, %r10, 0;\n@%p2 bra PAIR;\n\
         REST:\nand.b32 %r12, %r3, 1;\nsetp.eq.s32 %p3, %r12, 0;\n@%p3 bra DONE;\n{c}DONE:\n\
         add.s32 %r6, %r6, 1;\nsetp.lt.s32 %p7, %r6, %r2;\n@%p7 bra TILE;\nOVER:"
    )
}

fn around(first: &str, last: &str, wraps: [&str; 3]) -> String {
    hand_written(64, &two_at_a_time(first, last, wraps))
}

#[test]
fn rings_in_loops_that_are_written_out() {
    let (arrive, turn) = (
        "mbarrier.arrive.shared.b64 _, [%r13];",
        "xor.b32 %r5, %r5, 1;",
    );
    let shown = around(arrive, arrive, [turn; 3]);
    assert!(
        shown.contains("kernel.ptx: deadlock: PROVED for every "),
        "{shown}"
    );
    insta::assert_snapshot!(around(arrive, "", [turn; 3]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1, m = 1: nobody arrives at bar_0[0], for which warp1 waits (line 77): warp0 never arrives, because `for j in 0..2 * (m / 2)` (line 42) makes no trip
    --- stderr
    ");
    insta::assert_snapshot!(around("", arrive, [turn; 3]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1, m = 2: nobody arrives at bar_0[1], for which warp1 waits (line 57): warp0 never arrives, only at bar_0[0]
    --- stderr
    ");
    insta::assert_snapshot!(around(arrive, arrive, [turn, turn, ""]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 44, `mbarrier.try_wait.parity.shared.b64 q, [%r9], %r5`: `mbarrier.try_wait.parity.shared.b64`: %r5 is not known here: it changes in a loop (line 40, `shl.b32 %r9, %r4, 3`)
    --- stderr
    ");
    insta::assert_snapshot!(around(arrive, arrive, ["", turn, turn]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 44, `mbarrier.try_wait.parity.shared.b64 q, [%r9], %r5`: `mbarrier.try_wait.parity.shared.b64`: %r5 is not known here: it changes in a loop in a way that is not followed (line 40, `shl.b32 %r9, %r4, 3`)
    --- stderr
    ");
}

/// A parameter of one byte decides, as `bool` does.
#[test]
fn a_flag_of_the_launch() {
    let flag = |code: &str| {
        let folder = Folder::new();
        folder.file(
            "kernel.ptx",
            format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u8 f)\n\
                 .reqntid 64, 1, 1\n{{\n.reg .pred %p<8>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<8>;\n\
                 ld.param.s8 %rs1, [f];\nsetp.eq.s16 %p1, %rs1, 0;\nmov.u32 %r1, %tid.x;\n\
                 setp.gt.u32 %p2, %r1, 31;\n{code}\nret;\n}}\n"
            ),
        );
        folder.run(&["check", "-q", "kernel.ptx"])
    };
    insta::assert_snapshot!(flag("@%p1 bra END;\nbar.sync 1, 64;\nEND:"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every chosen in 0..=1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(flag("or.pred %p3, %p1, %p2;\n@%p3 bra END;\nbar.sync 1, 64;\nEND:"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at chosen = 0: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 16): warp1 has no statement for this barrier
    --- stderr
    ");
}

/// One lane arrives in each round but the last `left` ones, under a predicate that goes through a register; the other
/// warp waits in each round but the last.
fn arrives_ahead(arrival: &str, left: u32) -> String {
    hand_written(
        64,
        &format!(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, bar;\nld.param.u32 %r3, [n];\nsetp.ne.u32 %p1, %r1, 0;\n\
             @%p1 bra READY;\nmbarrier.init.shared.b64 [%r2], 1;\nREADY:\nbar.sync 0;\nsetp.eq.u32 %p2, %r1, 0;\n\
             setp.gt.u32 %p3, %r1, 31;\nmov.u32 %r4, 0;\nROUND:\nadd.s32 %r5, %r4, 1;\nsetp.ge.s32 %p4, %r4, %r3;\n\
             @%p4 bra END;\n@%p3 bra WAIT;\nadd.s32 %r9, %r4, {left};\nsetp.lt.s32 %p5, %r9, %r3;\n\
             and.pred %p6, %p2, %p5;\nselp.u32 %r6, 1, 0, %p6;\nsetp.ne.s32 %p7, %r6, 0;\n@%p7 {arrival}\n\
             bra NEXT;\nWAIT:\nsetp.ge.s32 %p8, %r5, %r3;\n@%p8 bra NEXT;\nand.b32 %r7, %r4, 1;\n\
             LOOK:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r2], %r7;\n@!%p9 bra LOOK;\n\
             NEXT:\nbar.sync 1, 64;\nmov.u32 %r4, %r5;\nbra ROUND;\nEND:"
        ),
    )
}

#[test]
fn a_predicate_of_one_lane_and_of_the_launch() {
    let without = "mbarrier.arrive.shared::cta.b64 _, [%r2];";
    insta::assert_snapshot!(arrives_ahead(without, 1), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(arrives_ahead(without, 2), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: nobody arrives at bar, for which warp1 waits (line 39): warp0 never arrives, because `if n > i + 2` (line 32) does not hold for it
    --- stderr
    ");
    // What the arrival gives is not used.
    let with = "mbarrier.arrive.shared.b64 %rd1, [%r2];";
    insta::assert_snapshot!(arrives_ahead(with, 1), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(arrives_ahead(with, 2), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: nobody arrives at bar, for which warp1 waits (line 39): warp0 never arrives, because `if n > i + 2` (line 32) does not hold for it
    --- stderr
    ");
}

/// Lanes of a warp that wait at a barrier while the others go past it and do this before the end.
fn some_lanes_wait(condition: &str, behind: &str) -> String {
    hand_written(
        64,
        &format!(
            "ld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r5, bar;\n{condition}\n\
             @%p1 bra PAST;\nbar.sync 0;\nPAST:\n{behind}"
        ),
    )
}

const FEW: &str = "setp.ge.u32 %p1, %r1, 48;";
const FIRST: &str = "setp.ne.u32 %p1, %r1, 0;";
const BELOW: &str = "setp.ge.s32 %p1, %r1, %r9;";

/// Only lanes that exit are waited for by nobody: those that have more to do are made to wait for the others before it,
/// or do it beside them.
#[test]
fn lanes_that_skip_a_barrier_have_not_left() {
    let shuffle = "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;";
    let vote = "vote.sync.any.pred %p2, %p1, -1;";
    let sum = "redux.sync.add.s32 %r2, %r1, -1;";
    let store = "st.shared.u32 [%r5], %r1;";
    let other = "bar.sync 1;";
    for condition in [FEW, FIRST, BELOW] {
        for behind in [shuffle, vote, sum, store, other, "bar.warp.sync -1;"] {
            let found = some_lanes_wait(condition, behind);
            let expected = "exit 4\n--- stdout\nkernel.ptx: deadlock: UNKNOWN line 16, `bar.sync 0`: `bar.sync`: only \
                            some lanes of the warp come to this barrier, which is `.aligned`: that is undefined\n";
            assert!(found.starts_with(expected), "{condition} {behind}: {found}");
        }
    }
}

/// What the others do on a way of their own that ends with `exit` is in nobody's way, as long as it waits for nothing.
#[test]
fn lanes_that_exit_have_left() {
    for condition in [FEW, FIRST, BELOW] {
        let early = some_lanes_wait(condition, "");
        assert!(early.contains("deadlock: PROVED"), "{condition}: {early}");
        let behind = |work: &str| {
            let apart = format!(
                "ld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r5, bar;\n{condition}\n\
                 @!%p1 bra STAYS;\n{work}\nexit;\nSTAYS:\nbar.sync 0;\nst.shared.u32 [%r5], %r1;"
            );
            hand_written(64, &apart)
        };
        let stored = behind("st.shared.u32 [%r5+4], %r1;");
        assert!(stored.contains("deadlock: PROVED"), "{condition}: {stored}");
        let shuffled = behind("shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;");
        assert!(
            shuffled.contains("deadlock: UNKNOWN"),
            "{condition}: {shuffled}"
        );
    }
}
