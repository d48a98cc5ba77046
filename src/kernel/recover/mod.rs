//! From a kernel to its roles over integers, and to their text: a slice of the graph is walked with terms, what loops carry
//! is solved, and what the warps do is lowered, put together and written.

mod alike;
mod bits;
mod branches;
mod bytes;
mod closed;
mod columns;
mod copies;
mod ended;
mod family;
pub mod graph;
mod inputs;
mod kernel;
mod late;
mod launch;
mod lives;
pub mod lower;
mod meet;
mod multiples;
pub mod number;
mod operands;
mod parity;
mod quotients;
mod ready;
mod rebased;
pub mod recurrence;
mod registers;
mod reroll;
mod responses;
mod rewrite;
mod scope;
mod shape;
mod shared_words;
mod simplify;
pub mod sketch;
pub mod slice;
mod taken;
pub mod term;
mod together;
pub mod tree;
mod unrolled;
pub mod walk;
mod warpgroups;
mod write;
mod written;

pub use ended::ASSUMPTION as ENDED;
pub use ended::come;
pub use inputs::are_free;
pub use inputs::used;
pub use kernel::Roles;
pub use kernel::roles;
pub use late::behind_expectations;
pub use meet::meet_alike;
pub use registers::settle;
pub use shape::Shape;
pub use together::together;
pub use tree::Obstacle;
pub use tree::in_time;
pub use warpgroups::with_phases;
pub use write::Text;
pub use write::parameters;
pub use write::text;

#[cfg(test)]
mod tests;
