//! Proofs about CTAs of unknown number that have barriers of their own and share counters, barriers of the
//! grid and data: races, stale reads, claims, bytes; and clusters whose CTAs are the same but for a number.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::cut::artefact::Cut;
use warplock::certificate::cut::artefact::Product;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

fn proposal(source: &str, shows: Shows) -> Option<Cut> {
    let protocol = text::load(source.as_bytes()).unwrap();
    match proof::search(&protocol, Layer::Cuts(shows), LIMIT, None, &|_| {}) {
        Guess::Fitting(Argument::Cut(cut)) => Some(cut),
        _ => None,
    }
}

fn accepted(source: &str, property: &str, cut: &Cut) -> Result<usize, Rejection> {
    let narrowing = Narrowing::default();
    let argument = Argument::Cut(cut.clone());
    let (certificate, _) = manifest::issue(source, &narrowing, property, argument)?;
    let checked = manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {})?;
    Ok(checked.obligations)
}

fn proved(source: &str, property: &str) -> bool {
    let shows = match property {
        "race" => Shows::Ordering,
        "stale_read" => Shows::Visibility,
        "assertion" => Shows::Claims,
        "tx_mismatch" => Shows::Generations,
        _ => Shows::Nothing,
    };
    proposal(source, shows).is_some_and(|cut| accepted(source, property, &cut).is_ok())
}

/// Each CTA sums up a slice, and the first one adds up the slices.
const SLICES: &str = "protocol slices
param X in 1..
param T in 128..
barrier cta[X] { arrivals: T }
semaphore done = 0
invariant done <= X
buffer part[X, T]
buffer out[T]
role block[x in 0..X][t in 0..T] cta x {
    write part[x, t]
    sync cta[x]
    if t == 0 {
        done += 1
    }
    if x == 0 {
        if t == 0 {
            wait done >= X
            assert done == X
        }
        sync cta[x]
        for i in 0..X {
            read part[i, t]
        }
        write out[t]
    }
}
";

#[test]
fn data_is_ordered_between_copies_by_what_they_share() {
    for property in ["deadlock", "race", "stale_read", "assertion"] {
        assert!(proved(SLICES, property), "{property}");
    }
    // One slice is not waited for; or a thread of the CTA is not, before it is announced; or nobody else of
    // the first CTA is told.
    let announced = "    sync cta[x]\n    if t == 0 {\n        done";
    let told = "        sync cta[x]\n        for";
    assert!(SLICES.contains(announced) && SLICES.contains(told));
    for (from, to) in [
        ("wait done >= X\n", "wait done >= X - 1\n"),
        (announced, "    if t == 0 {\n        done"),
        (told, "        for"),
    ] {
        let broken = SLICES.replace(from, to);
        for property in ["race", "stale_read"] {
            assert!(!proved(&broken, property), "{property}: {to}");
        }
    }
    // What all of them write is not ordered at all, and what they claim of another one's barrier is refused.
    assert!(!proved(&SLICES.replace("part[x, t]", "part[0, t]"), "race"));
    let other = SLICES.replace("assert done == X", "assert cta[X - 1] >= 0");
    assert!(!proved(&other, "assertion"));
    let far = SLICES.replace("invariant done <= X", "invariant done <= X - 1");
    assert!(!proved(&far, "assertion"));
    // The scope of the counter has to reach other CTAs.
    let near = SLICES.replace("done += 1", "red.release.cta done += 1");
    assert!(proved(&near, "race") && !proved(&near, "stale_read"));
}

#[test]
fn the_stops_of_other_copies_are_checked() {
    let found = proposal(SLICES, Shows::Ordering).unwrap();
    accepted(SLICES, "race", &found).unwrap();
    let mut without = found.clone();
    for exposure in &mut without.cases[0].exposures {
        exposure.elsewhere.clear();
    }
    assert!(accepted(SLICES, "race", &without).is_err());
    let mut moved = 0;
    for nth in 0..found.cases[0].exposures.len() {
        let mut other = found.clone();
        let stops = other.cases[0].exposures[nth].elsewhere.iter_mut().flatten();
        for stop in stops {
            moved += 1;
            stop.clock.0.push(Product {
                times: -1,
                of: Vec::new(),
            });
        }
        if other != found {
            assert!(accepted(SLICES, "race", &other).is_err(), "{nth}");
        }
    }
    assert!(moved > 0);
}

