//! The value of a lock at every visited tile, by the evaluator of the reference semantics.
//!
//! At every tile, the evaluator asks the pattern how many CTAs below some n visit the tile. CTAs are processed in
//! ascending order. So for the current CTA the answer is the number of visits of the tile so far, and no search is
//! needed. All other questions are answered from the arrays.

use std::cell::Cell;
use std::cell::OnceCell;

use crate::protocol::Protocol;
use crate::semantics::error::RunError;
use crate::semantics::eval::Env;
use crate::semantics::pattern::Visited;
use crate::semantics::unfold;
use crate::tensors::BlockSparse;

use super::load;
use super::visits::TurnLoop;
use super::visits::Visits;

/// The arrays as a pattern `[N, M]`.
pub(super) struct Values<'a> {
    tiles: &'a BlockSparse,
    /// The current CTA, and how many CTAs below it visit each row tile.
    n: Cell<i64>,
    below: Vec<Cell<u32>>,
    /// Every row in ascending order. It is computed when it is first asked for.
    sorted: OnceCell<Vec<Vec<u32>>>,
}

impl<'a> Values<'a> {
    /// No CTA has been processed yet.
    pub fn new(tiles: &'a BlockSparse) -> Values<'a> {
        Values {
            tiles,
            n: Cell::new(0),
            below: vec![Cell::new(0); tiles.m_blocks()],
            sorted: OnceCell::new(),
        }
    }

    /// Gives every visit its value.
    ///
    /// # Errors
    /// An expression that has no value at some tile.
    pub fn at_every_visit(
        self,
        protocol: &Protocol,
        turn: &TurnLoop<'_>,
        visits: &mut Visits,
    ) -> Result<(), RunError> {
        let params = load::params(self.tiles, self.tiles.n_blocks().max(1) as i64);
        unfold::check_params(protocol, &params)?;
        let pattern = std::slice::from_ref(&self);
        let mut env = Env::new(protocol, &params, pattern, load::LIMITS.work);
        let here = |fault| RunError::at(fault, turn.wait.span);
        for n in 0..visits.n_blocks() {
            self.n.set(n as i64);
            env.set(turn.n, n as i64).map_err(here)?;
            for place in 0..visits.count(n) {
                let m = visits.row(n)[place];
                env.set(turn.m, i64::from(m)).map_err(here)?;
                let lock = env.value(turn.lock).map_err(here)?;
                visits.push_lock(lock);
            }
            for m in visits.row(n) {
                let met = &self.below[*m as usize];
                met.set(met.get() + 1);
            }
        }
        Ok(())
    }

    /// How many CTAs below `bound` visit a row tile.
    fn visitors_below(&self, bound: i64, m: usize) -> i64 {
        let visitors = self.tiles.visitors(m);
        if bound == self.n.get() {
            return i64::from(self.below[m].get());
        }
        if bound >= self.tiles.n_blocks() as i64 {
            return visitors.len() as i64;
        }
        visitors.partition_point(|n| i64::from(*n) < bound) as i64
    }

    /// How many row tiles below `bound` a CTA visits.
    fn tiles_below(&self, n: usize, bound: i64) -> i64 {
        let sorted = self.sorted.get_or_init(|| {
            let row = |n| {
                let mut row = self.tiles.row(n).to_vec();
                row.sort_unstable();
                row
            };
            (0..self.tiles.n_blocks()).map(row).collect()
        });
        sorted[n].partition_point(|m| i64::from(*m) < bound) as i64
    }

    fn inside(value: i64, extent: usize) -> Option<usize> {
        usize::try_from(value).ok().filter(|value| *value < extent)
    }
}

impl Visited for Values<'_> {
    fn contains(&self, at: &[i64]) -> bool {
        let &[n, m] = at else {
            return false;
        };
        let n = Self::inside(n, self.tiles.n_blocks());
        let m = Self::inside(m, self.tiles.m_blocks());
        n.zip(m).is_some_and(|(n, m)| self.tiles.visits(n, m))
    }

    fn count(&self, free: usize, at: &[i64], lo: i64, hi: i64) -> i64 {
        let &[n, m] = at else {
            return 0;
        };
        let (n_blocks, m_blocks) = (self.tiles.n_blocks(), self.tiles.m_blocks());
        let extent = if free == 0 { n_blocks } else { m_blocks };
        let (lo, hi) = (lo.max(0), hi.min(extent as i64));
        if lo >= hi {
            return 0;
        }
        // Nobody is below 0.
        let between = |below: &dyn Fn(i64) -> i64| match lo {
            0 => below(hi),
            _ => below(hi) - below(lo),
        };
        match free {
            0 => Self::inside(m, m_blocks)
                .map_or(0, |m| between(&|bound| self.visitors_below(bound, m))),
            1 => Self::inside(n, n_blocks)
                .map_or(0, |n| between(&|bound| self.tiles_below(n, bound))),
            _ => 0,
        }
    }
}
