//! Unrolls a protocol inside a box: lists every execution of every statement, with the condition under which it takes
//! place.
//!
//! CTAs and loop iterations are concrete, and whether they exist is symbolic. If the order of a row is open, each of
//! its entries gets a variable for its position. Program order between two entries is then the order of their
//! positions. However, if a loop body carries values from one entry to the next, the loop is unrolled by position,
//! and the entry at each position is symbolic.

use z3::ast::Ast;
use z3::ast::Bool;
use z3::ast::Int;

use super::evaluate::Env;
use super::evaluate::Evaluator;
use super::evaluate::Value;
use super::value::Num;
use super::value::Truth;
use crate::protocol::ATOMIC;
use crate::protocol::Cell;
use crate::protocol::Comparison;
use crate::protocol::Iteration;
use crate::protocol::Object;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::protocol::Stmt;
use crate::protocol::StmtId;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// What an event does.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// Waits on a semaphore.
    Wait {
        /// How it compares.
        comparison: Comparison,
        /// With what.
        value: Num,
    },
    /// Adds to a semaphore.
    Add {
        /// How much.
        amount: Num,
    },
}

/// One execution of a statement by one member.
#[derive(Debug, Clone)]
pub struct Event {
    /// The statement.
    pub stmt: StmtId,
    /// What it does.
    pub kind: EventKind,
    /// The semaphore family.
    pub object: ObjectId,
    /// Which element.
    pub index: Vec<Num>,
    /// Whether the member's program contains it.
    pub guard: Truth,
    place: Vec<Step>,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The place in a list of statements.
    Nth(usize),
    /// An entry of an open order: the position of the order in [`Unrolled::orders`], and the entry.
    Entry(usize, i64),
}

/// The order in which a row is visited, if the protocol leaves it open.
#[derive(Debug, Clone)]
pub struct OpenOrder {
    /// Whose order it is.
    pub owner: OrderOwner,
    /// The pattern whose row it is.
    pub pattern: PatternId,
    /// The fixed coordinates of the row.
    pub row: Vec<Num>,
    /// Which entries the row has.
    pub visited: Vec<Truth>,
    /// The position of each entry, if the row has it.
    pub position: Vec<Int>,
}

/// The row or loop that an [`OpenOrder`] belongs to.
#[derive(Debug, Clone, PartialEq)]
pub enum OrderOwner {
    /// A row's: all loops over it share the order.
    Row {
        /// The pattern.
        pattern: PatternId,
        /// The fixed coordinates.
        row: Vec<i64>,
    },
    /// One run of a loop.
    Run {
        /// The loop.
        stmt: StmtId,
        /// Position in [`Unrolled::members`].
        member: usize,
    },
}

/// A member of a role, if the role is large enough to have it.
#[derive(Debug, Clone)]
pub struct Member {
    /// Position of the role.
    pub role: usize,
    /// Its index values.
    pub index: Vec<i64>,
    /// Whether it exists.
    pub exists: Truth,
    /// What it may execute.
    pub events: Vec<Event>,
}

/// A protocol written out.
pub struct Unrolled {
    /// Every member the box has room for, role by role, in index order.
    pub members: Vec<Member>,
    /// Open row orders. Those of several runs of one loop by one member are in program order.
    pub orders: Vec<OpenOrder>,
    /// For each order, the condition under which the loop runs at all.
    pub order_guards: Vec<Truth>,
}

/// Why a protocol was not unrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It has a construct this encoding does not know, named by a lowercase fragment.
    Construct(String),
    /// It has too many executions in this box.
    TooLarge,
}

impl From<&str> for Refused {
    fn from(construct: &str) -> Refused {
        Refused::Construct(construct.to_owned())
    }
}

/// The most executions of statements that are listed.
const MAX_STATEMENTS: usize = 30_000;

/// The most pairs of events that the formula may relate. These are the pairs of one member (by program order), and
/// every wait with every addition. A million pairs take about a gigabyte.
const MAX_PAIRS: usize = 400_000;

