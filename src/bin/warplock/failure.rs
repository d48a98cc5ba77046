//! Failures: why a command ended early.

use std::fmt;
use std::path::Path;

use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::text::Diagnostic;

use crate::exit::Exit;

/// A failure, as shown on stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A user error, or a file that cannot be read or written. A lowercase fragment.
    Input {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Diagnostics of a protocol's text, already formatted.
    Text(String),
    /// A certificate or a witness that the checker does not accept. A lowercase fragment.
    Refused(String),
    /// A bug in Warplock. A lowercase fragment.
    Internal(String),
    /// A signal ended the command. The text says how far the work got.
    Interrupted(String),
}

impl Failure {
    /// A user error.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input {
            message: message.into(),
            hint: None,
        }
    }

    /// An operation on a file failed.
    pub fn file(what: &str, path: &Path, error: impl fmt::Display) -> Failure {
        Failure::input(format!(
            "cannot {what} {}: {error}",
            visible(&path.display().to_string())
        ))
    }

    /// Adds a hint.
    pub fn hint(self, advice: impl Into<String>) -> Failure {
        match self {
            Failure::Input { message, .. } => Failure::Input {
                message,
                hint: Some(advice.into()),
            },
            other => other,
        }
    }

    /// Diagnostics of a protocol's text.
    pub fn text(findings: &[Diagnostic], name: &str, source: &str, style: Style) -> Failure {
        Failure::Text(warplock::text::render(findings, name, source, style.color))
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Input { .. } | Failure::Text(_) => Exit::Input,
            Failure::Refused(_) | Failure::Internal(_) => Exit::Internal,
            Failure::Interrupted(_) => Exit::Interrupted,
        }
    }

    /// The message, with a line end.
    pub fn rendered(&self, style: Style) -> String {
        let error = style.bad("error:");
        match self {
            Failure::Input { message, hint } => {
                let hint = hint.as_ref();
                let hint = hint.map_or_else(String::new, |h| format!("hint: {h}\n"));
                format!("{error} {message}\n{hint}")
            }
            Failure::Text(text) => text.clone(),
            Failure::Refused(message) => format!("{error} {message}\n"),
            Failure::Internal(message) => format!("{} {message}\n", style.bad("internal error:")),
            Failure::Interrupted(message) => format!("{message}\n"),
        }
    }
}
