//! How roles are taken apart into classes.

use std::collections::BTreeSet;

use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::trusted::certificate::Split;

/// An index with no more values than this is taken apart.
const MAX_APART: i64 = 8;

/// Indices with few values are taken apart, others where they are compared with numbers.
pub fn splits(protocol: &Protocol) -> Vec<Split> {
    let mut all = Vec::new();
    for (position, role) in protocol.roles.iter().enumerate() {
        for (at_index, index) in role.indices.iter().enumerate() {
            let mut uses = Uses {
                var: index.var,
                used: false,
                numbers: BTreeSet::new(),
            };
            uses.block(&role.body);
            if !uses.used {
                continue;
            }
            let at: Vec<i64> = match index.extent {
                Expr::Int(extent) if extent <= MAX_APART => (1..extent).collect(),
                _ => {
                    let numbers = uses.numbers.into_iter();
                    numbers
                        .filter(|number| (1..=MAX_APART).contains(number))
                        .collect()
                }
            };
            if !at.is_empty() {
                all.push(Split {
                    role: position,
                    index: at_index,
                    at,
                });
            }
        }
    }
    all
}

/// How a program uses an index.
struct Uses {
    var: VarId,
    used: bool,
    /// Where what it is compared with tells values apart.
    numbers: BTreeSet<i64>,
}

impl Uses {
    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    self.expr(condition);
                    self.block(then);
                    self.block(otherwise);
                }
                StmtKind::For { over, body, .. } => {
                    if let Iteration::Range { lo, hi, .. } = over {
                        self.expr(lo);
                        self.expr(hi);
                    }
                    self.block(body);
                }
                StmtKind::Assign { value, .. } => self.expr(value),
                kind => {
                    if let Some(cell) = kind.cell() {
                        cell.index.iter().for_each(|index| self.expr(index));
                    }
                    if let StmtKind::Wait { value: e, .. }
                    | StmtKind::Add { amount: e, .. }
                    | StmtKind::Arrive { count: e, .. }
                    | StmtKind::WaitParity { parity: e, .. }
                    | StmtKind::Sync { count: e, .. }
                    | StmtKind::BarArrive { count: e, .. } = kind
                    {
                        self.expr(e);
                    }
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Var(var) => self.used |= *var == self.var,
            Expr::Neg(e) | Expr::Not(e) => self.expr(e),
            Expr::Binary(op, a, b) => {
                if let (Expr::Var(var), Expr::Int(number)) = (&**a, &**b)
                    && *var == self.var
                {
                    let next = number.saturating_add(1);
                    match op {
                        BinaryOp::Eq | BinaryOp::Ne => self.numbers.extend([*number, next]),
                        BinaryOp::Lt | BinaryOp::Ge => self.numbers.extend([*number]),
                        BinaryOp::Le | BinaryOp::Gt => self.numbers.extend([next]),
                        _ => {}
                    }
                }
                self.expr(a);
                self.expr(b);
            }
            Expr::If(c, a, b) => {
                self.expr(c);
                self.expr(a);
                self.expr(b);
            }
            _ => {}
        }
    }
}
