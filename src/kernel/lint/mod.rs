//! Lint rules that need only the instructions of a kernel, and not its protocol.
//!
//! A finding is a place worth a look, not a verdict. Rules that add up what all warps do are rules of protocols.

mod early_reads;

use crate::ir::Kernel;
use crate::ir::Location;

/// A place worth looking at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The name of the rule, as `early-read`.
    pub rule: &'static str,
    pub location: Location,
    /// What is there, as a lowercase fragment.
    pub message: &'static str,
    /// What to do about it, as a lowercase fragment.
    pub hint: &'static str,
}

/// What the rules find in a kernel, in the order of its text.
pub fn lints(kernel: &Kernel) -> Vec<Lint> {
    let mut found = early_reads::early_reads(kernel);
    found.sort_by_key(|lint| lint.location.line);
    found
}
