//! Which values an atomic operation on a semaphore may return: a set that holds at least all of them.
//!
//! A semaphore has a value that it was given, at the start or by an operation that sets it, plus what was added since.
//! Every member adds at most what the costliest way through its program adds, and subtracts at most likewise. Which ways
//! there are depends on the values, so this goes on until no value is new.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::error::Fault;
use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Fetch;
use super::instance::Instance;
use super::instance::Member;
use super::instance::OpKind;

/// How many values one semaphore may have, and how often it is looked at anew.
const MOST_VALUES: u64 = 1 << 12;
const MOST_ROUNDS: usize = 64;

/// Per semaphore the values that may be returned, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Returned {
    values: BTreeMap<CellId, Vec<i64>>,
    rounds: usize,
}

impl Returned {
    /// What may be returned of a semaphore, as far as is known.
    pub(super) fn of(&self, cell: CellId) -> &[i64] {
        self.values.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// What has to be added to that for an instance that was made of it; nothing where it is complete.
    pub(super) fn beyond(&self, instance: &Instance) -> Result<Option<Returned>, Fault> {
        if !instance.branches() {
            return Ok(None);
        }
        let mut wanted: BTreeSet<CellId> = BTreeSet::new();
        for op in instance.members.iter().flat_map(|member| &member.ops) {
            if let OpKind::Fetch(_) = op.kind {
                wanted.insert(op.cell);
            }
        }
        let mut values = BTreeMap::new();
        for cell in wanted {
            values.insert(cell, possible(instance, cell)?);
        }
        if values == self.values {
            return Ok(None);
        }
        let rounds = self.rounds + 1;
        match rounds > MOST_ROUNDS {
            true => Err(too_many()),
            false => Ok(Some(Returned { values, rounds })),
        }
    }
}

/// This is about values that may be returned as far as is known here. If one does not fit, nothing is wrong with the text.
fn too_many() -> Fault {
    Fault::TooLarge {
        what: "values of a semaphore",
        limit: MOST_VALUES,
    }
}

/// Every value that a semaphore may have.
fn possible(instance: &Instance, cell: CellId) -> Result<Vec<i64>, Fault> {
    let mut given = BTreeSet::new();
    if let Some(CellStart::Semaphore(value)) = instance.cells.get(cell.0 as usize) {
        given.insert(*value);
    }
    let mut step = 0;
    let (mut up, mut down) = (0_i64, 0_i64);
    for member in &instance.members {
        for op in member.ops.iter().filter(|op| op.cell == cell) {
            match op.kind {
                OpKind::Set(value)
                | OpKind::Fetch(Fetch::Exchange(value))
                | OpKind::Fetch(Fetch::Swap { new: value, .. })
                | OpKind::WaitSwap { new: value, .. } => {
                    given.insert(value);
                }
                _ => step = common(step, added(op.kind)),
            }
        }
        let most = |sign| costliest(member, cell, sign);
        up = up.checked_add(most(1)?).ok_or_else(too_many)?;
        down = down.checked_add(most(-1)?).ok_or_else(too_many)?;
    }
    let mut all = BTreeSet::new();
    for value in given {
        let mut change = -down;
        loop {
            all.insert(value.checked_add(change).ok_or_else(too_many)?);
            if all.len() as u64 > MOST_VALUES {
                return Err(too_many());
            }
            if step == 0 || change >= up {
                break;
            }
            change += step;
        }
    }
    Ok(all.into_iter().collect())
}

/// What an operation adds.
fn added(kind: OpKind) -> i64 {
    match kind {
        OpKind::Add(amount) | OpKind::Fetch(Fetch::Add(amount)) => amount,
        _ => 0,
    }
}

/// The greatest common divisor of two amounts.
fn common(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The most that one way through a program adds with this sign. Every way leads to a later place.
fn costliest(member: &Member, cell: CellId, sign: i64) -> Result<i64, Fault> {
    let mut most = vec![0_i64; member.ops.len() + 1];
    for (place, op) in member.ops.iter().enumerate().rev() {
        let rest = member.ways(place as u32).map(|next| most[next as usize]);
        let own = match op.cell == cell {
            true => added(op.kind).checked_mul(sign).ok_or_else(too_many)?,
            false => 0,
        };
        let rest = rest.max().unwrap_or(0);
        most[place] = rest.checked_add(own.max(0)).ok_or_else(too_many)?;
    }
    Ok(most[0])
}
