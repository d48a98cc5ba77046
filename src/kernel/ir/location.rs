//! Where an operation comes from.

/// A line of the author's source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file as the compiler named it.
    pub file: String,
    /// From 1 on.
    pub line: u32,
    /// From 1 on, or 0 where it is not known.
    pub column: u32,
}

/// Where an operation comes from: a line of the text that was read, and the source lines that the
/// compiler names for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Location {
    /// The line of the text that was read, from 1 on.
    pub line: u32,
    /// The author's lines, the innermost first, then where that was inlined, and so on.
    pub source: Vec<SourceLine>,
}
