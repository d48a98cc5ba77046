//! Generations of a named barrier in which not everybody takes part: what the order rule proves, what it must not prove, and that each
//! part of an argument that says so is needed. And ranks that are less behind a loop than in it.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::certificate::order::artefact::Order;
use warplock::certificate::order::artefact::Seat;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

fn proposal(source: &str) -> Result<Order, String> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match proof::search(&protocol, Layer::Order, LIMIT, None, &|_| {}) {
        Guess::Fitting(Argument::Order(order)) => Ok(order),
        Guess::Nothing { reason, .. } => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn accepted(source: &str, property: &str, order: &Order) -> Result<usize, Rejection> {
    let argument = Argument::Order(order.clone());
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), property, argument)?;
    manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).map(|c| c.obligations)
}

fn proves(source: &str) -> Order {
    let order = proposal(source).unwrap_or_else(|reason| panic!("{reason}\n{source}"));
    for property in ["deadlock", "early_completion", "over_arrival"] {
        accepted(source, property, &order).unwrap_or_else(|why| panic!("{why}\n{source}"));
    }
    order
}

/// Two warps.
fn warps(one: &str, two: &str) -> String {
    format!(
        "protocol seats param N in 0.. named bar[2] mbarrier m {{ arrivals: 1 }}
         role one warp {{ {one} }}
         role two warp {{ {two} }}"
    )
}

/// Two warps take turns, with this in front of their loops, and this much of them.
fn turns(first: [&str; 2], trips: [&str; 2]) -> String {
    let [one, two] = first;
    let [ones, twos] = trips;
    warps(
        &format!("{one} for i in 0..{ones} {{ sync bar[0] 64 arrive bar[1] 64 }}"),
        &format!("{two} for i in 0..{twos} {{ sync bar[1] 64 arrive bar[0] 64 }}"),
    )
}

const FIRST: [&str; 2] = ["arrive bar[0] 64", ""];

/// Three warps meet, and then these, and one of them once more.
fn meets(rest: &str, store: &str) -> String {
    format!(
        "protocol seats param N in 0.. named bar[2]
         role rest[w in 0..2] warp {{ {rest} }}
         role store warp {{ {store} }}"
    )
}

const REST: &str = "sync bar[0] 96 arrive bar[0] 128";
const STORE: &str = "sync bar[0] 96 arrive bar[0] 128 sync bar[0] 128";

#[test]
fn a_first_turn_may_be_given_by_whoever_takes_it() {
    let order = proves(&turns(FIRST, ["N", "N"]));
    assert_eq!(order.again.len(), 1);
    // The turn that was given in advance ends, and the other warp's begin with the second one.
    let mut seats: Vec<(i64, bool)> = order.seats.iter().map(|s| (s.first, s.ends)).collect();
    seats.sort_unstable();
    assert_eq!(seats, [(0, true), (1, false)]);
}

#[test]
fn the_count_may_change() {
    let order = proves(&meets(REST, STORE));
    assert_eq!(order.seats.len(), 1);
    assert_eq!((order.seats[0].first, order.seats[0].ends), (1, false));
    // Back to the first count, and again to the second one.
    let order = proves(&meets(
        "sync bar[0] 96 sync bar[0] 128 sync bar[0] 96 arrive bar[0] 128",
        &[STORE, STORE].join(" "),
    ));
    let firsts: Vec<i64> = order.seats.iter().map(|seat| seat.first).collect();
    assert_eq!(firsts, [1, 3]);
}

#[test]
fn whoever_joins_later_waits_for_later_generations() {
    // By as many generations as it missed: one, as a round of the one barrier, or three.
    let order = proves(&meets(
        "sync bar[0] 64 sync bar[1] 96 sync bar[0] 96",
        "sync bar[1] 96 sync bar[0] 96",
    ));
    assert!(order.lags.iter().any(|lag| lag.rounds == -1));
    let order = proves(&meets(
        "sync bar[0] 64 sync bar[0] 64 sync bar[0] 64 sync bar[1] 96 sync bar[0] 96",
        "sync bar[1] 96 sync bar[0] 96",
    ));
    assert!(order.lags.iter().any(|lag| lag.arrivals == -3));
    // Whoever leaves earlier is not missed.
    proves(&meets(
        "for i in 0..N { sync bar[0] 96 } sync bar[0] 64",
        "for i in 0..N { sync bar[0] 96 }",
    ));
}

