//! The ticket rule: why a grid that serializes itself through semaphores never hangs.
//!
//! # The rule
//!
//! Fix a total order `<` on the CTAs of the grid: lexicographic over its indices, each index
//! ascending or descending. For a CTA `c` and a semaphore element `s` let `inc(c, s)` be the sum
//! of the amounts `c` adds to `s` in a whole run. The protocol is free of deadlock if
//!
//! 1. *(well defined)* every expression the program evaluates means what the interpreter
//!    computes, every index is in range, every amount is at least 1;
//! 2. *(one fibre)* CTAs that wait on and add to the same `s` differ in one index only, the same
//!    for the whole family of `s`, so that `<` compares just that index;
//! 3. *(settled)* where a CTA both waits on and adds to `s`, program order decides which comes
//!    first;
//! 4. *(ticket)* a CTA `c` waits on `s` only for the value
//!    `initial(s) + sum of inc(k, s) over all k < c + what c itself added to s before`;
//! 5. *(guarded)* if `k` adds to `s` and some `c <= k` waits on `s`, then in `k` a wait on `s`
//!    comes before that addition;
//! 6. *(followed)* if `c` waits with `==` on `s` and some `k > c` adds to `s`, then in `c` an
//!    addition to `s` comes after that wait;
//! 7. *(residency)* either CTAs start in the order `<`, or all of them are resident at once; and
//!    at least one is.
//!
//! # Why it is sound
//!
//! *Invariant:* when a CTA `w` has passed a wait on `s`, every `j < w` has done all its additions
//! to `s`. Take the first moment it fails: `w` passes, the value is at least the one of 4, and `w`
//! itself has added exactly its part (3), so the others have added at least the sum over all
//! `k < w`. If some `j < w` is not done, some `j' > w` must have added to `s`. By 5, `j'` had passed
//! a wait on `s` earlier, and as the invariant held then, all below `j'` were done, `j` among
//! them: a contradiction.
//!
//! *Progress:* suppose a stuck state, and let `c` be the `<`-least CTA that is not finished. It
//! has started: if CTAs start in the order `<`, all that started before it are finished, so a
//! slot is free for it; if all are resident, everyone has started. So `c` is blocked at a wait
//! on some `s`. All `k < c` are finished, so the value is at least the one of 4; a `>=` wait
//! passes. For `==` it must be greater, so some `k > c` has added to `s`; it had passed a wait
//! on `s` (5), so by the invariant `c` had done all its additions to `s`; but by 6 one of them
//! comes after the wait at which `c` is blocked. A contradiction.
//!
//! # How a sum over all smaller CTAs is proved equal to an expression
//!
//! Let `i` be the counted index and `f(x) = inc(c with i := x, s)`. Each wait names one of two
//! arguments ([`Tally`]):
//!
//! - *telescope*: with `g(x)` the wait's value at `i := x`, `f(x) = g(x + 1) - g(x)` for every
//!   smaller `x`, so the sum is `g(c_i) - g(0)`; mirrored for a descending index;
//! - *block*: the CTAs that add to `s` below `c` are exactly the nearest `q` ones and each adds
//!   the same amount `a`, where `a * q` is the wanted sum.
//!
//! Both are induction on `x`, whose step is the obligation. Side conditions: those of
//! [`super::program`] and [`super::translate`]; exactly one grid and nothing else runs; semaphores
//! only; each loop variable around an addition can be read off the element's index (an index
//! expression is the variable plus or minus something known), so that an element is touched at
//! most once per statement and CTA.

use std::collections::BTreeMap;
use std::collections::HashSet;

use serde::Deserialize;
use serde::Serialize;

use super::obligation::Obligation;
use super::program;
use super::program::Binder;
use super::program::Direction;
use super::program::Event;
use super::program::EventKind;
use super::program::Place;
use super::program::Program;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use super::translate::Env;
use super::translate::Translator;
use crate::protocol::BinaryOp;
use crate::protocol::Comparison;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::LaunchOrder;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::Role;
use crate::protocol::VarId;

