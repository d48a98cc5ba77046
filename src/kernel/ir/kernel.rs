//! A kernel: parameters, variables, registers and blocks.

use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::Space;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// The program of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kernel {
    /// As in the text that was read.
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub variables: Vec<Variable>,
    pub registers: Vec<Register>,
    /// A thread begins in the first block.
    pub blocks: Vec<Block>,
    pub bounds: LaunchBounds,
    /// The assumptions that the reader made, in words.
    pub assumptions: Vec<String>,
}

/// A kernel parameter: bytes of the parameter space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The name that the author gave it, if it is known.
    pub name: String,
    /// Where it begins in the parameter space, in bytes.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}

/// A declared piece of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub space: Space,
    /// In bytes. `None` if the launch decides (dynamic shared memory). All shared variables without a size begin at
    /// the same address, which is after all variables that have a size.
    pub size: Option<u64>,
    pub alignment: u32,
    /// The initial contents, if the variable is declared with values. Empty otherwise. Also empty if a value is an
    /// address, because only the linker knows it.
    pub initial: Vec<u8>,
    /// For mbarriers that exist from the launch on: how many arrivals complete a phase of each.
    pub arrivals: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// As in the text that was read.
    pub name: String,
    /// In bits; predicates have 1.
    pub width: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub label: String,
    pub operations: Vec<Operation>,
    pub end: Terminator,
    /// Where the terminator comes from.
    pub location: Location,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Terminator {
    Jump(BlockId),
    /// A branch on a predicate of 1 bit. The lanes of a warp may take different targets.
    Branch {
        condition: Operand,
        then: BlockId,
        otherwise: BlockId,
    },
    /// The index selects a target. An index beyond the last target is undefined.
    Switch {
        index: Operand,
        targets: Vec<BlockId>,
    },
    /// The thread ends.
    Exit,
    /// The kernel is aborted, or control never reaches this point.
    Trap,
}

impl Terminator {
    /// The register on which the successor depends, if there is one.
    pub fn decides(&self) -> Option<RegisterId> {
        match self {
            Terminator::Branch {
                condition: Operand::Register(register),
                ..
            }
            | Terminator::Switch {
                index: Operand::Register(register),
                ..
            } => Some(*register),
            _ => None,
        }
    }
}

/// The bounds on launches that the text states. Axes are x, y, z.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaunchBounds {
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`.
    pub cluster: Option<[u32; 3]>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// `.minnctapersm`.
    pub min_ctas: Option<u32>,
}
