//! Turns and supplies: what the kernel reads of a protocol, and what a certificate has to say. Each row of these tables is
//! there for a condition.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::found_waits;
use warplock::certificate::argument::Argument;
use warplock::certificate::manifest;
use warplock::protocol::Property;
use warplock::text;
use warplock::trusted::certificate::Name;
use warplock::trusted::certificate::Product;
use warplock::trusted::certificate::Sum;
use warplock::trusted::events::certificate::Component;
use warplock::trusted::events::certificate::Events;
use warplock::trusted::events::certificate::Key;
use warplock::trusted::events::certificate::Numbered;
use warplock::trusted::events::certificate::Place;
use warplock::trusted::events::certificate::Reading;
use warplock::trusted::events::certificate::Supply;

/// All come to all elements, in the order of their numbers.
const DENSE: &str = "protocol dense
param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == n
        dq[m] += 1
    }
}
";

/// The rank lock.
const ROWS: &str = "protocol rows
param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == count(k in 0..n where visits[k, m])
        dq[m] += 1
    }
}
";

/// The rank lock over a pattern that is defined.
const RANGES: &str = "protocol ranges
param N in 1..
param M in 1..
param W in 1..
pattern old[N, M]
pattern visits[n in 0..N, m in 0..M] = n <= m && m < n + W
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == count(k in 0..n where visits[k, m])
        dq[m] += 1
    }
}
";

/// The rank lock from the last to the first.
const REVERSED: &str = "protocol reversed
param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
grid cta[n in 0..N] launch descending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == count(k in 0..N where visits[k, m]) - 1 - count(k in 0..n where visits[k, m])
        dq[m] += 1
    }
}
";

/// Two lists of tiles, and nothing where there is none.
const LISTS: &str = "protocol lists
param N in 1..
param M in 1..
pattern visits[N, M]
pattern part[N, M]
pattern one[n in 0..N, m in 0..M] = visits[n, m] && part[n, m]
pattern two[n in 0..N, m in 0..M] = visits[n, m] && !part[n, m]
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
    if count(m in 0..M where visits[n, m]) == 0 {
        return
    }
    for m in row(one, n) {
        wait dq[m] == count(k in 0..n where visits[k, m])
        dq[m] += 1
    }
    for m in row(two, n) {
        wait dq[m] == count(k in 0..n where visits[k, m])
        dq[m] += 1
    }
}
";

/// Turns that rotate.
const ROTATED: &str = "protocol rotated
param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident all {
    for m in 0..M {
        wait dq[m] == (n + m) % N
        dq[m] += 1
    }
}
";

/// Who comes to an element stands next to each other.
const CAUSAL: &str = "protocol causal
param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch descending resident 1.. {
    for m in n..M {
        wait dq[m] == min(m, N - 1) - n
        dq[m] += 1
    }
}
";

/// Pairs of members, and heads that share an element.
const PAIRS: &str = "protocol pairs
param H in 1..
param N in 1..
semaphore dk[H] = 0
grid cta[h in 0..H][n in 0..N][r in 0..2] launch ascending resident 1.. {
    wait dk[h] == 2 * n + r
    dk[h] += 1
}
";

/// A tile is given back one tile later.
const LATER: &str = "protocol later
param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == n
        if m > 0 {
            dq[m - 1] += 1
        }
    }
    dq[M - 1] += 1
}
";

/// A wavefront.
const CHAIN: &str = "protocol chain
param N in 1..
param T in 0..
pattern unused[N, N]
semaphore done[N] = 0
role cta[n in 0..N] {
    for r in 0..T {
        if n > 0 {
            wait done[n - 1] >= r + 1
        }
        done[n] += 1
    }
}
";

/// All of a grid for a host.
const HOST: &str = "protocol host
param N in 1..
semaphore done = 0
grid cta[n in 0..N] launch any resident 1.. {
    done += 1
}
role host {
    wait done >= N
}
";

fn var(events: &Events, nth: usize) -> Name {
    match &events.waits[nth].rank[0].of {
        Reading::Sum(sum) => sum.0[0].of[0],
        other => panic!("{other:?}"),
    }
}

fn reading(of: Reading, descending: bool) -> Component {
    Component { of, descending }
}

