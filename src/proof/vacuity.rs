//! Finds statements that no run reaches, for any parameters.
//!
//! A proof about such statements says nothing. For example, if a branch for empty tiles is never taken, the model is
//! probably wrong. The check is for protocols without patterns whose members run alone.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::time::Duration;
use std::time::Instant;

use super::cut::copies::numbered;
use super::cut::points::draw;
use super::cut::splitting::split_in_order;
use super::cut::trace;
use crate::certificate::cut;
use crate::certificate::cut::View;
use crate::certificate::cut::artefact::Order;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::statements;
use crate::certificate::discharge;
use crate::certificate::discharge::Answer;
use crate::certificate::discharge::Solver;
use crate::deadline;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;

/// Time for one statement in one case.
const EACH: Duration = Duration::from_millis(500);

/// The most operations of a member in one sample.
const MAX_OPS: usize = 400;

/// One combination of the split parameters.
struct Part {
    fixed: Vec<(ParamId, i64)>,
    classes: Vec<Class>,
}

/// The synchronizing statements that are shown never to be reached, in text order. The result is
/// empty if the protocol is of another kind, or time runs out.
pub fn never_reached(protocol: &Protocol, limit: Duration) -> Vec<Span> {
    let deadline = deadline::after(limit);
    let mut open = BTreeMap::new();
    for role in &protocol.roles {
        synchronizing(&role.body, &mut open);
    }
    // Any order of copies will do here, if there is one at all.
    let orders = [None, Some(Order::Ascending)].into_iter();
    let found = orders.filter_map(|order| {
        let view = cut::View::new(protocol, order).ok()?;
        let split = split_in_order(protocol, order);
        let cases = cut::cases::combinations(protocol, &split).ok()?;
        let fixed = cut::cases::pairs(&split, cases.first()?);
        view.classes(&fixed).ok()?;
        Some((view, split, cases))
    });
    let Some((view, split, cases)) = { found }.next() else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    for values in cases {
        let fixed = cut::cases::pairs(&split, &values);
        let Ok([classes, _]) = view.classes(&fixed) else {
            return Vec::new();
        };
        let points = draw(protocol, &fixed);
        let points = match &view.ordered {
            Some(ordered) => numbered(ordered, points),
            None => points,
        };
        for params in points {
            for (at, op) in classes.iter().enumerate().flat_map(|(at, class)| {
                let there = has_members(&view, class, &params);
                let ops = there
                    .then(|| trace::trace(class, &params, MAX_OPS))
                    .flatten();
                ops.unwrap_or_default().into_iter().map(move |op| (at, op))
            }) {
                open.remove(&classes[at].flow.sites[op.site].stmt);
            }
        }
        parts.push(Part { fixed, classes });
        if open.is_empty() {
            return Vec::new();
        }
    }
    let reached: BTreeSet<StmtId> = open
        .keys()
        .filter(|stmt| {
            !parts
                .iter()
                .all(|part| part.excludes(&view, **stmt, deadline))
        })
        .copied()
        .collect();
    open.retain(|stmt, _| !reached.contains(stmt));
    open.into_values().collect()
}

/// Whether a class has members at these parameter values.
fn has_members(view: &View<'_>, class: &Class, params: &[i64]) -> bool {
    let value = |e: &Expr| trace::value(e, params, &HashMap::new()).unwrap_or(1);
    let copies = match &view.ordered {
        Some(ordered) if ordered.copied[class.role] => Some(&ordered.extent),
        _ => class.copies.as_ref(),
    };
    value(&class.size) >= 1 && copies.is_none_or(|copies| value(copies) >= 1)
}

impl Part {
    /// Whether it is shown that no member gets to a statement.
    fn excludes(&self, view: &View<'_>, stmt: StmtId, deadline: Instant) -> bool {
        self.classes.iter().enumerate().all(|(class, this)| {
            (0..this.flow.sites.len())
                .filter(|site| this.flow.sites[*site].stmt == stmt)
                .all(|site| {
                    let left = deadline.saturating_duration_since(Instant::now()).min(EACH);
                    cut::unreachable(view, &self.fixed, &self.classes, class, site).is_ok_and(
                        |obligation| {
                            discharge::discharge(&obligation, &Solver::BuiltIn, left)
                                == Answer::Discharged
                        },
                    )
                })
        })
    }
}

fn synchronizing(body: &[Stmt], into: &mut BTreeMap<StmtId, Span>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                synchronizing(then, into);
                synchronizing(otherwise, into);
            }
            StmtKind::For { body, .. } => synchronizing(body, into),
            _ if statements::cell_of(stmt).is_some() => {
                into.insert(stmt.id, stmt.span);
            }
            _ => {}
        }
    }
}
