//! Expressions, by precedence climbing over the table of operators.

use super::Failed;
use super::MAX_DEPTH;
use super::Parsed;
use super::Parser;
use super::too_deep;
use crate::protocol::BinaryOp;
use crate::protocol::Span;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::diagnostic::Diagnostic;
use crate::text::operators::COMPARISON;
use crate::text::operators::infix;
use crate::text::operators::symbol;
use crate::text::token::Token;

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.infix(1)
    }

    /// An expression in which all operators bind at least this tightly.
    fn infix(&mut self, least: u8) -> Parsed<Expr> {
        // If the first operand is in parentheses, the whole expression begins at the parenthesis.
        let start = self.span().start;
        let mut left = self.nested(Self::prefix)?;
        let mut compared: Option<(BinaryOp, Span)> = None;
        while let Some((op, strength)) = infix(self.peek()) {
            if strength < least {
                break;
            }
            let at = self.span();
            if strength == COMPARISON {
                if let Some((first, span)) = compared {
                    return Err(self.chained(first, span, op, at));
                }
                compared = Some((op, at));
            } else {
                compared = None;
            }
            self.bump();
            let right = self.infix(strength + 1)?;
            left = self.build(start, ExprKind::Binary(op, Box::new(left), Box::new(right)))?;
        }
        Ok(left)
    }

    fn chained(&mut self, first: BinaryOp, span: Span, second: BinaryOp, at: Span) -> Failed {
        self.fail(
            Diagnostic::error(at, "comparisons cannot be chained")
                .label("expected `&&`, `||` or the end of the expression")
                .related(span, "the first comparison")
                .hint(format!(
                    "write `a {} b && b {} c`",
                    symbol(first),
                    symbol(second)
                )),
        )
    }

    fn build(&mut self, start: usize, kind: ExprKind) -> Parsed<Expr> {
        let span = self.since(start);
        let depth = 1 + kind.children().iter().map(|e| e.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(self.fail(too_deep(span)));
        }
        Ok(Expr { span, depth, kind })
    }

    fn prefix(&mut self) -> Parsed<Expr> {
        let start = self.span().start;
        match self.peek() {
            Token::Minus => {
                self.bump();
                let inner = self.nested(Self::prefix)?;
                self.build(start, ExprKind::Neg(Box::new(inner)))
            }
            Token::Not => {
                self.bump();
                let inner = self.nested(Self::prefix)?;
                self.build(start, ExprKind::Not(Box::new(inner)))
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let lexeme = self.lexeme(0);
        let start = lexeme.span.start;
        match lexeme.token {
            Token::Int => {
                self.bump();
                let value = self.integer(lexeme.span)?;
                self.build(start, ExprKind::Int(value))
            }
            Token::True | Token::False => {
                self.bump();
                self.build(start, ExprKind::Bool(lexeme.token == Token::True))
            }
            Token::OpenParen => {
                self.bump();
                let inner = self.expr()?;
                self.expect(Token::CloseParen, "an operator or `)`")?;
                Ok(inner)
            }
            Token::Count if self.lexeme(1).token == Token::OpenParen => self.count(),
            token if token.may_be_name() => self.named(),
            Token::If => self.choice(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn named(&mut self) -> Parsed<Expr> {
        let name = self.name("a name")?;
        let start = name.span.start;
        let kind = if self.eat(Token::OpenParen) {
            ExprKind::Call(name, self.list(Token::CloseParen, Self::expr)?)
        } else if self.eat(Token::OpenBracket) {
            ExprKind::Visits(name, self.list(Token::CloseBracket, Self::expr)?)
        } else if self.eat(Token::Dot) {
            let field = match self.peek().may_be_name() {
                true => self.name("a name")?,
                false => return Err(self.unexpected("`index`, `phase` or `count`")),
            };
            ExprKind::Field(name, field)
        } else {
            ExprKind::Name(name.text)
        };
        self.build(start, kind)
    }

    fn count(&mut self) -> Parsed<Expr> {
        let start = self.span().start;
        self.bump();
        self.token(Token::OpenParen)?;
        let var = self.name("a name for the counting variable")?;
        self.token(Token::In)?;
        let lo = Box::new(self.expr()?);
        self.half_open()?;
        let hi = Box::new(self.expr()?);
        self.expect(Token::Where, "an operator or `where`")?;
        let body = Box::new(self.expr()?);
        self.expect(Token::CloseParen, "an operator or `)`")?;
        self.build(start, ExprKind::Count { var, lo, hi, body })
    }

    fn choice(&mut self) -> Parsed<Expr> {
        let start = self.span().start;
        self.bump();
        let condition = Box::new(self.expr()?);
        self.expect(Token::Then, "an operator or `then`")?;
        let then = Box::new(self.expr()?);
        self.expect(Token::Else, "an operator or `else`")?;
        let otherwise = Box::new(self.expr()?);
        self.build(start, ExprKind::If(condition, then, otherwise))
    }

    /// The `..` of a range that excludes its end.
    pub(super) fn half_open(&mut self) -> Parsed<()> {
        if self.peek() == Token::DotDotEqual {
            let span = self.span();
            return Err(self.fail(
                Diagnostic::error(span, "this range excludes its end")
                    .label("expected `..`")
                    .hint("write `0..N + 1` for the values 0 to N; `..=` is for `param` only"),
            ));
        }
        self.expect(Token::DotDot, "an operator or `..`")?;
        Ok(())
    }
}
