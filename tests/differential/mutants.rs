//! Mutation kill: every protocol of the library that is proved is changed in one place, decided
//! again, and the verdict compared with exhaustive search at small values.
//!
//! The test takes a few mutants of a few files. All files, and the table in `docs/mutants.md`:
//!
//! ```sh
//! WARPLOCK_WRITE_DOCS=1 cargo test --release --test differential mutants:: -- --ignored
//! ```
//!
//! `WARPLOCK_FILE` takes only the files with that in their path and writes no table,
//! `WARPLOCK_CASES` multiplies the number of mutants per protocol, `WARPLOCK_SEED` chooses others,
//! and `WARPLOCK_CASES_LOG` names a file that gets a line per mutant and the text of every mutant
//! whose verdict is wrong. It is a test and not a command, since it needs nothing but the library
//! and the same comparison as the other differential tests.

use crate::support::agreement;
use crate::support::library::protocols;
use crate::support::mutants;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::agreement::Effort;
use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::mutants::Mutant;
use itertools::Itertools;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::decision::Verdict;

/// Mutants of each expectation in the full run.
const MUTANTS: usize = 24;

/// What becomes of a mutant, in the order of the table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Refuted,
    Undefined,
    Proved,
    Bounded,
    Unknown,
}

/// An expectation `deadlock: proved` of the library.
struct Subject {
    file: String,
    source: String,
    narrowing: Narrowing,
}

/// A mutant that was decided.
struct Decided {
    kind: &'static str,
    change: String,
    fate: Fate,
    /// Parameter values that were searched completely.
    complete: usize,
    wrong: Option<String>,
}

fn subjects() -> Vec<Subject> {
    let mut all = Vec::new();
    for (name, source) in protocols() {
        let protocol = text::load(source.as_bytes()).unwrap();
        for expectation in &protocol.expectations {
            if (expectation.property.as_str(), expectation.verdict.as_str())
                == ("deadlock", "proved")
            {
                let assume = expectation.assuming.iter().map(|a| a.text.clone());
                all.push(Subject {
                    file: name.clone(),
                    source: source.clone(),
                    narrowing: Narrowing {
                        assume: assume.collect(),
                        ..Narrowing::default()
                    },
                });
            }
        }
    }
    all
}

