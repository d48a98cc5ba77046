//! Turns and supplies: why no wait for a semaphore lasts.
//!
//! Members add to semaphores and wait for their values, in programs that have a closed form (`program`). Loops may be over the rows of patterns.
//! Grids need not be resident as a whole. Each wait has a *rank*: a list of integers, compared lexicographically. A wait that lasts is for a
//! member that is held up only at lesser ranks. There are two reasons for that: members *take turns* at an element (`turns`), or a wait is for
//! additions that nobody takes back (`supplies`).
//!
//! # Obligations
//!
//! 1. *(declarations)* Parameters, assumptions, extents and start values are defined. So is the condition that defines a pattern, inside the
//!    extents of the pattern. At least one member of each grid may be resident.
//! 2. *(a member by itself)* Every expression is defined where it is evaluated. Elements exist. No negative amount is added.
//! 3. *(reasons)* Each semaphore with a wait has turns, or all its waits have supplies (see there). In short: if a wait of a member `c` lasts,
//!    some addition `x` that it is for has not been done by its member `p`. The next two are about these.
//! 4. *(ranks)* Each wait of `p` that is not certainly after `x` has a lesser rank than the wait of `c`.
//! 5. *(residency)* All members of `p`'s role run from the beginning, or all of them may be resident at once. Or the role is a grid without
//!    waits. Or `p` is of the grid of `c`, and starts before `c` in its order, or is `c`.
//!
//! # Why it is sound
//!
//! Suppose that nothing can happen and some member has not finished. Only waits hold up a member that has started. If none stood at a wait, all
//! that have started would have finished. By 1 there would be a place for one more, which could start. So some stand at waits. Let the wait of
//! `c` have the least rank. By 3 some addition `x` that it is for has not been done, by a member `p`.
//!
//! `p` has started, by 5. If all members of its role run from the beginning, that is clear. If all members of its grid may be resident and `p`
//! had not started, there would be a place for it. If its grid has no wait, all that have started in it have finished, and again there would be a
//! place. If it comes before `c` in the order of starts of their grid, it has started since `c` has.
//!
//! `p` has not finished, because `x` is missing. So it stands at a wait that is not after `x`. By 4 the rank of that wait is less than that of
//! `c`'s wait: a contradiction. Nothing is undefined, by 1 and 2: the only fault of a semaphore is a negative amount.

pub mod certificate;
pub mod program;
mod setting;
mod supplies;
mod turns;

use super::certificate::Name;
use super::certificate::Sum;
use super::declared::Declared;
use super::expression::Names;
use super::member::Goal;
use super::member::unfit;
use super::obligation::Obligation;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::Expr;
use crate::protocol::Launch;
use crate::protocol::LaunchOrder;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Span;
use crate::protocol::VarId;
use certificate::Awaited;
use certificate::Component;
use certificate::Events;
use certificate::Reading;
use program::Event;
use program::Program;
use program::program;
use setting::Env;
use setting::Setting;
use setting::less;
use setting::nothing;

/// Everything that has to be valid.
///
/// # Errors
///
/// Names the first construct that is not covered, or says that the certificate does not fit.
pub fn obligations(
    protocol: &Protocol,
    certificate: &Events,
) -> Result<Vec<Obligation>, Unsupported> {
    let programs: Result<Vec<Program>, Unsupported> = protocol.roles.iter().map(program).collect();
    let mut rule = Rule {
        protocol,
        certificate,
        programs: programs?,
        declared: Declared::new(protocol)?,
        goals: Vec::new(),
    };
    rule.declared()?;
    for role in 0..protocol.roles.len() {
        rule.alone(role)?;
    }
    for turns in &certificate.turns {
        rule.turns(turns)?;
    }
    let waits = rule.waits();
    if waits.len() != certificate.waits.len() || certificate.whole.len() != protocol.roles.len() {
        return Err(unfit());
    }
    for (nth, wait) in waits.into_iter().enumerate() {
        let object = rule.event(wait)?.object;
        if !certificate.turns.iter().any(|turns| turns.object == object) {
            rule.supplied(nth, wait)?;
        }
    }
    let declared = rule.declared.goals.into_iter();
    let all = declared
        .map(|goal| (goal, Vec::new()))
        .chain(rule.goals)
        .enumerate();
    let all = all.map(|(number, (goal, constants))| {
        super::obligation(protocol, number, goal, &[&constants])
    });
    Ok(all.collect())
}

/// A statement that does something to a semaphore: its role, and its position in the program.
type Place = (usize, usize);

/// Puts a member `c` at a wait and a member `p` at an addition into a setting: the values of all names around both.
type Build<'b, 'p> = &'b dyn Fn(&Rule<'p>, &mut Setting<'p>) -> Result<[Env; 2], Unsupported>;

struct Rule<'p> {
    protocol: &'p Protocol,
    certificate: &'p Events,
    programs: Vec<Program>,
    declared: Declared,
    /// With the constants that occur.
    goals: Vec<(Goal, Vec<String>)>,
}

