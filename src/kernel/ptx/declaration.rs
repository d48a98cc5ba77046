//! Declarations: types, variables with their initial values, parameters, registers.

use super::error::Parsed;
use super::lexer::Token;
use super::number::Number;
use super::parse::Parser;
use super::tree::Statement;
use super::tree::Variable;
use super::tree::VariableSpace;

/// The bits of a type, without its dot.
pub fn width_of(name: &str) -> Option<u16> {
    Some(match name {
        "pred" => 1,
        "b8" | "u8" | "s8" | "e4m3" | "e5m2" => 8,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 16,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => 32,
        "b64" | "u64" | "s64" | "f64" | "f32x2" => 64,
        "b128" | "u128" | "s128" => 128,
        _ => return None,
    })
}

/// How many components a vector has, as `v4`.
pub fn vector_of(name: &str) -> Option<u8> {
    match name {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    }
}

/// Type and alignment, as far as the text states them.
struct Shape {
    width: u16,
    vector: u8,
    alignment: u32,
}

impl Shape {
    fn bytes(&self) -> u64 {
        u64::from(self.width.div_ceil(8)) * u64::from(self.vector)
    }

    fn aligned(&self) -> u32 {
        let own = u32::try_from(self.bytes()).unwrap_or(1);
        self.alignment.max(own).max(1)
    }
}

impl<'a> Parser<'a> {
    /// Everything before the name.
    fn shape(&mut self) -> Parsed<Shape> {
        let mut shape = Shape {
            width: 8,
            vector: 1,
            alignment: 0,
        };
        self.attributes()?;
        while let Some(word) = self.dotted() {
            if word == "align" {
                let alignment = self.constant("an alignment")?;
                shape.alignment = u32::try_from(alignment).unwrap_or(1);
            } else if let Some(width) = width_of(word) {
                shape.width = width;
            } else if let Some(vector) = vector_of(word) {
                shape.vector = vector;
            }
            self.attributes()?;
        }
        Ok(shape)
    }

