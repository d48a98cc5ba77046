//! Turns lists into a pattern, and checks every rule of the format.
//!
//! The structure of each list is checked first (counts, offsets, lengths), then the extent of the inner axis, and
//! then every entry. Entries are checked even if the structure is broken, as far as they can be assigned to rows.
//! Repeated entries are looked for only if the structure is sound, because shifted rows would produce wrong
//! repetitions.

use super::error::Problem;
use super::error::Problems;
use super::layout::Lists;
use super::model::BlockSparse;
use super::model::Builder;
use super::model::ExtentSource;
use super::options::ReadOptions;

/// The lists of one direction, with the names of its axes for messages.
#[derive(Debug)]
pub(super) struct Direction<'a> {
    /// Partially masked tiles.
    pub mask: Option<Lists<'a>>,
    /// Full tiles.
    pub full: Option<Lists<'a>>,
    /// The axis that rows count.
    pub outer: char,
    /// The axis that entries count.
    pub inner: char,
}

impl Direction<'_> {
    /// The number of rows, if there is a list and the two agree.
    pub fn rows(&self) -> Option<usize> {
        match (&self.mask, &self.full) {
            (Some(mask), Some(full)) if mask.rows() != full.rows() => None,
            (Some(list), _) | (None, Some(list)) => Some(list.rows()),
            (None, None) => None,
        }
    }

    /// Checks everything and builds the pattern; nothing if a problem was noted.
    ///
    /// `inner` is the extent of the inner axis where it is known from elsewhere.
    pub fn check(
        &self,
        inner: Option<(usize, ExtentSource)>,
        options: &ReadOptions,
        problems: &mut Problems,
    ) -> Option<BlockSparse> {
        let lists = [self.mask.as_ref(), self.full.as_ref()];
        let mut sound = true;
        for list in lists.into_iter().flatten() {
            sound &= structure(list, problems);
        }
        if let [Some(mask), Some(full)] = lists
            && mask.rows() != full.rows()
        {
            problems.push(Problem::Extent {
                axis: self.outer,
                first: mask.count.name().to_owned(),
                first_value: mask.rows(),
                second: full.count.name().to_owned(),
                second_value: full.rows(),
            });
        }
        let rows = self.rows()?;
        within(self.outer, rows as u64, options, problems)?;
        let (extent, source) = match inner {
            Some(known) => known,
            None => {
                let largest = lists.into_iter().flatten().filter_map(largest_index).max();
                let extent = largest.map_or(0, |largest| largest.saturating_add(1));
                within(self.inner, extent, options, problems)?;
                (extent as usize, ExtentSource::LargestIndex)
            }
        };
        within(self.inner, extent as u64, options, problems)?;
        let never = Seen {
            row: u32::MAX,
            at: 0,
            full: false,
        };
        let entries = Entries {
            direction: self,
            sound,
            seen: vec![never; extent],
            builder: Builder::new(),
            problems: &mut *problems,
        };
        let builder = entries.collect(rows);
        problems.is_empty().then(|| builder.finish(extent, source))
    }
}

fn within(axis: char, found: u64, options: &ReadOptions, problems: &mut Problems) -> Option<()> {
    let limit = options.block_limit();
    if found <= limit {
        return Some(());
    }
    problems.push(Problem::TooLarge {
        what: format!("the number of {axis} tiles"),
        found: found.to_string(),
        limit,
    });
    None
}

/// Checks the counts, offsets and length of a list. Returns whether entries can be assigned to rows.
fn structure(list: &Lists<'_>, problems: &mut Problems) -> bool {
    let mut sum = 0i64;
    let mut sound = true;
    for n in 0..list.rows() {
        let value = list.count.get(n);
        let place = || list.count.place(n);
        if value < 0 {
            sound = false;
            problems.push(Problem::NegativeCount {
                place: place(),
                value,
            });
        }
        if let Some(width) = list.width
            && value > width as i64
        {
            sound = false;
            problems.push(Problem::CountAboveWidth {
                place: place(),
                value,
                indices: list.index.name().to_owned(),
                width,
            });
        }
        sum = sum.saturating_add(value.max(0));
    }
    if list.width.is_none() && sum != list.index.len() as i64 {
        sound = false;
        problems.push(Problem::Length {
            array: list.index.name().to_owned(),
            found: list.index.len(),
            counts: list.count.name().to_owned(),
            sum: sum.to_string(),
        });
    }
    offsets(list, problems);
    sound
}

