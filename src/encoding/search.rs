//! Finds the smallest failing input of a box.
//!
//! The formula of [`super::stuck`] is solved once. If it has a model, the objectives are minimised one after the
//! other by bisection. Each objective is fixed at its least value before the next one is minimised. If a parameter
//! has a listed set of values, the values are tried one by one (all combinations, if there are several such
//! parameters). The reason: such parameters tend to be tile sizes, and with fixed tile sizes the arithmetic is
//! linear.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use z3::Model;
use z3::Params;
use z3::SatResult;
use z3::Solver;
use z3::ast::Int;

use super::evaluate::Evaluator;
use super::evaluate::grid;
use super::stuck;
use super::stuck::Run;
use super::unroll;
use super::unroll::EventKind;
use super::unroll::OpenOrder;
use super::unroll::OrderOwner;
use super::unroll::Refused;
use super::unroll::Unrolled;
use super::value::Num;
use super::value::Truth;
use crate::fresh;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;

/// A quantity that the search makes as small as possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objective {
    /// The value of a parameter.
    Param(ParamId),
    /// The number of entries of all patterns together.
    Entries,
    /// The sum of the initial values of semaphores whose memory is not cleared.
    Initial,
}

/// Narrows a search to inputs of one origin. For example, the tile patterns may have to come from packed sequences.
/// Both methods are called once per box, in this order.
pub trait Restriction: Sync {
    /// Constrains the parameters and patterns of a box, before the protocol is unrolled.
    fn restrict(&self, evaluator: &mut Evaluator<'_>) -> Restricted;

    /// Constrains the row orders that the protocol leaves open.
    fn order(&self, evaluator: &mut Evaluator<'_>, orders: &[OpenOrder]);
}

/// What a [`Restriction`] adds to a search.
#[derive(Debug, Clone, Default)]
pub struct Restricted {
    /// Terms that are minimised before all objectives, in this order. None of them is negative.
    pub goals: Vec<Num>,
    /// Terms whose values in the model are stored in [`Candidate::values`].
    pub values: Vec<Num>,
}

/// A run to a stuck state that has yet to be replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The values of [`Restricted::goals`].
    pub goals: Vec<i64>,
    /// The values of [`Restricted::values`].
    pub values: Vec<i64>,
    /// The input.
    pub input: Input,
    /// The schedule.
    pub schedule: Vec<Move>,
    /// Whether every objective reached its least value inside the box.
    pub minimal: bool,
}

/// One action of a schedule. The member is named by the position of its role and its index values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Whether the member starts, rather than executes its next operation.
    pub starts: bool,
    /// Position of the role.
    pub role: usize,
    /// Index values of the member.
    pub member: Vec<i64>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A stuck state, not yet replayed.
    Stuck(Box<Candidate>),
    /// No input of the box can get stuck.
    Nothing,
    /// The box holds no input at all.
    Empty,
    /// No answer, with the reason.
    Unknown(String),
    /// A construct this encoding does not know.
    Unsupported(String),
}

/// How long to search and when to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Whether loops with a symbolic start are searched wherever they start. Otherwise only those are searched that
    /// stay within `0..size`. This is much faster, and a [`Found::Nothing`] is then about those loops only.
    pub thorough: bool,
    /// When the search must be over.
    pub deadline: Instant,
    /// Set from outside to end the search.
    pub cancel: &'a AtomicBool,
}

impl Limits<'_> {
    /// The time left, `None` when the search must end.
    fn left(&self) -> Option<Duration> {
        if self.cancel.load(Ordering::Relaxed) {
            return None;
        }
        self.deadline
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    }
}

/// The default order: parameters as declared, then entries, then residency, then initial values.
pub fn default_objectives(protocol: &Protocol) -> Vec<Objective> {
    let mut resident = BTreeSet::new();
    for role in &protocol.roles {
        if let Some(Resident::AtMost(limit)) = role.launch.as_ref().map(|l| &l.resident) {
            params_of(limit, &mut resident);
        }
    }
    let (late, early): (Vec<ParamId>, Vec<ParamId>) = (0..protocol.params.len())
        .map(ParamId)
        .partition(|id| resident.contains(id));
    let mut order: Vec<Objective> = early.into_iter().map(Objective::Param).collect();
    order.push(Objective::Entries);
    order.extend(late.into_iter().map(Objective::Param));
    order.push(Objective::Initial);
    order
}

fn params_of(expr: &Expr, into: &mut BTreeSet<ParamId>) {
    match expr {
        Expr::Param(id) => {
            into.insert(*id);
        }
        Expr::Neg(e) | Expr::Not(e) => params_of(e, into),
        Expr::Binary(_, a, b) => {
            params_of(a, into);
            params_of(b, into);
        }
        Expr::If(c, a, b) => {
            params_of(c, into);
            params_of(a, into);
            params_of(b, into);
        }
        Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) | Expr::Visits(..) | Expr::Count { .. } => {}
    }
}

