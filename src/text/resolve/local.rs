//! `let` inside a role: a name for a value.
//!
//! The name has the value that the expression has at the `let`. If the expression has the same value at every use,
//! the name is replaced by the expression, so that proofs see the expression.

use super::Reach;
use super::Resolver;
use super::Type;
use super::Typed;
use super::cell::Kind;
use super::names::Binding;
use crate::protocol::AtomicUpdate;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::text::ast;
use crate::text::ast::Name;

impl<'f> Resolver<'f> {
    /// The statements for `let name = value`: none, or one that stores the value.
    pub(super) fn local(&mut self, name: &'f Name, value: &'f ast::Expr, span: Span) -> Vec<Stmt> {
        let value = self.expr(value, Reach::All);
        self.check_free(name);
        if value.ty == Type::Unknown || self.keeps_its_value(&value.expr) {
            self.enter(name, Binding::Named(Box::new(value), false));
            return Vec::new();
        }
        let var = self.fresh(&name.text, name.span);
        let kept = Typed::leaf(Expr::Var(var), Type::Int);
        let (number, kept) = match value.ty {
            Type::Bool => {
                let number = Expr::If(
                    Box::new(value.expr),
                    Box::new(Expr::Int(1)),
                    Box::new(Expr::Int(0)),
                );
                let (none, truth) = (Typed::leaf(Expr::Int(0), Type::Int), Type::Bool);
                let holds = self.build(span, truth, [kept, none], |[a, b]| {
                    Expr::Binary(BinaryOp::Ne, a, b)
                });
                (number, holds)
            }
            _ => (value.expr, kept),
        };
        self.enter(name, Binding::Named(Box::new(kept), false));
        vec![self.numbered(span, |_| StmtKind::Assign { var, value: number })]
    }

    /// An atomic operation. The name gets the old value.
    pub(super) fn atomic(
        &mut self,
        name: &'f Name,
        kept: bool,
        operation: ast::Atomic,
        cell: &'f ast::Cell,
        operands: &'f [ast::Expr],
    ) -> StmtKind {
        let (cell, _) = self.cell(cell, &[Kind::Semaphore]);
        let mut operands = operands.iter().map(|e| self.int(e, Reach::All));
        // The parser has checked the number of operands.
        let mut operand = || operands.next().unwrap_or(Expr::Int(0));
        let update = match operation {
            ast::Atomic::FetchAdd => AtomicUpdate::Add(operand()),
            ast::Atomic::Exchange => AtomicUpdate::Exchange(operand()),
            ast::Atomic::CompareAndSwap => AtomicUpdate::CompareAndSwap {
                expected: operand(),
                new: operand(),
            },
        };
        drop(operands);
        let result = self.bind(name, |id| match kept {
            true => Binding::Fixed(id, "what an atomic operation returned"),
            false => Binding::Variable(id),
        });
        StmtKind::Atomic {
            cell,
            update,
            result,
        }
    }

    /// Whether an expression is defined, and has the same value, wherever a name for it may be used.
    fn keeps_its_value(&self, expr: &Expr) -> bool {
        let changes = |var: VarId| {
            self.locals.iter().any(|local| match &local.binding {
                Binding::Variable(other) | Binding::Pipeline(other, _) => *other == var,
                Binding::Fixed(..) | Binding::Named(..) | Binding::Argument(..) => false,
            })
        };
        let kept = |e: &Expr| self.keeps_its_value(e);
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => true,
            Expr::Var(var) => !changes(*var),
            Expr::Neg(e) | Expr::Not(e) => kept(e),
            // Exclusive or is defined for 0 and 1 only.
            Expr::Binary(BinaryOp::Xor, ..) => false,
            Expr::Binary(BinaryOp::Div | BinaryOp::Mod, a, b) => {
                kept(a) && matches!(**b, Expr::Int(divisor) if divisor > 0)
            }
            Expr::Binary(_, a, b) => kept(a) && kept(b),
            Expr::If(c, a, b) => kept(c) && kept(a) && kept(b),
            Expr::Visits(_, at) => at.iter().all(kept),
            Expr::Count { lo, hi, body, .. } => kept(lo) && kept(hi) && kept(body),
        }
    }
}
