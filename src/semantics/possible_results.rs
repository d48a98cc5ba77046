//! Which values an atomic operation on a semaphore may return: a set that holds at least all of them.
//!
//! The value of a semaphore is the value that it was set to, at the start or by an operation, plus what has been
//! added since. For each sign, a member adds at most the sum along the most expensive path through its program. The
//! paths depend on the values that operations return. So the computation is repeated until a fixed point.
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

/// The most values of one semaphore, and the most repetitions of the computation.
const MOST_VALUES: u64 = 1 << 12;
const MOST_ROUNDS: usize = 64;

/// Per semaphore: the values that may be returned, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PossibleResults {
    values: BTreeMap<CellId, Vec<i64>>,
    rounds: usize,
}

impl PossibleResults {
    /// The values known so far that an operation on a semaphore may return.
    pub(super) fn of(&self, cell: CellId) -> &[i64] {
        self.values.get(&cell).map_or(&[], Vec::as_slice)
    }

    /// The values that the operations of an instance may return. The instance was unfolded with the values of `self`.
    /// If there are no others, the result is `None`, and the instance is complete.
    pub(super) fn beyond(&self, instance: &Instance) -> Result<Option<PossibleResults>, Fault> {
        if !instance.branches() {
            return Ok(None);
        }
        let mut wanted: BTreeSet<CellId> = BTreeSet::new();
        // The members that use an element. If there are many such members, each uses only a few elements.
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

/// A limit. It concerns the set of values that is computed here, so nothing is wrong with the text.
fn too_many() -> Fault {
    Fault::TooLarge {
        what: "values of a semaphore",
        limit: MOST_VALUES,
    }
}

/// The two ways to read a compare-and-swap that succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Sets,
    Adds,
}

/// Every value that a semaphore may have. `users` are all members that have operations on the semaphore.
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

/// The values that a semaphore may have under one of the two readings.
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

/// The value that an operation sets, if it sets one. A compare-and-swap sets its value if it may return the expected
/// value.
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

/// The amount that an operation adds if it succeeds.
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

/// The most that one path through a program adds, of the amounts with this sign. Every edge leads to a later place.
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
            // A compare-and-swap adds nothing unless it returns the expected value.
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
