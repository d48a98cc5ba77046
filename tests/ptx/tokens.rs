//! Phase tokens of mbarriers, and what ends a part in one: `arrive_drop` and `inval`.

use crate::support::program::Folder;

fn check(threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n)\n.reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n\
             .shared .align 8 .b8 bar[64];\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, bar;\nld.param.u32 %r9, [n];\n\
             setp.ne.u32 %p1, %r1, 0;\nsetp.lt.s32 %p9, %r9, 1;\nmov.u32 %r5, 0;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&["check", "-q", "kernel.ptx", "--cluster", "1"])
}

/// Thread 0 initialises mbarriers with these counts.
fn initialised(counts: &[u32]) -> String {
    let each = counts.iter().enumerate();
    let each: String = each
        .map(|(place, count)| format!("mbarrier.init.shared.b64 [%r2+{}], {count};\n", 8 * place))
        .collect();
    format!("@%p1 bra A;\n{each}A: bar.sync 0;\n")
}

/// One warp fills two buffers in turn, the other empties them: everybody arrives at `ready` and at `filled`.
fn double_buffer(ready: u32, filled: u32, producer: &str, first: &str, consumer: &str) -> String {
    let start = initialised(&[ready, ready, filled, filled]);
    let turn = "and.b32 %r6, %r5, 1;\nshl.b32 %r6, %r6, 3;\nadd.u32 %r6, %r2, %r6;\n";
    let next = "add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r9;\n";
    format!(
        "{start}setp.ge.u32 %p3, %r1, 32;\n@%p3 bra C;\n@%p9 bra END;\n\
         P:\n{turn}{producer}\n{next}@%p4 bra P;\nbra END;\n\
         C:\n{first}\n@%p9 bra END;\nD:\n{turn}{consumer}\n{next}@%p4 bra D;\nEND:\n"
    )
}

const FILL: &str = "mbarrier.arrive.shared.b64 %rd1, [%r6];\n\
    W1: mbarrier.try_wait.shared.b64 %p2, [%r6], %rd1;\n@!%p2 bra W1;\n\
    mbarrier.arrive.shared.b64 %rd2, [%r6+16];";
const FIRST: &str =
    "mbarrier.arrive.shared.b64 %rd3, [%r2];\nmbarrier.arrive.shared.b64 %rd4, [%r2+8];";
const EMPTY: &str = "mbarrier.arrive.shared.b64 %rd5, [%r6+16];\n\
    W2: mbarrier.try_wait.shared.b64 %p2, [%r6+16], %rd5;\n@!%p2 bra W2;\n\
    mbarrier.arrive.shared.b64 %rd6, [%r6];";

