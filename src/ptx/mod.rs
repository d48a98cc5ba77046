//! PTX in: from a compiled kernel to a protocol in our language.
//!
//! The text is [parsed](parse()) into functions. [`lift()`] follows every warp of a CTA through the
//! control flow of an entry: integers become sums of unknowns, lanes are told apart, branches and
//! loops become statements. Shared addresses become elements of arrays of mbarriers, and the result
//! is written as text of our language, to be read by [`crate::text`] like any other protocol. What
//! is not understood and reaches synchronization is an [`Obstacle`], never left out; docs/ptx.md and the
//! pages below docs/ptx say what is modelled, what is abstracted and why that is sound.
//!
//! From text to text: `syntax` is the module as it is written; `warp` is what one warp knows;
//! `path` follows it through the control flow, and `operations` says what each instruction on
//! synchronization does on the way; `cta` puts the warps together, finds barriers, buffers and
//! roles; `written` is the protocol as text.

mod cta;
mod lift;
mod lines;
mod lint;
mod names;
mod operations;
mod order;
mod path;
mod rules;
mod shape;
mod syntax;
mod threads;
mod warp;
mod written;

pub use lift::Failure;
pub use lift::Options;
pub use lift::lift;
pub use lines::Instead;
pub use lines::Lifted;
pub use lines::Recovery;
pub use lint::Lint;
pub use lint::lint;
pub use names::means;
pub use names::readable;
pub use order::Order;
pub use rules::RULES;
pub use rules::Rule;
pub use rules::rule;
pub use syntax::ast::Function;
pub use syntax::ast::Instruction;
pub use syntax::ast::Location;
pub use syntax::ast::Module;
pub use syntax::ast::Operand;
pub use syntax::ast::Parameter;
pub use syntax::ast::Register;
pub use syntax::ast::Variable;
pub use syntax::contiguous::contiguous;
pub use syntax::parse::MAX_SOURCE_BYTES;
pub use syntax::parse::parse;
pub use warp::statement::Obstacle;
