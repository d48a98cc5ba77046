//! Branches that are taken where the input counts enough, for example `if length(tile) > 0 { B }`.
//!
//! Rules know loops whose length only the input knows, but no such branches. The branch is the same as
//! `for j in 0..min(1, n) { B }`, if `n` is a count, from 0 on, and the condition is that `n` is at least 1.
//!
//! Inside `B` there may be loops `for k in 0..n`. They need no branch around them, so
//! `if n > 0 { A for k in 0..n { C } D }` becomes `for j in 0..min(1, n) { A } for k in 0..n { C } for j in 0..min(1, n) { D }`.
//!
//! `B` neither changes what the condition looks at nor leaves a loop, so the condition is the same after each part of it. It is
//! evaluated more often than before, but only in iterations in which it was evaluated before, at the same values.
//!
//! A rule that knows branches, but not such loops, reads them back with [`once`].

use super::Loop;
use super::Rewriter;
use super::range;
use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Var;
use crate::protocol::VarId;

impl Rewriter<'_> {
    /// The loops that a branch is.
    pub(super) fn counted(&self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let StmtKind::If {
            condition,
            then,
            otherwise,
        } = &stmt.kind
        else {
            return None;
        };
        let amount = self.amount(condition)?;
        let changed = break_elimination::changed(then);
        if !otherwise.is_empty()
            || break_elimination::leaving(then).is_some()
            || changed.iter().any(|var| algebra::mentions(condition, *var))
        {
            return None;
        }
        let mut all: Vec<Stmt> = Vec::new();
        let mut part: Vec<Stmt> = Vec::new();
        for inner in then {
            let only_then = matches!(
                range(inner),
                Some(Loop { lo: Expr::Int(0), hi, .. }) if same(hi, &amount)
            );
            if only_then {
                all.extend(self.at_most_once(stmt, &amount, std::mem::take(&mut part)));
                all.push(inner.clone());
            } else {
                part.push(inner.clone());
            }
        }
        all.extend(self.at_most_once(stmt, &amount, part));
        Some(all)
    }

    /// What is at least 1 exactly where a condition holds, if that is a count.
    fn amount(&self, condition: &Expr) -> Option<Expr> {
        let Expr::Binary(op, a, b) = condition else {
            return None;
        };
        let amount = match (op, &**a, &**b) {
            (BinaryOp::Gt | BinaryOp::Ne, amount, Expr::Int(0))
            | (BinaryOp::Ge, amount, Expr::Int(1))
            | (BinaryOp::Lt | BinaryOp::Ne, Expr::Int(0), amount)
            | (BinaryOp::Le, Expr::Int(1), amount) => amount,
            _ => return None,
        };
        matches!(amount, Expr::Count { .. }).then(|| amount.clone())
    }

    /// A block that is executed once, if an amount is at least 1.
    fn at_most_once(&self, stmt: &Stmt, amount: &Expr, body: Vec<Stmt>) -> Option<Stmt> {
        if body.is_empty() {
            return None;
        }
        let mut vars = self.vars.borrow_mut();
        let var = VarId(vars.len());
        vars.push(Var {
            name: "once".to_owned(),
            span: stmt.span,
        });
        let over = Iteration::Range {
            lo: Expr::Int(0),
            hi: Expr::binary(BinaryOp::Min, Expr::Int(1), amount.clone()),
            descending: false,
        };
        Some(Stmt {
            kind: StmtKind::For { var, over, body },
            ..stmt.clone()
        })
    }
}

/// Whether two counts are the same but for the name that they count by.
fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (
            Expr::Count { var, lo, hi, body },
            Expr::Count {
                var: other,
                lo: from,
                hi: to,
                body: counted,
            },
        ) => lo == from && hi == to && algebra::at(body, *var, &Expr::Var(*other)) == **counted,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::super::normal;
    use super::*;
    use crate::text;

    /// Loops as `[..]`, branches as `{..}`, and anything else as a dot.
    fn shape(body: &[Stmt]) -> String {
        let of = |stmt: &Stmt| match &stmt.kind {
            StmtKind::For { body, .. } => format!("[{}]", shape(body)),
            StmtKind::If { then, .. } => format!("{{{}}}", shape(then)),
            _ => ".".to_owned(),
        };
        body.iter().map(of).collect()
    }

    fn shaped(program: &str) -> String {
        let text = format!(
            "protocol p param N in 0.. pattern rows[N, 9] let len(i) = count(m in 0..9 where rows[i, m])
            mbarrier b {{ arrivals: 1 }} role r {{ var x = 0 for i in 0..N {{ {program} }} }}"
        );
        let protocol = text::load(text.as_bytes()).unwrap_or_else(|f| panic!("{}", f[0].message));
        let once = normal(&protocol);
        assert_eq!(normal(&once), once, "{text}");
        shape(&once.roles[0].body)
    }

    #[test]
    fn branches_on_counts_are_loops_around_what_is_no_loop_of_that_length() {
        let whole = "if len(i) > 0 { x = 1 - x for k in 0..len(i) { arrive b } wait b x }";
        assert_eq!(shaped(whole), ".[[.][.][.]]");
        assert_eq!(shaped("if 1 <= len(i) { arrive b wait b 0 }"), ".[[..]]");
        assert_eq!(
            shaped("if len(i) != 0 { for k in 0..len(i) { arrive b } }"),
            ".[[.]]"
        );
        // Another length, another bound, another branch, and what the condition looks at.
        let other = "if len(i) > 0 { for k in 0..len(i + 1) { arrive b } }";
        assert_eq!(shaped(other), ".[[[.]]]");
        assert_eq!(shaped("if len(i) > 1 { arrive b }"), ".[{.}]");
        assert_eq!(
            shaped("if len(i) > 0 { arrive b } else { wait b 0 }"),
            ".[{.}]"
        );
        assert_eq!(shaped("if len(x) > 0 { x = 1 arrive b }"), ".[{..}]");
        assert_eq!(shaped("if len(i) > 0 { return }"), ".[{.}]");
    }
}
