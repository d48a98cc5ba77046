//! Splits a role into groups of members that run the same program.
//!
//! An index whose extent is a number gets one group per value. One further index may have any extent. The program may
//! only compare this index with bounds over parameters. Between two neighbouring bounds, all comparisons have the
//! same results. It is an obligation that the bounds are in ascending order.

use super::fold;
use super::fold::Known;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::ATOMIC;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The most members that are distinguished one by one.
const MAX_ENUMERATED: i64 = 64;

/// Members of a role that run the same program.
#[derive(Debug, Clone)]
pub struct Part {
    /// For reports: `thread[cta = 0][t >= 1]`.
    pub name: String,
    /// How many members, over parameters.
    pub size: Expr,
    /// The values of the enumerated indices.
    pub known: Known,
    /// The index that is only compared, and the interval of its values.
    pub open: Option<Open>,
}

/// The values from one bound up to the next one.
#[derive(Debug, Clone)]
pub struct Open {
    /// The index.
    pub var: VarId,
    /// All bounds in ascending order, the first being 0.
    pub bounds: Vec<Expr>,
    /// The position of the interval: it starts at this bound and ends below the next one.
    pub nth: usize,
}

impl Open {
    /// Evaluates the comparisons of the index.
    pub fn decide(&self, expr: &Expr, known: &Known) -> Expr {
        let go = |e: &Expr| Box::new(self.decide(e, known));
        match expr {
            Expr::Binary(op, a, b) => {
                if let Some((op, bound)) = comparison(self.var, *op, a, b)
                    && let Some(value) = self.outcome(op, &fold::fold(bound, known))
                {
                    return Expr::Bool(value);
                }
                Expr::Binary(*op, go(a), go(b))
            }
            Expr::Neg(e) => Expr::Neg(go(e)),
            Expr::Not(e) => Expr::Not(go(e)),
            Expr::If(c, a, b) => Expr::If(go(c), go(a), go(b)),
            _ => expr.clone(),
        }
    }

    fn outcome(&self, op: BinaryOp, bound: &Expr) -> Option<bool> {
        let below = |bound: &Expr| Some(self.nth < position(&self.bounds, bound)?);
        let next = successor(bound);
        Some(match op {
            BinaryOp::Lt => below(bound)?,
            BinaryOp::Ge => !below(bound)?,
            BinaryOp::Le => below(&next)?,
            BinaryOp::Gt => !below(&next)?,
            BinaryOp::Eq => !below(bound)? && below(&next)?,
            BinaryOp::Ne => below(bound)? || !below(&next)?,
            _ => return None,
        })
    }
}

fn successor(bound: &Expr) -> Expr {
    let next = Expr::binary(BinaryOp::Add, bound.clone(), Expr::Int(1));
    fold::fold(&next, &Known::default())
}

fn position(bounds: &[Expr], bound: &Expr) -> Option<usize> {
    match bound {
        Expr::Int(value) if *value <= 0 => Some(0),
        _ => bounds.iter().position(|b| b == bound),
    }
}

/// `var op bound`, whichever side it is written on.
fn comparison<'e>(
    var: VarId,
    op: BinaryOp,
    a: &'e Expr,
    b: &'e Expr,
) -> Option<(BinaryOp, &'e Expr)> {
    let is_comparison = matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    );
    if !is_comparison {
        return None;
    }
    if *a == Expr::Var(var) {
        return Some((op, b));
    }
    let mirrored = match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        same => same,
    };
    (*b == Expr::Var(var)).then_some((mirrored, a))
}

