//! Events of CTAs in an obligation: an arbitrary event, and the event that touches a given element.
//!
//! **Reading loop variables off an element.** Suppose that an index expression is one unknown variable plus or minus
//! a known term. Then the element determines the variable. If this variable contains the previous entry of a loop,
//! the loop variable is the entry after it. In the first iteration, the variable has another value; a separate
//! obligation excludes this iteration (`carried`). So per statement and CTA, at most one execution touches an
//! element.

use std::collections::HashSet;

use super::Frame;
use super::order;
use crate::certificate::program;
use crate::certificate::program::Bound;
use crate::certificate::program::Event;
use crate::certificate::program::EventKind;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::certificate::translate::Translator;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;
use crate::protocol::VarId;

/// An obligation under construction: its terms and its hypotheses.
pub(in crate::certificate) struct Setting<'p> {
    pub(in crate::certificate) terms: Translator<'p>,
    pub(in crate::certificate) facts: Vec<Term>,
    /// The positions of loop entries that occur: the loop variable, the context of the loop, the entry, and its
    /// position.
    pub(in crate::certificate) positions: Vec<(VarId, Vec<Term>, Term, Term)>,
}

/// One event of one CTA: the values of its loop variables, and the element that it touches.
pub(in crate::certificate) struct Occurrence {
    pub(in crate::certificate) env: Env,
    pub(in crate::certificate) element: Vec<Term>,
}

