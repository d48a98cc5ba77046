//! The lexer. White space and comments only separate tokens.

use logos::Logos;

/// The kinds of tokens. A word is a name, a directive, an opcode with its suffixes or a register;
/// which of them, the parser knows from its place.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(in crate::ptx) enum Token {
    #[regex(r"[A-Za-z_$%.]([A-Za-z0-9_$%.]|::)*")]
    Word,
    #[regex(r"[0-9][0-9A-Za-z.]*")]
    Number,
    #[regex(r#""([^"\\]|\\.)*""#)]
    Text,
    #[token("@")]
    At,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("|")]
    Bar,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("!")]
    Not,
    #[regex(r"[*/<>=&^?~]")]
    Sign,
}
