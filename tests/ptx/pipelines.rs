//! Pipelines as libraries of kernels write them: arguments in one structure that is read by its address, rings
//! that go on by as many stages as a tile has, and waits for every stage at the end.

use crate::support::program::Folder;

const BODY: &str = "
    mov.b64 %rd1, args;
    add.s64 %rd2, %rd1, 128;
    ld.param.u32 %r1, [%rd2];
    ld.param.u32 %r2, [%rd2+4];
    ld.param.u32 %r20, [%rd2+-4];
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, bar;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra READY;
";

/// A kernel of two warps with a ring of this many stages: mbarriers that are full and, behind them, that are empty.
fn kernel(stages: u32, code: &str) -> Folder {
    let mut init = String::new();
    for stage in 0..stages {
        let (full, empty) = (8 * stage, 8 * (stages + stage));
        init += &format!("mbarrier.init.shared.b64 [bar+{full}], 1;\n");
        init += &format!("mbarrier.init.shared.b64 [bar+{empty}], 32;\n");
    }
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n\
             .visible .entry kernel(.param .align 64 .b8 args[192])\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n\
             .shared .align 8 .b8 bar[128];\n.shared .align 128 .b8 tile[4096];\n\
             {BODY}{init}READY:\nbar.sync 0;\n{code}\nDONE:\nret;\n}}\n"
        ),
    );
    folder
}

fn check(stages: u32, code: &str) -> String {
    kernel(stages, code).run(&["check", "-q", "kernel.ptx"])
}

/// The next stage, and the parity that turns with it.
fn next(stages: u32) -> String {
    format!(
        "add.s32 %r6, %r6, 1;\nsetp.eq.s32 %p5, %r6, {stages};\nselp.b32 %r6, 0, %r6, %p5;\n\
         selp.u32 %r8, 1, 0, %p5;\nxor.b32 %r7, %r7, %r8;\n"
    )
}

/// A producer that waits for `tail` stages at the end, and a consumer.
fn pipeline(stages: u32, tail: &str, copies: usize) -> String {
    let next = next(stages);
    let empty = 8 * stages;
    let copy = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes \
                [%r10], [%rd1, {%r5, %r5}], [%r9];\n"
        .repeat(copies);
    format!(
        "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r10, tile;\n\
         setp.ge.u32 %p2, %r3, 32;\n@%p2 bra CONSUME;\n@%p1 bra DONE;\nmov.u32 %r7, 1;\n\
         LOAD:\nsetp.ge.u32 %p3, %r5, %r1;\n@%p3 bra TAIL;\n\
         shl.b32 %r11, %r6, 3;\nadd.s32 %r9, %r4, %r11;\n\
         FREE:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r9+{empty}], %r7;\n@!%p4 bra FREE;\n\
         mbarrier.arrive.expect_tx.shared.b64 _, [%r9], %r2;\n{copy}{next}\
         add.s32 %r5, %r5, 1;\nbra LOAD;\nTAIL:\n{tail}bra DONE;\n\
         CONSUME:\nmov.u32 %r7, 0;\n\
         USE:\nsetp.ge.u32 %p3, %r5, %r1;\n@%p3 bra DONE;\n\
         shl.b32 %r11, %r6, 3;\nadd.s32 %r9, %r4, %r11;\n\
         HERE:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r9], %r7;\n@!%p4 bra HERE;\n\
         mbarrier.arrive.shared.b64 _, [%r9+{empty}];\n{next}add.s32 %r5, %r5, 1;\nbra USE;\n"
    )
}

/// Waits for so many stages, written out.
fn tail(stages: u32, waits: u32) -> String {
    let mut all = String::new();
    for wait in 0..waits {
        all += &format!(
            "shl.b32 %r11, %r6, 3;\nadd.s32 %r9, %r4, %r11;\nLAST{wait}:\n\
             mbarrier.try_wait.parity.shared.b64 %p4, [%r9+{}], %r7;\n@!%p4 bra LAST{wait};\n{}",
            8 * stages,
            next(stages)
        );
    }
    all
}

