//! From a kernel to what its warps do: a slice of the graph, walked with terms.

pub mod graph;
mod operands;
pub mod slice;
pub mod term;
pub mod tree;
pub mod walk;
