//! Random protocols over semaphores: known schemes, nearly all of them then damaged a little, and
//! programs without any idea behind them. The same seed gives the same text.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::text;

/// A statement of a program under construction.
#[derive(Clone)]
enum Node {
    Line(String),
    Block(String, Vec<Node>),
    /// `if` with an `else`.
    Either(String, Vec<Node>, Vec<Node>),
}

/// A protocol under construction.
#[derive(Clone)]
struct Draft {
    /// Everything before the grid, one declaration each.
    head: Vec<String>,
    indices: String,
    launch: String,
    resident: String,
    body: Vec<Node>,
}

impl Draft {
    fn text(&self) -> String {
        let mut text = String::from("protocol generated\n\n");
        for line in &self.head {
            text.push_str(line);
            text.push('\n');
        }
        let mut header = format!("\ngrid cta{}", self.indices);
        for (word, value) in [("launch", &self.launch), ("resident", &self.resident)] {
            if !value.is_empty() {
                header.push_str(&format!(" {word} {value}"));
            }
        }
        text.push_str(&header);
        text.push_str(" {\n");
        print(&self.body, 1, &mut text);
        text.push_str("}\n");
        text
    }
}

fn print(nodes: &[Node], depth: usize, text: &mut String) {
    let indent = "    ".repeat(depth);
    for node in nodes {
        match node {
            Node::Line(line) => text.push_str(&format!("{indent}{line}\n")),
            Node::Block(header, body) => {
                text.push_str(&format!("{indent}{header} {{\n"));
                print(body, depth + 1, text);
                text.push_str(&format!("{indent}}}\n"));
            }
            Node::Either(header, then, otherwise) => {
                text.push_str(&format!("{indent}{header} {{\n"));
                print(then, depth + 1, text);
                text.push_str(&format!("{indent}}} else {{\n"));
                print(otherwise, depth + 1, text);
                text.push_str(&format!("{indent}}}\n"));
            }
        }
    }
}

/// The text of this seed; it loads.
pub fn protocol(seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let mut draft = if rng.random_bool(0.3) {
            random_program(&mut rng)
        } else {
            scheme(&mut rng)
        };
        if text::load(draft.text().as_bytes()).is_err() {
            continue;
        }
        for _ in 0..rng.random_range(0..=3) {
            // Most edits of a text make sense; the others are taken back.
            for _ in 0..12 {
                let mut edited = draft.clone();
                mutate(&mut edited, &mut rng);
                if text::load(edited.text().as_bytes()).is_ok() {
                    draft = edited;
                    break;
                }
            }
        }
        return draft.text();
    }
}

/// A scheme in which the CTAs of number 100 do something else, which may be just as good.
pub fn late(seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let mut whole = scheme(&mut rng);
        let mut other = whole.clone();
        for _ in 0..rng.random_range(1..=2) {
            let mut edited = other.clone();
            mutate(&mut edited, &mut rng);
            edited.head.clone_from(&whole.head);
            if text::load(edited.text().as_bytes()).is_ok() {
                other.body = edited.body;
            }
        }
        let index = whole.indices[1..]
            .split(' ')
            .next()
            .unwrap_or("n")
            .to_owned();
        let usual = std::mem::take(&mut whole.body);
        whole.body = vec![Node::Either(
            format!("if {index} == 100"),
            other.body,
            usual,
        )];
        if text::load(whole.text().as_bytes()).is_ok() {
            return whole.text();
        }
    }
}

fn pick<'a>(rng: &mut ChaCha8Rng, from: &[&'a str]) -> &'a str {
    from[rng.random_range(0..from.len())]
}

fn lines(text: &[&str]) -> Vec<Node> {
    text.iter().map(|l| Node::Line((*l).to_owned())).collect()
}

fn block(header: &str, body: Vec<Node>) -> Node {
    Node::Block(header.to_owned(), body)
}

fn open_head() -> Vec<String> {
    strings(&[
        "param N in 1..",
        "param M in 1..",
        "pattern visits[N, M]",
        "semaphore dq[M] = 0",
        "let rank(n, m) = count(k in 0..n where visits[k, m])",
        "let total(m) = count(k in 0..N where visits[k, m])",
    ])
}

fn strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|s| (*s).to_owned()).collect()
}

fn draft(head: Vec<String>, indices: &str, launch: &str, resident: &str, body: Vec<Node>) -> Draft {
    Draft {
        head,
        indices: indices.to_owned(),
        launch: launch.to_owned(),
        resident: resident.to_owned(),
        body,
    }
}

