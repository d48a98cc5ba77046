//! Why a command ended without doing what it was asked to.

use std::fmt;
use std::path::Path;

use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::text::Diagnostic;

use crate::exit::Exit;

/// A failure, as shown on stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A mistake of the user's, or a file that cannot be read or written. A lowercase fragment.
    Input {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Findings about a text, already laid out.
    Text(String),
    /// Evidence that does not hold. A lowercase fragment.
    Refused(String),
    /// A mistake of ours. A lowercase fragment.
    Internal(String),
    /// A signal; how far it got.
    Interrupted(String),
}

impl Failure {
    /// A mistake of the user's.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input {
            message: message.into(),
            hint: None,
        }
    }

    /// A file that something failed for.
    pub fn file(what: &str, path: &Path, error: impl fmt::Display) -> Failure {
        Failure::input(format!(
            "cannot {what} {}: {error}",
            visible(&path.display().to_string())
        ))
    }

    /// Says what to do about it.
    pub fn hint(self, advice: impl Into<String>) -> Failure {
        match self {
            Failure::Input { message, .. } => Failure::Input {
                message,
                hint: Some(advice.into()),
            },
            other => other,
        }
    }

    /// Findings about a text.
    pub fn text(findings: &[Diagnostic], name: &str, source: &str, style: Style) -> Failure {
        Failure::Text(warplock::text::render(findings, name, source, style.color))
    }

    /// How the program ends because of it.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Input { .. } | Failure::Text(_) => Exit::Input,
            Failure::Refused(_) | Failure::Internal(_) => Exit::Internal,
            Failure::Interrupted(_) => Exit::Interrupted,
        }
    }

    /// What is shown, ending with a line end.
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
