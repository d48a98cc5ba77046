//! The control-flow graph of a kernel: order, dominators, postdominators and loops.
//!
//! Everything here is about blocks alone; what operations do does not matter.

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
