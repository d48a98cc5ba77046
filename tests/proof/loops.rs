//! Loops over barriers in the ways that people write them: what is proved by one rule or another, and what must not be.

use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Protocol;
use warplock::semantics::explore;
use warplock::semantics::input::Input;
use warplock::semantics::unfold;
use warplock::text;
use warplock::text::Narrowing;

/// The rules that know such protocols.
const LAYERS: [Layer; 2] = [Layer::Order, Layer::Cuts(Shows::Nothing)];

/// Whether some rule proves it: what is found is issued as a certificate and checked.
fn is_proved(source: &str, seconds: u64) -> bool {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let limit = Duration::from_secs(seconds);
    LAYERS.into_iter().any(|layer| {
        let (Guess::Found(argument) | Guess::Fitting(argument)) =
            proof::search(&protocol, layer, limit, None, &|_| {})
        else {
            return false;
        };
        let issued = manifest::issue(source, &Narrowing::default(), "deadlock", argument);
        issued.is_ok_and(|(certificate, _)| {
            manifest::check(&certificate, &Solver::BuiltIn, limit, &|_| {}).is_ok()
        })
    })
}

fn proved(source: &str) {
    assert!(is_proved(source, 60), "not proved:\n{source}");
}

fn not_proved(source: &str) {
    assert!(!is_proved(source, 20), "proved:\n{source}");
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

/// One consumer role, one producer role, and what is asked of them.
fn changed(source: &str, from: &str, to: &str) -> String {
    assert!(source.contains(from), "{from} is not in\n{source}");
    source.replace(from, to)
}

#[test]
fn one_barrier_is_proved() {
    proved(ONE_BARRIER);
    not_proved(&changed(ONE_BARRIER, "i % 2", "1 - i % 2"));
    not_proved(&changed(ONE_BARRIER, "arrivals: T", "arrivals: T + 1"));
}

#[test]
fn two_cta_jacobi_is_proved() {
    proved(JACOBI);
    not_proved(&changed(JACOBI, "phase = phase ^ 1", "phase = phase"));
}

#[test]
fn rings_are_proved() {
    proved(&ring("1..=4"));
}

/// The bounds of a loop are evaluated once. So a loop of a few iterations is not written out where its body changes what they
/// mention: the second iteration would begin at another index.
#[test]
fn bounds_that_the_body_changes_are_evaluated_once() {
    let source = |bounds: &str, body: &str| {
        format!(
            "protocol bounds param Q in 4.. param K in 0.. mbarrier b[3] {{ arrivals: 1 }}
             role giver {{ var x = 0 for i in {bounds} {{ {body} }} }}
             role taker {{ wait b[0] 0 wait b[1 + min(1, K / (Q * Q * Q + 77))] 0 }}"
        )
    };
    let moves = "arrive b[i] x = min(1, K / (Q * Q * Q + 77))";
    not_proved(&source("x..x + 2", moves));
    not_proved(&source("x..x + 2 descending", moves));
    // All three are told.
    proved(&source("0..3", moves));
    proved(&source("x..x + 3", "arrive b[i]"));
}

#[test]
fn broken_rings_are_not_proved() {
    let good = ring("{2}");
    not_proved(&changed(&good, "1 - i / S % 2", "i / S % 2"));
    not_proved(&changed(
        &good,
        "wait full[i % S] i",
        "wait full[i % S] 1 - i",
    ));
    not_proved(&changed(&good, "arrivals: C", "arrivals: C + 1"));
    not_proved(&changed(&good, "arrivals: C", "arrivals: C - 1"));
    let longer = "role consumer[c in 0..C] {\n    for i in 0..N";
    not_proved(&changed(&good, longer, &format!("{longer} + 1")));
    not_proved(&changed(&good, "arrive empty[i % S]", "arrive empty[0]"));
}

/// Indices that wrap by hand, primed slots, skipped waits and releases, and a drain after the loop.
#[test]
fn ways_to_write_a_ring_are_proved() {
    let good = ring("{2}");
    let wait = "wait empty[i % S] 1 - i / S % 2";
    proved(&changed(
        &good,
        wait,
        "if i >= S { wait empty[i % S] (i - S) / S % 2 }",
    ));
    let consumer = "role consumer[c in 0..C] {\n";
    let primed = changed(
        &changed(&good, wait, "wait empty[i % S] i / S % 2"),
        consumer,
        &format!("{consumer}    for s in 0..S {{ arrive empty[s] }}\n"),
    );
    proved(&primed);
    not_proved(&changed(&primed, "for s in 0..S {", "for s in 1..S {"));
    let release = "arrive empty[i % S]";
    let spared = changed(&good, release, "if i + S < N { arrive empty[i % S] }");
    proved(&spared);
    not_proved(&changed(&spared, "i + S < N", "i + S + 1 < N"));
    let drained = changed(
        &changed(&good, "param N in 0..", "param N in 2.."),
        "    }\n}\nrole consumer",
        "    }\n    wait empty[N % S] 1 - N / S % 2\n    \
         wait empty[(N + 1) % S] 1 - (N + 1) / S % 2\n}\nrole consumer",
    );
    proved(&drained);
    not_proved(&changed(
        &drained,
        "wait empty[N % S] 1 -",
        "wait empty[N % S]",
    ));
    let by_hand = |start: &str| {
        format!(
            "var stage = 0\n    var phase = {start}\n    for i in 0..N {{\n        \
             OPERATIONS\n        stage = stage + 1\n        \
             if stage == S {{\n stage = 0\n phase = phase ^ 1\n }}\n    }}\n"
        )
    };
    let wrapped = |start: &str| {
        let producer = by_hand(start);
        let producer = producer.replace("OPERATIONS", "wait empty[stage] phase arrive full[stage]");
        let consumer = by_hand("0");
        let consumer = consumer.replace("OPERATIONS", "wait full[stage] phase arrive empty[stage]");
        let head = &good[..good.find("role producer").unwrap()];
        format!("{head}role producer {{ {producer} }}\nrole consumer[c in 0..C] {{ {consumer} }}\n")
    };
    proved(&wrapped("1"));
    not_proved(&wrapped("0"));
}

const ELECTED: &str = "protocol elected
param T in 1..
param N in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: T }
role thread[t in 0..T] {
    for i in 0..N {
        if t == 0 {
            wait empty 1 - i % 2
            arrive full
        }
        wait full i % 2
        arrive empty
    }
}
";

