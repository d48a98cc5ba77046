//! The lexer. White space and comments only separate tokens, except for the two comments that compilers put around inline
//! assembly.

use logos::Logos;

/// The kinds of tokens.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
// Texts that were cut from an object file end with a zero byte.
#[logos(skip r"[ \t\r\n\f\v\x00]+")]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub enum Token {
    /// A name, a register, or the first word of an opcode.
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$]*|%[A-Za-z0-9_$]+")]
    Word,
    /// A directive, or a further word of an opcode.
    #[regex(r"\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*")]
    Dotted,
    #[regex(r"[0-9][0-9A-Za-z_]*(\.[0-9]*)?([eE][+-]?[0-9]+)?")]
    Number,
    #[regex(r#""([^"\\]|\\.)*""#)]
    Text,
    #[regex(r"//[^\n]*", allow_greedy = true)]
    Comment,
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
    #[token("=")]
    Equals,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    /// Of constant expressions.
    #[regex(r"<<|>>|&&|\|\||==|!=|<=|>=|[*/%&^?~]")]
    Sign,
    /// Of line directives of the preprocessor, as `#line`.
    #[regex(r"#[^\n]*", allow_greedy = true)]
    Preprocessor,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lexeme {
    pub token: Token,
    pub start: usize,
    pub end: usize,
}

/// All tokens but comments, and the spans of inline assembly.
pub struct Lexed {
    pub tokens: Vec<Lexeme>,
    /// Where inline assembly begins and ends, in the order of the text.
    pub assembly: Vec<std::ops::Range<usize>>,
    /// The first character that begins no token.
    pub bad: Option<std::ops::Range<usize>>,
}

pub fn lex(text: &str) -> Lexed {
    let mut lexed = Lexed {
        tokens: Vec::with_capacity(text.len() / 6),
        assembly: Vec::new(),
        bad: None,
    };
    let mut begin = None;
    let mut lexer = Token::lexer(text);
    while let Some(token) = lexer.next() {
        let span = lexer.span();
        match token {
            Ok(Token::Comment) => {
                let comment = lexer.slice().trim_start_matches('/').trim();
                match comment {
                    "begin inline asm" => begin = Some(span.end),
                    "end inline asm" => {
                        if let Some(begin) = begin.take() {
                            lexed.assembly.push(begin..span.start);
                        }
                    }
                    _ => {}
                }
            }
            Ok(Token::Preprocessor) => {}
            Ok(token) => lexed.tokens.push(Lexeme {
                token,
                start: span.start,
                end: span.end,
            }),
            Err(()) => {
                lexed.bad = Some(span);
                break;
            }
        }
    }
    lexed
}
