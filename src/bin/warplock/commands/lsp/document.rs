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
    /// The client's name for it.
    pub uri: Uri,
    /// Its version, as the client numbers them.
    pub version: i32,
    /// The text.
    pub text: String,
    /// The protocol, or what is wrong with it.
    pub loaded: Result<Protocol, Vec<Diagnostic>>,
    /// The verdicts about exactly this text, and the checks of it that are running.
    pub verdicts: Vec<Verdict>,
    lines: Lines,
    index: OnceCell<Option<Index>>,
}

impl Document {
    /// A document that the client has opened.
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

    /// The document after changes, which are applied in order. The new document has no verdicts.
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

    /// The names that the text declares and uses.
    pub fn index(&self) -> Option<&Index> {
        let index = self.index.get_or_init(|| text::index(&self.text));
        index.as_ref()
    }

    /// The byte offset of a position.
    pub fn offset(&self, position: Position) -> usize {
        self.lines.offset(&self.text, position)
    }

    /// The byte offsets of a range.
    pub fn span(&self, range: Range) -> Span {
        self.lines.span(&self.text, range)
    }

    /// The range between two byte offsets.
    pub fn range(&self, span: Span) -> Range {
        self.lines.range(&self.text, span)
    }

    /// The text between two byte offsets.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// The span of a line, counted from 1, without the white space at its ends.
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
