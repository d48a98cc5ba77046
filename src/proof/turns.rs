//! Guesses the rank of the turn rule from concrete runs.
//!
//! On a concrete instance, the turns at each element are known. So it can be checked by comparing numbers whether a
//! rank decreases from every wait to the waits of the CTA before. A handful of ranks is tried. Those that no instance
//! contradicts are passed to the checker.

use std::collections::BTreeMap;
use std::time::Instant;

use itertools::Itertools;

use super::Guess;
use super::accepted;
use super::listed_splits;
use super::whole_grid_fits;
use crate::certificate::argument::Argument;
use crate::certificate::grid::Residency;
use crate::certificate::turns::Component;
use crate::certificate::turns::Reading;
use crate::certificate::turns::Turns;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::input::Input;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Member;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

/// Looks for a rank that the checker accepts.
pub fn guess(
    protocol: &Protocol,
    samples: &[(Input, Instance)],
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Guess {
    let [role] = protocol.roles.as_slice() else {
        return Guess::nothing("more than one role");
    };
    let Some(launch) = &role.launch else {
        return Guess::nothing("a role that is not a grid");
    };
    let elements = protocol
        .objects
        .iter()
        .map(|object| object.extents.len())
        .max()
        .unwrap_or(0);
    let mut reason = "no order of turns fits what small runs do".to_owned();
    for rank in ranks(elements, role.indices.len()) {
        let Some(starts_earlier) = fits(samples, &rank) else {
            continue;
        };
        let mut residencies = Vec::new();
        if starts_earlier && matches!(launch.order, LaunchOrder::Sorted(_)) {
            residencies.push(Residency::LaunchOrder);
        }
        if launch.resident == Resident::All || whole_grid_fits(samples) {
            residencies.push(Residency::WholeGrid);
        }
        for (residency, split) in residencies
            .into_iter()
            .cartesian_product(listed_splits(protocol))
        {
            let argument = Argument::Turns(Turns {
                rank: rank.clone(),
                residency,
                split,
            });
            match accepted(protocol, &argument, split, deadline, tell) {
                Ok(()) => return Guess::Found(argument),
                Err(refused) => reason = refused,
            }
            if Instant::now() >= deadline {
                return Guess::nothing(format!("time limit; last, {reason}"));
            }
        }
    }
    Guess::nothing(reason)
}

/// Ranks of one or two components.
fn ranks(elements: usize, indices: usize) -> Vec<Vec<Component>> {
    let mut single = vec![Component {
        of: Reading::Turn,
        descending: false,
    }];
    for descending in [false, true] {
        single.extend((0..elements).map(|at| Component {
            of: Reading::Element(at),
            descending,
        }));
        single.extend((0..indices).map(|at| Component {
            of: Reading::Member(at),
            descending,
        }));
    }
    let turn = single[0];
    let mut all: Vec<Vec<Component>> = single.iter().map(|c| vec![*c]).collect();
    all.extend(single[1..].iter().map(|c| vec![*c, turn]));
    all
}

/// Whether a rank decreases in every sample; and if so, whether the member with the turn before always starts
/// earlier.
fn fits(samples: &[(Input, Instance)], rank: &[Component]) -> Option<bool> {
    let mut starts_earlier = true;
    for (_, instance) in samples {
        starts_earlier &= fits_one(instance, rank)?;
    }
    Some(starts_earlier)
}

fn fits_one(instance: &Instance, rank: &[Component]) -> Option<bool> {
    let mut owners: BTreeMap<(u32, i64), usize> = BTreeMap::new();
    for (m, member) in instance.members.iter().enumerate() {
        for op in &member.ops {
            if let Some(turn) = turn(instance, op)
                && (turn < 0 || owners.insert((op.cell.0, turn), m).is_some())
            {
                return None;
            }
        }
    }
    let starts = start_order(instance);
    let mut starts_earlier = true;
    for (m, member) in instance.members.iter().enumerate() {
        for op in &member.ops {
            let Some(turn) = turn(instance, op).filter(|turn| *turn > 0) else {
                continue;
            };
            let earlier = *owners.get(&(op.cell.0, turn - 1))?;
            let own = reading(instance, member, op, rank);
            for blocking in waits_before_addition(&instance.members[earlier], op) {
                if reading(instance, &instance.members[earlier], blocking, rank) >= own {
                    return None;
                }
            }
            starts_earlier &= starts[earlier] < starts[m];
        }
    }
    Some(starts_earlier)
}

fn turn(instance: &Instance, op: &Op) -> Option<i64> {
    match (op.kind, instance.cells[op.cell.0 as usize]) {
        (OpKind::Wait(_, value), CellStart::Semaphore(start)) => value.checked_sub(start),
        _ => None,
    }
}

/// The waits of a member before it adds to the cell that another member waits for.
fn waits_before_addition<'i>(member: &'i Member, op: &Op) -> impl Iterator<Item = &'i Op> {
    let adds = |o: &Op| o.cell == op.cell && matches!(o.kind, OpKind::Add(_));
    let end = member.ops.iter().position(adds).unwrap_or(member.ops.len());
    member.ops[..end]
        .iter()
        .filter(|o| matches!(o.kind, OpKind::Wait(..)))
}

fn reading(instance: &Instance, member: &Member, op: &Op, rank: &[Component]) -> Vec<i64> {
    let element = instance
        .cell_place(op.cell)
        .map(|(_, index)| index)
        .unwrap_or_default();
    rank.iter()
        .map(|component| {
            let value = match component.of {
                Reading::Turn => turn(instance, op).unwrap_or(0),
                Reading::Element(at) => element.get(at).copied().unwrap_or(0),
                Reading::Member(at) => member.index.get(at).copied().unwrap_or(0),
            };
            if component.descending { -value } else { value }
        })
        .collect()
}

/// When each member starts.
fn start_order(instance: &Instance) -> Vec<usize> {
    let mut starts = vec![0; instance.members.len()];
    for role in &instance.roles {
        if let Some(order) = role.launch.as_ref().and_then(|plan| plan.order.as_ref()) {
            for (when, member) in order.iter().enumerate() {
                starts[*member] = when;
            }
        }
    }
    starts
}
