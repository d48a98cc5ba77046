//! Parses tokens into the tree of operations.
//!
//! Printed MLIR has one operation per line. So an operation ends where the next token begins a line and can begin an
//! operation. The names of values are resolved here. Names that a header defines for its regions (`%i = ...`, or `%x:
//! type` in brackets) are visible only in these regions.

use std::collections::HashMap;
use std::ops::Range;

use super::error::Error;
use super::error::Lines;
use super::lex::Token;
use super::lex::TokenKind;
use super::location;
use super::location::LocationText;
use super::syntax::Block;
use super::syntax::Group;
use super::syntax::Item;
use super::syntax::Operation;
use super::syntax::Region;
use super::syntax::ValueId;
use super::syntax::arguments_of;
use super::types;

/// The deepest nesting of brackets and regions.
const MAX_DEPTH: u32 = 128;

/// A text as a tree, and the meaning of its aliases.
#[derive(Debug)]
pub struct Tree<'a> {
    pub operations: Vec<Operation<'a>>,
    pub locations: location::Aliases<'a>,
    /// The name of each value in the text, and its location if it has one of its own.
    pub values: Vec<ValueText<'a>>,
}

#[derive(Debug, Clone)]
pub struct ValueText<'a> {
    pub name: &'a str,
    /// Its number among the results that share the name.
    pub number: u32,
    pub location: Option<LocationText<'a>>,
}

pub fn parse<'a>(
    text: &'a str,
    tokens: &'a [Token],
    lines: &'a Lines<'a>,
) -> Result<Tree<'a>, Error> {
    let mut parser = Parser {
        text,
        tokens,
        lines,
        at: 0,
        depth: 0,
        aliases: types::Aliases::new(),
        locations: location::Aliases::new(),
        values: Vec::new(),
        scopes: vec![HashMap::new()],
    };
    let mut operations = Vec::new();
    while parser.at < tokens.len() {
        if !parser.alias()? {
            operations.push(parser.operation()?);
        }
    }
    Ok(Tree {
        operations,
        locations: parser.locations,
        values: parser.values,
    })
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) lines: &'a Lines<'a>,
    pub(super) at: usize,
    depth: u32,
    pub(super) aliases: types::Aliases,
    pub(super) locations: location::Aliases<'a>,
    values: Vec<ValueText<'a>>,
    /// For each scope, the first of the results that share a name, and their number.
    scopes: Vec<HashMap<&'a str, (ValueId, u32)>>,
}

