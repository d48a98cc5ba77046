//! The parser's cursor, and the directives outside functions.

use std::ops::Range;

use super::error::Parsed;
use super::error::ReadError;
use super::lexer::Lexed;
use super::lexer::Lexeme;
use super::lexer::Token;
use super::lexer::lex;
use super::place::Places;
use super::tree::Function;
use super::tree::Name;
use super::tree::Tree;
use super::tree::VariableSpace;

/// The deepest nesting of braces and operands.
pub const MAX_DEPTH: usize = 64;

pub struct Parser<'a> {
    pub text: &'a str,
    lexed: Lexed,
    next: usize,
    /// The line of the token at `next`. It is counted from the last token whose line was asked for.
    line: u32,
    counted: usize,
    /// Inline assembly that ends after the current position.
    assembly: usize,
    pub places: Places,
    pub tree: Tree<'a>,
}

/// Reads a text, or says where it stops being PTX.
pub fn parse(text: &str) -> Parsed<Tree<'_>> {
    let mut parser = Parser {
        text,
        lexed: lex(text),
        next: 0,
        line: 1,
        counted: 0,
        assembly: 0,
        places: Places::default(),
        tree: Tree::default(),
    };
    parser.module()?;
    parser.tree.places = parser.places.finish();
    Ok(parser.tree)
}

impl<'a> Parser<'a> {
    fn lexeme(&self) -> Option<Lexeme> {
        self.lexed.tokens.get(self.next).copied()
    }

    pub fn token(&self) -> Option<Token> {
        self.lexeme().map(|lexeme| lexeme.token)
    }

    /// The token after the next one.
    pub fn second(&self) -> Option<Token> {
        Some(self.lexed.tokens.get(self.next + 1)?.token)
    }

    pub fn advance(&mut self) {
        self.next += 1;
    }

    pub fn span(&self) -> Range<usize> {
        match self.lexeme() {
            Some(lexeme) => lexeme.start..lexeme.end,
            None => self
                .lexed
                .bad
                .clone()
                .unwrap_or(self.text.len()..self.text.len()),
        }
    }

