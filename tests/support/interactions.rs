//! Random straight-line programs over every synchronization object: interactions that fit together,
//! nearly always followed by a few edits that make them fit less. The same seed gives the same text.

use std::fmt::Write as _;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use warplock::text;

/// A role under construction.
struct Role {
    members: i64,
    grid: Option<&'static str>,
    warp: bool,
    body: Vec<String>,
}

/// What has been done to the objects so far, if everybody follows the plan.
struct Plan {
    /// Per role: how many members it has.
    sizes: Vec<i64>,
    sum: i64,
    phases: [i64; 2],
    /// Per mbarrier: which roles arrive at it.
    arriving: [Vec<usize>; 2],
    /// Which roles meet at the split-phase barrier.
    meeting: Vec<usize>,
    expected: [i64; 3],
}

const LAUNCHES: &[&str] = &[
    "launch ascending resident 1",
    "launch descending resident 1",
    "launch any resident 1",
    "launch ascending resident 2",
    "launch any resident 2",
    "launch any resident all",
];

/// The text of this seed; it loads.
pub fn protocol(seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let source = attempt(&mut rng);
        if text::load(source.as_bytes()).is_ok() {
            return source;
        }
    }
}

fn attempt(rng: &mut ChaCha8Rng) -> String {
    let warps = rng.random_bool(0.4);
    let mut roles: Vec<Role> = (0..rng.random_range(1..=3))
        .map(|_| Role {
            members: rng.random_range(1..=2),
            grid: (!warps && rng.random_bool(0.3)).then(|| *LAUNCHES.choose(rng).unwrap()),
            warp: warps,
            body: Vec::new(),
        })
        .collect();
    if roles.len() == 1 || rng.random_bool(0.1) {
        roles[0].members = 3;
    }
    let mut plan = Plan {
        sizes: roles.iter().map(|role| role.members).collect(),
        sum: 0,
        phases: [0, 0],
        arriving: [some(&roles, rng), some(&roles, rng)],
        meeting: some(&roles, rng),
        expected: [1, 1, 1],
    };
    let size = |who: &[usize]| who.iter().map(|r| roles[*r].members).sum::<i64>();
    plan.expected = [
        size(&plan.arriving[0]),
        size(&plan.arriving[1]),
        size(&plan.meeting),
    ];
    if rng.random_bool(0.3) {
        let first = rng.random_range(0..roles.len());
        roles[first].body.push("init late".to_owned());
    }
    for _ in 0..rng.random_range(1..=5) {
        interact(&mut roles, &mut plan, rng);
    }
    for _ in 0..rng.random_range(0..=3) {
        edit(&mut roles, rng);
    }
    let [a, b, meeting] = plan.expected;
    let mut text = format!(
        "protocol interactions\n\n\
         semaphore sem = {}\n\
         mbarrier bar {{ arrivals: {a} }}\n\
         mbarrier other {{ arrivals: {b} }}\n\
         mbarrier late {{ arrivals: 1, init: explicit }}\n\
         barrier meet {{ arrivals: {meeting} }}\n\
         pool regs = {}\n",
        i64::from(rng.random_bool(0.05)),
        rng.random_range(1..=3)
    );
    if warps {
        text.push_str("named nb\n");
    }
    for (nth, role) in roles.iter().enumerate() {
        let (word, tail) = match role.grid {
            Some(launch) => ("grid", format!(" {launch}")),
            None => ("role", if role.warp { " warp" } else { "" }.to_owned()),
        };
        let _ = writeln!(text, "\n{word} r{nth}[i in 0..{}]{tail} {{", role.members);
        for line in &role.body {
            let _ = writeln!(text, "    {line}");
        }
        text.push_str("}\n");
    }
    text
}

/// Some of the roles, at least one.
fn some(roles: &[Role], rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..roles.len()).filter(|_| rng.random_bool(0.6)).collect();
    if all.is_empty() {
        all.push(rng.random_range(0..roles.len()));
    }
    all
}

