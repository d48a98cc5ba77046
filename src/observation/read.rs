//! Reads the output of debuggers, line by line.
//!
//! These formats are recognized: the line in which cuda-gdb names the thread in focus; frames of a backtrace, with or
//! without their numbers; `info cuda threads`, `warps`, `lanes` and `kernels`; `info line *ADDRESS`, which gives the
//! line of a program counter; words of memory as `x/gx` prints them; and a table whose header names block, thread or
//! warp, and line. Each line is read by itself, so a text may begin and end anywhere.

use std::sync::LazyLock;

use regex_lite::Captures;
use regex_lite::Regex;

use super::Dim;
use super::Labelled;
use super::Observation;
use super::Place;
use super::Seen;
use super::Skipped;
use super::Word;

/// The most threads that are kept. Tables of whole grids repeat themselves.
const MOST: usize = 1 << 14;

/// The most lines that are listed as not understood.
const MOST_SKIPPED: usize = 64;

/// Why a line is not understood.
const NO_BARRIER: &str = "no mbarrier that was initialised has this value";
const NO_WORD: &str = "a barrier is read as 64 bits: 0x and 13 to 16 digits";
const NO_LABEL: &str =
    "a 64-bit word is read behind a name or an address and a colon: `full[0]: 0x...`";

fn pattern(text: &str) -> Regex {
    // The patterns are constants, and a test compiles each of them.
    Regex::new(text).unwrap_or_else(|_| unreachable!("a pattern that is a constant"))
}

macro_rules! patterns {
    ($($name:ident = $text:literal;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| pattern($text));)*
    };
}

patterns! {
    FOCUS = r"\bblock \((\d+),(\d+),(\d+)\), thread \((\d+),(\d+),(\d+)\)";
    FRAME = r"^\s*#(\d+)\s";
    PLACE = r"([A-Za-z0-9_.+@~/\\-]*[A-Za-z0-9_]\.[A-Za-z]{1,5}):(\d+)\b";
    ARGUMENT = r"\b([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(0x[0-9a-fA-F]+|\d+)\b";
    LAUNCH = r"([A-Za-z_][A-Za-z0-9_:]*)(?:<[^<>]*>)?\s*<<<\((\d+),(\d+),(\d+)\),\s*\((\d+),(\d+),(\d+)\)>>>";
    TUPLE = r"\((\d+),(\d+),(\d+)\)";
    WORD = r"\b0x[1-9a-fA-F][0-9a-fA-F]{15}\s*$";
    HEX = r"\b0x([0-9a-fA-F]+)\b";
    SOURCE = r"(\S+\.[A-Za-z]{1,5})\s+(\d+)\s*$";
    LINE_OF = r#"^Line (\d+) of "([^"]+)" .*?address 0x([0-9a-fA-F]+).*? ends at 0x([0-9a-fA-F]+)"#;
    NAMED = r"^\s*([A-Za-z_][A-Za-z0-9_.]*(?:\[\d+\])*)\s*[:=]\s*(\S.*)$";
    WORDS = r"^\s*([A-Za-z_][A-Za-z0-9_.]*(?:\[\d+\])*|0x[0-9a-fA-F]+)(?:\s*<[^>]*>)?\s*[:=]\s*((?:0x[0-9a-fA-F]{13,16}\s*)+)$";
}

/// The format of the rows that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Table {
    None,
    /// A table of cuda-gdb with coordinates in brackets. The second pair of coordinates in a row ends a range.
    Coordinates,
    /// One row for each lane of the warp in focus.
    Lanes,
    /// Of kernels: the grid and the block.
    Kernels,
    /// What each column holds.
    Columns(Vec<Column>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Block,
    Thread,
    Warp,
    File,
    Line,
    Parity,
    Pc,
    Other,
}

/// Reads an observation. Lines that are not recognized are skipped and counted.
pub fn read(text: &str) -> Observation {
    let mut reader = Reader {
        out: Observation::default(),
        table: Table::None,
        focus: None,
        open: false,
        lines: Vec::new(),
    };
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        // A command that the user typed says nothing about the kernel.
        let line = line.strip_prefix("(cuda-gdb)").unwrap_or(line);
        if line.trim().is_empty() {
            continue;
        }
        if !reader.line(line, number + 1) {
            reader.out.unread += 1;
            reader.skipped(line, number + 1);
        }
    }
    reader.finish()
}

