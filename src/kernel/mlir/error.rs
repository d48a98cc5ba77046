//! Parse errors of the MLIR reader.

use std::fmt;
use std::ops::Range;

/// Why a text was not read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub message: String,
    /// What to do about it, if that is known.
    pub hint: Option<String>,
    /// The range of bytes in the text.
    pub span: Range<usize>,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// The lines of a text.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { text, starts }
    }

    /// The line of a byte offset, counted from 1.
    pub fn line(&self, at: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> Error {
        let line = self.line(span.start);
        let start = self.starts[usize::try_from(line).unwrap_or(1).saturating_sub(1)];
        let column = self
            .text
            .get(start..span.start)
            .map_or(0, |before| before.chars().count());
        Error {
            message: message.into(),
            hint: None,
            line,
            column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1),
            span,
        }
    }
}

impl Error {
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
