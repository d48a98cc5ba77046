//! The validated relation: for every column tile `n`, the row tiles it visits, in order.
//!
//! The relation is stored twice. By row it is in visiting order: mask entries, then full entries. By column it is
//! ascending, which makes `visitors(m)` and ranks cheap, and every lock scheme needs these. Invariants: indices are
//! below their extents, and no tile occurs twice in a row.

use super::error::TensorError;
use super::memory;

/// Whether some or all elements of a visited tile are unmasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TileKind {
    /// Partially masked: the kernel evaluates the mask inside the tile. Visited first.
    Mask,
    /// Every element is unmasked. Visited after the mask entries of its row.
    Full,
}

/// A visited tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The column tile (the CTA).
    pub n: u32,
    /// The row tile.
    pub m: u32,
    /// Which of the row's two lists it is in.
    pub kind: TileKind,
}

/// Where the number of row tiles M was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtentSource {
    /// A scalar in the file (`m_blocks` or `num_m_blocks`).
    File,
    /// [`super::ReadOptions::m_blocks`], or the caller that built the arrays.
    Caller,
    /// The length of the forward counts in the file.
    Forward,
    /// The number of columns of a 0/1 matrix.
    Matrix,
    /// One more than the largest index: tiles that nobody visits at the end are not counted.
    LargestIndex,
}

/// A block-sparse visiting pattern. Outer index `n` in `0..n_blocks()`, inner index `m` in
/// `0..m_blocks()`.
///
/// ```
/// use warplock::tensors::BlockSparse;
///
/// let rows = [(vec![1], vec![0]), (vec![1], vec![])];
/// let tiles = BlockSparse::from_rows(2, rows)?;
/// assert_eq!(tiles.row(0), [1, 0]);
/// assert_eq!(tiles.visitors(1), [0, 1]);
/// assert_eq!(tiles.rank(1, 1), Some(1));
/// # Ok::<(), warplock::tensors::TensorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSparse {
    m_blocks: usize,
    m_source: ExtentSource,
    row_start: Vec<u32>,
    full_start: Vec<u32>,
    row_tiles: Vec<u32>,
    column_start: Vec<u32>,
    column_tiles: Vec<u32>,
}

impl BlockSparse {
    /// Builds a pattern from one pair of lists per `n`: mask entries and full entries, each in
    /// visiting order.
    ///
    /// # Errors
    /// An index that is not below `m_blocks`, a tile that occurs twice in a row, or more tiles
    /// than the default limits of [`super::ReadOptions`].
    pub fn from_rows<I>(m_blocks: usize, rows: I) -> Result<Self, TensorError>
    where
        I: IntoIterator<Item = (Vec<u32>, Vec<u32>)>,
    {
        memory::check(m_blocks, rows)
    }

    /// The number of column tiles N: how many CTAs there are.
    pub fn n_blocks(&self) -> usize {
        self.full_start.len()
    }

    /// The number of row tiles M.
    pub fn m_blocks(&self) -> usize {
        self.m_blocks
    }

    /// Where M was taken from.
    pub fn m_source(&self) -> ExtentSource {
        self.m_source
    }

    /// The number of visited tiles.
    pub fn len(&self) -> usize {
        self.row_tiles.len()
    }

    /// Whether no tile is visited.
    pub fn is_empty(&self) -> bool {
        self.row_tiles.is_empty()
    }

    /// The row tiles that CTA `n` visits, in visiting order: mask entries, then full entries.
    /// Empty for an `n` that does not exist.
    pub fn row(&self, n: usize) -> &[u32] {
        slice(&self.row_start, &self.row_tiles, n)
    }

    /// The partially masked tiles of row `n`, in visiting order.
    pub fn mask_row(&self, n: usize) -> &[u32] {
        self.row(n).get(..self.mask_count(n)).unwrap_or_default()
    }

    /// The full tiles of row `n`, in visiting order.
    pub fn full_row(&self, n: usize) -> &[u32] {
        self.row(n).get(self.mask_count(n)..).unwrap_or_default()
    }

    /// How many partially masked tiles row `n` starts with.
    pub fn mask_count(&self, n: usize) -> usize {
        match (self.row_start.get(n), self.full_start.get(n)) {
            (Some(row), Some(full)) => (full - row) as usize,
            _ => 0,
        }
    }

    /// The CTAs that visit row tile `m`, ascending. Empty for an `m` that does not exist.
    pub fn visitors(&self, m: usize) -> &[u32] {
        slice(&self.column_start, &self.column_tiles, m)
    }

