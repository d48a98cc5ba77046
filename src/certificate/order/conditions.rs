//! Conditions on parameters that are no comparisons of polynomials. For example,
//! `K == (n - 1) % K + 1` may stand around what ends a tile.
//!
//! The rule counts operations by cases of the conditions around them, and polynomials tell the
//! cases apart. So a parameter `b` in `0..=1` takes the place of such a comparison: `b >= 1` says
//! that it holds. It does so everywhere where the comparison stands in the condition of an `if`.
//!
//! *Why this is sound.* Take any values of the parameters, and let `b` be 1 if the comparison holds
//! and 0 otherwise. The comparison is about parameters alone, so it is the same wherever it stands.
//! Each run of the protocol is one of the protocol with this `b`. What is shown of all values of
//! `b` is shown of this one. A comparison may have no value, if a divisor is 0. That this does not
//! happen is still shown of the protocol as it was, wherever the comparison is evaluated
//! ([`super::claims`]). What the comparison says is lost. So the rule shows more than it has to.

use super::cases;
use super::cases::Env;
use crate::certificate::exact;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Param;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// The same protocol, with a parameter for each such comparison; `None` if there is none.
pub fn named(protocol: &Protocol) -> Option<Protocol> {
    let mut named = protocol.clone();
    let mut names = Names {
        first: protocol.params.len(),
        comparisons: Vec::new(),
    };
    for role in &mut named.roles {
        names.block(&mut role.body);
    }
    if names.comparisons.is_empty() {
        return None;
    }
    for _ in names.comparisons {
        let mut name = format!("condition_{}", named.params.len());
        while named.params.iter().any(|param| param.name == name) {
            name.push('_');
        }
        named.params.push(Param {
            name,
            domain: Domain::Range(0, 1),
            span: Span::default(),
        });
    }
    Some(named)
}

struct Names {
    /// The position of the first new parameter.
    first: usize,
    /// What they stand for, in turn.
    comparisons: Vec<Expr>,
}

impl Names {
    fn block(&mut self, body: &mut [Stmt]) {
        for stmt in body {
            match &mut stmt.kind {
                StmtKind::For { body, .. } => self.block(body),
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    self.condition(condition);
                    self.block(then);
                    self.block(otherwise);
                }
                _ => {}
            }
        }
    }

    fn condition(&mut self, expr: &mut Expr) {
        use BinaryOp as B;
        match expr {
            Expr::Not(e) => self.condition(e),
            Expr::Binary(B::And | B::Or, a, b) => {
                self.condition(a);
                self.condition(b);
            }
            Expr::Binary(op, a, b) if of_parameters(a) && of_parameters(b) => {
                // One name for a comparison and its contrary.
                let (positive, holds) = match op {
                    B::Eq | B::Le | B::Ge => (*op, true),
                    B::Ne => (B::Eq, false),
                    B::Lt => (B::Ge, false),
                    B::Gt => (B::Le, false),
                    _ => return,
                };
                let comparison = Expr::Binary(positive, a.clone(), b.clone());
                if cases::holds(&comparison, &Env::new(), true).is_ok() {
                    return;
                }
                let known = self.comparisons.iter().position(|c| *c == comparison);
                let nth = known.unwrap_or(self.comparisons.len());
                if known.is_none() {
                    self.comparisons.push(comparison);
                }
                let name = Expr::Param(ParamId(exact::together(self.first, nth)));
                let op = if holds { B::Ge } else { B::Lt };
                *expr = Expr::binary(op, name, Expr::Int(1));
            }
            _ => {}
        }
    }
}

/// Whether an expression is an integer over parameters.
fn of_parameters(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Param(_) => true,
        Expr::Neg(e) => of_parameters(e),
        Expr::Binary(
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod
            | BinaryOp::Min
            | BinaryOp::Max,
            a,
            b,
        ) => of_parameters(a) && of_parameters(b),
        _ => false,
    }
}
