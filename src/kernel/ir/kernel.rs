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
    /// The first is where a thread begins.
    pub blocks: Vec<Block>,
    pub bounds: LaunchBounds,
    /// What the reader took for granted, in words.
    pub assumptions: Vec<String>,
}

/// A kernel parameter: bytes of the parameter space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// As the author named it, where that is known.
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
    /// In bytes; `None` where the launch decides (dynamic shared memory). All shared variables without
    /// a size begin at one address, after those that have one.
    pub size: Option<u64>,
    pub alignment: u32,
    /// What it holds at the beginning, where it is declared with values. Empty otherwise, and where a
    /// value is an address, which only the linker knows.
    pub initial: Vec<u8>,
    /// Of mbarriers that are there from the launch on: how many arrivals complete a phase of each.
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
    /// A predicate of 1 bit; lanes of a warp may go different ways.
    Branch {
        condition: Operand,
        then: BlockId,
        otherwise: BlockId,
    },
    /// The index picks a target; an index past the last is undefined.
    Switch {
        index: Operand,
        targets: Vec<BlockId>,
    },
    /// The thread ends.
    Exit,
    /// The kernel is aborted, or control never comes here.
    Trap,
}

impl Terminator {
    /// The register that decides where control goes on, if one does.
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

/// What the text says about launches. Axes are x, y, z.
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
