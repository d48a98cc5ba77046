//! Which values an atomic operation on a semaphore may return: a set that holds at least all of them.
//!
//! The value of a semaphore is the value that it was set to, at the start or by an operation, plus what has been added since.
//! A member adds at most the sum along the most expensive path through its program, and likewise for what it subtracts. The
//! paths depend on the values. So the computation is repeated until a fixed point.
//!
//! A compare-and-swap that succeeds can be read in two ways: it sets the new value, or it adds the difference between the new
//! and the expected value. Both readings are right for every run. So a value is possible only if both allow it. The first one
//! is precise for locks, the second one for counters.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

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
pub(super) struct PossibleResults {
    values: BTreeMap<CellId, Vec<i64>>,
    rounds: usize,
}

impl PossibleResults {
    /// What may be returned of a semaphore, as far as is known.
    pub(super) fn of(&self, cell: CellId) -> &[i64] {
        self.values.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// What has to be added to that for an instance that was made of it; nothing where it is complete.
    pub(super) fn beyond(&self, instance: &Instance) -> Result<Option<PossibleResults>, Fault> {
        if !instance.branches() {
            return Ok(None);
        }
        let mut wanted: BTreeSet<CellId> = BTreeSet::new();
        // Who comes to an element: where many do, each comes to few.
        let mut users: FxHashMap<CellId, Vec<&Member>> = FxHashMap::default();
        for member in &instance.members {
            for op in &member.ops {
                if let OpKind::Fetch(_) = op.kind {
                    wanted.insert(op.cell);
                }
                let users = users.entry(op.cell).or_default();
                if users.last().is_none_or(|last| !std::ptr::eq(*last, member)) {
                    users.push(member);
                }
            }
        }
        let mut values = BTreeMap::new();
        for cell in wanted {
            let users = users.get(&cell).map_or(&[][..], Vec::as_slice);
            values.insert(cell, possible(instance, users, cell)?);
        }
        if values == self.values {
            return Ok(None);
        }
        let rounds = self.rounds + 1;
        match rounds > MOST_ROUNDS {
            true => Err(too_many()),
            false => Ok(Some(PossibleResults { values, rounds })),
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

/// How a compare-and-swap that succeeds is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Sets,
    Adds,
}

/// Every value that a semaphore may have, to which these members come.
fn possible(instance: &Instance, users: &[&Member], cell: CellId) -> Result<Vec<i64>, Fault> {
    let all = match (
        read(instance, users, cell, Reading::Sets),
        read(instance, users, cell, Reading::Adds),
    ) {
        (Ok(set), Ok(added)) => set.intersection(&added).copied().collect(),
        (Ok(all), Err(_)) | (Err(_), Ok(all)) => all,
        (Err(fault), Err(_)) => return Err(fault),
    };
    Ok(all.into_iter().collect())
}

/// The same by one reading.
fn read(
    instance: &Instance,
    users: &[&Member],
    cell: CellId,
    reading: Reading,
) -> Result<BTreeSet<i64>, Fault> {
    let mut given = BTreeSet::new();
    if let Some(CellStart::Semaphore(value)) = instance.cells.get(cell.0 as usize) {
        given.insert(*value);
    }
    let mut step = 0;
    let (mut up, mut down) = (0_i64, 0_i64);
    for member in users {
        for (place, op) in member.ops.iter().enumerate() {
            if op.cell != cell {
                continue;
            }
            match set(member, place, reading) {
                Some(value) => {
                    given.insert(value);
                }
                None => step = common(step, added(op.kind, reading)?),
            }
        }
        let most = |sign| costliest(member, cell, sign, reading);
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
            change = change.checked_add(step).ok_or_else(too_many)?;
        }
    }
    Ok(all)
}

/// What an operation sets, if it sets something. A compare-and-swap does where it may return what it expects.
fn set(member: &Member, place: usize, reading: Reading) -> Option<i64> {
    match (member.ops[place].kind, reading) {
        (OpKind::Set(value) | OpKind::Fetch(Fetch::Exchange(value)), _) => Some(value),
        (OpKind::WaitSwap { new, .. }, Reading::Sets) => Some(new),
        (OpKind::Fetch(Fetch::Swap { expected, new }), Reading::Sets) => {
            member.after(place as u32, Some(expected)).map(|_| new)
        }
        _ => None,
    }
}

/// What an operation adds if it succeeds.
fn added(kind: OpKind, reading: Reading) -> Result<i64, Fault> {
    match (kind, reading) {
        (OpKind::Add(amount) | OpKind::Fetch(Fetch::Add(amount)), _) => Ok(amount),
        (
            OpKind::WaitSwap { expected, new } | OpKind::Fetch(Fetch::Swap { expected, new }),
            Reading::Adds,
        ) => new.checked_sub(expected).ok_or_else(too_many),
        _ => Ok(0),
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

/// The most that one path through a program adds with this sign. Every edge leads to a later place.
fn costliest(member: &Member, cell: CellId, sign: i64, reading: Reading) -> Result<i64, Fault> {
    let mut most = vec![0_i64; member.ops.len() + 1];
    for (place, op) in member.ops.iter().enumerate().rev() {
        let own = match op.cell == cell {
            true => added(op.kind, reading)?,
            false => 0,
        };
        let own = own.checked_mul(sign).ok_or_else(too_many)?.max(0);
        let rest = member.ways(place as u32).map(|next| most[next as usize]);
        let rest = rest.max().unwrap_or(0);
        most[place] = match op.kind {
            // It adds nothing unless it returns what it expects.
            OpKind::Fetch(Fetch::Swap { expected, .. }) => {
                match member.after(place as u32, Some(expected)) {
                    Some(next) => {
                        let swapped = most[next as usize].checked_add(own);
                        rest.max(swapped.ok_or_else(too_many)?)
                    }
                    None => rest,
                }
            }
            _ => rest.checked_add(own).ok_or_else(too_many)?,
        };
    }
    Ok(most[0])
}
