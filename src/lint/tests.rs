use crate::text;

use super::*;

/// The lint rules that a protocol violates, in the order of its lines.
fn rules(text: &str) -> Vec<&'static str> {
    let protocol = text::load(text.as_bytes()).expect("a valid protocol");
    lint(&protocol).iter().map(|lint| lint.rule).collect()
}

fn said(text: &str) -> Vec<String> {
    let protocol = text::load(text.as_bytes()).expect("a valid protocol");
    let lints = lint(&protocol).into_iter();
    lints
        .map(|lint| format!("{}: {}: {}", lint.line, lint.rule, lint.message))
        .collect()
}

/// A ring of S stages. Each test replaces a part of it.
const RING: &str = "\
protocol ring
param S in 1..=4
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 }
role load {
    for i in 0..N {
        wait empty[i % S] (i / S + 1) % 2
        arrive_expect_tx full[i % S] 64
        complete_tx full[i % S] 64
    }
}
role use[w in 0..2] {
    for i in 0..N {
        wait full[i % S] i / S % 2
        arrive empty[i % S]
    }
}
";

fn ring(from: &str, to: &str) -> String {
    assert!(RING.contains(from));
    RING.replace(from, to)
}

#[test]
fn nothing_is_found_in_a_ring() {
    assert_eq!(said(RING), Vec::<String>::new());
}

#[test]
fn faults_of_a_ring() {
    let cases = [
        (
            "empty[S] { arrivals: 2 }",
            "empty[S] { arrivals: 64 }",
            "arrival-count",
        ),
        (
            "        arrive empty[i % S]\n",
            "        arrive empty[i % S] 3\n",
            "arrival-count",
        ),
        ("        arrive empty[i % S]\n", "", "nobody-arrives"),
        (
            "        wait empty[i % S] (i / S + 1) % 2\n",
            "",
            "never-waited",
        ),
        (
            "wait full[i % S] i / S % 2",
            "wait full[i % S] 0",
            "parity-repeats",
        ),
        (
            "complete_tx full[i % S] 64",
            "complete_tx full[i % S] 32",
            "bytes",
        ),
        (
            "role load {\n    for i in 0..N {",
            "role load {\n    for i in 0..N - 1 {",
            "nobody-arrives",
        ),
        (
            "full[S] { arrivals: 1 }",
            "full[S] { arrivals: 1, init: explicit }",
            "never-initialised",
        ),
    ];
    for (from, to, rule) in cases {
        let found = rules(&ring(from, to));
        assert!(found.contains(&rule), "{to}: {found:?}");
    }
}

#[test]
fn what_is_said_names_the_smallest_values() {
    let text = ring("empty[S] { arrivals: 2 }", "empty[S] { arrivals: 64 }");
    let expected = "8: arrival-count: at S = 1, N = 2: `empty[0]` takes 64 arrivals to complete a phase, but all members \
                    together make 4";
    assert_eq!(said(&text), [expected]);
}

#[test]
fn semaphores_pools_and_barriers() {
    let lock = "\
protocol p
param N in 1..
pattern visits[N, 2]
semaphore dq[2] = 0
grid cta[n in 0..N] launch ascending resident all {
    for m in row(visits, n) {
        wait dq[m] == n
        dq[m] += 1
    }
}
";
    assert_eq!(rules(lock), ["value-out-of-reach"]);
    assert!(rules(&lock.replace("== n", "== count(k in 0..n where visits[k, m])")).is_empty());
    let named = "\
protocol p
named bar[16]
role w[i in 0..3] { sync bar[1] 128 }
";
    assert_eq!(rules(named), ["arrival-count"]);
    assert!(rules(&named.replace("128", "96")).is_empty());
    let pool = "protocol p pool columns = 512 role w { acquire columns 600 }\n";
    assert_eq!(rules(pool), ["capacity"]);
}

/// A member that waits for its own later arrival, and one that arrives before its wait.
#[test]
fn own_arrivals() {
    let text = "protocol p\nmbarrier b { arrivals: 2 }\nrole t[i in 0..2] { if i == 0 { wait b 0 }  arrive b }\n";
    assert_eq!(rules(text), ["own-arrival"]);
    let right = text.replace("if i == 0 { wait b 0 }  arrive b", "arrive b  wait b 0");
    assert!(rules(&right).is_empty());
}

/// A member has to wait for the initialisation of an mbarrier before it uses it.
#[test]
fn initialisations() {
    let text = "\
protocol p
mbarrier b { arrivals: 2, init: explicit }
barrier cta { arrivals: 2 }
role w[i in 0..2] {
    if i == 0 { init b }
    arrive cta
    wait cta
    arrive b
    wait b 0
}
";
    assert_eq!(said(text), Vec::<String>::new());
    let early = text.replace("    wait cta\n", "");
    assert!(
        rules(&early).contains(&"use-before-barrier"),
        "{:?}",
        said(&early)
    );
    let nobody = text.replace("i == 0", "i == 5");
    assert!(
        rules(&nobody).contains(&"never-initialised"),
        "{:?}",
        said(&nobody)
    );
    let one = text.replace(
        "    arrive cta\n    wait cta\n",
        "    if i == 0 { arrive cta  wait cta }\n",
    );
    assert!(
        rules(&one).contains(&"cta-barrier-in-role"),
        "{:?}",
        said(&one)
    );
}

/// Each rule has a text, either here or in the lint rules for kernels.
#[test]
fn each_rule_is_explained() {
    let here: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    for id in here {
        assert!(crate::ptx::rule(id).is_none(), "{id} is explained twice");
    }
    for id in [
        "arrival-count",
        "trip-counts",
        "never-initialised",
        "use-before-barrier",
        "cta-barrier-in-role",
    ] {
        assert!(crate::ptx::rule(id).is_some(), "{id} is not explained");
    }
}
