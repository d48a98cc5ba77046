//! Random protocols of warps at named barriers, of which some count several times in one generation.
//!
//! Half of them consist of rounds that fit: some warps come, each as often as it likes, and the count is what comes. The others have
//! no plan. Then up to two lines are dropped, repeated or moved. The same seed gives the same text.

use std::fmt::Write as _;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

struct Role {
    members: usize,
    body: Vec<String>,
}

/// The protocol of a seed.
pub fn protocol(seed: u64) -> String {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut roles: Vec<Role> = (0..rng.random_range(1..=3))
        .map(|_| Role {
            members: if rng.random_bool(0.75) { 1 } else { 2 },
            body: Vec::new(),
        })
        .collect();
    let barriers = rng.random_range(1..=3);
    if rng.random_bool(0.5) {
        rounds(&mut roles, barriers, rng);
    } else {
        anything(&mut roles, barriers, rng);
    }
    for _ in 0..rng.random_range(0..=2) {
        edit(&mut roles, rng);
    }
    let looped = rng.random_bool(0.6);
    let mut text = format!("protocol again\n\nparam N in 0..\n\nnamed bar[{barriers}]\nbuffer x\n");
    for (nth, role) in roles.iter().enumerate() {
        let _ = writeln!(text, "\nrole r{nth}[w in 0..{}] warp {{", role.members);
        let depth = if looped {
            text.push_str("    for i in 0..N {\n");
            "        "
        } else {
            "    "
        };
        for line in &role.body {
            let _ = writeln!(text, "{depth}{line}");
        }
        text.push_str(if looped { "    }\n}\n" } else { "}\n" });
    }
    text
}

/// How often a text has one role come to a barrier again without waiting there in between.
pub fn again(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.windows(2).any(|pair| {
        let of = |line: &str| line.split_once(' ').map(|(_, rest)| rest.to_owned());
        pair[0].starts_with("arrive ") && of(pair[0]) == of(pair[1])
    })
}

fn rounds(roles: &mut [Role], barriers: usize, rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..=3) {
        let bar = rng.random_range(0..barriers);
        let times: Vec<usize> = roles.iter().map(|_| rng.random_range(0..=3)).collect();
        let count: usize = roles.iter().zip(&times).map(|(r, n)| r.members * n).sum();
        if count == 0 {
            continue;
        }
        let count = 32 * count;
        for (role, times) in roles.iter_mut().zip(times) {
            for nth in 1..=times {
                let waits = nth == times && rng.random_bool(0.6);
                let word = if waits { "sync" } else { "arrive" };
                role.body.push(format!("{word} bar[{bar}] {count}"));
            }
        }
        data(roles, rng);
    }
    // Everybody meets, so that the rounds stay apart.
    if rng.random_bool(0.5) {
        let all: usize = roles.iter().map(|role| role.members).sum();
        let bar = rng.random_range(0..barriers);
        for role in roles.iter_mut() {
            role.body.push(format!("sync bar[{bar}] {}", 32 * all));
        }
    }
}

fn anything(roles: &mut [Role], barriers: usize, rng: &mut ChaCha8Rng) {
    let all: usize = roles.iter().map(|role| role.members).sum();
    let counts: Vec<usize> = (0..barriers)
        .map(|_| 32 * rng.random_range(1..=all + 2))
        .collect();
    for role in roles.iter_mut() {
        for _ in 0..rng.random_range(1..=4) {
            let bar = rng.random_range(0..barriers);
            let count = if rng.random_bool(0.03) {
                64
            } else {
                counts[bar]
            };
            let word = if rng.random_bool(0.45) {
                "sync"
            } else {
                "arrive"
            };
            let line = format!("{word} bar[{bar}] {count}");
            if word == "arrive" && rng.random_bool(0.4) {
                role.body.push(line.clone());
            }
            role.body.push(line);
        }
    }
    data(roles, rng);
}

fn data(roles: &mut [Role], rng: &mut ChaCha8Rng) {
    let role = rng.random_range(0..roles.len());
    let line = if rng.random_bool(0.5) {
        "read x"
    } else {
        "write x"
    };
    roles[role].body.push(line.to_owned());
}

fn edit(roles: &mut [Role], rng: &mut ChaCha8Rng) {
    let role = rng.random_range(0..roles.len());
    let role = &mut roles[role];
    if role.body.is_empty() {
        return;
    }
    let at = rng.random_range(0..role.body.len());
    match rng.random_range(0..5) {
        0 => {
            role.body.remove(at);
        }
        1 => {
            let line = role.body[at].clone();
            role.body.insert(at, line);
        }
        2 => {
            let to = rng.random_range(0..role.body.len());
            role.body.swap(at, to);
        }
        3 => role.body[at] = role.body[at].replace("sync", "arrive"),
        _ if role.members == 2 => {
            let line = role.body[at].clone();
            role.body[at] = format!("if w == 0 {{\n            {line}\n        }}");
        }
        _ => {}
    }
}
