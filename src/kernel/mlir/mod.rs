//! Reads MLIR text, as CuTe DSL keeps it (`CUTE_DSL_KEEP=ir`). Its kernels become kernels of the IR.
//!
//! Data flows one way: `lex` makes tokens, `parse` makes a tree of operations of any dialect (`syntax`), and `lower`
//! lowers each kernel. A value of the text becomes one operand for each part of it that is known at run time only
//! (`value`). Its static parts are in its type. `control` contains control flow, and each of the other files contains
//! the operations of one subject.
//!
//! Invariant: no operation is left out. An operation that none of the files knows is treated as data if `data` lists
//! it, and refused otherwise.

mod assembly;
mod atoms;
mod build;
mod control;
mod data;
mod error;
mod integer;
mod kernel;
mod layouts;
mod lex;
mod location;
mod lower;
mod memory;
mod parse;
mod parse_location;
mod parse_type;
mod partition;
mod pipelined;
mod pointers;
mod special;
mod synchronization;
mod syntax;
mod tensor;
#[cfg(test)]
mod tests;
mod tiles;
mod tuple;
mod tuples;
mod types;
mod value;

pub use error::Error;

use crate::ir::Kernel;

/// The kernels of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pub kernels: Vec<Kernel>,
}

/// Reads the kernels of an MLIR text.
///
/// Operations that are not understood are in the kernels as [`crate::ir::OperationKind::Unsupported`]. The result is
/// an error if the text is not MLIR.
pub fn read(text: &str) -> Result<Module, Error> {
    let lines = error::Lines::new(text);
    let tokens = lex::lex(text, &lines)?;
    let tree = parse::parse(text, &tokens, &lines)?;
    let kernels = kernel::functions(&tree.operations)
        .iter()
        .map(|function| lower::lower(&tree, &lines, function))
        .collect();
    Ok(Module { kernels })
}
