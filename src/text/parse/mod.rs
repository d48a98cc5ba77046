//! Parsing: tokens become a syntax tree by recursive descent.
//!
//! Newlines have no meaning, so a statement is recognised by its first token. After an error, the parser continues at
//! the next statement or declaration and reports further errors. The tree is never deeper than [`MAX_DEPTH`]. So no
//! code that builds, walks or drops the tree can exhaust the stack, whatever the input is.

mod asynchronous;
mod atomic;
mod expr;
mod item;
mod role;
mod stmt;

use super::ast::Expr;
use super::ast::File;
use super::ast::Name;
use super::diagnostic::Diagnostic;
use super::token::Comment;
use super::token::Lexeme;
use super::token::Token;
use super::token::lex;
use crate::protocol::Span;

/// How deeply expressions and blocks may nest. Every operator of a chain counts, too.
pub(super) const MAX_DEPTH: usize = 128;

/// The most diagnostics that are reported before the rest of the text is skipped.
pub(super) const MAX_DIAGNOSTICS: usize = 50;

/// A part did not parse. Its error is already in the list of diagnostics.
struct Failed;

type Parsed<T> = Result<T, Failed>;

/// Parses a whole text. The comments are those of the text, in order.
pub(super) fn parse(source: &str) -> Result<(File, Vec<Comment>), Vec<Diagnostic>> {
    let lexed = lex(source);
    let mut parser = Parser::new(source, lexed.tokens, lexed.diagnostics);
    let file = parser.file();
    match file {
        Ok(file) if parser.diagnostics.is_empty() => Ok((file, lexed.comments)),
        _ => Err(parser.finish()),
    }
}

/// As much of the tree of a text as parses.
pub(super) fn parse_partially(source: &str) -> Option<File> {
    let lexed = lex(source);
    Parser::new(source, lexed.tokens, lexed.diagnostics)
        .file()
        .ok()
}

/// Parses a text that is one expression.
pub(super) fn parse_expression(source: &str) -> Result<Expr, Vec<Diagnostic>> {
    let lexed = lex(source);
    let mut parser = Parser::new(source, lexed.tokens, lexed.diagnostics);
    let expr = parser.expr().and_then(|expr| {
        parser.expect(Token::End, "an operator or the end of the expression")?;
        Ok(expr)
    });
    match expr {
        Ok(expr) if parser.diagnostics.is_empty() => Ok(expr),
        _ => Err(parser.finish()),
    }
}

