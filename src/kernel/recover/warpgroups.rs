//! Multiplications of a warpgroup as phases of mbarriers.
//!
//! `wgmma.mma_async` is one operation of the four warps of a warpgroup, so it is not done before
//! each of them has issued it. A warp that passes `wgmma.wait_group n` therefore knows that the
//! other three have issued all groups but the last `n`.
//!
//! The protocol language has no operation for this. So the kernel is rewritten with mbarriers, for recovery and
//! interpreter alike. A new register numbers the groups of a warpgroup as `wgmma.commit_group`
//! closes them. Each group is one phase of an mbarrier, at which the four warps arrive when they
//! close it. These mbarriers are a ring of at least as many as there are groups in flight at once.
//! So the group that used the mbarrier before has been waited for, no phase is missed, and no wait
//! is lapped. Groups are done in order. So `wgmma.wait_group n` becomes waits for all groups that
//! may be in flight but the last `n`, one after the other.
//!
//! Source: PTX ISA, "wgmma.mma_async", "wgmma.commit_group", "wgmma.wait_group".

use super::few_trips::Bounds;
use crate::cfg::Dominators;
use crate::cfg::Graph;
use crate::cfg::Loops;
use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::GroupKind;
use crate::ir::Guard;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Register;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::Token;
use crate::ir::Variable;
use crate::ir::VariableId;
use crate::recover::Shape;
use crate::recover::tree::Obstacle;

/// Warps of a warpgroup.
pub const WARPS: u32 = 4;
/// More groups in flight are not followed.
const MOST: u32 = 16;
/// Bytes of an mbarrier.
const SIZE: u32 = 8;

/// What may have happened to groups of multiplications when control comes to a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flight {
    reached: bool,
    /// The most groups in flight. More than [`MOST`] stand for any number.
    groups: u32,
    /// Whether multiplications may have been issued since the last group was closed. `closed`:
    /// whether none may have been.
    open: bool,
    closed: bool,
}

impl Flight {
    /// Whether multiplications may be under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.open || self.groups > 0
    }

    fn joined(self, other: Self) -> Self {
        Self {
            reached: self.reached || other.reached,
            groups: self.groups.max(other.groups),
            open: self.open || other.open,
            closed: self.closed || other.closed,
        }
    }
}

/// What an operation does to groups.
enum Step {
    Multiply,
    Commit,
    Wait(u32),
    /// It may wait for other warps.
    Blocks,
}

fn step(operation: &Operation) -> Result<Option<Step>, Obstacle> {
    let OperationKind::Synchronization(synchronization) = &operation.kind else {
        return Ok(None);
    };
    let step = match synchronization {
        Synchronization::Multiply { .. } => Step::Multiply,
        Synchronization::CommitGroup(GroupKind::Multiply) => Step::Commit,
        Synchronization::WaitGroup {
            kind: GroupKind::Multiply,
            pending,
            ..
        } => match pending {
            Operand::Constant(left) => Step::Wait(u32::try_from(*left).unwrap_or(u32::MAX)),
            Operand::Register(_) => {
                return Err(refused(
                    "how many multiplications stay in flight is not a number",
                    operation,
                ));
            }
        },
        Synchronization::BarrierSync { .. }
        | Synchronization::ClusterWait { .. }
        | Synchronization::MbarrierTest { .. }
        | Synchronization::MbarrierWait { .. }
        | Synchronization::TensorAllocate { .. }
        | Synchronization::GridDependencyWait
        | Synchronization::SetMaxRegisters { .. } => Step::Blocks,
        _ => return Ok(None),
    };
    let about = matches!(step, Step::Multiply | Step::Commit | Step::Wait(_));
    if about && operation.guard.is_some() {
        return Err(refused(
            "multiplications that a predicate decides about are not followed",
            operation,
        ));
    }
    Ok(Some(step))
}

fn refused(reason: &str, operation: &Operation) -> Obstacle {
    Obstacle::new(reason, operation.location.clone())
}

/// Assumed if multiplications stand in a loop that may have no iteration.
const FILLED: &str = "a group of multiplications that is closed holds at least one";

/// A kernel with groups of multiplications as phases, and the assumption that this needs.
#[derive(Debug)]
pub struct Phased {
    pub kernel: Kernel,
    /// The mbarriers of the phases.
    pub ring: VariableId,
    pub assumption: Option<&'static str>,
}