/// One of the schemes that kernels use, correct as it stands.
fn scheme(rng: &mut ChaCha8Rng) -> Draft {
    let order = pick(rng, &["", " ascending", " descending", " any order"]);
    let cmp = pick(rng, &["==", "==", ">="]);
    let row = format!("for m in row(visits, n){order}");
    let simple = |value: &str| {
        vec![
            Node::Line(format!("wait dq[m] {cmp} {value}")),
            Node::Line("dq[m] += 1".to_owned()),
        ]
    };
    let n = "[n in 0..N]";
    let dense = || strings(&["param N in 1..", "param M in 1..", "semaphore dq[M] = 0"]);
    match rng.random_range(0..24) {
        0 => draft(
            open_head(),
            n,
            "ascending",
            "1..",
            vec![block(&row, simple("rank(n, m)"))],
        ),
        1 => draft(
            open_head(),
            n,
            "descending",
            "1..",
            vec![block(&row, simple("total(m) - 1 - rank(n, m)"))],
        ),
        2 => draft(
            dense(),
            n,
            "ascending",
            "1..",
            vec![block("for m in 0..M", simple("n"))],
        ),
        3 => {
            // Causal: a triangle of tiles.
            let (range, value, launch) = [
                ("for m in n..M", "n", "ascending"),
                ("for m in n..M", "min(m, N - 1) - n", "descending"),
                ("for m in 0..min(M, n + 1)", "N - 1 - n", "descending"),
                ("for m in 0..min(M, n + 1)", "n - m", "ascending"),
            ][rng.random_range(0..4)];
            let range = format!("{range}{}", pick(rng, &["", " descending"]));
            draft(
                dense(),
                n,
                launch,
                "1..",
                vec![block(&range, simple(value))],
            )
        }
        4 => {
            // Intervals with offsets.
            let mut head = strings(&["param N in 1..", "param M in 1.."]);
            head.extend(strings(&[
                "param S in 1..",
                "param W in 1..",
                "let first(n) = min(M, n * S)",
                "let end(n) = min(M, n * S + W)",
                "pattern visits[n in 0..N, m in 0..M] = first(n) <= m && m < end(n)",
                "semaphore dq[M] = 0",
                "let rank(n, m) = count(k in 0..n where visits[k, m])",
            ]));
            let mut body = vec![block(
                "for m in first(n)..end(n)",
                vec![
                    Node::Line(format!("wait dq[m] {cmp} rank(n, m)")),
                    block("if m > first(n)", lines(&["dq[m - 1] += 1"])),
                ],
            )];
            body.push(block(
                "if first(n) < end(n)",
                lines(&["dq[end(n) - 1] += 1"]),
            ));
            draft(head, n, "ascending", "1..", body)
        }
        5 => draft(
            dense(),
            n,
            "ascending",
            "1..",
            vec![
                block(
                    "for m in 0..M",
                    vec![
                        Node::Line(format!("wait dq[m] {cmp} n")),
                        block("if m > 0", lines(&["dq[m - 1] += 1"])),
                    ],
                ),
                Node::Line("dq[M - 1] += 1".to_owned()),
            ],
        ),
        6 => draft(
            open_head(),
            n,
            "ascending",
            "1..",
            vec![
                Node::Line("var last = -1".to_owned()),
                block(
                    &row,
                    vec![
                        Node::Line(format!("wait dq[m] {cmp} rank(n, m)")),
                        block("if last >= 0", lines(&["dq[last] += 1"])),
                        Node::Line("last = m".to_owned()),
                    ],
                ),
                block("if last >= 0", lines(&["dq[last] += 1"])),
            ],
        ),
        7 => {
            let head = strings(&[
                "param N in 1..",
                "param HK in 1..",
                "param G in 1..",
                "semaphore dk[N, HK] = 0",
            ]);
            let (index, launch, value) = [
                ("[h in 0..HK * G][n in 0..N]", "ascending", "h % G"),
                (
                    "[h in 0..HK * G][n in 0..N]",
                    "h ascending, n descending",
                    "h % G",
                ),
                (
                    "[n in 0..N][h in 0..HK * G]",
                    "n descending, h ascending",
                    "h - h / G * G",
                ),
                ("[h in 0..HK * G][n in 0..N]", "descending", "G - 1 - h % G"),
            ][rng.random_range(0..4)];
            let body = vec![
                Node::Line(format!("wait dk[n, h / G] {cmp} {value}")),
                Node::Line("dk[n, h / G] += 1".to_owned()),
            ];
            draft(head, index, launch, "1..", body)
        }
        8 => {
            // Clusters of two CTAs.
            let head = strings(&[
                "param C in 1..",
                "param M in 1..",
                "semaphore dq[M] = 0",
                "pattern visits[2 * C, M]",
                "let rank(n, m) = count(k in 0..n where visits[k, m])",
            ]);
            let body = if rng.random_bool(0.5) {
                vec![block("for m in 0..M", simple("2 * c + r"))]
            } else {
                vec![block(
                    &format!("for m in row(visits, 2 * c + r){order}"),
                    simple("rank(2 * c + r, m)"),
                )]
            };
            draft(head, "[c in 0..C][r in 0..2]", "ascending", "1..", body)
        }
        9 => {
            // Partly masked and full tiles in two loops.
            let head = strings(&[
                "param N in 1..",
                "param M in 1..",
                "pattern part[N, M]",
                "pattern full[N, M]",
                "semaphore dq[M] = 0",
                "let both(n, m) = count(k in 0..n where part[k, m]) + count(k in 0..n where full[k, m])",
            ]);
            let body = vec![
                block(
                    &format!("for m in row(part, n){order}"),
                    simple("both(n, m)"),
                ),
                block(
                    "for i in row(full, n)",
                    vec![
                        Node::Line(format!(
                            "wait dq[i] {cmp} both(n, i) + (if part[n, i] then 1 else 0)"
                        )),
                        Node::Line("dq[i] += 1".to_owned()),
                    ],
                ),
            ];
            draft(head, n, "ascending", "1..", body)
        }
        10 => {
            // Increments for the tiles that are not visited.
            let head = strings(&[
                "param N in 1..",
                "param M in 1..",
                "param D in 0..=3",
                "semaphore dq[M] = 0",
            ]);
            let body = vec![
                block("for m in min(n, M)..min(n + D, M)", simple("n")),
                block("for i in 0..min(n, M)", lines(&["dq[i] += 1"])),
                block("for j in min(n + D, M)..M", lines(&["dq[j] += 1"])),
            ];
            let mut draft = draft(head, n, "ascending", "1..", body);
            if rng.random_bool(0.5) {
                // As published: only the tiles behind the window.
                draft.body.remove(1);
            }
            draft
        }
        11 => {
            let head = strings(&[
                "param H in 1..",
                "param N in 1..",
                "param M in 1..",
                "pattern visits[H, N, M]",
                "semaphore dq[H, M] = 0",
                "let rank(h, n, m) = count(k in 0..n where visits[h, k, m])",
            ]);
            let body = vec![
                Node::Line(format!("wait dq[h, m] {cmp} rank(h, n, m)")),
                Node::Line("dq[h, m] += 1".to_owned()),
            ];
            let row = format!("for m in row(visits, h, n){order}");
            if rng.random_bool(0.5) {
                let launch = pick(rng, &["ascending", "n ascending, h descending"]);
                draft(
                    head,
                    "[h in 0..H][n in 0..N]",
                    launch,
                    "1..",
                    vec![block(&row, body)],
                )
            } else {
                // Every CTA goes through the heads.
                let body = vec![block("for h in 0..H", vec![block(&row, body)])];
                draft(head, n, "ascending", "1..", body)
            }
        }
        12 => draft(
            open_head(),
            n,
            "ascending",
            "1..",
            vec![block(
                &row,
                vec![
                    Node::Line(format!("wait dq[m] {cmp} 2 * rank(n, m)")),
                    Node::Line("dq[m] += 2".to_owned()),
                ],
            )],
        ),
        13 => {
            // Two semaphore families.
            let head = strings(&[
                "param N in 1..",
                "param M in 1..",
                "semaphore dq[M] = 0",
                "semaphore dk[2] = 0",
            ]);
            let body = vec![
                block("for m in 0..M", simple("n")),
                Node::Line(format!("wait dk[n % 2] {cmp} n / 2")),
                Node::Line("dk[n % 2] += 1".to_owned()),
            ];
            draft(head, n, "ascending", "1..", body)
        }
        14 => {
            // A variable that several loops carry, and copies of it.
            let head = strings(&[
                "param N in 1..",
                "param M in 1..",
                "semaphore dq[M + 2] = 0",
            ]);
            let first = pick(rng, &["0..1", "0..M", "1..M + 1", "n..M + 1"]);
            let second = pick(rng, &["0..2", "0..M + 1", "2..3"]);
            let copy = pick(rng, &["last", "last + 0", "if n < 2 then 1 else last"]);
            let body = vec![
                Node::Line("var last = 0".to_owned()),
                block(&format!("for i in {first}"), lines(&["last = i"])),
                Node::Line(format!("var x = {copy}")),
                block(
                    &format!("for j in {second}"),
                    vec![
                        block("if last == j", lines(&["x = x"])),
                        Node::Line("last = j".to_owned()),
                    ],
                ),
                Node::Line(format!("wait dq[x] {cmp} n")),
                Node::Line(format!("dq[{}] += 1", pick(rng, &["x", "x", "last", "1"]))),
            ];
            let mut all = draft(head, n, "ascending", "1..", body);
            if rng.random_bool(0.7)
                && let Node::Block(_, inner) = &mut all.body[3]
            {
                inner.remove(0);
            }
            all
        }
        15 => {
            let band = pick(
                rng,
                &[
                    "m <= n",
                    "n <= m && m <= n + 1",
                    "(n + m) % 2 == 0",
                    "abs(n - m) <= 1",
                    "m < M - n",
                ],
            );
            let mut head = open_head();
            head[2] = format!("pattern visits[n in 0..N, m in 0..M] = {band}");
            draft(
                head,
                n,
                "ascending",
                "1..",
                vec![block(&row, simple("rank(n, m)"))],
            )
        }
        16 => {
            let head = strings(&["param N in 1..", "param I in 0..=2", "semaphore s = I"]);
            let body = vec![
                Node::Line(format!("wait s {cmp} 2 * n + I")),
                Node::Line("s += 1".to_owned()),
                Node::Line(format!("wait s {cmp} 2 * n + 1 + I")),
                Node::Line("s += 1".to_owned()),
            ];
            draft(head, n, "ascending", "1..", body)
        }
        17 => {
            // A rotated schedule: safe where everything is resident.
            let body = vec![block(
                "for i in 0..M",
                lines(&["wait dq[(n + i) % M] == n", "dq[(n + i) % M] += 1"]),
            )];
            draft(dense(), n, "ascending", pick(rng, &["all", "1.."]), body)
        }
        18 => {
            let head = strings(&["param N in 1..", "semaphore s = 0"]);
            let value = pick(
                rng,
                &["n", "N - 1 - n", "max(n, 0)", "if n == 0 then 0 else n"],
            );
            let body = vec![
                Node::Line(format!("wait s {cmp} {value}")),
                Node::Line("s += 1".to_owned()),
            ];
            let launch = pick(rng, &["ascending", "descending", "any"]);
            draft(head, n, launch, pick(rng, &["all", "1..", "2", "N"]), body)
        }
        19 => {
            // Two indices counted together.
            let head = strings(&["param A in 1..", "param B in 1..", "semaphore s = 0"]);
            let (value, launch) = [
                ("a * B + b", "ascending"),
                ("b * A + a", "b ascending, a ascending"),
                ("A * B - 1 - (a * B + b)", "descending"),
                ("(A - 1 - a) * B + b", "a descending, b ascending"),
            ][rng.random_range(0..4)];
            let body = vec![
                Node::Line(format!("wait s {cmp} {value}")),
                Node::Line("s += 1".to_owned()),
            ];
            draft(head, "[a in 0..A][b in 0..B]", launch, "1..", body)
        }
        20 => {
            // Leaving early.
            let guard = pick(rng, &["n % 2 == 1", "n >= M", "n == 0", "N - n > M"]);
            let mut head = dense();
            head.push(format!(
                "let turn(n) = count(n1 in 0..n where !({}))",
                guard.replace('n', "n1")
            ));
            let body = vec![
                block(&format!("if {guard}"), lines(&["return"])),
                block("for m in 0..M", simple("turn(n)")),
            ];
            draft(head, n, "ascending", "1..", body)
        }
        21 => {
            // A ring: each element is handed on by the CTA before.
            let head = strings(&["param N in 1..", "param M in 1..", "semaphore s[N] = 0"]);
            let body = vec![
                block("if n > 0", vec![Node::Line(format!("wait s[n] {cmp} 1"))]),
                block("if n + 1 < N", lines(&["s[n + 1] += 1"])),
            ];
            draft(head, n, "ascending", "1..", body)
        }
        22 => {
            // Waiting for everybody before, adding first or last.
            let head = strings(&["param N in 1..", "param M in 1..", "semaphore s[M] = 0"]);
            let mut body = vec![
                block("for m in 0..M", lines(&["s[m] += 1"])),
                block(
                    "for i in 0..M",
                    vec![Node::Line(format!(
                        "wait s[i] >= {}",
                        pick(rng, &["n", "n + 1", "N", "1"])
                    ))],
                ),
            ];
            if rng.random_bool(0.5) {
                body.swap(0, 1);
            }
            draft(head, n, "ascending", pick(rng, &["all", "1.."]), body)
        }
        _ => {
            let mut head = open_head();
            head[3] = "semaphore dq[M] = any".to_owned();
            draft(
                head,
                n,
                "ascending",
                "1..",
                vec![block(&row, simple("rank(n, m)"))],
            )
        }
    }
}

