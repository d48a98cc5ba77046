//! Verdicts in words and as JSON. Nothing here decides anything.

pub mod csr;
pub mod repro;
