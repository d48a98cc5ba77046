//! Elements of neighbours, waits for one value, and mbarriers that somebody initialises. Each row of these tables is a nearby
//! protocol or certificate; those that may hang or are undefined have to be refused.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::found;
use warplock::trusted::certificate::Link;
use warplock::trusted::certificate::NotLapped;
use warplock::trusted::certificate::Ready;
use warplock::trusted::certificate::Sum;
use warplock::trusted::certificate::Weight;

/// Members of a ring tell the next one, which answers.
const EPOCHS: &str = "protocol epochs
param G in 1..
param E in 0..
semaphore flag[G] = 0
semaphore ack[G] = 0
role put[g in 0..G] {
    for e in 0..E {
        wait ack[g] >= e
        flag[(g + 1) % G] += 1
    }
}
role get[g in 0..G] {
    for e in 0..E {
        wait flag[g] >= e + 1
        ack[(g + G - 1) % G] += 1
    }
}
";

#[test]
fn the_next_one_is_told() {
    Kernel::new(EPOCHS, found(EPOCHS))
        .texts(
            "
        flag[(g + 1) % G] += 1 -> flag[(g + 2) % G] += 1 => accepted
        flag[(g + 1) % G] += 1 -> flag[(g + 1) % (G + 1)] += 1 => awaits, element
        flag[(g + 1) % G] += 1 -> flag[(g + 1) % G] += 2 => amount
        flag[(g + 1) % G] += 1 -> flag[(2 * G - g) % G] += 1 => accepted
        flag[(g + 1) % G] += 1 -> flag[0] += 1 => awaits, in_turn
        flag[(g + 1) % G] += 1 -> flag[(g + 1) % G] += 1 flag[g] += 1 => elements of several groups
        flag[g] >= e + 1 -> flag[g] >= e + 2 => awaits
        flag[g] >= e + 1 -> flag[g] == e + 1 => unfit
        flag[g] >= e + 1 -> flag[(g + 1) % G] >= e + 1 => accepted
        ack[g] >= e -> ack[g] >= e + 1 => awaits
        put[g in 0..G] -> put[g in 0..G - 1] => awaits
        put[g in 0..G] -> put[g in 0..G + 1] => awaits, element, told
        put[g in 0..G] -> put[g in 0..G][h in 0..2] => awaits, in_turn
        get[g in 0..G] -> get[g in 0..G - 1] => awaits
        get[g in 0..G] { for e in 0..E -> get[g in 0..G] { for e in 0..E - g => progress
        put[g in 0..G] { for e in 0..E -> put[g in 0..G] { for e in 0..E + 1 => accepted
        put[g in 0..G] { for e in 0..E -> put[g in 0..G] { for e in 0..E + 2 => progress
        ",
        )
        .certificates(&[
            ("", |c| c.lags.clear(), "awaits, progress"),
            ("", |c| c.in_turn.clear(), "in_turn"),
            (
                "",
                |c| c.in_turn.iter_mut().for_each(|r| r.chain.clear()),
                "accepted",
            ),
            (
                "put[g in 0..G] -> put[g in 0..G][h in 0..2]",
                |c| c.in_turn.iter_mut().for_each(|r| r.chain.clear()),
                "awaits, in_turn",
            ),
        ])
        .check();
}

/// Each waits for the one behind it.
const PASSED_ON: &str = "protocol passed_on
param C in 1..
semaphore flag[C] = 0
role cta[c in 0..C] {
    if c < C - 1 {
        wait flag[c + 1] >= 1
    }
    flag[c] += 1
}
";

#[test]
fn the_last_one_begins() {
    Kernel::new(PASSED_ON, found(PASSED_ON))
        .texts(
            "
        c < C - 1 -> c < C => awaits, element
        c < C - 1 -> c < C - 2 => accepted
        c < C - 1 -> c > 0 ; c + 1 -> c - 1 => progress
        c < C - 1 -> c < C ; c + 1 -> (c + 1) % C => progress
        c < C - 1 -> c < C - 1 ; c + 1 -> c => progress
        >= 1 -> >= 2 => awaits
        >= 1 -> == 1 => unfit
        } flag[c] += 1 -> flag[c] += 1 } => progress
        flag[c] += 1 -> flag[C - 1 - c] += 1 => progress
        } flag[c] += 1 -> } flag[c] += 1 flag[c] += 1 => in_turn
        ",
        )
        .check();
}

/// A leader waits until just so many have come.
const GATE: &str = "protocol gate
param C in 0..
param N in 0..
semaphore arrived = 0
semaphore gate = 0
role leader {
    for i in 0..N {
        wait arrived == (i + 1) * C
        gate += 1
    }
}
role others[c in 0..C] {
    for i in 0..N {
        arrived += 1
        wait gate >= i + 1
    }
}
";

#[test]
fn a_counter_is_never_overshot() {
    Kernel::new(GATE, found(GATE))
        .texts(
            "
        wait gate >= i + 1 -> => unfit
        wait gate >= i + 1 -> wait gate >= i => awaits
        wait gate >= i + 1 -> wait gate == i + 1 => unfit
        arrived += 1 -> arrived += 2 => amount
        arrived += 1 -> arrived += 1 arrived += 1 => in_turn, kept, laps
        (i + 1) * C -> (i + 1) * C + 1 => awaits
        (i + 1) * C -> i * C => awaits
        gate += 1 } } -> gate += 1 } arrived += 1 } => unfit
        wait arrived == (i + 1) * C gate += 1 -> gate += 1 wait arrived == (i + 1) * C => unfit
        others[c in 0..C] { for i in 0..N -> others[c in 0..C] { for i in 0..N + 1 => progress
        ",
        )
        .certificates(&[
            ("", |c| c.not_lapped.clear(), "unfit"),
            ("", |c| c.not_lapped[0].chain.clear(), "laps"),
            ("== -> >=", |c| c.not_lapped.clear(), "accepted"),
        ])
        .check();
}

