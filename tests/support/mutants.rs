//! Every small change of a protocol, one at a time.
//!
//! A text is laid out by the formatter, so that a line is a statement, the header of a block, or a
//! declaration, and what is changed is found by its place in the line.

use std::collections::BTreeMap;

use warplock::text;

/// A changed text.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The kind of change.
    pub kind: &'static str,
    /// The line before and after, for people.
    pub change: String,
    /// The text.
    pub source: String,
}

/// The mutants of one of the [`lines`] of a text that have a meaning.
pub fn of_line(lines: &[String], at: usize) -> Vec<Mutant> {
    let mut found = Changes {
        lines,
        mutants: Vec::new(),
    };
    let header = |at: &usize| depth(&lines[*at]) == 0 && lines[*at].ends_with('{');
    let outside = depth(&lines[at]) == 0;
    match (0..=at).rev().find(header) {
        Some(header) if header == at => found.numbers(at),
        Some(header) if !outside => statement(&mut found, at, &lines[header]),
        _ => declaration(&mut found, at),
    }
    found.mutants
}

/// The lines of the laid out text, without comments and `expect` lines.
pub fn lines(source: &str) -> Vec<String> {
    let laid_out = text::format(source).expect("a protocol of the library parses");
    let code = laid_out.lines().map(|line| match line.find("//") {
        Some(comment) => line[..comment].trim_end(),
        None => line,
    });
    code.filter(|line| !line.is_empty() && !line.starts_with("expect "))
        .map(str::to_owned)
        .collect()
}

fn depth(line: &str) -> usize {
    (line.len() - line.trim_start().len()) / 4
}

/// The extent of every family with one index.
fn extents(lines: &[String]) -> BTreeMap<String, String> {
    let kinds = ["semaphore ", "mbarrier ", "named ", "barrier ", "pool "];
    let mut all = BTreeMap::new();
    for line in lines {
        let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else {
            continue;
        };
        if let Some((name, rest)) = rest.split_once('[')
            && let Some(end) = closing(rest)
            && !rest[..end].contains(',')
        {
            all.insert(name.to_owned(), rest[..end].to_owned());
        }
    }
    all
}

/// Where the bracket that is open at the start closes.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => open += 1,
            ']' | ')' if open == 0 => return Some(at),
            ']' | ')' => open -= 1,
            _ => {}
        }
    }
    None
}

struct Changes<'a> {
    lines: &'a [String],
    mutants: Vec<Mutant>,
}

impl Changes<'_> {
    /// Keeps the text with lines `from..to` replaced, if it has a meaning.
    fn replace(&mut self, kind: &'static str, from: usize, to: usize, by: &[String]) {
        if self.lines[from..to] == *by {
            return;
        }
        let mut all = self.lines[..from].to_vec();
        all.extend_from_slice(by);
        all.extend_from_slice(&self.lines[to..]);
        let source = all.join("\n") + "\n";
        let twice = self.mutants.iter().any(|mutant| mutant.source == source);
        if twice || text::load(source.as_bytes()).is_err() {
            return;
        }
        let shown = |lines: &[String]| {
            let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            lines.join("; ")
        };
        self.mutants.push(Mutant {
            kind,
            change: format!("{} -> {}", shown(&self.lines[from..to]), shown(by)),
            source,
        });
    }

    /// One line becomes another.
    fn line(&mut self, kind: &'static str, at: usize, by: String) {
        self.replace(kind, at, at + 1, &[by]);
    }

    /// Every number of a line, one more and one less; thread counts move by warps.
    fn numbers(&mut self, at: usize) {
        let line = self.lines[at].clone();
        for (start, end) in words(&line) {
            let Ok(value) = line[start..end].parse::<i64>() else {
                continue;
            };
            let step = if value >= 32 && value % 32 == 0 {
                32
            } else {
                1
            };
            for changed in [value + step, value - step] {
                if changed >= 0 {
                    let by = format!("{}{changed}{}", &line[..start], &line[end..]);
                    self.line("number", at, by);
                }
            }
        }
    }

    /// Every operator of a line becomes its neighbours.
    fn operators(&mut self, at: usize) {
        const OPERATORS: [(&str, &[&str]); 10] = [
            (" == ", &[" != ", " >= "]),
            (" != ", &[" == "]),
            (" < ", &[" <= ", " >= "]),
            (" <= ", &[" < ", " == "]),
            (" > ", &[" >= ", " <= "]),
            (" >= ", &[" > ", " == "]),
            (" + ", &[" - "]),
            (" - ", &[" + "]),
            (" && ", &[" || "]),
            (" || ", &[" && "]),
        ];
        let line = self.lines[at].clone();
        for (from, all) in OPERATORS {
            for (start, _) in line.match_indices(from) {
                for to in all {
                    let by = format!("{}{to}{}", &line[..start], &line[start + from.len()..]);
                    self.line("operator", at, by);
                }
            }
        }
    }

    /// The expression from `start` on becomes one more and one less.
    fn amount(&mut self, kind: &'static str, at: usize, start: usize, end: usize, step: i64) {
        let line = self.lines[at].clone();
        let value = &line[start..end];
        for sign in ['+', '-'] {
            let by = format!("{}({value}) {sign} {step}{}", &line[..start], &line[end..]);
            self.line(kind, at, by);
        }
    }
}

