//! Random protocols over the whole language.
//!
//! Roles of threads, warps or CTAs go through the same list of phrases, each of which works by
//! itself: a barrier, a handover, a ring, a counter, a pool and so on, inside the same loops and
//! under the same conditions. Then up to three of the small changes of the mutants are made, so
//! that about half of the protocols hang somewhere.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use warplock::text;

use super::mutants;
use super::mutants::Mutant;

/// How the members of all roles of a protocol are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Thread,
    Warp,
    Cluster,
    Grid,
}

/// A role under construction.
struct Role {
    header: String,
    /// How many members it has.
    members: &'static str,
    /// Its index, if it has one that may be told apart.
    index: Option<&'static str>,
    /// Assignments before everything else.
    vars: Vec<String>,
    body: Vec<String>,
}

struct Draft {
    rng: ChaCha8Rng,
    kind: Kind,
    objects: Vec<String>,
    roles: Vec<Role>,
    /// The loop variables around the current place.
    loops: Vec<&'static str>,
    next: usize,
}

/// A protocol and what was changed in it.
#[derive(Debug)]
pub struct Case {
    /// The text.
    pub source: String,
    /// The changes, for people.
    pub edits: Vec<String>,
}

/// A protocol, if the changes left it a meaning.
pub fn protocol(seed: u64) -> Option<Case> {
    let mut draft = Draft {
        rng: ChaCha8Rng::seed_from_u64(seed),
        kind: Kind::Thread,
        objects: Vec::new(),
        roles: Vec::new(),
        loops: Vec::new(),
        next: 0,
    };
    draft.roles();
    for _ in 0..draft.rng.random_range(1..=2) {
        draft.segment(0);
    }
    draft.ending();
    let mut case = Case {
        source: draft.text(),
        edits: Vec::new(),
    };
    text::load(case.source.as_bytes()).ok()?;
    let edits = [0, 0, 1, 1, 2, 3];
    for _ in 0..edits[draft.rng.random_range(0..edits.len())] {
        let mutant = edit(&case.source, &mut draft.rng)?;
        case.edits
            .push(format!("{}: {}", mutant.kind, mutant.change));
        case.source = mutant.source;
    }
    Some(case)
}

/// A mutant of a text, if there is one.
fn edit(source: &str, rng: &mut ChaCha8Rng) -> Option<Mutant> {
    let lines = mutants::lines(source);
    // Not every line can be changed.
    for _ in 0..20 {
        let mut all = mutants::of_line(&lines, rng.random_range(0..lines.len()));
        if !all.is_empty() {
            return Some(all.swap_remove(rng.random_range(0..all.len())));
        }
    }
    None
}

