//! The counting rule: what it proves, what it must not prove, and what it refuses.

use std::time::Duration;
use std::time::Instant;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Argument;
use warplock::proof::Guess;
use warplock::proof::counting;
use warplock::text;
use warplock::text::Narrowing;

fn guess(source: &str, seconds: u64) -> Guess {
    let protocol = text::load(source.as_bytes()).unwrap();
    let limits = counting::Limits {
        deadline: Instant::now() + Duration::from_secs(seconds),
        cancel: None,
    };
    counting::guess(&protocol, limits, &|_| {})
}

fn proved(source: &str) -> Argument {
    let started = Instant::now();
    let argument = match guess(source, 60) {
        Guess::Found(argument) => argument,
        Guess::Nothing(reason) => panic!("not proved: {reason}"),
    };
    let found = started.elapsed();
    let (certificate, _) =
        manifest::issue(source, &Narrowing::default(), "deadlock", argument.clone()).unwrap();
    let limit = Duration::from_secs(30);
    let checked = manifest::check(&certificate, &Solver::BuiltIn, limit, &|_| {}).unwrap();
    assert_eq!(checked.rule, "counting");
    if std::env::var_os("SHOW").is_some() {
        let protocol = text::load(source.as_bytes()).unwrap();
        eprintln!(
            "{} found in {found:?}, with check {:?}, {} obligations",
            protocol.name,
            started.elapsed(),
            checked.obligations
        );
        if let Argument::Counting(counting) = &argument {
            for line in counting.explain(&protocol) {
                eprintln!("   {line}");
            }
        }
    }
    argument
}

fn not_proved(source: &str) -> String {
    let started = Instant::now();
    match guess(source, 10) {
        Guess::Found(argument) => panic!("proved: {argument:?}"),
        Guess::Nothing(reason) => {
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{:?} {reason}", started.elapsed());
            }
            reason
        }
    }
}

const ONE_BARRIER: &str = "protocol one
param T in 1..
param N in 0..
mbarrier bar { arrivals: T }
role thread[t in 0..T] {
    for i in 0..N {
        arrive bar
        wait bar i % 2
    }
}
";

const JACOBI: &str = "protocol jacobi
param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
    var phase = 0
    for i in 0..N {
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] phase
        phase = phase ^ 1
    }
}
";

fn ring(stages: &str) -> String {
    format!(
        "protocol ring
param C in 1..
param N in 0..
param S in {stages}
mbarrier full[S] {{ arrivals: 1 }}
mbarrier empty[S] {{ arrivals: C }}
role producer {{
    for i in 0..N {{
        wait empty[i % S] 1 - i / S % 2
        arrive full[i % S]
    }}
}}
role consumer[c in 0..C] {{
    for i in 0..N {{
        wait full[i % S] i / S % 2
        arrive empty[i % S]
    }}
}}
"
    )
}

#[test]
fn one_barrier_is_proved() {
    proved(ONE_BARRIER);
}

#[test]
fn two_cta_jacobi_is_proved() {
    proved(JACOBI);
}

#[test]
fn jacobi_with_a_fixed_phase_is_not_proved() {
    not_proved(&JACOBI.replace("phase = phase ^ 1", "phase = phase"));
}

#[test]
fn rings_are_proved() {
    for stages in ["{1}", "{2}", "{3}", "{4}"] {
        proved(&ring(stages));
    }
}

#[test]
fn broken_rings_are_not_proved() {
    let good = ring("{2}");
    not_proved(&good.replace("1 - i / S % 2", "i / S % 2"));
    not_proved(&good.replace("wait full[i % S] i", "wait full[i % S] 1 - i"));
    not_proved(&good.replace("arrivals: C", "arrivals: C + 1"));
}
