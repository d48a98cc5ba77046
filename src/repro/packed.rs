//! Packed sequences as a restriction of the search: a formula for every packing of a box.
//!
//! The multiples of both tile sizes cut the tokens into *cells*. The tokens of one cell are in the same column tile
//! and in the same row tile. Which tiles are visited, and which are full, depends on three things only: the number of
//! tokens; for each start of a cell, whether the tokens on both sides are in one segment (*linked*); and for each
//! cell, whether a segment ends inside it (*broken*). Several ends inside one cell make no difference: the segments
//! between them lie within a single tile, which every token of the cell visits anyway. So a box of k tiles has at
//! most 2k cells, however many tokens a tile has, and the token count is the only integer.
//!
//! The formulas are those of [`crate::tensors::packing`]. Every packing that is found is built by that module and
//! compared.

use z3::ast::Bool;
use z3::ast::Int;

use crate::encoding::evaluate::Env;
use crate::encoding::evaluate::Evaluator;
use crate::encoding::search::Restricted;
use crate::encoding::search::Restriction;
use crate::encoding::unroll::OpenOrder;
use crate::encoding::value::Num;
use crate::encoding::value::Truth;
use crate::protocol::PatternId;
use crate::tensors::packing::Tiling;

use super::kernel_order;

/// The packings of a box, for a protocol with one open pattern over column and row tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packings {
    pub(super) pattern: PatternId,
    pub(super) tiling: Tiling,
}

/// The cells of a box and their variables.
struct Cells {
    tiling: Tiling,
    tokens: Num,
    /// First token of each cell; the last value is the end of the box.
    start: Vec<i64>,
    linked: Vec<Truth>,
    broken: Vec<Truth>,
}

/// Where cells begin in a box of this many tiles along each axis, and where it ends.
fn starts(tiling: Tiling, size: i64) -> Vec<i64> {
    let size = size.max(0) as u64;
    let end = size.saturating_mul(tiling.tile_m.min(tiling.tile_n));
    let multiples = |tile: u64| (0..size).map(move |i| i.saturating_mul(tile));
    let mut all: Vec<u64> = multiples(tiling.tile_m)
        .chain(multiples(tiling.tile_n))
        .filter(|start| *start < end)
        .chain([end])
        .collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
        .map(|start| i64::try_from(start).unwrap_or(i64::MAX))
        .collect()
}

impl Cells {
    fn new(tiling: Tiling, size: i64) -> Cells {
        let start = starts(tiling, size);
        let count = start.len().saturating_sub(1);
        let named =
            |what: &str, at: usize| Truth::Term(Bool::new_const(format!("segments_{what}_{at}")));
        Cells {
            tiling,
            tokens: Num::Term(Int::new_const("segments_tokens")),
            linked: (0..count)
                .map(|at| match at {
                    0 => Truth::Known(false),
                    _ => named("linked", at),
                })
                .collect(),
            broken: (0..count)
                .map(|at| match start[at + 1] - start[at] {
                    ..2 => Truth::Known(false),
                    _ => named("broken", at),
                })
                .collect(),
            start,
        }
    }

    fn count(&self) -> usize {
        self.linked.len()
    }

    fn exists(&self, cell: usize) -> Truth {
        Num::Known(self.start[cell]).less(&self.tokens)
    }

    /// The cells of a tile.
    fn of(&self, tile: i64, size: u64) -> std::ops::Range<usize> {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let at = |token: i64| {
            let cells = &self.start[..self.count()];
            cells.partition_point(|start| *start < token)
        };
        at(tile.saturating_mul(size))..at((tile + 1).saturating_mul(size))
    }

    /// Whether the last token of one cell and the first of a later one share a segment.
    fn joined(&self, from: usize, to: usize) -> Truth {
        let linked = (from + 1..=to).map(|cell| self.linked[cell].clone());
        let whole = (from + 1..to).map(|cell| self.broken[cell].not());
        Truth::all(linked.chain(whole))
    }