    /// The declaration after `.shared`, `.global` and the like, up to the semicolon.
    pub fn variables(&mut self, space: VariableSpace) -> Parsed<Vec<Variable<'a>>> {
        let mut found = Vec::new();
        let shape = self.shape()?;
        loop {
            let mut variable = self.variable(space, &shape)?;
            if self.eat(Token::Equals) {
                let mut known = true;
                let mut values = Vec::new();
                self.initial(shape.width, &mut values, &mut known, 0)?;
                let bytes = u64::try_from(values.len()).unwrap_or(u64::MAX);
                variable.size = Some(variable.size.unwrap_or(bytes));
                if known {
                    variable.initial = values;
                }
            }
            found.push(variable);
            if self.eat(Token::Comma) {
                continue;
            }
            self.expect(Token::Semicolon, "`;`")?;
            return Ok(found);
        }
    }

    /// A name and its extents.
    fn variable(&mut self, space: VariableSpace, shape: &Shape) -> Parsed<Variable<'a>> {
        let name = self.word("the name of a variable")?;
        let mut size = Some(shape.bytes());
        // `name<100>` declares a hundred of them; only registers are used so.
        while self.eat(Token::OpenBracket) {
            if self.eat(Token::CloseBracket) {
                size = None;
                continue;
            }
            let extent = u64::try_from(self.constant("an extent")?).unwrap_or(0);
            size = size.map(|size| size.saturating_mul(extent));
            self.expect(Token::CloseBracket, "`]`")?;
        }
        Ok(Variable {
            name,
            space,
            size,
            width: shape.width,
            alignment: shape.aligned(),
            initial: Vec::new(),
        })
    }

    /// Initial values, perhaps in braces. If one of them is an address, `known` is cleared.
    fn initial(
        &mut self,
        width: u16,
        values: &mut Vec<u8>,
        known: &mut bool,
        depth: usize,
    ) -> Parsed<()> {
        if depth > super::parse::MAX_DEPTH {
            return self.error("fewer braces", "values nest at most 64 deep");
        }
        if self.eat(Token::OpenBrace) {
            while !self.eat(Token::CloseBrace) {
                self.initial(width, values, known, depth + 1)?;
                if !self.eat(Token::Comma) && self.token() != Some(Token::CloseBrace) {
                    return self.error("`,` or `}`", "values are separated by `,`");
                }
            }
            return Ok(());
        }
        let bytes = usize::from(width.div_ceil(8));
        if self.token() == Some(Token::Word) {
            // The address of a variable or function, perhaps `generic(name)`, perhaps an offset.
            self.advance();
            if self.eat(Token::OpenParen) {
                self.skip_past(Token::CloseParen, "`)`")?;
            }
            if matches!(self.token(), Some(Token::Plus | Token::Minus)) {
                self.advance();
                self.constant("an offset")?;
            }
            *known = false;
            values.extend(std::iter::repeat_n(0, bytes));
            return Ok(());
        }
        let bits = match self.number("a value")? {
            Number::Integer(value) => value.cast_unsigned(),
            Number::Float(bits, 64) if width == 32 => {
                #[allow(clippy::cast_possible_truncation)]
                let value = f64::from_bits(bits) as f32;
                u128::from(value.to_bits())
            }
            Number::Float(bits, _) => u128::from(bits),
        };
        values.extend(bits.to_le_bytes().iter().take(bytes));
        Ok(())
    }

    /// Parameters up to the closing parenthesis.
    pub fn parameters(&mut self) -> Parsed<Vec<Variable<'a>>> {
        let mut found = Vec::new();
        while !self.eat(Token::CloseParen) {
            let space = match self.dotted() {
                Some("reg") => VariableSpace::Register,
                Some("param") => VariableSpace::Parameter,
                _ => return self.error("`.param` or `.reg`", "parameters are `.param .u32 name`"),
            };
            let shape = self.parameter_shape()?;
            found.push(self.variable(space, &shape)?);
            if !self.eat(Token::Comma) && self.token() != Some(Token::CloseParen) {
                return self.error("`,` or `)`", "parameters are separated by `,`");
            }
        }
        Ok(found)
    }

    /// Like [`Self::shape`]. After `.ptr`, however, `.align` is the alignment of the memory that the pointer points
    /// to.
    fn parameter_shape(&mut self) -> Parsed<Shape> {
        let mut shape = Shape {
            width: 8,
            vector: 1,
            alignment: 0,
        };
        let mut pointer = false;
        while let Some(word) = self.dotted() {
            match word {
                "align" => {
                    let alignment = u32::try_from(self.constant("an alignment")?).unwrap_or(1);
                    if !pointer {
                        shape.alignment = alignment;
                    }
                }
                "ptr" => pointer = true,
                _ => {
                    if let Some(width) = width_of(word) {
                        shape.width = width;
                    } else if let Some(vector) = vector_of(word) {
                        shape.vector = vector;
                    } else if matches!(word, "texref" | "samplerref" | "surfref") {
                        shape.width = 64;
                    }
                }
            }
        }
        Ok(shape)
    }

    /// What follows `.reg`.
    pub fn registers(&mut self) -> Parsed<Statement<'a>> {
        let mut width = None;
        let mut vector = None;
        let span = self.span();
        while let Some(word) = self.dotted() {
            if let Some(components) = vector_of(word) {
                vector = Some(components);
            } else {
                width = width_of(word);
            }
        }
        let Some(width) = width else {
            let found = self.text.get(span.clone()).unwrap_or_default();
            return self.wrong(
                span,
                format!("`{found}` is no type of a register"),
                "registers are `.pred`, or have 8 to 128 bits as `.b32`",
            );
        };
        let mut names = Vec::new();
        loop {
            let name = self.word("the name of a register")?;
            let count = if self.eat(Token::Less) {
                let count = self.constant("how many registers")?;
                self.expect(Token::Greater, "`>`")?;
                Some(u64::try_from(count).unwrap_or(0))
            } else {
                None
            };
            names.push((name, count));
            if !self.eat(Token::Comma) {
                self.expect(Token::Semicolon, "`;`")?;
                return Ok(Statement::Registers {
                    width,
                    vector,
                    names,
                });
            }
        }
    }
}
