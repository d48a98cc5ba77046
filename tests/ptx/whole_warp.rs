//! Instructions of the whole warp that do not synchronize: PTX leaves it undefined if only some lanes carry them out.

use crate::graph_misuse::shown;
use crate::graph_misuse::verdict_by;
use crate::support::program::Folder;

const LOAD: &str = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [bar];";
const MULTIPLY: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4,%r5,%r6,%r7},{%r8,%r9,%r10,%r11},{%r12,%r13},{%r4,%r5,%r6,%r7};";

/// What each recovery says, and `auto`. They have to agree, as the path asks the graph here.
fn verdict(code: &str) -> String {
    let graph = verdict_by("graph", 64, code);
    for recovery in ["path", "auto"] {
        assert_eq!(verdict_by(recovery, 64, code), graph, "{recovery}: {code}");
    }
    graph
}

/// `condition` leaves in `%p5` whether the instruction is carried out: by a predicate, and by a branch.
fn both(condition: &str) -> [String; 2] {
    [
        format!("{condition}\n@%p5 {LOAD}\nbar.sync 0;"),
        format!("{condition}\n@!%p5 bra OVER;\n{LOAD}\n{MULTIPLY}\nOVER:\nbar.sync 0;"),
    ]
}

#[test]
fn whole_warps_come_or_none_of_their_lanes() {
    for condition in [
        "shr.u32 %r30, %r1, 5;\nsetp.lt.s32 %p5, %r30, %r2;",
        "setp.lt.u32 %p5, %r1, 32;",
        "setp.gt.s32 %p5, %r2, 3;",
        "mov.u32 %r20, %ctaid.x;\nshr.u32 %r30, %r1, 5;\nmad.lo.s32 %r20, %r20, 2, %r30;\nsetp.lt.s32 %p5, %r20, %r2;",
        "mov.u32 %r20, %ctaid.x;\nmov.u32 %r21, %ntid.x;\nmad.lo.s32 %r20, %r20, %r21, %r1;\n\
         shr.u32 %r20, %r20, 5;\nsetp.lt.s32 %p5, %r20, %r2;",
        "shr.u32 %r30, %r1, 5;\nshfl.sync.idx.b32 %r20, %r30, 0, 31, -1;\nsetp.lt.s32 %p5, %r20, %r2;",
    ] {
        for code in both(condition) {
            assert_eq!(verdict(&code), "PROVED for every schedule", "{code}");
        }
    }
}

#[test]
fn the_launch_parts_a_warp() {
    for condition in [
        "setp.lt.s32 %p5, %r1, %r2;",
        "mov.u32 %r20, %laneid;\nsetp.lt.u32 %p5, %r20, %r2;",
        "setp.lt.s32 %p5, %r1, %r2;\nselp.b32 %r20, 1, 0, %p5;\nsetp.ne.s32 %p5, %r20, 0;",
        "xor.b32 %r20, %r1, 1;\nsetp.eq.s32 %p5, %r20, %r2;",
        "mov.u32 %r20, %ctaid.x;\nmad.lo.s32 %r20, %r20, 64, %r1;\nshr.u32 %r20, %r20, 4;\nsetp.lt.s32 %p5, %r20, %r2;",
        "setp.lt.u32 %p5, %r1, 48;",
    ] {
        for code in both(condition) {
            let said = verdict_by("graph", 64, &code);
            assert!(
                said.starts_with("UNKNOWN") && said.ends_with("undefined"),
                "{code} {said}"
            );
            for recovery in ["path", "auto"] {
                let said = verdict_by(recovery, 64, &code);
                assert!(said.starts_with("UNKNOWN"), "{recovery}: {code} {said}");
            }
        }
    }
}

