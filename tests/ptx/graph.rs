//! Kernels of our own by way of the control-flow graph: what warps of a warpgroup do together, and registers.

use crate::support::program::Folder;

fn check(name: &str, entry: &str) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    let arguments = ["check", "-q", name, "--recovery", "graph", "--entry", entry];
    // Which rule proves it depends on how fast the machine is.
    let shown = folder.run(&arguments);
    match shown.find(": all ") {
        Some(at) => shown[..at].to_owned(),
        None => shown,
    }
}

/// The four warps of a warpgroup issue a multiplication together, so none of them is lapped at the barriers in front of it.
#[test]
fn warps_that_multiply_together_wait_for_each_other() {
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns"), @r"
    exit 0
    --- stdout
    tensor_gemm.ptx: deadlock: PROVED for every param_4 in 0..=1073741823 and schedule
    ");
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns_without_a_first"), @"
    exit 1
    --- stdout
    tensor_gemm.ptx: deadlock: REFUTED at param_4 = 1: warp4 and warp8 wait for each other: warp4 (tensor_gemm.cu:144, line 1672) for warp8 to come to cta_bar[3], warp8 (tensor_gemm.cu:144, line 1672) for warp4 to come to cta_bar[2]
    --- stderr
    ");
}

/// Loops that were written out four times, with a loop of the rest behind them: the rounds of one ring. Places in it are masked bits,
/// quotients by a reciprocal, and a stage and a phase that begin with what the loop before has left.
#[test]
fn loops_that_the_compiler_wrote_out_are_rounds_of_a_ring() {
    for (name, entry) in [
        ("async_ring.ptx", "async_ring"),
        ("pipeline.ptx", "pipeline"),
        ("ring.ptx", "ring_of_4"),
        ("lanes.ptx", "lanes_initialise"),
    ] {
        let shown = check(name, entry);
        assert!(
            shown.contains("deadlock: PROVED for every param_"),
            "{entry}: {shown}"
        );
    }
}

/// The stage of the round before is none in the first round.
#[test]
fn stages_are_given_back_a_round_later() {
    let shown = check("flight_gemm.ptx", "flight_gemm");
    assert!(shown.contains("deadlock: PROVED"), "{shown}");
}

/// A barrier that names the number of all threads waits for those that have ended, too.
#[test]
fn barriers_name_their_threads() {
    for (name, entry, expected) in [
        (
            "matvec.ptx",
            "matvec_counts_everybody",
            "cta_bar[1] takes 384 threads, 256 came",
        ),
        (
            "stencil.ptx",
            "stencil_counts_consumers_only",
            "cta_bar[3] takes 96 threads, 32 came",
        ),
    ] {
        let shown = check(name, entry);
        assert!(shown.contains(expected), "{entry}: {shown}");
    }
}

