//! The differences between two protocols, part by part.
//!
//! The parts are the declarations and each role. Lines are compared as formatted, without comments. Comments name source
//! lines, which differ between two builds even if the synchronization is the same.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::protocol::Protocol;
use crate::repair::diff;
use crate::text;

/// A part that differs between the two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// `declarations`, or the role as `role load`.
    pub name: String,
    /// The lines that differ.
    pub changes: Vec<Change>,
}

/// Lines of the first text, and the lines of the second text in their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The lines of the first text.
    pub before: Vec<String>,
    /// The lines of the second text.
    pub after: Vec<String>,
}

/// The name of the part outside of roles.
const DECLARATIONS: &str = "declarations";

/// The name of the part with the assumptions that recovery made about a kernel.
const ASSUMED: &str = "taken for granted";

/// Whether the only difference is in the assumptions that recovery made.
pub fn is_about_assumptions(parts: &[Part]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| part.name == ASSUMED)
}

/// The differences. If there are none, the two protocols synchronize alike and rest on the same assumptions.
pub fn changes(before: &Protocol, after: &Protocol) -> Vec<Part> {
    let (old, new) = (parts(&before.source), parts(&after.source));
    let mut names: Vec<&String> = old.order.iter().collect();
    names.extend(new.order.iter().filter(|name| !old.order.contains(name)));
    let mut found = Vec::new();
    for name in names {
        let text = |parts: &Parts| {
            parts
                .lines
                .get(name)
                .map_or_else(String::new, |l| l.join("\n"))
        };
        let hunks = diff::hunks(&text(&old), &text(&new));
        let changes = hunks.into_iter().map(|hunk| Change {
            before: hunk.before,
            after: hunk.after,
        });
        let changes: Vec<Change> = changes.collect();
        if !changes.is_empty() {
            found.push(Part {
                name: name.clone(),
                changes,
            });
        }
    }
    // These lines are comments in a protocol. But a kernel may be launched in a way that violates them, so they are
    // compared.
    let only = |one: &Protocol, other: &Protocol| {
        let lines = one
            .assumed()
            .filter(|line| other.assumed().all(|known| known != *line));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let change = Change {
        before: only(before, after),
        after: only(after, before),
    };
    if !change.before.is_empty() || !change.after.is_empty() {
        found.push(Part {
            name: ASSUMED.to_owned(),
            changes: vec![change],
        });
    }
    found
}

#[derive(Default)]
struct Parts {
    /// The names, in the order of the text.
    order: Vec<String>,
    lines: BTreeMap<String, Vec<String>>,
}

fn parts(source: &str) -> Parts {
    // A protocol that was loaded can be formatted.
    let source = text::format(source).unwrap_or_else(|_| source.to_owned());
    let mut parts = Parts::default();
    let mut name = DECLARATIONS.to_owned();
    for line in source.lines() {
        let line = line.split("//").next().unwrap_or_default().trim_end();
        let first = line.split_whitespace().next().unwrap_or_default();
        // The name, and the verdicts that the text expects, are not a part of the kernel.
        if line.is_empty() || ["protocol", "expect"].contains(&first) {
            continue;
        }
        if ["role", "grid"].contains(&first) && !line.starts_with(' ') {
            let named = line.split_whitespace().nth(1).unwrap_or_default();
            let named = named.split(['[', '{']).next().unwrap_or_default();
            name = format!("{first} {named}");
        }
        if !parts.order.contains(&name) {
            parts.order.push(name.clone());
        }
        parts
            .lines
            .entry(name.clone())
            .or_default()
            .push(line.to_owned());
        if line == "}" {
            DECLARATIONS.clone_into(&mut name);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &str, after: &str) -> String {
        let load = |text: &str| text::load(text.as_bytes()).expect("a valid protocol");
        let parts = changes(&load(before), &load(after));
        let mut out = String::new();
        for part in parts {
            out.push_str(&format!("{}\n", part.name));
            for change in part.changes {
                let old = change.before.iter().map(|line| format!("-{line}\n"));
                let new = change.after.iter().map(|line| format!("+{line}\n"));
                out.extend(old.chain(new));
            }
        }
        out
    }

    const ONE: &str = "protocol a param N in 1.. mbarrier b { arrivals: N }
        role x { arrive b // k.cu:3
        } role y { wait b 0 }";

    #[test]
    fn places_and_layout_are_no_change() {
        let other = "protocol b param N in 1.. mbarrier b { arrivals: N }
            role x {
              arrive b // k.cu:99
            }
            role y { wait b 0 } expect deadlock: proved";
        assert_eq!(changed(ONE, other), "");
    }

    #[test]
    fn parts_are_compared_by_name() {
        let other = "protocol a param N in 1.. mbarrier b { arrivals: N + 1 }
            role y { wait b 1 } role x { arrive b } role z { arrive b }";
        insta::assert_snapshot!(changed(ONE, other), @r"
        declarations
        -mbarrier b { arrivals: N }
        +mbarrier b { arrivals: N + 1 }
        role y
        -    wait b 0
        +    wait b 1
        role z
        +role z {
        +    arrive b
        +}
        ");
    }
}
