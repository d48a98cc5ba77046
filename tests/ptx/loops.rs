//! Loops of kernels that are left in several places, of which only some iterations count, or whose rings functions
//! are given by reference.

use crate::graph_misuse::verdict_by;
use crate::support::program::Folder;

fn check(name: &str, property: &str) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    folder.run(&["check", "-q", "--property", property, name])
}

fn hand_written(threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u32 m, .param .u64 p)\n\
             .reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b16 %rs<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n\
             .shared .align 8 .b8 bar[64];\n.local .align 8 .b8 own[64];\n\
             ld.param.u32 %r60, [n];\nld.param.u32 %r61, [m];\nld.param.u64 %rd14, [p];\n\
             mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx"])
}

#[test]
fn places_in_a_ring_that_are_given_by_reference() {
    insta::assert_snapshot!(check("references.ptx", "deadlock"), @r"
    exit 1
    --- stdout
    references.ptx:references: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    references.ptx:references_advances_twice: deadlock: REFUTED at param_2 = 2: nobody arrives at full_bar[2], for which warps1_2[0] waits (references.cu:20, line 173): warp0 never arrives, only at others such as full_bar[0]
    references.ptx:references_keeps_the_phase: deadlock: REFUTED at param_2 = 6: warps1_2[1] is lapped: it still waits for phase 0 of full_bar[0] (references.cu:20, line 264), but warp0 completed phases 0 and 1 (references.cu:47, line 987) without waiting for warps1_2[1]
    --- stderr
    ");
}

/// `break`, `return`, the lesser of two parameters, and from the end of a row to its beginning.
#[test]
fn loops_that_end_in_other_ways() {
    insta::assert_snapshot!(check("exits.ptx", "deadlock"), @"
    exit 1
    --- stdout
    exits.ptx:breaks_: deadlock: PROVED for every param_2 in 0..=1073741823, param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    exits.ptx:breaks_later: deadlock: REFUTED at param_2 = 2, param_3 = 0: nobody arrives at full_bar[1], for which warps1_2[0] waits (exits.cu:27, line 517): warp0 never arrives, only at full_bar[0]
    exits.ptx:returns_: deadlock: PROVED for every param_2 in 0..=1073741823, param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    exits.ptx:returns_later: deadlock: REFUTED at param_2 = 1, param_3 = 0: nobody arrives at full_bar[0], for which warps1_2[0] waits (exits.cu:27, line 1073): warp0 never arrives, because `if param_2 >= 1 && param_3 != 0` (exits.cu:138, line 958) does not hold for it
    exits.ptx:least_: deadlock: PROVED for every param_2 in 0..=1073741823, param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    exits.ptx:least_or_most: deadlock: REFUTED at param_2 = 0, param_3 = 1: nobody arrives at full_bar[0], for which warps1_2[0] waits (exits.cu:27, line 1602): warp0 never arrives, because `if param_2 >= 1 && param_3 >= 1` (exits.cu:140, line 1494) does not hold for it
    exits.ptx:down_: deadlock: PROVED for every param_3 in 0..=1073741823, pattern at_param_0 and schedule: all obligations of [rule] hold
    exits.ptx:down_where_not: deadlock: REFUTED at param_3 = 1, at_param_0 = {}: nobody arrives at full_bar[0], for which warps1_2[0] waits (exits.cu:27, line 2193): warp0 never arrives, because `for i in row(at_param_0) descending` (exits.cu:142, line 2083) makes no trip
    --- stderr
    ");
}

/// A ring goes on where a mask says, or for what a row lists; in the last kernels blocks take turns besides.
#[test]
fn rings_that_go_on_in_visited_iterations() {
    insta::assert_snapshot!(check("visited.ptx", "deadlock"), @r"
    exit 1
    --- stdout
    visited.ptx:visited: deadlock: PROVED for every param_3 in 0..=1073741823, pattern at_param_0 and schedule: all obligations of [rule] hold
    visited.ptx:visited_waits_for_all: deadlock: REFUTED at param_3 = 1, at_param_0 = {}: nobody arrives at full_bar[0], for which warp0 waits (visited.cu:53, line 520): warp3 never arrives, because `for i in row(at_param_0) ascending` (visited.cu:162, line 411) makes no trip
    visited.ptx:visited_keeps_the_phase: deadlock: REFUTED at param_3 = 3, at_param_0 = {(0), (1), (2)}: warps1_2[0] waits for full_bar[0] with parity 0 twice in a row (visited.cu:53, line 793), and full_bar[0] has completed 2 times by then, so this wait needs another completion: warp3 arrives 2 times and has ended
    visited.ptx:visited_other_row: deadlock: REFUTED at param_3 = 1, at_param_0 = {(1, 0)}: nobody arrives at full_bar[0], for which warp0 waits (visited.cu:53, line 1069): warp3 never arrives, because `for i in row(at_param_0, 0) ascending` (visited.cu:164, line 948) makes no trip
    visited.ptx:listed: deadlock: PROVED for every at_param_0 in 0..=1073741823, at_param_0_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    visited.ptx:listed_arrives_at_another: deadlock: REFUTED at at_param_0 = 0, at_param_0_2 = 3: warp0 is lapped: it still waits for phase 0 of full_bar[1] (visited.cu:83, line 1595), but warp3 completed phases 0 and 1 (visited.cu:77, line 1549) without waiting for warp0
    visited.ptx:in_turns: deadlock: PROVED for every param_4 in 0..=1073741823, nctaid_x in 1..=1073741823, R >= 1, pattern at_param_0 and schedule, assuming R >= nctaid_x, param_4 * nctaid_x < param_4 + 4294967296: all obligations of [rule] hold
    visited.ptx:in_turns_skips_a_turn: deadlock: REFUTED at param_4 = 1, nctaid_x = 2, R = 2, at_param_0 = {(1, 0)}: warp0[1] waits for at_param_2[0] == 1 (visited.cu:127, line 2192), but at_param_2[0] stays 0 and nobody adds to it: warp0[0] never adds to it, because `if at_param_0[ctaid_x, i]` (visited.cu:168, line 2179) does not hold for it
    --- stderr
    ");
}

/// Bytes and words at the same place are not the same memory, so one says nothing about the other.
#[test]
fn a_mask_that_is_read_in_two_sizes() {
    let code = "setp.gt.u32 %p2, %r1, 31;\nmov.u32 %r3, 0;\nsetp.eq.u32 %p3, %r60, 0;\n@%p3 bra END;\n@%p2 bra OTHER;\n\
             FIRST:\ncvt.u64.u32 %rd1, %r3;\nadd.u64 %rd2, %rd14, %rd1;\nld.global.nc.u8 %r4, [%rd2];\n\
             setp.eq.u32 %p4, %r4, 0;\n@%p4 bra NEXT;\nbar.sync 1, 64;\nNEXT:\nadd.u32 %r3, %r3, 1;\n\
             setp.lt.u32 %p5, %r3, %r60;\n@%p5 bra FIRST;\nbra END;\n\
             OTHER:\ncvt.u64.u32 %rd1, %r3;\nshl.b64 %rd1, %rd1, 2;\nadd.u64 %rd2, %rd14, %rd1;\n\
             ld.global.nc.u32 %r4, [%rd2];\nsetp.eq.u32 %p4, %r4, 0;\n@%p4 bra LAST;\nbar.sync 1, 64;\nLAST:\n\
             add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p5, %r3, %r60;\n@%p5 bra OTHER;\nEND:";
    insta::assert_snapshot!(hand_written(64, code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 41, `@%p4 bra LAST`: memory that decides about synchronization is read in two shapes
    --- stderr
    ");
}

/// What is stored is cut off and what is loaded is extended as the types say: of 300 a byte keeps 44, and of 200 with a
/// sign -56. Who finds something else waits for a warp that is not there.
#[test]
fn local_memory_of_narrow_types() {
    let found = |value: &str, store: &str, load: &str, expected: &str| {
        hand_written(
            64,
            &format!(
                "mov.b64 %rd1, own;\nmov.u32 %r2, {value};\ncvt.u16.u32 %rs1, %r2;\n\
                 st.local.{store} [%rd1+8], %rs1;\nld.local.{load} %rs2, [%rd1+8];\ncvt.s32.s16 %r3, %rs2;\n\
                 setp.eq.s32 %p2, %r3, {expected};\n@%p2 bra OUT;\nbar.sync 1, 96;\nOUT:\nbar.sync 0;"
            ),
        )
    };
    let all = [
        found("300", "u8", "u8", "44"),
        found("300", "b8", "s8", "44"),
        found("200", "s8", "u8", "200"),
        found("200", "u8", "s8", "-56"),
        found("40000", "u16", "s16", "-25536"),
    ];
    for one in &all {
        assert_eq!(*one, all[0]);
    }
    insta::assert_snapshot!(all[0], @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(found("300", "u8", "u8", "300"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED cta_bar[1] takes 96 threads, 64 came (warps0_1[0] and warps0_1[1]), and nobody else comes (line 26)
    --- stderr
    ");
}

/// A variable of which an address is not known, that is read in pieces, or whose name another one has, too, stays in
/// memory.
#[test]
fn local_memory_that_is_not_followed() {
    let code = |between: &str, load: &str| {
        format!(
            "mov.b64 %rd1, own;\nst.local.u32 [%rd1+8], %r60;\n{between}\n{load}\nsetp.gt.u32 %p2, %r3, 7;\n\
             @%p2 bra OUT;\nbar.sync 0;\nOUT:"
        )
    };
    let load = "ld.local.u32 %r3, [%rd1+8];";
    insta::assert_snapshot!(hand_written(64, &code("", load)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let anywhere = "cvt.u64.u32 %rd2, %r61;\nadd.u64 %rd3, %rd1, %rd2;\nst.local.u32 [%rd3], %r1;";
    insta::assert_snapshot!(hand_written(64, &code(anywhere, load)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `@%p2 bra OUT`: a branch decides about synchronization, but %p2 is not known here: it is read from memory (line 23, `ld.local.u32 %r3, [%rd1+8]`)
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(64, &code("st.local.u8 [%rd1+9], %r1;", load)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `@%p2 bra OUT`: a branch decides about synchronization, but %p2 is not known here: it is read from memory (line 21, `ld.local.u32 %r3, [%rd1+8]`)
    --- stderr
    ");
    let other =
        "{\n.local .align 8 .b8 own[64];\nmov.b64 %rd2, own;\nst.local.u32 [%rd2+8], %r1;\n}";
    insta::assert_snapshot!(hand_written(64, &code(other, load)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Of two pointers that a register may hold, or that are stored together, each may be written through: the local
/// variables that they point to stay in memory.
#[test]
fn several_pointers_to_local_memory() {
    let code = |between: &str| {
        format!(
            ".local .align 8 .b8 other[64];\n.local .align 16 .b8 both[16];\nmov.b64 %rd1, other;\nmov.b64 %rd2, own;\n\
             mov.b64 %rd3, both;\nmov.u32 %r3, 0;\nst.local.u32 [%rd2], %r3;\nshr.u32 %r2, %r1, 5;\n\
             setp.eq.u32 %p3, %r2, 0;\n{between}\nld.local.u32 %r4, [%rd2];\nsetp.eq.u32 %p2, %r4, 0;\n\
             @%p2 bra OUT;\nbar.sync 1, 64;\nOUT:"
        )
    };
    let chosen = "@%p3 mov.b64 %rd1, own;\nst.local.u32 [%rd1], 1;";
    insta::assert_snapshot!(hand_written(64, &code(chosen)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p2 bra OUT`: a branch decides about synchronization, but %p2 is not known here: it is read from memory (line 29, `ld.local.u32 %r4, [%rd2]`)
    --- stderr
    ");
    let together = "st.local.v2.b64 [%rd3], {%rd1, %rd2};\nld.local.v2.b64 {%rd4, %rd5}, [%rd3];\n\
                    st.local.u32 [%rd5], %r2;";
    insta::assert_snapshot!(hand_written(64, &code(together)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 32, `@%p2 bra OUT`: a branch decides about synchronization, but %p2 is not known here: it is read from memory (line 30, `ld.local.u32 %r4, [%rd2]`)
    --- stderr
    ");
}

/// A loop is left on one side of a branch on data, or of one that each lane takes differently: whether it is, is not known.
#[test]
fn loops_that_are_left_below_a_branch_that_is_not_followed() {
    let code = |skips: &str| {
        format!(
            "mov.u32 %r3, 0;\nLOOP:\nbar.sync 1, 64;\n{skips}\n@%p2 bra SKIP;\nsetp.eq.u32 %p3, %r3, %r61;\n\
             @%p3 bra OUT;\nSKIP:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p4, %r3, %r60;\n@%p4 bra LOOP;\nOUT:"
        )
    };
    let data = ".reg .f32 %f1;\nld.global.f32 %f1, [%rd14];\nsetp.gt.f32 %p2, %f1, 0f00000000;";
    insta::assert_snapshot!(hand_written(64, &code(data)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `@%p3 bra OUT`: where this loop is left is not known: it is written on one side of a branch that is not followed: `ld.global.f32` is not followed (line 22, `ld.global.f32 %f1, [%rd14]`)
    --- stderr
    ");
    let lanes = "rem.u32 %r5, %r1, 3;\nmul.lo.u32 %r5, %r5, %r60;\nsetp.gt.u32 %p2, %r5, %r61;";
    insta::assert_snapshot!(hand_written(64, &code(lanes)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `@%p3 bra OUT`: where this loop is left is not known: it is written on one side of a branch that is not followed: `mul.lo.u32` of these values is not followed, or may wrap around (line 22, `mul.lo.u32 %r5, %r5, %r60`)
    --- stderr
    ");
    let inner = ".reg .f32 %f1;\nmov.f32 %f1, 0f00000000;\nIN:\nadd.f32 %f1, %f1, 0f3F800000;\n\
                 setp.gt.f32 %p2, %f1, 0f42C80000;\n@%p2 bra SKIP;\nsetp.lt.f32 %p2, %f1, 0f42C80000;\n@%p2 bra IN;";
    insta::assert_snapshot!(hand_written(64, &code(inner)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `@%p3 bra OUT`: where this loop is left is not known: it changes in a loop that is not followed (line 24, `add.f32 %f1, %f1, 0f3F800000`)
    --- stderr
    ");
}

/// What lies before a pointer is no element of a pattern: it may be other than 0.
#[test]
fn memory_before_its_pointer() {
    let code = |index: &str| {
        format!(
            "setp.gt.u32 %p6, %r1, 31;\n@%p6 bra OUT;\nmov.u32 %r7, %ctaid.x;\n{index}\ncvt.s64.s32 %rd1, %r7;\n\
             add.u64 %rd2, %rd14, %rd1;\nld.global.nc.u8 %r4, [%rd2];\nsetp.eq.u32 %p4, %r4, 0;\n@%p4 bra OUT;\n\
             bar.sync 1, 64;\nOUT:"
        )
    };
    insta::assert_snapshot!(hand_written(64, &code("")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at at_p = -128: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 27): warp1 has no statement for this barrier
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(64, &code("mov.u32 %r7, -1;")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at at_p = -128: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 27): warp1 has no statement for this barrier
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(64, &code("add.s32 %r7, %r7, -1;")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at at_p = -128: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 27): warp1 has no statement for this barrier
    --- stderr
    ");
    let behind = "setp.eq.u32 %p3, %r7, 0;\n@%p3 bra OUT;\nadd.s32 %r7, %r7, -1;";
    insta::assert_snapshot!(hand_written(64, &code(behind)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at ctaid_x = 1, at_p = 1: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 29): warp1 has no statement for this barrier
    --- stderr
    ");
}

/// Two warps go over a row as the offsets say: where they read these in other ways, or before their pointer, the rows
/// are not the same.
#[test]
fn rows_that_are_read_in_two_ways() {
    let code = |first: [&str; 2], second: [&str; 2], by: u32, before: &str| {
        let row = |[begin, end]: [&str; 2], to: &str| {
            format!(
                "ld.global.nc.{begin} %r4, [%rd2{before}];\nld.global.nc.{end} %r5, [%rd2{before}+{by}];\n\
                 setp.ge.s32 %p3, %r4, %r5;\n@%p3 bra END;\n{to}:\nbar.sync 1, 64;\nadd.u32 %r4, %r4, 1;\n\
                 setp.lt.s32 %p5, %r4, %r5;\n@%p5 bra {to};\nbra END;"
            )
        };
        hand_written(
            64,
            &format!(
                "setp.gt.u32 %p6, %r1, 31;\nmov.u32 %r7, %ctaid.x;\nmul.wide.u32 %rd1, %r7, {by};\n\
                 add.u64 %rd2, %rd14, %rd1;\n@%p6 bra OTHER;\n{}\nOTHER:\n{}\nEND:",
                row(first, "A"),
                row(second, "B")
            ),
        )
    };
    let words = ["u32"; 2];
    insta::assert_snapshot!(code(words, words, 4, ""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every at_p in 0..=1073741823, at_p_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(code(words, ["u32", "u8"], 4, ""), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at at_p = 32, at_p_2 = 320, computed = 64: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 28): warp1 comes 32 times and has ended
    --- stderr
    ");
    insta::assert_snapshot!(code(["u16"; 2], ["s16"; 2], 2, ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 39, `bar.sync 1, 64`: a sparse matrix is read in two sizes
    --- stderr
    ");
    insta::assert_snapshot!(code(words, words, 4, "+-4"), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every at_p in 0..=1073741823, at_p_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// A loop that is left where the launch says, in the middle or at the end.
#[test]
fn loops_that_are_left_in_two_places() {
    let code = |left: &str, behind: &str| {
        format!(
            "mov.u32 %r3, 0;\nsetp.eq.u32 %p2, %r60, 0;\n@%p2 bra END;\nAGAIN:\nbar.sync 0;\n{left}\nbar.sync 1;\n\
             add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, %r60;\n@%p3 bra AGAIN;\nEND:\n{behind}\nret;\nOUT:\nbar.sync 2;"
        )
    };
    let known = "setp.eq.u32 %p4, %r3, %r61;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(96, &code(known, "bar.sync 3;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, p_m in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(96, &code(known, "bar.sync 3, 128;")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 0, p_m = 0: cta_bar[3] takes 128 threads, 96 came (warps0_2[0..3]), and nobody else comes (line 30)
    --- stderr
    ");
    // What data decides stays unknown.
    let found = "ld.global.u32 %r5, [%rd14];\nsetp.gt.u32 %p4, %r5, 20;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(96, &code(found, "bar.sync 3;")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `@%p4 bra OUT`: where this loop is left depends on memory that is read
    --- stderr
    ");
    // One warp goes on where the others leave.
    let warps = "setp.eq.u32 %p4, %r3, 7;\nsetp.gt.u32 %p5, %r1, 31;\nand.pred %p4, %p4, %p5;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(64, &code(warps, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `bar.sync 0`: not every warp comes to this barrier of all threads equally often (warp 1 otherwise than warp 0), and what those that have left mean for it is not followed
    --- stderr
    ");
    let lanes = "setp.eq.u32 %p4, %r3, %r1;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(64, &code(lanes, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `@%p4 bra OUT`: lanes of one warp leave this loop in different places
    --- stderr
    ");
}

/// A loop whose first thing is to wait begins where the loop of the wait begins.
#[test]
fn a_wait_where_another_loop_begins() {
    let turns = |phase: &str, pause: &str| {
        hand_written(
            64,
            &format!(
                "mov.u32 %r2, bar;\n@!%p1 bra READY;\nmbarrier.init.shared.b64 [%r2], 64;\nREADY:\nbar.sync 0;\n\
                 setp.eq.u32 %p2, %r60, 0;\n@%p2 bra END;\nmov.u32 %r3, 0;\nmov.u32 %r4, %r60;\n\
                 mbarrier.arrive.shared.b64 _, [%r2];\n\
                 AGAIN:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r2], %r3;\n@%p3 bra DONE;\n{pause}\n\
                 bra AGAIN;\nDONE:\nmbarrier.arrive.shared.b64 _, [%r2];\n{phase}\nsub.u32 %r4, %r4, 1;\n\
                 setp.ne.u32 %p4, %r4, 0;\n@%p4 bra AGAIN;\nEND:"
            ),
        )
    };
    insta::assert_snapshot!(turns("xor.b32 %r3, %r3, 1;", ""), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(turns("xor.b32 %r3, %r3, 1;", "nanosleep.u32 20;"), @r"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(turns("bar.sync 0;", ""), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: warp0 waits for bar with parity 0 twice in a row (line 29), and bar has completed 2 times by then, so this wait needs another completion: only warp0 itself would, after that wait
    --- stderr
    ");
}

/// What is written out altogether is a loop, too.
#[test]
fn a_hundred_barriers_in_a_row() {
    let many = "bar.sync 0;\n".repeat(100);
    // The states may be searched before a rule is found that proves it.
    let proved = |threads: u32, code: &str| {
        let shown = hand_written(threads, code);
        assert!(
            shown.contains("deadlock: PROVED for every schedule: "),
            "{shown}"
        );
    };
    proved(1024, &many);
    let ring = "mbarrier.arrive.shared.b64 _, [%r2];\n\
                W0_#:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;\n@!%p3 bra W0_#;\n\
                mbarrier.arrive.shared.b64 _, [%r2];\n\
                W1_#:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r2], 1;\n@!%p3 bra W1_#;\n";
    let rings = |count: u32| {
        let all: String = (0..count)
            .map(|k| ring.replace('#', &k.to_string()))
            .collect();
        let code = format!(
            "mov.u32 %r2, bar;\n@!%p1 bra READY;\nmbarrier.init.shared.b64 [%r2], 64;\nREADY:\nbar.sync 0;\n{all}"
        );
        code
    };
    proved(64, &rings(30));
    insta::assert_snapshot!(hand_written(96, &rings(30)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED warps1_2[0] is lapped: it still waits for phase 0 of bar (line 25), but warp0, warps1_2[0] and warps1_2[1] completed phases 0 and 1 (line 23) without waiting for warps1_2[0]
    --- stderr
    ");
}

/// Two warps hand over the places of a ring: thread 0 fills them and thread 32 empties them. `place` makes from their
/// state which place is next, `%r10`, and its parity, `%r11`; `filled` and `emptied` move the state on. The barriers
/// lie 8 bytes apart, full ones first.
fn ring(places: u32, begin: &str, place: &str, filled: &str, emptied: &str) -> String {
    let mut code = format!(
        ".shared .align 8 .b8 ring[{}];\n@!%p1 bra READY;\n",
        16 * places
    );
    for index in 0..2 * places {
        code += &format!("mbarrier.init.shared.b64 [ring+{}], 1;\n", 8 * index);
    }
    let side = |name: &str, flip: u32, [waited, arrived]: [u32; 2], moved: &str| {
        format!(
            "{name}:\n{place}\nxor.b32 %r12, %r11, {flip};\nshl.b32 %r13, %r10, 3;\nmov.u32 %r14, ring;\n\
             add.u32 %r14, %r14, %r13;\n{name}_WAIT:\n\
             mbarrier.try_wait.parity.shared.b64 %p4, [%r14+{waited}], %r12;\n@!%p4 bra {name}_WAIT;\n\
             mbarrier.arrive.shared.b64 _, [%r14+{arrived}];\n{moved}\nadd.u32 %r9, %r9, 1;\n\
             setp.lt.u32 %p5, %r9, %r60;\n@%p5 bra {name};\n"
        )
    };
    let empty = 8 * places;
    code += "READY:\nbar.sync 0;\nsetp.eq.u32 %p2, %r60, 0;\n@%p2 bra END;\nmov.u32 %r9, 0;\n";
    code += &format!("{begin}\nsetp.eq.u32 %p3, %r1, 32;\n@%p3 bra EMPTY;\n@!%p1 bra END;\n");
    code += &side("FILL", 1, [empty, 0], filled);
    code += &format!("bra END;\n{}END:\n", side("EMPTY", 0, [0, empty], emptied));
    hand_written(64, &code)
}

/// Phases are the bits of one register, and which bit is turned is computed.
#[test]
fn phases_in_a_field_of_bits() {
    let begin = "mov.u32 %r3, 0;\nmov.u32 %r4, 0;\nmov.u32 %r6, 1;";
    let place = "mov.u32 %r10, %r4;\nshr.u32 %r11, %r3, %r4;\nand.b32 %r11, %r11, 1;";
    let moved = |turned: &str| {
        format!(
            "shl.b32 %r5, %r6, {turned};\nxor.b32 %r3, %r3, %r5;\nadd.u32 %r4, %r4, 1;\nand.b32 %r4, %r4, 3;"
        )
    };
    let (right, wrong) = (moved("%r4"), moved("0"));
    insta::assert_snapshot!(ring(4, begin, place, &right, &right), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(ring(4, begin, place, &right, &wrong), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 5: warp1 waits for ring_bar[0] with parity 0 twice in a row (line 68), and ring_bar[0] has completed 2 times by then, so this wait needs another completion: warp0 arrives 2 times and has ended
    --- stderr
    ");
}

/// `(s + 1) % 4` of a signed number, and a phase that turns where that is 0.
#[test]
fn a_place_of_a_signed_number() {
    let begin = "mov.u32 %r3, 0;\nmov.u32 %r4, 0;";
    let place = "mov.u32 %r10, %r4;\nmov.u32 %r11, %r3;";
    let moved = |first: u32| {
        format!(
            "add.s32 %r5, %r4, 1;\nshr.s32 %r6, %r5, 31;\nshr.u32 %r6, %r6, 30;\nadd.s32 %r6, %r5, %r6;\n\
             and.b32 %r6, %r6, -4;\nsub.s32 %r4, %r5, %r6;\nsetp.eq.s32 %p7, %r4, {first};\n\
             selp.u32 %r7, 1, 0, %p7;\nxor.b32 %r3, %r3, %r7;"
        )
    };
    insta::assert_snapshot!(ring(4, begin, place, &moved(0), &moved(0)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(ring(4, begin, place, &moved(0), &moved(1)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: warp1 first waits for ring_0[1] with parity 1 (line 70). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (line 48), after its own first wait, for ring_32[1] with parity 1 (line 46), had passed at once, too. One of these two waits is for the wrong parity or comes too early
    --- stderr
    ");
}

/// A place and a phase in one byte each of registers of 16 bits, as `cuda::pipeline` keeps them.
#[test]
fn a_place_in_a_byte() {
    let begin = "mov.u16 %rs3, 244;\nmov.u16 %rs4, 0;";
    let place = "and.b16 %rs5, %rs4, 255;\ncvt.u32.u16 %r10, %rs5;\nand.b16 %rs6, %rs3, 2;\n\
                 shr.u16 %rs6, %rs6, 1;\ncvt.u32.u16 %r11, %rs6;";
    let moved = |size: u32| {
        format!(
            "add.s16 %rs7, %rs4, 1;\nand.b16 %rs8, %rs7, 255;\nsetp.eq.s16 %p7, %rs8, {size};\n\
             setp.eq.s16 %p8, %rs6, 0;\nselp.u16 %rs9, 1, 0, %p8;\nshl.b16 %rs9, %rs9, 1;\n\
             and.b16 %rs10, %rs3, -3;\nor.b16 %rs10, %rs9, %rs10;\nselp.b16 %rs3, %rs10, %rs3, %p7;\n\
             selp.b16 %rs4, 0, %rs7, %p7;"
        )
    };
    insta::assert_snapshot!(ring(3, begin, place, &moved(3), &moved(3)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(ring(3, begin, place, &moved(3), &moved(2)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 3: ring_0[0] completes once, and warp1 waits for one more (line 75): warp0 arrives once and has ended
    --- stderr
    ");
}

/// `i % 7` and `i / 7`, divided by a factor that is one bit too wide.
#[test]
fn a_place_by_division_by_seven() {
    let place = |last: u32| {
        format!(
            "mul.hi.u32 %r3, %r9, 613566757;\nsub.u32 %r4, %r9, %r3;\nshr.u32 %r4, %r4, 1;\n\
             add.u32 %r4, %r4, %r3;\nshr.u32 %r4, %r4, {last};\nand.b32 %r11, %r4, 1;\n\
             mul.lo.u32 %r5, %r4, 7;\nsub.u32 %r10, %r9, %r5;"
        )
    };
    insta::assert_snapshot!(ring(7, "", &place(2), "", ""), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(ring(7, "", &place(2), "", "add.u32 %r9, %r9, 6;"), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 9: nobody arrives at ring_56[1], for which warp0 waits (line 57): warp1 never arrives, only at ring_56[0]
    --- stderr
    ");
    // By 3.5 it is no place.
    insta::assert_snapshot!(ring(7, "", &place(1), "", ""), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 57, `mbarrier.try_wait.parity.shared.b64 %p4, [%r14+56], %r12`: which mbarrier this address means is not followed: its offset has no bounds
    --- stderr
    ");
}

/// A condition that is computed anew in each round, and is the same in all of them.
#[test]
fn a_loop_in_which_nothing_changes() {
    let loops = |body: &str| {
        verdict_by(
            "auto",
            32,
            &format!("mov.u32 %r4, 0;\nH:\n{body}\n@%p3 bra H;\nbar.sync 0;"),
        )
    };
    let same = "ld.param.u32 %r5, [n];\nadd.u32 %r6, %r5, 1;\nsetp.ne.u32 %p3, %r6, 5;";
    insta::assert_snapshot!(loops(same), @"UNKNOWN line 22: no round of this loop changes the condition that ends it: it ends in its first round or never");
    let other = "ld.param.u32 %r5, [n];\nadd.u32 %r4, %r4, 1;\nadd.u32 %r6, %r5, %r4;\nsetp.ne.u32 %p3, %r6, 5;";
    insta::assert_snapshot!(loops(other), @"PROVED for every schedule");
}
