//! Causal and sliding windows: the tiles that a kernel visits if it computes its bounds.
//!
//! Query `q` of `sq` sees key `k` of `sk` if `q + sk - sq - wl <= k <= q + sk - sq + wr`. So the last query is
//! aligned with the last key. A side without a window is unbounded, and causal is `wr = 0`. With `M = ceil(sq/Tm)`
//! and `N = ceil(sk/Tn)` the kernels use
//!
//! - `m_min(n) = max(0, floor((n*Tn + sq - sk - wr)/Tm))`, or 0 without a right window;
//! - `m_max(n) = min(M, ceil(((n+1)*Tn + sq - sk + wl)/Tm))`, or M without a left window;
//! - `n_max(m) = min(N, ceil(((m+1)*Tm + sk - sq + wr)/Tn))`, or N without a right window.
//!
//! These bounds visit exactly the tiles that have an unmasked element, including ragged last tiles. The conditions
//! `m >= m_min(n)` and `n < n_max(m)` are equivalent. The tests compare both with the definition, element by element.

use super::error::TensorError;
use super::model::BlockSparse;
use super::model::Builder;
use super::model::ExtentSource;
use super::options::MAX_ELEMENTS;
use super::packing::tile_count;
use super::packing::too_large;

/// A causal or sliding window over tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    sq: u64,
    sk: u64,
    tile_m: u64,
    tile_n: u64,
    left: Option<u64>,
    right: Option<u64>,
}

impl Window {
    /// No window yet: every query sees every key. `sq` queries in tiles of `tile_m`, `sk` keys
    /// in tiles of `tile_n`.
    ///
    /// # Errors
    /// A tile size of 0, or more than 2^24 tiles along an axis.
    pub fn new(sq: u64, sk: u64, tile_m: u64, tile_n: u64) -> Result<Self, TensorError> {
        tile_count('m', sq, tile_m)?;
        tile_count('n', sk, tile_n)?;
        Ok(Window {
            sq,
            sk,
            tile_m,
            tile_n,
            left: None,
            right: None,
        })
    }

    /// Limits how far before its aligned key a query sees, in keys (wl).
    pub fn left(self, keys: u64) -> Self {
        Window {
            left: Some(keys),
            ..self
        }
    }

    /// Limits how far past its aligned key a query sees, in keys (wr).
    pub fn right(self, keys: u64) -> Self {
        Window {
            right: Some(keys),
            ..self
        }
    }

    /// No key past the aligned one: `right(0)`.
    pub fn causal(self) -> Self {
        self.right(0)
    }

    /// The number of row tiles M.
    pub fn m_blocks(&self) -> usize {
        self.sq.div_ceil(self.tile_m) as usize
    }

    /// The number of column tiles N.
    pub fn n_blocks(&self) -> usize {
        self.sk.div_ceil(self.tile_n) as usize
    }

    // How far queries are ahead of their aligned keys.
    fn ahead(&self) -> i128 {
        i128::from(self.sq) - i128::from(self.sk)
    }

    /// The first row tile that column tile `n` visits.
    pub fn m_min(&self, n: usize) -> usize {
        let Some(right) = self.right else {
            return 0;
        };
        let first = start(n, self.tile_n) + self.ahead() - i128::from(right);
        clamp(first.div_euclid(i128::from(self.tile_m)), usize::MAX)
    }

    /// One past the last row tile that column tile `n` visits; may be at or below `m_min(n)`,
    /// then it visits none. Where the formula is negative this is 0.
    pub fn m_max(&self, n: usize) -> usize {
        let Some(left) = self.left else {
            return self.m_blocks();
        };
        let end = start(n, self.tile_n) + i128::from(self.tile_n) + self.ahead() + i128::from(left);
        clamp(ceil_div(end, self.tile_m), self.m_blocks())
    }

    /// One past the last column tile that visits row tile `m`. Where the formula is negative
    /// this is 0.
    pub fn n_max(&self, m: usize) -> usize {
        let Some(right) = self.right else {
            return self.n_blocks();
        };
        let end =
            start(m, self.tile_m) + i128::from(self.tile_m) - self.ahead() + i128::from(right);
        clamp(ceil_div(end, self.tile_n), self.n_blocks())
    }

    /// Whether every element of a tile is unmasked, judged by the tokens it has.
    fn is_full(&self, n: usize, m: usize) -> bool {
        let span = |at: usize, size: u64, total: u64| {
            let start = start(at, size);
            (start, (start + i128::from(size)).min(i128::from(total)) - 1)
        };
        let (q_first, q_last) = span(m, self.tile_m, self.sq);
        let (k_first, k_last) = span(n, self.tile_n, self.sk);
        let reach = |keys: Option<u64>, needed: i128| match keys {
            Some(keys) => needed <= i128::from(keys),
            None => true,
        };
        reach(self.right, k_last + self.ahead() - q_first)
            && reach(self.left, q_last - self.ahead() - k_first)
    }

