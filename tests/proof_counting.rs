//! The counting rule: what it proves, what it must not prove, and what it refuses.

use std::time::Duration;
use std::time::Instant;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Argument;
use warplock::proof::Guess;
use warplock::proof::counting;
use warplock::protocol::Protocol;
use warplock::semantics::explore;
use warplock::semantics::input::Input;
use warplock::semantics::unfold;
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

/// A random protocol of a few roles that hand rounds to each other through rings, often broken.
fn random_protocol(rng: &mut ChaCha8Rng) -> String {
    let roles = rng.random_range(1..=3usize);
    let bodies_many: Vec<bool> = (0..roles).map(|_| rng.random_bool(0.5)).collect();
    let mut objects = String::new();
    let mut bodies = vec![Vec::<String>::new(); roles];
    let mut before = vec![Vec::<String>::new(); roles];
    let size = |role: usize| if bodies_many[role] { "T" } else { "1" };
    let channels = rng.random_range(1..=2usize);
    for channel in 0..channels {
        let s = rng.random_range(1..=2i64);
        let (from, to) = (rng.random_range(0..roles), rng.random_range(0..roles));
        let off = |rng: &mut ChaCha8Rng, p: f64, text: &str| {
            if rng.random_bool(p) {
                text.to_owned()
            } else {
                String::new()
            }
        };
        let shift = if rng.random_bool(0.15) {
            rng.random_range(0..s)
        } else {
            0
        };
        let index = if shift == 0 {
            format!("i % {s}")
        } else {
            format!("(i + {shift}) % {s}")
        };
        let phase = |flip: bool| {
            if flip {
                format!("1 - i / {s} % 2")
            } else {
                format!("i / {s} % 2")
            }
        };
        let style = rng.random_range(0..4);
        objects.push_str(&format!(
            "mbarrier full{channel}[{s}] {{ arrivals: {}{} }}\n",
            size(from),
            off(rng, 0.1, " + 1")
        ));
        objects.push_str(&format!(
            "mbarrier empty{channel}[{s}] {{ arrivals: {}{} }}\n",
            size(to),
            off(rng, 0.1, " + 1")
        ));
        let flip = rng.random_bool(0.08);
        let start = style == 1;
        let skip = style == 2;
        let mut acquire = format!("wait empty{channel}[{index}] {}", phase(!start ^ flip));
        if skip {
            acquire = format!("if i >= {s} {{ wait empty{channel}[{index}] (i - {s}) / {s} % 2 }}");
        }
        let mut commit = format!("arrive full{channel}[{index}]");
        if rng.random_bool(0.05) {
            commit = format!("if i > 0 {{ {commit} }}");
        }
        let mut release = format!("arrive empty{channel}[{index}]");
        if rng.random_bool(0.1) {
            release = format!("if i + {s} < N {{ {release} }}");
        }
        if start {
            before[to].push(format!("for k in 0..{s} {{ arrive empty{channel}[k] }}"));
        }
        let consume = format!(
            "wait full{channel}[{index}] {}",
            phase(rng.random_bool(0.05))
        );
        let mut insert = |rng: &mut ChaCha8Rng, role: usize, ops: [String; 2]| {
            let mut at = 0;
            for op in ops {
                if rng.random_bool(0.06) {
                    continue;
                }
                at = rng.random_range(at..=bodies[role].len());
                bodies[role].insert(at, op);
                at += 1;
            }
        };
        insert(rng, from, [acquire, commit]);
        insert(rng, to, [consume, release]);
    }
    let mut text = format!("protocol random\nparam T in 1..\nparam N in 0..\n{objects}");
    for role in 0..roles {
        let index = if bodies_many[role] { "[t in 0..T]" } else { "" };
        text.push_str(&format!("role r{role}{index} {{\n"));
        for op in &before[role] {
            text.push_str(&format!("    {op}\n"));
        }
        text.push_str("    for i in 0..N {\n");
        for op in &bodies[role] {
            if bodies_many[role] && rng.random_bool(0.04) {
                text.push_str(&format!("        if t == 0 {{ {op} }}\n"));
            } else {
                text.push_str(&format!("        {op}\n"));
            }
        }
        text.push_str("    }\n}\n");
    }
    text
}

/// Whether some small instance gets stuck or does something undefined.
fn fails_small(protocol: &Protocol) -> Option<String> {
    for threads in 1..=3 {
        for rounds in 0..=6 {
            let input = Input {
                params: vec![threads, rounds],
                ..Input::default()
            };
            let instance = match unfold::instantiate(protocol, &input) {
                Ok(instance) => instance,
                Err(error) => return Some(format!("T = {threads}, N = {rounds}: {error}")),
            };
            let options = explore::Options {
                max_states: 100_000,
                ..explore::Options::default()
            };
            let found = explore::explore(&instance, &options);
            if found.stuck.is_some() || found.violation.is_some() {
                return Some(format!("T = {threads}, N = {rounds}"));
            }
        }
    }
    None
}

/// How many random protocols are tried; more with `WARPLOCK_RANDOM`.
fn attempts() -> u64 {
    std::env::var("WARPLOCK_RANDOM")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(15)
}

#[test]
fn what_is_proved_has_no_small_failure() {
    let (mut proofs, mut safe) = (0, 0);
    for seed in 0..attempts() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let source = random_protocol(&mut rng);
        let protocol = text::load(source.as_bytes()).unwrap();
        let failure = fails_small(&protocol);
        let proved = matches!(guess(&source, 3), Guess::Found(_));
        safe += u64::from(failure.is_none());
        proofs += u64::from(proved);
        if proved && let Some(failure) = failure {
            panic!("seed {seed}: proved, but fails at {failure}\n{source}");
        }
        if std::env::var_os("SHOW").is_some() && !proved && fails_small(&protocol).is_none() {
            eprintln!(
                "seed {seed}: safe on the grid, {:?}\n{source}",
                guess(&source, 3)
            );
        }
    }
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{proofs} proofs, {safe} safe of {}", attempts());
    }
    assert!(proofs > 0);
}
