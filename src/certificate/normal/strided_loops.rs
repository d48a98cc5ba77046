//! Loops in which only every `m`th iteration does something, for example because members take turns.
//!
//! Let `r` be in `0..m`. The numbers `i` in `0..b` with `i % m == r` are `m * k + r` for `k` in
//! `0..(b - r + m - 1) / m`, in the same order. The other iterations do nothing. If `b` is at most
//! `r`, there is no such number: the bound is then at most `(m - 1) / m = 0`.
//!
//! Beside the branch, variables may step in every iteration. For example, the pipeline state of a
//! ring that members share does:
//!
//! ```text
//! for i in 0..b { if i % m == r { B } x = x + e }
//! ```
//!
//! Let `B` change neither `x` nor what `e` looks at, and never leave the loop. Then `x` is
//! `x0 + e * i` in iteration `i`, where `x0` is its value in front of the loop. After the loop, `x`
//! is `x0 + e * max(b, 0)`. If the step stands in front of the branch, it has been done once more
//! when `B` begins. So the loop is the same as
//!
//! ```text
//! x0 = x
//! for k in 0..(b - r + m - 1) / m { i = m * k + r  x = x0 + e * i  B }
//! x = x0 + e * max(b, 0)
//! ```
//!
//! Here `e` is evaluated where the original never does it, if `b` is 0. So it has to be plainly defined, and so has `b`.
//!
//! The branch may have another side, which only goes on in the same way:
//!
//! ```text
//! for i in 0..b { if i % m == r { for k in 0..n { .. x = x + 1 } } else { for k in 0..n { x = x + 1 } } }
//! ```
//!
//! There `x` grows by `n` on both sides, so it steps by `n` in every iteration. On either side one statement grows it, a step or a loop with
//! one step in its body that nothing leaves, and `n` is what is seen of that statement: neither bounds nor steps look at what the loop changes. The
//! other side consists of such statements, one for each variable, and nothing else. In front of `B`, `x` is `x0 + n * i`.

use std::collections::HashMap;

use super::Loop;
use super::range;
use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
use crate::certificate::cut::domain::never_negative;
use crate::certificate::defined::evident;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Var;
use crate::protocol::VarId;

/// The indices of roles whose number is known, and how many values they have.
pub(super) fn indices(protocol: &Protocol) -> HashMap<VarId, i64> {
    let all = protocol.roles.iter().flat_map(|role| &role.indices);
    let known = all.filter_map(|index| match index.extent {
        Expr::Int(extent) => Some((index.var, extent)),
        _ => None,
    });
    known.collect()
}

/// A variable that every iteration changes alike.
struct Step<'s> {
    /// The statement.
    stmt: &'s Stmt,
    var: VarId,
    /// What it grows by.
    by: Expr,
    /// Whether the step stands in front of the branch.
    first: bool,
}

/// The loop over the iterations that do something, and what sets the variables that step in all of them. The loop's
/// variable is new.
pub(super) fn own(
    stmt: &Stmt,
    protocol: &Protocol,
    indices: &HashMap<VarId, i64>,
    vars: &mut Vec<Var>,
) -> Option<Vec<Stmt>> {
    let this = range(stmt)?;
    let at = this
        .body
        .iter()
        .position(|stmt| matches!(stmt.kind, StmtKind::If { .. }))?;
    let (before, rest) = this.body.split_at(at);
    let (only, behind) = rest.split_first()?;
    let mut steps = steps(&this, (before, only, behind), protocol)?;
    let Expr::Int(0) = this.lo else {
        return None;
    };
    let StmtKind::If {
        condition: Expr::Binary(BinaryOp::Eq, a, b),
        then,
        otherwise,
    } = &only.kind
    else {
        return None;
    };
    let turn = |a: &Expr| match a {
        Expr::Binary(BinaryOp::Mod, x, modulus) if **x == Expr::Var(this.var) => match **modulus {
            Expr::Int(modulus) if modulus >= 2 => Some(modulus),
            _ => None,
        },
        _ => None,
    };
    let (modulus, rest) = match (turn(a), turn(b)) {
        (Some(modulus), _) => (modulus, &**b),
        (_, Some(modulus)) => (modulus, &**a),
        _ => return None,
    };
    let inside = match rest {
        Expr::Int(rest) => (0..modulus).contains(rest),
        Expr::Var(var) => indices.get(var).is_some_and(|extent| *extent <= modulus),
        _ => false,
    };
    if !inside {
        return None;
    }
    steps.extend(shared(&this, only, (then, otherwise), protocol)?);
    let turn = VarId(vars.len());
    vars.push(vars.get(this.var.0)?.clone());
    let number = algebra::mul(Expr::Int(modulus), Expr::Var(turn));
    let number = StmtKind::Assign {
        var: this.var,
        value: algebra::add(number, rest.clone()),
    };
    let mut body = vec![Stmt {
        kind: number,
        ..only.clone()
    }];
    let (mut start, mut end) = (Vec::new(), Vec::new());
    let trips = match never_negative(protocol, this.hi) {
        true => this.hi.clone(),
        false => algebra::max(Expr::Int(0), this.hi.clone()),
    };
    for step in steps {
        let entry = VarId(vars.len());
        vars.push(vars.get(step.var.0)?.clone());
        let set = |var: VarId, value: Expr| Stmt {
            kind: StmtKind::Assign { var, value },
            ..step.stmt.clone()
        };
        let after = |times: Expr| {
            let grown = algebra::mul(step.by.clone(), times);
            set(step.var, algebra::add(Expr::Var(entry), grown))
        };
        start.push(set(entry, Expr::Var(step.var)));
        let nth = Expr::Var(this.var);
        body.push(after(match step.first {
            true => algebra::add(nth, Expr::Int(1)),
            false => nth,
        }));
        end.push(after(trips.clone()));
    }
    body.extend_from_slice(then);
    let left = algebra::sub(this.hi.clone(), rest.clone());
    let left = algebra::add(left, Expr::Int(modulus.checked_sub(1)?));
    let over = Iteration::Range {
        lo: Expr::Int(0),
        hi: Expr::binary(BinaryOp::Div, left, Expr::Int(modulus)),
        descending: this.descending,
    };
    let kind = StmtKind::For {
        var: turn,
        over,
        body,
    };
    let mut all = start;
    all.push(Stmt {
        kind,
        ..stmt.clone()
    });
    all.extend(end);
    Some(all)
}