/// The kernel with groups of multiplications as phases, or `None` if nobody waits for one.
pub fn with_phases(kernel: &Kernel, shape: Shape) -> Result<Option<Phased>, Obstacle> {
    let mut waits = false;
    for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
        waits |= matches!(step(operation)?, Some(Step::Wait(_)));
    }
    if !waits {
        return Ok(None);
    }
    let before = flights(kernel)?;
    let mut places = 1;
    let mut assumption = None;
    for (block, flight) in kernel.blocks.iter().zip(&before) {
        let mut flight = *flight;
        for operation in &block.operations {
            check(&flight, operation)?;
            if matches!(step(operation)?, Some(Step::Commit)) && flight.open && flight.closed {
                assumption = Some(FILLED);
            }
            if let Some(Step::Wait(left)) = step(operation)?
                && left < flight.groups
            {
                places = places.max(left.saturating_add(1));
            }
            after(&mut flight, operation)?;
            places = places.max(flight.groups);
            if places > MOST {
                return Err(refused(
                    "more than 16 groups of multiplications may be in flight here",
                    operation,
                ));
            }
        }
    }
    let mut changed = kernel.clone();
    let change = Change::new(&mut changed, shape, places.next_power_of_two());
    let ring = change.ring;
    change.apply(&before)?;
    Ok(Some(Phased {
        kernel: changed,
        ring,
        assumption,
    }))
}

/// Refuses what the numbering does not cover.
fn check(flight: &Flight, operation: &Operation) -> Result<(), Obstacle> {
    if !flight.reached {
        return Ok(());
    }
    match step(operation)? {
        Some(Step::Blocks | Step::Wait(_)) if flight.open => Err(refused(
            "a wait between multiplications and the end of their group is not followed",
            operation,
        )),
        _ => Ok(()),
    }
}

pub(super) fn after(flight: &mut Flight, operation: &Operation) -> Result<(), Obstacle> {
    match step(operation)? {
        Some(Step::Multiply) => (flight.open, flight.closed) = (true, false),
        Some(Step::Commit) => {
            if flight.open {
                flight.groups = (flight.groups + 1).min(MOST + 1);
            }
            (flight.open, flight.closed) = (false, true);
        }
        Some(Step::Wait(left)) => flight.groups = flight.groups.min(left),
        Some(Step::Blocks) | None => {}
    }
    Ok(())
}

/// What may have happened at the beginning of each block.
pub(super) fn flights(kernel: &Kernel) -> Result<Vec<Flight>, Obstacle> {
    let mut before = vec![Flight::default(); kernel.blocks.len()];
    if let Some(first) = before.first_mut() {
        (first.reached, first.closed) = (true, true);
    }
    let graph = Graph::new(kernel);
    let rounds = Rounds::of(kernel, &graph)?;
    let mut behind = vec![Flight::default(); kernel.blocks.len()];
    let mut open = vec![BlockId(0)];
    while let Some(at) = open.pop() {
        let Some(block) = kernel.blocks.get(at.0 as usize) else {
            continue;
        };
        let mut flight = before[at.0 as usize];
        for operation in &block.operations {
            after(&mut flight, operation)?;
        }
        behind[at.0 as usize] = flight;
        for next in graph.successors(at) {
            let mut flight = flight;
            if let Some(most) = rounds.most(*next, &graph, &behind) {
                flight.groups = flight.groups.min(most);
            }
            let there = &mut before[next.0 as usize];
            let joined = there.joined(flight);
            if joined != *there {
                *there = joined;
                open.push(*next);
            }
        }
    }
    Ok(before)
}

/// The loops with few iterations, and how many groups all of these iterations close.
struct Rounds {
    loops: Loops,
    /// For each loop. `None` if the number is not known.
    closed: Vec<Option<u32>>,
}

