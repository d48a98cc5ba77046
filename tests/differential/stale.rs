//! The fast search for stale reads against the exhaustive one, on random protocols of members in
//! different places that hand data on with random orders, scopes and fences.
//!
//! `WARPLOCK_CASES` multiplies the number of programs.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use rand::Rng;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use warplock::hunt::Watch;
use warplock::hunt::held_member;
use warplock::protocol::Property;
use warplock::semantics::data;
use warplock::semantics::data::Share;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::hazards::search;
use warplock::semantics::input::Input;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;
use warplock::witness;

/// What the comparisons came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    compared: u64,
    stale: u64,
    undecided: u64,
}

const PROGRAMS: u64 = 1_000;

fn times() -> u64 {
    let wanted = std::env::var("WARPLOCK_CASES").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn pick<'a>(rng: &mut impl Rng, all: &[&'a str]) -> &'a str {
    all[rng.random_range(0..all.len() as u64) as usize]
}

/// Two to four members, each in one of two CTAs of one of two clusters, and handovers of slots
/// through counters and mbarriers between them; some steps are then left out or exchanged.
fn handovers(rng: &mut impl Rng) -> String {
    let members: usize = rng.random_range(2..=4);
    let mut programs: Vec<Vec<String>> = vec![Vec::new(); members];
    let mut phases = [0_u32; 2];
    let mut counts = [0_u32; 2];
    for _ in 0..rng.random_range(1..=4_u32) {
        let giver = rng.random_range(0..members as u64) as usize;
        let taker = rng.random_range(0..members as u64) as usize;
        let (slot, object) = (rng.random_range(0..2_u32), rng.random_range(0..2_usize));
        let scope = pick(rng, &["", ".cluster", ".gpu", ".gpu"]);
        let order = pick(rng, &["", "", "", ".release", ".relaxed"]);
        let fence = pick(
            rng,
            &[
                "",
                "",
                "fence.proxy.async",
                "fence.acq_rel.cluster",
                "fence.release.gpu",
            ],
        );
        let given = &mut programs[giver];
        given.push(match rng.random_range(0..5_u32) {
            0 => format!("async store writes x[{slot}] commit_group wait_group 0"),
            1 => format!("async store writes x[{slot}] commit_group wait_group 0 read"),
            2 => String::new(),
            _ => format!("write x[{slot}]"),
        });
        given.push(fence.to_owned());
        let counter = rng.random_range(0..2_u32) == 0;
        let wait = match counter {
            true => {
                given.push(format!(
                    "red{order}.{} s[{object}] += 1",
                    &pick(rng, &["cta", "gpu", "gpu"])
                ));
                counts[object] += 1;
                format!("s[{object}] >= {}", counts[object])
            }
            false => {
                given.push(match rng.random_range(0..3_u32) {
                    0 => format!(
                        "arrive_expect_tx{order}{scope} b[{object}] 8 async copy x[{slot}] \
                         completes b[{object}] 8"
                    ),
                    1 => format!("async mma writes x[{slot}] commit b[{object}]"),
                    _ => format!("arrive{order}{scope} b[{object}]"),
                });
                phases[object] += 1;
                format!("b[{object}] {}", (phases[object] + 1) % 2)
            }
        };
        let taken = &mut programs[taker];
        let order = pick(rng, &["", "", "", ".acquire", ".relaxed"]);
        let scope = pick(rng, &["", ".cluster", ".gpu", ".gpu"]);
        taken.push(format!("wait{order}{scope} {wait}"));
        taken.push(pick(rng, &["", "fence.proxy.async", "fence.acquire.gpu"]).to_owned());
        taken.push(match rng.random_range(0..6_u32) {
            0 => format!("async mma reads x[{slot}]"),
            _ => format!("read x[{slot}]"),
        });
    }
    for program in &mut programs {
        if program.len() > 1 && rng.random_range(0..4_u32) == 0 {
            let place = rng.random_range(1..program.len() as u64) as usize;
            program.swap(place - 1, place);
        }
    }
    let mut text =
        "protocol p\nsemaphore s[2] = 0\nmbarrier b[2] { arrivals: 1 }\nbuffer x[2]\n".to_owned();
    for (number, program) in programs.iter().enumerate() {
        let (cta, cluster) = (
            pick(rng, &["0", "0", "1"]),
            pick(rng, &["0", "0", "0", "1"]),
        );
        let body = program.join("\n  ");
        writeln!(
            text,
            "role r{number} cta {cta} cluster {cluster} {{\n  {body}\n}}"
        )
        .unwrap();
    }
    text
}

fn compare(text: &str, tally: &mut Tally) {
    let protocol = text::load(text.as_bytes()).unwrap_or_else(|e| panic!("{text}{e:?}"));
    let input = Input::default();
    let instance = unfold::instantiate(&protocol, &input).unwrap();
    let data = data::data(&protocol, &input, &Limits::default(), Share::Accesses).unwrap();
    let options = Options {
        max_states: 50_000,
        ..Options::default()
    };
    let exact = search::search(&instance, Some(&data), Property::StaleRead, &options);
    let cancel = AtomicBool::new(false);
    let watch = Watch {
        deadline: Instant::now() + Duration::from_secs(600),
        cancel: &cancel,
    };
    let fast = held_member::run(
        &instance,
        Some(&data),
        Property::StaleRead,
        u64::MAX,
        &watch,
    );
    for runs in [&exact.found, &fast].into_iter().flatten() {
        let witness = witness::record_hazard(&protocol, &input, Property::StaleRead, runs)
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        witness::replay(&protocol, &witness).unwrap();
    }
    // Where generations differ, an arrival is lost or a phase is passed, everybody's order counts.
    let is_clean = |property| {
        search::search(&instance, None, property, &options)
            .found
            .is_none()
    };
    let missed = exact.found.is_some() && fast.is_none();
    let others = [
        Property::EarlyCompletion,
        Property::EarlyPass,
        Property::LappedWait,
        Property::OverArrival,
    ];
    if exact.end == SearchEnd::StateLimit || missed && !others.into_iter().all(is_clean) {
        tally.undecided += 1;
        return;
    }
    tally.compared += 1;
    tally.stale += u64::from(exact.found.is_some());
    assert_eq!(fast.is_some(), exact.found.is_some(), "{text}");
}

#[test]
fn handovers_with_orders_and_scopes_agree_with_exhaustive_search() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut tally = Tally::default();
    for _ in 0..PROGRAMS * times() {
        compare(&handovers(&mut rng), &mut tally);
    }
    if times() > 1 {
        return;
    }
    insta::assert_debug_snapshot!(tally, @"
    Tally {
        compared: 998,
        stale: 684,
        undecided: 2,
    }
    ");
}