// ---- Programs without an idea ----

struct Random<'r> {
    rng: &'r mut ChaCha8Rng,
    two: bool,
    /// Names that hold an integer.
    scope: Vec<String>,
    locals: Vec<String>,
    fresh: usize,
    in_loop: usize,
}

fn random_program(rng: &mut ChaCha8Rng) -> Draft {
    let two = rng.random_bool(0.35);
    let defined = rng.random_bool(0.3);
    let mut head = strings(&["param N in 1..", "param M in 1.."]);
    if rng.random_bool(0.2) {
        head.push(
            pick(
                rng,
                &["param K in 0..=2", "param K in {1, 3}", "param K in -1..=1"],
            )
            .to_owned(),
        );
    } else {
        head.push("let K = 1".to_owned());
    }
    head.push(if defined {
        format!(
            "pattern visits[n in 0..N, m in 0..M] = {}",
            pick(
                rng,
                &[
                    "m <= n",
                    "(n + m) % 2 == 0",
                    "n != m",
                    "m >= N - n",
                    "m % 2 == n % 2 || n > m"
                ]
            )
        )
    } else {
        "pattern visits[N, M]".to_owned()
    });
    let initial = pick(rng, &["0", "0", "0", "1", "K", "any"]);
    head.push(format!("semaphore s[M] = {initial}"));
    head.push(format!(
        "semaphore t{} = 0",
        pick(rng, &["", "[2]", "[N, M]"])
    ));
    let mut random = Random {
        rng,
        two,
        scope: strings(if two { &["n", "h"] } else { &["n"] }),
        locals: Vec::new(),
        fresh: 0,
        in_loop: 0,
    };
    let arity = match head.last().map(String::as_str) {
        Some("semaphore t = 0") => 0,
        Some("semaphore t[2] = 0") => 1,
        _ => 2,
    };
    let body = random.block(0, arity);
    let launch = pick(
        random.rng,
        if two {
            &[
                "ascending",
                "descending",
                "any",
                "n descending, h ascending",
                "h ascending, n ascending",
            ]
        } else {
            &["ascending", "ascending", "descending", "any"]
        },
    );
    let resident = pick(random.rng, &["1..", "1..", "all", "2", "N + 1"]);
    let indices = if two {
        "[n in 0..N][h in 0..2]"
    } else {
        "[n in 0..N]"
    };
    draft(head, indices, launch, resident, body)
}

