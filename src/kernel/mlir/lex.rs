//! Tokens of MLIR text.

use logos::Logos;
use std::ops::Range;

use super::error::Error;
use super::error::Lines;

#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub enum TokenKind {
    /// `%name`, with `:n` where it stands for n results, or `#n` for one of them.
    #[regex(r"%[A-Za-z0-9_$.\-]+")]
    Value,
    /// `^label`.
    #[regex(r"\^[A-Za-z0-9_$.\-]+")]
    Label,
    /// `@name`, `@"name"`.
    #[regex(r#"@[A-Za-z0-9_$.\-]+|@"([^"\\\n]|\\.)*""#)]
    Symbol,
    /// `!name` of a type.
    #[regex(r"![A-Za-z_][A-Za-z0-9_$.]*")]
    Type,
    /// `#name` of an attribute, `#n` of a result.
    #[regex(r"#[A-Za-z0-9_][A-Za-z0-9_$.]*")]
    Hash,
    #[regex(r"[A-Za-z_][A-Za-z0-9_$.]*")]
    Word,
    /// Also the `32x` of `32xf32` and the shapes after it.
    #[regex(r"[0-9][A-Za-z0-9_.]*([eE][+\-][0-9]+)?")]
    Number,
    #[regex(r#""([^"\\]|\\.|\\\n)*""#)]
    String,
    #[token("->")]
    Arrow,
    #[token("::")]
    Path,
    #[token("{-#")]
    ResourceOpen,
    #[token("#-}")]
    ResourceClose,
    #[token("(")]
    #[token(")")]
    #[token("[")]
    #[token("]")]
    #[token("{")]
    #[token("}")]
    #[token("<")]
    #[token(">")]
    #[token(",")]
    #[token(":")]
    #[token("=")]
    #[token("-")]
    #[token("+")]
    #[token("*")]
    #[token("/")]
    #[token("?")]
    #[token("|")]
    #[token(";")]
    #[token("!")]
    #[token("#")]
    #[token("@")]
    #[token(".")]
    #[token("&")]
    #[token("$")]
    #[token("~")]
    #[token("'")]
    Mark,
}

#[derive(Debug, Clone)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Range<usize>,
    /// Whether it is the first of its line.
    pub first: bool,
}

pub fn lex(text: &str, lines: &Lines<'_>) -> Result<Vec<Token>, Error> {
    let mut tokens = Vec::new();
    let mut line = 0;
    for (kind, span) in TokenKind::lexer(text).spanned() {
        let Ok(kind) = kind else {
            let message = if text[span.start..].starts_with('"') {
                "this string has no end"
            } else {
                "no MLIR token begins here"
            };
            return Err(lines.error(span, message));
        };
        let here = lines.line(span.start);
        tokens.push(Token {
            kind,
            first: here != line,
            span,
        });
        line = here;
    }
    Ok(tokens)
}
