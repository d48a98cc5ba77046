//! From a kernel to what its warps do: a slice of the graph, walked with terms.

mod bytes;
mod family;
pub mod graph;
mod kernel;
pub mod lower;
pub mod number;
mod operands;
mod ready;
pub mod recurrence;
mod reroll;
mod simplify;
pub mod sketch;
pub mod slice;
pub mod term;
pub mod tree;
pub mod walk;
mod write;

pub use kernel::Recovered;
pub use kernel::Roles;
pub use kernel::Shape;
pub use kernel::recover;
pub use kernel::roles;
pub use kernel::used;
pub use tree::Obstacle;

#[cfg(test)]
mod tests;
