//! One loop in place of two nested ones: a register that begins again at 0 says where in a tile a round is.

use crate::support::program::Folder;

/// Two warps meet in each of `total` rounds, and once more in the last round of each tile, which has `k` of them: before they
/// wait for what the first one does, or behind that. A third warp has left.
///
/// `TILE` is what is done before the loop. `EARLY` or `LATE` gives `%p4`, moves `%r6` on, and meets.
const TILES: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
     .visible .entry tiles(.param .u32 total, .param .u32 k)\n.reqntid THREADS, 1, 1\n{\n\
     .reg .pred %p<12>;\n.reg .b32 %r<16>;\n.shared .align 8 .b8 full[8];\n\
     ld.param.u32 %r3, [total];\nld.param.u32 %r4, [k];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, full;\n\
     setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared::cta.b64 [%r2], 1;\nbar.sync 0;\n\
     setp.gt.u32 %p2, %r1, 63;\n@%p2 bra END;\n\
     setp.lt.s32 %p2, %r3, 1;\n@%p2 bra END;\nadd.s32 %r5, %r4, -1;\nmov.b32 %r6, 0;\nmov.b32 %r7, 0;\n\
     TILE\nROUND:\n@!%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];\nEARLY\nand.b32 %r8, %r7, 1;\n\
     WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], %r8;\n@!%p3 bra WAIT;\nbar.sync 2, 64;\n\
     LATE\nadd.s32 %r7, %r7, 1;\nsetp.lt.s32 %p5, %r7, %r3;\n@%p5 bra ROUND;\nEND:\nret;\n}\n";

const POSITIVE: &str = "setp.lt.s32 %p6, %r4, 1;\n@%p6 bra END;";
const LAST: &str = "setp.eq.b32 %p4, %r6, %r5;\nadd.s32 %r9, %r6, 1;\nselp.b32 %r6, 0, %r9, %p4;";
const MEET: &str = "@!%p4 bra NEXT;\nbar.sync 1, 64;\nNEXT:";

fn run(command: &[&str], threads: u32, [tile, early, late]: [&str; 3]) -> String {
    let folder = Folder::new();
    let code = TILES
        .replace("THREADS", &threads.to_string())
        .replace("TILE", tile)
        .replace("EARLY", early)
        .replace("LATE", late);
    folder.file("kernel.ptx", code);
    let mut arguments = command.to_vec();
    arguments.extend(["kernel.ptx", "--recovery", "graph"]);
    folder.run(&arguments)
}

/// What is recovered where the warps meet before they wait.
fn lifted(tile: &str, last: &str) -> String {
    run(&["lift"], 96, [tile, &format!("{last}\n{MEET}"), ""])
}

#[test]
fn a_register_that_restarts_is_a_remainder() {
    let text = lifted(POSITIVE, LAST);
    assert!(text.contains("if k == i % k + 1 {"), "{text}");
    // The same with other comparisons.
    let same = [
        "add.s32 %r9, %r6, 1;\nsetp.ge.s32 %p4, %r9, %r4;\nselp.b32 %r6, 0, %r9, %p4;",
        "add.s32 %r9, %r6, 1;\nsetp.lt.s32 %p6, %r9, %r4;\nselp.b32 %r6, %r9, 0, %p6;\nnot.pred %p4, %p6;",
        "setp.lt.s32 %p6, %r6, %r5;\nadd.s32 %r9, %r6, 1;\nselp.b32 %r6, %r9, 0, %p6;\nnot.pred %p4, %p6;",
    ];
    for last in same {
        let text = lifted(POSITIVE, last);
        assert!(text.contains("i % k + 1 >= k {"), "{text}");
    }
}

/// Loads run ahead: the register is one round ahead, and another one takes over what it was.
#[test]
fn a_register_may_be_ahead_of_the_rounds() {
    let ahead =
        format!("{POSITIVE}\nmov.b32 %r10, 0;\nsetp.ne.b32 %p7, %r5, 0;\nselp.b32 %r6, 1, 0, %p7;");
    let behind = "setp.eq.b32 %p8, %r6, %r5;\nadd.s32 %r9, %r6, 1;\nsetp.eq.b32 %p4, %r10, %r5;\n\
                  mov.b32 %r10, %r6;\nselp.b32 %r6, 0, %r9, %p8;";
    let text = lifted(&ahead, behind);
    assert!(text.contains("if k == i % k + 1 {"), "{text}");
    // The next round is the last one.
    let text = lifted(&ahead, LAST);
    assert!(text.contains("if k == (i + 1) % k + 1 {"), "{text}");
}

#[test]
fn a_register_that_may_never_restart_is_not_followed() {
    // Tiles may have no rounds, or the first round is one of no tile, or the register goes on from elsewhere.
    let ahead = format!("{POSITIVE}\nmov.b32 %r6, 1;");
    let once = LAST.replace("selp.b32 %r6, 0", "selp.b32 %r6, 1");
    let twice = LAST.replace("%r6, 1;", "%r6, 2;");
    let not = LAST.replace("setp.eq", "setp.ne");
    for (tile, last) in [
        ("", LAST),
        (&ahead, LAST),
        (POSITIVE, &once),
        (POSITIVE, &twice),
        (POSITIVE, &not),
    ] {
        let text = lifted(tile, last);
        let reason =
            "whether this is done depends on what a loop carries, for which no form was found";
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn tiles_of_unequal_length_hang() {
    let unequal = format!("{POSITIVE}\nsetp.gt.u32 %p7, %r1, 31;\n@%p7 add.s32 %r5, %r5, 1;");
    let meet = format!("{LAST}\n{MEET}");
    let text = run(&["check", "-q"], 96, [&unequal, &meet, ""]);
    assert!(text.contains("deadlock: REFUTED at "), "{text}");
}

/// At the meeting of a tile nobody is stuck, as all warps have just met: it need not be written.
#[test]
fn meetings_of_tiles_behind_those_of_rounds() {
    let meet = format!("{LAST}\n{MEET}");
    let text = run(&["check", "-q"], 64, [POSITIVE, "", &meet]);
    assert!(text.contains("deadlock: PROVED for every "), "{text}");
    // A wait stands between, or one warp does not come there: the meeting stays.
    let wait = "V:\nmbarrier.try_wait.parity.shared::cta.b64 %p9, [%r2], %r8;\n@!%p9 bra V;";
    let waits = format!("{LAST}\n{wait}\n{MEET}");
    let one = meet.replace("@!%p4", "setp.gt.and.u32 %p4, %r1, 31, %p4;\n@!%p4");
    for late in [waits, one] {
        let text = run(&["lift"], 64, [POSITIVE, "", &late]);
        assert!(text.contains("sync cta_bar[1] 64"), "{text}");
    }
}
