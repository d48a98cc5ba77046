//! The lexer: splits the text into tokens and comments.
//!
//! White space and line ends only separate tokens. Comments are kept separately, since only the formatter needs them.

use logos::Logos;

use super::diagnostic::Diagnostic;
use super::parse::MAX_DIAGNOSTICS;
use crate::protocol::Span;

macro_rules! tokens {
    ($($name:ident = $text:literal,)*) => {
        /// The kinds of tokens.
        #[derive(Logos, Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[logos(skip r"[ \t\r\n]+")]
        pub(super) enum Token {
            #[regex("//[^\n]*", allow_greedy = true)]
            Comment,
            #[regex("[0-9][0-9A-Za-z_]*")]
            Int,
            #[regex("[A-Za-z_][0-9A-Za-z_]*")]
            Name,
            $(#[token($text)] $name,)*
            End,
        }

        impl Token {
            /// The name of the token in a message about what was expected.
            pub(super) fn text(self) -> &'static str {
                match self {
                    Token::Comment => "a comment",
                    Token::Int => "an integer",
                    Token::Name => "a name",
                    Token::End => "the end of the text",
                    $(Token::$name => concat!("`", $text, "`"),)*
                }
            }

            /// The reserved words and the signs.
            const FIXED: &[(&str, Token)] = &[$(($text, Token::$name),)*];
        }
    };
}

tokens! {
    Protocol = "protocol",
    Param = "param",
    Assume = "assume",
    Let = "let",
    Pattern = "pattern",
    Semaphore = "semaphore",
    Mbarrier = "mbarrier",
    Named = "named",
    Barrier = "barrier",
    Pool = "pool",
    Buffer = "buffer",
    Invariant = "invariant",
    Eventually = "eventually",
    Always = "always",
    Grid = "grid",
    Role = "role",
    Expect = "expect",
    Launch = "launch",
    Resident = "resident",
    Ascending = "ascending",
    Descending = "descending",
    Any = "any",
    Order = "order",
    All = "all",
    Warp = "warp",
    Wait = "wait",
    Arrive = "arrive",
    Sync = "sync",
    Elect = "elect",
    Repeat = "repeat",
    Advance = "advance",
    ExpectTx = "expect_tx",
    ArriveExpectTx = "arrive_expect_tx",
    CompleteTx = "complete_tx",
    Async = "async",
    Completes = "completes",
    Reads = "reads",
    Writes = "writes",
    Commit = "commit",
    CommitGroup = "commit_group",
    WaitGroup = "wait_group",
    Init = "init",
    Fence = "fence",
    Assert = "assert",
    Acquire = "acquire",
    Backing = "backing",
    Release = "release",
    Accumulate = "accumulate",
    Read = "read",
    Write = "write",
    Var = "var",
    If = "if",
    Then = "then",
    Else = "else",
    For = "for",
    In = "in",
    Row = "row",
    Return = "return",
    Break = "break",
    Count = "count",
    Where = "where",
    At = "at",
    Assuming = "assuming",
    True = "true",
    False = "false",
    OpenParen = "(",
    CloseParen = ")",
    OpenBracket = "[",
    CloseBracket = "]",
    OpenBrace = "{",
    CloseBrace = "}",
    Comma = ",",
    Colon = ":",
    DotDotEqual = "..=",
    DotDot = "..",
    Dot = ".",
    EqualEqual = "==",
    NotEqual = "!=",
    LessEqual = "<=",
    GreaterEqual = ">=",
    PlusEqual = "+=",
    AndAnd = "&&",
    OrOr = "||",
    Equal = "=",
    Less = "<",
    Greater = ">",
    Plus = "+",
    Minus = "-",
    Star = "*",
    Slash = "/",
    Percent = "%",
    Caret = "^",
    Not = "!",
}

impl Token {
    /// Whether it is a word with a meaning of its own. Some of them may be names, too.
    pub(super) fn is_reserved_word(self) -> bool {
        Token::reserved_words().any(|(_, token)| token == self)
    }

    /// These words.
    pub(super) fn reserved_words() -> impl Iterator<Item = (&'static str, Token)> {
        let fixed = Token::FIXED.iter().copied();
        fixed.filter(|(text, _)| text.starts_with(|c: char| c.is_alphabetic()))
    }