/// What the search found and this module re-derives the obligations from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Per index of the grid: whether larger values come first in the order on CTAs.
    pub descending: Vec<bool>,
    /// Why a CTA that has not started yet does no harm.
    pub residency: Residency,
    /// Per semaphore family (by position in the protocol's objects): the index of the grid that
    /// distinguishes the CTAs of one element.
    pub counted: BTreeMap<usize, usize>,
    /// Per wait (by statement number): why its value is the wanted sum.
    pub tallies: BTreeMap<usize, Tally>,
    /// Whether parameters with a listed set of values are treated one combination at a time.
    pub split: bool,
}

/// Why a CTA that has not started yet does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// Every wait is for CTAs that start earlier.
    LaunchOrder,
    /// The machine holds the whole grid.
    WholeGrid,
}

/// Why the sum of the smaller CTAs' additions is what a wait waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tally {
    /// The wait's value grows by each CTA's addition.
    Telescope,
    /// The nearest smaller CTAs add this much each and all others nothing.
    Block(i64),
}

/// Derives every obligation of the rule for this protocol and artefact.
///
/// # Errors
///
/// Refuses a protocol outside the rule's side conditions and an artefact that does not fit it.
pub fn obligations(protocol: &Protocol, ticket: &Ticket) -> Result<Vec<Obligation>, Unsupported> {
    let role = the_grid(protocol)?;
    if ticket.descending.len() != role.indices.len() {
        return Err(Unsupported::whole(
            "the order on CTAs does not fit the grid's indices",
        ));
    }
    let program = program::summarize(role)?;
    let mut all = Vec::new();
    for (nth, fixed) in combinations(protocol, ticket.split).into_iter().enumerate() {
        let mut rule = Rule {
            protocol,
            role,
            program: &program,
            ticket,
            fixed,
            nth,
            all: Vec::new(),
        };
        rule.derive()?;
        all.append(&mut rule.all);
    }
    Ok(all)
}

/// The grid, if the protocol is one grid over semaphores.
///
/// # Errors
///
/// Refuses other roles beside it and objects other than semaphores.
pub fn the_grid(protocol: &Protocol) -> Result<&Role, Unsupported> {
    let [role] = protocol.roles.as_slice() else {
        return Err(Unsupported::whole(format!(
            "{} roles where the rule takes one grid",
            protocol.roles.len()
        )));
    };
    if role.launch.is_none() {
        return Err(Unsupported::at(role.span, "a role that is not a grid"));
    }
    for object in &protocol.objects {
        if !matches!(object.kind, ObjectKind::Semaphore(_)) {
            return Err(Unsupported::at(
                object.span,
                "an object that is not a semaphore",
            ));
        }
    }
    Ok(role)
}

/// Every combination of the set-valued parameters, or the single empty one.
fn combinations(protocol: &Protocol, split: bool) -> Vec<Vec<(ParamId, i64)>> {
    let mut all = vec![Vec::new()];
    if split {
        for (at, param) in protocol.params.iter().enumerate() {
            if let Domain::Set(values) = &param.domain {
                all = all
                    .into_iter()
                    .flat_map(|chosen: Vec<(ParamId, i64)>| {
                        values.iter().map(move |value| {
                            let mut chosen = chosen.clone();
                            chosen.push((ParamId(at), *value));
                            chosen
                        })
                    })
                    .collect();
            }
        }
    }
    all
}

struct Rule<'a> {
    protocol: &'a Protocol,
    role: &'a Role,
    program: &'a Program,
    ticket: &'a Ticket,
    fixed: Vec<(ParamId, i64)>,
    nth: usize,
    all: Vec<Obligation>,
}

/// An obligation under construction: its terms and what may be assumed.
struct Setting<'p> {
    terms: Translator<'p>,
    facts: Vec<Term>,
}

/// One event of one CTA: the values of its loop variables and the element it is about.
struct Occurrence {
    env: Env,
    element: Vec<Term>,
}

