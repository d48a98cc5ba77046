//! Follows an address back through the definitions of registers. A register is followed if it has exactly one
//! definition, and that has no guard.

use std::collections::BTreeSet;

use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::VariableId;

/// How many operations an address is followed back.
const MOST_STEPS: u32 = 16;

/// Gives the operands to follow further back, for an operation that is accepted, and otherwise `None`.
type Accepts<'a> = &'a dyn Fn(&OperationKind) -> Option<Vec<Operand>>;

pub struct Addresses<'a> {
    /// For each register, see [`Self::definition`].
    definitions: Vec<Option<&'a OperationKind>>,
}

impl<'a> Addresses<'a> {
    pub fn new(kernel: &'a Kernel) -> Self {
        let mut definitions = vec![None; kernel.registers.len()];
        let mut several: BTreeSet<RegisterId> = BTreeSet::new();
        for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
            for register in operation.kind.results() {
                let Some(place) = definitions.get_mut(register.0 as usize) else {
                    continue;
                };
                if place.replace(&operation.kind).is_some() || operation.guard.is_some() {
                    several.insert(register);
                }
            }
        }
        for register in several {
            definitions[register.0 as usize] = None;
        }
        Self { definitions }
    }

    /// The operation that assigns a register, if it is the only one and has no guard.
    pub fn definition(&self, operand: Operand) -> Option<&'a OperationKind> {
        match operand {
            Operand::Register(register) => *self.definitions.get(register.0 as usize)?,
            Operand::Constant(_) => None,
        }
    }

    /// Whether an address is computed from the addresses of variables and constants only.
    pub fn is_fixed(&self, operand: Operand) -> bool {
        self.is_made_of(operand, &|kind| match kind {
            OperationKind::AddressOf { .. } => Some(Vec::new()),
            OperationKind::Compute { operands, .. } => Some(operands.clone()),
            OperationKind::ConvertAddress { address, .. } => Some(vec![*address]),
            _ => None,
        })
    }

    /// Whether a value is computed from constants, by operations that `of` accepts only.
    pub fn is_made_of(&self, operand: Operand, of: Accepts<'_>) -> bool {
        self.is_made_in(operand, of, MOST_STEPS)
    }

    fn is_made_in(&self, operand: Operand, of: Accepts<'_>, steps: u32) -> bool {
        if let Operand::Constant(_) = operand {
            return true;
        }
        let (Some(kind), Some(steps)) = (self.definition(operand), steps.checked_sub(1)) else {
            return false;
        };
        let operands = of(kind);
        operands.is_some_and(|all| all.iter().all(|one| self.is_made_in(*one, of, steps)))
    }

    /// The variable and the offset in bytes of an address, if these are known and the same for all
    /// threads.
    pub fn place(&self, operand: Operand) -> Option<(VariableId, u64)> {
        let places = self.places(operand);
        match places.as_slice() {
            [Some(place)] => Some(*place),
            _ => None,
        }
    }

    /// The variables and offsets in bytes that an address may denote, in whichever CTA of the
    /// cluster. `None` stands for an address that is not known.
    pub fn places(&self, operand: Operand) -> Vec<Option<(VariableId, u64)>> {
        let mut found = Vec::new();
        self.places_in(operand, 0, MOST_STEPS, &mut found);
        found
    }

    fn places_in(
        &self,
        operand: Operand,
        offset: u64,
        steps: u32,
        found: &mut Vec<Option<(VariableId, u64)>>,
    ) {
        let (Some(kind), Some(steps)) = (self.definition(operand), steps.checked_sub(1)) else {
            found.push(None);
            return;
        };
        match kind {
            OperationKind::AddressOf { variable, .. } => found.push(Some((*variable, offset))),
            OperationKind::ConvertAddress { address, .. }
            | OperationKind::MapAddress { address, .. } => {
                self.places_in(*address, offset, steps, found);
            }
            OperationKind::Compute {
                compute, operands, ..
            } => match (compute, operands.as_slice()) {
                (Compute::Copy | Compute::Convert { .. }, [address]) => {
                    self.places_in(*address, offset, steps, found);
                }
                (Compute::Select, [_, one, other]) => {
                    self.places_in(*one, offset, steps, found);
                    self.places_in(*other, offset, steps, found);
                }
                (
                    Compute::Add,
                    [address, Operand::Constant(more)] | [Operand::Constant(more), address],
                ) => {
                    let more = u64::try_from(*more).ok();
                    match more.and_then(|more| offset.checked_add(more)) {
                        Some(offset) => self.places_in(*address, offset, steps, found),
                        None => found.push(None),
                    }
                }
                _ => found.push(None),
            },
            _ => found.push(None),
        }
    }

    /// The variable that an address lies in, if exactly one variable's address is part of its sum.
    pub fn base(&self, operand: Operand) -> Option<VariableId> {
        self.base_in(operand, MOST_STEPS)
    }

    fn base_in(&self, operand: Operand, steps: u32) -> Option<VariableId> {
        let steps = steps.checked_sub(1)?;
        match self.definition(operand)? {
            OperationKind::AddressOf { variable, .. } => Some(*variable),
            OperationKind::ConvertAddress { address, .. }
            | OperationKind::MapAddress { address, .. } => self.base_in(*address, steps),
            OperationKind::Compute {
                compute: Compute::Copy | Compute::Convert { .. } | Compute::Add | Compute::Subtract,
                operands,
                ..
            } => {
                let mut bases = operands
                    .iter()
                    .filter_map(|part| self.base_in(*part, steps));
                match (bases.next(), bases.next()) {
                    (Some(base), None) => Some(base),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
