//! Lanes that part by a comparison with a number of the launch, as in `if (i >= n) return;`, where the control-flow
//! graph is walked.

use crate::support::program::Folder;

fn check(name: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    folder.kernel(name);
    let mut arguments = vec!["check", "-q", "--recovery", "graph", name];
    arguments.extend(options);
    folder.run(&arguments)
}

/// The verdict of a kernel of two warps: `%r1` is the thread's number, and `%r2` and `%r3` are the parameters `n` and `m`.
fn verdict(code: &str) -> String {
    let folder = Folder::new();
    folder.file(
        "kernel.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry kernel(.param .u32 n, .param .u32 m)\n.reqntid 64, 1, 1\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<16>;\n\
             .shared .align 8 .b8 bar[64];\n\
             mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nld.param.u32 %r3, [m];\n\
             {code}\nend:\nret;\n}}\n"
        ),
    );
    let all = folder.run(&["check", "-q", "--recovery", "graph", "kernel.ptx"]);
    let mut lines = all.lines().filter(|line| line.starts_with("kernel.ptx: "));
    lines.next().map_or(all.clone(), |line| {
        line.trim_start_matches("kernel.ptx: deadlock: ").to_owned()
    })
}

/// An mbarrier that takes so many arrivals.
fn with_mbarrier(count: &str, code: &str) -> String {
    verdict(&format!(
        "mov.u32 %r10, bar;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra ready;\nmbarrier.init.shared.b64 [%r10], {count};\n\
         ready:\nbar.sync 0;\n{code}"
    ))
}

const RETURN: &str = "setp.ge.s32 %p2, %r1, %r2;\n@%p2 bra end;\n";
const ARRIVE: &str = "mbarrier.arrive.shared.b64 _, [%r10];\n";
const WAIT: &str =
    "again:\nmbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0;\n@!%p3 bra again;\n";

