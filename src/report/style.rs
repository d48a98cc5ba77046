//! Emphasis for terminals, or none.

use super::finding::Word;

/// How text is emphasised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use terminal escape sequences.
    pub color: bool,
}

impl Style {
    /// Text without emphasis.
    pub const PLAIN: Style = Style { color: false };

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    /// Something beside the point.
    pub fn dim(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    /// Something wrong.
    pub fn bad(self, text: &str) -> String {
        self.wrapped("1;31", text)
    }

    /// A verdict word.
    pub fn verdict(self, word: Word) -> String {
        let code = match word {
            Word::Proved => "1;32",
            Word::Refuted => "1;31",
            Word::Bounded | Word::Unknown => "1;33",
        };
        self.wrapped(code, word.as_str())
    }

    fn wrapped(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