/// How many rounds there are, lies in memory. The compiler writes four rounds of the consumers out.
#[test]
fn lengths_in_memory_decide_how_often_loops_run() {
    insta::assert_snapshot!(check("varlen.ptx", "varlen"), @r"
    exit 0
    --- stdout
    varlen.ptx: deadlock: PROVED for every at_param_2_over_128_up in 0..=8388608 and schedule
    ");
    insta::assert_snapshot!(check("varlen.ptx", "varlen_packed"), @r"
    exit 0
    --- stdout
    varlen.ptx: deadlock: PROVED for every length_at_param_2_over_128_up in 0..=8388608 and schedule
    ");
    insta::assert_snapshot!(check("varlen.ptx", "varlen_rounds_down"), @r"
    exit 1
    --- stdout
    varlen.ptx: deadlock: REFUTED at at_param_2 = 1: nobody arrives at full_bar[0], for which warp4 waits (varlen.cu:31, line 1042): warp0 never arrives, because `if at_param_2 / 128 >= 4` (varlen.cu:79, line 1116) does not hold for it
    --- stderr
    ");
    insta::assert_snapshot!(check("varlen.ptx", "varlen_written"), @r"
    exit 4
    --- stdout
    varlen.ptx: deadlock: UNKNOWN line 1655 (varlen.cu:86): lanes take a branch differently, depending on the launch or on memory
    --- stderr
    ");
}

#[test]
fn registers_that_nobody_gives_back_are_waited_for() {
    insta::assert_snapshot!(check("hopper_gemm.ptx", "hopper_gemm_takes_more_registers"), @"
    exit 1
    --- stdout
    hopper_gemm.ptx: deadlock: REFUTED at tiles = 0, param_4 = 0: warps8_11[3] waits for 72 of registers (hopper_gemm.cu:67, line 1917), 8 are available, and too little is given back: warp0 gives back 128 and has ended; warps1_3[0..3] give back 128 each and have ended
    --- stderr
    ");
}

/// Each CTA of a pair expects the bytes of its own copy and of one that the first CTA makes for both. How many bytes a
/// copy has, only the tensor map knows.
fn copied_by_another(entry: &str, freed: &str) -> String {
    let code = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n\
         .visible .entry {entry}(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u32 n)\n\
         .reqntid 64, 1, 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<8>;\n\
         .shared .align 128 .b8 tiles[4096];\n.shared .align 8 .b8 bars[16];\n\
         mov.b64 %rd1, a;\nmov.b64 %rd2, b;\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n\
         mov.u32 %r3, %cluster_ctarank;\nmov.u32 %r4, bars;\nadd.u32 %r5, %r4, 8;\nmov.u32 %r8, tiles;\nadd.u32 %r9, %r8, 2048;\n\
         mov.u16 %rs1, 3;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra READY;\n\
         mbarrier.init.shared::cta.b64 [%r4], 1;\nmbarrier.init.shared::cta.b64 [%r5], 2;\n\
         fence.mbarrier_init.release.cluster;\n\
         READY:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
         mov.u32 %r6, 0;\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra END;\n\
         setp.gt.u32 %p3, %r2, 31;\n@%p3 bra CONSUME;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra END;\n\
         PRODUCE:\nnot.b32 %r7, %r6;\nand.b32 %r7, %r7, 1;\n\
         FREE:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5], %r7;\n@!%p4 bra FREE;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 4096;\n\
         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r8], [%rd1, {{%r6, %r6}}], [%r4];\n\
         setp.ne.u32 %p5, %r3, 0;\n@%p5 bra MADE;\n\
         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster \
         [%r9], [%rd2, {{%r6, %r6}}], [%r4], %rs1;\n\
         MADE:\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p6, %r6, %r1;\n@%p6 bra PRODUCE;\nbra END;\n\
         CONSUME:\nand.b32 %r7, %r6, 1;\n\
         FULL:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r4], %r7;\n@!%p4 bra FULL;\n\
         setp.ne.u32 %p5, %r2, 32;\n@%p5 bra USED;\n{freed}\
         USED:\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p6, %r6, %r1;\n@%p6 bra CONSUME;\n\
         END:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.file("pair.ptx", code);
    let lifted = folder.run(&["lift", "pair.ptx", "--recovery", "graph"]);
    let copies: Vec<&str> = lifted
        .lines()
        .filter(|l| l.contains("copy"))
        .map(str::trim)
        .collect();
    let shown = folder.run(&["check", "-q", "pair.ptx", "--recovery", "graph"]);
    format!("{}\n{shown}", copies.join("\n"))
}

fn frees(ranks: &[u32]) -> String {
    let arrive = |rank: &u32| {
        format!(
            "mapa.shared::cluster.u32 %r10, %r5, {rank};\n\
             mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];\n"
        )
    };
    ranks.iter().map(arrive).collect()
}

/// CTAs that add to a row of words of memory in the order of their numbers.
#[test]
fn ctas_take_turns_at_words_of_memory() {
    insta::assert_snapshot!(check("backward.ptx", "backward_dense"), @r"
    exit 0
    --- stdout
    backward.ptx: deadlock: PROVED for every param_4 in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1 and schedule, assuming R >= nctaid_x
    ");
    insta::assert_snapshot!(check("backward.ptx", "backward_off_by_one"), @"
    exit 1
    --- stdout
    backward.ptx: deadlock: REFUTED at param_4 = 1, nctaid_x = 1, R = 1: warp0[0] waits for at_param_2[0] == 1 (backward.cu:62, line 524), but at_param_2[0] stays 0 and nobody adds to it: only warp0[0] itself would, after that wait
    --- stderr
    ");
}

#[test]
fn bytes_that_another_cta_expects() {
    insta::assert_snapshot!(copied_by_another("pair", &frees(&[0, 1])), @r"
    async copy tile completes bars_0_cta0 2048  // line 47
    async copy tile completes bars_0_cta0 2048  // line 50
    async copy tile completes bars_0_cta1 2048  // line 50
    async copy tile completes bars_0_cta1 2048  // line 47
    exit 0
    --- stdout
    pair.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(copied_by_another("pair", &frees(&[0])), @"
    async copy tile completes bars_0_cta0 2048  // line 47
    async copy tile completes bars_0_cta0 2048  // line 50
    async copy tile completes bars_0_cta1 2048  // line 50
    async copy tile completes bars_0_cta1 2048  // line 47
    exit 1
    --- stdout
    pair.ptx: deadlock: REFUTED at n = 2: nobody arrives at bars_8_cta1, for which cta1_warp0 waits (line 44): no statement arrives there
    --- stderr
    ");
}

/// The number of rounds depends on `n`, which is looked at besides: not every choice of both is one of a launch. What
/// hangs at a launch that was run is refuted all the same.
fn rounds_of_a_product(end: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "product.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry product(.param .u32 n, .param .u32 m)\n.reqntid 96, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<16>;\n\
             ld.param.u32 %r1, [n];\nld.param.u32 %r2, [m];\nand.b32 %r1, %r1, 255;\nand.b32 %r2, %r2, 255;\n\
             mul.lo.u32 %r3, %r1, %r2;\nmov.u32 %r4, %tid.x;\nmov.u32 %r5, 0;\n\
             setp.eq.u32 %p1, %r3, 0;\n@%p1 bra END;\nsetp.gt.u32 %p6, %r4, 63;\n@%p6 bra END;\n\
             setp.gt.u32 %p2, %r4, 31;\n{end}\
             ROUND:\nbar.sync 1, 64;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p5, %r5, %r3;\n@%p5 bra ROUND;\n\
             END:\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "product.ptx", "--recovery", "graph"])
}

#[test]
fn what_hangs_at_a_launch() {
    let skipped = "setp.eq.u32 %p3, %r1, 3;\nand.pred %p4, %p2, %p3;\n@%p4 bra END;\n";
    let found = rounds_of_a_product(skipped);
    let lines = found.lines().filter(|l| {
        ["REFUTED", "fails at", "minimal"]
            .iter()
            .any(|w| l.contains(w))
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    product.ptx: deadlock: REFUTED at computed = 3, n = 3: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 25): warp1 never comes, because `if n % 256 != 3` (line 23) does not hold for it
      minimal: the smallest of the launches that were run to compare the protocol with the kernel
      notes: fails at the launch with grid [3, 3, 1], CTA [2, 0, 0], n = 3, m = 1
    ");
}
