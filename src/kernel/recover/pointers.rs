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

/// The places of parameters of 8 bytes that are no pointers, as `size_t n`: nothing but arithmetic uses them, other than in
/// products. What is added to an address, stored, or handed to anything else may be a pointer.
pub fn wide_sizes(kernel: &Kernel) -> BTreeSet<u32> {
    let pointers = Pointers::new(kernel);
    let mut used = Bases::new();
    let mut seen = BTreeSet::new();
    for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
        if !matches!(operation.kind, OperationKind::Compute { .. }) {
            for operand in operation.kind.operands() {
                pointers.collect(operand, &mut seen, &mut used);
            }
        }
    }
    let wide = kernel.parameters.iter().filter(|each| each.size == 8);
    wide.map(|each| each.offset)
        .filter(|offset| !used.contains(&Some(*offset)))
        .collect()
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
        self.collect(address, &mut BTreeSet::new(), &mut found);
        found
    }

    fn collect(&self, address: Operand, seen: &mut BTreeSet<RegisterId>, found: &mut Bases) {
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
                        results,
                        ..
                    } => {
                        // Of a load of several words, the one that lies in this register.
                        let words = (0_u128..).zip(results);
                        for (word, _) in words.filter(|(_, result)| **result == Some(register)) {
                            found.insert(u32::try_from(*offset + 8 * word).ok());
                        }
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
    }
}
