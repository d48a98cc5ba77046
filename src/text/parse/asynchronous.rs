//! Statements about transactions, asynchronous work, pools and initialisation.

use super::Parsed;
use super::Parser;
use crate::text::ast::Cell;
use crate::text::ast::Operation;
use crate::text::ast::StmtKind;
use crate::text::token::Token;

/// The operation that a word stands for.
pub(super) fn operation(token: Token) -> Option<Operation> {
    Some(match token {
        Token::ExpectTx => Operation::ExpectTx,
        Token::ArriveExpectTx => Operation::ArriveExpectTx,
        Token::CompleteTx => Operation::CompleteTx,
        Token::Commit => Operation::Commit,
        Token::Init => Operation::Init,
        Token::Acquire => Operation::Acquire,
        Token::Release => Operation::Release,
        _ => return None,
    })
}

impl Parser<'_> {
    /// An object and perhaps an amount, after the word of an operation.
    pub(super) fn operation(&mut self, word: Token) -> Parsed<StmtKind> {
        let Some(operation) = operation(word) else {
            return Err(self.unexpected("a statement"));
        };
        let cell = self.cell(match operation {
            Operation::Acquire | Operation::Release => "a pool",
            _ => "an mbarrier",
        })?;
        let amount = match operation.has_amount() {
            true => Some(self.expr()?),
            false => None,
        };
        let pool = matches!(operation, Operation::Acquire | Operation::Release);
        let backing = match pool && self.clause(Token::Backing) {
            true => self.targets()?,
            false => Vec::new(),
        };
        Ok(StmtKind::Operation {
            operation,
            cell,
            amount,
            backing,
        })
    }

    /// `async copy ...` or another verb.
    pub(super) fn asynchronous(&mut self) -> Parsed<StmtKind> {
        self.bump();
        if self.peek() != Token::Name && self.peek().may_be_name() {
            return Err(self.unexpected("`copy` or another kind of work"));
        }
        let verb = self.name("`copy` or another kind of work")?;
        if verb.text == "copy" {
            let target = self.cell("what is copied to")?;
            let completes = match self.clause(Token::Completes) {
                true => {
                    let cell = self.cell("an mbarrier")?;
                    Some(Box::new((cell, self.expr()?)))
                }
                false => None,
            };
            return Ok(StmtKind::Copy { target, completes });
        }
        if self.peek() == Token::Completes && !self.begins_update() {
            return Err(self.unexpected("`reads`, `writes` or the next statement"));
        }
        let reads = match self.clause(Token::Reads) {
            true => self.targets()?,
            false => Vec::new(),
        };
        let writes = match self.clause(Token::Writes) {
            true => self.targets()?,
            false => Vec::new(),
        };
        Ok(StmtKind::Async {
            verb,
            reads,
            writes,
        })
    }

    /// Reads the word of a clause, unless the word is a name that begins the next statement.
    fn clause(&mut self, word: Token) -> bool {
        !(self.peek() == word && self.begins_update()) && self.eat(word)
    }

    fn targets(&mut self) -> Parsed<Vec<Cell>> {
        let mut all = vec![self.cell("what it works on")?];
        while self.eat(Token::Comma) {
            all.push(self.cell("what it works on")?);
        }
        Ok(all)
    }

    pub(super) fn wait_group(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let count = self.expr()?;
        // A `read` before a name is the next statement, unless that name begins an assignment.
        let read = self.peek() == Token::Read && {
            self.bump();
            let alone = !self.peek().may_be_name() || self.begins_update();
            if !alone {
                self.at -= 1;
            }
            alone
        };
        Ok(StmtKind::WaitGroup { count, read })
    }
}
