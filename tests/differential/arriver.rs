//! Random protocols in which the last to arrive does something for all: whatever the arriver rule proves is searched exhaustively at
//! small parameter values, where nothing may hang or be undefined.
//!
//! The protocols are those of `support/arriver_templates.rs` with edits. Seeds count from 11,000,000.

use warplock::certificate::arriver;
use warplock::proof::Layer;
use warplock::text;

use super::order::never_wrong;
use crate::support::arriver_templates::KERNELS;
use crate::support::edited::generate;

/// Cases of one run.
const CASES: u64 = 60;

#[test]
fn what_the_arriver_rule_proves_never_goes_wrong() {
    never_wrong(
        Layer::Arriver,
        &|seed| generate(&KERNELS, seed),
        11_000_000,
        CASES,
    );
}

/// What the last one does may set back what nobody uses any more, and nothing else.
#[test]
fn what_is_set_back_too_early_or_does_not_exist_is_refused() {
    let apart = |program: &str| {
        let source = format!(
            "protocol p param N in 1.. param R in 0.. semaphore a[N] = 0 semaphore c = 0 semaphore gate = 0
            role r[n in 0..N] {{ {program} }}"
        );
        let protocol = text::load(source.as_bytes()).unwrap();
        arriver::apart(&protocol).is_ok()
    };
    let count = "let t = fetch_add(c, 1)";
    for (program, taken) in [
        (
            format!("a[n] += 1 {count} if t == N - 1 {{ a[n] = 0 c = 0 }}"),
            true,
        ),
        // There need not be such an element.
        (
            format!("a[n] += 1 {count} if t == N - 1 {{ a[n + 1] = 0 c = 0 }}"),
            false,
        ),
        (format!("{count} if t == N - 1 {{ a[n] = 0 c = 0 }}"), false),
        // Others may still look at it.
        (
            format!("a[n] += 1 {count} if t == N - 2 {{ a[n] = 0 }}"),
            false,
        ),
        (
            format!("a[n] += 1 {count} if t == N - 1 {{ a[n] = 0 }} wait a[n] >= 0"),
            false,
        ),
        (
            format!("{count} if t == N - 1 {{ c = 0 gate += 1 }} a[n] += 1"),
            true,
        ),
    ] {
        assert_eq!(apart(&program), taken, "{program}");
    }
    for (round, taken) in [
        (
            format!("{count} if t == N - 1 {{ c = 0 gate += 1 }} wait gate >= e + 1"),
            true,
        ),
        (
            format!("wait gate >= e {count} if t == N - 1 {{ c = 0 gate += 1 }}"),
            true,
        ),
        (
            format!("{count} if t == (e + 1) * N - 1 {{ gate += 1 }} wait gate >= e + 1"),
            true,
        ),
        // Somebody counts in the next round before the counter is back.
        (
            format!("{count} if t == N - 1 {{ gate += 1 c = 0 }} wait gate >= e + 1"),
            false,
        ),
        (
            format!("{count} if t == N - 1 {{ c = 0 gate += 1 }} wait gate >= e"),
            false,
        ),
        (
            format!("{count} if t == N - 1 {{ c = 0 gate += 2 }} wait gate >= e + 1"),
            false,
        ),
        (
            format!(
                "{count} if t == N - 1 {{ c = 0 gate += 1 }} if n > 0 {{ wait gate >= e + 1 }}"
            ),
            false,
        ),
        (
            format!("{count} if t == N - 1 {{ c = 0 gate += 1 }} gate += 1 wait gate >= e + 1"),
            false,
        ),
        // More than one round's worth, and less.
        (
            format!("{count} if t == N - 2 {{ c = 0 gate += 1 }} wait gate >= e + 1"),
            false,
        ),
        (
            format!("{count} if t == N - 1 {{ c = 1 gate += 1 }} wait gate >= e + 1"),
            false,
        ),
        (
            format!("{count} if t == e * N {{ gate += 1 }} wait gate >= e + 1"),
            false,
        ),
    ] {
        let program = format!("for e in 0..R {{ {round} }}");
        assert_eq!(apart(&program), taken, "{program}");
        let late = program.replace("0..R", "1..R");
        assert!(!apart(&late), "{late}");
    }
}
