//! The layout of text for a terminal: emphasis, width, and how much is shown.

use super::finding::Word;

/// The narrowest terminal to fit lines to.
const NARROWEST: usize = 40;

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use terminal escape sequences.
    pub color: bool,
    /// Whether to print everything rather than what fits on a screen.
    pub verbose: bool,
    /// The width of the terminal. Without one, lines are not broken.
    pub width: Option<usize>,
    /// By how many steps lists are shorter than usual, from 0 to [`Style::SHORTEST`], so that everything fits on a
    /// screen.
    pub shorter: u8,
}

impl Style {
    /// The greatest value of `shorter`.
    pub const SHORTEST: u8 = 2;

    /// Text without emphasis.
    pub const PLAIN: Style = Style {
        color: false,
        verbose: false,
        width: None,
        shorter: 0,
    };

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    /// Something of less importance.
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

    /// Text whose lines are broken at the width of the terminal. The rest of a broken line is indented further.
    pub fn fitted(self, text: &str) -> String {
        let Some(width) = self.width.filter(|width| *width >= NARROWEST) else {
            return text.to_owned();
        };
        let mut out = String::new();
        for line in text.lines() {
            let indent = line.chars().take_while(|c| *c == ' ').count();
            let hang = " ".repeat((indent + 4).min(width / 2));
            let mut column = 0;
            for (number, word) in line.split(' ').enumerate() {
                let length = shown_width(word);
                if number > 0 && column + 1 + length > width && column > indent {
                    out.push('\n');
                    out.push_str(&hang);
                    column = hang.len();
                } else if number > 0 {
                    out.push(' ');
                    column += 1;
                }
                out.push_str(word);
                column += length;
            }
            out.push('\n');
        }
        out
    }

    /// The number of lines that a text takes.
    pub fn height(self, text: &str) -> usize {
        match self.width {
            None => text.lines().count(),
            Some(_) => self.fitted(text).lines().count(),
        }
    }

    fn wrapped(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The number of columns that a word takes. Escape sequences take none.
fn shown_width(word: &str) -> usize {
    let mut width = 0;
    let mut escaped = false;
    for c in word.chars() {
        match (escaped, c) {
            (false, '\u{1b}') => escaped = true,
            (false, _) => width += 1,
            (true, 'm') => escaped = false,
            (true, _) => {}
        }
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_the_width_and_go_on_further_in() {
        let style = Style {
            width: Some(40),
            ..Style::PLAIN
        };
        let text =
            "file.wlk: deadlock: REFUTED at N = 1: nobody arrives at full[0]\n  element  now\n";
        insta::assert_snapshot!(style.fitted(text), @"
        file.wlk: deadlock: REFUTED at N = 1:
            nobody arrives at full[0]
          element  now
        ");
        assert_eq!(Style::PLAIN.fitted(text), text);
    }

    #[test]
    fn emphasis_takes_no_columns() {
        let style = Style {
            color: true,
            width: Some(40),
            ..Style::PLAIN
        };
        let line = format!(
            "{} {}",
            style.bold(&"a".repeat(19)),
            style.bold(&"b".repeat(20))
        );
        assert_eq!(style.fitted(&line).lines().count(), 1);
        let line = format!(
            "{} {}",
            style.bold(&"a".repeat(20)),
            style.bold(&"b".repeat(20))
        );
        assert_eq!(style.fitted(&line).lines().count(), 2);
    }
}