/// Searches the box in which every extent has at most `size` values and every loop at most
/// `size` iterations; see [`Limits::thorough`].
pub fn smallest(
    protocol: &Protocol,
    size: i64,
    objectives: &[Objective],
    limits: &Limits<'_>,
) -> Found {
    smallest_of(protocol, None, size, objectives, limits)
}

/// Searches the part of a box that a restriction allows.
pub fn smallest_of(
    protocol: &Protocol,
    restriction: Option<&dyn Restriction>,
    size: i64,
    objectives: &[Objective],
    limits: &Limits<'_>,
) -> Found {
    let mut best: Option<(Vec<i64>, Candidate)> = None;
    let mut inputs = false;
    for fixed in listed_combinations(protocol) {
        match in_box(protocol, restriction, &fixed, size, objectives, limits) {
            Found::Stuck(candidate) => {
                let mut key = candidate.goals.clone();
                key.extend(rank(protocol, objectives, &candidate.input));
                if best.as_ref().is_none_or(|(least, _)| key < *least) {
                    best = Some((key, *candidate));
                }
            }
            Found::Nothing => inputs = true,
            Found::Empty => {}
            undecided => {
                // The search got no answer here, so there may be a smaller candidate.
                return match best {
                    Some((_, candidate)) => Found::Stuck(Box::new(Candidate {
                        minimal: false,
                        ..candidate
                    })),
                    None => undecided,
                };
            }
        }
    }
    match best {
        Some((_, candidate)) => Found::Stuck(Box::new(candidate)),
        None if inputs => Found::Nothing,
        None => Found::Empty,
    }
}

/// The values of the objectives at an input.
pub fn rank(protocol: &Protocol, objectives: &[Objective], input: &Input) -> Vec<i64> {
    let open = protocol.patterns.iter().zip(&input.patterns);
    let entries = open
        .filter(|(p, _)| p.definition.is_none())
        .map(|(_, e)| e.len() as i64)
        .sum();
    objectives
        .iter()
        .map(|objective| match objective {
            Objective::Param(id) => input.params[id.0],
            Objective::Entries => entries,
            Objective::Initial => input.initial.values().sum(),
        })
        .collect()
}

/// Every combination of the parameters with a listed set of values.
fn listed_combinations(protocol: &Protocol) -> Vec<Vec<(ParamId, i64)>> {
    let mut all = vec![Vec::new()];
    for (at, param) in protocol.params.iter().enumerate() {
        let Domain::Set(values) = &param.domain else {
            continue;
        };
        // Beyond this many the parameter stays symbolic.
        if all.len() * values.len() > 64 {
            continue;
        }
        let mut longer = Vec::new();
        for chosen in all {
            for value in values {
                let mut chosen: Vec<(ParamId, i64)> = chosen.clone();
                chosen.push((ParamId(at), *value));
                longer.push(chosen);
            }
        }
        all = longer;
    }
    all
}

fn in_box(
    protocol: &Protocol,
    restriction: Option<&dyn Restriction>,
    fixed: &[(ParamId, i64)],
    size: i64,
    objectives: &[Objective],
    limits: &Limits<'_>,
) -> Found {
    let try_with = |relative| {
        attempt(
            protocol,
            restriction,
            fixed,
            (size, relative),
            objectives,
            limits,
        )
    };
    let (found, has_open_start) = try_with(false);
    if !(limits.thorough && has_open_start) {
        return found;
    }
    match found {
        Found::Nothing | Found::Empty => try_with(true).0,
        found => found,
    }
}

/// One search of a box. Also returns whether some range has a symbolic start.
fn attempt(
    protocol: &Protocol,
    restriction: Option<&dyn Restriction>,
    fixed: &[(ParamId, i64)],
    (size, relative): (i64, bool),
    objectives: &[Objective],
    limits: &Limits<'_>,
) -> (Found, bool) {
    if let Err(construct) = unroll::covered(protocol) {
        return (Found::Unsupported(construct.to_owned()), false);
    }
    // A fresh context, so that the result does not depend on what was solved before.
    fresh::context(|| {
        let mut evaluator = Evaluator::new(protocol, fixed, size, relative);
        let restricted = restriction.map(|it| it.restrict(&mut evaluator));
        let unrolled = match unroll::unroll(&mut evaluator) {
            Ok(unrolled) => unrolled,
            Err(Refused::Construct(construct)) => return (Found::Unsupported(construct), false),
            Err(Refused::TooLarge) => {
                return (
                    Found::Unknown("too many events to write out".to_owned()),
                    false,
                );
            }
        };
        if let Some(restriction) = restriction {
            restriction.order(&mut evaluator, &unrolled.orders);
        }
        let run = stuck::stuck(&mut evaluator, &unrolled);
        let has_open_start = evaluator.has_open_start;
        let solver = Solver::new();
        for constraint in evaluator.constraints.iter().chain(&run.constraints) {
            solver.assert(constraint);
        }
        let mut search = Search {
            evaluator,
            restricted: restricted.unwrap_or_default(),
            unrolled,
            run,
            solver,
            limits,
        };
        (search.solve(objectives), has_open_start)
    })
}

