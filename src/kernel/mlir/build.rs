//! Builds a kernel, block by block.

use crate::ir::Block;
use crate::ir::BlockId;
use crate::ir::Compare;
use crate::ir::Compute;
use crate::ir::Guard;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Register;
use crate::ir::RegisterId;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::meaning;
use crate::meaning::Concrete;
use crate::meaning::Word;

#[derive(Debug)]
pub struct Builder {
    pub kernel: Kernel,
    /// The block that operations are added to.
    block: usize,
    /// The source location of the next operations.
    pub location: Location,
    /// The name of the value that the next operations compute.
    pub name: String,
    /// The guard of the next operations.
    pub guard: Option<Guard>,
}

impl Builder {
    pub fn new(kernel: Kernel) -> Self {
        let mut builder = Self {
            kernel,
            block: 0,
            location: Location::default(),
            name: String::new(),
            guard: None,
        };
        builder.block("entry");
        builder
    }

    /// Creates a block without predecessors. Operations are still added to the current block.
    pub fn block(&mut self, label: &str) -> BlockId {
        let number = self.kernel.blocks.len();
        let label = if number == 0 {
            label.to_owned()
        } else {
            format!("{label}_{number}")
        };
        self.kernel.blocks.push(Block {
            label,
            operations: Vec::new(),
            end: Terminator::Trap,
            location: self.location.clone(),
        });
        BlockId(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Makes this block the current one: operations are added to it from now on.
    pub fn enter(&mut self, block: BlockId) {
        self.block = block.0 as usize;
    }

    /// The current block.
    pub fn current(&self) -> BlockId {
        BlockId(u32::try_from(self.block).unwrap_or(u32::MAX))
    }

    /// Ends the current block.
    pub fn end(&mut self, end: Terminator) {
        let location = self.location.clone();
        if let Some(block) = self.kernel.blocks.get_mut(self.block) {
            block.end = end;
            block.location = location;
        }
    }

    /// After a return, an empty block begins that nothing may lead to. If this is the last block, it is dropped.
    pub fn drop_unused_end(&mut self) {
        let last = BlockId(u32::try_from(self.kernel.blocks.len().saturating_sub(1)).unwrap_or(0));
        let used = self.kernel.blocks.iter().any(|block| match &block.end {
            Terminator::Jump(target) => *target == last,
            Terminator::Branch {
                then, otherwise, ..
            } => *then == last || *otherwise == last,
            Terminator::Switch { targets, .. } => targets.contains(&last),
            Terminator::Exit | Terminator::Trap => false,
        });
        let empty = self
            .kernel
            .blocks
            .last()
            .is_some_and(|block| block.operations.is_empty());
        if last.0 > 0 && empty && !used {
            self.kernel.blocks.pop();
        }
    }

    pub fn register(&mut self, width: u16) -> RegisterId {
        let id = RegisterId(u32::try_from(self.kernel.registers.len()).unwrap_or(u32::MAX));
        self.kernel.registers.push(Register {
            name: self.name.clone(),
            width,
        });
        id
    }

    pub fn width(&self, operand: Operand) -> Option<u16> {
        match operand {
            Operand::Register(register) => self
                .kernel
                .registers
                .get(register.0 as usize)
                .map(|register| register.width),
            Operand::Constant(_) => None,
        }
    }

    pub fn push(&mut self, kind: OperationKind) {
        let operation = Operation {
            guard: self.guard,
            kind,
            location: self.location.clone(),
        };
        if let Some(block) = self.kernel.blocks.get_mut(self.block) {
            block.operations.push(operation);
        }
    }

    /// Adds an operation that was made elsewhere, with the current location.
    pub fn append(&mut self, mut operation: Operation) {
        operation.location = self.location.clone();
        if let Some(block) = self.kernel.blocks.get_mut(self.block) {
            block.operations.push(operation);
        }
    }

    pub fn synchronize(&mut self, synchronization: Synchronization) {
        self.push(OperationKind::Synchronization(synchronization));
    }

    pub fn unsupported(&mut self, mnemonic: &str, reason: &str, widths: &[u16]) -> Vec<Operand> {
        let results: Vec<_> = widths.iter().map(|width| self.register(*width)).collect();
        self.push(OperationKind::Unsupported {
            mnemonic: mnemonic.to_owned(),
            reason: reason.to_owned(),
            results: results.clone(),
        });
        results.into_iter().map(Operand::Register).collect()
    }

    /// Creates unknown results of these widths.
    pub fn opaque(
        &mut self,
        mnemonic: &str,
        operands: Vec<Operand>,
        widths: &[u16],
        pure: bool,
    ) -> Vec<Operand> {
        let results: Vec<_> = widths.iter().map(|width| self.register(*width)).collect();
        self.push(OperationKind::Opaque {
            mnemonic: mnemonic.to_owned(),
            results: results.clone(),
            operands,
            pure,
            write: None,
            rows: None,
        });
        results.into_iter().map(Operand::Register).collect()
    }

    pub fn special(&mut self, special: Special, width: u16) -> Operand {
        let result = self.register(width);
        self.push(OperationKind::Special { result, special });
        Operand::Register(result)
    }

    /// Adds a pure operation. If all operands are constants, the result is a constant.
    pub fn compute(&mut self, compute: Compute, width: u16, operands: &[Operand]) -> Operand {
        let words: Option<Vec<_>> = operands
            .iter()
            .enumerate()
            .map(|(at, operand)| match operand {
                Operand::Constant(bits) => {
                    Some(Word::new(*bits, meaning::operand_width(compute, width, at)))
                }
                Operand::Register(_) => None,
            })
            .collect();
        if let Some(words) = words
            && let Some(word) = meaning::result_of(&mut Concrete, compute, width, &words)
        {
            return Operand::Constant(word.bits);
        }
        match (compute, operands) {
            (Compute::Copy, [operand]) => return *operand,
            (Compute::Add | Compute::Subtract, [operand, Operand::Constant(0)])
            | (Compute::Add, [Operand::Constant(0), operand])
            | (Compute::Multiply, [operand, Operand::Constant(1)])
            | (Compute::Multiply, [Operand::Constant(1), operand])
                if self.width(*operand) == Some(width) =>
            {
                return *operand;
            }
            _ => {}
        }
        let Some(result) = meaning::result_width(compute, width, operands.len()) else {
            return self.opaque("wide integer", operands.to_vec(), &[width.min(128)], false)[0];
        };
        let result = self.register(result);
        self.push(OperationKind::Compute {
            compute,
            width,
            result,
            operands: operands.to_vec(),
        });
        Operand::Register(result)
    }

    pub fn compare(&mut self, compare: Compare, width: u16, a: Operand, b: Operand) -> Operand {
        self.compute(Compute::Compare(compare), width, &[a, b])
    }

    /// Brings an operand of `from` bits to `to` bits.
    pub fn convert(&mut self, operand: Operand, from: u16, to: u16, signed: bool) -> Operand {
        if from == to {
            return operand;
        }
        self.compute(Compute::Convert { to, signed }, from, &[operand])
    }

    /// Assigns to a register that may have other assignments.
    pub fn assign(&mut self, result: RegisterId, width: u16, operand: Operand) {
        self.push(OperationKind::Compute {
            compute: Compute::Copy,
            width,
            result,
            operands: vec![operand],
        });
    }

    /// Performs parallel assignments: a target may be the source of another assignment.
    pub fn assign_all(&mut self, targets: &[(RegisterId, u16)], sources: &[Operand]) {
        let mut sources = sources.to_vec();
        for source in &mut sources {
            let Operand::Register(register) = *source else {
                continue;
            };
            if let Some((_, width)) = targets.iter().find(|(target, _)| *target == register) {
                let copy = self.register(*width);
                self.assign(copy, *width, *source);
                *source = Operand::Register(copy);
            }
        }
        for ((target, width), source) in targets.iter().zip(sources) {
            self.assign(*target, *width, source);
        }
    }
}