    fn visits(&self, n: i64, m: i64) -> Truth {
        let mut ways = Vec::new();
        for key in self.of(n, self.tiling.tile_n) {
            for query in self.of(m, self.tiling.tile_m) {
                if key > query && self.tiling.causal {
                    continue;
                }
                let (from, to) = (key.min(query), key.max(query));
                ways.push(Truth::all([self.exists(to), self.joined(from, to)]));
            }
        }
        Truth::any(ways)
    }

    /// Whether every element of a tile is unmasked; meaningful for tiles that exist.
    fn is_full(&self, n: i64, m: i64) -> Truth {
        let (keys, queries) = (
            self.of(n, self.tiling.tile_n),
            self.of(m, self.tiling.tile_m),
        );
        let from = keys.start.min(queries.start);
        let to = keys.end.max(queries.end);
        let mut parts = Vec::new();
        for cell in from..to {
            parts.push(self.broken[cell].not());
            if cell > from {
                parts.push(self.exists(cell).implies(&self.linked[cell]));
            }
        }
        if self.tiling.causal {
            let end = (n + 1).saturating_mul(self.tiling.tile_n as i64);
            let first_query = m.saturating_mul(self.tiling.tile_m as i64);
            let end = self
                .tokens
                .at_most(&Num::Known(end))
                .choose(&self.tokens, &Num::Known(end));
            parts.push(end.minus(&Num::Known(1)).at_most(&Num::Known(first_query)));
        }
        Truth::all(parts)
    }
}

impl Restriction for Packings {
    fn restrict(&self, evaluator: &mut Evaluator<'_>) -> Restricted {
        let cells = Cells::new(self.tiling, evaluator.size);
        let end = cells.start.last().copied().unwrap_or(0);
        evaluator.require(&Num::Known(1).at_most(&cells.tokens));
        evaluator.require(&cells.tokens.at_most(&Num::Known(end)));
        let extents = &evaluator.protocol.patterns[self.pattern.0].extents;
        for (extent, tile) in extents.iter().zip([self.tiling.tile_n, self.tiling.tile_m]) {
            let extent = evaluator.num(extent, &Env::new());
            kernel_order::require_tiles(evaluator, &extent, &cells.tokens, tile);
        }
        let mut segments = vec![Num::Known(1)];
        for cell in 0..cells.count() {
            let exists = cells.exists(cell);
            evaluator.require(&cells.linked[cell].implies(&exists));
            let two = Num::Known(cells.start[cell] + 2).at_most(&cells.tokens);
            evaluator.require(&cells.broken[cell].implies(&two));
            segments.push(cells.broken[cell].count());
            if cell > 0 {
                let cut = Truth::all([exists, cells.linked[cell].not()]);
                segments.push(cut.count());
            }
        }
        kernel_order::require_pattern(evaluator, self.pattern, &|n, m| cells.visits(n, m));
        let flags = cells.linked.iter().chain(&cells.broken).map(Truth::count);
        Restricted {
            values: std::iter::once(cells.tokens.clone()).chain(flags).collect(),
            goals: vec![cells.tokens.clone(), Num::sum(segments)],
        }
    }

    fn order(&self, evaluator: &mut Evaluator<'_>, orders: &[OpenOrder]) {
        let cells = Cells::new(self.tiling, evaluator.size);
        kernel_order::require(evaluator, self.pattern, orders, &|n, m| cells.is_full(n, m));
    }
}

impl Packings {
    /// The segment lengths that the values of a model stand for.
    pub(super) fn lengths(&self, size: i64, values: &[i64]) -> Vec<u64> {
        let start = starts(self.tiling, size);
        let count = start.len().saturating_sub(1);
        let Some((tokens, flags)) = values.split_first() else {
            return Vec::new();
        };
        let flag = |at: usize| flags.get(at).is_some_and(|value| *value != 0);
        let mut ends = Vec::new();
        for cell in (0..count).filter(|cell| start[*cell] < *tokens) {
            if cell > 0 && !flag(cell) {
                ends.push(start[cell]);
            }
            if flag(count + cell) {
                ends.push(start[cell] + 1);
            }
        }
        ends.push(*tokens);
        let mut from = 0;
        ends.into_iter()
            .map(|end| {
                let length = end - from;
                from = end;
                u64::try_from(length).unwrap_or(0)
            })
            .collect()
    }
}