#[test]
fn an_elected_thread_is_counted_apart() {
    proved(ELECTED);
    proved(&changed(ELECTED, "t == 0", "t < 1"));
    proved(&changed(ELECTED, "t == 0", "t == T - 1"));
    not_proved(&changed(ELECTED, "t == 0", "t < 2"));
    not_proved(&changed(ELECTED, "t == 0", "t == 1"));
}

const STARTED: &str = "protocol started
param T in 1..
param N in 0..
mbarrier ready { arrivals: 1 }
mbarrier bar { arrivals: T }
role prime {
    arrive ready
}
role thread[t in 0..T] {
    wait ready 0
    for i in 0..N {
        arrive bar
        wait bar i % 2
    }
}
";

#[test]
fn a_role_without_a_loop_may_stand_beside_others() {
    proved(STARTED);
    not_proved(&changed(
        STARTED,
        "wait ready 0",
        "wait ready 1 wait ready 0 wait ready 1",
    ));
    not_proved(&changed(
        STARTED,
        "    arrive ready",
        "    wait bar 0 arrive ready",
    ));
    // Nothing but straight lines.
    proved(
        "protocol straight
param T in 1..
mbarrier a { arrivals: T }
mbarrier b { arrivals: 1 }
role one {
    wait a 0
    arrive b
}
role many[t in 0..T] {
    arrive a
    wait b 0
}
",
    );
}

const COUNTER: &str = "protocol counter
param G in 1..
param N in 0..
semaphore s = 0
role cta[c in 0..G] {
    for i in 0..N {
        s += 1
        wait s >= G * (i + 1)
    }
}
";

#[test]
fn counters_that_only_grow_are_proved() {
    proved(COUNTER);
    // A fast member moves the counter past the value before a slow one has looked.
    not_proved(&changed(COUNTER, ">=", "=="));
    not_proved(&changed(COUNTER, "G * (i + 1)", "G * i + G + 1"));
    proved(
        "protocol mixed
param W in 1..
param N in 0..
mbarrier full { arrivals: 1 }
semaphore done = 0
role producer {
    for i in 0..N {
        wait done >= W * i
        arrive full
    }
}
role worker[w in 0..W] {
    for i in 0..N {
        wait full i % 2
        done += 1
    }
}
",
    );
}

