//! Rewritings that leave the meaning as it is leave the verdict as it is: renaming, another order
//! of declarations, a role in two parts, a loop with its first round before it, and twice as many
//! members with twice the counts. Nor does it matter to a proof in which of several spellings a loop is written, or whether there
//! is a parameter that nobody uses. The proof rules may be stopped by a form that they do not know: a
//! role in two parts or a peeled round may cost a proof, but never make one verdict the other.
//!
//! `WARPLOCK_CASES` multiplies the number of random protocols, `WARPLOCK_SEED` moves on to others,
//! and `WARPLOCK_CASES_LOG` names a file that gets the figures.

use crate::support::agreement;
use crate::support::language;
use crate::support::library::protocols;
use crate::support::mutants;
use crate::support::rewrite;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use warplock::certificate::normal;
use warplock::proof::sample;
use warplock::semantics::instance::CellId;
use warplock::semantics::instance::Instance;
use warplock::semantics::instance::OpKind;
use warplock::semantics::unfold;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::decision::Verdict;

use crate::support::campaign::log;
use crate::support::campaign::number;

/// The library's protocols that take part: fast ones of every kind.
const FILES: [&str; 18] = [
    "block_sparse/dense.wlk",
    "block_sparse/lock_n_block.wlk",
    "block_sparse/lock_rank.wlk",
    "checklist/arrival_count.wlk",
    "checklist/k_minus_one_fixed.wlk",
    "checklist/start_phases_fixed.wlk",
    "counter/cluster_counter.wlk",
    "counter/cooperative_grid.wlk",
    "counter/grid_barrier.wlk",
    "counter/grid_barrier_reset.wlk",
    "known_bugs/named_count.wlk",
    "known_bugs/named_count_fixed.wlk",
    "known_bugs/zero_tile_mainloop_fixed.wlk",
    "hazards/jacobi_halo_fixed.wlk",
    "mbarrier/jacobi.wlk",
    "mbarrier/jacobi_fixed_phase.wlk",
    "named/double_buffer.wlk",
    "named/third_participant.wlk",
];

/// Protocols with proofs by every rule for loops, which no spelling may cost.
const SPELLED: [&str; 4] = [
    "checklist/start_phases_fixed.wlk",
    "known_bugs/phantom_tile_fixed.wlk",
    "named/producer_consumer.wlk",
    "pipeline/ring_any_stages.wlk",
];

/// A verdict, with the least values where it is known that they are the least.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    word: &'static str,
    least: Option<Vec<i64>>,
}

fn said(source: &str, timeout: Duration) -> Said {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|findings| {
        panic!("{source}\n{}", findings[0].message);
    });
    let decision = agreement::decide(&protocol, &Narrowing::default(), timeout)
        .unwrap_or_else(|error| panic!("{error}\n{source}"));
    let least = match &decision.verdict {
        Verdict::Refuted(refutation) if refutation.smallest.starts_with("smallest") => {
            Some(refutation.input.params.clone())
        }
        _ => None,
    };
    Said {
        word: decision.verdict.word(),
        least,
    }
}

#[test]
fn verdicts_of_the_library_survive_rewriting() {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in FILES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("encodings")
            .join(file);
        let lines = mutants::lines(&fs::read_to_string(path).unwrap());
        let source = lines.join("\n") + "\n";
        let timeout = Duration::from_secs(60);
        let before = said(&source, timeout);
        let mut all = rewrite::all(&lines);
        all.extend(rewrite::doubled(&lines).map(|text| ("doubled", text)));
        for (kind, rewritten) in all {
            let after = said(&rewritten, timeout);
            let (all, kept) = kinds.entry(kind).or_default();
            *all += 1;
            *kept += usize::from(after.word == before.word);
            let allowed = match kind {
                "renamed" | "reordered" => after == before,
                // Twice as many members may hang at other values.
                "doubled" => after.word == before.word,
                _ => after == before || (before.word == "PROVED" && after.word != "REFUTED"),
            };
            assert!(
                allowed,
                "{file} {kind}: {before:?} becomes {after:?}\n{rewritten}"
            );
        }
    }
    log(&format!(
        "library, rewritten and with the same verdict: {kinds:?}"
    ));
    let of = |kind| kinds.get(kind).copied().unwrap_or_default();
    let files = FILES.len();
    assert_eq!(of("renamed"), (files, files));
    assert_eq!(of("reordered"), (files, files));
    assert_eq!(of("role split"), (6, 6));
    assert_eq!(of("round peeled"), (13, 13));
    assert_eq!(of("doubled"), (9, 9));
}