struct Reader {
    out: Observation,
    table: Table,
    /// The block and the thread in focus.
    focus: Option<(Dim, Dim)>,
    /// Whether further frames belong to the last thread.
    open: bool,
    /// Ranges of program counters, each with its line.
    lines: Vec<(u64, u64, Place)>,
}

impl Reader {
    fn line(&mut self, line: &str, number: usize) -> bool {
        if let Some(found) = FOCUS.captures(line) {
            self.table = Table::None;
            let (block, thread) = (dim(&found, 1), dim(&found, 4));
            self.focus = Some((block, thread));
            self.begin(Seen {
                block: Some(block),
                thread: Some(thread),
                line: number,
                ..Seen::default()
            });
            return true;
        }
        if let Some(found) = LINE_OF.captures(line) {
            let place = Place {
                file: Some(found[2].to_owned()),
                line: found[1].parse().unwrap_or(0),
            };
            let at = |n: usize| u64::from_str_radix(&found[n], 16).unwrap_or(0);
            self.lines.push((at(3), at(4), place));
            return true;
        }
        if let Some(table) = header(line) {
            self.table = table;
            self.open = false;
            return true;
        }
        if self.words(line, number) || self.row(line, number) {
            return true;
        }
        self.frame(line, number)
    }

    fn begin(&mut self, seen: Seen) {
        if self.out.seen.len() < MOST {
            self.out.seen.push(seen);
            self.open = true;
        }
    }

    /// Reads a frame, with or without a number. It may take two lines.
    fn frame(&mut self, line: &str, number: usize) -> bool {
        let frame = FRAME.captures(line).map(|found| found[1].to_owned());
        let places = PLACE.captures_iter(line);
        let mut places: Vec<Place> = places
            .filter_map(|found| place(&found[1], &found[2]))
            .collect();
        let mut known = frame.is_some();
        if let Some(found) = LAUNCH.captures(line) {
            known = true;
            let name = found[1].to_owned();
            if !self.out.kernels.contains(&name) {
                self.out.kernels.push(name);
            }
            self.out.grid = Some(dim(&found, 2));
            self.out.threads = Some(dim(&found, 5));
        }
        let (address, parity) = awaited(line);
        if places.is_empty() && parity.is_none() && !known {
            return false;
        }
        if frame.is_some() {
            self.table = Table::None;
        }
        let last = self.out.seen.last();
        let other = last.is_some_and(|seen| {
            let differs = address.is_some() && seen.address.is_some() && seen.address != address
                || parity.is_some() && seen.parity.is_some() && seen.parity != parity;
            differs || frame.as_deref() == Some("0") && !seen.places.is_empty()
        });
        if !self.open || other || last.is_none() {
            // A backtrace without a line about the focus belongs to the thread that was last in focus, unless this
            // thread has a backtrace already.
            self.begin(Seen {
                line: number,
                ..Seen::default()
            });
        }
        let Some(seen) = self.out.seen.last_mut() else {
            return known;
        };
        seen.address = seen.address.or(address);
        seen.parity = seen.parity.or(parity);
        if seen.pc.is_none() {
            let found = HEX.captures(line).filter(|_| seen.places.is_empty());
            seen.pc = found.and_then(|found| counter(&found));
        }
        places.retain(|place| !seen.places.contains(place));
        seen.places.append(&mut places);
        true
    }

    /// Keeps a line that is not understood, if it seems to be about a barrier.
    fn skipped(&mut self, line: &str, number: usize) {
        let name = NAMED.captures(line);
        let name = name.filter(|found| found[2].starts_with(|c: char| c.is_ascii_digit()));
        let named = name.is_some_and(|found| found[1].contains('[') || barrier(&found[1]));
        let why = match named {
            true => NO_WORD,
            false if WORD.is_match(line) && !line.contains('#') => NO_LABEL,
            false => return,
        };
        self.skip(line, number, why);
    }

    fn skip(&mut self, text: &str, line: usize, why: &'static str) {
        if self.out.skipped.len() < MOST_SKIPPED {
            let text = text.trim().to_owned();
            self.out.skipped.push(Skipped { line, text, why });
        }
    }

