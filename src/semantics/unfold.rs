//! Unfolds a protocol at one input into an instance.
//!
//! The input is checked on the way: parameters against domains and assumptions, entries
//! against extents, row orders against rows. What the protocol leaves open and the input does
//! not fix is recorded as a [`Choice`], in the order met; [`super::inputs`] enumerates inputs
//! by going through these.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::protocol::Cell;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::Launch;
use crate::protocol::LaunchOrder;
use crate::protocol::Object;
use crate::protocol::ObjectKind;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::protocol::RowOrder;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;

use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::input::OrderKey;
use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Instance;
use super::instance::LaunchPlan;
use super::instance::Member;
use super::instance::ObjectLayout;
use super::instance::Op;
use super::instance::OpKind;
use super::instance::RoleLayout;
use super::pattern::PatternData;

/// How large an instance may get before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations of all members together.
    pub ops: u64,
    /// Members of all roles together.
    pub members: u64,
    /// Cells of all objects together.
    pub cells: u64,
    /// Expression nodes and statements evaluated.
    pub work: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            ops: 50_000_000,
            members: 10_000_000,
            cells: 10_000_000,
            work: 4_000_000_000,
        }
    }
}

/// A row order that the protocol leaves open and that a run of it made use of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What is ordered.
    pub key: OrderKey,
    /// The row's entries, ascending; at least two.
    pub row: Vec<i64>,
}

/// The instance of a protocol at an input.
pub fn instantiate(protocol: &Protocol, input: &Input) -> Result<Instance, RunError> {
    instantiate_with(protocol, input, &Limits::default()).map(|(instance, _)| instance)
}

/// The instance and the row orders it used, in the order met, under these limits.
pub fn instantiate_with(
    protocol: &Protocol,
    input: &Input,
    limits: &Limits,
) -> Result<(Instance, Vec<Choice>), RunError> {
    check_params(protocol, &input.params)?;
    let patterns = pattern_data(protocol, input, limits)?;
    let mut unfolder = Unfolder {
        input,
        limits,
        env: Env::new(protocol, &input.params, &patterns, limits.work),
        objects: Vec::new(),
        cells: Vec::new(),
        members: Vec::new(),
        op_count: 0,
        member: Walk::default(),
        choices: Vec::new(),
        chosen: BTreeSet::new(),
    };
    for object in &protocol.objects {
        unfolder
            .object(object)
            .map_err(|f| RunError::at(f, object.span))?;
    }
    unfolder.start_values(protocol)?;
    let mut roles = Vec::new();
    for position in 0..protocol.roles.len() {
        roles.push(unfolder.role(protocol, position)?);
    }
    let instance = Instance {
        members: unfolder.members,
        cells: unfolder.cells,
        objects: unfolder.objects,
        roles,
        spans: statement_spans(protocol),
    };
    Ok((instance, unfolder.choices))
}

/// Checks parameter values against the declared domains and the assumptions.
pub fn check_params(protocol: &Protocol, params: &[i64]) -> Result<(), RunError> {
    if params.len() != protocol.params.len() {
        return Err(RunError::from(Fault::ParamCount {
            expected: protocol.params.len(),
            found: params.len(),
        }));
    }
    for (param, value) in protocol.params.iter().zip(params) {
        let inside = match &param.domain {
            Domain::AtLeast(lo) => value >= lo,
            Domain::Range(lo, hi) => (lo..=hi).contains(&value),
            Domain::Set(values) => values.contains(value),
        };
        if !inside {
            let fault = Fault::OutsideDomain {
                name: param.name.clone(),
                value: *value,
            };
            return Err(RunError::at(fault, param.span));
        }
    }
    let mut env = Env::new(protocol, params, &[], Limits::default().work);
    for assumption in &protocol.assumptions {
        let holds = env.truth(&assumption.condition);
        let fault = match holds {
            Ok(true) => continue,
            Ok(false) => Fault::AssumptionViolated(assumption.text.clone()),
            Err(fault) => fault,
        };
        return Err(RunError {
            fault,
            span: assumption.span,
        });
    }
    Ok(())
}

