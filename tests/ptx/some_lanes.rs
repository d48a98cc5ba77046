//! What only some lanes of a warp do, and what happens later than it is asked for: it counts for these lanes, and from then on.

use crate::data::entry;
use crate::data::run;
use crate::graph_misuse::verdict_by;

/// The verdict on a property of an entry, without what comes behind it.
fn verdict(property: &str, threads: u32, arrivals: u32, code: &str, recovery: &str) -> String {
    let arguments = [
        "check",
        "-q",
        "--property",
        property,
        "--recovery",
        recovery,
    ];
    let shown = run(&entry(threads, arrivals, code), &arguments);
    let line = shown.lines().find(|line| line.starts_with("kernel.ptx"));
    let words = line.unwrap_or(&shown).split(": ").skip(2);
    words.collect::<Vec<_>>().join(": ")
}

fn race(code: &str) -> String {
    verdict("race", 64, 1, code, "auto")
}

fn stale(arrivals: u32, code: &str) -> String {
    verdict("stale_read", 64, arrivals, code, "auto")
}

/// Each lane of the first warp copies its bytes; the second warp reads them.
fn copied(copy: &str, wait: &str) -> String {
    race(&format!(
        "setp.eq.u32 %p4, %r3, 0;\nsetp.eq.u32 %p5, %r3, 1;\nshl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\n\
         @%p2 bra Y;\n{copy} cp.async.ca.shared.global [%r5], [%rd9], 4;\n{wait}\nbar.sync 1, 64;\nbra X;\n\
         Y:\nbar.sync 1, 64;\nld.shared.u32 %r20, [%r5];\nX:"
    ))
}

#[test]
fn a_lane_waits_for_its_own_copies_only() {
    for (copy, wait) in [
        ("", "cp.async.wait_all;"),
        ("@%p4", "@%p4 cp.async.wait_all;"),
        ("@%p4", "cp.async.wait_all;"),
    ] {
        let shown = copied(copy, wait);
        assert!(shown.starts_with("PROVED"), "{copy} {wait}: {shown}");
    }
    for (copy, wait) in [
        ("", "@%p4 cp.async.wait_all;"),
        ("", "@!%p4 bra Z;\ncp.async.wait_all;\nZ:"),
        ("@%p4", "@%p5 cp.async.wait_all;"),
        ("@!%p5", "@!%p4 cp.async.wait_all;"),
    ] {
        let shown = copied(copy, wait);
        assert!(
            shown.contains("which copies are complete is not told apart"),
            "{copy} {wait}: {shown}"
        );
    }
}

/// Of copies, an mbarrier is told by the lane that has started them.
#[test]
fn a_lane_tells_of_its_own_copies_only() {
    let code = |who: &str| {
        format!(
            "setp.eq.u32 %p4, %r3, 0;\nshl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\n@%p2 bra Y;\n\
             cp.async.ca.shared.global [%r5], [%rd9], 4;\nbar.warp.sync 0xffffffff;\n\
             {who} cp.async.mbarrier.arrive.noinc.shared.b64 [full];\nbra X;\n\
             Y:\nW: mbarrier.try_wait.parity.shared.b64 %p6, [full], 0;\n@!%p6 bra W;\nld.shared.u32 %r20, [%r5];\nX:"
        )
    };
    let all = verdict("race", 64, 32, &code(""), "auto");
    assert!(all.starts_with("PROVED"), "{all}");
    let one = verdict("race", 64, 1, &code("@%p4"), "auto");
    assert!(
        one.contains("which copies are complete is not told apart"),
        "{one}"
    );
}

/// Half of the lanes may have landed twice when the first phase is complete, and the others not at all.
#[test]
fn arrivals_behind_copies_of_one_lane_come_in_different_phases() {
    let code = |between: &str| {
        format!(
            "setp.eq.u32 %p4, %r3, 0;\nshl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\n@%p2 bra Y;\n\
             cp.async.ca.shared.global [%r5], [%rd9], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [full];\n{between}\n\
             cp.async.ca.shared.global [%r5+1024], [%rd9], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [full];\nbra X;\n\
             Y:\nW: mbarrier.try_wait.parity.shared.b64 %p6, [full], 0;\n@!%p6 bra W;\nld.shared.u32 %r20, [%r5];\nX:"
        )
    };
    let apart = "V: mbarrier.try_wait.parity.shared.b64 %p7, [full], 0;\n@!%p7 bra V;";
    let apart = verdict("race", 64, 32, &code(apart), "auto");
    assert!(apart.starts_with("PROVED"), "{apart}");
    let together = verdict("race", 64, 32, &code(""), "auto");
    assert!(
        together.contains("twice without a wait between"),
        "{together}"
    );
}

/// The second warp writes, and the first one has a bulk copy read it.
fn fenced(writer: &str, reader: &str) -> String {
    stale(
        1,
        &format!(
            "setp.eq.u32 %p4, %r3, 0;\nsetp.eq.u32 %p5, %r3, 5;\nshl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\n\
             @%p2 bra Y;\nbar.sync 1, 64;\n{reader}\n\
             @%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r8], 128;\n\
             @%p4 cp.async.bulk.commit_group;\n@%p4 cp.async.bulk.wait_group.read 0;\nbra X;\n\
             Y:\nst.shared.u32 [%r5], %r9;\n{writer}\nbar.sync 1, 64;\nX:"
        ),
    )
}

