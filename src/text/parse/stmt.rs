//! Statements and blocks.

use super::Failed;
use super::Parsed;
use super::Parser;
use super::asynchronous::operation;
use crate::protocol::Comparison;
use crate::protocol::RowOrder;
use crate::protocol::Span;
use crate::text::ast::Atomic;
use crate::text::ast::Block;
use crate::text::ast::Cell;
use crate::text::ast::Else;
use crate::text::ast::Expr;
use crate::text::ast::FIELDS;
use crate::text::ast::Iteration;
use crate::text::ast::Name;
use crate::text::ast::RED;
use crate::text::ast::ST;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;
use crate::text::diagnostic::Diagnostic;
use crate::text::token::Token;

/// The most tokens of the indices of an assignment's target, when the parser looks ahead to decide
/// whether an optional part or an assignment follows.
const LOOKAHEAD: usize = 256;

/// Whether a token begins a declaration and no statement.
fn ends_block(token: Token) -> bool {
    token.begins_item() && !token.begins_statement()
}

/// A statement without qualifiers.
fn plain(span: Span, kind: StmtKind) -> Stmt {
    Stmt {
        span,
        qualifiers: Vec::new(),
        kind,
    }
}

impl Parser<'_> {
    /// A block. Errors in its statements are reported and skipped.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let open = self.token(Token::OpenBrace)?;
        let mut stmts = Vec::new();
        loop {
            match self.peek() {
                Token::CloseBrace => break,
                token if token == Token::End || ends_block(token) => {
                    return Err(self.unclosed(open));
                }
                _ => {
                    let before = self.at;
                    match self.nested(Self::stmt) {
                        Ok(stmt) => stmts.push(stmt),
                        Err(Failed) => self.skip_statement(before),
                    }
                }
            }
        }
        let close = self.bump().span;
        Ok(Block { open, stmts, close })
    }

    fn unclosed(&mut self, open: Span) -> Failed {
        let span = self.span();
        let found = match self.peek() {
            Token::End => Token::End.text().to_owned(),
            token => token.text().to_owned(),
        };
        self.fail(
            Diagnostic::error(span, format!("expected `}}`, found {found}"))
                .label("expected a statement or `}`")
                .related(open, "this block is not closed"),
        )
    }

    /// Skips to where a statement may begin or the block ends; braces are skipped in pairs.
    fn skip_statement(&mut self, before: usize) {
        if self.at == before {
            self.bump();
        }
        let mut open = 0_usize;
        loop {
            let token = self.peek();
            match token {
                Token::End => return,
                _ if ends_block(token) => return,
                Token::OpenBrace => open += 1,
                Token::CloseBrace if open == 0 => return,
                Token::CloseBrace => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        if self.peek() != Token::Else {
                            return;
                        }
                    }
                }
                _ if open == 0 && (token.begins_statement() || self.begins_update()) => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether `name =`, `name +=` or the same with indices stands here.
    pub(super) fn begins_update(&self) -> bool {
        if !self.peek().may_be_name() {
            return false;
        }
        if self.begins_qualified() {
            return true;
        }
        let mut ahead = 1;
        let mut open = 0_usize;
        loop {
            match self.lexeme(ahead).token {
                Token::OpenBracket => open += 1,
                Token::CloseBracket if open > 0 => open -= 1,
                token if open == 0 => return matches!(token, Token::Equal | Token::PlusEqual),
                Token::End | Token::OpenBrace | Token::CloseBrace => return false,
                _ => {}
            }
            ahead += 1;
            if ahead > LOOKAHEAD {
                return false;
            }
        }
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        match self.peek() {
            Token::If => self.condition(),
            Token::For => self.iteration(),
            Token::Elect => self.elect(),
            Token::Repeat => self.repeat(),
            _ => self.simple(),
        }
    }

    /// A statement without a block. It is parsed in a function of its own, so that the frames of the
    /// recursive function for nested blocks stay small.
    fn simple(&mut self) -> Parsed<Stmt> {
        let start = self.span().start;
        let mut qualifiers = Vec::new();
        let kind = match self.peek() {
            Token::Wait => {
                self.bump();
                qualifiers = self.qualifiers()?;
                self.wait()?
            }
            Token::Arrive => {
                self.bump();
                qualifiers = self.qualifiers()?;
                let cell = self.cell("a barrier")?;
                let count = match self.begins_count() {
                    true => Some(self.expr()?),
                    false => None,
                };
                StmtKind::Arrive { cell, count }
            }
            Token::Sync => {
                self.bump();
                let cell = self.cell("a barrier")?;
                let count = self.value()?;
                StmtKind::Sync { cell, count }
            }
            Token::Advance => {
                self.bump();
                let name = self.name("a pipeline state")?;
                StmtKind::Advance { name }
            }
            Token::Async => self.asynchronous()?,
            Token::Assert => {
                self.bump();
                let condition = self.expr()?;
                StmtKind::Assert { condition }
            }
            Token::CommitGroup => {
                self.bump();
                StmtKind::CommitGroup
            }
            Token::WaitGroup => self.wait_group()?,
            Token::Fence => {
                self.bump();
                qualifiers = self.qualifiers()?;
                StmtKind::Fence
            }
            token if operation(token).is_some() => {
                self.bump();
                qualifiers = self.qualifiers()?;
                self.operation(token)?
            }
            Token::Accumulate => self.access("accumulate")?,
            Token::Read => self.access("read")?,
            Token::Write => self.access("write")?,
            Token::Var => {
                self.bump();
                let name = self.name("a name for the variable")?;
                self.token(Token::Equal)?;
                match self.atomic() {
                    Some(operation) => {
                        let (kind, words) = self.atomic_value(name, false, operation)?;
                        qualifiers = words;
                        kind
                    }
                    None => {
                        let value = self.expr()?;
                        StmtKind::Var { name, value }
                    }
                }
            }
            Token::Let => {
                let (kind, words) = self.local()?;
                qualifiers = words;
                kind
            }
            Token::Return => {
                self.bump();
                StmtKind::Return
            }
            Token::Break => {
                self.bump();
                StmtKind::Break
            }
            Token::Name if self.begins_qualified() => {
                let adds = self.slice(self.span()) == RED;
                self.bump();
                qualifiers = self.qualifiers()?;
                self.qualified_update(adds)?
            }
            token if token.may_be_name() => self.update()?,
            _ => return Err(self.unexpected("a statement or `}`")),
        };
        Ok(Stmt {
            span: self.since(start),
            qualifiers,
            kind,
        })
    }

    /// Whether what follows `arrive bar[i]` is its count and not the next statement.
    fn begins_count(&self) -> bool {
        match self.peek() {
            Token::Int | Token::OpenParen | Token::Minus | Token::Not => true,
            Token::True | Token::False => true,
            token => token.may_be_name() && !self.begins_update(),
        }
    }

    /// An optional value. An `if` begins one if it has a `then`. Otherwise it begins the next
    /// statement.
    fn value(&mut self) -> Parsed<Option<Expr>> {
        let absent = match self.peek() {
            Token::If => !self.begins_choice(),
            Token::CloseBrace | Token::End => true,
            token => token.begins_statement() || token.begins_item() || self.begins_update(),
        };
        match absent {
            true => Ok(None),
            false => self.expr().map(Some),
        }
    }

    /// Whether the `if` here begins an expression. A statement has `{` after its condition.
    fn begins_choice(&mut self) -> bool {
        let (at, findings) = (self.at, self.diagnostics.len());
        self.bump();
        let condition = self.expr();
        let begins = condition.is_err() || self.peek() != Token::OpenBrace;
        self.at = at;
        self.diagnostics.truncate(findings);
        begins
    }

    /// Whether `red.` or `st.` and a memory order or scope follow here, and not a field of a pipeline
    /// state with that name.
    fn begins_qualified(&self) -> bool {
        let word = self.slice(self.span());
        let follows = self.slice(self.lexeme(2).span);
        let is_field = FIELDS.contains(&follows);
        [RED, ST].contains(&word) && self.lexeme(1).token == Token::Dot && !is_field
    }

    /// `.release.gpu` and the like.
    pub(super) fn qualifiers(&mut self) -> Parsed<Vec<Name>> {
        let mut all = Vec::new();
        while self.eat(Token::Dot) {
            let span = self.span();
            if self.peek() != Token::Name && !self.peek().is_reserved_word() {
                return Err(self.unexpected("an order or a scope"));
            }
            let text = self.slice(span).to_owned();
            self.bump();
            all.push(Name { text, span });
        }
        Ok(all)
    }

    /// What follows `red.release.gpu` or `st.release.gpu`.
    fn qualified_update(&mut self, adds: bool) -> Parsed<StmtKind> {
        let cell = self.cell("a semaphore")?;
        self.token(if adds { Token::PlusEqual } else { Token::Equal })?;
        let value = self.expr()?;
        Ok(StmtKind::Update {
            cell,
            add: adds,
            value,
        })
    }

    pub(super) fn cell(&mut self, what: &str) -> Parsed<Cell> {
        let name = self.name(what)?;
        let start = name.span.start;
        let index = match self.eat(Token::OpenBracket) {
            true => self.list(Token::CloseBracket, Self::expr)?,
            false => Vec::new(),
        };
        if !index.is_empty() && self.peek() == Token::OpenBracket {
            let span = self.span();
            return Err(self.fail(
                Diagnostic::error(span, "one pair of brackets holds every index")
                    .label("expected no second `[`")
                    .hint(format!("write `{}[i, j]`", name.text)),
            ));
        }
        Ok(Cell {
            name,
            index,
            span: self.since(start),
        })
    }

    fn wait(&mut self) -> Parsed<StmtKind> {
        if self.atomic() == Some(Atomic::CompareAndSwap) {
            return self.wait_swap();
        }
        let cell = self.cell("a semaphore or a barrier")?;
        let comparison = match self.peek() {
            Token::EqualEqual => Some(Comparison::Equal),
            Token::GreaterEqual => Some(Comparison::AtLeast),
            Token::Equal | Token::NotEqual | Token::Less | Token::LessEqual | Token::Greater => {
                let span = self.span();
                let found = self.slice(span);
                return Err(self.fail(
                    Diagnostic::error(span, format!("a wait cannot compare with `{found}`"))
                        .label("expected `==` or `>=`")
                        .hint("`== E` passes at that very value, `>= E` from it on"),
                ));
            }
            _ => None,
        };
        let value = match comparison {
            Some(_) => {
                self.bump();
                Some(self.expr()?)
            }
            None => self.value()?,
        };
        Ok(StmtKind::Wait {
            cell,
            comparison,
            value,
        })
    }

    fn access(&mut self, verb: &'static str) -> Parsed<StmtKind> {
        self.bump();
        let target = self.cell("what it works on")?;
        Ok(StmtKind::Access { verb, target })
    }

    fn update(&mut self) -> Parsed<StmtKind> {
        if self.lexeme(1).token == Token::Name {
            let found = self.slice(self.span());
            let words = Token::reserved_words().filter(|(_, token)| token.begins_statement());
            let close = super::super::suggest::nearest(found, words.map(|(word, _)| word));
            let diagnostic =
                Diagnostic::error(self.span(), format!("no statement begins with `{found}`"))
                    .label("expected a statement");
            return Err(self.fail(match close {
                Some(word) => diagnostic.did_you_mean(word),
                None => diagnostic,
            }));
        }
        let cell = self.cell("a semaphore or a variable")?;
        let add = match self.peek() {
            Token::PlusEqual => true,
            Token::Equal => false,
            _ => return Err(self.unexpected("`=` or `+=`")),
        };
        self.bump();
        let value = self.expr()?;
        Ok(StmtKind::Update { cell, add, value })
    }

    fn elect(&mut self) -> Parsed<Stmt> {
        let start = self.bump().span.start;
        let span = self.since(start);
        let body = self.block()?;
        let kind = StmtKind::Elect { body };
        Ok(plain(span, kind))
    }

    fn repeat(&mut self) -> Parsed<Stmt> {
        let start = self.bump().span.start;
        let count = self.expr()?;
        let span = self.since(start);
        if self.peek() != Token::OpenBrace {
            return Err(self.unexpected("an operator or `{`"));
        }
        let body = self.block()?;
        let kind = StmtKind::Repeat { count, body };
        Ok(plain(span, kind))
    }

    fn condition(&mut self) -> Parsed<Stmt> {
        let start = self.bump().span.start;
        let condition = self.expr()?;
        let span = self.since(start);
        if self.peek() == Token::Then {
            return Err(self.fail(
                Diagnostic::error(self.span(), "an `if` statement has no `then`")
                    .label("expected `{`")
                    .hint("`if C then A else B` is an expression; a statement is `if C { ... }`"),
            ));
        }
        let then = self.block()?;
        let otherwise = if !self.eat(Token::Else) {
            None
        } else if self.peek() == Token::If {
            Some(Else::If(Box::new(self.nested(Self::condition)?)))
        } else {
            Some(Else::Block(self.block()?))
        };
        let kind = StmtKind::If {
            condition,
            then,
            otherwise,
        };
        Ok(plain(span, kind))
    }

    fn iteration(&mut self) -> Parsed<Stmt> {
        let start = self.bump().span.start;
        let name = self.name("a name for the loop variable")?;
        self.token(Token::In)?;
        let over = match self.peek() {
            Token::Row if self.lexeme(1).token == Token::OpenParen => self.row()?,
            _ => {
                let lo = self.expr()?;
                self.half_open()?;
                let hi = self.expr()?;
                let descending = self.eat(Token::Descending);
                Iteration::Range { lo, hi, descending }
            }
        };
        let span = self.since(start);
        if self.peek() != Token::OpenBrace {
            return Err(self.unexpected(match over {
                Iteration::Range {
                    descending: false, ..
                } => "an operator, `descending` or `{`",
                Iteration::Range { .. } => "`{`",
                Iteration::Row { .. } => "`ascending`, `descending`, `any order` or `{`",
            }));
        }
        let body = self.block()?;
        let kind = StmtKind::For { name, over, body };
        Ok(plain(span, kind))
    }

    fn row(&mut self) -> Parsed<Iteration> {
        let start = self.bump().span.start;
        self.token(Token::OpenParen)?;
        let pattern = self.name("a pattern")?;
        let row = match self.eat(Token::CloseParen) {
            true => Vec::new(),
            false => {
                self.expect(Token::Comma, "`,` and the row's coordinate")?;
                self.list(Token::CloseParen, Self::expr)?
            }
        };
        let span = self.since(start);
        let order = match self.peek() {
            Token::Ascending => RowOrder::Ascending,
            Token::Descending => RowOrder::Descending,
            Token::Any => {
                self.bump();
                if self.peek() != Token::Order {
                    return Err(self.unexpected("`order`"));
                }
                RowOrder::Any
            }
            _ => RowOrder::Given,
        };
        if order != RowOrder::Given {
            self.bump();
        }
        Ok(Iteration::Row {
            pattern,
            row,
            order,
            span,
        })
    }
}
