//! What addresses in global memory begin with: the pointers that are terms of their sums.
//!
//! `lock + 4 * m` begins with the parameter `lock`. That different parameters point to different memory is an assumption
//! of whoever relies on it.

use std::collections::BTreeSet;

use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::recover::slice::definitions;

/// Stands for the first variable, as a base of addresses. Parameters have less than this many bytes.
const VARIABLES: u32 = 1 << 31;

/// Where the parameters begin that an address may begin with, or which variables those are. `None` stands for others.
pub type Bases = BTreeSet<Option<u32>>;

/// What is taken for granted where memory behind different parameters is told apart.
pub const APART: &str =
    "pointers that are different parameters, and what tensor maps describe, do not overlap";

/// Whether a base is a parameter.
pub fn is_parameter(base: &Option<u32>) -> bool {
    base.is_some_and(|base| base < VARIABLES)
}

/// Where an operation writes to what may be global memory.
pub fn written(operation: &Operation) -> Option<Operand> {
    let write = operation.kind.write()?;
    matches!(write.space, Space::Global | Space::Generic).then_some(write.address)
}

/// What each register of a kernel is computed from.
pub struct Pointers<'k> {
    pub kernel: &'k Kernel,
    definitions: Vec<Vec<(usize, usize)>>,
}

impl<'k> Pointers<'k> {
    pub fn new(kernel: &'k Kernel) -> Self {
        Self {
            kernel,
            definitions: definitions(kernel),
        }
    }

    /// What an address may begin with.
    pub fn bases(&self, address: Operand) -> Bases {
        let mut found = Bases::new();
        let mut seen: BTreeSet<RegisterId> = BTreeSet::new();
        let mut work = vec![address];
        while let Some(operand) = work.pop() {
            let Operand::Register(register) = operand else {
                continue;
            };
            if !seen.insert(register) {
                continue;
            }
            let wide = self.kernel.registers[register.0 as usize].width == 64;
            let all = self.definitions.get(register.0 as usize);
            for (at, index) in all.into_iter().flatten() {
                match &self.kernel.blocks[*at].operations[*index].kind {
                    OperationKind::Load {
                        space: Space::Parameter,
                        address: Operand::Constant(offset),
                        width: 64,
                        ..
                    } => {
                        found.insert(u32::try_from(*offset).ok());
                    }
                    OperationKind::Compute {
                        compute, operands, ..
                    } => match compute {
                        // A product is no pointer, and neither is what is extended from fewer bits.
                        Compute::Multiply
                        | Compute::MultiplyHigh { .. }
                        | Compute::MultiplyWide { .. }
                        | Compute::ShiftLeft
                        | Compute::ShiftRight { .. }
                        | Compute::Divide { .. }
                        | Compute::Remainder { .. } => {}
                        Compute::Select => work.extend(operands.iter().skip(1).copied()),
                        _ => work.extend(operands.iter().copied()),
                    },
                    OperationKind::ConvertAddress { address, .. } => work.push(*address),
                    OperationKind::AddressOf { variable, .. } => {
                        found.insert(VARIABLES.checked_add(variable.0));
                    }
                    OperationKind::Special { .. } => {}
                    _ if wide => {
                        found.insert(None);
                    }
                    _ => {}
                }
            }
        }
        found
    }
}
