//! Tests of what is refused before a run, and of the agreement between the ways of running.

use std::collections::BTreeMap;
use std::time::Instant;

use proptest::prelude::*;

use crate::protocol::*;

use super::error::Fault;
use super::explore::Options;
use super::explore::explore;
use super::greedy::run_greedy;
use super::input::Input;
use super::input::OrderKey;
use super::inputs::Bounds;
use super::inputs::Inputs;
use super::instance::CellStart;
use super::instance::Instance;
use super::instance::Op;
use super::instance::OpKind;
use super::samples::*;
use super::simulate::RandomScheduler;
use super::simulate::RunEnd;
use super::simulate::Script;
use super::simulate::simulate;
use super::step;
use super::unfold::Limits;
use super::unfold::instantiate;
use super::unfold::instantiate_with;

fn fault(protocol: &Protocol, input: &Input) -> Fault {
    instantiate(protocol, input).expect_err("refused").fault
}

fn row_key(row: i64) -> OrderKey {
    OrderKey::Row {
        pattern: 0,
        row: vec![row],
    }
}

/// A protocol of one member that waits for `value` on the only semaphore.
fn waits_for(build: impl FnOnce(&mut Builder) -> Expr) -> Protocol {
    let mut b = Builder::new("value");
    let sem = b.object("sem", Vec::new(), ObjectKind::Semaphore(Initial::Any));
    let value = build(&mut b);
    let wait = b.stmt(StmtKind::Wait {
        cell: Cell {
            object: sem,
            index: Vec::new(),
        },
        comparison: Comparison::Equal,
        value,
    });
    b.role("one", Vec::new(), None, vec![wait]);
    b.build()
}

