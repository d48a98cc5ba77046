//! Random protocols of threads, rings, counters and transactions: whatever the cut rule proves is
//! searched exhaustively at small parameter values, where nothing may hang, be undefined or fault.
//!
//! A protocol is a template that works, or nearly works, with up to four mutations: a number that
//! is off by one, a parity that is flipped, a guard that is new or gone, a statement that is
//! dropped, repeated or moved, another trip count. Seeds count from 0.
//!
//! `WARPLOCK_CASES` multiplies the number of cases (20 takes a few minutes in a release build),
//! `WARPLOCK_SEED` moves on to other ones, and `WARPLOCK_CASES_LOG` names a file that gets a line
//! of figures and the text of every protocol that was proved although it should not be.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Argument;
use warplock::certificate::manifest::Rejection;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Domain;
use warplock::protocol::Protocol;
use warplock::semantics::explore::Options;
use warplock::semantics::explore::SearchEnd;
use warplock::semantics::explore::explore_all;
use warplock::semantics::hazards::search::search_all;
use warplock::semantics::inputs::Bounds;
use warplock::semantics::unfold;
use warplock::semantics::unfold::Limits;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::Property;
use warplock::verdict::hazard::inapplicable;

/// Cases of one run.
const CASES: u64 = 330;

/// States per choice of parameter values.
const MAX_STATES: u64 = 15_000;

/// Values of an unbounded parameter: this many from the lowest on.
const VALUES: i64 = 4;

/// Time for the search of a proof, and for each obligation.
const LIMIT: Duration = Duration::from_secs(3);

#[path = "support/cut_templates.rs"]
mod cut_templates;

use cut_templates::TEMPLATES;

/// A statement or a declaration: a line, or a header with a block.
#[derive(Clone, Debug)]
struct Node {
    text: String,
    body: Option<Vec<Node>>,
}

fn parse(lines: &mut std::iter::Peekable<std::str::Lines<'_>>) -> Vec<Node> {
    let mut nodes = Vec::new();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line == "}" {
            return nodes;
        }
        if line.is_empty() {
            continue;
        }
        let node = match line.strip_suffix('{') {
            Some(header) => Node {
                text: header.trim().to_owned(),
                body: Some(parse(lines)),
            },
            None => Node {
                text: line.to_owned(),
                body: None,
            },
        };
        nodes.push(node);
    }
    nodes
}

fn print(nodes: &[Node], depth: usize, into: &mut String) {
    for node in nodes {
        let indent = "    ".repeat(depth);
        match &node.body {
            None => writeln!(into, "{indent}{}", node.text).unwrap(),
            Some(body) => {
                writeln!(into, "{indent}{} {{", node.text).unwrap();
                print(body, depth + 1, into);
                writeln!(into, "{indent}}}").unwrap();
            }
        }
    }
}

/// One of a list.
fn pick<'a, T>(rng: &mut ChaCha8Rng, all: &'a [T]) -> &'a T {
    &all[rng.random_range(0..all.len())]
}

/// What a piece of text may become.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    (".phase", &[".phase ^ 1", ".count % 2", ".count / 2 % 2"]),
    (".index", &[".count % S", ".index + 0", ".count % 2"]),
    ("producer(", &["consumer("]),
    ("consumer(", &["producer("]),
    ("phase ^ 1", &["phase", "1 - phase", "(phase + 1) % 2"]),
    ("% 2", &["% 1", "% 3", "% S"]),
    ("/ S", &["/ 2", "/ (S + 1)", "* S"]),
    ("% S", &["% 2", "% (S + 1)", "/ S", "% T"]),
    (">=", &["==", ">", "<"]),
    ("==", &[">=", "!=", "<=", "<"]),
    ("+ 1", &["+ 2", "+ 0", "- 1"]),
    ("- 1", &["- 2", "+ 1"]),
    (
        "N",
        &[
            "(N + 1)",
            "(N - 1)",
            "2 * N",
            "T",
            "min(N, T)",
            "max(N, 1)",
            "1",
            "2",
        ],
    ),
    ("T", &["(T + 1)", "(T - 1)", "2 * T", "max(T, 2)", "1", "N"]),
    ("S", &["(S - 1)", "2", "1", "(S + 1)"]),
    ("K", &["(K + 1)", "(K - 1)", "max(K, 1)", "N", "1"]),
    ("regs 1", &["regs 2", "regs K", "regs 0"]),
    (" 8", &[" 7", " 9"]),
    ("cta", &["1 - cta", "0"]),
    ("K", &["(K + 1)", "(K - 1)", "N", "1"]),
    ("0", &["1", "2"]),
    ("1", &["0", "2"]),
    ("2", &["1", "3"]),
    ("32", &["64"]),
    ("64", &["32", "96"]),
    ("10", &["20", "0", "5"]),
    ("i", &["(i + 1)", "(i - 1)", "0", "(N - i)", "(-i)"]),
    ("..", &["..1 + "]),
    ("wait", &["arrive"]),
    ("arrive", &["wait", "sync"]),
    ("sync", &["arrive"]),
    ("commit", &["arrive"]),
    ("arrive_expect_tx", &["expect_tx"]),
];

