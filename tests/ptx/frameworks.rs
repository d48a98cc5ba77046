//! Hand-written PTX as compilers of tensor programs write it: synchronization of one lane under a condition on
//! the launch, rings that are moved on by comparisons, swizzled addresses put together bit by bit, and dynamic
//! shared memory.

use crate::support::program::Folder;

/// An entry of 64 threads; `%r1` is the thread, `%p1` holds in the first one, which initialises `full`.
fn entry(code: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 memory[];\n\
         .visible .entry kernel(.param .u32 n, .param .u64 p)\n.reqntid 64, 1, 1\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<16>;\n\
         ld.param.u32 %r2, [n];\nld.param.u64 %rd9, [p];\nmov.u32 %r1, %tid.x;\n\
         mov.u32 %r3, memory;\nadd.u32 %r4, %r3, 65536;\nsetp.eq.u32 %p1, %r1, 0;\n\
         @%p1 mbarrier.init.shared.b64 [%r4], 1;\n@%p1 mbarrier.init.shared.b64 [%r4+8], 1;\n\
         bar.sync 0;\n{code}\nret;\n}}\n"
    )
}

fn check(property: &str, text: String) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&["check", "-q", "--property", property, "kernel.ptx"])
}

/// A ring of two stages that is filled one ahead. Its place begins at -1 and is moved on first.
const PIPELINE: &str = "
    setp.gt.s32 %p2, %r2, 0;
    and.pred %p3, %p1, %p2;
    @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 2048;
    bar.sync 0;
    @%p3 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd9, {%r1}], [%r4];
    @!%p2 bra END;
    mov.b32 %r10, 0;
    mov.b32 %r11, -1;
    mov.b32 %r12, 0;
    mov.b32 %r13, 0;
    ROUND:
    add.s32 %r14, %r11, 1;
    setp.gt.s32 %p4, %r14, 1;
    selp.b32 %r11, 0, %r14, %p4;
    selp.b32 %r15, 1, 0, %p4;
    xor.b32 %r12, %r12, %r15;
    shl.b32 %r16, %r11, 3;
    add.s32 %r16, %r16, %r4;
    WAIT:
    mbarrier.try_wait.parity.shared.b64 %p5, [%r16], %r12;
    @!%p5 bra WAIT;
    bar.sync 0;
    add.s32 %r10, %r10, 1;
    setp.lt.s32 %p6, %r10, %r2;
    and.pred %p7, %p1, %p6;
    add.s32 %r17, %r13, 1;
    setp.gt.s32 %p8, %r17, 1;
    selp.b32 %r13, 0, %r17, %p8;
    shl.b32 %r18, %r13, 3;
    add.s32 %r18, %r18, %r4;
    shl.b32 %r19, %r13, 11;
    add.s32 %r19, %r19, %r3;
    @%p7 mbarrier.arrive.expect_tx.shared.b64 _, [%r18], 2048;
    bar.sync 0;
    @%p7 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r19], [%rd9, {%r1}], [%r18];
    @%p6 bra ROUND;
    END:";

