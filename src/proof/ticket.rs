//! Guessing the artefact of the ticket rule from concrete runs.
//!
//! The rule ([`crate::certificate::ticket`]) needs an order on the CTAs in which every wait asks
//! for exactly what the smaller CTAs add. On a concrete instance that is a matter of counting, so
//! every order is tried on a few hundred random instances; the ones no instance contradicts are
//! handed to the checker, which proves or refuses them. A contradiction is kept as the
//! explanation when nothing works.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;
use std::time::Instant;

use itertools::Itertools;

use super::sample;
use crate::certificate::discharge;
use crate::certificate::discharge::Answer;
use crate::certificate::discharge::Solver;
use crate::certificate::grid;
use crate::certificate::grid::Residency;
use crate::certificate::ticket;
use crate::certificate::ticket::Key;
use crate::certificate::ticket::Tally;
use crate::certificate::ticket::Ticket;
use crate::protocol::Domain;
use crate::protocol::LaunchKey;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::input::Input;
use crate::semantics::instance::CellStart;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;

/// How many random instances a guess has to survive.
const SAMPLES: usize = 250;

/// What came of looking for an artefact.
#[derive(Debug, Clone, PartialEq)]
pub enum Guess {
    /// The checker proves this one.
    Found(Ticket),
    /// None was found; why, as a lowercase sentence fragment.
    Nothing(String),
}

/// Looks for an artefact that the checker accepts. `tell` is told what is being tried.
pub fn guess(protocol: &Protocol, limit: Duration, tell: &dyn Fn(&str)) -> Guess {
    let deadline = Instant::now() + limit;
    let role = match grid::the_grid(protocol) {
        Ok(role) => role,
        Err(refused) => return Guess::Nothing(refused.to_string()),
    };
    let Some(launch) = &role.launch else {
        return Guess::Nothing("a role that is not a grid".to_owned());
    };
    tell("sampling instances");
    let samples = sample::instances(protocol, SAMPLES, 0);
    let mut orders: Vec<(Residency, Vec<Key>)> = Vec::new();
    if let LaunchOrder::Sorted(keys) = &launch.order {
        let key = |key: &LaunchKey| Key {
            index: key.index,
            descending: key.descending,
        };
        orders.push((Residency::LaunchOrder, keys.iter().map(key).collect()));
    }
    if launch.resident == Resident::All || whole_grid_fits(&samples) {
        let key = |index| [false, true].map(|descending| Key { index, descending });
        for keys in (0..role.indices.len()).map(key).multi_cartesian_product() {
            orders.push((Residency::WholeGrid, keys));
        }
    }
    let mut reason = "CTAs may start in any order and need not all be resident".to_owned();
    for (residency, order) in orders {
        match fits(protocol, &samples, &order) {
            Err(contradiction) => reason = contradiction,
            Ok(shape) => match prove(protocol, residency, &order, &shape, deadline, tell) {
                Guess::Found(ticket) => return Guess::Found(ticket),
                Guess::Nothing(refused) => reason = refused,
            },
        }
    }
    Guess::Nothing(reason)
}

fn whole_grid_fits(samples: &[(Input, Instance)]) -> bool {
    samples.iter().all(|(_, instance)| {
        instance.roles.iter().all(|role| {
            let resident = role.launch.as_ref().and_then(|plan| plan.resident);
            resident.is_none_or(|places| places >= role.members.len())
        })
    })
}

