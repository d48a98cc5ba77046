//! Memory that decides who takes part, as patterns of the text: their names and extents.
//!
//! The extents behind the first one are the widths of the entries. The first one has room for every first index that occurs:
//!
//! - first indices that differ by constants only, such as `ctaid_x` and `ctaid_x + 1`, are counted from the least of them, since which
//!   rows of the memory these are does not matter;
//! - where CTAs wait for each other, there are as many as there are CTAs;
//! - an index that loops count has the greatest value that their counts give it.
//!
//! The coordinates of functions of words have no widths. Each has room in the way of a first index.
//! Functions of rounds are patterns, too: [`crate::recover::rows`].

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::applied::Applied;
use crate::recover::entry::Entry;
use crate::recover::entry::Memory;
use crate::recover::extents::greatest;
use crate::recover::grid::Grid;
use crate::recover::lower::Inputs;
use crate::recover::names::identifier;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::rewrite::replace;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::counts;
use crate::recover::rows::Rows;
use crate::recover::rows::natural;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;
use crate::recover::written::Names;
use crate::recover::written::written;

const ENDLESS: &str =
    "the launch does not give the number of rows of an array that decides about synchronization";
const OF_CTAS: &str = "CTAs wait for each other, and a condition that decides about synchronization depends on more than a single word of memory";
const OTHER: &str = "an array that decides about waits between CTAs is indexed by the number of the CTA in some loads, but not in all";

/// How many values an index has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    Number(Number),
    /// As many as there are CTAs, and some more.
    Ctas(i128),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    memory: u32,
    pub name: String,
    pub extents: Vec<Extent>,
    /// Which words are in it.
    said: String,
}

/// All patterns of a protocol.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    all: Vec<Pattern>,
    rows: Vec<Rows>,
}

/// The roles with the indices of patterns in entries, as the text has them.
pub fn laid_out(
    roles: &[Role],
    inputs: &Inputs,
    grid: Option<&Grid>,
) -> Result<Vec<Role>, Obstacle> {
    let mut roles = roles.to_vec();
    Patterns::new(&mut roles, inputs, grid)?;
    Ok(roles)
}

/// Does something with the entries of lines.
fn entries(lines: &mut [Line], with: &mut dyn FnMut(&mut Entry)) {
    let mut look = |number: &mut Number| {
        if !number.mentions(&|atomic| matches!(atomic, Atomic::Entry(_))) {
            return;
        }
        // Entries stand at the top: neither a quotient nor an index is computed from one.
        let parts = std::mem::take(&mut number.parts);
        for (atomic, factor) in parts {
            let atomic = match atomic {
                Atomic::Entry(mut entry) => {
                    with(&mut entry);
                    Atomic::Entry(entry)
                }
                other => other,
            };
            *number.parts.entry(atomic).or_default() += factor;
        }
    };
    numbers(lines, &mut look);
    conditions(lines, &mut |condition| condition.each_mut(&mut look));
}

/// Whether an entry stands inside of something else, where nobody looks for it.
fn is_hidden(lines: &mut [Line]) -> bool {
    let (mut all, mut top) = (0_usize, 0_usize);
    let mut look = |number: &mut Number| {
        number.each(&mut |atomic| all += usize::from(matches!(atomic, Atomic::Entry(_))));
        let own = number.parts.keys();
        top += own
            .filter(|atomic| matches!(atomic, Atomic::Entry(_)))
            .count();
    };
    numbers(lines, &mut look);
    conditions(lines, &mut |condition| condition.each_mut(&mut look));
    all != top
}

