//! Source locations of operations.

/// A line of the author's source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file as the compiler named it.
    pub file: String,
    /// From 1 on.
    pub line: u32,
    /// From 1 on; 0 if unknown.
    pub column: u32,
}

/// The origin of an operation: a line of the text that was read, and the source lines that the compiler names for
/// this line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Location {
    /// The line of the text that was read, from 1 on.
    pub line: u32,
    /// The source lines of the author. The innermost comes first, then the line where it was inlined, and so on.
    pub source: Vec<SourceLine>,
}

impl Location {
    /// The source line that says most to the author, as `file.cu:12`: the line where the innermost inlined function
    /// is called, or the only source line if nothing is inlined. If there is no source line, the line of the text that
    /// was read; `None` if that is unknown, too.
    ///
    /// For example, a wait stands in line 27 of `sync.cuh`, which is inlined in line 111 of `attention.cu`. Line 111
    /// says which of all waits it is.
    ///
    /// A compiler may write any path into a file. Only its last component is shown, without characters that could end
    /// a line or reorder it.
    pub fn shown(&self) -> Option<String> {
        let Some(source) = self.telling() else {
            return (self.line > 0).then(|| format!("line {}", self.line));
        };
        let file = source.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let deceptive = |c: char| {
            c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let file: String = file.chars().filter(|c| !deceptive(*c)).collect();
        Some(format!("{file}:{}", source.line))
    }

    fn telling(&self) -> Option<&SourceLine> {
        self.source.get(1).or(self.source.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_shown_is_where_the_innermost_function_is_called() {
        let shown = |places: &[(&str, u32)]| {
            let source = places.iter().map(|(file, line)| SourceLine {
                file: (*file).to_owned(),
                line: *line,
                column: 0,
            });
            let source = source.collect();
            Location { line: 7, source }.shown().unwrap()
        };
        assert_eq!(
            shown(&[("sync.cuh", 27), ("a.cu", 111), ("a.cu", 194)]),
            "a.cu:111"
        );
        assert_eq!(shown(&[("ring.cu", 37)]), "ring.cu:37");
    }

    #[test]
    fn a_path_is_shown_by_its_last_part_in_one_line() {
        let at = |file: &str| {
            let source = SourceLine {
                file: file.to_owned(),
                line: 3,
                column: 0,
            };
            let location = Location {
                line: 7,
                source: vec![source],
            };
            location.shown().unwrap()
        };
        assert_eq!(at("/home/a/k.cu"), "k.cu:3");
        assert_eq!(
            at("k\nassume 1 == 2 \u{b}\u{202e}.cu"),
            "kassume 1 == 2 .cu:3"
        );
        let line = Location {
            line: 7,
            source: Vec::new(),
        };
        assert_eq!(line.shown().as_deref(), Some("line 7"));
        assert_eq!(Location::default().shown(), None);
    }
}
