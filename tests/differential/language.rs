//! Random protocols over the whole language: the verdict against exhaustive search.
//!
//! One test fixes every parameter: then the verdict and the search must say the same. The other
//! leaves them open: what is proved for all values must have no failure at small ones.
//!
//! `WARPLOCK_CASES` multiplies the number of cases, `WARPLOCK_SEED` moves on to other ones, and
//! `WARPLOCK_CASES_LOG` names a file that gets the figures and every disagreement.

use crate::support::agreement;
use crate::support::language;
use crate::support::registrations;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::agreement::Effort;
use crate::support::agreement::Small;
use crate::support::campaign::log;
use crate::support::campaign::number;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::proof;
use warplock::proof::Guess;
use warplock::protocol::Domain;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::decision::Verdict;

/// Cases of one run of each test.
const CASES: u64 = 60;

/// Time for a verdict at fixed values.
const PINNED_TIME: Duration = Duration::from_secs(1);

/// Time for the search of a proof, and for each obligation.
const PROOF_TIME: Duration = Duration::from_secs(2);

const EFFORT: Effort = Effort {
    radius: 3,
    states: 20_000,
    time: Duration::from_secs(2),
};

/// What is proved is searched further out.
const FURTHER: Effort = Effort {
    radius: 6,
    states: 20_000,
    time: Duration::from_secs(3),
};

fn seeds() -> std::ops::Range<u64> {
    let first = number("WARPLOCK_SEED", 0);
    first..first + CASES * number("WARPLOCK_CASES", 1)
}

/// A value of every parameter, near the least one.
fn pinned(protocol: &Protocol, rng: &mut ChaCha8Rng) -> Narrowing {
    let mut narrowing = Narrowing::default();
    for param in &protocol.params {
        let value = match &param.domain {
            Domain::AtLeast(lo) => lo + rng.random_range(0..3),
            Domain::Range(lo, hi) => rng.random_range(*lo..=*hi),
            Domain::Set(all) => all[rng.random_range(0..all.len())],
        };
        narrowing.set.insert(param.name.clone(), value);
    }
    narrowing
}

/// How a verdict at fixed values and the complete search of them fit: a word for the count, or
/// what is wrong.
pub(super) fn fits(verdict: &Verdict, small: &Small) -> Result<&'static str, String> {
    let word = verdict.word();
    match (verdict, &small.stuck, &small.undefined) {
        (Verdict::Refuted(_), Some(_), _) => Ok("stuck in both"),
        (Verdict::Proved(_), None, None) => Ok("clear and proved"),
        (Verdict::Bounded { .. }, None, None) => Ok("clear and bounded"),
        (Verdict::Unknown { .. }, None, Some(_)) => Ok("undefined in both"),
        (Verdict::Unknown { .. }, _, _) => Ok("unknown"),
        (_, stuck, undefined) => Err(format!(
            "{word}, but search says stuck: {stuck:?}, undefined: {undefined:?}"
        )),
    }
}

#[test]
fn verdicts_at_fixed_values_are_those_of_the_search() {
    verdicts_fit(&|seed| {
        let case = language::protocol(seed)?;
        Some((case.source, case.edits))
    });
}

#[test]
fn verdicts_of_warps_that_register_again_are_those_of_the_search() {
    verdicts_fit(&|seed| Some((registrations::protocol(seed), Vec::new())));
}

