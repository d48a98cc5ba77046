//! The built-in functions, in terms of the operators.

use super::Reach;
use super::Resolver;
use super::Type;
use super::Typed;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Span;
use crate::text::ast;

impl<'f> Resolver<'f> {
    pub(super) fn built_in(
        &mut self,
        name: &str,
        arguments: &'f [ast::Expr],
        span: Span,
        reach: Reach,
    ) -> Typed {
        let wanted = if name == "abs" { 1 } else { 2 };
        if !self.check_arity(name, wanted, arguments.len(), span) {
            return Typed::unknown();
        }
        let mut values = arguments
            .iter()
            .map(|a| self.expect_type(a, Type::Int, reach))
            .collect::<Vec<Typed>>()
            .into_iter();
        let (Some(a), b) = (values.next(), values.next()) else {
            return Typed::unknown();
        };
        match (name, b) {
            ("min", Some(b)) => self.apply(BinaryOp::Min, a, b, span),
            ("max", Some(b)) => self.apply(BinaryOp::Max, a, b, span),
            (_, Some(b)) => {
                self.check_divisor(&arguments[1]);
                let divisor = self.copy(&b, span);
                let sum = self.apply(BinaryOp::Add, a, b, span);
                let one = Typed::leaf(Expr::Int(1), Type::Int);
                let top = self.apply(BinaryOp::Sub, sum, one, span);
                self.apply(BinaryOp::Div, top, divisor, span)
            }
            (_, None) => {
                let tested = self.copy(&a, span);
                let negated = self.copy(&a, span);
                let zero = Typed::leaf(Expr::Int(0), Type::Int);
                let below = self.build(span, Type::Bool, [tested, zero], |[x, y]| {
                    Expr::Binary(BinaryOp::Lt, x, y)
                });
                let negated = self.build(span, Type::Int, [negated], |[x]| Expr::Neg(x));
                self.build(span, Type::Int, [below, negated, a], |[c, x, y]| {
                    Expr::If(c, x, y)
                })
            }
        }
    }

    pub(super) fn apply(&mut self, op: BinaryOp, a: Typed, b: Typed, span: Span) -> Typed {
        self.build(span, Type::Int, [a, b], |[a, b]| Expr::Binary(op, a, b))
    }
}
