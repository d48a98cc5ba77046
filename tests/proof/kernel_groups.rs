//! Groups of elements: what each member has for itself. Each row of these tables is there for a condition that is noticed by
//! nothing else.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::found;
use warplock::trusted::certificate::Behind;
use warplock::trusted::certificate::Link;
use warplock::trusted::certificate::Sum;

/// A ring for each CTA.
const RINGS: &str = "protocol rings
param C in 1..
param N in 0..
mbarrier full[C, 2] { arrivals: 1 }
mbarrier empty[C, 2] { arrivals: 1 }
role producer[c in 0..C] {
    for i in 0..N {
        wait empty[c, i % 2] (i / 2 + 1) % 2
        commit full[c, i % 2]
    }
}
role consumer[c in 0..C] {
    for i in 0..N {
        wait full[c, i % 2] i / 2 % 2
        arrive empty[c, i % 2]
    }
}
";

#[test]
fn a_ring_for_each() {
    Kernel::new(RINGS, found(RINGS))
        .texts(
            "
        consumer[c in 0..C] -> consumer[c in 0..C - 1] => expected, in_turn, lapped_by
        consumer[c in 0..C] -> consumer[c in 0..C + 1] => element, in_turn, lapped_by
        producer[c in 0..C] -> producer[c in 0..C - 1] => expected, in_turn, lapped_by
        producer[c in 0..C] -> producer[c in 0..C + 1] => element, in_turn, lapped_by
        full[C, 2] -> full[C + 1, 2] => expected
        full[C, 2] { arrivals: 1 } -> full[C, 2] { arrivals: C } => expected
        producer[c in 0..C] -> producer[c in 0..C][d in 0..2] => expected
        commit full[c, i % 2] -> commit full[0, i % 2] => expected, in_turn, lapped_by, laps
        commit full[c, i % 2] -> commit full[C - 1 - c, i % 2] => in_turn, laps
        commit full[c, i % 2] -> commit full[c, i % 2] commit full[0, i % 2] => elements of several groups
        0..N { wait full -> 0..N - c { wait full => progress
        0..N { wait empty -> 0..N + 2 { wait empty => accepted
        ",
        )
        .check();
}

/// Members of a square meet at counters of their rows.
const SQUARE: &str = "protocol square
param C in 1..
param N in 0..
semaphore x[C] = 0
semaphore y[C] = 0
role p[c in 0..C][d in 0..C] {
    for i in 0..N {
        x[c] += 1
        wait y[c] >= C * (i + 1)
    }
}
role q[c in 0..C][d in 0..C] {
    for i in 0..N {
        wait x[c] >= C * (i + 1)
        y[c] += 1
    }
}
";

/// Whoever has waited in one group knows nothing of another one.
#[test]
fn rows_and_columns() {
    Kernel::new(SQUARE, found(SQUARE))
        .texts(
            "
        wait y[c] -> wait y[d] => in_turn
        wait x[c] -> wait x[d] => in_turn
        y[c] += 1 -> y[d] += 1 => in_turn
        x[c] += 1 -> x[d] += 1 => in_turn
        y[C] = 0 -> y[C] = 1 => awaits
        ",
        )
        .certificates(&[
            (
                "",
                |c| c.in_turn[0].chain[1] = Link { ring: 0, class: 7 },
                "accepted",
            ),
            ("", |c| c.in_turn[0].chain[0].class = 0, "unfit"),
            ("", |c| c.in_turn[0].chain[0].class = 7, "unfit"),
        ])
        .check();
    // Who waits by parity in a row is not passed by who knows something of a column.
    let parity = SQUARE.replace("semaphore x[C] = 0", "mbarrier x[C] { arrivals: C }");
    let parity = parity.replace("x[c] += 1", "arrive x[c]");
    let parity = parity.replace("wait x[c] >= C * (i + 1)", "wait x[c] i % 2");
    Kernel::new(&parity, found(&parity))
        .texts("wait y[c] -> wait y[d] => in_turn, laps")
        .check();
}

/// A counter of what somebody else has seen, for each.
const SEEN: &str = "protocol seen
param C in 1..
param D in 1..
param N in 0..
assume D <= C
mbarrier x[C] { arrivals: 1 }
semaphore s[C] = 0
role p[c in 0..C] {
    for i in 0..N {
        commit x[c]
        wait s[c] >= (if c < C then i + 1 else 0)
    }
}
role q[c in 0..C] {
    for i in 0..N {
        wait x[c] i % 2
        s[c] += 1
    }
}
";

/// A class of which nobody is in the group shows nothing.
#[test]
fn who_is_in_a_group() {
    Kernel::new(SEEN, found(SEEN))
        .texts(
            "
        c < C -> c < D ; q[c in 0..C] -> q[c in 0..D] => in_turn
        c < C -> c < D => awaits
        q[c in 0..C] -> q[c in 0..D] => awaits, in_turn
        ",
        )
        .check();
}

/// Somebody who raises the counter of the first group alone.
const FIRST: &str = "protocol first
param C in 1..
semaphore s[C] = 0
role p[c in 0..C] {
    s[c] += 1
    wait s[c] >= (if c == 0 then 2 else 1)
}
role q {
    s[0] += 1
}
";

#[test]
fn who_is_in_one_group_is_in_no_other() {
    Kernel::new(FIRST, found(FIRST))
        .texts(
            "
        s[0] += 1 -> s[1] += 1 => awaits, element
        c == 0 -> c >= 0 => awaits
        then 2 -> then 3 => awaits
        ",
        )
        .check();
}

/// Warps that meet twice in each iteration, and one of them gives the stage back.
const LEADER: &str = "protocol leader
param W in 1..
param N in 0..
mbarrier full[3] { arrivals: 1 }
mbarrier empty[3] { arrivals: 1 }
barrier warps { arrivals: W }
role producer {
    for i in 0..N {
        wait empty[i % 3] (i / 3 + 1) % 2
        arrive full[i % 3]
    }
}
role consumer[w in 0..W] {
    for i in 0..N {
        sync warps
        wait full[i % 3] i / 3 % 2
        sync warps
        if w == 0 {
            arrive empty[i % 3]
        }
    }
}
";

/// Waits and arrivals that go on at different paces.
#[test]
fn paces() {
    Kernel::new(LEADER, found(LEADER))
        .texts(
            "
        i / 3 % 2 sync warps if w == 0 { arrive empty[i % 3] } -> i / 3 % 2 if w == 0 { arrive empty[i % 3] } sync warps => behind
        ",
        )
        .certificates(&[
            ("", |c| each(c, |b| b.per_wait = 0), "unfit"),
            (
                "",
                |c| {
                    // It would be assumed in loops without arrivals.
                    let unused = Behind {
                        waits: 0,
                        arrives: 1,
                        per_wait: -1,
                        per_arrival: 0,
                        less: Sum::default(),
                    };
                    c.classes[0].behind.push(unused);
                },
                "unfit",
            ),
            ("", |c| each(c, |b| b.per_arrival = -1), "unfit"),
            ("", |c| each(c, |b| b.per_arrival = 0), "in_turn, laps"),
            ("", |c| each(c, |b| b.per_arrival = 3), "behind, laps"),
            ("", |c| each(c, |b| b.less = Sum::number(-1)), "start"),
            ("", |c| each(c, |b| b.less = Sum::number(40)), "in_turn, laps"),
            ("", |c| each(c, |b| (b.per_wait, b.per_arrival) = (i64::MAX, 1)), "numbers beyond 64 bits"),
        ])
        .check();
}

fn each(
    certificate: &mut warplock::trusted::certificate::Certificate,
    change: fn(&mut warplock::trusted::certificate::Behind),
) {
    for class in &mut certificate.classes {
        class.behind.iter_mut().for_each(change);
    }
}
