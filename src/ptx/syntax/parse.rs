//! The parser: one pass over the tokens. It recurses only on nested operands, to a bounded depth. Braces open scopes with
//! their own registers and labels, as inline assembly needs.

use std::ops::Range;

use logos::Lexer;
use logos::Logos;

use super::ast::Function;
use super::ast::Location;
use super::ast::Module;
use super::ast::Parameter;
use super::ast::Register;
use super::ast::Variable;
use super::token::Token;
use super::variables::plain;
use crate::protocol::Span;
use crate::text::Diagnostic;

/// The largest text that is read, in bytes.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// How deep operands and scopes nest at most.
pub(in crate::ptx) const MAX_DEPTH: usize = 32;

/// After how many bytes progress is told.
const TOLD_EVERY: usize = 1 << 20;

/// Reads PTX. `progress` is told now and then how many bytes have been read.
///
/// Fails at the first place where the text is no PTX.
pub fn parse<'a>(
    source: &'a [u8],
    progress: &dyn Fn(usize),
) -> Result<Module<'a>, Vec<Diagnostic>> {
    let text = std::str::from_utf8(source).map_err(|error| {
        let start = error.valid_up_to();
        let end = start + error.error_len().unwrap_or(source.len() - start);
        let message = format!("the text is not UTF-8 from byte {start} on");
        vec![
            Diagnostic::error(Span { start, end }, message)
                .hint("a file made by a disassembler or a cubin is not PTX"),
        ]
    })?;
    let mut parser = Parser {
        source: text,
        lexer: Token::lexer(text),
        token: None,
        span: 0..0,
        bad: None,
        told: 0,
        declared: Vec::new(),
        assembly: assembly(text),
        progress,
    };
    parser.advance();
    parser.module().map_err(|error| vec![*error])
}

pub(in crate::ptx) type Parsed<T> = Result<T, Box<Diagnostic>>;

pub(in crate::ptx) struct Parser<'a, 'p> {
    source: &'a str,
    lexer: Lexer<'a, Token>,
    pub token: Option<Token>,
    pub span: Range<usize>,
    /// Where a character is that begins no token.
    bad: Option<Range<usize>>,
    told: usize,
    /// The names that have been declared.
    declared: Vec<&'a str>,
    /// Where inline assembly stands, in order.
    assembly: Vec<Range<usize>>,
    progress: &'p dyn Fn(usize),
}

/// Where inline assembly stands, between the comments that compilers put around it.
fn assembly(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    let find = |from: usize, what: &str| Some(from + text.get(from..)?.find(what)?);
    while let Some(start) = find(from, "// begin inline asm")
        && let Some(end) = find(start, "// end inline asm")
    {
        ranges.push(start..end);
        from = end;
    }
    ranges
}

