//! Loop rotation for split-phase barriers: a loop may begin with the wait for an arrival before the loop, and end with
//! the next arrival.
//!
//! Let `S` be an arrival at a split-phase barrier, and `W` its wait. The rule requires that a wait follows its arrival in
//! the same block. `S; for i { W; P; S }; W` does not have this form, and `for i { S; W; P }; S; W` has it. Both are the
//! same sequence of operations: `S`, then `W P S` once for each iteration, then `W`. So this module moves an arrival past
//! the statement that follows it. `S; X` and `Y; S` are the same sequence for these `X` and `Y`:
//!
//! | `X` | `Y` |
//! |---|---|
//! | nothing | nothing |
//! | `P; S` | `S; P` |
//! | `if c { A } else { B }` | the same with both branches rewritten |
//! | `for i { A }` | the same with the body rewritten |
//! | several of these | one after the other |
//!
//! The last three rows follow by induction. Each branch, each iteration and each statement is rewritten by itself. After
//! that the `S` at the end of one part is before the next part.
//!
//! # Side conditions
//!
//! All occurrences of `S` use the same element: their indices are syntactically equal, and mention no variable that the
//! rewritten statement assigns or uses as a loop variable. No statement in it leaves a loop or the program.

use super::algebra;
use super::break_elimination;
use crate::protocol::Cell;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The first two statements, rewritten so that the arrival is the second one. `None` if they are not an arrival and a loop
/// or branch that it can be moved past.
pub fn moved(body: &[Stmt]) -> Option<[Stmt; 2]> {
    let [first, second, ..] = body else {
        return None;
    };
    let StmtKind::BarrierArrive { cell } = &first.kind else {
        return None;
    };
    let compound = matches!(second.kind, StmtKind::For { .. } | StmtKind::If { .. });
    let whole = std::slice::from_ref(second);
    if !compound || break_elimination::leaving(whole).is_some() || breaks(whole) {
        return None;
    }
    let mut changed = break_elimination::changed(whole);
    variables(whole, &mut changed);
    let moves = |var: &VarId| cell.index.iter().any(|e| algebra::mentions(e, *var));
    if changed.iter().any(moves) {
        return None;
    }
    Some([past(cell, second)?, first.clone()])
}

/// A loop or branch that follows an arrival, rewritten as `Y` in the table above.
fn past(cell: &Cell, stmt: &Stmt) -> Option<Stmt> {
    let kind = match &stmt.kind {
        StmtKind::For { var, over, body } => StmtKind::For {
            var: *var,
            over: over.clone(),
            body: block(cell, body)?,
        },
        StmtKind::If {
            condition,
            then,
            otherwise,
        } => StmtKind::If {
            condition: condition.clone(),
            then: block(cell, then)?,
            otherwise: block(cell, otherwise)?,
        },
        _ => return None,
    };
    Some(Stmt {
        kind,
        ..stmt.clone()
    })
}

fn block(cell: &Cell, body: &[Stmt]) -> Option<Vec<Stmt>> {
    if let Some((last, before)) = body.split_last()
        && matches!(&last.kind, StmtKind::BarrierArrive { cell: other } if other == cell)
    {
        return Some([std::slice::from_ref(last), before].concat());
    }
    body.iter().map(|stmt| past(cell, stmt)).collect()
}

/// Whether anything leaves a loop, however deep.
fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If {
            then, otherwise, ..
        } => breaks(then) || breaks(otherwise),
        StmtKind::For { body, .. } => breaks(body),
        _ => false,
    })
}

/// The variables of loops, at any depth.
fn variables(body: &[Stmt], all: &mut Vec<VarId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::For { var, body, .. } => {
                all.push(*var);
                variables(body, all);
            }
            StmtKind::If {
                then, otherwise, ..
            } => {
                variables(then, all);
                variables(otherwise, all);
            }
            _ => {}
        }
    }
}
