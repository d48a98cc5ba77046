//! How a program uses an index of its members: only in comparisons with values over parameters, or in other ways.
//!
//! Members for which all comparisons have the same outcomes run the same program. The number of such members is computed
//! exactly.

use super::algebra;
use super::statements;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// How a role's program uses one of its indices.
#[derive(Default)]
pub(super) struct Uses {
    /// Comparisons `index op value`, the value over parameters.
    pub comparisons: Vec<Expr>,
    /// Whether it is used in any other way.
    pub otherwise: bool,
}

/// How a block uses an index.
pub(super) fn used(body: &[Stmt], var: VarId) -> Uses {
    let mut uses = Uses::default();
    uses.block(body, var);
    uses
}

impl Uses {
    pub fn any(&self) -> bool {
        self.otherwise || !self.comparisons.is_empty()
    }

    fn block(&mut self, body: &[Stmt], var: VarId) {
        for stmt in body {
            statements::visit_exprs(stmt, &mut |e| self.expr(e, var));
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    self.block(then, var);
                    self.block(otherwise, var);
                }
                StmtKind::For { body, .. } => self.block(body, var),
                _ => {}
            }
        }
    }

    pub fn expr(&mut self, expr: &Expr, var: VarId) {
        if !algebra::mentions(expr, var) {
            return;
        }
        if let Some(comparison) = comparison(expr, var) {
            if !self.comparisons.contains(&comparison) {
                self.comparisons.push(comparison);
            }
            return;
        }
        match expr {
            Expr::Not(e) => self.expr(e, var),
            Expr::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                self.expr(a, var);
                self.expr(b, var);
            }
            Expr::If(c, a, b) => {
                self.expr(c, var);
                self.expr(a, var);
                self.expr(b, var);
            }
            _ => self.otherwise = true,
        }
    }
}

/// The comparison with the index on its left, if the other side is over parameters.
fn comparison(expr: &Expr, var: VarId) -> Option<Expr> {
    use BinaryOp as B;
    let Expr::Binary(op, a, b) = expr else {
        return None;
    };
    let (op, value) = match (&**a, &**b) {
        (Expr::Var(v), value) if *v == var => (*op, value),
        (value, Expr::Var(v)) if *v == var => {
            let turned = match op {
                B::Lt => B::Gt,
                B::Le => B::Ge,
                B::Gt => B::Lt,
                B::Ge => B::Le,
                other => *other,
            };
            (turned, value)
        }
        _ => return None,
    };
    let order = matches!(op, B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge);
    (order && parameters_only(value)).then(|| Expr::binary(op, Expr::Var(var), value.clone()))
}

fn parameters_only(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Param(_) => true,
        Expr::Neg(e) => parameters_only(e),
        Expr::Binary(_, a, b) => parameters_only(a) && parameters_only(b),
        _ => false,
    }
}

/// How many values of `0..extent` satisfy a conjunction of comparisons and their negations.
pub(super) fn members(condition: &Expr, var: VarId, extent: &Expr) -> Option<Expr> {
    let mut equal = None;
    let mut unequal = Vec::new();
    let mut order = Vec::new();
    conjuncts(condition, &mut |c| match c {
        Expr::Binary(BinaryOp::Eq, _, b) => equal = Some((**b).clone()),
        Expr::Binary(BinaryOp::Ne, _, b) => unequal.push((**b).clone()),
        other => order.push(other.clone()),
    });
    let inside = Expr::all([
        Expr::binary(BinaryOp::Ge, Expr::Var(var), Expr::Int(0)),
        Expr::binary(BinaryOp::Lt, Expr::Var(var), extent.clone()),
    ]);
    if let Some(value) = equal {
        // One member at most: the one with this value, if it fits everything else.
        let all = algebra::at(&Expr::all([condition.clone(), inside]), var, &value);
        return Some(algebra::choose(all, Expr::Int(1), Expr::Int(0)));
    }
    let bounded = Expr::all(order.iter().cloned());
    let mut size = algebra::count(&bounded, var, &algebra::max(Expr::Int(0), extent.clone()))?;
    for (nth, value) in unequal.iter().enumerate() {
        // Taken out once, even if two comparisons name the same value.
        let new = unequal[..nth]
            .iter()
            .map(|earlier| algebra::binary(BinaryOp::Ne, value.clone(), earlier.clone()));
        let there = algebra::at(&Expr::all([inside.clone(), bounded.clone()]), var, value);
        let counts = Expr::all(new.chain([there]));
        size = algebra::sub(size, algebra::choose(counts, Expr::Int(1), Expr::Int(0)));
    }
    Some(size)
}

fn conjuncts(condition: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match condition {
        Expr::Bool(true) => {}
        Expr::Binary(BinaryOp::And, a, b) => {
            conjuncts(a, visit);
            conjuncts(b, visit);
        }
        Expr::Not(inner) => match &**inner {
            Expr::Binary(op, a, b) => {
                let op = match op {
                    BinaryOp::Eq => BinaryOp::Ne,
                    BinaryOp::Ne => BinaryOp::Eq,
                    BinaryOp::Lt => BinaryOp::Ge,
                    BinaryOp::Le => BinaryOp::Gt,
                    BinaryOp::Gt => BinaryOp::Le,
                    BinaryOp::Ge => BinaryOp::Lt,
                    other => *other,
                };
                visit(&Expr::Binary(op, a.clone(), b.clone()));
            }
            _ => visit(condition),
        },
        other => visit(other),
    }
}

pub(super) fn decide(expr: &Expr, outcomes: &[(Expr, bool)]) -> Expr {
    for (known, outcome) in outcomes {
        let Expr::Binary(_, own, _) = known else {
            continue;
        };
        let Expr::Var(var) = **own else { continue };
        if comparison(expr, var).as_ref() == Some(known) {
            return Expr::Bool(*outcome);
        }
    }
    let go = |e: &Expr| decide(e, outcomes);
    match expr {
        Expr::Neg(e) => Expr::Neg(Box::new(go(e))),
        Expr::Not(e) => algebra::not(go(e)),
        Expr::Binary(op, a, b) => algebra::binary(*op, go(a), go(b)),
        Expr::If(c, a, b) => algebra::choose(go(c), go(a), go(b)),
        other => other.clone(),
    }
}

pub(super) fn comparison_name(comparison: &Expr, holds: bool, name: &str) -> String {
    let Expr::Binary(op, _, b) = comparison else {
        return String::new();
    };
    use BinaryOp as B;
    let word = match (op, holds) {
        (B::Eq, true) | (B::Ne, false) => "=",
        (B::Eq, false) | (B::Ne, true) => "!=",
        (B::Lt, true) | (B::Ge, false) => "<",
        (B::Lt, false) | (B::Ge, true) => ">=",
        (B::Le, true) | (B::Gt, false) => "<=",
        _ => ">",
    };
    match &**b {
        Expr::Int(value) => format!("{name} {word} {value}"),
        _ => format!("{name} {word} ..."),
    }
}
