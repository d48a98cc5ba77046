//! The operations that can influence events: a backward slice from the operands of events and from
//! the branches that decide whether events are executed.
//!
//! An *event* is an operation by which warps synchronize, or may ([`is_event`]). An operation
//! outside of the slice is not followed, because it can change no event.
//!
//! A slice also goes through memory: from a load to the stores that may have written the value.
//! These are all stores to local memory. In shared memory they are the stores to fixed places. Every
//! other value that is read from memory is unknown.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::cfg::Loop;
use crate::cfg::LoopId;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::ir::VariableId;
use crate::recover::addresses::Addresses;
use crate::recover::graph::Graph;
use crate::recover::live::Live;
use crate::recover::operands::read;
use crate::recover::operands::registers;

#[derive(Debug)]
pub struct Slice {
    /// Per block, per operation.
    pub operations: Vec<Vec<bool>>,
    /// Per block: whether its branch decides about events.
    pub branches: Vec<bool>,
    /// Per block: whether it has an event itself.
    pub events: Vec<bool>,
    /// Shared variables of a known size with writes that are not followed, or not as a whole: stores
    /// at computed places, of more than [`MOST_BYTES`] or of bytes that are not contiguous, and copies
    /// at any place.
    pub scattered: BTreeSet<VariableId>,
    /// Loops without events that may wait for memory, and where they do so: see [`memory_decides`].
    pub memory_waits: BTreeMap<LoopId, Location>,
    /// Which registers are read before they are assigned.
    pub live: Live,
    /// Per block, per operation: whether it may touch shared memory. Empty where accesses are not asked for.
    pub accesses: Vec<Vec<bool>>,
}

/// A write to a fixed place is followed for at most so many bytes. A larger one also counts as a
/// write to a computed place.
pub const MOST_BYTES: u64 = 256;

/// Whether an operation takes part in synchronization between warps, or may.
pub fn is_event(operation: &Operation) -> bool {
    match &operation.kind {
        OperationKind::Unsupported { .. } => true,
        // Groups of copies and multiplications end by themselves.
        OperationKind::Synchronization(synchronization) => {
            !synchronization.is_unseen()
                && !matches!(
                    synchronization,
                    Synchronization::CommitGroup(_) | Synchronization::WaitGroup { .. }
                )
        }
        _ => false,
    }
}

/// Whether several lanes of a warp, or several warps, execute an operation together, and it is no
/// event.
pub fn ties_lanes(operation: &Operation) -> bool {
    match &operation.kind {
        OperationKind::Synchronization(synchronization) => {
            mask_of(synchronization).is_some() || synchronization.is_for_all_lanes()
        }
        _ => false,
    }
}

/// The lanes that execute an operation together, if it names them.
pub fn mask_of(synchronization: &Synchronization) -> Option<Operand> {
    match synchronization {
        Synchronization::WarpSync { mask }
        | Synchronization::Elect { mask, .. }
        | Synchronization::Shuffle { mask, .. }
        | Synchronization::Vote { mask, .. }
        | Synchronization::Match { mask, .. }
        | Synchronization::Reduce { mask, .. } => Some(*mask),
        _ => None,
    }
}

impl Slice {
    /// The slice of the events.
    pub fn new(kernel: &Kernel, graph: &Graph) -> Self {
        Self::of(kernel, graph, &is_event, &BTreeSet::new())
    }

    /// The slice of the events and of the addresses of these stores.
    pub fn with_stores(kernel: &Kernel, graph: &Graph, stores: &BTreeSet<(BlockId, u32)>) -> Self {
        Self::of(kernel, graph, &is_event, stores)
    }

    /// The slice of the events and of the accesses to shared memory: at which addresses they read and write, but not
    /// which values.
    pub fn with_accesses(kernel: &Kernel, graph: &Graph) -> Self {
        let mut accesses: Vec<Vec<bool>> = Vec::new();
        for block in &kernel.blocks {
            let touches = |operation: &Operation| operation.kind.touch().is_some();
            accesses.push(block.operations.iter().map(touches).collect());
        }
        Self::all_of(kernel, graph, &is_event, &BTreeSet::new(), accesses)
    }

