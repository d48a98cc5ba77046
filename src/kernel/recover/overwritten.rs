//! Stores of data over an mbarrier. They are undefined, so nothing can be said of a kernel that has
//! one.
//!
//! ```text
//! st.shared [bar], 0          a fixed place: it lies among the bytes of an mbarrier
//! st.shared [bar + 4 * i], 0  a computed place of a variable that has only mbarriers
//! ```
//!
//! Copies and other instructions that write count as stores. Writes at other computed places are
//! assumed not to reach an mbarrier.
//!
//! The place of an mbarrier that the kernel ends by `mbarrier.inval` may be used for data, from its
//! end to its next initialisation.
//!
//! Source: PTX ISA, "mbarrier": only mbarrier operations are defined on an mbarrier object.

use std::cell::OnceCell;
use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::recover::addresses::Addresses;
use crate::recover::chosen::Chosen;
use crate::recover::graph::Graph;
use crate::recover::slice::bases;
use crate::recover::slice::definitions;
use crate::recover::tree::EventKind;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Statement;

/// The bytes of an mbarrier.
const SIZE: u64 = 8;

const OVERWRITES: &str = "this writes data over an mbarrier, which is undefined";

const IDLE: &str = "data is written over an mbarrier after this mbarrier.inval, but Warplock does not see that any thread executes the mbarrier.inval: without it, that is undefined";

const ELSEWHERE: &str =
    "stores and copies to computed places in shared memory do not reach an mbarrier";

/// What a write may do to mbarriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It writes over one.
    Hits,
    /// It may write over one, at a computed place.
    Perhaps,
    Misses,
}

/// What is taken for granted of the stores of a kernel.
pub struct Premise {
    /// The assumption about writes to computed places, if there are such.
    pub assumption: Option<&'static str>,
    /// The `mbarrier.inval` behind which data may be written. Some thread has to carry out each of
    /// them: see [`refuse_idle_ends`].
    pub ends: BTreeSet<Location>,
}

/// Refuses stores over mbarriers.
pub fn refuse_stores(kernel: &Kernel) -> Result<Premise, Obstacle> {
    let mut assumption = None;
    let (writes, ends) = writes(kernel);
    for (location, reach) in writes {
        match reach {
            Reach::Hits => {
                return Err(Obstacle::new(OVERWRITES, location.clone()));
            }
            Reach::Perhaps => assumption = Some(ELSEWHERE),
            Reach::Misses => {}
        }
    }
    Ok(Premise { assumption, ends })
}

/// Refuses a kernel in which an mbarrier is taken to end at an instruction that no warp carries
/// out: in a CTA of 64 threads, nobody does what `tid == 64` guards. Given what every warp does.
pub fn refuse_idle_ends<'s>(
    ends: &BTreeSet<Location>,
    warps: impl Iterator<Item = &'s [Statement]> + Clone,
) -> Result<(), Obstacle> {
    match ends
        .iter()
        .find(|end| !warps.clone().any(|warp| is_carried_out(warp, end)))
    {
        None => Ok(()),
        Some(end) => Err(Obstacle::new(IDLE, end.clone())),
    }
}

/// Whether an end of an mbarrier is among what a warp does.
fn is_carried_out(statements: &[Statement], end: &Location) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Event(event) => {
            matches!(event.kind, EventKind::Invalidate { .. }) && event.location == *end
        }
        Statement::If {
            then, otherwise, ..
        } => is_carried_out(then, end) || is_carried_out(otherwise, end),
        Statement::Loop { body, .. } => is_carried_out(body, end),
        Statement::Break | Statement::Return => false,
    })
}

