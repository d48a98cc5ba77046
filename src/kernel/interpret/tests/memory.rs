//! Tests of loads, stores and atomics.

use super::builder::*;
use crate::interpret::*;
use crate::ir::*;

#[test]
fn bytes_that_were_written_are_read_back() {
    let mut b = Builder::new(1);
    let shared = b.shared("data", 64);
    let at = b.address_of(0, shared);
    b.store(0, Space::Shared, at, constant(0x8182_8384));
    let result = b.register(32);
    let second = b.compute(0, Compute::Add, 32, &[at, constant(2)]);
    b.push(
        0,
        OperationKind::Load {
            results: vec![None, Some(result)],
            space: Space::Shared,
            address: Operand::Register(second),
            width: 8,
            signed: true,
            order: MemoryOrder::Weak,
            scope: Scope::Cta,
            stability: Stability::Unsaid,
        },
    );
    b.show(0, Operand::Register(result));
    let trace = b.simulate(32);
    assert_eq!(shown(&trace, 0), [(ALL, 0xffff_ff81)]);
    assert!(trace.is_clean());
    // Alone, a warp does not know what others wrote.
    assert!(!b.run(32).is_clean());
}

#[test]
fn local_memory_is_every_lanes_own() {
    let mut b = Builder::new(1);
    let local = b.variable("spill", Space::Local, 16);
    let at = b.address_of(0, local);
    let lane = b.special(0, Special::Lane);
    b.store(0, Space::Local, at, lane);
    let result = b.load(0, Space::Local, at, MemoryOrder::Weak);
    let twice = b.compute(
        0,
        Compute::ShiftRight { signed: false },
        32,
        &[Operand::Register(result), constant(4)],
    );
    b.show(0, Operand::Register(twice));
    let trace = b.run(32);
    assert_eq!(shown(&trace, 0), [(0xffff, 0), (0xffff_0000, 1)]);
    assert!(trace.is_clean());
}

#[test]
fn parameters_are_known_once_they_are_set() {
    let mut b = Builder::new(1);
    let offset = b.parameter("n", 4);
    let n = b.load(
        0,
        Space::Parameter,
        constant(offset.into()),
        MemoryOrder::Weak,
    );
    b.show(0, Operand::Register(n));
    assert!(!b.run(32).is_clean());
    let mut launch = b.launch(32);
    assert!(!launch.set(&b.kernel, "m", 1));
    assert!(launch.set(&b.kernel, "n", -2));
    let trace = run(&b.kernel, &launch).unwrap();
    assert_eq!(shown(&trace, 0), [(ALL, 0xffff_fffe)]);
    assert!(trace.is_clean());
}

#[test]
fn atomics_are_events_and_happen_lane_by_lane() {
    let mut b = Builder::new(1);
    let offset = b.parameter("counter", 8);
    let pointer = b.register(64);
    b.push(
        0,
        OperationKind::Load {
            results: vec![Some(pointer)],
            space: Space::Parameter,
            address: constant(offset.into()),
            width: 64,
            signed: false,
            order: MemoryOrder::Weak,
            scope: Scope::Cta,
            stability: Stability::Unsaid,
        },
    );
    let result = b.register(32);
    b.push(
        0,
        OperationKind::Atomic {
            operation: AtomicOperation::Add,
            result: Some(result),
            space: Space::Global,
            address: Operand::Register(pointer),
            operands: vec![constant(1)],
            width: 32,
            order: MemoryOrder::Relaxed,
            scope: Scope::Gpu,
        },
    );
    let last = b.equal(0, Operand::Register(result), constant(40));
    let guard = Some(Guard {
        predicate: last,
        negated: false,
    });
    let show = Synchronization::SetMaxRegisters {
        count: constant(7),
        increase: true,
    };
    b.push_if(0, guard, OperationKind::Synchronization(show));
    let mut launch = b.launch(64);
    launch.waits = Waits::Simulate;
    launch.memory = vec![(default_pointer(0), vec![0; 4])];
    let trace = run(&b.kernel, &launch).unwrap();
    assert_eq!(shown(&trace, 0), []);
    assert_eq!(shown(&trace, 1), [(1 << 8, 7)]);
    assert!(trace.is_clean());
    let event = trace.ctas[0].warps[0].events[0];
    assert_eq!(trace.layout.describe(event.object.unwrap()), "[counter]");
    // Otherwise the previous value of the counter is unknown.
    launch.memory.clear();
    assert!(!run(&b.kernel, &launch).unwrap().is_clean());
}

#[test]
fn a_word_passed_through_shared_memory_decides() {
    //! Warp 0 writes 5, everybody meets, warp 1 shows what it reads.
    let mut b = Builder::new(4);
    let shared = b.shared("word", 4);
    let at = b.address_of(0, shared);
    let warp = b.special(0, Special::Warp);
    let first = b.equal(0, warp, constant(0));
    b.branch(0, first, 1, 2);
    b.store(1, Space::Shared, at, constant(5));
    b.jump(1, 2);
    b.barrier(2, 0, None, true);
    let value = b.load(2, Space::Shared, at, MemoryOrder::Weak);
    b.show(2, Operand::Register(value));
    let trace = b.simulate(64);
    assert_eq!(shown(&trace, 1), [(ALL, 5)]);
    assert!(trace.is_clean());
}

#[test]
fn addresses_go_through_generic_windows_and_to_other_ctas() {
    let mut b = Builder::new(1);
    let shared = b.shared("bar", 16);
    let generic = b.register(64);
    b.push(
        0,
        OperationKind::AddressOf {
            result: generic,
            variable: shared,
            generic: true,
        },
    );
    let back = b.register(32);
    b.push(
        0,
        OperationKind::ConvertAddress {
            result: back,
            address: Operand::Register(generic),
            space: Space::Shared,
            to_generic: false,
        },
    );
    let remote = b.register(32);
    b.push(
        0,
        OperationKind::MapAddress {
            result: remote,
            address: Operand::Register(back),
            rank: constant(1),
            generic: false,
        },
    );
    let rank = b.register(32);
    b.push(
        0,
        OperationKind::CtaRank {
            result: rank,
            address: Operand::Register(remote),
            generic: false,
        },
    );
    b.show(0, Operand::Register(rank));
    b.arrive(0, Operand::Register(remote));
    b.arrive(0, Operand::Register(generic));
    let mut launch = b.launch(32);
    launch.grid = [2, 1, 1];
    launch.cluster = [2, 1, 1];
    let trace = run(&b.kernel, &launch).unwrap();
    assert_eq!(shown(&trace, 0), [(ALL, 1)]);
    let objects = trace.ctas[0].warps[0].events[1..]
        .iter()
        .map(|event| event.object.unwrap());
    let objects: Vec<(Object, String)> = objects
        .map(|object| (object, trace.layout.describe(object)))
        .collect();
    let here = |cta| Object::Shared { cta, address: 1024 };
    assert_eq!(
        objects,
        [(here(1), "bar".to_owned()), (here(0), "bar".to_owned())]
    );
}