    /// The slice of operations that lanes have to execute together: what decides whether they are
    /// executed, by which lanes, and with which mask. `whole`: also of those that only compute.
    pub fn of_lanes(kernel: &Kernel, graph: &Graph, whole: bool) -> Self {
        // Barriers are in it, because values of words in shared memory are known by them ([`super::shared_words`]).
        let wanted = |operation: &Operation| {
            let is_barrier = matches!(
                operation.kind,
                OperationKind::Synchronization(Synchronization::BarrierSync { .. })
            );
            let computes = whole && operation.kind.of_whole_warp().is_some();
            is_barrier || ties_lanes(operation) || computes
        };
        Self::of(kernel, graph, &wanted, &BTreeSet::new())
    }

    fn of(
        kernel: &Kernel,
        graph: &Graph,
        wanted: &dyn Fn(&Operation) -> bool,
        stores: &BTreeSet<(BlockId, u32)>,
    ) -> Self {
        Self::all_of(kernel, graph, wanted, stores, Vec::new())
    }

    fn all_of(
        kernel: &Kernel,
        graph: &Graph,
        wanted: &dyn Fn(&Operation) -> bool,
        stores: &BTreeSet<(BlockId, u32)>,
        accesses: Vec<Vec<bool>>,
    ) -> Self {
        let definitions = definitions(kernel);
        let mut local_stores = Vec::new();
        let mut shared_stores = Vec::new();
        let mut wanted_at = Vec::new();
        let mut work = Vec::new();
        let mut slice = Self {
            operations: kernel
                .blocks
                .iter()
                .map(|block| vec![false; block.operations.len()])
                .collect(),
            branches: vec![false; kernel.blocks.len()],
            events: vec![false; kernel.blocks.len()],
            scattered: BTreeSet::new(),
            memory_waits: BTreeMap::new(),
            live: Live::default(),
            accesses: Vec::new(),
        };
        for (at, block) in kernel.blocks.iter().enumerate() {
            for (index, operation) in block.operations.iter().enumerate() {
                if let OperationKind::Store {
                    space: Space::Local | Space::Generic,
                    ..
                } = operation.kind
                {
                    local_stores.push((at, index));
                }
                if reached_place(operation).is_some() {
                    shared_stores.push((at, index));
                }
                if wanted(operation) {
                    slice.events[at] = true;
                    wanted_at.push((at, index));
                }
            }
        }
        let addresses = Addresses::new(kernel);
        shared_stores.retain(|(at, index)| {
            let operation = &kernel.blocks[*at].operations[*index];
            let Some(address) = reached_place(operation) else {
                return false;
            };
            let fixed = addresses.is_fixed(address) && written_place(operation).is_some();
            let further = operation
                .kind
                .write()
                .is_some_and(|write| write.further || write.bytes > MOST_BYTES);
            if !fixed || further {
                let bases = bases(kernel, &definitions, address).into_iter();
                let has_size = |base: &VariableId| kernel.variables[base.0 as usize].size.is_some();
                slice.scattered.extend(bases.filter(has_size));
            }
            fixed
        });
        let has_local = kernel
            .variables
            .iter()
            .any(|variable| variable.space == Space::Local);
        for (at, index) in &wanted_at {
            let operation = &kernel.blocks[*at].operations[*index];
            let mask = match &operation.kind {
                OperationKind::Synchronization(synchronization) => mask_of(synchronization),
                _ => None,
            };
            // What lanes exchange or compute together does not matter, unless something else that matters needs it.
            let computes = operation.kind.of_whole_warp().is_some();
            if mask.is_none() && !computes {
                work.push((*at, *index));
                continue;
            }
            let mut needed: Vec<RegisterId> = Vec::new();
            needed.extend(operation.guard.map(|guard| guard.predicate));
            needed.extend(match mask {
                Some(Operand::Register(register)) => Some(register),
                Some(Operand::Constant(_)) | None => None,
            });
            slice.need(*at, &needed, kernel, graph, &definitions, &mut work);
        }
        for (at, block) in kernel.blocks.iter().enumerate().take(accesses.len()) {
            for operation in &block.operations {
                let Some(touch) = operation.kind.touch() else {
                    continue;
                };
                let needed: Vec<RegisterId> = registers(operation, touch.operands()).collect();
                slice.events[at] = true;
                slice.need(at, &needed, kernel, graph, &definitions, &mut work);
            }
        }
        slice.accesses = accesses;
        for (block, index) in stores {
            let (at, index) = (block.0 as usize, *index as usize);
            let operation = &kernel.blocks[at].operations[index];
            if shared_stores.contains(&(at, index)) {
                work.push((at, index));
                continue;
            }
            // What is stored does not matter.
            let mut needed: Vec<RegisterId> = Vec::new();
            needed.extend(operation.guard.map(|guard| guard.predicate));
            needed.extend(match reached_place(operation) {
                Some(Operand::Register(register)) => Some(register),
                _ => None,
            });
            slice.operations[at][index] = true;
            slice.need(at, &needed, kernel, graph, &definitions, &mut work);
        }
        while let Some((at, index)) = work.pop() {
            if std::mem::replace(&mut slice.operations[at][index], true) {
                continue;
            }
            let operation = &kernel.blocks[at].operations[index];
            let mut needed: Vec<RegisterId> = read(operation);
            if operation.guard.is_some() {
                // Where the guard does not hold, the value before stays.
                needed.extend(operation.kind.results());
            }
            if has_local
                && let OperationKind::Load {
                    space: Space::Local | Space::Generic,
                    ..
                } = operation.kind
            {
                work.extend(local_stores.iter().copied());
            }
            if let OperationKind::Load { space, .. } = operation.kind
                && space.may_be_shared()
            {
                work.append(&mut shared_stores);
            }
            slice.need(at, &needed, kernel, graph, &definitions, &mut work);
        }
        for (at, index) in wanted_at {
            let kind = &kernel.blocks[at].operations[index].kind;
            slice.operations[at][index] |= kind.of_whole_warp().is_none();
        }
        for (id, natural) in graph.loops() {
            if !natural
                .blocks
                .iter()
                .any(|block| slice.events[block.0 as usize])
                && let Some(location) = memory_decides(kernel, graph, natural)
            {
                slice.memory_waits.insert(id, location);
            }
        }
        slice.live = Live::new(kernel, graph, &slice);
        slice
    }

