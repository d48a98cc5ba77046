//! Random small barrier programs: what the adversarial schedules, and the accelerated search that
//! takes their place where there are many members, find against exhaustive search.
//!
//! A hang they report has to be one. They are not complete, but what hangs among programs of this
//! size and hides from random runs is what they are made for.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::hunt::Watch;
use warplock::hunt::accelerated;
use warplock::hunt::schedules;
use warplock::semantics::explore;
use warplock::semantics::input::Input;
use warplock::semantics::simulate;
use warplock::semantics::simulate::RandomScheduler;
use warplock::semantics::simulate::RunEnd;
use warplock::semantics::unfold;

const CASES: u64 = 8_000;

/// More than any of these programs needs.
const WORK: u64 = 4_000_000;

#[test]
fn hangs_that_hide_from_random_runs() {
    let cancel = AtomicBool::new(false);
    let (mut hidden, mut missed, mut missed_together) = (0, 0, 0);
    for seed in 0..CASES {
        let source = program(seed);
        let protocol = warplock::text::load(source.as_bytes()).unwrap();
        let instance = unfold::instantiate(&protocol, &Input::default()).unwrap();
        let hangs = explore::explore(&instance, &explore::Options::default()).stuck;
        let watch = Watch {
            deadline: Instant::now() + Duration::from_secs(60),
            cancel: &cancel,
        };
        let found = schedules::run(&instance, WORK, &watch).stuck;
        assert!(hangs.is_some() || found.is_none(), "seed {seed}\n{source}");
        let together = accelerated::run(&instance, WORK, &watch).stuck;
        assert!(
            hangs.is_some() || together.is_none(),
            "seed {seed}\n{source}"
        );
        let mut runs = (0..10).map(|seed| {
            let mut scheduler = RandomScheduler::new(1_000 + seed);
            simulate::simulate(&instance, &mut scheduler, 10_000).end
        });
        if hangs.is_some() && runs.all(|end| end != RunEnd::Stuck) {
            hidden += 1;
            missed += u64::from(found.is_none());
            missed_together += u64::from(together.is_none());
        }
    }
    assert!(hidden > 5, "only {hidden} hangs hide from random runs");
    assert_eq!((missed, missed_together), (0, 0), "of {hidden}");
}

/// Two to four warps with up to five operations each on two mbarriers, two named barriers and a
/// semaphore.
fn program(seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut source = "protocol random\nnamed bar[2]\nsemaphore s = 0\n".to_owned();
    for barrier in 0..2 {
        let arrivals = rng.random_range(1..3);
        source += &format!("mbarrier m{barrier} {{ arrivals: {arrivals} }}\n");
    }
    for warp in 0..rng.random_range(2..5) {
        source += &format!("role w{warp} warp {{\n");
        for _ in 0..rng.random_range(1..6) {
            let which = rng.random_range(0..2);
            let bit = rng.random_range(0..2);
            source += &match rng.random_range(0..12) {
                0..4 => format!("    arrive m{which}\n"),
                4..8 => format!("    wait m{which} {bit}\n"),
                8..10 => format!("    sync bar[{which}] 64\n"),
                10 => "    s += 1\n".to_owned(),
                _ => format!("    wait s == {bit}\n"),
            };
        }
        source += "}\n";
    }
    source
}
