//! Barrier kernels that work, or nearly work, with up to four edits: a number that is off by one, a
//! parity that is flipped, a guard that is new or gone, a statement that is dropped, repeated or
//! moved, another trip count. The same seed gives the same text.

use std::fmt::Write as _;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::text;

/// Texts to edit, and what their pieces may become beside [`REPLACEMENTS`].
pub struct Kernels {
    pub templates: &'static [&'static str],
    pub replacements: &'static [(&'static str, &'static [&'static str])],
}

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
fn replace(line: &str, kernels: &Kernels, rng: &mut ChaCha8Rng) -> Option<String> {
    // What is special about these kernels as often as everything else.
    if !kernels.replacements.is_empty() && rng.random_bool(0.5) {
        return replace_by(line, kernels.replacements, rng);
    }
    replace_by(line, REPLACEMENTS, rng)
}

fn replace_by(
    line: &str,
    replacements: &[(&'static str, &'static [&'static str])],
    rng: &mut ChaCha8Rng,
) -> Option<String> {
    let mut places: Vec<(usize, &str, &[&str])> = Vec::new();
    for (from, to) in replacements {
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

fn mutate(nodes: &mut Vec<Node>, kernels: &Kernels, rng: &mut ChaCha8Rng) {
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
                && let Some(text) = replace(&nodes[at].text, kernels, rng)
            {
                nodes[at].text = text;
            }
        }
        4..12 => {
            let node = &mut block(nodes, &path)[last];
            if let Some(text) = replace(&node.text, kernels, rng) {
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

/// Replaces what is special about these kernels in some lines.
fn weaken(nodes: &mut Vec<Node>, kernels: &Kernels, rng: &mut ChaCha8Rng) {
    let mut all = Vec::new();
    places(nodes, true, &mut Vec::new(), &mut all);
    for path in all {
        let node = &mut block(nodes, &path)[*path.last().unwrap()];
        if rng.random_bool(0.08)
            && !node.text.starts_with("param")
            && let Some(text) = replace_by(&node.text, kernels.replacements, rng)
        {
            node.text = text;
        }
    }
}

/// The text of this seed, if it is a protocol.
pub fn generate(kernels: &Kernels, seed: u64) -> Option<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let template = pick(&mut rng, kernels.templates);
    let mut nodes = parse(&mut template.lines().peekable());
    if !kernels.replacements.is_empty() {
        weaken(&mut nodes, kernels, &mut rng);
    }
    let edits = if kernels.replacements.is_empty() {
        4
    } else {
        2
    };
    for _ in 0..rng.random_range(0..=edits) {
        mutate(&mut nodes, kernels, &mut rng);
    }
    let mut source = String::from("protocol random\n");
    print(&nodes, 0, &mut source);
    text::load(source.as_bytes()).ok().map(|_| source)
}
