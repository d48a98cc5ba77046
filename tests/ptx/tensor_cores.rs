//! What the tensor cores read and write, from PTX alone: operands of `wgmma` and `tcgen05` by their descriptors,
//! accumulators in tensor memory, and multiplications that are still in flight when a stage is given back.

use crate::support::program::Folder;

fn kernel(name: &str) -> Folder {
    let folder = Folder::new();
    folder.kernel(name);
    folder
}

fn check(name: &str, entry: &str, property: &str) -> String {
    let arguments = [
        "check",
        "-q",
        "--property",
        property,
        name,
        "--entry",
        entry,
    ];
    kernel(name).run(&arguments)
}

#[test]
fn a_multiplication_in_flight() {
    let name = "flight_gemm.ptx";
    insta::assert_snapshot!(check(name, "flight_gemm", "deadlock,race"), @r"
    exit 0
    --- stdout
    flight_gemm.ptx: deadlock: PROVED for every param_3_over_64 in 0..=16777215 and schedule: all obligations of [rule] hold
    flight_gemm.ptx: race: PROVED for every param_3_over_64 in 0..=16777215 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // One thread gives a stage back for its warpgroup: it knows how far the other three warps are.
    insta::assert_snapshot!(check(name, "flight_gemm_by_group", "deadlock"), @r"
    exit 0
    --- stdout
    flight_gemm.ptx: deadlock: PROVED for every param_3_over_64 in 0..=16777215 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

#[test]
fn stages_given_back_too_early() {
    let name = "flight_gemm.ptx";
    insta::assert_snapshot!(check(name, "flight_gemm_releases_early", "race"), @"
    exit 1
    --- stdout
    flight_gemm.ptx: race: REFUTED at param_3_over_64 = 3: smem_memory[0]: the asynchronous read that warp0 starts at flight_gemm.cu:30 (line 1438) and the asynchronous write that warp8 starts at flight_gemm.cu:77 (line 1272) are not ordered: a `wait_group` of warp0 that covers it, and an arrival after it that warp8 waits for, before flight_gemm.cu:77 would order them
    --- stderr
    ");
    insta::assert_snapshot!(check(name, "flight_gemm_waits_too_little", "race"), @"
    exit 1
    --- stdout
    flight_gemm.ptx: race: REFUTED at param_3_over_64 = 3: smem_memory[0]: the asynchronous read that warp0 starts at flight_gemm.cu:30 (line 1968) and the asynchronous write that warp8 starts at flight_gemm.cu:77 (line 1802) are not ordered: a `wait_group` of warp0 that covers it, and an arrival after it that warp8 waits for, before flight_gemm.cu:77 would order them
    --- stderr
    ");
}

/// Accumulators take turns, and tiles leave through shared memory.
#[test]
fn accumulators_in_tensor_memory() {
    let name = "tmem_gemm.ptx";
    insta::assert_snapshot!(check(name, "tmem_gemm", "race"), @"
    exit 0
    --- stdout
    tmem_gemm.ptx: race: PROVED for every param_5_over_64 in 0..=16777215, param_4_per_cta in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(name, "tmem_gemm_releases_unread", "race"), @"
    exit 1
    --- stdout
    tmem_gemm.ptx: race: REFUTED at param_5_over_64 = 1, param_4_per_cta = 3: tensor_memory[0]: the read by warps4_7[0] at tmem_gemm.cu:49 (line 1394) and the asynchronous write that warp1 starts at tmem_gemm.cu:40 (line 1223) are not ordered: an arrival of warps4_7[0] after tmem_gemm.cu:49 that warp1 waits for before tmem_gemm.cu:40 would order them
    --- stderr
    ");
}

/// Two products, the first operand of the second in tensor memory.
#[test]
fn attention() {
    let name = "attention.ptx";
    insta::assert_snapshot!(check(name, "attention_forward", "deadlock,race"), @"
    exit 0
    --- stdout
    attention.ptx: deadlock: PROVED for every param_4 in 0..=1073741823 and schedule: all obligations of [rule] hold
    attention.ptx: race: PROVED for every param_4 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(name, "attention_multiplies_early", "race"), @"
    exit 1
    --- stdout
    attention.ptx: race: REFUTED at param_4 = 1: tensor_memory_0[0]: the asynchronous read that warp1 starts at attention.cu:58 (line 1519) and the write by warps4_7[0] at attention.cu:67 (line 1664) are not ordered: a wait of warps4_7[0] before attention.cu:67 for a phase of empty_v_bar[0] that completes only after the first access would order them
    --- stderr
    ");
    insta::assert_snapshot!(check(name, "attention_reads_early", "race"), @"
    exit 1
    --- stdout
    attention.ptx: race: REFUTED at param_4 = 1: tensor_memory_512: the read by warps4_7[0] at attention.cu:44 (line 2629) and the asynchronous write that warp1 starts at attention.cu:58 (line 2402) are not ordered: an arrival of warps4_7[0] after attention.cu:44 that warp1 waits for before attention.cu:58 would order them
    --- stderr
    ");
    insta::assert_snapshot!(check(name, "attention_scores_overwritten", "race"), @"
    exit 1
    --- stdout
    attention.ptx: race: REFUTED at param_4 = 1: tensor_memory_0[0]: the write by warps4_7[0] at attention.cu:67 (line 3425) and the asynchronous read that warp1 starts at attention.cu:58 (line 3266) are not ordered: an arrival of warps4_7[0] after attention.cu:67 that warp1 waits for before attention.cu:58 would order them
    --- stderr
    ");
    insta::assert_snapshot!(check(name, "attention_store_not_waited", "race"), @"
    exit 4
    --- stdout
    attention.ptx: race: UNKNOWN line 4341 (attention.cu:172), `mbarrier.arrive.shared.b64 _, [%r160]`: `mbarrier.arrive.shared.b64`: what is read of tensor memory or written to it before may still be under way: a `tcgen05.wait` is missing (line 4294 (attention.cu:166), `tcgen05.st.sync.aligned.32x32b.x8.b32 [%r115], {%r116, %r117, %r118, %r119, %r120, %r121, %r122, %r1`)
    --- stderr
    ");
}

/// What `lift --data` prints is what is decided; it says what is taken for granted.
#[test]
fn the_protocol_of_a_gemm() {
    let folder = kernel("tmem_gemm.ptx");
    let arguments = ["lift", "--data", "tmem_gemm.ptx", "--entry", "tmem_gemm"];
    insta::assert_snapshot!(folder.run(&arguments), @"
    exit 0
    --- stdout
    //! Recovered from the entry `tmem_gemm` of a PTX 9.5 text for sm_100a.
    //! 256 x 1 x 1 threads per CTA.
    //! Assumed: the launch has 256 threads per CTA, as many as .maxntid allows
    //! Assumed: each tensor copy that completes full_bar delivers 16384 bytes, its share of what is expected there
    //! Assumed: tensor copies out of shared memory take what threads have written, up to where the next begins
    //! Assumed: where tensor memory lies is read where and when the allocation has said it
    //! Assumed: nctaid_x <= 1073741823
    //! Assumed: `elect.sync` elects the lowest lane of its mask
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! With what is read and written in shared memory; global memory is left out.
    protocol tmem_gemm

    param param_5_over_64 in 0..=16777215    // param_5 / 64
    param param_4_per_cta in 0..=1073741823  // those below param_4 from ctaid_x on in steps of nctaid_x

    mbarrier done_bar[2] { arrivals: 1 }
    mbarrier full_bar[4] { arrivals: 1 }
    mbarrier empty_bar[4] { arrivals: 1 }
    mbarrier drained_bar[2] { arrivals: 4 }
    named cta_bar[16]
    pool tensor_columns = 512
    buffer tensor_memory[2] { memory: tensor }
    buffer smem_tensor
    buffer smem_memory_0[8]
    buffer smem_memory_131072[4]

    role warp0 warp {
        sync cta_bar[0] 256            // tmem_gemm.cu:192
        read smem_tensor               // tmem_gemm.cu:87
        for i in 0..param_4_per_cta {  // line 243
            for j in 0..param_5_over_64 {  // tmem_gemm.cu:192
                wait empty_bar[(j + i * param_5_over_64) % 4] ((j + i * param_5_over_64) / 4 + 1) % 2                                // tmem_gemm.cu:95
                arrive_expect_tx full_bar[(j + i * param_5_over_64) % 4] 32768                                                       // tmem_gemm.cu:96
                async copy smem_memory_0[(j + i * param_5_over_64) % 4] completes full_bar[(j + i * param_5_over_64) % 4] 16384      // tmem_gemm.cu:97
                async copy smem_memory_0[(j + i * param_5_over_64) % 4 + 4] completes full_bar[(j + i * param_5_over_64) % 4] 16384  // tmem_gemm.cu:98
            }
        }
        sync cta_bar[0] 256  // tmem_gemm.cu:192
    }

    role warp1 warp {
        sync cta_bar[0] 256            // tmem_gemm.cu:192
        read smem_tensor               // tmem_gemm.cu:87
        for i in 0..param_4_per_cta {  // line 365
            wait drained_bar[i % 2] (i / 2 + 1) % 2  // tmem_gemm.cu:113
            for j in 0..param_5_over_64 {            // sync.cuh:6
                wait full_bar[(j + i * param_5_over_64) % 4] (j + i * param_5_over_64) / 4 % 2                                  // tmem_gemm.cu:117
                async mma reads smem_memory_0[(j + i * param_5_over_64) % 4], smem_memory_0[(j + i * param_5_over_64) % 4 + 4]  // tmem_gemm.cu:40
                async mma writes tensor_memory[i % 2]                                                                           // tmem_gemm.cu:40
                commit empty_bar[(j + i * param_5_over_64) % 4]                                                                 // tmem_gemm.cu:122
            }
            commit done_bar[i % 2]  // tmem_gemm.cu:128
        }
        sync cta_bar[0] 256  // tmem_gemm.cu:192
    }

    role warp2 warp {
        acquire tensor_columns 256  // tmem_gemm.cu:192
        write smem_tensor           // tmem_gemm.cu:82
        sync cta_bar[0] 256         // tmem_gemm.cu:192
        read smem_tensor            // tmem_gemm.cu:87
        sync cta_bar[0] 256         // tmem_gemm.cu:192
        release tensor_columns 256  // tmem_gemm.cu:192
    }

    role warp3 warp {
        sync cta_bar[0] 256  // tmem_gemm.cu:192
        read smem_tensor     // tmem_gemm.cu:87
        sync cta_bar[0] 256  // tmem_gemm.cu:192
    }

    role warp4 warp {
        sync cta_bar[0] 256            // tmem_gemm.cu:192
        read smem_tensor               // tmem_gemm.cu:87
        for i in 0..param_4_per_cta {  // line 583
            wait done_bar[i % 2] i / 2 % 2                                                                                // tmem_gemm.cu:139
            read tensor_memory[i % 2]                                                                                     // tmem_gemm.cu:49
            arrive drained_bar[i % 2]                                                                                     // tmem_gemm.cu:155
            wait_group 0 read                                                                                             // tmem_gemm.cu:192
            sync cta_bar[1] 128                                                                                           // tmem_gemm.cu:162
            write smem_memory_131072[0]                                                                                   // tmem_gemm.cu:163
            fence.proxy.async                                                                                             // tmem_gemm.cu:192
            sync cta_bar[1] 128                                                                                           // tmem_gemm.cu:165
            async store reads smem_memory_131072[0], smem_memory_131072[1], smem_memory_131072[2], smem_memory_131072[3]  // tmem_gemm.cu:21
            commit_group                                                                                                  // tmem_gemm.cu:192
        }
        sync cta_bar[0] 256  // tmem_gemm.cu:192
    }

    role warps5_7[w in 0..3] warp {
        sync cta_bar[0] 256            // tmem_gemm.cu:192
        read smem_tensor               // tmem_gemm.cu:87
        for i in 0..param_4_per_cta {  // line 583
            wait done_bar[i % 2] i / 2 % 2   // tmem_gemm.cu:139
            read tensor_memory[i % 2]        // tmem_gemm.cu:49
            arrive drained_bar[i % 2]        // tmem_gemm.cu:155
            sync cta_bar[1] 128              // tmem_gemm.cu:162
            write smem_memory_131072[w + 1]  // tmem_gemm.cu:163
            fence.proxy.async                // tmem_gemm.cu:192
            sync cta_bar[1] 128              // tmem_gemm.cu:165
        }
        sync cta_bar[0] 256  // tmem_gemm.cu:192
    }
    --- stderr
    ");
    let file = "attention.ptx";
    let entry = "attention_reads_early";
    let folder = kernel(file);
    folder.run(&["lift", "--data", file, "--entry", entry, "-o", "lifted.wlk"]);
    let second = folder.run(&["check", "-q", "--property", "race", "lifted.wlk"]);
    let first = check(file, entry, "race");
    // The same but for the lines: those of the kernel, and those of the text.
    let words = |shown: &str| -> Vec<String> {
        let number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == ')');
        let place = |word: &&str| {
            !word.starts_with("attention.cu:") && !word.contains("line") && !number(word)
        };
        shown.split(' ').filter(place).map(str::to_owned).collect()
    };
    assert_eq!(words(&first.replace(file, "lifted.wlk")), words(&second));
    assert!(
        second.contains("lifted.wlk: race: REFUTED at param_4 = 1"),
        "{second}"
    );
}

/// One warp that multiplies what its descriptor says; `%rd1` is made by these instructions.
fn multiplies(align: u32, code: &str) -> String {
    let text = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u32 n)\n\
         .reqntid 128, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n\
         .shared .align {align} .b8 tile[65536];\nmov.u32 %r1, %tid.x;\nld.param.u32 %r9, [n];\n\
         mov.u32 %r2, tile;\nshr.u32 %r3, %r2, 4;\ncvt.u64.u32 %rd2, %r3;\n{code}\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd1, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&["check", "-q", "--property", "race", "kernel.ptx"])
}

/// A descriptor that is not understood is named, with the register and the reason.
#[test]
fn descriptors_that_are_not_followed() {
    let swizzled = "or.b64 %rd1, %rd2, 4611686293305294848;";
    insta::assert_snapshot!(multiplies(1024, swizzled), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(multiplies(128, swizzled), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 18, `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0`: `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16`: the descriptor in %rd1: how its swizzled rows lie is not known: its address is known up to multiples of 128 only, and an atom has 1024 bytes
    --- stderr
    ");
    insta::assert_snapshot!(multiplies(1024, "or.b64 %rd1, %rd2, 4611756662049472512;"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 18, `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0`: `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16`: the descriptor in %rd1: it has bits that no descriptor has, or lacks those that each has
    --- stderr
    ");
    insta::assert_snapshot!(multiplies(1024, "cvt.u64.u32 %rd3, %r9;\nadd.u64 %rd1, %rd2, %rd3;"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 19, `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0`: `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16`: the descriptor in %rd1: its address may reach into other fields of the descriptor
    --- stderr
    ");
}

/// Warps 0 to 3 multiply, and thread 0 gives stages back for all of them; thread 128 fills stages.
fn gives_back(consumer: &str, producer: &str) -> String {
    let text = format!(
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n\
         .reqntid 160, 1, 1\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<4>;\n\
         .shared .align 8 .b8 bar[32];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, bar;\nld.param.u32 %r8, [n];\n\
         setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n\
         mbarrier.init.shared.b64 [%r2], 1;\nmbarrier.init.shared.b64 [%r2+8], 1;\n\
         mbarrier.init.shared.b64 [%r2+16], 1;\nmbarrier.init.shared.b64 [%r2+24], 1;\nREADY:\nbar.sync 0;\n\
         mov.u32 %r5, 0;\nsetp.ne.u32 %p4, %r1, 128;\nsetp.lt.u32 %p2, %r1, 128;\n\
         @%p2 bra MULTIPLY;\n@%p4 bra DONE;\n{producer}\nbra DONE;\nMULTIPLY:\n{consumer}\nDONE:\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&["check", "-q", "--property", "deadlock", "kernel.ptx"])
}

/// The first stage is multiplied in front of the loop, and each round gives the stage before back.
#[test]
fn a_stage_is_given_back_one_round_late() {
    let producer = "\
FILL:
setp.ge.s32 %p5, %r5, %r8;
@%p5 bra DONE;
and.b32 %r6, %r5, 1;
shr.u32 %r7, %r5, 1;
not.b32 %r7, %r7;
and.b32 %r7, %r7, 1;
mad.lo.u32 %r11, %r6, 8, %r2;
WF:
mbarrier.try_wait.parity.shared.b64 %p6, [%r11+16], %r7;
@!%p6 bra WF;
mbarrier.arrive.shared.b64 _, [%r11];
add.s32 %r5, %r5, 1;
bra FILL;";
    let multiply = "\
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r12, %r13, %r14, %r15}, %rd1, %rd2, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;";
    let consumer = |given: i32| {
        format!(
            "\
setp.lt.s32 %p5, %r8, 1;
@%p5 bra DONE;
W0:
mbarrier.try_wait.parity.shared.b64 %p6, [%r2], 0;
@!%p6 bra W0;
{multiply}
mov.u32 %r5, 1;
ROUND:
setp.ge.s32 %p5, %r5, %r8;
@%p5 bra LAST;
and.b32 %r6, %r5, 1;
shr.u32 %r7, %r5, 1;
and.b32 %r7, %r7, 1;
mad.lo.u32 %r11, %r6, 8, %r2;
W1:
mbarrier.try_wait.parity.shared.b64 %p6, [%r11], %r7;
@!%p6 bra W1;
{multiply}
wgmma.wait_group.sync.aligned 1;
add.s32 %r6, %r5, {given};
and.b32 %r6, %r6, 1;
mad.lo.u32 %r11, %r6, 8, %r2;
@!%p1 mbarrier.arrive.shared.b64 _, [%r11+16];
add.s32 %r5, %r5, 1;
bra ROUND;
LAST:
wgmma.wait_group.sync.aligned 0;
add.s32 %r6, %r5, {given};
and.b32 %r6, %r6, 1;
mad.lo.u32 %r11, %r6, 8, %r2;
@!%p1 mbarrier.arrive.shared.b64 _, [%r11+16];"
        )
    };
    insta::assert_snapshot!(gives_back(&consumer(-1), producer), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The other three warps may still wait for the stage that is given back.
    insta::assert_snapshot!(gives_back(&consumer(0), producer), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 3: warp0 and warp4 wait for each other: warp0 (line 59) for warp4 to arrive at bar_0[0], warp4 (line 36) for warp0 to arrive at bar_16[0]
    --- stderr
    ");
}
