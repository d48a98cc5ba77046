//! Tests of divergence and reconvergence.

use super::builder::*;
use crate::interpret::*;
use crate::ir::*;

/// A kernel in which the lanes below `limit` take a block of their own: 0 -> 1, 2 -> 3.
fn diamond(limit: u128) -> Builder {
    let mut b = Builder::new(4);
    let lane = b.special(0, Special::Lane);
    let low = b.less(0, lane, constant(limit));
    b.branch(0, low, 1, 2);
    b.jump(1, 3);
    b.jump(2, 3);
    b
}

#[test]
fn lanes_part_and_meet_at_the_postdominator() {
    let mut b = diamond(5);
    b.kernel.registers.push(Register {
        name: "v".to_owned(),
        width: 32,
    });
    let value = RegisterId(2);
    b.assign(1, value, Compute::Copy, 32, &[constant(10)]);
    b.assign(2, value, Compute::Copy, 32, &[constant(20)]);
    b.sync(1, Synchronization::GridDependencyLaunch);
    b.sync(2, Synchronization::GridDependencyLaunch);
    b.show(3, Operand::Register(value));
    let trace = b.run(32);
    let lanes: Vec<Lanes> = trace.ctas[0].warps[0]
        .events
        .iter()
        .map(|each| each.lanes)
        .collect();
    assert_eq!(lanes, [0x1f, !0x1f, 0x1f, !0x1f]);
    assert_eq!(shown(&trace, 0), [(0x1f, 10), (!0x1f, 20)]);
    assert!(trace.is_clean());
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    let mut b = Builder::new(3);
    let lane = b.special(0, Special::Lane);
    let counter = b.register(32);
    b.assign(0, counter, Compute::Copy, 32, &[constant(0)]);
    b.jump(0, 1);
    let i = Operand::Register(counter);
    b.sync(1, Synchronization::GridDependencyLaunch);
    b.assign(1, counter, Compute::Add, 32, &[i, constant(1)]);
    let more = b.compute(
        1,
        Compute::Compare(Compare::LessEqual { signed: false }),
        32,
        &[i, lane],
    );
    b.branch(1, more, 1, 2);
    b.show(2, i);
    let trace = b.run(32);
    let events = &trace.ctas[0].warps[0].events;
    let rounds: Vec<Lanes> = events[..32].iter().map(|each| each.lanes).collect();
    let wanted: Vec<Lanes> = (0..32).map(|round| ALL << round).collect();
    assert_eq!(rounds, wanted);
    let wanted: Vec<(Lanes, u32)> = (0..32).map(|lane| (1 << lane, lane + 1)).collect();
    assert_eq!(shown(&trace, 0), wanted);
}

#[test]
fn only_an_exit_makes_lanes_leave() {
    let mut b = diamond(8);
    b.kernel.blocks[1].end = Terminator::Exit;
    b.barrier(3, 0, None, false);
    for trace in [b.run(64), b.simulate(64)] {
        for warp in &trace.ctas[0].warps {
            assert_eq!(warp.events.len(), 1);
            assert_eq!(warp.events[0].lanes, !0xff);
            assert_eq!(warp.exited, ALL);
        }
        assert_eq!(trace.outcome, Outcome::Finished);
    }
}

#[test]
fn lanes_at_a_barrier_have_not_left() {
    //! if (lane < 16) barrier; shuffle of all lanes.
    let mut b = diamond(16);
    b.barrier(1, 0, None, false);
    let result = b.register(32);
    b.sync(
        3,
        Synchronization::Shuffle {
            mode: ShuffleMode::Index,
            result,
            valid: None,
            value: constant(3),
            lane: constant(0),
            clamp: constant(31),
            mask: constant(0xffff_ffff),
        },
    );
    let trace = b.simulate(32);
    let Outcome::Stuck(waiting) = &trace.outcome else {
        panic!("{:?}", trace.outcome);
    };
    let mut seen: Vec<(Lanes, Awaited)> = waiting
        .iter()
        .map(|each| (each.lanes, each.for_what.clone()))
        .collect();
    seen.sort_by_key(|(lanes, _)| *lanes);
    let barrier = Awaited::Barrier {
        barrier: 0,
        expected: None,
        arrived: 16,
    };
    assert_eq!(
        seen,
        [(0xffff, barrier), (0xffff_0000, Awaited::Lanes(0xffff))]
    );
}

#[test]
fn an_aligned_barrier_of_some_lanes_waits_for_the_others() {
    //! if (lane == 0) { barrier } -- the others end without it.
    let mut b = diamond(1);
    b.barrier(1, 0, None, true);
    let trace = b.simulate(32);
    let event = trace.ctas[0].warps[0].events[0];
    assert_eq!((event.lanes, event.partial), (1, true));
}

