//! Tests of the search: known verdicts and exact numbers of states.

use crate::protocol::Protocol;
use crate::protocol::RowOrder;

use super::explore::Explored;
use super::explore::Options;
use super::explore::SearchEnd;
use super::explore::explore;
use super::explore::explore_all;
use super::input::Input;
use super::input::OrderKey;
use super::inputs::Bounds;
use super::samples::*;
use super::step;
use super::step::Action;
use super::step::CellState;
use super::step::ViolationKind;
use super::unfold::instantiate;

const COUNT_ALL: Options<'static> = Options {
    symmetry: false,
    stop_at_stuck: false,
    max_states: 10_000_000,
    max_bytes: usize::MAX,
    cancel: None,
    deadline: None,
    progress: None,
    accepts: None,
};

fn run(protocol: &Protocol, input: &Input, options: &Options<'_>) -> Explored {
    let instance = instantiate(protocol, input).expect("a valid input");
    let found = explore(&instance, options);
    if let Some(trace) = &found.stuck {
        let mut state = step::initial(&instance);
        for action in trace {
            step::apply(&instance, &mut state, *action).expect("the trace is a run");
        }
        assert!(step::is_stuck(&instance, &state));
    }
    found
}

#[test]
fn own_lock_hangs_at_its_least_input() {
    let protocol = block_sparse(Lock::Own, false, RowOrder::Given);
    let input = input(&[2, 1, 2], &[[1, 0]]);
    let instance = instantiate(&protocol, &input).expect("a valid input");
    let found = run(&protocol, &input, &Options::default());
    assert_eq!(
        found.stuck,
        Some(vec![Action::Launch(0), Action::Launch(1)])
    );
    let mut state = step::initial(&instance);
    for action in found.stuck.expect("stuck") {
        step::apply(&instance, &mut state, action).expect("enabled");
    }
    let blocked = step::blocked(&instance, &state);
    assert_eq!(blocked.len(), 1);
    assert_eq!(instance.member_name(blocked[0].member), "cta[1]");
    assert_eq!(instance.cell_name(blocked[0].op.cell), "dq[0]");
    assert_eq!(blocked[0].cell, CellState::Semaphore(0));
}

#[test]
fn own_lock_finds_the_least_input_itself() {
    let protocol = block_sparse(Lock::Own, false, RowOrder::Given);
    for params in [[1, 1, 1], [1, 2, 1]] {
        let all = explore_all(&protocol, &params, &Bounds::default(), &Options::default());
        assert_eq!(all.expect("runs").stuck, None);
    }
    let all = explore_all(
        &protocol,
        &[2, 1, 1],
        &Bounds::default(),
        &Options::default(),
    );
    let (least, _) = all.expect("runs").stuck.expect("hangs");
    assert_eq!(least, input(&[2, 1, 1], &[[1, 0]]));
}

#[test]
fn rank_lock_never_hangs_when_launched_ascending() {
    let protocol = block_sparse(Lock::Rank, false, RowOrder::Given);
    let mut inputs = 0;
    for n in 0..=3 {
        for m in 0..=2 {
            for r in 1..=3 {
                let all = explore_all(
                    &protocol,
                    &[n, m, r],
                    &Bounds::default(),
                    &Options::default(),
                );
                let all = all.expect("runs");
                assert_eq!((all.end, all.stuck), (SearchEnd::Exhausted, None));
                inputs += all.inputs;
            }
        }
    }
    // Per row of width 0, 1, 2 there are 1, 2, 5 ordered fillings.
    let per_resident: u64 = [1u64, 2, 5]
        .iter()
        .map(|w| 1 + w + w.pow(2) + w.pow(3))
        .sum();
    assert_eq!(inputs, 3 * per_resident);
}

#[test]
fn rank_lock_needs_every_cta_when_launched_descending() {
    let protocol = block_sparse(Lock::Rank, true, RowOrder::Given);
    let full = [[0, 0], [1, 0], [2, 0]];
    for (resident, hangs) in [(1, true), (2, true), (3, false)] {
        let found = run(&protocol, &input(&[3, 1, resident], &full), &COUNT_ALL);
        assert_eq!(found.stuck.is_some(), hangs, "R = {resident}");
    }
}

#[test]
fn delayed_release_on_an_empty_row_needs_its_guard() {
    // The rows are [1,1) and [0,2).
    let ranges = input(&[2, 2], &[[1, 0], [1, 1]]);
    for guarded in [false, true] {
        let protocol = delayed_release(Release::Neighbour, guarded, RowOrder::Ascending);
        let found = run(&protocol, &ranges, &COUNT_ALL);
        assert_eq!(found.stuck.is_none(), guarded);
    }
}

#[test]
fn delayed_release_of_the_neighbour_hangs_on_listed_rows() {
    let ascending = input(&[2, 2], &[[0, 0], [0, 1], [1, 0], [1, 1]]);
    let mut listed = ascending.clone();
    for n in 0..2 {
        let key = OrderKey::Row {
            pattern: 0,
            row: vec![n],
        };
        listed.orders.insert(key, vec![1, 0]);
    }
    let neighbour = delayed_release(Release::Neighbour, true, RowOrder::Given);
    assert_eq!(run(&neighbour, &ascending, &COUNT_ALL).stuck, None);
    assert!(run(&neighbour, &listed, &COUNT_ALL).stuck.is_some());
    let previous = delayed_release(Release::Previous, true, RowOrder::Given);
    assert_eq!(run(&previous, &listed, &COUNT_ALL).stuck, None);
}

