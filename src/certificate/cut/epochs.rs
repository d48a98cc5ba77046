//! Semaphores that one member resets as soon as they have the value it waits for: `wait s == V` and
//! directly after it `s = W`, while all others only add.
//!
//! Such a semaphore counts in *epochs*. What has been added to it altogether only grows; the
//! semaphore is that total less what the resets have taken away, which is a local variable of the
//! member that resets. Its wait for `V` is a strict wait for the total `V` plus that variable, and a
//! reset to `W` changes the variable by `V - W`.
//!
//! That is right if the semaphore still has the value `V` when it is set. It had it when the wait
//! passed. The cut of a strict wait shows that while the member is held before it, the total does
//! not get beyond the awaited one. Nothing stands between wait and reset, so until the reset the
//! others can do no more than with the member held before the wait, which itself adds nothing.
//!
//! The classes have to meet these conditions: every reset directly follows such a wait; all resets
//! and all waits are of one class with one member; all uses are of one element. Another member that
//! waits at it might miss an epoch. Then the reset is refused, as it would be otherwise.

use std::collections::BTreeSet;

use super::algebra;
use super::owned_semaphores::Members;
use super::owned_semaphores::OwnedSemaphores;
use super::statements;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// The semaphores that count in epochs, among those that are not one member's own. `private`: says
/// whether every copy has an object for itself.
pub fn epochs(
    protocol: &Protocol,
    all: &[Members<'_>],
    own: &OwnedSemaphores,
    private: &dyn Fn(usize) -> bool,
) -> BTreeSet<ObjectId> {
    let semaphore = |at: &usize| {
        let kind = &protocol.objects[*at].kind;
        matches!(kind, ObjectKind::Semaphore(Initial::Value(_))) && own.var(ObjectId(*at)).is_none()
    };
    let objects = (0..protocol.objects.len()).filter(semaphore);
    let counts = |at: &usize| {
        let mut looked = Looked {
            object: ObjectId(*at),
            resets: false,
            waits: false,
            fits: true,
            elements: Vec::new(),
        };
        let mut users = Vec::new();
        for members in all {
            (looked.resets, looked.waits) = (false, false);
            looked.block(members.body);
            if looked.resets || looked.waits {
                users.push((looked.resets, members));
            }
        }
        let [(true, members)] = users[..] else {
            return false;
        };
        let single = !members.copied || private(*at);
        let alone = single && *members.size == Expr::Int(1);
        // Every role has its own name for the number of the copy.
        let one = looked.elements.len() <= 1 || private(*at);
        let still = looked.elements.iter().all(|e| match &e[..] {
            [] => true,
            [only] => matches!(only, Expr::Int(_)) || private(*at),
            _ => false,
        });
        looked.fits && alone && one && still
    };
    objects.filter(counts).map(ObjectId).collect()
}

/// How blocks use an object.
struct Looked {
    object: ObjectId,
    resets: bool,
    waits: bool,
    /// Whether every reset follows a wait for a value.
    fits: bool,
    elements: Vec<Vec<Expr>>,
}

impl Looked {
    fn block(&mut self, body: &[Stmt]) {
        for (nth, stmt) in body.iter().enumerate() {
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    self.block(then);
                    self.block(otherwise);
                }
                StmtKind::For { body, .. } => self.block(body),
                _ => {}
            }
            let Some(cell) = statements::cell_of(stmt).filter(|c| c.object == self.object) else {
                continue;
            };
            if !self.elements.contains(&cell.index) {
                self.elements.push(cell.index.clone());
            }
            match &stmt.kind {
                StmtKind::Set { .. } => {
                    self.resets = true;
                    let before = nth.checked_sub(1).and_then(|at| body.get(at));
                    self.fits &= before.is_some_and(|b| awaited(b, cell).is_some());
                }
                StmtKind::Wait { .. } => self.waits = true,
                _ => {}
            }
        }
    }
}

/// The value that a statement waits for at an element, if it waits for that very value.
fn awaited<'s>(stmt: &'s Stmt, at: &Cell) -> Option<&'s Expr> {
    match &stmt.kind {
        StmtKind::Wait {
            cell,
            comparison: Comparison::Equal,
            value,
        } if cell == at => Some(value),
        _ => None,
    }
}

/// A block in which waits are for totals, and resets change the variable that stands for what has
/// been taken away.
pub fn counted(body: &[Stmt], own: &OwnedSemaphores) -> Vec<Stmt> {
    let mut result: Vec<Stmt> = Vec::new();
    for (nth, stmt) in body.iter().enumerate() {
        let mut stmt = stmt.clone();
        let before = nth.checked_sub(1).and_then(|at| body.get(at));
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                *then = counted(then, own);
                *otherwise = counted(otherwise, own);
            }
            StmtKind::For { body, .. } => *body = counted(body, own),
            StmtKind::Wait { cell, value, .. } => {
                if let Some(epoch) = own.epoch(cell.object) {
                    let taken = Expr::Var(epoch);
                    *value = Expr::binary(BinaryOp::Add, value.clone(), taken);
                }
            }
            StmtKind::Set { cell, value } => {
                let now = before.and_then(|before| awaited(before, cell));
                if let (Some(epoch), Some(now)) = (own.epoch(cell.object), now) {
                    let less = algebra::sub(now.clone(), value.clone());
                    stmt.kind = StmtKind::Assign {
                        var: epoch,
                        value: Expr::binary(BinaryOp::Add, Expr::Var(epoch), less),
                    };
                }
            }
            _ => {}
        }
        result.push(stmt);
    }
    result
}