impl Frame<'_> {
    /// An arbitrary CTA of the grid.
    pub(in crate::certificate) fn member(
        &self,
        setting: &mut Setting<'_>,
        tag: &str,
    ) -> Result<Vec<Term>, Unsupported> {
        let mut values = Vec::new();
        for (at, index) in self.role.indices.iter().enumerate() {
            let value = setting.terms.constant(&format!("{tag}_{at}"));
            let extent = setting.terms.expr(&index.extent, &Env::new())?;
            setting
                .facts
                .push(term::within(&term::int(0), &value, &extent));
            values.push(value);
        }
        Ok(values)
    }

    pub(in crate::certificate) fn member_env(&self, member: &[Term]) -> Env {
        self.role
            .indices
            .iter()
            .map(|index| index.var)
            .zip(member.iter().cloned())
            .collect()
    }

    /// An arbitrary execution of an event by a CTA.
    pub(in crate::certificate) fn occurrence(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        member: &[Term],
        tag: &str,
    ) -> Result<Occurrence, Unsupported> {
        let env = self.arbitrary(setting, &event.bounds, member, tag)?;
        let condition = setting.terms.expr(&event.condition, &env)?;
        setting.facts.push(condition);
        let element = elements(setting, event, &env)?;
        Ok(Occurrence { env, element })
    }

    /// Arbitrary values for the loop variables among these names, and the resulting values of the other names.
    pub(in crate::certificate) fn arbitrary(
        &self,
        setting: &mut Setting<'_>,
        bounds: &[Bound],
        member: &[Term],
        tag: &str,
    ) -> Result<Env, Unsupported> {
        let mut env = self.member_env(member);
        for (at, bound) in bounds.iter().enumerate() {
            match bound {
                Bound::Loop(binder) => {
                    let value = setting
                        .terms
                        .constant(&format!("{tag}_loop_{}", binder.var.0));
                    env.insert(binder.var, value);
                    let fact = order::in_loop(setting, binder, &env)?;
                    setting.facts.push(fact);
                }
                carried => self.bind_carried(setting, bounds, at, carried, &mut env)?,
            }
        }
        Ok(env)
    }

    /// Assigns the value to a variable that a loop carries. The environment contains the earlier names already.
    fn bind_carried(
        &self,
        setting: &mut Setting<'_>,
        bounds: &[Bound],
        at: usize,
        bound: &Bound,
        env: &mut Env,
    ) -> Result<(), Unsupported> {
        let (var, value) = match bound {
            Bound::Loop(_) => return Ok(()),
            Bound::Previous { var, of, before } => {
                let before = setting.terms.expr(before, env)?;
                (*var, self.previous(setting, bounds, at, of, env, &before)?)
            }
            Bound::Last { var, of, before } => {
                let before = setting.terms.expr(before, env)?;
                (*var, self.last(setting, bounds, at, of, env, &before)?)
            }
        };
        env.insert(var, value);
        Ok(())
    }

    /// The only execution of an event by a CTA that touches the element: the values of its loop variables, and the
    /// condition under which it takes place. `None` if the element does not determine the loop variables.
    pub(in crate::certificate) fn located(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        member: &[Term],
        element: &[Term],
    ) -> Result<Option<(Env, Term)>, Unsupported> {
        let Some(found) = self.read_off(setting, event, member, element)? else {
            return Ok(None);
        };
        let mut env = self.member_env(member);
        let mut happens = Vec::new();
        for (at, bound) in event.bounds.iter().enumerate() {
            match bound {
                Bound::Loop(binder) => {
                    let Some(value) = found.get(&binder.var) else {
                        return Ok(None);
                    };
                    env.insert(binder.var, value.clone());
                    happens.push(order::in_loop(setting, binder, &env)?);
                }
                carried => self.bind_carried(setting, &event.bounds, at, carried, &mut env)?,
            }
        }
        happens.push(setting.terms.expr(&event.condition, &env)?);
        for (wanted, reached) in element.iter().zip(elements(setting, event, &env)?) {
            happens.push(term::eq(wanted, &reached));
        }
        Ok(Some((env, term::and(happens))))
    }

    /// The execution of an event with these values of the indices and the loop variables, and the condition under
    /// which it takes place. `None` if the number of values is wrong.
    pub(in crate::certificate) fn executed(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        values: &[Term],
    ) -> Result<Option<(Env, Term)>, Unsupported> {
        let mut values = values.iter();
        let (mut env, mut happens) = (Env::new(), Vec::new());
        for index in &self.role.indices {
            let Some(value) = values.next() else {
                return Ok(None);
            };
            let extent = setting.terms.expr(&index.extent, &Env::new())?;
            happens.push(term::within(&term::int(0), value, &extent));
            env.insert(index.var, value.clone());
        }
        for bound in &event.bounds {
            let (Bound::Loop(binder), Some(value)) = (bound, values.next()) else {
                return Ok(None);
            };
            env.insert(binder.var, value.clone());
            happens.push(order::in_loop(setting, binder, &env)?);
        }
        happens.push(setting.terms.expr(&event.condition, &env)?);
        Ok(values.next().is_none().then(|| (env, term::and(happens))))
    }

    /// Solves the index expressions of an event for its loop variables.
    fn read_off(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        member: &[Term],
        element: &[Term],
    ) -> Result<Option<Env>, Unsupported> {
        let mut env = self.member_env(member);
        let mut open: Vec<VarId> = event.bounds.iter().map(bound_var).collect();
        let loops: Vec<VarId> = event
            .bounds
            .iter()
            .filter_map(|bound| match bound {
                Bound::Loop(binder) => Some(binder.var),
                _ => None,
            })
            .collect();
        while loops.iter().any(|var| !env.contains_key(var)) {
            let mut found = None;
            for (at, index) in event.cell.index.iter().enumerate() {
                let mut used = HashSet::new();
                program::free_vars(index, &mut used);
                let unknown: Vec<VarId> = used.into_iter().filter(|v| open.contains(v)).collect();
                let [var] = unknown.as_slice() else { continue };
                let Some((sign, rest)) = linear(index, *var) else {
                    continue;
                };
                let rest = setting.terms.expr(&rest, &env)?;
                let value = match sign {
                    1 => term::sub(&element[at], &rest),
                    -1 => term::sub(&rest, &element[at]),
                    _ => continue,
                };
                found = Some((*var, value));
                break;
            }
            let Some((var, value)) = found else {
                return Ok(None);
            };
            open.retain(|v| *v != var);
            if loops.contains(&var) {
                env.insert(var, value);
                continue;
            }
            // The element names a carried variable. The loop variable is the entry after its value.
            let carried =
                event
                    .bounds
                    .iter()
                    .enumerate()
                    .rev()
                    .find_map(|(at, bound)| match bound {
                        Bound::Previous { var: v, of, .. } if *v == var => Some((at, of)),
                        _ => None,
                    });
            let Some((at, of)) = carried else {
                return Ok(None);
            };
            let Some(after) = self.after(setting, &event.bounds, at, of, &env, &value)? else {
                return Ok(None);
            };
            env.insert(var, value);
            env.insert(of.var, after);
            open.retain(|v| *v != of.var);
        }
        Ok(Some(env))
    }

    /// Like [`Self::located`] for an addition. For an addition, it is a side condition of the rule that the element
    /// determines the loop variables.
    pub(in crate::certificate) fn located_add(
        &self,
        setting: &mut Setting<'_>,
        add: &Event,
        member: &[Term],
        element: &[Term],
    ) -> Result<(Env, Term), Unsupported> {
        self.located(setting, add, member, element)?.ok_or_else(|| {
            Unsupported::at(
                add.span,
                "an addition whose loop variables cannot be read off the element it touches",
            )
        })
    }

    /// The initial value of an element, as a wait sees it.
    pub(in crate::certificate) fn initial(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let object = &self.protocol.objects[wait.cell.object.0];
        match &object.kind {
            ObjectKind::Semaphore(Initial::Value(value)) => setting.terms.expr(value, &Env::new()),
            ObjectKind::Semaphore(Initial::Any) => {
                let value = term::apply(&format!("initial_{}", object.name), element);
                setting.facts.push(term::le(&term::int(0), &value));
                Ok(value)
            }
            _ => Err(Unsupported::at(
                object.span,
                "an object that is not a semaphore",
            )),
        }
    }

    /// The sum of all additions of a CTA to an element in a whole run.
    pub(in crate::certificate) fn additions(
        &self,
        setting: &mut Setting<'_>,
        adds: &[&Event],
        member: &[Term],
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let mut parts = Vec::new();
        for add in adds {
            let (env, happens) = self.located_add(setting, add, member, element)?;
            let amount = amount(setting, add, &env)?;
            parts.push(term::ite(&happens, &amount, &term::int(0)));
        }
        Ok(term::sum(parts))
    }
}

