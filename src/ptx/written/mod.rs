//! Writes the recovered protocol as text of the language.

pub mod counted;
pub mod declare;
pub mod grids;
pub mod launch;
pub mod words;
pub mod write;
