//! The state of the elements of synchronization objects, as a table, or as a list if the table is too wide.

use super::super::elements::Element;
use super::super::elements::Use;
use super::super::ranges;
use super::super::stuck::Stuck;
use super::super::style::Style;
use super::Most;
use super::USES;
use super::shortened;

/// The longest line of a table, in characters, if the width is not known.
const WIDEST: usize = 160;

/// The final state of every element: a table, or a list if the table would be too wide.
pub(super) fn elements(stuck: &Stuck, style: Style) -> String {
    let most = Most::of(style);
    // An element at which no member waits in vain is not at fault, even if operations on it are left.
    let waits = |element: &&Element| {
        let mut names = stuck.blocked.iter().map(|b| &b.element);
        most.all_elements || stuck.blocked.is_empty() || names.any(|n| *n == element.element)
    };
    let elements: Vec<&Element> = stuck.elements.iter().filter(waits).collect();
    if elements.is_empty() {
        return String::new();
    }
    let shown = &elements[..elements.len().min(most.elements)];
    let open = if stuck.is_final { "never" } else { "not yet" };
    let mut out = table(shown, open, style);
    let widest = style.width.unwrap_or(WIDEST);
    if out.lines().any(|line| line.chars().count() > widest) {
        out = listed(shown, open, style);
    }
    if elements.len() > shown.len() {
        let more = elements.len() - shown.len();
        let elements = if more == 1 { "element" } else { "elements" };
        out.push_str(&format!(
            "  ... and {more} more {elements} (-v shows them)\n"
        ));
    }
    out
}

/// Lists which operations wait for and which change an element, if some operation has not happened.
fn listed(elements: &[&Element], open: &str, style: Style) -> String {
    let mut out = format!("  {}\n", style.bold("elements:"));
    for element in elements {
        let (name, value) = (&element.element, &element.value);
        let start = element.start.filter(|start| start.to_string() != *value);
        let start = start.map_or_else(String::new, |start| format!(" (from {start})"));
        if element.completes {
            out.push_str(&format!("    {name}: {value}{start}, complete\n"));
            continue;
        }
        out.push_str(&format!("    {name}: {value}{start}\n"));
        let (waits, changes) = (uses(&element.waits, open), uses(&element.changes, open));
        out.push_str(&format!("      waited for: {waits}\n"));
        out.push_str(&format!("      changed by: {changes}\n"));
    }
    out
}

fn table(elements: &[&Element], open: &str, style: Style) -> String {
    let mut rows = vec![
        [
            "element",
            "start",
            "now",
            "waited for",
            "changed by",
            "completes",
        ]
        .map(str::to_owned),
    ];
    for element in elements {
        rows.push([
            element.element.clone(),
            element
                .start
                .map_or_else(|| "-".to_owned(), |v| v.to_string()),
            element.value.clone(),
            uses(&element.waits, open),
            uses(&element.changes, open),
            if element.completes { "yes" } else { "no" }.to_owned(),
        ]);
    }
    let mut out = String::new();
    let widths: Vec<usize> = (0..6)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for (number, row) in rows.iter().enumerate() {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let line = line.trim_end();
        let line = if number == 0 {
            style.bold(line)
        } else {
            line.to_owned()
        };
        out.push_str(&format!("  {line}\n"));
    }
    out
}

fn uses(uses: &[Use], open: &str) -> String {
    if uses.is_empty() {
        return "nobody".to_owned();
    }
    // Operations that have not happened come first, because they matter. Equal operations of one member in several
    // rounds are listed once.
    let alike_use = |a: &Use, b: &Use| (a.done, &a.member, &a.what) == (b.done, &b.member, &b.what);
    let mut said: Vec<&Use> = Vec::new();
    for used in uses {
        if !said.iter().any(|known| alike_use(known, used)) {
            said.push(used);
        }
    }
    let (done, left): (Vec<&Use>, Vec<&Use>) = said.into_iter().partition(|u| u.done);
    let left = alike(&left).into_iter().map(|u| format!("{u} ({open})"));
    shortened(left.chain(alike(&done)).collect(), USES).join(", ")
}

/// Operations in words. Equal operations of neighbouring members are joined. If there are many, all equal operations
/// are joined.
fn alike(uses: &[&Use]) -> Vec<String> {
    if uses.len() <= USES {
        let together = ranges::together(uses, |u| &u.member, |a, b| a.what == b.what);
        let each = together.into_iter();
        return each
            .map(|(who, run)| format!("{who} {}", run[0].what))
            .collect();
    }
    let mut whats: Vec<&str> = Vec::new();
    for used in uses {
        if !whats.contains(&used.what.as_str()) && whats.len() <= USES {
            whats.push(&used.what);
        }
    }
    let words = whats.iter().map(|what| {
        let same = uses.iter().filter(|u| u.what == *what);
        let mut names: Vec<&str> = same.map(|u| u.member.as_str()).collect();
        names.dedup();
        let who = shortened(ranges::ranges(&names), USES).join(", ");
        format!("{who} {what}")
    });
    words.collect()
}
