//! The errors of block-sparse arrays, and their messages.
//!
//! A file is checked to the end, so one [`TensorError`] carries several [`Problem`]s: up to
//! four of each sort and twenty in all, with the number found. Every message is a lowercase
//! fragment that names the array, the position and the values.

use std::mem::discriminant;

use thiserror::Error;

/// How many problems an error keeps.
const MAX_KEPT: usize = 20;

/// The most problems of one sort that an error keeps, so that many problems of one sort do not hide another sort.
const MAX_KEPT_PER_SORT: usize = 4;

/// The broad reason of a [`TensorError`]. It determines what a user can do about the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorErrorKind {
    /// The file could not be opened or read.
    Read,
    /// The bytes are not one of the formats, or lack or misname arrays.
    Format,
    /// The input is larger than a limit of [`super::ReadOptions`] or of this module.
    Limit,
    /// The file holds several batches or heads and an option has to choose.
    Selection,
    /// The arrays are readable and contradict the format or each other.
    Invalid,
}

/// One thing that is wrong, with where and what. The message above each variant says what its
/// fields are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be read.
    #[error("{path} cannot be read: {detail}")]
    Unreadable { path: String, detail: String },
    /// Neither the name nor the first bytes tell the format.
    #[error("not recognized as JSON, npz, npy, safetensors, a PyTorch file or a 0/1 text matrix")]
    UnknownFormat,
    /// The bytes break the rules of the file format.
    #[error("not valid {format}: {detail}")]
    Syntax {
        format: &'static str,
        detail: String,
    },
    /// An array of floats, or of something else that cannot be an index.
    #[error("{array} has dtype {dtype}; integers are expected (int32)")]
    Dtype { array: String, dtype: String },
    /// An unsigned 64-bit value above the signed range.
    #[error("{place} is {value}, which does not fit a signed 64-bit integer")]
    TooWide { place: String, value: String },
    /// A name that occurs twice in one file.
    #[error("{name} is given twice")]
    DuplicateName { name: String },
    /// An unknown name that is nearly a known one.
    #[error("{found} is not a known name; did you mean {meant}?")]
    Typo { found: String, meant: String },
    /// Two names for the same array.
    #[error("{first} and {second} are both given and mean the same array")]
    Conflict { first: String, second: String },
    /// A list that lacks one of its arrays.
    #[error("{missing} is missing, and {present} is given")]
    Missing { missing: String, present: String },
    /// Nothing to read.
    #[error(
        "no block-sparse arrays: neither mask_block_cnt with mask_block_idx, nor full_block_cnt \
         with full_block_idx, nor a matrix"
    )]
    NoArrays,
    /// Only the direction that the accumulating kernel does not use.
    #[error(
        "only forward arrays (per m) are given; the visiting order of the CTAs needs the arrays \
         per n (mask_block_cnt, mask_block_idx, ...)"
    )]
    OnlyForward,
    /// More than a limit.
    #[error("{what} is {found}, above the limit of {limit}")]
    TooLarge {
        what: String,
        found: String,
        limit: u64,
    },
    /// A size that has to be positive.
    #[error("{what} is 0; it must be at least 1")]
    Zero { what: String },
    /// Several batches or heads.
    #[error("{array} holds {batches} batches and {heads} heads; choose one batch and one head")]
    Choose {
        array: String,
        batches: usize,
        heads: usize,
    },
    /// A batch or head that is not there.
    #[error("{axis} {chosen} is chosen, and {array} has {available} (0 to {last})", last = available.saturating_sub(1))]
    NoSuchChoice {
        axis: &'static str,
        chosen: usize,
        array: String,
        available: usize,
    },
    /// An array of another shape than its partners need.
    #[error("{array} has shape {shape}; {expected}")]
    Shape {
        array: String,
        shape: String,
        expected: String,
    },
    /// Fewer or more indices than counted.
    #[error("{array} has {found} entries but {counts} sums to {sum}")]
    Length {
        array: String,
        found: usize,
        counts: String,
        sum: String,
    },
    /// A count below zero.
    #[error("{place} is {value}; a count must not be negative")]
    NegativeCount { place: String, value: i64 },
    /// A padded row that counts more entries than it has room for.
    #[error("{place} is {value}, but a row of {indices} has {width} entries")]
    CountAboveWidth {
        place: String,
        value: i64,
        indices: String,
        width: usize,
    },
    /// Offsets that do not start at the beginning.
    #[error("{array}[0] is {value}; offsets must start at 0")]
    OffsetStart { array: String, value: i64 },
    /// Offsets that go back.
    #[error(
        "{array}[{position}] is {value}, below {previous} before it; offsets must not decrease"
    )]
    OffsetDecreases {
        array: String,
        position: usize,
        value: i64,
        previous: i64,
    },
    /// Offsets that are not the running sum of the counts. Only the first is reported.
    #[error("{array}[{position}] is {value} but {counts} sums to {sum}")]
    OffsetDisagrees {
        array: String,
        position: usize,
        value: i64,
        counts: String,
        sum: i64,
    },
    /// An index below zero.
    #[error("{place} ({axis} = {row}) is {value}; an index must not be negative")]
    NegativeIndex {
        place: String,
        axis: char,
        row: usize,
        value: i64,
    },
    /// An index past the last tile.
    #[error("{place} ({axis} = {row}) is {value}; {inner} must be in 0..{blocks}")]
    IndexOutOfRange {
        place: String,
        axis: char,
        row: usize,
        value: i64,
        inner: char,
        blocks: usize,
    },
    /// A tile listed twice in one list of a row.
    #[error("{place} ({axis} = {row}) is {value} again; it is already at {first}")]
    DuplicateEntry {
        place: String,
        axis: char,
        row: usize,
        value: i64,
        first: String,
    },
    /// A tile that is both partially masked and full.
    #[error("tile (n = {n}, m = {m}) is in both lists: at {first} and at {second}")]
    Overlap {
        n: usize,
        m: usize,
        first: String,
        second: String,
    },
    /// Forward and backward arrays that describe different sets; the first tile by n, then m.
    #[error(
        "tile (n = {n}, m = {m}) is {backward} in the arrays per n but {forward} in the forward \
         arrays ({count} tiles differ)"
    )]
    Directions {
        n: usize,
        m: usize,
        backward: &'static str,
        forward: &'static str,
        count: usize,
    },
    /// Two sources that give different numbers of tiles.
    #[error("{first} says {first_value} {axis} tiles but {second} says {second_value}")]
    Extent {
        axis: char,
        first: String,
        first_value: usize,
        second: String,
        second_value: usize,
    },
    /// A scalar that is not a number of tiles.
    #[error("{name} is {value}; a number of tiles must not be negative")]
    NegativeExtent { name: String, value: i64 },
    /// A matrix element that is neither 0 nor 1.
    #[error("matrix element [{n}, {m}] is {value}; only 0 and 1 are allowed")]
    MatrixElement { n: usize, m: usize, value: i64 },
}