/// Whether the encoding supports all objects of a protocol. This is known before the protocol is unrolled.
///
/// # Errors
///
/// The construct that is not supported, as a lowercase fragment.
pub fn covered(protocol: &Protocol) -> Result<(), &'static str> {
    // The declarations of other objects have conditions of their own, even if the box contains no operation on them.
    let semaphore = |object: &Object| matches!(object.kind, ObjectKind::Semaphore(_));
    if protocol.objects.iter().all(semaphore) {
        Ok(())
    } else {
        Err("objects other than semaphores")
    }
}

/// Unrolls a protocol.
///
/// # Errors
///
/// What prevents it: a construct of the protocol, or the size of the box.
pub fn unroll(evaluator: &mut Evaluator<'_>) -> Result<Unrolled, Refused> {
    let protocol = evaluator.protocol;
    let mut unroll = Unroll {
        evaluator,
        protocol,
        done: Unrolled {
            members: Vec::new(),
            orders: Vec::new(),
            order_guards: Vec::new(),
        },
        events: Vec::new(),
        place: Vec::new(),
        returned: Truth::Known(false),
        broken: Truth::Known(false),
        in_open_loop: false,
        statements: 0,
        pairs: 0,
        waits: 0,
        adds: 0,
    };
    covered(protocol)?;
    for role in 0..protocol.roles.len() {
        unroll.role(role)?;
    }
    Ok(unroll.done)
}

/// Whether `a` comes before `b` in the program of their common member.
pub fn precedes(orders: &[OpenOrder], a: &Event, b: &Event) -> Truth {
    for (x, y) in a.place.iter().zip(&b.place) {
        match (x, y) {
            (Step::Nth(x), Step::Nth(y)) if x != y => return Truth::Known(x < y),
            (Step::Entry(order, x), Step::Entry(_, y)) if x != y => {
                let position = &orders[*order].position;
                let (x, y) = (&position[*x as usize], &position[*y as usize]);
                return Truth::Term(x.lt(y.clone()));
            }
            _ => {}
        }
    }
    Truth::Known(false)
}

struct Unroll<'e, 'p> {
    evaluator: &'e mut Evaluator<'p>,
    protocol: &'p Protocol,
    done: Unrolled,
    events: Vec<Event>,
    place: Vec<Step>,
    returned: Truth,
    broken: Truth,
    in_open_loop: bool,
    statements: usize,
    pairs: usize,
    waits: usize,
    adds: usize,
}

impl Unroll<'_, '_> {
    fn role(&mut self, at: usize) -> Result<(), Refused> {
        let role = &self.protocol.roles[at];
        let mut indices: Vec<(Vec<i64>, Truth)> = vec![(Vec::new(), Truth::Known(true))];
        for index in &role.indices {
            let extent = self.evaluator.num(&index.extent, &Env::new());
            let values = self.evaluator.range(&Num::Known(0), &extent);
            indices = indices
                .into_iter()
                .flat_map(|(prefix, exists)| {
                    (0..).zip(&values).map(move |(value, (_, inside))| {
                        let mut prefix = prefix.clone();
                        prefix.push(value);
                        (prefix, Truth::all([exists.clone(), inside.clone()]))
                    })
                })
                .collect();
        }
        for (index, exists) in indices {
            let mut env: Env = role
                .indices
                .iter()
                .zip(&index)
                .map(|(declared, value)| (declared.var, Value::Num(Num::Known(*value))))
                .collect();
            self.returned = Truth::Known(false);
            self.block(&role.body, &exists, &mut env)?;
            let events = std::mem::take(&mut self.events);
            self.done.members.push(Member {
                role: at,
                index,
                exists,
                events,
            });
        }
        Ok(())
    }

    /// The condition under which the path continues: its own condition, and no `return` or `break` before.
    fn reached(&self, path: &Truth) -> Truth {
        Truth::all([path.clone(), self.returned.not(), self.broken.not()])
    }

