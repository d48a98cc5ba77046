//! What has to hold where a member arrives, waits, expects and delivers. Each row of these tables is there for a condition that is
//! noticed by nothing else.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::PAIR;
use crate::support::kernel_rows::found;
use crate::support::kernel_rows::once;
use crate::support::kernel_rows::with_more;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::certificate::Lag;
use warplock::trusted::certificate::Sum;

#[test]
fn who_waits_and_who_arrives() {
    Kernel::new(PAIR, found(PAIR))
        .texts(
            "
        (i + 1) % 2 -> i % 2 => awaits
        wait full i % 2 -> wait full (i + 1) % 2 => awaits
        wait full i % 2 -> wait full i => awaits
        wait full i % 2 -> wait full 0 => awaits
        wait empty (i + 1) % 2 -> wait empty 1 => awaits
        consumer { for i in 0..N -> consumer { for i in 0..N + 1 => progress
        consumer { for i in 0..N -> consumer { for i in 0..N - 1 => accepted
        producer { for i in 0..N -> producer { for i in 0..N + 1 => accepted
        producer { for i in 0..N -> producer { for i in 0..N + 2 => progress
        role producer { -> role producer { arrive full => unfit
        role consumer { -> role consumer { arrive empty => behind, kept, laps
        arrive full -> arrive full arrive full => behind, in_turn, kept, laps
        arrive full -> if i < 5 { arrive full } => kept
        arrive full -> arrive full 2 => amount
        full { arrivals: 1 } -> full { arrivals: 2 } => expected
        wait full i % 2 arrive empty -> arrive empty wait full i % 2 => behind, in_turn, laps
        wait empty (i + 1) % 2 arrive full -> arrive full wait empty (i + 1) % 2 => unfit
        wait empty (i + 1) % 2 -> if i > 0 { wait empty (i + 1) % 2 } => behind, kept, laps
        wait empty (i + 1) % 2 -> => unfit
        wait full i % 2 -> => unfit
        role consumer { -> role late { wait full 0 } role consumer { => unfit
        wait empty (i + 1) % 2 -> wait empty (i + 1) % 2 wait empty (i + 1) % 2 => unfit
        ",
        )
        .check();
}

/// A counter beside the place, which nobody waits for until somebody does.
#[test]
fn who_adds_where_nobody_waits() {
    let counted = PAIR.replace("mbarrier full", "semaphore seen[2] = 0 mbarrier full");
    let counted = counted.replace("arrive empty", "arrive empty seen[0] += 1");
    Kernel::new(&counted, found(&counted))
        .texts(
            "
        seen[0] += 1 -> seen[0] += 1 seen[0] += 1 => kept
        seen[0] += 1 -> seen[0] += 2 => amount
        seen[0] += 1 -> seen[2] += 1 => element
        seen[0] += 1 -> seen[0] += 1 ; role producer { -> role producer { seen[0] += 1 => unfit
        semaphore seen[2] = 0 -> mbarrier seen[2] { arrivals: 1 } ; seen[0] += 1 -> arrive seen[0] => in_turn
        ",
        )
        .check();
}

/// Elements that are gone through by number.
const RING: &str = "protocol ring
param N in 0..
mbarrier full[3] { arrivals: 1 }
mbarrier empty[3] { arrivals: 1 }
role producer {
    for i in 0..N {
        wait empty[i % 3] (i / 3 + 1) % 2
        expect_tx full[i % 3] 8
        expect_tx full[i % 3] 4
        async copy a completes full[i % 3] 5
        arrive full[i % 3]
        async copy b completes full[i % 3] 7
    }
}
role consumer {
    for i in 0..N {
        wait full[i % 3] i / 3 % 2
        commit empty[i % 3]
    }
}
";

#[test]
fn elements_and_bytes() {
    Kernel::new(RING, with_more(found(RING))).texts("
        wait empty[i % 3] -> wait empty[(i + 1) % 3] => element
        wait full[i % 3] -> wait full[(i + 1) % 3] => element
        arrive full[i % 3] -> arrive full[(i + 1) % 3] => element
        commit empty[i % 3] -> commit empty[(i + 1) % 3] => element
        expect_tx full[i % 3] 8 -> expect_tx full[(i + 1) % 3] 8 => element
        copy a completes full[i % 3] -> copy a completes full[(i + 1) % 3] => deliver
        copy b completes full[i % 3] -> copy b completes full[(i + 1) % 3] => deliver
        full[3] { -> full[4] { => awaits, deliver, element
        full[3] { -> full[2] { => awaits, deliver, element, expect, in_turn, laps
        (i / 3 + 1) % 2 -> i / 3 % 2 => awaits
        i / 3 % 2 commit -> (if i % 3 == 2 then 0 else i / 3 % 2) commit => awaits
        commit empty[i % 3] -> if i % 3 < 2 { commit empty[i % 3] } => kept
        wait full[i % 3] i / 3 % 2 -> wait full[i % 3] i % 2 => awaits
        % 3] 7 -> % 3] 8 => deliver, kept
        % 3] 7 -> % 3] 6 => kept
        % 3] 5 -> % 3] 13 => deliver, kept
        % 3] 5 -> % 3] 0 => deliver, kept
        % 3] 8 -> % 3] (0 - 1) => deliver, expect, kept
        expect_tx full[i % 3] 4 -> ; async copy b completes full[i % 3] 7 -> async copy b completes full[i % 3] 7 expect_tx full[i % 3] 4 => deliver, element, expect, kept
        async copy b completes full[i % 3] 7 -> => kept
        async copy b completes full[i % 3] 7 -> expect_tx full[(i + 1) % 3] 4 => expect, kept
        expect_tx full[i % 3] 8 -> => deliver, kept
        async copy b completes -> complete_tx ; async copy a completes -> complete_tx => accepted
        role producer { -> role producer { expect_tx full[0] 3 complete_tx full[0] 3 => unfit
        role producer { -> role producer { expect_tx full[0] 3 => unfit
        } } role consumer -> } expect_tx full[N % 3] 3 complete_tx full[N % 3] 3 } role consumer => expect
        ").certificates(&[("commit empty[i % 3] } } -> commit empty[i % 3] } } role other { expect_tx full[0] 3 complete_tx full[0] 3 }", |c| c.classes.push(Default::default()), "bytes expected by a member that does not arrive"),]).check();
}

/// Bytes of two elements, one after the other, and a meeting between them.
const BYTES: &str = "protocol bytes
param N in 1..
mbarrier b[2] { arrivals: 1 }
mbarrier go { arrivals: 1 }
role r {
    expect_tx b[N - N] 8
    expect_tx b[N - N] 4
    async copy x completes b[N - N] 5
    arrive b[N - N]
    async copy y completes b[N - N] 7
    arrive go
    wait go 0
    expect_tx b[N - N + 1] 2
    complete_tx b[N - N + 1] 2
    arrive b[N - N + 1]
}
";

#[test]
fn bytes_are_delivered_by_who_expects_them() {
    Kernel::new(BYTES, with_more(once(1, 1))).texts("
        ] 7 -> ] 8 => awaits, deliver, in_turn
        ] 7 -> ] 6 => awaits, deliver, in_turn, settled
        ] 7 -> ] 6 ; arrive go wait go 0 -> arrive go => unfit
        ] 5 -> ] 4 => awaits, deliver, in_turn, settled
        ] 5 -> ] 13 => awaits, deliver, in_turn, settled
        ] 5 -> ] 12 ; async copy y completes b[N - N] 7 -> => accepted
        ] 8 -> ] (0 - 1) ; ] 4 -> ] 13 => expect
        async copy y completes b[N - N] 7 -> ; wait go 0 -> wait go 0 async copy y completes b[N - N] 7 => awaits
        arrive go wait go 0 expect_tx b[N - N + 1] 2 -> arrive go expect_tx b[N - N + 1] 2 wait go 0 => awaits
        async copy y completes b[N - N] 7 arrive go wait go 0 -> => deliver, in_turn, settled
        complete_tx b[N - N + 1] 2 -> => settled
        complete_tx b[N - N + 1] 2 arrive b[N - N + 1] -> => settled
        complete_tx b[N - N + 1] 2 arrive b[N - N + 1] -> arrive b[N - N + 1] complete_tx b[N - N + 1] 2 => accepted
        y completes b[N - N] 7 -> y completes b[N - N + 1] 7 => deliver
        x completes b[N - N] 5 -> x completes b[N - N + 1] 5 => deliver
        arrive go -> complete_tx b[N - N] 0 arrive go => deliver
        arrive b[N - N + 1] -> arrive b[N - N + 1] expect_tx b[N - N] 0 => expect
        arrive b[N - N + 1] -> arrive b[N - N + 1] arrive b[N - N] => in_turn
        role r { -> role r { expect_tx b[N - N + 1] 0 => element
        role r { -> role r { expect_tx b[N - N] 0 => accepted
        b[2] -> b[1] => deliver, element, expect, in_turn
        b[2] -> b[3] => accepted
        arrive b[N - N + 1] } -> arrive b[N - N + 1] } role q { expect_tx b[N - N] 3 complete_tx b[N - N] 3 } => bytes expected by a member that does not arrive
        ").check();
}

/// Counters that four members raise, one after the other.
const COUNT: &str = "protocol count
param N in 0..
semaphore s[2] = 3
role r[t in 0..4] {
    for i in 0..N {
        s[i % 2] += 1
        wait s[i % 2] >= 3 + 4 * (i / 2 + 1)
    }
}
";

#[test]
fn counters() {
    Kernel::new(COUNT, found(COUNT)).texts("
        >= 3 + 4 -> >= 2 + 4 => awaits
        >= 3 + 4 -> >= 4 + 4 => awaits
        s[2] = 3 -> s[2] = 4 => awaits
        + 4 * ( -> + 3 * ( => awaits
        i / 2 + 1) -> i / 2 + 2) => awaits
        += 1 -> += 2 => amount
        += 1 -> += 0 => amount
        0..4] -> 0..3] => awaits
        s[i % 2] += 1 -> s[(i + 1) % 2] += 1 => element
        wait s[i % 2] -> wait s[(i + 1) % 2] => element
        s[i % 2] += 1 wait s[i % 2] >= 3 + 4 * (i / 2 + 1) -> wait s[i % 2] >= 3 + 4 * (i / 2 + 1) s[i % 2] += 1 => progress
        wait -> s[i % 2] += 1 wait => element, kept
        wait -> if t > 0 { s[i % 2] += 1 } wait => element, kept
        s[i % 2] += 1 -> if t > 0 { s[i % 2] += 1 } => kept, progress
        for i in 0..N -> for i in 0..N - t => progress
        s[2] -> s[3] => awaits, element
        ").certificates(&[("role r -> role q { s[0] += 1 } role r", |c| c.classes.insert(0, Default::default()), "unfit"),
("", |c| c.lags.push(Lag { class: 0, ring: 0, rounds: 1 }), "awaits, in_turn"),
("", |c| c.in_turn.clear(), "in_turn"),
("0..N -> 0..2", |c| c.in_turn.clear(), "accepted"),
("0..N -> 0..3", |c| c.in_turn.clear(), "in_turn"),
("", |c| c.classes[0].ranks[0] = Sum::default(), "progress"),]).check();
}

