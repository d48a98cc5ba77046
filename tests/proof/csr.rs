//! The verdict on a lock scheme at concrete arrays, against the published example and against
//! every schedule of the reference semantics.

use std::path::Path;

use proptest::prelude::*;

use warplock::protocol::RowOrder;
use warplock::schemes;
use warplock::schemes::Fate;
use warplock::schemes::Judgement;
use warplock::schemes::LaunchChoice;
use warplock::schemes::Lock;
use warplock::schemes::Outcome;
use warplock::schemes::Residency;
use warplock::schemes::Scheme;
use warplock::schemes::SchemeError;
use warplock::schemes::Shape;
use warplock::schemes::chain::Reason;
use warplock::schemes::judge;
use warplock::semantics::greedy::run_greedy;
use warplock::semantics::instance::CellId;
use warplock::semantics::instance::Instance;
use warplock::semantics::instance::OpKind;
use warplock::semantics::step;
use warplock::semantics::step::CellState;
use warplock::semantics::step::State;
use warplock::tensors::BlockSparse;
use warplock::tensors::ReadOptions;
use warplock::tensors::read;

fn published() -> BlockSparse {
    let path = Path::new("encodings/block_sparse/data/published_varlen.json");
    read(path, &ReadOptions::default()).expect("the published arrays")
}

fn verdict(tiles: &BlockSparse, lock: &str, resident: Option<usize>) -> Judgement {
    judge(tiles, &Scheme::new(Lock::new(lock)), resident).expect("a lock")
}

fn fates(judgement: &Judgement, fate: Fate) -> Vec<usize> {
    let tiles = judgement.tiles.iter().enumerate();
    let such = tiles.filter(|(_, tile)| tile.fate == fate);
    such.map(|(m, _)| m).collect()
}

#[test]
fn the_published_example_hangs_with_the_block_index() {
    let tiles = published();
    for resident in [None, Some(2), Some(3), Some(8)] {
        let judgement = verdict(&tiles, "n", resident);
        assert_eq!(judgement.outcome, Outcome::Hangs);
        assert_eq!(fates(&judgement, Fate::Never), [3, 4, 5, 6, 7]);
    }
    let judgement = verdict(&tiles, "n", Some(2));
    assert_eq!(fates(&judgement, Fate::Completes), [0, 1, 2]);
    // With one resident CTA, cta 2 keeps cta 3 from its turn at m = 2.
    let judgement = verdict(&tiles, "n", Some(1));
    assert_eq!(fates(&judgement, Fate::Completes), [0, 1]);
    let judgement = verdict(&tiles, "n", None);
    assert_eq!(fates(&judgement, Fate::Completes), [0, 1]);
    assert_eq!(fates(&judgement, Fate::NeedsResidency), [2]);
    let judgement = verdict(&tiles, "n", None);
    assert_eq!(judgement.residency, Residency::Never);
    let first: Vec<u32> = (3..8).map(|m| judgement.turns.at(m)[0].n).collect();
    assert_eq!(first, [2, 3, 3, 3, 6]);
    let waiting = judgement.first_blocked().expect("somebody is blocked");
    assert_eq!(
        (waiting.n, waiting.m, waiting.wants, waiting.now),
        (2, 3, 2, 0)
    );
    assert_eq!(judgement.reason(&waiting), Reason::NoOwner);
    assert_eq!(
        judgement.tiles[3].shape,
        Shape::Gap {
            lock: 2,
            missing: 0
        }
    );
}

#[test]
fn the_published_example_completes_with_ranks() {
    for lock in [
        "rank",
        "reversed-rank",
        "count(k in 0..n where visits[k, m])",
    ] {
        let judgement = verdict(&published(), lock, None);
        assert_eq!(judgement.outcome, Outcome::Completes, "{lock}");
        assert_eq!(judgement.residency, Residency::Every, "{lock}");
    }
    let mut scheme = Scheme::new(Lock::new("reversed-rank"));
    scheme.launch = LaunchChoice::Ascending;
    let judgement = judge(&published(), &scheme, None).expect("a lock");
    assert_eq!(judgement.residency, Residency::From(5));
    assert!(!fates(&judgement, Fate::NeedsResidency).is_empty());
}

#[test]
fn a_reversed_lock_needs_the_whole_dense_grid() {
    for n in 2..=4 {
        let rows = (0..n).map(|_| (vec![0, 1], vec![]));
        let tiles = BlockSparse::from_rows(2, rows).expect("valid");
        let mut scheme = Scheme::new(Lock::new("reversed-rank"));
        scheme.launch = LaunchChoice::Ascending;
        let judgement = judge(&tiles, &scheme, None).expect("a lock");
        assert_eq!(judgement.residency, Residency::From(n));
    }
}

