//! Memory that is only read, and decides by whether it is 0: patterns, relations that the launch is given.
//!
//! An index is taken apart into a row and a column where a loop goes over all columns. The extents of a pattern are no less
//! than any index that is read, since outside of them a pattern has nothing: where one place reads up to this CTA and another
//! one up to the CTA before, they are those of the former.

use super::memory::based;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::written::write::Writer;

/// How many rows or columns there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    sum: Sum,
    pub words: String,
}

impl Extent {
    /// The larger of two, if it is known which one that is.
    fn larger(&self, other: Extent, facts: &Facts) -> Option<Extent> {
        if facts.is_positive(&self.sum.minus(&other.sum)) {
            return Some(self.clone());
        }
        facts
            .is_positive(&other.sum.minus(&self.sum))
            .then_some(other)
    }
}

/// A pattern, and how its memory is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub rows: Extent,
    pub columns: Extent,
    bytes: u32,
    /// Whether a loop goes over the whole of a row, so that there may not be more columns.
    whole: bool,
}

impl Pattern {
    /// The same memory with room for what is read in another place; none if rows are of another width there.
    fn joined(&self, other: Pattern, facts: &Facts) -> Option<Pattern> {
        if self.bytes != other.bytes {
            return None;
        }
        let (mut rows, mut columns) = (self.rows.clone(), self.columns.clone());
        if self.columns.sum == other.columns.sum {
            rows = self.rows.larger(other.rows, facts)?;
        } else if self.rows.sum == Sum::of(1) && other.rows.sum == Sum::of(1) {
            columns = self.columns.larger(other.columns, facts)?;
            if self.whole && columns != self.columns {
                return None;
            }
        } else {
            return None;
        }
        Some(Pattern {
            rows,
            columns,
            ..self.clone()
        })
    }
}

/// The number of an iteration, counted down from the last one.
fn from_the_end(times: &Sum, variable: Unknown) -> Sum {
    times.plus_constant(-1).minus(&Sum::unknown(variable))
}

impl Writer<'_, '_> {
    /// Whether what is read from memory is other than 0, as an element of a pattern.
    pub fn visited(&mut self, sum: &Sum, at: usize) -> Result<String, Obstacle> {
        let (name, row, column, _) = self.element_of(sum, at)?;
        Ok(format!(
            "{name}[{}, {}]",
            self.sum(&row, at)?,
            self.sum(&column, at)?
        ))
    }

    /// The row of a pattern that a loop goes over, if what it does it does where that is visited.
    pub fn whole_row(
        &mut self,
        condition: &Condition,
        variable: Unknown,
        (times, words): (&Sum, &str),
        at: usize,
    ) -> Result<Option<String>, Obstacle> {
        let sum = match condition {
            Condition::Not(inner) => match &**inner {
                Condition::Zero(sum) if matches!(sum.single(), Some((Atom::Cell(..), _))) => sum,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let (name, row, column, width) = self.element_of(sum, at)?;
        let order = if column == Sum::unknown(variable) {
            "ascending"
        } else if column == from_the_end(times, variable) {
            "descending"
        } else {
            return Ok(None);
        };
        if width != words {
            return Ok(None);
        }
        if let Some(pattern) = self.memory.patterns.get_mut(&name) {
            pattern.whole = true;
        }
        Ok(Some(format!(
            "row({name}, {}) {order}",
            self.sum(&row, at)?
        )))
    }

    /// The pattern that memory is which is read, the row and column, and the number of columns.
    fn element_of(&mut self, sum: &Sum, at: usize) -> Result<(String, Sum, Sum, String), Obstacle> {
        let refuse = |why: &str| Err(Obstacle::new(at, why));
        let Some((Atom::Cell(address, cell), 1 | -1)) = sum.single() else {
            return refuse(
                "a branch depends on memory that is read, other than on whether it is 0",
            );
        };
        let Some((pointer, offset)) = based(address, &self.followed.unknowns) else {
            return refuse("which memory is read here is not followed");
        };
        let Some(index) = offset.exactly_over(i128::from(cell.bytes)) else {
            return refuse("what is read here does not lie at a multiple of its size");
        };
        let (row, column, rows, columns) = match self.split(&index) {
            Some((row, column, width)) => {
                let rows = self.elements(&row, at)?;
                (row, column, rows, width)
            }
            None => {
                let columns = self.elements(&index, at)?;
                (Sum::of(0), index.clone(), Sum::of(1), columns)
            }
        };
        if !self.never_before(&row) || !self.never_before(&column) {
            return refuse("what is read here may lie before where its pointer points to");
        }
        let name = format!("at_{}", self.unknown(pointer, at)?);
        if self.memory.semaphores.contains_key(&name) {
            return refuse("a counter is read as if nobody wrote it");
        }
        let pattern = Pattern {
            rows: Extent {
                words: self.at_least_none(&rows, at)?,
                sum: rows,
            },
            columns: Extent {
                words: self.at_least_none(&columns, at)?,
                sum: columns,
            },
            bytes: cell.bytes,
            whole: false,
        };
        let pattern = match self.memory.patterns.get(&name) {
            Some(other) => other.joined(pattern, &self.known()),
            None => Some(pattern),
        };
        let Some(pattern) = pattern else {
            return refuse("memory that decides about synchronization is read in two shapes");
        };
        let width = pattern.columns.words.clone();
        self.memory.patterns.insert(name.clone(), pattern);
        Ok((name, row, column, width))
    }

    /// The row, the column and the number of columns of an index `row * width + column`, where the
    /// column is the number of a loop that goes over all of them, in either direction.
    fn split(&self, index: &Sum) -> Option<(Sum, Sum, Sum)> {
        for (variable, times) in self.loops.iter().zip(&self.times) {
            let Some((Atom::Unknown(width), 1)) = times.single() else {
                continue;
            };
            let Some((row, column)) = index.split(*width) else {
                continue;
            };
            // From the end of a row is before the beginning of the next one.
            let last = from_the_end(times, *variable);
            let (row, column) = if column.plus(times) == last {
                (row.plus_constant(-1), last)
            } else {
                (row, column)
            };
            let whole =
                column == Sum::unknown(*variable) || column == from_the_end(times, *variable);
            if whole && row != Sum::of(0) {
                return Some((row, column, times.clone()));
            }
        }
        None
    }
}
