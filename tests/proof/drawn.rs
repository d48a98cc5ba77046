//! Members that draw numbers from a counter: what is proved of them, and what must not be proved.

use std::time::Duration;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

/// Whether a property is proved by some rule, for all values.
fn proved_of(property: &str, source: &str) -> bool {
    let source = format!(
        "protocol p param N in 1.. param R in 1.. semaphore next = 0 semaphore flag[N] = 0 {source}"
    );
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let (Guess::Found(argument) | Guess::Fitting(argument)) =
        proof::guess(&protocol, LIMIT, &|_| {})
    else {
        return false;
    };
    let issued = manifest::issue(&source, &Narrowing::default(), property, argument);
    issued.is_ok_and(|(certificate, _)| {
        manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).is_ok()
    })
}

fn proved(source: &str) -> bool {
    proved_of("deadlock", source)
}

#[test]
fn a_member_may_wait_for_those_that_drew_before() {
    let scan = |launch: &str, behind: &str| {
        proved(&format!(
            "grid cta[n in 0..N] {launch} {{ let t = fetch_add(next, 1) {behind} }}"
        ))
    };
    let before = "if t > 0 { wait flag[t - 1] >= 1 } flag[t] += 1";
    for launch in [
        "launch any resident R",
        "launch descending resident 1",
        "resident all",
    ] {
        assert!(scan(launch, before), "{launch}");
    }
    let all = "for j in 0..t { wait flag[j] >= 1 } flag[t] += 1";
    assert!(scan("launch any resident R", all));
    for behind in [
        // Who draws later need not have started.
        "if t + 1 < N { wait flag[t + 1] >= 1 } flag[t] += 1",
        "wait flag[t] >= 1 flag[t] += 1",
        "flag[t] += 1 wait flag[N - 1] >= 1",
        // No such element.
        "wait flag[t - 1] >= 1 flag[t] += 1",
        "if t > 0 { wait flag[t - 1] >= 1 } flag[t + 1] += 1",
        // Its own index is another number.
        "if t > 0 { wait flag[t - 1] >= 1 } flag[n] += 1",
        "if n > 0 { wait flag[n - 1] >= 1 } flag[n] += 1",
    ] {
        assert!(!scan("launch any resident R", behind), "{behind}");
    }
}

#[test]
fn the_counter_counts_who_draws_and_nothing_else() {
    let scan = |before: &str, operation: &str, other: &str| {
        proved(&format!(
            "buffer x[N] grid cta[n in 0..N] launch any resident R {{
             {before} let t = {operation} if t > 0 {{ wait flag[t - 1] >= 1 }} flag[t] += 1 }} {other}"
        ))
    };
    assert!(scan("", "fetch_add(next, 1)", ""));
    assert!(scan("read input", "fetch_add.relaxed.gpu(next, 1)", ""));
    for (before, operation, other) in [
        ("", "fetch_add(next, 2)", ""),
        ("", "exchange(next, 1)", ""),
        ("", "fetch_add(next, 1)", "role again { next = 0 }"),
        (
            "",
            "fetch_add(next, 1)",
            "role one { let t = fetch_add(next, 1) }",
        ),
        // Who is held up may have started and never draw.
        ("wait flag[0] >= 1", "fetch_add(next, 1)", ""),
        (
            "if n > 0 { wait flag[n - 1] >= 1 }",
            "fetch_add(next, 1)",
            "",
        ),
        // Whether there is such data is not plain.
        ("write x[n + 1]", "fetch_add(next, 1)", ""),
    ] {
        assert!(
            !scan(before, operation, other),
            "{before} {operation} {other}"
        );
    }
}

#[test]
fn tiles_may_be_handed_out() {
    let tiles = |role: &str, trips: &str, test: &str, tile: &str| {
        proved(&format!(
            "{role} {{ for j in 0..{trips} {{ let t = fetch_add(next, 1) {test} {tile} }} }}"
        ))
    };
    let role = "role worker[w in 0..R]";
    let ends = "if t >= N { break }";
    let chain = "if t > 0 { wait flag[t - 1] >= 1 } flag[t] += 1";
    assert!(tiles(role, "N + 1", ends, chain));
    assert!(tiles(role, "N", ends, chain));
    assert!(tiles(
        "grid worker[w in 0..R] launch any resident R",
        "N + 1",
        ends,
        chain
    ));
    assert!(tiles(role, "N + 1", "if t >= N { return }", chain));
    for (role, trips, test, tile) in [
        // The last tiles are left over.
        (role, "N - 1", ends, "flag[t] += 1 wait flag[N - 1] >= 1"),
        (
            role,
            "N + 1",
            "if t >= N { break }",
            "wait flag[N - 1] >= 1 flag[t] += 1",
        ),
        (role, "N + 1", "if t > N { break }", chain),
        (
            role,
            "N + 1",
            ends,
            "if t + 1 < N { wait flag[t + 1] >= 1 } flag[t] += 1",
        ),
        // What depends on who does it, or on the round.
        (
            role,
            "N + 1",
            ends,
            "if w == 0 { wait flag[N - 1] >= 2 } flag[t] += 1",
        ),
        (
            role,
            "N + 1",
            ends,
            "if j == 1 { wait flag[N - 1] >= 2 } flag[t] += 1",
        ),
    ] {
        assert!(
            !tiles(role, trips, test, tile),
            "{role} {trips} {test} {tile}"
        );
    }
}

/// A member arrives at such a barrier and waits there by turns, whatever its number is.
#[test]
fn a_member_that_arrives_again_is_not_another_one() {
    let meets = |tile: &str| {
        proved(&format!(
            "barrier met {{ arrivals: N }} role worker[w in 0..R] {{
             for j in 0..N + 1 {{ let t = fetch_add(next, 1) if t >= N {{ break }} {tile} }} }}"
        ))
    };
    assert!(!meets("arrive met"));
}

#[test]
fn nothing_but_deadlock_is_proved_of_them() {
    let scan = "grid cta[n in 0..N] launch any resident R { let t = fetch_add(next, 1)
        if t > 0 { wait flag[t - 1] >= 1 } flag[t] += 1 }";
    assert!(proved_of("deadlock", scan));
    for property in ["over_arrival", "lapped_wait", "early_completion", "race"] {
        assert!(!proved_of(property, scan), "{property}");
    }
}