/// The value of an expression without names.
fn value(expr: Expr) -> Result<i64, Fault> {
    let instance = instantiate(&waits_for(|_| expr), &plain(&[])).map_err(|e| e.fault)?;
    match instance.members[0].ops[0].kind {
        OpKind::Wait(_, value) => Ok(value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arithmetic_is_checked() {
    assert_eq!(value(op(BinaryOp::Div, int(-7), int(2))), Ok(-4));
    assert_eq!(value(op(BinaryOp::Mod, int(-7), int(2))), Ok(1));
    assert_eq!(
        value(op(BinaryOp::Div, int(1), int(0))),
        Err(Fault::Division(0))
    );
    assert_eq!(
        value(op(BinaryOp::Mod, int(1), int(-3))),
        Err(Fault::Division(-3))
    );
    assert_eq!(
        value(op(BinaryOp::Xor, int(1), int(2))),
        Err(Fault::NotAPhase(2))
    );
    for big in [
        op(BinaryOp::Add, int(i64::MAX), int(1)),
        op(BinaryOp::Sub, int(i64::MIN), int(1)),
        op(BinaryOp::Mul, int(i64::MAX), int(2)),
        Expr::Neg(Box::new(int(i64::MIN))),
    ] {
        assert_eq!(value(big), Err(Fault::Overflow));
    }
    let undefined = op(BinaryOp::Eq, op(BinaryOp::Div, int(1), int(0)), int(0));
    let guarded = |o, left| value(op(o, Expr::Bool(left), undefined.clone()));
    assert_eq!(guarded(BinaryOp::And, false), Ok(0));
    assert_eq!(guarded(BinaryOp::Or, true), Ok(1));
    assert_eq!(guarded(BinaryOp::And, true), Err(Fault::Division(0)));
}

#[test]
fn counts_agree_with_and_without_an_index() {
    let count = |slow: bool| {
        waits_for(|b| {
            let p = b.pattern("p", vec![int(4), int(3)]);
            let k = b.var("k");
            let visits = Expr::Visits(p, vec![Expr::Var(k), int(1)]);
            let body = if slow {
                op(BinaryOp::And, Expr::Bool(true), visits)
            } else {
                visits
            };
            Expr::Count {
                var: k,
                lo: Box::new(int(-5)),
                hi: Box::new(int(3)),
                body: Box::new(body),
            }
        })
    };
    let input = input(&[], &[[0, 1], [2, 1], [3, 1], [1, 0]]);
    for slow in [false, true] {
        let instance = instantiate(&count(slow), &input).expect("a valid input");
        assert_eq!(
            instance.members[0].ops[0].kind,
            OpKind::Wait(Comparison::Equal, 2)
        );
    }
}

#[test]
fn a_defined_pattern_is_computed() {
    let protocol = waits_for(|b| {
        let p = b.pattern("p", vec![int(3), int(3)]);
        let (x, y) = (b.var("x"), b.var("y"));
        b.define(p, vec![x, y], op(BinaryOp::Le, Expr::Var(y), Expr::Var(x)));
        let k = b.var("k");
        Expr::Count {
            var: k,
            lo: Box::new(int(0)),
            hi: Box::new(int(9)),
            body: Box::new(Expr::Visits(p, vec![Expr::Var(k), int(1)])),
        }
    });
    let instance = instantiate(&protocol, &input(&[], &[])).expect("a valid input");
    assert_eq!(
        instance.members[0].ops[0].kind,
        OpKind::Wait(Comparison::Equal, 2)
    );
    let given = input(&[], &[[0, 0]]);
    assert_eq!(
        fault(&protocol, &given),
        Fault::EntriesOfDefined("p".to_owned())
    );
}

#[test]
fn inputs_are_checked() {
    let protocol = block_sparse(Lock::Rank, false, RowOrder::Given);
    let outside = fault(&protocol, &input(&[2, 1, 0], &[]));
    assert_eq!(outside.to_string(), "parameter R = 0 is outside its domain");
    assert!(matches!(
        fault(&protocol, &input(&[2, 1], &[])),
        Fault::ParamCount { .. }
    ));
    assert!(matches!(
        fault(&protocol, &plain(&[2, 1, 1])),
        Fault::PatternCount { .. }
    ));
    let entry = fault(&protocol, &input(&[2, 1, 1], &[[0, 1]]));
    assert!(matches!(entry, Fault::EntryOutOfRange { .. }));
    let mut initial = input(&[2, 1, 1], &[]);
    initial.initial.insert((0, vec![0]), 1);
    assert!(matches!(
        fault(&protocol, &initial),
        Fault::BadInitial { .. }
    ));
    let mut order = input(&[2, 2, 1], &[[0, 0], [0, 1]]);
    order.orders.insert(row_key(0), vec![1, 1]);
    assert!(matches!(fault(&protocol, &order), Fault::BadOrder { .. }));
    let huge = input(&[i64::MAX, 1, 1], &[]);
    assert!(matches!(
        fault(&protocol, &huge),
        Fault::TooLarge { .. } | Fault::Overflow
    ));

    let open = waits_for(|_| int(0));
    let mut negative = plain(&[]);
    negative.initial.insert((0, Vec::new()), -1);
    assert!(matches!(fault(&open, &negative), Fault::BadInitial { .. }));
}

#[test]
fn assumptions_and_domains_are_checked() {
    let mut b = Builder::new("assuming");
    let k = b.param("K", 0);
    b.domain(0, Domain::Set(vec![1, 4]));
    b.assume(op(BinaryOp::Gt, k, int(2)), "K > 2");
    let protocol = b.build();
    assert!(matches!(
        fault(&protocol, &plain(&[2])),
        Fault::OutsideDomain { .. }
    ));
    assert_eq!(
        fault(&protocol, &plain(&[1])),
        Fault::AssumptionViolated("K > 2".to_owned())
    );
    assert!(instantiate(&protocol, &plain(&[4])).is_ok());
}

#[test]
fn indices_and_sizes_are_checked() {
    let mut b = Builder::new("indices");
    let n = b.param("N", 0);
    let sem = b.object("sem", vec![int(2)], ObjectKind::Semaphore(Initial::Any));
    let i = b.var("i");
    let add = b.stmt(StmtKind::Add {
        cell: Cell {
            object: sem,
            index: vec![Expr::Var(i)],
        },
        amount: int(1),
    });
    let body = b.stmt(StmtKind::For {
        var: i,
        over: Iteration::Range {
            lo: int(0),
            hi: n,
            descending: false,
        },
        body: vec![add],
    });
    b.role("one", Vec::new(), None, vec![body]);
    let protocol = b.build();
    let error = instantiate(&protocol, &plain(&[3])).expect_err("refused");
    assert_eq!(error.to_string(), "index 2 of `sem` is outside 0..2");
    assert_eq!(error.span.map(|s| s.start), Some(0));
    let limits = Limits {
        ops: 1,
        ..Limits::default()
    };
    let error = instantiate_with(&protocol, &plain(&[2]), &limits).expect_err("refused");
    assert!(matches!(error.fault, Fault::TooLarge { limit: 1, .. }));
}

#[test]
fn every_order_of_every_pattern_comes_once() {
    let one_loop = |order| block_sparse(Lock::Rank, false, order);
    for (order, expected) in [
        (RowOrder::Ascending, 64),
        (RowOrder::Given, 16 * 16),
        (RowOrder::Any, 16 * 16),
    ] {
        let protocol = one_loop(order);
        let inputs = Inputs::new(&protocol, &[2, 3, 1], &Bounds::default()).expect("runs");
        assert_eq!(inputs.estimate(), f64::from(expected), "{order:?}");
        let all: Vec<Input> = inputs.map(|item| item.expect("runs").0).collect();
        assert_eq!(all.len(), expected as usize);
        let entries: Vec<usize> = all.iter().map(|i| i.patterns[0].len()).collect();
        assert!(entries.is_sorted());
        let distinct: std::collections::BTreeSet<_> = all
            .iter()
            .map(|i| (i.patterns.clone(), i.orders.clone()))
            .collect();
        assert_eq!(distinct.len(), all.len());
    }
}

#[test]
fn open_start_values_count_up() {
    let protocol = waits_for(|_| int(2));
    let bounds = Bounds {
        max_initial: 3,
        ..Bounds::default()
    };
    let inputs = Inputs::new(&protocol, &[], &bounds).expect("runs");
    assert_eq!(inputs.estimate(), 4.0);
    let starts = inputs.map(|item| item.expect("runs").1.cells[0]);
    let expected = (0..=3).map(CellStart::Semaphore);
    assert!(starts.eq(expected));
}

/// A banded pattern with every lock of a rank scheme, as large as real tensors.
#[test]
fn large_patterns_unfold_and_run() {
    let (n, per_row) = (512i64, 41i64);
    let protocol = block_sparse(Lock::Rank, false, RowOrder::Given);
    let mut large = input(&[n, n, 8], &[]);
    for row in 0..n {
        let entries = (0..per_row).map(|i| (row * 7 + i * 11) % n);
        large.patterns[0].extend(entries.map(|m| vec![row, m]));
    }
    let started = Instant::now();
    let instance = instantiate(&protocol, &large).expect("a valid input");
    assert_eq!(instance.op_count() as i64, 2 * n * per_row);
    let run = run_greedy(&instance, None);
    assert_eq!(run.end, RunEnd::Finished);
    assert_eq!(run.steps as i64, 2 * n * per_row + n);
    assert!(started.elapsed().as_secs() < 20, "far from linear");
}

fn sparse_input() -> impl Strategy<Value = (Input, bool, bool)> {
    let tiles = proptest::collection::btree_set((0..4i64, 0..3i64), 0..9);
    (tiles, 1..5i64, any::<u64>(), any::<bool>(), any::<bool>()).prop_map(
        |(tiles, resident, seed, own, descending)| {
            let mut drawn = input(&[4, 3, resident], &[]);
            drawn.patterns[0].extend(tiles.iter().map(|(n, m)| vec![*n, *m]));
            let mut rows: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
            for (n, m) in tiles {
                rows.entry(n).or_default().push(m);
            }
            for (n, mut row) in rows {
                let turn = (seed >> (4 * n)) as usize % row.len();
                row.rotate_left(turn);
                drawn.orders.insert(row_key(n), row);
            }
            (drawn, own, descending)
        },
    )
}

/// Random small instances over every kind of cell, built without a protocol.
fn any_instance() -> impl Strategy<Value = Instance> {
    let semaphore_op = prop_oneof![
        (0..3i64).prop_map(|v| (0u32, OpKind::Wait(Comparison::Equal, v))),
        (0..3i64).prop_map(|v| (0, OpKind::Wait(Comparison::AtLeast, v))),
        (0..2i64).prop_map(|v| (0, OpKind::Add(v))),
        (0..2i64).prop_map(|v| (0, OpKind::Set(v))),
    ];
    let barrier_op = prop_oneof![
        Just((1, OpKind::Arrive(1))),
        any::<bool>().prop_map(|p| (1, OpKind::WaitParity(p))),
        Just((2, OpKind::Sync(64))),
        Just((2, OpKind::BarArrive(64))),
    ];
    let asynchronous_op = prop_oneof![
        (0..3i64).prop_map(|b| (1, OpKind::ExpectTx(b))),
        (0..3i64).prop_map(|b| (1, OpKind::CompleteTx(b))),
        (0..3i64).prop_map(|b| (1, OpKind::Copy(b))),
        Just((1, OpKind::Commit)),
        Just((3, OpKind::Copy(1))),
        Just((3, OpKind::Commit)),
        Just((3, OpKind::Init)),
        Just((3, OpKind::Arrive(1))),
        any::<bool>().prop_map(|p| (3, OpKind::WaitParity(p))),
    ];
    let other_op = prop_oneof![
        Just((4, OpKind::BarrierArrive)),
        Just((4, OpKind::BarrierWait)),
        (0..3i64).prop_map(|a| (5, OpKind::Acquire(a))),
        (0..2i64).prop_map(|a| (5, OpKind::Release(a))),
    ];
    let op = prop_oneof![semaphore_op, barrier_op, asynchronous_op, other_op];
    let programs = proptest::collection::vec(proptest::collection::vec(op, 0..4), 1..4);
    (programs, 1..3usize, 0..5usize).prop_map(|(programs, resident, launch)| {
        // An instance with the right shape, whose programs are then replaced.
        let protocol = match launch {
            0 => warps(&vec![&[][..]; programs.len()]),
            3 => jacobi(false),
            4 => delayed_release(Release::Previous, true, RowOrder::Ascending),
            _ => block_sparse(Lock::Rank, launch == 1, RowOrder::Ascending),
        };
        let members = programs.len() as i64;
        let base = match launch {
            0 => plain(&[]),
            3 => plain(&[resident as i64, 0]),
            4 => input(&[4, 3], &[]),
            _ => input(&[members, 3, resident as i64], &[]),
        };
        let mut instance = instantiate(&protocol, &base).expect("a valid input");
        instance.cells = vec![
            CellStart::Semaphore(0),
            CellStart::Mbarrier(2),
            CellStart::Named,
            CellStart::Uninitialized(1),
            CellStart::Barrier(2),
            CellStart::Pool(2),
        ];
        // Programs repeat where there are more members, which makes those interchangeable.
        let repeated = programs.iter().cycle();
        for (member, program) in instance.members.iter_mut().zip(repeated) {
            member.ops = program
                .iter()
                .map(|(cell, kind)| Op {
                    stmt: StmtId(0),
                    cell: super::instance::CellId(*cell),
                    kind: *kind,
                })
                .collect();
        }
        instance
    })
}

proptest! {
    #[test]
    fn greedy_agrees_with_the_search((drawn, own, descending) in sparse_input()) {
        let lock = if own { Lock::Own } else { Lock::Rank };
        let protocol = block_sparse(lock, descending, RowOrder::Given);
        let instance = instantiate(&protocol, &drawn).expect("a valid input");
        let found = explore(&instance, &Options::default());
        // All locks on one row tile wait for different values. So one schedule decides.
        let end = if found.stuck.is_some() { RunEnd::Stuck } else { RunEnd::Finished };
        prop_assert_eq!(run_greedy(&instance, None).end, end);
    }

    #[test]
    fn greedy_runs_replay(instance in any_instance()) {
        let mut trace = Vec::new();
        let greedy = run_greedy(&instance, Some(&mut trace));
        prop_assert_eq!(trace.len() as u64, greedy.steps);
        let replayed = simulate(&instance, &mut Script::new(trace), usize::MAX);
        prop_assert_eq!(&replayed.state, &greedy.state);
        match greedy.end {
            RunEnd::Violation(_) => prop_assert_eq!(replayed.end, RunEnd::ScheduleEnded),
            end => prop_assert_eq!(replayed.end, end),
        }
    }

    #[test]
    fn every_end_of_a_random_run_is_found_by_the_search(
        instance in any_instance(),
        seed in any::<u64>(),
    ) {
        let run = simulate(&instance, &mut RandomScheduler::new(seed), usize::MAX);
        let options = |symmetry| Options { symmetry, stop_at_stuck: false, ..Options::default() };
        let found = explore(&instance, &options(true));
        let unreduced = explore(&instance, &options(false));
        let length = |trace: &Option<Vec<_>>| trace.as_ref().map(Vec::len);
        prop_assert_eq!(length(&found.stuck), length(&unreduced.stuck));
        prop_assert!(found.states <= unreduced.states);
        prop_assert_eq!(found.violation.is_some(), unreduced.violation.is_some());
        match run.end {
            RunEnd::Stuck => prop_assert!(found.stuck.is_some()),
            RunEnd::Violation(_) => prop_assert!(found.violation.is_some()),
            end => prop_assert_eq!(end, RunEnd::Finished),
        }
        if let Some(trace) = found.stuck {
            let replayed = simulate(&instance, &mut Script::new(trace), usize::MAX);
            prop_assert_eq!(replayed.end, RunEnd::Stuck);
            prop_assert!(step::is_stuck(&instance, &replayed.state));
        }
        if let Some((trace, violation)) = found.violation {
            let replayed = simulate(&instance, &mut Script::new(trace), usize::MAX);
            prop_assert_eq!(replayed.end, RunEnd::Violation(violation));
        }
    }
}
