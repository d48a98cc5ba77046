//! An open document, and what the server knows about it.

use std::cell::OnceCell;

use lsp_types::Position;
use lsp_types::Range;
use lsp_types::TextDocumentContentChangeEvent;
use lsp_types::Uri;
use warplock::protocol::Protocol;
use warplock::protocol::Span;
use warplock::text;
use warplock::text::Diagnostic;
use warplock::text::Index;

use super::positions::Lines;
use super::verdicts::Verdict;

/// An open text.
pub struct Document {
    /// What the client calls it.
    pub uri: Uri,
    /// Its version, as the client counts.
    pub version: i32,
    /// The text.
    pub text: String,
    /// The protocol, or what is wrong with it.
    pub loaded: Result<Protocol, Vec<Diagnostic>>,
    /// What was decided of this very text, and what is being decided.
    pub verdicts: Vec<Verdict>,
    lines: Lines,
    index: OnceCell<Option<Index>>,
}

impl Document {
    /// A text that was opened.
    pub fn new(uri: Uri, version: i32, text: String) -> Document {
        let lines = Lines::of(&text);
        Document::with_lines(uri, version, text, lines)
    }

    fn with_lines(uri: Uri, version: i32, text: String, lines: Lines) -> Document {
        Document {
            uri,
            version,
            loaded: text::load(text.as_bytes()),
            lines,
            text,
            verdicts: Vec::new(),
            index: OnceCell::new(),
        }
    }

    /// The text after changes, in their order. What was decided of it is forgotten.
    pub fn changed(&self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) -> Document {
        let mut text = self.text.clone();
        let mut lines = self.lines.clone();
        for change in changes {
            match change.range {
                None => {
                    text = change.text;
                    lines = Lines::of(&text);
                }
                Some(range) => {
                    let span = lines.span(&text, range);
                    text.replace_range(span.start..span.end, &change.text);
                    lines.replace(&text, span, span.start + change.text.len());
                }
            }
        }
        Document::with_lines(self.uri.clone(), version, text, lines)
    }

    /// The names of the text.
    pub fn index(&self) -> Option<&Index> {
        let index = self.index.get_or_init(|| text::index(&self.text));
        index.as_ref()
    }

    /// The byte at a position.
    pub fn offset(&self, position: Position) -> usize {
        self.lines.offset(&self.text, position)
    }

    /// The bytes of a range.
    pub fn span(&self, range: Range) -> Span {
        self.lines.span(&self.text, range)
    }

    /// The range of some bytes.
    pub fn range(&self, span: Span) -> Range {
        self.lines.range(&self.text, span)
    }

    /// What stands in some bytes.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// A line, counted from 1, without the spaces around what stands in it.
    pub fn line(&self, number: usize) -> Span {
        let mut start = 0;
        for (at, line) in self.text.split_inclusive('\n').enumerate() {
            if at + 1 == number {
                let shown = line.trim();
                start += line.len() - line.trim_start().len();
                let end = start + shown.len();
                return Span { start, end };
            }
            start += line.len();
        }
        Span { start, end: start }
    }
}