/// The entries of every pattern: given by the input, or computed where the protocol defines it.
pub fn pattern_data(
    protocol: &Protocol,
    input: &Input,
    limits: &Limits,
) -> Result<Vec<PatternData>, RunError> {
    if input.patterns.len() != protocol.patterns.len() {
        return Err(RunError::from(Fault::PatternCount {
            expected: protocol.patterns.len(),
            found: input.patterns.len(),
        }));
    }
    let mut done: Vec<PatternData> = Vec::new();
    for (pattern, given) in protocol.patterns.iter().zip(&input.patterns) {
        let data = (|| {
            let mut env = Env::new(protocol, &input.params, &done, limits.work);
            let extents = env.values(&pattern.extents)?;
            let Some((names, condition)) = &pattern.definition else {
                let entries = given.iter().map(Vec::as_slice);
                return PatternData::new(&pattern.name, &extents, entries);
            };
            if !given.is_empty() {
                return Err(Fault::EntriesOfDefined(pattern.name.clone()));
            }
            if names.len() != extents.len() {
                return Err(Fault::Arity {
                    name: pattern.name.clone(),
                    expected: extents.len(),
                    found: names.len(),
                });
            }
            let mut entries = Vec::new();
            let mut at = IndexValues::new(&extents);
            while let Some(values) = at.next() {
                for (name, value) in names.iter().zip(&values) {
                    env.set(*name, *value)?;
                }
                if env.truth(condition)? {
                    entries.push(values);
                }
            }
            PatternData::new(&pattern.name, &extents, entries.iter().map(Vec::as_slice))
        })();
        done.push(data.map_err(|fault| RunError::at(fault, pattern.span))?);
    }
    Ok(done)
}

/// All index combinations below some extents, lexicographic.
#[derive(Debug, Clone)]
pub(super) struct IndexValues {
    extents: Vec<i64>,
    next: Option<Vec<i64>>,
}

impl IndexValues {
    /// The combinations; none when an extent is 0 or less, one when there is no extent.
    pub(super) fn new(extents: &[i64]) -> IndexValues {
        IndexValues {
            next: extents
                .iter()
                .all(|e| *e > 0)
                .then(|| vec![0; extents.len()]),
            extents: extents.to_vec(),
        }
    }
}

impl Iterator for IndexValues {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        for (value, extent) in following.iter_mut().zip(&self.extents).rev() {
            *value += 1;
            if *value < *extent {
                self.next = Some(following);
                break;
            }
            *value = 0;
        }
        Some(current)
    }
}

/// What a statement does to the statements after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Onward,
    Break,
    Return,
}

/// The member being unfolded.
#[derive(Default)]
struct Walk {
    role: usize,
    index: Vec<i64>,
    ops: Vec<Op>,
    /// How often each loop of open order has run.
    runs: BTreeMap<StmtId, usize>,
}

struct Unfolder<'a> {
    input: &'a Input,
    limits: &'a Limits,
    env: Env<'a>,
    objects: Vec<ObjectLayout>,
    cells: Vec<CellStart>,
    members: Vec<Member>,
    op_count: u64,
    member: Walk,
    choices: Vec<Choice>,
    chosen: BTreeSet<OrderKey>,
}

