//! The credit rule: each wait for a counter is for operations that never depend on this wait, neither directly nor
//! through other waits.
//!
//! Members add to semaphores, or set them to values that never decrease, and wait until one has at least some value.
//! For example, `wait done[b] == 1` is for the only `done[b] += 1`. A certificate says for each wait which operations
//! it is for, and gives the wait a *rank*. Ranks are compared lexicographically. The conditions are
//!
//! 1. *(well defined)* Every expression is defined, every element exists, and every amount is at least 1. For each
//!    grid that waits, one of these holds: it is resident; or its waits are for members that start no later, or that
//!    need not start, and no other role waits for it.
//! 2. *(supplied)* Take an execution of a wait for more than the element has at the start. The operations of one of
//!    the alternatives are then different executions of programs, at the element of the wait. Together with the start
//!    value, they add up to the awaited value; or there is a single one, which sets the element to no less. If the
//!    wait is for exactly one value, they add up to this value, and they are all that is ever added to the element.
//! 3. *(descends)* Every wait that comes before such an operation in the program of its member has a lesser rank.
//! 4. *(one sets)* No operation adds to a semaphore that is set. All operations that set an element are executions of
//!    one member, which never sets it to less than before or than its start value.
//!
//! A counterexample to 2 is `wait turn == n` with one `turn += 1` of each member: the wait is for the first `n` of
//! more additions. It is refused, because the value might be passed before the waiting member looks.
//!
//! docs/soundness/credit.md says why these conditions suffice. Barriers, rows, and values that a loop carries are
//! refused.

mod exact;
mod residency;

use std::collections::HashSet;

use serde::Deserialize;
use serde::Serialize;

pub use exact::exact;
pub use residency::residency;

use super::cut::algebra;
use super::grid;
use super::grid::Frame;
use super::grid::Residency;
use super::grid::Setting;
use super::obligation::Obligation;
use super::program;
use super::program::Bound;
use super::program::Event;
use super::program::EventKind;
use super::program::Program;
use super::program::Unsupported;
use super::term;
use super::term::Term;
use super::translate::Env;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::VarId;
use residency::waits_somewhere;

/// The artefact: of every wait, in the order of roles and of their texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credit {
    /// Why a CTA of a grid that waits does no harm before it starts.
    pub residency: Residency,
    /// The waits.
    pub waits: Vec<Credited>,
}

/// The operations that a wait is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credited {
    /// Its rank, the most significant component first.
    pub rank: Vec<Affine>,
    /// The operations, in each of several cases.
    pub alternatives: Vec<Vec<Supply>>,
}

/// Executions of an addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supply {
    /// The role.
    pub role: usize,
    /// The operation, among the waits and additions of the role.
    pub event: usize,
    /// The executions: a value or a range for every index of the role, and for every loop around the operation.
    pub at: Vec<Place>,
}

/// Values of an index or loop variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// This one.
    At(Affine),
    /// From the first up to, but not including, the last.
    From(Affine, Affine),
}

/// A sum over these names: the indices of the waiting member, the loops around the wait, and parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affine {
    /// A number.
    pub number: i64,
    /// Indices and then loops, by position, with their factors.
    pub names: Vec<(usize, i64)>,
    /// Parameters, by position, with their factors.
    pub params: Vec<(usize, i64)>,
}

impl Affine {
    /// The sum as an expression over names.
    fn expr(&self, names: &[VarId], params: usize) -> Result<Expr, Unsupported> {
        let missing = || Unsupported::whole("a sum over something that does not exist");
        let mut sum = Expr::Int(self.number);
        for (at, times) in &self.names {
            let var = names.get(*at).ok_or_else(missing)?;
            sum = algebra::add(sum, algebra::mul(Expr::Int(*times), Expr::Var(*var)));
        }
        for (at, times) in &self.params {
            if *at >= params {
                return Err(missing());
            }
            let param = Expr::Param(ParamId(*at));
            sum = algebra::add(sum, algebra::mul(Expr::Int(*times), param));
        }
        Ok(sum)
    }
}

