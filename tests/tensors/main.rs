//! Block patterns read from files.

mod data;
mod read;
mod write;
