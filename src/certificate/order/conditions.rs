//! Conditions on parameters that are not comparisons of polynomials. For example, `K == (n - 1) % K + 1` may stand
//! around the statements that end a tile.
//!
//! The rule counts operations by cases of the conditions around them, and polynomials distinguish the cases. So a new
//! parameter `b` in `0..=1` takes the place of such a comparison. `b >= 1` means that the comparison holds. The
//! replacement is made at every place where the comparison occurs in the condition of an `if`.
//!
//! *Why this is sound.* Take any values of the parameters, and let `b` be 1 if the comparison holds and 0 otherwise.
//! The comparison depends only on parameters, so it has the same value everywhere. Each run of the protocol is a run
//! of the new protocol with this `b`. The proof covers all values of `b`, so it covers this one. A comparison may be
//! undefined, if a divisor is 0. The obligations that this does not happen are about the original protocol, at each
//! place where the comparison is evaluated ([`super::claims`]). The meaning of the comparison is lost, so the rule
//! shows more than necessary.

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
    /// The comparisons that they stand for, in order.
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
                // A comparison and its negation share one parameter.
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