/// Replaces one of the places of a text in a line.
fn replace(line: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let mut places: Vec<(usize, &str, &[&str])> = Vec::new();
    for (from, to) in REPLACEMENTS {
        for (at, _) in line.match_indices(from) {
            // Whole words and numbers only.
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let inside = |c: Option<char>| from.starts_with(char::is_alphanumeric) && word(c);
            let before = inside(line[..at].chars().next_back());
            let after = from.ends_with(char::is_alphanumeric)
                && word(line[at + from.len()..].chars().next());
            if !before && !after {
                places.push((at, from, to));
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let (at, from, to) = *pick(rng, &places);
    let to = *pick(rng, to);
    Some(format!("{}{to}{}", &line[..at], &line[at + from.len()..]))
}

const GUARDS: &[&str] = &[
    "if N > 1",
    "if T > 1",
    "if T >= 3",
    "if N == 2",
    "if i > 0",
    "if i < N - 1",
    "if i % 2 == 0",
    "if i >= S",
    "if t == 0",
    "if t > 0",
    "if t < N",
    "if t == T - 1",
    "for x in 0..2",
    "for x in 0..N",
    "for x in 0..1",
    "for x in 1..N descending",
    "for x in N..0",
    "elect",
];

const INSERTED: &[&str] = &[
    "return",
    "if N > 1 {\nreturn\n}",
    "if t > 0 {\nreturn\n}",
    "if t == 1 {\nreturn\n} else {\nread x\n}",
    "if N > 1 {\nif T > 1 {\nreturn\n}\n}",
    "if N == 2 {\nif t == 0 {\nread x\nreturn\n} else {\nread x\n}\n}",
    "if T > 1 {\nif N > 1 {\nreturn\n} else {\nreturn\n}\n}",
];

/// Where statements stand: the path of positions from the top to each.
fn places(nodes: &[Node], inside_role: bool, path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    for (at, node) in nodes.iter().enumerate() {
        path.push(at);
        if inside_role {
            all.push(path.clone());
        }
        if let Some(body) = &node.body {
            let role = node.text.starts_with("role") || node.text.starts_with("grid");
            places(body, inside_role || role, path, all);
        }
        path.pop();
    }
}

fn block<'n>(nodes: &'n mut Vec<Node>, path: &[usize]) -> &'n mut Vec<Node> {
    match path {
        [_] | [] => nodes,
        [first, rest @ ..] => {
            let body = nodes[*first].body.as_mut().unwrap();
            block(body, rest)
        }
    }
}

fn mutate(nodes: &mut Vec<Node>, rng: &mut ChaCha8Rng) {
    let mut all = Vec::new();
    places(nodes, false, &mut Vec::new(), &mut all);
    if all.is_empty() {
        return;
    }
    let path = pick(rng, &all).clone();
    let last = *path.last().unwrap();
    match rng.random_range(0..20) {
        // A declaration, or the header of a role.
        0..4 => {
            let at = rng.random_range(0..nodes.len());
            if !nodes[at].text.starts_with("param")
                && let Some(text) = replace(&nodes[at].text, rng)
            {
                nodes[at].text = text;
            }
        }
        4..12 => {
            let node = &mut block(nodes, &path)[last];
            if let Some(text) = replace(&node.text, rng) {
                node.text = text;
            }
        }
        12 => {
            block(nodes, &path).remove(last);
        }
        13 => {
            let list = block(nodes, &path);
            let copy = list[last].clone();
            if !copy.text.starts_with("var") {
                let at = rng.random_range(0..=list.len());
                list.insert(at, copy);
            }
        }
        14 => {
            let list = block(nodes, &path);
            let other = rng.random_range(0..list.len());
            list.swap(last, other);
        }
        15 | 16 => {
            let guard = (*pick(rng, GUARDS)).to_owned();
            let list = block(nodes, &path);
            if !list[last].text.starts_with("var") {
                let inner = list[last].clone();
                list[last] = Node {
                    text: guard,
                    body: Some(vec![inner]),
                };
            }
        }
        17 => {
            // A loop loses its header, or runs backwards.
            let list = block(nodes, &path);
            if let Some(body) = list[last].body.clone() {
                if list[last].text.starts_with("for") && rng.random_bool(0.6) {
                    list[last].text.push_str(" descending");
                } else if rng.random_bool(0.5) {
                    list.splice(last..=last, body);
                }
            }
        }
        18 => {
            let inserted = parse(&mut pick(rng, INSERTED).lines().peekable());
            let list = block(nodes, &path);
            list.splice(last..last, inserted);
        }
        _ => {
            // A statement of another place.
            let from = pick(rng, &all).clone();
            let copy = block(nodes, &from)[*from.last().unwrap()].clone();
            if !copy.text.starts_with("var") && copy.body.is_none() {
                block(nodes, &path).insert(last, copy);
            }
        }
    }
}

fn generate(seed: u64) -> Option<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let template = pick(&mut rng, TEMPLATES);
    let mut nodes = parse(&mut template.lines().peekable());
    for _ in 0..rng.random_range(0..=4) {
        mutate(&mut nodes, &mut rng);
    }
    let mut source = String::from("protocol random\n");
    print(&nodes, 0, &mut source);
    text::load(source.as_bytes()).ok().map(|_| source)
}

