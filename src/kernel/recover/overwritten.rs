//! Stores of data over an mbarrier: undefined, so nothing can be said of a kernel that has one.
//!
//! ```text
//! st.shared [bar], 0          a fixed place: it lies among the bytes of an mbarrier
//! st.shared [bar + 4 * i], 0  a computed place of a variable that holds mbarriers and nothing else
//! ```
//!
//! Copies and other instructions that write count as stores. That writes at other computed places do not reach an mbarrier
//! is an assumption. The place of an mbarrier that the kernel ends by `mbarrier.inval` may be used for data then: between its end
//! and its next initialisation. So a write is left out behind which the thread comes to no mbarrier of that variable without an
//! initialisation in between.
//!
//! Source: PTX ISA, "mbarrier": only mbarrier operations are defined on an mbarrier object.

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::recover::addresses::Addresses;
use crate::recover::graph::Graph;
use crate::recover::slice::bases;
use crate::recover::slice::definitions;
use crate::recover::tree::Obstacle;

/// The bytes of an mbarrier.
const SIZE: u64 = 8;

const OVERWRITES: &str = "this writes data over an mbarrier, which is undefined";

const ELSEWHERE: &str =
    "stores and copies to computed places in shared memory do not reach an mbarrier";

/// What a write may do to mbarriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It writes over one.
    Hits,
    /// It may do so: where it writes is computed.
    Perhaps,
    Misses,
}

/// Refuses stores over mbarriers. Gives what is taken for granted of writes to computed places, if there are such.
pub fn refuse_stores(kernel: &Kernel) -> Result<Option<&'static str>, Obstacle> {
    let mut assumption = None;
    for (location, reach) in writes(kernel) {
        match reach {
            Reach::Hits => {
                return Err(Obstacle {
                    reason: OVERWRITES.to_owned(),
                    location: location.clone(),
                });
            }
            Reach::Perhaps => assumption = Some(ELSEWHERE),
            Reach::Misses => {}
        }
    }
    Ok(assumption)
}

/// Every write to what may be shared memory, and what it may do to mbarriers.
fn writes(kernel: &Kernel) -> Vec<(&Location, Reach)> {
    let addresses = Addresses::new(kernel);
    let definitions = definitions(kernel);
    let operations = || kernel.blocks.iter().flat_map(|block| &block.operations);
    let mut mbarriers: BTreeSet<(VariableId, u64)> = BTreeSet::new();
    // Those with mbarriers at places that are not all known.
    let mut holding: BTreeSet<Option<VariableId>> = BTreeSet::new();
    let mut ended = BTreeSet::new();
    let graph = Graph::new(kernel);
    for operation in operations() {
        let OperationKind::Synchronization(synchronization) = &operation.kind else {
            continue;
        };
        match synchronization {
            Synchronization::MbarrierInit { address, .. } => {
                mbarriers.extend(addresses.place(*address));
                holding.insert(addresses.base(*address));
            }
            Synchronization::MbarrierInvalidate { address } => {
                ended.insert(addresses.base(*address));
            }
            _ => {}
        }
    }
    let ends = |variable| ended.contains(&Some(variable)) || ended.contains(&None);
    let full = |variable: VariableId| {
        let size = kernel.variables.get(variable.0 as usize)?.size?;
        let all = mbarriers.iter().filter(|(of, _)| *of == variable);
        let held = u64::try_from(all.count()).ok()?.checked_mul(SIZE)?;
        Some(held >= size)
    };
    let mut found = Vec::new();
    let blocks = kernel.blocks.iter().zip(0..);
    let operations = blocks.flat_map(|(block, at)| {
        let operations = block.operations.iter().enumerate();
        operations.map(move |(index, operation)| (operation, (BlockId(at), index)))
    });
    for (operation, at) in operations {
        let Some(write) = operation
            .kind
            .write()
            .filter(|write| write.space.may_be_shared())
        else {
            continue;
        };
        let lives =
            |variable| !ends(variable) || is_used_behind(kernel, &graph, &addresses, at, variable);
        let overlaps = |(variable, offset): (VariableId, u64)| {
            mbarriers.iter().any(|(of, place)| {
                *of == variable
                    && *place < offset.saturating_add(write.bytes)
                    && offset < place.saturating_add(SIZE)
            }) && lives(variable)
        };
        let places = addresses.places(write.address);
        let reach = if places.iter().copied().flatten().any(overlaps) {
            Reach::Hits
        } else if places.iter().all(Option::is_some) && !write.further {
            Reach::Misses
        } else {
            match addresses.base(write.address) {
                Some(variable) if !lives(variable) => Reach::Misses,
                Some(variable) if full(variable).unwrap_or(false) => match ends(variable) {
                    true => Reach::Perhaps,
                    false => Reach::Hits,
                },
                Some(variable) if holding.contains(&Some(variable)) => Reach::Perhaps,
                // A pointer that the kernel is given is not one to shared memory. Others come from the address of a variable.
                None if write.space == Space::Generic => {
                    let mut bases = bases(kernel, &definitions, write.address).into_iter();
                    let may = |base| holding.contains(&Some(base)) || holding.contains(&None);
                    match bases.any(|base| {
                        kernel.variables[base.0 as usize].space.may_be_shared() && may(base)
                    }) {
                        true => Reach::Perhaps,
                        false => Reach::Misses,
                    }
                }
                None if !holding.is_empty() => Reach::Perhaps,
                _ if holding.contains(&None) => Reach::Perhaps,
                _ => Reach::Misses,
            }
        };
        found.push((&operation.location, reach));
    }
    found
}

/// Whether a thread may come from behind a place to an mbarrier of a variable, or of one that is not known, that it has not
/// initialised in between.
fn is_used_behind(
    kernel: &Kernel,
    graph: &Graph,
    addresses: &Addresses<'_>,
    (block, index): (BlockId, usize),
    variable: VariableId,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![(block, index + 1)];
    while let Some((block, from)) = work.pop() {
        let operations = kernel.blocks[block.0 as usize].operations.iter().skip(from);
        let mut initialised = false;
        for operation in operations {
            let OperationKind::Synchronization(synchronization) = &operation.kind else {
                continue;
            };
            let Some(address) = synchronization.mbarrier() else {
                continue;
            };
            if let Synchronization::MbarrierInit { .. } = synchronization {
                // One thread does so for all.
                initialised = addresses.base(address) == Some(variable);
                if initialised {
                    break;
                }
                continue;
            }
            if addresses.base(address).is_none_or(|base| base == variable) {
                return true;
            }
        }
        if !initialised {
            let next = graph.successors(block).iter().copied();
            work.extend(next.filter(|next| seen.insert(*next)).map(|next| (next, 0)));
        }
    }
    false
}
