//! The kernel IR: a control-flow graph of typed operations over registers of fixed width.
//!
//! A [`Kernel`] is the program of one thread. Registers may be assigned several times. An operation may have a
//! [`Guard`]: a predicate register that decides whether the operation is executed.
//!
//! Invariant: a reader never leaves an operation out. If it does not understand an operation, the operation becomes
//! [`OperationKind::Unsupported`]. If the operation certainly does not synchronize, it becomes
//! [`OperationKind::Opaque`]: its results are unknown, and so are the values that it writes to memory.

mod access;
mod check;
mod compute;
mod kernel;
mod location;
mod matrix;
mod memory;
mod operation;
mod print;
mod rename;
mod synchronization;
mod touch;

pub use access::Write;
pub use compute::Compare;
pub use compute::Compute;
pub use kernel::Block;
pub use kernel::BlockId;
pub use kernel::Kernel;
pub use kernel::LaunchBounds;
pub use kernel::Parameter;
pub use kernel::Register;
pub use kernel::RegisterId;
pub use kernel::Terminator;
pub use kernel::Variable;
pub use kernel::VariableId;
pub use location::Location;
pub use location::SourceLine;
pub use matrix::Matrices;
pub use matrix::PLACE;
pub use matrix::Product;
pub use matrix::UNIT;
pub use memory::AtomicOperation;
pub use memory::MemoryOrder;
pub use memory::Scope;
pub use memory::Space;
pub use memory::Stability;
pub use operation::Guard;
pub use operation::Operand;
pub use operation::Operation;
pub use operation::OperationKind;
pub use operation::Rows;
pub use operation::Special;
pub use synchronization::BarrierReduction;
pub use synchronization::Completion;
pub use synchronization::Expected;
pub use synchronization::GroupKind;
pub use synchronization::ShuffleMode;
pub use synchronization::Synchronization;
pub use synchronization::Token;
pub use synchronization::VoteMode;
pub use touch::Lasts;
pub use touch::ROW;
pub use touch::Touch;
pub use touch::joined;
pub use touch::lowest;
