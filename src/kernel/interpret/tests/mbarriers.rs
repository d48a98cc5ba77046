//! Tests of mbarriers, named barriers and clusters, with waits that are passed and with waits that are simulated.

use super::builder::*;
use crate::interpret::*;
use crate::ir::*;

/// Warp 0 produces `rounds` times into a ring of `stages`, and warp 1 consumes. `first` is the parity that the
/// producer waits for in the first rounds. `full` is the number of arrivals that a full barrier expects.
fn ring(stages: u128, rounds: u128, first: u128, full: u128) -> Builder {
    let mut b = Builder::new(12);
    let fulls = b.shared("full", 8 * stages as u64);
    let empties = b.shared("empty", 8 * stages as u64);
    let (full_at, empty_at) = (b.address_of(0, fulls), b.address_of(0, empties));
    let warp = b.special(0, Special::Warp);
    let lane = b.special(0, Special::Lane);
    let lane_0 = b.equal(0, lane, constant(0));
    let producer = b.equal(0, warp, constant(0));
    let both = b.compute(
        0,
        Compute::And,
        1,
        &[Operand::Register(lane_0), Operand::Register(producer)],
    );
    b.branch(0, both, 1, 2);
    for stage in 0..stages {
        let full_bar = b.compute(1, Compute::Add, 32, &[full_at, constant(8 * stage)]);
        b.init(1, Operand::Register(full_bar), full);
        let empty_bar = b.compute(1, Compute::Add, 32, &[empty_at, constant(8 * stage)]);
        b.init(1, Operand::Register(empty_bar), 1);
    }
    b.jump(1, 2);
    b.barrier(2, 0, None, true);
    let round = b.register(32);
    b.assign(2, round, Compute::Copy, 32, &[constant(0)]);
    b.branch(2, lane_0, 3, 11);
    b.branch(3, producer, 4, 7);
    let r = Operand::Register(round);
    for (head, wait, next) in [(4, 5, 6), (7, 8, 9)] {
        let produces = head == 4;
        let stage = b.compute(
            head,
            Compute::Remainder { signed: false },
            32,
            &[r, constant(stages)],
        );
        let turn = b.compute(
            head,
            Compute::Divide { signed: false },
            32,
            &[r, constant(stages)],
        );
        let offset = b.compute(
            head,
            Compute::Multiply,
            32,
            &[Operand::Register(stage), constant(8)],
        );
        let offset = Operand::Register(offset);
        let full_bar = b.compute(head, Compute::Add, 32, &[full_at, offset]);
        let empty_bar = b.compute(head, Compute::Add, 32, &[empty_at, offset]);
        let (full_bar, empty_bar) = (Operand::Register(full_bar), Operand::Register(empty_bar));
        let start = if produces { first } else { 0 };
        let parity = b.compute(
            head,
            Compute::Xor,
            32,
            &[Operand::Register(turn), constant(start)],
        );
        let parity = b.compute(
            head,
            Compute::And,
            32,
            &[Operand::Register(parity), constant(1)],
        );
        b.jump(head, wait);
        let (waited, signalled) = if produces {
            (empty_bar, full_bar)
        } else {
            (full_bar, empty_bar)
        };
        b.spin(wait, waited, Operand::Register(parity), next);
        b.arrive(next, signalled);
        b.assign(next, round, Compute::Add, 32, &[r, constant(1)]);
        let more = b.less(next, r, constant(rounds));
        b.branch(next, more, head, 11);
    }
    b
}

fn kinds(trace: &Trace, warp: usize) -> Vec<(String, EventKind)> {
    let events = trace.ctas[0].warps[warp].events.iter();
    events
        .map(|event| {
            let object = event.object.map(|object| trace.layout.describe(object));
            (object.unwrap_or_default(), event.kind)
        })
        .collect()
}

#[test]
fn a_ring_completes_and_passes_alike() {
    let b = ring(3, 10, 1, 1);
    let (passed, simulated) = (b.run(64), b.simulate(64));
    assert_eq!(simulated.outcome, Outcome::Finished);
    assert!(passed.is_clean() && simulated.is_clean());
    for warp in 0..2 {
        assert_eq!(kinds(&passed, warp), kinds(&simulated, warp));
    }
    let consumer = kinds(&simulated, 1);
    assert_eq!(consumer.len(), 1 + 2 * 10);
    let wait = |parity| EventKind::Wait {
        parity: Some(parity),
        look: false,
    };
    assert_eq!(consumer[1], ("full".to_owned(), wait(false)));
    assert_eq!(consumer[5], ("full+16".to_owned(), wait(false)));
    assert_eq!(consumer[7], ("full".to_owned(), wait(true)));
}