    /// The words of memory that follow an address or a name in the output.
    fn words(&mut self, line: &str, row: usize) -> bool {
        let Some(found) = WORDS.captures(line) else {
            return false;
        };
        let label = found[1].to_owned();
        let address = number(&label);
        let words = found[2].split_whitespace().filter_map(number);
        let mut strange = false;
        for (position, bits) in words.enumerate() {
            let address = address.map(|address| address.saturating_add(8 * position as u64));
            let word = Word::decode(bits);
            // A dump of memory around barriers contains zeros. But a value with a name is meant to be a barrier.
            strange |= word.is_none() && (bits != 0 || address.is_none());
            if let Some(word) = word {
                let label = match address {
                    Some(address) => format!("{address:#x}"),
                    None => label.clone(),
                };
                self.out.barriers.push(Labelled {
                    label,
                    address,
                    word,
                });
            }
        }
        if strange {
            self.skip(line, row, NO_BARRIER);
        }
        true
    }

    fn row(&mut self, line: &str, number: usize) -> bool {
        let tuples: Vec<Dim> = TUPLE
            .captures_iter(line)
            .map(|found| dim(&found, 1))
            .collect();
        match self.table.clone() {
            Table::None => false,
            Table::Kernels => {
                let [grid, threads, ..] = tuples.as_slice() else {
                    return false;
                };
                (self.out.grid, self.out.threads) = (Some(*grid), Some(*threads));
                let rest = line.rsplit(')').next().unwrap_or_default();
                let name = rest.split_whitespace().next().unwrap_or_default();
                let name = name.split(['(', '<']).next().unwrap_or_default();
                if !name.is_empty() && !name.contains('=') {
                    self.out.kernels.push(name.to_owned());
                }
                true
            }
            Table::Lanes => {
                let Some(thread) = tuples.first() else {
                    return false;
                };
                let block = self.focus.map(|(block, _)| block);
                let pc = HEX.captures(line);
                self.begin(Seen {
                    block,
                    thread: Some(*thread),
                    pc: pc.and_then(|found| counter(&found)),
                    line: number,
                    ..Seen::default()
                });
                self.open = false;
                true
            }
            Table::Coordinates => self.coordinates(line, number, &tuples),
            Table::Columns(columns) => self.columns(line, number, &columns),
        }
    }

    fn coordinates(&mut self, line: &str, number: usize, tuples: &[Dim]) -> bool {
        let Some(block) = tuples.first() else {
            return line.trim_start().starts_with("Kernel") || line.starts_with("Device");
        };
        let place = SOURCE
            .captures(line)
            .and_then(|found| place(&found[1], &found[2]));
        // The last hexadecimal number: masks stand before the program counter.
        let pc = HEX.captures_iter(line).last();
        let before = line.rsplit(')').next().unwrap_or_default();
        let count = before.split_whitespace().next();
        let count = count.filter(|_| tuples.len() == 4);
        self.begin(Seen {
            block: Some(*block),
            thread: tuples.get(1).copied(),
            count: count.and_then(|count| count.parse().ok()),
            places: place.into_iter().collect(),
            pc: pc.and_then(|found| counter(&found)),
            line: number,
            ..Seen::default()
        });
        self.open = false;
        true
    }

    fn columns(&mut self, line: &str, number: usize, columns: &[Column]) -> bool {
        let cells: Vec<&str> = cells(line);
        let mut seen = Seen {
            line: number,
            ..Seen::default()
        };
        let (mut file, mut at) = (None, None);
        for (column, cell) in columns.iter().zip(&cells) {
            match column {
                Column::Block => seen.block = coordinates(cell),
                Column::Thread => seen.thread = coordinates(cell),
                Column::Warp => seen.warp = cell.parse().ok(),
                Column::File => file = Some((*cell).to_owned()),
                Column::Line => match PLACE.captures(cell) {
                    Some(found) => {
                        file = Some(found[1].to_owned());
                        at = found[2].parse().ok();
                    }
                    None => at = cell.parse().ok(),
                },
                Column::Parity => seen.parity = bit(cell),
                Column::Pc => seen.pc = self::number(cell),
                Column::Other => {}
            }
        }
        if let Some(line) = at {
            seen.places.push(Place { file, line });
        }
        let any = !seen.places.is_empty() || seen.pc.is_some();
        if any {
            self.begin(seen);
            self.open = false;
        }
        any
    }