impl<'a> Parser<'a> {
    pub(super) fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.tokens.get(self.at + ahead).map(|token| token.kind)
    }

    pub(super) fn word(&self, ahead: usize) -> &'a str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| &self.text[token.span.clone()])
    }

    pub(super) fn span(&self) -> Range<usize> {
        let end = self.text.len();
        self.tokens
            .get(self.at)
            .map_or(end..end, |token| token.span.clone())
    }

    fn first(&self) -> bool {
        self.tokens.get(self.at).is_none_or(|token| token.first)
    }

    pub(super) fn refuse<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(self.lines.error(self.span(), message))
    }

    pub(super) fn accept(&mut self, text: &str) -> bool {
        let found = self.word(0) == text && self.at < self.tokens.len();
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Error> {
        if self.accept(text) {
            return Ok(());
        }
        let found = match self.word(0) {
            "" => "the end of the text",
            other => other,
        };
        self.refuse(format!("expected '{text}', found '{found}'"))
    }

    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.refuse("brackets are nested too deeply");
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// `!name = type`, `#name = loc(...)`, `#name = attribute`, `{-# ... #-}`.
    fn alias(&mut self) -> Result<bool, Error> {
        if self.kind(0) == Some(TokenKind::ResourceOpen) {
            while self.at < self.tokens.len() {
                self.at += 1;
                if self.kind(0) == Some(TokenKind::ResourceClose) {
                    self.at += 1;
                    return Ok(true);
                }
            }
            return self.refuse("'{-#' without '#-}'");
        }
        let alias = matches!(self.kind(0), Some(TokenKind::Type | TokenKind::Hash));
        if !alias || self.word(1) != "=" {
            return Ok(false);
        }
        let name = self.word(0);
        self.at += 2;
        if let Some(name) = name.strip_prefix('!') {
            let ty = self.ty()?;
            self.aliases.insert(name.to_owned(), ty);
        } else if self.word(0) == "loc" && self.word(1) == "(" {
            let location = self.location()?;
            self.locations.insert(name, location);
        } else {
            // Attributes are not looked up, because everything that matters about them is in operations.
            while self.at < self.tokens.len() && !(self.first() && self.begins_line()) {
                self.item()?;
            }
        }
        Ok(true)
    }

    /// Whether the token can begin an operation or an alias, or ends a region.
    fn begins_line(&self) -> bool {
        match self.kind(0) {
            None | Some(TokenKind::Value | TokenKind::Label | TokenKind::ResourceOpen) => true,
            Some(TokenKind::String) => self.word(1) == "(",
            Some(TokenKind::Type | TokenKind::Hash) => self.word(1) == "=",
            Some(TokenKind::Word) => {
                let word = self.word(0);
                word.contains('.') || matches!(word, "module" | "return" | "func" | "call")
            }
            _ => self.word(0) == "}",
        }
    }

    fn operation(&mut self) -> Result<Operation<'a>, Error> {
        self.enter()?;
        let begin = self.span().start;
        let mut names = Vec::new();
        if self.kind(0) == Some(TokenKind::Value) {
            loop {
                if self.kind(0) != Some(TokenKind::Value) {
                    return self.refuse("expected the name of a result");
                }
                let name = self.word(0);
                self.at += 1;
                let mut count = 1;
                if self.accept(":") {
                    count = match self.word(0).parse() {
                        Ok(count) if count <= 4096 => count,
                        _ => return self.refuse("expected a number of results"),
                    };
                    self.at += 1;
                }
                names.push((name, count));
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("=")?;
        }
        let name = match self.kind(0) {
            Some(TokenKind::Word) => self.word(0),
            Some(TokenKind::String) => self.word(0).trim_matches('"'),
            _ => return self.refuse("expected an operation"),
        };
        self.at += 1;

        self.scopes.push(HashMap::new());
        let mut items = Vec::new();
        let mut location = None;
        let mut end = begin;
        while self.at < self.tokens.len() {
            let continued = matches!(
                items.last(),
                Some(Item::Mark("," | ":" | "->" | "=" | "::"))
            );
            if self.first() && !continued && self.begins_line() {
                break;
            }
            if matches!(self.word(0), "}" | ")" | "]") {
                break;
            }
            match self.item()? {
                Item::Location(found) => location = Some(found),
                item => items.push(item),
            }
            end = self.tokens[self.at - 1].span.end;
        }
        self.scopes.pop();
        let mut results = Vec::new();
        for (name, count) in names {
            let first = self.define(name, count, None);
            results.extend((0..count).map(|number| ValueId(first.0 + number)));
        }
        self.leave();
        Ok(Operation {
            results,
            name,
            items,
            span: begin..end,
            location,
        })
    }

    fn define(&mut self, name: &'a str, count: u32, location: Option<LocationText<'a>>) -> ValueId {
        let first = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        for number in 0..count {
            self.values.push(ValueText {
                name,
                number,
                location: location.clone(),
            });
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, (first, count));
        }
        first
    }

    fn find(&self, name: &str) -> Option<(ValueId, u32)> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).copied())
    }

    fn value(&mut self) -> Result<Item<'a>, Error> {
        let name = self.word(0);
        // A header defines names for its regions: `%i = %c0`, and `%x: type` in brackets.
        let defines = self.word(1) == "=" || (self.word(1) == ":" && self.find(name).is_none());
        if defines {
            self.at += 1;
            let value = self.define(name, 1, None);
            return Ok(Item::Value(value));
        }
        let Some((first, count)) = self.find(name) else {
            return self.refuse(format!("{name} is not defined here"));
        };
        self.at += 1;
        let mut number = 0;
        if self.kind(0) == Some(TokenKind::Hash)
            && self.tokens[self.at - 1].span.end == self.span().start
        {
            number = match self.word(0)[1..].parse() {
                Ok(number) if number < count => number,
                _ => return self.refuse(format!("{name} has {count} values")),
            };
            self.at += 1;
        }
        Ok(Item::Value(ValueId(first.0 + number)))
    }

    /// One piece of an operation.
    pub(super) fn item(&mut self) -> Result<Item<'a>, Error> {
        let Some(kind) = self.kind(0) else {
            return self.refuse("the text ends in the middle of an operation");
        };
        let word = self.word(0);
        let item = match kind {
            TokenKind::Value => return self.value(),
            TokenKind::Type => Item::Type(self.ty()?),
            TokenKind::Word if word == "loc" && self.word(1) == "(" => {
                Item::Location(self.location()?)
            }
            TokenKind::Word if types::is_builtin(word) && self.word(1) != "=" => {
                Item::Type(self.ty()?)
            }
            TokenKind::Word => {
                self.at += 1;
                Item::Word(word)
            }
            TokenKind::Number => {
                self.at += 1;
                Item::Number(word)
            }
            TokenKind::String => {
                self.at += 1;
                Item::Text(&word[1..word.len() - 1])
            }
            TokenKind::Symbol => {
                self.at += 1;
                Item::Symbol(word[1..].trim_matches('"'))
            }
            TokenKind::Label => {
                self.at += 1;
                Item::Label(word)
            }
            TokenKind::Hash => {
                self.at += 1;
                let body = if self.word(0) == "<" {
                    self.angles()?
                } else {
                    ""
                };
                Item::Attribute {
                    name: &word[1..],
                    body,
                }
            }
            TokenKind::Arrow => {
                self.at += 1;
                Item::Mark("->")
            }
            TokenKind::Path => {
                self.at += 1;
                Item::Mark("::")
            }
            TokenKind::ResourceOpen | TokenKind::ResourceClose => {
                return self.refuse(format!("'{word}' does not belong here"));
            }
            TokenKind::Mark => match word {
                "{" if self.is_region() => Item::Region(self.region()?),
                "(" | "[" | "{" | "<" => Item::Group(self.group()?),
                "-" if self.kind(1) == Some(TokenKind::Number) => {
                    let begin = self.span().start;
                    self.at += 1;
                    let end = self.span().end;
                    self.at += 1;
                    Item::Number(&self.text[begin..end])
                }
                ")" | "]" | "}" | ">" => {
                    return self.refuse(format!("'{word}' closes nothing"));
                }
                _ => {
                    self.at += 1;
                    Item::Mark(word)
                }
            },
        };
        Ok(item)
    }

    /// A `{` opens a region if an operation, a label or the end of the region follows on the next line.
    fn is_region(&self) -> bool {
        let Some(next) = self.tokens.get(self.at + 1) else {
            return false;
        };
        match next.kind {
            TokenKind::Value | TokenKind::Label => true,
            TokenKind::String => self.word(2) == "(",
            TokenKind::Word => {
                let word = self.word(1);
                let attribute = matches!(self.word(2), "=" | "," | "}");
                (word.contains('.') && !attribute)
                    || (next.first && (word.contains('.') || matches!(word, "return" | "module")))
            }
            // `{` and `}` on lines of their own.
            TokenKind::Mark => self.word(1) == "}" && next.first,
            _ => false,
        }
    }

    pub(super) fn group(&mut self) -> Result<Group<'a>, Error> {
        self.enter()?;
        let open = self.word(0);
        let close = match open {
            "(" => ")",
            "[" => "]",
            "{" => "}",
            _ => ">",
        };
        let begin = self.span();
        self.at += 1;
        let mut items = Vec::new();
        let mut last_value = None;
        while !self.accept(close) {
            if self.at >= self.tokens.len() {
                return Err(self
                    .lines
                    .error(begin, format!("'{open}' without '{close}'")));
            }
            let item = self.item()?;
            match item {
                // An argument's own location: `%x: type loc(...)`.
                Item::Location(location) => {
                    if let Some(ValueId(value)) = last_value
                        && let Some(value) = self.values.get_mut(value as usize)
                    {
                        value.location = Some(location);
                    }
                }
                Item::Value(value) => {
                    last_value = Some(value);
                    items.push(Item::Value(value));
                }
                item => items.push(item),
            }
        }
        self.leave();
        Ok(Group {
            open: open.chars().next().unwrap_or('('),
            items,
        })
    }

    fn region(&mut self) -> Result<Region<'a>, Error> {
        self.enter()?;
        let begin = self.span();
        self.at += 1;
        self.scopes.push(HashMap::new());
        let mut blocks = Vec::new();
        let mut block = Block {
            label: "",
            arguments: Vec::new(),
            operations: Vec::new(),
        };
        while !self.accept("}") {
            if self.at >= self.tokens.len() {
                return Err(self.lines.error(begin, "'{' without '}'"));
            }
            if self.kind(0) == Some(TokenKind::Label) {
                if !block.operations.is_empty() || !block.label.is_empty() {
                    blocks.push(block);
                }
                let label = self.word(0);
                self.at += 1;
                let mut arguments = Vec::new();
                if self.word(0) == "(" {
                    let group = self.group()?;
                    arguments = arguments_of(&group.items);
                }
                self.expect(":")?;
                block = Block {
                    label,
                    arguments,
                    operations: Vec::new(),
                };
            } else if !self.alias()? {
                block.operations.push(self.operation()?);
            }
        }
        blocks.push(block);
        self.scopes.pop();
        self.leave();
        Ok(Region { blocks })
    }
}
