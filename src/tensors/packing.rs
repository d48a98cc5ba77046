//! Packed sequences: several segments back to back, with attention only inside each segment.
//!
//! Let the segments be `[s, e)` over tokens `0..T`. Query `q` sees key `k` if both are in the same segment and, with
//! a causal mask, `k <= q`. Row tile `m` holds the queries `[m*Tm, min((m+1)*Tm, T))`, and column tile `n` holds the
//! keys `[n*Tn, min((n+1)*Tn, T))`. A ragged last tile is judged by the tokens that it has. For a column tile `[c0,
//! c1)`, let `a` and `b` be the first and the last segment that it meets:
//!
//! - visited: the row tiles that meet `[s_a, e_b)`, or `[max(c0, s_a), e_b)` if causal. No tile in between is
//!   skipped, because every segment from `a` to `b` meets the column tile;
//! - full: only if `a = b`, the row tiles inside `[s_a, e_a)`, or inside `[max(s_a, c1 - 1), e_a)` if causal,
//!   provided that the column tile is inside the segment, too.
//!
//! So the cost is the number of visited tiles plus the number of segments. It does not depend on the number of
//! tokens.

use super::error::Problem;
use super::error::TensorError;
use super::model::BlockSparse;
use super::model::Builder;
use super::model::ExtentSource;
use super::options::MAX_BLOCKS;
use super::options::MAX_ELEMENTS;

/// Tile sizes and mask for [`pack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    /// Queries per row tile (Tm), at least 1.
    pub tile_m: u64,
    /// Keys per column tile (Tn), at least 1.
    pub tile_n: u64,
    /// Whether a query sees only the keys up to its own position.
    pub causal: bool,
}

/// Classifies every tile of packed segments, given by their lengths in tokens. Segments of
/// length 0 change nothing. Both lists of a row ascend.
///
/// ```
/// use warplock::tensors::packing::{Tiling, pack};
///
/// let tiling = Tiling { tile_m: 128, tile_n: 128, causal: false };
/// let tiles = pack(&[200, 56], tiling)?;
/// assert_eq!((tiles.mask_row(0), tiles.full_row(0)), (&[1][..], &[0][..]));
/// assert_eq!((tiles.mask_row(1), tiles.full_row(1)), (&[0, 1][..], &[][..]));
/// # Ok::<(), warplock::tensors::TensorError>(())
/// ```
///
/// # Errors
/// A tile size of 0, more than 2^24 tiles along an axis, more than 2^26 visited tiles, or
/// lengths whose sum does not fit 64 bits.
pub fn pack(lengths: &[u64], tiling: Tiling) -> Result<BlockSparse, TensorError> {
    let mut segments: Vec<(u64, u64)> = Vec::with_capacity(lengths.len());
    let mut total = 0u64;
    for &length in lengths {
        let end = total.checked_add(length).ok_or_else(|| {
            too_large(
                "the sum of the segment lengths",
                "over 2^64".to_owned(),
                u64::MAX,
            )
        })?;
        if length > 0 {
            segments.push((total, end));
        }
        total = end;
    }
    let m_blocks = tile_count('m', total, tiling.tile_m)?;
    let n_blocks = tile_count('n', total, tiling.tile_n)?;

    let mut builder = Builder::new();
    let mut first = 0;
    for n in 0..n_blocks {
        let start = n * tiling.tile_n;
        let end = total.min(start.saturating_add(tiling.tile_n));
        while segments
            .get(first)
            .is_some_and(|segment| segment.1 <= start)
        {
            first += 1;
        }
        let met = segments[first..].partition_point(|segment| segment.0 < end);
        let row = Row::new(&segments[first..first + met], (start, end), total, tiling);
        let found = builder.len() as u64 + (row.visited.1 - row.visited.0);
        if found > MAX_ELEMENTS {
            let found = format!("at least {found}");
            return Err(too_large("the number of visited tiles", found, MAX_ELEMENTS).into());
        }
        (row.visited.0..row.full.0).for_each(|m| builder.tile(m as u32));
        (row.full.1..row.visited.1).for_each(|m| builder.tile(m as u32));
        builder.end_masks();
        (row.full.0..row.full.1).for_each(|m| builder.tile(m as u32));
        builder.end_row();
    }
    Ok(builder.finish(m_blocks as usize, ExtentSource::Caller))
}