impl Rounds {
    fn of(kernel: &Kernel, graph: &Graph) -> Result<Self, Obstacle> {
        let dominators = Dominators::of(graph);
        let loops = Loops::of(graph, &dominators);
        let bounds = Bounds {
            kernel,
            dominators: &dominators,
            loops: &loops,
        };
        let mut closed = Vec::new();
        for (id, each) in loops.iter() {
            let (mut groups, mut once) = (0_u128, true);
            for at in &each.blocks {
                let block = kernel.blocks.get(at.0 as usize);
                for operation in block.into_iter().flat_map(|block| &block.operations) {
                    if matches!(step(operation)?, Some(Step::Commit)) {
                        groups += 1;
                        once &= loops.innermost(*at) == Some(id);
                    }
                }
            }
            let returns = bounds.returns(each).filter(|_| once);
            let all = returns.and_then(|returns| returns.checked_mul(groups));
            closed.push(all.and_then(|all| u32::try_from(all).ok()));
        }
        Ok(Self { loops, closed })
    }

    /// The most groups in flight at the beginning of this block, if it is the header of such a
    /// loop: those with which control enters the loop, and those that its iterations close.
    fn most(&self, header: BlockId, graph: &Graph, behind: &[Flight]) -> Option<u32> {
        let id = self.loops.headed_by(header)?;
        let each = self.loops.get(id)?;
        let closed = (*self.closed.get(id.0 as usize)?)?;
        let outside = graph.predecessors(header).iter();
        let groups = outside
            .filter(|from| !each.contains(**from))
            .filter_map(|from| behind.get(from.0 as usize))
            .map(|flight| flight.groups)
            .max()?;
        Some(groups.saturating_add(closed))
    }
}

/// An operation on two words of 32 bits.
fn computed(
    result: RegisterId,
    compute: Compute,
    operands: [Operand; 2],
    location: &Location,
) -> Operation {
    Operation {
        guard: None,
        kind: OperationKind::Compute {
            compute,
            width: 32,
            result,
            operands: operands.to_vec(),
        },
        location: location.clone(),
    }
}

/// The ring, and the registers that are added.
struct Change<'a> {
    kernel: &'a mut Kernel,
    shape: Shape,
    places: u32,
    ring: VariableId,
    /// The address of this warpgroup's ring, whether this is the first lane of its warp, and the
    /// number of groups closed so far.
    base: RegisterId,
    leads: RegisterId,
    closed: RegisterId,
}

impl<'a> Change<'a> {
    fn new(kernel: &'a mut Kernel, shape: Shape, places: u32) -> Self {
        let ring = VariableId(u32::try_from(kernel.variables.len()).unwrap_or(u32::MAX));
        let groups = shape.warps().div_ceil(WARPS);
        kernel.variables.push(Variable {
            name: "wgmma".to_owned(),
            space: Space::Shared,
            size: Some(u64::from(groups * places * SIZE)),
            alignment: SIZE,
            initial: Vec::new(),
            arrivals: Some(WARPS),
        });
        let mut change = Self {
            kernel,
            shape,
            places,
            ring,
            base: RegisterId(0),
            leads: RegisterId(0),
            closed: RegisterId(0),
        };
        change.base = change.register(32);
        change.leads = change.register(1);
        change.closed = change.register(32);
        change
    }

    fn register(&mut self, width: u16) -> RegisterId {
        let id = RegisterId(u32::try_from(self.kernel.registers.len()).unwrap_or(u32::MAX));
        self.kernel.registers.push(Register {
            name: format!("%wgmma{}", id.0),
            width,
        });
        id
    }

    fn apply(mut self, before: &[Flight]) -> Result<(), Obstacle> {
        for (at, flight) in before.iter().enumerate() {
            let mut flight = *flight;
            let old = std::mem::take(&mut self.kernel.blocks[at].operations);
            let mut new = Vec::new();
            if at == 0 {
                self.prelude(&mut new);
            }
            for operation in old {
                match step(&operation)? {
                    Some(Step::Commit) if flight.open => self.close(&operation, &mut new),
                    // Otherwise there is nothing to wait for.
                    Some(Step::Wait(left)) => {
                        for left in (left..flight.groups).rev() {
                            self.wait(left, &operation, &mut new);
                        }
                    }
                    _ => {}
                }
                after(&mut flight, &operation)?;
                new.push(operation);
            }
            self.kernel.blocks[at].operations = new;
        }
        Ok(())
    }

    fn compute(
        &mut self,
        compute: Compute,
        operands: [Operand; 2],
        location: &Location,
        out: &mut Vec<Operation>,
    ) -> Operand {
        let width = if matches!(compute, Compute::Compare(_)) {
            1
        } else {
            32
        };
        let result = self.register(width);
        out.push(computed(result, compute, operands, location));
        Operand::Register(result)
    }

