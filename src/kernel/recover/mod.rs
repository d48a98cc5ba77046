//! From a kernel to its roles over integers, and to their text: a slice of the graph is walked with terms, what loops carry
//! is solved, and what the warps do is lowered, put together and written.

mod bytes;
mod copies;
mod family;
pub mod graph;
mod inputs;
mod kernel;
mod launch;
pub mod lower;
mod meet;
pub mod number;
mod operands;
mod ready;
pub mod recurrence;
mod reroll;
mod responses;
mod rewrite;
mod scope;
mod simplify;
pub mod sketch;
pub mod slice;
pub mod term;
pub mod tree;
pub mod walk;
mod write;
mod written;

pub use inputs::are_free;
pub use inputs::used;
pub use kernel::Roles;
pub use kernel::Shape;
pub use kernel::roles;
pub use meet::meet_alike;
pub use tree::Obstacle;
pub use write::text;

#[cfg(test)]
mod tests;