/// Protocols that hang, get out of step, or give another count.
#[test]
fn what_does_not_hold_is_not_proved() {
    let wrong = [
        // Nobody gives the first turn, or both do, or the same one twice.
        turns(["", ""], ["N", "N"]),
        turns(["arrive bar[0] 64", "arrive bar[1] 64"], ["N", "N"]),
        turns(["arrive bar[0] 64 arrive bar[0] 64", ""], ["N", "N"]),
        turns(["", "arrive bar[0] 64"], ["N", "N + 1"]),
        // One goes around once more.
        turns(FIRST, ["N + 2", "N"]),
        turns(FIRST, ["N", "N + 1"]),
        turns(FIRST, ["N", "2 * N"]),
        // The count is that of the other generation, or of neither.
        meets(&REST.replace("96", "128"), &STORE.replace("96", "128")),
        meets(REST, &STORE.replace("128", "96")),
        meets(&REST.replace("128", "160"), &STORE.replace("128", "160")),
        // Whoever joins later may come too early.
        meets("sync bar[0] 64 sync bar[0] 96", "sync bar[0] 96"),
        meets("sync bar[0] 64 arrive bar[0] 96", "arrive bar[0] 96"),
        // Whoever has left does not come back.
        meets(
            "sync bar[0] 96 sync bar[0] 64 sync bar[0] 96",
            "sync bar[0] 96 sync bar[0] 96",
        ),
        meets(
            "for i in 0..N { sync bar[0] 96 } sync bar[0] 64",
            "for i in 0..N + 1 { sync bar[0] 96 }",
        ),
        meets(
            "for i in 0..N { sync bar[0] 96 } sync bar[0] 64",
            "for i in 0..max(N - 1, 0) { sync bar[0] 96 }",
        ),
    ];
    for source in wrong {
        assert!(proposal(&source).is_err(), "{source}");
    }
}

#[test]
fn every_part_of_it_is_needed() {
    let source = turns(FIRST, ["N", "N"]);
    let good = proposal(&source).unwrap();
    let seats = &good.seats;
    let with = |nth: usize, change: &dyn Fn(&mut Seat)| {
        let mut changed = seats.clone();
        change(&mut changed[nth]);
        changed
    };
    let mut changed = vec![Vec::new(), [seats.clone(), seats.clone()].concat()];
    for nth in 0..seats.len() {
        changed.push(seats.iter().copied().filter(|s| *s != seats[nth]).collect());
        changed.push(with(nth, &|seat| seat.first += 1));
        changed.push(with(nth, &|seat| seat.first -= 1));
        changed.push(with(nth, &|seat| seat.first = i64::MAX));
        changed.push(with(nth, &|seat| seat.class = 9));
        changed.push(with(nth, &|seat| seat.ring += 1));
        changed.push(with(nth, &|seat| seat.ring = 9));
        changed.push(with(nth, &|seat| seat.ends = !seat.ends));
    }
    for seats in changed {
        let order = Order {
            seats: seats.clone(),
            ..good.clone()
        };
        assert!(accepted(&source, "deadlock", &order).is_err(), "{seats:?}");
    }
}

/// At an mbarrier everybody takes part in all phases.
#[test]
fn there_are_seats_at_named_barriers_only() {
    let source = warps(
        "for i in 0..N { arrive m }",
        "for i in 0..N { wait m i % 2 }",
    );
    let seats = vec![Seat {
        class: 0,
        ring: 0,
        first: 0,
        ends: true,
    }];
    let order = Order {
        seats,
        ..Order::default()
    };
    let refused = accepted(&source, "deadlock", &order).unwrap_err();
    assert!(
        refused.to_string().contains("a seat that is none"),
        "{refused}"
    );
}

/// One goes ahead by a part of its loop that stands behind it.
fn ahead(last: &str, waits: &str) -> String {
    format!(
        "protocol ahead param N in 1..
         mbarrier x {{ arrivals: 1 }} mbarrier y {{ arrivals: 1 }} mbarrier z {{ arrivals: 1 }}
         role ahead {{ for i in 0..max(N - 1, 0) {{ arrive x wait y i % 2 }} {last} }}
         role behind {{ for i in 0..N {{ wait x i % 2 arrive y }} {waits} }}"
    )
}

const LAST: &str = "arrive x wait y max(N - 1, 0) % 2";

#[test]
fn behind_a_loop_a_rank_may_be_less_than_in_it() {
    proves(&ahead(LAST, ""));
    for last in ["", "wait y max(N - 1, 0) % 2 arrive x"] {
        assert!(proposal(&ahead(last, "")).is_err(), "{last}");
    }
}

#[test]
fn where_nobody_arrives_a_wait_may_be_for_no_arrival_only() {
    proves(&ahead(LAST, "wait z 1"));
    for waits in [
        "wait z 0",
        "wait z 1 wait z 0",
        "for i in 0..N { wait z (i + 1) % 2 }",
    ] {
        assert!(proposal(&ahead(LAST, waits)).is_err(), "{waits}");
    }
}