impl Unfolder<'_> {
    fn object(&mut self, object: &Object) -> Result<(), Fault> {
        let extents: Vec<i64> = self
            .env
            .values(&object.extents)?
            .into_iter()
            .map(|e| e.max(0))
            .collect();
        let first = self.cells.len();
        let count = size(&extents, self.limits.cells, first as u64, "cells")?;
        let start = match &object.kind {
            ObjectKind::Semaphore(Initial::Value(value)) => {
                CellStart::Semaphore(self.env.value(value)?)
            }
            ObjectKind::Semaphore(Initial::Any) => CellStart::Semaphore(0),
            ObjectKind::Mbarrier { arrivals } => {
                let arrivals = self.env.value(arrivals)?;
                // A barrier that no element of exists expects nothing.
                if arrivals < 1 && count > 0 {
                    return Err(Fault::ArrivalCount(arrivals));
                }
                CellStart::Mbarrier(arrivals)
            }
            ObjectKind::Named => CellStart::Named,
        };
        self.cells.resize(first + count, start);
        self.objects.push(ObjectLayout {
            name: object.name.clone(),
            extents,
            cells: first..first + count,
        });
        Ok(())
    }

    fn start_values(&mut self, protocol: &Protocol) -> Result<(), RunError> {
        for ((object, index), value) in &self.input.initial {
            let declared = protocol.objects.get(*object);
            let open = declared.is_some_and(|o| o.kind == ObjectKind::Semaphore(Initial::Any));
            let flat = flat_cell(&self.objects, *object, index).ok();
            match flat {
                Some(flat) if open && *value >= 0 => {
                    self.cells[flat] = CellStart::Semaphore(*value);
                }
                _ => {
                    let name = declared.map(|o| o.name.clone());
                    return Err(RunError {
                        fault: Fault::BadInitial {
                            object: name.unwrap_or_else(|| object.to_string()),
                            index: index.clone(),
                            value: *value,
                        },
                        span: declared.map(|o| o.span),
                    });
                }
            }
        }
        Ok(())
    }

    fn role(&mut self, protocol: &Protocol, position: usize) -> Result<RoleLayout, RunError> {
        let role = &protocol.roles[position];
        let in_header = |fault| RunError::at(fault, role.span);
        self.env.clear();
        let extents: Vec<Expr> = role.indices.iter().map(|i| i.extent.clone()).collect();
        let extents = self.env.values(&extents).map_err(in_header)?;
        let first = self.members.len();
        size(&extents, self.limits.members, first as u64, "members").map_err(in_header)?;
        for index in IndexValues::new(&extents) {
            self.env.clear();
            for (name, value) in role.indices.iter().zip(&index) {
                self.env.set(name.var, *value).map_err(in_header)?;
            }
            self.member = Walk {
                role: position,
                index,
                ..Walk::default()
            };
            self.block(&role.body)?;
            let walk = std::mem::take(&mut self.member);
            self.members.push(Member {
                role: position,
                index: walk.index,
                ops: walk.ops,
            });
        }
        let members = first..self.members.len();
        self.env.clear();
        let launch = role.launch.as_ref();
        let launch = launch.map(|l| self.launch(l, members.clone())).transpose();
        Ok(RoleLayout {
            name: role.name.clone(),
            launch: launch.map_err(in_header)?,
            members,
        })
    }

    fn launch(&mut self, launch: &Launch, members: Range<usize>) -> Result<LaunchPlan, Fault> {
        let order = match &launch.order {
            LaunchOrder::Any => None,
            LaunchOrder::Sorted(keys) => {
                let mut order: Vec<usize> = members.collect();
                order.sort_by(|a, b| {
                    let at = |member: &usize, index| self.members[*member].index.get(index);
                    keys.iter()
                        .map(|key| {
                            let ascending = at(a, key.index).cmp(&at(b, key.index));
                            if key.descending {
                                ascending.reverse()
                            } else {
                                ascending
                            }
                        })
                        .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                });
                Some(order)
            }
        };
        let resident = match &launch.resident {
            Resident::All => None,
            Resident::AtMost(count) => {
                let count = self.env.value(count)?;
                if count < 1 {
                    return Err(Fault::Resident(count));
                }
                Some(usize::try_from(count).unwrap_or(usize::MAX))
            }
        };
        Ok(LaunchPlan { order, resident })
    }

    fn block(&mut self, body: &[Stmt]) -> Result<Flow, RunError> {
        for stmt in body {
            let flow = match &stmt.kind {
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    let holds = self.env.truth(condition);
                    let holds = holds.map_err(|f| RunError::at(f, stmt.span))?;
                    self.block(if holds { then } else { otherwise })?
                }
                StmtKind::For { var, over, body } => {
                    let values = self.iteration(stmt.id, over);
                    let values = values.map_err(|f| RunError::at(f, stmt.span))?;
                    let mut flow = Flow::Onward;
                    for value in values {
                        let bound = self.env.tick().and_then(|()| self.env.set(*var, value));
                        bound.map_err(|f| RunError::at(f, stmt.span))?;
                        flow = self.block(body)?;
                        if flow != Flow::Onward {
                            break;
                        }
                    }
                    if flow == Flow::Break {
                        Flow::Onward
                    } else {
                        flow
                    }
                }
                StmtKind::Return => Flow::Return,
                StmtKind::Break => Flow::Break,
                _ => {
                    self.simple(stmt).map_err(|f| RunError::at(f, stmt.span))?;
                    Flow::Onward
                }
            };
            if flow != Flow::Onward {
                return Ok(flow);
            }
        }
        Ok(Flow::Onward)
    }

    fn iteration(&mut self, stmt: StmtId, over: &Iteration) -> Result<Values, Fault> {
        match over {
            Iteration::Range { lo, hi, descending } => {
                let (lo, hi) = (self.env.value(lo)?, self.env.value(hi)?);
                Ok(if *descending {
                    Values::Down((lo..hi).rev())
                } else {
                    Values::Up(lo..hi)
                })
            }
            Iteration::Row {
                pattern,
                row,
                order,
            } => {
                let row = self.env.values(row)?;
                let values = self.row(stmt, *pattern, row, *order)?;
                Ok(Values::Listed(values.into_iter()))
            }
        }
    }

    fn row(
        &mut self,
        stmt: StmtId,
        pattern: PatternId,
        row: Vec<i64>,
        order: RowOrder,
    ) -> Result<Vec<i64>, Fault> {
        let mut ascending = self.env.pattern(pattern)?.row(&row);
        let key = match order {
            RowOrder::Ascending => return Ok(ascending),
            RowOrder::Descending => {
                ascending.reverse();
                return Ok(ascending);
            }
            RowOrder::Given => OrderKey::Row {
                pattern: pattern.0,
                row,
            },
            RowOrder::Any => {
                let run = self.member.runs.entry(stmt).or_default();
                *run += 1;
                OrderKey::Loop {
                    stmt: stmt.0,
                    role: self.member.role,
                    member: self.member.index.clone(),
                    run: *run - 1,
                }
            }
        };
        let given = self.input.orders.get(&key);
        if let Some(given) = given {
            let mut sorted = given.clone();
            sorted.sort_unstable();
            if sorted != ascending {
                return Err(Fault::BadOrder {
                    row: ascending,
                    given: given.clone(),
                });
            }
        }
        let values = given.unwrap_or(&ascending).clone();
        if ascending.len() > 1 && self.chosen.insert(key.clone()) {
            let row = ascending;
            self.choices.push(Choice { key, row });
        }
        Ok(values)
    }

    /// A statement that is neither compound nor a jump.
    fn simple(&mut self, stmt: &Stmt) -> Result<(), Fault> {
        let env = &mut self.env;
        env.tick()?;
        let (cell, kind) = match &stmt.kind {
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => (cell, OpKind::Wait(*comparison, env.value(value)?)),
            StmtKind::Add { cell, amount } => match env.value(amount)? {
                amount if amount < 0 => return Err(Fault::NegativeAmount(amount)),
                amount => (cell, OpKind::Add(amount)),
            },
            StmtKind::Set { cell, value } => (cell, OpKind::Set(env.value(value)?)),
            StmtKind::Arrive { cell, count } => match env.value(count)? {
                count if count < 1 => return Err(Fault::ArrivalCount(count)),
                count => (cell, OpKind::Arrive(count)),
            },
            StmtKind::WaitParity { cell, parity } => match env.value(parity)? {
                parity @ 0..=1 => (cell, OpKind::WaitParity(parity == 1)),
                parity => return Err(Fault::Parity(parity)),
            },
            StmtKind::Sync { cell, count } => {
                (cell, OpKind::Sync(thread_count(env.value(count)?)?))
            }
            StmtKind::BarArrive { cell, count } => {
                (cell, OpKind::BarArrive(thread_count(env.value(count)?)?))
            }
            StmtKind::Assign { var, value } => {
                let value = env.value(value)?;
                return env.set(*var, value);
            }
            StmtKind::Access { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Return
            | StmtKind::Break => return Ok(()),
        };
        let cell = self.cell(cell, &kind)?;
        self.op_count += 1;
        // A program counter has 32 bits, one value of which means "not started".
        if self.op_count > self.limits.ops.min(u64::from(u32::MAX) - 1) {
            return Err(Fault::TooLarge {
                what: "operations",
                limit: self.limits.ops,
            });
        }
        self.member.ops.push(Op {
            stmt: stmt.id,
            cell,
            kind,
        });
        Ok(())
    }

    fn cell(&mut self, cell: &Cell, kind: &OpKind) -> Result<CellId, Fault> {
        let index = self.env.values(&cell.index)?;
        let flat = flat_cell(&self.objects, cell.object.0, &index)?;
        let fits = matches!(
            (self.cells[flat], kind),
            (
                CellStart::Semaphore(_),
                OpKind::Wait(..) | OpKind::Add(_) | OpKind::Set(_)
            ) | (
                CellStart::Mbarrier(_),
                OpKind::Arrive(_) | OpKind::WaitParity(_)
            ) | (CellStart::Named, OpKind::Sync(_) | OpKind::BarArrive(_))
        );
        if !fits {
            return Err(Fault::WrongKind(self.objects[cell.object.0].name.clone()));
        }
        u32::try_from(flat).map(CellId).map_err(|_| Fault::Overflow)
    }
}

