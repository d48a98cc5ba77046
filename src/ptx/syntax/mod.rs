//! The text of a module: tokens, functions, instructions, registers and labels. Calls are inlined.

pub mod ast;
pub mod body;
pub mod contiguous;
pub mod inline;
pub mod parse;
pub mod place;
pub mod scope;
pub mod token;
pub mod variables;
