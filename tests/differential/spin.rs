//! Random protocols at concrete values, searched by `explore` and, as Promela models, by SPIN: both
//! say the same about deadlock, and about operations whose effect is undefined.
//!
//! Needs `spin` and `gcc`; without them it says on stderr that nothing was compared. Seeds count
//! from 0 for each kind of protocol. `WARPLOCK_CASES` multiplies the number of cases,
//! `WARPLOCK_SEED` moves on to other ones, and `WARPLOCK_CASES_LOG` names a file that gets the
//! figures and every disagreement.

use crate::support::cut_templates;
use crate::support::edited;
use crate::support::generator;
use crate::support::interactions;
use crate::support::registrations;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::export::promela;
use warplock::protocol::Domain;
use warplock::protocol::Protocol;
use warplock::semantics::explore;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::input::Input;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::inputs::Inputs;
use warplock::semantics::instance::Instance;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;

use crate::support::campaign::log;
use crate::support::campaign::number;

/// Cases of each kind.
const CASES: u64 = 12;

/// States of one instance.
const MAX_STATES: u64 = 20_000;

/// Of this many inputs at the chosen values one is taken.
const INPUTS: usize = 40;

/// How many compare at once.
const WORKERS: u64 = 2;

const KINDS: &[&str] = &[
    "semaphores",
    "edited kernels",
    "interactions",
    "registrations",
];

/// What a search says: whether something hangs, and whether something undefined happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Verdict {
    hangs: bool,
    undefined: bool,
}

fn source(kind: &str, seed: u64) -> Option<String> {
    match kind {
        "semaphores" => Some(generator::protocol(seed)),
        "edited kernels" => edited::generate(&cut_templates::KERNELS, seed),
        "registrations" => Some(registrations::protocol(seed)),
        _ => Some(interactions::protocol(seed)),
    }
}

/// Small values of the parameters, and for them one of the first inputs.
fn instance(protocol: &Protocol, rng: &mut ChaCha8Rng) -> Option<(Input, Instance)> {
    let params: Vec<i64> = protocol
        .params
        .iter()
        .map(|param| match &param.domain {
            Domain::AtLeast(lo) => rng.random_range(*lo..=lo + 2),
            Domain::Range(lo, hi) => rng.random_range(*lo..=(*hi).min(lo + 2)),
            Domain::Set(all) => all[rng.random_range(0..all.len())],
        })
        .collect();
    unfold::check_params(protocol, &params).ok()?;
    let bounds = Bounds {
        max_initial: 2,
        limits: Limits {
            ops: 400,
            members: 24,
            cells: 200,
            work: 500_000,
        },
    };
    let all = Inputs::new(protocol, &params, &bounds).ok()?;
    let all: Vec<(Input, Instance)> = all.take(INPUTS).filter_map(Result::ok).collect();
    if all.is_empty() {
        return None;
    }
    let at = rng.random_range(0..all.len());
    all.into_iter().nth(at)
}

/// What the reference semantics say, unless there are too many states.
fn explored(instance: &Instance) -> Option<Verdict> {
    let options = Options {
        stop_at_stuck: false,
        max_states: MAX_STATES,
        ..Options::default()
    };
    let found = explore::explore(instance, &options);
    (found.end == SearchEnd::Exhausted).then(|| Verdict {
        hangs: found.stuck.is_some(),
        undefined: found.violation.is_some(),
    })
}

/// What SPIN says of a model. Each mistake is looked for by a run that ignores the other.
fn spin(model: &str, folder: &Path) -> Result<Verdict, String> {
    std::fs::write(folder.join("model.pml"), model).map_err(|e| e.to_string())?;
    done(folder, "spin", &["-a", "model.pml"])?;
    let flags = ["-O0", "-w", "-DSAFETY", "-DVECTORSZ=8192"];
    done(
        folder,
        "gcc",
        &[&flags[..], &["-o", "pan", "pan.c"]].concat(),
    )?;
    let pan = folder.join("pan");
    let ask = |ignored: &str, kind: &str| -> Result<bool, String> {
        let said = done(
            folder,
            &pan.to_string_lossy(),
            &[ignored, "-w16", "-m100000", "-n"],
        )?;
        let errors = said
            .split_once("errors: ")
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .ok_or_else(|| format!("no verdict:\n{said}"))?;
        let complete =
            !said.contains("max search depth too small") && !said.contains("out of memory");
        match (errors, said.contains(kind), complete) {
            ("0", false, true) => Ok(false),
            ("1", true, _) => Ok(true),
            _ => Err(format!("unexpected:\n{said}")),
        }
    };
    Ok(Verdict {
        hangs: ask("-A", "invalid end state (")?,
        undefined: ask("-E", "assertion violated")?,
    })
}

