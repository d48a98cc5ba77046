//! Rings that move on under a condition that holds up to some round of a loop.

use crate::graph_misuse::verdict;

/// In each of `n` rounds the second warp arrives and the first one waits, while `goes_on` (`%p5`) holds. The stage moves on in
/// these rounds, its phase in all. The ring begins at a stage that `first` says.
fn ring(first: &str, goes_on: &str, behind: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r1, 32;\nmov.u32 %r20, bar;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+8], 1;\nbar.sync 0;\n\
             setp.lt.s32 %p4, %r2, 1;\n@%p4 bra END;\nsub.s32 %r3, %r2, 2;\n\
             mov.u32 %r5, 0;\n{first}\nmov.u32 %r7, 0;\n\
             LOOP:\n{goes_on}\nmad.lo.u32 %r9, %r6, 8, %r20;\n@!%p5 bra SKIP;\n\
             @%p3 mbarrier.arrive.shared.b64 _, [%r9];\n@%p2 bra SKIP;\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r7;\n@!%p9 bra W;\n\
             SKIP:\nbar.sync 0;\nadd.u32 %r8, %r6, 1;\nsetp.eq.u32 %p6, %r8, 2;\nselp.b32 %r10, 1, 0, %p6;\nxor.b32 %r7, %r7, %r10;\n\
             selp.b32 %r8, 0, %r8, %p6;\nselp.b32 %r6, %r8, %r6, %p5;\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p7, %r5, %r2;\n@%p7 bra LOOP;\n{behind}\nEND:\n"
        ),
    )
}

#[test]
fn a_ring_that_stops_before_the_loop_ends() {
    let zero = "mov.u32 %r6, 0;";
    let up_to = "setp.lt.s32 %p5, %r5, %r3;";
    insta::assert_snapshot!(ring(zero, up_to, ""), @"PROVED for every n in 0..=1073741823 and schedule");
    // The ring begins at the other stage only where the condition never holds.
    let launch = "setp.gt.s32 %p8, %r2, 1;\nselp.b32 %r6, 0, 1, %p8;";
    insta::assert_snapshot!(ring(launch, up_to, ""), @"PROVED for every n in 0..=1073741823 and schedule");
    // Behind the loop, the stage is that of the last round in which it moved on, and the phase says nothing.
    let arrive = "mad.lo.u32 %r9, %r6, 8, %r20;\n@%p3 mbarrier.arrive.shared.b64 _, [%r9];";
    let said = ring(launch, up_to, arrive);
    assert!(
        said.starts_with("PROVED") || said.starts_with("BOUNDED"),
        "{said}"
    );
    let wait = format!(
        "{arrive}\n@%p2 bra END;\nV:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r7;\n@!%p9 bra V;"
    );
    let said = ring(zero, up_to, &wait);
    assert!(said.starts_with("UNKNOWN line "), "{said}");
}

/// The condition holds in other rounds than the first ones: phases are not those of a ring that moves on in all of them.
#[test]
fn a_ring_that_goes_on_again() {
    let zero = "mov.u32 %r6, 0;";
    for goes_on in [
        "setp.gt.s32 %p5, %r5, %r3;",
        "setp.ne.s32 %p5, %r5, %r3;",
        "and.b32 %r11, %r5, 3;\nsetp.lt.s32 %p5, %r11, %r3;",
        "shl.b32 %r11, %r5, 30;\nsetp.lt.s32 %p5, %r11, %r3;",
    ] {
        let said = ring(zero, goes_on, "");
        assert!(said.starts_with("UNKNOWN line "), "{said}");
    }
}

/// A ring moves on in the last round of each tile, which has as many rounds as the launch says.
fn ring_of_tiles(last: &str) -> String {
    verdict(
        64,
        &format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nsetp.eq.u32 %p3, %r1, 32;\nmov.u32 %r20, bar;\n\
             ld.param.u32 %r12, [data];\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+8], 1;\nbar.sync 0;\n\
             setp.lt.s32 %p4, %r2, 1;\n@%p4 bra END;\nsetp.lt.s32 %p4, %r12, 1;\n@%p4 bra END;\n\
             sub.s32 %r13, %r12, 1;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0;\nmov.u32 %r11, 0;\n\
             LOOP:\nsetp.eq.s32 %p5, %r11, %r13;\n@!%p5 bra SKIP;\nmad.lo.u32 %r9, %r6, 8, %r20;\n\
             @%p3 mbarrier.arrive.shared.b64 _, [%r9];\n\
             W:\nmbarrier.try_wait.parity.shared.b64 %p9, [%r9], %r7;\n@!%p9 bra W;\n\
             add.u32 %r8, %r6, 1;\nsetp.eq.u32 %p6, %r8, 2;\nselp.b32 %r10, 1, 0, %p6;\nxor.b32 %r7, %r7, %r10;\n\
             selp.b32 %r6, 0, %r8, %p6;\nbar.sync 0;\n\
             SKIP:\n{last}\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p7, %r5, %r2;\n@%p7 bra LOOP;\nEND:\n"
        ),
    )
}

#[test]
fn a_ring_that_moves_on_at_the_end_of_a_tile() {
    let said = ring_of_tiles("add.u32 %r8, %r11, 1;\nselp.b32 %r11, 0, %r8, %p5;");
    assert!(!said.starts_with("UNKNOWN"), "{said}");
    assert!(!said.starts_with("REFUTED"), "{said}");
    // It begins again at 1: rounds of tiles have no form.
    let said = ring_of_tiles("add.u32 %r8, %r11, 1;\nselp.b32 %r11, 1, %r8, %p5;");
    assert!(said.starts_with("UNKNOWN line "), "{said}");
}
