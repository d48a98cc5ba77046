//! Converts between byte offsets and the positions of the LSP: lines, and UTF-16 units within a line.

use lsp_types::Position;
use lsp_types::Range;
use warplock::protocol::Span;

/// The byte offsets at which the lines of a text begin.
#[derive(Debug, Clone, Default)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// The lines of a text, which end with `\n`, `\r\n` or `\r`.
    pub fn of(text: &str) -> Lines {
        let begin = (1..=text.len()).filter(|at| begins(text, *at));
        Lines([0].into_iter().chain(begin).collect())
    }

    /// Updates the lines after `span` was replaced. `text` is the new text, and the replacement ends at byte `end` of
    /// it.
    pub fn replace(&mut self, text: &str, span: Span, end: usize) {
        let kept = self.0.partition_point(|start| *start < span.start.max(1));
        let behind = self.0.iter().filter(|start| **start > span.end);
        let behind: Vec<usize> = behind.map(|start| start - span.end + end).collect();
        self.0.truncate(kept);
        let begin = (span.start.max(1)..=end).filter(|at| begins(text, *at));
        self.0.extend(begin);
        self.0.extend(behind);
    }

    /// The position of a byte of the text.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = floor(text, offset);
        let line = self.0.partition_point(|start| *start <= offset);
        let line = line.saturating_sub(1);
        let start = self.0.get(line).copied().unwrap_or(0);
        let before = text.get(start..offset).unwrap_or("");
        Position {
            line: number(line),
            character: number(before.encode_utf16().count()),
        }
    }

    /// The byte of the text at a position. A position past the end of a line is the end of the line, and one past
    /// the text is the end of the text.
    pub fn offset(&self, text: &str, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(start) = self.0.get(line).copied() else {
            return text.len();
        };
        let end = line.checked_add(1).and_then(|next| self.0.get(next));
        let line = text.get(start..end.copied().unwrap_or(text.len()));
        let line = line.unwrap_or("").trim_end_matches(['\n', '\r']);
        let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
        let mut offset = start;
        for c in line.chars() {
            // A position inside a pair of units is before it.
            let Some(rest) = left.checked_sub(c.len_utf16()) else {
                break;
            };
            left = rest;
            offset += c.len_utf8();
        }
        offset
    }

    /// The range of a span.
    pub fn range(&self, text: &str, span: Span) -> Range {
        Range {
            start: self.position(text, span.start),
            end: self.position(text, span.end),
        }
    }

    /// The span of a range. The ends of the range may be in either order.
    pub fn span(&self, text: &str, range: Range) -> Span {
        let ends = [range.start, range.end].map(|end| self.offset(text, end));
        Span {
            start: ends[0].min(ends[1]),
            end: ends[0].max(ends[1]),
        }
    }
}

/// Whether a line begins at a byte other than the first. Only this byte and the one before it matter.
fn begins(text: &str, at: usize) -> bool {
    let byte = |at: usize| text.as_bytes().get(at);
    match at.checked_sub(1).and_then(byte) {
        Some(b'\n') => true,
        Some(b'\r') => byte(at) != Some(&b'\n'),
        _ => false,
    }
}

/// The last character boundary at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\r\n// Größe 😀 x\nlast\rold";

    #[test]
    fn characters_are_counted_in_units_of_utf_16() {
        let lines = Lines::of(TEXT);
        let x = TEXT.find(" x").unwrap() + 1;
        let position = lines.position(TEXT, x);
        assert_eq!((position.line, position.character), (1, 12));
        assert_eq!(lines.offset(TEXT, position), x);
        // Inside the pair of units of one character.
        let inside = Position::new(1, 10);
        assert_eq!(lines.offset(TEXT, inside), TEXT.find('😀').unwrap());
        assert_eq!(lines.position(TEXT, TEXT.len()), Position::new(3, 3));
    }

    #[test]
    fn every_place_comes_back() {
        let lines = Lines::of(TEXT);
        for (offset, c) in TEXT.char_indices().filter(|(_, c)| *c != '\n') {
            let position = lines.position(TEXT, offset);
            assert_eq!(lines.offset(TEXT, position), offset, "{c:?}");
        }
    }

    #[test]
    fn lines_after_a_change_are_those_of_the_text() {
        for before in ["", "\n", "\r", "a\r\nb\n\rc\r", "\r\n\r\n"] {
            for new in ["", "x", "\n", "\r", "\r\n", "\n\r", "x\ry\nz"] {
                for end in 0..=before.len() {
                    for start in 0..=end {
                        let mut text = before.to_owned();
                        text.replace_range(start..end, new);
                        let mut lines = Lines::of(before);
                        lines.replace(&text, Span { start, end }, start + new.len());
                        assert_eq!(
                            lines.0,
                            Lines::of(&text).0,
                            "{before:?} {start}..{end} {new:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn places_outside_are_moved_inside() {
        let lines = Lines::of(TEXT);
        assert_eq!(lines.offset(TEXT, Position::new(0, 99)), 1);
        assert_eq!(lines.offset(TEXT, Position::new(99, 0)), TEXT.len());
        assert_eq!(
            lines.offset(TEXT, Position::new(u32::MAX, u32::MAX)),
            TEXT.len()
        );
        assert_eq!(Lines::default().offset("", Position::new(3, 1)), 0);
        let backwards = Range::new(Position::new(2, 2), Position::new(0, 0));
        assert_eq!(lines.span(TEXT, backwards).start, 0);
    }
}