impl<'a> Parser<'a, '_> {
    /// Whether a place lies in inline assembly. Compilers count its lines on from the line that it stands in, though in
    /// most languages it is not written in lines of the source.
    pub fn in_assembly(&self, at: usize) -> bool {
        let before = self.assembly.partition_point(|range| range.start <= at);
        let last = before.checked_sub(1).and_then(|i| self.assembly.get(i));
        last.is_some_and(|range| range.contains(&at))
    }

    pub fn advance(&mut self) {
        self.token = match self.lexer.next() {
            None => None,
            Some(Ok(token)) => Some(token),
            Some(Err(())) => {
                self.bad.get_or_insert(self.lexer.span());
                None
            }
        };
        self.span = self.lexer.span();
        if self.span.start >= self.told + TOLD_EVERY {
            self.told = self.span.start;
            (self.progress)(self.told);
        }
    }

    pub fn text(&self) -> &'a str {
        self.source.get(self.span.clone()).unwrap_or_default()
    }

    pub fn error<T>(&self, expected: &str, hint: &str) -> Parsed<T> {
        let span = self.bad.clone().unwrap_or_else(|| self.span.clone());
        let found = self.source.get(span.clone()).unwrap_or_default();
        let message = if self.bad.is_some() {
            format!("`{}` begins no word of PTX", found.escape_debug())
        } else if self.token.is_none() {
            format!("the text ends where {expected} was expected")
        } else {
            format!(
                "found `{}` where {expected} was expected",
                found.escape_debug()
            )
        };
        let place = Span {
            start: span.start,
            end: span.end,
        };
        let hint = match self.token {
            None if self.bad.is_none() => "the file may be truncated: compile or copy it again",
            _ => hint,
        };
        Err(Box::new(
            Diagnostic::error(place, message)
                .label(format!("expected {expected}"))
                .hint(hint),
        ))
    }

    pub fn eat(&mut self, token: Token) -> bool {
        let found = self.token == Some(token);
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

    pub fn word(&mut self, what: &str) -> Parsed<&'a str> {
        if self.token != Some(Token::Word) {
            return self.error(what, "see the grammar in the PTX ISA manual");
        }
        let text = self.text();
        self.advance();
        Ok(text)
    }

    /// An integer, perhaps negative, in any of the notations.
    pub fn integer(&mut self, what: &str) -> Parsed<i64> {
        let negative = self.eat(Token::Minus);
        if self.token == Some(Token::Number)
            && let Some(value) = number(self.text())
        {
            self.advance();
            return Ok(if negative {
                value.wrapping_neg()
            } else {
                value
            });
        }
        self.error(
            what,
            "integers are decimal, 0x, 0b or 0 octal, with an optional U",
        )
    }

    /// Goes past everything up to this token, which may lie inside no braces.
    pub fn skip_past(&mut self, end: Token, name: &str) -> Parsed<()> {
        let mut depth = 0usize;
        loop {
            match self.token {
                None => return self.error(name, "every block needs its closing brace"),
                Some(token) if token == end && depth == 0 => {
                    self.advance();
                    return Ok(());
                }
                Some(Token::OpenBrace) => depth += 1,
                Some(Token::CloseBrace) => depth = depth.saturating_sub(1),
                Some(_) => {}
            }
            self.advance();
        }
    }

    /// A declaration of which often only the names matter, which are noted, and its text. An initial value may name
    /// others: that is no harm.
    pub fn declaration(&mut self) -> Parsed<&'a str> {
        let start = self.span.start;
        self.skip_past(Token::Semicolon, "`;`")?;
        let text = self.source.get(start..self.span.start).unwrap_or_default();
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_$%.:".contains(c)));
        let names = words
            .filter(|w| !w.is_empty() && !w.starts_with(|c: char| c == '.' || c.is_ascii_digit()));
        self.declared.extend(names);
        Ok(text)
    }

    fn module(&mut self) -> Parsed<Module<'a>> {
        let mut module = Module {
            source: self.source,
            ..Module::default()
        };
        if !(self.token == Some(Token::Word) && self.text() == ".version") {
            return self.error("`.version`", "a PTX file begins with `.version`");
        }
        while self.token.is_some() {
            let word = self.word("a directive")?;
            match word {
                ".version" => {
                    module.version = self.text();
                    self.expect(Token::Number, "a version")?;
                }
                ".target" => {
                    module.target = self.word("a target")?;
                    while self.eat(Token::Comma) {
                        self.word("a target option")?;
                    }
                }
                ".address_size" => {
                    self.integer("32 or 64")?;
                }
                ".file" => self.file(&mut module)?,
                ".loc" => {
                    self.location()?;
                }
                ".section" => {
                    self.word("a section")?;
                    self.expect(Token::OpenBrace, "`{`")?;
                    self.skip_past(Token::CloseBrace, "`}`")?;
                }
                ".visible" | ".extern" | ".weak" | ".common" | ".unified" => {}
                ".entry" => self.function(&mut module, true)?,
                ".func" => self.function(&mut module, false)?,
                ".shared" => {
                    let found = self.variables()?;
                    module.shared.extend(found);
                }
                ".global" => module.globals.extend(plain(self.declaration()?)),
                ".const" => module.constants.extend(plain(self.declaration()?)),
                ".pragma" | ".alias" | ".tex" | ".texref" | ".samplerref" | ".surfref" => {
                    self.declaration()?;
                }
                _ => {
                    let found = format!("`{}` is no directive of a module", word.escape_debug());
                    let end = self.span.start;
                    let start = self.source.get(..end).and_then(|s| s.rfind(word));
                    let start = start.unwrap_or(end);
                    let span = Span {
                        start,
                        end: start + word.len(),
                    };
                    return Err(Box::new(
                        Diagnostic::error(span, found)
                            .label("expected a directive such as `.entry`")
                            .hint("is a closing brace missing or doubled before this line?"),
                    ));
                }
            }
        }
        if self.bad.is_some() {
            return self.error("a directive", "PTX is ASCII text");
        }
        module.declared = std::mem::take(&mut self.declared);
        Ok(module)
    }

    fn file(&mut self, module: &mut Module<'a>) -> Parsed<()> {
        let number = self.integer("a file number")?;
        let name = self.text().trim_matches('"');
        self.expect(Token::Text, "a file name")?;
        while self.eat(Token::Comma) {
            self.integer("a time stamp or size")?;
        }
        module
            .files
            .push((u32::try_from(number).unwrap_or(0), name));
        Ok(())
    }

    /// What follows `.loc`: where inlined functions were called is what a reader looks for.
    pub fn location(&mut self) -> Parsed<(Location, Location)> {
        let written = self.place()?;
        let mut location = written;
        while self.eat(Token::Comma) {
            match self.word("`function_name` or `inlined_at`")? {
                "inlined_at" => location = self.place()?,
                _ => {
                    self.word("a label")?;
                    if self.eat(Token::Plus) {
                        self.integer("an offset")?;
                    }
                }
            }
        }
        Ok((location, written))
    }

    fn place(&mut self) -> Parsed<Location> {
        let mut next = || -> Parsed<u32> {
            let value = self.integer("a number")?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let (file, line, _) = (next()?, next()?, next()?);
        Ok(Location { file, line })
    }

    /// What follows `.shared`: alignment, type, names with extents.
    pub fn variables(&mut self) -> Parsed<Vec<Variable<'a>>> {
        let mut width = 1;
        let mut align = 1;
        let mut found = Vec::new();
        loop {
            let word = self.word("a type or a name")?;
            if word == ".align" {
                align = u64::try_from(self.integer("an alignment")?).unwrap_or(1);
                continue;
            }
            if let Some(bytes) = width_of(word) {
                (width, align) = (bytes, align.max(bytes));
                continue;
            }
            if word.starts_with('.') {
                continue;
            }
            let mut bytes = width;
            while self.eat(Token::OpenBracket) {
                if self.eat(Token::CloseBracket) {
                    bytes = 0;
                    continue;
                }
                let extent = self.integer("an extent")?;
                bytes = bytes.saturating_mul(u64::try_from(extent).unwrap_or(0));
                self.expect(Token::CloseBracket, "`]`")?;
            }
            self.declared.push(word);
            found.push(Variable {
                name: word,
                bytes,
                align,
            });
            if self.eat(Token::Comma) {
                continue;
            }
            if self.token == Some(Token::Sign) {
                self.skip_past(Token::Semicolon, "`;`")?;
            } else {
                self.expect(Token::Semicolon, "`;`")?;
            }
            return Ok(found);
        }
    }

    fn parameters(&mut self) -> Parsed<Vec<Parameter<'a>>> {
        let mut found = Vec::new();
        while !self.eat(Token::CloseParen) {
            let mut parameter = Parameter {
                name: "",
                kind: "",
                bytes: 0,
                register: None,
            };
            loop {
                match self.token {
                    Some(Token::Word) => {
                        let word = self.word("a parameter")?;
                        if word == ".reg" {
                            // Its number is given where the body begins.
                            parameter.register = Some(Register(u32::MAX));
                        } else if word == ".align" {
                            self.integer("an alignment")?;
                        } else if let Some(bytes) = width_of(word) {
                            (parameter.kind, parameter.bytes) = (word, bytes);
                        } else if !word.starts_with('.') {
                            parameter.name = word;
                        }
                    }
                    Some(Token::OpenBracket) => {
                        self.advance();
                        if self.token == Some(Token::Number) {
                            let extent = self.integer("an extent")?;
                            let extent = u64::try_from(extent).unwrap_or(0);
                            parameter.bytes = parameter.bytes.saturating_mul(extent);
                            parameter.kind = ".b8";
                        }
                        self.expect(Token::CloseBracket, "`]`")?;
                    }
                    Some(Token::Comma) => {
                        self.advance();
                        break;
                    }
                    Some(Token::CloseParen) => break,
                    _ => return self.error("`,` or `)`", "parameters are `.param .u32 name`"),
                }
            }
            self.declared.push(parameter.name);
            found.push(parameter);
        }
        Ok(found)
    }

    fn triple(&mut self) -> Parsed<[u32; 3]> {
        let mut sizes = [1; 3];
        for (index, size) in sizes.iter_mut().enumerate() {
            if index > 0 && !self.eat(Token::Comma) {
                break;
            }
            *size = u32::try_from(self.integer("a size")?).unwrap_or(u32::MAX);
        }
        Ok(sizes)
    }

    fn function(&mut self, module: &mut Module<'a>, entry: bool) -> Parsed<()> {
        let results = if !entry && self.eat(Token::OpenParen) {
            self.parameters()?
        } else {
            Vec::new()
        };
        let mut function = Function {
            entry,
            at: self.span.clone(),
            name: self.word("the name of the function")?,
            results,
            ..Function::default()
        };
        self.declared.push(function.name);
        if self.eat(Token::OpenParen) {
            function.parameters = self.parameters()?;
        }
        loop {
            match self.token {
                Some(Token::OpenBrace) => break,
                Some(Token::Semicolon) => {
                    self.advance();
                    return Ok(());
                }
                Some(Token::Word) => match self.word("a directive")? {
                    ".reqntid" => function.reqntid = Some(self.triple()?),
                    ".maxntid" => function.maxntid = Some(self.triple()?),
                    ".maxnreg" => function.registers_per_thread = Some(self.triple()?[0]),
                    ".minnctapersm" => function.ctas_per_sm = Some(self.triple()?[0]),
                    ".reqnctapercluster" => function.cluster = Some(self.triple()?),
                    ".pragma" => self.skip_past(Token::Semicolon, "`;`")?,
                    _ => {}
                },
                Some(Token::Number | Token::Comma | Token::OpenParen | Token::CloseParen) => {
                    self.advance();
                }
                _ => {
                    return self.error("`{`", "the body of a function is in braces");
                }
            }
        }
        let function = self.body(function)?;
        module.functions.push(function);
        Ok(())
    }
}

/// The bytes of a type.
pub(super) fn width_of(word: &str) -> Option<u64> {
    let digits = match word {
        ".pred" => return Some(1),
        ".f16x2" | ".bf16x2" => return Some(4),
        ".bf16" => return Some(2),
        _ => word
            .strip_prefix(['.'])?
            .strip_prefix(['b', 'u', 's', 'f'])?,
    };
    match digits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    }
}

/// An integer in one of the notations; wraps to 64 bits as PTX does.
pub(in crate::ptx) fn number(text: &str) -> Option<i64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let value = if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        u64::from_str_radix(digits, 16).ok()?
    } else if let Some(digits) = text.strip_prefix("0b").or(text.strip_prefix("0B")) {
        u64::from_str_radix(digits, 2).ok()?
    } else if text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()) {
        u64::from_str_radix(text, 8).ok()?
    } else {
        text.parse().ok()?
    };
    Some(value.cast_signed())
}
