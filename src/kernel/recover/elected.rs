//! Whether it matters which lane `elect.sync` elects. PTX says only that it is a lane of the mask. The recovery
//! supposes that it is the lowest one.
//!
//! That matters only where something depends on the election and on the number of a lane, as in
//! `if (elected && lane == 0)`. Then the verdict states the assumption. To find such places, values that depend on the
//! outcome, and values that depend on the number of the lane, are followed through registers and branches. The number
//! of a warp, such as `tid >> 5`, does not depend on the lane.
//!
//! Source: PTX ISA, "elect.sync".

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::ShuffleMode;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::VoteMode;
use crate::recover::graph::Graph;
use crate::recover::operands::read;
use crate::recover::slice::Slice;
use crate::recover::slice::definitions;
use crate::recover::slice::is_event;

/// The assumption, which is printed where it matters.
const LOWEST: &str = "`elect.sync` elects the lowest lane of its mask";

/// Lanes of a warp.
const LANES: u128 = 32;

/// What depends on some source: registers, and blocks that only some lanes execute.
#[derive(Default, PartialEq, Clone)]
struct Tainted {
    registers: BTreeSet<RegisterId>,
    blocks: BTreeSet<BlockId>,
}

impl Tainted {
    /// Whether an access, or an operation that matters, depends on the source.
    fn reaches(&self, kernel: &Kernel, slice: &Slice) -> bool {
        let blocks = kernel.blocks.iter().enumerate();
        let mut operations = blocks.flat_map(|(number, block)| {
            let operations = block.operations.iter().enumerate();
            operations.map(move |(index, operation)| (number, index, operation))
        });
        operations.any(|(number, index, operation)| {
            let touched = slice.touched(number, index, operation);
            let is_access = slice.accesses.get(number).and_then(|of| of.get(index)) == Some(&true);
            let matters = slice.operations[number][index] && is_event(operation);
            let at = BlockId(u32::try_from(number).unwrap_or(u32::MAX));
            let mut reads = touched;
            if matters {
                reads.extend(read(operation));
            }
            (matters || is_access) && self.blocks.contains(&at)
                || reads.iter().any(|one| self.registers.contains(one))
        })
    }
}

/// The assumption, if some event depends on which lane is elected.
///
/// `linear`: whether 32 threads in the order of their x index are a warp, so that `tid.x >> 5` is its number.
pub fn assumption(
    kernel: &Kernel,
    graph: &Graph,
    slice: &Slice,
    linear: bool,
) -> Option<&'static str> {
    let of = |operation: &Operation| match &operation.kind {
        OperationKind::Synchronization(Synchronization::Elect { .. }) => operation.kind.results(),
        _ => Vec::new(),
    };
    let elected = tainted(kernel, graph, slice, &of, &|_| false);
    if elected.registers.is_empty() {
        return None;
    }
    let of = |operation: &Operation| match &operation.kind {
        OperationKind::Special {
            result,
            special:
                Special::Lane
                | Special::ThreadIndex(_)
                | Special::LaneMaskEqual
                | Special::LaneMaskLess
                | Special::LaneMaskLessEqual
                | Special::LaneMaskGreater
                | Special::LaneMaskGreaterEqual,
        } => vec![*result],
        // The number of the lane that is elected.
        OperationKind::Synchronization(Synchronization::Elect { leader, .. }) => {
            leader.iter().copied().collect()
        }
        _ => Vec::new(),
    };
    let numbers = numbers(kernel);
    let ends = |operation: &Operation| linear && is_of_warps(operation, &numbers);
    let lanes = tainted(kernel, graph, slice, &of, &ends);
    // With accesses it also matters whether one lane executes two operations, of which one is for
    // the elected lane and one for a lane with some number.
    if !slice.accesses.is_empty()
        && [&elected, &lanes]
            .into_iter()
            .all(|of| of.reaches(kernel, slice))
    {
        return Some(LOWEST);
    }
    let meets = kernel.blocks.iter().enumerate().any(|(number, block)| {
        let at = BlockId(u32::try_from(number).unwrap_or(u32::MAX));
        let (by_elected, by_lane) = (elected.blocks.contains(&at), lanes.blocks.contains(&at));
        let operations = block.operations.iter().zip(&slice.operations[number]);
        let mut operations = operations.filter(|(_, matters)| **matters);
        let meets = |registers: &[RegisterId]| {
            let any = |of: &Tainted| registers.iter().any(|one| of.registers.contains(one));
            (by_elected || any(&elected)) && (by_lane || any(&lanes))
        };
        let told = |operation: &Operation| {
            let reads = read(operation);
            let of_elected = reads.iter().any(|one| elected.registers.contains(one));
            of_elected && tells_lanes(operation)
        };
        operations.any(|(operation, _)| told(operation) || meets(&read(operation)))
            || slice.branches[number] && meets(block.end.decides().as_slice())
    });
    meets.then_some(LOWEST)
}

