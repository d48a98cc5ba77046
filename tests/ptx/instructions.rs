//! Hand-written PTX: instructions one by one, each in a kernel that ends and one that does not, or
//! that is beyond what is modelled.

use crate::support::program::Folder;

/// An entry of this many threads; `%p1` holds in all threads but the first, `%r1` is the thread, and
/// `b` is an mbarrier that thread 0 initialises for this many arrivals.
fn entry(threads: u32, arrivals: u32, cluster: &str, code: &str) -> String {
    let meet = if cluster.contains("cluster") {
        "barrier.cluster.arrive;\nbarrier.cluster.wait;"
    } else {
        "bar.sync 0;"
    };
    format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .visible .entry kernel(.param .u32 n, .param .u64 p)\n.reqntid {threads}, 1, 1\n{cluster}\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.reg .b16 %rs<4>;\n\
         .shared .align 8 .b64 b;\n.shared .align 128 .b8 tile[4096];\n\
         ld.param.u32 %r9, [n];\nld.param.u64 %rd9, [p];\n\
         mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n\
         mbarrier.init.shared.b64 [b], {arrivals};\nREADY:\n{meet}\n{code}\nret;\n}}\n"
    )
}

fn run(text: String, command: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    let mut arguments = command.to_vec();
    arguments.push("kernel.ptx");
    folder.run(&arguments)
}

fn check(threads: u32, arrivals: u32, code: &str) -> String {
    run(entry(threads, arrivals, "", code), &["check", "-q"])
}

/// Rounds in which everybody arrives and waits for the phase of that arrival.
const ROUNDS: &str = "
    mov.u32 %r3, 0;
    setp.eq.u32 %p4, %r9, 0;
    @%p4 bra END;
    ROUND:
    mbarrier.arrive.shared.b64 %rd1, [b];
    WAIT:
    mbarrier.test_wait.shared.b64 %p2, [b], %rd1;
    @!%p2 bra WAIT;
    add.s32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, %r9;
    @%p3 bra ROUND;
    END:";