/// Every write to what may be shared memory, and what it may do to mbarriers. Beside them, the ends
/// of mbarriers that this depends on.
fn writes(kernel: &Kernel) -> (Vec<(&Location, Reach)>, BTreeSet<Location>) {
    let addresses = Addresses::new(kernel);
    let definitions = definitions(kernel);
    let operations = || kernel.blocks.iter().flat_map(|block| &block.operations);
    let mut mbarriers: BTreeSet<(VariableId, u64)> = BTreeSet::new();
    // Variables with mbarriers whose places are not all known.
    let mut holding: BTreeSet<Option<VariableId>> = BTreeSet::new();
    let mut ended = BTreeSet::new();
    // The places of mbarriers that end, and the variables in which some end at unknown places.
    let mut ended_at: BTreeSet<(VariableId, u64)> = BTreeSet::new();
    let mut ended_in = BTreeSet::new();
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
                let base = addresses.base(*address);
                ended.insert(base);
                for place in addresses.places(*address) {
                    match place {
                        Some(place) => _ = ended_at.insert(place),
                        None => _ = ended_in.insert(base),
                    }
                }
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
    let code = Code {
        kernel,
        graph: &graph,
        addresses: &addresses,
        chosen: Chosen::new(kernel, &definitions),
        meets_itself: OnceCell::new(),
        ends: RefCell::new(BTreeSet::new()),
    };
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
        let lands = lands_later(&operation.kind);
        let lives = |variable| {
            let all = Words {
                variable,
                place: None,
            };
            !ends(variable)
                || code.is_used_behind(at, all)
                || code.is_alive(at, all)
                || code.is_shared(at, all, lands)
        };
        let lives_at = |variable: VariableId, place: u64| {
            let ends = ended_at.contains(&(variable, place))
                || ended_in.contains(&Some(variable))
                || ended_in.contains(&None);
            let this = Words {
                variable,
                place: Some(place),
            };
            !ends
                || code.is_used_behind(at, this)
                || code.is_alive(at, this)
                || code.is_shared(at, this, lands)
        };
        let overlaps = |(variable, offset): (VariableId, u64)| {
            mbarriers.iter().any(|(of, place)| {
                *of == variable
                    && *place < offset.saturating_add(write.bytes)
                    && offset < place.saturating_add(SIZE)
                    && lives_at(variable, *place)
            })
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
                // A pointer that the kernel is given does not point to shared memory. Other
                // pointers come from the address of a variable.
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
    (found, code.ends.into_inner())
}

/// An mbarrier at a place, or all of a variable.
#[derive(Debug, Clone, Copy)]
struct Words {
    variable: VariableId,
    place: Option<u64>,
}

impl Words {
    /// Whether an address may be one of these.
    fn may_be(self, addresses: &Addresses<'_>, address: Operand) -> bool {
        let in_it = || {
            let base = addresses.base(address);
            base.is_none_or(|base| base == self.variable)
        };
        match self.place {
            None => in_it(),
            Some(_) => {
                let places = addresses.places(address);
                places.contains(&None) && in_it() || self.are_among(&places)
            }
        }
    }

    /// The same for an operation that neither begins nor ends a lifetime. If the place of the write
    /// is known, an operation at a computed place does not count as a use of that mbarrier. It would
    /// be a use behind the end of its lifetime, and such kernels are refused
    /// ([`crate::recover::mbarrier_lifetimes`]).
    fn may_be_used(self, addresses: &Addresses<'_>, address: Operand) -> bool {
        match self.place {
            None => self.may_be(addresses, address),
            Some(_) => self.are_among(&addresses.places(address)),
        }
    }

    fn are_among(self, places: &[Option<(VariableId, u64)>]) -> bool {
        let own = self.place.map(|place| (self.variable, place));
        own.is_some() && places.contains(&own)
    }

    /// Whether an operation at an address is certainly on these.
    fn are_all_at(self, addresses: &Addresses<'_>, address: Operand) -> bool {
        match self.place {
            None => addresses.base(address) == Some(self.variable),
            Some(place) => addresses.place(address) == Some((self.variable, place)),
        }
    }
}

/// Where threads go.
///
/// A write to the place of an mbarrier that ends is allowed if three things hold. Where the write
/// is executed, the mbarrier is not alive ([`Self::is_alive`]). Behind the write, its thread does
/// not use the mbarrier without initialising it first ([`Self::is_used_behind`]). No other thread
/// may initialise or use it meanwhile ([`Self::is_shared`]). If the place of the write is known,
/// only the mbarrier there matters. Otherwise all mbarriers of the variable matter.
struct Code<'k> {
    kernel: &'k Kernel,
    graph: &'k Graph,
    addresses: &'k Addresses<'k>,
    chosen: Chosen<'k>,
    /// See [`Self::meets_itself`]: asked of many writes, and the same for all.
    meets_itself: OnceCell<bool>,
    /// The ends that were counted.
    ends: RefCell<BTreeSet<Location>>,
}

