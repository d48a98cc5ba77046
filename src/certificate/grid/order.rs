//! The order in which a CTA runs through a loop, and program order between its events.
//!
//! A run of a loop is a bijection between its entries and the positions `0..length`. For a range, this bijection has
//! a closed form. For a row, three uninterpreted functions of the loop's context (the CTA and the enclosing loop
//! variables) describe it: `position(entry)`, `entry(position)` and `length`. The following facts are added for the
//! terms that occur. An entry of the loop has a position in range, and `entry` maps this position back to it. A
//! position in range has an entry, and `position` maps this entry back to it. In an ascending or descending loop,
//! positions are monotone. Such functions exist for every finite row in every order. So no real counterexample is
//! lost.

use super::Frame;
use super::events::Setting;
use crate::certificate::program::Binder;
use crate::certificate::program::Bound;
use crate::certificate::program::Direction;
use crate::certificate::program::Event;
use crate::certificate::program::Place;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Iteration;
use crate::protocol::RowOrder;

impl Frame<'_> {
    /// The context of a loop: the CTA and the loop variables around it. `None` if one of them has no value yet.
    fn context(&self, bounds: &[Bound], of: &Binder, at: usize, env: &Env) -> Option<Vec<Term>> {
        let outer = bounds[..at].iter().filter_map(|bound| match bound {
            Bound::Loop(binder) if binder.var != of.var => Some(binder.var),
            _ => None,
        });
        let members = self.role.indices.iter().map(|index| index.var);
        members
            .chain(outer)
            .map(|var| env.get(&var).cloned())
            .collect()
    }

    fn needed_context(
        &self,
        bounds: &[Bound],
        of: &Binder,
        at: usize,
        env: &Env,
    ) -> Result<Vec<Term>, Unsupported> {
        self.context(bounds, of, at, env)
            .ok_or_else(|| Unsupported::whole("a loop whose context is not known"))
    }

    /// The entry before the current one, or `before` in the first iteration.
    pub(in crate::certificate) fn previous(
        &self,
        setting: &mut Setting<'_>,
        bounds: &[Bound],
        at: usize,
        of: &Binder,
        env: &Env,
        before: &Term,
    ) -> Result<Term, Unsupported> {
        let context = self.needed_context(bounds, of, at, env)?;
        let Some(current) = env.get(&of.var).cloned() else {
            return Err(Unsupported::whole("a loop variable without a value"));
        };
        let here = position(setting, of, &context, env, &current)?;
        let earlier = entry(setting, of, &context, env, &term::sub(&here, &term::int(1)))?;
        Ok(term::ite(&term::lt(&term::int(0), &here), &earlier, before))
    }

    /// The last entry of a loop, or `before` if it did not run.
    pub(in crate::certificate) fn last(
        &self,
        setting: &mut Setting<'_>,
        bounds: &[Bound],
        at: usize,
        of: &Binder,
        env: &Env,
        before: &Term,
    ) -> Result<Term, Unsupported> {
        let context = self.needed_context(bounds, of, at, env)?;
        let length = length(setting, of, &context, env)?;
        let last = entry(
            setting,
            of,
            &context,
            env,
            &term::sub(&length, &term::int(1)),
        )?;
        Ok(term::ite(&term::lt(&term::int(0), &length), &last, before))
    }

    /// The entry after the given one. `None` if the loop's context is not known yet.
    pub(in crate::certificate) fn after(
        &self,
        setting: &mut Setting<'_>,
        bounds: &[Bound],
        at: usize,
        of: &Binder,
        env: &Env,
        given: &Term,
    ) -> Result<Option<Term>, Unsupported> {
        let Some(context) = self.context(bounds, of, at, env) else {
            return Ok(None);
        };
        let here = position(setting, of, &context, env, given)?;
        let next = term::sum([here, term::int(1)]);
        Ok(Some(entry(setting, of, &context, env, &next)?))
    }

    /// Whether the current iteration of a loop is not its first.
    pub(in crate::certificate) fn past_first(
        &self,
        setting: &mut Setting<'_>,
        bounds: &[Bound],
        at: usize,
        of: &Binder,
        env: &Env,
    ) -> Result<Term, Unsupported> {
        let context = self.needed_context(bounds, of, at, env)?;
        let Some(current) = env.get(&of.var).cloned() else {
            return Err(Unsupported::whole("a loop variable without a value"));
        };
        let here = position(setting, of, &context, env, &current)?;
        Ok(term::lt(&term::int(0), &here))
    }

    /// A term that implies program order between two events of one CTA; `false` if this order is not certain.
    pub(in crate::certificate) fn precedes(
        &self,
        setting: &mut Setting<'_>,
        (a, a_env): (&Event, &Env),
        (b, b_env): (&Event, &Env),
    ) -> Result<Term, Unsupported> {
        let mut alternatives = Vec::new();
        let mut so_far = Vec::new();
        for (x, y) in a.place.iter().zip(&b.place) {
            match (x, y) {
                (Place::Nth(x), Place::Nth(y)) if x == y => {}
                (Place::Nth(x), Place::Nth(y)) => {
                    so_far.push(term::boolean(x < y));
                    alternatives.push(term::and(so_far));
                    return Ok(term::or(alternatives));
                }
                (Place::Loop(var, direction), Place::Loop(other, _)) if var == other => {
                    let (Some(x), Some(y)) = (a_env.get(var).cloned(), b_env.get(var).cloned())
                    else {
                        return Ok(term::or(alternatives));
                    };
                    let first = match direction {
                        Direction::Up => term::lt(&x, &y),
                        Direction::Down => term::lt(&y, &x),
                        Direction::Open => {
                            let place =
                                a.bounds
                                    .iter()
                                    .enumerate()
                                    .find_map(|(at, bound)| match bound {
                                        Bound::Loop(binder) if binder.var == *var => {
                                            Some((at, binder))
                                        }
                                        _ => None,
                                    });
                            let Some((at, of)) = place else {
                                return Ok(term::or(alternatives));
                            };
                            let context = self.needed_context(&a.bounds, of, at, a_env)?;
                            let x = position(setting, of, &context, a_env, &x)?;
                            let y = position(setting, of, &context, a_env, &y)?;
                            term::lt(&x, &y)
                        }
                    };
                    alternatives.push(term::and(so_far.iter().cloned().chain([first])));
                    so_far.push(term::eq(&x, &y));
                }
                _ => return Ok(term::or(alternatives)),
            }
        }
        Ok(term::or(alternatives))
    }
}