#[test]
fn phase_tokens() {
    insta::assert_snapshot!(run(entry(96, 96, "", ROUNDS), &["lift"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `kernel`.
    //! 96 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 414 events.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    param n in 0..=1073741823

    mbarrier b_bar { arrivals: 3 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 96  // line 21
        for i in 0..n {     // line 27
            arrive b_bar      // line 27
            wait b_bar i % 2  // line 29
        }
    }

    role warps1_2[w in 0..2] warp {
        sync cta_bar[0] 96  // line 21
        for i in 0..n {     // line 27
            arrive b_bar      // line 27
            wait b_bar i % 2  // line 29
        }
    }
    --- stderr
    ");
    insta::assert_snapshot!(check(96, 96, ROUNDS), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(96, 128, ROUNDS), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: b_bar takes 4 arrivals, 3 came (warp0, warps1_2[0] and warps1_2[1]), and warp0 waits for the rest (line 29): no more than 3 arrivals come in a phase
    --- stderr
    ");
}

/// The second arrival may be in another phase than the first.
#[test]
fn an_old_phase_token() {
    let code = "
        mbarrier.arrive.shared.b64 %rd1, [b];
        mbarrier.arrive.shared.b64 %rd2, [b];
        WAIT:
        mbarrier.try_wait.shared.b64 %p2, [b], %rd1;
        @!%p2 bra WAIT;";
    insta::assert_snapshot!(check(32, 64, code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `mbarrier.try_wait.shared.b64 %p2, [b], %rd1`: `mbarrier.try_wait.shared.b64`: its phase token is not certainly that of the last arrival here
    --- stderr
    ");
}

/// The token of before the loop is not that of the arrivals inside.
#[test]
fn a_phase_token_of_another_round() {
    let code = ROUNDS
        .replace(
            "ROUND:\n",
            "mbarrier.arrive.shared.b64 %rd1, [b];\nROUND:\n",
        )
        .replacen(
            "mbarrier.arrive.shared.b64 %rd1, [b];\n    WAIT",
            "mbarrier.arrive.shared.b64 %rd2, [b];\n    WAIT",
            1,
        );
    insta::assert_snapshot!(check(32, 32, &code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 30, `mbarrier.test_wait.shared.b64 %p2, [b], %rd1`: `mbarrier.test_wait.shared.b64`: its phase token is not certainly that of the last arrival here
    --- stderr
    ");
}

/// Without `.noinc` the arrival is awaited in addition to those that are counted.
#[test]
fn asynchronous_arrivals_that_raise_the_count() {
    let code = "
        cp.async.mbarrier.arrive.shared.b64 [b];
        mbarrier.arrive.shared.b64 %rd1, [b];
        WAIT:
        mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;
        @!%p2 bra WAIT;";
    insta::assert_snapshot!(check(64, 64, code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, 128, code), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED b_bar takes 4 arrivals, 2 came (warp0 and warp1), and warp0 waits for the rest (line 26): no more than 2 arrivals come in a phase
    --- stderr
    ");
}

#[test]
fn forms_that_are_not_modelled() {
    insta::assert_snapshot!(check(32, 32, "mbarrier.arrive_drop.shared.b64 %rd1, [b];"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `mbarrier.arrive_drop.shared.b64 %rd1, [b]`: this is followed only where it is the last that its warp does, everybody waits by phase token after each arrival, and the others arrive equally often
    --- stderr
    ");
    insta::assert_snapshot!(
        check(32, 32, "mbarrier.arrive.noComplete.shared.b64 %rd1, [b], 1;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `mbarrier.arrive.noComplete.shared.b64 %rd1, [b], 1`: that this does not complete the phase is known only where the same threads arrive right behind it
    --- stderr
    ");
}

/// A second lane would initialise a live barrier, which is undefined.
#[test]
fn one_lane_initialises_an_mbarrier() {
    insta::assert_snapshot!(check(32, 32, "mbarrier.init.shared.b64 [b], 32;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `mbarrier.init.shared.b64 [b], 32`: `mbarrier.init.shared.b64`: several lanes initialise one mbarrier
    --- stderr
    ");
}

/// Each of two CTAs copies half a tile to both.
fn multicast(mask: u32) -> String {
    let code = format!(
        "@%p1 bra WAIT;
        mbarrier.arrive.expect_tx.shared.b64 _, [b], 4096;
        mov.u32 %r2, %cluster_ctarank;
        mul.lo.u32 %r3, %r2, 2048;
        mov.u32 %r4, tile;
        add.u32 %r5, %r4, %r3;
        mov.u32 %r6, b;
        mov.u16 %rs1, {mask};
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd9], 2048, [%r6], %rs1;
        WAIT:
        mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;
        @!%p2 bra WAIT;
        barrier.cluster.arrive;
        barrier.cluster.wait;"
    );
    entry(32, 1, ".reqnctapercluster 2, 1, 1", &code)
}

#[test]
fn copies_to_several_ctas() {
    insta::assert_snapshot!(run(multicast(3), &["lift"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `kernel`.
    //! 32 x 1 x 1 threads per CTA.
    //! 2 x 1 x 1 CTAs per cluster.
    //! Checked against the kernel at 5 launches, 90 events.
    //! Assumed: a CTA of a cluster does not end while others still use its shared memory
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    mbarrier b_bar_cta0 { arrivals: 1 }
    mbarrier b_bar_cta1 { arrivals: 1 }
    barrier cluster_bar { arrivals: 2 }

    role cta0_warp0 warp {
        arrive cluster_bar                         // line 21
        wait cluster_bar                           // line 22
        arrive_expect_tx b_bar_cta0 4096           // line 24
        async copy tile completes b_bar_cta0 2048  // line 31
        async copy tile completes b_bar_cta1 2048  // line 31
        wait b_bar_cta0 0                          // line 33
        arrive cluster_bar                         // line 35
        wait cluster_bar                           // line 36
    }

    role cta1_warp0 warp {
        arrive cluster_bar                         // line 21
        wait cluster_bar                           // line 22
        arrive_expect_tx b_bar_cta1 4096           // line 24
        async copy tile completes b_bar_cta0 2048  // line 31
        async copy tile completes b_bar_cta1 2048  // line 31
        wait b_bar_cta1 0                          // line 33
        arrive cluster_bar                         // line 35
        wait cluster_bar                           // line 36
    }
    --- stderr
    ");
    insta::assert_snapshot!(run(multicast(3), &["check", "-q"]), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(run(multicast(1), &["check", "-q"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED b_bar_cta1 expects 4096 bytes (line 24) that nobody delivers; cta1_warp0 waits for it (line 33)
    --- stderr
    ");
    insta::assert_snapshot!(run(multicast(5), &["check", "-q"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd9], `: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster`: the mask of CTAs is no constant of this cluster
    --- stderr
    ");
}

/// Each of two CTAs copies a tile of its own, and half of another one to both.
#[test]
fn copies_with_unequal_shares() {
    let kernel = |arrivals: u32| {
        let code = "@%p1 bra WAIT;
            mbarrier.arrive.expect_tx.shared.b64 _, [b], 4096;
            mov.u32 %r2, %cluster_ctarank;
            mul.lo.u32 %r3, %r2, 1024;
            mov.u32 %r4, tile;
            add.u32 %r5, %r4, %r3;
            mov.u32 %r6, b;
            mov.u16 %rs1, 3;
            mov.u32 %r7, 0;
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%rd9, {%r7, %r7}], [%r6];
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd9, {%r7, %r7}], [%r6], %rs1;
            WAIT:
            mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;
            @!%p2 bra WAIT;
            barrier.cluster.arrive;
            barrier.cluster.wait;";
        entry(32, arrivals, ".reqnctapercluster 2, 1, 1", code)
    };
    insta::assert_snapshot!(run(kernel(1), &["lift"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `kernel`.
    //! 32 x 1 x 1 threads per CTA.
    //! 2 x 1 x 1 CTAs per cluster.
    //! Checked against the kernel at 5 launches, 100 events.
    //! Assumed: a CTA of a cluster does not end while others still use its shared memory
    //! Assumed: the tensor copies of a phase deliver the bytes that it expects
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    mbarrier b_bar_cta0 { arrivals: 1 }
    mbarrier b_bar_cta1 { arrivals: 1 }
    barrier cluster_bar { arrivals: 2 }

    role cta0_warp0 warp {
        arrive cluster_bar                         // line 21
        wait cluster_bar                           // line 22
        arrive_expect_tx b_bar_cta0 4096           // line 24
        async copy tile completes b_bar_cta0 1366  // line 32
        async copy tile completes b_bar_cta0 1365  // line 33
        async copy tile completes b_bar_cta1 1366  // line 33
        wait b_bar_cta0 0                          // line 35
        arrive cluster_bar                         // line 37
        wait cluster_bar                           // line 38
    }

    role cta1_warp0 warp {
        arrive cluster_bar                         // line 21
        wait cluster_bar                           // line 22
        arrive_expect_tx b_bar_cta1 4096           // line 24
        async copy tile completes b_bar_cta1 1365  // line 32
        async copy tile completes b_bar_cta0 1365  // line 33
        async copy tile completes b_bar_cta1 1365  // line 33
        wait b_bar_cta1 0                          // line 35
        arrive cluster_bar                         // line 37
        wait cluster_bar                           // line 38
    }
    --- stderr
    ");
    insta::assert_snapshot!(run(kernel(1), &["check", "-q"]), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(run(kernel(2), &["check", "-q"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED b_bar_cta0 takes 2 arrivals, 1 came (cta0_warp0), and cta0_warp0 waits for the rest (line 35): whoever arrives there has made all of its arrivals
    --- stderr
    ");
}

#[test]
fn registers_that_move_between_warps() {
    let code = |more: u32| {
        format!(
            "setp.ge.u32 %p2, %r1, 128;
            @%p2 bra TAKE;
            setmaxnreg.dec.sync.aligned.u32 104;
            bra END;
            TAKE:
            setmaxnreg.inc.sync.aligned.u32 {more};
            END:"
        )
    };
    let text = |more: u32| entry(256, 1, ".maxnreg 128", &code(more));
    insta::assert_snapshot!(run(text(152), &["check", "-q"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(run(text(160), &["check", "-q"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warps4_7[3] waits for 32 of registers (line 27), 0 are available, and too little is given back: warp0 gives back 24 and has ended; warps1_3[0..3] give back 24 each and have ended
    --- stderr
    ");
    insta::assert_snapshot!(run(text(120), &["check", "-q"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 27, `setmaxnreg.inc.sync.aligned.u32 120`: `setmaxnreg.inc.sync.aligned.u32`: the warp has 128 registers per thread here, so this is undefined
    --- stderr
    ");
}

/// Numbers of registers that the hardware does not take: too few, and no multiple of 8.
#[test]
fn registers_that_are_not_taken() {
    for wanted in [16, 100] {
        let code = format!("setmaxnreg.dec.sync.aligned.u32 {wanted};");
        let shown = run(entry(128, 1, ".maxnreg 128", &code), &["check", "-q"]);
        let reason = "asks for 24 to 256 registers, in steps of 8";
        assert!(
            shown.starts_with("exit 4") && shown.contains(reason),
            "{shown}"
        );
    }
}

/// A producer warp and as many consumer warps as there are, which meet among themselves.
fn any_threads(expected: u32) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
         .maxntid 512, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<64>;\n\
         .shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n\
         ld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\n\
         sub.u32 %r3, %r2, 32;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra I;\n\
         mbarrier.init.shared.b64 [full], {expected};\nmbarrier.init.shared.b64 [empty], %r3;\n\
         I:\nbar.sync 0;\nsetp.eq.u32 %p4, %r9, 0;\n@%p4 bra END;\nmov.u32 %r5, 0;\n\
         mov.u32 %r6, 0;\nsetp.lt.u32 %p2, %r1, 32;\n@%p2 bra P;\n\
         C:\nmbarrier.try_wait.parity.shared.b64 %p3, [full], %r6;\n@!%p3 bra C;\n\
         bar.sync 1, %r3;\nmbarrier.arrive.shared.b64 _, [empty];\nxor.b32 %r6, %r6, 1;\n\
         add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p5, %r5, %r9;\n@%p5 bra C;\nbra END;\n\
         P:\nxor.b32 %r7, %r6, 1;\nW2:\nmbarrier.try_wait.parity.shared.b64 %p3, [empty], %r7;\n\
         @!%p3 bra W2;\nmbarrier.arrive.shared.b64 _, [full];\nxor.b32 %r6, %r6, 1;\n\
         add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p5, %r5, %r9;\n@%p5 bra P;\nEND:\nret;\n}}\n"
    )
}

#[test]
fn any_number_of_threads() {
    let any = "--symbolic-threads";
    insta::assert_snapshot!(run(any_threads(32), &["lift", any]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `kernel` of a PTX 8.0 text for sm_90.
    //! (32 * warps) x 1 x 1 threads per CTA.
    //! Recovered for 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 warps, each number by itself.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    param warps in 2..=16

    param p_n in 0..=1073741823

    mbarrier empty_bar { arrivals: warps - 1 }  // counted in groups of 32 threads
    mbarrier full_bar { arrivals: 1 }           // counted in groups of 32 threads
    named cta_bar[16]

    role group0[w in 0..1] warp {
        sync cta_bar[0] 32 * warps  // line 20
        for i in 0..p_n {           // line 38
            wait empty_bar (i + 1) % 2  // line 40
            arrive full_bar             // line 42
        }
    }

    role group1[w in 0..warps - 1] warp {
        sync cta_bar[0] 32 * warps  // line 20
        for i in 0..p_n {           // line 28
            wait full_bar i % 2              // line 28
            sync cta_bar[1] 32 * warps - 32  // line 30
            arrive empty_bar                 // line 31
        }
    }
    --- stderr
    ");
    insta::assert_snapshot!(run(any_threads(32), &["check", "-q", any]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every warps in 2..=16, p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(run(any_threads(64), &["check", "-q", any]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at warps = 2, p_n = 1: full_bar takes 2 arrivals, 1 came (group0[0]), and group1[0] waits for the rest (line 28): no more than 1 arrival comes in a phase
    --- stderr
    ");
    insta::assert_snapshot!(run(entry(64, 64, "", ""), &["check", "-q", any]), @"
    exit 2
    --- stdout
    --- stderr
    Error: the number of threads of `kernel` is given
       ╭─[ kernel.ptx:4:17 ]
       │
     4 │ .visible .entry kernel(.param .u32 n, .param .u64 p)
       │ 
       │ Help: leave --symbolic-threads out, or --threads if that gives the number
    ───╯
    ");
}

/// Nobody takes the registers of warps that have not started yet: a CTA has all of them at launch.
#[test]
fn registers_at_launch() {
    let kernel = |less: u32| {
        entry(
            384,
            1,
            ".maxnreg 168",
            &format!(
                "setp.ge.u32 %p2, %r1, 128;\nsetp.ge.u32 %p3, %r1, 256;\n@%p3 bra LAST;\n@%p2 bra TAKE;\n\
                 bar.sync 1, 256;\nsetmaxnreg.dec.sync.aligned.u32 {less};\nbra END;\n\
                 TAKE:\nsetmaxnreg.inc.sync.aligned.u32 232;\nbra END;\nLAST:\nbar.sync 1, 256;\nEND:"
            ),
        )
    };
    insta::assert_snapshot!(run(kernel(104), &["check", "-q"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(run(kernel(112), &["check", "-q"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warps4_7[3] waits for 64 of registers (line 30), 32 are available, and too little is given back: warp0 gives back 56 and has ended; warps1_3[0..3] give back 56 each and have ended
    --- stderr
    ");
}

/// A row of CTAs, each of which tells its neighbours, and waits for as many as it has.
fn halo(ctas: u32, neighbours: &str, parity: &str) -> String {
    let code = format!(
        "mov.u32 %r2, %cluster_ctarank;
        mov.u32 %r3, b;
        @%p1 bra INIT;
        setp.ne.u32 %p2, %r2, 0;
        setp.ne.u32 %p3, %r2, {last};
        selp.u32 %r4, 1, 0, %p2;
        selp.u32 %r5, 1, 0, %p3;
        {neighbours}
        mov.u32 %r7, further;
        mbarrier.init.shared.b64 [%r7], %r6;
        INIT:
        barrier.cluster.arrive;
        barrier.cluster.wait;
        mov.u32 %r7, further;
        mov.u32 %r10, 0;
        setp.eq.u32 %p4, %r9, 0;
        @%p4 bra DONE;
        ROUND:
        @%p1 bra WAIT;
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra RIGHT;
        sub.u32 %r11, %r2, 1;
        mapa.shared::cluster.u32 %r12, %r7, %r11;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
        RIGHT:
        setp.eq.u32 %p3, %r2, {last};
        @%p3 bra WAIT;
        add.u32 %r11, %r2, 1;
        mapa.shared::cluster.u32 %r12, %r7, %r11;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
        WAIT:
        {parity}
        mbarrier.try_wait.parity.shared.b64 %p5, [%r7], %r13;
        @!%p5 bra WAIT;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        add.u32 %r10, %r10, 1;
        setp.lt.u32 %p6, %r10, %r9;
        @%p6 bra ROUND;
        DONE:",
        last = ctas - 1
    );
    let cluster = format!(".reqnctapercluster {ctas}, 1, 1");
    entry(32, 1, &cluster, &code).replace("b64 b;", "b64 b;\n.shared .align 8 .b64 further;")
}

#[test]
fn mbarriers_of_the_ctas_expect_different_numbers() {
    let (both, turning) = ("add.u32 %r6, %r4, %r5;", "and.b32 %r13, %r10, 1;");
    insta::assert_snapshot!(run(halo(3, both, turning), &["lift"]), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `kernel`.
    //! 32 x 1 x 1 threads per CTA.
    //! 3 x 1 x 1 CTAs per cluster.
    //! Checked against the kernel at 9 launches, 981 events.
    //! Assumed: a CTA of a cluster does not end while others still use its shared memory
    //! Assumed: an arrival at another CTA's mbarrier is seen by whoever has waited for what its warp does behind it
    //! Assumed: where waits may be out of step, an arrival at another CTA's mbarrier takes effect at once
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol kernel

    param n in 0..=1073741823

    mbarrier further_bar_cta0 { arrivals: 1 }
    mbarrier further_bar_cta1 { arrivals: 2 }
    mbarrier further_bar_cta2 { arrivals: 1 }
    barrier cluster_bar { arrivals: 3 }

    role cta0_warp0 warp {
        arrive cluster_bar  // line 22
        wait cluster_bar    // line 23
        arrive cluster_bar  // line 35
        wait cluster_bar    // line 36
        for i in 0..n {     // line 42
            arrive further_bar_cta1      // line 53
            wait further_bar_cta0 i % 2  // line 56
            arrive cluster_bar           // line 58
            wait cluster_bar             // line 59
        }
    }

    role cta1_warp0 warp {
        arrive cluster_bar  // line 22
        wait cluster_bar    // line 23
        arrive cluster_bar  // line 35
        wait cluster_bar    // line 36
        for i in 0..n {     // line 42
            arrive further_bar_cta0      // line 47
            arrive further_bar_cta2      // line 53
            wait further_bar_cta1 i % 2  // line 56
            arrive cluster_bar           // line 58
            wait cluster_bar             // line 59
        }
    }

    role cta2_warp0 warp {
        arrive cluster_bar  // line 22
        wait cluster_bar    // line 23
        arrive cluster_bar  // line 35
        wait cluster_bar    // line 36
        for i in 0..n {     // line 42
            arrive further_bar_cta1      // line 47
            wait further_bar_cta2 i % 2  // line 56
            arrive cluster_bar           // line 58
            wait cluster_bar             // line 59
        }
    }
    --- stderr
    ");
    insta::assert_snapshot!(run(halo(3, both, turning), &["check", "-q"]), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(run(halo(3, both, "mov.u32 %r13, 0;"), &["check", "-q"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: cta0_warp0 waits for further_bar_cta0 with parity 0 twice in a row (line 56), and further_bar_cta0 has completed 2 times by then, so this wait needs another completion: cta1_warp0 arrives 2 times and not again
    --- stderr
    ");
    // The first one expects two although it has one neighbour, the last one none.
    let shifted = "add.u32 %r6, %r5, %r5;\nmax.u32 %r6, %r6, 1;";
    insta::assert_snapshot!(run(halo(3, shifted, turning), &["check", "-q"]), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: further_bar_cta0 takes 2 arrivals, 1 came (cta1_warp0), and cta0_warp0 waits for the rest (line 57): no more than 1 arrival comes in a phase
    --- stderr
    ");
    // Two that one address may mean, in one CTA.
    let ring = "mbarrier.init.shared.b64 [%r3+8], 2;\nmov.u32 %r6, 1;";
    let alternating =
        "and.b32 %r14, %r10, 1;\nshl.b32 %r14, %r14, 3;\nadd.u32 %r7, %r3, %r14;\nmov.u32 %r13, 0;";
    let pair = halo(3, ring, alternating).replace(".b64 b;", ".b8 b[16];");
    insta::assert_snapshot!(run(pair, &["check", "-q"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 54, `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12]`: the address of this mbarrier is not based on a shared variable
    --- stderr
    ");
}

/// `setmaxnreg` says how many registers there are from then on, so saying it again takes and gives back nothing.
#[test]
fn registers_that_are_said_again() {
    let code = |rounds: &str, more: u32| {
        format!(
            "setp.ge.u32 %p2, %r1, 128;\n@%p2 bra TAKE;\nmov.u32 %r5, 0;\nGIVES:\n\
             setmaxnreg.dec.sync.aligned.u32 104;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, {rounds};\n\
             @%p3 bra GIVES;\nbra END;\nTAKE:\nmov.u32 %r5, 0;\nTAKES:\n\
             setmaxnreg.inc.sync.aligned.u32 {more};\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p3, %r5, {rounds};\n\
             @%p3 bra TAKES;\nEND:"
        )
    };
    let check = |rounds: &str, more: u32| {
        run(
            entry(256, 1, ".maxnreg 128", &code(rounds, more)),
            &["check", "-q"],
        )
    };
    for rounds in ["2", "%r9"] {
        let enough = check(rounds, 152);
        assert!(enough.starts_with("exit 0"), "{rounds}: {enough}");
        // What the second round gives back is no more.
        let more = check(rounds, 160);
        assert!(
            more.starts_with("exit 1") && more.contains("REFUTED"),
            "{rounds}: {more}"
        );
    }
}