/// Everything that depends on the results of `sources`. An operation for which `ends` holds does
/// not pass the dependence on.
fn tainted(
    kernel: &Kernel,
    graph: &Graph,
    slice: &Slice,
    sources: &dyn Fn(&Operation) -> Vec<RegisterId>,
    ends: &dyn Fn(&Operation) -> bool,
) -> Tainted {
    let mut all = Tainted::default();
    loop {
        let before = all.clone();
        for (number, block) in kernel.blocks.iter().enumerate() {
            let at = BlockId(u32::try_from(number).unwrap_or(u32::MAX));
            let branches = |by: &BlockId| {
                let end = &kernel.blocks[by.0 as usize].end;
                end.decides()
                    .is_some_and(|one| all.registers.contains(&one))
                    || all.blocks.contains(by)
            };
            if graph.deciders(at).iter().any(branches) {
                all.blocks.insert(at);
            }
            let here = all.blocks.contains(&at);
            let operations = block.operations.iter().zip(&slice.operations[number]);
            for (operation, _) in operations.filter(|(_, matters)| **matters) {
                all.registers.extend(sources(operation));
                let reads = read(operation);
                let depends = here || reads.iter().any(|one| all.registers.contains(one));
                if depends && !ends(operation) {
                    all.registers.extend(operation.kind.results());
                }
            }
        }
        if all == before {
            return all;
        }
    }
}

/// The registers that hold the number of the lane plus 32 times a number that is equal in all lanes
/// of a warp. These are the number of the thread, and what differs from it by whole warps.
pub fn numbers(kernel: &Kernel) -> BTreeSet<RegisterId> {
    let definitions = definitions(kernel);
    let mut numbers: BTreeSet<RegisterId> = BTreeSet::new();
    loop {
        let is_number = |operand: &Operand| match operand {
            Operand::Register(register) => numbers.contains(register),
            Operand::Constant(_) => false,
        };
        let defines =
            |(at, index): &(usize, usize)| match &kernel.blocks[*at].operations[*index].kind {
                OperationKind::Special {
                    special: Special::ThreadIndex(0),
                    ..
                } => true,
                OperationKind::Compute {
                    compute, operands, ..
                } => match (compute, operands.as_slice()) {
                    (Compute::Copy | Compute::Convert { .. }, [a]) => is_number(a),
                    (Compute::Add | Compute::Subtract, [a, Operand::Constant(by)]) => {
                        is_number(a) && by % LANES == 0
                    }
                    (Compute::And, [a, Operand::Constant(mask)]) => {
                        is_number(a) && mask % LANES == LANES - 1
                    }
                    _ => false,
                },
                _ => false,
            };
        let known = numbers.len();
        let more = (0..).map(RegisterId).zip(&definitions);
        let more = more.filter(|(_, places)| !places.is_empty() && places.iter().all(defines));
        let more: Vec<RegisterId> = more.map(|(register, _)| register).collect();
        numbers.extend(more);
        if numbers.len() == known {
            return numbers;
        }
    }
}

/// Whether an operation gives the same result to all lanes of a warp. For example, `tid >> 5` drops
/// the number of the lane.
fn is_of_warps(operation: &Operation, numbers: &BTreeSet<RegisterId>) -> bool {
    if operation.guard.is_some() {
        return false;
    }
    match &operation.kind {
        OperationKind::Compute {
            compute, operands, ..
        } => match (compute, operands.as_slice()) {
            (_, [Operand::Register(of), _]) if !numbers.contains(of) => false,
            (Compute::ShiftRight { .. }, [_, Operand::Constant(by)]) => *by >= 5,
            (Compute::Divide { .. }, [_, Operand::Constant(by)]) => *by > 0 && by % LANES == 0,
            (Compute::And, [_, Operand::Constant(mask)]) => mask % LANES == 0,
            (Compute::Compare(compare), [_, Operand::Constant(to)]) => match compare {
                Compare::Less { .. } | Compare::GreaterEqual { .. } => to % LANES == 0,
                Compare::LessEqual { .. } | Compare::Greater { .. } => to % LANES == LANES - 1,
                Compare::Equal | Compare::NotEqual => false,
            },
            _ => false,
        },
        OperationKind::Synchronization(synchronization) => matches!(
            synchronization,
            Synchronization::Vote { .. }
                | Synchronization::Reduce { .. }
                | Synchronization::Shuffle {
                    mode: ShuffleMode::Index,
                    lane: Operand::Constant(_),
                    ..
                }
        ),
        _ => false,
    }
}

/// Whether the result of an operation depends on which lanes have which numbers.
fn tells_lanes(operation: &Operation) -> bool {
    matches!(
        &operation.kind,
        OperationKind::Synchronization(
            Synchronization::Shuffle { .. }
                | Synchronization::Reduce { .. }
                | Synchronization::Match { .. }
                | Synchronization::Vote {
                    mode: VoteMode::Ballot,
                    ..
                }
        )
    )
}