    pub fn slice(&self) -> &'a str {
        self.text.get(self.span()).unwrap_or_default()
    }

    /// The line of the next token, from 1 on.
    pub fn line(&mut self) -> u32 {
        let start = self.span().start;
        let between = self.text.as_bytes().get(self.counted..start);
        let lines = between.unwrap_or_default().iter().filter(|b| **b == b'\n');
        self.line = self
            .line
            .saturating_add(u32::try_from(lines.count()).unwrap_or(u32::MAX));
        self.counted = start.max(self.counted);
        self.line
    }

    /// Whether the next token is inside inline assembly.
    pub fn in_assembly(&mut self) -> bool {
        let at = self.span().start;
        while let Some(range) = self.lexed.assembly.get(self.assembly) {
            if range.end > at {
                return range.start <= at;
            }
            self.assembly += 1;
        }
        false
    }

    pub fn error<T>(&self, expected: &str, hint: &str) -> Parsed<T> {
        let span = self.span();
        let found = self.slice().escape_debug().to_string();
        if self.lexeme().is_some() {
            let message = format!("found `{found}` where {expected} was expected");
            return self.wrong(span, message, hint);
        }
        if self.lexed.bad.is_some() {
            let message = format!("`{found}` begins no word of PTX");
            return self.wrong(
                span,
                message,
                "PTX is ASCII text; see the ISA manual's syntax",
            );
        }
        let message = format!("the text ends where {expected} was expected");
        self.wrong(
            span,
            message,
            "the file may be truncated: compile or copy it again",
        )
    }

    pub fn wrong<T>(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Parsed<T> {
        Err(Box::new(ReadError::new(self.text, span, message, hint)))
    }

    pub fn eat(&mut self, token: Token) -> bool {
        let found = self.token() == Some(token);
        if found {
            self.advance();
        }
        found
    }

    pub fn expect(&mut self, token: Token, name: &str) -> Parsed<()> {
        if self.eat(token) {
            return Ok(());
        }
        self.error(
            name,
            "PTX statements end with `;`, lists are separated by `,`",
        )
    }

    pub fn word(&mut self, what: &str) -> Parsed<Name<'a>> {
        if self.token() != Some(Token::Word) {
            return self.error(what, "names begin with a letter, `_`, `$` or `%`");
        }
        let name = Name {
            text: self.slice(),
            span: self.span(),
        };
        self.advance();
        Ok(name)
    }

    /// A directive or a further word of an opcode, without its dot.
    pub fn dotted(&mut self) -> Option<&'a str> {
        if self.token() != Some(Token::Dotted) {
            return None;
        }
        let text = self.slice();
        self.advance();
        text.get(1..)
    }

    /// Skips everything up to this token; tokens inside braces and parentheses do not count.
    pub fn skip_past(&mut self, end: Token, name: &str) -> Parsed<()> {
        let mut depth = 0_usize;
        loop {
            match self.token() {
                None => return self.error(name, "every brace needs its counterpart"),
                Some(token) if token == end && depth == 0 => {
                    self.advance();
                    return Ok(());
                }
                Some(Token::OpenBrace | Token::OpenParen) => depth += 1,
                Some(Token::CloseBrace | Token::CloseParen) => depth = depth.saturating_sub(1),
                Some(_) => {}
            }
            self.advance();
        }
    }

    fn module(&mut self) -> Parsed<()> {
        if !(self.token() == Some(Token::Dotted) && self.slice() == ".version") {
            return self.error("`.version`", "a PTX file begins with `.version`");
        }
        while self.token().is_some() {
            let span = self.span();
            if self.eat(Token::Semicolon) {
                continue;
            }
            let Some(directive) = self.dotted() else {
                return self.error(
                    "a directive such as `.entry`",
                    "is a closing brace missing or doubled before this line?",
                );
            };
            self.directive(directive, span)?;
        }
        if self.lexed.bad.is_some() {
            return self.error("a directive", "");
        }
        Ok(())
    }

    fn directive(&mut self, directive: &'a str, span: Range<usize>) -> Parsed<()> {
        match directive {
            "version" => {
                self.tree.version = self.slice();
                self.expect(Token::Number, "a version such as 8.0")?;
            }
            "target" => {
                self.tree.target = self.word("a target such as sm_90")?.text;
                while self.eat(Token::Comma) {
                    self.word("a target option")?;
                }
            }
            "address_size" => {
                self.constant("32 or 64")?;
            }
            "file" => self.file()?,
            "loc" => self.location()?,
            "section" => {
                self.advance();
                self.expect(Token::OpenBrace, "`{`")?;
                self.skip_past(Token::CloseBrace, "`}`")?;
            }
            // Linking does not change what a kernel does.
            "visible" | "extern" | "weak" | "common" | "unified" => {}
            "entry" => self.function(true)?,
            "func" => self.function(false)?,
            "shared" => self.module_variables(VariableSpace::Shared)?,
            "global" => self.module_variables(VariableSpace::Global)?,
            "const" => self.module_variables(VariableSpace::Constant)?,
            "tex" | "texref" | "samplerref" | "surfref" | "alias" | "pragma" => {
                while !matches!(self.token(), None | Some(Token::Semicolon)) {
                    if self.token() == Some(Token::Word) {
                        self.tree.other_names.push(self.slice());
                    }
                    self.advance();
                }
                self.expect(Token::Semicolon, "`;`")?;
            }
            _ => {
                return self.wrong(
                    span,
                    format!("`.{directive}` is no directive of a module"),
                    "is a closing brace missing or doubled before this line?",
                );
            }
        }
        Ok(())
    }

    fn module_variables(&mut self, space: VariableSpace) -> Parsed<()> {
        let found = self.variables(space)?;
        self.tree.variables.extend(found);
        Ok(())
    }

    fn file(&mut self) -> Parsed<()> {
        let number = self.constant("a file number")?;
        let name = self.slice().trim_matches('"');
        self.expect(Token::Text, "a file name in quotation marks")?;
        while self.eat(Token::Comma) {
            self.constant("a time stamp or size")?;
        }
        self.places.file(number, name);
        Ok(())
    }

    /// What follows `.loc`.
    pub fn location(&mut self) -> Parsed<()> {
        // Inside inline assembly, compilers continue to count lines. These numbers are not lines of the source.
        let counted_on = self.in_assembly();
        let place = self.place()?;
        let mut outer = None;
        while self.eat(Token::Comma) {
            if self.word("`function_name` or `inlined_at`")?.text == "inlined_at" {
                outer = Some(self.place()?);
                continue;
            }
            self.advance();
            if self.eat(Token::Plus) {
                self.constant("an offset")?;
            }
        }
        if !counted_on {
            self.places.at(place, outer);
        }
        Ok(())
    }

    fn place(&mut self) -> Parsed<[u32; 3]> {
        let mut place = [0; 3];
        for part in &mut place {
            *part = u32::try_from(self.constant("a number")?).unwrap_or(0);
        }
        Ok(place)
    }

    fn triple(&mut self) -> Parsed<[u32; 3]> {
        let mut sizes = [1; 3];
        for (index, size) in sizes.iter_mut().enumerate() {
            if index > 0 && !self.eat(Token::Comma) {
                break;
            }
            *size = u32::try_from(self.constant("a size")?).unwrap_or(u32::MAX);
        }
        Ok(sizes)
    }

    fn function(&mut self, entry: bool) -> Parsed<()> {
        let mut function = Function {
            entry,
            ..Function::default()
        };
        self.attributes()?;
        if !entry && self.eat(Token::OpenParen) {
            function.results = self.parameters()?;
        }
        let name = self.word("the name of a function")?;
        (function.name, function.span) = (name.text, name.span);
        if self.eat(Token::OpenParen) {
            function.parameters = self.parameters()?;
        }
        loop {
            match self.token() {
                Some(Token::OpenBrace) => {
                    self.places.begin_function();
                    function.body = Some(self.body()?);
                    break;
                }
                Some(Token::Semicolon) => {
                    self.advance();
                    break;
                }
                Some(Token::Dotted) => {
                    let directive = self.dotted().unwrap_or_default();
                    let bounds = &mut function.bounds;
                    match directive {
                        "reqntid" => bounds.required_threads = Some(self.triple()?),
                        "maxntid" => bounds.max_threads = Some(self.triple()?),
                        "reqnctapercluster" => bounds.cluster = Some(self.triple()?),
                        "maxnreg" => bounds.max_registers = Some(self.triple()?[0]),
                        "minnctapersm" => bounds.min_ctas = Some(self.triple()?[0]),
                        "pragma" => self.skip_past(Token::Semicolon, "`;`")?,
                        // Other directives, such as `.noreturn`, have no effect that a thread could notice.
                        _ => {}
                    }
                }
                Some(Token::Number | Token::Comma | Token::OpenParen | Token::CloseParen) => {
                    self.advance();
                }
                _ => return self.error("`{`", "the body of a function is in braces"),
            }
        }
        self.tree.functions.push(function);
        Ok(())
    }

    /// `.attribute(...)`
    pub fn attributes(&mut self) -> Parsed<()> {
        while self.token() == Some(Token::Dotted) && self.slice() == ".attribute" {
            self.advance();
            self.expect(Token::OpenParen, "`(`")?;
            self.skip_past(Token::CloseParen, "`)`")?;
        }
        Ok(())
    }
}
