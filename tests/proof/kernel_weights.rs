//! Arrivals that count more than one, several arrivals at one generation, and pools. Each row of these tables is there for a
//! condition that is noticed by nothing else.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::found;
use crate::support::kernel_rows::once;
use crate::support::program::Folder;
use warplock::trusted::certificate::Behind;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::certificate::Holds;
use warplock::trusted::certificate::InTurn;
use warplock::trusted::certificate::Link;
use warplock::trusted::certificate::Local;
use warplock::trusted::certificate::Sum;
use warplock::trusted::certificate::Weight;
use warplock::trusted::exact::around;
use warplock::trusted::exact::difference;
use warplock::trusted::exact::number;
use warplock::trusted::exact::product;
use warplock::trusted::exact::sum;
use warplock::trusted::exact::too_large;

/// A certificate that says of its only lane what some class arrives with.
fn weighs(mut certificate: Certificate, class: usize, amounts: &[i64]) -> Certificate {
    let amounts = amounts.iter().map(|amount| Sum::number(*amount)).collect();
    let ring = 0;
    certificate.weights.push(Weight {
        class,
        ring,
        amounts,
    });
    certificate
}

const LANES: &str = "protocol lanes
param W in 1..
param N in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 32 * W }
role mma {
    for i in 0..N {
        wait empty[i % 2] (i / 2 + 1) % 2
        arrive full[i % 2]
    }
}
role epilogue[w in 0..W] {
    for i in 0..N {
        wait full[i % 2] i / 2 % 2
        arrive empty[i % 2] 32
    }
}
";

/// An arrival counts what the certificate says.
#[test]
fn a_warp_arrives_for_its_lanes() {
    Kernel::new(LANES, found(LANES))
        .texts(
            "
        [i % 2] 32 -> [i % 2] 31 => amount
        [i % 2] 32 -> [i % 2] 1 => amount
        [i % 2] 32 -> [i % 2] (if i == 5 then 31 else 32) => amount
        arrive empty[i % 2] 32 -> commit empty[i % 2] => amount
        32 * W -> 16 * W => expected
        32 * W -> 32 * W + 1 => expected
        arrive empty[i % 2] 32 -> arrive empty[i % 2] 16 arrive empty[i % 2] 16 => amount, behind, element, in_turn, kept, laps
        ",
        )
        .certificates(&[
            ("", |c| c.weights.clear(), "expected"),
            ("", |c| c.weights[0].amounts.clear(), "unfit"),
            ("", |c| c.weights[0].amounts.push(Sum::number(1)), "expected"),
        ])
        .check();
}

const TWICE: &str = "protocol twice
param N in 0..
named b
named back
role give {
    for i in 0..N {
        arrive b 96
        arrive b 96
        sync back 64
    }
}
role take {
    for i in 0..N {
        sync b 96
        sync back 64
    }
}
";