/// Sat or unsat, or why there is no answer.
fn check(solver: &Solver, limits: &Limits<'_>) -> Result<SatResult, String> {
    let Some(left) = limits.left() else {
        return Err("time limit".to_owned());
    };
    let mut params = Params::new();
    let milliseconds = u32::try_from(left.as_millis()).unwrap_or(u32::MAX).max(1);
    params.set_u32("timeout", milliseconds);
    params.set_u32("random_seed", 0);
    // Otherwise Z3 would catch the interrupt signal in place of this program, and its answer would be none.
    params.set_bool("ctrl_c", false);
    solver.set_params(&params);
    match solver.check() {
        SatResult::Unknown => Err(solver
            .get_reason_unknown()
            .unwrap_or_else(|| "no reason given".to_owned())),
        answer => Ok(answer),
    }
}

struct Search<'a, 'p> {
    evaluator: Evaluator<'p>,
    restricted: Restricted,
    unrolled: Unrolled,
    run: Run,
    solver: Solver,
    limits: &'a Limits<'a>,
}

impl Search<'_, '_> {
    fn check(&self) -> Result<SatResult, String> {
        check(&self.solver, self.limits)
    }

    fn solve(&mut self, objectives: &[Objective]) -> Found {
        match self.check() {
            Ok(SatResult::Sat) => {}
            Ok(_) => return self.nothing(),
            Err(reason) => return Found::Unknown(reason),
        }
        let Some(mut best) = self.model() else {
            return Found::Unknown("the solver gave no model".to_owned());
        };
        let mut minimal = true;
        let goals = self.restricted.goals.iter().map(|goal| (goal.clone(), 0));
        let mut wanted: Vec<(Num, i64)> = goals.collect();
        for objective in objectives {
            wanted.push((self.objective(objective), self.least(objective)));
        }
        for (value, mut low) in wanted {
            let Num::Term(term) = value else {
                continue;
            };
            let Some(mut value) = number(&best, &term) else {
                continue;
            };
            while low < value {
                let middle = low + (value - low) / 2;
                self.solver.push();
                self.solver.assert(term.le(Int::from_i64(middle)));
                match self.check() {
                    Ok(SatResult::Sat) => match self.model() {
                        Some(model) => {
                            value = number(&model, &term).unwrap_or(middle);
                            best = model;
                        }
                        None => minimal = false,
                    },
                    Ok(_) => low = middle + 1,
                    Err(_) => minimal = false,
                }
                self.solver.pop(1);
                if !minimal {
                    break;
                }
            }
            self.solver.assert(term.le(Int::from_i64(value)));
        }
        Found::Stuck(Box::new(self.candidate(&best, minimal)))
    }

    /// The result if there is no stuck state. It depends on whether the box contains any input.
    fn nothing(&self) -> Found {
        let inputs = Solver::new();
        for constraint in &self.evaluator.constraints {
            inputs.assert(constraint);
        }
        match check(&inputs, self.limits) {
            Ok(SatResult::Unsat) => Found::Empty,
            Ok(_) => Found::Nothing,
            Err(reason) => Found::Unknown(reason),
        }
    }

    fn model(&self) -> Option<Model> {
        self.solver.get_model()
    }

    fn objective(&mut self, objective: &Objective) -> Num {
        match objective {
            Objective::Param(id) => self.evaluator.params[id.0].clone(),
            Objective::Initial => Num::sum(
                self.run
                    .initial
                    .iter()
                    .map(|one| Num::Term(one.value.clone())),
            ),
            Objective::Entries => {
                let mut counts = Vec::new();
                for (at, pattern) in self.evaluator.protocol.patterns.iter().enumerate() {
                    if pattern.definition.is_none() {
                        for coordinates in grid(&vec![self.evaluator.size; pattern.extents.len()]) {
                            let at_known: Vec<Num> =
                                coordinates.into_iter().map(Num::Known).collect();
                            counts.push(self.evaluator.visits(PatternId(at), &at_known).count());
                        }
                    }
                }
                Num::sum(counts)
            }
        }
    }

