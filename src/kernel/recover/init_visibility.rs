//! Whether other threads see that mbarriers have been initialised.
//!
//! The rest of the recovery supposes that a thread behind a full barrier sees all initialisations before that
//! barrier. That is so if the barrier orders memory. A relaxed arrival at the cluster's barrier does not order it,
//! unless a fence stands between the initialisations and the arrival: CUTLASS puts `fence.mbarrier_init` there. A
//! relaxed arrival or wait at an mbarrier does not order memory either. Kernels in which others may fail to see an
//! initialisation are refused here.
//!
//! Source: PTX ISA, "barrier.cluster", "mbarrier.arrive", "mbarrier.test_wait, mbarrier.try_wait", "fence".

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Guard;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Synchronization;
use crate::recover::graph::Graph;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const AT_THE_CLUSTER: &str = "this relaxed arrival does not show other CTAs that an mbarrier has been initialised: put \
                              `fence.mbarrier_init` between the two";
const AT_AN_MBARRIER: &str = "this mbarrier may be initialised after a barrier, and relaxed arrivals or waits do not show others \
                              that it is: initialise it before the barrier";

/// Which operations of a kernel are relaxed, so that they do not order memory.
#[derive(Debug, Clone, Copy, Default)]
struct Relaxed {
    at_the_cluster: bool,
    at_mbarriers: bool,
}

/// What a thread may have done when it comes to a place, on any path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Way {
    reached: bool,
    /// The guards of initialisations that no fence follows; `None` for one without a guard.
    open: BTreeSet<Option<(RegisterId, bool)>>,
    met: bool,
}

/// Refuses initialisations that others may fail to see although they have met at a barrier.
pub fn refuse_invisible_inits(kernel: &Kernel) -> Result<(), Obstacle> {
    let relaxed = relaxed(kernel);
    if !relaxed.at_the_cluster && !relaxed.at_mbarriers {
        return Ok(());
    }
    let graph = &Graph::new(kernel);
    let once = assigned_once(kernel, graph);
    let mut begins = vec![Way::default(); kernel.blocks.len()];
    let Some(first) = begins.first_mut() else {
        return Ok(());
    };
    first.reached = true;
    let mut work = vec![BlockId(0)];
    while let Some(block) = work.pop() {
        let mut way = begins[block.0 as usize].clone();
        passes(kernel, block, &once, relaxed, &mut way)?;
        for next in graph.successors(block) {
            let begin = &mut begins[next.0 as usize];
            let before = begin.clone();
            begin.reached = true;
            begin.met |= way.met;
            begin.open.extend(&way.open);
            if *begin != before {
                work.push(*next);
            }
        }
    }
    Ok(())
}

fn passes(
    kernel: &Kernel,
    block: BlockId,
    once: &BTreeSet<RegisterId>,
    relaxed: Relaxed,
    way: &mut Way,
) -> Result<(), Obstacle> {
    for operation in &kernel.blocks[block.0 as usize].operations {
        let OperationKind::Synchronization(synchronization) = &operation.kind else {
            continue;
        };
        let guard = operation.guard.map(key);
        match synchronization {
            Synchronization::MbarrierInit { .. } => {
                if way.met && relaxed.at_mbarriers {
                    return refuse(AT_AN_MBARRIER, &operation.location);
                }
                way.open.insert(guard);
            }
            Synchronization::FenceMbarrierInit => fence(guard, once, way),
            Synchronization::Fence {
                order,
                scope,
                proxy: false,
            } if releases(*order) && *scope != Scope::Cta => fence(guard, once, way),
            Synchronization::ClusterArrive {
                order: MemoryOrder::Relaxed,
                ..
            } if !way.open.is_empty() => {
                return refuse(AT_THE_CLUSTER, &operation.location);
            }
            // A thread that waits there may go on once this one has arrived.
            Synchronization::BarrierSync { .. }
            | Synchronization::BarrierArrive { .. }
            | Synchronization::ClusterArrive { .. }
            | Synchronization::ClusterWait { .. }
            | Synchronization::MbarrierTest { .. }
            | Synchronization::MbarrierWait { .. } => way.met = true,
            _ => {}
        }
    }
    Ok(())
}

/// A guarded fence covers what is done under the same guard, if the guard has one value throughout
/// the run.
fn fence(guard: Option<(RegisterId, bool)>, once: &BTreeSet<RegisterId>, way: &mut Way) {
    match guard {
        None => way.open.clear(),
        Some((predicate, _)) if once.contains(&predicate) => {
            way.open.remove(&guard);
        }
        Some(_) => {}
    }
}

fn releases(order: MemoryOrder) -> bool {
    matches!(
        order,
        MemoryOrder::Release | MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent
    )
}

fn key(guard: Guard) -> (RegisterId, bool) {
    (guard.predicate, guard.negated)
}

fn relaxed(kernel: &Kernel) -> Relaxed {
    let mut relaxed = Relaxed::default();
    let operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    for operation in operations {
        match &operation.kind {
            OperationKind::Synchronization(Synchronization::ClusterArrive {
                order: MemoryOrder::Relaxed,
                ..
            }) => relaxed.at_the_cluster = true,
            OperationKind::Synchronization(
                Synchronization::MbarrierArrive {
                    order: MemoryOrder::Relaxed,
                    ..
                }
                | Synchronization::MbarrierTest {
                    order: MemoryOrder::Relaxed,
                    ..
                }
                | Synchronization::MbarrierWait {
                    order: MemoryOrder::Relaxed,
                    ..
                },
            ) => relaxed.at_mbarriers = true,
            _ => {}
        }
    }
    relaxed
}

/// The registers that are assigned once in every run: by a single operation that no loop repeats.
fn assigned_once(kernel: &Kernel, graph: &Graph) -> BTreeSet<RegisterId> {
    let (mut once, mut again) = (BTreeSet::new(), BTreeSet::new());
    for (block, at) in kernel.blocks.iter().zip(0..) {
        let repeated = graph
            .loops()
            .any(|(_, natural)| natural.contains(BlockId(at)));
        let operations = block.operations.iter();
        for register in operations.flat_map(|operation| operation.kind.results()) {
            if repeated || !once.insert(register) {
                again.insert(register);
            }
        }
    }
    once.retain(|register| !again.contains(register));
    once
}