impl Patterns {
    /// The patterns of the memory that roles look at. The indices of entries become those of the patterns.
    pub fn new(roles: &mut [Role], inputs: &Inputs, grid: Option<&Grid>) -> Result<Self, Obstacle> {
        let nowhere = Location::default();
        if roles.iter_mut().any(|role| is_hidden(&mut role.lines)) {
            return refuse(
                "whether a condition on a word of memory holds is used as a number, not only as a condition",
                &nowhere,
            );
        }
        let turn = grid.and_then(|grid| grid.turn);
        let rows = Rows::all(roles, inputs)?;
        if grid.is_some() && !rows.is_empty() {
            return refuse(OF_CTAS, &nowhere);
        }
        let is_function = |memory: u32| {
            let own = inputs.memories.get(memory as usize);
            own.is_some_and(Memory::is_function)
        };
        // The first index of each, and the greatest value of it. Of functions, all that come behind as well.
        let mut firsts: BTreeMap<u32, Vec<(Number, Option<Extent>)>> = BTreeMap::new();
        let mut behind: BTreeMap<(u32, usize), Vec<Option<Extent>>> = BTreeMap::new();
        for role in &mut *roles {
            let counts = counts(&role.lines);
            entries(&mut role.lines, &mut |entry| {
                let extent = |index: &Number| {
                    extent(index, &counts, turn).map(|extent| match extent {
                        Extent::Number(number) => Extent::Number(natural(number, inputs, &counts)),
                        ctas => ctas,
                    })
                };
                let Some((first, others)) = entry.indices.split_first() else {
                    return;
                };
                let all = firsts.entry(entry.memory).or_default();
                all.push((first.clone(), extent(first)));
                if is_function(entry.memory) {
                    for (at, index) in others.iter().enumerate() {
                        let all = behind.entry((entry.memory, at)).or_default();
                        all.push(extent(index));
                    }
                }
            });
        }
        if grid.is_some() && firsts.keys().any(|memory| is_function(*memory)) {
            return refuse(OF_CTAS, &nowhere);
        }
        let mut patterns = Self {
            all: Vec::new(),
            rows,
        };
        for (memory, firsts) in firsts {
            let base = base(&firsts, turn);
            let room = match &base {
                Some((_, room)) => Extent::Number(Number::constant(*room)),
                None => joined(firsts.iter().map(|(_, extent)| extent.as_ref()))?,
            };
            let (mut only, mut widths) = (false, Vec::<Number>::new());
            for role in &mut *roles {
                entries(&mut role.lines, &mut |entry| {
                    if entry.memory != memory {
                        return;
                    }
                    widths.clone_from(&entry.widths);
                    let Some((least, room)) = &base else { return };
                    only = *room == 1 && entry.indices.len() > 1;
                    if only {
                        entry.indices.remove(0);
                    } else if let Some(first) = entry.indices.first_mut()
                        && let Some(left) = first.minus(least)
                    {
                        *first = left;
                    }
                });
            }
            let mut extents = vec![room];
            if only {
                extents.clear();
            }
            let natural = |width| natural(width, inputs, &BTreeMap::new());
            extents.extend(widths.into_iter().map(natural).map(Extent::Number));
            for (_, all) in behind.range((memory, 0)..=(memory, usize::MAX)) {
                extents.push(joined(all.iter().map(Option::as_ref))?);
            }
            patterns.all.push(Pattern {
                memory,
                name: patterns.name(memory, inputs, grid),
                extents,
                said: said(memory, inputs),
            });
        }
        Ok(patterns)
    }

    /// A name that nothing else has.
    fn name(&self, memory: u32, inputs: &Inputs, grid: Option<&Grid>) -> String {
        let own = inputs.memories.get(memory as usize);
        let name = own.map_or("memory", |memory| memory.name.as_str());
        let name = identifier(&format!("at_{name}"));
        let mut unique = name.clone();
        let mut count = 2;
        let is_taken = |name: &str| {
            inputs
                .all
                .iter()
                .any(|input| identifier(&input.name) == name)
                || self.all.iter().any(|pattern| pattern.name == name)
                || grid.is_some_and(|grid| {
                    let mut arrays = grid.arrays.iter();
                    arrays.any(|array| identifier(&array.name) == name)
                })
        };
        while is_taken(&unique) {
            unique = format!("{name}_{count}");
            count += 1;
        }
        unique
    }

    fn of(&self, entry: &Entry) -> Option<&Pattern> {
        self.all
            .iter()
            .find(|pattern| pattern.memory == entry.memory)
    }

    /// Their declarations.
    pub fn declared(&self, grid: Option<&Grid>, names: &dyn Names) -> String {
        let extent = |extent: &Extent| match (extent, grid) {
            (Extent::Number(number), _) => written(number, names, false),
            (Extent::Ctas(0), Some(grid)) => grid.count.clone(),
            (Extent::Ctas(more), grid) => {
                let count = grid.map_or("1", |grid| grid.count.as_str());
                format!("{count} + {more}")
            }
        };
        let line = |pattern: &Pattern| {
            let extents: Vec<String> = pattern.extents.iter().map(extent).collect();
            let extents = extents.join(", ");
            format!(
                "pattern {}[{extents}]  // where {}\n",
                pattern.name, pattern.said
            )
        };
        let patterns = self.all.iter().map(line);
        patterns
            .chain(self.rows.iter().map(|rows| rows.declared(names)))
            .collect()
    }

    /// The value of a function of rounds as a number of the text.
    pub fn applied(&self, one: &Applied, names: &dyn Names) -> String {
        let mut rows = self.rows.iter();
        let own = rows.find(|rows| rows.function == one.function);
        own.map_or_else(String::new, |rows| rows.applied(one, names))
    }

    /// An entry as a truth value of the text.
    pub fn written(&self, entry: &Entry, names: &dyn Names) -> String {
        let Some(pattern) = self.of(entry) else {
            return String::new();
        };
        let index = |index: &Number| written(index, names, false);
        let indices: Vec<String> = entry.indices.iter().map(index).collect();
        format!("{}[{}]", pattern.name, indices.join(", "))
    }