/// Names and numbers of a line.
fn words(line: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (c.is_alphanumeric() || c == '_', start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                all.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    all
}

fn declaration(found: &mut Changes<'_>, at: usize) {
    let line = found.lines[at].clone();
    let word = line.split_whitespace().next().unwrap_or_default();
    match word {
        "mbarrier" | "barrier" => {
            if let Some(start) = line.find("arrivals: ") {
                let start = start + "arrivals: ".len();
                let rest = &line[start..];
                let end = rest.find([',', '}']).map_or(line.len(), |end| start + end);
                let end = start + line[start..end].trim_end().len();
                found.amount("count", at, start, end, 1);
            }
        }
        "pool" | "semaphore" => {
            if let Some(start) = line.find(" = ") {
                found.amount("initial value", at, start + 3, line.len(), 1);
            }
        }
        "let" => {
            found.numbers(at);
            found.operators(at);
        }
        _ => {}
    }
}

/// Where the block of a header ends: one past its last line.
fn block_end(lines: &[String], at: usize) -> usize {
    let outer = depth(&lines[at]);
    let mut end = at + 1;
    while depth(&lines[end]) > outer || lines[end].trim_start().starts_with("} else") {
        end += 1;
    }
    end + 1
}

/// One past the last line of the statement at a line.
fn statement_end(lines: &[String], at: usize) -> usize {
    if lines[at].ends_with('{') {
        block_end(lines, at)
    } else {
        at + 1
    }
}

/// Whether it is work on data, which has no effect on whether somebody waits.
fn on_data(line: &str) -> bool {
    let word = line.split_whitespace().next();
    matches!(word, Some("read" | "write" | "accumulate"))
}

fn statement(found: &mut Changes<'_>, at: usize, header: &str) {
    let line = found.lines[at].clone();
    let code = line.trim_start();
    let pad = " ".repeat(line.len() - code.len());
    let word = code.split_whitespace().next().unwrap_or_default();
    if code.starts_with('}') || on_data(code) {
        return;
    }
    let end = statement_end(found.lines, at);
    found.numbers(at);
    found.operators(at);
    phases(found, at);
    indices(found, at);
    match word {
        "if" => guard(found, at, end),
        "elect" => unwrapped(found, at, end),
        "for" | "repeat" => bounds(found, at),
        "var" => {}
        _ => {
            values(found, at, word);
            guarded(found, at, header, &pad);
        }
    }
    if word == "var" {
        return;
    }
    found.replace("dropped", at, end, &[]);
    let mut twice = found.lines[at..end].to_vec();
    twice.extend_from_within(..);
    found.replace("repeated", at, end, &twice);
    let next = end < found.lines.len() && depth(&found.lines[end]) == depth(&line);
    if next && !found.lines[end].trim_start().starts_with('}') && !on_data(&found.lines[end]) {
        let after = statement_end(found.lines, end);
        let mut swapped = found.lines[end..after].to_vec();
        swapped.extend_from_slice(&found.lines[at..end]);
        found.replace("swapped", at, after, &swapped);
    }
}

/// A parity is the other one.
fn phases(found: &mut Changes<'_>, at: usize) {
    let line = found.lines[at].clone();
    for (start, text) in line.match_indices(" ^ 1") {
        let by = format!("{}{}", &line[..start], &line[start + text.len()..]);
        found.line("phase", at, by);
    }
    for (start, text) in line.match_indices(".phase") {
        let after = start + text.len();
        let by = format!("{} ^ 1{}", &line[..after], &line[after..]);
        found.line("phase", at, by);
    }
    let starts = [("producer(", "consumer("), ("consumer(", "producer(")];
    for (from, to) in starts {
        if line.contains(from) {
            found.line("phase", at, line.replacen(from, to, 1));
        }
    }
}

/// An element becomes its neighbour.
fn indices(found: &mut Changes<'_>, at: usize) {
    let extents = extents(found.lines);
    let line = found.lines[at].clone();
    for (start, end) in words(&line) {
        let name = &line[start..end];
        let Some(extent) = extents.get(name) else {
            continue;
        };
        if !line[end..].starts_with('[') {
            continue;
        }
        let Some(length) = closing(&line[end + 1..]) else {
            continue;
        };
        let index = &line[end + 1..end + 1 + length];
        let by = format!(
            "{}[(({index}) + 1) % ({extent})]{}",
            &line[..end],
            &line[end + 2 + length..]
        );
        found.line("index", at, by);
        if index != "0" {
            let by = format!("{}[0]{}", &line[..end], &line[end + 2 + length..]);
            found.line("index", at, by);
        }
    }
}

/// The condition holds the other way round, always, or never.
fn guard(found: &mut Changes<'_>, at: usize, end: usize) {
    let line = found.lines[at].clone();
    if let (Some(start), Some(close)) = (line.find("if "), line.rfind(" {")) {
        let condition = &line[start + 3..close];
        let by = format!("{}if !({condition}) {{", &line[..start]);
        found.line("guard", at, by);
    }
    unwrapped(found, at, end);
}

/// The block without its header.
fn unwrapped(found: &mut Changes<'_>, at: usize, end: usize) {
    if end == at + 1 {
        return;
    }
    let inner = found.lines[at + 1..end - 1].to_vec();
    if inner
        .iter()
        .all(|line| depth(line) > depth(&found.lines[at]))
    {
        found.replace("guard dropped", at, end, &inner);
    }
}

/// A loop runs once more or once less, from either end.
fn bounds(found: &mut Changes<'_>, at: usize) {
    let line = found.lines[at].clone();
    let Some(close) = line.rfind(" {") else {
        return;
    };
    if let Some(start) = line.find("repeat ") {
        found.amount("bound", at, start + "repeat ".len(), close, 1);
    } else if let Some((from, dots)) = line.find(" in ").zip(line.find("..")) {
        let upper = line[dots + 2..close].trim_end_matches(" descending").len();
        found.amount("bound", at, dots + 2, dots + 2 + upper, 1);
        found.amount("bound", at, from + 4, dots, 1);
    }
}

/// What is waited for, added, taken, or how many arrive.
fn values(found: &mut Changes<'_>, at: usize, word: &str) {
    let line = found.lines[at].clone();
    let value = |from: usize| {
        // Behind the element, whose index may have spaces.
        let rest = line.get(from..)?;
        let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let after = match rest[name..].strip_prefix('[') {
            Some(inner) => name + closing(inner)? + 2,
            None => name,
        };
        Some(from + after + 1).filter(|start| *start < line.len())
    };
    let pad = line.len() - line.trim_start().len();
    let start = value(pad + word.len() + 1);
    match word {
        "wait" => {
            let Some(start) = start else {
                return;
            };
            let rest = &line[start..];
            let semaphore = ["== ", ">= "].iter().find_map(|op| rest.strip_prefix(op));
            match semaphore {
                Some(value) => {
                    let from = line.len() - value.len();
                    found.amount("value", at, from, line.len(), 1);
                }
                None => {
                    let by = format!("{}1 - ({rest})", &line[..start]);
                    found.line("phase", at, by);
                }
            }
        }
        "sync" => {
            if let Some(start) = start {
                found.amount("count", at, start, line.len(), 32);
            }
            found.line("arrives only", at, line.replacen("sync ", "arrive ", 1));
        }
        "arrive" => match start {
            Some(start) => {
                let step = if line[start..].contains("32") { 32 } else { 1 };
                found.amount("count", at, start, line.len(), step);
                found.line("waits too", at, line.replacen("arrive ", "sync ", 1));
            }
            None => found.line("count", at, format!("{line} 2")),
        },
        "expect_tx" | "arrive_expect_tx" | "complete_tx" | "acquire" | "release" => {
            if let Some(start) = start {
                found.amount("amount", at, start, line.len(), 1);
            }
            if word == "arrive_expect_tx" {
                let by = line.replacen("arrive_expect_tx", "expect_tx", 1);
                found.line("dropped", at, by);
            }
        }
        "async" => {
            if let Some(completes) = line.find(" completes ")
                && let Some(start) = value(completes + " completes ".len())
            {
                found.amount("amount", at, start, line.len(), 1);
            }
        }
        _ => {
            if let Some(start) = line.find(" += ") {
                found.amount("amount", at, start + 4, line.len(), 1);
            }
        }
    }
}

/// A statement that only some members execute.
fn guarded(found: &mut Changes<'_>, at: usize, header: &str, pad: &str) {
    let line = found.lines[at].clone();
    let Some((_, rest)) = header.split_once('[') else {
        return;
    };
    let Some((name, _)) = rest.split_once(" in ") else {
        return;
    };
    for condition in [format!("{name} > 0"), format!("{name} == 0")] {
        let by = [
            format!("{pad}if {condition} {{"),
            format!("    {line}"),
            format!("{pad}}}"),
        ];
        found.replace("guard added", at, at + 1, &by);
    }
}
