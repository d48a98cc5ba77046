//! Counting once in each round of a loop, at the same element.
//!
//! ```text
//! for e in 0..E { let t = fetch_add(c, 1) if t == N - 1 { c = 0 gate += 1 } wait gate >= e + 1 }
//! ```
//!
//! Here `c` may be an element for each of several groups of members, and so may `gate`. The new role is
//!
//! ```text
//! for e in 0..E { wait c >= (e + 1) * N  gate += 1 }
//! ```
//!
//! where `c` is never set back. Without `c = 0` the condition may be `t == (e + 1) * N - 1`. Wanted are
//!
//! 1. the loop and the operation stand at the top of the program and of the loop, which nobody leaves early; `E` looks at
//!    nothing but parameters and the names of the element;
//! 2. at most `N` members count at an element, from 0, and `N` is at least 1; nobody else looks at it;
//! 3. `gate` has the same indices as `c` and is 0 at the start. Its only change is `gate += 1`, at the top of `X` and behind `c = 0`;
//! 4. at the top of the loop stands `wait gate` for `e` or more in front of the operation, or for `e + 1` or more behind.
//!
//! **Why.** Say that `r` rounds are over if `gate += 1` was done `r` times at an element. A member counts in iteration `e` only after
//! `e` rounds are over, by 4. So it has counted at most `r + 1` times, and all together at most `(r + 1) * N` times. Suppose that
//! `c` was set back once in each of these rounds, where all had counted `N` times since the last one. Then the next operation that
//! returns `N - 1` is the one with which all have counted `(r + 1) * N` times. Then each of `N` members has counted `r + 1` times, so
//! this one is in iteration `r`, and nobody counts again before `gate += 1`, so `c = 0` takes nothing away. This is where
//! `wait c >= (r + 1) * N` passes in the new role, if `c` is not set back, and `X` does there what it does here, with `r` for `e`.

use std::collections::HashSet;

use super::Last;
use super::add_uses;
use super::cells;
use crate::certificate::cut::algebra;
use crate::certificate::cut::domain::never_negative;
use crate::certificate::cut::leave;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::defined::evident;
use crate::certificate::program::free_vars;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The rounds in which members count.
pub(super) struct Rounds {
    /// The variable of the loop.
    pub var: VarId,
    /// How many there are.
    pub trips: Expr,
    /// How often is counted in each.
    number: Expr,
}

impl Rounds {
    /// How often has been counted at the end of a round.
    pub fn counted(&self) -> Expr {
        let round = algebra::add(Expr::Var(self.var), Expr::Int(1));
        algebra::mul(round, self.number.clone())
    }
}

/// The rounds in which an operation counts; `most` is how many members may count at one element.
pub(super) fn found(whole: &Protocol, role: &Role, last: &Last, most: &Expr) -> Option<Rounds> {
    let original = whole.roles.iter().find(|other| other.name == role.name)?;
    let mut loops = original.body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::For {
            var,
            over:
                Iteration::Range {
                    lo: Expr::Int(0),
                    hi,
                    descending: false,
                },
            body,
        } => body
            .iter()
            .position(|stmt| stmt.id == last.stmt.id)
            .map(|at| (*var, hi, body, at)),
        _ => None,
    });
    let (var, trips, body, at) = loops.next()?;
    let changed = leave::changed(&original.body);
    let index = |used: &VarId| {
        let mut indices = original.indices.iter();
        indices.any(|index| index.var == *used) && !changed.contains(used)
    };
    let mut names = HashSet::new();
    last.cell
        .index
        .iter()
        .for_each(|e| free_vars(e, &mut names));
    let mut looks = HashSet::new();
    free_vars(trips, &mut looks);
    let leaves = leave::leaving(&original.body).is_some() || leave::leaving(body).is_some();
    if leaves || changed.contains(&var) || !names.iter().all(index) || !looks.is_subset(&names) {
        return None;
    }
    if !starts_at_0(whole, last.cell.object) {
        return None;
    }
    let gate = gate(whole, last)?;
    let awaited = |stmt: &Stmt, least: &Expr| match &stmt.kind {
        StmtKind::Wait { cell, value, .. } => *cell == gate && same(value, least),
        _ => false,
    };
    let (before, behind) = body.split_at(at);
    let (round, next) = (Expr::Var(var), algebra::add(Expr::Var(var), Expr::Int(1)));
    if !before.iter().any(|stmt| awaited(stmt, &round))
        && !behind.iter().any(|stmt| awaited(stmt, &next))
    {
        return None;
    }
    let counted = algebra::add(last.value.clone(), Expr::Int(1));
    let number = match last.sets_back() {
        true if algebra::mentions(&counted, var) => return None,
        true => counted.clone(),
        false => most.clone(),
    };
    let rounds = Rounds {
        var,
        trips: trips.clone(),
        number,
    };
    let at_least = |least: Expr| {
        let left = Polynomial::of(&algebra::sub(rounds.number.clone(), least)).to_expr();
        left.is_some_and(|left| never_negative(whole, &left))
    };
    let fits = match last.sets_back() {
        true => at_least(most.clone()),
        // The new role waits for the same number in another form, which says nothing of what this one divides by.
        false => same(&counted, &rounds.counted()) && evident(whole, &last.value),
    };
    (fits && at_least(Expr::Int(1))).then_some(rounds)
}

/// The element that lets everybody go on to the next round.
fn gate(whole: &Protocol, last: &Last) -> Option<Cell> {
    let back = last.then.iter().position(|stmt| match &stmt.kind {
        StmtKind::Set { cell, value } => *cell == last.cell && *value == Expr::Int(0),
        _ => false,
    });
    if last.sets_back() && back.is_none() {
        return None;
    }
    let mut own = cells(&last.then).into_iter();
    let times = own.by_ref().filter(|cell| **cell == last.cell).count();
    if times != usize::from(back.is_some()) {
        return None;
    }
    let behind = last.then.iter().skip(back.unwrap_or(0));
    let mut gates = behind.filter_map(|stmt| match &stmt.kind {
        StmtKind::Add {
            cell,
            amount: Expr::Int(1),
        } if cell.index == last.cell.index => Some(cell),
        _ => None,
    });
    gates.find(|gate| changed_once(whole, gate.object)).cloned()
}

/// Whether a semaphore is 0 at the start and one statement alone changes it.
fn changed_once(whole: &Protocol, object: ObjectId) -> bool {
    let mut uses = Vec::new();
    for role in &whole.roles {
        add_uses(&role.body, object, &mut uses);
    }
    let changes = uses.iter().filter(|waits| !**waits).count();
    changes == 1 && starts_at_0(whole, object)
}

fn starts_at_0(whole: &Protocol, object: ObjectId) -> bool {
    whole
        .objects
        .get(object.0)
        .is_some_and(|object| object.kind == ObjectKind::Semaphore(Initial::Value(Expr::Int(0))))
}

/// Whether two expressions are the same sum.
fn same(a: &Expr, b: &Expr) -> bool {
    let left = Polynomial::of(&algebra::sub(a.clone(), b.clone()));
    left.to_expr() == Some(Expr::Int(0))
}