fn offsets(list: &Lists<'_>, problems: &mut Problems) {
    let Some(offset) = &list.offset else {
        return;
    };
    let array = offset.name();
    if offset.get(0) != 0 {
        problems.push(Problem::OffsetStart {
            array: array.to_owned(),
            value: offset.get(0),
        });
    }
    let mut sum = 0i64;
    let mut agrees = true;
    for position in 1..offset.len() {
        let (previous, value) = (offset.get(position - 1), offset.get(position));
        if value < previous {
            problems.push(Problem::OffsetDecreases {
                array: array.to_owned(),
                position,
                value,
                previous,
            });
        }
        sum = sum.saturating_add(list.count.get(position - 1));
        if agrees && value != sum {
            agrees = false;
            problems.push(Problem::OffsetDisagrees {
                array: array.to_owned(),
                position,
                value,
                counts: list.count.name().to_owned(),
                sum,
            });
        }
    }
}

/// The flat positions of row `n`, as far as entries exist. `start` is the end of the row before.
fn row_range(list: &Lists<'_>, n: usize, start: usize) -> std::ops::Range<usize> {
    let count = usize::try_from(list.count.get(n)).unwrap_or(0);
    let (start, count) = match list.width {
        Some(width) => (n * width, count.min(width)),
        None => (start, count),
    };
    let end = start.saturating_add(count).min(list.index.len());
    start.min(end)..end
}

fn largest_index(list: &Lists<'_>) -> Option<u64> {
    let mut largest = None;
    let mut end = 0;
    for n in 0..list.rows() {
        let range = row_range(list, n, end);
        end = range.end;
        largest = largest.max(range.map(|at| list.index.get(at)).max());
    }
    largest.and_then(|largest| u64::try_from(largest).ok())
}

/// Where an inner tile was last seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    row: u32,
    at: u32,
    full: bool,
}

/// The pass over all entries, row by row.
struct Entries<'a, 'b> {
    direction: &'a Direction<'b>,
    sound: bool,
    seen: Vec<Seen>,
    builder: Builder,
    problems: &'a mut Problems,
}

impl<'b> Entries<'_, 'b> {
    fn collect(mut self, rows: usize) -> Builder {
        let direction = self.direction;
        let (mut mask_end, mut full_end) = (0, 0);
        for n in 0..rows {
            if let Some(mask) = &direction.mask {
                mask_end = self.row(mask, false, n, mask_end);
            }
            self.builder.end_masks();
            if let Some(full) = &direction.full {
                full_end = self.row(full, true, n, full_end);
            }
            self.builder.end_row();
        }
        self.builder
    }

    /// Checks one row of a list; returns where the row ends.
    fn row(&mut self, list: &Lists<'b>, full: bool, n: usize, start: usize) -> usize {
        let range = row_range(list, n, start);
        let end = range.end;
        for at in range {
            let value = list.index.get(at);
            let m = usize::try_from(value).ok();
            let Some(mark) = m.and_then(|m| self.seen.get_mut(m)) else {
                let problem = self.out_of_range(list, n, at, value);
                self.problems.push(problem);
                continue;
            };
            let before = *mark;
            *mark = Seen {
                row: n as u32,
                at: at as u32,
                full,
            };
            if before.row == n as u32 && self.sound {
                let problem = self.repeat(list, full, n, at, value, before);
                self.problems.push(problem);
            }
            self.builder.tile(value as u32);
        }
        end
    }

    fn out_of_range(&self, list: &Lists<'_>, row: usize, at: usize, value: i64) -> Problem {
        let place = list.index.place(at);
        let axis = self.direction.outer;
        match value < 0 {
            true => Problem::NegativeIndex {
                place,
                axis,
                row,
                value,
            },
            false => Problem::IndexOutOfRange {
                place,
                axis,
                row,
                value,
                inner: self.direction.inner,
                blocks: self.seen.len(),
            },
        }
    }

    fn repeat(
        &self,
        list: &Lists<'_>,
        full: bool,
        row: usize,
        at: usize,
        value: i64,
        mark: Seen,
    ) -> Problem {
        let place = list.index.place(at);
        match &self.direction.mask {
            Some(mask) if full && !mark.full => {
                let tile = value as usize;
                let (n, m) = match self.direction.outer {
                    'n' => (row, tile),
                    _ => (tile, row),
                };
                Problem::Overlap {
                    n,
                    m,
                    first: mask.index.place(mark.at as usize),
                    second: place,
                }
            }
            _ => Problem::DuplicateEntry {
                place,
                axis: self.direction.outer,
                row,
                value,
                first: list.index.place(mark.at as usize),
            },
        }
    }
}