#[test]
fn nothing_to_do_completes() {
    for (m_blocks, n_blocks) in [(0, 0), (3, 0), (0, 2), (2, 2)] {
        let rows = (0..n_blocks).map(|_| (vec![], vec![]));
        let tiles = BlockSparse::from_rows(m_blocks, rows).expect("valid");
        let judgement = verdict(&tiles, "n", None);
        assert_eq!(judgement.outcome, Outcome::Completes);
        assert_eq!(judgement.residency, Residency::Every);
    }
}

#[test]
fn mistakes_in_the_lock_are_errors_about_the_lock() {
    let tiles = published();
    let error = |lock: &str| judge(&tiles, &Scheme::new(Lock::new(lock)), None).unwrap_err();
    for lock in [
        "n +",
        "rnak(n, m)",
        "visits[n, m]",
        "visits[n]",
        "",
        "q",
        "n n",
    ] {
        let SchemeError::Expression(found) = error(lock) else {
            panic!("{lock}");
        };
        assert!(found[0].span.end <= lock.len(), "{lock}");
    }
    let SchemeError::Run(fault) = error("n / m") else {
        panic!("a division by zero");
    };
    assert!(fault.to_string().contains("division by 0"));
    // More than an expression.
    let smuggled = "0 grid other[x in 0..N] launch ascending resident all { sem[0] += 1 }";
    assert!(matches!(error(smuggled), SchemeError::Expression(_)));
}

/// Every state in which nothing can happen, by exhaustive search without any reduction.
fn ends(instance: &Instance) -> Vec<State> {
    let mut met = std::collections::HashSet::new();
    let mut todo = vec![step::initial(instance)];
    let mut ends = Vec::new();
    while let Some(state) = todo.pop() {
        if !met.insert(state.clone()) {
            continue;
        }
        let actions = step::enabled(instance, &state);
        if actions.is_empty() {
            ends.push(state.clone());
        }
        for action in actions {
            let mut next = state.clone();
            step::apply(instance, &mut next, action).expect("enabled");
            todo.push(next);
        }
    }
    ends
}

/// How many visits a CTA has made in a state of the reference semantics, a wait and its increment
/// being one.
fn progress(state: &State, n: usize) -> Option<usize> {
    let operations = state.counters[n];
    (operations != step::NOT_STARTED).then_some(operations as usize / 2)
}

fn done(judgement: &Judgement, end: &State, m: usize) -> bool {
    let mut turns = judgement.turns.at(m).iter();
    turns.all(|turn| {
        let progress = progress(end, turn.n as usize);
        progress.is_some_and(|done| done > turn.place as usize)
    })
}

/// Small enough for every schedule.
fn patterns() -> impl Strategy<Value = BlockSparse> {
    patterns_up_to(3)
}

fn wide_patterns() -> impl Strategy<Value = BlockSparse> {
    patterns_up_to(9)
}

fn patterns_up_to(most: usize) -> impl Strategy<Value = BlockSparse> {
    (1..=most, 1..=most).prop_flat_map(|(n, m)| {
        let rows = prop::collection::vec(
            (
                0u32..1 << m,
                Just((0..m as u32).collect::<Vec<u32>>()).prop_shuffle(),
            ),
            n,
        );
        rows.prop_map(move |rows| {
            let rows = rows.into_iter().map(|(chosen, order)| {
                let row = order.into_iter().filter(|m| chosen >> m & 1 == 1);
                (row.collect(), vec![])
            });
            BlockSparse::from_rows(m, rows).expect("valid")
        })
    })
}

fn locks() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("n".to_owned()),
        Just("rank".to_owned()),
        Just("reversed-rank".to_owned()),
        (0..4, 0..4, 1..5).prop_map(|(a, b, c)| format!("({a} * n + {b} * m) % {c}")),
        (0..3, 1..4)
            .prop_map(|(a, c)| format!("(rank(n, m) + {a} * m) % min({c}, max(total(m), 1))")),
        Just("if m % 2 == 0 then rank(n, m) else total(m) - 1 - rank(n, m)".to_owned()),
        // Counts that are not ranks: over other rows, other tiles, part of the range.
        (0..3, 0..3).prop_map(|(a, b)| format!("rank(n + {a}, m + {b}) - rank({a}, m)")),
        (0..4, 0..2).prop_map(|(a, b)| {
            format!("count(k in {a}..m where visits[n + {b}, k]) + count(k in 1..M + 5 where visits[n, k])")
        }),
        Just("count(k in 0..N where visits[k, m] && visits[n, k])".to_owned()),
        (0..3).prop_map(|a| format!("if visits[n + {a}, m - 1] then rank(n - 1, m) else {a}")),
    ]
}