    /// At the beginning of the kernel: which ring is this thread's, whether it leads its warp, and
    /// that no group is closed.
    fn prelude(&mut self, out: &mut Vec<Operation>) {
        let none = Location::default();
        let constant = |n: u32| Operand::Constant(u128::from(n));
        // The number of the thread in its CTA: x + X * (y + Y * z).
        let mut thread = constant(0);
        for axis in (0..3_u8).rev() {
            let index = self.register(32);
            out.push(Operation {
                guard: None,
                kind: OperationKind::Special {
                    result: index,
                    special: Special::ThreadIndex(axis),
                },
                location: none.clone(),
            });
            let extent = constant(self.shape.threads[usize::from(axis)]);
            let above = self.compute(Compute::Multiply, [thread, extent], &none, out);
            let index = Operand::Register(index);
            thread = self.compute(Compute::Add, [above, index], &none, out);
        }
        let ring = self.register(32);
        out.push(Operation {
            guard: None,
            kind: OperationKind::AddressOf {
                result: ring,
                variable: self.ring,
                generic: false,
            },
            location: none.clone(),
        });
        let shift = Compute::ShiftRight { signed: false };
        let group = self.compute(shift, [thread, constant(7)], &none, out);
        let bytes = constant(self.places * SIZE);
        let offset = self.compute(Compute::Multiply, [group, bytes], &none, out);
        let lane = self.compute(Compute::And, [thread, constant(31)], &none, out);
        let computes = [
            (self.base, Compute::Add, Operand::Register(ring), offset),
            (
                self.leads,
                Compute::Compare(Compare::Equal),
                lane,
                constant(0),
            ),
            (self.closed, Compute::Add, constant(0), constant(0)),
        ];
        for (result, compute, a, b) in computes {
            out.push(computed(result, compute, [a, b], &none));
        }
    }

    /// The address of the mbarrier of a group.
    fn place(&mut self, group: Operand, at: &Location, out: &mut Vec<Operation>) -> Operand {
        let constant = |n: u32| Operand::Constant(u128::from(n));
        let turn = self.compute(Compute::And, [group, constant(self.places - 1)], at, out);
        let offset = self.compute(Compute::Multiply, [turn, constant(SIZE)], at, out);
        self.compute(
            Compute::Add,
            [Operand::Register(self.base), offset],
            at,
            out,
        )
    }

    /// Notes that the warp has issued a group.
    fn close(&mut self, commit: &Operation, out: &mut Vec<Operation>) {
        let at = &commit.location;
        let closed = Operand::Register(self.closed);
        let address = self.place(closed, at, out);
        out.push(Operation {
            guard: Some(Guard {
                predicate: self.leads,
                negated: false,
            }),
            kind: OperationKind::Synchronization(Synchronization::MbarrierArrive {
                address,
                count: Operand::Constant(1),
                expect: None,
                drop: false,
                no_complete: false,
                token: None,
                cluster: false,
                order: MemoryOrder::Relaxed,
                scope: Scope::Cta,
            }),
            location: at.clone(),
        });
        let next = [closed, Operand::Constant(1)];
        out.push(computed(self.closed, Compute::Add, next, at));
    }

    /// Waits for the last group but `left`. A group before the first has the phase before the
    /// first, which mbarriers take as completed.
    fn wait(&mut self, left: u32, wait: &Operation, out: &mut Vec<Operation>) {
        let at = &wait.location;
        let constant = |n: u32| Operand::Constant(u128::from(n));
        let closed = Operand::Register(self.closed);
        let group = self.compute(Compute::Subtract, [closed, constant(left + 1)], at, out);
        let address = self.place(group, at, out);
        let shift = Compute::ShiftRight { signed: false };
        let bits = constant(self.places.trailing_zeros());
        let round = self.compute(shift, [group, bits], at, out);
        let parity = self.compute(Compute::And, [round, constant(1)], at, out);
        out.push(Operation {
            guard: None,
            kind: OperationKind::Synchronization(Synchronization::MbarrierWait {
                address,
                token: Token::Parity(parity),
                // Behind the wait, the results are there.
                order: MemoryOrder::Acquire,
                scope: Scope::Cta,
            }),
            location: at.clone(),
        });
    }
}