impl<'a> Rule<'a> {
    fn derive(&mut self) -> Result<(), Unsupported> {
        self.assumptions_well_defined()?;
        self.declarations_well_defined()?;
        self.program_well_defined()?;
        self.residency()?;
        for wait in self.waits() {
            for add in self.adds_to(wait) {
                self.one_fibre(wait, add)?;
                self.settled(wait, add)?;
                self.guarded(wait, add)?;
                self.followed(wait, add)?;
            }
            self.tally(wait)?;
        }
        Ok(())
    }

    fn waits(&self) -> Vec<&'a Event> {
        self.program
            .events
            .iter()
            .filter(|e| matches!(e.kind, EventKind::Wait { .. }))
            .collect()
    }

    fn adds_to(&self, wait: &Event) -> Vec<&'a Event> {
        let same = |e: &&Event| e.cell.object == wait.cell.object;
        let adds = |e: &&Event| matches!(e.kind, EventKind::Add { .. });
        self.program
            .events
            .iter()
            .filter(same)
            .filter(adds)
            .collect()
    }

    /// A fresh setting in which the parameters are in their domain.
    fn setting(&self) -> Result<Setting<'a>, Unsupported> {
        let mut terms = Translator::new(self.protocol, &self.fixed);
        let mut facts = terms.domain();
        for assumption in &self.protocol.assumptions {
            facts.push(terms.expr(&assumption.condition, &Env::new())?);
        }
        Ok(Setting { terms, facts })
    }

    fn conclude(
        &mut self,
        name: String,
        meaning: String,
        mut setting: Setting<'_>,
        goal: Term,
    ) -> Result<(), Unsupported> {
        if goal.to_string() == "true" {
            return Ok(());
        }
        setting.facts.extend(setting.terms.axioms()?);
        let case = if self.fixed.is_empty() {
            String::new()
        } else {
            let values: Vec<String> = self
                .fixed
                .iter()
                .map(|(id, value)| format!("{} = {value}", self.protocol.params[id.0].name))
                .collect();
            format!(" Case {}.", values.join(", "))
        };
        let prefix = if self.fixed.is_empty() {
            String::new()
        } else {
            format!("case{}_", self.nth)
        };
        self.all.push(Obligation {
            name: format!("{prefix}{:03}_{name}", self.all.len()),
            meaning: format!("{meaning}.{case}"),
            declarations: setting.terms.declarations(),
            hypotheses: setting.facts,
            goal,
        });
        Ok(())
    }

    /// An arbitrary CTA of the grid.
    fn member(&self, setting: &mut Setting<'_>, tag: &str) -> Result<Vec<Term>, Unsupported> {
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

    fn member_env(&self, member: &[Term]) -> Env {
        self.role
            .indices
            .iter()
            .map(|index| index.var)
            .zip(member.iter().cloned())
            .collect()
    }

    /// An arbitrary execution of an event by a CTA.
    fn occurrence(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        member: &[Term],
        tag: &str,
    ) -> Result<Occurrence, Unsupported> {
        let mut env = self.member_env(member);
        for binder in &event.binders {
            let value = setting
                .terms
                .constant(&format!("{tag}_loop_{}", binder.var.0));
            env.insert(binder.var, value);
            let fact = in_loop(setting, binder, &env)?;
            setting.facts.push(fact);
        }
        let condition = setting.terms.expr(&event.condition, &env)?;
        setting.facts.push(condition);
        let element = elements(setting, event, &env)?;
        Ok(Occurrence { env, element })
    }

    /// The one execution of an event by a CTA that touches the element: the values of its loop
    /// variables, and the condition under which it takes place. `None` where the loop variables
    /// cannot be read off the element.
    fn located(
        &self,
        setting: &mut Setting<'_>,
        event: &Event,
        member: &[Term],
        element: &[Term],
    ) -> Result<Option<(Env, Term)>, Unsupported> {
        let mut env = self.member_env(member);
        let mut open: Vec<VarId> = event.binders.iter().map(|binder| binder.var).collect();
        while !open.is_empty() {
            let mut found = None;
            for (at, index) in event.cell.index.iter().enumerate() {
                let mut used = HashSet::new();
                program::free_vars(index, &mut used);
                let unknown: Vec<VarId> =
                    open.iter().copied().filter(|v| used.contains(v)).collect();
                if let [var] = unknown.as_slice() {
                    if let Some((sign, rest)) = linear(index, *var) {
                        let rest = setting.terms.expr(&rest, &env)?;
                        let value = match sign {
                            1 => term::sub(&element[at], &rest),
                            -1 => term::sub(&rest, &element[at]),
                            _ => continue,
                        };
                        found = Some((*var, value));
                        break;
                    }
                }
            }
            let Some((var, value)) = found else {
                return Ok(None);
            };
            env.insert(var, value);
            open.retain(|v| *v != var);
        }
        let mut happens = Vec::new();
        for binder in &event.binders {
            happens.push(in_loop(setting, binder, &env)?);
        }
        happens.push(setting.terms.expr(&event.condition, &env)?);
        for (wanted, reached) in element.iter().zip(elements(setting, event, &env)?) {
            happens.push(term::eq(wanted, &reached));
        }
        Ok(Some((env, term::and(happens))))
    }

    /// Like [`Self::located`], for an addition, where it is a side condition of the rule.
    fn located_add(
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

    /// What a CTA adds to an element in a whole run.
    fn additions(
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

    /// `a < b` in the rule's order, for CTAs that differ in the counted index only.
    fn below(&self, counted: usize, a: &[Term], b: &[Term]) -> Term {
        if self.ticket.descending[counted] {
            term::lt(&b[counted], &a[counted])
        } else {
            term::lt(&a[counted], &b[counted])
        }
    }

    fn counted(&self, event: &Event) -> Result<usize, Unsupported> {
        match self.ticket.counted.get(&event.cell.object.0) {
            Some(index) if *index < self.role.indices.len() => Ok(*index),
            _ => Err(Unsupported::at(
                event.span,
                "the artefact names no counted index for this semaphore",
            )),
        }
    }

    fn assumptions_well_defined(&mut self) -> Result<(), Unsupported> {
        for nth in 0..self.protocol.assumptions.len() {
            let mut terms = Translator::new(self.protocol, &self.fixed);
            let mut facts = terms.domain();
            for earlier in &self.protocol.assumptions[..nth] {
                facts.push(terms.expr(&earlier.condition, &Env::new())?);
            }
            let condition = &self.protocol.assumptions[nth].condition;
            self.require_well_defined(
                Setting { terms, facts },
                condition,
                &Env::new(),
                "an assumption",
            )?;
        }
        Ok(())
    }

    fn declarations_well_defined(&mut self) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        let mut exprs: Vec<&Expr> = Vec::new();
        exprs.extend(protocol.patterns.iter().flat_map(|p| &p.extents));
        exprs.extend(protocol.objects.iter().flat_map(|o| &o.extents));
        exprs.extend(self.role.indices.iter().map(|index| &index.extent));
        for object in &protocol.objects {
            if let ObjectKind::Semaphore(Initial::Value(value)) = &object.kind {
                exprs.push(value);
            }
        }
        if let Some(Resident::AtMost(limit)) = self.role.launch.as_ref().map(|l| &l.resident) {
            exprs.push(limit);
        }
        for expr in exprs {
            let setting = self.setting()?;
            self.require_well_defined(setting, expr, &Env::new(), "a declaration")?;
        }
        Ok(())
    }

    fn require_well_defined(
        &mut self,
        mut setting: Setting<'_>,
        expr: &Expr,
        env: &Env,
        what: &str,
    ) -> Result<(), Unsupported> {
        let mut needed = Vec::new();
        setting.terms.well_defined(expr, env, &[], &mut needed)?;
        if needed.is_empty() {
            return Ok(());
        }
        let goal = term::and(needed.into_iter().map(|requirement| {
            let given = term::and(requirement.given);
            term::or([term::not(given), requirement.needed])
        }));
        self.conclude(
            "well_defined".to_owned(),
            format!("{what} is well defined"),
            setting,
            goal,
        )
    }

    fn program_well_defined(&mut self) -> Result<(), Unsupported> {
        for evaluation in &self.program.evaluations {
            let mut setting = self.setting()?;
            let member = self.member(&mut setting, "c")?;
            let mut env = self.member_env(&member);
            for binder in &evaluation.binders {
                let value = setting.terms.constant(&format!("c_loop_{}", binder.var.0));
                env.insert(binder.var, value);
                let fact = in_loop(&mut setting, binder, &env)?;
                setting.facts.push(fact);
            }
            let condition = setting.terms.expr(&evaluation.condition, &env)?;
            setting.facts.push(condition);
            let what = format!("`{}`", self.quote(evaluation.span));
            self.require_well_defined(setting, &evaluation.expr, &env, &what)?;
        }
        for event in &self.program.events {
            let mut setting = self.setting()?;
            let member = self.member(&mut setting, "c")?;
            let occurrence = self.occurrence(&mut setting, event, &member, "c")?;
            let object = &self.protocol.objects[event.cell.object.0];
            let mut goals = Vec::new();
            for (extent, index) in object.extents.iter().zip(&occurrence.element) {
                let extent = setting.terms.expr(extent, &Env::new())?;
                goals.push(term::within(&term::int(0), index, &extent));
            }
            if let EventKind::Add { .. } = event.kind {
                let amount = amount(&mut setting, event, &occurrence.env)?;
                goals.push(term::le(&term::int(1), &amount));
            }
            let meaning = format!("`{}` stays in range", self.quote(event.span));
            self.conclude(
                format!("in_range_s{}", event.stmt.0),
                meaning,
                setting,
                term::and(goals),
            )?;
        }
        Ok(())
    }

    fn residency(&mut self) -> Result<(), Unsupported> {
        let Some(launch) = &self.role.launch else {
            return Err(Unsupported::at(self.role.span, "a role that is not a grid"));
        };
        if let Resident::AtMost(limit) = &launch.resident {
            let mut setting = self.setting()?;
            let limit = setting.terms.expr(limit, &Env::new())?;
            let goal = term::le(&term::int(1), &limit);
            self.conclude(
                "some_resident".to_owned(),
                "at least one CTA is resident".to_owned(),
                setting,
                goal,
            )?;
        }
        match (self.ticket.residency, &launch.resident, &launch.order) {
            (Residency::WholeGrid, Resident::All, _) => Ok(()),
            (Residency::WholeGrid, Resident::AtMost(limit), _) => {
                let mut setting = self.setting()?;
                let limit = setting.terms.expr(limit, &Env::new())?;
                let mut size = Vec::new();
                for index in &self.role.indices {
                    let extent = setting.terms.expr(&index.extent, &Env::new())?;
                    setting.facts.push(term::lt(&term::int(0), &extent));
                    size.push(extent);
                }
                let size = if size.len() == 1 {
                    size.remove(0)
                } else {
                    term::apply("*", &size)
                };
                let goal = term::le(&size, &limit);
                self.conclude(
                    "whole_grid_resident".to_owned(),
                    "the machine holds the whole grid".to_owned(),
                    setting,
                    goal,
                )
            }
            (Residency::LaunchOrder, _, LaunchOrder::Sorted(keys)) => {
                let agrees = keys
                    .iter()
                    .all(|key| self.ticket.descending[key.index] == key.descending);
                if agrees {
                    Ok(())
                } else {
                    Err(Unsupported::at(
                        self.role.span,
                        "CTAs do not start in the order of the tickets",
                    ))
                }
            }
            (Residency::LaunchOrder, _, LaunchOrder::Any) => Err(Unsupported::at(
                self.role.span,
                "CTAs may start in any order",
            )),
        }
    }

    /// Side condition 2.
    fn one_fibre(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        let counted = self.counted(wait)?;
        if self.role.indices.len() == 1 {
            return Ok(());
        }
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let k = self.member(&mut setting, "k")?;
        let at_add = self.occurrence(&mut setting, add, &k, "k")?;
        setting.facts.push(same_element(&at_wait, &at_add));
        let goal = term::and(
            (0..c.len())
                .filter(|at| *at != counted)
                .map(|at| term::eq(&c[at], &k[at])),
        );
        let meaning = format!(
            "CTAs of one element of `{}` differ in one index only",
            self.protocol.objects[wait.cell.object.0].name
        );
        self.conclude(pair("one_fibre", wait, add), meaning, setting, goal)
    }

    /// Side condition 3.
    fn settled(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let (env, happens) = self.located_add(&mut setting, add, &c, &at_wait.element)?;
        setting.facts.push(happens);
        let goal = term::or([
            precedes(&add.place, &env, &wait.place, &at_wait.env),
            precedes(&wait.place, &at_wait.env, &add.place, &env),
        ]);
        let meaning = format!(
            "program order decides between `{}` and `{}`",
            self.quote(wait.span),
            self.quote(add.span)
        );
        self.conclude(pair("settled", wait, add), meaning, setting, goal)
    }

    /// Side condition 5, for one addition and one waiting statement.
    fn guarded(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        let counted = self.counted(wait)?;
        let mut setting = self.setting()?;
        let k = self.member(&mut setting, "k")?;
        let at_add = self.occurrence(&mut setting, add, &k, "k")?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        setting.facts.push(same_element(&at_wait, &at_add));
        setting.facts.push(term::not(self.below(counted, &k, &c)));
        let mut guards = Vec::new();
        for guard in self
            .waits()
            .into_iter()
            .filter(|g| g.cell.object == add.cell.object)
        {
            if let Some((env, happens)) = self.located(&mut setting, guard, &k, &at_add.element)? {
                let first = precedes(&guard.place, &env, &add.place, &at_add.env);
                guards.push(term::and([happens, first]));
            }
        }
        let meaning = format!(
            "`{}` is guarded by a wait on the same element",
            self.quote(add.span)
        );
        self.conclude(
            pair("guarded", wait, add),
            meaning,
            setting,
            term::or(guards),
        )
    }

    /// Side condition 6, for one waiting statement and one addition of a greater CTA.
    fn followed(&mut self, wait: &Event, add: &Event) -> Result<(), Unsupported> {
        if !matches!(
            wait.kind,
            EventKind::Wait {
                comparison: Comparison::Equal,
                ..
            }
        ) {
            return Ok(());
        }
        let counted = self.counted(wait)?;
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let at_wait = self.occurrence(&mut setting, wait, &c, "c")?;
        let k = self.member(&mut setting, "k")?;
        let at_add = self.occurrence(&mut setting, add, &k, "k")?;
        setting.facts.push(same_element(&at_wait, &at_add));
        setting.facts.push(self.below(counted, &c, &k));
        let mut later = Vec::new();
        for own in self.adds_to(wait) {
            let (env, happens) = self.located_add(&mut setting, own, &c, &at_wait.element)?;
            let after = precedes(&wait.place, &at_wait.env, &own.place, &env);
            later.push(term::and([happens, after]));
        }
        let meaning = format!(
            "`{}` is followed by an addition of its own",
            self.quote(wait.span)
        );
        self.conclude(
            pair("followed", wait, add),
            meaning,
            setting,
            term::or(later),
        )
    }

    /// Side condition 4, by the argument that the artefact names.
    fn tally(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let tally = *self.ticket.tallies.get(&wait.stmt.0).ok_or_else(|| {
            Unsupported::at(wait.span, "the artefact has no argument for this wait")
        })?;
        match tally {
            Tally::Telescope => self.telescope(wait),
            Tally::Block(each) => self.block(wait, each),
        }
    }

    /// An arbitrary CTA `c` at the wait, and the number it wants the smaller CTAs to add.
    fn at_wait(
        &self,
        wait: &Event,
    ) -> Result<(Setting<'a>, Vec<Term>, Occurrence, Term), Unsupported> {
        let mut setting = self.setting()?;
        let c = self.member(&mut setting, "c")?;
        let occurrence = self.occurrence(&mut setting, wait, &c, "c")?;
        let value = wait_value(&mut setting, wait, &occurrence.env)?;
        let initial = self.initial(&mut setting, wait, &occurrence.element)?;
        let mut own = Vec::new();
        for add in self.adds_to(wait) {
            let (env, happens) = self.located_add(&mut setting, add, &c, &occurrence.element)?;
            let before = term::and([
                happens,
                precedes(&add.place, &env, &wait.place, &occurrence.env),
            ]);
            let amount = amount(&mut setting, add, &env)?;
            own.push(term::ite(&before, &amount, &term::int(0)));
        }
        let wanted = term::sub(&term::sub(&value, &initial), &term::sum(own));
        Ok((setting, c, occurrence, wanted))
    }

    fn initial(
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

    /// The range of the counted index that holds the CTAs below `c`: `lo <= x < hi`.
    fn smaller(
        &self,
        setting: &mut Setting<'_>,
        counted: usize,
        c: &[Term],
    ) -> Result<(Term, Term), Unsupported> {
        Ok(if self.ticket.descending[counted] {
            let extent = setting
                .terms
                .expr(&self.role.indices[counted].extent, &Env::new())?;
            (term::sum([c[counted].clone(), term::int(1)]), extent)
        } else {
            (term::int(0), c[counted].clone())
        })
    }

    fn telescope(&mut self, wait: &Event) -> Result<(), Unsupported> {
        let counted = self.counted(wait)?;
        let descending = self.ticket.descending[counted];
        let adds = self.adds_to(wait);

        let (mut setting, c, at_wait, _) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        let x = setting.terms.constant("x");
        setting.facts.push(term::within(&lo, &x, &hi));
        let mut other = c.clone();
        other[counted] = x.clone();
        let added = self.additions(&mut setting, &adds, &other, &at_wait.element)?;
        let here = self.value_at(&mut setting, wait, &other, &at_wait.element)?;
        other[counted] = term::sum([x, term::int(1)]);
        let next = self.value_at(&mut setting, wait, &other, &at_wait.element)?;
        let growth = if descending {
            term::sub(&here, &next)
        } else {
            term::sub(&next, &here)
        };
        let meaning = format!(
            "the value of `{}` grows by what each smaller CTA adds",
            self.quote(wait.span)
        );
        self.conclude(
            single("telescope_step", wait),
            meaning,
            setting,
            term::eq(&added, &growth),
        )?;

        let (mut setting, mut c, at_wait, wanted) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        c[counted] = lo;
        let first = self.value_at(&mut setting, wait, &c, &at_wait.element)?;
        c[counted] = hi;
        let last = self.value_at(&mut setting, wait, &c, &at_wait.element)?;
        let total = if descending {
            term::sub(&first, &last)
        } else {
            term::sub(&last, &first)
        };
        let meaning = format!(
            "`{}` waits for the sum over all smaller CTAs",
            self.quote(wait.span)
        );
        self.conclude(
            single("telescope_sum", wait),
            meaning,
            setting,
            term::eq(&wanted, &total),
        )
    }

    /// The wait's value as a function of the CTA, the element being fixed.
    fn value_at(
        &self,
        setting: &mut Setting<'_>,
        wait: &Event,
        member: &[Term],
        element: &[Term],
    ) -> Result<Term, Unsupported> {
        let Some((env, _)) = self.located(setting, wait, member, element)? else {
            return Err(Unsupported::at(
                wait.span,
                "a wait whose loop variables cannot be read off the element",
            ));
        };
        wait_value(setting, wait, &env)
    }

    fn block(&mut self, wait: &Event, each: i64) -> Result<(), Unsupported> {
        if each < 1 {
            return Err(Unsupported::whole(
                "a block of CTAs that add less than 1 each",
            ));
        }
        let counted = self.counted(wait)?;
        let descending = self.ticket.descending[counted];
        let adds = self.adds_to(wait);
        let nearest = |wanted: &Term| match each {
            1 => wanted.clone(),
            _ => term::apply("div", &[wanted.clone(), term::int(each)]),
        };

        let (mut setting, c, _, wanted) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        let exact = term::eq(
            &term::apply("mod", &[wanted.clone(), term::int(each)]),
            &term::int(0),
        );
        let size = nearest(&wanted);
        let goal = term::and([
            if each == 1 {
                term::boolean(true)
            } else {
                exact
            },
            term::le(&term::int(0), &size),
            term::le(&size, &term::sub(&hi, &lo)),
        ]);
        let meaning = format!(
            "`{}` waits for a number of smaller CTAs that exists",
            self.quote(wait.span)
        );
        self.conclude(single("block_size", wait), meaning, setting, goal)?;

        let (mut setting, c, at_wait, wanted) = self.at_wait(wait)?;
        let (lo, hi) = self.smaller(&mut setting, counted, &c)?;
        let size = nearest(&wanted);
        let x = setting.terms.constant("x");
        setting.facts.push(term::within(&lo, &x, &hi));
        let near = if descending {
            term::lt(&x, &term::sum([lo, size]))
        } else {
            term::le(&term::sub(&hi, &size), &x)
        };
        let mut other = c.clone();
        other[counted] = x;
        let added = self.additions(&mut setting, &adds, &other, &at_wait.element)?;
        let goal = term::eq(&added, &term::ite(&near, &term::int(each), &term::int(0)));
        let meaning = format!(
            "just the nearest smaller CTAs add to what `{}` waits on",
            self.quote(wait.span)
        );
        self.conclude(single("block_members", wait), meaning, setting, goal)
    }

    fn quote(&self, span: crate::protocol::Span) -> String {
        let text = self.protocol.source.get(span.start..span.end).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn single(name: &str, event: &Event) -> String {
    format!("{name}_s{}", event.stmt.0)
}

fn pair(name: &str, wait: &Event, add: &Event) -> String {
    format!("{name}_s{}_s{}", wait.stmt.0, add.stmt.0)
}

/// The loop variable is among the values the loop runs over.
fn in_loop(setting: &mut Setting<'_>, binder: &Binder, env: &Env) -> Result<Term, Unsupported> {
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

fn elements(setting: &mut Setting<'_>, event: &Event, env: &Env) -> Result<Vec<Term>, Unsupported> {
    event
        .cell
        .index
        .iter()
        .map(|e| setting.terms.expr(e, env))
        .collect()
}

fn amount(setting: &mut Setting<'_>, add: &Event, env: &Env) -> Result<Term, Unsupported> {
    match &add.kind {
        EventKind::Add { amount } => setting.terms.expr(amount, env),
        EventKind::Wait { .. } => Err(Unsupported::at(
            add.span,
            "a wait where an addition belongs",
        )),
    }
}

fn wait_value(setting: &mut Setting<'_>, wait: &Event, env: &Env) -> Result<Term, Unsupported> {
    match &wait.kind {
        EventKind::Wait { value, .. } => setting.terms.expr(value, env),
        EventKind::Add { .. } => Err(Unsupported::at(
            wait.span,
            "an addition where a wait belongs",
        )),
    }
}

fn same_element(a: &Occurrence, b: &Occurrence) -> Term {
    term::and(
        a.element
            .iter()
            .zip(&b.element)
            .map(|(a, b)| term::eq(a, b)),
    )
}

/// Program order between two events of one CTA: `true` only where it is certain.
fn precedes(a: &[Place], a_env: &Env, b: &[Place], b_env: &Env) -> Term {
    match (a, b) {
        ([Place::Nth(x), a @ ..], [Place::Nth(y), b @ ..]) => {
            if x == y {
                precedes(a, a_env, b, b_env)
            } else {
                term::boolean(x < y)
            }
        }
        ([Place::Loop(var, direction), a @ ..], [Place::Loop(other, _), b @ ..])
            if var == other =>
        {
            let (Some(x), Some(y)) = (a_env.get(var), b_env.get(var)) else {
                return term::boolean(false);
            };
            let same = term::and([term::eq(x, y), precedes(a, a_env, b, b_env)]);
            match direction {
                Direction::Up => term::or([term::lt(x, y), same]),
                Direction::Down => term::or([term::lt(y, x), same]),
                Direction::Open => same,
            }
        }
        _ => term::boolean(false),
    }
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
            Some((-sign, Expr::Neg(Box::new(rest))))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (left, left_rest) = linear(a, var)?;
            let (right, right_rest) = linear(b, var)?;
            let sign = if *op == BinaryOp::Add {
                left + right
            } else {
                left - right
            };
            Some((sign, Expr::binary(*op, left_rest, right_rest)))
        }
        _ => None,
    }
}
