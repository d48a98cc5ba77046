//! Words of global memory that nobody writes while the kernel runs. They are numbers of the launch,
//! as parameters are.
//!
//! For example, `n = lengths[blockIdx.x]` is an ordinary load through one parameter, and the kernel
//! writes only through others. Then the word at an address that the launch determines is one
//! number, whoever reads it and whenever. It is assumed, and printed, that nobody else writes it,
//! and that different parameters point to different memory.
//!
//! Loads that are volatile, atomic or acquire expect others to write and are not taken for this, nor are those with `.cv`.

use std::collections::BTreeSet;

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::MemoryOrder;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Stability;
use crate::recover::pointers::APART;
use crate::recover::pointers::Bases;
use crate::recover::pointers::Pointers;
use crate::recover::pointers::are_followed;
use crate::recover::pointers::is_parameter;
use crate::recover::pointers::written;

const UNCHANGED: &str =
    "words in memory that decide about synchronization are not written while the kernel runs";
const ELSEWHERE: &str = "stores and copies to addresses in global memory that Warplock cannot determine do not write words that decide about synchronization";

/// Loads of words that the kernel does not write.
#[derive(Debug, Clone, Default)]
pub struct ReadOnlyMemory {
    /// The loads: their blocks, and their places in them.
    pub loads: BTreeSet<(BlockId, u32)>,
    /// The places of the parameters that they read through.
    pub pointers: BTreeSet<u32>,
    /// Whether the kernel writes to global memory.
    writes: bool,
    /// Whether it writes at an address that is not followed.
    elsewhere: bool,
}

impl ReadOnlyMemory {
    pub fn new(kernel: &Kernel) -> Self {
        let pointers = Pointers::new(kernel);
        let mut unwritten = Self::default();
        let mut changed = Bases::new();
        for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
            let Some(address) = written(operation) else {
                continue;
            };
            let bases = pointers.bases(address);
            unwritten.writes = true;
            unwritten.elsewhere |= !are_followed(&bases);
            changed.extend(bases);
        }
        for (block, index, operation) in operations(kernel) {
            let OperationKind::Load {
                space: Space::Global | Space::Generic,
                address,
                order: MemoryOrder::Weak,
                stability: Stability::Unsaid | Stability::Constant,
                ..
            } = &operation.kind
            else {
                continue;
            };
            let bases = pointers.bases(*address);
            let known = !bases.is_empty() && bases.iter().all(is_parameter);
            if known && bases.is_disjoint(&changed) {
                unwritten.loads.insert((block, index));
                unwritten.pointers.extend(bases.into_iter().flatten());
            }
        }
        unwritten
    }

    /// Assumed where such words matter.
    pub fn assumptions(&self) -> impl Iterator<Item = &'static str> {
        let apart = self.writes.then_some(APART);
        let elsewhere = self.elsewhere.then_some(ELSEWHERE);
        std::iter::once(UNCHANGED).chain(apart).chain(elsewhere)
    }
}

fn operations(kernel: &Kernel) -> impl Iterator<Item = (BlockId, u32, &Operation)> {
    kernel.blocks.iter().zip(0..).flat_map(|(block, number)| {
        let numbered = block.operations.iter().zip(0..);
        numbered.map(move |(operation, index)| (BlockId(number), index, operation))
    })
}
