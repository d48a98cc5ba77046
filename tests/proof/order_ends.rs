//! The order rule where a ring is drained, waits are skipped or bytes come from elsewhere: what is proved, what is not,
//! and that the parts of an argument that say so are needed.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::certificate::order::artefact::End;
use warplock::certificate::order::artefact::Order;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(240);

fn proposal(source: &str) -> Option<Order> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match proof::search(&protocol, Layer::Order, LIMIT, None, &|_| {}) {
        Guess::Fitting(Argument::Order(order)) => Some(order),
        _ => None,
    }
}

fn accepted(source: &str, property: &str, order: &Order) -> Result<usize, Rejection> {
    let argument = Argument::Order(order.clone());
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), property, argument)?;
    manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).map(|c| c.obligations)
}

/// A persistent ring whose producer skips waits under a guard and drains stages from one number to another.
fn drained(guard: &str, drain: &str, after: &str) -> String {
    format!(
        "protocol drained param S in 1.. param K in 1.. param N in 0..
         mbarrier full[S] {{ arrivals: 1 }} mbarrier empty[S] {{ arrivals: 1 }}
         role load {{ var n = 0 for tile in 0..N {{ for k in 0..K {{
             if {guard} {{ wait empty[n % S] (n / S + 1) % 2 }} arrive full[n % S] n = n + 1 }} }}
             for m in {drain} {{ wait empty[m % S] m / S % 2 }} {after} }}
         role math {{ var n = 0 for tile in 0..N {{ for k in 0..K {{
             wait full[n % S] n / S % 2 arrive empty[n % S] n = n + 1 }} }} }}"
    )
}

const GUARD: &str = "n >= S";
const DRAIN: &str = "max(0, n - S)..n";

#[test]
fn a_ring_that_is_drained_is_proved() {
    let source = drained(GUARD, DRAIN, "");
    let order = proposal(&source).unwrap();
    assert_eq!((order.unguarded.len(), order.ends.len()), (1, 1));
    accepted(&source, "deadlock", &order).unwrap();
    accepted(&source, "over_arrival", &order).unwrap();
    // When the last waits pass in other runs is not shown.
    let refused = accepted(&source, "early_pass", &order).unwrap_err();
    insta::assert_snapshot!(refused, @"this argument by the order rule does not prove `early_pass`");
    accepted(&source, "lapped_wait", &order).unwrap_err();
    // Without a guard the first waits pass by themselves.
    let plain = proposal(&drained("0 == 0", DRAIN, "")).unwrap();
    assert_eq!((plain.unguarded.len(), plain.ends.len()), (0, 1));
}

/// What is skipped must be for nothing, and what is waited for last must be the last at its element.
#[test]
fn a_guard_or_a_drain_that_is_off_is_not_proved() {
    for source in [
        drained("n > S", DRAIN, ""),
        drained("n >= S + 1", DRAIN, ""),
        drained("tile > 0", DRAIN, ""),
        drained("n >= 2 * S", DRAIN, ""),
        drained("n < S", DRAIN, ""),
        drained(GUARD, "max(0, n - S)..n + 1", ""),
        drained(GUARD, "max(0, n - S - 1)..n", ""),
        drained(GUARD, "0..n", ""),
        drained(GUARD, "n..n + S", ""),
        // The waits do not end the program.
        drained(GUARD, "max(0, n - S)..n + 1", "arrive full[0]"),
    ] {
        assert_eq!(proposal(&source), None, "{source}");
    }
}

#[test]
fn an_altered_end_is_not_accepted() {
    let source = drained(GUARD, DRAIN, "");
    let good = proposal(&source).unwrap();
    let mut altered = Vec::new();
    let mut with = |change: &dyn Fn(&mut Order)| {
        let mut order = good.clone();
        change(&mut order);
        altered.push(order);
    };
    for rounds in [-2, -1, 1, 2, i64::MAX, i64::MIN] {
        with(&|order| order.ends[0].rounds = rounds);
    }
    let end = good.ends[0];
    with(&|order| order.ends.clear());
    with(&|order| order.ends.push(end));
    with(&|order| order.ends[0].class = 1);
    with(&|order| order.ends[0].class = 9);
    // A wait that is followed by an arrival.
    for site in 0..end.site {
        with(&|order| order.ends.push(End { site, ..end }));
        with(&|order| order.ends[0].site = site);
    }
    with(&|order| order.unguarded.clear());
    with(&|order| order.unguarded.push((1, 0)));
    with(&|order| order.unguarded[0] = (9, 9));
    for order in altered {
        accepted(&source, "deadlock", &order).unwrap_err();
    }
}