impl Random<'_> {
    fn int(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.random_bool(0.35) {
            let names = self.scope.len() + self.locals.len();
            let at = self.rng.random_range(0..names + 4);
            return match at {
                _ if at < self.scope.len() => self.scope[at].clone(),
                _ if at < names => self.locals[at - self.scope.len()].clone(),
                _ => pick(self.rng, &["0", "1", "N", "M", "K", "2"]).to_owned(),
            };
        }
        let (a, b) = (self.int(depth - 1), self.int(depth - 1));
        match self.rng.random_range(0..12) {
            0 | 1 => format!("{a} + {b}"),
            2 | 3 => format!("({a} - {b})"),
            4 => format!("min({a}, {b})"),
            5 => format!("max({a}, {b})"),
            6 => format!("({a}) / 2"),
            7 => format!("({a}) % {}", pick(self.rng, &["2", "3", "M", "N"])),
            8 => {
                let c = self.truth(depth - 1);
                format!("(if {c} then {a} else {b})")
            }
            9 | 10 => {
                self.fresh += 1;
                let k = format!("k{}", self.fresh);
                self.scope.push(k.clone());
                let c = if self.rng.random_bool(0.7) {
                    let m = self.int(0);
                    format!("visits[{k}, {m}]")
                } else {
                    self.truth(0)
                };
                self.scope.pop();
                format!("count({k} in {a}..{b} where {c})")
            }
            _ => format!("{} * ({a})", self.rng.random_range(1..3)),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        let (a, b) = (self.int(depth), self.int(depth));
        match self.rng.random_range(0..6) {
            0 => format!("visits[{a}, {b}]"),
            1 if depth > 0 => format!("({} && {})", self.truth(depth - 1), self.truth(depth - 1)),
            2 if depth > 0 => format!("!({} || {})", self.truth(depth - 1), self.truth(depth - 1)),
            _ => format!(
                "{a} {} {b}",
                pick(self.rng, &["==", "!=", "<", "<=", ">", ">="])
            ),
        }
    }

    fn cell(&mut self, arity: usize) -> String {
        if self.rng.random_bool(0.6) {
            let bound = self
                .scope
                .iter()
                .rev()
                .find(|v| v.starts_with('m'))
                .cloned();
            let at = bound.unwrap_or_else(|| pick(self.rng, &["0", "n % M", "M - 1"]).to_owned());
            return format!("s[{at}]");
        }
        match arity {
            0 => "t".to_owned(),
            1 => format!("t[{}]", pick(self.rng, &["0", "1", "n % 2"])),
            _ => format!(
                "t[{}, {}]",
                pick(self.rng, &["n", "N - 1 - n", "0"]),
                pick(self.rng, &["0", "n % M"])
            ),
        }
    }

    fn block(&mut self, depth: usize, arity: usize) -> Vec<Node> {
        let locals = self.locals.len();
        let count = self.rng.random_range(1..=3);
        let nodes = (0..count)
            .flat_map(|_| self.statement(depth, arity))
            .collect();
        self.locals.truncate(locals);
        nodes
    }

    fn statement(&mut self, depth: usize, arity: usize) -> Vec<Node> {
        let choice = self.rng.random_range(0..if depth < 2 { 13 } else { 8 });
        match choice {
            0..=2 => {
                // The usual pair.
                let cell = self.cell(arity);
                let cmp = pick(self.rng, &["==", ">="]);
                let value = if self.two && self.rng.random_bool(0.4) {
                    "2 * n + h".to_owned()
                } else if self.rng.random_bool(0.6) {
                    "n".to_owned()
                } else {
                    self.int(2)
                };
                vec![
                    Node::Line(format!("wait {cell} {cmp} {value}")),
                    Node::Line(format!("{cell} += 1")),
                ]
            }
            3 => {
                let (cell, value) = (self.cell(arity), self.int(2));
                vec![Node::Line(format!(
                    "wait {cell} {} {value}",
                    pick(self.rng, &["==", ">="])
                ))]
            }
            4 => {
                let cell = self.cell(arity);
                let amount = pick(self.rng, &["1", "1", "2", "n + 1", "0"]);
                vec![Node::Line(format!("{cell} += {amount}"))]
            }
            5 => {
                self.fresh += 1;
                let name = format!("x{}", self.fresh);
                let value = self.int(1);
                self.locals.push(name.clone());
                vec![Node::Line(format!("var {name} = {value}"))]
            }
            6 => {
                if self.locals.is_empty() {
                    return lines(&["s[n % M] += 1"]);
                }
                let at = self.rng.random_range(0..self.locals.len());
                let (name, value) = (self.locals[at].clone(), self.int(1));
                vec![Node::Line(format!("{name} = {value}"))]
            }
            7 => {
                let leave = if self.in_loop > 0 && self.rng.random_bool(0.5) {
                    "break"
                } else {
                    "return"
                };
                let condition = self.truth(1);
                vec![block(&format!("if {condition}"), lines(&[leave]))]
            }
            8 => {
                let condition = self.truth(1);
                let (then, otherwise) =
                    (self.block(depth + 1, arity), self.block(depth + 1, arity));
                vec![if self.rng.random_bool(0.5) {
                    Node::Either(format!("if {condition}"), then, otherwise)
                } else {
                    block(&format!("if {condition}"), then)
                }]
            }
            _ => {
                self.fresh += 1;
                let var = format!("m{}", self.fresh);
                let over = match self.rng.random_range(0..6) {
                    0..=2 => {
                        let row = if self.rng.random_bool(0.85) {
                            "n".to_owned()
                        } else {
                            self.int(1)
                        };
                        format!(
                            "row(visits, {row}){}",
                            pick(self.rng, &["", " ascending", " descending", " any order"])
                        )
                    }
                    3 => "0..M".to_owned(),
                    4 => format!(
                        "{}..M",
                        pick(self.rng, &["n", "1", "max(0, M - n)", "n / 2"])
                    ),
                    _ => {
                        let hi = self.int(1);
                        format!("0..min(M, {hi}){}", pick(self.rng, &["", " descending"]))
                    }
                };
                let carry = !self.locals.is_empty() && self.rng.random_bool(0.4);
                self.scope.push(var.clone());
                self.in_loop += 1;
                let mut body = self.block(depth + 1, arity);
                self.in_loop -= 1;
                self.scope.pop();
                if carry {
                    let at = self.rng.random_range(0..self.locals.len());
                    body.push(Node::Line(format!("{} = {var}", self.locals[at])));
                }
                vec![block(&format!("for {var} in {over}"), body)]
            }
        }
    }
}

