//! The location of a line of a protocol for a report: in the kernel's source, in its compiled text, or in the protocol's
//! own file.

use super::finding::Finding;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl Finding {
    /// The place that the finding is about; the beginning of its file if there is none.
    pub fn place(&self) -> Place {
        if let Some(place) = self.source_line.as_deref().and_then(parsed) {
            return place;
        }
        let counted_elsewhere = self
            .kernel
            .as_ref()
            .is_some_and(|kernel| kernel.text.is_some());
        Place {
            file: self.own_file().to_owned(),
            line: self.line.filter(|_| !counted_elsewhere).unwrap_or(1),
        }
    }

    /// The place of a line of the protocol's text, if it has one.
    pub fn place_of(&self, line: usize) -> Option<Place> {
        let Some(kernel) = &self.kernel else {
            let file = self.file.clone();
            return Some(Place { file, line });
        };
        let text = self.source.lines().nth(line.checked_sub(1)?)?;
        let named = named(text).and_then(|place| parsed(&place));
        named.or_else(|| {
            let line = kernel.lines.get(line.checked_sub(1)?).copied().flatten()?;
            if kernel.text.is_some() {
                return None;
            }
            let file = kernel.file.clone();
            Some(Place { file, line })
        })
    }

    /// The source files that comments of the protocol's text name, each once.
    pub fn source_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if self.kernel.is_none() {
            return names;
        }
        let places = self.source.lines().filter_map(named);
        for place in places.filter_map(|place| parsed(&place)) {
            if !names.contains(&place.file) {
                names.push(place.file);
            }
        }
        names
    }

    /// The source line that a line of the protocol's text comes from: the position of the source file among the known ones, and
    /// the line.
    pub(super) fn source_of(&self, line: usize) -> Option<(usize, usize)> {
        self.kernel.as_ref()?;
        let text = self.source.lines().nth(line.checked_sub(1)?)?;
        let place = parsed(&named(text)?)?;
        let mut sources = self.sources.iter();
        let at = sources.position(|source| source.file == place.file)?;
        Some((at, place.line))
    }

    /// The line of the compiled text that a line of the protocol's text comes from.
    pub(super) fn compiled_line(&self, line: usize) -> Option<usize> {
        let kernel = self.kernel.as_ref()?;
        kernel.lines.get(line.checked_sub(1)?).copied().flatten()
    }

    /// The file, without the name of an entry point.
    pub fn own_file(&self) -> &str {
        let kernel = self.kernel.as_ref();
        kernel.map_or(&self.file, |kernel| &kernel.file)
    }
}

/// The place in the kernel's source that the comment after a line of a recovered protocol names.
pub fn named(text: &str) -> Option<String> {
    let (_, place) = text.rsplit_once("// ")?;
    parsed(place).map(|_| place.trim().to_owned())
}

/// `ring.cu:25`.
fn parsed(place: &str) -> Option<Place> {
    let (file, line) = place.trim().rsplit_once(':')?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    (!file.is_empty()).then(|| Place {
        file: file.to_owned(),
        line,
    })
}