    fn block(&mut self, block: &[Stmt], path: &Truth, env: &mut Env) -> Result<(), Refused> {
        for (nth, stmt) in block.iter().enumerate() {
            let guard = self.reached(path);
            if guard.is_never() {
                continue;
            }
            self.statements += 1;
            if self.statements > MAX_STATEMENTS || self.pairs > MAX_PAIRS {
                return Err(Refused::TooLarge);
            }
            self.place.push(Step::Nth(nth));
            self.statement(stmt, &guard, env)?;
            self.place.pop();
        }
        Ok(())
    }

    fn statement(&mut self, stmt: &Stmt, guard: &Truth, env: &mut Env) -> Result<(), Refused> {
        match &stmt.kind {
            StmtKind::Wait {
                cell,
                comparison,
                value,
            } => {
                let value = self.evaluator.under(guard, |e| e.num(value, env));
                let kind = EventKind::Wait {
                    comparison: *comparison,
                    value,
                };
                self.event(stmt, cell, kind, guard, env);
            }
            StmtKind::Add { cell, amount } => {
                let amount = self.evaluator.under(guard, |e| e.num(amount, env));
                self.event(stmt, cell, EventKind::Add { amount }, guard, env);
            }
            StmtKind::Access { .. } => {}
            StmtKind::Assign { var, value } => {
                let new = self.evaluator.under(guard, |e| e.num(value, env));
                let merged = match env.get(var) {
                    Some(Value::Num(old)) => guard.choose(&new, old),
                    _ => new,
                };
                env.insert(*var, Value::Num(merged));
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.evaluator.under(guard, |e| e.truth(condition, env));
                let then_path = Truth::all([guard.clone(), holds.clone()]);
                let else_path = Truth::all([guard.clone(), holds.not()]);
                self.place.push(Step::Nth(0));
                self.block(then, &then_path, env)?;
                self.place.pop();
                self.place.push(Step::Nth(1));
                self.block(otherwise, &else_path, env)?;
                self.place.pop();
            }
            StmtKind::For { var, over, body } => {
                self.repeat(stmt.id, *var, over, body, guard, env)?
            }
            StmtKind::Return => self.returned = Truth::any([self.returned.clone(), guard.clone()]),
            StmtKind::Break => self.broken = Truth::any([self.broken.clone(), guard.clone()]),
            StmtKind::Set { .. } => return Err("a semaphore that is set".into()),
            StmtKind::Atomic { .. } | StmtKind::WaitSwap { .. } => {
                return Err(ATOMIC.into());
            }
            StmtKind::Arrive { .. }
            | StmtKind::WaitParity { .. }
            | StmtKind::ExpectTx { .. }
            | StmtKind::CompleteTx { .. }
            | StmtKind::Copy { .. }
            | StmtKind::Commit { .. }
            | StmtKind::Init { .. } => {
                return Err("an mbarrier".into());
            }
            StmtKind::BarrierArrive { .. } | StmtKind::BarrierWait { .. } => {
                return Err("a barrier".into());
            }
            StmtKind::Acquire { .. } | StmtKind::Release { .. } => {
                return Err("a pool".into());
            }
            StmtKind::Sync { .. } | StmtKind::BarArrive { .. } => {
                return Err("a named barrier".into());
            }
        }
        Ok(())
    }

