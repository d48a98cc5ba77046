//! The summary table at the end of a check of a folder or of a program's kernels. `sweep` prints nothing else.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write;

use itertools::Itertools;
use warplock::report::Finding;
use warplock::report::Word;
use warplock::report::style::Style;
use warplock::report::text::abridged;
use warplock::report::text::visible;

use crate::inputs::Gathered;

/// A line for each result, and counts.
pub struct Table {
    gathered: Gathered,
    rows: Vec<Row>,
    /// Whether only the table is printed. Then it also gives the reasons, and says which kernels share a defect.
    alone: bool,
}

struct Row {
    verdict: Word,
    property: &'static str,
    protocol: String,
    file: String,
    /// What the defect is, and where it is in the source if debug information says so.
    place: Option<String>,
    why: String,
}

/// How much of a reason is shown, in characters.
const REASON: usize = 140;

/// The verdicts in the order of the table: first those that need attention.
const ORDER: [Word; 4] = [Word::Refuted, Word::Unknown, Word::Bounded, Word::Proved];

impl Table {
    /// A table without lines.
    pub fn of(gathered: Gathered) -> Table {
        Table {
            gathered,
            rows: Vec::new(),
            alone: false,
        }
    }

    /// An empty table for a command that prints nothing else.
    pub fn alone(gathered: Gathered) -> Table {
        Table {
            alone: true,
            ..Table::of(gathered)
        }
    }

    /// Adds a line.
    pub fn add(&mut self, finding: &Finding) {
        self.rows.push(Row {
            verdict: finding.verdict,
            property: finding.property,
            protocol: visible(&finding.protocol),
            file: visible(&finding.file),
            place: finding.source_line.as_deref().map(visible),
            why: visible(finding.reason.as_deref().unwrap_or_default()),
        });
    }

    /// The text of the table. With `quiet`, only the counts.
    pub fn text(&self, quiet: bool, style: Style) -> String {
        let mut text = String::new();
        if !quiet {
            let width = |column: fn(&Row) -> &str| {
                let widths = self.rows.iter().map(|row| column(row).chars().count());
                widths.max().unwrap_or(0)
            };
            let (property, protocol) = (width(|row| row.property), width(|row| &row.protocol));
            if !self.alone {
                text.push('\n');
            }
            for word in ORDER {
                for row in self.rows.iter().filter(|row| row.verdict == word) {
                    let gap = " ".repeat(9_usize.saturating_sub(word.as_str().len()));
                    let shown = style.verdict(word) + &gap;
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        text,
                        "{shown}{:<property$}  {:<protocol$}  {}",
                        row.property, row.protocol, row.file
                    );
                    if self.alone && !row.why.is_empty() {
                        let place = row.place.iter().map(|place| format!("{place}: "));
                        let place: String = place.collect();
                        let _ = writeln!(text, "         {place}{}", abridged(&row.why, REASON));
                    }
                }
            }
            if self.alone {
                text.push_str(&self.groups());
            }
        }
        let counts = ORDER.iter().filter_map(|word| {
            let count = self.rows.iter().filter(|row| row.verdict == *word).count();
            (count > 0).then(|| format!("{count} {}", word.as_str()))
        });
        let kernels: BTreeSet<(&str, &str)> = self
            .rows
            .iter()
            .map(|row| (row.file.as_str(), row.protocol.as_str()))
            .collect();
        let copies = match self.gathered.copies {
            0 => String::new(),
            1 => ", 1 copy left out".to_owned(),
            count => format!(", {count} copies left out"),
        };
        let kernels = match kernels.len() {
            1 => "1 kernel".to_owned(),
            count => format!("{count} kernels"),
        };
        let counts = match self.rows.is_empty() {
            true => "nothing decided".to_owned(),
            false => counts.into_iter().join(", "),
        };
        let _ = writeln!(text, "{kernels}{copies}: {counts}");
        text
    }

    /// The groups of kernels that share a defect. Kernels are in one group if their reasons differ only in names and
    /// numbers, and if the place in the source is the same, where one is known.
    fn groups(&self) -> String {
        let mut groups: BTreeMap<(Word, Option<&str>, String), Vec<&Row>> = BTreeMap::new();
        let open = self.rows.iter().filter(|row| row.verdict != Word::Proved);
        for row in open.filter(|row| !row.why.is_empty()) {
            let source = row
                .place
                .as_deref()
                .filter(|place| !place.starts_with("line "));
            let key = (row.verdict, source, kind(&row.why));
            groups.entry(key).or_default().push(row);
        }
        let mut text = String::new();
        for ((word, place, _), rows) in groups {
            let [first, _, ..] = rows.as_slice() else {
                continue;
            };
            let place = place.map_or_else(String::new, |place| format!(" at {place}"));
            let what = match word {
                Word::Refuted => "the same defect",
                _ => "the same reason",
            };
            let _ = writeln!(text, "\n{what}{place}, {} results:", rows.len());
            let _ = writeln!(text, "  {}", abridged(&first.why, REASON));
            for row in &rows {
                let _ = writeln!(text, "  - {} {}", row.protocol, row.file);
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// A reason without the parts that differ from kernel to kernel: numbers, and text between backquotes.
fn kind(why: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in why.chars() {
        quoted ^= c == '`';
        if !quoted && !c.is_ascii_digit() {
            out.push(c);
        }
    }
    out
}
