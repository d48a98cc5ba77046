//! Turns named arrays into lists of tiles per row, for every layout.
//!
//! There are two layouts: compressed (`idx[nnz]`, rows back to back, with or without `offset`) and padded (`idx[N,
//! width]`, in which only the first `cnt[n]` entries of a row count). Both may have leading batch and head
//! dimensions, of which one slice is taken.

use super::array::Array;
use super::error::Problem;
use super::error::Problems;
use super::names::Part;
use super::names::Role;
use super::options::ReadOptions;

/// The known arrays of a file, each with what it stands for.
#[derive(Debug, Default)]
pub(super) struct Named {
    arrays: Vec<(Role, Array)>,
}

impl Named {
    /// Adds an array; a second one for the same purpose is a problem.
    pub fn insert(&mut self, role: Role, array: Array, problems: &mut Problems) {
        match self.get(role) {
            Some(first) if first.name == array.name => problems.push(Problem::DuplicateName {
                name: array.name.clone(),
            }),
            Some(first) => problems.push(Problem::Conflict {
                first: first.name.clone(),
                second: array.name.clone(),
            }),
            None => self.arrays.push((role, array)),
        }
    }

    /// The array for a purpose.
    pub fn get(&self, role: Role) -> Option<&Array> {
        let found = self.arrays.iter().find(|(known, _)| *known == role);
        found.map(|(_, array)| array)
    }

    /// Whether any list array is present.
    pub fn has_lists(&self) -> bool {
        let list = |(role, _): &(Role, Array)| matches!(role, Role::List { .. });
        self.arrays.iter().any(list)
    }

    /// A list of one direction, or nothing if none of its arrays is there or a problem was noted.
    pub fn list(
        &self,
        forward: bool,
        full: bool,
        options: &ReadOptions,
        problems: &mut Problems,
    ) -> Option<Lists<'_>> {
        let part = |part| {
            self.get(Role::List {
                forward,
                full,
                part,
            })
        };
        let offset = part(Part::Offset);
        let (count, index) = match (part(Part::Count), part(Part::Index)) {
            (Some(count), Some(index)) => (count, index),
            (None, None) => {
                let present = offset?;
                problems.push(missing(present, "offset", "cnt"));
                return None;
            }
            (Some(present), None) => {
                problems.push(missing(present, "cnt", "idx"));
                return None;
            }
            (None, Some(present)) => {
                problems.push(missing(present, "idx", "cnt"));
                return None;
            }
        };
        Lists::new(count, offset, index, options, problems)
    }
}

fn missing(present: &Array, has: &str, lacks: &str) -> Problem {
    let missing = match present.name.strip_suffix(has) {
        Some(stem) => format!("{stem}{lacks}"),
        None => match present.name.strip_suffix("num_blocks") {
            Some(stem) => format!("{stem}indices"),
            None => present.name.replace("indices", "num_blocks"),
        },
    };
    Problem::Missing {
        missing,
        present: present.name.clone(),
    }
}

/// A contiguous part of an array: one batch and head of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slab<'a> {
    array: &'a Array,
    base: usize,
    len: usize,
}

impl<'a> Slab<'a> {
    /// The slice of an array that has `inner` dimensions, after a batch and a head if it has
    /// two more.
    pub fn choose(
        array: &'a Array,
        inner: usize,
        options: &ReadOptions,
        problems: &mut Problems,
    ) -> Option<Self> {
        let len = array.shape.iter().rev().take(inner).product();
        let base = match array.shape.len().checked_sub(inner)? {
            0 => 0,
            2 => {
                let (batches, heads) = (array.shape[0], array.shape[1]);
                let open = |choice: Option<usize>, extent| choice.is_none() && extent > 1;
                if open(options.batch, batches) || open(options.head, heads) {
                    problems.push(Problem::Choose {
                        array: array.name.clone(),
                        batches,
                        heads,
                    });
                    return None;
                }
                let batch = pick("batch", options.batch, batches, array, problems)?;
                let head = pick("head", options.head, heads, array, problems)?;
                (batch * heads + head) * len
            }
            _ => return None,
        };
        Some(Slab { array, base, len })
    }

    /// How many elements the slice has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The element at a position of the slice.
    pub fn get(&self, at: usize) -> i64 {
        self.array.get(self.base + at)
    }

    /// How a message names the element at a position of the slice.
    pub fn place(&self, at: usize) -> String {
        self.array.place(self.base + at)
    }

    /// The name of the array.
    pub fn name(&self) -> &'a str {
        &self.array.name
    }
}

// A single batch or head stands for all of them, as in PyTorch's broadcasting.
fn pick(
    axis: &'static str,
    choice: Option<usize>,
    available: usize,
    array: &Array,
    problems: &mut Problems,
) -> Option<usize> {
    match choice {
        _ if available == 1 => Some(0),
        Some(chosen) if chosen < available => Some(chosen),
        _ => {
            problems.push(Problem::NoSuchChoice {
                axis,
                chosen: choice.unwrap_or(0),
                array: array.name.clone(),
                available,
            });
            None
        }
    }
}

/// One list per row: counts, entries, and offsets where the file has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'a> {
    /// Entries per row.
    pub count: Slab<'a>,
    /// Where each row starts; compressed layout only.
    pub offset: Option<Slab<'a>>,
    /// The entries.
    pub index: Slab<'a>,
    /// Entries reserved per row in the padded layout.
    pub width: Option<usize>,
}

impl<'a> Lists<'a> {
    fn new(
        count: &'a Array,
        offset: Option<&'a Array>,
        index: &'a Array,
        options: &ReadOptions,
        problems: &mut Problems,
    ) -> Option<Self> {
        let rank = count.shape.len();
        if rank != 1 && rank != 3 {
            problems.push(shape(
                count,
                "[N] or [batch, head, N] is expected".to_owned(),
            ));
            return None;
        }
        let padded = index.shape.len() == rank + 1;
        let rows = count.shape[rank - 1];
        if !padded && index.shape.len() != rank {
            let expected = format!("{} of shape {} needs", count.name, count.shape_text());
            problems.push(shape(
                index,
                format!("{expected} {rank} dimensions, or {} when padded", rank + 1),
            ));
            return None;
        }
        if padded && index.shape[rank - 1] != rows {
            problems.push(shape(
                index,
                format!(
                    "{} has {rows} rows, so {rows} rows are expected",
                    count.name
                ),
            ));
            return None;
        }
        if let Some(offset) = offset {
            let expected = if padded {
                Some("a padded index array has no offsets".to_owned())
            } else if offset.shape.len() != rank || offset.shape[rank - 1] != rows + 1 {
                let length = rows + 1;
                Some(format!(
                    "{} has {rows} rows, so {length} offsets are expected",
                    count.name
                ))
            } else {
                None
            };
            if let Some(expected) = expected {
                problems.push(shape(offset, expected));
                return None;
            }
        }
        let width = padded.then(|| index.shape[rank]);
        Some(Lists {
            count: Slab::choose(count, 1, options, problems)?,
            offset: match offset {
                Some(offset) => Some(Slab::choose(offset, 1, options, problems)?),
                None => None,
            },
            index: Slab::choose(index, if padded { 2 } else { 1 }, options, problems)?,
            width,
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.count.len()
    }
}

/// The problem of an array whose shape does not suit.
pub(super) fn shape(array: &Array, expected: String) -> Problem {
    Problem::Shape {
        array: array.name.clone(),
        shape: array.shape_text(),
        expected,
    }
}