impl<'p> Rule<'p> {
    fn setting(&self) -> Setting<'p> {
        Setting::new(self.protocol, &self.declared)
    }

    fn conclude(
        &mut self,
        setting: Setting<'_>,
        name: &'static str,
        meaning: String,
        goal: Term,
    ) -> Result<(), Unsupported> {
        self.goals.extend(setting.conclude(name, meaning, goal)?);
        Ok(())
    }

    fn event(&self, (role, at): Place) -> Result<&Event, Unsupported> {
        let program = self.programs.get(role).ok_or_else(unfit)?;
        program.events.get(at).ok_or_else(unfit)
    }

    /// All waits, in the order of roles and of their texts.
    fn waits(&self) -> Vec<Place> {
        let roles = self.programs.iter().enumerate();
        let all = roles.flat_map(|(role, program)| {
            let events = program.events.iter().enumerate();
            let waits = events.filter(|(_, event)| event.waits());
            waits.map(move |(at, _)| (role, at))
        });
        all.collect()
    }

    fn quote(&self, span: Span) -> String {
        super::unsupported::quote(self.protocol, span)
    }

    /// Declarations mean something, beside those of objects.
    fn declared(&mut self) -> Result<(), Unsupported> {
        for (number, pattern) in self.protocol.patterns.iter().enumerate() {
            let mut setting = self.setting();
            let mut goals = Vec::new();
            for extent in &pattern.extents {
                goals.push(setting.defined(extent, &Env::new())?);
            }
            if let Some((vars, condition)) = &pattern.definition {
                let mut env = Env::new();
                for (var, extent) in vars.iter().zip(&pattern.extents) {
                    env.insert(*var, setting.within("at", extent)?);
                }
                // A pattern is made of those before it.
                let earlier = self.protocol.patterns.iter().take(number).cloned();
                let mut names = Names::new(self.declared.params.clone(), earlier.collect());
                names.vars.clone_from(&env);
                names.term(condition)?;
                goals.push(setting.defined(condition, &env)?);
            }
            let meaning = format!("the declaration of `{}` is defined", pattern.name);
            self.conclude(setting, "declared", meaning, term::and(goals))?;
        }
        for (number, role) in self.protocol.roles.iter().enumerate() {
            let mut setting = self.setting();
            let mut goals = Vec::new();
            for index in &role.indices {
                goals.push(setting.defined(&index.extent, &Env::new())?);
            }
            if let Some(Launch {
                resident: Resident::AtMost(limit),
                ..
            }) = &role.launch
            {
                goals.push(setting.defined(limit, &Env::new())?);
                let limit = setting.expr(limit, &Env::new())?;
                goals.push(term::le(&term::int(1), &limit));
                if self.whole(number) {
                    let mut members = Vec::new();
                    for index in &role.indices {
                        let extent = setting.expr(&index.extent, &Env::new())?;
                        setting.facts.push(term::le(&term::int(1), &extent));
                        members.push(extent);
                    }
                    goals.push(term::le(&term::product(members), &limit));
                }
            }
            let meaning = format!("there is a place for members of `{}`", role.name);
            self.conclude(setting, "resident", meaning, term::and(goals))?;
        }
        Ok(())
    }

    /// Whether the certificate says that all members of a role may be resident at once.
    fn whole(&self, role: usize) -> bool {
        self.certificate.whole.get(role) == Some(&true)
    }

    /// Whether members of a role may not have started although others have.
    fn starts_late(&self, role: usize) -> bool {
        let this = &self.protocol.roles[role];
        self.certificate.starts_late(role, this)
    }

    /// A member by itself.
    fn alone(&mut self, number: usize) -> Result<(), Unsupported> {
        let role = &self.protocol.roles[number];
        let mut all = Vec::new();
        for evaluated in &self.programs[number].evaluated {
            let mut setting = self.setting();
            let mut env = setting.member(role, "member")?;
            setting.comes(&evaluated.scope, &mut env)?;
            let goal = setting.defined(&evaluated.expr, &env)?;
            let meaning = format!("{} is defined", self.quote(evaluated.span));
            all.extend(setting.conclude("defined", meaning, goal)?);
        }
        for event in &self.programs[number].events {
            let mut setting = self.setting();
            let mut env = setting.member(role, "member")?;
            setting.comes(&event.scope, &mut env)?;
            setting.initial(event.object)?;
            let extents = &self.protocol.objects[event.object].extents;
            let mut goals = Vec::new();
            for (index, extent) in setting.indices(event, &env)?.iter().zip(extents) {
                let extent = setting.expr(extent, &Env::new())?;
                goals.push(term::within(&term::int(0), index, &extent));
            }
            if !event.waits() {
                goals.push(self.at_least(&mut setting, 0, event, &env)?);
            }
            let meaning = format!("{} is at an element that exists", self.quote(event.span));
            all.extend(setting.conclude("element", meaning, term::and(goals))?);
        }
        self.goals.extend(all);
        Ok(())
    }

    /// That at least so much is added.
    fn at_least(
        &self,
        setting: &mut Setting<'_>,
        least: i64,
        add: &Event,
        env: &Env,
    ) -> Result<Term, Unsupported> {
        match &add.kind {
            program::Kind::Add(Expr::Int(amount)) => Ok(term::boolean(least <= *amount)),
            program::Kind::Add(_) => Ok(term::le(&term::int(least), &setting.value(add, env)?)),
            program::Kind::Wait(..) => Err(unfit()),
        }
    }

    /// What the certificate says of a wait.
    fn reason(&self, wait: Place) -> Result<&'p Awaited, Unsupported> {
        let nth = self.waits().iter().position(|other| *other == wait);
        let nth = nth.ok_or_else(unfit)?;
        self.certificate.waits.get(nth).ok_or_else(unfit)
    }

    /// The rank of a wait.
    fn rank(
        &self,
        setting: &mut Setting<'_>,
        wait: Place,
        env: &Env,
    ) -> Result<Vec<Term>, Unsupported> {
        let event = self.event(wait)?;
        let mut rank = Vec::new();
        for Component { of, descending } in &self.reason(wait)?.rank {
            let value = match of {
                Reading::Sum(sum) => self.sum(sum, env)?,
                Reading::Turn => {
                    let initial = setting.initial(event.object)?;
                    term::sub(&setting.value(event, env)?, &initial)
                }
                Reading::Element(at) => {
                    let element = setting.indices(event, env)?;
                    element.get(*at).cloned().unwrap_or_else(|| term::int(0))
                }
            };
            rank.push(match descending {
                true => term::sub(&term::int(0), &value),
                false => value,
            });
        }
        Ok(rank)
    }

    /// A sum over parameters and names.
    fn sum(&self, sum: &Sum, env: &Env) -> Result<Term, Unsupported> {
        let mut parts = Vec::new();
        for product in &sum.0 {
            let mut factors = vec![term::int(product.times)];
            for name in &product.of {
                let value = match name {
                    Name::Param(at) => self.declared.params.get(*at),
                    Name::Var(at) => env.get(&VarId(*at)),
                    Name::Done(_) | Name::Counter(_) => None,
                };
                factors.push(value.cloned().ok_or_else(nothing)?);
            }
            parts.push(term::product(factors));
        }
        Ok(term::sum(parts))
    }

    /// Obligations 4 and 5. In the setting, `c` stands at a wait that is for an addition of `p`. Both have the values of all names around.
    fn descends(
        &mut self,
        build: Build<'_, 'p>,
        wait: Place,
        add: Place,
    ) -> Result<(), Unsupported> {
        let (waits, adds) = (self.event(wait)?.clone(), self.event(add)?.clone());
        let meaning = format!(
            "whoever {} is for is held up at lesser ranks only",
            self.quote(waits.span)
        );
        let role = &self.protocol.roles[add.0];
        for other in self.waits() {
            if other.0 != add.0 {
                continue;
            }
            let mut setting = self.setting();
            let [c, p] = build(self, &mut setting)?;
            let held = self.event(other)?.clone();
            let mut there = Env::new();
            for index in &role.indices {
                let value = p.get(&index.var).cloned().ok_or_else(nothing)?;
                there.insert(index.var, value);
            }
            setting.comes(&held.scope, &mut there)?;
            let after = setting.precedes((&adds, &p), (&held, &there));
            setting.facts.push(term::not(after));
            let lesser = self.rank(&mut setting, other, &there)?;
            let rank = self.rank(&mut setting, wait, &c)?;
            if lesser.len() != rank.len() {
                return Err(unfit());
            }
            let goal = less(&lesser, &rank);
            self.conclude(setting, "rank", meaning.clone(), goal)?;
        }
        self.started(build, wait, add)
    }

    /// Obligation 5.
    fn started(
        &mut self,
        build: Build<'_, 'p>,
        wait: Place,
        add: Place,
    ) -> Result<(), Unsupported> {
        let role = &self.protocol.roles[add.0];
        let waits = self.waits().iter().any(|(other, _)| *other == add.0);
        if !self.starts_late(add.0) || !waits {
            return Ok(());
        }
        let Some(Launch {
            order: LaunchOrder::Sorted(keys),
            ..
        }) = &role.launch
        else {
            return Err(Unsupported::at(
                role.span,
                "members that start in any order",
            ));
        };
        if wait.0 != add.0 {
            let what = "a wait for members that need not have started";
            return Err(Unsupported::at(self.event(wait)?.span, what));
        }
        let mut setting = self.setting();
        let [c, p] = build(self, &mut setting)?;
        let mut order = [Vec::new(), Vec::new()];
        let mut same = Vec::new();
        for key in keys {
            let index = role.indices.get(key.index).ok_or_else(nothing)?;
            let value = |env: &Env| env.get(&index.var).cloned().ok_or_else(nothing);
            let (earlier, later) = match key.descending {
                true => (value(&c)?, value(&p)?),
                false => (value(&p)?, value(&c)?),
            };
            same.push(term::eq(&earlier, &later));
            order[0].push(earlier);
            order[1].push(later);
        }
        let goal = term::or([less(&order[0], &order[1]), term::and(same)]);
        let meaning = "whoever a wait is for has started".to_owned();
        self.conclude(setting, "started", meaning, goal)
    }
}