#[test]
fn a_proxy_fence_is_that_of_its_lanes() {
    let fence = "fence.proxy.async;";
    let one = format!("@%p4 {fence}");
    let other = format!("@%p5 {fence}");
    let sync = "bar.warp.sync 0xffffffff;";
    for (writer, reader) in [
        (fence, ""),
        ("", fence),
        ("", &*one),
        (&*format!("{sync}\n{one}"), ""),
        ("", &*format!("{other}\n{sync}")),
    ] {
        let shown = fenced(writer, reader);
        assert!(shown.starts_with("PROVED"), "{writer} {reader}: {shown}");
    }
    let missing = "fence.proxy.async";
    let nobody = fenced("", "");
    assert!(
        nobody.starts_with("REFUTED") && nobody.contains(missing),
        "{nobody}"
    );
    for (writer, reader) in [
        (&*one, ""),
        (&*other, ""),
        (&*format!("{one}\n{sync}"), ""),
        ("", &*other),
    ] {
        let shown = fenced(writer, reader);
        assert!(
            shown.contains("only some lanes carr"),
            "{writer} {reader}: {shown}"
        );
    }
}

/// All lanes write, and arrive without an order.
#[test]
fn a_fence_of_threads_is_that_of_its_lanes() {
    let code = |fence: &str| {
        format!(
            "setp.eq.u32 %p4, %r3, 0;\nshl.b32 %r4, %r3, 2;\nadd.u32 %r5, %r8, %r4;\n@%p2 bra Y;\n\
             st.shared.u32 [%r5], %r9;\n{fence}\nmbarrier.arrive.relaxed.cta.shared.b64 _, [full];\nbra X;\n\
             Y:\nW: mbarrier.try_wait.parity.shared.b64 %p6, [full], 0;\n@!%p6 bra W;\nld.shared.u32 %r20, [%r5];\nX:"
        )
    };
    let all = stale(32, &code("fence.acq_rel.cta;"));
    assert!(all.starts_with("PROVED"), "{all}");
    let one = stale(32, &code("@%p4 fence.acq_rel.cta;"));
    assert!(
        one.contains("only some lanes carry out this fence"),
        "{one}"
    );
}

/// Lanes that read another one arrive, at a number that no run of the recovery meets by chance. `shfl.up` reads lanes from the clamp on.
#[test]
fn a_shuffle_up_reads_no_lane_below_its_clamp() {
    let code = |clamp: u32| {
        format!(
            "setp.eq.u32 %p4, %r9, 1234567;\n@%p2 bra Y;\n@!%p4 bra N;\n\
             shfl.sync.up.b32 %r10|%p5, %r3, 1, {clamp}, 0xffffffff;\n@!%p5 bra X;\n\
             mbarrier.arrive.shared.b64 _, [full];\nbra X;\n\
             N:\nsetp.ne.u32 %p5, %r3, 0;\n@!%p5 bra X;\nmbarrier.arrive.shared.b64 _, [full];\nbra X;\n\
             Y:\nW: mbarrier.try_wait.parity.shared.b64 %p6, [full], 0;\n@!%p6 bra W;\nX:"
        )
    };
    let all = verdict("deadlock", 64, 31, &code(0), "graph");
    assert!(all.starts_with("PROVED"), "{all}");
    let none = verdict("deadlock", 64, 31, &code(31), "graph");
    assert!(none.starts_with("REFUTED at n = 1234567"), "{none}");
}

/// Warp 1 passes a phase that is not complete yet, and lets warp 3 complete it. Then the arrival of warp 0 completes the next
/// one, if it is late, and warp 2 waits for ever.
fn late(arrival: &str, recovery: &str) -> String {
    let code = format!(
        "setp.ne.u32 %p3, %r3, 0;\nmov.u32 %r7, other;\n@%p1 bra I;\nmbarrier.init.shared.b64 [%r7], 1;\n\
         mbarrier.init.shared.b64 [%r7+8], 1;\nmbarrier.init.shared.b64 [%r7+16], 1;\nI:\nbar.sync 0;\n\
         setp.eq.u32 %p4, %r2, 1;\n@%p4 bra B;\nsetp.eq.u32 %p4, %r2, 2;\n@%p4 bra C;\nsetp.eq.u32 %p4, %r2, 3;\n@%p4 bra D;\n\
         @%p3 bra E;\ncp.async.ca.shared.global [%r8], [%rd9], 16;\n{arrival}\nmbarrier.arrive.shared.b64 _, [%r7+8];\nbra E;\n\
         B:\nW1: mbarrier.try_wait.parity.shared.b64 %p6, [%r7+8], 0;\n@!%p6 bra W1;\n\
         W2: mbarrier.try_wait.parity.shared.b64 %p6, [%r7], 1;\n@!%p6 bra W2;\n\
         @%p3 bra E;\nmbarrier.arrive.shared.b64 _, [%r7+16];\nbra E;\n\
         C:\nW3: mbarrier.try_wait.parity.shared.b64 %p6, [%r7+8], 0;\n@!%p6 bra W3;\n\
         W4: mbarrier.try_wait.parity.shared.b64 %p6, [%r7], 0;\n@!%p6 bra W4;\n\
         @%p3 bra E;\nmbarrier.arrive.shared.b64 _, [%r7];\nbra E;\n\
         D:\nW5: mbarrier.try_wait.parity.shared.b64 %p6, [%r7+16], 0;\n@!%p6 bra W5;\n\
         @%p3 bra E;\nmbarrier.arrive.shared.b64 _, [%r7];\nE:"
    );
    verdict("deadlock", 128, 1, &code, recovery)
}

