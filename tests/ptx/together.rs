//! What all lanes of a warp or all warps of a warpgroup have to do together, and what an instruction cannot take.

use crate::support::program::Folder;

fn check(threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.6\n.target sm_100a\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u64 data)\n.reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n\
             .shared .align 16 .b8 bar[64];\n.shared .align 16 .b8 room[64];\nmov.u32 %r1, %tid.x;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx"])
}

/// Everybody of the warpgroup multiplies, three of four warps, one warp a round less, half of each warp.
#[test]
fn a_multiplication_of_a_warpgroup() {
    let code = |who: &str, rounds: &str| {
        format!(
            "ld.param.u32 %r2, [n];\nmov.u32 %r3, 0;\n{rounds}\n{who}\n@%p1 bra OUT;\n\
             AGAIN:\nsetp.ge.s32 %p2, %r3, %r2;\n@%p2 bra OUT;\n\
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f1,%f2,%f3,%f4}}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             add.s32 %r3, %r3, 1;\nbra AGAIN;\nOUT:\nbar.sync 0;"
        )
    };
    let lane = "and.b32 %r4, %r1, 31;\nsetp.ge.u32 %p1, %r4, 16;";
    let less = "setp.ge.u32 %p3, %r1, 96;\nselp.b32 %r3, 1, 0, %p3;";
    insta::assert_snapshot!(check(128, &code("setp.ge.u32 %p1, %r1, 128;", "")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(128, &code("setp.ge.u32 %p1, %r1, 96;", "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 20, `setp.ge.s32 %p2, %r3, %r2`: all four warps of a warpgroup have to carry this out together, equally often, and they do not
    --- stderr
    ");
    insta::assert_snapshot!(check(128, &code("setp.ge.u32 %p1, %r1, 128;", less)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 21, `setp.ge.s32 %p2, %r3, %r2`: all four warps of a warpgroup have to carry this out together, equally often, and they do not
    --- stderr
    ");
    insta::assert_snapshot!(check(128, &code(lane, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0`: `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16`: all lanes of the warp have to carry this out together
    --- stderr
    ");
    insta::assert_snapshot!(check(96, &code("setp.ge.u32 %p1, %r1, 128;", "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0`: `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16`: all 128 threads of a warpgroup have to carry this out, and some of them do not
    --- stderr
    ");
}

#[test]
fn registers_of_a_warpgroup() {
    let code = |warps: u32| {
        format!(
            "setp.ge.u32 %p1, %r1, {warps};\n@%p1 bra OUT;\nsetmaxnreg.dec.sync.aligned.u32 24;\nOUT:\nbar.sync 0;"
        )
    };
    insta::assert_snapshot!(check(256, &code(128)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    // PTX leaves it undefined: an assumption says what is taken.
    insta::assert_snapshot!(check(256, &code(96)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// One lane allocates, or a number of columns that there is not.
#[test]
fn an_allocation_of_tensor_memory() {
    let code = |lanes: u32, columns: u32| {
        format!(
            "setp.ge.u32 %p1, %r1, {lanes};\n@%p1 bra OUT;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [room], {columns};\nOUT:\nbar.sync 0;\n\
             setp.ge.u32 %p2, %r1, 32;\n@%p2 bra END;\nld.shared.b32 %r5, [room];\n\
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, {columns};\nEND:"
        )
    };
    insta::assert_snapshot!(check(64, &code(32, 128)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(1, 128)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [room], 128`: `tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32`: all lanes of the warp have to carry this out together
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(32, 100)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [room], 100`: `tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32`: columns of tensor memory come as 32, 64, 128, 256 or 512
    --- stderr
    ");
}

/// Lanes that are told apart vote, exchange and elect by a mask that names the others.
#[test]
fn lanes_that_are_not_here() {
    let code = |what: &str| {
        format!(
            "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra OUT;\n{what}\nOUT:\nbar.warp.sync 0xffffffff;\nbar.sync 0;"
        )
    };
    let ended = |what: &str| check(32, &code(what));
    insta::assert_snapshot!(ended("vote.sync.any.pred %p3, %p1, 0xffffffff;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `vote.sync.any.pred %p3, %p1, 0xffffffff`: `vote.sync.any.pred`: a lane is not in its own mask, or lanes of the mask are not here
    --- stderr
    ");
    insta::assert_snapshot!(ended("shfl.sync.idx.b32 %r5, %r1, 0, 31, 0xffff;"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(ended("elect.sync _|%p3, 0xffffffff;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `elect.sync _|%p3, 0xffffffff`: `elect.sync`: a lane is not in its own mask, or lanes of the mask are not here
    --- stderr
    ");
    insta::assert_snapshot!(ended("redux.sync.add.s32 %r5, %r1, 0xff;"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `redux.sync.add.s32 %r5, %r1, 0xff`: `redux.sync.add.s32`: a lane is not in its own mask, or lanes of the mask are not here
    --- stderr
    ");
}

/// An mbarrier that lies across two, more bytes than one counts, a copy of 20 bytes.
#[test]
fn operands_that_are_not_allowed() {
    let code = |init: &str, expect: &str, bytes: &str| {
        check(
            32,
            &format!(
                "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra OUT;\nmbarrier.init.shared::cta.b64 {init};\n\
                 ld.param.u64 %rd3, [data];\n\
                 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {expect};\n\
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd3], {bytes}, [bar];\n\
                 W:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra W;\nOUT:"
            ),
        )
    };
    insta::assert_snapshot!(code("[bar], 1", "32", "32"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code("[bar+4], 1", "32", "32"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `mbarrier.init.shared::cta.b64 [bar+4], 1`: `mbarrier.init.shared::cta.b64`: an mbarrier lies at a multiple of 8 bytes
    --- stderr
    ");
    insta::assert_snapshot!(code("[bar], 0", "32", "32"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 16, `mbarrier.init.shared::cta.b64 [bar], 0`: `mbarrier.init.shared::cta.b64`: an mbarrier counts 1 to 2^20 - 1 arrivals
    --- stderr
    ");
    insta::assert_snapshot!(code("[bar], 1", "2000000", "32"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 18, `mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 2000000`: `mbarrier.arrive.expect_tx.shared::cta.b64`: an mbarrier counts up to 2^20 - 1 bytes
    --- stderr
    ");
    insta::assert_snapshot!(code("[bar], 1", "20", "20"), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 19, `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd3], 20, [bar]`: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`: bulk copies have a multiple of 16 bytes
    --- stderr
    ");
}
