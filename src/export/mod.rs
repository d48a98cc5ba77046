//! Protocols as inputs of other verifiers, so that a verdict can be compared with theirs.
//!
//! [`promela`] writes one concrete instance as a model for SPIN, faithful to
//! [`crate::semantics::step`]. [`horn`] writes a protocol with all its values as constrained Horn
//! clauses for Z3's Spacer and its like. Each refuses what it cannot say exactly.

pub mod horn;
pub mod promela;

use thiserror::Error;

use crate::certificate::program::Unsupported;
use crate::protocol::Span;

/// Why there is no exact counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refused {
    /// A lowercase sentence fragment.
    pub reason: String,
    /// What it is about.
    pub span: Option<Span>,
}

impl Refused {
    /// Refuses a place of the text.
    pub(crate) fn at(span: Option<Span>, reason: impl Into<String>) -> Refused {
        Refused {
            reason: reason.into(),
            span,
        }
    }
}

impl From<Unsupported> for Refused {
    fn from(unsupported: Unsupported) -> Refused {
        Refused {
            reason: unsupported.reason,
            span: unsupported.span,
        }
    }
}