/// The values a loop runs over.
enum Values {
    Up(Range<i64>),
    Down(std::iter::Rev<Range<i64>>),
    Listed(std::vec::IntoIter<i64>),
}

impl Iterator for Values {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        match self {
            Values::Up(range) => range.next(),
            Values::Down(range) => range.next(),
            Values::Listed(values) => values.next(),
        }
    }
}

/// The number of index combinations, unless `used` and they exceed the limit together.
fn size(extents: &[i64], limit: u64, used: u64, what: &'static str) -> Result<usize, Fault> {
    let product = if extents.iter().any(|e| *e <= 0) {
        Some(0)
    } else {
        extents
            .iter()
            .try_fold(1u64, |p, e| p.checked_mul(*e as u64))
    };
    product
        .filter(|p| p.saturating_add(used) <= limit)
        .and_then(|p| usize::try_from(p).ok())
        .ok_or(Fault::TooLarge { what, limit })
}

fn flat_cell(objects: &[ObjectLayout], object: usize, index: &[i64]) -> Result<usize, Fault> {
    let layout = objects
        .get(object)
        .ok_or_else(|| Fault::Unset(format!("object {object}")))?;
    if index.len() != layout.extents.len() {
        return Err(Fault::Arity {
            name: layout.name.clone(),
            expected: layout.extents.len(),
            found: index.len(),
        });
    }
    let mut flat = 0;
    for (index, extent) in index.iter().zip(&layout.extents) {
        if !(0..*extent).contains(index) {
            return Err(Fault::IndexOutOfRange {
                object: layout.name.clone(),
                index: *index,
                extent: *extent,
            });
        }
        flat = flat * extent + index;
    }
    Ok(layout.cells.start + flat as usize)
}

fn thread_count(count: i64) -> Result<i64, Fault> {
    if count < 1 || count % 32 != 0 {
        return Err(Fault::ThreadCount(count));
    }
    Ok(count)
}

fn statement_spans(protocol: &Protocol) -> Vec<Span> {
    fn visit(body: &[Stmt], spans: &mut BTreeMap<StmtId, Span>) {
        for stmt in body {
            spans.insert(stmt.id, stmt.span);
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    visit(then, spans);
                    visit(otherwise, spans);
                }
                StmtKind::For { body, .. } => visit(body, spans),
                _ => {}
            }
        }
    }
    let mut spans = BTreeMap::new();
    for role in &protocol.roles {
        visit(&role.body, &mut spans);
    }
    let count = spans.last_key_value().map_or(0, |(id, _)| id.0 + 1);
    (0..count)
        .map(|id| spans.get(&StmtId(id)).copied().unwrap_or_default())
        .collect()
}
