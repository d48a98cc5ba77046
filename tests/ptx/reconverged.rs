//! Lanes that wait each for itself: that they meet again behind it is said.

use crate::support::program::Folder;

const MEET: &str = "lanes of a warp that diverge reconverge where their paths meet";

/// What is said of a ring whose consumer waits, and then does this. `%p2` holds in the first lane of each warp.
fn said(recovery: &str, consumer: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n)\n.reqntid 64, 1, 1\n{{\n.reg .pred %p<16>;\n.reg .b32 %r<16>;\n\
             .shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\nld.param.u32 %r1, [n];\n\
             mov.u32 %r2, %tid.x;\nand.b32 %r3, %r2, 31;\nsetp.eq.u32 %p2, %r3, 0;\nsetp.ne.u32 %p1, %r2, 0;\n\
             @%p1 bra I;\nmbarrier.init.shared.b64 [full], 1;\nmbarrier.init.shared.b64 [empty], 1;\nI:\nbar.sync 0;\n\
             mov.u32 %r4, 0;\nsetp.ge.u32 %p3, %r2, 32;\n@%p3 bra C;\n@!%p2 bra END;\n\
             P:\nsetp.ge.s32 %p4, %r4, %r1;\n@%p4 bra END;\nand.b32 %r5, %r4, 1;\nxor.b32 %r5, %r5, 1;\n\
             PW:\nmbarrier.try_wait.parity.shared.b64 %p5, [empty], %r5;\n@!%p5 bra PW;\n\
             mbarrier.arrive.shared.b64 _, [full];\nadd.u32 %r4, %r4, 1;\nbra P;\n\
             C:\nsetp.ge.s32 %p4, %r4, %r1;\n@%p4 bra END;\nand.b32 %r5, %r4, 1;\n{consumer}\n\
             add.u32 %r4, %r4, 1;\nbra C;\nEND:\nret;\n}}\n"
        ),
    );
    let shown = folder.run(&["check", "kernel.ptx", "--recovery", recovery]);
    assert!(shown.contains("PROVED for every"), "{shown}");
    shown
}

#[test]
fn lanes_meet_behind_what_each_waits_for() {
    let wait = "CW:\nmbarrier.try_wait.parity.shared.b64 %p6, [full], %r5;\n@!%p6 bra CW;";
    let arrive = "@%p2 mbarrier.arrive.shared.b64 _, [empty];";
    let alone = format!("{wait}\n{arrive}");
    let one = format!("@!%p2 bra N;\n{wait}\nmbarrier.arrive.shared.b64 _, [empty];\nN:");
    for (meets, consumer) in [
        (false, alone),
        (true, format!("{wait}\nbar.warp.sync -1;\n{arrive}")),
        (true, one),
    ] {
        let shown = said("path", &consumer);
        assert_eq!(!shown.contains(MEET), meets, "{shown}");
    }
    // The graph takes it for granted whatever the kernel does.
    assert!(said("graph", &format!("{wait}\nbar.warp.sync -1;\n{arrive}")).contains(MEET));
}