/// A member arrives twice in a generation.
#[test]
fn a_warp_arrives_twice() {
    Kernel::new(TWICE, found(TWICE))
        .texts(
            "
        b 96 -> b 64 => amount
        arrive b 96 sync back 64 -> sync back 64 => kept, progress
        arrive b 96 sync back 64 -> arrive b 96 arrive b 96 sync back 64 => in_turn, kept
        arrive b 96 arrive b 96 sync back 64 -> arrive b 96 sync back 64 arrive b 96 => progress
        sync back 64 } } role take -> if i > 8 { sync back 64 } } } role take => kept
        role give { -> role give { arrive b 96 => kept
        role give { -> role give { arrive b 96 arrive b 96 => kept
        ",
        )
        .certificates(&[
            ("", |c| c.weights.clear(), "amount, in_turn, kept"),
            ("", |c| c.weights[0].amounts[0] = Sum::number(2), "amount"),
            (
                "",
                |c| c.weights[0].amounts.truncate(1),
                "amount, in_turn, kept",
            ),
            (
                "",
                |c| c.weights[0].amounts.push(Sum::number(1)),
                "amount, kept, progress",
            ),
        ])
        .check();
}

/// Two waits of one member cannot be for one generation.
#[test]
fn a_generation_is_not_awaited_in_its_midst() {
    let text = "protocol midst
named b
role one {
    arrive b 96
    sync b 96
}
role two {
    sync b 96
}
";
    let certificate = found(text);
    Kernel::new(text, certificate)
        .texts("one { arrive b 96 sync b 96 -> one { sync b 96 arrive b 96 => awaits, progress")
        .certificates(&[(
            "one { arrive b 96 sync b 96 -> one { sync b 96",
            |c| c.weights[0].amounts = vec![Sum::number(2)],
            "amount",
        )])
        .check();
}

/// What arrives once at each generation arrives no more often.
#[test]
fn who_arrives_once() {
    let split = "protocol split
barrier met { arrivals: 2 }
role r[t in 0..2] {
    arrive met
}
";
    let none = Certificate {
        classes: vec![Local::default()],
        ..Certificate::default()
    };
    Kernel::new(split, none)
        .certificates(&[(
            "0..2] -> 0..1] ; arrive met -> arrive met arrive met",
            |c| *c = weighs(c.clone(), 0, &[1, 1]),
            "unfit",
        )])
        .check();
    let bytes = "protocol bytes
mbarrier b { arrivals: 1 }
role r {
    expect_tx b 8
    complete_tx b 8
    arrive b
    wait b 0
}
";
    Kernel::new(bytes, once(1, 0))
        .certificates(&[
            (
                "arrivals: 1 -> arrivals: 2 ; arrive b -> arrive b arrive b",
                |c| *c = weighs(c.clone(), 0, &[1, 1]),
                "unfit",
            ),
            (
                "arrivals: 1 -> arrivals: 2 ; arrive b -> arrive b arrive b ; expect_tx b 8 -> ; complete_tx b 8 ->",
                |c| *c = weighs(c.clone(), 0, &[1, 1]),
                "accepted",
            ),
            (
                "arrivals: 1 -> arrivals: 2 ; arrive b -> arrive b arrive b ; expect_tx b 8 -> ; complete_tx b 8 ->",
                |c| *c = weighs(c.clone(), 0, &[2]),
                "amount, in_turn, laps",
            ),
            (
                "arrivals: 1 -> arrivals: 4 ; arrive b -> arrive b arrive b 3 ; expect_tx b 8 -> ; complete_tx b 8 ->",
                |c| *c = weighs(c.clone(), 0, &[1, 3]),
                "accepted",
            ),
            (
                "arrivals: 1 -> arrivals: 4 ; arrive b -> arrive b arrive b 3 ; expect_tx b 8 -> ; complete_tx b 8 ->",
                |c| *c = weighs(c.clone(), 0, &[3, 1]),
                "amount",
            ),
        ])
        .check();
}

/// A counter that is raised by a parameter.
const RAISED: &str = "protocol raised
param A in 1..
param N in 0..
semaphore s = 0
role r {
    for i in 0..N {
        s += A
        wait s >= A * (i + 1)
    }
}
";

/// What does not raise a counter shows nothing to who waits for it.
#[test]
fn who_arrives_with_nothing() {
    Kernel::new(RAISED, found(RAISED))
        .texts("A in 1.. -> A in 0.. => amount, start")
        .check();
}

/// A counter that members of two roles raise by different amounts.
const COUNT: &str = "protocol count
param T in 1..
param N in 0..
semaphore s = 0
role one[t in 0..T] {
    for i in 0..N {
        s += 2
        wait s >= (2 * T + 3) * (i + 1)
    }
}
role two {
    for i in 0..N {
        s += 3
        wait s >= (2 * T + 3) * (i + 1)
    }
}
";

#[test]
fn counters_that_are_raised_by_more() {
    Kernel::new(COUNT, found(COUNT))
        .texts(
            "
        s += 2 -> s += 1 => amount
        s += 3 -> s += 4 => amount
        one[t in 0..T] -> one[t in 0..T - 1] => awaits
        i + 1) } } role two -> i) + 1 } } role two => awaits
        ",
        )
        .check();
}

/// Warps that find room one after the other.
const BRIEF: &str = "protocol brief
param W in 1..
param N in 0..
param A in 0..=512
pool columns = 512
pool other = 1
mbarrier full { arrivals: W }
role worker[w in 0..W] {
    acquire columns A
    release columns A
    acquire other 1
    release other 1
    arrive full
    wait full 0
    acquire columns 512
    release columns 512
}
";

#[test]
fn pools_that_are_held_briefly() {
    Kernel::new(BRIEF, found(BRIEF))
        .texts(
            "
        acquire columns A -> acquire columns A + 1 => awaits, settled, take
        in 0..=512 -> in 0..=513 => take
        in 0..=512 -> in -1..=512 => give, take
        release columns A -> release columns A + 1 => awaits, give, settled, take
        release columns A -> => awaits, settled, take
        release other 1 arrive full -> arrive full release other 1 => accepted
        release other 1 arrive full wait full 0 -> arrive full wait full 0 release other 1 => awaits
        release columns 512 -> => settled
        release columns A -> acquire columns 0 release columns A => take
        release columns A acquire other 1 release other 1 -> acquire other 1 release columns A release other 1 => take
        other 1 -> other 2 => take
        arrive full -> release columns 0 arrive full => accepted
        arrive full -> release columns 1 acquire columns 1 arrive full => give, take
        ",
        )
        .check();
}