// ---- Damage ----

fn mutate(draft: &mut Draft, rng: &mut ChaCha8Rng) {
    match rng.random_range(0..20) {
        0 => draft.launch = pick(rng, &["ascending", "descending", "any"]).to_owned(),
        1 => draft.resident = pick(rng, &["1..", "all", "1", "2", "N", "max(1, N - 1)"]).to_owned(),
        2 => {
            // Another initial value.
            let value = pick(rng, &["1", "any", "0", "2"]);
            edit_head(draft, rng, "semaphore ", |line| {
                line.split_once(" = ")
                    .map(|(left, _)| format!("{left} = {value}"))
            });
        }
        3 => {
            let domain = pick(rng, &["1..", "1..=3", "{1, 2, 3}", "0..", "2.."]);
            edit_head(draft, rng, "param ", |line| {
                line.split_once(" in ")
                    .map(|(left, _)| format!("{left} in {domain}"))
            });
        }
        4 => draft.head.push(
            pick(
                rng,
                &[
                    "assume N <= M",
                    "assume N >= M",
                    "assume N <= 3",
                    "assume M == 1",
                    "assume N % 2 == 0",
                    "assume R >= 2",
                    "assume R >= N",
                ],
            )
            .to_owned(),
        ),
        5 => edit_head(draft, rng, "let ", |line| {
            let (left, right) = line.split_once(" = ")?;
            Some(format!("{left} = {right} + 1"))
        }),
        6 => {
            let nth = rng.random_range(0..4);
            edit_head(draft, rng, "", |line| nudge(line, nth))
        }
        7..=10 => {
            // Order of statements, and statements left out or done twice.
            let choice = rng.random_range(0..5);
            visit(draft, rng, |list, at, rng| match choice {
                0 | 1 if list.len() > 1 => {
                    let other = rng.random_range(0..list.len());
                    list.swap(at, other);
                }
                2 => {
                    list.remove(at);
                }
                3 => {
                    let again = list[at].clone();
                    list.insert(at, again);
                }
                _ => {
                    let condition = pick(
                        rng,
                        &[
                            "n > 0",
                            "n < N - 1",
                            "m > 0",
                            "m == n",
                            "n % 2 == 0",
                            "visits[n, m]",
                            "n != 1",
                        ],
                    );
                    list[at] = block(&format!("if {condition}"), vec![list[at].clone()]);
                }
            });
        }
        11 => {
            // A reset.
            if rng.random_bool(0.25) {
                visit(draft, rng, |list, at, _| {
                    if let Node::Line(line) = &list[at]
                        && let Some((cell, _)) = line.split_once(" += ")
                    {
                        list[at] = Node::Line(format!("{cell} = 0"));
                    }
                });
            }
        }
        12 => visit(draft, rng, |list, at, rng| {
            // Out of its loop or branch.
            if let Node::Block(_, body) = &mut list[at]
                && !body.is_empty()
            {
                let inner = rng.random_range(0..body.len());
                let moved = body.remove(inner);
                let place = if rng.random_bool(0.5) { at } else { at + 1 };
                list.insert(place, moved);
            }
        }),
        _ => visit(draft, rng, |list, at, rng| {
            let line = match &mut list[at] {
                Node::Line(line) => line,
                Node::Block(header, _) | Node::Either(header, _, _) => header,
            };
            if let Some(changed) = damage(line, rng) {
                *line = changed;
            }
        }),
    }
}