#[test]
fn turns_in_the_order_of_numbers() {
    let found = found_waits(DENSE);
    assert_eq!(found.turns[0].numbered, Numbered::Block);
    Kernel::waits(DENSE, found)
        .texts(
            "
        == n -> >= n => accepted
        == n -> == n + 1 => numbered
        == n -> == n - 1 => numbered
        == n -> == 2 * n => numbered
        == n -> == N - 1 - n => numbered
        dq[M] = 0 -> dq[M] = 1 => numbered
        dq[M] = 0 -> dq[M] = N ; == n -> == N + n => accepted
        += 1 -> += 2 => ones
        += 1 -> += 0 => ones
        += 1 -> += 0 - 1 => element, ones
        += 1 -> += N - N + 1 => accepted
        += 1 -> += n + 1 => ones
        wait dq[m] == n dq[m] += 1 -> dq[m] += 1 wait dq[m] == n => pairs
        dq[m] += 1 -> dq[m] += 1 dq[m] += 1 => once
        wait dq[m] == n -> wait dq[m] == n wait dq[m] == n => unfit
        dq[m] += 1 -> accumulate x => pairs
        wait dq[m] == n -> accumulate x => unfit
        dq[m] += 1 -> if n > 0 { dq[m] += 1 } => pairs
        dq[m] += 1 -> if n >= 0 { dq[m] += 1 } => accepted
        dq[m] += 1 -> if n < 0 { accumulate x } else { dq[m] += 1 } => accepted
        dq[m] += 1 -> if n > 0 { accumulate x } else { dq[m] += 1 } => pairs
        wait dq[m] == n -> if n > 0 { wait dq[m] == n } => numbered, pairs
        launch ascending -> launch descending => started
        launch ascending -> launch any => members that start in any order
        ascending resident 1.. -> any resident all => accepted
        resident 1.. -> resident all => accepted
        resident 1.. -> resident N => accepted
        resident 1.. -> resident N - 1 => resident
        resident 1.. -> resident 2 / (N - 1) => resident
        0..M { -> 0..M + 1 { => element
        0..M { -> 0 - 1..M { => element
        0..M { -> 0..M descending { => accepted
        0..M { -> 0..N { => element
        0..M { -> 0..M / (N - 1) { => defined, element
        0..M { -> 0..M / N { => accepted
        0..M { -> M / (N - 1)..M { => defined, element
        0..M { -> n..M { => accepted
        == n -> == n / (N - N) => defined, numbered
        dq[m] -> dq[m + 0] => accepted
        dq[m] -> dq[M - 1 - m] => accepted
        dq[m] -> dq[2 * m - m] => a loop variable that the element does not say
        dq[m] -> dq[0] => a loop variable that the element does not say
        dq[m] += 1 -> dq[m / (N - 1)] += 1 => a loop variable that the element does not say
        dq[m] += 1 -> dq[M - 1 - m] += 1 => pairs
        wait dq[m] == n -> dq[m] = 0 => this operation
        wait dq[m] == n -> break => this operation
        wait dq[m] == n -> return => a `return` in a loop
        for m -> if n > N { return } for m => accepted
        for m -> if n == 0 { return } for m => numbered
        for m -> if n == 0 { return dq[0] += 1 } for m => numbered
        for m -> if n == N { if N > 0 { return } } for m => accepted
        for m -> var x = n for m ; == n -> == x => accepted
        for m -> var x = n for m ; == n -> == x dq[m] += 1 x = 1 ; x = 1 dq[m] += 1 -> x = 1 => a name without a value
        for m -> var x = 0 if n > 0 { x = n } for m ; == n -> == x => accepted
        for m -> var x = 1 if n > 0 { x = n } for m ; == n -> == x => numbered
        wait dq[m] -> var x = n + m wait dq[m] ; == n -> == x - m => accepted
        for m -> var x = 5 / (N - 1) for m => defined
        semaphore dq[M] = 0 -> semaphore dq[M] = any => what is not a semaphore with a value at the start
        semaphore dq[M] = 0 -> semaphore dq[M] = 0 semaphore e[2 / (N - 1)] = 0 => declared
        grid cta -> role other { dq[0] += 1 } grid cta => turns of members of two roles
        param M in 1.. -> param M in 1.. assume 2 / (N - 1) > 0 => defined
    ",
        )
        .certificates(&[
            ("", |c| c.whole[0] = true, "resident"),
            ("resident 1.. -> resident all", |c| c.whole[0] = true, "accepted"),
            ("resident 1.. -> resident N", |c| c.whole[0] = true, "accepted"),
            ("resident 1.. -> resident N - 1", |c| c.whole[0] = true, "resident"),
            ("launch ascending -> launch descending ; resident 1.. -> resident N", |c| c.whole[0] = true, "accepted"),
            ("", |c| c.whole.clear(), "unfit"),
            ("", |c| c.whole.push(false), "unfit"),
            ("", |c| c.turns.clear(), "a wait for one value where members take no turns"),
            ("", |c| c.turns[0].counted.clear(), "counted, numbered"),
            ("", |c| c.turns[0].counted[0].descending = true, "numbered"),
            ("", |c| c.turns[0].counted[0].index = 7, "unfit"),
            ("", |c| { let key = c.turns[0].counted[0]; c.turns[0].counted.push(key) }, "unfit"),
            ("", |c| c.turns[0].numbered = Numbered::Recurrence(0, false), "accepted"),
            ("", |c| c.turns[0].numbered = Numbered::Recurrence(0, true), "accepted"),
            ("", |c| c.turns[0].numbered = Numbered::Recurrence(1, false), "unfit"),
            ("", |c| c.turns[0].numbered = Numbered::Everybody, "accepted"),
            ("", |c| c.turns[0].role = 1, "turns of members of two roles"),
            ("", |c| c.turns[0].object = 1, "unfit"),
            ("", |c| c.waits[0].rank.clear(), "rank"),
            ("", |c| c.waits[0].rank[0].descending = true, "rank"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Turn, false)], "accepted"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Turn, true)], "rank"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Element(0), false)], "rank"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Element(7), false)], "rank"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Element(0), false), reading(Reading::Turn, false)], "accepted"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Element(7), false), reading(Reading::Turn, false)], "accepted"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Element(0), true), reading(Reading::Turn, false)], "rank"),
            ("0..M { -> 0..M descending {", |c| c.waits[0].rank = vec![reading(Reading::Element(0), true), reading(Reading::Turn, false)], "accepted"),
            ("0..M { -> 0..M descending {", |c| c.waits[0].rank = vec![reading(Reading::Element(0), false), reading(Reading::Turn, false)], "rank"),
            ("", |c| c.waits[0].rank = vec![reading(Reading::Element(0), false), reading(Reading::Turn, true)], "rank"),
            ("", |c| c.waits[0].rank[0].of = Reading::Sum(Sum(vec![Product { times: 1, of: vec![Name::Var(99)] }])), "a name without a value"),
            ("", |c| c.waits[0].rank[0].of = Reading::Sum(Sum(vec![Product { times: 1, of: vec![Name::Done(0)] }])), "a name without a value"),
            ("", |c| { let name = var(c, 0); c.waits[0].rank[0].of = Reading::Sum(Sum(vec![Product { times: 2, of: vec![name, Name::Param(0)] }])) }, "accepted"),
            ("", |c| c.waits.clear(), "unfit"),
            ("", |c| { let wait = c.waits[0].clone(); c.waits.push(wait) }, "unfit"),
        ])
        .check();
}

#[test]
fn turns_that_rows_count() {
    let found = found_waits(ROWS);
    assert_eq!(found.turns[0].numbered, Numbered::Recurrence(0, false));
    Kernel::waits(ROWS, found)
        .texts(
            "
        == count -> >= count => accepted
        visits, n) { -> visits, n) any order { => accepted
        visits, n) { -> visits, n) ascending { => accepted
        visits, n) { -> visits, N - 1 - n) { => numbered
        visits, n) { -> visits, 0) { => numbered
        visits, n) { -> visits, n / (N - 1)) { => defined, numbered
        0..n where -> 0..n + 1 where => numbered
        0..n where -> 1..n where => numbered
        0..n where -> 0 - 1..n where => accepted
        0..n where -> 0..n / (N - 1) where => defined, numbered
        0..n where -> 0..N where => numbered
        0..n where -> n..0 where => numbered
        visits[k, m]) -> visits[m, k]) => numbered
        visits[k, m]) -> visits[k, 0]) => numbered
        visits[k, m]) -> !visits[k, m]) => numbered
        visits[k, m]) -> visits[k, m] && k < N) => accepted
        visits[k, m]) -> visits[k, m] && k / N < 1) => a count of what may not be defined
        visits[k, m]) -> visits[k, m] && k / 2 < N) => accepted
        visits[k, m]) -> count(j in 0..k where visits[j, m]) > 0) => a count of counts
        visits[N, M] -> visits[N + 1, M] => accepted
        visits[N, M] -> visits[N, M + 1] => element
        visits[N, M] -> visits[N, 2 / (N - 1)] => declared, element
        launch ascending -> launch descending => started
    ",
        )
        .certificates(&[
            (
                "",
                |c| c.turns[0].numbered = Numbered::Recurrence(0, true),
                "numbered",
            ),
            (
                "",
                |c| c.turns[0].numbered = Numbered::Block,
                "between, numbered",
            ),
            (
                "",
                |c| c.turns[0].numbered = Numbered::Everybody,
                "numbered",
            ),
            ("", |c| c.turns[0].counted[0].descending = true, "numbered"),
            (
                "",
                |c| c.waits[0].rank = vec![reading(Reading::Turn, false)],
                "rank",
            ),
            (
                "",
                |c| {
                    c.waits[0].rank = vec![
                        reading(Reading::Element(0), false),
                        reading(Reading::Turn, false),
                    ]
                },
                "rank",
            ),
            (
                "visits, n) { -> visits, n) ascending {",
                |c| {
                    c.waits[0].rank = vec![
                        reading(Reading::Element(0), false),
                        reading(Reading::Turn, false),
                    ]
                },
                "rank",
            ),
            (
                "visits, n) { -> visits, n) descending {",
                |c| {
                    c.waits[0].rank = vec![
                        reading(Reading::Element(0), true),
                        reading(Reading::Turn, false),
                    ]
                },
                "rank",
            ),
            (
                "visits, n) { -> visits, n) descending {",
                |c| {
                    c.waits[0].rank = vec![
                        reading(Reading::Element(0), false),
                        reading(Reading::Turn, false),
                    ]
                },
                "rank",
            ),
        ])
        .check();
    Kernel::waits(RANGES, found_waits(RANGES))
        .texts(
            "
        n <= m && -> n <= m / N && => accepted
        n <= m && -> n <= m / n && => declared
        n <= m && -> n <= m / (n + 1) && => accepted
        n <= m && -> m < n || => accepted
        m < n + W -> old[n, m] => accepted
        row(visits, n) -> row(old, n) => numbered
    ",
        )
        .check();
    let found = found_waits(REVERSED);
    assert_eq!(found.turns[0].numbered, Numbered::Recurrence(0, true));
    Kernel::waits(REVERSED, found)
        .texts(
            "
        - 1 - -> - => numbered
        - 1 - -> - 2 - => numbered
        launch descending -> launch ascending => started
    ",
        )
        .certificates(&[
            (
                "",
                |c| c.turns[0].numbered = Numbered::Recurrence(0, false),
                "numbered",
            ),
            ("", |c| c.turns[0].counted[0].descending = false, "numbered"),
        ])
        .check();
}