    /// The tiles as a kernel with computed bounds visits them: `m` ascending from `m_min` to
    /// `m_max`, all listed as partially masked so that the order is kept.
    ///
    /// # Errors
    /// More than 2^26 visited tiles.
    pub fn visited(&self) -> Result<BlockSparse, TensorError> {
        self.build(|_, _| false)
    }

    /// The same tiles as block-sparse lists: partially masked tiles first, then full ones.
    ///
    /// # Errors
    /// More than 2^26 visited tiles.
    pub fn classified(&self) -> Result<BlockSparse, TensorError> {
        self.build(|n, m| self.is_full(n, m))
    }

    fn build(&self, full: impl Fn(usize, usize) -> bool) -> Result<BlockSparse, TensorError> {
        let mut builder = Builder::new();
        for n in 0..self.n_blocks() {
            let visited = self.m_min(n)..self.m_max(n);
            let found = builder.len() as u64 + visited.len() as u64;
            if found > MAX_ELEMENTS {
                let found = format!("at least {found}");
                return Err(too_large("the number of visited tiles", found, MAX_ELEMENTS).into());
            }
            let (fulls, masks): (Vec<usize>, Vec<usize>) = visited.partition(|&m| full(n, m));
            masks.into_iter().for_each(|m| builder.tile(m as u32));
            builder.end_masks();
            fulls.into_iter().for_each(|m| builder.tile(m as u32));
            builder.end_row();
        }
        Ok(builder.finish(self.m_blocks(), ExtentSource::Caller))
    }
}

// Far from overflow for a tile that exists; the bound only keeps sums with it in range.
fn start(at: usize, size: u64) -> i128 {
    (at as i128).saturating_mul(i128::from(size)).min(1 << 100)
}

fn ceil_div(value: i128, by: u64) -> i128 {
    -(-value).div_euclid(i128::from(by))
}

fn clamp(value: i128, most: usize) -> usize {
    usize::try_from(value.max(0)).unwrap_or(most).min(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_causal_square_is_a_lower_triangle() {
        let window = Window::new(512, 512, 128, 128).unwrap().causal();
        let tiles = window.classified().unwrap();
        for n in 0..4u32 {
            assert_eq!(tiles.mask_row(n as usize), [n]);
            assert!(tiles.full_row(n as usize).iter().copied().eq(n + 1..4));
            assert_eq!(window.n_max(n as usize), n as usize + 1);
        }
        assert_eq!(window.visited().unwrap().row(1), [1, 2, 3]);
    }

    #[test]
    fn extreme_sizes_do_not_overflow() {
        let huge = Window::new(u64::MAX, 1, u64::MAX, 1).unwrap();
        let huge = huge.left(u64::MAX).right(u64::MAX);
        assert_eq!(huge.classified().unwrap().len(), 1);
        assert_eq!(huge.m_min(usize::MAX), 0);
        let tall = Window::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX).unwrap();
        let tall = tall.left(u64::MAX).causal();
        assert_eq!((tall.m_min(0), tall.m_max(usize::MAX)), (0, 1));
        assert_eq!(tall.n_max(usize::MAX), 1);
        assert!(Window::new(1, 1, 0, 1).is_err());
        assert!(Window::new(u64::MAX, 1, 1, 1).is_err());
        let dense = Window::new(1 << 14, 1 << 14, 1, 1).unwrap();
        assert!(dense.visited().is_err());
    }

    fn window() -> impl Strategy<Value = Window> {
        let side = || prop::option::of(0u64..30);
        (0u64..40, 0u64..40, 1u64..8, 1u64..8, side(), side()).prop_map(
            |(sq, sk, tile_m, tile_n, left, right)| Window {
                sq,
                sk,
                tile_m,
                tile_n,
                left,
                right,
            },
        )
    }

    fn unmasked(window: &Window, q: u64, k: u64) -> bool {
        let aligned = q as i64 + window.sk as i64 - window.sq as i64;
        let k = k as i64;
        window.left.is_none_or(|left| k >= aligned - left as i64)
            && window.right.is_none_or(|right| k <= aligned + right as i64)
    }

    proptest! {
        #[test]
        fn bounds_visit_exactly_the_tiles_with_an_unmasked_element(window in window()) {
            let tiles = window.classified().unwrap();
            for n in 0..window.n_blocks() {
                for m in 0..window.m_blocks() {
                    let tokens = |at: usize, size: u64, total: u64| {
                        at as u64 * size..total.min((at as u64 + 1) * size)
                    };
                    let (mut any, mut all) = (false, true);
                    for q in tokens(m, window.tile_m, window.sq) {
                        for k in tokens(n, window.tile_n, window.sk) {
                            let unmasked = unmasked(&window, q, k);
                            any |= unmasked;
                            all &= unmasked;
                        }
                    }
                    prop_assert_eq!(tiles.visits(n, m), any, "tile ({}, {})", n, m);
                    let full = tiles.full_row(n).contains(&(m as u32));
                    prop_assert_eq!(full, any && all, "tile ({}, {})", n, m);
                    prop_assert_eq!(m >= window.m_min(n), n < window.n_max(m));
                }
            }
        }
    }
}