/// The condition that the loop variable is among the values that the loop runs over.
pub(in crate::certificate) fn in_loop(
    setting: &mut Setting<'_>,
    binder: &Binder,
    env: &Env,
) -> Result<Term, Unsupported> {
    let Some(value) = env.get(&binder.var).cloned() else {
        return Err(Unsupported::whole("a loop variable without a value"));
    };
    match &binder.over {
        Iteration::Range { lo, hi, .. } => {
            let (lo, hi) = (setting.terms.expr(lo, env)?, setting.terms.expr(hi, env)?);
            Ok(term::within(&lo, &value, &hi))
        }
        Iteration::Row { pattern, row, .. } => {
            let mut at = row
                .iter()
                .map(|e| setting.terms.expr(e, env))
                .collect::<Result<Vec<_>, _>>()?;
            at.push(value);
            setting.terms.visits(*pattern, &at)
        }
    }
}

/// The same for a given value of the loop variable.
fn in_loop_at(
    setting: &mut Setting<'_>,
    of: &Binder,
    env: &Env,
    value: &Term,
) -> Result<Term, Unsupported> {
    let mut env = env.clone();
    env.insert(of.var, value.clone());
    in_loop(setting, of, &env)
}

/// The bounds of a range loop, and whether it runs downward.
fn range(
    setting: &mut Setting<'_>,
    of: &Binder,
    env: &Env,
) -> Result<Option<(Term, Term, bool)>, Unsupported> {
    match &of.over {
        Iteration::Range { lo, hi, descending } => Ok(Some((
            setting.terms.expr(lo, env)?,
            setting.terms.expr(hi, env)?,
            *descending,
        ))),
        Iteration::Row { .. } => Ok(None),
    }
}

