//! The syntax of types.

use std::rc::Rc;

use super::error::Error;
use super::lex::TokenKind;
use super::parse::Parser;
use super::types::Type;

impl<'a> Parser<'a> {
    /// Reads from `<` to the matching `>`, and returns the text between.
    pub(super) fn angles(&mut self) -> Result<&'a str, Error> {
        let begin = self.span();
        let mut depth = 0_u32;
        while self.at < self.tokens.len() {
            match self.word(0) {
                "<" => depth += 1,
                ">" => depth -= 1,
                _ => {}
            }
            let end = self.span().start;
            self.at += 1;
            if depth == 0 {
                return Ok(self.text[begin.end..end].trim());
            }
        }
        Err(self.lines.error(begin, "'<' without '>'"))
    }

    /// A type. An alias is replaced by its type.
    pub(super) fn ty(&mut self) -> Result<Rc<Type>, Error> {
        let begin = self.span();
        let word = self.word(0);
        match self.kind(0) {
            Some(TokenKind::Type) => {
                self.at += 1;
                let name = &word[1..];
                if self.word(0) == "<" {
                    let body = self.angles()?;
                    return Ok(Type::new(name, body));
                }
                Ok(self
                    .aliases
                    .get(name)
                    .cloned()
                    .unwrap_or_else(|| Type::new(name, "")))
            }
            Some(TokenKind::Word) => {
                self.at += 1;
                let body = if self.word(0) == "<"
                    && matches!(word, "vector" | "tensor" | "memref" | "tuple" | "complex")
                {
                    self.angles()?
                } else {
                    ""
                };
                Ok(Type::new(word, body))
            }
            _ if word == "(" => {
                // A function type: kept as text.
                self.group()?;
                if self.kind(0) == Some(TokenKind::Arrow) {
                    self.at += 1;
                    self.ty()?;
                }
                let end = self.tokens[self.at - 1].span.end;
                Ok(Type::new("function", &self.text[begin.start..end]))
            }
            _ => self.refuse("expected a type"),
        }
    }
}
