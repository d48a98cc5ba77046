//! The body of a function: instructions, registers, labels and operands.

use std::collections::HashMap;
use std::ops::Range;

use super::ast::Function;
use super::ast::Instruction;
use super::ast::Operand;
use super::parse::MAX_DEPTH;
use super::parse::Parsed;
use super::parse::Parser;
use super::parse::number;
use super::scope::Body;
use super::scope::Scope;
use super::scope::resolve;
use super::scope::undeclared;
use super::token::Token;

impl<'a> Parser<'a, '_> {
    pub fn body(&mut self, function: Function<'a>) -> Parsed<Function<'a>> {
        let mut body = Body {
            function,
            scopes: Vec::new(),
            open: Vec::new(),
            location: None,
            tables: HashMap::new(),
            wanted: Vec::new(),
        };
        loop {
            match self.token {
                Some(Token::OpenBrace) => {
                    self.advance();
                    if body.open.len() >= MAX_DEPTH {
                        return self.error("fewer braces", "scopes nest at most 32 deep");
                    }
                    let parent = body.open.last().copied();
                    body.open.push(body.scopes.len());
                    body.scopes.push(Scope {
                        parent,
                        ..Scope::default()
                    });
                    if parent.is_none() {
                        body.parameters();
                    }
                }
                Some(Token::CloseBrace) => {
                    self.advance();
                    body.open.pop();
                    if body.open.is_empty() {
                        return resolve(body);
                    }
                }
                Some(Token::Semicolon) => self.advance(),
                Some(Token::Word | Token::At) => self.statement(&mut body)?,
                _ => {
                    return self.error(
                        "an instruction or `}`",
                        "the function begins above; is a `;` missing on the line before?",
                    );
                }
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'a>) -> Parsed<()> {
        let at = self.span.start;
        let mut guard = None;
        if self.eat(Token::At) {
            let negated = self.eat(Token::Not);
            let span = self.span.clone();
            let name = self.word("a predicate")?;
            let Some(register) = body.register(name) else {
                return Err(undeclared(name, span));
            };
            guard = Some((register, negated));
        }
        let word = self.word("an instruction")?;
        if guard.is_none() {
            if self.eat(Token::Colon) {
                match (self.token, self.text()) {
                    (Some(Token::Word), ".branchtargets") => {
                        self.advance();
                        let labels = self.labels()?;
                        let scope = body.open.last().copied();
                        let table = scope.map(|scope| (scope, labels));
                        let again = body.tables.contains_key(word);
                        body.tables.insert(word, table.filter(|_| !again));
                    }
                    (Some(Token::Word), ".callprototype" | ".calltargets") => {
                        self.skip_past(Token::Semicolon, "`;`")?;
                    }
                    _ => {}
                }
                let index = body.function.code.len();
                if let Some(scope) = body.scope() {
                    scope.labels.insert(word, index);
                }
                return Ok(());
            }
            match word {
                ".loc" => {
                    let location = self.location()?;
                    if !self.in_assembly(at) {
                        body.location = Some(location);
                    }
                    return Ok(());
                }
                ".reg" => return self.registers(body),
                ".shared" => {
                    let found = self.variables()?;
                    body.function.shared.extend(found);
                    return Ok(());
                }
                ".local" => {
                    let found = self.variables()?;
                    body.function.local.extend(found);
                    return Ok(());
                }
                _ if word.starts_with('.') => {
                    self.declaration()?;
                    return Ok(());
                }
                _ => {}
            }
        }
        if word.starts_with(['%', '$', '.']) {
            return self.error("an instruction", "an opcode is a word such as `bar.sync`");
        }
        let mut operands = Vec::new();
        while !self.eat(Token::Semicolon) {
            if !operands.is_empty() {
                self.expect(Token::Comma, "`,` or `;`")?;
            }
            let operand = self.operand(body, 0)?;
            operands.push(operand);
        }
        let instruction = Instruction {
            guard,
            opcode: word,
            operands,
            at,
            location: body.location.map(|(at, _)| at),
            written: body.location.map(|(_, written)| written),
        };
        choose(&instruction, body);
        body.function.code.push(instruction);
        Ok(())
    }

    /// The labels of a list, up to its end.
    fn labels(&mut self) -> Parsed<Vec<(&'a str, Range<usize>)>> {
        let mut labels = Vec::new();
        loop {
            let span = self.span.clone();
            labels.push((self.word("a label")?, span));
            if !self.eat(Token::Comma) {
                self.expect(Token::Semicolon, "`,` or `;`")?;
                return Ok(labels);
            }
        }
    }

    fn registers(&mut self, body: &mut Body<'a>) -> Parsed<()> {
        loop {
            let word = self.word("a type or a register")?;
            if word.starts_with('.') {
                continue;
            }
            if self.token == Some(Token::Sign) && self.text() == "<" {
                self.advance();
                let count = self.integer("how many registers")?;
                let count = u64::try_from(count).unwrap_or(0);
                self.expect(Token::Sign, "`>`")?;
                if let Some(scope) = body.scope() {
                    scope.families.push((word, count));
                }
            } else {
                let number = body.fresh(word);
                if let Some(scope) = body.scope() {
                    scope.names.insert(word, number);
                }
            }
            if !self.eat(Token::Comma) {
                return self.expect(Token::Semicolon, "`;`");
            }
        }
    }

    fn operand(&mut self, body: &mut Body<'a>, depth: usize) -> Parsed<Operand<'a>> {
        if depth > MAX_DEPTH {
            return self.error("fewer brackets", "operands nest at most 32 deep");
        }
        let operand = match self.token {
            Some(Token::OpenBracket) => {
                self.advance();
                let base = Box::new(self.operand(body, depth + 1)?);
                let mut offset = 0i64;
                loop {
                    if self.eat(Token::Plus) || self.token == Some(Token::Minus) {
                        offset = offset.wrapping_add(self.integer("an offset")?);
                    } else {
                        break;
                    }
                }
                let mut rest = Vec::new();
                while self.eat(Token::Comma) {
                    rest.push(self.operand(body, depth + 1)?);
                }
                self.expect(Token::CloseBracket, "`]`")?;
                Operand::Address { base, offset, rest }
            }
            Some(Token::OpenBrace | Token::OpenParen) => {
                let close = match self.token {
                    Some(Token::OpenBrace) => Token::CloseBrace,
                    _ => Token::CloseParen,
                };
                self.advance();
                let mut parts = Vec::new();
                while !self.eat(close) {
                    if !parts.is_empty() {
                        self.expect(Token::Comma, "`,` or the closing bracket")?;
                    }
                    parts.push(self.operand(body, depth + 1)?);
                }
                Operand::Vector(parts)
            }
            Some(Token::Not) => {
                self.advance();
                let span = self.span.clone();
                let name = self.word("a predicate")?;
                match body.register(name) {
                    Some(register) => Operand::Not(register),
                    None => return Err(undeclared(name, span)),
                }
            }
            Some(Token::Number | Token::Minus) => {
                let text = self.text();
                if self.token == Some(Token::Number) && number(text).is_none() {
                    self.advance();
                    Operand::Float
                } else {
                    Operand::Integer(self.integer("a number")?)
                }
            }
            Some(Token::Word) => {
                let span = self.span.clone();
                let name = self.word("an operand")?;
                body.named(name, span)?
            }
            _ => {
                return self.error(
                    "an operand",
                    "operands are registers, numbers, names, `[addresses]` or `{vectors}`",
                );
            }
        };
        if self.eat(Token::Bar) {
            let second = self.operand(body, depth + 1)?;
            return Ok(Operand::Pair(Box::new((operand, second))));
        }
        if depth == 0 && self.eat(Token::Plus) {
            // `mov.u64 %rd, symbol + 8` is an address without brackets.
            let offset = self.integer("an offset")?;
            return Ok(Operand::Address {
                base: Box::new(operand),
                offset,
                rest: Vec::new(),
            });
        }
        Ok(operand)
    }
}

/// Writes `brx.idx` out as comparisons and branches, if its list of labels stands before it. An index past the end of
/// the list is undefined: with one the instruction itself is come to, which is left where it is and refused.
fn choose<'a>(branch: &Instruction<'a>, body: &mut Body<'a>) {
    let [index, Operand::Target(table)] = branch.operands.as_slice() else {
        return;
    };
    let name = body.wanted.get(*table as usize).map(|(_, name, _)| *name);
    let table = name.and_then(|name| body.tables.get(name)).cloned();
    let (Some((scope, labels)), None, true) = (
        table.flatten(),
        branch.guard,
        branch.opcode.starts_with("brx.idx"),
    ) else {
        return;
    };
    // Elsewhere the labels may be others.
    if body.open.last() != Some(&scope) {
        return;
    }
    let here = body.fresh("%chosen");
    let last = labels.len().saturating_sub(1);
    for (number, (label, span)) in labels.into_iter().enumerate() {
        // After all the others, what is less than the length of the list is the last one.
        let (opcode, value) = match number == last {
            true => ("setp.lt.u32", number + 1),
            false => ("setp.eq.u32", number),
        };
        body.function.code.push(Instruction {
            opcode,
            operands: vec![
                Operand::Register(here),
                index.clone(),
                Operand::Integer(i64::try_from(value).unwrap_or(i64::MAX)),
            ],
            ..branch.clone()
        });
        body.wanted.push((scope, label, span));
        body.function.code.push(Instruction {
            guard: Some((here, false)),
            opcode: "bra",
            operands: vec![Operand::Target(
                u32::try_from(body.wanted.len() - 1).unwrap_or(u32::MAX),
            )],
            ..branch.clone()
        });
    }
}