#[test]
fn a_sync_rejoins_lanes_that_exits_keep_apart() {
    //! Ways that end differently have no postdominator but the end; the vote makes one warp of them.
    let mut b = Builder::new(5);
    let lane = b.special(0, Special::Lane);
    let low = b.less(0, lane, constant(4));
    let first = b.equal(0, lane, constant(0));
    b.branch(0, low, 1, 2);
    b.branch(1, first, 3, 2);
    let result = b.register(32);
    b.sync(
        2,
        Synchronization::Vote {
            mode: VoteMode::Ballot,
            result,
            predicate: constant(1),
            mask: constant(0xffff_ffff),
        },
    );
    b.show(2, Operand::Register(result));
    let trace = b.run(32);
    assert_eq!(shown(&trace, 0), [(!1, !1)]);
    assert_eq!(trace.outcome, Outcome::Finished);
}

#[test]
fn lanes_that_meet_nobody_else_go_on_when_all_are_stuck() {
    //! Lane 0 waits for an mbarrier that lane 1 arrives at behind the place where their ways meet.
    let mut b = Builder::new(6);
    let shared = b.shared("bar", 8);
    let bar = b.address_of(0, shared);
    b.init(0, bar, 1);
    let lane = b.special(0, Special::Lane);
    let first = b.equal(0, lane, constant(0));
    let second = b.equal(0, lane, constant(1));
    b.branch(0, first, 1, 2);
    b.spin(1, bar, constant(0), 2);
    b.branch(2, second, 3, 4);
    b.arrive(3, bar);
    b.jump(3, 4);
    let trace = b.simulate(32);
    assert_eq!(trace.outcome, Outcome::Finished);
    assert_eq!(trace.ctas[0].warps[0].exited, ALL);
}

#[test]
fn guards_decide_about_lanes() {
    let mut b = Builder::new(1);
    let lane = b.special(0, Special::Lane);
    let predicate = b.less(0, lane, constant(3));
    for negated in [false, true] {
        let guard = Some(Guard { predicate, negated });
        let operation = Synchronization::GridDependencyLaunch;
        b.push_if(0, guard, OperationKind::Synchronization(operation));
    }
    let trace = b.run(32);
    let lanes: Vec<Lanes> = trace.ctas[0].warps[0]
        .events
        .iter()
        .map(|each| each.lanes)
        .collect();
    assert_eq!(lanes, [7, !7]);
}

#[test]
fn runs_end_by_their_limits() {
    let mut b = Builder::new(1);
    b.jump(0, 0);
    let mut launch = b.launch(32);
    launch.max_steps = 1000;
    let stop = run(&b.kernel, &launch).unwrap_err();
    assert_eq!(stop.reason, StopReason::Steps(1000));
    b.sync(0, Synchronization::GridDependencyLaunch);
    launch.max_steps = 1_000_000;
    launch.max_events = 10;
    let stop = run(&b.kernel, &launch).unwrap_err();
    assert_eq!(
        (stop.reason, stop.location.line),
        (StopReason::Events(10), 1)
    );
    launch.threads = [0, 1, 1];
    assert!(matches!(
        run(&b.kernel, &launch).unwrap_err().reason,
        StopReason::Launch(_)
    ));
    assert_eq!(
        run(&Kernel::default(), &launch).unwrap_err().reason,
        StopReason::Empty
    );
}

#[test]
fn a_trap_ends_the_run() {
    let mut b = diamond(1);
    b.kernel.blocks[1].end = Terminator::Trap;
    assert!(matches!(b.run(32).outcome, Outcome::Trap { .. }));
    assert!(matches!(b.simulate(32).outcome, Outcome::Trap { .. }));
}

/// Source: PTX ISA, `barrier.red`: it is not to be intermixed with `barrier.sync` at one active barrier.
#[test]
fn a_reduction_does_not_meet_other_registrations() {
    let voting = |below: u128| {
        let mut b = Builder::new(4);
        let warp = b.special(0, Special::Warp);
        let low = b.less(0, warp, constant(below));
        b.branch(0, low, 1, 2);
        let votes = b.register(32);
        let holds = b.less(1, warp, constant(1));
        b.sync(
            1,
            Synchronization::BarrierSync {
                barrier: constant(0),
                threads: None,
                aligned: false,
                reduction: Some(BarrierReduction::Count {
                    result: votes,
                    source: Operand::Register(holds),
                }),
            },
        );
        b.barrier(2, 0, None, false);
        b.jump(1, 3);
        b.jump(2, 3);
        b.simulate(64).outcome
    };
    for below in [0, 2] {
        assert_eq!(voting(below), Outcome::Finished);
    }
    let Outcome::Undefined { what, .. } = voting(1) else {
        panic!("{:?}", voting(1));
    };
    assert!(what.contains("`bar.red` meets"), "{what}");
}
