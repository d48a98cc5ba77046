//! Random protocols around correct ones: whatever the cut rule proves, exhaustive search at small
//! values must not contradict.
//!
//! Templates are kernels that are right, with holes filled at random; then up to two edits are made
//! to the text. `WARPLOCK_CUT_SEEDS` sets how many seeds are tried (default 700).

use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Domain;
use warplock::protocol::Protocol;
use warplock::semantics::explore;
use warplock::semantics::inputs::Bounds;
use warplock::text;
use warplock::text::Narrowing;

const DEFAULT_SEEDS: u64 = 700;

/// States at one point; a larger one is passed over.
const STATES: u64 = 60_000;

const TEMPLATES: [&str; 11] = [
    "mbarrier bar[2] { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
    var phase = 0
    for i in 0..N {
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] phase
        phase = phase ^ 1
    }
}",
    "mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
role producer {
    for i in 0..N {
        wait empty[i % S] (i / S + 1) % 2
        arrive full[i % S]
    }
}
role consumer[t in 0..T] {
    for i in 0..N {
        wait full[i % S] i / S % 2
        arrive empty[i % S]
    }
}",
    "mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier acc { arrivals: 1 }
mbarrier free { arrivals: T }
role load {
    var p = producer(S)
    for tile in 0..N {
        for k in 0..K {
            wait empty[p.index] p.phase
            arrive_expect_tx full[p.index] 8
            async copy smem completes full[p.index] 8
            advance p
        }
    }
}
role mma {
    var c = consumer(S)
    var a = producer(1)
    for tile in 0..N {
        wait free a.phase
        for k in 0..K {
            wait full[c.index] c.phase
            commit empty[c.index]
            advance c
        }
        commit acc
        advance a
    }
}
role epilogue[t in 0..T] {
    var c = consumer(1)
    for tile in 0..N {
        wait acc c.phase
        arrive free
        advance c
    }
}",
    "named bar[4]
role producer warp {
    for i in 0..N {
        sync bar[0] 32 * (T + 1)
        arrive bar[1] 32 * (T + 1)
    }
}
role consumer[t in 0..T] warp {
    for i in 0..N {
        arrive bar[0] 32 * (T + 1)
        sync bar[1] 32 * (T + 1)
    }
}",
    "barrier all { arrivals: T + 1 }
mbarrier done { arrivals: T }
role leader {
    for i in 0..N {
        sync all
        wait done i % 2
    }
}
role thread[t in 0..T] {
    for i in 0..N {
        arrive done
        sync all
    }
}",
    "semaphore count = 0
role thread[t in 0..T] {
    for i in 0..N {
        count += 1
        wait count >= T * (i + 1)
    }
}",
    "semaphore ready = 0
semaphore taken = 0
role one {
    for i in 0..N {
        wait taken == i
        ready += 1
    }
}
role two {
    for i in 0..N {
        wait ready == i + 1
        taken += 1
    }
}",
    "mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
role producer {
    var stage = 0
    var phase = 1
    for tile in 0..N {
        for k in 0..K {
            if tile * K + k >= S {
                wait empty[stage] phase
            }
            arrive full[stage]
            stage = stage + 1
            if stage == S {
                stage = 0
                phase = phase ^ 1
            }
        }
    }
}
role consumer[t in 0..T] {
    for i in 0..N * K {
        wait full[i % S] i / S % 2
        if t == 0 {
            arrive empty[i % S]
        } else {
            arrive empty[i % S]
        }
    }
}",
    "mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
barrier warps { arrivals: T }
role producer {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
    for s in 0..S {
        wait empty[p.index] p.phase
        advance p
    }
}
role consumer[t in 0..T] {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        sync warps
        if t == 0 {
            arrive empty[c.index]
        }
        advance c
    }
}",
    "pool regs = T * K + 1
barrier start { arrivals: T + 1 }
role give {
    acquire regs 1
    sync start
    release regs 1
}
role take[t in 0..T] {
    acquire regs K
    sync start
    if t == 0 {
        acquire regs 1
    }
    release regs K
}",
    "mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 }
role load {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[0, p.index]
        arrive full[1, p.index]
        advance p
    }
}
role math[cta in 0..2] {
    var c = consumer(S)
    for i in 0..N {
        if i < K || cta == 0 {
            wait full[cta, c.index] c.phase
        }
        arrive empty[c.index]
        advance c
    }
}",
];

/// Edits of one place: what is looked for, and what may stand there instead.
const EDITS: [(&str, &[&str]); 22] = [
    ("0..N", &["0..N + 1", "0..N - 1", "1..N", "0..N + S"]),
    ("0..K", &["0..K - 1", "0..K + 1", "1..K"]),
    (
        "arrivals: T",
        &["arrivals: T + 1", "arrivals: 1", "arrivals: T - 1"],
    ),
    ("arrivals: 1", &["arrivals: 2", "arrivals: T"]),
    ("arrivals: 2", &["arrivals: 1", "arrivals: 3"]),
    ("% 2", &["% 3 % 2", "% 2 ^ 1"]),
    (
        "producer(S)",
        &["consumer(S)", "producer(S + 1)", "producer(1)"],
    ),
    ("consumer(S)", &["producer(S)", "consumer(1)"]),
    ("phase = 0", &["phase = 1"]),
    ("phase = 1", &["phase = 0"]),
    ("phase ^ 1", &["phase", "1 - phase", "0"]),
    ("i + 1", &["i", "i + 2"]),
    (">=", &[">", "==", "<="]),
    ("==", &[">=", "!="]),
    ("bar[0]", &["bar[1]", "bar[2]"]),
    ("bar[1]", &["bar[0]", "bar[2]"]),
    ("32 * (T + 1)", &["32 * T", "64", "32 * (T + 2)"]),
    ("i % S", &["(i + 1) % S", "i % (S + 1)", "0"]),
    ("1 - cta", &["cta", "0"]),
    (" 8", &[" 7", " 9"]),
    ("t == 0", &["t == 1", "t >= 1", "t < 2"]),
    ("regs 1", &["regs 2", "regs K"]),
];

