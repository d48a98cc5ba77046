//! The arriver rule for counters that are used once in each iteration of a loop, such as a reusable grid barrier.
//!
//! ```text
//! for e in 0..E { let t = fetch_add(c, 1) if t == N - 1 { c = 0 gate += 1 } wait gate >= e + 1 }
//! ```
//!
//! Members count at `c`. The last one of a round resets `c` and opens the `gate` to the next round. `c` and `gate` may
//! be arrays with one element for each of several groups of members. The new role is
//!
//! ```text
//! for e in 0..E { wait c >= (e + 1) * N  gate += 1 }
//! ```
//!
//! where `c` is never reset. If the protocol has no `c = 0`, the condition is `t == (e + 1) * N - 1`. Let `X` be the body
//! of the branch. The rule requires:
//!
//! 1. The loop is at the top level of the program, and the operation at the top level of the loop. No statement leaves
//!    the loop or the program early. `E` depends on nothing but parameters and the indices of the element.
//! 2. At most `N >= 1` members count at an element. It starts at 0, and only this operation and `c = 0` use it.
//! 3. `gate` has the same indices as `c` and starts at 0. Its only change is `gate += 1`, at the top level of `X` and
//!    after `c = 0`.
//! 4. At the top level of the loop there is a wait until `gate` is at least `e`, before the operation, or at least
//!    `e + 1`, after it.
//!
//! **Why this is sound.** Say that `r` rounds are over when `gate += 1` has been executed `r` times at an element. By 4, a
//! member counts in iteration `e` only after `e` rounds are over. So while `r` rounds are over, each member has counted at
//! most `r + 1` times, and all members together at most `(r + 1) * N` times. Suppose, by induction, that `c` has been reset
//! once in each of the `r` rounds, each time after `N` counts. Then the next operation that returns `N - 1` makes count
//! number `(r + 1) * N`. By then each of `N` members has counted `r + 1` times. So this member is in iteration `r`, and no
//! member counts again before `gate += 1`. So `c = 0` loses no count. In the new role, where `c` is not reset,
//! `wait c >= (r + 1) * N` passes at this moment. `X` does the same there as here, with `r` for `e`.

use std::collections::HashSet;

use super::Last;
use super::add_uses;
use super::cells;
use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
use crate::certificate::cut::domain::never_negative;
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

/// The loop in whose iterations members count.
pub(super) struct Rounds {
    /// The induction variable.
    pub var: VarId,
    /// The trip count.
    pub trips: Expr,
    /// The number of counts in each iteration.
    number: Expr,
}

impl Rounds {
    /// The number of counts by the end of the current iteration.
    pub fn counted(&self) -> Expr {
        let round = algebra::add(Expr::Var(self.var), Expr::Int(1));
        algebra::mul(round, self.number.clone())
    }
}

/// The loop in whose iterations an operation counts. `most` is the most members that count at one element.
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
    let changed = break_elimination::changed(&original.body);
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
    let leaves = break_elimination::leaving(&original.body).is_some()
        || break_elimination::leaving(body).is_some();
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
        // The new role waits for the same number in another form. It does not evaluate the divisions of this form.
        false => same(&counted, &rounds.counted()) && evident(whole, &last.value),
    };
    (fits && at_least(Expr::Int(1))).then_some(rounds)
}

/// The element that all members wait for between two rounds.
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

/// Whether a semaphore starts at 0 and exactly one statement changes it.
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

/// Whether two expressions are equal as polynomials.
fn same(a: &Expr, b: &Expr) -> bool {
    let left = Polynomial::of(&algebra::sub(a.clone(), b.clone()));
    left.to_expr() == Some(Expr::Int(0))
}
