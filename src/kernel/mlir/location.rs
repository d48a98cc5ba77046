//! The syntax of locations, and the source lines that they stand for.

use std::collections::HashMap;

use crate::ir::SourceLine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocationText<'a> {
    Unknown,
    /// `#name`, defined at the end of the text.
    Alias(&'a str),
    File {
        file: &'a str,
        line: u32,
        column: u32,
    },
    Name(&'a str, Option<Box<LocationText<'a>>>),
    CallSite {
        callee: Box<LocationText<'a>>,
        caller: Box<LocationText<'a>>,
    },
    Fused(Vec<LocationText<'a>>),
}

pub type Aliases<'a> = HashMap<&'a str, LocationText<'a>>;

/// Aliases may form a cycle. No actual location is as deep as this.
const MAX_DEPTH: u32 = 64;
/// The most lines of a chain of calls; the rest is left out.
const MAX_LINES: usize = 32;

/// The lines of a location, the innermost first.
pub fn source_lines(location: &LocationText<'_>, aliases: &Aliases<'_>) -> Vec<SourceLine> {
    let mut lines = Vec::new();
    collect(location, aliases, MAX_DEPTH, &mut lines);
    lines.dedup();
    lines
}

fn collect(
    location: &LocationText<'_>,
    aliases: &Aliases<'_>,
    depth: u32,
    lines: &mut Vec<SourceLine>,
) {
    if depth == 0 || lines.len() >= MAX_LINES {
        return;
    }
    match location {
        LocationText::Unknown => {}
        LocationText::Alias(name) => {
            if let Some(location) = aliases.get(name) {
                collect(location, aliases, depth - 1, lines);
            }
        }
        LocationText::File { file, line, column } => lines.push(SourceLine {
            file: (*file).to_owned(),
            line: *line,
            column: *column,
        }),
        LocationText::Name(_, child) => {
            if let Some(child) = child {
                collect(child, aliases, depth - 1, lines);
            }
        }
        LocationText::CallSite { callee, caller } => {
            collect(callee, aliases, depth - 1, lines);
            collect(caller, aliases, depth - 1, lines);
        }
        // The location of operations that were merged: the first one stands for all.
        LocationText::Fused(parts) => {
            let before = lines.len();
            for part in parts {
                collect(part, aliases, depth - 1, lines);
                if lines.len() > before {
                    return;
                }
            }
        }
    }
}

/// The name of a parameter or variable that a location gives, if it gives one.
pub fn name<'a>(location: &LocationText<'a>, aliases: &Aliases<'a>) -> Option<&'a str> {
    let mut location = location.clone();
    for _ in 0..MAX_DEPTH {
        location = match location {
            LocationText::Alias(name) => aliases.get(name)?.clone(),
            LocationText::Name(name, _) => {
                let identifier = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                return identifier.then_some(name);
            }
            _ => return None,
        };
    }
    None
}