    /// What a loop goes through, and what it does in each round.
    pub fn through(
        &self,
        (index, count, body): (u32, &Number, &[Line]),
        names: &dyn Names,
    ) -> (String, Vec<Line>) {
        self.row((index, count, body), names).unwrap_or_else(|| {
            (
                format!("0..{}", written(count, names, false)),
                body.to_vec(),
            )
        })
    }

    /// The row that a loop goes through, and what it does there: where all that it does is done where an entry is not 0 whose last
    /// index goes through the whole row with the loop. The loop is then over that index.
    fn row(
        &self,
        (index, count, body): (u32, &Number, &[Line]),
        names: &dyn Names,
    ) -> Option<(String, Vec<Line>)> {
        let [
            Line::If {
                condition: Condition::NotZero(number),
                then,
                otherwise,
                ..
            },
        ] = body
        else {
            return None;
        };
        let mut parts = number.parts.iter();
        let (Some((Atomic::Entry(entry), 1)), None, 0) =
            (parts.next(), parts.next(), number.constant)
        else {
            return None;
        };
        let pattern = self.of(entry)?;
        let (last, others) = entry.indices.split_last()?;
        let own = |atomic: &Atomic| {
            *atomic == Atomic::Index(index) || matches!(atomic, Atomic::Variable(_))
        };
        let up = Number::of(Atomic::Index(index));
        let down = count.minus(&Number::constant(1))?.minus(&up)?;
        let fits = otherwise.is_empty()
            && others.iter().all(|other| !other.mentions(&own))
            && pattern.extents.last() == Some(&Extent::Number(count.clone()));
        let mut body = then.clone();
        let order = if !fits {
            return None;
        } else if *last == up {
            "ascending"
        } else if *last == down {
            replace(&mut body, &|atomic| {
                (*atomic == Atomic::Index(index)).then(|| down.clone())
            });
            "descending"
        } else {
            return None;
        };
        let others = others.iter().map(|other| written(other, names, false));
        let all: Vec<String> = std::iter::once(pattern.name.clone())
            .chain(others)
            .collect();
        Some((format!("row({}) {order}", all.join(", ")), body))
    }
}

/// Which words are in the pattern of a memory.
fn said(memory: u32, inputs: &Inputs) -> String {
    let own = inputs.memories.get(memory as usize);
    let test = own.and_then(|memory| memory.test.as_ref());
    test.map_or_else(
        || "the memory is not 0".to_owned(),
        |test| test.said.clone(),
    )
}

/// One more than the greatest value of an index.
fn extent(index: &Number, counts: &BTreeMap<u32, Number>, turn: Option<u32>) -> Option<Extent> {
    if let Some(turn) = turn
        && let Some(1) = index.parts.get(&Atomic::Input(turn))
    {
        let more = index.minus(&Number::of(Atomic::Input(turn)))?;
        return more.as_constant().map(|more| Extent::Ctas(more.max(0)));
    }
    let most = greatest(index, counts, turn)?;
    most.plus(&Number::constant(1)).map(Extent::Number)
}

/// Room for each of these.
fn joined<'e>(mut extents: impl Iterator<Item = Option<&'e Extent>>) -> Result<Extent, Obstacle> {
    let nowhere = Location::default();
    let Some(Some(first)) = extents.next() else {
        return refuse(ENDLESS, &nowhere);
    };
    let mut room = first.clone();
    for extent in extents {
        room = match (room, extent) {
            (_, None) => return refuse(ENDLESS, &nowhere),
            (Extent::Number(a), Some(Extent::Number(b))) if a == *b => Extent::Number(a),
            (Extent::Number(a), Some(Extent::Number(b))) => {
                Extent::Number(Number::maximum(a, b.clone()))
            }
            (Extent::Ctas(a), Some(Extent::Ctas(b))) => Extent::Ctas(a.max(*b)),
            _ => return refuse(OTHER, &nowhere),
        };
    }
    Ok(room)
}

/// The least of first indices that differ by constants only, and how many there are from it on.
fn base(firsts: &[(Number, Option<Extent>)], turn: Option<u32>) -> Option<(Number, i128)> {
    let (first, _) = firsts.first()?;
    let varies = |atomic: &Atomic| match atomic {
        Atomic::Index(_) | Atomic::Variable(_) | Atomic::Entry(_) => true,
        atomic => turn.is_some_and(|turn| *atomic == Atomic::Input(turn)),
    };
    if first.mentions(&varies) {
        return None;
    }
    let mut ends = (0, 0);
    for (other, _) in firsts {
        let distance = other.minus(first)?.as_constant()?;
        ends = (ends.0.min(distance), ends.1.max(distance));
    }
    let least = first.plus(&Number::constant(ends.0))?;
    let room = ends.1.checked_sub(ends.0)?.checked_add(1)?;
    (room <= MOST_ROWS).then_some((least, room))
}

/// How many rows are counted from the least one.
const MOST_ROWS: i128 = 64;
