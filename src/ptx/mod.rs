//! PTX in: from a compiled kernel to a protocol in our language.
//!
//! The text is [parsed](parse()) into functions. [`lift()`] follows every warp of a CTA through the
//! control flow of an entry: integers become sums of unknowns, lanes are told apart, branches and
//! loops become statements. Shared addresses become elements of arrays of mbarriers, and the result
//! is written as text of our language, to be read by [`crate::text`] like any other protocol. What
//! is not understood and reaches synchronization is an [`Obstacle`], never left out; docs/ptx.md says
//! what is modelled, what is abstracted and why that is sound.

mod access;
mod aligned;
mod answers;
mod ast;
mod behind;
mod bits;
mod body;
mod boxes;
mod choices;
mod compare;
mod counters;
mod cycle;
mod data;
mod declare;
mod descriptor;
mod divided;
mod engines;
mod engines_apart;
mod evaluate;
mod facts;
mod family;
mod flights;
mod flips;
mod flow;
mod forms;
mod inline;
mod lanes;
mod layout;
mod left;
mod lift;
mod lint;
mod machine;
mod members;
mod memory;
mod operations;
mod packed;
mod parse;
mod peek;
mod peel;
mod program;
mod reroll;
mod rewrite;
mod rounds;
mod scope;
mod settled;
mod spins;
mod statement;
mod stores;
mod tensor;
mod term;
mod threads;
mod token;
mod unroll;
mod value;
mod walk;
mod warpgroups;
mod words;
mod write;

pub use ast::Function;
pub use ast::Instruction;
pub use ast::Location;
pub use ast::Module;
pub use ast::Operand;
pub use ast::Parameter;
pub use ast::Register;
pub use ast::Variable;
pub use lift::Failure;
pub use lift::Options;
pub use lift::Order;
pub use lift::lift;
pub use lint::Lint;
pub use lint::lint;
pub use parse::MAX_SOURCE_BYTES;
pub use parse::parse;
pub use statement::Obstacle;
