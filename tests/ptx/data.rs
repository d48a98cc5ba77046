//! What kernels read and write in shared memory: races and stale reads, from PTX alone.

use crate::kernels::without_lines;
use crate::support::program::Folder;

fn kernel(name: &str) -> Folder {
    let folder = Folder::new();
    folder.kernel(name);
    folder
}

/// The verdicts on races of the entries of a compiled kernel.
fn compiled(name: &str, entry: &[&str]) -> String {
    let arguments = ["check", "-q", "--property", "race", name];
    kernel(name).run(&[&arguments[..], entry].concat())
}

/// An entry of this many threads with these instructions; `%r1` is the thread, `%r2` the warp, `%r3`
/// the lane, `%p1` holds in all but the first thread, `%p2` from the second warp on. Thread 0
/// initialises `full` and `empty` for this many arrivals.
pub fn entry(threads: u32, arrivals: u32, code: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry kernel(.param .u32 n, .param .u64 p)\n.reqntid {threads}, 1, 1\n{{\n\
         .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<16>;\n\
         .shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n\
         .shared .align 128 .b8 tile[4096];\n.shared .align 16 .b8 other[512];\n\
         ld.param.u32 %r9, [n];\nld.param.u64 %rd9, [p];\nmov.u32 %r1, %tid.x;\n\
         shr.u32 %r2, %r1, 5;\nand.b32 %r3, %r1, 31;\nmov.u32 %r8, tile;\n\
         setp.ne.u32 %p1, %r1, 0;\nsetp.ge.u32 %p2, %r1, 32;\n@%p1 bra READY;\n\
         mbarrier.init.shared.b64 [full], {arrivals};\nmbarrier.init.shared.b64 [empty], {arrivals};\n\
         READY:\nbar.sync 0;\n{code}\nret;\n}}\n"
    )
}

pub fn run(text: &str, arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.file("kernel.ptx", text);
    folder.run(&[arguments, &["kernel.ptx"]].concat())
}

/// The verdict on a property, up to what the proof is, with those of the assumptions that have these words. What the program
/// printed is given; the rule of a proof depends on how fast the machine is.
pub fn told(shown: &str, property: &str, words: &str) -> String {
    let line = shown
        .lines()
        .find_map(|line| line.split_once(&format!("{property}: ")));
    let (_, line) = line.unwrap_or_else(|| panic!("{shown}"));
    let line = line.split(": all ").next().unwrap_or_default();
    let (_, assumed) = shown.split_once("assumptions:").unwrap_or_default();
    let assumed = assumed.lines().map(str::trim);
    let assumed = assumed.filter(|one| one.contains(words));
    let assumed: String = assumed.map(|one| format!("\n{one}")).collect();
    line.to_owned() + &assumed
}

fn race(threads: u32, arrivals: u32, code: &str) -> String {
    let arguments = ["check", "-q", "--property", "race"];
    run(&entry(threads, arrivals, code), &arguments)
}