/// The number of iterations.
fn length(
    setting: &mut Setting<'_>,
    of: &Binder,
    context: &[Term],
    env: &Env,
) -> Result<Term, Unsupported> {
    if let Some((lo, hi, _)) = range(setting, of, env)? {
        return Ok(term::ite(
            &term::lt(&lo, &hi),
            &term::sub(&hi, &lo),
            &term::int(0),
        ));
    }
    Ok(setting
        .terms
        .function(&format!("length_{}", of.var.0), context))
}

/// The position of an entry.
fn position(
    setting: &mut Setting<'_>,
    of: &Binder,
    context: &[Term],
    env: &Env,
    at: &Term,
) -> Result<Term, Unsupported> {
    if let Some((lo, hi, descending)) = range(setting, of, env)? {
        return Ok(if descending {
            term::sub(&term::sub(&hi, &term::int(1)), at)
        } else {
            term::sub(at, &lo)
        });
    }
    let known = setting
        .positions
        .iter()
        .find(|(var, c, x, _)| *var == of.var && c == context && x == at);
    if let Some((_, _, _, here)) = known {
        return Ok(here.clone());
    }
    let here = position_term(setting, of, context, at);
    let length = length(setting, of, context, env)?;
    let present = in_loop_at(setting, of, env, at)?;
    let back = entry_term(setting, of, context, &here);
    setting.facts.push(term::or([
        term::not(present.clone()),
        term::and([
            term::within(&term::int(0), &here, &length),
            term::eq(&back, at),
        ]),
    ]));
    let Iteration::Row { order, .. } = &of.over else {
        return Ok(here);
    };
    let earlier = setting.positions.clone();
    for (_, _, x, there) in earlier
        .iter()
        .filter(|(var, c, _, _)| *var == of.var && c == context)
    {
        let monotone = match order {
            RowOrder::Given | RowOrder::Any => continue,
            RowOrder::Ascending => term::eq(&term::lt(x, at), &term::lt(there, &here)),
            RowOrder::Descending => term::eq(&term::lt(at, x), &term::lt(there, &here)),
        };
        let other = in_loop_at(setting, of, env, x)?;
        setting.facts.push(term::or([
            term::not(present.clone()),
            term::not(other),
            monotone,
        ]));
    }
    setting
        .positions
        .push((of.var, context.to_vec(), at.clone(), here.clone()));
    Ok(here)
}

/// The entry at a position.
fn entry(
    setting: &mut Setting<'_>,
    of: &Binder,
    context: &[Term],
    env: &Env,
    at: &Term,
) -> Result<Term, Unsupported> {
    if let Some((lo, hi, descending)) = range(setting, of, env)? {
        return Ok(if descending {
            term::sub(&term::sub(&hi, &term::int(1)), at)
        } else {
            term::sum([lo, at.clone()])
        });
    }
    let there = entry_term(setting, of, context, at);
    let length = length(setting, of, context, env)?;
    let present = in_loop_at(setting, of, env, &there)?;
    let back = position_term(setting, of, context, &there);
    setting.facts.push(term::or([
        term::not(term::within(&term::int(0), at, &length)),
        term::and([present, term::eq(&back, at)]),
    ]));
    Ok(there)
}

fn position_term(setting: &mut Setting<'_>, of: &Binder, context: &[Term], at: &Term) -> Term {
    let arguments: Vec<Term> = context.iter().chain([at]).cloned().collect();
    setting
        .terms
        .function(&format!("position_{}", of.var.0), &arguments)
}

fn entry_term(setting: &mut Setting<'_>, of: &Binder, context: &[Term], at: &Term) -> Term {
    let arguments: Vec<Term> = context.iter().chain([at]).cloned().collect();
    setting
        .terms
        .function(&format!("entry_{}", of.var.0), &arguments)
}
