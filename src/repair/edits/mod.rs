//! Single edits of a protocol's text, described as its author would describe them.
//!
//! An edit replaces ranges of the text, so everything else stays as it was written. The ranges are found in the
//! syntax tree. Whether the result has a meaning is checked elsewhere. One edit may touch several places if its
//! author would regard them as one change. For example, each use of a named barrier states the thread count.

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

/// The kind of mistake that an edit corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The phase at which a wait or a pipeline state starts.
    Phase,
    /// How many arrivals or threads complete a barrier.
    Count,
    /// How many bytes are expected or delivered.
    Bytes,
    /// An operation that should also arrive, wait or expect, or should not.
    Arrival,
    /// How often a loop runs.
    Trips,
    /// The value that a semaphore is waited for, or starts with.
    Value,
    /// A condition that should not be there, or should be another one.
    Guard,
    /// The stage that a statement uses.
    Index,
    /// Where the state of a pipeline starts, and what advances it.
    State,
    /// The order of two statements next to each other.
    Order,
    /// The order in which CTAs start.
    Launch,
    /// How many CTAs are resident. The launch has to provide for this; the program is not changed.
    Residency,
    /// Scopes, memory orders, fences, and the number of groups that a `wait_group` leaves in flight.
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
    /// The smaller the change, the lower the cost.
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
    /// The kind of mistake that it corrects.
    pub kind: Kind,
    /// What it does, as a lowercase fragment.
    pub what: String,
    /// Ranges of the text and their replacements, ascending and not overlapping.
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

/// Collects the edits.
struct Found<'s> {
    source: &'s str,
    file: &'s File,
    places: Vec<Place<'s>>,
    edits: Vec<Edit>,
    seen: Seen,
}

/// The texts that edits result in, as hashes, because thousands of edits of a long text would not fit into memory. If
/// two hashes are equal by chance, an edit is lost.
#[derive(Debug, Default)]
struct Seen(FxHashSet<u64>);

impl Seen {
    /// Notes the text that an edit results in. Returns whether the text is new.
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

    /// Keeps an edit if it changes the text and is new.
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

/// The end of a counterexample.
#[derive(Debug, Default)]
pub struct Stuck {
    /// The roles that wait.
    pub roles: BTreeSet<usize>,
    /// The objects that they wait for.
    pub objects: BTreeSet<String>,
}

/// The additional cost of an edit that is not about the objects that members wait for.
const BESIDE: u32 = 3;

/// Every single edit of a text that parses. The smallest changes come first. Of equal ones, those come first that are
/// outside of roles or in the roles that are stuck.
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
    // If two edits have the same twins, they result in the same text, and only one of them is kept.
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

/// The same edits, combined with a launch of all CTAs at once. A kernel does not say in which order its CTAs start.
/// So a kernel whose CTAs wait for each other needs this in addition to any other correction.
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
    /// Whether an edit has to do with one of these objects. This is so if a statement that the edit changes names the
    /// object or has it in its blocks, or if the edit adds a statement that names it. If there are no objects, the
    /// result is true.
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
                // For text that is inserted between two lines, only the text itself counts.
                let line = match span.start == span.end && by.contains('\n') {
                    true => "",
                    false => self.source.get(start..end).unwrap_or(""),
                };
                // A variable may determine the element, or the phase that a wait is for.
                let variable = line.trim_start().starts_with("var ");
                variable || names(line) || names(by) || names(body)
            })
    }
}

/// Puts an operand of an operator that binds tightly in parentheses if it needs them.
fn tight(text: &str) -> String {
    let simple = |c: char| is_word(c) || c == '.';
    if text.chars().all(simple) {
        text.to_owned()
    } else {
        format!("({text})")
    }
}
