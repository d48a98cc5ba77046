//! Parse errors of the PTX reader.

use std::ops::Range;

/// A place of the text that is not PTX, or a name that is not declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ReadError {
    pub message: String,
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// Of the span's beginning, from 1 on.
    pub line: u32,
    /// In characters, from 1 on.
    pub column: u32,
    /// What to do about it.
    pub hint: String,
}

impl ReadError {
    pub fn new(
        text: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let lines = before.bytes().filter(|byte| *byte == b'\n').count();
        let column = before.get(begin..).unwrap_or_default().chars().count();
        Self {
            message: message.into(),
            span,
            line: u32::try_from(lines + 1).unwrap_or(u32::MAX),
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
            hint: hint.into(),
        }
    }
}

/// The error is boxed, because it is rare and large.
pub type Parsed<T> = Result<T, Box<ReadError>>;