fn encoding(file: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings");
    mutants::lines(&fs::read_to_string(folder.join(file)).unwrap())
}

#[test]
fn a_spelling_costs_no_proof() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in SPELLED {
        for (kind, rewritten) in rewrite::spelled(&encoding(file)) {
            let after = said(&rewritten, Duration::from_secs(60));
            assert_eq!(after.word, "PROVED", "{file} {kind}\n{rewritten}");
            *kinds.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    assert!(
        kinds.values().all(|files| *files == SPELLED.len()),
        "{kinds:?}"
    );
}

/// Files with a parameter that says how often loops go around.
const ROUNDS: [(&str, &str); 2] = [("mbarrier/jacobi.wlk", "N"), ("pipeline/ring.wlk", "N")];

/// A number of iterations that is too large to follow one after the other costs no proof.
#[test]
fn a_fixed_number_of_iterations_costs_no_proof() {
    for (file, param) in ROUNDS {
        let mut lines = encoding(file);
        let declared = format!("param {param} in ");
        let line = lines.iter_mut().find(|line| line.starts_with(&declared));
        *line.unwrap() = format!("param {param} in {{300}}");
        let text = lines.join("\n");
        let after = said(&text, Duration::from_secs(60));
        assert_eq!(after.word, "PROVED", "{file}\n{text}");
    }
}

/// What every member does, one operation after the other.
fn done(instance: &Instance) -> Vec<Vec<(CellId, OpKind)>> {
    let members = instance.members.iter();
    let ops = members.map(|member| member.ops.iter().map(|op| (op.cell, op.kind)).collect());
    ops.collect()
}

/// The normal form does what the text does, for every protocol of the library and every way of writing it.
#[test]
fn a_normal_form_does_what_the_text_does() {
    let (mut samples, mut rewritten) = (0, 0);
    let mut sources = Vec::new();
    for (_, source) in protocols() {
        let lines = mutants::lines(&source);
        sources.push(source);
        let spelled = rewrite::spelled(&lines)
            .into_iter()
            .chain(rewrite::all(&lines));
        sources.extend(spelled.map(|(_, text)| text));
    }
    for source in sources {
        // Expectations name parameters, and a variable cannot be declared twice.
        let Ok(protocol) = text::load(source.as_bytes()) else {
            continue;
        };
        let whole = normal::normal(&protocol);
        assert_eq!(normal::normal(&whole), whole, "{source}");
        let normal = normal::of_programs(&protocol);
        assert_eq!(normal::of_programs(&normal), normal, "{source}");
        rewritten += usize::from(normal != protocol);
        for (input, instance) in sample::instances(&protocol, 4, 0) {
            let other = unfold::instantiate(&normal, &input).unwrap();
            assert_eq!(done(&other), done(&instance), "{input:?}\n{source}");
            samples += 1;
        }
    }
    log(&format!(
        "{samples} samples do the same in normal form, {rewritten} texts are not in it"
    ));
    assert!(samples > 2_000 && rewritten > 300, "{samples} {rewritten}");
}

#[test]
fn verdicts_of_random_protocols_survive_rewriting() {
    let first = number("WARPLOCK_SEED", 0);
    let count = 12 * number("WARPLOCK_CASES", 1);
    let timeout = Duration::from_secs(2);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(case) = language::protocol(seed) else {
            continue;
        };
        let lines = mutants::lines(&case.source);
        let before = said(&case.source, timeout);
        for (kind, rewritten) in rewrite::all(&lines) {
            if text::load(rewritten.as_bytes()).is_err() {
                // A local variable that is declared in the loop cannot be declared twice.
                continue;
            }
            let after = said(&rewritten, timeout);
            let pair = format!("{kind}: {} -> {}", before.word, after.word);
            *counts.entry(pair).or_default() += 1;
            // What is too hard for one form may not be for the other; a run is a run in both.
            let hangs = |said: &Said| said.word == "REFUTED";
            let flipped = hangs(&before) != hangs(&after);
            let elsewhere = match (&before.least, &after.least) {
                (Some(before), Some(after)) => before != after,
                _ => false,
            };
            if flipped || elsewhere {
                let edits = &case.edits;
                let failure = format!(
                    "seed {seed} {kind}: {before:?} becomes {after:?}\n{edits:?}\n{}\n{rewritten}",
                    case.source
                );
                log(&failure);
                failures.push(failure);
            }
        }
    }
    log(&format!(
        "random, seeds {first}..{}: {counts:?}, {} differ",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let of = |word: &str| counts.keys().filter(|pair| pair.ends_with(word)).count();
    assert!(of("-> PROVED") > 0 && of("-> REFUTED") > 0, "{counts:?}");
}
