//! PTX in: from a compiled kernel to a protocol in our language.
//!
//! The text is [parsed](parse()).

mod ast;
mod parse;
mod token;

pub use ast::Function;
pub use ast::Instruction;
pub use ast::Location;
pub use ast::Module;
pub use ast::Operand;
pub use ast::Parameter;
pub use ast::Register;
pub use ast::Variable;
pub use parse::MAX_SOURCE_BYTES;
pub use parse::parse;
