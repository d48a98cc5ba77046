//! The control-flow graph of a kernel: order, dominators, postdominators and loops.
//!
//! This folder looks only at blocks and edges, not at operations.

mod dominators;
mod graph;
mod loops;

pub use dominators::Dominators;
pub use graph::Graph;
pub use loops::Loop;
pub use loops::LoopId;
pub use loops::Loops;

#[cfg(test)]
mod tests;
