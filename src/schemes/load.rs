//! From arrays and a scheme to an instance of the reference semantics.
//!
//! The arrays become the input of the scheme's protocol: N, M, the pattern, and the order of every row. Runs are made
//! on flat lists ([`super::visits`]), which take a tenth of the memory. An instance is built only if every schedule
//! is explored. Tests build one to compare the two.

use std::collections::BTreeMap;

use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::semantics::error::RunError;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::instance::Instance;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;
use crate::tensors::BlockSparse;

/// The limits that arrays of the largest readable size need.
pub(super) const LIMITS: Limits = Limits {
    ops: 1 << 28,
    members: 1 << 25,
    cells: 1 << 25,
    work: 100_000_000_000,
};

/// The parameters `N`, `M` and `R` in this order.
pub(super) fn params(tiles: &BlockSparse, resident: i64) -> Vec<i64> {
    vec![tiles.n_blocks() as i64, tiles.m_blocks() as i64, resident]
}

/// The input that arrays make for a protocol. The protocol has the parameters `N`, `M` and `R` in this order, and one
/// open pattern `[N, M]`. Its first role has one index and runs over its row in its first statement.
fn input(tiles: &BlockSparse, order: RowOrder, protocol: &Protocol, resident: i64) -> Input {
    let patterns = tiles
        .entries()
        .map(|entry| vec![i64::from(entry.n), i64::from(entry.m)])
        .collect();
    Input {
        params: params(tiles, resident),
        patterns: vec![patterns],
        orders: orders(tiles, order, protocol),
        initial: BTreeMap::new(),
    }
}

/// The order of every row that is not ascending already.
fn orders(
    tiles: &BlockSparse,
    order: RowOrder,
    protocol: &Protocol,
) -> BTreeMap<OrderKey, Vec<i64>> {
    let first = protocol.roles.first().and_then(|role| role.body.first());
    let stmt = first.map_or(0, |stmt| stmt.id.0);
    let key = |n: i64| match order {
        RowOrder::Given => Some(OrderKey::Row {
            pattern: 0,
            row: vec![n],
        }),
        RowOrder::Any => Some(OrderKey::Loop {
            stmt,
            role: 0,
            member: vec![n],
            run: 0,
        }),
        RowOrder::Ascending | RowOrder::Descending => None,
    };
    (0..tiles.n_blocks())
        .filter(|&n| !tiles.row(n).is_sorted())
        .filter_map(|n| {
            let row = tiles.row(n).iter().copied().map(i64::from).collect();
            Some((key(n as i64)?, row))
        })
        .collect()
}

/// The instance of a scheme's protocol at these arrays.
///
/// # Errors
/// An expression that has no value at some tile (a division by zero, an overflow), or arrays
/// beyond every limit.
pub fn instance(
    tiles: &BlockSparse,
    order: RowOrder,
    protocol: &Protocol,
) -> Result<Instance, RunError> {
    let resident = tiles.n_blocks().max(1) as i64;
    let input = input(tiles, order, protocol, resident);
    unfold::instantiate_with(protocol, &input, &LIMITS).map(|(instance, _)| instance)
}