    /// If the slice has accesses: the registers that decide which bytes an operation touches, and
    /// whether it does so.
    pub fn touched(&self, block: usize, index: usize, operation: &Operation) -> Vec<RegisterId> {
        let accesses = self.accesses.get(block);
        if accesses.and_then(|accesses| accesses.get(index)) != Some(&true) {
            return Vec::new();
        }
        let operands = operation.kind.touch().map(|touch| touch.operands());
        registers(operation, operands.unwrap_or_default()).collect()
    }

    /// Marks as needed the definitions of registers, and the branches that decide about a block.
    fn need(
        &mut self,
        at: usize,
        registers: &[RegisterId],
        kernel: &Kernel,
        graph: &Graph,
        definitions: &[Vec<(usize, usize)>],
        work: &mut Vec<(usize, usize)>,
    ) {
        for register in registers {
            work.extend(
                definitions
                    .get(register.0 as usize)
                    .into_iter()
                    .flatten()
                    .copied(),
            );
        }
        let block = BlockId(u32::try_from(at).unwrap_or(u32::MAX));
        let mut deciders: BTreeSet<BlockId> = graph.deciders(block).clone();
        while let Some(block) = deciders.pop_first() {
            let decider = block.0 as usize;
            if std::mem::replace(&mut self.branches[decider], true) {
                continue;
            }
            if let Some(register) = kernel.blocks[decider].end.decides() {
                work.extend(
                    definitions
                        .get(register.0 as usize)
                        .into_iter()
                        .flatten()
                        .copied(),
                );
            }
            deciders.extend(graph.deciders(block).iter().copied());
        }
    }
}

