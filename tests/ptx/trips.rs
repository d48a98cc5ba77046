//! How often loops run: strides over the grid, loops written out by hand, first rounds before a loop and last ones behind
//! it, and barriers that some come to less often than others.

use super::graph_misuse::verdict;
use crate::support::program::Folder;

fn hand_written(directives: &str, threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u32 m, .param .u64 z)\n\
             .reqntid {threads}, 1, 1\n{directives}\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.shared .align 8 .b8 bar[64];\n\
             ld.param.u32 %r60, [n];\nld.param.u32 %r61, [m];\nld.param.u64 %rd14, [z];\n\
             mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx"])
}

/// Two warps meet in every row that is theirs: the first row and the step of each are in `%r4` and `%r5`.
fn strides(first: &str, second: &str, ends: [&str; 2]) -> String {
    let rows = |row: &str, name: &str, end: &str| {
        format!(
            "{row}\nsetp.ge.s32 %p3, %r4, %r60;\n@%p3 bra END;\n{name}:\nbar.sync 1, 64;\nadd.s32 %r4, %r4, %r5;\n\
             setp.{end}.s32 %p3, %r4, %r60;\n@%p3 bra {name};\nbra END;"
        )
    };
    let code = format!(
        "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\nmov.u32 %r12, %ctaid.y;\nmov.u32 %r13, %nctaid.y;\n\
         @%p2 bra OTHER;\n{}\nOTHER:\n{}\nEND:",
        rows(first, "FIRST", ends[0]),
        rows(second, "SECOND", ends[1])
    );
    hand_written("", 64, &code)
}