/// The programs of a protocol's roles.
///
/// # Errors
///
/// Names the first construct that the rule does not cover.
pub fn programs(protocol: &Protocol) -> Result<Vec<Program>, Unsupported> {
    for object in &protocol.objects {
        if !matches!(object.kind, ObjectKind::Semaphore(_)) {
            return Err(Unsupported::at(
                object.span,
                "an object that is not a semaphore",
            ));
        }
    }
    let mut all = Vec::new();
    for role in &protocol.roles {
        let program = program::summarize_with_sets(protocol, role)?;
        for event in &program.events {
            names(&[], event)?;
        }
        all.push(program);
    }
    let mut sets = HashSet::new();
    for event in all.iter().flat_map(|program| &program.events) {
        if matches!(event.kind, EventKind::Set { .. }) {
            sets.insert(event.cell.object);
        }
    }
    for event in all.iter().flat_map(|program| &program.events) {
        if exact(event) && sets.contains(&event.cell.object) {
            let what = "a wait for one value of a semaphore that is set";
            return Err(Unsupported::at(event.span, what));
        }
    }
    Ok(all)
}

/// The indices of a role and the variables of the loops around an operation.
pub fn names(indices: &[VarId], event: &Event) -> Result<Vec<VarId>, Unsupported> {
    let mut all = indices.to_vec();
    for bound in &event.bounds {
        match bound {
            Bound::Loop(binder) if matches!(binder.over, Iteration::Range { .. }) => {
                all.push(binder.var);
            }
            Bound::Loop(_) => return Err(Unsupported::at(event.span, "a loop over a row")),
            Bound::Previous { .. } | Bound::Last { .. } => {
                let what = "an operation that depends on what a loop carries";
                return Err(Unsupported::at(event.span, what));
            }
        }
    }
    Ok(all)
}

/// The waits of all roles: the role, and the operation among its waits and additions.
pub fn waits(programs: &[Program]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (role, program) in programs.iter().enumerate() {
        for (at, event) in program.events.iter().enumerate() {
            if matches!(event.kind, EventKind::Wait { .. }) {
                all.push((role, at));
            }
        }
    }
    all
}

/// Derives every obligation of the rule for this protocol and artefact.
///
/// # Errors
///
/// Refuses a protocol outside the rule's side conditions and an artefact that does not fit it.
pub fn obligations(protocol: &Protocol, credit: &Credit) -> Result<Vec<Obligation>, Unsupported> {
    let programs = programs(protocol)?;
    let waits = waits(&programs);
    let lengths: Vec<usize> = credit.waits.iter().map(|wait| wait.rank.len()).collect();
    if waits.len() != credit.waits.len() || lengths.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(Unsupported::whole(
            "as many waits, or ranks as long, as the certificate has",
        ));
    }
    let frames = protocol.roles.iter().zip(&programs);
    let frames = frames.map(|(role, program)| Frame::new(protocol, role, program, Vec::new(), 0));
    let mut rule = Rule {
        protocol,
        frames: frames.collect(),
        waits,
        credit,
    };
    for frame in &mut rule.frames {
        frame.everything_well_defined()?;
        if frame.role.launch.is_some() {
            match waits_somewhere(frame.program) && credit.residency == Residency::WholeGrid {
                true => frame.whole_grid()?,
                // A member that has started and does not wait finishes, and frees its place. The obligations of
                // `started` are about members that wait.
                false => frame.some_resident()?,
            }
        }
    }
    for nth in 0..rule.waits.len() {
        rule.started(nth)?;
        rule.supplied(nth)?;
        rule.descends(nth)?;
    }
    rule.one_sets()?;
    let mut all = Vec::new();
    for (nth, frame) in rule.frames.into_iter().enumerate() {
        for mut obligation in frame.all {
            obligation.name = format!("role{nth}_{}", obligation.name);
            all.push(obligation);
        }
    }
    Ok(all)
}

struct Rule<'a> {
    protocol: &'a Protocol,
    frames: Vec<Frame<'a>>,
    waits: Vec<(usize, usize)>,
    credit: &'a Credit,
}

/// A wait that is being executed.
struct Waiting {
    names: Vec<VarId>,
    env: Env,
    element: Vec<Term>,
    value: Term,
    /// The amount that is missing at the start.
    missing: Term,
}

