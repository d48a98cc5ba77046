//! Lint rules: what a reader with a checklist looks for in a protocol. For example, counts that are never reached,
//! barriers that nobody waits for, and parities that do not follow the round.
//!
//! `written` looks at the text. `counted` adds up, at small parameter values, the operations of all members in a
//! complete run. If this sum is not enough for a wait, no run has enough. So such a finding is not about a single
//! schedule. Other findings are places worth looking at.

mod counted;
mod rules;
mod written;

use std::time::Duration;

use crate::deadline;
use crate::protocol::Protocol;
use crate::protocol::Span;

pub use rules::RULES;
pub use rules::Rule;
pub use rules::rule;

/// The time for trying values.
const TIME: Duration = Duration::from_millis(500);

/// A place worth looking at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The name of the rule, as `arrival-count`.
    pub rule: &'static str,
    /// The object that it is about, by its name.
    pub object: String,
    /// The line of the text, from 1.
    pub line: usize,
    /// The finding, as a lowercase fragment.
    pub message: String,
    /// What to do about it, as a lowercase fragment.
    pub hint: &'static str,
}

/// Applies all rules to a protocol. For each rule, an object is named once, at the smallest values that show the
/// finding.
pub fn lint(protocol: &Protocol) -> Vec<Lint> {
    let mut found = Found {
        protocol,
        lints: Vec::new(),
    };
    written::look(&mut found);
    deadline::until(deadline::after(TIME), || counted::look(&mut found));
    found.lints.sort_by_key(|lint| lint.line);
    found.lints
}

/// How many lints are shown with a verdict.
const MOST: usize = 3;

/// Of the lints in words, those that are shown with a verdict. The last sentence says how many more there are.
pub fn first_few(mut sentences: Vec<String>) -> Vec<String> {
    let more = sentences.len().saturating_sub(MOST);
    sentences.truncate(MOST);
    if more > 0 {
        sentences.push(format!("{more} more lints: `warplock lint` lists them"));
    }
    sentences
}

struct Found<'p> {
    protocol: &'p Protocol,
    lints: Vec<Lint>,
}

impl Found<'_> {
    fn add(
        &mut self,
        rule: &'static str,
        (object, span): (&str, Span),
        message: String,
        hint: &'static str,
    ) {
        if self.has(rule, object) {
            return;
        }
        let before = self.protocol.source.bytes().take(span.start);
        self.lints.push(Lint {
            rule,
            object: object.to_owned(),
            line: before
                .filter(|byte| *byte == b'\n')
                .count()
                .saturating_add(1),
            message,
            hint,
        });
    }

    fn has(&self, rule: &str, object: &str) -> bool {
        let mut lints = self.lints.iter();
        lints.any(|lint| lint.rule == rule && lint.object == object)
    }
}

#[cfg(test)]
mod tests;
