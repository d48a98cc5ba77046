//! Reference semantics: what every statement does, written once.
pub mod input;
