//! Exports protocols as inputs of other verifiers, so that verdicts can be compared.
//!
//! [`promela`] writes one concrete instance as a model for SPIN, faithful to [`crate::semantics::step`]. [`horn`]
//! writes a protocol, for all values of its parameters, as constrained Horn clauses for solvers such as Spacer in Z3.
//! Each refuses a protocol that it cannot describe exactly.

pub mod horn;
pub mod promela;

use thiserror::Error;

use crate::certificate::program::Unsupported;
use crate::protocol::Span;

/// Why a protocol has no exact counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refused {
    /// A lowercase sentence fragment.
    pub reason: String,
    /// The place in the text that is the reason, if there is one.
    pub span: Option<Span>,
}

impl Refused {
    /// Refuses because of a place in the text.
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
