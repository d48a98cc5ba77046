//! Random protocols as Horn clauses, decided by Z3's Spacer: what it calls safe hangs at no small value.
//!
//! Seeds count from 0. `WARPLOCK_CASES` multiplies the number of cases, `WARPLOCK_SEED` moves on to
//! other ones, and `WARPLOCK_CASES_LOG` names a file that gets the figures and every contradiction.

use crate::support::cut_templates;
use crate::support::edited;
use crate::support::interactions;
use std::collections::BTreeMap;
use std::time::Duration;

use warplock::export::horn;
use warplock::protocol::Domain;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::explore_all;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;
use z3::SatResult;

use crate::support::campaign::log;
use crate::support::campaign::number;

/// Cases of one run, of each kind.
const CASES: u64 = 25;

/// Time for Spacer.
const LIMIT: Duration = Duration::from_secs(2);

/// What Spacer says of some clauses.
fn spacer(clauses: &str, limit: Duration) -> SatResult {
    let clauses = clauses.to_owned();
    z3::with_z3_config(&z3::Config::new(), move || {
        let solver = z3::Solver::new_for_logic("HORN").unwrap();
        let mut params = z3::Params::new();
        params.set_u32("timeout", limit.as_millis() as u32);
        solver.set_params(&params);
        solver.from_string(clauses);
        solver.check()
    })
}

/// What is wrong at some small parameter values.
fn wrong(protocol: &Protocol) -> Option<String> {
    let mut all = vec![Vec::new()];
    for param in &protocol.params {
        let values: Vec<i64> = match &param.domain {
            Domain::AtLeast(lo) => (*lo..=lo + 2).collect(),
            Domain::Range(lo, hi) => (*lo..=(*hi).min(lo + 2)).collect(),
            Domain::Set(values) => values.clone(),
        };
        let longer = |chosen: Vec<i64>| {
            values.clone().into_iter().map(move |value| {
                let mut chosen = chosen.clone();
                chosen.push(value);
                chosen
            })
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    let bounds = Bounds {
        max_initial: 0,
        limits: Limits {
            ops: 500,
            members: 24,
            cells: 200,
            work: 500_000,
        },
    };
    let options = Options {
        max_states: 5_000,
        ..Options::default()
    };
    all.into_iter().find_map(|params| {
        unfold::check_params(protocol, &params).ok()?;
        match explore_all(protocol, &params, &bounds, &options) {
            Ok(found) if found.stuck.is_some() => Some(format!("stuck at {params:?}")),
            Ok(found) => found
                .violation
                .map(|(_, _, violation)| format!("at {params:?}: {violation}")),
            Err(error) => {
                let text = error.to_string();
                let large = text.contains("are needed") || text.contains("work");
                (!large).then(|| format!("cannot run at {params:?}: {text}"))
            }
        }
    })
}

#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, u64>,
    failures: Vec<String>,
}

impl Tally {
    fn compare(&mut self, name: &str, protocol: &Protocol) {
        let clauses = match horn::clauses(protocol, None) {
            Ok(clauses) => clauses,
            Err(_) => return self.count("refused"),
        };
        let wrong = wrong(protocol);
        let raw = spacer(&clauses, LIMIT);
        let mut fail = |what: String| {
            let failure = format!("{name}: {what}\n{}", protocol.source);
            log(&failure);
            self.failures.push(failure);
        };
        if let (SatResult::Sat, Some(what)) = (raw, &wrong) {
            fail(format!("Spacer calls it safe: {what}"));
        }
        let right = if wrong.is_some() { "wrong" } else { "fine" };
        self.count(&format!("{right}, {raw:?}"));
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    fn of(&self, wanted: &str) -> u64 {
        let counts = self.counts.iter().filter(|(what, _)| what.contains(wanted));
        counts.map(|(_, count)| count).sum()
    }

    fn end(&self, name: &str) {
        log(&format!(
            "{name}: {:?}, {} contradictions",
            self.counts,
            self.failures.len()
        ));
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n\n"));
        // It would test nothing if one answer never came up.
        for answer in ["wrong, Unsat", "fine"] {
            assert!(self.of(answer) > 0, "{answer}: {:?}", self.counts);
        }
    }
}

#[test]
fn spacer_contradicts_nobody_on_random_protocols() {
    // From here on both answers come up soon.
    let first = number("WARPLOCK_SEED", 60);
    let seeds = first..first + CASES * number("WARPLOCK_CASES", 1);
    let mut tally = Tally::default();
    for seed in seeds.clone() {
        let texts = [
            edited::generate(&cut_templates::KERNELS, seed),
            Some(interactions::protocol(seed)),
        ];
        for source in texts.into_iter().flatten() {
            let protocol = text::load(source.as_bytes()).unwrap();
            tally.compare(&format!("seed {seed}"), &protocol);
        }
    }
    tally.end(&format!("Spacer, seeds {seeds:?}"));
}

/// Two threads hand over one slot: Spacer finds facts of its own, for every trip count.
#[test]
fn a_handover_for_all_trip_counts() {
    let source = |waits: &str| {
        format!(
            "protocol handover
param N in 0..
mbarrier full {{ arrivals: 1 }}
mbarrier empty {{ arrivals: 1 }}
role load {{
    var p = producer(1)
    for i in 0..N {{
        wait empty p.phase
        arrive full
        advance p
    }}
}}
role math {{
    var c = consumer(1)
    for i in 0..N {{
        wait full {waits}
        arrive empty
        advance c
    }}
}}
"
        )
    };
    let decided = |waits: &str| {
        let protocol = text::load(source(waits).as_bytes()).unwrap();
        let clauses = horn::clauses(&protocol, None).unwrap();
        spacer(&clauses, Duration::from_secs(60))
    };
    assert_eq!(decided("c.phase"), SatResult::Sat);
    assert_eq!(decided("c.phase ^ 1"), SatResult::Unsat);
}
