//! Runs of random protocols as a CUDA program, to be held against a GPU.
//!
//! `runs_for_a_gpu` writes the program to the file that `WARPLOCK_HARDWARE` names; docs/crosschecks.md says how it is run
//! and what came of it. What needs no GPU is checked here: each run that can be played is in the program, and ends where
//! the reference semantics say.

use std::fs;

use warplock::repro::cuda;
use warplock::repro::cuda::Played;
use warplock::repro::cuda::Unplayable;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::inputs::Inputs;
use warplock::semantics::instance::CellStart;
use warplock::semantics::instance::Instance;
use warplock::semantics::simulate::RandomScheduler;
use warplock::semantics::simulate::Run;
use warplock::semantics::simulate::RunEnd;
use warplock::semantics::simulate::simulate;
use warplock::semantics::unfold::Limits;
use warplock::text;

use super::second_explorer::random;
use super::second_explorer::values;
use crate::support::campaign::number;
use crate::support::registrations;

/// Actions of a run.
const ACTIONS: usize = 150;

struct Case {
    name: String,
    source: String,
    instance: Instance,
    run: Run,
}

impl Case {
    fn played(&self) -> Played<'_> {
        Played {
            name: &self.name,
            source: &self.source,
            instance: &self.instance,
            schedule: &self.run.trace,
        }
    }
}

/// A run of the protocol of a seed that comes to its end.
fn case(seed: u64) -> Option<Case> {
    // Those in which warps count several times at a named barrier are of a generator of their own.
    let source = match seed % 4 {
        0 => registrations::protocol(seed),
        _ => random(seed)?,
    };
    let protocol = text::load(source.as_bytes()).ok()?;
    let bounds = Bounds {
        max_initial: 1,
        limits: Limits {
            ops: 300,
            members: 40,
            cells: 100,
            work: 50_000,
        },
    };
    let params = values(&protocol, seed);
    let (_, instance) = Inputs::new(&protocol, &params, &bounds)
        .ok()?
        .next()?
        .ok()?;
    // Not initialised, an mbarrier is undefined in hardware.
    let excluded = |start: &CellStart| matches!(start, CellStart::Uninitialized(_));
    if instance.cells.iter().any(excluded) || instance.branches() {
        return None;
    }
    let run = simulate(&instance, &mut RandomScheduler::new(seed), ACTIONS);
    let end = match run.end {
        RunEnd::Finished => "finishes",
        RunEnd::Stuck => "gets stuck",
        _ => return None,
    };
    let name = format!("seed {seed}, parameters {params:?}: {end}");
    Some(Case {
        name,
        source,
        instance,
        run,
    })
}

/// The cases that can be played, from this seed on.
fn cases(first: u64, many: usize) -> Vec<Case> {
    let playable = |case: &Case| cuda::program(&[case.played()], &[]).is_ok();
    let seeds = (first..first + 40 * many as u64).filter_map(case);
    seeds.filter(playable).take(many).collect()
}

#[test]
fn every_run_is_in_the_program_with_its_end() {
    let cases = cases(number("WARPLOCK_SEED", 0), 60);
    assert_eq!(cases.len(), 60);
    let played: Vec<Played<'_>> = cases.iter().map(Case::played).collect();
    let program = cuda::program(&played, &[]).unwrap();
    let rows = |table: &str| {
        let (_, rest) = program.split_once(table).unwrap();
        let (rows, _) = rest.split_once("\n};").unwrap();
        rows.lines().skip(1).map(str::trim).collect::<Vec<&str>>()
    };
    assert_eq!(rows(" RUNS[] = {").len(), 60);
    let stuck = cases.iter().filter(|case| case.run.end == RunEnd::Stuck);
    assert!((5..=55).contains(&stuck.count()));
    let members = rows(" MEMBERS[] = {");
    let places = cases.iter().flat_map(|case| &case.run.state.counters);
    for (row, place) in members.iter().zip(places) {
        // Whoever has not started has no place.
        let place = i64::from(place.cast_signed());
        assert!(row.ends_with(&format!(", {place}}},")), "{row} {place}");
    }
    // Each action of a run is one operation's or lands something.
    let actions = cases.iter().map(|case| case.run.trace.len()).sum::<usize>();
    let turn = |row: &&&str| !row.contains(", -1, ");
    let operations = rows(" OPS[] = {").iter().filter(turn).count();
    assert_eq!(operations + rows(" LANDINGS[] = {").len(), actions);
}

#[test]
fn what_has_no_instruction_is_refused() {
    let refused = |source: &str| {
        let protocol = text::load(source.as_bytes()).unwrap();
        let bounds = Bounds::default();
        let item = Inputs::new(&protocol, &[], &bounds).unwrap().next();
        let (_, instance) = item.unwrap().unwrap();
        let run = simulate(&instance, &mut RandomScheduler::new(0), ACTIONS);
        let played = Played {
            name: "run",
            source,
            instance: &instance,
            schedule: &run.trace,
        };
        cuda::program(&[played], &[]).unwrap_err()
    };
    let split = "protocol p barrier b { arrivals: 1 } role r { arrive b wait b }";
    assert_eq!(
        refused(split),
        Unplayable::NoInstruction("a split-phase barrier")
    );
    let warps = "protocol p named b role r[i in 0..40] { sync b 1280 }";
    let expected = Unplayable::Members {
        members: 40,
        most: 31,
        each: "warp",
    };
    assert_eq!(refused(warps), expected);
    let bytes = "protocol p mbarrier b { arrivals: 1 } role r { expect_tx b 1048576 }";
    assert_eq!(refused(bytes), Unplayable::Count(1 << 20));
    let named = "protocol p named b[17] role r { sync b[0] 32 }";
    assert_eq!(refused(named), Unplayable::Named(17));
}

#[test]
#[ignore = "writes a program for a GPU"]
fn runs_for_a_gpu() {
    let path = std::env::var("WARPLOCK_HARDWARE").expect("the file to write");
    let many = usize::try_from(number("WARPLOCK_CASES", 500)).unwrap();
    let cases = cases(number("WARPLOCK_SEED", 0), many);
    let played: Vec<Played<'_>> = cases.iter().map(Case::played).collect();
    fs::write(path, cuda::program(&played, &[]).unwrap()).unwrap();
}
