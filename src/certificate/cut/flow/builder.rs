//! Executes the statements of a role symbolically. Keeps the value of each local variable, writes every expression over
//! parameters and iteration numbers, and lists every expression that is evaluated.

use std::collections::BTreeSet;
use std::collections::HashMap;

use super::Claim;
use super::Flow;
use super::Node;
use super::Path;
use super::at_fixed;
use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
use crate::certificate::cut::domain::in_domain;
use crate::certificate::cut::owned_semaphores::OwnedSemaphores;
use crate::certificate::cut::split_phase;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// What the local variables are, over parameters and iteration numbers.
pub(super) type Values = HashMap<VarId, Expr>;

/// A program in the making.
pub(super) struct Builder<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) fixed: &'a [(ParamId, i64)],
    pub(super) own: &'a OwnedSemaphores,
    pub(super) any_length: bool,
    /// The index that numbers copies.
    pub(super) number: Option<VarId>,
    pub(super) next: usize,
    pub(super) flow: Flow,
}

impl Builder<'_> {
    pub(super) fn fresh(&mut self) -> VarId {
        let fresh = VarId(self.next);
        self.next = exact::next(self.next);
        fresh
    }

    pub(super) fn expr(&self, expr: &Expr, values: &Values) -> Expr {
        let replaced = algebra::substitute(expr, values);
        at_fixed(&replaced, self.fixed)
    }

    pub(super) fn evaluate(
        &mut self,
        expr: &Expr,
        values: &Values,
        path: &Path,
        span: Span,
    ) -> Expr {
        let value = self.expr(expr, values);
        self.flow.evaluations.push(Claim {
            path: path.clone(),
            expr: self.whole(expr, values),
            about: "an expression".to_owned(),
            span,
        });
        value
    }

    /// An expression with nothing folded: folding may drop an operand that is undefined.
    pub(super) fn whole(&self, expr: &Expr, values: &Values) -> Expr {
        algebra::replace(expr, &|v| values.get(&v).cloned(), &|id| {
            let known = self.fixed.iter().find(|(known, _)| *known == id)?;
            Some(Expr::Int(known.1))
        })
    }

    pub(super) fn claim(&mut self, path: &Path, expr: Expr, about: String, span: Span) {
        if expr != Expr::Bool(true) {
            self.flow.claims.push(Claim {
                path: path.clone(),
                expr,
                about,
                span,
            });
        }
    }

    pub(super) fn block(
        &mut self,
        body: &[Stmt],
        values: &mut Values,
        path: &Path,
    ) -> Result<Vec<Node>, Unsupported> {
        let mut nodes = Vec::new();
        for (nth, stmt) in body.iter().enumerate() {
            Unsupported::unless_in_time()?;
            if let Some(mut rest) = break_elimination::unfolded(stmt)? {
                rest.extend(body.iter().skip(nth).skip(1).cloned());
                nodes.extend(self.block(&rest, values, path)?);
                break;
            }
            if let Some(moved) = split_phase::moved(&body[nth..]) {
                let mut rest = moved.to_vec();
                rest.extend(body.iter().skip(nth).skip(2).cloned());
                nodes.extend(self.block(&rest, values, path)?);
                break;
            }
            match &stmt.kind {
                StmtKind::Return if path.loops.is_empty() => break,
                StmtKind::Return => {
                    return Err(Unsupported::at(stmt.span, "a `return` inside a loop"));
                }
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    let leaves = |block: &[Stmt]| {
                        matches!(block.last().map(|s| &s.kind), Some(StmtKind::Return))
                    };
                    let rest = &body[exact::next(nth)..];
                    let (mut then, mut otherwise) = (then.clone(), otherwise.clone());
                    let early = leaves(&then) || leaves(&otherwise);
                    let deeper = [&then, &otherwise].into_iter().find_map(|b| returns(b));
                    if let (false, false, Some(span)) = (early, rest.is_empty(), deeper) {
                        // What follows would have to be told apart by the inner branch.
                        return Err(Unsupported::at(span, "a `return` two branches deep"));
                    }
                    if early {
                        // What follows runs only on the branch that does not leave.
                        for block in [&mut then, &mut otherwise] {
                            if !leaves(block) {
                                block.extend(rest.iter().cloned());
                            }
                        }
                    }
                    nodes.push(self.branch(stmt, condition, &then, &otherwise, values, path)?);
                    if early {
                        break;
                    }
                }
                _ => self.stmt(stmt, values, path, &mut nodes)?,
            }
        }
        Ok(nodes)
    }

    fn branch(
        &mut self,
        stmt: &Stmt,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        values: &mut Values,
        path: &Path,
    ) -> Result<Node, Unsupported> {
        let condition = self.evaluate(condition, values, path, stmt.span);
        let condition = in_domain(self.protocol, &condition);
        let side = |holds: Expr| {
            let mut inner = path.clone();
            if holds != Expr::Bool(true) {
                inner.conditions.push(holds);
            }
            inner
        };
        let mut left = values.clone();
        let mut right = values.clone();
        // A branch that is never taken may hold what does not fit, such as an index out of range.
        let then = match condition {
            Expr::Bool(false) => Vec::new(),
            _ => self.block(then, &mut left, &side(condition.clone()))?,
        };
        let otherwise = match condition {
            Expr::Bool(true) => Vec::new(),
            _ => self.block(
                otherwise,
                &mut right,
                &side(algebra::not(condition.clone())),
            )?,
        };
        for (var, value) in values.iter_mut() {
            let (a, b) = (left[var].clone(), right[var].clone());
            *value = algebra::choose(condition.clone(), a, b);
        }
        Ok(Node::If {
            condition,
            then,
            otherwise,
        })
    }

    fn stmt(
        &mut self,
        stmt: &Stmt,
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Unsupported> {
        match &stmt.kind {
            StmtKind::Access { verb, work, .. } => {
                self.work(stmt, verb, work, values, path, nodes);
            }
            StmtKind::Assign { var, value } => {
                let value = self.evaluate(value, values, path, stmt.span);
                values.insert(*var, value);
            }
            StmtKind::For { var, over, body } => {
                self.repeat(stmt, *var, over, body, values, path, nodes)?;
            }
            StmtKind::Break => return Err(Unsupported::at(stmt.span, "`break`")),
            // `block` has taken these.
            StmtKind::Return | StmtKind::If { .. } => {}
            _ => self.operation(stmt, values, path, nodes)?,
        }
        Ok(())
    }

    /// The name of a variable of the text, or of the object that it stands for.
    pub(super) fn name(&self, var: VarId) -> &str {
        match self.own.object(var) {
            Some(object) => &self.protocol.objects[object.0].name,
            None => &self.protocol.vars[var.0].name,
        }
    }

    /// The variables a block assigns to, in a fixed order.
    pub(super) fn assigned(&self, body: &[Stmt]) -> BTreeSet<VarId> {
        let mut all = BTreeSet::new();
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign { var, .. } => {
                    all.insert(*var);
                }
                StmtKind::Add { cell, .. } | StmtKind::Set { cell, .. } => {
                    all.extend(self.own.var(cell.object));
                }
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    all.extend(self.assigned(then));
                    all.extend(self.assigned(otherwise));
                }
                StmtKind::For { body, .. } => all.extend(self.assigned(body)),
                _ => {}
            }
        }
        all
    }
}

/// The first `return` anywhere in a block.
pub(super) fn returns(body: &[Stmt]) -> Option<Span> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Return => Some(stmt.span),
        StmtKind::If {
            then, otherwise, ..
        } => returns(then).or_else(|| returns(otherwise)),
        StmtKind::For { body, .. } => returns(body),
        _ => None,
    })
}
