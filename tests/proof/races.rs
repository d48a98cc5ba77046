//! Proofs that nothing races and that every read sees what was written: the cuts that carry them,
//! and what happens without one of them or with a wrong one.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::cut::artefact::Cut;
use warplock::certificate::cut::artefact::Moment;
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

fn proposal(source: &str, shows: Shows) -> Result<Cut, String> {
    let protocol = text::load(source.as_bytes()).unwrap();
    match proof::search(&protocol, Layer::Cuts(shows), LIMIT, None, &|_| {}) {
        Guess::Fitting(Argument::Cut(cut)) => Ok(cut),
        Guess::Nothing { reason, .. } => Err(reason),
        other => panic!("{other:?}"),
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
        _ => Shows::Visibility,
    };
    proposal(source, shows).is_ok_and(|cut| accepted(source, property, &cut).is_ok())
}

/// A ring with a buffer; `filled` and `used` are what is done between waiting and arriving.
fn ring(filled: &str, used: &str) -> String {
    format!(
        "protocol ring
        param S in 1..=3
        param T in 1..
        param N in 0..
        mbarrier full[S] {{ arrivals: 1 }}
        mbarrier empty[S] {{ arrivals: T }}
        buffer smem[S, T]
        role load {{
            var p = producer(S)
            for i in 0..N {{
                wait empty[p.index] p.phase
                {filled}
                advance p
            }}
        }}
        role math[t in 0..T] {{
            var c = consumer(S)
            for i in 0..N {{
                wait full[c.index] c.phase
                {used}
                advance c
            }}
        }}"
    )
}

const FILL: &str = "for x in 0..T { write smem[p.index, x] }
                arrive full[p.index]";
const USE: &str = "read smem[c.index, t]
                arrive empty[c.index]";

#[test]
fn a_ring_hands_its_stages_over() {
    let source = ring(FILL, USE);
    assert!(proved(&source, "race"));
    assert!(proved(&source, "stale_read"));
    // Not where the text leaves out what orders accesses.
    let declared = "buffer smem[S, T]";
    assert!(source.contains(declared));
    let open = source.replace(declared, &format!("{declared} {{ orders: unknown }}"));
    assert!(proved(&open, "race") && !proved(&open, "stale_read"));
    // Released before it has been read, filled after it was said to be.
    let early = "arrive empty[c.index]
                read smem[c.index, t]";
    assert!(!proved(&ring(FILL, early), "race"));
    let late = "arrive full[p.index]
                for x in 0..T { write smem[p.index, x] }";
    assert!(!proved(&ring(late, USE), "race"));
    // Another stage's.
    assert!(!proved(
        &ring(FILL, &USE.replace("smem[c.index", "smem[(c.index + 1) % S")),
        "race"
    ));
    // Two threads write one element; they may both read it.
    assert!(!proved(
        &ring(
            FILL,
            &USE.replace("read smem[c.index, t]", "write smem[c.index, 0]")
        ),
        "race"
    ));
    assert!(proved(
        &ring(FILL, &USE.replace("smem[c.index, t]", "smem[c.index, 0]")),
        "race"
    ));
    assert!(proved(&ring(FILL, &USE.replace("read", "write")), "race"));
}

#[test]
fn the_cuts_of_accesses_are_checked() {
    let source = ring(FILL, USE);
    let found = proposal(&source, Shows::Ordering).unwrap();
    let all = accepted(&source, "race", &found).unwrap();
    assert!(accepted(&source, "stale_read", &found).is_err());
    assert!(accepted(&source, "early_completion", &found).is_err());
    // Without cuts for the accesses, or claimed for another property, it proves nothing.
    let mut without = found.clone();
    without.cases.iter_mut().for_each(|c| c.exposures.clear());
    assert!(accepted(&source, "race", &without).is_err());
    let mut plain = found.clone();
    plain.shows = Shows::Nothing;
    assert!(accepted(&source, "race", &plain).is_err());
    let fewer = accepted(&source, "deadlock", &plain).unwrap();
    assert!(fewer < all, "{fewer} {all}");
    // Every stop one iteration off.
    let count = found.cases[0].exposures.len();
    assert!(count >= 2);
    for nth in 0..count {
        for by in [1, -1] {
            let mut moved = found.clone();
            let exposure = &mut moved.cases[0].exposures[nth];
            for stop in exposure.stops.iter_mut().flatten() {
                stop.clock.0.push(Product {
                    times: by,
                    of: Vec::new(),
                });
            }
            assert!(accepted(&source, "race", &moved).is_err(), "{nth} {by}");
        }
        // One that is about something else.
        let mut other = found.clone();
        other.cases[0].exposures[nth].at = Moment::Landing(0);
        assert!(accepted(&source, "race", &other).is_err(), "{nth}");
        let mut nowhere = found.clone();
        nowhere.cases[0].exposures[nth].at = Moment::Point(99);
        assert!(accepted(&source, "race", &nowhere).is_err(), "{nth}");
    }
}

