//! Refusals: why something is not shown.

use crate::deadline;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// The reason that is none of the protocol.
const LATE: &str = "the time was up";

/// Why a rule does not apply to a protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unsupported {
    /// A lowercase sentence fragment.
    pub reason: String,
    /// What it is about.
    pub span: Option<Span>,
}

impl Unsupported {
    /// Builds a refusal that points at the text.
    pub fn at(span: Span, reason: impl Into<String>) -> Unsupported {
        Unsupported {
            reason: reason.into(),
            span: Some(span),
        }
    }

    /// Refuses to go on once the time is over. Whoever derives obligations asks now and then.
    ///
    /// # Errors
    ///
    /// When it is.
    pub fn unless_in_time() -> Result<(), Unsupported> {
        match deadline::over() {
            true => Err(Unsupported::whole(LATE)),
            false => Ok(()),
        }
    }

    /// Whether it was nothing but time that was missing.
    pub fn is_late(&self) -> bool {
        self.reason == LATE
    }

    /// Builds a refusal about the protocol as a whole.
    pub fn whole(reason: impl Into<String>) -> Unsupported {
        Unsupported {
            reason: reason.into(),
            span: None,
        }
    }
}

/// The refusal of a certificate that names what there is not.
pub fn unfit() -> Unsupported {
    Unsupported::whole("a certificate that does not fit the protocol")
}

/// A piece of the text of a protocol, on one line.
pub(super) fn quote(protocol: &Protocol, span: Span) -> String {
    let text = protocol.source.get(span.start..span.end);
    let words: Vec<&str> = text.unwrap_or("").split_whitespace().collect();
    format!("`{}`", words.join(" "))
}
