//! What a certificate has to say. Each row of these tables is there for a condition that is noticed by nothing else.

use crate::support::kernel_rows::Kernel;
use crate::support::kernel_rows::PAIR;
use crate::support::kernel_rows::found;
use warplock::text;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::certificate::Counter;
use warplock::trusted::certificate::Fact;
use warplock::trusted::certificate::Lag;
use warplock::trusted::certificate::Local;
use warplock::trusted::certificate::Name;
use warplock::trusted::certificate::NotLapped;
use warplock::trusted::certificate::Product;
use warplock::trusted::certificate::Split;
use warplock::trusted::certificate::Sum;
use warplock::trusted::obligations;
use warplock::trusted::term::Term;

/// The complete iterations of the loop around at this depth.
fn done(depth: usize) -> Product {
    Product {
        times: 1,
        of: vec![Name::Done(depth)],
    }
}

#[test]
fn what_the_certificate_of_two_members_says() {
    Kernel::new(PAIR, found(PAIR))
        .certificates(&[
            ("", |c| c.lags.clear(), "awaits, progress"),
            ("", |c| c.lags[0].rounds = 2, "unfit"),
            ("", |c| c.lags[0].rounds = -1, "unfit"),
            (
                "",
                |c| {
                    c.lags.push(Lag {
                        class: 1,
                        ring: 1,
                        rounds: 1,
                    })
                },
                "awaits, in_turn, laps",
            ),
            ("", |c| c.in_turn.clear(), "in_turn"),
            ("", |c| c.in_turn.remove(0).chain.clear(), "in_turn"),
            ("", |c| drop(c.in_turn.remove(1)), "in_turn"),
            ("", |c| c.in_turn[0].chain.truncate(1), "unfit"),
            ("", |c| c.in_turn[1].chain.truncate(1), "unfit"),
            ("", |c| c.in_turn[0].chain.clear(), "unfit"),
            ("", |c| c.in_turn[0].chain[0].class = 0, "unfit"),
            ("", |c| c.in_turn[0].chain[0].ring = 7, "unfit"),
            ("", |c| c.in_turn[0].chain[0].class = 7, "unfit"),
            ("", |c| c.in_turn[0].class = 1, "in_turn"),
            ("", |c| c.in_turn[0].ring = 0, "in_turn"),
            ("", |c| c.not_lapped.clear(), "unfit"),
            ("", |c| drop(c.not_lapped.remove(0)), "unfit"),
            ("", |c| drop(c.not_lapped.remove(1)), "unfit"),
            ("", |c| c.not_lapped[0].chain.clear(), "laps"),
            ("", |c| c.not_lapped[1].chain.clear(), "laps"),
            ("", |c| c.not_lapped[0].by = 0, "unfit"),
            ("", |c| c.not_lapped[1].by = 1, "unfit"),
            ("", |c| c.not_lapped[0].chain[0].class = 1, "unfit"),
            ("", |c| c.classes[0].behind.clear(), "unfit"),
            ("", |c| c.classes[1].behind.clear(), "unfit"),
            (
                "",
                |c| c.classes[0].behind[0].less = Sum::number(-1),
                "start",
            ),
            (
                "",
                |c| c.classes[1].behind[0].less = Sum::number(-1),
                "start",
            ),
            (
                "",
                |c| c.classes[0].behind[0].less = Sum::number(1),
                "in_turn, laps",
            ),
            (
                "",
                |c| c.classes[1].behind[0].less = Sum::number(1),
                "in_turn, laps",
            ),
            (
                "",
                |c| {
                    c.classes[1].behind[0].less.0.push(Product {
                        times: 0,
                        of: vec![Name::Counter(Counter::Arrived(0))],
                    })
                },
                "unfit",
            ),
            ("", |c| c.classes[1].behind[0].waits = 0, "unfit"),
            ("", |c| c.classes[1].behind[0].arrives = 1, "unfit"),
            (
                "",
                |c| c.classes[0].loops[0].clear(),
                "awaits, in_turn, progress, settled",
            ),
            (
                "",
                |c| c.classes[0].loops[0].push(Fact::Zero(Sum::number(1))),
                "kept",
            ),
            (
                "",
                |c| c.classes[0].loops[0].push(Fact::Zero(Sum(vec![done(0)]))),
                "kept",
            ),
            (
                "",
                |c| {
                    c.classes[0].loops[0].push(Fact::AtLeastZero(Sum(vec![
                        done(0),
                        Product {
                            times: -1,
                            of: vec![],
                        },
                    ])))
                },
                "kept",
            ),
            (
                "",
                |c| c.classes[0].loops[0].push(Fact::Zero(Sum(vec![done(1)]))),
                "unfit",
            ),
            ("", |c| c.classes[0].loops.clear(), "unfit"),
            ("", |c| c.classes[0].ranks.clear(), "unfit"),
            ("", |c| c.classes[0].ranks[0] = Sum::default(), "progress"),
            ("", |c| c.classes[1].ranks[0] = Sum::default(), "progress"),
            (
                "",
                |c| c.classes[1].ranks[0] = c.classes[0].ranks[0].clone(),
                "progress",
            ),
            (
                "",
                |c| {
                    c.classes[1].ranks[0].0.push(Product {
                        times: 1,
                        of: vec![],
                    })
                },
                "progress",
            ),
            (
                "",
                |c| {
                    c.classes[1].ranks[0].0.push(Product {
                        times: 2,
                        of: vec![],
                    })
                },
                "progress",
            ),
            (
                "",
                |c| {
                    c.classes[1].ranks[0].0.push(Product {
                        times: -1,
                        of: vec![],
                    })
                },
                "progress",
            ),
            ("", |c| c.classes.truncate(1), "unfit"),
            (
                "",
                |c| {
                    c.splits.push(Split {
                        role: 0,
                        index: 0,
                        at: vec![2, 1],
                    })
                },
                "accepted",
            ),
        ])
        .check();
}