fn reserved(word: &str) -> String {
    format!("`{word}` is a reserved word")
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Lexeme>,
    at: usize,
    depth: usize,
    diagnostics: Vec<Diagnostic>,
    /// How many diagnostics, from the first on, are about stray characters.
    strays: usize,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, tokens: Vec<Lexeme>, diagnostics: Vec<Diagnostic>) -> Parser<'s> {
        Parser {
            source,
            tokens,
            at: 0,
            depth: 0,
            strays: diagnostics.len(),
            diagnostics,
        }
    }

    /// The diagnostics in text order. An error behind a stray character on the same line is left out, because the
    /// character may be its only cause. Further uses of a reserved word that was taken for a name are left out, too.
    fn finish(mut self) -> Vec<Diagnostic> {
        let strays: Vec<Span> = self.diagnostics[..self.strays]
            .iter()
            .map(|d| d.span)
            .collect();
        let caused = |at: usize| {
            strays.iter().any(|stray| {
                let between = self.source.get(stray.end..at);
                between.is_some_and(|text| !text.contains('\n'))
            })
        };
        let mut parsed = self.diagnostics.split_off(self.strays);
        parsed.retain(|d| !caused(d.span.start));
        let word = |d: &Diagnostic| self.source.get(d.span.start..d.span.end);
        let mut refused: Vec<&str> = Vec::new();
        parsed.retain(|d| {
            let Some(word) = word(d) else { return true };
            if refused.contains(&word) {
                return false;
            }
            if d.message == reserved(word) {
                refused.push(word);
            }
            true
        });
        self.diagnostics.append(&mut parsed);
        self.diagnostics.sort_by_key(|d| d.span.start);
        self.diagnostics.truncate(MAX_DIAGNOSTICS);
        self.diagnostics
    }

    fn lexeme(&self, ahead: usize) -> Lexeme {
        let last = self.tokens.len() - 1;
        self.tokens[(self.at + ahead).min(last)]
    }

    fn peek(&self) -> Token {
        self.lexeme(0).token
    }

    fn span(&self) -> Span {
        self.lexeme(0).span
    }

    /// Where the last token taken ends.
    fn end(&self) -> usize {
        match self.at {
            0 => 0,
            at => self.tokens[at - 1].span.end,
        }
    }

    /// From a start to the last token taken.
    fn since(&self, start: usize) -> Span {
        Span {
            start,
            end: self.end().max(start),
        }
    }

    fn bump(&mut self) -> Lexeme {
        let lexeme = self.lexeme(0);
        if lexeme.token != Token::End {
            self.at += 1;
        }
        lexeme
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.bump();
        }
        found
    }

    /// Takes this token or reports that `what` was expected.
    fn expect(&mut self, token: Token, what: &str) -> Parsed<Span> {
        let span = self.span();
        if self.peek() == token {
            self.bump();
            Ok(span)
        } else {
            Err(self.unexpected(what))
        }
    }

    fn token(&mut self, token: Token) -> Parsed<Span> {
        self.expect(token, token.text())
    }

    /// A word with a meaning in one place only, such as `arrivals`.
    fn word(&mut self, word: &str) -> Parsed<()> {
        if self.peek() == Token::Name && self.slice(self.span()) == word {
            self.bump();
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{word}`")))
        }
    }

    fn slice(&self, span: Span) -> &'s str {
        self.source.get(span.start..span.end).unwrap_or_default()
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let Lexeme { token, span } = self.lexeme(0);
        if token.may_be_name() {
            self.bump();
            return Ok(Name {
                text: self.slice(span).to_owned(),
                span,
            });
        }
        if token.is_reserved_word() && !token.begins_item() {
            let found = self.slice(span);
            return Err(self.fail(
                Diagnostic::error(span, reserved(found))
                    .label(format!("expected {what}"))
                    .hint("choose another name"),
            ));
        }
        Err(self.unexpected(what))
    }

    fn int(&mut self, what: &str) -> Parsed<i64> {
        let negative = self.eat(Token::Minus);
        if self.peek() != Token::Int {
            return Err(self.unexpected(what));
        }
        let digits = self.bump().span;
        let value = self.integer(digits)?;
        Ok(if negative { -value } else { value })
    }

    /// The value of an integer token.
    fn integer(&mut self, span: Span) -> Parsed<i64> {
        let digits = self.slice(span);
        if let Ok(value) = digits.parse() {
            return Ok(value);
        }
        let message = if digits.bytes().all(|b| b.is_ascii_digit()) {
            "this integer is too large"
        } else {
            "this is neither an integer nor a name"
        };
        Err(self.fail(
            Diagnostic::error(span, message)
                .label(format!("expected decimal digits, at most {}", i64::MAX)),
        ))
    }

    fn unexpected(&mut self, what: &str) -> Failed {
        let Lexeme { token, span } = self.lexeme(0);
        let found = match token {
            Token::End => token.text().to_owned(),
            _ => format!("`{}`", self.slice(span)),
        };
        let diagnostic = Diagnostic::error(span, format!("expected {what}, found {found}"))
            .label(format!("expected {what}"));
        let comment = token == Token::Slash && self.lexeme(1).token == Token::Star;
        let hint = match self.slice(span) {
            _ if comment => {
                return self
                    .fail(diagnostic.hint("comments begin with `//` and end with the line"));
            }
            word => in_words(word),
        };
        self.fail(match hint {
            Some((hint, text)) => diagnostic.instead(hint, text),
            None => diagnostic,
        })
    }

    fn fail(&mut self, diagnostic: Diagnostic) -> Failed {
        if self.diagnostics.len() >= MAX_DIAGNOSTICS {
            self.at = self.tokens.len() - 1;
        } else {
            self.diagnostics.push(diagnostic);
        }
        Failed
    }

    /// Runs one level deeper, or reports that the text nests too deeply.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return Err(self.fail(too_deep(span)));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Parses `part, part, ...` up to the closing token, which is taken.
    fn list<T>(
        &mut self,
        close: Token,
        mut part: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut parts = vec![part(self)?];
        while self.eat(Token::Comma) {
            parts.push(part(self)?);
        }
        self.expect(close, &format!("`,` or {}", close.text()))?;
        Ok(parts)
    }
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        span,
        format!("this nests more than {MAX_DEPTH} levels deep"),
    )
    .label("parentheses, blocks, `else if` and every operator of a chain count")
    .hint("name a part with `let`, or split it")
}

/// The operators of this language for words of other languages.
fn in_words(word: &str) -> Option<(&'static str, &'static str)> {
    match word {
        "and" => Some(("`and` is written `&&`", "&&")),
        "or" => Some(("`or` is written `||`", "||")),
        _ => None,
    }
}
