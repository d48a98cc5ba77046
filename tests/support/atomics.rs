//! Random protocols whose members go on with what atomic operations return.
//!
//! Two roles work on the same few semaphores and one mbarrier. Conditions, bounds of loops, indices and amounts use the
//! results that are in scope, so that the ways of the members part and meet again.

use std::fmt::Write as _;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

struct Draft {
    rng: ChaCha8Rng,
    text: String,
    /// Results and variables in scope, and which of them are variables.
    names: Vec<(String, bool)>,
    next: usize,
    /// Statements that may still come in this role.
    left: usize,
    loops: usize,
}

/// The protocol of a seed.
pub fn protocol(seed: u64) -> String {
    let mut draft = Draft {
        rng: ChaCha8Rng::seed_from_u64(seed),
        text: String::new(),
        names: Vec::new(),
        next: 0,
        left: 0,
        loops: 0,
    };
    let start = draft.rng.random_range(0..2);
    let arrivals = draft.rng.random_range(1..=3);
    let _ = writeln!(
        draft.text,
        "protocol p param N in 1.. semaphore s[2] = {start} semaphore c = 0 buffer d[2] mbarrier m {{ arrivals: {arrivals} }}"
    );
    draft.role("role a[n in 0..N]", true);
    if draft.rng.random_bool(0.7) {
        let header = ["role b", "grid b[n in 0..2] launch ascending resident 1"];
        let header = header[draft.rng.random_range(0..2)];
        let results = draft.rng.random_bool(0.5);
        draft.role(header, results);
    }
    draft.text
}

impl Draft {
    fn role(&mut self, header: &str, results: bool) {
        let _ = write!(self.text, "{header} {{ ");
        self.names.clear();
        self.left = self.rng.random_range(2..=6);
        if results {
            self.fetch();
        }
        while self.left > 0 {
            self.statement(0, results);
        }
        self.text.push_str("}\n");
    }

    /// A number: a constant, or something of a name.
    fn number(&mut self) -> String {
        if !self.names.is_empty() && self.rng.random_bool(0.6) {
            let at = self.rng.random_range(0..self.names.len());
            let name = &self.names[at].0;
            return match self.rng.random_range(0..6) {
                0 => format!("{name} % 2"),
                1 => format!("max(1 - {name}, 0)"),
                2 => format!("min(abs({name}), 2)"),
                _ => name.clone(),
            };
        }
        self.rng.random_range(0..3).to_string()
    }

    fn small(&mut self) -> String {
        let number = self.number();
        format!("min(max({number}, 0), 2)")
    }

    fn semaphore(&mut self) -> String {
        match self.rng.random_range(0..8) {
            0 => format!("s[{}]", self.number()),
            1 | 2 => format!("s[abs({}) % 2]", self.number()),
            3..6 => "s[0]".to_owned(),
            6 => "s[1]".to_owned(),
            _ => "c".to_owned(),
        }
    }

    fn condition(&mut self) -> String {
        let sign = ["==", "<", ">=", "!="][self.rng.random_range(0..4)];
        let (a, b) = (self.number(), self.rng.random_range(0..3));
        format!("{a} {sign} {b}")
    }

    fn fetch(&mut self) {
        let semaphore = self.semaphore();
        let operation = match self.rng.random_range(0..6) {
            0..3 => format!("fetch_add({semaphore}, {})", self.rng.random_range(-1..3)),
            3 => format!("exchange({semaphore}, {})", self.small()),
            4 => format!(
                "compare_and_swap({semaphore}, {}, {})",
                self.small(),
                self.rng.random_range(0..3)
            ),
            _ => format!("fetch_add.relaxed({semaphore}, {})", self.small()),
        };
        let variable = self.rng.random_bool(0.3);
        let name = format!("t{}", self.next);
        self.next += 1;
        let word = if variable { "var" } else { "let" };
        let _ = write!(self.text, "{word} {name} = {operation} ");
        self.names.push((name, variable));
    }

    fn block(&mut self, depth: usize, results: bool) {
        let names = self.names.len();
        self.text.push_str("{ ");
        for _ in 0..self.rng.random_range(1..=2) {
            self.statement(depth + 1, results);
        }
        self.text.push_str("} ");
        self.names.truncate(names);
    }

    fn statement(&mut self, depth: usize, results: bool) {
        self.left = self.left.saturating_sub(1);
        let text = match self.rng.random_range(0..20) {
            0..4 if results => return self.fetch(),
            4..7 if depth < 2 => {
                let condition = self.condition();
                let _ = write!(self.text, "if {condition} ");
                self.block(depth, results);
                if self.rng.random_bool(0.4) {
                    self.text.push_str("else ");
                    self.block(depth, results);
                }
                return;
            }
            7 | 8 if depth < 2 => {
                let bound = self.small();
                let name = format!("i{}", self.next);
                self.next += 1;
                let order = if self.rng.random_bool(0.3) {
                    " descending"
                } else {
                    ""
                };
                let _ = write!(self.text, "for {name} in 0..{bound}{order} ");
                self.loops += 1;
                self.names.push((name, false));
                self.block(depth, results);
                self.names.pop();
                self.loops -= 1;
                return;
            }
            9 if self.loops > 0 => format!("if {} {{ break }} ", self.condition()),
            10 => format!("if {} {{ return }} ", self.condition()),
            11 => format!("wait {} >= {} ", self.semaphore(), self.number()),
            12 => format!("wait {} == {} ", self.semaphore(), self.number()),
            13 => format!(
                "wait compare_and_swap({}, {}, {}) ",
                self.semaphore(),
                self.small(),
                self.rng.random_range(0..3)
            ),
            14 => "arrive m ".to_owned(),
            15 => format!("{} = {} ", self.semaphore(), self.small()),
            16 => {
                let mut variables = self.names.iter().filter(|(_, variable)| *variable);
                match variables.next_back().cloned() {
                    Some((name, _)) => format!("{name} = {} ", self.small()),
                    None => "wait m 0 ".to_owned(),
                }
            }
            17 => format!("read d[abs({}) % 2] ", self.number()),
            18 => format!("write d[abs({}) % 2] ", self.number()),
            _ => format!("{} += {} ", self.semaphore(), self.small()),
        };
        self.text.push_str(&text);
    }
}
