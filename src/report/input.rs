//! A concrete input, in words and as a drawing.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;

/// How many entries of a pattern a sentence lists.
const ENTRIES: usize = 8;

/// How many rows and columns are drawn.
const DRAWN: i64 = 40;

/// A pattern at an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// Whether it is part of the input, rather than defined by the protocol.
    pub open: bool,
    /// How many values each coordinate takes.
    pub extents: Vec<i64>,
    /// Where it holds, ascending.
    pub entries: Vec<Vec<i64>>,
}

/// The patterns of a protocol at an input, with defined ones evaluated. Patterns that are too large to be listed are
/// left out.
pub fn patterns(protocol: &Protocol, input: &Input) -> Vec<Pattern> {
    let Ok(data) = unfold::pattern_data(protocol, input, &Limits::default()) else {
        return Vec::new();
    };
    let named = protocol.patterns.iter().zip(&data);
    named
        .map(|(pattern, data)| Pattern {
            name: pattern.name.clone(),
            open: pattern.definition.is_none(),
            extents: data.extents().to_vec(),
            entries: data.entries().collect(),
        })
        .collect()
}

/// An input in one line: `N = 2, M = 1, visits = {(1, 0)}`, then the row orders that are not
/// ascending and the start values that are not 0.
pub fn sentence(protocol: &Protocol, input: &Input) -> String {
    let mut parts: Vec<String> = protocol
        .params
        .iter()
        .zip(&input.params)
        .map(|(param, value)| format!("{} = {value}", param.name))
        .collect();
    for (pattern, entries) in protocol.patterns.iter().zip(&input.patterns) {
        if pattern.definition.is_none() {
            parts.push(format!("{} = {}", pattern.name, set(entries)));
        }
    }
    parts.extend(orders(protocol, input));
    for ((object, index), value) in &input.initial {
        if *value != 0 {
            let name = protocol.objects.get(*object).map_or("?", |o| &o.name);
            let index: Vec<String> = index.iter().map(|i| format!("[{i}]")).collect();
            parts.push(format!("{name}{} = {value} at the start", index.concat()));
        }
    }
    parts.join(", ")
}

/// The row orders of an input that are not ascending.
pub fn orders(protocol: &Protocol, input: &Input) -> Vec<String> {
    let surprising = input.orders.iter().filter(|(_, order)| !order.is_sorted());
    surprising
        .map(|(key, order)| match key {
            OrderKey::Row { pattern, row } => {
                let name = protocol.patterns.get(*pattern).map_or("?", |p| &p.name);
                format!("row {} of {name} in the order {}", list(row), list(order))
            }
            OrderKey::Loop {
                role, member, run, ..
            } => {
                let name = protocol.roles.get(*role).map_or("?", |r| &r.name);
                let index: Vec<String> = member.iter().map(|i| format!("[{i}]")).collect();
                let again = match run {
                    0 => String::new(),
                    n => format!(" (run {})", n + 1),
                };
                format!(
                    "{name}{}{again} in the row order {}",
                    index.concat(),
                    list(order)
                )
            }
        })
        .collect()
}

fn list(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    values.join(", ")
}

fn set(entries: &BTreeSet<Vec<i64>>) -> String {
    let shown = entries.iter().take(ENTRIES);
    let mut shown: Vec<String> = shown.map(|e| format!("({})", list(e))).collect();
    if entries.len() > ENTRIES {
        shown.push(format!("... {} in all", entries.len()));
    }
    format!("{{{}}}", shown.join(", "))
}

impl Pattern {
    /// The pattern as lines, with `#` where it holds. Rows are its first coordinate. `None` unless the pattern has
    /// two coordinates and is small enough.
    pub fn drawing(&self) -> Option<Vec<String>> {
        let [rows, columns] = self.extents.as_slice() else {
            return None;
        };
        if *rows < 1 || *columns < 1 || *rows > DRAWN || *columns > DRAWN {
            return None;
        }
        let holds: BTreeSet<(i64, i64)> = self.entries.iter().map(|e| (e[0], e[1])).collect();
        let margin = (rows - 1).to_string().len();
        let mut lines = Vec::new();
        if *columns > 10 {
            let tens = (0..*columns).map(|c| match (c / 10, c % 10) {
                (tens, 0) if tens > 0 => tens.to_string(),
                _ => " ".to_owned(),
            });
            lines.push(format!("{:margin$} {}", "", tens.collect::<String>()));
        }
        let units = (0..*columns).map(|c| (c % 10).to_string());
        lines.push(format!("{:margin$} {}", "", units.collect::<String>()));
        for row in 0..*rows {
            let cells = (0..*columns).map(|c| if holds.contains(&(row, c)) { '#' } else { '.' });
            lines.push(format!("{row:margin$} {}", cells.collect::<String>()));
        }
        Some(lines)
    }
}