fn protocol(rng: &mut ChaCha8Rng) -> String {
    let mut body = (*TEMPLATES.choose(rng).unwrap()).to_owned();
    for _ in 0..rng.random_range(0..3) {
        body = edited(&body, rng);
    }
    let least = rng.random_range(0..2);
    format!(
        "protocol random\nparam S in 1..=3\nparam T in 1..\nparam N in {least}..\nparam K in 0..\n{body}\n"
    )
}

fn edited(body: &str, rng: &mut ChaCha8Rng) -> String {
    let mut lines: Vec<String> = body.lines().map(str::to_owned).collect();
    if rng.random_range(0..3) == 0 {
        // A statement is dropped, doubled, guarded or exchanged with the next one.
        let simple = |line: &String| {
            let line = line.trim_start();
            [
                "wait", "arrive", "sync", "commit", "advance", "async", "acquire", "release",
            ]
            .iter()
            .any(|word| line.starts_with(word))
        };
        let places: Vec<usize> = (0..lines.len()).filter(|at| simple(&lines[*at])).collect();
        let Some(&at) = places.choose(rng) else {
            return body.to_owned();
        };
        match rng.random_range(0..4) {
            0 => {
                lines.remove(at);
            }
            1 => lines.insert(at, lines[at].clone()),
            2 if at + 1 < lines.len() && simple(&lines[at + 1]) => lines.swap(at, at + 1),
            _ => {
                let guards = ["N > 1", "T > 1", "K == 0", "S == 2"];
                lines[at] = format!("if {} {{ {} }}", guards.choose(rng).unwrap(), lines[at]);
            }
        }
        return lines.join("\n");
    }
    let (from, to) = EDITS.choose(rng).unwrap();
    let places: Vec<usize> = body.match_indices(from).map(|(at, _)| at).collect();
    match places.choose(rng) {
        Some(&at) => {
            let to = to.choose(rng).unwrap();
            format!("{}{to}{}", &body[..at], &body[at + from.len()..])
        }
        None => body.to_owned(),
    }
}

fn proved(source: &str, protocol: &Protocol) -> bool {
    let limit = Duration::from_secs(4);
    let Guess::Fitting(argument) = proof::search(protocol, Layer::Cuts, limit, None, &|_| {})
    else {
        return false;
    };
    let narrowing = Narrowing::default();
    let (certificate, _) = manifest::issue(source, &narrowing, "deadlock", argument).unwrap();
    manifest::check(&certificate, &Solver::BuiltIn, limit, &|_| {}).is_ok()
}

/// A point of the small grid at which something goes wrong.
fn contradiction(protocol: &Protocol) -> Option<String> {
    let values = |at: usize| match protocol.params[at].domain {
        Domain::AtLeast(lo) => lo..=lo + 2,
        Domain::Range(lo, hi) => lo..=hi,
        Domain::Set(_) => unreachable!(),
    };
    for s in values(0) {
        for t in values(1) {
            for n in values(2).chain([4]) {
                for k in values(3) {
                    let params = [s, t, n, k];
                    let options = explore::Options {
                        max_states: STATES,
                        ..explore::Options::default()
                    };
                    let found =
                        explore::explore_all(protocol, &params, &Bounds::default(), &options);
                    match found {
                        Err(error) => return Some(format!("{params:?}: {error}")),
                        Ok(found) if found.stuck.is_some() => {
                            return Some(format!("{params:?}: gets stuck"));
                        }
                        Ok(found) => {
                            if let Some((_, _, violation)) = found.violation {
                                return Some(format!("{params:?}: {violation}"));
                            }
                        }
                    }
                }
            }
        }
    }
    None
}

#[test]
fn what_is_proved_is_never_contradicted_by_exhaustive_search() {
    let seeds =
        std::env::var("WARPLOCK_CUT_SEEDS").map_or(DEFAULT_SEEDS, |count| count.parse().unwrap());
    let (mut tried, mut proofs) = (0, 0);
    let mut seen = std::collections::HashSet::new();
    for seed in 0..seeds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let source = self::protocol(&mut rng);
        let Ok(protocol) = text::load(source.as_bytes()) else {
            continue;
        };
        if !seen.insert(source.clone()) {
            continue;
        }
        tried += 1;
        if proved(&source, &protocol) {
            proofs += 1;
            if let Some(what) = contradiction(&protocol) {
                panic!("seed {seed}: proved, but at S, T, N, K = {what}\n{source}");
            }
        }
    }
    // Neither side may be empty, or nothing is tested.
    assert!(proofs * 20 >= tried, "{proofs} of {tried} proved");
    assert!(proofs * 8 <= tried * 7, "{proofs} of {tried} proved");
}