/// Named barriers: all meet at one, and some only report at another.
const NAMED: &str = "protocol named
param N in 0..
named ready
named free
role worker[t in 0..3] {
    for i in 0..N {
        arrive ready 128
        sync free 128
    }
}
role writer {
    for i in 0..N {
        sync ready 128
        arrive free 128
    }
}
";

#[test]
fn named_barriers() {
    Kernel::new(NAMED, found(NAMED))
        .texts(
            "
        arrive ready 128 -> arrive ready 96 => amount
        arrive ready 128 -> arrive ready 160 => amount
        sync free 128 -> sync free 96 => amount
        sync free 128 -> sync free 160 => amount
        0..3] -> 0..2] => amount
        0..3] -> 0..4] => amount
        0..3] -> 0..4] ; 128 -> 160 => accepted
        arrive ready 128 sync free 128 -> sync free 128 arrive ready 128 => unfit
        sync ready 128 arrive free 128 -> arrive free 128 sync ready 128 => behind, in_turn
        sync free 128 -> arrive free 128 sync free 128 => awaits, in_turn, kept
        sync free 128 -> arrive free 128 => unfit
        arrive free 128 -> if i < 9 { arrive free 128 } => kept
        ",
        )
        .certificates(&[
            ("", |c| c.in_turn.clear(), "in_turn"),
            (
                "",
                |c| {
                    c.lags.push(Lag {
                        class: 0,
                        ring: 1,
                        rounds: 1,
                    })
                },
                "unfit",
            ),
            (
                "",
                |c| c.classes[0].behind[0].less = Sum::default(),
                "behind",
            ),
            (
                "",
                |c| c.classes[0].behind[0].less = Sum::number(2),
                "in_turn",
            ),
        ])
        .check();
}

