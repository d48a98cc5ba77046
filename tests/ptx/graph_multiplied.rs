//! Races by way of the control-flow graph: matrices in shared memory that tensor cores read.

use crate::data::entry;
use crate::graph_data::all;
use crate::graph_data::filled;
use crate::graph_data::verdict;

/// Descriptors of unswizzled matrices of 16-bit elements in `tile` and from `second` on, in registers `%rd1` and `%rd2`. Each
/// has chunks of 128 bytes, and 256 bytes to the next eight rows.
fn descriptors(second: &str, constant: u64) -> String {
    let field = |register: &str, begin: &str| {
        let bits = constant | (128 / 16) << 16 | (256 / 16) << 32;
        format!(
            "mov.u32 %r40, {begin};\nshr.u32 %r40, %r40, 4;\nand.b32 %r40, %r40, 16383;\ncvt.u64.u32 {register}, %r40;\n\
             or.b64 {register}, {register}, {bits};\n"
        )
    };
    field("%rd1", "tile") + &field("%rd2", second)
}

/// Lane 0 of warp 1 multiplies what warp 0 copies.
fn tensor(bytes: u32, work: &str) -> String {
    // 128 rows, 16 columns, results of 32-bit floats.
    let word = 8 << 24 | 2 << 17 | 1 << 4;
    let copy = format!(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd9], {bytes}, [full];"
    );
    let code = filled(bytes, &copy, work);
    format!(
        "{}mov.u32 %r41, {word};\nmov.u32 %r42, 0;\nsetp.ne.u32 %p7, %r9, 0;\n{code}",
        descriptors("other", 1 << 46)
    )
}

#[test]
fn tensor_work_lasts_until_its_commit_arrives() {
    let multiply = "tcgen05.mma.cta_group::1.kind::f16 [%r42], %rd1, %rd2, %r41, %p7;";
    let commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [empty];";
    let arrive = "mbarrier.arrive.shared.b64 _, [empty];";
    let lane = |first: &str, second: &str| format!("@!%p6 bra N;\n{first}\n{second}\nN:");
    let two = format!("@%p6 {multiply}\nsetp.eq.u32 %p8, %r3, 1;\n@%p8 {commit}");
    let lanes = format!("setp.gt.u32 %p8, %r3, 1;\n@%p8 bra N;\n{multiply}\n{commit}\nN:");
    let copied = format!(
        "{}\n@!%p6 bra M;\nmbarrier.arrive.expect_tx.shared.b64 _, [full], 0;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [other], [%rd9], 16, [full];\nM:",
        lane(multiply, commit)
    );
    let unknown = "@!%p6 bra N;\nld.global.u32 %r41, [%rd9];\ntcgen05.mma.cta_group::1.kind::f16 [%r42], %rd1, %rd2, %r41, %p7;\nN:";
    let moved = lane(&format!("ld.global.u64 %rd1, [%rd9];\n{multiply}"), commit);
    // From round 64 on, what is shifted is no address of shared memory, and reaches into the fields above the place.
    let negative = lane(
        &format!(
            "shr.u32 %r45, %r7, 6;\nand.b32 %r45, %r45, 1;\nshl.b32 %r45, %r45, 12;\nsub.u32 %r45, 0, %r45;\n\
             shr.u32 %r45, %r45, 4;\nmov.b64 {{%r43, %r44}}, %rd1;\nadd.u32 %r43, %r43, %r45;\n\
             mov.b64 %rd1, {{%r43, %r44}};\n{multiply}"
        ),
        commit,
    );
    all(&[
        (
            tensor(4096, &negative),
            "where a matrix begins does not follow",
        ),
        (tensor(4096, &lane(multiply, commit)), "PROVED"),
        (tensor(16, &lane(multiply, commit)), "PROVED"),
        (tensor(4096, &lane(commit, multiply)), "REFUTED"),
        (tensor(4096, &lane(multiply, arrive)), "REFUTED"),
        (tensor(16, &lane(multiply, arrive)), "REFUTED"),
        (tensor(4096, &two), "one lane has to start and commit all"),
        (tensor(4096, &lanes), "one lane has to start and commit all"),
        (
            tensor(4096, &copied),
            "commits `tcgen05` work and starts copies",
        ),
        (
            tensor(4096, unknown),
            "the instruction descriptor is not a constant",
        ),
        (
            tensor(4096, &moved),
            "where a matrix begins does not follow",
        ),
    ]);
}

/// Four warps multiply what a fifth one copies, and give it back by so many arrivals.
fn multiplied(arrivals: u32, bytes: u32, work: &str) -> String {
    let code = format!(
        "{}setp.eq.u32 %p4, %r9, 0;
        @%p4 bra END;
        setp.eq.u32 %p6, %r3, 0;
        setp.eq.u32 %p7, %r1, 0;
        setp.ge.u32 %p8, %r1, 128;
        mov.u32 %r7, 0;
        @%p8 bra PRODUCE;
        C:
        and.b32 %r10, %r7, 1;
        W1:
        mbarrier.try_wait.parity.shared.b64 %p3, [full], %r10;
        @!%p3 bra W1;
        {work}
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p5, %r7, %r9;
        @%p5 bra C;
        wgmma.wait_group.sync.aligned 0;
        bra END;
        PRODUCE:
        setp.ne.u32 %p4, %r3, 0;
        @%p4 bra END;
        P:
        and.b32 %r10, %r7, 1;
        xor.b32 %r11, %r10, 1;
        W2:
        mbarrier.try_wait.parity.shared.b64 %p3, [empty], %r11;
        @!%p3 bra W2;
        mbarrier.arrive.expect_tx.shared.b64 _, [full], {bytes};
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd9], {bytes}, [full];
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p5, %r7, %r9;
        @%p5 bra P;
        END:",
        descriptors("tile+2048", 0)
    );
    let text = entry(160, arrivals, &code);
    let full = format!("[full], {arrivals}");
    verdict(&text.replacen(&full, "[full], 1", 1))
}

#[test]
fn multiplications_last_until_their_group_is_waited_for() {
    const MULTIPLY: &str = "wgmma.fence.sync.aligned;\n\
        wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\
        wgmma.commit_group.sync.aligned;";
    let wait = |left: u32| format!("wgmma.wait_group.sync.aligned {left};");
    let each = "@%p6 mbarrier.arrive.shared.b64 _, [empty];";
    let one = "@%p7 mbarrier.arrive.shared.b64 _, [empty];";
    for (arrivals, arrive) in [(4, each), (1, one)] {
        let late = format!("{MULTIPLY}\n{}\n{arrive}", wait(0));
        let early = format!("{MULTIPLY}\n{arrive}\n{}", wait(0));
        let little = format!("{MULTIPLY}\n{}\n{arrive}", wait(1));
        let before = format!("{arrive}\n{MULTIPLY}\n{}", wait(0));
        let found = |work: &str, bytes: u32| multiplied(arrivals, bytes, work);
        for bytes in [16, 2304] {
            let found = found(&late, bytes);
            // That a warp knows the others' multiplications to be over is not taken into account.
            let known = if arrivals == 4 { "PROVED" } else { "UNKNOWN" };
            assert!(found.starts_with(known), "{arrivals} {bytes}: {found}");
        }
        let refused = found(&before, 2304);
        assert!(refused.starts_with("UNKNOWN"), "{arrivals}: {refused}");
        // Where something is told while the group is under way, there is neither.
        for work in [&early, &little] {
            let open = found(work, 2304);
            assert!(
                open.starts_with("UNKNOWN") || open.starts_with("BOUNDED"),
                "{arrivals} {work}: {open}"
            );
        }
    }
}
