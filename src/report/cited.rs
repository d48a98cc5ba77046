//! Sentences that cite lines of a protocol's text. The reader sees such a line itself, or the kernel line that it was
//! recovered from.

use std::fmt;
use std::fmt::Write;

use serde::Serialize;

/// The place of a line of a recovered protocol in its kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cited {
    /// The file and line of the kernel's source, if debug information is present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The line of the compiled text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Cited {
    /// A line of the protocol's own text.
    pub fn own(line: usize) -> Cited {
        Cited {
            source: None,
            line: Some(line),
        }
    }

    /// The text in parentheses; none if there is no line to name.
    fn aside(&self) -> Option<String> {
        match (&self.source, self.line) {
            (Some(source), Some(line)) => Some(format!("{source}, line {line}")),
            (Some(source), None) => Some(source.clone()),
            (None, Some(line)) => Some(format!("line {line}")),
            (None, None) => None,
        }
    }

    /// The shortest form.
    fn brief(&self) -> Option<String> {
        match (&self.source, self.line) {
            (Some(source), _) => Some(source.clone()),
            (None, Some(line)) => Some(format!("line {line}")),
            (None, None) => None,
        }
    }
}

/// The name of a line of a protocol's text in a list. `kernel` is the line of the kernel that it comes from, if the protocol
/// is recovered from one.
pub fn called(line: usize, kernel: Option<&Cited>) -> String {
    match kernel {
        None => format!("line {line}"),
        Some(cited) => cited.brief().unwrap_or_else(|| of_protocol(line)),
    }
}

fn of_protocol(line: usize) -> String {
    format!("line {line} of the protocol")
}

/// A stretch of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A line of the protocol's text, from 1, in parentheses.
    Aside(usize),
    /// The same as part of the sentence.
    Line(usize),
}

/// A sentence that mentions lines of the protocol's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentence {
    parts: Vec<Part>,
}

/// Marks a line of the protocol's text inside a text that [`Sentence::of`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line(pub usize);

/// The characters before and after the number of a line. No name contains them.
const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", MARKS[0], self.0, MARKS[1])
    }
}

impl Sentence {
    /// Reads a text. Each [`Line`] in it becomes a mention.
    pub fn of(text: &str) -> Sentence {
        let mut sentence = Sentence::default();
        for (at, piece) in text.split(MARKS).enumerate() {
            // Marks come in pairs, so every second piece is a number.
            sentence.parts.push(match piece.parse() {
                Ok(line) if at % 2 == 1 => Part::Line(line),
                _ => Part::Text(piece.to_owned()),
            });
        }
        sentence
    }

    /// Appends a text.
    pub fn text(mut self, text: impl Into<String>) -> Sentence {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Appends a line in parentheses.
    pub fn line(mut self, line: usize) -> Sentence {
        self.parts.push(Part::Aside(line));
        self
    }

    /// Appends a sentence.
    pub fn and(mut self, other: Sentence) -> Sentence {
        self.parts.extend(other.parts);
        self
    }

    /// The sentence for a reader of the protocol's text.
    pub fn plain(&self) -> String {
        self.say(Cited::own)
    }

    /// The sentence, with each line of the protocol's text replaced by what `cited` gives. A mention in parentheses
    /// is omitted if `cited` gives no line.
    pub fn say(&self, cited: impl Fn(usize) -> Cited) -> String {
        let mut out = String::new();
        let mut named = Vec::new();
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _ = match part {
                Part::Text(text) => write!(out, "{text}"),
                Part::Aside(line) => match cited(*line).aside() {
                    Some(place) => write!(out, " ({place})"),
                    None => Ok(()),
                },
                Part::Line(line) => {
                    let place = cited(*line);
                    let brief = place.brief().unwrap_or_else(|| of_protocol(*line));
                    match (&place.source, place.line) {
                        (Some(_), Some(compiled)) if !named.contains(line) => {
                            write!(out, "{brief} (line {compiled})")
                        }
                        _ => write!(out, "{brief}"),
                    }
                }
            };
            if let Part::Line(line) = part {
                named.push(*line);
            }
        }
        out
    }
}