    fn least(&self, objective: &Objective) -> i64 {
        match objective {
            Objective::Param(id) => match &self.evaluator.protocol.params[id.0].domain {
                Domain::AtLeast(lo) | Domain::Range(lo, _) => *lo,
                Domain::Set(values) => values.first().copied().unwrap_or(0),
            },
            Objective::Entries | Objective::Initial => 0,
        }
    }

    fn candidate(&mut self, model: &Model, minimal: bool) -> Candidate {
        let protocol = self.evaluator.protocol;
        let params: Vec<i64> = self
            .evaluator
            .params
            .iter()
            .map(|value| known(model, value))
            .collect();
        let mut patterns = Vec::new();
        for (at, pattern) in protocol.patterns.iter().enumerate() {
            let mut entries = BTreeSet::new();
            if pattern.definition.is_none() {
                for coordinates in grid(&vec![self.evaluator.size; pattern.extents.len()]) {
                    let at_known: Vec<Num> = coordinates.iter().copied().map(Num::Known).collect();
                    let visited = self.evaluator.visits(PatternId(at), &at_known);
                    if holds(model, &visited) {
                        entries.insert(coordinates);
                    }
                }
            }
            patterns.push(entries);
        }
        let orders = self.orders(model);
        let mut initial = BTreeMap::new();
        for one in self
            .run
            .initial
            .iter()
            .filter(|one| holds(model, &one.guard))
        {
            let index: Vec<i64> = one.index.iter().map(|x| known(model, x)).collect();
            let value = number(model, &one.value).unwrap_or(0);
            if value != 0 {
                initial.insert((one.object, index), value);
            }
        }
        let schedule = self.schedule(model);
        let values = |of: &[Num]| of.iter().map(|value| known(model, value)).collect();
        Candidate {
            goals: values(&self.restricted.goals),
            values: values(&self.restricted.values),
            input: Input {
                params,
                patterns,
                orders,
                initial,
            },
            schedule,
            minimal,
        }
    }

    fn orders(&self, model: &Model) -> BTreeMap<OrderKey, Vec<i64>> {
        let mut orders = BTreeMap::new();
        let mut runs: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (order, guard) in self.unrolled.orders.iter().zip(&self.unrolled.order_guards) {
            if !holds(model, guard) {
                continue;
            }
            let mut entries: Vec<(i64, i64)> = (0..)
                .zip(order.visited.iter().zip(&order.position))
                .filter(|(_, (visited, _))| holds(model, visited))
                .map(|(entry, (_, position))| (number(model, position).unwrap_or(0), entry))
                .collect();
            entries.sort_unstable();
            let key = match &order.owner {
                OrderOwner::Row { pattern, row } => OrderKey::Row {
                    pattern: pattern.0,
                    row: row.clone(),
                },
                OrderOwner::Run { stmt, member } => {
                    let run = runs.entry((stmt.0, *member)).or_default();
                    *run += 1;
                    let who = &self.unrolled.members[*member];
                    OrderKey::Loop {
                        stmt: stmt.0,
                        role: who.role,
                        member: who.index.clone(),
                        run: *run - 1,
                    }
                }
            };
            orders.insert(key, entries.into_iter().map(|(_, entry)| entry).collect());
        }
        orders
    }

    fn schedule(&self, model: &Model) -> Vec<Move> {
        let mut moves = Vec::new();
        for (m, member) in self.unrolled.members.iter().enumerate() {
            let act = |starts| Move {
                starts,
                role: member.role,
                member: member.index.clone(),
            };
            let launched = self.evaluator.protocol.roles[member.role].launch.is_some();
            if launched && holds(model, &self.run.started[m]) {
                moves.push((number(model, &self.run.start[m]).unwrap_or(0), 0, act(true)));
            }
            for (e, event) in member.events.iter().enumerate() {
                if holds(model, &self.run.executed[m][e]) {
                    // A wait does not see an addition of the same time.
                    let class = match event.kind {
                        EventKind::Wait { .. } => 1,
                        EventKind::Add { .. } => 2,
                    };
                    let time = number(model, &self.run.time[m][e]).unwrap_or(0);
                    moves.push((time, class, act(false)));
                }
            }
        }
        moves.sort_by_key(|(time, class, _)| (*time, *class));
        moves.into_iter().map(|(_, _, act)| act).collect()
    }
}

fn number(model: &Model, term: &Int) -> Option<i64> {
    model.eval(term, true)?.as_i64()
}

fn known(model: &Model, value: &Num) -> i64 {
    match value {
        Num::Known(value) => *value,
        Num::Term(term) => number(model, term).unwrap_or(0),
    }
}

fn holds(model: &Model, truth: &Truth) -> bool {
    match truth {
        Truth::Known(value) => *value,
        Truth::Term(term) => model
            .eval(term, true)
            .and_then(|v| v.as_bool())
            .unwrap_or(false),
    }
}