    fn event(&mut self, stmt: &Stmt, cell: &Cell, kind: EventKind, guard: &Truth, env: &Env) {
        let index: Vec<Num> = self.evaluator.under(guard, |e| {
            cell.index.iter().map(|i| e.num(i, env)).collect()
        });
        // For the interpreter, an index out of range is an error and not a hang.
        for (value, extent) in index
            .iter()
            .zip(&self.protocol.objects[cell.object.0].extents)
        {
            self.evaluator.under(guard, |e| {
                let extent = e.num(extent, &Env::new());
                e.require(&Num::Known(0).at_most(value));
                e.require(&value.less(&extent));
            });
        }
        if let EventKind::Add { amount } = &kind {
            self.evaluator
                .under(guard, |e| e.require(&Num::Known(0).at_most(amount)));
        }
        match kind {
            EventKind::Wait { .. } => self.waits += 1,
            EventKind::Add { .. } => self.adds += 1,
        }
        let opposite = if matches!(kind, EventKind::Wait { .. }) {
            self.adds
        } else {
            self.waits
        };
        self.pairs += 2 * self.events.len() + 2 * opposite;
        self.events.push(Event {
            stmt: stmt.id,
            kind,
            object: cell.object,
            index,
            guard: guard.clone(),
            place: self.place.clone(),
        });
    }

    fn repeat(
        &mut self,
        stmt: StmtId,
        var: VarId,
        over: &Iteration,
        body: &[Stmt],
        guard: &Truth,
        env: &mut Env,
    ) -> Result<(), Refused> {
        let outer = std::mem::replace(&mut self.broken, Truth::Known(false));
        match over {
            Iteration::Range { lo, hi, descending } => {
                let (lo, hi) = self
                    .evaluator
                    .under(guard, |e| (e.num(lo, env), e.num(hi, env)));
                let mut values = self.evaluator.under(guard, |e| e.range(&lo, &hi));
                if *descending {
                    values.reverse();
                }
                self.iterations(var, values, body, guard, env)?;
            }
            Iteration::Row {
                pattern,
                row,
                order,
            } => {
                let row: Vec<Num> = self
                    .evaluator
                    .under(guard, |e| row.iter().map(|x| e.num(x, env)).collect());
                let visited = self.row(*pattern, &row, guard);
                match order {
                    RowOrder::Ascending | RowOrder::Descending => {
                        let mut values: Vec<(Num, Truth)> =
                            (0..).map(Num::Known).zip(visited).collect();
                        if *order == RowOrder::Descending {
                            values.reverse();
                        }
                        self.iterations(var, values, body, guard, env)?;
                    }
                    RowOrder::Given | RowOrder::Any => {
                        let owner = self.owner(stmt, *pattern, &row, *order)?;
                        let order = self.open_order(owner, (*pattern, row), visited, guard);
                        if carries_state(body) {
                            self.by_position(order, var, body, guard, env)?;
                        } else {
                            self.by_entry(order, var, body, guard, env)?;
                        }
                    }
                }
            }
        }
        self.broken = outer;
        Ok(())
    }

    fn iterations(
        &mut self,
        var: VarId,
        values: Vec<(Num, Truth)>,
        body: &[Stmt],
        guard: &Truth,
        env: &mut Env,
    ) -> Result<(), Refused> {
        for (nth, (value, inside)) in values.into_iter().enumerate() {
            env.insert(var, Value::Num(value));
            let path = Truth::all([guard.clone(), inside]);
            self.place.push(Step::Nth(nth));
            self.block(body, &path, env)?;
            self.place.pop();
        }
        Ok(())
    }

    /// For each possible entry of a row inside the box, the condition under which the row has it.
    fn row(&mut self, pattern: PatternId, row: &[Num], guard: &Truth) -> Vec<Truth> {
        (0..self.evaluator.size)
            .map(|value| {
                let mut at = row.to_vec();
                at.push(Num::Known(value));
                self.evaluator.under(guard, |e| e.visits(pattern, &at))
            })
            .collect()
    }

    fn owner(
        &self,
        stmt: StmtId,
        pattern: PatternId,
        row: &[Num],
        order: RowOrder,
    ) -> Result<OrderOwner, Refused> {
        if order == RowOrder::Any {
            if self.in_open_loop {
                return Err("a row in any order inside another such loop".into());
            }
            return Ok(OrderOwner::Run {
                stmt,
                member: self.done.members.len(),
            });
        }
        let known = row.iter().map(|x| match x {
            Num::Known(value) => Ok(*value),
            Num::Term(_) => Err("a row as given whose number depends on parameters".into()),
        });
        Ok(OrderOwner::Row {
            pattern,
            row: known.collect::<Result<_, Refused>>()?,
        })
    }