impl Problem {
    /// The broad reason this problem belongs to.
    pub fn kind(&self) -> TensorErrorKind {
        match self {
            Problem::Unreadable { .. } => TensorErrorKind::Read,
            Problem::UnknownFormat
            | Problem::Syntax { .. }
            | Problem::Dtype { .. }
            | Problem::TooWide { .. }
            | Problem::DuplicateName { .. }
            | Problem::Typo { .. }
            | Problem::Conflict { .. }
            | Problem::Missing { .. }
            | Problem::NoArrays
            | Problem::OnlyForward => TensorErrorKind::Format,
            Problem::TooLarge { .. } => TensorErrorKind::Limit,
            Problem::Choose { .. } | Problem::NoSuchChoice { .. } => TensorErrorKind::Selection,
            _ => TensorErrorKind::Invalid,
        }
    }
}

/// Why arrays were refused: at least one [`Problem`].
///
/// Its own text is the first problem and how many more there are; [`TensorError::problems`]
/// has them all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{first}{}", more(*total))]
pub struct TensorError {
    first: Problem,
    rest: Vec<Problem>,
    total: usize,
}

fn more(total: usize) -> String {
    match total {
        0 | 1 => String::new(),
        2 => " (and 1 more problem)".to_owned(),
        _ => format!(" (and {} more problems)", total - 1),
    }
}

impl TensorError {
    /// The broad reason, that of the first problem.
    pub fn kind(&self) -> TensorErrorKind {
        self.first.kind()
    }

    /// The problems kept, in the order found: at most 20, and at most 4 of one sort.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// How many problems were found, those not kept included.
    pub fn total(&self) -> usize {
        self.total
    }
}

impl From<Problem> for TensorError {
    fn from(first: Problem) -> Self {
        TensorError {
            first,
            rest: Vec::new(),
            total: 1,
        }
    }
}

/// Collects problems while a check goes on.
#[derive(Debug, Default)]
pub(super) struct Problems {
    kept: Vec<Problem>,
    total: usize,
}

impl Problems {
    /// Notes a problem, and keeps it unless there are many already.
    pub fn push(&mut self, problem: Problem) {
        self.total += 1;
        let sort = discriminant(&problem);
        let same = self.kept.iter().filter(|p| discriminant(*p) == sort);
        if self.kept.len() < MAX_KEPT && same.count() < MAX_KEPT_PER_SORT {
            self.kept.push(problem);
        }
    }

    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The error, or nothing if nothing was noted.
    ///
    /// # Errors
    /// All problems noted so far.
    pub fn into_result(self) -> Result<(), TensorError> {
        let mut kept = self.kept.into_iter();
        match kept.next() {
            None => Ok(()),
            Some(first) => Err(TensorError {
                first,
                rest: kept.collect(),
                total: self.total,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_sort_leaves_room_for_others() {
        let mut problems = Problems::default();
        for n in 0..100 {
            problems.push(Problem::MatrixElement { n, m: 0, value: 7 });
        }
        problems.push(Problem::NoArrays);
        let error = problems.into_result().unwrap_err();
        assert_eq!(error.total(), 101);
        assert_eq!(error.problems().count(), MAX_KEPT_PER_SORT + 1);
        assert_eq!(
            error.to_string(),
            "matrix element [0, 0] is 7; only 0 and 1 are allowed (and 100 more problems)"
        );
    }
}