/// Two CTAs load one half each for both of their barriers, or so it should be.
fn multicast(first: &str, second: &str, expected: &str, order: [&str; 2]) -> String {
    let [before, after] = order;
    format!(
        "protocol multicast param S in 1..=4 param N in 0.. param B in 1..
         mbarrier full[2, S] {{ arrivals: 1 }} mbarrier empty[2, S] {{ arrivals: 2 }}
         role load[c in 0..2] {{ var p = producer(S) repeat N {{
             {before} wait empty[c, p.index] p.phase {after}
             arrive_expect_tx full[c, p.index] {expected}
             async copy a completes full[0, p.index] {first}
             async copy b completes full[1, p.index] {second} advance p }} }}
         role math[c in 0..2] {{ var q = consumer(S) repeat N {{ wait full[c, q.index] q.phase
             arrive empty[0, q.index] arrive empty[1, q.index] advance q }} }}"
    )
}

#[test]
fn bytes_from_two_ctas_are_proved_where_they_add_up() {
    let source = multicast("B", "B", "2 * B", ["", ""]);
    let order = proposal(&source).unwrap();
    for property in ["deadlock", "tx_mismatch", "early_completion"] {
        accepted(&source, property, &order).unwrap();
    }
    let early = "async copy e completes full[1 - c, p.index] 1";
    for (first, second, expected, order) in [
        ("B", "B + 1", "2 * B", ["", ""]),
        ("B", "B", "B", ["", ""]),
        ("B", "B", "2 * B + 1", ["", ""]),
        ("B - 1", "B - 1", "2 * B - 2", ["", ""]),
        ("B * (c + 1)", "B", "2 * B", ["", ""]),
        // Before there is a place.
        ("B", "B", "2 * B + 1", [early, ""]),
    ] {
        let source = multicast(first, second, expected, order);
        assert_eq!(proposal(&source), None, "{source}");
    }
}

/// A producer that asks for more slots in the end and delivers nothing to them, and what else happens.
fn asks_on(tail: &str, trips: &str, after: &str) -> String {
    format!(
        "protocol asks param N in 1.. param B in 1..
         mbarrier full[2] {{ arrivals: 1 }} mbarrier empty[2] {{ arrivals: 1 }}
         role load {{ for k in 0..N {{ wait empty[k % 2] (k / 2 + 1) % 2
             arrive_expect_tx full[k % 2] B async copy a completes full[k % 2] B }} {tail} }}
         role math {{ for k in 0..{trips} {{ wait full[k % 2] k / 2 % 2 arrive empty[k % 2] }} {after} }}"
    )
}

const ASKS: &str = "wait empty[N % 2] (N / 2 + 1) % 2 arrive_expect_tx full[N % 2] B";
const ASKS_AGAIN: &str =
    "wait empty[(N + 1) % 2] ((N + 1) / 2 + 1) % 2 arrive_expect_tx full[(N + 1) % 2] B";

#[test]
fn the_last_arrivals_may_lack_bytes() {
    for (tail, unfilled) in [(ASKS.to_owned(), 1), (format!("{ASKS} {ASKS_AGAIN}"), 2)] {
        let source = asks_on(&tail, "N", "");
        let order = proposal(&source).unwrap_or_else(|| panic!("{source}"));
        assert_eq!(order.unfilled.len(), unfilled);
        for property in ["deadlock", "early_completion", "early_pass", "lapped_wait"] {
            accepted(&source, property, &order).unwrap();
        }
        // Bytes are left over.
        accepted(&source, "tx_mismatch", &order).unwrap_err();
    }
}

