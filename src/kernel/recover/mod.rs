//! From a kernel to what its warps do: a slice of the graph, walked with terms.

pub mod graph;
pub mod lower;
pub mod number;
mod operands;
pub mod recurrence;
pub mod sketch;
pub mod slice;
pub mod term;
pub mod tree;
pub mod walk;
