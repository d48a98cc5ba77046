//! Declarations.

use super::Failed;
use super::Parsed;
use super::Parser;
use crate::protocol::Progress;
use crate::text::ast::Domain;
use crate::text::ast::Expect;
use crate::text::ast::Expr;
use crate::text::ast::File;
use crate::text::ast::Item;
use crate::text::ast::ItemKind;
use crate::text::ast::Let;
use crate::text::ast::Name;
use crate::text::ast::Object;
use crate::text::ast::ObjectKind;
use crate::text::ast::PatternShape;
use crate::text::diagnostic::Diagnostic;
use crate::text::token::Token;

impl Parser<'_> {
    /// A whole text. Errors in its declarations are reported and skipped.
    pub(super) fn file(&mut self) -> Parsed<File> {
        let start = self.span().start;
        let name = self.protocol();
        let header = self.since(start);
        let mut items = Vec::new();
        if name.is_err() {
            self.skip_item(self.at);
        }
        let braced = self.braced();
        while self.peek() != Token::End {
            // The brace that belongs to the opening brace which has been reported already.
            if braced && self.peek() == Token::CloseBrace && self.lexeme(1).token == Token::End {
                self.bump();
                break;
            }
            let before = self.at;
            match self.item() {
                Ok(item) => items.push(item),
                Err(Failed) => self.skip_item(before),
            }
        }
        Ok(File {
            header,
            name: name?,
            items,
        })
    }

    /// `protocol NAME`.
    fn protocol(&mut self) -> Parsed<Name> {
        let token = self.peek();
        if token != Token::Protocol && token.begins_item() {
            let found = self.slice(self.span());
            return Err(self.fail(
                Diagnostic::error(
                    self.span(),
                    format!("expected `protocol` and a name, found `{found}`"),
                )
                .label("expected `protocol` and a name")
                .hint("a file begins with `protocol NAME`; declarations follow it"),
            ));
        }
        self.expect(Token::Protocol, "`protocol` and a name")?;
        self.protocol_name()
    }

    /// Whether a brace follows the protocol's name. It is reported and skipped.
    fn braced(&mut self) -> bool {
        let span = self.span();
        let found = self.eat(Token::OpenBrace);
        if found {
            self.fail(
                Diagnostic::error(span, "a protocol has no braces")
                    .label("expected a declaration")
                    .hint("declarations follow `protocol NAME` up to the end of the text"),
            );
        }
        found
    }

    /// The protocol's own name. Nothing refers to it. So a reserved word is accepted as the name if a declaration
    /// follows.
    fn protocol_name(&mut self) -> Parsed<Name> {
        if self.peek().is_reserved_word() && self.lexeme(1).token.begins_item() {
            let span = self.bump().span;
            let text = self.slice(span).to_owned();
            return Ok(Name { text, span });
        }
        self.name("the protocol's name")
    }

    fn skip_item(&mut self, before: usize) {
        if self.at == before && self.peek() != Token::End && !self.peek().begins_item() {
            self.bump();
        }
        while self.peek() != Token::End && !self.peek().begins_item() {
            self.bump();
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let start = self.span().start;
        let token = self.peek();
        if !token.begins_item() {
            return Err(self.no_item());
        }
        self.bump();
        let kind = match token {
            Token::Protocol => {
                return Err(self.fail(Diagnostic::error(
                    self.tokens[self.at - 1].span,
                    "a text holds one protocol",
                )));
            }
            Token::Param => self.param()?,
            Token::Assume => ItemKind::Assume(self.expr()?),
            Token::Let => self.binding()?,
            Token::Pattern => self.pattern()?,
            Token::Semaphore => self.semaphore()?,
            Token::Mbarrier => self.mbarrier()?,
            Token::Named => {
                let (name, extents) = self.family()?;
                let kind = ObjectKind::Named;
                object(name, extents, kind)
            }
            Token::Barrier => {
                let (name, extents) = self.family()?;
                let (arrivals, _) = self.arrivals(false)?;
                let kind = ObjectKind::Barrier(arrivals);
                object(name, extents, kind)
            }
            Token::Pool => {
                let (name, extents) = self.family()?;
                self.expect(Token::Equal, "`=` and the capacity")?;
                let capacity = self.expr()?;
                let returned = self.peek() == Token::OpenBrace;
                if returned {
                    self.bump();
                    self.expect(Token::Release, "`release: mandatory`")?;
                    self.token(Token::Colon)?;
                    self.word("mandatory")?;
                    self.token(Token::CloseBrace)?;
                }
                let kind = ObjectKind::Pool { capacity, returned };
                object(name, extents, kind)
            }
            Token::Buffer => {
                let (name, extents) = self.family()?;
                let (mut tensor, mut unordered) = (false, false);
                if self.eat(Token::OpenBrace) {
                    tensor = self.slice(self.span()) == "memory";
                    if tensor {
                        self.bump();
                        self.token(Token::Colon)?;
                        self.word("tensor")?;
                        unordered = self.eat(Token::Comma);
                    }
                    if !tensor || unordered {
                        unordered = true;
                        self.word("orders")?;
                        self.token(Token::Colon)?;
                        self.word("unknown")?;
                    }
                    self.token(Token::CloseBrace)?;
                }
                ItemKind::Buffer {
                    name,
                    extents,
                    tensor,
                    unordered,
                }
            }
            Token::Invariant => {
                let mut indices = Vec::new();
                while self.eat(Token::OpenBracket) {
                    indices.push(self.index()?);
                    self.expect(Token::CloseBracket, "an operator or `]`")?;
                }
                let condition = self.expr()?;
                ItemKind::Invariant { indices, condition }
            }
            Token::Eventually => {
                self.word("done")?;
                ItemKind::Progress(Progress::Done)
            }
            Token::Always => {
                self.expect(Token::OpenParen, "`(waiting -> eventually passes)`")?;
                self.word("waiting")?;
                self.expect(Token::Minus, "`->`")?;
                self.expect(Token::Greater, "`->`")?;
                self.token(Token::Eventually)?;
                self.word("passes")?;
                self.token(Token::CloseParen)?;
                ItemKind::Progress(Progress::Passes)
            }
            Token::Grid | Token::Role => return self.role(start, token == Token::Grid),
            _ => self.expectation()?,
        };
        Ok(Item {
            span: self.since(start),
            kind,
        })
    }

    fn no_item(&mut self) -> Failed {
        let (token, span) = (self.peek(), self.span());
        let found = self.slice(span);
        if token == Token::CloseBrace {
            return self.fail(
                Diagnostic::error(span, "this `}` closes nothing").label("expected a declaration"),
            );
        }
        if token.begins_statement() {
            return self.fail(
                Diagnostic::error(span, format!("`{found}` stands outside every role"))
                    .label("expected a declaration")
                    .hint("statements belong inside `role NAME { ... }` or `grid NAME { ... }`"),
            );
        }
        if let Some((hint, text)) = super::in_words(found) {
            return self.fail(
                Diagnostic::error(span, format!("expected a declaration, found `{found}`"))
                    .label("expected a declaration")
                    .instead(hint, text),
            );
        }
        let words = Token::reserved_words().filter(|(_, token)| token.begins_item());
        let words: Vec<&str> = words.map(|(word, _)| word).collect();
        let diagnostic =
            Diagnostic::error(span, format!("expected a declaration, found `{found}`"))
                .label("expected a declaration");
        self.fail(
            match super::super::suggest::nearest(found, words.iter().copied()) {
                Some(word) => diagnostic.did_you_mean(word),
                None => diagnostic.hint(format!(
                    "a declaration begins with one of: {}",
                    words.join(", ")
                )),
            },
        )
    }

    fn param(&mut self) -> Parsed<ItemKind> {
        let name = self.name("the parameter's name")?;
        self.token(Token::In)?;
        let domain = if self.eat(Token::OpenBrace) {
            Domain::Set(self.list(Token::CloseBrace, |p| {
                let start = p.span().start;
                let value = p.int("an integer")?;
                Ok((value, p.since(start)))
            })?)
        } else {
            self.interval()?
        };
        Ok(ItemKind::Param { name, domain })
    }

    fn interval(&mut self) -> Parsed<Domain> {
        let start = self.span().start;
        let lo = self.int("an integer or `{`")?;
        if self.eat(Token::DotDotEqual) {
            let hi = self.int("an integer, the last value")?;
            if hi < lo {
                let span = self.since(start);
                return Err(self.fail(
                    Diagnostic::error(span, "this domain is empty")
                        .label(format!("expected a last value of {lo} or more")),
                ));
            }
            return Ok(Domain::Range(lo, hi));
        }
        self.expect(Token::DotDot, "`..` or `..=`")?;
        if matches!(self.peek(), Token::Int | Token::Minus) {
            let hi = self.int("an integer")?;
            let span = self.since(start);
            return Err(self.fail(
                Diagnostic::error(span, "a parameter's domain includes its last value")
                    .label("expected `..=` before the last value")
                    .hint(format!(
                        "write `{lo}..={hi}` if {hi} is a value of it, `{lo}..={}` if not",
                        hi - 1
                    )),
            ));
        }
        Ok(Domain::AtLeast(lo))
    }

    fn binding(&mut self) -> Parsed<ItemKind> {
        let name = self.name("a name")?;
        let params = match self.eat(Token::OpenParen) {
            true => self.list(Token::CloseParen, |p| p.name("a name"))?,
            false => Vec::new(),
        };
        self.expect(Token::Equal, "`=`")?;
        let body = self.expr()?;
        Ok(ItemKind::Let(Let { name, params, body }))
    }

    fn pattern(&mut self) -> Parsed<ItemKind> {
        let name = self.name("the pattern's name")?;
        self.expect(Token::OpenBracket, "`[`")?;
        let defined = self.peek().may_be_name() && self.lexeme(1).token == Token::In;
        let shape = if defined {
            let coordinates = self.list(Token::CloseBracket, Self::index)?;
            self.expect(Token::Equal, "`=` and the condition")?;
            PatternShape::Defined(coordinates, self.expr()?)
        } else {
            let extents = self.list(Token::CloseBracket, Self::expr)?;
            if self.peek() == Token::Equal {
                return Err(self.fail(
                    Diagnostic::error(
                        self.span(),
                        "the coordinates of this definition have no names",
                    )
                    .label("expected the next declaration")
                    .hint(format!(
                        "write `pattern {}[n in 0..N, m in 0..M] = ...`",
                        name.text
                    )),
                ));
            }
            PatternShape::Free(extents)
        };
        Ok(ItemKind::Pattern { name, shape })
    }

    /// `name in 0..extent`.
    pub(super) fn index(&mut self) -> Parsed<(Name, Expr)> {
        let name = self.name("a name for the index")?;
        self.token(Token::In)?;
        let span = self.span();
        if self.expect(Token::Int, "`0..`").is_err() {
            return Err(Failed);
        }
        if self.slice(span) != "0" {
            return Err(
                self.fail(Diagnostic::error(span, "an index counts from 0").label("expected `0`"))
            );
        }
        self.half_open()?;
        let extent = self.expr()?;
        Ok((name, extent))
    }

    fn family(&mut self) -> Parsed<(Name, Vec<Expr>)> {
        let cell = self.cell("a name")?;
        Ok((cell.name, cell.index))
    }

    fn semaphore(&mut self) -> Parsed<ItemKind> {
        let (name, extents) = self.family()?;
        self.expect(Token::Equal, "`=` and the value at the start")?;
        let initial = match self.eat(Token::Any) {
            true => None,
            false => Some(self.expr()?),
        };
        let kind = ObjectKind::Semaphore(initial);
        Ok(object(name, extents, kind))
    }

    fn mbarrier(&mut self) -> Parsed<ItemKind> {
        let named = self.peek().may_be_name()
            && self.lexeme(1).token == Token::OpenBracket
            && self.lexeme(2).token.may_be_name()
            && self.lexeme(3).token == Token::In;
        let (name, indices, extents) = if named {
            let name = self.name("a name")?;
            self.bump();
            let list = self.list(Token::CloseBracket, Self::index)?;
            let (indices, extents) = list.into_iter().unzip();
            (name, indices, extents)
        } else {
            let (name, extents) = self.family()?;
            (name, Vec::new(), extents)
        };
        let (arrivals, explicit_init) = self.arrivals(true)?;
        let kind = ObjectKind::Mbarrier {
            arrivals,
            explicit_init,
        };
        let place = self.place()?;
        Ok(ItemKind::Object(Object {
            name,
            extents,
            indices,
            kind,
            place,
        }))
    }

    /// `{ arrivals: COUNT }`, and whether `, init: explicit` follows the count.
    fn arrivals(&mut self, may_init: bool) -> Parsed<(Expr, bool)> {
        self.expect(Token::OpenBrace, "`{ arrivals: COUNT }`")?;
        self.word("arrivals")?;
        self.token(Token::Colon)?;
        let arrivals = self.expr()?;
        let explicit_init = may_init && self.eat(Token::Comma);
        if explicit_init {
            self.expect(Token::Init, "`init: explicit`")?;
            self.token(Token::Colon)?;
            self.word("explicit")?;
        }
        let what = match explicit_init {
            true => "`}`",
            false => "an operator or `}`",
        };
        self.expect(Token::CloseBrace, what)?;
        Ok((arrivals, explicit_init))
    }

    fn expectation(&mut self) -> Parsed<ItemKind> {
        let property = self.name("a property")?;
        self.token(Token::Colon)?;
        let verdict = self.name("a verdict")?;
        let mut at = Vec::new();
        if self.eat(Token::At) {
            loop {
                let name = self.name("a parameter")?;
                self.token(Token::Equal)?;
                let start = self.span().start;
                let value = self.int("an integer")?;
                at.push((name, value, self.since(start)));
                if !self.eat(Token::Comma) {
                    break;
                }
            }
        }
        let mut assuming = Vec::new();
        if self.eat(Token::Assuming) {
            assuming.push(self.expr()?);
            while self.eat(Token::Comma) {
                assuming.push(self.expr()?);
            }
        }
        Ok(ItemKind::Expect(Expect {
            property,
            verdict,
            at,
            assuming,
        }))
    }
}

/// An object whose indices have no names.
fn object(name: Name, extents: Vec<Expr>, kind: ObjectKind) -> ItemKind {
    ItemKind::Object(Object {
        name,
        extents,
        indices: Vec::new(),
        kind,
        place: Vec::new(),
    })
}
