//! Expands a role at concrete values to its acts, and notes which branches it takes.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::act::Act;
use super::act::Kind;
use super::act::Target;
use super::act::joined;
use super::entries::Entries;
use crate::interpret::Access;
use crate::interpret::Layout;
use crate::interpret::Region;
use crate::recover::buffer::Element;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::LIFE;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Passes;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Word;
use crate::recover::role_ir::every_line;

/// How many lines a role may have when it is expanded, iterations included.
pub const MOST_LINES: usize = 20_000;

/// A loop or branch of a role by its number in the text, the part of its condition, and which way it goes there.
pub type Way = (usize, usize, i128);

struct Expander<'a> {
    values: &'a [Option<i128>],
    entries: Entries<'a>,
    indices: BTreeMap<u32, i128>,
    variables: BTreeMap<u32, i128>,
    lines: usize,
    /// Where acts are wanted: places of variables, and the acts.
    acts: Option<(&'a Layout, Vec<Act>)>,
    ways: BTreeSet<Way>,
}

/// Behind the numbers of the parts of conditions.
pub const ENTRIES: usize = 1 << 32;

enum Flow {
    Next,
    Return,
}

/// The acts of a role; `None` where a number has no value or there are too many.
pub fn expand(
    role: &Role,
    values: &[Option<i128>],
    entries: Entries,
    layout: &Layout,
) -> Option<Vec<Act>> {
    let mut expander = Expander::new(values, entries, Some((layout, Vec::new())));
    expander.block(&role.lines, 0)?;
    expander.acts.map(|(_, acts)| joined(acts))
}

/// The branches that a role takes, and the number of lines that it executes.
pub fn ways(
    role: &Role,
    values: &[Option<i128>],
    entries: Entries,
) -> Option<(BTreeSet<Way>, usize)> {
    let mut expander = Expander::new(values, entries, None);
    expander.block(&role.lines, 0)?;
    Some((expander.ways, expander.lines))
}

/// How many lines there are, inner ones included.
fn size(lines: &[Line]) -> usize {
    let mut count = 0;
    every_line(lines, &mut |_| count += 1);
    count
}