#[test]
fn jacobi_counts() {
    let flipping = jacobi(false);
    let fixed = jacobi(true);
    for (threads, rounds, states, fixed_states) in JACOBI {
        let input = plain(&[threads, rounds]);
        let found = run(&flipping, &input, &COUNT_ALL);
        assert_eq!(
            (found.states, found.stuck_states),
            (states, 0),
            "T={threads} N={rounds}"
        );
        let found = run(&fixed, &input, &COUNT_ALL);
        assert_eq!(found.states, fixed_states, "T={threads} N={rounds}");
        assert_eq!(found.stuck.is_some(), rounds >= 2);
    }
}

/// Threads, rounds, the number of states if the phase flips, and the number of states if it does not.
const JACOBI: [(i64, i64, u64, u64); 8] = [
    (1, 0, 1, 1),
    (1, 1, 12, 12),
    (1, 2, 27, 32),
    (1, 3, 42, 48),
    (2, 0, 1, 1),
    (2, 1, 100, 100),
    (2, 2, 427, 912),
    (2, 3, 754, 4612),
];

#[test]
fn symmetry_changes_counts_only() {
    for (protocol, hangs) in [(jacobi(false), false), (jacobi(true), true)] {
        let found = run(&protocol, &plain(&[2, 2]), &Options::default());
        assert_eq!(found.stuck.is_some(), hangs);
        let all = run(&protocol, &plain(&[2, 2]), &COUNT_ALL);
        assert_eq!(
            found.stuck.map(|t| t.len()),
            all.stuck.map(|t| t.len()),
            "shortest stays shortest"
        );
    }
}

#[test]
fn named_barrier_cases() {
    let s = |id, n| (true, id, n);
    let a = |id, n| (false, id, n);
    let cases: [(&[Program<'_>], bool); 6] = [
        (
            &[
                &[a(0, 2)],
                &[s(0, 2), s(0, 2)],
                &[s(1, 2), a(0, 2)],
                &[s(1, 2)],
            ],
            true,
        ),
        (
            &[
                &[a(0, 2)],
                &[s(0, 2), a(1, 2), s(0, 2)],
                &[s(1, 2), a(0, 2)],
            ],
            false,
        ),
        (
            &[
                &[a(2, 2), a(0, 2)],
                &[s(0, 2), s(3, 2), s(2, 2)],
                &[s(1, 2), a(3, 2), a(2, 2)],
                &[s(2, 2), a(1, 2)],
            ],
            false,
        ),
        (&[&[s(0, 2), a(1, 2)], &[s(1, 2), a(0, 2)]], true),
        (&[&[s(0, 1)]], false),
        (&[&[a(0, 2)]], false),
    ];
    for (programs, hangs) in cases {
        let found = run(&warps(programs), &plain(&[]), &COUNT_ALL);
        assert_eq!(found.stuck.is_some(), hangs, "{programs:?}");
        assert_eq!(found.violation, None, "{programs:?}");
    }
}

/// What an H100 did, see `docs/crosschecks.md`: each registration counts, whichever warp makes it.
#[test]
fn one_warp_may_come_to_a_named_barrier_several_times() {
    let s = |n| (true, 0, n);
    let a = |n| (false, 0, n);
    let cases: [(&[Program<'_>], bool); 9] = [
        (&[&[s(2)]], true),
        (&[&[a(2), s(2)]], false),
        (&[&[a(3), a(3)], &[s(3)]], false),
        // Both orders are possible. If the second warp comes in between, it goes on and leaves the first warp alone.
        (&[&[a(2), s(2)], &[s(2)]], true),
        (&[&[a(3), s(3)], &[s(3)]], false),
        (&[&[a(3), s(3), a(3), s(3)], &[s(3), s(3)]], false),
        (&[&[a(2)], &[a(2)], &[a(2)], &[s(2)]], false),
        (&[&[a(2), a(2), a(2)], &[s(2)]], false),
        // A warp that arrives too often takes the places of others.
        (&[&[a(3), a(3), s(3)], &[s(3)]], true),
    ];
    for (programs, hangs) in cases {
        for options in [&COUNT_ALL, &Options::default()] {
            let found = run(&warps(programs), &plain(&[]), options);
            assert_eq!(found.stuck.is_some(), hangs, "{programs:?}");
            assert_eq!(found.violation, None, "{programs:?}");
        }
    }
}

#[test]
fn undefined_uses_of_named_barriers_are_violations() {
    let mismatch = warps(&[&[(true, 0, 2)], &[(true, 0, 3)]]);
    let (_, found) = run(&mismatch, &plain(&[]), &COUNT_ALL)
        .violation
        .expect("undefined");
    assert!(matches!(found.kind, ViolationKind::CountMismatch { .. }));
}
