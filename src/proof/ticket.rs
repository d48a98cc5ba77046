//! Guesses the artefact of the ticket rule from concrete runs.
//!
//! The rule ([`crate::certificate::ticket`]) needs an order of the CTAs in which every wait is for exactly the sum
//! that the smaller CTAs add. On a concrete instance, this can be decided by counting. So every order is tried on a
//! few hundred random instances. The orders that no instance contradicts are passed to the checker, which proves or
//! rejects them. If nothing works, a contradiction serves as the explanation.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Instant;

use itertools::Itertools;

use super::Guess;
use super::accepted;
use super::listed_splits;
use super::uncovered_in;
use super::whole_grid_fits;
use crate::certificate::argument::Argument;
use crate::certificate::grid;
use crate::certificate::grid::Residency;
use crate::certificate::program;
use crate::certificate::program::EventKind;
use crate::certificate::ticket::Key;
use crate::certificate::ticket::Potential;
use crate::certificate::ticket::Tally;
use crate::certificate::ticket::Ticket;
use crate::protocol::LaunchKey;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::input::Input;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

/// Looks for an artefact that the checker accepts. `tell` is told what is being tried.
pub fn guess(
    protocol: &Protocol,
    samples: &[(Input, Instance)],
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Guess {
    let role = match grid::the_grid(protocol) {
        Ok(role) => role,
        Err(refused) => return Guess::nothing(uncovered_in(protocol)(refused)),
    };
    let Some(launch) = &role.launch else {
        return Guess::nothing("a role that is not a grid");
    };
    let mut orders: Vec<(Residency, Vec<Key>)> = Vec::new();
    if let LaunchOrder::Sorted(keys) = &launch.order {
        let key = |key: &LaunchKey| Key {
            index: key.index,
            descending: key.descending,
        };
        orders.push((Residency::LaunchOrder, keys.iter().map(key).collect()));
    }
    if launch.resident == Resident::All || whole_grid_fits(samples) {
        let key = |index| [false, true].map(|descending| Key { index, descending });
        for keys in (0..role.indices.len()).map(key).multi_cartesian_product() {
            orders.push((Residency::WholeGrid, keys));
        }
    }
    let mut reason = "CTAs may start in any order and need not all be resident".to_owned();
    for (residency, order) in orders {
        match fits(protocol, samples, &order) {
            Err(contradiction) => reason = contradiction,
            Ok(shape) => match prove(protocol, residency, &order, &shape, deadline, tell) {
                found @ (Guess::Found(_) | Guess::Fitting(_)) => return found,
                Guess::Nothing {
                    reason: refused, ..
                } => reason = refused,
            },
        }
    }
    Guess::nothing(reason)
}

/// What the samples show about an order: the counted indices of each semaphore family, and the arguments to try for
/// each wait.
struct Shape {
    counted: BTreeMap<usize, Vec<usize>>,
    tallies: BTreeMap<usize, Vec<Tally>>,
}

fn fits(
    protocol: &Protocol,
    samples: &[(Input, Instance)],
    order: &[Key],
) -> Result<Shape, String> {
    let mut differing: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (_, instance) in samples {
        differing_indices(instance, &mut differing);
    }
    let counted = (0..protocol.objects.len()).map(|object| {
        let differ = differing.get(&object);
        let mut counted: Vec<usize> = order
            .iter()
            .map(|key| key.index)
            .filter(|index| differ.is_some_and(|differ| differ.contains(index)))
            .collect();
        // If each element has one CTA, any index will do.
        if counted.is_empty() {
            counted.extend(order.last().map(|key| key.index));
        }
        (object, counted)
    });
    let counted: BTreeMap<usize, Vec<usize>> = counted.collect();
    let mut tallies: BTreeMap<usize, Option<i64>> = BTreeMap::new();
    for (input, instance) in samples {
        survey(protocol, input, instance, order, &counted, &mut tallies)?;
    }
    // Waits that no sample has reached still need an argument.
    let program = grid::the_grid(protocol)
        .and_then(|role| program::summarize(protocol, role))
        .map_err(uncovered_in(protocol))?;
    let waits = program
        .events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Wait { .. }));
    for wait in waits {
        tallies.entry(wait.stmt.0).or_insert(Some(1));
    }
    let tallies = tallies
        .into_iter()
        .map(|(stmt, each)| {
            let mut options = Vec::new();
            options.extend(each.map(Tally::Block));
            options.extend(
                [
                    Potential::Value,
                    Potential::ValueLessOwn,
                    Potential::ValueBelow,
                ]
                .map(Tally::Telescope),
            );
            (stmt, options)
        })
        .collect();
    Ok(Shape { counted, tallies })
}

/// Per semaphore family, the indices in which two CTAs of one element differ.
fn differing_indices(instance: &Instance, differing: &mut BTreeMap<usize, BTreeSet<usize>>) {
    let mut first: BTreeMap<u32, usize> = BTreeMap::new();
    for (m, member) in instance.members.iter().enumerate() {
        for op in &member.ops {
            let earlier = *first.entry(op.cell.0).or_insert(m);
            let Some((object, _)) = instance.cell_place(op.cell) else {
                continue;
            };
            let pairs = instance.members[earlier].index.iter().zip(&member.index);
            let differ = pairs
                .enumerate()
                .filter(|(_, (a, b))| a != b)
                .map(|(index, _)| index);
            differing.entry(object.0).or_default().extend(differ);
        }
    }
}