    fn open_order(
        &mut self,
        owner: OrderOwner,
        (pattern, row): (PatternId, Vec<Num>),
        visited: Vec<Truth>,
        guard: &Truth,
    ) -> usize {
        if let OrderOwner::Row { .. } = &owner
            && let Some(known) = self
                .done
                .orders
                .iter()
                .position(|order| order.owner == owner)
        {
            let guards = &mut self.done.order_guards[known];
            *guards = Truth::any([guards.clone(), guard.clone()]);
            return known;
        }
        let length = Num::sum(visited.iter().map(Truth::count));
        let position: Vec<Int> = visited
            .iter()
            .map(|_| Int::fresh_const("position"))
            .collect();
        for (at, present) in visited.iter().enumerate() {
            let here = Num::Term(position[at].clone());
            let fits = Truth::all([Num::Known(0).at_most(&here), here.less(&length)]);
            self.push_constraint(&present.implies(&fits));
            for (earlier, other) in visited.iter().enumerate().take(at) {
                let same = Truth::Term(Ast::eq(&position[earlier], position[at].clone()));
                let both = Truth::all([present.clone(), other.clone()]);
                self.push_constraint(&both.implies(&same.not()));
            }
        }
        self.done.orders.push(OpenOrder {
            owner,
            pattern,
            row,
            visited,
            position,
        });
        self.done.order_guards.push(guard.clone());
        self.done.orders.len() - 1
    }

    fn push_constraint(&mut self, constraint: &Truth) {
        let term: Bool = constraint.term();
        self.evaluator.constraints.push(term);
    }

    fn by_entry(
        &mut self,
        order: usize,
        var: VarId,
        body: &[Stmt],
        guard: &Truth,
        env: &mut Env,
    ) -> Result<(), Refused> {
        let visited = self.done.orders[order].visited.clone();
        let outer = std::mem::replace(&mut self.in_open_loop, true);
        for (value, present) in (0..).zip(visited) {
            env.insert(var, Value::Num(Num::Known(value)));
            let path = Truth::all([guard.clone(), present]);
            self.place.push(Step::Entry(order, value));
            self.block(body, &path, env)?;
            self.place.pop();
        }
        self.in_open_loop = outer;
        Ok(())
    }

    fn by_position(
        &mut self,
        order: usize,
        var: VarId,
        body: &[Stmt],
        guard: &Truth,
        env: &mut Env,
    ) -> Result<(), Refused> {
        let OpenOrder {
            visited, position, ..
        } = self.done.orders[order].clone();
        let length = Num::sum(visited.iter().map(Truth::count));
        for nth in 0..visited.len() {
            let slot = Num::Known(nth as i64);
            let entry = Num::sum(visited.iter().zip(&position).enumerate().map(
                |(value, (present, position))| {
                    let here = Num::Term(position.clone()).equals(&slot);
                    let chosen = Truth::all([present.clone(), here]);
                    chosen.choose(&Num::Known(value as i64), &Num::Known(0))
                },
            ));
            env.insert(var, Value::Num(entry));
            let path = Truth::all([guard.clone(), slot.less(&length)]);
            self.place.push(Step::Nth(nth));
            self.block(body, &path, env)?;
            self.place.pop();
        }
        Ok(())
    }
}

/// Whether one iteration of a body can affect the next.
fn carries_state(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { .. } | StmtKind::Return | StmtKind::Break => true,
        StmtKind::If {
            then, otherwise, ..
        } => carries_state(then) || carries_state(otherwise),
        StmtKind::For { body, .. } => carries_state(body),
        _ => false,
    })
}
