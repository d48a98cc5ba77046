//! Reads the text of a term. Only a few places need to look into a term.

use std::fmt;

use super::term;
use super::term::Term;

/// A word, or a parenthesised list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sexpr {
    Word(String),
    List(Vec<Sexpr>),
}

/// The deepest nesting of lists that is read.
const DEEPEST: usize = 400;

impl Sexpr {
    /// Reads a term; `None` if it is nested too deeply or its parentheses do not match.
    pub fn of(term: &Term) -> Option<Sexpr> {
        let text = term.to_string();
        let mut open: Vec<Vec<Sexpr>> = vec![Vec::new()];
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            if first.is_whitespace() {
                rest = &rest[first.len_utf8()..];
            } else if first == '(' {
                if open.len() > DEEPEST {
                    return None;
                }
                open.push(Vec::new());
                rest = &rest[1..];
            } else if first == ')' {
                let done = open.pop()?;
                open.last_mut()?.push(Sexpr::List(done));
                rest = &rest[1..];
            } else {
                let ends = |c: char| c.is_whitespace() || c == '(' || c == ')';
                let end = rest.find(ends).unwrap_or(rest.len());
                open.last_mut()?.push(Sexpr::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
        let mut whole = open.pop().filter(|_| open.is_empty())?;
        let only = whole.pop()?;
        whole.is_empty().then_some(only)
    }

    /// The term.
    pub fn term(&self) -> Term {
        term::name(&self.to_string())
    }

    /// Whether it is an integer literal.
    pub fn is_literal(&self) -> bool {
        self.term().is_literal()
    }
}

impl fmt::Display for Sexpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sexpr::Word(word) => f.write_str(word),
            Sexpr::List(parts) => {
                for (nth, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if nth == 0 { '(' } else { ' ' })?;
                }
                f.write_str(if parts.is_empty() { "()" } else { ")" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_read_as_it_was_written() {
        for text in ["x", "(+ x (- 3))", "(and (<= 0 x) (< x (f y 2)))"] {
            let read = Sexpr::of(&term::name(text)).unwrap();
            assert_eq!(read.to_string(), text);
        }
        for text in ["", "(", ")", "(a", "a)", "a b", "(a) b"] {
            assert_eq!(Sexpr::of(&term::name(text)), None, "{text}");
        }
        let deep = "(".repeat(500) + "x" + &")".repeat(500);
        assert_eq!(Sexpr::of(&term::name(&deep)), None);
    }
}
