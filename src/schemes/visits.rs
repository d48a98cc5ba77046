//! The programs of the CTAs as flat lists: the row tiles of each CTA in visiting order, and the value that it waits
//! for at each tile.
//!
//! The protocol of a scheme gives a CTA this program, except that operations which are the same at every tile are
//! left out: a wait for the value, and then an increment of the same semaphore. The code checks that the protocol has
//! this form, because every argument of this folder rests on it.

use std::collections::BTreeMap;

use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::semantics::error::RunError;
use crate::tensors::BlockSparse;

use super::value::Values;

/// The programs of all CTAs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visits {
    m_blocks: usize,
    /// Where the row of each CTA starts, and the end of the last.
    start: Vec<u32>,
    tiles: Vec<u32>,
    locks: Vec<i64>,
}

/// Row orders, by CTA: which row tiles it visits first.
pub(super) type FirstTiles = BTreeMap<usize, Vec<u32>>;

/// One visit of a CTA: where it waits, and for which value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// The row tile.
    pub m: u32,
    /// The value of its semaphore that lets the CTA go on.
    pub lock: i64,
}

/// The only loop of a protocol that takes turns.
pub(super) struct TurnLoop<'p> {
    /// The CTA.
    pub n: VarId,
    /// The row tile.
    pub m: VarId,
    /// The wait, for messages.
    pub wait: &'p Stmt,
    /// What it waits for.
    pub lock: &'p Expr,
}

impl<'p> TurnLoop<'p> {
    /// The loop of a protocol in which every CTA goes through its row. At each tile, the CTA waits for a value of the
    /// tile's semaphore, which starts at 0, and then adds 1 to it. `None` for any other protocol.
    pub fn of(protocol: &'p Protocol) -> Option<TurnLoop<'p>> {
        let ([role], [object], [_]) = (
            &protocol.roles[..],
            &protocol.objects[..],
            &protocol.patterns[..],
        ) else {
            return None;
        };
        let ([index], [outer]) = (&role.indices[..], &role.body[..]) else {
            return None;
        };
        let StmtKind::For {
            var,
            over: Iteration::Row { row, .. },
            body,
        } = &outer.kind
        else {
            return None;
        };
        let [wait, access, add] = &body[..] else {
            return None;
        };
        let StmtKind::Wait {
            cell,
            comparison: Comparison::Equal,
            value,
        } = &wait.kind
        else {
            return None;
        };
        let StmtKind::Add {
            cell: added,
            amount: Expr::Int(1),
        } = &add.kind
        else {
            return None;
        };
        let is_turn = object.kind == ObjectKind::Semaphore(Initial::Value(Expr::Int(0)))
            && matches!(access.kind, StmtKind::Access { .. })
            && *row == [Expr::Var(index.var)]
            && cell.index == [Expr::Var(*var)]
            && added.index == cell.index
            && added.object == cell.object;
        is_turn.then_some(TurnLoop {
            n: index.var,
            m: *var,
            wait,
            lock: value,
        })
    }
}

impl Visits {
    /// The programs of a scheme's protocol at these arrays. Rows of open order are taken as the
    /// arrays list them.
    ///
    /// # Errors
    /// A lock that has no value at some tile (a division by zero, an overflow).
    pub(super) fn new(
        tiles: &BlockSparse,
        order: RowOrder,
        protocol: &Protocol,
        turn: &TurnLoop<'_>,
    ) -> Result<Visits, RunError> {
        let mut start = Vec::with_capacity(tiles.n_blocks() + 1);
        start.push(0);
        let mut listed: Vec<u32> = Vec::with_capacity(tiles.len());
        for n in 0..tiles.n_blocks() {
            let from = listed.len();
            listed.extend_from_slice(tiles.row(n));
            match order {
                RowOrder::Given | RowOrder::Any => {}
                RowOrder::Ascending => listed[from..].sort_unstable(),
                RowOrder::Descending => listed[from..].sort_unstable_by(|a, b| b.cmp(a)),
            }
            start.push(listed.len() as u32);
        }
        let mut visits = Visits {
            m_blocks: tiles.m_blocks(),
            start,
            tiles: listed,
            locks: Vec::with_capacity(tiles.len()),
        };
        let values = Values::new(tiles);
        values.at_every_visit(protocol, turn, &mut visits)?;
        Ok(visits)
    }

    /// Adds the value at the next visit.
    pub(super) fn push_lock(&mut self, lock: i64) {
        self.locks.push(lock);
    }

    /// The number of CTAs.
    pub fn n_blocks(&self) -> usize {
        self.start.len() - 1
    }

    /// The number of row tiles.
    pub fn m_blocks(&self) -> usize {
        self.m_blocks
    }

    /// How many visits a CTA makes.
    pub fn count(&self, n: usize) -> usize {
        (self.start[n + 1] - self.start[n]) as usize
    }

    /// The row tiles that a CTA visits, in this order.
    pub fn row(&self, n: usize) -> &[u32] {
        &self.tiles[self.start[n] as usize..self.start[n + 1] as usize]
    }

