//! The syntax of locations.

use super::error::Error;
use super::lex::TokenKind;
use super::location::LocationText;
use super::parse::Parser;

impl<'a> Parser<'a> {
    /// `loc(...)`.
    pub(super) fn location(&mut self) -> Result<LocationText<'a>, Error> {
        self.expect("loc")?;
        self.expect("(")?;
        let location = self.location_body()?;
        self.expect(")")?;
        Ok(location)
    }

    fn location_body(&mut self) -> Result<LocationText<'a>, Error> {
        self.enter()?;
        let word = self.word(0);
        let location = match self.kind(0) {
            Some(TokenKind::Hash) => {
                self.at += 1;
                LocationText::Alias(word)
            }
            Some(TokenKind::String) => {
                self.at += 1;
                let text = &word[1..word.len() - 1];
                if self.accept(":") {
                    let line = self.location_number()?;
                    let column = if self.accept(":") {
                        self.location_number()?
                    } else {
                        0
                    };
                    if self.accept("to") {
                        while self.accept(":") || self.kind(0) == Some(TokenKind::Number) {
                            self.at += usize::from(self.kind(0) == Some(TokenKind::Number));
                        }
                    }
                    LocationText::File {
                        file: text,
                        line,
                        column,
                    }
                } else if self.accept("(") {
                    let child = self.location_body()?;
                    self.expect(")")?;
                    LocationText::Name(text, Some(Box::new(child)))
                } else {
                    LocationText::Name(text, None)
                }
            }
            Some(TokenKind::Word) if word == "unknown" => {
                self.at += 1;
                LocationText::Unknown
            }
            Some(TokenKind::Word) if word == "callsite" => {
                self.at += 1;
                self.expect("(")?;
                let callee = Box::new(self.location_body()?);
                self.expect("at")?;
                let caller = Box::new(self.location_body()?);
                self.expect(")")?;
                LocationText::CallSite { callee, caller }
            }
            Some(TokenKind::Word) if word == "fused" => {
                self.at += 1;
                if self.word(0) == "<" {
                    self.item()?;
                }
                self.expect("[")?;
                let mut parts = Vec::new();
                while !self.accept("]") {
                    parts.push(self.location_body()?);
                    if !self.accept(",") {
                        self.expect("]")?;
                        break;
                    }
                }
                LocationText::Fused(parts)
            }
            // Some printers write `loc(loc(...))` for a nested location.
            Some(TokenKind::Word) if word == "loc" => self.location()?,
            _ => return self.refuse("expected a location"),
        };
        self.leave();
        Ok(location)
    }

    fn location_number(&mut self) -> Result<u32, Error> {
        let Ok(number) = self.word(0).parse() else {
            return self.refuse("expected a line or column");
        };
        self.at += 1;
        Ok(number)
    }
}