impl<'a> Expander<'a> {
    fn new(
        values: &'a [Option<i128>],
        entries: Entries<'a>,
        acts: Option<(&'a Layout, Vec<Act>)>,
    ) -> Self {
        Self {
            values,
            entries,
            indices: BTreeMap::new(),
            variables: BTreeMap::new(),
            lines: 0,
            acts,
            ways: BTreeSet::new(),
        }
    }

    fn of(&self, atomic: &Atomic) -> Option<i128> {
        match atomic {
            Atomic::Input(input) => self.values.get(*input as usize).copied().flatten(),
            Atomic::Index(index) => self.indices.get(index).copied(),
            Atomic::Variable(variable) => self.variables.get(variable).copied(),
            Atomic::Entry(entry) => self.entries.value(entry),
            Atomic::Applied(one) => self.entries.applied(one),
            _ => None,
        }
    }

    fn value(&self, number: &Number) -> Option<i128> {
        number.value(&|atomic| self.of(atomic))
    }

    /// `first` is the number of the first line in the text of the role.
    fn block(&mut self, lines: &[Line], first: usize) -> Option<Flow> {
        let mut number = first;
        for line in lines {
            self.lines += 1;
            if self.lines > MOST_LINES {
                return None;
            }
            match line {
                // Marks of what is looked at later.
                Line::Action {
                    action: Action::Invalidate { .. } | Action::Round { .. },
                    ..
                } => {}
                Line::Action { action, location } => {
                    if let Some((layout, mut acts)) = self.acts.take() {
                        let kind = self.kind(action, layout)?;
                        acts.push(Act {
                            kind,
                            location: location.clone(),
                        });
                        self.acts = Some((layout, acts));
                    }
                }
                Line::For {
                    index, count, body, ..
                } => {
                    let count = self.value(count)?;
                    self.ways.insert((number, 0, rounds(count)));
                    for round in 0..count {
                        self.lines += 1;
                        self.indices.insert(*index, round);
                        if let Flow::Return = self.block(body, number + 1)? {
                            return Some(Flow::Return);
                        }
                    }
                    self.indices.remove(index);
                }
                Line::If {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    let holds = condition.holds(&|atomic| self.of(atomic))?;
                    if self.acts.is_none() {
                        self.borders(condition, number, &mut 0)?;
                    }
                    let (side, begin) = if holds {
                        (then, number + 1)
                    } else {
                        (otherwise, number + 1 + size(then))
                    };
                    if let Flow::Return = self.block(side, begin)? {
                        return Some(Flow::Return);
                    }
                }
                Line::Let { variable, value } | Line::Assign { variable, value } => {
                    let value = self.value(value)?;
                    self.variables.insert(*variable, value);
                }
                Line::Return => return Some(Flow::Return),
            }
            number += size(std::slice::from_ref(line));
        }
        Some(Flow::Next)
    }

    /// On which side of its border each part of a condition is, and how near: a border that is off by one shows only
    /// right beside it.
    fn borders(&mut self, condition: &Condition, line: usize, part: &mut usize) -> Option<()> {
        match condition {
            Condition::Constant(_) => {}
            Condition::AtLeastZero(number)
            | Condition::Zero(number)
            | Condition::NotZero(number) => {
                let value = self.value(number)?;
                self.ways.insert((line, *part, value.clamp(-2, 2)));
                self.entries_of(number, line);
                *part += 1;
            }
            Condition::And(a, b) | Condition::Or(a, b) => {
                self.borders(a, line, part)?;
                self.borders(b, line, part)?;
            }
        }
        Some(())
    }

    /// Where in its memory an entry lies, and which one it is: a wrong row or column shows only beyond the first ones, and only
    /// where the words there are not all alike.
    fn entries_of(&mut self, number: &Number, line: usize) {
        for atomic in number.parts.keys() {
            let Atomic::Entry(entry) = atomic else {
                continue;
            };
            let mut at = 0;
            for index in &entry.indices {
                let index = self.value(index).unwrap_or(0).clamp(0, 2);
                at = 3 * at + usize::try_from(index).unwrap_or(0);
            }
            let truth = self.value(&Number::of(atomic.clone())).unwrap_or(-1);
            self.ways.insert((line, ENTRIES + at, truth));
        }
    }

    fn target(&self, object: &Object, layout: &Layout) -> Option<Target> {
        let (_, begin) = layout.address(object.variable)?;
        Some(Target {
            rank: object.rank,
            address: self
                .value(&object.offset)?
                .rem_euclid(LIFE)
                .checked_add(begin.into())?,
        })
    }

    /// The address of a word of global memory.
    fn address(&self, word: &Word) -> Option<u64> {
        let of = |input: u32| self.values.get(input as usize).copied().flatten();
        let factor = match word.factor {
            Some(input) => of(input)?,
            None => 1,
        };
        let index = self.value(&word.index)?.checked_mul(word.stride)?;
        // Addresses have 64 bits.
        let low = |number: i128| u64::try_from(number & i128::from(u64::MAX)).ok();
        let inner = low(index)?.wrapping_mul(low(factor)?);
        Some(low(of(word.base)?)?.wrapping_add(inner))
    }

    fn kind(&self, action: &Action, layout: &Layout) -> Option<Kind> {
        let at = |object: &Object| self.target(object, layout);
        Some(match action {
            Action::Init { object, count } => Kind::Init(at(object)?, *count),
            Action::Wait { object, parity } => Kind::Wait(at(object)?, self.value(parity)?),
            Action::Arrive { object, count } => Kind::Arrive(at(object)?, self.value(count)?),
            Action::ArriveExpect { object, bytes } => {
                Kind::ArriveExpect(at(object)?, self.value(bytes)?)
            }
            Action::Expect { object, bytes } => Kind::Expect(at(object)?, self.value(bytes)?),
            Action::Complete { object, bytes } => Kind::Complete(at(object)?, self.value(bytes)?),
            Action::Copy { object, bytes } => {
                let bytes = match bytes {
                    Some(bytes) => Some(self.value(bytes)?),
                    None => None,
                };
                Kind::Copy(at(object)?, bytes)
            }
            Action::Commit { object, count, .. } => Kind::Commit(at(object)?, *count),
            Action::CounterWait {
                word,
                value,
                passes,
                ..
            } => {
                let more = *passes != Passes::At;
                Kind::CounterWait(self.address(word)?, self.value(value)?, more)
            }
            Action::CounterAdd { word, value, .. } => {
                Kind::CounterAdd(self.address(word)?, self.value(value)?)
            }
            Action::CounterSet { word, value, .. } => {
                Kind::CounterSet(self.address(word)?, self.value(value)?)
            }
            Action::Sync { barrier, threads } => Kind::Sync {
                barrier: self.value(barrier)?,
                threads: self.value(threads)?,
            },
            Action::BarrierArrive { barrier, threads } => Kind::BarrierArrive {
                barrier: self.value(barrier)?,
                threads: self.value(threads)?,
            },
            Action::Touch { elements, access } => {
                let mut ranges = Vec::new();
                for Element { buffer, index, .. } in elements {
                    let slot = self.value(index)?;
                    if !(0..buffer.slots).contains(&slot) {
                        return None;
                    }
                    let (_, begin) = layout.address(buffer.variable)?;
                    let begin = i128::from(begin) + buffer.base + slot * buffer.stride;
                    for (from, to) in &buffer.ranges {
                        let at = |byte: &i128| u64::try_from(begin + byte).ok();
                        ranges.push((buffer.rank, at(from)?, at(to)?));
                    }
                }
                let bytes: u64 = ranges.iter().map(|(_, from, to)| to - from).sum();
                let region = Region::new(ranges);
                // Elements have no byte in common.
                let apart = bytes == region.bytes();
                Kind::Access(if apart { *access } else { Access::Unfollowed }, region)
            }
            Action::CommitGroup => Kind::CommitGroup,
            Action::WaitGroup { pending, read_only } => Kind::WaitGroup {
                pending: *pending,
                read_only: *read_only,
            },
            // Only elements have a text.
            Action::Access { .. } => return None,
            // Marks.
            Action::Invalidate { .. }
            | Action::WaitOwn { .. }
            | Action::Numbered { .. }
            | Action::Round { .. }
            | Action::Tried { .. }
            | Action::Asked
            | Action::RingWordLoad { .. }
            | Action::RingWordStore { .. }
            | Action::Late { .. }
            | Action::Ahead
            | Action::Allocate { .. }
            | Action::Deallocate { .. }
            | Action::Relinquish => return None,
            Action::ClusterArrive => Kind::ClusterArrive,
            Action::ClusterWait => Kind::ClusterWait,
            Action::SetMaxRegisters { count, increase } => Kind::SetMaxRegisters {
                count: *count,
                increase: *increase,
            },
            // Written only once the comparison is done.
            Action::Take { .. } | Action::GiveBack { .. } | Action::Launched => return None,
        })
    }
}

/// Counts of rounds that are worth a launch each: none, one, a few, and more than a ring has stages.
fn rounds(count: i128) -> i128 {
    match count {
        ..=0 => 0,
        1..=5 => count,
        6..=9 => 6,
        10..=17 => 10,
        _ => 18,
    }
}

/// Values near which conditions change: those of `x` where a part of one is `a * x + b`, one less and one more.
pub fn borders(lines: &[Line], found: &mut BTreeSet<u32>) {
    every_line(lines, &mut |line| {
        if let Line::If { condition, .. } = line {
            borders_of(condition, found);
        }
    });
}

fn borders_of(condition: &Condition, found: &mut BTreeSet<u32>) {
    match condition {
        Condition::Constant(_) => {}
        Condition::AtLeastZero(number) | Condition::Zero(number) | Condition::NotZero(number) => {
            for (atomic, factor) in &number.parts {
                let inside = match atomic {
                    Atomic::Quotient(_, divisor) => *divisor,
                    _ => 1,
                };
                let border = number.constant.checked_div(*factor).unwrap_or(0);
                let border = border.saturating_abs().saturating_mul(inside);
                let near = [
                    border.saturating_sub(1),
                    border,
                    border.saturating_add(1),
                    border.saturating_add(inside),
                ];
                found.extend(
                    near.into_iter()
                        .filter_map(|value| u32::try_from(value).ok()),
                );
            }
        }
        Condition::And(a, b) | Condition::Or(a, b) => {
            borders_of(a, found);
            borders_of(b, found);
        }
    }
}
