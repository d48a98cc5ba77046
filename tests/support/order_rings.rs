//! Random rings between random roles: who fills, who empties, in which order, how far ahead.

use std::fmt::Write as _;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use warplock::text;

/// A ring of elements: one role arrives at `full`, another one at `empty`.
struct Ring {
    size: &'static str,
    from: usize,
    to: usize,
    /// Whether the one who fills waits for a place.
    bounded: bool,
    commits: bool,
}

/// The text of this seed, if it is a protocol.
pub fn generate(seed: u64) -> Option<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let roles = rng.random_range(2..=3);
    let members: Vec<&str> = (0..roles)
        .map(|_| ["1", "1", "T", "2"][rng.random_range(0..4)])
        .collect();
    let rings: Vec<Ring> = (0..rng.random_range(1..=4))
        .map(|_| {
            // Mostly from one role to a later one.
            let (a, b) = (rng.random_range(0..roles), rng.random_range(0..roles));
            match rng.random_bool(0.85) {
                true => (a.min(b), a.max(b)),
                false => (a, b),
            }
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(from, to)| Ring {
            size: ["1", "S", "2", "S + 1"][rng.random_range(0..4)],
            from,
            to,
            bounded: rng.random_bool(0.85),
            commits: rng.random_bool(0.2),
        })
        .collect();
    let mut source =
        String::from("protocol rings\nparam S in 1..=2\nparam T in 1..\nparam N in 0..\n");
    for (at, ring) in rings.iter().enumerate() {
        let (from, to) = (members[ring.from], members[ring.to]);
        let size = ring.size;
        writeln!(source, "mbarrier full{at}[{size}] {{ arrivals: {from} }}").unwrap();
        writeln!(source, "mbarrier empty{at}[{size}] {{ arrivals: {to} }}").unwrap();
    }
    if rng.random_bool(0.3) {
        let all = members.join(" + ");
        writeln!(source, "barrier meet {{ arrivals: {all} }}").unwrap();
    }
    let together = source.contains("barrier meet");
    for (role, count) in members.iter().enumerate() {
        let index = format!("[m in 0..{count}]");
        writeln!(source, "role r{role}{index} {{").unwrap();
        // Ahead of the loop: what is filled without asking.
        let mut ahead = vec![0; rings.len()];
        for (at, ring) in rings.iter().enumerate() {
            if ring.from == role && ring.size != "1" && rng.random_bool(0.05) {
                writeln!(source, "arrive full{at}[0]").unwrap();
                ahead[at] = 1;
            }
        }
        let less = if rng.random_bool(0.1) { " - 1" } else { "" };
        writeln!(source, "for i in 0..N{less} {{").unwrap();
        let mut steps: Vec<Vec<String>> = Vec::new();
        for (at, ring) in rings.iter().enumerate() {
            let size = if ring.size == "S + 1" {
                "(S + 1)"
            } else {
                ring.size
            };
            if ring.from == role {
                let number = match ahead[at] {
                    0 => "i".to_owned(),
                    _ => "(i + 1)".to_owned(),
                };
                let mut own = Vec::new();
                if ring.bounded {
                    own.push(format!(
                        "wait empty{at}[{number} % {size}] ({number} / {size} + 1) % 2"
                    ));
                }
                let verb = if ring.commits { "commit" } else { "arrive" };
                own.push(format!("{verb} full{at}[{number} % {size}]"));
                steps.push(own);
            }
            if ring.to == role {
                let mut own = vec![format!("wait full{at}[i % {size}] i / {size} % 2")];
                if ring.bounded || rng.random_bool(0.5) {
                    own.push(format!("arrive empty{at}[i % {size}]"));
                }
                steps.push(own);
            }
        }
        if together {
            match rng.random_range(0..3) {
                0 => steps.push(vec!["arrive meet".to_owned(), "wait meet".to_owned()]),
                _ => steps.push(vec!["sync meet".to_owned()]),
            }
        }
        // Any interleaving, seldom out of order.
        let mut turns: Vec<usize> = steps
            .iter()
            .enumerate()
            .flat_map(|(at, own)| vec![at; own.len()])
            .collect();
        turns.shuffle(&mut rng);
        if rng.random_bool(0.05) && !steps.is_empty() {
            let at = rng.random_range(0..steps.len());
            steps[at].reverse();
        }
        let mut next = vec![0; steps.len()];
        for at in turns {
            let line = &steps[at][next[at]];
            next[at] += 1;
            match rng.random_range(0..80) {
                0 => writeln!(source, "if i > 0 {{\n{line}\n}}").unwrap(),
                1 => writeln!(source, "if i < N - 1 {{\n{line}\n}}").unwrap(),
                2 => {
                    let late = line.replace(" i ", " (i - 1) ").replace("[i ", "[(i - 1) ");
                    writeln!(source, "if i > 0 {{\n{late}\n}}").unwrap();
                }
                _ => writeln!(source, "{line}").unwrap(),
            }
        }
        writeln!(source, "}}\n}}").unwrap();
    }
    text::load(source.as_bytes()).ok().map(|_| source)
}
