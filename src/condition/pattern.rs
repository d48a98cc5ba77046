//! Finds the shape that a pattern must have for a hang.
//!
//! A *line* of a pattern consists of the entries that differ in one coordinate only. A shape says what some line
//! contains. For example, a line may contain an entry that holds after one that does not. Every pattern at small
//! parameter values is labelled by exhaustive search. The candidates are the shapes that all patterns with a hang
//! have. Those that most patterns without a hang lack are tried first.
//!
//! The proof that nothing hangs without the shape is about a changed text. There, the pattern is computed from a free
//! pattern: any entry that would give some line the shape is left out or put in. A pattern without the shape is
//! computed from itself. So every pattern without the shape is computed from some free one. Hence a proof of the
//! changed text, for all free patterns, covers every pattern of the original text that lacks the shape.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use itertools::Itertools;

use crate::deadline;
use crate::hunt::grid;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::eval::Env;
use crate::semantics::explore;
use crate::semantics::explore::SearchEnd;
use crate::semantics::inputs::Bounds;
use crate::semantics::inputs::Inputs;
use crate::semantics::pattern::PatternData;
use crate::semantics::unfold::Limits;
use crate::text;
use crate::text::Narrowing;
use crate::text::ast;
use crate::text::ast::ExprKind;
use crate::text::ast::ItemKind;
use crate::text::ast::Iteration;
use crate::text::ast::PatternShape;
use crate::text::ast::StmtKind;
use crate::text::words::words;
use crate::verdict;
use crate::verdict::deadlock::Internal;
use crate::verdict::deadlock::Settings;
use crate::verdict::decision::Decision;

/// How far parameters go from their least values.
const RADIUS: i64 = 2;

/// The most tiles of a pattern of which all subsets are tried.
const TILES: usize = 6;

/// The part of the time for the search, as a divisor, and the time for one proof.
const SHARE: u32 = 4;
const PROOF: Duration = Duration::from_secs(12);

/// The most states of one input, and the largest instance.
const STATES: u64 = 20_000;
const LARGEST: Limits = Limits {
    ops: 5_000,
    members: 500,
    cells: 5_000,
    work: 200_000,
};

/// The shape that a pattern has wherever something hangs.
#[derive(Debug)]
pub struct Shaped {
    /// The shape in words.
    pub words: String,
    /// The verdict on the text in which no pattern has the shape: PROVED.
    pub otherwise: Decision,
    /// How many patterns with this shape hang, among the patterns that were tried at parameters that satisfy the
    /// condition.
    pub hang: usize,
    /// How many of these patterns do not hang.
    pub clear: usize,
    /// How many of these patterns could not be decided.
    pub open: usize,
}

/// What some line contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// An entry that holds after one that does not.
    Gap,
    /// An entry that holds before one that does not.
    End,
    /// More than one entry that holds.
    Several,
    /// An entry that does not hold.
    Missing,
    /// An entry that holds.
    Any,
}

/// The shapes, in the order in which they are tried if they exclude equally many patterns.
const SHAPES: [Shape; 5] = [
    Shape::Gap,
    Shape::End,
    Shape::Several,
    Shape::Missing,
    Shape::Any,
];

impl Shape {
    /// Whether a line has the shape.
    fn of(self, line: &[bool]) -> bool {
        let after = |a: bool, b: bool| line.iter().tuple_windows().any(|(x, y)| (*x, *y) == (a, b));
        match self {
            Shape::Gap => after(false, true),
            Shape::End => after(true, false),
            Shape::Several => line.iter().filter(|holds| **holds).count() > 1,
            Shape::Missing => line.contains(&false),
            Shape::Any => line.contains(&true),
        }
    }

    /// The definition of a pattern entry from a free pattern: no line of the result has the shape. A free pattern
    /// that lacks the shape is left as it is.
    fn without(self, free: &str, names: &[String], extents: &[String], along: usize) -> String {
        let at = |name: &str| {
            let names = names.iter().enumerate();
            let at = names.map(|(c, n)| if c == along { name } else { n.as_str() });
            format!("{free}[{}]", at.collect::<Vec<_>>().join(", "))
        };
        let (name, extent) = (&names[along], &extents[along]);
        let other = OTHER;
        match self {
            Shape::Gap => format!("count({other} in 0..{name} + 1 where !{}) == 0", at(other)),
            Shape::End => format!(
                "count({other} in {name}..{extent} where !{}) == 0",
                at(other)
            ),
            Shape::Several => {
                let here = at(name);
                format!(
                    "{here} && count({other} in 0..{name} where {}) == 0",
                    at(other)
                )
            }
            Shape::Missing => "true".to_owned(),
            Shape::Any => "false".to_owned(),
        }
    }

