//! The body of a function: statements and operands.

use super::error::Parsed;
use super::lexer::Token;
use super::number::Number;
use super::parse::MAX_DEPTH;
use super::parse::Parser;
use super::tree::Instruction;
use super::tree::Name;
use super::tree::Operand;
use super::tree::Statement;
use super::tree::VariableSpace;

impl<'a> Parser<'a> {
    /// From the opening brace to the closing one. Both are statements.
    pub fn body(&mut self) -> Parsed<Vec<Statement<'a>>> {
        let mut statements = Vec::new();
        let mut depth = 0;
        loop {
            match self.token() {
                Some(Token::OpenBrace) => {
                    if depth >= MAX_DEPTH {
                        return self.error("fewer braces", "scopes nest at most 64 deep");
                    }
                    self.advance();
                    depth += 1;
                    statements.push(Statement::Open);
                }
                Some(Token::CloseBrace) => {
                    self.advance();
                    depth -= 1;
                    statements.push(Statement::Close);
                    if depth == 0 {
                        return Ok(statements);
                    }
                }
                Some(Token::Semicolon) => self.advance(),
                Some(Token::Dotted) => self.body_directive(&mut statements)?,
                Some(Token::Word) if self.second() == Some(Token::Colon) => {
                    let label = self.word("a label")?;
                    self.advance();
                    statements.push(self.label(label)?);
                }
                Some(Token::Word | Token::At) => {
                    let instruction = self.instruction()?;
                    statements.push(Statement::Instruction(instruction));
                }
                _ => {
                    return self.error(
                        "an instruction or `}`",
                        "the function begins above; is a `;` missing on the line before?",
                    );
                }
            }
        }
    }

    fn body_directive(&mut self, statements: &mut Vec<Statement<'a>>) -> Parsed<()> {
        let span = self.span();
        let directive = self.dotted().unwrap_or_default();
        let space = match directive {
            "reg" => {
                statements.push(self.registers()?);
                return Ok(());
            }
            "loc" => return self.location(),
            "pragma" => return self.skip_past(Token::Semicolon, "`;`"),
            "shared" => VariableSpace::Shared,
            "local" => VariableSpace::Local,
            "global" => VariableSpace::Global,
            "const" => VariableSpace::Constant,
            "param" => VariableSpace::Parameter,
            "extern" | "visible" | "weak" | "common" => return Ok(()),
            _ => {
                return self.wrong(
                    span,
                    format!("`.{directive}` is no directive of a function's body"),
                    "declarations begin with `.reg`, `.shared`, `.local`, `.param`",
                );
            }
        };
        statements.push(Statement::Variables(self.variables(space)?));
        Ok(())
    }

    /// The statement after a label's colon, if it belongs to the label.
    fn label(&mut self, label: Name<'a>) -> Parsed<Statement<'a>> {
        if self.token() == Some(Token::Dotted) {
            match self.slice() {
                ".branchtargets" => {
                    self.advance();
                    let mut targets = vec![self.word("a label")?];
                    while self.eat(Token::Comma) {
                        targets.push(self.word("a label")?);
                    }
                    self.expect(Token::Semicolon, "`,` or `;`")?;
                    return Ok(Statement::BranchTargets(label, targets));
                }
                ".callprototype" | ".calltargets" => {
                    self.skip_past(Token::Semicolon, "`;`")?;
                    return Ok(Statement::CallTargets(label));
                }
                _ => {}
            }
        }
        Ok(Statement::Label(label))
    }

    fn instruction(&mut self) -> Parsed<Instruction<'a>> {
        let guard = if self.eat(Token::At) {
            let negated = self.eat(Token::Not);
            Some((self.word("a predicate")?, negated))
        } else {
            None
        };
        let line = self.line();
        let opcode = self.word("an instruction")?;
        if opcode.text.starts_with(['%', '$', '_']) {
            return self.wrong(
                opcode.span,
                format!("found `{}` where an instruction was expected", opcode.text),
                "an opcode is a word such as `bar.sync`; labels end with `:`",
            );
        }
        let mut modifiers = Vec::new();
        while let Some(modifier) = self.dotted() {
            modifiers.push(modifier);
        }
        let mut operands = Vec::new();
        while !self.eat(Token::Semicolon) {
            if !operands.is_empty() {
                self.expect(Token::Comma, "`,` or `;`")?;
            }
            // At any other place, a parenthesis begins a constant.
            if opcode.text == "call" && self.eat(Token::OpenParen) {
                operands.push(Operand::Vector(self.list(Token::CloseParen, 0)?));
            } else {
                operands.push(self.operand(0)?);
            }
        }
        Ok(Instruction {
            guard,
            opcode: opcode.text,
            modifiers,
            operands,
            line,
            place: self.places.current(),
        })
    }

    fn operand(&mut self, depth: usize) -> Parsed<Operand<'a>> {
        if depth > MAX_DEPTH {
            return self.error("fewer brackets", "operands nest at most 64 deep");
        }
        let operand = self.simple(depth)?;
        if self.token() == Some(Token::Bar) && matches!(operand, Operand::Name(_)) {
            self.advance();
            let second = self.operand(depth + 1)?;
            return Ok(Operand::Pair(Box::new((operand, second))));
        }
        Ok(operand)
    }

    fn simple(&mut self, depth: usize) -> Parsed<Operand<'a>> {
        match self.token() {
            Some(Token::OpenBracket) => self.address(depth),
            Some(Token::OpenBrace) => {
                self.advance();
                Ok(Operand::Vector(self.list(Token::CloseBrace, depth)?))
            }
            Some(Token::Not) => {
                self.advance();
                Ok(Operand::Not(self.word("a predicate")?))
            }
            Some(Token::Number | Token::Minus | Token::Plus | Token::Sign | Token::OpenParen) => {
                Ok(match self.number("an operand")? {
                    Number::Integer(value) => Operand::Integer(value),
                    Number::Float(bits, width) => Operand::Float(bits, width),
                })
            }
            Some(Token::Word) => {
                if self.slice() == "WARP_SZ" {
                    return Ok(Operand::Integer(self.constant("a number")?));
                }
                let name = self.word("an operand")?;
                if let Some(component) = self.dotted() {
                    return Ok(Operand::Component(name, component));
                }
                if depth == 0 && matches!(self.token(), Some(Token::Plus | Token::Minus)) {
                    let offset = self.offset()?;
                    return Ok(Operand::Offset(name, offset));
                }
                Ok(Operand::Name(name))
            }
            _ => self.error(
                "an operand",
                "operands are registers, numbers, names, `[addresses]` or `{vectors}`",
            ),
        }
    }

    fn list(&mut self, close: Token, depth: usize) -> Parsed<Vec<Operand<'a>>> {
        let mut parts = Vec::new();
        while !self.eat(close) {
            if !parts.is_empty() {
                self.expect(Token::Comma, "`,` or the closing bracket")?;
            }
            parts.push(self.operand(depth + 1)?);
        }
        Ok(parts)
    }

    /// The sum of all offsets up to the end of the address.
    fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0_i128;
        while let Some(token @ (Token::Plus | Token::Minus)) = self.token() {
            self.advance();
            let term = self.product("an offset")?;
            sum += if token == Token::Plus { term } else { -term };
        }
        match i64::try_from(sum) {
            Ok(sum) => Ok(sum),
            // Unsigned offsets of 64 bits wrap around.
            #[allow(clippy::cast_possible_truncation)]
            Err(_) => Ok(sum as i64),
        }
    }

    fn address(&mut self, depth: usize) -> Parsed<Operand<'a>> {
        self.advance();
        let base = Box::new(self.operand(depth + 1)?);
        let offset = self.offset()?;
        let mut rest = Vec::new();
        while self.eat(Token::Comma) {
            rest.push(self.operand(depth + 1)?);
        }
        self.expect(Token::CloseBracket, "`]`")?;
        Ok(Operand::Address { base, offset, rest })
    }
}