/// A random protocol of a few roles that hand rounds to each other through rings, often broken.
fn random_protocol(rng: &mut ChaCha8Rng) -> String {
    let roles = rng.random_range(1..=3usize);
    let many: Vec<bool> = (0..roles).map(|_| rng.random_bool(0.5)).collect();
    let size = |role: usize| if many[role] { "T" } else { "1" };
    let damage = [0.0, 0.5, 1.0][rng.random_range(0..3)];
    let mut objects = String::new();
    let mut bodies = vec![Vec::<String>::new(); roles];
    let mut before = vec![Vec::<String>::new(); roles];
    for channel in 0..rng.random_range(1..=2usize) {
        let s = rng.random_range(1..=2i64);
        let (from, mut to) = (rng.random_range(0..roles), rng.random_range(0..roles));
        if to == from && rng.random_bool(0.8) {
            to = (from + 1) % roles;
        }
        let mut damaged = |p: f64| rng.random_bool(p * damage);
        let extra = |wrong: bool| if wrong { " + 1" } else { "" };
        let (full, empty) = (extra(damaged(0.1)), extra(damaged(0.1)));
        let (flip_empty, flip_full) = (damaged(0.08), damaged(0.08));
        let (guarded, spared) = (damaged(0.06), damaged(0.2));
        let (from_size, to_size) = (size(from), size(to));
        let shift = if rng.random_bool(0.15) { s - 1 } else { 0 };
        let index = if shift == 0 {
            format!("i % {s}")
        } else {
            format!("(i + {shift}) % {s}")
        };
        let phase = |flip: bool| {
            let bit = format!("i / {s} % 2");
            if flip { format!("1 - {bit}") } else { bit }
        };
        objects.push_str(&format!(
            "mbarrier full{channel}[{s}] {{ arrivals: {from_size}{full} }}\n"
        ));
        let mut commit = format!("arrive full{channel}[{index}]");
        if guarded {
            commit = format!("if i > 0 {{ {commit} }}");
        }
        let consume = format!("wait full{channel}[{index}] {}", phase(flip_full));
        let style = rng.random_range(0..5);
        let (acquire, mut release) = if style == 0 {
            objects.push_str(&format!("semaphore done{channel} = 0\n"));
            (
                format!("wait done{channel} >= {to_size} * (i - {s} + 1){empty}"),
                format!("done{channel} += 1"),
            )
        } else {
            objects.push_str(&format!(
                "mbarrier empty{channel}[{s}] {{ arrivals: {to_size}{empty} }}\n"
            ));
            let acquire = match style {
                1 => {
                    before[to].push(format!("for k in 0..{s} {{ arrive empty{channel}[k] }}"));
                    format!("wait empty{channel}[{index}] {}", phase(flip_empty))
                }
                2 => format!("if i >= {s} {{ wait empty{channel}[{index}] (i - {s}) / {s} % 2 }}"),
                _ => format!("wait empty{channel}[{index}] {}", phase(!flip_empty)),
            };
            (acquire, format!("arrive empty{channel}[{index}]"))
        };
        if spared {
            release = format!("if i + {s} < N {{ {release} }}");
        }
        for (role, ops) in [(from, [acquire, commit]), (to, [consume, release])] {
            let mut at = 0;
            for op in ops {
                if rng.random_bool(0.06 * damage) {
                    continue;
                }
                at = rng.random_range(at..=bodies[role].len());
                bodies[role].insert(at, op);
                at += 1;
            }
        }
    }
    let mut text = format!("protocol random\nparam T in 1..\nparam N in 0..\n{objects}");
    for role in 0..roles {
        let index = if many[role] { "[t in 0..T]" } else { "" };
        text.push_str(&format!("role r{role}{index} {{\n"));
        for op in &before[role] {
            text.push_str(&format!("    {op}\n"));
        }
        text.push_str("    for i in 0..N {\n");
        for op in &bodies[role] {
            if many[role] && rng.random_bool(0.06 * damage) {
                text.push_str(&format!("        if t == 0 {{ {op} }}\n"));
            } else {
                text.push_str(&format!("        {op}\n"));
            }
        }
        text.push_str("    }\n}\n");
    }
    text
}