    /// How many CTAs below `n` visit row tile `m`, if `n` itself does: the rank lock.
    pub fn rank(&self, n: usize, m: usize) -> Option<usize> {
        let n = u32::try_from(n).ok()?;
        self.visitors(m).binary_search(&n).ok()
    }

    /// Whether CTA `n` visits row tile `m`.
    pub fn visits(&self, n: usize, m: usize) -> bool {
        self.rank(n, m).is_some()
    }

    /// Every visited tile, by `n` and then in visiting order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.n_blocks()).flat_map(move |n| {
            let masks = self.mask_count(n);
            self.row(n).iter().enumerate().map(move |(at, &m)| Entry {
                n: n as u32,
                m,
                kind: if at < masks {
                    TileKind::Mask
                } else {
                    TileKind::Full
                },
            })
        })
    }
}

fn slice<'a>(start: &[u32], tiles: &'a [u32], at: usize) -> &'a [u32] {
    match (start.get(at), start.get(at.saturating_add(1))) {
        (Some(&lo), Some(&hi)) => tiles.get(lo as usize..hi as usize).unwrap_or_default(),
        _ => &[],
    }
}

/// Builds a [`BlockSparse`] row by row from tiles that are known to be valid.
#[derive(Debug)]
pub(super) struct Builder {
    row_start: Vec<u32>,
    full_start: Vec<u32>,
    row_tiles: Vec<u32>,
}

impl Builder {
    /// A pattern without rows. At most 2^26 tiles and 2^24 of each extent may follow.
    pub fn new() -> Self {
        Builder {
            row_start: vec![0],
            full_start: Vec::new(),
            row_tiles: Vec::new(),
        }
    }

    /// How many tiles were added so far.
    pub fn len(&self) -> usize {
        self.row_tiles.len()
    }

    /// Adds a visited tile to the current row.
    pub fn tile(&mut self, m: u32) {
        self.row_tiles.push(m);
    }

    /// Ends the mask entries of the current row; full entries follow.
    pub fn end_masks(&mut self) {
        self.full_start.push(self.row_tiles.len() as u32);
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        self.row_start.push(self.row_tiles.len() as u32);
    }

    /// The pattern. All tiles must be below `m_blocks`.
    pub fn finish(self, m_blocks: usize, m_source: ExtentSource) -> BlockSparse {
        let mut column_start = vec![0u32; m_blocks + 1];
        for &m in &self.row_tiles {
            column_start[m as usize + 1] += 1;
        }
        for m in 0..m_blocks {
            column_start[m + 1] += column_start[m];
        }
        let mut next = column_start.clone();
        let mut column_tiles = vec![0u32; self.row_tiles.len()];
        for n in 0..self.full_start.len() {
            let (lo, hi) = (self.row_start[n] as usize, self.row_start[n + 1] as usize);
            for &m in &self.row_tiles[lo..hi] {
                let at = &mut next[m as usize];
                column_tiles[*at as usize] = n as u32;
                *at += 1;
            }
        }
        BlockSparse {
            m_blocks,
            m_source,
            row_start: self.row_start,
            full_start: self.full_start,
            row_tiles: self.row_tiles,
            column_start,
            column_tiles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_describe_the_same_tiles() {
        let rows = [(vec![3, 1], vec![0]), (vec![], vec![1]), (vec![], vec![])];
        let tiles = BlockSparse::from_rows(5, rows).unwrap();
        assert_eq!((tiles.n_blocks(), tiles.m_blocks(), tiles.len()), (3, 5, 4));
        assert_eq!(tiles.row(0), [3, 1, 0]);
        assert_eq!(
            (tiles.mask_row(0), tiles.full_row(0)),
            (&[3, 1][..], &[0][..])
        );
        assert_eq!((tiles.mask_row(1), tiles.full_row(1)), (&[][..], &[1][..]));
        assert_eq!(tiles.visitors(1), [0, 1]);
        assert!(tiles.visitors(4).is_empty());
        assert_eq!((tiles.rank(1, 1), tiles.rank(1, 0)), (Some(1), None));
        assert_eq!(
            tiles.entries().filter(|e| e.kind == TileKind::Full).count(),
            2
        );
    }

    #[test]
    fn positions_that_do_not_exist_are_empty() {
        let tiles = BlockSparse::from_rows(0, []).unwrap();
        assert!(tiles.is_empty());
        assert!(tiles.row(usize::MAX).is_empty());
        assert!(tiles.mask_row(7).is_empty() && tiles.full_row(7).is_empty());
        assert!(tiles.visitors(usize::MAX).is_empty());
        assert_eq!(tiles.rank(usize::MAX, 0), None);
    }
}
