//! Lines of formatted text that include the comments of the original.
//!
//! A comment on a line of its own stays before the code that followed it. A comment after code stays behind this code
//! if the comment followed the last token of the line; otherwise it moves before the line. At most one blank line of
//! the original is kept. Comments behind adjacent lines are aligned.

use crate::text::token::Comment;

/// Spaces per level of nesting.
const INDENT: usize = 4;

/// Builds the lines of a text.
pub(super) struct Lines<'s> {
    source: &'s str,
    /// Comments that have not been placed yet.
    comments: &'s [Comment],
    lines: Vec<Line>,
    depth: usize,
    /// Whether a blank line separates the next line from the one before it.
    apart: bool,
}

struct Line {
    depth: usize,
    /// Empty when the comment stands alone.
    text: String,
    comment: String,
    /// Whether a blank line stands before it.
    apart: bool,
}

impl<'s> Lines<'s> {
    pub(super) fn new(source: &'s str, comments: &'s [Comment]) -> Lines<'s> {
        Lines {
            source,
            comments,
            lines: Vec::new(),
            depth: 0,
            apart: false,
        }
    }

    /// Separates the next line, or the comments before it, from the line before by a blank line.
    pub(super) fn set_apart(&mut self) {
        self.apart = true;
    }

    /// Adds the line for the original bytes from `start` to `end`.
    pub(super) fn line(&mut self, text: String, start: usize, end: usize) {
        self.comments_before(end);
        self.push(text, String::new(), start);
        if let Some((comment, rest)) = self.comments.split_first()
            && !comment.own_line
            && comment.after == end
        {
            self.comments = rest;
            let text = self.text(comment);
            if let Some(line) = self.lines.last_mut() {
                line.comment = text;
            }
        }
    }

    /// Adds the comments before a byte of the original, each on a line of its own.
    pub(super) fn comments_before(&mut self, end: usize) {
        while let Some((comment, rest)) = self.comments.split_first()
            && comment.span.start < end
        {
            self.comments = rest;
            let text = self.text(comment);
            self.push(String::new(), text, comment.span.start);
        }
    }

    /// Whether a comment that is not placed yet stands before a byte of the original.
    pub(super) fn has_comment_before(&self, end: usize) -> bool {
        self.comments.first().is_some_and(|c| c.span.start < end)
    }

    pub(super) fn indent(&mut self) {
        self.depth += 1;
    }

    pub(super) fn outdent(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> String {
        self.comments_before(usize::MAX);
        let mut out = String::new();
        let mut column = 0;
        for (at, line) in self.lines.iter().enumerate() {
            let opened = at.checked_sub(1).is_none_or(|b| self.lines[b].opens());
            if line.apart && !opened && !line.closes() {
                out.push('\n');
            }
            if !self.continues(at) {
                column = self.comment_column(at);
            }
            let start = out.len();
            out.extend(std::iter::repeat_n(' ', line.depth * INDENT));
            out.push_str(&line.text);
            if !line.text.is_empty() && !line.comment.is_empty() {
                let width = out.len() - start;
                out.extend(std::iter::repeat_n(' ', column.saturating_sub(width)));
            }
            out.push_str(&line.comment);
            out.push('\n');
        }
        out
    }

    /// Whether the comment after a line is aligned with that of the line before.
    fn continues(&self, at: usize) -> bool {
        at > 0
            && !self.lines[at].apart
            && !self.lines[at].closes()
            && !self.lines[at - 1].opens()
            && self.lines[at].depth == self.lines[at - 1].depth
            && self.lines[at].has_both()
            && self.lines[at - 1].has_both()
    }

    /// The column in which the comments of the lines from this one on begin.
    fn comment_column(&self, first: usize) -> usize {
        let run = (first + 1..self.lines.len())
            .take_while(|at| self.continues(*at))
            .count();
        self.lines[first..=first + run]
            .iter()
            .map(|line| line.depth * INDENT + line.text.len() + 2)
            .max()
            .unwrap_or(0)
    }

    fn text(&self, comment: &Comment) -> String {
        let span = comment.span;
        let text = self.source.get(span.start..span.end).unwrap_or_default();
        text.trim_end().to_owned()
    }

    fn push(&mut self, text: String, comment: String, start: usize) {
        let before = self.source.get(..start).unwrap_or_default();
        let gap = &before[before.trim_end().len()..];
        let apart = self.apart || gap.bytes().filter(|b| *b == b'\n').count() > 1;
        self.apart = false;
        self.lines.push(Line {
            depth: self.depth,
            text,
            comment,
            apart,
        });
    }
}

impl Line {
    fn has_both(&self) -> bool {
        !self.text.is_empty() && !self.comment.is_empty()
    }

    /// Whether a block ends with it.
    fn closes(&self) -> bool {
        self.text.starts_with('}')
    }

    /// Whether a block begins with it.
    fn opens(&self) -> bool {
        self.text.ends_with('{')
    }
}
