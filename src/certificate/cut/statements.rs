//! Visitors for the expressions of a statement, and for the element that it uses.

use crate::protocol::AtomicUpdate;
use crate::protocol::Cell;
use crate::protocol::Claim;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;

/// Every expression of a statement, without those of the blocks inside it.
pub fn visit_exprs(stmt: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    let mut copy = stmt.clone();
    // One list of a statement's expressions serves looking and replacing.
    for_each_expr(&mut copy, &mut |e| visit(e));
}

/// Looks at the expressions of a statement, those that only name data and those of claims, too.
pub fn visit_all_exprs(stmt: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    let mut copy = stmt.clone();
    for_each_expr(&mut copy, &mut |e| visit(e));
    for_each_data_expr(&mut copy, &mut |e| visit(e));
}

/// A block with its expressions replaced, except for those that only name data.
pub fn replaced(body: &[Stmt], replace: &dyn Fn(&Expr) -> Expr) -> Vec<Stmt> {
    body.iter()
        .map(|stmt| {
            let mut stmt = stmt.clone();
            map_exprs(&mut stmt, replace);
            match &mut stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    *then = replaced(then, replace);
                    *otherwise = replaced(otherwise, replace);
                }
                StmtKind::For { body, .. } => *body = replaced(body, replace),
                _ => {}
            }
            stmt
        })
        .collect()
}

fn map_exprs(stmt: &mut Stmt, map: &dyn Fn(&Expr) -> Expr) {
    for_each_expr(stmt, &mut |e| *e = map(e));
}

/// The element a statement works on.
pub fn cell_of(stmt: &Stmt) -> Option<&Cell> {
    stmt.kind.cell()
}

/// The same, to replace it.
pub fn cell_mut(kind: &mut StmtKind) -> Option<&mut Cell> {
    match kind {
        StmtKind::Wait { cell, .. }
        | StmtKind::Set { cell, .. }
        | StmtKind::Add { cell, .. }
        | StmtKind::Arrive { cell, .. }
        | StmtKind::Sync { cell, .. }
        | StmtKind::BarArrive { cell, .. }
        | StmtKind::ExpectTx { cell, .. }
        | StmtKind::CompleteTx { cell, .. }
        | StmtKind::Copy { cell, .. }
        | StmtKind::Acquire { cell, .. }
        | StmtKind::Release { cell, .. }
        | StmtKind::Commit { cell }
        | StmtKind::Init { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::BarrierWait { cell }
        | StmtKind::Atomic { cell, .. }
        | StmtKind::WaitSwap { cell, .. }
        | StmtKind::WaitParity { cell, .. } => Some(cell),
        StmtKind::If { .. }
        | StmtKind::For { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Access { .. }
        | StmtKind::Return
        | StmtKind::Break => None,
    }
}

/// The same, to replace them; without those that only name data.
pub fn for_each_expr(stmt: &mut Stmt, visit: &mut dyn FnMut(&mut Expr)) {
    match &mut stmt.kind {
        StmtKind::Wait { cell, value, .. } | StmtKind::Set { cell, value } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(value);
        }
        StmtKind::Add { cell, amount } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(amount);
        }
        StmtKind::Arrive { cell, count }
        | StmtKind::Sync { cell, count }
        | StmtKind::BarArrive { cell, count } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(count);
        }
        StmtKind::ExpectTx { cell, bytes }
        | StmtKind::CompleteTx { cell, bytes }
        | StmtKind::Copy { cell, bytes, .. } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(bytes);
        }
        StmtKind::Acquire { cell, amount } | StmtKind::Release { cell, amount } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(amount);
        }
        StmtKind::Commit { cell }
        | StmtKind::Init { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::BarrierWait { cell } => cell.index.iter_mut().for_each(&mut *visit),
        StmtKind::WaitParity { cell, parity } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(parity);
        }
        StmtKind::Atomic { cell, update, .. } => {
            cell.index.iter_mut().for_each(&mut *visit);
            match update {
                AtomicUpdate::Add(value) | AtomicUpdate::Exchange(value) => visit(value),
                AtomicUpdate::CompareAndSwap { expected, new } => {
                    visit(expected);
                    visit(new);
                }
            }
        }
        StmtKind::WaitSwap {
            cell,
            expected,
            new,
        } => {
            cell.index.iter_mut().for_each(&mut *visit);
            visit(expected);
            visit(new);
        }
        StmtKind::If { condition, .. } => visit(condition),
        StmtKind::For { over, .. } => match over {
            Iteration::Range { lo, hi, .. } => {
                visit(lo);
                visit(hi);
            }
            Iteration::Row { row, .. } => row.iter_mut().for_each(&mut *visit),
        },
        StmtKind::Assign { value, .. } => visit(value),
        StmtKind::Access { work, .. } => match work {
            Work::WaitGroup { most, .. } => visit(most),
            // The elements may tell members apart that do the same otherwise: `Class::free`.
            Work::Now(_) | Work::Async(_) | Work::Lifetime { .. } => {}
            // Claims are made of members whose indices stay open, and none in copies.
            Work::Assert(_) => {}
            Work::CommitGroup | Work::Fence(_) => {}
        },
        StmtKind::Return | StmtKind::Break => {}
    }
}

/// The expressions of a statement that only name data or belong to a claim, to replace them.
pub fn for_each_data_expr(stmt: &mut Stmt, visit: &mut dyn FnMut(&mut Expr)) {
    match &mut stmt.kind {
        StmtKind::Copy { touches, .. } => {
            let indices = touches.iter_mut().flat_map(|touch| &mut touch.index);
            indices.for_each(visit);
        }
        StmtKind::Access { work, .. } => match work {
            Work::Now(touches) | Work::Async(touches) => {
                let indices = touches.iter_mut().flat_map(|touch| &mut touch.index);
                indices.for_each(visit);
            }
            Work::Lifetime { data, .. } => {
                let indices = data.iter_mut().flat_map(|data| &mut data.index);
                indices.for_each(visit);
            }
            Work::Assert(claim) => for_each_expr_of_claim(claim, visit),
            Work::CommitGroup | Work::WaitGroup { .. } | Work::Fence(_) => {}
        },
        _ => {}
    }
}

/// The expressions of a claim, to replace them.
pub fn for_each_expr_of_claim(claim: &mut Claim, visit: &mut dyn FnMut(&mut Expr)) {
    visit(&mut claim.condition);
    let cells = claim.values.iter_mut();
    cells.for_each(|(_, cell)| cell.index.iter_mut().for_each(&mut *visit));
}