/// The same without what comes too early.
const SPLIT: &str = "protocol split
param N in 0..
barrier met { arrivals: 3 }
role worker[t in 0..3] {
    for i in 0..N {
        arrive met
        wait met
    }
}
";

#[test]
fn split_phase_barriers() {
    Kernel::new(SPLIT, found(SPLIT)).texts("
        arrivals: 3 -> arrivals: 2 => expected
        arrivals: 3 -> arrivals: 4 => expected
        wait met -> => unfit
        arrive met -> => unfit
        wait met -> wait met wait met => unfit
        arrive met -> arrive met arrive met => awaits, in_turn, kept
        arrive met wait met -> if i > 0 { wait met } arrive met => awaits, in_turn, kept, progress
        arrive met wait met -> wait met arrive met => awaits, in_turn, progress
        for i in 0..N -> for i in 0..N + t => progress
        met { -> met[2] { ; arrive met -> arrive met[i % 2] ; wait met -> wait met[i % 2] => accepted
        met { -> met[2] { ; arrive met -> arrive met[i % 2] ; wait met -> wait met[(i + 1) % 2] => element
        ").certificates(&[("for i in 0..N { arrive met wait met } -> arrive met", |c| *c = Certificate { classes: vec![Default::default()], ..Certificate::default() }, "accepted"),
("for i in 0..N { arrive met wait met } -> arrive met arrive met", |c| *c = Certificate { classes: vec![Default::default()], ..Certificate::default() }, "in_turn"),
("met { -> met[2] { ; for i in 0..N { arrive met wait met } -> arrive met[N - N] arrive met[N - N + 1]", |c| *c = Certificate { classes: vec![Default::default()], ..Certificate::default() }, "in_turn"),
("", |c| c.lags.push(Lag { class: 0, ring: 0, rounds: 1 }), "unfit"),
("", |c| c.in_turn.clear(), "in_turn"),
("", |c| c.classes[0].ranks[0] = Sum::default(), "progress"),]).check();
}

/// A loop that goes down.
const DOWN: &str = "protocol down
param N in 0..
semaphore s = 0
role r {
    for i in 0..N descending {
        s += 1
        wait s >= N - i
    }
}
";

#[test]
fn loops_go_up_or_down() {
    Kernel::new(DOWN, found(DOWN))
        .texts(
            "
        N - i -> N - i + 1 => awaits
        N - i -> i + 1 => awaits
        descending -> => awaits
        descending -> ; N - i -> i + 1 => accepted
        0..N -> 2..N + 2 ; N - i -> N + 2 - i => accepted
        0..N -> 2..N + 2 => awaits
        ",
        )
        .check();
}

/// Loops in loops.
const INNER: &str = "protocol inner
param N in 0..
param M in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role producer {
    var p = producer(1)
    for i in 0..N {
        for j in 0..M {
            wait empty p.phase
            arrive full
            advance p
        }
    }
}
role consumer {
    var c = consumer(1)
    for i in 0..N {
        for j in 0..M {
            wait full c.phase
            arrive empty
            advance c
        }
    }
}
";

#[test]
fn loops_in_loops() {
    Kernel::new(INNER, found(INNER))
        .texts(
            "
        c.phase arrive empty -> c.phase if i > 3 { arrive empty } => kept
        c.phase arrive empty -> c.phase if j > 3 { arrive empty } => kept
        0..M { wait full -> 0..M - i { wait full => kept
        0..M { wait empty -> 0..M - i { wait empty => kept
        ",
        )
        .check();
}
