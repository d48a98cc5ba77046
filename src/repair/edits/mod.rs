//! Single edits of a protocol's text, as its author would describe them.
//!
//! An edit replaces ranges of the text, so that everything else stays as it was written. What is
//! replaced is found in the syntax tree; whether the result has a meaning is not looked at here.
//! One edit may touch several places where its author would think of one change: the thread count
//! of a named barrier stands at each of its uses.

mod along;
mod barriers;
mod counters;
mod counts;
mod first;
mod guards;
mod loops;
mod memory;
mod missing;
mod order;
mod peers;
mod phases;
mod rounds;
mod signals;
mod twins;
mod values;
mod walk;

use std::collections::BTreeSet;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;

use rustc_hash::FxHashSet;

use crate::protocol::Span;
use crate::text::ast::File;
use crate::text::ast::Stmt;
use crate::text::words::is_word;
use crate::text::words::words;

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
    /// Which stage is meant.
    Index,
    /// Where a state starts, and what it goes by.
    State,
    /// The order of two statements next to each other.
    Order,
    /// The order in which CTAs start.
    Launch,
    /// How many CTAs are resident: what the launch has to see to, and no change of the program.
    Residency,
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
            Kind::Trips | Kind::Value | Kind::Guard | Kind::State => 2,
            Kind::Order | Kind::Launch | Kind::Memory | Kind::Init => 3,
            Kind::Index | Kind::NewGuard | Kind::Residency | Kind::Stages => 4,
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
    seen: Seen,
}

/// The changed texts that there are already, by their hashes: thousands of edits of a long text would not fit in memory. Where two hashes are equal by
/// chance, an edit is missing.
#[derive(Debug, Default)]
struct Seen(FxHashSet<u64>);

impl Seen {
    /// Notes the text that an edit makes; whether it is new.
    fn insert(&mut self, text: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        self.0.insert(hasher.finish())
    }
}

impl<'s> Found<'s> {
    /// The text of a range.
    fn slice(&self, span: Span) -> &'s str {
        self.source.get(span.start..span.end).unwrap_or_default()
    }

    /// The loops and branches around a statement, the outermost first.
    fn around(&self, place: &Place<'s>) -> Vec<&'s Stmt> {
        let here = place.stmt.span.start;
        let around = self.places.iter().filter(|other| {
            let blocks = walk::blocks(other.stmt);
            let mut ranges = blocks.iter().map(|b| b.open.start..b.close.end);
            ranges.any(|range| range.contains(&here))
        });
        around.map(|other| other.stmt).collect()
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
        if apart && text != self.source && self.seen.insert(&text) {
            self.edits.push(edit);
        }
    }

    /// Keeps an edit of one range.
    fn replace(&mut self, kind: Kind, what: String, span: Span, by: String) {
        self.add(kind, what, vec![(span, by)]);
    }
}

/// Where a counterexample ends.
#[derive(Debug, Default)]
pub struct Stuck {
    /// The roles that wait.
    pub roles: BTreeSet<usize>,
    /// What they wait for.
    pub objects: BTreeSet<String>,
}

/// What an edit costs in addition that has nothing to do with what is waited for.
const BESIDE: u32 = 3;

/// Every single edit of a text that parses, the least changes first; of equal ones, those outside
/// roles and in the roles that are stuck first.
pub fn all(source: &str, file: &File, stuck: &Stuck) -> Vec<Edit> {
    let mut found = Found {
        source,
        file,
        places: walk::places(file),
        edits: Vec::new(),
        seen: Seen::default(),
    };
    phases::add(&mut found);
    rounds::add(&mut found);
    counts::add(&mut found);
    signals::add(&mut found);
    missing::add(&mut found);
    peers::add(&mut found);
    loops::add(&mut found);
    along::add(&mut found);
    values::add(&mut found);
    counters::add(&mut found);
    guards::add(&mut found);
    order::add(&mut found);
    first::add(&mut found);
    memory::add(&mut found);
    barriers::add(&mut found);
    let edits = std::mem::take(&mut found.edits);
    // Edits of two twins are one edit of both, and are not kept twice even for a moment.
    let mut seen = Seen::default();
    let new = |edit: &Edit| seen.insert(&edit.apply(source));
    let mut edits: Vec<Edit> = twins::everywhere(&found, edits).filter(new).collect();
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
            role.is_some_and(|role| !stuck.roles.contains(&role))
        })
    };
    edits.sort_by_cached_key(|edit| {
        let launch = matches!(edit.kind, Kind::Launch | Kind::Residency);
        let beside = match launch || found.concerns(edit, &stuck.objects) {
            true => 0,
            false => BESIDE,
        };
        (edit.kind.cost() + beside, elsewhere(edit))
    });
    let launched = with_all_resident(&found, &edits);
    edits.extend(launched);
    edits
}

/// The same edits where all CTAs are resident at once. A kernel does not say in which order its CTAs start, so one that makes CTAs
/// wait for each other needs that beside whatever else is wrong with it.
fn with_all_resident(found: &Found<'_>, edits: &[Edit]) -> Vec<Edit> {
    let residency = order::residency(found);
    let [(here, assumed)] = residency.as_slice() else {
        return Vec::new();
    };
    if order::undetermined(found).is_empty() {
        return Vec::new();
    }
    let of_program = |edit: &&Edit| {
        let launch = [Kind::Launch, Kind::Residency, Kind::Insert].contains(&edit.kind);
        let apart = |(span, _): &(Span, String)| span.end < here.start || here.end < span.start;
        !launch && edit.replaced.iter().all(apart)
    };
    let both = edits.iter().filter(of_program).map(|edit| {
        let mut replaced = edit.replaced.clone();
        replaced.push((*here, assumed.clone()));
        replaced.sort_by_key(|(span, _)| span.start);
        Edit {
            kind: Kind::Residency,
            what: format!("{}, and all CTAs are resident at once", edit.what),
            replaced,
        }
    });
    both.collect()
}

impl Found<'_> {
    /// Whether an edit has to do with one of these objects: a statement that it changes names it, has it in its blocks, or is
    /// new and names it. Without an object, every edit does.
    fn concerns(&self, edit: &Edit, objects: &BTreeSet<String>) -> bool {
        let names = |text: &str| {
            let mut names = words(text);
            names.any(|name| objects.contains(name))
        };
        objects.is_empty()
            || edit.replaced.iter().any(|(span, by)| {
                let start = self.source[..span.start].rfind('\n').map_or(0, |at| at + 1);
                let rest = &self.source[span.end..];
                let end = span.end + rest.find('\n').unwrap_or(rest.len());
                let around = self.places.iter().find(|place| {
                    (start..end).contains(&place.stmt.span.start)
                        && !walk::blocks(place.stmt).is_empty()
                });
                let body = around.map_or("", |place| self.slice(walk::extent(place.stmt)));
                // What is put between two lines is about what it says.
                let line = match span.start == span.end && by.contains('\n') {
                    true => "",
                    false => self.source.get(start..end).unwrap_or(""),
                };
                // A variable may say which element is meant, or for which phase a wait is.
                let variable = line.trim_start().starts_with("var ");
                variable || names(line) || names(by) || names(body)
            })
    }
}

/// An operand of an operator that binds tightly.
fn tight(text: &str) -> String {
    let simple = |c: char| is_word(c) || c == '.';
    if text.chars().all(simple) {
        text.to_owned()
    } else {
        format!("({text})")
    }
}
