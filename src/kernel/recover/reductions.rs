//! Checks that a barrier with a reduction is not mixed with barriers without one, or with another reduction.
//!
//! PTX says that `bar.red` should not be intermixed with `bar.sync` or `bar.arrive` at one active barrier: what
//! happens is undefined. Most kernels use barrier 0 for both, one after the other, as `__syncthreads()` and
//! `__syncthreads_or()` do. That is well-defined if every thread of the CTA comes to the same instructions in the
//! same order.
//!
//! Threads are shown to do so by their control flow. Up to the last barrier of a number, every branch that may lead
//! to different barriers of this number depends only on what all threads have in common: parameters, where the CTA
//! is, and the results of reductions of all threads. So the n-th barrier of each thread is the same instruction.
//!
//! Each of these barriers takes all threads that have not exited (its count may be `%ntid.x`), and a thread that
//! waits comes to no further one. So the threads in one generation are all at their n-th barrier. A thread that takes
//! a path without further barriers of this number takes part in no further generation.
//!
//! Source: PTX ISA, "bar, barrier".

use std::collections::BTreeSet;
use std::mem::discriminant;

use crate::ir::BarrierReduction;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::recover::graph::Graph;
use crate::recover::operands::is_alike_in_cta;
use crate::recover::operands::registers;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const MIXED: &str = "a barrier with a reduction may be paired here with `bar.sync`, `bar.arrive` or another reduction: this is undefined";

/// An operation of a named barrier.
struct Visit<'k> {
    barrier: Operand,
    threads: Option<Operand>,
    reduction: Option<&'k BarrierReduction>,
    arrives: bool,
}

/// Refuses kernels in which a reduction may be mixed with another operation at the same barrier.
pub fn refuse_mixed(kernel: &Kernel, graph: &Graph) -> Result<(), Obstacle> {
    let operations = || kernel.blocks.iter().flat_map(|block| &block.operations);
    let visits: Vec<Visit<'_>> = operations().filter_map(visit).collect();
    let mut alike: Vec<Operand> = Vec::new();
    for operation in operations() {
        let Some(reduces) = visit(operation).filter(|visit| visit.reduction.is_some()) else {
            continue;
        };
        if alike.contains(&reduces.barrier) {
            continue;
        }
        let mut others = visits
            .iter()
            .filter(|other| may_be_one(&reduces.barrier, &other.barrier));
        let is_mixed = others
            .any(|other| other.reduction.map(discriminant) != reduces.reduction.map(discriminant));
        if is_mixed && !comes_alike(kernel, graph, &reduces.barrier) {
            return refuse(MIXED, &operation.location);
        }
        // Neither what is mixed there nor who comes depends on the operation.
        if is_mixed {
            alike.push(reduces.barrier);
        }
    }
    Ok(())
}

fn visit(operation: &Operation) -> Option<Visit<'_>> {
    match &operation.kind {
        OperationKind::Synchronization(Synchronization::BarrierSync {
            barrier,
            threads,
            reduction,
            ..
        }) => Some(Visit {
            barrier: *barrier,
            threads: *threads,
            reduction: reduction.as_ref(),
            arrives: false,
        }),
        OperationKind::Synchronization(Synchronization::BarrierArrive {
            barrier, threads, ..
        }) => Some(Visit {
            barrier: *barrier,
            threads: Some(*threads),
            reduction: None,
            arrives: true,
        }),
        _ => None,
    }
}

/// As [`visit`], if the barrier may be that of a number.
fn visit_at<'k>(barrier: &Operand, operation: &'k Operation) -> Option<Visit<'k>> {
    visit(operation).filter(|visit| may_be_one(barrier, &visit.barrier))
}

/// Whether two numbers of barriers may be equal.
fn may_be_one(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Constant(a), Operand::Constant(b)) => a == b,
        _ => true,
    }
}

/// Whether all threads come to the barriers of a number by the same instructions in the same order, and each of them
/// waits there for all threads that have not exited.
fn comes_alike(kernel: &Kernel, graph: &Graph, barrier: &Operand) -> bool {
    let bounds = &kernel.bounds;
    let most = bounds.required_threads.or(bounds.max_threads);
    let most = most.map(|axes| axes.iter().map(|axis| u128::from(*axis)).product::<u128>());
    let takes_all = |visit: &Visit<'_>| {
        !visit.arrives
            && match visit.threads {
                None => true,
                Some(Operand::Constant(threads)) => most.is_some_and(|most| threads >= most),
                Some(Operand::Register(register)) => counts_all(kernel, register),
            }
    };
    let mut ahead: BTreeSet<BlockId> = BTreeSet::new();
    let mut work = Vec::new();
    for (at, block) in (0..).map(BlockId).zip(&kernel.blocks) {
        let operations = block.operations.iter();
        let mut visits = operations
            .filter_map(|one| visit_at(barrier, one))
            .peekable();
        if visits.peek().is_some() {
            work.push(at);
        }
        if !visits.all(|visit| takes_all(&visit)) {
            return false;
        }
    }
    let last: BTreeSet<BlockId> = work.iter().copied().collect();
    // Control dependence is not known of blocks from which no path leads to the end of the thread, but only to a trap
    // or into an endless loop.
    if !last.iter().all(|at| graph.leads_to_end(*at)) {
        return false;
    }
    while let Some(at) = work.pop() {
        if ahead.insert(at) {
            work.extend(graph.predecessors(at));
        }
    }
    let differing = Differing::new(kernel, graph, ahead);
    last.iter().all(|at| {
        let operations = &kernel.blocks[at.0 as usize].operations;
        let mut visits = operations
            .iter()
            .filter(|one| visit_at(barrier, one).is_some());
        !differing.blocks.contains(at) && visits.all(|one| !differing.is_guarded(one))
    })
}