/// The steps beside a branch, if that is all there is.
fn steps<'s>(
    this: &Loop<'s>,
    (before, only, behind): (&'s [Stmt], &'s Stmt, &'s [Stmt]),
    protocol: &Protocol,
) -> Option<Vec<Step<'s>>> {
    let sides = [(before, true), (behind, false)];
    let all = sides
        .into_iter()
        .flat_map(|(side, first)| side.iter().map(move |stmt| (stmt, first)));
    let steps: Option<Vec<Step<'s>>> = all.map(|(stmt, first)| step(stmt, first)).collect();
    let steps = steps?;
    if steps.is_empty() {
        return Some(steps);
    }
    // Each variable is changed by its step alone. Nobody changes what a step or the loop looks at.
    let changed = break_elimination::changed(this.body);
    let once = |var: VarId| changed.iter().filter(|other| **other == var).count() == 1;
    let sound =
        |step: &Step<'_>| step.var != this.var && once(step.var) && plain(this, &step.by, protocol);
    (stays(this, only, protocol) && steps.iter().all(sound)).then_some(steps)
}

/// Whether a loop goes through all of its iterations, in order.
fn stays(this: &Loop<'_>, only: &Stmt, protocol: &Protocol) -> bool {
    !this.descending
        && break_elimination::leaving(std::slice::from_ref(only)).is_none()
        && !break_elimination::changed(this.body).contains(&this.var)
        && plain(this, this.hi, protocol)
}

/// Whether an expression has one value for the whole of a loop, and is defined.
fn plain(this: &Loop<'_>, e: &Expr, protocol: &Protocol) -> bool {
    let moves = |var: &VarId| algebra::mentions(e, *var);
    evident(protocol, e)
        && !moves(&this.var)
        && !break_elimination::changed(this.body).iter().any(moves)
}

/// The variables that both sides of the branch let grow alike, if the other side does nothing else.
fn shared<'s>(
    this: &Loop<'s>,
    only: &'s Stmt,
    (then, otherwise): (&[Stmt], &[Stmt]),
    protocol: &Protocol,
) -> Option<Vec<Step<'s>>> {
    let mut all: Vec<Step<'s>> = Vec::new();
    for stmt in otherwise {
        let (var, by) = growth(this, (stmt, true), protocol)?;
        // Beside the branch nothing changes it, and on the first side one statement does.
        let changes = |body: &[Stmt]| {
            break_elimination::changed(body)
                .iter()
                .filter(|v| **v == var)
                .count()
        };
        let mut own = then
            .iter()
            .filter(|stmt| changes(std::slice::from_ref(*stmt)) > 0);
        let (Some(grows), None) = (own.next(), own.next()) else {
            return None;
        };
        let again = all.iter().any(|step| step.var == var);
        let twice = changes(this.body) != 2;
        if again || twice || growth(this, (grows, false), protocol)? != (var, by.clone()) {
            return None;
        }
        all.push(Step {
            stmt: only,
            var,
            by,
            first: false,
        });
    }
    (all.is_empty() || stays(this, only, protocol)).then_some(all)
}

/// The variable that a statement lets grow, and by how much: a step, or a loop with one step in its body. `alone`: if that is all that it
/// does.
fn growth(
    this: &Loop<'_>,
    (stmt, alone): (&Stmt, bool),
    protocol: &Protocol,
) -> Option<(VarId, Expr)> {
    if let Some(step) = step(stmt, false) {
        return plain(this, &step.by, protocol).then_some((step.var, step.by));
    }
    let inner = range(stmt)?;
    if alone && inner.body.len() != 1 {
        return None;
    }
    let mut steps = inner.body.iter().filter_map(|stmt| step(stmt, false));
    // The one step that what else is in the body does not change.
    let step = steps.find(|step| {
        let mut changed = break_elimination::changed(inner.body);
        changed.retain(|var| *var == step.var);
        changed.len() == 1
    })?;
    let moves = |e: &Expr| algebra::mentions(e, inner.var);
    let sound = !break_elimination::breaks(inner.body)
        && !moves(&step.by)
        && [&step.by, inner.lo, inner.hi]
            .into_iter()
            .all(|e| plain(this, e, protocol));
    let length = algebra::sub(inner.hi.clone(), inner.lo.clone());
    let trips = match never_negative(protocol, &length) {
        true => length,
        false => algebra::max(Expr::Int(0), length),
    };
    sound.then(|| (step.var, algebra::mul(step.by, trips)))
}

/// `x = x + e` or `x = e + x`.
fn step(stmt: &Stmt, first: bool) -> Option<Step<'_>> {
    let StmtKind::Assign {
        var,
        value: Expr::Binary(BinaryOp::Add, a, b),
    } = &stmt.kind
    else {
        return None;
    };
    let by = match (&**a, &**b) {
        (Expr::Var(own), by) | (by, Expr::Var(own)) if own == var => by.clone(),
        _ => return None,
    };
    let var = *var;
    Some(Step {
        stmt,
        var,
        by,
        first,
    })
}
