//! Random protocols that go on with results of atomic operations: the verdict against exhaustive search.

use std::collections::BTreeMap;
use std::time::Duration;

use warplock::text;
use warplock::text::Narrowing;

use crate::language::fits;
use crate::support::agreement;
use crate::support::agreement::Effort;
use crate::support::atomics;
use crate::support::campaign::log;
use crate::support::campaign::number;

/// Protocols of one run.
const CASES: u64 = 30;

/// Time for a verdict.
const TIME: Duration = Duration::from_secs(2);

const EFFORT: Effort = Effort {
    radius: 0,
    states: 20_000,
    time: Duration::from_secs(2),
};

#[test]
fn verdicts_on_results_of_atomic_operations_are_those_of_the_search() {
    let first = number("WARPLOCK_SEED", 0);
    let count = CASES * number("WARPLOCK_CASES", 1);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    for seed in first..first + count {
        let source = atomics::protocol(seed);
        let mut protocol = text::load(source.as_bytes()).unwrap();
        let mut narrowing = Narrowing::default();
        let value = 1 + i64::try_from(seed % 3).unwrap();
        narrowing.set.insert("N".to_owned(), value);
        text::narrow(&mut protocol, &narrowing).unwrap();
        let small = agreement::small(&protocol, EFFORT);
        if small.complete != 1 && small.stuck.is_none() {
            *counts.entry("too large").or_default() += 1;
            continue;
        }
        let fit = agreement::decide(&protocol, &narrowing, TIME)
            .and_then(|decision| fits(&decision.verdict, &small));
        match fit {
            Ok(word) => *counts.entry(word).or_default() += 1,
            Err(what) => failures.push(format!("seed {seed} at N = {value}: {what}\n{source}")),
        }
    }
    log(&format!(
        "results, {first} to {}: {counts:?}, {} disagree",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let of = |word| counts.get(word).copied().unwrap_or(0);
    // It would test nothing if all verdicts were the same.
    assert!(
        of("stuck in both") * 8 >= count && of("clear and proved") * 8 >= count,
        "{counts:?}"
    );
}
