//! Which registers may be read before they are assigned again.
//!
//! In `for (i) { if (i == 0) r = i; use(r); }`, `r` is live where an iteration begins: an iteration
//! without the assignment reads what an earlier one has left. A register that is not live there is
//! assigned in each iteration before it is read.

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::RegisterId;
use crate::recover::graph::Graph;
use crate::recover::operands::read;
use crate::recover::slice::Slice;

/// Per block, one bit for each register: whether it is live at the beginning.
#[derive(Debug, Default)]
pub struct Live {
    at: Vec<Vec<u64>>,
}

impl Live {
    /// Follows only the operations, accesses and branches that matter.
    pub fn new(kernel: &Kernel, graph: &Graph, slice: &Slice) -> Self {
        let words = kernel.registers.len().div_ceil(64);
        let mut reads = vec![vec![0_u64; words]; kernel.blocks.len()];
        let mut keeps = vec![vec![u64::MAX; words]; kernel.blocks.len()];
        for (number, block) in kernel.blocks.iter().enumerate() {
            let (reads, keeps) = (&mut reads[number], &mut keeps[number]);
            let mut note = |register: RegisterId, keeps: &[u64]| {
                let (word, bit) = place(register);
                reads[word] |= bit & keeps[word];
            };
            for (index, operation) in block.operations.iter().enumerate() {
                for register in slice.touched(number, index, operation) {
                    note(register, keeps);
                }
                if !slice.operations[number][index] {
                    continue;
                }
                for register in read(operation) {
                    note(register, keeps);
                }
                // If the guard does not hold, the register keeps its value.
                for register in operation.kind.results() {
                    if operation.guard.is_none() {
                        let (word, bit) = place(register);
                        keeps[word] &= !bit;
                    }
                }
            }
            if let Some(register) = block.end.decides().filter(|_| slice.branches[number]) {
                note(register, keeps);
            }
        }
        let mut at = reads;
        let mut changed = true;
        while changed {
            changed = false;
            for number in (0..kernel.blocks.len()).rev() {
                let block = BlockId(u32::try_from(number).unwrap_or(u32::MAX));
                for next in graph.successors(block) {
                    for word in 0..words {
                        let more = at[next.0 as usize][word] & keeps[number][word];
                        changed |= more & !at[number][word] != 0;
                        at[number][word] |= more;
                    }
                }
            }
        }
        Self { at }
    }

    /// Whether a register is live where a block begins.
    pub fn at(&self, block: BlockId, register: RegisterId) -> bool {
        let (word, bit) = place(register);
        let words = self.at.get(block.0 as usize);
        words
            .and_then(|words| words.get(word))
            .is_some_and(|word| word & bit != 0)
    }
}

fn place(register: RegisterId) -> (usize, u64) {
    (register.0 as usize / 64, 1 << (register.0 % 64))
}