/// Tensor cores that read what copies bring and write what an epilogue reads.
fn tensor(commits: &str, after: &str) -> String {
    format!(
        "protocol tensor
        param N in 0..
        mbarrier full {{ arrivals: 1 }}
        mbarrier empty {{ arrivals: 1 }}
        mbarrier done {{ arrivals: 1 }}
        mbarrier taken {{ arrivals: 1 }}
        buffer smem
        buffer acc {{ memory: tensor }}
        role load {{
            var p = producer(1)
            for i in 0..N {{
                wait empty p.phase
                arrive_expect_tx full 64
                async copy smem completes full 64
                advance p
            }}
        }}
        role math {{
            var c = consumer(1)
            var a = producer(1)
            for i in 0..N {{
                wait taken a.phase
                wait full c.phase
                async mma reads smem writes acc
                {commits}
                advance c
                advance a
            }}
        }}
        role store {{
            var c = consumer(1)
            for i in 0..N {{
                wait done c.phase
                {after}
                advance c
            }}
        }}"
    )
}

#[test]
fn asynchronous_work_lasts_until_it_lands() {
    let commits = "commit empty
                commit done";
    let after = "read acc
                arrive taken";
    let source = tensor(commits, after);
    assert!(proved(&source, "race"));
    assert!(proved(&source, "stale_read"));
    // An arrival does not wait for what was started before it.
    let arrives = tensor(
        "arrive empty
                commit done",
        after,
    );
    assert!(!proved(&arrives, "race"));
    let arrives = tensor(
        "commit empty
                arrive done",
        after,
    );
    assert!(!proved(&arrives, "race"));
    let early = tensor(
        commits,
        "arrive taken
                read acc",
    );
    assert!(!proved(&early, "race"));
}

/// Threads that stage a tile for a bulk store.
fn staged(before: &str, waits: &str) -> String {
    format!(
        "protocol staged
        param T in 1..
        param N in 0..
        barrier group {{ arrivals: T }}
        semaphore stored = 0
        buffer staging[T]
        buffer out[N, T]
        role thread[t in 0..T] {{
            for i in 0..N {{
                write staging[t]
                {before}
                sync group
                elect {{
                    for x in 0..T {{
                        async store reads staging[x] writes out[i, x]
                    }}
                    commit_group
                    {waits}
                    stored += 1
                }}
                sync group
            }}
        }}
        role next[t in 0..T] cluster 1 {{
            for i in 0..N {{
                wait stored >= i + 1
                read out[i, t]
            }}
        }}"
    )
}

#[test]
fn what_is_staged_needs_a_fence_and_a_whole_wait() {
    let source = staged("fence.proxy.async", "wait_group 0");
    assert!(proved(&source, "race"));
    assert!(proved(&source, "stale_read"));
    let unfenced = staged("", "wait_group 0");
    assert!(proved(&unfenced, "race"));
    assert!(!proved(&unfenced, "stale_read"));
    for waits in ["", "wait_group 1", "wait_group 0 read"] {
        let source = staged("fence.proxy.async", waits);
        assert!(!proved(&source, "race"), "{waits}");
        assert!(!proved(&source, "stale_read"), "{waits}");
    }
}

/// Data that is handed on between clusters.
fn handed_on(release: &str, acquire: &str) -> String {
    format!(
        "protocol handed_on
        param N in 0..
        semaphore ready[N] = 0
        buffer part[N]
        role writer {{
            for i in 0..N {{
                write part[i]
                {release} ready[i] += 1
            }}
        }}
        role reader cluster 1 {{
            for i in 0..N {{
                {acquire} ready[i] >= 1
                read part[i]
            }}
        }}"
    )
}