impl Code<'_> {
    /// Whether a thread may come, behind a place, to one of these mbarriers, or to an unknown one,
    /// without having initialised it in between.
    fn is_used_behind(&self, (block, index): (BlockId, usize), words: Words) -> bool {
        // One thread initialises it for all.
        let begins = |operation: &Operation| {
            initialised(operation).is_some_and(|address| words.are_all_at(self.addresses, address))
        };
        let uses = |operation: &Operation| match synchronization(operation) {
            Some(Synchronization::MbarrierInit { .. }) | None => false,
            Some(Synchronization::MbarrierInvalidate { address }) => {
                words.may_be(self.addresses, *address)
            }
            Some(other) => other
                .mbarrier()
                .is_some_and(|address| words.may_be_used(self.addresses, address)),
        };
        self.comes_to((block, index + 1), &uses, &begins)
    }

    /// Whether a thread may come to a place while one of these mbarriers has not ended.
    ///
    /// None is alive if on every path to the place the last operation on them is the end, if there
    /// is an operation at all. An end counts only if some thread executes it whatever the launch
    /// is: the number of a thread alone decides which one does ([`crate::recover::chosen`]). For
    /// other threads than that one, it counts only behind a full barrier of all.
    fn is_alive(&self, at: (BlockId, usize), words: Words) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![(at.0, at.1, false)];
        while let Some((block, until, mut met)) = work.pop() {
            let operations = &self.kernel.blocks[block.0 as usize].operations;
            let mut ended = false;
            for (index, operation) in operations.iter().enumerate().take(until).rev() {
                let OperationKind::Synchronization(synchronization) = &operation.kind else {
                    continue;
                };
                if is_of_all_threads(operation) {
                    met = true;
                }
                let Some(address) = synchronization.mbarrier() else {
                    continue;
                };
                ended = match synchronization {
                    // One thread ends it for all.
                    Synchronization::MbarrierInvalidate { .. } => {
                        let end = (block, index);
                        let own = (block, until) == at && self.chosen.is_same_thread(end, at.1);
                        let counts = words.are_all_at(self.addresses, address)
                            && (met || own)
                            && self.chosen.is_certain(self.graph, end, at.0)
                            && self.is_alone(operation);
                        if counts {
                            let mut ends = self.ends.borrow_mut();
                            ends.insert(operation.location.clone());
                        }
                        counts
                    }
                    Synchronization::MbarrierInit { .. }
                        if words.may_be(self.addresses, address) =>
                    {
                        return true;
                    }
                    _ if words.may_be_used(self.addresses, address) => return true,
                    _ => false,
                };
                if ended {
                    break;
                }
            }
            if !ended {
                let before = self.graph.predecessors(block).iter().copied();
                let before = before.filter(|before| seen.insert((*before, met)));
                work.extend(before.map(|before| (before, usize::MAX, met)));
            }
        }
        false
    }

    /// Whether no other end of an mbarrier stands in the same line. A line says then which one a warp
    /// carries out.
    fn is_alone(&self, end: &Operation) -> bool {
        let blocks = self.kernel.blocks.iter();
        let mut operations = blocks.flat_map(|block| &block.operations);
        operations.all(|other| {
            std::ptr::eq(other, end)
                || other.location != end.location
                || !matches!(
                    synchronization(other),
                    Some(Synchronization::MbarrierInvalidate { .. })
                )
        })
    }

    /// Whether another thread may initialise or use one of these mbarriers while a thread writes at
    /// a place.
    ///
    /// Other threads may be ahead or behind. So nobody may do so between the two full barriers of all
    /// threads of the CTA around the write, on any path. Threads are followed from one full barrier to
    /// the next, so kernels are refused in which different `bar.sync` may meet each other. A copy
    /// may land behind a full barrier. So it must come to no initialisation at all.
    fn is_shared(&self, (block, index): (BlockId, usize), words: Words, lands: bool) -> bool {
        let begins = |operation: &Operation| {
            initialised(operation).is_some_and(|address| words.may_be(self.addresses, address))
        };
        let uses = |operation: &Operation| match synchronization(operation) {
            Some(Synchronization::MbarrierInvalidate { .. }) | None => false,
            Some(other) => {
                let address = other.mbarrier();
                begins(operation)
                    || address.is_some_and(|address| words.may_be_used(self.addresses, address))
            }
        };
        if lands && self.comes_to((block, index + 1), &begins, &|_| false) {
            return true;
        }
        if !*self.meets_itself.get_or_init(|| self.meets_itself()) {
            return true;
        }
        // From the full barriers before the write, or the beginning of the kernel, to the next ones.
        let mut seen = BTreeSet::new();
        let mut work = vec![(block, index)];
        while let Some((block, until)) = work.pop() {
            let operations = &self.kernel.blocks[block.0 as usize].operations;
            let met = operations.iter().take(until).rposition(is_of_all_threads);
            let from = met.map_or(0, |met| met + 1);
            let before = self.graph.predecessors(block);
            if (met.is_some() || before.is_empty() || block == BlockId(0))
                && self.comes_to((block, from), &uses, &is_of_all_threads)
            {
                return true;
            }
            if met.is_none() {
                let before = before.iter().copied();
                let before = before.filter(|before| seen.insert(*before));
                work.extend(before.map(|before| (before, usize::MAX)));
            }
        }
        false
    }

    /// Whether a thread comes from a place to a wanted operation before it comes to one that stops
    /// it.
    fn comes_to(
        &self,
        from: (BlockId, usize),
        wanted: &dyn Fn(&Operation) -> bool,
        stops: &dyn Fn(&Operation) -> bool,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![from];
        while let Some((block, from)) = work.pop() {
            let operations = self.kernel.blocks[block.0 as usize].operations.iter();
            let first = operations
                .skip(from)
                .find(|operation| wanted(operation) || stops(operation));
            match first {
                Some(operation) if wanted(operation) => return true,
                Some(_) => {}
                None => {
                    let next = self.graph.successors(block).iter().copied();
                    work.extend(next.filter(|next| seen.insert(*next)).map(|next| (next, 0)));
                }
            }
        }
        false
    }

    /// Whether threads always meet at the same instruction: for any two full barriers, each thread comes
    /// to one behind the other.
    fn meets_itself(&self) -> bool {
        let blocks = self.kernel.blocks.iter().zip(0..);
        let meeting = blocks.filter(|(block, _)| block.operations.iter().any(is_of_all_threads));
        let meeting: Vec<BlockId> = meeting.map(|(_, at)| BlockId(at)).collect();
        let reached: Vec<BTreeSet<BlockId>> =
            meeting.iter().map(|from| self.behind(*from)).collect();
        let mut pairs = meeting.iter().enumerate().flat_map(|(nth, one)| {
            let others = meeting.iter().enumerate().skip(nth + 1);
            others.map(move |(other, block)| (nth, one, other, block))
        });
        pairs.all(|(nth, one, other, block)| {
            reached[nth].contains(block) || reached[other].contains(one)
        })
    }

    fn behind(&self, from: BlockId) -> BTreeSet<BlockId> {
        let mut seen = BTreeSet::new();
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            let next = self.graph.successors(block).iter().copied();
            work.extend(next.filter(|next| seen.insert(*next)));
        }
        seen
    }
}

/// Where an operation initialises an mbarrier.
fn initialised(operation: &Operation) -> Option<Operand> {
    match synchronization(operation)? {
        Synchronization::MbarrierInit { address, .. } => Some(*address),
        _ => None,
    }
}

fn synchronization(operation: &Operation) -> Option<&Synchronization> {
    match &operation.kind {
        OperationKind::Synchronization(synchronization) => Some(synchronization),
        _ => None,
    }
}

/// Whether the write of an operation may land later than the operation, as far as that is known.
fn lands_later(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Synchronization(synchronization) => !matches!(
            synchronization,
            Synchronization::TensorAllocate { .. }
                | Synchronization::CounterAdd { .. }
                | Synchronization::CounterSet { .. }
        ),
        _ => false,
    }
}

/// Whether all threads of the CTA meet here.
fn is_of_all_threads(operation: &Operation) -> bool {
    operation.guard.is_none()
        && matches!(
            operation.kind,
            OperationKind::Synchronization(Synchronization::BarrierSync { threads: None, .. })
        )
}
