//! Walks the statements of one member in the order of their execution, and collects its operations.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::protocol::AtomicUpdate;
use crate::protocol::Cell;
use crate::protocol::Iteration;
use crate::protocol::PatternId;
use crate::protocol::RowOrder;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::has_result;

use super::branching;
use super::branching::Program;
use super::branching::Spent;
use super::data::Gatherer;
use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::input::OrderKey;
use super::instance::CellId;
use super::instance::CellStart;
use super::instance::Fetch;
use super::instance::ObjectLayout;
use super::instance::Op;
use super::instance::OpKind;
use super::instance::flat_cell;
use super::possible_results::PossibleResults;

/// A row order that the protocol leaves open and that a run uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What is ordered.
    pub key: OrderKey,
    /// The row's entries, ascending; at least two.
    pub row: Vec<i64>,
}

/// How often a member came to an `if` or a loop, and how often it entered the body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// How often it came there.
    pub times: u64,
    /// For an `if`: how often the condition held. For a loop: its total number of trips.
    pub taken: u64,
}

/// What a statement does to the statements after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Onward,
    Break,
    Return,
}

/// Walks the programs of all members, one after the other.
pub(super) struct Walker<'a> {
    pub(super) input: &'a Input,
    pub(super) env: Env<'a>,
    pub(super) objects: Vec<ObjectLayout>,
    pub(super) cells: Vec<CellStart>,
    /// Gathers accesses to data, if they are wanted.
    pub(super) data: Option<Gatherer>,
    /// The extents of each buffer, if they are defined.
    pub(super) extents: Vec<Option<Vec<i64>>>,
    /// What the current member did at each `if` and loop, if that is wanted.
    pub(super) reached: Option<BTreeMap<StmtId, Reached>>,
    /// The size so far of the programs that use the results of atomic operations.
    pub(super) spent: Spent,
    /// The most operations of all members together, and how many there are so far.
    op_limit: u64,
    op_count: u64,
    /// The member being walked, and how often each of its loops of open order has run.
    role: usize,
    index: Vec<i64>,
    ops: Vec<Op>,
    runs: BTreeMap<StmtId, usize>,
    /// The open row orders met so far, and what they are orders of.
    choices: Vec<Choice>,
    chosen: BTreeSet<OrderKey>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(input: &'a Input, env: Env<'a>, op_limit: u64) -> Walker<'a> {
        Walker {
            input,
            env,
            objects: Vec::new(),
            cells: Vec::new(),
            data: None,
            extents: Vec::new(),
            reached: None,
            spent: Spent::default(),
            op_limit,
            op_count: 0,
            role: 0,
            index: Vec::new(),
            ops: Vec::new(),
            runs: BTreeMap::new(),
            choices: Vec::new(),
            chosen: BTreeSet::new(),
        }
    }

    /// The program of one member. Its indices have their values in `env` already. The list of successors is empty if
    /// each operation is followed by the next one.
    pub(super) fn walk(
        &mut self,
        role: usize,
        index: &[i64],
        body: &[Stmt],
        returned: &PossibleResults,
    ) -> Result<Program, RunError> {
        self.role = role;
        self.index = index.to_vec();
        self.runs.clear();
        if has_result(body) {
            if self.reached.is_some() {
                return Err(RunError::from(Fault::BehindResult(
                    "what a member comes to",
                )));
            }
            return branching::program(self, body, returned);
        }
        self.block(body)?;
        let mut ops = std::mem::take(&mut self.ops);
        ops.shrink_to_fit();
        if let Some(data) = &mut self.data {
            data.finish_member(&ops);
        }
        Ok((ops, Vec::new()))
    }

    /// Continues a walk in which loops of open order have run this often.
    pub(super) fn resume(&mut self, runs: BTreeMap<StmtId, usize>) {
        self.runs = runs;
    }

    /// How often each loop of open order has run.
    pub(super) fn suspended(&self) -> BTreeMap<StmtId, usize> {
        self.runs.clone()
    }

    /// The operations since the last call.
    pub(super) fn taken(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    /// Adds an operation that does not come from the translation of a statement.
    pub(super) fn push(&mut self, op: Op) -> Result<(), Fault> {
        self.count_operation()?;
        self.ops.push(op);
        Ok(())
    }

    /// Removes the last operation and returns it.
    pub(super) fn last(&mut self) -> Option<Op> {
        self.ops.pop()
    }

    /// The values that a loop runs over.
    pub(super) fn trips(&mut self, stmt: StmtId, over: &Iteration) -> Result<Vec<i64>, Fault> {
        let mut all = Vec::new();
        for value in self.iteration(stmt, over)? {
            self.env.tick()?;
            all.push(value);
        }
        Ok(all)
    }

    /// The open row orders met, in the order met.
    pub(super) fn into_choices(self) -> Vec<Choice> {
        self.choices
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
                    self.reach(stmt.id, 1, u64::from(holds));
                    self.block(if holds { then } else { otherwise })?
                }
                StmtKind::For { var, over, body } => {
                    let values = self.iteration(stmt.id, over);
                    let values = values.map_err(|f| RunError::at(f, stmt.span))?;
                    let mut flow = Flow::Onward;
                    self.reach(stmt.id, 1, 0);
                    for value in values {
                        self.reach(stmt.id, 0, 1);
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

    fn reach(&mut self, stmt: StmtId, times: u64, taken: u64) {
        if let Some(reached) = &mut self.reached {
            let reached = reached.entry(stmt).or_default();
            reached.times += times;
            reached.taken += taken;
        }
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
                let run = self.runs.entry(stmt).or_default();
                *run += 1;
                OrderKey::Loop {
                    stmt: stmt.0,
                    role: self.role,
                    member: self.index.clone(),
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
    pub(super) fn simple(&mut self, stmt: &Stmt) -> Result<(), Fault> {
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
            StmtKind::Atomic { cell, update, .. } => {
                let fetch = match update {
                    AtomicUpdate::Add(amount) => Fetch::Add(env.value(amount)?),
                    AtomicUpdate::Exchange(new) => Fetch::Exchange(env.value(new)?),
                    AtomicUpdate::CompareAndSwap { expected, new } => Fetch::Swap {
                        expected: env.value(expected)?,
                        new: env.value(new)?,
                    },
                };
                (cell, OpKind::Fetch(fetch))
            }
            StmtKind::WaitSwap {
                cell,
                expected,
                new,
            } => {
                let (expected, new) = (env.value(expected)?, env.value(new)?);
                (cell, OpKind::WaitSwap { expected, new })
            }
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
            StmtKind::ExpectTx { cell, bytes } => {
                (cell, OpKind::ExpectTx(byte_count(env.value(bytes)?)?))
            }
            StmtKind::CompleteTx { cell, bytes } => {
                (cell, OpKind::CompleteTx(byte_count(env.value(bytes)?)?))
            }
            StmtKind::Copy {
                cell,
                bytes,
                touches,
                ..
            } => {
                if let Some(data) = &mut self.data {
                    data.copy(env, stmt.id, self.ops.len() as u32, touches)?;
                }
                (cell, OpKind::Copy(byte_count(env.value(bytes)?)?))
            }
            StmtKind::Commit { cell } => (cell, OpKind::Commit),
            StmtKind::Init { cell } => (cell, OpKind::Init),
            StmtKind::BarrierArrive { cell } => (cell, OpKind::BarrierArrive),
            StmtKind::BarrierWait { cell } => (cell, OpKind::BarrierWait),
            StmtKind::Acquire { cell, amount } => {
                (cell, OpKind::Acquire(pool_amount(env.value(amount)?)?))
            }
            StmtKind::Release { cell, amount } => {
                (cell, OpKind::Release(pool_amount(env.value(amount)?)?))
            }
            StmtKind::Assign { var, value } => {
                let value = env.value(value)?;
                return env.set(*var, value);
            }
            StmtKind::Access { verb, work, .. } => {
                let Some(data) = &mut self.data else {
                    return Ok(());
                };
                data.work(env, stmt.id, self.ops.len() as u32, verb, work)?;
                // Memory has to hold the access, so it counts like an operation.
                return self.count_operation();
            }
            StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::Return | StmtKind::Break => {
                return Ok(());
            }
        };
        let cell = self.cell(cell, &kind)?;
        self.count_operation()?;
        if let Some(data) = &mut self.data {
            data.operation(stmt.memory);
        }
        self.ops.push(Op {
            stmt: stmt.id,
            cell,
            kind,
        });
        Ok(())
    }

    fn count_operation(&mut self) -> Result<(), Fault> {
        self.op_count += 1;
        // A program counter has 32 bits, and one of its values means "not started".
        if self.op_count > self.op_limit.min(u64::from(u32::MAX) - 1) {
            return Err(Fault::TooLarge {
                what: "operations",
                limit: self.op_limit,
            });
        }
        Fault::in_time(self.op_count)
    }

    fn cell(&mut self, cell: &Cell, kind: &OpKind) -> Result<CellId, Fault> {
        let index = self.env.values(&cell.index)?;
        let flat = flat_cell(&self.objects, cell.object.0, &index)?;
        let fits = matches!(
            (self.cells[flat], kind),
            (
                CellStart::Semaphore(_),
                OpKind::Wait(..)
                    | OpKind::Add(_)
                    | OpKind::Set(_)
                    | OpKind::Fetch(_)
                    | OpKind::WaitSwap { .. }
            ) | (
                CellStart::Mbarrier(_) | CellStart::Uninitialized(_),
                OpKind::Arrive(_)
                    | OpKind::WaitParity(_)
                    | OpKind::ExpectTx(_)
                    | OpKind::CompleteTx(_)
                    | OpKind::Copy(_)
                    | OpKind::Commit
                    | OpKind::Init
            ) | (CellStart::Named, OpKind::Sync(_) | OpKind::BarArrive(_))
                | (
                    CellStart::Barrier(_),
                    OpKind::BarrierArrive | OpKind::BarrierWait
                )
                | (CellStart::Pool(_), OpKind::Acquire(_) | OpKind::Release(_))
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

fn thread_count(count: i64) -> Result<i64, Fault> {
    if count < 1 || count % 32 != 0 {
        return Err(Fault::ThreadCount(count));
    }
    Ok(count)
}

fn byte_count(bytes: i64) -> Result<i64, Fault> {
    if bytes < 0 {
        return Err(Fault::ByteCount(bytes));
    }
    Ok(bytes)
}

fn pool_amount(amount: i64) -> Result<i64, Fault> {
    if amount < 0 {
        return Err(Fault::PoolAmount(amount));
    }
    Ok(amount)
}
