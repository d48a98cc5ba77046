//! The fast search for hazards against the exhaustive one, on random protocols: where nothing is
//! reset it has to find a violation wherever there is one, and what it finds has to replay.
//!
//! `WARPLOCK_CASES` multiplies the number of programs (100 takes a minute), and
//! `WARPLOCK_CASES_LOG` names a file that gets the figures, which only the usual number asserts.

use std::fmt::Write as _;
use std::io::Write as _;
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
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::hazards;
use warplock::semantics::hazards::search;
use warplock::semantics::input::Input;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;
use warplock::witness;

/// What a comparison came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    compared: u64,
    violated: u64,
    undecided: u64,
}

/// Programs per comparison.
const PROGRAMS: u64 = 400;

/// How often as many are run as usual.
fn times() -> u64 {
    let wanted = std::env::var("WARPLOCK_CASES").ok();
    wanted.and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Notes figures where that is wanted.
fn note(figures: &str) {
    if let Ok(path) = std::env::var("WARPLOCK_CASES_LOG") {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        writeln!(log.unwrap(), "{figures}").unwrap();
    }
}

fn compare(text: &str, property: Property, tally: &mut Tally) {
    let protocol: Protocol = text::load(text.as_bytes()).unwrap_or_else(|e| panic!("{text}{e:?}"));
    let input = Input::default();
    let instance = unfold::instantiate(&protocol, &input).unwrap();
    let data = hazards::wanted_data(&protocol, property, &input, &Limits::default()).unwrap();
    let options = Options {
        max_states: 50_000,
        ..Options::default()
    };
    let exact = search::search(&instance, data.as_ref(), property, &options);
    let cancel = AtomicBool::new(false);
    let watch = Watch {
        deadline: Instant::now() + Duration::from_secs(600),
        cancel: &cancel,
    };
    let fast = held_member::run(&instance, data.as_ref(), property, u64::MAX, &watch);
    for runs in [&exact.found, &fast].into_iter().flatten() {
        let witness = witness::record_hazard(&protocol, &input, property, runs)
            .unwrap_or_else(|e| panic!("{text}{property:?}: {e}"));
        let replayed = witness::replay(&protocol, &witness).unwrap();
        assert_eq!(replayed.property, property);
    }
    // Where generations already differ or waits are lapped, what follows depends on the order of
    // everybody; where a run does something undefined, a run with somebody held may meet that.
    let violates = |other| {
        let found = search::search(&instance, None, other, &options).found;
        other != property && found.is_some()
    };
    let missed = exact.found.is_some() && fast.is_none();
    let may_miss = || {
        let others = [
            Property::EarlyCompletion,
            Property::LappedWait,
            Property::OverArrival,
        ];
        others.into_iter().any(violates)
    };
    if exact.end == SearchEnd::StateLimit || missed && may_miss() {
        tally.undecided += 1;
        return;
    }
    tally.compared += 1;
    tally.violated += u64::from(exact.found.is_some());
    assert_eq!(
        fast.is_some(),
        exact.found.is_some(),
        "{property:?} of\n{text}"
    );
}

/// Two to four warps of straight-line code over up to three named barriers and two buffers.
fn named(rng: &mut impl Rng) -> String {
    let warps = rng.random_range(2..=4);
    let barriers = rng.random_range(1..=3);
    let counts: Vec<i32> = (0..barriers)
        .map(|_| 32 * rng.random_range(2..=warps))
        .collect();
    let mut text = format!("protocol p\nnamed bar[{barriers}]\nbuffer x[2]\n");
    for warp in 0..warps {
        writeln!(text, "role w{warp} warp {{").unwrap();
        for _ in 0..rng.random_range(1..=9_u32) {
            let bar = rng.random_range(0..barriers);
            let count = counts[bar as usize];
            match rng.random_range(0..10_u32) {
                0..=4 => writeln!(text, "  sync bar[{bar}] {count}"),
                5..=7 => writeln!(text, "  arrive bar[{bar}] {count}"),
                8 => writeln!(text, "  read x[{}]", rng.random_range(0..2)),
                _ => writeln!(text, "  write x[{}]", rng.random_range(0..2)),
            }
            .unwrap();
        }
        text.push_str("}\n");
    }
    text
}

/// The same size, but made of rounds that fit, of which some are then changed.
fn fitting(rng: &mut impl Rng) -> String {
    let warps: usize = rng.random_range(2..=4);
    let barriers = rng.random_range(1..=3);
    let mut programs: Vec<Vec<String>> = vec![Vec::new(); warps];
    for _ in 0..rng.random_range(1..=6_u32) {
        let bar = rng.random_range(0..barriers);
        let mut members: Vec<usize> = (0..warps).collect();
        while members.len() > 2 && rng.random_range(0..3_u32) > 0 {
            let place = rng.random_range(0..members.len() as u64);
            members.remove(place as usize);
        }
        let count = 32 * members.len();
        for (place, member) in members.into_iter().enumerate() {
            let word = match place == 0 || rng.random_range(0..2_u32) == 0 {
                true => "sync",
                false => "arrive",
            };
            programs[member].push(format!("{word} bar[{bar}] {count}"));
        }
        let member = rng.random_range(0..warps as u64) as usize;
        let slot = rng.random_range(0..2_u32);
        let word = if rng.random_range(0..2_u32) == 0 {
            "read"
        } else {
            "write"
        };
        programs[member].push(format!("{word} x[{slot}]"));
    }
    if rng.random_range(0..2_u32) == 0 {
        let member = rng.random_range(0..warps as u64) as usize;
        if programs[member].len() > 1 {
            let place = rng.random_range(1..programs[member].len() as u64) as usize;
            programs[member].swap(place - 1, place);
        }
    }
    let mut text = format!("protocol p\nnamed bar[{barriers}]\nbuffer x[2]\n");
    for (warp, program) in programs.iter().enumerate() {
        writeln!(text, "role w{warp} warp {{\n  {}\n}}", program.join("\n  ")).unwrap();
    }
    text
}

#[test]
fn named_barriers_agree_with_exhaustive_search() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut completion = Tally::default();
    let mut race = Tally::default();
    let mut arrival = Tally::default();
    for _ in 0..PROGRAMS * times() {
        let text = match rng.random_range(0..2_u32) {
            0 => named(&mut rng),
            _ => fitting(&mut rng),
        };
        compare(&text, Property::EarlyCompletion, &mut completion);
        compare(&text, Property::Race, &mut race);
        compare(&text, Property::OverArrival, &mut arrival);
    }
    note(&format!("named: {completion:?} {race:?} {arrival:?}"));
    if times() > 1 {
        return;
    }
    insta::assert_debug_snapshot!((completion, race, arrival), @"
    (
        Tally {
            compared: 400,
            violated: 224,
            undecided: 0,
        },
        Tally {
            compared: 395,
            violated: 110,
            undecided: 5,
        },
        Tally {
            compared: 400,
            violated: 69,
            undecided: 0,
        },
    )
    ");
}

/// Two or three threads of straight-line code over mbarriers with bytes, copies and commits,
/// made of handovers that fit, of which some are then changed.
fn handovers(rng: &mut impl Rng) -> String {
    let members: usize = rng.random_range(2..=3);
    let barriers: usize = rng.random_range(1..=3);
    let mut programs: Vec<Vec<String>> = vec![Vec::new(); members];
    let mut phases = vec![0_u32; barriers];
    for _ in 0..rng.random_range(1..=4_u32) {
        let bar = rng.random_range(0..barriers as u64) as usize;
        let giver = rng.random_range(0..members as u64) as usize;
        let taker = rng.random_range(0..members as u64) as usize;
        let slot = rng.random_range(0..2_u32);
        let given = &mut programs[giver];
        match rng.random_range(0..4_u32) {
            0 => given.extend([format!("write x[{slot}]"), format!("arrive b[{bar}]")]),
            1 => given.extend([
                format!("async mma reads x[{}] writes x[{slot}]", 1 - slot),
                format!("commit b[{bar}]"),
            ]),
            2 => given.extend([
                format!("arrive_expect_tx b[{bar}] 8"),
                format!(
                    "async copy x[{slot}] completes b[{bar}] {}",
                    if rng.random_range(0..8_u32) == 0 {
                        12
                    } else {
                        8
                    }
                ),
            ]),
            _ => given.extend([
                format!("async store reads x[{slot}]"),
                "commit_group".to_owned(),
                format!("wait_group {}", rng.random_range(0..2_u32)),
                format!("arrive b[{bar}]"),
            ]),
        }
        let taken = &mut programs[taker];
        taken.push(format!("wait b[{bar}] {}", phases[bar] % 2));
        taken.push(format!("read x[{slot}]"));
        phases[bar] += 1;
    }
    for program in &mut programs {
        if program.len() > 1 && rng.random_range(0..3_u32) == 0 {
            let place = rng.random_range(1..program.len() as u64) as usize;
            program.swap(place - 1, place);
        }
    }
    let mut text = format!("protocol p\nmbarrier b[{barriers}] {{ arrivals: 1 }}\nbuffer x[2]\n");
    for (number, program) in programs.iter().enumerate() {
        writeln!(text, "role r{number} {{\n  {}\n}}", program.join("\n  ")).unwrap();
    }
    text
}

#[test]
fn handovers_agree_with_exhaustive_search() {
    let properties = [
        Property::EarlyCompletion,
        Property::EarlyPass,
        Property::LappedWait,
        Property::OverArrival,
        Property::TxMismatch,
        Property::Race,
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut tallies: Vec<(Property, Tally)> = Vec::new();
    tallies.extend(properties.map(|property| (property, Tally::default())));
    for _ in 0..PROGRAMS * times() {
        let text = handovers(&mut rng);
        for (property, tally) in &mut tallies {
            compare(&text, *property, tally);
        }
    }
    note(&format!("handovers: {tallies:?}"));
    if times() > 1 {
        return;
    }
    insta::assert_debug_snapshot!(tallies, @"
    [
        (
            EarlyCompletion,
            Tally {
                compared: 400,
                violated: 137,
                undecided: 0,
            },
        ),
        (
            EarlyPass,
            Tally {
                compared: 400,
                violated: 127,
                undecided: 0,
            },
        ),
        (
            LappedWait,
            Tally {
                compared: 400,
                violated: 197,
                undecided: 0,
            },
        ),
        (
            OverArrival,
            Tally {
                compared: 400,
                violated: 87,
                undecided: 0,
            },
        ),
        (
            TxMismatch,
            Tally {
                compared: 400,
                violated: 32,
                undecided: 0,
            },
        ),
        (
            Race,
            Tally {
                compared: 399,
                violated: 258,
                undecided: 1,
            },
        ),
    ]
    ");
}

/// Two teams of up to three interchangeable threads that hand over to each other or to
/// themselves, every member arriving, with an edit now and then.
fn teams(rng: &mut impl Rng) -> String {
    let sizes: [u32; 2] = [rng.random_range(1..=3), rng.random_range(1..=2)];
    let mut programs: [Vec<String>; 2] = Default::default();
    let mut phases = [0_u32; 2];
    for _ in 0..rng.random_range(1..=4_u32) {
        let giver = rng.random_range(0..2_u32) as usize;
        let taker = rng.random_range(0..2_u32) as usize;
        let slot = rng.random_range(0..2_u32);
        let given = &mut programs[giver];
        if rng.random_range(0..3_u32) == 0 {
            given.push(format!("write y[{giver}, n]"));
        } else {
            given.push(format!("elect {{ write x[{slot}] }}"));
        }
        given.push(format!("arrive b{giver}"));
        let taken = &mut programs[taker];
        taken.push(format!("wait b{giver} {}", phases[giver] % 2));
        taken.push(match rng.random_range(0..2_u32) {
            0 => format!("read y[{giver}, (n + 1) % {}]", sizes[giver]),
            _ => format!("read x[{slot}]"),
        });
        phases[giver] += 1;
    }
    for program in &mut programs {
        if program.len() > 1 && rng.random_range(0..3_u32) == 0 {
            let place = rng.random_range(1..program.len() as u64) as usize;
            program.swap(place - 1, place);
        }
    }
    let mut text = "protocol p\nbuffer x[2]\nbuffer y[2, 3]\n".to_owned();
    for (team, size) in sizes.iter().enumerate() {
        writeln!(text, "mbarrier b{team} {{ arrivals: {size} }}").unwrap();
    }
    for (team, program) in programs.iter().enumerate() {
        let body = program.join("\n  ");
        writeln!(
            text,
            "role r{team}[n in 0..{}] {{\n  {body}\n}}",
            sizes[team]
        )
        .unwrap();
    }
    text
}

#[test]
fn teams_agree_with_exhaustive_search() {
    let properties = [
        Property::EarlyCompletion,
        Property::EarlyPass,
        Property::LappedWait,
        Property::Race,
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut tallies: Vec<(Property, Tally)> = Vec::new();
    tallies.extend(properties.map(|property| (property, Tally::default())));
    for _ in 0..PROGRAMS * times() {
        let text = teams(&mut rng);
        for (property, tally) in &mut tallies {
            compare(&text, *property, tally);
        }
    }
    note(&format!("teams: {tallies:?}"));
    if times() > 1 {
        return;
    }
    insta::assert_debug_snapshot!(tallies, @"
    [
        (
            EarlyCompletion,
            Tally {
                compared: 400,
                violated: 72,
                undecided: 0,
            },
        ),
        (
            EarlyPass,
            Tally {
                compared: 400,
                violated: 105,
                undecided: 0,
            },
        ),
        (
            LappedWait,
            Tally {
                compared: 400,
                violated: 169,
                undecided: 0,
            },
        ),
        (
            Race,
            Tally {
                compared: 400,
                violated: 209,
                undecided: 0,
            },
        ),
    ]
    ");
}
