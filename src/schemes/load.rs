//! From arrays and a scheme to an instance of the reference semantics.
//!
//! The arrays become the input of the scheme's protocol: N, M, the pattern and the order of
//! every row. The instance then holds, for every visited tile, one wait for its lock's value
//! directly followed by one increment of the same semaphore; [`Turns::of`] checks this, because
//! every argument of this room rests on it.

use std::collections::BTreeMap;

use crate::protocol::Comparison;
use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::semantics::error::RunError;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step::NOT_STARTED;
use crate::semantics::step::State;
use crate::semantics::unfold;
use crate::semantics::unfold::Limits;
use crate::tensors::BlockSparse;

/// What arrays of the largest size that can be read need.
const LIMITS: Limits = Limits {
    ops: 1 << 28,
    members: 1 << 25,
    cells: 1 << 25,
    work: 100_000_000_000,
};

/// The input that arrays are for a protocol with the parameters `N`, `M` and `R` in this order
/// and one open pattern `[N, M]`, whose first role has one index and runs over its row in its
/// first statement.
pub fn input(tiles: &BlockSparse, order: RowOrder, protocol: &Protocol, resident: i64) -> Input {
    let n_blocks = tiles.n_blocks() as i64;
    let patterns = tiles
        .entries()
        .map(|entry| vec![i64::from(entry.n), i64::from(entry.m)])
        .collect();
    Input {
        params: vec![n_blocks, tiles.m_blocks() as i64, resident],
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

/// One visited tile as its row tile sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The visitor.
    pub n: u32,
    /// Which entry of the visitor's row it is, in visiting order.
    pub place: u32,
    /// The value it waits for.
    pub lock: i64,
}

/// The turns at every row tile, visitors ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    start: Vec<usize>,
    turns: Vec<Turn>,
}

impl Turns {
    /// Reads the turns off an instance. `None` when some member does anything else than to
    /// wait for a value and then to add 1 to the same semaphore, entry by entry, or when a
    /// semaphore does not start at 0.
    pub fn of(instance: &Instance) -> Option<Turns> {
        let zero = CellStart::Semaphore(0);
        if instance.roles.len() != 1 || instance.cells.iter().any(|cell| *cell != zero) {
            return None;
        }
        let mut start = vec![0; instance.cells.len() + 1];
        for member in &instance.members {
            let (pairs, rest) = member.ops.as_chunks::<2>();
            for [wait, add] in pairs {
                let waits = matches!(wait.kind, OpKind::Wait(Comparison::Equal, _));
                if !waits || add.kind != OpKind::Add(1) || wait.cell != add.cell {
                    return None;
                }
                start[wait.cell.0 as usize + 1] += 1;
            }
            if !rest.is_empty() {
                return None;
            }
        }
        for m in 0..instance.cells.len() {
            start[m + 1] += start[m];
        }
        let nothing = Turn {
            n: 0,
            place: 0,
            lock: 0,
        };
        let mut turns = vec![nothing; start.last().copied().unwrap_or(0)];
        let mut next = start.clone();
        for (n, member) in instance.members.iter().enumerate() {
            for (place, op) in member.ops.iter().step_by(2).enumerate() {
                let OpKind::Wait(_, lock) = op.kind else {
                    return None;
                };
                let at = &mut next[op.cell.0 as usize];
                turns[*at] = Turn {
                    n: n as u32,
                    place: place as u32,
                    lock,
                };
                *at += 1;
            }
        }
        Some(Turns { start, turns })
    }

    /// The number of row tiles.
    pub fn m_blocks(&self) -> usize {
        self.start.len() - 1
    }

    /// The turns at a row tile, visitors ascending.
    pub fn at(&self, m: usize) -> &[Turn] {
        &self.turns[self.start[m]..self.start[m + 1]]
    }
}

/// How many entries of its row a member has done, and whether it has started.
pub fn progress(state: &State, n: usize) -> Option<usize> {
    match state.counters[n] {
        NOT_STARTED => None,
        ops => Some(ops as usize / 2),
    }
}

/// Whether a turn has been taken.
pub fn is_taken(state: &State, turn: &Turn) -> bool {
    progress(state, turn.n as usize).is_some_and(|done| done > turn.place as usize)
}
