//! `let`, and atomic operations that return the old value of a semaphore.

use super::Parsed;
use super::Parser;
use crate::text::ast::Atomic;
use crate::text::ast::Cell;
use crate::text::ast::Expr;
use crate::text::ast::FIELDS;
use crate::text::ast::Name;
use crate::text::ast::StmtKind;
use crate::text::diagnostic::Diagnostic;
use crate::text::token::Token;

impl Parser<'_> {
    /// The atomic operation that begins here, if there is one: a call, perhaps with a memory order and a scope.
    pub(super) fn atomic(&self) -> Option<Atomic> {
        let word = self.slice(self.span());
        let operation = Atomic::from_word(word)?;
        let field = self.slice(self.lexeme(2).span);
        match self.lexeme(1).token {
            Token::OpenParen => Some(operation),
            Token::Dot if !FIELDS.contains(&field) => Some(operation),
            _ => None,
        }
    }

    /// The text after `let name =` or `var name =`, including the qualifiers for memory.
    pub(super) fn atomic_value(
        &mut self,
        name: Name,
        kept: bool,
        operation: Atomic,
    ) -> Parsed<(StmtKind, Vec<Name>)> {
        self.bump();
        let qualifiers = self.qualifiers()?;
        let (cell, operands) = self.atomic_operands(operation)?;
        let kind = StmtKind::Atomic {
            name,
            kept,
            operation,
            cell,
            operands,
        };
        Ok((kind, qualifiers))
    }

    /// `compare_and_swap(s, expected, new)` after `wait`.
    pub(super) fn wait_swap(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let (cell, operands) = self.atomic_operands(Atomic::CompareAndSwap)?;
        let mut operands = operands.into_iter();
        match (operands.next(), operands.next()) {
            (Some(expected), Some(new)) => Ok(StmtKind::WaitSwap {
                cell,
                expected,
                new,
            }),
            _ => Err(self.unexpected("`,` and a value")),
        }
    }

    /// `let name = value`, and the words that follow dots after its first word.
    pub(super) fn local(&mut self) -> Parsed<(StmtKind, Vec<Name>)> {
        self.bump();
        let name = self.name("a name for the value")?;
        if self.peek() == Token::OpenParen {
            let found = "a `let` inside a role has no parameters";
            return Err(self.fail(
                Diagnostic::error(self.span(), found)
                    .label("expected `=`")
                    .hint("a function is declared outside the roles"),
            ));
        }
        self.token(Token::Equal)?;
        if let Some(operation) = self.atomic() {
            return self.atomic_value(name, true, operation);
        }
        let value = self.expr()?;
        Ok((StmtKind::Let { name, value }, Vec::new()))
    }

    fn atomic_operands(&mut self, operation: Atomic) -> Parsed<(Cell, Vec<Expr>)> {
        let start = self.span().start;
        self.token(Token::OpenParen)?;
        let cell = self.cell("a semaphore")?;
        self.expect(Token::Comma, "`,` and a value")?;
        let operands = self.list(Token::CloseParen, Self::expr)?;
        if operands.len() != operation.operands() {
            let span = self.since(start);
            let (message, hint) = match operation {
                Atomic::FetchAdd => (
                    "`fetch_add` takes one value",
                    "write `fetch_add(s, AMOUNT)`",
                ),
                Atomic::Exchange => ("`exchange` takes one value", "write `exchange(s, NEW)`"),
                Atomic::CompareAndSwap => (
                    "`compare_and_swap` takes two values",
                    "write `compare_and_swap(s, EXPECTED, NEW)`",
                ),
            };
            return Err(self.fail(
                Diagnostic::error(span, message)
                    .label(format!(
                        "expected {} behind the semaphore",
                        operation.operands()
                    ))
                    .hint(hint),
            ));
        }
        Ok((cell, operands))
    }
}