#[test]
fn threads_that_return_early() {
    insta::assert_snapshot!(check("early_return.ptx", &[]), @r"
        exit 1
        --- stdout
        early_return.ptx:early_return: deadlock: PROVED for every schedule: all obligations of [rule] hold
        early_return.ptx:early_return_counted: deadlock: REFUTED at ctaid_x = 0, param_2 = 1: cta_bar[1] takes 256 threads, 32 came (warp0), and nobody else comes (early_return.cu:22, line 116): warp1 never comes, because `if param_2 > 256 * ctaid_x + 32` (early_return.cu:20, line 99) does not hold for it; warp2 never comes, because `if param_2 > 256 * ctaid_x + 64` (early_return.cu:20, line 99) does not hold for it; warp3 never comes, because `if param_2 > 256 * ctaid_x + 96` (early_return.cu:20, line 99) does not hold for it; and others
        early_return.ptx:early_return_mbarrier: deadlock: REFUTED at ctaid_x = 0, param_2 = 1: met_bar takes 256 arrivals, 1 came (warp0), and warp0 waits for the rest (early_return.cu:35, line 198): warp1 never arrives, because `if param_2 > 256 * ctaid_x + 32` (early_return.cu:32, line 172) does not hold for it; warp2 never arrives, because `if param_2 > 256 * ctaid_x + 64` (early_return.cu:32, line 172) does not hold for it; warp3 never arrives, because `if param_2 > 256 * ctaid_x + 96` (early_return.cu:32, line 172) does not hold for it; and others
        early_return.ptx:guarded_loop: deadlock: PROVED for every param_2 in 0..=1073741823 and schedule: all obligations of [rule] hold
        early_return.ptx:guarded_barrier: deadlock: UNKNOWN line 405 (early_return.cu:57): a part of a warp comes to a barrier, while other lanes go on: this is undefined
        early_return.ptx:early_return_of_a_tile: deadlock: PROVED for every schedule: all obligations of [rule] hold
        --- stderr
        ");
    let tile = ["--entry", "early_return_of_a_tile", "--threads", "16,16"];
    insta::assert_snapshot!(check("early_return.ptx", &tile), @r"
        exit 0
        --- stdout
        early_return.ptx: deadlock: PROVED for every schedule: all obligations of [rule] hold
        --- stderr
        ");
}

/// The barrier waits for nobody who has left, and for everybody else.
#[test]
fn barriers_of_those_who_stay() {
    let stay = |code: &str| verdict(&format!("{RETURN}{code}"));
    insta::assert_snapshot!(stay("bar.sync 0;\nbar.sync 0;"), @"PROVED for every schedule: all obligations of [rule] hold");
    // As often as the launch says, and under a condition.
    insta::assert_snapshot!(stay("mov.u32 %r4, 0;\nl:\nbar.sync 0;\nadd.u32 %r4, %r4, 1;\nsetp.lt.s32 %p4, %r4, %r3;\n@%p4 bra l;"), @"PROVED for every m in 0..=1073741823 and schedule: all obligations of [rule] hold");
    insta::assert_snapshot!(stay("setp.gt.s32 %p4, %r3, 5;\n@%p4 bra end;\nbar.sync 0;"), @"PROVED for every schedule: all obligations of [rule] hold");
    // Two warps that stay come unequally often: the second one is not waited for once it has left.
    insta::assert_snapshot!(stay("bar.sync 0;\nsetp.ge.u32 %p4, %r1, 32;\n@%p4 bra end;\nbar.sync 0;"), @"PROVED for every schedule: all obligations of [rule] hold");
    // The first warp waits for the second one, which comes to another barrier and does not leave.
    insta::assert_snapshot!(stay("setp.ge.u32 %p4, %r1, 32;\n@%p4 bra other;\nbar.sync 0;\nbar.sync 1, 64;\nbra end;\nother:\nbar.sync 1, 64;\nbar.sync 0;"), @"UNKNOWN the recovered protocol has a counterexample, but possibly no launch has it: parameters may depend on each other, patterns may be ones that no memory contents give, a warp may wait for warps that have ended, or the kernel may abort first");
    // A barrier with a number of threads waits for those who have left.
    insta::assert_snapshot!(stay("bar.sync 1, 64;"), @"REFUTED at n = 1: cta_bar[1] takes 64 threads, 32 came (warp0), and nobody else comes (line 16): warp1 never comes, because `if n >= 33` (line 15) does not hold for it");
}

/// Each lane that is there arrives. How many there are is known in each case.
#[test]
fn arrivals_of_those_who_stay() {
    insta::assert_snapshot!(with_mbarrier("64", &format!("{RETURN}{ARRIVE}{WAIT}")), @"REFUTED at n = 1: bar takes 64 arrivals, 1 came (warp0), and warp0 waits for the rest (line 24): warp1 never arrives, because `if n >= 33` (line 21) does not hold for it");
    // Those who leave arrive first.
    insta::assert_snapshot!(with_mbarrier("64", &format!("{ARRIVE}{RETURN}{WAIT}")), @"PROVED for every n in 0..=1073741823 and schedule: all obligations of [rule] hold");
    insta::assert_snapshot!(with_mbarrier("64", &format!("setp.ge.s32 %p2, %r1, %r2;\n@%p2 bra gone;\n{ARRIVE}{WAIT}bra end;\ngone:\n{ARRIVE}")), @"UNKNOWN line 21: lanes of a warp wait on both sides of a branch");
    // The first 16 threads arrive, whoever else is there: only if there are as many.
    insta::assert_snapshot!(with_mbarrier("16", &format!("{RETURN}setp.ge.u32 %p4, %r1, 16;\n@%p4 bra wait;\n{ARRIVE}wait:\n{WAIT}")), @"REFUTED at n = 1: bar takes 16 arrivals, 1 came (warp0), and warp0 waits for the rest (line 27): warp0 arrives only once, because `if n >= 2` (line 21) does not hold for it");
    // The last thread arrives for all.
    insta::assert_snapshot!(with_mbarrier("1", &format!("add.s32 %r4, %r2, -1;\nsetp.ne.s32 %p2, %r1, %r4;\n@%p2 bra wait;\n{ARRIVE}wait:\n{WAIT}")), @"REFUTED at n = 0: nobody arrives at bar, for which warp0 waits (line 26): warp1 never arrives, because `if n == 64` (line 22) does not hold for it");
}

/// Lanes that skip a barrier and go on have not left: a part of a warp comes to a barrier of whole warps.
#[test]
fn a_part_of_a_warp() {
    insta::assert_snapshot!(verdict("setp.ge.s32 %p2, %r1, %r2;\n@%p2 bra skip;\nbar.sync 0;\nskip:\nbar.sync 0;"), @"UNKNOWN line 16: a part of a warp comes to a barrier, while other lanes go on: this is undefined");
    insta::assert_snapshot!(verdict(&format!("{RETURN}setp.ge.s32 %p4, %r1, %r3;\n@%p4 bra skip;\nbar.sync 0;\nskip:\nbar.sync 0;")), @"UNKNOWN line 18: a part of a warp comes to a barrier, while other lanes go on: this is undefined");
    // Lanes that have nothing to do but a store may be made to wait before it. They have not left.
    insta::assert_snapshot!(verdict("setp.ge.s32 %p2, %r1, %r2;\n@%p2 bra skip;\nbar.sync 0;\nskip:\nst.shared.u32 [bar], %r1;"), @"UNKNOWN line 16: a part of a warp comes to a barrier, while other lanes go on: this is undefined");
    // What a warp computes as a whole needs all of its lanes.
    insta::assert_snapshot!(verdict(&format!("{RETURN}ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r7}}, [bar];\nbar.sync 0;")), @"UNKNOWN line 16: a part of a warp comes to ldmatrix.sync.aligned.m8n8.x1.shared.b16, while other lanes go on: this is undefined");
    // Lanes leave a loop in different iterations.
    insta::assert_snapshot!(verdict("mov.u32 %r4, %r1;\nl:\nsetp.ge.s32 %p2, %r4, %r2;\n@%p2 bra end;\nbar.sync 0;\nadd.s32 %r4, %r4, 64;\nbra l;"), @"UNKNOWN line 17: lanes take a branch differently, depending on the launch or on memory");
}

/// Numbers of 32 bits that wrap around between two lanes are in no order.
#[test]
fn numbers_that_wrap_around() {
    let arrive =
        |compare: &str| with_mbarrier("64", &format!("{compare}\n@%p2 bra end;\n{ARRIVE}{WAIT}"));
    // i = (n << 26) + tid, which is small for few n only, and n - tid, read without a sign.
    insta::assert_snapshot!(arrive("shl.b32 %r4, %r2, 26;\nadd.s32 %r4, %r4, %r1;\nsetp.ge.s32 %p2, %r4, %r3;"), @"UNKNOWN line 23: it is not known which lanes take this branch: the numbers that the lanes compare may wrap around from one lane to the next");
    insta::assert_snapshot!(arrive("sub.s32 %r4, %r2, %r1;\nsetp.ge.u32 %p2, %r4, %r3;"), @"UNKNOWN line 22: it is not known which lanes take this branch: the numbers that the lanes compare may wrap around from one lane to the next");
    // With a sign, n - tid does not wrap around.
    insta::assert_snapshot!(arrive("sub.s32 %r4, %r2, %r1;\nsetp.ge.s32 %p2, %r4, %r3;"), @"REFUTED at n = 0, m = 0: bar takes 64 arrivals, 63 came (warp0 and warp1), and warp0 waits for the rest (line 25): warp0 arrives only 31 times, because `if m >= n` (line 22) holds for it; warp1 arrives only 32 times, because `if m + 31 >= n` (line 22) holds for it");
    // A product of two numbers of the launch has any value, but it is the same in all lanes.
    insta::assert_snapshot!(arrive("mad.lo.s32 %r4, %r2, %r3, %r1;\nsetp.ge.s32 %p2, %r4, %r3;"), @"REFUTED at computed = 0, m = 1: bar takes 64 arrivals, 1 came (warp0), and warp0 waits for the rest (line 25): warp1 never arrives, because `if m > computed + 32` (line 22) does not hold for it");
}

/// What a lane has in a register that has ended is not read.
#[test]
fn values_of_lanes_that_have_left() {
    // Lane 31 may have left. The others ask for its value, which decides about the barrier.
    insta::assert_snapshot!(verdict(&format!("mov.u32 %r4, 0;\n{RETURN}mov.u32 %r4, 1;\nshfl.sync.idx.b32 %r5, %r4, 31, 31, -1;\nsetp.eq.u32 %p4, %r5, 1;\n@%p4 bra end;\nbar.sync 0;")), @"UNKNOWN line 20: lanes take a branch differently, depending on the launch or on memory");
}

/// Lanes from `n` on do not come to a vote or an exchange of all lanes, or have left before one: the others wait for them, or read what is
/// not there.
#[test]
fn lanes_that_are_not_at_a_vote_or_an_exchange() {
    use crate::graph_misuse::verdict_by;
    let less = "setp.lt.s32 %p1, %r1, %r2;\nsetp.ge.s32 %p2, %r1, %r2;";
    for code in [
        "@%p1 vote.sync.any.pred %p4, %p1, -1;\nbar.sync 0;",
        "@%p1 shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\nbar.sync 0;",
        "@%p2 bra O;\nvote.sync.any.pred %p4, %p1, -1;\nO:\nbar.sync 0;",
        "mov.u32 %r4, 1;\n@%p2 bra END;\nshfl.sync.idx.b32 %r5, %r4, 31, 31, -1;\nsetp.eq.u32 %p4, %r5, 1;\n@%p4 bra END;\n\
         W:\nmbarrier.test_wait.parity.shared.b64 %p5, [bar], 0;\n@!%p5 bra W;\nEND:",
    ] {
        let code = format!("{less}\n{code}");
        for recovery in ["auto", "graph", "path"] {
            let shown = verdict_by(recovery, 64, &code);
            assert!(shown.starts_with("UNKNOWN"), "{recovery}: {code}: {shown}");
        }
    }
}

/// PTX counts a warp as a whole at a barrier, and says of `barrier.sync` without `.aligned` that each thread comes by itself.
#[test]
fn a_part_of_a_warp_at_a_barrier_with_a_count() {
    use crate::graph_misuse::verdict_by;
    let part = |barrier: &str| format!("setp.ge.u32 %p1, %r1, 41;\n@%p1 bra END;\n{barrier}\nEND:");
    for recovery in ["auto", "graph", "path"] {
        let by_thread = verdict_by(recovery, 64, &part("barrier.sync 1, 64;"));
        assert!(by_thread.starts_with("UNKNOWN"), "{recovery}: {by_thread}");
        let by_warp = verdict_by(recovery, 64, &part("bar.sync 1, 64;"));
        assert_eq!(by_warp, "PROVED for every schedule", "{recovery}");
    }
}