/// The instance of a scheme in the reference semantics, with this launch order and residency.
fn instance(
    tiles: &BlockSparse,
    scheme: &Scheme,
    launch: LaunchChoice,
    resident: usize,
) -> Instance {
    let protocol = scheme.protocol().expect("a lock");
    let mut instance = schemes::instance(tiles, scheme.order, &protocol).expect("values");
    let plan = instance.roles[0].launch.as_mut().expect("a grid");
    plan.resident = Some(resident);
    let mut order: Vec<usize> = (0..instance.members.len()).collect();
    if launch == LaunchChoice::Descending {
        order.reverse();
    }
    plan.order = (launch != LaunchChoice::Any).then_some(order);
    instance
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn verdicts_hold_for_every_schedule(
        tiles in patterns(),
        lock in locks(),
        descending: bool,
        order in prop_oneof![
            Just(RowOrder::Given), Just(RowOrder::Ascending), Just(RowOrder::Descending)
        ],
    ) {
        let launch = match descending {
            true => LaunchChoice::Descending,
            false => LaunchChoice::Ascending,
        };
        let scheme = Scheme { lock: Lock::new(&lock), order, launch };
        let whole = judge(&tiles, &scheme, None).expect("a lock");
        let all = tiles.n_blocks();
        let mut first = None;
        let mut ever = vec![false; tiles.m_blocks()];
        let mut surely = vec![true; tiles.m_blocks()];
        let mut surely_somewhere = vec![false; tiles.m_blocks()];
        for resident in 1..=all {
            let judgement = judge(&tiles, &scheme, Some(resident)).expect("a lock");
            let instance = instance(&tiles, &scheme, launch, resident);
            let ends = ends(&instance);
            let hangs = ends.iter().any(|end| !step::is_finished(&instance, end));
            prop_assert_eq!(hangs, judgement.outcome == Outcome::Hangs, "R = {}", resident);
            if !hangs && first.is_none() {
                first = Some(resident);
            }
            for m in 0..tiles.m_blocks() {
                let complete = ends.iter().filter(|end| done(&judgement, end, m)).count();
                match judgement.tiles[m].fate {
                    Fate::Completes => prop_assert_eq!(complete, ends.len()),
                    Fate::Never => prop_assert_eq!(complete, 0),
                    Fate::Depends => {}
                    Fate::NeedsResidency => prop_assert!(false),
                }
                ever[m] |= complete > 0;
                surely[m] &= complete == ends.len();
                surely_somewhere[m] |= complete == ends.len();
            }
        }
        let expected = match first {
            Some(1) => Residency::Every,
            Some(resident) => Residency::From(resident),
            None => Residency::Never,
        };
        prop_assert_eq!(whole.residency, expected);
        let always = schemes::always_completes(&tiles, &scheme).expect("a lock");
        prop_assert_eq!(always, expected == Residency::Every);
        for m in 0..tiles.m_blocks() {
            match whole.tiles[m].fate {
                Fate::Completes => prop_assert!(surely[m]),
                Fate::Never => prop_assert!(!ever[m]),
                Fate::NeedsResidency => prop_assert!(!surely[m] && surely_somewhere[m]),
                Fate::Depends => {}
            }
        }
    }

    #[test]
    fn a_run_on_flat_lists_is_the_run_of_the_reference_semantics(
        tiles in wide_patterns(),
        lock in locks(),
        descending: bool,
        order in prop_oneof![
            Just(RowOrder::Given), Just(RowOrder::Ascending), Just(RowOrder::Descending)
        ],
        resident in 1usize..9,
    ) {
        let launch = match descending {
            true => LaunchChoice::Descending,
            false => LaunchChoice::Ascending,
        };
        let scheme = Scheme { lock: Lock::new(&lock), order, launch };
        let judgement = judge(&tiles, &scheme, Some(resident)).expect("a lock");
        let instance = instance(&tiles, &scheme, launch, resident);
        for (n, member) in instance.members.iter().enumerate() {
            let waits = member.ops.iter().filter_map(|op| match op.kind {
                OpKind::Wait(_, lock) => Some((op.cell, lock)),
                _ => None,
            });
            let visits = judgement.visits.of(n).map(|visit| (CellId(visit.m), visit.lock));
            prop_assert!(waits.eq(visits), "cta {}", n);
        }
        let reference = run_greedy(&instance, None).state;
        let state = &judgement.shown.state;
        for n in 0..tiles.n_blocks() {
            prop_assert_eq!(state.progress(n), progress(&reference, n));
        }
        for m in 0..tiles.m_blocks() {
            prop_assert_eq!(&CellState::Semaphore(state.value(m)), &reference.cells[m]);
        }
        prop_assert_eq!(state.started(), reference.started[0]);
        prop_assert_eq!(state.is_finished(), step::is_finished(&instance, &reference));
    }

    #[test]
    fn open_launch_orders_are_decided_for_every_schedule(
        tiles in patterns(), lock in locks(), resident in 1usize..4,
    ) {
        let scheme = Scheme {
            lock: Lock::new(&lock),
            order: RowOrder::Given,
            launch: LaunchChoice::Any,
        };
        let judgement = judge(&tiles, &scheme, Some(resident)).expect("a lock");
        let instance = instance(&tiles, &scheme, LaunchChoice::Any, resident);
        let ends = ends(&instance);
        let hangs = ends.iter().any(|end| !step::is_finished(&instance, end));
        prop_assert_eq!(&judgement.outcome, if hangs { &Outcome::Hangs } else { &Outcome::Completes });
        if judgement.residency == Residency::Every {
            prop_assert!(!hangs);
        }
    }

    #[test]
    fn open_row_orders_are_decided_for_every_order(
        tiles in patterns(), lock in locks(), resident in 1usize..4, open: bool,
    ) {
        let launch = if open { LaunchChoice::Any } else { LaunchChoice::Ascending };
        let scheme = Scheme { lock: Lock::new(&lock), order: RowOrder::Any, launch };
        let judgement = judge(&tiles, &scheme, Some(resident)).expect("a lock");
        let whole = judge(&tiles, &scheme, None).expect("a lock");
        let mut hangs = false;
        for rows in row_orders(&tiles) {
            let rows = rows.into_iter().map(|row| (row, vec![]));
            let tiles = BlockSparse::from_rows(tiles.m_blocks(), rows).expect("valid");
            let given = Scheme { order: RowOrder::Given, ..scheme.clone() };
            let one = judge(&tiles, &given, Some(resident)).expect("a lock");
            hangs |= one.outcome == Outcome::Hangs;
        }
        match judgement.outcome {
            Outcome::Hangs => prop_assert!(hangs),
            Outcome::Completes => prop_assert!(!hangs),
            Outcome::Unknown(_) => prop_assert!(1 < resident && resident < tiles.n_blocks()),
        }
        if hangs {
            prop_assert_eq!(whole.outcome, Outcome::Hangs);
        }
    }
}