impl<'a> Rule<'a> {
    fn event(&self, role: usize, at: usize) -> Result<&'a Event, Unsupported> {
        let frame = self.frames.get(role);
        let event = frame.and_then(|frame| frame.program.events.get(at));
        event.ok_or_else(|| Unsupported::whole("an operation that does not exist"))
    }

    fn indices(&self, role: usize) -> Vec<VarId> {
        let indices = self.frames[role].role.indices.iter();
        indices.map(|index| index.var).collect()
    }

    /// An arbitrary execution of a wait.
    fn waiting(&self, setting: &mut Setting<'_>, nth: usize) -> Result<Waiting, Unsupported> {
        let (role, at) = self.waits[nth];
        let (frame, wait) = (&self.frames[role], self.event(role, at)?);
        let c = frame.member(setting, "c")?;
        let there = frame.occurrence(setting, wait, &c, "c")?;
        let value = grid::wait_value(setting, wait, &there.env)?;
        let initial = frame.initial(setting, wait, &there.element)?;
        let missing = term::sub(&value, &initial);
        // A wait for exactly the start value needs no addition. But then no addition may follow.
        if !exact(wait) {
            setting.facts.push(term::le(&term::int(1), &missing));
        }
        Ok(Waiting {
            names: names(&self.indices(role), wait)?,
            value,
            missing,
            env: there.env,
            element: there.element,
        })
    }

    fn affine(
        &self,
        setting: &mut Setting<'_>,
        affine: &Affine,
        waiting: &Waiting,
    ) -> Result<Term, Unsupported> {
        let expr = affine.expr(&waiting.names, self.protocol.params.len())?;
        setting.terms.expr(&expr, &waiting.env)
    }

    /// An arbitrary execution among those that a supply names: its values, and the condition that it is among them.
    fn named(
        &self,
        setting: &mut Setting<'_>,
        supply: &Supply,
        waiting: &Waiting,
        tag: &str,
    ) -> Result<(Vec<Term>, Term), Unsupported> {
        let (mut values, mut among) = (Vec::new(), Vec::new());
        for (at, place) in supply.at.iter().enumerate() {
            match place {
                Place::At(one) => values.push(self.affine(setting, one, waiting)?),
                Place::From(from, to) => {
                    let value = setting.terms.constant(&format!("{tag}_{at}"));
                    let from = self.affine(setting, from, waiting)?;
                    let to = self.affine(setting, to, waiting)?;
                    among.push(term::within(&from, &value, &to));
                    values.push(value);
                }
            }
        }
        Ok((values, term::and(among)))
    }

    /// How many executions a supply names.
    fn number(&self, supply: &Supply, waiting: &Waiting) -> Result<Expr, Unsupported> {
        let mut product = Expr::Int(1);
        for place in &supply.at {
            if let Place::From(from, to) = place {
                let params = self.protocol.params.len();
                let from = from.expr(&waiting.names, params)?;
                let length = algebra::sub(to.expr(&waiting.names, params)?, from);
                // A range never has a negative length.
                let length = Expr::binary(BinaryOp::Max, Expr::Int(0), length);
                product = algebra::mul(product, length);
            }
        }
        Ok(product)
    }

    /// Condition 2.
    fn supplied(&mut self, nth: usize) -> Result<(), Unsupported> {
        let (role, at) = self.waits[nth];
        let wait = self.event(role, at)?;
        let mut setting = self.frames[role].setting()?;
        let waiting = self.waiting(&mut setting, nth)?;
        let mut alternatives = Vec::new();
        for (which, supplies) in self.credit.waits[nth].alternatives.iter().enumerate() {
            let (mut goals, mut total) = (Vec::new(), Vec::new());
            let mut sets = false;
            for (number, supply) in supplies.iter().enumerate() {
                let once =
                    |other: &Supply| (other.role, other.event) == (supply.role, supply.event);
                if supplies.iter().filter(|other| once(other)).count() != 1 {
                    return Err(Unsupported::whole("an operation that is named twice"));
                }
                let tag = format!("p{which}_{number}");
                let (values, among) = self.named(&mut setting, supply, &waiting, &tag)?;
                let add = self.event(supply.role, supply.event)?;
                let frame = &self.frames[supply.role];
                let Some((env, happens)) = frame.executed(&mut setting, add, &values)? else {
                    return Err(Unsupported::whole("values for other names than there are"));
                };
                let mut holds = vec![happens];
                if add.cell.object != wait.cell.object {
                    return Err(Unsupported::whole("an addition to another semaphore"));
                }
                for (index, wanted) in add.cell.index.iter().zip(&waiting.element) {
                    holds.push(term::eq(&setting.terms.expr(index, &env)?, wanted));
                }
                // An amount that is the same for all additions counts in full. Any other amount counts as 1.
                let amount = match &add.kind {
                    EventKind::Add { amount } if over_parameters(amount) => amount.clone(),
                    EventKind::Add { .. } if exact(wait) => {
                        let what = "an amount that changes, where one value is waited for";
                        return Err(Unsupported::at(add.span, what));
                    }
                    EventKind::Add { .. } => Expr::Int(1),
                    EventKind::Set { value } => {
                        let one = supply.at.iter().all(|at| matches!(at, Place::At(_)));
                        if !one || supplies.len() != 1 {
                            return Err(Unsupported::whole("several operations that set"));
                        }
                        holds.push(term::le(&waiting.value, &setting.terms.expr(value, &env)?));
                        goals.push(term::and(holds));
                        sets = true;
                        continue;
                    }
                    EventKind::Wait { .. } => {
                        return Err(Unsupported::whole("a wait where an addition belongs"));
                    }
                };
                goals.push(term::or([term::not(among), term::and(holds)]));
                let sum = algebra::mul(self.number(supply, &waiting)?, amount);
                total.push(setting.terms.expr(&sum, &waiting.env)?);
            }
            let total = term::sum(total);
            if exact(wait) {
                goals.push(term::eq(&waiting.missing, &total));
                let tag = format!("a{which}");
                let all = self.all_named(&mut setting, supplies, (wait, &waiting), &tag)?;
                goals.extend(all);
            } else if !sets {
                goals.push(term::le(&waiting.missing, &total));
            }
            alternatives.push(term::and(goals));
        }
        let frame = &mut self.frames[role];
        let meaning = format!(
            "there are additions that `{}` is for",
            frame.quote(wait.span)
        );
        let name = format!("supplied_s{}", wait.stmt.0);
        frame.conclude(name, meaning, setting, term::or(alternatives))
    }

    /// The operations that set semaphores.
    fn sets(&self) -> Vec<(usize, &'a Event)> {
        let all = self.frames.iter().enumerate();
        let all = all.flat_map(|(role, frame)| frame.program.events.iter().map(move |e| (role, e)));
        let sets = |event: &Event| matches!(event.kind, EventKind::Set { .. });
        all.filter(|(_, event)| sets(event)).collect()
    }

    /// Condition 4.
    fn one_sets(&mut self) -> Result<(), Unsupported> {
        let sets = self.sets();
        for frame in &self.frames {
            for event in &frame.program.events {
                let adds = matches!(event.kind, EventKind::Add { .. });
                if adds
                    && sets
                        .iter()
                        .any(|(_, set)| set.cell.object == event.cell.object)
                {
                    return Err(Unsupported::at(
                        event.span,
                        "a semaphore that is set and added to",
                    ));
                }
            }
        }
        for (role, first) in &sets {
            for (other, second) in &sets {
                if first.cell.object != second.cell.object {
                    continue;
                }
                let mut setting = self.frames[*role].setting()?;
                let c = self.frames[*role].member(&mut setting, "c")?;
                let d = self.frames[*other].member(&mut setting, "d")?;
                let at_c = self.frames[*role].occurrence(&mut setting, first, &c, "c")?;
                let at_d = self.frames[*other].occurrence(&mut setting, second, &d, "d")?;
                setting.facts.push(grid::same_element(&at_c, &at_d));
                let mut goals = vec![term::boolean(role == other)];
                let frame = &self.frames[*role];
                if role == other {
                    goals.extend(c.iter().zip(&d).map(|(c, d)| term::eq(c, d)));
                    let (of_c, of_d) = ((*first, &at_c.env), (*second, &at_d.env));
                    // An operation that is not certainly after the other one may come before it.
                    let after = frame.precedes(&mut setting, of_d, of_c)?;
                    let value_c = set_to(&mut setting, first, &at_c.env)?;
                    let value_d = set_to(&mut setting, second, &at_d.env)?;
                    let initial = frame.initial(&mut setting, first, &at_c.element)?;
                    goals.push(term::or([after, term::le(&value_c, &value_d)]));
                    goals.push(term::le(&initial, &value_c));
                }
                let frame = &mut self.frames[*role];
                let meaning = format!(
                    "one member sets what `{}` sets, to ever greater values",
                    frame.quote(first.span)
                );
                let name = format!("one_sets_s{}_s{}", first.stmt.0, second.stmt.0);
                frame.conclude(name, meaning, setting, term::and(goals))?;
            }
        }
        Ok(())
    }

    /// Condition 3.
    fn descends(&mut self, nth: usize) -> Result<(), Unsupported> {
        let (role, at) = self.waits[nth];
        let wait = self.event(role, at)?;
        for supply in self.credit.waits[nth].alternatives.iter().flatten() {
            let add = self.event(supply.role, supply.event)?;
            for (other, (other_role, other_at)) in self.waits.clone().into_iter().enumerate() {
                if other_role != supply.role {
                    continue;
                }
                let before = self.event(other_role, other_at)?;
                let mut setting = self.frames[role].setting()?;
                let waiting = self.waiting(&mut setting, nth)?;
                let (values, among) = self.named(&mut setting, supply, &waiting, "p")?;
                let frame = &self.frames[supply.role];
                let Some((env, happens)) = frame.executed(&mut setting, add, &values)? else {
                    return Err(Unsupported::whole("values for other names than there are"));
                };
                let member = values.get(..frame.role.indices.len()).unwrap_or_default();
                let there = frame.occurrence(&mut setting, before, member, "b")?;
                // A wait that is not certainly after the addition may come before it.
                let after = frame.precedes(&mut setting, (add, &env), (before, &there.env))?;
                setting.facts.extend([among, happens, term::not(after)]);
                for (index, wanted) in add.cell.index.iter().zip(&waiting.element) {
                    let index = setting.terms.expr(index, &env)?;
                    setting.facts.push(term::eq(&index, wanted));
                }
                let blocked = Waiting {
                    names: names(&self.indices(other_role), before)?,
                    env: there.env,
                    element: there.element,
                    value: term::int(0),
                    missing: term::int(0),
                };
                let lower = self.rank(&mut setting, other, &blocked)?;
                let higher = self.rank(&mut setting, nth, &waiting)?;
                let frame = &mut self.frames[role];
                let meaning = format!(
                    "whoever `{}` is for is held up at a lower rank only",
                    frame.quote(wait.span)
                );
                let name = format!(
                    "descends_s{}_s{}_s{}",
                    wait.stmt.0, add.stmt.0, before.stmt.0
                );
                frame.conclude(name, meaning, setting, grid::lexicographic(&lower, &higher))?;
            }
        }
        Ok(())
    }

    fn rank(
        &self,
        setting: &mut Setting<'_>,
        nth: usize,
        waiting: &Waiting,
    ) -> Result<Vec<Term>, Unsupported> {
        let rank = self.credit.waits[nth].rank.iter();
        rank.map(|affine| self.affine(setting, affine, waiting))
            .collect()
    }
}

/// The value that an operation sets a semaphore to.
fn set_to(setting: &mut Setting<'_>, set: &Event, env: &Env) -> Result<Term, Unsupported> {
    match &set.kind {
        EventKind::Set { value } => setting.terms.expr(value, env),
        _ => Err(Unsupported::at(set.span, "an operation that does not set")),
    }
}

/// Whether an expression is over parameters alone.
fn over_parameters(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Param(_) => true,
        Expr::Binary(BinaryOp::Add | BinaryOp::Mul, a, b) => {
            over_parameters(a) && over_parameters(b)
        }
        _ => false,
    }
}