    /// Whether it can be a name: a name, or a word with a meaning only at places where no name is possible.
    pub(super) fn may_be_name(self) -> bool {
        use Token::*;
        matches!(
            self,
            Name | Order
                | At
                | Assuming
                | Backing
                | Completes
                | Count
                | Launch
                | Reads
                | Resident
                | Row
                | Then
                | Warp
                | Where
                | Writes
        )
    }

    /// Whether it begins a declaration. A `let` may begin a statement, too.
    pub(super) fn begins_item(self) -> bool {
        use Token::*;
        matches!(
            self,
            Protocol
                | Param
                | Assume
                | Let
                | Pattern
                | Semaphore
                | Mbarrier
                | Named
                | Barrier
                | Pool
                | Buffer
                | Invariant
                | Eventually
                | Always
                | Grid
                | Role
                | Expect
        )
    }

    /// Whether it always begins a statement. A name may begin one, too.
    pub(super) fn begins_statement(self) -> bool {
        use Token::*;
        matches!(
            self,
            Wait | Arrive
                | Let
                | Sync
                | Accumulate
                | Read
                | Write
                | Var
                | If
                | For
                | Return
                | Break
                | Elect
                | Repeat
                | Advance
                | ExpectTx
                | ArriveExpectTx
                | CompleteTx
                | Async
                | Commit
                | CommitGroup
                | WaitGroup
                | Init
                | Fence
                | Assert
                | Acquire
                | Release
        )
    }
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) span: Span,
}

/// A comment and its position relative to the tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comment {
    /// From the slashes to the end of the line, exclusive.
    pub(super) span: Span,
    /// Where the token before it ends; 0 when there is none.
    pub(super) after: usize,
    /// Whether nothing else stands before it on its line.
    pub(super) own_line: bool,
}

/// The result of splitting a text.
pub(super) struct Lexed {
    /// The tokens; the last is [`Token::End`].
    pub(super) tokens: Vec<Lexeme>,
    /// The comments, in text order.
    pub(super) comments: Vec<Comment>,
    /// One finding per run of characters that belong to no token.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Cuts a text into tokens and comments.
pub(super) fn lex(source: &str) -> Lexed {
    let mut tokens: Vec<Lexeme> = Vec::new();
    let mut comments = Vec::new();
    let mut strays: Vec<Span> = Vec::new();
    for (token, range) in Token::lexer(source).spanned() {
        let span = Span {
            start: range.start,
            end: range.end,
        };
        match token {
            Ok(Token::Comment) => {
                let line = source[..span.start].rfind('\n').map_or(0, |at| at + 1);
                comments.push(Comment {
                    span,
                    after: tokens.last().map_or(0, |t| t.span.end),
                    own_line: source[line..span.start].trim().is_empty(),
                });
            }
            Ok(token) => tokens.push(Lexeme { token, span }),
            Err(()) => {
                let room = strays.len() < MAX_DIAGNOSTICS;
                match strays.last_mut() {
                    Some(last) if last.end == span.start => last.end = span.end,
                    _ if room => strays.push(span),
                    _ => {}
                }
            }
        }
    }
    tokens.push(Lexeme {
        token: Token::End,
        span: Span {
            start: source.len(),
            end: source.len(),
        },
    });
    Lexed {
        tokens,
        comments,
        diagnostics: strays.into_iter().map(|span| stray(source, span)).collect(),
    }
}

fn stray(source: &str, span: Span) -> Diagnostic {
    let text = source.get(span.start..span.end).unwrap_or_default();
    let shown: String = text.chars().take(12).flat_map(char::escape_debug).collect();
    let found = Diagnostic::error(span, format!("`{shown}` belongs to no token"))
        .label("expected a name, an integer or an operator");
    match text {
        "&" => found.instead("write `&&` for \"and\"", "&&"),
        "|" => found.instead("write `||` for \"or\"", "||"),
        "." => found.hint("write `..` for a range"),
        "\"" | "'" => found.hint("the language has no strings"),
        ";" => found.instead("statements need no separator: leave the `;` out", ""),
        "#" => found.instead("comments begin with `//`", "//"),
        _ if !text.is_ascii() => found.hint("outside comments, only ASCII is used"),
        _ => found,
    }
}
