//! Where a kernel writes to global memory, by the pointers that its addresses are based on.

use super::arrays::Arrays;
use super::arrays::Base;
use crate::ptx::operations::counters::written_at;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::warp::words::Written;

impl Arrays<'_> {
    /// The memory that a function writes.
    pub fn written_by(&self, function: &Function<'_>) -> Written {
        let mut written = Written::default();
        for instruction in &function.code {
            written.by_maps |= by_map(instruction);
            if written_at(instruction).is_none() || not_global(instruction) {
                continue;
            }
            let Some(bases) = self.behind(instruction) else {
                written.elsewhere = true;
                continue;
            };
            for base in bases {
                if let Base::Parameter(index, offset) = base {
                    written.parameters.insert((*index, *offset));
                }
            }
        }
        written
    }
}

/// Whether what an instruction writes to lies in a space other than global memory, as it says.
fn not_global(instruction: &Instruction<'_>) -> bool {
    let near = ["shared", "local", "param"];
    let first = instruction.parts().next();
    matches!(first, Some("st" | "atom" | "red"))
        && near.iter().any(|space| instruction.opcode.contains(space))
}

/// Whether a tensor copy writes to global memory.
fn by_map(instruction: &Instruction<'_>) -> bool {
    instruction.opcode.contains("tensor.") && instruction.opcode.contains(".global.shared::cta")
}