fn bound_var(bound: &Bound) -> VarId {
    match bound {
        Bound::Loop(binder) => binder.var,
        Bound::Previous { var, .. } | Bound::Last { var, .. } => *var,
    }
}

pub(in crate::certificate) fn elements(
    setting: &mut Setting<'_>,
    event: &Event,
    env: &Env,
) -> Result<Vec<Term>, Unsupported> {
    event
        .cell
        .index
        .iter()
        .map(|e| setting.terms.expr(e, env))
        .collect()
}

pub(in crate::certificate) fn amount(
    setting: &mut Setting<'_>,
    add: &Event,
    env: &Env,
) -> Result<Term, Unsupported> {
    match &add.kind {
        EventKind::Add { amount } => setting.terms.expr(amount, env),
        EventKind::Wait { .. } | EventKind::Set { .. } => Err(Unsupported::at(
            add.span,
            "another operation where an addition belongs",
        )),
    }
}

pub(in crate::certificate) fn wait_value(
    setting: &mut Setting<'_>,
    wait: &Event,
    env: &Env,
) -> Result<Term, Unsupported> {
    match &wait.kind {
        EventKind::Wait { value, .. } => setting.terms.expr(value, env),
        EventKind::Add { .. } | EventKind::Set { .. } => Err(Unsupported::at(
            wait.span,
            "another operation where a wait belongs",
        )),
    }
}

pub(in crate::certificate) fn same_element(a: &Occurrence, b: &Occurrence) -> Term {
    term::and(
        a.element
            .iter()
            .zip(&b.element)
            .map(|(a, b)| term::eq(a, b)),
    )
}

/// Writes an expression as `sign * var + rest`, with a `rest` that does not mention `var`.
fn linear(expr: &Expr, var: VarId) -> Option<(i64, Expr)> {
    let mut used = HashSet::new();
    program::free_vars(expr, &mut used);
    if !used.contains(&var) {
        return Some((0, expr.clone()));
    }
    match expr {
        Expr::Var(_) => Some((1, Expr::Int(0))),
        Expr::Neg(e) => {
            let (sign, rest) = linear(e, var)?;
            Some((sign.checked_neg()?, Expr::Neg(Box::new(rest))))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (left, left_rest) = linear(a, var)?;
            let (right, right_rest) = linear(b, var)?;
            let sign = if *op == BinaryOp::Add {
                left.checked_add(right)?
            } else {
                left.checked_sub(right)?
            };
            Some((sign, Expr::binary(*op, left_rest, right_rest)))
        }
        _ => None,
    }
}