/// The address that an operation writes to in what may be shared memory, if the write is done when
/// the operation is.
pub fn written_place(operation: &Operation) -> Option<Operand> {
    match operation.kind {
        OperationKind::Synchronization(_) => None,
        _ => reached_place(operation),
    }
}

/// The address that an operation writes to in what may be shared memory, also if the write comes
/// after the operation, as that of a copy does.
fn reached_place(operation: &Operation) -> Option<Operand> {
    let write = operation.kind.write()?;
    write.space.may_be_shared().then_some(write.address)
}

/// Per register: the blocks and operations that assign it.
pub fn definitions(kernel: &Kernel) -> Vec<Vec<(usize, usize)>> {
    let mut definitions: Vec<Vec<(usize, usize)>> = vec![Vec::new(); kernel.registers.len()];
    for (at, block) in kernel.blocks.iter().enumerate() {
        for (index, operation) in block.operations.iter().enumerate() {
            for register in operation.kind.results() {
                if let Some(list) = definitions.get_mut(register.0 as usize) {
                    list.push((at, index));
                }
            }
        }
    }
    definitions
}

/// The variables whose address an address may begin with.
pub fn bases(
    kernel: &Kernel,
    definitions: &[Vec<(usize, usize)>],
    address: Operand,
) -> BTreeSet<VariableId> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut work = vec![address];
    while let Some(operand) = work.pop() {
        let Operand::Register(register) = operand else {
            continue;
        };
        if !seen.insert(register) {
            continue;
        }
        for (at, index) in definitions.get(register.0 as usize).into_iter().flatten() {
            let kind = &kernel.blocks[*at].operations[*index].kind;
            if let OperationKind::AddressOf { variable, .. } = kind {
                found.insert(*variable);
            }
            work.extend(kind.operands());
        }
    }
    found
}

/// The location of a loop that may wait for memory. Each of its exits depends on memory that the
/// loop reads, or on nothing that the loop changes, so no exit counts iterations.
pub fn memory_decides(kernel: &Kernel, graph: &Graph, natural: &Loop) -> Option<Location> {
    let mut found = None;
    for block in &natural.blocks {
        let leaves = graph
            .successors(*block)
            .iter()
            .any(|to| !natural.contains(*to));
        if leaves {
            match read_for(kernel, graph, natural, *block) {
                Some(location) => found = Some(location),
                None if changes(kernel, graph, natural, *block) => return None,
                // The loop is left by this exit in its first iteration or never.
                None => {
                    let location = &kernel.blocks[block.0 as usize].location;
                    found.get_or_insert_with(|| location.clone());
                }
            }
        }
    }
    // A loop without an exit never ends.
    found.or_else(|| {
        let leaves = |block: &BlockId| {
            matches!(kernel.blocks[block.0 as usize].end, Terminator::Exit)
                || graph
                    .successors(*block)
                    .iter()
                    .any(|to| !natural.contains(*to))
        };
        let header = &kernel.blocks[natural.header.0 as usize];
        (!natural.blocks.iter().any(leaves)).then(|| header.location.clone())
    })
}

/// Whether nothing that a loop does decides when it is left: it is left in its first iteration or
/// never.
pub fn is_unchanging(kernel: &Kernel, graph: &Graph, natural: &Loop) -> bool {
    let leaves = |block: &&BlockId| {
        let mut ways = graph.successors(**block).iter();
        ways.any(|to| !natural.contains(*to))
    };
    let mut leaving = natural.blocks.iter().filter(leaves).peekable();
    leaving.peek().is_some()
        && leaving.all(|block| {
            read_for(kernel, graph, natural, *block).is_none()
                && !changes(kernel, graph, natural, *block)
        })
}

