//! The parser: one pass over the tokens, without recursion on the input except for the bounded
//! nesting of operands. Scopes in braces, as inline assembly has, get registers and labels of
//! their own.

use std::collections::HashMap;
use std::ops::Range;

use logos::Lexer;
use logos::Logos;

use super::ast::Function;
use super::ast::Instruction;
use super::ast::Location;
use super::ast::Module;
use super::ast::Operand;
use super::ast::Parameter;
use super::ast::Register;
use super::ast::Variable;
use super::token::Token;
use crate::protocol::Span;
use crate::text::Diagnostic;

/// The largest text that is read, in bytes.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// How deep operands and scopes nest at most.
const MAX_DEPTH: usize = 32;

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
        progress,
    };
    parser.advance();
    parser.module().map_err(|error| vec![*error])
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Parser<'a, 'p> {
    source: &'a str,
    lexer: Lexer<'a, Token>,
    token: Option<Token>,
    span: Range<usize>,
    /// Where a character is that begins no token.
    bad: Option<Range<usize>>,
    told: usize,
    progress: &'p dyn Fn(usize),
}

/// The names of one pair of braces.
#[derive(Default)]
struct Scope<'a> {
    parent: Option<usize>,
    names: HashMap<&'a str, Register>,
    /// Prefixes with how many numbered registers each has.
    families: Vec<(&'a str, u64)>,
    labels: HashMap<&'a str, usize>,
}

/// What is known of a function while its body is read.
struct Body<'a> {
    function: Function<'a>,
    scopes: Vec<Scope<'a>>,
    open: Vec<usize>,
    location: Option<Location>,
    /// Branches to be resolved at the end: the scope and the name of each target.
    wanted: Vec<(usize, &'a str, Range<usize>)>,
}