#[test]
fn turns_at_several_places_of_a_program() {
    Kernel::waits(LISTS, found_waits(LISTS))
        .texts(
            "
        && !part -> || !part => numbered, once, pairs
        && part -> && !part => numbered, once, pairs
        == 0 { -> > 0 { => accepted
        == 0 { -> < 0 { => accepted
        == 0 { -> == 1 { => numbered
        count(m in 0..M -> count(m in 1..M => numbered
    ",
        )
        .certificates(&[
            (
                "",
                |c| c.turns[0].numbered = Numbered::Recurrence(2, false),
                "accepted",
            ),
            ("", |c| c.waits[0].rank[0].of = Reading::Turn, "rank"),
            ("", |c| c.waits[1].rank.clear(), "unfit"),
        ])
        .check();
    Kernel::waits(LATER, found_waits(LATER))
        .texts(
            "
        dq[M - 1] += 1 -> dq[0] += 1 => once, pairs
        if m > 0 -> if m > 1 => pairs
        if m > 0 -> if m >= 0 => element
        dq[m - 1] += 1 -> dq[m] += 1 => once, pairs
        0..M { -> 0..M descending { => pairs
    ",
        )
        .check();
}

#[test]
fn turns_of_everybody_and_of_blocks() {
    let found = found_waits(ROTATED);
    assert_eq!(found.turns[0].numbered, Numbered::Everybody);
    Kernel::waits(ROTATED, found)
        .texts(
            "
        (n + m) % N -> (n + 2 * m) % N => accepted
        (n + m) % N -> (2 * n + m) % N => numbered
        (n + m) % N -> n + m => numbered
        (n + m) % N -> (n + m) % N + 1 => numbered
        (n + m) % N -> (n + m) % N - 1 => numbered
        (n + m) % N -> (n + m) % (N + 1) => numbered
        0..M { -> n..M { => numbered
        resident all -> resident N => started
    ",
        )
        .certificates(&[
            ("", |c| c.turns[0].numbered = Numbered::Block, "numbered"),
            ("", |c| c.turns[0].counted.clear(), "counted, numbered"),
            (
                "resident all -> resident N",
                |c| c.whole[0] = true,
                "accepted",
            ),
        ])
        .check();
    let found = found_waits(CAUSAL);
    assert_eq!(found.turns[0].numbered, Numbered::Block);
    Kernel::waits(CAUSAL, found)
        .texts(
            "
        n..M -> 0..M => numbered
        n..M -> n..min(M, N) => accepted
        n..M -> 2 * n..M => numbered
        min(m, N - 1) - n -> m - n => numbered
        min(m, N - 1) - n -> min(m, N) - n => numbered
        for m -> if n == 1 { return } for m => between, numbered
        for m -> if n > 1 { return } for m ; min(m, N - 1) -> min(1, min(m, N - 1)) => accepted
    ",
        )
        .certificates(&[
            (
                "",
                |c| c.turns[0].numbered = Numbered::Everybody,
                "numbered",
            ),
            ("", |c| c.turns[0].counted[0].descending = false, "numbered"),
        ])
        .check();
    Kernel::waits(PAIRS, found_waits(PAIRS))
        .texts(
            "
        2 * n + r -> n + N * r => numbered
        2 * n + r -> 2 * n + 1 - r => numbered
        2 * n + r -> n + r => numbered
        [h] -> [0] => counted
    ",
        )
        .certificates(&[
            ("", |c| c.turns[0].counted.reverse(), "numbered"),
            (
                "2 * n + r -> n + N * r",
                |c| c.turns[0].counted.reverse(),
                "rank, started",
            ),
            ("", |c| c.turns[0].counted[1].descending = true, "numbered"),
            (
                "2 * n + r -> 2 * n + 1 - r",
                |c| c.turns[0].counted[1].descending = true,
                "rank, started",
            ),
            (
                "",
                |c| {
                    c.turns[0].counted.remove(0);
                },
                "counted, numbered",
            ),
            (
                "",
                |c| {
                    c.turns[0].counted.push(Key {
                        index: 0,
                        descending: false,
                    })
                },
                "between, numbered",
            ),
            ("", |c| c.waits[0].rank.truncate(2), "rank"),
        ])
        .check();
}

fn at(times: i64, name: Option<Name>) -> Product {
    Product {
        times,
        of: name.into_iter().collect(),
    }
}

/// The first supply of the first wait.
fn supply(events: &mut Events) -> &mut Supply {
    &mut events.waits[0].supplies[0][0]
}

fn less(place: &mut Place) {
    match place {
        Place::At(sum) | Place::From(_, sum) => sum.0.push(at(-1, None)),
    }
}

#[test]
fn waits_that_are_for_additions() {
    Kernel::waits(CHAIN, found_waits(CHAIN))
        .texts(
            "
        >= r + 1 -> >= r + 2 => supplied
        >= r + 1 -> >= r => accepted
        >= r + 1 -> == r + 1 => a wait for one value where members take no turns
        += 1 -> += 2 => accepted
        += 1 -> += 2 ; >= r + 1 -> >= 2 * r + 2 => accepted
        += 1 -> += 2 ; >= r + 1 -> >= 2 * r + 3 => supplied
        += 1 -> += n + 1 => accepted
        += 1 -> += n => supplied
        += 1 -> += 0 => supplied
        += 1 -> += 0 - 1 => element, supplied
        done[N] = 0 -> done[N] = 1 => accepted
        done[N] = 0 -> done[N] = 1 ; >= r + 1 -> >= r + 2 => accepted
        done[N] = 0 -> done[N] = 0 - 1 => supplied
        n > 0 -> n > 1 => accepted
        n > 0 -> n >= 0 => element, supplied
        done[n] += 1 -> done[0] += 1 => supplied
        done[n] += 1 -> if n > 0 { done[n] += 1 } => supplied
        done[n] += 1 -> if r > 0 { done[n] += 1 } => supplied
        0..T { -> 0..T descending { => accepted
        role cta[n in 0..N] -> grid cta[n in 0..N] launch any resident all => accepted
    ",
        )
        .certificates(&[
            (
                "role cta[n in 0..N] -> grid cta[n in 0..N] launch ascending resident 1..",
                |c| c.whole[0] = false,
                "accepted",
            ),
            (
                "role cta[n in 0..N] -> grid cta[n in 0..N] launch descending resident 1..",
                |c| c.whole[0] = false,
                "started",
            ),
            (
                "role cta[n in 0..N] -> grid cta[n in 0..N] launch any resident 1..",
                |c| c.whole[0] = false,
                "members that start in any order",
            ),
            ("", |c| c.waits[0].supplies.clear(), "supplied"),
            ("", |c| c.waits[0].supplies[0].clear(), "supplied"),
            (
                "",
                |c| {
                    let one = c.waits[0].supplies[0].clone();
                    c.waits[0].supplies.push(one)
                },
                "accepted",
            ),
            (
                "",
                |c| {
                    let one = supply(c).clone();
                    c.waits[0].supplies[0].push(one)
                },
                "unfit",
            ),
            ("", |c| supply(c).event = 0, "unfit"),
            ("", |c| supply(c).event = 7, "unfit"),
            ("", |c| supply(c).role = 7, "unfit"),
            ("", |c| drop(supply(c).at.pop()), "unfit"),
            (
                "",
                |c| {
                    let place = supply(c).at[0].clone();
                    supply(c).at.push(place)
                },
                "unfit",
            ),
            ("", |c| less(&mut supply(c).at[0]), "supplied"),
            ("", |c| less(&mut supply(c).at[1]), "supplied"),
            ("", |c| c.waits[0].rank.clear(), "rank"),
            (
                "",
                |c| {
                    c.waits[0]
                        .rank
                        .iter_mut()
                        .for_each(|r| r.descending = !r.descending)
                },
                "rank",
            ),
        ])
        .check();
    Kernel::waits(HOST, found_waits(HOST))
        .texts(
            "
        >= N -> >= N + 1 => supplied
        >= N -> >= 0 => accepted
        done += 1 -> done += 1 wait done >= 1 => unfit
        resident 1.. -> resident N - 1 => resident
        launch any resident 1.. -> launch any resident all => accepted
    ",
        )
        .certificates(&[
            ("done += 1 -> done += 1 wait done >= 0", |c| { let wait = c.waits[0].clone(); c.waits.insert(0, wait); c.waits[0].supplies.clear() }, "members that start in any order"),
            ("any resident 1.. -> ascending resident 1.. ; done += 1 -> done += 1 wait done >= 0", |c| { let wait = c.waits[0].clone(); c.waits.insert(0, wait); c.waits[0].supplies.clear() }, "a wait for members that need not have started"),
        ])
        .check();
}

/// What a certificate says of a role without a launch does not take the launch order of another one from the assumptions.
#[test]
fn a_role_without_a_launch_says_nothing_of_the_launch_order() {
    let source = "protocol started
param M in 1..
semaphore g = 0
semaphore x = 0
grid b[m in 0..M] launch ascending resident 1.. {
    wait x == m
    x += 1
}
role r {
    g += 1
}
";
    let protocol = text::load(source.as_bytes()).unwrap();
    let assumed = |waits: Events| {
        let argument = Argument::Waits(waits);
        let all = manifest::assumptions(&protocol, Property::Deadlock, &argument);
        all.iter().any(|one| one.contains("launch order"))
    };
    let mut waits = found_waits(source);
    assert!(assumed(waits.clone()));
    waits.whole = vec![false, true];
    assert!(assumed(waits.clone()));
    // Where all CTAs may be resident, which is an obligation then, the order does not matter.
    waits.whole = vec![true, false];
    assert!(!assumed(waits));
}
