//! Diagnostics: an error in a text, its place, and what to do about it.

use std::fmt;

use crate::protocol::Span;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The text has no meaning as it stands.
    Error,
    /// The text has a meaning, but probably not the intended one.
    Warning,
}

/// One finding about a text.
///
/// Messages are lowercase fragments without a full stop. Spans are byte ranges of the text the
/// finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, naming what was found.
    pub message: String,
    /// Its place.
    pub span: Span,
    /// What was expected there, for display next to the place; may be empty.
    pub label: String,
    /// Other places that explain the finding, such as a first declaration.
    pub related: Vec<(Span, String)>,
    /// What the author can do about it.
    pub hints: Vec<Hint>,
}

/// Advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// In words.
    pub text: String,
    /// The change of the text that follows the advice, if there is one.
    pub fix: Option<Fix>,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A change of a text that an editor can offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in a few words.
    pub title: String,
    /// The range that it replaces; empty for an insertion.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

impl Diagnostic {
    /// Builds an error without label, related places or hints.
    pub fn error(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Adds a note next to the place that says what was expected there.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Points at another place that explains the finding.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }

    /// Adds advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        let text = hint.into();
        self.hints.push(Hint { text, fix: None });
        self
    }

    /// Adds a change of the text that follows the last advice.
    pub fn fix(mut self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        if let Some(hint) = self.hints.last_mut() {
            hint.fix = Some(Fix {
                title: title.into(),
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Adds advice to write something else at this place.
    pub fn instead(self, hint: impl Into<String>, text: &str) -> Self {
        let span = self.span;
        let title = match text {
            "" => "delete it".to_owned(),
            text => format!("write `{text}`"),
        };
        self.hint(hint).fix(title, span, text)
    }

    /// Adds the question whether a similar word was meant.
    pub fn did_you_mean(self, close: &str) -> Self {
        self.instead(format!("did you mean `{close}`?"), close)
    }
}

/// A number of things, as in `1 index` and `2 indices`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}
