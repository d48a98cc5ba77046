//! Liveness analysis: the variables that the rest of a program reads before it assigns to them.

use std::collections::BTreeSet;

use crate::protocol::AtomicUpdate;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

type Vars = BTreeSet<VarId>;

/// A part of what is left of a program.
pub(super) enum Rest<'p> {
    /// Statements.
    Block(&'p [Stmt]),
    /// Further trips of a loop over these values.
    Loop(VarId, &'p [Stmt]),
}

/// The variables that the rest of a program reads before it assigns to them. Its parts are given from the outermost
/// inwards, and the innermost part runs first.
pub(super) fn before<'p>(parts: impl Iterator<Item = Rest<'p>>) -> Vars {
    let mut after = Vars::new();
    // The variables read after the enclosing loop, which is the target of a `break`.
    let mut broken = Vars::new();
    for part in parts {
        match part {
            Rest::Block(stmts) => after = block(stmts, after, &broken),
            Rest::Loop(var, body) => {
                broken = after.clone();
                after = trips(var, body, after);
            }
        }
    }
    after
}

/// The live variables before further trips of a loop. There may be no further trip.
fn trips(var: VarId, body: &[Stmt], after: Vars) -> Vars {
    let mut live = after.clone();
    loop {
        let mut once = block(body, live.clone(), &after);
        once.remove(&var);
        let before = live.len();
        live.append(&mut once);
        if live.len() == before {
            return live;
        }
    }
}

fn block(stmts: &[Stmt], after: Vars, broken: &Vars) -> Vars {
    stmts
        .iter()
        .rev()
        .fold(after, |after, stmt| statement(stmt, after, broken))
}

fn statement(stmt: &Stmt, mut live: Vars, broken: &Vars) -> Vars {
    match &stmt.kind {
        StmtKind::Return => return Vars::new(),
        StmtKind::Break => return broken.clone(),
        StmtKind::If {
            condition,
            then,
            otherwise,
        } => {
            let mut both = block(then, live.clone(), broken);
            both.append(&mut block(otherwise, live, broken));
            expr(condition, &mut both);
            return both;
        }
        StmtKind::For { var, over, body } => {
            live = trips(*var, body, live);
            match over {
                Iteration::Range { lo, hi, .. } => {
                    expr(lo, &mut live);
                    expr(hi, &mut live);
                }
                Iteration::Row { row, .. } => row.iter().for_each(|e| expr(e, &mut live)),
            }
        }
        StmtKind::Assign { var, value } => {
            live.remove(var);
            expr(value, &mut live);
        }
        StmtKind::Atomic {
            cell,
            update,
            result,
        } => {
            live.remove(result);
            at(cell, &mut live);
            match update {
                AtomicUpdate::Add(e) | AtomicUpdate::Exchange(e) => expr(e, &mut live),
                AtomicUpdate::CompareAndSwap { expected, new } => {
                    expr(expected, &mut live);
                    expr(new, &mut live);
                }
            }
        }
        StmtKind::WaitSwap {
            cell,
            expected,
            new,
        } => {
            at(cell, &mut live);
            expr(expected, &mut live);
            expr(new, &mut live);
        }
        StmtKind::Wait { cell, value: e, .. }
        | StmtKind::Add { cell, amount: e }
        | StmtKind::Set { cell, value: e }
        | StmtKind::Arrive { cell, count: e }
        | StmtKind::WaitParity { cell, parity: e }
        | StmtKind::Sync { cell, count: e }
        | StmtKind::BarArrive { cell, count: e }
        | StmtKind::ExpectTx { cell, bytes: e }
        | StmtKind::CompleteTx { cell, bytes: e }
        | StmtKind::Acquire { cell, amount: e }
        | StmtKind::Release { cell, amount: e } => {
            at(cell, &mut live);
            expr(e, &mut live);
        }
        StmtKind::Copy {
            cell,
            bytes,
            touches,
            ..
        } => {
            at(cell, &mut live);
            expr(bytes, &mut live);
            let indices = touches.iter().flat_map(|touch| &touch.index);
            indices.for_each(|e| expr(e, &mut live));
        }
        StmtKind::Commit { cell }
        | StmtKind::Init { cell }
        | StmtKind::BarrierArrive { cell }
        | StmtKind::BarrierWait { cell } => at(cell, &mut live),
        StmtKind::Access { work, .. } => access(work, &mut live),
    }
    live
}

fn access(work: &Work, live: &mut Vars) {
    match work {
        Work::Now(touches) | Work::Async(touches) => {
            let indices = touches.iter().flat_map(|touch| &touch.index);
            indices.for_each(|e| expr(e, live));
        }
        Work::CommitGroup | Work::Fence(_) => {}
        Work::WaitGroup { most, .. } => expr(most, live),
        Work::Assert(claim) => {
            expr(&claim.condition, live);
            claim.values.iter().for_each(|(_, cell)| at(cell, live));
        }
        Work::Lifetime { data, .. } => {
            let indices = data.iter().flat_map(|backed| &backed.index);
            indices.for_each(|e| expr(e, live));
        }
    }
}

fn at(cell: &Cell, live: &mut Vars) {
    cell.index.iter().for_each(|e| expr(e, live));
}

fn expr(e: &Expr, live: &mut Vars) {
    match e {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => {}
        Expr::Var(var) => {
            live.insert(*var);
        }
        Expr::Neg(e) | Expr::Not(e) => expr(e, live),
        Expr::Binary(_, a, b) => {
            expr(a, live);
            expr(b, live);
        }
        Expr::If(c, a, b) => [c, a, b].into_iter().for_each(|e| expr(e, live)),
        Expr::Visits(_, at) => at.iter().for_each(|e| expr(e, live)),
        Expr::Count { var, lo, hi, body } => {
            let mut counted = Vars::new();
            expr(body, &mut counted);
            counted.remove(var);
            live.append(&mut counted);
            expr(lo, live);
            expr(hi, live);
        }
    }
}