/// Rooms that have enough for everybody.
const AMPLE: &str = "protocol ample
param C in 1..
param W in 1..
param N in 0..
pool columns[C] = 2 * W
barrier cta[C] { arrivals: W }
role worker[c in 0..C][w in 0..W] {
    acquire columns[c] 1
    sync cta[c]
    for i in 0..N {
        acquire columns[c] 1
        sync cta[c]
        release columns[c] 1
    }
}
";

#[test]
fn pools_that_have_enough() {
    Kernel::new(AMPLE, found(AMPLE))
        .texts(
            "
        = 2 * W -> = 2 * W - 1 => expected
        = 2 * W -> = 2 * C => expected
        columns[C] -> columns[C - 1] => element
        columns[C] -> columns[C + 1] => accepted
        acquire columns[c] 1 sync cta[c] for -> acquire columns[c] 2 sync cta[c] for => kept
        release columns[c] 1 -> => kept
        release columns[c] 1 -> release columns[c] 2 => kept
        release columns[c] 1 } -> } release columns[c] 3 => give, kept
        acquire columns[c] 1 -> acquire columns[0] 1 => elements of several groups
        columns[c] -> columns[0] => expected
        for i in 0..N { -> for i in 0..N { acquire columns[c] 1 => kept, take
        ",
        )
        .certificates(&[
            ("", |c| c.classes[0].holds.clear(), "awaits, settled, take"),
            ("", |c| c.classes[0].holds[0].most = Sum::number(1), "take"),
            (
                "",
                |c| c.classes[0].holds[0].most = Sum::number(3),
                "expected",
            ),
            (
                "columns[c] 1 -> columns[c] 0",
                |c| c.classes[0].holds[0].most = Sum::number(-1),
                "kept, start, take",
            ),
            (
                "role worker -> role other { acquire columns[0] 1 } role worker",
                |c| c.classes.insert(0, Local::default()),
                "unfit",
            ),
            (
                "role worker -> role other { acquire columns[0] 1 } role worker",
                |c| {
                    c.classes.insert(0, Local::default());
                    c.classes[0].holds.push(Holds {
                        ring: 0,
                        most: Sum::number(1),
                    });
                },
                "expected, in_turn",
            ),
            (
                "columns[C] -> columns[2] ; columns[c] -> columns[w % 2]",
                |_| {},
                "expected, told",
            ),
        ])
        .check();
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    assert_eq!(sum(i64::MAX, 1), Err(too_large()));
    assert_eq!(difference(i64::MIN, 1), Err(too_large()));
    assert_eq!(product(i64::MIN, -1), Err(too_large()));
    assert_eq!(number(usize::MAX), Err(too_large()));
    assert_eq!(around(i64::MIN, -1), Err(too_large()));
    assert_eq!(around(-1, 0), Err(too_large()));
    assert_eq!(around(-1, 3), Ok(2));
}

/// Two warps that arrive twice each, of which one learns that all have.
const LEARNS: &str = "protocol learns
named b
named back
role one {
    arrive b 128
    arrive b 128
    sync back 64
}
role two {
    arrive b 128
    sync b 128
    sync back 64
}
";

/// One more arrival begins the next generation, and nobody else comes to it.
#[test]
fn a_wait_is_for_the_generation_of_the_last_arrival() {
    Kernel::new(LEARNS, found(LEARNS))
        .certificates(&[(
            "sync back 64 } role two -> sync back 64 sync b 128 } role two",
            |c| {
                let (ring, class) = (1, 1);
                c.classes[0].ranks.push(Sum::number(99));
                c.classes[1].behind.push(Behind {
                    waits: 0,
                    arrives: ring,
                    per_wait: 1,
                    per_arrival: 1,
                    less: Sum::default(),
                });
                let chain = vec![Link { ring, class }, Link { ring: 0, class: 0 }];
                c.in_turn.push(InTurn {
                    class: 0,
                    ring: 0,
                    chain,
                });
            },
            "awaits",
        )])
        .check();
}

/// At K = 100000 the arrival of `second` would count -1. It is not made there, so `a` arrives once too often.
const NOT_MADE: &str = "protocol not_made
param K in 1..=100000
mbarrier b { arrivals: 100001 - K }
role a { arrive b 2 }
role second {
    if K < 99999 { arrive b 99999 - K }
}
";

/// What an arrival counts is at least 1, also if it is never made.
#[test]
fn an_arrival_that_is_not_made_counts_too() {
    let folder = Folder::new();
    folder.file("not_made.wlk", NOT_MADE);
    let arguments = [
        "check",
        "-q",
        "--property",
        "over_arrival",
        "--timeout",
        "20",
    ];
    let shown = folder.run(&[&arguments[..], &["not_made.wlk"]].concat());
    assert!(shown.contains("not_made.wlk: over_arrival: "), "{shown}");
    assert!(!shown.contains("PROVED"), "{shown}");
}