/// It counts arrivals, of which it makes none, and waits, of which it passes none.
#[test]
fn a_class_that_does_not_arrive_shows_nothing() {
    let ghost = "arrive empty -> arrive empty } } \
                 role ghost { for i in 0..0 { complete_tx full 1 wait empty 0";
    let shown_by_ghost = |c: &mut Certificate| {
        let behind = c.classes[0].behind.clone();
        c.classes.push(Local {
            loops: vec![Vec::new()],
            behind,
            ranks: vec![Sum::default()],
            holds: Vec::new(),
        });
        let mut reason = c.not_lapped[0].clone();
        reason.class = 2;
        reason.chain[0].class = 2;
        c.not_lapped.push(reason);
    };
    Kernel::new(PAIR, found(PAIR))
        .certificates(&[(ghost, shown_by_ghost, "unfit")])
        .check();
}

/// A chain of three, the last of which are many and one more.
const RELAY: &str = "protocol relay
param N in 0..
param T in 0..
mbarrier full { arrivals: 1 }
mbarrier next { arrivals: 1 }
mbarrier empty { arrivals: T + 1 }
role producer {
    for i in 0..N {
        wait empty (i + 1) % 2
        arrive full
    }
}
role consumer {
    for i in 0..N {
        wait full i % 2
        arrive next
    }
}
role last {
    for i in 0..N {
        wait next i % 2
        arrive empty
    }
}
role more[t in 0..T] {
    for i in 0..N {
        wait next i % 2
        arrive empty
    }
}
";