/// Reads segment lengths from a text: integers separated by whitespace or commas; `#` starts a
/// comment.
///
/// # Errors
/// A token that is not a length.
pub fn parse_lengths(text: &str) -> Result<Vec<u64>, TensorError> {
    let mut lengths = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let tokens = line.split(|c: char| c.is_whitespace() || c == ',');
        for token in tokens.filter(|token| !token.is_empty()) {
            let length = token.parse().map_err(|_| {
                let shown: String = token.chars().take(20).collect();
                Problem::Syntax {
                    format: "list of segment lengths",
                    detail: format!("line {}: {shown:?} is not a length", number + 1),
                }
            })?;
            lengths.push(length);
        }
    }
    Ok(lengths)
}

/// The half-open ranges of row tiles that one column tile visits, and those that are full.
#[derive(Debug)]
struct Row {
    visited: (u64, u64),
    full: (u64, u64),
}

impl Row {
    /// `met` are the segments that the column tile `[start, end)` meets.
    fn new(met: &[(u64, u64)], (start, end): (u64, u64), total: u64, tiling: Tiling) -> Row {
        let (Some(&a), Some(&b)) = (met.first(), met.last()) else {
            return Row {
                visited: (0, 0),
                full: (0, 0),
            };
        };
        let size = tiling.tile_m;
        let from = if tiling.causal { start.max(a.0) } else { a.0 };
        let visited = (from / size, b.1.div_ceil(size));
        let mut full = (visited.1, visited.1);
        if met.len() == 1 && a.0 <= start && end <= a.1 {
            let from = if tiling.causal { a.0.max(end - 1) } else { a.0 };
            // A ragged last tile ends with the tokens.
            let last = if a.1 == total { visited.1 } else { a.1 / size };
            let begin = from.div_ceil(size);
            if begin < last {
                full = (begin, last);
            }
        }
        Row { visited, full }
    }
}

/// The number of tiles that hold this many tokens.
pub(super) fn tile_count(axis: char, tokens: u64, size: u64) -> Result<u64, TensorError> {
    if size == 0 {
        let what = format!("the tile size along {axis}");
        return Err(Problem::Zero { what }.into());
    }
    let tiles = tokens.div_ceil(size);
    if tiles > MAX_BLOCKS {
        let what = format!("the number of {axis} tiles");
        return Err(too_large(&what, tiles.to_string(), MAX_BLOCKS).into());
    }
    Ok(tiles)
}

