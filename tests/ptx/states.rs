//! Waits for the states of arrivals, recovered from the control-flow graph.

use crate::support::program::Folder;

fn check(threads: u32, code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n)\n.reqntid {threads}, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n\
             .shared .align 8 .b8 bar[64];\n.shared .align 128 .b8 tile[1024];\n\
             mov.u32 %r1, %tid.x;\nmov.u32 %r2, bar;\nld.param.u32 %r9, [n];\n\
             setp.ne.u32 %p1, %r1, 0;\nsetp.lt.s32 %p9, %r9, 1;\nmov.u32 %r5, 0;\n{code}\nret;\n}}\n"
        ),
    );
    folder.run(&[
        "check",
        "-q",
        "kernel.ptx",
        "--cluster",
        "1",
        "--recovery",
        "graph",
    ])
}

/// Thread 0 initialises mbarriers with these counts.
fn initialised(counts: &[u32]) -> String {
    let each = counts.iter().enumerate();
    let each: String = each
        .map(|(place, count)| format!("mbarrier.init.shared.b64 [%r2+{}], {count};\n", 8 * place))
        .collect();
    format!("@%p1 bra A;\n{each}A: bar.sync 0;\n")
}

/// Rounds `0..n` of some code.
fn rounds(code: &str) -> String {
    format!(
        "@%p9 bra END;\nL:\n{code}\nadd.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r9;\n@%p4 bra L;\nEND:\n"
    )
}

const MEET: &str = "mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
    W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;";

