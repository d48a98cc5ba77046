//! Waits that are for additions nobody takes back.
//!
//! A wait `>= v` for an element of a semaphore without turns has *supplies*: additions that the certificate names, in each of several cases. The
//! conditions are
//!
//! 1. *(supplied)* whenever a member comes to the wait and `v` is more than the value at the start, one of the cases holds: each addition that it
//!    names takes place, at the element of the wait, and adds at least 1, or the number that it adds everywhere. All of them together add at
//!    least what `v` is more than the value at the start;
//! 2. *(ranks, residency)* the conditions on ranks and residency hold of each addition that is named.
//!
//! Additions are named by statements, each at most once in a case. With a statement come values of its role's indices and of the loop variables
//! around it: one value, or all of a range. Different values are different executions. So the product of the lengths of the ranges says how many
//! additions are named.
//!
//! *What a wait is for.* Suppose that it does not pass. The value of the element is that at the start plus all that has been added, and nothing
//! of this is negative. So `v` is more than the value at the start, and a case holds. If all additions of this case had been done, the value
//! would be at least `v`. So one of them has not been done.

use super::Place as At;
use super::Rule;
use super::certificate::Place;
use super::certificate::Supply;
use super::program::Event;
use super::program::Kind;
use super::setting::Env;
use super::setting::Setting;
use crate::protocol::Comparison;
use crate::protocol::Expr;
use crate::trusted::member::unfit;
use crate::trusted::term;
use crate::trusted::term::Term;
use crate::trusted::unsupported::Unsupported;

/// Additions that are named: an arbitrary one of them, and how many there are.
struct Named {
    /// The values of the names around it.
    env: Env,
    /// That it is one of those that are named.
    among: Term,
    /// That it takes place, at the element of the wait, and adds at least 1.
    holds: Term,
    /// What all of them add at least.
    total: Term,
}

impl<'p> Rule<'p> {
    /// The conditions for one wait.
    pub(super) fn supplied(&mut self, nth: usize, wait: At) -> Result<(), Unsupported> {
        let event = self.event(wait)?.clone();
        if let Kind::Wait(Comparison::Equal, _) = event.kind {
            let what = "a wait for one value where members take no turns";
            return Err(Unsupported::at(event.span, what));
        }
        let certificate = self.certificate;
        let cases = &certificate.waits.get(nth).ok_or_else(unfit)?.supplies;
        let mut setting = self.setting();
        let (env, missing) = self.stands(&mut setting, wait, &event)?;
        let mut goals = Vec::new();
        for supplies in cases {
            let (mut all, mut total) = (Vec::new(), Vec::new());
            for (at, supply) in supplies.iter().enumerate() {
                let statement = |s: &Supply| (s.role, s.event);
                let mut others = supplies.iter().take(at);
                if others.any(|other| statement(other) == statement(supply)) {
                    return Err(unfit());
                }
                let named = self.named(&mut setting, supply, &event, &env)?;
                all.push(term::or([term::not(named.among), named.holds]));
                total.push(named.total);
            }
            all.push(term::le(&missing, &term::sum(total)));
            goals.push(term::and(all));
        }
        let meaning = format!("there are additions that {} is for", self.quote(event.span));
        self.conclude(setting, "supplied", meaning, term::or(goals))?;

        for supply in cases.iter().flatten() {
            let build = |rule: &Rule<'p>, setting: &mut Setting<'p>| {
                let (env, _) = rule.stands(setting, wait, &event)?;
                let named = rule.named(setting, supply, &event, &env)?;
                setting.facts.extend([named.among, named.holds]);
                Ok([env, named.env])
            };
            self.descends(&build, wait, (supply.role, supply.event))?;
        }
        Ok(())
    }

    /// Somebody comes to a wait for more than there is at the start; how much more.
    fn stands(
        &self,
        setting: &mut Setting<'_>,
        (role, _): At,
        wait: &Event,
    ) -> Result<(Env, Term), Unsupported> {
        let mut env = setting.member(&self.protocol.roles[role], "c")?;
        setting.comes(&wait.scope, &mut env)?;
        let value = setting.value(wait, &env)?;
        let missing = term::sub(&value, &setting.initial(wait.object)?);
        setting.facts.push(term::lt(&term::int(0), &missing));
        Ok((env, missing))
    }

    fn named(
        &self,
        setting: &mut Setting<'_>,
        supply: &Supply,
        wait: &Event,
        waiting: &Env,
    ) -> Result<Named, Unsupported> {
        let add = self.event((supply.role, supply.event))?;
        if add.object != wait.object {
            return Err(unfit());
        }
        let zero = term::int(0);
        let role = &self.protocol.roles[supply.role];
        let names: Vec<_> = role
            .indices
            .iter()
            .map(|i| i.var)
            .chain(add.loops())
            .collect();
        if names.len() != supply.at.len() {
            return Err(unfit());
        }
        let (mut env, mut among, mut factors) = (Env::new(), Vec::new(), Vec::new());
        for (var, place) in names.into_iter().zip(&supply.at) {
            let value = match place {
                Place::At(one) => self.sum(one, waiting)?,
                Place::From(lo, hi) => {
                    let (lo, hi) = (self.sum(lo, waiting)?, self.sum(hi, waiting)?);
                    let value = setting.constant("named");
                    among.push(term::within(&lo, &value, &hi));
                    let length = term::sub(&hi, &lo);
                    factors.push(term::ite(&term::le(&lo, &hi), &length, &zero));
                    value
                }
            };
            env.insert(var, value);
        }
        let mut holds = Vec::new();
        for index in &role.indices {
            let value = env.get(&index.var).cloned().ok_or_else(unfit)?;
            let extent = setting.expr(&index.extent, &Env::new())?;
            holds.push(term::within(&zero, &value, &extent));
        }
        holds.push(setting.happens(add, &env)?);
        let element = setting.indices(wait, waiting)?;
        for (index, wanted) in setting.indices(add, &env)?.iter().zip(&element) {
            holds.push(term::eq(index, wanted));
        }
        holds.push(self.at_least(setting, 1, add, &env)?);
        if let Kind::Add(Expr::Int(amount)) = add.kind {
            factors.push(term::int(amount));
        }
        Ok(Named {
            env,
            among: term::and(among),
            holds: term::and(holds),
            total: term::product(factors),
        })
    }
}