    fn words(self, pattern: &str, names: &[String], along: usize) -> String {
        let entry = format!("{pattern}[{}]", names.join(", "));
        let n = &names[along];
        let others = names.iter().enumerate().filter(|(c, _)| *c != along);
        let others = others.map(|(_, name)| name.as_str()).join(", ");
        let some = match others.is_empty() {
            true => String::new(),
            false => format!("for some {others}, "),
        };
        match self {
            Shape::Gap => format!("{some}{entry} holds for an {n} and not for a smaller one"),
            Shape::End => format!("{some}{entry} holds for an {n} and not for a larger one"),
            Shape::Several => format!("{some}{entry} holds for more than one {n}"),
            Shape::Missing => format!("{entry} does not hold everywhere"),
            Shape::Any => format!("{entry} holds somewhere"),
        }
    }
}

/// Names that no text is likely to use. If a text does use one, no shape is found, because the changed text has no
/// meaning.
const FREE: &str = "free_pattern";
const OTHER: &str = "other_place";

/// A pattern at parameter values, and whether it hangs.
struct Tried {
    params: Vec<i64>,
    extents: Vec<i64>,
    entries: BTreeSet<Vec<i64>>,
    /// `None` if this could not be decided.
    hangs: Option<bool>,
}

/// The shape that the only free pattern of a protocol must have for a hang, with a proof. `holds` is the condition on
/// the parameters.
pub(super) fn shaped(
    protocol: &Protocol,
    narrowing: &Narrowing,
    holds: &dyn Fn(&[i64]) -> bool,
    settings: &Settings<'_>,
) -> Result<Option<Shaped>, Internal> {
    let end = deadline::after(settings.timeout);
    let free = protocol.patterns.iter().enumerate();
    let mut free = free.filter(|(_, pattern)| pattern.definition.is_none());
    let (Some((place, pattern)), None) = (free.next(), free.next()) else {
        return Ok(None);
    };
    let Some(file) = text::syntax(&protocol.source) else {
        return Ok(None);
    };
    let tried = tried(protocol, place, settings);
    let (hang, clear): (Vec<&Tried>, Vec<&Tried>) = tried
        .iter()
        .filter(|tried| tried.hangs.is_some())
        .partition(|tried| tried.hangs == Some(true));
    if hang.is_empty() {
        return Ok(None);
    }
    let coordinates = pattern.extents.len();
    let all = SHAPES.into_iter().cartesian_product(0..coordinates);
    let mut fitting: Vec<(usize, Shape, usize)> = all
        .filter(|(shape, along)| hang.iter().all(|tried| tried.has(*shape, *along)))
        .map(|(shape, along)| {
            let out = clear
                .iter()
                .filter(|tried| !tried.has(shape, along))
                .count();
            (out, shape, along)
        })
        .filter(|(out, ..)| *out > 0)
        .collect();
    fitting.sort_by_key(|(out, ..)| std::cmp::Reverse(*out));
    let names = names(&file, &pattern.name, coordinates);
    for (_, shape, along) in fitting {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || settings.cancel.load(Ordering::Relaxed) {
            break;
        }
        let Some(source) = without(protocol, &file, &pattern.name, &names, (shape, along)) else {
            break;
        };
        let Ok(mut changed) = text::load(source.as_bytes()) else {
            continue;
        };
        if text::narrow(&mut changed, narrowing).is_err() {
            continue;
        }
        let words = shape.words(&pattern.name, &names, along);
        (settings.tell)(&format!("trying patterns unless {words}"));
        let settings = Settings {
            timeout: left.min(PROOF),
            ..settings.clone()
        };
        let otherwise = verdict::decide(&changed, narrowing, Property::Deadlock, &settings)?;
        if !otherwise.verdict.is_proved() {
            continue;
        }
        let inside = |hangs: Option<bool>| {
            let all = tried.iter().filter(|tried| tried.hangs == hangs);
            all.filter(|tried| tried.has(shape, along) && holds(&tried.params))
                .count()
        };
        let (hang, clear) = (inside(Some(true)), inside(Some(false)));
        // The shape `Any` says that nothing hangs if nothing is visited. This is informative only if all other
        // patterns hang.
        if shape == Shape::Any && clear > 0 {
            continue;
        }
        return Ok(Some(Shaped {
            words,
            otherwise,
            hang,
            clear,
            open: inside(None),
        }));
    }
    Ok(None)
}

impl Tried {
    /// Whether some line along a coordinate has a shape.
    fn has(&self, shape: Shape, along: usize) -> bool {
        let extents = self.extents.iter().enumerate();
        let heads = extents
            .map(|(c, extent)| if c == along { 0..1 } else { 0..*extent })
            .multi_cartesian_product();
        heads.into_iter().any(|mut at| {
            let line: Vec<bool> = (0..self.extents[along])
                .map(|here| {
                    at[along] = here;
                    self.entries.contains(&at)
                })
                .collect();
            shape.of(&line)
        })
    }
}