#[test]
fn two_buffers_with_tokens() {
    insta::assert_snapshot!(check(64, &double_buffer(64, 64, FILL, FIRST, EMPTY)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The buffers are not said to be empty at first.
    insta::assert_snapshot!(check(64, &double_buffer(64, 64, FILL, "", EMPTY)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: warp0 and warp1 wait for each other: warp0 (line 31) for warp1 to arrive at bar_0[0], warp1 (line 46) for warp0 to arrive at bar_16[0]: no barrier here has ever completed, so one of these first waits has to be for parity 1
    --- stderr
    ");
    // Only one of them is.
    let one = "mbarrier.arrive.shared.b64 %rd3, [%r2];";
    insta::assert_snapshot!(check(64, &double_buffer(64, 64, FILL, one, EMPTY)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: warp0 and warp1 wait for each other: warp0 (line 31) for warp1 to arrive at bar_0[1], warp1 (line 46) for warp0 to arrive at bar_16[1]: no barrier here has ever completed, so one of these first waits has to be for parity 1
    --- stderr
    ");
    // One arrival is too few for `filled`.
    insta::assert_snapshot!(check(64, &double_buffer(64, 96, FILL, FIRST, EMPTY)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: bar_16[0] takes 3 arrivals, 2 came (warp0 and warp1), and warp1 waits for the rest (line 47): no more than 2 arrivals come in a phase
    --- stderr
    ");
    // The producer does not wait for an empty buffer, and so completes the phase of `filled` by itself.
    let ahead =
        "mbarrier.arrive.shared.b64 %rd1, [%r6];\nmbarrier.arrive.shared.b64 %rd2, [%r6+16];";
    insta::assert_snapshot!(check(64, &double_buffer(64, 64, ahead, FIRST, EMPTY)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 3: warp1 first waits for bar_16[0] with parity 1 (line 44). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (line 31). A first wait for a completion uses parity 0
    --- stderr
    ");
    // More arrive than are expected: whose phase is whose is not known.
    insta::assert_snapshot!(check(64, &double_buffer(64, 32, FILL, FIRST, EMPTY)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 47, `mbarrier.try_wait.shared.b64 %p2, [%r6+16], %rd5`: waiting by a phase token is followed only where the mbarrier is initialised before a barrier of all threads, who waits so does it after each arrival there, all who arrive are no more than it expects, and others arrive at most once more often
    --- stderr
    ");
}

/// One lane expects the bytes of a copy when it arrives, and the others only arrive.
#[test]
fn lanes_that_arrive_apart() {
    let code = |bytes: u32, rest: &str| {
        format!(
            "{}@%p9 bra END;\nL:\n@%p1 bra O;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+32], [%rd9], 16, [%r2];\n\
             mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r2], {bytes};\nbra M;\n\
             O:\n{rest}\nM:\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n\
             bar.sync 0;\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r9;\n@%p4 bra L;\nEND:\n",
            initialised(&[64])
        )
    };
    let arrive = "mbarrier.arrive.shared.b64 %rd1, [%r2];";
    insta::assert_snapshot!(check(64, &code(16, arrive)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(32, arrive)), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: bar expects 32 bytes (line 24) and gets 16 (line 23): nobody delivers the other 16; warp0 waits for it (line 29)
    --- stderr
    ");
    // They arrive elsewhere.
    let elsewhere = "mbarrier.arrive.shared.b64 %rd1, [%r2+8];";
    insta::assert_snapshot!(check(64, &code(16, elsewhere)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 22, `@%p1 bra O`: lanes of one warp take different ways, and both take part in synchronization
    --- stderr
    ");
}

/// Two tokens at once, of mbarriers that are not each other.
#[test]
fn tokens_of_several_mbarriers() {
    let code = |second: &str| {
        format!(
            ".shared .align 8 .b8 other[8];\nmov.u32 %r3, other;\n@%p1 bra A;\n\
             mbarrier.init.shared.b64 [%r2], 64;\nmbarrier.init.shared.b64 [%r3], 64;\nA: bar.sync 0;\n\
             mbarrier.arrive.shared.b64 %rd1, [%r2];\nmbarrier.arrive.shared.b64 %rd2, [{second}];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n\
             V: mbarrier.try_wait.shared.b64 %p3, [{second}], %rd2;\n@!%p3 bra V;\n"
        )
    };
    insta::assert_snapshot!(check(64, &code("%r3")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code("%r2")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1`: `mbarrier.try_wait.shared.b64`: its phase token is not certainly that of the last arrival here
    --- stderr
    ");
}

/// The second warp takes part in the first phase only.
#[test]
fn a_warp_that_drops_out() {
    let code = |count: u32, drop: &str, behind: &str| {
        format!(
            "{}setp.ge.u32 %p3, %r1, 32;\n@%p3 bra B;\n@%p9 bra END;\n\
             L: mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r9;\n@%p4 bra L;\nbra END;\n\
             B: {drop}\n{behind}\nEND:\n",
            initialised(&[count])
        )
    };
    let drop = "mbarrier.arrive_drop.shared.b64 _, [%r2];";
    insta::assert_snapshot!(check(64, &code(64, drop, "")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every p_n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(96, drop, "")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at p_n = 1: bar_bar takes 3 arrivals, 2 came (warp0 and warp1), and warp0 waits for the rest (line 24): warp1 arrives only once, because `for i in 0..p_n - 1` (line 30) makes no trip
    --- stderr
    ");
    // It only arrives.
    insta::assert_snapshot!(check(64, &code(64, "mbarrier.arrive.shared.b64 _, [%r2];", "")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 2: bar takes 2 arrivals, 1 came (warp0), and warp0 waits for the rest (line 24): warp1 arrives once and has ended
    --- stderr
    ");
    // It arrives again.
    insta::assert_snapshot!(check(64, &code(64, drop, "mbarrier.arrive.shared.b64 _, [%r2];")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 30, `mbarrier.arrive_drop.shared.b64 _, [%r2]`: this is followed only where it is the last that its warp does, everybody waits by phase token after each arrival, and the others arrive equally often
    --- stderr
    ");
}

/// What is expected sinks by the arrival that drops out only, so that the part before it is missing from then on.
#[test]
fn a_warp_that_drops_out_in_two_parts() {
    let code = |count: u32, part: &str| {
        format!(
            "{}setp.ge.u32 %p3, %r1, 32;\n@%p3 bra B;\n@%p9 bra END;\n\
             L: mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n\
             add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r9;\n@%p4 bra L;\nbra END;\n\
             B: {part}\nmbarrier.arrive_drop.shared.b64 _, [%r2]{};\nEND:\n",
            initialised(&[count]),
            if part.is_empty() { ", 3" } else { "" }
        )
    };
    let part = "mbarrier.arrive.noComplete.shared.b64 %rd3, [%r2], 2;";
    insta::assert_snapshot!(check(64, &code(128, part)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `mbarrier.arrive_drop.shared.b64 _, [%r2]`: `mbarrier.arrive_drop.shared.b64`: an arrival in two parts that then drops out is not followed
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(128, "")), @r"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 31, `mbarrier.arrive_drop.shared.b64 _, [%r2], 3`: this arrives at an mbarrier with a count, and lanes of a warp arrive there one by one, with another count: when only some of them have arrived, it may be more than the phase lacks, which is undefined
    --- stderr
    ");
}

/// Another warp may have arrived first: then the first part would complete the phase.
#[test]
fn arrivals_in_two_parts_that_others_come_between() {
    let code = |count: u32| {
        format!(
            "{}and.b32 %r7, %r1, 31;\nsetp.ne.u32 %p5, %r7, 0;\n@%p5 bra E;\nsetp.ge.u32 %p3, %r1, 32;\n@%p3 bra B;\n\
             mbarrier.arrive.noComplete.shared.b64 %rd3, [%r2], 1;\nmbarrier.arrive.shared.b64 _, [%r2];\nbra E;\n\
             B: mbarrier.arrive.shared.b64 _, [%r2];\n\
             W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@!%p2 bra W;\nE:\n",
            initialised(&[count])
        )
    };
    let shown = check(64, &code(3));
    assert!(shown.contains("PROVED"), "{shown}");
    let shown = check(64, &code(2));
    assert!(
        shown.contains(
            "UNKNOWN a run does something undefined: warp0: 2 arrivals where 1 is pending"
        ),
        "{shown}"
    );
}

/// An arrival that must not complete the phase, and the one right behind it that may.
#[test]
fn arrivals_in_two_parts() {
    let code = |count: u32, between: &str| {
        format!(
            "{}mbarrier.arrive.noComplete.shared.b64 %rd3, [%r2], 2;\n{between}\n\
             mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n",
            initialised(&[count, 64])
        )
    };
    insta::assert_snapshot!(check(64, &code(192, "")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(256, "")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED bar_bar takes 256 arrivals, 192 came (warp0 and warp1), and warp0 waits for the rest (line 24): no more than 192 arrivals come in a phase
    --- stderr
    ");
    let waits = "mbarrier.arrive.shared.b64 %rd2, [%r2+8];\n\
                 V: mbarrier.try_wait.shared.b64 %p3, [%r2+8], %rd2;\n@!%p3 bra V;";
    insta::assert_snapshot!(check(64, &code(192, waits)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 21, `mbarrier.arrive.noComplete.shared.b64 %rd3, [%r2], 2`: that this does not complete the phase is known only where the same threads arrive right behind it
    --- stderr
    ");
}

#[test]
fn lives_that_end() {
    let code = |end: &str| {
        format!(
            "{}mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n{end}",
            initialised(&[64])
        )
    };
    let inval = "@%p1 bra B;\nmbarrier.inval.shared.b64 [%r2];\nB:\n";
    insta::assert_snapshot!(check(64, &code(&format!("bar.sync 0;\n{inval}"))), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    // Others may still test it.
    insta::assert_snapshot!(check(64, &code(inval)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24, `mbarrier.inval.shared.b64 [%r2]`: the mbarrier may be used behind this: no barrier of all threads stands between (line 20, `mbarrier.arrive.shared.b64 %rd1, [%r2]`)
    --- stderr
    ");
    let again = "bar.sync 0;\nmbarrier.arrive.shared.b64 %rd1, [%r2];\n";
    insta::assert_snapshot!(check(64, &code(&format!("bar.sync 0;\n{inval}{again}"))), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `mbarrier.inval.shared.b64 [%r2]`: the mbarrier may be used behind this: no barrier of all threads stands between (line 28, `mbarrier.arrive.shared.b64 %rd1, [%r2]`)
    --- stderr
    ");
}

/// What stands between the last use and the end of a life has to be there whatever the launch.
#[test]
fn lives_that_end_behind_a_barrier() {
    let code = |before: &str, between: &str| {
        format!(
            "{}{before}mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n{between}\
             @%p1 bra B;\nmbarrier.inval.shared.b64 [%r2];\nB:\n",
            initialised(&[64])
        )
    };
    let looped = "@%p9 bra E;\nL: bar.sync 0;\nadd.u32 %r5, %r5, 1;\n\
                  setp.lt.s32 %p4, %r5, %r9;\n@%p4 bra L;\nE:\n";
    insta::assert_snapshot!(check(64, &code("", looped)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 30, `mbarrier.inval.shared.b64 [%r2]`: the mbarrier may be used behind this: no barrier of all threads stands between (line 20, `mbarrier.arrive.shared.b64 %rd1, [%r2]`)
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code("", "@%p9 bra E;\nbar.sync 0;\nE:\n")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 27, `mbarrier.inval.shared.b64 [%r2]`: the mbarrier may be used behind this: no barrier of all threads stands between (line 20, `mbarrier.arrive.shared.b64 %rd1, [%r2]`)
    --- stderr
    ");
    // Behind the loop there is one in any case.
    insta::assert_snapshot!(check(64, &code("", &format!("{looped}bar.sync 0;\n"))), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    let (arrive, wait) = (
        "barrier.cluster.arrive.aligned;\n",
        "barrier.cluster.wait.aligned;\n",
    );
    insta::assert_snapshot!(check(64, &code("", &format!("{arrive}{wait}"))), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    // Whoever still waits has arrived at the cluster barrier before.
    insta::assert_snapshot!(check(64, &code(arrive, wait)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26, `mbarrier.inval.shared.b64 [%r2]`: the mbarrier may be used behind this: no barrier of all threads stands between (line 21, `mbarrier.arrive.shared.b64 %rd1, [%r2]`)
    --- stderr
    ");
}

/// Of a cluster barrier the initialisation has to come before the arrival.
#[test]
fn lives_that_begin_before_a_cluster_barrier() {
    let code = |before: &str, between: &str| {
        format!(
            "{before}@%p1 bra A;\nmbarrier.init.shared.b64 [%r2], 64;\nA:\n{between}\
             barrier.cluster.wait.aligned;\nmbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n"
        )
    };
    let arrive = "barrier.cluster.arrive.aligned;\n";
    insta::assert_snapshot!(check(64, &code("", arrive)), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(arrive, "")), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 23, `mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1`: waiting by a phase token is followed only where the mbarrier is initialised before a barrier of all threads, who waits so does it after each arrival there, all who arrive are no more than it expects, and others arrive at most once more often
    --- stderr
    ");
}

/// Between two tests it sleeps for as long as a clock says.
#[test]
fn waits_that_sleep() {
    let code = |count: u32, nap: &str| {
        format!(
            "{}mbarrier.arrive.shared.b64 %rd1, [%r2];\nmov.u64 %rd3, %globaltimer;\nmov.u32 %r7, 0;\nbra W;\n\
             N: add.u32 %r7, %r7, 1;\n\
             W: mbarrier.test_wait.shared.b64 %p2, [%r2], %rd1;\n@%p2 bra END;\n\
             setp.lt.s32 %p3, %r7, 16;\n@%p3 bra N;\n\
             mov.u64 %rd4, %globaltimer;\nsub.s64 %rd5, %rd4, %rd3;\nsetp.lt.s64 %p4, %rd5, 4000000;\n@%p4 bra S;\n\
             nanosleep.u32 1000000;\nbra W;\nS:\n{nap}\nnanosleep.u32 100;\nbra W;\nEND:\n",
            initialised(&[count])
        )
    };
    insta::assert_snapshot!(check(64, &code(64, "")), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(check(64, &code(96, "")), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED bar takes 3 arrivals, 2 came (warp0 and warp1), and warp0 waits for the rest (line 25): no more than 2 arrivals come in a phase
    --- stderr
    ");
    // It waits for lanes that may be gone.
    let exchanges = "shfl.sync.idx.b32 %r8|%p5, %r7, 0, 31, -1;";
    insta::assert_snapshot!(check(64, &code(64, exchanges)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 32, `@%p4 bra S`: a branch decides about synchronization, but %p4 is not known here: `%globaltimer` is not followed (line 29, `mov.u64 %rd4, %globaltimer`)
    --- stderr
    ");
    // What some of the rounds do is seen by others.
    let arrives = "mbarrier.arrive.shared.b64 %rd7, [%r2+8];";
    insta::assert_snapshot!(check(64, &code(64, arrives)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25, `mbarrier.test_wait.shared.b64 %p2, [%r2], %rd1`: `mbarrier.test_wait.shared.b64`: its phase token is not certainly that of the last arrival here
    --- stderr
    ");
}
