//! Constant expressions. Integers are 64 bits wide; the grammar is that of C.

use super::error::Parsed;
use super::lexer::Token;
use super::number::Number;
use super::number::number;
use super::parse::MAX_DEPTH;
use super::parse::Parser;

impl Parser<'_> {
    /// A constant integer, perhaps computed from others.
    pub fn constant(&mut self, what: &str) -> Parsed<i128> {
        match self.number(what)? {
            Number::Integer(value) => Ok(value),
            Number::Float(..) => self.error(what, "an integer is needed here"),
        }
    }

    /// A constant, perhaps computed from others.
    pub fn number(&mut self, what: &str) -> Parsed<Number> {
        self.binary(what, 0, 0)
    }

    /// A term of an address: it may contain a multiplication, and an addition ends it.
    pub fn product(&mut self, what: &str) -> Parsed<i128> {
        match self.binary(what, PRODUCT, 0)? {
            Number::Integer(value) => Ok(value),
            Number::Float(..) => self.error(what, "an integer is needed here"),
        }
    }

    fn binary(&mut self, what: &str, level: u8, depth: usize) -> Parsed<Number> {
        let mut left = self.unary(what, depth)?;
        loop {
            let sign = self.slice();
            let Some(own) = self.token().and_then(|token| precedence(token, sign)) else {
                return Ok(left);
            };
            if own < level {
                return Ok(left);
            }
            let Number::Integer(a) = left else {
                return Ok(left);
            };
            let span = self.span();
            self.advance();
            let Number::Integer(b) = self.binary(what, own + 1, depth + 1)? else {
                return self.error(what, "only integers are computed with");
            };
            let signs = match sign {
                ">>" => unsigned(a).is_none(),
                "/" | "%" => unsigned(a).is_none() || unsigned(b).is_none(),
                _ => false,
            };
            if signs {
                return self.wrong(
                    span,
                    "whether the highest bit is a sign here is not followed",
                    "write the value of the expression as one number",
                );
            }
            let Some(value) = apply(sign, a, b) else {
                return self.wrong(
                    span,
                    "the value of this expression does not exist",
                    "constants have 64 bits; nothing is divided by 0",
                );
            };
            left = Number::Integer(value);
        }
    }

    fn unary(&mut self, what: &str, depth: usize) -> Parsed<Number> {
        if depth > MAX_DEPTH {
            return self.error(what, "constants nest at most 64 deep");
        }
        match self.token() {
            Some(Token::Minus) => {
                self.advance();
                Ok(match self.unary(what, depth + 1)? {
                    Number::Integer(value) => Number::Integer(-value),
                    Number::Float(bits, width) => Number::Float(bits ^ 1 << (width - 1), width),
                })
            }
            Some(Token::Plus) => {
                self.advance();
                self.unary(what, depth + 1)
            }
            Some(Token::Sign) if self.slice() == "~" => {
                self.advance();
                match self.unary(what, depth + 1)? {
                    Number::Integer(value) => Ok(Number::Integer(!value)),
                    Number::Float(..) => self.error(what, "only integers are computed with"),
                }
            }
            Some(Token::OpenParen) => {
                self.advance();
                // A cast such as `(.s64) 1` does not change a 64-bit integer.
                if self.dotted().is_some() {
                    self.expect(Token::CloseParen, "`)`")?;
                    return self.unary(what, depth + 1);
                }
                let value = self.binary(what, 0, depth + 1)?;
                self.expect(Token::CloseParen, "`)`")?;
                Ok(value)
            }
            Some(Token::Word) if self.slice() == "WARP_SZ" => {
                self.advance();
                Ok(Number::Integer(32))
            }
            Some(Token::Number) => match number(self.slice()) {
                Some(value) => {
                    self.advance();
                    Ok(value)
                }
                None => self.error(
                    what,
                    "integers are decimal, 0x, 0b or 0 octal, with an optional U; floats are 0f and 0d",
                ),
            },
            _ => self.error(what, "constants are numbers"),
        }
    }
}

/// The binding strength of multiplication.
const PRODUCT: u8 = 6;

fn precedence(token: Token, sign: &str) -> Option<u8> {
    Some(match token {
        Token::Bar => 0,
        Token::Plus | Token::Minus => 4,
        Token::Sign => match sign {
            "^" => 1,
            "&" => 2,
            "<<" | ">>" => 3,
            "*" | "/" | "%" => PRODUCT,
            _ => return None,
        },
        _ => return None,
    })
}

fn apply(sign: &str, a: i128, b: i128) -> Option<i128> {
    let value = match sign {
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "<<" => a.checked_mul(1_i128.checked_shl(u32::try_from(b).ok().filter(|b| *b < 64)?)?)?,
        ">>" => unsigned(a)? >> u32::try_from(b).ok().filter(|b| *b < 64)?,
        "+" => a.checked_add(b)?,
        "-" => a.checked_sub(b)?,
        "*" => a.checked_mul(b)?,
        "/" => unsigned(a)?.checked_div(unsigned(b)?)?,
        "%" => unsigned(a)?.checked_rem(unsigned(b)?)?,
        _ => return None,
    };
    // As in C, 64 bits are kept.
    (value.unsigned_abs() < 1 << 64).then_some(value)
}

/// The value, if it is the same number as a signed and as an unsigned one. Quotients and shifts to the right depend
/// on the sign, and this reader does not track whether a constant is signed.
fn unsigned(value: i128) -> Option<i128> {
    let kept = value & i128::from(u64::MAX);
    (kept <= i128::from(i64::MAX)).then_some(kept)
}