/// Every pattern at small parameter values, and whether something hangs with it for some row order and some initial
/// value.
fn tried(protocol: &Protocol, place: usize, settings: &Settings<'_>) -> Vec<Tried> {
    let end = deadline::after(settings.timeout / SHARE);
    let tight = protocol.tightened();
    let all_starts = !protocol.has_open_starts();
    let none: &[PatternData] = &[];
    let mut all = Vec::new();
    for params in (0..=RADIUS).flat_map(|radius| grid::points(&tight, radius)) {
        if Instant::now() >= end {
            break;
        }
        let mut env = Env::new(&tight, &params, none, 10_000);
        let Ok(extents) = env.values(&tight.patterns[place].extents) else {
            continue;
        };
        let tiles = extents.iter().try_fold(1_usize, |tiles, extent| {
            tiles.checked_mul(usize::try_from(*extent).ok()?)
        });
        if tiles.is_none_or(|tiles| tiles > TILES) {
            continue;
        }
        let bounds = Bounds {
            max_initial: 1,
            limits: LARGEST,
        };
        let Ok(inputs) = Inputs::new(&tight, &params, &bounds) else {
            continue;
        };
        let mut here: BTreeMap<BTreeSet<Vec<i64>>, Option<bool>> = BTreeMap::new();
        for item in inputs {
            if Instant::now() >= end || settings.cancel.load(Ordering::Relaxed) {
                // The patterns whose orders have not all been tried are not decided.
                return all;
            }
            let Ok((input, instance)) = item else {
                here.clear();
                break;
            };
            let options = explore::Options {
                max_states: STATES,
                cancel: Some(settings.cancel),
                deadline: Some(end),
                ..explore::Options::default()
            };
            let found = explore::explore(&instance, &options);
            let hangs = match (found.stuck.is_some(), found.end) {
                (true, _) => Some(true),
                (false, SearchEnd::Exhausted) if all_starts && found.violation.is_none() => {
                    Some(false)
                }
                _ => None,
            };
            let known = here
                .entry(input.patterns[place].clone())
                .or_insert(Some(false));
            *known = match (*known, hangs) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (None, _) | (_, None) => None,
                _ => Some(false),
            };
        }
        all.extend(here.into_iter().map(|(entries, hangs)| Tried {
            params: params.clone(),
            extents: extents.clone(),
            entries,
            hangs,
        }));
    }
    all
}

/// The names that the text uses for the coordinates of a pattern, in a loop over a row or in an access to an entry.
fn names(file: &ast::File, pattern: &str, coordinates: usize) -> Vec<String> {
    let name = |e: &ast::Expr| match &e.kind {
        ExprKind::Name(name) => Some(name.clone()),
        _ => None,
    };
    let mut open: Vec<&ast::Stmt> = Vec::new();
    for item in &file.items {
        if let ItemKind::Role(role) = &item.kind {
            open.extend(&role.body.stmts);
        }
    }
    while let Some(stmt) = open.pop() {
        let found: Option<Vec<String>> = match &stmt.kind {
            StmtKind::For {
                name: last,
                over: Iteration::Row {
                    pattern: of, row, ..
                },
                ..
            } if of.text == pattern => {
                let row: Option<Vec<String>> = row.iter().map(name).collect();
                row.map(|row| row.into_iter().chain([last.text.clone()]).collect())
            }
            StmtKind::If { condition, .. } => match &condition.kind {
                ExprKind::Visits(of, at) if of.text == pattern => at.iter().map(name).collect(),
                _ => None,
            },
            _ => None,
        };
        if let Some(found) =
            found.filter(|found| found.len() == coordinates && found.iter().all_unique())
        {
            return found;
        }
        match &stmt.kind {
            StmtKind::For { body, .. } | StmtKind::Repeat { body, .. } => open.extend(&body.stmts),
            StmtKind::If { then, .. } => open.extend(&then.stmts),
            _ => {}
        }
    }
    (0..coordinates).map(|c| format!("i{c}")).collect()
}

/// The text with a definition of the pattern such that it never has the shape.
fn without(
    protocol: &Protocol,
    file: &ast::File,
    pattern: &str,
    names: &[String],
    (shape, along): (Shape, usize),
) -> Option<String> {
    let source = &protocol.source;
    let (item, extents) = file.items.iter().find_map(|item| match &item.kind {
        ItemKind::Pattern {
            name,
            shape: PatternShape::Free(extents),
        } if name.text == pattern => Some((item, extents)),
        _ => None,
    })?;
    let extents: Option<Vec<String>> = extents
        .iter()
        .map(|e| source.get(e.span.start..e.span.end).map(str::to_owned))
        .collect();
    let extents = extents?;
    // The names of the coordinates must not occur in the extents.
    let mut words = extents.iter().flat_map(|extent| words(extent));
    if words.any(|word| names.iter().any(|name| name == word)) {
        return None;
    }
    let indices = names.iter().zip(&extents);
    let indices = indices.map(|(name, extent)| format!("{name} in 0..{extent}"));
    let condition = shape.without(FREE, names, &extents, along);
    let defined = format!(
        "pattern {FREE}[{}]\npattern {pattern}[{}] = {condition}",
        extents.join(", "),
        indices.collect::<Vec<_>>().join(", ")
    );
    let before = source.get(..item.span.start)?;
    let after = source.get(item.span.end..)?;
    Some(format!("{before}{defined}{after}"))
}
