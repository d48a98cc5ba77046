//! Loops that begin with the wait for an arrival made before them and end with the next arrival.
//!
//! With `S` an arrival at a split-phase barrier, `S; for i { W; P; S }; W` does one operation after the
//! other exactly as `for i { S; W; P }; S; W` does: the sequence begins with `S`, goes on with `W P S` as often as the
//! loop goes around, and ends with `W`. In the second form the wait follows its arrival in one block, as the rule asks.
//! So an arrival is moved past what follows it: `S; X` and `Y; S` are the same sequence for these `X` and `Y`.
//!
//! | `X` | `Y` |
//! |---|---|
//! | nothing | nothing |
//! | `P; S` | `S; P` |
//! | `if c { A } else { B }` | the same with both branches rewritten |
//! | `for i { A }` | the same with the body rewritten |
//! | several of these | one after the other |
//!
//! The last three follow from the parts: each branch, each iteration and each statement is rewritten by itself. The `S`
//! that has come to the end of one stands in front of the next.
//!
//! # Side conditions
//!
//! `S` works on one element throughout: its index is the same to the letter, and names no variable that the rewritten
//! statement changes or goes through. Nothing in it leaves a loop or the program.

use super::algebra;
use super::leave;
use crate::protocol::Cell;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// What the two first statements do, as two others of which the second is the arrival; `None` where they are
/// not an arrival and a loop or branch that it can be moved past.
pub fn moved(body: &[Stmt]) -> Option<[Stmt; 2]> {
    let [first, second, ..] = body else {
        return None;
    };
    let StmtKind::BarrierArrive { cell } = &first.kind else {
        return None;
    };
    let compound = matches!(second.kind, StmtKind::For { .. } | StmtKind::If { .. });
    let whole = std::slice::from_ref(second);
    if !compound || leave::leaving(whole).is_some() || breaks(whole) {
        return None;
    }
    let mut changed = leave::changed(whole);
    variables(whole, &mut changed);
    let moves = |var: &VarId| cell.index.iter().any(|e| algebra::mentions(e, *var));
    if changed.iter().any(moves) {
        return None;
    }
    Some([past(cell, second)?, first.clone()])
}

/// A loop or branch behind an arrival, with the arrivals before what they followed.
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

/// The variables that loops go through.
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