/// Also where the others stand in no loop.
#[test]
fn the_last_arrival_may_be_the_second_one() {
    let once = |after: &str| {
        format!(
            "protocol once param N in 0.. param B in 1..
             mbarrier full {{ arrivals: 1 }} mbarrier empty {{ arrivals: 1 }}
             role load {{ if N > 3 {{ wait empty 1 arrive_expect_tx full B async copy a completes full B
                 wait empty 0 }} else {{ wait empty 1 }} arrive_expect_tx full B }}
             role math {{ if N > 3 {{ wait full 0 arrive empty }} {after} }}"
        )
    };
    let order = proposal(&once("")).unwrap();
    assert_eq!(order.unfilled.len(), 1);
    accepted(&once(""), "deadlock", &order).unwrap();
    assert_eq!(proposal(&once("if N > 3 { wait full 1 }")), None);
    assert_eq!(proposal(&once("if N <= 3 { wait full 0 }")), None);
}

/// Nobody may wait for such an arrival, nor make another one behind it, nor be early.
#[test]
fn what_lacks_bytes_is_not_waited_for() {
    let early = "arrive_expect_tx full[N % 2] B";
    for source in [
        asks_on(ASKS, "N + 1", ""),
        asks_on(ASKS, "N", "wait full[N % 2] N / 2 % 2"),
        asks_on(early, "N", ""),
        asks_on(&format!("{ASKS} {ASKS}"), "N", ""),
        asks_on(
            &format!("{ASKS} async copy b completes full[(N + 1) % 2] B"),
            "N",
            "",
        ),
        asks_on(
            &format!("{ASKS} for k in 0..N {{ arrive full[(N + 1 + k) % 2] }}"),
            "N",
            "",
        ),
    ] {
        assert_eq!(proposal(&source), None, "{source}");
    }
    let source = asks_on(ASKS, "N", "");
    let good = proposal(&source).unwrap();
    let arrival = good.unfilled[0];
    for unfilled in [
        vec![],
        vec![(1, 0)],
        vec![(9, 9)],
        vec![arrival, (0, 2)],
        vec![(0, 2)],
    ] {
        let order = Order {
            unfilled,
            ..good.clone()
        };
        accepted(&source, "deadlock", &order).unwrap_err();
    }
    // Of a ring that is filled to the end no arrival is unfilled.
    let source = asks_on("", "N", "");
    let good = proposal(&source).unwrap();
    for site in 0..4 {
        let order = Order {
            unfilled: vec![(0, site)],
            ..good.clone()
        };
        accepted(&source, "deadlock", &order).unwrap_err();
    }
}

/// A ring of two whose producer waits once at the end, for the last slot but not for the one before it. Then another member and the
/// consumer wait for each other, as two CTAs do before they give up what they share.
fn leaves_last(last: &str, parity: &str, after: &str) -> String {
    format!(
        "protocol leaves_last param N in 0..
         mbarrier full[2] {{ arrivals: 1 }} mbarrier empty[2] {{ arrivals: 1 }} mbarrier done {{ arrivals: 1 }} mbarrier too {{ arrivals: 1 }}
         role load {{ for n in 0..N {{ wait empty[n % 2] (n / 2 + 1) % 2 arrive full[n % 2] }}
             wait empty[({last}) % 2] (({last}) / 2 + 1) % 2 }}
         role math {{ for n in 0..N {{ wait full[n % 2] n / 2 % 2 arrive empty[n % 2] }} arrive done {after} wait too 0 }}
         role other {{ arrive too wait done {parity} }}"
    )
}

/// What only ends programs is left out where that is needed. The wait for `done` is not, so that its one arrival is in turn.
#[test]
fn a_last_wait_may_be_needed_by_who_arrives() {
    let source = leaves_last("N + 1", "0", "");
    let order = proposal(&source).unwrap();
    let ends: Vec<usize> = order.ends.iter().map(|end| end.class).collect();
    assert_eq!(ends, [0]);
    accepted(&source, "deadlock", &order).unwrap();
    for source in [
        // A slot that comes later than the last one.
        leaves_last("N + 2", "0", ""),
        leaves_last("N + 3", "0", ""),
        // A second generation that never completes, and one that laps the wait.
        leaves_last("N + 1", "1", ""),
        leaves_last("N + 1", "0", "arrive done"),
    ] {
        assert_eq!(proposal(&source), None, "{source}");
    }
}