/// Compares the verdicts on the protocols of seeds, each with what was changed in it.
fn verdicts_fit(generate: &dyn Fn(u64) -> Option<(String, Vec<String>)>) {
    let seeds = seeds();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    for seed in seeds.clone() {
        let Some((source, edits)) = generate(seed) else {
            *counts.entry("no text").or_default() += 1;
            continue;
        };
        let mut protocol = text::load(source.as_bytes()).unwrap();
        let narrowing = pinned(&protocol, &mut ChaCha8Rng::seed_from_u64(seed));
        text::narrow(&mut protocol, &narrowing).unwrap();
        let small = agreement::small(
            &protocol,
            Effort {
                radius: 0,
                ..EFFORT
            },
        );
        let found_all = small.complete == 1 || small.stuck.is_some();
        if !found_all {
            *counts.entry("too large").or_default() += 1;
            continue;
        }
        let fit = agreement::decide(&protocol, &narrowing, PINNED_TIME)
            .and_then(|decision| fits(&decision.verdict, &small));
        match fit {
            Ok(word) => *counts.entry(word).or_default() += 1,
            Err(what) => {
                let failure = format!(
                    "seed {seed} at {:?}: {what}\n{edits:#?}\n{source}",
                    narrowing.set
                );
                log(&failure);
                failures.push(failure);
            }
        }
    }
    log(&format!(
        "fixed values, seeds {seeds:?}: {counts:?}, {} disagree",
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let of = |word| counts.get(word).copied().unwrap_or(0);
    // It would test nothing if all verdicts were the same, or none were reached.
    let clear = of("clear and proved") + of("clear and bounded");
    assert!(
        of("stuck in both") * 8 >= CASES && clear * 8 >= CASES,
        "{counts:?}"
    );
    assert!(of("unknown") * 10 <= seeds.end - seeds.start, "{counts:?}");
}

/// Whether one of the rules proves it.
fn proved(source: &str, protocol: &Protocol) -> bool {
    proof::layers(protocol).into_iter().any(|layer| {
        let found = proof::search(protocol, layer, PROOF_TIME, None, &|_| {});
        let (Guess::Found(argument) | Guess::Fitting(argument)) = found else {
            return false;
        };
        let issued = manifest::issue(source, &Narrowing::default(), "deadlock", argument);
        let Ok((certificate, _)) = issued else {
            return false;
        };
        match manifest::check(&certificate, &Solver::BuiltIn, PROOF_TIME, &|_| {}) {
            Ok(_) => true,
            Err(Rejection::Open { .. }) => false,
            Err(other) => panic!("{other}\n{source}"),
        }
    })
}

#[test]
fn what_is_proved_for_all_values_has_no_small_failure() {
    let seeds = seeds();
    let (mut texts, mut proofs, mut bad, mut instances) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in seeds.clone() {
        let Some(case) = language::protocol(seed) else {
            continue;
        };
        let protocol = text::load(case.source.as_bytes()).unwrap();
        texts += 1;
        let mut small = agreement::small(&protocol, EFFORT);
        bad += usize::from(small.stuck.is_some() || small.undefined.is_some());
        if proved(&case.source, &protocol) {
            proofs += 1;
            if small.stuck.is_none() && small.undefined.is_none() {
                small = agreement::small(&protocol, FURTHER);
            }
            if small.stuck.is_some() || small.undefined.is_some() {
                let failure = format!(
                    "seed {seed} is proved, but stuck: {:?}, undefined: {:?}\n{:#?}\n{}",
                    small.stuck, small.undefined, case.edits, case.source
                );
                log(&failure);
                failures.push(failure);
            }
        }
        instances += small.complete;
    }
    log(&format!(
        "open values, seeds {seeds:?}: {texts} protocols, {bad} fail at small values, {proofs} \
         proved, {instances} instances searched completely, {} wrong proofs",
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing failed, or nothing was proved.
    assert!(
        proofs * 10 >= texts && bad * 5 >= texts,
        "{proofs} {bad} {texts}"
    );
}

/// A barrier that expects nobody is undefined, whether or not somebody comes to it.
#[test]
fn a_barrier_without_arrivals_is_no_bound() {
    let source = "protocol zero
param N in 0..=0
mbarrier empty { arrivals: N }
role load {
    for i in 0..N {
        wait empty 1
    }
}
";
    let protocol = text::load(source.as_bytes()).unwrap();
    let decision = agreement::decide(&protocol, &Narrowing::default(), PINNED_TIME).unwrap();
    let Verdict::Unknown { reason, .. } = &decision.verdict else {
        panic!("{}", decision.verdict.word());
    };
    assert_eq!(
        reason,
        "not well defined at N = 0: arrival count 0: it must be at least 1"
    );
}

/// An input at which an assumption is undefined is no input to pass over.
#[test]
fn an_assumption_that_is_undefined_somewhere_is_no_bound() {
    let deadlock = |assumptions: &str, domain: &str| {
        let source = format!(
            "protocol divided\nparam M in {domain}\n{assumptions}\nmbarrier full {{ arrivals: 1 }}\n\
             role a {{\n    for i in 0..M {{\n        arrive full\n        wait full i % 2\n    }}\n}}\n"
        );
        let protocol = text::load(source.as_bytes()).unwrap();
        let decision = agreement::decide(&protocol, &Narrowing::default(), PINNED_TIME).unwrap();
        match decision.verdict {
            Verdict::Unknown { reason, .. } => reason,
            verdict => verdict.word().to_owned(),
        }
    };
    let undefined = "not well defined at M = 0: division by 0: a divisor must be positive";
    for domain in ["0..=5", "0.."] {
        assert_eq!(deadlock("assume 10 / M >= 0", domain), undefined);
        // What comes before says whether it is evaluated.
        assert_eq!(deadlock("assume M == 0 || 10 / M >= 0", domain), "PROVED");
        assert_eq!(
            deadlock("assume M > 0\nassume 10 / M >= 0", domain),
            "PROVED"
        );
    }
}