/// What the samples say about an order: the counted indices of each semaphore family, and for
/// each wait the arguments worth trying.
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
        // With one CTA per element any index will do.
        if counted.is_empty() {
            counted.extend(order.last().map(|key| key.index));
        }
        (object, counted)
    });
    let counted = counted.collect();
    let mut tallies: BTreeMap<usize, Option<i64>> = BTreeMap::new();
    for (input, instance) in samples {
        survey(protocol, input, instance, order, &mut tallies)?;
    }
    // Waits that no sample reached still need an argument.
    let program = grid::the_grid(protocol)
        .and_then(|role| crate::certificate::program::summarize(protocol, role))
        .map_err(|refused| refused.to_string())?;
    for event in &program.events {
        tallies.entry(event.stmt.0).or_insert(Some(1));
    }
    let tallies = tallies
        .into_iter()
        .map(|(stmt, each)| {
            let mut options = Vec::new();
            options.extend(each.map(Tally::Block));
            options.push(Tally::Telescope);
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

/// Compares every wait of an instance with what the smaller CTAs add. `tallies` keeps, per wait,
/// the amount that each of the nearest smaller CTAs adds as long as the rest add nothing.
fn survey(
    protocol: &Protocol,
    input: &Input,
    instance: &Instance,
    order: &[Key],
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
    // Per cell: what each CTA so far added, in order.
    let mut added: Vec<Vec<i64>> = vec![Vec::new(); instance.cells.len()];
    for m in members {
        let member = &instance.members[m];
        let mut own: BTreeMap<u32, i64> = BTreeMap::new();
        for op in &member.ops {
            match op.kind {
                OpKind::Add(amount) => *own.entry(op.cell.0).or_default() += amount,
                OpKind::Wait(_, value) => {
                    let before: i64 = added[op.cell.0 as usize].iter().sum();
                    let CellStart::Semaphore(start) = instance.cells[op.cell.0 as usize] else {
                        continue;
                    };
                    let mine = own.get(&op.cell.0).copied().unwrap_or(0);
                    let wanted = value - start - mine;
                    if wanted != before {
                        return Err(mismatch(
                            protocol,
                            input,
                            instance,
                            m,
                            op,
                            before + start + mine,
                        ));
                    }
                    block(
                        &added[op.cell.0 as usize],
                        wanted,
                        tallies.entry(op.stmt.0).or_insert(Some(1)),
                    );
                }
                _ => {}
            }
        }
        for (cell, list) in added.iter_mut().enumerate() {
            list.push(own.get(&(cell as u32)).copied().unwrap_or(0));
        }
    }
    Ok(())
}

/// Updates the block hypothesis with one observation: the additions of the CTAs in order, those
/// of other fibres being 0 as well.
fn block(added: &[i64], wanted: i64, each: &mut Option<i64>) {
    if let (Some(&amount), Some(known)) = (added.iter().find(|a| **a != 0), *each) {
        let uniform = added.iter().all(|a| *a == 0 || *a == amount);
        let agrees = known == amount || known == 1;
        *each = (uniform && agrees && wanted % amount == 0).then_some(amount);
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
        "at {} {} waits for {} = {wanted}, but the CTAs before it bring it to {reached}",
        values.join(", "),
        instance.member_name(member),
        instance.cell_name(op.cell),
    )
}

/// Has the checker try the arguments that the samples leave, the whole domain at once first.
fn prove(
    protocol: &Protocol,
    residency: Residency,
    order: &[Key],
    shape: &Shape,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Guess {
    let listed = protocol
        .params
        .iter()
        .any(|param| matches!(param.domain, Domain::Set(_)));
    let mut reason = String::new();
    let splits: &[bool] = if listed { &[false, true] } else { &[false] };
    for split in splits {
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
                split: *split,
            };
            match accepted(protocol, &ticket, deadline, tell) {
                Ok(()) => return Guess::Found(ticket),
                Err(refused) => reason = refused,
            }
            if Instant::now() >= deadline {
                return Guess::Nothing(format!("time limit; last, {reason}"));
            }
        }
    }
    Guess::Nothing(reason)
}

fn accepted(
    protocol: &Protocol,
    ticket: &Ticket,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let obligations =
        ticket::obligations(protocol, ticket).map_err(|refused| refused.to_string())?;
    // One hard obligation must not use up the time of the other candidates.
    let each = if ticket.split {
        Duration::from_secs(10)
    } else {
        Duration::from_secs(4)
    };
    for obligation in &obligations {
        tell(&obligation.meaning);
        let left = deadline.saturating_duration_since(Instant::now()).min(each);
        match discharge::discharge(obligation, &Solver::BuiltIn, left) {
            Answer::Discharged => {}
            Answer::Fails => {
                return Err(format!(
                    "it does not hold that {}",
                    uncapitalized(&obligation.meaning)
                ));
            }
            Answer::Unknown(why) => {
                return Err(format!(
                    "the solver could not decide ({why}) that {}",
                    uncapitalized(&obligation.meaning)
                ));
            }
        }
    }
    Ok(())
}

fn uncapitalized(meaning: &str) -> &str {
    meaning.trim_end_matches('.')
}
