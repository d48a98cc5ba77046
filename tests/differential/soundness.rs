//! Protocols that once got a wrong verdict, or none because two parts of the program disagreed.
//!
//! What each does is established by the reference semantics first; only then is the verdict
//! looked at.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warplock::certificate::discharge::Answer;
use warplock::certificate::discharge::Solver;
use warplock::certificate::discharge::discharge;
use warplock::certificate::grid::Residency;
use warplock::certificate::ticket;
use warplock::certificate::ticket::Key;
use warplock::certificate::ticket::Tally;
use warplock::certificate::ticket::Ticket;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::explore_all;
use warplock::semantics::inputs::Bounds;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;

fn load(source: &str) -> Protocol {
    text::load(source.as_bytes())
        .unwrap_or_else(|found| panic!("{}", text::render(&found, "protocol", source, false)))
}

/// Whether some input at these parameters has a stuck state, by exhaustive search.
fn hangs(protocol: &Protocol, params: &[i64], max_initial: i64) -> bool {
    let bounds = Bounds {
        max_initial,
        ..Bounds::default()
    };
    let found = explore_all(protocol, params, &bounds, &Options::default()).unwrap();
    found.stuck.is_some()
}

/// The verdict word and, for a bound, what it claims.
fn verdict(protocol: &Protocol) -> Result<String, String> {
    let cancel = AtomicBool::new(false);
    let settings = Settings {
        timeout: Duration::from_secs(20),
        objectives: None,
        cancel: &cancel,
        tell: &|_| {},
        kernel: false,
    };
    verdict::decide(
        protocol,
        &Narrowing::default(),
        Property::Deadlock,
        &settings,
    )
    .map(|decision| decision.verdict.word().to_owned())
    .map_err(|error| error.to_string())
}

/// `x` keeps the value that `last` had after the first loop; the second loop changes `last` only.
const COPY_OF_CARRIED: &str = "\
protocol copy_of_carried

param N in 1..

semaphore s[2] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    var last = 0
    for i in 0..1 {
        last = i
    }
    var x = last
    for j in 0..2 {
        last = j
    }
    wait s[x] == n
    s[1] += 1
}
";

#[test]
fn the_checker_keeps_a_copy_apart_from_the_variable_it_was_copied_from() {
    let protocol = load(COPY_OF_CARRIED);
    assert!(hangs(&protocol, &[2, 1], 0));
    let waits = (0..protocol.stmt_count).map(|stmt| (stmt, Tally::Block(1)));
    let artefact = Ticket {
        order: vec![Key {
            index: 0,
            descending: false,
        }],
        residency: Residency::LaunchOrder,
        counted: BTreeMap::from([(0, vec![0])]),
        tallies: waits.collect(),
        split: false,
    };
    let Ok(obligations) = ticket::obligations(&protocol, &artefact) else {
        return;
    };
    let limit = Duration::from_secs(10);
    let discharged = obligations
        .iter()
        .all(|o| discharge(o, &Solver::BuiltIn, limit) == Answer::Discharged);
    assert!(!discharged, "a protocol that hangs has a certificate");
}

#[test]
fn a_copy_of_a_carried_variable_is_no_proof() {
    // The hang starts beyond the boxes that are searched and the instances that are sampled.
    let source = COPY_OF_CARRIED.replace("s[x]", "s[if n < 100 then 1 else x]");
    let protocol = load(&source);
    assert!(hangs(&protocol, &[101, 1], 0));
    assert_ne!(verdict(&protocol).as_deref(), Ok("PROVED"));
}

#[test]
fn a_condition_on_a_carried_variable_is_that_of_its_time() {
    let protocol = load(
        "\
protocol early_return

param N in 1..

semaphore s = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    var last = 0
    for i in 0..1 {
        last = i
    }
    if last == 0 && n == 100 {
        return
    }
    for j in 0..2 {
        last = j
    }
    wait s == n
    s += 1
}
",
    );
    assert!(hangs(&protocol, &[102, 1], 0));
    assert_ne!(verdict(&protocol).as_deref(), Ok("PROVED"));
}

#[test]
fn a_defined_pattern_is_defined_everywhere() {
    let protocol = load(
        "\
protocol undefined_pattern

param N in 1..
param M in 1..

pattern v[n in 0..N, m in 0..M] = m % (40 - n) == 0

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(v, n) {
        dq[m] += 1
    }
}
",
    );
    let at = explore_all(
        &protocol,
        &[41, 1, 1],
        &Bounds::default(),
        &Options::default(),
    );
    assert!(at.is_err(), "the interpreter divides by zero");
    assert_ne!(verdict(&protocol).as_deref(), Ok("PROVED"));
}

#[test]
fn a_bound_covers_short_loops_wherever_they_lie() {
    // One CTA and one iteration, but the loop variable is 20 or more.
    let protocol = load(
        "\
protocol far_loop

param S in 20..

semaphore s = 0

grid cta[n in 0..1] launch ascending resident 1.. {
    for i in S..S + 1 {
        wait s == 1
    }
}
",
    );
    assert!(hangs(&protocol, &[20, 1], 0));
    assert_ne!(verdict(&protocol).as_deref(), Ok("BOUNDED"));
}

#[test]
fn a_bound_covers_or_names_the_initial_values() {
    let protocol = load(
        "\
protocol initial_two

semaphore s = any

grid cta[n in 0..2] launch ascending resident all {
    if n == 0 {
        wait s == 1
        s = 0
    } else {
        wait s == 0
        s = 1
    }
}
",
    );
    assert!(!hangs(&protocol, &[], 1));
    assert!(hangs(&protocol, &[], 2));
    assert_ne!(verdict(&protocol).as_deref(), Ok("BOUNDED"));
}

#[test]
fn inputs_that_cannot_run_are_no_counterexamples() {
    let nobody_resident = "\
protocol nobody_resident

param N in 1..
param R in 0..

semaphore s = 0

grid cta[n in 0..N] launch ascending resident R {
    wait s == n
    s += 1
}
";
    let not_a_phase = "\
protocol not_a_phase

param N in 1..

semaphore s = 0

grid cta[n in 0..N] launch ascending resident all {
    if n >= 2 {
        wait s == n ^ 1
    }
    s += 1
}
";
    let undefined_pattern = "\
protocol undefined_pattern

param N in 1..
param M in 1..

pattern v[n in 0..N, m in 0..M] = m / (1 - n) >= 0

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    if v[0, 0] && N > 1 {
        wait dq[0] == 1
    }
}
";
    for source in [nobody_resident, not_a_phase, undefined_pattern] {
        if let Err(error) = verdict(&load(source)) {
            panic!("{error}:\n{source}");
        }
    }
}