    /// Assigns lines to program counters, and drops threads without any place.
    fn finish(mut self) -> Observation {
        for seen in &mut self.out.seen {
            if let (true, Some(pc)) = (seen.places.is_empty(), seen.pc) {
                let line = self
                    .lines
                    .iter()
                    .find(|(from, to, _)| (*from..*to).contains(&pc));
                seen.places.extend(line.map(|(_, _, place)| place.clone()));
            }
        }
        let nowhere =
            |seen: &Seen| seen.places.is_empty() && seen.parity.is_none() && seen.pc.is_none();
        self.out.seen.retain(|seen| !nowhere(seen));
        self.out
    }
}

/// Whether a line begins a table, and how its rows are read.
fn header(line: &str) -> Option<Table> {
    let has = |word: &str| line.contains(word);
    if has("BlockIdx") && !has("((") {
        return Some(Table::Coordinates);
    }
    if has("GridDim") && has("BlockDim") {
        return Some(Table::Kernels);
    }
    if has("ThreadIdx") && has("Ln") {
        return Some(Table::Lanes);
    }
    let columns: Vec<Column> = cells(line).into_iter().map(column).collect();
    let says = |wanted: Column| columns.contains(&wanted);
    let who = says(Column::Block) || says(Column::Thread) || says(Column::Warp);
    (who && (says(Column::Line) || says(Column::Pc))).then_some(Table::Columns(columns))
}

/// Whether a name is one that barriers have.
fn barrier(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["bar", "full", "empty"]
        .iter()
        .any(|part| name.contains(part))
}

fn column(name: &str) -> Column {
    match name.to_ascii_lowercase().as_str() {
        "block" | "blockidx" | "cta" | "ctaid" => Column::Block,
        "thread" | "threadidx" | "tid" => Column::Thread,
        "warp" | "warpid" => Column::Warp,
        "file" | "filename" => Column::File,
        "line" | "place" | "source" => Column::Line,
        "parity" | "phase" => Column::Parity,
        "pc" => Column::Pc,
        _ => Column::Other,
    }
}

/// The cells of a row: between bars, commas or blanks.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('*').trim_matches('|');
    let outside = |separator: char| {
        let mut depth = 0_u32;
        line.split(move |c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && c == separator
        })
    };
    if line.contains('|') {
        return outside('|').map(str::trim).collect();
    }
    let commas = outside(',').count() > 1;
    if commas {
        return outside(',').map(str::trim).collect();
    }
    line.split_whitespace().collect()
}

/// `(1,0,0)` or `1`.
fn coordinates(cell: &str) -> Option<Dim> {
    if let Some(found) = TUPLE.captures(&cell.replace(' ', "")) {
        return Some(dim(&found, 1));
    }
    cell.parse().ok().map(|x| Dim([x, 0, 0]))
}

fn dim(found: &Captures<'_>, from: usize) -> Dim {
    // A number with too many digits cannot be a coordinate of a launch.
    let at = |n: usize| found[n].parse().unwrap_or(i64::MAX);
    Dim([at(from), at(from + 1), at(from + 2)])
}

fn place(file: &str, line: &str) -> Option<Place> {
    Some(Place {
        file: Some(file.to_owned()),
        line: line.parse().ok()?,
    })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn bit(text: &str) -> Option<bool> {
    match number(text)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// A program counter; `None` if its digits are cut off.
fn counter(found: &Captures<'_>) -> Option<u64> {
    let value = u64::from_str_radix(&found[1], 16).ok();
    value.filter(|value| *value != 0)
}

/// The barrier's address and the parity among the arguments of a frame.
fn awaited(line: &str) -> (Option<u64>, Option<bool>) {
    let (mut address, mut parity) = (None, None);
    for found in ARGUMENT.captures_iter(line) {
        let (name, value) = (found[1].to_ascii_lowercase(), &found[2]);
        if name.contains("parity") || name == "phase" || name == "phase_bit" {
            parity = parity.or(bit(value));
        } else if name.contains("bar") || name.ends_with("addr") {
            address = address.or(number(value));
        }
    }
    (address, parity)
}

#[cfg(test)]
mod tests;
