//! Constraints that all families share: tile counts, the pattern, and the order in which a kernel visits a row.
//!
//! A kernel that gets block-sparse lists first visits the partially masked tiles of its row and then the full ones,
//! each list in ascending order. If the protocol leaves the order of a row open, the search uses this order. So a
//! hang that is found occurs with the arrays that are written.

use crate::encoding::evaluate::Evaluator;
use crate::encoding::unroll::OpenOrder;
use crate::encoding::value::Num;
use crate::encoding::value::Truth;
use crate::protocol::PatternId;

/// Constrains an extent to the number of tiles that hold this many tokens.
pub(super) fn require_tiles(evaluator: &mut Evaluator<'_>, extent: &Num, tokens: &Num, tile: u64) {
    let tile = Num::Known(i64::try_from(tile).unwrap_or(i64::MAX));
    let room = extent.times(&tile);
    evaluator.require(&tokens.at_most(&room));
    evaluator.require(&room.less(&tokens.plus(&tile)));
}

/// Constrains a pattern to a formula, for every tile of the box.
pub(super) fn require_pattern(
    evaluator: &mut Evaluator<'_>,
    pattern: PatternId,
    visits: &dyn Fn(i64, i64) -> Truth,
) {
    for n in 0..evaluator.size {
        for m in 0..evaluator.size {
            let visited = evaluator.visits(pattern, &[Num::Known(n), Num::Known(m)]);
            let wanted = visits(n, m);
            evaluator.require(&visited.implies(&wanted));
            evaluator.require(&wanted.implies(&visited));
        }
    }
}

/// Constrains open row orders to the kernel's.
pub(super) fn require(
    evaluator: &mut Evaluator<'_>,
    pattern: PatternId,
    orders: &[OpenOrder],
    is_full: &dyn Fn(i64, i64) -> Truth,
) {
    let size = evaluator.size;
    for order in orders.iter().filter(|order| order.pattern == pattern) {
        let full: Vec<Truth> = (0..order.visited.len() as i64)
            .map(|m| match order.row.first() {
                Some(Num::Known(n)) => is_full(*n, m),
                Some(row) => Truth::any(
                    (0..size).map(|n| Truth::all([row.equals(&Num::Known(n)), is_full(n, m)])),
                ),
                None => Truth::Known(false),
            })
            .collect();
        for b in 0..order.visited.len() {
            for a in 0..b {
                let both = Truth::all([order.visited[a].clone(), order.visited[b].clone()]);
                let at = |entry: usize| Num::Term(order.position[entry].clone());
                let swapped = Truth::all([full[a].clone(), full[b].not()]);
                let later = Truth::all([both.clone(), swapped.clone()]);
                evaluator.require(&later.implies(&at(b).less(&at(a))));
                let sooner = Truth::all([both, swapped.not()]);
                evaluator.require(&sooner.implies(&at(a).less(&at(b))));
            }
        }
    }
}