#[test]
fn chains_through_others() {
    Kernel::new(RELAY, found(RELAY)).texts("
        T in 0.. -> T in 1.. => accepted
        role more[t in 0..T] { for i in 0..N { -> role more[t in 0..T] { for i in 0..N - t { => progress
        ").certificates(&[// Through a class that need not have members.
("", |c| c.in_turn[0].chain[0].class = 3, "in_turn"),
("T in 0.. -> T in 1..", |c| c.in_turn[0].chain[0].class = 3, "accepted"),
("", |c| c.not_lapped[1].chain[0].class = 3, "laps"),
("T in 0.. -> T in 1..", |c| c.not_lapped[1].chain[0].class = 3, "accepted"),
("", |c| c.not_lapped[0].by = 3, "lapped_by"),
("T in 0.. -> T in 1..", |c| c.not_lapped[0].by = 3, "accepted"),
// A reason of another class, or about one.
("", |c| drop(c.in_turn.remove(3)), "in_turn"),
("", |c| drop(c.not_lapped.remove(3)), "unfit"),
("", |c| c.not_lapped[3].chain[1].class = 2, "unfit"),
("", |c| c.not_lapped[3].by = 2, "unfit"),
("", |c| c.in_turn[3].chain.swap(0, 1), "unfit"),]).check();
}

/// One producer, two places to fill.
const BOTH: &str = "protocol both
param N in 0..
mbarrier left { arrivals: 1 }
mbarrier right { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role producer {
    for i in 0..N {
        wait empty (i + 1) % 2
        arrive left
        arrive right
    }
}
role consumer {
    for i in 0..N {
        wait left i % 2
        wait right i % 2
        arrive empty
    }
}
";

#[test]
fn a_reason_is_about_one_ring() {
    Kernel::new(BOTH, found(BOTH)).texts("
        wait left i % 2 wait right i % 2 arrive empty -> wait left i % 2 arrive empty wait right i % 2 => behind
        wait right i % 2 -> if i > 3 { wait right i % 2 } => behind, kept
        ").certificates(&[
            ("", |c| c.classes[0].behind[0].arrives = 2, "unfit"),
            ("", |c| c.classes[1].behind.retain(|b| b.waits != 1), "unfit"),
            ("", |c| c.classes[1].behind.retain(|b| b.waits != 2), "unfit"),
("", |c| c.not_lapped.retain(|r| r.class != 1 || r.ring != 1), "unfit"),
("", |c| c.not_lapped.retain(|r| r.class != 1 || r.ring != 2), "unfit"),
("", |c| c.in_turn.retain(|r| r.class != 0 || r.ring != 1), "in_turn"),
("", |c| c.in_turn.retain(|r| r.class != 0 || r.ring != 2), "in_turn"),
("", |c| c.classes[0].ranks[0] = Sum::number(9), "progress"),
("", |c| c.classes[1].ranks[1] = Sum::number(9), "progress"),
("", |c| drop(c.classes[1].ranks.pop()), "unfit"),]).check();
}

/// Loops in loops, where counts are products.
const NESTED: &str = "protocol nested
param N in 0..
param M in 0..
param S in 1..
param R in 1..
mbarrier full[R] { arrivals: 2 }
role producer {
    for i in 0..N {
        for j in 0..M {
            arrive full[(i * M + j) % S]
        }
    }
}
role consumer {
    for i in 0..N {
        for j in 0..M {
            arrive full[(i * M + j) % S]
            wait full[(i * M + j) % S] ((i * M + j) / S) % 2
        }
    }
}
";

/// The theorems about quotients and multiples are assumed, so they stand here to the letter.
#[test]
fn theorems_are_stated_as_they_are_proved() {
    let times = |of: &[Name]| Product {
        times: 1,
        of: of.to_vec(),
    };
    let product = [Name::Param(1), Name::Counter(Counter::Iterations(0))];
    let fact = Fact::AtLeastZero(Sum(vec![times(&product)]));
    let local = Local {
        loops: vec![vec![fact], vec![]],
        behind: Vec::new(),
        ranks: vec![Sum::default()],
        holds: Vec::new(),
    };
    let certificate = Certificate {
        classes: vec![local.clone(), local],
        not_lapped: vec![NotLapped {
            class: 1,
            ring: 0,
            by: 1,
            chain: Vec::new(),
        }],
        ..Certificate::default()
    };
    let protocol = text::load(NESTED.as_bytes()).unwrap();
    let all = obligations(&protocol, &certificate).unwrap();
    let progress = all.iter().find(|one| one.name.ends_with("progress"));
    let stated = progress.unwrap().hypotheses.iter().map(Term::to_string);
    let stated: Vec<String> = stated.filter(|fact| fact.starts_with("(or")).collect();
    let (a, b) = ("(+ (* m_2_done param_M) m_18_done)", "param_S");
    let (div, rest) = (format!("(div {a} {b})"), format!("(mod {a} {b})"));
    let quotient = format!(
        "(or (<= {b} 0) (and (= {a} (+ (* {div} {b}) {rest})) (and (<= 0 {rest}) (< {rest} {b}))))"
    );
    let (count, turn, at) = ("m_20_count", "m_21_count", "m_22_count");
    let size = "param_R";
    let unique = format!(
        "(or (not (and (= {a} {count}) (= {b} {size}) (= {count} (+ (* {turn} {size}) {at})) \
         (and (<= 0 {at}) (< {at} {size})))) (and (= {div} {turn}) (= {rest} {at})))"
    );
    let (b, x, y) = ("param_M", "n_11_iterations", "m_15_iterations");
    let multiple = format!("(or (< {b} 0) (<= {y} {x}) (<= (+ (* {b} {x}) {b}) (* {b} {y})))");
    for theorem in [quotient, unique, multiple] {
        assert!(stated.contains(&theorem), "{theorem}\n{stated:#?}");
    }
}