/// Whether the condition of this exit may change in the next iteration: it depends on a register
/// that the loop carries, or on an operation that is no function of its operands.
fn changes(kernel: &Kernel, graph: &Graph, natural: &Loop, branch: BlockId) -> bool {
    let operations = || {
        natural.blocks.iter().flat_map(|block| {
            let numbered = kernel.blocks[block.0 as usize].operations.iter();
            numbered.enumerate().map(|(at, one)| ((block.0, at), one))
        })
    };
    // What each register that is assigned in the loop is computed from.
    let mut sources: BTreeMap<RegisterId, BTreeSet<RegisterId>> = BTreeMap::new();
    let mut varies: BTreeSet<RegisterId> = BTreeSet::new();
    let mut assigned: BTreeMap<RegisterId, (u32, usize)> = BTreeMap::new();
    for (at, operation) in operations() {
        let is_function = match &operation.kind {
            OperationKind::Compute { .. }
            | OperationKind::AddressOf { .. }
            | OperationKind::ConvertAddress { .. }
            | OperationKind::MapAddress { .. }
            | OperationKind::CtaRank { .. } => true,
            OperationKind::Special { special, .. } => *special != Special::Clock,
            OperationKind::Opaque { pure, .. } => *pure,
            OperationKind::Load { space, .. } => {
                matches!(space, Space::Parameter | Space::Constant)
            }
            _ => false,
        };
        for register in operation.kind.results() {
            sources.entry(register).or_default().extend(read(operation));
            let first = assigned.entry(register).or_insert(at);
            *first = at.min(*first);
            if !is_function {
                varies.insert(register);
            }
        }
    }
    let mut reached: BTreeSet<RegisterId> = BTreeSet::new();
    let deciders = std::iter::once(branch).chain(graph.deciders(branch).iter().copied());
    let mut work: Vec<RegisterId> = deciders
        .filter(|decider| natural.contains(*decider))
        .filter_map(|decider| kernel.blocks[decider.0 as usize].end.decides())
        .collect();
    while let Some(register) = work.pop() {
        if reached.insert(register) {
            work.extend(sources.get(&register).into_iter().flatten().copied());
        }
    }
    // A register that is read before it is assigned has its value from the iteration before.
    let carried = operations().any(|(at, operation)| {
        let matters = operation.kind.results().iter().any(|r| reached.contains(r));
        let before = |register: &RegisterId| assigned.get(register).is_some_and(|to| *to >= at);
        matters && read(operation).iter().any(before)
    });
    let last = (branch.0, usize::MAX);
    let behind = |register: &RegisterId| assigned.get(register).is_some_and(|to| *to > last);
    let known = reached.is_empty() || carried || reached.iter().any(behind);
    known || reached.iter().any(|register| varies.contains(register))
}

/// The read of memory, inside of a loop, that a branch of the loop depends on.
fn read_for(kernel: &Kernel, graph: &Graph, natural: &Loop, branch: BlockId) -> Option<Location> {
    let mut work = Vec::new();
    let mut registers: BTreeSet<RegisterId> = BTreeSet::new();
    let mut deciders = BTreeSet::from([branch]);
    let mut pending = vec![branch];
    while let Some(decider) = pending.pop() {
        work.extend(kernel.blocks[decider.0 as usize].end.decides());
        for outer in graph.deciders(decider) {
            if natural.contains(*outer) && deciders.insert(*outer) {
                pending.push(*outer);
            }
        }
        while let Some(register) = work.pop() {
            if !registers.insert(register) {
                continue;
            }
            for block in &natural.blocks {
                for operation in &kernel.blocks[block.0 as usize].operations {
                    if !operation.kind.results().contains(&register) {
                        continue;
                    }
                    match operation.kind {
                        // What is no function of its operands reads memory, as `ldmatrix` and `tex` do.
                        OperationKind::Atomic { .. }
                        | OperationKind::Opaque { pure: false, .. } => {
                            return Some(operation.location.clone());
                        }
                        OperationKind::Load { space, .. }
                            if !matches!(
                                space,
                                Space::Parameter | Space::Constant | Space::Local
                            ) =>
                        {
                            return Some(operation.location.clone());
                        }
                        _ => work.extend(read(operation)),
                    }
                }
            }
        }
    }
    None
}