/// Compares the value of every wait of an instance with the sum that the smaller CTAs add. For each wait, `tallies`
/// contains the amount that each of the nearest smaller CTAs adds, as long as all others add nothing.
fn survey(
    protocol: &Protocol,
    input: &Input,
    instance: &Instance,
    order: &[Key],
    counted: &BTreeMap<usize, Vec<usize>>,
    tallies: &mut BTreeMap<usize, Option<i64>>,
) -> Result<(), String> {
    let rank = |index: &[i64]| -> Vec<i64> {
        let signed = |key: &Key| {
            if key.descending {
                -index[key.index]
            } else {
                index[key.index]
            }
        };
        order.iter().map(signed).collect()
    };
    let mut members: Vec<usize> = (0..instance.members.len()).collect();
    members.sort_by_key(|m| rank(&instance.members[*m].index));
    // For each cell: the additions so far, with their members, in order.
    let mut added: Vec<Vec<(usize, i64)>> = vec![Vec::new(); instance.cells.len()];
    for m in members {
        let member = &instance.members[m];
        let mut own: BTreeMap<u32, i64> = BTreeMap::new();
        for op in &member.ops {
            match op.kind {
                OpKind::Add(amount) => {
                    let sum = own.entry(op.cell.0).or_default();
                    *sum = sum.saturating_add(amount);
                }
                OpKind::Wait(_, value) => {
                    let list = &added[op.cell.0 as usize];
                    let before = list
                        .iter()
                        .fold(0_i64, |sum, (_, a)| sum.saturating_add(*a));
                    let CellStart::Semaphore(start) = instance.cells[op.cell.0 as usize] else {
                        continue;
                    };
                    let mine = own.get(&op.cell.0).copied().unwrap_or(0);
                    let wanted = value.saturating_sub(start).saturating_sub(mine);
                    if wanted != before {
                        return Err(mismatch(
                            protocol,
                            input,
                            instance,
                            m,
                            op,
                            before.saturating_add(start).saturating_add(mine),
                        ));
                    }
                    let fibre = |other: usize| {
                        let object = instance.cell_place(op.cell).map(|(object, _)| object.0);
                        let free = object.and_then(|object| counted.get(&object));
                        let pairs = instance.members[other].index.iter().zip(&member.index);
                        let free = |at: usize| free.is_some_and(|free| free.contains(&at));
                        pairs.enumerate().all(|(at, (a, b))| a == b || free(at))
                    };
                    let smaller: Vec<i64> = list
                        .iter()
                        .filter(|(k, _)| fibre(*k))
                        .map(|(_, a)| *a)
                        .collect();
                    block(&smaller, tallies.entry(op.stmt.0).or_insert(Some(1)));
                }
                _ => {}
            }
        }
        for (cell, list) in added.iter_mut().enumerate() {
            list.push((m, own.get(&(cell as u32)).copied().unwrap_or(0)));
        }
    }
    Ok(())
}

/// Updates the block hypothesis with one observation: the additions of the smaller CTAs of the
/// fibre, in order.
fn block(added: &[i64], each: &mut Option<i64>) {
    if let (Some(first), Some(known)) = (added.iter().position(|a| *a != 0), *each) {
        let amount = added[first];
        let nearest = added[first..].iter().all(|a| *a == amount);
        let agrees = known == amount || known == 1;
        *each = (nearest && agrees).then_some(amount);
    }
}

fn mismatch(
    protocol: &Protocol,
    input: &Input,
    instance: &Instance,
    member: usize,
    op: &Op,
    reached: i64,
) -> String {
    let values: Vec<String> = protocol
        .params
        .iter()
        .zip(&input.params)
        .map(|(param, value)| format!("{} = {value}", param.name))
        .collect();
    let wanted = match op.kind {
        OpKind::Wait(_, value) => value,
        _ => 0,
    };
    format!(
        "no order of turns fits: at {} {} waits for {} = {wanted}, but the CTAs before it bring it to {reached}",
        values.join(", "),
        instance.member_name(member),
        instance.cell_name(op.cell),
    )
}

/// Lets the checker try the arguments that the samples admit. The whole domain is tried at once first.
fn prove(
    protocol: &Protocol,
    residency: Residency,
    order: &[Key],
    shape: &Shape,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Guess {
    let mut reason = String::new();
    for split in listed_splits(protocol) {
        let choices = shape
            .tallies
            .iter()
            .map(|(stmt, options)| options.iter().map(move |tally| (*stmt, *tally)))
            .multi_cartesian_product();
        for tallies in choices {
            let ticket = Ticket {
                order: order.to_vec(),
                residency,
                counted: shape.counted.clone(),
                tallies: tallies.into_iter().collect(),
                split,
            };
            let argument = Argument::Ticket(ticket);
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
