//! The language: parsing, checking, formatting, diagnostics.

#[path = "../support/library.rs"]
mod library;

mod atomics;
mod constructs;
mod diagnostics;
mod editors;
mod encodings;
mod format;
mod limits;
mod meaning;
mod memory;
mod names;
mod properties;
mod reference;