fn edit_head(
    draft: &mut Draft,
    rng: &mut ChaCha8Rng,
    start: &str,
    change: impl Fn(&str) -> Option<String>,
) {
    let places: Vec<usize> = (0..draft.head.len())
        .filter(|at| draft.head[*at].starts_with(start))
        .collect();
    if places.is_empty() {
        return;
    }
    let at = places[rng.random_range(0..places.len())];
    if let Some(changed) = change(&draft.head[at]) {
        draft.head[at] = changed;
    }
}

fn nudge(line: &str, nth: usize) -> Option<String> {
    let (from, to) = [
        ("0..n", "0..n + 1"),
        ("0..n", "1..n"),
        (" < ", " <= "),
        ("k, m", "k, m + 1"),
    ][nth];
    line.contains(from).then(|| line.replacen(from, to, 1))
}

/// Calls `change` at a random statement of a random block.
fn visit(
    draft: &mut Draft,
    rng: &mut ChaCha8Rng,
    change: impl Fn(&mut Vec<Node>, usize, &mut ChaCha8Rng),
) {
    fn go(
        list: &mut Vec<Node>,
        rng: &mut ChaCha8Rng,
        change: &dyn Fn(&mut Vec<Node>, usize, &mut ChaCha8Rng),
    ) {
        if list.is_empty() {
            return;
        }
        let at = rng.random_range(0..list.len());
        let deeper = rng.random_bool(0.7);
        match &mut list[at] {
            Node::Block(_, body) if deeper => go(body, rng, change),
            Node::Either(_, then, otherwise) if deeper => {
                let chosen = if rng.random_bool(0.5) {
                    then
                } else {
                    otherwise
                };
                go(chosen, rng, change);
            }
            _ => change(list, at, rng),
        }
    }
    go(&mut draft.body, rng, &change);
}