fn done(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(said)
    } else {
        Err(format!("{program} failed:\n{said}"))
    }
}

/// What one worker found.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<(&'static str, Verdict), u64>,
    skipped: BTreeMap<&'static str, u64>,
    failures: Vec<String>,
}

fn compare(kind: &'static str, seed: u64, folder: &Path, tally: &mut Tally) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let case = source(kind, seed).and_then(|source| {
        let protocol = text::load(source.as_bytes()).unwrap();
        let (input, instance) = instance(&protocol, &mut rng)?;
        let expected = explored(&instance)?;
        Some((source, protocol, input, instance, expected))
    });
    let Some((source, protocol, input, instance, expected)) = case else {
        *tally.skipped.entry(kind).or_default() += 1;
        return;
    };
    let model = promela::model(&protocol, &input, &instance);
    let found = model.map_err(|refused| refused.to_string());
    let found = found.and_then(|model| spin(&model, folder));
    if found == Ok(expected) {
        *tally.counts.entry((kind, expected)).or_default() += 1;
    } else {
        let failure = format!(
            "{kind}, seed {seed}, at {input:?}: explore says {expected:?}, SPIN {found:?}\n{source}"
        );
        log(&failure);
        tally.failures.push(failure);
    }
}

/// Whether the programs that a comparison needs are there.
fn available() -> bool {
    let there = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        output.is_ok_and(|output| output.status.success())
    };
    let both = there("spin", "-V") && there("gcc", "--version");
    if !both {
        let mut err = std::io::stderr();
        writeln!(err, "skipped: spin or gcc is not on the PATH").unwrap();
    }
    both
}

#[test]
fn spin_agrees_with_exhaustive_search() {
    if !available() {
        return;
    }
    let first = number("WARPLOCK_SEED", 0);
    let seeds = first..first + CASES * number("WARPLOCK_CASES", 1);
    let mut all = Tally::default();
    let workers: Vec<Tally> = thread::scope(|scope| {
        let work = |worker: u64| {
            let folder = tempfile::tempdir().unwrap();
            let mut tally = Tally::default();
            for seed in seeds.clone().filter(|seed| seed % WORKERS == worker) {
                for kind in KINDS {
                    compare(kind, seed, folder.path(), &mut tally);
                }
            }
            tally
        };
        let running: Vec<_> = (0..WORKERS).map(|n| scope.spawn(move || work(n))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for tally in workers {
        for (key, count) in tally.counts {
            *all.counts.entry(key).or_default() += count;
        }
        for (key, count) in tally.skipped {
            *all.skipped.entry(key).or_default() += count;
        }
        all.failures.extend(tally.failures);
    }
    log(&format!(
        "SPIN, seeds {seeds:?}: {:?}, not compared {:?}, {} disagreements",
        all.counts,
        all.skipped,
        all.failures.len()
    ));
    assert!(all.failures.is_empty(), "{}", all.failures.join("\n\n"));
    // It would test nothing if one verdict never came up.
    let of = |wanted: &dyn Fn(&Verdict) -> bool| -> u64 {
        let counts = all
            .counts
            .iter()
            .filter(|((_, verdict), _)| wanted(verdict));
        counts.map(|(_, count)| count).sum()
    };
    let (hang, undefined) = (of(&|v| v.hangs), of(&|v| v.undefined));
    let fine = of(&|v| !v.hangs && !v.undefined);
    assert!(
        hang > 0 && undefined > 0 && fine > 0,
        "{hang} hang, {undefined} are undefined, {fine} are fine"
    );
}