/// Whether a register holds how many threads a CTA has: `%ntid.x` where there is one axis.
fn counts_all(kernel: &Kernel, register: RegisterId) -> bool {
    let most = kernel.bounds.required_threads.or(kernel.bounds.max_threads);
    let operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    let mut all = operations
        .filter(|one| one.kind.results().contains(&register))
        .peekable();
    let reads = |one: &Operation| {
        let special = Special::CtaThreads(0);
        one.guard.is_none()
            && matches!(one.kind, OperationKind::Special { special: read, .. } if read == special)
    };
    matches!(most, Some([_, 1, 1])) && all.peek().is_some() && all.all(reads)
}

/// What may differ between those threads of a CTA that have not yet left some blocks: registers, and whether blocks
/// are executed.
struct Differing {
    registers: BTreeSet<RegisterId>,
    blocks: BTreeSet<BlockId>,
}

impl Differing {
    /// `among`: the blocks. Who leaves them does not come back.
    fn new(kernel: &Kernel, graph: &Graph, among: BTreeSet<BlockId>) -> Self {
        let mut differing = Self {
            registers: BTreeSet::new(),
            blocks: BTreeSet::new(),
        };
        let parts = |by: &BlockId| {
            let stay = graph.successors(*by).iter().filter(|to| among.contains(to));
            stay.collect::<BTreeSet<_>>().len() > 1
        };
        loop {
            let before = (differing.registers.len(), differing.blocks.len());
            for at in &among {
                let by_branch = graph.deciders(*at).iter().any(|by| {
                    let decides = kernel.blocks[by.0 as usize].end.decides();
                    differing.blocks.contains(by)
                        || parts(by)
                            && decides.is_some_and(|one| differing.registers.contains(&one))
                });
                if by_branch {
                    differing.blocks.insert(*at);
                }
                let here = differing.blocks.contains(at);
                for operation in &kernel.blocks[at.0 as usize].operations {
                    if here || differing.differs(kernel, &among, operation) {
                        differing.registers.extend(operation.kind.results());
                    }
                }
            }
            if before == (differing.registers.len(), differing.blocks.len()) {
                return differing;
            }
        }
    }

    fn is_guarded(&self, operation: &Operation) -> bool {
        let guard = operation.guard.as_ref();
        guard.is_some_and(|guard| self.registers.contains(&guard.predicate))
    }

    /// Whether the results of an operation may differ, where all threads execute it in the same round.
    fn differs(&self, kernel: &Kernel, among: &BTreeSet<BlockId>, operation: &Operation) -> bool {
        let is_function = match &operation.kind {
            OperationKind::Special {
                special: Special::DynamicSharedSize | Special::TotalSharedSize,
                ..
            } => true,
            OperationKind::Opaque { pure, .. } => *pure,
            OperationKind::Synchronization(Synchronization::BarrierSync {
                barrier,
                reduction: Some(_),
                ..
            }) => return self.is_guarded(operation) || !self.reduces_all(kernel, among, barrier),
            kind => is_alike_in_cta(kind),
        };
        let mut read = registers(operation, operation.kind.operands());
        !is_function || read.any(|one| self.registers.contains(&one))
    }

    /// Whether each reduction at a barrier of a number is over all threads: all of them come there by the same
    /// instruction.
    fn reduces_all(&self, kernel: &Kernel, among: &BTreeSet<BlockId>, barrier: &Operand) -> bool {
        among.iter().all(|at| {
            let operations = kernel.blocks[at.0 as usize].operations.iter();
            let mut visits = operations
                .filter_map(|one| Some((one, visit_at(barrier, one)?)))
                .peekable();
            let alike = visits.peek().is_none() || !self.blocks.contains(at);
            alike
                && visits.all(|(one, visit)| {
                    visit.threads.is_none() && !visit.arrives && !self.is_guarded(one)
                })
        })
    }
}
