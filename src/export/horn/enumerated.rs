//! Chooses the parameters that get concrete values. Each combination of their values becomes a separate set of
//! clauses.
//!
//! Horn solvers are weak if the number of objects is symbolic, or if something is divided by a symbol. So a parameter
//! in such a place is enumerated if it has few values.

use std::collections::BTreeSet;

use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// The choices that are tried: no parameter, those that determine the synchronization objects, and all that have few
/// values.
pub fn choices(protocol: &Protocol) -> Vec<Vec<usize>> {
    let mut shaping = BTreeSet::new();
    for object in &protocol.objects {
        object.extents.iter().for_each(|e| params(e, &mut shaping));
    }
    for role in &protocol.roles {
        divisors_in(&role.body, &mut shaping);
    }
    let finite: Vec<usize> = (0..protocol.params.len())
        .filter(|at| match &protocol.params[*at].domain {
            Domain::AtLeast(_) => false,
            Domain::Range(lo, hi) => hi.saturating_sub(*lo) < 32,
            Domain::Set(values) => values.len() <= 32,
        })
        .collect();
    let shaping: Vec<usize> = finite
        .iter()
        .copied()
        .filter(|at| shaping.contains(&ParamId(*at)))
        .collect();
    let mut all = vec![Vec::new(), shaping, finite];
    all.dedup();
    all
}

fn params(expr: &Expr, found: &mut BTreeSet<ParamId>) {
    match expr {
        Expr::Param(id) => {
            found.insert(*id);
        }
        Expr::Neg(e) | Expr::Not(e) => params(e, found),
        Expr::Binary(_, a, b) => {
            params(a, found);
            params(b, found);
        }
        Expr::If(c, a, b) => {
            params(c, found);
            params(a, found);
            params(b, found);
        }
        _ => {}
    }
}

/// The parameters in divisors.
fn divisors(expr: &Expr, found: &mut BTreeSet<ParamId>) {
    match expr {
        Expr::Neg(e) | Expr::Not(e) => divisors(e, found),
        Expr::Binary(op, a, b) => {
            if matches!(op, BinaryOp::Div | BinaryOp::Mod) {
                params(b, found);
            }
            divisors(a, found);
            divisors(b, found);
        }
        Expr::If(c, a, b) => {
            divisors(c, found);
            divisors(a, found);
            divisors(b, found);
        }
        _ => {}
    }
}

fn divisors_in(body: &[Stmt], found: &mut BTreeSet<ParamId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Arrive { cell, count: e } | StmtKind::WaitParity { cell, parity: e } => {
                cell.index.iter().for_each(|index| divisors(index, found));
                divisors(e, found);
            }
            StmtKind::Assign { value, .. } => divisors(value, found),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                divisors(condition, found);
                divisors_in(then, found);
                divisors_in(otherwise, found);
            }
            StmtKind::For { over, body, .. } => {
                if let Iteration::Range { lo, hi, .. } = over {
                    divisors(lo, found);
                    divisors(hi, found);
                }
                divisors_in(body, found);
            }
            _ => {}
        }
    }
}