/// The small parameter values.
fn grid(protocol: &Protocol) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for param in &protocol.params {
        let values: Vec<i64> = match &param.domain {
            Domain::AtLeast(lo) => (*lo..*lo + VALUES).collect(),
            Domain::Range(lo, hi) => (*lo..=(*hi).min(lo + VALUES)).collect(),
            Domain::Set(values) => values.clone(),
        };
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<i64>| {
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.push(*value);
                    chosen
                })
            })
            .filter(|chosen| chosen.iter().sum::<i64>() <= 9)
            .collect();
    }
    all.retain(|params| unfold::check_params(protocol, params).is_ok());
    all.sort_by_key(|params| params.iter().sum::<i64>());
    all
}

fn bounds() -> Bounds {
    Bounds {
        max_initial: 2,
        limits: Limits {
            ops: 2_000,
            members: 24,
            cells: 200,
            work: 500_000,
        },
    }
}

/// What is wrong at some small parameter values, and how many values were searched to the end.
fn wrong(protocol: &Protocol) -> (Option<String>, usize) {
    let bounds = bounds();
    let options = Options {
        max_states: MAX_STATES,
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        match explore_all(protocol, &params, &bounds, &options) {
            Ok(found) => {
                if found.stuck.is_some() {
                    return (Some(format!("stuck at {params:?}")), complete);
                }
                if let Some((_, _, violation)) = found.violation {
                    let what = format!("undefined at {params:?}: {:?}", violation.kind);
                    return (Some(what), complete);
                }
                complete += usize::from(found.end == SearchEnd::Exhausted);
            }
            Err(error) => {
                let text = error.to_string();
                if !text.contains("are needed") && !text.contains("work") {
                    return (Some(format!("cannot run at {params:?}: {text}")), complete);
                }
            }
        }
    }
    (None, complete)
}

/// Which of the other properties some small parameter values violate, and at how many values a
/// search came to its end.
fn violated(protocol: &Protocol, property: Property) -> (Option<String>, usize) {
    let options = Options {
        max_states: MAX_STATES,
        ..Options::default()
    };
    let mut complete = 0;
    for params in grid(protocol) {
        // Too large to run.
        let Ok(found) = search_all(protocol, &params, property, &bounds(), &options) else {
            continue;
        };
        if found.found.is_some() {
            return (Some(format!("{property:?} at {params:?}")), complete);
        }
        complete += usize::from(found.end == SearchEnd::Exhausted);
    }
    (None, complete)
}

