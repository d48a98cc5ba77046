//! Whether it matters that the lanes of a warp reconverge behind a wait.
//!
//! For example, all lanes execute `while (!test(bar));` and then `arrive(other)`. Each lane may
//! leave the loop in another iteration. A lane that goes on at once arrives. Then the phase for
//! which another lane still waits may be overtaken. A role has one wait for all lanes. So it is
//! assumed, and printed, that lanes reconverge behind the loop.
//!
//! The assumption is not needed if a single lane waits. Nor is it needed if the lanes come to
//! `bar.warp.sync` or a barrier next, where they reconverge.

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Guard;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::recover::elected::numbers;
use crate::recover::graph::Graph;
use crate::recover::slice::definitions;
use crate::recover::slice::is_event;
use crate::recover::slice::mask_of;

/// The mask of all lanes.
const ALL: u128 = 0xffff_ffff;

/// The assumption, which is printed where it matters.
pub const MEET: &str = "lanes of a warp that diverge reconverge where their paths meet";

/// The assumption, if a kernel needs it.
///
/// `linear`: whether 32 threads in the order of their x index are a warp.
pub fn assumption(kernel: &Kernel, graph: &Graph, linear: bool) -> Option<&'static str> {
    let single = Single::new(kernel, graph, linear);
    let needs = (0..).map(BlockId).zip(&kernel.blocks).any(|(at, block)| {
        let numbered = block.operations.iter().enumerate();
        let mut waits = numbered.filter(|(_, one)| is_wait(one));
        waits.any(|(index, one)| {
            !single.does(at, one) && goes_on_apart(kernel, graph, at, index + 1)
        })
    });
    needs.then_some(MEET)
}

fn is_wait(operation: &Operation) -> bool {
    matches!(
        operation.kind,
        OperationKind::Synchronization(
            Synchronization::MbarrierTest { .. } | Synchronization::MbarrierWait { .. }
        )
    )
}

/// Whether something that others notice may be executed from here on before the lanes reconverge.
fn goes_on_apart(kernel: &Kernel, graph: &Graph, from: BlockId, index: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![(from, index)];
    while let Some((at, index)) = work.pop() {
        let behind = kernel.blocks[at.0 as usize].operations.iter().skip(index);
        let mut notable = behind.filter(|one| meets(one) || is_event(one) && !is_wait(one));
        match notable.next() {
            Some(one) if meets(one) => {}
            Some(_) => return true,
            None => {
                let next = graph.successors(at).iter().copied();
                work.extend(next.filter(|to| seen.insert(*to)).map(|to| (to, 0)));
            }
        }
    }
    false
}

/// Whether all lanes of a warp wait for each other at an operation.
fn meets(operation: &Operation) -> bool {
    let OperationKind::Synchronization(synchronization) = &operation.kind else {
        return false;
    };
    let all = match synchronization {
        Synchronization::BarrierSync { aligned, .. } => *aligned,
        other => other.is_for_all_lanes() || names_all(mask_of(other)),
    };
    operation.guard.is_none() && all
}

fn names_all(mask: Option<Operand>) -> bool {
    matches!(mask, Some(Operand::Constant(mask)) if mask & ALL == ALL)
}

/// What at most one lane of a warp executes.
struct Single {
    /// Predicates that hold in at most one lane. `fails` has those that fail in at most one lane.
    holds: BTreeSet<RegisterId>,
    fails: BTreeSet<RegisterId>,
    blocks: BTreeSet<BlockId>,
}

impl Single {
    /// `linear`: whether 32 threads in the order of their x index are a warp.
    fn new(kernel: &Kernel, graph: &Graph, linear: bool) -> Self {
        let mut single = Self {
            holds: BTreeSet::new(),
            fails: BTreeSet::new(),
            blocks: BTreeSet::new(),
        };
        let mut numbers = match linear {
            true => numbers(kernel),
            false => BTreeSet::new(),
        };
        let definitions = definitions(kernel);
        let all = || {
            definitions
                .iter()
                .enumerate()
                .filter_map(|(register, places)| {
                    let [(at, index)] = places.as_slice() else {
                        return None;
                    };
                    let register = RegisterId(u32::try_from(register).ok()?);
                    Some((register, &kernel.blocks[*at].operations[*index]))
                })
        };
        numbers.extend(all().filter_map(|(register, one)| match one.kind {
            OperationKind::Special {
                special: Special::Lane,
                ..
            } => Some(register),
            _ => None,
        }));
        loop {
            let known = (single.holds.len(), single.fails.len());
            for (register, one) in all().filter(|(_, one)| one.guard.is_none()) {
                match single.told(one, register, &numbers) {
                    Some(true) => single.holds.insert(register),
                    Some(false) => single.fails.insert(register),
                    None => false,
                };
            }
            if known == (single.holds.len(), single.fails.len()) {
                break;
            }
        }
        for (at, block) in (0..).map(BlockId).zip(&kernel.blocks) {
            let Terminator::Branch {
                condition: Operand::Register(condition),
                then,
                otherwise,
            } = block.end
            else {
                continue;
            };
            let (one, others) = if single.holds.contains(&condition) {
                (then, otherwise)
            } else if single.fails.contains(&condition) {
                (otherwise, then)
            } else {
                continue;
            };
            let join = graph.join(at);
            let others = side(graph, others, join);
            let own = side(graph, one, join).into_iter();
            single
                .blocks
                .extend(own.filter(|block| !others.contains(block)));
        }
        single
    }

    /// `true` if the result holds in at most one lane, and `false` if it fails in at most one.
    fn told(
        &self,
        operation: &Operation,
        result: RegisterId,
        numbers: &BTreeSet<RegisterId>,
    ) -> Option<bool> {
        let of = |set: &BTreeSet<RegisterId>, operand: &Operand| match operand {
            Operand::Register(register) => set.contains(register),
            Operand::Constant(_) => false,
        };
        match &operation.kind {
            OperationKind::Synchronization(Synchronization::Elect { elected, .. }) => {
                (*elected == Some(result)).then_some(true)
            }
            OperationKind::Compute {
                compute, operands, ..
            } => match (compute, operands.as_slice()) {
                (Compute::Compare(compare), [a, Operand::Constant(_)]) if of(numbers, a) => {
                    match compare {
                        Compare::Equal => Some(true),
                        Compare::NotEqual => Some(false),
                        _ => None,
                    }
                }
                (Compute::And, [a, b]) if of(&self.holds, a) || of(&self.holds, b) => Some(true),
                (Compute::Or, [a, b]) if of(&self.fails, a) || of(&self.fails, b) => Some(false),
                (Compute::Copy, [a]) if of(&self.holds, a) => Some(true),
                (Compute::Copy, [a]) if of(&self.fails, a) => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether at most one lane of a warp executes an operation.
    fn does(&self, at: BlockId, operation: &Operation) -> bool {
        let guarded = |guard: &Guard| match guard.negated {
            false => self.holds.contains(&guard.predicate),
            true => self.fails.contains(&guard.predicate),
        };
        self.blocks.contains(&at) || operation.guard.as_ref().is_some_and(guarded)
    }
}

/// The blocks of a side of a branch.
fn side(graph: &Graph, first: BlockId, join: Option<BlockId>) -> BTreeSet<BlockId> {
    if Some(first) == join {
        return BTreeSet::new();
    }
    graph
        .between(first, join)
        .into_iter()
        .chain([first])
        .collect()
}
