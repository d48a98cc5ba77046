//! Recognises loops with at most one iteration: `for j in 0..min(1, n) { B }`. The normal form makes them from
//! branches on a count.

use super::cut::algebra;
use super::cut::break_elimination;
use super::cut::statements;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The count and the body of a statement `for j in 0..min(1, n) { B }`. The body is executed once if the count is at
/// least 1.
///
/// The loop is equivalent to `if n >= 1 { B }`, unless `B` mentions `j` or leaves the loop.
pub fn once(stmt: &Stmt) -> Option<(&Expr, &[Stmt])> {
    let StmtKind::For {
        var,
        over:
            Iteration::Range {
                lo: Expr::Int(0),
                hi: Expr::Binary(BinaryOp::Min, a, b),
                ..
            },
        body,
    } = &stmt.kind
    else {
        return None;
    };
    let amount = match (&**a, &**b) {
        (Expr::Int(1), amount) | (amount, Expr::Int(1)) => amount,
        _ => return None,
    };
    (!says(body, *var) && break_elimination::leaving(body).is_none()).then_some((amount, body))
}

/// Whether a name occurs in a block, including accesses to data and claims.
pub fn says(body: &[Stmt], var: VarId) -> bool {
    body.iter().any(|stmt| {
        let mut found = false;
        statements::visit_all_exprs(stmt, &mut |e| found |= algebra::mentions(e, var));
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => found |= says(then, var) || says(otherwise, var),
            StmtKind::For { body, .. } => found |= says(body, var),
            StmtKind::Assign { var: other, .. } => found |= *other == var,
            _ => {}
        }
        found
    })
}
