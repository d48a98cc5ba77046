//! Semaphores that one member alone uses: local variables by another name.
//!
//! If every operation on a semaphore is one of a single member, on one element, then its value is a
//! function of the member's place, resets and all. The checker treats it as a local variable with
//! a closed form, proved by induction over iterations like any other, and states for every wait that
//! the value is the awaited one; so the wait passes, whatever others do. Only semaphores that are set
//! somewhere are treated so: those that only grow need no closed form.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::algebra;
use super::flow;
use super::statements;
use crate::certificate::exact;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// A class to be: how many members, what their indices are, and what they do.
pub struct Members<'a> {
    /// How many there are altogether, or in each copy for an object that every copy has.
    pub size: &'a Expr,
    /// Whether there are copies of them that share objects.
    pub copied: bool,
    pub known: &'a HashMap<VarId, Expr>,
    pub body: &'a [Stmt],
}

/// The variables that stand for semaphores of single members.
#[derive(Debug, Clone, Default)]
pub struct OwnedSemaphores {
    vars: BTreeMap<ObjectId, VarId>,
    /// The variables that say what resets have taken away.
    epochs: BTreeMap<ObjectId, VarId>,
}

impl OwnedSemaphores {
    /// The variable that stands for an object.
    pub fn var(&self, object: ObjectId) -> Option<VarId> {
        self.vars.get(&object).copied()
    }

    /// The variable that says what resets have taken away from a semaphore that counts in epochs.
    pub fn epoch(&self, object: ObjectId) -> Option<VarId> {
        self.epochs.get(&object).copied()
    }

    /// Makes semaphores count in epochs.
    pub fn count_in_epochs(&mut self, protocol: &Protocol, objects: BTreeSet<ObjectId>) {
        for object in objects {
            let var = VarId(self.next(protocol));
            self.epochs.insert(object, var);
        }
    }

    /// The object that a variable stands for.
    pub fn object(&self, var: VarId) -> Option<ObjectId> {
        let mut all = self.vars.iter().chain(&self.epochs);
        all.find(|(_, own)| **own == var).map(|(object, _)| *object)
    }

    /// The variables with the values they start with.
    pub fn starts(&self, protocol: &Protocol) -> Vec<(VarId, Expr)> {
        let start = |(object, var): (&ObjectId, &VarId)| match &protocol.objects[object.0].kind {
            ObjectKind::Semaphore(Initial::Value(value)) => Some((*var, value.clone())),
            _ => None,
        };
        let epochs = self.epochs.values().map(|var| (*var, Expr::Int(0)));
        self.vars.iter().filter_map(start).chain(epochs).collect()
    }

    /// The first number that no variable has.
    pub fn next(&self, protocol: &Protocol) -> usize {
        [self.vars.len(), self.epochs.len()]
            .into_iter()
            .fold(protocol.vars.len(), exact::together)
    }
}

/// Finds the semaphores that are set, and used by one member alone.
/// `private`: those that every copy has for itself.
pub fn own(
    protocol: &Protocol,
    fixed: &[(ParamId, i64)],
    all: &[Members<'_>],
    private: &BTreeMap<usize, usize>,
) -> OwnedSemaphores {
    let mut found = OwnedSemaphores::default();
    for (position, object) in protocol.objects.iter().enumerate() {
        let object_id = ObjectId(position);
        if !matches!(object.kind, ObjectKind::Semaphore(Initial::Value(_))) {
            continue;
        }
        let mut users = Vec::new();
        let mut elements = Vec::new();
        let mut set = false;
        for (nth, members) in all.iter().enumerate() {
            uses(members.body, &mut |stmt| {
                let Some(cell) = statements::cell_of(stmt) else {
                    return;
                };
                if cell.object != object_id {
                    return;
                }
                set |= matches!(stmt.kind, StmtKind::Set { .. });
                let at = |e: &Expr| {
                    let known = algebra::substitute(e, members.known);
                    flow::at_fixed(&known, fixed)
                };
                let element: Vec<Expr> = cell.index.iter().map(at).collect();
                if !users.contains(&nth) {
                    users.push(nth);
                }
                if !elements.contains(&element) {
                    elements.push(element);
                }
            });
        }
        let [user] = users[..] else { continue };
        let [element] = &elements[..] else { continue };
        let single = !all[user].copied || private.contains_key(&position);
        let alone = single && *all[user].size == Expr::Int(1);
        let still = element.iter().all(|e| matches!(e, Expr::Int(_)));
        if set && alone && still {
            let var = VarId(found.next(protocol));
            found.vars.insert(object_id, var);
        }
    }
    found
}

fn uses(body: &[Stmt], visit: &mut dyn FnMut(&Stmt)) {
    for stmt in body {
        visit(stmt);
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                uses(then, visit);
                uses(otherwise, visit);
            }
            StmtKind::For { body, .. } => uses(body, visit),
            _ => {}
        }
    }
}
