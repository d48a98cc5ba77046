//! Tests of mbarriers right in front of the branch that they decide:
//!
//! ```text
//! mbarrier.test_wait.parity p, [bar], 0;  selp r, 1, 0, p;  setp.ne q, r, 0;  @q bra SPARED;
//! ```
//!
//! The phase that such a test finds complete is that of the wait that it spares, as if the warp waited there.

use std::collections::BTreeSet;

use super::spins::registers;
use super::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::evaluate::destinations;

impl Walker<'_, '_, '_> {
    /// Whether a branch is decided by a test of an mbarrier in front of it, and the warp does nothing in
    /// between that anybody sees.
    pub fn has_just_tested(&self, branch: &Instruction<'_>) -> bool {
        let function = self.machine.function;
        let Some(end) = function.code.iter().position(|i| i.at == branch.at) else {
            return false;
        };
        // The block that the branch ends: one before it may end there as well.
        let blocks = self.flow.blocks.iter().map(|block| &block.code);
        let here = blocks.filter(|code| code.start <= end && end <= code.end);
        let Some(block) = here.max_by_key(|code| code.start) else {
            return false;
        };
        let Some((guard, _)) = branch.guard else {
            return false;
        };
        let mut deciding = BTreeSet::from([guard]);
        let before = function.code.get(block.start..end).unwrap_or_default();
        for instruction in before.iter().rev() {
            let tests = instruction.has("try_wait") || instruction.has("test_wait");
            let written: Vec<Register> = destinations(instruction).into_iter().flatten().collect();
            let decides = written.iter().any(|register| deciding.contains(register));
            if decides && tests {
                return instruction.guard.is_none() && deciding.len() == 1;
            }
            if !tests && self.touches(instruction) {
                return false;
            }
            if decides {
                if instruction.guard.is_some() {
                    return false;
                }
                for register in &written {
                    deciding.remove(register);
                }
                let read = instruction.operands.iter().skip(1);
                deciding.extend(read.flat_map(registers));
            }
        }
        false
    }
}