#[test]
fn strides_over_the_grid() {
    let lt = ["lt", "lt"];
    let twice = "shl.b32 %r4, %r2, 1;\nshl.b32 %r5, %r3, 1;";
    insta::assert_snapshot!(strides(twice, twice, lt), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let flat = "mad.lo.s32 %r4, %r12, %r3, %r2;\nmul.lo.s32 %r5, %r3, %r13;";
    insta::assert_snapshot!(strides(flat, flat, lt), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let more = "mad.lo.s32 %r4, %r2, 3, 1;\nmad.lo.s32 %r5, %r3, 3, 2;";
    insta::assert_snapshot!(strides(more, more, lt), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// One of the two begins a row later, goes on faster, or does one row more.
#[test]
fn strides_that_differ() {
    let lt = ["lt", "lt"];
    let twice = "shl.b32 %r4, %r2, 1;\nshl.b32 %r5, %r3, 1;";
    let later = "mad.lo.s32 %r4, %r2, 2, 1;\nshl.b32 %r5, %r3, 1;";
    insta::assert_snapshot!(strides(twice, later, lt), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 1, tiles_2 = 0: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 28): warp1 never comes, because `for i in 0..tiles_2` (line 42) makes no trip
    --- stderr
    ");
    let faster = "shl.b32 %r4, %r2, 1;\nmul.lo.s32 %r5, %r3, 3;";
    insta::assert_snapshot!(strides(twice, faster, lt), @r"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 2, tiles_2 = 1: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 28): 3 warps come in all, 2 for each completion, and warp0 and warp1 completed one before
    --- stderr
    ");
    insta::assert_snapshot!(strides(twice, twice, ["lt", "le"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 2, ctaid_x = 0, nctaid_x = 1: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 39): 3 warps come in all, 2 for each completion, and warp0 and warp1 completed one before
    --- stderr
    ");
}

/// `while (t < n) { ..; if (++t >= n) break; ..; ++t; }` in both warps, or with another end in one.
#[test]
fn loops_written_out_by_hand() {
    let code = |exit: &str| {
        let rounds = |name: &str, exit: &str| {
            format!(
                "{name}:\nbar.sync 1, 64;\nadd.s32 %r4, %r3, 1;\nsetp.{exit}.s32 %p3, %r4, %r60;\n@%p3 bra END;\n\
                 bar.sync 1, 64;\nadd.s32 %r3, %r3, 2;\nsetp.lt.s32 %p3, %r3, %r60;\n@%p3 bra {name};\nbra END;"
            )
        };
        format!(
            "mov.u32 %r3, 0;\nsetp.lt.s32 %p3, %r60, 1;\n@%p3 bra END;\n@%p2 bra SECOND;\n{}\n{}\nEND:",
            rounds("FIRST", exit),
            rounds("SECOND", "ge")
        )
    };
    insta::assert_snapshot!(hand_written("", 64, &code("ge")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written("", 64, &code("gt")), @r"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 27): 3 warps come in all, 2 for each completion, and warp0 and warp1 completed one before
    --- stderr
    ");
}

/// One round too many of a loop written out by hand that begins with a wait, whose own loop begins there, too.
#[test]
fn a_wait_where_a_loop_begins() {
    let wait = |name: &str, place: &str, parity: &str| {
        format!(
            "{name}:\nmbarrier.try_wait.parity.shared.b64 %p8, [{place}], {parity};\n@%p8 bra {name}D;\nbra {name};\n{name}D:"
        )
    };
    let code = |exit: &str| {
        format!(
            "mov.u32 %r10, bar;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [%r10], 1;\n\
             mbarrier.init.shared.b64 [%r10+8], 1;\nREADY:\nbar.sync 0;\nsetp.lt.s32 %p3, %r60, 1;\n@%p3 bra END;\n\
             mov.u32 %r3, 0;\nmov.u32 %r4, 0;\n@%p2 bra PUT;\n{}\nbar.sync 1, 64;\n\
             add.s32 %r5, %r3, 1;\nsetp.{exit}.s32 %p3, %r5, %r60;\n@%p3 bra END;\n{}\nbar.sync 1, 64;\n\
             add.s32 %r3, %r3, 2;\nxor.b32 %r4, %r4, 1;\nsetp.lt.s32 %p3, %r3, %r60;\n@%p3 bra FIRST;\nbra END;\n\
             PUT:\nsetp.ne.u32 %p5, %r1, 32;\nGO:\nand.b32 %r5, %r3, 1;\nshl.b32 %r6, %r5, 3;\n\
             add.u32 %r7, %r10, %r6;\n@%p5 bra MEET;\nmbarrier.arrive.shared.b64 _, [%r7];\nMEET:\nbar.sync 1, 64;\n\
             add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p3, %r3, %r60;\n@%p3 bra GO;\nEND:",
            wait("FIRST", "%r10", "%r4"),
            wait("SECOND", "%r10+8", "%r4")
        )
    };
    insta::assert_snapshot!(hand_written("", 64, &code("gt")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: nobody arrives at bar[1], for which warp0 waits (line 39): warp1 never arrives, only at bar[0]
    --- stderr
    ");
}

/// `if (t == 0) for (i = 0; i < 2 && i < n; i++) load(i); for (i = 0; i < n; i++) { wait(i); if (t == 0) load(i + 2); }`,
/// where the test of `n` before the first loop goes past the second one.
#[test]
fn first_rounds_of_one_lane_before_a_loop_of_all() {
    let code = |further: &str, bytes: u32| {
        format!(
            "mov.u32 %r10, bar;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [%r10], 1;\n\
             mbarrier.init.shared.b64 [%r10+8], 1;\nREADY:\nbar.sync 0;\n@%p1 bra BEHIND;\n\
             setp.eq.s64 %p3, %rd14, 0;\n@%p3 bra END;\nmov.u64 %rd1, 1;\nmov.u32 %r11, %r10;\n\
             LOAD:\nmbarrier.arrive.expect_tx.shared.b64 _, [%r11], 16;\n\
             mbarrier.complete_tx.shared.b64 [%r11], {bytes};\n\
             setp.lt.u64 %p4, %rd1, %rd14;\nsetp.lt.u64 %p5, %rd1, 2;\nand.pred %p6, %p4, %p5;\n\
             add.u32 %r11, %r11, 8;\nadd.u64 %rd1, %rd1, 1;\n@%p6 bra LOAD;\n\
             BEHIND:\nsetp.eq.s64 %p7, %rd14, 0;\n@%p7 bra END;\nmov.u64 %rd2, 0;\n\
             LOOP:\ncvt.u32.u64 %r12, %rd2;\nand.b32 %r13, %r12, 1;\nshl.b32 %r14, %r13, 3;\nadd.u32 %r15, %r10, %r14;\n\
             shr.u32 %r16, %r12, 1;\nand.b32 %r17, %r16, 1;\n\
             WAIT:\nmbarrier.try_wait.parity.shared.b64 %p8, [%r15], %r17;\n@!%p8 bra WAIT;\nbar.sync 0;\n\
             add.u64 %rd3, %rd2, {further};\nsetp.ge.u64 %p9, %rd3, %rd14;\nor.pred %p10, %p1, %p9;\n\
             @%p10 bra NEXT;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r15], 16;\n\
             mbarrier.complete_tx.shared.b64 [%r15], 16;\n\
             NEXT:\nadd.u64 %rd2, %rd2, 1;\nsetp.lt.u64 %p11, %rd2, %rd14;\n@%p11 bra LOOP;\nEND:"
        )
    };
    insta::assert_snapshot!(hand_written("", 64, &code("2", 16)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_z in 0..=4611686018427387904 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written("", 64, &code("3", 16)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_z = 3: bar_bar[0] completes once, and warp0 waits for one more (line 50): whoever arrives there has made all of its arrivals
    --- stderr
    ");
    insta::assert_snapshot!(hand_written("", 64, &code("2", 8)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_z = 1: bar_bar[0] expects 16 bytes (line 30) and gets 8 (line 31): nobody delivers the other 8; warp0 waits for it (line 50)
    --- stderr
    ");
}

/// The last two rounds of a ring behind its loop, each by its own number: bits that a mask and a shift cut off do not count.
#[test]
fn last_rounds_behind_a_loop() {
    let wait = |name: &str, place: &str, parity: &str| {
        format!(
            "{name}:\nmbarrier.try_wait.parity.shared.b64 %p8, [{place}], {parity};\n@!%p8 bra {name};"
        )
    };
    let init = |number: u32| format!("mbarrier.init.shared.b64 [%r10+{}], 1;", 8 * number);
    let last = |number: u32, name: &str| {
        format!(
            "add.u32 %r4, %r60, {number};\nand.b32 %r5, %r4, 536870910;\nsub.u32 %r6, %r4, %r5;\nshl.b32 %r7, %r6, 3;\n\
             add.u32 %r8, %r10, %r7;\nshr.u32 %r9, %r4, 1;\nnot.b32 %r11, %r9;\nand.b32 %r12, %r11, 1;\n{}",
            wait(name, "%r8+16", "%r12")
        )
    };
    let place = "and.b32 %r4, %r3, 1;\nshl.b32 %r5, %r4, 3;\nadd.u32 %r6, %r10, %r5;\nshr.u32 %r7, %r3, 1;\n\
                 and.b32 %r8, %r7, 1;\nxor.b32 %r9, %r8, 1;";
    let next = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p4, %r3, %r60;";
    let code = |further: u32| {
        format!(
            "mov.u32 %r10, bar;\n@%p1 bra READY;\n{}\nREADY:\nbar.sync 0;\nmov.u32 %r3, 0;\nsetp.eq.u32 %p3, %r60, 0;\n\
             @%p2 bra OTHER;\n@%p1 bra END;\n@%p3 bra LAST;\nPUT:\n{place}\n{}\n\
             mbarrier.arrive.shared.b64 _, [%r6];\n{next}\n@%p4 bra PUT;\nLAST:\n{}\n{}\nbra END;\n\
             OTHER:\nsetp.ne.u32 %p5, %r1, 32;\nor.pred %p6, %p5, %p3;\n@%p6 bra END;\nTAKE:\n{place}\n{}\n\
             mbarrier.arrive.shared.b64 _, [%r6+16];\n{next}\n@%p4 bra TAKE;\nEND:",
            (0..4).map(init).collect::<Vec<_>>().join("\n"),
            wait("EMPTY", "%r6+16", "%r9"),
            last(0, "ONE"),
            last(further, "TWO"),
            wait("FULL", "%r6", "%r8")
        )
    };
    insta::assert_snapshot!(hand_written("", 64, &code(1)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written("", 64, &code(3)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 0: nobody arrives at bar_bar_16[1], for which warp0 waits (line 66): warp1 never arrives, because `for i in 0..p_n` (line 74) makes no trip
    --- stderr
    ");
}

/// One CTA of a cluster leaves a meeting earlier, as PTX lets it; one that arrives twice without waiting may not; and one
/// that comes to its own barrier more often than the other CTA to its own is in nobody's way.
#[test]
fn barriers_that_some_come_to_less_often() {
    let cluster = ".explicitcluster\n.reqnctapercluster 2, 1, 1";
    let meet = "barrier.cluster.arrive;\nbarrier.cluster.wait;";
    let code = |skips: &str, last: &str| {
        format!(
            "mov.u32 %r2, %cluster_ctarank;\nsetp.ne.u32 %p3, %r2, 0;\nadd.s32 %r5, %r60, -1;\nmov.u32 %r3, 0;\n\
             setp.lt.s32 %p4, %r60, 1;\n@%p4 bra LAST;\nLOOP:\nbar.sync 0;\n{skips}\n{meet}\nSKIP:\n\
             add.s32 %r3, %r3, 1;\nsetp.lt.s32 %p4, %r3, %r60;\n@%p4 bra LOOP;\nLAST:\n{last}"
        )
    };
    let skips = "setp.lt.s32 %p5, %r3, %r5;\nor.pred %p6, %p3, %p5;\n@!%p6 bra SKIP;";
    insta::assert_snapshot!(hand_written(cluster, 64, &code(skips, meet)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let waits = "barrier.cluster.arrive;\n@%p3 bra SKIP;\nbarrier.cluster.wait;\nbra SKIP;";
    insta::assert_snapshot!(hand_written(cluster, 64, &code(waits, meet)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN a run does something undefined at n = 1: cta1_warps0_1[1]: a second arrival without a wait in between
    --- stderr
    ");
    let own = "@%p3 bra OWN;\nbar.sync 0;\nbra SKIP;\nOWN:";
    insta::assert_snapshot!(hand_written(cluster, 64, &code(own, "")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // A warp that waits for who does not come is no warp that has left.
    let waiting = "@%p2 bra OTHER;\nbar.sync 1, 64;\nOTHER:\nbar.sync 0;";
    insta::assert_snapshot!(hand_written("", 64, waiting), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 19): warp1 never comes, only at cta_bar[0]
    --- stderr
    ");
}

/// What leaves a loop in its last iteration is known there only if nothing has wrapped around: `r - 1 < 5` does not
/// hold of 0, and so the loop goes on for as long as the other way out says.
#[test]
fn a_way_out_that_wraps_around() {
    let folder = Folder::new();
    let code = "setp.gt.u32 %p2, %r1, 31;\n@%p2 bra OTHER;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\nL:\n\
                setp.ge.u32 %p3, %r3, %r60;\n@%p3 bra END;\nbar.sync 1, 64;\nadd.u32 %r3, %r3, 1;\n\
                sub.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, 5;\n@%p4 bra END;\nbra L;\n\
                OTHER:\nsetp.eq.u32 %p3, %r60, 0;\n@%p3 bra END;\nbar.sync 1, 64;\nEND:";
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
             .reqntid 64, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<64>;\nld.param.u32 %r60, [n];\n\
             mov.u32 %r1, %tid.x;\n{code}\nret;\n}}\n"
        ),
    );
    insta::assert_snapshot!(folder.run(&["check", "-q", "kernel.ptx"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `@%p4 bra END`: the condition of this loop may wrap around
    --- stderr
    ");
}

/// What the launch computes is tested, and a loop runs up to one less: both are one parameter of the protocol.
#[test]
fn a_loop_up_to_one_less_than_what_is_tested() {
    let arrive = "@!%p1 mbarrier.arrive.shared.b64 _, [bar];";
    let rounds = |first: &str| {
        crate::graph_misuse::verdict(
            64,
            &format!(
                "mov.u32 %r3, %nctaid.x;\nsub.s32 %r4, %r2, %r3;\nmul.lo.s32 %r5, %r4, %r2;\nsetp.ne.u32 %p1, %r1, 0;\n\
                 @!%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\nsetp.lt.s32 %p2, %r5, 1;\n@%p2 bra END;\n{first}\n\
                 add.s32 %r6, %r5, -1;\nmov.b32 %r7, 0;\nsetp.lt.s32 %p3, %r6, 1;\n@%p3 bra LAST;\n\
                 LOOP:\nand.b32 %r8, %r7, 1;\nW:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar], %r8;\n@!%p4 bra W;\n\
                 bar.sync 0;\n{arrive}\nadd.s32 %r7, %r7, 1;\nsetp.ne.s32 %p5, %r7, %r6;\n@%p5 bra LOOP;\n\
                 LAST:\nand.b32 %r8, %r7, 1;\nV:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar], %r8;\n@!%p4 bra V;\n\
                 END:\nbar.sync 0;\n"
            ),
        )
    };
    insta::assert_snapshot!(
        rounds(arrive),
        @"PROVED for every computed in 0..=1073741823 and schedule"
    );
    let hangs = rounds("");
    assert!(hangs.starts_with("REFUTED at computed = "), "{hangs}");
}

/// A CTA works on a block of a sequence, of which both ends are numbers behind its beginning. Whether one lies in front of the
/// other is no choice of the launch, as long as neither wraps around.
#[test]
fn ends_of_one_block_are_in_order() {
    let block = |comparison: &str| {
        let folder = Folder::new();
        folder.file(
            "kernel.ptx",
            format!(
                ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry kernel()\n.reqntid 32\n{{\n\
                 .shared .align 8 .b64 bar[2];\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n\
                 mov.u32 %r1, %ctaid.x;\nshl.b32 %r2, %r1, 7;\nmov.u32 %r3, bar;\nmov.u32 %r9, %tid.x;\n\
                 setp.eq.u32 %p3, %r9, 0;\n@%p3 mbarrier.init.shared.b64 [%r3], 1;\nbar.sync 0;\n\
                 or.b32 %r4, %r2, 64;\nadd.s32 %r5, %r2, 128;\nsetp.{comparison}.s32 %p1, %r4, %r5;\n\
                 and.pred %p4, %p1, %p3;\n@%p4 mbarrier.arrive.shared.b64 _, [%r3];\n\
                 WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;\n@!%p2 bra WAIT;\nret;\n}}\n"
            ),
        );
        folder.run(&["check", "kernel.ptx", "--recovery", "graph"])
    };
    let shown = block("lt");
    assert!(
        shown.contains("deadlock: PROVED for every schedule"),
        "{shown}"
    );
    assert!(shown.contains("ctaid_x lies in 0..=16777214"), "{shown}");
    let shown = block("ge");
    assert!(
        shown.contains("deadlock: REFUTED nobody arrives at bar"),
        "{shown}"
    );
}

/// Two warps meet in every tile of a number that the kernel says, as long as the tile has no bits of a mask. Tiles beyond that may
/// have none either. A loop that looks at its next tile comes behind a look at the first one.
#[test]
fn tiles_of_a_number_in_the_kernel() {
    let tiles = |name: &str, mask: u32, guard: bool| {
        let guard = match guard {
            true => format!("and.b32 %r6, %r4, {mask};\nsetp.ne.s32 %p3, %r6, 0;\n@%p3 bra END;\n"),
            false => String::new(),
        };
        format!(
            "{guard}{name}:\nbar.sync 1, 64;\nadd.s32 %r4, %r4, %r5;\nand.b32 %r6, %r4, {mask};\n\
             setp.eq.s32 %p3, %r6, 0;\n@%p3 bra {name};\nbra END;\n"
        )
    };
    let both = |one: (u32, bool), other: (u32, bool)| {
        let (one, other) = (
            tiles("FIRST", one.0, one.1),
            tiles("SECOND", other.0, other.1),
        );
        hand_written(
            "",
            64,
            &format!(
                "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %nctaid.x;\n@%p2 bra OTHER;\n{one}OTHER:\n{other}END:"
            ),
        )
    };
    let tiles = 0xff000;
    insta::assert_snapshot!(both((tiles, true), (tiles, true)), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every tiles in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(both((tiles, true), (0xfe000, true)), @r"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at tiles = 1, tiles_2 = 2: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 36): 3 warps come in all, 2 for each completion, and warp0 and warp1 completed one before
    --- stderr
    ");
    insta::assert_snapshot!(both((tiles, false), (tiles, false)), @r"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `@%p3 bra FIRST`: how often this loop runs is not followed
    --- stderr
    ");
}

/// Two warps do one round less than there are blocks of 64, at least two. The second one does two at once, as often as the number
/// without its lowest bit says, and one more where that is 1, or by mistake where it is 0.
#[test]
fn rounds_by_the_bits_of_a_number() {
    let rounds = |left_over: &str| {
        let code = format!(
            "setp.lt.s32 %p3, %r60, 129;\n@%p3 bra END;\nadd.s32 %r4, %r60, 63;\nshr.s32 %r4, %r4, 6;\nadd.s32 %r4, %r4, -1;\n\
             @%p2 bra OTHER;\nmov.u32 %r5, 0;\nFIRST:\nbar.sync 1, 64;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p3, %r5, %r4;\n\
             @%p3 bra FIRST;\nbra END;\n\
             OTHER:\nand.b32 %r6, %r4, 67108862;\nneg.s32 %r6, %r6;\nSECOND:\nbar.sync 1, 64;\nbar.sync 1, 64;\n\
             add.s32 %r6, %r6, 2;\nsetp.ne.s32 %p3, %r6, 0;\n@%p3 bra SECOND;\nand.b32 %r7, %r4, 1;\n\
             setp.{left_over}.s32 %p3, %r7, 0;\n@%p3 bra END;\nbar.sync 1, 64;\nEND:"
        );
        hand_written("", 64, &code)
    };
    insta::assert_snapshot!(rounds("eq"), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n_over_64_up in 0..=16777216 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(rounds("ne"), @r"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n_over_64_up = 3: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 43): 5 warps come in all, 2 for each completion, and warp0 and warp1 completed 2 before
    --- stderr
    ");
}

/// A ring of two stages, `min(n, 3)` rounds, that begins at a stage of each side. The consumer does four rounds at once where there
/// are as many, which is never.
fn never_four(producer: u32, consumer: u32) -> String {
    let round = |name: &str| {
        format!(
            "shl.b32 %r16, %r11, 3;\nadd.u32 %r16, %r16, %r8;\n\
             {name}:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r16], %r12;\n@!%p9 bra {name};\n\
             @%p14 mbarrier.arrive.shared.b64 _, [%r16+16];\nadd.u32 %r11, %r11, 1;\nsetp.ne.u32 %p8, %r11, 2;\n\
             @%p8 bra {name}_N;\nmov.u32 %r11, 0;\nxor.b32 %r12, %r12, 1;\n{name}_N:\n"
        )
    };
    let four: String = ["A", "B", "C", "D"].map(round).concat();
    let last = round("E");
    format!(
        "setp.ne.u32 %p15, %r1, 0;\n@%p15 bra I;\nmbarrier.init.shared.b64 [bar], 1;\n\
         mbarrier.init.shared.b64 [bar+8], 1;\nmbarrier.init.shared.b64 [bar+16], 1;\n\
         mbarrier.init.shared.b64 [bar+24], 1;\nI:\nbar.sync 0;\nmov.u32 %r8, bar;\nsetp.eq.u32 %p14, %r31, 0;\n\
         setp.lt.s32 %p7, %r2, 3;\nselp.b32 %r3, %r2, 3, %p7;\nsetp.ge.u32 %p13, %r1, 32;\n@%p13 bra CONSUMER;\n\
         mov.u32 %r4, {producer};\nadd.u32 %r5, %r3, {producer};\n\
         P:\nsetp.ge.s32 %p1, %r4, %r5;\n@%p1 bra END;\nand.b32 %r6, %r4, 1;\nshl.b32 %r6, %r6, 3;\n\
         add.u32 %r7, %r6, %r8;\nshr.u32 %r9, %r4, 1;\nnot.b32 %r10, %r9;\nand.b32 %r10, %r10, 1;\n\
         PW:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r7+16], %r10;\n@!%p9 bra PW;\n\
         @%p14 mbarrier.arrive.shared.b64 _, [%r7];\nadd.u32 %r4, %r4, 1;\nbra P;\n\
         CONSUMER:\nmov.u32 %r11, {consumer};\nmov.u32 %r12, 0;\nmov.u32 %r13, 0;\nsetp.lt.s32 %p1, %r3, 1;\n\
         @%p1 bra END;\nand.b32 %r14, %r3, 3;\nsub.s32 %r15, %r3, %r14;\nsetp.lt.s32 %p1, %r3, 4;\n@%p1 bra REST;\n\
         M:\n{four}add.u32 %r13, %r13, 4;\nsetp.ne.u32 %p1, %r13, %r15;\n@%p1 bra M;\n\
         REST:\nsetp.eq.u32 %p1, %r14, 0;\n@%p1 bra END;\nR:\n{last}add.s32 %r14, %r14, -1;\n\
         setp.ne.u32 %p1, %r14, 0;\n@%p1 bra R;\nEND:"
    )
}

/// A stage that begins in a loop that is never entered begins where that stands.
#[test]
fn what_a_loop_that_never_runs_begins_is_begun() {
    assert_eq!(
        verdict(64, &never_four(0, 0)),
        "PROVED for every n in 0..=1073741823 and schedule"
    );
    for (producer, consumer) in [(0, 1), (1, 0)] {
        let said = verdict(64, &never_four(producer, consumer));
        assert!(said.starts_with("REFUTED at n = 1: "), "{said}");
    }
}
