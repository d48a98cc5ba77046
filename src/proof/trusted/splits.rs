//! Splits roles into classes.

use std::collections::BTreeSet;

use itertools::Itertools;

use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::trusted::certificate::Split;
use crate::trusted::system::System;

/// The most values of an index that is split into single values.
const MAX_APART: i64 = 8;

/// Indices with few values are split into single values, and others at the numbers that they are
/// compared with. If another role names the same elements by its index, that index is split in the
/// same way.
pub fn splits(protocol: &Protocol) -> Vec<Split> {
    let mut all: Vec<(Split, BTreeSet<(usize, usize)>)> = Vec::new();
    for (position, role) in protocol.roles.iter().enumerate() {
        for (at_index, index) in role.indices.iter().enumerate() {
            let mut uses = Uses {
                var: index.var,
                used: false,
                numbers: BTreeSet::new(),
                places: BTreeSet::new(),
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
            let split = Split {
                role: position,
                index: at_index,
                at,
            };
            all.push((split, uses.places));
        }
    }
    // Each round passes splits on to the indices that name the same elements.
    for _ in 0..all.len() {
        for (one, other) in (0..all.len()).cartesian_product(0..all.len()) {
            if !all[one].1.is_disjoint(&all[other].1) {
                let both: BTreeSet<i64> = all[one]
                    .0
                    .at
                    .iter()
                    .chain(&all[other].0.at)
                    .copied()
                    .collect();
                all[one].0.at = both.into_iter().collect();
            }
        }
    }
    let splits = all.into_iter().map(|(split, _)| split);
    splits.filter(|split| !split.at.is_empty()).collect()
}

/// Whether some class uses a group that is named by anything other than a number or an unchanged index of its role.
pub fn neighbours(system: &System<'_>) -> bool {
    let own = system.rings.iter().flat_map(|ring| ring.own.values());
    let mut own = own.flatten();
    own.any(|own| !matches!(own.value, Expr::Int(_) | Expr::Var(_)))
}

/// How a program uses an index.
struct Uses {
    var: VarId,
    used: bool,
    /// The numbers at which comparisons distinguish values.
    numbers: BTreeSet<i64>,
    /// Objects, and the positions among their indices at which the index stands alone.
    places: BTreeSet<(usize, usize)>,
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
                        for (at, index) in cell.index.iter().enumerate() {
                            self.expr(index);
                            if *index == Expr::Var(self.var) {
                                self.places.insert((cell.object.0, at));
                            }
                        }
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