/// The waits at the end are one loop, and the bytes of two copies are what a parameter says.
#[test]
fn waits_for_every_stage_at_the_end() {
    let folder = kernel(7, &pipeline(7, &tail(7, 7), 2));
    insta::assert_snapshot!(folder.run(&["lift", "kernel.ptx"]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `kernel` of a PTX 8.0 text for sm_90a.
    //! 64 x 1 x 1 threads per CTA.
    //! Assumed: no phase of an mbarrier expects 2^20 bytes or more
    //! Assumed: tensor copies whose bytes the launch decides, or whose shares are not known, fill what their mbarriers expect: they are counted in copies
    //! Assumed: 0 <= p_args_132 <= 1073741823
    //! Assumed: 0 <= p_args_124 <= 1073741823
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    param p_args_128 in 0..=1073741823

    mbarrier bar_bar[7] { arrivals: 1 }
    mbarrier bar_bar_56[7] { arrivals: 1 }  // counted in groups of 32 threads
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 64        // line 37
        for i in 0..p_args_128 {  // line 46
            wait bar_bar_56[i % 7] (i / 7 + 1) % 2      // line 51
            arrive_expect_tx bar_bar[i % 7] 2           // line 53
            async copy tile completes bar_bar[i % 7] 1  // line 54
            async copy tile completes bar_bar[i % 7] 1  // line 55
        }
        for i in 0..7 {  // line 67
            wait bar_bar_56[(p_args_128 + i) % 7] ((p_args_128 + i) / 7 + 1) % 2  // line 67
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64        // line 37
        for i in 0..p_args_128 {  // line 138
            wait bar_bar[i % 7] i / 7 % 2  // line 143
            arrive bar_bar_56[i % 7]       // line 145
        }
    }
    --- stderr
    ");
    insta::assert_snapshot!(folder.run(&["check", "-q", "kernel.ptx"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_args_128 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// One wait more is for a stage that nobody fills again; a parity the wrong way around, too.
#[test]
fn a_wait_too_many_at_the_end() {
    insta::assert_snapshot!(check(3, &pipeline(3, &tail(3, 4), 2)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_args_128 = 0: nobody arrives at bar_bar_24[0], for which warp0 waits (line 59): warp1 never arrives, because `for i in 0..p_args_128` (line 100) makes no trip
    --- stderr
    ");
    let turned = format!("xor.b32 %r7, %r7, 1;\n{}", tail(3, 3));
    insta::assert_snapshot!(check(3, &pipeline(3, &turned, 2)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_args_128 = 0: nobody arrives at bar_bar_24[0], for which warp0 waits (line 60): warp1 never arrives, because `for i in 0..p_args_128` (line 91) makes no trip
    --- stderr
    ");
}

/// A copy less than what is expected is not told apart: that the copies fill it is taken for granted. No
/// copy at all is.
#[test]
fn bytes_that_a_parameter_says() {
    insta::assert_snapshot!(check(3, &pipeline(3, "", 1)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_args_128 in 0..=1073741823, p_args_132 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(3, &pipeline(3, "", 0)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at args_at_128 = 1, args_at_132 = 1: bar_0[0] expects 1 byte (line 45) that nobody delivers; warp1 waits for it (line 63)
    --- stderr
    ");
}

/// The stages of a tile are done one by one, and then the ring goes on by as many as there were.
fn advancing(stages: u32, carry: &str) -> String {
    let each = next(stages);
    let side = |label: &str, body: &str, parity: u32| {
        format!(
            "mov.u32 %r12, 0;\nmov.u32 %r13, 0;\nmov.u32 %r14, {parity};\n\
             {label}TILE:\nsetp.ge.u32 %p6, %r12, %r20;\n@%p6 bra DONE;\n\
             mov.u32 %r5, 0;\nmov.u32 %r6, %r13;\nmov.u32 %r7, %r14;\n\
             {label}STEP:\nsetp.ge.u32 %p3, %r5, %r1;\n@%p3 bra {label}NEXT;\n\
             shl.b32 %r11, %r6, 3;\nadd.s32 %r9, %r4, %r11;\n{body}{each}\
             add.s32 %r5, %r5, 1;\nbra {label}STEP;\n{label}NEXT:\n\
             add.s32 %r15, %r13, %r1;\nsetp.lt.u32 %p7, %r1, {stages};\n\
             setp.gt.u32 %p8, %r15, {};\nand.pred %p9, %p7, %p8;\nselp.u32 %r16, 1, 0, %p9;\n\
             xor.b32 %r14, %r14, %r16;\n@%p7 bra {label}SHORT;\n\
             div.u32 %r17, %r15, {stages};\nand.b32 %r17, %r17, 1;\nxor.b32 %r14, %r14, %r17;\n\
             {label}SHORT:\nrem.u32 %r13, %r15, {stages};\nadd.s32 %r12, %r12, 1;\n\
             bra {label}TILE;\n",
            stages - 1
        )
    };
    let empty = 8 * stages;
    let load = side(
        "L",
        &format!(
            "FREE:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r9+{empty}], %r7;\n@!%p4 bra FREE;\n\
             mbarrier.arrive.shared.b64 _, [%r9];\n"
        ),
        1,
    );
    let take = side(
        "T",
        &format!(
            "HERE:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r9], %r7;\n@!%p4 bra HERE;\n\
             mbarrier.arrive.shared.b64 _, [%r9+{empty}];\n"
        ),
        0,
    );
    let take = take.replace("selp.u32 %r16, 1, 0, %p9;", carry);
    format!("setp.ge.u32 %p2, %r3, 32;\n@%p2 bra CONSUME;\n@%p1 bra DONE;\n{load}CONSUME:\n{take}")
}

/// Whether the step is shorter than the ring is told apart on the way.
#[test]
fn rings_go_on_by_a_step_that_is_not_known() {
    let same = kernel(3, &advancing(3, "selp.u32 %r16, 1, 0, %p9;"));
    insta::assert_snapshot!(same.run(&["lift", "kernel.ptx"]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `kernel` of a PTX 8.0 text for sm_90a.
    //! 64 x 1 x 1 threads per CTA.
    //! Assumed: 0 <= p_args_132 <= 1073741823
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    param p_args_128 in 0..=1073741823
    param p_args_124 in 0..=1073741823

    mbarrier bar_bar[3] { arrivals: 1 }
    mbarrier bar_bar_24[3] { arrivals: 1 }  // counted in groups of 32 threads
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 64        // line 29
        for i in 0..p_args_124 {  // line 37
            for j in 0..p_args_128 {  // line 43
                wait bar_bar_24[(j + p_args_128 * i) % 3] ((j + p_args_128 * i) / 3 + 1) % 2  // line 48
                arrive bar_bar[(j + p_args_128 * i) % 3]                                      // line 50
            }
        }
    }

    role warp1 warp {
        sync cta_bar[0] 64        // line 29
        for i in 0..p_args_124 {  // line 78
            for j in 0..p_args_128 {  // line 84
                wait bar_bar[(j + p_args_128 * i) % 3] (j + p_args_128 * i) / 3 % 2  // line 89
                arrive bar_bar_24[(j + p_args_128 * i) % 3]                          // line 91
            }
        }
    }
    --- stderr
    ");
    // The parity does not turn where a short step wraps around.
    let forgotten = kernel(3, &advancing(3, "mov.u32 %r16, 0;"));
    insta::assert_snapshot!(forgotten.run(&["lift", "kernel.ptx"]), @"
    exit 4
    --- stdout
    --- stderr
    kernel.ptx: kernel: UNKNOWN line 89, `mbarrier.try_wait.parity.shared.b64 %p4, [%r9], %r7`: `mbarrier.try_wait.parity.shared.b64`: %r7 is not known here: it changes in a loop (line 84, `setp.ge.u32 %p3, %r5, %r1`)
    ");
}

/// What is met on one side of a branch only, as the extent of the grid along an axis, keeps its bounds.
#[test]
fn bounds_are_kept_behind_a_branch() {
    let code = |place: &str| {
        format!(
            "ld.param.u64 %rd5, [%rd2+8];\nld.param.u32 %r21, [{place}];\n\
             setp.eq.s32 %p10, %r21, 1;\nmov.u32 %r22, %ctaid.x;\ncvt.u64.u32 %rd6, %r22;\n\
             @%p10 bra ALONG;\n\
             mov.u32 %r23, %nctaid.y;\nmov.u32 %r24, %ctaid.y;\ncvt.u64.u32 %rd7, %r24;\n\
             cvt.u64.u32 %rd8, %r23;\nmul.lo.s64 %rd9, %rd6, %rd8;\nadd.s64 %rd10, %rd9, %rd7;\n\
             bra BOTH;\nALONG:\nmov.u32 %r25, %ctaid.y;\nmov.u32 %r26, %nctaid.x;\n\
             mul.wide.u32 %rd11, %r25, %r26;\nadd.s64 %rd10, %rd11, %rd6;\nBOTH:\n\
             setp.le.u64 %p11, %rd5, %rd10;\n@%p11 bra DONE;\nbar.sync 0;\n"
        )
    };
    insta::assert_snapshot!(check(1, &code("%rd2+16")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every chosen in 0..=1 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // Which argument is read has to be known.
    let index = "mul.wide.u32 %rd12, %r1, 4;\nadd.s64 %rd12, %rd2, %rd12;\n";
    let moving = format!("{index}{}", code("%rd12"));
    insta::assert_snapshot!(check(1, &moving), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 48, `@%p11 bra DONE`: a branch decides about synchronization, but %p11 is not known here: it is written on one side of a branch that is not followed: which parameter it reads is not known (line 29, `ld.param.u32 %r21, [%rd12]`)
    --- stderr
    ");
    // Half of the CTA comes to a barrier of all of it.
    let half = format!(
        "{}setp.lt.u32 %p12, %r3, 32;\n@%p12 bra DONE;\nbar.sync 1, 64;\n",
        code("%rd2+16")
    );
    insta::assert_snapshot!(check(1, &half), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at chosen = 1: cta_bar[1] takes 64 threads, 32 came (warp1), and nobody else comes (line 50): warp0 never comes, only at cta_bar[0]
    --- stderr
    ");
}