impl Draft {
    fn pick(&mut self, all: &[&'static str]) -> &'static str {
        all[self.rng.random_range(0..all.len())]
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.random_bool(probability)
    }

    fn roles(&mut self) {
        self.kind = match self.rng.random_range(0..10) {
            0..5 => Kind::Thread,
            5..8 => Kind::Warp,
            8 => Kind::Cluster,
            _ => Kind::Grid,
        };
        let role = |header: &str, members, index| Role {
            header: header.to_owned(),
            members,
            index,
            vars: Vec::new(),
            body: Vec::new(),
        };
        match self.kind {
            Kind::Thread => {
                self.roles.push(match self.rng.random_range(0..3) {
                    0 => role("role load", "1", None),
                    1 => role("role load[l in 0..2]", "2", Some("l")),
                    _ => role("role load[l in 0..T]", "T", Some("l")),
                });
                self.roles.push(match self.rng.random_range(0..3) {
                    0 => role("role math", "1", None),
                    _ => role("role math[t in 0..T]", "T", Some("t")),
                });
                if self.chance(0.3) {
                    self.roles.push(role("role store", "1", None));
                }
            }
            Kind::Warp => {
                self.roles.push(match self.rng.random_range(0..2) {
                    0 => role("role one warp", "1", None),
                    _ => role("role one[l in 0..2] warp", "2", Some("l")),
                });
                self.roles.push(match self.rng.random_range(0..3) {
                    0 => role("role other warp", "1", None),
                    _ => role("role other[w in 0..T] warp", "T", Some("w")),
                });
            }
            Kind::Cluster => {
                let both = role("role thread[cta in 0..2][t in 0..T]", "2 * T", Some("t"));
                self.roles.push(both);
            }
            Kind::Grid => {
                let launch = self.pick(&["ascending", "any", "descending"]);
                let header = format!("grid cta[n in 0..T] launch {launch} resident all");
                self.roles.push(role(&header, "T", Some("n")));
            }
        }
    }

    /// A new number for the names of an object.
    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn all(&mut self, line: &str) {
        for role in &mut self.roles {
            role.body.push(line.to_owned());
        }
    }

    /// A few phrases, perhaps in a loop or under a condition.
    fn segment(&mut self, depth: usize) {
        let frame = match depth {
            0 | 1 => self.rng.random_range(0..10),
            _ => 9,
        };
        let variable = ["i", "j", "k"][depth];
        let count = self.pick(&["N", "2", "K", "N + 1"]);
        let header = match frame {
            0..4 => format!("for {variable} in 0..{count} {{"),
            4 => format!("for {variable} in 1..{count} descending {{"),
            5 => format!("repeat {count} {{"),
            6 => {
                let conditions = ["N > 1", "T == 2", "K == 1", "T <= N"];
                let mut condition = self.pick(&conditions).to_owned();
                if let Some(outer) = self.loops.last().copied()
                    && self.chance(0.5)
                {
                    // A peeled round.
                    condition = format!("{outer} > 0");
                }
                format!("if {condition} {{")
            }
            _ => String::new(),
        };
        if frame <= 4 {
            self.loops.push(variable);
        }
        if !header.is_empty() {
            self.all(&header);
        }
        for _ in 0..self.rng.random_range(1..=2) {
            if depth < 2 && self.chance(0.2) {
                self.segment(depth + 1);
            } else {
                self.phrase();
            }
        }
        if frame <= 4 && self.chance(0.08) {
            self.all(&format!("if {variable} == 1 {{"));
            self.all("break");
            self.all("}");
        }
        if !header.is_empty() {
            self.all("}");
        }
        if frame <= 4 {
            self.loops.pop();
        }
    }

    fn ending(&mut self) {
        if self.chance(0.15) {
            let condition = self.pick(&["N == 2", "T > 1", "K == 2"]);
            self.all(&format!("if {condition} {{"));
            self.all("return");
            self.all("}");
            self.phrase();
        }
    }

    fn phrase(&mut self) {
        if self.kind == Kind::Cluster && self.chance(0.5) {
            return self.remote();
        }
        match self.rng.random_range(0..13) {
            0 => self.barrier(),
            1 if self.kind == Kind::Warp => self.named(),
            1 => self.barrier(),
            2 | 3 => self.handover(),
            4 | 5 => self.ring(),
            6 | 7 => self.counter(),
            8 => self.reset(),
            9 => self.pool(),
            10 => self.groups(),
            11 => self.initialised(),
            _ => self.turns(),
        }
    }

    /// Two roles, the first of which gives, or one that is both.
    fn pair(&mut self) -> (usize, usize) {
        let first = self.rng.random_range(0..self.roles.len());
        let second = self.rng.random_range(0..self.roles.len());
        (first, second)
    }

    fn total(&self) -> String {
        let members: Vec<&str> = self.roles.iter().map(|role| role.members).collect();
        members.join(" + ")
    }

    fn line(&mut self, role: usize, line: String) {
        self.roles[role].body.push(line);
    }

    /// A parity that starts so and flips after each use: the expression, and what flips it.
    fn parity(&mut self, role: usize, name: &str, start: i64) -> (String, String) {
        if self.chance(0.5) {
            self.roles[role].vars.push(format!("var {name} = {start}"));
            let flip = self.pick(&["^ 1", "sub"]);
            let flip = match flip {
                "sub" => format!("{name} = 1 - {name}"),
                flip => format!("{name} = {name} {flip}"),
            };
            return (name.to_owned(), flip);
        }
        let state = if start == 1 { "producer" } else { "consumer" };
        self.roles[role]
            .vars
            .push(format!("var {name} = {state}(1)"));
        (format!("{name}.phase"), format!("advance {name}"))
    }

    /// Everybody meets.
    fn barrier(&mut self) {
        let k = self.fresh();
        let total = self.total();
        self.objects
            .push(format!("barrier b{k} {{ arrivals: {total} }}"));
        for role in 0..self.roles.len() {
            if self.chance(0.5) {
                self.line(role, format!("sync b{k}"));
            } else {
                self.line(role, format!("arrive b{k}"));
                self.line(role, format!("wait b{k}"));
            }
        }
    }

    /// Warps meet at named barriers, or some only arrive, or count twice.
    fn named(&mut self) {
        let k = self.fresh();
        let total = self.total();
        self.objects.push(format!("named n{k}[2]"));
        let index = match self.loops.last().copied() {
            Some(variable) if self.chance(0.5) => format!("{variable} % 2"),
            _ => "0".to_owned(),
        };
        let count = format!("32 * ({total})");
        if self.roles.len() > 1 && self.chance(0.5) {
            // A handover there and back.
            self.line(0, format!("arrive n{k}[0] {count}"));
            self.line(1, format!("sync n{k}[0] {count}"));
            self.line(1, format!("arrive n{k}[1] {count}"));
            self.line(0, format!("sync n{k}[1] {count}"));
        } else {
            // One role may arrive before, and so count twice.
            let again = self.chance(0.4);
            let again = again.then(|| self.rng.random_range(0..self.roles.len()));
            let count = match again {
                Some(role) => format!("32 * ({total} + {})", self.roles[role].members),
                None => count,
            };
            for role in 0..self.roles.len() {
                if again == Some(role) {
                    self.line(role, format!("arrive n{k}[{index}] {count}"));
                }
                self.line(role, format!("sync n{k}[{index}] {count}"));
            }
        }
    }

    /// One role fills a slot and another empties it.
    fn handover(&mut self) {
        let k = self.fresh();
        let (giver, taker) = self.pair();
        let (filled, emptied) = (self.roles[giver].members, self.roles[taker].members);
        let elected = self.roles[giver].index.is_some() && self.kind == Kind::Thread;
        let elected = elected && self.chance(0.4);
        let filled = if elected { "1" } else { filled };
        self.objects
            .push(format!("mbarrier full{k} {{ arrivals: {filled} }}"));
        self.objects
            .push(format!("mbarrier empty{k} {{ arrivals: {emptied} }}"));
        let (empty, flip_empty) = self.parity(giver, &format!("e{k}"), 1);
        let (full, flip_full) = self.parity(taker, &format!("f{k}"), 0);
        self.line(giver, format!("wait empty{k} {empty}"));
        if elected {
            self.line(giver, "elect {".to_owned());
        }
        match self.rng.random_range(0..4) {
            0 => {
                self.line(giver, format!("arrive_expect_tx full{k} 8"));
                self.line(giver, format!("async copy x{k} completes full{k} 8"));
            }
            1 => {
                self.line(giver, format!("expect_tx full{k} K"));
                self.line(giver, format!("complete_tx full{k} K"));
                self.line(giver, format!("arrive full{k}"));
            }
            2 => {
                self.line(giver, format!("async mma reads x{k} writes y{k}"));
                self.line(giver, format!("commit full{k}"));
            }
            _ => self.line(giver, format!("arrive full{k}")),
        }
        if elected {
            self.line(giver, "}".to_owned());
        }
        self.line(giver, flip_empty);
        self.line(taker, format!("wait full{k} {full}"));
        let release = self.pick(&["arrive", "commit"]);
        self.line(taker, format!("{release} empty{k}"));
        self.line(taker, flip_full);
    }

    /// The same over several slots.
    fn ring(&mut self) {
        let k = self.fresh();
        let (giver, taker) = self.pair();
        if giver == taker {
            return self.handover();
        }
        let (filled, emptied) = (self.roles[giver].members, self.roles[taker].members);
        let stages = self.pick(&["S", "2", "3"]);
        self.objects.push(format!(
            "mbarrier full{k}[{stages}] {{ arrivals: {filled} }}"
        ));
        self.objects.push(format!(
            "mbarrier empty{k}[{stages}] {{ arrivals: {emptied} }}"
        ));
        self.roles[giver]
            .vars
            .push(format!("var p{k} = producer({stages})"));
        self.roles[taker]
            .vars
            .push(format!("var c{k} = consumer({stages})"));
        self.line(giver, format!("wait empty{k}[p{k}.index] p{k}.phase"));
        if self.chance(0.4) {
            self.line(giver, format!("arrive_expect_tx full{k}[p{k}.index] 16"));
            self.line(
                giver,
                format!("async copy x{k}[p{k}.index] completes full{k}[p{k}.index] 16"),
            );
        } else {
            self.line(giver, format!("arrive full{k}[p{k}.index]"));
        }
        self.line(giver, format!("advance p{k}"));
        self.line(taker, format!("wait full{k}[c{k}.index] c{k}.phase"));
        self.line(taker, format!("arrive empty{k}[c{k}.index]"));
        self.line(taker, format!("advance c{k}"));
    }

    /// A counter that only grows.
    fn counter(&mut self) {
        let k = self.fresh();
        let (giver, taker) = self.pair();
        let members = self.roles[giver].members;
        self.objects.push(format!("semaphore s{k} = 0"));
        self.line(giver, format!("s{k} += 1"));
        let comparison = match self.loops.is_empty() && self.chance(0.4) {
            true => "==",
            false => ">=",
        };
        self.roles[taker].vars.push(format!("var r{k} = 0"));
        self.line(taker, format!("r{k} = r{k} + 1"));
        self.line(taker, format!("wait s{k} {comparison} ({members}) * r{k}"));
    }

    /// A counter that one member sets back, between two barriers.
    fn reset(&mut self) {
        let k = self.fresh();
        let giver = self.rng.random_range(0..self.roles.len());
        let role = &self.roles[giver];
        let (members, index) = (role.members, role.index);
        self.objects.push(format!("semaphore z{k} = 0"));
        self.line(giver, format!("z{k} += 1"));
        if let Some(index) = index {
            self.line(giver, format!("if {index} == 0 {{"));
        }
        // In a cluster there is one such thread per CTA.
        self.line(giver, format!("wait z{k} >= {members}"));
        self.line(giver, format!("z{k} = 0"));
        if index.is_some() {
            self.line(giver, "}".to_owned());
        }
        self.barrier();
    }

    fn pool(&mut self) {
        let k = self.fresh();
        let role = self.rng.random_range(0..self.roles.len());
        let capacity = self.pick(&["1", "2", "T", "K + 1"]);
        let amount = self.pick(&["1", "1", "K"]);
        self.objects.push(format!("pool q{k} = {capacity}"));
        self.line(role, format!("acquire q{k} {amount}"));
        if self.chance(0.3) {
            self.handover();
        }
        self.line(role, format!("release q{k} {amount}"));
    }

    fn groups(&mut self) {
        let k = self.fresh();
        let role = self.rng.random_range(0..self.roles.len());
        self.objects.push(format!("buffer d{k}[2]"));
        self.line(role, format!("async store reads d{k}[0] writes d{k}[1]"));
        self.line(role, "commit_group".to_owned());
        let wait = self.pick(&["wait_group 0", "wait_group 1 read", "wait_group 0 read"]);
        self.line(role, wait.to_owned());
        self.handover();
    }

    /// An mbarrier that is initialised before it is used, once.
    fn initialised(&mut self) {
        if !self.loops.is_empty() || self.kind != Kind::Thread {
            return self.handover();
        }
        let k = self.fresh();
        let total = self.total();
        self.objects.push(format!(
            "mbarrier m{k} {{ arrivals: {total}, init: explicit }}"
        ));
        self.line(0, "elect {".to_owned());
        self.line(0, format!("init m{k}"));
        self.line(0, "}".to_owned());
        self.barrier();
        for role in 0..self.roles.len() {
            self.line(role, format!("arrive m{k}"));
            self.line(role, format!("wait m{k} 0"));
        }
    }

    /// Members take turns.
    fn turns(&mut self) {
        let k = self.fresh();
        let role = self.rng.random_range(0..self.roles.len());
        let Some(index) = self.roles[role].index else {
            return self.counter();
        };
        let (members, cluster) = (self.roles[role].members, self.kind == Kind::Cluster);
        if cluster || !self.loops.is_empty() {
            return self.counter();
        }
        self.objects.push(format!("semaphore u{k} = 0"));
        let order = self.pick(&["up", "down"]);
        match order {
            "up" => self.line(role, format!("wait u{k} == {index}")),
            _ => self.line(role, format!("wait u{k} == {members} - 1 - {index}")),
        }
        self.line(role, format!("u{k} += 1"));
    }

    /// Two CTAs arrive at each other's barriers.
    fn remote(&mut self) {
        let k = self.fresh();
        self.objects
            .push(format!("mbarrier r{k}[2] {{ arrivals: 2 * T }}"));
        let (phase, flip) = self.parity(0, &format!("h{k}"), 0);
        self.line(0, format!("arrive r{k}[cta]"));
        self.line(0, format!("arrive r{k}[1 - cta]"));
        self.line(0, format!("wait r{k}[cta] {phase}"));
        self.line(0, flip);
    }

    fn text(&self) -> String {
        let mut body = String::new();
        for object in &self.objects {
            body.push_str(&format!("{object}\n"));
        }
        for role in &self.roles {
            body.push_str(&format!("{} {{\n", role.header));
            for line in role.vars.iter().chain(&role.body) {
                body.push_str(&format!("{line}\n"));
            }
            body.push_str("}\n");
        }
        let mut out = String::from("protocol random\n");
        let params = [("T", "1.."), ("N", "0.."), ("S", "1..=3"), ("K", "{1, 2}")];
        for (name, domain) in params {
            let used = body.split(|c: char| !c.is_alphanumeric());
            if used.into_iter().any(|word| word == name) {
                out.push_str(&format!("param {name} in {domain}\n"));
            }
        }
        out + &body
    }
}
