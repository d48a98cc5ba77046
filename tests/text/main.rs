//! The language: parsing, checking, formatting, diagnostics.

mod constructs;
mod diagnostics;
mod encodings;
mod format;
mod limits;
mod meaning;
mod memory;
mod properties;
mod reference;