/// The parts of a role if these parameters have values.
///
/// # Errors
///
/// Refuses two indices of unknown extent, and a bound that is not over parameters.
pub fn parts(protocol: &Protocol, role: &Role, fixed: &Known) -> Result<Vec<Part>, Unsupported> {
    let mut all = vec![Part {
        name: role.name.clone(),
        size: Expr::Int(1),
        known: fixed.clone(),
        open: None,
    }];
    let mut open = None;
    for index in &role.indices {
        let name = &protocol.vars[index.var.0].name;
        match fold::fold(&index.extent, fixed) {
            Expr::Int(extent) if extent <= MAX_ENUMERATED => {
                let mut more = Vec::new();
                for part in &all {
                    for value in 0..extent {
                        let mut part = part.clone();
                        part.name.push_str(&format!("[{name} = {value}]"));
                        part.known.vars.insert(index.var, Expr::Int(value));
                        more.push(part);
                    }
                }
                all = more;
            }
            extent => {
                if open.replace((index.var, extent)).is_some() {
                    return Err(Unsupported::at(
                        role.span,
                        "a role with two indices whose extents are not numbers",
                    ));
                }
            }
        }
    }
    if all.len() > MAX_ENUMERATED as usize {
        return Err(Unsupported::at(
            role.span,
            "a role with too many members to tell apart",
        ));
    }
    let Some((var, extent)) = open else {
        return Ok(all);
    };
    let name = &protocol.vars[var.0].name;
    let mut more = Vec::new();
    for part in all {
        let mut literals = Vec::new();
        let mut symbolic = Vec::new();
        for bound in bounds(&role.body, var, &part.known)? {
            match bound {
                Expr::Int(value) if value <= 0 => {}
                Expr::Int(value) => literals.push(value),
                bound => symbolic.push(bound),
            }
        }
        literals.sort_unstable();
        literals.dedup();
        let mut bounds = vec![Expr::Int(0)];
        bounds.extend(literals.into_iter().map(Expr::Int));
        for bound in symbolic {
            if !bounds.contains(&bound) {
                bounds.push(bound);
            }
        }
        for nth in 0..bounds.len() {
            let upper = match bounds.get(exact::next(nth)) {
                Some(next) => Expr::binary(BinaryOp::Min, next.clone(), extent.clone()),
                None => extent.clone(),
            };
            let size = Expr::binary(BinaryOp::Sub, upper, bounds[nth].clone());
            let size = Expr::binary(BinaryOp::Max, size, Expr::Int(0));
            let mut part = part.clone();
            part.size = fold::fold(&size, fixed);
            if bounds.len() > 1 {
                let nth = nth.to_string();
                part.name.push_str(&format!("[{name} part {nth}]"));
            }
            part.open = Some(Open {
                var,
                bounds: bounds.clone(),
                nth,
            });
            more.push(part);
        }
    }
    Ok(more)
}

/// The bounds that a program compares an index with.
fn bounds(body: &[Stmt], var: VarId, known: &Known) -> Result<Vec<Expr>, Unsupported> {
    let mut found = Vec::new();
    for stmt in body {
        let mut exprs: Vec<&Expr> = Vec::new();
        match &stmt.kind {
            StmtKind::Wait { cell, value: e, .. }
            | StmtKind::Add { cell, amount: e }
            | StmtKind::Set { cell, value: e }
            | StmtKind::Arrive { cell, count: e }
            | StmtKind::WaitParity { cell, parity: e }
            | StmtKind::Sync { cell, count: e }
            | StmtKind::BarArrive { cell, count: e } => {
                exprs.extend(&cell.index);
                exprs.push(e);
            }
            StmtKind::ExpectTx { cell, bytes: e }
            | StmtKind::CompleteTx { cell, bytes: e }
            | StmtKind::Copy { cell, bytes: e, .. }
            | StmtKind::Acquire { cell, amount: e }
            | StmtKind::Release { cell, amount: e } => {
                exprs.extend(&cell.index);
                exprs.push(e);
            }
            StmtKind::Commit { cell }
            | StmtKind::Init { cell }
            | StmtKind::BarrierArrive { cell }
            | StmtKind::BarrierWait { cell } => exprs.extend(&cell.index),
            StmtKind::Assign { value, .. } => exprs.push(value),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                exprs.push(condition);
                found.extend(bounds(then, var, known)?);
                found.extend(bounds(otherwise, var, known)?);
            }
            StmtKind::For { over, body, .. } => {
                if let Iteration::Range { lo, hi, .. } = over {
                    exprs.extend([lo, hi]);
                }
                found.extend(bounds(body, var, known)?);
            }
            StmtKind::Atomic { .. } | StmtKind::WaitSwap { .. } => {
                return Err(Unsupported::at(stmt.span, ATOMIC));
            }
            StmtKind::Access { .. } | StmtKind::Return | StmtKind::Break => {}
        }
        for expr in exprs {
            let mut compared = Vec::new();
            collect(expr, var, &mut compared);
            for (op, bound) in compared {
                let bound = fold::fold(bound, known);
                if fold::mentions(&bound, &|_| true) || fold::counts(&bound) {
                    return Err(Unsupported::at(
                        stmt.span,
                        "an index compared with something other than parameters",
                    ));
                }
                let next = successor(&bound);
                match op {
                    BinaryOp::Lt | BinaryOp::Ge => found.push(bound),
                    BinaryOp::Le | BinaryOp::Gt => found.push(next),
                    _ => found.extend([bound, next]),
                }
            }
        }
    }
    Ok(found)
}

fn collect<'e>(expr: &'e Expr, var: VarId, found: &mut Vec<(BinaryOp, &'e Expr)>) {
    match expr {
        Expr::Binary(op, a, b) => {
            if let Some(compared) = comparison(var, *op, a, b) {
                found.push(compared);
            } else {
                collect(a, var, found);
                collect(b, var, found);
            }
        }
        Expr::Neg(e) | Expr::Not(e) => collect(e, var, found),
        Expr::If(c, a, b) => {
            collect(c, var, found);
            collect(a, var, found);
            collect(b, var, found);
        }
        _ => {}
    }
}