/// All threads arrive and wait: `b.wait(b.arrive())`.
#[test]
fn a_barrier_of_all() {
    let of = |count: u32| check(96, &format!("{}{}", initialised(&[count]), rounds(MEET)));
    insta::assert_snapshot!(of(96), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // One warp too few.
    insta::assert_snapshot!(of(128), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: bar takes 4 arrivals, 3 came (warp0, warps1_2[0] and warps1_2[1]), and warp0 waits for the rest (line 24): no more than 3 arrivals come in a phase
    --- stderr
    ");
    // One warp too many: in which phase an arrival counts depends on who comes first.
    insta::assert_snapshot!(of(64), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 24: more may arrive in a round than a phase takes: which phase a state names depends on the schedule
    --- stderr
    ");
}

/// Something is done between the arrival and the wait.
#[test]
fn a_barrier_in_two_halves() {
    let halves = "mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
        mbarrier.arrive.shared.b64 %rd2, [%r2+8];\n\
        W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\n\
        V: mbarrier.test_wait.shared.b64 %p2, [%r2+8], %rd2;\n@!%p2 bra V;";
    let code = format!("{}{}", initialised(&[64, 64]), rounds(halves));
    insta::assert_snapshot!(check(64, &code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // Each waits at the other's mbarrier: PTX says nothing about such a state.
    let crossed = halves.replace("[%r2], %rd1", "[%r2], %rd2");
    let code = format!("{}{}", initialised(&[64, 64]), rounds(&crossed));
    insta::assert_snapshot!(check(64, &code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 26: which mbarrier of a ring an arrival is at does not follow from how many came before
    --- stderr
    ");
}

/// One lane expects the bytes of a copy, and the others only arrive.
#[test]
fn a_lane_that_expects() {
    let fill = |bytes: u32| {
        let code = format!(
            "@%p1 bra O;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd9], 1024, [%r2];\n\
             mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r2], {bytes};\nbra M;\n\
             O: mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
             M: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra M;\nbar.sync 0;"
        );
        let start = initialised(&[64]);
        check(64, &format!("mov.u32 %r7, tile;\n{start}{}", rounds(&code)))
    };
    insta::assert_snapshot!(fill(1024), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    insta::assert_snapshot!(fill(2048), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: bar expects 2048 bytes (line 26) and gets 1024 (line 25): nobody delivers the other 1024; warp0 waits for it (line 29)
    --- stderr
    ");
}

/// One warp fills two buffers in turn, the others empty them.
fn double_buffer(producer: &str, first: &str, consumer: &str) -> String {
    let start = initialised(&[65, 65, 65, 65]);
    let turn = "and.b32 %r6, %r5, 1;\nshl.b32 %r6, %r6, 3;\nadd.u32 %r6, %r2, %r6;\n";
    let next = "add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5, %r9;\n";
    let code = format!(
        "{start}setp.ge.u32 %p3, %r1, 32;\n@%p3 bra C;\n@%p1 bra END;\n@%p9 bra END;\n\
         P:\n{turn}{producer}\n{next}@%p4 bra P;\nbra END;\n\
         C:\n{first}\n@%p9 bra END;\nD:\n{turn}{consumer}\n{next}@%p4 bra D;\nEND:\n"
    );
    check(96, &code)
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
fn a_ring() {
    insta::assert_snapshot!(double_buffer(FILL, FIRST, EMPTY), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
    // The buffers are not said to be empty at first.
    insta::assert_snapshot!(double_buffer(FILL, "", EMPTY), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 1: warp0 and warps1_2[0] wait for each other: warp0 (line 33) for warps1_2[0] to arrive at bar_0[0], warps1_2[0] (line 48) for warp0 to arrive at bar_16[0]: no barrier here has ever completed, so one of these first waits has to be for parity 1
    --- stderr
    ");
    // The consumers give nothing back.
    let keep = EMPTY.replace("mbarrier.arrive.shared.b64 %rd6, [%r6];", "");
    insta::assert_snapshot!(double_buffer(FILL, FIRST, &keep), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 3: bar_0[0] takes 65 arrivals, 1 came (warp0), and warp0 waits for the rest (line 33): warps1_2[0] and warps1_2[1] arrive 32 times each and not again
    --- stderr
    ");
    // They give everything back twice, so that the producer does not stay in step.
    let twice = format!("{EMPTY}\nmbarrier.arrive.shared.b64 %rd7, [%r6];");
    insta::assert_snapshot!(double_buffer(FILL, FIRST, &twice), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 33: more may arrive in a round than a phase takes: which phase a state names depends on the schedule
    --- stderr
    ");
}

/// A producer that does not wait for empty buffers completes phases without those who wait. They hang, though the waits for
/// parities that these waits are in step would pass.
#[test]
fn a_producer_that_runs_ahead() {
    let ahead = |times: u32| {
        let start = initialised(&[2, 2, 2, 2]);
        let turn = "and.b32 %r6, %r5, 1;\nshl.b32 %r6, %r6, 3;\nadd.u32 %r6, %r2, %r6;\n";
        let next = "add.u32 %r5, %r5, 1;\nsetp.lt.s32 %p4, %r5";
        let code = format!(
            "{start}@%p9 bra END;\nmul.lo.u32 %r8, %r9, {times};\nsetp.eq.u32 %p3, %r1, 32;\n@%p3 bra C;\n@%p1 bra END;\n\
             P:\n{turn}mbarrier.arrive.shared.b64 %rd2, [%r6+16];\n{next}, %r8;\n@%p4 bra P;\nbra END;\n\
             C:\n{turn}mbarrier.arrive.shared.b64 %rd5, [%r6+16];\n\
             W2: mbarrier.try_wait.shared.b64 %p2, [%r6+16], %rd5;\n@!%p2 bra W2;\n{next}, %r9;\n@%p4 bra C;\nEND:\n"
        );
        check(64, &code)
    };
    insta::assert_snapshot!(ahead(1), @"
    exit 1
    --- stdout
    kernel.ptx: deadlock: REFUTED at n = 3: warp1 first waits for bar_16[0] with parity 1 (line 42). On a new mbarrier that wait passes at once, but warp0 has completed phase 0 (line 33). A first wait for a completion uses parity 0
    --- stderr
    ");
    // It arrives so often that they might come to their ends.
    insta::assert_snapshot!(ahead(2), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 43: others may arrive more than once more often than a warp that waits for the states of its arrivals
    --- stderr
    ");
}

/// States that are not certainly those of the last arrival.
#[test]
fn other_states() {
    // Of the round before.
    let late = "mbarrier.arrive.shared.b64 %rd2, [%r2];\n\
        W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;\nmov.b64 %rd1, %rd2;";
    let start = format!(
        "{}mbarrier.arrive.shared.b64 %rd1, [%r2];\n",
        initialised(&[32])
    );
    insta::assert_snapshot!(check(32, &format!("{start}{}", rounds(late))), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25: which arrival this state is of depends on the way here
    --- stderr
    ");
    // A number that no arrival has given.
    let forged = MEET.replace("[%r2], %rd1;\n@", "[%r2], %rd3;\n@");
    let code = format!(
        "{}mov.b64 %rd3, 4294967296;\n{}",
        initialised(&[32]),
        rounds(&forged)
    );
    insta::assert_snapshot!(check(32, &code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25: a wait for a state that may be none of an arrival, or one of an arrival that is not followed
    --- stderr
    ");
    // Every other arrival is not waited for.
    let skipped = format!(
        "and.b32 %r6, %r5, 1;\nsetp.eq.u32 %p6, %r6, 0;\n{}",
        MEET.replace("W: mbarrier", "@%p6 bra S;\nW: mbarrier",)
    ) + "\nS:";
    let code = format!("{}{}", initialised(&[32]), rounds(&skipped));
    insta::assert_snapshot!(check(32, &code), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN line 25: a wait for the state of an arrival is followed where it comes behind each arrival of its warp at the mbarrier, in the same block
    --- stderr
    ");
    // Begun anew in each round.
    let anew = format!(
        "@%p1 bra I;\nmbarrier.init.shared.b64 [%r2], 32;\nI: bar.sync 0;\n{MEET}\nbar.sync 0;\n@%p1 bra J;\nmbarrier.inval.shared.b64 [%r2];\nJ: bar.sync 0;"
    );
    insta::assert_snapshot!(check(32, &rounds(&anew)), @"
    exit 4
    --- stdout
    kernel.ptx: deadlock: UNKNOWN an mbarrier whose phases warps wait for by states of arrivals is not initialised once, before all uses
    --- stderr
    ");
}

/// Both sides of a branch of the launch arrive, and the wait is behind it.
#[test]
fn a_state_of_either_side() {
    let either = "setp.gt.s32 %p6, %r9, 5;\n@%p6 bra B;\nmbarrier.arrive.shared.b64 %rd1, [%r2];\nbra W;\n\
        B: mbarrier.arrive.shared.b64 %rd1, [%r2];\n\
        W: mbarrier.try_wait.shared.b64 %p2, [%r2], %rd1;\n@!%p2 bra W;";
    let code = format!("{}{}", initialised(&[64]), rounds(either));
    insta::assert_snapshot!(check(64, &code), @"
    exit 0
    --- stdout
    kernel.ptx: deadlock: PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold
    --- stderr
    ");
}
