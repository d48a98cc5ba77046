//! Single edits of a protocol's text, as its author would describe them.
//!
//! An edit replaces ranges of the text, so that everything else stays as it was written. What is
//! replaced is found in the syntax tree; whether the result has a meaning is not looked at here.
//! One edit may touch several places where its author would think of one change: the thread count
//! of a named barrier stands at each of its uses.

mod barriers;
mod counts;
mod guards;
mod loops;
mod memory;
mod order;
mod phases;
mod signals;
mod values;
mod walk;

use std::collections::BTreeSet;

use crate::protocol::Span;
use crate::text::ast::File;

use walk::Place;

/// What kind of mistake an edit takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The phase at which a wait or a pipeline state starts.
    Phase,
    /// How many arrivals or threads complete a barrier.
    Count,
    /// How many bytes are expected or delivered.
    Bytes,
    /// An operation that should arrive, wait or expect as well, or should not.
    Arrival,
    /// How often a loop runs.
    Trips,
    /// The value that a semaphore is waited for, or starts with.
    Value,
    /// A condition that should not be there, or be another one.
    Guard,
    /// The order of two statements next to each other.
    Order,
    /// The order in which CTAs start.
    Launch,
    /// Scopes, memory orders, fences, and what a wait for a group waits for.
    Memory,
    /// Where barriers are initialised.
    Init,
    /// A condition that is missing.
    NewGuard,
    /// A barrier for each stage instead of one for all.
    Stages,
    /// A statement that is missing.
    Insert,
}

impl Kind {
    /// The less of a change, the lower.
    fn cost(self) -> u32 {
        match self {
            Kind::Phase | Kind::Count | Kind::Bytes | Kind::Arrival => 1,
            Kind::Trips | Kind::Value | Kind::Guard => 2,
            Kind::Order | Kind::Launch | Kind::Memory | Kind::Init => 3,
            Kind::NewGuard | Kind::Stages => 4,
            Kind::Insert => 5,
        }
    }
}

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What kind of mistake it takes back.
    pub kind: Kind,
    /// What it does, as a lowercase fragment.
    pub what: String,
    /// Ranges of the text and what takes their place, ascending and apart.
    replaced: Vec<(Span, String)>,
}

impl Edit {
    /// The changed text.
    pub fn apply(&self, source: &str) -> String {
        let mut out = String::new();
        let mut from = 0;
        for (span, by) in &self.replaced {
            out.push_str(source.get(from..span.start).unwrap_or_default());
            out.push_str(by);
            from = span.end;
        }
        out.push_str(source.get(from..).unwrap_or_default());
        out
    }
}

/// Edits as they are found.
struct Found<'s> {
    source: &'s str,
    file: &'s File,
    places: Vec<Place<'s>>,
    edits: Vec<Edit>,
    seen: BTreeSet<String>,
}

impl<'s> Found<'s> {
    /// The text of a range.
    fn slice(&self, span: Span) -> &'s str {
        self.source.get(span.start..span.end).unwrap_or_default()
    }

    /// The line of a range, from 1.
    fn line(&self, span: Span) -> usize {
        let before = self.source.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// Keeps an edit that changes the text and is not there yet.
    fn add(&mut self, kind: Kind, what: String, mut replaced: Vec<(Span, String)>) {
        replaced.sort_by_key(|(span, _)| (span.start, span.end));
        let apart = replaced
            .windows(2)
            .all(|two| two[0].0.end <= two[1].0.start);
        let edit = Edit {
            kind,
            what,
            replaced,
        };
        let text = edit.apply(self.source);
        if apart && text != self.source && self.seen.insert(text) {
            self.edits.push(edit);
        }
    }

    /// Keeps an edit of one range.
    fn replace(&mut self, kind: Kind, what: String, span: Span, by: String) {
        self.add(kind, what, vec![(span, by)]);
    }
}

/// Every single edit of a text that parses, the least changes first; of equal ones, those outside
/// roles and in the roles that are `stuck` first.
pub fn all(source: &str, file: &File, stuck: &BTreeSet<usize>) -> Vec<Edit> {
    let mut found = Found {
        source,
        file,
        places: walk::places(file),
        edits: Vec::new(),
        seen: BTreeSet::new(),
    };
    phases::add(&mut found);
    counts::add(&mut found);
    signals::add(&mut found);
    loops::add(&mut found);
    values::add(&mut found);
    guards::add(&mut found);
    order::add(&mut found);
    memory::add(&mut found);
    barriers::add(&mut found);
    let mut edits = found.edits;
    let ranges: Vec<Span> = walk::roles(file)
        .map(|(item, role)| Span {
            start: item.span.start,
            end: role.body.close.end,
        })
        .collect();
    let elsewhere = |edit: &Edit| {
        edit.replaced.iter().any(|(span, _)| {
            let role = ranges
                .iter()
                .position(|range| (range.start..range.end).contains(&span.start));
            role.is_some_and(|role| !stuck.contains(&role))
        })
    };
    edits.sort_by_key(|edit| (edit.kind.cost(), elsewhere(edit)));
    edits
}

/// An operand of an operator that binds tightly.
fn tight(text: &str) -> String {
    let simple = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    if text.chars().all(simple) {
        text.to_owned()
    } else {
        format!("({text})")
    }
}