#[test]
fn a_wrong_phase_hangs() {
    let trace = ring(3, 10, 0, 1).simulate(64);
    let Outcome::Stuck(waiting) = &trace.outcome else {
        panic!("{:?}", trace.outcome);
    };
    let seen: Vec<(u32, String, bool)> = waiting
        .iter()
        .filter_map(|each| match &each.for_what {
            Awaited::Mbarrier { object, parity, .. } => {
                Some((each.warp, trace.layout.describe(*object), *parity))
            }
            _ => None,
        })
        .collect();
    let wanted = [
        (0, "empty".to_owned(), false),
        (1, "full".to_owned(), false),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn a_wrong_count_hangs_and_says_what_is_lacking() {
    let trace = ring(2, 4, 1, 2).simulate(64);
    let Outcome::Stuck(waiting) = &trace.outcome else {
        panic!("{:?}", trace.outcome);
    };
    let lacking = waiting.iter().find_map(|each| match each.for_what {
        Awaited::Mbarrier { arrivals, .. } if each.warp == 1 => Some(arrivals),
        _ => None,
    });
    assert_eq!(lacking, Some(1));
}

/// Lane 0 expects bytes at an mbarrier, copies, and waits.
fn copies(expected: u128, copied: Expected) -> Builder {
    let mut b = Builder::new(3);
    let shared = b.shared("bar", 8);
    let bar = b.address_of(0, shared);
    let lane = b.special(0, Special::Lane);
    b.init(0, bar, 1);
    let first = b.equal(0, lane, constant(0));
    let guard = Some(Guard {
        predicate: first,
        negated: false,
    });
    for operation in [
        Synchronization::BulkCopy {
            destination: constant(2048),
            source: constant(0),
            destination_space: Space::Shared,
            source_space: Space::Global,
            bytes: copied,
            completion: Completion::Mbarrier {
                address: bar,
                multicast: None,
                pair: false,
            },
        },
        Synchronization::MbarrierArrive {
            address: bar,
            count: constant(1),
            expect: Some(constant(expected)),
            drop: false,
            no_complete: false,
            token: None,
            cluster: false,
            order: MemoryOrder::Release,
            scope: Scope::Cta,
        },
    ] {
        b.push_if(0, guard, OperationKind::Synchronization(operation));
    }
    b.jump(0, 1);
    b.spin(1, bar, constant(0), 2);
    b
}

#[test]
fn copies_complete_their_bytes_now_or_later() {
    for (bytes, completes) in [(512, true), (256, false)] {
        let b = copies(512, Expected::Bytes(constant(bytes)));
        for landing in [Landing::AtOnce, Landing::Late] {
            let mut launch = b.launch(32);
            launch.waits = Waits::Simulate;
            launch.landing = landing;
            let trace = run(&b.kernel, &launch).unwrap();
            assert_eq!(trace.outcome == Outcome::Finished, completes);
        }
    }
    let b = copies(512, Expected::TensorMap);
    assert_eq!(b.simulate(32).outcome, Outcome::Finished);
    // Without expected bytes a copy by tensor map leaves the phase incomplete.
    let b = copies(0, Expected::TensorMap);
    assert!(matches!(b.simulate(32).outcome, Outcome::Stuck(_)));
}

#[test]
fn what_has_no_meaning_ends_the_run() {
    type Case = (&'static str, fn(&mut Builder, Operand));
    let cases: [Case; 4] = [
        ("the mbarrier is not initialized", |b, bar| b.arrive(0, bar)),
        (
            "more arrivals than the phase of the mbarrier expects",
            |b, bar| {
                b.init(0, bar, 5);
                b.arrive(0, bar);
                let last = b.kernel.blocks[0].operations.last_mut().unwrap();
                let OperationKind::Synchronization(Synchronization::MbarrierArrive {
                    count, ..
                }) = &mut last.kind
                else {
                    unreachable!()
                };
                *count = constant(6);
            },
        ),
        ("an mbarrier is initialized while it is in use", |b, bar| {
            b.init(0, bar, 40);
            b.arrive(0, bar);
            b.init(0, bar, 40);
        }),
        (
            "the thread count of a barrier is not a multiple of 32",
            |b, _| {
                b.barrier(0, 1, Some(48), true);
            },
        ),
    ];
    for (wanted, build) in cases {
        let mut b = Builder::new(1);
        let shared = b.shared("bar", 8);
        let bar = b.address_of(0, shared);
        build(&mut b, bar);
        let Outcome::Undefined { what, .. } = b.simulate(32).outcome else {
            panic!("{wanted}");
        };
        assert_eq!(what, wanted);
    }
}

#[test]
fn named_barriers_count_warps() {
    //! Warps 0 and 1 sync at barrier 1 of 96 threads, warp 2 arrives.
    let mut b = Builder::new(3);
    let warp = b.special(0, Special::Warp);
    let first = b.less(0, warp, constant(2));
    b.branch(0, first, 1, 2);
    b.barrier(1, 1, Some(96), true);
    b.sync(
        2,
        Synchronization::BarrierArrive {
            barrier: constant(1),
            threads: constant(96),
            aligned: true,
        },
    );
    assert_eq!(b.simulate(96).outcome, Outcome::Finished);
    let Outcome::Stuck(waiting) = b.simulate(64).outcome else {
        panic!();
    };
    let awaited = Awaited::Barrier {
        barrier: 1,
        expected: Some(96),
        arrived: 64,
    };
    assert!(waiting.len() == 2 && waiting.iter().all(|each| each.for_what == awaited));
}

#[test]
fn a_warp_counts_as_often_as_it_comes() {
    //! Every warp arrives at a barrier of so many threads, and then syncs there, with that count or without one.
    let outcome = |threads, count, counts: bool| {
        let mut b = Builder::new(1);
        b.sync(
            0,
            Synchronization::BarrierArrive {
                barrier: constant(1),
                threads: constant(count),
                aligned: true,
            },
        );
        b.barrier(0, 1, counts.then_some(count), true);
        b.simulate(threads).outcome
    };
    assert_eq!(outcome(32, 64, true), Outcome::Finished);
    assert_eq!(outcome(64, 64, true), Outcome::Finished);
    assert_eq!(outcome(64, 128, true), Outcome::Finished);
    assert_eq!(outcome(64, 64, false), Outcome::Finished);
    assert!(matches!(outcome(32, 96, true), Outcome::Stuck(_)));
    assert!(matches!(outcome(96, 128, true), Outcome::Stuck(_)));
}

#[test]
fn a_barrier_reduces_what_threads_give() {
    let mut b = Builder::new(1);
    let warp = b.special(0, Special::Warp);
    let result = b.register(32);
    b.sync(
        0,
        Synchronization::BarrierSync {
            barrier: constant(0),
            threads: None,
            aligned: true,
            reduction: Some(BarrierReduction::Count {
                result,
                source: warp,
            }),
        },
    );
    b.show(0, Operand::Register(result));
    let trace = b.simulate(64);
    assert_eq!(shown(&trace, 0), [(ALL, 32)]);
    assert!(trace.is_clean());
    assert!(!b.run(64).is_clean());
}

#[test]
fn clusters_meet() {
    let mut b = Builder::new(1);
    let order = MemoryOrder::Release;
    b.sync(
        0,
        Synchronization::ClusterArrive {
            order,
            aligned: true,
        },
    );
    b.sync(0, Synchronization::ClusterWait { aligned: true });
    let mut launch = b.launch(64);
    launch.waits = Waits::Simulate;
    (launch.grid, launch.cluster) = ([2, 1, 1], [2, 1, 1]);
    let trace = run(&b.kernel, &launch).unwrap();
    assert_eq!(trace.outcome, Outcome::Finished);
    // A wait without an arrival has no meaning.
    b.kernel.blocks[0].operations.remove(0);
    let trace = run(&b.kernel, &launch).unwrap();
    assert!(matches!(trace.outcome, Outcome::Undefined { .. }));
}

#[test]
fn a_look_sees_what_the_launch_says() {
    let mut b = Builder::new(3);
    let shared = b.shared("bar", 8);
    let bar = b.address_of(0, shared);
    let seen = b.test(0, bar, constant(1));
    b.branch(0, seen, 2, 1);
    b.spin(1, bar, constant(1), 2);
    for look in [false, true] {
        let mut launch = b.launch(32);
        launch.look = look;
        let trace = run(&b.kernel, &launch).unwrap();
        let wanted = EventKind::Wait {
            parity: Some(true),
            look,
        };
        assert_eq!(kinds(&trace, 0), [("bar".to_owned(), wanted)]);
    }
}

#[test]
fn traces_are_printed_with_their_loops() {
    let b = ring(2, 9, 1, 1);
    let launch = b.launch(64);
    let trace = run(&b.kernel, &launch).unwrap();
    insta::assert_snapshot!(text(&b.kernel, &launch, &trace), @"
    kernel: every wait passes
      threads 64 x 1 x 1
      grid 1 x 1 x 1
    warp 0: 23 events
      full: init 1, lane 0                                        line 9
      empty: init 1, lane 0                                       line 11
      full+8: init 1, lane 0                                      line 13
      empty+8: init 1, lane 0                                     line 15
      sync 0, all threads                                         line 16
      repeat 2x {
        empty: wait parity 1, lane 0                              line 25
        full: arrive 1, lane 0                                    line 26
        empty+8: wait parity 1, lane 0                            line 25
        full+8: arrive 1, lane 0                                  line 26
        empty: wait parity 0, lane 0                              line 25
        full: arrive 1, lane 0                                    line 26
        empty+8: wait parity 0, lane 0                            line 25
        full+8: arrive 1, lane 0                                  line 26
      }
      empty: wait parity 1, lane 0                                line 25
      full: arrive 1, lane 0                                      line 26
    warp 1: 19 events
      sync 0, all threads                                         line 16
      repeat 2x {
        full: wait parity 0, lane 0                               line 36
        empty: arrive 1, lane 0                                   line 37
        full+8: wait parity 0, lane 0                             line 36
        empty+8: arrive 1, lane 0                                 line 37
        full: wait parity 1, lane 0                               line 36
        empty: arrive 1, lane 0                                   line 37
        full+8: wait parity 1, lane 0                             line 36
        empty+8: arrive 1, lane 0                                 line 37
      }
      full: wait parity 0, lane 0                                 line 36
      empty: arrive 1, lane 0                                     line 37
    ");
}