#[test]
fn a_pipeline_of_predicated_copies() {
    insta::assert_snapshot!(check("deadlock", entry(PIPELINE)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The parity turns one round late.
    let late = PIPELINE.replace("mov.b32 %r12, 0;", "mov.b32 %r12, 1;");
    insta::assert_snapshot!(check("deadlock", entry(&late)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: warp0 first waits for memory_65536[0] with parity 1 (line 41). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (line 24). A first wait for a completion uses parity 0
    --- stderr
    ");
    // Nothing is expected in the last round, but it is waited for.
    let short = PIPELINE.replace(
        "and.pred %p7, %p1, %p6;",
        "add.s32 %r20, %r10, 1;\nsetp.lt.s32 %p9, %r20, %r2;\nand.pred %p7, %p1, %p9;",
    );
    insta::assert_snapshot!(check("deadlock", entry(&short)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: nobody arrives at memory_65536[1], for which warp0 waits (line 41): no statement arrives there
    --- stderr
    ");
    // The copy has another condition than what expects it.
    let other = PIPELINE.replacen(
        "bar.sync 0;",
        "bar.sync 0;\nsetp.gt.s32 %p10, %r2, 1;\nand.pred %p3, %p1, %p10;",
        1,
    );
    insta::assert_snapshot!(check("deadlock", entry(&other)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 28, `@%p3 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd9, {%r1}`: how many bytes this copy delivers is not known, and nothing before it expects them
    --- stderr
    ");
    // A barrier under the condition of one lane.
    let meets = PIPELINE.replacen("bar.sync 0;", "@%p3 bar.sync 0;", 1);
    insta::assert_snapshot!(check("deadlock", entry(&meets)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `@%p3 bar.sync 0`: `bar.sync`: only some lanes of the warp come to this barrier, which is `.aligned`: that is undefined
    --- stderr
    ");
}

/// Threads write rows and read columns of a tile, swizzled: what `row ^ column` moves is put together from
/// single bits, over two stages.
const SWIZZLE: &str = "
    mov.b32 %r10, 0;
    ROUND:
    and.b32 %r11, %r10, 1;
    shl.b32 %r12, %r11, 12;
    shl.b32 %r13, %r1, 4;
    bfe.s32 %r14, %r1, 3, 1;
    and.b32 %r15, %r14, 528;
    xor.b32 %r16, %r13, %r15;
    or.b32 %r17, %r16, %r12;
    xor.b32 %r18, %r17, 32;
    add.s32 %r19, %r3, %r18;
    st.shared.v4.b32 [%r19], {%r1, %r1, %r1, %r1};
    bar.sync 0;
    and.b32 %r20, %r1, 7;
    shl.b32 %r21, %r20, 7;
    or.b32 %r22, %r12, %r21;
    or.b32 %r22, %r22, 16;
    shr.u32 %r23, %r22, 2;
    shl.b32 %r24, %r23, 2;
    add.s32 %r25, %r3, %r24;
    ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r25];
    add.s32 %r10, %r10, 1;
    setp.lt.s32 %p2, %r10, %r2;
    @%p2 bra ROUND;";

#[test]
fn swizzled_addresses() {
    insta::assert_snapshot!(check("race", entry(SWIZZLE)), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let lacking = SWIZZLE.replace("bar.sync 0;", "");
    insta::assert_snapshot!(check("race", entry(&lacking)), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED at p_n = 0: smem_memory[0][1]: the read by warp0 at line 42 and the write by warp1 at line 33 are not ordered: an arrival of warp0 after line 42 that warp1 waits for before line 33 would order them
    --- stderr
    ");
    // All rounds in one stage.
    let one = SWIZZLE.replace("and.b32 %r11, %r10, 1;", "and.b32 %r11, %r10, 0;");
    insta::assert_snapshot!(check("race", entry(&one)), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED at p_n = 2: smem_memory[0]: the write by warp0 at line 33 and the read by warp1 at line 42 are not ordered: an arrival of warp0 after line 33 that warp1 waits for before line 42 would order them
    --- stderr
    ");
    // The bit that is moved by is moved itself: the second warp writes where the first does.
    let own = SWIZZLE.replace("bfe.s32 %r14, %r1, 3, 1;", "bfe.s32 %r14, %r1, 5, 1;");
    insta::assert_snapshot!(check("race", entry(&own)), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED at p_n = 0: smem_memory[0]: the write by warp0 at line 33 and the write by warp1 at line 33 are not ordered: an arrival of warp0 after line 33 that warp1 waits for before line 33 would order them
    --- stderr
    ");
}

/// A multiplication by four warps of what lies at the beginning of dynamic shared memory.
fn multiplies(variables: &str) -> String {
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 memory[];\n\
         .visible .entry kernel(.param .u32 n)\n.reqntid 128, 1, 1\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n\
         .reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n{variables}\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, memory;\n\
         shl.b32 %r3, %r1, 4;\nadd.u32 %r3, %r3, %r2;\nst.shared.v4.b32 [%r3], {{%r1, %r1, %r1, %r1}};\n\
         fence.proxy.async.shared::cta;\nbar.sync 0;\n\
         bfe.u32 %r4, %r2, 4, 15;\ncvt.u64.u32 %rd2, %r4;\nor.b64 %rd1, %rd2, 4611686293305294848;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %rd1, %rd1, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;\n}}\n"
    )
}

/// Where dynamic shared memory begins is taken for granted, and said, but only if nothing else lies before it.
#[test]
fn dynamic_shared_memory() {
    insta::assert_snapshot!(check("race", multiplies("")), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    let folder = Folder::new();
    folder.file("kernel.ptx", multiplies(""));
    insta::assert_snapshot!(folder.run(&["lift", "--data", "kernel.ptx"]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `kernel` of a PTX 8.7 text for sm_90a.
    //! 128 x 1 x 1 threads per CTA.
    //! Assumed: dynamic shared memory begins at a multiple of 1024 bytes
    //! With what is read and written in shared memory; global memory is left out.
    protocol kernel

    named cta_bar[16]
    buffer smem_memory[4]

    role warps0_3[w in 0..4] warp {
        write smem_memory[w]                                                            // line 17
        fence.proxy.async                                                               // line 18
        sync cta_bar[0] 128                                                             // line 19
        async mma reads smem_memory[0], smem_memory[1], smem_memory[2], smem_memory[3]  // line 23
        commit_group                                                                    // line 24
        wait_group 0                                                                    // line 25
    }
    --- stderr
    ");
    let lacking = multiplies("").replace("bar.sync 0;", "");
    insta::assert_snapshot!(check("race", lacking), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED smem_memory[1]: the asynchronous read that warps0_3[0] starts at line 23 and the write by warps0_3[1] at line 17 are not ordered: a `wait_group` of warps0_3[0] that covers it, and an arrival after it that warps0_3[1] waits for, before line 17 would order them
    --- stderr
    ");
    insta::assert_snapshot!(check("race", multiplies(".shared .align 16 .b8 other[48];")), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 23, `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0`: `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16`: the descriptor in %rd1: how its swizzled rows lie is not known: its address is known up to multiples of 16 only, and an atom has 1024 bytes
    --- stderr
    ");
}

/// The text has every load in its round. The compiler moves it ahead: with more rounds than stages the warp waits for itself.
#[test]
fn loads_that_the_compiler_issues_ahead() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mlir/pipelined.mlir");
    let right = std::fs::read_to_string(path).unwrap();
    let folder = Folder::new();
    folder.file("right.mlir", &right);
    folder.file(
        "ahead.mlir",
        right.replace("pipelining = 2", "pipelining = 4"),
    );
    let mixed = right.replace(
        "%at2 = cute.make_int_tuple(%t)",
        "%at2 = cute.make_int_tuple(%s)",
    );
    folder.file("mixed.mlir", mixed);
    // A constant of the part with the loads, read by the other part.
    let constant = "%s1 = arith.addi %s, %c1 : i32";
    let constant = right
        .replace(
            constant,
            &format!("%step = arith.constant 1 : i32\n{constant}"),
        )
        .replace(
            "%t1 = arith.addi %t, %c1 : i32",
            "%t1 = arith.addi %t, %step : i32",
        );
    folder.file("constant.mlir", constant);
    let files = ["right.mlir", "ahead.mlir", "mixed.mlir", "constant.mlir"];
    let checked = folder.run(&[&["check", "-q"][..], &files].concat());
    insta::assert_snapshot!(checked, @r"
    exit 1
    --- stdout
    right.mlir: deadlock: PROVED for every rounds in 0..=1073741823 and schedule: all obligations of [rule] hold
    ahead.mlir: deadlock: REFUTED at rounds = 4: nobody arrives at smem_1_24[0], for which warp0 waits (line 36): only warp0 itself would, after that wait
    mixed.mlir: deadlock: UNKNOWN line 32: `scf.for`: cutlass.pipelining: this loop cannot be divided into its loads and their uses
    constant.mlir: deadlock: PROVED for every rounds in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let lifted = folder.run(&["lift", "right.mlir"]);
    assert!(lifted.contains("//! Assumed: the compiler issues the tensor loads of the loop at line 32, which it pipelines, 2 rounds ahead"), "{lifted}");
}

/// Cluster launch control: how many clusters are taken over is one unknown of all warps that read the answers, if they read
/// the same ones.
#[test]
fn clusters_that_are_taken_over() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mlir/granted.mlir");
    let right = std::fs::read_to_string(path).unwrap();
    let changed = |from: &str, to: &str| {
        let (before, after) = right.rsplit_once(from).unwrap();
        format!("{before}{to}{after}")
    };
    let folder = Folder::new();
    folder.file("right.mlir", &right);
    folder.file(
        "silent.mlir",
        changed(
            "%u = nvvm.mbarrier.arrive %empty, %c1 : !llvm.ptr<3> -> i64",
            "",
        ),
    );
    folder.file("stale.mlir", changed("%h = %c0)", "%h = %c1)"));
    folder.file(
        "early.mlir",
        changed(
            "nvvm.mbarrier.try_wait.parity %full, %h, %ticks : !llvm.ptr<3>, i32, i32",
            "",
        ),
    );
    folder.file(
        "two.mlir",
        right.replace("arith.cmpi eq, %warp, %c0", "arith.cmpi eq, %warp, %warp"),
    );
    let names = [
        "right.mlir",
        "silent.mlir",
        "stale.mlir",
        "early.mlir",
        "two.mlir",
    ];
    insta::assert_snapshot!(folder.run(&[&["check", "-q"], names.as_slice()].concat()), @r"
    exit 1
    --- stdout
    right.mlir: deadlock: PROVED for every granted in 0..=1073741823 and schedule: all obligations of [rule] hold
    silent.mlir: deadlock: REFUTED at granted = 1: smem_0_8 takes 2 arrivals, 1 came (warp0), and warp0 waits for the rest (line 34): only warp0 itself would, after that wait
    stale.mlir: deadlock: UNKNOWN line 58: a response of cluster launch control is read without a wait for the round that it is of
    early.mlir: deadlock: UNKNOWN line 58: a response of cluster launch control is read without a wait for the round that it is of
    two.mlir: deadlock: UNKNOWN line 42: not one warp takes over clusters for all CTAs of its own: their responses may differ
    --- stderr
    ");
    let lifted = folder.run(&["lift", "right.mlir"]);
    // Each CTA of a cluster for itself: their answers need not be the same.
    let pair = folder.run(&["check", "-q", "--cluster", "2", "right.mlir"]);
    assert!(
        pair.starts_with("exit 4") && pair.contains("not one warp takes over clusters"),
        "{pair}"
    );
    assert!(
        lifted.contains("//! Assumed: a response of cluster launch control stays"),
        "{lifted}"
    );
}

/// CTAs that take turns at words of memory, as the launch gives each its tile: their rings and barriers are proved apart from the
/// words.
#[test]
fn turns_in_mlir() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mlir/turns.mlir");
    let right = std::fs::read_to_string(path).unwrap();
    // Each CTA waits for one addition more than those before it make.
    let late = "%next = arith.addi %tile, %c1 : i32\n    %first = arith.cmpi eq, %tid";
    let wrong = right
        .replacen("%first = arith.cmpi eq, %tid", late, 1)
        .replacen("ne, %seen, %tile", "ne, %seen, %next", 1);
    let folder = Folder::new();
    folder.file("turns.mlir", &right);
    folder.file("late.mlir", wrong);
    let proved = folder.run(&["check", "-q", "turns.mlir"]);
    assert!(
        proved.contains("deadlock: PROVED for every rounds"),
        "{proved}"
    );
    // That the tiles are what they are taken to be says no launch.
    let late = folder.run(&["check", "-q", "late.mlir"]);
    assert!(
        late.contains("a counterexample, but possibly no launch has it"),
        "{late}"
    );
}

/// The MLIR of a ring that goes on from tile to tile, and with a producer that waits for the wrong phase first.
#[test]
fn a_ring_in_mlir() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mlir/ring.mlir");
    let right = std::fs::read_to_string(path).unwrap();
    let wrong = right.replacen("%h0 = %c1", "%h0 = %c0", 1);
    let folder = Folder::new();
    folder.file("ring.mlir", &right);
    folder.file("phase.mlir", wrong);
    folder.file("cut.mlir", right.split_at(right.len() / 2).0);
    let proved = folder.run(&["check", "-q", "ring.mlir"]);
    assert!(
        proved.contains("deadlock: PROVED for every tiles"),
        "{proved}"
    );
    let refuted = folder.run(&["check", "-q", "phase.mlir"]);
    assert!(
        refuted.contains("deadlock: REFUTED at tiles = 1, rounds = 1"),
        "{refuted}"
    );
    let cut = folder.run(&["check", "-q", "cut.mlir"]);
    assert!(cut.starts_with("exit 2"), "{cut}");
}