/// Members that come and wait for all of them overtake each other.
const TOGETHER: &str = "protocol together
param C in 1..
param N in 0..
semaphore x = 0
role cta[c in 0..C] {
    for i in 0..N {
        x += 1
        wait x >= C * (i + 1)
    }
}
";

/// That the only class is not lapped by itself, by this chain.
fn by_itself(chain: &[Link]) -> NotLapped {
    NotLapped {
        class: 0,
        ring: 0,
        by: 0,
        chain: chain.to_vec(),
    }
}

#[test]
fn a_member_does_not_know_of_others_that_their_waits_are_over() {
    Kernel::new(TOGETHER, found(TOGETHER))
        .certificates(&[
            (">= -> ==", |_| {}, "unfit"),
            (">= -> ==", |c| c.not_lapped.push(by_itself(&[])), "unfit"),
            (
                ">= -> ==",
                |c| c.not_lapped.push(by_itself(&[Link { ring: 0, class: 0 }])),
                "unfit",
            ),
        ])
        .check();
}

/// One role initialises what others use behind a barrier.
const INIT: &str = "protocol init
param S in 1..=4
param T in 1..
param N in 0..
barrier cta { arrivals: T + 1 }
mbarrier full[S] { arrivals: 1, init: explicit }
mbarrier empty[S] { arrivals: T, init: explicit }
role load {
    for s in 0..S {
        init full[s]
        init empty[s]
    }
    sync cta
    for i in 0..N {
        wait empty[i % S] (i / S + 1) % 2
        arrive full[i % S]
    }
}
role math[t in 0..T] {
    sync cta
    for i in 0..N {
        wait full[i % S] i / S % 2
        arrive empty[i % S]
    }
}
";

#[test]
fn what_is_used_has_been_initialised() {
    Kernel::new(INIT, found(INIT))
        .texts(
            "
        init full[s] -> => unfit
        init empty[s] -> => unfit
        init full[s] -> init full[s] init full[s] => element, in_turn, kept
        for s in 0..S -> for s in 0..S - 1 => in_turn, ready
        for s in 0..S -> for s in 1..S => element, in_turn, ready
        for s in 0..S -> for s in 0..2 * S => element, in_turn, ready
        for s in 0..S -> for s in 0..S descending => element
        init empty[s] } sync cta -> } sync cta for s in 0..S { init empty[s] } => unfit
        for s in 0..S { init full[s] -> if N > 0 { for s in 0..S { init full[s] } } for s in 0..S { => unfit
        role math[t in 0..T] { sync cta -> role math[t in 0..T] { => unfit
        role math[t in 0..T] { sync cta -> role math[t in 0..T] { arrive cta => unfit
        role math[t in 0..T] { -> role math[t in 0..T] { init full[0] => expected
        role load { -> role load[l in 0..2] { => expected
        ",
        )
        .certificates(&[
            ("", |c| c.ready.clear(), "unfit"),
            ("", |c| c.ready.iter_mut().for_each(|r| r.chain.clear()), "unfit"),
            (
                "",
                |c| {
                    c.ready.iter_mut().for_each(|r| {
                        r.chain.iter_mut().for_each(|link| link.class = 1);
                    });
                },
                "unfit",
            ),
            ("", |c| c.ready.iter_mut().for_each(|r| r.ring = 99), "unfit"),
            (
                "",
                |c| {
                    let (class, ring) = (0, 99);
                    let chain = vec![Link { ring: 0, class: 0 }, Link { ring: 2, class: 0 }];
                    c.ready.push(Ready { class, ring, chain });
                },
                "unfit",
            ),
            (
                "",
                |c| {
                    c.weights.push(Weight {
                        class: 0,
                        ring: 0,
                        amounts: vec![Sum::number(1); 2],
                    });
                },
                "expected",
            ),
        ])
        .check();
}

/// Only one of the threads initialises.
const ELECTED: &str = "protocol elected
param T in 1..
barrier cta { arrivals: T }
mbarrier done { arrivals: T, init: explicit }
role thread[t in 0..T] {
    if t == 0 {
        init done
    }
    sync cta
    arrive done
    wait done 0
}
";

#[test]
fn one_of_them_initialises() {
    Kernel::new(ELECTED, found(ELECTED))
        .texts(
            "
        t == 0 -> t == 1 => unfit
        t == 0 -> t <= 1 => expected
        t == 0 -> t >= 0 => expected
        t == 0 -> T == 1 => expected
        sync cta -> => unfit
        sync cta arrive done -> arrive done sync cta => unfit
        if t == 0 { init done } sync cta -> sync cta if t == 0 { init done } => unfit
        if t == 0 { init done } sync cta -> sync cta if t == 0 { init done } sync cta => unfit
        ",
        )
        .check();
}
