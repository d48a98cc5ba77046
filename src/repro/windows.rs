//! Causal and sliding windows, as a restriction on the search.
//!
//! These are the bounds of [`crate::tensors::windows`], without divisions. Let `ahead = sq - sk`. Column tile n
//! visits an existing row tile m iff `n*Tn + ahead - wr < (m+1)*Tm` and `m*Tm < (n+1)*Tn + ahead + wl`. Each window
//! that is found is also built by that module, and the two are compared.

use z3::ast::Int;

use crate::encoding::evaluate::Env;
use crate::encoding::evaluate::Evaluator;
use crate::encoding::search::Restricted;
use crate::encoding::search::Restriction;
use crate::encoding::unroll::OpenOrder;
use crate::encoding::value::Num;
use crate::encoding::value::Truth;
use crate::protocol::PatternId;

use super::kernel_order;

/// Asks for a pattern that a window makes, in a protocol with one open pattern over column and row tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) pattern: PatternId,
    pub(super) tile_m: i64,
    pub(super) tile_n: i64,
    /// Whether the window is limited on both sides. Otherwise it is causal.
    pub(super) local: bool,
}

/// The sequence lengths and the window sizes.
struct Sizes {
    sq: Num,
    sk: Num,
    wl: Num,
    wr: Num,
}

impl Windows {
    fn sizes(&self) -> Sizes {
        let named = |name: &str| Num::Term(Int::new_const(format!("window_{name}")));
        let (wl, wr) = match self.local {
            true => (named("wl"), named("wr")),
            false => (Num::Known(0), Num::Known(0)),
        };
        Sizes {
            sq: named("sq"),
            sk: named("sk"),
            wl,
            wr,
        }
    }

    fn visits(&self, sizes: &Sizes, n: i64, m: i64) -> Truth {
        let known = Num::Known;
        let (start_n, start_m) = (n * self.tile_n, m * self.tile_m);
        let ahead = sizes.sq.minus(&sizes.sk);
        let first = known(start_n).plus(&ahead).minus(&sizes.wr);
        let mut parts = vec![
            known(start_n).less(&sizes.sk),
            known(start_m).less(&sizes.sq),
            first.less(&known(start_m + self.tile_m)),
        ];
        if self.local {
            let end = known(start_n + self.tile_n).plus(&ahead).plus(&sizes.wl);
            parts.push(known(start_m).less(&end));
        }
        Truth::all(parts)
    }

    fn is_full(&self, sizes: &Sizes, n: i64, m: i64) -> Truth {
        let known = Num::Known;
        let last = |start: i64, tile: i64, total: &Num| {
            let end = known(start + tile);
            let end = end.at_most(total).choose(&end, total);
            end.minus(&known(1))
        };
        let (start_n, start_m) = (n * self.tile_n, m * self.tile_m);
        let (k_last, q_last) = (
            last(start_n, self.tile_n, &sizes.sk),
            last(start_m, self.tile_m, &sizes.sq),
        );
        let ahead = sizes.sq.minus(&sizes.sk);
        let right = k_last.plus(&ahead).minus(&known(start_m));
        let left = q_last.minus(&ahead).minus(&known(start_n));
        let mut parts = vec![right.at_most(&sizes.wr)];
        if self.local {
            parts.push(left.at_most(&sizes.wl));
        }
        Truth::all(parts)
    }
}

impl Restriction for Windows {
    fn restrict(&self, evaluator: &mut Evaluator<'_>) -> Restricted {
        let sizes = self.sizes();
        for (size, least) in [
            (&sizes.sq, 1),
            (&sizes.sk, 1),
            (&sizes.wl, 0),
            (&sizes.wr, 0),
        ] {
            evaluator.require(&Num::Known(least).at_most(size));
        }
        let extents = &evaluator.protocol.patterns[self.pattern.0].extents;
        let axes = [(&sizes.sk, self.tile_n), (&sizes.sq, self.tile_m)];
        for (extent, (tokens, tile)) in extents.iter().zip(axes) {
            let extent = evaluator.num(extent, &Env::new());
            kernel_order::require_tiles(evaluator, &extent, tokens, tile as u64);
        }
        kernel_order::require_pattern(evaluator, self.pattern, &|n, m| self.visits(&sizes, n, m));
        let all = vec![sizes.sq, sizes.sk, sizes.wl, sizes.wr];
        Restricted {
            goals: all.clone(),
            values: all,
        }
    }

    fn order(&self, evaluator: &mut Evaluator<'_>, orders: &[OpenOrder]) {
        let sizes = self.sizes();
        kernel_order::require(evaluator, self.pattern, orders, &|n, m| {
            self.is_full(&sizes, n, m)
        });
    }
}