/// The problem of a size above a limit.
pub(super) fn too_large(what: &str, found: String, limit: u64) -> Problem {
    Problem::TooLarge {
        what: what.to_owned(),
        found,
        limit,
    }
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;
    use proptest::prelude::*;

    use super::*;

    const PUBLISHED: [u64; 10] = [366, 25, 80, 364, 149, 21, 12, 3, 3, 1];

    fn tiling(tile_m: u64, tile_n: u64, causal: bool) -> Tiling {
        Tiling {
            tile_m,
            tile_n,
            causal,
        }
    }

    #[test]
    fn the_published_example_comes_out_exactly() {
        let tiles = pack(&PUBLISHED, tiling(128, 128, false)).unwrap();
        let rows = || 0..tiles.n_blocks();
        let mask_counts: Vec<usize> = rows().map(|n| tiles.mask_row(n).len()).collect();
        let full_counts: Vec<usize> = rows().map(|n| tiles.full_row(n).len()).collect();
        let masks: Vec<u32> = rows().flat_map(|n| tiles.mask_row(n)).copied().collect();
        let fulls: Vec<u32> = rows().flat_map(|n| tiles.full_row(n)).copied().collect();
        assert_eq!(mask_counts, [1, 1, 4, 5, 2, 2, 5, 2]);
        assert_eq!(full_counts, [2, 2, 0, 0, 2, 2, 0, 0]);
        let expected = [
            2, 2, 0, 1, 2, 3, 2, 3, 4, 5, 6, 3, 6, 3, 6, 3, 4, 5, 6, 7, 6, 7,
        ];
        assert_eq!(masks, expected);
        assert_eq!(fulls, [0, 1, 0, 1, 4, 5, 4, 5]);
        let first_visitors: Vec<u32> = (0..8).map(|m| tiles.visitors(m)[0]).collect();
        assert_eq!(first_visitors, [0, 0, 0, 2, 3, 3, 3, 6]);
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        let message = |lengths: &[u64], tiling| pack(lengths, tiling).unwrap_err().to_string();
        assert_eq!(
            message(&[8], tiling(0, 1, false)),
            "the tile size along m is 0; it must be at least 1"
        );
        assert_eq!(
            message(&[u64::MAX, 1], tiling(1, 1, false)),
            "the sum of the segment lengths is over 2^64, above the limit of 18446744073709551615"
        );
        assert_eq!(
            message(&[1 << 30], tiling(1, 1, true)),
            "the number of m tiles is 1073741824, above the limit of 16777216"
        );
        assert!(message(&[1 << 14], tiling(1, 1, false)).starts_with("the number of visited"));
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let tiles = pack(&[u64::MAX], tiling(u64::MAX, u64::MAX, true)).unwrap();
        assert_eq!(tiles.mask_row(0), [0]);
        assert_eq!(
            pack(&[u64::MAX], tiling(1 << 62, 1 << 62, false))
                .unwrap()
                .len(),
            16
        );
    }

    #[test]
    fn lengths_are_read_with_comments() {
        assert_eq!(parse_lengths("# ten\n366, 25\n80"), Ok(vec![366, 25, 80]));
        assert_eq!(
            parse_lengths("1\n-2").unwrap_err().to_string(),
            "not valid list of segment lengths: line 2: \"-2\" is not a length"
        );
    }

    fn classify(segment_of: &[usize], tiling: Tiling, n: u64, m: u64) -> (bool, bool) {
        let total = segment_of.len() as u64;
        let tokens = |at: u64, size: u64| at * size..total.min((at + 1) * size);
        let visible: Vec<bool> = tokens(m, tiling.tile_m)
            .cartesian_product(tokens(n, tiling.tile_n))
            .map(|(q, k)| {
                segment_of[q as usize] == segment_of[k as usize] && (!tiling.causal || k <= q)
            })
            .collect();
        (visible.contains(&true), !visible.contains(&false))
    }

    proptest! {
        #[test]
        fn closed_form_is_the_mask_element_by_element(
            lengths in prop::collection::vec(0u64..12, 0..9),
            tile_m in 1u64..8,
            tile_n in 1u64..8,
            causal: bool,
        ) {
            let tiling = tiling(tile_m, tile_n, causal);
            let tiles = pack(&lengths, tiling).unwrap();
            let segment_of: Vec<usize> = lengths
                .iter()
                .enumerate()
                .flat_map(|(segment, &length)| vec![segment; length as usize])
                .collect();
            for n in 0..tiles.n_blocks() {
                let mut masks = Vec::new();
                let mut fulls = Vec::new();
                for m in 0..tiles.m_blocks() {
                    match classify(&segment_of, tiling, n as u64, m as u64) {
                        (true, true) => fulls.push(m as u32),
                        (true, false) => masks.push(m as u32),
                        _ => {}
                    }
                }
                prop_assert_eq!(tiles.mask_row(n), masks);
                prop_assert_eq!(tiles.full_row(n), fulls);
            }
        }
    }
}
