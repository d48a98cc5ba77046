//! The table that ends a check of a folder or of a program's kernels.

use std::collections::BTreeSet;
use std::fmt::Write;

use itertools::Itertools;
use warplock::report::Finding;
use warplock::report::Word;
use warplock::report::style::Style;
use warplock::report::text::visible;

use crate::inputs::Gathered;

/// A line for each result, and counts.
pub struct Table {
    gathered: Gathered,
    rows: Vec<Row>,
}

struct Row {
    verdict: Word,
    property: &'static str,
    protocol: String,
    file: String,
}

/// The words in the order of the table: what needs somebody first.
const ORDER: [Word; 4] = [Word::Refuted, Word::Unknown, Word::Bounded, Word::Proved];

impl Table {
    /// A table without lines.
    pub fn of(gathered: Gathered) -> Table {
        Table {
            gathered,
            rows: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn add(&mut self, finding: &Finding) {
        self.rows.push(Row {
            verdict: finding.verdict,
            property: finding.property,
            protocol: visible(&finding.protocol),
            file: visible(&finding.file),
        });
    }

    /// The table. Of a quiet one there are the counts only.
    pub fn text(&self, quiet: bool, style: Style) -> String {
        let mut text = String::new();
        if !quiet {
            let width = |column: fn(&Row) -> &str| {
                let widths = self.rows.iter().map(|row| column(row).chars().count());
                widths.max().unwrap_or(0)
            };
            let (property, protocol) = (width(|row| row.property), width(|row| &row.protocol));
            text.push('\n');
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
                }
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
}