/// Whether the rule proves that it has no deadlock.
fn proved(source: &str, protocol: &Protocol) -> bool {
    proved_by(Layer::Cuts, Property::Deadlock, source, protocol)
}

fn proved_by(layer: Layer, property: Property, source: &str, protocol: &Protocol) -> bool {
    let Guess::Fitting(argument) = proof::search(protocol, layer, LIMIT, None, &|_| {}) else {
        return false;
    };
    assert!(matches!(argument, Argument::Cut(_)), "{argument:?}");
    let issued = manifest::issue(source, &Narrowing::default(), property.name(), argument);
    let Ok((certificate, _)) = issued else {
        return false;
    };
    match manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}) {
        Ok(_) => true,
        Err(Rejection::Open { .. }) => false,
        Err(other) => panic!("{other}\n{source}"),
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn log(line: &str) {
    if let Ok(path) = std::env::var("WARPLOCK_CASES_LOG") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        writeln!(file.unwrap(), "{line}").unwrap();
    }
}

#[test]
fn what_is_proved_never_hangs() {
    let first = number("WARPLOCK_SEED", 0);
    let count = CASES * number("WARPLOCK_CASES", 1);
    let (mut texts, mut good, mut bad, mut proofs) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in first..first + count {
        let Some(source) = generate(seed) else {
            continue;
        };
        texts += 1;
        let protocol = text::load(source.as_bytes()).unwrap();
        let (wrong, complete) = wrong(&protocol);
        match wrong {
            Some(what) => {
                bad += 1;
                if proved(&source, &protocol) {
                    let failure = format!("seed {seed} is proved, but {what}\n{source}");
                    log(&failure);
                    failures.push(failure);
                }
            }
            // Only so many of those that are fine need be tried.
            None if complete >= 4 => {
                good += 1;
                proofs += usize::from(proved(&source, &protocol));
            }
            None => {}
        }
    }
    log(&format!(
        "seeds {first}..{}: {texts} protocols, {bad} of them hang, are undefined or fault at small \
         values; of {good} that do not, {proofs} are proved; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // It would test nothing if nothing was proved, or everything that can be.
    assert!(
        proofs * 8 >= good && bad * 4 >= texts,
        "{proofs} {good} {bad} {texts}"
    );
}

/// Seeds of their own, so that the two tests see different protocols.
const HAZARD_SEEDS: u64 = 1_000_000;

#[test]
fn what_a_consistent_cut_proves_is_never_violated() {
    let first = HAZARD_SEEDS + number("WARPLOCK_SEED", 0);
    let count = CASES / 3 * number("WARPLOCK_CASES", 1);
    let (mut proofs, mut searched, mut violations) = (0_u64, 0, 0_u64);
    let mut failures = Vec::new();
    let layers = [
        (
            Layer::Cuts,
            &[
                Property::EarlyPass,
                Property::LappedWait,
                Property::OverArrival,
            ][..],
        ),
        (
            Layer::ConsistentCuts,
            &[Property::EarlyCompletion, Property::TxMismatch][..],
        ),
    ];
    for seed in first..first + count {
        let Some(source) = generate(seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        for (layer, properties) in layers {
            let applies = |p: &&Property| inapplicable(&protocol, **p).is_none();
            let properties: Vec<Property> = properties.iter().filter(applies).copied().collect();
            let results: Vec<_> = properties.iter().map(|p| violated(&protocol, *p)).collect();
            let bad: Vec<&String> = results.iter().filter_map(|(bad, _)| bad.as_ref()).collect();
            violations += bad.len() as u64;
            let Some(property) = properties.first() else {
                continue;
            };
            if !proved_by(layer, *property, &source, &protocol) {
                continue;
            }
            proofs += 1;
            searched += results.iter().map(|(_, complete)| complete).sum::<usize>();
            if !bad.is_empty() {
                let failure = format!("seed {seed} is proved, but {bad:?}\n{source}");
                log(&failure);
                failures.push(failure);
            }
        }
    }
    log(&format!(
        "hazards, seeds {first}..{}: {proofs} proofs, {violations} violations of properties, \
         {searched} complete searches of what is proved; {} wrong proofs",
        first + count,
        failures.len()
    ));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(
        proofs * 8 >= count && violations * 8 >= count,
        "{proofs} {violations} {count}"
    );
}