impl<'a> Parser<'a, '_> {
    fn advance(&mut self) {
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

    fn text(&self) -> &'a str {
        self.source.get(self.span.clone()).unwrap_or_default()
    }

    fn error<T>(&self, expected: &str, hint: &str) -> Parsed<T> {
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

    fn eat(&mut self, token: Token) -> bool {
        let found = self.token == Some(token);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, token: Token, name: &str) -> Parsed<()> {
        if self.eat(token) {
            return Ok(());
        }
        self.error(
            name,
            "PTX statements end with `;`, lists are separated by `,`",
        )
    }

    fn word(&mut self, what: &str) -> Parsed<&'a str> {
        if self.token != Some(Token::Word) {
            return self.error(what, "see the grammar in the PTX ISA manual");
        }
        let text = self.text();
        self.advance();
        Ok(text)
    }

    /// An integer, perhaps negative, in any of the notations.
    fn integer(&mut self, what: &str) -> Parsed<i64> {
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
    fn skip_past(&mut self, end: Token, name: &str) -> Parsed<()> {
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
                ".global" | ".const" | ".pragma" | ".alias" | ".tex" | ".texref"
                | ".samplerref" | ".surfref" => self.skip_past(Token::Semicolon, "`;`")?,
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
    fn location(&mut self) -> Parsed<Location> {
        let mut location = self.place()?;
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
        Ok(location)
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
    fn variables(&mut self) -> Parsed<Vec<Variable<'a>>> {
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
            };
            loop {
                match self.token {
                    Some(Token::Word) => {
                        let word = self.word("a parameter")?;
                        if word == ".align" {
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
        if !entry && self.eat(Token::OpenParen) {
            self.parameters()?;
        }
        let mut function = Function {
            entry,
            at: self.span.clone(),
            name: self.word("the name of the function")?,
            ..Function::default()
        };
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

    fn body(&mut self, function: Function<'a>) -> Parsed<Function<'a>> {
        let mut body = Body {
            function,
            scopes: Vec::new(),
            open: Vec::new(),
            location: None,
            wanted: Vec::new(),
        };
        loop {
            match self.token {
                Some(Token::OpenBrace) => {
                    self.advance();
                    if body.open.len() >= MAX_DEPTH {
                        return self.error("fewer braces", "scopes nest at most 32 deep");
                    }
                    let parent = body.open.last().copied();
                    body.open.push(body.scopes.len());
                    body.scopes.push(Scope {
                        parent,
                        ..Scope::default()
                    });
                }
                Some(Token::CloseBrace) => {
                    self.advance();
                    body.open.pop();
                    if body.open.is_empty() {
                        return resolve(body);
                    }
                }
                Some(Token::Semicolon) => self.advance(),
                Some(Token::Word | Token::At) => self.statement(&mut body)?,
                _ => {
                    return self.error(
                        "an instruction or `}`",
                        "the function begins above; is a `;` missing on the line before?",
                    );
                }
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'a>) -> Parsed<()> {
        let at = self.span.start;
        let mut guard = None;
        if self.eat(Token::At) {
            let negated = self.eat(Token::Not);
            let span = self.span.clone();
            let name = self.word("a predicate")?;
            let Some(register) = body.register(name) else {
                return Err(undeclared(name, span));
            };
            guard = Some((register, negated));
        }
        let word = self.word("an instruction")?;
        if guard.is_none() {
            if self.eat(Token::Colon) {
                if self.token == Some(Token::Word)
                    && matches!(
                        self.text(),
                        ".branchtargets" | ".callprototype" | ".calltargets"
                    )
                {
                    self.skip_past(Token::Semicolon, "`;`")?;
                }
                let index = body.function.code.len();
                if let Some(scope) = body.scope() {
                    scope.labels.insert(word, index);
                }
                return Ok(());
            }
            match word {
                ".loc" => {
                    body.location = Some(self.location()?);
                    return Ok(());
                }
                ".reg" => return self.registers(body),
                ".shared" => {
                    let found = self.variables()?;
                    body.function.shared.extend(found);
                    return Ok(());
                }
                _ if word.starts_with('.') => return self.skip_past(Token::Semicolon, "`;`"),
                _ => {}
            }
        }
        if word.starts_with(['%', '$', '.']) {
            return self.error("an instruction", "an opcode is a word such as `bar.sync`");
        }
        let mut operands = Vec::new();
        while !self.eat(Token::Semicolon) {
            if !operands.is_empty() {
                self.expect(Token::Comma, "`,` or `;`")?;
            }
            let operand = self.operand(body, 0)?;
            operands.push(operand);
        }
        body.function.code.push(Instruction {
            guard,
            opcode: word,
            operands,
            at,
            location: body.location,
        });
        Ok(())
    }

    fn registers(&mut self, body: &mut Body<'a>) -> Parsed<()> {
        loop {
            let word = self.word("a type or a register")?;
            if word.starts_with('.') {
                continue;
            }
            if self.token == Some(Token::Sign) && self.text() == "<" {
                self.advance();
                let count = self.integer("how many registers")?;
                let count = u64::try_from(count).unwrap_or(0);
                self.expect(Token::Sign, "`>`")?;
                if let Some(scope) = body.scope() {
                    scope.families.push((word, count));
                }
            } else {
                let number = body.fresh(word);
                if let Some(scope) = body.scope() {
                    scope.names.insert(word, number);
                }
            }
            if !self.eat(Token::Comma) {
                return self.expect(Token::Semicolon, "`;`");
            }
        }
    }

    fn operand(&mut self, body: &mut Body<'a>, depth: usize) -> Parsed<Operand<'a>> {
        if depth > MAX_DEPTH {
            return self.error("fewer brackets", "operands nest at most 32 deep");
        }
        let operand = match self.token {
            Some(Token::OpenBracket) => {
                self.advance();
                let base = Box::new(self.operand(body, depth + 1)?);
                let mut offset = 0i64;
                loop {
                    if self.eat(Token::Plus) || self.token == Some(Token::Minus) {
                        offset = offset.wrapping_add(self.integer("an offset")?);
                    } else {
                        break;
                    }
                }
                let mut rest = Vec::new();
                while self.eat(Token::Comma) {
                    rest.push(self.operand(body, depth + 1)?);
                }
                self.expect(Token::CloseBracket, "`]`")?;
                Operand::Address { base, offset, rest }
            }
            Some(Token::OpenBrace | Token::OpenParen) => {
                let close = match self.token {
                    Some(Token::OpenBrace) => Token::CloseBrace,
                    _ => Token::CloseParen,
                };
                self.advance();
                let mut parts = Vec::new();
                while !self.eat(close) {
                    if !parts.is_empty() {
                        self.expect(Token::Comma, "`,` or the closing bracket")?;
                    }
                    parts.push(self.operand(body, depth + 1)?);
                }
                Operand::Vector(parts)
            }
            Some(Token::Not) => {
                self.advance();
                let span = self.span.clone();
                let name = self.word("a predicate")?;
                match body.register(name) {
                    Some(register) => Operand::Not(register),
                    None => return Err(undeclared(name, span)),
                }
            }
            Some(Token::Number | Token::Minus) => {
                let text = self.text();
                if self.token == Some(Token::Number) && number(text).is_none() {
                    self.advance();
                    Operand::Float
                } else {
                    Operand::Integer(self.integer("a number")?)
                }
            }
            Some(Token::Word) => {
                let span = self.span.clone();
                let name = self.word("an operand")?;
                body.named(name, span)?
            }
            _ => {
                return self.error(
                    "an operand",
                    "operands are registers, numbers, names, `[addresses]` or `{vectors}`",
                );
            }
        };
        if self.eat(Token::Bar) {
            let second = self.operand(body, depth + 1)?;
            return Ok(Operand::Pair(Box::new((operand, second))));
        }
        if depth == 0 && self.eat(Token::Plus) {
            // `mov.u64 %rd, symbol + 8` is an address without brackets.
            let offset = self.integer("an offset")?;
            return Ok(Operand::Address {
                base: Box::new(operand),
                offset,
                rest: Vec::new(),
            });
        }
        Ok(operand)
    }
}

impl<'a> Body<'a> {
    fn scope(&mut self) -> Option<&mut Scope<'a>> {
        let index = *self.open.last()?;
        self.scopes.get_mut(index)
    }

    fn fresh(&mut self, name: &'a str) -> Register {
        let number = self.function.registers.len();
        self.function.registers.push(name);
        Register(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn register(&mut self, name: &'a str) -> Option<Register> {
        for position in (0..self.open.len()).rev() {
            let index = self.open[position];
            if let Some(register) = self.scopes[index].names.get(name) {
                return Some(*register);
            }
            let belongs = self.scopes[index].families.iter().any(|(prefix, count)| {
                name.strip_prefix(prefix)
                    .and_then(|rest| rest.parse::<u64>().ok())
                    .is_some_and(|number| number < *count)
            });
            if belongs {
                let register = self.fresh(name);
                self.scopes[index].names.insert(name, register);
                return Some(register);
            }
        }
        None
    }

    fn named(&mut self, name: &'a str, span: Range<usize>) -> Parsed<Operand<'a>> {
        // A component of a vector register, as `%v.x`, is not followed.
        if let Some(register) = self.register(name) {
            return Ok(Operand::Register(register));
        }
        if name.starts_with('%') && !special(name) {
            return Err(undeclared(name, span));
        }
        if name.starts_with('%') || name == "_" {
            return Ok(Operand::Name(name));
        }
        let Some(scope) = self.open.last() else {
            return Ok(Operand::Name(name));
        };
        // Whether it is a label is known at the end of the function.
        self.wanted.push((*scope, name, span));
        Ok(Operand::Target(
            u32::try_from(self.wanted.len() - 1).unwrap_or(u32::MAX),
        ))
    }
}

/// Finds the labels; names that are none are variables or functions. A branch has to have one.
fn resolve(mut body: Body<'_>) -> Parsed<Function<'_>> {
    let mut found: Vec<Option<usize>> = Vec::with_capacity(body.wanted.len());
    for (scope, name, _) in &body.wanted {
        let mut at = Some(*scope);
        let mut target = None;
        while let Some(index) = at {
            if let Some(label) = body.scopes[index].labels.get(name) {
                target = Some(*label);
                break;
            }
            at = body.scopes[index].parent;
        }
        found.push(target);
    }
    for instruction in &mut body.function.code {
        let branch = instruction.opcode == "bra" || instruction.opcode.starts_with("bra.");
        for operand in &mut instruction.operands {
            settle(operand, &body.wanted, &found);
            if branch && let Operand::Name(name) = operand {
                let span = Span {
                    start: instruction.at,
                    end: instruction.at + instruction.opcode.len(),
                };
                return Err(Box::new(
                    Diagnostic::error(span, format!("there is no label `{name}` in this scope"))
                        .label("branches to it")
                        .hint("labels inside braces are not visible outside them"),
                ));
            }
        }
    }
    body.function.targets = found.into_iter().map(Option::unwrap_or_default).collect();
    Ok(body.function)
}

fn settle<'a>(
    operand: &mut Operand<'a>,
    wanted: &[(usize, &'a str, Range<usize>)],
    found: &[Option<usize>],
) {
    match operand {
        Operand::Target(number) => {
            let index = *number as usize;
            if let (Some(None), Some((_, name, _))) = (found.get(index), wanted.get(index)) {
                *operand = Operand::Name(name);
            }
        }
        Operand::Address { base, rest, .. } => {
            settle(base, wanted, found);
            for part in rest {
                settle(part, wanted, found);
            }
        }
        Operand::Vector(parts) => {
            for part in parts {
                settle(part, wanted, found);
            }
        }
        Operand::Pair(pair) => {
            settle(&mut pair.0, wanted, found);
            settle(&mut pair.1, wanted, found);
        }
        Operand::Register(_)
        | Operand::Not(_)
        | Operand::Integer(_)
        | Operand::Float
        | Operand::Name(_) => {}
    }
}

fn undeclared(name: &str, span: Range<usize>) -> Box<Diagnostic> {
    let place = Span {
        start: span.start,
        end: span.end,
    };
    Box::new(
        Diagnostic::error(place, format!("register `{name}` is not declared"))
            .label("used here")
            .hint("declare it with `.reg` before its use"),
    )
}

/// Whether a word is a special register, as `%tid.x`.
fn special(name: &str) -> bool {
    const STEMS: [&str; 24] = [
        "tid",
        "ntid",
        "laneid",
        "warpid",
        "nwarpid",
        "ctaid",
        "nctaid",
        "smid",
        "nsmid",
        "gridid",
        "is_explicit_cluster",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "clock",
        "clock_hi",
        "clock64",
        "globaltimer",
        "dynamic_smem_size",
        "total_smem_size",
        "aggr_smem_size",
    ];
    let stem = name.trim_start_matches('%');
    let stem = stem.split('.').next().unwrap_or_default();
    STEMS.contains(&stem)
        || [
            "lanemask_",
            "pm",
            "envreg",
            "globaltimer_",
            "reserved_smem_",
            "current_graph_exec",
        ]
        .iter()
        .any(|prefix| stem.starts_with(prefix))
}

/// The bytes of a type.
fn width_of(word: &str) -> Option<u64> {
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
fn number(text: &str) -> Option<i64> {
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
