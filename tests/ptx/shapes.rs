//! Kernels in the shapes that many people write, as the CUDA compiler writes them: a GEMM with tensor copies and
//! warpgroups, attention in turns, looking ahead at the next stage, work taken over from other CTAs. And what is
//! close to them, but may not be taken for them.

use crate::support::program::Folder;

fn compiled(arguments: &[&str], name: &str) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    folder.run(arguments)
}

fn check(name: &str, entry: &str) -> String {
    compiled(&["check", "-q", name, "--entry", entry], name)
}

/// An entry of this many threads with these shared variables and instructions.
fn entry(threads: u32, shared: &str, code: &str) -> String {
    format!(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
         .reqntid {threads}, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n\
         .reg .b128 %rq<4>;\n{shared}\nmov.u32 %r1, %tid.x;\n{code}\nret;\n}}\n"
    )
}

fn hand_written(options: &[&str], threads: u32, shared: &str, code: &str) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", entry(threads, shared, code));
    let mut arguments = vec!["check", "-q", "kernel.ptx"];
    arguments.extend(options);
    folder.run(&arguments)
}

#[test]
fn a_gemm_with_tensor_copies() {
    insta::assert_snapshot!(check("tensor_gemm.ptx", "tensor_gemm"), @"
    exit 0
    --- stdout
    tensor_gemm.ptx: deadlock: PROVED for every param_3_over_64 in 0..=16777215 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("tensor_gemm.ptx", "tensor_gemm_counts_threads"), @"
    exit 1
    --- stdout
    tensor_gemm.ptx: deadlock: REFUTED at param_3_over_64 = 5: empty_bar[0] takes 256 arrivals, 2 came (warp4 and warp8), and warp0 waits for the rest (tensor_gemm.cu:32, line 608): no more than 2 arrivals come in a phase
    --- stderr
    ");
    insta::assert_snapshot!(check("tensor_gemm.ptx", "tensor_gemm_releases_early"), @"
    exit 1
    --- stdout
    tensor_gemm.ptx: deadlock: REFUTED at param_3_over_64 = 5: warps9_11[0] is lapped: it still waits for phase 0 of full_bar[0] (tensor_gemm.cu:32, line 802), but warp0 completed phases 0 and 1 (tensor_gemm.cu:74, line 945) without waiting for warps9_11[0]
    --- stderr
    ");
}

/// What two tensor copies write that one mbarrier is told of follows from where the next ones begin.
#[test]
fn tiles_of_two_sizes() {
    let race = |entry: &str| {
        let arguments = [
            "check",
            "-q",
            "--property",
            "race",
            "tensor_gemm.ptx",
            "--entry",
            entry,
        ];
        compiled(&arguments, "tensor_gemm.ptx")
    };
    insta::assert_snapshot!(race("tiles_of_two_sizes"), @"
    exit 0
    --- stdout
    tensor_gemm.ptx: race: PROVED for every param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(race("tiles_read_late"), @"
    exit 1
    --- stdout
    tensor_gemm.ptx: race: REFUTED at param_3 = 4: smem_memory[0][1]: the read by warp0 at tensor_gemm.cu:195 (line 2420) and the asynchronous write that warp4 starts at tensor_gemm.cu:182 (line 2345) are not ordered: an arrival of warp0 after tensor_gemm.cu:195 that warp4 waits for before tensor_gemm.cu:182 would order them
    --- stderr
    ");
}

#[test]
fn attention_in_turns() {
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns"), @"
    exit 0
    --- stdout
    tensor_gemm.ptx: deadlock: PROVED for every param_4 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("tensor_gemm.ptx", "turns_without_a_first"), @"
    exit 1
    --- stdout
    tensor_gemm.ptx: deadlock: REFUTED at param_4 = 1: warp4 and warp8 wait for each other: warp4 (tensor_gemm.cu:144, line 1672) for warp8 to come to cta_bar[3], warp8 (tensor_gemm.cu:144, line 1672) for warp4 to come to cta_bar[2]
    --- stderr
    ");
}

#[test]
fn looking_ahead() {
    insta::assert_snapshot!(check("lookahead.ptx", "lookahead"), @"
    exit 0
    --- stdout
    lookahead.ptx: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("lookahead.ptx", "lookahead_at_this_stage"), @"
    exit 4
    --- stdout
    lookahead.ptx: deadlock: UNKNOWN line 500 (lookahead.cu:71), `@%p5 bra $L__BB1_8`: a branch depends on a single test of an mbarrier
    --- stderr
    ");
}

#[test]
fn work_taken_over() {
    insta::assert_snapshot!(check("takeover.ptx", "takeover_kernel"), @"
    exit 0
    --- stdout
    takeover.ptx: deadlock: PROVED for every granted in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("takeover.ptx", "takeover_counts_one_more"), @"
    exit 1
    --- stdout
    takeover.ptx: deadlock: REFUTED at granted = 2: empty_bar[0] takes 129 arrivals, 128 came (warp0 and warps1_3[0..3]), and warp0 waits for the rest (takeover.cu:44, line 328): whoever arrives there has arrived in this phase already
    --- stderr
    ");
}

#[test]
fn steps_with_an_accumulator() {
    insta::assert_snapshot!(check("takeover.ptx", "steps_kernel"), @"
    exit 0
    --- stdout
    takeover.ptx: deadlock: PROVED for every param_3_over_64 in 0..=16777215 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("takeover.ptx", "steps_never_released"), @"
    exit 1
    --- stdout
    takeover.ptx: deadlock: REFUTED at param_3_over_64 = 5: nobody arrives at empty_bar[0], for which warp0 waits (takeover.cu:103, line 1380): no statement arrives there
    --- stderr
    ");
}

#[test]
fn the_protocol_of_a_gemm() {
    let lifted = |name: &str, entry: &str| compiled(&["lift", name, "--entry", entry], name);
    insta::assert_snapshot!(lifted("tensor_gemm.ptx", "tensor_gemm"), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `tensor_gemm`.
    //! 384 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 1818 events.
    //! Assumed: param_3 lies in 0..=1073741823
    //! Assumed: the tensor copies of a phase deliver the bytes that it expects
    //! Assumed: 168 registers per thread at launch, as many as fit and `setmaxnreg.inc` can raise
    //! What `setmaxnreg` takes has been given back before, and is left out.
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! Assumed: the launch has 384 threads per CTA, as many as .maxntid allows
    protocol tensor_gemm

    param param_3_over_64 in 0..=16777215  // param_3 / 64

    mbarrier full_bar[4] { arrivals: 1 }
    mbarrier empty_bar[4] { arrivals: 2 }
    mbarrier wgmma_8 { arrivals: 4 }
    mbarrier wgmma_16 { arrivals: 4 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 384            // tensor_gemm.cu:222
        for i in 0..param_3_over_64 {  // tensor_gemm.cu:222
            wait empty_bar[i % 4] (i / 4 + 1) % 2            // tensor_gemm.cu:32
            arrive_expect_tx full_bar[i % 4] 32768           // tensor_gemm.cu:74
            async copy tile completes full_bar[i % 4] 16384  // tensor_gemm.cu:75
            async copy tile completes full_bar[i % 4] 16384  // tensor_gemm.cu:76
        }
    }

    role warps1_3[w in 0..3] warp {
        sync cta_bar[0] 384  // tensor_gemm.cu:222
    }

    role warp4 warp {
        sync cta_bar[0] 384            // tensor_gemm.cu:222
        for i in 0..param_3_over_64 {  // tensor_gemm.cu:222
            wait full_bar[i % 4] i / 4 % 2  // tensor_gemm.cu:32
            arrive wgmma_8                  // tensor_gemm.cu:91
            wait wgmma_8 i % 2              // tensor_gemm.cu:92
            arrive empty_bar[i % 4]         // tensor_gemm.cu:93
        }
    }

    role warps5_7[w in 0..3] warp {
        sync cta_bar[0] 384            // tensor_gemm.cu:222
        for i in 0..param_3_over_64 {  // tensor_gemm.cu:222
            wait full_bar[i % 4] i / 4 % 2  // tensor_gemm.cu:32
            arrive wgmma_8                  // tensor_gemm.cu:91
            wait wgmma_8 i % 2              // tensor_gemm.cu:92
        }
    }

    role warp8 warp {
        sync cta_bar[0] 384            // tensor_gemm.cu:222
        for i in 0..param_3_over_64 {  // tensor_gemm.cu:222
            wait full_bar[i % 4] i / 4 % 2  // tensor_gemm.cu:32
            arrive wgmma_16                 // tensor_gemm.cu:91
            wait wgmma_16 i % 2             // tensor_gemm.cu:92
            arrive empty_bar[i % 4]         // tensor_gemm.cu:93
        }
    }

    role warps9_11[w in 0..3] warp {
        sync cta_bar[0] 384            // tensor_gemm.cu:222
        for i in 0..param_3_over_64 {  // tensor_gemm.cu:222
            wait full_bar[i % 4] i / 4 % 2  // tensor_gemm.cu:32
            arrive wgmma_16                 // tensor_gemm.cu:91
            wait wgmma_16 i % 2             // tensor_gemm.cu:92
        }
    }
    --- stderr
    ");
    insta::assert_snapshot!(lifted("takeover.ptx", "takeover_kernel"), @"
    exit 0
    --- stdout
    //! Recovered from the entry `takeover_kernel` of a PTX 9.5 text for sm_100a.
    //! 128 x 1 x 1 threads per CTA.
    //! Assumed: the launch has 128 threads per CTA, as many as .maxntid allows
    //! Of the requests for work of CTAs that have not been launched, `granted` are granted.
    //! Assumed: answers to requests for work are read in turn, each once it has landed and before the next one lands there
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    protocol takeover_kernel

    param granted in 0..=1073741823

    mbarrier full_bar[2] { arrivals: 1 }
    mbarrier empty_bar[2] { arrivals: 4 }  // counted in groups of 32 threads
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 128        // takeover.cu:135
        for i in 0..granted + 1 {  // line 96
            wait empty_bar[i % 2] (i / 2 + 1) % 2         // takeover.cu:44
            arrive_expect_tx full_bar[i % 2] 16           // takeover.cu:45
            async copy tile completes full_bar[i % 2] 16  // takeover.cu:135
            wait full_bar[i % 2] i / 2 % 2                // takeover.cu:55
            arrive empty_bar[i % 2]                       // takeover.cu:58
        }
    }

    role warps1_3[w in 0..3] warp {
        sync cta_bar[0] 128        // takeover.cu:135
        for i in 0..granted + 1 {  // line 96
            wait full_bar[i % 2] i / 2 % 2  // takeover.cu:55
            arrive empty_bar[i % 2]         // takeover.cu:58
        }
    }
    --- stderr
    ");
    insta::assert_snapshot!(lifted("takeover.ptx", "steps_kernel"), @"
    exit 0
    --- stdout
    //! Recovered from the kernel `steps_kernel`.
    //! 128 x 1 x 1 threads per CTA.
    //! Checked against the kernel at 9 launches, 504 events.
    //! Assumed: param_3 lies in 0..=1073741823
    //! Assumed: tensor memory suffices: an allocation of it does not block
    //! Assumed: the tensor copies of a phase deliver the bytes that it expects
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! Assumed: the launch has 128 threads per CTA, as many as .maxntid allows
    protocol steps_kernel

    param param_3_over_64 in 0..=16777215  // param_3 / 64

    mbarrier full_bar[4] { arrivals: 1 }
    mbarrier empty_bar[4] { arrivals: 1 }
    mbarrier done_bar { arrivals: 1 }
    named cta_bar[16]

    role warp0 warp {
        sync cta_bar[0] 128            // takeover.cu:142
        for j in 0..param_3_over_64 {  // takeover.cu:103
            wait empty_bar[j % 4] (j / 4 + 1) % 2            // takeover.cu:103
            arrive_expect_tx full_bar[j % 4] 32768           // takeover.cu:104
            async copy tile completes full_bar[j % 4] 16384  // takeover.cu:105
            async copy tile completes full_bar[j % 4] 16384  // takeover.cu:106
        }
        wait done_bar 0      // takeover.cu:123
        sync cta_bar[0] 128  // takeover.cu:142
    }

    role warp1 warp {
        sync cta_bar[0] 128            // takeover.cu:142
        for j in 0..param_3_over_64 {  // takeover.cu:113
            wait full_bar[j % 4] j / 4 % 2  // takeover.cu:113
            commit empty_bar[j % 4]         // takeover.cu:117
        }
        commit done_bar      // takeover.cu:119
        wait done_bar 0      // takeover.cu:123
        sync cta_bar[0] 128  // takeover.cu:142
    }

    role warps2_3[w in 0..2] warp {
        sync cta_bar[0] 128  // takeover.cu:142
        wait done_bar 0      // takeover.cu:123
        sync cta_bar[0] 128  // takeover.cu:142
    }
    --- stderr
    ");
}

#[test]
fn the_lifted_text_gets_the_same_verdict() {
    for (name, entry, code) in [
        ("tensor_gemm.ptx", "tensor_gemm", 0),
        ("tensor_gemm.ptx", "tensor_gemm_releases_early", 1),
        ("lookahead.ptx", "lookahead", 0),
        ("takeover.ptx", "takeover_kernel", 0),
        ("takeover.ptx", "steps_never_released", 1),
    ] {
        let text = compiled(&["lift", name, "--entry", entry], name);
        let (_, text) = text.split_once("--- stdout\n").unwrap();
        let (text, _) = text.split_once("\n--- stderr").unwrap();
        let folder = Folder::new();
        folder.file("lifted.wlk", text);
        let found = folder.run(&["check", "-q", "lifted.wlk"]);
        assert!(
            found.starts_with(&format!("exit {code}\n")),
            "{entry}: {found}"
        );
    }
}

const STALE: &str = "\
mov.u32 %r2, bar;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra L1;
mbarrier.init.shared.b64 [%r2], 32;
L1:
bar.sync 0;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra WRITER;
W1:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
@!%p3 bra W1;
TEST
bar.sync 1, 64;
W2:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 1;
@!%p3 bra W2;
bar.sync 2, 64;
FRESH
@%p2 bra SKIP;
W3:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
@!%p3 bra W3;
SKIP:
ld.shared.u32 %r4, [x];
ret;
WRITER:
mbarrier.arrive.shared.b64 _, [%r2];
bar.sync 1, 64;
mbarrier.arrive.shared.b64 _, [%r2];
bar.sync 2, 64;
mov.u32 %r5, 7;
st.shared.u32 [x], %r5;
mbarrier.arrive.shared.b64 _, [%r2];";

/// A test of the first phase succeeds, and says nothing about the third, which has the same parity.
#[test]
fn a_test_that_is_not_fresh() {
    let shared = ".shared .align 8 .b8 bar[8];\n.shared .align 4 .b8 x[4];";
    let test = "mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;";
    let late = STALE.replace("TEST\n", "").replace("FRESH", test);
    let early = STALE.replace("TEST", test).replace("FRESH\n", "");
    let race = ["--property", "race"];
    insta::assert_snapshot!(hand_written(&race, 64, shared, &late), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&race, 64, shared, &early), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 31, `@%p2 bra SKIP`: a branch decides about synchronization or shared memory, but %p2 is not known here: it says what an mbarrier was like before, which may have changed since (line 26, `bar.sync 1, 64`)
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&[], 64, shared, &early), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p2 bra SKIP`: a branch decides about synchronization, but %p2 is not known here: it says what an mbarrier was like before, which may have changed since (line 26, `bar.sync 1, 64`)
    --- stderr
    ");
}

/// A loop that looks at nothing new waits for ever, or not at all.
#[test]
fn a_test_before_the_loop() {
    let shared = ".shared .align 8 .b8 bar[8];";
    let code = "\
mov.u32 %r2, bar;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra L1;
mbarrier.init.shared.b64 [%r2], 64;
L1:
bar.sync 0;
mbarrier.arrive.shared.b64 _, [%r2];
mbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;
AGAIN:
@!%p2 bra AGAIN;
bar.sync 0;";
    insta::assert_snapshot!(hand_written(&[], 64, shared, code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `@!%p2 bra AGAIN`: how often this loop runs depends on a test of an mbarrier before it
    --- stderr
    ");
}

/// Answers are read where the request lets them land, or next to it.
#[test]
fn answers_of_another_place() {
    let shared = ".shared .align 8 .b8 bar[8];\n.shared .align 16 .b8 answer[32];";
    let code = |offset: u32| {
        format!(
            "\
mov.u32 %r2, bar;
mov.u32 %r3, answer;
mov.u32 %r6, 0;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra L1;
mbarrier.init.shared.b64 [%r2], 1;
L1:
bar.sync 0;
ROUND:
setp.ne.u32 %p1, %r1, 0;
@%p1 bra ASKED;
mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r2];
ASKED:
bar.warp.sync 0xffffffff;
W:
mbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r6;
@!%p3 bra W;
ld.shared.v2.b64 {{%rd1, %rd2}}, [%r3+{offset}];
mov.b128 %rq1, {{%rd1, %rd2}};
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq1;
xor.b32 %r6, %r6, 1;
bar.sync 0;
@%p4 bra ROUND;"
        )
    };
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code(0)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every granted in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code(16)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 34, `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq1`: no answer is known to land where this one is read
    --- stderr
    ");
}

/// A loop that adds to a histogram counts its rounds; one that tries again until nobody was faster is refused.
#[test]
fn atomic_operations_in_loops() {
    let shared = ".shared .align 4 .b8 bins[1024];";
    let code = |end: &str| {
        format!(
            "\
ld.param.u32 %r2, [n];
mov.u32 %r3, bins;
setp.ge.u32 %p1, %r1, %r2;
@%p1 bra DONE;
mov.u32 %r4, %r1;
ROUND:
and.b32 %r5, %r4, 1020;
add.u32 %r6, %r3, %r5;
atom.shared.add.u32 %r7, [%r6], 1;
add.u32 %r4, %r4, 64;
{end}
@%p2 bra ROUND;
DONE:
bar.sync 0;"
        )
    };
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code("setp.lt.u32 %p2, %r4, %r2;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code("setp.ne.u32 %p2, %r7, 0;")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `@%p2 bra ROUND`: how often this loop runs is not known: what an atomic operation found is not followed (line 21, `atom.shared.add.u32 %r7, [%r6], 1`)
    --- stderr
    ");
}

const MULTIPLY: &str = "\
mov.u32 %r2, bar;
ld.param.u32 %r8, [n];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra L1;
mbarrier.init.shared.b64 [%r2], 1;
mbarrier.init.shared.b64 [%r2+8], 1;
L1:
bar.sync 0;
mov.u32 %r5, 0;
setp.ge.u32 %p2, %r1, 128;
setp.ne.u32 %p3, %r1, 0;
setp.ne.u32 %p4, %r1, 128;
@%p2 bra FILL;
ROUND:
setp.ge.s32 %p5, %r5, %r8;
@%p5 bra DONE;
and.b32 %r6, %r5, 1;
W1:
mbarrier.try_wait.parity.shared.b64 %p6, [%r2], %r6;
@!%p6 bra W1;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %rd1, %rd2, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned LEFT;
@!%p3 mbarrier.arrive.shared.b64 _, [%r2+8];
add.s32 %r5, %r5, 1;
bra ROUND;
FILL:
@%p4 bra DONE;
AGAIN:
setp.ge.s32 %p5, %r5, %r8;
@%p5 bra DONE;
and.b32 %r6, %r5, 1;
xor.b32 %r7, %r6, 1;
W2:
mbarrier.try_wait.parity.shared.b64 %p6, [%r2+8], %r7;
@!%p6 bra W2;
mbarrier.arrive.shared.b64 _, [%r2];
add.s32 %r5, %r5, 1;
bra AGAIN;
DONE:";

/// One warp that gives a stage back for its warpgroup knows of the other three if it waits until the
/// multiplication is done. While it is in flight, they may not even have seen the stage.
#[test]
fn a_warpgroup_multiplies_together() {
    let shared = ".shared .align 8 .b8 bar[16];";
    let done = MULTIPLY.replace("LEFT", "0");
    let in_flight = MULTIPLY.replace("LEFT", "1");
    insta::assert_snapshot!(hand_written(&[], 160, shared, &done), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&[], 160, shared, &in_flight), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: warps1_3[0] is lapped: it still waits for phase 0 of bar_0 (line 31), but warp4 completed phases 0 and 1 (line 49) without waiting for warps1_3[0]
    --- stderr
    ");
}

/// That a number does not wrap around is not assumed where it would have to be 0.
#[test]
fn an_assumption_that_hardly_ever_holds() {
    let code = "\
ld.param.u32 %r2, [n];
neg.s32 %r3, %r2;
max.u32 %r4, %r3, 7;
setp.gt.u32 %p1, %r4, 9;
setp.lt.u32 %p2, %r1, 32;
and.pred %p1, %p1, %p2;
@%p1 bra LEFT;
bar.sync 0;
LEFT:";
    insta::assert_snapshot!(hand_written(&[], 64, "", code), @r"
        exit 0
        --- stdout
        kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
        --- stderr
        ");
}

/// A ring of three stages whose phase turns where the next stage is the first. One that turns at the second is not
/// followed.
#[test]
fn a_phase_that_turns_by_the_next_stage() {
    let code = |first: u32| {
        format!(
            "ld.param.u32 %r9, [n];\nmov.u32 %r2, bar;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n\
             mbarrier.init.shared.b64 [%r2], 32;\nmbarrier.init.shared.b64 [%r2+8], 32;\n\
             mbarrier.init.shared.b64 [%r2+16], 32;\nmbarrier.init.shared.b64 [%r2+24], 32;\n\
             mbarrier.init.shared.b64 [%r2+32], 32;\nmbarrier.init.shared.b64 [%r2+40], 32;\nREADY:\nbar.sync 0;\n\
             setp.lt.u32 %p2, %r1, 32;\nselp.b32 %r3, 1, 0, %p2;\nselp.b32 %r8, 24, 0, %p2;\nsub.u32 %r10, 24, %r8;\n\
             add.u32 %r8, %r8, %r2;\nadd.u32 %r10, %r10, %r2;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\nROUND:\n\
             setp.ge.s32 %p3, %r4, %r9;\n@%p3 bra DONE;\nmad.lo.u32 %r6, %r5, 8, %r8;\nmad.lo.u32 %r7, %r5, 8, %r10;\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r6], %r3;\n@!%p4 bra W;\n\
             mbarrier.arrive.shared.b64 _, [%r7];\nadd.u32 %r5, %r5, 1;\nrem.u32 %r5, %r5, 3;\n\
             setp.eq.u32 %p5, %r5, {first};\nselp.b32 %r11, 1, 0, %p5;\nxor.b32 %r3, %r3, %r11;\n\
             add.s32 %r4, %r4, 1;\nbra ROUND;\nDONE:"
        )
    };
    let shared = ".shared .align 8 .b8 bar[48];";
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code(0)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code(1)), @"
    exit 3
    --- stdout
    kernel.ptx: deadlock: BOUNDED no violation for n in 0..=64; no proof: the parity of `wait bar_24[i % 3] ((i + 2) / 3 + 1) % 2` (line 39) does not alternate from one round at a barrier to the next
    --- stderr
    ");
}

/// Two tests of one mbarrier, one after the other: the second may pass where the first has failed, so they are not
/// equal.
#[test]
fn two_tests_of_one_mbarrier() {
    let code = |second: &str| {
        format!(
            "mov.u32 %r2, bar;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [%r2], 1;\nREADY:\n\
             bar.sync 0;\nmbarrier.test_wait.parity.shared.b64 %p2, [%r2], 0;\n{second}\n\
             selp.b32 %r3, 1, 0, %p2;\nselp.b32 %r4, 1, 0, %p3;\nsetp.eq.s32 %p4, %r3, %r4;\n@%p4 bra SAME;\n\
             bar.sync 1, 96;\nSAME:"
        )
    };
    let shared = ".shared .align 8 .b8 bar[8];";
    let again = code("mbarrier.test_wait.parity.shared.b64 %p3, [%r2], 0;");
    insta::assert_snapshot!(hand_written(&[], 64, shared, &again), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `@%p4 bra SAME`: a branch depends on a single test of an mbarrier
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(&[], 64, shared, &code("mov.pred %p3, %p2;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn tiles_that_are_loaded_one_ahead() {
    insta::assert_snapshot!(check("persistent.ptx", "tiles_ahead"), @r"
    exit 0
    --- stdout
    persistent.ptx: deadlock: PROVED for every tiles in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("persistent.ptx", "tiles_ahead_no_first"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at tiles = 1: nobody arrives at full_bar[0], for which warp0 waits (persistent.cu:29, line 398): no statement arrives there
    --- stderr
    ");
    insta::assert_snapshot!(check("persistent.ptx", "tiles_ahead_late_phase"), @r"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at tiles = 2: warp0 first waits for full_bar[1] with parity 1 (persistent.cu:29, line 645). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (persistent.cu:21, line 609). A first wait for a completion uses parity 0
    --- stderr
    ");
}

#[test]
fn rows_that_are_handed_on() {
    insta::assert_snapshot!(check("persistent.ptx", "rows_handed_on"), @r"
    exit 0
    --- stdout
    persistent.ptx: deadlock: PROVED for every tiles in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("persistent.ptx", "rows_handed_on_one_more"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at tiles = 0: cta_bar[6] takes 160 threads, 128 came (warps0_3[0..4]), and nobody else comes (persistent.cu:49, line 1137): warp4 never comes, because `for i in 0..tiles` (persistent.cu:125, line 1162) makes no trip
    --- stderr
    ");
}

#[test]
fn lines_in_two_buffers_written_out() {
    insta::assert_snapshot!(check("persistent.ptx", "lines_in_turn"), @"
    exit 0
    --- stdout
    persistent.ptx: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check("persistent.ptx", "lines_in_turn_no_first"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at param_2 = 1: warp0 and warps1_4[0] wait for each other: warp0 (persistent.cu:66, line 1632) for warps1_4[0] to come to cta_bar[3], warps1_4[0] (persistent.cu:77, line 1883) for warp0 to come to cta_bar[1]
    --- stderr
    ");
    insta::assert_snapshot!(check("persistent.ptx", "lines_in_turn_one_more"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at param_2 = 0: cta_bar[1] takes 160 threads, 128 came (warps1_4[0..4]), and nobody else comes (persistent.cu:77, line 2259): warp0 never comes, because `for i in 0..param_2` (persistent.cu:130, line 1989) makes no trip
    --- stderr
    ");
}

#[test]
fn a_barrier_of_the_grid_that_one_thread_keeps() {
    let resident = |entry: &str| {
        let assumed = ["--assume", "R >= nctaid_x"];
        let arguments = [
            &["check", "-q", "persistent.ptx", "--entry", entry],
            &assumed[..],
        ];
        compiled(&arguments.concat(), "persistent.ptx")
    };
    insta::assert_snapshot!(resident("stages_of_the_grid"), @"
    exit 0
    --- stdout
    persistent.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming 3 * nctaid_x < 2147483648, R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(resident("stages_of_the_grid_one_more"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_param_1 >= 2 (persistent.cu:110, line 2486), but at_param_1 stays 1 and nobody adds to it: only cta[0] itself would, after that wait
    --- stderr
    ");
    insta::assert_snapshot!(resident("stages_of_the_grid_count_less"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at nctaid_x = 2, R = 2: cta[1] waits for at_param_1 >= 6 (persistent.cu:114, line 2674), but at_param_1 stays 5 and no more is added to it: cta[0] adds 2 to it and has ended
    --- stderr
    ");
    // Not all CTAs fit.
    insta::assert_snapshot!(check("persistent.ptx", "stages_of_the_grid"), @"
    exit 1
    --- stdout
    persistent.ptx: deadlock: REFUTED at nctaid_x = 2, R = 1: cta[0] waits for at_param_1 >= 2 (persistent.cu:110, line 2365), which needs cta[1]; that cannot start, because cta[0] holds the only resident slot
    --- stderr
    ");
}

/// What lanes hold that have nothing in common is known where one of them looks alone.
#[test]
fn numbers_of_one_lane() {
    let looks = |who: &str| {
        hand_written(
            &[],
            64,
            ".shared .align 8 .b64 bar[2];",
            &format!(
                "ld.param.u32 %r2, [n];\nmov.u32 %r3, bar;\nsetp.eq.u32 %p1, %r1, 0;\n\
                 @%p1 mbarrier.init.shared.b64 [%r3], 1;\nbar.sync 0;\n\
                 mov.u32 %r4, 0;\nsetp.eq.u32 %p2, %r1, 32;\n@!%p2 bra OVER;\n\
                 mov.u32 %r4, %r2;\nOVER:\nbar.sync 0;\nsetp.eq.u32 %p3, %r1, {who};\n@!%p3 bra END;\n\
                 setp.eq.u32 %p4, %r4, 0;\n@%p4 bra END;\n\
                 mbarrier.arrive.shared.b64 %rd1, [%r3];\nEND:\n\
                 setp.ne.u32 %p5, %r1, 0;\nsetp.eq.u32 %p6, %r2, 0;\nor.pred %p7, %p5, %p6;\n@%p7 bra OUT;\n\
                 WAIT:\nmbarrier.try_wait.parity.shared.b64 %p8, [%r3], 0;\n@!%p8 bra WAIT;\nOUT:"
            ),
        )
    };
    insta::assert_snapshot!(looks("32"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(looks("33"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: nobody arrives at bar, for which warp0 waits (line 35): no statement arrives there
    --- stderr
    ");
}

/// `(a | b) == 0`, as compilers write that both are 0.
#[test]
fn the_first_thread_of_the_first_block() {
    let first = |other: &str| {
        let code = format!(
            "ld.param.u64 %rd1, [n];\nmov.u32 %r2, %ctaid.x;\n{other}\nor.b32 %r4, %r2, %r3;\n\
             setp.ne.s32 %p1, %r4, 0;\n@%p1 bra OVER;\nred.release.gpu.global.add.u32 [%rd1], 1;\nOVER:\n\
             setp.ne.s32 %p2, %r1, 0;\n@%p2 bra OUT;\nSPIN:\nld.acquire.gpu.global.u32 %r5, [%rd1];\n\
             setp.ne.u32 %p3, %r5, 1;\n@%p3 bra SPIN;\nOUT:"
        );
        let folder = Folder::new();
        let text = entry(32, "", &code).replace(".param .u32 n", ".param .u64 n");
        folder.file("kernel.ptx", text);
        folder.run(&["check", "-q", "kernel.ptx", "--assume", "R >= nctaid_x"])
    };
    insta::assert_snapshot!(first("mov.u32 %r3, %tid.x;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    // The second thread of each block is the first of none.
    insta::assert_snapshot!(first("mov.u32 %r3, %tid.x;\nadd.u32 %r3, %r3, 1;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `ld.acquire.gpu.global.u32 %r5, [%rd1]`: the kernel waits for memory that it never writes itself
    --- stderr
    ");
    insta::assert_snapshot!(first("mov.u32 %r6, %tid.x;\nadd.u32 %r3, %r6, 1;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `ld.acquire.gpu.global.u32 %r5, [%rd1]`: the kernel waits for memory that it never writes itself
    --- stderr
    ");
}

/// A barrier of the grid in a loop, of which the first thread alone counts the target up.
#[test]
fn a_target_that_one_thread_counts_up() {
    let meets = |step: &str, over: &str| {
        let first = if over.is_empty() { "OVER" } else { "ALL" };
        let code = format!(
            "ld.param.u64 %rd1, [n];\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\n\
             setp.ne.u32 %p1, %r1, 0;\nL:\nbar.sync 0;\n@%p1 bra {first};\n\
             red.release.gpu.global.add.u32 [%rd1], 1;\nadd.u32 %r3, %r3, {step};\n{over}SPIN:\n\
             ld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.lt.u32 %p3, %r5, %r3;\n@%p3 bra SPIN;\nOVER:\n\
             bar.sync 0;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, 70;\n@%p4 bra L;"
        );
        let folder = Folder::new();
        let text = entry(64, "", &code).replace(".param .u32 n", ".param .u64 n");
        folder.file("kernel.ptx", text);
        folder.run(&["check", "-q", "kernel.ptx", "--assume", "R >= nctaid_x"])
    };
    insta::assert_snapshot!(meets("%r2", ""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every nctaid_x in 1..=1073741823, R >= 1, launch order and schedule, assuming 70 * nctaid_x < 4294967296, R >= nctaid_x: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(meets("2", ""), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at nctaid_x = 1, R = 1: cta[0] waits for at_p_n >= 2 (line 24), but at_p_n stays 1 and nobody adds to it: only cta[0] itself would, after that wait
    --- stderr
    ");
    // All lanes look, and what the others compare with is not followed.
    insta::assert_snapshot!(meets("%r2", "ALL:\n"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 27, `@%p3 bra SPIN`: lanes of one warp run this loop differently often
    --- stderr
    ");
}
