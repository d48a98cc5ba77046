//! Loops that go around once at most: `for j in 0..min(1, n) { B }`. The normal form makes them of branches on a count.

use super::cut::algebra;
use super::cut::leave;
use super::cut::statements;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

/// What has to be at least 1, and what is then executed once, if a statement is `for j in 0..min(1, n) { B }`.
///
/// It is the same as `if n >= 1 { B }`, unless `B` mentions `j` or leaves the loop.
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
    (!says(body, *var) && leave::leaving(body).is_none()).then_some((amount, body))
}

/// Whether a name occurs in a block, in what is done to data and claimed, too.
pub fn says(body: &[Stmt], var: VarId) -> bool {
    body.iter().any(|stmt| {
        let mut found = false;
        let mut look = |e: &Expr| found |= algebra::mentions(e, var);
        statements::visit_exprs(stmt, &mut look);
        match &stmt.kind {
            StmtKind::Copy { touches, .. } => touches.iter().flat_map(|t| &t.index).for_each(look),
            StmtKind::Access { work, .. } => match work {
                Work::Now(touches) | Work::Async(touches) => {
                    touches.iter().flat_map(|t| &t.index).for_each(look);
                }
                Work::Lifetime { data, .. } => data.iter().flat_map(|d| &d.index).for_each(look),
                Work::Assert(claim) => {
                    look(&claim.condition);
                    let cells = claim.values.iter().flat_map(|(_, cell)| &cell.index);
                    cells.for_each(look);
                }
                Work::CommitGroup | Work::WaitGroup { .. } | Work::Fence(_) => {}
            },
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