#[test]
fn data_that_is_handed_on() {
    insta::assert_snapshot!(compiled("handover.ptx", &["--timeout", "20"]), @"
    exit 1
    --- stdout
    handover.ptx:relay: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    handover.ptx:relay_reads_late: race: REFUTED at param_2 = 6: smem_tile[0]: the read by warp2 at handover.cu:48 (line 591) and the write by warp0 at handover.cu:31 (line 541) are not ordered: an arrival of warp2 after handover.cu:48 that warp0 waits for before handover.cu:31 would order them
    handover.ptx:relay_writes_late: race: REFUTED at param_2 = 1: smem_tile[0]: the write by warp1 at handover.cu:39 (line 797) and the read by warp2 at handover.cu:50 (line 874) are not ordered: an arrival of warp1 after handover.cu:39 that warp2 waits for before handover.cu:50 would order them
    handover.ptx:stencil: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    handover.ptx:stencil_reads_late: race: REFUTED at param_2 = 2: smem_tile_0: the read by warps1_3[0] at handover.cu:84 (line 1267) and the write by warp0 at handover.cu:71 (line 1351) are not ordered: an arrival of warps1_3[0] after handover.cu:84 that warp0 waits for before handover.cu:71 would order them
    handover.ptx:sum: race: PROVED for every schedule: all obligations of [rule] hold
    handover.ptx:sum_lacks_a_barrier: race: REFUTED smem_part[1]: the read by warp0 at handover.cu:101 (line 1656) and the write by warp1 at handover.cu:101 (line 1659) are not ordered: an arrival of warp0 after handover.cu:101 that warp1 waits for before handover.cu:101 would order them
    --- stderr
    ");
}

/// Rings of five and of two stages in loops that the compiler has written out four times.
#[test]
fn a_pipeline_of_copies() {
    insta::assert_snapshot!(compiled("pipeline.ptx", &["--timeout", "20"]), @r"
    exit 1
    --- stdout
    pipeline.ptx:pipeline: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    pipeline.ptx:pipeline_reads_late: race: REFUTED at param_2 = 6: smem_mem_0[0]: the read by warps1_2[0] at pipeline.cu:43 (line 1666) and the asynchronous write that warp0 starts at pipeline.cu:33 (line 1998) are not ordered: an arrival of warps1_2[0] after pipeline.cu:43 that warp0 waits for before pipeline.cu:33 would order them
    pipeline.ptx:pipeline_one_buffer: race: REFUTED at param_2 = 2: smem_mem_5120[0][0]: the asynchronous read that warp3 starts at pipeline.cu:55 (line 3384) and the write by warps1_2[0] at pipeline.cu:46 (line 2821) are not ordered: a `wait_group` of warp3 that covers it, and an arrival after it that warps1_2[0] waits for, before pipeline.cu:46 would order them
    pipeline.ptx:pipeline_not_drained: race: REFUTED at param_2 = 3: smem_mem_5120[0][0]: the asynchronous read that warp3 starts at pipeline.cu:55 (line 4501) and the write by warps1_2[0] at pipeline.cu:46 (line 3954) are not ordered: nothing tells when the first is complete; a `commit`, or a `commit_group` with a `wait_group 0`, and an arrival after it that warps1_2[0] waits for, before pipeline.cu:46 would order them
    --- stderr
    ");
    insta::assert_snapshot!(
        kernel("pipeline.ptx").run(&["lift", "--data", "pipeline.ptx", "--entry", "pipeline"]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `pipeline` of a PTX 9.5 text for sm_90a.
    //! 128 x 1 x 1 threads per CTA.
    //! Assumed: the launch has 128 threads per CTA, as many as .maxntid allows
    //! Assumed: lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands between them
    //! Assumed: stores and copies to computed places in shared memory do not reach an mbarrier
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! With what is read and written in shared memory; global memory is left out.
    protocol pipeline

    param param_2 in 0..=1073741823

    mbarrier done_bar[2] { arrivals: 2 }  // counted in groups of 32 threads
    mbarrier full_bar[5] { arrivals: 1 }
    mbarrier empty_bar[5] { arrivals: 2 }  // counted in groups of 32 threads
    mbarrier freed_bar[2] { arrivals: 1 }  // counted in groups of 32 threads
    named cta_bar[16]
    buffer smem_mem_0[5]
    buffer smem_mem_5120[2, 2]

    role warp0 warp {
        sync cta_bar[0] 128    // pipeline.cu:70
        for i in 0..param_2 {  // pipeline.cu:70
            wait empty_bar[i % 5] (i / 5 + 1) % 2                        // pipeline.cu:31
            arrive_expect_tx full_bar[i % 5] 1024                        // pipeline.cu:32
            async copy smem_mem_0[i % 5] completes full_bar[i % 5] 1024  // pipeline.cu:33
        }
    }

    role warps1_2[w in 0..2] warp {
        sync cta_bar[0] 128    // pipeline.cu:70
        for i in 0..param_2 {  // pipeline.cu:70
            wait full_bar[i % 5] i / 5 % 2         // pipeline.cu:40
            read smem_mem_0[i % 5]                 // pipeline.cu:41
            arrive empty_bar[i % 5]                // pipeline.cu:44
            wait freed_bar[i % 2] (i / 2 + 1) % 2  // pipeline.cu:45
            write smem_mem_5120[i % 2, w]          // pipeline.cu:46
            fence.proxy.async                      // pipeline.cu:70
            arrive done_bar[i % 2]                 // pipeline.cu:48
        }
    }

    role warp3 warp {
        sync cta_bar[0] 128    // pipeline.cu:70
        for i in 0..param_2 {  // pipeline.cu:53
            wait done_bar[i % 2] i / 2 % 2                                      // pipeline.cu:53
            async store reads smem_mem_5120[i % 2, 0], smem_mem_5120[i % 2, 1]  // pipeline.cu:55
            commit_group                                                        // pipeline.cu:70
            wait_group 0 read                                                   // pipeline.cu:70
            arrive freed_bar[i % 2]                                             // pipeline.cu:61
        }
    }
    --- stderr
    ");
}

/// Everything that applies, of the text that each property needs.
#[test]
fn all_properties() {
    let arguments = [
        "check",
        "-q",
        "--property",
        "all",
        "stencil.ptx",
        "--entry",
        "stencil",
    ];
    insta::assert_snapshot!(kernel("stencil.ptx").run(&arguments), @"
    exit 0
    --- stdout
    stencil.ptx: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    stencil.ptx: early_completion: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    stencil.ptx: over_arrival: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    stencil.ptx: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    stencil.ptx: stale_read: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Rounds in functions that are called.
#[test]
fn a_ring_with_calls() {
    let name = "calls.ptx";
    insta::assert_snapshot!(kernel(name).run(&["check", "-q", name]), @"
    exit 1
    --- stdout
    calls.ptx:calls: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    calls.ptx:calls_reads_late: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    calls.ptx:calls_same_phase: deadlock: REFUTED at param_2 = 4: warp1 waits for full_bar[0] with parity 0 twice in a row (calls.cu:9, line 205), and full_bar[0] has completed 2 times by then, so this wait needs another completion: warp0 arrives 2 times and has ended
    --- stderr
    ");
    let entries = ["--entry", "calls"];
    insta::assert_snapshot!(compiled(name, &entries), @"
    exit 0
    --- stdout
    calls.ptx: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let entries = ["--entry", "calls_reads_late"];
    insta::assert_snapshot!(compiled(name, &entries), @"
    exit 1
    --- stdout
    calls.ptx: race: REFUTED at param_2 = 4: smem_tile[0]: the read by warp1 at calls.cu:11 (line 161) and the write by warp0 at calls.cu:32 (line 524) are not ordered: an arrival of warp1 after calls.cu:11 that warp0 waits for before calls.cu:32 would order them
    --- stderr
    ");
}

#[test]
fn rings() {
    insta::assert_snapshot!(compiled("ring.ptx", &["--entry", "ring_of_3"]), @"
    exit 0
    --- stdout
    ring.ptx: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(compiled("stencil.ptx", &["--entry", "stencil"]), @"
    exit 0
    --- stdout
    stencil.ptx: race: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(compiled("bulk_ring.ptx", &["--entry", "bulk_ring"]), @"
    exit 0
    --- stdout
    bulk_ring.ptx: race: PROVED for every param_3 in 0..=1073741823, param_2_per_cta in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(compiled("matvec.ptx", &["--entry", "matvec"]), @"
    exit 0
    --- stdout
    matvec.ptx: race: PROVED for every param_3 in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Neighbours write in the next round what is read in this one, and nothing is between.
#[test]
fn cells_of_neighbours() {
    insta::assert_snapshot!(compiled("jacobi.ptx", &["--entry", "jacobi"]), @"
    exit 1
    --- stdout
    jacobi.ptx: race: REFUTED at param_1 = 2: smem_cells[0][1]: the read by cta0_warp0 at jacobi.cu:18 (line 93) and the write by cta0_warps1_2[0] at jacobi.cu:23 (line 127) are not ordered: an arrival of cta0_warp0 after jacobi.cu:18 that cta0_warps1_2[0] waits for before jacobi.cu:23 would order them
    --- stderr
    ");
}

/// Each warp's part of a stage is an element of its own, by the warp's number.
#[test]
fn the_text_with_accesses() {
    let folder = kernel("matvec.ptx");
    insta::assert_snapshot!(folder.run(&["lift", "--data", "matvec.ptx", "--entry", "matvec"]), @"
    exit 0
    --- stdout
    //! Recovered from the entry `matvec` of a PTX 9.5 text for sm_90a.
    //! 384 x 1 x 1 threads per CTA.
    //! Assumed: the launch has 384 threads per CTA, as many as .maxntid allows
    //! Assumed: lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands between them
    //! Assumed: lanes of a warp that diverge reconverge where their paths meet
    //! With what is read and written in shared memory; global memory is left out.
    protocol matvec

    param param_3 in 0..=1073741823

    mbarrier full_bar[3] { arrivals: 4 }   // counted in groups of 32 threads
    mbarrier empty_bar[3] { arrivals: 8 }  // counted in groups of 32 threads
    named cta_bar[16]
    buffer smem_tile[3, 4]

    role warp0 warp {
        sync cta_bar[0] 384    // matvec.cu:44
        for i in 0..param_3 {  // matvec.cu:44
            wait empty_bar[i % 3] (i / 3 + 1) % 2  // matvec.cu:22
            write smem_tile[i % 3, 0]              // matvec.cu:23
            arrive full_bar[i % 3]                 // matvec.cu:24
        }
    }

    role warps1_3[w in 0..3] warp {
        sync cta_bar[0] 384    // matvec.cu:44
        for i in 0..param_3 {  // matvec.cu:44
            wait empty_bar[i % 3] (i / 3 + 1) % 2  // matvec.cu:22
            write smem_tile[i % 3, w + 1]          // matvec.cu:23
            arrive full_bar[i % 3]                 // matvec.cu:24
        }
    }

    role warps4_11[w in 0..8] warp {
        sync cta_bar[0] 384    // matvec.cu:44
        for i in 0..param_3 {  // matvec.cu:44
            wait full_bar[i % 3] i / 3 % 2  // matvec.cu:30
            read smem_tile[i % 3, w % 4]    // matvec.cu:31
            arrive empty_bar[i % 3]         // matvec.cu:32
        }
        sync cta_bar[1] 256  // matvec.cu:34
    }
    --- stderr
    ");
}

/// The report names the lines of the source on which the accesses stand.
#[test]
fn the_report_of_a_race() {
    let folder = kernel("handover.ptx");
    let arguments = [
        "check",
        "--property",
        "race",
        "handover.ptx",
        "--entry",
        "relay_reads_late",
    ];
    insta::assert_snapshot!(folder.run(&arguments), @"
    exit 1
    --- stdout
    handover.ptx: race: REFUTED at param_2 = 6: smem_tile[0]: the read by warp2 at handover.cu:48 (line 591) and the write by warp0 at handover.cu:31 (line 541) are not ordered: an arrival of warp2 after handover.cu:48 that warp0 waits for before handover.cu:31 would order them
      names: param_2 is parameter 3 of the kernel
         --> handover.cu:31, handover.ptx:541
      541 | st.shared.v4.f32  [%r87], {%f11, %f11, %f11, %f11};
      trace:
        ... 2 earlier steps (-v shows them)
         3  warp2  comes to cta_bar[0] as the last of 96 threads  (handover.cu:112)
         4  warp0  passes stored_bar[0], which has left phase 1  (handover.cu:29)
         5  warp0  arrives at loaded_bar[0]: phase 1, 1 pending  (handover.cu:32)
         6  warp0  passes stored_bar[1], which has left phase 1  (handover.cu:29)
         7  warp0  arrives at loaded_bar[1]: phase 1, 1 pending  (handover.cu:32)
         8  warp0  passes stored_bar[2], which has left phase 1  (handover.cu:29)
         9  warp0  arrives at loaded_bar[2]: phase 1, 1 pending  (handover.cu:32)
        10  warp0  passes stored_bar[3], which has left phase 1  (handover.cu:29)
        11  warp0  arrives at loaded_bar[3]: phase 1, 1 pending  (handover.cu:32)
        12  warp0  passes stored_bar[4], which has left phase 1  (handover.cu:29)
        13  warp0  arrives at loaded_bar[4]: phase 1, 1 pending  (handover.cu:32)
        14  warp1  passes loaded_bar[0], which has left phase 0  (handover.cu:34)
        15  warp1  arrives at worked_bar[0]: phase 1, 1 pending  (handover.cu:42)
        16  warp2  passes worked_bar[0], which has left phase 0  (handover.cu:45)
        17  warp2  arrives at stored_bar[0]: phase 1, 1 pending  (handover.cu:47)
        18  warp0  passes stored_bar[0], which has left phase 0  (handover.cu:29)
      minimal: smallest by (param_2) among param_2 in 0..=8; every smaller one of these was explored exhaustively
      assumptions: 0 <= param_2 <= 1073741823; the launch has 96 threads per CTA, as many as .maxntid allows; lanes of a warp use shared memory in the order of their program, also where no `bar.warp.sync` stands between them; lanes of a warp that diverge reconverge where their paths meet; a resident CTA that can go on eventually does; semaphore operations are atomic and seen in one order by everyone
      decided by runs with somebody held in [time]
    --- stderr
    ");
}

/// What `lift --data` prints is what `check --property race` decides.
#[test]
fn the_lifted_text_gets_the_same_verdict() {
    for (file, entry, properties) in [
        ("ring.ptx", "ring_of_3", "race,stale_read"),
        ("handover.ptx", "relay_writes_late", "race"),
        ("handover.ptx", "sum", "race,stale_read"),
        ("jacobi.ptx", "jacobi", "race"),
    ] {
        let folder = kernel(file);
        let property = ["check", "-q", "--property", properties];
        let first = folder.run(&[&property[..], &[file, "--entry", entry]].concat());
        folder.run(&["lift", "--data", file, "--entry", entry, "-o", "lifted.wlk"]);
        let second = folder.run(&[&property[..], &["lifted.wlk"]].concat());
        let first = first.replace(file, "lifted.wlk");
        assert_eq!(without_lines(&first), without_lines(&second), "{entry}");
    }
}

/// One warp writes words, another reads bytes; `from` is where it begins.
fn widths(from: u32) -> String {
    format!(
        "@%p2 bra OTHER;
        shl.b32 %r4, %r3, 4;
        add.u32 %r5, %r8, %r4;
        st.shared.v4.f32 [%r5], {{%f1, %f2, %f3, %f4}};
        bra END;
        OTHER:
        add.u32 %r5, %r8, %r3;
        ld.shared.u8 %r6, [%r5+{from}];
        END:"
    )
}

#[test]
fn accesses_of_different_widths() {
    insta::assert_snapshot!(race(64, 1, &widths(511)), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED smem_tile: the write by warp0 at line 31 and the read by warp1 at line 35 are not ordered: an arrival of warp0 after line 31 that warp1 waits for before line 35 would order them
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, &widths(512)), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// The store is made by one lane, the other lanes' words are read.
#[test]
fn a_predicated_store() {
    let code = |lane: u32| {
        format!(
            "shl.b32 %r4, %r3, 2;
            add.u32 %r5, %r8, %r4;
            setp.eq.u32 %p3, %r1, {lane};
            @%p3 st.shared.u32 [%r5], %r1;
            @!%p2 bra END;
            ld.shared.u32 %r6, [%r8+16];
            END:"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code(4)), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED smem_tile: the write by warp0 at line 31 and the read by warp1 at line 33 are not ordered: an arrival of warp0 after line 31 that warp1 waits for before line 33 would order them
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, &code(5)), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Deadlock does not depend on addresses.
#[test]
fn an_address_from_memory() {
    let code = "
        ld.global.u32 %r4, [%rd9];
        add.u32 %r5, %r8, %r4;
        st.shared.u32 [%r5], %r1;
        bar.sync 0;";
    insta::assert_snapshot!(
        run(&entry(64, 1, code), &["check", "-q", "--property", "deadlock,race"]), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    kernel.ptx: race: UNKNOWN line 31, `st.shared.u32 [%r5], %r1`: `st.shared.u32`: an operand is read from memory
    --- stderr
    ");
}

#[test]
fn what_is_not_followed_is_named() {
    insta::assert_snapshot!(race(64, 1, "atom.shared.add.u32 %r4, [tile], 1;"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 28, `atom.shared.add.u32 %r4, [tile], 1`: `atom.shared.add.u32`: atomic operations on shared memory are not modelled as accesses
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, "st.volatile.shared.u32 [tile], %r1;"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 28, `st.volatile.shared.u32 [tile], %r1`: `st.volatile.shared.u32`: accesses that synchronize by themselves are not modelled
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, "ld.u32 %r4, [%rd3];"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 28, `ld.u32 %r4, [%rd3]`: `ld.u32`: its address: %rd3 is not known here: it is read before it is written
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, "st.shared.u32 [full], %r1;"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 28, `st.shared.u32 [full], %r1`: data is read or written where an mbarrier lies, at `full` + 0
    --- stderr
    ");
    let beyond = "shl.b32 %r4, %r1, 7;\nadd.u32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;";
    insta::assert_snapshot!(race(64, 1, beyond), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 30, `st.shared.u32 [%r5], %r1`: this access lies outside of `tile`
    --- stderr
    ");
    let branch = "ld.global.u32 %r4, [%rd9];\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 bra X;\n\
                  st.shared.u32 [tile], %r1;\nX:";
    // The graph takes the word for one of the launch.
    insta::assert_snapshot!(race(64, 1, branch), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED at at_p = 1: smem_tile_0: the write by warp0 at line 31 and the write by warp1 at line 31 are not ordered: an arrival of warp0 after line 31 that warp1 waits for before line 31 would order them
    --- stderr
    ");
}

/// One lane gives back what all lanes read: they may not have read it yet.
#[test]
fn lanes_that_are_behind() {
    let code = |meet: &str| {
        format!(
            "@%p2 bra OTHER;
            W:
            mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
            @!%p3 bra W;
            st.shared.u32 [tile], %r1;
            bra END;
            OTHER:
            ld.shared.u32 %r4, [tile];
            {meet}
            setp.ne.u32 %p4, %r3, 0;
            @%p4 bra END;
            mbarrier.arrive.shared.b64 _, [full];
            END:"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code("")), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 39, `mbarrier.arrive.shared.b64 _, [full]`: `mbarrier.arrive.shared.b64`: other lanes of the warp use shared memory before, and may not have done so when this is done: a `bar.warp.sync` is missing
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, &code("bar.warp.sync -1;")), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// One lane waits until its copy has read what all lanes overwrite.
#[test]
fn lanes_that_are_ahead() {
    let code = |meet: &str| {
        format!(
            "@%p2 bra END;
            shl.b32 %r4, %r1, 2;
            add.u32 %r5, %r8, %r4;
            @%p1 bra NEXT;
            cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r8], 128;
            cp.async.bulk.commit_group;
            cp.async.bulk.wait_group.read 0;
            NEXT:
            {meet}
            st.shared.u32 [%r5], %r1;
            END:"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code("")), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 37, `st.shared.u32 [%r5], %r1`: `st.shared.u32`: some lanes of the warp waited before, and the others may come here ahead of them: a `bar.warp.sync` is missing
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, &code("bar.warp.sync -1;")), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// Copies are waited for by groups, and everybody meets.
#[test]
fn groups_of_copies() {
    let code = |wait: &str| {
        format!(
            "shl.b32 %r4, %r1, 4;
            add.u32 %r5, %r8, %r4;
            cp.async.cg.shared.global [%r5], [%rd9], 16;
            cp.async.commit_group;
            {wait}
            bar.sync 0;
            xor.b32 %r4, %r4, 512;
            add.u32 %r5, %r8, %r4;
            ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r5];"
        )
    };
    insta::assert_snapshot!(race(64, 1, &code("cp.async.wait_group 0;")), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, &code("cp.async.wait_group 1;")), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED smem_tile_512: the asynchronous write that warp1 starts at line 30 and the read by warp0 at line 36 are not ordered: nothing tells when the first is complete; a `commit`, or a `commit_group` with a `wait_group 0` (without `read`), and an arrival after it that warp0 waits for, before line 36 would order them
    --- stderr
    ");
    insta::assert_snapshot!(race(64, 1, &code("cp.async.wait_all;")), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
}

/// A tile leaves by a bulk copy: threads write it through the generic proxy.
fn stored(property: &str, fence: &str, wait: &str) -> String {
    let copy = "cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r8], 256;";
    let code = leaving(&format!("{fence}\nbar.sync 0;"), copy, wait);
    let arguments = ["check", "-q", "--property", property];
    run(&entry(64, 1, &code), &arguments)
}

/// In each round, threads write a tile, `meet`, and lane 0 of warp 0 starts a copy of it and waits for it.
pub fn leaving(meet: &str, copy: &str, wait: &str) -> String {
    format!(
        "setp.eq.u32 %p4, %r9, 0;
        @%p4 bra END;
        mov.u32 %r7, 0;
        L:
        shl.b32 %r4, %r1, 2;
        add.u32 %r5, %r8, %r4;
        st.shared.u32 [%r5], %r1;
        {meet}
        @%p1 bra S;
        {copy}
        cp.async.bulk.commit_group;
        {wait}
        S:
        bar.sync 0;
        add.u32 %r7, %r7, 1;
        setp.lt.u32 %p5, %r7, %r9;
        @%p5 bra L;
        END:"
    )
}

#[test]
fn a_tile_that_is_stored() {
    let (fence, wait) = (
        "fence.proxy.async.shared::cta;",
        "cp.async.bulk.wait_group.read 0;",
    );
    insta::assert_snapshot!(stored("race,stale_read", fence, wait), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    kernel.ptx: stale_read: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(stored("race", fence, ""), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED at p_n = 2: smem_tile[0]: the asynchronous read that warp0 starts at line 38 and the write by warp0 at line 34 are not ordered: nothing tells when the first is complete; a `commit`, or a `commit_group` with a `wait_group 0` before line 34 would order them
    --- stderr
    ");
    insta::assert_snapshot!(stored("race,stale_read", "", wait), @"
    exit 1
    --- stdout
    kernel.ptx: race: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    kernel.ptx: stale_read: REFUTED at p_n = 1: the asynchronous read that warp0 starts at line 38 of smem_tile[0] comes after the write by warp0 at line 34 and need not see it: the read goes through the async proxy, and no proxy fence stands on the way; a `fence.proxy.async` between line 34 and line 38 would make it visible
    --- stderr
    ");
    // A fence for global memory is none for shared memory.
    insta::assert_snapshot!(stored("stale_read", "fence.proxy.async.global;", wait), @"
    exit 1
    --- stdout
    kernel.ptx: stale_read: REFUTED at p_n = 1: the asynchronous read that warp0 starts at line 38 of smem_tile[0] comes after the write by warp0 at line 34 and need not see it: the read goes through the async proxy, and no proxy fence stands on the way; a `fence.proxy.async` between line 34 and line 38 would make it visible
    --- stderr
    ");
}

/// A verdict on races for small kernels of two warps: the second one goes to `O`.
#[test]
fn small_cases() {
    let generic = |meet: &str| {
        format!(
            "mov.u64 %rd1, tile;
            cvta.shared.u64 %rd2, %rd1;
            mul.wide.u32 %rd3, %r1, 4;
            add.s64 %rd4, %rd2, %rd3;
            st.u32 [%rd4], %r1;
            {meet}
            xor.b32 %r4, %r1, 32;
            mul.wide.u32 %rd3, %r4, 4;
            add.s64 %rd4, %rd2, %rd3;
            ld.u32 %r5, [%rd4];"
        )
    };
    let arrays = |distance: u32| {
        format!(
            "shl.b32 %r4, %r3, 2;
            add.u32 %r5, %r8, %r4;
            @%p2 bra O;
            st.shared.u32 [%r5], %r1;
            bra E;
            O:
            st.shared.u32 [%r5+{distance}], %r1;
            E:"
        )
    };
    let lanes = |negated: &str| {
        format!(
            "and.b32 %r4, %r3, 1;
            setp.eq.u32 %p4, %r4, 1;
            shl.b32 %r5, %r3, 2;
            add.u32 %r6, %r8, %r5;
            @%p2 bra O;
            @%p4 st.shared.u32 [%r6], %r1;
            bra E;
            O:
            @{negated}%p4 ld.shared.u32 %r7, [%r6];
            E:"
        )
    };
    let downward = |first: u32| {
        format!(
            "mov.u32 %r4, 31;
            L:
            shl.b32 %r5, %r4, 6;
            add.u32 %r6, %r8, %r5;
            @%p2 bra O;
            st.shared.v4.u32 [%r6+16], {{%r1, %r1, %r1, %r1}};
            bra N;
            O:
            ld.shared.u32 %r7, [%r6+{first}];
            N:
            add.s32 %r4, %r4, -1;
            setp.ge.s32 %p4, %r4, 0;
            @%p4 bra L;"
        )
    };
    let after_arrival = |offset: u32| {
        format!(
            "@%p2 bra O;
            st.shared.u32 [%r8], %r1;
            bar.arrive 1, 64;
            st.shared.u32 [%r8+{offset}], %r1;
            bra E;
            O:
            bar.sync 1, 64;
            ld.shared.u32 %r4, [%r8];
            E:"
        )
    };
    let by_parameter = "setp.eq.u32 %p4, %r9, 7;
        @%p2 bra O;
        st.shared.u32 [%r8], %r1;
        O:
        @%p4 bra T;
        bar.sync 0;
        T:
        @!%p2 bra E;
        ld.shared.u32 %r4, [%r8];
        E:";
    for (code, verdict) in [
        (generic("bar.sync 0;"), "PROVED"),
        (generic("bar.warp.sync -1;"), "REFUTED"),
        (arrays(128), "PROVED"),
        (arrays(125), "REFUTED"),
        (lanes("!"), "PROVED"),
        (lanes(""), "REFUTED"),
        (downward(12), "PROVED"),
        (downward(32), "PROVED"),
        (downward(28), "REFUTED"),
        (after_arrival(4), "PROVED"),
        (after_arrival(2), "REFUTED"),
        (by_parameter.to_owned(), "REFUTED at p_n = 7"),
    ] {
        let found = race(64, 1, &code);
        let expected = format!("race: {verdict}");
        assert!(found.contains(&expected), "{code}\n{found}");
    }
}

/// What is taken away from an address may be added as its complement.
#[test]
fn addresses_that_wrap_around() {
    let back = |offset: u32, ordered: &str| {
        let code = format!(
            "shl.b32 %r4, %r1, 2;\nadd.s32 %r5, %r8, %r4;\nst.shared.u32 [%r5], %r1;\n{ordered}\n\
             not.b32 %r6, %r1;\nshl.b32 %r6, %r6, 2;\nadd.s32 %r7, %r8, %r6;\nld.shared.u32 %r10, [%r7+{offset}];"
        );
        race(64, 1, &code)
    };
    insta::assert_snapshot!(back(256, "bar.sync 0;"), @"
    exit 0
    --- stdout
    kernel.ptx: race: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(back(256, ""), @"
    exit 1
    --- stdout
    kernel.ptx: race: REFUTED smem_tile_128: the read by warp0 at line 35 and the write by warp1 at line 30 are not ordered: an arrival of warp0 after line 35 that warp1 waits for before line 30 would order them
    --- stderr
    ");
    insta::assert_snapshot!(back(252, "bar.sync 0;"), @"
    exit 4
    --- stdout
    kernel.ptx: race: UNKNOWN line 35, `ld.shared.u32 %r10, [%r7+252]`: this access lies outside of `tile`
    --- stderr
    ");
}

/// Warp-synchronous code without `__syncwarp` rests on the lanes of a warp keeping in step, which is said.
#[test]
fn lanes_that_are_taken_to_keep_in_step() {
    let code = |between: &str| {
        format!(
            "mad.lo.u32 %r4, %r1, 4, %r8;\nst.shared.u32 [%r4], %r1;\n{between}\nxor.b32 %r5, %r1, 1;\n\
             mad.lo.u32 %r6, %r5, 4, %r8;\nld.shared.u32 %r7, [%r6];"
        )
    };
    let step = "lanes of a warp use shared memory in the order of their program";
    for property in ["race", "stale_read"] {
        let check = |between: &str| {
            let found = run(
                &entry(64, 1, &code(between)),
                &["check", "--property", property],
            );
            assert!(found.starts_with("exit 0"), "{found}");
            found.contains(step)
        };
        assert!(check(""));
        assert!(!check("bar.warp.sync -1;"));
        assert!(!check("bar.sync 0;"));
    }
}
