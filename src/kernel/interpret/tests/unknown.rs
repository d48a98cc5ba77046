//! Tests of unknown values, and of what depends on them.

use super::builder::*;
use crate::interpret::*;
use crate::ir::*;

fn opaque(b: &mut Builder, block: u32, operands: &[Operand]) -> RegisterId {
    let result = b.register(1);
    b.push(
        block,
        OperationKind::Opaque {
            mnemonic: "setp.f32".to_owned(),
            results: vec![result],
            operands: operands.to_vec(),
            pure: true,
            write: None,
            rows: None,
        },
    );
    result
}

#[test]
fn an_event_below_an_unknown_branch_is_not_certain() {
    let mut b = Builder::new(3);
    let unknown = opaque(&mut b, 0, &[constant(1)]);
    b.branch(0, unknown, 1, 2);
    b.sync(1, Synchronization::GridDependencyLaunch);
    b.jump(1, 2);
    b.sync(2, Synchronization::GridDependencyLaunch);
    let trace = b.run(32);
    let warp = &trace.ctas[0].warps[0];
    let [decision] = warp.decisions.as_slice() else {
        panic!("{:?}", warp.decisions);
    };
    let origin = Place {
        block: BlockId(0),
        index: 0,
    };
    assert_eq!(trace.reasons(decision.reasons), [origin]);
    // After the sides of the branch have joined, events are certain again.
    assert!(warp.events.last().unwrap().reasons.is_none());
}

#[test]
fn a_branch_that_decides_nothing_does_not_count() {
    let mut b = Builder::new(3);
    let unknown = opaque(&mut b, 0, &[]);
    let value = b.register(32);
    b.branch(0, unknown, 1, 2);
    b.assign(1, value, Compute::Copy, 32, &[constant(1)]);
    b.jump(1, 2);
    b.sync(2, Synchronization::GridDependencyLaunch);
    assert!(b.run(32).is_clean());
}

#[test]
fn what_either_side_assigns_is_not_known() {
    let mut b = Builder::new(3);
    let value = b.register(32);
    b.assign(0, value, Compute::Copy, 32, &[constant(3)]);
    let unknown = opaque(&mut b, 0, &[]);
    b.branch(0, unknown, 1, 2);
    b.assign(1, value, Compute::Copy, 32, &[constant(1)]);
    b.jump(1, 2);
    b.show(2, Operand::Register(value));
    assert!(!b.run(32).is_clean());
    // Assigned anew, it is known.
    b.kernel.blocks[2].operations.clear();
    b.assign(2, value, Compute::Copy, 32, &[constant(1)]);
    b.show(2, Operand::Register(value));
    assert!(b.run(32).is_clean());
}

#[test]
fn a_store_that_may_not_happen_leaves_memory_unknown() {
    let mut b = Builder::new(4);
    let shared = b.shared("word", 4);
    let at = b.address_of(0, shared);
    b.store(0, Space::Shared, at, constant(1));
    let unknown = opaque(&mut b, 0, &[]);
    b.branch(0, unknown, 1, 2);
    b.store(1, Space::Shared, at, constant(2));
    b.jump(1, 3);
    b.jump(2, 3);
    let value = b.load(3, Space::Shared, at, MemoryOrder::Weak);
    b.show(3, Operand::Register(value));
    assert!(!b.simulate(32).is_clean());
}

#[test]
fn an_unknown_guard_of_an_event_is_a_decision() {
    let mut b = Builder::new(1);
    let predicate = opaque(&mut b, 0, &[]);
    for negated in [false, true] {
        let guard = Some(Guard { predicate, negated });
        let operation = OperationKind::Synchronization(Synchronization::GridDependencyLaunch);
        b.push_if(0, guard, operation);
    }
    assert_eq!(b.run(32).ctas[0].warps[0].decisions.len(), 2);
}

#[test]
fn equal_operands_give_equal_unknowns() {
    let mut b = Builder::new(1);
    let (x, y) = (
        opaque(&mut b, 0, &[constant(4)]),
        opaque(&mut b, 0, &[constant(4)]),
    );
    let same = b.compute(
        0,
        Compute::Compare(Compare::Equal),
        1,
        &[Operand::Register(x), Operand::Register(y)],
    );
    b.show(0, Operand::Register(same));
    let trace = b.run(32);
    assert_eq!(shown(&trace, 0), [(ALL, 1)]);
    assert!(!trace.is_clean());
}

#[test]
fn a_spin_on_memory_is_passed_and_known() {
    //! while (load.acquire(flag) != 1) {}; then an event.
    let mut b = Builder::new(3);
    let global = b.variable("flag", Space::Global, 4);
    let at = b.register(64);
    b.push(
        0,
        OperationKind::AddressOf {
            result: at,
            variable: global,
            generic: false,
        },
    );
    b.jump(0, 1);
    let seen = b.load(
        1,
        Space::Global,
        Operand::Register(at),
        MemoryOrder::Acquire,
    );
    let there = b.equal(1, Operand::Register(seen), constant(1));
    b.branch(1, there, 2, 1);
    b.sync(2, Synchronization::GridDependencyLaunch);
    let trace = b.run(32);
    let events = &trace.ctas[0].warps[0].events;
    assert_eq!(events.len(), 2);
    let order = MemoryOrder::Acquire;
    assert_eq!(events[0].kind, EventKind::Load { order });
    assert_eq!(trace.layout.describe(events[0].object.unwrap()), "[flag]");
    assert!(trace.is_clean());
    // Simulated, nobody ever writes the flag if it is 0 at the beginning.
    let mut launch = b.launch(32);
    launch.waits = Waits::Simulate;
    let Object::Global { address } = events[0].object.unwrap() else {
        panic!()
    };
    launch.memory = vec![(address, vec![0; 4])];
    let trace = run(&b.kernel, &launch).unwrap();
    let Outcome::Stuck(waiting) = trace.outcome else {
        panic!("{:?}", trace.outcome)
    };
    assert_eq!(waiting[0].for_what, Awaited::Change);
}

#[test]
fn a_clock_is_not_known_and_an_abort_by_it_does_not_happen() {
    let mut b = Builder::new(3);
    let now = b.special(0, Special::Clock);
    let late = b.less(0, constant(0), now);
    b.branch(0, late, 1, 2);
    b.kernel.blocks[1].end = Terminator::Trap;
    b.sync(2, Synchronization::GridDependencyLaunch);
    let trace = b.run(32);
    assert_eq!(trace.outcome, Outcome::Finished);
    assert!(trace.is_clean());
}

#[test]
fn what_is_not_understood_is_an_event_of_its_own() {
    let mut b = Builder::new(1);
    b.push(
        0,
        OperationKind::Unsupported {
            mnemonic: "frobnicate".to_owned(),
            reason: String::new(),
            results: Vec::new(),
        },
    );
    let trace = b.run(32);
    assert_eq!(
        trace.ctas[0].warps[0].events[0].kind,
        EventKind::Unsupported
    );
    assert!(!trace.is_clean());
}