/// Operations without any idea behind them, on a barrier, a ring and a counter.
fn chaos(rng: &mut ChaCha8Rng) -> String {
    fn pick<'t>(rng: &mut ChaCha8Rng, of: &[&'t str]) -> &'t str {
        of[rng.random_range(0..of.len())]
    }
    let expected = ["1", "T", "T", "T + 1", "2 * T", "2"];
    let mut text = format!(
        "protocol chaos\nparam T in 1..\nparam N in 0..\nmbarrier b {{ arrivals: {} }}\n\
         mbarrier q[2] {{ arrivals: {} }}\nsemaphore s = {}\n",
        pick(rng, &expected),
        pick(rng, &expected),
        pick(rng, &["0", "0", "T"]),
    );
    let many = rng.random_bool(0.7);
    for role in 0..rng.random_range(1..=2) {
        let members = role == 0 && many;
        let conditions: &[&str] = if members {
            &[
                "",
                "",
                "",
                "",
                "",
                "i > 0",
                "i % 2 == 0",
                "t == 0",
                "t > 0",
                "i + 1 < N",
            ]
        } else {
            &["", "", "", "", "i > 0", "i % 2 == 0", "i + 1 < N", "N > 2"]
        };
        text.push_str(&format!(
            "role r{role}{} {{\n    var p = {}\n",
            if members { "[t in 0..T]" } else { "" },
            pick(rng, &["0", "0", "1"])
        ));
        let before = pick(
            rng,
            &["", "", "", "arrive b", "arrive q[1]", "s += 1", "wait b 1"],
        );
        text.push_str(&format!("    {before}\n"));
        let start = pick(rng, &["0", "0", "0", "1"]);
        text.push_str(&format!("    for i in {start}..N {{\n"));
        for _ in 0..rng.random_range(1..=2) {
            let object = rng.random_range(0..4);
            let parity = pick(rng, &["i % 2", "i % 2", "p", "p", "1 - i % 2", "0", "1"]);
            let slow = pick(
                rng,
                &[
                    "i / 2 % 2",
                    "i / 2 % 2",
                    "1 - i / 2 % 2",
                    "p",
                    "(i + 1) / 2 % 2",
                ],
            );
            let count = pick(rng, &["", "", "", "2", "T"]);
            let [first, second] = match object {
                0 | 1 => [format!("arrive b {count}"), format!("wait b {parity}")],
                2 => [
                    format!("arrive q[i % 2] {count}"),
                    format!("wait q[i % 2] {slow}"),
                ],
                _ => [
                    format!("s += {}", pick(rng, &["1", "1", "2", "T"])),
                    format!(
                        "wait s {} {}",
                        pick(rng, &[">=", ">=", "=="]),
                        pick(
                            rng,
                            &[
                                "i",
                                "i + 1",
                                "T * i",
                                "T * (i + 1)",
                                "(T + 1) * (i + 1)",
                                "T"
                            ]
                        )
                    ),
                ],
            };
            for op in [first, second] {
                match pick(rng, conditions) {
                    "" => text.push_str(&format!("        {op}\n")),
                    condition => text.push_str(&format!("        if {condition} {{ {op} }}\n")),
                }
            }
        }
        let toggle = pick(
            rng,
            &["p = p ^ 1", "p = p ^ 1", "if i % 2 == 1 { p = p ^ 1 }", ""],
        );
        let after = pick(
            rng,
            &["", "", "", "", "arrive b", "wait q[0] 1", "wait b N % 2"],
        );
        text.push_str(&format!("        {toggle}\n    }}\n    {after}\n}}\n"));
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

/// Compares proofs with exhaustive search; how many protocols were proved, and how many are safe as far as was searched.
fn compare(attempts: u64, random: impl Fn(&mut ChaCha8Rng) -> String) -> (u64, u64) {
    let (mut proofs, mut safe) = (0, 0);
    for seed in 0..attempts {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let source = random(&mut rng);
        let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        let failure = fails_small(&protocol);
        safe += u64::from(failure.is_none());
        if is_proved(&source, 5) {
            proofs += 1;
            if let Some(failure) = failure {
                panic!("seed {seed}: proved, but fails at {failure}\n{source}");
            }
        }
    }
    (proofs, safe)
}

/// How many random protocols are tried; more with `WARPLOCK_RANDOM`.
fn attempts() -> u64 {
    std::env::var("WARPLOCK_RANDOM")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(25)
}

#[test]
fn what_is_proved_has_no_small_failure() {
    let (proofs, safe) = compare(attempts(), random_protocol);
    // Most of what is safe is proved, or the test would say little.
    assert!(2 * proofs > safe, "{proofs} proofs, {safe} safe");
}

#[test]
fn what_is_proved_without_an_idea_behind_it_has_no_small_failure() {
    let (proofs, safe) = compare(8 * attempts(), chaos);
    assert!(proofs > 0, "{safe} safe");
}

/// What no statement uses must have a meaning at every value all the same.
#[test]
fn an_unused_object_must_be_well_defined() {
    let with = |object: &str| {
        format!(
            "protocol p
param T in 1..
param N in 0..
{object}
mbarrier w {{ arrivals: T }}
role r[n in 0..T] {{
    var p = 0
    for i in 0..N {{
        arrive w
        wait w p
        p = 1 - p
    }}
}}
"
        )
    };
    for object in ["barrier b { arrivals: T }", "pool b = T - 1", "named b[T]"] {
        proved(&with(object));
    }
    for object in [
        "barrier b { arrivals: 5000 - T }",
        "mbarrier b { arrivals: 5000 - T }",
        "pool b = 5000 - T",
        "pool b = 7 / (T - 1)",
    ] {
        not_proved(&with(object));
    }
}
