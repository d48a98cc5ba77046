//! Loops in which only every `m`th iteration does something, for example because members take turns.
//!
//! Let `r` be in `0..m`. The numbers `i` in `0..b` with `i % m == r` are `m * k + r` for `k` in `0..(b - r + m - 1) / m`,
//! in the same order. The other iterations do nothing. Where `b` is not above `r` there is none: the bound is then at
//! most `(m - 1) / m = 0`.

use std::collections::HashMap;

use super::range;
use crate::certificate::cut::algebra;
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

/// The loop over the iterations that do something. Its variable is new.
pub(super) fn own(stmt: &Stmt, indices: &HashMap<VarId, i64>, vars: &mut Vec<Var>) -> Option<Stmt> {
    let this = range(stmt)?;
    let ([only], Expr::Int(0)) = (this.body, this.lo) else {
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
    if !inside || !otherwise.is_empty() {
        return None;
    }
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
    Some(Stmt {
        kind,
        ..stmt.clone()
    })
}