/// Every way to order every row.
fn row_orders(tiles: &BlockSparse) -> Vec<Vec<Vec<u32>>> {
    use itertools::Itertools;
    (0..tiles.n_blocks())
        .map(|n| {
            let row = tiles.row(n).to_vec();
            let length = row.len();
            row.into_iter().permutations(length)
        })
        .multi_cartesian_product()
        .collect()
}

/// CTAs in threes that block each other one at a time, so that one place more than there are threes is enough, and only a
/// search of all schedules finds that out. Where there are too many for that, none is begun.
#[test]
fn launch_orders_are_searched_only_where_they_are_few() {
    let outcome = |threes: u32| {
        let rows = (0..threes).flat_map(|at| {
            let (one, other) = (2 * at, 2 * at + 1);
            [vec![other], vec![one, other], vec![one]]
        });
        let rows = rows.map(|row| (row, vec![]));
        let tiles = BlockSparse::from_rows(2 * threes as usize, rows).expect("valid");
        let scheme = Scheme {
            lock: Lock::new("rank"),
            order: RowOrder::Given,
            launch: LaunchChoice::Any,
        };
        let resident = threes as usize + 1;
        judge(&tiles, &scheme, Some(resident))
            .expect("a lock")
            .outcome
    };
    for threes in 1..=3 {
        assert_eq!(outcome(threes), Outcome::Completes, "{threes}");
    }
    for threes in [300, 60_000] {
        assert!(matches!(outcome(threes), Outcome::Unknown(_)), "{threes}");
    }
}