/// So many mutants of a subject, as evenly over the kinds of changes as there are any.
fn sample(subject: &Subject, count: usize, seed: u64) -> Vec<Mutant> {
    let lines = mutants::lines(&subject.source);
    let each = (0..lines.len()).flat_map(|at| mutants::of_line(&lines, at));
    let mut all: Vec<Mutant> = each.unique_by(|mutant| mutant.source.clone()).collect();
    all.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, Mutant)> = all
        .into_iter()
        .map(|mutant| {
            let rank = seen.entry(mutant.kind).or_default();
            *rank += 1;
            (*rank, mutant)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(count);
    ranked.into_iter().map(|(_, mutant)| mutant).collect()
}

fn decided(
    subject: &Subject,
    mutant: &Mutant,
    effort: Effort,
    timeout: Duration,
) -> Option<Decided> {
    let mut protocol = text::load(mutant.source.as_bytes()).ok()?;
    // A changed `let` may take the meaning from an assumption.
    text::narrow(&mut protocol, &subject.narrowing).ok()?;
    let small = agreement::small(&protocol, effort);
    let decision = agreement::decide(&protocol, &subject.narrowing, timeout);
    let (fate, wrong) = match &decision {
        Err(error) => (Fate::Unknown, Some(error.clone())),
        Ok(decision) => (
            match &decision.verdict {
                Verdict::Proved(_) => Fate::Proved,
                Verdict::Refuted(_) => Fate::Refuted,
                Verdict::Bounded { .. } => Fate::Bounded,
                Verdict::Unknown { reason, .. } => {
                    let undefined = ["undefined", "not well defined"];
                    match undefined.iter().any(|word| reason.contains(word)) {
                        true => Fate::Undefined,
                        false => Fate::Unknown,
                    }
                }
            },
            agreement::contradiction(&protocol, decision, &small, effort),
        ),
    };
    Some(Decided {
        kind: mutant.kind,
        change: mutant.change.clone(),
        fate,
        complete: small.complete,
        wrong,
    })
}

/// Decides mutants of one subject, and says so in the log.
fn of_subject(subject: &Subject, count: usize, effort: Effort, timeout: Duration) -> Vec<Decided> {
    let mut all = Vec::new();
    for mutant in sample(subject, count, number("WARPLOCK_SEED", 0)) {
        let Some(decided) = decided(subject, &mutant, effort, timeout) else {
            continue;
        };
        log(&format!(
            "{}\t{:?}\t{}\t{}\t{}",
            subject.file, decided.fate, decided.kind, decided.complete, decided.change
        ));
        if let Some(wrong) = &decided.wrong {
            log(&format!(
                "WRONG {wrong}\n{:?}\n{}",
                subject.narrowing, mutant.source
            ));
        }
        all.push(decided);
    }
    all
}

fn wrong(file: &str, all: &[Decided]) -> Vec<String> {
    let wrong = |d: &Decided| {
        let what = d.wrong.as_ref()?;
        Some(format!("{file}: {}: {what}", d.change))
    };
    all.iter().filter_map(wrong).collect()
}

#[test]
fn some_mutants_get_the_verdict_that_the_search_gives() {
    let files = [
        "block_sparse/dense.wlk",
        "counter/cluster_counter.wlk",
        "known_bugs/zero_tile_mainloop_fixed.wlk",
        "mbarrier/jacobi.wlk",
        "named/double_buffer.wlk",
    ];
    let effort = Effort {
        radius: 2,
        states: 3_000,
        time: Duration::from_secs(1),
    };
    let (mut total, mut killed, mut failures) = (0, 0, Vec::new());
    for subject in subjects() {
        if files.contains(&subject.file.as_str()) {
            let all = of_subject(&subject, 5, effort, Duration::from_secs(3));
            failures.extend(wrong(&subject.file, &all));
            total += all.len();
            let dead = |d: &&Decided| matches!(d.fate, Fate::Refuted | Fate::Undefined);
            killed += all.iter().filter(dead).count();
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // It would test nothing if the changes did not matter.
    assert!(total >= 20 && killed * 3 >= total, "{killed} of {total}");
}

#[test]
#[ignore = "takes most of an hour in a release build"]
fn every_mutant_gets_the_verdict_that_the_search_gives() {
    let effort = Effort {
        radius: 3,
        states: 20_000,
        time: Duration::from_secs(2),
    };
    let count = MUTANTS * usize::try_from(number("WARPLOCK_CASES", 1)).unwrap();
    let mut subjects = subjects();
    let only = std::env::var("WARPLOCK_FILE").ok();
    subjects.retain(|it| only.as_ref().is_none_or(|name| it.file.contains(name)));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..number("WARPLOCK_JOBS", 2) {
            scope.spawn(|| {
                while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let all = of_subject(subject, count, effort, Duration::from_secs(5));
                    let mut done = done.lock().unwrap();
                    done.entry(subject.file.clone())
                        .or_insert_with(Vec::new)
                        .extend(all);
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    let failures: Vec<String> = done
        .iter()
        .flat_map(|(file, all)| wrong(file, all))
        .collect();
    if only.is_none() && std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        write_table(&table(&done));
    }
    let total: usize = done.values().map(Vec::len).sum();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(only.is_some() || total >= 1_000, "only {total} mutants");
}

const COLUMNS: [Fate; 5] = [
    Fate::Refuted,
    Fate::Undefined,
    Fate::Proved,
    Fate::Bounded,
    Fate::Unknown,
];

fn table(done: &BTreeMap<String, Vec<Decided>>) -> String {
    let mut out = String::from(
        "| protocol | mutants | refuted | undefined | proved | bounded | unknown | wrong |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let row = |out: &mut String, name: &str, all: &[&Decided]| {
        let of = |fate| all.iter().filter(|d| d.fate == fate).count().to_string();
        let fates: Vec<String> = COLUMNS.into_iter().map(of).collect();
        let wrong = all.iter().filter(|d| d.wrong.is_some()).count();
        let fates = fates.join(" | ");
        writeln!(out, "| {name} | {} | {fates} | {wrong} |", all.len()).unwrap();
    };
    for (file, all) in done {
        row(&mut out, file, &all.iter().collect::<Vec<_>>());
    }
    let all: Vec<&Decided> = done.values().flatten().collect();
    row(&mut out, "all", &all);
    let kinds: BTreeMap<&str, Vec<&Decided>> =
        all.iter().fold(BTreeMap::new(), |mut kinds, decided| {
            kinds
                .entry(decided.kind)
                .or_insert_with(Vec::new)
                .push(*decided);
            kinds
        });
    out.push_str(
        "\n| change | mutants | refuted | undefined | proved | bounded | unknown | wrong |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (kind, all) in kinds {
        row(&mut out, kind, &all);
    }
    out
}

/// Puts the table between its marks in the page.
fn write_table(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mutants.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- table -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of table -->").unwrap();
    let page = format!("{before}<!-- table -->\n{table}<!-- end of table -->{after}");
    fs::write(path, page).unwrap();
}