/// One small edit of a statement's text.
fn damage(line: &str, rng: &mut ChaCha8Rng) -> Option<String> {
    let edits = [
        ("==", ">="),
        (">=", "=="),
        ("> ", ">= "),
        ("< ", "<= "),
        (" - 1", ""),
        ("+= 1", "+= 2"),
        ("+= 1", "+= n + 1"),
        ("+= 2", "+= 1"),
        ("..M", "..M - 1"),
        ("0..", "1.."),
        ("..M", "..N"),
        ("n..", "n + 1.."),
        ("descending", "ascending"),
        ("ascending", "descending"),
        ("any order", "ascending"),
        ("visits, n)", "visits, n) descending"),
        ("visits, n)", "visits, n) any order"),
        ("visits, n)", "visits, N - 1 - n)"),
        ("[m]", "[m % M]"),
        ("[m]", "[M - 1 - m]"),
        ("[m]", "[0]"),
        ("[last]", "[m]"),
        ("last", "last - 1"),
        (" n", " n + 1"),
        (" n", " n - 1"),
        (" n", " N - 1 - n"),
        ("(n", "(n + 1"),
        (", m)", ", m + 1)"),
        ("rank", "total"),
        (" / ", " % "),
        (" % ", " / "),
        ("&&", "||"),
        ("..M", "..M descending"),
    ];
    if rng.random_bool(0.3)
        && line.contains(" in ")
        && !line.contains("row(")
        && !line.contains("descending")
    {
        return Some(format!("{line} descending"));
    }
    if rng.random_bool(0.25) && (line.starts_with("wait") || line.starts_with("if")) {
        return Some(format!(
            "{line} {}",
            pick(rng, &["+ 1", "- 1", "+ n", "+ K", "- N + N"])
        ));
    }
    let fitting: Vec<_> = edits
        .iter()
        .filter(|(from, _)| line.contains(from))
        .collect();
    if fitting.is_empty() {
        return None;
    }
    let (from, to) = fitting[rng.random_range(0..fitting.len())];
    Some(line.replacen(from, to, 1))
}