fn interact(roles: &mut [Role], plan: &mut Plan, rng: &mut ChaCha8Rng) {
    let mut tell = |role: usize, line: String| roles[role].body.push(line);
    let count = plan.sizes.len();
    let by = rng.random_range(0..count);
    match rng.random_range(0..9) {
        0 | 1 => {
            let amount = rng.random_range(0..=2);
            tell(by, format!("sem += {amount}"));
            plan.sum += amount * plan.sizes[by];
            let sign = if rng.random_bool(0.5) { "==" } else { ">=" };
            let waits = rng.random_range(0..count);
            tell(waits, format!("wait sem {sign} {}", plan.sum));
        }
        2..=4 => {
            let which = rng.random_range(0..2);
            let name = ["bar", "other"][which];
            let bytes = if rng.random_bool(0.4) { 8 } else { 0 };
            for (nth, role) in plan.arriving[which].clone().into_iter().enumerate() {
                if bytes > 0 && nth == 0 {
                    tell(role, format!("arrive_expect_tx {name} {bytes}"));
                    match rng.random_range(0..3) {
                        0 => tell(role, format!("async copy tile completes {name} {bytes}")),
                        1 => {
                            tell(role, format!("async copy tile completes {name} 3"));
                            tell(role, format!("async copy tile completes {name} 5"));
                        }
                        _ => tell(role, format!("complete_tx {name} {bytes}")),
                    }
                } else if rng.random_bool(0.2) {
                    tell(role, format!("commit {name}"));
                } else {
                    tell(role, format!("arrive {name}"));
                }
            }
            for role in 0..count {
                if rng.random_bool(0.5) {
                    tell(role, format!("wait {name} {}", plan.phases[which] % 2));
                }
            }
            plan.phases[which] += 1;
        }
        5 => {
            for role in plan.meeting.clone() {
                tell(role, "arrive meet".to_owned());
            }
            for role in plan.meeting.clone() {
                tell(role, "wait meet".to_owned());
            }
        }
        6 => {
            let amount = rng.random_range(1..=2);
            tell(by, format!("acquire regs {amount}"));
            tell(by, format!("release regs {amount}"));
        }
        7 => {
            tell(by, "arrive late".to_owned());
            tell(by, format!("wait late {}", rng.random_range(0..=1)));
        }
        _ => {
            let threads: i64 = 32 * plan.sizes.iter().sum::<i64>();
            let blocking = rng.random_range(0..count);
            for role in 0..count {
                let word = if role == blocking || rng.random_bool(0.6) {
                    "sync"
                } else {
                    "arrive"
                };
                tell(role, format!("{word} nb {threads}"));
            }
        }
    }
}

const STRAY: &[&str] = &[
    "sem += 1",
    "sem = 0",
    "sem = 2",
    "wait sem >= 1",
    "wait sem == 1",
    "arrive bar",
    "arrive bar 2",
    "wait bar 0",
    "wait other 1",
    "expect_tx bar 4",
    "complete_tx bar 4",
    "async copy tile completes bar 4",
    "async copy tile completes late 2",
    "commit other",
    "commit late",
    "init late",
    "arrive meet",
    "wait meet",
    "acquire regs 1",
    "release regs 1",
    "acquire regs 2",
    "sync nb 64",
    "arrive nb 64",
    "sync nb 32",
];

fn edit(roles: &mut [Role], rng: &mut ChaCha8Rng) {
    let role = rng.random_range(0..roles.len());
    let body = &mut roles[role].body;
    let at = rng.random_range(0..=body.len());
    match rng.random_range(0..5) {
        0 if at < body.len() => {
            body.remove(at);
        }
        1 if at + 1 < body.len() => body.swap(at, at + 1),
        2 if at < body.len() => {
            let copy = body[at].clone();
            let to = rng.random_range(0..=body.len());
            body.insert(to, copy);
        }
        _ => body.insert(at, (*STRAY.choose(rng).unwrap()).to_owned()),
    }
}