#[test]
fn where_it_stands_does_not_matter() {
    let by_lane = "setp.ge.s32 %p5, %r1, %r2;";
    // Under a branch that all lanes take alike, in a loop, behind the last barrier, and behind lanes that have left.
    insta::assert_snapshot!(verdict(&format!("shr.u32 %r30, %r1, 5;\nsetp.ge.s32 %p6, %r30, %r2;\n@%p6 bra OVER;\n{by_lane}\n@!%p5 {MULTIPLY}\nOVER:\nbar.sync 0;")), @"UNKNOWN line 21: only some lanes of a warp may carry out mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: this is undefined");
    insta::assert_snapshot!(verdict(&format!("mov.b32 %r20, %r1;\nAGAIN:\nsetp.ge.s32 %p5, %r20, %r2;\n@%p5 bra OVER;\n{LOAD}\nadd.s32 %r20, %r20, 64;\nbra AGAIN;\nOVER:\nbar.sync 0;")), @"UNKNOWN line 20: lanes take this branch differently, depending on the launch, and below it something is done by several lanes together, some of which may be missing: that is undefined");
    insta::assert_snapshot!(verdict(&format!("bar.sync 0;\n{by_lane}\n@%p5 bra OVER;\n{MULTIPLY}\nOVER:")), @"UNKNOWN line 19: lanes take this branch differently, depending on the launch, and below it something is done by several lanes together, some of which may be missing: that is undefined");
    insta::assert_snapshot!(verdict(&format!("{by_lane}\n@%p5 ret;\n{LOAD}")), @"UNKNOWN line 18: lanes take this branch differently, depending on the launch, and below it something is done by several lanes together, some of which may be missing: that is undefined");
    insta::assert_snapshot!(verdict(&format!("{by_lane}\n@%p5 ret;\ntcgen05.wait::ld.sync.aligned;")), @"UNKNOWN line 18: lanes take this branch differently, depending on the launch, and below it something is done by several lanes together, some of which may be missing: that is undefined");
}

/// Memory may part the lanes. But lanes that the launch keeps away are missing in any case.
#[test]
fn memory_decides() {
    const READ: &str = "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd2, %rd1;\nld.global.u32 %r20, [%rd2];\nsetp.lt.s32 %p5, %r20, %r2;";
    for code in both(READ) {
        let said = shown(64, &code);
        let agree = "all lanes of a warp agree where memory decides whether they come to an instruction of the whole warp, such as `mma`";
        assert!(said.contains("PROVED") && said.contains(agree), "{said}");
    }
    let some = format!("{READ}\nsetp.lt.u32 %p6, %r1, 16;\nand.pred %p5, %p5, %p6;");
    insta::assert_snapshot!(verdict(&format!("{some}\n@%p5 {LOAD}\nbar.sync 0;")), @"UNKNOWN line 23: only some lanes of a warp may carry out ldmatrix.sync.aligned.m8n8.x1.shared.b16: this is undefined");
}

/// Lanes exchange values among themselves where the others do not come. `rem.s32` of a number that may wrap around need not be the lane.
#[test]
fn a_mask_names_the_lanes_that_come() {
    let scan = |mask: &str| {
        format!(
            "bar.sync 0;\nmov.u32 %r20, %ctaid.x;\nmad.lo.s32 %r20, %r20, 64, %r1;\nrem.s32 %r20, %r20, 32;\n\
             setp.ge.u32 %p5, %r20, 8;\n@%p5 bra OVER;\nshfl.sync.up.b32 %r7, %r1, 1, 0, {mask};\nOVER:\nbar.sync 0;"
        )
    };
    for recovery in ["path", "auto"] {
        let said = verdict_by(recovery, 64, &scan("255"));
        assert_eq!(said, "PROVED for every schedule", "{recovery}");
        let said = verdict_by(recovery, 64, &scan("-1"));
        assert!(said.starts_with("UNKNOWN"), "{recovery} {said}");
    }
}

/// It is asked of every number of warps, and said once.
#[test]
fn an_assumption_for_every_number_of_warps_is_printed_once() {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 data)\n.maxntid 256, 1, 1\n{{\n\
         .reg .pred %p<6>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<3>;\n.shared .align 16 .b8 bar[64];\nmov.u32 %r1, %tid.x;\n\
         ld.param.u64 %rd1, [data];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd2, %rd1;\nld.global.u32 %r19, [%rd2];\n\
         setp.lt.u32 %p5, %r19, 9;\n@%p5 {LOAD}\nbar.sync 0;\nret;\n}}\n"
    );
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    let shown = folder.run(&["check", "--symbolic-threads", "kernel.ptx"]);
    assert!(shown.contains("PROVED for every warps in 1..=8"), "{shown}");
    assert_eq!(
        shown.matches("all lanes of a warp agree").count(),
        1,
        "{shown}"
    );
}