#[test]
fn both_scopes_have_to_reach() {
    for release in ["gpu", "cluster", "cta"] {
        for acquire in ["gpu", "sys", "cluster"] {
            let source = handed_on(
                &format!("red.release.{release}"),
                &format!("wait.acquire.{acquire}"),
            );
            assert!(proved(&source, "race"));
            let reaches = release == "gpu" && acquire != "cluster";
            assert_eq!(
                proved(&source, "stale_read"),
                reaches,
                "{release} {acquire}"
            );
        }
    }
    assert!(!proved(
        &handed_on("red.relaxed.gpu", "wait.acquire.gpu"),
        "stale_read"
    ));
    assert!(!proved(
        &handed_on("red.release.gpu", "wait.relaxed.gpu"),
        "stale_read"
    ));
}

#[test]
fn a_fence_before_a_copy_is_complete_shows_nothing() {
    // Copies by threads go through the generic proxy, and are complete when their group is.
    let source = |before: &str, after: &str| {
        format!(
            "protocol copied
            param N in 0..
            mbarrier full {{ arrivals: 1 }}
            mbarrier empty {{ arrivals: 1 }}
            buffer tile
            role load {{
                var p = producer(1)
                for i in 0..N {{
                    wait empty p.phase
                    async copy tile
                    {before}
                    commit_group
                    wait_group 0
                    {after}
                    arrive full
                    advance p
                }}
            }}
            role math {{
                var c = consumer(1)
                for i in 0..N {{
                    wait full c.phase
                    async mma reads tile
                    commit empty
                    advance c
                }}
            }}"
        )
    };
    let fence = "fence.proxy.async";
    assert!(proved(&source("", fence), "race"));
    assert!(proved(&source("", fence), "stale_read"));
    assert!(!proved(&source("", ""), "stale_read"));
    assert!(!proved(&source(fence, ""), "stale_read"));
    let by_reader = source("", "").replace("async mma", "fence.proxy.async\n async mma");
    assert!(proved(&by_reader, "stale_read"));
}

/// What no run at small values shows: the number of copies, or a parameter, is where it matters
/// only when it is large.
#[test]
fn what_matters_for_large_values_only_is_not_overlooked() {
    // `wait_group c / 50` waits for nothing from the 50th copy on.
    let copies = |most: &str| {
        format!(
            "protocol copies
            param C in 1..
            mbarrier m[C] {{ arrivals: 1 }}
            buffer a[C]
            buffer o[C]
            role r[c in 0..C] {{
                arrive m[c]
                async store reads a[c] writes o[c]
                commit_group
                wait_group {most}
                write a[c]
            }}"
        )
    };
    assert!(proved(&copies("0"), "race"));
    assert!(!proved(&copies("c / 50"), "race"));
    assert!(!proved(&copies("c / 50"), "stale_read"));
    // A fence before a copy has landed.
    let landing = |fence: &str| {
        format!(
            "protocol landing
            param Z in 1..
            mbarrier full {{ arrivals: 1 }}
            mbarrier done {{ arrivals: 1 }}
            buffer a[2]
            buffer acc
            role w {{
                async copy a[1]
                commit full
                {fence}
                arrive done
            }}
            role r {{
                wait full 0
                wait done 0
                async mma reads a[min(Z / 300, 1)] writes acc
            }}"
        )
    };
    assert!(!proved(&landing("fence.proxy.async"), "stale_read"));
    // Undefined for large values: a number of groups, a place, an extent.
    let defined = |group: &str, place: &str, extent: &str| {
        format!(
            "protocol defined
            param N in 1..
            semaphore s = 0
            buffer a[{extent}]
            role w cta {place} {{
                async store writes a[0]
                commit_group
                wait_group 0
                wait_group {group}
                red.release.gpu s += 1
            }}
            role r cta 1 {{
                wait.acquire.gpu s >= 1
                read a[0]
            }}"
        )
    };
    let undefined = "1 / max(500 - N, 0)";
    assert!(proved(&defined("0", "0", "2"), "race"));
    assert!(!proved(&defined(undefined, "0", "2"), "race"));
    assert!(!proved(&defined("0", undefined, "2"), "race"));
    assert!(!proved(
        &defined("0", "0", &format!("1 + {undefined}")),
        "race"
    ));
}
