//! Loops. A short one of known length is written out; any other one counts its iterations from 0, and what
//! it changes has a closed form at their beginning.
//!
//! Two claims make the induction of a closed form: it holds when the loop begins, and an iteration takes it
//! to the next.

use super::Loop;
use super::Node;
use super::Path;
use super::builder::Builder;
use super::builder::Values;
use super::builder::returns;
use crate::certificate::cut::algebra;
use crate::certificate::cut::comparisons;
use crate::certificate::cut::domain::in_domain;
use crate::certificate::cut::domain::never_negative;
use crate::certificate::cut::lengths;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Stmt;
use crate::protocol::VarId;

/// Loops with no more iterations than this, a number, are written out, unless they carry variables
/// from one iteration to the next: those have closed forms that writing out would tear apart.
const MAX_WRITTEN_OUT: i64 = 8;

/// The most operations a class may have, and the most steps on data, where loops are written out.
const MAX_SITES: usize = 200;

impl Builder<'_> {
    #[expect(
        clippy::too_many_arguments,
        reason = "the pieces of one loop statement"
    )]
    pub(super) fn repeat(
        &mut self,
        stmt: &Stmt,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
        values: &mut Values,
        path: &Path,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Unsupported> {
        let entries;
        let over = match over {
            Iteration::Range { .. } => over,
            Iteration::Row { .. } => {
                entries = self.entries(stmt, (var, over, body), values, path)?;
                &entries
            }
        };
        let Iteration::Range { lo, hi, descending } = over else {
            return Err(Unsupported::at(stmt.span, "a loop over a pattern's row"));
        };
        let lo = self.evaluate(lo, values, path, stmt.span);
        let hi = self.evaluate(hi, values, path, stmt.span);
        let (lo, hi) = (in_domain(self.protocol, &lo), in_domain(self.protocol, &hi));
        if let (Expr::Int(lo), Expr::Int(hi)) = (&lo, &hi)
            && hi
                .checked_sub(*lo)
                .is_some_and(|count| count <= MAX_WRITTEN_OUT)
            && !self.assigned(body).iter().any(|v| values.contains_key(v))
        {
            let mut numbers: Vec<i64> = (*lo..*hi).collect();
            if *descending {
                numbers.reverse();
            }
            let outside = values.clone();
            for number in numbers {
                // What an iteration declares is gone after it.
                let mut inside = outside.clone();
                inside.insert(var, Expr::Int(number));
                nodes.extend(self.written_out(stmt, body, &mut inside, path)?);
            }
            return Ok(());
        }
        let length = algebra::sub(hi.clone(), lo.clone());
        let trips = if never_negative(self.protocol, &length) {
            length
        } else {
            algebra::max(Expr::Int(0), length)
        };
        let around: Vec<VarId> = path.loops.iter().map(|l| self.flow.loops[*l].var).collect();
        let trips = lengths::length(&trips, &around, self.any_length).unwrap_or(trips);
        let nth = self.fresh();
        let first = |value: Expr| {
            if *descending {
                algebra::sub(algebra::sub(hi.clone(), Expr::Int(1)), value)
            } else {
                algebra::add(lo.clone(), value)
            }
        };
        let position = self.flow.loops.len();
        self.flow.loops.push(Loop {
            var: nth,
            trips: trips.clone(),
            body: Vec::new(),
            outer: path.loops.clone(),
        });
        let mut inner = path.clone();
        inner.loops.push(position);
        let carried: Vec<VarId> = self
            .assigned(body)
            .into_iter()
            .filter(|v| values.contains_key(v))
            .collect();
        let mut head = values.clone();
        head.insert(var, first(Expr::Var(nth)));
        let forms = self.closed_forms(stmt, body, &carried, &head, nth, &inner)?;
        let mut inside = head;
        inside.extend(forms.iter().map(|(v, form)| (*v, form.clone())));
        let nodes_inside = self.block(body, &mut inside, &inner)?;
        let next = algebra::add(Expr::Var(nth), Expr::Int(1));
        for (v, form) in &forms {
            let name = self.name(*v).to_owned();
            let start = algebra::at(form, nth, &Expr::Int(0));
            let entry = algebra::binary(BinaryOp::Eq, start, values[v].clone());
            self.claim(
                path,
                entry,
                format!("`{name}` has its closed form when the loop begins"),
                stmt.span,
            );
            let after = algebra::at(form, nth, &next);
            let step = algebra::binary(BinaryOp::Eq, inside[v].clone(), after);
            self.claim(
                &inner,
                step,
                format!("an iteration takes `{name}` to its closed form for the next"),
                stmt.span,
            );
            values.insert(*v, algebra::at(form, nth, &trips));
        }
        self.flow.loops[position].body = nodes_inside;
        nodes.push(Node::Loop(position));
        Ok(())
    }

    /// A loop over a row as one that has as many iterations. Which entry an iteration is for may
    /// matter to data only.
    fn entries(
        &mut self,
        stmt: &Stmt,
        (var, over, body): (VarId, &Iteration, &[Stmt]),
        values: &Values,
        path: &Path,
    ) -> Result<Iteration, Unsupported> {
        let Iteration::Row { pattern, row, .. } = over else {
            return Ok(over.clone());
        };
        let declared = &self.protocol.patterns[pattern.0];
        let extent = declared.extents.last();
        let (Some(extent), false) = (extent, comparisons::used(body, var).any()) else {
            let what = "an entry of a row that synchronization depends on";
            return Err(Unsupported::at(stmt.span, what));
        };
        let counted = self.fresh();
        // Which row it is is asked whether or not it has entries.
        for e in row {
            self.evaluate(e, values, path, stmt.span);
        }
        let at = row.iter().cloned().chain([Expr::Var(counted)]);
        Ok(Iteration::Range {
            lo: Expr::Int(0),
            hi: Expr::Count {
                var: counted,
                lo: Box::new(Expr::Int(0)),
                hi: Box::new(extent.clone()),
                body: Box::new(Expr::Visits(*pattern, at.collect())),
            },
            descending: false,
        })
    }

    /// One iteration of a loop that is written out.
    fn written_out(
        &mut self,
        stmt: &Stmt,
        body: &[Stmt],
        values: &mut Values,
        path: &Path,
    ) -> Result<Vec<Node>, Unsupported> {
        if self.flow.sites.len() > MAX_SITES || self.flow.points.len() > MAX_SITES {
            return Err(Unsupported::at(stmt.span, "so many operations"));
        }
        if returns(body).is_some() {
            return Err(Unsupported::at(stmt.span, "a `return` inside a loop"));
        }
        self.block(body, values, path)
    }
}