#[test]
fn an_arrival_behind_copies_comes_later() {
    for recovery in ["graph", "path"] {
        let now = late("mbarrier.arrive.shared.b64 _, [%r7];", recovery);
        assert!(now.starts_with("PROVED"), "{recovery}: {now}");
        let behind = late("cp.async.mbarrier.arrive.noinc.shared.b64 [%r7];", recovery);
        assert!(behind.starts_with("REFUTED"), "{recovery}: {behind}");
    }
}

/// In the language, what a warp commits comes behind all that it has under way. Copies of threads do not wait for bulk copies.
#[test]
fn arrivals_behind_copies_do_not_wait_for_bulk_copies() {
    let code = "setp.ne.u32 %p3, %r3, 0;\n@%p3 bra E;\n@%p2 bra Y;\n\
                mbarrier.arrive.expect_tx.shared.b64 _, [empty], 16;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd9], 16, [empty];\n\
                cp.async.ca.shared.global [%r8+64], [%rd9], 16;\ncp.async.mbarrier.arrive.noinc.shared.b64 [full];\nbra E;\n\
                Y:\nW: mbarrier.try_wait.parity.shared.b64 %p6, [full], 0;\n@!%p6 bra W;\nE:";
    for recovery in ["graph", "path"] {
        let shown = verdict("deadlock", 64, 1, code, recovery);
        assert!(
            shown.contains("which comes first is not told apart"),
            "{recovery}: {shown}"
        );
    }
}

/// Some lanes test the second phase while another one waits for the first: their test may say what was before.
#[test]
fn lanes_that_test_while_another_one_waits() {
    let lanes = |consumer: &str| {
        format!(
            "setp.ne.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r1, 31;\nand.b32 %r3, %r1, 31;\nsetp.eq.u32 %p3, %r3, 0;\n\
             @!%p1 mbarrier.init.shared.b64 [bar], 1;\n@!%p1 mbarrier.init.shared.b64 [bar+8], 1;\n\
             @!%p1 mbarrier.init.shared.b64 [bar+16], 1;\nbar.sync 0;\n@%p2 bra C;\n\
             @!%p1 mbarrier.arrive.shared.b64 _, [bar];\nA:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar+8], 0;\n@!%p4 bra A;\n\
             B:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar+16], 1;\n@!%p4 bra B;\n\
             @!%p1 mbarrier.arrive.shared.b64 _, [bar];\nbra E;\nC:\n{consumer}\n\
             @%p5 bra D;\nW:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar], 1;\n@!%p4 bra W;\n\
             D:\n@%p3 mbarrier.arrive.shared.b64 _, [bar+16];\nE:\n"
        )
    };
    let apart = lanes(
        "mov.pred %p5, 0;\n@%p3 bra O;\nmbarrier.try_wait.parity.shared.b64 %p5, [bar], 1;\nbra J;\nO:\n\
         mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0;\n@!%p4 bra O;\nmbarrier.arrive.shared.b64 _, [bar+8];\n\
         J:\nselp.b32 %r4, 1, 0, %p5;\nshfl.sync.idx.b32 %r5, %r4, 1, 31, -1;\nsetp.ne.u32 %p5, %r5, 0;",
    );
    let said = verdict_by("auto", 64, &apart);
    assert!(said.starts_with("UNKNOWN"), "{said}");
    // One lane may look before a phase is complete and another one behind it.
    let agree = lanes(
        "Q:\nmbarrier.try_wait.parity.shared.b64 %p4, [bar], 0;\n@!%p4 bra Q;\n@%p3 mbarrier.arrive.shared.b64 _, [bar+8];\n\
         mbarrier.try_wait.parity.shared.b64 %p5, [bar], 1;\nvote.sync.uni.pred %p6, %p5, -1;\n@%p6 bra S;\nR:\n\
         mbarrier.try_wait.parity.shared.b64 %p4, [bar+8], 1;\n@!%p4 bra R;\nS:\nmov.pred %p5, 0;",
    );
    for recovery in ["graph", "auto"] {
        let said = verdict_by(recovery, 64, &agree);
        assert!(said.starts_with("UNKNOWN"), "{said}");
    }
}