/// All threads of all CTAs meet in every step, and those of one CTA twice more.
const STEPS: &str = "protocol steps
param X in 1..
param T in 1..
param N in 0..
barrier everywhere { arrivals: X * T }
barrier cta[X] { arrivals: T }
buffer halo[2, X]
buffer tile[X, T]
role block[x in 0..X][t in 0..T] cta x {
    for n in 0..N {
        write tile[x, t]
        sync cta[x]
        read tile[x, (t + 1) % T]
        sync cta[x]
        if t == 0 {
            write halo[n % 2, x]
        }
        sync everywhere
        if t == 0 {
            read halo[n % 2, (x + 1) % X]
        }
    }
}
";

#[test]
fn a_barrier_of_all_threads_of_all_copies_orders_their_data() {
    for property in ["deadlock", "race", "stale_read"] {
        assert!(proved(STEPS, property), "{property}");
    }
    // One place for what is exchanged is written again before it is read.
    let single = STEPS.replace("[n % 2, ", "[0, ");
    assert!(!proved(&single, "race"));
    assert!(!proved(
        &STEPS.replace("arrivals: X * T", "arrivals: X * T + 1"),
        "deadlock"
    ));
}

/// CTAs that share nothing but a table that nobody writes, each with a result of its own.
const APART: &str = "protocol apart
param X in 1..
param N in 0..
mbarrier full[X] { arrivals: 1 }
mbarrier empty[X] { arrivals: 1 }
invariant [x in 0..X] full[x] <= N
buffer table
buffer tile[X]
buffer out[X]
role load[x in 0..X] cta x {
    var p = producer(1)
    for i in 0..N {
        wait empty[x] p.phase
        read table
        write tile[x]
        assert full[x] == i
        arrive full[x]
        advance p
    }
}
role math[x in 0..X] cta x {
    var q = consumer(1)
    for i in 0..N {
        wait full[x] q.phase
        read tile[x]
        write out[x]
        arrive empty[x]
        advance q
    }
}
";

#[test]
fn copies_that_share_nothing_may_read_the_same_data() {
    for property in ["race", "stale_read", "assertion"] {
        assert!(proved(APART, property), "{property}");
    }
    assert!(!proved(&APART.replace("read table", "write table"), "race"));
    assert!(!proved(
        &APART.replace("write out[x]", "write out[0]"),
        "race"
    ));
    assert!(!proved(
        &APART.replace("write out[x]", "write table"),
        "race"
    ));
    assert!(!proved(
        &APART.replace("full[x] <= N", "full[x] < N"),
        "assertion"
    ));
    assert!(!proved(
        &APART.replace("full[x] == i", "full[0] == i"),
        "assertion"
    ));
}

/// Every CTA of a cluster loads a part, for all of them.
fn multicast(stages: usize, last: &str) -> String {
    format!(
        "protocol multicast
param N in 0..
mbarrier full[4, {stages}] {{ arrivals: 1 }}
mbarrier empty[4, {stages}] {{ arrivals: 4 }}
role load[c in 0..4] cta c {{
    var p = producer({stages})
    repeat N {{
        wait empty[c, p.index] p.phase
        arrive_expect_tx full[c, p.index] 4
        complete_tx full[0, p.index] 1
        complete_tx full[1, p.index] 1
        complete_tx full[2, p.index] 1
        complete_tx full[3, p.index] 1
        advance p
    }}
}}
role math[c in 0..4] cta c {{
    var q = consumer({stages})
    repeat N {{
        wait full[c, q.index] q.phase
        arrive empty[0, q.index]
        arrive empty[1, q.index]
        arrive empty[2, q.index]
        arrive empty[{last}, q.index]
        advance q
    }}
}}
"
    )
}

#[test]
fn nobody_of_a_cluster_hangs_alone() {
    let source = multicast(3, "3");
    let cut = proposal(&source, Shows::Nothing).unwrap();
    let protocol = text::load(source.as_bytes()).unwrap();
    let obligations = warplock::certificate::cut::obligations(&protocol, &cut).unwrap();
    let progress = obligations.iter().find(|o| o.name == "progress").unwrap();
    let answer = warplock::certificate::discharge::discharge(progress, &Solver::BuiltIn, LIMIT);
    assert_eq!(answer, warplock::certificate::discharge::Answer::Discharged);
    // One of them is never told that its places are free.
    let broken = multicast(3, "(c + 1) % 4");
    assert!(!proved(&broken, "deadlock"));
}
