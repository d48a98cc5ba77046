//! Chooses the parameters that are treated one value at a time: those with finitely many values
//! that are divisors or give the number of objects.
//!
//! An expression over such a parameter has no closed form that the rule supports, or has no meaning
//! while the parameter is symbolic. All other parameters stay symbolic.

use std::collections::HashSet;

use crate::certificate::cut;
use crate::certificate::cut::artefact::Order;
use crate::certificate::cut::artefact::Shows;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;

/// A finite parameter with more values is not split.
const MAX_VALUES: i64 = 64;

/// Finite parameters that are divisors, or that give the number of objects. Those that give the
/// number of members are included only if that number cannot stay symbolic.
pub(in crate::proof) fn split_in_order(protocol: &Protocol, order: Option<Order>) -> Vec<usize> {
    split_by(protocol, order, HashSet::new())
}

/// The same for what is to be shown.
pub(super) fn split(protocol: &Protocol, (shows, order): (Shows, Option<Order>)) -> Vec<usize> {
    let mut used = HashSet::new();
    if matches!(shows, Shows::Ordering | Shows::Visibility) {
        for role in &protocol.roles {
            data(&role.body, &mut used);
        }
    }
    split_by(protocol, order, used)
}

/// Parameters that are divisors in places of data, or that give the number of groups that may be
/// outstanding.
fn data(body: &[Stmt], used: &mut HashSet<usize>) {
    for stmt in body {
        let touches = match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                data(then, used);
                data(otherwise, used);
                continue;
            }
            StmtKind::For { body, .. } => {
                data(body, used);
                continue;
            }
            StmtKind::Access {
                work: Work::WaitGroup { most, .. },
                ..
            } => {
                parameters(most, used);
                continue;
            }
            StmtKind::Copy { touches, .. }
            | StmtKind::Access {
                work: Work::Now(touches) | Work::Async(touches),
                ..
            } => touches,
            _ => continue,
        };
        for touch in touches {
            touch.index.iter().for_each(|e| divisors(e, used));
        }
    }
}

fn split_by(protocol: &Protocol, order: Option<Order>, mut used: HashSet<usize>) -> Vec<usize> {
    for object in &protocol.objects {
        object.extents.iter().for_each(|e| parameters(e, &mut used));
    }
    for role in &protocol.roles {
        statements(&role.body, &mut used);
    }
    let few = finite(protocol, &used);
    let classes = |split: &[usize]| {
        let cases = cut::cases::combinations(protocol, split).ok()?;
        let values = cases.first()?;
        let fixed = cut::cases::pairs(split, values);
        let view = cut::View::new(protocol, order).ok()?;
        view.classes(&fixed).ok()
    };
    if classes(&few).is_some() {
        return few;
    }
    for role in &protocol.roles {
        for index in &role.indices {
            parameters(&index.extent, &mut used);
        }
    }
    finite(protocol, &used)
}

/// Those of the parameters that have few values.
fn finite(protocol: &Protocol, used: &HashSet<usize>) -> Vec<usize> {
    (0..protocol.params.len())
        .filter(|at| used.contains(at))
        .filter(|at| match &protocol.params[*at].domain {
            Domain::Range(lo, hi) => hi - lo < MAX_VALUES,
            Domain::Set(_) => true,
            Domain::AtLeast(_) => false,
        })
        .collect()
}

fn statements(body: &[Stmt], used: &mut HashSet<usize>) {
    use crate::protocol::StmtKind as K;
    for stmt in body {
        match &stmt.kind {
            K::If {
                then,
                otherwise,
                condition,
            } => {
                divisors(condition, used);
                statements(then, used);
                statements(otherwise, used);
            }
            K::For { body, .. } => statements(body, used),
            K::Assign { value, .. } => divisors(value, used),
            K::Wait { cell, value, .. } => {
                cell.index.iter().for_each(|e| divisors(e, used));
                divisors(value, used);
            }
            K::WaitParity { cell, parity } => {
                cell.index.iter().for_each(|e| divisors(e, used));
                divisors(parity, used);
            }
            K::Arrive { cell, .. } => cell.index.iter().for_each(|e| divisors(e, used)),
            _ => {}
        }
    }
}

fn divisors(expr: &Expr, used: &mut HashSet<usize>) {
    match expr {
        Expr::Binary(op, a, b) => {
            divisors(a, used);
            divisors(b, used);
            if matches!(op, BinaryOp::Div | BinaryOp::Mod) {
                parameters(b, used);
            }
        }
        Expr::Neg(e) | Expr::Not(e) => divisors(e, used),
        Expr::If(c, a, b) => {
            divisors(c, used);
            divisors(a, used);
            divisors(b, used);
        }
        _ => {}
    }
}

fn parameters(expr: &Expr, used: &mut HashSet<usize>) {
    match expr {
        Expr::Param(id) => {
            used.insert(id.0);
        }
        Expr::Neg(e) | Expr::Not(e) => parameters(e, used),
        Expr::Binary(_, a, b) => {
            parameters(a, used);
            parameters(b, used);
        }
        Expr::If(c, a, b) => {
            parameters(c, used);
            parameters(a, used);
            parameters(b, used);
        }
        _ => {}
    }
}
