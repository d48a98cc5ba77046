//! *Ring words*: words in shared memory that one warp passes to others through two rings of
//! mbarriers, and that control how often loops run.
//!
//! ```text
//! warp 0: loop { wait empty[i % S] (i / S + 1) % 2; word[i % S] = ...; arrive full[i % S]; ... }
//! warp 1: loop { ...; wait full[i % S] i / S % 2; more = word[i % S]; arrive empty[i % S]
//!                if !more { break } }
//! ```
//!
//! The values of the words need not be known. Every warp that reads in the i-th round reads what
//! was stored in the i-th round ([`check`]). So loops that go on while the word passes the same
//! test have the same trip count in all warps, and this is one unknown of the protocol.
//!
//! Stores whose address depends on the thread, copies and atomic operations are assumed to go
//! elsewhere.

mod order;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::recover::operands::is_alike_in_cta;
use crate::recover::slice::bases;
use crate::recover::slice::definitions;
use crate::recover::tree::LoopId;

pub use order::check;
pub use order::take_out;

/// The assumptions if ring words control loops.
pub const ASSUMPTIONS: [&str; 2] = [
    "words of shared memory that a warp hands over by mbarriers are written where it does so only: no copy, no atomic operation, and no \
     store to a place that depends on the thread, reaches them",
    "a word that a warp hands over by mbarriers ends at some time the loops that go on as it says",
];

/// Where a word is read: a block, an operation in it, and which of its results.
pub type Place = (BlockId, u32, u32);

/// The stores that may write ring words, and the loads that may read them.
#[derive(Debug, Default)]
pub struct RingWords {
    /// Stores with an address that is the same for all threads.
    pub stores: BTreeSet<(BlockId, u32)>,
    /// The loads, by their numbers.
    pub loads: Vec<Load>,
}

/// A load of a ring word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub place: Place,
    /// How many bits it reads.
    pub width: u16,
    /// The rank of the CTA and the number of the warp.
    pub by: (u32, u32),
    /// The innermost loop around it: its number in the walk, and its header.
    pub around: Option<(LoopId, BlockId)>,
}

/// A load, named by what does not change when other operations are inserted: its block, the header
/// of the loop around it, which of the block's loads it is, and which of its results.
type Named = (BlockId, BlockId, usize, u32);

/// The loads that read the word of their round, as `check` has shown. Each has the input that
/// says with how many words the loop goes on.
#[derive(Debug, Default)]
pub struct InOrderLoads {
    of: BTreeMap<((u32, u32), Named), u32>,
}

impl InOrderLoads {
    pub fn new(
        kernel: &Kernel,
        ring_words: Option<&RingWords>,
        ring_word_loops: &[RingWordLoop],
    ) -> Self {
        let loads = ring_words.map_or(&[][..], |ring_words| &ring_words.loads);
        let named = ring_word_loops.iter().filter_map(|by| {
            let load = loads.get(by.load as usize)?;
            let (around, _) = load.around?;
            (around == by.in_loop).then_some(((load.by, load.named(kernel)?), by.input))
        });
        Self {
            of: named.collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether two warps read the same words by the same load, in equal iterations of its loop.
    pub fn are_alike(&self, kernel: &Kernel, a: &Load, b: &Load) -> bool {
        let input = |load: &Load| self.of.get(&(load.by, load.named(kernel)?));
        a.named(kernel) == b.named(kernel)
            && a.width == b.width
            && input(a).is_some_and(|input_of_a| input(b) == Some(input_of_a))
    }
}

impl Load {
    fn named(&self, kernel: &Kernel) -> Option<Named> {
        let (block, index, result) = self.place;
        let operations = &kernel.blocks.get(block.0 as usize)?.operations;
        let before = operations.get(..index as usize)?.iter();
        let is_load = |operation: &&Operation| matches!(operation.kind, OperationKind::Load { .. });
        let (_, header) = self.around?;
        Some((block, header, before.filter(is_load).count(), result))
    }
}

/// A loop of a role that a ring word controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingWordLoop {
    pub in_loop: LoopId,
    /// The number of the load.
    pub load: u32,
    /// The input that says how often the loop goes on.
    pub input: u32,
    /// A word with which it goes on, and one with which it ends.
    pub words: (u64, u64),
}

impl RingWords {
    /// For a kernel whose waits acquire, and that writes to shared memory only by stores and
    /// copies, or at addresses that depend on the thread.
    pub fn new(kernel: &Kernel) -> Option<Self> {
        let operations = || {
            let blocks = (0..).map(BlockId).zip(&kernel.blocks);
            blocks.flat_map(|(id, block)| {
                let all = (0_u32..).zip(&block.operations);
                all.map(move |(index, operation)| ((id, index), operation))
            })
        };
        let relaxed = operations().any(|(_, operation)| {
            matches!(&operation.kind, OperationKind::Synchronization(
                    Synchronization::MbarrierWait { order, .. } | Synchronization::MbarrierTest { order, .. },
                ) if matches!(order, MemoryOrder::Weak | MemoryOrder::Relaxed))
        });
        let loads = operations().any(|(_, operation)| {
            matches!(operation.kind, OperationKind::Load { space, .. } if space.may_be_shared())
        });
        if relaxed || !loads {
            return None;
        }
        let definitions = definitions(kernel);
        // Any other write at an address that is the same for all threads may be to a word.
        let otherwise = operations().any(|(_, operation)| {
            let known = match &operation.kind {
                OperationKind::Store { .. } => true,
                // Copies are assumed to go elsewhere. `st.async` stores one word, as a store does.
                OperationKind::Synchronization(one) => {
                    !matches!(one, Synchronization::StoreAsync { .. })
                }
                _ => false,
            };
            operation.kind.write().is_some_and(|write| {
                !known
                    && is_of_shared(kernel, &definitions, write.space, write.address)
                    && !depends_on_thread(kernel, &definitions, write.address)
            })
        });
        if otherwise {
            return None;
        }
        let stores = operations().filter(|(_, operation)| {
            let OperationKind::Store { space, address, .. } = operation.kind else {
                return false;
            };
            is_of_shared(kernel, &definitions, space, address)
                && !depends_on_thread(kernel, &definitions, address)
        });
        Some(Self {
            stores: stores.map(|(place, _)| place).collect(),
            loads: Vec::new(),
        })
    }

    /// Numbers a load.
    pub fn add(&mut self, load: Load) -> u32 {
        self.loads.push(load);
        u32::try_from(self.loads.len() - 1).unwrap_or(u32::MAX)
    }
}

/// Whether a store goes to shared memory, as far as that can be told.
fn is_of_shared(
    kernel: &Kernel,
    definitions: &[Vec<(usize, usize)>],
    space: Space,
    address: Operand,
) -> bool {
    let shared =
        |variable: &VariableId| kernel.variables[variable.0 as usize].space.may_be_shared();
    match space {
        Space::Shared | Space::Cluster => true,
        Space::Generic => bases(kernel, definitions, address).iter().any(shared),
        _ => false,
    }
}

/// Whether an address is computed from the number of the thread, from memory, or from what lanes of
/// the warp exchange.
fn depends_on_thread(
    kernel: &Kernel,
    definitions: &[Vec<(usize, usize)>],
    address: Operand,
) -> bool {
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
            if !is_alike_in_cta(kind) {
                return true;
            }
            work.extend(kind.operands());
        }
    }
    false
}
