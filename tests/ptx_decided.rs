//! What data decides about synchronization: where it is the same for all who look, it is an unknown; where it may be
//! another one for each, the kernel is refused. And loops that are left in several places.

mod cli_support;

use std::fs;
use std::path::Path;

use cli_support::Folder;

fn check(name: &str, property: &str) -> String {
    let folder = Folder::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/ptx/kernels")
        .join(name);
    folder.file(name, fs::read(path).unwrap());
    folder.run(&["check", "-q", "--property", property, name])
}

fn hand_written(threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u32 m, .param .u64 p, .param .u64 q, .param .f32 e)\n\
             .reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .f32 %f<16>;\n.reg .b64 %rd<16>;\n\
             .shared .align 8 .b8 bar[64];\n.shared .align 4 .b8 flags[64];\n.shared .align 4 .b8 row[512];\n\
             ld.param.u32 %r60, [n];\nld.param.u32 %r61, [m];\nld.param.u64 %rd14, [p];\n\
             ld.param.u64 %rd15, [q];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx"])
}

#[test]
fn tiles_that_are_taken_and_rounds_until_nothing_changes() {
    insta::assert_snapshot!(check("schedulers.ptx", "deadlock"), @"
    exit 1
    --- stdout
    schedulers.ptx:tiles: deadlock: PROVED for every rounds_100 in 0..=1073741823 and schedule: all 30 obligations of the order rule hold
    schedulers.ptx:tiles_read_at_any_time: deadlock: UNKNOWN line 160, `ld.shared.u32 %r2, [_ZZ5tilesIL3Bug1EEvPKfPfPiiE4tile]`: data decides about synchronization here, and may be written meanwhile: no barrier of all threads lies between (line 154, `st.shared.u32 [_ZZ5tilesIL3Bug1EEvPKfPfPiiE4tile], %r4`)
    schedulers.ptx:tiles_one_warp_leaves: deadlock: UNKNOWN line 239, `ld.shared.u32 %r4, [_ZZ5tilesIL3Bug2EEvPKfPfPiiE4tile]`: data decides about synchronization here, and not every warp comes to the same barriers of all threads: whether all find the same is not followed
    schedulers.ptx:last_cta: deadlock: PROVED for every data_390 in 0..=255 and schedule: all 6 obligations of the order rule hold
    schedulers.ptx:last_cta_one_warp_meets: deadlock: REFUTED at data_619 = 1: warps1_2[0] waits for 96 threads at cta_bar[1], but 64 threads are there (warps1_2[0] and warps1_2[1]) and nothing changes that: nobody who is left comes to it (warps1_2[1] did and will not again)
    schedulers.ptx:relaxed: deadlock: PROVED for every param_2 in 0..=1073741823, rounds_846 in 0..=1073741822 and schedule, assuming rounds_846 <= (if param_2 <= 0 then 0 else param_2 - 1): all 50 obligations of the order rule hold
    schedulers.ptx:relaxed_one_warp_leaves: deadlock: UNKNOWN line 987, `@%p10 bra $L__BB6_4`: the condition of this loop may wrap around
    --- stderr
    ");
    insta::assert_snapshot!(check("schedulers.ptx", "race"), @"
    exit 1
    --- stdout
    schedulers.ptx:tiles: race: PROVED for every rounds_100 in 0..=1073741823 and schedule: all 117 obligations of the cut rule hold
    schedulers.ptx:tiles_read_at_any_time: race: UNKNOWN line 160, `ld.shared.u32 %r2, [_ZZ5tilesIL3Bug1EEvPKfPfPiiE4tile]`: data decides about synchronization here, and may be written meanwhile: no barrier of all threads lies between (line 154, `st.shared.u32 [_ZZ5tilesIL3Bug1EEvPKfPfPiiE4tile], %r4`)
    schedulers.ptx:tiles_one_warp_leaves: race: UNKNOWN line 239, `ld.shared.u32 %r4, [_ZZ5tilesIL3Bug2EEvPKfPfPiiE4tile]`: data decides about synchronization here, and not every warp comes to the same barriers of all threads: whether all find the same is not followed
    schedulers.ptx:last_cta: race: PROVED for every data_390 in 0..=255 and schedule: all 58 obligations of the cut rule hold
    schedulers.ptx:last_cta_one_warp_meets: race: REFUTED at data_619 = 1: the read by warp0 at line 27 and the write by warps1_2[0] at line 38 of smem_sums[1] are not ordered: an arrival of warp0 after line 27 that warps1_2[0] waits for before line 38 would order them
    schedulers.ptx:relaxed: race: PROVED for every param_2 in 0..=1073741823, rounds_846 in 0..=1073741822 and schedule, assuming rounds_846 <= (if param_2 <= 0 then 0 else param_2 - 1): all 78 obligations of the cut rule hold
    schedulers.ptx:relaxed_one_warp_leaves: race: UNKNOWN line 987, `@%p10 bra $L__BB6_4`: the condition of this loop may wrap around
    --- stderr
    ");
}

#[test]
fn places_in_a_ring_that_are_given_by_reference() {
    insta::assert_snapshot!(check("references.ptx", "deadlock"), @"
    exit 1
    --- stdout
    references.ptx:references: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all 26 obligations of the order rule hold
    references.ptx:references_advances_twice: deadlock: REFUTED at param_2 = 2: warps1_2[0] waits for full_bar[2] to leave phase 0, but full_bar[2] is in phase 0 with 1 arrival pending and nothing changes that: nobody else arrives at it
    references.ptx:references_keeps_the_phase: deadlock: REFUTED at param_2 = 6: warps1_2[1] waits for full_bar[0] to leave phase 0, but full_bar[0] is in phase 0 with 1 arrival pending and nothing changes that: nobody who is left arrives at it (warp0 did and will not again)
    --- stderr
    ");
}

/// One thread writes a flag, all read it behind a barrier: who skips the last barrier, skips it together.
#[test]
fn a_flag_that_all_read() {
    let code = |before: &str, last: &str| {
        format!(
            "@%p1 ld.global.u32 %r2, [%rd14];\n@%p1 st.shared.u32 [flags], %r2;\n{before}\n\
             ld.shared.u32 %r3, [flags];\nsetp.gt.s32 %p2, %r3, %r60;\n@%p2 bra END;\n{last}\nEND:"
        )
    };
    insta::assert_snapshot!(hand_written(96, &code("bar.sync 0;", "bar.sync 0;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, data_23 in -2147483648..=2147483647 and schedule: all 3 obligations of the order rule hold
    --- stderr
    ");
    // Nothing lies between what is written and what is read.
    insta::assert_snapshot!(hand_written(96, &code("", "bar.sync 0;")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `ld.shared.u32 %r3, [flags]`: data decides about synchronization here, and may be written meanwhile: no barrier of all threads lies between (line 21, `@%p1 st.shared.u32 [flags], %r2`)
    --- stderr
    ");
    // Only two of three warps are waited for.
    insta::assert_snapshot!(hand_written(96, &code("bar.sync 0;", "bar.sync 1, 128;")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 0, data_23 = -2147483648: warps0_2[0] waits for 128 threads at cta_bar[1], but 96 threads are there (warps0_2[0], warps0_2[1] and warps0_2[2]) and nothing changes that: nobody who is left comes to it (warps0_2[1] and warps0_2[2] did and will not again)
    --- stderr
    ");
    // The flag may be written by all, at any place.
    let anywhere = "bar.sync 0;\nadd.u32 %r5, %r2, flags;\nst.shared.u32 [%r5], %r1;";
    insta::assert_snapshot!(hand_written(96, &code(anywhere, "bar.sync 0;")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `ld.shared.u32 %r3, [flags]`: data decides about synchronization here, and may be written meanwhile: no barrier of all threads lies between (line 24, `st.shared.u32 [%r5], %r1`)
    --- stderr
    ");
    // A store into another array stays there.
    let beside = "bar.sync 0;\nld.global.u32 %r4, [%rd15];\nmov.u32 %r6, row;\nadd.u32 %r5, %r4, %r6;\n\
                  st.shared.u32 [%r5], %r1;";
    insta::assert_snapshot!(hand_written(96, &code(beside, "bar.sync 0;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, data_27 in -2147483648..=2147483647 and schedule: all 3 obligations of the order rule hold
    --- stderr
    ");
}

/// A loop that goes on as long as one thread wants it to.
#[test]
fn rounds_that_a_barrier_decides() {
    let code = |kind: &str, inside: &str| {
        format!(
            "AGAIN:\nld.global.f32 %f1, [%rd14];\nld.param.f32 %f2, [e];\nsetp.gt.f32 %p3, %f1, %f2;\n\
             bar.red.{kind}.pred %p4, {inside}, %p3;\n@%p4 bra AGAIN;\nbar.sync 0;"
        )
    };
    insta::assert_snapshot!(hand_written(224, &code("or", "0")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every rounds_25 in 0..=1073741823 and schedule: all 6 obligations of the order rule hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(224, &code("and", "0, 224")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every rounds_25 in 0..=1073741823 and schedule: all 6 obligations of the order rule hold
    --- stderr
    ");
    // Those of half the CTA do not decide for the other half.
    insta::assert_snapshot!(hand_written(224, &code("or", "0, 96")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `bar.red.or.pred %p4, 0, 96, %p3`: data decides about synchronization at a barrier of some threads
    --- stderr
    ");
    // What one warp has voted for is not what another one has.
    let votes = "AGAIN:\nld.global.f32 %f1, [%rd14];\nld.param.f32 %f2, [e];\nsetp.gt.f32 %p3, %f1, %f2;\n\
                 vote.sync.any.pred %p4, %p3, 0xffffffff;\nbar.sync 0;\n@%p4 bra AGAIN;";
    insta::assert_snapshot!(hand_written(32, votes), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every rounds_26 in 0..=1073741823 and schedule: all 3 obligations of the order rule hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(64, votes), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every rounds_26 in 0..=1073741823, rounds_26_2 in 0..=1073741823 and schedule: all 13 obligations of the cut rule hold
    --- stderr
    ");
    let together = "AGAIN:\nld.global.f32 %f1, [%rd14];\nld.param.f32 %f2, [e];\nsetp.gt.f32 %p3, %f1, %f2;\n\
                    vote.sync.any.pred %p4, %p3, 0xffffffff;\nbar.warp.sync 0xffffffff;\n@%p4 bra AGAIN;\n\
                    bar.sync 0;";
    insta::assert_snapshot!(hand_written(64, together), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all 1 obligations of the order rule hold
    --- stderr
    ");
}

/// How much there is to do is read from memory, by everybody from the same place, or by each warp from its own.
#[test]
fn a_bound_that_is_read() {
    let code = |place: &str, after: &str| {
        format!(
            "{place}\nld.global.u32 %r2, [%rd1];\n{after}\nmov.u32 %r3, 0;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\n\
             AGAIN:\nbar.sync 0;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, %r2;\n@%p3 bra AGAIN;\nEND:"
        )
    };
    let same = "mov.u32 %r4, %ctaid.x;\nmul.wide.u32 %rd2, %r4, 4;\nadd.u64 %rd1, %rd14, %rd2;";
    let own = "shr.u32 %r4, %r1, 5;\nmul.wide.u32 %rd2, %r4, 4;\nadd.u64 %rd1, %rd14, %rd2;";
    insta::assert_snapshot!(hand_written(64, &code(same, "")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every word_1 in 0..=2147483647 and schedule: all 3 obligations of the order rule hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(64, &code(own, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 29, `bar.sync 0`: not every warp comes to this barrier of all threads equally often, and what those that have left mean for it is not followed
    --- stderr
    ");
    // The kernel itself writes there.
    insta::assert_snapshot!(hand_written(64, &code(same, "st.global.u32 [%rd14], %r1;")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 32, `@%p3 bra AGAIN`: how often this loop runs depends on memory that is read (line 23, `ld.global.u32 %r2, [%rd1]`)
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(64, &code(same, "st.global.u32 [%rd15], %r1;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every word_1 in 0..=2147483647 and schedule: all 3 obligations of the order rule hold
    --- stderr
    ");
}

/// A loop that is left where the launch says, or where data does, in the middle or at the end.
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
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, p_m in 0..=1073741823 and schedule: all 22 obligations of the cut rule hold
    --- stderr
    ");
    insta::assert_snapshot!(hand_written(96, &code(known, "bar.sync 3, 128;")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 0, p_m = 0: warps0_2[0] waits for 128 threads at cta_bar[3], but 96 threads are there (warps0_2[0], warps0_2[1] and warps0_2[2]) and nothing changes that: nobody who is left comes to it (warps0_2[1] and warps0_2[2] did and will not again)
    --- stderr
    ");
    let found = "bar.red.popc.u32 %r5, 0, %p1;\nsetp.gt.u32 %p4, %r5, 20;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(96, &code(found, "bar.sync 3;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, rounds_31 in 0..=1073741822, data_25_at_1 in 0..=96 and schedule, assuming rounds_31 <= (if p_n <= 0 then 0 else p_n - 1): all 28 obligations of the cut rule hold
    --- stderr
    ");
    // One warp goes on where the others leave.
    let warps = "setp.eq.u32 %p4, %r3, 7;\nsetp.gt.u32 %p5, %r1, 31;\nand.pred %p4, %p4, %p5;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(64, &code(warps, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 32, `@%p3 bra AGAIN`: the condition of this loop may wrap around
    --- stderr
    ");
    let lanes = "setp.eq.u32 %p4, %r3, %r1;\n@%p4 bra OUT;";
    insta::assert_snapshot!(hand_written(64, &code(lanes, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `@%p4 bra OUT`: lanes of one warp leave this loop in different places
    --- stderr
    ");
}

/// Iterations that are skipped: those of a remainder, or those that data picks.
#[test]
fn iterations_that_are_skipped() {
    let code = |skipped: &str, inside: &str| {
        format!(
            "mov.u32 %r3, 0;\nsetp.eq.u32 %p2, %r60, 0;\n@%p2 bra END;\nAGAIN:\n{skipped}\n{inside}\nNEXT:\n\
             add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, %r60;\n@%p3 bra AGAIN;\nEND:"
        )
    };
    let third = "rem.u32 %r4, %r3, 3;\nsetp.eq.u32 %p4, %r4, 1;\n@%p4 bra NEXT;";
    insta::assert_snapshot!(hand_written(96, &code(third, "bar.sync 0;\nbar.sync 0;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, row order and schedule: all 8 obligations of the cut rule hold
    --- stderr
    ");
    let picked = "bar.red.popc.u32 %r5, 0, %p1;\nsetp.gt.u32 %p4, %r5, 20;\n@%p4 bra NEXT;";
    insta::assert_snapshot!(hand_written(96, &code(picked, "bar.sync 0;")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, pattern taken_26, row order and schedule: all 7 obligations of the cut rule hold
    --- stderr
    ");
    let missing = "setp.lt.u32 %p5, %r1, 32;\n@%p5 bra NEXT;\nbar.sync 1, 96;";
    insta::assert_snapshot!(hand_written(96, &code(picked, missing)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `bar.red.popc.u32 %r5, 0, %p1`: data decides about synchronization here, and not every warp comes to the same barriers of all threads: whether all find the same is not followed
    --- stderr
    ");
    // As often as data says in each iteration.
    let often = "mov.u32 %r6, 0;\nOFTEN:\nbar.red.or.pred %p5, 0, %p4;\n@%p5 bra OFTEN;";
    insta::assert_snapshot!(hand_written(96, &code("", often)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823, most_runs_27 in 0..=1073741823, pattern runs_27, row order and schedule: all 7 obligations of the cut rule hold
    --- stderr
    ");
}