// ---- Expressions ----

/// A protocol whose only wait compares with a random expression over `n`, `m` and patterns.
pub fn expression(seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let band = pick(
            &mut rng,
            &[
                "m <= n",
                "(n + m) % 2 == 0",
                "n / 2 == m / 2",
                "m * n > 1 || n == m",
            ],
        );
        let mut random = Random {
            rng: &mut rng,
            two: false,
            scope: strings(&["n", "m", "D"]),
            locals: Vec::new(),
            fresh: 0,
            in_loop: 0,
        };
        let mut value = random.int(4);
        for (from, to) in [
            ("% M", "% (M - 1)"),
            ("/ 2", "/ (n - m)"),
            ("+ n", "+ (n % 2 ^ m)"),
            ("visits[k", "band[k"),
        ] {
            if rng.random_bool(0.2) {
                value = value.replacen(from, to, 1);
            }
        }
        let text = format!(
            "protocol generated\n\nparam N in 1..\nparam M in 1..\nparam D in -3..=3\nparam K in 0..=1\n\n\
             pattern visits[N, M]\npattern band[n in 0..N, m in 0..M] = {band}\n\nsemaphore s = 0\n\n\
             grid cta[n in 0..N] {{\n    for m in 0..M {{\n        wait s == {value}\n    }}\n}}\n"
        );
        if text::load(text.as_bytes()).is_ok() {
            return text;
        }
    }
}
