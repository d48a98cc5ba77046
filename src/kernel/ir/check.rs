//! A well-formedness check for kernels. The tests of the readers use it.

use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Terminator;
use crate::meaning::operand_count;
use crate::meaning::operand_width;
use crate::meaning::result_width;

impl Kernel {
    /// The faults of the kernel: references to things that do not exist, predicates of several bits, and operands and
    /// results of the wrong width. Empty if the kernel is well formed.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.blocks.is_empty() {
            faults.push("a kernel without blocks".to_owned());
        }
        for (number, block) in self.blocks.iter().enumerate() {
            for (index, operation) in block.operations.iter().enumerate() {
                if let Err(fault) = self.operation(operation) {
                    faults.push(format!("b{number}, operation {index}: {fault}"));
                }
            }
            if let Err(fault) = self.end(&block.end) {
                faults.push(format!("b{number}, its end: {fault}"));
            }
        }
        faults
    }

    fn register_width(&self, register: RegisterId) -> Result<u16, String> {
        match self.registers.get(register.0 as usize) {
            Some(register) => Ok(register.width),
            None => Err(format!("there is no register {}", register.0)),
        }
    }

    /// Whether at least so many bits can be read.
    fn read(&self, operand: Operand, width: u16) -> Result<(), String> {
        if let Operand::Register(register) = operand {
            let own = self.register_width(register)?;
            if own < width {
                return Err(format!("{width} bits are read of a register of {own}"));
            }
        }
        Ok(())
    }

    fn operation(&self, operation: &Operation) -> Result<(), String> {
        if let Some(guard) = operation.guard
            && self.register_width(guard.predicate)? != 1
        {
            return Err("a guard of several bits".to_owned());
        }
        match &operation.kind {
            OperationKind::Compute {
                compute,
                width,
                result,
                operands,
            } => {
                if operand_count(*compute).is_some_and(|count| count != operands.len()) {
                    return Err(format!("{} operands of {compute:?}", operands.len()));
                }
                for (index, operand) in operands.iter().enumerate() {
                    self.read(*operand, operand_width(*compute, *width, index))?;
                }
                let own = self.register_width(*result)?;
                if result_width(*compute, *width, operands.len()) == Some(own) {
                    Ok(())
                } else {
                    Err(format!(
                        "{compute:?} of {width} bits in a register of {own}"
                    ))
                }
            }
            OperationKind::Load { results, width, .. } => {
                for result in results.iter().flatten() {
                    let own = self.register_width(*result)?;
                    if own < *width {
                        return Err(format!("{width} bits are loaded into a register of {own}"));
                    }
                }
                Ok(())
            }
            OperationKind::Store { values, width, .. } => values
                .iter()
                .try_for_each(|value| self.read(*value, *width)),
            OperationKind::Atomic {
                operands,
                width,
                result,
                ..
            } => {
                if let Some(result) = result
                    && self.register_width(*result)? != *width
                {
                    return Err(format!("a result of other than {width} bits"));
                }
                operands
                    .iter()
                    .try_for_each(|value| self.read(*value, *width))
            }
            OperationKind::AddressOf { variable, .. } => {
                match self.variables.get(variable.0 as usize) {
                    Some(_) => Ok(()),
                    None => Err(format!("there is no variable {}", variable.0)),
                }
            }
            _ => Ok(()),
        }
    }

    fn end(&self, end: &Terminator) -> Result<(), String> {
        let exists = |block: &BlockId| match self.blocks.get(block.0 as usize) {
            Some(_) => Ok(()),
            None => Err(format!("there is no block {}", block.0)),
        };
        match end {
            Terminator::Jump(to) => exists(to),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                if let Operand::Register(register) = condition
                    && self.register_width(*register)? != 1
                {
                    return Err("a condition of several bits".to_owned());
                }
                exists(then)?;
                exists(otherwise)
            }
            Terminator::Switch { index, targets } => {
                self.read(*index, 1)?;
                targets.iter().try_for_each(exists)
            }
            Terminator::Exit | Terminator::Trap => Ok(()),
        }
    }
}