    /// A visit of a CTA, by its position in the row; `None` past the end.
    pub fn get(&self, n: usize, place: usize) -> Option<Visit> {
        (place < self.count(n)).then(|| self.at(self.start[n] as usize + place))
    }

    /// The visits of a CTA, in order.
    pub fn of(&self, n: usize) -> impl Iterator<Item = Visit> + '_ {
        self.from(n, 0)
    }

    /// The visits of a CTA from this place in its row on.
    pub fn from(&self, n: usize, place: usize) -> impl Iterator<Item = Visit> + '_ {
        let all = self.start[n] as usize..self.start[n + 1] as usize;
        (all.start + place..all.end).map(|at| self.at(at))
    }

    /// Every row tile visited, by CTA and then in visiting order.
    pub fn tiles(&self) -> &[u32] {
        &self.tiles
    }

    /// Every value, by CTA and then in visiting order.
    pub fn locks(&self) -> &[i64] {
        &self.locks
    }

    fn at(&self, at: usize) -> Visit {
        Visit {
            m: self.tiles[at],
            lock: self.locks[at],
        }
    }

    /// The same visits, with some tiles of some rows first, in this order.
    pub(super) fn with_first(&self, first: &FirstTiles) -> Visits {
        let mut other = self.clone();
        // The new position of each row tile in the current row.
        let mut place = vec![u32::MAX; self.m_blocks];
        for (n, wanted) in first {
            for (at, m) in (0..).zip(wanted) {
                place[*m as usize] = at;
            }
            let mut row: Vec<Visit> = self.of(*n).collect();
            row.sort_by_key(|visit| place[visit.m as usize]);
            for (at, visit) in (self.start[*n] as usize..).zip(row) {
                other.tiles[at] = visit.m;
                other.locks[at] = visit.lock;
            }
            for m in wanted {
                place[*m as usize] = u32::MAX;
            }
        }
        other
    }

    /// Makes some CTAs wait at their first tile for a value that never comes. (Semaphores are never negative.)
    pub(super) fn hold_back(&mut self, held: impl Fn(usize) -> bool) {
        for n in 0..self.n_blocks() {
            if held(n) && self.count(n) > 0 {
                self.locks[self.start[n] as usize] = -1;
            }
        }
    }
}

/// A visit, from the point of view of its row tile.
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
    start: Vec<u32>,
    turns: Vec<Turn>,
}

impl Turns {
    /// The visits, by row tile.
    pub(super) fn of(visits: &Visits) -> Turns {
        let mut start = vec![0u32; visits.m_blocks() + 1];
        for m in &visits.tiles {
            start[*m as usize + 1] += 1;
        }
        for m in 0..visits.m_blocks() {
            start[m + 1] += start[m];
        }
        let nothing = Turn {
            n: 0,
            place: 0,
            lock: 0,
        };
        let mut turns = vec![nothing; visits.tiles.len()];
        let mut next = start.clone();
        for n in 0..visits.n_blocks() {
            for (place, Visit { m, lock }) in (0..).zip(visits.of(n)) {
                let at = &mut next[m as usize];
                turns[*at as usize] = Turn {
                    n: n as u32,
                    place,
                    lock,
                };
                *at += 1;
            }
        }
        Turns { start, turns }
    }

    /// The number of row tiles.
    pub fn m_blocks(&self) -> usize {
        self.start.len() - 1
    }

    /// The turns at a row tile, visitors ascending.
    pub fn at(&self, m: usize) -> &[Turn] {
        &self.turns[self.start[m] as usize..self.start[m + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const M: u32 = 8;

    /// Some of the row tiles, in any order.
    fn some_tiles() -> impl Strategy<Value = Vec<u32>> {
        let all: Vec<u32> = (0..M).collect();
        prop::sample::subsequence(all, 0..=M as usize).prop_shuffle()
    }

    fn visits(rows: &[Vec<u32>]) -> Visits {
        let mut start = vec![0];
        let mut tiles = Vec::new();
        for row in rows {
            tiles.extend_from_slice(row);
            start.push(tiles.len() as u32);
        }
        Visits {
            m_blocks: M as usize,
            start,
            locks: (0..tiles.len() as i64).collect(),
            tiles,
        }
    }

    proptest! {
        #[test]
        fn wanted_tiles_come_first_and_the_rest_stays_in_order(
            rows in prop::collection::vec((some_tiles(), prop::option::of(some_tiles())), 0..5),
        ) {
            let (rows, wanted): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let before = visits(&rows);
            let first: FirstTiles = (0..)
                .zip(&wanted)
                .filter_map(|(n, wanted)| Some((n, wanted.clone()?)))
                .collect();
            let after = before.with_first(&first);
            prop_assert_eq!(after.n_blocks(), rows.len());
            for (n, wanted) in wanted.into_iter().enumerate() {
                let wanted = wanted.unwrap_or_default();
                let found = |m: &u32| before.of(n).find(|visit| visit.m == *m);
                let rest = before.of(n).filter(|visit| !wanted.contains(&visit.m));
                let expected: Vec<Visit> = wanted.iter().filter_map(found).chain(rest).collect();
                prop_assert_eq!(after.of(n).collect::<Vec<_>>(), expected);
            }
        }
    }
}
